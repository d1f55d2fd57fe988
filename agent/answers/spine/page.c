/* spine/page - one line a group, the load towards each neighbour, then the groups out of limits in
 * detail. */

#include "agent/answers/common/report_frame.h"
#include "agent/answers/incident/incident_read.h"
#include "agent/answers/status/unjudged.h"
#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/answers/common/report_page.h"
#include "agent/answers/ecmp/answer.h"
#include "agent/answers/spine/answer.h"
#include "agent/document/page.h"
#include "agent/document/writer.h"
#include "db/model/cause.h"
#include "db/model/finding.h"

enum { GROUPS_IN_FULL = 16, MEMBERS_DRAWN = 24, HEAT_PEERS = 32, HEAT_ROWS = 48, FLOWS_SHOWN = 8 };

/* ---- one line a group ------------------------------------------------------ */

static const char *const spine_actions[] = {"ACTION", "NO DATA", "watch", "ok", "idle"};

static const char *action_of(const struct spine_group *group)
{
	if (group->out_of_limits)
		return "ACTION";
	if (group->windows_over > 0)
		return "watch";
	if (str_eq(group->verdict, "unknown"))
		return "NO DATA";
	if (str_eq(group->verdict, "idle"))
		return "idle";
	return "ok";
}

/* "03:14:22Z"; "11-21 03:14Z" when the report covers several days: its head has the year. */
static void spine_add_clock(struct str *out, const struct spine_answer *answer, wall_t time)
{
	char text[WALL_TEXT_MAX], since[WALL_TEXT_MAX], until[WALL_TEXT_MAX];
	if (time.ns == TIME_UNKNOWN.ns) {
		str_add(out, "-");
		return;
	}
	wall_format(text, time, 0);
	wall_format(since, answer->since, 0);
	wall_format(until, answer->until, 0);
	const bool one_day = strncmp(since, until, 10) == 0 && strncmp(text, since, 10) == 0;
	if (one_day)
		str_addf(out, "%.8sZ", text + 11);
	else
		str_addf(out, "%.5s %.5sZ", text + 5, text + 11);
}

/* A group as people read it. */
struct spine_line {
	const char *action, *group, *over, *worst, *when, *mean, *hot, *verdict, *chance;
};
#define SHAPE struct spine_line
static const struct field spine_line_fields[] = {
	TEXT(action, "", .head = "ACTION", .state = true),
	TEXT(group, "", .head = "GROUP"),
	TEXT(over, "", .head = "OVER LIMIT", .right = true),
	TEXT(worst, "", .head = "WORST", .right = true),
	TEXT(when, "", .head = "WHEN"),
	TEXT(mean, "", .head = "MAX/ MEAN-1", .right = true),
	TEXT(hot, "", .head = "HOT MEMBER"),
	TEXT(verdict, "", .head = "VERDICT"),
	TEXT(chance, "", .head = "CHANCE/ P95", .right = true),
};
static SHAPE_OF(spine_line, "SpineLine", "");
/* Chance stands last: it is left out where it is known of no group. */
static const struct shown spine_line_shown[] = {
	COLUMN(action, "ACTION"),
	COLUMN(group, "GROUP"),
	COLUMN(over, "OVER LIMIT"),
	COLUMN(worst, "WORST"),
	COLUMN(when, "WHEN"),
	COLUMN(mean, "MAX/ MEAN-1"),
	COLUMN(hot, "HOT MEMBER"),
	COLUMN(verdict, "VERDICT"),
};
#undef SHAPE

static struct spine_line spine_line_of(
	const struct spine_answer *answer, const struct spine_group *group, struct arena *a)
{
	char worst[16], mean[16], chance[16], p95[16];
	rw_cleanup(str_done) struct str when = {0}, hot = {0};
	spine_add_clock(&when, answer, group->worst_at);
	/* The member that is hot nearly always; else the neighbour; "none (moves)" when
	 * it changes. */
	char text[96];
	if (group->persistent_member)
		str_add(&hot,
			ecmp_member_text(text, sizeof(text), group, group->persistent_member));
	else if (group->persistent_peer)
		str_addf(&hot, "%s (several links)", group->persistent_peer);
	else if (group->windows_over)
		str_add(&hot, "none (moves)");
	else
		str_add(&hot, "-");
	doc_pct(worst, sizeof(worst), group->worst_ratio);
	doc_pct(mean, sizeof(mean), group->imbalance_ratio);
	doc_pct(chance, sizeof(chance), group->expected_by_chance_ratio);
	doc_pct(p95, sizeof(p95), group->expected_p95_ratio);
	return (struct spine_line){.action = action_of(group),
		.group = arena_printf(a, "%s %s", group->device, group->group),
		.over = arena_printf(a, "%llu of %llu", (unsigned long long)group->windows_over,
			(unsigned long long)group->windows),
		.worst = arena_strdup(a, worst),
		.when = arena_strdup(a, when.s),
		.mean = arena_strdup(a, mean),
		.hot = arena_strdup(a, hot.s),
		.verdict = group->verdict,
		.chance = arena_printf(a, "%s / %s", chance, p95)};
}

/* All groups of a small fabric; of a large one those that need attention, and one line for the
 * rest. Groups out of limits come first. */
static void spine_groups(struct page *page, const struct spine_answer *answer)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	const size_t n = answer->n_groups;
	struct spine_line *lines = arena_array(a, struct spine_line, n);
	size_t n_lines = 0, even = 0, idle = 0;
	bool chance = false; /* known of any group */
	double worst = NAN;
	for (size_t k = 0; k < rw_countof(spine_actions); k++) {
		for (size_t i = 0; i < n; i++) {
			const struct spine_group *group = &answer->groups[i];
			if (!str_eq(action_of(group), spine_actions[k]))
				continue;
			chance = chance || !isnan(group->expected_p95_ratio);
			if (n <= GROUPS_IN_FULL || k < 3) {
				lines[n_lines++] = spine_line_of(answer, group, a);
				continue;
			}
			even += k == 3;
			idle += k == 4;
			worst = fmax(worst, group->worst_ratio);
		}
	}
	char text[16], limit[16];
	rw_cleanup(str_done) struct str caption = {0};
	const struct shape_table all = {.shape = &spine_line_shape};
	const struct shape_table short_one = {
		&spine_line_shape, spine_line_shown, rw_countof(spine_line_shown)};
	str_addf(&caption, "ECMP groups, limit %s",
		doc_pct(limit, sizeof(limit), answer->warn_ratio));
	page_rows(page, caption.s, chance ? &all : &short_one, lines, n_lines);
	if (even)
		page_textf(page, "%zu other group%s %seven, worst window %s", even, plural(even),
			str_if(idle, "or idle, "), doc_pct(text, sizeof(text), worst));
	if (idle)
		page_textf(page, "%zu other group%s idle", idle, plural(idle));
}

static void spine_windows(struct page *page, const struct spine_answer *answer)
{
	char floor[16], busy[16], coverage[16];
	page_factf(page, "windows",
		"of %g s; one with a mean load of at most %s of line is idle; %s are busy; %s of "
		"the expected samples are there",
		answer->window_s, doc_pct(floor, sizeof(floor), answer->load_floor_ratio),
		doc_pct(busy, sizeof(busy), answer->busy_ratio),
		doc_pct(coverage, sizeof(coverage), answer->coverage_ratio));
}

static void spine_paths(struct page *page, const struct spine_answer *answer)
{
	static const char *const words[] = {
		[ECMP_LINK_DOWN] = "down (missing path)", [ECMP_LINK_ABSENT] = "no data"};
	rw_cleanup(str_done) struct str text = {0};
	for (size_t i = 0; i < answer->n_groups; i++) {
		const struct spine_group *group = &answer->groups[i];
		for (size_t k = 0; k < group->n_members; k++) {
			const struct spine_member *member = &group->members[k];
			if (member->link != ECMP_LINK_UP)
				str_addf(&text, "%s%s %s %s: %s", str_if(text.n, "; "),
					group->device, group->group, member->port,
					words[member->link]);
		}
	}
	page_fact(page, "paths", str_or(text.s, "every member of every group is up"));
}

/* ---- load towards each neighbour -------------------------------------------- */

/* The groups that are drawn, and their neighbours. */
struct spine_heat {
	const struct spine_group *groups[HEAT_ROWS];
	size_t n_groups;
	const char *peers[HEAT_PEERS + 1]; /* one more: too many */
	size_t n_peers;
};

static size_t spine_peer_at(const struct spine_heat *heat, const char *peer)
{
	size_t i = 0;
	while (i < heat->n_peers && !str_eq(heat->peers[i], peer))
		i++;
	return i;
}

static void spine_heat_add(struct spine_heat *heat, const struct spine_group *group)
{
	heat->groups[heat->n_groups++] = group;
	for (size_t k = 0; k < group->n_members; k++) {
		const char *peer = group->members[k].peer;
		if (peer && heat->n_peers <= HEAT_PEERS &&
			spine_peer_at(heat, peer) == heat->n_peers)
			heat->peers[heat->n_peers++] = peer;
	}
}

/* The most loaded link to each neighbour; NAN where there is none. */
static void spine_heat_values(
	const struct spine_heat *heat, const struct spine_group *group, double *ret)
{
	for (size_t p = 0; p < heat->n_peers; p++)
		ret[p] = NAN;
	for (size_t k = 0; k < group->n_members; k++) {
		const struct spine_member *member = &group->members[k];
		const size_t p = spine_peer_at(heat, member->peer);
		if (p < heat->n_peers)
			ret[p] = fmax(ret[p], member->utilization_ratio);
	}
}

/* Of a large fabric only the groups out of limits; nothing where no load is known. */
static void spine_heat(struct page *page, const struct spine_answer *answer)
{
	struct spine_heat heat = {0};
	size_t tiers = 0;
	for (size_t i = 0; i < answer->n_groups; i++)
		tiers += spine_group_is_tier(&answer->groups[i]);
	for (size_t i = 0; i < answer->n_groups && heat.n_groups < HEAT_ROWS; i++) {
		const struct spine_group *group = &answer->groups[i];
		const bool busy = group->windows > 0 && spine_group_is_tier(group);
		if (busy && (tiers <= HEAT_ROWS || group->out_of_limits) &&
			!isnan(group->utilization_ratio))
			spine_heat_add(&heat, group);
	}
	if (heat.n_groups == 0 || heat.n_peers < 2 || heat.n_peers > HEAT_PEERS)
		return;
	struct page_block *drawn = page_heat(page,
		"Load of the busiest link to each neighbour, share of line rate, busy windows",
		"ratio");
	for (size_t i = 0; i < heat.n_peers; i++)
		page_heat_column(drawn, heat.peers[i]);
	for (size_t i = 0; i < heat.n_groups; i++) {
		double values[HEAT_PEERS];
		rw_cleanup(str_done) struct str label = {0};
		str_addf(&label, "%s %s", heat.groups[i]->device, heat.groups[i]->group);
		spine_heat_values(&heat, heat.groups[i], values);
		page_heat_row(drawn, label.s, values, heat.n_peers);
	}
}

/* ---- a group out of limits --------------------------------------------------- */

/* "swp49 -> spine1 is hot in 90 % of 11 windows above the limit, since ..." */
static void spine_hot(struct page *page, const struct spine_answer *answer,
	const struct spine_group *group, const char *hot)
{
	char who[96], share[16];
	rw_cleanup(str_done) struct str text = {0};
	const unsigned long long over = group->windows_over;
	str_addf(&text, "%s is hot in ", ecmp_member_text(who, sizeof(who), group, hot));
	if (group->persistent_member)
		str_addf(&text, "%s of %llu window%s above the limit",
			doc_pct(share, sizeof(share), group->persistent_ratio), over, plural(over));
	else if (group->persistent_peer)
		str_addf(&text,
			"the worst of %llu window%s above the limit; the hot link always goes to "
			"%s",
			over, plural(over), group->persistent_peer);
	else
		str_addf(&text, "the worst of %llu windows above the limit; the hot member changes",
			over);
	str_add(&text, group->over_now ? ", since " : ", last seen from ");
	spine_add_clock(&text, answer, group->over_since);
	page_fact(page, "hot", text.s);
}

/* One member: its load, or its share of the group's mean where no speed is known, or that its link
 * is down. */
static void spine_members(struct page *page, const struct spine_group *group, const char *hot)
{
	static const char *const words[] = {[ECMP_LINK_UP] = "",
		[ECMP_LINK_DOWN] = " (down)",
		[ECMP_LINK_ABSENT] = " (no data)"};
	const bool shares = isnan(group->utilization_ratio);
	size_t left = 0;
	struct page_block *bars = page_bars(page,
		shares ? "Load of each member, 100 % is its fair share, busy windows"
		       : "Load of each member, share of line rate, busy windows",
		"ratio");
	for (size_t i = 0; i < group->n_members; i++) {
		const struct spine_member *member = &group->members[i];
		const bool is_hot = str_eq(member->port, hot);
		char name[96];
		rw_cleanup(str_done) struct str label = {0};
		if (i >= MEMBERS_DRAWN && !is_hot) {
			left++;
			continue;
		}
		str_addf(&label, "%s%s", ecmp_member_text(name, sizeof(name), group, member->port),
			words[member->link]);
		page_bar(bars, label.s, shares ? member->share_ratio : member->utilization_ratio,
			is_hot ? "CRITICAL" : NULL);
	}
	if (left)
		page_textf(page, "%zu more member%s: --format json", left, plural(left));
}

static void spine_over_time(
	struct page *page, const struct spine_answer *answer, const struct spine_group *group)
{
	const struct spine_over_time *over = group->over_time;
	char since[WALL_TEXT_MAX], until[WALL_TEXT_MAX];
	if (!over)
		return;
	wall_format(since, over->since, 3);
	wall_format(until, over->until, 3);
	struct page_block *times =
		page_times(page, "max/mean-1 over time, the highest window of each part", "ratio",
			since, until, PAGE_COLUMNS);
	page_series(times, "", over->worst_ratio, over->n_worst_ratio);
	page_limit(times, answer->warn_ratio, "limit");
}

static void spine_chance(struct page *page, const struct spine_group *group)
{
	char mean[16], p95[16], p999[16], now[16];
	if (group->static_hash == MAYBE_NO) {
		page_fact(page, "chance",
			"no baseline: this group is not spread by a static hash and should be "
			"nearly even");
		return;
	}
	if (isnan(group->flows_estimate) || isnan(group->expected_by_chance_ratio)) {
		page_factf(page, "chance",
			"unknown: %s; without packet samples it may be hash collisions or a faulty "
			"hash",
			str_or(group->flows_note, "no packets"));
		return;
	}
	page_factf(page, "chance",
		"%s; a uniform hash of %.3g effective flows gives mean %s, p95 %s, p99.9 %s: %s",
		doc_pct(now, sizeof(now), group->worst_ratio), group->flows_estimate,
		doc_pct(mean, sizeof(mean), group->expected_by_chance_ratio),
		doc_pct(p95, sizeof(p95), group->expected_p95_ratio),
		doc_pct(p999, sizeof(p999), group->expected_p999_ratio), group->verdict);
}

static void spine_spread(struct page *page, const struct spine_group *group)
{
	char spread[16], cov[16];
	page_factf(page, "also", "(max-min)/mean %s, CoV %s, Jain %.3f",
		doc_pct(spread, sizeof(spread), group->imbalance_max_minus_min_ratio),
		doc_pct(cov, sizeof(cov), group->cov_ratio), group->jain_ratio);
}

#define SHAPE struct spine_flow
static const struct shown spine_flows_shown[] = {
	COLUMN(src, "FROM"),
	COLUMN(dst, "TO"),
	COLUMN(src_port, "UDP PORT"),
	COLUMN(dst_qp, "QP"),
	COLUMN(burst_bps, "IN BURSTS"),
	COLUMN(packets, "PACKETS"),
};
#undef SHAPE

static void spine_flows(struct page *page, const struct spine_group *group)
{
	static const struct shape_table table = {
		&spine_flow_shape, spine_flows_shown, rw_countof(spine_flows_shown)};
	const size_t n = group->n_flows;
	page_rows(page, "Flows on the hot member in the worst window", &table, group->flows,
		n < FLOWS_SHOWN ? n : FLOWS_SHOWN);
	if (n > FLOWS_SHOWN)
		page_textf(page, "%zu more flow%s of those seen", n - FLOWS_SHOWN,
			plural(n - FLOWS_SHOWN));
}

static void spine_group_cost(struct page *page, const struct spine_group *group)
{
	if (group->incident && group->usd_measured)
		page_factf(page, "cost", "$%.2f so far, measured by incident %s", group->usd,
			group->incident);
	else if (!isnan(group->usd))
		page_factf(page, "cost", "at most $%.2f: %.3g s of job wait time", group->usd,
			group->wait_s);
}

static void spine_detail(
	struct page *page, const struct spine_answer *answer, const struct spine_group *group)
{
	rw_cleanup(str_done) struct str next = {0};
	const char *hot = str_or(group->persistent_member, str_or(group->hot_member, "-"));
	page_heading(page, "%s %s", group->device, group->group);
	spine_hot(page, answer, group, hot);
	spine_chance(page, group);
	spine_spread(page, group);
	spine_group_cost(page, group);
	spine_members(page, group, hot);
	spine_over_time(page, answer, group);
	spine_flows(page, group);
	str_addf(&next, "rocewatch ecmp collisions --device %s --group %s", group->device,
		group->group);
	page_code(page, "next", next.s);
}

/* ---- the whole report --------------------------------------------------------- */

static void spine_cost(struct page *page, const struct spine_answer *answer)
{
	const double usd = answer->usd_total;
	if (isnan(usd) || usd <= 0)
		return;
	if (str_eq(answer->usd_source, "incidents"))
		page_factf(page, "cost", "$%.2f, measured by the incidents of these groups", usd);
	else
		page_factf(page, "cost",
			"at most $%.2f: %.3g s of job wait time, %llu GPU at $%g/h, if the "
			"exchange is bound by these links",
			usd, answer->wait_s, (unsigned long long)answer->gpus,
			answer->usd_per_gpu_hour);
}

static void spine_tiers(struct page *page, const struct spine_answer *answer)
{
	const unsigned long long leaves = answer->tiers.leaves, spines = answer->tiers.spines;
	page_factf(page, "fabric", "%llu %s x %llu spine%s", leaves,
		leaves == 1 ? "leaf" : "leaves", spines, plural(spines));
}

static struct page *spine_page(const json_t *doc, const void *of)
{
	const struct spine_answer *answer = of;
	struct page *page = report_page("Spine imbalance", doc);
	if (answer->n_groups == 0) {
		page_text(page, spine_imbalance_view.empty);
		return page;
	}
	spine_groups(page, answer);
	spine_tiers(page, answer);
	spine_windows(page, answer);
	spine_paths(page, answer);
	spine_cost(page, answer);
	spine_heat(page, answer);
	for (size_t i = 0; i < answer->n_groups; i++)
		if (answer->groups[i].out_of_limits)
			spine_detail(page, answer, &answer->groups[i]);
	return page;
}

const struct view spine_imbalance_view = {
	.title = "Spine imbalance",
	.table = &spine_table,
	.table_rows = spine_rows,
	.answer_page = spine_page,
	.empty = SPINE_NO_GROUPS,
};

/* ---- problems ------------------------------------------------------------ */

/* spine/problems - the frame of the spine-imbalance report, and the prices of incidents in it. */

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
	static const enum cause causes[] = {CAUSE_ECMP_IMBALANCE, CAUSE_NONE};
	const struct unjudged what = {
		.causes = causes, .device = group->device, .port = group->member};
	rw_cleanup(str_done) struct str subject = {0}, offence = {0}, why = {0};
	str_addf(&subject, "%s %s", group->device, group->group);
	spine_add_offence(&offence, group, group->worst_ratio);
	if (group->incident || !own)
		str_add(&why, "; ");
	if (group->incident)
		str_addf(&why, "incident %s", group->incident);
	else if (!own)
		unjudged_over(&what, &why);
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
