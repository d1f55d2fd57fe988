/*
 * incident - the inside of the ledger's incidents: the story around struct incident, and its JSON
 * form in both directions. For ledger.c and incident.c only.
 */
#ifndef RW_AGENT_INCIDENT_H
#define RW_AGENT_INCIDENT_H

#include "agent/incident/cost.h"
#include "agent/incident/ledger.h"

struct story {
	struct incident i;
	uint32_t hold; /* of the newest OVER finding, >= 1 */
	double strength; /* of the window the description comes from: value / warn */
	enum cause candidate; /* another cause that was given lately, CAUSE_NONE */
	uint32_t candidate_windows; /* in a row */
	bool described; /* .json has a description */
	uint64_t recent; /* the latest judged windows, newest in bit 0: 1 = OVER */
	/* windows it could have opened but for a story that may explain it */
	uint32_t waited;
	struct cost cost; /* what it costs so far */
	char folded[9]; /* id of the open story that already tells of this one; "" none */
};

struct story *story_new(const struct finding *finding);
void story_free(struct story *story); /* NULL is fine */

/* story_describe - take what the finding says: summary, evidence, flows, confidence ... into the
 * story and its JSON. */
void story_describe(struct story *story, const struct finding *finding);
/* story_impact - which jobs and how many GPUs wait because of the subject; into the JSON,
 * .gpus_affected set. */
void story_impact(struct story *story, const struct fabric *fabric);
/* story_concerns - does the job wait because of the subject? @job NULL: none is configured. */
bool story_concerns(const struct story *story, const struct fabric *fabric, const char *job);
/* story_price - money and explained share from what was measured; into the JSON as well ("loss").
 */
void story_price(struct story *story, const struct fabric *fabric);
/* story_refresh - bring the changing fields of the JSON up to date. */
void story_refresh(struct story *story);
/* story_note - one line in the timeline; bounded: the first lines and the newest are kept. */
void story_note(struct story *story, int64_t t_ns, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* story_also - list @other, which this one explains, in the JSON ("also"), once per cause and
 * subject. True when it was new. */
bool story_also(struct story *story, const struct story *other);
/* story_name - the id, from fabric, cause, subject and the window that opened it. */
void story_name(struct story *story, const struct fabric *fabric);
/* story_parse - the other way; NULL when @json is not an incident of ours. */
struct story *story_parse(const char *json);
/* story_set - replace an owned string. */
void story_set(const char **field, const char *value);

#endif
