/*
 * cmd_pause - "rocewatch pause [tree|ports]": who pauses whom. One window over the time range,
 * measured by the pause_graph of the detectors: the command shows what they judge, over another
 * length of time.
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
#include "agent/incident/incident_json.h"
#include "agent/incident/incident_record.h"
#include "agent/reports/incident_view.h"
#include "agent/reports/pause_views.h"
#include "analyzers/analyzer.h"
#include "analyzers/detect/pause_finding.h"
#include "config/config.h"
#include "db/series/history.h"

#define DEFAULT_SPAN_NS (60 * NS_PER_S)
enum { TREES_SHOWN = 5 };
/* The last quarter of the time range is searched for a ring of its own. */
enum { TAIL_PART = 4 };
/* Of a tree's pressure: candidates with less are noise, unless they are hosts seen to pause. */
#define SMALL_SHARE 0.05

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
struct tree_line {
	const struct pause_edge **edges;
	size_t n;
	const struct fabric_device *waits; /* NULL: hosts */
	const struct fabric_device *by; /* NULL: the root's host */
	bool drawn;
};

static const struct fabric_device *cmd_pause_device_of(const struct port_seen *port)
{
	if (port)
		return port->port->device;
	return NULL;
}

struct drawing {
	struct arena *a;
	struct tree_line *lines;
	size_t n;
	bool *open; /* [device]: its inputs have been drawn */
	const char *root;
	json_t *edges;
};

static void cmd_pause_add_edge(struct drawing *drawing, const struct pause_edge *edge)
{
	struct tree_line *l = NULL;
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
			arena_array(drawing->a, const struct pause_edge *, 2 * l->n + 1);
		if (l->n)
			memcpy(wider, l->edges, l->n * sizeof(*wider));
		l->edges = wider;
	}
	l->edges[l->n++] = edge;
}

/* The port that may not send; for a host the host, else the port that pauses it. */
static const char *waiting_name(const struct pause_edge *edge)
{
	if (edge->at)
		return edge->at->port->name;
	return str_or(edge->host, edge->by->port->name);
}

static json_t *line_json(const struct drawing *drawing, const struct tree_line *line, int depth)
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
		json_array_append_new(ports, json_string(waiting_name(e)));
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

/* Draw what waits for @by. Each switch is opened once, where it is met first. */
static void cmd_pause_draw(struct drawing *drawing, const struct fabric_device *by, int depth)
{
	for (size_t i = 0; i < drawing->n; i++) {
		struct tree_line *l = &drawing->lines[i];
		if (l->drawn || l->by != by)
			continue;
		l->drawn = true;
		json_array_append_new(drawing->edges, line_json(drawing, l, depth));
		if (l->waits && !drawing->open[l->waits->index]) {
			drawing->open[l->waits->index] = true;
			cmd_pause_draw(drawing, l->waits, depth + 1);
		}
	}
}

static const char *root_confidence(const struct pause_root *root)
{
	if (!root->clear)
		return "low";
	if (root->origin == ORIGIN_HOST && root->measured)
		return "high";
	return "med";
}

static json_t *tree_json(
	const struct pause_root *root, const struct pause_graph *graph, struct arena *a)
{
	const size_t n = root->n_direct + root->n_indirect;
	struct drawing d = {.a = a,
		.lines = arena_array(a, struct tree_line, n + 1),
		.open = arena_array(a, bool, graph->observed->n_devices + 1),
		.edges = json_array(),
		.root = str_or(root->host, port_text(root->port, a))};
	for (size_t i = 0; i < root->n_direct; i++)
		cmd_pause_add_edge(&d, root->direct[i]);
	for (size_t i = 0; i < root->n_indirect; i++)
		cmd_pause_add_edge(&d, root->indirect[i]);
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
	json_object_set_new(o, "confidence", json_string(root_confidence(root)));
	json_object_set_new(o, "level", json_sprintf("L%d", pause_ladder(root)));
	json_object_set_new(o, "switches", json_integer((json_int_t)root->n_switches));
	json_object_set_new(o, "hosts", json_integer((json_int_t)root->n_hosts));
	json_object_set_new(o, "edges", d.edges);
	return o;
}

static bool is_wanted(int asked, int priority)
{
	return asked == PRIO_NONE || priority == asked;
}

static json_t *cycles_json(const struct pause_graph *graph, int priority, struct arena *a)
{
	json_t *list = json_array();
	for (size_t i = 0; i < graph->n_cycles; i++) {
		const struct pause_cycle *c = &graph->cycles[i];
		if (!is_wanted(priority, c->priority))
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

/* The sum of counters of the lossless queues, NAN when none of them is known. */
static double lossless_sum(
	const struct observed *observed, int priority, const size_t *offsets, size_t n)
{
	double sum = NAN;
	for (size_t i = 0; i < observed->n_prios; i++) {
		const struct port_prio *prio = observed->prios[i];
		if (!prio->lossless || !is_wanted(priority, prio->priority))
			continue;
		for (size_t k = 0; k < n; k++) {
			const struct amount *amount =
				(const struct amount *)((const char *)prio + offsets[k]);
			if (amount->known && isnan(sum))
				sum = amount->value;
			else if (amount->known)
				sum += amount->value;
		}
	}
	return sum;
}

static json_t *count_json(double count)
{
	if (isnan(count))
		return json_null();
	return json_integer((json_int_t)count);
}

/* Some switches count drops at egress only: a count of 0 there says nothing of the ingress. Which
 * side is missing when the other one is counted? */
static const char *drops_not_counted(double ingress, double egress)
{
	if (isnan(ingress) == isnan(egress))
		return NULL;
	return isnan(ingress) ? "ingress" : "egress";
}

static bool any_cycle(const struct pause_graph *graph, int priority)
{
	for (size_t i = 0; i < graph->n_cycles; i++)
		if (is_wanted(priority, graph->cycles[i].priority))
			return true;
	return false;
}

/* Roots that are accepted; when there is none, and no ring either, the strongest candidates. */
static json_t *trees_json(const struct pause_graph *graph, const struct pause_graph *tail,
	const struct asked *asked, struct arena *a)
{
	json_t *trees = json_array();
	for (int clear = 1; clear >= 0; clear--) {
		const bool found = json_array_size(trees) > 0 || any_cycle(tail, asked->priority);
		if (!clear && found)
			break;
		for (size_t i = 0; i < graph->n_roots; i++) {
			const struct pause_root *root = &graph->roots[i];
			if (root->clear != clear || !is_wanted(asked->priority, root->priority))
				continue;
			if (!clear && root->share < SMALL_SHARE)
				continue;
			if (json_array_size(trees) >= (clear ? TREES_SHOWN : 1))
				break;
			json_array_append_new(trees, tree_json(root, graph, a));
		}
	}
	return trees;
}

static json_t *make_tree(const struct pause_graph *graph, const struct pause_graph *tail,
	const struct asked *asked, struct arena *a)
{
	static const size_t drops[] = {
		offsetof(struct port_prio, pg_drops), offsetof(struct port_prio, drops)};
	static const size_t storms[] = {offsetof(struct port_prio, storms)};
	const struct observed *observed = graph->observed;
	const int priority = asked->priority;
	size_t waiting = 0;
	double unresolved = 0;
	for (size_t i = 0; i < graph->n_edges; i++)
		waiting += is_wanted(priority, graph->edges[i].priority);
	for (int c = 0; c < OBSERVED_PRIORITIES; c++)
		if (is_wanted(priority, c))
			unresolved += graph->unresolved[c];
	json_t *doc = json_object(), *rows = json_array();
	json_t *trees = trees_json(graph, tail, asked, a);
	for (size_t i = 0; i < json_array_size(trees); i++)
		json_array_extend(rows, json_object_get(json_array_get(trees, i), "edges"));
	json_object_set_new(doc, "incident", json_string_or_null(asked->incident));
	json_object_set_new(doc, "observable", json_boolean(graph->observable));
	json_object_set_new(doc, "trees", trees);
	json_object_set_new(doc, "cycles", cycles_json(tail, priority, a));
	json_object_set_new(doc, "rows", rows);
	json_object_set_new(doc, "waiting", json_integer((json_int_t)waiting));
	json_object_set_new(doc, "unresolved", json_real(unresolved));
	const double ingress = lossless_sum(observed, priority, &drops[0], 1);
	const double egress = lossless_sum(observed, priority, &drops[1], 1);
	json_object_set_new(
		doc, "drops_not_counted", json_string_or_null(drops_not_counted(ingress, egress)));
	json_object_set_new(
		doc, "lossless_drops", count_json(lossless_sum(observed, priority, drops, 2)));
	json_object_set_new(
		doc, "watchdog_events", count_json(lossless_sum(observed, priority, storms, 1)));
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
	const bool known = !isnan(share->hi);
	json_t *measured = json_null(), *quality = json_null();
	if (known) {
		measured = json_boolean(share->measured);
		quality = json_string(share->measured ? "time" : "frames");
	}
	snprintf(key, sizeof(key), "%s_measured", way);
	json_object_set_new(object, key, measured);
	snprintf(key, sizeof(key), "%s_quality", way);
	json_object_set_new(object, key, quality);
}

static json_t *frames_json(const struct amount *amount)
{
	if (amount->known)
		return json_integer((json_int_t)amount->value);
	return json_null();
}

static double cmd_pause_strongest(const struct port_prio *prio)
{
	return fmax(fmax(prio->rx_pause.hi, prio->tx_pause.hi), -1);
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
	if (!str_glob(asked->device, port->device->name))
		return false;
	if (str_glob(asked->port, port->name))
		return true;
	return port->alias[0] && str_glob(asked->port, port->alias);
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
		if (!is_wanted(asked->priority, l->priority) || !is_asked(asked, l->port->port))
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

static const struct pause_form {
	const char *name;
	json_t *(*make)(const struct pause_graph *graph, const struct pause_graph *tail,
		const struct asked *asked, struct arena *a);
	const struct view *view;
} forms[] = {
	{"tree", make_tree, &pause_tree_view},
	{"ports", make_ports, &pause_ports_view},
};

static bool is_incident_id(const char *id)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
	return id[0] && strspn(id, letters) == strlen(id);
}

/* The window in which an incident was found is that of its evidence. */
static int cmd_pause_take_window(struct client *client, const struct incident *incident,
	struct asked *asked, struct arena *a, struct err *e)
{
	if (incident->n_evidence == 0)
		return err_set(e, -ENODATA, "incident %s has no evidence, so no window is known",
			incident->id);
	client->from_ns = incident->evidence[0].from_ns;
	client->to_ns = incident->evidence[0].to_ns;
	asked->incident = arena_strdup(a, incident->id);
	if (asked->priority == PRIO_NONE)
		asked->priority = incident->priority;
	return 0;
}

static int cmd_pause_take_incident(struct client *client, const struct globals *globals,
	const char *id, struct asked *asked, struct arena *a, struct err *e)
{
	if (!is_incident_id(id)) /* it goes into a query */
		return err_set(e, -EINVAL,
			"'%.40s' is not an incident id, which is 8 letters (a-z, 2-7); 'rocewatch "
			"incident list' names them",
			id);
	json_t *found = incidents_load(client, globals, id, e);
	if (!found)
		return e->code ? e->code : -EIO;
	const size_t n = json_array_size(found);
	struct incident_record *record = NULL;
	if (n == 1)
		record = incident_json_read(json_array_get(found, 0));
	json_decref(found);
	if (n == 0)
		return err_set(e, -ENOENT,
			"no incident '%.40s'; 'rocewatch incident list' names them", id);
	if (n > 1)
		return err_set(e, -ENOENT,
			"several incidents begin with '%.40s'; 'rocewatch incident list' names "
			"them",
			id);
	if (!record)
		return err_set(e, -EIO, "incident %.40s cannot be read from the database", id);
	const int rc = cmd_pause_take_window(client, &record->i, asked, a, e);
	incident_record_free(record);
	return rc;
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

/* Is any such port configured or counted? If not, "no pause" would be a wrong answer. */
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

/* A ring that closed during the time range has moved something in it: so the end of the range is
 * searched for rings as well. */
static int cmd_pause_answer(struct client *client, const struct pause_form *form,
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
	if (form->make == make_tree && !any_cycle(g, asked->priority))
		r = graph_of(client, client->to_ns - (client->to_ns - client->from_ns) / TAIL_PART,
			turn, &tail, e);
	if (r < 0)
		return r;
	json_t *doc = form->make(g, tail, asked, turn);
	json_object_set_new(doc, "from", json_time(client->from_ns));
	json_object_set_new(doc, "to", json_time(client->to_ns));
	r = report_print(stdout, doc, form->view, args->g->format, !args->g->no_header,
		args->g->color == COLOR_ALWAYS);
	json_decref(doc);
	return r;
}

static int cmd_pause_run(struct command_args *args)
{
	const struct command *c = &command_pause;
	const struct pause_form *form = NULL;
	if (!args->argc)
		form = &forms[0];
	for (size_t i = 0; i < rw_countof(forms) && !form; i++)
		if (str_eq(forms[i].name, args->argv[0]))
			form = &forms[i];
	if (!form)
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
	if (priority) {
		const int rc = unit_int(priority, &number, &e);
		if (rc < 0 || number < 0 || number >= OBSERVED_PRIORITIES)
			return usage_error(
				c, "--priority '%.64s' is not a number from 0 to 7", priority);
		q.priority = (int)number;
	}

	struct client x;
	rw_cleanup(arena_freep) struct arena *turn = arena_new();
	int r = client_open(&x, args->g, DEFAULT_SPAN_NS, &e);
	if (r == 0) {
		if (incident)
			r = cmd_pause_take_incident(&x, args->g, incident, &q, turn, &e);
		else
			r = 0;
		if (r == 0)
			r = cmd_pause_answer(&x, form, &q, args, turn, &e);
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
