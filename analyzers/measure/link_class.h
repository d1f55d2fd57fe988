/*
 * link_class - does a link run at the speed of its class? Pure.
 *
 * The declared speed wins: a port that runs at it is not compared with others. Siblings of
 * an uplink are the uplinks of the same switch to the same tier, then those of the tier; of a
 * host's link the other host links of the switch, then those of the fabric. More than half of them
 * must agree on a higher speed. One sibling alone only shows that the two differ, and counts for
 * uplinks only.
 */
#ifndef RW_MEASURE_LINK_CLASS_H
#define RW_MEASURE_LINK_CLASS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyzers/measure/links.h"

enum link_reference { LINK_BY_DECLARED, LINK_BY_SIBLINGS, LINK_BY_PAIR };

struct link_class {
	uint64_t own_bps, should_bps; /* own: the smaller speed that its ends report */
	enum link_reference by; /* where .should_bps is taken from */
	size_t n_siblings; /* with a known speed */
};

/* link_is_down - one of its ends is known to be down. */
bool link_is_down(const struct link *link);

/* link_class - false when nothing can be said: no speed is reported, the link is down, or its
 * neighbour is not known. Else @ret is filled; the link is below its class where own < should. */
bool link_class(const struct links *links, const struct link *link, struct link_class *ret);

#endif
