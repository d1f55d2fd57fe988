/* series_column - lanes in step and odd ones. */
#include "db/series/series_column.h"

#include "db/model/entity.h"

#define SMALL 64 /* instants: so few are moved down rather than given more room */

struct column_pool {
	struct track_clocks *clocks;
	struct track *tracks; /* of odd lanes; .entity ENTITY_NONE: free, .end: the next free one */
	uint32_t n, cap, free; /* .free: + 1, 0 none */
	uint64_t *zeros;
	uint32_t n_zeros;
};

struct column_pool *column_pool_new(void)
{
	struct column_pool *pool = rw_calloc(1, sizeof(*pool));
	pool->clocks = track_clocks_new();
	return pool;
}

void column_pool_free(struct column_pool *pool)
{
	if (!pool)
		return;
	track_clocks_free(pool->clocks);
	free(pool->tracks);
	free(pool->zeros);
	free(pool);
}

const uint64_t *column_zeros(const struct column_pool *pool, uint32_t *ret_n)
{
	*ret_n = pool->n_zeros;
	return pool->zeros;
}

static void bit_set(uint64_t *bits, uint32_t lane)
{
	bits[lane / 64] |= UINT64_C(1) << lane % 64;
}
static void bit_clear(uint64_t *bits, uint32_t lane)
{
	bits[lane / 64] &= ~(UINT64_C(1) << lane % 64);
}

/* ---- room ---------------------------------------------------------------- */

static size_t words_of(uint32_t lanes)
{
	return (lanes + 63) / 64;
}

void column_widen(struct column *column, uint32_t lane)
{
	const uint32_t old = column->lanes;
	if (lane < old)
		return;
	/* whole eights keep the marks aligned */
	const uint32_t lanes = (lane + 1 + lane / 4 + 7) / 8 * 8;
	const size_t words = words_of(lanes), had = words_of(old);
	uint64_t *now = rw_calloc(lanes + 2 * words + lanes / 8, sizeof(*now));
	uint8_t *mark = (uint8_t *)(now + lanes + 2 * words);
	memset(mark, COLUMN_NO_LANE, lanes);
	if (old > 0) {
		memcpy(now, column->now, old * sizeof(*now));
		memcpy(now + lanes, column->in_step, had * sizeof(*now));
		memcpy(now + lanes + words, column->came, had * sizeof(*now));
		memcpy(mark, column->mark, old);
	}
	free(column->now);
	column->now = now;
	column->in_step = now + lanes;
	column->came = now + lanes + words;
	column->mark = mark;
	if (column->said) {
		column->said = rw_realloc(column->said, lanes * sizeof(*column->said));
		for (uint32_t i = old; i < lanes; i++)
			column->said[i] = INT64_MIN;
	}
	uint32_t **by_lane[] = {&column->odd, &column->row_of};
	for (size_t k = 0; k < rw_countof(by_lane); k++) {
		if (!*by_lane[k])
			continue;
		*by_lane[k] = rw_realloc(*by_lane[k], lanes * sizeof(uint32_t));
		memset(*by_lane[k] + old, 0, (lanes - old) * sizeof(uint32_t));
	}
	column->lanes = lanes;
}

/* ---- rows of values -------------------------------------------------------- */

static uint64_t *column_row(const struct column *column, uint32_t lane)
{
	return (uint64_t *)column_values(column, lane);
}

/* From now on the values of @lane differ; so far all of them were .now. */
static void row_begin(struct column *column, uint32_t lane)
{
	if (!column->row_of)
		column->row_of = rw_calloc(column->lanes, sizeof(*column->row_of));
	if (column->n_rows == column->cap_rows) {
		column->cap_rows += column->cap_rows / 4 + 4;
		column->values = rw_realloc(column->values,
			(size_t)column->cap_rows * column->cap * sizeof(*column->values));
		column->lane_of =
			rw_realloc(column->lane_of, column->cap_rows * sizeof(*column->lane_of));
	}
	column->lane_of[column->n_rows] = lane;
	column->row_of[lane] = ++column->n_rows;
	uint64_t *row = column_row(column, lane);
	for (uint32_t i = column->head; i < column->n; i++)
		row[i] = column->now[lane];
}

/* The last row takes the place of the row of @lane. */
static void row_end(struct column *column, uint32_t lane)
{
	if (!column->row_of || column->row_of[lane] == 0)
		return;
	const uint32_t row = column->row_of[lane] - 1, last = --column->n_rows;
	column->row_of[lane] = 0;
	if (row != last) {
		const uint32_t moved = column->lane_of[last];
		memcpy(column->values + (size_t)row * column->cap,
			column->values + (size_t)last * column->cap,
			column->cap * sizeof(*column->values));
		column->lane_of[row] = moved;
		column->row_of[moved] = row + 1;
	}
	if (column->n_rows > 0)
		return;
	free(column->values);
	free(column->row_of);
	free(column->lane_of);
	column->values = NULL;
	column->row_of = column->lane_of = NULL;
	column->cap_rows = 0;
}

/* Rows of lanes that have stood still since the oldest kept instant go. All lanes came. */
static void rows_sift(struct column *column)
{
	for (uint32_t r = column->n_rows; r > 0; r--) {
		const uint32_t lane = column->lane_of[r - 1];
		const uint64_t *row = column_values(column, lane);
		uint32_t i = column->head + 1;
		while (i < column->n && row[i] == row[column->head])
			i++;
		if (i >= column->n)
			row_end(column, lane);
	}
}

/* The kept instants become the first ones. */
static void column_move_down(struct column *column)
{
	const uint32_t head = column->head, kept = column->n - head;
	rows_sift(column);
	memmove(column->t_ns, column->t_ns + head, kept * sizeof(*column->t_ns));
	memmove(column->flags, column->flags + head, kept * sizeof(*column->flags));
	for (uint32_t r = 0; r < column->n_rows; r++) {
		uint64_t *row = column->values + (size_t)r * column->cap;
		memmove(row, row + head, kept * sizeof(*row));
	}
	column->n = kept;
	column->head = 0;
}

/* Room for one more instant. */
static void column_room(struct column *column)
{
	if (column->n < column->cap)
		return;
	if (column->head > 0 && (column->n <= SMALL || column->head >= column->n / 4)) {
		column_move_down(column);
		return;
	}
	const uint32_t old = column->cap, cap = (column->n + column->n / 4 + 4) / 4 * 4;
	column->t_ns = rw_realloc(column->t_ns, cap * sizeof(*column->t_ns));
	column->flags = rw_realloc(column->flags, cap * sizeof(*column->flags));
	column->cap = cap;
	if (column->n_rows == 0)
		return;
	uint64_t *values = rw_realloc(NULL, (size_t)column->cap_rows * cap * sizeof(*values));
	for (size_t r = 0; r < column->n_rows; r++)
		memcpy(values + r * cap, column->values + r * old, old * sizeof(*values));
	free(column->values);
	column->values = values;
}

static void pool_zeros(struct column_pool *pool, uint32_t n)
{
	if (n <= pool->n_zeros)
		return;
	free(pool->zeros);
	pool->n_zeros = 2 * n + 64;
	pool->zeros = rw_calloc(pool->n_zeros, sizeof(*pool->zeros));
}

/* ---- odd lanes -------------------------------------------------------------- */

static struct track *odd_track(
	const struct column_pool *pool, const struct column *column, uint32_t lane)
{
	if (!column->odd || column->odd[lane] == 0)
		return NULL;
	return &pool->tracks[column->odd[lane] - 1];
}

static struct track *odd_begin(struct column_pool *pool, struct column *column, uint32_t lane)
{
	uint32_t at;
	if (!column->odd)
		column->odd = rw_calloc(column->lanes, sizeof(*column->odd));
	if (pool->free) {
		at = pool->free - 1;
		pool->free = pool->tracks[at].end;
	} else {
		rw_grow(pool->tracks, pool->n, pool->cap);
		at = pool->n++;
	}
	/* the entity is the owner's affair: any but none */
	pool->tracks[at] =
		(struct track){.entity = lane + 1, .metric = column->metric, .clock = TRACK_WIDE};
	column->odd[lane] = at + 1;
	column->n_odd++;
	return &pool->tracks[at];
}

static void odd_end(struct column_pool *pool, struct column *column, uint32_t lane)
{
	struct track *track = odd_track(pool, column, lane);
	if (!track)
		return;
	track_drop(pool->clocks, track);
	track->entity = ENTITY_NONE;
	track->end = pool->free;
	pool->free = column->odd[lane];
	column->odd[lane] = 0;
	if (--column->n_odd > 0)
		return;
	free(column->odd);
	column->odd = NULL;
}

static void step_leave(struct column *column, uint32_t lane)
{
	row_end(column, lane);
	bit_clear(column->in_step, lane);
	column->n_in_step--;
	if (column_bit(column->came, lane)) {
		bit_clear(column->came, lane);
		column->n_came--;
	}
	if (column->n_in_step == 0)
		column->head = column->n = 0;
}

static void lane_make_odd(struct column_pool *pool, struct column *column, uint32_t lane)
{
	const struct track_run run = column_run(pool, column, lane);
	struct track *track = odd_begin(pool, column, lane);
	for (uint32_t i = 0; i < run.n; i++) {
		struct sample sample = {
			.t_ns = run.t_ns[i], .value = run.same, .flags = run.flags[i]};
		if (run.value)
			sample.value = run.value[i];
		track_add(pool->clocks, track, column->device_name, &sample);
	}
	step_leave(column, lane);
}

/* The last lane of @bits; there is one. */
static uint32_t bits_last(const uint64_t *bits, size_t words)
{
	while (bits[words - 1] == 0)
		words--;
	return (uint32_t)(words * 64) - 1 - (uint32_t)__builtin_clzll(bits[words - 1]);
}

/* ---- one more sample --------------------------------------------------------- */

static void column_open(
	struct column_pool *pool, struct column *column, const struct sample *sample)
{
	column_room(column);
	column->t_ns[column->n] = sample->t_ns;
	column->flags[column->n++] = sample->flags;
	memset(column->came, 0, words_of(column->lanes) * sizeof(*column->came));
	column->n_came = 0;
	pool_zeros(pool, column->n);
}

/* The newest instant is over. Who missed it is odd; where most did, those that did not are. */
static void column_close(struct column_pool *pool, struct column *column)
{
	const bool few = 2 * column->n_came < column->n_in_step;
	if (column->n_came == column->n_in_step)
		return;
	for (uint32_t lane = 0; lane < column->lanes; lane++) {
		if (column_bit(column->in_step, lane) && column_bit(column->came, lane) == few)
			lane_make_odd(pool, column, lane);
	}
	if (!few)
		return;
	column->n--;
	memcpy(column->came, column->in_step, words_of(column->lanes) * sizeof(*column->came));
	column->n_came = column->n_in_step;
}

/* A lane in step has @value at the newest instant. */
static void lane_take(struct column *column, uint32_t lane, uint64_t value)
{
	const bool first = column->n - column->head == 1;
	uint64_t *row = column_row(column, lane);
	if (!row && value != column->now[lane] && !first) {
		row_begin(column, lane);
		row = column_row(column, lane);
	}
	if (row)
		row[column->n - 1] = value;
	column->now[lane] = value;
	bit_set(column->came, lane);
	column->n_came++;
}

static int lane_add_odd(
	struct column_pool *pool, struct column *column, uint32_t lane, const struct sample *sample)
{
	struct track *track = odd_track(pool, column, lane);
	if (!track)
		track = odd_begin(pool, column, lane);
	else if (sample->t_ns <= track_newest(pool->clocks, track))
		return -EALREADY;
	track_add(pool->clocks, track, column->device_name, sample);
	return 0;
}

/* The first lane of an instant has other flags than the second: it is the odd one. True: the
 * instant has the flags of @sample now. */
static bool column_opener_odd(
	struct column_pool *pool, struct column *column, const struct sample *sample)
{
	if (column->n_came != 1)
		return false;
	lane_make_odd(pool, column, bits_last(column->came, words_of(column->lanes)));
	if (column->n_in_step > 0)
		column->flags[column->n - 1] = sample->flags;
	return true;
}

/* The first sample of @lane. It is in step when it comes at the first instant of the column. */
static int lane_begin(
	struct column_pool *pool, struct column *column, uint32_t lane, const struct sample *sample)
{
	const bool first = column->n - column->head == 1;
	if (sample->window_ms)
		return lane_add_odd(pool, column, lane, sample);
	if (first && column->t_ns[column->head] == sample->t_ns &&
		column->flags[column->head] != sample->flags)
		column_opener_odd(pool, column, sample);
	if (column->n_in_step == 0) {
		column_open(pool, column, sample);
	} else if (!first || column->t_ns[column->head] != sample->t_ns ||
		column->flags[column->head] != sample->flags) {
		return lane_add_odd(pool, column, lane, sample);
	}
	bit_set(column->in_step, lane);
	column->n_in_step++;
	lane_take(column, lane, sample->value);
	return 0;
}

/* Can @lane, which is in step and has no sample as new as this one, have it at the newest instant,
 * or at a new one? */
static bool lane_keeps_step(
	struct column_pool *pool, struct column *column, uint32_t lane, const struct sample *sample)
{
	const int64_t newest_ns = column->t_ns[column->n - 1];
	if (sample->window_ms || sample->t_ns < newest_ns)
		return false;
	if (sample->t_ns > newest_ns) {
		column_close(pool, column);
		if (!column_bit(column->in_step, lane))
			return false;
		column_open(pool, column, sample);
		return true;
	}
	return column->flags[column->n - 1] == sample->flags ||
		column_opener_odd(pool, column, sample);
}

int column_add(
	struct column_pool *pool, struct column *column, uint32_t lane, const struct sample *sample)
{
	if (sample->flags & SF_LATE)
		return -EALREADY; /* its window is closed: kept by the store, never analysed */
	const uint64_t bit = UINT64_C(1) << lane % 64;
	const bool came = column->came[lane / 64] & bit;
	if (!came && column->in_step[lane / 64] & bit && sample->window_ms == 0 &&
		sample->t_ns == column->t_ns[column->n - 1] &&
		sample->flags == column->flags[column->n - 1]) { /* nearly always */
		lane_take(column, lane, sample->value);
		return 0;
	}
	if (column->odd && column->odd[lane])
		return lane_add_odd(pool, column, lane, sample);
	if (!column_bit(column->in_step, lane))
		return lane_begin(pool, column, lane, sample);
	if (sample->t_ns <= column_newest(pool, column, lane))
		return -EALREADY;
	if (lane_keeps_step(pool, column, lane, sample)) {
		lane_take(column, lane, sample->value);
		return 0;
	}
	if (column_bit(column->in_step, lane))
		lane_make_odd(pool, column, lane);
	return lane_add_odd(pool, column, lane, sample);
}

/* ---- what is kept -------------------------------------------------------------- */

/* Behind the newest instant of a lane that is in step. */
static uint32_t lane_end(const struct column *column, bool came)
{
	return column->n - !came;
}

int64_t column_newest(const struct column_pool *pool, const struct column *column, uint32_t lane)
{
	const struct track *track = odd_track(pool, column, lane);
	if (track)
		return track_newest(pool->clocks, track);
	if (!column_bit(column->in_step, lane))
		return INT64_MIN;
	return column->t_ns[lane_end(column, column_bit(column->came, lane)) - 1];
}

uint64_t column_value(const struct column_pool *pool, const struct column *column, uint32_t lane)
{
	const struct track *track = odd_track(pool, column, lane);
	if (track)
		return track->last;
	if (!column_bit(column->in_step, lane))
		return 0;
	return column->now[lane];
}

struct track_run column_run(struct column_pool *pool, const struct column *column, uint32_t lane)
{
	const struct track *track = odd_track(pool, column, lane);
	if (track)
		return track_run_of(pool->clocks, track);
	if (!column_bit(column->in_step, lane))
		return (struct track_run){0};
	const struct column_cut all =
		column_cut(column, column_bit(column->came, lane), INT64_MIN, INT64_MAX);
	struct track_run run = {.t_ns = column->t_ns + all.begin,
		.value = column_values(column, lane),
		.flags = column->flags + all.begin,
		.window_ms = (const uint32_t *)(const void *)pool->zeros,
		.same = column->now[lane],
		.n = all.end - all.begin};
	run.flat = !run.value && all.plain;
	if (run.value)
		run.value += all.begin;
	return run;
}

/* The first of the instants [begin, end) that is later than @t_ns; @end: none is. */
static uint32_t instants_after(
	const struct column *column, uint32_t begin, uint32_t end, int64_t t_ns)
{
	if (begin < end && column->t_ns[end - 1] <= t_ns)
		return end;
	while (begin < end) {
		const uint32_t mid = begin + (end - begin) / 2;
		if (column->t_ns[mid] > t_ns)
			end = mid;
		else
			begin = mid + 1;
	}
	return begin;
}

struct column_cut column_cut(const struct column *column, bool came, int64_t from_ns, int64_t to_ns)
{
	const uint32_t end = lane_end(column, came);
	struct column_cut cut = {.plain = true};
	if (column->n_in_step == 0)
		return cut;
	cut.begin = instants_after(column, column->head, end, from_ns);
	cut.end = instants_after(column, column->head, end, to_ns);
	if (cut.begin > column->head)
		cut.begin--; /* the anchor */
	for (uint32_t i = cut.begin; i < cut.end; i++)
		cut.plain = cut.plain && column->flags[i] == 0;
	return cut;
}

/* ---- fewer samples --------------------------------------------------------------- */

/* Do the kept samples of an odd lane lie at the instants of the column, with their flags? */
static bool run_in_step(const struct column *column, const struct track_run *run, bool came)
{
	const uint32_t kept = lane_end(column, came) - column->head;
	return run->n == kept &&
		memcmp(run->t_ns, column->t_ns + column->head, kept * sizeof(*run->t_ns)) == 0 &&
		memcmp(run->flags, column->flags + column->head, kept * sizeof(*run->flags)) == 0;
}

static bool run_has_windows(const struct track_run *run)
{
	for (uint32_t i = 0; i < run->n; i++)
		if (run->window_ms[i])
			return true;
	return false;
}

/* The column has no lane in step: it begins again with the instants of @run. */
static void column_adopt(
	struct column_pool *pool, struct column *column, const struct track_run *run)
{
	for (uint32_t i = 0; i < run->n; i++)
		column_open(pool, column,
			&(struct sample){.t_ns = run->t_ns[i], .flags = run->flags[i]});
}

/* An odd lane whose samples could be those of a lane in step is in step. */
static void lane_rejoin(struct column_pool *pool, struct column *column, uint32_t lane)
{
	const struct track_run run =
		track_run_of(pool->clocks, &pool->tracks[column->odd[lane] - 1]);
	bool came = true;
	if (column->n_in_step > 0 && run.t_ns[0] != column->t_ns[column->head])
		return;
	if (run_has_windows(&run))
		return;
	if (column->n_in_step == 0) {
		column_adopt(pool, column, &run);
	} else if (!run_in_step(column, &run, true)) {
		came = false;
		if (!run_in_step(column, &run, false))
			return;
	}
	bit_set(column->in_step, lane);
	column->n_in_step++;
	if (came) {
		bit_set(column->came, lane);
		column->n_came++;
	}
	column->now[lane] = run.same;
	uint32_t i = 0;
	while (run.value && i < run.n && run.value[i] == run.same)
		i++;
	if (run.value && i < run.n) {
		row_begin(column, lane);
		memcpy(column_row(column, lane) + column->head, run.value,
			run.n * sizeof(*run.value));
	}
	odd_end(pool, column, lane);
}

void column_trim(struct column_pool *pool, struct column *column, int64_t edge_ns)
{
	/* a lane may be one instant behind: its newest sample stays */
	const uint32_t stay = column->n_came == column->n_in_step ? 1 : 2;
	while (column->head + stay < column->n && column->t_ns[column->head + 1] <= edge_ns)
		column->head++;
	for (uint32_t lane = 0; column->n_odd > 0 && lane < column->lanes; lane++) {
		struct track *track = odd_track(pool, column, lane);
		if (!track)
			continue;
		track_trim(pool->clocks, track, column->device_name, edge_ns);
		lane_rejoin(pool, column, lane);
	}
}

static void column_rewind_step(struct column *column, int64_t t_ns)
{
	uint32_t n = column->n;
	while (n > column->head && column->t_ns[n - 1] > t_ns)
		n--;
	if (n == column->n)
		return;
	for (uint32_t lane = 0; lane < column->lanes; lane++) {
		const uint64_t *row = NULL;
		if (!column_bit(column->in_step, lane))
			continue;
		if (n == column->head) {
			step_leave(column, lane);
			continue;
		}
		row = column_values(column, lane);
		if (row)
			column->now[lane] = row[n - 1];
	}
	if (column->n_in_step == 0)
		return;
	column->n = n;
	memcpy(column->came, column->in_step, words_of(column->lanes) * sizeof(*column->came));
	column->n_came = column->n_in_step;
}

void column_rewind(struct column_pool *pool, struct column *column, int64_t t_ns)
{
	column_rewind_step(column, t_ns);
	for (uint32_t lane = 0; column->n_odd > 0 && lane < column->lanes; lane++) {
		struct track *track = odd_track(pool, column, lane);
		if (!track)
			continue;
		track_rewind(pool->clocks, track, t_ns);
		if (track->n == track->head)
			odd_end(pool, column, lane);
	}
}

void column_drop(struct column_pool *pool, struct column *column, uint32_t lane)
{
	if (lane >= column->lanes)
		return;
	odd_end(pool, column, lane);
	if (column_bit(column->in_step, lane))
		step_leave(column, lane);
	column->mark[lane] = COLUMN_NO_LANE;
	column->now[lane] = 0;
	if (column->said)
		column->said[lane] = INT64_MIN;
}

void column_done(struct column_pool *pool, struct column *column)
{
	for (uint32_t lane = 0; lane < column->lanes; lane++)
		odd_end(pool, column, lane);
	free(column->now);
	free(column->said);
	free(column->t_ns);
	free(column->flags);
	free(column->values);
	free(column->row_of);
	free(column->lane_of);
}

void column_pool_trim(struct column_pool *pool, int64_t edge_ns)
{
	track_clocks_trim(pool->clocks, edge_ns);
}

void column_pool_rewind(struct column_pool *pool, int64_t t_ns)
{
	track_clocks_rewind(pool->clocks, t_ns);
}
