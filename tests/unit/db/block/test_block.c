/* What went into a block or a tail row comes out, bit for bit, whatever the shape of the series;
 * and bytes that are no block are refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <math.h>

#include <cmocka.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "db/block/bits.h"
#include "db/block/block_codec.h"
#include "db/model/metric.h"

static uint64_t rng_state;

static uint64_t rng_next(void)
{
	rng_state ^= rng_state << 13;
	rng_state ^= rng_state >> 7;
	rng_state ^= rng_state << 17;
	return rng_state * UINT64_C(0x2545f4914f6cdd1d);
}
static uint64_t rng_below(uint64_t n)
{
	return rng_next() % n;
}

/* ---- shapes of series -------------------------------------------------------- */

typedef uint64_t shape_fn(uint64_t before, uint32_t i);

static uint64_t shape_constant(uint64_t before, uint32_t i)
{
	if (i == 0)
		return rng_next() >> rng_below(64);
	return before;
}
static uint64_t shape_step(uint64_t before, uint32_t i)
{
	(void)i;
	return before + 12345;
}
static uint64_t shape_back(uint64_t before, uint32_t i)
{
	(void)i;
	return before - 7; /* through 0 */
}
static uint64_t shape_rare(uint64_t before, uint32_t i)
{
	(void)i;
	if (rng_below(40) == 0)
		return before + rng_below(1000);
	return before;
}
static uint64_t shape_busy(uint64_t before, uint32_t i)
{
	(void)i;
	return before + 400000000000 + rng_below(9000000000);
}
static uint64_t shape_cells(uint64_t before, uint32_t i)
{
	(void)before;
	(void)i;
	return rng_below(900) * 254;
}
static uint64_t shape_burst(uint64_t before, uint32_t i)
{
	if (i % 50 < 5)
		return before + rng_below(100000);
	return before;
}
static uint64_t shape_any(uint64_t before, uint32_t i)
{
	(void)before;
	(void)i;
	return rng_next();
}
static uint64_t shape_ends(uint64_t before, uint32_t i)
{
	static const uint64_t ends[] = {0, UINT64_MAX, 1, INT64_MAX, UINT64_C(1) << 63, UINT32_MAX};
	(void)before;
	(void)i;
	return ends[rng_below(rw_countof(ends))];
}
static uint64_t shape_decimal(uint64_t before, uint32_t i)
{
	(void)before;
	(void)i;
	return sample_of_f64((double)(int64_t)(rng_below(4000) - 2000) / 100);
}
static uint64_t shape_ratio(uint64_t before, uint32_t i)
{
	(void)before;
	(void)i;
	return sample_of_f64((double)rng_below(1000000) / 999983);
}
static uint64_t shape_odd_double(uint64_t before, uint32_t i)
{
	static const uint64_t odd[] = {UINT64_C(0x7ff8000000000000), UINT64_C(0x7ff0000000000001),
		UINT64_C(0xfff8000012345678), UINT64_C(0x7ff0000000000000),
		UINT64_C(0xfff0000000000000), UINT64_C(0x8000000000000000), 0, 1,
		UINT64_C(0x3ff0000000000000), UINT64_C(0x7fefffffffffffff)};
	(void)before;
	(void)i;
	return odd[rng_below(rw_countof(odd))];
}

static shape_fn *const shapes[] = {shape_constant, shape_step, shape_back, shape_rare, shape_busy,
	shape_cells, shape_burst, shape_any, shape_ends, shape_decimal, shape_ratio,
	shape_odd_double};

/* How a random block is made. */
struct recipe {
	uint32_t series, samples; /* the latter per series, at most */
	bool ragged; /* each series has its own instants */
	bool marked; /* flags, sources and windows differ */
	int64_t entity_gap;
	int64_t step_ns, jitter_ns;
};

static void recipe_mark(struct block_sample *sample)
{
	sample->source = SOURCE_SNMP;
	if (rng_below(10) == 0)
		sample->flags = (uint16_t)rng_next();
	if (rng_below(10) == 0)
		sample->source = (uint16_t)rng_next();
	if (rng_below(10) == 0)
		sample->window_ms = (uint32_t)rng_next();
}

static size_t recipe_make(const struct recipe *recipe, struct block_sample **ret)
{
	struct block_sample *v =
		rw_calloc((size_t)recipe->series * recipe->samples + 1, sizeof(*v));
	const uint64_t instants = rng_next();
	int64_t entity = (int64_t)rng_below(100);
	size_t n = 0;

	for (uint32_t s = 0; s < recipe->series; s++) {
		shape_fn *shape = shapes[rng_below(rw_countof(shapes))];
		uint32_t count = recipe->samples;
		uint64_t value = rng_next() >> rng_below(64);
		const uint64_t rest = rng_state;
		if (!recipe->ragged)
			rng_state = instants;
		else
			count = 1 + (uint32_t)rng_below(recipe->samples);
		int64_t t_ns = INT64_C(1700000000000000000);
		const size_t begin = n;
		for (uint32_t i = 0; i < count; i++) {
			t_ns += recipe->step_ns;
			if (recipe->jitter_ns)
				t_ns += (int64_t)rng_below((uint64_t)recipe->jitter_ns);
			v[n++] = (struct block_sample){.entity = entity, .t_ns = t_ns};
		}
		if (!recipe->ragged)
			rng_state = rest;
		for (size_t i = begin; i < n; i++) {
			value = shape(value, (uint32_t)(i - begin));
			v[i].value = value;
			v[i].source = SOURCE_GNMI;
			if (recipe->marked)
				recipe_mark(&v[i]);
		}
		entity += 1 + (int64_t)rng_below((uint64_t)recipe->entity_gap);
	}
	*ret = v;
	return n;
}

static const struct recipe recipes[] = {
	{1, 1, false, false, 1, 1, 0},
	{1, 1, false, true, INT64_MAX / 4, 1, 0},
	{1, 2, false, false, 1, 10000000000, 0},
	{1, 500, false, false, 1, 10000000000, 0},
	{1, 33, true, true, 1, 1000000000, 900000000},
	{3, 120, false, false, 1, 10000000000, 0},
	{3, 120, true, true, INT64_MAX / 8, 1, 1000},
	{64, 120, false, false, 9, 10000000000, 50000000},
	{64, 7, true, false, 1000000, 1000000, 1000000},
	{512, 120, false, false, 2, 10000000000, 0},
	{512, 1, false, false, 2, 10000000000, 0},
	{512, 1, true, true, 2, 10000000000, 5000000},
	{3000, 3, true, true, 5, 1000000000, 1000},
};

static void assert_same(const struct block_sample *left, const struct block_sample *right)
{
	assert_int_equal(left->entity, right->entity);
	assert_int_equal(left->t_ns, right->t_ns);
	assert_int_equal(left->value, right->value);
	assert_int_equal(left->flags, right->flags);
	assert_int_equal(left->source, right->source);
	assert_int_equal(left->window_ms, right->window_ms);
}

/* Bytes in memory of exactly their size, so that reading past the end is seen. */
static void *exact_copy(const struct str *bytes)
{
	void *copy = rw_calloc(1, bytes->n ? bytes->n : 1);
	memcpy(copy, bytes->s, bytes->n);
	return copy;
}

static void check_whole(struct block_reader *reader, const struct block_sample *v, size_t n)
{
	rw_cleanup(freep) struct block_sample *back = NULL;
	size_t n_back = 0, cap = 0;

	assert_int_equal(block_decode(reader, &back, &n_back, &cap), 0);
	assert_int_equal(n_back, n);
	for (size_t i = 0; i < n; i++)
		assert_same(&v[i], &back[i]);
}

static void check_series(struct block_reader *reader, uint32_t at, const struct block_sample *v,
	uint32_t n, int64_t from_ns, int64_t to_ns, struct arena *a)
{
	struct block_columns columns;
	uint32_t got = 0;

	assert_int_equal(block_read(reader, at, from_ns, to_ns, a, &columns), 0);
	for (uint32_t i = 0; i < n; i++) {
		if (v[i].t_ns < from_ns || v[i].t_ns > to_ns)
			continue;
		assert_true(got < columns.n);
		const struct block_sample one = {.entity = v[i].entity,
			.t_ns = columns.t_ns[got],
			.value = columns.value[got],
			.flags = columns.flags[got],
			.source = columns.source[got],
			.window_ms = columns.window_ms[got]};
		assert_same(&v[i], &one);
		got++;
	}
	assert_int_equal(got, columns.n);
	for (uint32_t i = 1; i < columns.n && columns.constant; i++)
		assert_int_equal(columns.value[i], columns.value[0]);
}

/* Each series alone, in the order of @down, whole and in a part. */
static void check_each(
	struct block_reader *reader, const struct block_sample *v, size_t n, bool down)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	uint32_t *begin = rw_calloc(n + 1, sizeof(*begin)), series = 0;

	for (size_t i = 0; i < n; i++)
		if (i == 0 || v[i].entity != v[i - 1].entity)
			begin[series++] = (uint32_t)i;
	begin[series] = (uint32_t)n;
	assert_int_equal(block_series(reader), series);
	if (down)
		block_share(reader, a);
	for (uint32_t k = 0; k < series; k += 1 + series / 40) {
		const uint32_t at = down ? series - 1 - k : k;
		const struct block_sample *first = &v[begin[at]];
		const uint32_t count = begin[at + 1] - begin[at];
		assert_int_equal(block_entity(reader, at), first->entity);
		assert_int_equal(block_from(reader, first->entity), at);
		check_series(reader, at, first, count, INT64_MIN, INT64_MAX, a);
		check_series(reader, at, first, count, first[count / 3].t_ns,
			first[count - 1 - count / 4].t_ns, a);
		check_series(reader, at, first, count, first[count / 2].t_ns + 1,
			first[count / 2].t_ns + 1, a);
	}
	block_share(reader, NULL);
	free(begin);
}

static void check_round_trip(
	const struct block_sample *v, size_t n, enum block_form form, bool is_f64)
{
	rw_cleanup(str_done) struct str bytes = {0};
	struct block_reader reader;

	assert_int_equal(block_encode(v, n, form, is_f64, &bytes), 0);
	rw_cleanup(freep) void *exact = exact_copy(&bytes);
	assert_int_equal(block_open(&reader, exact, bytes.n), 0);
	assert_int_equal(block_samples(&reader), n);
	assert_int_equal(block_is_f64(&reader), is_f64);
	check_each(&reader, v, n, false);
	check_each(&reader, v, n, true);
	check_whole(&reader, v, n);
}

static void test_round_trip(void **state)
{
	(void)state;
	for (uint64_t seed = 1; seed <= 2; seed++) {
		for (size_t i = 0; i < rw_countof(recipes); i++) {
			struct block_sample *v;
			rng_state = seed * 1000 + i + 1;
			const size_t n = recipe_make(&recipes[i], &v);
			for (unsigned k = 0; k < 4; k++)
				check_round_trip(v, n, k & 1 ? BLOCK_FAST : BLOCK_SMALL, k & 2);
			free(v);
		}
	}
}

/* Every shape alone, at every small length: a mini has 32 numbers, and forms begin at 1, 2 and 3.
 */
static void test_shapes(void **state)
{
	struct block_sample v[200];

	(void)state;
	rng_state = 77;
	for (size_t shape = 0; shape < rw_countof(shapes); shape++) {
		for (uint32_t n = 1; n <= rw_countof(v); n += 1 + n / 70 * 13) {
			uint64_t value = rng_next();
			for (uint32_t i = 0; i < n; i++) {
				value = shapes[shape](value, i);
				v[i] = (struct block_sample){
					.entity = 5, .t_ns = i * 10, .value = value};
			}
			for (unsigned k = 0; k < 4; k++)
				check_round_trip(v, n, k & 1 ? BLOCK_FAST : BLOCK_SMALL, k & 2);
		}
	}
}

static void test_ends(void **state)
{
	const struct block_sample v[] = {
		{.entity = 0, .t_ns = INT64_MIN, .value = UINT64_MAX},
		{.entity = 0, .t_ns = -1, .flags = 0xffff},
		{.entity = 0, .t_ns = INT64_MAX, .source = 0xffff, .window_ms = UINT32_MAX},
		{.entity = INT64_MAX - 1, .t_ns = 0},
		{.entity = INT64_MAX, .t_ns = 0, .value = 1},
	};

	(void)state;
	check_round_trip(v, 0, BLOCK_SMALL, false);
	check_round_trip(v, 0, BLOCK_FAST, true);
	for (unsigned k = 0; k < 4; k++)
		check_round_trip(v, rw_countof(v), k & 1 ? BLOCK_FAST : BLOCK_SMALL, k & 2);
}

static void test_order_is_checked(void **state)
{
	const struct block_sample twice[] = {{.entity = 1, .t_ns = 5}, {.entity = 1, .t_ns = 5}};
	const struct block_sample back[] = {{.entity = 2, .t_ns = 5}, {.entity = 1, .t_ns = 6}};
	const struct block_sample below[] = {{.entity = -1, .t_ns = 5}};
	rw_cleanup(str_done) struct str out = {0};

	(void)state;
	assert_int_equal(block_encode(twice, 2, BLOCK_SMALL, false, &out), -EINVAL);
	assert_int_equal(block_encode(back, 2, BLOCK_FAST, false, &out), -EINVAL);
	assert_int_equal(block_encode(below, 1, BLOCK_FAST, false, &out), -EINVAL);
	assert_int_equal(out.n, 0);
}

/* Idle counters: 120 instants of 512 series that do not move. */
static void test_idle_is_small(void **state)
{
	enum { SERIES = 512, INSTANTS = 120 };
	static struct block_sample v[SERIES * INSTANTS];
	const size_t n = rw_countof(v);
	rw_cleanup(str_done) struct str out = {0};

	(void)state;
	for (size_t i = 0; i < n; i++)
		v[i] = (struct block_sample){1000 + (int64_t)i / INSTANTS,
			INT64_C(1700000000000000000) + (int64_t)(i % INSTANTS) * 10000000000,
			i / INSTANTS % 3 ? 0 : i / INSTANTS * UINT64_C(0x9e3779b97f)};
	assert_int_equal(block_encode(v, n, BLOCK_SMALL, false, &out), 0);
	print_message("%.4f bytes per sample of an idle counter\n", (double)out.n / (double)n);
	assert_true((double)out.n < 0.1 * (double)n);
}

static void read_all(const void *data, size_t size)
{
	rw_cleanup(freep) struct block_sample *back = NULL;
	size_t n = 0, cap = 0;
	struct block_reader reader;

	if (block_open(&reader, data, size) == 0)
		block_decode(&reader, &back, &n, &cap);
}

static void sum_again(uint8_t *bytes, size_t n)
{
	const uint32_t sum = htole32(bits_sum(bytes, n - BITS_SUM));
	memcpy(bytes + n - BITS_SUM, &sum, sizeof(sum));
}

/* Every byte changed, every length cut: a sealed block says so; and no crash (under sanitizers)
 * where the sum was made to agree. */
static void test_broken_bytes(void **state)
{
	const struct recipe recipe = {9, 40, true, true, 7, 1000000, 1000000};
	struct block_sample *v;

	(void)state;
	rng_state = 99;
	const size_t n = recipe_make(&recipe, &v);
	for (unsigned k = 0; k < 4; k++) {
		rw_cleanup(str_done) struct str bytes = {0};
		struct block_reader reader;
		assert_int_equal(
			block_encode(v, n, k & 1 ? BLOCK_FAST : BLOCK_SMALL, k & 2, &bytes), 0);
		for (size_t cut = 0; cut < bytes.n; cut += 1 + cut / 64) {
			const struct str part = {.s = bytes.s, .n = cut};
			rw_cleanup(freep) void *exact = exact_copy(&part);
			read_all(exact, cut);
			if (cut < 20)
				assert_int_equal(block_open(&reader, exact, cut), -EBADMSG);
		}
		rw_cleanup(freep) uint8_t *exact = exact_copy(&bytes);
		for (size_t i = 0; i < bytes.n; i++) {
			const uint8_t before = exact[i];
			exact[i] ^= (uint8_t)(1 + rng_below(255));
			if (exact[0] == 2)
				assert_int_equal(block_open(&reader, exact, bytes.n), -EBADMSG);
			if (!(k & 1) && i < bytes.n - BITS_SUM)
				sum_again(exact, bytes.n);
			read_all(exact, bytes.n);
			exact[i] = before;
			if (!(k & 1))
				sum_again(exact, bytes.n);
		}
	}
	free(v);
}

static void test_tail(void **state)
{
	const struct recipe recipe = {40, 2, true, true, 7, 1000000, 1000000};
	struct tail_segment segments[30];
	struct tail_reader tail;
	rw_cleanup(str_done) struct str bytes = {0};
	struct block_reader reader;

	(void)state;
	rng_state = 3;
	for (uint32_t i = 0; i < rw_countof(segments); i++) {
		struct block_sample *v;
		const size_t n = recipe_make(&recipe, &v);
		segments[i] = (struct tail_segment){
			.metric = 3 * i + 1, .is_f64 = i % 5 == 0, .samples = v, .n = n};
	}
	assert_int_equal(tail_encode(segments, rw_countof(segments), &bytes), 0);
	rw_cleanup(freep) void *exact = exact_copy(&bytes);
	assert_int_equal(tail_open(&tail, exact, bytes.n), 0);
	assert_int_equal(tail_metrics(&tail), rw_countof(segments));
	for (uint32_t i = 0; i < rw_countof(segments); i++) {
		assert_int_equal(tail_metric_number(&tail, i), segments[i].metric);
		assert_int_equal(tail_find(&tail, segments[i].metric), i);
		assert_int_equal(tail_find(&tail, segments[i].metric + 1), -1);
		assert_int_equal(tail_metric(&tail, i, NULL, &reader), 0);
		check_whole(&reader, segments[i].samples, segments[i].n);
	}
	for (size_t cut = 0; cut < 40; cut++) {
		const struct str part = {.s = bytes.s, .n = cut};
		rw_cleanup(freep) void *less = exact_copy(&part);
		assert_int_equal(tail_open(&tail, less, cut), -EBADMSG);
	}
	uint8_t *byte = exact;
	for (size_t i = 0; i < bytes.n; i += 7) {
		byte[i] ^= (uint8_t)(1 << i % 8);
		assert_int_equal(tail_open(&tail, exact, bytes.n), -EBADMSG);
		byte[i] ^= (uint8_t)(1 << i % 8);
	}
	segments[3].metric = segments[2].metric;
	const size_t before = bytes.n;
	assert_int_equal(tail_encode(segments, rw_countof(segments), &bytes), -EINVAL);
	assert_int_equal(bytes.n, before);
	for (size_t i = 0; i < rw_countof(segments); i++)
		free((void *)(uintptr_t)segments[i].samples);
}

/* Ten bytes hold 70 bits: a number that needs more than 64 is none. */
static void test_long_numbers(void **state)
{
	uint8_t most[10], more[10], endless[12];
	struct bytes bytes;
	memset(endless, 0x80, sizeof(endless));
	memset(most, 0xff, sizeof(most));
	most[9] = 1;
	bytes = bytes_of(most, sizeof(most));
	assert_true(bits_uvar(&bytes) == UINT64_MAX);
	assert_false(bytes.bad);
	memcpy(more, most, sizeof(more));
	more[9] = 2;
	bytes = bytes_of(more, sizeof(more));
	bits_uvar(&bytes);
	assert_true(bytes.bad);
	bytes = bytes_of(endless, sizeof(endless));
	bits_uvar(&bytes);
	assert_true(bytes.bad);
}

enum { GRID_SERIES = 21, GRID_ROWS = 37 };

/* A row of the samples @v[0], @v[GRID_ROWS] and so on, behind another metric. */
static void *grid_row(const struct block_sample *v, bool is_f64, struct tail_reader *ret)
{
	struct block_sample row[GRID_SERIES];
	const struct tail_segment segments[] = {{.metric = 3, .samples = row, .n = 2},
		{.metric = 9, .is_f64 = is_f64, .samples = row, .n = GRID_SERIES}};
	rw_cleanup(str_done) struct str bytes = {0};

	for (size_t i = 0; i < GRID_SERIES; i++)
		row[i] = v[i * GRID_ROWS];
	assert_int_equal(tail_encode(segments, rw_countof(segments), &bytes), 0);
	uint8_t *exact = exact_copy(&bytes);
	assert_int_equal(tail_open(ret, exact, bytes.n), 0);
	for (size_t i = 0; i < bytes.n; i += 1 + rng_below(9)) { /* what is damaged does no harm */
		struct tail_grid grid = {0};
		struct block_matrix matrix;
		struct tail_reader tail;
		exact[i] ^= (uint8_t)(1 + rng_below(255));
		sum_again(exact, bytes.n);
		if (tail_open(&tail, exact, bytes.n) == 0 && tail_metrics(&tail) > 1 &&
			tail_grid_add(&grid, &tail, 1))
			tail_grid_matrix(&grid, &matrix);
		tail_grid_done(&grid);
		memcpy(exact, bytes.s, bytes.n);
	}
	return exact;
}

/* Rows side by side give the bytes that their samples, sorted, give. */
static void check_grid(const struct block_sample *v, bool is_f64)
{
	struct tail_reader tails[GRID_ROWS];
	void *rows[GRID_ROWS];
	struct tail_grid grid = {0};
	struct block_matrix matrix;
	rw_cleanup(str_done) struct str sorted = {0}, columns = {0};

	for (size_t i = 0; i < GRID_ROWS; i++) {
		rows[i] = grid_row(v + i, is_f64, &tails[i]);
		assert_true(tail_grid_add(&grid, &tails[i], 1));
		assert_false(tail_grid_add(&grid, &tails[i], 1)); /* one instant twice */
		assert_false(tail_grid_add(&grid, &tails[i], 0)); /* other series */
	}
	assert_true(tail_grid_matrix(&grid, &matrix));
	assert_int_equal(
		block_encode(v, (size_t)GRID_SERIES * GRID_ROWS, BLOCK_SMALL, is_f64, &sorted), 0);
	assert_int_equal(block_encode_matrix(&matrix, is_f64, &columns), 0);
	assert_int_equal(columns.n, sorted.n);
	assert_memory_equal(columns.s, sorted.s, sorted.n);
	tail_grid_done(&grid);
	for (size_t i = 0; i < GRID_ROWS; i++)
		free(rows[i]);
}

static void test_grid(void **state)
{
	struct block_sample v[GRID_SERIES * GRID_ROWS];
	struct tail_grid grid = {0};
	struct tail_reader tail;

	(void)state;
	rng_state = 41;
	for (unsigned k = 0; k < 4; k++) {
		for (uint32_t i = 0; i < rw_countof(v); i++)
			v[i] = (struct block_sample){
				.entity = 7 + i / GRID_ROWS * (k < 2 ? 2 : i / GRID_ROWS + 1),
				.t_ns = 1000 + (int64_t)(i % GRID_ROWS) * (10 + k) +
					i % GRID_ROWS % 3,
				.value = shapes[i / GRID_ROWS % rw_countof(shapes)](
					i % GRID_ROWS ? v[i - 1].value : 0, i % GRID_ROWS),
				.flags = k < 2 ? 0 : 4};
		check_grid(v, k & 1);
	}
	for (unsigned k = 0; k < 2; k++) { /* with an exception, and then with two instants */
		v[GRID_ROWS].flags = k ? 4 : 5;
		v[GRID_ROWS].t_ns += k;
		void *row = grid_row(v, false, &tail);
		assert_false(tail_grid_add(&grid, &tail, 1));
		free(row);
	}
	tail_grid_done(&grid);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_long_numbers),
		cmocka_unit_test(test_shapes),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_order_is_checked),
		cmocka_unit_test(test_idle_is_small),
		cmocka_unit_test(test_broken_bytes),
		cmocka_unit_test(test_tail),
		cmocka_unit_test(test_grid),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
