/*
 * ecmp/answer - `ecmp groups|heatmap|collisions`: other looks at the answer of the spine-imbalance
 * report, so that they agree with it.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"
#include "agent/answers/spine/answer.h"
#include "agent/document/shape.h"

/* The links of a device to one neighbour together. */
struct ecmp_cell {
	const char *peer;
	double rate_bps; /* of the links whose rate and speed are known */
	uint64_t speed_bps, links;
	double utilization_ratio;
	bool hot;
};

struct ecmp_row {
	const char *device, *group, *verdict;
	double flows_estimate, expected_by_chance_ratio, expected_p95_ratio;
	uint64_t windows, windows_over, windows_idle, windows_unknown;
	const char *persistent_member;
	wall_t over_since;
	enum maybe static_hash;
	double utilization_ratio;
	double imbalance_ratio, link_imbalance_ratio; /* over the neighbours; over single links */
	struct ecmp_cell *cells;
	size_t n_cells;
};

/* The matrix of one tier: a row per device, a column per neighbour, mean utilisation of the links
 * between them over busy windows. */
struct ecmp_heatmap {
	wall_t from, to;
	const char *fabric;
	double warn_ratio, busy_ratio, coverage_ratio, window_s;
	const char *verdict;
	const char **peers;
	size_t n_peers;
	struct ecmp_row *rows;
	size_t n_rows;
};

/* The hot member of a group and its flows. */
struct ecmp_collision {
	const char *device, *group, *verdict;
	double worst_ratio;
	wall_t worst_at;
	double expected_by_chance_ratio, expected_p999_ratio, flows_estimate;
	const char *flows_note;
	uint64_t packets, sampling, windows, windows_over;
	enum maybe static_hash;
	bool out_of_limits;
	const char *member, *peer;
	uint64_t speed_bps;
	double utilization_ratio, share_ratio;
	struct spine_flow *flows;
	size_t n_flows;
};

struct ecmp_collisions {
	wall_t from, to;
	const char *fabric;
	double warn_ratio;
	const char *verdict;
	struct ecmp_collision *groups;
	size_t n_groups;
	struct spine_flow *flows; /* of all groups */
	size_t n_flows;
};

extern const struct shape ecmp_heatmap_shape, ecmp_collisions_shape;
extern const struct shape_table ecmp_groups_table, ecmp_heatmap_table, ecmp_collisions_table;
extern const struct view ecmp_groups_view; /* of a struct spine_answer */
extern const struct view ecmp_heatmap_view, ecmp_collisions_view;

/* Both lie in @a and borrow from @spine. */
struct ecmp_heatmap *ecmp_heatmap_make(const struct spine_answer *spine, struct arena *a);
struct ecmp_collisions *ecmp_collisions_make(const struct spine_answer *spine, struct arena *a);

/* ecmp_words - what the views of ECMP groups have in common: cells, members, flows. */

/* "19.8 %"; "-" for NAN. */
char *doc_pct(char *buf, size_t size, double ratio);
/* "Ethernet49 -> spine1", or the port alone. */
char *ecmp_member_text(char *buf, size_t size, const struct spine_group *group, const char *port);
