/* judging - the windows that are due, one after the other, and memory after them. */
#include "agent/daemon/judging.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/loop.h"
#include "agent/base/slice.h"
#include "agent/daemon/intake.h"
#include "agent/daemon/pipeline_state.h"
#include "agent/daemon/windows.h"

#define SLICE_NS (8 * NS_PER_MS)
/* So much may wait; beyond, the windows are finished at once. */
#define WAITING_MOST 1000000
#define WAITING_KEPT 4096 /* room for so many stays */

static bool trim_is_due(const struct pipeline *pipeline)
{
	return pipeline->now_ns - pipeline->trimmed_ns >= pipeline->interval_ns;
}

/* Forgets what no window needs any more; not for every sample of a replay. */
static void judging_trim(struct pipeline *pipeline)
{
	const int64_t now_ns = pipeline->now_ns;
	series_memory_trim(pipeline->memory, now_ns);
	pipeline->trimmed_ns = now_ns;
}

static void judging_work(void *arg)
{
	struct pipeline *pipeline = arg;
	if (pipeline->judging.slot)
		windows_judge(pipeline);
	else
		judging_trim(pipeline);
}

/* The next piece of work: a window, or what memory forgets after the last one. */
static bool judging_next(struct pipeline *pipeline)
{
	struct judging *j = &pipeline->judging;
	j->slot = windows_due(pipeline, j->limit_ns);
	return j->slot || trim_is_due(pipeline);
}

/* False when what was found is not handed on yet. */
static bool judging_ended(struct pipeline *pipeline, int64_t until_ns)
{
	if (pipeline->judging.slot && !windows_deliver(pipeline, until_ns))
		return false;
	pipeline->judging.slot = NULL;
	return true;
}

static void judging_take_in(struct pipeline *pipeline)
{
	struct judging *j = &pipeline->judging;
	const struct judging held = *j;
	j->waits = false;
	j->samples = NULL;
	j->flows = NULL;
	j->n_samples = j->cap_samples = j->n_flows = j->cap_flows = 0;
	intake_take(pipeline, held.samples, held.n_samples);
	intake_take_flows(pipeline, held.flows, held.n_flows);
	if (held.cap_samples <= WAITING_KEPT && !j->samples) {
		j->samples = held.samples;
		j->cap_samples = held.cap_samples;
	} else {
		free(held.samples);
	}
	free(held.flows);
}

/* True when all is done; else it goes on later. */
static bool judging_slice(struct pipeline *pipeline, int64_t budget_ns)
{
	struct judging *j = &pipeline->judging;
	const int64_t began_ns = mono_now().ns;
	int64_t left_ns = budget_ns, until_ns = INT64_MAX;
	if (budget_ns != INT64_MAX)
		until_ns = began_ns + budget_ns;
	j->waits = true;
	while (left_ns > 0) {
		if (!j->runs && !j->delivers) {
			if (!judging_next(pipeline)) {
				judging_take_in(pipeline);
				return true;
			}
			slice_begin(j->slice, judging_work, pipeline);
			j->runs = true;
		}
		if (!j->delivers)
			j->runs = !slice_run(j->slice, left_ns);
		if (j->runs)
			return false;
		j->delivers = !judging_ended(pipeline, until_ns);
		if (j->delivers)
			return false;
		if (budget_ns != INT64_MAX)
			left_ns = budget_ns - (mono_now().ns - began_ns);
	}
	return false;
}

static void judging_on_timer(void *arg)
{
	struct pipeline *pipeline = arg;
	const struct judging *j = &pipeline->judging;
	int64_t budget_ns = j->slice_ns;
	if (j->n_samples + j->n_flows > WAITING_MOST)
		budget_ns = INT64_MAX;
	if (!judging_slice(pipeline, budget_ns))
		loop_timer_start(j->timer, 0, 0);
}

void judging_until(struct pipeline *pipeline, int64_t limit_ns)
{
	struct judging *j = &pipeline->judging;
	if (j->waits)
		return; /* of this tick's windows the next one takes care */
	j->limit_ns = limit_ns;
	if (j->slice && !pipeline->feeding) {
		judging_on_timer(pipeline);
		return;
	}
	while (judging_next(pipeline)) {
		judging_work(pipeline);
		judging_ended(pipeline, INT64_MAX);
	}
}

void judging_finish(struct pipeline *pipeline)
{
	struct judging *j = &pipeline->judging;
	if (!j->waits)
		return;
	loop_timer_stop(j->timer);
	judging_slice(pipeline, INT64_MAX);
}

static void judging_pause(void *arg)
{
	slice_pause(arg);
}

void judging_open(struct pipeline *pipeline, struct loop *loop)
{
	struct judging *j = &pipeline->judging;
	j->slice = slice_new();
	if (!j->slice)
		return;
	j->slice_ns = SLICE_NS;
	j->timer = loop_timer_new(loop, judging_on_timer, pipeline);
	series_memory_pausing(pipeline->memory, judging_pause, j->slice);
	j->in.pause = judging_pause;
	j->in.pause_arg = j->slice;
}

void judging_close(struct pipeline *pipeline)
{
	struct judging *j = &pipeline->judging;
	judging_finish(pipeline);
	loop_timer_free(j->timer);
	slice_free(j->slice);
	series_memory_pausing(pipeline->memory, NULL, NULL);
	free(j->samples);
	free(j->flows);
	*j = (struct judging){0};
}
