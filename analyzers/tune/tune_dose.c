/* tune_dose - see the header. tune_dose_alpha.c, tune_dose_ecn.c and tune_dose_headroom.c have the
 * values. */
#include "analyzers/tune/tune_dose.h"

#include <math.h>

#include "agent/base/arena.h"
#include "agent/base/str.h"
#include "analyzers/tune/tune_dose_alpha.h"
#include "analyzers/tune/tune_dose_ecn.h"
#include "analyzers/tune/tune_dose_headroom.h"
#include "analyzers/tune/tune_signs.h"
#include "analyzers/tune/tune_world.h"
#include "analyzers/tune/tune_worth.h"

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
