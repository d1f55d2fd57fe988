/*
 * status - the state of the fabric: who answers, how old the data is and what is open, from the
 * database and the configuration. As of client->at_ns: for a past time ages are counted from then,
 * incidents are those open then, and members without history are not known.
 */
#pragma once

#include <jansson.h>

#include "agent/answers/common/agent_state.h"
#include "agent/answers/common/class_worlds.h"
#include "agent/answers/common/store_facts.h"
#include "agent/answers/status/verdict.h"
#include "agent/client/client.h"
#include "agent/document/shape.h"

/*
 * A device or a capture. up is not known where the target is silent for more than three intervals
 * (of one that is polled: at least 10 s), or nobody polls it. A device that is polled by two
 * protocols has two rows. Captures have rows of their own, behind the devices: protocol "pcap", the
 * capture's name, and in device and port what it stands for.
 */
struct status_device {
	const char *name;
	enum maybe up;
	const char *status; /* up as a word: "up", "down" or "unknown" */
	const char *reason;
	double age_s;
	const char *protocol, *address;
	bool is_capture;
	const char *device, *port;
	CAPTURE_FACTS(CAPTURE_FACT_MEMBER)
	const char *state;
	double interval_s, poll_p50_s, poll_p95_s;
	uint64_t polls, timeouts, errors;
};
extern const struct shape status_device_shape;

/* up, down and unknown count devices, by the best of their rows; captures_... the captures. */
struct status_quality {
	enum maybe agent_running;
	wall_t first_sample, newest_sample;
	double newest_sample_age_s;
	bool stale;
	double oldest_device_age_s;
	uint64_t up, down, unknown, captures_up, captures_down, captures_unknown;
	uint64_t polls, timeouts, errors;
};

struct status_answer {
	const char *fabric;
	wall_t time;
	struct agent_state agent;
	struct class_told *classes;
	size_t n_classes;
	struct status_device *devices;
	size_t n_devices;
	uint64_t open_incidents; /* not known where another agent judges */
	struct open_incident *incidents; /* the worst first */
	size_t n_incidents;
	struct status_quality data_quality;
	struct store_alarm *alarms;
	size_t n_alarms;
	struct ship_fact *ship;
	size_t n_ship;
	struct refused_fact *refused;
	size_t n_refused;
	enum golden_state state; /* the one word at the top; never GOLDEN_IDLE */
	const char *state_why; /* the same sentence on every face */
	struct verdict_money money;
	bool judged_elsewhere;
	bool nothing_to_judge; /* see struct verdict_in */
};
extern const struct shape status_answer_shape, verdict_money_shape;

/* status_verdict - is it well, as far as these @incidents say? With its own, that is its state. */
void status_verdict(const struct client *client, const struct status_answer *status,
	const struct open_incident *incidents, size_t n, struct arena *a, struct verdict *ret);

/* status_read - all of it lies in @a. 0, or negative errno with @e. */
int status_read(struct client *client, struct arena *a, struct status_answer *ret, struct err *e);
/* status_document - the same as JSON; the caller owns it. NULL with @e. */
json_t *status_document(struct client *client, struct err *e);
