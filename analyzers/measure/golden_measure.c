/* golden_measure - sums counters over the fabric, picks the worst pause with its origin, and says
 * from the detectors' limits whether that is good. */
#include "analyzers/measure/golden_measure.h"

#include "analyzers/measure/observe.h"
#include "analyzers/measure/pause/pause_graph.h"
#include "config/class_policy.h"
#include "db/model/metric.h"

/* Measured pause below this share of time proves nothing about the order of ECN and PFC. */
#define PAUSE_SEEN 0.001
/* A counter is said to be refreshed slowly from this many sampling intervals on. */
#define SLOW_TIMES 1.5
/* Refreshes without a value after which a counter is no longer collected. */
#define STALE_REFRESHES 3
/* Refreshes that a slow counter is looked at over. */
#define BACK_REFRESHES 2

/* What a signal that is summed over counters does with them. */
enum golden_rule {
	RULE_NONE, /* no number of them is bad by itself */
	RULE_ANY, /* any is a warning */
	RULE_ANY_CRITICAL, /* any is critical */
	RULE_ERRORS, /* from the limit of damaged frames at one port */
};

struct golden_sum_of {
	enum golden signal;
	uint16_t metrics[4];
	size_t n_metrics;
	bool lossless_only; /* counts the lossless priorities alone */
	enum golden_rule rule;
	const char *meaning;
};

static const struct golden_sum_of sums[] = {
	{GOLDEN_PAUSE_FRAMES,
		{M_PFC_TX_FRAMES, M_PORT_OUT_PAUSE_FRAMES, M_PFC_RX_FRAMES, M_PORT_IN_PAUSE_FRAMES},
		4, false, RULE_NONE, "most frames"},
	{GOLDEN_ECN_MARKS, {M_QUEUE_ECN_MARKED}, 1, false, RULE_NONE, "most marks"},
	{GOLDEN_LOSSLESS_DROPS, {M_PG_DROPS, M_QUEUE_DROPS}, 2, true, RULE_ANY_CRITICAL,
		"most drops"},
	{GOLDEN_DISCARDS, {M_PORT_IN_DISCARDS, M_PORT_OUT_DISCARDS}, 2, false, RULE_ANY,
		"most discards"},
	{GOLDEN_ERRORS, {M_PORT_IN_ERRORS, M_PORT_OUT_ERRORS, M_PORT_FCS_ERRORS}, 3, false,
		RULE_ERRORS, "most errors"},
};

const uint16_t golden_metrics[] = {M_PFC_TX_FRAMES, M_PORT_OUT_PAUSE_FRAMES, M_PFC_RX_FRAMES,
	M_PORT_IN_PAUSE_FRAMES, M_QUEUE_ECN_MARKED, M_PG_DROPS, M_QUEUE_DROPS, M_PORT_IN_DISCARDS,
	M_PORT_OUT_DISCARDS, M_PORT_IN_ERRORS, M_PORT_OUT_ERRORS, M_PORT_FCS_ERRORS};
const size_t golden_n_metrics = rw_countof(golden_metrics);

const uint16_t golden_window_metrics[] = {M_PORT_IN_OCTETS, M_PORT_OUT_OCTETS, M_PORT_SPEED_BPS,
	M_PORT_OPER_UP, M_PORT_IN_ERRORS, M_PORT_OUT_ERRORS, M_PORT_FCS_ERRORS, M_PORT_IN_DISCARDS,
	M_PORT_OUT_DISCARDS, M_PORT_IN_PAUSE_FRAMES, M_PORT_OUT_PAUSE_FRAMES, M_PFC_RX_FRAMES,
	M_PFC_TX_FRAMES, M_PFC_RX_PAUSE_NS, M_PFC_TX_PAUSE_NS, M_PFC_RX_PAUSE_NS_HI,
	M_PFC_TX_PAUSE_NS_HI, M_PG_DROPS, M_PG_SHARED_WATERMARK, M_PG_HEADROOM_WATERMARK,
	M_QUEUE_OUT_OCTETS, M_QUEUE_OUT_PACKETS, M_QUEUE_DROPS, M_QUEUE_ECN_MARKED,
	M_QUEUE_WATERMARK, M_CFG_PFC_ENABLED};
const size_t golden_n_window_metrics = rw_countof(golden_window_metrics);

const char *golden_role_name(enum golden_role role)
{
	static const char *const names[] = {[GOLDEN_ROLE_UNKNOWN] = "unknown",
		[GOLDEN_ROLE_ORIGIN] = "origin",
		[GOLDEN_ROLE_PASSES] = "passes",
		[GOLDEN_ROLE_VICTIM] = "victim"};
	return names[role];
}

/* Where the pause of a tree begins. */
struct golden_begin {
	const struct pause_root *root; /* the strongest one of the tree; NULL: none */
	const struct pause_cycle *ring; /* NULL: none */
};

struct golden_world {
	const struct golden_in *given;
	const struct analyzer_in *in;
	const struct observed *o;
	const struct pause_graph *graph;
	struct golden_begin *begins; /* [priority][tree], a tree is known by one of its switches */
	uint8_t *pausing; /* [device]: a bit for each priority in which it makes others wait */
	struct arena *a;
	struct golden_measured *ret;
};

static struct golden_value golden_blank(void)
{
	return (struct golden_value){.value = NAN,
		.value_low = NAN,
		.limit = NAN,
		.quality = QUALITY_UNKNOWN,
		.state = GOLDEN_UNKNOWN,
		.priority = PRIO_NONE,
		.refresh_s = NAN};
}

static void golden_is_exact(struct golden_value *value, double number)
{
	value->value = value->value_low = number;
	value->quality = QUALITY_EXACT;
}

/* "leaf-01 Ethernet47 p3" */
static const char *golden_port_text(
	struct arena *a, const char *device, const char *port, int priority)
{
	if (priority == PRIO_NONE)
		return arena_printf(a, "%s %s", device, port);
	return arena_printf(a, "%s %s p%d", device, port, priority);
}

/* ---- counters ------------------------------------------------------------ */

/* The time between its newest two values, ns; 0 when there is only one. */
static int64_t golden_gap(const struct series *series)
{
	if (series->n < 2)
		return 0;
	return series->t_ns[series->n - 1] - series->t_ns[series->n - 2];
}

/* Over its last samples, where the window itself holds none of it. */
static int golden_rate_back(const struct golden_world *world, const struct series *series,
	double *ret, struct increase *ret_increase)
{
	const struct window *back = world->given->back;
	int64_t patience_ns = STALE_REFRESHES * golden_gap(series);
	if (series->n < 2)
		return -1;
	if (patience_ns < STALE_REFRESHES * world->in->interval_ns)
		patience_ns = STALE_REFRESHES * world->in->interval_ns;
	if (back->to_ns - series->t_ns[series->n - 1] > patience_ns)
		return -1;
	uint32_t first = 0;
	if (series->n > BACK_REFRESHES)
		first = series->n - 1 - BACK_REFRESHES;
	return series_rate(series, series->t_ns[first], back->to_ns, 0, ret, ret_increase);
}

/*
 * A counter that is read every second and moves every ten: its device refreshes it every ten. In a
 * window of five seconds it would stand still half of the time, and run at double speed the other
 * half. So it is taken over its last two moves. -1 where it does not look like that.
 */
static int golden_rate_moves(const struct golden_world *world, const struct series *series,
	double *ret, struct increase *ret_increase)
{
	uint32_t moved[BACK_REFRESHES + 1];
	unsigned n = 0;
	for (uint32_t i = series->n; i > 1 && n <= BACK_REFRESHES; i--)
		if (series->value[i - 1] != series->value[i - 2])
			moved[n++] = i - 1;
	if (n < 2)
		return -1;
	const int64_t last_ns = series->t_ns[moved[0]];
	const int64_t gap_ns = last_ns - series->t_ns[moved[1]];
	if ((double)gap_ns <= SLOW_TIMES * (double)world->in->interval_ns ||
		world->given->back->to_ns - last_ns > STALE_REFRESHES * gap_ns)
		return -1;
	const int rc =
		series_rate(series, series->t_ns[moved[n - 1]], last_ns, 0, ret, ret_increase);
	ret_increase->intervals = n - 1;
	return rc;
}

static int golden_rate(const struct golden_world *world, const struct series *here, double *ret,
	struct increase *ret_increase)
{
	const struct window *window = world->in->window;
	const struct series *longer = NULL;
	if (world->given->back)
		longer = window_series(world->given->back, here->entity, here->metric);
	if (longer && golden_rate_moves(world, longer, ret, ret_increase) == 0)
		return 0;
	const int rc = series_rate(here, window->from_ns, window->to_ns, 0, ret, ret_increase);
	if (rc < 0 && longer)
		return golden_rate_back(world, longer, ret, ret_increase);
	return rc;
}

struct golden_tally {
	double sum, worst;
	const struct entity *where; /* of the worst; NULL when all are zero */
	enum quality quality; /* of the worst */
	size_t n; /* series with a rate */
	int64_t gap_ns; /* longest time between two values */
};

static void golden_tally_series(
	const struct golden_world *world, const struct series *series, struct golden_tally *tally)
{
	struct increase increase;
	double rate;
	if (golden_rate(world, series, &rate, &increase) < 0)
		return;
	int64_t gap_ns = 0;
	if (increase.intervals)
		gap_ns = increase.span_ns / increase.intervals;
	if (gap_ns > tally->gap_ns)
		tally->gap_ns = gap_ns;
	tally->n++;
	tally->sum += rate;
	if (rate <= tally->worst)
		return;
	tally->worst = rate;
	tally->quality = increase.quality;
	tally->where = entity_get(world->in->window->entities, series->entity);
}

static bool golden_is_lossless(const struct fabric *fabric, int priority)
{
	return priority >= 0 && (fabric->lossless_mask >> priority & 1);
}

static struct golden_tally golden_tally_of(
	const struct golden_world *world, const struct golden_sum_of *sum)
{
	const struct window *window = world->in->window;
	struct golden_tally tally = {.quality = QUALITY_EXACT};
	for (size_t m = 0; m < sum->n_metrics; m++) {
		size_t n;
		const struct series *of = window_of_metric(window, sum->metrics[m], &n);
		for (size_t i = 0; i < n; i++) {
			const struct series *series = &of[i];
			const struct entity *entity = entity_get(window->entities, series->entity);
			if (!entity ||
				(sum->lossless_only &&
					!golden_is_lossless(world->in->fabric, entity->priority)))
				continue;
			golden_tally_series(world, series, &tally);
		}
	}
	return tally;
}

static enum golden_state golden_rule_state(
	const struct golden_world *world, enum golden_rule rule, const struct golden_tally *tally)
{
	if (!(tally->sum > 0))
		return GOLDEN_OK;
	switch (rule) {
	case RULE_ANY: return GOLDEN_WARNING;
	case RULE_ANY_CRITICAL: return GOLDEN_CRITICAL;
	case RULE_ERRORS:
		if (tally->worst >= world->given->links->errors_per_s)
			return GOLDEN_WARNING;
		break;
	case RULE_NONE: break;
	}
	return GOLDEN_OK;
}

static double golden_rule_limit(const struct golden_world *world, enum golden_rule rule)
{
	switch (rule) {
	case RULE_ANY:
	case RULE_ANY_CRITICAL: return 0;
	case RULE_ERRORS: return world->given->links->errors_per_s;
	case RULE_NONE: break;
	}
	return NAN;
}

static void golden_sum(const struct golden_world *world, const struct golden_sum_of *sum)
{
	struct golden_value *value = &world->ret->v[sum->signal];
	value->limit = golden_rule_limit(world, sum->rule);
	const struct golden_tally tally = golden_tally_of(world, sum);
	if (!tally.n) {
		value->why = "not collected: no device delivers this counter";
		return;
	}
	golden_is_exact(value, tally.sum);
	value->quality = tally.quality;
	value->state = golden_rule_state(world, sum->rule, &tally);
	if ((double)tally.gap_ns > SLOW_TIMES * (double)world->in->interval_ns) {
		value->refresh_s = (double)tally.gap_ns / NS_PER_S;
		value->why = arena_printf(world->a, "counted every %.0f s", value->refresh_s);
	}
	if (!tally.where)
		return;
	value->device = tally.where->device;
	value->port = tally.where->port;
	value->priority = tally.where->priority;
	value->where = arena_printf(world->a, "%s (%s)",
		golden_port_text(world->a, value->device, value->port, value->priority),
		sum->meaning);
}

bool golden_wants_back(const struct window *window)
{
	if (window->to_ns - window->from_ns < GOLDEN_BACK_NS / 2)
		return true;
	for (size_t m = 0; m < golden_n_metrics; m++) {
		size_t n;
		const struct series *series = window_of_metric(window, golden_metrics[m], &n);
		for (size_t i = 0; i < n; i++)
			if (series[i].n && series[i].t_ns[series[i].n - 1] <= window->from_ns)
				return true;
	}
	return false;
}

/* ---- pause --------------------------------------------------------------- */

static bool golden_edge_counts(const struct golden_world *world, const struct pause_edge *edge)
{
	const struct fabric *fabric = world->in->fabric;
	return !fabric->lossless_mask || golden_is_lossless(fabric, edge->priority);
}

/*
 * As the detectors judge: a host that pauses its switch loses the job time (pause_storm). Pause by
 * switches is a brake, worth a warning (pause_spread, congestion), and the normal brake of a fabric
 * without congestion control.
 */
static double golden_edge_limit(const struct golden_world *world, const struct pause_edge *edge)
{
	double times = 1;
	if (edge->by)
		times = pause_times(world->in->fabric->congestion);
	return fmin(0.95, times * pause_limit(world->given->pause, edge->measured));
}

static enum golden_state golden_edge_state(
	const struct golden_world *world, const struct pause_edge *edge)
{
	if (!edge->by && edge->measured && edge->lo >= world->given->pause->critical)
		return GOLDEN_CRITICAL;
	if (edge_level(edge) >= golden_edge_limit(world, edge))
		return GOLDEN_WARNING;
	return GOLDEN_OK;
}

/* Worse: by state, then measured before bounds, then by time. */
static bool golden_edge_worse(const struct golden_world *world, const struct pause_edge *edge,
	const struct pause_edge *than)
{
	if (!than)
		return true;
	const enum golden_state left = golden_edge_state(world, edge),
				right = golden_edge_state(world, than);
	if (left != right)
		return left > right;
	if (edge->measured != than->measured)
		return edge->measured;
	return edge_level(edge) > edge_level(than);
}

static struct golden_begin *golden_begin_at(
	const struct golden_world *world, int priority, uint32_t tree)
{
	return &world->begins[(size_t)priority * world->o->n_devices + tree];
}

static struct golden_begin *golden_begin_of(
	const struct golden_world *world, const struct pause_edge *edge)
{
	return golden_begin_at(world, edge->priority, edge->tree);
}

/* Once for all edges: in a storm there are as many roots as edges. Roots are sorted, strongest
 * first. */
static void golden_find_begins(struct golden_world *world)
{
	const struct pause_graph *graph = world->graph;
	world->begins = arena_array(
		world->a, struct golden_begin, OBSERVED_PRIORITIES * world->o->n_devices + 1);
	for (size_t i = graph->n_roots; i-- > 0;) {
		const struct pause_root *root = &graph->roots[i];
		golden_begin_at(world, root->priority, root->tree)->root = root;
	}
	for (size_t i = graph->n_cycles; i-- > 0;)
		golden_begin_of(world, graph->cycles[i].edges[0])->ring = &graph->cycles[i];
	world->pausing = arena_array(world->a, uint8_t, world->o->n_devices + 1);
	for (size_t i = 0; i < graph->n_edges; i++)
		if (graph->edges[i].by)
			world->pausing[graph->edges[i].by->port->device->index] |=
				(uint8_t)(1u << graph->edges[i].priority);
}

static void golden_subject(
	struct golden_value *value, const struct port_seen *port, int priority, const char *host)
{
	value->device = port->port->device->name;
	value->port = port->port->name;
	value->priority = priority;
	value->host = host;
}

/* The switch port at which an edge is counted. */
static const struct port_seen *golden_edge_port(const struct pause_edge *edge)
{
	if (edge->at)
		return edge->at;
	return edge->by;
}

static void golden_name_root(
	const struct golden_world *world, const struct pause_root *root, struct golden_value *value)
{
	golden_subject(value, root->port, root->priority, root->host);
	const char *port = golden_port_text(world->a, value->device, value->port, value->priority);
	const char *sure = "origin";
	if (!root->clear)
		sure = "strongest of several origins";
	if (root->origin == ORIGIN_HOST)
		value->where = arena_printf(world->a, "%s pauses %s (%s)",
			str_or(root->host, "an undeclared neighbour"), port, sure);
	else
		value->where = arena_printf(world->a, "queue %s is full (%s)", port, sure);
}

/* Where the pause of the worst edge begins: a ring, a root, or it is not known. */
static void golden_name_origin(const struct golden_world *world, const struct pause_edge *worst,
	struct golden_value *value)
{
	const struct pause_cycle *ring = golden_begin_of(world, worst)->ring;
	const struct pause_root *root = golden_begin_of(world, worst)->root;
	if (ring) {
		golden_subject(value, ring->edges[0]->at, ring->priority, NULL);
		value->where = arena_printf(world->a, "ring of %zu ports, %s among them", ring->n,
			golden_port_text(world->a, value->device, value->port, value->priority));
	} else if (root) {
		golden_name_root(world, root, value);
	} else {
		value->priority = worst->priority;
		value->where = "origin unknown";
	}
}

/* No edge: nothing is paused, or nobody counts pause. */
static void golden_pause_none(const struct golden_world *world, struct golden_value *value)
{
	bool known = false, measured = false;
	for (size_t i = 0; i < world->o->n_prios; i++) {
		const struct port_prio *prio = world->o->prios[i];
		known |= !isnan(prio->rx_pause.hi) || !isnan(prio->tx_pause.hi);
		measured |= prio->rx_pause.measured || prio->tx_pause.measured;
	}
	if (!known) {
		value->why = "not collected: no device counts PFC";
		return;
	}
	golden_is_exact(value, 0);
	value->bound = !measured;
	value->state = GOLDEN_OK;
}

static const struct pause_edge *golden_worst_edge(const struct golden_world *world)
{
	const struct pause_edge *worst = NULL;
	for (size_t i = 0; i < world->graph->n_edges; i++) {
		const struct pause_edge *edge = &world->graph->edges[i];
		if (golden_edge_counts(world, edge) && golden_edge_worse(world, edge, worst))
			worst = edge;
	}
	return worst;
}

static void golden_pause(const struct golden_world *world)
{
	struct golden_value *value = &world->ret->v[GOLDEN_PAUSE_TIME];
	const struct pause_edge *worst = golden_worst_edge(world);
	if (!worst) {
		golden_pause_none(world, value);
		return;
	}
	value->value = worst->hi;
	value->value_low = worst->lo;
	value->bound = !worst->measured;
	value->quality = worst->quality;
	value->limit = golden_edge_limit(world, worst);
	value->state = golden_edge_state(world, worst);
	if (value->state == GOLDEN_WARNING && value->bound)
		value->why = "duration unknown: only PFC frames are counted, each pauses for 0 to "
			     "65,535 quanta";
	golden_name_origin(world, worst, value);
}

/* ---- the most paused ports ----------------------------------------------- */

static const char *golden_far_name(const struct pause_edge *edge)
{
	if (edge->host)
		return edge->host;
	const struct port_seen *far = edge->by;
	if (!edge->at || !far)
		return NULL;
	return far->port->device->name;
}

/* A switch that waits and makes others wait passes the pause on. */
static enum golden_role golden_waiting_role(
	const struct golden_world *world, const struct pause_edge *edge)
{
	const struct fabric_device *device = golden_edge_port(edge)->port->device;
	if (world->pausing[device->index] >> edge->priority & 1)
		return GOLDEN_ROLE_PASSES;
	return GOLDEN_ROLE_VICTIM;
}

/* An edge is the origin's own when its root is what pauses there, or when it is part of a ring. */
static enum golden_role golden_edge_role(
	const struct golden_world *world, const struct pause_edge *edge)
{
	const struct pause_root *root = golden_begin_of(world, edge)->root;
	const struct pause_cycle *ring = golden_begin_of(world, edge)->ring;
	for (size_t i = 0; ring && i < ring->n; i++)
		if (ring->edges[i] == edge)
			return GOLDEN_ROLE_ORIGIN;
	if (ring)
		return golden_waiting_role(world, edge);
	if (!root || !root->clear)
		return GOLDEN_ROLE_UNKNOWN;
	if (root->origin == ORIGIN_HOST && edge->at == root->port)
		return GOLDEN_ROLE_ORIGIN;
	for (size_t i = 0; root->origin == ORIGIN_QUEUE && i < root->n_direct; i++)
		if (root->direct[i] == edge)
			return GOLDEN_ROLE_ORIGIN;
	return golden_waiting_role(world, edge);
}

struct golden_rank {
	const struct pause_edge *edge;
	enum golden_role role;
	double level;
};

static int golden_rank_order(const void *left, const void *right)
{
	const struct golden_rank *x = left, *y = right;
	const int origin = (y->role == GOLDEN_ROLE_ORIGIN) - (x->role == GOLDEN_ROLE_ORIGIN);
	if (origin)
		return origin;
	if (x->level != y->level)
		return (y->level > x->level) - (y->level < x->level);
	return (x->edge > y->edge) - (x->edge < y->edge); /* one array: the fabric's order */
}

static struct golden_paused golden_paused_of(
	const struct golden_world *world, const struct golden_rank *rank)
{
	const struct pause_edge *edge = rank->edge;
	const struct port_seen *port = golden_edge_port(edge);
	const char *far = golden_far_name(edge);
	struct golden_paused paused = {.device = port->port->device->name,
		.port = port->port->name,
		.priority = edge->priority,
		.peer = far,
		.host = edge->host,
		.sent = !edge->at,
		.ratio = edge->hi,
		.ratio_low = edge->lo,
		.bound = !edge->measured,
		.role = rank->role};
	if (paused.sent)
		paused.sentence =
			arena_printf(world->a, "we paused %s", str_or(far, "the neighbour"));
	else
		paused.sentence =
			arena_printf(world->a, "%s paused us", str_or(far, "the neighbour"));
	return paused;
}

static void golden_top_paused(const struct golden_world *world)
{
	const struct pause_graph *graph = world->graph;
	struct golden_rank *ranks = arena_array(world->a, struct golden_rank, graph->n_edges + 1);
	size_t n = 0;
	for (size_t i = 0; i < graph->n_edges; i++) {
		const struct pause_edge *edge = &graph->edges[i];
		if (!golden_edge_counts(world, edge) || !golden_edge_port(edge))
			continue;
		ranks[n++] =
			(struct golden_rank){edge, golden_edge_role(world, edge), edge_level(edge)};
	}
	qsort(ranks, n, sizeof(*ranks), golden_rank_order);
	world->ret->n_paused_all = n;
	for (size_t i = 0; i < n && i < GOLDEN_PAUSED_MAX; i++)
		world->ret->paused[world->ret->n_paused++] = golden_paused_of(world, &ranks[i]);
}

/* ---- the order of ECN and PFC --------------------------------------------- */

/* A NIC that hangs or is slow pauses its switch: nothing leaves that queue, so nothing is marked in
 * it. That says nothing of thresholds. */
static bool golden_pause_by_host(const struct golden_world *world)
{
	const struct pause_edge *worst = golden_worst_edge(world);
	const struct pause_root *root = NULL;
	if (worst)
		root = golden_begin_of(world, worst)->root;
	return root && root->origin == ORIGIN_HOST;
}

/*
 * Marks come before pause where thresholds are in order: DCQCN is the brake, PFC the emergency
 * brake. Pause without any mark means that ECN is off, or begins after PFC.
 */
static void golden_ecn_order(const struct golden_world *world)
{
	const struct golden_value *pause = &world->ret->v[GOLDEN_PAUSE_TIME];
	struct golden_value *marks = &world->ret->v[GOLDEN_ECN_MARKS];
	double seen = PAUSE_SEEN;
	if (pause->bound)
		seen = pause_limit(world->given->pause, false);
	if (!class_any_marks(world->in->fabric) || !(marks->value == 0) ||
		!(pause->value >= seen) || golden_pause_by_host(world))
		return;
	marks->state = GOLDEN_WARNING;
	marks->why = ECN_ORDER_WRONG;
}

/* ---- packets, ECMP, links -------------------------------------------------- */

static void golden_nak(const struct golden_world *world)
{
	const struct window *window = world->in->window;
	struct golden_value *value = &world->ret->v[GOLDEN_NAK];
	double naks = 0, worst = 0;
	uint32_t sampling = 0;
	const struct entity *where = NULL;
	for (size_t i = 0; i < window->n_flows; i++) {
		const struct flow_sample *flow = &window->flows[i];
		if (!flow->total)
			continue;
		const double here = (double)flow->nak * flow->sampling;
		if (flow->sampling > sampling)
			sampling = flow->sampling;
		naks += here;
		if (here > worst)
			where = entity_get(window->entities, flow->entity);
		worst = fmax(worst, here);
	}
	if (!sampling) {
		value->why = "no packets were captured";
		return;
	}
	golden_is_exact(value, naks * NS_PER_S / (double)(window->to_ns - window->from_ns));
	value->limit = 0;
	value->state = naks > 0 ? GOLDEN_WARNING : GOLDEN_OK;
	if (sampling > 1) {
		value->quality = QUALITY_ESTIMATED;
		value->why = arena_printf(world->a, "from one packet in %u", sampling);
	}
	if (!where)
		return;
	value->device = where->device;
	value->port = where->port;
	value->where = golden_port_text(world->a, where->device, where->port, PRIO_NONE);
}

static const char *golden_chance_text(struct arena *a, const struct ecmp_measure *group)
{
	if (isfinite(group->expected_p95_ratio))
		return arena_printf(a, "chance p95 %.0f %%", group->expected_p95_ratio * 100);
	return arena_printf(a, "chance unknown: %s", str_or(group->flows_note, "no packets"));
}

static void golden_name_group(const struct golden_world *world, const struct ecmp_measure *group,
	struct golden_value *value)
{
	const struct ecmp_member *hot = &group->members[group->hot];
	const char *peer = "";
	if (*hot->peer)
		peer = arena_printf(world->a, " to %s", hot->peer);
	value->device = group->device;
	value->port = hot->port;
	value->where = arena_printf(world->a, "%s %s, most on %s%s: %s (%s)", group->device,
		group->group, hot->port, peer, ecmp_verdict_name(group->verdict),
		golden_chance_text(world->a, group));
	value->quality = hot->quality;
}

static void golden_ecmp(const struct golden_world *world)
{
	struct golden_value *value = &world->ret->v[GOLDEN_ECMP_IMBALANCE];
	const struct ecmp_measure *worst = NULL;
	size_t busy = 0, unknown = 0;
	for (size_t i = 0; i < world->given->n_groups; i++) {
		const struct ecmp_measure *group = &world->given->groups[i];
		unknown += group->verdict == ECMP_UNKNOWN;
		if (group->verdict == ECMP_IDLE || group->verdict == ECMP_UNKNOWN ||
			isnan(group->imbalance_ratio))
			continue;
		busy++;
		if (!worst || group->imbalance_ratio > worst->imbalance_ratio)
			worst = group;
	}
	if (!worst) {
		value->state = unknown ? GOLDEN_UNKNOWN : GOLDEN_IDLE;
		value->why = arena_printf(world->a, "%zu of %zu groups busy%s", busy,
			world->given->n_groups, str_if(unknown, ", data missing"));
		return;
	}
	golden_is_exact(value, worst->imbalance_ratio);
	value->limit = world->given->ecmp->warn;
	value->state = worst->verdict > ECMP_WITHIN_CHANCE ? GOLDEN_WARNING : GOLDEN_OK;
	if (worst->hot < worst->n_members)
		golden_name_group(world, worst, value);
}

/* A link to a host that is down is judged by link_health: the host may be off. */
static void golden_links(const struct golden_world *world)
{
	struct golden_value *value = &world->ret->v[GOLDEN_LINKS_BELOW_CLASS];
	struct links *links = links_seen(world->in);
	size_t known = 0, slow = 0, down = 0;
	const struct link *first = NULL;
	for (size_t i = 0; i < links->n; i++) {
		const struct link *link = &links->v[i];
		struct link_class class;
		const bool is_down = link->kind == LINK_SWITCH && link_is_down(link);
		bool below = is_down;
		if (link_class(links, link, &class)) {
			known++;
			below = class.own_bps < class.should_bps;
		}
		known += is_down;
		down += is_down;
		slow += below && !is_down;
		if (below && !first)
			first = link;
	}
	if (!known) {
		value->why = "not collected: no device reports port speeds";
		return;
	}
	golden_is_exact(value, (double)(slow + down));
	value->limit = 0;
	value->state = slow + down ? GOLDEN_WARNING : GOLDEN_OK;
	if (!first)
		return;
	value->why = arena_printf(world->a, "%zu slow, %zu down", slow, down);
	golden_subject(value, first->near, PRIO_NONE, first->near->port->host);
	value->where = golden_port_text(world->a, value->device, value->port, PRIO_NONE);
}

void golden_measure(const struct golden_in *in, struct golden_measured *ret)
{
	struct golden_world world = {.given = in, .in = in->in, .a = in->in->arena, .ret = ret};
	*ret = (struct golden_measured){0};
	for (size_t i = 0; i < GOLDEN_COUNT; i++)
		ret->v[i] = golden_blank();
	world.graph = pause_graph(in->in);
	world.o = world.graph->observed;
	golden_find_begins(&world);
	for (size_t i = 0; i < rw_countof(sums); i++)
		golden_sum(&world, &sums[i]);
	golden_pause(&world);
	golden_top_paused(&world);
	golden_ecn_order(&world);
	golden_nak(&world);
	golden_ecmp(&world);
	golden_links(&world);
}
