/* spine_problems - the frame of the spine-imbalance report. */
#include "agent/reports/spine_problems.h"

#include <math.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/document/json_value.h"
#include "agent/reports/ecmp_words.h"
#include "agent/reports/report_frame.h"
#include "agent/reports/spine_imbalance.h"
#include "db/model/cause.h"

struct spine_worst {
	size_t over, unknown;
	uint64_t windows, windows_over;
	double ratio, window; /* highest of all groups */
	struct spine_group group; /* out of limits, with the highest ratio of those */
};

/* As the detector of ECMP groups names it. */
static const char *spine_cause(const char *verdict)
{
	static const struct {
		const char *verdict;
		enum cause cause;
	} causes[] = {
		{"low entropy", CAUSE_ECMP_LOW_ENTROPY},
		{"unlucky placement", CAUSE_UNLUCKY_PLACEMENT},
		{"within chance", CAUSE_UNLUCKY_PLACEMENT},
	};
	for (size_t i = 0; i < rw_countof(causes); i++)
		if (str_eq(verdict, causes[i].verdict))
			return cause_name(causes[i].cause);
	return cause_name(CAUSE_ECMP_IMBALANCE);
}

static void spine_add_hot(struct str *out, const struct spine_group *group)
{
	if (!group->member)
		return;
	str_addf(out, " at %s", group->member);
	if (group->peer && *group->peer)
		str_addf(out, " -> %s", group->peer);
}

/* "max/mean-1 is 31.2 % at Ethernet49 -> spine1, in the worst window 40.1 %"; of sprayed packets,
 * how far one member was from its share. @worst: of a window; NAN: is left out. */
static void spine_add_offence(struct str *out, const struct spine_group *group, double worst)
{
	char ratio[16], limit[16];
	if (group->spread) {
		str_addf(out, "a member is %s off its fair share",
			doc_pct(ratio, sizeof(ratio), group->spread_ratio));
		spine_add_hot(out, group);
		str_addf(out, ", limit %s where packets are spread one by one",
			doc_pct(limit, sizeof(limit), group->spread_limit_ratio));
		return;
	}
	str_addf(out, "max/mean-1 is %s", doc_pct(ratio, sizeof(ratio), spine_group_ratio(group)));
	spine_add_hot(out, group);
	if (!isnan(worst))
		str_addf(out, ", in the worst window %s", doc_pct(ratio, sizeof(ratio), worst));
}

static void spine_problem(
	json_t *doc, const json_t *row, const struct spine_group *group, enum report_state state)
{
	rw_cleanup(str_done) struct str subject = {0}, offence = {0};
	const char *verdict = doc_word(row, "verdict");
	str_addf(&subject, "%s %s", group->device, group->group);
	spine_add_offence(&offence, group, doc_number(row, "worst_ratio"));
	report_problem(doc, state, spine_cause(verdict), subject.s, "%s is uneven: %s (%s)",
		subject.s, offence.s, verdict);
}

static void spine_no_data(json_t *doc, const struct spine_group *group)
{
	rw_cleanup(str_done) struct str subject = {0};
	str_addf(&subject, "%s %s", group->device, group->group);
	report_problem(doc, REPORT_UNKNOWN, "no_data", subject.s,
		"%s is not known: no usable samples in %llu of %llu windows", subject.s,
		(unsigned long long)group->unknown, (unsigned long long)spine_group_windows(group));
	report_missing(doc, "%s: no usable samples in %llu of %llu windows", subject.s,
		(unsigned long long)group->unknown, (unsigned long long)spine_group_windows(group));
}

static void spine_judge(const struct spine_imbalance *sums, json_t *doc, struct spine_worst *all)
{
	const struct spine_options *options = spine_imbalance_options(sums);
	const json_t *groups = json_object_get(doc, "groups");
	for (size_t i = 0; i < spine_imbalance_groups(sums); i++) {
		const json_t *row = json_array_get(groups, i);
		struct spine_group group;
		spine_imbalance_group(sums, i, &group);
		const double ratio = spine_group_ratio(&group);
		const bool over = group.out_of_limits;
		const bool grave = over && options->critical > 0 && ratio > options->critical;
		all->windows += group.windows;
		all->windows_over += group.over;
		all->window = fmax(all->window, doc_number(row, "worst_ratio"));
		all->over += over;
		if (over && (!all->group.out_of_limits || ratio > spine_group_ratio(&all->group)))
			all->group = group;
		if (ratio >= 0)
			all->ratio = fmax(all->ratio, ratio);
		if (over) {
			spine_problem(doc, row, &group, grave ? REPORT_CRITICAL : REPORT_WARNING);
		} else if (spine_group_lacks_data(&group)) {
			all->unknown++;
			spine_no_data(doc, &group);
		}
	}
}

/* Chance is not known where nobody looks at the packets: that is said once, not per group. */
static void spine_missing(json_t *doc)
{
	const json_t *groups = json_object_get(doc, "groups"), *group;
	const double coverage = doc_number(doc, "coverage_ratio");
	char share[16];
	size_t i, busy = 0, blind = 0;
	json_array_foreach (groups, i, group) {
		const bool is_busy = json_integer_value(json_object_get(group, "windows")) > 0;
		busy += is_busy;
		blind += is_busy && isnan(doc_number(group, "expected_by_chance_ratio")) &&
			!json_is_false(json_object_get(group, "static_hash"));
	}
	if (blind)
		report_missing(doc,
			"packets of %zu of %zu busy groups: without them nobody can tell a faulty "
			"hash from bad luck (a capture, sFlow or IPFIX shows them)",
			blind, busy);
	if (coverage < 0.95)
		report_missing(doc, "samples: %s of the expected ones are there",
			doc_pct(share, sizeof(share), coverage));
}

static void spine_figures(json_t *doc, const struct spine_worst *all)
{
	double over = NAN;
	if (all->windows)
		over = (double)all->windows_over / (double)all->windows;
	report_figure(doc, "groups_over", "groups out of limits", (double)all->over, "-");
	report_figure(doc, "imbalance_ratio", "worst group, max/mean-1", all->ratio, "ratio");
	report_figure(doc, "worst_ratio", "worst window, max/mean-1", all->window, "ratio");
	report_figure(doc, "over_ratio", "busy windows above the limit", over, "ratio");
	report_figure(
		doc, "busy_ratio", "windows with load", doc_number(doc, "busy_ratio"), "ratio");
	report_figure(doc, "coverage_ratio", "expected samples that are there",
		doc_number(doc, "coverage_ratio"), "ratio");
	report_figure(doc, "usd", "cost", doc_number(doc, "usd_total"), "USD");
}

void spine_problems(const struct config *config, const struct spine_imbalance *sums, json_t *doc)
{
	struct spine_worst all = {.ratio = NAN, .window = NAN};
	rw_cleanup(str_done) struct str text = {0};
	spine_judge(sums, doc, &all);
	spine_missing(doc);
	spine_figures(doc, &all);
	rw_cleanup(freep) char *summary = strdup(doc_word(doc, "verdict"));
	report_verdict(config, doc, spine_imbalance_groups(sums) ? REPORT_OK : REPORT_UNKNOWN, "");
	if (all.over) {
		str_addf(&text, "%zu of %zu group%s out of limits; worst %s %s: ", all.over,
			spine_imbalance_groups(sums), plural(spine_imbalance_groups(sums)),
			all.group.device, all.group.group);
		spine_add_offence(&text, &all.group, NAN);
	} else {
		str_add(&text, summary);
	}
	json_object_set_new(doc, "verdict", json_string_or_null(text.s));
}
