/*
 * samples_table - the samples of a file as a table of SQL, rocewatch_samples: what the documented
 * views `samples` and `rates` stand on. It is there in every connection that registered it, needs
 * no CREATE, and reads the blocks and the tail of the main database of its connection.
 *
 * Conditions that reach the key: metric, device and port (=, IN, LIKE, GLOB), priority (=, IS
 * NULL), entity (=), kind (=) and ranges of t_ns. Rows come by device, metric, name and time; of
 * one metric grouped by device, port and priority in that order, so that SQLite sorts nothing.
 *
 * rocewatch_rates(metric, from_ns, to_ns [, step_s]) - a function of SQL in the place of a table:
 * what each series was in (from, to], or in each step that touches it, added up from the same
 * blocks without a row for each sample.
 */
#pragma once

#include <sqlite3.h>

#include "db/sqlite/read/blocks.h"
#include "base/base.h"

#define SAMPLES_TABLE "rocewatch_samples"
#define RATES_TABLE "rocewatch_rates"

/* samples_table_register - both. SQLite result code. */
int samples_table_register(sqlite3 *db);

/* samples_cursor - the cursor of rocewatch_samples: what samples_table.c (which rows) and
 * samples_table.c (their columns) share. */

/* The sample before the next stretch of time, of one series. */
struct carry {
	int64_t entity, t_ns;
	uint64_t value;
};
