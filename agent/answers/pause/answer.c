/* pause/answer - pause of a time range. */
#include "agent/answers/pause/answer.h"

#include "agent/answers/common/report_page.h"
#include "agent/client/client.h"
#include "agent/document/page.h"
#include "agent/document/json_value.h"
#include "agent/answers/common/report_frame.h"
#include "agent/answers/incident/incident_list.h"
#include "config/config.h"
#include "db/model/golden.h"
#include "db/model/metric.h"
#include "db/series/history.h"

/* pause_range - adds up pause, marks and watchdog events of each queue, step by step. */

static const struct {
	uint16_t measured, bound, frames;
} pause_metrics[PAUSE_WAYS] = {
	{M_PFC_RX_PAUSE_NS, M_PFC_RX_PAUSE_NS_HI, M_PFC_RX_FRAMES},
	{M_PFC_TX_PAUSE_NS, M_PFC_TX_PAUSE_NS_HI, M_PFC_TX_FRAMES},
};

static const uint16_t pause_wanted[] = {M_PFC_RX_PAUSE_NS, M_PFC_RX_PAUSE_NS_HI, M_PFC_RX_FRAMES,
	M_PFC_TX_PAUSE_NS, M_PFC_TX_PAUSE_NS_HI, M_PFC_TX_FRAMES, M_PFCWD_STORMS, M_PFCWD_RESTORES,
	M_PFCWD_DROPS, M_QUEUE_ECN_MARKED, M_PORT_SPEED_BPS};

/* One queue in the step under way. */
struct pause_step {
	bool touched;
	struct amount measured[PAUSE_WAYS], bound[PAUSE_WAYS], frames[PAUSE_WAYS], marked;
};

struct pause_walk {
	struct pause_range *range;
	const struct fabric *fabric;
	const struct entities *entities;
	const char *device; /* glob */
	struct map *index; /* entity -> position in range->v */
	struct map *speeds; /* entity of a port -> its newest speed */
	struct smap *orders; /* device -> position in range->orders */
	struct pause_step *steps; /* beside range->v */
	size_t n_steps, cap_steps;
	size_t step; /* under way; SIZE_MAX: none */
};

/* ---- one queue ---------------------------------------------------------------------- */

static size_t pause_queue_of(struct pause_walk *walk, const struct entity *entity)
{
	struct pause_range *range = walk->range;
	const struct fabric_device *device = fabric_device(walk->fabric, entity->device);
	uint64_t at;
	if (map_get(walk->index, entity->id, &at))
		return at;
	map_put(walk->index, entity->id, range->n);
	rw_grow(walk->steps, walk->n_steps, walk->cap_steps);
	walk->steps[walk->n_steps++] = (struct pause_step){0};
	rw_grow(range->v, range->n, range->cap);
	struct pause_queue *queue = &range->v[range->n];
	*queue = (struct pause_queue){.entity = entity->id,
		.device = entity->device,
		.port = entity->port,
		.priority = entity->priority,
		.lossless = walk->fabric->lossless_mask >> entity->priority & 1,
		.storms = NAN,
		.restores = NAN,
		.storm_drops = NAN};
	if (device)
		queue->fabric_port = fabric_port(device, entity->port);
	for (int way = 0; way < PAUSE_WAYS; way++) {
		queue->way[way].paused_s = NAN;
		queue->way[way].whole = (struct pause_share){.lo = NAN, .hi = NAN};
		queue->way[way].worst = (struct pause_share){.lo = NAN, .hi = NAN};
	}
	return range->n++;
}

static uint64_t pause_speed(const struct pause_walk *walk, size_t at)
{
	const struct pause_queue *queue = &walk->range->v[at];
	const uint32_t port = entities_find(walk->entities, queue->device, queue->port, PRIO_NONE);
	uint64_t speed_bps = 0;
	if (port != ENTITY_NONE && map_get(walk->speeds, port, &speed_bps) && speed_bps)
		return speed_bps;
	if (queue->fabric_port)
		return queue->fabric_port->speed_bps;
	return 0;
}

static struct amount *pause_amount_of(struct pause_step *step, uint16_t metric)
{
	for (int way = 0; way < PAUSE_WAYS; way++) {
		if (metric == pause_metrics[way].measured)
			return &step->measured[way];
		if (metric == pause_metrics[way].bound)
			return &step->bound[way];
		if (metric == pause_metrics[way].frames)
			return &step->frames[way];
	}
	if (metric == M_QUEUE_ECN_MARKED)
		return &step->marked;
	return NULL;
}

/* ---- the end of a step -------------------------------------------------------------- */

static struct pause_order *pause_order_of(struct pause_walk *walk, const char *device)
{
	struct pause_range *range = walk->range;
	uint64_t at;
	if (smap_get(walk->orders, device, strlen(device), &at))
		return &range->orders[at];
	smap_put(walk->orders, device, strlen(device), range->n_orders);
	rw_grow(range->orders, range->n_orders, range->cap_orders);
	range->orders[range->n_orders] = (struct pause_order){.device = device, .marked = NAN};
	return &range->orders[range->n_orders++];
}

static void pause_close_line(
	struct pause_walk *walk, struct pause_line *line, const struct pause_share *share)
{
	const size_t n_steps = walk->range->plan.n_steps;
	if (isnan(share->hi))
		return;
	if (!line->shares) {
		line->shares = rw_calloc(n_steps, sizeof(*line->shares));
		for (size_t i = 0; i < n_steps; i++)
			line->shares[i] = NAN;
	}
	line->shares[walk->step] = (float)share->hi;
	if (isnan(line->worst.hi) || share->hi > line->worst.hi) {
		line->worst = *share;
		line->worst_step = walk->step;
	}
}

/* Marks and pause of all its queues together say whether a device marked before it paused. */
struct pause_device_step {
	bool paused, counted, marked;
};

static void pause_close_queue(struct pause_walk *walk, size_t at, struct pause_device_step *sums)
{
	struct pause_queue *queue = &walk->range->v[at];
	struct pause_step *step = &walk->steps[at];
	const uint64_t speed_bps = pause_speed(walk, at);
	bool paused = false;
	for (int way = 0; way < PAUSE_WAYS; way++) {
		const struct pause_share share = pause_share_of(
			&step->measured[way], &step->bound[way], &step->frames[way], speed_bps);
		pause_close_line(walk, &queue->way[way], &share);
		paused |= way == PAUSE_TX && share.hi > 0;
	}
	if (queue->lossless) {
		const struct pause_order *order = pause_order_of(walk, queue->device);
		const size_t device = (size_t)(order - walk->range->orders);
		sums[device].paused |= paused;
		sums[device].counted |= step->marked.known;
		sums[device].marked |= step->marked.known && step->marked.value > 0;
	}
	*step = (struct pause_step){0};
}

static void pause_close(struct pause_walk *walk)
{
	struct pause_range *range = walk->range;
	rw_cleanup(freep) struct pause_device_step *sums =
		rw_calloc(range->n + range->n_orders + 1, sizeof(*sums));
	for (size_t i = 0; walk->step != SIZE_MAX && i < range->n; i++)
		if (walk->steps[i].touched)
			pause_close_queue(walk, i, sums);
	for (size_t i = 0; i < range->n_orders; i++) {
		struct pause_order *order = &range->orders[i];
		order->paused += sums[i].paused;
		order->unmarked += sums[i].paused && sums[i].counted && !sums[i].marked;
		order->counted |= sums[i].counted;
		order->alive |= sums[i].marked;
	}
}

static void pause_take(void *arg, size_t at_step, const struct rollup *rollup)
{
	struct pause_walk *walk = arg;
	const struct entity *entity = entity_get(walk->entities, rollup->entity);
	if (!entity || !*entity->port || !str_glob(walk->device, entity->device))
		return;
	if (walk->step != at_step) {
		pause_close(walk);
		walk->step = at_step;
	}
	if (rollup->metric == M_PORT_SPEED_BPS)
		map_put(walk->speeds, rollup->entity, rollup->last);
	if (entity->priority < 0 || entity->priority >= FABRIC_CLASSES)
		return;
	const size_t at = pause_queue_of(walk, entity); /* may move .steps */
	struct pause_step *step = &walk->steps[at];
	struct amount *amount = pause_amount_of(step, rollup->metric);
	if (!amount)
		return;
	*amount = range_amount(rollup);
	step->touched = true;
}

/* ---- the whole range ---------------------------------------------------------------- */

static double pause_count(const struct pause_range *range, uint32_t entity, uint16_t metric)
{
	const struct amount amount = range_amount(range_find(&range->read, entity, metric));
	if (!amount.known)
		return NAN;
	return amount.value;
}

static void pause_finish_queue(struct pause_walk *walk, size_t at)
{
	struct pause_range *range = walk->range;
	struct pause_queue *queue = &range->v[at];
	const uint32_t entity = queue->entity;
	const uint64_t speed_bps = pause_speed(walk, at);
	for (int way = 0; way < PAUSE_WAYS; way++) {
		struct pause_line *line = &queue->way[way];
		const struct amount measured =
			range_amount(range_find(&range->read, entity, pause_metrics[way].measured));
		const struct amount bound =
			range_amount(range_find(&range->read, entity, pause_metrics[way].bound));
		line->frames =
			range_amount(range_find(&range->read, entity, pause_metrics[way].frames));
		line->whole = pause_share_of(&measured, &bound, &line->frames, speed_bps);
		const struct amount *watched = measured.known ? &measured : &line->frames;
		line->paused_s = line->whole.hi * (double)watched->covered_ns / (double)NS_PER_S;
	}
	queue->marked = range_amount(range_find(&range->read, entity, M_QUEUE_ECN_MARKED));
	queue->storms = pause_count(range, entity, M_PFCWD_STORMS);
	queue->restores = pause_count(range, entity, M_PFCWD_RESTORES);
	queue->storm_drops = pause_count(range, entity, M_PFCWD_DROPS);
	if (!queue->lossless || !queue->marked.known)
		return;
	struct pause_order *order = pause_order_of(walk, queue->device);
	order->marked = range_add(order->marked, queue->marked.value);
	order->alive |= queue->marked.alive;
}

static void pause_finish(struct pause_walk *walk)
{
	pause_close(walk);
	for (size_t i = 0; i < walk->range->n; i++)
		pause_finish_queue(walk, i);
}

int pause_range_read(
	struct client *client, const char *device, struct pause_range *ret, struct err *e)
{
	*ret = (struct pause_range){0};
	int rc = range_plan_make(client, &ret->plan, e);
	if (rc < 0)
		return rc;
	struct pause_walk walk = {.range = ret,
		.fabric = client->config->fabric,
		.entities = history_entities(client->history),
		.device = device,
		.index = map_new(),
		.speeds = map_new(),
		.orders = smap_new(),
		.step = SIZE_MAX};
	rc = range_read(client, &ret->plan, pause_wanted, rw_countof(pause_wanted), &ret->read,
		pause_take, &walk, e);
	if (rc == 0)
		pause_finish(&walk);
	map_free(walk.index);
	map_free(walk.speeds);
	smap_free(walk.orders);
	free(walk.steps);
	return rc;
}

void pause_range_done(struct pause_range *range)
{
	for (size_t i = 0; i < range->n; i++)
		for (int way = 0; way < PAUSE_WAYS; way++)
			free(range->v[i].way[way].shares);
	free(range->v);
	free(range->orders);
	range_read_done(&range->read);
	*range = (struct pause_range){0};
}

/* ---- answer -------------------------------------------------------------- */

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
		.causes = golden_info(GOLDEN_PAUSE_TIME)->causes,
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

/* ---- page ---------------------------------------------------------------- */

/* pause/page - the page of `report pause`. */

enum { PORTS_NAMED = 4 };

static void pause_level(struct str *out, const struct pause_wait *edge)
{
	if (edge->lo_ratio < edge->hi_ratio)
		str_add(out, "<= ");
	page_quantity(out, edge->hi_ratio, "ratio");
}

/* "  leaf1 (Eth49) waits for spine1   8.8 %   med" */
static void pause_edge(struct str *out, const struct pause_wait *edge)
{
	for (uint64_t i = 0; i < edge->depth; i++)
		str_add(out, "  ");
	str_addf(out, "%s (", edge->waits);
	for (size_t i = 0; i < edge->n_ports && i < PORTS_NAMED; i++)
		str_addf(out, "%s%s", str_if(i > 0, ", "), edge->ports[i]);
	if (edge->n_ports > PORTS_NAMED)
		str_addf(out, " and %zu more", edge->n_ports - PORTS_NAMED);
	str_addf(out, ") paused by %s, ", edge->paused_by);
	pause_level(out, edge);
	str_addf(out, ", confidence %s\n", edge->confidence);
}

static void pause_tree_head(struct page *page, const struct pause_tree *tree)
{
	char from[WALL_TEXT_MAX], to[WALL_TEXT_MAX];
	wall_text(from, tree->from, 0);
	wall_text(to, tree->to, 0);
	page_textf(page,
		"%s at %s:%s, priority %d: %d switch%s and %d host%s wait, confidence %s, "
		"%.10s %.8sZ to %.8sZ",
		str_or(tree->host, "queue"), tree->device, tree->port, tree->priority,
		(int)tree->switches, str_if(tree->switches != 1, "es"), (int)tree->hosts,
		plural(tree->hosts), tree->confidence, from, from + 11, to + 11);
}

static void pause_trees(struct page *page, const struct pause_answer *answer)
{
	if (answer->n_trees > 0)
		page_heading(page, "Where it began, and who waited");
	for (size_t i = 0; i < answer->n_trees; i++) {
		const struct pause_tree *tree = &answer->trees[i];
		rw_cleanup(str_done) struct str lines = {0};
		pause_tree_head(page, tree);
		for (size_t k = 0; k < tree->n_edges; k++)
			pause_edge(&lines, &tree->edges[k]);
		page_code(page, "", str_or(lines.s, ""));
	}
}

static void pause_page_watchdog(struct page *page, const struct pause_answer *answer)
{
	static const struct shape_table table = {.shape = &pause_watchdog_shape};
	page_heading(page, "PFC watchdog");
	if (answer->n_watchdog == 0 && answer->watchdog_counted)
		page_text(page, "It stopped no queue.");
	else if (answer->n_watchdog == 0)
		page_text(page, "Its events are counted by no switch: not known.");
	page_rows(page, NULL, &table, answer->watchdog, answer->n_watchdog);
}

struct page *pause_page(const json_t *doc, const void *of)
{
	static const struct shape_table orders = {.shape = &pause_ecn_order_shape};
	const struct pause_answer *answer = of;
	struct page *page = report_page("PFC pause", doc);
	report_block_incidents(page, "Incidents", answer->incidents, NULL);
	struct page_block *chart = chart_draw(
		page, "share of time paused, most paused queues", "ratio", &answer->chart);
	if (chart)
		page_limit(chart, answer->limits.warn_ratio, "warning");
	page_heading(page, "Most paused ports");
	if (answer->n_ports > 0)
		page_textf(page,
			"%d of %d queues were paused in a direction. 'X paused us' is pause that "
			"the switch received, 'we paused X' is pause that it sent. Read from %s.",
			(int)answer->ports_paused, (int)answer->ports_known, answer->source);
	else if (answer->ports_known > 0)
		page_text(page, "No queue was paused.");
	else
		page_text(page, "Not known: no switch delivered pause in this time.");
	report_block_pause(page, answer->ports, answer->n_ports);
	pause_trees(page, answer);
	pause_page_watchdog(page, answer);
	if (answer->n_ecn_order > 0)
		page_heading(page, "Did ECN mark before PFC paused?");
	page_rows(page, NULL, &orders, answer->ecn_order, answer->n_ecn_order);
	return page;
}
