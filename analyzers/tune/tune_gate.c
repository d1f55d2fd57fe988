/* tune_gate - asks one gate after the other; the first that blocks decides, else the first that
 * asks to watch. */
#include "analyzers/tune/tune_gate.h"

#include "analyzers/tune/tune_rules.h"
#include "analyzers/tune/tune_world.h"
#include "config/class_policy.h"
#include "db/model/entity.h"

/* ---- tune_touch ------------------------------------------------------------ */

/* tune_touch - which pause trees a fault belongs to. */

static bool device_in_tree(const struct tune_case *tune_case, const struct fabric_device *device,
	const struct tune_site *site)
{
	for (size_t i = 0; i < tune_case->n_sites; i++)
		if (tune_case->sites[i].priority == site->priority &&
			tune_case->sites[i].tree == site->tree &&
			tune_case->sites[i].device->device == device)
			return true;
	return false;
}

/* A link of the fabric that is down or slow takes capacity out of an ECMP group. */
static bool takes_capacity(const struct tune_fault *fault, const struct fabric_port *port)
{
	const bool cause = fault->cause == CAUSE_PATH_ASYMMETRY ||
		fault->cause == CAUSE_REMOTE_CAPACITY || fault->cause == CAUSE_LINK_SLOW;
	return cause && (!port || port->peer);
}

static bool is_neighbour(const struct fabric_device *left, const struct fabric_device *right)
{
	for (size_t i = 0; i < left->n_ports; i++)
		if (left->ports[i]->peer && left->ports[i]->peer->device == right)
			return true;
	return false;
}

/* The same switch, one it has a link to, or one further: the leaves of a pod, over its spines. */
static bool is_around(const struct fabric_device *left, const struct fabric_device *right)
{
	if (left == right || is_neighbour(left, right))
		return true;
	for (size_t i = 0; i < left->n_ports; i++)
		if (left->ports[i]->peer && is_neighbour(left->ports[i]->peer->device, right))
			return true;
	return false;
}

bool tune_fault_touches(const struct tune_case *tune_case, const struct tune_fault *fault,
	const struct tune_site *site)
{
	const struct fabric *f = tune_case->in->fabric;
	/* a sender that does not slow down presses on its receivers' queues, wherever these are */
	if (fault->row == 7 && (fault->priority == PRIO_NONE || fault->priority == site->priority))
		return true;
	if (fault->priority != PRIO_NONE && fault->priority != site->priority &&
		f->lossless_mask >> fault->priority & 1)
		return false;
	bool found = false;
	for (size_t i = 0; i < f->n_devices; i++) {
		const struct fabric_device *d = f->devices[i];
		bool here = str_eq(d->name, fault->device);
		for (size_t k = 0; !fault->device && fault->host && !here && k < d->n_ports; k++)
			here = str_eq(d->ports[k]->host, fault->host);
		/* an error at one end of a link is one at its other end */
		const struct fabric_port *port = NULL;
		if (here && fault->device && fault->port)
			port = fabric_port(d, fault->port);
		found = found || here;
		/* What it no longer carries fills queues at switches whose pause tree need not hold
		 * it: all members have to be up before any threshold of the pod is judged. */
		if (here && takes_capacity(fault, port) && is_around(d, site->device->device))
			return true;
		if (here &&
			(device_in_tree(tune_case, d, site) ||
				(port && port->peer &&
					device_in_tree(tune_case, port->peer->device, site))))
			return true;
	}
	return fault->everywhere || !found;
}

/* ---- tune_gate ------------------------------------------------------------- */

enum { SENDER_ROW = 7, PATHS_ROW = 9 }; /* a host does not slow down; uneven or missing paths */

struct gate_in {
	const struct tune_plan *plan;
	const struct tune_in *in;
	const struct tune_site *site;
	struct arena *a;
	struct tune_verdict *ret;
};

static void gate_collect(struct gate_in *gate, const char *what)
{
	for (size_t i = 0; i < gate->ret->n_collect; i++)
		if (str_eq(gate->ret->collect[i], what))
			return;
	if (gate->ret->n_collect < GATE_WORDS)
		gate->ret->collect[gate->ret->n_collect++] = what;
}

static void gate_need(struct gate_in *gate, enum tune_need need)
{
	gate_collect(gate, tune_need_text(gate->a, need, gate->plan->platform));
}

/* ---- blocked ------------------------------------------------------------- */

static const char *gate_policy(struct gate_in *gate)
{
	const enum congestion_policy policy =
		class_congestion(gate->in->fabric, gate->site->priority);
	if (class_policy_of(policy)->dcqcn)
		return NULL;
	/* XON and headroom are of pause itself, whatever marks do */
	const bool pauses = gate->plan->rule->family == FAMILY_XON ||
		gate->plan->rule->family == FAMILY_HEADROOM;
	if (policy == CC_PFC_ONLY && pauses)
		return NULL;
	return arena_printf(gate->a,
		"policy: congestion is %s, and thresholds are advised for dcqcn only (headroom and "
		"XON: for pfc_only, too)",
		congestion_policy_name(policy));
}

/* The class by what switches and packets say, where that is not what was declared. */
static const char *gate_world(struct gate_in *gate)
{
	struct class_world world;
	tune_world_of(gate->in, gate->site->priority, &world);
	if (world.control.source != WORLD_SEEN || world.control.value == CC_DCQCN + 1)
		return NULL;
	return arena_printf(gate->a,
		"packets show %s on this fabric, and nobody declared what slows senders down: "
		"policy.congestion, or policy.classes",
		class_policy_of((enum congestion_policy)(world.control.value - 1))->label);
}

/* Relative ECN, or credits: see tune_dose.c. */
static const char *gate_ignored(struct gate_in *gate)
{
	return gate->plan->ignored;
}

static const char *gate_voq(struct gate_in *gate)
{
	const struct tune_platform *platform = gate->plan->platform;
	const bool voq_by_profile = platform->profile && platform->profile->voq,
		   voq_by_asic = platform->asic && platform->asic->voq;
	if (voq_by_profile || voq_by_asic)
		return "virtual output queues: the dynamic-threshold formula does not hold for "
		       "this chip";
	return NULL;
}

/* Settings that differ within a tier, other than whether PFC acts at all. */
static bool is_mixed_threshold(const struct tune_fault *fault)
{
	return fault->cause == CAUSE_CONFIG_MIXED && fault->proof.metric &&
		!str_eq(fault->proof.metric, "cfg.pfc_enabled");
}

/*
 * Kmin above the depth at which PFC fires: on no path can marks come first, and an even hash would
 * not change that. A member that is missing or slow does matter.
 */
static bool is_late_on_every_path(const struct gate_in *gate, const struct tune_fault *fault)
{
	const bool uneven =
		fault->cause == CAUSE_ECMP_IMBALANCE || fault->cause == CAUSE_ECMP_LOW_ENTROPY;
	return uneven && gate->plan->rule->cause == CAUSE_ECN_LATE &&
		gate->site->signs.yes & T_PFC_FIRST && gate->site->signs.yes & T_NO_MARKS;
}

/*
 * Headroom holds what is in flight after XOFF, however long the pause lasts and whoever caused it:
 * a sender that does not slow down, luck of the hash or a neighbour with another Kmin is no reason
 * to go on losing frames. What makes its size or its diagnosis wrong blocks it: a damaged link, a
 * wrong MTU, a wrong cable, PFC that is off.
 */
static bool fault_matters(const struct gate_in *gate, const struct tune_fault *fault)
{
	if (gate->plan->rule->family != FAMILY_HEADROOM)
		return !is_late_on_every_path(gate, fault);
	return fault->row != SENDER_ROW && fault->row != PATHS_ROW && !is_mixed_threshold(fault);
}

static const char *gate_incident(struct gate_in *gate)
{
	const struct tune_case *c = gate->plan->c;
	for (size_t i = 0; i < c->n_faults; i++) {
		const struct tune_fault *fault = &c->faults[i];
		if (!fault_matters(gate, fault) || !tune_fault_touches(c, fault, gate->site))
			continue;
		if (fault->id)
			return fault->id;
		const char *where = str_or(fault->host, str_or(fault->device, "the fabric"));
		return arena_printf(gate->a, "%s at %s", cause_name(fault->cause), where);
	}
	return NULL;
}

static const char *gate_pool(struct gate_in *gate)
{
	if (gate->plan->pool_short)
		return gate->plan->refused;
	return NULL;
}

static const char *gate_unrest(struct gate_in *gate)
{
	const struct tune_device *device = gate->site->device;
	const char *name = device->device->name;
	for (size_t i = 0; i < device->n_ports; i++) {
		const struct tune_port *port = &device->ports[i];
		if (port->storms > 0)
			return arena_printf(gate->a,
				"the PFC watchdog fired at %s:%s in this range", name,
				port->port->name);
		if (port->flaps > 0)
			return arena_printf(gate->a, "%s:%s went down and up in this range", name,
				port->port->name);
	}
	if (device->restarts)
		return arena_printf(gate->a,
			"%s restarted in this range (upgrade, reload or reset of "
			"counters): review a range after it",
			name);
	return NULL;
}

/* Did a past sheet change the switch, first or with the rest? */
static bool past_reaches(const struct tune_past *past, const struct tune_site *site)
{
	const char *device = site->device->device->name;
	if (past->priority >= 0 && past->priority != site->priority)
		return false;
	for (size_t i = 0; i < past->n_rest; i++)
		if (str_eq(past->rest[i], device))
			return true;
	return str_eq(past->device, device);
}

static const char *gate_past(struct gate_in *gate)
{
	for (size_t i = 0; i < gate->in->n_past; i++) {
		const struct tune_past *past = &gate->in->past[i];
		const bool same = str_eq(past->device, gate->site->device->device->name) &&
			(past->priority < 0 || past->priority == gate->site->priority);
		const bool recent = gate->in->now_ns - past->applied_ns < TUNE_READ_NS;
		if (same && recent && !past->verified)
			return past->id;
	}
	return NULL;
}

/* Frames are still lost after that many sheets of headroom: it is not what is missing. */
enum { SERIES_MOST = 2 };

static const char *gate_series(struct gate_in *gate)
{
	const char *ids = "", *between = "";
	unsigned n = 0;
	if (gate->plan->rule->family != FAMILY_HEADROOM || !(gate->site->signs.yes & T_LOST))
		return NULL;
	for (size_t i = 0; i < gate->in->n_past; i++) {
		const struct tune_past *past = &gate->in->past[i];
		if (past->undone || !(past->knobs & 1u << KNOB_HEADROOM) ||
			gate->in->now_ns - past->applied_ns > TUNE_SERIES_NS ||
			!past_reaches(past, gate->site))
			continue;
		ids = arena_printf(gate->a, "%s%s%s", ids, between, past->id);
		between = ", ";
		n++;
	}
	if (n < SERIES_MOST)
		return NULL;
	return arena_printf(gate->a,
		"%u sheets of headroom that are in force (%s) while frames are still lost: more of "
		"it is not what is missing. See whether the neighbour obeys pause at once, whether "
		"cable and MTU are what is declared, and what else takes the pool",
		n, ids);
}

/* Last line of defence: whatever a dose came to, these are never written. */
static const char *gate_never(struct gate_in *gate)
{
	for (size_t i = 0; i < gate->plan->n_changes; i++) {
		const struct tune_change *change = &gate->plan->changes[i];
		if (!(change->proposed > 0) || isinf(change->proposed))
			return arena_printf(gate->a, "%s would become %g: never",
				tune_knob_name(change->knob), change->proposed);
	}
	return NULL;
}

/* ---- watch --------------------------------------------------------------- */

static const char *gate_coverage(struct gate_in *gate)
{
	const double least = gate->in->options.min_coverage,
		     here = fmin(gate->site->device->coverage_ratio,
			     gate->in->evidence->coverage_ratio);
	if (here >= least)
		return NULL;
	gate_collect(gate, "samples without gaps: `rocewatch doctor` shows which targets are late");
	return arena_printf(gate->a, "%.1f %% of the samples are there, %.0f %% are needed",
		100 * here, 100 * least);
}

static const char *gate_history(struct gate_in *gate)
{
	int64_t since_ns = gate->in->evidence->from_ns;
	if (gate->site->device->since_ns > since_ns)
		since_ns = gate->site->device->since_ns;
	const int64_t have_ns = gate->in->evidence->to_ns - since_ns,
		      least_ns = gate->in->options.min_evidence_ns;
	char least[24], more[24];
	if (have_ns >= least_ns)
		return NULL;
	unit_duration_text(least, sizeof(least), least_ns);
	const int64_t unit_ns = least_ns >= 600 * NS_PER_S ? 60 * NS_PER_S : NS_PER_S;
	const int64_t missing = (least_ns - have_ns + unit_ns - 1) / unit_ns;
	unit_duration_text(more, sizeof(more), missing * unit_ns);
	gate_collect(gate,
		arena_printf(gate->a,
			"%s more of history under these thresholds (%s in all), or a lower "
			"tuning.min_evidence",
			more, least));
	return arena_printf(gate->a,
		"%.0f min of history under the thresholds in force, %s are needed: %s are missing",
		(double)have_ns / 60e9, least, more);
}

/* An open incident here names the cause of the plan. */
static bool is_named_by_incident(const struct gate_in *gate)
{
	const struct tune_signs *signs = &gate->site->signs;
	for (size_t i = 0; i < signs->n_named; i++)
		if (signs->named[i] == gate->plan->rule->cause)
			return true;
	return false;
}

static const char *gate_agreeing(struct gate_in *gate)
{
	if (gate->site->agreeing >= TUNE_NEEDED || is_named_by_incident(gate))
		return NULL;
	gate_collect(gate,
		arena_printf(gate->a, "more windows: the pattern has to show in %d of the last %d",
			TUNE_NEEDED, TUNE_OF));
	return arena_printf(gate->a, "pattern seen in %u of the last %d windows",
		gate->site->agreeing, TUNE_OF);
}

/* What would raise the confidence. */
static void ask_for_more(struct gate_in *gate)
{
	const struct tune_prio *prio = gate->plan->like;
	const bool shares = prio->ecn_relative == 1;
	if (shares && isnan(prio->kmin_ratio))
		gate_collect(gate,
			"the shares of relative ECN in force: read back by a collector "
			"(cfg.ecn_kmin_ratio, cfg.ecn_kmax_ratio)");
	if (!shares && (isnan(prio->kmin) || isnan(prio->kmax)))
		gate_need(gate, NEED_ECN);
	if (isnan(prio->alpha) && isnan(prio->xoff_level))
		gate_need(gate, NEED_ALPHA);
	if (!(gate->site->device->pool_bytes > 0))
		gate_need(gate, NEED_POOL);
	if (!(gate->site->signs.known & T_NO_MARKS))
		gate_need(gate, NEED_MARKS);
	if (!prio->queue.windows)
		gate_need(gate, NEED_WATERMARKS);
	if (!gate->site->measured)
		gate_need(gate, NEED_PAUSE);
	if (!gate->ret->n_collect)
		gate_collect(gate,
			"a packet capture at the port we pause most: are its packets ECT, and do "
			"CNPs come back?");
}

static const char *gate_uncertain(struct gate_in *gate)
{
	if (gate->plan->rule->certain)
		return NULL;
	ask_for_more(gate);
	return gate->plan->rule->rests_on;
}

static const char *gate_missing(struct gate_in *gate)
{
	for (size_t i = 0; i < gate->plan->n_collect; i++)
		gate_collect(gate, gate->plan->collect[i]);
	if (gate->plan->n_collect)
		return "a value cannot be computed: what it takes is not known";
	return NULL;
}

/* Settings that are declared in the configuration only lower the confidence. */
static const char *gate_read_back(struct gate_in *gate)
{
	const struct tune_plan *plan = gate->plan;
	const int64_t age_ns = gate->in->now_ns - plan->like->read_ns;
	for (size_t i = 0; i < plan->n_changes; i++) {
		if (!isnan(plan->changes[i].current))
			continue;
		gate_collect(gate,
			"the value in force: read back by a collector, or declared under "
			"`thresholds:` in the configuration");
		return "a value that would change is not known";
	}
	if (plan->like->read_ns && age_ns <= TUNE_READ_NS)
		return NULL;
	if (!plan->like->read_ns && plan->like->declared)
		return NULL;
	gate_collect(
		gate, "a fresh read-back: is the collector of this switch up? `rocewatch doctor`");
	if (plan->like->read_ns)
		return arena_printf(gate->a, "thresholds were read back %.0f h ago, more than 24",
			(double)age_ns / 3600e9);
	return "thresholds were never read back";
}

static const char *gate_refused(struct gate_in *gate)
{
	return gate->plan->refused;
}

/* ---- the tables ---------------------------------------------------------- */

static const struct tune_safety_rule safety_rules[] = {
	{1,
		"The headroom formula counts only for ASICs whose published tables it reproduces; "
		"elsewhere the value of the device is the floor. Headroom is lowered only with "
		"`--allow-reduce`, never with a shared headroom pool, an unknown cable or a peak "
		"that reached the size of the headroom",
		"the doses of headroom",
		"SONiC, doc/qos/dynamically-headroom-calculation.md; sonic-swss "
		"cfgmgr/buffer_headroom_mellanox.lua"},
	{2,
		"No change without values in force that were read back within 24 h (declared ones "
		"lower the confidence). A pool of unknown slicing counts half. No advice for "
		"VOQ or HBM chips",
		"gates, doses", "Choudhury and Hahne, Dynamic queue length thresholds, 1998"},
	{3,
		"More headroom or one more lossless priority shrinks the shared pool: every queue "
		"of the switch is computed again, and a change that puts PFC before ECN at one of "
		"them is refused, unless frames are lost: loss first, marks in the next change",
		"the doses, a gate", "Choudhury and Hahne, 1998; DCQCN, SIGCOMM 2015, section 4"},
	{4,
		"A sheet lists everything the changed object is bound to. The canary is a whole "
		"switch; the rest of its tier follows soon, because different Kmin within one "
		"tier are unfair to flows",
		"the sheet", NULL},
	{5,
		"Every knob of a vendor has a disruption class; unknown counts as dropping "
		"packets. Anything not hitless waits for a job boundary",
		"the sheet, the profile", NULL},
	{6,
		"Apply and undo are safe after every step: Kmin down before Kmax, Kmax up before "
		"Kmin, headroom up before alpha up, alpha down before headroom up. Undo writes "
		"exactly the values read back",
		"the order of rendered steps", NULL},
	{7,
		"Not while an incident that blocks tuning is open in the same pause tree (headroom "
		"where frames are lost does not wait for uneven paths, for a sender that does not "
		"slow down, or for settings that differ), nor with "
		"PFC watchdog events, link flaps, restarts or gaps in the range. A sheet lives 72 "
		"h, and only as long as its basis (settings, topology, OS version) stays",
		"gates, the ledger", NULL},
	{8,
		"Never: PFC off, a threshold of zero, thresholds where the policy of the site is "
		"not dcqcn",
		"gates", NULL},
	{9,
		"Advice to isolate a host says what it stops: shutting one rail port usually "
		"aborts the whole job",
		"the next steps of causes", NULL},
	{10,
		"One lossless drop on the changed switch, or steps that take more than 3 % longer "
		"with certainty, opens incident `tuning_regression`. Goodput alone shows nothing: "
		"the bytes of a training step are fixed",
		"the running agent", NULL},
	{11, "What an open sheet or incident rests on is not evicted by retention or quota",
		"the store", NULL},
	{12,
		"One knob family at a time, one change of a queue profile in 24 h unless it is "
		"verified; at least `tuning.min_evidence` of history; the pattern in 3 of the "
		"last 5 busy windows; after two sheets of headroom that did not end the loss there "
		"is no third",
		"gates, doses", NULL},
	{13,
		"The world of the class is asked first: lossless by PFC or by credits, ECN in "
		"bytes "
		"or in shares, DCQCN or another control. A threshold that the hardware ignores is "
		"not advised; what is not known is said in the sheet",
		"gates, doses, the sheet",
		"Cumulus Linux 5.17, Quality of Service, Dynamic ECN; Ultra Ethernet Specification "
		"1.0.1"},
};

static const struct gate {
	int rule;
	enum tune_advice advice;
	const char *when;
	const char *(*holds)(struct gate_in *gate); /* why; NULL: it does not */
} gates[] = {
	{8, ADVICE_BLOCKED,
		"the congestion policy of the site is not dcqcn (headroom and XON: nor pfc_only)",
		gate_policy},
	{13, ADVICE_BLOCKED,
		"packets show another congestion control than DCQCN, and none is declared",
		gate_world},
	{13, ADVICE_BLOCKED,
		"the hardware ignores what would change: bytes where ECN counts in shares, PFC "
		"where credits are used",
		gate_ignored},
	{2, ADVICE_BLOCKED, "the switch has virtual output queues", gate_voq},
	{7, ADVICE_BLOCKED, "a fault of this pause tree has to be repaired first", gate_incident},
	{7, ADVICE_BLOCKED, "PFC watchdog, link flaps or a restart in the range", gate_unrest},
	{3, ADVICE_BLOCKED, "the shared pool cannot hold the headroom of all its queues",
		gate_pool},
	{12, ADVICE_BLOCKED, "an unverified change of the same switch within 24 h", gate_past},
	{12, ADVICE_BLOCKED, "frames are still lost after two sheets of headroom within 14 days",
		gate_series},
	{8, ADVICE_BLOCKED, "a value would become zero or infinite", gate_never},
	{7, ADVICE_WATCH, "less than `tuning.min_coverage` of the samples", gate_coverage},
	{12, ADVICE_WATCH, "less than `tuning.min_evidence` under these thresholds", gate_history},
	{12, ADVICE_WATCH, "the pattern does not show in 3 of the last 5 windows", gate_agreeing},
	{12, ADVICE_WATCH, "the settings that would prove the diagnosis are not known",
		gate_uncertain},
	{2, ADVICE_WATCH, "what a value is computed from is not known", gate_missing},
	{2, ADVICE_WATCH, "a value in force is not known, or was read back over 24 h ago",
		gate_read_back},
	{3, ADVICE_WATCH, "no value is safe: pool, order of ECN and PFC, or platform",
		gate_refused},
};

bool tune_safety_rule_at(size_t i, struct tune_safety_rule *ret)
{
	if (i >= rw_countof(safety_rules))
		return false;
	*ret = safety_rules[i];
	return true;
}

bool tune_gate_row_at(size_t i, struct tune_gate_row *ret)
{
	if (i >= rw_countof(gates))
		return false;
	*ret = (struct tune_gate_row){gates[i].rule, gates[i].advice, gates[i].when};
	return true;
}

/* ---- the verdict --------------------------------------------------------- */

static struct gate_in gate_begin(const struct tune_plan *plan, struct tune_verdict *verdict)
{
	return (struct gate_in){.plan = plan,
		.in = plan->c->in,
		.site = plan->site,
		.a = plan->c->in->arena,
		.ret = verdict};
}

void tune_gate(const struct tune_plan *plan, struct tune_verdict *ret)
{
	struct gate_in in = gate_begin(plan, ret);
	*ret = (struct tune_verdict){.advice = ADVICE_CHANGE, .rule = -1};
	for (size_t i = 0; i < rw_countof(gates) && ret->advice != ADVICE_BLOCKED; i++) {
		const struct gate *gate = &gates[i];
		/* each is asked, because each may say what to collect */
		const char *why = gate->holds(&in);
		const bool decided = ret->advice == ADVICE_WATCH && gate->advice == ADVICE_WATCH;
		if (!why || decided)
			continue;
		ret->advice = gate->advice;
		ret->rule = gate->rule;
		ret->why = why;
		ret->blocked_by = NULL;
		if (gate->advice == ADVICE_BLOCKED)
			ret->blocked_by = why;
	}
	if (ret->advice == ADVICE_CHANGE && !plan->n_changes)
		ret->advice = ADVICE_NONE;
}

void tune_gate_doubt(const struct tune_plan *plan, struct tune_verdict *verdict)
{
	struct gate_in in = gate_begin(plan, verdict);
	verdict->advice = ADVICE_WATCH;
	verdict->why = "the confidence is too low for a change";
	ask_for_more(&in);
}
