/*
 * counter_check - pure: can a counter have grown like that? A port sends no more than its line
 * carries, and no priority is paused for longer than the time that passed. Agents refresh their
 * answers unevenly, so one refresh proves nothing: the rate is taken between changes, over the last
 * three refreshes, and over fewer only with room for an agent's cache.
 *
 * A reading that fails is flagged suspect: it is stored, but no rate is taken from it. The next
 * reading decides. Back on the old track: that one reading was bad. Going on from the new value:
 * the counter jumped and begins anew (restart: no delta across it).
 */
#pragma once

#include "base/base.h"

#define COUNTER_CHECK_REFRESHES 3
#define COUNTER_CHECK_MARGIN 1.02 /* the device's clock and ours differ */
/* how old an answer may be while the agent's refresh period is not known */
#define COUNTER_CHECK_CACHE_NS (15 * 1000000000LL)

struct counter_check { /* of one counter; zeroed to start */
	int64_t t_ns; /* the last change that was believed */
	uint64_t value;
	int64_t doubt_t_ns; /* the reading that was not believed; 0 = none */
	uint64_t doubt_value;
	/* of the last changes, newest at [(n - 1) % 3] */
	float seconds[COUNTER_CHECK_REFRESHES], moved[COUNTER_CHECK_REFRESHES];
	uint32_t n; /* changes believed since the start */
};

/*
 * counter_check_take - one more reading.
 *
 * @flags      as known: SF_RESTART (begin anew), SF_WRAP32 (a decrease may be one wrap of 32 bits)
 * @max_per_s  what the counter can grow by in a second, without margin; must be above 0
 *
 * Returns @flags, with SF_SUSPECT or SF_RESTART added. A time that does not go forward changes
 * nothing.
 */
unsigned counter_check_take(struct counter_check *check, int64_t t_ns, uint64_t value,
	unsigned flags, double max_per_s);
