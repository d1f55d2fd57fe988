/*
 * incident_headline - an incident in one line for lists, walls and pagers: at most 60 columns, the
 * subject first: "node-010 pauses leaf2:Ethernet2 100 % of the time". It is the template of the
 * cause's row (db/model/cause.def), filled with the incident's own values:
 *
 *      {device} {host} {group}   of the subject; for several devices {device} is "8 switches"
 *      {port} {member}           as "leaf1:Ethernet49"
 *      {place}                   the port, else the device, else the group, else "the fabric"
 *      {job}                     of a group "job:NAME"
 *      {rx_pause} {tx_pause}     share of the time, "at most" where only frames were counted
 *      {fair_share}              1 + imbalance of the ECMP group
 *      {summary}                 the first part of the finding's own sentence
 *      {METRIC}                  the first evidence of that name, with its unit
 *
 *      [...]   is left out when a value in it is not known, or when the line would be too long
 *      a|b     b is taken where a value that a needs is not known
 *
 * Pure; any thread.
 */
#ifndef RW_INCIDENT_INCIDENT_HEADLINE_H
#define RW_INCIDENT_INCIDENT_HEADLINE_H

#include "agent/incident/incident.h"

enum { INCIDENT_HEADLINE_MAX = 60 }; /* columns */

/* incident_headline - of an incident. Never NULL; the caller frees it. Its document has the same
 * text as "headline". */
char *incident_headline(const struct incident *incident);

#endif
