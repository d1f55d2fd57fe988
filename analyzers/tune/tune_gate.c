/* tune_gate - see the header. */
#include "analyzers/tune/tune_gate.h"

#include <math.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "analyzers/tune/tune_touch.h"

struct gate_in {
	const struct tune_plan *t;
	const struct tune_in *in;
	const struct tune_site *p;
	struct arena *a;
	struct tune_verdict *ret;
};

static void tune_gate_collect(struct gate_in *gate, const char *what)
{
	for (size_t i = 0; i < gate->ret->n_collect; i++)
		if (str_eq(gate->ret->collect[i], what))
			return;
	if (gate->ret->n_collect < GATE_WORDS)
		gate->ret->collect[gate->ret->n_collect++] = what;
}

/* ---- 8: never ------------------------------------------------------------ */

static const char *tune_gate_policy(struct gate_in *gate)
{
	const enum congestion_policy cc = gate->in->fabric->congestion;
	if (cc == CC_DCQCN)
		return NULL;
	return arena_printf(gate->a,
		"policy: congestion is %s, and thresholds are advised for dcqcn only",
		congestion_policy_name(cc));
}

/* Last line of defence: whatever a dose came to, these are never written. */
static const char *tune_gate_never(struct gate_in *gate)
{
	for (size_t i = 0; i < gate->t->n_changes; i++) {
		const struct tune_change *c = &gate->t->changes[i];
		if (!(c->proposed > 0) || isinf(c->proposed))
			return arena_printf(gate->a, "%s would become %g: never",
				tune_knob_name(c->knob), c->proposed);
	}
	return NULL;
}

/* ---- 2: what the platform is, and what was read of it -------------------- */

static const char *tune_gate_voq(struct gate_in *gate)
{
	const struct tune_platform *is = gate->t->platform;
	if ((is->profile && is->profile->voq) || (is->asic && is->asic->voq))
		return "virtual output queues: the dynamic-threshold arithmetic does not hold for "
		       "this chip";
	return NULL;
}

static const char *read_back(struct gate_in *gate)
{
	const struct tune_prio *l = gate->t->like;
	for (size_t i = 0; i < gate->t->n_changes; i++)
		if (isnan(gate->t->changes[i].current)) {
			tune_gate_collect(gate,
				"the value in force: read-back by gNMI or SNMP, or `thresholds:` "
				"in the configuration");
			return "a value that would change is not known";
		}
	/* all of it from the configuration: lowers the confidence only */
	if (l->read_ns ? gate->in->now_ns - l->read_ns <= TUNE_READ_NS : l->declared)
		return NULL;
	tune_gate_collect(
		gate, "a fresh read-back: is the collector of this switch up? `rocewatch doctor`");
	if (l->read_ns)
		return arena_printf(gate->a, "thresholds were read back %.0f h ago, more than 24",
			(double)(gate->in->now_ns - l->read_ns) / 3600e9);
	return "thresholds were never read back";
}

/* ---- 7: not now ---------------------------------------------------------- */

static const char *tune_gate_incident(struct gate_in *gate)
{
	for (size_t i = 0; i < gate->t->c->n_faults; i++) {
		const struct tune_fault *f = &gate->t->c->faults[i];
		if (tune_fault_touches(gate->t->c, f, gate->p)) {
			if (f->id)
				return f->id;
			return arena_printf(gate->a, "%s at %s", cause_name(f->cause),
				f->host ? f->host : str_or(f->device, "the fabric"));
		}
	}
	return NULL;
}

static const char *tune_gate_unrest(struct gate_in *gate)
{
	const struct tune_device *d = gate->p->device;
	for (size_t i = 0; i < d->n_ports; i++) {
		if (d->ports[i].storms > 0)
			return arena_printf(gate->a,
				"the PFC watchdog fired at %s:%s in this range", d->device->name,
				d->ports[i].port->name);
		if (d->ports[i].flaps > 0)
			return arena_printf(gate->a, "%s:%s went down and up in this range",
				d->device->name, d->ports[i].port->name);
	}
	if (d->restarts)
		return arena_printf(gate->a,
			"%s restarted in this range (upgrade, reload or reset of "
			"counters): review a range after it",
			d->device->name);
	return NULL;
}

static const char *tune_gate_coverage(struct gate_in *gate)
{
	const double least = gate->in->options.min_coverage,
		     here = fmin(
			     gate->p->device->coverage_ratio, gate->in->evidence->coverage_ratio);
	if (here >= least)
		return NULL;
	tune_gate_collect(
		gate, "samples without gaps: `rocewatch doctor` tells which targets are late");
	return arena_printf(gate->a, "%.1f %% of the samples are there, %.0f %% are needed",
		100 * here, 100 * least);
}

/* ---- 0: bounds of the decision table ------------------------------------- */

static const char *tune_gate_past(struct gate_in *gate)
{
	for (size_t i = 0; i < gate->in->n_past; i++) {
		const struct tune_past *q = &gate->in->past[i];
		const bool same = str_eq(q->device, gate->p->device->device->name) &&
			(q->priority < 0 || q->priority == gate->p->priority);
		if (same && !q->verified && gate->in->now_ns - q->applied_ns < TUNE_READ_NS)
			return q->id;
	}
	return NULL;
}

static const char *tune_gate_history(struct gate_in *gate)
{
	int64_t since = gate->in->evidence->from_ns;
	if (gate->p->device->since_ns > gate->in->evidence->from_ns)
		since = gate->p->device->since_ns;
	const int64_t have = gate->in->evidence->to_ns - since,
		      least = gate->in->options.min_evidence_ns;
	char b[24];
	if (have >= least)
		return NULL;
	tune_gate_collect(gate,
		arena_printf(gate->a,
			"more history under these thresholds: review again with %s of it, or lower "
			"tuning.min_evidence",
			unit_duration_text(b, sizeof(b), least)));
	return arena_printf(gate->a,
		"%.0f min of history under the thresholds in force, %s are needed",
		(double)have / 60e9, unit_duration_text(b, sizeof(b), least));
}

static bool is_told(const struct gate_in *gate)
{
	for (size_t i = 0; i < gate->p->signs.n_told; i++)
		if (gate->p->signs.told[i] == gate->t->rule->cause)
			return true;
	return false;
}

static const char *tune_gate_agreeing(struct gate_in *gate)
{
	if (gate->p->agreeing >= TUNE_NEEDED || is_told(gate))
		return NULL;
	tune_gate_collect(gate,
		arena_printf(gate->a,
			"more windows: the signature has to hold in %d of the last %d", TUNE_NEEDED,
			TUNE_OF));
	return arena_printf(gate->a, "the signature held in %u of the last %d windows",
		gate->p->agreeing, TUNE_OF);
}

static const char *tune_gate_missing(struct gate_in *gate)
{
	for (size_t i = 0; i < gate->t->n_collect; i++)
		tune_gate_collect(gate, gate->t->collect[i]);
	if (gate->t->n_collect)
		return "what a value takes is not known";
	return NULL;
}

/* What would make it surer. */
static void ask_for_more(struct gate_in *gate)
{
	const struct tune_prio *l = gate->t->like;
	if (isnan(l->kmin) || isnan(l->kmax))
		tune_gate_collect(gate,
			"Kmin and Kmax in force: read-back by gNMI (WRED_PROFILE), or "
			"`thresholds:` in the configuration");
	if (isnan(l->alpha) && isnan(l->xoff_level))
		tune_gate_collect(gate,
			"dynamic threshold (alpha) in force: read-back by gNMI (BUFFER_PROFILE), "
			"or `thresholds:` in the configuration");
	if (!(gate->p->device->pool_bytes > 0))
		tune_gate_collect(gate,
			"size of the shared pool: read-back by gNMI (BUFFER_POOL), or "
			"`thresholds:` (pool) in the configuration");
	if (!(gate->p->signs.known & T_NO_MARKS))
		tune_gate_collect(gate,
			"ECN marks per queue: `sudo counterpoll wredqueue enable` (SONiC), "
			"`random-detect ecn count` (EOS)");
	if (!l->queue.windows)
		tune_gate_collect(gate,
			"queue watermarks: `sudo counterpoll watermark enable` (SONiC), or the "
			"queue depth counters of the platform");
	if (!gate->p->measured)
		tune_gate_collect(gate,
			"pause time: frames give only an upper bound; read pfc.tx_pause_ns where "
			"the platform has it");
	if (!gate->ret->n_collect)
		tune_gate_collect(gate,
			"a capture at the port we pause most: are its packets ECT, and do CNPs "
			"come back?");
}

static const char *tune_gate_uncertain(struct gate_in *gate)
{
	if (gate->t->rule->certain)
		return NULL;
	ask_for_more(gate);
	return gate->t->rule->rests_on;
}

static const char *tune_gate_refused(struct gate_in *gate)
{
	return gate->t->refused;
}

static const struct gate {
	int rule;
	enum tune_advice advice;
	const char *(*holds)(struct gate_in *gate); /* why; NULL: it does not */
} gates[] = {
	{8, ADVICE_BLOCKED, tune_gate_policy},
	{2, ADVICE_BLOCKED, tune_gate_voq},
	{7, ADVICE_BLOCKED, tune_gate_incident},
	{7, ADVICE_BLOCKED, tune_gate_unrest},
	{0, ADVICE_BLOCKED, tune_gate_past},
	{8, ADVICE_BLOCKED, tune_gate_never},
	{7, ADVICE_WATCH, tune_gate_coverage},
	{0, ADVICE_WATCH, tune_gate_history},
	{0, ADVICE_WATCH, tune_gate_agreeing},
	{0, ADVICE_WATCH, tune_gate_uncertain},
	{2, ADVICE_WATCH, tune_gate_missing},
	{2, ADVICE_WATCH, read_back},
	{3, ADVICE_WATCH, tune_gate_refused},
};

void tune_gate(const struct tune_plan *plan, struct tune_verdict *ret)
{
	struct gate_in g = {
		.t = plan, .in = plan->c->in, .p = plan->site, .a = plan->c->in->arena, .ret = ret};
	*ret = (struct tune_verdict){.advice = ADVICE_CHANGE, .rule = -1};
	for (size_t i = 0; i < rw_countof(gates) && ret->advice != ADVICE_BLOCKED; i++) {
		const char *why = gates[i].holds(&g);
		if (!why || (ret->advice == ADVICE_WATCH && gates[i].advice != ADVICE_BLOCKED))
			continue;
		ret->advice = gates[i].advice;
		ret->rule = gates[i].rule;
		ret->why = why;
		if (gates[i].advice == ADVICE_BLOCKED)
			ret->blocked_by = why;
		else
			ret->blocked_by = NULL;
	}
	if (ret->advice == ADVICE_CHANGE && !plan->n_changes)
		ret->advice = ADVICE_NONE;
}

void tune_gate_doubt(const struct tune_plan *plan, struct tune_verdict *verdict)
{
	struct gate_in g = {.t = plan,
		.in = plan->c->in,
		.p = plan->site,
		.a = plan->c->in->arena,
		.ret = verdict};
	verdict->advice = ADVICE_WATCH;
	verdict->why = "what is known makes it too unsure for a change";
	ask_for_more(&g);
}
