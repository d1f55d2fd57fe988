/* late_rank - bounds of the clocks by causality, then each collective by order and durations. */
#include "agent/ranks/late_rank.h"

#include "base/stats.h"

enum { LATE_ROUNDS = 16, LATE_CLOCKS_SOLVED = 16 };
#define LATE_STEP_S 1e-6 /* clocks are told to microseconds */

/* Of each clock: how far it can be ahead of @of, at least and at most. */
struct late_offsets {
	uint32_t of;
	double *least, *most;
	bool fit;
};

struct late {
	const struct collective_set *set;
	struct late_answer *answer;
	struct late_offsets *solved[LATE_CLOCKS_SOLVED];
	size_t n_solved;
};

/* ---- the clocks ------------------------------------------------------------------ */

/* One collective's word: nobody ends before the last begins. True: a bound got tighter. */
static bool late_tighten(const struct collective *k, struct late_offsets *offsets)
{
	double last_most = INFINITY, last_least = -INFINITY; /* of the last begin */
	bool tighter = false;
	for (size_t i = 0; i < k->n; i++) {
		const struct collective_part *part = &k->parts[i];
		last_most = fmin(last_most, offsets->most[part->clock] + part->end_hi);
		last_least = fmax(last_least, offsets->least[part->clock] + part->begin_lo);
	}
	for (size_t i = 0; i < k->n; i++) {
		const struct collective_part *part = &k->parts[i];
		const double most = last_most - part->begin_lo, least = last_least - part->end_hi;
		if (most < offsets->most[part->clock] - LATE_STEP_S) {
			offsets->most[part->clock] = most;
			tighter = true;
		}
		if (least > offsets->least[part->clock] + LATE_STEP_S) {
			offsets->least[part->clock] = least;
			tighter = true;
		}
	}
	return tighter;
}

static struct late_offsets *late_solve(const struct late *late, uint32_t of)
{
	const struct collective_set *set = late->set;
	struct late_offsets *offsets = arena_new_of(set->a, struct late_offsets);
	bool tighter = true;
	*offsets = (struct late_offsets){.of = of,
		.least = arena_array(set->a, double, set->n_clocks),
		.most = arena_array(set->a, double, set->n_clocks),
		.fit = true};
	for (size_t i = 0; i < set->n_clocks; i++) {
		offsets->least[i] = -INFINITY;
		offsets->most[i] = INFINITY;
	}
	offsets->least[of] = offsets->most[of] = 0;
	for (size_t round = 0; round < LATE_ROUNDS && tighter; round++) {
		tighter = false;
		for (size_t k = 0; k < set->n; k++)
			if (set->v[k].joint)
				tighter |= late_tighten(&set->v[k], offsets);
	}
	for (size_t i = 0; i < set->n_clocks; i++)
		offsets->fit &= offsets->least[i] <= offsets->most[i] + 2 * LATE_STEP_S;
	return offsets;
}

/* By way of a clock that is solved: wider, and much quicker. */
static struct late_offsets *late_by_way(
	const struct late *late, const struct late_offsets *way, uint32_t of)
{
	struct late_offsets *offsets = arena_new_of(late->set->a, struct late_offsets);
	const size_t n = late->set->n_clocks;
	*offsets = (struct late_offsets){.of = of,
		.least = arena_array(late->set->a, double, n),
		.most = arena_array(late->set->a, double, n),
		.fit = way->fit};
	for (size_t i = 0; i < n; i++) {
		offsets->least[i] = way->least[i] - way->most[of];
		offsets->most[i] = way->most[i] - way->least[of];
	}
	offsets->least[of] = offsets->most[of] = 0;
	return offsets;
}

static const struct late_offsets *late_offsets_of(struct late *late, uint32_t of)
{
	for (size_t i = 0; i < late->n_solved; i++)
		if (late->solved[i]->of == of)
			return late->solved[i];
	struct late_offsets *offsets;
	if (late->n_solved < LATE_CLOCKS_SOLVED)
		offsets = late_solve(late, of);
	else
		offsets = late_by_way(late, late->solved[0], of);
	if (late->n_solved < LATE_CLOCKS_SOLVED)
		late->solved[late->n_solved++] = offsets;
	late->answer->clocks_fit &= offsets->fit;
	return offsets;
}

/* ---- who stands apart ------------------------------------------------------------- */

struct late_value {
	double value;
	const struct collective_part *part;
};

static int late_by_value(const void *left, const void *right)
{
	const double one = ((const struct late_value *)left)->value;
	const double other = ((const struct late_value *)right)->value;
	return (one > other) - (one < other);
}

/* The first @ret_n of @v stand below all others by more than these are apart from each other: by
 * @ret_gap. At most half of them. */
static bool late_apart(const struct late_value *v, size_t n, size_t *ret_n, double *ret_gap)
{
	*ret_gap = 0;
	for (size_t m = 1; m * 2 <= n; m++) {
		const double gap = v[m].value - v[m - 1].value;
		if (gap > LATE_LEAST_S && gap > v[n - 1].value - v[m].value && gap > *ret_gap) {
			*ret_gap = gap;
			*ret_n = m;
		}
	}
	return *ret_gap > 0;
}

static void late_mirror(struct late_value *v, size_t n)
{
	for (size_t i = 0; i < n; i++)
		v[i].value = -v[i].value;
	qsort(v, n, sizeof(*v), late_by_value);
}

/* A single rank, or ranks of one host. */
static bool late_one_host(const struct late *late, const struct late_value *v, size_t n)
{
	const struct collective_rank *ranks = late->set->ranks;
	for (size_t i = 1; i < n; i++)
		if (!*ranks[v[i].part->who].host ||
			!collective_same_host(
				ranks[v[0].part->who].host, ranks[v[i].part->who].host))
			return false;
	return true;
}

/* ---- order -------------------------------------------------------------------------- */

enum late_order { LATE_ORDER_OPEN, LATE_ORDER_PROVEN, LATE_ORDER_REFUTED };

/* Did the first @m of @v begin (@ends: end) after all others? */
static enum late_order late_by_order(
	struct late *late, const struct late_value *v, size_t m, size_t n, bool ends)
{
	const struct collective_part *own = v[0].part;
	const struct late_offsets *offsets = late_offsets_of(late, own->clock);
	size_t after = 0, not_after = 0;
	if (!offsets->fit)
		return LATE_ORDER_OPEN;
	for (size_t i = m; i < n; i++) {
		const struct collective_part *part = v[i].part;
		const double own_lo = ends ? own->end_lo : own->begin_lo;
		const double own_hi = ends ? own->end_hi : own->begin_hi;
		const double lo = ends ? part->end_lo : part->begin_lo;
		const double hi = ends ? part->end_hi : part->begin_hi;
		after += own_lo - hi - offsets->most[part->clock] > 0;
		not_after += own_hi - lo - offsets->least[part->clock] < LATE_LEAST_S;
	}
	if (after == n - m)
		return LATE_ORDER_PROVEN;
	if (not_after * 2 > n - m)
		return LATE_ORDER_REFUTED;
	return LATE_ORDER_OPEN;
}

/* ---- one collective ----------------------------------------------------------------- */

static void late_find(struct late *late, size_t at, enum late_kind kind, const struct late_value *v,
	size_t n, double seconds, bool by_order)
{
	struct late_answer *answer = late->answer;
	const struct collective *k = &late->set->v[at];
	uint32_t *who = arena_array(late->set->a, uint32_t, n);
	double from = NAN, to = NAN;
	for (size_t i = 0; i < n; i++)
		who[i] = v[i].part->who;
	for (size_t i = 0; i < k->n; i++) {
		from = fmin(from, fmin(k->parts[i].begin_lo, k->parts[i].begin_hi));
		to = fmax(to, k->parts[i].end_hi);
	}
	arena_grow(late->set->a, answer->v, answer->n, answer->cap);
	answer->v[answer->n++] = (struct late_finding){.kind = kind,
		.collective = at,
		.behind = SIZE_MAX,
		.who = who,
		.n_who = n,
		.seconds = seconds,
		.by_order = by_order,
		.from_s = from,
		.to_s = to};
}

/* By durations first: they need no clock. True: decided, also that nobody was late. */
static bool late_by_durations(struct late *late, size_t at, struct late_value *v, size_t n)
{
	double gap;
	size_t m;
	qsort(v, n, sizeof(*v), late_by_value);
	if (late_apart(v, n, &m, &gap)) {
		const enum late_order order = late_by_order(late, v, m, n, false);
		if (!late_one_host(late, v, m) || order == LATE_ORDER_REFUTED)
			return false;
		late_find(late, at, LATE_BEGAN, v, m, gap, order == LATE_ORDER_PROVEN);
		return true;
	}
	late_mirror(v, n);
	if (n < 3 || !late_apart(v, n, &m, &gap))
		return v[n - 1].value - v[0].value <= LATE_LEAST_S;
	if (!late_one_host(late, v, m))
		return false;
	const enum late_order order = late_by_order(late, v, m, n, true);
	if (order == LATE_ORDER_REFUTED)
		return false;
	if (order == LATE_ORDER_PROVEN)
		late_find(late, at, LATE_ENDED, v, m, gap, true);
	else
		late_find(late, at, LATE_LONGEST, v, m, gap, false);
	return true;
}

/* Without durations: on the clock of the first rank, the middle of what its begin can be. */
static bool late_by_times(struct late *late, size_t at, struct late_value *v, size_t n)
{
	const struct late_offsets *offsets = late_offsets_of(late, v[0].part->clock);
	double gap;
	size_t m;
	for (size_t i = 0; i < n; i++) {
		const struct collective_part *part = v[i].part;
		const double least = offsets->least[part->clock] + part->begin_lo;
		const double most = offsets->most[part->clock] + part->begin_hi;
		v[i].value = (least + most) / 2;
		if (!isfinite(v[i].value))
			return false;
	}
	late_mirror(v, n); /* the last first */
	if (!late_apart(v, n, &m, &gap) || !late_one_host(late, v, m) ||
		late_by_order(late, v, m, n, false) != LATE_ORDER_PROVEN)
		return false;
	late_find(late, at, LATE_BEGAN, v, m, gap, true);
	return true;
}

static void late_judge(struct late *late, size_t at)
{
	const struct collective *k = &late->set->v[at];
	const uint64_t size = late->set->comms[k->comm].size;
	struct late_value *v = arena_array(late->set->a, struct late_value, k->n + 1);
	bool timed = true, ended = true, decided = false;
	if (!k->joint || k->n < 2) {
		late->answer->skipped++;
		return;
	}
	for (size_t i = 0; i < k->n; i++) {
		v[i] = (struct late_value){k->parts[i].seconds, &k->parts[i]};
		timed &= !isnan(k->parts[i].seconds);
		ended &= k->parts[i].ended;
	}
	if (timed && ended)
		decided = late_by_durations(late, at, v, k->n);
	else if (ended)
		decided = late_by_times(late, at, v, k->n);
	late->answer->judged += decided;
	late->answer->undecided += !decided;
	late->answer->incomplete += decided && size > k->n;
}

/* ---- who has not begun ---------------------------------------------------------------- */

static uint64_t late_member(uint32_t comm, uint32_t who)
{
	return (uint64_t)comm << 32 | who;
}

/* The last collective of each communicator that a rank is in, counted from 1. */
static struct map *late_members(const struct collective_set *set)
{
	struct map *last = map_new();
	for (size_t k = 0; k < set->n; k++)
		for (size_t i = 0; i < set->v[k].n; i++) {
			const uint64_t key = late_member(set->v[k].comm, set->v[k].parts[i].who);
			uint64_t known;
			if (!map_get(last, key, &known) ||
				set->v[known].sequence < set->v[k].sequence)
				map_put(last, key, k);
		}
	return last;
}

/* Nobody's part of it has ended, and ranks that were in earlier ones are not in it. */
static void late_absent(struct late *late, size_t at, const struct map *last)
{
	const struct collective_set *set = late->set;
	const struct collective *k = &set->v[at];
	struct late_value *v = arena_array(set->a, struct late_value, set->n_ranks + 1);
	size_t n = 0;
	for (size_t i = 0; i < k->n; i++)
		if (k->parts[i].ended)
			return;
	for (uint32_t who = 0; who < set->n_ranks; who++) {
		uint64_t known;
		if (!map_get(last, late_member(k->comm, who), &known) ||
			set->v[known].sequence >= k->sequence)
			continue;
		struct collective_part *part = arena_new_of(set->a, struct collective_part);
		part->who = who;
		v[n++].part = part;
	}
	if (n > 0 && n < k->n && late_one_host(late, v, n))
		late_find(late, at, LATE_ABSENT, v, n, NAN, true);
}

/* Only the first that somebody is missing in: the later ones follow from it. */
static void late_absents(struct late *late)
{
	const struct collective_set *set = late->set;
	struct map *last = late_members(set);
	for (uint32_t comm = 0; comm < set->n_comms; comm++) {
		const size_t before = late->answer->n;
		size_t first = SIZE_MAX;
		for (size_t k = 0; k < set->n; k++) {
			const bool open = set->v[k].comm == comm && set->v[k].joint &&
				set->v[k].n < set->comms[comm].size;
			if (open &&
				(first == SIZE_MAX ||
					set->v[k].sequence < set->v[first].sequence) &&
				!set->v[k].parts[0].ended)
				first = k;
		}
		if (first != SIZE_MAX)
			late_absent(late, first, last);
		const size_t found = late->answer->n - before;
		late->answer->judged += found;
		late->answer->undecided -= found;
	}
	map_free(last);
}

static void late_behind(struct late *late, size_t at)
{
	const struct collective_set *set = late->set;
	struct late_answer *answer = late->answer;
	arena_grow(set->a, answer->v, answer->n, answer->cap);
	answer->v[answer->n++] = (struct late_finding){.kind = LATE_BEHIND,
		.collective = SIZE_MAX,
		.behind = at,
		.who = &set->behind[at].who,
		.n_who = 1,
		.seconds = NAN,
		.by_order = true,
		.from_s = NAN,
		.to_s = NAN};
}

/* ---- all -------------------------------------------------------------------------------- */

static int late_by_number(const void *left, const void *right)
{
	const double one = *(const double *)left, other = *(const double *)right;
	return (one > other) - (one < other);
}

static double late_width(struct late *late)
{
	const size_t n = late->set->n_clocks;
	if (n < 2)
		return NAN;
	const struct late_offsets *offsets = late_offsets_of(late, 0);
	double *widths = arena_array(late->set->a, double, n);
	for (size_t i = 0; i < n; i++)
		widths[i] = offsets->most[i] - offsets->least[i];
	qsort(widths, n, sizeof(*widths), late_by_number);
	return isfinite(widths[n / 2]) && offsets->fit ? widths[n / 2] : NAN;
}

void late_ranks(const struct collective_set *set, struct late_answer *ret)
{
	struct late late = {.set = set, .answer = ret};
	*ret = (struct late_answer){.clocks_fit = true};
	ret->offset_s = late_width(&late);
	for (size_t k = 0; k < set->n; k++)
		late_judge(&late, k);
	late_absents(&late);
	for (size_t i = 0; i < set->n_behind; i++)
		late_behind(&late, i);
}

/* ---- steps -------------------------------------------------------------------------------- */

enum { STEPS_LEAST = 3 };

struct step_part { /* of one rank */
	uint32_t who;
	double at_s, seconds; /* NAN not told */
	const struct collective *collective;
};

/* As the first source told them: its own order, whatever its times say. */
static int step_order(const void *left, const void *right)
{
	const struct step_part *x = left, *y = right;
	if (x->who != y->who)
		return x->who < y->who ? -1 : 1;
	return (x->collective > y->collective) - (x->collective < y->collective);
}

static bool step_same(const struct step_part *x, const struct step_part *y)
{
	const struct collective *left = x->collective, *right = y->collective;
	const bool sized = !isnan(left->octets) && !isnan(right->octets);
	return left->comm == right->comm && str_eq(left->op, right->op) &&
		(!sized || left->octets == right->octets);
}

/* After how many collectives the same ones come again, all along; 0: they do not. */
static size_t step_period(const struct step_part *v, size_t n)
{
	for (size_t period = 1; period * STEPS_LEAST <= n; period++) {
		size_t i = 0;
		while (i + period < n && step_same(&v[i], &v[i + period]))
			i++;
		if (i + period == n)
			return period;
	}
	return 0;
}

/* Of one rank: false when it tells no step. Uses @values, room for @n. */
static bool step_of_rank(
	const struct step_part *v, size_t n, double *values, double *ret_step, double *ret_exchange)
{
	const size_t period = step_period(v, n);
	double busy_s = 0;
	if (period == 0)
		return false;
	for (size_t i = 0; i + period < n; i++)
		values[i] = v[i + period].at_s - v[i].at_s;
	for (size_t i = 0; i < n / period * period; i++)
		busy_s += v[i].seconds;
	*ret_step = stats_median(values, n - period);
	*ret_exchange = busy_s / (double)(n / period);
	return *ret_step > 0 && !isnan(*ret_exchange);
}

struct late_step late_step_find(const struct collective_set *set)
{
	struct late_step ret = {NAN, NAN, NAN, NAN};
	struct step_part *v = arena_array(set->a, struct step_part, set->n_parts + 1);
	double *values = arena_array(set->a, double, set->n_parts + 1);
	double *steps = arena_array(set->a, double, set->n_ranks + 1);
	double *exchanges = arena_array(set->a, double, set->n_ranks + 1);
	size_t n = 0, told = 0;
	for (size_t k = 0; k < set->n; k++)
		for (size_t i = 0; i < set->v[k].n; i++) {
			const struct collective_part *part = &set->v[k].parts[i];
			double begin_s = part->begin_lo;
			if (isnan(begin_s))
				begin_s = part->end_hi - part->seconds;
			ret.to_s = fmax(ret.to_s, part->end_hi);
			if (part->ended && !isnan(begin_s))
				v[n++] = (struct step_part){
					part->who, begin_s, part->seconds, &set->v[k]};
		}
	if (n > 1)
		qsort(v, n, sizeof(*v), step_order);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i + 1; end < n && v[end].who == v[i].who;)
			end++;
		told += step_of_rank(&v[i], end - i, values, &steps[told], &exchanges[told]);
	}
	if (told == 0)
		return ret;
	ret.step_s = stats_median(steps, told);
	ret.exchange_s = INFINITY;
	for (size_t i = 0; i < told; i++)
		ret.exchange_s = fmin(ret.exchange_s, exchanges[i]);
	ret.waiting_s = stats_median(exchanges, told) - ret.exchange_s;
	return ret;
}
