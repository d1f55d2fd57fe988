/* ecmp/answer - heat map and collisions, made from the groups of the spine-imbalance report. */
#include "agent/answers/ecmp/answer.h"

#include <math.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/str.h"
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
