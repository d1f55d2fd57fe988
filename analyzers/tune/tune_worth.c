/* tune_worth - see the header. */
#include "analyzers/tune/tune_worth.h"

#include "analyzers/tune/tune_effect.h"

#define HOT 0.5 /* of the deepest queue: as congested as that one */
#define PAUSE_WEIGHT 0.5
/* Error of the model in J, where marks cost something: 3 % in each of two terms is noise of an
 * exchange (docs/accuracy/advice.md); half of that is asked. */
#define MARGIN 0.02
/* ... and where earlier marks alone have to bring it (not towards storage, where nobody waits): ten
 * such changes in drawn fabrics with a forecast between 1.89 and 1.98 came out at 1.01 to 3.35 of
 * J, those at 1.72 and 1.81 at 0.90 and 0.81. */
#define MARKS_MARGIN 0.15
#define COST_LEAST 0.002 /* below it marks cost nothing */
#define DUTY_LEAST 0.01
#define RAMP_WIDE 3.9 /* Kmax over Kmin: four, as cells round it */

/* ---- who else is there ---------------------------------------------------- */

static double out_octets(const struct tune_device *device, const struct tune_prio *prio)
{
	const struct tune_port *port = tune_port_at(device, prio->port);
	if (!port || isnan(port->out_octets))
		return 0;
	return port->out_octets;
}

static bool counts_for(const struct tune_plan *plan, const struct tune_prio *prio)
{
	return prio->priority == plan->site->priority && prio->port->host;
}

static double deepest_to_hosts(const struct tune_plan *plan)
{
	const struct tune_evidence *evidence = plan->c->in->evidence;
	double deep = 0;
	for (size_t i = 0; i < evidence->n_devices; i++)
		for (size_t k = 0; k < evidence->devices[i].n_prios; k++) {
			const struct tune_prio *prio = &evidence->devices[i].prios[k];
			if (counts_for(plan, prio))
				deep = fmax(deep, prio->queue.max);
		}
	return deep;
}

/* Share of what all switches send to hosts that does not go through a queue as deep as the deepest
 * ones. NAN: depths or traffic are not known. */
static double share_of_others(const struct tune_plan *plan)
{
	const struct tune_evidence *evidence = plan->c->in->evidence;
	const double deep = deepest_to_hosts(plan);
	double all = 0, hot = 0;
	for (size_t i = 0; i < evidence->n_devices; i++)
		for (size_t k = 0; k < evidence->devices[i].n_prios; k++) {
			const struct tune_prio *prio = &evidence->devices[i].prios[k];
			if (!counts_for(plan, prio))
				continue;
			const double octets = out_octets(&evidence->devices[i], prio);
			all += octets;
			if (prio->queue.max >= HOT * deep)
				hot += octets;
		}
	if (!(deep > 0) || !(all > 0))
		return NAN;
	return 1 - hot / all;
}

/* ---- the forecast ---------------------------------------------------------- */

bool tune_worth_of(const struct tune_plan *plan, struct tune_worth *ret)
{
	const struct tune_site *site = plan->site;
	const struct tune_in *in = plan->c->in;
	struct whatif_queue queue;
	*ret = (struct tune_worth){.plan = plan,
		.others = share_of_others(plan),
		.pause = site->host_pause,
		.storage = tune_is_storage(in->fabric, site->hot)};
	if (!site->hot || isnan(ret->others) || isnan(ret->pause) || !site->measured)
		return false;
	if (tune_effect_fit(in->evidence, site->device, site->hot, &in->options, in->arena, &queue,
		    &ret->fit) < 0)
		return false;
	/* While PFC acts the queue sends at line rate: it is busy at least that long. */
	ret->duty = fmax(queue.utilization, DUTY_LEAST);
	return queue.pause_ratio > 0 && !queue.pause_bound && !isnan(queue.utilization);
}

static double between(double value, double least, double most)
{
	return fmin(most, fmax(least, value));
}

/*
 * Only alpha moves, and marks with it, which begin above one bandwidth-delay product on a wide
 * ramp: the queue stands on the ramp and the link does not run empty. Two simulators that share no
 * code agree: at most 2.4 % longer steps, where a ramp half as wide takes 2 to 14 %.
 */
static bool costs_nothing(const struct tune_worth *worth, const struct whatif_settings *to)
{
	const struct whatif_queue *queue = &worth->fit.q;
	const struct whatif_settings *now = &queue->now;
	const double bdp = queue->speed_bps / 8e9 * queue->rtt_ns;
	double kmax = to->kmax_bytes;
	if (isnan(kmax))
		kmax = now->kmax_bytes;
	double kmin = to->kmin_bytes;
	if (isnan(kmin))
		kmin = now->kmin_bytes;
	const double wide = fmin(RAMP_WIDE * kmin, worth->plan->site->pool_bytes);
	return kmin >= now->kmin_bytes && isnan(to->pmax) && kmin >= bdp && kmax >= wide;
}

bool tune_worth_ask(
	const struct tune_worth *worth, const struct whatif_settings *to, struct tune_forecast *ret)
{
	struct whatif_result model;
	if (whatif_predict(&worth->fit, to, &model) < 0)
		return false;
	/* Half way to the pessimistic end: what is predicted to end seldom ends altogether. */
	const double paused = (model.pause_ratio.mid + model.pause_ratio.high) / 2;
	const double left = between(paused / worth->fit.q.pause_ratio, 0, 1);
	const double gone = worth->pause * (1 - left);
	/* of the time in which the queue is busy: what those behind a paused link no longer wait */
	const double waited = between(gone / worth->duty, 0, 1);
	double slower = fmax(0, model.step_ratio.mid - 1);
	if (worth->storage || costs_nothing(worth, to))
		slower = 0;
	const double own = 1 - worth->others;
	ret->step = 1 + slower - worth->others * gone;
	ret->others_p99 = 1 + own * slower - worth->others * waited;
	ret->pause = worth->pause * left;
	ret->j = ret->step + ret->others_p99 + PAUSE_WEIGHT * ret->pause;
	ret->cost = (1 + own) * slower;
	return true;
}

static double worth_now(const struct tune_worth *worth)
{
	return 2 + PAUSE_WEIGHT * worth->pause;
}

bool tune_is_worth(const struct tune_worth *worth, const struct tune_forecast *forecast)
{
	/* Pause alone is no reason to make steps longer. */
	if (forecast->step + forecast->others_p99 > 2 + MARGIN)
		return false;
	if (forecast->cost <= COST_LEAST)
		return forecast->j <= worth_now(worth);
	return forecast->j < worth_now(worth) - MARGIN;
}

bool tune_marks_are_worth(const struct tune_worth *worth, const struct tune_forecast *forecast)
{
	double margin = MARKS_MARGIN;
	if (worth->storage)
		margin = MARGIN;
	return forecast->step + forecast->others_p99 < 2 - margin;
}

void tune_worth_check(struct tune_plan *plan, const struct tune_worth *worth,
	const struct tune_forecast *forecast)
{
	plan_check(plan,
		"J by the model: step time + others' p99, of now, + half of the host pause",
		worth_now(worth), forecast->j, worth_now(worth), "ratio",
		forecast->j <= worth_now(worth));
}
