/* sqlite_run - statements that are kept; all that the extension needs of sqlite_io.h. */
#include "db/sqlite/schema/sqlite_io.h"

int sqlite_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret)
{
	return sqlite3_prepare_v3(db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL);
}

int sqlite_run(sqlite3_stmt *statement)
{
	int rc = sqlite3_step(statement);
	int reset = sqlite3_reset(statement);

	if (rc == SQLITE_DONE || rc == SQLITE_ROW)
		return reset;
	return rc;
}

void sqlite_finalizep(sqlite3_stmt **statement)
{
	sqlite3_finalize(*statement);
	*statement = NULL;
}
