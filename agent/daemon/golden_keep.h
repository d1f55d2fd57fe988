/*
 * golden_keep - once a minute, what the golden signals and the jobs' throughput are, as samples of
 * agent.signal in the store: what "usual" means a day later. The windows have been measured for the
 * analyzers by then, so it costs little. Loop thread; the same live and in replay, and nothing
 * without a store.
 */
#ifndef RW_AGENT_GOLDEN_KEEP_H
#define RW_AGENT_GOLDEN_KEEP_H

#include <stdint.h>

struct analyzer;
struct analyzer_in;
struct finding_list;
struct pipeline;

struct golden_keep { /* zeroed at first */
	int64_t signals_ns, jobs_ns; /* when the next ones are due */
};

/* golden_keep_window - @analyzer has judged the window of @in and found @found. */
void golden_keep_window(struct pipeline *pipeline, const struct analyzer *analyzer,
	const struct analyzer_in *in, const struct finding_list *found);

#endif
