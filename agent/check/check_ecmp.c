/*
 * check_ecmp - ECMP groups: a group is judged by max/mean-1 of its busy windows together, or by the
 * highest value that it held for `hold` busy windows in a row, whichever is worse. That is for
 * groups whose members a hash chooses: where packets are spread one by one the verdict of the
 * windows counts, as for an incident, and where the senders choose the paths nothing is judged.
 */

#include "agent/check/check.h"
#include "agent/reports/report.h"
#include "agent/answers/spine/answer.h"
#include "base/number.h"

static enum check_state ecmp_judge_group(
	const struct spine_group *group, const struct check_ranges *ranges)
{
	double ratio = spine_group_ratio(group);
	const bool hashed = group->windows && !group->chosen && !group->spread;
	const bool spread_over = group->spread && group->out_of_limits;
	if ((hashed || spread_over) && check_range_alerts(&ranges->crit, ratio))
		return CHECK_CRITICAL;
	if (spread_over || (hashed && check_range_alerts(&ranges->warn, ratio)))
		return CHECK_WARNING;
	if (spine_group_lacks_data(group))
		return CHECK_UNKNOWN;
	return CHECK_OK;
}

struct ecmp_verdict_sum {
	enum check_state state;
	size_t n, n_over, n_unknown;
	uint64_t busy; /* windows of all groups */
	const struct spine_group *worst; /* by state, then by value; NULL without a group */
};

static struct ecmp_verdict_sum ecmp_judge_groups(
	const struct spine_answer *answer, const struct check_ranges *ranges)
{
	struct ecmp_verdict_sum sum = {.n = answer->n_groups};
	sum.state = CHECK_OK;
	if (sum.n == 0)
		sum.state = CHECK_UNKNOWN;
	for (size_t i = 0; i < sum.n; i++) {
		const struct spine_group *group = &answer->groups[i];
		enum check_state state = ecmp_judge_group(group, ranges);
		sum.busy += group->windows;
		sum.n_over += state == CHECK_WARNING || state == CHECK_CRITICAL;
		sum.n_unknown += state == CHECK_UNKNOWN;
		bool higher = sum.worst && state == sum.state &&
			spine_group_ratio(group) > spine_group_ratio(sum.worst);
		if (i == 0 || higher || check_state_worse(state, sum.state)) {
			sum.worst = group;
			sum.state = state;
		}
	}
	return sum;
}

static void ecmp_add_worst(struct str *out, const struct spine_group *group)
{
	str_addf(out, "worst %s %s", group->device, group->group);
	if (group->member)
		str_addf(out, " at %s", group->member);
	if (group->member && group->peer && *group->peer)
		str_addf(out, " to %s", group->peer);
	if (group->spread && group->out_of_limits) {
		str_addf(out, ": %.0f %% off its fair share, limit %.0f %% (packets are spread)",
			100 * group->spread_ratio, 100 * group->spread_limit_ratio);
		return;
	}
	double ratio = spine_group_ratio(group);
	if (ratio < 0.0005)
		ratio = 0;
	str_addf(out, ": max/mean-1 = %.3g", ratio);
	if (isnan(group->expected_p999_ratio))
		str_add(out, " (chance unknown: no packets)");
	else
		str_addf(out, " (chance p99.9 = %.2f, %s flows)", group->expected_p999_ratio,
			number_scaled(group->flows_estimate, "").s);
	if (group->members_down)
		str_addf(out, ", %llu members down", (unsigned long long)group->members_down);
}

static void ecmp_add_text(struct str *out, const struct ecmp_verdict_sum *sum)
{
	const struct spine_group *worst = sum->worst;
	if (!sum->n) {
		str_add(out, "no complete window of data in this time range");
		return;
	}
	if (sum->state == CHECK_UNKNOWN) {
		str_addf(out,
			"no data for %zu of %zu groups: %s %s has no usable samples in %llu of "
			"%llu windows",
			sum->n_unknown, sum->n, worst->device, worst->group,
			(unsigned long long)worst->windows_unknown,
			(unsigned long long)spine_group_windows(worst));
		return;
	}
	if (!sum->busy) {
		str_addf(out, "idle, 0 busy windows (%zu group%s)", sum->n, plural(sum->n));
		return;
	}
	if (sum->n_over)
		str_addf(out, "%zu of %zu groups out of limits, ", sum->n_over, sum->n);
	else
		str_addf(out, "%zu group%s, ", sum->n, plural(sum->n));
	if (worst->chosen)
		str_add(out, "all paths chosen by the senders");
	else
		ecmp_add_worst(out, worst);
	if (sum->n_unknown)
		str_addf(out, ", %zu group%s without data", sum->n_unknown, plural(sum->n_unknown));
}

static void check_ecmp_judge(const struct report_result *result, const struct check_ranges *ranges,
	struct check_line *ret)
{
	struct ecmp_verdict_sum sum = ecmp_judge_groups(result->answer, ranges);
	double n = (double)sum.n;
	double ratio = NAN;
	double expected = NAN;
	if (sum.busy && spine_group_ratio(sum.worst) >= 0)
		ratio = spine_group_ratio(sum.worst);
	if (sum.busy) {
		expected = sum.worst->expected_by_chance_ratio;
		ret->device = sum.worst->device;
		ret->port = sum.worst->member;
	}

	ret->state = sum.state;
	ecmp_add_text(&ret->text, &sum);
	check_line_value(ret, "imbalance", ratio, 4, ranges, NAN);
	if (!isnan(expected))
		check_line_value(ret, "expected", expected, 4, NULL, NAN);
	check_line_value(ret, "groups_over", (double)sum.n_over, 0, NULL, n);
	check_line_value(ret, "groups_unknown", (double)sum.n_unknown, 0, NULL, n);
	check_line_value(ret, "busy_windows", (double)sum.busy, 0, NULL, NAN);
}

static void check_ecmp_defaults(const struct report_result *result, struct check_ranges *ret)
{
	const struct spine_answer *answer = result->answer;
	double critical = answer->critical_ratio;
	if (isnan(critical))
		critical = 0;
	ret->warn = (struct check_range){.low = 0, .high = answer->warn_ratio, .set = true};
	ret->crit = (struct check_range){.low = 0, .high = critical, .set = true};
}

const struct check check_ecmp = {
	.name = "ecmp",
	.label = "ECMP",
	.summary = "imbalance of ECMP groups: max/mean-1 outside of the ranges",
	.report = "spine-imbalance",
	.signal = GOLDEN_ECMP_IMBALANCE,
	.defaults = check_ecmp_defaults,
	.judge = check_ecmp_judge,
	.help = "RANGE is max/mean-1 of an ECMP group over the last hour (0.2 is 20 %). "
		"Without a RANGE the open incidents of ECMP groups decide: they are opened by the "
		"limits of analyzers.ecmp_imbalance. A group that spreads packets one by one is "
		"judged by analyzers.ecmp_imbalance.spread, and one whose paths the senders "
		"choose is not judged.",
	.options = "warn crit device group",
	.examples = {{"check ecmp", "alerts by the limits of the configuration"},
		{"check ecmp --group uplinks --warn 20% --crit 50%",
			"judges the uplinks of leaves by other limits"}},
};
