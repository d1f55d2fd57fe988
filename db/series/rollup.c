/* rollup - gathers the samples of one series and says what they come to. Increases are those of
 * series_increase(): the samples are handed to it in pieces, each with its anchor. */
#include "db/series/rollup.h"

#include "base/stats.h"
#include "db/model/metric.h"
#include "db/series/series.h"

#define EXACT_MAX 256 /* numbers that are kept as they are */
#define SKETCH_SHIFT 46 /* what is left of a double: its exponent and 6 bits of its fraction */
#define SKETCH_INFINITE (0x7ff << 6)

int32_t rollup_sketch_key(double value)
{
	const int32_t key = (int32_t)(sample_of_f64(fabs(value)) >> SKETCH_SHIFT);
	if (value < 0)
		return -key;
	return key;
}

/* The number in the middle of a bin. */
static double sketch_number(int32_t key)
{
	const uint64_t size = (uint64_t)abs(key);
	double number = INFINITY;
	if (key == 0)
		return 0;
	if (size < SKETCH_INFINITE)
		number = sample_f64(size << SKETCH_SHIFT | UINT64_C(1) << (SKETCH_SHIFT - 1));
	if (key < 0)
		return -number;
	return number;
}

static void sketch_count(struct rollup_sketch *sketch, int32_t key, uint64_t n)
{
	size_t lo = 0, hi = sketch->n_bins;
	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;
		if (sketch->bins[mid].key < key)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < sketch->n_bins && sketch->bins[lo].key == key) {
		sketch->bins[lo].n += n;
		return;
	}
	rw_grow(sketch->bins, sketch->n_bins, sketch->cap_bins);
	memmove(&sketch->bins[lo + 1], &sketch->bins[lo],
		(sketch->n_bins - lo) * sizeof(*sketch->bins));
	sketch->bins[lo] = (struct rollup_bin){.key = key, .n = n};
	sketch->n_bins++;
}

void rollup_sketch_add(struct rollup_sketch *sketch, double value)
{
	if (isnan(value))
		return;
	sketch->n++;
	if (sketch->n_bins == 0 && sketch->n_values < EXACT_MAX) {
		rw_grow(sketch->values, sketch->n_values, sketch->cap_values);
		sketch->values[sketch->n_values++] = value;
		return;
	}
	rollup_sketch_pack(sketch);
	sketch_count(sketch, rollup_sketch_key(value), 1);
}

void rollup_sketch_pack(struct rollup_sketch *sketch)
{
	for (size_t i = 0; i < sketch->n_values; i++)
		sketch_count(sketch, rollup_sketch_key(sketch->values[i]), 1);
	sketch->n_values = 0;
}

/* Numbers near each other are counted in a table. */
void rollup_sketch_bins(
	struct rollup_sketch *sketch, const double *numbers, size_t n, double min, double max)
{
	enum { TABLE = 1024 };
	const int32_t least = rollup_sketch_key(min), most = rollup_sketch_key(max);
	uint32_t counts[TABLE];

	if (most - least >= TABLE) {
		for (size_t i = 0; i < n; i++)
			rollup_sketch_add_bin(sketch, rollup_sketch_key(numbers[i]), 1);
		return;
	}
	memset(counts, 0, (size_t)(most - least + 1) * sizeof(*counts));
	for (size_t i = 0; i < n; i++)
		counts[rollup_sketch_key(numbers[i]) - least]++;
	for (int32_t key = least; key <= most; key++)
		if (counts[key - least] > 0)
			rollup_sketch_add_bin(sketch, key, counts[key - least]);
}

void rollup_sketch_add_bin(struct rollup_sketch *sketch, int32_t key, uint64_t n)
{
	rollup_sketch_pack(sketch);
	sketch_count(sketch, key, n);
	sketch->n += n;
}

void rollup_sketch_merge(struct rollup_sketch *sketch, const struct rollup_sketch *from)
{
	for (size_t i = 0; i < from->n_values; i++)
		rollup_sketch_add(sketch, from->values[i]);
	for (size_t i = 0; i < from->n_bins; i++)
		rollup_sketch_add_bin(sketch, from->bins[i].key, from->bins[i].n);
}

/* The number at @rank, of bins. */
static double sketch_at(const struct rollup_sketch *sketch, uint64_t rank)
{
	uint64_t below = 0;
	for (size_t i = 0; i < sketch->n_bins; i++) {
		below += sketch->bins[i].n;
		if (below > rank)
			return sketch_number(sketch->bins[i].key);
	}
	return sketch_number(sketch->bins[sketch->n_bins - 1].key);
}

double rollup_sketch_quantile(struct rollup_sketch *sketch, double at)
{
	if (sketch->n_bins == 0)
		return stats_quantile(sketch->values, sketch->n_values, at);
	/* between two order statistics, as stats_quantile() does */
	const double rank = at * (double)(sketch->n - 1);
	const uint64_t low = (uint64_t)rank;
	const double left = sketch_at(sketch, low), right = sketch_at(sketch, low + 1);
	if (left == right)
		return left;
	return left + (right - left) * (rank - (double)low);
}

/* rollup_sketch_clear - empty, the memory stays. rollup_sketch_done - the memory goes. */
static void rollup_sketch_clear(struct rollup_sketch *sketch)
{
	sketch->n = 0;
	sketch->n_values = 0;
	sketch->n_bins = 0;
}

void rollup_sketch_done(struct rollup_sketch *sketch)
{
	free(sketch->values);
	free(sketch->bins);
	*sketch = (struct rollup_sketch){0};
}

#define PIECE_MAX 512 /* samples kept at once */
#define GAP_FACTOR 3 /* this many usual intervals without a sample are a gap */

struct rollup_track {
	struct rollup now;
	struct rollup_sketch sketch;
	/* The samples of the piece: the first n_anchor are older and only compared with. */
	int64_t *t_ns;
	uint64_t *value;
	uint16_t *flags;
	uint32_t n, cap, n_anchor;
	int64_t before_ns; /* the usable sample before, when .any_before */
	int64_t spacing_ns; /* the usual time between samples; 0 = not known yet */
	bool any_before, any_now;
	bool no_quantiles; /* no number is kept for them */
	double *numbers; /* room of rollup_track_add_columns() */
	uint32_t cap_numbers;
	struct rollup_clock clock; /* where none is lent */
};

int64_t rollup_step_of(int64_t t_ns, int64_t step_ns)
{
	/* (k*step, (k+1)*step]: the sample on the edge belongs to the step before. */
	t_ns--;
	if (t_ns >= 0)
		return t_ns / step_ns;
	return -((-t_ns + step_ns - 1) / step_ns);
}

struct rollup_track *rollup_track_new(uint32_t entity, uint16_t metric)
{
	struct rollup_track *track = rw_calloc(1, sizeof(*track));
	track->now = (struct rollup){
		.entity = entity, .metric = metric, .min = NAN, .max = NAN, .sum = NAN};
	return track;
}

void rollup_track_no_quantiles(struct rollup_track *track)
{
	track->no_quantiles = true;
}

void rollup_track_free(struct rollup_track *track)
{
	if (!track)
		return;
	rollup_sketch_done(&track->sketch);
	free(track->t_ns);
	free(track->value);
	free(track->flags);
	free(track->numbers);
	rollup_clock_done(&track->clock);
	free(track);
}

static bool rollup_usable(unsigned flags)
{
	return !(flags & (SF_LATE | SF_SUSPECT));
}

static void rollup_append(struct rollup_track *track, const struct sample *sample)
{
	if (track->n == track->cap) {
		track->cap = track->cap ? 2 * track->cap : 8;
		track->t_ns = rw_realloc(track->t_ns, track->cap * sizeof(*track->t_ns));
		track->value = rw_realloc(track->value, track->cap * sizeof(*track->value));
		track->flags = rw_realloc(track->flags, track->cap * sizeof(*track->flags));
	}
	track->t_ns[track->n] = sample->t_ns;
	track->value[track->n] = sample->value;
	track->flags[track->n] = sample->flags;
	track->n++;
}

static void rollup_number(struct rollup_track *track, double number)
{
	struct rollup *now = &track->now;
	if (isnan(number))
		return;
	if (now->numbers == 0) {
		now->min = now->max = number;
		now->sum = 0;
	}
	if (number < now->min)
		now->min = number;
	if (number > now->max)
		now->max = number;
	now->sum += number;
	now->numbers++;
	if (!track->no_quantiles)
		rollup_sketch_add(&track->sketch, number);
}

static struct series rollup_piece(const struct rollup_track *track)
{
	return (struct series){.entity = track->now.entity,
		.metric = track->now.metric,
		.n = track->n,
		.t_ns = track->t_ns,
		.value = track->value,
		.flags = track->flags};
}

static void rollup_take_increase(struct rollup_track *track)
{
	const struct series series = rollup_piece(track);
	struct rollup *now = &track->now;
	struct increase all, one;
	int64_t from_ns = INT64_MIN;
	if (track->n_anchor > 0)
		from_ns = track->t_ns[track->n_anchor - 1];
	series_increase(&series, from_ns, track->t_ns[track->n - 1], 0, &all);
	now->increase += all.value;
	now->covered_ns += all.covered_ns;
	now->intervals += all.intervals;
	now->resets += all.resets;
	now->suspects += all.suspects;
	uint32_t first = track->n_anchor;
	if (first == 0)
		first = 1;
	for (uint32_t i = first; i < track->n; i++) {
		double rate;
		if (series_rate(&series, track->t_ns[i - 1], track->t_ns[i], 0, &rate, &one) == 0)
			rollup_number(track, rate);
	}
}

/* What the next piece is compared with: the last usable sample, where its value began, and what
 * came after it, which may say that the counter restarted. */
static void rollup_keep_anchor(struct rollup_track *track)
{
	uint32_t last = track->n, first, kept = 0;
	while (last > 0 && !rollup_usable(track->flags[last - 1]))
		last--;
	if (last > 0)
		last--;
	first = last;
	while (first > 0 && rollup_usable(track->flags[first - 1]) &&
		!(track->flags[first] & SF_RESTART) &&
		track->value[first - 1] == track->value[last])
		first--;
	for (uint32_t i = first; i < track->n; i++) {
		if (i > first && i < last)
			continue;
		track->t_ns[kept] = track->t_ns[i];
		track->value[kept] = track->value[i];
		track->flags[kept] = track->flags[i];
		kept++;
	}
	track->n = track->n_anchor = kept;
}

/* The samples that are waiting become part of the numbers. */
static void rollup_fold(struct rollup_track *track)
{
	const struct metric_info *info = metric_info(track->now.metric);
	if (track->n == track->n_anchor)
		return;
	if (info->kind == METRIC_COUNTER && info->type != TYPE_TEXT)
		rollup_take_increase(track);
	for (uint32_t i = track->n_anchor; i < track->n && info->kind != METRIC_COUNTER; i++)
		if (rollup_usable(track->flags[i]))
			rollup_number(track, sample_number(track->now.metric, track->value[i]));
	rollup_keep_anchor(track);
}

void rollup_track_anchor(struct rollup_track *track, const struct sample *sample)
{
	rollup_append(track, sample);
	if (rollup_usable(sample->flags)) {
		track->before_ns = sample->t_ns;
		track->any_before = true;
	}
	rollup_keep_anchor(track);
}

bool rollup_spacing(int64_t *spacing_ns, int64_t ns)
{
	if (*spacing_ns == 0 || ns < *spacing_ns)
		*spacing_ns = ns;
	const bool gap = ns > GAP_FACTOR * *spacing_ns;
	/* An interval that changed is followed slowly; one long silence is not a new interval. */
	*spacing_ns += (ns - *spacing_ns) / 16;
	return !gap;
}

/* How long it was since the sample before, and whether that is usual. */
static void rollup_take_time(struct rollup_track *track, int64_t t_ns, unsigned flags)
{
	struct rollup *now = &track->now;
	const int64_t ns = t_ns - track->before_ns;
	const bool counts = track->any_before && ns > 0;
	track->before_ns = t_ns;
	track->any_before = true;
	if (!counts)
		return;
	if (ns > now->longest_ns)
		now->longest_ns = ns;
	const bool seen = rollup_spacing(&track->spacing_ns, ns);
	if (seen && !(flags & SF_RESTART))
		now->seen_ns += ns;
}

void rollup_track_add(struct rollup_track *track, const struct sample *sample)
{
	struct rollup *now = &track->now;
	track->any_now = true;
	now->flags |= sample->flags;
	if (track->n >= PIECE_MAX)
		rollup_fold(track);
	rollup_append(track, sample);
	if (!rollup_usable(sample->flags))
		return;
	rollup_take_time(track, sample->t_ns, sample->flags);
	if (now->count == 0) {
		now->first = sample->value;
		now->first_ns = sample->t_ns;
	}
	now->last = sample->value;
	now->last_ns = sample->t_ns;
	now->count++;
}

/* ---- many at once --------------------------------------------------------------- */

void rollup_clock_forget(struct rollup_clock *clock)
{
	clock->t_ns = NULL;
	clock->flags = NULL;
}

void rollup_clock_done(struct rollup_clock *clock)
{
	free(clock->seconds);
	*clock = (struct rollup_clock){0};
}

static double columns_seconds(int64_t before_ns, int64_t t_ns)
{
	return (double)(t_ns - before_ns) / NS_PER_S;
}

/* The clock shows the instants of @columns from here on. */
static void clock_set(struct rollup_clock *clock, const struct rollup_columns *columns)
{
	if (clock->t_ns == columns->t_ns && clock->n == columns->n)
		return;
	if (columns->n > clock->cap) {
		clock->cap = columns->n;
		clock->seconds = rw_realloc(clock->seconds, clock->cap * sizeof(*clock->seconds));
	}
	clock->t_ns = columns->t_ns;
	clock->n = columns->n;
	clock->flags = NULL;
	clock->times = false;
	for (uint32_t i = 1; i < columns->n; i++)
		clock->seconds[i] = columns_seconds(columns->t_ns[i - 1], columns->t_ns[i]);
}

static unsigned clock_flags(struct rollup_clock *clock, const struct rollup_columns *columns)
{
	if (clock->flags == columns->flags)
		return clock->any_flags;
	clock->flags = columns->flags;
	clock->any_flags = 0;
	for (uint32_t i = 0; i < columns->n; i++)
		clock->any_flags |= columns->flags[i];
	return clock->any_flags;
}

/* No flag is set, and nothing that waits or is compared with has one; a counter never steps back:
 * what the rules of series_increase() then come to is last minus first. */
static bool columns_are_plain(
	const struct rollup_track *track, const struct rollup_columns *columns)
{
	const bool counter = metric_info(track->now.metric)->kind == METRIC_COUNTER;
	unsigned flags = clock_flags(columns->clock, columns), steps_back = 0;
	for (uint32_t i = 0; i < track->n; i++)
		flags |= track->flags[i];
	for (uint32_t i = 1; i < columns->n; i++)
		steps_back |= columns->value[i] < columns->value[i - 1];
	if (flags || track->n > track->n_anchor)
		return false;
	if (track->n > 0 && columns->t_ns[0] <= track->t_ns[track->n - 1])
		return false;
	if (track->n > 0)
		steps_back |= columns->value[0] < track->value[track->n - 1];
	return !counter || !steps_back;
}

/* The rate of each interval into @ret, which has room for all; the first one begins at the anchor,
 * where there is one. Returns how many there are. */
static uint32_t columns_rates(
	struct rollup_track *track, const struct rollup_columns *columns, double *ret)
{
	struct rollup *now = &track->now;
	const uint64_t *value = columns->value;
	const double *seconds = columns->clock->seconds;
	int64_t before_ns = columns->t_ns[0];
	uint64_t before = value[0];
	uint32_t n = 0;
	if (track->n > 0) {
		before_ns = track->t_ns[track->n - 1];
		before = track->value[track->n - 1];
		ret[n++] =
			(double)(value[0] - before) / columns_seconds(before_ns, columns->t_ns[0]);
	}
	now->increase += value[columns->n - 1] - before;
	now->covered_ns += columns->t_ns[columns->n - 1] - before_ns;
	now->intervals += columns->n - 1 + n;
	for (uint32_t i = 1; i < columns->n; i++)
		ret[n++] = (double)(value[i] - value[i - 1]) / seconds[i];
	return n;
}

/* rollup_number() of each; its totals stay in registers. */
static void columns_numbers(struct rollup_track *track, const double *numbers, uint32_t n)
{
	struct rollup *now = &track->now;
	uint32_t i = 0;
	for (; i < n && (now->numbers == 0 || !track->no_quantiles); i++)
		rollup_number(track, numbers[i]);
	double min = now->min, max = now->max, sum = now->sum;
	for (uint32_t k = i; k < n; k++) {
		if (isnan(numbers[k]))
			continue;
		if (numbers[k] < min)
			min = numbers[k];
		if (numbers[k] > max)
			max = numbers[k];
		sum += numbers[k];
		now->numbers++;
	}
	now->min = min;
	now->max = max;
	now->sum = sum;
}

/* rollup_take_time() of each, from where the track is. */
static void clock_times(struct rollup_clock *clock, const struct rollup_track *track)
{
	struct rollup_track walk = {.before_ns = track->before_ns,
		.any_before = track->any_before,
		.spacing_ns = track->spacing_ns};

	clock->before_ns = track->before_ns;
	clock->any_before = track->any_before;
	clock->spacing_ns = track->spacing_ns;
	for (uint32_t i = 0; i < clock->n; i++)
		rollup_take_time(&walk, clock->t_ns[i], 0);
	clock->next_spacing_ns = walk.spacing_ns;
	clock->longest_ns = walk.now.longest_ns;
	clock->seen_ns = walk.now.seen_ns;
	clock->times = true;
}

static void columns_times(struct rollup_track *track, const struct rollup_columns *columns)
{
	struct rollup_clock *clock = columns->clock;
	struct rollup *now = &track->now;
	const bool known = clock->times && clock->before_ns == track->before_ns &&
		clock->any_before == track->any_before && clock->spacing_ns == track->spacing_ns;

	if (!known)
		clock_times(clock, track);
	track->before_ns = columns->t_ns[columns->n - 1];
	track->any_before = true;
	track->spacing_ns = clock->next_spacing_ns;
	if (clock->longest_ns > now->longest_ns)
		now->longest_ns = clock->longest_ns;
	now->seen_ns += clock->seen_ns;
}

static void columns_take(struct rollup_track *track, const struct rollup_columns *columns)
{
	const struct metric_info *info = metric_info(track->now.metric);
	struct rollup *now = &track->now;
	const uint32_t last = columns->n - 1;
	uint32_t n = 0;
	if (columns->n > track->cap_numbers) {
		track->cap_numbers = columns->n;
		track->numbers = rw_realloc(track->numbers, columns->n * sizeof(*track->numbers));
	}
	if (info->kind == METRIC_COUNTER && info->type != TYPE_TEXT)
		n = columns_rates(track, columns, track->numbers);
	for (uint32_t i = 0; i < columns->n && info->kind != METRIC_COUNTER; i++)
		track->numbers[n++] = sample_number(now->metric, columns->value[i]);
	columns_numbers(track, track->numbers, n);
	columns_times(track, columns);
	if (now->count == 0) {
		now->first = columns->value[0];
		now->first_ns = columns->t_ns[0];
	}
	now->last = columns->value[last];
	now->last_ns = columns->t_ns[last];
	now->count += columns->n;
	track->any_now = true;
	track->n = 0;
	rollup_append(
		track, &(struct sample){.t_ns = now->last_ns, .value = now->last, .flags = 0});
	track->n_anchor = 1;
}

void rollup_track_add_columns(struct rollup_track *track, const struct rollup_columns *columns)
{
	struct rollup_columns plain = *columns;
	if (columns->n == 0)
		return;
	if (!plain.clock)
		plain.clock = &track->clock;
	if (!columns->clock) /* whatever lay there before */
		rollup_clock_forget(plain.clock);
	clock_set(plain.clock, &plain);
	if (columns_are_plain(track, &plain)) {
		columns_take(track, &plain);
		return;
	}
	for (uint32_t i = 0; i < columns->n; i++)
		rollup_track_add(track,
			&(struct sample){.t_ns = columns->t_ns[i],
				.value = columns->value[i],
				.flags = columns->flags[i]});
}

void rollup_quantiles(struct rollup *rollup, struct rollup_sketch *sketch)
{
	double *const ret[] = {&rollup->p50, &rollup->p95, &rollup->p99};
	static const double at[] = {0.5, 0.95, 0.99};

	for (size_t i = 0; i < rw_countof(at); i++)
		*ret[i] =
			fmin(fmax(rollup_sketch_quantile(sketch, at[i]), rollup->min), rollup->max);
}

bool rollup_track_close_sketch(struct rollup_track *track, int64_t from_ns, int64_t to_ns,
	struct rollup *ret, struct rollup_sketch *ret_sketch)
{
	if (!track->any_now)
		return false;
	rollup_fold(track);
	struct rollup *now = &track->now;
	now->from_ns = from_ns;
	now->to_ns = to_ns;
	if (now->seen_ns > to_ns - from_ns)
		now->seen_ns = to_ns - from_ns;
	now->p50 = now->p95 = now->p99 = NAN;
	if (!track->no_quantiles)
		rollup_quantiles(now, &track->sketch);
	*ret = *now;
	if (ret_sketch) {
		*ret_sketch = track->sketch;
		track->sketch = (struct rollup_sketch){0};
	}
	rollup_sketch_clear(&track->sketch);
	*now = (struct rollup){
		.entity = now->entity, .metric = now->metric, .min = NAN, .max = NAN, .sum = NAN};
	track->any_now = false;
	return true;
}

bool rollup_track_close(
	struct rollup_track *track, int64_t from_ns, int64_t to_ns, struct rollup *ret)
{
	return rollup_track_close_sketch(track, from_ns, to_ns, ret, NULL);
}

static void merge_numbers(struct rollup *into, const struct rollup *next)
{
	if (next->numbers == 0)
		return;
	if (into->numbers == 0) {
		into->min = next->min;
		into->max = next->max;
		into->sum = 0;
	}
	into->min = fmin(into->min, next->min);
	into->max = fmax(into->max, next->max);
	into->sum += next->sum;
	into->numbers += next->numbers;
}

void rollup_merge(struct rollup *into, const struct rollup *next)
{
	merge_numbers(into, next);
	if (next->count > 0 && (into->count == 0 || next->first_ns < into->first_ns)) {
		into->first = next->first;
		into->first_ns = next->first_ns;
	}
	if (next->count > 0 && (into->count == 0 || next->last_ns > into->last_ns)) {
		into->last = next->last;
		into->last_ns = next->last_ns;
	}
	if (next->from_ns < into->from_ns)
		into->from_ns = next->from_ns;
	if (next->to_ns > into->to_ns)
		into->to_ns = next->to_ns;
	into->count += next->count;
	into->flags |= next->flags;
	into->increase += next->increase;
	into->covered_ns += next->covered_ns;
	into->intervals += next->intervals;
	into->resets += next->resets;
	into->suspects += next->suspects;
	into->seen_ns += next->seen_ns;
	if (next->longest_ns > into->longest_ns)
		into->longest_ns = next->longest_ns;
}
