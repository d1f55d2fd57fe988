/* windows - the analyzers' windows of the pipeline: which one ends next, what it holds, and what is
 * found in it. Loop thread. */
#pragma once

#include "base/base.h"

#include "analyzers/measure/class_world.h"

struct config;
struct pipeline;
struct loop;

/* windows_open - a slot for every analyzer of the program, in order of their phase. */
void windows_open(struct pipeline *pipeline);

/* windows_configure - lengths and options from @config, at the start and after a reload. */
void windows_configure(struct pipeline *pipeline, const struct config *config);

/* windows_keep_ns - how long memory has to keep samples for the windows; windows_keep_past() asks
 * it to keep the metrics of the analyzers' pasts longer. */
int64_t windows_keep_ns(const struct pipeline *pipeline);
void windows_keep_past(struct pipeline *pipeline);

/* windows_rewind - the clock was set back to @t_ns: the windows that hold it begin again. */
void windows_rewind(struct pipeline *pipeline, int64_t t_ns);

/*
 * judging - when windows are judged: all at once in replay, in slices of some milliseconds in the
 * agent, so that nothing else on the loop waits for a large fabric's windows. Samples and flows
 * that come meanwhile wait until the windows are done, as if the windows had been judged at once.
 * Loop thread.
 */

/* judging_open - from now on in slices. Where no thread is to be had, it stays all at once. */
void judging_open(struct pipeline *pipeline, struct loop *loop);
void judging_close(struct pipeline *pipeline);

/* judging_until - the windows that ended by @limit_ns; then what memory need not keep is forgotten.
 * With slices, that goes on after the call. */
void judging_until(struct pipeline *pipeline, int64_t limit_ns);
/* judging_finish - what is under way ends now, and what waited is taken in. */
void judging_finish(struct pipeline *pipeline);

/*
 * golden_keep - once a minute, what the golden signals and the jobs' throughput are, as samples of
 * agent.signal in the store: what "usual" means a day later. The windows have been measured for the
 * analyzers by then, so it costs little. Loop thread; the same live and in replay, and nothing
 * without a store.
 */

struct golden_keep { /* zeroed at first */
	int64_t signals_ns, jobs_ns; /* when the next ones are due */
};

/*
 * class_keep - the facts of each lossless class in the newest window, for the agent's health: a
 * reader then need not measure all ports to say in which world a class lives. What counters showed
 * is kept for a minute, because some are refreshed more slowly than a window is long. Loop thread.
 */
struct class_keep { /* zeroed at first */
	int64_t to_ns; /* end of the window; 0: none yet */
	struct world_facts facts[FABRIC_CLASSES]; /* .fabric NULL: not lossless */
	int64_t paused_ns[FABRIC_CLASSES], marked_ns[FABRIC_CLASSES], trimmed_ns[FABRIC_CLASSES];
};
