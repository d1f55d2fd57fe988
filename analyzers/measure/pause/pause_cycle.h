/*
 * pause_cycle - rings of switches that wait for one another and move nothing: a PFC deadlock.
 */
#pragma once

#include "base/base.h"

#include "analyzers/measure/pause/pause_net.h"

struct pause_cycle { /* ports that wait for one another in a ring and move nothing */
	const struct pause_edge **edges; /* each by the device of the next one's at */
	size_t n;
	int priority;
	double queued_bytes; /* watermarks of the ring's queues; NAN unknown */
	/* no octets left any of its ports in the window (of that priority where it is known) */
	bool still;
	bool measured; /* every edge of it is */
	/* a host that pauses all the time is waited for by this ring: that is a storm, and may be
	 * all of it */
	bool fed;
};

struct pause_cycles { /* in the arena */
	struct pause_cycle *v;
	size_t n, cap;
};

/* pause_cycles - add the rings of the net's priority to @cycles. */
void pause_cycles(const struct pause_net *net, struct pause_cycles *cycles);
