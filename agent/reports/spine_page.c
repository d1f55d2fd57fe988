/* spine_page - one line a group, the load towards each neighbour, then the groups out of limits in
 * detail. */
#include "agent/reports/spine_page.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/document/json_value.h"
#include "agent/document/page.h"
#include "agent/reports/ecmp_words.h"
#include "agent/reports/report_page.h"
#include "agent/reports/text.h"

enum { GROUPS_IN_FULL = 16, MEMBERS_DRAWN = 24, HEAT_PEERS = 32, HEAT_ROWS = 48, FLOWS_SHOWN = 8 };

static bool spine_is_over(const json_t *group)
{
	return json_is_true(json_object_get(group, "out_of_limits"));
}

/* ---- one line a group ------------------------------------------------------ */

static const char *action_of(const json_t *group)
{
	const char *verdict = doc_text(group, "verdict");
	if (spine_is_over(group))
		return "ACTION";
	if (text_count(group, "windows_over") > 0)
		return "watch";
	if (str_eq(verdict, "unknown"))
		return "NO DATA";
	if (str_eq(verdict, "idle"))
		return "idle";
	return "ok";
}

/* "03:14:22Z"; "11-21 03:14Z" when the report covers several days: its head has the year. */
static void spine_add_clock(struct str *out, const json_t *doc, const char *time)
{
	const char *since = doc_word(doc, "since"), *until = doc_word(doc, "until");
	const bool one_day =
		strncmp(since, until, 10) == 0 && strncmp(time, since, 10) == 0 && *since;
	if (strlen(time) < 19)
		str_add(out, time);
	else if (one_day)
		str_addf(out, "%.8sZ", time + 11);
	else
		str_addf(out, "%.5s %.5sZ", time + 5, time + 11);
}

/* The member that is hot nearly always; else the neighbour; "none (moves)" when it changes. */
static void spine_add_persistent(struct str *out, const json_t *group)
{
	char text[96];
	const char *member = json_string_value(json_object_get(group, "persistent_member"));
	const char *peer = json_string_value(json_object_get(group, "persistent_peer"));
	if (member)
		str_add(out, doc_member(text, sizeof(text), group, member));
	else if (peer)
		str_addf(out, "%s (several links)", peer);
	else if (text_count(group, "windows_over"))
		str_add(out, "none (moves)");
	else
		str_add(out, "-");
}

static json_t *spine_row(const json_t *doc, const json_t *group)
{
	char worst[16], mean[16], chance[16], p95[16];
	rw_cleanup(str_done) struct str when = {0}, hot = {0};
	spine_add_clock(&when, doc, doc_text(group, "worst_at"));
	spine_add_persistent(&hot, group);
	doc_pct(worst, sizeof(worst), doc_number(group, "worst_ratio"));
	doc_pct(mean, sizeof(mean), doc_number(group, "imbalance_ratio"));
	doc_pct(chance, sizeof(chance), doc_number(group, "expected_by_chance_ratio"));
	doc_pct(p95, sizeof(p95), doc_number(group, "expected_p95_ratio"));
	json_t *row = json_object();
	json_object_set_new(row, "group",
		json_sprintf("%s %s", doc_text(group, "device"), doc_text(group, "group")));
	json_object_set_new(row, "over",
		json_sprintf("%lld of %lld", text_count(group, "windows_over"),
			text_count(group, "windows")));
	json_object_set_new(row, "worst", json_string(worst));
	json_object_set_new(row, "when", json_string_or_null(when.s));
	json_object_set_new(row, "mean", json_string(mean));
	json_object_set_new(row, "chance", json_sprintf("%s / %s", chance, p95));
	json_object_set_new(row, "hot", json_string_or_null(hot.s));
	json_object_set_new(row, "verdict", json_string(doc_text(group, "verdict")));
	json_object_set_new(row, "action", json_string(action_of(group)));
	return row;
}

/* All groups of a small fabric; of a large one those that need attention, and one line for the
 * rest. Groups out of limits come first. */
static void spine_groups(json_t *page, const json_t *doc)
{
	static const struct column columns[] = {
		{"action", "ACTION", COL_STATE, false},
		{"group", "GROUP", COL_TEXT, false},
		{"over", "OVER LIMIT", COL_TEXT, true},
		{"worst", "WORST", COL_TEXT, true},
		{"when", "WHEN", COL_TEXT, false},
		{"mean", "MAX/ MEAN-1", COL_TEXT, true},
		{"hot", "HOT MEMBER", COL_TEXT, false},
		{"verdict", "VERDICT", COL_TEXT, false},
		{"chance", "CHANCE/ P95", COL_TEXT, true},
	};
	static const char *const order[] = {"ACTION", "NO DATA", "watch", "ok", "idle"};
	const json_t *groups = json_object_get(doc, "groups"), *group;
	const size_t n = json_array_size(groups);
	json_t *rows = json_array();
	size_t even = 0, idle = 0;
	bool chance = false; /* known of any group */
	double worst = NAN;
	for (size_t k = 0; k < rw_countof(order); k++) {
		size_t i;
		json_array_foreach (groups, i, group) {
			if (!str_eq(action_of(group), order[k]))
				continue;
			chance = chance || !isnan(doc_number(group, "expected_p95_ratio"));
			if (n <= GROUPS_IN_FULL || k < 3) {
				json_array_append_new(rows, spine_row(doc, group));
				continue;
			}
			even += k == 3;
			idle += k == 4;
			worst = fmax(worst, doc_number(group, "worst_ratio"));
		}
	}
	char text[16], limit[16];
	rw_cleanup(str_done) struct str caption = {0};
	str_addf(&caption, "ECMP groups, limit %s",
		doc_pct(limit, sizeof(limit), doc_number(doc, "warn_ratio")));
	page_table(page, caption.s, columns, rw_countof(columns) - !chance, rows);
	json_decref(rows);
	if (even)
		page_textf(page, "%zu other group%s %seven, worst window %s", even, plural(even),
			str_if(idle, "or idle, "), doc_pct(text, sizeof(text), worst));
	if (idle)
		page_textf(page, "%zu other group%s idle", idle, plural(idle));
}

static void spine_windows(json_t *page, const json_t *doc)
{
	char floor[16], busy[16], coverage[16];
	page_factf(page, "windows",
		"of %g s; one with a mean load of at most %s of line is idle; %s are busy; %s of "
		"the expected samples are there",
		doc_number(doc, "window_s"),
		doc_pct(floor, sizeof(floor), doc_number(doc, "load_floor_ratio")),
		doc_pct(busy, sizeof(busy), doc_number(doc, "busy_ratio")),
		doc_pct(coverage, sizeof(coverage), doc_number(doc, "coverage_ratio")));
}

static void spine_paths(json_t *page, const json_t *doc)
{
	const json_t *groups = json_object_get(doc, "groups"), *group, *member;
	rw_cleanup(str_done) struct str text = {0};
	size_t i, k;
	json_array_foreach (groups, i, group)
		json_array_foreach (json_object_get(group, "members"), k, member) {
			const char *link = doc_text(member, "link");
			if (str_eq(link, "up"))
				continue;
			str_addf(&text, "%s%s %s %s: %s%s", str_if(text.n, "; "),
				doc_text(group, "device"), doc_text(group, "group"),
				doc_text(member, "port"), link,
				str_if(str_eq(link, "down"), " (missing path)"));
		}
	page_fact(page, "paths", str_or(text.s, "every member of every group is up"));
}

/* ---- load towards each neighbour -------------------------------------------- */

static size_t spine_peer_at(const json_t *peers, const char *peer)
{
	const json_t *one;
	size_t i;
	json_array_foreach (peers, i, one)
		if (str_eq(json_string_value(one), peer))
			return i;
	return json_array_size(peers);
}

static json_t *spine_peers(const json_t *groups)
{
	json_t *peers = json_array();
	const json_t *group, *member;
	size_t i, k;
	json_array_foreach (groups, i, group)
		json_array_foreach (json_object_get(group, "members"), k, member) {
			const char *peer = doc_word(member, "peer");
			if (*peer && spine_peer_at(peers, peer) == json_array_size(peers))
				json_array_append_new(peers, json_string(peer));
		}
	return peers;
}

/* The most loaded link to each neighbour; null where there is none. */
static json_t *spine_heat_values(const json_t *group, const json_t *peers)
{
	json_t *values = json_array();
	const json_t *member;
	size_t p, k;
	for (p = 0; p < json_array_size(peers); p++) {
		double top = NAN;
		json_array_foreach (json_object_get(group, "members"), k, member)
			if (spine_peer_at(peers, doc_word(member, "peer")) == p)
				top = fmax(top, doc_number(member, "utilization_ratio"));
		json_array_append_new(values, json_number_or_null(top));
	}
	return values;
}

/* Groups towards a tier; those towards one neighbour or of a bundle are parts of them. */
static bool spine_is_tier(const json_t *group)
{
	const char *name = doc_text(group, "group");
	return strncmp(name, "to:", 3) != 0 && strncmp(name, "lag:", 4) != 0;
}

/* Of a large fabric only the groups out of limits; nothing where no load is known. */
static void spine_heat(json_t *page, const json_t *doc)
{
	const json_t *groups = json_object_get(doc, "groups"), *group, *peer;
	json_t *shown = json_array();
	size_t i, tiers = 0;
	json_array_foreach (groups, i, group)
		tiers += spine_is_tier(group);
	const bool all = tiers <= HEAT_ROWS;
	json_array_foreach (groups, i, group) {
		const bool busy = text_count(group, "windows") > 0 && spine_is_tier(group);
		if (busy && (all || spine_is_over(group)) &&
			!isnan(doc_number(group, "utilization_ratio")) &&
			json_array_size(shown) < HEAT_ROWS)
			json_array_append(shown, (json_t *)group);
	}
	json_t *peers = spine_peers(shown);
	const size_t n = json_array_size(peers);
	if (json_array_size(shown) && n > 1 && n <= HEAT_PEERS) {
		json_t *heat = page_heat(page,
			"Load of the busiest link to each neighbour, share of line rate, busy "
			"windows",
			"ratio");
		json_array_foreach (peers, i, peer)
			page_heat_column(heat, json_string_value(peer));
		json_array_foreach (shown, i, group) {
			rw_cleanup(str_done) struct str label = {0};
			str_addf(&label, "%s %s", doc_text(group, "device"),
				doc_text(group, "group"));
			page_heat_row(heat, label.s, spine_heat_values(group, peers));
		}
	}
	json_decref(peers);
	json_decref(shown);
}

/* ---- a group out of limits --------------------------------------------------- */

/* "swp49 -> spine1 is hot in 90 % of 11 windows above the limit, since ..." */
static void spine_hot(json_t *page, const json_t *doc, const json_t *group, const char *hot)
{
	char who[96], share[16];
	rw_cleanup(str_done) struct str text = {0};
	const long long over = text_count(group, "windows_over");
	str_addf(&text, "%s is hot in ", doc_member(who, sizeof(who), group, hot));
	if (json_is_string(json_object_get(group, "persistent_member")))
		str_addf(&text, "%s of %lld window%s above the limit",
			doc_pct(share, sizeof(share), doc_number(group, "persistent_ratio")), over,
			plural((uint64_t)over));
	else if (json_is_string(json_object_get(group, "persistent_peer")))
		str_addf(&text,
			"the worst of %lld window%s above the limit; the hot link always goes to "
			"%s",
			over, plural((uint64_t)over), doc_text(group, "persistent_peer"));
	else
		str_addf(&text, "the worst of %lld windows above the limit; the hot member changes",
			over);
	str_add(&text,
		json_is_true(json_object_get(group, "over_now")) ? ", since "
								 : ", last seen from ");
	spine_add_clock(&text, doc, doc_text(group, "over_since"));
	page_fact(page, "hot", text.s);
}

/* One member: its load, or its share of the group's mean where no speed is known, or that its link
 * is down. */
static double spine_member_load(const json_t *group, const json_t *member)
{
	if (isnan(doc_number(group, "utilization_ratio")))
		return doc_number(member, "share_ratio");
	return doc_number(member, "utilization_ratio");
}

static void spine_members(json_t *page, const json_t *group, const char *hot)
{
	const json_t *members = json_object_get(group, "members"), *member;
	const bool shares = isnan(doc_number(group, "utilization_ratio"));
	size_t i, left = 0;
	json_t *bars = page_bars(page,
		shares ? "Load of each member, 100 % is its fair share, busy windows"
		       : "Load of each member, share of line rate, busy windows",
		"ratio");
	json_array_foreach (members, i, member) {
		const char *port = doc_text(member, "port"), *link = doc_text(member, "link");
		const bool is_hot = str_eq(port, hot);
		char name[96];
		rw_cleanup(str_done) struct str label = {0};
		if (i >= MEMBERS_DRAWN && !is_hot) {
			left++;
			continue;
		}
		str_add(&label, doc_member(name, sizeof(name), group, port));
		if (link && !str_eq(link, "up"))
			str_addf(&label, " (%s)", link);
		page_bar(bars, label.s, spine_member_load(group, member),
			is_hot ? "CRITICAL" : NULL);
	}
	if (left)
		page_textf(page, "%zu more member%s: --format json", left, plural(left));
}

static void spine_over_time(json_t *page, const json_t *doc, const json_t *group)
{
	const json_t *over = json_object_get(group, "over_time");
	json_t *values = json_object_get(over, "worst_ratio");
	if (!json_is_array(values))
		return;
	json_t *times = page_times(page, "max/mean-1 over time, the highest window of each part",
		"ratio", doc_word(over, "since"), doc_word(over, "until"), PAGE_COLUMNS);
	page_series(times, "", json_incref(values));
	page_limit(times, doc_number(doc, "warn_ratio"), "limit");
}

static void spine_chance(json_t *page, const json_t *group)
{
	char mean[16], p95[16], p999[16], now[16];
	const double flows = doc_number(group, "flows_estimate");
	if (json_is_false(json_object_get(group, "static_hash"))) {
		page_fact(page, "chance",
			"no baseline: this group is not spread by a static hash and should be "
			"nearly even");
		return;
	}
	if (isnan(flows) || isnan(doc_number(group, "expected_by_chance_ratio"))) {
		const char *why = doc_word(group, "flows_note");
		page_factf(page, "chance",
			"unknown: %s; without packet samples it may be hash collisions or a faulty "
			"hash",
			*why ? why : "no packets");
		return;
	}
	page_factf(page, "chance",
		"%s; a uniform hash of %.3g effective flows gives mean %s, p95 %s, p99.9 %s: %s",
		doc_pct(now, sizeof(now), doc_number(group, "worst_ratio")), flows,
		doc_pct(mean, sizeof(mean), doc_number(group, "expected_by_chance_ratio")),
		doc_pct(p95, sizeof(p95), doc_number(group, "expected_p95_ratio")),
		doc_pct(p999, sizeof(p999), doc_number(group, "expected_p999_ratio")),
		doc_text(group, "verdict"));
}

static void spine_spread(json_t *page, const json_t *group)
{
	char spread[16], cov[16];
	page_factf(page, "also", "(max-min)/mean %s, CoV %s, Jain %.3f",
		doc_pct(spread, sizeof(spread), doc_number(group, "imbalance_max_minus_min_ratio")),
		doc_pct(cov, sizeof(cov), doc_number(group, "cov_ratio")),
		doc_number(group, "jain_ratio"));
}

static void spine_flows(json_t *page, const json_t *group)
{
	static const struct column columns[] = {
		{"src", "FROM", COL_TEXT, false},
		{"dst", "TO", COL_TEXT, false},
		{"src_port", "UDP PORT", COL_INT, true},
		{"dst_qp", "QP", COL_QP, true},
		{"burst_bps", "IN BURSTS", COL_BPS, true},
		{"packets", "PACKETS", COL_INT, true},
	};
	const json_t *flows = json_object_get(group, "flows");
	const size_t n = json_array_size(flows);
	json_t *shown = json_array();
	for (size_t i = 0; i < n && i < FLOWS_SHOWN; i++)
		json_array_append(shown, json_array_get(flows, i));
	page_table(page, "Flows on the hot member in the worst window", columns,
		rw_countof(columns), shown);
	json_decref(shown);
	if (n > FLOWS_SHOWN)
		page_textf(page, "%zu more flow%s of those seen", n - FLOWS_SHOWN,
			plural(n - FLOWS_SHOWN));
}

static void spine_group_cost(json_t *page, const json_t *group)
{
	const double usd = doc_number(group, "usd");
	if (json_is_string(json_object_get(group, "incident")))
		page_factf(page, "cost", "$%.2f so far, measured by incident %s", usd,
			doc_text(group, "incident"));
	else if (!isnan(usd))
		page_factf(page, "cost", "at most $%.2f: %.3g s of job wait time", usd,
			doc_number(group, "wait_s"));
}

static void spine_detail(json_t *page, const json_t *doc, const json_t *group)
{
	rw_cleanup(str_done) struct str next = {0};
	const char *hot = json_string_value(json_object_get(group, "persistent_member"));
	if (!hot)
		hot = doc_text(group, "hot_member");
	page_heading(page, "%s %s", doc_text(group, "device"), doc_text(group, "group"));
	spine_hot(page, doc, group, hot);
	spine_chance(page, group);
	spine_spread(page, group);
	spine_group_cost(page, group);
	spine_members(page, group, hot);
	spine_over_time(page, doc, group);
	spine_flows(page, group);
	str_addf(&next, "rocewatch ecmp collisions --device %s --group %s",
		doc_text(group, "device"), doc_text(group, "group"));
	page_code(page, "next", next.s);
}

/* ---- the whole report --------------------------------------------------------- */

static void spine_cost(json_t *page, const json_t *doc)
{
	const double usd = doc_number(doc, "usd_total");
	if (isnan(usd) || usd <= 0)
		return;
	if (str_eq(doc_text(doc, "usd_source"), "incidents"))
		page_factf(page, "cost", "$%.2f, measured by the incidents of these groups", usd);
	else
		page_factf(page, "cost",
			"at most $%.2f: %.3g s of job wait time, %lld GPU at $%g/h, if the "
			"exchange is bound by these links",
			usd, doc_number(doc, "wait_s"), text_count(doc, "gpus"),
			doc_number(doc, "usd_per_gpu_hour"));
}

static void spine_tiers(json_t *page, const json_t *doc)
{
	const json_t *tiers = json_object_get(doc, "tiers");
	const long long leaves = text_count(tiers, "leaves"), spines = text_count(tiers, "spines");
	page_factf(page, "fabric", "%lld %s x %lld spine%s", leaves,
		leaves == 1 ? "leaf" : "leaves", spines, plural((uint64_t)spines));
}

static json_t *spine_page(const json_t *doc)
{
	const json_t *groups = json_object_get(doc, "groups"), *group;
	json_t *page = report_page("Spine imbalance", doc);
	size_t i;
	if (json_array_size(groups) == 0) {
		page_text(page, spine_imbalance_view.empty);
		return page;
	}
	spine_groups(page, doc);
	spine_tiers(page, doc);
	spine_windows(page, doc);
	spine_paths(page, doc);
	spine_cost(page, doc);
	spine_heat(page, doc);
	json_array_foreach (groups, i, group)
		if (spine_is_over(group))
			spine_detail(page, doc, group);
	return page;
}

static const struct column spine_columns[] = {
	{"device", NULL, COL_TEXT, false},
	{"group", NULL, COL_TEXT, false},
	{"windows", NULL, COL_INT, true},
	{"windows_over", "over", COL_INT, true},
	{"worst_ratio", "worst", COL_RATIO_PCT, true},
	{"worst_at", "worst at", COL_TIME, false},
	{"imbalance_ratio", "max/mean-1", COL_RATIO_PCT, true},
	{"imbalance_max_minus_min_ratio", "(max-min)/mean", COL_RATIO_PCT, true},
	{"cov_ratio", "CoV", COL_RATIO_PCT, true},
	{"jain_ratio", "Jain", COL_NUMBER, true},
	{"expected_by_chance_ratio", "chance mean", COL_RATIO_PCT, true},
	{"expected_p95_ratio", "chance p95", COL_RATIO_PCT, true},
	{"flows_estimate", "flows", COL_INT, true},
	{"persistent_member", "persistent member", COL_TEXT, false},
	{"coverage_ratio", "coverage", COL_RATIO_PCT, true},
	{"usd", "cost", COL_USD, true},
	{"verdict", NULL, COL_TEXT, false},
};

const struct view spine_imbalance_view = {
	.title = "Spine imbalance",
	.rows = "groups",
	.columns = spine_columns,
	.n_columns = rw_countof(spine_columns),
	.page = spine_page,
	.empty = "no ECMP group of two members or more, or no complete window in this time range",
};
