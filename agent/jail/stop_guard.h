/*
 * stop_guard - a SIGTERM or SIGINT ends the agent, whatever its threads wait for.
 *
 * The loop obeys signals. A start that hangs on the disk, or a reading of history, keeps it from
 * that: then a thread of its own ends the process STOP_GUARD_START_NS after the signal. Nothing is
 * lost that the disk would have taken: what was committed stays. A process that the kernel keeps in
 * an uninterruptible wait ends when that wait does.
 *
 * Threads of loop_work() look up names, read files and shake hands with devices, and nothing
 * can be told to them. When all is stored and closed they have STOP_GUARD_POOL_NS; then the process
 * ends without them, as an ordered stop.
 */
#pragma once

#include "base/base.h"

#define STOP_GUARD_START_NS (6 * NS_PER_S) /* until the loop must have begun to stop */
#define STOP_GUARD_STOP_NS (20 * NS_PER_S) /* from then on, for the stop itself */
#define STOP_GUARD_POOL_NS (3 * NS_PER_S) /* for threads of loop_work() */

/* stop_guard_start - after the loop has its handlers of SIGTERM and SIGINT, which it calls first.
 * 0 or negative errno: then there is no guard. Once in a process. */
int stop_guard_start(void);
/* stop_guard_stopping - the loop has begun to stop. stop_guard_pool - all is stored and closed but
 * the loop itself, which has not given its handlers back. stop_guard_done - the loop is gone, or
 * there was none. */
void stop_guard_stopping(void);
void stop_guard_pool(void);
void stop_guard_done(void);
