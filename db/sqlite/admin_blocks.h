/* admin_blocks - see admin_blocks.c. For admin.c only. */
#ifndef RW_DB_ADMIN_BLOCKS_H
#define RW_DB_ADMIN_BLOCKS_H

#include <sqlite3.h>
#include "db/sqlite/admin.h"

/* admin_count_blocks - what the tiers and the tail of a file hold, into @stat. SQLite's code;
 * .check says when a row of the tail is damaged. */
int admin_count_blocks(sqlite3 *db, struct db_stat *stat);

#endif
