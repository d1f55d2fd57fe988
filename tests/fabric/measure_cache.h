/*
 * measure_cache - measured exchanges of a scenario kept in a directory, so that the same scenario
 * recorded again with another face or interval is not simulated again. A file is named by
 * everything that the result depends on: the scenario as read (seed and perturbation in it) and the
 * executable that simulated it. What cannot be read or written is simulated as if there were no
 * cache.
 */
#ifndef FABRIC_MEASURE_CACHE_H
#define FABRIC_MEASURE_CACHE_H

#include "tests/fabric/coarse.h"

/* true: all that the scenario needs is in @m */
bool measure_cache_read(const struct scenario *s, struct measured m[STATES][VARIANTS]);
void measure_cache_write(const struct scenario *s, struct measured m[STATES][VARIANTS]);

#endif
