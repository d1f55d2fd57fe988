/* tune_verify - matches windows, draws blocks of them for intervals, tests ports, and decides. */
#include "analyzers/tune/tune_verify.h"

#include "base/stats.h"
#include "db/series/series.h"

#define BLOCK 10
#define BLOCKS_LEAST 4 /* blocks are shorter where there are few windows */
#define DRAWS 1000
#define TAIL_LEAST 100 /* windows a 99th percentile takes */
#define DROPS_LEAST 10 /* drops before, that their end can be told from luck */
#define BINS 10
#define NEAR_LOW 0.5 /* as rhythm.h: within half and one and a half times the usual */
#define NEAR_HIGH 1.5
#define SENDERS_NEAR 0.1
#define PAUSE_LEAST 0.001 /* of the time: less host pause is nothing to win or lose */
#define PAUSE_FALL 0.2 /* of what there was: a fall that matters */
#define J_PAUSE 0.5

const char *const verify_match_names[VERIFY_NONE + 1] = {
	[VERIFY_JOB] = "job", [VERIFY_LOAD] = "load", [VERIFY_NONE] = "none"};
const char *const verify_verdict_names[VERIFY_INCONCLUSIVE + 1] = {[VERIFY_KEEP] = "keep",
	[VERIFY_ROLL_BACK] = "roll_back",
	[VERIFY_INCONCLUSIVE] = "inconclusive"};
static const char *const effect_names[][2] = {
	[VERIFY_PAUSE] = {"pause", "ratio"},
	[VERIFY_FRAMES] = {"pause_frames", "frames/s"},
	[VERIFY_MARKS] = {"marks", "ratio"},
	[VERIFY_DROPS] = {"drops", "packets/s"},
	[VERIFY_STEP] = {"step_time", "of before"},
	[VERIFY_TAIL] = {"step_time_p99", "of before"},
	[VERIFY_J] = {"j", "-"},
};

int verify_match_parse(const char *word, enum verify_match *ret)
{
	for (size_t k = 0; k < rw_countof(verify_match_names); k++) {
		if (str_eq(word, verify_match_names[k])) {
			*ret = (enum verify_match)k;
			return 0;
		}
	}
	return -EINVAL;
}

const char *verify_match_name(enum verify_match match)
{
	if ((size_t)match >= rw_countof(verify_match_names))
		return "";
	return verify_match_names[match];
}

const char *verify_verdict_name(enum verify_verdict verdict)
{
	if (verdict > VERIFY_INCONCLUSIVE)
		return "";
	return verify_verdict_names[verdict];
}

/* ---- which windows ------------------------------------------------------- */

struct side { /* windows in order of time */
	const struct verify_window **v; /* matched */
	size_t n;
	const struct verify_window **all; /* busy and unspoilt: step times under VERIFY_LOAD */
	size_t n_all;
};

static double median_load(const struct verify_window *const *windows, size_t n, struct arena *a)
{
	double *load = arena_array(a, double, n + 1);
	size_t m = 0;
	for (size_t k = 0; k < n; k++)
		if (isfinite(windows[k]->load))
			load[m++] = windows[k]->load;
	return stats_median(load, m);
}

static double median_senders(const struct side *side, struct arena *a)
{
	double *senders = arena_array(a, double, side->n_all + 1);
	for (size_t k = 0; k < side->n_all; k++)
		senders[k] = side->all[k]->senders;
	return stats_median(senders, side->n_all);
}

static void tune_verify_usable(const struct verify_window *windows, size_t n, struct side *side,
	struct verify_result *result, struct arena *a)
{
	side->all = arena_array(a, const struct verify_window *, n + 1);
	side->v = arena_array(a, const struct verify_window *, n + 1);
	for (size_t k = 0; k < n; k++) {
		if (windows[k].spoiled)
			result->n_spoiled++;
		else if (!windows[k].busy)
			result->n_idle++;
		else
			side->all[side->n_all++] = &windows[k];
	}
}

static void match_job(struct side *side, double senders, struct arena *a)
{
	const double usual = median_load(side->all, side->n_all, a);
	for (size_t k = 0; k < side->n_all; k++) {
		const struct verify_window *w = side->all[k];
		const bool work = w->load >= NEAR_LOW * usual && w->load <= NEAR_HIGH * usual;
		if (work && fabs(w->senders - senders) <= SENDERS_NEAR * senders)
			side->v[side->n++] = w;
	}
}

static size_t tune_verify_bin_of(double load, const double *edges)
{
	size_t bin = 0;
	while (bin < BINS - 1 && load > edges[bin])
		bin++;
	return bin;
}

/* Every n-th of a bin's windows, so that both sides have as many of it. */
static void tune_verify_thin(
	struct side *side, size_t *have, const size_t *want, const double *edges)
{
	size_t seen[BINS] = {0};
	for (size_t k = 0; k < side->n_all; k++) {
		const size_t bin = tune_verify_bin_of(side->all[k]->load, edges), at = seen[bin]++;
		if (isfinite(side->all[k]->load) &&
			(at + 1) * want[bin] / have[bin] > at * want[bin] / have[bin])
			side->v[side->n++] = side->all[k];
	}
}

static void match_load(struct side *before, struct side *after, struct arena *a)
{
	double edges[BINS - 1], *pool = arena_array(a, double, before->n_all + after->n_all + 1);
	size_t n = 0, have[2][BINS] = {{0}}, want[BINS];
	struct side *const sides[] = {before, after};
	for (int i = 0; i < 2; i++)
		for (size_t k = 0; k < sides[i]->n_all; k++)
			if (isfinite(sides[i]->all[k]->load))
				pool[n++] = sides[i]->all[k]->load;
	for (size_t b = 0; b < BINS - 1; b++)
		edges[b] = stats_quantile(pool, n, (double)(b + 1) / BINS);
	for (int i = 0; i < 2; i++)
		for (size_t k = 0; k < sides[i]->n_all; k++)
			have[i][tune_verify_bin_of(sides[i]->all[k]->load, edges)]++;
	for (size_t b = 0; b < BINS; b++) {
		if (have[0][b] < have[1][b])
			want[b] = have[0][b];
		else
			want[b] = have[1][b];
	}
	for (int i = 0; i < 2; i++)
		tune_verify_thin(sides[i], have[i], want, edges);
}

static void match_windows(const struct verify_in *in, struct side *before, struct side *after,
	struct verify_result *result)
{
	tune_verify_usable(in->before, in->n_before, before, result, in->arena);
	tune_verify_usable(in->after, in->n_after, after, result, in->arena);
	if (in->match == VERIFY_JOB) {
		const double senders = median_senders(before, in->arena);
		match_job(before, senders, in->arena);
		match_job(after, senders, in->arena);
	} else if (in->match == VERIFY_LOAD) {
		match_load(before, after, in->arena);
	} else {
		memcpy(before->v, before->all, before->n_all * sizeof(*before->v));
		memcpy(after->v, after->all, after->n_all * sizeof(*after->v));
		before->n = before->n_all;
		after->n = after->n_all;
	}
	for (size_t k = 0; k < before->n; k++)
		result->pause_bound |= before->v[k]->pause_bound;
	for (size_t k = 0; k < after->n; k++)
		result->pause_bound |= after->v[k]->pause_bound;
	result->n_before = before->n;
	result->n_after = after->n;
	result->n_unmatched = before->n_all - before->n + after->n_all - after->n;
}

/* ---- block bootstrap ----------------------------------------------------- */

enum { V_PAUSE, V_FRAMES, V_MARKS, V_DROPS, V_LOAD, VALUES }; /* of a window */

struct window_means {
	double mean[VALUES];
	double slow; /* rate of the slowest hundredth: the tail of step times */
};

/* one side's windows, value by value; rates in an order of their own where all busy windows tell
 * them */
struct value_columns {
	double *v[VALUES];
	size_t n[VALUES], block[VALUES];
	double *scratch;
};

static size_t tune_verify_block_of(size_t n)
{
	const size_t b = n / BLOCKS_LEAST;
	if (b > BLOCK)
		return BLOCK;
	if (b)
		return b;
	return 1;
}

static double tune_verify_value_of(const struct verify_window *window, int value)
{
	const double seconds = (double)(window->to_ns - window->from_ns) / 1e9;
	switch (value) {
	case V_PAUSE: return window->pause;
	case V_FRAMES: return window->frames;
	case V_MARKS: return window->marks;
	case V_DROPS: return window->drops / seconds;
	default: return window->load;
	}
}

static void tune_verify_columns_of(
	const struct side *side, bool all_loads, struct arena *a, struct value_columns *column)
{
	for (int i = 0; i < VALUES; i++) {
		const bool all = i == V_LOAD && all_loads;
		size_t n = side->n;
		const struct verify_window **v = side->v;
		if (all) {
			n = side->n_all;
			v = side->all;
		}
		column->v[i] = arena_array(a, double, n + 1);
		for (size_t k = 0; k < n; k++) {
			const double x = tune_verify_value_of(v[k], i);
			if (isfinite(x))
				column->v[i][column->n[i]++] = x;
		}
		column->block[i] = tune_verify_block_of(column->n[i]);
	}
	column->scratch = arena_array(a, double, side->n_all + side->n + 1);
}

/* splitmix64 (Steele, Lea, Flood 2014): a fixed sequence, so that the same history gives the same
 * words. */
static uint64_t tune_verify_draw(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;
	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

/* The smallest values met so far, ascending: enough of them for a low percentile, without sorting
 * all of a drawn sample. */
static void keep_low(double *low, size_t *n, size_t room, double value)
{
	if (*n == room && value >= low[room - 1])
		return;
	size_t at;
	if (*n < room)
		at = (*n)++;
	else
		at = room - 1;
	for (; at > 0 && low[at - 1] > value; at--)
		low[at] = low[at - 1];
	low[at] = value;
}

/* The mean of value @i, and for rates the first percentile. @state NULL: of the windows as they
 * are; else of windows that are drawn again, block by block. */
static double tune_verify_mean_of(
	const struct value_columns *column, int i, uint64_t *state, double *ret_slow)
{
	const size_t n = column->n[i], block = column->block[i], room = n / 100 + 2;
	size_t n_low = 0;
	double sum = 0;
	if (n == 0)
		return NAN;
	for (size_t k = 0; k < n;) {
		size_t at = 0;
		if (state)
			at = tune_verify_draw(state) % n;
		for (size_t m = 0; (m < block || !state) && k < n; m++, k++, at++) {
			const double x = column->v[i][at < n ? at : at - n];
			sum += x;
			if (ret_slow)
				keep_low(column->scratch, &n_low, room, x);
		}
	}
	if (ret_slow && n >= TAIL_LEAST) {
		const double site = 0.01 * (double)(n - 1), whole = floor(site);
		*ret_slow = column->scratch[(size_t)whole] +
			(site - whole) *
				(column->scratch[(size_t)whole + 1] -
					column->scratch[(size_t)whole]);
	}
	return sum / (double)n;
}

static struct window_means tune_verify_sums_of(const struct value_columns *column, uint64_t *state)
{
	struct window_means s = {.slow = NAN};
	for (int i = 0; i < VALUES; i++)
		s.mean[i] = tune_verify_mean_of(column, i, state, i == V_LOAD ? &s.slow : NULL);
	return s;
}

static void effects_of(const struct window_means *right, const struct window_means *left,
	bool pause_bound, double delta[VERIFY_EFFECTS])
{
	delta[VERIFY_FRAMES] = left->mean[V_FRAMES] - right->mean[V_FRAMES];
	delta[VERIFY_PAUSE] = left->mean[V_PAUSE] - right->mean[V_PAUSE];
	delta[VERIFY_MARKS] = left->mean[V_MARKS] - right->mean[V_MARKS];
	delta[VERIFY_DROPS] = left->mean[V_DROPS] - right->mean[V_DROPS];
	delta[VERIFY_STEP] = right->mean[V_LOAD] / left->mean[V_LOAD] - 1;
	delta[VERIFY_TAIL] = right->slow / left->slow - 1;
	delta[VERIFY_J] = delta[VERIFY_STEP];
	if (!isnan(delta[VERIFY_TAIL]))
		delta[VERIFY_J] += delta[VERIFY_TAIL];
	if (!isnan(delta[VERIFY_PAUSE]) && !pause_bound)
		delta[VERIFY_J] += J_PAUSE * delta[VERIFY_PAUSE];
}

/* How much wider an interval has to be because there are few blocks: the 97.5 % point of Student's
 * distribution over that of the normal one (Hill's expansion in 1/df; 1 % low at 4 degrees), times
 * what the variance of a mean of few blocks hides. */
static double tune_verify_widening(size_t blocks_before, size_t blocks_after)
{
	const double few = (double)(blocks_before < blocks_after ? blocks_before : blocks_after),
		     df = (double)(blocks_before + blocks_after) - 2;
	if (few < 2 || df < 2)
		return NAN;
	return (1.96 + 2.37 / df + 2.82 / (df * df)) / 1.96 * sqrt(few / (few - 1));
}

static void tune_verify_intervals(const struct value_columns *before,
	const struct value_columns *after, bool pause_bound, struct verify_effect *effect,
	struct arena *a)
{
	static const int rests_on[VERIFY_EFFECTS] = {[VERIFY_PAUSE] = V_PAUSE,
		[VERIFY_FRAMES] = V_FRAMES,
		[VERIFY_MARKS] = V_MARKS,
		[VERIFY_DROPS] = V_DROPS,
		[VERIFY_STEP] = V_LOAD,
		[VERIFY_TAIL] = V_LOAD,
		[VERIFY_J] = V_LOAD};
	double *drawn[VERIFY_EFFECTS], delta[VERIFY_EFFECTS];
	uint64_t state = 0x726f636577617463u; /* fixed */
	for (int i = 0; i < VERIFY_EFFECTS; i++)
		drawn[i] = arena_array(a, double, DRAWS);
	for (int k = 0; k < DRAWS; k++) {
		const struct window_means b = tune_verify_sums_of(before, &state),
					  f = tune_verify_sums_of(after, &state);
		effects_of(&b, &f, pause_bound, delta);
		for (int i = 0; i < VERIFY_EFFECTS; i++)
			drawn[i][k] = delta[i];
	}
	for (int i = 0; i < VERIFY_EFFECTS; i++) {
		const int on = rests_on[i];
		const double wider = tune_verify_widening(
			before->n[on] / before->block[on], after->n[on] / after->block[on]);
		effect[i].low = effect[i].high = NAN;
		if (!isfinite(effect[i].delta))
			continue;
		effect[i].low = effect[i].delta -
			wider * (effect[i].delta - stats_quantile(drawn[i], DRAWS, 0.025));
		effect[i].high = effect[i].delta +
			wider * (stats_quantile(drawn[i], DRAWS, 0.975) - effect[i].delta);
	}
}

/* ---- ports --------------------------------------------------------------- */

double verify_rank_test(
	const double *left, size_t n_a, const double *right, size_t n_b, double *scratch)
{
	const size_t n = n_a + n_b;
	double u = 0, ties = 0;
	if (n_a == 0 || n_b == 0)
		return 1;
	for (size_t i = 0; i < n_a; i++)
		for (size_t k = 0; k < n_b; k++) {
			if (left[i] > right[k])
				u += 1;
			else if (left[i] == right[k])
				u += 0.5;
		}
	memcpy(scratch, left, n_a * sizeof(*left));
	memcpy(scratch + n_a, right, n_b * sizeof(*right));
	stats_sort(scratch, n);
	for (size_t i = 0; i < n;) {
		size_t k = i;
		while (k < n && scratch[k] == scratch[i])
			k++;
		const double t = (double)(k - i);
		ties += t * t * t - t;
		i = k;
	}
	const double na = (double)n_a, nb = (double)n_b, all = (double)n;
	const double var = na * nb / 12 * (all + 1 - ties / (all * (all - 1)));
	const double off = fabs(u - na * nb / 2) - 0.5;
	if (var > 0 && off > 0)
		return erfc(off / sqrt(2 * var));
	return 1;
}

double verify_discoveries(double *chances, size_t n, double rate)
{
	double limit = -1;
	stats_sort(chances, n);
	for (size_t k = 0; k < n; k++)
		if (chances[k] <= rate * (double)(k + 1) / (double)n)
			limit = chances[k];
	return limit;
}

/* Means of one port over blocks of windows: neighbouring windows resemble each other, blocks
 * hardly. */
static size_t block_means(const struct side *side, size_t port, double *ret)
{
	const size_t block = tune_verify_block_of(side->n);
	size_t n = 0;
	for (size_t k = 0; k + block <= side->n; k += block) {
		double sum = 0;
		size_t seen = 0;
		for (size_t m = k; m < k + block; m++) {
			float x = NAN;
			if (side->v[m]->ports)
				x = side->v[m]->ports[port];
			if (!isnan(x)) {
				sum += x;
				seen++;
			}
		}
		if (seen)
			ret[n++] = sum / (double)seen;
	}
	return n;
}

static double tune_verify_mean(const double *values, size_t n)
{
	double sum = 0;
	for (size_t k = 0; k < n; k++)
		sum += values[k];
	if (n)
		return sum / (double)n;
	return NAN;
}

static void test_ports(const struct verify_in *in, const struct side *before,
	const struct side *after, struct verify_result *result)
{
	const size_t room = before->n + after->n + 2;
	double *b = arena_array(in->arena, double, room), *a = arena_array(in->arena, double, room),
	       *scratch = arena_array(in->arena, double, room);
	double *p = arena_array(in->arena, double, in->n_ports + 1),
	       *sorted = arena_array(in->arena, double, in->n_ports + 1),
	       *moved = arena_array(in->arena, double, in->n_ports + 1);
	result->ports_worse = arena_array(in->arena, size_t, in->n_ports + 1);
	result->ports_better = arena_array(in->arena, size_t, in->n_ports + 1);
	for (size_t k = 0; k < in->n_ports; k++) {
		const size_t nb = block_means(before, k, b), na = block_means(after, k, a);
		p[k] = NAN;
		moved[k] = tune_verify_mean(a, na) - tune_verify_mean(b, nb);
		if (nb < BLOCKS_LEAST || na < BLOCKS_LEAST)
			continue;
		sorted[result->n_ports_tested++] = p[k] = verify_rank_test(b, nb, a, na, scratch);
	}
	const double limit = verify_discoveries(sorted, result->n_ports_tested, VERIFY_DISCOVERY);
	for (size_t k = 0; k < in->n_ports; k++) {
		if (isnan(p[k]) || p[k] > limit || fabs(moved[k]) < PAUSE_LEAST)
			continue;
		if (moved[k] > 0)
			result->ports_worse[result->n_ports_worse++] = k;
		else
			result->ports_better[result->n_ports_better++] = k;
	}
}

/* ---- verdict ------------------------------------------------------------- */

/* Drops are counted in every window that was heard: one is one too many, whatever the job did. */
static double tune_verify_drops_of(const struct verify_window *windows, size_t n)
{
	double sum = NAN;
	for (size_t k = 0; k < n; k++)
		if (isfinite(windows[k].drops) && windows[k].drops >= 0)
			sum = (isnan(sum) ? 0 : sum) + windows[k].drops;
	return sum;
}

static double tune_verify_seconds_of(const struct verify_window *windows, size_t n)
{
	double s = 0;
	for (size_t k = 0; k < n; k++) {
		if (isfinite(windows[k].drops))
			s += (double)(windows[k].to_ns - windows[k].from_ns) / 1e9;
	}
	return s;
}

struct judged {
	bool worse, better;
};

/* Surely up or down, and by more than @least. */
static struct judged judge_effect(const struct verify_effect *effect, double least)
{
	return (struct judged){.worse = effect->low > 0 && effect->delta > least,
		.better = effect->high < 0 && effect->delta < -least};
}

static void name_judgement(struct verify_effect *effect, struct judged judged)
{
	if (isnan(effect->low))
		effect->judgement = "not known";
	else if (judged.worse)
		effect->judgement = "worse";
	else if (judged.better)
		effect->judgement = "better";
	else
		effect->judgement = "no change seen";
}

struct judgement { /* of every effect that counts for the verdict */
	struct judged pause, drops, step, tail, j;
	bool drops_new; /* none before, some after */
	bool drops_ended; /* some before, none after, and not by luck */
};

/* Did drops end? Only when as many as DROPS_LEAST were to be expected in the time after. */
static bool drops_ended(const struct verify_in *in, const struct verify_result *result)
{
	const double before_s = tune_verify_seconds_of(in->before, in->n_before),
		     after_s = tune_verify_seconds_of(in->after, in->n_after);
	return result->drops_after == 0 && result->drops_before > 0 &&
		result->drops_before / before_s * after_s >= DROPS_LEAST;
}

static void judge_pause(struct verify_result *result, struct judgement *ret)
{
	struct verify_effect *time = &result->effects[VERIFY_PAUSE],
			     *frames = &result->effects[VERIFY_FRAMES];
	double least = PAUSE_LEAST;
	if (PAUSE_FALL * time->before > least)
		least = PAUSE_FALL * time->before;
	const struct judged by_time = judge_effect(time, least),
			    by_frames = judge_effect(frames, PAUSE_FALL * frames->before);
	name_judgement(time, by_time);
	name_judgement(frames, by_frames);
	ret->pause = by_time;
	if (result->pause_bound && !isnan(frames->low))
		ret->pause = by_frames;
}

static void judge_drops(
	const struct verify_in *in, struct verify_result *result, struct judgement *ret)
{
	struct verify_effect *effect = &result->effects[VERIFY_DROPS];
	ret->drops_new = result->drops_after > 0 && !(result->drops_before > 0);
	ret->drops_ended = drops_ended(in, result);
	ret->drops = judge_effect(effect, 0);
	ret->drops.better = ret->drops.better && result->drops_before >= DROPS_LEAST;
	name_judgement(effect,
		(struct judged){.worse = ret->drops.worse || ret->drops_new,
			.better = ret->drops.better || ret->drops_ended});
}

static struct judgement judge_effects(const struct verify_in *in, struct verify_result *result)
{
	struct verify_effect *e = result->effects;
	struct judgement ret = {.tail = judge_effect(&e[VERIFY_TAIL], VERIFY_STEP_NOISE),
		.j = judge_effect(&e[VERIFY_J], VERIFY_STEP_NOISE),
		.step = judge_effect(&e[VERIFY_STEP], VERIFY_STEP_LIMIT)};
	judge_pause(result, &ret);
	judge_drops(in, result, &ret);
	e[VERIFY_MARKS].judgement = "";
	name_judgement(&e[VERIFY_STEP], ret.step);
	name_judgement(&e[VERIFY_TAIL], ret.tail);
	name_judgement(&e[VERIFY_J], ret.j);
	return ret;
}

static void tune_verify_conclude(
	struct verify_result *result, enum verify_verdict verdict, const char *why)
{
	result->verdict = verdict;
	result->why = why;
}

static const char *why_keep(const struct judgement *judgement)
{
	if (judgement->drops_ended || judgement->drops.better)
		return "drops fell, and steps take no longer";
	if (judgement->step.better)
		return "steps take less time";
	return "pause fell, and steps take no longer";
}

static const char *what_fell(const struct judgement *judgement)
{
	if (judgement->pause.better)
		return "pause fell";
	return "drops fell";
}

static void tune_verify_decide(const struct verify_in *in, struct verify_result *result)
{
	const struct judgement got = judge_effects(in, result);
	const struct verify_effect *step = &result->effects[VERIFY_STEP];
	const bool few =
		result->n_before < VERIFY_WINDOWS_MIN || result->n_after < VERIFY_WINDOWS_MIN;
	const bool gain =
		got.pause.better || got.drops.better || got.drops_ended || got.step.better;
	/* 1. One new lossless drop is enough, whatever else there is. */
	if (got.drops_new) {
		tune_verify_conclude(result, VERIFY_ROLL_BACK,
			arena_printf(in->arena, "%s lossless drops since, none before",
				number_count_of(result->drops_after).s));
		return;
	}
	/* 2. Too few windows say nothing. */
	if (few) {
		tune_verify_conclude(result, VERIFY_INCONCLUSIVE,
			arena_printf(in->arena,
				"%zu matched windows before and %zu after, expected at least %d of "
				"each",
				result->n_before, result->n_after, VERIFY_WINDOWS_MIN));
		return;
	}
	/* 3. Harm: more drops, longer steps, or all of it together. */
	if (got.drops.worse) {
		tune_verify_conclude(result, VERIFY_ROLL_BACK, "more lossless drops than before");
		return;
	}
	if (got.step.worse) {
		tune_verify_conclude(result, VERIFY_ROLL_BACK,
			arena_printf(in->arena, "steps take %.1f %% longer", 100 * step->delta));
		return;
	}
	if (got.j.worse) {
		tune_verify_conclude(result, VERIFY_ROLL_BACK,
			"step time, its tail and pause together are worse (J)");
		return;
	}
	/* 4. Never by pause alone. */
	if (isnan(step->high)) {
		tune_verify_conclude(result, VERIFY_INCONCLUSIVE,
			"step time unknown, and pause alone proves nothing");
		return;
	}
	/* 5. No gain. */
	if (!gain && got.pause.worse) {
		tune_verify_conclude(
			result, VERIFY_INCONCLUSIVE, "pause rose, step time did not follow");
		return;
	}
	if (!gain) {
		tune_verify_conclude(result, VERIFY_INCONCLUSIVE, "no effect that exceeds chance");
		return;
	}
	/* 6. A gain, but longer steps are not excluded. */
	if (step->high > VERIFY_STEP_NOISE && !got.step.better) {
		tune_verify_conclude(result, VERIFY_INCONCLUSIVE,
			arena_printf(in->arena,
				"%s, but steps may take up to %.1f %% longer; verify again with "
				"more windows",
				what_fell(&got), 100 * step->high));
		return;
	}
	/* 7. A gain that costs nothing. */
	tune_verify_conclude(result, VERIFY_KEEP, why_keep(&got));
}

void tune_verify(const struct verify_in *in, struct verify_result *ret)
{
	struct side before = {0}, after = {0};
	struct value_columns b = {0}, a = {0};
	*ret = (struct verify_result){.verdict = VERIFY_INCONCLUSIVE};
	match_windows(in, &before, &after, ret);
	ret->drops_before = tune_verify_drops_of(in->before, in->n_before);
	ret->drops_after = tune_verify_drops_of(in->after, in->n_after);
	tune_verify_columns_of(&before, in->match == VERIFY_LOAD, in->arena, &b);
	tune_verify_columns_of(&after, in->match == VERIFY_LOAD, in->arena, &a);
	const struct window_means was = tune_verify_sums_of(&b, NULL),
				  is = tune_verify_sums_of(&a, NULL);
	double delta[VERIFY_EFFECTS];
	effects_of(&was, &is, ret->pause_bound, delta);
	for (int i = 0; i < VERIFY_EFFECTS; i++)
		ret->effects[i] = (struct verify_effect){.metric = effect_names[i][0],
			.unit = effect_names[i][1],
			.before = NAN,
			.after = NAN,
			.delta = delta[i]};
	static const int values[] = {[VERIFY_PAUSE] = V_PAUSE,
		[VERIFY_FRAMES] = V_FRAMES,
		[VERIFY_MARKS] = V_MARKS,
		[VERIFY_DROPS] = V_DROPS};
	for (size_t i = 0; i < rw_countof(values); i++) {
		ret->effects[i].before = was.mean[values[i]];
		ret->effects[i].after = is.mean[values[i]];
	}
	for (int i = VERIFY_STEP; i <= VERIFY_TAIL; i++) {
		ret->effects[i].before = 1;
		ret->effects[i].after = 1 + delta[i];
	}
	tune_verify_intervals(&b, &a, ret->pause_bound, ret->effects, in->arena);
	test_ports(in, &before, &after, ret);
	tune_verify_decide(in, ret);
}
