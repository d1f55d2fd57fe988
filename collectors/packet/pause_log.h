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
#ifndef RW_COLLECTORS_PAUSE_LOG_H
#define RW_COLLECTORS_PAUSE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collectors/packet/roce_parse.h"

enum { PAUSE_ROWS_MAX = 1024, PAUSE_ALL_TRAFFIC = 8 };
#define PAUSE_FAST_BPS 800000000000ull
#define PAUSE_SLOW_BPS 10000000000ull
#define PAUSE_QUANTUM_BITS 512

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

struct pause_log;

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

#endif
