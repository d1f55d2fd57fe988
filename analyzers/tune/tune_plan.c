/* tune_plan - puts a plan together: one value after the other, each rounded as the platform rounds
 * it (see the header). */
#include "analyzers/tune/tune_plan.h"

#include "analyzers/measure/formulas.h"

#define BY_SPEED 0.01 /* of Kmin or Kmax per bit/s */

void plan_collect(struct tune_plan *plan, const char *what)
{
	for (size_t i = 0; i < plan->n_collect; i++)
		if (str_eq(plan->collect[i], what))
			return;
	if (plan->n_collect < PLAN_WORDS)
		plan->collect[plan->n_collect++] = what;
}

void plan_next(struct tune_plan *plan, const char *what)
{
	if (what && plan->n_next < PLAN_WORDS)
		plan->next[plan->n_next++] = what;
}

void plan_need(struct tune_plan *plan, enum tune_need need)
{
	plan_collect(plan, tune_need_text(plan->c->in->arena, need, plan->platform));
}

void plan_check(struct tune_plan *plan, const char *text, double before, double after, double limit,
	const char *unit, bool ok)
{
	if (plan->n_checks < PLAN_CHECKS && !(isnan(before) && isnan(after)))
		plan->checks[plan->n_checks++] = (struct tune_check){.text = text,
			.before = before,
			.after = after,
			.limit = limit,
			.unit = unit,
			.ok = ok};
}

static bool tune_plan_same_number(double left, double right)
{
	return left == right || (isnan(left) && isnan(right));
}

/* The same share of a second at line rate: cells and whole KiB round it. */
static bool same_per_speed(double left, double left_bps, double right, double right_bps)
{
	return fabs(left / left_bps - right / right_bps) <= BY_SPEED * left / left_bps;
}

/* Of ports of different speed Kmax tells nothing: the pool bounds it, that of the faster one first.
 */
static bool same_ramp(const struct tune_device *device, const struct tune_prio *prio,
	const struct tune_device *like_device, const struct tune_prio *like)
{
	if (tune_plan_same_number(prio->kmin, like->kmin) &&
		tune_plan_same_number(prio->kmax, like->kmax))
		return true;
	const double here = tune_speed(device, prio->port),
		     there = tune_speed(like_device, like->port);
	return here != there && same_per_speed(prio->kmin, here, like->kmin, there);
}

bool tune_same_profile(enum tune_family family, const struct tune_device *device,
	const struct tune_prio *prio, const struct tune_device *like_device,
	const struct tune_prio *like)
{
	switch (family) {
	case FAMILY_HEADROOM:
	case FAMILY_LESS_HEADROOM:
		return tune_plan_same_number(prio->headroom_bytes, like->headroom_bytes);
	case FAMILY_XON:
		return tune_plan_same_number(prio->xon_offset, like->xon_offset) &&
			tune_plan_same_number(prio->xon_level, like->xon_level);
	default:
		return same_ramp(device, prio, like_device, like) &&
			tune_plan_same_number(prio->pmax, like->pmax) &&
			tune_plan_same_number(prio->ecn_relative, like->ecn_relative) &&
			tune_plan_same_number(prio->alpha, like->alpha);
	}
}

void plan_prios(struct tune_plan *plan,
	bool (*wanted)(const struct tune_plan *plan, const struct tune_prio *prio))
{
	plan->prios = arena_array(
		plan->c->in->arena, const struct tune_prio *, plan->site->device->n_prios + 1);
	plan->n_prios = 0;
	for (const struct tune_prio *l = NULL; (l = tune_next_prio(plan->site, l));)
		if (wanted(plan, l))
			plan->prios[plan->n_prios++] = l;
}

/* NAN unknown. */
static double plan_cell(const struct tune_plan *plan)
{
	const double told = plan->site->device->cell_bytes;
	const struct tune_asic *asic = plan->platform->asic;
	if (told > 0)
		return told;
	if (asic && asic->cell_bytes > 0)
		return asic->cell_bytes;
	return NAN;
}

bool plan_settable(const struct tune_plan *plan, enum tune_knob knob)
{
	return !plan->platform->profile ||
		tune_rule_applies(&plan->platform->profile->knobs[knob], plan->platform->name);
}

static double round_to(double value, double unit, enum tune_round how)
{
	const double n = value / unit;
	if (how == TUNE_UP)
		return ceil(n - 1e-9) * unit;
	return floor(n + 1e-9) * unit;
}

/* As the platform writes it; where that is not known, in whole cells, else KiB (alpha: powers of
 * two as they come). Never below @least. */
static double knob_round(
	const struct tune_plan *plan, enum tune_knob knob, double value, double least)
{
	const double cell = plan_cell(plan);
	double unit = cell;
	if (isnan(cell))
		unit = 1024;
	if (!plan->platform->profile) {
		if (knob == KNOB_ALPHA || knob == KNOB_PMAX)
			return value;
		return fmax(round_to(value, unit, tune_knob_safe(knob)),
			round_to(least, unit, TUNE_UP));
	}
	const struct tune_knob_rule *r = &plan->platform->profile->knobs[knob];
	const double limit = dt_limit_bytes(plan->site->pool_bytes, plan->like->alpha, 1);
	double safe = tune_knob_round(r, knob, value, cell, limit);
	/* more than can be written: as much as can be, where a smaller value is still what is
	 * wanted (shares of a queue's limit end at 100 %) */
	double most = NAN;
	if (isfinite(r->max))
		most = tune_knob_value(r, knob, r->max, cell, limit);
	if (isnan(safe) && value > most)
		safe = most;
	if (safe >= least)
		return safe;
	return tune_knob_value(
		r, knob, tune_knob_write(r, knob, least, cell, limit, TUNE_UP), cell, limit);
}

bool plan_change(struct tune_plan *plan, enum tune_knob knob, double current, double proposed,
	double least, const char *why, const char *source)
{
	if (!plan_settable(plan, knob)) {
		const char *cannot = plan->platform->profile->knobs[knob].cannot;
		plan->refused =
			arena_printf(plan->c->in->arena, "%s cannot be set on this platform%s%s",
				tune_knob_name(knob), str_if(cannot, ": "), str_or(cannot, ""));
		return false;
	}
	const double v = knob_round(plan, knob, proposed, least);
	if (isnan(v) || v <= 0) {
		plan->refused = arena_printf(plan->c->in->arena,
			"%s of %.10g is outside the published range of the platform, or its cell "
			"size is not known",
			tune_knob_name(knob), proposed);
		return false;
	}
	if (v == current || plan->n_changes == PLAN_CHANGES)
		return false;
	plan->changes[plan->n_changes++] = (struct tune_change){.knob = knob,
		.current = current,
		.proposed = v,
		.programmed = tune_knob_programmed(knob, v, plan_cell(plan), plan->platform->asic),
		.why = why,
		.source = source};
	return true;
}

/* ---- which ports --------------------------------------------------------- */

struct port_count {
	size_t hosts, others;
};

static void count_port(struct port_count *count, const struct fabric_port *port)
{
	if (port->host)
		count->hosts++;
	else
		count->others++;
}

const char *plan_group_word(
	const struct tune_plan *plan, const struct tune_prio *const *prios, size_t n)
{
	struct port_count meant = {0}, all = {0};
	for (size_t i = 0; i < n; i++)
		count_port(&meant, prios[i]->port);
	for (const struct tune_prio *l = NULL; (l = tune_next_prio(plan->site, l));)
		count_port(&all, l->port);
	if (n == 1 && all.hosts + all.others > 1)
		return arena_strdup(plan->c->in->arena, prios[0]->port->name);
	if (meant.hosts == all.hosts && meant.others == all.others)
		return "all";
	if (meant.hosts == all.hosts && !meant.others)
		return "hosts";
	if (meant.others == all.others && !meant.hosts)
		return "uplinks";
	return arena_printf(plan->c->in->arena, "%zu ports", n);
}

void plan_scope(struct tune_plan *plan, struct tune_change *change,
	const struct tune_prio *const *prios, size_t n)
{
	change->ports = arena_array(plan->c->in->arena, const char *, n + 1);
	change->n_ports = n;
	for (size_t i = 0; i < n; i++)
		change->ports[i] = prios[i]->port->name;
	change->port_group = plan_group_word(plan, prios, n);
}

void plan_scope_to(struct tune_plan *plan, struct tune_change *change,
	const struct tune_prio *const *prios, size_t n)
{
	if (n < plan->n_prios)
		plan_scope(plan, change, prios, n);
}
