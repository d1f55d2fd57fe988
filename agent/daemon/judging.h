/*
 * judging - when windows are judged: all at once in replay, in slices of some milliseconds in the
 * agent, so that nothing else on the loop waits for a large fabric's windows. Samples and flows
 * that come meanwhile wait until the windows are done, as if the windows had been judged at once.
 * Loop thread.
 */
#ifndef RW_AGENT_JUDGING_H
#define RW_AGENT_JUDGING_H

#include <stdint.h>

struct loop;
struct pipeline;

/* judging_open - from now on in slices. Where no thread is to be had, it stays all at once. */
void judging_open(struct pipeline *pipeline, struct loop *loop);
void judging_close(struct pipeline *pipeline);

/* judging_until - the windows that ended by @limit_ns; then what memory need not keep is forgotten.
 * With slices, that goes on after the call. */
void judging_until(struct pipeline *pipeline, int64_t limit_ns);
/* judging_finish - what is under way ends now, and what waited is taken in. */
void judging_finish(struct pipeline *pipeline);

#endif
