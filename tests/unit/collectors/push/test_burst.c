/* burst: what was kept comes back; the ring stays in its memory and says for how long it holds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collectors/push/burst.h"

#define MS INT64_C(1000000)
#define T0 INT64_C(1790000000000000000)
#define RING ((size_t)8 << 20)

static uint64_t seed;

static uint64_t noise(uint64_t most)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % most;
}

/* ---- columns ----------------------------------------------------------------- */

static void column_there_and_back(const uint64_t *v, size_t n, size_t bytes_most)
{
	struct burst_bits out = {0};
	uint64_t back[BURST_COLUMN_MAX];
	burst_put_column(&out, v, n);
	assert_true(out.n <= bytes_most);
	struct bytes in = bytes_of(out.v, out.n);
	assert_true(burst_get_column(&in, back, n));
	assert_int_equal(bytes_left(&in), 0);
	assert_memory_equal(v, back, n * sizeof(*v));
	for (size_t cut = 0; cut < out.n; cut += 1 + out.n / 40) {
		in = bytes_of(out.v, cut);
		assert_false(burst_get_column(&in, back, n));
	}
	free(out.v);
}

static void columns_come_back(void **state)
{
	uint64_t v[256] = {0};
	column_there_and_back(v, 256, 2); /* a counter that stands still */
	for (size_t i = 0; i < 256; i++)
		v[i] = (uint64_t)T0 + i * MS;
	column_there_and_back(v, 256, 1 + 9 + 4); /* times */
	for (size_t i = 1; i < 256; i++)
		v[i] = v[i - 1] + (i % 50 == 0);
	column_there_and_back(v, 256, 1 + 9 + 1 + 10); /* few pauses */
	for (size_t i = 1; i < 256; i++)
		v[i] = v[i - 1] + 50000000 + noise(4096);
	column_there_and_back(v, 256, 256 * 14 / 8 + 16); /* a busy port: 12 bits of noise */
	for (size_t i = 1; i < 256; i++)
		v[i] = v[i - 1] + (11900 + noise(64)) * 4178;
	column_there_and_back(v, 256, 256 + 24); /* 6 bits: frames that are all as large */
	for (size_t i = 1; i < 256; i++)
		v[i] = v[i - 1] - 3000 * noise(3);
	column_there_and_back(v, 256, 256 * 4 / 8 + 24); /* a fill level in cells */
	for (size_t i = 0; i < 256; i++)
		v[i] = noise(UINT32_MAX) << 32 | noise(UINT32_MAX);
	column_there_and_back(v, 256, 256 * 11 + 16); /* nothing in common */
	for (size_t i = 0; i < 256; i++)
		v[i] = UINT64_MAX - 100 + i; /* it begins anew from 0 */
	column_there_and_back(v, 256, 16);
	v[100] = 0;
	v[101] = UINT64_MAX;
	column_there_and_back(v, 256, 256 * 11 + 16);
	column_there_and_back(v + 100, 1, 11);
}

/* ---- the ring ---------------------------------------------------------------- */

enum { PORTS = 64, STATS = 8 };

/* 64 ports with 8 counters: octets and packets both ways, PFC both ways, discards, marks. @busy
 * ports carry traffic whose amount differs from tick to tick. */
struct model {
	struct burst_field fields[PORTS * STATS];
	uint64_t v[PORTS * STATS];
	unsigned busy;
};

static void model_make(struct model *model, unsigned busy)
{
	static const uint32_t stats[STATS] = {0, 9, 1, 10, 109, 110, 3, 70};
	memset(model, 0, sizeof(*model));
	model->busy = busy;
	for (uint32_t p = 0; p < PORTS; p++)
		for (uint32_t s = 0; s < STATS; s++)
			model->fields[p * STATS + s] = (struct burst_field){1, stats[s], p + 1};
}

static void model_tick(struct model *model, int64_t tick)
{
	for (uint32_t p = 0; p < model->busy; p++) {
		uint64_t *v = &model->v[p * STATS];
		const uint64_t in = 11900 + noise(64), sent = 11900 + noise(64);
		v[0] += in * 4178;
		v[1] += sent * 4178;
		v[2] += in;
		v[3] += sent;
		v[4] += tick % 1000 < 20; /* a pause now and then */
		v[7] += tick % 1000 < 20 ? noise(100) : 0;
	}
}

static void ring_fill(struct burst *burst, struct model *model, int64_t from, int64_t to)
{
	size_t stride;
	const uint32_t group = burst_group(burst, model->fields, PORTS * STATS);
	assert_true(group < BURST_GROUPS);
	for (int64_t tick = from; tick < to; tick++) {
		model_tick(model, tick);
		uint64_t *row = burst_row(burst, group, T0 + tick * MS, &stride);
		assert_non_null(row);
		for (size_t i = 0; i < PORTS * STATS; i++)
			row[i * stride] = model->v[i];
	}
}

struct sums {
	uint64_t values, last[PORTS * STATS];
	int64_t from_ns, to_ns;
};

static void sums_add(void *arg, const struct burst_field *field, const int64_t *t_ns,
	const uint64_t *values, size_t n)
{
	static const uint32_t stats[STATS] = {0, 9, 1, 10, 109, 110, 3, 70};
	struct sums *sums = arg;
	size_t s = 0;
	while (stats[s] != field->stat)
		s++;
	if (!sums->values || t_ns[0] < sums->from_ns)
		sums->from_ns = t_ns[0];
	if (t_ns[n - 1] > sums->to_ns)
		sums->to_ns = t_ns[n - 1];
	sums->values += n;
	sums->last[(field->object - 1) * STATS + s] = values[n - 1];
}

static void ring_holds_a_minute(void **state)
{
	static struct model model;
	struct burst_span span;
	struct burst *burst = burst_new(RING);
	model_make(&model, 8); /* an incast: eight busy ports of 64 */
	ring_fill(burst, &model, 0, 61000);
	burst_span(burst, &span);
	assert_true(span.bytes <= RING);
	assert_true(span.to_ns - span.from_ns >= 60000 * MS - MS);
	assert_int_equal(span.dropped, 0);
	assert_int_equal(span.values, UINT64_C(61000) * PORTS * STATS);
	uint8_t *data;
	struct sums sums = {0};
	const size_t n = burst_write(burst, INT64_MIN, INT64_MAX, &data);
	assert_int_equal(burst_read(data, n, sums_add, &sums), 0);
	assert_int_equal(sums.values, UINT64_C(61000) * PORTS * STATS);
	assert_memory_equal(sums.last, model.v, sizeof(model.v));
	assert_int_equal(sums.from_ns, T0);
	assert_int_equal(sums.to_ns, T0 + 60999 * MS);
	assert_int_equal(burst_read(data, n - 1, sums_add, &sums), -EBADMSG);
	free(data);
	burst_free(burst);
}

/* Data that does not compress: fewer seconds, the memory stays. */
static void ring_keeps_fewer_seconds(void **state)
{
	static struct model model;
	struct burst_span span;
	struct burst *burst = burst_new(RING / 8);
	size_t stride;
	model_make(&model, 0);
	const uint32_t group = burst_group(burst, model.fields, 64);
	for (int64_t tick = 0; tick < 20000; tick++) {
		uint64_t *row = burst_row(burst, group, T0 + tick * MS, &stride);
		for (size_t i = 0; i < 64; i++)
			row[i * stride] = noise(UINT32_MAX) << 20 ^ noise(UINT32_MAX);
	}
	burst_span(burst, &span);
	assert_true(span.bytes <= RING / 8);
	assert_true(span.dropped > 0);
	assert_int_equal(span.to_ns, T0 + 19999 * MS);
	assert_in_range(span.to_ns - span.from_ns, 1000 * MS, 6000 * MS);
	burst_free(burst);
}

static void ring_takes_no_disorder(void **state)
{
	const struct burst_field field = {1, 0, 1};
	struct burst_span span;
	size_t stride;
	struct burst *burst = burst_new(RING);
	const uint32_t group = burst_group(burst, &field, 1);
	assert_int_equal(burst_group(burst, &field, 1), group);
	assert_non_null(burst_row(burst, group, T0, &stride));
	assert_null(burst_row(burst, group, T0, &stride)); /* twice */
	assert_null(burst_row(burst, group, T0 - MS, &stride));
	assert_null(burst_row(burst, BURST_NONE, T0 + MS, &stride));
	burst_span(burst, &span);
	assert_int_equal(span.records, 1);
	assert_int_equal(span.disorder, 2);
	uint8_t *data;
	assert_int_equal(burst_write(burst, T0 + 1, T0 + 2, &data), 0);
	assert_null(data);
	burst_free(burst);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(columns_come_back),
		cmocka_unit_test(ring_holds_a_minute),
		cmocka_unit_test(ring_keeps_fewer_seconds),
		cmocka_unit_test(ring_takes_no_disorder),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
