/* incident_view - how incidents are shown to people: the list, the card, the timeline. From their
 * JSON form alone. */
#ifndef RW_AGENT_INCIDENT_VIEW_H
#define RW_AGENT_INCIDENT_VIEW_H

#include <jansson.h>
#include <stdio.h>
#include "agent/document/writer.h"

extern const struct view incident_list_view; /* rows "incidents" */
extern const struct view incident_timeline_view; /* rows "timeline" */
extern const struct view incident_card_view; /* the document is one incident */

struct client;
struct err;
struct globals;
/*
 * incidents_load - those that overlap the time range (all that were ever opened, when none
 * was), or those whose id begins with @id, worst first, as they are stored. A new reference; NULL
 * with @e filled.
 */
json_t *incidents_load(
	struct client *client, const struct globals *globals, const char *id, struct err *e);

/* incident_public - a copy without what only the agent needs; a new reference. */
json_t *incident_public(const json_t *incident);

/* incidents_sort - worst first, in place: severity, then money per hour, then confidence, then the
 * older, then id. */
void incidents_sort(json_t *incidents);

#endif
