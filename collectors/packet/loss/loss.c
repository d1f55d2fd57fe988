/* loss - follows the sequence of each stream. A request in order is a compare and an increment on
 * 32 bytes; everything else is told to the story of the stream and judged in loss_judge.c. */
#include "collectors/packet/loss/loss.h"

#include "collectors/packet/loss/loss_state.h"

#define PSN_BACK_MAX 65536
#define PSN_AHEAD_MAX 1048576

/* loss_hole - what was missing when it was sent again. A receiver that waits for a packet drops all
 * that come behind it: a packet that passed here the first time and is lost on its way the second
 * time was lost before this place, although no gap shows it. */

enum { BEGAN_BEFORE_NS = 1000000 }; /* what a sender sends at once is on its way for less */

static bool hole_has(const struct loss_hole *hole, uint32_t psn)
{
	return psn_distance(psn, hole->from) >= 0 && psn_distance(psn, hole->to) < 0;
}

static void hole_drop(struct loss_story *story, int at)
{
	for (int i = at; i + 1 < story->n_holes; i++)
		story->holes[i] = story->holes[i + 1];
	story->n_holes--;
}

static void loss_hole_forget(struct loss_story *story, uint32_t from, uint32_t to)
{
	struct loss_hole *forgotten = &story->forgotten;
	const bool had = psn_distance(story->acked & PSN_MASK, forgotten->to) >= 0;
	if (forgotten->from == forgotten->to || had) {
		*forgotten = (struct loss_hole){.from = from, .to = to};
		return;
	}
	if (psn_distance(from, forgotten->from) < 0)
		forgotten->from = from;
	if (psn_distance(to, forgotten->to) > 0)
		forgotten->to = to;
}

/* The receiver asks no more for what it acknowledged. */
static void hole_make_room(struct loss_story *story)
{
	if (!(story->acked >> LOSS_FLAG_SHIFT & ACKED_VALID))
		return;
	for (int i = story->n_holes - 1; i >= 0; i--)
		if (psn_distance(story->acked & PSN_MASK, story->holes[i].to) >= 0)
			hole_drop(story, i);
}

/* [@from, @to) was missing when it was sent again */
static void loss_hole_add(struct loss_story *story, uint32_t from, uint32_t to, bool doubt)
{
	hole_make_room(story);
	if (story->n_holes == LOSS_HOLES) {
		loss_hole_forget(story, story->holes[0].from, story->holes[0].to);
		hole_drop(story, 0);
	}
	story->holes[story->n_holes++] = (struct loss_hole){.from = from, .to = to, .doubt = doubt};
}

/* @psn came again: what is missing behind it is told by what comes now */
static void loss_hole_end(struct loss_story *story, uint32_t psn)
{
	for (int i = story->n_holes - 1; i >= 0; i--) {
		struct loss_hole *hole = &story->holes[i];
		if (!hole_has(hole, psn))
			continue;
		if (psn == hole->from)
			hole_drop(story, i);
		else
			hole->to = psn;
	}
}

/* where_birth - of a packet from before the first one of the stream. */
static enum loss_where where_birth(const struct loss *loss, const struct stream_psn *about)
{
	const uint32_t began = (uint32_t)((uint64_t)loss->begin_ns >> LOSS_WHEN_SHIFT);
	const int64_t after_ns = (int64_t)(uint32_t)(about->birth_when - began) << LOSS_WHEN_SHIFT;
	if (after_ns > BEGAN_BEFORE_NS)
		return WHERE_BEFORE_BIRTH;
	return WHERE_BEFORE_CAPTURE;
}

enum loss_where loss_where(const struct loss *loss, const struct loss_story *story,
	const struct stream_psn *about, uint32_t psn)
{
	const int32_t back = psn_distance(about->next & PSN_MASK, psn);
	for (int i = 0; i < story->n_gaps; i++) {
		const struct loss_gap *gap = &story->gaps[i];
		if (psn_distance(psn, gap->fill_next) >= 0 && psn_distance(psn, gap->to) < 0)
			return WHERE_MISSING;
	}
	for (int i = 0; i < story->n_holes; i++) {
		if (!hole_has(&story->holes[i], psn))
			continue;
		if (story->holes[i].doubt)
			return WHERE_FORGOTTEN;
		return WHERE_MISSING;
	}
	if (!(about->next >> LOSS_FLAG_SHIFT & NEXT_VALID) || psn_distance(psn, about->birth) < 0)
		return where_birth(loss, about);
	const bool unseen = back > 0 && back <= 64 && !(about->seen >> (back - 1) & 1);
	if (unseen || hole_has(&story->forgotten, psn))
		return WHERE_FORGOTTEN;
	return WHERE_HERE;
}

/* loss_read - READs: which PSNs their responses use, and what became of the responses. Request and
 * responses are two streams; each knows the rare part of the other. */

enum { MTU_LEAST = 256, MTU_MOST = 4096 };

/* ---- READ requests ---------------------------------------------------------- */

static void loss_read_note(
	struct loss *loss, struct stream_psn *own, const struct roce_packet *packet, int64_t t_ns)
{
	own->next |= (uint32_t)NEXT_AFTER_READ << LOSS_FLAG_SHIFT;
	struct loss_rare *rare = loss_rare_get(loss, own);
	if (!rare)
		return;
	rare->read_ns = t_ns;
	for (int i = LOSS_READS - 1; i > 0; i--)
		rare->reads[i] = rare->reads[i - 1];
	rare->reads[0].psn = packet->psn;
	rare->reads[0].octets = READ_OCTETS_UNKNOWN;
	if (packet->has_reth)
		rare->reads[0].octets = packet->reth_bytes;
	if (rare->n_reads < LOSS_READS)
		rare->n_reads++;
}

/* PSNs that the responses of a READ of @octets use; at least one. */
static uint32_t read_span(uint32_t octets, uint32_t mtu)
{
	const uint32_t span = octets / mtu + (octets % mtu != 0);
	if (span == 0)
		return 1;
	return span;
}

/* The path MTU as the responses show it, else from MTU_LEAST to MTU_MOST. */
static void read_mtus(const struct loss *loss, const struct loss_rare *rare, uint32_t *ret_least,
	uint32_t *ret_most)
{
	*ret_least = MTU_LEAST;
	*ret_most = MTU_MOST;
	if (rare->peer && loss->rares[rare->peer - 1].mtu)
		*ret_least = *ret_most = loss->rares[rare->peer - 1].mtu;
}

/* read_explains - did the newest READ use the @ahead PSNs that were jumped over, for its responses?
 * *ret_missing: how many it did not use. The path MTU is one of five. */
static bool loss_read_explains(const struct loss *loss, const struct stream_psn *own,
	uint32_t ahead, uint32_t *ret_missing)
{
	const struct loss_rare *rare = loss_rare_of(loss, own);
	*ret_missing = 0;
	if (!rare || rare->n_reads == 0 || rare->reads[0].octets == READ_OCTETS_UNKNOWN)
		return true;
	uint32_t most = 0, least_mtu, most_mtu;
	read_mtus(loss, rare, &least_mtu, &most_mtu);
	for (uint32_t mtu = least_mtu; mtu <= most_mtu; mtu *= 2) {
		const uint32_t span = read_span(rare->reads[0].octets, mtu);
		if (span == ahead + 1)
			return true;
		if (span <= ahead && span > most)
			most = span;
	}
	if (most == 0)
		return true;
	*ret_missing = ahead + 1 - most;
	return false;
}

/* How many PSNs the newest READ uses; where that is not known, those seen up to @high, and it may
 * be more: *ret_whole is false. */
static uint32_t read_end(
	const struct loss *loss, const struct loss_rare *rare, uint32_t high, bool *ret_whole)
{
	const uint32_t mtu = loss->rares[rare->peer - 1].mtu, octets = rare->reads[0].octets;
	const uint32_t seen = (high - rare->reads[0].psn) & PSN_MASK;
	*ret_whole = mtu && octets != READ_OCTETS_UNKNOWN && read_span(octets, mtu) >= seen;
	if (!*ret_whole)
		return seen;
	return read_span(octets, mtu);
}

/*
 * read_part - is this READ request the rest of the newest one, asked for again from the middle of
 * its responses on? Then what it asks for ends where that one ended. Returns the PSNs that the
 * newest one uses, or 0. *ret_whole: it does not use more of them.
 */
static uint32_t loss_read_part(const struct loss *loss, const struct stream_psn *own,
	const struct roce_packet *packet, bool *ret_whole)
{
	const struct loss_rare *rare = loss_rare_of(loss, own);
	uint32_t least_mtu, most_mtu, missing;
	*ret_whole = true;
	if (!loss_is_read(packet) || !rare || rare->n_reads == 0)
		return 0;
	/* its PSN is one of responses that were seen already */
	if (rare->peer && loss->rares[rare->peer - 1].valid) {
		const uint32_t high = loss->rares[rare->peer - 1].high;
		if (psn_distance(high, packet->psn) > 0 &&
			psn_distance(packet->psn, rare->reads[0].psn) > 0)
			return read_end(loss, rare, high, ret_whole);
	}
	if (!packet->has_reth)
		return 0;
	const uint32_t octets = rare->reads[0].octets;
	const uint32_t from = (packet->psn - rare->reads[0].psn) & PSN_MASK;
	read_mtus(loss, rare, &least_mtu, &most_mtu);
	if (from == 0)
		return 0;
	/* with the MTU unknown a new READ could look like that */
	if (least_mtu != most_mtu && loss_read_explains(loss, own, from - 1, &missing))
		return 0;
	for (uint32_t mtu = least_mtu; mtu <= most_mtu; mtu *= 2)
		if (octets != READ_OCTETS_UNKNOWN && from < read_span(octets, mtu) &&
			(uint64_t)from * mtu + packet->reth_bytes == octets)
			return read_span(octets, mtu);
	return 0;
}

/* ---- responses -------------------------------------------------------------- */

static void loss_read_pair(
	struct loss *loss, struct stream_psn *own, const struct stream_psn *about)
{
	struct loss_rare *here = loss_rare_of(loss, own);
	struct loss_rare *there = loss_rare_of(loss, about);
	if (!here || !there || here == there || here->peer == about->rare)
		return;
	if (here->peer)
		loss->rares[here->peer - 1].peer = 0;
	if (there->peer)
		loss->rares[there->peer - 1].peer = 0;
	here->peer = about->rare;
	there->peer = own->rare;
}

/* Where the responses of the READ that @psn answers begin; false when that READ is not known. */
static bool response_start(
	const struct loss *loss, const struct loss_rare *rare, uint32_t psn, uint32_t *ret)
{
	if (!rare->peer)
		return false;
	const struct loss_rare *requester = &loss->rares[rare->peer - 1];
	for (int i = 0; i < requester->n_reads; i++)
		if (psn_distance(psn, requester->reads[i].psn) >= 0) {
			*ret = requester->reads[i].psn;
			return true;
		}
	return false;
}

static void response_gap(struct loss *loss, struct stream_psn *own, uint32_t from,
	const struct roce_packet *packet, int64_t t_ns)
{
	struct loss_rare *rare = loss_rare_of(loss, own);
	if (rare->gap_open)
		loss_judge_response_gap(loss, rare, PROOF_NO_EVIDENCE, 0, 0);
	const uint32_t width = (packet->psn - from) & PSN_MASK;
	loss->totals.psn.gaps++;
	loss->totals.psn.missing += width;
	struct loss_story *story = loss_story_now(loss, own, t_ns);
	if (!story)
		return;
	story->counts.gaps++;
	story->counts.missing += width;
	rare->gap_open = true;
	rare->gap = (struct loss_gap){
		.t_ns = t_ns, .from = from, .to = packet->psn, .id_after = packet->ip_id};
}

static bool reads_readable(const struct loss_rare *requester)
{
	return requester->n_reads && requester->reads[0].octets != READ_OCTETS_UNKNOWN;
}

/* response_behind - a response that is not the most advanced one: late, or sent again. */
static void response_behind(
	struct loss *loss, struct stream_psn *own, const struct roce_packet *packet, int64_t t_ns)
{
	struct loss_rare *rare = loss_rare_of(loss, own);
	struct loss_story *story = loss_story_now(loss, own, t_ns);
	if (!story)
		return;
	const bool fills = rare->gap_open && psn_distance(packet->psn, rare->gap.from) >= 0 &&
		psn_distance(packet->psn, rare->gap.to) < 0;
	const bool goes_on = rare->again && packet->psn == rare->again_next;
	if (!fills && !goes_on)
		rare->again_from = packet->psn;
	rare->again = !fills || goes_on;
	rare->again_next = (packet->psn + 1) & PSN_MASK;
	rare->gap.touched |= fills && goes_on;
	if (!fills) {
		story->counts.retransmits++;
		loss->totals.psn.retransmits++;
		return;
	}
	rare->gap.filled++;
	if (rare->gap.filled < ((rare->gap.to - rare->gap.from) & PSN_MASK))
		return;
	if (rare->gap.touched) {
		story->counts.retransmits += rare->gap.filled;
		loss->totals.psn.retransmits += rare->gap.filled;
		loss_judge_response_gap(loss, rare, PROOF_READ_WITH, rare->again_from, t_ns);
		return;
	}
	story->counts.reordered += rare->gap.filled;
	loss->totals.psn.reordered += rare->gap.filled;
	enum loss_proof proof = PROOF_LATE_UNCLEAR;
	/* a request for it would have been seen, and known for what it is */
	if (rare->peer && reads_readable(&loss->rares[rare->peer - 1]))
		proof = PROOF_LATE_NO_NAK;
	loss_judge_response_gap(loss, rare, proof, packet->psn, t_ns);
}

/* Behind by so much that it is no response of a READ still under way. */
static bool response_anew(const struct loss_rare *rare, uint32_t psn)
{
	const int32_t ahead = psn_distance(psn, rare->high);
	return ahead < -PSN_BACK_MAX || ahead > PSN_AHEAD_MAX;
}

static void loss_response_add(
	struct loss *loss, struct stream_psn *own, const struct roce_packet *packet, int64_t t_ns)
{
	struct loss_rare *rare = loss_rare_of(loss, own);
	const unsigned operation = packet->opcode & 31;
	const bool first = operation == 0x0d || operation == 0x10;
	const bool last = operation == 0x0f || operation == 0x10;
	const uint32_t after = (packet->psn + 1) & PSN_MASK;
	uint32_t start;
	if (!rare->valid || (first && response_anew(rare, packet->psn))) {
		rare->valid = true;
		rare->high = packet->psn;
		/* the first ones of this READ are missing */
		if (!first && response_start(loss, rare, packet->psn, &start))
			rare->high = start;
	}
	if (packet->payload_bytes && !last)
		rare->mtu = packet->payload_bytes;
	const int32_t ahead = psn_distance(packet->psn, rare->high);
	uint32_t from = rare->high;
	bool missing = ahead > 0 && ahead <= PSN_AHEAD_MAX && (rare->open || !first);
	/* between messages other requests use PSNs, too: count from the start of this READ */
	if (missing && !rare->open && response_start(loss, rare, packet->psn, &start) &&
		psn_distance(start, from) > 0)
		from = start;
	missing = missing && from != packet->psn;
	if (missing)
		loss_step_note(loss, (packet->psn - from) & PSN_MASK);
	else
		loss->in_order += !first && ahead == 0;
	if (missing)
		response_gap(loss, own, from, packet, t_ns);
	else if (ahead < 0)
		response_behind(loss, own, packet, t_ns);
	rare = loss_rare_of(loss, own);
	if (ahead >= 0) {
		rare->high = after;
		rare->again = false;
	}
	rare->open = !last;
}

enum {
	TRANSPORT_RC = 0,
	TRANSPORT_UC = 1,
	TRANSPORT_UD = 3,
	TRANSPORT_XRC = 5,
	NAK_SEQUENCE = 0, /* code of a NAK: PSN sequence error */
	ID_STEP_MOST = 4096, /* a host that counts all its packets in one counter */
	HOLE_NS = 10000000, /* a silence of the whole capture that is remembered */
	PACKETS_PER_US = 50, /* more than any queue pair sends: 800 Gb/s of 2 KiB packets */
	ANEW_BACK = 64, /* so far behind what was acknowledged nobody sends again */
	MSN_ANEW = 64, /* message numbers of a new connection are small */
	MSN_BACK = 4,
	ROUND_WAIT_NS = 1000000,
	SELECTIVE_BACK =
		4, /* one packet sent again out of more is no go-back that lost the others */
};

/* ---- the packet in order --------------------------------------------------- */

static void note_id(struct stream_psn *own, uint16_t id)
{
	const uint16_t step = (uint16_t)(id - own->ip_id);
	own->ip_id = id;
	if (step >= 1 && step <= ID_STEP_MOST)
		own->id_steps++;
	else
		own->id_jumps++;
	if (own->id_steps == UINT8_MAX || own->id_jumps == UINT8_MAX) {
		own->id_steps /= 2;
		own->id_jumps /= 2;
	}
}

static void go_on(struct stream_psn *own, const struct roce_packet *packet, int64_t t_ns)
{
	own->seen = own->seen << 1 | 1;
	own->next = ((packet->psn + 1) & PSN_MASK) | NEXT_VALID << LOSS_FLAG_SHIFT;
	own->acked &= ~((uint32_t)ACKED_ASKED << LOSS_FLAG_SHIFT);
	if (packet->ack_req)
		own->acked |= (uint32_t)ACKED_ASKED << LOSS_FLAG_SHIFT;
	own->when = loss_when(t_ns);
	note_id(own, packet->ip_id);
}

static void anchor(struct stream_psn *own, const struct roce_packet *packet, int64_t t_ns)
{
	own->seen = 0;
	own->id_steps = own->id_jumps = 0;
	own->birth = packet->psn;
	own->birth_when = loss_when(t_ns);
	go_on(own, packet, t_ns);
}

/* A message begins with this packet: FIRST, ONLY, READ or atomic. */
static bool begins_message(const struct roce_packet *packet)
{
	static const uint32_t begins = 1u << 0x00 | 1u << 0x04 | 1u << 0x05 | 1u << 0x06 |
		1u << 0x0a | 1u << 0x0b | 1u << 0x0c | 1u << 0x13 | 1u << 0x14 | 1u << 0x17;
	return begins >> (packet->opcode & 31) & 1;
}

/* ---- stories ---------------------------------------------------------------- */

/* settle - which flags say that something is open. */
static void settle(const struct loss *loss, struct stream_psn *own)
{
	const struct loss_story *story = loss_story_of(loss, own);
	own->next &= ~((uint32_t)NEXT_RUN << LOSS_FLAG_SHIFT);
	own->acked &= ~((uint32_t)ACKED_WATCH << LOSS_FLAG_SHIFT);
	if (!story)
		return;
	if (story->run.open || story->n_gaps)
		own->next |= (uint32_t)NEXT_RUN << LOSS_FLAG_SHIFT;
	if (story->run.open || story->n_gaps || story->jump.open || story->ring)
		own->acked |= (uint32_t)ACKED_WATCH << LOSS_FLAG_SHIFT;
}

/* run_left - a new packet comes before the run has reached it: the rest of the run is missing, or
 * the sender sent only a part of it again. */
static void run_left(struct loss *loss, const struct stream_psn *own)
{
	struct loss_story *story = loss_story_of(loss, own);
	const uint32_t next = own->next & PSN_MASK;
	if (!story || !story->run.open)
		return;
	const struct loss_run *run = &story->run;
	const uint32_t whole = (next - run->from) & PSN_MASK, n = run->again + run->late;
	const bool alone = n == 1 && whole > SELECTIVE_BACK;
	if (psn_distance(run->expect, next) >= 0) {
		story->went_back += n > 1 && story->went_back < UINT16_MAX;
		return;
	}
	story->went_alone += alone && story->went_alone < UINT16_MAX;
	/* only what was asked for: this sender always does */
	if (alone || story->went_alone > story->went_back)
		return;
	const bool sure = story->went_alone == 0 && story->went_back > 1 && run->nak.valid;
	loss_hole_add(story, run->expect, next, !sure && (n == 1 || n * 2 < whole));
}

/* run_close - the sequence goes on: what is open from before is judged as far as it can be. */
static void run_close(struct loss *loss, struct stream_psn *own, int64_t t_ns)
{
	struct loss_story *story = loss_story_of(loss, own);
	if (!story || (!story->run.open && story->n_gaps == 0))
		return;
	story = loss_story_now(loss, own, t_ns);
	loss_judge_run(loss, story);
	loss_judge_old(loss, story);
}

/* ---- ahead, behind ---------------------------------------------------------- */

static void shift_seen(struct stream_psn *own, uint32_t ahead, bool missing)
{
	if (ahead >= 63) {
		own->seen = 0;
		if (!missing)
			own->seen = UINT64_MAX;
		return;
	}
	own->seen <<= ahead;
	if (!missing)
		own->seen |= (1ull << ahead) - 1;
}

/* gap_room - for one more open gap. */
static bool gap_room(struct loss *loss, struct loss_story *story)
{
	if (story->n_gaps < story->cap_gaps)
		return true;
	uint16_t cap = LOSS_GAPS;
	if (story->cap_gaps)
		cap = story->cap_gaps * 2;
	const size_t more = (size_t)(cap - story->cap_gaps) * sizeof(*story->gaps);
	if (story->cap_gaps &&
		(cap > LOSS_GAPS_MANY || loss->gap_bytes + more > LOSS_GAPS_BYTES_MAX))
		return false;
	if (story->cap_gaps)
		loss->gap_bytes += more;
	story->gaps = rw_realloc(story->gaps, cap * sizeof(*story->gaps));
	story->cap_gaps = cap;
	return true;
}

/* gap_open - [@from, packet's PSN) is missing. */
static void gap_open(struct loss *loss, struct stream_psn *own, const struct roce_packet *packet,
	uint32_t from, int64_t t_ns)
{
	const uint32_t width = (packet->psn - from) & PSN_MASK;
	struct loss_story *story = loss_story_now(loss, own, t_ns);
	loss->totals.psn.gaps++;
	loss->totals.psn.missing += width;
	if (!story)
		return;
	story->counts.gaps++;
	story->counts.missing += width;
	story->unreliable = packet->opcode >> 5 == TRANSPORT_UC;
	if (!gap_room(loss, story)) {
		loss_hole_forget(story, story->gaps[0].from, story->gaps[0].to);
		loss_judge_gap(loss, story, 0);
	}
	/* it was asked for before a packet showed that it is missing */
	const bool asked = story->nak.valid && psn_distance(story->nak.psn, from) >= 0 &&
		psn_distance(story->nak.psn, packet->psn) < 0;
	if (asked)
		story->nak.where = WHERE_MISSING;
	story->gaps[story->n_gaps++] = (struct loss_gap){.t_ns = t_ns,
		.from = from,
		.to = packet->psn,
		.fill_next = from,
		.id_after = packet->ip_id};
	/* an answer came before this packet did: the missing ones came right after those seen */
	const uint32_t acked = own->acked & PSN_MASK;
	if (!(own->acked >> LOSS_FLAG_SHIFT & ACKED_VALID) || psn_distance(acked, packet->psn) < 0)
		return;
	story->gaps[story->n_gaps - 1].t_ns = t_ns - loss_idle_ns(own, t_ns);
	story->gaps[story->n_gaps - 1].early = true;
	loss_judge_acked(loss, story, acked, t_ns);
}

static void jump_anew(
	struct loss *loss, struct stream_psn *own, const struct roce_packet *packet, int64_t t_ns)
{
	loss->totals.psn.restarts++;
	run_close(loss, own, t_ns);
	struct loss_story *story = loss_story_now(loss, own, t_ns);
	if (!story) {
		anchor(own, packet, t_ns);
		return;
	}
	loss_ring_rest(loss, story);
	loss_judge_rest(loss, story);
	story->counts.restarts++;
	const int64_t idle_ns = loss_idle_ns(own, t_ns);
	const uint32_t next = own->next & PSN_MASK;
	const int64_t ahead = (packet->psn - next) & PSN_MASK;
	const int64_t hole_ns = loss->hole_to_ns - loss->hole_from_ns;
	const bool hole = loss->hole_to_ns > t_ns - idle_ns && hole_ns > idle_ns / 2;
	story->jump = (struct loss_jump){.open = true,
		.t_ns = t_ns,
		.idle_ns = idle_ns,
		.from = (next - 1) & PSN_MASK,
		.to = packet->psn,
		.msn_before = own->msn,
		.message = begins_message(packet),
		.sure_rate = ahead > idle_ns / 1000 * PACKETS_PER_US + PACKETS_PER_US,
		.sure_idle = !hole && idle_ns >= HOLE_NS};
	story->nak.valid = story->rnr.valid = story->late_valid = false;
	story->n_holes = 0;
	story->forgotten = (struct loss_hole){0};
	own->acked &= ~PSN_MASK;
	own->acked |= packet->psn;
	anchor(own, packet, t_ns);
}

/* ring_ahead - true: @own has a ring, and was told there. */
static bool ring_ahead(struct loss *loss, struct stream_psn *own, const struct roce_packet *packet,
	uint32_t ahead, int64_t t_ns)
{
	struct loss_story *story = loss_story_of(loss, own);
	if (!story || !loss_ring_begin(loss, own, story))
		return false;
	loss_story_now(loss, own, t_ns);
	loss_ring_sync(loss, own, story, t_ns);
	loss_step_note(loss, ahead);
	story->counts.gaps++;
	story->counts.missing += ahead;
	loss->totals.psn.gaps++;
	loss->totals.psn.missing += ahead;
	loss_ring_ahead(loss, story, packet->psn, t_ns);
	shift_seen(own, ahead, true);
	go_on(own, packet, t_ns);
	return true;
}

static void ahead_of(struct loss *loss, struct stream_psn *own, const struct roce_packet *packet,
	uint32_t ahead, int64_t t_ns)
{
	const uint32_t next = own->next & PSN_MASK;
	uint32_t missing = ahead;
	bool lost = true;
	if (ring_ahead(loss, own, packet, ahead, t_ns))
		return;
	run_left(loss, own);
	run_close(loss, own, t_ns);
	if (own->next >> LOSS_FLAG_SHIFT & NEXT_AFTER_READ)
		lost = !loss_read_explains(loss, own, ahead, &missing);
	else
		loss_step_note(loss, ahead);
	if (lost) {
		shift_seen(own, ahead - missing, false);
		shift_seen(own, missing, true);
		gap_open(loss, own, packet, (next + ahead - missing) & PSN_MASK, t_ns);
	} else {
		shift_seen(own, ahead, false);
	}
	go_on(own, packet, t_ns);
}

/* The first ones that a NAK asked for were lost again. */
static void run_lacks(struct loss_story *story)
{
	const struct loss_run *run = &story->run;
	const int32_t lacks = psn_distance(run->from, run->nak.psn);
	if (run->nak.valid && lacks > 0 && lacks <= 64)
		loss_hole_add(story, run->nak.psn, run->from, false);
}

static void run_open(struct loss_story *story, const struct stream_psn *own,
	const struct roce_packet *packet, int64_t t_ns)
{
	story->run = (struct loss_run){.open = true,
		.t_ns = t_ns,
		.idle_ns = loss_idle_ns(own, t_ns),
		.from = packet->psn,
		.expect = packet->psn,
		.acked_before = own->acked,
		.msn_before = own->msn,
		.nak = story->nak,
		.rnr = story->rnr,
		.read = loss_is_read(packet),
		.starts_message = begins_message(packet)};
	/* the receiver has had since what it asked for */
	if (own->acked >> LOSS_FLAG_SHIFT & ACKED_VALID &&
		psn_distance(own->acked & PSN_MASK, story->nak.psn) > 0)
		story->run.nak.valid = false;
	run_lacks(story);
}

/* The late packet fills a gap: how many PSNs of it? A READ request stands for its responses. */
static void gap_fill(struct loss *loss, const struct stream_psn *own, struct loss_gap *gap,
	const struct roce_packet *packet, int64_t t_ns)
{
	uint32_t n = 1;
	if (loss_is_read(packet))
		n = (gap->to - packet->psn) & PSN_MASK;
	gap->filled += n;
	loss->filled += n;
	gap->fill_next = (packet->psn + 1) & PSN_MASK;
	gap->fill_ns = t_ns;
	gap->fill_id = packet->ip_id;
	gap->touched = true;
}

static void behind_of(struct loss *loss, struct stream_psn *own, const struct roce_packet *packet,
	uint32_t back, int64_t t_ns)
{
	struct loss_story *story = loss_story_now(loss, own, t_ns);
	const int64_t idle_ns = loss_idle_ns(own, t_ns);
	if (story && loss_ring_begin(loss, own, story)) {
		loss_ring_sync(loss, own, story, t_ns);
		loss_ring_behind(loss, own, story, packet, t_ns);
		settle(loss, own);
		return;
	}
	loss->back++;
	if (!story)
		return;
	uint64_t bit = 0;
	if (back <= 64)
		bit = 1ull << (back - 1);
	struct loss_gap *gap = loss_gap_at(story, packet->psn);
	bool late = bit && !(own->seen & bit);
	if (!bit && gap)
		late = psn_distance(packet->psn, gap->fill_next) >= 0;
	own->seen |= bit;
	/* twice in a row, at once and unasked: what it is nobody can tell */
	if (back == 1 && !late && !story->run.open && idle_ns < 100000 && !story->nak.valid &&
		!story->rnr.valid && !loss_is_read(packet)) {
		story->counts.duplicates++;
		loss->totals.psn.duplicates++;
		own->when = loss_when(t_ns);
		return;
	}
	const bool goes_back = story->run.open && psn_distance(packet->psn, story->run.expect) < 0;
	/* the receiver asked for it since the run began */
	const bool asked = story->run.open && story->nak.valid && story->nak.psn == packet->psn &&
		story->nak.t_ns > story->run.t_ns;
	if ((goes_back || asked) && (story->run.again || !late)) {
		run_close(loss, own, t_ns);
		story = loss_story_now(loss, own, t_ns);
		gap = loss_gap_at(story, packet->psn);
	}
	if (!story->run.open) {
		run_open(story, own, packet, t_ns);
		loss_judge_reread(loss, loss_rare_of(loss, own));
		story = loss_story_of(loss, own);
		gap = loss_gap_at(story, packet->psn);
	}
	if (psn_distance(packet->psn, story->run.expect) > 0)
		loss_hole_add(story, story->run.expect, packet->psn, false);
	loss_hole_end(story, packet->psn);
	if (gap && late) {
		story->overtaken += own->next != story->overtaken_by;
		story->overtaken_by = own->next;
		gap_fill(loss, own, gap, packet, t_ns);
	}
	story->run.late += late;
	story->run.again += !late;
	if (psn_distance((packet->psn + 1) & PSN_MASK, story->run.expect) > 0) {
		story->run.expect = (packet->psn + 1) & PSN_MASK;
		story->run.newest_ns = t_ns;
	}
	own->when = loss_when(t_ns);
	own->ip_id = packet->ip_id;
	settle(loss, own);
}

/* The newest READ was asked for again in part: its responses used all PSNs up to its end. */
static void pass_read(const struct loss *loss, struct stream_psn *own, uint32_t span, bool whole)
{
	struct loss_rare *rare = loss_rare_of(loss, own);
	const uint32_t end = (rare->reads[0].psn + span) & PSN_MASK;
	shift_seen(own, (end - own->next) & PSN_MASK, false);
	own->next = end | (own->next & ~PSN_MASK);
	if (whole)
		own->next &= ~((uint32_t)NEXT_AFTER_READ << LOSS_FLAG_SHIFT);
	else
		rare->reads[0].octets = READ_OCTETS_UNKNOWN;
}

static void request_odd(
	struct loss *loss, struct stream_psn *own, const struct roce_packet *packet, int64_t t_ns)
{
	struct loss_story *odd = loss_story_of(loss, own);
	if (odd && odd->ring && loss_is_read(packet)) /* READs are judged by their gaps */
		loss_ring_rest(loss, odd);
	if (own->next >> LOSS_FLAG_SHIFT & NEXT_AFTER_READ) {
		bool whole;
		const uint32_t span = loss_read_part(loss, own, packet, &whole);
		if (span)
			pass_read(loss, own, span, whole);
	}
	const uint32_t next = own->next & PSN_MASK;
	if (!(own->next >> LOSS_FLAG_SHIFT & NEXT_VALID)) {
		anchor(own, packet, t_ns);
	} else {
		const int32_t ahead = psn_distance(packet->psn, next);
		const bool far =
			ahead > PSN_AHEAD_MAX || (ahead > PSN_BACK_MAX && begins_message(packet));
		if (far || ahead < -PSN_BACK_MAX) {
			jump_anew(loss, own, packet, t_ns);
		} else if (ahead < 0) {
			behind_of(loss, own, packet, (uint32_t)-ahead, t_ns);
			if (loss_is_read(packet)) {
				struct loss_rare *rare = loss_rare_of(loss, own);
				if (rare)
					rare->read_ns = t_ns;
			}
			return;
		} else if (ahead > 0) {
			ahead_of(loss, own, packet, (uint32_t)ahead, t_ns);
		} else {
			const bool read = own->next >> LOSS_FLAG_SHIFT & NEXT_AFTER_READ;
			loss->in_order += !read;
			loss->read_in_order += read;
			run_left(loss, own);
			run_close(loss, own, t_ns);
			go_on(own, packet, t_ns);
		}
	}
	settle(loss, own);
	if (loss_is_read(packet))
		loss_read_note(loss, own, packet, t_ns);
}

/* ---- the way in -------------------------------------------------------------- */

/* covered - the receiver had every request before @psn. */
static void covered(struct loss *loss, struct stream_psn *about, uint32_t psn, int64_t t_ns)
{
	const uint32_t flags = about->acked >> LOSS_FLAG_SHIFT;
	if (!(flags & ACKED_VALID) || psn_distance(psn, about->acked & PSN_MASK) > 0)
		about->acked = psn | (flags | ACKED_VALID) << LOSS_FLAG_SHIFT;
	if (!(flags & ACKED_WATCH))
		return;
	struct loss_story *story = loss_story_of(loss, about);
	if (!story)
		return;
	story->acked = about->acked;
	loss_judge_acked(loss, story, psn, t_ns);
}

static void response_data(struct loss *loss, struct stream_psn *own, struct stream_psn *about,
	const struct roce_packet *packet, int64_t t_ns)
{
	if (!loss_rare_get(loss, own))
		return;
	const bool middle = (packet->opcode & 31) == 0x0e;
	if (about && about != own && (!middle || !loss_rare_of(loss, own)->peer)) {
		loss_read_pair(loss, own, about);
		if (packet->has_aeth)
			about->acked |= (uint32_t)ACKED_READABLE << LOSS_FLAG_SHIFT;
		covered(loss, about, packet->psn, t_ns);
	}
	loss_response_add(loss, own, packet, t_ns);
}

static void note_time(struct loss *loss, int64_t t_ns)
{
	if (loss->begin_ns == 0)
		loss->begin_ns = t_ns;
	if (t_ns - loss->newest_ns >= HOLE_NS && loss->newest_ns) {
		loss->hole_from_ns = loss->newest_ns;
		loss->hole_to_ns = t_ns;
	}
	if (t_ns > loss->newest_ns)
		loss->newest_ns = t_ns;
}

static void round_begin(struct loss *loss, const struct stream_psn *own,
	const struct roce_packet *packet, int64_t t_ns)
{
	if (loss->round_of && t_ns - loss->round_from_ns < ROUND_WAIT_NS)
		return;
	loss->round_of = (uintptr_t)own;
	loss->round_psn = packet->psn;
	loss->round_from_ns = t_ns;
}

/* A UD sender counts on over all destinations, so that a jump proves nothing; a step of one does.
 */
static void ud_send(struct loss *loss, struct stream_psn *own, const struct roce_packet *packet)
{
	loss->ud_steps += own->next >> LOSS_FLAG_SHIFT & NEXT_VALID;
	loss->ud_in_order += own->next == (packet->psn | NEXT_VALID << LOSS_FLAG_SHIFT);
	own->next = ((packet->psn + 1) & PSN_MASK) | NEXT_VALID << LOSS_FLAG_SHIFT;
}

void loss_data(struct loss *loss, struct stream_psn *own, struct stream_psn *about,
	const struct roce_packet *packet, int64_t t_ns)
{
	const unsigned transport = packet->opcode >> 5;
	own->acked |= (uint32_t)(transport + 1) << (LOSS_FLAG_SHIFT + ACKED_TRANSPORT);
	if (transport == TRANSPORT_UD)
		ud_send(loss, own, packet);
	if (transport != TRANSPORT_RC && transport != TRANSPORT_UC && transport != TRANSPORT_XRC)
		return;
	note_time(loss, t_ns);
	if (roce_opcode_role(packet->opcode) != ROLE_REQUEST) {
		response_data(loss, own, about, packet, t_ns);
		return;
	}
	const bool in_order = own->next == (packet->psn | NEXT_VALID << LOSS_FLAG_SHIFT);
	if (in_order && !loss_is_read(packet)) {
		loss->in_order++;
		go_on(own, packet, t_ns);
	} else {
		request_odd(loss, own, packet, t_ns);
	}
	if (packet->ack_req)
		round_begin(loss, own, packet, t_ns);
}

/* ---- answers ------------------------------------------------------------------ */

/* run_acked - an ACK while packets come again: for one that has not come again yet, the receiver
 * had it; with message numbers that begin anew, it is a new connection. */
static void run_acked(struct loss *loss, struct stream_psn *about, struct loss_story *story,
	const struct roce_packet *packet, int64_t t_ns)
{
	struct loss_run *run = &story->run;
	const uint32_t next = about->next & PSN_MASK;
	/* the last one had arrived and asked for an ACK: without that, one behind it may be lost;
	 * and a receiver that keeps what comes ahead acknowledges all of it when the lost one comes
	 */
	const bool last = ((packet->psn + 1) & PSN_MASK) == next && story->went_alone == 0 &&
		(about->acked >> LOSS_FLAG_SHIFT & ACKED_ASKED);
	if (psn_distance(packet->psn, run->expect) >= 0 && last && !run->ahead) {
		run->ahead = true;
		run->ahead_psn = packet->psn;
	}
	const bool far_back = run->starts_message && !story->nak.valid && !story->rnr.valid &&
		psn_distance(run->acked_before & PSN_MASK, run->from) > ANEW_BACK;
	const bool anew = run->msn_before && packet->msn <= MSN_ANEW &&
		psn_distance(packet->msn, run->msn_before - 1) < -MSN_BACK;
	if (!far_back || !anew)
		return;
	story->jump = (struct loss_jump){.open = true,
		.t_ns = run->t_ns,
		.idle_ns = run->idle_ns,
		.from = (next - 1) & PSN_MASK,
		.to = run->from};
	about->next = run->expect | NEXT_VALID << LOSS_FLAG_SHIFT;
	about->seen = UINT64_MAX;
	about->acked = (about->acked & ~PSN_MASK) | ((packet->psn + 1) & PSN_MASK);
	story->run.open = false;
	story->n_gaps = 0;
	story->counts.restarts++;
	loss->totals.psn.restarts++;
	loss_judge_jump(loss, story, true, false);
}

static void answer_watched(struct loss *loss, struct stream_psn *about,
	const struct roce_packet *packet, uint32_t msn_before, int64_t t_ns)
{
	struct loss_story *story = loss_story_of(loss, about);
	if (!story)
		return;
	story->acked = about->acked;
	if (story->jump.open && packet->has_aeth) {
		const uint32_t before = story->jump.msn_before;
		const int32_t step = psn_distance(packet->msn, before - 1);
		const bool anew = before && packet->msn <= MSN_ANEW && step < -MSN_BACK;
		const bool goes_on = before > 1 && step > 0;
		if (anew || goes_on || before == 0)
			loss_judge_jump(loss, story, anew, goes_on);
	}
	if (story->run.open && packet->has_aeth && aeth_kind(packet->syndrome) == AETH_ACK)
		run_acked(loss, about, story, packet, t_ns);
}

/* run_crossed - did @psn come again so lately that the receiver had not seen it when it asked? One
 * that keeps what comes ahead asks for the next one while the sender goes on unasked. */
static bool run_crossed(
	const struct loss *loss, const struct loss_story *story, uint32_t psn, int64_t t_ns)
{
	const struct loss_run *run = &story->run;
	int64_t came_ns = run->t_ns;
	if (((psn + 1) & PSN_MASK) == run->expect)
		came_ns = run->newest_ns;
	return run->open && story->went_alone && psn_distance(psn, run->from) >= 0 &&
		psn_distance(psn, run->expect) < 0 && t_ns - came_ns <= loss->round_ns;
}

static void nak_add(
	struct loss *loss, struct stream_psn *about, const struct roce_packet *packet, int64_t t_ns)
{
	const bool rnr = aeth_kind(packet->syndrome) == AETH_RNR_NAK;
	loss->naks += !rnr;
	if (!rnr && (packet->syndrome & 31) != NAK_SEQUENCE)
		return;
	/* what came again until now has nothing to do with it */
	struct loss_story *story = loss_story_now(loss, about, t_ns);
	if (!story)
		return;
	struct loss_nak nak = {.t_ns = t_ns,
		.psn = packet->psn,
		.code = packet->syndrome & 31,
		.where = (uint8_t)loss_where(loss, story, about, packet->psn),
		.valid = true};
	if (rnr) {
		story->rnr = nak;
		return;
	}
	if (nak.where == WHERE_HERE && run_crossed(loss, story, packet->psn, t_ns))
		nak.where = WHERE_FORGOTTEN;
	if (story->ring) {
		loss_ring_sync(loss, about, story, t_ns);
		loss_ring_nak(loss, about, story, &nak);
		return;
	}
	story->nak = nak;
	struct loss_gap *gap = loss_gap_at(story, packet->psn);
	if (gap && !gap->nak && gap->filled == 0) {
		gap->nak = true;
		gap->nak_ns = t_ns;
	}
}

void loss_answer(
	struct loss *loss, struct stream_psn *about, const struct roce_packet *packet, int64_t t_ns)
{
	uint32_t flag = ACKED_CUT, psn = packet->psn;
	const enum aeth_kind kind = aeth_kind(packet->syndrome);
	const int32_t ahead = psn_distance(psn, about->next & PSN_MASK);
	note_time(loss, t_ns);
	/* of another connection, or not about this one at all */
	if (ahead > PSN_BACK_MAX || ahead < -PSN_AHEAD_MAX)
		return;
	if (packet->has_aeth)
		flag = ACKED_READABLE;
	about->acked |= flag << LOSS_FLAG_SHIFT;
	if (packet->has_aeth && kind == AETH_ACK)
		psn = (psn + 1) & PSN_MASK;
	if (loss->round_of == (uintptr_t)about && psn_distance(psn, loss->round_psn) > 0) {
		const int64_t round_ns = t_ns - loss->round_from_ns;
		if (round_ns > 0 && (loss->round_ns == 0 || round_ns < loss->round_ns))
			loss->round_ns = round_ns;
		loss->round_of = 0;
	}
	const uint32_t msn_before = about->msn;
	if (packet->has_aeth)
		about->msn = packet->msn + 1;
	covered(loss, about, psn, t_ns);
	if (packet->has_aeth && (kind == AETH_NAK || kind == AETH_RNR_NAK))
		nak_add(loss, about, packet, t_ns);
	if (about->acked >> LOSS_FLAG_SHIFT & ACKED_WATCH)
		answer_watched(loss, about, packet, msn_before, t_ns);
	if (about->acked >> LOSS_FLAG_SHIFT & ACKED_WATCH)
		settle(loss, about);
}

/* ---- copies -------------------------------------------------------------------- */

void loss_copied(
	struct loss *loss, struct stream_psn *own, const struct roce_packet *packet, int64_t t_ns)
{
	struct loss_story *story = loss_story_get(loss, own);
	if (!story)
		return;
	story->copies++;
	if (story->copy_event) {
		story->events[story->copy_event - 1].n = story->copies;
		return;
	}
	const struct loss_event event = {
		.t_ns = t_ns, .psn = packet->psn, .proof = PROOF_COPIED, .n = story->copies};
	loss_tell(loss, story, &event);
	for (uint32_t i = 0; i < story->n_events; i++)
		if (story->events[i].proof == PROOF_COPIED)
			story->copy_event = i + 1;
}

static void loss_gaps_free(struct loss *loss, struct loss_story *story)
{
	if (story->cap_gaps > LOSS_GAPS)
		loss->gap_bytes -= (size_t)(story->cap_gaps - LOSS_GAPS) * sizeof(*story->gaps);
	free(story->gaps);
	story->gaps = NULL;
	story->cap_gaps = 0;
}

/* ---- the end ------------------------------------------------------------------ */

void loss_drop(struct loss *loss, struct stream_psn *own)
{
	struct loss_rare *rare = loss_rare_of(loss, own);
	if (!rare)
		return;
	if (rare->story) {
		struct loss_story *story = &loss->stories[rare->story - 1];
		loss_ring_rest(loss, story);
		loss_judge_rest(loss, story);
		loss_gaps_free(loss, story);
		free(story->events);
		*story = (struct loss_story){0};
		rw_grow(loss->free_stories, loss->n_free_stories, loss->cap_free_stories);
		loss->free_stories[loss->n_free_stories++] = rare->story - 1;
	}
	if (rare->peer)
		loss->rares[rare->peer - 1].peer = 0;
	*rare = (struct loss_rare){0};
	rw_grow(loss->free_rares, loss->n_free_rares, loss->cap_free_rares);
	loss->free_rares[loss->n_free_rares++] = own->rare - 1;
	own->rare = 0;
}

void loss_end(struct loss *loss, uint64_t drops)
{
	for (uint32_t i = 0; i < loss->n_rares; i++) {
		struct loss_rare *rare = &loss->rares[i];
		if (rare->used && rare->gap_open)
			loss_judge_response_gap(loss, rare, PROOF_NO_EVIDENCE, 0, 0);
		if (!rare->used || !rare->story)
			continue;
		loss_ring_rest(loss, &loss->stories[rare->story - 1]);
		loss_judge_rest(loss, &loss->stories[rare->story - 1]);
	}
	if (drops)
		loss_judge_drops(loss);
}
