/*
 * clock_watch - was the wall clock set, and did this process run all the time? Pure: three clocks
 * are compared with what they showed at the last look.
 *
 *      CLOCK_REALTIME   labels data; people and NTP set it
 *      CLOCK_BOOTTIME   only moves forward, also while the machine sleeps
 *
 * Where the wall clock moved more or less than the boot clock by CLOCK_STEP_NS or more, it was set;
 * smaller steps add up until they are as large. Slewing (adjtime, 500 ppm) does not. Where the boot
 * clock itself moved by more than @away_ns, nothing was done in between: the process was stopped,
 * the machine slept or had no time for it.
 */
#ifndef RW_AGENT_CLOCK_WATCH_H
#define RW_AGENT_CLOCK_WATCH_H

#include <stdbool.h>
#include <stdint.h>

#define CLOCK_STEP_NS (2 * 1000000000LL)

struct clock_watch { /* zeroed at first */
	bool known;
	int64_t wall_ns, boot_ns; /* at the last look */
	int64_t offset_ns; /* wall minus boot clock, as far as steps were told and slewing explains
			    */
};

struct clock_change {
	int64_t step_ns; /* by how much the wall clock was set; 0 = it was not, below 0 = back */
	int64_t since_ns; /* no time read after the step is earlier (new wall clock) */
	int64_t away_ns; /* how long nothing was done; 0 = no longer than @away_ns */
};

/* clock_look - compare with the last look, and remember. The first look finds no change. */
struct clock_change clock_look(
	struct clock_watch *watch, int64_t wall_ns, int64_t boot_ns, int64_t away_ns);

/* clock_read - both clocks at one moment: a process that is stopped between two readings would see
 * a step that nobody made. */
void clock_read(int64_t *ret_wall_ns, int64_t *ret_boot_ns);

/* clock_boot_ns - CLOCK_BOOTTIME now, ns. */
int64_t clock_boot_ns(void);

#endif
