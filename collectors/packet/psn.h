/*
 * psn - the bookkeeping of packet sequence numbers of one direction of a queue pair, modulo 2^24.
 * Pure.
 *
 *   gap         a packet is ahead of the one expected: one forward jump, whatever its width;
 *               .missing sums the widths. After a READ request a jump by as many PSNs as its
 *               responses can use is no gap (@allow).
 *   duplicate   the same PSN again right after itself: a copy (mirrored twice), or the last
 *               packet of a burst sent again
 *   retransmit  the PSN goes back to one that was seen, or runs from a missing one back through
 *               seen ones (go-back-N)
 *   reordered   missing PSNs that come late, and then the sequence goes on: another path, or a
 *               selective repeat
 *   restart     back by more than 2^16, or ahead by more than 2^20: a new connection on the
 *               same QP number; starts afresh
 * "Seen" is remembered for the 64 PSNs before the newest; older ones count as seen.
 */
#ifndef RW_COLLECTORS_PSN_H
#define RW_COLLECTORS_PSN_H

#include <stdbool.h>
#include <stdint.h>

#define PSN_MASK 0xffffffu
#define PSN_BACK_MAX 65536
#define PSN_AHEAD_MAX 1048576

struct psn_counts {
	uint64_t gaps, missing, duplicates, retransmits, reordered, restarts;
};

struct psn_track { /* zeroed to start */
	uint64_t seen; /* bit i: PSN next-1-i was seen */
	uint32_t next, last;
	uint32_t allow; /* PSNs that the next packet may skip */
	uint32_t late; /* missing ones that just came, not yet judged */
	bool valid;
};

/* Of one data stream, zeroed to start. */
struct stream_psn {
	struct psn_track request, response;
};

/* psn_add - one packet. @allow: how many PSNs after this one may be skipped without being missing.
 */
void psn_add(struct psn_track *track, struct psn_counts *counts, uint32_t psn, uint32_t allow);

/* psn_anchor - begin here; the packets before are not judged. */
void psn_anchor(struct psn_track *track, uint32_t psn);

/* a - b, in -2^23 .. 2^23-1. */
static inline int32_t psn_distance(uint32_t left, uint32_t right)
{
	return (int32_t)((left - right) << 8) >> 8;
}

#endif
