/* yaml: the tree and its places, what is refused, and the limits. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "config/yaml.h"

static void test_places(void **state)
{
	static const char text[] = "fabric: pod-a   # a comment\n"
				   "store: { path: 'a b', quota: 40GB }\n"
				   "list:\n"
				   "  - one\n"
				   "  - { k: \"2\" }\n"
				   "nothing:\n"
				   "tilde: ~\n"
				   "quoted: \"\"\n"
				   "r\xc3\xb6le: x\n";
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	rw_cleanup(err_list_done) struct err_list errors = {0};
	const struct yaml_node *root = NULL;
	assert_int_equal(yaml_read(text, sizeof(text) - 1, "t", a, &root, &errors), 0);
	assert_int_equal(root->kind, YAML_MAP);
	assert_int_equal(root->n, 7);

	const struct yaml_item *i = yaml_get(root, "fabric");
	assert_string_equal(i->value->text, "pod-a");
	assert_int_equal(i->line, 1);
	assert_int_equal(i->col, 1);
	assert_int_equal(i->value->col, 9);
	assert_false(i->value->quoted);

	i = yaml_get(yaml_get(root, "store")->value, "path");
	assert_string_equal(i->value->text, "a b");
	assert_true(i->value->quoted);
	assert_int_equal(i->line, 2);
	assert_int_equal(i->col, 10);
	assert_int_equal(i->value->col, 16);

	const struct yaml_node *list = yaml_get(root, "list")->value;
	assert_int_equal(list->kind, YAML_LIST);
	assert_int_equal(list->n, 2);
	assert_null(list->items[0].key);
	assert_string_equal(list->items[0].value->text, "one");
	assert_int_equal(list->items[1].value->line, 5);
	assert_int_equal(list->items[1].value->col, 5);

	assert_int_equal(yaml_get(root, "nothing")->value->kind, YAML_NULL);
	assert_int_equal(yaml_get(root, "tilde")->value->kind, YAML_NULL);
	assert_int_equal(yaml_get(root, "quoted")->value->kind, YAML_TEXT);
	/* Columns count characters, not bytes. */
	assert_int_equal(yaml_get(root, "r\xc3\xb6le")->value->col, 7);
	assert_null(yaml_get(root, "absent"));
	assert_null(yaml_get(list, "one"));
}

static void test_refuses(void **state)
{
	static const struct {
		const char *what, *text;
		int line, col;
		const char *part;
	} rows[] = {
		{"anchor", "a: &x 1\n", 1, 4, "anchors ('&x')"},
		{"anchor on a list", "a: &x [1]\n", 1, 4, "anchors"},
		{"anchor on a map", "a: &x {b: 1}\n", 1, 4, "anchors"},
		{"alias", "a: *x\n", 1, 4, "aliases ('*x')"},
		{"tag", "a: !!int 1\n", 1, 4, "tags"},
		{"own tag", "a: !include f\n", 1, 4, "tags"},
		{"merge", "a:\n  <<: {b: 1}\n", 2, 3, "merge keys"},
		{"duplicate", "a: 1\nb: 2\na: 3\n", 3, 1, "'a' is already given in line 1"},
		{"duplicate in a section", "s:\n  a: 1\n  a: 1\n", 3, 3, "line 2"},
		{"duplicate by quoting", "a: 1\n\"a\": 2\n", 2, 1, "line 1"},
		{"key is a list", "[1, 2]: x\n", 1, 1, "expected a key"},
		{"key is empty", "? \n: x\n", 1, 2, "expected a key"},
		{"two documents", "a: 1\n---\nb: 1\n", 2, 1, "second document"},
		{"tab", "a:\n\tb: 1\n", 2, 1, "tab"},
		{"tab after spaces", "a:\n  b: 1\n  \tc: 1\n", 3, 3, "tab"},
		{"unclosed", "a: [1, 2\n", 2, 1, "not YAML"},
		{"unclosed quote", "a: \"x\n", 2, 1, "not YAML"},
		{"no colon", "a: 1\nb\nc: 2\n", 3, 1, "not YAML"},
		{"two colons", "a: b: c\n", 1, 5, "second ': '"},
		{"bad indentation", "a: 1\n b: 2\n", 2, 3, "not YAML"},
		{"not UTF-8", "a: 1\nb: \xff\n", 2, 4, "UTF-8"},
		{"control character", "a: \x01\n", 1, 4, "UTF-8"},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		rw_cleanup(arena_freep) struct arena *a = arena_new();
		rw_cleanup(err_list_done) struct err_list errors = {0};
		const struct yaml_node *root = NULL;
		int r = yaml_read(rows[i].text, strlen(rows[i].text), "t", a, &root, &errors);
		if (r != -EINVAL || errors.n == 0)
			fail_msg("%s: gave %d", rows[i].what, r);
		const struct err *e = &errors.v[0];
		if (!strstr(e->text, rows[i].part) ||
			(rows[i].line && (e->line != rows[i].line || e->col != rows[i].col)) ||
			strcmp(e->file, "t") != 0)
			fail_msg("%s: %s:%d:%d: %s", rows[i].what, e->file, e->line, e->col,
				e->text);
	}
	/* NUL inside of a text */
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	rw_cleanup(err_list_done) struct err_list errors = {0};
	const struct yaml_node *root = NULL;
	const char nul[] = "a: \"x\\0y\"\n";
	assert_int_equal(yaml_read(nul, strlen(nul), "t", a, &root, &errors), -EINVAL);
	assert_non_null(strstr(errors.v[0].text, "NUL"));
}

/* After duplicate keys the first value counts and the tree is there, so that the reader can go on.
 */
static void test_duplicates_go_on(void **state)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	rw_cleanup(err_list_done) struct err_list errors = {0};
	rw_cleanup(str_done) struct str text = {0};
	const struct yaml_node *root = NULL;
	for (int i = 0; i < 5000; i++)
		str_addf(&text, "key%d: %d\n", i, i);
	str_add(&text, "key17: again\nkey4999: again\nkey2: again\n");
	assert_int_equal(yaml_read(text.s, text.n, "t", a, &root, &errors), -EINVAL);
	assert_int_equal(errors.n, 3);
	assert_int_equal(errors.v[0].line, 5001);
	assert_non_null(strstr(errors.v[0].text, "line 18"));
	assert_non_null(strstr(errors.v[1].text, "line 5000"));
	assert_int_equal(root->n, 5000);
	assert_string_equal(yaml_get(root, "key17")->value->text, "17");
}

static void test_limits(void **state)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	const struct yaml_node *root = NULL;
	{
		rw_cleanup(err_list_done) struct err_list errors = {0};
		rw_cleanup(str_done) struct str deep = {0};
		str_add(&deep, "a: ");
		for (int i = 0; i < YAML_MAX_DEPTH - 1; i++)
			str_add(&deep, "[");
		for (int i = 0; i < YAML_MAX_DEPTH - 1; i++)
			str_add(&deep, "]");
		assert_int_equal(yaml_read(deep.s, deep.n, "t", a, &root, &errors), 0);
	}
	{
		rw_cleanup(err_list_done) struct err_list errors = {0};
		rw_cleanup(str_done) struct str deep = {0};
		for (int i = 0; i < 5000; i++)
			str_add(&deep, "[");
		assert_int_equal(yaml_read(deep.s, deep.n, "t", a, &root, &errors), -EINVAL);
		assert_non_null(strstr(errors.v[0].text, "nested deeper than 32"));
	}
	{
		rw_cleanup(err_list_done) struct err_list errors = {0};
		assert_int_equal(
			yaml_read("", (size_t)YAML_MAX_BYTES + 1, "t", a, &root, &errors), -EINVAL);
		assert_non_null(strstr(errors.v[0].text, "16 MiB"));
	}
	{
		rw_cleanup(err_list_done) struct err_list errors = {0};
		rw_cleanup(str_done) struct str many = {0};
		str_add(&many, "[");
		for (int i = 0; i < YAML_MAX_NODES; i++)
			str_add(&many, "1,");
		str_add(&many, "]");
		assert_int_equal(yaml_read(many.s, many.n, "t", a, &root, &errors), -EINVAL);
		assert_non_null(strstr(errors.v[0].text, "more than 2500000 values"));
	}
	{
		rw_cleanup(err_list_done) struct err_list errors = {0};
		assert_int_equal(yaml_read("", 0, "t", a, &root, &errors), 0);
		assert_int_equal(root->kind, YAML_NULL);
		assert_int_equal(yaml_read("# nothing\n", 10, "t", a, &root, &errors), 0);
		assert_int_equal(root->kind, YAML_NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_refuses),
		cmocka_unit_test(test_duplicates_go_on),
		cmocka_unit_test(test_limits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
