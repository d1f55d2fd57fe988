/* ecmp_views - `ecmp groups|heatmap|collisions`: other looks at the spine-imbalance document. */
#ifndef RW_REPORTS_ECMP_VIEWS_H
#define RW_REPORTS_ECMP_VIEWS_H

#include "agent/document/writer.h"
#include "config/fabric.h"

extern const struct view ecmp_groups_view; /* over the spine-imbalance document itself */

/*
 * The matrix of one tier: a row per device, a column per neighbour, mean utilisation of the links
 * between them over busy windows.
 * `{from, to, peers: [name], rows: [{device, group, cells: [{peer, utilization_ratio, links, hot}],
 * utilization_ratio, imbalance_ratio (over the neighbours), link_imbalance_ratio,
 * expected_by_chance_ratio, expected_p95_ratio, verdict}], ...}`. Caller owns it.
 */
json_t *ecmp_heatmap_json(const json_t *doc);
extern const struct view ecmp_heatmap_view;

/* Which flows share a hot member: `{from, to, groups: [{device, group, member, peer, verdict,
 * ...}], flows: [flow]}`. Caller owns it. */
json_t *ecmp_collisions_json(const json_t *doc);
extern const struct view ecmp_collisions_view;

#endif
