/* store_write - the transactions of the writer, and its write-ahead log. */
#include "db/sqlite/write/store_write.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "db/sqlite/schema/sqlite_io.h"

/* ---- transactions -------------------------------------------------------- */

static const char *const counted_tables[WRITER_COUNTED] = {[COUNTED_EVENT] = "event",
	[COUNTED_FINDING] = "finding",
	[COUNTED_FLOW] = "flow",
	[COUNTED_TAIL] = "tail"};

static int counts_read(struct store_writer *writer, int64_t ret[WRITER_COUNTED])
{
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < WRITER_COUNTED; i++) {
		if (!writer->count[i]) {
			rw_cleanup(str_done) struct str sql = {0};
			str_addf(&sql, "SELECT max(id) FROM %s", counted_tables[i]);
			rc = sqlite_prepare(writer->db, sql.s, &writer->count[i]);
		}
		if (rc == SQLITE_OK && sqlite3_step(writer->count[i]) == SQLITE_ROW)
			ret[i] = sqlite3_column_int64(writer->count[i], 0);
		if (rc == SQLITE_OK)
			rc = sqlite3_reset(writer->count[i]);
	}
	return rc;
}

int writer_counts(struct store_writer *writer)
{
	return counts_read(writer, writer->newest_id);
}

static int counts_delete_newer(struct store_writer *writer)
{
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < WRITER_COUNTED; i++)
		rc = sqlite_execf(writer->db, "DELETE FROM %s WHERE id>%lld", counted_tables[i],
			(long long)writer->newest_id[i]);
	return rc;
}

int writer_begin(struct store_writer *writer)
{
	writer->n_new_series = 0;
	writer->n_new_ids = writer->n_new_texts = 0;
	writer->names_changed = false;
	const int rc = sqlite_exec(writer->db, "BEGIN IMMEDIATE");
	if (rc != SQLITE_OK || !writer->unsure)
		return rc;
	return counts_delete_newer(writer);
}

/*
 * SQLite may report a failure although the log has the whole transaction (the memory of the log's
 * index could not be mapped, say). This connection does not see it then. Whoever opens the file
 * next does.
 */
int writer_commit(struct store_writer *writer)
{
	int64_t newest[WRITER_COUNTED];
	int rc = writer_names_commit(writer);

	if (rc == SQLITE_OK)
		rc = counts_read(writer, newest);
	if (rc != SQLITE_OK)
		return rc;
	rc = sqlite_exec(writer->db, "COMMIT");
	writer->unsure = rc != SQLITE_OK;
	if (rc != SQLITE_OK)
		return rc;
	memcpy(writer->newest_id, newest, sizeof(newest));
	seal_commit(writer);
	return SQLITE_OK;
}

void writer_rollback(struct store_writer *writer)
{
	if (!sqlite3_get_autocommit(writer->db))
		sqlite_exec(writer->db, "ROLLBACK");
	/* the lines that were added to table series are gone again */
	for (size_t i = 0; i < writer->n_new_series; i++) {
		const struct new_series *series = &writer->new_series[i];
		struct writer_entity *entity = &writer->entities[series->entity];
		entity->bits[series->metric / 64] &= ~(UINT64_C(1) << (series->metric % 64));
		writer->entities[entity->device_id].n_series--;
	}
	writer->n_new_series = 0;
	seal_rollback(writer);
	writer_names_rollback(writer);
}
