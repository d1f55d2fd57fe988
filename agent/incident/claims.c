/* claims - a job's loss, shared among the incidents that may slow it (claims.h). */
#include "agent/incident/claims.h"

#include <math.h>
#include <stdlib.h>
#include "agent/base/cleanup.h"
#include "db/model/cause.h"

/* An incident that may slow a job: the job's loss is shared among these. */
struct claimant {
	struct incident_record *record;
	struct cost_job *job;
};

/* Does it take part of the loss now? */
static bool claims_now(const struct incident_record *record)
{
	const bool seen_lately =
		record->i.state == INCIDENT_PENDING && incident_record_recent(record);
	if (record->i.state != INCIDENT_OPEN && !seen_lately)
		return false;
	if (record->i.parent || record->folded[0] || !cause_has(record->i.cause, CAUSE_MAY_COST))
		return false;
	return record->i.severity > SEV_INFO || record->cost.claim_ratio > 0;
}

/* A symptom says that a job is slow, not why, and names no host. It gets no part of a loss while an
 * incident with a real cause claims the same job. */
static bool claims_symptom(const struct incident_record *record)
{
	return cause_has(record->i.cause, CAUSE_IS_SYMPTOM) && !record->i.host;
}

static bool claimant_counts(const struct claimant *claimant)
{
	return claimant->job->fell && claims_now(claimant->record);
}

/* What those that claim a part of one job's loss have in common. */
struct claims {
	bool real_cause; /* one that is no symptom claims */
	bool all_have_ratio;
	double sum; /* of the claimed ratios */
	size_t n;
};

static bool claimant_shares(const struct claimant *claimant, bool real_cause)
{
	return claimant_counts(claimant) && !(real_cause && claims_symptom(claimant->record));
}

static struct claims claims_of(const struct claimant *claimants, size_t n)
{
	struct claims claims = {.all_have_ratio = true};
	for (size_t k = 0; k < n; k++)
		if (claimant_counts(&claimants[k]) && !claims_symptom(claimants[k].record))
			claims.real_cause = true;
	for (size_t k = 0; k < n; k++) {
		if (!claimant_shares(&claimants[k], claims.real_cause))
			continue;
		const double ratio = claimants[k].record->cost.claim_ratio;
		claims.n++;
		if (!(ratio > 0))
			claims.all_have_ratio = false;
		claims.sum += ratio;
	}
	return claims;
}

/* The part of its job's loss, 0 to 1, that belongs to @one. Where throughput did not fall there is
 * nothing to share. */
static double claims_share_of(const struct claims *claims, const struct claimant *one)
{
	/* 1. a symptom beside a real cause: nothing */
	if (claims->real_cause && claims_symptom(one->record))
		return 0;

	/* 2. no claim now: while it clears it keeps the share it had */
	if (!claims_now(one->record)) {
		const bool clearing = one->record->i.state == INCIDENT_CLEARING;
		if (clearing && !isnan(one->job->share_ratio))
			return one->job->share_ratio;
		return 0;
	}

	/* 3. split by the claimed ratios when every claimant has one, else equally */
	size_t others = claims->n;
	if (claimant_shares(one, claims->real_cause))
		others--;
	if (!one->job->fell || others == 0)
		return 1;
	if (claims->all_have_ratio)
		return one->record->cost.claim_ratio / claims->sum;
	return 1.0 / (double)(others + 1);
}

void claims_count(struct incident_record *const *records, size_t n, const struct fabric *fabric,
	const struct job_rate *rate)
{
	struct claimant *claimants = rw_calloc(n + 1, sizeof(*claimants));
	size_t n_claimants = 0;
	for (size_t k = 0; k < n; k++) {
		struct incident_record *r = records[k];
		if (r->folded[0] || !cause_has(r->i.cause, CAUSE_MAY_COST) ||
			!incident_record_concerns(r, fabric, rate->job))
			continue;
		struct cost_job *job = cost_measure(&r->cost, rate, r->i.first_ns);
		if (job)
			claimants[n_claimants++] = (struct claimant){r, job};
	}
	const struct claims claims = claims_of(claimants, n_claimants);
	for (size_t k = 0; k < n_claimants; k++) {
		const double share = claims_share_of(&claims, &claimants[k]);
		const bool stalled = claimants[k].record->i.severity == SEV_CRITICAL;
		cost_count(claimants[k].job, rate, share, stalled);
	}
	free(claimants);
}
