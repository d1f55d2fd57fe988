/* events - what happens when: a heap of four children per node, ordered by time, then by order of
 * arrival. */
#ifndef PACKETSIM_EVENTS_H
#define PACKETSIM_EVENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PS_NS INT64_C(1000) /* times are picoseconds */
#define PS_US INT64_C(1000000)
#define PS_MS INT64_C(1000000000)
#define PS_S INT64_C(1000000000000)

enum event_kind {
	EVENT_ARRIVE, /* who: port, what: packet */
	EVENT_SENT, /* who: port */
	EVENT_PFC, /* who: port, what: 1 pause, 0 resume */
	EVENT_PAUSE_END, /* who: port, what: generation of its pause */
	EVENT_REFRESH, /* who: port, what: generation of its XOFF */
	EVENT_PACE, /* who: host port */
	EVENT_CUT, /* who: flow, what: its generation */
	EVENT_RAISE, /* who: flow, what: generation of its timer */
	EVENT_TIMEOUT, /* who: flow, what: its generation */
	EVENT_START, /* who: flow, what: its generation */
	EVENT_STEP, /* a step begins */
	EVENT_DRAINED, /* who: host port: a slow receiver has room again */
};

struct event {
	int64_t at;
	uint64_t order;
	uint32_t kind, who, what;
};

struct event_heap {
	struct event *v;
	size_t n, room;
	uint64_t order;
};

void heap_push(struct event_heap *heap, int64_t at, uint32_t kind, uint32_t who, uint32_t what);
bool heap_pop(struct event_heap *heap, struct event *out);
void heap_free(struct event_heap *heap);

#endif
