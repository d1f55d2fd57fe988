/*
 * watch_frame - one frame of `rocewatch watch`: what is wrong, where and since when, as a document;
 * and the screen as one of its formats.
 */
#ifndef RW_REPORTS_WATCH_FRAME_H
#define RW_REPORTS_WATCH_FRAME_H

#include <jansson.h>

#include "agent/base/err.h"
#include "agent/document/writer.h"

struct client;

/*
 * watch_frame - the document of status_document() with, of the newest closed window:
 * {state, window: {from, to}, signals: [{signal, value, unit, state, where}],
 * uplinks: [{device, port, peer, utilization_ratio}]}.
 *
 * A signal that no device delivers has the state "unknown" and no value. NULL on failure with @e
 * filled; the caller owns the result.
 */
json_t *watch_frame(struct client *client, struct err *e);

extern const struct view watch_view;

#endif
