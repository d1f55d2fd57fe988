/* pause_range - adds up pause, marks and watchdog events of each queue, step by step. */
#include "agent/answers/pause/pause_range.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/map.h"
#include "base/str.h"
#include "agent/client/client.h"
#include "config/config.h"
#include "db/model/metric.h"
#include "db/series/history.h"

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
