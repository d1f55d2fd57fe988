/* clock_watch - compares the wall clock with the boot clock from look to look. */
#include "agent/daemon/clock_watch.h"

#include <time.h>

#include "agent/base/clock.h"

struct clock_change clock_look(
	struct clock_watch *watch, int64_t wall_ns, int64_t boot_ns, int64_t away_ns)
{
	struct clock_change change = {0};
	if (watch->known) {
		const int64_t boot_moved = boot_ns - watch->boot_ns;
		const int64_t step = wall_ns - watch->wall_ns - boot_moved;
		if (step >= CLOCK_STEP_NS || step <= -CLOCK_STEP_NS)
			change.step_ns = step;
		change.since_ns = watch->wall_ns + change.step_ns;
		if (boot_moved > away_ns)
			change.away_ns = boot_moved;
	}
	watch->known = true;
	watch->wall_ns = wall_ns;
	watch->boot_ns = boot_ns;
	return change;
}

int64_t clock_boot_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_BOOTTIME, &t);
	return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}
