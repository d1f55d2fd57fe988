/*
 * late_rank - which rank the others waited for, from what they say of each collective.
 *
 * Clocks of hosts differ, so that no time of one is held against a time of another as it stands.
 * Two things hold without clocks:
 *
 *   order      Of a collective whose results need everybody (.joint) no rank's part ends before
 *              the last one began. Each such collective bounds how far each clock can be from
 *              each other; all of them together leave an interval (shortest paths over difference
 *              constraints). A rank is late by order where it is so for every offset within.
 *   durations  A rank that came last waited for nobody: its part is the shortest. One rank, or the
 *              ranks of one host, whose parts are shorter than all others' by more than these
 * differ among themselves came late by that much, provided that a collective ends together. A part
 * that is longer than all others can have begun first as well as ended last: only order tells.
 *
 * What neither decides, or what they disagree on, is undecided, never guessed. Pure.
 */
#pragma once

#include "agent/ranks/collective_set.h"

#define LATE_LEAST_S 1e-3 /* less is not called late */

enum late_kind {
	LATE_BEGAN, /* it began last: the others waited */
	LATE_ENDED, /* it ended last, though it began with the others */
	LATE_LONGEST, /* its part was the longest: it began first, or ended last */
	LATE_ABSENT, /* it has not begun what others wait in */
	LATE_BEHIND, /* RAS: it has begun fewer operations than the others */
	LATE_KINDS
};

struct late_finding {
	enum late_kind kind;
	size_t collective; /* position in the set's .v; SIZE_MAX: of .behind */
	size_t behind;
	const uint32_t *who; /* ranks, all of one host, or a single one */
	size_t n_who;
	double seconds; /* how late; NAN not known */
	bool by_order; /* holds whatever the clocks say; false: by durations */
	double from_s, to_s; /* when the collective was, on its ranks' clocks; NAN not told */
};

struct late_answer {
	struct late_finding *v;
	size_t n, cap;
	size_t judged; /* collectives that say who came last, or that nobody did */
	size_t undecided; /* neither order nor durations decide */
	size_t skipped; /* not joint, or a single rank told of it */
	size_t incomplete; /* of those judged: not all ranks told of it */
	bool clocks_fit; /* false: some clock was set meanwhile; order was not used */
	double offset_s; /* median width of what is left of the offsets; NAN: order tells nothing */
};

/* What a step of the job is, by the collectives that come back in the same order. NAN: none does.
 */
struct late_step {
	double step_s; /* median over steps, then over ranks */
	double exchange_s; /* time in collectives of a step: of the rank that waited least */
	double waiting_s; /* the median rank's beyond it */
	double to_s; /* end of the last collective, on the clock of its rank */
};

/* late_step_find - of a set after collective_finish(); each rank by its own clock. Pure. */
struct late_step late_step_find(const struct collective_set *set);

/* late_ranks - of a set after collective_finish(), in its arena. */
void late_ranks(const struct collective_set *set, struct late_answer *ret);
