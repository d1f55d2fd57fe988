/* whatif_burst - one queue under one burst, by the fluid model of whatif.h. */
#include <math.h>

#include "analyzers/tune/whatif_internal.h"

enum {
	LAG_MAX = 64, /* steps of a round trip that are remembered */
	STEPS_MAX = 700, /* what is left then goes on as its last third did */
	ROUNDS = 2, /* bursts until what one takes over from the other has settled */
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

struct whatif_burst whatif_run(const struct burst_in *in, const double params[WHATIF_PARAMS])
{
	const struct senders fresh = {1, 1, AVERAGE_FRESH};
	struct senders s = fresh;
	struct whatif_burst r = one_burst(in, params, &s);
	for (int i = 1; i < ROUNDS && in->dcqcn && isfinite(in->kmin); i++) {
		s.rate = pow(s.rate, params[KEEP]);
		s.target = pow(s.target, params[KEEP]);
		s.average = s.average * params[KEEP] + AVERAGE_FRESH * (1 - params[KEEP]);
		r = one_burst(in, params, &s);
	}
	return r;
}
