/*
 * retain_clock - the time that retention counts from. Pure.
 *
 * A machine that starts with its clock 30 days ahead would delete the whole history within a
 * minute. So retention believes the wall clock only while it agrees with the time that was believed
 * last plus the time that has passed since by the boot clock. When the wall clock is ahead of that
 * by more than the leap, retention goes on by the boot clock, until the wall clock has stayed where
 * it is for the hold of running time, restarts included. A machine that was off for long reaches
 * the same point: its old data stay that much longer.
 *
 * A clock that is behind is believed at once: then less is deleted. When it returns within an hour
 * of running, as on a machine without a battery that starts in 1970, it is believed at once too.
 *
 * The state is a text in the store, so that a restart does not begin with the newest sample, which
 * a wrong clock may have written.
 */
#ifndef RW_DB_RETAIN_CLOCK_H
#define RW_DB_RETAIN_CLOCK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/clock.h"

#define RETAIN_LEAP_NS (24 * 3600 * NS_PER_S) /* the most that is believed without a hold */
#define RETAIN_HOLD_NS (24 * 3600 * NS_PER_S)
#define RETAIN_TEXT_MAX 160

struct retain_clock { /* zeroed to start */
	int64_t leap_ns, hold_ns; /* 0 = as above */
	int64_t trusted_ns; /* wall time retention counted from last; 0 = none yet */
	bool ahead; /* the wall clock is not believed */
	int64_t ahead_ran_ns; /* running time since */
	int64_t ahead_by_ns; /* how far it was ahead then */
	/* what was believed before the clock was set back, and running time since; 0 = nothing */
	int64_t former_ns, former_ran_ns;
	bool looked; /* by this process */
	int64_t boot_ns; /* at the last look */
};

/* retain_clock_limit - leap and hold for samples that are kept for @raw_ns (0 = for ever): a short
 * history must not go by a short leap. */
void retain_clock_limit(struct retain_clock *clock, int64_t raw_ns);

/*
 * retain_clock_now - the time to count from, ns since 1970.
 *
 * @newest_ns  the newest sample that was stored when the store was opened; 0 = it was empty. Counts
 *             only where nothing was believed before.
 * @boot_ns    a clock that is never set and goes on while the machine sleeps
 * The answer is @wall, or an earlier time while .ahead says that the clock is not trusted yet.
 */
int64_t retain_clock_now(
	struct retain_clock *clock, int64_t newest_ns, wall_t wall, int64_t boot_ns);

/* retain_clock_print, retain_clock_parse - the state as a text; false: it is none. */
void retain_clock_print(const struct retain_clock *clock, char *buf, size_t size);
bool retain_clock_parse(struct retain_clock *clock, const char *text);

#endif
