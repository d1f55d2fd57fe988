/* gnmi_cells - see the header. */
#include "agent/base/str.h"
#include "collectors/gnmi/gnmi_series.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/map.h"
#include "db/model/metric.h"

uint32_t gnmi_cell_entity(struct gnmi_feed *feed, uint32_t port, int metric, int priority,
	const char *queue, struct gnmi_text pool)
{
	struct gnmi_decoder *d = feed->d;
	char name[NAME_MAX_BYTES + 80];
	if (port == NO_CELL) {
		snprintf(name, sizeof(name), "pool:%.*s", (int)pool.n, str_or(pool.p, ""));
		return entities_intern(d->entities, d->device, pool.p ? name : NULL, PRIO_NONE);
	}
	if (metric_info((unsigned)metric)->scope != SCOPE_PRIO)
		return entities_intern(d->entities, d->device, d->ports[port].name, PRIO_NONE);
	if (priority != PRIO_NONE || !queue)
		return entities_intern(d->entities, d->device, d->ports[port].name, priority);
	/* unmapped, never dropped silently */
	snprintf(name, sizeof(name), "%s#q%s", d->ports[port].name, queue);
	return entities_intern(d->entities, d->device, name, PRIO_NONE);
}

uint32_t gnmi_cell_of(struct gnmi_feed *feed, uint32_t entity, int metric, uint32_t port)
{
	uint64_t at, key = (uint64_t)entity << 16 | (uint16_t)metric;
	if (map_get(feed->cells, key, &at))
		return (uint32_t)at;
	if (feed->n_cells == GNMI_CELLS_MAX) {
		feed->d->stats.over_limit++;
		return NO_CELL;
	}
	rw_grow(feed->v, feed->n_cells, feed->cap_cells);
	feed->v[feed->n_cells] = (struct cell){.entity = entity,
		.metric = (uint16_t)metric,
		.port = port,
		.epoch = feed->d->epoch,
		.first_part = NO_CELL};
	map_put(feed->cells, key, feed->n_cells);
	return (uint32_t)feed->n_cells++;
}

/* gnmi_series_bound_of - what a counter can grow by in a second, 0 = who knows. */
static double gnmi_series_bound_of(const struct gnmi_decoder *decoder, const struct cell *cell)
{
	switch (cell->metric) {
	case M_PORT_IN_OCTETS:
	case M_PORT_OUT_OCTETS:
	case M_QUEUE_OUT_OCTETS:
		if (cell->port != NO_CELL &&
			decoder->ports[cell->port].seen.speed_bps >= LINE_LEAST_BPS)
			return (double)decoder->ports[cell->port].seen.speed_bps / 8;
		return 0;
	case M_PFC_RX_PAUSE_NS:
	case M_PFC_TX_PAUSE_NS: return 1e9;
	default: return 0;
	}
}

static unsigned gnmi_series_gate(struct gnmi_decoder *decoder, struct cell *cell, int64_t t_ns,
	uint64_t value, unsigned flags)
{
	double bound = gnmi_series_bound_of(decoder, cell);
	if (bound <= 0)
		return flags;
	if (!cell->gate) {
		rw_grow(decoder->gates, decoder->n_gates, decoder->cap_gates);
		decoder->gates[decoder->n_gates++] = (struct counter_check){0};
		cell->gate = (uint32_t)decoder->n_gates;
	}
	flags = counter_check_take(&decoder->gates[cell->gate - 1], t_ns, value, flags, bound);
	decoder->stats.suspects += (flags & SF_SUSPECT) != 0;
	return flags;
}

static void speed_note(struct gnmi_decoder *decoder, const struct cell *cell, uint64_t bps)
{
	if (cell->metric != M_PORT_SPEED_BPS || cell->port == NO_CELL ||
		decoder->ports[cell->port].seen.speed_bps == bps)
		return;
	decoder->ports[cell->port].seen.speed_bps = bps;
	gnmi_port_changed(decoder, &decoder->ports[cell->port]);
}

void gnmi_emit(struct gnmi_feed *feed, struct cell *cell, const struct gnmi_converted *value,
	uint32_t window_ms, int64_t t_ns, bool remade, struct sample_list *out)
{
	struct gnmi_decoder *d = feed->d;
	const struct metric_info *m = metric_info(cell->metric);
	unsigned flags = 0;
	if (value->estimated)
		flags = SF_ESTIMATED;
	uint64_t bits;
	if (m->type == TYPE_F64)
		bits = sample_of_f64(value->d);
	else
		bits = value->u;
	if (m->kind == METRIC_COUNTER) {
		if (remade || cell->epoch != d->epoch)
			flags |= SF_RESTART;
		flags = gnmi_series_gate(d, cell, t_ns, bits, flags);
	}
	cell->epoch = d->epoch;
	speed_note(d, cell, bits);
	rw_grow(out->v, out->n, out->cap);
	out->v[out->n++] = (struct sample){.t_ns = t_ns,
		.value = bits,
		.entity = cell->entity,
		.metric = cell->metric,
		.flags = (uint16_t)flags,
		.source = SOURCE_GNMI,
		.window_ms = window_ms};
}

/* ---- cells of several parts ---------------------------------------------- */

void gnmi_cell_emit(
	struct gnmi_feed *feed, struct cell *cell, int64_t t_ns, struct sample_list *out)
{
	struct gnmi_converted sum = {0};
	bool better = false;
	uint32_t seen = 0;
	uint32_t window_ms = 0;
	for (uint32_t p = cell->first_part; p != NO_CELL; p = feed->parts[p].next)
		better = better || (feed->parts[p].seen && !feed->parts[p].leaf->v->fallback);
	for (uint32_t p = cell->first_part; p != NO_CELL; p = feed->parts[p].next) {
		struct part *x = &feed->parts[p];
		x->fresh = false;
		if (!x->seen || (better && x->leaf->v->fallback))
			continue;
		seen++;
		window_ms = x->leaf->v->window_ms;
		const enum profile_fold fold = x->leaf->v->fold;
		if (metric_info(cell->metric)->type == TYPE_F64) {
			if (seen == 1)
				sum.d = x->d;
			else if (fold == FOLD_MIN)
				sum.d = fmin(sum.d, x->d);
			else if (fold == FOLD_MAX)
				sum.d = fmax(sum.d, x->d);
			else
				sum.d = sum.d + x->d;
		} else {
			sum.u += x->u;
		}
	}
	if (!seen)
		return;
	gnmi_emit(feed, cell, &sum, window_ms, t_ns,
		cell->emitted_parts && cell->emitted_parts != seen, out);
	cell->emitted_parts = seen;
}

static void cell_later(struct gnmi_feed *feed, uint32_t cell)
{
	if (feed->v[cell].pending)
		return;
	feed->v[cell].pending = true;
	rw_grow(feed->pending, feed->n_pending, feed->cap_pending);
	feed->pending[feed->n_pending++] = cell;
}

void gnmi_part_take(struct gnmi_feed *feed, uint32_t index, const struct gnmi_converted *value,
	int64_t t_ns, struct sample_list *out)
{
	struct part *p = &feed->parts[index];
	struct cell *c = &feed->v[p->cell];
	const bool again = p->fresh, f64 = metric_info(c->metric)->type == TYPE_F64;
	if (again && feed->complete) /* the others are silent: they did not change */
		gnmi_cell_emit(feed, c, t_ns, out);
	if (f64)
		p->d = value->d;
	else
		p->u = value->u;
	p->seen = p->fresh = true;
	if (!feed->complete) {
		cell_later(feed, p->cell);
		return;
	}
	bool all = true;
	for (uint32_t i = c->first_part; i != NO_CELL && all; i = feed->parts[i].next)
		all = feed->parts[i].fresh || !feed->parts[i].seen;
	if (all)
		gnmi_cell_emit(feed, c, t_ns, out);
}
