/* port_rate - see the header. */
#include "analyzers/port_rate.h"

#include <errno.h>
#include <math.h>

#include "agent/base/clock.h"
#include "db/entity.h"
#include "db/metric.h"

/* Samples further apart than this many intervals are a gap: one late poll is not. */
#define GAP_INTERVALS 2.5
/* A state is read slowly (every few minutes); older than this it is not known any more. */
#define STATE_AGE_NS (3600 * NS_PER_S)

static uint64_t state_of(const struct window *w, uint32_t entity, unsigned metric, uint64_t otherwise)
{
	const struct series *s = window_series(w, entity, metric);
	uint64_t v;
	return s && series_state(s, w->to_ns, STATE_AGE_NS, &v) == 0 ? v : otherwise;
}

static double increase_rate(const struct increase *i)
{
	return i->covered_ns > 0 ? (double)i->value * 8 * (double)NS_PER_S / (double)i->covered_ns : 0;
}

/* The gate of product rule "widen or label suspect"; see the header. */
static int plausible_increase(const struct series *s, const struct window *w, double line_bps, struct increase *ret, enum quality *ret_q)
{
	double gate = line_bps * PORT_RATE_PLAUSIBLE / 8;
	struct increase gated, all;
	int r = series_increase(s, w->from_ns, w->to_ns, gate, &gated);
	if (r == 0 && gated.suspects == 0) {
		*ret = gated;
		*ret_q = gated.quality;
		return 0;
	}
	int r_all = series_increase(s, w->from_ns, w->to_ns, 0, &all);
	if (r_all < 0)
		return r_all;
	bool widened = line_bps <= 0 || increase_rate(&all) <= line_bps * PORT_RATE_PLAUSIBLE;
	*ret = widened || r < 0 ? all : gated;
	*ret_q = widened ? QUALITY_ESTIMATED : QUALITY_SUSPECT;
	return 0;
}

int port_rate(const struct window *w, const struct fabric_port *port, unsigned metric, int64_t interval_ns, struct port_rate *ret)
{
	*ret = (struct port_rate){
		.declared_bps = port->speed_bps,
		.utilization_ratio = NAN,
		.rate_bps = NAN,
		.quality = QUALITY_UNKNOWN,
	};
	ret->capacity_bps = ret->declared_bps;
	uint32_t entity = entities_find(w->entities, port->device->name, port->name, PRIO_NONE);
	if (entity == ENTITY_NONE)
		return -ENODATA;

	ret->read_bps = state_of(w, entity, M_PORT_SPEED_BPS, 0);
	if (ret->read_bps && (!ret->capacity_bps || ret->read_bps < ret->capacity_bps))
		ret->capacity_bps = ret->read_bps;
	uint64_t up = state_of(w, entity, M_PORT_OPER_UP, UINT64_MAX);
	ret->oper = up == UINT64_MAX ? PORT_OPER_UNKNOWN : up ? PORT_OPER_UP : PORT_OPER_DOWN;

	const struct series *s = window_series(w, entity, metric);
	if (!s)
		return -ENODATA;
	int64_t gap_ns = interval_ns > 0 ? (int64_t)((double)interval_ns * GAP_INTERVALS) : w->to_ns - w->from_ns;
	ret->coverage_ratio = series_coverage(s, w->from_ns, w->to_ns, gap_ns);

	/* The gate asks for the line rate, not the capacity: a port that runs faster than declared is a finding of its own. */
	double line_bps = (double)(ret->read_bps ? ret->read_bps : ret->declared_bps);
	struct increase inc;
	int r = plausible_increase(s, w, line_bps, &inc, &ret->quality);
	if (r < 0)
		return r;
	ret->octets = inc.value;
	ret->covered_ns = inc.covered_ns;
	ret->rate_bps = increase_rate(&inc);
	if (ret->capacity_bps)
		ret->utilization_ratio = ret->rate_bps / (double)ret->capacity_bps;
	return 0;
}
