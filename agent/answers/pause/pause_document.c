/*
 * pause_document - who pauses whom, as documents: one window over the time range, measured by the
 * pause_graph of the detectors. It shows what they judge, over another length of time.
 */
#include "agent/answers/pause/pause_document.h"

#include "agent/answers/incident/incident_read.h"
#include "agent/client/client.h"
#include "agent/incident/incident_json.h"
#include "agent/incident/incident_record.h"
#include "analyzers/measure/input.h"
#include "analyzers/measure/pause/pause_graph.h"
#include "analyzers/measure/pause/pause_net.h"
#include "config/config.h"
#include "db/model/cause.h"
#include "db/series/history.h"

enum { TREES_SHOWN = 5 };
/* The last quarter of the time range is searched for a ring of its own. */
enum { TAIL_PART = 4 };
/* Of a tree's pressure: candidates with less are noise, unless they are hosts seen to pause. */
#define SMALL_SHARE 0.05
/* Of the pressure: queues with less are not where a sender's packets pile up. */
#define QUEUE_SHARE 0.2
enum { QUEUES_SHOWN = 4 };

/* ---- values -------------------------------------------------------------- */

static const char *edge_confidence(const struct pause_edge *edge)
{
	if (!edge->measured)
		return "low";
	if (edge->one_end || edge->quality != QUALITY_EXACT)
		return "med";
	return "high";
}

static const char *pause_document_worse(const char *left, const char *right)
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

static const char *pause_document_by_name(const struct pause_edge *edge)
{
	if (edge->by)
		return edge->by->port->device->name;
	if (edge->host)
		return edge->host;
	return "undeclared neighbour";
}

static bool pause_document_is_wanted(int asked, int priority)
{
	return asked == PRIO_NONE || priority == asked;
}

/* ---- tree ---------------------------------------------------------------- */

/* Parallel links between two neighbours, or all hosts of one switch: a line of the tree. A switch
 * that is not configured has a line of its own for each switch that pauses it. */
struct tree_line {
	const struct pause_edge **edges;
	size_t n;
	const struct fabric_device *waits; /* NULL: hosts, or the outsider */
	const char *outsider; /* a switch that is not configured; NULL: none */
	const struct fabric_device *by; /* NULL: the root's host */
	bool accused; /* what waits is the host that an incident accuses */
	bool drawn;
};

static const struct fabric_device *pause_document_device_of(const struct port_seen *port)
{
	if (port)
		return port->port->device;
	return NULL;
}

struct drawing {
	struct arena *a; /* of the answer */
	struct arena *turn; /* of the graph */
	struct tree_line *lines;
	size_t n;
	struct map *line_at; /* waits, by and accused -> line + 1, but for outsiders */
	bool *open; /* [device]: its inputs have been drawn */
	bool *pausing; /* [device]: somebody waits for it */
	const char *root;
	const char *accused; /* host, NULL */
	const char *accused_role; /* NULL where nobody is */
	struct pause_wait *waits; /* room for all lines */
	size_t n_waits;
};

static uint64_t device_key(const struct fabric_device *device)
{
	return device ? device->index + 1 : 0;
}

/* The line of an outsider; NULL: it has none yet. */
static struct tree_line *outsider_line(struct drawing *drawing, const struct pause_edge *edge)
{
	for (size_t i = 0; i < drawing->n; i++)
		if (drawing->lines[i].by == pause_document_device_of(edge->by) &&
			str_eq(drawing->lines[i].outsider, edge_outsider(edge)))
			return &drawing->lines[i];
	return NULL;
}

/* The line that @edge belongs to; a new one where it is the first. */
static struct tree_line *line_of(struct drawing *drawing, const struct pause_edge *edge)
{
	const struct tree_line own = {.waits = pause_document_device_of(edge->at),
		.by = pause_document_device_of(edge->by),
		.outsider = edge_outsider(edge),
		.accused = !edge->at && edge->host && str_eq(edge->host, drawing->accused)};
	const uint64_t key =
		device_key(own.waits) << 33 | device_key(own.by) << 1 | (own.accused ? 1 : 0);
	struct tree_line *found = NULL;
	uint64_t at;
	if (own.outsider)
		found = outsider_line(drawing, edge);
	else if (map_get(drawing->line_at, key, &at))
		found = &drawing->lines[at];
	if (found)
		return found;
	if (!own.outsider)
		map_put(drawing->line_at, key, drawing->n);
	drawing->lines[drawing->n] = own;
	return &drawing->lines[drawing->n++];
}

static void pause_document_add_edge(struct drawing *drawing, const struct pause_edge *edge)
{
	struct tree_line *l = line_of(drawing, edge);
	if (l->by)
		drawing->pausing[l->by->index] = true;
	arena_grow_pow2(drawing->turn, l->edges, l->n);
	l->edges[l->n++] = edge;
}

/* Room for a drawing of at most @n_edges. */
static struct drawing drawing_new(
	const struct pause_graph *graph, size_t n_edges, struct arena *turn, struct arena *a)
{
	return (struct drawing){.a = a,
		.turn = turn,
		.lines = arena_array(turn, struct tree_line, n_edges + 1),
		.line_at = map_new(),
		.open = arena_array(turn, bool, graph->observed->n_devices + 1),
		.pausing = arena_array(turn, bool, graph->observed->n_devices + 1)};
}

/* All edges are in: the lines are known. */
static void drawing_ready(struct drawing *drawing)
{
	map_free(drawing->line_at);
	drawing->line_at = NULL;
	drawing->waits = arena_array(drawing->a, struct pause_wait, drawing->n + 1);
}

/* The port that may not send; for a host the host, else the port that pauses it. */
static const char *waiting_name(const struct pause_edge *edge)
{
	if (edge->at)
		return edge->at->port->name;
	return str_or(edge->host, edge->by->port->name);
}

static const char *wait_role_of(const struct drawing *drawing, const struct tree_line *line)
{
	if (line->accused)
		return drawing->accused_role;
	if (line->waits && drawing->pausing[line->waits->index])
		return "passes";
	return "victim";
}

static struct pause_wait wait_of(
	const struct drawing *drawing, const struct tree_line *line, uint64_t depth)
{
	const struct pause_edge *most = line->edges[0];
	struct pause_wait ret = {.root = drawing->root,
		.depth = depth,
		.waits = "hosts",
		.role = wait_role_of(drawing, line),
		.ports = arena_array(drawing->a, const char *, line->n + 1),
		.n_ports = line->n,
		.least_ratio = 1,
		.confidence = "high",
		.victims = line->waits ? COUNT_UNKNOWN : line->n};
	for (size_t i = 0; i < line->n; i++) {
		const struct pause_edge *e = line->edges[i];
		if (edge_level(e) > edge_level(most))
			most = e;
		ret.least_ratio = fmin(ret.least_ratio, edge_level(e));
		ret.confidence = pause_document_worse(ret.confidence, edge_confidence(e));
		if (!line->outsider)
			ret.ports[i] = waiting_name(e);
	}
	if (line->waits)
		ret.waits = line->waits->name;
	else if (line->accused)
		ret.waits = drawing->accused;
	else if (line->outsider)
		ret.waits = line->outsider;
	if (line->outsider) {
		ret.ports[0] = line->outsider;
		ret.n_ports = 1;
	}
	ret.priority = most->priority;
	ret.paused_by = pause_document_by_name(most);
	ret.lo_ratio = most->lo;
	ret.hi_ratio = most->hi;
	ret.measured = most->measured;
	return ret;
}

/* Draw what waits for @by. Each switch is opened once, where it is met first. */
static void pause_document_draw(
	struct drawing *drawing, const struct fabric_device *by, uint64_t depth)
{
	for (size_t i = 0; i < drawing->n; i++) {
		struct tree_line *l = &drawing->lines[i];
		if (l->drawn || l->by != by)
			continue;
		l->drawn = true;
		drawing->waits[drawing->n_waits++] = wait_of(drawing, l, depth);
		if (l->waits && !drawing->open[l->waits->index]) {
			drawing->open[l->waits->index] = true;
			pause_document_draw(drawing, l->waits, depth + 1);
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

/* ---- the PFC watchdog -------------------------------------------------------------- */

#define WATCHDOG_PAUSED 0.99 /* of a poll's time, and nothing may leave meanwhile */
#define WATCHDOG_TRAFFIC 0.001

/* Over a range that holds more than the storm, means say nothing of a watchdog, which looks at
 * parts of a second: the time between two polls in which the port was paused most is judged. */
struct root_peak {
	double paused_ratio; /* NAN: pause time is not measured */
	bool fires; /* a watchdog that is on */
};

static void root_take_interval(const struct pause_root *root, const struct series *octets,
	const struct series *pause, uint32_t i, struct root_peak *peak)
{
	const int64_t from_ns = pause->t_ns[i - 1], to_ns = pause->t_ns[i];
	const double capacity_bps = (double)root->port->out.capacity_bps;
	double sent_bps = NAN;
	if (to_ns <= from_ns || pause->value[i] < pause->value[i - 1])
		return;
	const double paused = (double)(pause->value[i] - pause->value[i - 1]);
	const double ratio = fmin(1, paused / (double)(to_ns - from_ns));
	if (!(ratio <= peak->paused_ratio))
		peak->paused_ratio = ratio;
	if (octets)
		sent_bps = 8 * octet_rate_between(octets, from_ns, to_ns, 0);
	if (ratio > WATCHDOG_PAUSED && sent_bps < WATCHDOG_TRAFFIC * capacity_bps)
		peak->fires = true;
}

static struct root_peak root_peak_of(const struct pause_root *root, const struct pause_graph *graph)
{
	const struct window *window = graph->observed->window;
	const struct fabric_port *port = root->port->port;
	struct root_peak peak = {.paused_ratio = NAN};
	const uint32_t queue =
		entities_find(window->entities, port->device->name, port->name, root->priority);
	const uint32_t whole =
		entities_find(window->entities, port->device->name, port->name, PRIO_NONE);
	if (root->origin != ORIGIN_HOST || queue == ENTITY_NONE)
		return peak;
	const struct series *pause = window_series(window, queue, M_PFC_RX_PAUSE_NS);
	const struct series *octets = NULL;
	if (whole != ENTITY_NONE)
		octets = window_series(window, whole, M_PORT_OUT_OCTETS);
	for (uint32_t i = 1; pause && i < pause->n; i++)
		root_take_interval(root, octets, pause, i, &peak);
	return peak;
}

static struct pause_tree tree_of(const struct pause_root *root, const struct pause_graph *graph,
	struct arena *turn, struct arena *a)
{
	struct drawing d = drawing_new(graph, root->n_direct + root->n_indirect, turn, a);
	d.root = str_or(root->host, port_text(root->port, a));
	for (size_t i = 0; i < root->n_direct; i++)
		pause_document_add_edge(&d, root->direct[i]);
	for (size_t i = 0; i < root->n_indirect; i++)
		pause_document_add_edge(&d, root->indirect[i]);
	drawing_ready(&d);
	if (root->origin == ORIGIN_HOST)
		pause_document_draw(&d, NULL, 1);
	if (!d.open[root->port->port->device->index]) {
		d.open[root->port->port->device->index] = true;
		pause_document_draw(&d, root->port->port->device, 1);
	}
	const struct root_peak peak = root_peak_of(root, graph);
	return (struct pause_tree){.priority = root->priority,
		.origin = root->origin == ORIGIN_HOST ? "host" : "queue",
		.device = root->port->port->device->name,
		.port = root->port->port->name,
		.host = root->host,
		.level_lo_ratio = root->level_lo,
		.level_hi_ratio = root->level_hi,
		.peak_ratio = peak.paused_ratio,
		.watchdog = peak.fires,
		.measured = root->measured,
		.utilization_ratio =
			root->port->out_known ? root->port->out.utilization_ratio : NAN,
		.share_ratio = root->share,
		.next_share_ratio = root->next_share,
		.clear = root->clear,
		.confidence = root_confidence(root),
		.level = arena_printf(a, "L%d", pause_ladder(root)),
		.switches = root->n_switches + root->n_outsiders,
		.hosts = root->n_hosts,
		.edges = d.waits,
		.n_edges = d.n_waits,
		.from = TIME_UNKNOWN,
		.to = TIME_UNKNOWN};
}

/* ---- what incidents say -------------------------------------------------- */

static const char *accused_confidence(const struct accused *accused)
{
	if (accused->confidence_ratio >= 0.8)
		return "high";
	if (accused->confidence_ratio >= 0.5)
		return "med";
	return "low";
}

/* A host is the culprit where the cause is known, else a suspect. */
static const char *accused_role(const struct accused *accused)
{
	if (accused->cause == CAUSE_UNKNOWN)
		return "suspect";
	return "culprit";
}

/* Does the incident say of its host that the fabric waits for it because it sends? */
static bool accused_sends(const struct accused *accused)
{
	if (!accused->host)
		return false;
	return accused->cause == CAUSE_UNKNOWN ||
		cause_info(accused->cause)->family == CAUSE_FAMILY_HOST;
}

/* Queues and counters of the port that an incident accuses; NULL when the window has none. */
static const struct port_prio *accused_prio(
	const struct observed *observed, const struct accused *accused)
{
	for (size_t i = 0; i < observed->n_prios; i++) {
		const struct port_prio *prio = observed->prios[i];
		const struct fabric_port *port = prio->port->port;
		const bool fits =
			accused->priority == PRIO_NONE || accused->priority == prio->priority;
		if (fits && prio->lossless && str_eq(port->device->name, accused->device) &&
			str_eq(port->name, accused->port))
			return prio;
	}
	return NULL;
}

/* Where the pressure stands: the queues that the graph takes for the origin. */
static struct pause_pile *piles_of(
	const struct pause_graph *graph, int priority, struct arena *a, size_t *ret_n)
{
	struct pause_pile *list = arena_array(a, struct pause_pile, QUEUES_SHOWN);
	*ret_n = 0;
	for (size_t i = 0; i < graph->n_roots; i++) {
		const struct pause_root *root = &graph->roots[i];
		if (root->priority != priority || root->origin != ORIGIN_QUEUE ||
			root->share < QUEUE_SHARE || *ret_n >= QUEUES_SHOWN)
			continue;
		list[(*ret_n)++] = (struct pause_pile){root->port->port->device->name,
			root->port->port->name, root->host, root->share};
	}
	return list;
}

/* Is it the first line of its outsider? */
static bool line_is_first(const struct drawing *drawing, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (str_eq(drawing->lines[i].outsider, drawing->lines[at].outsider))
			return false;
	return true;
}

static void accused_count(const struct drawing *drawing, size_t n_devices, struct pause_tree *ret)
{
	bool *counted = arena_array(drawing->turn, bool, n_devices + 1);
	for (size_t i = 0; i < drawing->n; i++) {
		const struct tree_line *line = &drawing->lines[i];
		if (line->waits) {
			ret->switches += !counted[line->waits->index];
			counted[line->waits->index] = true;
		} else if (line->outsider) {
			ret->switches += line_is_first(drawing, i);
		} else if (!line->accused) {
			ret->hosts += line->n;
		}
	}
}

/* All that waits at @priority, from the switch of the accused host outwards, and how many switches
 * and hosts wait. */
static void accused_waits(const struct pause_graph *graph, const struct port_prio *prio,
	const struct accused *accused, struct arena *turn, struct arena *a, struct pause_tree *ret)
{
	struct drawing d = drawing_new(graph, graph->n_edges, turn, a);
	d.root = d.accused = accused->host;
	d.accused_role = accused_role(accused);
	for (size_t i = 0; i < graph->n_edges; i++)
		if (graph->edges[i].priority == prio->priority)
			pause_document_add_edge(&d, &graph->edges[i]);
	drawing_ready(&d);
	d.open[prio->port->port->device->index] = true;
	pause_document_draw(&d, prio->port->port->device, 1);
	for (size_t i = 0; i < d.n; i++) {
		const struct tree_line *line = &d.lines[i];
		if (!line->drawn && line->by && !d.open[line->by->index]) {
			d.open[line->by->index] = true;
			pause_document_draw(&d, line->by, 1);
		}
	}
	for (size_t i = 0; i < d.n; i++)
		if (!d.lines[i].drawn)
			d.waits[d.n_waits++] = wait_of(&d, &d.lines[i], 1);
	accused_count(&d, graph->observed->n_devices, ret);
	ret->edges = d.waits;
	ret->n_edges = d.n_waits;
}

/* The tree of a host that does not slow down: its switch pauses it, and yet it is the origin, which
 * counters of pause alone cannot tell. */
static struct pause_tree sender_of(const struct pause_graph *graph, const struct port_prio *prio,
	const struct accused *accused, struct arena *turn, struct arena *a)
{
	const struct port_seen *port = prio->port;
	struct pause_tree ret = {.priority = prio->priority,
		.origin = "sender",
		.device = accused->device,
		.port = accused->port,
		.host = accused->host,
		.level_lo_ratio = prio->tx_pause.lo,
		.level_hi_ratio = prio->tx_pause.hi,
		.peak_ratio = NAN,
		.measured = prio->tx_pause.measured,
		.utilization_ratio = port->in_known ? port->in.utilization_ratio : NAN,
		.share_ratio = NAN,
		.next_share_ratio = NAN,
		.clear = accused->cause != CAUSE_UNKNOWN,
		.confidence = accused_confidence(accused),
		.incident = accused->id,
		.role = accused_role(accused),
		.why = accused->headline,
		.from = TIME_UNKNOWN,
		.to = TIME_UNKNOWN};
	accused_waits(graph, prio, accused, turn, a, &ret);
	ret.level = "L1";
	if (ret.switches >= 3)
		ret.level = "L3";
	else if (ret.switches + ret.hosts > 0)
		ret.level = "L2";
	ret.queues = piles_of(graph, prio->priority, a, &ret.n_queues);
	return ret;
}

/* Is the tree's root whom the incident accuses? */
static bool is_accused_root(const struct pause_tree *tree, const struct accused *accused)
{
	if (accused->host)
		return str_eq(tree->origin, "host") && str_eq(tree->host, accused->host);
	return str_eq(tree->device, accused->device) && str_eq(tree->port, accused->port);
}

/* The incident names the root of a tree: the tree says so. */
static bool accused_marks(struct pause_tree_answer *answer, const struct accused *accused)
{
	for (size_t k = 0; k < answer->n_trees; k++) {
		struct pause_tree *tree = &answer->trees[k];
		if (!is_accused_root(tree, accused))
			continue;
		tree->incident = accused->id;
		tree->role = "culprit";
		tree->why = accused->headline;
		return true;
	}
	return false;
}

/* Trees of queues at @priority: the tree of their sender shows the same waits. */
static void drop_queue_trees(struct pause_tree_answer *answer, int priority)
{
	size_t n = 0;
	for (size_t k = 0; k < answer->n_trees; k++)
		if (!str_eq(answer->trees[k].origin, "queue") ||
			answer->trees[k].priority != priority)
			answer->trees[n++] = answer->trees[k];
	answer->n_trees = n;
}

static void insert_tree(struct pause_tree_answer *answer, struct pause_tree tree)
{
	memmove(answer->trees + 1, answer->trees, answer->n_trees * sizeof(tree));
	answer->trees[0] = tree;
	answer->n_trees++;
}

/* Why the tree of the incident that was asked for does not begin with whom it accuses. */
static const char *differs_text(
	const struct accused *accused, const struct pause_tree_answer *answer, struct arena *a)
{
	const char *whom = str_or(accused->host, accused->device);
	const char *here = "no pause of this window has an origin";
	if (answer->n_trees > 0)
		here = arena_printf(a, "pause of this window begins at %s:%s",
			answer->trees[0].device, answer->trees[0].port);
	if (!whom)
		return arena_printf(a, "incident %s (%s) is about many devices, not one origin; %s",
			accused->id, cause_name(accused->cause), here);
	return arena_printf(a, "incident %s (%s) accuses %s by other evidence than pause; %s",
		accused->id, cause_name(accused->cause), whom, here);
}

/* What is kept of one priority after the other: of a storm, only one has to be in memory. */
struct tree_maker {
	const struct pause_ask *asked;
	struct arena *a; /* of the answer */
	struct pause_tree_answer *ret;
	/* accepted roots, then candidates, each the strongest first */
	struct ranked_tree {
		bool clear;
		double pressure;
		size_t port; /* its place in the observation */
		int priority, origin;
		struct pause_tree tree;
	} ranked[TREES_SHOWN];
	size_t n_ranked;
	/* of the whole range, and of its end */
	struct pause_ring *rings, *late_rings;
	size_t n_rings, n_late_rings;
	const struct accused *accused;
	size_t n_accused;
	/* beside them: their priority was met; their own tree, .origin NULL: none */
	struct sender {
		bool met;
		struct pause_tree tree;
	} * senders;
	double ingress, egress, storms; /* NAN: not counted */
};

/*
 * The trees of a window name whom its incidents accuse: a tree of the same origin says so; a host
 * that does not slow down gets a tree of its own in place of those of the queues it fills. Says why
 * the tree differs from the incident that was asked for.
 */
static void trees_agree(const struct tree_maker *maker)
{
	struct pause_tree_answer *answer = maker->ret;
	for (size_t i = 0; i < maker->n_accused; i++) {
		const struct accused *accused = &maker->accused[i];
		const struct pause_tree *sender = &maker->senders[i].tree;
		if (accused_marks(answer, accused))
			continue;
		if (sender->origin) {
			drop_queue_trees(answer, sender->priority);
			insert_tree(answer, *sender);
		} else if (str_eq(accused->id, maker->asked->incident)) {
			answer->differs_because = differs_text(accused, answer, maker->a);
		}
	}
}

static void take_rings(const struct pause_graph *graph, struct arena *a, struct pause_ring **rings,
	size_t *n_rings)
{
	for (size_t i = 0; i < graph->n_cycles; i++) {
		const struct pause_cycle *c = &graph->cycles[i];
		const char **ports = arena_array(a, const char *, c->n + 1);
		for (size_t k = 0; k < c->n; k++)
			ports[k] = port_text(c->edges[k]->at, a);
		arena_grow_pow2(a, *rings, *n_rings);
		(*rings)[(*n_rings)++] = (struct pause_ring){c->priority, c->still, ports, c->n};
	}
}

/* @sum and counters of the lossless queues; NAN when none of them is known. */
static double lossless_sum(const struct observed *observed, int priority, double sum, size_t offset)
{
	for (size_t i = 0; i < observed->n_prios; i++) {
		const struct port_prio *prio = observed->prios[i];
		if (!prio->lossless || !pause_document_is_wanted(priority, prio->priority))
			continue;
		const struct amount *amount = (const struct amount *)((const char *)prio + offset);
		if (amount->known && isnan(sum))
			sum = amount->value;
		else if (amount->known)
			sum += amount->value;
	}
	return sum;
}

static uint64_t count_of(double count)
{
	if (isnan(count))
		return COUNT_UNKNOWN;
	return (uint64_t)count;
}

/* Some switches count drops at egress only: a count of 0 there says nothing of the ingress. Which
 * side is missing when the other one is counted? */
static const char *drops_not_counted(double ingress, double egress)
{
	if (isnan(ingress) == isnan(egress))
		return NULL;
	return isnan(ingress) ? "ingress" : "egress";
}

static double pause_document_strongest(const struct port_prio *prio)
{
	return fmax(fmax(prio->rx_pause.hi, prio->tx_pause.hi), -1);
}

/* Has one of its pause counters ever moved, or is PFC read back as on? */
static bool is_observable(const struct port_prio *prio)
{
	return prio->rx_pause.alive || prio->tx_pause.alive || prio->pfc_enabled > 0;
}

/* Accepted ones first; then as pause_graph's: the strongest, then the order of the fabric. */
static bool rank_before(const struct ranked_tree *left, const struct ranked_tree *right)
{
	if (left->clear != right->clear)
		return left->clear;
	if (left->pressure != right->pressure)
		return left->pressure > right->pressure;
	if (left->port != right->port)
		return left->port < right->port;
	if (left->priority != right->priority)
		return left->priority < right->priority;
	return left->origin < right->origin;
}

/* Roots that may be shown. Of those that are not accepted one is: the strongest. */
static void take_roots(
	struct tree_maker *maker, const struct pause_graph *graph, struct arena *turn)
{
	for (size_t i = 0; i < graph->n_roots; i++) {
		const struct pause_root *root = &graph->roots[i];
		struct ranked_tree own = {.clear = root->clear,
			.pressure = root->pressure,
			.port = port_index(graph->observed, root->port),
			.priority = root->priority,
			.origin = (int)root->origin};
		size_t at = maker->n_ranked;
		if (!root->clear && root->share < SMALL_SHARE)
			continue;
		while (at > 0 && rank_before(&own, &maker->ranked[at - 1]))
			at--;
		if (at == TREES_SHOWN || (at > 0 && !root->clear))
			continue;
		maker->n_ranked += maker->n_ranked < TREES_SHOWN;
		memmove(&maker->ranked[at + 1], &maker->ranked[at],
			(maker->n_ranked - at - 1) * sizeof(own));
		own.tree = tree_of(root, graph, turn, maker->a);
		maker->ranked[at] = own;
	}
}

/* Roots that are accepted; when there is none, and no ring either, the strongest candidate. */
static void put_trees(struct tree_maker *maker)
{
	struct pause_tree_answer *ret = maker->ret;
	for (size_t i = 0; i < maker->n_ranked; i++)
		if (maker->ranked[i].clear || i + ret->n_cycles == 0)
			ret->trees[ret->n_trees++] = maker->ranked[i].tree;
}

static void put_rows(struct pause_tree_answer *ret, struct arena *a)
{
	size_t n = 0;
	for (size_t i = 0; i < ret->n_trees; i++)
		n += ret->trees[i].n_edges;
	ret->rows = arena_array(a, struct pause_wait, n + 1);
	for (size_t i = 0; i < ret->n_trees; i++)
		for (size_t k = 0; k < ret->trees[i].n_edges; k++)
			ret->rows[ret->n_rows++] = ret->trees[i].edges[k];
}

/* What is counted at the queues of @observed, and is there anything that counts pause? */
static void take_counts(struct tree_maker *maker, const struct observed *observed)
{
	const int priority = maker->asked->priority;
	maker->ingress = lossless_sum(
		observed, priority, maker->ingress, offsetof(struct port_prio, pg_drops));
	maker->egress =
		lossless_sum(observed, priority, maker->egress, offsetof(struct port_prio, drops));
	maker->storms =
		lossless_sum(observed, priority, maker->storms, offsetof(struct port_prio, storms));
	for (size_t i = 0; i < observed->n_prios; i++)
		maker->ret->observable |= is_observable(observed->prios[i]);
}

/* The trees of hosts that incidents accuse, at the first of their priorities. @graph NULL: nobody
 * is paused there. */
static void take_senders(struct tree_maker *maker, const struct observed *observed,
	const struct pause_graph *graph, struct arena *turn)
{
	for (size_t i = 0; i < maker->n_accused; i++) {
		struct sender *sender = &maker->senders[i];
		const struct port_prio *prio = NULL;
		if (!sender->met && accused_sends(&maker->accused[i]))
			prio = accused_prio(observed, &maker->accused[i]);
		sender->met |= prio != NULL;
		if (prio && graph && prio->tx_pause.hi > 0)
			sender->tree = sender_of(graph, prio, &maker->accused[i], turn, maker->a);
	}
}

static void make_tree(struct tree_maker *maker)
{
	struct pause_tree_answer *ret = maker->ret;
	double drops = maker->ingress;
	if (isnan(drops))
		drops = maker->egress;
	else if (!isnan(maker->egress))
		drops += maker->egress;
	ret->incident = maker->asked->incident;
	ret->trees = arena_array(maker->a, struct pause_tree, TREES_SHOWN + maker->n_accused + 1);
	ret->drops_not_counted = drops_not_counted(maker->ingress, maker->egress);
	ret->lossless_drops = count_of(drops);
	ret->watchdog_events = count_of(maker->storms);
	ret->cycles = maker->rings;
	ret->n_cycles = maker->n_rings;
	if (maker->n_rings == 0) {
		ret->cycles = maker->late_rings;
		ret->n_cycles = maker->n_late_rings;
	}
	put_trees(maker);
	trees_agree(maker);
	put_rows(ret, maker->a);
}

/* ---- ports --------------------------------------------------------------- */

static enum maybe is_measured(const struct pause_share *share)
{
	if (isnan(share->hi))
		return MAYBE_UNKNOWN;
	return maybe_of(share->measured);
}

static const char *share_quality(const struct pause_share *share)
{
	if (isnan(share->hi))
		return NULL;
	return share->measured ? "time" : "frames";
}

static uint64_t frames_of(const struct amount *amount)
{
	if (amount->known)
		return (uint64_t)amount->value;
	return COUNT_UNKNOWN;
}

static struct pause_pair pair_of(const struct port_prio *prio, struct arena *a)
{
	return (struct pause_pair){.device = prio->port->port->device->name,
		.port = arena_strdup(a, prio->port->port->name),
		.peer = peer_name(prio->port, a),
		.priority = prio->priority,
		.rx_lo_ratio = prio->rx_pause.lo,
		.rx_hi_ratio = prio->rx_pause.hi,
		.rx_measured = is_measured(&prio->rx_pause),
		.rx_quality = share_quality(&prio->rx_pause),
		.tx_lo_ratio = prio->tx_pause.lo,
		.tx_hi_ratio = prio->tx_pause.hi,
		.tx_measured = is_measured(&prio->tx_pause),
		.tx_quality = share_quality(&prio->tx_pause),
		.rx_frames = frames_of(&prio->rx_frames),
		.tx_frames = frames_of(&prio->tx_frames)};
}

/* A queue, and whether pause begins there. */
struct pause_seen {
	const struct port_prio *prio;
	bool origin;
};

/* The priorities of each port at which a clear root stands, as bits. */
static uint8_t *origins_of(
	const struct analyzer_in *in, const struct pause_ask *asked, struct arena *a)
{
	const struct observed *o = observe(in);
	uint8_t *origins = arena_array(a, uint8_t, o->n_ports + 1);
	if (asked->no_origins)
		return origins;
	const struct pause_graph *graph = pause_graph(in);
	for (size_t i = 0; i < graph->n_roots; i++)
		if (graph->roots[i].clear)
			origins[port_index(o, graph->roots[i].port)] |=
				(uint8_t)(1 << graph->roots[i].priority);
	return origins;
}

/* Where pause begins stands above what only waits. */
static int by_strength(const void *left, const void *right)
{
	const struct pause_seen *x = left, *y = right;
	const struct port_prio *a = x->prio, *b = y->prio;
	if (x->origin != y->origin)
		return y->origin - x->origin;
	const double d = pause_document_strongest(b) - pause_document_strongest(a);
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

static bool pause_document_is_asked(const struct pause_ask *asked, const struct fabric_port *port)
{
	if (!str_glob(asked->device, port->device->name))
		return false;
	if (str_glob(asked->port, port->name))
		return true;
	return port->alias[0] && str_glob(asked->port, port->alias);
}

static void make_ports(const struct analyzer_in *in, const struct pause_ask *asked,
	struct arena *turn, struct arena *a, struct pause_ports_answer *ret)
{
	const struct observed *o = observe(in);
	const uint8_t *origins = origins_of(in, asked, turn);
	struct pause_seen *v = arena_array(turn, struct pause_seen, o->n_prios + 1);
	size_t n = 0;
	for (size_t i = 0; i < o->n_prios; i++) {
		const struct port_prio *l = o->prios[i];
		if (!pause_document_is_wanted(asked->priority, l->priority) ||
			!pause_document_is_asked(asked, l->port->port))
			continue;
		ret->observable |= is_observable(l);
		const bool origin = origins[port_index(o, l->port)] >> l->priority & 1;
		if (asked->all || pause_document_strongest(l) > 0)
			v[n++] = (struct pause_seen){l, origin};
	}
	ret->total = n;
	if (n)
		qsort(v, n, sizeof(*v), by_strength);
	if (asked->top && n > asked->top)
		n = asked->top;
	ret->ports = arena_array(a, struct pause_pair, n + 1);
	for (size_t i = 0; i < n; i++) {
		ret->ports[ret->n_ports] = pair_of(v[i].prio, a);
		ret->ports[ret->n_ports++].origin = v[i].origin;
	}
}

/* ---- from the database --------------------------------------------------- */

struct pause_range {
	int64_t from_ns, to_ns;
};

/* Where none of them moves, nobody is paused. */
static const uint16_t pause_moving[] = {M_PFC_RX_FRAMES, M_PFC_TX_FRAMES, M_PFC_RX_PAUSE_NS,
	M_PFC_TX_PAUSE_NS, M_PFC_RX_PAUSE_NS_HI, M_PFC_TX_PAUSE_NS_HI};

/* The window in which an incident was found is that of its evidence. */
static int take_window(const struct incident *incident, struct pause_ask *ask,
	struct pause_range *range, struct arena *a, struct err *e)
{
	if (incident->n_evidence == 0)
		return err_set(e, -ENODATA, "incident %s has no evidence, so no window is known",
			incident->id);
	range->from_ns = incident->evidence[0].from_ns;
	range->to_ns = incident->evidence[0].to_ns;
	ask->incident = arena_strdup(a, incident->id);
	if (ask->priority == PRIO_NONE)
		ask->priority = incident->priority;
	return 0;
}

static int take_incident(struct client *client, struct pause_ask *ask, struct pause_range *range,
	struct arena *a, struct err *e)
{
	json_t *found = NULL;
	int r = incident_find(client, ask->incident, &found, e);
	if (r < 0)
		return r;
	struct incident_record *record = incident_json_read(found);
	json_decref(found);
	if (!record)
		return err_set(
			e, -EIO, "incident %.40s cannot be read from the database", ask->incident);
	r = take_window(&record->i, ask, range, a, e);
	incident_record_free(record);
	return r;
}

/* Priorities of which a queue was paused, as of a window's .lanes. */
static unsigned paused_lanes(const struct observed *observed)
{
	unsigned lanes = 0;
	for (size_t i = 0; i < observed->n_prios; i++)
		if (pause_document_strongest(observed->prios[i]) > 0)
			lanes |= 1u << observed->prios[i]->priority;
	return lanes;
}

/* What pause_graph() and observe() say of a window; both are made once. */
static struct analyzer_in *pause_in(
	const struct client *client, const struct window *window, struct arena *turn)
{
	struct analyzer_in *in = arena_new_of(turn, struct analyzer_in);
	struct analyzer_shared *shared = arena_new_of(turn, struct analyzer_shared);
	shared->arena = turn;
	*in = (struct analyzer_in){.fabric = client->config->fabric,
		.window = window,
		.arena = turn,
		.shared = shared};
	return in;
}

/* A window of @metrics. Queues come of the priorities @lanes; with @opens also others where
 * something happens. */
static int graph_read(struct client *client, const struct pause_range *range,
	const uint16_t *metrics, size_t n, unsigned lanes, bool opens, struct arena *turn,
	struct analyzer_in **ret, struct err *e)
{
	uint16_t opening[METRIC_COUNT];
	struct window_spec spec = {.metrics = metrics,
		.n_metrics = n,
		.lanes = WINDOW_LANES | lanes,
		.opens = opening};
	if (opens)
		spec.n_opens = observe_prio_metrics(true, opening);
	struct window *w = arena_new_of(turn, struct window);
	const int r =
		history_window(client->history, turn, &spec, range->from_ns, range->to_ns, w, e);
	*ret = pause_in(client, w, turn);
	return r;
}

/* Metrics that show a pause. @queues: every other metric of queues, too. */
static size_t graph_signs(bool queues, uint16_t ret[METRIC_COUNT])
{
	const size_t n = observe_prio_metrics(!queues, ret);
	ret[n] = M_PORT_SPEED_BPS;
	return n + 1;
}

/* What pause_graph() reads: beside the queues, loads of ports say where pause begins. */
static size_t graph_metrics(uint16_t ret[METRIC_COUNT])
{
	static const uint16_t ports[] = {
		M_PORT_IN_OCTETS, M_PORT_OUT_OCTETS, M_PORT_SPEED_BPS, M_PORT_OPER_UP};
	const size_t n = observe_prio_metrics(false, ret);
	memcpy(ret + n, ports, sizeof(ports));
	return n + rw_countof(ports);
}

/*
 * The queues of a time range. First only what shows that somebody is paused is read, and of the
 * queues what is asked for; mostly nobody is, and then that is all. Loads of ports and the other
 * queues of a paused priority say where pause begins.
 */
static int ports_read(struct client *client, const struct pause_range *range,
	const struct pause_ask *asked, struct arena *turn, struct analyzer_in **ret, struct err *e)
{
	const unsigned lossless = client->config->fabric->lossless_mask;
	uint16_t metrics[METRIC_COUNT];
	size_t n = graph_signs(asked->all || asked->device || asked->port, metrics);
	struct arena *first = arena_new();
	int r = graph_read(client, range, metrics, n, lossless, true, first, ret, e);
	unsigned lanes = 0;
	if (r == 0 && !asked->no_origins)
		lanes = paused_lanes(observe(*ret));
	if (lanes) { /* in a storm the first is as large as what follows */
		arena_free(first);
		n = graph_metrics(metrics);
		r = graph_read(client, range, metrics, n, lossless | lanes, true, turn, ret, e);
	} else {
		arena_give(first, turn);
		(*ret)->arena = (*ret)->shared->arena = turn;
	}
	return r;
}

/* The rings of the end of the range of @graph, by what was read for that. */
static const struct pause_graph *graph_since(const struct client *client,
	const struct pause_graph *graph, int64_t from_ns, struct arena *turn)
{
	struct window *end = arena_new_of(turn, struct window);
	*end = window_since(graph->observed->window, from_ns, turn);
	return pause_graph_rings(pause_in(client, end, turn));
}

/* Is any such port configured or counted? If not, "no pause" would be a wrong answer. */
static bool is_any_port(
	const struct fabric *fabric, const struct observed *observed, const struct pause_ask *ask)
{
	for (size_t d = 0; d < fabric->n_devices; d++)
		for (size_t i = 0; i < fabric->devices[d]->n_ports; i++)
			if (pause_document_is_asked(ask, fabric->devices[d]->ports[i]))
				return true;
	for (size_t i = 0; i < observed->n_prios; i++)
		if (pause_document_is_asked(ask, observed->prios[i]->port->port))
			return true;
	return false;
}

/* The time of what is asked for. @ask is completed from its incident. */
static int pause_document_range(struct client *client, struct pause_ask *ask,
	struct pause_range *range, struct arena *turn, struct err *e)
{
	*range = (struct pause_range){client->from_ns, client->to_ns};
	if (ask->incident)
		return take_incident(client, ask, range, turn, e);
	return 0;
}

/* A ring that closed during the time range has paused somebody in it: so the end of the range is
 * searched for rings as well. */
static void lane_take(struct tree_maker *maker, const struct client *client,
	const struct pause_range *range, const struct pause_graph *graph, struct arena *turn)
{
	const int64_t tail_ns = (range->to_ns - range->from_ns) / TAIL_PART;
	maker->ret->waiting += graph->n_edges;
	for (int c = 0; c < OBSERVED_PRIORITIES; c++)
		maker->ret->unresolved += graph->unresolved[c];
	take_roots(maker, graph, turn);
	take_rings(graph, maker->a, &maker->rings, &maker->n_rings);
	if (maker->n_rings == 0 && graph->n_edges > 0)
		take_rings(graph_since(client, graph, range->to_ns - tail_ns, turn), maker->a,
			&maker->late_rings, &maker->n_late_rings);
}

/* The queues of the priorities @lanes. @moved: of one, at which pause moved. */
static int lanes_read(struct tree_maker *maker, struct client *client,
	const struct pause_range *range, unsigned lanes, bool moved, bool opens, struct arena *turn,
	struct err *e)
{
	uint16_t metrics[METRIC_COUNT];
	const size_t n = moved ? graph_metrics(metrics) : graph_signs(false, metrics);
	const struct pause_graph *graph = NULL;
	struct analyzer_in *in;
	const int r = graph_read(client, range, metrics, n, lanes, opens, turn, &in, e);
	if (r < 0)
		return r;
	take_counts(maker, observe(in));
	if (moved) {
		graph = pause_graph(in);
		lane_take(maker, client, range, graph, turn);
	}
	take_senders(maker, observe(in), graph, turn);
	return 0;
}

/* Mostly nobody is paused: then all is read at once, with the queues of other priorities that may
 * count pause. */
static int tree_read(struct tree_maker *maker, struct client *client,
	const struct pause_range *range, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *turn = arena_new();
	const unsigned lossless = client->config->fabric->lossless_mask;
	const struct window_spec spec = {.metrics = pause_moving,
		.n_metrics = rw_countof(pause_moving),
		.lanes = WINDOW_LANES | lossless};
	unsigned moved, wanted = ~0u;
	if (maker->asked->priority != PRIO_NONE)
		wanted = window_lane_bit(maker->asked->priority);
	int r = history_moved(client->history, &spec, range->from_ns, range->to_ns, &moved, e);
	if (r == 0 && moved == 0)
		return lanes_read(maker, client, range, lossless, false, true, turn, e);
	for (int priority = 0; r == 0 && priority < OBSERVED_PRIORITIES; priority++) {
		const unsigned lane = 1u << priority;
		arena_reset(turn);
		if ((lossless | moved) & lane)
			r = lanes_read(
				maker, client, range, lane, moved & wanted & lane, false, turn, e);
	}
	return r;
}

int pause_tree_make(struct client *client, const struct pause_ask *ask, struct arena *a,
	struct pause_tree_answer *ret, struct err *e)
{
	struct pause_ask asked = *ask;
	struct pause_range range;
	struct accused *accused;
	struct tree_maker maker = {
		.asked = &asked, .a = a, .ret = ret, .ingress = NAN, .egress = NAN, .storms = NAN};
	*ret = (struct pause_tree_answer){0};
	int r = pause_document_range(client, &asked, &range, a, e);
	if (r == 0)
		r = accused_read(client->history, range.from_ns, range.to_ns, asked.incident, a,
			&accused, &maker.n_accused, e);
	if (r < 0)
		return r;
	maker.accused = accused;
	maker.senders = arena_array(a, struct sender, maker.n_accused + 1);
	r = tree_read(&maker, client, &range, e);
	if (r < 0)
		return r;
	make_tree(&maker);
	ret->from.ns = range.from_ns;
	ret->to.ns = range.to_ns;
	return 0;
}

int pause_tree_document(
	struct client *client, const struct pause_ask *ask, json_t **ret, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *turn = arena_new();
	struct pause_tree_answer answer;
	const int r = pause_tree_make(client, ask, turn, &answer, e);
	if (r == 0)
		*ret = shape_json(&pause_tree_answer_shape, &answer);
	return r;
}

int pause_ports_make(struct client *client, const struct pause_ask *ask, struct arena *a,
	struct pause_ports_answer *ret, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *turn = arena_new();
	struct pause_ask asked = *ask;
	struct pause_range range;
	struct analyzer_in *in = NULL;
	int r = pause_document_range(client, &asked, &range, turn, e);
	if (r == 0)
		r = ports_read(client, &range, &asked, turn, &in, e);
	if (r == 0)
		r = known_device(client, ask->device, e);
	if (r == 0)
		r = known_port(client, ask->device, ask->port, e);
	if (r < 0)
		return r;
	const bool chosen = ask->device || ask->port;
	if (chosen && !is_any_port(client->config->fabric, observe(in), ask))
		return err_set(e, -EINVAL,
			"no port of the fabric matches device '%.64s', port '%.64s' ('rocewatch "
			"topology show' lists them)",
			str_or(ask->device, "*"), str_or(ask->port, "*"));
	*ret = (struct pause_ports_answer){.from = {range.from_ns}, .to = {range.to_ns}};
	make_ports(in, &asked, turn, a, ret);
	return 0;
}

int pause_ports_document(
	struct client *client, const struct pause_ask *ask, json_t **ret, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct pause_ports_answer answer;
	const int r = pause_ports_make(client, ask, a, &answer, e);
	if (r == 0)
		*ret = shape_json(&pause_ports_answer_shape, &answer);
	return r;
}
