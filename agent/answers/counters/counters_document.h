/*
 * counters_document - what the counters of each port and priority grew by in the time range: drops,
 * errors, flaps, ECN marks. One document for checks and surfaces.
 */
#pragma once

#include "agent/document/shape.h"

struct client;
struct fabric_port;

struct counters_ask {
	const char *device, *port, *job; /* globs, NULL = all; of a job: the ports of its hosts */
	int priority; /* PRIO_NONE: all, and the ports themselves */
	bool lossless; /* of all priorities only the lossless ones, which are few to read */
};

enum counters_field {
	COUNTERS_DROPS,
	COUNTERS_ERRORS,
	COUNTERS_FLAPS,
	COUNTERS_MARKED,
	COUNTERS_PACKETS,
	COUNTERS_OCTETS,
	COUNTERS_FIELDS
};

struct counters_row {
	const char *device, *port; /* borrowed from the client's history */
	const char *host, *job; /* at the other end; NULL */
	const char *peer; /* the same as a document says it; not set by counters_read() */
	const struct fabric_port *at; /* of the configuration; NULL */
	int priority; /* PRIO_NONE: the port itself */
	enum maybe lossless;
	double grew[COUNTERS_FIELDS]; /* NAN unknown */
};
struct counters_answer {
	struct counters_row *rows; /* in order of the fabric's names */
	size_t n_rows;
	wall_t from, to;
	double seconds; /* of the time range */
};
extern const struct shape counters_answer_shape;

/*
 * counters_read - the rows, in @a. counters_document - {from, to, seconds, rows: [{device, port,
 * priority, lossless, peer, host, job, drops, errors, flaps, marked, packets, octets}]}. A counter
 * that was not read, or that has no two samples in the range, is null, never 0. drops: frames that
 * buffers and queues dropped. errors: damaged frames received and frames not sent. 0 (with a new
 * reference); -EINVAL when no port matches; another negative errno; @e says why.
 */
int counters_read(struct client *client, const struct counters_ask *ask, struct arena *a,
	struct counters_answer *ret, struct err *e);
int counters_document(
	struct client *client, const struct counters_ask *ask, json_t **ret, struct err *e);
