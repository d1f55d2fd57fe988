/*
 * counters_document - what the counters of each port and priority grew by in the time range: drops,
 * errors, flaps, ECN marks. One document for checks and surfaces.
 */
#ifndef RW_REPORTS_COUNTERS_DOCUMENT_H
#define RW_REPORTS_COUNTERS_DOCUMENT_H

#include <jansson.h>

struct client;
struct err;

struct counters_ask {
	const char *device, *port, *job; /* globs, NULL = all; of a job: the ports of its hosts */
	int priority; /* PRIO_NONE: all, and the ports themselves */
};

/*
 * counters_document - {from, to, seconds, rows: [{device, port, priority, lossless, peer, host,
 * job, drops, errors, flaps, marked, packets, octets}]}, in order of the fabric's names. A counter
 * that was not read, or that has no two samples in the range, is null, never 0. drops: frames that
 * buffers and queues dropped. errors: damaged frames received and frames not sent. 0 with a new
 * reference; -EINVAL when no port matches; another negative errno; @e says why.
 */
int counters_document(
	struct client *client, const struct counters_ask *ask, json_t **ret, struct err *e);

#endif
