/* usual_slot: what is usual at this time of the week, from a made database. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/clock.h"
#include "base/err.h"
#include "agent/client/client.h"
#include "agent/answers/steps/steps_document.h"
#include "db/model/golden.h"
#include "db/model/metric.h"
#include "db/open.h"
#include "db/store/store.h"

#define NOW_S 1700575200LL /* Tuesday, 21 November 2023, 14:00 UTC */
#define DAY_S (24 * 3600)

static char dir[] = "/tmp/rw-usual-XXXXXX", db[64];

static void keep_minutes(struct store *s, struct entities *t, const char *port, int64_t about_s,
	double value, int minutes)
{
	for (int minute = -minutes / 2; minute < minutes / 2; minute += 2) {
		const struct sample x = {.t_ns = (about_s + minute * 60) * NS_PER_S,
			.value = sample_of_f64(value + minute % 4),
			.entity = entities_intern(t, ENTITY_SIGNALS, port, PRIO_NONE),
			.metric = M_AGENT_SIGNAL,
			.source = SOURCE_AGENT};
		store_samples(s, &x, 1);
	}
}

static void keep_hour(
	struct store *s, struct entities *t, const char *port, int64_t about_s, double value)
{
	keep_minutes(s, t, port, about_s, value, 60);
}

/* "weekly" was kept for four weeks, one of them a bad one; "daily" for four days; "young" for two.
 */
static int begin(void **state)
{
	static const double weeks[] = {1000, 1010, 200, 990};
	struct entities *t = entities_new();
	struct store *s = NULL;
	struct err e = {0};
	if (!mkdtemp(dir))
		return -1;
	snprintf(db, sizeof(db), "%s/x.db", dir);
	const struct store_options o = {.path = db, .replay = true};
	if (db_store_open(&o, t, &s, &e) < 0)
		return -1;
	store_fabric(s, 0, "fabric: pod\ndevices:\n  - { name: leaf1, role: leaf }\n");
	for (int k = 3; k >= 0; k--)
		keep_hour(s, t, "weekly", NOW_S - 7 * (k + 1) * DAY_S, weeks[k]);
	for (int k = 4; k > 0; k--) {
		keep_hour(s, t, "weekly", NOW_S - k * DAY_S, 500);
		keep_hour(s, t, "daily", NOW_S - k * DAY_S, 500);
		if (k < 3)
			keep_hour(s, t, "young", NOW_S - k * DAY_S, 500);
	}
	keep_minutes(s, t, "young", NOW_S - 3 * DAY_S, 500, 16); /* eight values are no hour */
	const struct sample newest = {.t_ns = NOW_S * NS_PER_S,
		.value = 1,
		.entity = entities_intern(t, "leaf1", "p1", PRIO_NONE),
		.metric = M_PORT_OUT_OCTETS,
		.source = SOURCE_REPLAY};
	store_samples(s, &newest, 1);
	const int r = store_flush(s, &e);
	store_close(s);
	entities_free(t);
	return r;
}

static int end(void **state)
{
	char command[64];
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	return system(command);
}

static struct usual_slot usual_of(const char *port)
{
	const struct globals globals = {.config_path = "/nonexistent", .db = db};
	struct client client;
	struct usual_slot slot;
	struct err e = {0};
	assert_int_equal(client_open(&client, &globals, 900 * NS_PER_S, &e), 0);
	assert_int_equal(usual_slot_read(&client, port, NOW_S * NS_PER_S, &slot, &e), 0);
	client_done(&client);
	return slot;
}

/* Weeks come before days, and one bad week moves nothing. */
static void test_slots(void **state)
{
	const struct usual_slot weekly = usual_of("weekly"), daily = usual_of("daily");
	assert_string_equal(weekly.name, "Tuesday 14:00");
	assert_int_equal(weekly.slots, 4);
	assert_true(fabs(weekly.usual - 995) < 6);
	assert_true(weekly.spread < 30);
	assert_string_equal(daily.name, "14:00");
	assert_int_equal(daily.slots, 4);
	assert_true(fabs(daily.usual - 500) < 3);
}

static void test_too_few(void **state)
{
	assert_true(isnan(usual_of("young").usual));
	assert_string_equal(usual_of("young").name, "");
	assert_true(isnan(usual_of("never").usual));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_slots),
		cmocka_unit_test(test_too_few),
	};
	return cmocka_run_group_tests(tests, begin, end);
}
