/*
 * retain_clock - the time that retention counts from. Pure.
 *
 * A machine that starts with its clock 30 days ahead would delete the whole history within a
 * minute. So retention counts from the wall clock only while that clock agrees with the stored
 * data: when it is more than RETAIN_LEAP_NS ahead of the newest time retention has trusted,
 * retention stays at the old time until the clock has been ahead, without a step back, for
 * RETAIN_HOLD_NS of running. A machine that was off for long reaches the same point: its old data
 * stay a day longer.
 */
#ifndef RW_DB_RETAIN_CLOCK_H
#define RW_DB_RETAIN_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "agent/base/clock.h"

#define RETAIN_LEAP_NS (24 * 3600 * NS_PER_S)
#define RETAIN_HOLD_NS (24 * 3600 * NS_PER_S)

struct retain_clock { /* zeroed to start */
	int64_t trusted_ns; /* wall time retention counted from last; 0 = none yet */
	mono_t ahead_since; /* when the leap was seen first */
	bool ahead;
};

/*
 * retain_clock_now - the time to count from, ns since 1970.
 *
 * @newest_ns  the newest sample that was stored when the store was opened; 0 = it was empty
 * The answer is @wall, or an earlier time while .ahead says that the clock is not trusted yet.
 */
int64_t retain_clock_now(struct retain_clock *clock, int64_t newest_ns, wall_t wall, mono_t mono);

#endif
