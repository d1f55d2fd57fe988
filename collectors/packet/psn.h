/*
 * psn - arithmetic of packet sequence numbers, modulo 2^24, and what is kept of the sequence of one
 * direction of a queue pair. The meaning stands in loss.h.
 *
 *   gap         a packet is ahead of the one expected: one forward jump, whatever its width;
 *               .missing sums the widths
 *   duplicate   the same PSN again right after itself, and nothing tells whether the sender sent it
 *               again or the capture saw it twice
 *   retransmit  a packet that was sent again: one that was seen, or a missing one within a run of
 *               packets that come again (go-back-N), or alone after a NAK (selective repeat)
 *   reordered   missing PSNs that come late, and then the sequence goes on
 *   restart     back by more than 2^16, or ahead by more than 2^20, or behind what was acknowledged
 *               with message numbers that begin anew: starts afresh
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

/* Of one data stream, zeroed to start; 40 bytes. Flags: the high byte of .next and .acked. */
struct stream_psn {
	uint64_t seen; /* bit i: request PSN next-1-i was seen */
	uint32_t next; /* request PSN that comes next */
	uint32_t when; /* of the newest request, in 8,192 ns */
	uint32_t acked; /* answers prove that the receiver had every PSN before this one */
	uint32_t msn; /* message number of the newest answer, + 1; 0: none yet */
	uint32_t rare; /* what most streams do not have: index + 1, loss.c */
	uint16_t ip_id; /* of the newest request */
	uint8_t id_steps, id_jumps; /* how often the identification went on a little, or did not */
	uint32_t birth, birth_when; /* the first request of this sequence; like .when */
};

/* left - right, in -2^23 .. 2^23-1. */
static inline int32_t psn_distance(uint32_t left, uint32_t right)
{
	return (int32_t)((left - right) << 8) >> 8;
}

#endif
