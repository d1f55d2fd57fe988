/* step_ports - each port's own share of a job's change, and the lowest on which many agree. */
#include "analyzers/measure/step_ports.h"

#include "analyzers/measure/rhythm_level.h"

#define BLOCKS_MIN 3 /* on a side */
#define PORTS_MIN 3 /* that agree */
#define AGREE_PORTS 0.25 /* of all that are seen on both sides */
#define AGREE 0.01 /* how far apart they are at most, beside what blocks cut off */
#define ERRORS 3.0
#define LEFT_JOB 0.5 /* of the median: a port that keeps less does something else */

struct port_fall {
	size_t port;
	double fast, slow; /* octets a second on the two sides */
	double kept_ratio, error; /* slow over fast; how far off that may be */
};

static int fall_order(const void *left, const void *right)
{
	const double a = ((const struct port_fall *)left)->kept_ratio,
		     b = ((const struct port_fall *)right)->kept_ratio;
	return (a > b) - (a < b);
}

/* Of one port or of the job, over the blocks @at[0..n). What one block misses of a step the next
 * one has: the error of the mean shrinks with their number. */
static struct level side_level(const double *rate, const size_t *at, size_t n, double *kept)
{
	for (size_t k = 0; k < n; k++)
		kept[k] = rate[at[k]];
	struct level level = rhythm_level(kept, n);
	level.se /= sqrt((double)level.n);
	return level;
}

struct side {
	const size_t *at; /* blocks */
	size_t n;
};

static bool port_fall_of(const double *rate, const struct side *fast, const struct side *slow,
	double *kept, struct port_fall *ret)
{
	const struct level high = side_level(rate, fast->at, fast->n, kept),
			   low = side_level(rate, slow->at, slow->n, kept);
	if (high.n < BLOCKS_MIN || low.n < BLOCKS_MIN || !(high.mean > 0))
		return false;
	ret->fast = high.mean;
	ret->slow = low.mean;
	ret->kept_ratio = low.mean / high.mean;
	ret->error = ERRORS * (high.se * ret->kept_ratio + low.se) / high.mean;
	return true;
}

/* What the lowest ports keep on which enough agree; NAN: there are none. @falls are sorted. */
static double lowest_agreed(const struct port_fall *falls, size_t n)
{
	const double least = LEFT_JOB * falls[n / 2].kept_ratio;
	for (size_t i = 0; i < n; i++) {
		size_t end = i;
		double fast = 0, slow = 0;
		if (falls[i].kept_ratio < least)
			continue;
		while (end < n &&
			falls[end].kept_ratio <=
				falls[i].kept_ratio * (1 + AGREE) + falls[end].error) {
			fast += falls[end].fast;
			slow += falls[end++].slow;
		}
		if (end - i >= PORTS_MIN && (double)(end - i) >= AGREE_PORTS * (double)n)
			return slow / fast;
	}
	return NAN;
}

/* The blocks of the faster and the slower side of the surest change; not those next to it, which
 * may hold both. */
static bool change_sides(const double *rate, size_t n, double *kept, size_t *at, struct side *fast,
	struct side *slow)
{
	const size_t busy = rhythm_busy(rate, n, kept, at);
	struct change change;
	if (!rhythm_change(kept, busy, 0, busy, &change) || change.t < RHYTHM_SURE)
		return false;
	const struct side before = {at, change.at - 1},
			  after = {at + change.at + 1, busy - change.at - 1};
	*fast = before;
	*slow = after;
	if (change.after > change.before) {
		*fast = after;
		*slow = before;
	}
	return true;
}

bool step_ports(const double *each, size_t n_ports, const double *rate, size_t n, struct arena *a,
	struct step_ports *ret)
{
	double *kept = arena_array(a, double, n + 1);
	size_t *at = arena_array(a, size_t, n + 1);
	struct port_fall *falls = arena_array(a, struct port_fall, n_ports + 1);
	struct side fast, slow;
	size_t n_falls = 0, left_out = 0;
	double all_fast = 0, all_slow = 0;
	if (!change_sides(rate, n, kept, at, &fast, &slow))
		return false;
	for (size_t i = 0; i < n_ports; i++) {
		falls[n_falls].port = i;
		if (!port_fall_of(each + i * n, &fast, &slow, kept, &falls[n_falls]))
			continue;
		all_fast += falls[n_falls].fast;
		all_slow += falls[n_falls++].slow;
	}
	if (!n_falls)
		return false;
	qsort(falls, n_falls, sizeof(*falls), fall_order);
	const double agreed = lowest_agreed(falls, n_falls);
	*ret = (struct step_ports){.counts = arena_array(a, bool, n_ports + 1),
		.surplus_ratio = all_slow / all_fast / agreed,
		.fast_level = all_fast,
		.fast = fast.at,
		.n_fast = fast.n};
	for (size_t i = 0; i < n_ports; i++)
		ret->counts[i] = true;
	for (size_t i = 0; i < n_falls; i++) {
		const double off = fabs(falls[i].kept_ratio - agreed);
		if (!(off > AGREE * agreed + falls[i].error))
			continue;
		ret->counts[falls[i].port] = false;
		left_out++;
	}
	return left_out > 0;
}

void step_ports_fit(const struct step_ports *ports, const double *counted, double *rate, size_t n)
{
	double part = 0;
	size_t seen = 0;
	for (size_t k = 0; k < ports->n_fast; k++) {
		if (isnan(counted[ports->fast[k]]))
			continue;
		part += counted[ports->fast[k]];
		seen++;
	}
	for (size_t k = 0; part > 0 && k < n; k++)
		rate[k] = counted[k] / part * (double)seen * ports->fast_level;
}
