/*
 * blame - findings against a host or port:
 * `{entity, host, ports: [{device, port, nic, rail}], jobs: [name], incidents: [incident],
 * victim_of: [incident with role], collectives: [text]}`; open ones before closed ones, each worst
 * first.
 */
#pragma once

#include <jansson.h>
#include "agent/document/writer.h"
#include "base/base.h"

struct client;

/* blame_document - of @name: a host ("node-047", "host:node-047:nic") or a port
 * ("leaf1:Ethernet4"). Over the time range if one was asked for, else of all times. 0 with a new
 * reference in *@ret; -ENOENT when the fabric has no such host or port, or another negative errno;
 * @e says why. */
int blame_document(struct client *client, const char *name, json_t **ret, struct err *e);

extern const struct view blame_view; /* how people read it */

/*
 * incident_timeline - what only one incident gets: what happened around it, oldest first, and the
 * commands to copy. The timeline:
 * `[{t, kind, text}]`. Beside its own life (kind "incident") it holds the events of its device,
 * port, job and of the whole fabric from an hour before the onset to its end: changed settings,
 * change tickets, alerts, silences, reloads and absences of the agent.
 */

struct incident_told;

/* incident_timeline - of a stored incident. 0 with a new reference in *@ret, or a negative errno
 * with @e filled. */
int incident_timeline(struct client *client, const json_t *incident, json_t **ret, struct err *e);

/* incident_changes - the change tickets of its hour before the onset, "TIME change by WHO: TEXT",
 * are added to @list. */
int incident_changes(struct client *client, const json_t *incident, json_t *list, struct err *e);

/* incident_ranks - "TIME TEXT" of ranks that others waited for during it, on hosts that have a part
 * in it; a new reference. 0 or negative errno with @e. */
int incident_ranks(struct client *client, const json_t *incident, json_t **ret, struct err *e);

/* incident_commands - what a person copies to look at an incident's NIC, switch and database:
 * `[{where, command, effect, risk}]`. Which ones is a column of the cause (db/model/cause.def); the
 * words are data of the vendors (config/profile/nic.def, `commands:` of the profiles). All of them
 * only read. */

/* incident_commands - of an incident; a new reference, [] when none is known. */
json_t *incident_commands(struct client *client, const struct incident_told *incident);
