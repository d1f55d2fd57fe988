/*
 * loss - what became of packets that are missing in a capture or come again: for each queue pair a
 * small state machine over its requests, the answers to them (ACK, NAK, RNR NAK) and READ
 * responses.
 *
 * Each gap and each run of packets that come again is told as one event, with a cause word and its
 * proof (loss_cause.def). The rules follow the RC protocol of the InfiniBand Architecture
 * Specification vol. 1, chapter 9.7: a responder answers a packet ahead of its sequence with a NAK
 * for the one that it expects; an ACK for PSN n proves that all up to n arrived, a NAK for n that
 * all before n did; after an RNR NAK the requester waits for the time in it; a requester without an
 * answer sends again when its timer runs out; READ responses use the PSNs after their request. What
 * no rule proves is "unknown", with what is missing as its proof.
 *
 *   - UD has no order and RD has another one: neither has gaps. UC has an order and no answers.
 *   - One direction captured only: no answers, so most causes are unknown.
 *   - AETH cut off by the snap length: an answer proves less (ACK or NAK is not known).
 *   - A sampled capture has no gaps: see loss_sampling().
 *
 * Where packets overtake each other (loss_ring.c) each PSN has its state.
 *
 * Memory: 40 bytes for each stream in the caller's record; about 120 more with READs, 800 more once
 * something was odd (at most LOSS_STORIES_MAX of those; of further ones nothing is told, and
 * .untold counts it), at most LOSS_EVENTS_MAX events for each, 16 MiB of further gaps and 64 MiB of
 * rings. Single-threaded; time comes with the packets. Copies must have been taken out before
 * (copies.h).
 */
#pragma once

#include "base/base.h"

#include "collectors/packet/frame/roce_parse.h"

struct loss;

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

#define PSN_MASK 0xffffffu

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

enum { LOSS_EVENTS_MAX = 32, LOSS_STORIES_MAX = 65536, LOSS_READS_MAX = 262144 };

enum loss_cause {
#define LOSS_CAUSE(symbol, word, weight) LOSS_##symbol,
#define LOSS_PROOF(symbol, cause, text)
#include "collectors/packet/loss/loss_cause.def"
#undef LOSS_CAUSE
#undef LOSS_PROOF
	LOSS_CAUSE_COUNT
};
enum loss_proof {
#define LOSS_CAUSE(symbol, word, weight)
#define LOSS_PROOF(symbol, cause, text) PROOF_##symbol,
#include "collectors/packet/loss/loss_cause.def"
#undef LOSS_CAUSE
#undef LOSS_PROOF
	LOSS_PROOF_COUNT
};

struct loss_event {
	int64_t t_ns; /* the gap was seen, or the first packet came again */
	uint32_t psn, missing; /* the first one; how many were missing here */
	uint8_t proof; /* enum loss_proof */
	uint8_t code; /* RNR timer */
	uint32_t answer_psn; /* PSN of the NAK or ACK that proves it */
	uint32_t again_psn; /* the first one that was sent again */
	uint32_t n; /* packets that came again, or what the proof counts */
	int64_t answer_ns, again_ns; /* after .t_ns; the time the proof speaks of */
};

enum loss_cause loss_event_cause(const struct loss_event *event);
const char *loss_cause_word(enum loss_cause cause); /* "lost_before": stands in the document */
#define LOSS_PROOF_TEXT_MAX 200
/* loss_event_text - the proof in one sentence. */
char *loss_event_text(char buf[LOSS_PROOF_TEXT_MAX], const struct loss_event *event);

/* loss_event_compare - for qsort: the worst first, equal ones by time. */
int loss_event_compare(const void *left, const void *right);
struct loss *loss_new(void);
void loss_free(struct loss *loss); /* NULL is fine */

/*
 * loss_data - a request or READ response of the direction @own.
 *
 * @about  READ response: the direction that carries the requests it answers; NULL when not known
 */
void loss_data(struct loss *loss, struct stream_psn *own, struct stream_psn *about,
	const struct roce_packet *packet, int64_t t_ns);

/* loss_answer - an ACK, NAK, RNR NAK or ATOMIC ACK about @about. */
void loss_answer(struct loss *loss, struct stream_psn *about, const struct roce_packet *packet,
	int64_t t_ns);

/* loss_copied - a copy of a packet of @own was captured; tell only where that is not the rule. */
void loss_copied(
	struct loss *loss, struct stream_psn *own, const struct roce_packet *packet, int64_t t_ns);

/* loss_drop - @own is let go. */
void loss_drop(struct loss *loss, struct stream_psn *own);

/* loss_next - begin the next interval: counts and events go, sequences stay. */
void loss_next(struct loss *loss);

/*
 * loss_end - judge what is still open with what is known; may be called more than once.
 *
 * @drops  packets that the capture's own counters say it lost; 0: none, or not known
 */
void loss_end(struct loss *loss, uint64_t drops);

/* loss_counts - never NULL; all 0 when nothing was ever odd. Lent until the next packet. */
const struct psn_counts *loss_counts(const struct loss *loss, const struct stream_psn *own);

/* loss_events - in the order in which they were judged, at most LOSS_EVENTS_MAX: the least go
 * first. *ret_total: how many there were. Lent until the next packet. */
const struct loss_event *loss_events(
	const struct loss *loss, const struct stream_psn *own, size_t *ret_n, uint64_t *ret_total);

/* How often each cause was told of a direction, and how many packets were missing with it. */
struct loss_causes {
	uint32_t n[LOSS_CAUSE_COUNT], missing[LOSS_CAUSE_COUNT];
};
/* loss_causes - NULL: nothing was ever odd. Lent until the next packet. */
const struct loss_causes *loss_causes(const struct loss *loss, const struct stream_psn *own);

/* loss_transport - the upper three bits of the opcodes of @own (0 RC, 1 UC, 2 RD, 3 UD, 5 XRC); -1:
 * no data packet was seen. */
int loss_transport(const struct stream_psn *own);

struct loss_totals {
	struct psn_counts psn; /* of what had a story, those let go included */
	uint64_t events[LOSS_CAUSE_COUNT];
	uint64_t capture_gaps; /* gaps that the capture itself lost */
	uint64_t judged_gaps; /* gaps whose cause is known */
	uint64_t untold; /* odd packets of streams beyond LOSS_STORIES_MAX */
};
const struct loss_totals *loss_totals(const struct loss *loss);

/*
 * loss_sampling - is this capture a sample of the packets, by its PSNs? It is when most requests
 * jump ahead, while next to nothing is sent again and no NAK comes: a fabric that lost so much
 * would be full of both. Then no gap or retransmission means anything.
 */
struct loss_sampling {
	bool sampled;
	double n; /* mean step of the PSN: about one packet in n was captured; 0: too few to tell */
	uint32_t median_at_least; /* a power of two at or below the median step */
	uint64_t steps, back, naks;
	uint64_t in_order; /* packets with the PSN after that of the one before, UD included */
};
void loss_sampling(const struct loss *loss, struct loss_sampling *ret);
