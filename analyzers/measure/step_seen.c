/* step_seen - the step from slices of a port's octets: idle ones between busy ones. */
#include "analyzers/measure/step_seen.h"

#include <math.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/stats.h"
#include "analyzers/measure/rhythm.h"

#define SLICES_MAX 600
/* Of all slices: with fewer idle ones the job pauses now and then, as it does to save, and its
 * steps are shorter than a slice. */
#define IDLE_SHARE 0.1
#define STARTS_MIN 3 /* of busy times: two whole steps */

static double step_seen_slice(
	const struct analyzer_in *in, const struct port_seen *port, int64_t from_ns, int64_t to_ns)
{
	static const uint16_t metrics[] = {M_PORT_IN_OCTETS, M_PORT_OUT_OCTETS};
	double sum = NAN;
	for (int k = 0; k < 2; k++) {
		const struct series *s = window_series(in->past, port->entity, metrics[k]);
		double rate = NAN;
		if (s)
			rate = octet_rate_between(s, from_ns, to_ns, 0);
		if (isnan(sum))
			sum = rate;
		else if (!isnan(rate))
			sum += rate;
	}
	return sum;
}

/* From the first begin of a busy time to the last one, over the steps between them. */
static int64_t step_seen_cycle(const double *values, size_t n, double idle, int64_t slice_ns)
{
	size_t starts = 0, first = 0, last = 0;
	bool was_idle = false;
	for (size_t k = 0; k < n; k++) {
		if (isnan(values[k]))
			continue;
		const bool is_idle = values[k] < idle;
		if (was_idle && !is_idle) {
			if (!starts)
				first = k;
			last = k;
			starts++;
		}
		was_idle = is_idle;
	}
	if (starts < STARTS_MIN)
		return 0;
	return (int64_t)(last - first) * slice_ns / (int64_t)(starts - 1);
}

/*
 * Slices hold a number of steps plus or minus one: what they differ by is at most one step, and
 * noise only makes it more.
 */
static int64_t step_seen_bound(const double *sorted, size_t n, int64_t slice_ns)
{
	const double middle = sorted[n / 2];
	const double differ = (sorted[n - 1 - n / 10] - sorted[n / 10]) / middle;
	return (int64_t)(fmin(1, differ) * (double)slice_ns) + 1;
}

int64_t step_seen(const struct analyzer_in *in, const struct port_seen *port, int64_t until_ns)
{
	if (!in->past || port->entity == ENTITY_NONE)
		return 0;
	int64_t slice_ns = NS_PER_S;
	if (in->interval_ns > slice_ns)
		slice_ns = in->interval_ns;
	size_t n = 0;
	if (until_ns > in->past->from_ns)
		n = (size_t)((until_ns - in->past->from_ns) / slice_ns);
	if (n > SLICES_MAX)
		n = SLICES_MAX;
	double *v = arena_array(in->arena, double, n + 1);
	double *sorted = arena_array(in->arena, double, n + 1);
	size_t known = 0, idle = 0;
	for (size_t k = 0; k < n; k++) {
		const int64_t from_ns = until_ns - (int64_t)(n - k) * slice_ns;
		v[k] = step_seen_slice(in, port, from_ns, from_ns + slice_ns);
		if (!isnan(v[k]))
			sorted[known++] = v[k];
	}
	if ((int64_t)known * slice_ns < STEP_WATCH_UNKNOWN_NS || known < STARTS_MIN)
		return 0;
	stats_sort(sorted, known);
	const double silent = RHYTHM_IDLE * sorted[known - 1 - known / 10];
	while (idle < known && sorted[idle] < silent)
		idle++;
	if ((double)idle >= IDLE_SHARE * (double)known)
		return step_seen_cycle(v, n, silent, slice_ns);
	return step_seen_bound(sorted, known, slice_ns);
}

int64_t step_watch_ns(const struct analyzer_in *in, int64_t step_ns)
{
	int64_t watch_ns = STEP_WATCH_STEPS * step_ns;
	if (!step_ns)
		watch_ns = STEP_WATCH_UNKNOWN_NS;
	else if (watch_ns < STEP_WATCH_LEAST_NS)
		watch_ns = STEP_WATCH_LEAST_NS;
	return watch_ns - in->stride_ns;
}
