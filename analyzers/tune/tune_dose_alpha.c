/* tune_dose_alpha - see the header. */
#include "analyzers/tune/tune_dose_alpha.h"

#include "analyzers/measure/formulas.h"
#include "analyzers/tune/tune_worth.h"

/* ---- marks ------------------------------------------------------------------ */

#define ROOM 0.5 /* Kmin at most this share of q_PFC: senders take time to react */
/*
 * Kmax over Kmin. Between them the marking probability has to find the value at which the senders'
 * rates add up to the link's: on a ramp half as wide the queue swings from no marks to marks for
 * all, and the link runs empty in between (DCQCN's fixed point is stable only where the ramp is
 * flat against the delay of the loop: Zhu et al., "ECN or Delay", CoNEXT 2016, section 3).
 */
#define RAMP 4.0
#define RAMP_STEP 0.1 /* less is not worth a change */
/*
 * Of the depth at which PFC fires once alpha went up: Kmin, and Kmax. Bursts that fit pass
 * unmarked, as before. With Kmin at half of it J was the same in 26 drawn fabrics, but in eight of
 * those where a mark costs a timer of 300 us it was 1.97 to 4.15, and 1.58 to 2.01 with these.
 */
#define RAMP_BEGIN 0.75
/* ... and of what a single queue fills: it is marked before it is paused, where it is today */
#define IN_ORDER 0.99
#define RAMP_END 2.0
/* Kmin in bandwidth-delay products: below four every sender pays for it. */
#define KMIN_BDPS 4.0
/* Where nobody waits for what the queue takes (storage): marks cost nobody time. */
#define KMIN_BDPS_STORAGE 2.0
/* ... and where no switch pauses anybody, and marks came too early: SONiC's default is eight of
 * them at 100G. */
#define KMIN_BDPS_QUIET 6.0
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

/* What a single busy queue fills before it is paused, at least: pools are told without headroom,
 * and where one is not, the headroom of all ports comes out of it. */
static double single_queue(const struct tune_site *site, double alpha)
{
	double headroom = 0;
	for (const struct tune_prio *l = NULL; (l = tune_next_prio(site, l));)
		if (l->headroom_bytes > 0)
			headroom += l->headroom_bytes;
	return dt_limit_bytes(site->pool_bytes - headroom, alpha, 1);
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
		.q_one = IN_ORDER * single_queue(p, plan->like->alpha)};
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

static double kmin_wanted(const struct tune_plan *plan, const struct room *room, double bdps)
{
	if (tune_is_storage(plan->c->in->fabric, plan->site->hot))
		bdps = KMIN_BDPS_STORAGE;
	return fmin(room->hi, fmax(room->lo, bdps * room->bdp));
}

/* No higher probability is advised. */
static double pmax_most(const struct tune_plan *plan)
{
	if (plan->c->in->options.max_pmax > 0)
		return plan->c->in->options.max_pmax;
	return PMAX_MOST;
}

static void plan_pmax(struct tune_plan *plan, double most)
{
	const double pmax = plan->like->pmax;
	const double proposed = fmin(fmax(pmax, PMAX_LEAST), most);
	if (plan->refused || isnan(pmax) || proposed == pmax)
		return;
	plan_change(plan, KNOB_PMAX, pmax, proposed, 0,
		"a wide ramp: 5 to 20 % of the packets at Kmax, so that marks grow with the queue",
		tune_row(plan->rule->row)->cite);
}

struct tune_ramp {
	double kmin, kmax; /* bytes; NAN: not known, or as it is */
};

/*
 * The ramp of a queue like @prio once alpha is @alpha and PFC fires at @q_pfc
 * only, never lower than now: Kmax four times Kmin.
 * Where the site does not mark many yet, Kmin goes to three quarters of @q_pfc (a single
 * queue that is marked before it is paused now still is), and Kmax to twice of @q_pfc: had the
 * ramp stayed, a queue that may grow past Kmin for the first time would mark senders that were
 * never marked, and each of them pays a timer of its NIC for it: with 300 us up to half of an
 * exchange. Lower it is a change of its own.
 */
static struct tune_ramp tune_ramp_after(
	const struct tune_site *site, const struct tune_prio *prio, double q_pfc, double alpha)
{
	struct tune_ramp ramp = {NAN, NAN};
	double begin = RAMP_BEGIN * q_pfc;
	/* lint counts the whole pool that the switch states: an order that holds there must stay */
	if (prio->kmin < dt_limit_bytes(site->pool_bytes, prio->alpha, 1))
		begin = fmin(begin, IN_ORDER * single_queue(site, alpha));
	const bool moves = !(site->signs.yes & T_MANY_MARKS) && begin >= site->bdp;
	double kmin = prio->kmin, kmax = RAMP * kmin;
	if (!(kmin < q_pfc))
		return ramp;
	if (moves) {
		kmin = fmax(kmin, begin);
		kmax = fmax(RAMP * kmin, RAMP_END * q_pfc);
	}
	if (kmin > (1 + RAMP_STEP) * prio->kmin)
		ramp.kmin = kmin;
	if (kmax > (1 + RAMP_STEP) * prio->kmax)
		ramp.kmax = kmax;
	return ramp;
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
	if (tune_marks_are_worth(plan->worth, &f))
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
	const double kmin = fmin(l->kmin, kmin_wanted(plan, &r, KMIN_BDPS));
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
	plan_pmax(plan, pmax_most(plan));
	if (!plan->refused)
		judge_ecn(plan, &r);
	if (!plan->refused)
		judge_worth(plan);
}

/* ---- early marks ---------------------------------------------------------- */

/* No switch holds another or a host back, as far as is known of all of them. */
static bool nobody_pauses(const struct tune_plan *plan)
{
	for (size_t i = 0; i < plan->c->n_sites; i++) {
		const struct tune_site *site = &plan->c->sites[i];
		const uint32_t silent = site->signs.known & ~site->signs.yes;
		if (site->priority == plan->site->priority && tune_next_prio(site, NULL) &&
			!(silent & T_PAUSES))
			return false;
	}
	return true;
}

/*
 * Below one bandwidth-delay product no value is sound, so the first step goes there; from there on
 * at most doubled at once. Where nobody pauses anybody there is room, and Kmin goes to six, with
 * the least probability: in five drawn fabrics without pause J was 0.60 to 1.17 there, 0.65 to 1.37
 * with four, and 0.98 to 1.42 with one. In six where links were paused four cost up to a quarter of
 * J.
 */
static double kmin_up(const struct tune_plan *plan, const struct room *room, bool quiet)
{
	double wanted = fmax(2 * plan->like->kmin, room->lo);
	if (quiet)
		wanted = fmax(wanted, kmin_wanted(plan, room, KMIN_BDPS_QUIET));
	return fmin(wanted, room->hi);
}

static void plan_ramp_up(struct tune_plan *plan, const struct room *room, double kmin, bool quiet)
{
	const struct tune_prio *l = plan->like;
	const double mtu = (double)plan->c->in->fabric->lossless_mtu_bytes;
	double kmax = fmax(l->kmax * kmin / l->kmin, kmin + 4 * mtu);
	if (quiet)
		kmax = fmax(l->kmax, RAMP * kmin);
	kmax = fmin(kmax, room->q - mtu);
	/* raising: Kmax first, then Kmin (rule 6) */
	if (kmax != l->kmax)
		plan_ramp(plan,
			&(struct ramp_change){KNOB_KMAX, kmax, kmin, room->q - mtu,
				"a ramp as wide as before, four times Kmin where nobody pauses; "
				"below q_PFC",
				tune_row(5)->cite});
	double least = room->lo;
	if (kmin < least) /* there is less room than that: what fits, rounded down */
		least = l->kmin;
	if (!plan->refused)
		plan_ramp(plan,
			&(struct ramp_change){KNOB_KMIN, kmin, least, room->hi,
				"marks only when a queue stands: one bandwidth-delay product, six "
				"where nobody pauses, at most half of q_PFC",
				tune_row(5)->cite});
	if (quiet && l->pmax > PMAX_LEAST && plan_settable(plan, KNOB_PMAX))
		plan_pmax(plan, fmin(PMAX_LEAST, pmax_most(plan)));
}

void plan_ecn_up(struct tune_plan *plan)
{
	struct room r;
	const struct tune_prio *l = plan->like;
	if (!find_room(plan, &r))
		return;
	const bool quiet = nobody_pauses(plan);
	const double kmin = kmin_up(plan, &r, quiet);
	if (kmin > l->kmin)
		plan_ramp_up(plan, &r, kmin, quiet);
	else if (l->pmax > 0.01)
		plan_change(plan, KNOB_PMAX, l->pmax, l->pmax / 2, 0,
			"half the probability: Kmin is as high as PFC allows", tune_row(5)->cite);
	if (!plan->refused && plan->n_changes)
		judge_ecn(plan, &r);
}

/* ---- alpha ----------------------------------------------------------------- */

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

/* Is it known how much of the pool a larger alpha would take? The inputs and the slices of the pool
 * are known, and either the peak of the pool was measured while PFC fired, or PFC fired within 15 %
 * of the computed depth. */
static bool tune_alpha_is_sure(const struct tune_site *site)
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

/* Queues of all profiles: each may grow deeper by a larger share of the pool that they have in
 * common. */
static struct port_set ports_that_mark(const struct tune_plan *plan)
{
	struct port_set set = port_set_new(plan);
	for (const struct tune_prio *l = NULL; (l = tune_next_prio(plan->site, l));)
		if (l->kmin > 0)
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

/* Groups that paused and have another alpha go up by the same factor. @now is the largest of them
 * (group_of()), so none gets more than @after. */
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
		plan_change(plan, KNOB_ALPHA, l->alpha, after / now * l->alpha, 0, why,
			tune_row(plan->rule->row)->cite);
		if (plan->n_changes == before)
			continue;
		take_ports(plan, &set);
		plan_scope(plan, &plan->changes[before], set.v, set.n);
	}
}

/* A change of queues is for those that have the same bytes as @like. */
static void scope_ramp(
	struct tune_plan *plan, const struct port_set *queues, const struct tune_prio *like)
{
	struct port_set set = port_set_new(plan);
	for (size_t i = 0; i < queues->n; i++)
		if (same_bytes(queues->v[i], like))
			set.v[set.n++] = queues->v[i];
	plan_scope_to(plan, &plan->changes[plan->n_changes - 1], set.v, set.n);
}

static bool is_first_ramp(const struct port_set *queues, size_t at)
{
	for (size_t i = 0; i < at; i++)
		if (same_bytes(queues->v[i], queues->v[at]))
			return false;
	return true;
}

/* Raising: Kmax first, then Kmin (rule 6). What cannot be set stays as it is. */
static void move_ramp(
	struct tune_plan *plan, const struct port_set *queues, enum tune_knob knob, double alpha)
{
	static const char why_kmin[] =
		"three quarters of the depth at which PFC then fires: who is not marked today is "
		"hardly marked for the larger share either, and marks come first";
	static const char why_kmax[] =
		"a ramp of four times Kmin at least, on which senders do not swing; twice the "
		"depth at which PFC then fires where nobody is marked today";
	for (size_t i = 0; i < queues->n; i++) {
		const struct tune_prio *l = queues->v[i];
		const struct tune_ramp ramp = tune_ramp_after(plan->site, l, plan->q_pfc, alpha);
		const bool low = knob == KNOB_KMIN;
		const double to = low ? ramp.kmin : ramp.kmax;
		if (isnan(to) || !is_first_ramp(queues, i))
			continue;
		if (plan_change(plan, knob, ramp_end(l, knob), to, 0, low ? why_kmin : why_kmax,
			    tune_row(plan->rule->row)->cite))
			scope_ramp(plan, queues, l);
		else
			plan->refused = NULL;
	}
}

/* ---- the step --------------------------------------------------------------- */

static bool ask_alpha(const struct tune_plan *plan, double alpha, struct tune_forecast *ret)
{
	const struct tune_ramp ramp =
		tune_ramp_after(plan->site, plan->like, q_pfc_with(plan->site, alpha), alpha);
	const struct whatif_settings to = {alpha, NAN, NAN, NAN, ramp.kmin, ramp.kmax, NAN};
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
	const double kmin = plan->like->kmin, kmin_after = proposed_of(plan, KNOB_KMIN, kmin),
		     one = single_queue(site, after);
	const double share = pool_share(total * after / now);
	plan_check(plan, "depth of the queue at which PFC fires, q_PFC", site->q_pfc, plan->q_pfc,
		NAN, "bytes", true);
	plan_check(plan, "share of the pool that congested inputs may take", pool_share(total),
		share, TUNE_POOL_SHARE, "ratio", share <= TUNE_POOL_SHARE);
	if (!isnan(kmin))
		plan_check(plan, "Kmin below what a single queue fills (limit: after)", kmin,
			kmin_after, one, "bytes", kmin_after < one);
}

bool plan_alpha(struct tune_plan *plan, const char *why)
{
	const struct tune_site *site = plan->site;
	const double now = group_of(plan)->alpha, pool = site->pool_bytes;
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
	const struct port_set queues = ports_that_mark(plan);
	move_ramp(plan, &queues, KNOB_KMAX, after);
	move_ramp(plan, &queues, KNOB_KMIN, after);
	check_alpha(plan, now, after, total);
	struct tune_forecast forecast;
	if (plan->worth && ask_alpha(plan, after, &forecast))
		tune_worth_check(plan, plan->worth, &forecast);
	plan->cost_bytes = (pool_share(total * after / now) - pool_share(total)) * pool;
	return true;
}
