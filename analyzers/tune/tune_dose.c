/* tune_dose - see the header. The values of marks and of alpha are in tune_dose_alpha.c. */
#include "analyzers/tune/tune_dose.h"

#include "analyzers/measure/ecn_order.h"
#include "analyzers/measure/formulas.h"
#include "analyzers/tune/tune_dose_alpha.h"
#include "analyzers/tune/tune_headroom_need.h"
#include "analyzers/tune/tune_plan.h"
#include "analyzers/tune/tune_signs.h"
#include "analyzers/tune/tune_rules.h"
#include "analyzers/tune/tune_world.h"
#include "analyzers/tune/tune_worth.h"

/*
 * tune_dose_headroom - rows 1 and 2 of the decision table: how much a priority group has to hold
 * after XOFF.
 *
 * Headroom comes out of the shared pool, and all lossless queues of a switch share that. So the
 * needs (tune_headroom_need.h) of all of them are added up first, and either all get theirs, or
 * none does and the sheet says what could be given up instead. What is left of the pool is judged
 * for every queue of the switch (safety rule 3): where PFC would fire before ECN, one step of alpha
 * gives back the depth that the smaller pool takes. Where frames are lost, loss goes first all the
 * same, and marks follow in the next change.
 *
 * Alpha and headroom are one question: an alpha above 4 lets one port take nearly all of what the
 * others' headroom is to come from, and what it leaves is lost again. Then alpha goes down in the
 * same sheet, before the headroom goes up.
 *
 * The formula counts only for ASICs whose published tables it reproduces, and with a cable length
 * from the inventory; elsewhere what the device has is the floor (safety rule 1).
 */

#define SPARE 1.5 /* of what was used: the floor when headroom is lowered */
#define POOL_TAKE 0.2 /* of the pool, where neither its peak nor alpha is known */
#define CABLE_NS_PER_M 5.0 /* one way */
enum { GROUPS = 3 }; /* kinds of ports in one sheet: more, and nobody reads it */

static const char cable_unknown[] =
	"length of the cable: `cable:` of the link in the configuration (inventory, DAC or AOC "
	"label); LLDP does not carry it, and an optic reports its reach, not its length";

static bool of_size(const struct tune_plan *plan, const struct tune_prio *prio)
{
	const struct tune_device *device = plan->site->device;
	return tune_same_profile(FAMILY_HEADROOM, device, prio, device, plan->like);
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
		n += tune_same_profile(FAMILY_HEADROOM, d, &d->prios[i], d, plan->like);
	return n;
}

/* What becomes of the order of ECN and PFC of every queue of the switch, with what is left of the
 * pool and alpha that many times as large. */
enum order_change { ORDER_KEPT, ORDER_TIGHTER, ORDER_TURNED };
static enum order_change order_after(const struct tune_plan *plan, double left, double alpha_by)
{
	const struct tune_device *d = plan->site->device;
	enum order_change worst = ORDER_KEPT;
	for (size_t i = 0; i < d->n_prios; i++) {
		const struct tune_prio *l = &d->prios[i];
		struct ecn_order_in in = {.pool_bytes = plan->site->pool_bytes,
			.alpha = l->alpha,
			.xoff_level_bytes = NAN,
			.kmin_bytes = l->kmin,
			.inputs = (unsigned)fmax(1, fmin(l->inputs, plan->site->inputs))};
		const enum ecn_order before = ecn_order(&in, NULL);
		in.pool_bytes = left;
		in.alpha = l->alpha * alpha_by;
		const enum ecn_order after = ecn_order(&in, NULL);
		if (before == ECN_ORDER_UNKNOWN || after <= before)
			continue;
		if (after == PFC_FIRST)
			return ORDER_TURNED;
		worst = ORDER_TIGHTER;
	}
	return worst;
}

/* ---- the bill of the pool ------------------------------------------------ */

struct headroom_owner { /* a priority group that gets more */
	const struct tune_prio *prio;
	struct headroom_need need;
};
struct headroom_bill {
	struct headroom_owner *owners;
	size_t n, n_lossless; /* that get more; all of the switch */
	double cost; /* of one slice of the pool, bytes */
	bool firm; /* one of the needs is calculated: no smaller step will do */
};

/* Another priority pays from the same pool. It gets more where it is short itself. */
static bool is_short_too(const struct tune_plan *plan, int priority)
{
	for (size_t i = 0; i < plan->c->n_sites; i++) {
		const struct tune_site *site = &plan->c->sites[i];
		if (site->priority == priority && site->is && site->is->family == FAMILY_HEADROOM)
			return true;
	}
	return priority == plan->site->priority;
}

/* What the switch's slice has to give: groups of ports are spread over the slices. */
static double headroom_of_slice(const struct tune_plan *plan, double bytes)
{
	const double slices = plan->site->device->pool_slices;
	if (slices > 1)
		return bytes / slices;
	return bytes;
}

/* @all: also those that can wait. */
static struct headroom_bill bill_of(const struct tune_plan *plan, bool all)
{
	const struct tune_device *d = plan->site->device;
	struct headroom_bill bill = {
		.owners = arena_array(plan->c->in->arena, struct headroom_owner, d->n_prios + 1)};
	double sum = 0;
	for (size_t i = 0; i < d->n_prios; i++) {
		struct headroom_owner owner = {.prio = &d->prios[i]};
		bill.n_lossless++;
		if (!is_short_too(plan, owner.prio->priority))
			continue;
		tune_headroom_need(plan->c->in, d, owner.prio, &owner.need);
		if (!(owner.need.bytes > owner.prio->headroom_bytes) ||
			(owner.need.can_wait && !all))
			continue;
		sum += owner.need.bytes - owner.prio->headroom_bytes;
		bill.firm = bill.firm || owner.need.firm;
		bill.owners[bill.n++] = owner;
	}
	bill.cost = headroom_of_slice(plan, sum);
	return bill;
}

/* ---- does the pool hold it? ---------------------------------------------- */

static double q_pfc_with(const struct tune_plan *plan, double pool_bytes, double alpha_by)
{
	if (!(plan->like->alpha > 0))
		return NAN;
	if (!(pool_bytes > 0))
		return 0;
	return dt_pfc_queue_bytes(
		pool_bytes, 0, plan->like->alpha * alpha_by, fmax(1, plan->site->inputs));
}

/* The least depth at which PFC may fire: one bandwidth-delay product, or four packets. */
static double least_depth(const struct tune_plan *plan)
{
	return fmax(plan->site->bdp, 4 * (double)plan->c->in->fabric->lossless_mtu_bytes);
}

/* Here, or at the canary that the switch follows. */
static bool loses_frames(const struct tune_plan *plan)
{
	return (plan->rule->yes | plan->site->signs.yes) & T_LOST;
}

/* Alpha lets one port take most of the pool, and frames are lost: it goes down with the headroom
 * going up. */
static bool is_greedy(const struct tune_plan *plan)
{
	return plan->like->alpha > TUNE_ALPHA_MOST && loses_frames(plan) &&
		plan_settable(plan, KNOB_ALPHA);
}

/* Where headroom is as it should be already, alpha goes down further: by half. */
static double alpha_after_loss(const struct tune_plan *plan, double cost)
{
	double most = TUNE_ALPHA_GREEDY;
	if (cost <= 0)
		most = fmax(TUNE_ALPHA_MOST, plan->like->alpha / 2);
	return fmin(most, plan->like->alpha);
}

/* What the pool can give to headroom at most; NAN: its size is not known. */
static double pool_can_give(const struct tune_plan *plan)
{
	const struct tune_device *d = plan->site->device;
	const double b = plan->site->pool_bytes;
	if (!(b > 0))
		return NAN;
	/* 0. What queues were seen to take they will not get any more. */
	if (is_greedy(plan))
		return b / (1 + fmax(1, plan->site->inputs) * TUNE_ALPHA_MOST);
	/* 1. What queues were seen to take is theirs. */
	if (d->pool.windows)
		return b - d->pool.max * b / d->pool_bytes;
	if (!(plan->like->alpha > 0))
		return POOL_TAKE * b;
	/* 2. A queue must still hold a bandwidth-delay product before PFC fires, if it did. */
	const double depth = least_depth(plan), now = q_pfc_with(plan, b, 1);
	if (now > depth)
		return b * (1 - depth / now);
	return POOL_TAKE * b;
}

static bool may_double_alpha(const struct tune_plan *plan)
{
	const double shares = 2 * plan->like->alpha * fmax(1, plan->site->inputs);
	return plan->like->alpha > 0 && plan_settable(plan, KNOB_ALPHA) &&
		shares / (1 + shares) <= TUNE_POOL_SHARE;
}

struct headroom_fit {
	bool fits, holds; /* into the pool; the order of ECN and PFC holds in what is left */
	/* 1; 2: alpha goes up one step with it; below 1: alpha goes down first */
	double alpha_by;
	double left;
};

static struct headroom_fit fit_of(const struct tune_plan *plan, double cost)
{
	const double can = pool_can_give(plan);
	struct headroom_fit fit = {.fits = true, .holds = true, .alpha_by = 1, .left = NAN};
	if (isnan(can))
		return fit;
	fit.left = plan->site->pool_bytes - cost;
	fit.fits = cost <= can && fit.left > 0;
	if (!fit.fits)
		return fit;
	if (is_greedy(plan)) {
		fit.alpha_by = alpha_after_loss(plan, cost) / plan->like->alpha;
		fit.holds = order_after(plan, fit.left, fit.alpha_by) != ORDER_TURNED;
		return fit;
	}
	/* A step of alpha, where it restores the order. */
	const enum order_change plain = order_after(plan, fit.left, 1);
	enum order_change doubled = ORDER_TURNED;
	if (plain != ORDER_KEPT && may_double_alpha(plan))
		doubled = order_after(plan, fit.left, 2);
	if (doubled < plain)
		fit.alpha_by = 2;
	fit.holds = plain != ORDER_TURNED || doubled != ORDER_TURNED;
	return fit;
}

/* Into the pool, and in order; loss goes before the order of ECN and PFC. */
static bool fit_is_enough(const struct tune_plan *plan, const struct headroom_fit *fit)
{
	return fit->fits && (fit->holds || loses_frames(plan));
}

/* ---- what to give up ----------------------------------------------------- */

static unsigned lossless_priorities(const struct tune_plan *plan)
{
	return (unsigned)__builtin_popcount(plan->c->in->fabric->lossless_mask & 0xffu);
}

static void give_up_cables(
	struct tune_plan *plan, const struct headroom_bill *bill, double short_of)
{
	double bits_per_s = 0, longest_m = 0;
	for (size_t i = 0; i < bill->n; i++) {
		bits_per_s += tune_speed(plan->site->device, bill->owners[i].prio->port);
		longest_m = fmax(longest_m, (double)bill->owners[i].prio->port->cable_mm / 1e3);
	}
	const double metres = short_of / (2 * CABLE_NS_PER_M * bits_per_s / 8e9);
	if (longest_m > 0 && metres > 0 && metres < longest_m)
		plan_next(plan,
			arena_printf(plan->c->in->arena,
				"give up length: about %.0f m less of cable at each of the %zu "
				"ports "
				"(the longest has %.0f m)",
				ceil(metres), bill->n, longest_m));
	else
		plan_next(plan, "give up length: shorter cables where they are long");
}

/* None gets a part: it is said what the pool lacks, and what could be given up for it. */
static void pool_cannot(
	struct tune_plan *plan, const struct headroom_bill *bill, const struct headroom_fit *fit)
{
	struct arena *a = plan->c->in->arena;
	const double can = fmax(0, pool_can_give(plan));
	const char *name = plan->site->device->device->name;
	plan->pool_short = plan->own_order = true;
	if (fit->fits) {
		plan->refused = arena_printf(a,
			"the pool of %s cannot hold %zu lossless queues at this length: with the "
			"%s that is left of it PFC would fire before ECN",
			name, bill->n_lossless, tune_size_text(a, fit->left));
		plan_next(plan,
			"lower Kmin first, or raise alpha: no frame was lost yet, and the order of "
			"ECN and PFC has to hold in the smaller pool");
	} else {
		plan->refused = arena_printf(a,
			"the pool of %s cannot hold %zu lossless queues at this length: %zu of "
			"them need %s more, and it can give %s",
			name, bill->n_lossless, bill->n, tune_size_text(a, bill->cost),
			tune_size_text(a, can));
	}
	const unsigned classes = lossless_priorities(plan);
	if (classes > 1)
		plan_next(plan,
			arena_printf(
				a, "give up lossless priorities: there are %u of them", classes));
	give_up_cables(plan, bill, bill->cost - can);
	plan_next(plan, "or give up alpha: with a smaller one queues leave more of the pool free");
	plan_next(
		plan, "or give up what is reserved for lossy classes: the pool gets larger by it");
}

/* ---- the changes --------------------------------------------------------- */

/* Owners of the plan's own priority that have the same now and need the same. */
static bool same_group(const struct headroom_owner *left, const struct headroom_owner *right)
{
	return left->prio->headroom_bytes == right->prio->headroom_bytes &&
		left->need.bytes == right->need.bytes;
}

/* More kinds than changes of one sheet: all that have the same now get the largest. */
static void level_needs(struct headroom_bill *bill)
{
	for (size_t i = 0; i < bill->n; i++)
		for (size_t k = 0; k < bill->n; k++)
			if (bill->owners[k].prio->headroom_bytes ==
					bill->owners[i].prio->headroom_bytes &&
				bill->owners[k].need.bytes > bill->owners[i].need.bytes)
				bill->owners[i].need = bill->owners[k].need;
}

static size_t count_groups(const struct headroom_bill *bill, int priority)
{
	size_t n = 0;
	for (size_t i = 0; i < bill->n; i++) {
		bool first = bill->owners[i].prio->priority == priority;
		for (size_t k = 0; k < i && first; k++)
			first = bill->owners[k].prio->priority != priority ||
				!same_group(&bill->owners[k], &bill->owners[i]);
		n += first;
	}
	return n;
}

/* The change of the group of owner @at; without ports where it is the only one. */
static void plan_group(
	struct tune_plan *plan, const struct headroom_bill *bill, size_t at, bool only)
{
	const struct headroom_owner *owner = &bill->owners[at];
	const size_t before = plan->n_changes;
	if (!plan_change(plan, KNOB_HEADROOM, owner->prio->headroom_bytes, owner->need.bytes,
		    owner->need.bytes, owner->need.why, tune_row(1)->cite) ||
		plan->n_changes == before)
		return;
	plan->changed_at[before] = owner->prio;
	const struct tune_prio **group =
		arena_array(plan->c->in->arena, const struct tune_prio *, bill->n + 1);
	size_t n = 0;
	for (size_t i = 0; i < bill->n; i++)
		if (bill->owners[i].prio->priority == plan->site->priority &&
			same_group(&bill->owners[i], owner))
			group[n++] = bill->owners[i].prio;
	for (size_t i = 0; i < n; i++)
		plan->prios[plan->n_prios++] = group[i];
	if (!only)
		plan_scope(plan, &plan->changes[before], group, n);
}

static void plan_groups(struct tune_plan *plan, const struct headroom_bill *bill)
{
	const int priority = plan->site->priority;
	const bool only = count_groups(bill, priority) == 1;
	plan->prios = arena_array(
		plan->c->in->arena, const struct tune_prio *, plan->site->device->n_prios + 1);
	plan->n_prios = 0;
	for (size_t i = 0; i < bill->n && !plan->refused; i++) {
		bool first = bill->owners[i].prio->priority == priority;
		for (size_t k = 0; k < i && first; k++)
			first = bill->owners[k].prio->priority != priority ||
				!same_group(&bill->owners[k], &bill->owners[i]);
		if (first)
			plan_group(plan, bill, i, only);
	}
}

static void plan_pool_checks(
	struct tune_plan *plan, const struct headroom_bill *bill, const struct headroom_fit *fit)
{
	const struct tune_device *d = plan->site->device;
	const double b = plan->site->pool_bytes;
	plan->cost_bytes = bill->cost;
	if (!(b > 0))
		return;
	plan_check(plan,
		arena_printf(plan->c->in->arena,
			"shared pool that is left when all %zu lossless queues have their "
			"headroom",
			bill->n_lossless),
		b, fit->left, NAN, "bytes", fit->fits);
	if (d->pool.windows) {
		const double peak = d->pool.max * b / d->pool_bytes;
		plan_check(plan, "peak of the shared pool and what the headroom takes", peak,
			peak + bill->cost, b, "bytes", fit->fits);
	} else {
		plan_check(plan, "what the headroom takes of the shared pool", 0, bill->cost,
			pool_can_give(plan), "bytes", fit->fits);
	}
	if (!(plan->like->alpha > 0))
		return;
	plan->q_pfc = q_pfc_with(plan, fit->left, fit->alpha_by);
	plan_check(plan, "depth of the queue at which PFC fires, q_PFC", q_pfc_with(plan, b, 1),
		plan->q_pfc, NAN, "bytes", true);
	if (!isnan(plan->like->kmin))
		plan_check(plan, "Kmin at most half of q_PFC", plan->like->kmin, plan->like->kmin,
			plan->q_pfc / 2, "bytes", plan->like->kmin <= plan->q_pfc / 2);
}

static void plan_calc_check(struct tune_plan *plan)
{
	const struct tune_prio *l = plan->like;
	const double calc = tune_headroom_calculated(plan->c->in, plan->site->device, l);
	double after = l->headroom_bytes;
	for (size_t i = 0; i < plan->n_changes; i++)
		if (plan->changes[i].knob == KNOB_HEADROOM &&
			plan->changes[i].current == l->headroom_bytes)
			after = fmax(after, plan->changes[i].proposed);
	if (!isnan(calc))
		plan_check(plan, "headroom at least the calculated value", l->headroom_bytes, after,
			calc, "bytes", after >= calc);
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

/* Alpha down is the first of the steps: queues have to leave what headroom takes. */
static void lower_alpha(struct tune_plan *plan, double alpha)
{
	const size_t last = plan->n_changes;
	if (!plan_alpha_to(plan, plan->like->alpha, alpha,
		    "one port may take nearly all of the pool, which headroom has to come from as "
		    "well"))
		return;
	const struct tune_change first = plan->changes[last];
	for (size_t i = last; i > 0; i--) {
		plan->changes[i] = plan->changes[i - 1];
		plan->changed_at[i] = plan->changed_at[i - 1];
	}
	plan->changes[0] = first;
	plan->changed_at[0] = NULL;
	plan->own_order = true;
	plan_next(plan,
		"alpha and headroom in one change, alpha first: headroom alone comes from a pool "
		"that one port may take, and frames go on being lost");
}

/* A step that is not calculated may be smaller, for all alike; less than a tenth is none. */
static struct headroom_fit fit_soft(const struct tune_plan *plan, struct headroom_bill *bill)
{
	static const double parts[] = {1, 0.8, 0.6, 0.4};
	const double whole = bill->cost;
	struct headroom_fit fit = fit_of(plan, whole);
	if (bill->firm)
		return fit;
	for (size_t i = 1; i < 4 && !fit_is_enough(plan, &fit); i++) {
		fit = fit_of(plan, parts[i] * whole);
		if (!fit_is_enough(plan, &fit))
			continue;
		bill->cost = parts[i] * whole;
		for (size_t k = 0; k < bill->n; k++) {
			const double now = bill->owners[k].prio->headroom_bytes;
			bill->owners[k].need.bytes =
				now + parts[i] * (bill->owners[k].need.bytes - now);
			bill->owners[k].need.why = "as much as the pool can give to all of them";
		}
	}
	if (!fit_is_enough(plan, &fit))
		fit = fit_of(plan, whole);
	return fit;
}

/* ... of at most as many groups as a sheet has changes for. */
static struct headroom_bill bill_for(const struct tune_plan *plan, bool all)
{
	struct headroom_bill bill = bill_of(plan, all);
	if (count_groups(&bill, plan->site->priority) > GROUPS)
		level_needs(&bill);
	return bill;
}

/* row 1 */
static void plan_more_headroom(struct tune_plan *plan)
{
	const struct tune_prio *l = plan->like;
	if (!may_size(plan)) {
		if (plan->refused)
			plan_next(plan,
				tune_need_text(
					plan->c->in->arena, NEED_SHARED_HEADROOM, plan->platform));
		return;
	}
	if (!l->port->cable_mm)
		plan_next(plan, cable_unknown);
	/* 1. What all queues of the pool need together, and whether it holds that. */
	struct headroom_bill bill = bill_for(plan, true);
	struct headroom_fit fit = fit_soft(plan, &bill);
	if (!fit_is_enough(plan, &fit)) {
		bill = bill_for(plan, false);
		fit = fit_soft(plan, &bill);
	}
	if (!bill.n && !is_greedy(plan))
		return;
	if (!fit_is_enough(plan, &fit)) {
		pool_cannot(plan, &bill, &fit);
		return;
	}
	/* 2. All of them, or none. */
	plan_groups(plan, &bill);
	if (plan->refused)
		return;
	if (fit.alpha_by > 1)
		plan_alpha_to(plan, l->alpha, fit.alpha_by * l->alpha,
			"the pool gets smaller by the headroom: without it PFC would fire before "
			"ECN");
	if (fit.alpha_by < 1)
		lower_alpha(plan, fit.alpha_by * l->alpha);
	if (!fit.holds)
		plan_next(plan,
			"then, when this is verified: Kmin and Kmax down, or alpha up: in what is "
			"left of the pool PFC fires before ECN");
	plan_pool_checks(plan, &bill, &fit);
	plan_calc_check(plan);
	plan_next(plan,
		"where the size of the shared pool is configured by hand, lower it by the same "
		"bytes in the same step: the buffer does not grow");
}

/* row 2 */
static void plan_less_headroom(struct tune_plan *plan)
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
	const double calc = tune_headroom_calculated(plan->c->in, plan->site->device, plan->like);
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

/* ---- tune_dose ------------------------------------------------------------- */

#define XON_MTUS 4.0 /* lossless packets between XOFF and XON at most */
#define STORAGE_ROOM 4.0 /* bandwidth-delay products below q_PFC that a ramp for storage needs */

static bool of_profile(const struct tune_plan *plan, const struct tune_prio *prio)
{
	const struct tune_device *device = plan->site->device;
	return tune_same_profile(plan->rule->family, device, prio, device, plan->like);
}

/* ---- PFC before ECN, and incast ------------------------------------------- */

static const char then_ecn[] =
	"then, when this is verified: Kmin, Kmax and Pmax, if hosts are still paused";
static const char fewer[] =
	"in the application: fewer peers at once, or transfers that the receiver asks for";

/* Nobody waits for storage: marks slow down its writers at no cost to the job, and end what alpha
 * would only put off. They need a place before PFC. */
static bool ecn_goes_first(const struct tune_plan *plan)
{
	const struct tune_site *site = plan->site;
	return tune_is_storage(plan->c->in->fabric, site->hot) &&
		site->q_pfc >= STORAGE_ROOM * site->bdp;
}

static void plan_forget(struct tune_plan *plan)
{
	plan->refused = plan->left_alone = NULL;
	plan->n_changes = plan->n_checks = plan->n_next = plan->n_collect = 0;
	plan->cost_bytes = NAN;
	plan->q_pfc = plan->site->q_pfc;
}

/* Relative ECN: alpha moves PFC away as ever; marks move by shares, which no sheet writes. */
static void plan_relative(struct tune_plan *plan)
{
	plan_forget(plan);
	if (!plan_alpha(plan, "the pool is free: the queue may take more of it before PFC fires")) {
		plan_forget(plan);
		plan->ignored = tune_relative_now(plan->c->in->arena, plan->site);
	}
	plan_next(plan, tune_relative_less(plan));
	plan_next(plan, fewer);
}

/*
 * A burst into storage lasts as long as storage takes to receive it, whatever the thresholds are.
 * Deeper queues for it change who waits: writers are marked and those that share a queue with them
 * wait longer, which the model, of one queue, does not foretell (in simulated fabrics J came out at
 * up to 2.3, and others saw worse).
 */
static void plan_leave_storage(struct tune_plan *plan, const struct tune_prio *storage)
{
	plan->left_alone = arena_printf(plan->c->in->arena,
		"the pause comes from writes to storage (%s at %s:%s), which receives them at its "
		"own speed: a larger share of the pool lets no byte in sooner, and what deeper "
		"queues cost those beside them is not known",
		storage->port->host, storage->port->device->name, storage->port->name);
	plan_next(plan,
		"fewer writers at once, a slower checkpoint, more storage hosts, or a class of its "
		"own for storage");
}

/*
 * Rows 3 and 4. A larger share of the pool moves PFC away at no cost to throughput, so it comes
 * first as long as the pool has room; marks slow somebody down, so they come when it has none.
 */
static void plan_queue(struct tune_plan *plan)
{
	if (tune_is_relative(plan->site)) {
		plan_relative(plan);
		return;
	}
	struct tune_worth *worth = arena_new_of(plan->c->in->arena, struct tune_worth);
	if (tune_worth_of(plan, worth))
		plan->worth = worth;
	if (ecn_goes_first(plan))
		plan_ecn_ramp(plan);
	if (plan->n_changes && !plan->refused)
		return;
	plan_forget(plan);
	const struct tune_prio *storage = tune_storage_of(plan->c, plan->site);
	if (storage) {
		plan_leave_storage(plan, storage);
		return;
	}
	if (plan_alpha(plan, "the pool is free: the queue may take more of it before PFC fires")) {
		plan_next(plan, then_ecn);
		return;
	}
	plan_ecn_ramp(plan);
	plan_next(plan, fewer);
	if (plan->refused && plan->site->slices_unknown)
		plan_collect(plan,
			"how the shared pool is sliced: read-back (cfg.pool_slices), or queue "
			"watermarks, which settle it when PFC fires; until then half of the pool "
			"is counted on");
}

static void plan_early(struct tune_plan *plan)
{
	if (!tune_is_relative(plan->site)) {
		plan_ecn_up(plan);
		return;
	}
	plan->ignored = tune_relative_now(plan->c->in->arena, plan->site);
	plan_next(plan, tune_relative_more(plan));
}

/* ---- XON ----------------------------------------------------------------- */

static void plan_xon(struct tune_plan *plan)
{
	const struct tune_prio *l = plan->like;
	const double mtu = (double)plan->c->in->fabric->lossless_mtu_bytes,
		     apart = tune_hysteresis(l);
	if (isnan(apart)) {
		plan_need(plan, NEED_XON);
		return;
	}
	const double more = fmin(apart + mtu, XON_MTUS * mtu) - apart;
	if (more <= 0)
		return;
	static const char why[] =
		"one lossless packet further below XOFF: pauses become fewer and longer";
	const char *source = tune_row(11)->cite;
	if (!isnan(l->xon_offset))
		plan_change(
			plan, KNOB_XON_OFFSET, l->xon_offset, l->xon_offset + more, 0, why, source);
	else if (l->xon_level > more)
		plan_change(
			plan, KNOB_XON_LEVEL, l->xon_level, l->xon_level - more, 0, why, source);
	else
		plan->refused = "XON cannot be lower than an empty queue";
	plan_check(plan, "bytes between XOFF and XON, two lossless packets at least", apart,
		apart + more, 2 * mtu, "bytes", apart + more >= 2 * mtu);
	plan->cost_bytes = 0;
}

/* ---- all ----------------------------------------------------------------- */

static const struct tune_prio *like_of(const struct tune_site *site, enum tune_family family)
{
	const struct tune_prio *first;
	if (family == FAMILY_XON)
		first = site->flapping;
	else if (family == FAMILY_HEADROOM)
		first = site->short_of;
	else
		first = site->hot;
	if (family == FAMILY_ALPHA_THEN_ECN || family == FAMILY_ECN_UP)
		for (const struct tune_prio *l = NULL;
			first && isnan(first->kmin) && (l = tune_next_prio(site, l));) {
			if (!isnan(l->kmin))
				first = l;
		}
	if (first)
		return first;
	return tune_next_prio(site, NULL);
}

void tune_dose(
	const struct tune_case *tune_case, const struct tune_site *site, struct tune_plan *ret)
{
	tune_dose_as(tune_case, site, site->is, ret);
}

void tune_dose_as(const struct tune_case *tune_case, const struct tune_site *site,
	const struct tune_rule *rule, struct tune_plan *ret)
{
	static const struct tune_platform unknown;
	const struct tune_platform *platform;
	if (tune_case->in->platforms)
		platform = &tune_case->in->platforms[site->device->device->index];
	else
		platform = &unknown;
	const enum tune_family f = rule->family;
	*ret = (struct tune_plan){.c = tune_case,
		.site = site,
		.rule = rule,
		.platform = platform,
		.like = like_of(site, f),
		.cost_bytes = NAN,
		.q_pfc = site->q_pfc};
	plan_prios(ret, of_profile);
	switch (f) {
	case FAMILY_HEADROOM: plan_more_headroom(ret); break;
	case FAMILY_LESS_HEADROOM: plan_less_headroom(ret); break;
	case FAMILY_ALPHA_THEN_ECN: plan_queue(ret); break;
	case FAMILY_ECN_UP: plan_early(ret); break;
	case FAMILY_XON: plan_xon(ret); break;
	case FAMILY_NONE: break;
	}
	if (f == FAMILY_ALPHA_THEN_ECN && !tune_is_relative(site))
		plan_next(ret, tune_relative_offer(ret));
	if (f != FAMILY_ECN_UP && tune_by_credits(tune_case->in, site))
		ret->ignored = "credits keep this class lossless: no threshold of PFC acts on it";
	if (ret->refused || ret->ignored)
		ret->n_changes = 0;
}
