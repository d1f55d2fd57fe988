/* record_views - the file's own schema and statements, in memory. */
#include "db/sqlite/record_views.h"

#include "db/sqlite/schema/flow_row.h"
#include "db/sqlite/read/series_db.h"
#include "db/sqlite/schema/sqlite_io.h"
#include "db/sqlite/write/store_write.h"

struct record_views {
	struct store_writer *writer; /* only its statements of records are used */
	struct series_db reader; /* only for statements */
	sqlite3_stmt *entity, *entity_id, *flow, *health;
	char *name;
};

static int views_prepare(struct record_views *views)
{
	sqlite3 *db = views->writer->db;
	rw_cleanup(str_done) struct str sql = {0};
	int rc = sqlite_prepare(db,
		"INSERT OR IGNORE INTO entity(device, port, priority) VALUES(?1, ?2, -1)",
		&views->entity);
	if (rc == SQLITE_OK)
		rc = sqlite_prepare(db,
			"SELECT id FROM entity WHERE device=?1 AND port=?2 AND priority=-1",
			&views->entity_id);
	str_addf(&sql, "INSERT INTO flow(%s) VALUES(?1", flow_columns);
	for (int i = 2; i <= FLOW_COLUMNS; i++)
		str_addf(&sql, ",?%d", i);
	str_add(&sql, ")");
	if (rc == SQLITE_OK)
		rc = sqlite_prepare(db, sql.s, &views->flow);
	if (rc == SQLITE_OK)
		rc = sqlite_prepare(db,
			"INSERT OR REPLACE INTO health(key, value, unit, t_ns) VALUES(?1, ?2, ?3, "
			"?4)",
			&views->health);
	return rc;
}

int record_views_open(const char *name, struct record_views **ret, struct err *e)
{
	struct record_views *views = rw_calloc(1, sizeof(*views));
	views->name = rw_strdup(name);
	views->writer = rw_calloc(1, sizeof(*views->writer));
	views->writer->lock_fd = views->writer->inode_fd = -1;
	views->writer->o.path = views->name;
	int r = 0;
	int rc = sqlite_open(
		":memory:", &views->writer->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX);
	if (rc == SQLITE_OK)
		r = schema_migrate(views->writer->db, name, e);
	if (rc == SQLITE_OK && r == 0)
		rc = views_prepare(views);
	if (rc != SQLITE_OK)
		r = sqlite_fail(e, views->writer->db, rc, "prepare the views of", name);
	views->reader.db = views->writer->db;
	views->reader.path = views->name;
	if (r < 0)
		record_views_close(views);
	else
		*ret = views;
	return r;
}

void record_views_close(struct record_views *views)
{
	if (!views)
		return;
	sqlite3_finalize(views->entity);
	sqlite3_finalize(views->entity_id);
	sqlite3_finalize(views->flow);
	sqlite3_finalize(views->health);
	writer_close_file(views->writer);
	free(views->writer);
	free(views->name);
	free(views);
}

static int views_result(struct record_views *views, int rc, struct err *e)
{
	if (rc == SQLITE_OK)
		return 0;
	return sqlite_fail(e, views->writer->db, rc, "prepare the views of", views->name);
}

int record_views_begin(struct record_views *views, struct err *e)
{
	return views_result(views, sqlite_exec(views->writer->db, "BEGIN"), e);
}

int record_views_commit(struct record_views *views, struct err *e)
{
	return views_result(views, sqlite_exec(views->writer->db, "COMMIT"), e);
}

/* ---- rows ----------------------------------------------------------------------- */

static int views_entity(
	struct record_views *views, const char *device, const char *port, int64_t *ret)
{
	sqlite3_bind_text(views->entity, 1, device, -1, SQLITE_STATIC);
	sqlite3_bind_text(views->entity, 2, port, -1, SQLITE_STATIC);
	int rc = sqlite_run(views->entity);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_text(views->entity_id, 1, device, -1, SQLITE_STATIC);
	sqlite3_bind_text(views->entity_id, 2, port, -1, SQLITE_STATIC);
	if (sqlite3_step(views->entity_id) == SQLITE_ROW)
		*ret = sqlite3_column_int64(views->entity_id, 0);
	return sqlite3_reset(views->entity_id);
}

static int views_flow(struct record_views *views, const struct spool_row *row)
{
	struct flow_sample flow;
	const char *device, *port;
	int64_t entity = 0;
	spool_flow_of_row(row, &flow, &device, &port);
	int rc = views_entity(views, str_or(device, ""), str_or(port, ""), &entity);
	if (rc != SQLITE_OK)
		return rc;
	flow_row_bind(views->flow, &flow, entity);
	return sqlite_run(views->flow);
}

static int views_health(struct record_views *views, const struct spool_row *row)
{
	struct store_health health;
	int64_t t_ns;
	spool_health_of_row(row, &health, &t_ns);
	sqlite3_bind_text(views->health, 1, health.key, -1, SQLITE_STATIC);
	sqlite3_bind_null(views->health, 2);
	if (isfinite(health.value))
		sqlite3_bind_double(views->health, 2, health.value);
	sqlite3_bind_text(views->health, 3, health.unit, -1, SQLITE_STATIC);
	sqlite3_bind_int64(views->health, 4, t_ns);
	return sqlite_run(views->health);
}

int record_views_row(struct record_views *views, const struct spool_row *row, struct err *e)
{
	struct store_record record;
	int rc = SQLITE_OK;
	if (row->table == SPOOL_FLOWS)
		rc = views_flow(views, row);
	else if (row->table == SPOOL_HEALTH)
		rc = views_health(views, row);
	else if (row->table != SPOOL_REWINDS && spool_record_of_row(row, &record))
		rc = writer_record(views->writer, &record);
	return views_result(views, rc, e);
}

int record_views_sql(struct record_views *views, const char *sql, row_fn *head, row_fn *fn,
	void *arg, struct err *e)
{
	return series_db_sql(&views->reader.history, sql, head, fn, arg, e);
}
