/*
 * ledger_inside - the ledger as its own files see it, lowest first: ledger_slots.c (how incidents
 * are found), ledger_change.c (what is told), ledger_fold.c (what is part of what), ledger.c (the
 * life of an incident) and ledger_action.c (what people do). Nobody else includes this.
 */
#pragma once

#include "agent/incident/incident_record.h"
#include "agent/incident/ledger.h"
#include "base/base.h"

struct explain;

struct ledger_slot {
	struct incident_record *record; /* under way, NULL when none is */
	struct incident_record *closed; /* the one before, while it may open again; NULL */
	/* end of the newest window that counted: after a restart windows are seen again */
	int64_t seen_ns;
};

struct ledger_analyzer {
	char *name;
	uint32_t n_active; /* incidents of it under way */
};

struct ledger {
	const struct fabric *fabric;
	ledger_fn *changed;
	void *arg;
	struct explain *explain; /* who explains whom, of those under way */
	struct smap *keys; /* subject -> index into slots */
	/* analyzer and device of all slots -> end of the newest window in which it judged there */
	struct smap *followed;
	struct ledger_slot *slots;
	size_t n_slots, cap_slots;
	size_t *active; /* indexes of slots with a record, ascending */
	size_t n_active, cap_active;
	struct ledger_analyzer *analyzers; /* those that ever had an incident */
	size_t n_analyzers, cap_analyzers;
	struct incident_record **opened; /* all that reached OPEN, in that order; owned */
	size_t n_opened, cap_opened;
	struct map *ids; /* ledger_id_key() -> its record among .opened */
	struct incident_record **changes; /* of .opened, those that were a change, in that order */
	size_t n_changes, cap_changes;
	const struct incident **sorted; /* cache of ledger_incidents() */
	size_t cap_sorted;
	int64_t known_ns; /* what opened by then was restored: ledger_known() */
};
/* ---- ledger_slots.c ------------------------------------------------------ */

/* ledger_subject - add the key of a subject to @key; NULL texts are fine. */
void ledger_subject(struct str *key, const char *analyzer, const char *device, const char *port,
	int priority, const char *host, const char *group);
/* ledger_subject_followed - how much of a subject's key is analyzer and device. */
size_t ledger_subject_followed(const char *key);
/* ledger_slot_of - NULL when the subject has none and @create is false. */
struct ledger_slot *ledger_slot_of(struct ledger *ledger, const struct str *key, bool create);
/* ledger_active - the @k-th incident under way. */
struct incident_record *ledger_active(const struct ledger *ledger, size_t k);
struct ledger_analyzer *ledger_analyzer_of(const struct ledger *ledger, const char *name);
/* ledger_active_place - where the slot @index stands among the active ones, or would. */
size_t ledger_active_place(const struct ledger *ledger, size_t index);
/* ledger_place - after each change of what it is found by: see explain_put(). */
void ledger_place(struct ledger *ledger, struct incident_record *record);
/* The only places where a record comes into a slot and leaves it. */
void ledger_slot_begin(
	struct ledger *ledger, struct ledger_slot *slot, struct incident_record *record);
void ledger_slot_end(struct ledger *ledger, struct ledger_slot *slot);
/* ledger_record - by id, in any case; NULL when there is none. */
struct incident_record *ledger_record(const struct ledger *ledger, const char *id);
/* ledger_add_change - it reached OPEN, or has another cause: is it one that later incidents should
 * name? */
void ledger_add_change(struct ledger *ledger, struct incident_record *record);
/* ledger_add_opened - it reached OPEN: the ledger owns it from now on. */
void ledger_add_opened(struct ledger *ledger, struct incident_record *record);

/* ---- ledger_change.c ----------------------------------------------------- */

void ledger_publish(
	struct ledger *ledger, struct incident_record *record, enum incident_state from);
/* ledger_headline - what the incident is about, in one line. */
const char *ledger_headline(const struct incident *incident);
/* ledger_change - the only place that changes .state. @note says why, for the timeline. */
void ledger_change(struct ledger *ledger, struct incident_record *record, enum incident_state to,
	int64_t t_ns, const char *note);

/* ---- ledger_fold.c ------------------------------------------------------- */

/* ledger_list_also - list @other under @by's "also"; true when it was not listed yet. */
bool ledger_list_also(struct incident_record *by, const struct incident_record *other);
/* ledger_goes_on - does another subject that this incident speaks for still show the same? */
bool ledger_goes_on(const struct ledger *ledger, const struct incident_record *record);
/* ledger_is_part - of one that is under way? What has ended takes the price of its parts no more.
 */
bool ledger_is_part(const struct ledger *ledger, const struct incident_record *record);
/* ledger_outgrow - it became worse: so is what it is part of, unless that does no harm. */
void ledger_outgrow(struct ledger *ledger, struct incident_record *record, int64_t t_ns);
/* ledger_stands_alone - may it open now? Not while an open incident explains it (that one lists
 * it), nor while a pending one may still do so. */
bool ledger_stands_alone(
	struct ledger *ledger, struct incident_record *record, const struct finding *finding);
/* ledger_adopt - give an open incident the one that explains it as its parent. True when it got
 * one. */
bool ledger_adopt(struct ledger *ledger, struct incident_record *record, int64_t t_ns);
/* ledger_part_again - its cause has changed: does what it is part of explain that as well? Else it
 * is part of nothing, until something adopts it. */
void ledger_part_again(struct ledger *ledger, struct incident_record *record, int64_t t_ns);
/* ledger_absorb - an incident opened, or has another cause: those that were open before and that it
 * explains are part of it from now on. */
void ledger_absorb(struct ledger *ledger, const struct incident_record *by, int64_t t_ns);
/* ledger_weigh_anew - what was a part of @ended shows so far what that has done: from now on it
 * counts for itself. */
void ledger_weigh_anew(struct ledger *ledger, const struct incident_record *ended);
/* ledger_release_parts - what @gone explained is no part of it: nobody knows whether it is still
 * there. */
void ledger_release_parts(struct ledger *ledger, const struct incident_record *gone, int64_t t_ns);
