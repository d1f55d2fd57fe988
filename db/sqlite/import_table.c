/*
 * import_table - a table of wide rows, as versions 1 to 8 kept samples: one column per metric,
 * flags and source of a row in columns of their own, and where a value differs, in x.
 */
#include "db/sqlite/import_state.h"

#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "db/sqlite/sqlite_io.h"

const char *const import_table_name[IMPORT_TABLES] = {
	[SCOPE_PORT] = "wide_port",
	[SCOPE_PRIO] = "wide_priority",
	[SCOPE_DEVICE] = "wide_device",
	[TABLE_PRIOS] = "wide_lanes",
	[IMPORT_WIDE + SCOPE_PORT] = "old_sample_port",
	[IMPORT_WIDE + SCOPE_PRIO] = "old_sample_priority",
	[IMPORT_WIDE + SCOPE_DEVICE] = "old_sample_device",
};

static unsigned import_table_scope(unsigned table)
{
	return schema_table_scope(table % IMPORT_WIDE);
}

/* Columns that the table has, among those of this program's metrics. */
static int table_columns(sqlite3 *db, unsigned table, struct import_table *ret)
{
	const bool lanes = table == TABLE_PRIOS;
	char column[SCHEMA_COLUMN_MAX];
	int rc = SQLITE_OK;

	for (int p = 0; p < SCHEMA_PRIOS && (p == 0 || lanes); p++) {
		const int prio = lanes ? p : PRIO_NONE;
		for (unsigned m = 0; rc == SQLITE_OK && m < METRIC_COUNT; m++) {
			bool has = false;
			if ((unsigned)metric_info(m)->scope != import_table_scope(table))
				continue;
			rc = sqlite_has_column(db, import_table_name[table],
				schema_prio_column(column, m, prio), &has);
			if (!has)
				continue;
			ret->metrics[ret->n_columns] = (uint16_t)m;
			ret->prios[ret->n_columns++] = (int8_t)prio;
		}
	}
	return rc;
}

static int table_prepare(sqlite3 *db, unsigned table, struct import_table *ret)
{
	rw_cleanup(str_done) struct str select = {0}, sql = {0};
	char column[SCHEMA_COLUMN_MAX];
	const char *name = import_table_name[table];

	str_add(&select, "SELECT r.entity,r.t_ns,r.source,r.flags,r.x");
	for (size_t i = 0; i < ret->n_columns; i++)
		str_addf(&select, ",r.%s",
			schema_prio_column(column, ret->metrics[i], ret->prios[i]));
	str_addf(&sql, "%s FROM %s r ORDER BY %s LIMIT ?1", select.s, name,
		table < IMPORT_WIDE ? "t_ns, entity" : "entity, t_ns");
	int rc = sqlite_prepare(db, sql.s, &ret->rest);
	if (rc != SQLITE_OK || table >= IMPORT_WIDE)
		return rc;
	sql.n = 0;
	str_addf(&sql,
		"%s FROM instant i CROSS JOIN %s r ON r.t_ns=i.t_ns AND r.entity=?1 "
		"WHERE i.device=?2 AND i.t_ns>?3 AND i.t_ns<=?4",
		select.s, name);
	rc = sqlite_prepare(db, sql.s, &ret->read);
	sql.n = 0;
	str_addf(&sql,
		"DELETE FROM %s WHERE entity=?1 AND t_ns IN (SELECT t_ns FROM instant WHERE "
		"device=?2 AND t_ns>?3 AND t_ns<=?4)",
		name);
	if (rc == SQLITE_OK)
		rc = sqlite_prepare(db, sql.s, &ret->erase);
	return rc;
}

int import_table_open(sqlite3 *db, unsigned table, struct import_table *ret)
{
	int rc = sqlite_has_column(db, import_table_name[table], "entity", &ret->there);

	if (rc != SQLITE_OK || !ret->there)
		return rc;
	rc = table_columns(db, table, ret);
	if (rc == SQLITE_OK)
		rc = table_prepare(db, table, ret);
	return rc;
}

void import_table_close(struct import_table *table)
{
	sqlite_finalizep(&table->read);
	sqlite_finalizep(&table->erase);
	sqlite_finalizep(&table->rest);
}

/* Whose value the column is: the row's own entity, or a priority of it. 0: nobody's. */
static int64_t table_owner(const struct import_row *row, int prio)
{
	if (prio == PRIO_NONE)
		return row->entity;
	return row->lanes[prio];
}

void import_table_row(const struct import_table *table, sqlite3_stmt *st,
	const struct import_row *row, struct import_values *ret)
{
	struct row_value v[METRIC_COUNT * SCHEMA_PRIOS];
	uint64_t bits[METRIC_COUNT * SCHEMA_PRIOS];
	size_t n = 0;

	for (size_t i = 0; i < table->n_columns; i++) {
		const int column = O_FIRST + (int)i;
		if (sqlite3_column_type(st, column) == SQLITE_NULL)
			continue;
		v[n] = (struct row_value){.metric = table->metrics[i],
			.source = (uint16_t)sqlite3_column_int(st, O_SOURCE),
			.flags = (uint16_t)sqlite3_column_int(st, O_FLAGS),
			.prio = table->prios[i]};
		bits[n++] = row_bits(st, column, table->metrics[i]);
	}
	row_x_apply((const char *)sqlite3_column_text(st, O_X), v, n);
	const int64_t t_ns = sqlite3_column_int64(st, O_T);
	for (size_t i = 0; i < n; i++) {
		const int64_t entity = table_owner(row, v[i].prio);
		if (entity == 0)
			continue;
		rw_grow(ret->v, ret->n, ret->cap);
		ret->v[ret->n++] = (struct import_value){.device = row->device,
			.metric = v[i].metric,
			.sample = {.entity = entity,
				.t_ns = t_ns,
				.value = bits[i],
				.window_ms = v[i].window_ms,
				.flags = v[i].flags,
				.source = v[i].source}};
		if (t_ns > ret->late_ns)
			ret->v[ret->n - 1].sample.flags |= SF_LATE;
	}
}
