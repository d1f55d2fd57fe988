/* links_report - the ports of a time range as a document. */
#include "agent/reports/links_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/number.h"
#include "agent/base/str.h"
#include "agent/document/json_value.h"
#include "agent/document/quantity.h"
#include "agent/reports/report_frame.h"
#include "agent/reports/text.h"
#include "analyzers/measure/link_limits.h"
#include "config/config.h"
#include "db/model/cause.h"
#include "db/model/metric.h"

/* What is wrong with one port: the worst state, and each fault in words. */
struct link_faults {
	enum report_state state;
	const char *cause; /* of the worst */
	json_t *words;
};

struct link_judge {
	double errors_per_s; /* limit */
	const struct link_health_options *options; /* NULL: none */
};

static void links_fault(
	struct link_faults *faults, enum report_state state, const char *cause, struct str *words)
{
	if (state > faults->state) {
		faults->state = state;
		faults->cause = cause;
	}
	json_array_append_new(faults->words, json_string_or_null(words->s));
	str_done(words);
}

/* The declared speed, which is what the link should run at; NAN where nothing is declared. */
static double links_class(const struct link_port *port)
{
	if (port->fabric_port && port->fabric_port->speed_bps)
		return (double)port->fabric_port->speed_bps;
	return NAN;
}

static void links_judge_state(struct link_faults *faults, const struct link_port *port)
{
	struct str words = {0};
	if (port->up == 0) {
		str_add(&words, "down");
		links_fault(faults, REPORT_WARNING, "link_down", &words);
	}
	if (port->up_ratio > 0 && port->up_ratio < 1) {
		str_addf(&words, "up in %.1f %% of the samples", 100 * port->up_ratio);
		links_fault(faults, REPORT_WARNING, cause_name(CAUSE_LINK_FLAP), &words);
	}
	if (port->flaps > 0) {
		str_addf(&words, "%s carrier transition%s", number_count_of(port->flaps).s,
			port->flaps == 1 ? "" : "s");
		links_fault(faults, REPORT_WARNING, cause_name(CAUSE_LINK_FLAP), &words);
	}
	if (port->speed_bps > 0 && port->speed_bps < links_class(port)) {
		text_add_speeds(&words, port->speed_bps, links_class(port));
		links_fault(faults, REPORT_WARNING, cause_name(CAUSE_LINK_SLOW), &words);
	}
}

static void links_judge_errors(
	struct link_faults *faults, const struct link_port *port, const struct link_judge *judge)
{
	struct str words = {0};
	const double errors = range_add(port->in_errors, port->out_errors);
	if (errors > 0) {
		enum report_state state = REPORT_OK;
		if (port->worst_per_s > judge->errors_per_s)
			state = REPORT_WARNING;
		str_addf(&words, "%s frames with errors, %s/s at worst", number_count_of(errors).s,
			number_three(port->worst_per_s).s);
		links_fault(faults, state, cause_name(CAUSE_LINK_ERRORS), &words);
	}
	if (port->fec_uncorrectable > 0) {
		str_addf(&words, "%s codewords that FEC could not repair",
			number_count_of(port->fec_uncorrectable).s);
		links_fault(faults, REPORT_WARNING, cause_name(CAUSE_LINK_ERRORS), &words);
	}
	if (judge->options && port->ber > judge->options->ber) {
		str_addf(&words, "bit error ratio before FEC up to %.2g", port->ber);
		links_fault(faults, REPORT_OK, cause_name(CAUSE_OPTIC_DEGRADING), &words);
	}
	if (judge->options && port->rx_power_least_dbm < judge->options->rx_power_min_dbm) {
		str_addf(&words, "receives only %.1f dBm of light", port->rx_power_least_dbm);
		links_fault(faults, REPORT_OK, cause_name(CAUSE_OPTIC_DEGRADING), &words);
	}
}

/* ---- one port -------------------------------------------------------------------------- */

static const char *links_state_word(const struct link_port *port)
{
	if (isnan(port->up))
		return "unknown";
	return port->up > 0 ? "up" : "down";
}

static json_t *links_peer_json(const struct link_port *port)
{
	const struct fabric_port *fabric_port = port->fabric_port;
	if (fabric_port && fabric_port->peer)
		return json_sprintf(
			"%s:%s", fabric_port->peer->device->name, fabric_port->peer->name);
	return json_string_or_null(fabric_port ? fabric_port->host : NULL);
}

static json_t *links_port_json(const struct link_port *port, json_t *words)
{
	json_t *row = json_object();
	const struct {
		const char *key;
		double value;
	} numbers[] = {
		{"up_ratio", port->up_ratio},
		{"flaps", port->flaps},
		{"speed_bps", port->speed_bps},
		{"class_bps", links_class(port)},
		{"mtu_bytes", port->mtu_bytes},
		{"in_errors", port->in_errors},
		{"out_errors", port->out_errors},
		{"errors_per_s", port->errors_per_s},
		{"worst_errors_per_s", port->worst_per_s},
		{"fcs_errors", port->fcs_errors},
		{"symbol_errors", port->symbol_errors},
		{"fec_corrected", port->fec_corrected},
		{"fec_uncorrectable", port->fec_uncorrectable},
		{"pre_fec_ber", port->ber},
		{"rx_power_dbm", port->rx_power_dbm},
		{"rx_power_least_dbm", port->rx_power_least_dbm},
		{"tx_power_dbm", port->tx_power_dbm},
		{"temperature_c", port->temperature_c},
	};
	json_object_set_new(row, "device", json_string_or_null(port->device));
	json_object_set_new(row, "port", json_string_or_null(port->port));
	json_object_set_new(row, "peer", links_peer_json(port));
	json_object_set_new(row, "state", json_string(links_state_word(port)));
	for (size_t i = 0; i < rw_countof(numbers); i++)
		json_object_set_new(row, numbers[i].key, json_number_or_null(numbers[i].value));
	json_object_set_new(row, "words", words);
	return row;
}

bool links_is_told(const json_t *doc, const char *cause, const char *subject)
{
	const size_t length = strlen(subject), cause_length = strlen(cause);
	const json_t *row;
	size_t i;
	json_array_foreach (json_object_get(doc, "problems"), i, row) {
		const char *key = doc_word(row, "key"), *where = doc_word(row, "subject");
		const size_t n = strlen(where);
		if (strncmp(key, cause, cause_length) != 0 || key[cause_length] != ':' ||
			n < length)
			continue;
		/* "leaf1:Ethernet2", and behind the name of its host "node-2 leaf1:Ethernet2" */
		const bool whole = n == length || where[n - length - 1] == ' ';
		if (whole && str_eq(where + n - length, subject))
			return true;
	}
	return false;
}

static void links_problem(
	json_t *doc, const struct link_port *port, const struct link_faults *faults)
{
	rw_cleanup(str_done) struct str subject = {0}, text = {0};
	const json_t *word;
	size_t i;
	if (faults->state == REPORT_OK)
		return;
	str_addf(&subject, "%s:%s", port->device, port->port);
	if (links_is_told(doc, faults->cause, subject.s))
		return;
	json_array_foreach (faults->words, i, word)
		str_addf(&text, "%s%s", str_if(i > 0, "; "), json_string_value(word));
	report_problem(doc, faults->state, faults->cause, subject.s, "%s %s", subject.s, text.s);
}

/* An unused port that is down is no fault. */
static void links_take(json_t *doc, const struct link_port *port, const struct link_judge *judge,
	json_t *bad, json_t *other)
{
	struct link_faults faults = {.state = REPORT_OK, .words = json_array()};
	if (port->linked)
		links_judge_state(&faults, port);
	links_judge_errors(&faults, port, judge);
	links_problem(doc, port, &faults);
	if (json_array_size(faults.words) == 0) {
		json_decref(faults.words);
		return;
	}
	json_array_append_new(
		faults.state == REPORT_OK ? other : bad, links_port_json(port, faults.words));
}

/* ---- what changed ------------------------------------------------------------------------ */

static json_t *links_change_json(const struct link_change *change)
{
	rw_cleanup(str_done) struct str text = {0};
	const char *what = "MTU ", *unit = "bytes";
	if (change->metric == M_PORT_SPEED_BPS) {
		what = "speed ";
		unit = "bit/s";
	}
	str_add(&text, what);
	str_add_quantity(&text, change->before, unit);
	str_add(&text, " -> ");
	str_add_quantity(&text, change->now, unit);
	return json_pack("{s:o, s:s, s:s, s:s, s:n}", "time", json_time(change->at_ns), "device",
		change->device, "port", change->port, "text", text.s, "by");
}

/* ---- how much is known -------------------------------------------------------------------- */

static json_t *links_known_json(const struct links_range *range)
{
	size_t linked = 0, state = 0, errors = 0, flaps = 0, fec = 0, optics = 0, speed = 0;
	for (size_t i = 0; i < range->n; i++) {
		const struct link_port *port = &range->v[i];
		linked += port->linked;
		state += !isnan(port->up);
		errors += !isnan(port->in_errors);
		flaps += !isnan(port->flaps);
		fec += !isnan(port->fec_uncorrectable) || !isnan(port->fec_corrected);
		optics += !isnan(port->rx_power_dbm);
		speed += !isnan(port->speed_bps);
	}
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "all", (json_int_t)range->n,
		"linked", (json_int_t)linked, "state", (json_int_t)state, "errors",
		(json_int_t)errors, "flaps", (json_int_t)flaps, "fec", (json_int_t)fec, "optics",
		(json_int_t)optics, "speed", (json_int_t)speed);
}

static void links_missing(json_t *doc, const json_t *known)
{
	static const struct {
		const char *key, *what;
	} rows[] = {
		{"state", "link state"},
		{"errors", "frames with errors"},
		{"flaps", "carrier transitions"},
		{"fec", "FEC counters"},
		{"optics", "optical power"},
		{"speed", "port speed"},
	};
	const json_int_t all = json_integer_value(json_object_get(known, "all"));
	if (all == 0)
		report_missing(doc, "no port delivers link state, speed, errors, FEC or light");
	for (size_t i = 0; all > 0 && i < rw_countof(rows); i++) {
		const json_int_t n = json_integer_value(json_object_get(known, rows[i].key));
		if (n == 0)
			report_missing(doc, "%s: delivered by no port", rows[i].what);
		else if (n < all)
			report_missing(doc,
				"%s: delivered by %" JSON_INTEGER_FORMAT " of %" JSON_INTEGER_FORMAT
				" ports",
				rows[i].what, n, all);
	}
}

/* ---- over time ------------------------------------------------------------------------------ */

/* What no port counts is no line of a chart. */
static void links_series(json_t *series, const char *name, const double *values, size_t n)
{
	json_t *list = json_array();
	double sum = NAN;
	for (size_t i = 0; i < n; i++) {
		sum = range_add(sum, values[i]);
		json_array_append_new(list, json_number_or_null(values[i]));
	}
	if (!isnan(sum))
		json_array_append_new(
			series, json_pack("{s:s, s:O}", "name", name, "values", list));
	json_decref(list);
}

static json_t *links_chart_json(const struct links_range *range)
{
	const struct range_plan *plan = &range->plan;
	json_t *times = json_array(), *series = json_array();
	for (size_t i = 0; i < plan->n_steps; i++)
		json_array_append_new(
			times, json_time(plan->from_ns + (int64_t)(i + 1) * plan->step_ns));
	links_series(series, "frames with errors", range->errors, plan->n_steps);
	links_series(series, "carrier transitions", range->flaps, plan->n_steps);
	return json_pack("{s:f, s:o, s:o}", "step_s", (double)plan->step_ns / (double)NS_PER_S,
		"times", times, "series", series);
}

static void links_figures(json_t *doc, const struct links_range *range)
{
	double errors = NAN, flaps = NAN, uncorrectable = NAN, down = NAN;
	for (size_t i = 0; i < range->n; i++) {
		const struct link_port *port = &range->v[i];
		errors = range_add(errors, range_add(port->in_errors, port->out_errors));
		flaps = range_add(flaps, port->flaps);
		uncorrectable = range_add(uncorrectable, port->fec_uncorrectable);
		if (port->linked && !isnan(port->up))
			down = range_add(down, port->up == 0);
	}
	report_figure(doc, "links_down", "ports of links that are down", down, "-");
	report_figure(doc, "errors", "frames with errors", errors, "frames");
	report_figure(doc, "flaps", "carrier transitions", flaps, "-");
	report_figure(doc, "fec_uncorrectable", "codewords that FEC could not repair",
		uncorrectable, "codewords");
}

void links_report_put(json_t *doc, const struct links_range *range, const struct config *config,
	double errors_per_s)
{
	const struct link_judge judge = {.errors_per_s = errors_per_s,
		.options = config_options(config, "analyzers", "link_health")};
	json_t *bad = json_array(), *other = json_array(), *changes = json_array();
	for (size_t i = 0; i < range->n; i++) {
		const struct link_port *port = &range->v[i];
		links_take(doc, port, &judge, bad, other);
	}
	for (size_t i = 0; i < range->n_changes; i++)
		json_array_append_new(changes, links_change_json(&range->changes[i]));
	json_array_extend(bad, other);
	json_decref(other);
	json_t *known = links_known_json(range);
	json_object_set_new(doc, "source", json_string(range_source(&range->read)));
	json_object_set_new(
		doc, "step_s", json_real((double)range->plan.step_ns / (double)NS_PER_S));
	json_object_set_new(doc, "coverage_ratio",
		json_number_or_null(range_coverage(&range->plan, &range->read)));
	json_object_set_new(doc, "limits", json_pack("{s:f}", "errors_per_s", errors_per_s));
	json_object_set_new(doc, "ports", bad);
	json_object_set_new(doc, "ports_known", known);
	json_object_set_new(doc, "changes", changes);
	json_object_set_new(doc, "chart", links_chart_json(range));
	links_figures(doc, range);
	links_missing(doc, known);
}
