/*
 * pause_share - for which share of a window one (port, priority) was paused. Pure.
 */
#pragma once

#include "base/base.h"

#include "analyzers/measure/amount.h"

/*
 * Pause in one direction: share of the watched time, 0..1, within [lo, hi]. Measured by the device:
 * lo = hi. From frames, or from a bound the collector made: lo = 0. Both NAN when nothing is known.
 * RX: the neighbour paused us; TX: we paused it.
 */
struct pause_share {
	double lo, hi;
	bool measured;
	bool alive; /* some counter of this direction has ever moved */
	enum quality quality;
};

/* pause_share_of - from counters of one direction: pause time measured by the device, an upper
 * bound of it that the collector made, and PFC frames. @speed_bps 0: unknown. */
struct pause_share pause_share_of(const struct amount *measured_ns, const struct amount *bound_ns,
	const struct amount *frames, uint64_t speed_bps);

/* pause_frame_max_ns - longest time one PFC frame can hold a port, ns: 65,535 quanta of 512 bit
 * times (IEEE 802.3 annex 31B, IEEE 802.1Qbb). NAN without speed. */
double pause_frame_max_ns(uint64_t speed_bps);
