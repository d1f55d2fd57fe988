/* pause/rows - the members of the answer: keys, columns and schema. */
#include "agent/answers/pause/answer.h"

#include "base/cleanup.h"

static const char *const pause_ways[] = {[PAUSE_RX] = "rx", [PAUSE_TX] = "tx"};

#define SHAPE struct pause_port
static const struct field pause_port_fields[] = {
	TEXT(device, "Switch.", .known = true),
	TEXT(port, "Port.", .known = true),
	COUNT(priority, "Priority, 0 to 7.", .type = "priority"),
	FLAG(lossless, "Is the priority lossless?"),
	TEXT(peer, "What is behind the port."),
	TEXT(host, "Host behind the port."),
	WORD(direction, pause_way, pause_ways, PAUSE_WAYS,
		"`tx`: we paused the neighbor; `rx`: the neighbor paused us."),
	TEXT(words, "The same in words.", .known = true),
	NUMBER(lo_ratio, UNIT_RATIO, "Pause as a share of the range: lower bound."),
	NUMBER(hi_ratio, UNIT_RATIO, "Upper bound."),
	TEXT(quality, "`time` (measured) or `frames` (a bound).", .known = true),
	NUMBER(paused_s, UNIT_NONE, "Paused time in all.", .type = "seconds"),
	NUMBER(worst_lo_ratio, UNIT_RATIO, "Pause in the worst step: lower bound."),
	NUMBER(worst_hi_ratio, UNIT_RATIO, "Upper bound."),
	TIME(worst_at, "End of that step."),
	COUNT(frames, "PFC frames.", .unknown = true),
};
SHAPE_OF(pause_port, "ReportPause", "A queue that was paused.", .common = true);
static const struct shown pause_shown[] = {
	COLUMN(device, "device"),
	COLUMN(port, "port"),
	COLUMN(priority, "prio"),
	COLUMN(words, "who"),
	COLUMN(direction, "dir"),
	COLUMN(lo_ratio, "at least"),
	COLUMN(hi_ratio, "at most"),
	COLUMN(quality, "from"),
	COLUMN(paused_s, "paused (s)"),
	COLUMN(worst_hi_ratio, "worst step"),
	COLUMN(worst_at, "at"),
	COLUMN(frames, "frames"),
};
#undef SHAPE
const struct shape_table pause_ports_table = {
	&pause_port_shape, pause_shown, rw_countof(pause_shown)};

#define SHAPE struct pause_watchdog
static const struct field pause_watchdog_fields[] = {
	TEXT(device, "Switch.", .known = true, .head = "device"),
	TEXT(port, "Port.", .known = true, .head = "port"),
	COUNT(priority, "Priority, 0 to 7.", .type = "priority", .head = "priority"),
	TEXT(host, "Host behind the port.", .head = "host"),
	NUMBER(storms, UNIT_COUNT, "Times that it acted.", .head = "storms"),
	NUMBER(restores, UNIT_COUNT, "Times that it let traffic through again.",
		.head = "restored"),
	NUMBER(dropped, UNIT_COUNT, "Frames that it dropped.", .head = "frames dropped"),
};
SHAPE_OF(pause_watchdog, "Watchdog", "A queue at which a PFC watchdog acted.");
#undef SHAPE

#define SHAPE struct pause_ecn_order
static const struct field pause_ecn_order_fields[] = {
	TEXT(device, "Switch.", .known = true, .head = "device"),
	COUNT(steps_paused, "Steps with pause.", .head = "steps paused"),
	COUNT(steps_unmarked, "Of these, steps without a mark.", .unknown = true,
		.head = "of them unmarked"),
	NUMBER(marked, UNIT_COUNT, "Packets that were marked in the range.",
		.head = "packets marked"),
	TEXT(words, "The same in words.", .known = true, .head = "ECN before PFC"),
};
SHAPE_OF(pause_ecn_order, "EcnOrder", "A device that paused before it marked.");
#undef SHAPE

#define SHAPE struct pause_wait
static const struct field pause_wait_fields[] = {
	TEXT(root, "Origin of the tree.", .known = true),
	COUNT(depth, "Distance from the origin."),
	PRIORITY(priority, "Priority, 0 to 7.", .known = true),
	TEXT(waits, "Who waits: a device, or `hosts`.", .known = true),
	TEXT(role, "`culprit` or `victim`."),
	TEXTS(ports, "Ports or hosts that wait."),
	TEXT(paused_by, "Who pauses it.", .known = true),
	NUMBER(lo_ratio, UNIT_RATIO, "Pause as a share of the time: lower bound."),
	NUMBER(hi_ratio, UNIT_RATIO, "Upper bound."),
	NUMBER(least_ratio, UNIT_RATIO, "Least pause of its ports."),
	FLAG(measured, "Is pause time measured?"),
	TEXT(confidence, "`low`, `med` or `high`.", .known = true),
	COUNT(victims, "Hosts that wait behind it.", .unknown = true),
};
static SHAPE_OF(pause_wait, "Edge", "Who waits for whom.");
#undef SHAPE

#define SHAPE struct pause_pile
static const struct field pause_pile_fields[] = {
	TEXT(device, "Switch.", .known = true),
	TEXT(port, "Port.", .known = true),
	TEXT(host, "Host behind the port."),
	NUMBER(share_ratio, UNIT_RATIO, "Its share of the pressure."),
};
static SHAPE_OF(pause_pile, "QueueShare", "A queue that shares in the pressure.");
#undef SHAPE

#define SHAPE struct pause_tree
static const struct field pause_tree_fields[] = {
	PRIORITY(priority, "Priority, 0 to 7.", .known = true),
	TEXT(origin, "What it begins with: `host`, `queue` or `sender`.", .known = true),
	TEXT(device, "Switch of the origin.", .known = true),
	TEXT(port, "Port of the origin.", .known = true),
	TEXT(host, "Host at the origin."),
	NUMBER(level_lo_ratio, UNIT_RATIO,
		"Pause at the origin, as a share of the time: lower bound."),
	NUMBER(level_hi_ratio, UNIT_RATIO, "Upper bound."),
	NUMBER(peak_ratio, UNIT_RATIO,
		"The same of the time between two polls in which the origin paused most; null: not "
		"measured."),
	FLAG(watchdog,
		"Would a PFC watchdog that is on have fired: paused above 99 % of that time, and "
		"nothing was sent?"),
	FLAG(measured, "Is pause time measured, not concluded from frames?"),
	NUMBER(utilization_ratio, UNIT_RATIO, "Load of the origin's port."),
	NUMBER(share_ratio, UNIT_RATIO, "Share of all pressure that this origin explains."),
	NUMBER(next_share_ratio, UNIT_RATIO, "The same for the next best origin."),
	FLAG(clear, "Is there no doubt about the origin?"),
	TEXT(confidence, "`low`, `med` or `high`.", .known = true),
	TEXT(level, "How far it spreads: `L1` a port, `L2` a switch, `L3` several switches.",
		.known = true),
	COUNT(switches, "Switches that wait."),
	COUNT(hosts, "Hosts that wait."),
	TEXT(incident, "Open incident about it.", .type = "id"),
	TEXT(role, "What the origin is in that incident."),
	TEXT(why, "Why it is the origin."),
	ROWS(queues, pause_pile, "Other queues that share in it."),
	ROWS(edges, pause_wait, "Who waits for whom."),
	TIME(from, "Begin of the window, where trees of several windows stand together.",
		.optional = true),
	TIME(to, "End of the window.", .optional = true),
};
SHAPE_OF(pause_tree, "Tree", "A tree of waiting.");
#undef SHAPE

#define SHAPE struct pause_ring
static const struct field pause_ring_fields[] = {
	PRIORITY(priority, "Priority, 0 to 7.", .known = true),
	FLAG(still, "Does it stand still?"),
	TEXTS(ports, "Ports of the ring, in order."),
};
static SHAPE_OF(pause_ring, "Cycle", "A ring of pause.");
#undef SHAPE

#define SHAPE struct pause_tree_answer
static const struct field pause_tree_answer_fields[] = {
	TEXT(incident, "Incident whose window it is.", .type = "id"),
	TEXT(differs_because, "Why the tree shows another culprit than an incident."),
	FLAG(observable, "Is pause known at all?"),
	ROWS(trees, pause_tree, "One tree for each origin."),
	ROWS(cycles, pause_ring, "Rings of pause: a deadlock when they stand still."),
	ROWS(rows, pause_wait, "The edges of all trees, for tables."),
	COUNT(waiting, "Queues that are paused."),
	NUMBER(unresolved, UNIT_NONE, "Pause that no origin explains, as a sum of ratios.",
		.known = true),
	TEXT(drops_not_counted, "Drops that no device counts: `ingress`, `egress` or both."),
	COUNT(lossless_drops, "Lossless frames that were lost in this time.", .unknown = true),
	COUNT(watchdog_events, "Times that a PFC watchdog acted in this time.", .unknown = true),
	TIME(from, "Begin of the time.", .known = true),
	TIME(to, "End of the time.", .known = true),
};
SHAPE_OF(pause_tree_answer, "PauseTree", "Who pauses whom: trees with their origin.");
#undef SHAPE

#define SHAPE struct pause_pair
static const struct field pause_pair_fields[] = {
	TEXT(device, "Switch.", .known = true),
	TEXT(port, "Port.", .known = true),
	TEXT(peer, "What is behind the port."),
	PRIORITY(priority, "Priority, 0 to 7.", .known = true),
	FLAG(origin, "Does the pause clearly begin here?"),
	NUMBER(rx_lo_ratio, UNIT_RATIO,
		"The neighbor paused us, as a share of the time: lower bound."),
	NUMBER(rx_hi_ratio, UNIT_RATIO, "Upper bound."),
	MAYBE(rx_measured, "Is that time measured?"),
	TEXT(rx_quality, "`time` (measured) or `frames` (a bound)."),
	NUMBER(tx_lo_ratio, UNIT_RATIO,
		"We paused the neighbor, as a share of the time: lower bound."),
	NUMBER(tx_hi_ratio, UNIT_RATIO, "Upper bound."),
	MAYBE(tx_measured, "Is that time measured?"),
	TEXT(tx_quality, "`time` (measured) or `frames` (a bound)."),
	COUNT(rx_frames, "PFC frames received.", .unknown = true),
	COUNT(tx_frames, "PFC frames sent.", .unknown = true),
};
static SHAPE_OF(pause_pair, "PausePort", "Pause of one priority of a port.");
#undef SHAPE

#define SHAPE struct pause_ports_answer
static const struct field pause_ports_answer_fields[] = {
	FLAG(observable, "Is pause known at all?"),
	ROWS(ports, pause_pair, "Ports and priorities."),
	COUNT(total, "How many there are; more than `ports` with `top`."),
	TIME(from, "Begin of the time.", .known = true),
	TIME(to, "End of the time.", .known = true),
};
SHAPE_OF(pause_ports_answer, "PausePorts", "Pause of each port and priority.");
#undef SHAPE

#define SHAPE struct pause_limits
static const struct field pause_limits_fields[] = {
	NUMBER(warn_ratio, UNIT_RATIO, "Beyond it a queue is a WARNING, as a share of the time.",
		.known = true),
	NUMBER(critical_ratio, UNIT_RATIO, "Beyond it a queue is CRITICAL.", .known = true),
};
static SHAPE_OF(pause_limits, "PauseLimits", "Limits of pause time.");
#undef SHAPE

#define SHAPE struct pause_answer
static const struct field pause_answer_fields[] = {
	TREE(incidents, "ReportIncident", "Incidents of pause that were open in the range.",
		.known = true, .list = true),
	TEXT(source, "What the numbers come from: `values`, `minutes` or `hours`."),
	NUMBER(step_s, UNIT_SECONDS, "Time of a step."),
	NUMBER(coverage_ratio, UNIT_RATIO, "Share of the expected samples that were there."),
	PART(limits, pause_limits, "Limits that ports were judged by."),
	ROWS(ports, pause_port, "Queues that were paused, the worst first."),
	COUNT(ports_paused, "Queues and directions that were paused."),
	COUNT(ports_known, "Queues of which pause is known."),
	ROWS(watchdog, pause_watchdog, "Times that PFC watchdogs acted."),
	FLAG(watchdog_counted, "Does any device count them?"),
	ROWS(ecn_order, pause_ecn_order, "Devices that paused before they marked."),
	PART(chart, chart, "Pause of the worst queues over time."),
	ROWS(trees, pause_tree, "Trees of waiting, in the windows of incidents."),
	HIDDEN(worst_step),
};
SHAPE_OF(pause_answer, "report-pause", "Who paused whom over a time range.");
#undef SHAPE
