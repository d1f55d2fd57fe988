/* tune_dose_ecn - see the header. */
#include "analyzers/tune/tune_dose_ecn.h"

#include <math.h>

#include "agent/base/arena.h"
#include "agent/base/str.h"
#include "analyzers/measure/formulas.h"
#include "analyzers/tune/tune_worth.h"

#define ROOM 0.5 /* Kmin at most this share of q_PFC: senders take time to react */
/*
 * Kmax over Kmin. Between them the marking probability has to find the value at which the senders'
 * rates add up to the link's: on a ramp half as wide the queue swings from no marks to marks for
 * all, and the link runs empty in between (DCQCN's fixed point is stable only where the ramp is
 * flat against the delay of the loop: Zhu et al., "ECN or Delay", CoNEXT 2016, section 3).
 */
#define RAMP 4.0
/* Kmin in bandwidth-delay products: below four every sender pays for it. */
#define KMIN_BDPS 4.0
/* Where nobody waits for what the queue takes (storage): marks cost nobody time. */
#define KMIN_BDPS_STORAGE 2.0
#define PMAX_LEAST 0.05 /* less marks almost nothing on the ramp, and everything behind it */
#define PMAX_MOST 0.2
#define CNP_NS 50e3 /* a CNP per flow at most every 50 us: DCQCN, SIGCOMM 2015; newer NICs 4 us */

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

/* One bandwidth-delay product of the fastest port that has the bytes of @plan->like. */
static double plan_bdp(const struct tune_plan *plan)
{
	double speed_bps = NAN;
	for (const struct tune_prio *l = NULL; (l = tune_next_prio(plan->site, l));)
		if (l == plan->like || l->kmin == plan->like->kmin)
			speed_bps = fmax(speed_bps, tune_speed(plan->site->device, l->port));
	if (!(speed_bps > 0))
		return NAN;
	return bdp_bytes((uint64_t)speed_bps, (double)plan->c->in->options.rtt_ns);
}

struct room {
	double lo, hi, q, q_one, bdp;
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
	const double bdp = plan_bdp(plan);
	if (isnan(bdp))
		plan_collect(plan,
			"speed of the ports: `links:` in the configuration, or a collector that "
			"reads it");
	if (plan->n_collect)
		return false;
	*room = (struct room){.lo = fmax(bdp, 4 * mtu),
		.bdp = bdp,
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
	plan_check(plan, "Kmin at least one bandwidth-delay product", l->kmin, kmin, room->bdp,
		"bytes", kmin >= room->bdp);
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

/* ---- ports of one profile -------------------------------------------------- */

static double ramp_end(const struct tune_prio *prio, enum tune_knob knob)
{
	if (knob == KNOB_KMIN)
		return prio->kmin;
	return prio->kmax;
}

struct ramp_change {
	enum tune_knob knob; /* Kmin or Kmax */
	double proposed, least, most; /* bytes, at the port whose settings the plan is like */
	const char *why, *source;
};

static bool same_bytes(const struct tune_prio *left, const struct tune_prio *right)
{
	return left->kmin == right->kmin && left->kmax == right->kmax;
}

/* The change of all ports of the profile that have the same bytes now as @at. */
static void plan_ramp_of(
	struct tune_plan *plan, const struct ramp_change *change, const struct tune_prio *at)
{
	const double now = ramp_end(at, change->knob), by = at->kmin / plan->like->kmin;
	const struct tune_prio **group =
		arena_array(plan->c->in->arena, const struct tune_prio *, plan->n_prios + 1);
	const size_t before = plan->n_changes;
	size_t n = 0;
	const bool up = change->proposed > ramp_end(plan->like, change->knob);
	double proposed = change->proposed, least = change->least;
	if (by != 1) {
		proposed = fmin(by * proposed, change->most);
		least = fmin(by * least, proposed);
	}
	if (up == (proposed <= now))
		return;
	for (size_t i = 0; i < plan->n_prios; i++)
		if (same_bytes(plan->prios[i], at))
			group[n++] = plan->prios[i];
	if (plan_change(plan, change->knob, now, proposed, least, change->why, change->source) &&
		plan->n_changes > before)
		plan_scope_to(plan, &plan->changes[before], group, n);
}

/* The same of every kind of port, in proportion to what it has now: the plan's own first. */
static void plan_ramp(struct tune_plan *plan, const struct ramp_change *change)
{
	plan_ramp_of(plan, change, plan->like);
	for (size_t i = 0; i < plan->n_prios && !plan->refused; i++) {
		bool first = !same_bytes(plan->prios[i], plan->like);
		for (size_t k = 0; k < i && first; k++)
			first = !same_bytes(plan->prios[k], plan->prios[i]);
		if (first)
			plan_ramp_of(plan, change, plan->prios[i]);
	}
}

/* Kmin of the profile's fastest port, of that of @plan->like. */
static double largest_share(const struct tune_plan *plan)
{
	double most = 1;
	for (size_t i = 0; i < plan->n_prios; i++)
		most = fmax(most, plan->prios[i]->kmin / plan->like->kmin);
	return most;
}

/* ---- the ramp ------------------------------------------------------------- */

static double kmin_wanted(const struct tune_plan *plan, const struct room *room)
{
	double bdps = KMIN_BDPS;
	if (tune_is_storage(plan->c->in->fabric, plan->site->hot))
		bdps = KMIN_BDPS_STORAGE;
	return fmin(room->hi, fmax(room->lo, bdps * room->bdp));
}

static void plan_pmax(struct tune_plan *plan)
{
	const double pmax = plan->like->pmax, bound = plan->c->in->options.max_pmax;
	double most = PMAX_MOST;
	if (bound > 0)
		most = bound;
	const double proposed = fmin(fmax(pmax, PMAX_LEAST), most);
	if (plan->refused || isnan(pmax) || proposed == pmax)
		return;
	plan_change(plan, KNOB_PMAX, pmax, proposed, 0,
		"a wide ramp: 5 to 20 % of the packets at Kmax, so that marks grow with the queue",
		tune_row(plan->rule->row)->cite);
}

double tune_ramp_kmax(const struct tune_prio *prio, double q_pfc, double pool_bytes)
{
	const double kmax = fmin(RAMP * prio->kmin, pool_bytes);
	if (prio->kmin < q_pfc && prio->kmax < kmax)
		return kmax;
	return NAN;
}

/* Marks slow somebody down: dropped again where that costs more than the pause it ends. */
static void judge_worth(struct tune_plan *plan)
{
	struct tune_forecast f;
	const struct whatif_settings to = {NAN, NAN, NAN, NAN, proposed_of(plan, KNOB_KMIN, NAN),
		proposed_of(plan, KNOB_KMAX, NAN), proposed_of(plan, KNOB_PMAX, NAN)};
	if (!plan->worth || !plan->n_changes || !tune_worth_ask(plan->worth, &to, &f))
		return;
	tune_worth_check(plan, plan->worth, &f);
	if (tune_marks_are_worth(&f))
		return;
	plan->n_changes = plan->n_checks = 0;
	plan->left_alone =
		"by the model nobody would be faster for earlier marks, and those who are marked "
		"slower";
}

void plan_ecn_ramp(struct tune_plan *plan)
{
	struct room r;
	const struct tune_prio *l = plan->like;
	const double mtu = (double)plan->c->in->fabric->lossless_mtu_bytes;
	if (!find_room(plan, &r))
		return;
	const double most = r.q - mtu;
	r.hi = fmin(r.hi, most / RAMP);
	if (r.lo * largest_share(plan) > r.hi) {
		plan->refused =
			"this buffer cannot place ECN before PFC: a ramp from one bandwidth-delay "
			"product to four of them does not fit below the depth at which PFC fires";
		plan_next(plan,
			"a larger share of the pool for the lossless class (alpha), fewer QPs per "
			"receiver, or admission by the receiver");
		return;
	}
	const double kmin = fmin(l->kmin, kmin_wanted(plan, &r));
	const double kmax = fmin(most, RAMP * kmin);
	if (kmin < l->kmin)
		plan_ramp(plan,
			&(struct ramp_change){KNOB_KMIN, kmin, r.lo, r.hi,
				"ECN marks before PFC fires: four bandwidth-delay products (two "
				"towards storage), at most a quarter of q_PFC",
				tune_row(3)->cite});
	if (!plan->refused && kmax < l->kmax)
		plan_ramp(plan,
			&(struct ramp_change){KNOB_KMAX, kmax,
				proposed_of(plan, KNOB_KMIN, l->kmin) + mtu, most,
				"four times Kmin, below q_PFC: a steeper ramp makes senders swing, "
				"a later end marks too few before PFC fires",
				tune_row(3)->cite});
	if (!plan->n_changes)
		return;
	plan_pmax(plan);
	if (!plan->refused)
		judge_ecn(plan, &r);
	if (!plan->refused)
		judge_worth(plan);
}

/* ---- early marks ---------------------------------------------------------- */

void plan_ecn_up(struct tune_plan *plan)
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
			plan_ramp(plan,
				&(struct ramp_change){KNOB_KMAX, kmax, kmin, r.q - mtu,
					"by the same factor as Kmin, below q_PFC",
					tune_row(5)->cite});
		if (!plan->refused)
			plan_ramp(plan,
				&(struct ramp_change){KNOB_KMIN, kmin, fmin(r.lo, kmin), r.hi,
					"marks only when a queue stands: at least one "
					"bandwidth-delay product, at most half of q_PFC",
					tune_row(5)->cite});
	} else if (l->pmax > 0.01) {
		plan_change(plan, KNOB_PMAX, l->pmax, l->pmax / 2, 0,
			"half the probability: Kmin is as high as PFC allows", tune_row(5)->cite);
	}
	if (!plan->refused && plan->n_changes)
		judge_ecn(plan, &r);
}
