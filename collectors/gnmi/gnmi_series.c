/* gnmi_series - makes samples: of one value each, or of several paths that are added up. */
#include "collectors/gnmi/gnmi_series.h"
#include "collectors/gnmi/gnmi_effective.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/map.h"
#include "agent/base/str.h"
#include "db/model/metric.h"

#define LINE_LEAST_BPS 1000000u /* a lower speed is a placeholder, not a speed */

int gnmi_series_priority_of(const struct gnmi_feed *feed, enum gnmi_number number, unsigned n)
{
	if (number == GNMI_NUMBER_PRIORITY)
		return (int)n;
	return profile_priority(feed->decoder->profile, n);
}

static uint32_t series_entity(struct gnmi_decoder *decoder, const struct gnmi_series_key *key)
{
	struct entities *entities = decoder->entities;
	const char *device = decoder->device;
	char name[GNMI_NAME_MAX + 80];
	/* 1. of a pool, or of the device */
	const enum metric_scope scope = metric_info((unsigned)key->metric)->scope;
	if (key->port == GNMI_PORT_NONE || scope == SCOPE_DEVICE) {
		if (!key->pool.p)
			return entities_intern(entities, device, NULL, PRIO_NONE);
		snprintf(name, sizeof(name), "pool:%.*s", (int)key->pool.n, key->pool.p);
		return entities_intern(entities, device, name, PRIO_NONE);
	}
	/* 2. of a port */
	const char *port = decoder->ports.v[key->port].name;
	if (scope != SCOPE_PRIO)
		return entities_intern(entities, device, port, PRIO_NONE);
	/* 3. of a priority */
	if (key->priority != PRIO_NONE || !key->queue)
		return entities_intern(entities, device, port, key->priority);
	/* 4. of a queue that the profile maps to no priority: kept under the queue's name */
	snprintf(name, sizeof(name), "%s#q%s", port, key->queue);
	return entities_intern(entities, device, name, PRIO_NONE);
}

uint32_t gnmi_series_at(struct gnmi_feed *feed, const struct gnmi_series_key *key)
{
	const uint32_t entity = series_entity(feed->decoder, key);
	const uint16_t metric = (uint16_t)key->metric;
	if (entity == ENTITY_NONE) { /* the device has too many names; counted there */
		feed->decoder->stats.over_limit++;
		return GNMI_SERIES_NONE;
	}
	const uint64_t hash_key = (uint64_t)entity << 16 | metric;
	uint64_t at;
	if (map_get(feed->by_entity, hash_key, &at))
		return (uint32_t)at;
	if (feed->n_series == GNMI_SERIES_MAX) {
		gnmi_refuse(feed->decoder);
		return GNMI_SERIES_NONE;
	}
	rw_grow(feed->series, feed->n_series, feed->cap_series);
	feed->series[feed->n_series] = (struct gnmi_series){.entity = entity,
		.metric = metric,
		.port = key->port,
		.epoch = feed->decoder->epoch,
		.first_part = GNMI_SERIES_NONE};
	entities_hold(feed->decoder->entities, entity);
	map_put(feed->by_entity, hash_key, feed->n_series);
	return (uint32_t)feed->n_series++;
}

/* series_bound - the most that a counter can grow by in one second; 0 = unknown. */
static double series_bound(const struct gnmi_decoder *decoder, const struct gnmi_series *series)
{
	uint64_t speed_bps;
	switch (series->metric) {
	case M_PORT_IN_OCTETS:
	case M_PORT_OUT_OCTETS:
	case M_QUEUE_OUT_OCTETS:
		if (series->port == GNMI_PORT_NONE)
			return 0;
		speed_bps = decoder->ports.v[series->port].speed_bps;
		if (speed_bps < LINE_LEAST_BPS)
			return 0;
		return (double)speed_bps / 8;
	case M_PFC_RX_PAUSE_NS:
	case M_PFC_TX_PAUSE_NS: return 1e9;
	default: return 0;
	}
}

/* series_check - the flags of a counter, with SF_SUSPECT when it cannot have grown like that. */
static unsigned series_check(struct gnmi_decoder *decoder, struct gnmi_series *series, int64_t t_ns,
	uint64_t value, unsigned flags)
{
	const double bound = series_bound(decoder, series);
	if (bound <= 0)
		return flags;
	if (!series->check) {
		rw_grow(decoder->checks, decoder->n_checks, decoder->cap_checks);
		decoder->checks[decoder->n_checks++] = (struct counter_check){0};
		series->check = (uint32_t)decoder->n_checks;
	}
	flags = counter_check_take(&decoder->checks[series->check - 1], t_ns, value, flags, bound);
	decoder->stats.suspects += (flags & SF_SUSPECT) != 0;
	return flags;
}

/* A counter that comes far more often than it was asked for. States are taken as they come: each
 * change may matter, and the last one counts. */
static bool series_too_often(
	const struct gnmi_feed *feed, const struct gnmi_series *series, int64_t t_ns)
{
	const int64_t since_ns = t_ns - series->t_ns;
	return metric_info(series->metric)->kind == METRIC_COUNTER && since_ns > 0 &&
		since_ns < feed->least_ns;
}

void gnmi_series_emit(struct gnmi_feed *feed, struct gnmi_series *series,
	const struct gnmi_converted *value, struct gnmi_sample_info info, struct sample_list *out)
{
	struct gnmi_decoder *decoder = feed->decoder;
	const struct metric_info *metric = metric_info(series->metric);
	unsigned flags = 0;
	uint64_t bits = value->u;
	if (!gnmi_effective_take(feed, series))
		return;
	if (series_too_often(feed, series, info.t_ns)) {
		decoder->stats.too_often++;
		series->remade |= info.remade;
		return;
	}
	info.remade |= series->remade;
	series->remade = false;
	series->t_ns = info.t_ns;
	if (value->estimated)
		flags = SF_ESTIMATED;
	if (metric->type == TYPE_F64)
		bits = sample_of_f64(value->d);
	if (metric->kind == METRIC_COUNTER) {
		if (info.remade || series->epoch != decoder->epoch)
			flags |= SF_RESTART;
		flags = series_check(decoder, series, info.t_ns, bits, flags);
	}
	series->epoch = decoder->epoch;
	if (series->metric == M_PORT_SPEED_BPS && series->port != GNMI_PORT_NONE)
		gnmi_ports_set_speed(&decoder->ports, series->port, bits);
	rw_grow(out->v, out->n, out->cap);
	out->v[out->n++] = (struct sample){.t_ns = info.t_ns,
		.value = bits,
		.entity = series->entity,
		.metric = series->metric,
		.flags = (uint16_t)flags,
		.source = SOURCE_GNMI,
		.window_ms = info.window_ms};
}

/* ---- series of several parts --------------------------------------------- */

static uint64_t fold_whole(enum profile_fold fold, uint64_t sum, uint64_t value)
{
	const bool is_less = value < sum;
	if (fold == FOLD_SUM)
		return sum + value;
	if (is_less == (fold == FOLD_MIN))
		return value;
	return sum;
}

static double fold_double(enum profile_fold fold, double sum, double value)
{
	if (fold == FOLD_MIN)
		return fmin(sum, value);
	if (fold == FOLD_MAX)
		return fmax(sum, value);
	return sum + value;
}

/* adds - is it a part of the sum, and not only of what is taken away from it? */
static bool adds(const struct profile_gnmi_value *spec)
{
	return !spec->subtract && !spec->restores;
}

/* has_better - is there a value of a row that is not only a fallback? */
static bool has_better(const struct gnmi_feed *feed, const struct gnmi_series *series)
{
	for (uint32_t i = series->first_part; i != GNMI_SERIES_NONE; i = feed->parts[i].next) {
		const struct profile_gnmi_value *spec = feed->parts[i].row->spec;
		if (feed->parts[i].seen && !spec->fallback && adds(spec))
			return true;
	}
	return false;
}

struct taken { /* from a sum */
	bool any;
	uint64_t away, back;
};

/* difference - what is left of @sum. The counters of a difference are read one after the other:
 * without a restart it does not go back. */
static uint64_t difference(struct gnmi_series *series, uint64_t sum, struct taken taken)
{
	uint64_t away = 0;
	if (taken.away > taken.back)
		away = taken.away - taken.back;
	uint64_t left = 0;
	if (sum > away)
		left = sum - away;
	if (left < series->held && !series->went_back)
		left = series->held;
	series->held = left;
	return left;
}

void gnmi_series_emit_parts(
	struct gnmi_feed *feed, struct gnmi_series *series, int64_t t_ns, struct sample_list *out)
{
	const bool better = has_better(feed, series);
	const bool is_double = metric_info(series->metric)->type == TYPE_F64;
	struct gnmi_converted sum = {0};
	struct gnmi_sample_info info = {.t_ns = t_ns};
	struct taken taken = {0};
	uint32_t seen = 0;
	for (uint32_t i = series->first_part; i != GNMI_SERIES_NONE; i = feed->parts[i].next) {
		struct gnmi_part *part = &feed->parts[i];
		const struct profile_gnmi_value *spec = part->row->spec;
		part->fresh = false;
		if (!part->seen || (better && spec->fallback))
			continue;
		if (!adds(spec)) {
			taken.any = true;
			taken.away += spec->subtract ? part->u : 0;
			taken.back += spec->restores ? part->u : 0;
			continue;
		}
		seen++;
		info.window_ms = spec->window_ms;
		sum.estimated |= part->estimated;
		if (seen == 1 && is_double)
			sum.d = part->d;
		else if (seen == 1)
			sum.u = part->u;
		else if (is_double)
			sum.d = fold_double(spec->fold, sum.d, part->d);
		else
			sum.u = fold_whole(spec->fold, sum.u, part->u);
	}
	if (!seen)
		return;
	if (series->epoch != feed->decoder->epoch)
		series->went_back = true;
	if (taken.any)
		sum.u = difference(series, sum.u, taken);
	series->went_back = false;
	info.remade = series->emitted_parts &&
		(series->emitted_parts != seen || series->better != better);
	gnmi_series_emit(feed, series, &sum, info, out);
	series->emitted_parts = seen;
	series->better = better;
}

static void emit_at_round_end(struct gnmi_feed *feed, uint32_t series)
{
	if (feed->series[series].pending)
		return;
	feed->series[series].pending = true;
	rw_grow(feed->pending, feed->n_pending, feed->cap_pending);
	feed->pending[feed->n_pending++] = series;
}

/* all_fresh - has every part that ever had a value a new one? */
static bool all_fresh(const struct gnmi_feed *feed, const struct gnmi_series *series)
{
	for (uint32_t i = series->first_part; i != GNMI_SERIES_NONE; i = feed->parts[i].next)
		if (feed->parts[i].seen && !feed->parts[i].fresh)
			return false;
	return true;
}

void gnmi_series_take_part(struct gnmi_feed *feed, uint32_t index,
	const struct gnmi_converted *value, int64_t t_ns, struct sample_list *out)
{
	struct gnmi_part *part = &feed->parts[index];
	struct gnmi_series *series = &feed->series[part->series];
	/* A second value of this part: the others sent none, so they did not change. */
	if (part->fresh && feed->complete)
		gnmi_series_emit_parts(feed, series, t_ns, out);
	const bool is_double = metric_info(series->metric)->type == TYPE_F64;
	if (!is_double && part->seen && value->u < part->u && adds(part->row->spec))
		series->went_back = true;
	if (is_double)
		part->d = value->d;
	else
		part->u = value->u;
	part->estimated = value->estimated;
	part->seen = part->fresh = true;
	if (!feed->complete)
		emit_at_round_end(feed, part->series);
	else if (all_fresh(feed, series))
		gnmi_series_emit_parts(feed, series, t_ns, out);
}
