/* screen_run - `rocewatch watch` in a terminal: reads, paints, takes keys, until the reader quits.
 */
#pragma once

#include "base/base.h"

#include "agent/client/client.h"
#include "agent/document/writer.h"

/*
 * screen_run - takes over the terminal until q, a signal or a hang-up. What goes wrong on the way
 * is shown, and tried again. Returns 0, or a negative errno with @e filled when there was nothing
 * to show from the start: -EINVAL usage or configuration, -ENOTSUP the terminal.
 *
 * @interval_ns  between two frames; INT64_MAX: the time range is in the past, one frame is enough
 */
int screen_run(const struct globals *globals, int64_t interval_ns, struct err *e);

/* screen_print - a frame of the screen as text, on as many lines as it takes. */

/* The document "watch" (agent/answers/watch/watch_frame.h): the wall as text, the signals as csv
 * rows. */
extern const struct view watch_view;
