/* port_rate - a rate from the intervals that count, and what it is worth. */
#include "analyzers/measure/port_rate.h"

#include <errno.h>
#include <math.h>

#include "agent/base/clock.h"
#include "db/model/entity.h"
#include "db/model/metric.h"

/* Samples further apart than this many intervals are a gap: one late poll is not. */
#define GAP_INTERVALS 2.5
#define SPACINGS_MAX 64
/* A state is valid until its next value, and may be reported only once. */
#define STATE_AGE_NS (366LL * 86400 * NS_PER_S)

static uint64_t port_rate_state_of(
	const struct series *series, const struct window *window, uint64_t otherwise)
{
	uint64_t v;
	if (series && series_state(series, window->to_ns, STATE_AGE_NS, &v) == 0)
		return v;
	return otherwise;
}

static double increase_rate(const struct increase *increase)
{
	if (increase->covered_ns > 0)
		return (double)increase->value * 8 * (double)NS_PER_S /
			(double)increase->covered_ns;
	return 0;
}

/* A handful of values, mostly in order: a library sort costs more than it saves. */
static void sort_sizes(int64_t *values, size_t n)
{
	for (size_t i = 1; i < n; i++)
		for (size_t k = i; k > 0 && values[k] < values[k - 1]; k--) {
			const int64_t swap = values[k];
			values[k] = values[k - 1];
			values[k - 1] = swap;
		}
}

/*
 * The time between samples as this series shows it: the median, so that gaps do not count for much.
 * From few samples it is no less than what is usual. 0 = not known.
 */
static int64_t port_rate_spacing_of(const struct series *series, const struct window *window,
	int64_t interval_ns, int64_t *ret_last_ns)
{
	int64_t v[SPACINGS_MAX];
	size_t n = 0;
	uint32_t i = series->n;
	while (i > 0 && series->t_ns[i - 1] > window->to_ns)
		i--;
	if (i > 0)
		*ret_last_ns = series->t_ns[i - 1];
	else
		*ret_last_ns = INT64_MIN;
	for (; i > 1 && n < SPACINGS_MAX && series->t_ns[i - 1] > window->from_ns; i--)
		v[n++] = series->t_ns[i - 1] - series->t_ns[i - 2];
	if (!n)
		return interval_ns;
	sort_sizes(v, n);
	int64_t median = v[n / 2];
	if (n < 3 && median < interval_ns)
		return interval_ns;
	return median;
}

/* Share of the window that has its samples. The piece after the last one is not missing while the
 * next is not due. */
static double port_rate_coverage_of(
	const struct series *series, const struct window *window, int64_t interval_ns)
{
	int64_t length_ns = window->to_ns - window->from_ns, last_ns;
	int64_t spacing_ns = port_rate_spacing_of(series, window, interval_ns, &last_ns);
	double gap_ns = GAP_INTERVALS * (double)spacing_ns;
	gap_ns = fmin(gap_ns, fmax(1.5 * (double)length_ns, GAP_INTERVALS * (double)interval_ns));
	double covered = series_coverage(series, window->from_ns, window->to_ns,
		spacing_ns > 0 ? (int64_t)gap_ns : length_ns);
	if (last_ns > window->from_ns && window->to_ns - last_ns <= spacing_ns)
		covered += (double)(window->to_ns - last_ns) / (double)length_ns;
	return fmin(1, covered);
}

/* Plausibility: widen to the whole run, or mark suspect (see port_rate.h). */
static int plausible_increase(const struct series *series, const struct window *window,
	double line_bps, struct increase *ret, enum quality *ret_q)
{
	double gate = line_bps * PORT_RATE_PLAUSIBLE / 8;
	struct increase gated, all;
	int r = series_increase(series, window->from_ns, window->to_ns, gate, &gated);
	if (r == 0 && gated.suspects == 0) {
		*ret = gated;
		*ret_q = gated.quality;
		return 0;
	}
	int r_all = series_increase(series, window->from_ns, window->to_ns, 0, &all);
	if (r_all < 0)
		return r_all;
	bool widened = line_bps <= 0 || increase_rate(&all) <= line_bps * PORT_RATE_PLAUSIBLE;
	if (widened || r < 0)
		*ret = all;
	else
		*ret = gated;
	if (widened)
		*ret_q = QUALITY_ESTIMATED;
	else
		*ret_q = QUALITY_SUSPECT;
	return 0;
}

int port_rate_of(const struct window *window, const struct fabric_port *port,
	const struct series *octets, const struct series *speed, const struct series *up,
	int64_t interval_ns, struct port_rate *ret)
{
	*ret = (struct port_rate){
		.declared_bps = port->speed_bps,
		.read_bps = port_rate_state_of(speed, window, 0),
		.utilization_ratio = NAN,
		.rate_bps = NAN,
		.quality = QUALITY_UNKNOWN,
	};
	ret->capacity_bps = ret->declared_bps;
	if (ret->read_bps && (!ret->capacity_bps || ret->read_bps < ret->capacity_bps))
		ret->capacity_bps = ret->read_bps;
	const uint64_t is_up = port_rate_state_of(up, window, UINT64_MAX);
	if (is_up == UINT64_MAX)
		ret->oper = PORT_OPER_UNKNOWN;
	else if (is_up)
		ret->oper = PORT_OPER_UP;
	else
		ret->oper = PORT_OPER_DOWN;
	if (!octets)
		return -ENODATA;
	ret->coverage_ratio = port_rate_coverage_of(octets, window, interval_ns);

	/* The gate asks for the line rate, not the capacity: a port that runs faster than declared
	 * is a finding of its own. */
	double line_bps = (double)(ret->read_bps ? ret->read_bps : ret->declared_bps);
	struct increase inc;
	int r = plausible_increase(octets, window, line_bps, &inc, &ret->quality);
	if (r < 0)
		return r;
	ret->octets = inc.value;
	ret->covered_ns = inc.covered_ns;
	ret->rate_bps = increase_rate(&inc);
	if (ret->capacity_bps)
		ret->utilization_ratio = ret->rate_bps / (double)ret->capacity_bps;
	return 0;
}

int port_rate(const struct window *window, const struct fabric_port *port, unsigned metric,
	int64_t interval_ns, struct port_rate *ret)
{
	const uint32_t entity =
		entities_find(window->entities, port->device->name, port->name, PRIO_NONE);
	if (entity == ENTITY_NONE)
		return port_rate_of(window, port, NULL, NULL, NULL, interval_ns, ret);
	return port_rate_of(window, port, window_series(window, entity, metric),
		window_series(window, entity, M_PORT_SPEED_BPS),
		window_series(window, entity, M_PORT_OPER_UP), interval_ns, ret);
}

double octet_rate_between(const struct series *series, int64_t from_ns, int64_t to_ns, double gate)
{
	const int64_t longest_ns = 2 * (to_ns - from_ns);
	double octets = 0, covered_ns = 0;
	uint32_t i = series_after(series, from_ns);
	if (i == 0)
		i = 1;
	for (; i < series->n && series->t_ns[i - 1] < to_ns; i++) {
		const int64_t begin_ns = series->t_ns[i - 1], end_ns = series->t_ns[i];
		const double length_ns = (double)(end_ns - begin_ns);
		const double overlap_ns = fmin((double)end_ns, (double)to_ns) -
			fmax((double)begin_ns, (double)from_ns);
		struct increase inc;
		if (end_ns - begin_ns > longest_ns ||
			series_increase(series, begin_ns, end_ns, gate, &inc) < 0)
			continue;
		octets += (double)inc.value * overlap_ns / length_ns;
		covered_ns += overlap_ns;
	}
	if (covered_ns < OCTETS_SEEN * (double)(to_ns - from_ns))
		return NAN;
	return octets * (double)NS_PER_S / covered_ns;
}
