/* ecmp_words - members, flows and shares as words. */
#include "agent/answers/ecmp/ecmp_words.h"

#include <math.h>
#include <string.h>

#include "base/str.h"
#include "agent/answers/spine/answer.h"
#include "agent/answers/ecmp/answer.h"
#include "agent/document/paper.h"
#include "agent/document/writer.h"

/* ---- ecmp/text - heat map, collisions and groups as people read them. */

/* ---- groups ------------------------------------------------------------------ */

static const void *ecmp_groups_rows(const void *answer, size_t *ret_n)
{
	const struct spine_answer *spine = answer;
	*ret_n = spine->n_groups;
	return spine->groups;
}

const struct view ecmp_groups_view = {
	.title = "ECMP groups",
	.table = &ecmp_groups_table,
	.table_rows = ecmp_groups_rows,
	.empty = SPINE_NO_GROUPS,
};

/* ---- heat map ---------------------------------------------------------------- */

/* A block per eighth of the line, so that the pattern shows before the figures are read. */
static const char *ecmp_shade(double ratio, bool ascii)
{
	static const char *const signs[] = {" ", ".", ":", "-", "=", "+", "*", "%", "#"};
	static const char *const blocks[] = {" ", "\u2581", "\u2582", "\u2583", "\u2584", "\u2585",
		"\u2586", "\u2587", "\u2588"};
	if (isnan(ratio))
		return blocks[0];
	const int level = (int)(fmin(fmax(ratio, 0), 1) * 8 + 0.5);
	return ascii ? signs[level] : blocks[level];
}

static void heatmap_head(FILE *out, const struct ecmp_heatmap *map, bool color, int width)
{
	char busy[16], warn[16], from[WALL_TEXT_MAX], to[WALL_TEXT_MAX];
	wall_format(from, map->from, 0);
	wall_format(to, map->to, 0);
	fprintf(out,
		"%sLEAF -> SPINE%s, %% of line, busy windows only (%s of %g s windows), %.10s "
		"%.5sZ - %.10s %.5sZ, limit %s (max/mean-1 of the links)\n",
		str_if(color, "\033[1m"), str_if(color, "\033[0m"),
		doc_pct(busy, sizeof(busy), map->busy_ratio), map->window_s, from, from + 11, to,
		to + 11, doc_pct(warn, sizeof(warn), map->warn_ratio));
	fprintf(out, "%-20s", "");
	for (size_t i = 0; i < map->n_peers; i++)
		fprintf(out, " %*s", width, map->peers[i]);
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
	FILE *out, const struct ecmp_cell *cell, bool idle, const struct heatmap_style *style)
{
	const int width = style->width;
	const bool hot = cell && cell->hot && style->color;
	if (!cell || isnan(cell->utilization_ratio)) {
		const char *word = ".";
		if (cell)
			word = idle ? "idle" : "?";
		fprintf(out, " %*s", width, word);
		return;
	}
	const int pad = width > 8 ? width - 8 : 0;
	fprintf(out, " %*s%s%s%5.1f%s%s", pad, "",
		ecmp_shade(cell->utilization_ratio, style->ascii), str_if(hot, "\033[1;31m"),
		100 * cell->utilization_ratio, cell->hot ? "!!" : "  ", str_if(hot, "\033[0m"));
}

static const struct ecmp_cell *heatmap_find(const struct ecmp_row *row, const char *peer)
{
	for (size_t i = 0; i < row->n_cells; i++)
		if (str_eq(row->cells[i].peer, peer))
			return &row->cells[i];
	return NULL;
}

static void heatmap_row(FILE *out, const struct ecmp_heatmap *map, const struct ecmp_row *row,
	const struct heatmap_style *style)
{
	char name[64], mean[16], spines[16], links[16], chance[16], p95[16], both[40];
	snprintf(name, sizeof(name), "%s", row->device);
	if (!str_eq(row->group, "uplinks"))
		snprintf(name, sizeof(name), "%s %s", row->device, row->group);
	fprintf(out, "%-20s", name);
	for (size_t i = 0; i < map->n_peers; i++)
		heatmap_cell(
			out, heatmap_find(row, map->peers[i]), str_eq(row->verdict, "idle"), style);
	snprintf(both, sizeof(both), "%s / %s",
		doc_pct(chance, sizeof(chance), row->expected_by_chance_ratio),
		doc_pct(p95, sizeof(p95), row->expected_p95_ratio));
	fprintf(out, " %8s %8s %8s  %-15s %s", doc_pct(mean, sizeof(mean), row->utilization_ratio),
		doc_pct(spines, sizeof(spines), row->imbalance_ratio),
		doc_pct(links, sizeof(links), row->link_imbalance_ratio), both, row->verdict);
	if (row->windows_over)
		fprintf(out, ", %llu of %llu windows", (unsigned long long)row->windows_over,
			(unsigned long long)row->windows);
	if (row->windows_over && row->persistent_member)
		fprintf(out, ", hot: %s", row->persistent_member);
	fputc('\n', out);
}

static void heatmap_text(
	FILE *out, const void *answer, const struct view *view, bool color, bool header)
{
	const struct ecmp_heatmap *map = answer;
	struct heatmap_style style = {.width = 9, .color = color, .ascii = !paper_is_utf8()};
	if (map->n_rows == 0) {
		fprintf(out, "%s\n", view->empty);
		return;
	}
	for (size_t i = 0; i < map->n_peers; i++) {
		const int n = (int)strlen(map->peers[i]);
		if (n > style.width)
			style.width = n;
	}
	if (header)
		heatmap_head(out, map, color, style.width);
	for (size_t i = 0; i < map->n_rows; i++)
		heatmap_row(out, map, &map->rows[i], &style);
}

static const void *heatmap_rows(const void *answer, size_t *ret_n)
{
	const struct ecmp_heatmap *map = answer;
	*ret_n = map->n_rows;
	return map->rows;
}

const struct view ecmp_heatmap_view = {
	.title = "ECMP heat map",
	.table = &ecmp_heatmap_table,
	.table_rows = heatmap_rows,
	.answer_text = heatmap_text,
	.empty = SPINE_NO_GROUPS,
};

/* ---- collisions ---------------------------------------------------------------- */

/* What the packets behind the flows are worth. */
static void collisions_packets(FILE *out, const struct ecmp_collision *group)
{
	const unsigned long long n = group->packets, sampling = group->sampling;
	if (!n)
		fprintf(out,
			"  no RoCE packets were captured at its members: their flows are not "
			"known\n");
	else if (group->sampling != COUNT_UNKNOWN && sampling > 1)
		fprintf(out, "  observed, n = %llu packets, 1 in %llu sampled\n", n, sampling);
	else
		fprintf(out, "  observed, n = %llu packets, every one seen\n", n);
}

static void collisions_flow(FILE *out, const struct spine_flow *flow)
{
	static const char *const units[] = {"bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"};
	double burst = (double)flow->burst_bps;
	size_t i = 0;
	fprintf(out, "  %s > %s  sport %llu  QP 0x%06llx  ", flow->src, flow->dst,
		(unsigned long long)flow->src_port, (unsigned long long)flow->dst_qp);
	for (; burst >= 1000 && i < 4; i++)
		burst /= 1000;
	if (flow->burst_bps == COUNT_UNKNOWN)
		fputs("in-burst rate unknown", out);
	else
		fprintf(out, "%.3g %s in bursts", burst, units[i]);
	fprintf(out, "  %llu packets\n", (unsigned long long)flow->packets);
}

static void collisions_group(FILE *out, const struct ecmp_collision *group, bool color)
{
	char worst[16], chance[16];
	fprintf(out, "%sCOLLISIONS%s %s %s  %s%s%s  max/mean-1 %s (chance p99.9 %s)  %s\n",
		str_if(color, "\033[1m"), str_if(color, "\033[0m"), group->device, group->group,
		group->member, str_if(group->peer, " -> "), str_or(group->peer, ""),
		doc_pct(worst, sizeof(worst), group->worst_ratio),
		doc_pct(chance, sizeof(chance), group->expected_p999_ratio), group->verdict);
	collisions_packets(out, group);
	if (group->n_flows == 0 && group->packets)
		fprintf(out, "  none of them left by this member\n");
	for (size_t i = 0; i < group->n_flows; i++)
		collisions_flow(out, &group->flows[i]);
}

/* One line for a fabric in order; who asks for one or two groups wants to see their flows. */
static bool collisions_none(FILE *out, const struct ecmp_collisions *answer, size_t n_out)
{
	enum { SHOWN_EVEN = 2 };
	double worst = NAN;
	char text[16];
	if (n_out > 0 || answer->n_groups <= SHOWN_EVEN)
		return false;
	for (size_t i = 0; i < answer->n_groups; i++)
		worst = fmax(worst, answer->groups[i].worst_ratio);
	fprintf(out,
		"no collision: none of %zu busy groups is out of limits, worst window %s "
		"(--device and --group show the flows of one)\n",
		answer->n_groups, doc_pct(text, sizeof(text), worst));
	return true;
}

/* The groups out of limits; where there is none, and few are asked for, all of them. */
static void collisions_text(
	FILE *out, const void *of, const struct view *view, bool color, bool header)
{
	const struct ecmp_collisions *answer = of;
	size_t n_out = 0, shown = 0;
	for (size_t i = 0; i < answer->n_groups; i++)
		n_out += answer->groups[i].out_of_limits;
	if (collisions_none(out, answer, n_out))
		return;
	for (size_t i = 0; i < answer->n_groups; i++) {
		if (n_out && !answer->groups[i].out_of_limits)
			continue;
		if (shown++ > 0)
			fputc('\n', out);
		collisions_group(out, &answer->groups[i], color);
	}
	if (!shown)
		fprintf(out, "%s\n", view->empty);
}

static const void *collisions_rows(const void *of, size_t *ret_n)
{
	const struct ecmp_collisions *answer = of;
	*ret_n = answer->n_flows;
	return answer->flows;
}

const struct view ecmp_collisions_view = {
	.title = "Flows that share a hot member",
	.table = &ecmp_collisions_table,
	.table_rows = collisions_rows,
	.answer_text = collisions_text,
	.empty = "no busy window (which flows share a member is known from captured packets only)",
};

char *doc_pct(char *buf, size_t size, double ratio)
{
	/* One decimal below 100 %: 19.8 % must not read as the limit of 20 %. */
	int decimals = fabs(ratio) < 0.9995 ? 1 : 0;
	/* no "-0.0 %" */
	if (fabs(ratio) < 0.0005)
		ratio = 0;
	if (isnan(ratio))
		snprintf(buf, size, "-");
	else
		snprintf(buf, size, "%.*f %%", decimals, 100 * ratio);
	return buf;
}

char *ecmp_member_text(char *buf, size_t size, const struct spine_group *group, const char *port)
{
	const struct spine_member *member = spine_group_member(group, port);
	if (member && member->peer)
		snprintf(buf, size, "%s -> %s", port, member->peer);
	else
		snprintf(buf, size, "%s", port);
	return buf;
}
