/* slowdown - who stood still and who slows down: pauses in force, silences and their causes, and
 * rates\nround congestion notifications. */
#pragma once

#include "base/base.h"

#include "collectors/packet/frame/roce_parse.h"
#include "db/model/flow.h"

struct pause_log;

/*
 * pause_log - how long a link was paused, by who asked for it: source MAC and priority of PFC
 * frames (IEEE 802.1Qbb), source MAC of pause frames (IEEE 802.3 annex 31B). Pure, bounded: at most
 * PAUSE_ROWS_MAX pairs of MAC and priority, further ones are counted.
 *
 * A frame with a time above 0 (XOFF) stops the class for that many quanta, counted from the newest
 * frame; a time of 0 (XON) releases it. One quantum is 512 bit times of the link. Where the speed
 * of the link is not known, the time is told as bounds: at the fastest and at the slowest speed
 * that is usual (PAUSE_FAST_BPS, PAUSE_SLOW_BPS). A frame that comes before the time has run out at
 * the fastest speed makes both bounds equal: the pause lasted until it came. What has not run out
 * at the end of the capture counts up to the end.
 */

enum { PAUSE_ROWS_MAX = 1024, PAUSE_ALL_TRAFFIC = 8 };

struct pause_row {
	uint8_t mac[6]; /* of the device that asks for the pause */
	uint8_t priority; /* 0..7; PAUSE_ALL_TRAFFIC: a pause frame, which stops all of it */
	uint64_t frames, xoff, xon;
	int64_t first_ns, last_ns;
	int64_t low_ns, high_ns; /* paused */
	/* The longest stretch without a release. Exact when a release ended it, else the lower
	 * bound. */
	int64_t longest_ns;
	/* The table's own: the pause that may be in force. */
	int64_t since_ns;
	uint32_t quanta; /* of the newest frame; 0 = released */
};

/* @speed_bps: of the link; 0 = not known. */
struct pause_log *pause_log_new(uint64_t speed_bps);
void pause_log_free(struct pause_log *log); /* NULL is fine */

/* pause_log_add - @packet of kind PACKET_PFC or PACKET_PAUSE. */
void pause_log_add(struct pause_log *log, const struct roce_packet *packet, int64_t t_ns);

/* pause_log_rows - what was paused up to @end_ns, by MAC, then priority. The caller frees the
 * array. *ret_refused: frames of rows beyond the limit. */
struct pause_row *pause_log_rows(
	const struct pause_log *log, int64_t end_ns, size_t *ret_n, uint64_t *ret_refused);

/* pause_log_until - up to when traffic may have been paused by anybody, as far as known at @now_ns:
 * the newest such time; 0 = never. At the slowest speed. */
int64_t pause_log_until(const struct pause_log *log, int64_t now_ns);

/* pause_log_overlap - how much of [from, to) lies within the newest stretch of pause, at the
 * slowest speed; 0 = none of it. */
int64_t pause_log_overlap(const struct pause_log *log, int64_t from_ns, int64_t to_ns);

void pause_log_next(struct pause_log *log); /* begin the next interval: rows go */

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

/*
 * qp_reaction - the rate of one direction of a queue pair round each CNP about it. Pure; one record
 * of 264 bytes for each direction that a CNP came for.
 *
 * Octets are counted in bins, 32 of them in a ring. A bin is 25 us wide, or as many times twice
 * that as hold three packets. The bin of the CNP is left out; four bins before and four after are
 * its windows. A CNP in the windows of the one before belongs to that one. A reaction with a break
 * in its windows is left out: silence longer than a bin at the end of a message, or longer than
 * four bins within one before the CNP. So is one with a pause frame in force (the caller says until
 * when).
 *
 * A sender that slows down a lot leaves few packets in the window after, or none. Then the rate
 * after is that of the next packets: by the median of eight gaps, so that one long stop among gaps
 * as before (a pause elsewhere) does not look like a rate. The same median says whether a reaction
 * was a clear one (struct reaction_sum, .clear).
 *
 * Pressure is what a sender with the published parameters would make of the CNPs, at their mildest:
 * one cut in 50 us at the most, alpha beginning at 1/2, recovery from the first timer on, and then
 * a hundredth of the full rate a timer. Windows of four bins in which it would be at or below
 * REACTION_PRESSED are under pressure. Source of the parameters: SIGCOMM 2015 paper named in
 * flow.h, sections 3 and 5 (g 1/256, timer 55 us, five steps of recovery).
 */

enum { QP_REACTION_BINS = 32, QP_REACTION_WINDOW = 4, QP_REACTION_GAPS = 8 };

/* What a data packet needs comes first: one cache line, and one of .octets. */
struct qp_reaction {
	int64_t bin; /* newest: time / .width_ns */
	int64_t begin_bin; /* nothing is known of bins before */
	int64_t break_bin; /* newest one that a break touches */
	int64_t cnp_bin; /* of the reaction under way */
	uint32_t width_ns;
	uint32_t peak; /* most octets of a window */
	uint8_t stage; /* timers since its newest cut */
	uint8_t n_gaps;
	bool waits; /* a reaction is under way */
	bool lasts; /* it waits for gaps beyond its window */
	bool alone; /* no CNP came in the two windows before it */
	uint32_t octets[QP_REACTION_BINS];
	int64_t cnp_ns; /* of the newest CNP */
	int64_t timer_ns; /* up to where the mildest sender is followed */
	int64_t cut_ns; /* its newest cut */
	uint32_t gaps[QP_REACTION_GAPS]; /* after the bin of the CNP, ns */
	double before_bps; /* of the reaction that lasts */
	float alpha, rate, target; /* of the mildest sender; rate and target of its full rate */
};

/* qp_reaction_begin - at the first CNP. @usual_ns: usual time between packets of this direction. */
void qp_reaction_begin(struct qp_reaction *reaction, int64_t t_ns, uint32_t usual_ns);

/*
 * qp_reaction_data - a data packet. @silent_ns: since the one before; @message_ended: that was the
 * last one of its message; @paused_ns: end of the newest time for which a pause frame was in force,
 * as far as known now, 0 none. What it measures goes into @sum.
 */
void qp_reaction_data(struct qp_reaction *reaction, struct reaction_sum *sum, int64_t t_ns,
	uint32_t octets, int64_t silent_ns, bool message_ended, int64_t paused_ns);

/* qp_reaction_cnp - a CNP about this direction, after qp_reaction_begin(). */
void qp_reaction_cnp(struct qp_reaction *reaction, struct reaction_sum *sum, int64_t t_ns);
