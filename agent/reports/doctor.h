/*
 * doctor - how the collection itself is doing, as one document: every target, data quality,
 * captures, store and process, and what is to be done. From the database, what the agent says of
 * itself (agent/daemon/health.h), the configuration and the file system.
 */
#ifndef RW_AGENT_DOCTOR_H
#define RW_AGENT_DOCTOR_H

#include <jansson.h>
#include "agent/client/client.h"

/*
 * doctor_document - {fabric, time, agent_running, targets: [...], coverage: [{device, delivers,
 * sees: [causes], weak, blind: [{cause, reported_by, missing: [{what, metrics, asked}]}]}],
 * data_quality, captures: [...], store, process, traps, agent, todo: [{severity, subject, what,
 * do}]}; todo is empty when nothing is wrong, worst first else. coverage says by which absent
 * counters a device is blind for a cause, or shows it less surely; asked: does the device's profile
 * ask for it, null: not known; of a device that delivered nothing lately (delivers: false) it says
 * nothing. As of client->at_ns: for a past time only the devices are known, and todo is empty.
 * Unknown is null, never 0. NULL on failure with @e filled; the caller owns the result.
 */
json_t *doctor_document(struct client *client, struct err *e);

#endif
