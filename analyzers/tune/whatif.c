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
	if (isnan(to))
		return now;
	return to;
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
static double input_rate(const struct whatif_queue *queue)
{
	return (isnan(queue->input_bps) ? queue->speed_bps : queue->input_bps) / 8e9;
}
/* 4096 and its headers */
static double whatif_mtu(const struct whatif_queue *queue)
{
	if (isnan(queue->mtu_bytes))
		return 4200;
	return queue->mtu_bytes;
}
static double whatif_inputs(const struct whatif_queue *queue)
{
	if (isnan(queue->inputs))
		return 2;
	return fmax(1, queue->inputs);
}

/* What still comes in by one input after its XOFF: both ways over the cable, and the packets under
 * way at both ends. */
static double under_way(const struct whatif_queue *queue)
{
	return 2 * input_rate(queue) * (isnan(queue->cable_ns) ? 0 : queue->cable_ns) +
		2 * whatif_mtu(queue);
}

static double whatif_level_of(
	const struct whatif_queue *queue, const struct whatif_settings *settings, double inputs)
{
	if (!isnan(settings->xoff_level_bytes))
		return inputs * settings->xoff_level_bytes;
	if (isnan(settings->alpha) || isnan(queue->pool_bytes))
		return NAN;
	return dt_pfc_queue_bytes(queue->pool_bytes, 0, settings->alpha, inputs);
}

/* Depth at PFC by the watermark: while there is pause, the peak is that depth and what was under
 * way. NAN: nothing tells. */
static double measured_depth(const struct whatif_queue *queue)
{
	if (queue->pause_ratio > PAUSE_SLACK)
		return fmax(whatif_mtu(queue),
			queue->queue_peak_bytes - whatif_inputs(queue) * under_way(queue));
	return NAN;
}

/*
 * Inputs that the formula needs for that depth: priority groups are filled unevenly, and the peak
 * over the fullest of them counts too few. Within a factor around what was counted; what remains is
 * a factor on the depth (other queues in the pool).
 */
static double even_inputs(const struct whatif_queue *queue)
{
	const double depth = measured_depth(queue), share = depth / queue->pool_bytes,
		     k = whatif_inputs(queue);
	if (isnan(share) || !isnan(queue->now.xoff_level_bytes) || isnan(queue->now.alpha))
		return k;
	if (share < 1)
		return fmin(INPUTS_WIDE * k,
			fmax(k / INPUTS_WIDE, share / (queue->now.alpha * (1 - share))));
	return INPUTS_WIDE * k;
}

/* INFINITY: PFC does not fire. */
static double depth_of(const struct whatif_queue *queue, const struct whatif_settings *settings)
{
	const double k = even_inputs(queue), now = whatif_level_of(queue, &queue->now, k),
		     then = whatif_level_of(queue, settings, k), measured = measured_depth(queue);
	if (isnan(then) || isnan(now)) { /* as now, if it fires */
		if (isnan(measured))
			return INFINITY;
		return measured;
	}
	if (isnan(measured))
		return then;
	return then * fmin(SCALE_WIDE, fmax(1 / SCALE_WIDE, measured / now));
}

static struct burst_in burst_of(const struct whatif_queue *queue,
	const struct whatif_settings *settings, const double *params)
{
	const double most = even_inputs(queue) * input_rate(queue) / (queue->speed_bps / 8e9),
		     least = 1.02;
	struct burst_in b = {.speed = queue->speed_bps / 8e9,
		.overload = most > least ? least * pow(most / least, params[DEMAND]) : most,
		.inputs = even_inputs(queue),
		.rtt_ns = queue->rtt_ns,
		.q_pfc = depth_of(queue, settings),
		.kmin = INFINITY,
		.kmax = INFINITY,
		.dcqcn = queue->dcqcn,
		.xon_gap = whatif_inputs(queue) *
			((isnan(settings->xon_offset_bytes) ? 2 * whatif_mtu(queue)
							    : settings->xon_offset_bytes) +
				under_way(queue))};
	if (settings->kmin_bytes > 0 && !isnan(settings->kmin_bytes)) {
		b.kmin = settings->kmin_bytes;
		b.kmax = fmax(b.kmin + 1,
			isnan(settings->kmax_bytes) ? 4 * b.kmin : settings->kmax_bytes);
		if (isnan(settings->pmax))
			b.pmax = 0.1;
		else
			b.pmax = settings->pmax;
	}
	return b;
}

/* Shares of all time from shares of a burst. @busy: share of time in which there are bursts. */
static double busy_share(const struct whatif_queue *queue, const struct whatif_burst *burst)
{
	if (isnan(queue->utilization))
		return 1;
	return fmin(1, fmax(1e-6, queue->utilization / burst->throughput));
}

/* ---- calibration --------------------------------------------------------- */

static double whatif_at(enum whatif_param i, double share)
{
	const struct range *r = &ranges[i];
	/* bursts follow each other closely within a step: most of them take most of it over */
	if (i == KEEP)
		return 1 - (1 - share) * (1 - share);
	if (r->log)
		return r->low * pow(r->high / r->low, share);
	return r->low + share * (r->high - r->low);
}

/* Van der Corput in bases of the first primes: evenly spread, the same every time. */
static double whatif_spread(unsigned n, unsigned base)
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

static void whatif_compare(double measured, double model, double slack, double sigma,
	struct candidate *candidate, double *count)
{
	if (isnan(measured))
		return;
	const double d = log((model + slack) / (measured + slack));
	candidate->cost += d * d / (sigma * sigma);
	candidate->residual += fabs(model - measured) / (measured + slack);
	(*count)++;
}

static void whatif_judge(const struct whatif_queue *queue, struct candidate *candidate)
{
	double n = 0;
	for (int i = 0; i < WHATIF_PARAMS; i++)
		candidate->p[i] = whatif_at((enum whatif_param)i, candidate->u[i]);
	const struct burst_in in = burst_of(queue, &queue->now, candidate->p);
	const struct whatif_burst b = candidate->now = whatif_run(&in, candidate->p);
	candidate->cost = candidate->residual = 0;
	const double paused = b.pause * busy_share(queue, &b);
	double least;
	if (queue->pause_bound)
		least = queue->pause_ratio / BOUND_WIDE;
	else
		least = queue->pause_ratio;
	whatif_compare(paused > queue->pause_ratio ? queue->pause_ratio
			: paused < least           ? least
						   : paused,
		paused, PAUSE_SLACK, PAUSE_SIGMA, candidate, &n);
	whatif_compare(queue->marks_ratio, b.marks, MARKS_SLACK, MARKS_SIGMA, candidate, &n);
	const double peak = b.peak + (b.pause > 0 ? whatif_inputs(queue) * under_way(queue) : 0);
	whatif_compare(queue->queue_peak_bytes, peak, whatif_mtu(queue), PEAK_SIGMA, candidate, &n);
	candidate->residual /= n;
}

/* Keeps the best of what was judged, in order. */
static void whatif_keep(struct candidate *best, unsigned *n, const struct candidate *candidate)
{
	if (*n == WHATIF_KEPT && !(candidate->cost < best[*n - 1].cost))
		return;
	unsigned i;
	if (*n < WHATIF_KEPT)
		i = (*n)++;
	else
		i = *n - 1;
	for (; i > 0 && best[i - 1].cost > candidate->cost; i--)
		best[i] = best[i - 1];
	best[i] = *candidate;
}

static void whatif_search(const struct whatif_queue *queue, struct candidate *best, unsigned *n)
{
	for (unsigned i = 0; i < DRAWS; i++) {
		struct candidate c;
		for (int k = 0; k < WHATIF_PARAMS; k++)
			c.u[k] = whatif_spread(i, bases[k]);
		whatif_judge(queue, &c);
		whatif_keep(best, n, &c);
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
						(2 *
								whatif_spread(
									DRAWS + round * NEAR + i,
									bases[k]) -
							1);
				if (u < 0)
					c.u[k] = -u;
				else if (u > 1)
					c.u[k] = 2 - u;
				else
					c.u[k] = u;
			}
			whatif_judge(queue, &c);
			whatif_keep(best, n, &c);
		}
	}
}

static bool whatif_positive(double value)
{
	return isfinite(value) && value > 0;
}
static bool whatif_share(double value)
{
	return isnan(value) || (value >= 0 && value <= 1);
}
static bool none_or_positive(double value)
{
	return isnan(value) || (isfinite(value) && value >= 0);
}

static bool whatif_sane(const struct whatif_settings *settings)
{
	return (isnan(settings->alpha) || whatif_positive(settings->alpha)) &&
		none_or_positive(settings->headroom_bytes) &&
		none_or_positive(settings->xoff_level_bytes) &&
		none_or_positive(settings->xon_offset_bytes) &&
		none_or_positive(settings->kmin_bytes) && none_or_positive(settings->kmax_bytes) &&
		whatif_share(settings->pmax) && !(settings->kmax_bytes < settings->kmin_bytes);
}

int whatif_calibrate(const struct whatif_queue *queue, struct whatif_fit *ret)
{
	if (!whatif_sane(&queue->now) || !whatif_share(queue->pause_ratio) ||
		!whatif_share(queue->marks_ratio) || !none_or_positive(queue->queue_peak_bytes) ||
		!none_or_positive(queue->utilization))
		return -EDOM;
	if (!whatif_positive(queue->speed_bps) || !whatif_positive(queue->rtt_ns) ||
		isnan(queue->pause_ratio))
		return -ENODATA;
	if (isnan(whatif_level_of(queue, &queue->now, whatif_inputs(queue))) &&
		isnan(measured_depth(queue)))
		return -ENODATA;
	struct candidate best[WHATIF_KEPT];
	unsigned n = 0;
	whatif_search(queue, best, &n);
	*ret = (struct whatif_fit){.q = *queue,
		.n = n,
		.residual = best[0].residual,
		.known = !queue->pause_bound + !isnan(queue->marks_ratio) +
			!isnan(queue->queue_peak_bytes) + !isnan(queue->utilization)};
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

static double whatif_quantile(
	const struct whatif_fit *fit, const struct outcome *outcome, double at)
{
	/* by weight; few values, so the next larger is looked for each time */
	double below = -INFINITY, sum = 0;
	for (unsigned done = 0; done < fit->n;) {
		double next = INFINITY;
		for (unsigned i = 0; i < fit->n; i++)
			if (outcome->v[i] > below && outcome->v[i] < next)
				next = outcome->v[i];
		if (!isfinite(next))
			return NAN;
		for (unsigned i = 0; i < fit->n; i++)
			if (outcome->v[i] == next) {
				sum += fit->v[i].weight;
				done++;
			}
		if (sum >= at || done == fit->n)
			return next;
		below = next;
	}
	return NAN;
}

/* The spread of what fits; on either side the residual of the best fit, and shares of the change
 * from @now (NAN: none). */
static struct whatif_range range_of(
	const struct whatif_fit *fit, const struct outcome *outcome, double now)
{
	const double mid = whatif_quantile(fit, outcome, 0.5);
	double change = 0;
	if (!isnan(now))
		change = mid - now;
	const double missing = 5 - fit->known,
		     wide = fmin(0.5, fmax(RESIDUAL_LEAST * missing * missing, fit->residual));
	const double below = (change > 0 ? CHANGE_NONE : CHANGE_WIDE) * fabs(change),
		     above = (change < 0 ? CHANGE_NONE : CHANGE_WIDE) * fabs(change);
	return (struct whatif_range){
		fmax(0, whatif_quantile(fit, outcome, TAIL) * (1 - wide) - below), mid,
		whatif_quantile(fit, outcome, 1 - TAIL) * (1 + wide) + above};
}

/* A change that lessens pause in everything that fits does not bring more of it, and the other way
 * round. */
static struct whatif_range pause_range(
	const struct whatif_fit *fit, const struct outcome *outcome, const struct outcome *of_now)
{
	struct whatif_range r = range_of(fit, outcome, fit->q.pause_ratio);
	bool less = true, more = true;
	for (unsigned i = 0; i < fit->n; i++) {
		less = less && outcome->v[i] <= of_now->v[i] + PAUSE_SLACK / 10;
		more = more && outcome->v[i] >= of_now->v[i] - PAUSE_SLACK / 10;
	}
	const double near = SAME_RATIO * fit->q.pause_ratio;
	if (less)
		r.high = fmin(r.high, fmax(r.mid, fit->q.pause_ratio + near));
	if (more)
		r.low = fmax(r.low, fmin(r.mid, fit->q.pause_ratio - near));
	return (struct whatif_range){fmin(r.low, 1), fmin(r.mid, 1), fmin(r.high, 1)};
}

static struct whatif_range at_most(struct whatif_range range, double most)
{
	return (struct whatif_range){
		fmin(range.low, most), fmin(range.mid, most), fmin(range.high, most)};
}

/* What a model says of now and then, brought to what was measured now. */
static double whatif_anchored(double then, double now, double measured, double slack)
{
	if (isnan(measured))
		return then;
	return then * fmin(3, fmax(1.0 / 3, (measured + slack) / (now + slack)));
}

/* Bytes an input loses per pause: what does not fit the headroom, of what comes in after XOFF.
 * Measured where a watermark (uncensored) or drops tell. */
static double whatif_needed(const struct whatif_queue *queue, double episodes_per_s)
{
	const double size = queue->now.headroom_bytes;
	double need;
	if (queue->headroom_peak_bytes > 0)
		need = queue->headroom_peak_bytes;
	else
		need = under_way(queue);
	if (queue->drops_per_s > 0 && whatif_positive(size) && whatif_positive(episodes_per_s))
		return size + queue->drops_per_s * whatif_mtu(queue) / episodes_per_s;
	/* nothing was lost: it fits */
	if (queue->drops_per_s == 0 && whatif_positive(size))
		return fmin(need, size);
	return need;
}

/* Where pause may end, the queue may stay below Kmin as well: senders that keep their rates do not
 * even begin with an overshoot. */
static struct whatif_range peak_range(const struct whatif_fit *fit, const struct outcome *outcome,
	const struct whatif_settings *settings, const struct whatif_range *pause)
{
	struct whatif_range r = range_of(fit, outcome, fit->q.queue_peak_bytes);
	r.low = fmax(r.low,
		fmin(r.mid, isnan(fit->q.queue_peak_bytes) ? r.mid : fit->q.queue_peak_bytes) / 4);
	if (fit->q.pause_ratio > PAUSE_SLACK && pause->low < ENDS_RATIO * fit->q.pause_ratio &&
		settings->kmin_bytes > 0)
		r.low = fmin(r.low, settings->kmin_bytes / 4);
	return r;
}

static struct whatif_range headroom_range(const struct whatif_fit *fit,
	const struct outcome *outcome, const struct whatif_settings *settings)
{
	struct whatif_range r = range_of(fit, outcome, fit->q.headroom_peak_bytes);
	if (fit->q.drops_per_s > 0) /* how much is missing is the least certain of all */
		r.low = fmin(r.low, fit->q.now.headroom_bytes);
	return at_most((struct whatif_range){r.low * (1 - HEADROOM_WIDE), r.mid,
			       r.high * (1 + HEADROOM_WIDE)},
		isnan(settings->headroom_bytes) ? INFINITY : settings->headroom_bytes);
}

static struct whatif_range drops_range(const struct whatif_fit *fit, const struct outcome *outcome,
	const struct whatif_settings *settings)
{
	if (isnan(settings->headroom_bytes))
		return (struct whatif_range){NAN, NAN, NAN};
	const struct whatif_range r = range_of(fit, outcome, NAN);
	double now = 0;
	if (fit->q.drops_per_s > 0)
		now = fit->q.drops_per_s *
			fmin(1, fit->q.now.headroom_bytes / settings->headroom_bytes);
	return (struct whatif_range){
		now > 0 ? 0 : r.low / LOSS_WIDE, r.mid, fmax(now, r.high * LOSS_WIDE)};
}

struct outcomes {
	struct outcome pause, pause_now, marks, drops, peak, headroom, throughput, step;
};

/* What one of the calibrations that fit says of @settings. */
static void whatif_ask(const struct whatif_fit *fit, unsigned i,
	const struct whatif_settings *settings, struct outcomes *outcomes)
{
	const struct whatif_queue *q = &fit->q;
	const struct burst_in in = burst_of(q, settings, fit->v[i].p);
	const struct whatif_burst now = fit->v[i].now, then = whatif_run(&in, fit->v[i].p);
	const double busy = busy_share(q, &now), longer = then.length_ns / now.length_ns,
		     stretch = 1 - busy + busy * longer, busy_then = busy * longer / stretch;
	const double way = whatif_inputs(q) * under_way(q), paused_now = now.pause * busy,
		     paused_then = then.pause * busy_then;
	if (q->pause_bound && paused_now > 0) {
		outcomes->pause.v[i] =
			q->pause_ratio * fmin(EPISODES_WIDE, paused_then / paused_now);
		outcomes->pause_now.v[i] = q->pause_ratio;
	} else {
		outcomes->pause.v[i] =
			whatif_anchored(paused_then, paused_now, q->pause_ratio, PAUSE_SLACK);
		outcomes->pause_now.v[i] =
			whatif_anchored(paused_now, paused_now, q->pause_ratio, PAUSE_SLACK);
	}
	outcomes->marks.v[i] = whatif_anchored(then.marks, now.marks, q->marks_ratio, MARKS_SLACK);
	outcomes->peak.v[i] = whatif_anchored(then.peak + (then.pause > 0 ? way : 0),
		now.peak + (now.pause > 0 ? way : 0), q->queue_peak_bytes, whatif_mtu(q));
	outcomes->throughput.v[i] = then.throughput / now.throughput;
	outcomes->step.v[i] = stretch;
	const double model_now = now.episodes_per_ns * busy * 1e9,
		     model_then = then.episodes_per_ns * busy_then * 1e9;
	double measured;
	if (isnan(q->episodes_per_s))
		measured = model_now;
	else
		measured = q->episodes_per_s;
	const double need = whatif_needed(q, measured);
	double episodes = model_then;
	if (model_now > 0)
		episodes = measured * fmin(EPISODES_WIDE, model_then / model_now);
	if (then.pause > 0)
		outcomes->headroom.v[i] = fmin(need, or_now(settings->headroom_bytes, need));
	else
		outcomes->headroom.v[i] = 0;
	if (isnan(settings->headroom_bytes))
		outcomes->drops.v[i] = 0;
	else
		outcomes->drops.v[i] =
			episodes * fmax(0, need - settings->headroom_bytes) / whatif_mtu(q);
}

int whatif_predict(
	const struct whatif_fit *fit, const struct whatif_settings *to, struct whatif_result *ret)
{
	const struct whatif_queue *q = &fit->q;
	const struct whatif_settings t = settings_of(&q->now, to);
	struct outcomes o = {0};
	if (!whatif_sane(to) || !whatif_sane(&t))
		return -EDOM;
	for (unsigned i = 0; i < fit->n; i++)
		whatif_ask(fit, i, &t, &o);
	const struct whatif_range paused = pause_range(fit, &o.pause, &o.pause_now);
	*ret = (struct whatif_result){.pause_ratio = paused,
		.marks_ratio = at_most(range_of(fit, &o.marks, q->marks_ratio), 1),
		.queue_peak_bytes = peak_range(fit, &o.peak, &t, &paused),
		.headroom_peak_bytes = headroom_range(fit, &o.headroom, &t),
		.throughput_ratio = range_of(fit, &o.throughput, 1),
		.step_ratio = range_of(fit, &o.step, 1),
		.drops_per_s = drops_range(fit, &o.drops, &t),
		.q_pfc_bytes = depth_of(q, &t),
		.known = fit->known,
		.residual = fit->residual};
	if (!isfinite(ret->q_pfc_bytes))
		ret->q_pfc_bytes = NAN;
	return 0;
}
