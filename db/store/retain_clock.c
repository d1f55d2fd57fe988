/* retain_clock - does not believe a clock that leaps ahead until it has stayed there. */
#include "db/store/retain_clock.h"

#include <inttypes.h>
#include <stdio.h>

#define LEAP_LEAST_NS (600 * NS_PER_S)
#define LEAP_SHARE 7 /* of the time that samples are kept: a day of a week */
#define FORMER_NS (3600 * NS_PER_S)

static int64_t clock_within(int64_t ns, int64_t least, int64_t most)
{
	if (ns < least)
		return least;
	if (ns > most)
		return most;
	return ns;
}

void retain_clock_limit(struct retain_clock *clock, int64_t raw_ns)
{
	clock->leap_ns = RETAIN_LEAP_NS;
	clock->hold_ns = RETAIN_HOLD_NS;
	if (raw_ns <= 0)
		return;
	clock->leap_ns = clock_within(raw_ns / LEAP_SHARE, LEAP_LEAST_NS, RETAIN_LEAP_NS);
	clock->hold_ns = clock_within(raw_ns, LEAP_LEAST_NS, RETAIN_HOLD_NS);
}

/* Time that passed since the last look counts for all that was believed. */
static void clock_pass(struct retain_clock *clock, int64_t boot_ns)
{
	int64_t passed_ns = 0;

	if (clock->looked && boot_ns > clock->boot_ns)
		passed_ns = boot_ns - clock->boot_ns;
	clock->looked = true;
	clock->boot_ns = boot_ns;
	clock->trusted_ns += passed_ns;
	if (clock->ahead)
		clock->ahead_ran_ns += passed_ns;
	if (clock->former_ns == 0)
		return;
	clock->former_ns += passed_ns;
	clock->former_ran_ns += passed_ns;
	if (clock->former_ran_ns > FORMER_NS)
		clock->former_ns = 0;
}

static bool clock_near(const struct retain_clock *clock, int64_t one_ns, int64_t other_ns)
{
	const int64_t apart_ns = one_ns - other_ns;

	return apart_ns <= clock->leap_ns && apart_ns >= -clock->leap_ns;
}

static int64_t clock_believe(struct retain_clock *clock, int64_t wall_ns)
{
	clock->ahead = false;
	clock->trusted_ns = wall_ns;
	return wall_ns;
}

static int64_t clock_hold(struct retain_clock *clock, int64_t wall_ns)
{
	const int64_t by_ns = wall_ns - clock->trusted_ns;

	if (!clock->ahead || !clock_near(clock, by_ns, clock->ahead_by_ns)) {
		clock->ahead = true; /* a leap, or another one */
		clock->ahead_ran_ns = 0;
		clock->ahead_by_ns = by_ns;
	}
	if (clock->ahead_ran_ns >= clock->hold_ns)
		return clock_believe(clock, wall_ns);
	return clock->trusted_ns;
}

int64_t retain_clock_now(
	struct retain_clock *clock, int64_t newest_ns, wall_t wall, int64_t boot_ns)
{
	if (clock->leap_ns == 0)
		retain_clock_limit(clock, 0);
	if (clock->trusted_ns == 0)
		clock->trusted_ns = newest_ns;
	if (clock->trusted_ns == 0)
		clock->trusted_ns = wall.ns;
	clock_pass(clock, boot_ns);
	if (clock_near(clock, wall.ns, clock->trusted_ns))
		return clock_believe(clock, wall.ns);
	if (wall.ns > clock->trusted_ns) {
		if (clock->former_ns == 0 || !clock_near(clock, wall.ns, clock->former_ns))
			return clock_hold(clock, wall.ns);
		clock->former_ns = 0;
		return clock_believe(clock, wall.ns);
	}
	clock->former_ns = clock->trusted_ns;
	clock->former_ran_ns = 0;
	return clock_believe(clock, wall.ns);
}

void retain_clock_print(const struct retain_clock *clock, char *buf, size_t size)
{
	snprintf(buf, size, "1 %" PRId64 " %d %" PRId64 " %" PRId64 " %" PRId64 " %" PRId64,
		clock->trusted_ns, clock->ahead, clock->ahead_ran_ns, clock->ahead_by_ns,
		clock->former_ns, clock->former_ran_ns);
}

bool retain_clock_parse(struct retain_clock *clock, const char *text)
{
	struct retain_clock read = {0};
	int ahead, version;

	if (sscanf(text, "%d %" SCNd64 " %d %" SCNd64 " %" SCNd64 " %" SCNd64 " %" SCNd64, &version,
		    &read.trusted_ns, &ahead, &read.ahead_ran_ns, &read.ahead_by_ns,
		    &read.former_ns, &read.former_ran_ns) != 7)
		return false;
	const bool sane = read.trusted_ns >= 0 && read.ahead_ran_ns >= 0 && read.former_ns >= 0;
	if (version != 1 || !sane)
		return false;
	read.ahead = ahead != 0;
	read.leap_ns = clock->leap_ns;
	read.hold_ns = clock->hold_ns;
	*clock = read;
	return true;
}
