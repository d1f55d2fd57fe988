/* keyed_index and hyperloglog: against plain counting. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/map.h"
#include "collectors/packet/flow/flow_store.h"

enum { KEYS = 3000, STEPS = 200000 };

/* Few distinct tags and homes near the end, so that clusters are long and wrap. */
static uint64_t hash_of(uint32_t key)
{
	return (uint64_t)(0xffffffc0u + hash_u64(key) % 97 * 7) << 32;
}

static uint32_t lookup(const struct keyed_index *index, uint32_t key)
{
	uint32_t at = keyed_tag(hash_of(key));
	for (;;) {
		const uint32_t position = keyed_index_next(index, hash_of(key), &at);
		if (position == KEYED_NONE || position == key)
			return position;
	}
}

static void check_all(const struct keyed_index *index, const uint8_t *there)
{
	uint32_t n = 0;
	for (uint32_t key = 0; key < KEYS; key++) {
		const uint32_t want = there[key] ? key : KEYED_NONE;
		assert_int_equal(lookup(index, key), want);
		n += there[key];
	}
	assert_int_equal(index->n, n);
}

/* Any order of putting and removing: everything that is there is found, nothing else. The table is
 * small, so homes collide all the time. */
static void test_index(void **state)
{
	static uint8_t there[KEYS];
	struct keyed_index index;
	uint64_t draw = 1;
	keyed_index_init(&index);
	for (int i = 0; i < STEPS; i++) {
		draw = hash_u64(draw);
		const uint32_t key = (uint32_t)(draw >> 8) % 40;
		if (there[key])
			keyed_index_remove(&index, hash_of(key), key);
		else
			keyed_index_put(&index, hash_of(key), key);
		there[key] = !there[key];
		if (i % 1000 == 0)
			check_all(&index, there);
	}
	for (uint32_t key = 0; key < KEYS; key++) {
		if (!there[key])
			keyed_index_put(&index, hash_of(key), key);
		there[key] = 1;
	}
	check_all(&index, there);
	keyed_index_move(&index, hash_of(7), 7, KEYS + 7);
	assert_int_equal(lookup(&index, 7), KEYED_NONE);
	keyed_index_move(&index, hash_of(7), KEYS + 7, 7);
	check_all(&index, there);
	keyed_index_free(&index);
}

/* Within four standard errors, from nothing to many times the registers. */
static void test_distinct(void **state)
{
	for (unsigned precision = 8; precision <= 14; precision += 2) {
		struct hyperloglog *counter = hyperloglog_new(precision);
		const double error = 4 * hyperloglog_error_ratio(precision);
		assert_true(hyperloglog_estimate(counter) == 0);
		uint64_t n = 0;
		for (uint64_t want = 1; want < 300000; want = want * 3 + 1) {
			for (; n < want; n++)
				hyperloglog_add(counter, hash_u64(n));
			hyperloglog_add(counter, hash_u64(0)); /* again */
			const double got = hyperloglog_estimate(counter);
			assert_true(got >= (double)want * (1 - error) - 1);
			assert_true(got <= (double)want * (1 + error) + 1);
		}
		free(counter);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_index), cmocka_unit_test(test_distinct)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
