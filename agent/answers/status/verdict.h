/*
 * verdict - is the fabric well? One state and one sentence, the same on every face: `status`, the
 * wall, the web page, `check fabric`, `report handover` and /metrics print them.
 *
 * Detectors compare what is measured with their limits, and what lasts opens an incident. So the
 * state is that of the worst open incident, and never better than what is known of the devices. No
 * face compares a limit again to call the fabric better or worse: it shows what it measured, and
 * says when no incident is about it.
 *
 * A silence says that somebody knows, and wants to hear of anything else: a silenced incident gives
 * no state to any face, and each says that it is there.
 */
#pragma once

#include "base/base.h"
#include "agent/document/shape.h"
#include "db/model/golden.h"

struct agent_state;
struct open_incident;
struct status_quality;
struct store_alarm;

/* An incident that another open one explains is counted with its parent. NAN where no incident has
 * a price. */
struct verdict_money {
	double usd_per_hour, usd_total;
};

struct verdict_in {
	const struct open_incident *incidents; /* in any order; those that are silenced, too */
	size_t n_incidents;
	const struct status_quality *quality;
	const struct agent_state *agent;
	const struct store_alarm *alarms;
	size_t n_alarms;
	int64_t window_ns; /* of the fastest detectors; 0: the data is in other databases */
	bool judged_elsewhere; /* incidents are in another database */
	bool nothing_to_judge; /* no device delivers a counter that a detector reads */
	const char *down_why, *unknown_why; /* why no incident is about the first of them; NULL */
};

struct verdict {
	enum golden_state state; /* never GOLDEN_IDLE */
	const char *why; /* the sentence */
	struct verdict_money money;
};

/* verdict_of - @ret->why lies in @a. */
void verdict_of(const struct verdict_in *in, struct arena *a, struct verdict *ret);

/* verdict_incident_state - the state that an open incident gives to whatever shows it: an
 * information is in order, and what is silenced gives none. verdict_severity_state - the same,
 * silenced or not. */
enum golden_state verdict_incident_state(const struct open_incident *incident);
enum golden_state verdict_severity_state(const struct open_incident *incident);

/* verdict_line - "CRITICAL - the sentence". */
void verdict_line(struct str *out, enum golden_state state, const char *why);

/*
 * open_incident - an open incident in short: what the database says of it, and what its stored
 * document adds.
 */

struct client;

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
