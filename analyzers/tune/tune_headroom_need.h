/*
 * tune_headroom_need - what a priority group has to hold after it has sent XOFF, by everything that
 * is known of ports of its kind: same neighbour, cable, speed, priority and setting. Ports of a
 * kind have one buffer profile, so the answer is the same for all of them, on every switch. Pure.
 *
 * Sources: IEEE 802.3, 31B.3.7 (what is in flight); SONiC, doc/qos/dynamically-headroom-calculation
 * (vendor's number). Bytes; NAN unknown.
 */
#pragma once

#include "analyzers/tune/tune_rules.h"

struct headroom_need {
	double bytes; /* never less than what is set; NAN: what is set is not known */
	const char *why;
	/* calculated for this cable: with less than this, frames are lost sooner or later. Else it
	 * is one step up, and a smaller step is one too */
	bool firm;
	/* a port of the kind paused and did not use all that it has: only what is calculated asks
	 * for more, and where the pool is tight it can wait */
	bool can_wait;
};

void tune_headroom_need(const struct tune_in *in, const struct tune_device *device,
	const struct tune_prio *prio, struct headroom_need *ret);

/* The vendor's own number for this port; NAN: not an ASIC whose tables the formula reproduces, or
 * the cable is not known. */
double tune_headroom_calculated(
	const struct tune_in *in, const struct tune_device *device, const struct tune_prio *prio);

/* What arrives after XOFF was sent, by physics alone; NAN: speed or cable is not known. */
double tune_headroom_in_flight(
	const struct tune_in *in, const struct tune_device *device, const struct tune_prio *prio);
