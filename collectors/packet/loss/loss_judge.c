/* loss_judge - from what was seen around a gap or a run of packets that came again to its cause.
 * Rules stand in the order in which they are tried; the first that proves something decides. */

#include "collectors/packet/loss/loss_state.h"

/* loss_story - where the stories of odd streams are kept, and the words and sentences of events. */

enum { FORWARD_MANY = 32 };

static const struct {
	const char *word;
	unsigned weight;
} causes[LOSS_CAUSE_COUNT] = {
#define LOSS_CAUSE(symbol, word, weight) [LOSS_##symbol] = {word, weight},
#define LOSS_PROOF(symbol, cause, text)
#include "collectors/packet/loss/loss_cause.def"
#undef LOSS_CAUSE
#undef LOSS_PROOF
};

static const struct {
	enum loss_cause cause;
	const char *text;
} proofs[LOSS_PROOF_COUNT] = {
#define LOSS_CAUSE(symbol, word, weight)
#define LOSS_PROOF(symbol, cause, text) [PROOF_##symbol] = {LOSS_##cause, text},
#include "collectors/packet/loss/loss_cause.def"
#undef LOSS_CAUSE
#undef LOSS_PROOF
};

/* ---- words ---------------------------------------------------------------- */

enum loss_cause loss_event_cause(const struct loss_event *event)
{
	return proofs[event->proof].cause;
}

const char *loss_cause_word(enum loss_cause cause)
{
	return causes[cause].word;
}

static void loss_time_text(char *buf, size_t n, int64_t ns)
{
	if (ns < 10000)
		snprintf(buf, n, "%" PRId64 " ns", ns);
	else if (ns < 10000000)
		snprintf(buf, n, "%" PRId64 " us", ns / 1000);
	else if (ns < 10000000000)
		snprintf(buf, n, "%" PRId64 " ms", ns / 1000000);
	else
		snprintf(buf, n, "%" PRId64 " s", ns / 1000000000);
}

/* The wait that the five timer bits of an RNR NAK ask for, in us: InfiniBand Architecture
 * Specification vol. 1, table "Encoding for RNR NAK Timer Field". */
static uint32_t rnr_wait_us(uint8_t code)
{
	static const uint32_t wait_us[32] = {655360, 10, 20, 30, 40, 60, 80, 120, 160, 240, 320,
		480, 640, 960, 1280, 1920, 2560, 3840, 5120, 7680, 10240, 15360, 20480, 30720,
		40960, 61440, 81920, 122880, 163840, 245760, 327680, 491520};
	return wait_us[code & 31];
}

/* One placeholder of a proof, by the name between its braces. */
static void loss_value_text(
	char *buf, size_t n, const char *name, size_t length, const struct loss_event *event)
{
	*buf = '\0';
	if (length == 3 && memcmp(name, "nak", 3) == 0)
		snprintf(buf, n, "%" PRIu32, event->answer_psn);
	else if (length == 5 && memcmp(name, "again", 5) == 0)
		snprintf(buf, n, "%" PRIu32, event->again_psn);
	else if (length == 9 && memcmp(name, "nak_after", 9) == 0)
		loss_time_text(buf, n, event->answer_ns);
	else if (length == 11 && memcmp(name, "again_after", 11) == 0)
		loss_time_text(buf, n, event->again_ns);
	else if (length == 5 && memcmp(name, "timer", 5) == 0)
		loss_time_text(buf, n, (int64_t)rnr_wait_us(event->code) * 1000);
	else if (length == 1)
		snprintf(buf, n, "%" PRIu32, event->n);
}

char *loss_event_text(char buf[LOSS_PROOF_TEXT_MAX], const struct loss_event *event)
{
	size_t at = 0;
	for (const char *text = proofs[event->proof].text; *text && at + 1 < LOSS_PROOF_TEXT_MAX;) {
		const char *close = NULL;
		if (*text == '{')
			close = strchr(text, '}');
		if (!close) {
			buf[at++] = *text++;
			continue;
		}
		char value[32];
		loss_value_text(value, sizeof(value), text + 1, (size_t)(close - text - 1), event);
		for (const char *from = value; *from && at + 1 < LOSS_PROOF_TEXT_MAX; from++)
			buf[at++] = *from;
		text = close + 1;
	}
	buf[at] = '\0';
	return buf;
}

/* ---- places --------------------------------------------------------------- */

struct loss *loss_new(void)
{
	return rw_calloc(1, sizeof(struct loss));
}

void loss_free(struct loss *loss)
{
	if (!loss)
		return;
	for (uint32_t i = 0; i < loss->n_stories; i++) {
		free(loss->stories[i].events);
		free(loss->stories[i].gaps);
		free(loss->stories[i].ring);
	}
	free(loss->stories);
	free(loss->rares);
	free(loss->free_stories);
	free(loss->free_rares);
	free(loss);
}

struct loss_rare *loss_rare_of(const struct loss *loss, const struct stream_psn *own)
{
	if (own->rare == 0)
		return NULL;
	return &loss->rares[own->rare - 1];
}

struct loss_rare *loss_rare_get(struct loss *loss, struct stream_psn *own)
{
	if (own->rare)
		return &loss->rares[own->rare - 1];
	uint32_t at;
	if (loss->n_free_rares) {
		at = loss->free_rares[--loss->n_free_rares];
	} else {
		if (loss->n_rares >= LOSS_READS_MAX) {
			loss->totals.untold++;
			return NULL;
		}
		rw_grow(loss->rares, loss->n_rares, loss->cap_rares);
		at = loss->n_rares++;
	}
	loss->rares[at] = (struct loss_rare){.used = true};
	own->rare = at + 1;
	return &loss->rares[at];
}

struct loss_story *loss_story_of(const struct loss *loss, const struct stream_psn *own)
{
	if (own->rare == 0 || loss->rares[own->rare - 1].story == 0)
		return NULL;
	return &loss->stories[loss->rares[own->rare - 1].story - 1];
}

static struct loss_story *loss_story_of_rare(struct loss *loss, struct loss_rare *rare)
{
	if (rare->story)
		return &loss->stories[rare->story - 1];
	uint32_t at;
	if (loss->n_free_stories) {
		at = loss->free_stories[--loss->n_free_stories];
	} else {
		if (loss->n_stories >= LOSS_STORIES_MAX) {
			loss->totals.untold++;
			return NULL;
		}
		rw_grow(loss->stories, loss->n_stories, loss->cap_stories);
		at = loss->n_stories++;
	}
	loss->stories[at] = (struct loss_story){.used = true};
	rare->story = at + 1;
	return &loss->stories[at];
}

struct loss_story *loss_story_get(struct loss *loss, struct stream_psn *own)
{
	struct loss_rare *rare = loss_rare_get(loss, own);
	if (!rare)
		return NULL;
	return loss_story_of_rare(loss, rare);
}

/* story_now - the story of @own, with what the judge reads of the stream. NULL: no room. */
struct loss_story *loss_story_now(struct loss *loss, struct stream_psn *own, int64_t t_ns)
{
	struct loss_story *story = loss_story_get(loss, own);
	if (!story)
		return NULL;
	story->acked = own->acked;
	story->next = own->next;
	story->newest_ns = t_ns;
	story->id_usable = own->id_steps >= LOSS_ID_KNOWN && own->id_jumps * 8 < own->id_steps;
	return story;
}

/* ---- events --------------------------------------------------------------- */

/* The least of the kept events: by the weight of its cause, then by how much was missing. */
static bool event_weighs_less(const struct loss_event *left, const struct loss_event *right)
{
	const unsigned left_weight = causes[loss_event_cause(left)].weight;
	const unsigned right_weight = causes[loss_event_cause(right)].weight;
	if (left_weight != right_weight)
		return left_weight < right_weight;
	return left->missing < right->missing;
}

int loss_event_compare(const void *left, const void *right)
{
	const struct loss_event *a = left, *b = right;
	if (event_weighs_less(a, b))
		return 1;
	if (event_weighs_less(b, a))
		return -1;
	return (a->t_ns > b->t_ns) - (a->t_ns < b->t_ns);
}

void loss_tell(struct loss *loss, struct loss_story *story, const struct loss_event *event)
{
	loss->totals.events[loss_event_cause(event)]++;
	story->events_total++;
	story->causes.n[loss_event_cause(event)]++;
	story->causes.missing[loss_event_cause(event)] += event->missing;
	if (!story->events)
		story->events = rw_calloc(LOSS_EVENTS_MAX, sizeof(*story->events));
	if (story->n_events < LOSS_EVENTS_MAX) {
		story->events[story->n_events++] = *event;
		return;
	}
	int least = 0;
	for (int i = 1; i < LOSS_EVENTS_MAX; i++)
		if (event_weighs_less(&story->events[i], &story->events[least]))
			least = i;
	if (!event_weighs_less(&story->events[least], event))
		return;
	memmove(&story->events[least], &story->events[least + 1],
		(size_t)(LOSS_EVENTS_MAX - 1 - least) * sizeof(*event));
	story->events[LOSS_EVENTS_MAX - 1] = *event;
	story->copy_event = 0;
}

const struct psn_counts *loss_counts(const struct loss *loss, const struct stream_psn *own)
{
	static const struct psn_counts none;
	const struct loss_story *story = loss_story_of(loss, own);
	if (!story)
		return &none;
	return &story->counts;
}

const struct loss_event *loss_events(
	const struct loss *loss, const struct stream_psn *own, size_t *ret_n, uint64_t *ret_total)
{
	const struct loss_story *story = loss_story_of(loss, own);
	*ret_n = 0;
	*ret_total = 0;
	if (!story)
		return NULL;
	*ret_n = story->n_events;
	*ret_total = story->events_total;
	return story->events;
}

const struct loss_causes *loss_causes(const struct loss *loss, const struct stream_psn *own)
{
	const struct loss_story *story = loss_story_of(loss, own);
	if (!story)
		return NULL;
	return &story->causes;
}

int loss_transport(const struct stream_psn *own)
{
	return (int)(own->acked >> (LOSS_FLAG_SHIFT + ACKED_TRANSPORT)) - 1;
}

const struct loss_totals *loss_totals(const struct loss *loss)
{
	return &loss->totals;
}

void loss_next(struct loss *loss)
{
	loss->totals = (struct loss_totals){0};
	for (uint32_t i = 0; i < loss->n_stories; i++) {
		struct loss_story *story = &loss->stories[i];
		story->counts = (struct psn_counts){0};
		story->n_events = 0;
		story->events_total = 0;
		story->causes = (struct loss_causes){0};
		story->copies = 0;
		story->copy_event = 0;
	}
}

/* ---- sampling ------------------------------------------------------------- */

void loss_step_note(struct loss *loss, uint32_t ahead)
{
	loss->forward++;
	loss->step_sum += ahead + 1;
	loss->steps[31 - __builtin_clz(ahead + 1)]++;
}

/*
 * sampling_step - the mean step. A queue pair that sent few packets shows short steps only, or
 * none: only those with many steps count, unless so many packets are in order that all do. 0: too
 * few.
 */
static double sampling_step(const struct loss *loss, uint64_t n)
{
	enum { STEPS_MANY = 12, STEPS_ALL = 60 };
	uint64_t steps = 0, psns = 0;
	if (loss->in_order * 8 > loss->forward && loss->forward >= STEPS_ALL)
		return (double)(loss->step_sum + loss->in_order) / (double)n;
	for (uint32_t i = 0; i < loss->n_stories; i++) {
		const struct psn_counts *counts = &loss->stories[i].counts;
		if (counts->gaps < STEPS_MANY)
			continue;
		steps += counts->gaps;
		psns += counts->gaps + counts->missing;
	}
	if (steps < STEPS_ALL)
		return 0;
	return (double)psns / (double)steps;
}

void loss_sampling(const struct loss *loss, struct loss_sampling *ret)
{
	const uint64_t n = loss->in_order + loss->forward;
	*ret = (struct loss_sampling){.steps = n,
		.back = loss->back,
		.naks = loss->naks,
		.in_order = loss->in_order + loss->read_in_order + loss->filled};
	/* in a sample of UD, two neighbours are picked once in a while */
	if (loss->ud_in_order * 4 >= loss->ud_steps)
		ret->in_order += loss->ud_in_order;
	if (n == 0)
		return;
	uint64_t below = loss->in_order;
	ret->median_at_least = 1;
	for (unsigned i = 1; i < 24 && below * 2 < n; i++) {
		below += loss->steps[i];
		ret->median_at_least = 1u << i;
	}
	const uint64_t odd = loss->back + loss->naks;
	const bool many = loss->forward >= FORWARD_MANY && loss->forward >= loss->in_order;
	const bool few = loss->forward >= 2 && loss->forward * 3 > loss->in_order;
	/* next to no packet follows another: no loss looks like that */
	const bool none = loss->forward >= 4 && loss->in_order * 8 <= loss->forward;
	const bool some = many || (few && loss->forward < FORWARD_MANY);
	/* what was jumped over came late: nothing was left out */
	const bool whole =
		loss->filled >= FORWARD_MANY && loss->filled * 2 >= loss->step_sum - loss->forward;
	ret->sampled =
		!whole && ((none && odd <= loss->forward) || (some && odd * 10 <= loss->forward));
	ret->n = sampling_step(loss, n);
}

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

static void loss_gap_close(struct loss_story *story, int at)
{
	for (int i = at; i + 1 < story->n_gaps; i++)
		story->gaps[i] = story->gaps[i + 1];
	story->n_gaps--;
}

static uint32_t gap_width(const struct loss_gap *gap)
{
	return (gap->to - gap->from) & PSN_MASK;
}

void loss_tell_gap(struct loss *loss, struct loss_story *story, const struct loss_event *event)
{
	const enum loss_cause cause = loss_event_cause(event);
	loss->totals.judged_gaps += cause != LOSS_UNKNOWN;
	loss->totals.capture_gaps += cause == LOSS_CAPTURE;
	loss_tell(loss, story, event);
}

static void tell_gap(struct loss *loss, struct loss_story *story, const struct loss_gap *gap,
	struct loss_event *event)
{
	event->t_ns = gap->t_ns;
	event->psn = gap->from;
	event->missing = gap_width(gap);
	loss_tell_gap(loss, story, event);
}

/* Why nothing is known of a gap or run. */
enum loss_proof loss_why_unknown(const struct loss_story *story, enum loss_proof otherwise)
{
	const uint32_t flags = story->acked >> LOSS_FLAG_SHIFT;
	if (flags & ACKED_CUT)
		return PROOF_AETH_CUT;
	if (!(flags & ACKED_READABLE))
		return PROOF_NO_ANSWERS;
	return otherwise;
}

bool loss_answers_readable(const struct loss_story *story)
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
		event.proof = (uint8_t)loss_why_unknown(story, PROOF_NO_EVIDENCE);
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
	if (late_ns <= LATE_NS && loss_answers_readable(story))
		return PROOF_LATE_NO_NAK;
	return loss_why_unknown(story, PROOF_LATE_UNCLEAR);
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
	/* nobody repeats what was acknowledged before a timer runs out: else it is a copy */
	const bool passed = psn_distance(run->acked_before & PSN_MASK, run->from) > 0 &&
		(run->acked_before >> LOSS_FLAG_SHIFT & ACKED_VALID) && idle_long(loss, run);
	if (gap < 0 && !cut && passed) {
		event->answer_psn = (run->acked_before - 1) & PSN_MASK;
		return PROOF_ACK_PASSED;
	}
	if (gap < 0 && !cut && run->ahead) {
		event->answer_psn = run->ahead_psn;
		return PROOF_ACK_AHEAD;
	}
	if (loss_answers_readable(story) && idle_long(loss, run))
		return PROOF_TIMER;
	if (gap >= 0 && story->gaps[gap].from == run->from && !idle_long(loss, run)) {
		event->again_ns = run->t_ns - story->gaps[gap].t_ns;
		return PROOF_BEFORE_FIRST;
	}
	return loss_why_unknown(story, PROOF_NO_REASON);
}

/* tell_resend - one event for each gap that the run filled, and one for what was asked for besides,
 * or for the run. */
static void tell_resend(struct loss *loss, struct loss_story *story, struct loss_event *event)
{
	bool told = false, named = false;
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
		named |= psn_distance(run->nak.psn, gap.from) >= 0 &&
			psn_distance(run->nak.psn, gap.to) < 0;
	}
	if (told && (named || proof != PROOF_BEFORE_NAK || run->nak.where == WHERE_HERE))
		return;
	if (told)
		event->proof = (uint8_t)nak_proof((enum loss_where)run->nak.where);
	event->t_ns = run->t_ns;
	event->psn = run->from;
	if (proof != PROOF_RNR_NAK && nak_explains(&run->nak, run))
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

void loss_tell_run(struct loss *loss, struct loss_story *story)
{
	struct loss_event event = {
		.again_psn = story->run.from, .n = story->run.again + story->run.late};
	event.proof = (uint8_t)resend_proof(loss, story, &event);
	tell_resend(loss, story, &event);
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
	const uint64_t n = (uint64_t)story->run.again + story->run.late;
	story->counts.retransmits += n;
	loss->totals.psn.retransmits += n;
	if (!story->run.told)
		loss_tell_run(loss, story);
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
