/* siphash: published outputs, and the inline form for whole words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/bytes.h"

/* The key 00 01 .. 0f and the messages 00 01 .. (n - 1) of the authors' reference vectors. */
static const struct siphash_key key = {0x0706050403020100ull, 0x0f0e0d0c0b0a0908ull};
static uint8_t message[64];

static int setup(void **state)
{
	for (size_t i = 0; i < sizeof(message); i++)
		message[i] = (uint8_t)i;
	return 0;
}

/* Aumasson and Bernstein: the paper's example (15 bytes) and vectors.h of the reference. */
static void test_2_4(void **state)
{
	static const struct {
		size_t n;
		uint64_t want;
	} rows[] = {
		{0, 0x726fdb47dd0e0e31ull},
		{1, 0x74f839c593dc67fdull},
		{2, 0x0d6c8009d9a94f5aull},
		{3, 0x85676696d7fb7e2dull},
		{4, 0xcf2794e0277187b7ull},
		{5, 0x18765564cd99a68dull},
		{6, 0xcbc9466e58fee3ceull},
		{7, 0xab0200f58b01d137ull},
		{8, 0x93f5f5799a932462ull},
		{9, 0x9e0082df0ba9e4b0ull},
		{15, 0xa129ca6149be45e5ull},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		assert_true(siphash(&key, 2, 4, message, rows[i].n) == rows[i].want);
}

/* The first rows of the vectors in the tests of Rust's standard library. */
static void test_1_3(void **state)
{
	assert_true(siphash(&key, 1, 3, message, 0) == 0xabac0158050fc4dcull);
	assert_true(siphash(&key, 1, 3, message, 1) == 0xc9f49bf37d57ca93ull);
}

static void test_words(void **state)
{
	uint64_t words[4];
	memcpy(words, message, sizeof(words));
	assert_true(siphash13_two(&key, words[0], words[1]) == siphash(&key, 1, 3, message, 16));
	struct siphash_state four = siphash_begin(&key);
	for (int i = 0; i < 4; i++)
		siphash13_word(&four, words[i]);
	assert_true(siphash13_end(&four, 34ull << 56 | 0x2120) == siphash(&key, 1, 3, message, 34));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_2_4), cmocka_unit_test(test_1_3),
		cmocka_unit_test(test_words)};
	return cmocka_run_group_tests(tests, setup, NULL);
}
