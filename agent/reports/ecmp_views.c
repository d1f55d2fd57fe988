/* ecmp_views - groups, heat map and collisions: all made from the document of the spine-imbalance
 * report, so that they agree with it. */
#include "agent/reports/ecmp_views.h"

#include <math.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/document/json_value.h"
#include "agent/document/paper.h"
#include "agent/reports/ecmp_words.h"
#include "agent/reports/text.h"
#include "analyzers/measure/mean.h"

/* ---- groups -------------------------------------------------------------- */

static const struct column group_columns[] = {
	{"device", NULL, COL_TEXT, false},
	{"group", NULL, COL_TEXT, false},
	{"utilization_ratio", "load", COL_RATIO_PCT, true},
	{"imbalance_ratio", "max/mean-1", COL_RATIO_PCT, true},
	{"worst_ratio", "worst", COL_RATIO_PCT, true},
	{"expected_by_chance_ratio", "chance mean", COL_RATIO_PCT, true},
	{"expected_p95_ratio", "chance p95", COL_RATIO_PCT, true},
	{"flows_estimate", "flows", COL_INT, true},
	{"windows", "busy", COL_INT, true},
	{"windows_over", "over", COL_INT, true},
	{"windows_idle", "idle", COL_INT, true},
	{"windows_unknown", "no data", COL_INT, true},
	{"hot_member", "hot member", COL_TEXT, false},
	{"verdict", NULL, COL_TEXT, false},
};

#define NO_GROUPS "no ECMP group of two members or more, or no complete window in this time range"

const struct view ecmp_groups_view = {
	.title = "ECMP groups",
	.rows = "groups",
	.columns = group_columns,
	.n_columns = rw_countof(group_columns),
	.empty = NO_GROUPS,
};

static void ecmp_views_copy(json_t *to, const json_t *from, const char *key)
{
	json_t *v = json_object_get(from, key);
	json_object_set(to, key, v ? v : json_null());
}

/* ---- heat map ------------------------------------------------------------ */

static bool is_tier(const char *group)
{
	return strncmp(group, "to:", 3) != 0 && strncmp(group, "lag:", 4) != 0;
}

static json_t *ecmp_views_cell_of(json_t *cells, const char *peer)
{
	for (size_t i = 0; i < json_array_size(cells); i++)
		if (str_eq(doc_text(json_array_get(cells, i), "peer"), peer))
			return json_array_get(cells, i);
	json_t *c = json_object();
	json_object_set_new(c, "peer", json_string(peer));
	json_object_set_new(c, "rate_bps", json_real(0));
	json_object_set_new(c, "speed_bps", json_integer(0));
	json_object_set_new(c, "links", json_integer(0));
	json_object_set_new(c, "utilization_ratio", json_null());
	json_object_set_new(c, "hot", json_false());
	json_array_append_new(cells, c);
	return c;
}

/* Sums of the links per neighbour; the fold's imbalance is over neighbours, weighed by the capacity
 * towards them. */
static void ecmp_views_fold(
	const json_t *group, json_t *cells, double *ret_mean, double *ret_imbalance)
{
	const json_t *members = json_object_get(group, "members");
	double rate = 0, speed = 0, max = -1;
	json_t *hot = NULL;
	*ret_mean = *ret_imbalance = NAN;
	for (size_t i = 0; i < json_array_size(members); i++) {
		const json_t *m = json_array_get(members, i);
		json_t *c = ecmp_views_cell_of(cells, doc_text(m, "peer"));
		double r = doc_number(m, "rate_bps"), s = doc_number(m, "speed_bps");
		json_object_set_new(c, "links",
			json_integer(json_integer_value(json_object_get(c, "links")) + 1));
		if (isnan(r) || isnan(s))
			continue;
		json_object_set_new(c, "rate_bps", json_real(doc_number(c, "rate_bps") + r));
		json_object_set_new(
			c, "speed_bps", json_integer((json_int_t)(doc_number(c, "speed_bps") + s)));
		rate += r;
		speed += s;
	}
	for (size_t i = 0; i < json_array_size(cells); i++) {
		json_t *c = json_array_get(cells, i);
		double s = doc_number(c, "speed_bps");
		if (s <= 0)
			continue;
		double u = doc_number(c, "rate_bps") / s;
		json_object_set_new(c, "utilization_ratio", json_real(u));
		if (u > max) {
			max = u;
			hot = c;
		}
	}
	if (speed <= 0)
		return;
	*ret_mean = rate / speed;
	if (rate > 0)
		*ret_imbalance = mean_imbalance(max, *ret_mean);
	if (hot && str_eq(doc_text(group, "verdict"), "even") == 0 &&
		json_is_true(json_object_get(group, "out_of_limits")))
		json_object_set_new(hot, "hot", json_true());
}

json_t *ecmp_heatmap_json(const json_t *doc)
{
	static const char *const kept[] = {"device", "group", "verdict", "flows_estimate",
		"expected_by_chance_ratio", "expected_p95_ratio", "windows", "windows_over",
		"windows_idle", "windows_unknown", "persistent_member", "over_since",
		"static_hash"};
	static const char *const top[] = {
		"from", "to", "fabric", "warn_ratio", "busy_ratio", "coverage_ratio", "window_s"};
	json_t *out = json_object(), *rows = json_array(), *peers = json_array();
	for (size_t i = 0; i < rw_countof(top); i++)
		ecmp_views_copy(out, doc, top[i]);
	json_object_set(out, "verdict", json_object_get(doc, "verdict"));
	const json_t *groups = json_object_get(doc, "groups");
	for (size_t i = 0; i < json_array_size(groups); i++) {
		const json_t *g = json_array_get(groups, i);
		if (!is_tier(doc_text(g, "group")))
			continue;
		json_t *row = json_object(), *cells = json_array();
		double mean, imbalance;
		ecmp_views_fold(g, cells, &mean, &imbalance);
		for (size_t k = 0; k < rw_countof(kept); k++)
			ecmp_views_copy(row, g, kept[k]);
		json_object_set_new(row, "utilization_ratio", json_number_or_null(mean));
		json_object_set_new(row, "imbalance_ratio", json_number_or_null(imbalance));
		json_object_set(row, "link_imbalance_ratio", json_object_get(g, "imbalance_ratio"));
		json_object_set_new(row, "cells", cells);
		json_array_append_new(rows, row);
		for (size_t k = 0; k < json_array_size(cells); k++) {
			const char *peer = doc_text(json_array_get(cells, k), "peer");
			bool known = false;
			for (size_t j = 0; j < json_array_size(peers); j++)
				known = known ||
					str_eq(json_string_value(json_array_get(peers, j)), peer);
			if (!known)
				json_array_append_new(peers, json_string(peer));
		}
	}
	json_object_set_new(out, "peers", peers);
	json_object_set_new(out, "rows", rows);
	return out;
}

static const json_t *find_cell(const json_t *row, const char *peer)
{
	const json_t *cells = json_object_get(row, "cells");
	for (size_t i = 0; i < json_array_size(cells); i++)
		if (str_eq(doc_text(json_array_get(cells, i), "peer"), peer))
			return json_array_get(cells, i);
	return NULL;
}

/* A block per eighth of the line, so that the pattern shows before the figures are read. */
static const char *ecmp_views_shade(double ratio, bool ascii)
{
	static const char *const signs[] = {" ", ".", ":", "-", "=", "+", "*", "%", "#"};
	static const char *const blocks[] = {" ", "\u2581", "\u2582", "\u2583", "\u2584", "\u2585",
		"\u2586", "\u2587", "\u2588"};
	if (isnan(ratio))
		return blocks[0];
	const int level = (int)(fmin(fmax(ratio, 0), 1) * 8 + 0.5);
	return ascii ? signs[level] : blocks[level];
}

static void heatmap_head(FILE *out, const json_t *doc, const json_t *peers, bool color, int width)
{
	char busy[16], warn[16];
	fprintf(out,
		"%sLEAF -> SPINE%s, %% of line, busy windows only (%s of %g s windows), %.10s "
		"%.5sZ - %.10s %.5sZ, limit %s (max/mean-1 of the links)\n",
		str_if(color, "\033[1m"), str_if(color, "\033[0m"),
		doc_pct(busy, sizeof(busy), doc_number(doc, "busy_ratio")),
		doc_number(doc, "window_s"), doc_text(doc, "from"), text_clock(doc, "from"),
		doc_text(doc, "to"), text_clock(doc, "to"),
		doc_pct(warn, sizeof(warn), doc_number(doc, "warn_ratio")));
	fprintf(out, "%-20s", "");
	for (size_t i = 0; i < json_array_size(peers); i++)
		fprintf(out, " %*s", width, json_string_value(json_array_get(peers, i)));
	fprintf(out, " %8s %8s %8s  %-15s %s\n", "mean", "spines", "links", "chance mean/p95",
		"verdict");
}

struct heatmap_style {
	int width;
	bool color, ascii;
};

/* A device without a link to the neighbour is ".", one without load "idle", one without data "?".
 */
static void heatmap_cell(
	FILE *out, const json_t *cell, bool idle, const struct heatmap_style *style)
{
	const int width = style->width;
	const bool color = style->color;
	double load = NAN;
	bool hot = false;
	if (cell) {
		load = doc_number(cell, "utilization_ratio");
		hot = json_is_true(json_object_get(cell, "hot"));
	}
	if (isnan(load)) {
		const char *word = ".";
		if (cell)
			word = idle ? "idle" : "?";
		fprintf(out, " %*s", width, word);
		return;
	}
	int pad = width > 8 ? width - 8 : 0;
	fprintf(out, " %*s%s%s%5.1f%s%s", pad, "", ecmp_views_shade(load, style->ascii),
		str_if(hot && color, "\033[1;31m"), 100 * load, hot ? "!!" : "  ",
		str_if(hot && color, "\033[0m"));
}

static void heatmap_row(
	FILE *out, const json_t *row, const json_t *peers, const struct heatmap_style *style)
{
	const bool idle = str_eq(doc_text(row, "verdict"), "idle");
	char name[64], mean[16], spines[16], links[16], chance[16], p95[16], both[40];
	const char *group = doc_text(row, "group");
	long long over = text_count(row, "windows_over");
	snprintf(name, sizeof(name), "%s", doc_text(row, "device"));
	if (!str_eq(group, "uplinks"))
		snprintf(name, sizeof(name), "%s %s", doc_text(row, "device"), group);
	fprintf(out, "%-20s", name);
	for (size_t i = 0; i < json_array_size(peers); i++) {
		const char *peer = json_string_value(json_array_get(peers, i));
		heatmap_cell(out, find_cell(row, peer), idle, style);
	}
	snprintf(both, sizeof(both), "%s / %s",
		doc_pct(chance, sizeof(chance), doc_number(row, "expected_by_chance_ratio")),
		doc_pct(p95, sizeof(p95), doc_number(row, "expected_p95_ratio")));
	fprintf(out, " %8s %8s %8s  %-15s %s",
		doc_pct(mean, sizeof(mean), doc_number(row, "utilization_ratio")),
		doc_pct(spines, sizeof(spines), doc_number(row, "imbalance_ratio")),
		doc_pct(links, sizeof(links), doc_number(row, "link_imbalance_ratio")), both,
		doc_text(row, "verdict"));
	if (over)
		fprintf(out, ", %lld of %lld windows", over, text_count(row, "windows"));
	if (over && json_is_string(json_object_get(row, "persistent_member")))
		fprintf(out, ", hot: %s", doc_text(row, "persistent_member"));
	fputc('\n', out);
}

static void heatmap_text(
	FILE *out, const json_t *doc, const struct view *view, bool color, bool header)
{
	const json_t *rows = json_object_get(doc, "rows"), *peers = json_object_get(doc, "peers");
	int width = 9;
	if (!json_array_size(rows)) {
		fprintf(out, "%s\n", view->empty);
		return;
	}
	for (size_t i = 0; i < json_array_size(peers); i++) {
		int n = (int)strlen(json_string_value(json_array_get(peers, i)));
		if (n > width)
			width = n;
	}
	if (header)
		heatmap_head(out, doc, peers, color, width);
	const struct heatmap_style style = {
		.width = width, .color = color, .ascii = !paper_is_utf8()};
	for (size_t i = 0; i < json_array_size(rows); i++)
		heatmap_row(out, json_array_get(rows, i), peers, &style);
}

static const struct column heatmap_columns[] = {
	{"device", NULL, COL_TEXT, false},
	{"group", NULL, COL_TEXT, false},
	{"utilization_ratio", "mean", COL_RATIO_PCT, true},
	{"imbalance_ratio", "between neighbours", COL_RATIO_PCT, true},
	{"link_imbalance_ratio", "between links", COL_RATIO_PCT, true},
	{"expected_by_chance_ratio", "chance mean", COL_RATIO_PCT, true},
	{"expected_p95_ratio", "chance p95", COL_RATIO_PCT, true},
	{"verdict", NULL, COL_TEXT, false},
};

const struct view ecmp_heatmap_view = {
	.title = "ECMP heat map",
	.rows = "rows",
	.columns = heatmap_columns,
	.n_columns = rw_countof(heatmap_columns),
	.text = heatmap_text,
	.empty = NO_GROUPS,
};

/* ---- collisions ---------------------------------------------------------- */

json_t *ecmp_collisions_json(const json_t *doc)
{
	static const char *const kept[] = {"device", "group", "verdict", "worst_ratio", "worst_at",
		"expected_by_chance_ratio", "expected_p999_ratio", "flows_estimate", "flows_note",
		"packets", "sampling", "windows", "windows_over", "static_hash", "out_of_limits"};
	static const char *const top[] = {"from", "to", "fabric", "warn_ratio"};
	json_t *out = json_object(), *groups = json_array(), *flat = json_array();
	for (size_t i = 0; i < rw_countof(top); i++)
		ecmp_views_copy(out, doc, top[i]);
	json_object_set(out, "verdict", json_object_get(doc, "verdict"));
	const json_t *all = json_object_get(doc, "groups");
	for (size_t i = 0; i < json_array_size(all); i++) {
		const json_t *g = json_array_get(all, i), *flows = json_object_get(g, "flows"),
			     *members = json_object_get(g, "members");
		if (!json_is_string(json_object_get(g, "hot_member")))
			continue;
		json_t *o = json_object();
		for (size_t k = 0; k < rw_countof(kept); k++)
			ecmp_views_copy(o, g, kept[k]);
		json_object_set(o, "member", json_object_get(g, "hot_member"));
		json_object_set_new(o, "peer", json_null());
		for (size_t k = 0; k < json_array_size(members); k++)
			if (str_eq(doc_text(json_array_get(members, k), "port"),
				    doc_text(g, "hot_member"))) {
				ecmp_views_copy(o, json_array_get(members, k), "peer");
				ecmp_views_copy(o, json_array_get(members, k), "speed_bps");
				ecmp_views_copy(o, json_array_get(members, k), "utilization_ratio");
				ecmp_views_copy(o, json_array_get(members, k), "share_ratio");
			}
		json_object_set(o, "flows", json_object_get(g, "flows"));
		json_array_append_new(groups, o);
		for (size_t k = 0; k < json_array_size(flows); k++)
			json_array_append(flat, json_array_get(flows, k));
	}
	json_object_set_new(out, "groups", groups);
	json_object_set_new(out, "flows", flat);
	return out;
}

static void collisions_group(FILE *out, const json_t *group, bool color)
{
	char worst[16], chance[16];
	const json_t *flows = json_object_get(group, "flows");
	const char *peer = json_string_value(json_object_get(group, "peer"));
	fprintf(out, "%sCOLLISIONS%s %s %s  %s%s%s  max/mean-1 %s (chance p99.9 %s)  %s\n",
		str_if(color, "\033[1m"), str_if(color, "\033[0m"), doc_text(group, "device"),
		doc_text(group, "group"), doc_text(group, "member"), str_if(peer, " -> "),
		str_or(peer, ""), doc_pct(worst, sizeof(worst), doc_number(group, "worst_ratio")),
		doc_pct(chance, sizeof(chance), doc_number(group, "expected_p999_ratio")),
		doc_text(group, "verdict"));
	doc_packets_line(out, group, "  ");
	if (!json_array_size(flows) && text_count(group, "packets"))
		fprintf(out, "  none of them left by this member\n");
	for (size_t i = 0; i < json_array_size(flows); i++)
		doc_flow_line(out, json_array_get(flows, i), "  ");
}

/* One line for a fabric in order; who asks for one or two groups wants to see their flows. */
static bool collisions_none(FILE *out, const json_t *groups, size_t n_out)
{
	enum { SHOWN_EVEN = 2 };
	const size_t n = json_array_size(groups);
	double worst = NAN;
	char text[16];
	if (n_out > 0 || n <= SHOWN_EVEN)
		return false;
	for (size_t i = 0; i < n; i++)
		worst = fmax(worst, doc_number(json_array_get(groups, i), "worst_ratio"));
	fprintf(out,
		"no collision: none of %zu busy groups is out of limits, worst window %s "
		"(--device and --group show the flows of one)\n",
		n, doc_pct(text, sizeof(text), worst));
	return true;
}

/* The groups out of limits; where there is none, and few are asked for, all of them. */
static void collisions_text(
	FILE *out, const json_t *doc, const struct view *view, bool color, bool header)
{
	const json_t *groups = json_object_get(doc, "groups");
	size_t n = json_array_size(groups), n_out = 0, shown = 0;
	for (size_t i = 0; i < n; i++)
		n_out += json_is_true(json_object_get(json_array_get(groups, i), "out_of_limits"));
	if (collisions_none(out, groups, n_out))
		return;
	for (size_t i = 0; i < n; i++) {
		const json_t *group = json_array_get(groups, i);
		if (n_out && !json_is_true(json_object_get(group, "out_of_limits")))
			continue;
		if (shown++ > 0)
			fputc('\n', out);
		collisions_group(out, group, color);
	}
	if (!shown)
		fprintf(out, "%s\n", view->empty);
}

static const struct column flow_columns[] = {
	{"device", NULL, COL_TEXT, false},
	{"group", NULL, COL_TEXT, false},
	{"port", NULL, COL_TEXT, false},
	{"peer", NULL, COL_TEXT, false},
	{"src", NULL, COL_TEXT, false},
	{"dst", NULL, COL_TEXT, false},
	{"src_port", "sport", COL_INT, true},
	{"dst_qp", "QP", COL_QP, true},
	{"burst_bps", "in bursts", COL_BPS, true},
	{"packets", NULL, COL_INT, true},
	{"octets", NULL, COL_BYTES, true},
};

const struct view ecmp_collisions_view = {
	.title = "Flows that share a hot member",
	.rows = "flows",
	.columns = flow_columns,
	.n_columns = rw_countof(flow_columns),
	.text = collisions_text,
	.empty = "no busy window (which flows share a member is known from captured packets only)",
};
