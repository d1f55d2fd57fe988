/* flow_row - a flow sample as a row of table flow, and back. */
#pragma once

#include <sqlite3.h>
#include "base/base.h"
#include "db/model/flow.h"

#define FLOW_COLUMNS 42
extern const char flow_columns[]; /* their names, separated by commas */

/* flow_row_select - appends "SELECT ... FROM flow". */
void flow_row_select(struct str *out);

/* flow_row_bind - all parameters ?1 .. ?42 of a statement whose values are in that order. @file_id:
 * number of the entity in the file. */
void flow_row_bind(sqlite3_stmt *st, const struct flow_sample *flow, int64_t file_id);
/* flow_row_read - the row at hand of a statement that selects these columns first. Its entity's
 * number in the file is the first column; @entity is the reader's own. */
void flow_row_read(sqlite3_stmt *st, uint32_t entity, struct flow_sample *ret);
