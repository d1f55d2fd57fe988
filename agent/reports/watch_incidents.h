/*
 * watch_incidents - the open incidents of the watch frame, their money, and how they change the
 * golden signals: a signal with an open incident is never good.
 */
#ifndef RW_REPORTS_WATCH_INCIDENTS_H
#define RW_REPORTS_WATCH_INCIDENTS_H

#include <jansson.h>

struct client;
struct err;

/* watch_incidents_read - what is open at the time of the frame, by money, then severity. A new
 * reference, or NULL with @e. */
json_t *watch_incidents_read(struct client *client, struct err *e);

/* watch_money - {usd_per_hour, usd_total}: an incident that another open one explains is counted
 * with its parent. null where no incident has a price. A new reference. */
json_t *watch_money(const json_t *incidents);

/* watch_events_read - the newest events up to that time, newest first. */
json_t *watch_events_read(struct client *client, struct err *e);

/* watch_apply_incidents - signals and paused ports take the state, the subject and the id of the
 * open incident that shows in them (golden.def). */
void watch_apply_incidents(json_t *signals, json_t *paused, const json_t *incidents);

#endif
