/* tune_dose - see the header. tune_dose_headroom.c has the rows about headroom. */
#include <math.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "analyzers/measure/formulas.h"
#include "analyzers/tune/tune_dose_internal.h"
#include "analyzers/tune/tune_signs.h"

#define POOL_SHARE 0.8 /* what congested inputs may take of the pool together: d, row 3 */
#define ROOM 0.5 /* b.4 */
#define FAINT                                                                                      \
	0.01 /* share of time that hosts are paused: below, one more step of alpha is likely to    \
		end it, and nothing is marked for it */
#define COMFORT                                                                                    \
	3.0 /* times one bandwidth-delay product: b.3, the knee of throughput lies at three to     \
	       four (measured) */
#define PMAX_LEAST 0.05
#define PMAX_USUAL 0.2 /* d, row 4: up to 20 %, more only where the site says so */
#define XON_MTUS 4.0 /* d, row 11 */
#define CNP_NS 50e3 /* b.4: NICs send a CNP every 4 to 50 us; the slowest */

/* ---- words --------------------------------------------------------------- */

void plan_collect(struct tune_plan *t, const char *what)
{
	for (size_t i = 0; i < t->n_collect; i++)
		if (str_eq(t->collect[i], what))
			return;
	if (t->n_collect < PLAN_WORDS)
		t->collect[t->n_collect++] = what;
}

void plan_next(struct tune_plan *t, const char *what)
{
	if (t->n_next < PLAN_WORDS)
		t->next[t->n_next++] = what;
}

void plan_check(struct tune_plan *t, const char *text, double before, double after, double limit,
	const char *unit, bool ok)
{
	if (t->n_checks < PLAN_CHECKS && !(isnan(before) && isnan(after)))
		t->checks[t->n_checks++] = (struct tune_check){.text = text,
			.before = before,
			.after = after,
			.limit = limit,
			.unit = unit,
			.ok = ok};
}

static const char *const how_to_read[TUNE_KNOBS] = {
	[KNOB_HEADROOM] = "headroom in force: read-back by gNMI (BUFFER_PROFILE, BUFFER_PG) or "
			  "SNMP, or `thresholds:` in the configuration",
	[KNOB_XON_LEVEL] = "XON in force: read-back by gNMI, or `thresholds:` (xon_level, "
			   "xon_offset) in the configuration",
	[KNOB_XON_OFFSET] = "XON in force: read-back by gNMI, or `thresholds:` (xon_level, "
			    "xon_offset) in the configuration",
	[KNOB_ALPHA] = "dynamic threshold (alpha) in force: read-back by gNMI (BUFFER_PROFILE "
		       "dynamic_th), or `thresholds:` in the configuration",
	[KNOB_KMIN] = "Kmin in force: read-back by gNMI (WRED_PROFILE), or `thresholds:` in the "
		      "configuration",
	[KNOB_KMAX] = "Kmax in force: read-back by gNMI (WRED_PROFILE), or `thresholds:` in the "
		      "configuration",
	[KNOB_PMAX] = "Pmax in force: read-back by gNMI (WRED_PROFILE), or `thresholds:` in the "
		      "configuration",
};

void plan_missing(struct tune_plan *t, enum tune_knob k)
{
	plan_collect(t,
		how_to_read[k] ? how_to_read[k]
			       : "the value in force, by read-back or `thresholds:`");
}

/* ---- knobs --------------------------------------------------------------- */

double plan_cell(const struct tune_plan *t)
{
	const double told = t->place->device->cell_bytes;
	const struct tune_asic *asic = t->platform->asic;
	return told > 0 ? told : asic && asic->cell_bytes > 0 ? asic->cell_bytes : NAN;
}

static bool settable(const struct tune_plan *t, enum tune_knob k)
{
	return !t->platform->profile ||
		tune_rule_applies(&t->platform->profile->knobs[k], t->platform->name);
}

static double round_to(double v, double unit, enum tune_round how)
{
	const double n = v / unit;
	return (how == TUNE_UP ? ceil(n - 1e-9) : floor(n + 1e-9)) * unit;
}

/* As the platform writes it; where that is not known, in whole cells, else KiB (alpha: powers of
 * two as they come). Never below @least. */
static double knob_round(const struct tune_plan *t, enum tune_knob k, double v, double least)
{
	const double cell = plan_cell(t), unit = isnan(cell) ? 1024 : cell;
	if (!t->platform->profile)
		return k == KNOB_ALPHA || k == KNOB_PMAX
			? v
			: fmax(round_to(v, unit, tune_knob_safe(k)),
				  round_to(least, unit, TUNE_UP));
	const struct tune_knob_rule *r = &t->platform->profile->knobs[k];
	const double limit = dt_limit_bytes(t->place->pool_bytes, t->like->alpha, 1);
	double safe = tune_knob_round(r, k, v, cell, limit);
	/* more than can be written: as much as can be, where a smaller value is still what is
	 * wanted (shares of a queue's limit end at 100 %) */
	const double most = isfinite(r->max) ? tune_knob_value(r, k, r->max, cell, limit) : NAN;
	if (isnan(safe) && v > most)
		safe = most;
	return safe >= least
		? safe
		: tune_knob_value(
			  r, k, tune_knob_write(r, k, least, cell, limit, TUNE_UP), cell, limit);
}

/* plan_change - rounded; false: the platform cannot, or rounding leaves nothing of it. */
bool plan_change(struct tune_plan *t, enum tune_knob k, double current, double proposed,
	double least, const char *why, const char *source)
{
	if (!settable(t, k)) {
		const char *cannot = t->platform->profile->knobs[k].cannot;
		t->refused =
			arena_printf(t->c->in->arena, "this platform does not let one set %s%s%s",
				tune_knob_name(k), cannot ? ": " : "", cannot ? cannot : "");
		return false;
	}
	const double v = knob_round(t, k, proposed, least);
	if (isnan(v) || v <= 0) {
		t->refused = arena_printf(t->c->in->arena,
			"%s of %.10g is outside of what the platform publishes as its range, or "
			"its cell size is not known",
			tune_knob_name(k), proposed);
		return false;
	}
	if (v == current || t->n_changes == PLAN_CHANGES)
		return false;
	t->changes[t->n_changes++] = (struct tune_change){.knob = k,
		.current = current,
		.proposed = v,
		.programmed = tune_knob_programmed(k, v, plan_cell(t), t->platform->asic),
		.why = why,
		.source = source};
	return true;
}

/* ---- what the change is meant for ---------------------------------------- */

static bool same(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

bool tune_same_profile(enum tune_family f, const struct tune_lane *l, const struct tune_lane *like)
{
	switch (f) {
	case FAMILY_HEADROOM:
	case FAMILY_LESS_HEADROOM: return same(l->headroom_bytes, like->headroom_bytes);
	case FAMILY_XON:
		return same(l->xon_offset, like->xon_offset) && same(l->xon_level, like->xon_level);
	default:
		return same(l->kmin, like->kmin) && same(l->kmax, like->kmax) &&
			same(l->pmax, like->pmax) && same(l->alpha, like->alpha);
	}
}

void plan_lanes(
	struct tune_plan *t, bool (*wanted)(const struct tune_plan *t, const struct tune_lane *l))
{
	t->lanes = arena_array(
		t->c->in->arena, const struct tune_lane *, t->place->device->n_lanes + 1);
	t->n_lanes = 0;
	for (const struct tune_lane *l = NULL; (l = tune_next_lane(t->place, l));)
		if (wanted(t, l))
			t->lanes[t->n_lanes++] = l;
}

static bool of_profile(const struct tune_plan *t, const struct tune_lane *l)
{
	return tune_same_profile(t->rule->family, l, t->like);
}

/* ---- alpha --------------------------------------------------------------- */

/* Inputs that may be congested at once: the most that were, else all there are. */
static double congested(const struct tune_plan *t)
{
	const struct tune_device *d = t->place->device;
	const double k = fmax(t->place->inputs, d->inputs_max ? d->inputs_max : NAN);
	return k >= 1 ? k : fmax(1, (double)d->n_ports - 1);
}

static double pool_share(double alpha, double k)
{
	return k * alpha / (1 + k * alpha);
}

/*
 * plan_alpha - twice the share of the free pool. False, and nothing planned: alpha or the pool is
 * not known, the pool is not free, or no alpha that may be set brings PFC behind @kmin (NAN: that
 * is not asked).
 */
static bool plan_alpha(struct tune_plan *t, double kmin, const char *why)
{
	const struct tune_place *p = t->place;
	const double now = t->like->alpha, twice = 2 * now, k = congested(t), b = p->pool_bytes,
		     peak = p->device->pool.max / p->device->pool_bytes;
	if (!(now > 0) || !(b > 0) || !settable(t, KNOB_ALPHA) ||
		pool_share(twice, k) > POOL_SHARE || peak > POOL_SHARE || kmin >= POOL_SHARE * b)
		return false;
	if (!plan_change(t, KNOB_ALPHA, now, twice, 0, why,
		    "tuning facts d, row 3 (i) and 4; one dynamic_th step")) {
		t->refused = NULL;
		return false;
	}
	const double after = t->changes[0].proposed, inputs = fmax(1, p->inputs);
	const double model = dt_pfc_queue_bytes(b, 0, after, inputs);
	/* what was measured scales as the model does */
	t->q_pfc =
		p->by_watermark && p->q_pfc_model > 0 ? p->q_pfc * model / p->q_pfc_model : model;
	plan_check(t, "depth of the queue at which PFC fires, q_PFC", p->q_pfc, t->q_pfc, NAN,
		"bytes", true);
	plan_check(t, "share of the pool that congested inputs may take", pool_share(now, k),
		pool_share(after, k), POOL_SHARE, "ratio", pool_share(after, k) <= POOL_SHARE);
	if (!isnan(t->like->kmin))
		plan_check(t, "Kmin at most half of q_PFC (limit: after)", t->like->kmin,
			t->like->kmin, ROOM * t->q_pfc, "bytes", t->like->kmin <= ROOM * t->q_pfc);
	t->cost_bytes = 0;
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
static bool find_room(struct tune_plan *t, struct room *r)
{
	const struct tune_place *p = t->place;
	const double mtu = (double)t->c->in->fabric->lossless_mtu_bytes;
	if (isnan(t->like->kmin))
		plan_missing(t, KNOB_KMIN);
	if (isnan(t->like->kmax))
		plan_missing(t, KNOB_KMAX);
	if (isnan(p->q_pfc)) {
		if (isnan(t->like->alpha) && isnan(t->like->xoff_level))
			plan_missing(t, KNOB_ALPHA);
		if (!(p->device->pool_bytes > 0))
			plan_collect(t,
				"size of the shared pool and its slices: read-back by gNMI "
				"(BUFFER_POOL), or `thresholds:` (pool) in the configuration");
		plan_collect(t,
			"queue watermarks: `sudo counterpoll watermark enable` (SONiC), or the "
			"queue depth counters of the platform");
	}
	if (isnan(p->bdp))
		plan_collect(t,
			"speed of the ports: `links:` in the configuration, or a collector that "
			"reads it");
	if (t->n_collect)
		return false;
	*r = (struct room){.lo = fmax(p->bdp, 4 * mtu),
		.hi = ROOM * p->q_pfc,
		.q = p->q_pfc,
		.q_one = dt_limit_bytes(p->pool_bytes, t->like->alpha, 1)};
	if (r->hi >= r->q_one) /* NAN for static thresholds: no limit */
		r->hi = r->q_one - 1;
	return true;
}

static void check_ecn(struct tune_plan *t, const struct room *r, double kmin, double kmax)
{
	const struct tune_lane *l = t->like;
	const struct tune_place *p = t->place;
	t->q_pfc = r->q;
	plan_check(
		t, "depth of the queue at which PFC fires, q_PFC", r->q, r->q, NAN, "bytes", true);
	plan_check(t, "Kmin at most half of q_PFC", l->kmin, kmin, ROOM * r->q, "bytes",
		kmin <= ROOM * r->q);
	plan_check(t, "Kmin below what a single input reaches", l->kmin, kmin, r->q_one, "bytes",
		!(kmin >= r->q_one));
	plan_check(t, "Kmax at most q_PFC", l->kmax, kmax, r->q, "bytes", kmax <= r->q);
	plan_check(t, "Kmin at least one bandwidth-delay product", l->kmin, kmin, p->bdp, "bytes",
		kmin >= p->bdp);
	if (l->alpha > 0 && p->pool_bytes > 0) {
		const unsigned most = (unsigned)p->device->n_ports;
		const double rtt = (double)t->c->in->options.rtt_ns;
		plan_check(t,
			"senders of the largest incast that ECN absorbs before PFC fires (CNP "
			"every 50 us)",
			tune_incast_absorbed(
				p->pool_bytes, l->alpha, l->kmin, p->speed_bps, rtt, most),
			tune_incast_absorbed(
				p->pool_bytes, l->alpha, kmin, p->speed_bps, rtt, most),
			NAN, "-", true);
	}
	t->cost_bytes = 0;
}

static double proposed_of(const struct tune_plan *t, enum tune_knob k, double otherwise)
{
	for (size_t i = 0; i < t->n_changes; i++)
		if (t->changes[i].knob == k)
			return t->changes[i].proposed;
	return otherwise;
}

/* Refused when what comes out is not in order: rule 3. */
static void judge_ecn(struct tune_plan *t, const struct room *r)
{
	const double kmin = proposed_of(t, KNOB_KMIN, t->like->kmin),
		     kmax = proposed_of(t, KNOB_KMAX, t->like->kmax);
	check_ecn(t, r, kmin, kmax);
	if (kmin > 0 && kmin < kmax && kmin <= ROOM * r->q && kmax <= r->q)
		return;
	t->refused = "rounded as the platform rounds, Kmin and Kmax would not be in order below "
		     "the depth at which PFC fires";
	t->n_changes = 0;
}

/* Marking jumps to all packets at Kmax: with a Pmax next to nothing a nearer Kmax is a cliff that
 * senders fall off, not a ramp. */
static void plan_ramp(struct tune_plan *t)
{
	const double pmax = t->like->pmax, bound = t->c->in->options.max_pmax,
		     least = bound > 0 ? fmin(PMAX_LEAST, bound) : PMAX_LEAST;
	if (!t->refused && t->n_changes && pmax > 0 && pmax < least)
		plan_change(t, KNOB_PMAX, pmax, least, 0,
			"with Kmax this near a smaller Pmax would mark nothing, then everything",
			"tuning facts b.3; 5 % is what switches ship with");
}

static void plan_ecn_down(struct tune_plan *t)
{
	struct room r;
	const struct tune_lane *l = t->like;
	const double mtu = (double)t->c->in->fabric->lossless_mtu_bytes;
	if (!find_room(t, &r))
		return;
	if (r.lo > r.hi) {
		t->refused = "this buffer cannot place ECN before PFC: half of the depth at which "
			     "PFC fires is less than one bandwidth-delay product";
		plan_next(t,
			"a larger share of the pool for the lossless class (alpha), fewer QPs per "
			"receiver, or admission by the receiver");
		return;
	}
	/* A Kmin beyond the depth at which PFC fires never marks, wherever it is: the step of at
	 * most a half is counted from there. */
	const double target = fmin(fmax(4 * t->place->bdp, r.lo), r.hi),
		     kmin = fmin(r.hi, fmax(target, fmin(l->kmin, r.q) / 2));
	if (!(kmin < l->kmin))
		return;
	const double kmax = fmin(4 * kmin, r.q - mtu);
	const char *why = l->kmin > r.q
		? "marks before PFC fires: four bandwidth-delay products, at most half of q_PFC; a "
		  "Kmin above q_PFC never acts, so the step of at most a half counts from q_PFC"
		: "marks before PFC fires: four bandwidth-delay products, at most half of q_PFC, "
		  "at most halved at once";
	plan_change(t, KNOB_KMIN, l->kmin, kmin, r.lo, why, "tuning facts d, row 3 (ii); b.4");
	if (!t->refused && kmax != l->kmax)
		plan_change(t, KNOB_KMAX, l->kmax, kmax, proposed_of(t, KNOB_KMIN, l->kmin) + mtu,
			"four times Kmin, below q_PFC", "tuning facts d, row 3 (ii)");
	plan_ramp(t);
	if (!t->refused)
		judge_ecn(t, &r);
}

/* Kmin is in order, Kmax lies behind PFC. */
static void plan_kmax(struct tune_plan *t)
{
	struct room r;
	const struct tune_lane *l = t->like;
	if (!find_room(t, &r))
		return;
	const double kmax = fmin(4 * l->kmin, r.q - (double)t->c->in->fabric->lossless_mtu_bytes);
	if (!(kmax < l->kmax) || !(kmax > l->kmin) ||
		!plan_change(t, KNOB_KMAX, l->kmax, kmax, l->kmin,
			"four times Kmin, below q_PFC: marking reaches Pmax before PFC fires",
			"tuning facts b.4, d row 3 (ii)"))
		return;
	plan_ramp(t);
	judge_ecn(t, &r);
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
static void plan_late(struct tune_plan *t)
{
	const struct tune_place *p = t->place;
	const double k = fmax(1, p->inputs),
		     after = dt_pfc_queue_bytes(p->pool_bytes, 0, 2 * t->like->alpha, k),
		     now = dt_pfc_queue_bytes(p->pool_bytes, 0, t->like->alpha, k);
	const bool restores = t->like->kmin <= ROOM * p->q_pfc * after / now;
	if (!restores && p->q_pfc >= COMFORT * p->bdp && !(p->host_pause < FAINT))
		plan_ecn_down(t);
	if (t->n_changes || t->n_collect)
		return;
	const char *refused = t->refused;
	t->refused = NULL;
	t->n_checks = t->n_next = 0;
	if (plan_alpha(t, t->like->kmin,
		    "the pool is free: PFC fires later, which leaves marking more room before it"))
		plan_next(t, then_ecn);
	else if (refused)
		t->refused = refused;
	else
		plan_ecn_down(t);
	if (!t->refused || t->n_changes)
		return;
	if (p->slices_unknown)
		plan_collect(t,
			"how the shared pool is sliced: read-back (cfg.pool_slices), or queue "
			"watermarks, which settle it when PFC fires; until then half of the pool "
			"is counted on");
	/* no place for ECN yet: a step of alpha makes room, even if it takes more than one */
	const char *why = t->refused;
	t->refused = NULL;
	if (plan_alpha(
		    t, NAN, "the pool is free: PFC fires later; ECN finds no place before it yet"))
		plan_next(t, then_ecn);
	else
		t->refused = why;
}

/* Row 4, where the pool is not free: a quarter less, and twice the probability. */
static void plan_ecn_sharper(struct tune_plan *t)
{
	struct room r;
	const struct tune_lane *l = t->like;
	const struct tune_in *in = t->c->in;
	if (!find_room(t, &r))
		return;
	const double kmin = fmin(fmax(0.75 * l->kmin, r.lo), r.hi),
		     most = in->options.max_pmax > 0 ? in->options.max_pmax : PMAX_USUAL,
		     pmax = fmin(2 * l->pmax, most);
	if (r.lo <= r.hi && kmin < l->kmin)
		plan_change(t, KNOB_KMIN, l->kmin, kmin, r.lo,
			"a quarter less: senders are told sooner", "tuning facts d, row 4");
	if (!t->refused && r.lo <= r.hi && l->kmax > r.q)
		plan_change(t, KNOB_KMAX, l->kmax, r.q - (double)in->fabric->lossless_mtu_bytes,
			l->kmin, "below q_PFC", "tuning facts b.4");
	if (!t->refused && pmax > l->pmax)
		plan_change(t, KNOB_PMAX, l->pmax, pmax, 0,
			"twice the probability: more senders are told", "tuning facts d, row 4");
	if (!t->refused && t->n_changes)
		judge_ecn(t, &r);
	else if (!t->refused)
		t->refused = "Kmin is at one bandwidth-delay product and Pmax at its bound already";
}

static void plan_ecn_up(struct tune_plan *t)
{
	struct room r;
	const struct tune_lane *l = t->like;
	const double mtu = (double)t->c->in->fabric->lossless_mtu_bytes;
	if (!find_room(t, &r))
		return;
	/* below one bandwidth-delay product no value is sound, so the first step goes there; from
	 * there on at most doubled at once */
	const double kmin = fmin(fmax(2 * l->kmin, r.lo), r.hi);
	if (kmin > l->kmin) {
		const double kmax = fmin(fmax(l->kmax * kmin / l->kmin, kmin + 4 * mtu), r.q - mtu);
		/* raising: Kmax first, then Kmin (rule 6) */
		if (kmax != l->kmax)
			plan_change(t, KNOB_KMAX, l->kmax, kmax, kmin,
				"by the same factor as Kmin, below q_PFC", "tuning facts d, row 5");
		if (!t->refused)
			plan_change(t, KNOB_KMIN, l->kmin, kmin, fmin(r.lo, kmin),
				"marks only when a queue stands: at least one bandwidth-delay "
				"product, at most half of q_PFC",
				"tuning facts d, row 5; b.3");
	} else if (l->pmax > 0.01) {
		plan_change(t, KNOB_PMAX, l->pmax, l->pmax / 2, 0,
			"half the probability: Kmin is as high as PFC allows",
			"tuning facts d, row 5");
	}
	if (!t->refused && t->n_changes)
		judge_ecn(t, &r);
}

/* ---- XON ----------------------------------------------------------------- */

static void plan_xon(struct tune_plan *t)
{
	const struct tune_lane *l = t->like;
	const double mtu = (double)t->c->in->fabric->lossless_mtu_bytes, apart = tune_hysteresis(l);
	if (isnan(apart)) {
		plan_missing(t, KNOB_XON_OFFSET);
		return;
	}
	const double more = fmin(apart + mtu, XON_MTUS * mtu) - apart;
	if (more <= 0)
		return;
	static const char why[] =
		"one lossless packet further below XOFF: pauses become fewer and longer",
			  source[] = "tuning facts d, row 11; a.5";
	if (!isnan(l->xon_offset))
		plan_change(
			t, KNOB_XON_OFFSET, l->xon_offset, l->xon_offset + more, 0, why, source);
	else if (l->xon_level > more)
		plan_change(t, KNOB_XON_LEVEL, l->xon_level, l->xon_level - more, 0, why, source);
	else
		t->refused = "XON cannot be lower than an empty queue";
	plan_check(t, "bytes between XOFF and XON, two lossless packets at least", apart,
		apart + more, 2 * mtu, "bytes", apart + more >= 2 * mtu);
	t->cost_bytes = 0;
}

/* ---- all ----------------------------------------------------------------- */

static const struct tune_lane *like_of(const struct tune_place *p, enum tune_family f)
{
	const struct tune_lane *first = f == FAMILY_XON ? p->flapping
		: f == FAMILY_HEADROOM                  ? p->short_of
							: p->hot;
	if (f == FAMILY_ALPHA_THEN_ECN || f == FAMILY_ALPHA_OR_ECN || f == FAMILY_KMAX ||
		f == FAMILY_ECN_UP)
		for (const struct tune_lane *l = NULL;
			first && isnan(first->kmin) && (l = tune_next_lane(p, l));)
			first = isnan(l->kmin) ? first : l;
	return first ? first : tune_next_lane(p, NULL);
}

void tune_dose(const struct tune_case *c, const struct tune_place *p, struct tune_plan *ret)
{
	static const struct tune_platform unknown;
	const struct tune_platform *platform =
		c->in->platforms ? &c->in->platforms[p->device->device->index] : &unknown;
	const enum tune_family f = p->is->family;
	*ret = (struct tune_plan){.c = c,
		.place = p,
		.rule = p->is,
		.platform = platform,
		.like = like_of(p, f),
		.cost_bytes = NAN,
		.q_pfc = p->q_pfc};
	plan_lanes(ret, of_profile);
	switch (f) {
	case FAMILY_HEADROOM: plan_more_headroom(ret); break;
	case FAMILY_LESS_HEADROOM: plan_less_headroom(ret); break;
	case FAMILY_ALPHA_THEN_ECN: plan_late(ret); break;
	case FAMILY_ALPHA_OR_ECN:
		if (!plan_alpha(ret, NAN,
			    "the pool is free: the queue may take more of it before PFC fires"))
			plan_ecn_sharper(ret);
		plan_next(ret,
			"on the side of the application: fewer peers at once, or transfers the "
			"receiver asks for");
		break;
	case FAMILY_KMAX:
		if (p->q_pfc >= 2 * p->bdp)
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
