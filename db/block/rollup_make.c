/* rollup_make - see rollup_codec.h. A series that stands still, as most do, is gone through without
 * arithmetic on rates. */
#include "db/block/rollup_codec.h"

#include "db/model/metric.h"

/* Keeps its memory. */
static void rollup_list_clear(struct rollup_list *list)
{
	for (size_t i = 0; i < list->n; i++)
		rollup_sketch_done(&list->v[i].sketch);
	list->n = 0;
}

void rollup_list_done(struct rollup_list *list)
{
	rollup_list_clear(list);
	free(list->v);
	*list = (struct rollup_list){0};
}

static struct rollup_bucket *rollup_list_next(struct rollup_list *list, int64_t entity)
{
	rw_grow(list->v, list->n, list->cap);
	list->v[list->n] = (struct rollup_bucket){.entity = entity};
	return &list->v[list->n++];
}

static struct sample rollup_sample(unsigned metric, const struct block_sample *sample)
{
	return (struct sample){.t_ns = sample->t_ns,
		.value = sample->value,
		.window_ms = sample->window_ms,
		.metric = (uint16_t)metric,
		.flags = sample->flags,
		.source = sample->source};
}

static void rollup_close(struct rollup_track *track, int64_t entity, int64_t step, int64_t step_ns,
	struct rollup_list *ret)
{
	struct rollup_bucket *bucket = rollup_list_next(ret, entity);
	const int64_t from_ns = step * step_ns;

	if (!rollup_track_close_sketch(
		    track, from_ns, from_ns + step_ns, &bucket->rollup, &bucket->sketch))
		ret->n--;
}

/* ---- the ordinary case ----------------------------------------------------------- */

/* A series without flags, and without a step back where it counts: nearly all of them. What the
 * rules of rollup_track_add() come to then, without their bookkeeping. */
struct rollup_plain {
	const struct metric_info *info;
	unsigned metric;
	int64_t step_ns;
	const struct block_sample *before; /* NULL: none yet */
	int64_t spacing_ns;
	struct rollup_bucket *now; /* NULL: none yet */
};

static bool rollup_is_plain(unsigned metric, const struct block_sample *v, size_t n)
{
	const struct metric_info *info = metric_info(metric);
	unsigned flags = 0;
	bool back = false;

	for (size_t i = 0; i < n; i++) {
		flags |= v[i].flags;
		if (i > 0 && v[i].value < v[i - 1].value)
			back = true;
	}
	if (flags || info->type == TYPE_TEXT)
		return false;
	return info->kind != METRIC_COUNTER || (!back && info->type == TYPE_U64);
}

/* As long as all numbers are equal there is no sketch. */
static void rollup_plain_number(struct rollup *now, struct rollup_sketch *sketch, double number)
{
	if (isnan(number))
		return;
	if (now->numbers == 0) {
		now->min = now->max = number;
		now->sum = 0;
	}
	if (now->min == now->max && number != now->min)
		for (uint32_t i = 0; i < now->numbers; i++)
			rollup_sketch_add(sketch, now->min);
	now->min = fmin(now->min, number);
	now->max = fmax(now->max, number);
	now->sum += number;
	now->numbers++;
	if (now->min < now->max)
		rollup_sketch_add(sketch, number);
}

static void rollup_plain_time(struct rollup_plain *plain, int64_t ns)
{
	struct rollup *now = &plain->now->rollup;

	if (ns > now->longest_ns)
		now->longest_ns = ns;
	if (rollup_spacing(&plain->spacing_ns, ns))
		now->seen_ns += ns;
	if (now->seen_ns > plain->step_ns)
		now->seen_ns = plain->step_ns;
}

static void rollup_plain_interval(struct rollup_plain *plain, const struct block_sample *sample)
{
	struct rollup *now = &plain->now->rollup;
	const uint64_t delta = sample->value - plain->before->value;
	const int64_t ns = sample->t_ns - plain->before->t_ns;

	now->increase += delta;
	now->covered_ns += ns;
	now->intervals++;
	rollup_plain_number(now, &plain->now->sketch, (double)delta / ((double)ns / NS_PER_S));
}

static void rollup_plain_add(
	struct rollup_plain *plain, const struct block_sample *sample, struct rollup_list *ret)
{
	const int64_t from_ns = rollup_step_of(sample->t_ns, plain->step_ns) * plain->step_ns;

	if (!plain->now || plain->now->rollup.from_ns != from_ns) {
		plain->now = rollup_list_next(ret, sample->entity);
		plain->now->rollup = (struct rollup){.from_ns = from_ns,
			.to_ns = from_ns + plain->step_ns,
			.metric = (uint16_t)plain->metric,
			.first = sample->value,
			.first_ns = sample->t_ns,
			.min = NAN,
			.max = NAN,
			.sum = NAN};
	}
	struct rollup *now = &plain->now->rollup;
	now->count++;
	now->last = sample->value;
	now->last_ns = sample->t_ns;
	if (plain->before)
		rollup_plain_time(plain, sample->t_ns - plain->before->t_ns);
	if (plain->info->kind != METRIC_COUNTER)
		rollup_plain_number(
			now, &plain->now->sketch, sample_number(plain->metric, sample->value));
	else if (plain->before)
		rollup_plain_interval(plain, sample);
	plain->before = sample;
}

/* ---- any case -------------------------------------------------------------------- */

static void rollup_make_track(unsigned metric, const struct block_sample *v, size_t n,
	int64_t from_ns, int64_t step_ns, struct rollup_list *ret)
{
	struct rollup_track *track = rollup_track_new(0, (uint16_t)metric);
	int64_t step = INT64_MIN;

	for (size_t i = 0; i < n; i++) {
		const struct sample sample = rollup_sample(metric, &v[i]);
		if (sample.t_ns <= from_ns) {
			rollup_track_anchor(track, &sample);
			continue;
		}
		const int64_t at = rollup_step_of(sample.t_ns, step_ns);
		if (at != step && step != INT64_MIN)
			rollup_close(track, v[i].entity, step, step_ns, ret);
		step = at;
		rollup_track_add(track, &sample);
	}
	if (step != INT64_MIN)
		rollup_close(track, v[0].entity, step, step_ns, ret);
	rollup_track_free(track);
}

/* The last usable sample up to @from_ns; 0 when there is none. */
static size_t rollup_anchor(const struct block_sample *v, size_t n, int64_t from_ns)
{
	size_t at = 0;

	for (size_t i = 0; i < n && v[i].t_ns <= from_ns; i++)
		if (!(v[i].flags & (SF_LATE | SF_SUSPECT)))
			at = i;
	return at;
}

void rollup_make(unsigned metric, const struct block_sample *v, size_t n, int64_t from_ns,
	int64_t step_ns, struct rollup_list *ret)
{
	struct rollup_plain plain = {
		.info = metric_info(metric), .metric = metric, .step_ns = step_ns};
	const size_t begin = rollup_anchor(v, n, from_ns);

	if (n == 0 || v[n - 1].t_ns <= from_ns)
		return;
	if (!rollup_is_plain(metric, v + begin, n - begin)) {
		rollup_make_track(metric, v + begin, n - begin, from_ns, step_ns, ret);
		return;
	}
	for (size_t i = begin; i < n; i++) {
		if (v[i].t_ns <= from_ns)
			plain.before = &v[i];
		else
			rollup_plain_add(&plain, &v[i], ret);
	}
}

void rollup_coarser(
	const struct rollup_bucket *v, size_t n, int64_t step_ns, struct rollup_list *ret)
{
	struct rollup_bucket *now = NULL;

	for (size_t i = 0; i < n; i++) {
		const int64_t step = rollup_step_of(v[i].rollup.to_ns, step_ns);
		const bool same =
			now && now->entity == v[i].entity && now->rollup.from_ns == step * step_ns;
		if (!same) {
			now = rollup_list_next(ret, v[i].entity);
			now->rollup = v[i].rollup;
		} else {
			rollup_merge(&now->rollup, &v[i].rollup);
		}
		now->rollup.from_ns = step * step_ns;
		now->rollup.to_ns = now->rollup.from_ns + step_ns;
		if (v[i].sketch.n > 0)
			rollup_sketch_merge(&now->sketch, &v[i].sketch);
		else if (v[i].rollup.numbers > 0) /* equal numbers */
			rollup_sketch_add_bin(&now->sketch, rollup_sketch_key(v[i].rollup.min),
				v[i].rollup.numbers);
	}
}

/* ---- all series of a metric at once --------------------------------------------------- */

/* What the series have in common: the instants, which minute each is in, and what follows from
 * them. */
struct rollup_table {
	const struct block_matrix *matrix;
	const struct metric_info *info;
	unsigned metric;
	int64_t from_ns;
	uint32_t first; /* the instant that the first increase counts from, or the first of the hour
			 */
	uint32_t begin; /* the first instant of the hour */
	uint32_t n_minutes; /* the first buckets of the list: of a series that stands still at 0 */
	struct rollup hour; /* the same */
	bool plain, few; /* no flags; numbers of each minute that can be cut short */
	double *seconds; /* to each instant from the one before */
};

void rollup_made_clear(struct rollup_made *made)
{
	rollup_list_clear(&made->minutes);
	rollup_list_clear(&made->hours);
	made->n_series = 0;
}

void rollup_made_done(struct rollup_made *made)
{
	rollup_list_done(&made->minutes);
	rollup_list_done(&made->hours);
	free(made->series);
	free(made->numbers);
	free(made->samples);
	*made = (struct rollup_made){0};
}

/* What all buckets say of time. */
static void table_minutes(struct rollup_table *table, struct rollup_list *ret)
{
	const struct block_matrix *matrix = table->matrix;
	struct rollup_plain plain = {
		.info = table->info, .metric = table->metric, .step_ns = ROLLUP_MINUTE_NS};
	rw_cleanup(freep) struct block_sample *v = rw_calloc(matrix->n, sizeof(*v));

	for (uint32_t i = table->first; i < matrix->n; i++) {
		v[i].t_ns = matrix->t_ns[i];
		if (i < table->begin)
			plain.before = &v[i];
		else
			rollup_plain_add(&plain, &v[i], ret);
	}
	table->n_minutes = (uint32_t)ret->n;
	table->few = true;
	for (size_t i = 0; i < ret->n; i++)
		table->few = table->few && ret->v[i].rollup.count <= ROLLUP_SHORT_MAX;
	table->hour = ret->v[0].rollup;
	for (size_t i = 1; i < ret->n; i++)
		rollup_merge(&table->hour, &ret->v[i].rollup);
	table->hour.from_ns = table->from_ns;
	table->hour.to_ns = table->from_ns + ROLLUP_HOUR_NS;
	for (uint32_t i = table->first + 1; i < matrix->n; i++)
		table->seconds[i] = (double)(matrix->t_ns[i] - matrix->t_ns[i - 1]) / NS_PER_S;
}

/* Does a counter step back, or is a number of a gauge none that minutes cut short can say? */
static bool column_is_odd(const struct rollup_table *table, const uint64_t *value)
{
	const bool counter = table->info->kind == METRIC_COUNTER;
	bool odd = !table->plain || !table->few;

	for (uint32_t i = table->first + 1; i < table->matrix->n && counter; i++)
		odd |= value[i] < value[i - 1];
	for (uint32_t i = table->begin; i < table->matrix->n && !counter; i++)
		odd |= !(fabs(sample_number(table->metric, value[i])) < 1e300);
	return odd;
}

static bool column_stands(const struct rollup_table *table, const uint64_t *value)
{
	uint64_t any = 0;

	for (uint32_t i = table->first; i < table->matrix->n; i++)
		any |= value[i] ^ value[table->first];
	return any == 0;
}

/* A series that is not plain goes the way of its samples. */
static void column_odd(const struct rollup_table *table, uint32_t i, const uint64_t *value,
	struct rollup_made *ret)
{
	const struct block_matrix *matrix = table->matrix;
	const size_t first = ret->minutes.n;

	if (matrix->n > ret->cap_samples) {
		ret->cap_samples = matrix->n;
		ret->samples = rw_realloc(ret->samples, matrix->n * sizeof(*ret->samples));
	}
	for (uint32_t k = 0; k < matrix->n; k++)
		ret->samples[k] = (struct block_sample){.entity = matrix->entity[i],
			.t_ns = matrix->t_ns[k],
			.value = value[k],
			.window_ms = matrix->window_ms,
			.flags = matrix->flags,
			.source = matrix->source};
	rollup_make(table->metric, ret->samples, matrix->n, table->from_ns, ROLLUP_MINUTE_NS,
		&ret->minutes);
	rollup_coarser(ret->minutes.v + first, ret->minutes.n - first, ROLLUP_HOUR_NS, &ret->hours);
}

static struct rollup_bucket *column_hour(const struct rollup_table *table, uint32_t i,
	const uint64_t *value, struct rollup_made *ret)
{
	struct rollup_bucket *hour = rollup_list_next(&ret->hours, table->matrix->entity[i]);

	hour->rollup = table->hour;
	hour->rollup.first = value[table->begin];
	hour->rollup.last = value[table->matrix->n - 1];
	return hour;
}

/* The numbers of the hour: values, or rates. */
static void column_numbers(const struct rollup_table *table, const uint64_t *value, double *ret)
{
	uint32_t at = table->begin;

	if (table->info->kind != METRIC_COUNTER) {
		for (uint32_t i = at; i < table->matrix->n; i++)
			*ret++ = sample_number(table->metric, value[i]);
		return;
	}
	if (table->first == at)
		at++;
	for (uint32_t i = at; i < table->matrix->n; i++)
		*ret++ = (double)(value[i] - value[i - 1]) / table->seconds[i];
}

/* .min, .max and .sum of the next numbers. */
static void bucket_numbers(struct rollup *rollup, const double *numbers)
{
	double min = INFINITY, max = -INFINITY, sum = 0;

	if (rollup->numbers == 0)
		return;
	for (uint32_t i = 0; i < rollup->numbers; i++) {
		min = fmin(min, numbers[i]);
		max = fmax(max, numbers[i]);
		sum += numbers[i];
	}
	rollup->min = min;
	rollup->max = max;
	rollup->sum = sum;
}

/* rollup_merge() of the numbers of the next minute. */
static void hour_numbers(struct rollup *hour, const struct rollup *minute)
{
	if (minute->numbers == 0)
		return;
	if (isnan(hour->sum))
		hour->sum = 0;
	hour->min = fmin(hour->min, minute->min);
	hour->max = fmax(hour->max, minute->max);
	hour->sum += minute->sum;
}

static void column_moves(const struct rollup_table *table, uint32_t i, const uint64_t *value,
	struct rollup_made *ret)
{
	struct rollup_bucket *hour = column_hour(table, i, value, ret);
	struct rollup *all = &hour->rollup;
	const bool counter = table->info->kind == METRIC_COUNTER;
	uint32_t at = table->begin;
	uint64_t before = value[table->first];
	const double *numbers = ret->numbers;

	column_numbers(table, value, ret->numbers);
	all->min = all->max = all->sum = NAN;
	for (uint32_t m = 0; m < table->n_minutes; m++) {
		struct rollup_bucket *bucket = rollup_list_next(&ret->minutes, hour->entity);
		struct rollup *now = &bucket->rollup;
		*now = ret->minutes.v[m].rollup;
		now->first = value[at];
		at += now->count;
		now->last = value[at - 1];
		if (counter)
			now->increase = now->last - before;
		before = now->last;
		bucket_numbers(now, numbers);
		numbers += now->numbers;
		hour_numbers(all, now);
	}
	if (counter)
		all->increase = before - value[table->first];
	if (all->min < all->max)
		rollup_sketch_bins(&hour->sketch, ret->numbers, all->numbers, all->min, all->max);
}

static void matrix_series(const struct rollup_table *table, uint32_t i, struct rollup_made *ret)
{
	const uint64_t *value = table->matrix->value + i * table->matrix->stride;
	struct rollup_series series = {
		.entity = table->matrix->entity[i], .first = ret->minutes.n, .n = table->n_minutes};

	if (table->plain && table->info->kind == METRIC_COUNTER && column_stands(table, value)) {
		series.stands = true;
		series.first = 0;
		series.value = value[table->begin];
		column_hour(table, i, value, ret);
	} else if (column_is_odd(table, value)) {
		column_odd(table, i, value, ret);
		series.n = (uint32_t)(ret->minutes.n - series.first);
	} else {
		column_moves(table, i, value, ret);
	}
	rw_grow(ret->series, ret->n_series, ret->cap_series);
	ret->series[ret->n_series++] = series;
}

void rollup_make_matrix(unsigned metric, const struct block_matrix *matrix, int64_t from_ns,
	struct rollup_made *ret)
{
	const struct metric_info *info = metric_info(metric);
	struct rollup_table table = {.matrix = matrix,
		.info = info,
		.metric = metric,
		.from_ns = from_ns,
		.plain =
			!matrix->flags && (info->kind != METRIC_COUNTER || info->type == TYPE_U64)};

	rollup_made_clear(ret);
	while (table.begin < matrix->n && matrix->t_ns[table.begin] <= from_ns)
		table.begin++;
	if (table.begin == matrix->n)
		return;
	if (table.begin > 0)
		table.first = table.begin - 1;
	if (2 * (size_t)matrix->n > ret->cap_numbers) {
		ret->cap_numbers = 2 * (size_t)matrix->n;
		ret->numbers = rw_realloc(ret->numbers, ret->cap_numbers * sizeof(*ret->numbers));
	}
	table.seconds = ret->numbers + matrix->n;
	table_minutes(&table, &ret->minutes);
	for (uint32_t i = 0; i < matrix->n_series; i++)
		matrix_series(&table, i, ret);
}
