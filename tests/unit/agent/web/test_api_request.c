/* api_request: what a client sent, read or refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "agent/web/api_request.h"

static const struct {
	const char *what, *text;
	int rc;
	const char *path;
	const char *given; /* "name=value;" in order */
} targets[] = {
	{"plain", "/api/v1/status", 0, "/api/v1/status", ""},
	{"parameters are sorted", "/q?b=2&a=1", 0, "/q", "a=1;b=2;"},
	{"escapes", "/a%2Fb?c=%C3%A4%26", 0, "/a/b", "c=\xc3\xa4&;"},
	{"a plus is a blank in the query only", "/a+b?c=d+e", 0, "/a+b", "c=d e;"},
	{"a name without value", "/q?all", 0, "/q", "all=;"},
	{"nothing between two &", "/q?&&a=1&", 0, "/q", "a=1;"},
	{"a fragment is cut off", "/q#?a=1", 0, "/q", ""},
	{"a second = belongs to the value", "/q?a=b=c", 0, "/q", "a=b=c;"},
	{"no path", "", -EINVAL, NULL, NULL},
	{"a path without /", "q", -EINVAL, NULL, NULL},
	{"absolute form", "http://h/", -EINVAL, NULL, NULL},
	{"half an escape", "/%4", -EINVAL, NULL, NULL},
	{"no escape", "/q?a=%zz", -EINVAL, NULL, NULL},
	{"NUL", "/q?a=%00", -EINVAL, NULL, NULL},
	{"a line's end", "/q%0d%0aX: y", -EINVAL, NULL, NULL},
	{"a parameter without name", "/q?=1", -EINVAL, NULL, NULL},
	{"given twice", "/q?a=1&b=2&a=3", -EINVAL, NULL, NULL},
	{"given twice, once escaped", "/q?a=1&%61=3", -EINVAL, NULL, NULL},
};

static void test_target(void **state)
{
	for (size_t i = 0; i < rw_countof(targets); i++) {
		static struct api_target target;
		struct err e = {0};
		rw_cleanup(str_done) struct str given = {0};
		const int rc = api_target_read(targets[i].text, &target, &e);
		if (rc != targets[i].rc)
			fail_msg("%s: %d, %s", targets[i].what, rc, e.text);
		if (rc < 0) {
			assert_true(*e.text);
			continue;
		}
		str_add(&given, "");
		for (size_t k = 0; k < target.n_given; k++)
			str_addf(&given, "%s=%s;", target.given[k].name, target.given[k].value);
		if (!str_eq(target.path, targets[i].path) || !str_eq(given.s, targets[i].given))
			fail_msg("%s: '%s' '%s'", targets[i].what, target.path, given.s);
	}
}

static void test_target_limits(void **state)
{
	static struct api_target target;
	rw_cleanup(str_done) struct str text = {0};
	str_add(&text, "/q?a=");
	while (text.n < API_TARGET_MAX)
		str_add(&text, "x");
	assert_int_equal(
		api_target_read(text.s, &target, NULL), -EINVAL); /* the value is too long */
	str_add(&text, "x");
	assert_int_equal(api_target_read(text.s, &target, NULL), -E2BIG);
	rw_cleanup(str_done) struct str many = {0};
	str_add(&many, "/q?");
	for (int i = 0; i < API_PARAMS_MAX; i++)
		str_addf(&many, "p%d=%d&", i, i);
	assert_int_equal(api_target_read(many.s, &target, NULL), 0);
	assert_int_equal(target.n_given, API_PARAMS_MAX);
	str_add(&many, "one=more");
	assert_int_equal(api_target_read(many.s, &target, NULL), -EINVAL);
	/* Escapes take three bytes each: the longest target still fits. */
	rw_cleanup(str_done) struct str path = {0};
	str_add(&path, "/");
	while (path.n + 3 <= API_TARGET_MAX)
		str_add(&path, "%41");
	assert_int_equal(api_target_read(path.s, &target, NULL), 0);
}

/* Names without values take a byte more each than they have in the target: what has no place is
 * refused, down to the empty value behind the last name. */
static void test_texts_fill_their_place(void **state)
{
	static struct api_target target;
	static const struct {
		size_t n_last;
		bool taken;
	} rows[] = {{4060, true}, {4061, false}, {4062, false}, {4063, false}};
	assert_int_equal(sizeof(target.text), 4098);
	for (size_t i = 0; i < rw_countof(rows); i++) {
		rw_cleanup(str_done) struct str text = {0};
		str_add(&text, "/?p0&p1&p2&p3&p4&p5&p6&p7&p8&");
		for (size_t k = 0; k < rows[i].n_last; k++)
			str_add(&text, "x");
		assert_true(text.n <= API_TARGET_MAX);
		if ((api_target_read(text.s, &target, NULL) == 0) != rows[i].taken)
			fail_msg("a last name of %zu bytes", rows[i].n_last);
	}
}

static void test_bearer(void **state)
{
	static const struct {
		const char *header, *token;
	} rows[] = {
		{"Bearer abc", "abc"},
		{"bearer   abc  ", "abc"},
		{"Bearer", NULL},
		{"Bearer ", NULL},
		{"Basic abc", NULL},
		{"", NULL},
		{NULL, NULL},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		size_t n = 0;
		const char *token = api_bearer(rows[i].header, &n);
		if (!rows[i].token)
			assert_null(token);
		else
			assert_true(
				n == strlen(rows[i].token) && memcmp(token, rows[i].token, n) == 0);
	}
}

static void test_host(void **state)
{
	static const struct {
		const char *header, *host;
	} rows[] = {
		{"Localhost", "localhost"},
		{"localhost:80", "localhost"},
		{"[::1]:9421", "::1"},
		{"[::1]", "::1"},
		{"127.0.0.1:0", "127.0.0.1"},
		{"", NULL},
		{":80", NULL},
		{"[::1", NULL},
		{"[::1]x", NULL},
		{"a:b", NULL},
		{"a:123456", NULL},
		{"a b", NULL},
		{"a/b", NULL},
		{"a@b", NULL},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		char host[64];
		const int rc = api_host(rows[i].header, host, sizeof(host));
		if ((rc == 0) != (rows[i].host != NULL))
			fail_msg("'%s': %d", rows[i].header, rc);
		if (rc == 0)
			assert_string_equal(host, rows[i].host);
	}
	char small[4];
	assert_int_equal(api_host("abcd", small, sizeof(small)), -EINVAL);
}

static void test_etag(void **state)
{
	static const char tag[] = "\"abc\"";
	assert_true(api_etag_matches("\"abc\"", tag));
	assert_true(api_etag_matches("W/\"abc\"", tag));
	assert_true(api_etag_matches("\"x\" , \"abc\"", tag));
	assert_true(api_etag_matches("*", tag));
	assert_false(api_etag_matches("\"abcd\"", tag));
	assert_false(api_etag_matches("abc", tag));
	assert_false(api_etag_matches("", tag));
	assert_false(api_etag_matches(NULL, tag));
}

static void test_tokens(void **state)
{
	static const struct {
		const char *line;
		int rc;
		const char *name, *token;
		bool may_ack;
	} rows[] = {
		{"0123456789abcdef\n", 1, "", "0123456789abcdef"},
		{"  noc \t 0123456789abcdef  \r\n", 1, "noc", "0123456789abcdef"},
		{"ann 0123456789abcdef  may:ack\n", 1, "ann", "0123456789abcdef", true},
		{"ann 0123456789abcdef may:all", -EINVAL, NULL, NULL},
		{"ann 0123456789abcdef may:ack x", -EINVAL, NULL, NULL},
		{"a;b 0123456789abcdef may:ack", -EINVAL, NULL, NULL},
		{"0123456789abcdef may:ack", -EINVAL, NULL, NULL},
		{"", 0, NULL, NULL},
		{"   ", 0, NULL, NULL},
		{"# 0123456789abcdef", 0, NULL, NULL},
		{"short", -EINVAL, NULL, NULL},
		{"noc short", -EINVAL, NULL, NULL},
		{"a b 0123456789abcdef", -EINVAL, NULL, NULL},
		{"0123456789abcd\xc3\xa4", -EINVAL, NULL, NULL},
		{"n\x11oc 0123456789abcdef", -EINVAL, NULL, NULL},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		char line[80];
		struct api_token token = {0};
		struct err e = {0};
		snprintf(line, sizeof(line), "%s", rows[i].line);
		const int rc = api_token_line(line, &token, &e);
		if (rc != rows[i].rc)
			fail_msg("'%s': %d %s", rows[i].line, rc, e.text);
		if (rc == 1) {
			assert_string_equal(token.name, rows[i].name);
			assert_string_equal(token.text, rows[i].token);
			assert_int_equal(token.may_ack, rows[i].may_ack);
		}
		/* A mistake in a secret does not repeat it. */
		assert_null(strstr(e.text, "0123456789"));
		assert_null(strstr(e.text, "short"));
	}
	assert_true(api_token_equal("abc", 3, "abc", 3));
	assert_false(api_token_equal("abc", 3, "abd", 3));
	assert_false(api_token_equal("abc", 3, "abcd", 4));
	assert_false(api_token_equal("abcabc", 6, "abc", 3));
	assert_false(api_token_equal("ab", 2, "abc", 3));
	assert_false(api_token_equal("", 0, "abc", 3));
	assert_false(api_token_equal("abc", 3, "", 0));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_target),
		cmocka_unit_test(test_target_limits),
		cmocka_unit_test(test_texts_fill_their_place),
		cmocka_unit_test(test_bearer),
		cmocka_unit_test(test_host),
		cmocka_unit_test(test_etag),
		cmocka_unit_test(test_tokens),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
