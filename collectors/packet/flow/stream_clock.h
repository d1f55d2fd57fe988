/*
 * stream_clock - what is kept for each data packet of the times of one direction of a queue pair.
 * Embedded in the direction's record, zero at its birth; capture_clock.h works on it, and keeps
 * what few directions have.
 */
#pragma once

#include "base/base.h"

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

/*
 * message_sizes - how many bytes the messages of one direction of a queue pair carry. Pure,
 * bounded: up to MESSAGE_SIZES different sizes are told apart; a further one counts for the nearest
 * that is. The count of messages and the largest one are exact.
 */

enum { MESSAGE_SIZES = 48 };

struct message_sizes { /* zeroed to start */
	uint32_t bytes[MESSAGE_SIZES]; /* ascending */
	uint32_t count[MESSAGE_SIZES];
	uint32_t n;
	uint32_t merged; /* messages that count for another size */
};

void message_sizes_add(struct message_sizes *sizes, uint32_t bytes, uint32_t count);

/* message_sizes_median - the lower one of two in the middle; 0 when there is none. */
uint32_t message_sizes_median(const struct message_sizes *sizes);

/*
 * rate_bins - octets and packets over time, in equal bins. Pure; embedded, rate_bins_init() first.
 *
 * At most RATE_BINS bins: when more time must fit, each two become one. So a bin is .first_width_ns
 * times a power of two wide, and begins at a whole multiple of its width since 1970. Times before
 * 1970 and after 2043 are damage and are left out.
 */

enum { RATE_BINS = 1000 };
#define RATE_BIN_NS 10000000 /* 10 ms */

struct rate_bin {
	uint64_t octets, packets;
};

struct rate_bins {
	struct rate_bin bins[RATE_BINS];
	int64_t width_ns;
	int64_t first; /* number of bins[0]: its begin / width */
	int64_t end_ns; /* of what fits without a move */
	int64_t begin_ns;
	int64_t newest_from_ns, newest_to_ns; /* the bin of the newest packet: the fast way */
	size_t newest;
	size_t n; /* bins up to the newest with a packet */
};

/* @width_ns: of a bin at first, at most RATE_BIN_MAX_NS; else RATE_BIN_NS. */
void rate_bins_init(struct rate_bins *rates, int64_t width_ns);
void rate_bins_add(struct rate_bins *rates, int64_t t_ns, uint32_t octets);
