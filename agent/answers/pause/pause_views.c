/*
 * pause_views - the wait-for tree and the pause table as text. Directions are spelled out: rx is
 * "the neighbour paused us", tx is "we paused the neighbour".
 */
#include "agent/answers/pause/pause_views.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "agent/document/json_value.h"
#include "agent/document/quantity.h"
#include "agent/answers/ecmp/ecmp_words.h"
#include "agent/answers/common/text.h"

static bool pause_views_truth(const json_t *object, const char *key)
{
	return json_is_true(json_object_get(object, key));
}

/* Pause as ms per second, which people compare. An upper bound is printed as one. */
static const char *pause_views_level(char *buf, size_t size, double lo, double hi, bool measured)
{
	double level = measured ? lo : hi;
	int decimals = level < 0.01 ? 1 : 0;
	if (isnan(hi))
		snprintf(buf, size, "-");
	else
		snprintf(buf, size, "%s%.*f ms/s%s", str_if(!measured, "<= "), decimals,
			1000 * level, str_if(!measured, " (from frames)"));
	return buf;
}

/* ---- tree ---------------------------------------------------------------- */

/* "Ethernet49", "Ethernet49 +15": all of them only in the other formats. */
static void ports_text(struct str *out, const json_t *edge)
{
	const json_t *ports = json_object_get(edge, "ports");
	const size_t n = json_array_size(ports);
	if (n)
		str_addf(out, " %s", json_string_value(json_array_get(ports, 0)));
	if (n > 1)
		str_addf(out, " +%zu", n - 1);
}

static double pause_level_of(const json_t *object, const char *lo, const char *hi)
{
	if (pause_views_truth(object, "measured"))
		return doc_number(object, lo);
	return doc_number(object, hi);
}

enum { HOSTS_NAMED = 2 };

/* "+- node-010", "+- node-001, node-002 and 3 more hosts". */
static void add_hosts(struct str *out, const json_t *edge)
{
	const json_t *ports = json_object_get(edge, "ports");
	const size_t n = json_array_size(ports);
	str_add(out, "+- ");
	for (size_t k = 0; k < n && k < HOSTS_NAMED; k++)
		str_addf(out, "%s%s", str_if(k, ", "),
			str_or(json_string_value(json_array_get(ports, k)), "?"));
	if (n > HOSTS_NAMED)
		str_addf(out, " and %zu more host%s", n - HOSTS_NAMED,
			plural((uint64_t)(n - HOSTS_NAMED)));
}

/* One wait: who waits, for whom, and how long each second. An edge to the hosts behind a port names
 * only how many they are. */
static void edge_line(FILE *out, const json_t *edge)
{
	char most[48], least[48];
	rw_cleanup(str_done) struct str line = {0};
	const json_t *victims = json_object_get(edge, "victims");
	bool hosts = json_is_integer(victims);
	bool measured = pause_views_truth(edge, "measured");
	double from = doc_number(edge, "least_ratio");
	for (long long depth = 0; depth < text_count(edge, "depth"); depth++)
		str_add(&line, depth ? " |  " : " ");
	if (hosts) {
		add_hosts(&line, edge);
	} else {
		str_addf(&line, "+- %s", doc_text(edge, "waits"));
		ports_text(&line, edge);
	}
	str_addf(&line, " <-- %s", doc_text(edge, "paused_by"));
	pause_views_level(most, sizeof(most), doc_number(edge, "lo_ratio"),
		doc_number(edge, "hi_ratio"), measured);
	fprintf(out, "%-52s %s ", line.s, hosts ? "tx" : "rx");
	if (from < 0.9 * pause_level_of(edge, "lo_ratio", "hi_ratio"))
		fprintf(out, "%s .. ", pause_views_level(least, sizeof(least), from, from, true));
	const char *role = "";
	if (str_eq(doc_text(edge, "role"), "culprit"))
		role = "  culprit";
	else if (str_eq(doc_text(edge, "role"), "suspect"))
		role = "  suspect";
	else if (hosts)
		role = "  victim";
	fprintf(out, "%s%s  %s\n", most, role, doc_text(edge, "confidence"));
}

/* "72 %" of its port, for the head of a tree. */
static void root_head(FILE *out, const json_t *root, bool is_host)
{
	char level[48], load[32] = "load of its port unknown";
	double utilization = doc_number(root, "utilization_ratio");
	const char *device = doc_text(root, "device"), *port = doc_text(root, "port");
	long long priority = text_count(root, "priority");
	const bool is_sender = str_eq(doc_text(root, "origin"), "sender");
	pause_views_level(level, sizeof(level), doc_number(root, "level_lo_ratio"),
		doc_number(root, "level_hi_ratio"), pause_views_truth(root, "measured"));
	if (!isnan(utilization))
		snprintf(load, sizeof(load), "its port at %.0f %% util", 100 * utilization);
	if (is_host || is_sender) {
		fprintf(out, "ROOT %s %s:%s, priority %lld", doc_text(root, "host"), device, port,
			priority);
	} else {
		fprintf(out, "ROOT queue of %s:%s, priority %lld", device, port, priority);
		if (json_is_string(json_object_get(root, "host")))
			fprintf(out, " to %s", doc_text(root, "host"));
	}
	fprintf(out, "  conf %s\n", doc_text(root, "confidence"));
	if (is_sender && str_eq(doc_text(root, "role"), "suspect"))
		fprintf(out, "     suspect: we paused it %s; that it ignores ECN is not proven\n",
			level);
	else if (is_sender)
		fprintf(out, "     does not slow down; we paused it %s\n", level);
	else if (is_host)
		fprintf(out, "     its NIC paused us %s, %s\n", level, load);
	else
		fprintf(out, "     congested egress queue, not itself paused as much; %s\n", load);
}

static void root_contain(FILE *out, const json_t *root)
{
	double paused = doc_number(root, "peak_ratio");
	const char *who = "what is behind it", *watchdog = "would not fire";
	const bool bound = isnan(paused);
	if (bound)
		paused = pause_level_of(root, "level_lo_ratio", "level_hi_ratio");
	if (json_is_string(json_object_get(root, "host")))
		who = doc_text(root, "host");
	if (pause_views_truth(root, "watchdog"))
		watchdog = "would fire if it is on";
	fprintf(out,
		"CONTAIN drain %s or shut %s:%s; one rail port shut usually aborts the job\n"
		"     the PFC watchdog %s: %s%.0f %% paused, needs > 99 %% and no traffic\n",
		who, doc_text(root, "device"), doc_text(root, "port"), watchdog,
		str_if(bound, "at most "), 100 * paused);
}

/* Where the packets of a sender pile up. */
static void root_queues(FILE *out, const json_t *queues)
{
	const json_t *o;
	size_t k;
	json_array_foreach (queues, k, o) {
		fprintf(out, " +- fills the queue of %s:%s", doc_text(o, "device"),
			doc_text(o, "port"));
		if (json_is_string(json_object_get(o, "host")))
			fprintf(out, " to %s", doc_text(o, "host"));
		fprintf(out, " (%.0f %% of the pressure)\n", 100 * doc_number(o, "share_ratio"));
	}
}

static void root_lines(FILE *out, const json_t *root)
{
	bool is_host = str_eq(doc_text(root, "origin"), "host");
	long long switches = text_count(root, "switches"), hosts = text_count(root, "hosts");
	const json_t *edges = json_object_get(root, "edges");
	root_head(out, root, is_host);
	if (json_is_string(json_object_get(root, "incident")))
		fprintf(out, "INCIDENT %s  %s\n", doc_text(root, "incident"),
			doc_text(root, "why"));
	root_queues(out, json_object_get(root, "queues"));
	for (size_t i = 0; i < json_array_size(edges); i++)
		edge_line(out, json_array_get(edges, i));
	fprintf(out, "LEVEL %s, %lld switch%s and %lld host%s wait", doc_text(root, "level"),
		switches, str_if(switches != 1, "es"), hosts, plural((uint64_t)hosts));
	if (!isnan(doc_number(root, "share_ratio")))
		fprintf(out, "; %.0f %% of the pressure of this tree",
			100 * doc_number(root, "share_ratio"));
	const char *doubt = "";
	if (str_eq(doc_text(root, "role"), "suspect"))
		doubt = "\n     candidate only: see what the incident lists to collect";
	else if (!pause_views_truth(root, "clear"))
		doubt = "\n     candidate only: the runner-up is within a factor of 3";
	fprintf(out, "%s\n", doubt);
	if (is_host)
		root_contain(out, root);
	fputc('\n', out);
}

#define UNSEEN                                                                                     \
	"no data: no pause counter moved in this time range, and no setting says that PFC is on"

static void tree_head(FILE *out, const json_t *doc, bool color)
{
	fprintf(out, "%sWAIT-FOR TREE%s  ", str_if(color, "\033[1m"), str_if(color, "\033[0m"));
	if (json_is_string(json_object_get(doc, "incident")))
		fprintf(out, "%s  ", doc_text(doc, "incident"));
	fprintf(out, "%s to %s\n", when_text(doc_text(doc, "from")).s,
		when_text(doc_text(doc, "to")).s);
	fprintf(out,
		"\"X <-- Y\": Y pauses X; milliseconds per second of this range, 1000 = always\n"
		"\"+N\": N more ports of X. Levels: L1 the port alone, L2 others wait, L3 three "
		"switches wait\n");
}

static void cycle_line(FILE *out, const json_t *cycle)
{
	const json_t *ports = json_object_get(cycle, "ports");
	const char *state = "not every port counts whether traffic still moves";
	if (pause_views_truth(cycle, "still"))
		state = "nothing moves, a deadlock";
	fprintf(out, "CYCLE priority %lld: ", text_count(cycle, "priority"));
	for (size_t i = 0; i < json_array_size(ports); i++)
		fprintf(out, "%s > ", json_string_value(json_array_get(ports, i)));
	fprintf(out, "%s: %s\n", json_string_value(json_array_get(ports, 0)), state);
}

static void count_or_not_counted(FILE *out, const json_t *doc, const char *key, const char *unit)
{
	if (json_is_null(json_object_get(doc, key)))
		fputs("not counted", out);
	else
		fprintf(out, "%lld%s", text_count(doc, key), unit);
}

static const char *tree_empty(const json_t *doc, const struct view *view)
{
	if (!pause_views_truth(doc, "observable"))
		return UNSEEN;
	if (text_count(doc, "waiting"))
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
	const json_t *trees = json_object_get(doc, "trees");
	const json_t *cycles = json_object_get(doc, "cycles");
	if (header)
		tree_head(out, doc, color);
	for (size_t i = 0; i < json_array_size(trees); i++)
		root_lines(out, json_array_get(trees, i));
	if (json_is_string(json_object_get(doc, "differs_because")))
		note_lines(out, doc_text(doc, "differs_because"));
	if (!json_array_size(trees) && !json_array_size(cycles))
		fprintf(out, "%s\n", tree_empty(doc, view));
	for (size_t i = 0; i < json_array_size(cycles); i++)
		cycle_line(out, json_array_get(cycles, i));
	fprintf(out, "CYCLE CHECK  %s in %lld edges; lossless drops: ",
		json_array_size(cycles) ? "a ring" : "no cycle", text_count(doc, "waiting"));
	count_or_not_counted(out, doc, "lossless_drops", "");
	if (json_is_string(json_object_get(doc, "drops_not_counted")))
		fprintf(out, ", %s not counted", doc_text(doc, "drops_not_counted"));
	fprintf(out, "; watchdog: ");
	count_or_not_counted(out, doc, "watchdog_events", " events");
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
	if (!json_array_size(json_object_get(doc, "ports")) &&
		!pause_views_truth(doc, "observable"))
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
