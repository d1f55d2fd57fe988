/*
 * loss_judge - from what was seen around a gap or a run of packets that came again to its cause.
 * Rules stand in the order in which they are tried; the first that proves something decides.
 */
#include "agent/base/cleanup.h"
#include "collectors/packet/loss_state.h"

enum {
	ID_NEAR = 4096, /* identifications further apart say nothing about order */
	SOON_NS = 2000, /* no answer goes to the sender and back in less */
	LATE_NS = 1000000, /* no path is slower than another by more */
	IDLE_NS = 100000, /* the shortest timer of a sender */
	IDLE_ROUNDS = 8, /* and so many round trips */
	WENT_ON_NS = 100000000, /* a sender that misses an acknowledgement does not go on so long */
	WENT_ON_PSNS = 1000,
	GAP_OLD_PSNS = 65536, /* so far behind nothing is judged any more */
	READ_MTU_LEAST = 256,
};

struct loss_gap *loss_gap_at(struct loss_story *story, uint32_t psn)
{
	for (int i = 0; i < story->n_gaps; i++) {
		struct loss_gap *gap = &story->gaps[i];
		if (psn_distance(psn, gap->from) >= 0 && psn_distance(psn, gap->to) < 0)
			return gap;
	}
	return NULL;
}

void loss_gap_close(struct loss_story *story, int at)
{
	for (int i = at; i + 1 < story->n_gaps; i++)
		story->gaps[i] = story->gaps[i + 1];
	story->n_gaps--;
}

static uint32_t gap_width(const struct loss_gap *gap)
{
	return (gap->to - gap->from) & PSN_MASK;
}

static void tell_gap(struct loss *loss, struct loss_story *story, const struct loss_gap *gap,
	struct loss_event *event)
{
	event->t_ns = gap->t_ns;
	event->psn = gap->from;
	event->missing = gap_width(gap);
	const enum loss_cause cause = loss_event_cause(event);
	loss->totals.judged_gaps += cause != LOSS_UNKNOWN;
	loss->totals.capture_gaps += cause == LOSS_CAPTURE;
	loss_tell(loss, story, event);
}

/* Why nothing is known of a gap or run. */
static enum loss_proof why_unknown(const struct loss_story *story, enum loss_proof otherwise)
{
	const uint32_t flags = story->acked >> LOSS_FLAG_SHIFT;
	if (flags & ACKED_CUT)
		return PROOF_AETH_CUT;
	if (!(flags & ACKED_READABLE))
		return PROOF_NO_ANSWERS;
	return otherwise;
}

static bool answers_readable(const struct loss_story *story)
{
	const uint32_t flags = story->acked >> LOSS_FLAG_SHIFT;
	return (flags & ACKED_READABLE) && !(flags & ACKED_CUT);
}

/* ---- gaps ----------------------------------------------------------------- */

/* went_on - a reliable sender did not go back for so long that the receiver must have had it. */
static bool went_on(const struct loss_story *story, const struct loss_gap *gap)
{
	const int64_t after_ns = story->newest_ns - gap->t_ns;
	const int32_t psns = psn_distance(story->next & PSN_MASK, gap->to);
	return !story->unreliable && !gap->touched && after_ns >= WENT_ON_NS &&
		psns >= WENT_ON_PSNS;
}

void loss_judge_old(struct loss *loss, struct loss_story *story)
{
	while (story->n_gaps) {
		const struct loss_gap *gap = &story->gaps[0];
		const int32_t psns = psn_distance(story->next & PSN_MASK, gap->to);
		const bool unreliable = story->unreliable && psns >= WENT_ON_PSNS;
		if (!went_on(story, gap) && !unreliable && psns < GAP_OLD_PSNS)
			return;
		loss_judge_gap(loss, story, 0);
	}
}

void loss_judge_gap(struct loss *loss, struct loss_story *story, int at)
{
	const struct loss_gap gap = story->gaps[at];
	loss_gap_close(story, at);
	struct loss_event event = {.proof = PROOF_NO_EVIDENCE,
		.answer_psn = gap.from,
		.answer_ns = gap.nak_ns - gap.t_ns,
		.again_ns = story->newest_ns - gap.t_ns};
	if (gap.doubt)
		event.proof = PROOF_NOT_NAMED;
	else if (gap.nak)
		event.proof = PROOF_BEFORE_NAK_ONLY;
	else if (went_on(story, &gap))
		event.proof = PROOF_CAPTURE_WENT_ON;
	else
		event.proof = (uint8_t)why_unknown(story, PROOF_NO_EVIDENCE);
	tell_gap(loss, story, &gap, &event);
}

/* All before @psn had arrived at @t_ns. */
void loss_judge_acked(struct loss *loss, struct loss_story *story, uint32_t psn, int64_t t_ns)
{
	for (int i = story->n_gaps - 1; i >= 0; i--) {
		struct loss_gap *gap = &story->gaps[i];
		if (psn_distance(psn, gap->from) <= 0 || gap->touched)
			continue;
		if (gap->nak || gap->doubt) {
			if (psn_distance(psn, gap->to) >= 0)
				loss_judge_gap(loss, story, i);
			continue;
		}
		struct loss_event event = {.proof = PROOF_CAPTURE_ACKED,
			.answer_psn = (psn - 1) & PSN_MASK,
			.answer_ns = t_ns - gap->t_ns};
		if (gap->early)
			event.proof = PROOF_CAPTURE_EARLY;
		struct loss_gap known = *gap;
		if (psn_distance(psn, gap->to) < 0) {
			/* the first part arrived; of the rest nothing is known yet */
			known.to = psn;
			gap->from = psn;
			gap->fill_next = psn;
			gap->doubt = true;
		} else {
			loss_gap_close(story, i);
		}
		tell_gap(loss, story, &known, &event);
	}
}

/* ---- late ones ------------------------------------------------------------ */

static enum loss_proof late_proof(
	const struct loss *loss, const struct loss_story *story, const struct loss_gap *gap)
{
	const int64_t late_ns = gap->fill_ns - gap->t_ns;
	const int16_t id = (int16_t)(gap->fill_id - gap->id_after);
	const bool id_known = story->id_usable && id != 0 && id > -ID_NEAR && id < ID_NEAR;
	int64_t soon_ns = SOON_NS;
	if (loss->round_ns > soon_ns)
		soon_ns = loss->round_ns;
	if (id_known && id < 0)
		return PROOF_LATE_ID;
	if (gap->nak)
		return PROOF_ONLY_MISSING_NAK;
	if (id_known)
		return PROOF_ONLY_MISSING_ID;
	if (late_ns <= soon_ns)
		return PROOF_LATE_SOON;
	if (late_ns <= LATE_NS && answers_readable(story))
		return PROOF_LATE_NO_NAK;
	return why_unknown(story, PROOF_LATE_UNCLEAR);
}

/* judge_late - missing ones came, and nothing else did. A gap that is filled in part stays open. */
static void judge_late(struct loss *loss, struct loss_story *story)
{
	bool resent = false;
	for (int i = story->n_gaps - 1; i >= 0; i--) {
		struct loss_gap *gap = &story->gaps[i];
		if (!gap->touched)
			continue;
		gap->touched = false;
		if (gap->filled < gap_width(gap))
			continue;
		struct loss_event event = {.proof = (uint8_t)late_proof(loss, story, gap),
			.answer_psn = gap->from,
			.answer_ns = gap->nak_ns - gap->t_ns,
			.again_psn = gap->from,
			.again_ns = gap->fill_ns - gap->t_ns,
			.n = gap->filled};
		resent |= loss_event_cause(&event) == LOSS_SELECTIVE;
		if (loss_event_cause(&event) == LOSS_REORDERED) {
			story->late_valid = true;
			story->late_psn = gap->from;
		}
		const struct loss_gap told = *gap;
		loss_gap_close(story, i);
		tell_gap(loss, story, &told, &event);
	}
	uint64_t *count = &story->counts.reordered;
	uint64_t *total = &loss->totals.psn.reordered;
	if (resent) {
		count = &story->counts.retransmits;
		total = &loss->totals.psn.retransmits;
	}
	*count += story->run.late;
	*total += story->run.late;
}

/* ---- what was sent again -------------------------------------------------- */

/* nak_explains - did the receiver ask for this run? The sender begins with the PSN it was asked
 * for, or before; when that one was lost again, the run begins right after it. */
static bool nak_explains(const struct loss_nak *nak, const struct loss_run *run)
{
	return nak->valid && psn_distance(nak->psn, run->expect) < 0 &&
		psn_distance(nak->psn, run->from) >= -64;
}

/* nak_used - one NAK explains one run. */
static void nak_used(struct loss_nak *newest, const struct loss_nak *used)
{
	if (newest->t_ns == used->t_ns)
		newest->valid = false;
}

static int first_touched(const struct loss_story *story)
{
	for (int i = 0; i < story->n_gaps; i++)
		if (story->gaps[i].touched)
			return i;
	return -1;
}

/* read_proof - a READ request came again. @responder: the other direction, NULL when it was never
 * seen. */
static enum loss_proof read_proof(struct loss_rare *rare, struct loss_rare *responder,
	const struct loss_run *run, struct loss_event *event)
{
	if (responder && responder->gap_open && psn_distance(responder->gap.from, run->from) >= 0)
		return PROOF_READ_GAP;
	if (responder && responder->valid && psn_distance(responder->high, run->from) > 0) {
		event->answer_psn = (responder->high - 1) & PSN_MASK;
		return PROOF_READ_SEEN;
	}
	for (int i = 0; i < rare->n_reads; i++) {
		const int32_t within = psn_distance(run->from, rare->reads[i].psn);
		if (within == 0)
			return PROOF_NO_REASON;
		if (within > 0 && (uint32_t)within <= rare->reads[i].octets / READ_MTU_LEAST)
			return PROOF_READ_PART;
	}
	return PROOF_NO_REASON;
}

static bool idle_long(const struct loss *loss, const struct loss_run *run)
{
	return run->idle_ns >= IDLE_NS && run->idle_ns >= IDLE_ROUNDS * loss->round_ns;
}

/* nak_proof - of a run that filled no gap. */
static enum loss_proof nak_proof(enum loss_where where)
{
	switch (where) {
	case WHERE_MISSING: return PROOF_BEFORE_AGAIN;
	case WHERE_BEFORE_BIRTH: return PROOF_BEFORE_BIRTH;
	case WHERE_BEFORE_CAPTURE: return PROOF_NAK_BIRTH;
	case WHERE_FORGOTTEN: return PROOF_NAK_FORGOTTEN;
	case WHERE_HERE: break;
	}
	return PROOF_BEYOND_NAK;
}

/* resend_proof - why a run with packets that were seen before came. */
static enum loss_proof resend_proof(
	const struct loss *loss, struct loss_story *story, struct loss_event *event)
{
	const struct loss_run *run = &story->run;
	const int gap = first_touched(story);
	if (nak_explains(&run->rnr, run)) {
		event->answer_psn = run->rnr.psn;
		event->code = run->rnr.code;
		event->again_ns = run->t_ns - run->rnr.t_ns;
		nak_used(&story->rnr, &run->rnr);
		return PROOF_RNR_NAK;
	}
	if (nak_explains(&run->nak, run)) {
		event->answer_psn = run->nak.psn;
		event->again_ns = run->t_ns - run->nak.t_ns;
		nak_used(&story->nak, &run->nak);
		if (gap >= 0)
			return PROOF_BEFORE_NAK;
		if (story->late_valid && story->late_psn == event->answer_psn)
			return PROOF_LATE_NAKED;
		return nak_proof((enum loss_where)run->nak.where);
	}
	event->again_ns = run->idle_ns;
	/* what was cut may have been a NAK: all before it came, and the sender was asked to go back
	 */
	const bool cut = story->acked >> LOSS_FLAG_SHIFT & ACKED_CUT;
	if (gap < 0 && !cut && psn_distance(run->acked_before & PSN_MASK, run->from) > 0 &&
		(run->acked_before >> LOSS_FLAG_SHIFT & ACKED_VALID)) {
		event->answer_psn = (run->acked_before - 1) & PSN_MASK;
		return PROOF_ACK_PASSED;
	}
	if (gap < 0 && !cut && run->ahead) {
		event->answer_psn = run->ahead_psn;
		return PROOF_ACK_AHEAD;
	}
	if (answers_readable(story) && idle_long(loss, run))
		return PROOF_TIMER;
	if (gap >= 0 && story->gaps[gap].from == run->from && !idle_long(loss, run)) {
		event->again_ns = run->t_ns - story->gaps[gap].t_ns;
		return PROOF_BEFORE_FIRST;
	}
	return why_unknown(story, PROOF_NO_REASON);
}

/* tell_resend - one event for each gap that the run filled, or one for the run. */
static void tell_resend(struct loss *loss, struct loss_story *story, struct loss_event *event)
{
	bool told = false;
	const struct loss_run *run = &story->run;
	const enum loss_proof proof = (enum loss_proof)event->proof;
	for (int i = 0; i < story->n_gaps;) {
		if (!story->gaps[i].touched) {
			i++;
			continue;
		}
		const struct loss_gap gap = story->gaps[i];
		loss_gap_close(story, i);
		struct loss_event one = *event;
		if (proof == PROOF_BEFORE_NAK) {
			one.answer_ns = run->nak.t_ns - gap.t_ns;
			one.again_ns = run->t_ns - gap.t_ns;
		}
		if (gap.doubt)
			one.proof = PROOF_NOT_NAMED;
		tell_gap(loss, story, &gap, &one);
		told = true;
	}
	if (told)
		return;
	event->t_ns = run->t_ns;
	event->psn = run->from;
	if (proof == PROOF_BEFORE_AGAIN)
		event->psn = event->answer_psn;
	loss_tell(loss, story, event);
}

/* tell_read - the event stands with the responses, which were lost, when they were seen at all. */
static void tell_read(struct loss *loss, struct loss_rare *responder, struct loss_story *story,
	struct loss_event *event)
{
	const struct loss_run *run = &story->run;
	event->t_ns = run->t_ns;
	event->psn = run->from;
	if (event->proof == PROOF_READ_GAP) {
		loss_judge_response_gap(loss, responder, PROOF_READ_GAP, run->from, run->t_ns);
		return;
	}
	struct loss_story *with = NULL;
	if (responder)
		with = loss_story_of_rare(loss, responder);
	if (!with)
		with = story;
	loss_tell(loss, with, event);
}

void loss_judge_reread(struct loss *loss, struct loss_rare *rare)
{
	struct loss_rare *responder = NULL;
	struct loss_story *story = &loss->stories[rare->story - 1];
	if (!story->run.read || nak_explains(&story->run.nak, &story->run) ||
		nak_explains(&story->run.rnr, &story->run))
		return;
	if (rare->peer)
		responder = &loss->rares[rare->peer - 1];
	struct loss_event event = {
		.again_psn = story->run.from, .again_ns = story->run.idle_ns, .n = 1};
	event.proof = (uint8_t)read_proof(rare, responder, &story->run, &event);
	if (event.proof == PROOF_NO_REASON)
		return;
	story->run.told = true;
	/* room for the story of the responses: the stories may move */
	if (responder)
		loss_story_of_rare(loss, responder);
	tell_read(loss, responder, &loss->stories[rare->story - 1], &event);
}

static void run_counts(struct loss *loss, struct loss_story *story)
{
	const uint64_t n = (uint64_t)story->run.again + story->run.late;
	story->counts.retransmits += n;
	loss->totals.psn.retransmits += n;
}

void loss_judge_run(struct loss *loss, struct loss_story *story)
{
	if (!story->run.open)
		return;
	story->run.open = false;
	if (story->run.again == 0) {
		judge_late(loss, story);
		return;
	}
	run_counts(loss, story);
	if (story->run.told)
		return;
	struct loss_event event = {
		.again_psn = story->run.from, .n = story->run.again + story->run.late};
	event.proof = (uint8_t)resend_proof(loss, story, &event);
	tell_resend(loss, story, &event);
}

/* ---- responses ------------------------------------------------------------ */

void loss_judge_response_gap(struct loss *loss, struct loss_rare *rare, enum loss_proof proof,
	uint32_t again_psn, int64_t t_ns)
{
	rare->gap_open = false;
	const struct loss_gap gap = rare->gap;
	struct loss_event event = {
		.proof = (uint8_t)proof, .again_psn = again_psn, .again_ns = t_ns - gap.t_ns};
	const struct loss_rare *requester = NULL;
	if (rare->peer)
		requester = &loss->rares[rare->peer - 1];
	if (proof == PROOF_NO_EVIDENCE) {
		event.again_ns = 0;
		if (requester)
			event.again_ns = requester->read_ns - gap.t_ns;
		if (event.again_ns >= WENT_ON_NS)
			event.proof = PROOF_CAPTURE_WENT_ON;
	}
	struct loss_story *story = loss_story_of_rare(loss, rare);
	if (story)
		tell_gap(loss, story, &gap, &event);
}

/* ---- a sequence that begins anew ------------------------------------------- */

void loss_judge_jump(struct loss *loss, struct loss_story *story, bool msn_anew, bool msn_goes_on)
{
	if (!story->jump.open)
		return;
	const struct loss_jump *jump = &story->jump;
	struct loss_event event = {.t_ns = jump->t_ns,
		.psn = jump->to,
		.proof = PROOF_JUMP,
		.answer_psn = jump->from,
		.again_psn = jump->to,
		.again_ns = jump->idle_ns};
	if (msn_anew)
		event.proof = PROOF_NEW_MSN;
	else if (jump->message && jump->sure_rate && !msn_goes_on)
		event.proof = PROOF_NEW_RATE;
	else if (jump->message && jump->sure_idle && !msn_goes_on)
		event.proof = PROOF_NEW_IDLE;
	story->jump.open = false;
	loss_tell(loss, story, &event);
}

/* ---- the end --------------------------------------------------------------- */

void loss_judge_rest(struct loss *loss, struct loss_story *story)
{
	loss_judge_run(loss, story);
	loss_judge_jump(loss, story, false, false);
	while (story->n_gaps)
		loss_judge_gap(loss, story, 0);
}

/* loss_judge_drops - the capture says that it dropped packets: gaps that nobody asked to fill are
 * its own. */
void loss_judge_drops(struct loss *loss)
{
	for (uint32_t i = 0; i < loss->n_stories; i++) {
		struct loss_story *story = &loss->stories[i];
		for (int k = 0; k < story->n_events; k++) {
			struct loss_event *event = &story->events[k];
			const bool open = event->proof == PROOF_NO_EVIDENCE ||
				event->proof == PROOF_NO_ANSWERS || event->proof == PROOF_AETH_CUT;
			if (!open || event->missing == 0 || event->n)
				continue;
			loss->totals.events[LOSS_UNKNOWN]--;
			story->causes.n[LOSS_UNKNOWN]--;
			story->causes.n[LOSS_CAPTURE]++;
			story->causes.missing[LOSS_CAPTURE] += event->missing;
			loss->totals.events[LOSS_CAPTURE]++;
			loss->totals.capture_gaps++;
			loss->totals.judged_gaps++;
			event->proof = PROOF_CAPTURE_DROPS;
		}
	}
}
