/*
 * burst_seen - does a host take what it is sent in bursts that end by themselves, as storage does
 * when a job saves? An incast stays as long as the job sends like that; while it goes on so does
 * the exchange. Pure.
 */
#ifndef RW_MEASURE_BURST_SEEN_H
#define RW_MEASURE_BURST_SEEN_H

#include <stdbool.h>

#include "analyzers/measure/input.h"
#include "analyzers/measure/observe.h"

/* burst_seen - is what @port sent in the window a burst against its own past? One that has ended,
 * is not longer than those before it or than one poll, or in which nobody else is sent anything,
 * for a minute at most. False where in->past does not tell. */
bool burst_seen(const struct analyzer_in *in, const struct port_seen *port);

#endif
