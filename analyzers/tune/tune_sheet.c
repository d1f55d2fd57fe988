/* tune_sheet - see the header. Sentences are those of the switch: "we paused X" is tx pause. */
#include "analyzers/tune/tune_sheet.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/map.h"
#include "agent/base/str.h"
#include "analyzers/tune/tune_effect.h"
#include "db/model/entity.h"

#define STEP_LIMIT                                                                                 \
	0.03 /* of step time: below it an effect is seed noise (tuning facts e, measured) */
#define STEPS_JUDGED 20
#define RESIDUAL_GOOD 0.15
#define LIST_MAX 32

struct sheet {
	struct tune_sheet *s;
	const struct tune_in *in;
	struct arena *a;
};

/* ---- lists --------------------------------------------------------------- */

static void add_word(struct sheet *t, const char ***list, size_t *n, const char *what)
{
	if (!*list)
		*list = arena_array(t->a, const char *, LIST_MAX);
	if (what && *n < LIST_MAX)
		(*list)[(*n)++] = what;
}
static void next_step(struct sheet *t, const char *what)
{
	add_word(t, &t->s->next_steps, &t->s->n_next_steps, what);
}
static void gather(struct sheet *t, const char *what)
{
	add_word(t, &t->s->collect, &t->s->n_collect, what);
}

static __attribute__((format(printf, 3, 4))) void rests_on(
	struct sheet *t, double factor, const char *fmt, ...)
{
	char buf[256];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	t->s->confidence_ratio *= factor;
	add_word(t, &t->s->confidence_inputs, &t->s->n_confidence_inputs, arena_strdup(t->a, buf));
}

static void evidence(struct sheet *t, const char *metric, const struct fabric_device *d,
	const struct tune_lane *l, double value, const char *unit, enum quality q)
{
	if (!t->s->evidence)
		t->s->evidence = arena_array(t->a, struct evidence, LIST_MAX);
	if (!isnan(value) && t->s->n_evidence < LIST_MAX)
		t->s->evidence[t->s->n_evidence++] = (struct evidence){.metric = metric,
			.device = d->name,
			.port = l ? l->port->name : NULL,
			.priority = l ? l->priority : PRIO_NONE,
			.from_ns = t->s->from_ns,
			.to_ns = t->s->to_ns,
			.value = value,
			.unit = unit,
			.quality = q};
}

/* ---- words --------------------------------------------------------------- */

static const char *size_text(struct arena *a, double bytes)
{
	return bytes >= 1e6    ? arena_printf(a, "%.2f MB", bytes / 1e6)
		: bytes >= 1e3 ? arena_printf(a, "%.1f KB", bytes / 1e3)
			       : arena_printf(a, "%.0f B", bytes);
}

const char *tune_percent(struct arena *a, double ratio)
{
	return arena_printf(a, fabs(ratio) >= 0.0995 ? "%.0f %%" : "%.2g %%", 100 * ratio);
}

static const char *value_text(struct arena *a, enum tune_knob k, double v)
{
	if (isnan(v))
		return "unknown";
	if (str_eq(tune_knob_unit(k), "bytes"))
		return size_text(a, v);
	if (k == KNOB_PMAX)
		return arena_printf(a, "%.3g %%", 100 * v);
	return k == KNOB_ALPHA && v > 0 && v < 1 ? arena_printf(a, "1/%.3g", 1 / v)
						 : arena_printf(a, "%.3g", v);
}

static const char *neighbour(const struct tune_lane *l)
{
	return l->port->host    ? l->port->host
		: l->port->peer ? l->port->peer->device->name
				: "its neighbour";
}

static const char *pause_text(struct arena *a, const struct tune_place *p)
{
	const struct tune_lane *l = p->paused;
	if (!l)
		return arena_printf(a, "%s paused nobody", p->device->device->name);
	return arena_printf(a, "%s paused %s %s%s of busy time at %s (priority %d)",
		p->device->device->name, neighbour(l), l->pause_measured ? "" : "at most ",
		tune_percent(a, l->tx_pause_busy), l->port->name, p->priority);
}

static const char *changes_text(struct arena *a, const struct tune_plan *t)
{
	const char *s = "";
	for (size_t i = 0; i < t->n_changes; i++) {
		const struct tune_change *c = &t->changes[i];
		s = arena_printf(a, "%s%s%s %s -> %s", s, i ? ", " : "", tune_knob_name(c->knob),
			value_text(a, c->knob, c->current), value_text(a, c->knob, c->proposed));
	}
	return s;
}

static const char *headroom_text(struct arena *a, const struct tune_place *p)
{
	const struct tune_lane *l = p->short_of;
	const double used = l->headroom.max / l->headroom_bytes;
	const char *use = isnan(used) ? "use of headroom is not told"
				      : arena_printf(a, "headroom was used to %.0f %%", 100 * used);
	if (l->pg_drops > 0)
		return arena_printf(a,
			"%s:%s lost %.0f frames of priority %d while we paused %s; %s",
			p->device->device->name, l->port->name, l->pg_drops, p->priority,
			neighbour(l), use);
	return arena_printf(a, "%s:%s: %s while we paused %s (priority %d)",
		p->device->device->name, l->port->name, use, neighbour(l), p->priority);
}

static const char *why_text(struct arena *a, const struct tune_plan *t)
{
	const struct tune_place *p = t->place;
	switch (t->rule->row) {
	case 1: return headroom_text(a, p);
	case 2:
		return arena_printf(a,
			"%s: no headroom of priority %d was used by more than a quarter in a week",
			p->device->device->name, p->priority);
	case 3:
		if (!isnan(t->like->kmin) && !isnan(p->q_pfc))
			return arena_printf(a, "%s; Kmin %s, PFC fires at %s%s", pause_text(a, p),
				size_text(a, t->like->kmin), size_text(a, p->q_pfc),
				p->by_watermark ? " (watermark)" : "");
		return pause_text(a, p);
	case 4:
		return arena_printf(a, "%s while its queue to %s marks %s", pause_text(a, p),
			neighbour(p->hot), tune_percent(a, p->marks));
	case 5:
		return arena_printf(a,
			"%s marks %s of what it sends at %s and pauses nobody; Kmin %s is below "
			"one bandwidth-delay product (%s)",
			p->device->device->name, tune_percent(a, p->marks), p->hot->port->name,
			value_text(a, KNOB_KMIN, t->like->kmin), value_text(a, KNOB_KMIN, p->bdp));
	case 11:
		return arena_printf(a, "%s: %.0f pauses a second of %.1f us at %s",
			p->device->device->name, p->flapping->episodes_per_s,
			p->flapping->episode_ns / 1e3, p->flapping->port->name);
	default: return pause_text(a, p);
	}
}

/* ---- place --------------------------------------------------------------- */

static const char *group_of(struct arena *a, const struct tune_plan *t)
{
	size_t hosts = 0, others = 0, all_hosts = 0, all_others = 0;
	for (size_t i = 0; i < t->n_lanes; i++)
		*(t->lanes[i]->port->host ? &hosts : &others) += 1;
	for (const struct tune_lane *l = NULL; (l = tune_next_lane(t->place, l));)
		*(l->port->host ? &all_hosts : &all_others) += 1;
	if (hosts + others == 1 && all_hosts + all_others > 1)
		return arena_strdup(a, t->lanes[0]->port->name);
	if (hosts == all_hosts && others == all_others)
		return "all";
	return hosts == all_hosts && !others     ? "hosts"
		: others == all_others && !hosts ? "uplinks"
						 : arena_printf(a, "%zu ports", hosts + others);
}

static void add_affected(
	struct sheet *t, const char *device, const char *port, int priority, const char *object)
{
	t->s->affected[t->s->n_affected++] = (struct tune_object){
		.device = device, .port = port, .priority = priority, .object = object};
}

/* Blast radius: all that is bound to what is rendered (rule 4). Not known whose it is: everything
 * that is set alike. */
static void affect(
	struct sheet *t, const struct tune_plan *p, const struct tune_place **rest, size_t n_rest)
{
	const struct tune_device *d = p->place->device;
	const struct tune_knob_rule *rule = p->platform->profile && p->n_changes
		? &p->platform->profile->knobs[p->changes[0].knob]
		: NULL;
	const char *object = rule && rule->object ? rule->object
		: p->rule->family == FAMILY_ECN_UP || p->rule->family == FAMILY_KMAX ||
			(p->n_changes && p->changes[0].knob >= KNOB_KMIN)
		? "ECN profile"
		: "buffer profile";
	t->s->affected = arena_array(t->a, struct tune_object, d->n_lanes + n_rest + 1);
	for (size_t i = 0; i < d->n_lanes; i++) {
		bool meant = false;
		for (size_t k = 0; k < p->n_lanes; k++)
			meant = meant || p->lanes[k] == &d->lanes[i];
		if (meant ||
			((!rule || rule->shared) &&
				tune_same_profile(p->rule->family, &d->lanes[i], p->like)))
			add_affected(t, d->device->name, d->lanes[i].port->name,
				d->lanes[i].priority, object);
	}
	for (size_t i = 0; i < n_rest; i++)
		add_affected(t, rest[i]->device->device->name, NULL, p->place->priority, object);
}

static void set_disruption(struct sheet *t, const struct tune_plan *p)
{
	enum tune_disruption worst = p->platform->profile ? DISRUPTION_HITLESS : DISRUPTION_UNKNOWN;
	for (size_t i = 0; p->platform->profile && i < p->n_changes; i++) {
		const enum tune_disruption d =
			p->platform->profile->knobs[p->changes[i].knob].disruption;
		worst = d > worst ? d : worst;
	}
	t->s->disruption = worst;
	t->s->job_boundary = worst != DISRUPTION_HITLESS;
}

/* ---- how sure ------------------------------------------------------------ */

static void weigh(struct sheet *t, const struct tune_plan *p)
{
	const struct tune_place *at = p->place;
	const enum tune_family f = p->rule->family;
	const bool by_pause =
		p->rule->row == 3 || p->rule->row == 4 || p->rule->row == 11 || p->rule->row == 0;
	t->s->confidence_ratio = p->rule->confidence;
	rests_on(t, 1, "%s", p->rule->rests_on);
	rests_on(t,
		at->agreeing >= 5           ? 1
			: at->agreeing == 4 ? 0.95
			: at->agreeing == 3 ? 0.9
					    : 0.7,
		"the signature held in %u of the last %d windows",
		at->agreeing > TUNE_OF ? TUNE_OF : at->agreeing, TUNE_OF);
	for (size_t i = 0; i < at->signs.n_told; i++)
		if (str_eq(at->signs.told[i], p->rule->cause))
			rests_on(t, 1.05, "an open incident names the same cause");
	if (by_pause && !at->measured)
		rests_on(t, 0.7, "pause is an upper bound from frame counts, not measured");
	if (f == FAMILY_ALPHA_THEN_ECN || f == FAMILY_ALPHA_OR_ECN || f == FAMILY_KMAX ||
		f == FAMILY_ECN_UP) {
		if (isnan(at->residual))
			rests_on(t, 0.95, "no queue watermark to hold the computed q_PFC against");
		else
			rests_on(t, at->residual < RESIDUAL_GOOD ? 1 : 0.85,
				"queue watermark and computed q_PFC differ by %.0f %%",
				100 * at->residual);
	}
	if (at->slices_unknown &&
		(f == FAMILY_ALPHA_THEN_ECN || f == FAMILY_ALPHA_OR_ECN || f == FAMILY_KMAX ||
			f == FAMILY_ECN_UP))
		rests_on(t, 0.5,
			"slicing of the shared buffer is not known: half of it is counted on");
	if (p->like->declared)
		rests_on(
			t, 0.85, "thresholds are declared in the configuration, not all read back");
	else if (p->like->read_ns)
		rests_on(t, 1, "thresholds read back %.1f h before",
			(double)(t->in->now_ns - p->like->read_ns) / 3600e9);
	if (!p->platform->profile)
		rests_on(t, 0.95,
			"what kind of switch it is, is not known: values are rounded to whole "
			"cells, or KiB");
	rests_on(t, at->device->coverage_ratio, "%.1f %% of the samples are there",
		100 * at->device->coverage_ratio);
	/* more digits would claim more */
	t->s->confidence_ratio = rint(1000 * fmin(0.99, fmax(0.01, t->s->confidence_ratio))) / 1000;
}

/* ---- evidence ------------------------------------------------------------ */

static void prove(struct sheet *t, const struct tune_place *p, const struct tune_lane *like)
{
	const struct fabric_device *d = p->device->device;
	const enum quality set = like && like->declared ? QUALITY_ESTIMATED : QUALITY_EXACT;
	if (p->paused)
		evidence(t, "pfc.tx_pause_ratio", d, p->paused, p->paused->tx_pause_busy, "ratio",
			p->paused->pause_measured ? QUALITY_EXACT : QUALITY_ESTIMATED);
	if (p->hot) {
		evidence(t, "queue.marked_ratio", d, p->hot, p->marks, "ratio", QUALITY_EXACT);
		evidence(t, "queue.watermark_bytes", d, p->hot, p->hot->queue.max, "bytes",
			p->hot->queue.standing ? QUALITY_ESTIMATED : QUALITY_EXACT);
	}
	if (p->short_of) {
		evidence(t, "pg.drops", d, p->short_of, p->short_of->pg_drops, "frames",
			QUALITY_EXACT);
		evidence(t, "pg.headroom_watermark_bytes", d, p->short_of,
			p->short_of->headroom.max, "bytes",
			p->short_of->headroom.censored ? QUALITY_ESTIMATED : QUALITY_EXACT);
	}
	if (like) {
		/* dynamic_th, as switches write it */
		evidence(t, "cfg.pg_alpha_exp", d, like, like->alpha > 0 ? log2(like->alpha) : NAN,
			"-", set);
		evidence(t, "cfg.pg_headroom_bytes", d, like, like->headroom_bytes, "bytes", set);
		evidence(t, "cfg.ecn_kmin_bytes", d, like, like->kmin, "bytes", set);
		evidence(t, "cfg.ecn_kmax_bytes", d, like, like->kmax, "bytes", set);
		evidence(t, "cfg.ecn_pmax_ratio", d, like, like->pmax, "ratio", set);
	}
	evidence(t, "pfc.q_pfc_bytes", d, NULL, p->q_pfc, "bytes",
		p->by_watermark ? QUALITY_EXACT : QUALITY_ESTIMATED);
	evidence(
		t, "cfg.buffer_pool_bytes", d, NULL, p->device->pool_bytes, "bytes", QUALITY_EXACT);
}

/* ---- the sheet ----------------------------------------------------------- */

static void set_id(struct sheet *t)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
	const struct tune_sheet *s = t->s;
	const char *const words[] = {
		s->device, s->port_group, s->diagnosis, s->n_ports == 1 ? s->ports[0] : NULL};
	uint64_t h = hash_bytes(&s->priority, sizeof(s->priority), t->in->fabric->id);
	for (size_t i = 0; i < rw_countof(words); i++)
		h = words[i] ? hash_bytes(words[i], strlen(words[i]) + 1, h) : hash_u64(h);
	for (size_t i = 0; i < s->n_changes; i++) {
		const double v[] = {(double)s->changes[i].knob,
			isnan(s->changes[i].current) ? -1 : s->changes[i].current,
			s->changes[i].proposed};
		h = hash_bytes(v, sizeof(v), h);
	}
	for (int i = 0; i < 8; i++, h >>= 5)
		t->s->id[i] = letters[h & 31];
	t->s->id[8] = 0;
}

static struct sheet begin(const struct tune_in *in, const char *device, int priority,
	const char *diagnosis, enum tune_advice advice, struct tune_sheet *ret)
{
	const struct tune_evidence *e = in->evidence;
	*ret = (struct tune_sheet){.device = device,
		.priority = priority,
		.diagnosis = diagnosis,
		.advice = advice,
		.made_ns = in->now_ns,
		.expires_ns = in->now_ns + TUNE_LIFE_NS,
		.from_ns = e->from_ns,
		.to_ns = e->to_ns,
		.coverage_ratio = e->coverage_ratio,
		.buffer_cost_bytes = NAN,
		.confidence_ratio = 1,
		.port_group = "all",
		.disruption = DISRUPTION_HITLESS,
		.basis = tune_basis(in)};
	return (struct sheet){.s = ret, .in = in, .a = in->arena};
}

static void set_rollback(struct sheet *t)
{
	int64_t step_ns = 0;
	for (size_t i = 0; i < t->in->fabric->n_jobs; i++)
		step_ns = t->in->fabric->jobs[i].step_ns > step_ns ? t->in->fabric->jobs[i].step_ns
								   : step_ns;
	const char *above = step_ns
		? arena_printf(t->a, " (declared %.0f ms: above %.0f ms)", (double)step_ns / 1e6,
			  (double)step_ns / 1e6 * (1 + STEP_LIMIT))
		: "";
	t->s->rollback_if = arena_printf(t->a,
		"any drop on priority %d, or step time p50 +%.0f %% over %d steps%s",
		t->s->priority, 100 * STEP_LIMIT, STEPS_JUDGED, above);
}

static void set_steps(struct sheet *t, const struct tune_plan *p)
{
	struct tune_sheet *s = t->s;
	if (s->advice == ADVICE_CHANGE) {
		next_step(t,
			arena_printf(t->a, "canary: apply to %s%s, then rocewatch tune verify %s",
				s->device, s->job_boundary ? " at a job boundary" : "", s->id));
		const char *names = "";
		for (size_t i = 0; i < s->n_rest && i < 8; i++)
			names = arena_printf(t->a, "%s%s%s", names, i ? " " : "", s->rest[i]);
		if (s->n_rest)
			next_step(t,
				arena_printf(t->a,
					"when it is verified, soon after: %s%s (different "
					"thresholds within one tier are unfair to flows)",
					names, s->n_rest > 8 ? " ..." : ""));
	}
	for (size_t i = 0; i < p->n_next; i++)
		next_step(t, p->next[i]);
	if (p->rule->do_not)
		next_step(t, p->rule->do_not);
}

static const char *plan_summary(struct arena *a, const struct tune_plan *p,
	const struct tune_verdict *v, const char *because)
{
	switch (v->advice) {
	case ADVICE_CHANGE: return arena_printf(a, "%s: %s", because, changes_text(a, p));
	case ADVICE_BLOCKED:
		return arena_printf(
			a, "%s; nothing is changed because of %s", because, v->blocked_by);
	case ADVICE_NONE:
		return arena_printf(
			a, "%s; the thresholds are where they should be already", because);
	default:
		return arena_printf(
			a, "%s; watch: %s", because, v->why ? v->why : "not enough is known");
	}
}

double tune_confidence(const struct tune_plan *p)
{
	struct tune_sheet scratch;
	struct sheet t =
		begin(p->c->in, NULL, p->place->priority, p->rule->cause, ADVICE_CHANGE, &scratch);
	weigh(&t, p);
	return scratch.confidence_ratio;
}

void sheet_of_plan(const struct tune_plan *p, const struct tune_verdict *v,
	const struct tune_place **rest, size_t n_rest, struct tune_sheet *ret)
{
	const struct tune_in *in = p->c->in;
	struct sheet t = begin(in, p->place->device->device->name, p->place->priority,
		p->rule->cause, v->advice, ret);
	ret->blocked_by = v->blocked_by;
	ret->coverage_ratio = fmin(p->place->device->coverage_ratio, in->evidence->coverage_ratio);
	ret->port_group = group_of(t.a, p);
	ret->ports = arena_array(t.a, const char *, p->n_lanes + 1);
	for (size_t i = 0; i < p->n_lanes; i++)
		ret->ports[ret->n_ports++] = p->lanes[i]->port->name;
	ret->rest = arena_array(t.a, const char *, n_rest + 1);
	for (size_t i = 0; i < n_rest; i++)
		ret->rest[ret->n_rest++] = rest[i]->device->device->name;
	weigh(&t, p);
	if (v->advice == ADVICE_CHANGE) {
		ret->changes = arena_array(t.a, struct tune_change, p->n_changes);
		memcpy(ret->changes, p->changes, p->n_changes * sizeof(*p->changes));
		ret->n_changes = p->n_changes;
		ret->buffer_cost_bytes = p->cost_bytes;
		affect(&t, p, rest, n_rest);
		set_disruption(&t, p);
		ret->risk = p->n_changes && p->changes[0].knob == KNOB_ALPHA
			? "PFC later means deeper queues: latency of what shares them grows; this "
			  "class takes a larger share of the pool, and the limit of the others "
			  "shrinks"
			: p->rule->risk;
		ret->checks = arena_array(t.a, struct tune_check, p->n_checks + 1);
		memcpy(ret->checks, p->checks, p->n_checks * sizeof(*p->checks));
		ret->n_checks = p->n_checks;
		tune_expected(in, ret);
		if (!ret->n_expected)
			rests_on(&t, 1,
				"the effect is not predicted: the queue model has nothing to be "
				"calibrated by");
	}
	set_id(&t);
	set_rollback(&t);
	ret->summary = plan_summary(t.a, p, v, why_text(t.a, p));
	prove(&t, p->place, p->like);
	for (size_t i = 0; i < v->n_collect; i++)
		gather(&t, v->collect[i]);
	set_steps(&t, p);
}

void sheet_of_fault(const struct tune_case *c, const struct tune_fault *f, struct tune_sheet *ret)
{
	struct sheet t = begin(c->in, f->device, f->priority, f->cause, ADVICE_FIX_FIRST, ret);
	ret->port_group = f->port ? f->port : f->host ? f->host : "all";
	if (f->port) {
		ret->ports = arena_array(t.a, const char *, 1);
		ret->ports[ret->n_ports++] = f->port;
	}
	ret->blocked_by = f->id;
	ret->summary = f->summary;
	ret->confidence_ratio = f->confidence;
	if (f->proof.metric) {
		ret->evidence = arena_array(t.a, struct evidence, 1);
		ret->evidence[ret->n_evidence++] = f->proof;
	}
	rests_on(&t, 1, "%s",
		f->id ? arena_printf(t.a, "incident %s", f->id)
		      : "the evidence of this range; no incident was raised");
	for (size_t i = 0; i < f->n_steps; i++)
		next_step(&t, f->steps[i]);
	set_id(&t);
}

void sheet_of_rule(const struct tune_case *c, const struct tune_place *p, struct tune_sheet *ret)
{
	const char *const *steps = NULL;
	const size_t n = tune_cure_steps(p->is->cause, &steps);
	struct sheet t = begin(
		c->in, p->device->device->name, p->priority, p->is->cause, ADVICE_FIX_FIRST, ret);
	ret->summary = arena_printf(t.a, "%s: %s", pause_text(t.a, p), p->is->rests_on);
	ret->confidence_ratio = p->is->confidence;
	rests_on(&t, 1, "%s", p->is->rests_on);
	prove(&t, p, p->hot);
	for (size_t i = 0; i < n; i++)
		next_step(&t, steps[i]);
	next_step(&t, p->is->do_not);
	set_id(&t);
}

void sheet_of_rest(const struct tune_case *c, int priority, struct tune_sheet *ret)
{
	double worst = NAN;
	bool measured = true, paused = false;
	const struct tune_place *at = NULL;
	for (size_t i = 0; i < c->n_places; i++) {
		const struct tune_place *p = &c->places[i];
		if (p->priority != priority || isnan(p->host_pause))
			continue;
		paused = paused || p->signs.yes & T_HOSTS_PAUSED;
		if (!(p->host_pause <= worst)) {
			worst = p->host_pause;
			measured = p->measured;
			at = p;
		}
	}
	const enum congestion_policy cc = c->in->fabric->congestion;
	const bool good = !isnan(worst) && (!paused || cc != CC_DCQCN);
	struct sheet t = begin(c->in, NULL, priority, good ? "none" : "unknown",
		good ? ADVICE_NONE : ADVICE_WATCH, ret);
	ret->confidence_ratio = good ? (measured ? 0.9 : 0.6) : 0.3;
	if (at)
		prove(&t, at, at->hot);
	if (good && paused) {
		ret->summary = arena_printf(t.a,
			"priority %d: hosts are paused up to %s of busy time, which is how a site "
			"of policy %s works: no thresholds are advised",
			priority, tune_percent(t.a, worst), congestion_policy_name(cc));
		rests_on(&t, 1, "the policy of the site");
	} else if (good) {
		const char *pause = worst > 0
			? arena_printf(t.a, "no host was paused more than %s%s of busy time",
				  measured ? "" : "(at most) ", tune_percent(t.a, worst))
			: "no host was paused";
		ret->summary = arena_printf(t.a,
			"priority %d: %s, nothing points at thresholds: leave them alone", priority,
			pause);
		rests_on(&t, 1, "%s pause of %s, %.1f %% of the samples are there",
			measured ? "measured" : "bounded", at ? "all hosts seen" : "hosts",
			100 * ret->coverage_ratio);
	} else if (paused) {
		ret->summary = arena_printf(t.a,
			"priority %d: hosts are paused up to %s of busy time, and no switch stands "
			"out as where it begins",
			priority, tune_percent(t.a, worst));
		gather(&t,
			"all switches of the fabric: pause of the links between them tells where "
			"it begins");
		rests_on(&t, 1, "pause of hosts without a root");
	} else {
		ret->summary = arena_printf(t.a,
			"priority %d: it is not seen whether hosts are paused, so nothing can be "
			"said about thresholds",
			priority);
		gather(&t,
			"pause per priority at the ports to hosts: pfc.tx_pause_ns, or "
			"pfc.tx_frames for an upper bound (gNMI: SONiC COUNTERS_DB; SNMP: "
			"CISCO-PFC-EXT-MIB)");
		gather(&t,
			"thresholds in force: read-back by gNMI, or `thresholds:` in the "
			"configuration");
		rests_on(&t, 1, "no pause counter");
	}
	set_id(&t);
}
