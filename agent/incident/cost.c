/* cost - see the header. */
#include "agent/incident/cost.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "analyzers/measure/rhythm.h"

#define BLOCKS_MIN 3 /* on a side, for a mean */
#define REACH_MIN 4 /* blocks around the first window over where its change point is looked for */
#define FALL_MIN 0.01 /* of throughput: less is not told from noise, whatever its error says */
#define ERRORS 2.0 /* standard errors */

struct cost cost_new(void)
{
	return (struct cost){.to_ns = INT64_MIN, .claim_ratio = NAN};
}

void cost_done(struct cost *cost)
{
	for (size_t k = 0; k < cost->n; k++)
		free(cost->v[k].job);
	free(cost->v);
	*cost = cost_new();
}

struct cost_job *cost_job_of(struct cost *cost, const char *job)
{
	for (size_t k = 0; k < cost->n; k++)
		if (str_eq(cost->v[k].job, job) || (!cost->v[k].job && !job))
			return &cost->v[k];
	rw_grow(cost->v, cost->n, cost->cap);
	struct cost_job *j = &cost->v[cost->n++];
	*j = (struct cost_job){.job = job ? rw_strdup(job) : NULL,
		.base = NAN,
		.now = NAN,
		.loss_ratio = NAN,
		.error_ratio = NAN};
	return j;
}

/* ---- measuring ----------------------------------------------------------- */

/* What throughput allows a claim to be: all of it when nothing is known, its error when it did not
 * fall. */
static double cost_allowed(const struct cost *cost, double claim)
{
	double limit = INFINITY;
	for (size_t k = 0; k < cost->n; k++)
		if (!isnan(cost->v[k].loss_ratio) && !cost->v[k].by_uplinks)
			limit = fmin(
				limit, fmax(0, cost->v[k].loss_ratio + cost->v[k].error_ratio));
	return fmin(fmin(claim, 1), limit);
}

void cost_over(struct cost *cost, const struct finding *finding)
{
	cost->claim_ratio = finding->loss_ratio;
	cost->window_ns = finding->to_ns - finding->from_ns;
	if (finding->loss_ratio > 0)
		cost->claimed_s += cost_allowed(cost, finding->loss_ratio) *
			(double)cost->window_ns / (double)NS_PER_S;
	for (size_t k = 0; k < cost->n; k++) {
		struct cost_job *j = &cost->v[k];
		j->time_s += j->late_time_s;
		j->octets += j->late_octets;
		j->late_time_s = j->late_octets = 0;
	}
}

/* Position of time @t among the blocks: the first that begins at or after it. */
static size_t block_at(const struct job_rate *rate, int64_t t_ns)
{
	if (t_ns <= rate->from_ns)
		return 0;
	const size_t k = (size_t)((t_ns - rate->from_ns + rate->block_ns - 1) / rate->block_ns);
	if (k < rate->n)
		return k;
	return rate->n;
}

/* Busy blocks before and since; the change point near the onset, if there is one. */
struct sides {
	double *v;
	size_t *at;
	size_t n, onset;
	bool sure;
};

static struct sides cost_sides_of(
	const struct cost *cost, const struct job_rate *rate, int64_t first_ns)
{
	struct sides s = {.v = rw_calloc(rate->n + 1, sizeof(*s.v)),
		.at = rw_calloc(rate->n + 1, sizeof(*s.at))};
	s.n = rhythm_busy(rate->rate, rate->n, s.v, s.at);
	const size_t first = block_at(rate, first_ns);
	size_t window = 0;
	if (rate->block_ns > 0)
		window = (size_t)(cost->window_ns / rate->block_ns);
	size_t reach = REACH_MIN;
	if (2 * window > REACH_MIN)
		reach = 2 * window;
	while (s.onset < s.n && s.at[s.onset] < first)
		s.onset++;
	struct change found;
	if (rhythm_change(
		    s.v, s.n, s.onset > reach ? s.onset - reach : 0, s.onset + reach, &found) &&
		found.t >= RHYTHM_SURE && found.after < found.before) {
		s.onset = found.at;
		s.sure = true;
	}
	return s;
}

struct cost_job *cost_measure(struct cost *cost, const struct job_rate *rate, int64_t first_ns)
{
	const int64_t to_ns = rate->from_ns + (int64_t)rate->n * rate->block_ns;
	if (to_ns <= cost->to_ns)
		return NULL;
	struct cost_job *j = cost_job_of(cost, rate->job);
	j->by_uplinks = rate->by_uplinks;
	struct sides s = cost_sides_of(cost, rate, first_ns);
	/* while enough of the past lies before the onset it is measured anew: later blocks tell the
	 * change point better */
	if (first_ns - rate->from_ns > (to_ns - rate->from_ns) / 2 || isnan(j->base)) {
		/* the block before the change may hold some of it */
		const struct level before =
			rhythm_level(s.v, s.onset > BLOCKS_MIN ? s.onset - 1 : s.onset);
		if (before.n >= BLOCKS_MIN) {
			j->base = before.mean;
			j->error_ratio = ERRORS * before.se / before.mean;
			j->at_onset = s.sure;
			if (s.onset < s.n)
				j->onset_ns =
					rate->from_ns + (int64_t)s.at[s.onset] * rate->block_ns;
			else
				j->onset_ns = first_ns;
		}
	}
	const size_t since = block_at(rate, j->onset_ns);
	/* all blocks, idle ones too: what stands still may be stopped; the level leaves out what
	 * does not fit the rest */
	const struct level after = rhythm_level(rate->rate + since, rate->n - since);
	if (!isnan(j->base) && after.n > 0) {
		double error = NAN;
		if (after.n >= BLOCKS_MIN)
			error = ERRORS * after.se / j->base;
		j->now = after.mean;
		j->loss_ratio = fmin(fmax(1 - after.mean / j->base, 0), 1);
		/* an error that is not known proves nothing */
		j->fell = j->loss_ratio > FALL_MIN && j->loss_ratio > hypot(error, j->error_ratio);
	}
	free(s.v);
	free(s.at);
	return j;
}

void cost_count(struct cost_job *job, const struct job_rate *job_rate, double share, bool stalled)
{
	job->share_ratio = share;
	if (isnan(job->base) || !job_rate->n)
		return;
	const double time_s = share * (double)job_rate->block_ns / (double)NS_PER_S;
	for (size_t k = job->counting ? job_rate->n - 1 : block_at(job_rate, job->onset_ns);
		k < job_rate->n; k++) {
		const double rate = job_rate->rate[k];
		if (isnan(rate) || (rate < RHYTHM_IDLE * job->base && !stalled))
			continue;
		job->late_time_s += time_s;
		job->late_octets += time_s * rate;
	}
	job->counting = true;
}

/* ---- telling ------------------------------------------------------------- */

static double gpus_of(const struct fabric *fabric, const char *job)
{
	for (size_t k = 0; k < fabric->n_jobs; k++)
		if (str_eq(fabric->jobs[k].name, job))
			return (double)fabric->jobs[k].gpus;
	return 0;
}

static double cost_priced(double gpus, double price, double seconds)
{
	if (gpus > 0 && price > 0)
		return gpus * price * seconds / 3600;
	return NAN;
}

static double cost_explained(const struct cost *cost, bool explains)
{
	double best = NAN;
	for (size_t k = 0; k < cost->n; k++) {
		const struct cost_job *j = &cost->v[k];
		if (!j->fell || !(j->share_ratio > 0))
			continue;
		double part = NAN;
		if (!explains)
			part = 0;
		else if (j->at_onset)
			part = j->share_ratio;
		else if (cost->claim_ratio > 0)
			part = fmin(1, cost->claim_ratio / j->loss_ratio);
		if (!isnan(part))
			best = fmax(isnan(best) ? 0 : best, part);
	}
	return best;
}

struct cost_sum cost_sum(
	const struct cost *cost, const struct fabric *fabric, uint64_t gpus, bool explains)
{
	const double price = fabric->usd_per_gpu_hour;
	struct cost_sum r = {.usd_per_hour = NAN,
		.usd_total = NAN,
		.explained_ratio = cost_explained(cost, explains)};
	for (size_t k = 0; k < cost->n; k++) {
		const struct cost_job *j = &cost->v[k];
		const double n = gpus_of(fabric, j->job);
		if (!j->fell || !(n > 0) || !(price > 0))
			continue;
		const double lost_s = fmax(0, j->time_s - j->octets / j->base);
		r.usd_per_hour = (isnan(r.usd_per_hour) ? 0 : r.usd_per_hour) +
			cost_priced(n, price, 3600 * j->loss_ratio * j->share_ratio);
		r.usd_total =
			(isnan(r.usd_total) ? 0 : r.usd_total) + cost_priced(n, price, lost_s);
	}
	if (isnan(r.usd_total) && !isnan(cost->claim_ratio)) {
		r.usd_per_hour = cost_priced(
			(double)gpus, price, 3600 * cost_allowed(cost, cost->claim_ratio));
		r.usd_total = cost_priced((double)gpus, price, cost->claimed_s);
	}
	return r;
}

static double cost_step_s(const struct fabric *fabric, const char *job)
{
	for (size_t i = 0; i < fabric->n_jobs; i++)
		if (str_eq(fabric->jobs[i].name, job) && fabric->jobs[i].step_ns > 0)
			return (double)fabric->jobs[i].step_ns / (double)NS_PER_S;
	return NAN;
}

static struct cost_loss cost_loss_of(
	const struct cost_job *job, const struct fabric *fabric, struct arena *a)
{
	struct cost_loss loss = {
		.job = job->job ? arena_strdup(a, job->job) : NULL,
		.by_uplinks = job->by_uplinks,
		.fell = job->fell,
		.since_ns = job->onset_ns,
		.before = job->base,
		.now = job->now,
		.loss_ratio = job->loss_ratio,
		.error_ratio = job->error_ratio,
		.share_ratio = NAN,
		.step_before_s = cost_step_s(fabric, job->job),
	};
	loss.step_s = loss.step_before_s;
	if (job->fell) {
		loss.share_ratio = job->share_ratio;
		loss.step_s = loss.step_before_s / (1 - job->loss_ratio);
	} else if (!isnan(job->loss_ratio)) {
		loss.loss_ratio = 0; /* a change within its error is no loss */
	}
	return loss;
}

size_t cost_losses(const struct cost *cost, const struct fabric *fabric, struct arena *a,
	const struct cost_loss **ret)
{
	struct cost_loss *losses = arena_array(a, struct cost_loss, cost->n);
	for (size_t k = 0; k < cost->n; k++)
		losses[k] = cost_loss_of(&cost->v[k], fabric, a);
	*ret = losses;
	return cost->n;
}
