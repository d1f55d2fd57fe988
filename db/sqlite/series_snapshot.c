/*
 * series_snapshot - bounds how long a reader of ours may look at one state of the file: as long as
 * it does, the write-ahead log cannot begin anew behind it.
 */
#include "agent/base/clock.h"
#include "db/sqlite/series_db.h"

#define LOOK_EVERY 100000 /* steps of SQLite's machine: some milliseconds */

static int snapshot_late(void *arg)
{
	const struct series_db *db = arg;

	return db->snapshot_until_ns != 0 && mono_now().ns > db->snapshot_until_ns;
}

void series_snapshot_begin(struct series_db *db)
{
	db->snapshot_until_ns = mono_now().ns + SERIES_SNAPSHOT_S * NS_PER_S;
	sqlite3_progress_handler(db->db, LOOK_EVERY, snapshot_late, db);
}

void series_snapshot_end(struct series_db *db)
{
	db->snapshot_until_ns = 0;
}
