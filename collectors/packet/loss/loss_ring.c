/*
 * loss_ring - a queue pair whose packets overtake each other: adaptive routing, or packets sprayed
 * over paths. Many are missing at any time and few of them are lost, so each PSN has its state: a
 * ring of the newest ones, made when some came late and next to nothing again. What is still
 * missing is judged when it leaves the ring, or at the end. The causes and proofs are those of
 * loss_judge.c.
 *
 * Packets in order are not told to the ring: what lies between its head and the stream's was seen.
 */

#include "collectors/packet/loss/loss_state.h"

enum {
	RING_LEAST = 1024, /* PSNs */
	RING_MOST = 65536,
	RINGS_BYTES_MAX = 64 << 20, /* of all streams together */
	RING_LATE = 4, /* so many came late */
	RUN_NEAR = 64, /* packets of a run overtake each other, too */
	TICK_NS = 1024,
};

/* States of a PSN, and what else is known of it. */
enum { PSN_SEEN = 1, PSN_ASKED = 2, PSN_AGAIN = 4, PSN_LATE = 8 };

struct ring_psn {
	unsigned when : 28; /* missing: since when; in TICK_NS, modulo 275 s */
	unsigned state : 4;
};

struct loss_ring {
	uint32_t size, low, head; /* PSNs [low, head) are in it */
	uint32_t known_from; /* of all from here on it is known; behind .low they were seen */
	uint32_t overtaken; /* how far behind the head a late one came at most; at least RUN_NEAR */
	struct loss_nak nak; /* the newest that waits for what was asked for */
	uint32_t run_from, run_front, run_high; /* what is sent again: [from, front) came */
	int64_t run_ns;
	struct loss_nak run_nak;
	bool run;
	int64_t late_most_ns; /* the longest that one came late */
	struct loss_event early; /* what came late while no answer was seen; .n 0: nothing */
	struct ring_psn psn[];
};

static struct ring_psn *ring_at(struct loss_ring *ring, uint32_t psn)
{
	return &ring->psn[psn & (ring->size - 1)];
}

static bool ring_has(const struct loss_ring *ring, uint32_t psn)
{
	return psn_distance(psn, ring->low) >= 0 && psn_distance(psn, ring->head) < 0;
}

static unsigned ring_tick(int64_t t_ns)
{
	return (unsigned)((uint64_t)t_ns / TICK_NS) & 0xfffffff;
}

static int64_t ring_since_ns(const struct ring_psn *psn, int64_t t_ns)
{
	return (int64_t)((ring_tick(t_ns) - psn->when) & 0xfffffff) * TICK_NS;
}

static size_t ring_bytes(uint32_t size)
{
	return sizeof(struct loss_ring) + size * sizeof(struct ring_psn);
}

static struct loss_ring *ring_make(struct loss *loss, uint32_t size)
{
	if (loss->ring_bytes + ring_bytes(size) > RINGS_BYTES_MAX)
		return NULL;
	struct loss_ring *ring = rw_calloc(1, ring_bytes(size));
	ring->size = size;
	ring->overtaken = RUN_NEAR;
	loss->ring_bytes += ring_bytes(size);
	return ring;
}

static void loss_ring_free(struct loss *loss, struct loss_story *story)
{
	if (!story->ring)
		return;
	loss->ring_bytes -= ring_bytes(story->ring->size);
	free(story->ring);
	story->ring = NULL;
}

/* ring_grow - true when there is twice the room now. */
static bool ring_grow(struct loss *loss, struct loss_story *story)
{
	struct loss_ring *old = story->ring;
	if (old->size >= RING_MOST)
		return false;
	struct loss_ring *ring = ring_make(loss, old->size * 2);
	if (!ring)
		return false;
	const uint32_t size = ring->size;
	memcpy(ring, old, sizeof(*ring));
	ring->size = size;
	for (uint32_t psn = old->low; psn != old->head; psn = (psn + 1) & PSN_MASK)
		*ring_at(ring, psn) = *ring_at(old, psn);
	loss_ring_free(loss, story);
	story->ring = ring;
	return true;
}

/* ---- what leaves the ring ---------------------------------------------------- */

/* The missing ones from .low on, as one event; at most up to @end. */
static void ring_judge_missing(struct loss *loss, struct loss_story *story, uint32_t end)
{
	struct loss_ring *ring = story->ring;
	const struct ring_psn first = *ring_at(ring, ring->low);
	struct loss_event event = {
		.t_ns = story->newest_ns - ring_since_ns(&first, story->newest_ns),
		.psn = ring->low,
		.answer_psn = (story->acked - 1) & PSN_MASK,
		.answer_ns = ring_since_ns(&first, story->newest_ns)};
	const bool valid = story->acked >> LOSS_FLAG_SHIFT & ACKED_VALID;
	const bool acked = valid && psn_distance(story->acked & PSN_MASK, ring->low) > 0;
	while (ring->low != end) {
		const struct ring_psn *psn = ring_at(ring, ring->low);
		const bool still = valid && psn_distance(story->acked & PSN_MASK, ring->low) > 0;
		if (psn->state != first.state || still != acked)
			break;
		event.missing++;
		ring->known_from = ring->low = (ring->low + 1) & PSN_MASK;
	}
	if (first.state & PSN_ASKED) {
		event.proof = PROOF_BEFORE_NAK_ONLY;
		event.answer_psn = event.psn;
	} else if (acked) {
		event.proof = PROOF_CAPTURE_ACKED;
	} else {
		event.proof = (uint8_t)loss_why_unknown(story, PROOF_NO_EVIDENCE);
	}
	loss_tell_gap(loss, story, &event);
}

static void ring_leave(struct loss *loss, struct loss_story *story, uint32_t until)
{
	struct loss_ring *ring = story->ring;
	while (psn_distance(until, ring->low) > 0) {
		if (ring_at(ring, ring->low)->state & PSN_SEEN)
			ring->low = (ring->low + 1) & PSN_MASK;
		else
			ring_judge_missing(loss, story, until);
	}
}

/* ring_tell_late - without answers nobody knows whether it had been sent again: wait for one. */
static void ring_tell_late(struct loss *loss, struct loss_story *story)
{
	struct loss_event *late = &story->ring->early;
	if (late->n == 0)
		return;
	late->proof = PROOF_LATE_NO_NAK;
	if (!loss_answers_readable(story))
		late->proof = (uint8_t)loss_why_unknown(story, PROOF_LATE_UNCLEAR);
	loss_tell_gap(loss, story, late);
	*late = (struct loss_event){0};
}

void loss_ring_rest(struct loss *loss, struct loss_story *story)
{
	if (!story->ring)
		return;
	ring_tell_late(loss, story);
	ring_leave(loss, story, story->ring->head);
	loss_ring_free(loss, story);
}

/* ring_is_open - does a packet that may still come lie in the older half? */
static bool ring_is_open(const struct loss_story *story)
{
	struct loss_ring *ring = story->ring;
	const uint32_t until = (ring->low + ring->size / 2) & PSN_MASK;
	const bool valid = story->acked >> LOSS_FLAG_SHIFT & ACKED_VALID;
	for (uint32_t psn = ring->low; psn != until && psn != ring->head;
		psn = (psn + 1) & PSN_MASK) {
		const bool acked = valid && psn_distance(story->acked & PSN_MASK, psn) > 0;
		if (!(ring_at(ring, psn)->state & PSN_SEEN) && !acked)
			return true;
	}
	return false;
}

/* ring_push - the PSNs up to before @psn are @state now. */
static void ring_push(
	struct loss *loss, struct loss_story *story, uint32_t psn, unsigned state, int64_t t_ns)
{
	while (psn_distance(psn, story->ring->head) > 0) {
		struct loss_ring *ring = story->ring;
		if (((ring->head - ring->low) & PSN_MASK) == ring->size) {
			if (ring_is_open(story) && ring_grow(loss, story))
				continue;
			ring_leave(loss, story, (ring->low + ring->size / 2) & PSN_MASK);
		}
		*ring_at(ring, ring->head) =
			(struct ring_psn){.when = ring_tick(t_ns) & 0xfffffff, .state = state & 15};
		ring->head = (ring->head + 1) & PSN_MASK;
	}
}

/* ---- from a story to a ring ---------------------------------------------------- */

static bool ring_was_missing(
	const struct loss_story *story, const struct stream_psn *own, uint32_t psn)
{
	const int32_t back = psn_distance(own->next & PSN_MASK, psn);
	for (int i = 0; i < story->n_gaps; i++) {
		const struct loss_gap *gap = &story->gaps[i];
		if (psn_distance(psn, gap->from) < 0 || psn_distance(psn, gap->to) >= 0)
			continue;
		if (back > 0 && back <= 64)
			return !(own->seen >> (back - 1) & 1);
		return psn_distance(psn, gap->fill_next) >= 0;
	}
	return false;
}

bool loss_ring_begin(struct loss *loss, struct stream_psn *own, struct loss_story *story)
{
	const struct loss_rare *rare = loss_rare_of(loss, own);
	const int transport = loss_transport(own);
	const bool reliable = transport == 0 || transport == 5;
	/* nobody asked for anything, and the head moved on in between: who goes back sends nothing
	 * new */
	const bool overtaken = story->nak.t_ns == 0 && story->overtaken >= RING_LATE;
	const bool late = story->counts.reordered >= RING_LATE && !story->run.again &&
		story->counts.retransmits < story->counts.reordered;
	if (story->ring)
		return true;
	if ((!overtaken && !late) || !reliable || rare->n_reads || story->jump.open)
		return false;
	const uint32_t next = own->next & PSN_MASK;
	uint32_t low = next;
	if (story->n_gaps)
		low = story->gaps[0].from;
	uint32_t size = RING_LEAST;
	while (size < RING_MOST && (int32_t)size / 2 < psn_distance(next, low))
		size *= 2;
	struct loss_ring *ring = ring_make(loss, size);
	if (!ring || (int32_t)size < psn_distance(next, low)) {
		free(ring);
		return false;
	}
	story->ring = ring;
	ring->low = ring->head = ring->known_from = low;
	for (uint32_t psn = low; psn != next; psn = (psn + 1) & PSN_MASK) {
		struct ring_psn *at = ring_at(ring, psn);
		const struct loss_gap *gap = loss_gap_at(story, psn);
		*at = (struct ring_psn){.state = PSN_SEEN};
		if (gap && ring_was_missing(story, own, psn))
			*at = (struct ring_psn){.when = ring_tick(gap->t_ns) & 0xfffffff,
				.state = gap->nak && psn == gap->from ? PSN_ASKED : 0};
	}
	ring->head = next;
	ring->nak = story->nak;
	const uint32_t run = story->run.late + story->run.again;
	story->counts.reordered += run;
	loss->totals.psn.reordered += run;
	story->run = (struct loss_run){0};
	story->n_gaps = 0;
	return true;
}

/* ---- what comes behind the head ------------------------------------------------- */

/* ring_runs - until the head has moved on. */
static bool ring_runs(const struct loss_ring *ring)
{
	return ring->run &&
		psn_distance(ring->head, ring->run_high) <= 2 * (int32_t)ring->overtaken;
}

static void ring_run_begin(
	struct loss_ring *ring, const struct loss_nak *nak, uint32_t psn, int64_t t_ns)
{
	uint32_t from = psn;
	if (nak->valid && psn_distance(nak->psn, psn) < 0)
		from = nak->psn;
	/* of the run before some may still be on a slow path */
	if (!ring_runs(ring) || psn_distance(from, ring->run_from) < 0)
		ring->run_from = from;
	ring->run = true;
	ring->run_front = (psn + 1) & PSN_MASK;
	ring->run_high = ring->head;
	ring->run_ns = t_ns;
	ring->run_nak = *nak;
}

/* Is @psn part of what is being sent again? */
static bool ring_in_run(const struct loss_ring *ring, uint32_t psn)
{
	return ring_runs(ring) && psn_distance(psn, ring->run_from) >= 0 &&
		(psn_distance(psn, ring->run_high) < 0 ||
			psn_distance(psn, ring->run_front) <= (int32_t)ring->overtaken);
}

static void ring_run_goes_on(struct loss_ring *ring, uint32_t psn)
{
	if (psn_distance(psn, ring->run_front) >= 0)
		ring->run_front = (psn + 1) & PSN_MASK;
}

static void ring_tell_filled(struct loss *loss, struct loss_story *story,
	const struct loss_nak *nak, uint32_t psn, int64_t since_ns, int64_t t_ns)
{
	struct loss_event event = {.t_ns = t_ns - since_ns,
		.psn = psn,
		.missing = 1,
		.proof = PROOF_BEFORE_NAK,
		.answer_psn = nak->psn,
		.again_psn = psn,
		.answer_ns = nak->t_ns - (t_ns - since_ns),
		.again_ns = since_ns,
		.n = 1};
	loss_tell_gap(loss, story, &event);
}

static void ring_late(
	struct loss *loss, struct loss_story *story, uint32_t psn, int64_t since_ns, int64_t t_ns)
{
	struct loss_event *late = &story->ring->early;
	story->counts.reordered++;
	loss->totals.psn.reordered++;
	if (late->n == 0)
		*late = (struct loss_event){.t_ns = t_ns - since_ns, .psn = psn};
	late->missing++;
	late->n++;
	if (since_ns > late->again_ns)
		late->again_ns = since_ns;
	if (loss_answers_readable(story))
		ring_tell_late(loss, story);
}

/* ring_fills - a missing one came: sent again, or late. */
static void ring_fills(struct loss *loss, struct loss_story *story, uint32_t psn, int64_t t_ns)
{
	struct loss_ring *ring = story->ring;
	struct ring_psn *at = ring_at(ring, psn);
	const int64_t since_ns = ring_since_ns(at, t_ns);
	const bool asked = at->state & PSN_ASKED;
	/* it was missing when the receiver asked, for longer than any came late */
	const bool in_run = ring_runs(ring) && ring->run_nak.valid &&
		psn_distance(psn, ring->run_from) >= 0 && psn_distance(psn, ring->run_front) <= 0 &&
		since_ns > t_ns - ring->run_nak.t_ns && since_ns > ring->late_most_ns;
	*at = (struct ring_psn){.when = ring_tick(t_ns) & 0xfffffff, .state = PSN_SEEN};
	loss->filled++;
	if (!asked && !in_run) {
		const uint32_t back = (ring->head - psn) & PSN_MASK;
		if (back > ring->overtaken)
			ring->overtaken = back;
		if (since_ns > ring->late_most_ns)
			ring->late_most_ns = since_ns;
		at->state |= PSN_LATE;
		ring_late(loss, story, psn, since_ns, t_ns);
		return;
	}
	at->state |= PSN_AGAIN;
	story->counts.retransmits++;
	loss->totals.psn.retransmits++;
	if (asked && ring->nak.valid) {
		ring_run_begin(ring, &ring->nak, psn, t_ns);
		ring->nak.valid = false;
	}
	ring_run_goes_on(ring, psn);
	ring_tell_filled(loss, story, &ring->run_nak, psn, since_ns, t_ns);
}

/* ring_tell_again - a run of packets that were seen before began. */
static void ring_tell_again(struct loss *loss, struct stream_psn *own, struct loss_story *story,
	const struct roce_packet *packet, int64_t t_ns)
{
	struct loss_ring *ring = story->ring;
	/* the judge of runs reads the run of the story */
	story->nak = ring->nak;
	story->run = (struct loss_run){.t_ns = t_ns,
		.idle_ns = loss_idle_ns(own, t_ns),
		.from = packet->psn,
		.expect = (packet->psn + 1) & PSN_MASK,
		.again = 1,
		.acked_before = own->acked,
		.nak = ring->nak,
		.rnr = story->rnr};
	/* what was asked for is missing still: it is told when it comes, or when it leaves */
	const bool missing = ring->nak.valid && ring_has(ring, ring->nak.psn) &&
		!(ring_at(ring, ring->nak.psn)->state & PSN_SEEN);
	if (!missing)
		loss_tell_run(loss, story);
	ring_run_begin(ring, &ring->nak, packet->psn, t_ns);
	ring->nak.valid = false;
	story->run = (struct loss_run){0};
}

void loss_ring_behind(struct loss *loss, struct stream_psn *own, struct loss_story *story,
	const struct roce_packet *packet, int64_t t_ns)
{
	struct loss_ring *ring = story->ring;
	const uint32_t psn = packet->psn;
	loss->back++;
	own->when = loss_when(t_ns);
	if (psn_distance(psn, own->birth) < 0 &&
		psn_distance(own->next & PSN_MASK, own->birth) > 0 && !ring->nak.valid) {
		story->counts.reordered++; /* before the first one that was seen */
		loss->totals.psn.reordered++;
		return;
	}
	if (ring_has(ring, psn) && !(ring_at(ring, psn)->state & PSN_SEEN)) {
		ring_fills(loss, story, psn, t_ns);
		return;
	}
	story->counts.retransmits++;
	loss->totals.psn.retransmits++;
	if (ring_has(ring, psn))
		*ring_at(ring, psn) = (struct ring_psn){
			.when = ring_tick(t_ns) & 0xfffffff, .state = PSN_SEEN | PSN_AGAIN};
	if (ring_in_run(ring, psn) && !(ring->nak.valid && ring->nak.psn == psn)) {
		ring_run_goes_on(ring, psn);
		return;
	}
	ring_tell_again(loss, own, story, packet, t_ns);
}

/* ---- new ones, and NAKs --------------------------------------------------------- */

void loss_ring_sync(
	struct loss *loss, const struct stream_psn *own, struct loss_story *story, int64_t t_ns)
{
	ring_push(loss, story, own->next & PSN_MASK, PSN_SEEN, t_ns);
}

void loss_ring_ahead(struct loss *loss, struct loss_story *story, uint32_t psn, int64_t t_ns)
{
	struct loss_ring *ring = story->ring;
	const uint32_t from = ring->head;
	ring_push(loss, story, psn, 0, t_ns);
	ring = story->ring;
	if (ring->nak.valid && psn_distance(ring->nak.psn, from) >= 0 &&
		ring_has(ring, ring->nak.psn))
		ring_at(ring, ring->nak.psn)->state |= PSN_ASKED;
}

void loss_ring_nak(struct loss *loss, const struct stream_psn *about, struct loss_story *story,
	const struct loss_nak *nak)
{
	struct loss_ring *ring = story->ring;
	struct loss_nak asked = *nak;
	/* asked for once more before anything came of it */
	if (ring->nak.valid && ring->nak.psn == nak->psn)
		return;
	if (!ring_has(ring, nak->psn)) {
		const bool behind = psn_distance(nak->psn, ring->head) < 0;
		if (behind && psn_distance(nak->psn, ring->known_from) >= 0)
			asked.where = WHERE_HERE;
		else if (behind && psn_distance(nak->psn, about->birth) >= 0)
			asked.where = WHERE_FORGOTTEN;
		ring->nak = asked;
		return;
	}
	struct ring_psn *at = ring_at(ring, nak->psn);
	asked.where = WHERE_HERE;
	/* the receiver had not seen what just came again when it asked */
	if (at->state & PSN_AGAIN && ring_since_ns(at, nak->t_ns) < loss->round_ns)
		return;
	if (!(at->state & PSN_SEEN)) {
		at->state |= PSN_ASKED;
		asked.where = WHERE_MISSING;
	} else if (at->state & PSN_LATE && ring_since_ns(at, nak->t_ns) < loss->round_ns) {
		asked.where = WHERE_FORGOTTEN; /* what came late may have been sent again */
	} else if (ring->run_nak.valid && ring->run_nak.psn == nak->psn &&
		!(at->state & PSN_AGAIN) && ring->run) {
		asked.where = WHERE_MISSING; /* what came again began behind it */
	}
	at->state &= PSN_SEEN | PSN_ASKED;
	ring->nak = asked;
}
