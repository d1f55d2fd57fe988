/* loss_story - where the stories of odd streams are kept, and the words and sentences of events. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "collectors/packet/loss_state.h"

enum { FORWARD_MANY = 32 };

static const struct {
	const char *word;
	unsigned weight;
} causes[LOSS_CAUSE_COUNT] = {
#define LOSS_CAUSE(symbol, word, weight) [LOSS_##symbol] = {word, weight},
#define LOSS_PROOF(symbol, cause, text)
#include "collectors/packet/loss_cause.def"
#undef LOSS_CAUSE
#undef LOSS_PROOF
};

static const struct {
	enum loss_cause cause;
	const char *text;
} proofs[LOSS_PROOF_COUNT] = {
#define LOSS_CAUSE(symbol, word, weight)
#define LOSS_PROOF(symbol, cause, text) [PROOF_##symbol] = {LOSS_##cause, text},
#include "collectors/packet/loss_cause.def"
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
	for (uint32_t i = 0; i < loss->n_stories; i++)
		free(loss->stories[i].events);
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

struct loss_story *loss_story_of_rare(struct loss *loss, struct loss_rare *rare)
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
		.in_order = loss->in_order + loss->read_in_order};
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
	ret->sampled = (none && odd <= loss->forward) || (some && odd * 10 <= loss->forward);
	ret->n = sampling_step(loss, n);
}
