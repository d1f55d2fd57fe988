/*
 * pins - when an incident opens, the receivers that keep single values for some seconds are asked
 * for those of its devices. Bounded: incidents that open within PINS_GAP_S of another one share its
 * values, and PINS_HOUR an hour are enough; the timeline of each says which. Loop thread.
 */
#ifndef RW_AGENT_PINS_H
#define RW_AGENT_PINS_H

#include <stdint.h>

#include "agent/base/clock.h"

struct config;
struct incident;
struct sources;
struct store;

enum { PINS_GAP_S = 10, PINS_HOUR = 20, PINS_BEFORE_S = 30, PINS_DEVICES = 32 };

struct pins {
	char id[9]; /* of the incident that asked last; "" = none */
	mono_t last, hour; /* of that; when the hour began */
	unsigned n; /* in this hour */
};

/* pins_opened - @incident has just opened. */
void pins_opened(struct pins *pins, const struct incident *incident, const struct config *config,
	struct sources *sources, struct store *store);

#endif
