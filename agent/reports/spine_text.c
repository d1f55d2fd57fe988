/*
 * spine_text - the spine-imbalance document as text: one line a group, then the groups out of
 * limits in detail. It reads the document only, so that it prints the same from a file as from a
 * database.
 */
#include "agent/reports/spine_text.h"

#include <math.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/document/json_value.h"
#include "agent/reports/text.h"

const char *doc_text(const json_t *object, const char *key)
{
	const char *s = json_string_value(json_object_get(object, key));
	if (s)
		return s;
	return "-";
}

char *doc_pct(char *buf, size_t size, double ratio)
{
	/* One decimal below 100 %: 19.8 % must not read as the limit of 20 %. */
	int decimals = fabs(ratio) < 0.9995 ? 1 : 0;
	if (isnan(ratio))
		snprintf(buf, size, "-");
	else
		snprintf(buf, size, "%.*f %%", decimals, 100 * ratio);
	return buf;
}

static const json_t *member_of(const json_t *group, const char *port)
{
	const json_t *members = json_object_get(group, "members");
	for (size_t i = 0; i < json_array_size(members); i++)
		if (str_eq(doc_text(json_array_get(members, i), "port"), port))
			return json_array_get(members, i);
	return NULL;
}

char *doc_member(char *buf, size_t size, const json_t *group, const char *port)
{
	const json_t *m = member_of(group, port);
	const char *peer = NULL;
	if (m)
		peer = json_string_value(json_object_get(m, "peer"));
	if (peer)
		snprintf(buf, size, "%s -> %s", port, peer);
	else
		snprintf(buf, size, "%s", port);
	return buf;
}

static double rate_text(double bps, const char **ret_unit)
{
	static const char *const units[] = {"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"};
	size_t i = 0;
	for (; bps >= 1000 && i < 4; i++)
		bps /= 1000;
	*ret_unit = units[i];
	return bps;
}

void doc_flow_line(FILE *out, const json_t *object, const char *indent)
{
	double burst = doc_number(object, "burst_bps");
	const char *unit;
	fprintf(out, "%s%s > %s  sport %" JSON_INTEGER_FORMAT "  QP 0x%06llx  ", indent,
		doc_text(object, "src"), doc_text(object, "dst"),
		json_integer_value(json_object_get(object, "src_port")),
		(unsigned long long)json_integer_value(json_object_get(object, "dst_qp")));
	if (isnan(burst))
		fprintf(out, "in-burst rate unknown");
	else {
		burst = rate_text(burst, &unit);
		fprintf(out, "%.3g %s in bursts", burst, unit);
	}
	fprintf(out, "  %" JSON_INTEGER_FORMAT " packets\n",
		json_integer_value(json_object_get(object, "packets")));
}

void doc_packets_line(FILE *out, const json_t *object, const char *indent)
{
	long long n = text_count(object, "packets"), sampling = text_count(object, "sampling");
	if (!n)
		fprintf(out,
			"%sno RoCE packets were captured at its members: their flows are not "
			"known\n",
			indent);
	else if (sampling > 1)
		fprintf(out, "%sobserved, n = %lld packets, 1 in %lld sampled\n", indent, n,
			sampling);
	else
		fprintf(out, "%sobserved, n = %lld packets, every one seen\n", indent, n);
}

/* "2026-11-21T03:14:22.000Z" -> "03:14:22Z"; with the date when the report covers several days. */
static char *clock_text(char *buf, size_t size, const json_t *doc, const char *time)
{
	const char *from = doc_text(doc, "from"), *to = doc_text(doc, "to");
	if (strlen(time) < 19)
		snprintf(buf, size, "%s", time);
	else if (strncmp(from, to, 10) == 0 && strncmp(time, from, 10) == 0)
		snprintf(buf, size, "%.8sZ", time + 11);
	else
		snprintf(buf, size, "%.10s %.5sZ", time, time + 11);
	return buf;
}

static void spine_text_head(FILE *out, const json_t *doc, bool color, bool any_over)
{
	const json_t *tiers = json_object_get(doc, "tiers");
	long long leaves = text_count(tiers, "leaves"), spines = text_count(tiers, "spines");
	const char *bold = str_if(color, "\033[1m"), *off = str_if(color, "\033[0m");
	const char *verdict_on = bold;
	if (color && any_over)
		verdict_on = "\033[1;31m";
	fprintf(out, "%sSPINE IMBALANCE%s  %s  %.10s %.5sZ - %.10s %.5sZ", bold, off,
		doc_text(doc, "fabric"), doc_text(doc, "from"), text_clock(doc, "from"),
		doc_text(doc, "to"), text_clock(doc, "to"));
	fprintf(out, "  %lld %s x %lld spine%s  VERDICT: %s%s%s\n", leaves,
		leaves == 1 ? "leaf" : "leaves", spines, plural((uint64_t)spines), verdict_on,
		doc_text(doc, "verdict"), off);
}

static const char *action_of(const json_t *group)
{
	if (json_is_true(json_object_get(group, "out_of_limits")))
		return "ACTION";
	if (json_integer_value(json_object_get(group, "windows_over")) > 0)
		return "watch";
	const char *v = doc_text(group, "verdict");
	if (str_eq(v, "unknown"))
		return "NO DATA";
	if (str_eq(v, "idle"))
		return "idle";
	return "ok";
}

/* The member that is hot nearly always; else the neighbour; "none (moves)" when it changes. */
static void persistent_text(char *buf, size_t size, const json_t *group)
{
	const char *member = json_string_value(json_object_get(group, "persistent_member"));
	const char *peer = json_string_value(json_object_get(group, "persistent_peer"));
	if (member)
		doc_member(buf, size, group, member);
	else if (peer)
		snprintf(buf, size, "%s (several links)", peer);
	else if (text_count(group, "windows_over"))
		snprintf(buf, size, "none (moves)");
	else
		snprintf(buf, size, "-");
}

static void spine_text_row(FILE *out, const json_t *doc, const json_t *group)
{
	char name[80], worst[16], when[32], mean[16], chance[16], p95[16], persistent[80];
	snprintf(name, sizeof(name), "%s %s", doc_text(group, "device"), doc_text(group, "group"));
	persistent_text(persistent, sizeof(persistent), group);
	doc_pct(worst, sizeof(worst), doc_number(group, "worst_ratio"));
	doc_pct(mean, sizeof(mean), doc_number(group, "imbalance_ratio"));
	doc_pct(chance, sizeof(chance), doc_number(group, "expected_by_chance_ratio"));
	doc_pct(p95, sizeof(p95), doc_number(group, "expected_p95_ratio"));
	clock_text(when, sizeof(when), doc, doc_text(group, "worst_at"));
	fprintf(out, "%-24s %7lld %7lld  %7s  %-17s %10s  %6s/%-6s  %-28s %-17s %s\n", name,
		text_count(group, "windows"), text_count(group, "windows_over"), worst, when, mean,
		chance, p95, persistent, doc_text(group, "verdict"), action_of(group));
}

#define ROWS_IN_FULL 16

/* All groups of a small fabric; of a large one those that need attention, and one line for the
 * rest. */
static void print_rows(FILE *out, const json_t *doc, const json_t *groups)
{
	size_t n = json_array_size(groups), even = 0, idle = 0;
	double worst = NAN;
	for (size_t i = 0; i < n; i++) {
		const json_t *group = json_array_get(groups, i);
		const char *action = action_of(group);
		bool is_idle = str_eq(action, "idle"), is_ok = str_eq(action, "ok");
		if (n <= ROWS_IN_FULL || (!is_idle && !is_ok)) {
			spine_text_row(out, doc, group);
			continue;
		}
		idle += is_idle;
		even += is_ok;
		worst = fmax(worst, doc_number(group, "worst_ratio"));
	}
	char text[16];
	doc_pct(text, sizeof(text), worst);
	if (even)
		fprintf(out, "%zu other group%s even or idle, worst window %s\n", even + idle,
			plural(even + idle), text);
	else if (idle)
		fprintf(out, "%zu other group%s idle\n", idle, plural(idle));
}

#define MEMBERS_IN_FULL 8

/* The range of the links to one neighbour: "spine1 20.1 %..45.0 % of line (16 links)". */
static void peer_load(FILE *out, const json_t *members, const char *peer)
{
	double min = NAN, max = NAN;
	size_t links = 0;
	for (size_t i = 0; i < json_array_size(members); i++) {
		const json_t *member = json_array_get(members, i);
		if (!str_eq(doc_text(member, "peer"), peer))
			continue;
		links++;
		min = fmin(min, doc_number(member, "utilization_ratio"));
		max = fmax(max, doc_number(member, "utilization_ratio"));
	}
	char low[16], high[16];
	fprintf(out, "%s %s..%s of line (%zu links)", peer, doc_pct(low, sizeof(low), min),
		doc_pct(high, sizeof(high), max), links);
}

/* Many members: per neighbour, lowest to highest link. */
static void peers_load(FILE *out, const json_t *members)
{
	for (size_t i = 0; i < json_array_size(members); i++) {
		const char *peer = doc_text(json_array_get(members, i), "peer");
		size_t first = 0;
		while (!str_eq(doc_text(json_array_get(members, first), "peer"), peer))
			first++;
		if (first < i)
			continue; /* printed already */
		fputs(str_if(i > 0, ", "), out);
		peer_load(out, members, peer);
	}
	fprintf(out, " (busy windows)\n");
}

/* One member: its load, or its share of the group's mean where no speed is known, or that its link
 * is down. '*' marks the hot one. */
static void member_load(FILE *out, const json_t *member, const char *hot)
{
	char load[16];
	const char *link = doc_text(member, "link"), *port = doc_text(member, "port");
	const char *mark = str_if(str_eq(port, hot), "*");
	double ratio = doc_number(member, "utilization_ratio");
	if (!str_eq(link, "up"))
		fprintf(out, "%s%s %s", port, mark, link);
	else if (isnan(ratio))
		fprintf(out, "%s %.2f x mean", port, doc_number(member, "share_ratio"));
	else
		fprintf(out, "%s%s %s of line", port, mark, doc_pct(load, sizeof(load), ratio));
}

static void members_line(FILE *out, const json_t *group, const char *hot)
{
	const json_t *members = json_object_get(group, "members");
	fprintf(out, "  load   ");
	if (json_array_size(members) > MEMBERS_IN_FULL) {
		peers_load(out, members);
		return;
	}
	for (size_t i = 0; i < json_array_size(members); i++) {
		fputs(str_if(i > 0, ", "), out);
		member_load(out, json_array_get(members, i), hot);
	}
	fprintf(out, " (busy windows)\n");
}

static void chance_line(FILE *out, const json_t *group)
{
	char mean[16], p95[16], p999[16], now[16];
	double flows = doc_number(group, "flows_estimate");
	fprintf(out, "  chance ");
	if (json_is_false(json_object_get(group, "static_hash"))) {
		fprintf(out,
			"no baseline: this group is not spread by a static hash and should be "
			"nearly even\n");
		return;
	}
	if (isnan(flows) || isnan(doc_number(group, "expected_by_chance_ratio"))) {
		const char *why = "no packets";
		if (json_is_string(json_object_get(group, "flows_note")))
			why = doc_text(group, "flows_note");
		fprintf(out,
			"unknown: %s; without packet samples it may be hash collisions or a faulty "
			"hash\n",
			why);
		return;
	}
	fprintf(out,
		"%s; a uniform hash of %.3g effective flows gives mean %s, p95 %s, p99.9 %s: "
		"%s\n",
		doc_pct(now, sizeof(now), doc_number(group, "worst_ratio")), flows,
		doc_pct(mean, sizeof(mean), doc_number(group, "expected_by_chance_ratio")),
		doc_pct(p95, sizeof(p95), doc_number(group, "expected_p95_ratio")),
		doc_pct(p999, sizeof(p999), doc_number(group, "expected_p999_ratio")),
		doc_text(group, "verdict"));
}

/* "leaf1 uplinks: Ethernet49 -> spine1 is hot in 90 % of 11 windows above the limit, since ..." */
static void hot_line(FILE *out, const json_t *doc, const json_t *group, const char *hot)
{
	char who[96], since[32], share[16];
	long long over = text_count(group, "windows_over");
	const char *begin = "last seen from";
	if (json_is_true(json_object_get(group, "over_now")))
		begin = "since";
	fprintf(out, "\n%s %s: %s is hot in ", doc_text(group, "device"), doc_text(group, "group"),
		doc_member(who, sizeof(who), group, hot));
	if (json_is_string(json_object_get(group, "persistent_member")))
		fprintf(out, "%s of %lld windows above the limit",
			doc_pct(share, sizeof(share), doc_number(group, "persistent_ratio")), over);
	else if (json_is_string(json_object_get(group, "persistent_peer")))
		fprintf(out,
			"the worst of %lld windows above the limit; the hot link always goes to %s",
			over, doc_text(group, "persistent_peer"));
	else
		fprintf(out, "the worst of %lld windows above the limit; the hot member changes",
			over);
	fprintf(out, ", %s %s\n", begin,
		clock_text(since, sizeof(since), doc, doc_text(group, "over_since")));
}

#define FLOWS_SHOWN 4

static void flows_lines(FILE *out, const json_t *group)
{
	const json_t *flows = json_object_get(group, "flows");
	size_t n = json_array_size(flows);
	if (!n)
		return;
	fprintf(out, "  flows on it in the worst window:\n");
	for (size_t i = 0; i < n && i < FLOWS_SHOWN; i++)
		doc_flow_line(out, json_array_get(flows, i), "         ");
	if (n > FLOWS_SHOWN)
		fprintf(out,
			"         and more: rocewatch ecmp collisions --device %s --group %s\n",
			doc_text(group, "device"), doc_text(group, "group"));
}

static void spine_text_detail(FILE *out, const json_t *doc, const json_t *group)
{
	char spread[16], cov[16];
	const char *hot = json_string_value(json_object_get(group, "persistent_member"));
	if (!hot)
		hot = doc_text(group, "hot_member");
	hot_line(out, doc, group, hot);
	members_line(out, group, hot);
	chance_line(out, group);
	fprintf(out, "  also   (max-min)/mean %s, CoV %s, Jain %.3f\n",
		doc_pct(spread, sizeof(spread), doc_number(group, "imbalance_max_minus_min_ratio")),
		doc_pct(cov, sizeof(cov), doc_number(group, "cov_ratio")),
		doc_number(group, "jain_ratio"));
	flows_lines(out, group);
	if (json_is_string(json_object_get(group, "incident")))
		fprintf(out, "  cost   $%.2f so far, measured by incident %s\n",
			doc_number(group, "usd"), doc_text(group, "incident"));
	else if (!isnan(doc_number(group, "usd")))
		fprintf(out, "  cost   %.3g s of job wait time, ~ $%.2f\n",
			doc_number(group, "wait_s"), doc_number(group, "usd"));
}

static void paths_line(FILE *out, const json_t *doc)
{
	const json_t *groups = json_object_get(doc, "groups");
	bool any = false;
	for (size_t i = 0; i < json_array_size(groups); i++) {
		const json_t *g = json_array_get(groups, i),
			     *members = json_object_get(g, "members");
		for (size_t k = 0; k < json_array_size(members); k++) {
			const json_t *m = json_array_get(members, k);
			if (str_eq(doc_text(m, "link"), "up"))
				continue;
			fprintf(out, "%s %s %s %s: %s%s",
				any ? ";" : "paths:", doc_text(g, "device"), doc_text(g, "group"),
				doc_text(m, "port"), doc_text(m, "link"),
				str_if(str_eq(doc_text(m, "link"), "down"), " (missing path)"));
			any = true;
		}
	}
	fprintf(out, "%s\n", str_if(!any, "paths: every member of every group is up"));
}

void spine_text(FILE *out, const json_t *doc, const struct view *view, bool color, bool header)
{
	const json_t *groups = json_object_get(doc, "groups");
	size_t n = json_array_size(groups), over = 0;
	const json_t *worst = NULL;
	for (size_t i = 0; i < n; i++) {
		const json_t *g = json_array_get(groups, i);
		if (!json_is_true(json_object_get(g, "out_of_limits")))
			continue;
		over++;
		if (!worst || doc_number(g, "worst_ratio") > doc_number(worst, "worst_ratio"))
			worst = g;
	}
	if (header)
		spine_text_head(out, doc, color, over > 0);
	if (!n) {
		fprintf(out, "%s\n", view->empty);
		return;
	}
	char title[16], floor[16], busy[16], coverage[16];
	snprintf(title, sizeof(title), "> %.3g %%", 100 * doc_number(doc, "warn_ratio"));
	if (header)
		fprintf(out, "%-24s %7s %7s  %7s  %-17s %10s  %6s/%-6s  %-28s %s\n", "group",
			"windows", title, "worst", "when", "max/mean-1", "chance", "p95",
			"persistent member", "verdict");
	print_rows(out, doc, groups);
	fprintf(out,
		"windows of %g s; a window with mean load at or below %s of line is idle; busy %s; "
		"coverage %s\n",
		doc_number(doc, "window_s"),
		doc_pct(floor, sizeof(floor), doc_number(doc, "load_floor_ratio")),
		doc_pct(busy, sizeof(busy), doc_number(doc, "busy_ratio")),
		doc_pct(coverage, sizeof(coverage), doc_number(doc, "coverage_ratio")));
	paths_line(out, doc);
	for (size_t i = 0; i < n; i++)
		if (json_is_true(json_object_get(json_array_get(groups, i), "out_of_limits")))
			spine_text_detail(out, doc, json_array_get(groups, i));
	const bool priced = !isnan(doc_number(doc, "usd_total"));
	if (over && priced && str_eq(doc_text(doc, "usd_source"), "incidents"))
		fprintf(out, "\ncost: $%.2f, measured by the incidents of these groups\n",
			doc_number(doc, "usd_total"));
	else if (over && priced)
		fprintf(out,
			"\ncost: %.3g s of job wait time, ~ $%.2f (%" JSON_INTEGER_FORMAT
			" GPU at $%g/h; at most, if the exchange is bound by these links)\n",
			doc_number(doc, "wait_s"), doc_number(doc, "usd_total"),
			json_integer_value(json_object_get(doc, "gpus")),
			doc_number(doc, "usd_per_gpu_hour"));
	if (worst)
		fprintf(out, "%snext: rocewatch ecmp collisions --device %s --group %s\n",
			str_if(isnan(doc_number(doc, "usd_total")), "\n"),
			doc_text(worst, "device"), doc_text(worst, "group"));
}
