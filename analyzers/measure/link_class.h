/*
 * link_class - does a link run at the speed of its class? Pure.
 *
 * The declared speed wins: a port that runs at it is not compared with others. Siblings of
 * an uplink are the uplinks of the same switch to the same tier, then those of the tier; of a
 * host's link the other host links of the switch, then those of the fabric. More than half of them
 * must agree on a higher speed. One sibling alone only shows that the two differ, and counts for
 * uplinks only.
 *
 * Several links that are slower than most may be a class of their own, by design. Where fewer than
 * three times as many agree on the higher speed, the siblings of the switch do not decide, and then
 * those of the fabric; where these do not either, there are two classes, and only a declaration
 * tells a slow link from one of the slower class.
 */
#ifndef RW_MEASURE_LINK_CLASS_H
#define RW_MEASURE_LINK_CLASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzers/measure/links.h"

enum link_reference { LINK_BY_DECLARED, LINK_BY_SIBLINGS, LINK_BY_PAIR, LINK_TWO_CLASSES };

struct link_class {
	uint64_t own_bps, should_bps; /* own: the smaller speed that its ends report */
	enum link_reference by; /* where .should_bps is taken from */
	size_t n_siblings; /* with a known speed */
	/* LINK_TWO_CLASSES only, of the whole fabric: links at .own_bps, this one included, and at
	 * .faster_bps; the first of those alike that is of neither class for sure */
	uint64_t faster_bps;
	size_t n_own, n_faster;
	const struct link *first;
};

/* link_is_down - one of its ends is known to be down. */
bool link_is_down(const struct link *link);

/* link_class - false when nothing can be said: no speed is reported, the link is down, or its
 * neighbour is not known. Else @ret is filled; the link is below its class where own < should. */
bool link_class(struct links *links, const struct link *link, struct link_class *ret);

#endif
