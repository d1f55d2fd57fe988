/*
 * stall - silences of one direction of a queue pair, the longest ones. Pure, bounded.
 *
 * A silence is a gap between two data packets of a direction that is longer than STALL_MIN_NS and
 * than STALL_TIMES its usual gap. What ended it says the cause:
 *   rnr      a packet is sent again, and an RNR NAK came in the silence or shortly before it
 *   timeout  a packet is sent again without a NAK: its acknowledgement did not come
 *   pause    the message goes on, and a pause frame was in force for half of the silence or more
 *   idle     the message before had ended, and a new one begins: the application had nothing to
 *            send. No stall; kept behind all stalls
 *   unknown  anything else: the message goes on and nothing here says why it stood; or a packet is
 *            sent again, and the capture shows no answers, or not which of them are NAKs
 */
#ifndef RW_COLLECTORS_STALL_H
#define RW_COLLECTORS_STALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STALL_MIN_NS 100000
#define STALL_TIMES 16
enum { STALLS_MAX = 8 };

enum stall_cause { STALL_UNKNOWN, STALL_TIMEOUT, STALL_RNR, STALL_PAUSE, STALL_IDLE };
const char *stall_cause_name(enum stall_cause cause);

struct stall {
	int64_t from_ns; /* the last packet before it */
	int64_t lasts_ns;
	enum stall_cause cause;
};

struct stalls { /* zeroed to start */
	struct stall longest[STALLS_MAX]; /* stalls first, then idle times; longest first */
	uint32_t n;
	uint64_t total; /* stalls, without idle times */
	int64_t total_ns;
};

void stalls_add(struct stalls *stalls, const struct stall *stall);

/* What is known when a silence ends. */
struct silence {
	int64_t from_ns, to_ns;
	bool open; /* the message had not ended */
	bool again; /* the packet that ends it was sent before */
	bool unread; /* NAKs would not have been seen: no answer was, or some were cut short */
	int64_t rnr_ns, nak_ns; /* newest NAK of each kind about the direction; 0 none */
	int64_t paused_ns; /* of it, under a pause frame */
};
enum stall_cause silence_cause(const struct silence *silence);

#endif
