/*
 * watch_frame - the document behind the screen of the operations room. Only what is measured is
 * shown: a signal that nobody collects says so.
 */
#include "agent/reports/watch_frame.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/history/ecmp_read.h"
#include "agent/reports/status.h"
#include "agent/reports/text.h"
#include "analyzers/measure/ecmp_measure.h"
#include "config/config.h"
#include "db/model/metric.h"
#include "db/series/history.h"
#include "db/series/series.h"

enum { TOP_UPLINKS = 8, METRICS_MAX = 64 };

/* Counters summed over the fabric. */
struct watch_signal {
	const char *name, *unit, *meaning;
	uint16_t metrics[4];
	size_t n_metrics;
	bool lossless_only; /* counts the lossless priorities alone */
	bool bad; /* anything above zero is a warning */
};

static const struct watch_signal watch_signals[] = {
	{"pause frames sent", "frames/s", "we paused the neighbour",
		{M_PFC_TX_FRAMES, M_PORT_OUT_PAUSE_FRAMES}, 2, false, false},
	{"pause frames received", "frames/s", "the neighbour paused us",
		{M_PFC_RX_FRAMES, M_PORT_IN_PAUSE_FRAMES}, 2, false, false},
	{"ECN-marked packets", "packets/s", "queues that marked CE", {M_QUEUE_ECN_MARKED}, 1, false,
		false},
	{"lossless drops", "frames/s", "must be zero", {M_PG_DROPS, M_QUEUE_DROPS}, 2, true, true},
	{"discards", "frames/s", "good frames dropped, any class",
		{M_PORT_IN_DISCARDS, M_PORT_OUT_DISCARDS}, 2, false, true},
	{"frames with errors", "frames/s", "bad frames received or not sent",
		{M_PORT_IN_ERRORS, M_PORT_OUT_ERRORS, M_PORT_FCS_ERRORS}, 3, false, true},
};

struct watch_frame {
	struct client *client;
	struct arena *arena;
	struct window window;
	struct ecmp_params ecmp;
};

/* ---- the signals --------------------------------------------------------- */

static bool watch_counts(const struct watch_frame *frame, const struct watch_signal *signal,
	const struct series *series)
{
	bool mine = false;
	for (size_t i = 0; i < signal->n_metrics; i++)
		mine |= signal->metrics[i] == series->metric;
	const struct entity *entity = NULL;
	if (mine)
		entity = entity_get(frame->window.entities, series->entity);
	if (!entity)
		return false;
	if (!signal->lossless_only)
		return true;
	unsigned lossless = frame->client->config->fabric->lossless_mask;
	return entity->priority >= 0 && (lossless >> entity->priority & 1);
}

struct watch_sum {
	double sum, worst;
	const struct entity *where; /* of the worst; NULL when all are zero */
	size_t n; /* series with a rate */
};

static struct watch_sum watch_add_up(
	const struct watch_frame *frame, const struct watch_signal *signal)
{
	const struct window *window = &frame->window;
	struct watch_sum sum = {0};
	for (size_t i = 0; i < window->n_series; i++) {
		const struct series *series = &window->series[i];
		double rate;
		if (!watch_counts(frame, signal, series))
			continue;
		if (series_rate(series, window->from_ns, window->to_ns, 0, &rate, NULL) < 0)
			continue;
		sum.n++;
		sum.sum += rate;
		if (rate > sum.worst) {
			sum.worst = rate;
			sum.where = entity_get(window->entities, series->entity);
		}
	}
	return sum;
}

static json_t *watch_row(
	const char *signal, double value, const char *unit, const char *state, const char *where)
{
	json_t *row = json_object();
	json_object_set_new(row, "signal", json_string(signal));
	json_object_set_new(row, "value", json_number_or_null(value));
	json_object_set_new(row, "unit", json_string(unit));
	json_object_set_new(row, "state", json_string(state));
	json_object_set_new(row, "where", json_string_or_null(where));
	return row;
}

static json_t *watch_signal_json(const struct watch_frame *frame, const struct watch_signal *signal)
{
	const struct watch_sum sum = watch_add_up(frame, signal);
	rw_cleanup(str_done) struct str where = {0};
	if (sum.n == 0)
		return watch_row(signal->name, NAN, signal->unit, "unknown", "not collected");
	if (sum.where) {
		str_addf(&where, "%s %s", sum.where->device, sum.where->port);
		if (sum.where->priority >= 0)
			str_addf(&where, " p%d", sum.where->priority);
		str_addf(&where, " (%s)", signal->meaning);
	}
	const char *state = "ok";
	if (sum.sum > 0 && signal->bad)
		state = "warning";
	return watch_row(signal->name, sum.sum, signal->unit, state, where.s);
}

/* ---- ECMP ---------------------------------------------------------------- */

static void watch_add_hot(struct str *out, const struct ecmp_measure *group)
{
	const struct ecmp_member *hot = &group->members[group->hot];
	str_addf(out, "%s %s, most on %s", group->device, group->group, hot->port);
	if (*hot->peer)
		str_addf(out, " to %s", hot->peer);
	str_addf(out, ": %s", ecmp_verdict_name(group->verdict));
	if (isfinite(group->expected_p95_ratio))
		str_addf(out, " (chance p95 %.0f %%)", group->expected_p95_ratio * 100);
	else
		str_addf(out, " (chance unknown: %s)", str_or(group->flows_note, "no packets"));
}

static json_t *watch_imbalance_json(const struct ecmp_measure *groups, size_t n)
{
	const struct ecmp_measure *worst = NULL;
	size_t busy = 0, unknown = 0;
	for (size_t i = 0; i < n; i++) {
		const struct ecmp_measure *group = &groups[i];
		unknown += group->verdict == ECMP_UNKNOWN;
		if (group->verdict == ECMP_IDLE || group->verdict == ECMP_UNKNOWN ||
			isnan(group->imbalance_ratio))
			continue;
		busy++;
		if (!worst || group->imbalance_ratio > worst->imbalance_ratio)
			worst = group;
	}
	const char *state = "idle";
	double ratio = NAN;
	if (worst) {
		ratio = worst->imbalance_ratio;
		state = worst->verdict > ECMP_WITHIN_CHANCE ? "warning" : "ok";
	} else if (unknown) {
		state = "unknown";
	}
	rw_cleanup(str_done) struct str where = {0};
	if (worst && worst->hot < worst->n_members)
		watch_add_hot(&where, worst);
	else
		str_addf(&where, "%zu of %zu groups busy%s", busy, n,
			str_if(unknown, ", data missing"));
	return watch_row("ECMP max/mean-1, worst", ratio, "ratio", state, where.s);
}

struct watch_uplink {
	const struct ecmp_measure *group;
	const struct ecmp_member *member;
};

static int watch_hotter(const void *left, const void *right)
{
	const struct watch_uplink *x = left, *y = right;
	double u = x->member->utilization_ratio, v = y->member->utilization_ratio;
	return (v > u) - (v < u);
}

/* Parallel links are members of two groups: "uplinks" and "to:" their neighbour. */
static bool watch_is_listed(const json_t *list, const struct watch_uplink *uplink)
{
	const json_t *row;
	size_t i;
	json_array_foreach (list, i, row)
		if (str_eq(text_of(row, "device"), uplink->group->device) &&
			str_eq(text_of(row, "port"), uplink->member->port))
			return true;
	return false;
}

/* Every member with a known utilisation, the busiest first; returns how many. */
static size_t watch_sort_uplinks(
	struct arena *arena, const struct ecmp_measure *groups, size_t n, struct watch_uplink **ret)
{
	size_t total = 0, found = 0;
	for (size_t i = 0; i < n; i++)
		total += groups[i].n_members;
	struct watch_uplink *uplinks = arena_array(arena, struct watch_uplink, total + 1);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < groups[i].n_members; k++)
			if (isfinite(groups[i].members[k].utilization_ratio))
				uplinks[found++] =
					(struct watch_uplink){&groups[i], &groups[i].members[k]};
	qsort(uplinks, found, sizeof(*uplinks), watch_hotter);
	*ret = uplinks;
	return found;
}

static json_t *watch_uplinks_json(
	struct arena *arena, const struct ecmp_measure *groups, size_t n_groups)
{
	struct watch_uplink *uplinks;
	size_t n = watch_sort_uplinks(arena, groups, n_groups, &uplinks);
	json_t *list = json_array();
	for (size_t i = 0; i < n && json_array_size(list) < TOP_UPLINKS; i++) {
		const struct ecmp_member *member = uplinks[i].member;
		if (watch_is_listed(list, &uplinks[i]))
			continue;
		json_t *row = json_object();
		json_object_set_new(row, "device", json_string_or_null(uplinks[i].group->device));
		json_object_set_new(row, "port", json_string_or_null(member->port));
		json_object_set_new(row, "peer", json_string_or_null(member->peer));
		json_object_set_new(
			row, "utilization_ratio", json_number_or_null(member->utilization_ratio));
		json_array_append_new(list, row);
	}
	return list;
}

/* ---- the window ---------------------------------------------------------- */

static void watch_want(uint16_t metric, uint16_t *metrics, size_t *n)
{
	for (size_t i = 0; i < *n; i++)
		if (metrics[i] == metric)
			return;
	if (*n < METRICS_MAX)
		metrics[(*n)++] = metric;
}

static size_t watch_metrics(uint16_t metrics[METRICS_MAX])
{
	size_t n = 0;
	for (size_t i = 0; i < ecmp_n_metrics; i++)
		watch_want(ecmp_metrics[i], metrics, &n);
	for (size_t i = 0; i < rw_countof(watch_signals); i++)
		for (size_t k = 0; k < watch_signals[i].n_metrics; k++)
			watch_want(watch_signals[i].metrics[k], metrics, &n);
	return n;
}

/* The newest window that is closed: aligned as the analyzer's windows are, and while an agent
 * writes one interval after its end, so that its last samples are in. */
static int watch_read_window(struct watch_frame *frame, struct err *e)
{
	const struct config *config = frame->client->config;
	const struct ecmp_options *options = config_options(config, "analyzers", "ecmp_imbalance");
	int64_t window_ns = 60 * NS_PER_S;
	frame->ecmp = (struct ecmp_params){.warn = 0.2,
		.load_floor = 0.05,
		.min_coverage = 0.5,
		.interval_ns = config->defaults.interval_ns};
	if (options) {
		window_ns = options->window_ns;
		frame->ecmp.warn = options->warn;
		frame->ecmp.load_floor = options->load_floor;
		frame->ecmp.min_coverage = options->min_coverage;
	}
	int64_t closed_ns = frame->client->now_ns;
	if (frame->client->agent_alive)
		closed_ns -= frame->ecmp.interval_ns;
	int64_t rest_ns = (closed_ns % window_ns + window_ns) % window_ns;
	int64_t to_ns = closed_ns - rest_ns;
	uint16_t metrics[METRICS_MAX];
	size_t n = watch_metrics(metrics);
	const struct window_spec spec = {.metrics = metrics, .n_metrics = n, .flows = true};
	frame->window.to_ns = to_ns;
	frame->window.from_ns = to_ns - window_ns;
	return history_window(frame->client->history, frame->arena, &spec, to_ns - window_ns, to_ns,
		&frame->window, e);
}

/* ---- the frame ----------------------------------------------------------- */

/* The one word at the top: the worst of what is open, and never better than what is known. */
static const char *watch_overall(const json_t *doc)
{
	const json_t *quality = json_object_get(doc, "data_quality");
	const json_t *incidents = json_object_get(doc, "incidents"), *incident;
	size_t i;
	json_array_foreach (incidents, i, incident)
		if (str_eq(text_of(incident, "severity"), "critical"))
			return "critical";
	if (json_array_size(incidents) > 0)
		return "warning";
	if (text_count(quality, "down") + text_count(quality, "captures_down") > 0)
		return "warning";
	if (text_count(quality, "unknown") + text_count(quality, "captures_unknown") > 0)
		return "unknown";
	return "ok";
}

json_t *watch_frame(struct client *client, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *arena = arena_new();
	struct watch_frame frame = {.client = client, .arena = arena};
	json_t *doc = status_document(client, e);
	if (!doc)
		return NULL;
	if (watch_read_window(&frame, e) < 0) {
		json_decref(doc);
		return NULL;
	}
	struct ecmp_measure *groups = NULL;
	size_t n = ecmp_measure_all(
		client->config->fabric, &frame.window, &frame.ecmp, arena, &groups);
	json_t *list = json_array();
	json_array_append_new(list, watch_imbalance_json(groups, n));
	for (size_t i = 0; i < rw_countof(watch_signals); i++)
		json_array_append_new(list, watch_signal_json(&frame, &watch_signals[i]));
	json_t *window = json_object();
	json_object_set_new(window, "from", json_time(frame.window.from_ns));
	json_object_set_new(window, "to", json_time(frame.window.to_ns));
	json_object_set_new(doc, "state", json_string(watch_overall(doc)));
	json_object_set_new(doc, "window", window);
	json_object_set_new(doc, "signals", list);
	json_object_set_new(doc, "uplinks", watch_uplinks_json(arena, groups, n));
	return doc;
}
