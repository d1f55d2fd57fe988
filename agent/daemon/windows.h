/* windows - the analyzers' windows of the pipeline: which one ends next, what it holds, and what is
 * found in it. Loop thread. */
#ifndef RW_AGENT_WINDOWS_H
#define RW_AGENT_WINDOWS_H

#include <stdint.h>

struct config;
struct pipeline;

/* windows_open - a slot for every analyzer of the program, in order of their phase. */
void windows_open(struct pipeline *pipeline);

/* windows_configure - lengths and options from @config, at the start and after a reload. */
void windows_configure(struct pipeline *pipeline, const struct config *config);

/* windows_keep_ns - how long memory has to keep samples for the windows; windows_keep_past() asks
 * it to keep the metrics of the analyzers' pasts longer. */
int64_t windows_keep_ns(const struct pipeline *pipeline);
void windows_keep_past(struct pipeline *pipeline);

/* windows_close_until - close the windows that end by @limit_ns, oldest first. */
/* windows_rewind - the clock was set back to @t_ns: the windows that hold it begin again. */
void windows_rewind(struct pipeline *pipeline, int64_t t_ns);
void windows_close_until(struct pipeline *pipeline, int64_t limit_ns);

#endif
