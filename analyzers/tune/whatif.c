/* whatif - calibrates the burst of whatif.c and predicts from all calibrations that fit. */
#include "analyzers/tune/whatif.h"

#include "analyzers/measure/formulas.h"

/* ---- whatif_internal ------------------------------------------------------- */

/* whatif_internal - the queue under one burst: whatif.c runs it, whatif.c calibrates it. */

/* What counters do not tell. */
enum whatif_param {
	BURST_NS, /* a burst's volume, as the time it takes at line rate of the queue */
	/* 0..1: how far the inputs together exceed the queue, from hardly to all of their line
	   rate */
	DEMAND,
	/* packets that a flow sends in one CNP interval at its fair share; many when there are few
	   flows */
	CNP_PACKETS,
	CNP_NS, /* least time between two cuts */
	TIMER_NS, /* after which an unmarked sender goes half of the way back */
	STEP, /* additive increase per timer, share of line rate */
	KEEP, /* 0..1: how much of its rates a burst takes over from the one before */
	AVERAGE_NS, /* time in which the average of marking follows */
};
_Static_assert(AVERAGE_NS + 1 == WHATIF_PARAMS, "a name for every parameter");
struct burst_in {
	double speed, overload; /* bytes/ns of the queue; inputs' line rate together over it */
	double inputs, rtt_ns;
	double q_pfc; /* INFINITY: PFC never fires */
	double kmin, kmax, pmax; /* kmin INFINITY: never marks */
	/* bytes of the queue between resume and pause: offset of all inputs and what is under way
	 */
	double xon_gap;
	bool dcqcn;
};

/* ---- whatif ---------------------------------------------------------------- */

enum { DRAWS = 192, ROUNDS = 1, NEAR = 64, SEEDS = 12 };
/* Noise of a window: two values that differ by less are the same. */
#define PAUSE_SLACK 0.001
#define MARKS_SLACK 0.002
/* How well a fit has to reproduce what was measured, as a difference of logarithms. */
#define PAUSE_SIGMA 0.15
#define MARKS_SIGMA 0.25
#define PEAK_SIGMA 0.15
/* A bound from frames may exceed the true pause by this factor: an XON may end a pause long before
 * its quanta run out. */
#define BOUND_WIDE 100.0
/* Inputs that explain the depth at which PFC acted, over those that were counted; and what they do
 * not explain (other queues in the pool), as a factor on the depth. */
#define INPUTS_WIDE 3.0
#define SCALE_WIDE 2.5
/* Ranges: weight left out on either side; share of a change added on its far side, and towards no
 * change at all; least residual with all four values measured. */
#define TAIL 0.1
#define CHANGE_WIDE 0.35
#define CHANGE_NONE 0.6
#define RESIDUAL_LEAST 0.03
/* Frames that are sent again are not in the model: where frames are lost, ranges are wider. */
#define LOSS_WIDE 4.0
#define HEADROOM_WIDE 0.25
/* Of the present pause: a difference below this is none; a rest below this may be none. */
#define SAME_RATIO 0.1
#define ENDS_RATIO 0.1
#define EPISODES_WIDE 10.0
/* Of a parameter's range, around what fits best; halved per round. */
#define NARROW 0.25
/* Where they are not known. */
#define MTU_USUAL 4200 /* RoCE MTU 4096 and its headers */
#define INPUTS_USUAL 2
#define PMAX_USUAL 0.1
#define KMAX_OF_KMIN 4

/* Ranges over NICs and jobs: DCQCN's published and default timers (4 to 50 us between CNPs, 55 to
 * 300 us of timer), bursts from a message to a step. */
static const struct whatif_bounds {
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

static double known_or(double value, double otherwise)
{
	if (isnan(value))
		return otherwise;
	return value;
}

static struct whatif_settings whatif_settings_of(
	const struct whatif_settings *now, const struct whatif_settings *to)
{
	return (struct whatif_settings){.alpha = known_or(to->alpha, now->alpha),
		.headroom_bytes = known_or(to->headroom_bytes, now->headroom_bytes),
		.xoff_level_bytes = known_or(to->xoff_level_bytes, now->xoff_level_bytes),
		.xon_offset_bytes = known_or(to->xon_offset_bytes, now->xon_offset_bytes),
		.kmin_bytes = known_or(to->kmin_bytes, now->kmin_bytes),
		.kmax_bytes = known_or(to->kmax_bytes, now->kmax_bytes),
		.pmax = known_or(to->pmax, now->pmax)};
}

/* bytes/ns */
static double input_rate(const struct whatif_queue *queue)
{
	return known_or(queue->input_bps, queue->speed_bps) / 8e9;
}
static double whatif_mtu(const struct whatif_queue *queue)
{
	return known_or(queue->mtu_bytes, MTU_USUAL);
}
static double whatif_inputs(const struct whatif_queue *queue)
{
	return fmax(1, known_or(queue->inputs, INPUTS_USUAL));
}

/* Bytes that still arrive by one input after its XOFF: both ways over the cable, and a packet at
 * each end. */
static double whatif_in_flight(const struct whatif_queue *queue)
{
	return 2 * input_rate(queue) * known_or(queue->cable_ns, 0) + 2 * whatif_mtu(queue);
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

/* Depth at which PFC acts, by the watermark: while there is pause, the peak is that depth plus what
 * was in flight. NAN: not measured. */
static double measured_depth(const struct whatif_queue *queue)
{
	if (queue->pause_ratio > PAUSE_SLACK)
		return fmax(whatif_mtu(queue),
			queue->queue_peak_bytes - whatif_inputs(queue) * whatif_in_flight(queue));
	return NAN;
}

/*
 * The number of inputs with which the formula gives the measured depth. Priority groups are filled
 * unevenly, so the counted number is too small. The result stays within a factor of the counted
 * one; what remains is a factor on the depth (other queues in the pool).
 */
static double even_inputs(const struct whatif_queue *queue)
{
	const double share = measured_depth(queue) / queue->pool_bytes;
	const double counted = whatif_inputs(queue);
	if (isnan(share) || !isnan(queue->now.xoff_level_bytes) || isnan(queue->now.alpha))
		return counted;
	if (share >= 1)
		return INPUTS_WIDE * counted;
	const double even = share / (queue->now.alpha * (1 - share));
	return fmin(INPUTS_WIDE * counted, fmax(counted / INPUTS_WIDE, even));
}

/* Depth at which PFC acts; INFINITY: it does not. */
static double depth_of(const struct whatif_queue *queue, const struct whatif_settings *settings)
{
	const double inputs = even_inputs(queue);
	const double now = whatif_level_of(queue, &queue->now, inputs);
	const double then = whatif_level_of(queue, settings, inputs);
	const double measured = measured_depth(queue);
	if (isnan(then) || isnan(now))
		return known_or(measured, INFINITY);
	if (isnan(measured))
		return then;
	return then * fmin(SCALE_WIDE, fmax(1 / SCALE_WIDE, measured / now));
}

/* Line rate of the inputs together over that of the queue. */
static double overload_of(const struct whatif_queue *queue, double demand)
{
	const double least = 1.02;
	const double most = even_inputs(queue) * input_rate(queue) / (queue->speed_bps / 8e9);
	if (most <= least)
		return most;
	return least * pow(most / least, demand);
}

static struct burst_in burst_of(const struct whatif_queue *queue,
	const struct whatif_settings *settings, const double *params)
{
	const double xon_offset = known_or(settings->xon_offset_bytes, 2 * whatif_mtu(queue));
	struct burst_in b = {
		.speed = queue->speed_bps / 8e9,
		.overload = overload_of(queue, params[DEMAND]),
		.inputs = even_inputs(queue),
		.rtt_ns = queue->rtt_ns,
		.q_pfc = depth_of(queue, settings),
		.kmin = INFINITY,
		.kmax = INFINITY,
		.dcqcn = queue->dcqcn,
		.xon_gap = whatif_inputs(queue) * (xon_offset + whatif_in_flight(queue)),
	};
	if (settings->kmin_bytes > 0) {
		b.kmin = settings->kmin_bytes;
		b.kmax = fmax(b.kmin + 1, known_or(settings->kmax_bytes, KMAX_OF_KMIN * b.kmin));
		b.pmax = known_or(settings->pmax, PMAX_USUAL);
	}
	return b;
}

/* The share of time in which there are bursts: a share of a burst times this is a share of all
 * time.
 */
static double busy_share(const struct whatif_queue *queue, const struct whatif_burst *burst)
{
	if (isnan(queue->utilization))
		return 1;
	return fmin(1, fmax(1e-6, queue->utilization / burst->throughput));
}

/* ---- calibration --------------------------------------------------------- */

static double whatif_at(enum whatif_param i, double share)
{
	const struct whatif_bounds *r = &ranges[i];
	/* bursts of one step follow each other closely: most keep most of their rate */
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
	const double distance = log((model + slack) / (measured + slack));
	candidate->cost += distance * distance / (sigma * sigma);
	candidate->residual += fabs(model - measured) / (measured + slack);
	(*count)++;
}

/* The watermark that a burst leaves: while PFC acts, what is in flight comes on top. */
static double peak_of_burst(const struct whatif_queue *queue, const struct whatif_burst *burst)
{
	if (burst->pause > 0)
		return burst->peak + whatif_inputs(queue) * whatif_in_flight(queue);
	return burst->peak;
}

static struct whatif_burst whatif_run(
	const struct burst_in *in, const double params[WHATIF_PARAMS]);

static void whatif_judge(const struct whatif_queue *queue, struct candidate *candidate)
{
	double n = 0;
	for (int i = 0; i < WHATIF_PARAMS; i++)
		candidate->p[i] = whatif_at((enum whatif_param)i, candidate->u[i]);
	const struct burst_in in = burst_of(queue, &queue->now, candidate->p);
	const struct whatif_burst b = candidate->now = whatif_run(&in, candidate->p);
	candidate->cost = candidate->residual = 0;
	/* any pause between the least and the measured one fits */
	const double paused = b.pause * busy_share(queue, &b);
	double least = queue->pause_ratio;
	if (queue->pause_bound)
		least /= BOUND_WIDE;
	const double fitting = fmin(queue->pause_ratio, fmax(least, paused));
	whatif_compare(fitting, paused, PAUSE_SLACK, PAUSE_SIGMA, candidate, &n);
	whatif_compare(queue->marks_ratio, b.marks, MARKS_SLACK, MARKS_SIGMA, candidate, &n);
	whatif_compare(queue->queue_peak_bytes, peak_of_burst(queue, &b), whatif_mtu(queue),
		PEAK_SIGMA, candidate, &n);
	candidate->residual /= n;
}

/* Keep the WHATIF_KEPT cheapest candidates, the best first. */
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

/* A point near @seed; what falls outside 0..1 is reflected. */
static void near_point(
	struct candidate *candidate, const struct candidate *seed, double width, unsigned draw)
{
	for (int k = 0; k < WHATIF_PARAMS; k++) {
		const double step = width * (2 * whatif_spread(draw, bases[k]) - 1);
		double u = seed->u[k] + step;
		if (u < 0)
			u = -u;
		else if (u > 1)
			u = 2 - u;
		candidate->u[k] = u;
	}
}

static void whatif_search(const struct whatif_queue *queue, struct candidate *best, unsigned *n)
{
	/* 1. evenly over all ranges */
	for (unsigned i = 0; i < DRAWS; i++) {
		struct candidate c;
		for (int k = 0; k < WHATIF_PARAMS; k++)
			c.u[k] = whatif_spread(i, bases[k]);
		whatif_judge(queue, &c);
		whatif_keep(best, n, &c);
	}
	/* 2. around the best of them, nearer in each round */
	double width = NARROW;
	for (unsigned round = 0; round < ROUNDS; round++, width /= 2) {
		struct candidate seeds[SEEDS];
		memcpy(seeds, best, sizeof(seeds));
		for (unsigned i = 0; i < NEAR; i++) {
			struct candidate c;
			near_point(&c, &seeds[i % SEEDS], width, DRAWS + round * NEAR + i);
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
	const double sizes[] = {settings->headroom_bytes, settings->xoff_level_bytes,
		settings->xon_offset_bytes, settings->kmin_bytes, settings->kmax_bytes};
	for (size_t i = 0; i < rw_countof(sizes); i++)
		if (!none_or_positive(sizes[i]))
			return false;
	if (!isnan(settings->alpha) && !whatif_positive(settings->alpha))
		return false;
	return whatif_share(settings->pmax) && !(settings->kmax_bytes < settings->kmin_bytes);
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
	/* by weight; there are few values, so the next larger one is searched each time */
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

/* The spread of what fits, wider on either side by the residual of the best fit and by a share of
 * the change from @now (NAN: no change). */
static struct whatif_range range_of(
	const struct whatif_fit *fit, const struct outcome *outcome, double now)
{
	const double mid = whatif_quantile(fit, outcome, 0.5);
	double change = 0;
	if (!isnan(now))
		change = mid - now;
	/* one more than what was not measured of the four most telling values */
	const double missing = 5 - fit->known;
	const double least = RESIDUAL_LEAST * missing * missing;
	const double wide = fmin(0.5, fmax(least, fit->residual));
	double below = CHANGE_WIDE * fabs(change), above = CHANGE_WIDE * fabs(change);
	if (change > 0)
		below = CHANGE_NONE * fabs(change);
	if (change < 0)
		above = CHANGE_NONE * fabs(change);
	const double low = whatif_quantile(fit, outcome, TAIL) * (1 - wide) - below;
	const double high = whatif_quantile(fit, outcome, 1 - TAIL) * (1 + wide) + above;
	return (struct whatif_range){fmax(0, low), mid, high};
}

/* A change that lessens pause in every fit cannot bring more pause, and the other way round. */
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

/* The model's prediction, scaled by measured / modelled of now. */
static double whatif_anchored(double then, double now, double measured, double slack)
{
	if (isnan(measured))
		return then;
	return then * fmin(3, fmax(1.0 / 3, (measured + slack) / (now + slack)));
}

/* Headroom an input needs per pause, bytes: from drops or an uncensored watermark where there are
 * any, else what is in flight. */
static double whatif_needed(const struct whatif_queue *queue, double episodes_per_s)
{
	const double size = queue->now.headroom_bytes;
	double need = whatif_in_flight(queue);
	if (queue->headroom_peak_bytes > 0)
		need = queue->headroom_peak_bytes;
	if (queue->drops_per_s > 0 && whatif_positive(size) && whatif_positive(episodes_per_s))
		return size + queue->drops_per_s * whatif_mtu(queue) / episodes_per_s;
	/* nothing was lost: it fits */
	if (queue->drops_per_s == 0 && whatif_positive(size))
		return fmin(need, size);
	return need;
}

/* Where pause may end, the queue may also stay below Kmin: senders that keep their rates start
 * without an overshoot. */
static struct whatif_range peak_range(const struct whatif_fit *fit, const struct outcome *outcome,
	const struct whatif_settings *settings, const struct whatif_range *pause)
{
	struct whatif_range r = range_of(fit, outcome, fit->q.queue_peak_bytes);
	r.low = fmax(r.low, fmin(r.mid, known_or(fit->q.queue_peak_bytes, r.mid)) / 4);
	const bool paused = fit->q.pause_ratio > PAUSE_SLACK;
	const bool may_end = pause->low < ENDS_RATIO * fit->q.pause_ratio;
	if (paused && may_end && settings->kmin_bytes > 0)
		r.low = fmin(r.low, settings->kmin_bytes / 4);
	return r;
}

static struct whatif_range headroom_range(const struct whatif_fit *fit,
	const struct outcome *outcome, const struct whatif_settings *settings)
{
	struct whatif_range r = range_of(fit, outcome, fit->q.headroom_peak_bytes);
	if (fit->q.drops_per_s > 0) /* how much is missing is the least certain of all */
		r.low = fmin(r.low, fit->q.now.headroom_bytes);
	r.low *= 1 - HEADROOM_WIDE;
	r.high *= 1 + HEADROOM_WIDE;
	return at_most(r, known_or(settings->headroom_bytes, INFINITY));
}

static struct whatif_range drops_range(const struct whatif_fit *fit, const struct outcome *outcome,
	const struct whatif_settings *settings)
{
	if (isnan(settings->headroom_bytes))
		return (struct whatif_range){NAN, NAN, NAN};
	struct whatif_range r = range_of(fit, outcome, NAN);
	r.low /= LOSS_WIDE;
	r.high *= LOSS_WIDE;
	if (fit->q.drops_per_s > 0) {
		const double smaller = fit->q.now.headroom_bytes / settings->headroom_bytes;
		const double now = fit->q.drops_per_s * fmin(1, smaller);
		if (now > 0)
			r.low = 0;
		r.high = fmax(now, r.high);
	}
	return r;
}

struct outcomes {
	struct outcome pause, pause_now, marks, drops, peak, headroom, throughput, step;
};

/* Pause of @model_then under the new thresholds, by one calibration. */
static double paused_then(const struct whatif_queue *queue, double model_then, double model_now)
{
	if (queue->pause_bound && model_now > 0)
		return queue->pause_ratio * fmin(EPISODES_WIDE, model_then / model_now);
	return whatif_anchored(model_then, model_now, queue->pause_ratio, PAUSE_SLACK);
}

/* Pause episodes per second: those of now, by how the model changes them. */
static double episodes_then(const struct whatif_queue *queue, double model_then, double model_now)
{
	if (model_now > 0)
		return known_or(queue->episodes_per_s, model_now) *
			fmin(EPISODES_WIDE, model_then / model_now);
	return model_then;
}

/* What calibration @i says of @settings. */
static void whatif_ask(const struct whatif_fit *fit, unsigned i,
	const struct whatif_settings *settings, struct outcomes *outcomes)
{
	const struct whatif_queue *q = &fit->q;
	const struct burst_in in = burst_of(q, settings, fit->v[i].p);
	const struct whatif_burst now = fit->v[i].now, then = whatif_run(&in, fit->v[i].p);

	/* time: bursts last longer, the rest of a step does not */
	const double busy = busy_share(q, &now);
	const double busy_longer = busy * (then.length_ns / now.length_ns);
	const double stretch = 1 - busy + busy_longer;
	const double busy_then = busy_longer / stretch;
	outcomes->throughput.v[i] = then.throughput / now.throughput;
	outcomes->step.v[i] = stretch;

	/* pause, marks, depth */
	const double model_pause_now = now.pause * busy, model_pause = then.pause * busy_then;
	outcomes->pause.v[i] = paused_then(q, model_pause, model_pause_now);
	outcomes->pause_now.v[i] = paused_then(q, model_pause_now, model_pause_now);
	outcomes->marks.v[i] = whatif_anchored(then.marks, now.marks, q->marks_ratio, MARKS_SLACK);
	outcomes->peak.v[i] = whatif_anchored(peak_of_burst(q, &then), peak_of_burst(q, &now),
		q->queue_peak_bytes, whatif_mtu(q));

	/* headroom, and what is lost without enough of it */
	const double model_now = now.episodes_per_ns * busy * 1e9;
	const double model_then = then.episodes_per_ns * busy_then * 1e9;
	const double need = whatif_needed(q, known_or(q->episodes_per_s, model_now));
	outcomes->headroom.v[i] = 0;
	if (then.pause > 0)
		outcomes->headroom.v[i] = fmin(need, known_or(settings->headroom_bytes, need));
	outcomes->drops.v[i] = 0;
	if (!isnan(settings->headroom_bytes))
		outcomes->drops.v[i] = episodes_then(q, model_then, model_now) *
			fmax(0, need - settings->headroom_bytes) / whatif_mtu(q);
}

int whatif_predict(
	const struct whatif_fit *fit, const struct whatif_settings *to, struct whatif_result *ret)
{
	const struct whatif_queue *q = &fit->q;
	const struct whatif_settings t = whatif_settings_of(&q->now, to);
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

/* ---- whatif_burst ---------------------------------------------------------- */

/* whatif_burst - one queue under one burst, by the fluid model of whatif.h. */

enum {
	LAG_MAX = 64, /* steps of a round trip that are remembered */
	STEPS_MAX = 700, /* what is left then goes on as its last third did */
	BURST_ROUNDS = 2, /* bursts until what one takes over from the other has settled */
};
#define STEPS_PER_RTT 4.0
#define STEPS_PER_BURST 200.0
#define AVERAGE_FRESH                                                                              \
	0.5 /* average of marking of a sender that has not been heard of lately: between new (1)   \
	       and long unmarked (0) */
#define RATE_LEAST 0.001

struct senders {
	double rate, target, average;
}; /* shares of line rate; 0..1 */

struct sums {
	double ns, paused_ns, served, marked, episodes;
};

static double whatif_burst_mark(const struct burst_in *in, double queue)
{
	if (queue <= in->kmin)
		return 0;
	if (queue >= in->kmax)
		return 1;
	return in->pmax * (queue - in->kmin) / (in->kmax - in->kmin);
}

/* DCQCN in expectation over flows that all have the same state. @marked: share of packets;
 * @packets: a flow sends in a CNP interval. */
static void whatif_burst_react(
	struct senders *senders, const double *params, double marked, double packets, double dt)
{
	/* a whole CNP interval without a mark; and a whole timer: */
	double clean = 1;
	if (marked > 0)
		clean = exp(-marked * packets);
	double free_run = 1;
	if (marked > 0)
		free_run = exp(-marked * packets * params[TIMER_NS] / params[CNP_NS]);
	const double cut = fmin(1, (1 - clean) * dt / params[CNP_NS]),
		     back = fmin(1, free_run * dt / params[TIMER_NS]);
	senders->average += (1 - clean - senders->average) * fmin(1, dt / params[AVERAGE_NS]);
	senders->target += cut * (senders->rate - senders->target) + back * params[STEP];
	senders->target = fmin(1, senders->target);
	senders->rate += -cut * senders->rate * senders->average / 2 +
		back * (senders->target - senders->rate) / 2;
	senders->rate = fmin(1, fmax(RATE_LEAST, senders->rate));
}

/* One step of the queue while @arriving (of the queue's own rate) comes in; returns what left, in
 * bytes. */
static double whatif_burst_flow(
	const struct burst_in *in, double arriving, double *queue, double dt, struct sums *sums)
{
	double q = *queue + (arriving - 1) * in->speed * dt;
	if (q >= in->q_pfc && arriving > 1) {
		/* held there: senders are stopped for the share of time in which nobody's packets
		 * fit */
		const double full = fmin(1, (q - in->q_pfc) / ((arriving - 1) * in->speed * dt)),
			     up = in->xon_gap / ((arriving - 1) * in->speed),
			     down = in->xon_gap / in->speed;
		sums->paused_ns += full * dt * (1 - 1 / arriving);
		sums->episodes += full * dt / (up + down);
		q = in->q_pfc;
	}
	double left;
	if (q < 0)
		left = in->speed * dt + q;
	else
		left = in->speed * dt;
	*queue = fmax(0, q);
	return left;
}

static struct sums whatif_burst_minus(struct sums left, struct sums right)
{
	return (struct sums){left.ns - right.ns, left.paused_ns - right.paused_ns,
		left.served - right.served, left.marked - right.marked,
		left.episodes - right.episodes};
}

static struct whatif_burst one_burst(
	const struct burst_in *in, const double *params, struct senders *senders)
{
	const double volume = params[BURST_NS] * in->speed,
		     dt = fmax(in->rtt_ns / STEPS_PER_RTT, params[BURST_NS] / STEPS_PER_BURST);
	const unsigned lag = (unsigned)fmin(LAG_MAX - 1, fmax(1, round(in->rtt_ns / dt)));
	double seen[LAG_MAX] = {0}, queue = 0, peak = 0, sent = 0;
	struct sums sums = {0}, before = {0};
	for (unsigned i = 0; i < STEPS_MAX && sums.served < volume; i++) {
		double arriving = 0;
		if (sent < volume)
			arriving = senders->rate * in->overload;
		const double p_now = whatif_burst_mark(in, queue),
			     left = fmin(whatif_burst_flow(in, arriving, &queue, dt, &sums),
				     volume - sums.served);
		sums.served += left;
		sent = sums.served + queue;
		sums.marked += p_now * left;
		if (left < in->speed * dt && sums.served >= volume)
			sums.ns += left / in->speed;
		else
			sums.ns += dt;
		peak = fmax(peak, queue);
		double heard = 0;
		if (i >= lag)
			heard = seen[i % lag];
		seen[i % lag] = p_now;
		if (in->dcqcn)
			whatif_burst_react(senders, params, heard,
				params[CNP_PACKETS] * fmin(1, arriving), dt);
		if (i == STEPS_MAX * 2 / 3)
			before = sums;
	}
	if (sums.served < volume) {
		const struct sums last = whatif_burst_minus(sums, before);
		const double times = (volume - sums.served) / fmax(last.served, volume * 1e-9);
		sums = (struct sums){sums.ns + times * last.ns,
			sums.paused_ns + times * last.paused_ns, volume,
			sums.marked + times * last.marked, sums.episodes + times * last.episodes};
	}
	return (struct whatif_burst){.length_ns = sums.ns,
		.pause = sums.paused_ns / sums.ns,
		.marks = sums.marked / volume,
		.peak = peak,
		.throughput = params[BURST_NS] / sums.ns,
		.episodes_per_ns = sums.episodes / sums.ns};
}

static struct whatif_burst whatif_run(const struct burst_in *in, const double params[WHATIF_PARAMS])
{
	const struct senders fresh = {1, 1, AVERAGE_FRESH};
	struct senders s = fresh;
	struct whatif_burst r = one_burst(in, params, &s);
	for (int i = 1; i < BURST_ROUNDS && in->dcqcn && isfinite(in->kmin); i++) {
		s.rate = pow(s.rate, params[KEEP]);
		s.target = pow(s.target, params[KEEP]);
		s.average = s.average * params[KEEP] + AVERAGE_FRESH * (1 - params[KEEP]);
		r = one_burst(in, params, &s);
	}
	return r;
}
