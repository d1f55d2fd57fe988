/* spine_text - see the header. Reads the document only, so that it prints the same from a file as
 * from a database. */
#include "agent/reports/spine_text.h"

#include <math.h>
#include <string.h>

#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/document/json_value.h"

const char *doc_text(const json_t *object, const char *key)
{
	const char *s = json_string_value(json_object_get(object, key));
	if (s)
		return s;
	return "-";
}

char *doc_pct(char *buf, size_t size, double ratio)
{
	if (isnan(ratio))
		snprintf(buf, size, "-");
	else
		/* a tenth below 100 %: 19.8 % must not read as the 20 % it is held against */
		snprintf(buf, size, "%.*f %%", fabs(ratio) < 0.9995 ? 1 : 0, 100 * ratio);
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
	json_int_t n = json_integer_value(json_object_get(object, "packets")),
		   sampling = json_integer_value(json_object_get(object, "sampling"));
	if (!n)
		fprintf(out,
			"%sno RoCE packets were captured at its members: which flows share them is "
			"not known\n",
			indent);
	else if (sampling > 1)
		fprintf(out,
			"%sobserved, n = %" JSON_INTEGER_FORMAT
			" packets, 1 in %" JSON_INTEGER_FORMAT " sampled\n",
			indent, n, sampling);
	else
		fprintf(out, "%sobserved, n = %" JSON_INTEGER_FORMAT " packets, every one seen\n",
			indent, n);
}

/* "2026-11-21T03:14:22.000Z" -> "03:14:22Z"; the date stays when the stretch is longer than a day.
 */
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
	json_int_t leaves = json_integer_value(json_object_get(tiers, "leaves")),
		   spines = json_integer_value(json_object_get(tiers, "spines"));
	const char *on = "\033[1m";
	if (!color)
		on = "";
	else if (any_over)
		on = "\033[1;31m";
	const char *off = "";
	if (color)
		off = "\033[0m";
	fprintf(out,
		"%sSPINE IMBALANCE%s  %s  %.10s %.5sZ - %.10s %.5sZ  %" JSON_INTEGER_FORMAT
		" %s x %" JSON_INTEGER_FORMAT " %s  VERDICT: %s%s%s\n",
		str_if(color, "\033[1m"), off, doc_text(doc, "fabric"), doc_text(doc, "from"),
		doc_text(doc, "from") + (strlen(doc_text(doc, "from")) > 11 ? 11 : 0),
		doc_text(doc, "to"),
		doc_text(doc, "to") + (strlen(doc_text(doc, "to")) > 11 ? 11 : 0), leaves,
		leaves == 1 ? "leaf" : "leaves", spines, spines == 1 ? "spine" : "spines", on,
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

static void spine_text_row(FILE *out, const json_t *doc, const json_t *group)
{
	char name[80], worst[16], when[32], mean[16], chance[16], p95[16], persistent[80];
	snprintf(name, sizeof(name), "%s %s", doc_text(group, "device"), doc_text(group, "group"));
	const char *member = json_string_value(json_object_get(group, "persistent_member"));
	const char *peer = json_string_value(json_object_get(group, "persistent_peer"));
	if (member)
		doc_member(persistent, sizeof(persistent), group, member);
	else if (peer)
		snprintf(persistent, sizeof(persistent), "%s (several links)", peer);
	else
		snprintf(persistent, sizeof(persistent), "%s",
			json_integer_value(json_object_get(group, "windows_over")) ? "none (moves)"
										   : "-");
	fprintf(out,
		"%-24s %7" JSON_INTEGER_FORMAT " %7" JSON_INTEGER_FORMAT
		"  %7s  %-17s %10s  %6s/%-6s  %-28s %-17s %s\n",
		name, json_integer_value(json_object_get(group, "windows")),
		json_integer_value(json_object_get(group, "windows_over")),
		doc_pct(worst, sizeof(worst), doc_number(group, "worst_ratio")),
		clock_text(when, sizeof(when), doc, doc_text(group, "worst_at")),
		doc_pct(mean, sizeof(mean), doc_number(group, "imbalance_ratio")),
		doc_pct(chance, sizeof(chance), doc_number(group, "expected_by_chance_ratio")),
		doc_pct(p95, sizeof(p95), doc_number(group, "expected_p95_ratio")), persistent,
		doc_text(group, "verdict"), action_of(group));
}

#define ROWS_IN_FULL 16

/* All groups of a small fabric; of a large one those worth a look, and the rest in one line. */
static void print_rows(FILE *out, const json_t *doc, const json_t *groups)
{
	size_t n = json_array_size(groups), rest = 0;
	double worst = -1;
	for (size_t i = 0; i < n; i++) {
		const json_t *g = json_array_get(groups, i);
		const char *action = action_of(g);
		if (n <= ROWS_IN_FULL || (!str_eq(action, "ok") && !str_eq(action, "idle"))) {
			spine_text_row(out, doc, g);
			continue;
		}
		rest++;
		worst = fmax(worst,
			isnan(doc_number(g, "worst_ratio")) ? -1 : doc_number(g, "worst_ratio"));
	}
	char text[16];
	if (rest)
		fprintf(out, "other %zu: even or idle, worst window %s\n", rest,
			doc_pct(text, sizeof(text), worst < 0 ? NAN : worst));
}

#define MEMBERS_IN_FULL 8

/* Many members: per neighbour, lowest to highest link. */
static void peers_load(FILE *out, const json_t *members)
{
	size_t n = json_array_size(members);
	bool any = false;
	for (size_t i = 0; i < n; i++) {
		const char *peer = doc_text(json_array_get(members, i), "peer");
		double min = INFINITY, max = -1;
		size_t links = 0;
		bool seen = false;
		for (size_t k = 0; k < n; k++) {
			const json_t *m = json_array_get(members, k);
			if (!str_eq(doc_text(m, "peer"), peer))
				continue;
			seen = seen || k < i;
			links++;
			double u = doc_number(m, "utilization_ratio");
			if (isnan(u))
				continue;
			min = fmin(min, u);
			max = fmax(max, u);
		}
		if (seen)
			continue;
		char low[16], high[16];
		fprintf(out, "%s%s %s..%s of line (%zu links)", str_if(any, ", "), peer,
			doc_pct(low, sizeof(low), max < 0 ? NAN : min),
			doc_pct(high, sizeof(high), max < 0 ? NAN : max), links);
		any = true;
	}
	fprintf(out, " (busy windows)\n");
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
		const json_t *m = json_array_get(members, i);
		char util[16];
		const char *link = doc_text(m, "link");
		double ratio = doc_number(m, "utilization_ratio");
		/* no speed: the share of the group's mean */
		if (isnan(ratio) && str_eq(link, "up")) {
			ratio = doc_number(m, "share_ratio");
			fprintf(out, "%s%s %.2f x mean", str_if(i, ", "), doc_text(m, "port"),
				ratio);
			continue;
		}
		fprintf(out, "%s%s%s %s%s", str_if(i, ", "), doc_text(m, "port"),
			str_if(str_eq(doc_text(m, "port"), hot), "*"),
			str_eq(link, "up") ? doc_pct(util, sizeof(util), ratio) : link,
			str_if(str_eq(link, "up"), " of line"));
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
			"no baseline: this group is not spread by a static hash, near even is "
			"expected\n");
		return;
	}
	if (isnan(flows) || isnan(doc_number(group, "expected_by_chance_ratio"))) {
		fprintf(out,
			"unknown: %s; luck and a faulty hash cannot be told apart without "
			"packets\n",
			json_is_string(json_object_get(group, "flows_note"))
				? doc_text(group, "flows_note")
				: "no packets");
		return;
	}
	fprintf(out,
		"%s against mean %s, p95 %s, p99.9 %s of a uniform hash of %.3g effective flows: "
		"%s\n",
		doc_pct(now, sizeof(now), doc_number(group, "worst_ratio")),
		doc_pct(mean, sizeof(mean), doc_number(group, "expected_by_chance_ratio")),
		doc_pct(p95, sizeof(p95), doc_number(group, "expected_p95_ratio")),
		doc_pct(p999, sizeof(p999), doc_number(group, "expected_p999_ratio")), flows,
		doc_text(group, "verdict"));
}

static void spine_text_detail(FILE *out, const json_t *doc, const json_t *group)
{
	char who[96], since[32], share[16], spread[16], cov[16];
	const char *persistent = json_string_value(json_object_get(group, "persistent_member"));
	const char *hot = persistent;
	if (!hot)
		hot = doc_text(group, "hot_member");
	json_int_t over = json_integer_value(json_object_get(group, "windows_over"));
	fprintf(out, "\n%s %s: %s is hot", doc_text(group, "device"), doc_text(group, "group"),
		doc_member(who, sizeof(who), group, hot));
	if (persistent)
		fprintf(out, " in %s of %" JSON_INTEGER_FORMAT " windows over",
			doc_pct(share, sizeof(share), doc_number(group, "persistent_ratio")), over);
	else if (json_is_string(json_object_get(group, "persistent_peer")))
		fprintf(out,
			" in the worst of %" JSON_INTEGER_FORMAT
			" windows over; always a link to %s",
			over, doc_text(group, "persistent_peer"));
	else
		fprintf(out,
			" in the worst of %" JSON_INTEGER_FORMAT " windows over; the place moves",
			over);
	fprintf(out, ", %s %s\n",
		json_is_true(json_object_get(group, "over_now")) ? "since" : "last seen from",
		clock_text(since, sizeof(since), doc, doc_text(group, "over_since")));
	members_line(out, group, hot);
	chance_line(out, group);
	fprintf(out, "  also   (max-min)/mean %s, CoV %s, Jain %.3f\n",
		doc_pct(spread, sizeof(spread), doc_number(group, "imbalance_max_minus_min_ratio")),
		doc_pct(cov, sizeof(cov), doc_number(group, "cov_ratio")),
		doc_number(group, "jain_ratio"));
	const json_t *flows = json_object_get(group, "flows");
	if (json_array_size(flows)) {
		fprintf(out, "  flows on it in the worst window:\n");
		for (size_t i = 0; i < json_array_size(flows) && i < 4; i++)
			doc_flow_line(out, json_array_get(flows, i), "         ");
		if (json_array_size(flows) > 4)
			fprintf(out,
				"         and more: rocewatch ecmp collisions --device %s --group "
				"%s\n",
				doc_text(group, "device"), doc_text(group, "group"));
	}
	if (!isnan(doc_number(group, "usd")))
		fprintf(out, "  cost   waiting for it: %.3g s, ~ $%.2f\n",
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
		"windows of %g s; those with mean load at or below %s of line are idle; busy %s; "
		"coverage %s\n",
		doc_number(doc, "window_s"),
		doc_pct(floor, sizeof(floor), doc_number(doc, "load_floor_ratio")),
		doc_pct(busy, sizeof(busy), doc_number(doc, "busy_ratio")),
		doc_pct(coverage, sizeof(coverage), doc_number(doc, "coverage_ratio")));
	paths_line(out, doc);
	for (size_t i = 0; i < n; i++)
		if (json_is_true(json_object_get(json_array_get(groups, i), "out_of_limits")))
			spine_text_detail(out, doc, json_array_get(groups, i));
	if (over && !isnan(doc_number(doc, "usd_total")))
		fprintf(out,
			"\ncost: %.3g s of waiting, ~ $%.2f (%" JSON_INTEGER_FORMAT
			" GPU at $%g/h; at most, if the exchange is bound by these links)\n",
			doc_number(doc, "wait_s"), doc_number(doc, "usd_total"),
			json_integer_value(json_object_get(doc, "gpus")),
			doc_number(doc, "usd_per_gpu_hour"));
	if (worst)
		fprintf(out, "%snext: rocewatch ecmp collisions --device %s --group %s\n",
			str_if(isnan(doc_number(doc, "usd_total")), "\n"),
			doc_text(worst, "device"), doc_text(worst, "group"));
}
