/*
 * wide_rows - rows of a file of an older version (wide_read.h): which of them a statement reads,
 * and a row as samples. A file of version 1 or 2 has rows by entity, and priorities have rows of
 * their own.
 */
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "db/sqlite/schema.h"
#include "db/sqlite/series_db.h"
#include "db/sqlite/sqlite_io.h"
#include "db/sqlite/wide_read.h"

const char *const wide_table[SCHEMA_TABLES] = {
	[SCOPE_PORT] = "sample_port",
	[SCOPE_PRIO] = "sample_priority",
	[SCOPE_DEVICE] = "sample_device",
	[TABLE_PRIOS] = "sample_lanes",
};

/* The file may lack columns. */
int wide_columns(struct series_db *db)
{
	char column[SCHEMA_COLUMN_MAX];
	int rc = SQLITE_OK;

	for (unsigned set = 0; set < COLUMN_SETS; set++) {
		const char *table = wide_table[column_set_table(set)];
		struct wide_set *to = &db->wide->sets[set];
		for (unsigned m = 0; rc == SQLITE_OK && m < METRIC_COUNT; m++) {
			bool has = false;
			schema_prio_column(column, m, column_set_prio(set));
			if (column_set_has(set, m))
				rc = sqlite_has_column(db->db, table, column, &has);
			if (has)
				to->metrics[to->n_metrics++] = (uint16_t)m;
		}
	}
	return rc;
}

/* Which rows: conditions on the time, and the order. */
static const struct {
	const char *begin, *end, *order;
} wide_ranges[] = {
	[ROWS_WINDOW] = {">?2", "<=?3", ""},
	[ROWS_SLICE] = {">=?2", "<=?3", ""},
	[ROWS_BEFORE] = {"<=?2", NULL, " DESC"},
	[ROWS_HAVING] = {"<=?2", NULL, " DESC"},
};

/*
 * Where the rows come from. Instants lead and a row is sought at each; the text leaves the planner,
 * which has no statistics, no choice. Configuration states, which are rare, are found by their
 * partial index. An older version's file has rows by entity. Returns the table whose t_ns leads.
 */
static const char *wide_add_from(
	const struct series_db *db, const char *table, bool cfg, struct str *sql)
{
	if (cfg) {
		str_addf(sql,
			" FROM %s r INDEXED BY %s_cfg WHERE r.entity=?1 AND r.cfg IS NOT NULL AND ",
			table, table);
		return "r";
	}
	if (db->wide->by_entity) {
		str_addf(sql, " FROM %s r WHERE r.entity=?1 AND ", table);
		return "r";
	}
	str_addf(sql,
		" FROM instant i CROSS JOIN %s r ON r.t_ns=i.t_ns AND r.entity=?1 "
		"WHERE i.device=?4 AND ",
		table);
	return "i";
}

int wide_select(struct series_db *db, unsigned set, const uint16_t *metrics, size_t n,
	enum wide_rows which, sqlite3_stmt **ret)
{
	rw_cleanup(str_done) struct str sql = {0};
	char column[SCHEMA_COLUMN_MAX];
	const char *table = wide_table[column_set_table(set)];
	int prio = column_set_prio(set);
	bool cfg = which == ROWS_HAVING && schema_is_cfg(metrics[0]);

	str_add(&sql, "SELECT r.t_ns,r.source,r.flags,r.x");
	for (size_t i = 0; i < n; i++)
		str_addf(&sql, ",r.%s", schema_prio_column(column, metrics[i], prio));
	const char *from = wide_add_from(db, table, cfg, &sql);
	str_addf(&sql, "%s.t_ns%s", from, wide_ranges[which].begin);
	if (wide_ranges[which].end)
		str_addf(&sql, " AND %s.t_ns%s", from, wide_ranges[which].end);
	if (which == ROWS_HAVING)
		str_addf(&sql, " AND r.%s IS NOT NULL",
			schema_prio_column(column, metrics[0], prio));
	str_addf(&sql, " ORDER BY %s.t_ns%s", from, wide_ranges[which].order);
	return sqlite3_prepare_v2(db->db, sql.s, (int)sql.n, ret, NULL);
}

void wide_bind(const struct series_db *db, sqlite3_stmt *st, unsigned set, uint32_t entity)
{
	const struct row_at *at = &db->names[entity].at;
	uint32_t row = entity;

	if (column_set_prio(set) != PRIO_NONE)
		row = at->row;
	sqlite3_bind_int64(st, 1, db->names[row].file_id);
	if (sqlite3_bind_parameter_count(st) >= 4)
		sqlite3_bind_int64(st, 4, db->names[at->device].file_id);
}

size_t wide_row(struct series_db *db, sqlite3_stmt *st, unsigned set, uint32_t entity,
	const uint16_t *metrics, size_t n, struct sample *ret)
{
	struct row_value values[METRIC_COUNT];
	uint64_t bits[METRIC_COUNT];
	size_t n_values = 0;
	const int64_t t_ns = sqlite3_column_int64(st, C_T);
	const struct row_value shared = {.flags = (uint16_t)sqlite3_column_int(st, C_FLAGS),
		.source = (uint16_t)sqlite3_column_int(st, C_SOURCE),
		.prio = (int8_t)column_set_prio(set)};

	for (size_t i = 0; i < n; i++) {
		int column = C_FIRST + (int)i;
		if (sqlite3_column_type(st, column) == SQLITE_NULL)
			continue;
		values[n_values] = shared;
		values[n_values].metric = metrics[i];
		bits[n_values] = row_bits(st, column, metrics[i]);
		if (metric_info(metrics[i])->type == TYPE_TEXT)
			bits[n_values] = series_text_of(db, (int64_t)bits[n_values]);
		n_values++;
	}
	row_x_apply((const char *)sqlite3_column_text(st, C_X), values, n_values);
	for (size_t i = 0; i < n_values; i++)
		ret[i] = (struct sample){.t_ns = t_ns,
			.entity = entity,
			.metric = values[i].metric,
			.value = bits[i],
			.flags = values[i].flags,
			.source = values[i].source,
			.window_ms = values[i].window_ms};
	return n_values;
}
