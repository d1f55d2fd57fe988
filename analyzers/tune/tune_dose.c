/* tune_dose - see the header. tune_dose_headroom.c has the rows about headroom. */
#include <math.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "analyzers/measure/formulas.h"
#include "analyzers/tune/tune_dose.h"
#include "analyzers/tune/tune_dose_headroom.h"
#include "analyzers/tune/tune_signs.h"

#define POOL_SHARE 0.8 /* what congested inputs may take of the pool together */
#define ROOM 0.5 /* Kmin at most this share of q_PFC: senders take time to react */
/* Share of time that hosts are paused: below it one more step of alpha is likely to end the pause,
 * and no marks are needed for it. */
#define FAINT 0.01
/* Bandwidth-delay products: below it every smaller Kmin costs throughput (measured in simulation:
 * the knee lies at three to four). */
#define COMFORT 3.0
#define PMAX_LEAST 0.05
#define PMAX_USUAL 0.2 /* up to 20 %; more only where the site says so */
#define XON_MTUS 4.0 /* lossless packets between XOFF and XON at most */
#define CNP_NS 50e3 /* a CNP per flow at most every 50 us: DCQCN, SIGCOMM 2015; newer NICs 4 us */

/* ---- words --------------------------------------------------------------- */

/* ---- knobs --------------------------------------------------------------- */

/* ---- what the change is meant for ---------------------------------------- */

static bool of_profile(const struct tune_plan *plan, const struct tune_prio *prio)
{
	return tune_same_profile(plan->rule->family, prio, plan->like);
}

/* ---- alpha --------------------------------------------------------------- */

/* Inputs that may be congested at once: the most that were, else all there are. */
static double tune_dose_congested(const struct tune_plan *plan)
{
	const struct tune_device *d = plan->site->device;
	const double k = fmax(plan->site->inputs, d->inputs_max ? d->inputs_max : NAN);
	if (k >= 1)
		return k;
	return fmax(1, (double)d->n_ports - 1);
}

static double pool_share(double alpha, double inputs)
{
	return inputs * alpha / (1 + inputs * alpha);
}

/*
 * plan_alpha - twice the share of the free pool. False, and nothing planned: alpha or the pool is
 * not known, the pool is not free, or no alpha that may be set brings PFC behind @kmin (NAN: that
 * is not asked).
 */
static bool plan_alpha(struct tune_plan *plan, double kmin, const char *why)
{
	const struct tune_site *p = plan->site;
	const double now = plan->like->alpha, twice = 2 * now, k = tune_dose_congested(plan),
		     b = p->pool_bytes, peak = p->device->pool.max / p->device->pool_bytes;
	if (!(now > 0) || !(b > 0) || !plan_settable(plan, KNOB_ALPHA) ||
		pool_share(twice, k) > POOL_SHARE || peak > POOL_SHARE || kmin >= POOL_SHARE * b)
		return false;
	if (!plan_change(plan, KNOB_ALPHA, now, twice, 0, why, tune_row(plan->rule->row)->cite)) {
		plan->refused = NULL;
		return false;
	}
	const double after = plan->changes[0].proposed, inputs = fmax(1, p->inputs);
	const double model = dt_pfc_queue_bytes(b, 0, after, inputs);
	/* what was measured scales as the model does */
	if (p->by_watermark && p->q_pfc_model > 0)
		plan->q_pfc = p->q_pfc * model / p->q_pfc_model;
	else
		plan->q_pfc = model;
	plan_check(plan, "depth of the queue at which PFC fires, q_PFC", p->q_pfc, plan->q_pfc, NAN,
		"bytes", true);
	plan_check(plan, "share of the pool that congested inputs may take", pool_share(now, k),
		pool_share(after, k), POOL_SHARE, "ratio", pool_share(after, k) <= POOL_SHARE);
	if (!isnan(plan->like->kmin))
		plan_check(plan, "Kmin at most half of q_PFC (limit: after)", plan->like->kmin,
			plan->like->kmin, ROOM * plan->q_pfc, "bytes",
			plan->like->kmin <= ROOM * plan->q_pfc);
	plan->cost_bytes = 0;
	return true;
}

/* ---- ECN ----------------------------------------------------------------- */

unsigned tune_incast_absorbed(double pool_bytes, double alpha, double kmin_bytes, double speed_bps,
	double rtt_ns, unsigned most)
{
	unsigned absorbed = 1;
	for (unsigned k = 2; k <= most; k++)
		if (kmin_bytes + (k - 1) * speed_bps / 8e9 * (rtt_ns + CNP_NS) <=
			dt_pfc_queue_bytes(pool_bytes, 0, alpha, k))
			absorbed = k;
	return absorbed;
}

struct room {
	double lo, hi, q, q_one;
}; /* where Kmin may be */

/* False: what it takes is not known, and the plan says how to get it. */
static bool find_room(struct tune_plan *plan, struct room *room)
{
	const struct tune_site *p = plan->site;
	const double mtu = (double)plan->c->in->fabric->lossless_mtu_bytes;
	if (isnan(plan->like->kmin))
		plan_need(plan, NEED_ECN);
	if (isnan(plan->like->kmax))
		plan_need(plan, NEED_ECN);
	if (isnan(p->q_pfc)) {
		if (isnan(plan->like->alpha) && isnan(plan->like->xoff_level))
			plan_need(plan, NEED_ALPHA);
		if (!(p->device->pool_bytes > 0))
			plan_need(plan, NEED_POOL);
		plan_need(plan, NEED_WATERMARKS);
	}
	if (isnan(p->bdp))
		plan_collect(plan,
			"speed of the ports: `links:` in the configuration, or a collector that "
			"reads it");
	if (plan->n_collect)
		return false;
	*room = (struct room){.lo = fmax(p->bdp, 4 * mtu),
		.hi = ROOM * p->q_pfc,
		.q = p->q_pfc,
		.q_one = dt_limit_bytes(p->pool_bytes, plan->like->alpha, 1)};
	if (room->hi >= room->q_one) /* NAN for static thresholds: no limit */
		room->hi = room->q_one - 1;
	return true;
}

static void check_ecn(struct tune_plan *plan, const struct room *room, double kmin, double kmax)
{
	const struct tune_prio *l = plan->like;
	const struct tune_site *p = plan->site;
	plan->q_pfc = room->q;
	plan_check(plan, "depth of the queue at which PFC fires, q_PFC", room->q, room->q, NAN,
		"bytes", true);
	plan_check(plan, "Kmin at most half of q_PFC", l->kmin, kmin, ROOM * room->q, "bytes",
		kmin <= ROOM * room->q);
	plan_check(plan, "Kmin below what a single input reaches", l->kmin, kmin, room->q_one,
		"bytes", !(kmin >= room->q_one));
	plan_check(plan, "Kmax at most q_PFC", l->kmax, kmax, room->q, "bytes", kmax <= room->q);
	plan_check(plan, "Kmin at least one bandwidth-delay product", l->kmin, kmin, p->bdp,
		"bytes", kmin >= p->bdp);
	if (l->alpha > 0 && p->pool_bytes > 0) {
		const unsigned most = (unsigned)p->device->n_ports;
		const double rtt = (double)plan->c->in->options.rtt_ns;
		plan_check(plan,
			"senders of the largest incast that ECN absorbs before PFC fires (CNP "
			"every 50 us)",
			tune_incast_absorbed(
				p->pool_bytes, l->alpha, l->kmin, p->speed_bps, rtt, most),
			tune_incast_absorbed(
				p->pool_bytes, l->alpha, kmin, p->speed_bps, rtt, most),
			NAN, "-", true);
	}
	plan->cost_bytes = 0;
}

static double proposed_of(const struct tune_plan *plan, enum tune_knob knob, double otherwise)
{
	for (size_t i = 0; i < plan->n_changes; i++)
		if (plan->changes[i].knob == knob)
			return plan->changes[i].proposed;
	return otherwise;
}

/* Refused when what comes out is not in order: rule 3. */
static void judge_ecn(struct tune_plan *plan, const struct room *room)
{
	const double kmin = proposed_of(plan, KNOB_KMIN, plan->like->kmin),
		     kmax = proposed_of(plan, KNOB_KMAX, plan->like->kmax);
	check_ecn(plan, room, kmin, kmax);
	if (kmin > 0 && kmin < kmax && kmin <= ROOM * room->q && kmax <= room->q)
		return;
	plan->refused = "rounded as the platform rounds, Kmin and Kmax would not be in order below "
			"the depth at which PFC fires";
	plan->n_changes = 0;
}

/* Marking jumps to all packets at Kmax: with a Pmax next to nothing a nearer Kmax is a cliff that
 * senders fall off, not a ramp. */
static void plan_ramp(struct tune_plan *plan)
{
	const double pmax = plan->like->pmax, bound = plan->c->in->options.max_pmax;
	double least = PMAX_LEAST;
	if (bound > 0)
		least = fmin(PMAX_LEAST, bound);
	if (!plan->refused && plan->n_changes && pmax > 0 && pmax < least)
		plan_change(plan, KNOB_PMAX, pmax, least, 0,
			"with Kmax this near, a smaller Pmax would mark almost nothing and then "
			"everything",
			tune_row(plan->rule->row)->cite);
}

static void plan_ecn_down(struct tune_plan *plan)
{
	struct room r;
	const struct tune_prio *l = plan->like;
	const double mtu = (double)plan->c->in->fabric->lossless_mtu_bytes;
	if (!find_room(plan, &r))
		return;
	if (r.lo > r.hi) {
		plan->refused =
			"this buffer cannot place ECN before PFC: half of the depth at which "
			"PFC fires is less than one bandwidth-delay product";
		plan_next(plan,
			"a larger share of the pool for the lossless class (alpha), fewer QPs per "
			"receiver, or admission by the receiver");
		return;
	}
	/* A Kmin beyond the depth at which PFC fires never marks, wherever it is: the step of at
	 * most a half is counted from there. */
	const double target = fmin(fmax(4 * plan->site->bdp, r.lo), r.hi),
		     kmin = fmin(r.hi, fmax(target, fmin(l->kmin, r.q) / 2));
	if (!(kmin < l->kmin))
		return;
	const double kmax = fmin(4 * kmin, r.q - mtu);
	const char *why = "ECN marks before PFC fires: 4 bandwidth-delay products, at most half of "
			  "q_PFC, at most halved in one step";
	if (l->kmin > r.q)
		why = "marks before PFC fires: four bandwidth-delay products, at most half of "
		      "q_PFC; a "
		      "Kmin above q_PFC never acts, so the step of at most a half counts from "
		      "q_PFC";
	plan_change(plan, KNOB_KMIN, l->kmin, kmin, r.lo, why, tune_row(3)->cite);
	if (!plan->refused && kmax != l->kmax)
		plan_change(plan, KNOB_KMAX, l->kmax, kmax,
			proposed_of(plan, KNOB_KMIN, l->kmin) + mtu, "four times Kmin, below q_PFC",
			tune_row(3)->cite);
	plan_ramp(plan);
	if (!plan->refused)
		judge_ecn(plan, &r);
}

/* Kmin is in order, Kmax lies behind PFC. */
static void plan_kmax(struct tune_plan *plan)
{
	struct room r;
	const struct tune_prio *l = plan->like;
	if (!find_room(plan, &r))
		return;
	const double kmax =
		fmin(4 * l->kmin, r.q - (double)plan->c->in->fabric->lossless_mtu_bytes);
	if (!(kmax < l->kmax) || !(kmax > l->kmin) ||
		!plan_change(plan, KNOB_KMAX, l->kmax, kmax, l->kmin,
			"four times Kmin, below q_PFC: marking reaches Pmax before PFC fires",
			tune_row(3)->cite))
		return;
	plan_ramp(plan);
	judge_ecn(plan, &r);
}

static const char then_ecn[] =
	"then, when this is verified: Kmin and Kmax, if hosts are still paused";

/*
 * Row 3. A step of alpha moves PFC away at no cost to throughput, so it comes first where it
 * restores the order by itself, and where ECN has no comfortable place yet: so close to one
 * bandwidth-delay product Kmin costs more than the pause it prevents. Nor is it worth marks that
 * slow everybody when little pause is left (d: do not chase zero). Else Kmin, which removes what
 * alpha only delays.
 */
static void plan_late(struct tune_plan *plan)
{
	const struct tune_site *p = plan->site;
	const double k = fmax(1, p->inputs),
		     after = dt_pfc_queue_bytes(p->pool_bytes, 0, 2 * plan->like->alpha, k),
		     now = dt_pfc_queue_bytes(p->pool_bytes, 0, plan->like->alpha, k);
	const bool restores = plan->like->kmin <= ROOM * p->q_pfc * after / now;
	if (!restores && p->q_pfc >= COMFORT * p->bdp && !(p->host_pause < FAINT))
		plan_ecn_down(plan);
	if (plan->n_changes || plan->n_collect)
		return;
	const char *refused = plan->refused;
	plan->refused = NULL;
	plan->n_checks = plan->n_next = 0;
	if (plan_alpha(plan, plan->like->kmin,
		    "the pool is free: PFC fires later, which leaves marking more room before it"))
		plan_next(plan, then_ecn);
	else if (refused)
		plan->refused = refused;
	else
		plan_ecn_down(plan);
	if (!plan->refused || plan->n_changes)
		return;
	if (p->slices_unknown)
		plan_collect(plan,
			"how the shared pool is sliced: read-back (cfg.pool_slices), or queue "
			"watermarks, which settle it when PFC fires; until then half of the pool "
			"is counted on");
	/* no place for ECN yet: a step of alpha makes room, even if it takes more than one */
	const char *why = plan->refused;
	plan->refused = NULL;
	if (plan_alpha(plan, NAN,
		    "the pool is free: PFC fires later; ECN finds no place before it yet"))
		plan_next(plan, then_ecn);
	else
		plan->refused = why;
}

/* Row 4, where the pool is not free: a quarter less, and twice the probability. */
static void plan_ecn_sharper(struct tune_plan *plan)
{
	struct room r;
	const struct tune_prio *l = plan->like;
	const struct tune_in *in = plan->c->in;
	if (!find_room(plan, &r))
		return;
	const double kmin = fmin(fmax(0.75 * l->kmin, r.lo), r.hi);
	double most = PMAX_USUAL;
	if (in->options.max_pmax > 0)
		most = in->options.max_pmax;
	const double pmax = fmin(2 * l->pmax, most);
	if (r.lo <= r.hi && kmin < l->kmin)
		plan_change(plan, KNOB_KMIN, l->kmin, kmin, r.lo,
			"a quarter less: senders slow down sooner", tune_row(4)->cite);
	if (!plan->refused && r.lo <= r.hi && l->kmax > r.q)
		plan_change(plan, KNOB_KMAX, l->kmax, r.q - (double)in->fabric->lossless_mtu_bytes,
			l->kmin, "below q_PFC", tune_row(4)->cite);
	if (!plan->refused && pmax > l->pmax)
		plan_change(plan, KNOB_PMAX, l->pmax, pmax, 0,
			"twice the probability: more senders slow down", tune_row(4)->cite);
	if (!plan->refused && plan->n_changes)
		judge_ecn(plan, &r);
	else if (!plan->refused)
		plan->refused =
			"Kmin is at one bandwidth-delay product and Pmax at its bound already";
}

static void plan_ecn_up(struct tune_plan *plan)
{
	struct room r;
	const struct tune_prio *l = plan->like;
	const double mtu = (double)plan->c->in->fabric->lossless_mtu_bytes;
	if (!find_room(plan, &r))
		return;
	/* below one bandwidth-delay product no value is sound, so the first step goes there; from
	 * there on at most doubled at once */
	const double kmin = fmin(fmax(2 * l->kmin, r.lo), r.hi);
	if (kmin > l->kmin) {
		const double kmax = fmin(fmax(l->kmax * kmin / l->kmin, kmin + 4 * mtu), r.q - mtu);
		/* raising: Kmax first, then Kmin (rule 6) */
		if (kmax != l->kmax)
			plan_change(plan, KNOB_KMAX, l->kmax, kmax, kmin,
				"by the same factor as Kmin, below q_PFC", tune_row(5)->cite);
		if (!plan->refused)
			plan_change(plan, KNOB_KMIN, l->kmin, kmin, fmin(r.lo, kmin),
				"marks only when a queue stands: at least one bandwidth-delay "
				"product, at most half of q_PFC",
				tune_row(5)->cite);
	} else if (l->pmax > 0.01) {
		plan_change(plan, KNOB_PMAX, l->pmax, l->pmax / 2, 0,
			"half the probability: Kmin is as high as PFC allows", tune_row(5)->cite);
	}
	if (!plan->refused && plan->n_changes)
		judge_ecn(plan, &r);
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
	if (family == FAMILY_ALPHA_THEN_ECN || family == FAMILY_ALPHA_OR_ECN ||
		family == FAMILY_KMAX || family == FAMILY_ECN_UP)
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
	case FAMILY_ALPHA_THEN_ECN: plan_late(ret); break;
	case FAMILY_ALPHA_OR_ECN:
		if (!plan_alpha(ret, NAN,
			    "the pool is free: the queue may take more of it before PFC fires"))
			plan_ecn_sharper(ret);
		plan_next(ret,
			"in the application: fewer peers at once, or transfers that the receiver "
			"asks for");
		break;
	case FAMILY_KMAX:
		if (site->q_pfc >= 2 * site->bdp)
			plan_kmax(ret);
		else if (plan_alpha(ret, NAN,
				 "the pool is free: PFC fires later, so that marking is thicker "
				 "before it"))
			plan_next(ret, then_ecn);
		else
			plan_kmax(ret);
		break;
	case FAMILY_ECN_UP: plan_ecn_up(ret); break;
	case FAMILY_XON: plan_xon(ret); break;
	case FAMILY_NONE: break;
	}
	if (ret->refused)
		ret->n_changes = 0;
}
