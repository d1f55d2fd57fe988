/*
 * tune_dose_headroom - rows 1 and 2 of the decision table: how much a priority group has to hold
 * after XOFF.
 *
 * The formula counts only for ASICs whose published tables it reproduces, and with a cable length
 * from the inventory; elsewhere what the device has, or what its peers have on the same kind of
 * link without losing anything, is the floor, and a step is a quarter more than was used (safety
 * rule 1). A peak that reached the size of the headroom is censored: the true need is unknown.
 * Headroom comes out of the shared pool, so every queue of the switch is judged again after the
 * change (rule 3).
 */
#include <math.h>

#include "agent/base/arena.h"
#include "agent/base/str.h"
#include "analyzers/measure/ecn_order.h"
#include "analyzers/measure/formulas.h"
#include "analyzers/tune/tune_dose_headroom.h"
#include "analyzers/tune/tune_words.h"

#define STEP 1.25 /* of what was used: one step up */
#define SPARE 1.5 /* of what was used: the floor when headroom is lowered */
#define POOL_TAKE 0.2 /* of the pool, where its peak is not known */
#define MTU_MOST 9216.0 /* of all classes, where the port does not tell */

static const char cable_unknown[] =
	"length of the cable: `cable:` of the link in the configuration (inventory, DAC or AOC "
	"label); LLDP does not carry it, and an optic reports its reach, not its length";

/* Ports of one kind have the same headroom: role of the switch, link and priority. */
static bool same_kind(const struct tune_device *left_device, const struct tune_prio *left,
	const struct tune_device *right_device, const struct tune_prio *right)
{
	return left_device->device->role == right_device->device->role &&
		left->priority == right->priority &&
		tune_same_link(left_device, left->port, right_device, right->port);
}

/* What ports of the same kind have elsewhere without losing anything; NAN none has more. */
static double of_peers(const struct tune_plan *plan)
{
	const struct tune_evidence *e = plan->c->in->evidence;
	const struct tune_prio *like = plan->like;
	double best = NAN;
	if (!like->port->cable_mm)
		return NAN;
	for (size_t i = 0; i < e->n_devices; i++) {
		for (size_t k = 0; k < e->devices[i].n_prios; k++) {
			const struct tune_prio *peer = &e->devices[i].prios[k];
			const bool proven =
				peer->tx_windows && !peer->lost_windows && !peer->full_windows;
			if (!proven || !(peer->headroom_bytes > like->headroom_bytes))
				continue;
			if (same_kind(plan->site->device, like, &e->devices[i], peer))
				best = fmax(best, peer->headroom_bytes);
		}
	}
	return best;
}

static double headroom_formula(const struct tune_plan *plan, enum headroom_model model,
	double cell_bytes, double amplification)
{
	const struct tune_port *port = tune_port_at(plan->site->device, plan->like->port);
	double mtu_bytes = MTU_MOST;
	const double speed = tune_speed(plan->site->device, plan->like->port);
	if (!plan->like->port->cable_mm || !(speed > 0))
		return NAN;
	if (port)
		mtu_bytes = fmax(MTU_MOST, port->mtu_bytes);
	const struct headroom_in in = {.model = model,
		.speed_bps = (uint64_t)speed,
		.cable_mm = plan->like->port->cable_mm,
		.mtu_bytes = (uint64_t)mtu_bytes,
		.lossless_mtu_bytes = plan->c->in->fabric->lossless_mtu_bytes,
		.cell_bytes = (uint64_t)cell_bytes,
		.small_ratio = 1,
		.lanes = speed >= 800e9 ? 8 : 4,
		.amplification = amplification};
	struct headroom h;
	if (headroom_calc(&in, &h) == 0)
		return (double)h.xoff_bytes;
	return NAN;
}

/* The vendor's own number; NAN: not an ASIC whose tables the formula reproduces, or the cable is
 * not known. */
static double headroom_calculated(const struct tune_plan *plan)
{
	const struct tune_asic *asic = plan->platform->asic;
	if (!asic)
		return NAN;
	switch (asic->headroom) {
	case TUNE_HEADROOM_NONE: break;
	case TUNE_HEADROOM_SPECTRUM:
		return headroom_formula(plan, HEADROOM_SPECTRUM, asic->cell_bytes, 0);
	case TUNE_HEADROOM_SPECTRUM_2021:
		return headroom_formula(plan, HEADROOM_SPECTRUM_2021, asic->cell_bytes, 0);
	}
	return NAN;
}

/*
 * What arrives after XOFF was sent, by physics alone: frames on the wire both ways, those that
 * cannot be stopped, the peer's response. No buffer of any make needs less, so where frames are
 * lost, or a peak at the full size hides the need, it is no use to ask for less; as a measure of
 * what could be given back it does not count.
 */
static double tune_dose_headroom_in_flight(const struct tune_plan *plan)
{
	return headroom_formula(plan, HEADROOM_GENERIC, 1, 1);
}

/* Ports of one speed and cable have one profile: what is too small at one of them is too small at
 * all. */
static bool of_kind(const struct tune_plan *plan, const struct tune_prio *prio)
{
	return tune_same_profile(FAMILY_HEADROOM, prio, plan->like) &&
		same_kind(plan->site->device, prio, plan->site->device, plan->like);
}

static bool of_size(const struct tune_plan *plan, const struct tune_prio *prio)
{
	return tune_same_profile(FAMILY_HEADROOM, prio, plan->like);
}

/* Of the bound object: all groups of the switch that have this profile, where it is shared or not
 * known to be anyone's own. */
static size_t headroom_bound(const struct tune_plan *plan)
{
	size_t n = 0;
	const struct tune_device *d = plan->site->device;
	const struct profile_tune *profile = plan->platform->profile;
	if (profile && !profile->knobs[KNOB_HEADROOM].shared)
		return plan->n_prios;
	for (size_t i = 0; i < d->n_prios; i++)
		n += tune_same_profile(FAMILY_HEADROOM, &d->prios[i], plan->like);
	return n;
}

/* The order of ECN and PFC of every queue of the switch, with what is left of the pool. False: one
 * would be turned over. */
static bool order_holds(const struct tune_plan *plan, double left)
{
	const struct tune_device *d = plan->site->device;
	for (size_t i = 0; i < d->n_prios; i++) {
		const struct tune_prio *l = &d->prios[i];
		struct ecn_order_in in = {.pool_bytes = plan->site->pool_bytes,
			.alpha = l->alpha,
			.xoff_level_bytes = NAN,
			.kmin_bytes = l->kmin,
			.inputs = (unsigned)fmax(1, fmin(l->inputs, plan->site->inputs))};
		const enum ecn_order before = ecn_order(&in, NULL);
		in.pool_bytes = left;
		const enum ecn_order after = ecn_order(&in, NULL);
		if (before != ECN_ORDER_UNKNOWN && after > before)
			return false;
	}
	return true;
}

static void headroom_couple(struct tune_plan *plan, double more)
{
	const struct tune_device *d = plan->site->device;
	const double cost = more * (double)headroom_bound(plan), b = plan->site->pool_bytes,
		     left = b - cost;
	plan->cost_bytes = cost;
	if (!(b > 0))
		return;
	double limit;
	if (d->pool.windows)
		limit = b;
	else
		limit = POOL_TAKE * b;
	double need = cost;
	if (d->pool.windows)
		need = d->pool.max * b / d->pool_bytes + cost;
	plan_check(plan,
		d->pool.windows ? "peak of the shared pool and what the headroom takes"
				: "what the headroom takes of the shared pool",
		need - cost, need, limit, "bytes", need <= limit);
	if (plan->like->alpha > 0) {
		const double k = fmax(1, plan->site->inputs),
			     before = dt_pfc_queue_bytes(b, 0, plan->like->alpha, k);
		if (left > 0)
			plan->q_pfc = dt_pfc_queue_bytes(left, 0, plan->like->alpha, k);
		else
			plan->q_pfc = 0;
		plan_check(plan, "depth of the queue at which PFC fires, q_PFC", before,
			plan->q_pfc, NAN, "bytes", true);
		if (!isnan(plan->like->kmin))
			plan_check(plan, "Kmin at most half of q_PFC", plan->like->kmin,
				plan->like->kmin, plan->q_pfc / 2, "bytes",
				plan->like->kmin <= plan->q_pfc / 2);
	}
	if (need > limit || left <= 0)
		plan->refused = arena_printf(
			plan->c->in->arena, "the shared pool cannot give %.0f bytes", cost);
	else if (!order_holds(plan, left))
		plan->refused =
			"with what is left of the shared pool PFC would fire before ECN at a "
			"queue of this switch: lower Kmin first";
}

static bool may_size(struct tune_plan *plan)
{
	if (isnan(plan->like->headroom_bytes))
		plan_need(plan, NEED_HEADROOM);
	if (plan->site->device->shp_ratio > 0)
		plan->refused = "the headroom of this switch is a shared pool: raise the shared "
				"headroom pool, not a group's own";
	return !plan->refused && !plan->n_collect;
}

void plan_more_headroom(struct tune_plan *plan)
{
	const struct tune_prio *l = plan->like;
	plan_prios(plan, of_kind);
	if (!may_size(plan)) {
		if (plan->refused)
			plan_next(plan,
				tune_need_text(
					plan->c->in->arena, NEED_SHARED_HEADROOM, plan->platform));
		return;
	}
	/* censored, or lost although the peak was not told: what was used is at least all of it */
	double used;
	if (l->headroom.windows && !l->headroom.censored && !l->lost_windows)
		used = l->headroom.max;
	else
		used = l->headroom_bytes;
	const double calc = headroom_calculated(plan), peers = of_peers(plan), step = STEP * used;
	double physics = NAN;
	if (l->lost_windows || l->headroom.censored)
		physics = tune_dose_headroom_in_flight(plan);
	if (!l->port->cable_mm)
		plan_next(plan, cable_unknown);
	const double proposed = fmax(fmax(step, calc), fmax(peers, physics));
	const char *why = "a quarter more than was used";
	if (proposed == calc)
		why = "the calculated value for this cable, MTU and speed";
	else if (proposed == peers)
		why = "what ports of the same speed and cable have elsewhere without loss";
	else if (proposed == physics)
		why = "what is in flight on this cable when pause is sent, and until it is obeyed";
	else if (l->headroom.censored || l->lost_windows)
		why = "a quarter more than all of it: the true need is unknown";
	if (proposed > l->headroom_bytes &&
		plan_change(plan, KNOB_HEADROOM, l->headroom_bytes, proposed, proposed, why,
			tune_row(1)->cite))
		headroom_couple(plan, plan->changes[0].proposed - l->headroom_bytes);
	double after = l->headroom_bytes;
	if (plan->n_changes)
		after = plan->changes[0].proposed;
	if (!isnan(calc))
		plan_check(plan, "headroom at least the calculated value", l->headroom_bytes, after,
			calc, "bytes", after >= calc);
}

void plan_less_headroom(struct tune_plan *plan)
{
	const struct tune_prio *l = plan->like;
	double used = NAN;
	plan_prios(plan, of_size);
	if (!may_size(plan))
		return;
	for (size_t i = 0; i < plan->n_prios; i++) {
		used = fmax(used, plan->prios[i]->headroom.max);
		if (!plan->prios[i]->port->cable_mm)
			plan_collect(plan, cable_unknown);
		if (plan->prios[i]->headroom.censored)
			plan->refused =
				"a peak reached the size of the headroom: what it needs is unknown";
	}
	/* the longest cable of the profile decides */
	for (size_t i = 0; i < plan->n_prios; i++)
		if (plan->prios[i]->port->cable_mm > plan->like->port->cable_mm)
			plan->like = plan->prios[i];
	const double calc = headroom_calculated(plan);
	if (isnan(calc))
		plan_collect(plan,
			"a vendor's table for this ASIC: the formula does not reproduce it, so "
			"that the device's own value is the floor");
	if (!plan->c->in->options.allow_reduce)
		plan_collect(
			plan, "permission to reduce headroom: run the review with --allow-reduce");
	const double proposed = fmax(calc, SPARE * used);
	if (!plan->refused && !plan->n_collect && proposed < l->headroom_bytes &&
		plan_change(plan, KNOB_HEADROOM, l->headroom_bytes, proposed, proposed,
			"one and a half times what was used in a week, not below the calculated "
			"value",
			tune_row(2)->cite) &&
		plan->changes[0].proposed < l->headroom_bytes)
		plan->cost_bytes = (plan->changes[0].proposed - l->headroom_bytes) *
			(double)headroom_bound(plan);
}
