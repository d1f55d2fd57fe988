/*
 * incident_read - incidents as the database holds them, for documents. One thread at a time.
 */
#ifndef RW_REPORTS_INCIDENT_READ_H
#define RW_REPORTS_INCIDENT_READ_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct client;
struct config;
struct err;

/*
 * incidents_load - those whose id begins with @id; with @id NULL those that overlap the time range
 * (all that were ever opened, when nobody named a range). Worst first, as they are stored. A new
 * reference; NULL with @e filled.
 */
json_t *incidents_load(struct client *client, const char *id, struct err *e);

/* incidents_mark_silenced - gives each document of an incident the key "silenced": null, or by
 * whom, until when and why its alerts are kept back now, or at the end of the time range.
 * incidents_load() does so by itself. 0 or negative errno with @e. */
int incidents_mark_silenced(struct client *client, json_t *incidents, struct err *e);

/* incident_id_is_plain - could @id be an incident's id, or its beginning? Only such a text may go
 * into a query. */
bool incident_id_is_plain(const char *id);

/* incident_find - the one incident whose id begins with @id, as it is stored: a new reference in
 * *@ret. -EINVAL: @id is no id; -ENOENT: none or several begin so; another negative errno; @e
 * says why. */
int incident_find(struct client *client, const char *id, json_t **ret, struct err *e);

/* incident_headline_of - the headline of a stored document; its cause where the document is damaged
 * and has none. Of the document. */
const char *incident_headline_of(const json_t *incident);

/* incident_public - a copy without what only the agent needs, with "where": the place in one word,
 * "headline", and "runbook": its address, or the command that prints it (incident.h), by the
 * keys of @config, which may be NULL; a new reference. */
json_t *incident_public(const struct config *config, const json_t *incident);

/* incident_is_open - of a document: open or clearing. */
bool incident_is_open(const json_t *incident);
/* incident_age - how many seconds it has been open at @now_ns; of a closed one, how long it was. A
 * new reference, null when that is not known. */
json_t *incident_age(const json_t *incident, int64_t now_ns);

/* incidents_sort - worst first, in place: severity, then money per hour times confidence, then
 * confidence, then the older, then id. */
void incidents_sort(json_t *incidents);

#endif
