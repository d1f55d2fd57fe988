/*
 * memory_watch - is there enough memory? Two files of the kernel say so:
 *
 *      memory.events     of our control group: how often it was held back at memory.high, met
 *                        memory.max, ran out (oom) and lost a process (oom_kill); see
 *                        Documentation/admin-guide/cgroup-v2.rst of Linux
 *      memory.pressure   of our control group, or /proc/pressure/memory: the share of the last ten
 *                        seconds in which somebody waited for memory;
 * Documentation/accounting/psi.rst
 *
 * Both are opened once, before the process gives its rights away; then they are only read again.
 * Where the kernel has neither, nothing is said. Loop thread.
 */
#ifndef RW_AGENT_MEMORY_WATCH_H
#define RW_AGENT_MEMORY_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/clock.h"

#define MEMORY_TEXT_MAX 256

enum { MEMORY_HIGH, MEMORY_MAX, MEMORY_OOM, MEMORY_OOM_KILL, MEMORY_COUNTS };
extern const char *const memory_count_names[MEMORY_COUNTS];

struct memory_counts {
	bool counted; /* .n is known */
	uint64_t n[MEMORY_COUNTS]; /* since the watch began */
	double stalled_ratio; /* of the last ten seconds; NAN = not known */
};

struct memory_watch;

/* memory_watch_new - @cgroup: where control groups are mounted; @proc: /proc. Never NULL. */
struct memory_watch *memory_watch_new(const char *cgroup, const char *proc);
void memory_watch_free(struct memory_watch *watch); /* NULL is fine */

/* memory_watch_look - about once a second. True: there is something to say that was not said in the
 * last ten minutes, in @what. */
bool memory_watch_look(struct memory_watch *watch, mono_t now, char *what, size_t size);

/* memory_watch_counts - as of the last look; NULL = the kernel does not say. Lent. */
const struct memory_counts *memory_watch_counts(const struct memory_watch *watch);

#endif
