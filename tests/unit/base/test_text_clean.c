/* Text from outside: what a terminal or a spreadsheet would act on does not reach it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "base/text_clean.h"

static const struct {
	const char *from, *to;
} cases[] = {
	{"Ethernet1/1", "Ethernet1/1"}, {"", ""}, {"Zürich – spine 1 ✓", "Zürich – spine 1 ✓"},
	{"a\033[2Jb", "a [2Jb"}, {"a\r\nb\tc\x7f", "a  b c "},
	{"a\xc2\x9b"
	 "2Jb", /* C1: the other way to begin an escape sequence */
		"a 2Jb"},
	{"a\xe2\x80\xae"
	 "b", /* right-to-left override */
		"a?b"},
	{"a\xe2\x81\xa6"
	 "b\xef\xbb\xbf",
		"a?b?"},
	{"a\xff\xc0\xaf"
	 "b", /* no UTF-8; an overlong slash */
		"a???b"},
	{"cut \xe2\x80", "cut ??"}, {"\xed\xa0\x80", "???"}, /* a surrogate */
};

static void cleans(void **state)
{
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char buf[64];
		const size_t n = text_clean(buf, sizeof(buf), cases[i].from, strlen(cases[i].from));
		assert_string_equal(buf, cases[i].to);
		assert_int_equal(n, strlen(cases[i].to));
		assert_true(text_is_clean(buf));
		assert_int_equal(
			text_is_clean(cases[i].from), strcmp(cases[i].from, cases[i].to) == 0);
	}
}

static void in_place_and_cut(void **state)
{
	char text[] = "a\xe2\x80\xae"
		      "b\033c";
	assert_int_equal(text_clean(text, sizeof(text), text, strlen(text)), 5);
	assert_string_equal(text, "a?b c");
	char small[4];
	assert_int_equal(text_clean(small, sizeof(small), "ab\xc3\xbc", 4), 2); /* never half */
	assert_string_equal(small, "ab");
}

/* Whatever comes, the result is clean, ends, and fits. */
static void any_bytes(void **state)
{
	uint64_t random = 7;
	for (int round = 0; round < 20000; round++) {
		uint8_t bytes[24];
		char buf[16];
		for (size_t i = 0; i < sizeof(bytes); i++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			bytes[i] = (uint8_t)(random >> 56);
		}
		const size_t n = text_clean(buf, sizeof(buf), bytes, sizeof(bytes));
		assert_true(n < sizeof(buf));
		assert_int_equal(strlen(buf), n);
		assert_true(text_is_clean(buf));
	}
}

static void formulas(void **state)
{
	static const char *const run[] = {"=1+1|'x'", "+cmd", "-cmd|' /C calc'!A0", "@SUM(1)",
		"-1-1",
		"\xef\xbc\x9d"
		"1+1",
		"\xef\xbc\xa0"
		"SUM(1)",
		" =1+1", "-nan(A1)", "\rx", "+inf(1)"};
	static const char *const shown[] = {
		"", "-", "-1.5", "+3", "-1e9", "Ethernet1", "a=b", "1-2", "-inf"};
	for (size_t i = 0; i < sizeof(run) / sizeof(run[0]); i++)
		assert_true(text_is_formula(run[i]));
	for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++)
		assert_false(text_is_formula(shown[i]));
}

static void words(void **state)
{
	static const char *const fit[] = {"Ethernet1/1", "et-0/0/1:0", "swp1s0.100", "leaf_1"};
	static const char *const unfit[] = {
		"", "-rf", "a b", "a;reload", "$(id)", "`id`", "a|b", "a#b", "a\nb", "\xc3\xbc"};
	for (size_t i = 0; i < sizeof(fit) / sizeof(fit[0]); i++)
		assert_true(text_is_word(fit[i]));
	for (size_t i = 0; i < sizeof(unfit) / sizeof(unfit[0]); i++)
		assert_false(text_is_word(unfit[i]));
}

static void hides(void **state)
{
	static const struct {
		const char *text, *secret, *shown;
	} rows[] = {
		{"token s3cret, again s3cret!", "s3cret", "token ******, again ******!"},
		{"a *** b", "***", "a *** b"}, /* and an end */
		{"abababab", "abab", "********"},
		{"ab", "ab", "ab"},
		{"x", NULL, "x"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char text[64];
		snprintf(text, sizeof(text), "%s", rows[i].text);
		text_hide(text, rows[i].secret);
		assert_string_equal(text, rows[i].shown);
	}
}

static void test_whole(void **state)
{
	static const struct {
		const char *from, *to;
	} texts[] = {{"", ""}, {"abc", "abc"}, {"gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f"},
		{"gr\xc3", "gr"}, {"\xe2\x82", ""}, {"\xf0\x9f\x98", ""}, {"'gr\xc3'", "'gr?'"},
		{"\xff!", "?!"}, {"tab\tand\nline", "tab\tand\nline"},
		{"\xe2\x82'x",
			"?"
			"?'x"}};
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		char text[32];
		snprintf(text, sizeof(text), "%s", texts[i].from);
		text_whole(text);
		assert_string_equal(text, texts[i].to);
	}
}

/* What quotes a foreign name stays text that JSON can hold. */
static void test_error_is_whole(void **state)
{
	struct err e = {0};
	char name[300];
	for (size_t i = 0; i + 2 < sizeof(name); i += 2)
		memcpy(name + i, "\xc3\xbc", 3);
	err_set(&e, -EINVAL, "'%.63s' is unknown", name);
	assert_non_null(strstr(e.text, "\xbc?' is unknown"));
	rw_cleanup(str_done) struct str many = {0};
	while (many.n < 2 * sizeof(e.text))
		str_add(&many, "\xe2\x82\xac");
	err_set(&e, -EINVAL, "x%s", many.s);
	assert_memory_equal(e.text + strlen(e.text) - 3, "\xe2\x82\xac", 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cleans),
		cmocka_unit_test(test_whole),
		cmocka_unit_test(test_error_is_whole),
		cmocka_unit_test(in_place_and_cut),
		cmocka_unit_test(any_bytes),
		cmocka_unit_test(formulas),
		cmocka_unit_test(words),
		cmocka_unit_test(hides),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
