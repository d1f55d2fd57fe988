/*
 * pause_storm - hosts that pause the fabric: a NIC that sends PFC to its switch cannot take more.
 *
 *     slow_receiver  pauses less than `storm` of the time
 *     pfc_storm      pauses `storm` of the time or more
 *     pfc_watchdog   the switch has begun to drop what waits for the host
 *
 * These are degrees of one symptom. Pause time measured by the switch decides. Where only PFC
 * frames are counted, their upper bound opens a warning, and a storm only if nothing leaves the
 * queue either. The spread (pause_graph) raises the severity: L1 the port alone, L2 its switch
 * pauses others, L3 three switches wait. A host without DCQCN is one that *we* pause: that is
 * dcqcn_off (congestion). A host that pauses several of its rails is one finding.
 *
 * Sources: measured in packet simulation: a receiver that pauses 80 % of the time shows 75 % at its
 * port only, with egress below line rate. Storm rule: SONiC PFC watchdog (swss,
 * pfc_detect_mellanox.lua): no packet leaves while paused.
 */

#include "analyzers/analyzer.h"
#include "analyzers/detect/nic_finding.h"
#include "analyzers/detect/pause_finding.h"
#include "analyzers/measure/pause/pause_limits.h"

/* share of the strongest rail's pause from which another rail may stand for its host, so that the
 * subject does not change with every window */
#define SAME_STRENGTH 0.5
#define LINE_RATE 0.95
#define MOVES_NOTHING 0.0001 /* utilisation below which only the port's own protocols move */
enum {
	RAILS_SHOWN = 8,
	QUIET_MIN = 3 /* ports of other hosts that must be quiet to raise the confidence */
};

static const struct option rows[] = {
	{"warn", OPT_RATIO, offsetof(struct pause_storm_options, warn), "1%", "0%", "100%", NULL,
		"share of time that a host pauses its port, from which it is reported"},
	{"critical", OPT_RATIO, offsetof(struct pause_storm_options, critical), "5%", "0%", "100%",
		NULL,
		"measured share from which the job loses time; an upper bound from frames warns "
		"from here"},
	{"storm", OPT_RATIO, offsetof(struct pause_storm_options, storm), "90%", "10%", "100%",
		NULL, "share from which a slow receiver is called a storm"},
	{"window", OPT_DURATION, offsetof(struct pause_storm_options, window_ns), "0s", "0s", "1h",
		NULL, "evaluation window; 0 = three poll intervals, at least 5 s"},
	{"hold", OPT_INT, offsetof(struct pause_storm_options, hold), "3", "1", "10000", NULL,
		"required windows, of the last hold + 2, before an incident opens"},
};

/* ---- ports ---------------------------------------------------------------- */

struct pauser { /* a host at one of its ports */
	const struct port_seen *port;
	const struct port_prio *prio; /* NULL: link-level pause (802.3x), of all classes */
	const char *host; /* "" when nothing is declared there */
	double lo, hi;
	bool measured;
	enum quality quality;
};
struct storm {
	const struct analyzer_in *in;
	const struct pause_storm_options *o;
	const struct observed *seen;
	const struct pause_graph *graph;
	struct pauser *over;
	size_t n_over, cap_over;
	/* host-facing queues; those that are paused for less than a tenth of the warning */
	size_t n_judged, n_quiet;
	/* made when there is something to report */
	const char **hosts;
	size_t n_hosts; /* of every port that faces one, sorted */
	/* [port], [root]: the roots that are hosts at a port, + 1 */
	uint32_t *root_at, *next_root;
};

static double pause_storm_level_of(const struct pauser *pauser)
{
	if (pauser->measured)
		return pauser->lo;
	return pauser->hi;
}
static int priority_of(const struct pauser *pauser)
{
	if (pauser->prio)
		return pauser->prio->priority;
	return PRIO_NONE;
}

static bool nothing_moves(const struct storm *storm, const struct pauser *pauser)
{
	if (pauser->prio)
		return queue_motion(storm->seen, pauser->port, pauser->prio->priority) ==
			MOTION_NONE;
	return pauser->port->out_known && pauser->port->out.utilization_ratio < MOVES_NOTHING;
}

static bool watchdog_acts(const struct port_prio *prio)
{
	return prio &&
		((prio->storms.known && prio->storms.value > 0) ||
			(prio->storm_drops.known && prio->storm_drops.value > 0));
}
static bool watchdog_drops(const struct port_prio *prio)
{
	return prio && prio->storm_drops.known && prio->storm_drops.value > 0;
}

static bool is_storm(const struct storm *storm, const struct pauser *pauser)
{
	return pause_storm_level_of(pauser) >= storm->o->storm &&
		(pauser->measured || nothing_moves(storm, pauser));
}

/* A port of a leaf without a declared neighbour is taken for a host's port, with less confidence.
 */
static bool faces_host(const struct port_seen *port)
{
	return port->port->host || (!port->port->peer && port->port->device->role == ROLE_LEAF);
}

/* The switch behind the port that is not configured; NULL: none. */
static const char *storm_outsider(const struct pauser *pauser)
{
	if (pauser->port->port->outsider_kind == NEIGHBOR_SWITCH)
		return pauser->port->port->outsider;
	return NULL;
}

/* Does a switch that is measured make that one wait, half as long or longer? Then it passes on. */
static bool outsider_passes_on(const struct storm *storm, const struct pauser *pauser)
{
	const char *outsider = storm_outsider(pauser);
	for (size_t i = 0; outsider && i < storm->graph->n_edges; i++) {
		const struct pause_edge *edge = &storm->graph->edges[i];
		const char *waits = edge_outsider(edge);
		if (waits && str_eq(waits, outsider) && edge->by != pauser->port &&
			edge->priority == priority_of(pauser) && 2 * edge->hi >= pauser->hi)
			return true;
	}
	return false;
}

static struct finding *pause_storm_draft(const struct storm *storm, struct finding_list *out,
	const struct pauser *pauser, enum finding_verdict verdict)
{
	struct draft t = finding_new(out, storm->in, "pause_storm", verdict, storm->o->hold);
	finding_subject(&t, pauser->port);
	t.f->priority = priority_of(pauser);
	t.f->cause = CAUSE_SLOW_RECEIVER;
	t.f->summary = "";
	t.f->coverage_ratio = observed_coverage(pauser->port);
	t.f->value = pause_storm_level_of(pauser);
	t.f->warn = storm->o->warn;
	return t.f;
}

static void pause_storm_add_over(struct storm *storm, const struct pauser *pauser)
{
	if (storm->n_over == storm->cap_over) {
		if (storm->cap_over)
			storm->cap_over = 2 * storm->cap_over;
		else
			storm->cap_over = 16;
		struct pauser *wider =
			arena_array(storm->in->arena, struct pauser, storm->cap_over);
		if (storm->n_over)
			memcpy(wider, storm->over, storm->n_over * sizeof(*wider));
		storm->over = wider;
	}
	storm->over[storm->n_over++] = *pauser;
}

static void pause_storm_judge_prio(
	struct storm *storm, const struct port_prio *prio, struct finding_list *out)
{
	struct pauser p = {.port = prio->port,
		.prio = prio,
		.host = str_or(prio->port->port->host, ""),
		.lo = prio->rx_pause.lo,
		.hi = prio->rx_pause.hi,
		.measured = prio->rx_pause.measured,
		.quality = prio->rx_pause.quality};
	if (isnan(p.hi) && watchdog_acts(prio)) {
		p.lo = 0;
		/* the watchdog only shows that the queue stood still for its detection time */
		p.hi = 1;
		p.quality = QUALITY_UNKNOWN;
	}
	if (isnan(p.hi)) {
		pause_storm_draft(storm, out, &p, FINDING_UNKNOWN);
		return;
	}
	storm->n_judged++;
	storm->n_quiet += p.hi < storm->o->warn / 10;
	const double limit = pause_limit(storm->o, p.measured);
	const bool clear = p.measured || p.hi < storm->o->warn;
	if (outsider_passes_on(storm, &p))
		pause_storm_draft(storm, out, &p, FINDING_IDLE);
	else if (watchdog_acts(prio) || pause_storm_level_of(&p) >= limit)
		pause_storm_add_over(storm, &p);
	else
		pause_storm_draft(storm, out, &p, clear ? FINDING_UNDER : FINDING_IDLE);
}

/* Link-level pause stands for all classes, and only where no PFC counter lives at the port: some
 * switches count PFC frames here too. */
static bool link_pause(const struct storm *storm, const struct port_seen *port, struct pauser *ret)
{
	if (!port->in_pause.known || !(port->in_pause.value > 0))
		return false;
	for (int c = 0; c < OBSERVED_PRIORITIES; c++)
		if (port->prios[c] &&
			(port->prios[c]->rx_pause.alive || port->prios[c]->rx_frames.alive))
			return false;
	const double hold_ns = pause_frame_max_ns(port->out.capacity_bps);
	*ret = (struct pauser){.port = port,
		.host = str_or(port->port->host, ""),
		.lo = 0,
		.hi = fmin(1, amount_rate(&port->in_pause) * hold_ns / 1e9),
		.quality = QUALITY_ESTIMATED};
	return ret->hi >= storm->o->critical;
}

static void judge_ports(struct storm *storm, struct finding_list *out)
{
	for (size_t i = 0; i < storm->seen->n_ports; i++) {
		const struct port_seen *p = &storm->seen->ports[i];
		struct pauser plain;
		if (!faces_host(p))
			continue;
		for (int c = 0; c < OBSERVED_PRIORITIES; c++)
			if (p->prios[c] &&
				(p->prios[c]->lossless || !storm->seen->fabric->lossless_mask))
				pause_storm_judge_prio(storm, p->prios[c], out);
		if (link_pause(storm, p, &plain))
			pause_storm_add_over(storm, &plain);
	}
}

/* ---- one host -------------------------------------------------------------- */

static int pause_storm_by_host(const void *left, const void *right)
{
	const struct pauser *a = left, *b = right;
	const int names = strcmp(a->host, b->host);
	if (names)
		return names;
	if (a->port != b->port) {
		/* one array: the fabric's order */
		if (a->port < b->port)
			return -1;
		return 1;
	}
	return priority_of(a) - priority_of(b);
}

static int pause_storm_by_name(const void *left, const void *right)
{
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

/* Prepared once for all findings: where every host pauses there are as many findings as hosts. */
static void pause_storm_prepare(struct storm *storm)
{
	const struct observed *o = storm->seen;
	const struct pause_graph *g = storm->graph;
	storm->hosts = arena_array(storm->in->arena, const char *, o->n_fabric_ports + 1);
	storm->root_at = arena_array(storm->in->arena, uint32_t, o->n_ports + 1);
	storm->next_root = arena_array(storm->in->arena, uint32_t, g->n_roots + 1);
	for (size_t i = 0; i < o->n_fabric_ports; i++)
		if (o->ports[i].port->host)
			storm->hosts[storm->n_hosts++] = o->ports[i].port->host;
	qsort(storm->hosts, storm->n_hosts, sizeof(*storm->hosts), pause_storm_by_name);
	for (size_t i = 0; i < g->n_roots; i++) {
		const size_t port = (size_t)(g->roots[i].port - o->ports);
		if (g->roots[i].origin != ORIGIN_HOST)
			continue;
		storm->next_root[i] = storm->root_at[port];
		storm->root_at[port] = (uint32_t)i + 1;
	}
}

static const struct pause_root *root_of(
	const struct storm *storm, const struct port_seen *port, int priority)
{
	for (uint32_t i = storm->root_at[port - storm->seen->ports]; i; i = storm->next_root[i - 1])
		if (storm->graph->roots[i - 1].priority == priority)
			return &storm->graph->roots[i - 1];
	return NULL;
}

/* How many ports face the host. */
static size_t rails_of(const struct storm *storm, const char *host)
{
	const char **at = bsearch(
		&host, storm->hosts, storm->n_hosts, sizeof(*storm->hosts), pause_storm_by_name);
	size_t n = 0;
	if (!at)
		return 0;
	while (at > storm->hosts && str_eq(at[-1], host))
		at--;
	while (at + n < storm->hosts + storm->n_hosts && str_eq(at[n], host))
		n++;
	return n;
}

struct storm_ctx {
	const struct storm *s;
	const struct pauser *v;
	size_t n; /* the host's ports that are paused */
	const struct pauser *top; /* the port that the finding is about */
	const struct pause_root *root; /* NULL: the graph has no tree under it */
	size_t rails; /* ports that face the host */
	bool storm, drops;
	double load; /* utilisation of that port; NAN unknown */
};

static struct storm_ctx storm_ctx_of(
	const struct storm *storm, const struct pauser *pausers, size_t n)
{
	struct storm_ctx ctx = {.s = storm, .v = pausers, .n = n};
	const struct pauser *max = &pausers[0];
	for (size_t i = 1; i < n; i++) {
		if (pause_storm_level_of(&pausers[i]) > pause_storm_level_of(max))
			max = &pausers[i];
	}
	for (size_t i = 0; i < n && !ctx.top; i++)
		if (pause_storm_level_of(&pausers[i]) >=
				SAME_STRENGTH * pause_storm_level_of(max) &&
			pausers[i].measured == max->measured)
			ctx.top = &pausers[i];
	for (size_t i = 0; i < n; i++) {
		ctx.storm |= is_storm(storm, &pausers[i]);
		ctx.drops |= watchdog_drops(pausers[i].prio) ||
			(watchdog_acts(pausers[i].prio) && pausers[i].quality == QUALITY_UNKNOWN);
	}
	ctx.root = NULL;
	if (ctx.top->prio)
		ctx.root = root_of(storm, ctx.top->port, ctx.top->prio->priority);
	ctx.load = NAN;
	if (ctx.top->port->out_known)
		ctx.load = ctx.top->port->out.utilization_ratio;
	ctx.rails = rails_of(storm, pausers[0].host);
	return ctx;
}

static double sum_of(const struct storm_ctx *ctx, size_t offset)
{
	double sum = 0;
	for (size_t i = 0; i < ctx->n; i++) {
		const struct amount *a = NULL;
		if (ctx->v[i].prio)
			a = (const struct amount *)((const char *)ctx->v[i].prio + offset);
		if (a && a->known)
			sum += a->value;
	}
	return sum;
}

/*
 * Critical: dropped frames, storms, a measured level from `critical`, a tree of three switches.
 * Never critical: an upper bound alone, or a neighbour that is not declared (it may be a switch).
 */
static enum severity pause_storm_severity_of(const struct storm_ctx *ctx)
{
	if (ctx->storm || ctx->drops)
		return SEV_CRITICAL;
	if (!ctx->top->measured || !ctx->top->host[0])
		return SEV_WARNING;
	if (ctx->top->lo >= ctx->s->o->critical || pause_ladder(ctx->root) >= 3)
		return SEV_CRITICAL;
	return SEV_WARNING;
}

/* How pause was measured. */
static void pause_storm_name_measure(const struct pauser *pauser, struct draft *draft)
{
	if (pauser->quality == QUALITY_UNKNOWN)
		finding_rests_on(draft, "PFC watchdog counters");
	else if (pauser->measured)
		finding_rests_on(draft, "pause time measured by the switch");
	if (pauser->quality == QUALITY_UNKNOWN)
		finding_against(draft, "pause itself is not counted there");
	else if (pauser->measured && pauser->quality != QUALITY_EXACT)
		finding_against(draft, "its agent refreshes pause counters unevenly");
	else if (!pauser->measured)
		finding_against(draft,
			"PFC frames only: each pauses for 0 to %.1f us, so the time is an upper "
			"bound",
			pause_frame_max_ns(pauser->port->out.capacity_bps) / 1000);
}

static double pause_storm_confidence_of(const struct storm_ctx *ctx, struct draft *draft)
{
	const struct storm *s = ctx->s;
	const struct pauser *p = ctx->top;
	double c = 0.6;
	if (p->measured)
		c = 0.9;
	else if (ctx->storm)
		c = 0.8;
	pause_storm_name_measure(p, draft);
	if (!p->prio) {
		finding_against(draft,
			"link-level pause (802.3x), which stops all classes; PFC is not counted on "
			"that port");
		c -= 0.1;
	}
	if (s->n_judged > QUIET_MIN && s->n_quiet >= s->n_judged - ctx->n) {
		finding_rests_on(draft, "all %zu other host-facing queues are quiet", s->n_quiet);
		c += 0.05;
	}
	if (ctx->load < LINE_RATE) {
		finding_rests_on(draft, "its port runs at %.0f %% of line rate", 100 * ctx->load);
		c += 0.02;
	} else if (ctx->load >= LINE_RATE && pause_storm_level_of(p) > 1.1 - ctx->load) {
		finding_against(draft,
			"its port runs at %.0f %% of line rate, which that much pause does not "
			"allow: one of the counters is wrong",
			100 * ctx->load);
		c -= 0.3;
	}
	if (storm_outsider(p)) {
		finding_against(draft,
			"%s is a switch: what makes it pause lies behind it, where nothing is "
			"measured",
			storm_outsider(p));
		c -= 0.25;
	} else if (!p->host[0]) {
		finding_against(draft,
			"no link is declared there: a host is assumed because the switch is a "
			"leaf");
		c -= 0.25;
	}
	if (p->quality == QUALITY_SUSPECT || draft->f->coverage_ratio < 0.7) {
		finding_against(draft, "samples are missing or suspect");
		c -= 0.15;
	}
	return fmax(0.2, fmin(0.97, c));
}

static void pause_storm_show_evidence(const struct storm_ctx *ctx, struct draft *draft)
{
	for (size_t i = 0; i < ctx->n && i < RAILS_SHOWN; i++) {
		const struct pauser *p = &ctx->v[i];
		const int c = priority_of(p);
		const char *metric = "pfc.rx_pause_ratio_hi";
		if (p->measured)
			metric = "pfc.rx_pause_ratio";
		if (p->quality != QUALITY_UNKNOWN)
			finding_evidence(draft, metric, p->port, c, pause_storm_level_of(p),
				"ratio", p->quality);
		if (!p->prio) {
			finding_amount(draft, "port.in_pause_frames", p->port, PRIO_NONE,
				&p->port->in_pause, "frames");
			continue;
		}
		finding_amount(draft, "pfc.rx_pause_ns", p->port, c, &p->prio->rx_pause_ns, "ns");
		finding_amount(draft, "pfc.rx_frames", p->port, c, &p->prio->rx_frames, "frames");
		if (p->prio->storms.alive)
			finding_amount(
				draft, "pfcwd.storms", p->port, c, &p->prio->storms, "events");
		if (p->prio->restores.alive)
			finding_amount(
				draft, "pfcwd.restores", p->port, c, &p->prio->restores, "events");
		if (p->prio->storm_drops.alive)
			finding_amount(
				draft, "pfcwd.drops", p->port, c, &p->prio->storm_drops, "frames");
		if (p->prio->drops.alive)
			finding_amount(
				draft, "queue.drops", p->port, c, &p->prio->drops, "packets");
		finding_evidence(draft, "queue.watermark_bytes", p->port, c, p->prio->queue_peak,
			"bytes", QUALITY_EXACT);
		finding_evidence(draft, "port.utilization_ratio", p->port, PRIO_NONE,
			p->port->out_known ? p->port->out.utilization_ratio : NAN, "ratio",
			p->port->out.quality);
	}
	if (!ctx->root)
		return;
	const char *device = ctx->top->port->port->device->name;
	finding_evidence_device(draft, "pause.tree_share_ratio", device, ctx->root->share, "ratio",
		ctx->root->measured ? QUALITY_EXACT : QUALITY_ESTIMATED);
	finding_evidence_device(draft, "pause.tree_switches", device,
		(double)(ctx->root->n_switches + ctx->root->n_outsiders), "switches",
		QUALITY_EXACT);
	finding_evidence_device(draft, "pause.tree_hosts", device, (double)ctx->root->n_hosts,
		"hosts", QUALITY_EXACT);
}

static void pause_storm_rule_out(const struct storm_ctx *ctx, struct draft *draft)
{
	const struct port_prio *l = ctx->top->prio;
	if (ctx->load < LINE_RATE)
		finding_ruled_out(draft,
			"incast: a queue that many senders fill drains at line rate; this one "
			"drains at %.0f %%",
			100 * ctx->load);
	if (l && l->tx_pause.alive && l->tx_pause.hi < pause_storm_level_of(ctx->top) / 10)
		finding_ruled_out(draft,
			"congestion control off on this host: the switch would pause it, and does "
			"so only %s",
			pause_share_text(
				l->tx_pause.lo, l->tx_pause.hi, l->tx_pause.measured, draft->a));
	if (ctx->top->port->fcs_errors.known && ctx->top->port->fcs_errors.value == 0 &&
		ctx->top->port->fcs_errors.alive)
		finding_ruled_out(draft, "bad cable: no damaged frame on that port");
	if (!ctx->s->graph->n_cycles)
		finding_ruled_out(
			draft, "deadlock: no ring among %zu paused ports", ctx->s->graph->n_edges);
}

static const char *pause_storm_summary_of(const struct storm_ctx *ctx, struct arena *a)
{
	const struct pauser *p = ctx->top;
	const char *who = "an undeclared neighbour";
	if (storm_outsider(p))
		who = arena_printf(a, "%s, which is not configured,", storm_outsider(p));
	if (p->host[0])
		who = p->host;
	const char *port = port_text(p->port, a);
	const char *queue = port;
	if (p->prio)
		queue = arena_printf(a, "%s p%d", port, p->prio->priority);
	const char *rails = "";
	if (ctx->n > 1 && ctx->rails > 1)
		rails = arena_printf(a, " (on %zu of %zu rails)", ctx->n, ctx->rails);
	const char *spread = pause_spread_text(ctx->root, a);
	if (p->quality == QUALITY_UNKNOWN)
		return arena_printf(a, "PFC watchdog stopped the queue to %s: %s stood still%s",
			who, queue, rails);
	const char *how = pause_share_text(p->lo, p->hi, p->measured, a);
	const char *rate = "";
	if (!isnan(ctx->load))
		rate = arena_printf(a, ", at %.0f %% of line rate", 100 * ctx->load);
	if (ctx->drops)
		return arena_printf(a,
			"%s pauses its switch: %s is paused %s%s, and the PFC watchdog drops what "
			"waits for it%s",
			who, queue, how, rails, spread);
	return arena_printf(a, "%s pauses its switch%s: %s is paused %s%s%s%s", who,
		str_if(ctx->storm, " and receives nothing"), queue, how, rate, rails, spread);
}

/* What to do at a host helps nobody where a switch is behind the port that nobody asks. */
static void pause_storm_outsider_steps(struct draft *draft, const char *outsider)
{
	static const char risk[] = "none: read only";
	finding_step(draft,
		arena_printf(draft->a,
			"on %s, look at the PFC counters of all ports: the port that receives most "
			"pause leads on to what makes it pause",
			outsider),
		risk);
	finding_step(draft,
		arena_printf(draft->a,
			"add %s to devices: in the configuration, so that its ports are measured",
			outsider),
		risk);
}

static void pause_storm_report(
	const struct storm *storm, const struct pauser *pausers, size_t n, struct finding_list *out)
{
	const struct storm_ctx ctx = storm_ctx_of(storm, pausers, n);
	pause_storm_draft(storm, out, ctx.top, FINDING_OVER);
	struct draft t = {&out->v[out->n - 1], storm->in->arena};
	if (ctx.drops)
		t.f->cause = CAUSE_PFC_WATCHDOG;
	else if (ctx.storm)
		t.f->cause = CAUSE_PFC_STORM;
	else
		t.f->cause = CAUSE_SLOW_RECEIVER;
	t.f->severity = pause_storm_severity_of(&ctx);
	t.f->summary = pause_storm_summary_of(&ctx, t.a);
	t.f->confidence_ratio = pause_storm_confidence_of(&ctx, &t);
	if (ctx.top->prio)
		t.f->confidence_ratio *= nic_check_pause(&t, storm->in, ctx.top->prio);
	nic_prove_stall(&t, storm->in, ctx.top->port);
	if (ctx.storm && nothing_moves(storm, ctx.top))
		t.f->loss_ratio = 1; /* no collective ends while one host receives nothing */
	pause_storm_show_evidence(&ctx, &t);
	if (sum_of(&ctx, offsetof(struct port_prio, storms)) > 1)
		finding_rests_on(&t,
			"the watchdog fired %.0f times in the window: counted as one fault",
			sum_of(&ctx, offsetof(struct port_prio, storms)));
	pause_storm_rule_out(&ctx, &t);
	finding_add_role(&t, "culprit", "%s",
		ctx.top->host[0] ? ctx.top->host : port_text(ctx.top->port, t.a));
	if (ctx.root) {
		pause_add_roles(&t, "direct_victim", ctx.root->direct, ctx.root->n_direct);
		pause_add_roles(&t, "indirect_victim", ctx.root->indirect, ctx.root->n_indirect);
	}
	if (storm_outsider(ctx.top))
		pause_storm_outsider_steps(&t, storm_outsider(ctx.top));
	else
		finding_steps(&t, t.f->cause, ctx.storm ? FACT_STORM : 0);
}

static int pause_storm_run(const struct analyzer_in *in, struct finding_list *out)
{
	struct storm s = {.in = in, .o = in->options, .graph = pause_graph(in)};
	s.seen = s.graph->observed;
	judge_ports(&s, out);
	if (s.n_over) {
		pause_storm_prepare(&s);
		qsort(s.over, s.n_over, sizeof(*s.over), pause_storm_by_host);
	}
	for (size_t i = 0, k; i < s.n_over; i = k) {
		for (k = i + 1;
			k < s.n_over && s.over[i].host[0] && str_eq(s.over[k].host, s.over[i].host);
			k++)
			;
		pause_storm_report(&s, &s.over[i], k - i, out);
	}
	return 0;
}

const struct analyzer analyzer_pause_storm = {
	.name = "pause_storm",
	.phase = 120,
	.doc = "hosts that pause the fabric: slow receivers, PFC storms, and what the PFC watchdog "
	       "does about them",
	.options = {"analyzers", "pause_storm", sizeof(struct pause_storm_options), rows,
		rw_countof(rows), "pause received from hosts"},
	.window_offset = offsetof(struct pause_storm_options, window_ns),
	.observes = true,
	.run = pause_storm_run,
};
