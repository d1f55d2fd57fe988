/*
 * schema_column - where a value lies: which table, which row, which column.
 *
 * sample_port, sample_priority and sample_device hold the metrics of that scope, one row per entity
 * and instant. Values of the priorities 0..7 of a port share one row of sample_lanes, whose entity
 * is the port and whose columns end in _p0 .. _p7. A column is the metric's name with '.' as '_'.
 */
#ifndef RW_DB_SCHEMA_COLUMN_H
#define RW_DB_SCHEMA_COLUMN_H

#include <stdbool.h>
#include <stdint.h>
#include "db/model/entity.h"
#include "db/model/metric.h"

#define SCHEMA_PRIOS 8 /* priorities that have columns of their own */
enum { TABLE_PRIOS = SCOPE_DEVICE + 1, SCHEMA_TABLES }; /* those before are by enum metric_scope */
extern const char *const schema_table[SCHEMA_TABLES];
unsigned schema_table_scope(unsigned table); /* enum metric_scope of its metrics */

/* Where the values of an entity lie. */
struct row_at {
	uint32_t row; /* entity of the row: the port, for a priority with columns of its own */
	uint32_t device; /* owns the instants */
	int8_t prio; /* its columns in that row; PRIO_NONE = the columns without a suffix */
};
struct row_at schema_row_at(uint32_t id, uint32_t parent, uint32_t device, int priority);
struct row_at schema_row_of(const struct entities *entities, uint32_t id);

/* A column set is what one reader of rows goes through: one of the three tables by scope, or one
 * priority's columns of sample_lanes. */
#define COLUMN_SETS (TABLE_PRIOS + SCHEMA_PRIOS)
static inline unsigned column_set_table(unsigned set)
{
	if (set < TABLE_PRIOS)
		return set;
	return TABLE_PRIOS;
}
static inline int column_set_prio(unsigned set)
{
	if (set < TABLE_PRIOS)
		return PRIO_NONE;
	return (int)set - TABLE_PRIOS;
}

/* column_set_has - is @metric of the scope of the set's table? */
bool column_set_has(unsigned set, unsigned metric);

/* schema_column - the column of a metric, in @buf. schema_prio_column: that of one priority;
 * PRIO_NONE: the plain one. */
#define SCHEMA_COLUMN_MAX 64
char *schema_column(char buf[SCHEMA_COLUMN_MAX], unsigned metric);
char *schema_prio_column(char buf[SCHEMA_COLUMN_MAX], unsigned metric, int prio);

/* schema_is_cfg - a configuration state (cfg.*): its rows are rare, and retention keeps the newest
 * one. */
bool schema_is_cfg(unsigned metric);

#endif
