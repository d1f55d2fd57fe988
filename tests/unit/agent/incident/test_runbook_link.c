/* test_runbook_link - where each cause's runbook is, by what the configuration names; and what a
 * site may write there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "agent/incident/incident.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/str.h"
#include "config/config.h"
#include "config/schema.h"

static void test_runbook_link_rows(void **state)
{
	static const struct {
		const char *pattern, *web_url, *link;
	} rows[] = {
		{NULL, NULL, "rocewatch runbook ecn_late"},
		{NULL, "https://noc/rw", "https://noc/rw/runbooks/ecn_late"},
		{NULL, "https://noc/", "https://noc/runbooks/ecn_late"},
		{"https://wiki/{cause}", "https://noc", "https://wiki/ecn_late"},
		{"https://wiki/r?q={cause}&t={cause}.", NULL,
			"https://wiki/r?q=ecn_late&t=ecn_late."},
		{"https://wiki/100%s/{cause}", NULL, "https://wiki/100%s/ecn_late"},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		rw_cleanup(str_done) struct str out = {0};
		runbook_link_add(&out, rows[i].pattern, rows[i].web_url, "ecn_late");
		assert_string_equal(out.s, rows[i].link);
	}
}

static void test_runbook_link_config(void **state)
{
	struct config config = {0};
	rw_cleanup(freep) char *none = runbook_link_of(NULL, "incast");
	rw_cleanup(freep) char *empty = runbook_link_of(&config, "incast");
	config.alerts.runbook_url = "https://wiki/{cause}";
	config.alerts.web_url = "https://noc";
	rw_cleanup(freep) char *site = runbook_link_of(&config, "incast");
	assert_string_equal(none, "rocewatch runbook incast");
	assert_string_equal(empty, "rocewatch runbook incast");
	assert_string_equal(site, "https://wiki/incast");
}

static void test_runbook_link_check(void **state)
{
	struct err e = {0};
	assert_int_equal(schema_check_runbook_url("https://wiki/{cause}", &e), 0);
	assert_true(schema_check_runbook_url("https://wiki/", &e) < 0);
	assert_non_null(strstr(e.text, "has no {cause}"));
	e = (struct err){0};
	assert_true(schema_check_runbook_url("javascript:{cause}", &e) < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_runbook_link_rows),
		cmocka_unit_test(test_runbook_link_config),
		cmocka_unit_test(test_runbook_link_check),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
