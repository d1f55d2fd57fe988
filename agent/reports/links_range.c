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
#include "config/config.h"
#include "db/model/metric.h"
#include "db/series/history.h"

static const uint16_t links_wanted[] = {M_PORT_IN_ERRORS, M_PORT_OUT_ERRORS, M_PORT_FCS_ERRORS,
	M_PORT_SYMBOL_ERRORS, M_PORT_FEC_CORRECTED, M_PORT_FEC_UNCORRECTABLE, M_PORT_FLAPS,
	M_PORT_OPER_UP, M_PORT_SPEED_BPS, M_PORT_MTU_BYTES, M_PORT_PRE_FEC_BER, M_OPTIC_RX_POWER,
	M_OPTIC_TX_POWER, M_OPTIC_TEMPERATURE};

struct links_walk {
	struct links_range *range;
	const struct fabric *fabric;
	const struct entities *entities;
	const char *device; /* glob */
	struct map *index; /* entity -> position in range->v */
	struct map *worst; /* entity -> the worst step's errors, frames per second x 1000 */
};

static bool links_is_wanted(const struct links_walk *walk, const struct entity *entity)
{
	return entity && *entity->port && entity->priority < 0 &&
		str_glob(walk->device, entity->device);
}

/* Steps of one port, errors in and out together: the worst is kept. */
static void links_step(void *arg, size_t step, const struct rollup *rollup)
{
	struct links_walk *walk = arg;
	struct links_range *range = walk->range;
	const struct entity *entity = entity_get(walk->entities, rollup->entity);
	const struct amount amount = range_amount(rollup);
	uint64_t worst = 0;
	if (!links_is_wanted(walk, entity) || !amount.known)
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
	const struct rollup *speed = links_of(range, id, M_PORT_SPEED_BPS);
	const struct rollup *mtu = links_of(range, id, M_PORT_MTU_BYTES);
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
		.up = links_last(up),
		.up_ratio = links_mean(up),
		.speed_bps = links_last(speed),
		.speed_before_bps = links_first(speed),
		.mtu_bytes = links_last(mtu),
		.mtu_before_bytes = links_first(mtu),
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

static void links_finish(struct links_walk *walk)
{
	struct links_range *range = walk->range;
	for (size_t i = 0; i < range->read.n; i++) {
		const uint32_t id = range->read.v[i].entity;
		const struct entity *entity = entity_get(walk->entities, id);
		uint64_t ignored;
		if (!links_is_wanted(walk, entity) || map_get(walk->index, id, &ignored))
			continue;
		map_put(walk->index, id, 1);
		links_add(walk, entity);
	}
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
		.worst = map_new()};
	ret->errors = rw_calloc(ret->plan.n_steps + 1, sizeof(*ret->errors));
	ret->flaps = rw_calloc(ret->plan.n_steps + 1, sizeof(*ret->flaps));
	for (size_t i = 0; i < ret->plan.n_steps; i++)
		ret->errors[i] = ret->flaps[i] = NAN;
	rc = range_read(client, &ret->plan, links_wanted, rw_countof(links_wanted), &ret->read,
		links_step, &walk, e);
	if (rc == 0)
		links_finish(&walk);
	map_free(walk.index);
	map_free(walk.worst);
	return rc;
}

void links_range_done(struct links_range *range)
{
	free(range->v);
	free(range->errors);
	free(range->flaps);
	range_read_done(&range->read);
	*range = (struct links_range){0};
}
