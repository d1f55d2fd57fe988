/* gnmi_json: leaves of JSON values in the shapes that servers send. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>
#include "base/arena.h"
#include "base/cleanup.h"
#include "proto/gnmi_codec.h"
#include "tests/unit/proto/gnmi_wire.h"

static const struct gnmi_list lists[] = {
	{"interface", {"name"}}, {"queue", {"interface-id", "name"}}};

static const struct {
	const char *what, *at, *json, *leaves; /* leaves NULL: not JSON */
	bool plain;
	uint64_t bad_paths;
} rows[] = {
	{"a counter", "a", "18446744073709551615", "/a = uint 18446744073709551615"},
	{"a counter as text", "a", "\"18446744073709551615\"", "/a = string 18446744073709551615"},
	{"beyond 64 bits", "a", "18446744073709551616", "/a = string 18446744073709551616"},
	{"the least integer", "a", "-9223372036854775808", "/a = int -9223372036854775808"},
	{"below it", "a", "-9223372036854775809", "/a = string -9223372036854775809"},
	{"minus zero", "a", "-0", "/a = uint 0"},
	{"2^53 + 1 is kept", "a", "9007199254740993", "/a = uint 9007199254740993"},
	{"a fraction", "a", " -1.5e1\n", "/a = double -15"},
	{"a double beyond its range", "a", "1e999", "/a = string 1e999"},
	{"words", "", "{\"a\":true,\"b\":false,\"c\":null}",
		"/a = bool true\n/b = bool false\n/c = null null"},
	{"a tree with modules", "interfaces", "{\"openconfig-interfaces:x\":{\"y\":1,\"oc:z\":2}}",
		"/interfaces/x/y = uint 1\n/interfaces/x/z = uint 2"},
	{"a table, names whole", "COUNTERS",
		"{\"Ethernet68/1:1\":{\"W\":\"64\"},\"Ethernet0:periodic\":{\"W\":\"192\"}}",
		"/COUNTERS/Ethernet68\\/1:1/W = string 64\n/COUNTERS/Ethernet0:periodic/W = string "
		"192",
		.plain = true},
	{"a list by key", "interfaces",
		"{\"m:interface\":[{\"name\":\"e0\",\"mtu\":1},{\"mtu\":2,\"m:name\":\"e/1]\"}]}",
		"/interfaces/interface[name=e0]/name = string "
		"e0\n/interfaces/interface[name=e0]/mtu = uint 1\n"
		"/interfaces/interface[name=e/1\\]]/mtu = uint "
		"2\n/interfaces/interface[name=e/1\\]]/name = string e/1]"},
	{"the list itself is the value", "interface", "[{\"name\":\"e0\",\"x\":1}]",
		"/interface[name=e0]/name = string e0\n/interface[name=e0]/x = uint 1"},
	{"keys that are no strings", "",
		"{\"queue\":[{\"x\":{\"name\":9},\"name\":3,\"interface-id\":true}]}",
		"/queue[interface-id=true][name=3]/x/name = uint "
		"9\n/queue[interface-id=true][name=3]/name = uint 3\n"
		"/queue[interface-id=true][name=3]/interface-id = bool true"},
	{"a key is missing", "", "{\"queue\":[{\"name\":\"3\"}]}", "/queue[#=0]/name = string 3"},
	{"a key that is no leaf", "", "{\"interface\":[{\"name\":{\"a\":1}}]}",
		"/interface[#=0]/name/a = uint 1"},
	{"an unknown list", "", "{\"l\":[{\"name\":\"a\"},5,[6,7]]}",
		"/l[#=0]/name = string a\n/l[#=1] = uint 5\n/l[#=2][#=0] = uint 6\n/l[#=2][#=1] = "
		"uint 7"},
	{"an array at the root", "", "[1]", "/#[#=0] = uint 1"},
	{"YANG's empty", "a", "[ null ]", "/a = null null"},
	{"null among others", "a", "[null,1]", "/a[#=0] = null null\n/a[#=1] = uint 1"},
	{"nothing in it", "a", "{\"b\":{},\"c\":[]}", ""},
	{"blanks everywhere", "", " { \"a\" : [ 1 , 2 ] , \"b\" : { } } ",
		"/a[#=0] = uint 1\n/a[#=1] = uint 2"},
	{"escapes", "", "{\"\\u0061\\\"\":\"\\u20ac \\ud83d\\ude00 \\\\ \\/ \\n\"}",
		"/a\" = string ??? ???? \\ / ?"},
	{"a name that may not be", "",
		"{\"a\\nb\":1,\"\":2,\"c\":{\"\\u0000\":[1,{\"x\":\"}\"}]},\"d\":4}", "/d = uint 4",
		.bad_paths = 3},
	{"names that repeat", "", "{\"a\":1,\"a\":2}", "/a = uint 1\n/a = uint 2"},
	{"nothing", "a", "", NULL},
	{"cut", "a", "{\"b\":1,\"c\":[1,2", NULL},
	{"text behind", "a", "1 2", NULL},
	{"a comma too many", "a", "[1,]", NULL},
	{"a name without quotes", "a", "{b:1}", NULL},
	{"a leading zero", "a", "01", NULL},
	{"a plus", "a", "+1", NULL},
	{"no digit after the point", "a", "1.", NULL},
	{"the wrong end", "a", "[1}", NULL},
	{"a control character", "a", "\"\t\"", NULL},
	{"one far inside", "a", "\"0123456789abc\t0123456789\"", NULL},
	{"a byte that is not UTF-8, far inside", "a",
		"\"0123456789abc\xff"
		"0123456789\"",
		NULL},
	{"an escape far inside", "a", "\"0123456789abc\\\"0123456789\\\\\"",
		"/a = string 0123456789abc\"0123456789\\"},
	{"an unknown escape", "a", "\"\\x\"", NULL},
	{"a lone surrogate", "a", "\"\\ud83d\"", NULL},
	{"the second half first", "a", "\"\\ude00\"", NULL},
	{"not UTF-8", "a", "\"\xff\"", NULL},
	{"overlong", "a", "\"\xc0\xaf\"", NULL},
	{"a half word", "a", "tru", NULL},
};

static void leaf(void *arg, const struct gnmi_path *path, const struct gnmi_value *v)
{
	wire_text(arg,
		&(struct gnmi_update){
			.path = gnmi_path_text(path), .origin = "", .target = "", .value = *v});
}

static void test_rows(void **state)
{
	for (size_t i = 0; i < rw_countof(rows); i++) {
		rw_cleanup(arena_freep) struct arena *a = arena_new();
		rw_cleanup(str_done) struct str got = {0};
		struct gnmi_counts counts = {0};
		struct gnmi_decode d = {.plain_names = rows[i].plain,
			.lists = lists,
			.n_lists = 2,
			.counts = &counts};
		struct gnmi_path at;
		size_t n = strlen(rows[i].json);
		/* A copy of exactly its size: one byte past the end is then the sanitizer's to see.
		 */
		rw_cleanup(freep) char *exact = rw_calloc(1, n + !n);
		if (n)
			memcpy(exact, rows[i].json, n);
		gnmi_path_init(&at);
		gnmi_path_add(&at, rows[i].at, strlen(rows[i].at), NULL, 0, true);
		size_t was = at.n;
		int r = gnmi_json_flatten(exact, n, &at, &d, a, leaf, &got);
		if (r != (rows[i].leaves ? 0 : -EBADMSG) ||
			strcmp(got.s ? got.s : "", rows[i].leaves ? rows[i].leaves : "") != 0 ||
			counts.bad_paths != rows[i].bad_paths || at.n != was)
			fail_msg("%s: %d, %llu bad paths\n%s", rows[i].what, r,
				(unsigned long long)counts.bad_paths, got.s ? got.s : "");
	}
}

static void test_depth(void **state)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	for (size_t depth = GNMI_JSON_DEPTH_MAX; depth <= GNMI_JSON_DEPTH_MAX + 1; depth++) {
		rw_cleanup(str_done) struct str json = {0}, got = {0};
		struct gnmi_counts counts = {0};
		struct gnmi_decode d = {.counts = &counts};
		struct gnmi_path at;
		gnmi_path_init(&at);
		for (size_t i = 0; i < depth; i++)
			str_add(&json, "[");
		str_add(&json, "1");
		for (size_t i = 0; i < depth; i++)
			str_add(&json, "]");
		assert_int_equal(gnmi_json_flatten(json.s, json.n, &at, &d, a, leaf, &got),
			depth > GNMI_JSON_DEPTH_MAX ? -EBADMSG : 0);
		assert_int_equal(got.n > 0, depth <= GNMI_JSON_DEPTH_MAX);
	}
	/* A megabyte of brackets costs no stack. */
	rw_cleanup(freep) char *deep = rw_calloc(1, 1 << 20);
	memset(deep, '[', 1 << 20);
	struct gnmi_path at;
	gnmi_path_init(&at);
	struct gnmi_counts counts = {0};
	assert_int_equal(gnmi_json_flatten(deep, 1 << 20, &at,
				 &(struct gnmi_decode){.counts = &counts}, a, leaf, NULL),
		-EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_depth),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
