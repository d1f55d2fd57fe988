/* db_world - a scratch directory and small helpers for the tests of db/. */
#ifndef RW_TESTS_DB_WORLD_H
#define RW_TESTS_DB_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <sqlite3.h>

#include "base/clock.h"
#include "base/err.h"
#include "db/model/entity.h"
#include "db/model/metric.h"
#include "db/sqlite/read/samples_table.h"

#define T0 INT64_C(1700000000000000000)
#define SECONDS(n) (T0 + (int64_t)((n)*1e9))

struct db_world {
	char dir[64], path[96];
};

static inline void world_init(struct db_world *w)
{
	snprintf(w->dir, sizeof(w->dir), "/tmp/rw-db-XXXXXX");
	assert_non_null(mkdtemp(w->dir));
	snprintf(w->path, sizeof(w->path), "%s/t.db", w->dir);
}

static inline void world_done(struct db_world *w)
{
	static const char *const suffix[] = {
		"", "-wal", "-shm", "-journal", ".lock", ".state", ".rescue"};
	char name[128];

	for (size_t i = 0; i < sizeof(suffix) / sizeof(suffix[0]); i++) {
		snprintf(name, sizeof(name), "%s%s", w->path, suffix[i]);
		unlink(name);
	}
	assert_int_equal(rmdir(w->dir), 0);
}

static inline struct sample sample_at(
	int64_t t_ns, uint32_t entity, unsigned metric, uint64_t value, unsigned flags)
{
	return (struct sample){.t_ns = t_ns,
		.entity = entity,
		.metric = (uint16_t)metric,
		.value = value,
		.flags = (uint16_t)flags,
		.source = SOURCE_SNMP};
}

/* The first column of the first row, by a connection of the test's own. */
static inline int64_t world_int(const struct db_world *w, const char *sql)
{
	sqlite3 *db;
	sqlite3_stmt *st;

	assert_int_equal(sqlite3_open_v2(w->path, &db, SQLITE_OPEN_READWRITE, NULL), SQLITE_OK);
	assert_int_equal(samples_table_register(db), SQLITE_OK);
	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	int64_t v = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	sqlite3_close(db);
	return v;
}

static inline void world_exec(const struct db_world *w, const char *sql)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(w->path, &db), SQLITE_OK);
	assert_int_equal(samples_table_register(db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	sqlite3_close(db);
}

#endif
