/*
 * schema - the database's shape: numbered migrations, metric columns, documented views. For files
 * of db/sqlite only.
 *
 * Samples lie in table tail as they came, a row per device and transaction, and later in table
 * block, a row per device, metric and stretch of time (store_seal.c). In both, numbers stand for
 * names: entity.id and metric_name.id. "device" is the number of the entity (device, '', -1). Of
 * two values of one entity, metric and instant the first one stays: that of a block, else that of
 * the tail row with the smallest id.
 */
#ifndef RW_DB_SCHEMA_H
#define RW_DB_SCHEMA_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "db/model/sample.h"
#include "db/sqlite/schema_column.h"

struct err;
struct str;

#define SCHEMA_APPLICATION_ID 0x526f4377 /* "RoCw" */
#define SCHEMA_VERSION 9
/* key of table meta: the database was made by a replay, no agent ever wrote it */
#define SCHEMA_RECORDED "recorded"

/* key of table meta: what is moved from an older version's tables and is later than this time gets
 * SF_LATE */
#define SCHEMA_MOVED_LATE "moved_late"

/* key of table meta: a number that grows when names or their series change */
#define SCHEMA_NAMES "names"
/* entity.gone_ns while the agent knows the name */
#define NAME_LIVE INT64_MAX
#define NAME_LIVE_SQL "9223372036854775807"
/* Up to this version nothing said which names are gone. */
#define SCHEMA_NAMES_STAY 6

/* Up to this version rows were keyed (entity, t_ns), and priorities had rows of their own. */
#define SCHEMA_BY_ENTITY 2
/* Up to this version samples lay in wide rows, one column per metric. */
#define SCHEMA_WIDE 8
/* Up to this version flows had no rows of hosts. */
#define SCHEMA_PLAIN_FLOWS 5

/*
 * schema_check - is this our database, and do we know its version? @ret_version 0 = an empty file.
 * Read-only.
 *
 * schema_migrate - brings an open, writable database to SCHEMA_VERSION, each step in its own
 * transaction; then adds missing metric columns, and makes the views anew if their text changed.
 *
 * Both: 0, -EINVAL (another program's database, or a newer version), or as sqlite_fail().
 */
int schema_check(sqlite3 *db, const char *path, int *ret_version, struct err *e);
int schema_migrate(sqlite3 *db, const char *path, struct err *e);

/* schema_views - appends the SQL that makes all documented views. schema_views.c */
void schema_views(struct str *out);
extern const char *const schema_view_names[]; /* NULL-terminated */

/* ---- one value of a row (schema_row.c) ----------------------------------- */

struct row_value {
	uint16_t metric, flags, source;
	uint32_t window_ms;
	int8_t prio; /* of struct row_at */
};

/*
 * row_x_apply - sets flags, source and window of @values from the text of a row of versions 1 to 8,
 * {"port_in_octets":{"flags":1},"queue_watermark_bytes":{"window_ms":60000}}; values that it does
 * not name keep what they have. From the first damage on, the text is ignored.
 */
void row_x_apply(const char *json, struct row_value *values, size_t n);

/* row_bits - a column of the row at hand, not NULL, as .value of a sample of @metric. */
uint64_t row_bits(sqlite3_stmt *st, int column, unsigned metric);

#endif
