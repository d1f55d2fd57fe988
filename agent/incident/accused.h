/*
 * accused - whom the incidents of a time range hold responsible: one answer for the pause tree and
 * for whoever else names a culprit, so that no two surfaces accuse different parties.
 */
#ifndef RW_INCIDENT_ACCUSED_H
#define RW_INCIDENT_ACCUSED_H

#include <stddef.h>
#include <stdint.h>

#include "agent/base/err.h"
#include "agent/incident/incident.h"

struct arena;
struct history;

struct accused { /* texts in the arena */
	char id[9]; /* of the incident */
	enum cause cause;
	/* the host, or the port; a port of a group is its hot member. NULL where there is none */
	const char *host, *device, *port;
	int priority; /* PRIO_NONE: none in particular */
	double confidence_ratio; /* NAN unknown */
	const char *headline;
};

/* accused_read - of the incidents that overlap [@from_ns, @to_ns], those about @id first (NULL:
 * none is preferred), then the worst first; info is left out unless it is @id. 0, or a negative
 * errno with @e filled. Main thread. */
int accused_read(struct history *history, int64_t from_ns, int64_t to_ns, const char *id,
	struct arena *a, struct accused **ret, size_t *ret_n, struct err *e);

#endif
