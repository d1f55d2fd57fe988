/*
 * collector - from the world to samples. A target is one device over one protocol; its life is this
 * machine, changed in one function (target_change) that logs old, new and reason:
 *
 *      IDLE --start--> STARTING --first full answer--> UP
 *                        |  ^                           |
 *                 no answer  +--retry timer--+    lost (deadline passed, refused, ...)
 *                        v                   |          |
 *                      BACKOFF <-------------+----------+
 *
 * Retries are capped at about three poll intervals: a short outage must not become a long one. One
 * target never delays another. Everything runs on the loop thread.
 */
#ifndef RW_COLLECTORS_COLLECTOR_H
#define RW_COLLECTORS_COLLECTOR_H

#include <stdbool.h>
#include <stdint.h>
#include "agent/base/clock.h"
#include "agent/base/log.h"
#include "collectors/target/reason.h"
#include "config/topology.h"
#include "db/model/entity.h"
#include "db/model/flow.h"
#include "db/model/sample.h"

enum target_state { TARGET_IDLE, TARGET_STARTING, TARGET_UP, TARGET_BACKOFF };
const char *target_state_name(enum target_state state);

/* What a collector tells the rest of the house; implemented by the pipeline. Arrays are lent for
 * the call. */
struct target;
struct sink {
	void *arg;
	void (*samples)(void *arg, const struct sample *samples, size_t n);
	void (*flows)(void *arg, const struct flow_sample *flows, size_t n);
	/* state or statistics changed; at most about once a poll */
	void (*target)(void *arg, const struct target *target);
	void (*device)(void *arg, const char *device, const char *profile, const char *sysname,
		const char *descr);
	void (*port)(void *arg, const char *device, const char *port, const char *alias,
		uint64_t speed_bps);
	void (*event)(void *arg, int64_t t_ns, const char *kind, const char *device,
		const char *port, const char *text);
	/* What a device says of itself and all it heard, replacing what it said before. May be
	 * NULL: then nobody asks. */
	void (*neighbors)(void *arg, const struct topology_device *self,
		const struct topology_neighbor *heard, size_t n);
};

#define TARGET_POLL_HISTORY 64
struct target {
	const char *device, *protocol, *address; /* borrowed from the collector's own copy */
	enum target_state state;
	char reason[REASON_TEXT_MAX]; /* why it is not up, a sentence; "" while it is up */
	enum reason_code reason_code;
	wall_t since, last_success;
	uint64_t polls, timeouts, errors, values;
	/* values asked of the device, whatever became of them: the load put on it */
	uint64_t varbinds;
	/* polls that should have been between two successful ones; what is missing since the last
	 * is its age */
	uint64_t missed;
	/* readings of counters that cannot be true: kept, flagged, no rate is taken from them */
	uint64_t suspects;
	int64_t interval_ns; /* how often it is asked; 0 = not said: nothing is missed */
	float poll_s[TARGET_POLL_HISTORY]; /* ring of the last poll durations, seconds */
	uint32_t n_poll; /* ever */
	struct complaint complaint;
};
/* target_change - the only place that changes .state, logs old, new and reason. @reason NULL: the
 * last one stays, until the target is up. */
void target_change(struct target *target, enum target_state to, mono_t mono, wall_t wall,
	const struct reason *reason);
void target_polled(struct target *target, double seconds, wall_t wall); /* one successful poll */
/* p50 and p95 over the ring; NAN when empty. */
void target_poll_quantiles(const struct target *target, double *ret_p50, double *ret_p95);

#endif
