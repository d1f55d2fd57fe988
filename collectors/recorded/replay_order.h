/* replay_order - sorts recorded samples by (time, entity, metric). */
#ifndef RW_COLLECTORS_REPLAY_ORDER_H
#define RW_COLLECTORS_REPLAY_ORDER_H

#include <stddef.h>

struct sample;

/*
 * replay_order - in place, the same result for any order of the lines. A recording is mostly in the
 * order of time already, and the samples of each poll come in the order of the poll before: then
 * the work is linear.
 */
void replay_order(struct sample *samples, size_t n);

#endif
