/* web_act: a pass is good once, for its owner and for a minute; only this server's own page may
 * act. */
#include "agent/web/web_act.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
/* cmocka needs those before it */
#include <cmocka.h>

#include "base/cleanup.h"

static void test_passes(void **state)
{
	static struct web_passes passes;
	char first[WEB_PASS_TEXT], second[WEB_PASS_TEXT], text[WEB_PASS_TEXT];
	const mono_t now = {5 * NS_PER_S}, late = {now.ns + WEB_PASS_NS + 1};
	assert_false(web_pass_take(&passes, "ann", "", now)); /* what an empty place holds */
	assert_false(web_pass_take(&passes, "ann", NULL, now));
	assert_int_equal(web_pass_give(&passes, "ann", now, first), 0);
	assert_int_equal(web_pass_give(&passes, "ann", now, second), 0);
	assert_int_equal(strlen(first), WEB_PASS_TEXT - 1);
	assert_string_not_equal(first, second);
	assert_false(web_pass_take(&passes, "bob", first, now));
	assert_true(web_pass_take(&passes, "ann", first, now));
	assert_false(web_pass_take(&passes, "ann", first, now)); /* replayed */
	assert_false(web_pass_take(&passes, "ann", second, late));
	web_pass_give(&passes, "ann", now, first);
	for (int i = 0; i < WEB_PASSES_MAX; i++)
		web_pass_give(&passes, "bob", now, text);
	assert_false(web_pass_take(&passes, "ann", first, now)); /* the oldest gave way */
	assert_true(web_pass_take(&passes, "bob", text, now));
}

static void test_own_page(void **state)
{
	static const struct {
		const char *site, *origin, *host;
		bool own;
	} rows[] = {
		{NULL, NULL, "noc.example:9421", true}, /* no browser */
		{"same-origin", "http://noc.example:9421", "noc.example:9421", true},
		{NULL, "https://NOC.example", "noc.example", true}, /* a proxy ends TLS */
		{"same-site", "https://noc.example", "noc.example", false},
		{"none", NULL, "noc.example", false},
		{"cross-site", NULL, "noc.example", false},
		{NULL, "https://evil.example", "noc.example", false},
		{NULL, "https://noc.example.evil.example", "noc.example", false},
		{NULL, "http://noc.example:9422", "noc.example:9421", false},
		{NULL, "null", "noc.example", false},
		{NULL, "", "noc.example", false},
		{NULL, "http://noc.example", NULL, false},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		const struct http_request request = {
			.fetch_site = rows[i].site, .origin = rows[i].origin, .host = rows[i].host};
		if (web_act_is_own(&request) != rows[i].own)
			fail_msg("row %zu", i);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_passes),
		cmocka_unit_test(test_own_page),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
