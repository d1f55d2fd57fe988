/* whatif - see the header: calibration of the burst (whatif_burst.c) and predictions by what fits.
 */
#include "analyzers/tune/whatif.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "analyzers/measure/formulas.h"
#include "analyzers/tune/whatif_internal.h"

enum { DRAWS = 192, ROUNDS = 1, NEAR = 64, SEEDS = 12 };
#define TAIL 0.1 /* of the weight, left out of a range on either side */
#define PAUSE_SLACK 0.001 /* below these, two values are the same: noise of a window */
#define BOUND_WIDE                                                                                 \
	100.0 /* a pause frame holds for as long as it asks for, or is taken back by an XON long   \
		 before */
#define MARKS_SLACK 0.002
#define PAUSE_SIGMA 0.15 /* how well a fit has to reproduce what was measured, as logarithms */
#define MARKS_SIGMA 0.25
#define PEAK_SIGMA 0.15
#define INPUTS_WIDE 3.0 /* inputs that explain the depth at which PFC fired, over those counted */
#define SCALE_WIDE 2.5 /* and what they do not explain: other queues in the pool */
#define CHANGE_WIDE 0.35 /* of a change: what the model leaves out, on its far side, */
#define CHANGE_NONE 0.6 /* and towards no change at all */
#define RESIDUAL_LEAST                                                                             \
	0.03 /* with all that says most measured; times the square of one more than is missing */
#define LOSS_WIDE 4.0 /* where frames are lost: what is sent again is not in the model */
#define HEADROOM_WIDE 0.25
#define SAME_RATIO 0.1 /* of the pause of now: nearer is the same */
#define ENDS_RATIO 0.1 /* of the pause of now: less may as well be none */
#define EPISODES_WIDE 10.0
#define NARROW 0.25 /* of a parameter's range, around what fits best; halved per round */

/* Ranges over NICs and jobs: DCQCN's published and default timers (4 to 50 us between CNPs, 55 to
 * 300 us of timer), bursts from a message to a step. */
static const struct range {
	double low, high;
	bool log;
} ranges[WHATIF_PARAMS] = {
	[BURST_NS] = {50e3, 5e6, true},
	[DEMAND] = {0, 1, false},
	[CNP_PACKETS] = {0.2, 30, true},
	[CNP_NS] = {4e3, 50e3, true},
	[TIMER_NS] = {50e3, 600e3, true},
	[STEP] = {5e-4, 0.05, true},
	[KEEP] = {0, 1, false},
	[AVERAGE_NS] = {100e3, 10e6, true},
};

/* ---- the queue under a set of thresholds --------------------------------- */

static double or_now(double to, double now)
{
	return isnan(to) ? now : to;
}

static struct whatif_settings settings_of(
	const struct whatif_settings *now, const struct whatif_settings *to)
{
	return (struct whatif_settings){.alpha = or_now(to->alpha, now->alpha),
		.headroom_bytes = or_now(to->headroom_bytes, now->headroom_bytes),
		.xoff_level_bytes = or_now(to->xoff_level_bytes, now->xoff_level_bytes),
		.xon_offset_bytes = or_now(to->xon_offset_bytes, now->xon_offset_bytes),
		.kmin_bytes = or_now(to->kmin_bytes, now->kmin_bytes),
		.kmax_bytes = or_now(to->kmax_bytes, now->kmax_bytes),
		.pmax = or_now(to->pmax, now->pmax)};
}

/* bytes/ns */
static double input_rate(const struct whatif_queue *q)
{
	return (isnan(q->input_bps) ? q->speed_bps : q->input_bps) / 8e9;
}
/* 4096 and its headers */
static double mtu(const struct whatif_queue *q)
{
	return isnan(q->mtu_bytes) ? 4200 : q->mtu_bytes;
}
static double inputs(const struct whatif_queue *q)
{
	return isnan(q->inputs) ? 2 : fmax(1, q->inputs);
}

/* What still comes in by one input after its XOFF: both ways over the cable, and the packets under
 * way at both ends. */
static double under_way(const struct whatif_queue *q)
{
	return 2 * input_rate(q) * (isnan(q->cable_ns) ? 0 : q->cable_ns) + 2 * mtu(q);
}

static double level_of(const struct whatif_queue *q, const struct whatif_settings *t, double k)
{
	if (!isnan(t->xoff_level_bytes))
		return k * t->xoff_level_bytes;
	return isnan(t->alpha) || isnan(q->pool_bytes)
		? NAN
		: dt_pfc_queue_bytes(q->pool_bytes, 0, t->alpha, k);
}

/* Depth at PFC by the watermark: while there is pause, the peak is that depth and what was under
 * way. NAN: nothing tells. */
static double measured_depth(const struct whatif_queue *q)
{
	return q->pause_ratio > PAUSE_SLACK
		? fmax(mtu(q), q->queue_peak_bytes - inputs(q) * under_way(q))
		: NAN;
}

/*
 * Inputs that the formula needs for that depth: priority groups are filled unevenly, and the peak
 * over the fullest of them counts too few. Within a factor around what was counted; what remains is
 * a factor on the depth (other queues in the pool).
 */
static double even_inputs(const struct whatif_queue *q)
{
	const double depth = measured_depth(q), share = depth / q->pool_bytes, k = inputs(q);
	if (isnan(share) || !isnan(q->now.xoff_level_bytes) || isnan(q->now.alpha))
		return k;
	return share < 1
		? fmin(INPUTS_WIDE * k, fmax(k / INPUTS_WIDE, share / (q->now.alpha * (1 - share))))
		: INPUTS_WIDE * k;
}

/* INFINITY: PFC does not fire. */
static double depth_of(const struct whatif_queue *q, const struct whatif_settings *t)
{
	const double k = even_inputs(q), now = level_of(q, &q->now, k), then = level_of(q, t, k),
		     measured = measured_depth(q);
	if (isnan(then) || isnan(now)) /* as now, if it fires */
		return isnan(measured) ? INFINITY : measured;
	return isnan(measured) ? then
			       : then * fmin(SCALE_WIDE, fmax(1 / SCALE_WIDE, measured / now));
}

static struct burst_in burst_of(
	const struct whatif_queue *q, const struct whatif_settings *t, const double *p)
{
	const double most = even_inputs(q) * input_rate(q) / (q->speed_bps / 8e9), least = 1.02;
	struct burst_in b = {.speed = q->speed_bps / 8e9,
		.overload = most > least ? least * pow(most / least, p[DEMAND]) : most,
		.inputs = even_inputs(q),
		.rtt_ns = q->rtt_ns,
		.q_pfc = depth_of(q, t),
		.kmin = INFINITY,
		.kmax = INFINITY,
		.dcqcn = q->dcqcn,
		.xon_gap = inputs(q) *
			((isnan(t->xon_offset_bytes) ? 2 * mtu(q) : t->xon_offset_bytes) +
				under_way(q))};
	if (t->kmin_bytes > 0 && !isnan(t->kmin_bytes)) {
		b.kmin = t->kmin_bytes;
		b.kmax = fmax(b.kmin + 1, isnan(t->kmax_bytes) ? 4 * b.kmin : t->kmax_bytes);
		b.pmax = isnan(t->pmax) ? 0.1 : t->pmax;
	}
	return b;
}

/* Shares of all time from shares of a burst. @busy: share of time in which there are bursts. */
static double busy_share(const struct whatif_queue *q, const struct whatif_burst *b)
{
	return isnan(q->utilization) ? 1 : fmin(1, fmax(1e-6, q->utilization / b->throughput));
}

/* ---- calibration --------------------------------------------------------- */

static double at(enum whatif_param i, double u)
{
	const struct range *r = &ranges[i];
	/* bursts follow each other closely within a step: most of them take most of it over */
	if (i == KEEP)
		return 1 - (1 - u) * (1 - u);
	return r->log ? r->low * pow(r->high / r->low, u) : r->low + u * (r->high - r->low);
}

/* Van der Corput in bases of the first primes: evenly spread, the same every time. */
static double spread(unsigned n, unsigned base)
{
	double r = 0, f = 1;
	for (n++; n; n /= base) {
		f /= base;
		r += f * (n % base);
	}
	return r;
}
static const unsigned bases[WHATIF_PARAMS] = {2, 3, 5, 7, 11, 13, 17, 19};

struct candidate {
	double u[WHATIF_PARAMS], p[WHATIF_PARAMS], cost, residual;
	struct whatif_burst now;
};

static void compare(
	double measured, double model, double slack, double sigma, struct candidate *c, double *n)
{
	if (isnan(measured))
		return;
	const double d = log((model + slack) / (measured + slack));
	c->cost += d * d / (sigma * sigma);
	c->residual += fabs(model - measured) / (measured + slack);
	(*n)++;
}

static void judge(const struct whatif_queue *q, struct candidate *c)
{
	double n = 0;
	for (int i = 0; i < WHATIF_PARAMS; i++)
		c->p[i] = at((enum whatif_param)i, c->u[i]);
	const struct burst_in in = burst_of(q, &q->now, c->p);
	const struct whatif_burst b = c->now = whatif_run(&in, c->p);
	c->cost = c->residual = 0;
	const double paused = b.pause * busy_share(q, &b),
		     least = q->pause_bound ? q->pause_ratio / BOUND_WIDE : q->pause_ratio;
	compare(paused > q->pause_ratio  ? q->pause_ratio
			: paused < least ? least
					 : paused,
		paused, PAUSE_SLACK, PAUSE_SIGMA, c, &n);
	compare(q->marks_ratio, b.marks, MARKS_SLACK, MARKS_SIGMA, c, &n);
	const double peak = b.peak + (b.pause > 0 ? inputs(q) * under_way(q) : 0);
	compare(q->queue_peak_bytes, peak, mtu(q), PEAK_SIGMA, c, &n);
	c->residual /= n;
}

/* Keeps the best of what was judged, in order. */
static void keep(struct candidate *best, unsigned *n, const struct candidate *c)
{
	if (*n == WHATIF_KEPT && !(c->cost < best[*n - 1].cost))
		return;
	unsigned i = *n < WHATIF_KEPT ? (*n)++ : *n - 1;
	for (; i > 0 && best[i - 1].cost > c->cost; i--)
		best[i] = best[i - 1];
	best[i] = *c;
}

static void search(const struct whatif_queue *q, struct candidate *best, unsigned *n)
{
	for (unsigned i = 0; i < DRAWS; i++) {
		struct candidate c;
		for (int k = 0; k < WHATIF_PARAMS; k++)
			c.u[k] = spread(i, bases[k]);
		judge(q, &c);
		keep(best, n, &c);
	}
	double width = NARROW;
	for (unsigned round = 0; round < ROUNDS; round++, width /= 2) {
		struct candidate seeds[SEEDS];
		memcpy(seeds, best, sizeof(seeds));
		for (unsigned i = 0; i < NEAR; i++) {
			struct candidate c;
			for (int k = 0; k < WHATIF_PARAMS; k++) {
				const double u = seeds[i % SEEDS].u[k] +
					width *
						(2 * spread(DRAWS + round * NEAR + i, bases[k]) -
							1);
				c.u[k] = u < 0 ? -u : u > 1 ? 2 - u : u;
			}
			judge(q, &c);
			keep(best, n, &c);
		}
	}
}

static bool positive(double v)
{
	return isfinite(v) && v > 0;
}
static bool share(double v)
{
	return isnan(v) || (v >= 0 && v <= 1);
}
static bool none_or_positive(double v)
{
	return isnan(v) || (isfinite(v) && v >= 0);
}

static bool sane(const struct whatif_settings *t)
{
	return (isnan(t->alpha) || positive(t->alpha)) && none_or_positive(t->headroom_bytes) &&
		none_or_positive(t->xoff_level_bytes) && none_or_positive(t->xon_offset_bytes) &&
		none_or_positive(t->kmin_bytes) && none_or_positive(t->kmax_bytes) &&
		share(t->pmax) && !(t->kmax_bytes < t->kmin_bytes);
}

int whatif_calibrate(const struct whatif_queue *q, struct whatif_fit *ret)
{
	if (!sane(&q->now) || !share(q->pause_ratio) || !share(q->marks_ratio) ||
		!none_or_positive(q->queue_peak_bytes) || !none_or_positive(q->utilization))
		return -EDOM;
	if (!positive(q->speed_bps) || !positive(q->rtt_ns) || isnan(q->pause_ratio))
		return -ENODATA;
	if (isnan(level_of(q, &q->now, inputs(q))) && isnan(measured_depth(q)))
		return -ENODATA;
	struct candidate best[WHATIF_KEPT];
	unsigned n = 0;
	search(q, best, &n);
	*ret = (struct whatif_fit){.q = *q,
		.n = n,
		.residual = best[0].residual,
		.known = !q->pause_bound + !isnan(q->marks_ratio) + !isnan(q->queue_peak_bytes) +
			!isnan(q->utilization)};
	double sum = 0;
	for (unsigned i = 0; i < n; i++) {
		memcpy(ret->v[i].p, best[i].p, sizeof(best[i].p));
		ret->v[i].now = best[i].now;
		ret->v[i].weight = exp(-(best[i].cost - best[0].cost) / 8);
		sum += ret->v[i].weight;
	}
	for (unsigned i = 0; i < n; i++)
		ret->v[i].weight /= sum;
	return 0;
}

/* ---- prediction ---------------------------------------------------------- */

struct outcome {
	double v[WHATIF_KEPT];
};

static double quantile(const struct whatif_fit *f, const struct outcome *o, double q)
{
	/* by weight; few values, so the next larger is looked for each time */
	double below = -INFINITY, sum = 0;
	for (unsigned done = 0; done < f->n;) {
		double next = INFINITY;
		for (unsigned i = 0; i < f->n; i++)
			if (o->v[i] > below && o->v[i] < next)
				next = o->v[i];
		if (!isfinite(next))
			return NAN;
		for (unsigned i = 0; i < f->n; i++)
			if (o->v[i] == next) {
				sum += f->v[i].weight;
				done++;
			}
		if (sum >= q || done == f->n)
			return next;
		below = next;
	}
	return NAN;
}

/* The spread of what fits; on either side the residual of the best fit, and shares of the change
 * from @now (NAN: none). */
static struct whatif_range range_of(const struct whatif_fit *f, const struct outcome *o, double now)
{
	const double mid = quantile(f, o, 0.5), change = isnan(now) ? 0 : mid - now,
		     missing = 5 - f->known,
		     wide = fmin(0.5, fmax(RESIDUAL_LEAST * missing * missing, f->residual));
	const double below = (change > 0 ? CHANGE_NONE : CHANGE_WIDE) * fabs(change),
		     above = (change < 0 ? CHANGE_NONE : CHANGE_WIDE) * fabs(change);
	return (struct whatif_range){fmax(0, quantile(f, o, TAIL) * (1 - wide) - below), mid,
		quantile(f, o, 1 - TAIL) * (1 + wide) + above};
}

/* A change that lessens pause in everything that fits does not bring more of it, and the other way
 * round. */
static struct whatif_range pause_range(
	const struct whatif_fit *f, const struct outcome *o, const struct outcome *of_now)
{
	struct whatif_range r = range_of(f, o, f->q.pause_ratio);
	bool less = true, more = true;
	for (unsigned i = 0; i < f->n; i++) {
		less = less && o->v[i] <= of_now->v[i] + PAUSE_SLACK / 10;
		more = more && o->v[i] >= of_now->v[i] - PAUSE_SLACK / 10;
	}
	const double near = SAME_RATIO * f->q.pause_ratio;
	r.high = less ? fmin(r.high, fmax(r.mid, f->q.pause_ratio + near)) : r.high;
	r.low = more ? fmax(r.low, fmin(r.mid, f->q.pause_ratio - near)) : r.low;
	return (struct whatif_range){fmin(r.low, 1), fmin(r.mid, 1), fmin(r.high, 1)};
}

static struct whatif_range at_most(struct whatif_range r, double most)
{
	return (struct whatif_range){fmin(r.low, most), fmin(r.mid, most), fmin(r.high, most)};
}

/* What a model says of now and then, brought to what was measured now. */
static double anchored(double then, double now, double measured, double slack)
{
	if (isnan(measured))
		return then;
	return then * fmin(3, fmax(1.0 / 3, (measured + slack) / (now + slack)));
}

/* Bytes an input loses per pause: what does not fit the headroom, of what comes in after XOFF.
 * Measured where a watermark (uncensored) or drops tell. */
static double needed(const struct whatif_queue *q, double episodes_per_s)
{
	const double size = q->now.headroom_bytes,
		     need = q->headroom_peak_bytes > 0 ? q->headroom_peak_bytes : under_way(q);
	if (q->drops_per_s > 0 && positive(size) && positive(episodes_per_s))
		return size + q->drops_per_s * mtu(q) / episodes_per_s;
	/* nothing was lost: it fits */
	return q->drops_per_s == 0 && positive(size) ? fmin(need, size) : need;
}

/* Where pause may end, the queue may stay below Kmin as well: senders that keep their rates do not
 * even begin with an overshoot. */
static struct whatif_range peak_range(const struct whatif_fit *f, const struct outcome *o,
	const struct whatif_settings *t, const struct whatif_range *pause)
{
	struct whatif_range r = range_of(f, o, f->q.queue_peak_bytes);
	r.low = fmax(r.low,
		fmin(r.mid, isnan(f->q.queue_peak_bytes) ? r.mid : f->q.queue_peak_bytes) / 4);
	if (f->q.pause_ratio > PAUSE_SLACK && pause->low < ENDS_RATIO * f->q.pause_ratio &&
		t->kmin_bytes > 0)
		r.low = fmin(r.low, t->kmin_bytes / 4);
	return r;
}

static struct whatif_range headroom_range(
	const struct whatif_fit *f, const struct outcome *o, const struct whatif_settings *t)
{
	struct whatif_range r = range_of(f, o, f->q.headroom_peak_bytes);
	if (f->q.drops_per_s > 0) /* how much is missing is the least certain of all */
		r.low = fmin(r.low, f->q.now.headroom_bytes);
	return at_most((struct whatif_range){r.low * (1 - HEADROOM_WIDE), r.mid,
			       r.high * (1 + HEADROOM_WIDE)},
		isnan(t->headroom_bytes) ? INFINITY : t->headroom_bytes);
}

static struct whatif_range drops_range(
	const struct whatif_fit *f, const struct outcome *o, const struct whatif_settings *t)
{
	if (isnan(t->headroom_bytes))
		return (struct whatif_range){NAN, NAN, NAN};
	const struct whatif_range r = range_of(f, o, NAN);
	const double now = f->q.drops_per_s > 0
		? f->q.drops_per_s * fmin(1, f->q.now.headroom_bytes / t->headroom_bytes)
		: 0;
	return (struct whatif_range){
		now > 0 ? 0 : r.low / LOSS_WIDE, r.mid, fmax(now, r.high * LOSS_WIDE)};
}

struct outcomes {
	struct outcome pause, pause_now, marks, drops, peak, headroom, throughput, step;
};

/* What one of the calibrations that fit says of @t. */
static void ask(
	const struct whatif_fit *f, unsigned i, const struct whatif_settings *t, struct outcomes *o)
{
	const struct whatif_queue *q = &f->q;
	const struct burst_in in = burst_of(q, t, f->v[i].p);
	const struct whatif_burst now = f->v[i].now, then = whatif_run(&in, f->v[i].p);
	const double busy = busy_share(q, &now), longer = then.length_ns / now.length_ns,
		     stretch = 1 - busy + busy * longer, busy_then = busy * longer / stretch;
	const double way = inputs(q) * under_way(q), paused_now = now.pause * busy,
		     paused_then = then.pause * busy_then;
	if (q->pause_bound && paused_now > 0) {
		o->pause.v[i] = q->pause_ratio * fmin(EPISODES_WIDE, paused_then / paused_now);
		o->pause_now.v[i] = q->pause_ratio;
	} else {
		o->pause.v[i] = anchored(paused_then, paused_now, q->pause_ratio, PAUSE_SLACK);
		o->pause_now.v[i] = anchored(paused_now, paused_now, q->pause_ratio, PAUSE_SLACK);
	}
	o->marks.v[i] = anchored(then.marks, now.marks, q->marks_ratio, MARKS_SLACK);
	o->peak.v[i] = anchored(then.peak + (then.pause > 0 ? way : 0),
		now.peak + (now.pause > 0 ? way : 0), q->queue_peak_bytes, mtu(q));
	o->throughput.v[i] = then.throughput / now.throughput;
	o->step.v[i] = stretch;
	const double model_now = now.episodes_per_ns * busy * 1e9,
		     model_then = then.episodes_per_ns * busy_then * 1e9;
	const double measured = isnan(q->episodes_per_s) ? model_now : q->episodes_per_s,
		     need = needed(q, measured);
	const double episodes =
		model_now > 0 ? measured * fmin(EPISODES_WIDE, model_then / model_now) : model_then;
	o->headroom.v[i] = then.pause > 0 ? fmin(need, or_now(t->headroom_bytes, need)) : 0;
	o->drops.v[i] = isnan(t->headroom_bytes)
		? 0
		: episodes * fmax(0, need - t->headroom_bytes) / mtu(q);
}

int whatif_predict(
	const struct whatif_fit *f, const struct whatif_settings *to, struct whatif_result *ret)
{
	const struct whatif_queue *q = &f->q;
	const struct whatif_settings t = settings_of(&q->now, to);
	struct outcomes o = {0};
	if (!sane(to) || !sane(&t))
		return -EDOM;
	for (unsigned i = 0; i < f->n; i++)
		ask(f, i, &t, &o);
	const struct whatif_range paused = pause_range(f, &o.pause, &o.pause_now);
	*ret = (struct whatif_result){.pause_ratio = paused,
		.marks_ratio = at_most(range_of(f, &o.marks, q->marks_ratio), 1),
		.queue_peak_bytes = peak_range(f, &o.peak, &t, &paused),
		.headroom_peak_bytes = headroom_range(f, &o.headroom, &t),
		.throughput_ratio = range_of(f, &o.throughput, 1),
		.step_ratio = range_of(f, &o.step, 1),
		.drops_per_s = drops_range(f, &o.drops, &t),
		.q_pfc_bytes = depth_of(q, &t),
		.known = f->known,
		.residual = f->residual};
	if (!isfinite(ret->q_pfc_bytes))
		ret->q_pfc_bytes = NAN;
	return 0;
}
