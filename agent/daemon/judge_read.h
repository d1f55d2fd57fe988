/*
 * judge_read - what the judge reads in one go: how far each share has data, and the samples and
 * flows up to where the slowest one has. It touches nothing of the loop, so it runs in any thread.
 */
#ifndef RW_AGENT_JUDGE_READ_H
#define RW_AGENT_JUDGE_READ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "agent/base/clock.h"
#include "agent/base/err.h"
#include "db/model/flow.h"
#include "db/model/sample.h"

struct history;

/* One agent of the fabric, as far as its data shows. */
struct judge_share {
	const char *name;
	int64_t newest_ns; /* of its pulse; INT64_MIN: none */
	mono_t moved; /* when it last had something new; 0: before the judge began */
	bool late; /* not waited for */
	int64_t late_since_ns; /* its data stopped there */
};

struct judge_samples {
	struct sample *v; /* by the numbers of the history */
	size_t n, cap;
	struct flow_sample *flows;
	size_t n_flows, cap_flows;
};

/* An order to the reader, and its answer. */
struct judge_read {
	struct history *history; /* opened by the first read, kept */
	char *from; /* judge.from */
	struct judge_share *shares;
	size_t n_shares;
	int64_t wait_ns, settle_ns, begin_ns;
	mono_t now;

	int64_t until_ns; /* judged up to there; INT64_MIN: the reader chooses */
	int64_t span_ns; /* to read at once */
	/* wanted once after a start: what comes before .until_ns, from these times on */
	bool prime;
	int64_t past_from_ns, prime_from_ns; /* counted back from .until_ns */
	const uint16_t *past_metrics, *metrics;
	size_t n_past_metrics, n_metrics;

	int rc;
	struct err e;
	int64_t first_ns; /* of all data */
	int64_t begun_ns; /* where .samples begin: .until_ns as it was, or as it was chosen */
	int64_t horizon_ns; /* the slowest share that is waited for, less .settle_ns */
	struct judge_samples past, before, samples; /* the first two with .prime */
};

/* judge_read - fills the second half of @read. .rc: 0; -EAGAIN: nothing new; another negative
 * errno: it could not be read, .e says why. */
void judge_read(struct judge_read *read);
void judge_read_done(struct judge_read *read);

/* judge_horizon - how far @shares let one judge at @now, and who of them is late from now on.
 * INT64_MIN: not at all. */
int64_t judge_horizon(struct judge_share *shares, size_t n, int64_t wait_ns, mono_t now);

#endif
