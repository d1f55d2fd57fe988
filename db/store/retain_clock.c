/* retain_clock - does not believe a clock that leaps ahead of the data until it has stayed there.
 */
#include "db/store/retain_clock.h"

int64_t retain_clock_now(struct retain_clock *clock, int64_t newest_ns, wall_t wall, mono_t mono)
{
	if (clock->trusted_ns == 0)
		clock->trusted_ns = newest_ns;
	const bool leap = clock->trusted_ns != 0 && wall.ns - clock->trusted_ns > RETAIN_LEAP_NS;
	if (leap && !clock->ahead) {
		clock->ahead = true;
		clock->ahead_since = mono;
	}
	if (!leap)
		clock->ahead = false;
	if (clock->ahead && mono.ns - clock->ahead_since.ns < RETAIN_HOLD_NS)
		return clock->trusted_ns;
	clock->ahead = false;
	clock->trusted_ns = wall.ns;
	return wall.ns;
}
