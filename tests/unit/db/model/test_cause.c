/* test_cause - the table of causes: rows are complete, each is reported by the code that it names,
 * words that it does not have survive, and no cause is written as a word anywhere else. */
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "db/model/cause.h"

/* Sources that match @pattern, one after the other, comments and all. */
static void read_all(const char *pattern, struct str *ret)
{
	glob_t found;
	assert_int_equal(glob(pattern, 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		FILE *f = fopen(found.gl_pathv[i], "r");
		char buf[4096];
		size_t n;
		assert_non_null(f);
		while ((n = fread(buf, 1, sizeof(buf), f)) > 0)
			str_addn(ret, buf, n);
		fclose(f);
	}
	globfree(&found);
}

static bool has_word(const char *text, const char *word)
{
	const size_t n = strlen(word);
	for (const char *at = text; (at = strstr(at, word)); at += n) {
		const char after = at[n];
		if (!(after == '_' || (after >= 'A' && after <= 'Z') ||
			    (after >= '0' && after <= '9')))
			return true;
	}
	return false;
}

static void test_rows(void **state)
{
	for (int i = CAUSE_NONE + 1; i < CAUSE_COUNT; i++) {
		const struct cause_info *info = cause_info((enum cause)i);
		if (!info->name || !info->name[0] || !info->means[0] || !info->needs[0])
			fail_msg("row %d (%s) is not complete", i, info->name);
		for (size_t k = 0; info->name[k]; k++)
			if (!(info->name[k] == '_' ||
				    (info->name[k] >= 'a' && info->name[k] <= 'z') ||
				    (info->name[k] >= '0' && info->name[k] <= '9')))
				fail_msg("%s: a cause is a word of small letters", info->name);
		assert_int_equal(cause_by_name(info->name), i);
		const size_t last = strlen(info->means) - 1;
		if (info->means[last] == '.')
			fail_msg("%s: no full stop, it stands in tables", info->name);
		for (size_t k = 0; k < CAUSE_STEPS_MAX && info->steps[k].text; k++)
			if (!info->steps[k].risk || !info->steps[k].risk[0])
				fail_msg("%s: step %zu has no risk", info->name, k + 1);
		if (info->tune_row && !info->steps[0].text)
			fail_msg("%s holds up tuning and has no step to take first", info->name);
	}
}

/* Each row is used where it says; what is planned is used nowhere. */
static void test_reported(void **state)
{
	rw_cleanup(str_done) struct str detect = {0}, tune = {0}, agent = {0};
	read_all("analyzers/detect/*.c", &detect);
	read_all("analyzers/tune/tune_[rf]*.c", &tune);
	read_all("agent/daemon/tune_agent.c", &agent);
	for (int i = CAUSE_NONE + 1; i < CAUSE_COUNT; i++) {
		const struct cause_info *info = cause_info((enum cause)i);
		const bool planned = info->flags & CAUSE_IS_PLANNED;
		bool detected = false, tuned = false, by_agent = false;
		char by[256];
		snprintf(by, sizeof(by), "%s", info->reported_by);
		for (char *save, *word = strtok_r(by, " ", &save); word;
			word = strtok_r(NULL, " ", &save)) {
			char name[300];
			snprintf(name, sizeof(name), ".name = \"%s\"", word);
			if (str_eq(word, "tuning"))
				tuned = true;
			else if (str_eq(word, "agent"))
				by_agent = true;
			else if (strstr(detect.s, name))
				detected = true;
			else
				fail_msg("%s: there is no analyzer '%s'", info->name, word);
		}
		if (detected != has_word(detect.s, info->symbol))
			fail_msg("%s: detectors %s", info->name,
				detected ? "do not report it"
					 : "report it, its row does not say so");
		if (tuned && !has_word(tune.s, info->symbol))
			fail_msg("%s: threshold review does not report it", info->name);
		if (by_agent && !has_word(agent.s, info->symbol))
			fail_msg("%s: the agent does not report it", info->name);
		if (planned == (detected || tuned || by_agent))
			fail_msg("%s: either planned or reported", info->name);
	}
}

/* Only cause.def spells a cause; other code uses the number. The words in @shared are names of
 * other things as well: analyzers, an option, a kind of trap, "not known", kinds of packets. */
static void test_spelled_once(void **state)
{
	static const char *const patterns[] = {"agent/*/*.c", "analyzers/*.c", "analyzers/*/*.c",
		"collectors/*/*.c", "config/*.c", "config/*/*.c", "db/*/*.c"};
	static const char *const shared[] = {"ecmp_imbalance", "ecmp_polarization", "link_flap",
		"lossless_loss", "packet_loss", "straggler", "cross_rail", "pfc_storm", "unknown",
		"rocev1", "ect_missing"};
	rw_cleanup(str_done) struct str source = {0};
	for (size_t i = 0; i < rw_countof(patterns); i++)
		read_all(patterns[i], &source);
	for (int i = CAUSE_NONE + 1; i < CAUSE_COUNT; i++) {
		const char *name = cause_name((enum cause)i);
		bool is_shared = false;
		for (size_t k = 0; k < rw_countof(shared); k++)
			is_shared = is_shared || str_eq(shared[k], name);
		char literal[80];
		snprintf(literal, sizeof(literal), "\"%s\"", name);
		if (!is_shared && strstr(source.s, literal))
			fail_msg("%s is spelled outside cause.def: use its number", literal);
	}
}

static void test_foreign(void **state)
{
	assert_int_equal(cause_by_name(NULL), CAUSE_NONE);
	assert_int_equal(cause_by_name(""), CAUSE_NONE);
	assert_null(cause_name(CAUSE_NONE));
	const enum cause first = cause_by_name("cosmic_rays"), second = cause_by_name("gremlins");
	assert_true(first >= CAUSE_COUNT && second >= CAUSE_COUNT && first != second);
	assert_int_equal(cause_by_name("cosmic_rays"), first);
	assert_int_equal(cause_by_name("gremlins"), second);
	const enum cause third = cause_by_name("aliens"); /* in no order of names */
	assert_true(third != first && third != second);
	assert_string_equal(cause_name(third), "aliens");
	assert_string_equal(cause_name(first), "cosmic_rays");
	assert_string_equal(cause_name(second), "gremlins");
	assert_true(cause_has(first, CAUSE_MAY_COST));
	assert_false(cause_has(first, CAUSE_IS_SYMPTOM));
	assert_null(cause_info(first)->steps[0].text);
	assert_int_equal(cause_explains(first, CAUSE_UNKNOWN), 0);
	assert_int_equal(cause_explains(CAUSE_DEVICE_DOWN, first), 0);
}

static void test_explains(void **state)
{
	static const struct {
		enum cause cause, other;
		unsigned near;
	} rows[] = {
		{CAUSE_DEVICE_DOWN, CAUSE_LINK_FLAP, NEAR_DEVICE | NEAR_GROUP},
		{CAUSE_DEVICE_DOWN, CAUSE_UNKNOWN, NEAR_FABRIC},
		{CAUSE_DEVICE_DOWN, CAUSE_PFC_STORM, 0},
		{CAUSE_ECN_LATE, CAUSE_INCAST, NEAR_FABRIC},
		{CAUSE_INCAST, CAUSE_ECN_LATE, 0},
		{CAUSE_PFC_STORM, CAUSE_MISSING_RAIL, NEAR_HOST | NEAR_LINK | NEAR_FABRIC},
		{CAUSE_ECMP_POLARIZATION, CAUSE_ECMP_IMBALANCE, NEAR_FABRIC},
		{CAUSE_PATH_ASYMMETRY, CAUSE_ECMP_IMBALANCE,
			NEAR_GROUP | NEAR_DEVICE | NEAR_BEYOND},
		{CAUSE_UNKNOWN, CAUSE_UNKNOWN, NEAR_FABRIC},
		{CAUSE_NONE, CAUSE_NONE, 0},
	};
	for (size_t i = 0; i < rw_countof(rows); i++)
		if (cause_explains(rows[i].cause, rows[i].other) != rows[i].near)
			fail_msg("row %zu: 0x%x instead of 0x%x", i,
				cause_explains(rows[i].cause, rows[i].other), rows[i].near);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_reported),
		cmocka_unit_test(test_spelled_once),
		cmocka_unit_test(test_foreign),
		cmocka_unit_test(test_explains),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
