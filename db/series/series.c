/*
 * series - the arithmetic of runs of samples; pure. The only place that knows wraps, resets and
 * gaps of counters.
 *
 * What is not known is not counted as covered, and nothing is interpolated to the window's edges.
 */
#include "db/series/series.h"

uint32_t series_after(const struct series *series, int64_t time_ns)
{
	uint32_t lo = 0, hi = series->n;

	if (hi == 0 || series->t_ns[hi - 1] <= time_ns)
		return hi;
	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (series->t_ns[mid] > time_ns)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static bool series_usable(const struct series *series, uint32_t i)
{
	return !(series->flags[i] & (SF_LATE | SF_SUSPECT));
}

/* ---- increase of a counter ----------------------------------------------- */

/* The samples of one window as they are gone through, and what they came to so far. */
struct increase_walk {
	const struct series *series;
	uint32_t begin, end; /* the samples of the window: [begin, end) */
	double max_rate_per_s; /* the gate; 0 = none */
	bool have; /* .prev is set */
	uint32_t prev; /* the usable sample before */
	bool restarted; /* a restart flag since .prev */
	bool first_move; /* the value has not moved yet since the anchor or a restart */
	int64_t moved_ns; /* when the value last moved */
	bool estimated;
	struct increase r;
};

static bool series_believable(uint64_t delta, int64_t ns, double max_rate_per_s)
{
	return (double)delta <= max_rate_per_s * ((double)ns / NS_PER_S);
}

/*
 * The time over which a jump at sample @i is judged. A switch that refreshes its counters every few
 * seconds answers the same value several times and then jumps by all of it at once: the jump's rate
 * is over the time since the last move, not since the last answer. For the first move that time is
 * not known (the anchor may itself have been old), so the time until the next move stands for it.
 */
static int64_t gate_time(const struct increase_walk *walk, uint32_t i)
{
	const struct series *series = walk->series;
	int64_t back = series->t_ns[i] - walk->moved_ns, ahead = 0;

	if (!walk->first_move)
		return back;
	for (uint32_t j = i + 1; j < walk->end; j++) {
		if (!series_usable(series, j))
			continue;
		if (series->flags[j] & SF_RESTART)
			break;
		ahead = series->t_ns[j] - series->t_ns[i];
		if (series->value[j] != series->value[i])
			break;
	}
	if (ahead > back)
		return ahead;
	return back;
}

/*
 * Nearly every run of a healthy fabric: no flag, never backwards, no interval above the gate even
 * over its own time. The rules below then come to last minus anchor; anything else is for them.
 */
static bool plain_increase(const struct series *series, uint32_t begin, uint32_t end,
	double max_rate_per_s, struct increase *ret)
{
	uint32_t first = begin;

	if (first > 0)
		first--; /* the anchor */
	if (begin == end || (!series->flat && series->flags[first]))
		return false;
	struct increase r = {.quality = QUALITY_EXACT};
	for (uint32_t i = first + 1; i < end && !series->flat; i++) {
		const int64_t ns = series->t_ns[i] - series->t_ns[i - 1];
		if (series->flags[i] || series->value[i] < series->value[i - 1] || ns <= 0)
			return false;
		const uint64_t delta = series->value[i] - series->value[i - 1];
		if (delta && max_rate_per_s > 0 && !series_believable(delta, ns, max_rate_per_s))
			return false;
		r.changes += delta != 0;
	}
	const uint32_t last = end - 1;
	if (last == first)
		return false;
	r.intervals = last - first;
	if (!series->flat)
		r.value = series->value[last] - series->value[first];
	r.first_ns = series->t_ns[first];
	r.last_ns = series->t_ns[last];
	r.covered_ns = r.span_ns = r.last_ns - r.first_ns;
	*ret = r;
	return true;
}

/* The sample that the next one is compared with. */
static void walk_start(struct increase_walk *walk, uint32_t i)
{
	walk->have = true;
	walk->prev = i;
	walk->moved_ns = walk->r.first_ns = walk->r.last_ns = walk->series->t_ns[i];
}

/* The anchor is the last usable sample at or before the start. Samples before it may say how old
 * its value already was. */
static void series_find_anchor(struct increase_walk *walk)
{
	const struct series *series = walk->series;
	uint32_t i = walk->begin;

	for (; i > 0 && !series_usable(series, i - 1); i--)
		if (!(series->flags[i - 1] & SF_LATE) && (series->flags[i - 1] & SF_RESTART))
			walk->restarted = true;
	if (i == 0)
		return;
	walk_start(walk, i - 1);
	for (i = walk->prev; i > 0; i--) {
		if (!series_usable(series, i - 1) ||
			series->value[i - 1] != series->value[walk->prev])
			break;
		walk->moved_ns = series->t_ns[i - 1];
	}
}

/* Do the two samples say that the device counts in 32 bits, and can that be? */
static bool counts_32_bits(const struct series *series, uint32_t a, uint32_t b)
{
	return (series->flags[a] & SF_WRAP32) && (series->flags[b] & SF_WRAP32) &&
		series->value[a] <= SAMPLE_WRAP32_MAX && series->value[b] <= SAMPLE_WRAP32_MAX;
}

enum interval { INTERVAL_COUNTS, INTERVAL_WRAPS, INTERVAL_RESET, INTERVAL_ABOVE_GATE };

/* What lies between the sample before and sample @i; its delta goes to @ret. */
static enum interval judge_interval(const struct increase_walk *walk, uint32_t i, uint64_t *ret)
{
	const struct series *series = walk->series;
	const uint64_t before = series->value[walk->prev], value = series->value[i];
	const bool gated = walk->max_rate_per_s > 0;
	int64_t gate_ns = 0;

	/* 1. A restart lies between them: no delta. */
	if (walk->restarted)
		return INTERVAL_RESET;

	if (gated && value != before)
		gate_ns = gate_time(walk, i);

	/* 2. Backwards. One wrap of 32 bits when both samples count in 32 bits and the delta is
	 *    believable: within the gate, or, without a gate, less than half of the range (a reset
	 *    to near zero from a low value would need more than half). Else a reset. */
	if (value < before) {
		*ret = (uint32_t)(value - before);
		if (!counts_32_bits(series, walk->prev, i))
			return INTERVAL_RESET;
		bool believable = *ret < UINT64_C(1) << 31;
		if (gated)
			believable = series_believable(*ret, gate_ns, walk->max_rate_per_s);
		if (believable)
			return INTERVAL_WRAPS;
		return INTERVAL_RESET;
	}

	/* 3. More than the gate allows since the counter last moved: not believed. */
	*ret = value - before;
	if (gated && !series_believable(*ret, gate_ns, walk->max_rate_per_s))
		return INTERVAL_ABOVE_GATE;

	/* 4. The ordinary case. */
	return INTERVAL_COUNTS;
}

static void count_delta(struct increase_walk *walk, uint32_t i, uint64_t delta)
{
	const struct series *series = walk->series;
	const int64_t ns = series->t_ns[i] - series->t_ns[walk->prev];

	walk->r.value += delta;
	walk->r.covered_ns += ns;
	walk->r.intervals++;
	walk->r.changes += delta != 0;
	if ((series->flags[i] | series->flags[walk->prev]) & SF_ESTIMATED)
		walk->estimated = true;
	/* 32 bits that can wrap more than once between two samples: a lower bound */
	if (walk->max_rate_per_s > 0 && counts_32_bits(series, walk->prev, i) &&
		series_believable(UINT64_C(1) << 32, ns, walk->max_rate_per_s))
		walk->estimated = true;
}

/* Takes sample @i, which is usable and later than the one before. */
static void series_take_interval(struct increase_walk *walk, uint32_t i)
{
	uint64_t delta = 0;

	switch (judge_interval(walk, i, &delta)) {
	case INTERVAL_COUNTS: count_delta(walk, i, delta); break;
	case INTERVAL_WRAPS:
		walk->r.wraps++;
		count_delta(walk, i, delta);
		break;
	case INTERVAL_RESET: walk->r.resets++; break;
	case INTERVAL_ABOVE_GATE: walk->r.suspects++; break;
	}
	if (walk->restarted || walk->series->value[i] != walk->series->value[walk->prev]) {
		walk->moved_ns = walk->series->t_ns[i];
		walk->first_move = walk->restarted;
	}
	walk->restarted = false;
	walk->prev = i;
	walk->r.last_ns = walk->series->t_ns[i];
}

/* Sample by sample. Late ones do not exist. Suspect ones are stepped over and counted, but a
 * restart flag on one still breaks the run: it says what lies between it and the sample before. */
static void take_sample(struct increase_walk *walk, uint32_t i)
{
	const unsigned flags = walk->series->flags[i];

	if (flags & SF_LATE)
		return;
	if (flags & SF_RESTART)
		walk->restarted = true;
	if (flags & SF_SUSPECT) {
		walk->r.suspects++;
		return;
	}
	if (!walk->have) { /* no anchor: the first one in the window takes its place */
		walk->restarted = false;
		walk_start(walk, i);
		return;
	}
	if (walk->series->t_ns[i] > walk->series->t_ns[walk->prev])
		series_take_interval(walk, i);
}

static enum quality increase_quality(const struct increase_walk *walk)
{
	if (walk->r.intervals == 0)
		return QUALITY_UNKNOWN;
	if (walk->r.suspects)
		return QUALITY_SUSPECT;
	if (walk->estimated)
		return QUALITY_ESTIMATED;
	return QUALITY_EXACT;
}

int series_increase(const struct series *series, int64_t from_ns, int64_t to_ns,
	double max_rate_per_s, struct increase *ret)
{
	*ret = (struct increase){.quality = QUALITY_UNKNOWN};
	if (!series || series->n == 0)
		return -ENODATA;
	const uint32_t begin = series_after(series, from_ns), end = series_after(series, to_ns);
	if (plain_increase(series, begin, end, max_rate_per_s, ret))
		return 0;
	struct increase_walk walk = {.series = series,
		.begin = begin,
		.end = end,
		.max_rate_per_s = max_rate_per_s,
		.first_move = true};
	series_find_anchor(&walk);
	for (uint32_t i = walk.begin; i < walk.end; i++)
		take_sample(&walk, i);
	walk.r.span_ns = walk.r.last_ns - walk.r.first_ns;
	walk.r.quality = increase_quality(&walk);
	*ret = walk.r;
	if (walk.r.intervals == 0)
		return -ENODATA;
	return 0;
}

int series_rate(const struct series *series, int64_t from_ns, int64_t to_ns, double max_rate_per_s,
	double *ret_per_s, struct increase *ret_inc)
{
	struct increase inc;
	int r = series_increase(series, from_ns, to_ns, max_rate_per_s, &inc);

	if (ret_inc)
		*ret_inc = inc;
	if (r < 0)
		return r;
	*ret_per_s = (double)inc.value / ((double)inc.covered_ns / NS_PER_S);
	return 0;
}

int series_state(const struct series *series, int64_t at_ns, int64_t max_age_ns, uint64_t *ret)
{
	if (!series)
		return -ENODATA;
	for (uint32_t i = series_after(series, at_ns); i > 0; i--) {
		if (at_ns - series->t_ns[i - 1] > max_age_ns)
			break;
		if (!series_usable(series, i - 1))
			continue;
		*ret = series->value[i - 1];
		return 0;
	}
	return -ENODATA;
}

double series_coverage(
	const struct series *series, int64_t from_ns, int64_t to_ns, int64_t max_gap_ns)
{
	if (!series || series->n == 0 || to_ns <= from_ns)
		return 0;
	uint32_t begin = series_after(series, from_ns), end = series_after(series, to_ns);
	int64_t covered_ns = 0, prev_ns = 0;
	bool have = false;

	for (uint32_t i = begin; i > 0 && !have; i--) {
		have = series_usable(series, i - 1);
		prev_ns = series->t_ns[i - 1];
	}
	for (uint32_t i = begin; i < end; i++) {
		const int64_t t_ns = series->t_ns[i];
		if (!series_usable(series, i))
			continue;
		/* Over a restart a counter has no delta, however short the gap. */
		const bool restarted = series->flags[i] & SF_RESTART;
		if (have && !restarted && t_ns - prev_ns <= max_gap_ns) {
			if (prev_ns > from_ns)
				covered_ns += t_ns - prev_ns;
			else
				covered_ns += t_ns - from_ns;
		}
		prev_ns = t_ns;
		have = true;
	}
	double ratio = (double)covered_ns / (double)(to_ns - from_ns);
	if (ratio > 1)
		return 1;
	return ratio;
}

int series_order(const void *left, const void *right)
{
	const struct series *x = left, *y = right;

	if (x->metric != y->metric)
		return x->metric < y->metric ? -1 : 1;
	return (x->entity > y->entity) - (x->entity < y->entity);
}

void window_give_flows(struct window *window, struct flow_sample *flows, size_t n)
{
	if (n > 1)
		qsort(flows, n, sizeof(*flows), flow_order);
	size_t hosts = 0;
	while (hosts < n && flows[n - hosts - 1].host)
		hosts++;
	window->flows = flows;
	window->n_flows = n - hosts;
	window->flow_hosts = NULL;
	window->n_flow_hosts = hosts;
	if (hosts)
		window->flow_hosts = &flows[n - hosts];
}
