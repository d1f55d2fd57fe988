/* tune_sheet - writes the sheet of a plan, of a fault, and of a priority without either. Sentences
 * are those of the switch: "we paused X" is tx pause. */
#include "analyzers/tune/tune_sheet.h"

#include "analyzers/tune/tune_effect.h"
#include "analyzers/tune/tune_evidence.h"
#include "analyzers/tune/tune_rules.h"
#include "analyzers/tune/tune_world.h"
#include "config/class_policy.h"
#include "db/model/entity.h"

/* tune_basis - one hash over everything a sheet was computed from. */

static uint64_t mix_numbers(uint64_t hash, const double *values, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		/* not a number has many faces */
		double number = -1;
		if (!isnan(values[i]))
			number = values[i];
		hash = hash_bytes(&number, sizeof(number), hash);
	}
	return hash;
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
	if (text)
		return hash_bytes(text, strlen(text), hash);
	return hash_u64(hash);
}

uint64_t tune_basis(const struct tune_in *in)
{
	const struct tune_evidence *e = in->evidence;
	uint64_t h = in->fabric->id;
	for (size_t i = 0; i < e->n_devices; i++) {
		const struct tune_device *d = &e->devices[i];
		const double sizes[] = {d->pool_bytes, d->pool_slices, d->shp_ratio, d->cell_bytes};
		h = mix_numbers(mix_text(h, d->device->name), sizes, rw_countof(sizes));
		if (in->platforms)
			h = mix_text(mix_text(h, in->platforms[d->device->index].name),
				in->platforms[d->device->index].version);
		for (size_t k = 0; k < d->n_prios; k++) {
			const struct tune_prio *l = &d->prios[k];
			const double set[] = {l->pfc_enabled, l->alpha, l->headroom_bytes,
				l->xoff_level, l->xon_level, l->xon_offset, l->ecn_enabled, l->kmin,
				l->kmax, l->pmax};
			h = mix_numbers(mix_text(h, l->port->name), set, rw_countof(set));
			if (l->ecn_relative == 1) {
				const double shares[] = {1, l->kmin_ratio, l->kmax_ratio};
				h = mix_numbers(h, shares, rw_countof(shares));
			}
			h = mix_text(h, l->port->peer ? l->port->peer->name : l->port->host);
			h = hash_bytes(&l->port->cable_mm, sizeof(l->port->cable_mm), h);
		}
	}
	return h;
}

/* ---- tune_sheet ------------------------------------------------------------ */

/* Of step time: a smaller effect is noise (measured in simulation over several seeds). */
#define STEP_LIMIT 0.03
#define STEPS_JUDGED 20
#define RESIDUAL_GOOD 0.15 /* of q_PFC: as exact as the formula is */
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
static void sheet_collect(struct sheet *sheet, const char *what)
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

static void sheet_evidence(struct sheet *sheet, const char *metric,
	const struct fabric_device *device, const struct tune_prio *prio, double value,
	const char *unit, enum quality quality)
{
	if (!sheet->s->evidence)
		sheet->s->evidence = arena_array(sheet->a, struct evidence, LIST_MAX);
	if (isnan(value) || sheet->s->n_evidence == LIST_MAX)
		return;
	struct evidence *e = &sheet->s->evidence[sheet->s->n_evidence++];
	*e = (struct evidence){.metric = metric,
		.device = device->name,
		.priority = PRIO_NONE,
		.from_ns = sheet->s->from_ns,
		.to_ns = sheet->s->to_ns,
		.value = value,
		.unit = unit,
		.quality = quality};
	if (prio) {
		e->port = prio->port->name;
		e->priority = prio->priority;
	}
}

/* ---- sentences ----------------------------------------------------------- */

static const char *changes_text(struct arena *a, const struct tune_plan *plan)
{
	const char *text = "", *between = "";
	for (size_t i = 0; i < plan->n_changes; i++) {
		const struct tune_change *c = &plan->changes[i];
		const char *where = "";
		if (c->port_group)
			where = arena_printf(a, " (%s)", c->port_group);
		text = arena_printf(a, "%s%s%s%s %s -> %s", text, between, tune_knob_name(c->knob),
			where, tune_value_text(a, c->knob, c->current),
			tune_value_text(a, c->knob, c->proposed));
		between = ", ";
	}
	return text;
}

static const char *headroom_text(struct arena *a, const struct tune_site *site)
{
	const struct tune_prio *prio = site->short_of;
	const double used = prio->headroom.max / prio->headroom_bytes;
	const char *device = site->device->device->name, *port = prio->port->name,
		   *neighbour = tune_neighbour(prio), *use = "use of headroom unknown";
	if (!isnan(used))
		use = arena_printf(a, "headroom was used to %.0f %%", 100 * used);
	if (prio->pg_drops > 0)
		return arena_printf(a, "%s:%s lost %s frames of priority %d while we paused %s; %s",
			device, port, number_count_of(prio->pg_drops).s, site->priority, neighbour,
			use);
	return arena_printf(a, "%s:%s: %s while we paused %s (priority %d)", device, port, use,
		neighbour, site->priority);
}

/* "Kmin too high: PFC XOFF fires at 1.46 MB, Kmin must be below 730 KB; now 8.00 MB" */
static const char *tune_sheet_late_text(struct arena *a, const struct tune_plan *plan)
{
	const struct tune_site *site = plan->site;
	const double kmin = plan->like->kmin, kmin_most = site->q_pfc / 2;
	const char *pause = tune_pause_text(a, site);
	if (plan->ignored)
		return pause;
	if (tune_is_relative(site))
		return arena_printf(a, "%s. %s", pause, tune_relative_now(a, site));
	if (isnan(kmin) || isnan(site->q_pfc))
		return pause;
	const char *fires = tune_size_text(a, site->q_pfc), *by = "";
	/* detectors count on all of the pool, doses on what is certain */
	if (site->by_watermark)
		by = " (measured watermark)";
	else if (site->slices_unknown)
		by = arena_printf(a,
			" (counting on half of the pool, whose slices are unknown; %s with all of "
			"it)",
			tune_size_text(a, site->q_pfc_most));
	if (kmin > kmin_most)
		return arena_printf(a,
			"%s. Kmin too high: PFC XOFF fires at %s%s, Kmin must be below %s; now %s",
			pause, fires, by, tune_size_text(a, kmin_most), tune_size_text(a, kmin));
	return arena_printf(a, "%s. Kmin %s, PFC XOFF fires at %s%s, Kmax %s", pause,
		tune_size_text(a, kmin), fires, by,
		tune_value_text(a, KNOB_KMAX, plan->like->kmax));
}

static const char *why_text(struct arena *a, const struct tune_plan *plan)
{
	const struct tune_site *site = plan->site;
	const char *device = site->device->device->name;
	switch (plan->rule->row) {
	case 1: return headroom_text(a, site);
	case 2:
		return arena_printf(a,
			"%s: no headroom of priority %d was used by more than a quarter in a week",
			device, site->priority);
	case 3: return tune_sheet_late_text(a, plan);
	case 4:
		return arena_printf(a, "%s while its queue to %s marks %s",
			tune_pause_text(a, site), tune_neighbour(site->hot),
			tune_percent(a, site->marks));
	case 5:
		return arena_printf(a,
			"%s marks too early: %s CE at %s, no pause. Kmin %s is below one "
			"bandwidth-delay product (%s)",
			device, tune_percent(a, site->marks), site->hot->port->name,
			tune_value_text(a, KNOB_KMIN, plan->like->kmin),
			tune_value_text(a, KNOB_KMIN, site->bdp));
	case 11:
		return arena_printf(a, "%s: %s pauses a second of %.1f us at %s", device,
			number_count_of(site->flapping->episodes_per_s).s,
			site->flapping->episode_ns / 1e3, site->flapping->port->name);
	default: return tune_pause_text(a, site);
	}
}

/* ---- place --------------------------------------------------------------- */

static void add_affected(
	struct sheet *sheet, const char *device, const char *port, int priority, const char *object)
{
	sheet->s->affected[sheet->s->n_affected++] = (struct tune_object){
		.device = device, .port = port, .priority = priority, .object = object};
}

static bool changes_ecn(const struct tune_plan *plan)
{
	if (plan->rule->family == FAMILY_ECN_UP)
		return true;
	return plan->n_changes && plan->changes[0].knob >= KNOB_KMIN;
}

static bool is_meant(const struct tune_plan *plan, const struct tune_prio *prio)
{
	for (size_t i = 0; i < plan->n_prios; i++)
		if (plan->prios[i] == prio)
			return true;
	return false;
}

/* Everything that the changed object is bound to (safety rule 4). Where the platform does not say
 * whether it is shared: every queue with the same settings. */
static void sheet_affect(struct sheet *sheet, const struct tune_plan *plan,
	const struct tune_site **rest, size_t n_rest)
{
	const struct tune_device *device = plan->site->device;
	const struct tune_knob_rule *rule = NULL;
	if (plan->platform->profile && plan->n_changes)
		rule = &plan->platform->profile->knobs[plan->changes[0].knob];
	const bool shared = !rule || rule->shared;
	const char *object = "buffer profile";
	if (rule && rule->object)
		object = rule->object;
	else if (changes_ecn(plan))
		object = "ECN profile";
	sheet->s->affected =
		arena_array(sheet->a, struct tune_object, device->n_prios + n_rest + 1);
	for (size_t i = 0; i < device->n_prios; i++) {
		const struct tune_prio *prio = &device->prios[i];
		const bool same = shared &&
			tune_same_profile(plan->rule->family, device, prio, device, plan->like);
		if (same || is_meant(plan, prio))
			add_affected(sheet, device->device->name, prio->port->name, prio->priority,
				object);
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

static bool is_ecn_family(enum tune_family family)
{
	return family == FAMILY_ALPHA_THEN_ECN || family == FAMILY_ECN_UP;
}

static double weight_of_agreement(unsigned windows)
{
	if (windows >= 5)
		return 1;
	if (windows == 4)
		return 0.95;
	if (windows == 3)
		return 0.9;
	return 0.7;
}

static void weigh_signature(struct sheet *sheet, const struct tune_plan *plan)
{
	const struct tune_site *site = plan->site;
	unsigned agreeing = site->agreeing;
	rests_on(sheet, 1, "%s", plan->rule->rests_on);
	if (agreeing > TUNE_OF)
		agreeing = TUNE_OF;
	rests_on(sheet, weight_of_agreement(agreeing), "pattern seen in %u of the last %d windows",
		agreeing, TUNE_OF);
	for (size_t i = 0; i < site->signs.n_named; i++)
		if (site->signs.named[i] == plan->rule->cause)
			rests_on(sheet, 1.05, "an open incident names the same cause");
}

static void weigh_measures(struct sheet *sheet, const struct tune_plan *plan)
{
	const struct tune_site *site = plan->site;
	const int row = plan->rule->row;
	const bool by_pause = row == 3 || row == 4 || row == 11 || row == 0;
	if (by_pause && !site->measured)
		rests_on(sheet, 0.7, "pause time not measured: upper bound from PFC frame counts");
	if (!is_ecn_family(plan->rule->family))
		return;
	if (isnan(site->residual))
		rests_on(sheet, 0.95, "no queue watermark to check the computed q_PFC");
	else
		rests_on(sheet, site->residual < RESIDUAL_GOOD ? 1 : 0.85,
			"queue watermark and computed q_PFC differ by %.0f %%",
			100 * site->residual);
	if (site->slices_unknown)
		rests_on(sheet, 0.5, "buffer slicing unknown: assuming 50 %% of the pool");
}

/* "2m10s"; settings that never changed were read back with the newest sample. */
static const char *sheet_age_text(struct sheet *sheet, int64_t age_ns)
{
	char text[32];
	if (age_ns < 0)
		age_ns = 0;
	return arena_strdup(
		sheet->a, duration_format(text, sizeof(text), age_ns / NS_PER_S * NS_PER_S));
}

/* A peak above what is configured: one of the two is not what the switch goes by. */
static void weigh_headroom(struct sheet *sheet, const struct tune_plan *plan)
{
	for (const struct tune_prio *l = NULL; (l = tune_next_prio(plan->site, l));) {
		if (!(l->headroom.max > l->headroom_bytes) || l->headroom.standing)
			continue;
		rests_on(sheet, 0.9,
			"headroom of %s peaks at %s, above the %s that are configured: another "
			"size is in force, or the switch counts more than headroom",
			l->port->name, tune_size_text(sheet->a, l->headroom.max),
			tune_size_text(sheet->a, l->headroom_bytes));
		return;
	}
}

static void weigh_settings(struct sheet *sheet, const struct tune_plan *plan)
{
	const struct tune_prio *like = plan->like;
	if (like->declared)
		rests_on(sheet, 0.85,
			"thresholds are declared in the configuration, not all read back");
	else if (like->read_ns)
		rests_on(sheet, 1, "thresholds read back %s before the newest sample",
			sheet_age_text(sheet, sheet->in->now_ns - like->read_ns));
	weigh_headroom(sheet, plan);
	if (!plan->platform->profile)
		rests_on(sheet, 0.95, "platform unknown: values rounded to whole cells or KiB");
}

static void sheet_weigh(struct sheet *sheet, const struct tune_plan *plan)
{
	const double coverage = plan->site->device->coverage_ratio;
	sheet->s->confidence_ratio = plan->rule->confidence;
	weigh_signature(sheet, plan);
	weigh_measures(sheet, plan);
	weigh_settings(sheet, plan);
	rests_on(sheet, coverage, "%.1f %% of the samples are there", 100 * coverage);
	/* more than three digits would claim more than is known */
	const double bounded = fmin(0.99, fmax(0.01, sheet->s->confidence_ratio));
	sheet->s->confidence_ratio = rint(1000 * bounded) / 1000;
}

/* ---- evidence ------------------------------------------------------------ */

static enum quality exact_if(bool exact)
{
	if (exact)
		return QUALITY_EXACT;
	return QUALITY_ESTIMATED;
}

static void prove_queues(struct sheet *sheet, const struct tune_site *site)
{
	const struct fabric_device *d = site->device->device;
	const struct tune_prio *paused = site->paused, *hot = site->hot, *of = site->short_of;
	if (paused)
		sheet_evidence(sheet, "pfc.tx_pause_ratio", d, paused, paused->tx_pause_busy,
			"ratio", exact_if(paused->pause_measured));
	if (hot) {
		sheet_evidence(
			sheet, "queue.marked_ratio", d, hot, site->marks, "ratio", QUALITY_EXACT);
		sheet_evidence(sheet, "queue.watermark_bytes", d, hot, hot->queue.max, "bytes",
			exact_if(!hot->queue.standing));
	}
	if (of) {
		sheet_evidence(sheet, "pg.drops", d, of, of->pg_drops, "frames", QUALITY_EXACT);
		sheet_evidence(sheet, "pg.headroom_watermark_bytes", d, of, of->headroom.max,
			"bytes", exact_if(!of->headroom.censored));
	}
}

static void prove_settings(
	struct sheet *sheet, const struct tune_site *site, const struct tune_prio *like)
{
	const struct fabric_device *d = site->device->device;
	const enum quality set = exact_if(!like->declared);
	double alpha_exp = NAN; /* as switches write it: dynamic_th */
	if (like->alpha > 0)
		alpha_exp = log2(like->alpha);
	sheet_evidence(sheet, "cfg.pg_alpha_exp", d, like, alpha_exp, "log2", set);
	sheet_evidence(sheet, "cfg.pg_headroom_bytes", d, like, like->headroom_bytes, "bytes", set);
	sheet_evidence(sheet, "cfg.ecn_kmin_bytes", d, like, like->kmin, "bytes", set);
	sheet_evidence(sheet, "cfg.ecn_kmax_bytes", d, like, like->kmax, "bytes", set);
	sheet_evidence(sheet, "cfg.ecn_pmax_ratio", d, like, like->pmax, "ratio", set);
	if (like->ecn_relative != 1)
		return;
	sheet_evidence(sheet, "cfg.ecn_relative", d, like, 1, "-", set);
	sheet_evidence(sheet, "cfg.ecn_kmin_ratio", d, like, like->kmin_ratio, "ratio", set);
	sheet_evidence(sheet, "cfg.ecn_kmax_ratio", d, like, like->kmax_ratio, "ratio", set);
}

static void sheet_prove(
	struct sheet *sheet, const struct tune_site *site, const struct tune_prio *like)
{
	const struct fabric_device *d = site->device->device;
	prove_queues(sheet, site);
	if (like)
		prove_settings(sheet, site, like);
	sheet_evidence(sheet, "pfc.q_pfc_bytes", d, NULL, site->q_pfc, "bytes",
		exact_if(site->by_watermark));
	sheet_evidence(sheet, "cfg.buffer_pool_bytes", d, NULL, site->device->pool_bytes, "bytes",
		QUALITY_EXACT);
}

/* ---- the sheet ----------------------------------------------------------- */

void tune_sheet_name(uint64_t fabric_id, struct tune_sheet *sheet)
{
	static const char letters[] = "abcdefghijklmnopqrstuvwxyz234567";
	const struct tune_sheet *s = sheet;
	const char *const words[] = {
		s->device, s->port_group, s->diagnosis, s->n_ports == 1 ? s->ports[0] : NULL};
	uint64_t h = hash_bytes(&s->priority, sizeof(s->priority), fabric_id);
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
		const char *scope = s->changes[i].port_group;
		h = hash_bytes(v, sizeof(v), h);
		if (scope)
			h = hash_bytes(scope, strlen(scope) + 1, h);
	}
	for (int i = 0; i < 8; i++, h >>= 5)
		sheet->id[i] = letters[h & 31];
	sheet->id[8] = 0;
}

static void set_id(struct sheet *sheet)
{
	tune_sheet_name(sheet->in->fabric->id, sheet->s);
}

static struct sheet sheet_begin(const struct tune_in *in, const char *device, int priority,
	const char *diagnosis, enum tune_advice advice, struct tune_sheet *ret)
{
	const struct tune_evidence *e = in->evidence;
	struct class_world *world = arena_new_of(in->arena, struct class_world);
	const bool of_class = priority >= 0 && priority < FABRIC_CLASSES;
	if (of_class)
		tune_world_of(in, priority, world);
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
	if (of_class) {
		ret->world = class_world_words(world, in->arena);
		ret->differences = world->differences;
		ret->n_differences = world->n_differences;
	}
	return (struct sheet){.s = ret, .in = in, .a = in->arena};
}

/* " (expected -12 to 0 %, four times of five)"; empty: nothing is expected of it. */
static const char *step_expected_text(const struct sheet *sheet)
{
	for (size_t i = 0; i < sheet->s->n_expected; i++) {
		const struct tune_expect *expect = &sheet->s->expected[i];
		if (str_eq(expect->metric, "step_time"))
			return arena_printf(sheet->a,
				"; expected %+.0f to %+.0f %%, four times of five",
				100 * (expect->low - 1) + 0.0, 100 * (expect->high - 1) + 0.0);
	}
	return "";
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
		"any drop on priority %d, or step time p50 +%.0f %% over %d steps%s%s",
		sheet->s->priority, 100 * STEP_LIMIT, STEPS_JUDGED, above,
		step_expected_text(sheet));
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
					"once it is verified, change soon: %s%s (different "
					"thresholds within one tier are unfair to flows)",
					names, str_if(s->n_rest > 8, " ...")));
	}
	for (size_t i = 0; i < plan->n_next; i++)
		next_step(sheet, plan->next[i]);
	/* what is said there is about bytes */
	if (plan->rule->do_not && !plan->own_order &&
		!(is_ecn_family(plan->rule->family) && tune_is_relative(plan->site)))
		next_step(sheet, plan->rule->do_not);
}

static const char *plan_summary(struct arena *a, const struct tune_plan *plan,
	const struct tune_verdict *verdict, const char *because)
{
	switch (verdict->advice) {
	case ADVICE_CHANGE:
		return arena_printf(a, "%s. Change: %s", because, changes_text(a, plan));
	case ADVICE_BLOCKED:
		if (plan->pool_short)
			return arena_printf(a, "%s; no change: %s", because, plan->refused);
		if (plan->ignored)
			return arena_printf(a, "%s; no change: %s", because, plan->ignored);
		return arena_printf(
			a, "%s; no change: blocked by %s", because, verdict->blocked_by);
	case ADVICE_NONE:
		if (plan->left_alone)
			return arena_printf(a, "%s; no change: %s", because, plan->left_alone);
		return arena_printf(a, "%s; the thresholds are as they should be already", because);
	default:
		return arena_printf(
			a, "%s; watch: %s", because, str_or(verdict->why, "not enough is known"));
	}
}

double tune_confidence(const struct tune_plan *plan)
{
	struct tune_sheet scratch;
	struct sheet t = sheet_begin(plan->c->in, NULL, plan->site->priority,
		cause_name(plan->rule->cause), ADVICE_CHANGE, &scratch);
	sheet_weigh(&t, plan);
	return scratch.confidence_ratio;
}

/* An inequality that one bounded step does not reach is no contradiction, and the sheet says so. */
static struct tune_check check_said(struct arena *a, const struct tune_check *check)
{
	struct tune_check said = *check;
	if (!check->ok)
		said.text = arena_printf(a,
			"%s: not reached by this step; review again when it is verified",
			check->text);
	return said;
}

void sheet_of_plan(const struct tune_plan *plan, const struct tune_verdict *verdict,
	const struct tune_site **rest, size_t n_rest, struct tune_sheet *ret)
{
	const struct tune_in *in = plan->c->in;
	struct sheet t = sheet_begin(in, plan->site->device->device->name, plan->site->priority,
		cause_name(plan->rule->cause), verdict->advice, ret);
	ret->blocked_by = verdict->blocked_by;
	ret->coverage_ratio =
		fmin(plan->site->device->coverage_ratio, in->evidence->coverage_ratio);
	ret->port_group = plan_group_word(plan, plan->prios, plan->n_prios);
	ret->ports = arena_array(t.a, const char *, plan->n_prios + 1);
	for (size_t i = 0; i < plan->n_prios; i++)
		ret->ports[ret->n_ports++] = plan->prios[i]->port->name;
	ret->rest = arena_array(t.a, const char *, n_rest + 1);
	for (size_t i = 0; i < n_rest; i++)
		ret->rest[ret->n_rest++] = rest[i]->device->device->name;
	sheet_weigh(&t, plan);
	if (verdict->advice == ADVICE_CHANGE) {
		ret->changes = arena_array(t.a, struct tune_change, plan->n_changes);
		memcpy(ret->changes, plan->changes, plan->n_changes * sizeof(*plan->changes));
		ret->n_changes = plan->n_changes;
		ret->buffer_cost_bytes = plan->cost_bytes;
		sheet_affect(&t, plan, rest, n_rest);
		set_disruption(&t, plan);
		const bool alpha_first = plan->n_changes && plan->changes[0].knob == KNOB_ALPHA;
		if (alpha_first && plan->changes[0].proposed > plan->changes[0].current)
			ret->risk =
				"PFC fires later, so queues get deeper and latency of what shares "
				"them grows; this class takes a larger share of the pool, and "
				"the limit of the others shrinks";
		else
			ret->risk = plan->rule->risk;
		ret->checks = arena_array(t.a, struct tune_check, plan->n_checks + 1);
		ret->n_checks = plan->n_checks;
		for (size_t i = 0; i < plan->n_checks; i++)
			ret->checks[i] = check_said(t.a, &plan->checks[i]);
		if (tune_is_relative(plan->site))
			ret->not_expected = "the queue model counts in bytes, and ECN is in "
					    "relative mode here";
		else
			tune_expected(in, ret);
		if (!ret->n_expected)
			rests_on(&t, 1, "effect not predicted: %s",
				str_or(ret->not_expected,
					"too little is measured to calibrate "
					"the queue model"));
	}
	set_id(&t);
	set_rollback(&t);
	ret->summary = plan_summary(t.a, plan, verdict, why_text(t.a, plan));
	sheet_prove(&t, plan->site, plan->like);
	for (size_t i = 0; i < verdict->n_collect; i++)
		sheet_collect(&t, verdict->collect[i]);
	set_steps(&t, plan);
}

void sheet_of_fault(
	const struct tune_case *tune_case, const struct tune_fault *fault, struct tune_sheet *ret)
{
	struct sheet t = sheet_begin(tune_case->in, fault->device, fault->priority,
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
	struct sheet t = sheet_begin(tune_case->in, site->device->device->name, site->priority,
		cause_name(site->is->cause), ADVICE_FIX_FIRST, ret);
	ret->summary = arena_printf(t.a, "%s: %s", tune_pause_text(t.a, site), site->is->rests_on);
	ret->confidence_ratio = site->is->confidence;
	rests_on(&t, 1, "%s", site->is->rests_on);
	sheet_prove(&t, site, site->hot);
	for (size_t i = 0; i < CAUSE_STEPS_MAX && steps[i].text; i++)
		next_step(&t, steps[i].text);
	next_step(&t, site->is->do_not);
	set_id(&t);
}

/* The site whose hosts were paused longest; NULL: host pause is not known anywhere. */
static const struct tune_site *worst_site(const struct tune_case *tune_case, int priority)
{
	const struct tune_site *worst = NULL;
	for (size_t i = 0; i < tune_case->n_sites; i++) {
		const struct tune_site *site = &tune_case->sites[i];
		if (site->priority != priority || isnan(site->host_pause))
			continue;
		/* all sites of a tree know the most paused host, one has it */
		const bool has_it = worst && site->host_pause == worst->host_pause &&
			site->host_paused && !worst->host_paused;
		if (!worst || site->host_pause > worst->host_pause || has_it)
			worst = site;
	}
	return worst;
}

static bool hosts_paused(const struct tune_case *tune_case, int priority)
{
	for (size_t i = 0; i < tune_case->n_sites; i++) {
		const struct tune_site *site = &tune_case->sites[i];
		if (site->priority == priority && !isnan(site->host_pause) &&
			(site->signs.yes & T_HOSTS_PAUSED))
			return true;
	}
	return false;
}

/* How every kind of switch of the fabric tells pause, each once. */
static void collect_pause(struct sheet *sheet)
{
	const char *said = NULL;
	for (size_t i = 0; sheet->in->platforms && i < sheet->in->evidence->n_devices; i++) {
		const struct tune_device *device = &sheet->in->evidence->devices[i];
		const struct tune_platform *platform = tune_platform_of(sheet->in, device);
		const char *how = tune_need_how(NEED_PAUSE, platform);
		if (!how || (said && str_eq(how, said)))
			continue;
		sheet_collect(sheet, tune_need_text(sheet->a, NEED_PAUSE, platform));
		said = how;
	}
	if (!said)
		sheet_collect(sheet, tune_need_text(sheet->a, NEED_PAUSE, NULL));
	sheet_collect(sheet,
		"thresholds in force: read back by a collector, or declared under `thresholds:`");
}

static void rest_by_policy(struct sheet *sheet, const struct tune_site *worst)
{
	const enum congestion_policy policy =
		class_congestion(sheet->in->fabric, sheet->s->priority);
	const char *how = "which works by pause";
	if (!class_pause_wanted(sheet->in->fabric, sheet->s->priority))
		how = "which has no pause frames: somebody sends them against that";
	else if (policy != CC_PFC_ONLY)
		how = "for which pause is not the brake";
	sheet->s->summary = arena_printf(sheet->a,
		"priority %d: hosts are paused up to %s of busy time. The congestion policy of the "
		"site is %s, %s: no thresholds are advised",
		sheet->s->priority, tune_percent(sheet->a, worst->host_pause),
		congestion_policy_name(policy), how);
	rests_on(sheet, 1, "the congestion policy of the site");
}

static void rest_good(struct sheet *sheet, const struct tune_site *worst)
{
	const char *pause = "no host was paused", *how = "measured";
	if (worst->host_pause > 0)
		pause = arena_printf(sheet->a, "no host was paused more than %s%s of busy time",
			str_if(!worst->measured, "(at most) "),
			tune_percent(sheet->a, worst->host_pause));
	if (!worst->measured)
		how = "upper bound of";
	sheet->s->summary = arena_printf(
		sheet->a, "priority %d: %s: leave the thresholds alone", sheet->s->priority, pause);
	rests_on(sheet, 1, "%s pause of all hosts seen, %.1f %% of the samples are there", how,
		100 * sheet->s->coverage_ratio);
}

static void rest_without_root(struct sheet *sheet, const struct tune_site *worst)
{
	sheet->s->summary = arena_printf(sheet->a,
		"priority %d: hosts are paused up to %s of busy time, no single origin found",
		sheet->s->priority, tune_percent(sheet->a, worst->host_pause));
	sheet_collect(sheet,
		"samples of all switches of the fabric: pause on the links between them shows "
		"where it begins");
	rests_on(sheet, 1, "pause of hosts without an origin");
}

static void rest_unknown(struct sheet *sheet)
{
	sheet->s->summary = arena_printf(sheet->a,
		"priority %d: no pause counter of a port to a host, so thresholds cannot be judged",
		sheet->s->priority);
	collect_pause(sheet);
	rests_on(sheet, 1, "no pause counter");
}

static double rest_confidence(bool good, const struct tune_site *worst)
{
	if (!good)
		return 0.3;
	if (worst->measured)
		return 0.9;
	return 0.6;
}

void sheet_of_rest(const struct tune_case *tune_case, int priority, struct tune_sheet *ret)
{
	const struct tune_site *worst = worst_site(tune_case, priority);
	const bool paused = hosts_paused(tune_case, priority),
		   dcqcn = class_policy_of(class_congestion(tune_case->in->fabric, priority))
				   ->dcqcn,
		   good = worst && (!paused || !dcqcn);
	const char *diagnosis = "unknown";
	enum tune_advice advice = ADVICE_WATCH;
	if (good) {
		diagnosis = "none";
		advice = ADVICE_NONE;
	}
	struct sheet sheet = sheet_begin(tune_case->in, NULL, priority, diagnosis, advice, ret);
	ret->confidence_ratio = rest_confidence(good, worst);
	if (worst) {
		struct tune_site shown = *worst;
		if (shown.host_paused && worst->host_pause > 0)
			shown.paused = shown.host_paused;
		sheet_prove(&sheet, &shown, worst->hot);
	}
	if (good && paused)
		rest_by_policy(&sheet, worst);
	else if (good)
		rest_good(&sheet, worst);
	else if (paused)
		rest_without_root(&sheet, worst);
	else
		rest_unknown(&sheet);
	set_id(&sheet);
}
