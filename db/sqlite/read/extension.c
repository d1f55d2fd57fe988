/*
 * extension - rocewatch_sqlite.so: the table rocewatch_samples for other programs that read the
 * file by SQLite, so that the views `samples` and `rates` work there. In the sqlite3 shell:
 *
 *   .load /usr/lib/rocewatch/rocewatch_sqlite
 *
 * The sources of the table are compiled once more for this module, with SQLite's functions as the
 * program that loads it hands them over (extension_api.h): it may have a SQLite of its own. The
 * entry point's name follows from the file's name: letters only, "lib" left out
 * (https://sqlite.org/loadext.html).
 */
#include <sqlite3ext.h>
#include "db/sqlite/read/samples_table.h"

const sqlite3_api_routines *sqlite3_api; /* what SQLITE_EXTENSION_INIT1 defines */

__attribute__((visibility("default"))) int sqlite3_rocewatchsqlite_init(
	sqlite3 *db, char **error, const sqlite3_api_routines *api);
int sqlite3_rocewatchsqlite_init(sqlite3 *db, char **error, const sqlite3_api_routines *api)
{
	SQLITE_EXTENSION_INIT2(api);
	return samples_table_register(db);
}
