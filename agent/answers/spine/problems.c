/* spine/problems - the frame of the spine-imbalance report, and the prices of incidents in it. */
#include <errno.h>

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "agent/document/json_value.h"
#include "agent/answers/ecmp/ecmp_words.h"
#include "agent/answers/common/report_frame.h"
#include "agent/answers/incident/incident_read.h"
#include "agent/answers/spine/answer.h"
#include "agent/answers/status/verdict.h"
#include "agent/client/client.h"
#include "db/model/cause.h"
#include "db/model/finding.h"

struct spine_worst {
	size_t over, unknown;
	uint64_t windows, windows_over;
	double ratio, window; /* highest of all groups */
	const struct spine_group *group; /* out of limits, with the highest ratio of those; NULL */
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

/* What lasts opens an incident: the group is as bad as the one about it, and in order without one,
 * but for limits of the user's own. */
static enum report_state spine_state(const struct spine_group *group, bool own, double critical)
{
	if (own)
		return spine_group_ratio(group) > critical ? REPORT_CRITICAL : REPORT_WARNING;
	if (str_eq(group->severity, severity_name(SEV_CRITICAL)))
		return REPORT_CRITICAL;
	if (str_eq(group->severity, severity_name(SEV_WARNING)))
		return REPORT_WARNING;
	return REPORT_OK;
}

static void spine_problem(json_t *doc, const struct spine_group *group, bool own, double critical)
{
	rw_cleanup(str_done) struct str subject = {0}, offence = {0}, why = {0};
	str_addf(&subject, "%s %s", group->device, group->group);
	spine_add_offence(&offence, group, group->worst_ratio);
	if (group->incident)
		str_addf(&why, "; incident %s", group->incident);
	else if (!own)
		str_add(&why, "; " VERDICT_NOT_LASTING);
	report_problem(doc, spine_state(group, own, critical), spine_cause(group->verdict),
		subject.s, "%s is uneven: %s (%s%s)", subject.s, offence.s, group->verdict,
		str_or(why.s, ""));
}

static void spine_no_data(json_t *doc, const struct spine_group *group)
{
	rw_cleanup(str_done) struct str subject = {0};
	str_addf(&subject, "%s %s", group->device, group->group);
	report_problem(doc, REPORT_UNKNOWN, "no_data", subject.s,
		"%s is not known: no usable samples in %llu of %llu windows", subject.s,
		(unsigned long long)group->windows_unknown,
		(unsigned long long)spine_group_windows(group));
	report_missing(doc, "%s: no usable samples in %llu of %llu windows", subject.s,
		(unsigned long long)group->windows_unknown,
		(unsigned long long)spine_group_windows(group));
}

static void spine_judge(
	const struct spine_answer *answer, bool own, json_t *doc, struct spine_worst *all)
{
	for (size_t i = 0; i < answer->n_groups; i++) {
		const struct spine_group *group = &answer->groups[i];
		const double ratio = spine_group_ratio(group);
		const bool over = group->out_of_limits;
		all->windows += group->windows;
		all->windows_over += group->windows_over;
		all->window = fmax(all->window, group->worst_ratio);
		all->over += over;
		if (over && (!all->group || ratio > spine_group_ratio(all->group)))
			all->group = group;
		if (ratio >= 0)
			all->ratio = fmax(all->ratio, ratio);
		if (over) {
			spine_problem(doc, group, own, answer->critical_ratio);
		} else if (spine_group_lacks_data(group)) {
			all->unknown++;
			spine_no_data(doc, group);
		}
	}
}

/* Chance is not known where nobody looks at the packets: that is said once, not per group. */
static void spine_missing(json_t *doc, const struct spine_answer *answer)
{
	char share[16];
	size_t busy = 0, blind = 0;
	for (size_t i = 0; i < answer->n_groups; i++) {
		const struct spine_group *group = &answer->groups[i];
		busy += group->windows > 0;
		blind += group->windows > 0 && isnan(group->expected_by_chance_ratio) &&
			group->static_hash != MAYBE_NO;
	}
	if (blind)
		report_missing(doc,
			"packets of %zu of %zu busy groups: without them nobody can tell a faulty "
			"hash from bad luck (a capture, sFlow or IPFIX shows them)",
			blind, busy);
	if (answer->coverage_ratio < 0.95)
		report_missing(doc, "samples: %s of the expected ones are there",
			doc_pct(share, sizeof(share), answer->coverage_ratio));
}

static void spine_figures(
	json_t *doc, const struct spine_answer *answer, const struct spine_worst *all)
{
	double over = NAN;
	if (all->windows)
		over = (double)all->windows_over / (double)all->windows;
	report_figure(doc, "groups_over", "groups out of limits", (double)all->over, "-");
	report_figure(doc, "imbalance_ratio", "worst group, max/mean-1", all->ratio, "ratio");
	report_figure(doc, "worst_ratio", "worst window, max/mean-1", all->window, "ratio");
	report_figure(doc, "over_ratio", "busy windows above the limit", over, "ratio");
	report_figure(doc, "busy_ratio", "windows with load", answer->busy_ratio, "ratio");
	report_figure(doc, "coverage_ratio", "expected samples that are there",
		answer->coverage_ratio, "ratio");
	report_figure(doc, "usd", "cost", answer->usd_total, "USD");
}

void spine_problems(const struct config *config, struct spine_answer *answer, bool own,
	struct arena *a, json_t *doc)
{
	struct spine_worst all = {.ratio = NAN, .window = NAN};
	rw_cleanup(str_done) struct str text = {0};
	spine_judge(answer, own, doc, &all);
	spine_missing(doc, answer);
	spine_figures(doc, answer, &all);
	report_verdict(config, doc, answer->n_groups ? REPORT_OK : REPORT_UNKNOWN, "");
	if (all.over) {
		str_addf(&text, "%zu of %zu group%s out of limits; worst %s %s: ", all.over,
			answer->n_groups, plural(answer->n_groups), all.group->device,
			all.group->group);
		spine_add_offence(&text, all.group, NAN);
	} else {
		str_add(&text, answer->summary);
	}
	answer->verdict = arena_strdup(a, text.s);
	json_object_set_new(doc, "verdict", json_string_or_null(text.s));
}

/* ---- prices ------------------------------------------------------------------------------- */

static bool spine_is_of(const char *device, const char *name, const struct spine_group *group)
{
	return *group->group && str_eq(device, group->device) && str_eq(name, group->group);
}

/* One of several that became uneven together. */
static bool spine_is_among(const struct incident_told *incident, const struct spine_group *group)
{
	for (size_t k = 0; k < incident->n_also; k++)
		if (spine_is_of(incident->also[k].device, incident->also[k].group, group))
			return true;
	return false;
}

/* The worst incident about the group, and the price of the worst that has one. */
static void spine_take_incidents(const struct incident_told *incidents, size_t n,
	const struct spine_answer *answer, struct spine_group *group)
{
	for (size_t k = 0; k < n; k++) {
		const struct incident_told *incident = &incidents[k];
		const bool within = incident_time_ns(incident->first, INT64_MIN) <= answer->to.ns &&
			incident_time_ns(incident->closed, INT64_MAX) >= answer->from.ns;
		const bool itself =
			spine_is_of(incident->subject.device, incident->subject.group, group);
		const bool priced = itself && !isnan(incident->usd_total) && !group->usd_measured;
		if (!within || !(itself || spine_is_among(incident, group)))
			continue;
		if (priced) {
			group->usd = incident->usd_total;
			group->usd_measured = true;
		}
		if (group->incident && !priced)
			continue;
		group->incident = incident->id;
		group->severity = incident->severity;
	}
}

int spine_price(struct client *client, struct spine_answer *answer, struct arena *a, struct err *e)
{
	json_t *stored = incidents_load(client, NULL, e);
	double total = 0;
	size_t n = 0, n_incidents;
	if (!stored)
		return e->code ? e->code : -EIO;
	const struct incident_told *incidents = incidents_told(stored, a, &n_incidents);
	for (size_t i = 0; i < answer->n_groups; i++) {
		struct spine_group *group = &answer->groups[i];
		spine_take_incidents(incidents, n_incidents, answer, group);
		if (!group->usd_measured)
			continue;
		total += group->usd;
		n++;
	}
	answer->usd_source = n ? "incidents" : "upper bound";
	if (n)
		answer->usd_total = total;
	json_decref(stored);
	return 0;
}
