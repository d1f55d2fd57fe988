/*
 * cost - the money an incident costs: the wall time its jobs lost since it began, measured by their
 * throughput, times GPUs, times the price. Pure: time and rates come with the windows. The state is
 * stored with the incident, so a restart goes on where it was.
 *
 *      lost     1 - rate/base: mean octets per second since the onset, over those before it
 *               (analyzers/measure/rhythm.h says why that is wall time)
 *      onset    the first raised window, or the change point of throughput next to it
 *      base     measured anew while half of the known past still lies before the onset, then kept
 *      drift    what is left when the fall right at the onset (agent/incident/cost.c) is
 *               taken away, where that is little: compute of the job itself, which base follows
 *      lasted   all windows up to the newest raised one; later windows count only when another
 *               one is raised
 *      shared   where several incidents slow the same job at the same time, each has a part of the
 *               loss: by the ratios their findings claim (loss_ratio) when all of them claim one,
 *               else in equal parts. A job's loss is never counted twice.
 *
 * A job cannot lose more than all of itself: where claims ask together for more than what is left
 * of it, each has a part of that (agent/incident/incident_record.h).
 *
 * The claim of the findings is taken where throughput cannot be measured: none is known, or none
 * before the onset (a recording that begins in the middle), or only leaf uplinks are counted and
 * they show nothing. Where the hosts' throughput is known and did not fall, a claim counts only up
 * to the error of the measurement, unless it is one of time in which nothing is exchanged. Nothing
 * is counted for causes that cannot slow a job (a silent collector, a changed setting), nor for
 * findings of severity info without a claim.
 *
 * Explained: 1 when throughput fell at the onset and no other incident shares the loss; a part when
 * some do; else the claim over the loss. The cause "unknown" explains nothing.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"

#include "config/fabric.h"
#include "db/model/finding.h"

struct cost_job { /* of one incident */
	char *job; /* NULL: no job is configured */
	int64_t onset_ns;
	double base, now; /* octets per second; NAN unknown */
	double loss_ratio; /* of wall time, all of the job's; NAN unknown */
	double onset_ratio; /* what throughput fell by right at the onset; NAN unknown */
	double error_ratio; /* two standard errors of the level before, over it */
	double loss_error_ratio; /* how far the loss may be off, with 95 % */
	double share_ratio; /* of that loss, this incident's */
	double surplus_ratio; /* of what was moved since the onset; NAN none */
	bool fell; /* throughput is lower since the onset, beyond its error */
	bool at_onset; /* and there is a change point next to the onset */
	/* measured at the leaves' uplinks, because no port to a host is counted */
	bool by_uplinks;
	bool counting; /* the time since the onset is counted */
	double time_s, octets; /* counted: time weighed by the share, and what moved in it */
	double late_time_s, late_octets; /* since the newest raised window */
};

struct cost {
	struct cost_job *v;
	size_t n, cap;
	int64_t to_ns; /* rates are accounted up to here; INT64_MIN none */
	double claim_ratio; /* of the newest finding; NAN none */
	bool claims_idle; /* of time in which the job exchanges nothing: cost_of_cause() */
	double claimed_s; /* time lost by the claims, up to what throughput allows, shared */
	double claim_share; /* of its claim, what counts: cost_share_claim() */
	double newest_s; /* of .claimed_s, what the newest window claims before it is shared */
	int64_t window_ns; /* of the findings */
};

struct cost cost_new(void);
void cost_done(struct cost *cost);

/* cost_of_cause - what the claims are about, before they are counted and summed up. */
void cost_of_cause(struct cost *cost, enum cause cause);

/* cost_over - a raised window: its claim counts, and so does the loss measured up to now. */
void cost_over(struct cost *cost, const struct finding *finding);

/* cost_claims - what the newest finding claims, as far as throughput allows, 0 to 1; 0: nothing, or
 * what throughput fell by is measured instead. */
double cost_claims(const struct cost *cost);

/* cost_share_claim - of its claim so much counts from the newest window on, 0 to 1. True when that
 * is another part than before. */
bool cost_share_claim(struct cost *cost, double share);

/* cost_due - is a whole block of @rate newer than what is accounted? Windows may overlap. */
bool cost_due(const struct cost *cost, const struct job_rate *rate);

/*
 * cost_measure - throughput of @rate's job before and after @first_ns, the incident's first raised
 * window. Then, when every incident of the job has been measured, cost_count() is called for each,
 * and when all jobs are done the caller moves .to_ns on. NULL when it is not due.
 */
struct cost_job *cost_measure(struct cost *cost, const struct job_rate *rate, int64_t first_ns);
/* cost_count - count this window's loss, the first time all since the onset. @share: this
 * incident's part of it, 0 to 1. @stalled: a job that moves nothing has not ended, this incident
 * stopped it. */
void cost_count(struct cost_job *job, const struct job_rate *job_rate, double share, bool stalled);

/* cost_resume - an incident that was closed goes on from @since_ns: what was usual before its onset
 * still is. @claims: what was claimed meanwhile. @went_on: it never ended, so the time after its
 * newest raised window counts. */
void cost_resume(struct cost *cost, const struct cost *claims, int64_t since_ns, bool went_on);

struct cost_sum {
	double usd_per_hour, usd_total, explained_ratio; /* NAN unknown */
};
/* cost_sum - @gpus: of all jobs concerned, for claims; @explains: the incident names a reason. */
struct cost_sum cost_sum(
	const struct cost *cost, const struct fabric *fabric, uint64_t gpus, bool explains);

/* What was measured of one job, for people. */
struct cost_loss {
	const char *job; /* NULL: no job is configured */
	bool by_uplinks; /* measured at the leaves' uplinks, else at the hosts' ports */
	bool fell; /* throughput is lower since .since_ns, beyond the error */
	int64_t since_ns; /* means something only when it fell */
	double before, now; /* octets per second; NAN unknown */
	/* NAN unknown; 0 when it did not fall. The true loss is within the error with 95 % */
	double loss_ratio, error_ratio;
	double share_ratio; /* of the loss, this incident's; NAN when it did not fall */
	double step_before_s, step_s; /* NAN: the job's step is not configured */
};

/* cost_losses - one for each job that was measured, in @a; returns how many. */
size_t cost_losses(const struct cost *cost, const struct fabric *fabric, struct arena *a,
	const struct cost_loss **ret);

/*
 * weight - how much the raised windows of one subject weigh together: what decides about opening.
 * It is a sequential test (Wald, Sequential Tests of Statistical Hypotheses, 1945) with a limited
 * memory: each OVER window adds its weight, and what is older than hold + 2 judged windows counts
 * no longer. The limit is what makes a restart find the same sum.
 *
 *      weight of an OVER window   (new / length) (1 + (k^2 - 1) (2 c - 1)), at most hold / 2
 *      new      how much of it no earlier window held: overlapping windows count once
 *      k        its value over its threshold, at least 1. The log likelihood ratio of a shift of k
 *               standard errors grows with k^2
 *      c        its confidence; at 0.5 and below only time counts
 *      proven   an exact sign, which noise cannot make: hold / 2
 *      hold 1   each weighs 1
 *
 * So a subject at its threshold opens after `hold` windows, one at twice the threshold after a
 * fourth of that, and with a hold above 1 none after a single window. Pure.
 */

/* Shares of windows are added: three thirds are one. */
#define WEIGHT_SHARE_ERROR 1e-6

/* One OVER window. */
struct weight_window {
	double at; /* judged windows up to it, in whole windows */
	double weight;
};

struct weight {
	double judged; /* OVER and UNDER windows so far, in whole windows */
	struct weight_window *v; /* oldest first */
	size_t n, cap;
};

void weight_done(struct weight *weight);

/* weight_share - how much of the finding's window is new, in whole windows: 0 to 1. */
double weight_share(const struct finding *finding);

/* weight_judged - another window was judged. OVER windows add their weight; old ones are dropped.
 * @hold: of the finding, >= 1. */
void weight_judged(struct weight *weight, const struct finding *finding, uint32_t hold);

/* weight_sum - of the OVER windows that count; 0: none does. */
double weight_sum(const struct weight *weight);

/*
 * cost_json_add - the state of an incident's cost as JSON, so that a restart goes on where it was:
 * member @key (NULL: an element) of what is open at the end of @out.
 */

void cost_json_add(struct str *out, const char *key, const struct cost *cost);
/* cost_json_parse - the other way; cost_new() when @object does not come from cost_json_add(). */
struct cost cost_json_parse(const json_t *object);
