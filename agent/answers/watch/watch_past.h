/*
 * watch_past - what the agent kept of golden signals and jobs in the last day (agent.signal, once a
 * minute): what is usual, and what the jobs do. Baselines are medians of the values outside all
 * incidents of that day, open and closed, that touch a signal: a fault that lasts does not become
 * the usual, and one that is over was not.
 */
#pragma once

#include "base/base.h"

struct client;
struct watch_answer;
struct watch_past;

/* watch_past_read - of the day before @client's time. NULL with @e on failure; watch_past_free()
 * it. A database without such samples is not a failure. */
struct watch_past *watch_past_read(struct client *client, struct err *e);
void watch_past_free(struct watch_past *past); /* NULL is fine */

/* watch_past_apply - fills the baselines of the signals, and over which time they were taken. */
void watch_past_apply(const struct watch_past *past, struct watch_answer *frame);

/*
 * watch_jobs - what each configured job does. The step is the measured one where samples are
 * frequent enough, else the declared one times what throughput lost.
 */
void watch_jobs(const struct watch_past *past, const struct client *client, struct arena *a,
	struct watch_answer *frame);

/* watch_apply_jobs - the signals step_time and exchange_time take the job that lost most. Where
 * none runs and one is stopped they say since when, and are as bad as the open incident that may
 * have stopped it; a warning where there is none. */
void watch_apply_jobs(const struct client *client, struct arena *a, struct watch_answer *frame);
