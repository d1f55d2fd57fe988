/* pause_views - see the header. Directions are spelled out: rx is "the neighbour paused us", tx "we
 * paused the neighbour" (product facts, 1.1). */
#include "agent/reports/pause_views.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/document/json_value.h"
#include "agent/reports/spine_text.h"

static bool pause_views_truth(const json_t *object, const char *key)
{
	return json_is_true(json_object_get(object, key));
}
static long long pause_views_count(const json_t *object, const char *key)
{
	return (long long)json_integer_value(json_object_get(object, key));
}

/* Pause as ms a second: what people compare; a bound is printed as one. */
static const char *pause_views_level(char *buf, size_t size, double lo, double hi, bool measured)
{
	if (isnan(hi))
		snprintf(buf, size, "-");
	else if (measured)
		snprintf(buf, size, lo < 0.01 ? "%.1f ms/s" : "%.0f ms/s", 1000 * lo);
	else
		snprintf(buf, size,
			hi < 0.01 ? "<= %.1f ms/s (from frames)" : "<= %.0f ms/s (from frames)",
			1000 * hi);
	return buf;
}

static const char *clock_part(const char *time)
{
	if (strlen(time) > 11)
		return time + 11;
	return time;
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

static void edge_line(FILE *out, const json_t *edge)
{
	char most[48], least[48];
	rw_cleanup(str_done) struct str line = {0};
	for (long long d = 0; d < pause_views_count(edge, "depth"); d++)
		str_add(&line, d ? " |  " : " ");
	const json_t *victims = json_object_get(edge, "victims");
	const double lo = doc_number(edge, "lo_ratio"), hi = doc_number(edge, "hi_ratio"),
		     from = doc_number(edge, "least_ratio");
	pause_views_level(most, sizeof(most), lo, hi, pause_views_truth(edge, "measured"));
	if (json_is_integer(victims)) {
		const long long n = (long long)json_integer_value(victims);
		str_addf(&line, "+- %lld host%s <-- %s", n, str_if(n != 1, "s"),
			doc_text(edge, "paused_by"));
	} else {
		str_addf(&line, "+- %s", doc_text(edge, "waits"));
		ports_text(&line, edge);
		str_addf(&line, " <-- %s", doc_text(edge, "paused_by"));
	}
	fprintf(out, "%-52s %s ", line.s, json_is_integer(victims) ? "tx" : "rx");
	if (from < 0.9 * (pause_views_truth(edge, "measured") ? lo : hi))
		fprintf(out, "%s .. ", pause_views_level(least, sizeof(least), from, from, true));
	fprintf(out, "%s%s  %s\n", most, str_if(json_is_integer(victims), "  victims"),
		doc_text(edge, "confidence"));
}

static void root_lines(FILE *out, const json_t *root)
{
	const bool host = str_eq(doc_text(root, "origin"), "host");
	const double load = doc_number(root, "utilization_ratio");
	char most[48], at[32] = "load of its port unknown";
	if (!isnan(load))
		snprintf(at, sizeof(at), "its port at %.0f %% util", 100 * load);
	fprintf(out, "ROOT %s %s:%s, priority %lld", host ? doc_text(root, "host") : "queue of",
		doc_text(root, "device"), doc_text(root, "port"),
		pause_views_count(root, "priority"));
	if (host)
		fprintf(out, " (its NIC paused us %s, %s)",
			pause_views_level(most, sizeof(most), doc_number(root, "level_lo_ratio"),
				doc_number(root, "level_hi_ratio"),
				pause_views_truth(root, "measured")),
			at);
	else
		fprintf(out, "%s%s (bytes pile up here, it is not paused as much itself; %s)",
			str_if(!json_is_null(json_object_get(root, "host")), " to "),
			json_is_null(json_object_get(root, "host")) ? "" : doc_text(root, "host"),
			at);
	fprintf(out, "  conf %s\n", doc_text(root, "confidence"));
	const json_t *edges = json_object_get(root, "edges");
	for (size_t i = 0; i < json_array_size(edges); i++)
		edge_line(out, json_array_get(edges, i));
	fprintf(out,
		"LEVEL %s, %lld switch%s and %lld host%s wait; %.0f %% of the pressure of this "
		"tree%s\n",
		doc_text(root, "level"), pause_views_count(root, "switches"),
		str_if(pause_views_count(root, "switches") != 1, "es"),
		pause_views_count(root, "hosts"),
		str_if(pause_views_count(root, "hosts") != 1, "s"),
		100 * doc_number(root, "share_ratio"),
		str_if(!pause_views_truth(root, "clear"),
			", next cause too near: not accepted as the origin"));
	if (host) {
		double paused;
		if (pause_views_truth(root, "measured"))
			paused = doc_number(root, "level_lo_ratio");
		else
			paused = doc_number(root, "level_hi_ratio");
		fprintf(out,
			"CONTAIN drain %s or shut %s:%s (shutting one rail port usually aborts the "
			"whole job); the PFC watchdog %s (%s%.0f %% paused, needs > 99 %% and no "
			"traffic)\n",
			json_is_null(json_object_get(root, "host")) ? "what is behind it"
								    : doc_text(root, "host"),
			doc_text(root, "device"), doc_text(root, "port"),
			paused > 0.99 && load < 0.001 ? "would fire if it is on" : "would not fire",
			str_if(!pause_views_truth(root, "measured"), "at most "), 100 * paused);
	}
	fputc('\n', out);
}

#define UNSEEN                                                                                     \
	"no pause counter of this stretch has ever moved, and no setting says that PFC is on: "    \
	"nothing can be said"

static void tree_text(
	FILE *out, const json_t *doc, const struct view *view, bool color, bool header)
{
	const json_t *trees = json_object_get(doc, "trees"),
		     *cycles = json_object_get(doc, "cycles");
	if (header)
		fprintf(out,
			"%sWAIT-FOR TREE%s  %s%s%.10s %s - %s  \"X <-- Y\": X is paused by Y, ms "
			"of pause a second\n",
			str_if(color, "\033[1m"), str_if(color, "\033[0m"),
			json_is_null(json_object_get(doc, "incident")) ? ""
								       : doc_text(doc, "incident"),
			str_if(!json_is_null(json_object_get(doc, "incident")), "  "),
			doc_text(doc, "from"), clock_part(doc_text(doc, "from")),
			clock_part(doc_text(doc, "to")));
	for (size_t i = 0; i < json_array_size(trees); i++)
		root_lines(out, json_array_get(trees, i));
	if (!json_array_size(trees) && !json_array_size(cycles))
		fprintf(out, "%s\n",
			!pause_views_truth(doc, "observable") ? UNSEEN
				: pause_views_count(doc, "waiting")
				? "no origin found for what waits"
				: view->empty);
	for (size_t i = 0; i < json_array_size(cycles); i++) {
		const json_t *c = json_array_get(cycles, i), *ports = json_object_get(c, "ports");
		fprintf(out, "CYCLE priority %lld: ", pause_views_count(c, "priority"));
		for (size_t k = 0; k < json_array_size(ports); k++)
			fprintf(out, "%s > ", json_string_value(json_array_get(ports, k)));
		fprintf(out, "%s: %s\n", json_string_value(json_array_get(ports, 0)),
			pause_views_truth(c, "still")
				? "nothing moves, a deadlock"
				: "whether anything moves is not counted everywhere");
	}
	fprintf(out, "CYCLE CHECK  %s in %lld edges",
		json_array_size(cycles) ? "a ring" : "no cycle", pause_views_count(doc, "waiting"));
	const json_t *drops = json_object_get(doc, "lossless_drops"),
		     *dog = json_object_get(doc, "watchdog_events");
	fprintf(out, "; lossless drops: %s", str_if(json_is_null(drops), "not counted"));
	if (!json_is_null(drops))
		fprintf(out, "%lld", (long long)json_integer_value(drops));
	if (json_is_string(json_object_get(doc, "drops_not_counted")))
		fprintf(out, ", %s not counted", doc_text(doc, "drops_not_counted"));
	fprintf(out, "; watchdog: ");
	if (json_is_null(dog))
		fprintf(out, "not counted\n");
	else
		fprintf(out, "%lld events\n", (long long)json_integer_value(dog));
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
	.empty = "nobody is paused in this stretch",
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
	.empty = "no port is paused or pauses in this stretch"};

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
	.empty = "no port is paused or pauses in this stretch",
};
