/*
 * watch_frame - one frame of `rocewatch watch`: what is wrong, where and since when, as a document.
 */
#ifndef RW_REPORTS_WATCH_FRAME_H
#define RW_REPORTS_WATCH_FRAME_H

#include <jansson.h>

#include "agent/base/err.h"

struct arena;
struct client;
struct watch_now;

/*
 * watch_frame - the document of every live surface: status_document() and
 * {state, state_why, agent, window: {from, to}, signals: [{name, signal, value, value_low, unit,
 * quality, baseline, baseline_span_s, state, where, why, subject, incident}], paused, uplinks,
 * jobs, incidents, money, events}.
 *
 * A signal that no device delivers has the state "unknown" and no value; one with an open incident
 * is at least as bad as that. NULL on failure with @e filled; the caller owns the result.
 */
json_t *watch_frame(struct client *client, struct err *e);

/* watch_frame_of - the same, with the windows and what was measured in @now: they live in @a and in
 * the client's configuration. */
json_t *watch_frame_of(
	struct client *client, struct watch_now *now, struct arena *a, struct err *e);

#endif
