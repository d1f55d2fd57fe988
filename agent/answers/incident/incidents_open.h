/*
 * incidents_open - the incidents that are open at the time a state is asked for: now, or at a past
 * time from what is stored of their lives.
 */
#ifndef RW_REPORTS_INCIDENTS_OPEN_H
#define RW_REPORTS_INCIDENTS_OPEN_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct client;
struct err;

/*
 * incidents_open - rows {id, cause, severity, state, opened, device, port, group, host, summary,
 * acked_by, usd_per_hour, usd_total, confidence_ratio, document} of what is open at @client->at_ns,
 * worst first: severity, then money times confidence, then confidence. "document" is the stored
 * incident (an object;
 * {} where it cannot be read). For the past, state, severity, acked_by and the document are as
 * incident_as_of() says; its money is what the stored row says today. A new reference, or NULL with
 * @e.
 */
json_t *incidents_open(struct client *client, struct err *e);

/*
 * incident_as_of - changes the stored document of an incident to what it said at @at_ns, by its
 * timeline: state, severity, acked_by, assigned_to; later lines and the closing are cut off. What
 * the timeline does not say becomes null. False when it was not open then. Pure.
 */
bool incident_as_of(json_t *document, int64_t at_ns);

#endif
