/* tune_dose_alpha - see the header. */
#include "analyzers/tune/tune_dose_alpha.h"

#include <math.h>

#include "agent/base/arena.h"
#include "analyzers/measure/formulas.h"
#include "analyzers/tune/tune_dose_ecn.h"
#include "analyzers/tune/tune_worth.h"

#define EXPLAINED 0.15 /* |watermark - model| / model: the model is good to 15 % */
#define ALIKE 0.005 /* of J: forecasts that differ by less are the same */
#define STEP_DOUBT 2.0 /* one exponent where the model is not sure */
#define STEP_SURE 16.0 /* four at once where it is */

/* Inputs that may be congested at once: the most that were, else all there are. */
static double congested_inputs(const struct tune_site *site)
{
	double most = NAN;
	if (site->device->inputs_max)
		most = site->device->inputs_max;
	const double k = fmax(site->inputs, most);
	if (k >= 1)
		return k;
	return fmax(1, (double)site->device->n_ports - 1);
}

static double pool_share(double total)
{
	return total / (1 + total);
}

/* Peak of the pool, share of it; NAN: not told. */
static double pool_peak(const struct tune_site *site)
{
	const struct tune_device *device = site->device;
	if (!device->pool.windows || device->pool.standing || !(device->pool.max > 0))
		return NAN;
	return device->pool.max / device->pool_bytes;
}

/*
 * n alpha, the sum over all congested inputs. n equal ones take n alpha / (1 + n alpha) of the pool
 * (Choudhury and Hahne, 1998); read backwards, the peak of the pool tells the sum that really came
 * together, however unevenly the inputs are filled.
 */
static double total_alpha(const struct tune_site *site, double alpha)
{
	const double peak = pool_peak(site);
	if (isnan(peak))
		return congested_inputs(site) * alpha;
	if (peak >= 1)
		return INFINITY;
	return fmax(peak / (1 - peak), fmax(1, site->inputs) * alpha);
}

bool tune_alpha_is_sure(const struct tune_site *site)
{
	if (!(site->inputs >= 1) || !(site->q_pfc_model > 0) || site->slices_unknown)
		return false;
	return pool_peak(site) > 0 || site->residual <= EXPLAINED;
}

/* The largest power of two by which alpha may grow; 1: none. */
static double alpha_factor(const struct tune_site *site, double alpha, double total)
{
	double most = STEP_DOUBT;
	if (tune_alpha_is_sure(site))
		most = STEP_SURE;
	double factor = 1;
	while (2 * factor <= most && 2 * factor * alpha <= TUNE_ALPHA_MOST &&
		pool_share(2 * factor * total) <= TUNE_POOL_SHARE)
		factor *= 2;
	return factor;
}

static double q_pfc_with(const struct tune_site *site, double alpha)
{
	const double model = dt_pfc_queue_bytes(site->pool_bytes, 0, alpha, fmax(1, site->inputs));
	/* what was measured scales as the model does */
	if (site->by_watermark && site->q_pfc_model > 0)
		return site->q_pfc * model / site->q_pfc_model;
	return model;
}

/* ---- which ports ----------------------------------------------------------- */

/* Alpha acts where packets come in: of the priority groups that paused their senders, one with the
 * largest alpha; the bounds of a step are its. */
static const struct tune_prio *group_of(const struct tune_plan *plan)
{
	const struct tune_prio *group = NULL;
	for (const struct tune_prio *l = NULL; (l = tune_next_prio(plan->site, l));)
		if (l->tx_windows && l->alpha > 0 && (!group || l->alpha > group->alpha))
			group = l;
	if (group)
		return group;
	return plan->like;
}

struct port_set {
	const struct tune_prio **v;
	size_t n;
};

static struct port_set port_set_new(const struct tune_plan *plan)
{
	return (struct port_set){.v = arena_array(plan->c->in->arena, const struct tune_prio *,
					 plan->site->device->n_prios + 1)};
}

static bool port_set_has(const struct port_set *set, const struct tune_prio *prio)
{
	for (size_t i = 0; i < set->n; i++)
		if (set->v[i] == prio)
			return true;
	return false;
}

/* Groups with the alpha that changes, whatever their queues' profile: they pause for one pool. */
static struct port_set ports_with_alpha(const struct tune_plan *plan, double alpha)
{
	struct port_set set = port_set_new(plan);
	for (const struct tune_prio *l = NULL; (l = tune_next_prio(plan->site, l));)
		if (l->alpha == alpha)
			set.v[set.n++] = l;
	return set;
}

/* In the switch's order: a sheet names all ports that it touches. */
static void take_ports(struct tune_plan *plan, const struct port_set *more)
{
	const struct port_set had = {plan->prios, plan->n_prios};
	struct port_set all = port_set_new(plan);
	for (const struct tune_prio *l = NULL; (l = tune_next_prio(plan->site, l));)
		if (port_set_has(&had, l) || port_set_has(more, l))
			all.v[all.n++] = l;
	plan->prios = all.v;
	plan->n_prios = all.n;
}

bool plan_alpha_to(struct tune_plan *plan, double now, double to, const char *why)
{
	const struct port_set had = {plan->prios, plan->n_prios};
	const struct port_set set = ports_with_alpha(plan, now);
	const size_t before = plan->n_changes;
	plan_change(plan, KNOB_ALPHA, now, to, 0, why, tune_row(plan->rule->row)->cite);
	if (plan->n_changes == before)
		return false;
	take_ports(plan, &set);
	for (size_t i = 0; i < before; i++)
		if (!plan->changes[i].n_ports)
			plan_scope_to(plan, &plan->changes[i], had.v, had.n);
	plan_scope_to(plan, &plan->changes[before], set.v, set.n);
	return true;
}

/* Groups that paused and have another alpha go up by the same factor. */
static void raise_others(struct tune_plan *plan, double now, double after, const char *why)
{
	for (const struct tune_prio *l = NULL; (l = tune_next_prio(plan->site, l));) {
		const struct port_set set = ports_with_alpha(plan, l->alpha);
		const size_t before = plan->n_changes;
		bool first = l->tx_windows && l->alpha > 0 && l->alpha != now;
		for (size_t i = 0; i < before && first; i++)
			first = plan->changes[i].current != l->alpha;
		if (!first)
			continue;
		plan_change(plan, KNOB_ALPHA, l->alpha,
			fmin(TUNE_ALPHA_MOST, after / now * l->alpha), 0, why,
			tune_row(plan->rule->row)->cite);
		if (plan->n_changes == before)
			continue;
		take_ports(plan, &set);
		plan_scope(plan, &plan->changes[before], set.v, set.n);
	}
}

/* A change of queues is for those ports of the profile that have @kmax now. */
static void scope_kmax(struct tune_plan *plan, const struct port_set *profile, double kmax)
{
	struct port_set set = port_set_new(plan);
	for (size_t i = 0; i < profile->n; i++)
		if (profile->v[i]->kmax == kmax)
			set.v[set.n++] = profile->v[i];
	plan_scope_to(plan, &plan->changes[plan->n_changes - 1], set.v, set.n);
}

static bool is_first_kmax(const struct port_set *profile, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (profile->v[i]->kmax == profile->v[at]->kmax)
			return false;
	return true;
}

/* A queue that may grow past Kmin for the first time meets the ramp: a steep one would cost what
 * the pause did, or more. */
static void widen_ramp(struct tune_plan *plan, const struct port_set *profile)
{
	for (size_t i = 0; i < profile->n; i++) {
		const struct tune_prio *l = profile->v[i];
		const double kmax = tune_ramp_kmax(l, plan->q_pfc, plan->site->pool_bytes);
		if (isnan(kmax) || !is_first_kmax(profile, i))
			continue;
		if (plan_change(plan, KNOB_KMAX, l->kmax, kmax, 0,
			    "the queue may now grow past Kmin: a ramp of four times Kmin, on which "
			    "senders do not swing",
			    tune_row(plan->rule->row)->cite))
			scope_kmax(plan, profile, l->kmax);
		else
			plan->refused = NULL;
	}
}

/* ---- the step --------------------------------------------------------------- */

static bool ask_alpha(const struct tune_plan *plan, double alpha, struct tune_forecast *ret)
{
	const double kmax =
		tune_ramp_kmax(plan->like, q_pfc_with(plan->site, alpha), plan->site->pool_bytes);
	const struct whatif_settings to = {alpha, NAN, NAN, NAN, NAN, kmax, NAN};
	return tune_worth_ask(plan->worth, &to, ret);
}

/* The factor up to @most with the least J; of those that are alike the largest, because the next
 * review would only go on. 1: none is worth it. */
static double alpha_by_forecast(const struct tune_plan *plan, double most)
{
	double best = 1, least = INFINITY;
	for (double factor = 2; factor <= most; factor *= 2) {
		struct tune_forecast f;
		if (!ask_alpha(plan, factor * group_of(plan)->alpha, &f) ||
			!tune_is_worth(plan->worth, &f) || f.j > least + ALIKE)
			continue;
		best = factor;
		least = fmin(least, f.j);
	}
	return best;
}

static void check_alpha(struct tune_plan *plan, double now, double after, double total)
{
	const struct tune_site *site = plan->site;
	const double kmin = plan->like->kmin;
	const double share = pool_share(total * after / now);
	plan_check(plan, "depth of the queue at which PFC fires, q_PFC", site->q_pfc, plan->q_pfc,
		NAN, "bytes", true);
	plan_check(plan, "share of the pool that congested inputs may take", pool_share(total),
		share, TUNE_POOL_SHARE, "ratio", share <= TUNE_POOL_SHARE);
	if (!isnan(kmin))
		plan_check(plan, "Kmin at most half of q_PFC (limit: after)", kmin, kmin,
			0.5 * plan->q_pfc, "bytes", kmin <= 0.5 * plan->q_pfc);
}

bool plan_alpha(struct tune_plan *plan, const char *why)
{
	const struct tune_site *site = plan->site;
	const double now = group_of(plan)->alpha, pool = site->pool_bytes;
	const struct port_set profile = {plan->prios, plan->n_prios};
	const bool known = now > 0 && pool > 0;
	if (!known || !plan_settable(plan, KNOB_ALPHA) || tune_storage_of(plan->c, site))
		return false;
	const double total = total_alpha(site, now);
	double factor = alpha_factor(site, now, total);
	if (plan->worth)
		factor = alpha_by_forecast(plan, factor);
	if (factor <= 1)
		return false;
	if (!plan_change(
		    plan, KNOB_ALPHA, now, factor * now, 0, why, tune_row(plan->rule->row)->cite)) {
		plan->refused = NULL;
		return false;
	}
	const double after = plan->changes[0].proposed;
	const struct port_set groups = ports_with_alpha(plan, now);
	take_ports(plan, &groups);
	raise_others(plan, now, after, why);
	plan_scope_to(plan, &plan->changes[0], groups.v, groups.n);
	plan->q_pfc = q_pfc_with(site, after);
	widen_ramp(plan, &profile);
	check_alpha(plan, now, after, total);
	struct tune_forecast forecast;
	if (plan->worth && ask_alpha(plan, after, &forecast))
		tune_worth_check(plan, plan->worth, &forecast);
	plan->cost_bytes = 0;
	return true;
}
