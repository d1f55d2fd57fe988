/*
 * agent_state - who writes the database and how old its data is: the object "agent" of the
 * documents about the present (status, watch, doctor), and the same in words.
 */
#ifndef RW_REPORTS_AGENT_STATE_H
#define RW_REPORTS_AGENT_STATE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

struct client;
struct err;
struct str;

struct agent_state {
	const char *state; /* "running", "stopped", "cannot_tell" or "replay" */
	/* Told by the data: cannot_tell, but it is so new that an agent seems to run; any state of
	 * the past. */
	bool inferred;
	bool has_data;
	int64_t data_ns; /* newest sample up to the time the state is asked for */
	int64_t age_ns; /* of that sample */
	/* The data says nothing about the time the state is asked for: there is none, or it is
	 * older than three intervals. Never in the present of a replay. */
	bool stale;
};

/* agent_state_read - 0, or negative errno with @e. */
int agent_state_read(struct client *client, struct agent_state *ret, struct err *e);

/*
 * agent_state_json - {state, pid, inferred, data_time, data_age_s, stale, store, config_error,
 * reload_refused}; the caller owns it; NULL with @e on failure.
 *
 * store: {state, since, for_s, reason, pending_samples, dropped_samples}, or null where it is not
 * known. "waiting": the agent polls, but nothing has reached the database since then; "writing": it
 * does.
 * config_error: the first mistake of the configuration file that is not used because of it, or
 * null. reload_refused: {t, text} of the newest reload that the agent refused, when neither a
 * reload nor a start came after it; else null.
 */
json_t *agent_state_json(struct client *client, struct err *e);

/* agent_running_json - "agent_running" of a document: true, false, or null where it is not known (a
 * lock that may not be read, the past). A new reference. */
json_t *agent_running_json(const struct client *client);

/* agent_is_stuck - from that object: the agent polls, and nothing reaches the database. */
bool agent_is_stuck(const json_t *agent);

/* agent_state_text - adds "agent running", "no agent is running: data 6m10s old", ... from that
 * object. */
void agent_state_text(const json_t *agent, struct str *out);

#endif
