/*
 * open_incident - an open incident in short: what the database says of it, and what its stored
 * document adds.
 */
#ifndef RW_ANSWERS_OPEN_INCIDENT_H
#define RW_ANSWERS_OPEN_INCIDENT_H

#include "agent/document/shape.h"

struct arena;
struct client;
struct err;

struct open_incident {
	const char *id, *cause, *severity, *state, *opened; /* opened: RFC 3339 */
	const char *device, *port, *group, *host, *summary, *acked_by;
	double usd_per_hour, usd_total, confidence_ratio;
	/* on the wall */
	double age_s;
	const char *headline;
	uint64_t priority;
	const char *job;
	const char *onset; /* RFC 3339; when it was seen first */
	const char *assigned_to, *parent;
	const char *silenced; /* who keeps its alerts back, until when and why */
};
/* Without the members of the wall. */
extern const struct shape open_incident_shape;
extern const struct shape open_incident_wall_shape;

/* open_incidents_read - what is open at @client->at_ns, worst first. Rows lie in @a. 0, or negative
 * errno with @e. */
int open_incidents_read(struct client *client, struct arena *a, struct open_incident **ret,
	size_t *ret_n, struct err *e);

/* incident_is_critical - by its severity. */
bool incident_is_critical(const struct open_incident *incident);

#endif
