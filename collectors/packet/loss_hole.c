/*
 * loss_hole - what was missing when it was sent again. A receiver that waits for a packet drops all
 * that come behind it: a packet that passed here the first time and is lost on its way the second
 * time was lost before this place, although no gap shows it.
 */
#include "collectors/packet/loss_state.h"

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

void loss_hole_clear(struct loss_story *story)
{
	story->n_holes = 0;
	story->forgotten = (struct loss_hole){0};
}

void loss_hole_forget(struct loss_story *story, uint32_t from, uint32_t to)
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

void loss_hole_add(struct loss_story *story, uint32_t from, uint32_t to, bool doubt)
{
	hole_make_room(story);
	if (story->n_holes == LOSS_HOLES) {
		loss_hole_forget(story, story->holes[0].from, story->holes[0].to);
		hole_drop(story, 0);
	}
	story->holes[story->n_holes++] = (struct loss_hole){.from = from, .to = to, .doubt = doubt};
}

void loss_hole_end(struct loss_story *story, uint32_t psn)
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
