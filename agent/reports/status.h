/* status - the state of the fabric as one document for `status`, made from the database
 * and the configuration. */
#ifndef RW_AGENT_STATUS_H
#define RW_AGENT_STATUS_H

#include <jansson.h>
#include "agent/client/client.h"

/*
 * status_document - {fabric, time, agent, devices: [{name, up, reason, age_s, protocol, ...}],
 * open_incidents, incidents: [...], data_quality}. As of client->at_ns: for a past time ages are
 * counted from then, incidents are those open then, and fields without history are null.
 * "agent" is the object of agent_state.h.
 *
 * up is true, false, or null where it is not known: the target is silent for more than three
 * intervals (of one that is polled: at least 10 s), or nobody polls it. A device that is polled by
 * two protocols has two rows. Captures have rows of their own, behind the devices: protocol "pcap",
 * the capture's name, and in "device" and "port" what it stands for. "status" says the same as a
 * word. In data_quality up, down and unknown count devices, by the best of their rows; captures_up,
 * captures_down and captures_unknown the captures. NULL on failure with @e filled; the caller owns
 * the result.
 */
json_t *status_document(struct client *client, struct err *e);

#endif
