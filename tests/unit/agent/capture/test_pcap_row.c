/* pcap_row: the text of a row and its object are the same, as jansson writes it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <cmocka.h>

#include "agent/capture/pcap_row.h"
#include "base/str.h"

static void fill(struct pcap_row *row)
{
	static const double reals[] = {0, -0.0, 1, 0.2, 1e9 / 3, 1e15, 1e300, 1e-7, -12.5, NAN,
		HUGE_VAL, 123456789012345.6};
	static const uint64_t counts[] = {0, 9, 10, 4294967296u, INT64_MAX};
	static const int64_t times[] = {0, 1, 1700000000123000000, 1700000000123456789, INT64_MAX};
	char word[300];
	pcap_row_word(row, "word", "RC");
	pcap_row_word(row, "none", NULL);
	pcap_row_open_list(row, "reals");
	for (size_t i = 0; i < sizeof(reals) / sizeof(*reals); i++)
		pcap_row_real(row, NULL, reals[i]);
	pcap_row_close(row);
	pcap_row_open(row, "counts");
	for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
		pcap_row_count(row, (const char *[]){"a", "b", "c", "d", "e"}[i], counts[i]);
	pcap_row_open_list(row, "empty");
	pcap_row_close(row);
	pcap_row_close(row);
	pcap_row_open_list(row, "times");
	for (size_t i = 0; i < sizeof(times) / sizeof(*times); i++) {
		pcap_row_open(row, NULL);
		pcap_row_time(row, "t", times[i]);
		pcap_row_close(row);
	}
	pcap_row_close(row);
	pcap_row_open_list(row, "words"); /* some are longer than what is put at once */
	for (size_t n = 80; n < 110; n++) {
		memset(word, 'x', n);
		word[n] = '\0';
		pcap_row_word(row, NULL, word);
	}
	pcap_row_close(row);
	memset(word, 'y', sizeof(word) - 1);
	word[sizeof(word) - 1] = '\0';
	pcap_row_word(row, "long", word);
	pcap_row_value(row, "value", json_pack("[s, {s:n}]", "\"quoted\"", "k"));
}

static void test_forms(void **state)
{
	struct pcap_row row;
	pcap_row_begin(&row, NULL, false);
	fill(&row);
	json_t *object = pcap_row_end(&row);
	for (int compact = 0; compact < 2; compact++) {
		struct str text = {0};
		pcap_row_begin(&row, &text, compact);
		fill(&row);
		assert_null(pcap_row_end(&row));
		const size_t flags = JSON_REAL_PRECISION(15) | (compact ? JSON_COMPACT : 0);
		char *expected = json_dumps(object, flags);
		assert_string_equal(text.s, expected);
		free(expected);
		str_done(&text);
	}
	json_decref(object);
}

/* Halves go to even, nines carry over, and numbers of every size, against jansson's own writer. */
static void test_reals(void **state)
{
	double reals[2000] = {0.5, 1.5, 2.5, 1234567.00000000049, 99999999999999.95,
		0.99999999999999999, 9.99999999999999949, 899999999999999.5, 4503599627370.4995,
		1e14 + 0.5, 8e14 + 0.25, 16777217};
	uint64_t draw = 88172645463325252ull;
	for (size_t i = 12; i < sizeof(reals) / sizeof(*reals); i++) {
		draw ^= draw << 13;
		draw ^= draw >> 7;
		draw ^= draw << 17;
		reals[i] = (double)draw / (double)(1ull << i % 64);
		if (i % 3 == 0) /* few binary digits: halves of the last decimal one */
			reals[i] = (double)(draw >> 20) / (double)(1ull << i % 16);
	}
	for (size_t i = 0; i < sizeof(reals) / sizeof(*reals); i++) {
		struct pcap_row row;
		struct str text = {0};
		pcap_row_begin(&row, &text, true);
		pcap_row_real(&row, "r", reals[i]);
		pcap_row_end(&row);
		json_t *object = json_pack("{s:f}", "r", reals[i]);
		char *expected = json_dumps(object, JSON_REAL_PRECISION(15) | JSON_COMPACT);
		assert_string_equal(text.s, expected);
		free(expected);
		json_decref(object);
		str_done(&text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms), cmocka_unit_test(test_reals)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
