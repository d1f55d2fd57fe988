/* pause/rows - the members of the answer: keys, columns and schema. */
#include "agent/answers/pause/rows.h"

#include "agent/answers/pause/answer.h"
#include "agent/answers/pause/pause_document.h"
#include "agent/document/json_value.h"
#include "agent/document/quantity.h"

/*
 * pause_views - the wait-for tree and the pause table as text. Directions are spelled out: rx is
 * "the neighbour paused us", tx is "we paused the neighbour".
 */

/* Pause as a share of the time. An upper bound is printed as one. */
static const char *pause_views_level(char *buf, size_t size, double lo, double hi, bool measured)
{
	double level = measured ? lo : hi;
	int decimals = level < 0.0995 ? 1 : 0;
	if (isnan(hi))
		snprintf(buf, size, "-");
	else
		snprintf(buf, size, "%s%.*f %%%s", str_if(!measured, "<= "), decimals, 100 * level,
			str_if(!measured, " (from frames)"));
	return buf;
}

/* ---- tree ---------------------------------------------------------------- */

/* "Ethernet49", "Ethernet49 +15": all of them only in the other formats. */
static void ports_text(struct str *out, const struct pause_wait *edge)
{
	if (edge->n_ports)
		str_addf(out, " %s", edge->ports[0]);
	if (edge->n_ports > 1)
		str_addf(out, " +%zu", edge->n_ports - 1);
}

enum { HOSTS_NAMED = 2 };

/* "+- node-010", "+- node-001, node-002 and 3 more hosts". */
static void add_hosts(struct str *out, const struct pause_wait *edge)
{
	const size_t n = edge->n_ports;
	str_add(out, "+- ");
	for (size_t k = 0; k < n && k < HOSTS_NAMED; k++)
		str_addf(out, "%s%s", str_if(k, ", "), edge->ports[k]);
	if (n > HOSTS_NAMED)
		str_addf(out, " and %zu more host%s", n - HOSTS_NAMED,
			plural((uint64_t)(n - HOSTS_NAMED)));
}

static const char *wait_role(const struct pause_wait *edge, bool hosts)
{
	if (str_eq(edge->role, "culprit"))
		return "  culprit";
	if (str_eq(edge->role, "suspect"))
		return "  suspect";
	return str_if(hosts, "  victim");
}

/* One wait: who waits, for whom, and how long each second. An edge to the hosts behind a port names
 * only how many they are. */
static void edge_line(FILE *out, const struct pause_wait *edge)
{
	char most[48], least[48];
	rw_cleanup(str_done) struct str line = {0};
	const bool hosts = edge->victims != COUNT_UNKNOWN;
	const double from = edge->least_ratio;
	for (uint64_t depth = 0; depth < edge->depth; depth++)
		str_add(&line, depth ? " |  " : " ");
	if (hosts) {
		add_hosts(&line, edge);
	} else {
		str_addf(&line, "+- %s", edge->waits);
		ports_text(&line, edge);
	}
	str_addf(&line, " <-- %s", edge->paused_by);
	pause_views_level(most, sizeof(most), edge->lo_ratio, edge->hi_ratio, edge->measured);
	fprintf(out, "%-52s %s ", line.s, hosts ? "tx" : "rx");
	if (from < 0.9 * (edge->measured ? edge->lo_ratio : edge->hi_ratio))
		fprintf(out, "%s .. ", pause_views_level(least, sizeof(least), from, from, true));
	fprintf(out, "%s%s  %s\n", most, wait_role(edge, hosts), edge->confidence);
}

/* "72 %" of its port, for the head of a tree. */
static void root_head(FILE *out, const struct pause_tree *root, bool is_host)
{
	char level[48], load[32] = "load of its port unknown";
	const bool is_sender = str_eq(root->origin, "sender");
	pause_views_level(
		level, sizeof(level), root->level_lo_ratio, root->level_hi_ratio, root->measured);
	if (!isnan(root->utilization_ratio))
		snprintf(load, sizeof(load), "its port at %.0f %% util",
			100 * root->utilization_ratio);
	if (is_host || is_sender)
		fprintf(out, "ROOT %s %s:%s, priority %d", str_or(root->host, "-"), root->device,
			root->port, root->priority);
	else
		fprintf(out, "ROOT queue of %s:%s, priority %d%s%s", root->device, root->port,
			root->priority, str_if(root->host, " to "), str_or(root->host, ""));
	fprintf(out, "  conf %s\n", root->confidence);
	if (is_sender && str_eq(root->role, "suspect"))
		fprintf(out, "     suspect: we paused it %s; that it ignores ECN is not proven\n",
			level);
	else if (is_sender)
		fprintf(out, "     does not slow down; we paused it %s\n", level);
	else if (is_host)
		fprintf(out, "     its NIC paused us %s, %s\n", level, load);
	else
		fprintf(out, "     congested egress queue, not itself paused as much; %s\n", load);
}

static void root_contain(FILE *out, const struct pause_tree *root)
{
	const bool bound = isnan(root->peak_ratio);
	double paused = root->peak_ratio;
	const char *watchdog = "would not fire";
	if (bound)
		paused = root->measured ? root->level_lo_ratio : root->level_hi_ratio;
	if (root->watchdog)
		watchdog = "would fire if it is on";
	fprintf(out,
		"CONTAIN drain %s or shut %s:%s; one rail port shut usually aborts the job\n"
		"     the PFC watchdog %s: %s%.0f %% paused, needs > 99 %% and no traffic\n",
		str_or(root->host, "what is behind it"), root->device, root->port, watchdog,
		str_if(bound, "at most "), 100 * paused);
}

/* Where the packets of a sender pile up. */
static void root_queues(FILE *out, const struct pause_tree *root)
{
	for (size_t k = 0; k < root->n_queues; k++) {
		const struct pause_pile *o = &root->queues[k];
		fprintf(out, " +- fills the queue of %s:%s%s%s (%.0f %% of the pressure)\n",
			o->device, o->port, str_if(o->host, " to "), str_or(o->host, ""),
			100 * o->share_ratio);
	}
}

static void root_lines(FILE *out, const struct pause_tree *root)
{
	const bool is_host = str_eq(root->origin, "host");
	root_head(out, root, is_host);
	if (root->incident)
		fprintf(out, "INCIDENT %s  %s\n", root->incident, str_or(root->why, "-"));
	root_queues(out, root);
	for (size_t i = 0; i < root->n_edges; i++)
		edge_line(out, &root->edges[i]);
	fprintf(out, "LEVEL %s, %llu switch%s and %llu host%s wait", root->level,
		(unsigned long long)root->switches, str_if(root->switches != 1, "es"),
		(unsigned long long)root->hosts, plural(root->hosts));
	if (!isnan(root->share_ratio))
		fprintf(out, "; %.0f %% of the pressure of this tree", 100 * root->share_ratio);
	const char *doubt = "";
	if (str_eq(root->role, "suspect"))
		doubt = "\n     candidate only: see what the incident lists to collect";
	else if (!root->clear)
		doubt = "\n     candidate only: the runner-up is within a factor of 3";
	fprintf(out, "%s\n", doubt);
	if (is_host)
		root_contain(out, root);
	fputc('\n', out);
}

#define UNSEEN                                                                                     \
	"no data: no pause counter moved in this time range, and no setting says that PFC is on"

/* The times are printed as @doc has them: recorded cases begin at 1970, and the minute before is
 * not read back. */
static void tree_head(
	FILE *out, const json_t *doc, const struct pause_tree_answer *answer, bool color)
{
	fprintf(out, "%sWAIT-FOR TREE%s  ", str_if(color, "\033[1m"), str_if(color, "\033[0m"));
	if (answer->incident)
		fprintf(out, "%s  ", answer->incident);
	fprintf(out, "%s to %s\n", when_text(doc_word(doc, "from")).s,
		when_text(doc_word(doc, "to")).s);
	fprintf(out,
		"\"X <-- Y\": Y pauses X; share of the time of this range, 100 %% = always\n"
		"\"+N\": N more ports of X. Levels: L1 the port alone, L2 others wait, L3 three "
		"switches wait\n");
}

static void cycle_line(FILE *out, const struct pause_ring *cycle)
{
	const char *state = "not every port counts whether traffic still moves";
	if (cycle->still)
		state = "nothing moves, a deadlock";
	fprintf(out, "CYCLE priority %d: ", cycle->priority);
	for (size_t i = 0; i < cycle->n_ports; i++)
		fprintf(out, "%s > ", cycle->ports[i]);
	fprintf(out, "%s: %s\n", cycle->n_ports ? cycle->ports[0] : "?", state);
}

/* @unit: " event", "" for none. */
static void count_or_not_counted(FILE *out, uint64_t count, const char *unit)
{
	if (count == COUNT_UNKNOWN)
		fputs("not counted", out);
	else
		fprintf(out, "%s%s%s", number_count(count).s, unit, str_if(*unit, plural(count)));
}

static const char *tree_empty(const struct pause_tree_answer *answer, const struct view *view)
{
	if (!answer->observable)
		return UNSEEN;
	if (answer->waiting)
		return "ports wait, but no origin was found";
	return view->empty;
}

/* Each part of the sentence on a line of its own. */
static void note_lines(FILE *out, const char *text)
{
	const char *end = strstr(text, "; ");
	if (end)
		fprintf(out, "NOTE  %.*s\n      %s\n", (int)(end - text), text, end + 2);
	else
		fprintf(out, "NOTE  %s\n", text);
}

static void tree_text(
	FILE *out, const json_t *doc, const struct view *view, bool color, bool header)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct pause_tree_answer answer;
	shape_read(&pause_tree_answer_shape, doc, a, &answer);
	if (header)
		tree_head(out, doc, &answer, color);
	for (size_t i = 0; i < answer.n_trees; i++)
		root_lines(out, &answer.trees[i]);
	if (answer.differs_because)
		note_lines(out, answer.differs_because);
	if (!answer.n_trees && !answer.n_cycles)
		fprintf(out, "%s\n", tree_empty(&answer, view));
	for (size_t i = 0; i < answer.n_cycles; i++)
		cycle_line(out, &answer.cycles[i]);
	fprintf(out, "CYCLE CHECK  %s in %s edge%s; lossless drops: ",
		answer.n_cycles ? "a ring" : "no cycle", number_count(answer.waiting).s,
		plural(answer.waiting));
	count_or_not_counted(out, answer.lossless_drops, "");
	if (answer.drops_not_counted)
		fprintf(out, ", %s not counted", answer.drops_not_counted);
	fprintf(out, "; watchdog: ");
	count_or_not_counted(out, answer.watchdog_events, " event");
	fputc('\n', out);
}

static const struct column tree_columns[] = {
	{"root", NULL, COL_TEXT, false},
	{"priority", NULL, COL_INT, true},
	{"depth", NULL, COL_INT, true},
	{"waits", NULL, COL_TEXT, false},
	{"ports[]", "ports", COL_TEXT, false},
	{"paused_by", "paused by", COL_TEXT, false},
	{"lo_ratio", "pause, least", COL_RATIO_PCT, true},
	{"hi_ratio", "pause, most", COL_RATIO_PCT, true},
	{"measured", NULL, COL_TEXT, false},
	{"confidence", "conf", COL_TEXT, false},
};
const struct view pause_tree_view = {
	.title = "Wait-for tree",
	.rows = "rows",
	.columns = tree_columns,
	.n_columns = rw_countof(tree_columns),
	.text = tree_text,
	.empty = "no port is paused in this time range",
};

/* ---- ports --------------------------------------------------------------- */

static const struct column port_columns[] = {
	{"device", NULL, COL_TEXT, false},
	{"port", NULL, COL_TEXT, false},
	{"priority", "prio", COL_INT, true},
	{"peer", "neighbour", COL_TEXT, false},
	{"rx_lo_ratio", "it paused us, least", COL_RATIO_PCT, true},
	{"rx_hi_ratio", "most", COL_RATIO_PCT, true},
	{"rx_quality", "by", COL_TEXT, false},
	{"tx_lo_ratio", "we paused it, least", COL_RATIO_PCT, true},
	{"tx_hi_ratio", "most", COL_RATIO_PCT, true},
	{"tx_quality", "by", COL_TEXT, false},
	{"rx_frames", "PFC frames received", COL_INT, true},
	{"tx_frames", "sent", COL_INT, true},
};
static const struct view port_rows = {.rows = "ports",
	.columns = port_columns,
	.n_columns = rw_countof(port_columns),
	.empty = "no port is paused or pauses in this time range"};

static void pause_table(
	FILE *out, const json_t *doc, const struct view *view, bool color, bool header)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct pause_ports_answer answer;
	shape_read(&pause_ports_answer_shape, doc, a, &answer);
	if (!answer.n_ports && !answer.observable)
		fprintf(out, "%s\n", UNSEEN);
	else
		report_print(out, doc, &port_rows, FORMAT_TABLE, header, color);
}

const struct view pause_ports_view = {
	.title = "Pause per port and priority",
	.rows = "ports",
	.columns = port_columns,
	.n_columns = rw_countof(port_columns),
	.text = pause_table,
	.empty = "no port is paused or pauses in this time range",
};

/* ---- rows ---------------------------------------------------------------- */

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
	TEXT(role,
		"`culprit` or `suspect`; `passes`: it waits and makes others wait; `victim`: it "
		"waits only."),
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
