/* loss_state - what loss.c, loss_judge.c and loss_ring.c share; nobody else includes it. */
#pragma once

#include "collectors/packet/loss/loss.h"

enum { READ_OCTETS_UNKNOWN = UINT32_MAX }; /* of loss_rare.reads */
enum {
	LOSS_GAPS = 8, /* of a stream that are open; more while few streams have so many */
	LOSS_GAPS_MANY = 512,
	LOSS_GAPS_BYTES_MAX = 16 << 20, /* of all streams beyond LOSS_GAPS */
	LOSS_HOLES = 16,
	LOSS_READS = 4,
	LOSS_ID_KNOWN = 8, /* so many steps of the IP identification show that it counts */
	LOSS_WHEN_SHIFT = 13, /* of stream_psn.when */
	LOSS_FLAG_SHIFT = 24,
	/* flags of stream_psn.next */
	NEXT_VALID = 1,
	NEXT_AFTER_READ = 2, /* the newest request was a READ */
	NEXT_RUN = 4, /* packets come again, or are missing: look at each one closely */
	/* flags of stream_psn.acked */
	ACKED_VALID = 1,
	ACKED_READABLE = 2, /* an answer was captured with its AETH */
	ACKED_CUT = 4, /* one was captured without */
	ACKED_WATCH = 8, /* something is open: look at each answer */
	ACKED_ASKED = 16, /* the newest request asked for an ACK */
	ACKED_TRANSPORT = 5, /* and up: three bits, the opcode's transport + 1 */
};

struct loss_gap { /* PSNs [from, to) are missing here */
	int64_t t_ns, nak_ns, fill_ns;
	uint32_t from, to;
	uint32_t filled, fill_next;
	uint16_t id_after; /* IP identification of the packet that showed the gap */
	uint16_t fill_id;
	bool early; /* acknowledged before a packet showed it */
	bool nak, touched, doubt; /* doubt: the capture itself lost packets right before */
};

/* Where the packet that a NAK asks for was, when the NAK came. */
enum loss_where {
	WHERE_HERE, /* seen here, each time it was sent as far as is known */
	WHERE_MISSING, /* not seen here when it was sent last */
	WHERE_BEFORE_BIRTH, /* before the first packet of the stream, while the capture ran */
	WHERE_BEFORE_CAPTURE, /* perhaps before the capture began */
	WHERE_FORGOTTEN,
};

struct loss_hole { /* PSNs [from, to) were seen, and were missing when they were sent again */
	uint32_t from, to;
	bool doubt; /* perhaps the sender left them out */
};

struct loss_nak {
	int64_t t_ns;
	uint32_t psn;
	uint8_t where; /* enum loss_where */
	uint8_t code;
	bool valid;
};

struct loss_run { /* packets that come again */
	int64_t t_ns, idle_ns;
	int64_t newest_ns; /* of the one before .expect */
	uint32_t from, expect;
	uint32_t again, late; /* seen before; missing before */
	uint32_t acked_before; /* stream_psn.acked when it began */
	uint32_t ahead_psn; /* acknowledged before it came again */
	uint32_t msn_before;
	bool open, read, ahead, starts_message;
	bool told; /* its event is told already */
	struct loss_nak nak, rnr; /* the newest when it began */
};

struct loss_jump { /* the sequence began anew; whether it was a new connection is not judged yet */
	int64_t t_ns, idle_ns;
	uint32_t from, to, msn_before;
	bool open, sure_rate, sure_idle, message;
};

struct loss_story {
	struct psn_counts counts;
	struct loss_gap *gaps; /* owned */
	struct loss_run run;
	struct loss_hole holes[LOSS_HOLES];
	struct loss_hole forgotten; /* gaps and holes that found no room are within; empty: none */
	struct loss_nak nak, rnr;
	struct loss_jump jump;
	uint32_t late_psn; /* the newest that came late */
	bool late_valid, used, unreliable; /* unreliable: UC */
	uint16_t n_gaps, cap_gaps;
	/* runs that went on to the head, and single ones that did not: which way the sender repairs
	 */
	uint16_t went_back, went_alone;
	uint8_t n_holes, n_events;
	uint32_t copies, copy_event;
	uint64_t events_total;
	struct loss_causes causes;
	struct loss_event *events; /* room for LOSS_EVENTS_MAX; owned */
	/* of the stream, as of the newest packet that was looked at closely */
	uint32_t acked, next;
	int64_t newest_ns;
	bool id_usable; /* the sender counts its IP identification up */
	/* missing ones that came after the head had moved on since the one before; that head */
	uint32_t overtaken, overtaken_by;
	/* owned; its packets overtake each other. Then .gaps and .run are empty */
	struct loss_ring *ring;
};

struct loss_rare {
	uint32_t story; /* index + 1 */
	uint32_t peer; /* rare of the other direction: index + 1 */
	bool used;
	/* as requester: its newest READs */
	uint8_t n_reads;
	struct {
		uint32_t psn, octets;
	} reads[LOSS_READS];
	int64_t read_ns; /* newest request of any READ */
	/* as responder */
	uint32_t high; /* after the most advanced response */
	uint32_t mtu; /* payload of a response that is not the last; 0: not seen */
	bool valid, open; /* open: FIRST or MIDDLE came, not yet LAST */
	bool gap_open, again; /* again: the newest response had come before */
	struct loss_gap gap;
	uint32_t again_from,
		again_next; /* responses that come again: the first, and the next one */
};

struct loss {
	struct loss_story *stories;
	struct loss_rare *rares;
	uint32_t n_stories, cap_stories, n_rares, cap_rares;
	uint32_t *free_stories, *free_rares; /* indices that were let go */
	uint32_t n_free_stories, cap_free_stories, n_free_rares, cap_free_rares;
	struct loss_totals totals;
	/* of all requests */
	uint64_t in_order, forward, back, naks;
	/* in order as well, but not as sure in a sample: after a READ of one packet; UD */
	uint64_t read_in_order, ud_in_order, ud_steps;
	uint64_t step_sum;
	uint64_t steps[24]; /* by log2 */
	/* shortest time from a request to its answer, seen from here; 0: not known */
	int64_t round_ns;
	uintptr_t round_of; /* the stream that is measured; compared, never followed */
	uint32_t round_psn;
	int64_t round_from_ns;
	/* the longest silences of the whole capture, to tell a hole from a new connection */
	int64_t newest_ns, hole_from_ns, hole_to_ns;
	int64_t begin_ns; /* of the capture: its first packet of a connection; 0: none yet */
	uint64_t filled; /* late packets that were missing: nothing of their stream was left out */
	size_t ring_bytes, gap_bytes;
};

static inline bool loss_is_read(const struct roce_packet *packet)
{
	return (packet->opcode & 31) == 0x0c;
}

static inline uint32_t loss_when(int64_t t_ns) /* as stream_psn.when */
{
	return (uint32_t)((uint64_t)t_ns >> LOSS_WHEN_SHIFT);
}

static inline int64_t loss_idle_ns(const struct stream_psn *own, int64_t t_ns)
{
	return (int64_t)(uint32_t)(loss_when(t_ns) - own->when) << LOSS_WHEN_SHIFT;
}

/* loss_judge.c */
struct loss_rare *loss_rare_of(const struct loss *loss, const struct stream_psn *own);
struct loss_rare *loss_rare_get(struct loss *loss, struct stream_psn *own); /* NULL: full */
struct loss_story *loss_story_of(const struct loss *loss, const struct stream_psn *own);
struct loss_story *loss_story_get(struct loss *loss, struct stream_psn *own); /* NULL: full */
/* the story of @own, with what the judge reads of the stream; NULL: full */
struct loss_story *loss_story_now(struct loss *loss, struct stream_psn *own, int64_t t_ns);
void loss_step_note(struct loss *loss, uint32_t ahead); /* the PSN jumped ahead */
void loss_tell(struct loss *loss, struct loss_story *story, const struct loss_event *event);

/* a gap is let go while its packets are still missing */
enum loss_where loss_where(const struct loss *loss, const struct loss_story *story,
	const struct stream_psn *about, uint32_t psn);

void loss_judge_run(struct loss *loss, struct loss_story *story);
/* a READ request that came again: which responses were seen is known now, not later */
void loss_judge_reread(struct loss *loss, struct loss_rare *rare);
/* gaps that the sender has left behind for good */
void loss_judge_old(struct loss *loss, struct loss_story *story);
void loss_judge_acked(struct loss *loss, struct loss_story *story, uint32_t psn, int64_t t_ns);
/* the gap at @at has no better explanation any more: tell it and let it go */
void loss_judge_gap(struct loss *loss, struct loss_story *story, int at);
void loss_judge_jump(struct loss *loss, struct loss_story *story, bool msn_anew, bool msn_goes_on);
void loss_judge_rest(struct loss *loss, struct loss_story *story);
void loss_judge_response_gap(struct loss *loss, struct loss_rare *rare, enum loss_proof proof,
	uint32_t again_psn, int64_t t_ns);
/* with drops of its own the capture explains what nothing else does */
void loss_judge_drops(struct loss *loss);
struct loss_gap *loss_gap_at(struct loss_story *story, uint32_t psn);
/* why nothing is known of a gap or run */
enum loss_proof loss_why_unknown(const struct loss_story *story, enum loss_proof otherwise);
bool loss_answers_readable(const struct loss_story *story);
/* an event about PSNs that were missing here */
void loss_tell_gap(struct loss *loss, struct loss_story *story, const struct loss_event *event);
void loss_tell_run(struct loss *loss, struct loss_story *story); /* why .run came again */

/* loss_ring.c: a stream whose packets overtake each other */
/* true: @story has a ring now, which stands for its gaps and its run */
bool loss_ring_begin(struct loss *loss, struct stream_psn *own, struct loss_story *story);
void loss_ring_rest(struct loss *loss, struct loss_story *story); /* judges and frees it */
/* all up to the head of @own was seen; before each of the following */
void loss_ring_sync(
	struct loss *loss, const struct stream_psn *own, struct loss_story *story, int64_t t_ns);
void loss_ring_ahead(struct loss *loss, struct loss_story *story, uint32_t psn, int64_t t_ns);
void loss_ring_behind(struct loss *loss, struct stream_psn *own, struct loss_story *story,
	const struct roce_packet *packet, int64_t t_ns);
void loss_ring_nak(struct loss *loss, const struct stream_psn *about, struct loss_story *story,
	const struct loss_nak *nak);
