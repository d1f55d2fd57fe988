/*
 * pulse - the agent's side of the canary (agent/client/canary.h): one sample of its own each
 * interval, into the sink like those of a collector. Loop thread.
 */
#ifndef RW_AGENT_PULSE_H
#define RW_AGENT_PULSE_H

#include <stdint.h>

struct entities;
struct sink;

struct pulse { /* zeroed at first */
	int64_t next_ns; /* of the boot clock */
};

/* pulse_beat - send the samples of the agent @name (ENTITY_AGENT_PORT: the only one) when they are
 * due. @now_ns: wall clock; @boot_ns: clock_boot_ns();
 * @moved: counters of ports that changed so far. */
void pulse_beat(struct pulse *pulse, struct entities *entities, const struct sink *sink,
	const char *name, int64_t now_ns, int64_t boot_ns, int64_t interval_ns, uint64_t moved);

#endif
