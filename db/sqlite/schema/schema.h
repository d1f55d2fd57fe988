/*
 * schema - the database's shape: numbered migrations, numbers of metrics, documented views. For
 * files of db/sqlite only.
 *
 * Samples lie in table tail as they came, a row per device and transaction, and later in table
 * block, a row per device, metric and stretch of time (store_seal.c). In both, numbers stand for
 * names: entity.id and metric_name.id. "device" is the number of the entity (device, '', -1). Of
 * two values of one entity, metric and instant the first one stays: that of a block, else that of
 * the tail row with the smallest id.
 */
#pragma once

#include <sqlite3.h>
#include "base/base.h"
#include "db/model/metric.h"

#define SCHEMA_APPLICATION_ID 0x526f4345 /* "RoCE" */
#define SCHEMA_VERSION 3
/* "RoCw": files of the time before the first release. Their versions went up to 9, and mean nothing
 * here. */
#define SCHEMA_DEVELOPMENT_ID 0x526f4377
/* from this version on a file has table series_count */
#define SCHEMA_COUNTS 2
/* key of table meta: the database was made by a replay, no agent ever wrote it */
#define SCHEMA_RECORDED "recorded"

/* key of table meta: a number that grows when names or their series change */
#define SCHEMA_NAMES "names"
/* entity.gone_ns while the agent knows the name */
#define NAME_LIVE INT64_MAX
#define NAME_LIVE_SQL "9223372036854775807"
/* What makes each version out of the one before: .sql[n] makes version n + 1. */
struct schema_steps {
	const char *const *sql;
	int n;
};
extern const struct schema_steps schema_released;

/*
 * schema_check - is this our database, do we know its version, and are its tables tables?
 * @ret_version 0 = an empty file. Read-only.
 *
 * schema_migrate - brings an open, writable database to SCHEMA_VERSION, each step in its own
 * transaction; then adds the numbers of new metrics, and makes the views anew if their text
 * changed.
 *
 * schema_migrate_to - the same, to the version that @to makes: tests plant versions that are none.
 *
 * All: 0, -EINVAL (another program's database, one that another program changed, one from before
 * the first release, or a version that is not known), or as sqlite_fail().
 */
int schema_check(sqlite3 *db, const char *path, int *ret_version, struct err *e);
int schema_migrate(sqlite3 *db, const char *path, struct err *e);
int schema_migrate_to(sqlite3 *db, const char *path, const struct schema_steps *to, struct err *e);

/* schema_views - appends the SQL that makes all documented views. schema_views.c */
void schema_views(struct str *out);
extern const char *const schema_view_names[]; /* NULL-terminated */
