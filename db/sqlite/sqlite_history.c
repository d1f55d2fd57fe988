/* sqlite_history - the past as a SQLite file holds it: the operations of history.h, which stand in
 * series_fill.c (windows), series_scan.c (in order of time) and series_sql.c (records). */
#include "db/sqlite/series_db.h"
#include "db/sqlite/sqlite.h"

static const struct history_ops sqlite_history_ops = {
	.close = series_db_close,
	.entities = series_db_entities,
	.names = series_db_names,
	.window = series_db_window,
	.range = series_db_range,
	.next = series_db_next,
	.match = series_db_match,
	.each_sample = series_db_each_sample,
	.each_rollup = series_db_each_rollup,
	.each_flow = series_db_each_flow,
	.newest = series_db_newest,
	.fabric_at = series_db_fabric_at,
	.sql = series_db_sql,
};

int sqlite_history_open(const char *path, struct history **ret, struct err *e)
{
	struct series_db *db;
	int r = series_db_open(path, &db, e);

	if (r < 0)
		return r;
	db->history.ops = &sqlite_history_ops;
	*ret = &db->history;
	return 0;
}
