/*
 * onset_levels - what a job moved right before and right after an onset, where its level drifts
 * slowly as well: compute gets a little slower and faster over the hour, fault or not, so means of
 * long stretches differ by more than the fault took.
 *
 * Octets added up since the beginning of each side are fitted by a + b t + c t^2 / 2 (least
 * squares): t from the onset, a and b of the side, c of both, the drift. b is the rate at the
 * onset. Few minutes cannot tell a drift from scatter: c is drawn towards none by how much it
 * usually is (ridge regression; Hoerl and Kennard 1970). Sums instead of rates, since what a block
 * cuts off a step the next one gets: the errors of rates cancel, those of sums are small. Pure.
 */
#ifndef RW_MEASURE_ONSET_LEVELS_H
#define RW_MEASURE_ONSET_LEVELS_H

#include <stdbool.h>
#include <stdint.h>

#include "db/model/finding.h"

struct onset_span { /* what of the blocks counts; blocks that lie in it as a whole */
	int64_t from_ns, before_ns; /* the side before */
	int64_t onset_ns;
	int64_t after_ns, to_ns; /* the side since */
};

/* onset_levels - octets a second at the onset, by the blocks before and since. Blocks that are not
 * seen or idle count as their side's level. False where a side has too few that are seen. */
bool onset_levels(const struct job_rate *rate, const struct onset_span *span, double *ret_before,
	double *ret_after);

#endif
