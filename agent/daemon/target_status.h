/*
 * target_status - the state of each target on its way to the store: a change of state at once,
 * statistics at most once a second per target. Loop thread; reads no clock.
 */
#ifndef RW_AGENT_TARGET_TABLE_H
#define RW_AGENT_TARGET_TABLE_H

#include <stdint.h>
#include "collectors/target/collector.h"

struct store;
struct target_table;
struct target_table *target_table_new(void);
void target_table_free(struct target_table *table);
/* @target is copied. */
void target_table_take(struct target_table *table, struct store *store, const struct target *target,
	int64_t now_ns);
/* Write what is due. */
void target_table_flush(struct target_table *table, struct store *store, int64_t now_ns);

#endif
