/* verdict: one state and one sentence of incidents and of what is known, whatever the order of the
 * rows is. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "agent/answers/common/agent_state.h"
#include "agent/answers/status/status.h"
#include "agent/answers/status/verdict.h"
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"

#define STORM                                                                                      \
	{                                                                                          \
		.id = "storm", .severity = "critical", .headline = "n1 pauses",                    \
		.usd_per_hour = 90, .usd_total = 9                                                 \
	}
#define PART_OF_STORM                                                                              \
	{                                                                                          \
		.id = "part", .severity = "warning", .headline = "s1 waits", .usd_per_hour = 80,   \
		.usd_total = 8, .parent = "storm"                                                  \
	}
#define SILENT                                                                                     \
	{                                                                                          \
		.id = "storm", .severity = "critical", .headline = "n1 pauses",                    \
		.usd_per_hour = 90, .usd_total = 9, .silenced = "by ann until noon: fans"          \
	}
#define LATE                                                                                       \
	{                                                                                          \
		.id = "late", .severity = "warning", .headline = "Kmin too high",                  \
		.usd_per_hour = NAN, .usd_total = NAN                                              \
	}
#define DRIFT                                                                                      \
	{                                                                                          \
		.id = "drift", .severity = "info", .summary = "a setting changed",                 \
		.usd_per_hour = NAN, .usd_total = NAN                                              \
	}

enum { INCIDENTS_MAX = 4 };

static const struct row {
	const char *what;
	struct open_incident incidents[INCIDENTS_MAX]; /* up to the one without an id */
	struct status_quality quality;
	struct agent_state agent;
	bool elsewhere, alarm, nothing;
	const char *down_why;
	int64_t seconds; /* of data; 0: as long as it takes */
	enum golden_state want;
	const char *says;
	double usd_per_hour;
} rows[] = {
	{"nothing", .want = GOLDEN_OK, .says = "no incident is open", .usd_per_hour = NAN},
	{"one", {STORM}, .want = GOLDEN_CRITICAL, .says = "1 incident is open, $90/h: n1 pauses",
		.usd_per_hour = 90},
	{"an information", {DRIFT}, .want = GOLDEN_OK,
		.says = "1 incident is open, for information: a setting changed",
		.usd_per_hour = NAN},
	{"several", {DRIFT, LATE, STORM}, .want = GOLDEN_CRITICAL,
		.says = "3 incidents are open, $90/h, the worst: n1 pauses", .usd_per_hour = 90},
	{"two warnings without a price: the surer one, as in lists",
		{{.id = "a",
			 .severity = "warning",
			 .headline = "x",
			 .usd_per_hour = NAN,
			 .confidence_ratio = 0.5},
			{.id = "b",
				.severity = "warning",
				.headline = "y",
				.usd_per_hour = NAN,
				.confidence_ratio = 0.9}},
		.want = GOLDEN_WARNING, .says = "2 incidents are open, the worst: y",
		.usd_per_hour = NAN},
	{"a part costs nothing of its own", {PART_OF_STORM, STORM}, .want = GOLDEN_CRITICAL,
		.says = "1 incident (with 1 part) is open, $90/h: n1 pauses", .usd_per_hour = 90},
	{"the parent has ended", {PART_OF_STORM}, .want = GOLDEN_WARNING,
		.says = "1 incident is open, $80/h: s1 waits", .usd_per_hour = 80},
	{"severity of the past unknown", {{.id = "old", .headline = "x", .usd_per_hour = NAN}},
		.want = GOLDEN_WARNING, .says = "1 incident is open: x", .usd_per_hour = NAN},
	{"silenced", {SILENT}, .want = GOLDEN_OK, .says = "no incident is open; 1 silenced",
		.usd_per_hour = 90},
	{"silenced, beside a warning", {SILENT, LATE}, .want = GOLDEN_WARNING,
		.says = "1 incident is open, $90/h: Kmin too high; 1 silenced", .usd_per_hour = 90},
	{"a part of what is silenced", {SILENT, PART_OF_STORM}, .want = GOLDEN_WARNING,
		.says = "1 incident is open, $90/h: s1 waits; 1 silenced", .usd_per_hour = 90},
	{"nothing is delivered that a detector reads", .nothing = true, .want = GOLDEN_UNKNOWN,
		.says = "nothing is judged: no device delivers a counter that a detector reads",
		.usd_per_hour = NAN},
	{"nothing to judge, beside a storm", {STORM}, .nothing = true, .want = GOLDEN_CRITICAL,
		.says = "1 incident is open, $90/h: n1 pauses", .usd_per_hour = 90},
	{"a device is down", .quality = {.down = 1}, .want = GOLDEN_WARNING,
		.says = "1 device or capture down; no incident is open", .usd_per_hour = NAN},
	{"down, beside an information", {DRIFT}, .quality = {.down = 2}, .down_why = "no incident",
		.want = GOLDEN_WARNING,
		.says = "2 devices or captures down, and no incident; 1 incident is open, for "
			"information: a setting changed",
		.usd_per_hour = NAN},
	{"down, beside a warning", {LATE}, .quality = {.down = 1}, .want = GOLDEN_WARNING,
		.says = "1 incident is open: Kmin too high", .usd_per_hour = NAN},
	{"not known to be up", .quality = {.captures_unknown = 1}, .want = GOLDEN_UNKNOWN,
		.says = "1 device or capture not known to be up; no incident is open",
		.usd_per_hour = NAN},
	{"the first window", .seconds = 10, .want = GOLDEN_UNKNOWN,
		.says = "nothing is judged yet: the first window of data is not complete",
		.usd_per_hour = NAN},
	{"judged by another", .elsewhere = true, .want = GOLDEN_UNKNOWN,
		.says = "incidents are in the judge's database", .usd_per_hour = NAN},
	{"the store cannot", .alarm = true, .want = GOLDEN_WARNING,
		.says = "store: an hour cannot be packed, which is no incident; no incident is "
			"open",
		.usd_per_hour = NAN},
	{"the store cannot, beside a storm", {STORM}, .alarm = true, .want = GOLDEN_CRITICAL,
		.says = "1 incident is open, $90/h: n1 pauses", .usd_per_hour = 90},
	{"the data ended", {STORM}, .agent = {.stale = true, .past = true}, .want = GOLDEN_UNKNOWN,
		.says = "the past", .usd_per_hour = 90},
};

static const struct store_alarm one_alarm = {
	"critical", "store", "an hour cannot be packed", "see"};

static size_t count_of(const struct row *row)
{
	size_t n = 0;
	while (n < INCIDENTS_MAX && row->incidents[n].id)
		n++;
	return n;
}

static void judge(const struct row *row, const struct open_incident *incidents)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct agent_state agent = row->agent;
	struct status_quality quality = row->quality;
	struct verdict verdict;
	const int64_t seconds = row->seconds ? row->seconds : 3600;
	agent.has_data = true;
	agent.data_time.ns = seconds * NS_PER_S;
	agent.data_age_s = NAN;
	const struct verdict_in in = {.incidents = incidents,
		.n_incidents = count_of(row),
		.quality = &quality,
		.agent = &agent,
		.window_ns = 20 * NS_PER_S,
		.alarms = &one_alarm,
		.n_alarms = row->alarm,
		.down_why = row->down_why,
		.judged_elsewhere = row->elsewhere,
		.nothing_to_judge = row->nothing};
	verdict_of(&in, a, &verdict);
	const bool begins = strncmp(verdict.why, row->says, strlen(row->says)) == 0;
	if (verdict.state != row->want || !begins)
		fail_msg("%s: %s, '%s'; expected '%s'", row->what, golden_state_name(verdict.state),
			verdict.why, row->says);
	const double usd = verdict.money.usd_per_hour;
	if (isnan(usd) != isnan(row->usd_per_hour) || (!isnan(usd) && usd != row->usd_per_hour))
		fail_msg("%s: %g USD/h, expected %g", row->what, usd, row->usd_per_hour);
}

static void each_row(void **state)
{
	for (size_t i = 0; i < rw_countof(rows); i++)
		judge(&rows[i], rows[i].incidents);
}

/* The wall sorts by money, `status` by severity: the sentence is the same. */
static void any_order(void **state)
{
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct open_incident turned[INCIDENTS_MAX] = {0};
		const size_t n = count_of(&rows[i]);
		for (size_t k = 0; k < n; k++)
			turned[k] = rows[i].incidents[n - 1 - k];
		judge(&rows[i], turned);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_row),
		cmocka_unit_test(any_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
