/* series_ends - where the history of a file begins and ends. */
#pragma once

#include "db/sqlite/read/series_db.h"

/* series_whole_range - as series_db_range(), of all samples, whatever they are. */
int series_whole_range(
	struct series_db *db, int64_t *ret_first_ns, int64_t *ret_last_ns, struct err *e);
