/*
 * web_events - the live stream (server-sent events, https://html.spec.whatwg.org section 9.2): the
 * frame of the screen whenever it has changed, at most once a second, made once for all readers and
 * only while there are some. Events:
 *
 *   watch     the whole document "watch"
 *   incident  {change: "opened|changed|closed", incident: {...}}
 *   trouble   {error}: no frame can be made at present
 *   still     {}: nothing else was sent for 5 s, and the last frame holds
 *
 * In trouble it is said again every 5 s. Silence means that the connection or the server is dead.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"

#include "agent/web/http.h"

struct globals;
struct web_events;

/* web_events_new - starts the thread; @base and @db_path are lent until web_events_free(). NULL
 * when it does not start. */
struct web_events *web_events_new(const struct globals *base, const char *db_path);

/* web_events_join - a reader more, on the server's thread; web_events_leave() when its stream has
 * ended. */
void web_events_join(struct web_events *events, struct http_ticket *ticket);
void web_events_leave(struct web_events *events, struct http_ticket *ticket);
size_t web_events_readers(struct web_events *events);

/* web_events_end - ends every stream. */
void web_events_end(struct web_events *events);

/* web_events_free - false when the thread is still at work after some seconds. */
bool web_events_free(struct web_events *events);

/* web_events_incidents - what differs between the incidents of two frames (@before may be NULL:
 * nothing is sent), as events at the end of @out. Pure. */
void web_events_incidents(struct str *out, const json_t *before, const json_t *after);
