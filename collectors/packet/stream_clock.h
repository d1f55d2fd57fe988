/*
 * stream_clock - what is kept for each data packet of the times of one direction of a queue pair.
 * Embedded in the direction's record, zero at its birth; capture_clock.h works on it, and keeps
 * what few directions have.
 */
#ifndef RW_COLLECTORS_STREAM_CLOCK_H
#define RW_COLLECTORS_STREAM_CLOCK_H

#include <stdint.h>

struct stream_clock {
	int64_t last_ns; /* newest data packet */
	uint64_t active_ns; /* sum of the gaps that are no silence */
	uint32_t gaps; /* so many */
	uint32_t usual_ns; /* usual gap: moving mean over the last eight or so */
	uint32_t rare; /* record in capture_clock; 0: none */
	unsigned psn : 24; /* of the newest request or response */
	unsigned begun : 1; /* .last_ns and .psn hold */
	unsigned open : 1; /* a message has begun and has not ended */
	unsigned response : 1; /* .psn is of a READ response */
	unsigned counted : 2; /* interval in which the receiver's directions counted this one */
	unsigned answered : 2; /* and in which they counted its answer; 0: none */
	unsigned reacts : 1; /* CNPs came: .rare has its rate round them */
};

#endif
