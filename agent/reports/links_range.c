/* links_range - adds up what is known of each port. */
#include "agent/reports/links_range.h"

#include <math.h>
#include <stdlib.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/err.h"
#include "agent/base/map.h"
#include "agent/base/str.h"
#include "agent/client/client.h"
#include "agent/reports/topology_document.h"
#include "config/config.h"
#include "db/model/metric.h"
#include "db/series/history.h"

static const uint16_t links_wanted[] = {M_PORT_IN_ERRORS, M_PORT_OUT_ERRORS, M_PORT_FCS_ERRORS,
	M_PORT_SYMBOL_ERRORS, M_PORT_FEC_CORRECTED, M_PORT_FEC_UNCORRECTABLE, M_PORT_FLAPS,
	M_PORT_OPER_UP, M_PORT_SPEED_BPS, M_PORT_MTU_BYTES, M_PORT_PRE_FEC_BER, M_OPTIC_RX_POWER,
	M_OPTIC_TX_POWER, M_OPTIC_TEMPERATURE};

/* States hold until the next one is told. */
static const uint16_t links_states[] = {M_PORT_OPER_UP, M_PORT_SPEED_BPS, M_PORT_MTU_BYTES};

struct links_state { /* as it was told last */
	uint32_t entity;
	uint16_t metric;
	double value;
	int64_t told_ns;
};

struct links_walk {
	struct links_range *range;
	const struct fabric *fabric;
	const struct entities *entities;
	const char *device; /* glob */
	struct map *index; /* entity -> position in range->v */
	struct map *worst; /* entity -> the worst step's errors, frames per second x 1000 */
	int64_t believed_ns; /* a state, after it was told */
	struct links_state *states;
	size_t n_states, cap_states;
	struct map *state_index; /* links_state_key() -> position in .states */
};

static bool links_is_wanted(const struct links_walk *walk, const struct entity *entity)
{
	return entity && *entity->port && entity->priority < 0 &&
		str_glob(walk->device, entity->device);
}

/* ---- numbers of a rollup ---------------------------------------------------------------- */

static double links_least(const struct rollup *rollup)
{
	return rollup && rollup->numbers > 0 ? rollup->min : NAN;
}

static double links_most(const struct rollup *rollup)
{
	return rollup && rollup->numbers > 0 ? rollup->max : NAN;
}

static double links_mean(const struct rollup *rollup)
{
	return rollup && rollup->numbers > 0 ? rollup->sum / rollup->numbers : NAN;
}

static double links_first(const struct rollup *rollup)
{
	return rollup ? range_number(rollup, rollup->first) : NAN;
}

static double links_last(const struct rollup *rollup)
{
	return rollup ? range_number(rollup, rollup->last) : NAN;
}

/* ---- states ----------------------------------------------------------------------------- */

static uint64_t links_state_key(uint32_t entity, uint16_t metric)
{
	return (uint64_t)entity << 16 | metric;
}

static struct links_state *links_state_of(
	const struct links_walk *walk, uint32_t entity, uint16_t metric)
{
	uint64_t at;
	if (!map_get(walk->state_index, links_state_key(entity, metric), &at))
		return NULL;
	return &walk->states[at];
}

/* A value that was told: the change is kept when it is another one than before. */
static void links_told(struct links_walk *walk, const struct entity *entity, uint16_t metric,
	double value, int64_t at_ns)
{
	struct links_range *range = walk->range;
	struct links_state *state = links_state_of(walk, entity->id, metric);
	if (isnan(value))
		return;
	if (!state) {
		map_put(walk->state_index, links_state_key(entity->id, metric), walk->n_states);
		rw_grow(walk->states, walk->n_states, walk->cap_states);
		state = &walk->states[walk->n_states++];
		*state = (struct links_state){
			.entity = entity->id, .metric = metric, .value = value};
	}
	if (state->value != value && metric != M_PORT_OPER_UP) {
		rw_grow(range->changes, range->n_changes, range->cap_changes);
		range->changes[range->n_changes++] = (struct link_change){.device = entity->device,
			.port = entity->port,
			.metric = metric,
			.before = state->value,
			.now = value,
			.at_ns = at_ns};
	}
	state->value = value;
	state->told_ns = at_ns;
}

static int links_told_before(void *arg, const struct sample *sample)
{
	struct links_walk *walk = arg;
	const struct entity *entity = entity_get(walk->entities, sample->entity);
	const bool believed = sample->t_ns >= walk->range->plan.from_ns - walk->believed_ns;
	if (believed && links_is_wanted(walk, entity))
		links_told(walk, entity, sample->metric,
			sample_number(sample->metric, sample->value), sample->t_ns);
	return 0;
}

static bool links_is_state(uint16_t metric)
{
	for (size_t i = 0; i < rw_countof(links_states); i++)
		if (links_states[i] == metric)
			return true;
	return false;
}

/* At the end of the range; NAN when it was told too long ago. */
static double links_state_now(const struct links_walk *walk, uint32_t entity, uint16_t metric)
{
	const struct range_plan *plan = &walk->range->plan;
	const struct links_state *state = links_state_of(walk, entity, metric);
	if (!state)
		return NAN;
	if (state->told_ns <= plan->from_ns && plan->last_ns - state->told_ns > walk->believed_ns)
		return NAN;
	return state->value;
}

/* ---- steps ------------------------------------------------------------------------------ */

/* Steps of one port, errors in and out together: the worst is kept. */
static void links_step(void *arg, size_t step, const struct rollup *rollup)
{
	struct links_walk *walk = arg;
	struct links_range *range = walk->range;
	const struct entity *entity = entity_get(walk->entities, rollup->entity);
	const struct amount amount = range_amount(rollup);
	uint64_t worst = 0;
	if (!links_is_wanted(walk, entity))
		return;
	if (links_is_state(rollup->metric)) {
		links_told(walk, entity, rollup->metric, links_first(rollup), rollup->first_ns);
		links_told(walk, entity, rollup->metric, links_last(rollup), rollup->last_ns);
		return;
	}
	if (!amount.known)
		return;
	if (rollup->metric == M_PORT_FLAPS)
		range->flaps[step] = range_add(range->flaps[step], amount.value);
	if (rollup->metric != M_PORT_IN_ERRORS && rollup->metric != M_PORT_OUT_ERRORS)
		return;
	range->errors[step] = range_add(range->errors[step], amount.value);
	const uint64_t rate = (uint64_t)(amount_rate(&amount) * 1000);
	map_get(walk->worst, rollup->entity, &worst);
	if (rate > worst)
		map_put(walk->worst, rollup->entity, rate);
}

/* ---- the whole range ---------------------------------------------------------------- */

static double links_count(const struct links_range *range, uint32_t entity, uint16_t metric)
{
	const struct amount amount = range_amount(range_find(&range->read, entity, metric));
	if (!amount.known)
		return NAN;
	return amount.value;
}

static double links_rate(const struct links_range *range, uint32_t entity)
{
	double rate = NAN;
	static const uint16_t metrics[] = {M_PORT_IN_ERRORS, M_PORT_OUT_ERRORS};
	for (size_t i = 0; i < rw_countof(metrics); i++) {
		const struct amount amount =
			range_amount(range_find(&range->read, entity, metrics[i]));
		rate = range_add(rate, amount_rate(&amount));
	}
	return rate;
}

static const struct rollup *links_of(
	const struct links_range *range, uint32_t entity, uint16_t metric)
{
	return range_find(&range->read, entity, metric);
}

static void links_add(struct links_walk *walk, const struct entity *entity)
{
	struct links_range *range = walk->range;
	const struct fabric_device *device = fabric_device(walk->fabric, entity->device);
	const uint32_t id = entity->id;
	uint64_t worst = 0;
	const struct rollup *up = links_of(range, id, M_PORT_OPER_UP);
	const struct rollup *rx = links_of(range, id, M_OPTIC_RX_POWER);
	rw_grow(range->v, range->n, range->cap);
	struct link_port *port = &range->v[range->n++];
	*port = (struct link_port){.device = entity->device,
		.port = entity->port,
		.in_errors = links_count(range, id, M_PORT_IN_ERRORS),
		.out_errors = links_count(range, id, M_PORT_OUT_ERRORS),
		.fcs_errors = links_count(range, id, M_PORT_FCS_ERRORS),
		.symbol_errors = links_count(range, id, M_PORT_SYMBOL_ERRORS),
		.fec_corrected = links_count(range, id, M_PORT_FEC_CORRECTED),
		.fec_uncorrectable = links_count(range, id, M_PORT_FEC_UNCORRECTABLE),
		.errors_per_s = links_rate(range, id),
		.worst_per_s = NAN,
		.flaps = links_count(range, id, M_PORT_FLAPS),
		.up = links_state_now(walk, id, M_PORT_OPER_UP),
		.up_ratio = links_mean(up),
		.speed_bps = links_state_now(walk, id, M_PORT_SPEED_BPS),
		.mtu_bytes = links_state_now(walk, id, M_PORT_MTU_BYTES),
		.ber = links_most(links_of(range, id, M_PORT_PRE_FEC_BER)),
		.rx_power_dbm = links_last(rx),
		.rx_power_least_dbm = links_least(rx),
		.tx_power_dbm = links_last(links_of(range, id, M_OPTIC_TX_POWER)),
		.temperature_c = links_most(links_of(range, id, M_OPTIC_TEMPERATURE))};
	if (map_get(walk->worst, id, &worst))
		port->worst_per_s = (double)worst / 1000;
	else if (!isnan(port->errors_per_s))
		port->worst_per_s = 0;
	if (device)
		port->fabric_port = fabric_port(device, entity->port);
	if (port->fabric_port)
		port->linked = port->fabric_port->peer || port->fabric_port->host;
}

static int links_order(const void *left, const void *right)
{
	const struct link_port *a = left, *b = right;
	const int r = name_compare(a->device, b->device);
	return r ? r : name_compare(a->port, b->port);
}

static void links_add_once(struct links_walk *walk, uint32_t id)
{
	const struct entity *entity = entity_get(walk->entities, id);
	uint64_t ignored;
	if (!links_is_wanted(walk, entity) || map_get(walk->index, id, &ignored))
		return;
	map_put(walk->index, id, 1);
	links_add(walk, entity);
}

static void links_finish(struct links_walk *walk)
{
	struct links_range *range = walk->range;
	for (size_t i = 0; i < range->read.n; i++)
		links_add_once(walk, range->read.v[i].entity);
	for (size_t i = 0; i < walk->n_states; i++)
		links_add_once(walk, walk->states[i].entity);
	if (range->n > 1)
		qsort(range->v, range->n, sizeof(*range->v), links_order);
}

int links_range_read(
	struct client *client, const char *device, struct links_range *ret, struct err *e)
{
	*ret = (struct links_range){0};
	int rc = range_plan_make(client, &ret->plan, e);
	if (rc < 0)
		return rc;
	struct links_walk walk = {.range = ret,
		.fabric = client->config->fabric,
		.entities = history_entities(client->history),
		.device = device,
		.index = map_new(),
		.worst = map_new(),
		.believed_ns = topology_state_age(client),
		.state_index = map_new()};
	const struct history_filter before = {.priority = PRIO_NONE,
		.metrics = links_states,
		.n_metrics = rw_countof(links_states)};
	ret->errors = rw_calloc(ret->plan.n_steps + 1, sizeof(*ret->errors));
	ret->flaps = rw_calloc(ret->plan.n_steps + 1, sizeof(*ret->flaps));
	for (size_t i = 0; i < ret->plan.n_steps; i++)
		ret->errors[i] = ret->flaps[i] = NAN;
	if (ret->plan.n_steps > 0)
		rc = history_each_before(
			client->history, &before, ret->plan.from_ns, links_told_before, &walk, e);
	if (rc == 0)
		rc = range_read(client, &ret->plan, links_wanted, rw_countof(links_wanted),
			&ret->read, links_step, &walk, e);
	if (rc == 0)
		links_finish(&walk);
	map_free(walk.index);
	map_free(walk.worst);
	map_free(walk.state_index);
	free(walk.states);
	return rc;
}

void links_range_done(struct links_range *range)
{
	free(range->v);
	free(range->changes);
	free(range->errors);
	free(range->flaps);
	range_read_done(&range->read);
	*range = (struct links_range){0};
}
