/* Documents that somebody else wrote, and documents on a terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
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

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(strings_are_cleaned),
		cmocka_unit_test(configuration_keeps_its_lines),
		cmocka_unit_test(printed_with_escapes)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
