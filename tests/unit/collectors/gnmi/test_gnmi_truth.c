/* What is said of a device that is there and delivers something else than its profile asks for:
 * paths that nobody knows, requests that are taken without a value, counters that are refused. */
#include "tests/unit/collectors/gnmi/gnmi_world.h"

#include <errno.h>
#include <string.h>
#include "base/cleanup.h"
#include "base/str.h"

#define PLAIN "tls: { off: true }"
#define QUICK "interval: 100ms, timeout: 2s, slow_interval: 10m"
#define COUNTER "/interfaces/interface[name=Ethernet1]/state/counters/in-octets"
#define QMON "/junos/system/linecard/qmon-sw/cos/interface[name=et-0/0/0]/bytes"

/* A device as it answers: counters of interfaces, or something else there; nothing below /qos. */
struct answers {
	const char *path; /* what comes in place of the interfaces; NULL: nothing */
	const char *management; /* its port of management; NULL: not told */
	bool refused; /* interfaces are an unknown path */
};

static int answer(void *arg, const char *target, const char *origin, const char *path,
	uint64_t round, gnmi_server_emit_fn *emit, void *ctx)
{
	const struct answers *answers = arg;
	const bool interfaces = strncmp(path, "/interfaces", 11) == 0;
	char text[24];
	if (interfaces && answers->refused)
		return -ENOENT;
	if (strstr(path, "state/management")) {
		if (!answers->management)
			return -ENOENT;
		emit(ctx, &(struct speak_value){answers->management, SPEAK_BOOL, "true"});
		return 1;
	}
	if (!interfaces || !answers->path)
		return 0;
	snprintf(text, sizeof(text), "%llu", 1000 + 10 * (unsigned long long)round);
	emit(ctx, &(struct speak_value){answers->path, SPEAK_UINT, text});
	return 1;
}

static void truth_open(struct world *w, struct answers *answers)
{
	world_open(w, &(struct gnmi_server_options){.values = answer, .values_arg = answers}, NULL);
	world_target(w, "profile: openconfig", PLAIN, QUICK);
}

static const char *reason_of(const struct world *w)
{
	return gnmi_target_state(w->target)->reason;
}

static bool has_reason(struct world *w)
{
	return gnmi_target_state(w->target)->state == TARGET_UP && *reason_of(w);
}

static bool has_no_reason(struct world *w)
{
	return gnmi_target_state(w->target)->state == TARGET_UP && !*reason_of(w);
}

static bool many_octets(struct world *w)
{
	return world_count(w, "port.in_octets", "Ethernet1", -1) >= 40;
}

struct outcomes {
	const char *table;
	enum collector_outcome outcome;
	size_t n;
};

static void outcome_take(void *arg, const struct collector_value *value)
{
	struct outcomes *outcomes = arg;
	if (!str_eq(value->table, outcomes->table))
		return;
	outcomes->outcome = value->outcome;
	outcomes->n++;
}

static enum collector_outcome outcome_of(const struct world *w, const char *table)
{
	struct outcomes outcomes = {.table = table};
	gnmi_target_values(w->target, outcome_take, &outcomes);
	assert_true(outcomes.n > 0);
	return outcomes.outcome;
}

struct words {
	struct str text;
};

static void word_take(void *arg, const char *key, const char *unit, double value)
{
	struct words *words = arg;
	if (strchr(key, '/'))
		str_addf(&words->text, "%s\n", key);
}

static void words_hold(const struct world *w, const char *what)
{
	struct words words = {0};
	collector_gnmi.figures(w->target, word_take, &words);
	if (!words.text.s || !strstr(words.text.s, what))
		fail_msg("'%s' is not in: %s", what, str_or(words.text.s, ""));
	str_done(&words.text);
}

/* Forty intervals: the stream without values is asked in each of its ways once, and then left
 * alone. It is not silent, and nothing is asked anew. */
static void test_has_none(void **state)
{
	(void)state;
	struct world w;
	struct answers answers = {.path = COUNTER};
	truth_open(&w, &answers);
	assert_true(world_until(&w, many_octets, 60));
	assert_int_equal(gnmi_target_counts(w.target).stale, 0);
	assert_int_equal(outcome_of(&w, "queues"), OUTCOME_HAS_NONE);
	assert_int_equal(outcome_of(&w, "interfaces"), OUTCOME_FINE);
	words_hold(&w, "has_none/queues");
	assert_true(world_until(&w, has_no_reason, 30)); /* values come */
	const unsigned calls = gnmi_server_counts(w.server).subscribes;
	if (calls > 12)
		fail_msg("%u calls", calls);
	assert_int_equal(w.downs, 0);
	world_end(&w);
}

static void test_has_none_at_all(void **state)
{
	(void)state;
	struct world w;
	struct answers answers = {.path = NULL};
	truth_open(&w, &answers);
	assert_true(world_until(&w, has_reason, 30));
	assert_non_null(strstr(reason_of(&w), "has none of their values"));
	assert_int_equal(gnmi_target_state(w.target)->reason_code, REASON_GNMI_HAS_NONE);
	world_end(&w);
}

static void test_unknown_paths(void **state)
{
	(void)state;
	struct world w;
	struct answers answers = {.path = QMON};
	truth_open(&w, &answers);
	assert_true(world_until(&w, has_reason, 30));
	/* as many as streams that ask below /interfaces */
	if (!strstr(reason_of(&w),
		    " paths that profile openconfig does not know, e.g. " QMON ", and no value"))
		fail_msg("%s", reason_of(&w));
	assert_true(gnmi_target_counts(w.target).unknown_paths >= 1);
	words_hold(&w, "unknown_path/" QMON);
	/* what the database keeps leads back to the next step */
	assert_non_null(strstr(reason_next_step("gnmi", reason_of(&w)), "profile:"));
	world_end(&w);
}

/* The counters are refused, another stream is taken: the target is up, and says why it has no
 * values. */
static void test_refused_counters(void **state)
{
	(void)state;
	struct world w;
	struct answers answers = {.refused = true};
	truth_open(&w, &answers);
	assert_true(world_until(&w, has_reason, 30));
	if (!strstr(reason_of(&w), "interfaces"))
		fail_msg("%s", reason_of(&w));
	assert_int_equal(outcome_of(&w, "interfaces"), OUTCOME_REFUSED);
	words_hold(&w, "trouble/127.0.0.1");
	world_end(&w);
}

static bool has_outside(struct world *w)
{
	return w->n_outside > 0;
}

/* A port of management that no name gives away: the device says what it is. */
static void test_management(void **state)
{
	(void)state;
	struct world w;
	struct answers answers = {
		.path = COUNTER, .management = "/interfaces/interface[name=ma1]/state/management"};
	truth_open(&w, &answers);
	assert_true(world_until(&w, has_outside, 30));
	assert_int_equal(w.n_outside, 1);
	world_end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_management),
		cmocka_unit_test(test_has_none),
		cmocka_unit_test(test_has_none_at_all),
		cmocka_unit_test(test_unknown_paths),
		cmocka_unit_test(test_refused_counters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
