/* pause/answer - pause of a time range. */
#include "agent/answers/pause/answer.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/str.h"
#include "agent/document/json_value.h"
#include "agent/answers/common/report_frame.h"
#include "agent/answers/incident/report_incidents.h"

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

static const char *pause_peer(const struct pause_queue *queue, struct arena *a)
{
	const struct fabric_port *port = queue->fabric_port;
	if (port && port->peer)
		return arena_printf(a, "%s:%s", port->peer->device->name, port->peer->name);
	return port ? port->host : NULL;
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

static struct pause_port pause_port_make(
	const struct pause_range *range, const struct pause_entry *entry, struct arena *a)
{
	const struct pause_queue *queue = entry->queue;
	const struct pause_line *line = pause_entry_line(entry);
	const struct range_plan *plan = &range->plan;
	rw_cleanup(str_done) struct str words = {0};
	pause_words(&words, entry);
	struct pause_port port = {.device = arena_strdup(a, queue->device),
		.port = arena_strdup(a, queue->port),
		.priority = (uint64_t)queue->priority,
		.lossless = queue->lossless,
		.peer = pause_peer(queue, a),
		.host = queue->fabric_port ? queue->fabric_port->host : NULL,
		.direction = entry->way,
		.words = arena_strdup(a, words.s),
		.lo_ratio = line->whole.lo,
		.hi_ratio = line->whole.hi,
		.quality = line->whole.measured ? "time" : "frames",
		.paused_s = line->paused_s,
		.worst_lo_ratio = line->worst.lo,
		.worst_hi_ratio = line->worst.hi,
		.worst_at = TIME_UNKNOWN,
		.frames = COUNT_UNKNOWN};
	if (!isnan(line->worst.hi))
		port.worst_at.ns = plan->from_ns + (int64_t)(line->worst_step + 1) * plan->step_ns;
	if (line->frames.known)
		port.frames = (uint64_t)line->frames.value;
	return port;
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

/* Of one device: its worst port, and how many of its queues are over the limit. */
struct pause_device {
	const char *name;
	const struct pause_entry *worst; /* NULL: none is over the limit */
	size_t n_over;
};

static void pause_problem_of(json_t *doc, const json_t *incidents, const struct pause_range *range,
	const struct pause_device *device, const struct limit_pair *limits)
{
	const struct pause_entry *worst = device->worst;
	const struct pause_share *most = &pause_entry_line(worst)->worst;
	rw_cleanup(str_done) struct str words = {0}, share = {0}, more = {0};
	pause_words(&words, worst);
	pause_share_text(&share, most);
	if (device->n_over > 1)
		str_addf(&more, "; %zu more of its queues over %.3g %%", device->n_over - 1,
			100 * limits->warn);
	const struct report_over over = {
		.own = limits->own,
		.state = pause_judge(most, limits),
		.cause = "pause_time",
		.device = device->name,
	};
	report_incidents_over(doc, incidents, &over, "%s:%s p%d: %s %s in the worst %s%s",
		device->name, worst->queue->port, worst->queue->priority, words.s, share.s,
		range_step_word(&range->plan), str_or(more.s, ""));
}

static void pause_device_take(struct pause_device *device, const struct pause_entry *entry,
	const struct limit_pair *limits)
{
	if (pause_judge(&pause_entry_line(entry)->worst, limits) == REPORT_OK)
		return;
	device->n_over++;
	if (!device->worst || pause_is_worse(entry, device->worst, limits))
		device->worst = entry;
}

/* One problem for each device, in the order in which @entries name them. */
static void pause_problems(json_t *doc, const json_t *incidents, const struct pause_range *range,
	const struct pause_entry *entries, size_t n, const struct limit_pair *limits)
{
	struct smap *places = smap_new();
	rw_cleanup(freep) struct pause_device *devices = NULL;
	size_t n_devices = 0, cap_devices = 0;
	for (size_t i = 0; i < n; i++) {
		const char *name = entries[i].queue->device;
		uint64_t at = n_devices;
		if (!smap_get(places, name, strlen(name), &at)) {
			smap_put(places, name, strlen(name), n_devices);
			rw_grow(devices, n_devices, cap_devices);
			devices[n_devices++] = (struct pause_device){.name = name};
		}
		pause_device_take(&devices[at], &entries[i], limits);
	}
	smap_free(places);
	for (size_t i = 0; i < n_devices; i++)
		if (devices[i].worst)
			pause_problem_of(doc, incidents, range, &devices[i], limits);
}

/* ---- the PFC watchdog, and the order of ECN and PFC ------------------------------------ */

static void pause_put_watchdog(
	struct pause_answer *ret, const struct pause_range *range, struct arena *a)
{
	for (size_t i = 0; i < range->n; i++) {
		const struct pause_queue *queue = &range->v[i];
		ret->watchdog_counted |= !isnan(queue->storms);
		if (!(queue->storms > 0 || queue->storm_drops > 0))
			continue;
		arena_grow_pow2(a, ret->watchdog, ret->n_watchdog);
		ret->watchdog[ret->n_watchdog++] =
			(struct pause_watchdog){.device = arena_strdup(a, queue->device),
				.port = arena_strdup(a, queue->port),
				.priority = (uint64_t)queue->priority,
				.host = queue->fabric_port ? queue->fabric_port->host : NULL,
				.storms = queue->storms,
				.restores = queue->restores,
				.dropped = queue->storm_drops};
	}
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

static void pause_put_orders(
	struct pause_answer *ret, const struct pause_range *range, struct arena *a)
{
	for (size_t i = 0; i < range->n_orders; i++) {
		const struct pause_order *order = &range->orders[i];
		if (order->paused == 0)
			continue;
		arena_grow_pow2(a, ret->ecn_order, ret->n_ecn_order);
		ret->ecn_order[ret->n_ecn_order++] =
			(struct pause_ecn_order){.device = arena_strdup(a, order->device),
				.steps_paused = order->paused,
				.steps_unmarked = order->counted ? order->unmarked : COUNT_UNKNOWN,
				.marked = order->marked,
				.words = pause_order_words(order)};
	}
}

/* ---- over time ------------------------------------------------------------------------ */

static void pause_put_series(struct pause_answer *ret, const struct pause_range *range,
	const struct pause_entry *entry, struct arena *a)
{
	const struct pause_line *line = pause_entry_line(entry);
	const size_t n = range->plan.n_steps;
	rw_cleanup(str_done) struct str name = {0};
	rw_cleanup(freep) double *values = rw_calloc(n + 1, sizeof(*values));
	str_addf(&name, "%s:%s p%d, ", entry->queue->device, entry->queue->port,
		entry->queue->priority);
	pause_words(&name, entry);
	for (size_t i = 0; i < n; i++) {
		const double share = line->shares ? (double)line->shares[i] : NAN;
		values[i] = round(share * 1e5) / 1e5;
	}
	chart_add(&ret->chart, a, name.s, values);
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

static size_t pause_worst_step(const struct pause_entry *entries, size_t n)
{
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

void pause_answer_make(struct pause_answer *ret, json_t *doc, const struct pause_range *range,
	const struct limit_pair *limits, struct arena *a)
{
	size_t n;
	rw_cleanup(freep) struct pause_entry *entries = pause_entries(range, &n);
	const size_t n_known = pause_known(range);
	*ret = (struct pause_answer){.incidents = ret->incidents,
		.source = range_source(&range->read),
		.step_s = (double)range->plan.step_ns / (double)NS_PER_S,
		.coverage_ratio = range_coverage(&range->plan, &range->read),
		.limits = {limits->warn, limits->critical},
		.ports = arena_array(a, struct pause_port, PORTS_SHOWN),
		.ports_paused = n,
		.ports_known = n_known,
		.worst_step = pause_worst_step(entries, n)};
	for (size_t i = 0; i < n && i < PORTS_SHOWN; i++)
		ret->ports[ret->n_ports++] = pause_port_make(range, &entries[i], a);
	pause_put_watchdog(ret, range, a);
	pause_put_orders(ret, range, a);
	chart_begin(&ret->chart, a, &range->plan);
	for (size_t i = 0; i < n && i < SERIES_SHOWN; i++)
		pause_put_series(ret, range, &entries[i], a);
	pause_figures(doc, range, entries, n, n_known);
	pause_missing(doc, range, n_known, entries, n);
	pause_problems(doc, ret->incidents, range, entries, n, limits);
}
