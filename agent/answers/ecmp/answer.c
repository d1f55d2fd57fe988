/* ecmp/answer - heat map and collisions, made from the groups of the spine-imbalance report. */
#include "agent/answers/ecmp/answer.h"

#include "agent/document/paper.h"
#include "agent/document/writer.h"
#include "analyzers/measure/mean.h"

/* ---- rows --------------------------------------------------------------------------------- */

#define SHAPE struct spine_group
static const struct shown ecmp_groups_shown[] = {
	COLUMN(device, NULL),
	COLUMN(group, NULL),
	COLUMN(utilization_ratio, "load"),
	COLUMN(imbalance_ratio, "max/mean-1"),
	COLUMN(worst_ratio, "worst"),
	COLUMN(expected_by_chance_ratio, "chance mean"),
	COLUMN(expected_p95_ratio, "chance p95"),
	COLUMN(flows_estimate, "flows"),
	COLUMN(windows, "busy"),
	COLUMN(windows_over, "over"),
	COLUMN(windows_idle, "idle"),
	COLUMN(windows_unknown, "no data"),
	COLUMN(hot_member, "hot member"),
	COLUMN(verdict, NULL),
};
#undef SHAPE
const struct shape_table ecmp_groups_table = {
	&spine_group_shape, ecmp_groups_shown, rw_countof(ecmp_groups_shown)};

#define SHAPE struct ecmp_cell
static const struct field ecmp_cell_fields[] = {
	TEXT(peer, "Device above.", .known = true),
	NUMBER(rate_bps, UNIT_BITS_PER_S, "Mean rate."),
	COUNT(speed_bps, "Speed of all links to it.", .unit = UNIT_BITS_PER_S, .unknown = true),
	COUNT(links, "Links to it."),
	NUMBER(utilization_ratio, UNIT_RATIO, "Load."),
	FLAG(hot, "Does it stand out?"),
};
static SHAPE_OF(ecmp_cell, "HeatCell", "Load towards one peer.");
#undef SHAPE

#define SHAPE struct ecmp_row
static const struct field ecmp_row_fields[] = {
	TEXT(device, "Switch.", .known = true),
	TEXT(group, "Group.", .known = true),
	TEXT(verdict, "`even`, `skewed`, `idle` or `unknown`.", .known = true),
	NUMBER(flows_estimate, UNIT_COUNT, "Effective number of flows."),
	NUMBER(expected_by_chance_ratio, UNIT_RATIO, "Imbalance by chance."),
	NUMBER(expected_p95_ratio, UNIT_RATIO, "95th percentile of the same."),
	COUNT(windows, "Busy windows."),
	COUNT(windows_over, "Busy windows over the limit."),
	COUNT(windows_idle, "Windows with too little traffic."),
	COUNT(windows_unknown, "Windows without data."),
	TEXT(persistent_member, "Port that was the most loaded in most windows."),
	TIME(over_since, "Since when it is over the limit."),
	MAYBE(static_hash, "Does a static hash choose the paths?"),
	NUMBER(utilization_ratio, UNIT_RATIO, "Mean load."),
	NUMBER(imbalance_ratio, UNIT_RATIO, "Imbalance over the peers."),
	NUMBER(link_imbalance_ratio, UNIT_RATIO, "Imbalance over single links."),
	ROWS(cells, ecmp_cell, "One for each peer."),
};
static SHAPE_OF(ecmp_row, "HeatRow", "One group.");
static const struct shown ecmp_heatmap_shown[] = {
	COLUMN(device, NULL),
	COLUMN(group, NULL),
	COLUMN(utilization_ratio, "mean"),
	COLUMN(imbalance_ratio, "between neighbours"),
	COLUMN(link_imbalance_ratio, "between links"),
	COLUMN(expected_by_chance_ratio, "chance mean"),
	COLUMN(expected_p95_ratio, "chance p95"),
	COLUMN(verdict, NULL),
};
#undef SHAPE
const struct shape_table ecmp_heatmap_table = {
	&ecmp_row_shape, ecmp_heatmap_shown, rw_countof(ecmp_heatmap_shown)};

#define SHAPE struct ecmp_heatmap
static const struct field ecmp_heatmap_fields[] = {
	TIME(from, "Begin of the time.", .known = true),
	TIME(to, "End of the time.", .known = true),
	TEXT(fabric, "Name of the fabric.", .known = true),
	NUMBER(warn_ratio, UNIT_RATIO, "Limit of the imbalance.", .known = true),
	NUMBER(busy_ratio, UNIT_RATIO, "Share of the windows that were busy."),
	NUMBER(coverage_ratio, UNIT_RATIO, "Share of the expected samples that were there."),
	NUMBER(window_s, UNIT_SECONDS, "Length of a window.", .known = true),
	TEXT(verdict, "The result in one line.", .known = true),
	TEXTS(peers, "The columns: devices above."),
	ROWS(rows, ecmp_row, "The rows: groups."),
};
SHAPE_OF(ecmp_heatmap, "ecmp-heatmap", "Load of each leaf towards each spine.");
#undef SHAPE

#define SHAPE struct ecmp_collision
static const struct field ecmp_collision_fields[] = {
	TEXT(device, "Switch.", .known = true),
	TEXT(group, "Group.", .known = true),
	TEXT(verdict, "`even`, `skewed`, `idle` or `unknown`.", .known = true),
	NUMBER(worst_ratio, UNIT_RATIO, "Worst imbalance of a window."),
	TIME(worst_at, "End of that window."),
	NUMBER(expected_by_chance_ratio, UNIT_RATIO, "Imbalance by chance."),
	NUMBER(expected_p999_ratio, UNIT_RATIO, "99.9th percentile of the same."),
	NUMBER(flows_estimate, UNIT_COUNT, "Effective number of flows."),
	TEXT(flows_note, "Why the number of flows is not known."),
	COUNT(packets, "Captured packets of the group."),
	COUNT(sampling, "One packet in this many is captured.", .unknown = true),
	COUNT(windows, "Busy windows."),
	COUNT(windows_over, "Busy windows over the limit."),
	MAYBE(static_hash, "Does a static hash choose the paths?"),
	FLAG(out_of_limits, "Is it out of limits?"),
	TEXT(member, "The most loaded member."),
	TEXT(peer, "Device behind it."),
	COUNT(speed_bps, "Its speed.", .unit = UNIT_BITS_PER_S, .unknown = true),
	NUMBER(utilization_ratio, UNIT_RATIO, "Its load."),
	NUMBER(share_ratio, UNIT_RATIO, "Its load divided by its fair share."),
	ROWS(flows, spine_flow, "Its flows.", .type = "Flow"),
};
static SHAPE_OF(ecmp_collision, "Collision", "The most loaded member of a group and its flows.");
#undef SHAPE

#define SHAPE struct ecmp_collisions
static const struct field ecmp_collisions_fields[] = {
	TIME(from, "Begin of the time.", .known = true),
	TIME(to, "End of the time.", .known = true),
	TEXT(fabric, "Name of the fabric.", .known = true),
	NUMBER(warn_ratio, UNIT_RATIO, "Limit of the imbalance.", .known = true),
	TEXT(verdict, "The result in one line.", .known = true),
	ROWS(groups, ecmp_collision, "The groups."),
	ROWS(flows, spine_flow, "The flows of all groups, for tables.", .type = "Flow"),
};
SHAPE_OF(ecmp_collisions, "ecmp-collisions",
	"Which flows share the most loaded member of each group.");
#undef SHAPE

#define SHAPE struct spine_flow
static const struct shown ecmp_flows_shown[] = {
	COLUMN(device, NULL),
	COLUMN(group, NULL),
	COLUMN(port, NULL),
	COLUMN(peer, NULL),
	COLUMN(src, NULL),
	COLUMN(dst, NULL),
	COLUMN(src_port, "sport"),
	COLUMN(dst_qp, "QP"),
	COLUMN(burst_bps, "in bursts"),
	COLUMN(packets, NULL),
	COLUMN(octets, NULL),
};
#undef SHAPE
const struct shape_table ecmp_collisions_table = {
	&spine_flow_shape, ecmp_flows_shown, rw_countof(ecmp_flows_shown)};

/* ---- heat map ----------------------------------------------------------------------------- */

static struct ecmp_cell *ecmp_cell_of(struct ecmp_row *row, const char *peer, struct arena *a)
{
	for (size_t i = 0; i < row->n_cells; i++)
		if (str_eq(row->cells[i].peer, peer))
			return &row->cells[i];
	arena_grow_pow2(a, row->cells, row->n_cells);
	struct ecmp_cell *cell = &row->cells[row->n_cells++];
	*cell = (struct ecmp_cell){.peer = peer, .utilization_ratio = NAN};
	return cell;
}

/* Sums of the links per neighbour; the fold's imbalance is over neighbours, weighed by the capacity
 * towards them. */
static void ecmp_fold(struct ecmp_row *row, const struct spine_group *group, struct arena *a)
{
	double rate = 0, speed = 0, max = -1;
	struct ecmp_cell *hot = NULL;
	for (size_t i = 0; i < group->n_members; i++) {
		const struct spine_member *member = &group->members[i];
		struct ecmp_cell *cell = ecmp_cell_of(row, str_or(member->peer, "-"), a);
		cell->links++;
		if (isnan(member->rate_bps) || member->speed_bps == COUNT_UNKNOWN)
			continue;
		cell->rate_bps += member->rate_bps;
		cell->speed_bps += member->speed_bps;
		rate += member->rate_bps;
		speed += (double)member->speed_bps;
	}
	for (size_t i = 0; i < row->n_cells; i++) {
		struct ecmp_cell *cell = &row->cells[i];
		if (cell->speed_bps == 0)
			continue;
		cell->utilization_ratio = cell->rate_bps / (double)cell->speed_bps;
		if (cell->utilization_ratio > max) {
			max = cell->utilization_ratio;
			hot = cell;
		}
	}
	if (speed <= 0)
		return;
	row->utilization_ratio = rate / speed;
	if (rate > 0)
		row->imbalance_ratio = mean_imbalance(max, row->utilization_ratio);
	if (hot && !str_eq(group->verdict, "even") && group->out_of_limits)
		hot->hot = true;
}

static struct ecmp_row ecmp_row_make(const struct spine_group *group, struct arena *a)
{
	struct ecmp_row row = {.device = group->device,
		.group = group->group,
		.verdict = group->verdict,
		.flows_estimate = group->flows_estimate,
		.expected_by_chance_ratio = group->expected_by_chance_ratio,
		.expected_p95_ratio = group->expected_p95_ratio,
		.windows = group->windows,
		.windows_over = group->windows_over,
		.windows_idle = group->windows_idle,
		.windows_unknown = group->windows_unknown,
		.persistent_member = group->persistent_member,
		.over_since = group->over_since,
		.static_hash = group->static_hash,
		.utilization_ratio = NAN,
		.imbalance_ratio = NAN,
		.link_imbalance_ratio = group->imbalance_ratio};
	ecmp_fold(&row, group, a);
	return row;
}

static void ecmp_add_peer(struct ecmp_heatmap *map, const char *peer, struct arena *a)
{
	for (size_t i = 0; i < map->n_peers; i++)
		if (str_eq(map->peers[i], peer))
			return;
	arena_grow_pow2(a, map->peers, map->n_peers);
	map->peers[map->n_peers++] = peer;
}

struct ecmp_heatmap *ecmp_heatmap_make(const struct spine_answer *spine, struct arena *a)
{
	struct ecmp_heatmap *map = arena_new_of(a, struct ecmp_heatmap);
	*map = (struct ecmp_heatmap){.from = spine->from,
		.to = spine->to,
		.fabric = spine->fabric,
		.warn_ratio = spine->warn_ratio,
		.busy_ratio = spine->busy_ratio,
		.coverage_ratio = spine->coverage_ratio,
		.window_s = spine->window_s,
		.verdict = spine->verdict,
		.rows = arena_array(a, struct ecmp_row, spine->n_groups)};
	for (size_t i = 0; i < spine->n_groups; i++) {
		if (!spine_group_is_tier(&spine->groups[i]))
			continue;
		struct ecmp_row *row = &map->rows[map->n_rows++];
		*row = ecmp_row_make(&spine->groups[i], a);
		for (size_t k = 0; k < row->n_cells; k++)
			ecmp_add_peer(map, row->cells[k].peer, a);
	}
	return map;
}

/* ---- collisions ----------------------------------------------------------------------------- */

static struct ecmp_collision ecmp_collision_make(const struct spine_group *group)
{
	struct ecmp_collision ret = {.device = group->device,
		.group = group->group,
		.verdict = group->verdict,
		.worst_ratio = group->worst_ratio,
		.worst_at = group->worst_at,
		.expected_by_chance_ratio = group->expected_by_chance_ratio,
		.expected_p999_ratio = group->expected_p999_ratio,
		.flows_estimate = group->flows_estimate,
		.flows_note = group->flows_note,
		.packets = group->packets,
		.sampling = group->sampling,
		.windows = group->windows,
		.windows_over = group->windows_over,
		.static_hash = group->static_hash,
		.out_of_limits = group->out_of_limits,
		.member = group->hot_member,
		.speed_bps = COUNT_UNKNOWN,
		.utilization_ratio = NAN,
		.share_ratio = NAN,
		.flows = group->flows,
		.n_flows = group->n_flows};
	const struct spine_member *member = spine_group_member(group, group->hot_member);
	if (member) {
		ret.peer = member->peer;
		ret.speed_bps = member->speed_bps;
		ret.utilization_ratio = member->utilization_ratio;
		ret.share_ratio = member->share_ratio;
	}
	return ret;
}

struct ecmp_collisions *ecmp_collisions_make(const struct spine_answer *spine, struct arena *a)
{
	struct ecmp_collisions *ret = arena_new_of(a, struct ecmp_collisions);
	*ret = (struct ecmp_collisions){.from = spine->from,
		.to = spine->to,
		.fabric = spine->fabric,
		.warn_ratio = spine->warn_ratio,
		.verdict = spine->verdict,
		.groups = arena_array(a, struct ecmp_collision, spine->n_groups)};
	for (size_t i = 0; i < spine->n_groups; i++) {
		const struct spine_group *group = &spine->groups[i];
		if (!group->hot_member)
			continue;
		ret->groups[ret->n_groups++] = ecmp_collision_make(group);
		for (size_t k = 0; k < group->n_flows; k++) {
			arena_grow_pow2(a, ret->flows, ret->n_flows);
			ret->flows[ret->n_flows++] = group->flows[k];
		}
	}
	return ret;
}

/* ecmp_words - members, flows and shares as words. */

/* ---- ecmp/text - heat map, collisions and groups as people read them. */

/* ---- groups ------------------------------------------------------------------ */

const struct view ecmp_groups_view = {
	.title = "ECMP groups",
	.table = &ecmp_groups_table,
	.table_rows = spine_rows,
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
	/* What the packets behind the flows are worth. */
	const unsigned long long n = group->packets, sampling = group->sampling;
	if (!n)
		fprintf(out,
			"  no RoCE packets were captured at its members: their flows are not "
			"known\n");
	else if (group->sampling != COUNT_UNKNOWN && sampling > 1)
		fprintf(out, "  observed, n = %llu packets, 1 in %llu sampled\n", n, sampling);
	else
		fprintf(out, "  observed, n = %llu packets, every one seen\n", n);
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
