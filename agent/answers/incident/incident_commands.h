/*
 * incident_commands - what a person copies to look at an incident's NIC, switch and database:
 * `[{where, command, effect, risk}]`. Which ones is a column of the cause (db/model/cause.def); the
 * words are data of the vendors (config/profile/nic.def, `commands:` of the profiles). All of them
 * only read.
 */
#ifndef RW_REPORTS_INCIDENT_COMMANDS_H
#define RW_REPORTS_INCIDENT_COMMANDS_H

#include <jansson.h>

struct client;
struct incident_told;

/* incident_commands - of an incident; a new reference, [] when none is known. */
json_t *incident_commands(struct client *client, const struct incident_told *incident);

#endif
