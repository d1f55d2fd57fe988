/*
 * cmd_pause - "rocewatch pause [tree|ports]": who pauses whom. One window over the stretch asked
 * for, seen by the analyzers' own pause_graph: what the command shows is what they judge, over
 * another length of time.
 */
#include "agent/command/command.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/document/json_value.h"
#include "agent/reports/incident_view.h"
#include "agent/reports/pause_views.h"
#include "analyzers/analyzer.h"
#include "analyzers/detect/pause_finding.h"
#include "config/config.h"
#include "db/series/history.h"

#define DEFAULT_SPAN_NS (60 * NS_PER_S)
enum {
	TREES_SHOWN = 5,
	TAIL = 4 /* part of the stretch, its end, in which a ring is looked for */
};
#define SMALL_SHARE                                                                                \
	0.05 /* of a tree's pressure: causes below it are noise of the sharing out, unless they    \
		are hosts seen to pause */

extern const struct command command_pause;

static const struct command_option options[] = {
	{"priority", 0, "N", "only this priority"},
	{"incident", 0, "ID", "the window of this incident, and its priority"},
	{"device", 0, "GLOB", "ports: only of these devices"},
	{"port", 0, "GLOB", "ports: only these"},
	{"all", 0, NULL, "ports: also those without pause"},
	{NULL, 0, NULL, NULL},
};

struct asked {
	int priority; /* PRIO_NONE: all */
	const char *incident; /* its id, NULL */
	const char *device, *port;
	bool all;
};

/* ---- values -------------------------------------------------------------- */

static const char *edge_confidence(const struct pause_edge *edge)
{
	if (!edge->measured)
		return "low";
	if (edge->one_end || edge->quality != QUALITY_EXACT)
		return "med";
	return "high";
}

static const char *cmd_pause_worse(const char *left, const char *right)
{
	if (str_eq(left, "low") || str_eq(right, "low"))
		return "low";
	if (str_eq(left, "med") || str_eq(right, "med"))
		return "med";
	return "high";
}

static const char *peer_name(const struct port_seen *seen, struct arena *a)
{
	const struct fabric_port *port = seen->port;
	if (port->peer)
		return arena_printf(a, "%s:%s", port->peer->device->name, port->peer->name);
	return port->host;
}

static const char *cmd_pause_by_name(const struct pause_edge *edge)
{
	if (edge->by)
		return edge->by->port->device->name;
	if (edge->host)
		return edge->host;
	return "undeclared neighbour";
}

/* ---- tree ---------------------------------------------------------------- */

/* Parallel links between two neighbours, or all hosts of one switch: a line of the tree. */
struct line {
	const struct pause_edge **edges;
	size_t n;
	const struct fabric_device *waits; /* NULL: hosts */
	const struct fabric_device *by; /* NULL: the root's host */
	bool told;
};

static const struct fabric_device *cmd_pause_device_of(const struct port_seen *port)
{
	if (port)
		return port->port->device;
	return NULL;
}

struct drawing {
	struct arena *a;
	struct line *lines;
	size_t n;
	bool *open; /* [device]: its inputs have been drawn */
	const char *root;
	json_t *edges;
};

static void cmd_pause_add_edge(struct drawing *drawing, const struct pause_edge *edge)
{
	struct line *l = NULL;
	for (size_t i = 0; i < drawing->n && !l; i++)
		if (drawing->lines[i].waits == cmd_pause_device_of(edge->at) &&
			drawing->lines[i].by == cmd_pause_device_of(edge->by))
			l = &drawing->lines[i];
	if (!l) {
		l = &drawing->lines[drawing->n++];
		l->waits = cmd_pause_device_of(edge->at);
		l->by = cmd_pause_device_of(edge->by);
	}
	if ((l->n & (l->n - 1)) == 0) { /* doubled at powers of two */
		const struct pause_edge **wider =
			arena_array(drawing->a, const struct pause_edge *, l->n ? 2 * l->n : 1);
		if (l->n)
			memcpy(wider, l->edges, l->n * sizeof(*wider));
		l->edges = wider;
	}
	l->edges[l->n++] = edge;
}

static json_t *line_json(const struct drawing *drawing, const struct line *line, int depth)
{
	json_t *o = json_object(), *ports = json_array();
	const struct pause_edge *most = line->edges[0];
	const char *confidence = "high";
	double least = 1;
	for (size_t i = 0; i < line->n; i++) {
		const struct pause_edge *e = line->edges[i];
		if (edge_level(e) > edge_level(most))
			most = e;
		least = fmin(least, edge_level(e));
		confidence = cmd_pause_worse(confidence, edge_confidence(e));
		json_array_append_new(ports,
			json_string(e->at         ? e->at->port->name
					: e->host ? e->host
						  : e->by->port->name));
	}
	json_object_set_new(o, "root", json_string(drawing->root));
	json_object_set_new(o, "depth", json_integer(depth));
	json_object_set_new(o, "priority", json_integer(most->priority));
	json_object_set_new(o, "waits", json_string(line->waits ? line->waits->name : "hosts"));
	json_object_set_new(o, "ports", ports);
	json_object_set_new(o, "paused_by", json_string(cmd_pause_by_name(most)));
	json_object_set_new(o, "lo_ratio", json_number_or_null(most->lo));
	json_object_set_new(o, "hi_ratio", json_number_or_null(most->hi));
	json_object_set_new(o, "least_ratio", json_number_or_null(least));
	json_object_set_new(o, "measured", json_boolean(most->measured));
	json_object_set_new(o, "confidence", json_string(confidence));
	json_object_set_new(
		o, "victims", line->waits ? json_null() : json_integer((json_int_t)line->n));
	return o;
}

/* What waits for @by, each switch opened once, where it is met first. */
static void cmd_pause_draw(struct drawing *drawing, const struct fabric_device *by, int depth)
{
	for (size_t i = 0; i < drawing->n; i++) {
		struct line *l = &drawing->lines[i];
		if (l->told || l->by != by)
			continue;
		l->told = true;
		json_array_append_new(drawing->edges, line_json(drawing, l, depth));
		if (l->waits && !drawing->open[l->waits->index]) {
			drawing->open[l->waits->index] = true;
			cmd_pause_draw(drawing, l->waits, depth + 1);
		}
	}
}

static json_t *tree_json(
	const struct pause_root *root, const struct pause_graph *graph, struct arena *a)
{
	const size_t n = root->n_direct + root->n_indirect;
	struct drawing d = {.a = a,
		.lines = arena_array(a, struct line, n + 1),
		.open = arena_array(a, bool, graph->observed->n_devices + 1),
		.edges = json_array(),
		.root = root->host ? root->host : port_text(root->port, a)};
	for (size_t i = 0; i < n; i++)
		cmd_pause_add_edge(&d,
			i < root->n_direct ? root->direct[i] : root->indirect[i - root->n_direct]);
	if (root->origin == ORIGIN_HOST)
		cmd_pause_draw(&d, NULL, 1);
	if (!d.open[root->port->port->device->index]) {
		d.open[root->port->port->device->index] = true;
		cmd_pause_draw(&d, root->port->port->device, 1);
	}
	json_t *o = json_object();
	json_object_set_new(o, "priority", json_integer(root->priority));
	json_object_set_new(
		o, "origin", json_string(root->origin == ORIGIN_HOST ? "host" : "queue"));
	json_object_set_new(o, "device", json_string(root->port->port->device->name));
	json_object_set_new(o, "port", json_string(root->port->port->name));
	json_object_set_new(o, "host", json_string_or_null(root->host));
	json_object_set_new(o, "level_lo_ratio", json_number_or_null(root->level_lo));
	json_object_set_new(o, "level_hi_ratio", json_number_or_null(root->level_hi));
	json_object_set_new(o, "measured", json_boolean(root->measured));
	json_object_set_new(o, "utilization_ratio",
		json_number_or_null(
			root->port->out_known ? root->port->out.utilization_ratio : NAN));
	json_object_set_new(o, "share_ratio", json_number_or_null(root->share));
	json_object_set_new(o, "next_share_ratio", json_number_or_null(root->next_share));
	json_object_set_new(o, "clear", json_boolean(root->clear));
	json_object_set_new(o, "confidence",
		json_string(!root->clear                                        ? "low"
				: root->origin == ORIGIN_HOST && root->measured ? "high"
										: "med"));
	json_object_set_new(o, "level", json_sprintf("L%d", pause_ladder(root)));
	json_object_set_new(o, "switches", json_integer((json_int_t)root->n_switches));
	json_object_set_new(o, "hosts", json_integer((json_int_t)root->n_hosts));
	json_object_set_new(o, "edges", d.edges);
	return o;
}

static json_t *cycles_json(const struct pause_graph *graph, int priority, struct arena *a)
{
	json_t *list = json_array();
	for (size_t i = 0; i < graph->n_cycles; i++) {
		const struct pause_cycle *c = &graph->cycles[i];
		if (priority != PRIO_NONE && c->priority != priority)
			continue;
		json_t *o = json_object(), *ports = json_array();
		for (size_t k = 0; k < c->n; k++)
			json_array_append_new(ports, json_string(port_text(c->edges[k]->at, a)));
		json_object_set_new(o, "priority", json_integer(c->priority));
		json_object_set_new(o, "still", json_boolean(c->still));
		json_object_set_new(o, "ports", ports);
		json_array_append_new(list, o);
	}
	return list;
}

/* The sum of counters of the lossless queues; null when none of them is known. */
static json_t *sum_json(
	const struct observed *observed, int priority, const size_t *offsets, size_t n)
{
	bool known = false;
	double sum = 0;
	for (size_t i = 0; i < observed->n_prios; i++)
		for (size_t k = 0; k < n && observed->prios[i]->lossless &&
			(priority == PRIO_NONE || observed->prios[i]->priority == priority);
			k++) {
			const struct amount *c =
				(const struct amount *)((const char *)observed->prios[i] +
					offsets[k]);
			known |= c->known;
			if (c->known)
				sum += c->value;
		}
	if (known)
		return json_integer((json_int_t)sum);
	return json_null();
}

static bool any_cycle(const struct pause_graph *graph, int priority)
{
	for (size_t i = 0; i < graph->n_cycles; i++)
		if (priority == PRIO_NONE || graph->cycles[i].priority == priority)
			return true;
	return false;
}

static json_t *make_tree(const struct pause_graph *graph, const struct pause_graph *tail,
	const struct asked *asked, struct arena *a)
{
	static const size_t drops[] = {
		offsetof(struct port_prio, pg_drops), offsetof(struct port_prio, drops)};
	static const size_t dogs[] = {offsetof(struct port_prio, storms)};
	json_t *doc = json_object(), *trees = json_array(), *rows = json_array();
	size_t waiting = 0;
	double unresolved = 0;
	for (size_t i = 0; i < graph->n_edges; i++)
		waiting +=
			asked->priority == PRIO_NONE || graph->edges[i].priority == asked->priority;
	for (int c = 0; c < OBSERVED_PRIORITIES; c++) {
		if (asked->priority == PRIO_NONE || c == asked->priority)
			unresolved += graph->unresolved[c];
	}
	/* what is sure first; the rest only when nothing is */
	for (int clear = 1; clear >= 0; clear--)
		for (size_t i = 0; i < graph->n_roots && json_array_size(trees) < TREES_SHOWN;
			i++) {
			const struct pause_root *r = &graph->roots[i];
			if ((asked->priority != PRIO_NONE && r->priority != asked->priority) ||
				r->clear != clear ||
				(!clear &&
					(json_array_size(trees) ||
						any_cycle(tail, asked->priority) ||
						r->share < SMALL_SHARE)))
				continue;
			json_array_append_new(trees, tree_json(r, graph, a));
		}
	for (size_t i = 0; i < json_array_size(trees); i++)
		json_array_extend(rows, json_object_get(json_array_get(trees, i), "edges"));
	json_object_set_new(doc, "incident", json_string_or_null(asked->incident));
	json_object_set_new(doc, "observable", json_boolean(graph->observable));
	json_object_set_new(doc, "trees", trees);
	json_object_set_new(doc, "cycles", cycles_json(tail, asked->priority, a));
	json_object_set_new(doc, "rows", rows);
	json_object_set_new(doc, "waiting", json_integer((json_int_t)waiting));
	json_object_set_new(doc, "unresolved", json_real(unresolved));
	/* some switches count what they drop at egress only: that nothing was lost there says
	 * nothing of the ingress */
	json_t *ingress = sum_json(graph->observed, asked->priority, &drops[0], 1),
	       *egress = sum_json(graph->observed, asked->priority, &drops[1], 1);
	const bool none = json_is_null(ingress) && json_is_null(egress);
	json_object_set_new(doc, "drops_not_counted",
		none                            ? json_null()
			: json_is_null(ingress) ? json_string("ingress")
			: json_is_null(egress)  ? json_string("egress")
						: json_null());
	json_decref(ingress);
	json_decref(egress);
	json_object_set_new(doc, "lossless_drops",
		sum_json(graph->observed, asked->priority, drops, rw_countof(drops)));
	json_object_set_new(doc, "watchdog_events",
		sum_json(graph->observed, asked->priority, dogs, rw_countof(dogs)));
	return doc;
}

/* ---- ports --------------------------------------------------------------- */

static void put_share(json_t *object, const char *way, const struct pause_share *share)
{
	char key[32];
	snprintf(key, sizeof(key), "%s_lo_ratio", way);
	json_object_set_new(object, key, json_number_or_null(share->lo));
	snprintf(key, sizeof(key), "%s_hi_ratio", way);
	json_object_set_new(object, key, json_number_or_null(share->hi));
	snprintf(key, sizeof(key), "%s_measured", way);
	json_object_set_new(
		object, key, isnan(share->hi) ? json_null() : json_boolean(share->measured));
	snprintf(key, sizeof(key), "%s_quality", way);
	json_object_set_new(object, key,
		isnan(share->hi) ? json_null() : json_string(share->measured ? "time" : "frames"));
}

static json_t *frames_json(const struct amount *amount)
{
	if (amount->known)
		return json_integer((json_int_t)amount->value);
	return json_null();
}

static double cmd_pause_strongest(const struct port_prio *lane)
{
	return fmax(fmax(lane->rx_pause.hi, lane->tx_pause.hi), -1);
}

static int by_strength(const void *left, const void *right)
{
	const struct port_prio *a = *(const struct port_prio *const *)left,
			       *b = *(const struct port_prio *const *)right;
	const double d = cmd_pause_strongest(b) - cmd_pause_strongest(a);
	if (d != 0) {
		if (d > 0)
			return 1;
		return -1;
	}
	if (a->port != b->port) {
		if (a->port < b->port)
			return -1;
		return 1;
	}
	return a->priority - b->priority;
}

static bool is_asked(const struct asked *asked, const struct fabric_port *port)
{
	return str_glob(asked->device, port->device->name) &&
		(str_glob(asked->port, port->name) ||
			(port->alias[0] && str_glob(asked->port, port->alias)));
}

static json_t *make_ports(const struct pause_graph *graph, const struct pause_graph *tail,
	const struct asked *asked, struct arena *a)
{
	const struct observed *o = graph->observed;
	const struct port_prio **v = arena_array(a, const struct port_prio *, o->n_prios + 1);
	size_t n = 0;
	bool observable = false;
	for (size_t i = 0; i < o->n_prios; i++) {
		const struct port_prio *l = o->prios[i];
		if ((asked->priority != PRIO_NONE && l->priority != asked->priority) ||
			!is_asked(asked, l->port->port))
			continue;
		observable |= l->rx_pause.alive || l->tx_pause.alive || l->pfc_enabled > 0;
		if (asked->all || cmd_pause_strongest(l) > 0)
			v[n++] = l;
	}
	if (n)
		qsort(v, n, sizeof(*v), by_strength);
	json_t *doc = json_object(), *rows = json_array();
	for (size_t i = 0; i < n; i++) {
		json_t *row = json_object();
		json_object_set_new(row, "device", json_string(v[i]->port->port->device->name));
		json_object_set_new(row, "port", json_string(v[i]->port->port->name));
		json_object_set_new(row, "peer", json_string_or_null(peer_name(v[i]->port, a)));
		json_object_set_new(row, "priority", json_integer(v[i]->priority));
		put_share(row, "rx", &v[i]->rx_pause);
		put_share(row, "tx", &v[i]->tx_pause);
		json_object_set_new(row, "rx_frames", frames_json(&v[i]->rx_frames));
		json_object_set_new(row, "tx_frames", frames_json(&v[i]->tx_frames));
		json_array_append_new(rows, row);
	}
	json_object_set_new(doc, "observable", json_boolean(observable));
	json_object_set_new(doc, "ports", rows);
	return doc;
}

/* ---- the command --------------------------------------------------------- */

static const struct look {
	const char *name;
	json_t *(*make)(const struct pause_graph *graph, const struct pause_graph *tail,
		const struct asked *asked, struct arena *a);
	const struct view *view;
} looks[] = {
	{"tree", make_tree, &pause_tree_view},
	{"ports", make_ports, &pause_ports_view},
};

static int cmd_pause_time_of(const json_t *object, const char *key, int64_t *ret_ns)
{
	const char *text = json_string_value(json_object_get(object, key));
	wall_t t;
	if (!text || wall_parse(text, (wall_t){0}, &t) < 0)
		return -EINVAL;
	*ret_ns = t.ns;
	return 0;
}

/* The window an incident was judged by is that of its evidence. */
static int cmd_pause_take_incident(struct client *client, const struct globals *globals,
	const char *id, struct asked *asked, struct arena *a, struct err *e)
{
	/* it goes into a query */
	if (strspn(id, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ234567") !=
			strlen(id) ||
		!id[0])
		return err_set(e, -EINVAL,
			"'%.40s' is not an incident id, which is 8 letters (a-z, 2-7); 'rocewatch "
			"incident list' names them",
			id);
	json_t *found = incidents_load(client, globals, id, e);
	if (!found) {
		if (e->code)
			return e->code;
		return -EIO;
	}
	const json_t *i = json_array_get(found, 0),
		     *first = json_array_get(json_object_get(i, "evidence"), 0);
	const json_t *priority = json_object_get(json_object_get(i, "subject"), "priority");
	int r = 0;
	if (json_array_size(found) != 1)
		r = err_set(e, -ENOENT, "%s '%.40s'; 'rocewatch incident list' names them",
			json_array_size(found) ? "several incidents begin with" : "no incident",
			id);
	else if (cmd_pause_time_of(first, "from", &client->from_ns) < 0 ||
		cmd_pause_time_of(first, "to", &client->to_ns) < 0)
		r = err_set(e, -ENODATA, "incident %.40s holds no evidence that says when", id);
	if (r == 0) {
		asked->incident = arena_strdup(a, json_string_value(json_object_get(i, "id")));
		if (asked->priority == PRIO_NONE && json_is_integer(priority))
			asked->priority = (int)json_integer_value(priority);
	}
	json_decref(found);
	return r;
}

static int graph_of(struct client *client, int64_t from_ns, struct arena *turn,
	const struct pause_graph **ret, struct err *e)
{
	const struct window_spec spec = {
		.metrics = observe_metrics, .n_metrics = observe_n_metrics};
	struct window *w = arena_new_of(turn, struct window);
	const int r = history_window(client->history, turn, &spec, from_ns, client->to_ns, w, e);
	if (r < 0)
		return r;
	const struct analyzer_in in = {
		.fabric = client->config->fabric, .window = w, .arena = turn};
	*ret = pause_graph(&in);
	return 0;
}

/* "Nobody pauses there" is no answer for a port that is neither declared nor counted. */
static bool is_any_port(
	const struct fabric *fabric, const struct observed *observed, const struct asked *asked)
{
	for (size_t d = 0; d < fabric->n_devices; d++)
		for (size_t i = 0; i < fabric->devices[d]->n_ports; i++)
			if (is_asked(asked, fabric->devices[d]->ports[i]))
				return true;
	for (size_t i = 0; i < observed->n_prios; i++)
		if (is_asked(asked, observed->prios[i]->port->port))
			return true;
	return false;
}

/* A ring that closed on the way has moved something in the stretch as a whole: it is looked for at
 * its end as well. */
static int cmd_pause_answer(struct client *client, const struct look *look,
	const struct asked *asked, struct command_args *args, struct arena *turn, struct err *e)
{
	const struct pause_graph *g, *tail;
	int r = graph_of(client, client->from_ns, turn, &g, e);
	if (r < 0)
		return r;
	if ((asked->device || asked->port) &&
		!is_any_port(client->config->fabric, g->observed, asked))
		return err_set(e, -EINVAL,
			"no port of the fabric matches device '%.64s', port '%.64s' ('rocewatch "
			"topology show' lists them)",
			str_or(asked->device, "*"), str_or(asked->port, "*"));
	tail = g;
	if (look->make == make_tree && !any_cycle(g, asked->priority))
		r = graph_of(client, client->to_ns - (client->to_ns - client->from_ns) / TAIL, turn,
			&tail, e);
	if (r < 0)
		return r;
	json_t *doc = look->make(g, tail, asked, turn);
	json_object_set_new(doc, "from", json_time(client->from_ns));
	json_object_set_new(doc, "to", json_time(client->to_ns));
	r = report_print(stdout, doc, look->view, args->g->format, !args->g->no_header,
		args->g->color == COLOR_ALWAYS);
	json_decref(doc);
	return r;
}

static int cmd_pause_run(struct command_args *args)
{
	const struct command *c = &command_pause;
	const struct look *look = NULL;
	if (!args->argc)
		look = &looks[0];
	for (size_t i = 0; i < rw_countof(looks) && !look; i++) {
		if (str_eq(looks[i].name, args->argv[0]))
			look = &looks[i];
		else
			look = NULL;
	}
	if (!look)
		return usage_error(
			c, "unknown subcommand '%.64s'; expected tree or ports", args->argv[0]);
	if (args->argc > 1)
		return usage_extra(c, args->argv[1]);
	struct asked q = {.priority = PRIO_NONE,
		.device = command_opt(c, args, "device"),
		.port = command_opt(c, args, "port"),
		.all = command_opt(c, args, "all")};
	const char *priority = command_opt(c, args, "priority"),
		   *incident = command_opt(c, args, "incident");
	struct err e = {0};
	int64_t number;
	if (priority &&
		(unit_int(priority, &number, &e) < 0 || number < 0 ||
			number >= OBSERVED_PRIORITIES))
		return usage_error(c, "read --priority '%.64s', expected 0 to 7", priority);
	if (priority)
		q.priority = (int)number;

	struct client x;
	rw_cleanup(arena_freep) struct arena *turn = arena_new();
	int r = client_open(&x, args->g, DEFAULT_SPAN_NS, &e);
	if (r == 0) {
		if (incident)
			r = cmd_pause_take_incident(&x, args->g, incident, &q, turn, &e);
		else
			r = 0;
		if (r == 0)
			r = cmd_pause_answer(&x, look, &q, args, turn, &e);
		client_done(&x);
	}
	if (r < 0 && e.text[0])
		err_print(stderr, &e);
	if (r == 0)
		return EXIT_OK;
	if (r == -EINVAL)
		return EXIT_USAGE;
	return EXIT_FAILED;
}

const struct command command_pause = {
	.name = "pause",
	.args = "[tree|ports]",
	.summary = "who pauses whom: the wait-for tree with its origin; pause time per port and "
		   "priority",
	.help = "tree: where pressure begins (a host that pauses its port, or a queue that is "
		"full), and who waits because of it. ports: pause time per port and "
		"priority, in both directions. Pause time that the switch measures is shown as it "
		"is. Where only PFC frames are counted, the time is a bound: from 0 to the longest "
		"these frames can last. The default time range is the last minute.",
	.options = options,
	.usage_exit = EXIT_USAGE,
	.run = cmd_pause_run,
};
