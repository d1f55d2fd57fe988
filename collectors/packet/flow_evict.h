/*
 * flow_evict - which direction goes when a flow table is full: Space-Saving of A. Metwally, D.
 * Agrawal, A. El Abbadi, "Efficient computation of frequent and top-k elements in data streams",
 * ICDT 2005, weighted by octets.
 *
 * The one with the least octets goes; its successor in the record inherits its octets as an error:
 * they count for its place, never for what is reported. The paper keeps all entries sorted; here
 * the least sixteenth is found in one walk and used up before the next. What goes then had at most
 * N / (15/16 m) octets of N in a table of m, so every direction with more than that share is kept:
 * the paper's bound, wider by 1/15. Single-threaded.
 */
#ifndef RW_COLLECTORS_FLOW_EVICT_H
#define RW_COLLECTORS_FLOW_EVICT_H

#include "collectors/packet/flow_store.h"

/* flow_evict_make_room - lets directions go until there is room for one more. False: there is none.
 * *ret_inherited: octets that the successor inherits. */
bool flow_evict_make_room(struct flow_table *table, uint64_t *ret_inherited);

/* flow_evict_born - @id has just been added. */
void flow_evict_born(struct flow_table *table, uint32_t id, uint64_t inherited);

/* flow_evict_distinct - @port of @qp is new in this interval; for the estimates. */
void flow_evict_distinct(struct flow_table *table, const struct flow_qp *qp, uint16_t port);

/* flow_evict_clear - a new interval: nothing was let go in it. */
void flow_evict_clear(struct flow_table *table);

#endif
