/*
 * resume - samples of a database through the pipeline again: after a restart of the agent, and in a
 * replay. Entities and texts are translated by name, since the database and the running program may
 * number them differently.
 */
#pragma once

#include "base/base.h"

#include "agent/incident/ledger.h"
#include "agent/judge/pipeline.h"
#include "db/model/entity.h"
#include "db/model/metric.h"
#include "db/series/history.h"

struct resume_range {
	int64_t from_ns, to_ns; /* samples in [from, to], flow intervals that end in it */
	const uint16_t *metrics; /* NULL with n_metrics 0 = all */
	size_t n_metrics;
};

struct resume_seen {
	uint64_t samples;
	int64_t first_ns, last_ns; /* valid when .samples > 0 */
};

/* resume_feed - all of @range through pipeline_feed(), in chunks. @ret (may be NULL) says what
 * there was. 0 or negative errno, @e filled. */
int resume_feed(struct history *history, struct entities *entities, struct pipeline *pipeline,
	const struct resume_range *range, struct resume_seen *ret, struct err *e);

/*
 * resume_agent - at the agent's start: open incidents continue, and the last windows are analysed
 * again, so that counters have their last value, windows under way their samples, and pending
 * incidents their windows. What is ahead of @now_ns, the wall clock, is left out. An empty
 * database is fine. 0 or negative errno with @e filled; then the
 * agent starts without a past.
 */
int resume_agent(const char *path, struct entities *entities, const struct config *config,
	struct pipeline *pipeline, struct ledger *ledger, int64_t now_ns, struct err *e);

/* resume_lead - states are polled slowly: how far back each has a value, ns. */
int64_t resume_lead(const struct config *config);
/* resume_judged - incidents that were open at @until_ns, or closed shortly before, continue in
 * @ledger. *@ret_incidents: how many. 0 or negative errno with @e filled. */
int resume_judged(struct history *history, const struct pipeline *pipeline, struct ledger *ledger,
	int64_t until_ns, size_t *ret_incidents, struct err *e);

/* resume_findings - those of windows that ended after @after_ns are in the store already, and are
 * not stored again. 0 or negative errno with @e filled. */
int resume_findings(
	struct history *history, struct pipeline *pipeline, int64_t after_ns, struct err *e);

/*
 * resume_incidents - the same for open incidents alone, when the database could be read only later:
 * those that the agent does not know continue. One whose subject has an incident by now is closed
 * in @store, with a note. 0 or negative errno with @e filled.
 */
int resume_incidents(struct history *history, struct ledger *ledger, struct store *store,
	int64_t now_ns, struct err *e);

/*
 * names_ours - samples of a history in the numbers of this program: the database and the running
 * program may number entities and texts differently, so both are translated by name.
 */

struct names_ours { /* zeroed, with .theirs and .ours set, to start */
	const struct entities *theirs;
	struct entities *ours;
	uint32_t *known; /* their entity id -> ours; ENTITY_NONE = not looked up yet */
	size_t n_known;
};

void names_ours_done(struct names_ours *names);
/* names_ours_entity - ENTITY_NONE when they do not know it, or no more names are taken. */
uint32_t names_ours_entity(struct names_ours *names, uint32_t id);
/* names_ours_sample - @sample, as it came from them, in our numbers. */
void names_ours_sample(struct names_ours *names, struct sample *sample);
