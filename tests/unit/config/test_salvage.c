/* config_salvage: where the database is, out of files with mistakes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "config/config_salvage.h"

static void test_salvage(void **state)
{
	static const struct {
		const char *what, *text, *path;
	} rows[] = {
		{"YAML with a wrong key", "fabrik: x\nstore: { path: /a/b.db }\n", "/a/b.db"},
		{"YAML in block style", "store:\n  quota: 9\n  path: /a/b.db\nx: y\n", "/a/b.db"},
		{"a store without path", "store: { quota: 9 }\n", NULL},
		{"no store", "fabric: x\n", NULL},
		{"a list", "- store\n", NULL},
		{"nothing", "", NULL},
		{"a tab", "fabric: x\n\tbad\nstore:\n  path: /a/b.db\n", "/a/b.db"},
		{"a bracket left open before", "devices: [\nstore: { path: /a/b.db }\n", "/a/b.db"},
		{"quoted, with a comment", "store:\n  # old: /x\n  path: '/a b/c.db' # new\na: [\n",
			"/a b/c.db"},
		{"flow with more", "a: [\nstore: { quota: 1TB, path: /a/b.db, raw: 7d }\n",
			"/a/b.db"},
		{"another section's path", "a: [\nother:\n  path: /no\nstore:\n  path: /a/b.db\n",
			"/a/b.db"},
		{"after the section", "a: [\nstore:\n  quota: 1\nother:\n  path: /no\n", NULL},
		{"an open quote", "a: [\nstore:\n  path: \"/a\n", NULL},
		{"no value", "a: [\nstore:\n  path:\n", NULL},
		{"no newline at the end", "a: [\nstore:\n  path: /a", "/a"},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		rw_cleanup(freep) char *path =
			config_salvage_store(rows[i].text, strlen(rows[i].text));
		if (!str_eq(path, rows[i].path))
			fail_msg("%s: %s", rows[i].what, path ? path : "nothing");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_salvage)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
