/*
 * store_facts - what an agent says of itself beside the samples, for doctor, status and /metrics
 * alike: what its store cannot do, how far each system is to which it sends (store.ship), and whom
 * its receivers refused.
 *
 * @health: its own numbers by key (table health); empty where no agent runs or the past is asked
 * for. Loop's or command's thread.
 */
#pragma once

#include <jansson.h>

#include "agent/document/shape.h"
#include "base/base.h"

struct client;

/* What is to be done, and why. */
struct store_alarm {
	const char *severity; /* "warning" or "critical" */
	const char *subject, *what, *remedy;
};
extern const struct shape store_alarm_shape;

/* How far one sink of the configuration is. */
struct ship_fact {
	const char *name, *kind, *url;
	enum maybe failing;
	wall_t failing_since;
	const char *error; /* what the receiver said when it began to fail */
	double behind_s;
	uint64_t samples, batches, failures, refused, waiting_samples, waiting_bytes, lost;
};
extern const struct shape ship_fact_shape;

/* What one sender was refused for at one receiver; "at least" (collectors/target/refused.h). */
struct refused_fact {
	const char *receiver, *reason, *sender;
	uint64_t times;
};
extern const struct shape refused_fact_shape;

/* store_alarms_read - what is wrong with samples that are stored. Rows lie in @a. */
struct store_alarm *store_alarms_read(const json_t *health, struct arena *a, size_t *ret_n);

/* ship_facts_read - a row for each sink of the configuration. Rows and texts lie in @a. */
struct ship_fact *ship_facts_read(
	struct client *client, const json_t *health, struct arena *a, size_t *ret_n);
/* refused_facts_read - by each "FAMILY/RECEIVER/refused:REASON:SENDER" of @health, in its order.
 * Rows and texts lie in @a. */
struct refused_fact *refused_facts_read(const json_t *health, struct arena *a, size_t *ret_n);
/* ship_fact_text - such a row in words, without its name. */
void ship_fact_text(const struct ship_fact *fact, struct str *out);
