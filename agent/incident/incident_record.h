/*
 * incident_record - an incident as the ledger keeps it: struct incident, the state of its machine,
 * and the memory of both. For the ledger and the codec (incident_json) only.
 */
#pragma once

#include "base/base.h"

#include "agent/incident/cost.h"
#include "agent/incident/incident.h"
#include "config/fabric.h"

/* Where an incident is found by others (agent/incident/explain.h). */
struct incident_place {
	unsigned near; /* enum cause_near */
	uint64_t hash;
};

struct incident_places {
	struct incident_place *v;
	size_t n, cap;
};

/* What agent/incident/explain.c knows it by while it is under way. */
struct incident_mark {
	size_t order; /* set by the ledger: that of its subjects */
	bool put, pending, orphan;
	enum cause cause;
	int64_t first_ns;
	struct incident_places explains, explained;
};

struct incident_record {
	struct incident i; /* first member: see incident_record_of() */
	uint32_t hold; /* of the newest OVER finding, >= 1 */
	double strength; /* of the window the description comes from: value / warn */
	double latest; /* strength of the newest OVER window, */
	enum cause latest_cause; /* and what it said */
	bool falls; /* the fault may have ended in that window */
	enum cause candidate; /* another cause that was given lately, CAUSE_NONE */
	double candidate_windows; /* in a row, whole ones */
	bool described; /* .i says something */
	struct weight weight; /* of the latest OVER windows, while it is pending */
	double quiet; /* UNDER windows in a row, whole ones */
	/* whole windows in which it could have opened, but was held back because of another
	 * incident that may explain it */
	double waited;
	double owes; /* whole windows that it must still last, since what explained it ended */
	struct cost cost; /* what it costs so far */
	bool yielded; /* its part of a loss went to others, which is not told yet */
	bool lists; /* another is, or was, folded into this one */
	char folded[9]; /* id of the open incident that lists this one under "also"; "" none */
	bool part; /* of one that is under way; set before claims are counted */

	/* end of the newest window in which its analyzer spoke of the subject, whatever it said;
	 * and how many whole windows since then it spoke of others on the device only */
	int64_t spoken_ns;
	double unheard;
	/* since when its counters come, and nothing of its device was spoken of; 0: not so */
	int64_t alone_ns;
	bool gone; /* closed because nobody judges its subject any more */
	struct incident_mark place;

	struct arena *said; /* what .i says; replaced with each description */
	struct arena *impact; /* .i.jobs and .i.losses; replaced with each raised window */
	struct arena *kept; /* .i.changed_before and .i.also */
	size_t cap_timeline, cap_changed_before, cap_also;
};

/* Every incident that the ledger lends lies in a record. */
static inline const struct incident_record *incident_record_of(const struct incident *incident)
{
	return (const struct incident_record *)incident;
}

/* Was it OVER in one of the latest judged windows? */
static inline bool incident_record_recent(const struct incident_record *record)
{
	return weight_sum(&record->weight) > 0;
}

struct incident_record *incident_record_blank(void); /* nothing known yet; all numbers NAN */
struct incident_record *incident_record_new(const struct finding *finding);
void incident_record_free(struct incident_record *record); /* NULL is fine */

/* incident_record_set - replace an owned text of struct incident. @value is copied; NULL is fine.
 */
void incident_record_set(const char **field, const char *value);
/* incident_record_describe - from now on the incident says what @finding says. */
void incident_record_describe(struct incident_record *record, const struct finding *finding);
/* incident_record_impact - which jobs and how many GPUs wait because of the subject, the money that
 * costs, and the share of the jobs' loss that it explains. */
void incident_record_impact(struct incident_record *record, const struct fabric *fabric);
/* incident_record_loss - share of wall time that a job loses by it, as it is measured, less the
 * error; the largest of its jobs. 0: none. */
double incident_record_loss(const struct incident_record *record);
/* incident_record_note - add a line to the timeline. The first lines and the newest are kept. */
void incident_record_note(struct incident_record *record, int64_t t_ns, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* incident_record_line - the same for a text of any length, without publishing it as .i.note. */
void incident_record_line(struct incident_record *record, int64_t t_ns, const char *text);
/* incident_record_also - list @other, which this one explains, under .i.also, once per cause and
 * subject. True when it was new. */
bool incident_record_also(struct incident_record *record, const struct incident_also *other);
/* incident_record_spread - where .i.also lists the same cause on other devices, the summary begins
 * with how many there are: "8 switches: leaf1 ...". After each change of either. */
void incident_record_spread(struct incident_record *record);
/* incident_record_changed - add a sentence to .i.changed_before. */
void incident_record_changed(struct incident_record *record, const char *text);
/* incident_record_name - set .i.id: a hash of fabric, cause, subject and the window that opened it.
 */
void incident_record_name(struct incident_record *record, const struct fabric *fabric);

/*
 * claims - several incidents may slow the same job at the same time: each claims a part of its
 * loss, and the loss is shared among them (agent/incident/cost.h), so that it is never counted
 * twice. An incident that is part of another one claims nothing while that is under way; a symptom
 * claims nothing beside an incident with a real cause.
 */

/* claims_count - what @rate's job lost, counted for each of @records, all incidents under way, by
 * its share. When all jobs are counted the caller moves .cost.to_ns on, as for cost_count(). */
void claims_count(struct incident_record *const *records, size_t n, const struct fabric *fabric,
	const struct job_rate *rate);
/* claims_limit - where no throughput is known: of each job there is one to lose, less what is
 * measured. The incidents that are open and have a real cause are given what they claim, in equal
 * proportion where it is too little; then symptoms and those that are pending. Those whose part is
 * another than before are put into @ret, which has room for @n; returns how many. */
size_t claims_limit(struct incident_record *const *records, size_t n, const struct fabric *fabric,
	struct incident_record **ret);
