/* option: every type is read, checked against its range, and printed so that it reads back as the
 * same value. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "config/option.h"

struct all {
	bool b;
	int64_t i, duration_ns;
	double d, ratio;
	uint64_t bytes, bps, mm;
	const char *s, *no_default;
	int e;
};
static const char *const colours[] = {"red", "green", "blue", NULL};
#define ROW(member, key, t, d, lo, hi)                                                             \
	{                                                                                          \
		.name = key, .type = t, .offset = offsetof(struct all, member), .def = d,          \
		.min = lo, .max = hi, .doc = "x"                                                   \
	}
static const struct option rows[] = {
	ROW(b, "b", OPT_BOOL, "true", NULL, NULL),
	ROW(i, "i", OPT_INT, "-5", "-10", "10"),
	ROW(d, "d", OPT_DOUBLE, "2.5", "0", NULL),
	ROW(ratio, "ratio", OPT_RATIO, "20%", "1%", "100%"),
	ROW(duration_ns, "duration", OPT_DURATION, "10s", "1s", "1h"),
	ROW(bytes, "bytes", OPT_SIZE, "88064B", NULL, "1MB"),
	ROW(bps, "bps", OPT_BITRATE, "400G", NULL, NULL),
	ROW(mm, "mm", OPT_LENGTH, "30m", "1m", "2km"),
	ROW(s, "s", OPT_STRING, "text", NULL, NULL),
	ROW(no_default, "no_default", OPT_STRING, NULL, NULL, NULL),
	{.name = "e",
		.type = OPT_ENUM,
		.offset = offsetof(struct all, e),
		.def = "green",
		.choices = colours,
		.doc = "x"},
};
static const struct option_table table = {.section = "test",
	.name = "all",
	.size = sizeof(struct all),
	.rows = rows,
	.n_rows = rw_countof(rows)};

static void test_defaults(void **state)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct all o;
	memset(&o, 0xee, sizeof(o));
	options_defaults(&table, a, &o);
	assert_true(o.b);
	assert_int_equal(o.i, -5);
	assert_true(o.d == 2.5);
	assert_true(o.ratio == 0.2);
	assert_int_equal(o.duration_ns, 10000000000);
	assert_int_equal(o.bytes, 88064);
	assert_int_equal(o.bps, 400000000000);
	assert_int_equal(o.mm, 30000);
	assert_string_equal(o.s, "text");
	assert_null(o.no_default);
	assert_int_equal(o.e, 1);
	assert_ptr_equal(option_find(&table, "mm"), &rows[7]);
	assert_null(option_find(&table, "mn"));
}

static void test_set(void **state)
{
	static const struct {
		const char *name, *text;
		int want;
		const char *part;
	} cases[] = {
		{"b", "false", 0, NULL},
		{"b", "yes", -EINVAL, "expected true or false"},
		{"b", "True", -EINVAL, NULL},
		{"b", "1", -EINVAL, NULL},
		{"i", "10", 0, NULL},
		{"i", "11", -ERANGE, "expected a value from -10 to 10"},
		{"i", "-11", -ERANGE, NULL},
		{"i", "10k", -EINVAL, "whole decimal"},
		{"i", "5s", -EINVAL, NULL},
		{"d", "-1", -ERANGE, "at least 0"},
		{"d", "1e6", -EINVAL, NULL},
		{"d", "0", 0, NULL},
		{"ratio", "0.2", 0, NULL},
		{"ratio", "101%", -ERANGE, "from 1% to 100%"},
		{"ratio", "1/8", 0, NULL},
		{"ratio", "20 %", -EINVAL, NULL},
		{"ratio", "20", -EINVAL, "which is 2000 %"},
		{"duration", "5m", 0, NULL},
		{"duration", "5", -EINVAL, "'5'; expected a duration"},
		{"duration", "500ms", -ERANGE, "from 1s to 1h"},
		{"bytes", "1MB", 0, NULL},
		{"bytes", "1MiB", -ERANGE, "at most 1MB"},
		{"bytes", "10k", -EINVAL, "expected a size"},
		{"bps", "100M", 0, NULL},
		{"bps", "400", -EINVAL, NULL},
		{"mm", "5m", 0, NULL},
		{"mm", "5s", -EINVAL, "expected a length"},
		{"s", "", 0, NULL},
		{"e", "blue", 0, NULL},
		{"e", "blu", -EINVAL, "expected red, green or blue; did you mean 'blue'?"},
		{"e", "yellow-ish", -EINVAL, "expected red, green or blue"},
	};
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	for (size_t i = 0; i < rw_countof(cases); i++) {
		struct all o, before;
		struct err e = {0};
		memset(&o, 0, sizeof(o));
		options_defaults(&table, a, &o);
		before = o;
		int r = option_set(option_find(&table, cases[i].name), a, &o, cases[i].text, &e);
		if (r != cases[i].want || (cases[i].part && !strstr(e.text, cases[i].part)))
			fail_msg("%s = '%s' gave %d: %s", cases[i].name, cases[i].text, r, e.text);
		if (r < 0 && memcmp(&o, &before, sizeof(o)) != 0)
			fail_msg("%s = '%s' was refused and changed something", cases[i].name,
				cases[i].text);
		if (r < 0 && e.line != 0)
			fail_msg("%s: the place is the caller's", cases[i].name);
		/* without struct err */
		assert_int_equal(
			option_set(option_find(&table, cases[i].name), a, &o, cases[i].text, NULL),
			cases[i].want);
	}
}

static void test_text(void **state)
{
	static const struct {
		const char *name, *text, *want;
	} cases[] = {
		{"b", "false", "false"},
		{"i", "-3", "-3"},
		{"d", "0.1", "0.1"},
		{"d", "30", "30"},
		{"d", "0.000001", "0.000001"},
		{"ratio", "0.2", "20%"},
		{"ratio", "1/8", "12.5%"},
		{"ratio", "1/3", "0.3333333333333333"},
		{"ratio", "7%", "7%"},
		{"duration", "60s", "1m"},
		{"bytes", "88064B", "88064B"},
		{"bps", "400000M", "400G"},
		{"mm", "50m", "50m"},
		{"s", "a b", "a b"},
		{"e", "red", "red"},
	};
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	for (size_t i = 0; i < rw_countof(cases); i++) {
		const struct option *o = option_find(&table, cases[i].name);
		struct all v, back;
		memset(&v, 0, sizeof(v));
		memset(&back, 0, sizeof(back));
		assert_int_equal(option_set(o, a, &v, cases[i].text, NULL), 0);
		const char *text = option_text(o, a, &v);
		if (strcmp(text, cases[i].want) != 0)
			fail_msg("%s: '%s' prints as '%s'", cases[i].name, cases[i].text, text);
		assert_int_equal(option_set(o, a, &back, text, NULL), 0);
		if (o->type != OPT_STRING)
			assert_memory_equal(&v, &back, sizeof(v));
	}
	/* Every percentage there is to write comes back as itself. */
	const struct option *ratio = option_find(&table, "ratio");
	for (int i = 100; i <= 10000; i++) {
		struct all v = {.ratio = i / 10000.0}, back = {0};
		const char *text = option_text(ratio, a, &v);
		if (option_set(ratio, a, &back, text, NULL) != 0 || back.ratio != v.ratio)
			fail_msg("%.17g prints as '%s'", v.ratio, text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_defaults),
		cmocka_unit_test(test_set), cmocka_unit_test(test_text)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
