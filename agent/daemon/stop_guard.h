/*
 * stop_guard - a SIGTERM or SIGINT ends the agent, whatever its threads wait for.
 *
 * The loop obeys signals. A start that hangs on the disk, or a reading of history, keeps it from
 * that: then a thread of its own ends the process STOP_GUARD_START_NS after the signal. Nothing is
 * lost that the disk would have taken: what was committed stays. A process that the kernel keeps in
 * an uninterruptible wait ends when that wait does.
 */
#ifndef RW_AGENT_STOP_GUARD_H
#define RW_AGENT_STOP_GUARD_H

#include "agent/base/clock.h"

#define STOP_GUARD_START_NS (6 * NS_PER_S) /* until the loop must have begun to stop */
#define STOP_GUARD_STOP_NS (20 * NS_PER_S) /* from then on, for the stop itself */

/* stop_guard_start - after the loop has its handlers of SIGTERM and SIGINT, which it calls first.
 * 0 or negative errno: then there is no guard. Once in a process. */
int stop_guard_start(void);
/* stop_guard_stopping - the loop has begun to stop. stop_guard_done - it has stopped, before it
 * gives its handlers back. */
void stop_guard_stopping(void);
void stop_guard_done(void);

#endif
