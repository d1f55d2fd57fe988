/*
 * step_seen - how long a job's step may be, as the octets of one of its ports show it, and how long
 * a host has to be watched before what it does is held against it. Within a step hosts take turns:
 * one is silent, or paused, while others send. So a window that is shorter than a step proves
 * nothing of a host. Pure.
 */
#ifndef RW_MEASURE_STEP_SEEN_H
#define RW_MEASURE_STEP_SEEN_H

#include <stdint.h>

#include "agent/base/clock.h"
#include "analyzers/measure/input.h"
#include "analyzers/measure/observe.h"

#define STEP_WATCH_STEPS 3 /* steps that a host is watched for */
#define STEP_WATCH_LEAST_NS (10 * NS_PER_S) /* however short they are */
#define STEP_WATCH_UNKNOWN_NS (30 * NS_PER_S) /* where the step is not known */

/* step_seen - at most so long is a step of whoever @port leads to, ns; 0: not known. From the
 * octets in in->past up to @until_ns: idle slices tell it; without any, how little the slices
 * differ. */
int64_t step_seen(const struct analyzer_in *in, const struct port_seen *port, int64_t until_ns);

/* step_watch_ns - how long before the window's end it has to be seen already where a step is
 * @step_ns, so that it was seen for three steps, and ten seconds, when the next window opens an
 * incident. @step_ns: of step_seen(). */
int64_t step_watch_ns(const struct analyzer_in *in, int64_t step_ns);

#endif
