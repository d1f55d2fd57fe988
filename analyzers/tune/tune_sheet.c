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
#include "analyzers/tune/tune_basis.h"
#include "analyzers/tune/tune_effect.h"
#include "analyzers/tune/tune_fault.h"
#include "analyzers/tune/tune_words.h"
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

static void add_word(struct sheet *sheet, const char ***list, size_t *n, const char *what)
{
	if (!*list)
		*list = arena_array(sheet->a, const char *, LIST_MAX);
	if (what && *n < LIST_MAX)
		(*list)[(*n)++] = what;
}
static void next_step(struct sheet *sheet, const char *what)
{
	add_word(sheet, &sheet->s->next_steps, &sheet->s->n_next_steps, what);
}
static void tune_sheet_gather(struct sheet *sheet, const char *what)
{
	add_word(sheet, &sheet->s->collect, &sheet->s->n_collect, what);
}

static __attribute__((format(printf, 3, 4))) void rests_on(
	struct sheet *sheet, double factor, const char *fmt, ...)
{
	char buf[256];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	sheet->s->confidence_ratio *= factor;
	add_word(sheet, &sheet->s->confidence_inputs, &sheet->s->n_confidence_inputs,
		arena_strdup(sheet->a, buf));
}

static void tune_sheet_evidence(struct sheet *sheet, const char *metric,
	const struct fabric_device *device, const struct tune_prio *prio, double value,
	const char *unit, enum quality quality)
{
	if (!sheet->s->evidence)
		sheet->s->evidence = arena_array(sheet->a, struct evidence, LIST_MAX);
	if (!isnan(value) && sheet->s->n_evidence < LIST_MAX)
		sheet->s->evidence[sheet->s->n_evidence++] = (struct evidence){.metric = metric,
			.device = device->name,
			.port = prio ? prio->port->name : NULL,
			.priority = prio ? prio->priority : PRIO_NONE,
			.from_ns = sheet->s->from_ns,
			.to_ns = sheet->s->to_ns,
			.value = value,
			.unit = unit,
			.quality = quality};
}

/* ---- sentences ----------------------------------------------------------- */

static const char *changes_text(struct arena *a, const struct tune_plan *plan)
{
	const char *s = "";
	for (size_t i = 0; i < plan->n_changes; i++) {
		const struct tune_change *c = &plan->changes[i];
		s = arena_printf(a, "%s%s%s %s -> %s", s, str_if(i, ", "), tune_knob_name(c->knob),
			tune_value_text(a, c->knob, c->current),
			tune_value_text(a, c->knob, c->proposed));
	}
	return s;
}

static const char *headroom_text(struct arena *a, const struct tune_site *site)
{
	const struct tune_prio *l = site->short_of;
	const double used = l->headroom.max / l->headroom_bytes;
	const char *use = "use of headroom is not told";
	if (!isnan(used))
		use = arena_printf(a, "headroom was used to %.0f %%", 100 * used);
	if (l->pg_drops > 0)
		return arena_printf(a,
			"%s:%s lost %.0f frames of priority %d while we paused %s; %s",
			site->device->device->name, l->port->name, l->pg_drops, site->priority,
			tune_neighbour(l), use);
	return arena_printf(a, "%s:%s: %s while we paused %s (priority %d)",
		site->device->device->name, l->port->name, use, tune_neighbour(l), site->priority);
}

static const char *why_text(struct arena *a, const struct tune_plan *plan)
{
	const struct tune_site *p = plan->site;
	switch (plan->rule->row) {
	case 1: return headroom_text(a, p);
	case 2:
		return arena_printf(a,
			"%s: no headroom of priority %d was used by more than a quarter in a week",
			p->device->device->name, p->priority);
	case 3:
		if (!isnan(plan->like->kmin) && !isnan(p->q_pfc))
			return arena_printf(a, "%s; Kmin %s, PFC fires at %s%s",
				tune_pause_text(a, p), tune_size_text(a, plan->like->kmin),
				tune_size_text(a, p->q_pfc),
				str_if(p->by_watermark, " (watermark)"));
		return tune_pause_text(a, p);
	case 4:
		return arena_printf(a, "%s while its queue to %s marks %s", tune_pause_text(a, p),
			tune_neighbour(p->hot), tune_percent(a, p->marks));
	case 5:
		return arena_printf(a,
			"%s marks %s of what it sends at %s and pauses nobody; Kmin %s is below "
			"one bandwidth-delay product (%s)",
			p->device->device->name, tune_percent(a, p->marks), p->hot->port->name,
			tune_value_text(a, KNOB_KMIN, plan->like->kmin),
			tune_value_text(a, KNOB_KMIN, p->bdp));
	case 11:
		return arena_printf(a, "%s: %.0f pauses a second of %.1f us at %s",
			p->device->device->name, p->flapping->episodes_per_s,
			p->flapping->episode_ns / 1e3, p->flapping->port->name);
	default: return tune_pause_text(a, p);
	}
}

/* ---- place --------------------------------------------------------------- */

static const char *tune_sheet_group_of(struct arena *a, const struct tune_plan *plan)
{
	size_t hosts = 0, others = 0, all_hosts = 0, all_others = 0;
	for (size_t i = 0; i < plan->n_prios; i++)
		*(plan->prios[i]->port->host ? &hosts : &others) += 1;
	for (const struct tune_prio *l = NULL; (l = tune_next_prio(plan->site, l));)
		*(l->port->host ? &all_hosts : &all_others) += 1;
	if (hosts + others == 1 && all_hosts + all_others > 1)
		return arena_strdup(a, plan->prios[0]->port->name);
	if (hosts == all_hosts && others == all_others)
		return "all";
	if (hosts == all_hosts && !others)
		return "hosts";
	if (others == all_others && !hosts)
		return "uplinks";
	return arena_printf(a, "%zu ports", hosts + others);
}

static void add_affected(
	struct sheet *sheet, const char *device, const char *port, int priority, const char *object)
{
	sheet->s->affected[sheet->s->n_affected++] = (struct tune_object){
		.device = device, .port = port, .priority = priority, .object = object};
}

/* Blast radius: all that is bound to what is rendered (rule 4). Not known whose it is: everything
 * that is set alike. */
static void tune_sheet_affect(struct sheet *sheet, const struct tune_plan *plan,
	const struct tune_site **rest, size_t n_rest)
{
	const struct tune_device *d = plan->site->device;
	const struct tune_knob_rule *rule = NULL;
	if (plan->platform->profile && plan->n_changes)
		rule = &plan->platform->profile->knobs[plan->changes[0].knob];
	const char *object = "buffer profile";
	if (rule && rule->object)
		object = rule->object;
	else if (plan->rule->family == FAMILY_ECN_UP || plan->rule->family == FAMILY_KMAX ||
		(plan->n_changes && plan->changes[0].knob >= KNOB_KMIN))
		object = "ECN profile";
	sheet->s->affected = arena_array(sheet->a, struct tune_object, d->n_prios + n_rest + 1);
	for (size_t i = 0; i < d->n_prios; i++) {
		bool meant = false;
		for (size_t k = 0; k < plan->n_prios; k++)
			meant = meant || plan->prios[k] == &d->prios[i];
		if (meant ||
			((!rule || rule->shared) &&
				tune_same_profile(plan->rule->family, &d->prios[i], plan->like)))
			add_affected(sheet, d->device->name, d->prios[i].port->name,
				d->prios[i].priority, object);
	}
	for (size_t i = 0; i < n_rest; i++)
		add_affected(
			sheet, rest[i]->device->device->name, NULL, plan->site->priority, object);
}

static void set_disruption(struct sheet *sheet, const struct tune_plan *plan)
{
	enum tune_disruption worst = DISRUPTION_UNKNOWN;
	if (plan->platform->profile)
		worst = DISRUPTION_HITLESS;
	for (size_t i = 0; plan->platform->profile && i < plan->n_changes; i++) {
		const enum tune_disruption d =
			plan->platform->profile->knobs[plan->changes[i].knob].disruption;
		if (d > worst)
			worst = d;
	}
	sheet->s->disruption = worst;
	sheet->s->job_boundary = worst != DISRUPTION_HITLESS;
}

/* ---- how sure ------------------------------------------------------------ */

static void tune_sheet_weigh(struct sheet *sheet, const struct tune_plan *plan)
{
	const struct tune_site *at = plan->site;
	const enum tune_family f = plan->rule->family;
	const bool by_pause = plan->rule->row == 3 || plan->rule->row == 4 ||
		plan->rule->row == 11 || plan->rule->row == 0;
	sheet->s->confidence_ratio = plan->rule->confidence;
	rests_on(sheet, 1, "%s", plan->rule->rests_on);
	rests_on(sheet,
		at->agreeing >= 5           ? 1
			: at->agreeing == 4 ? 0.95
			: at->agreeing == 3 ? 0.9
					    : 0.7,
		"the signature held in %u of the last %d windows",
		at->agreeing > TUNE_OF ? TUNE_OF : at->agreeing, TUNE_OF);
	for (size_t i = 0; i < at->signs.n_told; i++)
		if (at->signs.told[i] == plan->rule->cause)
			rests_on(sheet, 1.05, "an open incident names the same cause");
	if (by_pause && !at->measured)
		rests_on(sheet, 0.7, "pause is an upper bound from frame counts, not measured");
	if (f == FAMILY_ALPHA_THEN_ECN || f == FAMILY_ALPHA_OR_ECN || f == FAMILY_KMAX ||
		f == FAMILY_ECN_UP) {
		if (isnan(at->residual))
			rests_on(sheet, 0.95,
				"no queue watermark to hold the computed q_PFC against");
		else
			rests_on(sheet, at->residual < RESIDUAL_GOOD ? 1 : 0.85,
				"queue watermark and computed q_PFC differ by %.0f %%",
				100 * at->residual);
	}
	if (at->slices_unknown &&
		(f == FAMILY_ALPHA_THEN_ECN || f == FAMILY_ALPHA_OR_ECN || f == FAMILY_KMAX ||
			f == FAMILY_ECN_UP))
		rests_on(sheet, 0.5,
			"slicing of the shared buffer is not known: half of it is counted on");
	if (plan->like->declared)
		rests_on(sheet, 0.85,
			"thresholds are declared in the configuration, not all read back");
	else if (plan->like->read_ns)
		rests_on(sheet, 1, "thresholds read back %.1f h before",
			(double)(sheet->in->now_ns - plan->like->read_ns) / 3600e9);
	if (!plan->platform->profile)
		rests_on(sheet, 0.95,
			"what kind of switch it is, is not known: values are rounded to whole "
			"cells, or KiB");
	rests_on(sheet, at->device->coverage_ratio, "%.1f %% of the samples are there",
		100 * at->device->coverage_ratio);
	/* more digits would claim more */
	sheet->s->confidence_ratio =
		rint(1000 * fmin(0.99, fmax(0.01, sheet->s->confidence_ratio))) / 1000;
}

/* ---- evidence ------------------------------------------------------------ */

static void tune_sheet_prove(
	struct sheet *sheet, const struct tune_site *site, const struct tune_prio *like)
{
	const struct fabric_device *d = site->device->device;
	enum quality set = QUALITY_EXACT;
	if (like && like->declared)
		set = QUALITY_ESTIMATED;
	if (site->paused)
		tune_sheet_evidence(sheet, "pfc.tx_pause_ratio", d, site->paused,
			site->paused->tx_pause_busy, "ratio",
			site->paused->pause_measured ? QUALITY_EXACT : QUALITY_ESTIMATED);
	if (site->hot) {
		tune_sheet_evidence(sheet, "queue.marked_ratio", d, site->hot, site->marks, "ratio",
			QUALITY_EXACT);
		tune_sheet_evidence(sheet, "queue.watermark_bytes", d, site->hot,
			site->hot->queue.max, "bytes",
			site->hot->queue.standing ? QUALITY_ESTIMATED : QUALITY_EXACT);
	}
	if (site->short_of) {
		tune_sheet_evidence(sheet, "pg.drops", d, site->short_of, site->short_of->pg_drops,
			"frames", QUALITY_EXACT);
		tune_sheet_evidence(sheet, "pg.headroom_watermark_bytes", d, site->short_of,
			site->short_of->headroom.max, "bytes",
			site->short_of->headroom.censored ? QUALITY_ESTIMATED : QUALITY_EXACT);
	}
	if (like) {
		/* dynamic_th, as switches write it */
		tune_sheet_evidence(sheet, "cfg.pg_alpha_exp", d, like,
			like->alpha > 0 ? log2(like->alpha) : NAN, "-", set);
		tune_sheet_evidence(sheet, "cfg.pg_headroom_bytes", d, like, like->headroom_bytes,
			"bytes", set);
		tune_sheet_evidence(sheet, "cfg.ecn_kmin_bytes", d, like, like->kmin, "bytes", set);
		tune_sheet_evidence(sheet, "cfg.ecn_kmax_bytes", d, like, like->kmax, "bytes", set);
		tune_sheet_evidence(sheet, "cfg.ecn_pmax_ratio", d, like, like->pmax, "ratio", set);
	}
	tune_sheet_evidence(sheet, "pfc.q_pfc_bytes", d, NULL, site->q_pfc, "bytes",
		site->by_watermark ? QUALITY_EXACT : QUALITY_ESTIMATED);
	tune_sheet_evidence(sheet, "cfg.buffer_pool_bytes", d, NULL, site->device->pool_bytes,
		"bytes", QUALITY_EXACT);
}

/* ---- the sheet ----------------------------------------------------------- */

static void set_id(struct sheet *sheet)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
	const struct tune_sheet *s = sheet->s;
	const char *const words[] = {
		s->device, s->port_group, s->diagnosis, s->n_ports == 1 ? s->ports[0] : NULL};
	uint64_t h = hash_bytes(&s->priority, sizeof(s->priority), sheet->in->fabric->id);
	for (size_t i = 0; i < rw_countof(words); i++) {
		if (words[i])
			h = hash_bytes(words[i], strlen(words[i]) + 1, h);
		else
			h = hash_u64(h);
	}
	for (size_t i = 0; i < s->n_changes; i++) {
		const double v[] = {(double)s->changes[i].knob,
			isnan(s->changes[i].current) ? -1 : s->changes[i].current,
			s->changes[i].proposed};
		h = hash_bytes(v, sizeof(v), h);
	}
	for (int i = 0; i < 8; i++, h >>= 5)
		sheet->s->id[i] = letters[h & 31];
	sheet->s->id[8] = 0;
}

static struct sheet tune_sheet_begin(const struct tune_in *in, const char *device, int priority,
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

static void set_rollback(struct sheet *sheet)
{
	int64_t step_ns = 0;
	for (size_t i = 0; i < sheet->in->fabric->n_jobs; i++) {
		if (sheet->in->fabric->jobs[i].step_ns > step_ns)
			step_ns = sheet->in->fabric->jobs[i].step_ns;
	}
	const char *above = "";
	if (step_ns)
		above = arena_printf(sheet->a, " (declared %.0f ms: above %.0f ms)",
			(double)step_ns / 1e6, (double)step_ns / 1e6 * (1 + STEP_LIMIT));
	sheet->s->rollback_if = arena_printf(sheet->a,
		"any drop on priority %d, or step time p50 +%.0f %% over %d steps%s",
		sheet->s->priority, 100 * STEP_LIMIT, STEPS_JUDGED, above);
}

static void set_steps(struct sheet *sheet, const struct tune_plan *plan)
{
	struct tune_sheet *s = sheet->s;
	if (s->advice == ADVICE_CHANGE) {
		next_step(sheet,
			arena_printf(sheet->a,
				"canary: apply to %s%s, then rocewatch tune verify %s", s->device,
				str_if(s->job_boundary, " at a job boundary"), s->id));
		const char *names = "";
		for (size_t i = 0; i < s->n_rest && i < 8; i++)
			names = arena_printf(sheet->a, "%s%s%s", names, str_if(i, " "), s->rest[i]);
		if (s->n_rest)
			next_step(sheet,
				arena_printf(sheet->a,
					"when it is verified, soon after: %s%s (different "
					"thresholds within one tier are unfair to flows)",
					names, str_if(s->n_rest > 8, " ...")));
	}
	for (size_t i = 0; i < plan->n_next; i++)
		next_step(sheet, plan->next[i]);
	if (plan->rule->do_not)
		next_step(sheet, plan->rule->do_not);
}

static const char *plan_summary(struct arena *a, const struct tune_plan *plan,
	const struct tune_verdict *verdict, const char *because)
{
	switch (verdict->advice) {
	case ADVICE_CHANGE: return arena_printf(a, "%s: %s", because, changes_text(a, plan));
	case ADVICE_BLOCKED:
		return arena_printf(
			a, "%s; nothing is changed because of %s", because, verdict->blocked_by);
	case ADVICE_NONE:
		return arena_printf(
			a, "%s; the thresholds are where they should be already", because);
	default:
		return arena_printf(
			a, "%s; watch: %s", because, str_or(verdict->why, "not enough is known"));
	}
}

double tune_confidence(const struct tune_plan *plan)
{
	struct tune_sheet scratch;
	struct sheet t = tune_sheet_begin(plan->c->in, NULL, plan->site->priority,
		cause_name(plan->rule->cause), ADVICE_CHANGE, &scratch);
	tune_sheet_weigh(&t, plan);
	return scratch.confidence_ratio;
}

void sheet_of_plan(const struct tune_plan *plan, const struct tune_verdict *verdict,
	const struct tune_site **rest, size_t n_rest, struct tune_sheet *ret)
{
	const struct tune_in *in = plan->c->in;
	struct sheet t = tune_sheet_begin(in, plan->site->device->device->name,
		plan->site->priority, cause_name(plan->rule->cause), verdict->advice, ret);
	ret->blocked_by = verdict->blocked_by;
	ret->coverage_ratio =
		fmin(plan->site->device->coverage_ratio, in->evidence->coverage_ratio);
	ret->port_group = tune_sheet_group_of(t.a, plan);
	ret->ports = arena_array(t.a, const char *, plan->n_prios + 1);
	for (size_t i = 0; i < plan->n_prios; i++)
		ret->ports[ret->n_ports++] = plan->prios[i]->port->name;
	ret->rest = arena_array(t.a, const char *, n_rest + 1);
	for (size_t i = 0; i < n_rest; i++)
		ret->rest[ret->n_rest++] = rest[i]->device->device->name;
	tune_sheet_weigh(&t, plan);
	if (verdict->advice == ADVICE_CHANGE) {
		ret->changes = arena_array(t.a, struct tune_change, plan->n_changes);
		memcpy(ret->changes, plan->changes, plan->n_changes * sizeof(*plan->changes));
		ret->n_changes = plan->n_changes;
		ret->buffer_cost_bytes = plan->cost_bytes;
		tune_sheet_affect(&t, plan, rest, n_rest);
		set_disruption(&t, plan);
		if (plan->n_changes && plan->changes[0].knob == KNOB_ALPHA)
			ret->risk = "PFC later means deeper queues: latency of what shares them "
				    "grows; this "
				    "class takes a larger share of the pool, and the limit of the "
				    "others "
				    "shrinks";
		else
			ret->risk = plan->rule->risk;
		ret->checks = arena_array(t.a, struct tune_check, plan->n_checks + 1);
		memcpy(ret->checks, plan->checks, plan->n_checks * sizeof(*plan->checks));
		ret->n_checks = plan->n_checks;
		tune_expected(in, ret);
		if (!ret->n_expected)
			rests_on(&t, 1,
				"the effect is not predicted: the queue model has nothing to be "
				"calibrated by");
	}
	set_id(&t);
	set_rollback(&t);
	ret->summary = plan_summary(t.a, plan, verdict, why_text(t.a, plan));
	tune_sheet_prove(&t, plan->site, plan->like);
	for (size_t i = 0; i < verdict->n_collect; i++)
		tune_sheet_gather(&t, verdict->collect[i]);
	set_steps(&t, plan);
}

void sheet_of_fault(
	const struct tune_case *tune_case, const struct tune_fault *fault, struct tune_sheet *ret)
{
	struct sheet t = tune_sheet_begin(tune_case->in, fault->device, fault->priority,
		cause_name(fault->cause), ADVICE_FIX_FIRST, ret);
	if (fault->port)
		ret->port_group = fault->port;
	else if (fault->host)
		ret->port_group = fault->host;
	else
		ret->port_group = "all";
	if (fault->port) {
		ret->ports = arena_array(t.a, const char *, 1);
		ret->ports[ret->n_ports++] = fault->port;
	}
	ret->blocked_by = fault->id;
	ret->summary = fault->summary;
	ret->confidence_ratio = fault->confidence;
	if (fault->proof.metric) {
		ret->evidence = arena_array(t.a, struct evidence, 1);
		ret->evidence[ret->n_evidence++] = fault->proof;
	}
	rests_on(&t, 1, "%s",
		fault->id ? arena_printf(t.a, "incident %s", fault->id)
			  : "the evidence of this range; no incident was raised");
	for (size_t i = 0; i < fault->n_steps; i++)
		next_step(&t, fault->steps[i]);
	set_id(&t);
}

void sheet_of_rule(
	const struct tune_case *tune_case, const struct tune_site *site, struct tune_sheet *ret)
{
	const struct cause_step *steps = cause_info(site->is->cause)->steps;
	struct sheet t = tune_sheet_begin(tune_case->in, site->device->device->name, site->priority,
		cause_name(site->is->cause), ADVICE_FIX_FIRST, ret);
	ret->summary = arena_printf(t.a, "%s: %s", tune_pause_text(t.a, site), site->is->rests_on);
	ret->confidence_ratio = site->is->confidence;
	rests_on(&t, 1, "%s", site->is->rests_on);
	tune_sheet_prove(&t, site, site->hot);
	for (size_t i = 0; i < CAUSE_STEPS_MAX && steps[i].text; i++)
		next_step(&t, steps[i].text);
	next_step(&t, site->is->do_not);
	set_id(&t);
}

void sheet_of_rest(const struct tune_case *tune_case, int priority, struct tune_sheet *ret)
{
	double worst = NAN;
	bool measured = true, paused = false;
	const struct tune_site *at = NULL;
	for (size_t i = 0; i < tune_case->n_sites; i++) {
		const struct tune_site *p = &tune_case->sites[i];
		if (p->priority != priority || isnan(p->host_pause))
			continue;
		paused = paused || p->signs.yes & T_HOSTS_PAUSED;
		if (!(p->host_pause <= worst)) {
			worst = p->host_pause;
			measured = p->measured;
			at = p;
		}
	}
	const enum congestion_policy cc = tune_case->in->fabric->congestion;
	const bool good = !isnan(worst) && (!paused || cc != CC_DCQCN);
	struct sheet t = tune_sheet_begin(tune_case->in, NULL, priority,
		good ? "none" : cause_name(CAUSE_UNKNOWN), good ? ADVICE_NONE : ADVICE_WATCH, ret);
	if (good) {
		if (measured)
			ret->confidence_ratio = 0.9;
		else
			ret->confidence_ratio = 0.6;
	} else {
		ret->confidence_ratio = 0.3;
	}
	if (at)
		tune_sheet_prove(&t, at, at->hot);
	if (good && paused) {
		ret->summary = arena_printf(t.a,
			"priority %d: hosts are paused up to %s of busy time, which is how a site "
			"of policy %s works: no thresholds are advised",
			priority, tune_percent(t.a, worst), congestion_policy_name(cc));
		rests_on(&t, 1, "the policy of the site");
	} else if (good) {
		const char *pause = "no host was paused";
		if (worst > 0)
			pause = arena_printf(t.a, "no host was paused more than %s%s of busy time",
				str_if(!measured, "(at most) "), tune_percent(t.a, worst));
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
		tune_sheet_gather(&t,
			"all switches of the fabric: pause of the links between them tells where "
			"it begins");
		rests_on(&t, 1, "pause of hosts without a root");
	} else {
		ret->summary = arena_printf(t.a,
			"priority %d: it is not seen whether hosts are paused, so nothing can be "
			"said about thresholds",
			priority);
		tune_sheet_gather(&t,
			"pause per priority at the ports to hosts: pfc.tx_pause_ns, or "
			"pfc.tx_frames for an upper bound (gNMI: SONiC COUNTERS_DB; SNMP: "
			"CISCO-PFC-EXT-MIB)");
		tune_sheet_gather(&t,
			"thresholds in force: read-back by gNMI, or `thresholds:` in the "
			"configuration");
		rests_on(&t, 1, "no pause counter");
	}
	set_id(&t);
}
