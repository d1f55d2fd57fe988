/*
 * schema - the database's shape: numbered migrations, metric columns, documented views. For files
 * of db/ only.
 *
 * Samples lie in wide rows (entity, t_ns, source, flags, cfg, x, one column per metric), keyed
 * (t_ns, entity): a poll is one stretch at the end of its table. sample_port, sample_priority and
 * sample_device are by the metric's scope. Values of the priorities 0..7 of a port lie together in
 * one row of sample_lanes, whose entity is the port and whose columns end in _p0 .. _p7 ("lanes").
 * instant(device, t_ns) says when a device has rows: a series is read by walking its device's
 * instants. A column is the metric's name with '.' as '_'. source, flags  those of the row's
 * values, unless x says otherwise cfg            1 when the row holds a configuration state
 * (cfg.*), else NULL: a partial index finds those few rows x              per-value exceptions as
 * JSON, normally NULL (see row_x in schema_row.c)
 */
#ifndef RW_DB_SCHEMA_H
#define RW_DB_SCHEMA_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "db/model/metric.h"
#include "db/model/sample.h"

struct err;
struct str;

#define SCHEMA_APPLICATION_ID 0x526f4377 /* "RoCw" */
#define SCHEMA_VERSION 4

#define SCHEMA_BY_ENTITY                                                                           \
	2 /* up to this version rows were keyed (entity, t_ns) and there were no lanes */
#define SCHEMA_LANES 8
enum { TABLE_LANES = SCOPE_DEVICE + 1, SCHEMA_TABLES }; /* those before are by enum metric_scope */
extern const char *const schema_table[SCHEMA_TABLES];

/*
 * Where an entity's values lie: priority-scoped metrics of a priority in lane 1..8 (priority + 1)
 * of row entity .row; everything else, and everything when .lane is 0, under the entity's own id.
 * .device owns the instants.
 */
struct place {
	uint32_t row, device;
	uint8_t lane;
};
struct entities;
struct place schema_place(const struct entities *entities, uint32_t id);

/* What a reader goes through: the three tables by scope, then each lane. */
#define SCHEMA_SOURCES (TABLE_LANES + SCHEMA_LANES)
static inline unsigned schema_source_table(unsigned source)
{
	if (source < TABLE_LANES)
		return source;
	return TABLE_LANES;
}
static inline unsigned schema_source_lane(unsigned source)
{
	if (source < TABLE_LANES)
		return 0;
	return source - TABLE_LANES + 1;
}
static inline unsigned schema_table_scope(unsigned table)
{
	if (table == TABLE_LANES)
		return (unsigned)SCOPE_PRIO;
	return table;
}

/* schema_column - column of a metric, in @buf. schema_lane_column: in a lane; 0 = none. */
#define SCHEMA_COLUMN_MAX 64
char *schema_column(char buf[SCHEMA_COLUMN_MAX], unsigned metric);
char *schema_lane_column(char buf[SCHEMA_COLUMN_MAX], unsigned metric, unsigned lane);
/* a configuration state: rare rows, never forgotten by retention while newest */
bool schema_is_cfg(unsigned metric);

/*
 * schema_check - is this our database, and do we know its version? @ret_version 0 = an empty file.
 * Read-only. schema_migrate - bring an open, writable database to SCHEMA_VERSION, each step in its
 * transaction; then add missing metric columns and renew the views if their text changed. -EINVAL
 * (foreign, newer), or as sqlite_fail().
 */
int schema_check(sqlite3 *db, const char *path, int *ret_version, struct err *e);
int schema_migrate(sqlite3 *db, const char *path, struct err *e);

/* schema_views - the SQL that makes all documented views, appended to @out. */
void schema_views(struct str *out);
extern const char *const schema_view_names[]; /* NULL-terminated */

/* ---- one value's exceptions from its row (schema_row.c, pure) ------------ */

struct row_value {
	uint16_t metric, flags, source;
	uint32_t window_ms;
	uint8_t lane;
};

/*
 * row_x_write - {"port_in_octets":{"flags":1},"queue_watermark_bytes":{"window_ms":60000}}; nothing
 * is added when there is no exception. row_x_apply - set @values's flags, source and window from
 * the row's text; values that are not named keep what they have. Damaged text changes nothing from
 * the damage on.
 */
void row_x_write(
	struct str *out, const struct row_value *values, size_t n, uint16_t flags, uint16_t source);
void row_x_apply(const char *json, struct row_value *values, size_t n);

#endif
