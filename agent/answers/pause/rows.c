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
static SHAPE_OF(pause_port, "ReportPause", "A queue that was paused.", .common = true);
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
	TREE(trees, "ReportTree", "Trees of waiting, in the windows of incidents.", .known = true,
		.list = true),
	HIDDEN(worst_step),
};
SHAPE_OF(pause_answer, "report-pause", "Who paused whom over a time range.");
#undef SHAPE
