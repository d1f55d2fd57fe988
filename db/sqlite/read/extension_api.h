/* extension_api - put before each source of the loadable extension (-include): SQLite's functions
 * by the table that the loading program hands over, not by linking. */
#pragma once

#include <sqlite3ext.h>
extern const sqlite3_api_routines *sqlite3_api;
