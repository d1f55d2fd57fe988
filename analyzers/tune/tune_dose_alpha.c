/* tune_dose_alpha - see the header. */
#include "analyzers/tune/tune_dose_alpha.h"

#include <math.h>

#include "analyzers/measure/formulas.h"
#include "analyzers/tune/tune_dose_ecn.h"
#include "analyzers/tune/tune_worth.h"

#define POOL_SHARE 0.8 /* what congested inputs may take of the pool together */
#define ALPHA_MOST 1.0 /* one port alone gets half of a free pool; nobody needs more */
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
	while (2 * factor <= most && 2 * factor * alpha <= ALPHA_MOST &&
		pool_share(2 * factor * total) <= POOL_SHARE)
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
		if (!ask_alpha(plan, factor * plan->like->alpha, &f) ||
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
		share, POOL_SHARE, "ratio", share <= POOL_SHARE);
	if (!isnan(kmin))
		plan_check(plan, "Kmin at most half of q_PFC (limit: after)", kmin, kmin,
			0.5 * plan->q_pfc, "bytes", kmin <= 0.5 * plan->q_pfc);
}

/* A queue that may grow past Kmin for the first time meets the ramp: a steep one would cost what
 * the pause did, or more. */
static void widen_ramp(struct tune_plan *plan)
{
	const double kmax = tune_ramp_kmax(plan->like, plan->q_pfc, plan->site->pool_bytes);
	if (!isnan(kmax) &&
		!plan_change(plan, KNOB_KMAX, plan->like->kmax, kmax, 0,
			"the queue may now grow past Kmin: a ramp of four times Kmin, on which "
			"senders do not swing",
			tune_row(plan->rule->row)->cite))
		plan->refused = NULL;
}

bool plan_alpha(struct tune_plan *plan, const char *why)
{
	const struct tune_site *site = plan->site;
	const double now = plan->like->alpha, pool = site->pool_bytes;
	if (!(now > 0) || !(pool > 0) || !plan_settable(plan, KNOB_ALPHA))
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
	plan->q_pfc = q_pfc_with(site, after);
	widen_ramp(plan);
	check_alpha(plan, now, after, total);
	struct tune_forecast forecast;
	if (plan->worth && ask_alpha(plan, after, &forecast))
		tune_worth_check(plan, plan->worth, &forecast);
	plan->cost_bytes = 0;
	return true;
}
