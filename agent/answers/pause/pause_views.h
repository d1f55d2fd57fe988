/*
 * pause_views - `pause tree|ports`: how the documents that cmd_pause makes are shown.
 *
 * tree:  `{from, to, incident, differs_because, observable, trees: [{priority, origin:
 * "host|queue|sender", incident, role: "culprit"|null, why, queues: [{device, port, host,
 * share_ratio}], device, port,
 * host, level_lo_ratio, level_hi_ratio, measured, utilization_ratio, share_ratio, next_share_ratio,
 * clear, confidence: "high|med|low", level: "L1|L2|L3", switches, hosts, edges: [edge]}], cycles:
 * [{priority, still, ports: ["device:port"]}], rows: [edge], waiting, unresolved, lossless_drops,
 * watchdog_events}`; drops and events null when not counted. An edge stands for all parallel links
 * between two neighbours:
 *            `{root, depth, priority, waits, ports: [name], paused_by, lo_ratio,
 *        hi_ratio, least_ratio, measured, confidence, role: "culprit|victim", victims: null | n}`;
 *            A sender is a host that an incident accuses although its switch pauses it: it does not
 *            slow down, and fills .queues. `rows` are the edges
 *            of all trees, for csv.
 * ports: `{from, to, ports: [{device, port, peer, priority, rx_lo_ratio, rx_hi_ratio, rx_measured,
 * tx_lo_ratio, tx_hi_ratio, tx_measured, rx_frames, tx_frames}]}`
 */
#ifndef RW_REPORTS_PAUSE_VIEWS_H
#define RW_REPORTS_PAUSE_VIEWS_H

#include "agent/document/writer.h"

extern const struct view pause_tree_view;
extern const struct view pause_ports_view;

#endif
