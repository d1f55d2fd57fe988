/*
 * silence - a time in which incidents that fit are not sent: maintenance of a switch, a
 * known fault, a job that may fail. Incidents are found, counted and shown all the same; they say
 * by whom and until when they are silenced.
 *
 * A silence fits an incident when each of its globs does (NULL: any). An incident that names no
 * device fits no glob for a device.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"

#include "agent/incident/incident.h"
#include "db/store/store.h"

struct history;
struct store;

struct silence {
	char id[9];
	const char *device, *port, *host, *job, *cause; /* globs; NULL: any */
	const char *who, *why;
	const char *ended_by; /* who ended it before its time; NULL: nobody did */
	int64_t created_ns, from_ns, until_ns; /* [from, until) */
};

/* All that are known, oldest first. Zeroed is empty; silences_done() frees the texts. */
struct silences {
	struct arena *arena;
	struct silence *v;
	size_t n, cap;
};
void silences_done(struct silences *silences);

/* silences_put - adds a copy of @silence, or replaces the one of its id. */
void silences_put(struct silences *silences, const struct silence *silence);

/* silences_load - those in the database, added to @silences; none in a database that knows no
 * silences. 0 or negative errno with @e filled. */
int silences_load(struct history *history, struct silences *silences, struct err *e);

/* silences_find - by id, upper or lower case; NULL when there is none. Lent until the next put. */
const struct silence *silences_find(const struct silences *silences, const char *id);

/* silence_is_active - at @t_ns. */
bool silence_is_active(const struct silence *silence, int64_t t_ns);

/* silence_match - the silence that fits the incident at @t_ns, the one that lasts longest when
 * several do; NULL: nothing silences it. Lent until the next put. */
const struct silence *silence_match(
	const struct silences *silences, const struct incident *incident, int64_t t_ns);
/* silence_match_json - the same for the document of an incident (incident_json). */
const struct silence *silence_match_json(
	const struct silences *silences, const json_t *incident, int64_t t_ns);

/* silence_json - {id, state: "active|scheduled|expired", device, port, host, job, cause, from,
 * until, by, why, ended_by, created}. The caller owns it. */
json_t *silence_json(const struct silence *silence, int64_t now_ns);

/* silence_text - "by ann until 2026-11-22T14:00:00Z: fans of leaf3", for a line on a screen. */
void silence_text(struct str *out, const struct silence *silence);

/*
 * silence_read - a silence from a request of a command: {device, port, host, job, cause, from_ns,
 * until_ns, why}; the texts live with @request. @who made it, at @now_ns; the id is a hash of all
 * of it. 0, or -EINVAL with @e: no glob, no reason, or an end that is not in the future.
 */
int silence_read(
	const json_t *request, const char *who, int64_t now_ns, struct silence *ret, struct err *e);

/* silence_end - @who ends a silence before its time, in @silences and as *@ret, whose texts are
 * lent until the next put. -ENOENT with @e: there is no such silence, or it has ended already. */
int silence_end(struct silences *silences, const char *id, const char *who, int64_t now_ns,
	struct silence *ret, struct err *e);

/* silence_store - into the store, with the event @kind that says who did what. */
void silence_store(
	struct store *store, const struct silence *silence, const char *kind, int64_t now_ns);

/*
 * change - what a person says happened: a change ticket, a recabled rack, a new firmware. It stands
 * in every timeline beside the incidents, as an event of kind "change". What ranks of a job say
 * (agent/ranks) is kept the same way: EVENT_RANK with the device "host:NAME", of a rank that others
 * waited for; EVENT_STEP with the job, whose text is EVENT_STEP_TEXT.
 */

#define EVENT_RANK "rank"
#define EVENT_STEP "step"
/* seconds of a step, of its exchange, and of waiting in it; for printf and sscanf */
#define EVENT_STEP_TEXT "step %lf s, exchange %lf s, waiting %lf s"

/*
 * change_read - an event from a request of a command: {kind, text, device, port, job, ticket,
 * t_ns}; the texts live in @a or with @request. @who says so, at @now_ns; without t_ns it happened
 * now, without kind it is a "change".
 * 0, or -EINVAL with @e: no text, or a time in the future.
 */
int change_read(const json_t *request, const char *who, int64_t now_ns, struct arena *a,
	struct store_change *ret, struct err *e);
