/*
 * blame - findings against a host or port:
 * `{entity, host, ports: [{device, port, nic, rail}], jobs: [name], incidents: [incident],
 * victim_of: [incident with role]}`; open ones before closed ones, each worst first.
 */
#ifndef RW_REPORTS_BLAME_H
#define RW_REPORTS_BLAME_H

#include "agent/document/writer.h"

struct client;
struct err;

/* blame_document - of @name: a host ("node-047", "host:node-047:nic") or a port
 * ("leaf1:Ethernet4"). Over the time range if one was asked for, else of all times. 0 with a new
 * reference in *@ret; -ENOENT when the fabric has no such host or port, or another negative errno;
 * @e says why. */
int blame_document(struct client *client, const char *name, json_t **ret, struct err *e);

extern const struct view blame_view; /* how people read it */

#endif
