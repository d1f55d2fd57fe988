/* golden - which causes show in which signal: each cause stands somewhere. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/str.h"
#include "db/model/golden.h"

#define NO_SIGNAL(...) __VA_ARGS__
static const enum cause nowhere[] = {
#include "db/model/golden.def"
};

static bool is_said_not_to(enum cause cause)
{
	for (size_t i = 0; i < sizeof(nowhere) / sizeof(nowhere[0]); i++)
		if (nowhere[i] == cause)
			return true;
	return false;
}

static void test_every_cause_shows_or_is_said_not_to(void **state)
{
	for (unsigned cause = CAUSE_NONE + 1; cause < CAUSE_COUNT; cause++) {
		bool shown = false;
		for (unsigned signal = 0; signal < GOLDEN_COUNT; signal++)
			shown |= golden_shows(signal, cause);
		if (shown == is_said_not_to(cause))
			fail_msg("golden.def: %s stands %s", cause_name(cause),
				shown ? "in NO_SIGNAL and in a signal" : "nowhere");
	}
}

static void test_names(void **state)
{
	for (unsigned i = 0; i < GOLDEN_COUNT; i++) {
		assert_true(strlen(golden_info(i)->title) <= 22);
		for (unsigned k = 0; k < i; k++)
			assert_false(str_eq(golden_info(i)->name, golden_info(k)->name));
	}
	assert_null(golden_info(GOLDEN_COUNT));
	char port[GOLDEN_PORT_MAX];
	assert_string_equal(golden_job_port(port, "llama", GOLDEN_JOB_STEP), "job:llama step");
}

static void test_an_incident_is_never_good(void **state)
{
	assert_int_equal(golden_state_of(SEV_CRITICAL), GOLDEN_CRITICAL);
	assert_int_equal(golden_state_of(SEV_WARNING), GOLDEN_WARNING);
	assert_int_equal(golden_state_of(SEV_INFO), GOLDEN_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_cause_shows_or_is_said_not_to),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_an_incident_is_never_good),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
