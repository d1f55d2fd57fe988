/*
 * watch_incidents - the open incidents of the watch frame, and how they change the golden signals:
 * one in which an open incident shows is as bad as that, any other one is in order.
 */
#ifndef RW_REPORTS_WATCH_INCIDENTS_H
#define RW_REPORTS_WATCH_INCIDENTS_H

struct arena;
struct client;
struct err;
struct watch_answer;

/* watch_take_incidents - moves those of the status into the frame, by money, then severity. */
void watch_take_incidents(struct watch_answer *frame);

/* watch_events_read - the newest events up to the time of the frame, newest first; they lie in @a.
 * 0, or negative errno with @e. */
int watch_events_read(
	struct client *client, struct arena *a, struct watch_answer *frame, struct err *e);

/* watch_apply_incidents - signals and paused ports take the state, the subject and the id of the
 * open incident that shows in them (golden.def). */
void watch_apply_incidents(struct arena *a, struct watch_answer *frame);

#endif
