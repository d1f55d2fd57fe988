/* gnmi_path: one text for one path, whoever wrote it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <string.h>
#include <cmocka.h>
#include "base/arena.h"
#include "base/cleanup.h"
#include "proto/gnmi_path.h"

/* Text read and put down again. */
static const struct {
	const char *what, *text, *canonical; /* canonical NULL: refused, with this in the message */
	const char *message;
	bool plain;
} rows[] = {
	{"root", "/", "/"},
	{"nothing is the root", "", "/"},
	{"no leading slash", "interfaces/interface", "/interfaces/interface"},
	{"a slash at the end", "/interfaces/", "/interfaces"},
	{"one key", "/interfaces/interface[name=Ethernet1]/state",
		"/interfaces/interface[name=Ethernet1]/state"},
	{"keys in the other order", "/q/queue[name=3][interface-id=e1]",
		"/q/queue[interface-id=e1][name=3]"},
	{"a key twice: the later", "/a[k=1][k=2]", "/a[k=2]"},
	{"slash in a key", "/a[k=eth1/1]/b", "/a[k=eth1/1]/b"},
	{"bracket in a key", "/a[k=x\\]y]/b", "/a[k=x\\]y]/b"},
	{"bracket that opens, in a key", "/a[k=x[y]/b", "/a[k=x[y]/b"},
	{"backslash in a key", "/a[k=x\\\\y]", "/a[k=x\\\\y]"},
	{"equals in a key's value", "/a[k=b=c]", "/a[k=b=c]"},
	{"an empty value", "/a[k=]", "/a[k=]"},
	{"slash in a name", "/COUNTERS/Ethernet68\\/1:3", "/COUNTERS/Ethernet68\\/1:3"},
	{"wildcards", "/a[k=*]/.../b", "/a[k=*]/.../b"},
	{"a needless backslash goes", "/a\\b", "/ab"},
	{"modules", "/openconfig-qos:qos/oc-qos:queue[oc-qos:name=a:b]/x",
		"/qos/queue[name=a:b]/x"},
	{"a key of a table is no module", "/COUNTERS/oid:0x15000000000001/x",
		"/COUNTERS/oid:0x15000000000001/x"},
	{"a slash before the colon is no module", "/C/Ethernet68\\/1:periodic",
		"/C/Ethernet68\\/1:periodic"},
	{"two colons are no module", "/a:b:c", "/a:b:c"},
	{"plain: names are whole", "/C/Ethernet0:periodic[m:k=v]", "/C/Ethernet0:periodic[m:k=v]",
		.plain = true},
	{"not plain: it reads as a module", "/C/Ethernet0:periodic", "/C/periodic"},
	{"other scripts", "/a[k=\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80]",
		"/a[k=\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80]"},
	{"no name", "/a//b", NULL, "a name between"},
	{"a key without a name of the element", "/[k=v]", NULL, "a name"},
	{"no value", "/a[k]", NULL, "[key=value]"},
	{"no key", "/a[=v]", NULL, "[key=value]"},
	{"open key", "/a[k=v", NULL, "']' after"},
	{"text after the key", "/a[k=v]b", NULL, "'/' or '['"},
};

static int put_down(const char *text, size_t n, bool plain, struct gnmi_path *p, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct gnmi_elem *elems;
	size_t n_elems;
	int r = gnmi_path_parse(text, n, a, &elems, &n_elems, e);
	gnmi_path_init(p);
	for (size_t i = 0; r == 0 && i < n_elems; i++)
		if (!gnmi_path_add(p, elems[i].name, elems[i].name_n, elems[i].keys,
			    elems[i].n_keys, plain))
			return -ERANGE;
	return r;
}

static void test_rows(void **state)
{
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct gnmi_path p, again;
		struct err e = {0};
		int r = put_down(rows[i].text, strlen(rows[i].text), rows[i].plain, &p, &e);
		if (!rows[i].canonical) {
			if (r != -EINVAL || !strstr(e.text, rows[i].message))
				fail_msg("%s: %d, \"%s\"", rows[i].what, r, e.text);
			continue;
		}
		if (r != 0 || strcmp(gnmi_path_text(&p), rows[i].canonical) != 0 ||
			gnmi_path_length(&p) != strlen(rows[i].canonical))
			fail_msg("%s: %d, %s %s", rows[i].what, r, p.s, e.text);
		if (put_down(p.s, gnmi_path_length(&p), rows[i].plain, &again, NULL) != 0 ||
			strcmp(p.s, again.s) != 0)
			fail_msg("%s: read again it is %s", rows[i].what, again.s);
	}
}

static const struct {
	const char *what, *name;
	bool ok;
} names[] = {
	{"a line break", "a\nb", false},
	{"an escape", "\033[2J", false},
	{"delete", "\x7f", false},
	{"Latin-1", "caf\xe9", false},
	{"overlong", "\xc0\xaf", false},
	{"a surrogate", "\xed\xa0\x80", false},
	{"beyond Unicode", "\xf4\x90\x80\x80", false},
	{"a C1 control", "\xc2\x9b", false},
	{"cut", "\xe2\x82", false},
	{"no-break space", "\xc2\xa0", true},
	{"a blank", "a b", true},
};

static void test_refused_names(void **state)
{
	for (size_t i = 0; i < rw_countof(names); i++) {
		struct gnmi_path p;
		struct gnmi_key key = {"k", names[i].name, 1, strlen(names[i].name)},
				no_name = {"", "v", 0, 1};
		gnmi_path_init(&p);
		assert_true(gnmi_path_add(&p, "first", 5, NULL, 0, false));
		bool name = gnmi_path_add(&p, names[i].name, strlen(names[i].name), NULL, 0, false);
		gnmi_path_cut(&p, 6, 1);
		bool value = gnmi_path_add(&p, "x", 1, &key, 1, false);
		if (name != names[i].ok || value != names[i].ok)
			fail_msg("%s: as a name %d, as a value %d", names[i].what, name, value);
		gnmi_path_cut(&p, 6, 1);
		assert_false(gnmi_path_add(&p, "x", 1, &no_name, 1, false));
		assert_string_equal(gnmi_path_text(&p), "/first");
	}
}

static void test_keys_without_name(void **state)
{
	struct gnmi_path p;
	struct gnmi_key name = {"m:name", "xe-0/0/0:0", 6, 10}, queue = {"queue", "3", 5, 1};
	gnmi_path_init(&p);
	/* a list and its keys as two elements */
	assert_true(gnmi_path_add(&p, "qmon-sw", 7, NULL, 0, false));
	assert_true(gnmi_path_add(&p, "", 0, &name, 1, false));
	assert_string_equal(gnmi_path_text(&p), "/qmon-sw[name=xe-0/0/0:0]");
	assert_int_equal(p.elems, 1);
	/* where that has keys already, and at the root */
	assert_true(gnmi_path_add(&p, "", 0, &queue, 1, false));
	assert_string_equal(gnmi_path_text(&p), "/qmon-sw[name=xe-0/0/0:0]/#[queue=3]");
	assert_int_equal(p.elems, 2);
	gnmi_path_init(&p);
	assert_true(gnmi_path_add(&p, "", 0, &queue, 1, false));
	assert_string_equal(gnmi_path_text(&p), "/#[queue=3]");
}

static void test_limits(void **state)
{
	static const char letters[GNMI_PATH_KEYS_MAX + 1] = "abcdefghijklmnopq";
	static char name[GNMI_PATH_MAX + 1];
	struct gnmi_key keys[GNMI_PATH_KEYS_MAX + 1];
	struct gnmi_path p;

	memset(name, '[', sizeof(name)); /* each becomes two bytes */
	gnmi_path_init(&p);
	assert_false(gnmi_path_add(&p, name, GNMI_PATH_MAX / 2, NULL, 0, false));
	assert_string_equal(gnmi_path_text(&p), "/");
	assert_true(gnmi_path_add(&p, name, GNMI_PATH_MAX / 2 - 1, NULL, 0, false));
	assert_int_equal(gnmi_path_length(&p), GNMI_PATH_MAX - 1);
	assert_false(gnmi_path_add(&p, "a", 1, NULL, 0, false));
	assert_int_equal(strlen(p.s), GNMI_PATH_MAX - 1);

	gnmi_path_init(&p);
	for (unsigned i = 0; i < GNMI_PATH_ELEMS_MAX; i++)
		assert_true(gnmi_path_add(&p, "a", 1, NULL, 0, false));
	assert_false(gnmi_path_add(&p, "a", 1, NULL, 0, false));

	gnmi_path_init(&p);
	for (size_t i = 0; i < rw_countof(keys); i++)
		keys[i] = (struct gnmi_key){&letters[i], "v", 1, 1};
	assert_false(gnmi_path_add(&p, "a", 1, keys, rw_countof(keys), false));
	assert_true(gnmi_path_add(&p, "a", 1, keys, rw_countof(keys) - 1, false));

	gnmi_path_init(&p);
	assert_true(gnmi_path_add_index(&p, 12));
	assert_string_equal(p.s, "/#[#=12]");
	assert_true(gnmi_path_add(&p, "l", 1, NULL, 0, false) && gnmi_path_add_index(&p, 0));
	assert_string_equal(p.s, "/#[#=12]/l[#=0]");
	assert_true(gnmi_path_add(&p, "", 0, NULL, 0, false));
	assert_string_equal(p.s, "/#[#=12]/l[#=0]");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_refused_names),
		cmocka_unit_test(test_keys_without_name),
		cmocka_unit_test(test_limits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
