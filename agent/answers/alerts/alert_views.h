/* alert_views - what receivers of alerts know, silences and events: as documents and as tables. */
#pragma once

#include <jansson.h>

#include "agent/document/writer.h"
#include "base/base.h"

struct client;

/*
 * Documents; a new reference each, NULL with @e filled.
 *
 * alerts_document    {receivers: [{receiver, kind, min_severity, state: "ok|failing|idle|unknown",
 *                    queued, sent, failed, dropped, last_success, error}], alerts: [{receiver,
 *                    incident, state, severity, pending, pending_since, sent_at, sent, attempts,
 *                    error}]}: the newest first, at most 200
 * silences_document  {silences: [silence_json]}: active and scheduled ones; with @all the expired
 *                    ones too
 * events_document    {events: [{t, kind, who, text, device, port, job, incident}]}: those in the
 *                    time range, oldest first, at most 1000 of them; @kind NULL: all kinds
 */
json_t *alerts_document(struct client *client, struct err *e);
json_t *silences_document(struct client *client, bool all, struct err *e);
json_t *events_document(struct client *client, const char *kind, const char *device, struct err *e);

extern const struct view alerts_view, silences_view, events_view;
