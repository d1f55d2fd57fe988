/*
 * incident_json - the one codec of incidents: struct to document and back. The store keeps this
 * text, the agent's socket sends it, the views read it. All fields but "progress" are a contract
 * with other programs; "progress" holds what the ledger needs to go on after a restart.
 */
#ifndef RW_INCIDENT_INCIDENT_JSON_H
#define RW_INCIDENT_INCIDENT_JSON_H

#include <jansson.h>
#include "agent/incident/incident.h"

struct incident_record;

/* incident_json - the document of an incident that a ledger lent. The caller owns it. */
json_t *incident_json(const struct incident *incident);
/* incident_json_text - the same as compact text; free(). */
char *incident_json_text(const struct incident *incident);
/* incident_json_parse - a record from that text, or NULL when it is not an incident that was open
 * or is closed. The caller owns it. */
struct incident_record *incident_json_parse(const char *text);
/* incident_json_read - the same from a document; it may be freed afterwards. */
struct incident_record *incident_json_read(const json_t *document);

#endif
