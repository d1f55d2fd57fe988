/* cost - measures a job's throughput before and since the onset, and prices the difference. */
#include "agent/incident/cost.h"

#include "agent/document/json_value.h"
#include "agent/document/shape.h"
#include "analyzers/measure/rhythm.h"
#include "db/model/cause.h"
#include "db/model/finding.h"

/* What a job moved right before and right after an onset, where its level drifts
 * slowly as well: compute gets a little slower and faster over the hour, fault or not, so means of
 * long stretches differ by more than the fault took.
 *
 * Octets added up since the beginning of each side are fitted by a + b t + c t^2 / 2 (least
 * squares): t from the onset, a and b of the side, c of both, the drift. b is the rate at the
 * onset. Few minutes cannot tell a drift from scatter: c is drawn towards none by how much it
 * usually is (ridge regression; Hoerl and Kennard 1970). Sums instead of rates, since what a block
 * cuts off a step the next one gets: the errors of rates cancel, those of sums are small. Pure.
 */

struct onset_span { /* what of the blocks counts; blocks that lie in it as a whole */
	int64_t from_ns, before_ns; /* the side before */
	int64_t onset_ns;
	int64_t after_ns, to_ns; /* the side since */
};

#define BEFORE_MIN 6 /* blocks */
#define AFTER_MIN 3
#define SEEN_LEAST 0.75 /* share of a side's blocks that has to count by itself */
#define USUAL_LEAST 0.5 /* of the side's level, as in rhythm_level() */
#define USUAL_MOST 1.5

/* A job's level drifts by about 1 % within the hour: by so much of it a second, usually. */
#define DRIFT_USUAL 1e-5
#define FREE_SUMS 4.0 /* sums that are as good as independent: what one errs the next one keeps */

struct onset_side {
	double tt, tq, qq, ty, qy, yy; /* sums of products, each around its mean */
};

struct onset_moments {
	double n, t, q, y, tt, tq, qq, ty, qy, yy;
};

static void onset_add(struct onset_moments *sums, double t, double y)
{
	const double q = t * t / 2;
	sums->n++;
	sums->t += t;
	sums->q += q;
	sums->y += y;
	sums->tt += t * t;
	sums->tq += t * q;
	sums->qq += q * q;
	sums->ty += t * y;
	sums->qy += q * y;
	sums->yy += y * y;
}

/* The blocks that lie in (from, to]; false: too few. */
static bool onset_side_of(const struct job_rate *rate, int64_t from_ns, int64_t to_ns,
	int64_t onset_ns, size_t least, struct onset_side *ret)
{
	size_t first = 0, end = rate->n;
	while (first < end &&
		(isnan(rate->rate[first]) ||
			rate->from_ns + (int64_t)first * rate->block_ns < from_ns))
		first++;
	while (end > first &&
		(isnan(rate->rate[end - 1]) ||
			rate->from_ns + (int64_t)end * rate->block_ns > to_ns))
		end--;
	const struct level level = rhythm_level(rate->rate + first, end - first);
	if (level.n < least || (double)level.n < SEEN_LEAST * (double)(end - first))
		return false;
	struct onset_moments s = {0};
	double y = 0;
	for (size_t k = first; k <= end; k++) {
		const int64_t at_ns = rate->from_ns + (int64_t)k * rate->block_ns;
		onset_add(&s, (double)(at_ns - onset_ns) / (double)NS_PER_S, y);
		double more = level.mean;
		if (k < end && rate->rate[k] >= USUAL_LEAST * level.mean &&
			rate->rate[k] <= USUAL_MOST * level.mean)
			more = rate->rate[k];
		y += more * (double)rate->block_ns / (double)NS_PER_S;
	}
	*ret = (struct onset_side){.tt = s.tt - s.t * s.t / s.n,
		.tq = s.tq - s.t * s.q / s.n,
		.qq = s.qq - s.q * s.q / s.n,
		.ty = s.ty - s.t * s.y / s.n,
		.qy = s.qy - s.q * s.y / s.n,
		.yy = s.yy - s.y * s.y / s.n};
	return true;
}

/* onset_levels - octets a second at the onset, by the blocks before and since. Blocks that are not
 * seen or idle count as their side's level. False where a side has too few that are seen. */
static bool onset_levels(const struct job_rate *rate, const struct onset_span *span,
	double *ret_before, double *ret_after)
{
	struct onset_side side[2];
	if (rate->block_ns <= 0 ||
		!onset_side_of(rate, span->from_ns, span->before_ns, span->onset_ns, BEFORE_MIN,
			&side[0]) ||
		!onset_side_of(
			rate, span->after_ns, span->to_ns, span->onset_ns, AFTER_MIN, &side[1]))
		return false;
	double curve = 0, weight = 0, rest = 0;
	for (size_t i = 0; i < 2; i++) {
		curve += side[i].qy - side[i].ty * side[i].tq / side[i].tt;
		weight += side[i].qq - side[i].tq * side[i].tq / side[i].tt;
		rest += side[i].yy - side[i].ty * side[i].ty / side[i].tt;
	}
	rest = fmax(0, rest - curve * curve / weight);
	const double usual = DRIFT_USUAL * side[0].ty / side[0].tt;
	const double drift = curve / (weight + rest / FREE_SUMS / (usual * usual));
	*ret_before = (side[0].ty - drift * side[0].tq) / side[0].tt;
	*ret_after = (side[1].ty - drift * side[1].tq) / side[1].tt;
	return isfinite(*ret_before) && isfinite(*ret_after);
}

/* weight - adds up the raised windows of one subject. */

#define SPAN_MORE 2.0 /* windows besides `hold` of which it must be OVER in `hold` */

void weight_done(struct weight *weight)
{
	free(weight->v);
	*weight = (struct weight){0};
}

double weight_share(const struct finding *finding)
{
	const int64_t length_ns = finding->to_ns - finding->from_ns;
	if (finding->new_ns <= 0 || finding->new_ns >= length_ns)
		return 1;
	return (double)finding->new_ns / (double)length_ns;
}

/* The window's value over its threshold, at least 1. */
static double weight_distance(const struct finding *finding)
{
	double distance = 1;
	if (finding->warn > 0)
		distance = finding->value / finding->warn;
	if (distance > 1)
		return distance;
	return 1;
}

static double weight_of(const struct finding *finding, uint32_t hold)
{
	const double most = hold / 2.0;
	if (hold == 1)
		return 1;
	if (finding->proven)
		return most;
	double sure = 2 * finding->confidence_ratio - 1;
	if (!(sure > 0))
		sure = 0;
	const double distance = weight_distance(finding);
	const double weight = 1 + (distance * distance - 1) * sure;
	return fmin(weight_share(finding) * weight, most);
}

/* Of the last hold + 2 judged windows; with a small hold more would let a window in that was
 * forgotten: hold + hold - 1. */
static double weight_span(uint32_t hold)
{
	if (hold < 3)
		return 2.0 * hold - 1;
	return hold + SPAN_MORE;
}

void weight_judged(struct weight *weight, const struct finding *finding, uint32_t hold)
{
	weight->judged += weight_share(finding);
	const double oldest = weight->judged - weight_span(hold) + WEIGHT_SHARE_ERROR;
	size_t n = 0;
	for (size_t k = 0; k < weight->n; k++)
		if (weight->v[k].at > oldest)
			weight->v[n++] = weight->v[k];
	weight->n = n;
	if (finding->verdict != FINDING_OVER)
		return;
	rw_grow(weight->v, weight->n, weight->cap);
	weight->v[weight->n++] = (struct weight_window){weight->judged, weight_of(finding, hold)};
}

double weight_sum(const struct weight *weight)
{
	double sum = 0;
	for (size_t k = 0; k < weight->n; k++)
		sum += weight->v[k].weight;
	if (sum > 0)
		return sum + WEIGHT_SHARE_ERROR;
	return 0;
}

#define BLOCKS_MIN 3 /* on a side, for a mean */
#define REACH_MIN 4 /* blocks around the first raised window that may hold the change point */
#define FALL_MIN 0.01 /* of throughput: less cannot be told from noise, whatever the error is */
#define ERRORS 2.0 /* standard errors */
/* A job's own level moves by this much within the hour. A larger change since the onset is the
 * incident's; between once and twice of it ever more of it is. */
#define DRIFT_MOST 0.02
#define ONSET_SPAN_NS (10 * 60 * NS_PER_S) /* on a side; the drift bends over longer ones */
/* What remains of a drift that was taken away, of throughput. */
#define DRIFT_ERROR 0.006
/* A fall by more than this leaves too little to tell a drift by. */
#define ONSET_FALL_MOST 0.5

struct cost cost_new(void)
{
	return (struct cost){.to_ns = INT64_MIN, .claim_ratio = NAN, .claim_share = 1};
}

void cost_done(struct cost *cost)
{
	for (size_t k = 0; k < cost->n; k++)
		free(cost->v[k].job);
	free(cost->v);
	*cost = cost_new();
}

/* cost_job_of - what is kept of @job (NULL: no job is configured); a new entry when it is not known
 * yet. Valid until the next one is added. */
static struct cost_job *cost_job_of(struct cost *cost, const char *job)
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
		.onset_ratio = NAN,
		.error_ratio = NAN,
		.loss_error_ratio = NAN,
		.surplus_ratio = NAN};
	return j;
}

/* ---- measuring ----------------------------------------------------------- */

/* How much of a claim counts: all of it when no throughput is known; else up to the measured loss
 * and its error. */
static double cost_allowed(const struct cost *cost, double claim)
{
	double limit = INFINITY;
	for (size_t k = 0; !cost->claims_idle && k < cost->n; k++)
		if (!isnan(cost->v[k].loss_ratio) && !cost->v[k].by_uplinks)
			limit = fmin(
				limit, fmax(0, cost->v[k].loss_ratio + cost->v[k].error_ratio));
	return fmin(fmin(claim, 1), limit);
}

void cost_of_cause(struct cost *cost, enum cause cause)
{
	/* between its checkpoints a job that waits for storage is as fast as before */
	cost->claims_idle = cause == CAUSE_SLOW_STORAGE;
}

void cost_over(struct cost *cost, const struct finding *finding)
{
	cost->window_ns = finding->to_ns - finding->from_ns;
	cost_of_cause(cost, finding->cause);
	/* windows that overlap the end of a fault hold only a part of it */
	if (finding_is_aligned(finding) || isnan(cost->claim_ratio))
		cost->claim_ratio = finding->loss_ratio;
	cost->newest_s = 0;
	if (finding->loss_ratio > 0)
		cost->newest_s = cost_allowed(cost, finding->loss_ratio) * weight_share(finding) *
			(double)cost->window_ns / (double)NS_PER_S;
	cost->claimed_s += cost->newest_s * cost->claim_share;
	for (size_t k = 0; k < cost->n; k++) {
		struct cost_job *j = &cost->v[k];
		j->time_s += j->late_time_s;
		j->octets += j->late_octets;
		j->late_time_s = j->late_octets = 0;
	}
}

double cost_claims(const struct cost *cost)
{
	for (size_t k = 0; k < cost->n; k++)
		if (cost->v[k].fell)
			return 0;
	if (!(cost->claim_ratio > 0))
		return 0;
	return cost_allowed(cost, cost->claim_ratio);
}

bool cost_share_claim(struct cost *cost, double share)
{
	if (cost->claim_share == share)
		return false;
	cost->claimed_s += cost->newest_s * (share - cost->claim_share);
	cost->claim_share = share;
	return true;
}

void cost_resume(struct cost *cost, const struct cost *claims, int64_t since_ns, bool went_on)
{
	if (!isnan(claims->claimed_s))
		cost->claimed_s += claims->claimed_s;
	for (size_t k = 0; k < cost->n; k++) {
		struct cost_job *j = &cost->v[k];
		if (!went_on)
			j->late_time_s = j->late_octets = 0;
		j->onset_ns = since_ns;
		j->counting = false;
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
	size_t from = 0;
	if (s.onset > reach)
		from = s.onset - reach;
	struct change found;
	const bool any = rhythm_change(s.v, s.n, from, s.onset + reach, &found);
	if (any && found.t >= RHYTHM_SURE && found.after < found.before) {
		s.onset = found.at;
		s.sure = true;
	}
	return s;
}

/* How far throughput fell right at the onset. Its block and the one before may hold both levels. */
static double cost_onset_ratio(const struct cost_job *job, const struct job_rate *rate)
{
	const struct job_rate *fine = rate;
	if (rate->fine)
		fine = rate->fine;
	const struct onset_span span = {.from_ns = job->onset_ns - ONSET_SPAN_NS,
		.before_ns = job->onset_ns - rate->block_ns,
		.onset_ns = job->onset_ns,
		.after_ns = job->onset_ns + rate->block_ns,
		.to_ns = job->onset_ns + ONSET_SPAN_NS};
	double before, after;
	if (!job->at_onset || !onset_levels(fine, &span, &before, &after))
		return NAN;
	const double fall = 1 - after / before;
	if (fall > FALL_MIN && fall < ONSET_FALL_MOST)
		return fall;
	return NAN;
}

/* What the job would move at the time that it moves @rate: what it did before the onset, and since
 * then its own drift. */
static double cost_base_beside(const struct cost_job *job, double rate)
{
	if (isnan(job->onset_ratio))
		return job->base;
	const double drift = rate / (1 - job->onset_ratio) / job->base - 1;
	const double most = fmax(0, fmin(fabs(drift), 2 * DRIFT_MOST - fabs(drift)));
	return job->base * (1 + copysign(most, drift));
}

/* Throughput before the onset, and where the onset is. */
static void cost_measure_before(struct cost_job *job, const struct job_rate *rate,
	const struct sides *sides, int64_t first_ns)
{
	/* the block before the change may hold some of it */
	size_t n = sides->onset;
	if (n > BLOCKS_MIN)
		n--;
	const struct level before = rhythm_level(sides->v, n);
	if (before.n < BLOCKS_MIN)
		return;
	job->base = before.mean;
	job->error_ratio = ERRORS * before.se / before.mean;
	job->at_onset = sides->sure;
	job->onset_ns = first_ns;
	if (sides->onset < sides->n)
		job->onset_ns = rate->from_ns + (int64_t)sides->at[sides->onset] * rate->block_ns;
	job->onset_ratio = cost_onset_ratio(job, rate);
}

/* Octets of steps in @moved. When the onset is no longer among the blocks they hold what ports move
 * beside the steps; how much that is was seen before. */
static double cost_of_steps(const struct cost_job *job, const struct job_rate *rate, double moved)
{
	if (job->surplus_ratio > 0 && rate->from_ns > job->onset_ns)
		return moved / job->surplus_ratio;
	return moved;
}

/* Throughput since the onset. All blocks count, idle ones too: a job that stands still may be
 * stopped. The level leaves out outliers. */
static void cost_measure_since(struct cost_job *job, const struct job_rate *rate)
{
	size_t since = block_at(rate, job->onset_ns);
	if (since + BLOCKS_MIN < rate->n)
		since++; /* its first block may hold what was before */
	const struct level after = rhythm_level(rate->rate + since, rate->n - since);
	if (isnan(job->base) || after.n == 0)
		return;
	double error = NAN; /* an unknown error proves nothing */
	if (after.n >= BLOCKS_MIN)
		error = ERRORS * after.se / job->base;
	if (rate->surplus_ratio > 0)
		job->surplus_ratio = rate->surplus_ratio;
	job->now = cost_of_steps(job, rate, after.mean);
	job->loss_ratio = fmin(fmax(1 - job->now / job->base, 0), 1);
	job->fell = job->loss_ratio > FALL_MIN && job->loss_ratio > hypot(error, job->error_ratio);
	if (job->fell)
		job->loss_ratio = 1 - job->now / cost_base_beside(job, job->now);
	/* scatter on both sides, and drift; with 95 % */
	job->loss_error_ratio =
		(1 - job->loss_ratio) * hypot(hypot(job->error_ratio, error), DRIFT_ERROR);
}

bool cost_due(const struct cost *cost, const struct job_rate *rate)
{
	const int64_t to_ns = rate->from_ns + (int64_t)rate->n * rate->block_ns;
	return cost->to_ns <= to_ns - rate->block_ns;
}

struct cost_job *cost_measure(struct cost *cost, const struct job_rate *rate, int64_t first_ns)
{
	const int64_t to_ns = rate->from_ns + (int64_t)rate->n * rate->block_ns;
	if (!cost_due(cost, rate))
		return NULL;
	struct cost_job *job = cost_job_of(cost, rate->job);
	job->by_uplinks = rate->by_uplinks;
	struct sides sides = cost_sides_of(cost, rate, first_ns);
	/* while enough of the past lies before the onset it is measured anew: later blocks show the
	 * change point better */
	const bool much_before = first_ns - rate->from_ns > (to_ns - rate->from_ns) / 2;
	if (much_before || isnan(job->base))
		cost_measure_before(job, rate, &sides, first_ns);
	cost_measure_since(job, rate);
	free(sides.v);
	free(sides.at);
	return job;
}

void cost_count(struct cost_job *job, const struct job_rate *job_rate, double share, bool stalled)
{
	job->share_ratio = share;
	if (isnan(job->base) || !job_rate->n)
		return;
	const double time_s = share * (double)job_rate->block_ns / (double)NS_PER_S;
	size_t first = job_rate->n - 1;
	if (!job->counting)
		first = block_at(job_rate, job->onset_ns);
	for (size_t k = first; k < job_rate->n; k++) {
		const double rate = job_rate->rate[k];
		if (isnan(rate))
			continue;
		const bool idle = rate < RHYTHM_IDLE * job->base;
		if (idle && !stalled)
			continue;
		job->late_time_s += time_s;
		job->late_octets += time_s * cost_of_steps(job, job_rate, rate);
	}
	job->counting = true;
}

/* ---- summing up ------------------------------------------------------------- */

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

static double cost_sum_known(double sum, double more)
{
	if (isnan(sum))
		return more;
	return sum + more;
}

/* The share of a fall in throughput that the incident explains; of several jobs the largest. */
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
			best = fmax(best, part);
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
		const double job_gpus = gpus_of(fabric, j->job);
		if (!j->fell || !(job_gpus > 0) || !(price > 0))
			continue;
		const double base = cost_base_beside(j, j->octets / j->time_s);
		const double lost_s = fmax(0, j->time_s - j->octets / base);
		const double lost_s_per_hour = 3600 * j->loss_ratio * j->share_ratio;
		r.usd_per_hour = cost_sum_known(
			r.usd_per_hour, cost_priced(job_gpus, price, lost_s_per_hour));
		r.usd_total = cost_sum_known(r.usd_total, cost_priced(job_gpus, price, lost_s));
	}
	if (isnan(r.usd_total) && !isnan(cost->claim_ratio)) {
		const double lost_ratio = cost_allowed(cost, cost->claim_ratio) * cost->claim_share;
		r.usd_per_hour = cost_priced((double)gpus, price, 3600 * lost_ratio);
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
		.before = cost_base_beside(job, job->now),
		.now = job->now,
		.loss_ratio = job->loss_ratio,
		.error_ratio = job->loss_error_ratio,
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

/* cost_json_add - the codec of struct cost. */

#define SHAPE struct cost
static const struct field cost_fields[] = {
	NUMBER(claim_ratio, UNIT_RATIO, ""),
	NUMBER(claimed_s, UNIT_SECONDS, ""),
	NUMBER(claim_share, UNIT_RATIO, ""),
	NUMBER(newest_s, UNIT_SECONDS, ""),
};
static SHAPE_OF(cost, "cost", "");
#undef SHAPE

/* Behind the job. */
#define SHAPE struct cost_job
static const struct field cost_job_fields[] = {
	NS(onset_ns, ""),
	FLAG(fell, ""),
	FLAG(at_onset, ""),
	FLAG(by_uplinks, ""),
	FLAG(counting, ""),
	NUMBER(base, UNIT_NONE, ""),
	NUMBER(now, UNIT_NONE, ""),
	NUMBER(loss_ratio, UNIT_RATIO, ""),
	NUMBER(onset_ratio, UNIT_RATIO, ""),
	NUMBER(error_ratio, UNIT_RATIO, ""),
	NUMBER(loss_error_ratio, UNIT_RATIO, ""),
	NUMBER(share_ratio, UNIT_RATIO, ""),
	NUMBER(surplus_ratio, UNIT_RATIO, ""),
	NUMBER(time_s, UNIT_SECONDS, ""),
	NUMBER(octets, UNIT_NONE, ""),
	NUMBER(late_time_s, UNIT_SECONDS, ""),
	NUMBER(late_octets, UNIT_NONE, ""),
};
static SHAPE_OF(cost_job, "cost", "");
#undef SHAPE

void cost_json_add(struct str *out, const char *key, const struct cost *cost)
{
	json_add_open(out, key, '{');
	json_add_integer(out, "to_ns", cost->to_ns);
	shape_add(out, &cost_shape, cost);
	json_add_integer(out, "window_ns", cost->window_ns);
	json_add_open(out, "jobs", '[');
	for (size_t k = 0; k < cost->n; k++) {
		json_add_open(out, NULL, '{');
		json_add_text(out, "job", cost->v[k].job);
		shape_add(out, &cost_job_shape, &cost->v[k]);
		json_add_close(out, '}');
	}
	json_add_close(out, ']');
	json_add_close(out, '}');
}

struct cost cost_json_parse(const json_t *object)
{
	struct cost c = cost_new();
	const json_t *jobs = json_object_get(object, "jobs"), *j;
	size_t k;
	if (!json_is_array(jobs))
		return c;
	c.to_ns = json_integer_value(json_object_get(object, "to_ns"));
	shape_read(&cost_shape, object, NULL, &c);
	if (isnan(c.claim_share)) { /* of an older version */
		c.claim_share = 1;
		c.newest_s = 0;
	}
	c.window_ns = json_integer_value(json_object_get(object, "window_ns"));
	json_array_foreach (jobs, k, j) {
		struct cost_job *mine =
			cost_job_of(&c, json_string_value(json_object_get(j, "job")));
		shape_read(&cost_job_shape, j, NULL, mine);
	}
	return c;
}
