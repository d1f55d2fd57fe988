/* pause_report - pause of a time range as a document. */
#include "agent/reports/pause_report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/document/json_value.h"
#include "agent/reports/report_frame.h"

enum { PORTS_SHOWN = 25, SERIES_SHOWN = 6 };

/* ---- one port, priority and direction ---------------------------------------------- */

struct pause_entry {
	const struct pause_queue *queue;
	enum pause_way way;
};

static const struct pause_line *pause_entry_line(const struct pause_entry *entry)
{
	return &entry->queue->way[entry->way];
}

static int pause_entry_order(const void *left, const void *right)
{
	const struct pause_entry *x = left, *y = right;
	const struct pause_line *a = pause_entry_line(x), *b = pause_entry_line(y);
	if (a->whole.hi != b->whole.hi)
		return a->whole.hi < b->whole.hi ? 1 : -1;
	int r = name_compare(x->queue->device, y->queue->device);
	if (r == 0)
		r = name_compare(x->queue->port, y->queue->port);
	if (r == 0)
		r = x->queue->priority - y->queue->priority;
	return r ? r : (int)x->way - (int)y->way;
}

/* Those that were paused at all, most paused first. */
static struct pause_entry *pause_entries(const struct pause_range *range, size_t *ret_n)
{
	struct pause_entry *entries = rw_calloc(2 * range->n + 1, sizeof(*entries));
	*ret_n = 0;
	for (size_t i = 0; i < range->n; i++)
		for (int way = 0; way < PAUSE_WAYS; way++)
			if (range->v[i].way[way].whole.hi > 0)
				entries[(*ret_n)++] =
					(struct pause_entry){&range->v[i], (enum pause_way)way};
	qsort(entries, *ret_n, sizeof(*entries), pause_entry_order);
	return entries;
}

static void pause_peer(struct str *out, const struct pause_queue *queue)
{
	const struct fabric_port *port = queue->fabric_port;
	if (port && port->peer)
		str_addf(out, "%s:%s", port->peer->device->name, port->peer->name);
	else if (port && port->host)
		str_add(out, port->host);
}

/* Who paused whom: "node-112 paused us", "we paused spine1". */
static void pause_words(struct str *out, const struct pause_entry *entry)
{
	const struct fabric_port *port = entry->queue->fabric_port;
	const char *who = "its neighbour";
	if (port && port->peer)
		who = port->peer->device->name;
	else if (port && port->host)
		who = port->host;
	if (entry->way == PAUSE_RX)
		str_addf(out, "%s paused us", who);
	else
		str_addf(out, "we paused %s", who);
}

static void pause_put_text(json_t *row, const char *key, const char *text)
{
	if (text && !*text)
		text = NULL;
	json_object_set_new(row, key, json_string_or_null(text));
}

static json_t *pause_entry_json(const struct pause_range *range, const struct pause_entry *entry)
{
	const struct pause_queue *queue = entry->queue;
	const struct pause_line *line = pause_entry_line(entry);
	const struct range_plan *plan = &range->plan;
	rw_cleanup(str_done) struct str peer = {0}, words = {0};
	json_t *row = json_object();
	pause_peer(&peer, queue);
	pause_words(&words, entry);
	json_object_set_new(row, "device", json_string_or_null(queue->device));
	json_object_set_new(row, "port", json_string_or_null(queue->port));
	json_object_set_new(row, "priority", json_integer(queue->priority));
	json_object_set_new(row, "lossless", json_boolean(queue->lossless));
	pause_put_text(row, "peer", peer.s);
	pause_put_text(row, "host", queue->fabric_port ? queue->fabric_port->host : NULL);
	json_object_set_new(row, "direction", json_string(entry->way == PAUSE_RX ? "rx" : "tx"));
	pause_put_text(row, "words", words.s);
	json_object_set_new(row, "lo_ratio", json_number_or_null(line->whole.lo));
	json_object_set_new(row, "hi_ratio", json_number_or_null(line->whole.hi));
	json_object_set_new(row, "quality", json_string(line->whole.measured ? "time" : "frames"));
	json_object_set_new(row, "paused_s", json_number_or_null(line->paused_s));
	json_object_set_new(row, "worst_lo_ratio", json_number_or_null(line->worst.lo));
	json_object_set_new(row, "worst_hi_ratio", json_number_or_null(line->worst.hi));
	json_t *at = json_null();
	if (!isnan(line->worst.hi))
		at = json_time(plan->from_ns + (int64_t)(line->worst_step + 1) * plan->step_ns);
	json_object_set_new(row, "worst_at", at);
	json_object_set_new(row, "frames",
		line->frames.known ? json_integer((json_int_t)line->frames.value) : json_null());
	return row;
}

/* ---- over the limits ----------------------------------------------------------------- */

/* A bound is judged by its lower end; its upper end may warn. */
static enum report_state pause_judge(
	const struct pause_share *share, const struct limit_pair *limits)
{
	if (!isnan(share->lo) && share->lo > limits->critical)
		return REPORT_CRITICAL;
	if (!isnan(share->hi) && share->hi > limits->warn)
		return REPORT_WARNING;
	return REPORT_OK;
}

static bool pause_is_worse(const struct pause_entry *entry, const struct pause_entry *than,
	const struct limit_pair *limits)
{
	const struct pause_share *a = &pause_entry_line(entry)->worst,
				 *b = &pause_entry_line(than)->worst;
	const enum report_state x = pause_judge(a, limits), y = pause_judge(b, limits);
	if (x != y)
		return x > y;
	return a->hi > b->hi;
}

static void pause_share_text(struct str *out, const struct pause_share *share)
{
	if (share->measured)
		str_addf(out, "%.1f %% of the time", 100 * share->hi);
	else
		str_addf(out, "<= %.1f %% of the time (from frames)", 100 * share->hi);
}

/* One problem for each device: its worst port, and how many others are over the limit. */
static void pause_problem_of(json_t *doc, const struct pause_range *range,
	const struct pause_entry *entries, size_t n, const char *device,
	const struct limit_pair *limits)
{
	size_t n_over = 0;
	const struct pause_entry *worst = NULL;
	rw_cleanup(str_done) struct str words = {0}, share = {0}, more = {0};
	for (size_t i = 0; i < n; i++) {
		const struct pause_entry *entry = &entries[i];
		const struct pause_line *line = pause_entry_line(entry);
		if (!str_eq(entry->queue->device, device) ||
			pause_judge(&line->worst, limits) == REPORT_OK)
			continue;
		n_over++;
		if (!worst || pause_is_worse(entry, worst, limits))
			worst = entry;
	}
	if (!worst)
		return;
	const struct pause_share *most = &pause_entry_line(worst)->worst;
	pause_words(&words, worst);
	pause_share_text(&share, most);
	if (n_over > 1)
		str_addf(&more, "; %zu more of its queues over %.3g %%", n_over - 1,
			100 * limits->warn);
	report_problem(doc, pause_judge(most, limits), "pause_time", device,
		"%s:%s p%d: %s %s in the worst %s%s", device, worst->queue->port,
		worst->queue->priority, words.s, share.s, range_step_word(&range->plan),
		str_or(more.s, ""));
}

/* Is the device among those that an incident of "incidents" names? Then the incident says it. */
static bool pause_is_explained(const json_t *doc, const char *device)
{
	const json_t *incident, *role;
	const size_t length = strlen(device);
	size_t i, k;
	json_array_foreach (json_object_get(doc, "incidents"), i, incident)
		json_array_foreach (json_object_get(incident, "roles"), k, role) {
			const char *entity = doc_word(role, "entity");
			if (strncmp(entity, device, length) == 0 &&
				(entity[length] == '\0' || entity[length] == ':'))
				return true;
		}
	return false;
}

static void pause_problems(json_t *doc, const struct pause_range *range,
	const struct pause_entry *entries, size_t n, const struct limit_pair *limits)
{
	for (size_t i = 0; i < n; i++) {
		bool first = !pause_is_explained(doc, entries[i].queue->device);
		for (size_t k = 0; k < i && first; k++)
			first = !str_eq(entries[k].queue->device, entries[i].queue->device);
		if (first)
			pause_problem_of(doc, range, entries, n, entries[i].queue->device, limits);
	}
}

/* ---- the PFC watchdog, and the order of ECN and PFC ------------------------------------ */

static json_t *pause_watchdog_json(const struct pause_range *range, bool *ret_counted)
{
	json_t *rows = json_array();
	*ret_counted = false;
	for (size_t i = 0; i < range->n; i++) {
		const struct pause_queue *queue = &range->v[i];
		*ret_counted |= !isnan(queue->storms);
		if (!(queue->storms > 0 || queue->storm_drops > 0))
			continue;
		json_t *row = json_object();
		json_object_set_new(row, "device", json_string_or_null(queue->device));
		json_object_set_new(row, "port", json_string_or_null(queue->port));
		json_object_set_new(row, "priority", json_integer(queue->priority));
		pause_put_text(row, "host", queue->fabric_port ? queue->fabric_port->host : NULL);
		json_object_set_new(row, "storms", json_number_or_null(queue->storms));
		json_object_set_new(row, "restores", json_number_or_null(queue->restores));
		json_object_set_new(row, "dropped", json_number_or_null(queue->storm_drops));
		json_array_append_new(rows, row);
	}
	return rows;
}

static const char *pause_order_words(const struct pause_order *order)
{
	if (!order->counted)
		return "ECN marks are not counted here: the order is not known";
	if (!order->alive)
		return "paused, and no mark was ever counted: ECN off, or not counted";
	if (order->unmarked == 0)
		return "marked whenever it paused";
	if (order->unmarked == order->paused)
		return "paused without marks: Kmin too high, or ECN off";
	return "at times paused without marks";
}

static json_t *pause_orders_json(const struct pause_range *range)
{
	json_t *rows = json_array();
	for (size_t i = 0; i < range->n_orders; i++) {
		const struct pause_order *order = &range->orders[i];
		if (order->paused == 0)
			continue;
		json_t *row = json_object(), *unmarked = json_null();
		if (order->counted)
			unmarked = json_integer((json_int_t)order->unmarked);
		json_object_set_new(row, "device", json_string_or_null(order->device));
		json_object_set_new(row, "steps_paused", json_integer((json_int_t)order->paused));
		json_object_set_new(row, "steps_unmarked", unmarked);
		json_object_set_new(row, "marked", json_number_or_null(order->marked));
		json_object_set_new(row, "words", json_string(pause_order_words(order)));
		json_array_append_new(rows, row);
	}
	return rows;
}

/* ---- over time ------------------------------------------------------------------------ */

static json_t *pause_series_json(const struct pause_range *range, const struct pause_entry *entry)
{
	const struct pause_line *line = pause_entry_line(entry);
	rw_cleanup(str_done) struct str name = {0};
	json_t *values = json_array();
	str_addf(&name, "%s:%s p%d, ", entry->queue->device, entry->queue->port,
		entry->queue->priority);
	pause_words(&name, entry);
	for (size_t i = 0; i < range->plan.n_steps; i++) {
		double share = line->shares ? (double)line->shares[i] : NAN;
		json_array_append_new(values, json_number_or_null(round(share * 1e5) / 1e5));
	}
	return json_pack("{s:o, s:o}", "name", json_string_or_null(name.s), "values", values);
}

static json_t *pause_chart_json(
	const struct pause_range *range, const struct pause_entry *entries, size_t n)
{
	const struct range_plan *plan = &range->plan;
	json_t *times = json_array(), *series = json_array();
	for (size_t i = 0; i < plan->n_steps; i++)
		json_array_append_new(
			times, json_time(plan->from_ns + (int64_t)(i + 1) * plan->step_ns));
	for (size_t i = 0; i < n && i < SERIES_SHOWN; i++)
		json_array_append_new(series, pause_series_json(range, &entries[i]));
	return json_pack("{s:f, s:o, s:o}", "step_s", (double)plan->step_ns / (double)NS_PER_S,
		"times", times, "series", series);
}

/* ---- all of it -------------------------------------------------------------------------- */

/* Queues whose pause is known, in either direction. */
static size_t pause_known(const struct pause_range *range)
{
	size_t n = 0;
	for (size_t i = 0; i < range->n; i++)
		n += !isnan(range->v[i].way[PAUSE_RX].whole.hi) ||
			!isnan(range->v[i].way[PAUSE_TX].whole.hi);
	return n;
}

static double pause_storms(const struct pause_range *range)
{
	double sum = NAN;
	for (size_t i = 0; i < range->n; i++)
		sum = range_add(sum, range->v[i].storms);
	return sum;
}

static void pause_figures(json_t *doc, const struct pause_range *range,
	const struct pause_entry *entries, size_t n, size_t n_known)
{
	double worst = NAN, total_s = NAN;
	if (n_known > 0)
		worst = total_s = 0;
	if (n > 0)
		worst = pause_entry_line(&entries[0])->whole.hi;
	for (size_t i = 0; i < n; i++)
		total_s = range_add(total_s, pause_entry_line(&entries[i])->paused_s);
	report_figure(doc, "pause_worst_ratio", "pause of the most paused queue", worst, "ratio");
	report_figure(doc, "queues_paused", "queues and directions paused",
		n_known > 0 ? (double)n : NAN, "-");
	report_figure(doc, "pause_total_s", "pause of all queues together", total_s, "s");
	report_figure(doc, "watchdog_storms", "PFC watchdog storms", pause_storms(range), "-");
}

static void pause_missing(json_t *doc, const struct pause_range *range, size_t n_known,
	const struct pause_entry *entries, size_t n)
{
	size_t n_bounds = 0;
	if (n_known == 0 && range->plan.n_steps > 0)
		report_missing(doc,
			"no switch delivers pause time or PFC frames ('rocewatch "
			"doctor' says why)");
	for (size_t i = 0; i < n; i++)
		n_bounds += !pause_entry_line(&entries[i])->whole.measured;
	if (n_bounds > 0)
		report_missing(doc,
			"%zu of %zu paused queues count frames only: their pause time is an upper "
			"bound",
			n_bounds, n);
}

void pause_report_put(json_t *doc, const struct pause_range *range, const struct limit_pair *limits)
{
	size_t n;
	bool watchdog_counted;
	rw_cleanup(freep) struct pause_entry *entries = pause_entries(range, &n);
	const size_t n_known = pause_known(range);
	json_t *ports = json_array();
	json_object_set_new(doc, "source", json_string(range_source(&range->read)));
	json_object_set_new(
		doc, "step_s", json_real((double)range->plan.step_ns / (double)NS_PER_S));
	json_object_set_new(doc, "coverage_ratio",
		json_number_or_null(range_coverage(&range->plan, &range->read)));
	json_object_set_new(doc, "limits",
		json_pack("{s:f, s:f}", "warn_ratio", limits->warn, "critical_ratio",
			limits->critical));
	for (size_t i = 0; i < n && i < PORTS_SHOWN; i++)
		json_array_append_new(ports, pause_entry_json(range, &entries[i]));
	json_object_set_new(doc, "ports", ports);
	json_object_set_new(doc, "ports_paused", json_integer((json_int_t)n));
	json_object_set_new(doc, "ports_known", json_integer((json_int_t)n_known));
	json_object_set_new(doc, "watchdog", pause_watchdog_json(range, &watchdog_counted));
	json_object_set_new(doc, "watchdog_counted", json_boolean(watchdog_counted));
	json_object_set_new(doc, "ecn_order", pause_orders_json(range));
	json_object_set_new(doc, "chart", pause_chart_json(range, entries, n));
	pause_figures(doc, range, entries, n, n_known);
	pause_missing(doc, range, n_known, entries, n);
	pause_problems(doc, range, entries, n, limits);
}

size_t pause_report_worst_step(const struct pause_range *range)
{
	size_t n;
	rw_cleanup(freep) struct pause_entry *entries = pause_entries(range, &n);
	size_t step = SIZE_MAX;
	double most = 0;
	for (size_t i = 0; i < n; i++) {
		const struct pause_line *line = pause_entry_line(&entries[i]);
		if (!(line->worst.hi > most))
			continue;
		most = line->worst.hi;
		step = line->worst_step;
	}
	return step;
}
