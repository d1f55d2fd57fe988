/* Documents that somebody else wrote, and documents on a terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "agent/document/json_value.h"

static void strings_are_cleaned(void **state)
{
	static const char text[] = "{\"a\": \"x\\u001b[2J\", \"l\": [\"\\u202e\", {\"b\": "
				   "\"\\u009b\\n\"}], \"k\\u0007\": 1, \"n\": 7}";
	json_t *doc = json_outside(text, strlen(text), 0, NULL);
	rw_cleanup(freep) char *back = json_dumps(doc, JSON_COMPACT);
	assert_string_equal(back, "{\"a\":\"x [2J\",\"l\":[\"?\",{\"b\":\"  \"}],\"n\":7}");
	json_decref(doc);
	/* a NUL would hide the rest from everybody who reads */
	doc = json_outside("[\"a\\u0000b\"]", 12, JSON_ALLOW_NUL, NULL);
	assert_string_equal(json_string_value(json_array_get(doc, 0)), "a");
	assert_int_equal(json_string_length(json_array_get(doc, 0)), 1);
	json_decref(doc);
	json_error_t why;
	assert_null(json_outside("{", 1, 0, &why));
	json_clean(NULL);
}

/* What is typed into a switch keeps its lines, and nothing else that steers a terminal. */
static void configuration_keeps_its_lines(void **state)
{
	static const char text[] =
		"{\"render\": {\"sonic\": {\"cli\": \"# a\\nset x\\u001b[2J\\n\\nend\\n\"}}, "
		"\"undo\": \"one\\rtwo\", \"why\": \"a\\nb\"}";
	json_t *doc = json_outside(text, strlen(text), 0, NULL);
	rw_cleanup(freep) char *back = json_dumps(doc, JSON_COMPACT);
	assert_string_equal(back,
		"{\"render\":{\"sonic\":{\"cli\":\"# a\\nset x [2J\\n\\nend\\n\"}},"
		"\"undo\":\"one two\",\"why\":\"a b\"}");
	json_decref(doc);
}

static void printed_with_escapes(void **state)
{
	json_t *doc = json_pack("{s:s}", "a\xc2\x9b", "\xe2\x80\xae\x7f\x1b\xc3\xbc");
	char *text = NULL;
	size_t n;
	FILE *out = open_memstream(&text, &n);
	assert_int_equal(json_print(out, doc, JSON_INDENT(2)), 0);
	fclose(out);
	assert_string_equal(text, "{\n  \"a\\u009b\": \"\\u202e\\u007f\\u001B\xc3\xbc\"\n}");
	json_t *back = json_loads(text, 0, NULL);
	assert_true(json_equal(back, doc));
	json_decref(back);
	json_decref(doc);
	free(text);
}

/* The same values as text and as a tree. */
static void text_is_what_a_tree_prints(void **state)
{
	static const double numbers[] = {0, -0.0, 1, -1, 0.1, -0.3, 1e-3, 9.99e-4, 1e-5,
		999999999999999, 1e15, 1e22, -123456.789, 999999999999999.9, 99999999999999.98, NAN,
		INFINITY, 1.0 / 3};
	static const int64_t integers[] = {0, 7, -7, 10, INT64_MAX, INT64_MIN};
	static const char *const texts[] = {"", "a b", "\"", "\\", "a\nb\x01\x7f",
		"\xc2\xb7 \xe2\x89\xa5", "broken \xff\xc2", NULL};
	rw_cleanup(str_done) struct str out = {0};
	json_t *tree = json_object(), *list = json_array();
	json_add_open(&out, NULL, '{');
	json_add_open(&out, "list", '[');
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		json_add_number(&out, NULL, numbers[i]);
		json_array_append_new(list, json_number_or_null(numbers[i]));
	}
	for (size_t i = 0; i < sizeof(integers) / sizeof(*integers); i++) {
		json_add_integer(&out, NULL, integers[i]);
		json_array_append_new(list, json_integer(integers[i]));
	}
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		json_add_text(&out, NULL, texts[i]);
		json_array_append_new(list, json_string_or_null(texts[i]));
	}
	json_add_close(&out, ']');
	json_object_set_new(tree, "list", list);
	json_add_open(&out, "none", '{');
	json_add_close(&out, '}');
	json_object_set_new(tree, "none", json_object());
	json_add_flag(&out, "on", true);
	json_object_set_new(tree, "on", json_true());
	json_add_time(&out, "t", 1700000000123000000);
	json_object_set_new(tree, "t", json_time(1700000000123000000));
	json_add_close(&out, '}');
	rw_cleanup(freep) char *want = json_dumps(tree, JSON_COMPACT);
	assert_string_equal(out.s, want);
	json_decref(tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(strings_are_cleaned),
		cmocka_unit_test(text_is_what_a_tree_prints),
		cmocka_unit_test(configuration_keeps_its_lines),
		cmocka_unit_test(printed_with_escapes)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
