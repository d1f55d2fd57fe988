/*
 * agent_state - who writes the database and how old its data is: the object "agent" of the
 * documents about the present (status, watch, doctor), and the same in words.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"
#include "agent/client/client.h"
#include "agent/document/shape.h"

/* What the agent says of its store while it runs. */
struct agent_store {
	const char
		*state; /* "waiting": it polls, but nothing has reached the database; "writing" */
	wall_t since; /* of the rest where it waits */
	double for_s;
	const char *reason;
	uint64_t pending_samples, dropped_samples;
};

struct agent_refused {
	wall_t t;
	const char *text;
};

struct agent_state {
	enum client_agent state;
	uint64_t pid;
	/* Told by the data: cannot_tell, but it is so new that an agent seems to run; any state of
	 * the past. */
	bool inferred;
	bool past;
	wall_t data_time; /* newest sample up to the time the state is asked for */
	double data_age_s;
	/* The data says nothing about the time the state is asked for: there is none, or it is
	 * older than three intervals. Never in the present of a replay. */
	bool stale;
	struct agent_store *store; /* NULL: not known: the past, or no agent */
	const char *config_error; /* first mistake of the file that is not used because of it */
	/* The newest reload that the agent refused, when neither a reload nor a start came after
	 * it; NULL: none. */
	struct agent_refused *reload_refused;
	bool has_data;
	int64_t age_ns; /* of the newest sample */
};
extern const struct shape agent_state_shape;

/* agent_state_read - all but what lies in an arena: store, config_error, reload_refused. 0, or
 * negative errno with @e. */
int agent_state_read(struct client *client, struct agent_state *ret, struct err *e);
/* agent_state_whole - all of it; texts lie in @a. 0, or negative errno with @e. */
int agent_state_whole(
	struct client *client, struct arena *a, struct agent_state *ret, struct err *e);

/* agent_state_word - "running", "stopped", "cannot_tell" or "replay". */
const char *agent_state_word(enum client_agent state);

/* agent_running - not known for a lock that may not be read, and for the past. */
enum maybe agent_running(const struct client *client);

/* agent_is_stuck - the agent polls, and nothing reaches the database. */
bool agent_is_stuck(const struct agent_state *agent);

/* agent_state_text - adds "agent running", "no agent is running: data 6m10s old", ... */
void agent_state_text(const struct agent_state *agent, struct str *out);

/*
 * capture_facts - what a capture has counted since it was opened, as the agent's health keeps it:
 * the same keys in doctor and status.
 */

/* X(member, key in the agent's health, sentence of the schema). */
#define CAPTURE_FACTS(X)                                                                           \
	X(frames, "frames", "frames that were read.")                                              \
	X(interface_frames, "interface_frames", "frames that the interface counted.")              \
	X(roce_packets, "roce", "RoCEv2 packets.")                                                 \
	X(rocev1_packets, "rocev1", "RoCEv1 frames.")                                              \
	X(uet_packets, "uet", "packets of the Ultra Ethernet transport.")                          \
	X(tunneled_packets, "tunneled", "packets out of a tunnel.")                                \
	X(encapsulated_frames, "encapsulated",                                                     \
		"frames in a wrapping that was recognized and not opened.")                        \
	X(copies, "copies", "packets that came more than once.")                                   \
	X(unreadable_frames, "bad", "frames that could not be read.")                              \
	X(kernel_drops, "kernel_drops", "frames that the kernel dropped before they were read.")

/* Members of a struct; COUNT_UNKNOWN where it is not known. */
#define CAPTURE_FACT_MEMBER(m, k, about) uint64_t m;
/* For a macro that fills them: struct *row, from @health and the name of the capture. */
#define CAPTURE_FACT_READ(m, k, about) row->m = capture_count(health, name, k);

/* capture_fact - one of them by its key in the agent's health; NAN when it is not there. @health:
 * object of numbers by key, "capture/NAME/frames". */
double capture_fact(const json_t *health, const char *capture, const char *key);
/* capture_count - the same as a count. */
uint64_t capture_count(const json_t *health, const char *capture, const char *key);
