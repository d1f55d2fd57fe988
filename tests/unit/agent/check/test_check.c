/* check: the ranges of the monitoring-plugins guidelines, the line, and what the check of ECMP
 * groups says of a report's sums. */
#include <errno.h>
#include <math.h>
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
#include "base/clock.h"
#include "base/err.h"
#include "agent/check/check.h"
#include "agent/reports/report.h"
#include "agent/answers/spine/answer.h"

#define WINDOW_NS (60 * NS_PER_S)

static const struct fabric no_fabric = {.name = "pod"};

static void ranges(void **state)
{
	static const struct {
		const char *text, *again;
		double in, out;
	} good[] = {
		{"0.2", "0.2", 0.2, 0.21},
		{"0.2", "0.2", 0, -0.1},
		{"20%", "0.2", 0.1, 0.3},
		{"10:", "10:", 10, 9.9},
		{"~:5", "~:5", -100, 5.1},
		{"1:2", "1:2", 1.5, 0.5},
		{"@1:2", "@1:2", 3, 1},
		{"@0:5", "@5", 6, 5},
		/* what is printed can be read again: no exponents */
		{"0.00001", "0.00001", 0.00001, 0.0001},
		{"777777777777:", "777777777777:", 8e11, 7e11},
		{"@777777777777.7:", "@777777777777.7:", 7e11, 8e11},
	};
	static const char *const bad[] = {
		"", "x", "5:1", ":", "1:2:3", "@", "0x5", "1e", "~", "nan", "2000000000000000"};
	struct check_range t;
	struct err e;
	char buf[CHECK_RANGE_TEXT_MAX];
	for (size_t i = 0; i < rw_countof(good); i++) {
		if (check_range_parse(good[i].text, &t, &e) < 0)
			fail_msg("%s refused: %s", good[i].text, e.text);
		if (check_range_alerts(&t, good[i].in) || !check_range_alerts(&t, good[i].out))
			fail_msg("%s: %g must not alert, %g must", good[i].text, good[i].in,
				good[i].out);
		assert_string_equal(check_range_text(buf, &t), good[i].again);
	}
	for (size_t i = 0; i < rw_countof(bad); i++)
		if (check_range_parse(bad[i], &t, &e) != -EINVAL)
			fail_msg("'%s' was taken for a range", bad[i]);
	assert_false(check_range_alerts(&(struct check_range){0}, 5));
}

/* The line as it is printed; the caller frees it. */
static char *printed(const struct check *check, const struct check_line *line)
{
	char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);
	check_print(out, check, line);
	fclose(out);
	return text;
}

static void values(void **state)
{
	static const struct check check = {.label = "LINKS"};
	struct check_ranges ranges = {0};
	struct check_line line = {.state = CHECK_WARNING};
	assert_int_equal(check_range_parse("0.2", &ranges.warn, NULL), 0);
	str_add(&line.text, "two links flap");
	check_line_value(&line, "flaps", 2, 0, &ranges, 8);
	check_line_value(&line, "share", NAN, 4, NULL, NAN);
	rw_cleanup(freep) char *text = printed(&check, &line);
	assert_string_equal(
		text, "LINKS WARNING - two links flap | 'flaps'=2;0.2;;0;8 'share'=U;;;0;\n");
	check_line_done(&line);
}

/* Windows of one group of two members: each at a ratio, or without data (NAN), or idle (-1). */
static struct spine_imbalance *sums_of(const double *ratios, size_t n)
{
	static const struct spine_options options = {.warn = 0.2,
		.critical = 0.4,
		.load_floor = 0.05,
		.hold = 3,
		.window_ns = WINDOW_NS};
	struct spine_imbalance *sums = spine_imbalance_new(&options);
	for (size_t i = 0; i < n; i++) {
		double r = ratios[i];
		bool busy = r >= 0;
		struct ecmp_member members[2] = {
			{.port = "Ethernet49", .peer = "spine1", .link = ECMP_LINK_UP},
			{.port = "Ethernet50", .peer = "spine2", .link = ECMP_LINK_UP}};
		for (int k = 0; k < 2 && busy; k++) {
			members[k].utilization_ratio = 0.5 * (k ? 1 - r : 1 + r);
			members[k].rate_bps = members[k].utilization_ratio * 1e11;
			members[k].speed_bps = (uint64_t)1e11;
		}
		struct ecmp_measure measure = {.device = "leaf1",
			.group = "uplinks",
			.from_ns = (int64_t)i * WINDOW_NS,
			.to_ns = (int64_t)(i + 1) * WINDOW_NS,
			.members = members,
			.n_members = 2,
			.imbalance_ratio = busy ? r : NAN,
			.load_ratio = 0.5,
			.n_eff = NAN,
			.coverage_ratio = 1,
			.expected_ratio = NAN,
			.expected_p95_ratio = NAN,
			.expected_p999_ratio = NAN,
			.verdict = ECMP_IDLE};
		if (isnan(r))
			measure.verdict = ECMP_UNKNOWN;
		else if (busy)
			measure.verdict = r > options.warn ? ECMP_SKEWED : ECMP_EVEN;
		spine_imbalance_add(sums, &measure);
	}
	return sums;
}

static void ecmp_states(void **state)
{
	static const struct {
		const char *what;
		size_t n;
		double ratios[8];
		const char *warn; /* as given by the user, or NULL */
		enum check_state want;
		const char *says;
	} rows[] = {
		{"nothing", 0, {0}, NULL, CHECK_UNKNOWN, "ECMP UNKNOWN - no complete window"},
		{"even", 4, {0.1, 0.1, 0.1, 0.1}, NULL, CHECK_OK,
			"ECMP OK - 1 group, worst leaf1 uplinks"},
		{"idle", 4, {-1, -1, -1, -1}, NULL, CHECK_OK, "idle, 0 busy windows (1 group)"},
		{"above warn", 4, {0.3, 0.3, 0.3, 0.3}, NULL, CHECK_WARNING,
			"1 of 1 groups out of limits, worst leaf1 uplinks at Ethernet49 to spine1: "
			"max/mean-1 = 0.3"},
		{"above critical", 4, {0.5, 0.5, 0.5, 0.5}, NULL, CHECK_CRITICAL,
			"'imbalance'=0.5000;0.2;0.4;0; 'groups_over'=1;;;0;1 "
			"'groups_unknown'=0;;;0;1 'busy_windows'=4;;;0;\n"},
		{"held for three windows", 8, {0, 0, 0, 0, 0, 0.3, 0.3, 0.3}, NULL, CHECK_WARNING,
			"= 0.3"},
		{"a short peak", 8, {0, 0, 0, 0.9, 0, 0, 0, 0}, NULL, CHECK_OK, "ECMP OK"},
		{"the user's range", 4, {0.3, 0.3, 0.3, 0.3}, "0.35", CHECK_OK, ";0.35;0.4;0;"},
		{"a quarter is missing", 4, {0.1, NAN, 0.1, 0.1}, NULL, CHECK_OK, "ECMP OK"},
		{"more than a quarter", 3, {0.1, NAN, 0.1}, NULL, CHECK_UNKNOWN,
			"no data for 1 of 1 groups: leaf1 uplinks has no usable samples in 1 of 3 "
			"windows"},
		{"a fault is not hidden by gaps", 3, {0.3, NAN, 0.3}, NULL, CHECK_WARNING,
			"ECMP WARNING"},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		const struct check *check = check_of_report("spine-imbalance");
		struct check_ranges given = {0};
		struct check_line line = {0};
		rw_cleanup(arena_freep) struct arena *a = arena_new();
		rw_cleanup(spine_imbalance_freep) struct spine_imbalance *sums =
			sums_of(rows[i].ratios, rows[i].n);
		const struct report_result result = {
			.answer = spine_answer_make(sums, &no_fabric, 0, 1, a)};
		if (rows[i].warn)
			check_range_parse(rows[i].warn, &given.warn, NULL);
		check_judge(check, &result, &given, &line);
		rw_cleanup(freep) char *text = printed(check, &line);
		if (line.state != rows[i].want || !strstr(text, rows[i].says))
			fail_msg("%s: %s", rows[i].what, text);
		check_line_done(&line);
	}
}

/* ---- groups by who chooses the member: a hash, the sender, the switch by packet --------- */

enum { EIGHT = 8 };

/* One busy window of a group of eight members; the first two carry more and less by @lean. */
static void eight_window(
	struct spine_imbalance *sums, int at, double lean, const struct ecmp_measure *judged)
{
	const double rate_bps = 5e6;
	struct ecmp_member members[EIGHT];
	for (size_t i = 0; i < EIGHT; i++)
		members[i] = (struct ecmp_member){.port = i == 0 ? "Ethernet49" : "Ethernet50",
			.peer = "spine1",
			.rate_bps = rate_bps,
			.link = ECMP_LINK_UP};
	members[0].rate_bps *= 1 + lean;
	members[1].rate_bps *= 1 - lean;
	struct ecmp_measure measure = *judged;
	measure.device = "leaf1";
	measure.group = "uplinks";
	measure.from_ns = at * WINDOW_NS;
	measure.to_ns = (at + 1) * WINDOW_NS;
	measure.members = members;
	measure.n_members = EIGHT;
	measure.cold = 1;
	measure.equal_weights = true;
	measure.imbalance_ratio = lean;
	measure.load_ratio = 0.5;
	measure.coverage_ratio = 1;
	measure.n_eff = measure.expected_ratio = NAN;
	measure.expected_p95_ratio = measure.expected_p999_ratio = NAN;
	spine_imbalance_add(sums, &measure);
}

static void ecmp_kinds(void **state)
{
	static const struct {
		const char *what;
		double lean;
		struct ecmp_measure judged;
		enum check_state want;
		const char *says;
	} rows[] = {
		{"uneven by a hash", 0.5, {.verdict = ECMP_SKEWED, .hashed = true}, CHECK_CRITICAL,
			"'imbalance'=0.5000;"},
		{"the senders chose so", 0.5, {.verdict = ECMP_CHOSEN}, CHECK_OK,
			"ECMP OK - 1 group, all paths chosen by the senders | 'imbalance'=U;"},
		{"sprayed, within its limit", 0.05,
			{.verdict = ECMP_EVEN,
				.even = true,
				.low_ratio = 0.05,
				.spread_limit_ratio = 0.1},
			CHECK_OK, "ECMP OK - 1 group, worst leaf1 uplinks"},
		{"sprayed, and one member lacks", 0.15,
			{.verdict = ECMP_SKEWED,
				.even = true,
				.low_ratio = 0.15,
				.spread_limit_ratio = 0.1},
			CHECK_WARNING,
			"1 of 1 groups out of limits, worst leaf1 uplinks at Ethernet50 to spine1: "
			"15 % off its fair share, limit 10 % (packets are spread)"},
	};
	static const struct spine_options options = {.warn = 0.2,
		.critical = 0.4,
		.load_floor = 0.05,
		.hold = 3,
		.window_ns = WINDOW_NS};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		const struct check *check = check_of_report("spine-imbalance");
		struct check_line line = {0};
		rw_cleanup(arena_freep) struct arena *a = arena_new();
		rw_cleanup(spine_imbalance_freep) struct spine_imbalance *sums =
			spine_imbalance_new(&options);
		for (int at = 0; at < 4; at++)
			eight_window(sums, at, rows[i].lean, &rows[i].judged);
		const struct report_result result = {
			.answer = spine_answer_make(sums, &no_fabric, 0, 1, a)};
		check_judge(check, &result, &(struct check_ranges){0}, &line);
		rw_cleanup(freep) char *text = printed(check, &line);
		if (line.state != rows[i].want || !strstr(text, rows[i].says))
			fail_msg("%s: %s", rows[i].what, text);
		check_line_done(&line);
	}
}

static void registered(void **state)
{
	assert_string_equal(check_of_report("spine-imbalance")->name, "ecmp");
	assert_null(check_of_report("no-such-report"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ranges),
		cmocka_unit_test(values),
		cmocka_unit_test(ecmp_states),
		cmocka_unit_test(ecmp_kinds),
		cmocka_unit_test(registered),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
