/* windows - the analyzers' windows of the pipeline: which one ends next, what it holds, and what is
 * found in it. Loop thread. */
#ifndef RW_AGENT_WINDOWS_H
#define RW_AGENT_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>

struct config;
struct pipeline;
struct slot;

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

/* ---- one window, in three steps -------------------------------------------- */

/* windows_due - the slot whose window ended first, by @limit_ns; time in which nothing came is
 * skipped. NULL: none is due. */
struct slot *windows_due(struct pipeline *pipeline, int64_t limit_ns);
/* windows_judge - fills and judges the window of pipeline->judging.slot: the long part. */
void windows_judge(struct pipeline *pipeline);
/* windows_deliver - what was found goes to the store and the ledger; the slot goes on. By the clock
 * mono_now() at most until @until_ns, INT64_MAX: to the end. False when something is left: again,
 * before anything else is judged. */
bool windows_deliver(struct pipeline *pipeline, int64_t until_ns);

#endif
