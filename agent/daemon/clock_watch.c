/* clock_watch - compares the wall clock with the boot clock from look to look. */
#include "agent/daemon/clock_watch.h"

#include <time.h>

#include "agent/base/clock.h"

#define SLEW_SHARE 1000 /* slewing moves the wall clock by at most a thousandth of the time */
#define AT_ONCE_NS (50 * NS_PER_MS)
#define READ_TRIES 5

/* The part of @drift_ns that slewing explains. */
static int64_t clock_slewed(int64_t drift_ns, int64_t boot_moved_ns)
{
	const int64_t most_ns = boot_moved_ns / SLEW_SHARE;
	if (drift_ns > most_ns)
		return most_ns;
	if (drift_ns < -most_ns)
		return -most_ns;
	return drift_ns;
}

struct clock_change clock_look(
	struct clock_watch *watch, int64_t wall_ns, int64_t boot_ns, int64_t away_ns)
{
	struct clock_change change = {0};
	const int64_t offset_ns = wall_ns - boot_ns;
	if (!watch->known)
		watch->offset_ns = offset_ns;
	const int64_t drift_ns = offset_ns - watch->offset_ns;
	if (watch->known) {
		const int64_t boot_moved_ns = boot_ns - watch->boot_ns;
		change.since_ns = watch->wall_ns;
		if (drift_ns >= CLOCK_STEP_NS || drift_ns <= -CLOCK_STEP_NS) {
			change.step_ns = drift_ns;
			change.since_ns = wall_ns - boot_moved_ns;
			watch->offset_ns = offset_ns;
		} else {
			watch->offset_ns += clock_slewed(drift_ns, boot_moved_ns);
		}
		if (boot_moved_ns > away_ns)
			change.away_ns = boot_moved_ns;
	}
	watch->known = true;
	watch->wall_ns = wall_ns;
	watch->boot_ns = boot_ns;
	return change;
}

void clock_read(int64_t *ret_wall_ns, int64_t *ret_boot_ns)
{
	for (int i = 0; i < READ_TRIES; i++) {
		const int64_t before_ns = clock_boot_ns();
		*ret_wall_ns = wall_now().ns;
		*ret_boot_ns = clock_boot_ns();
		if (*ret_boot_ns - before_ns < AT_ONCE_NS)
			return;
	}
}

int64_t clock_boot_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_BOOTTIME, &t);
	return (int64_t)t.tv_sec * NS_PER_S + t.tv_nsec;
}
