/*
 * store_retain - deletes what is older than retention allows, or the oldest tenth of the time when
 * the file is over its quota. One chunk in one short transaction at a time, so that writing never
 * waits long; a pass goes on where the last chunk stopped.
 *
 * Kept however old: the newest of each configuration state, and what open recommendations and
 * incidents rest on ("pins").
 */
#include "agent/base/cleanup.h"
#include "db/sqlite/sqlite_io.h"
#include "db/sqlite/store_write.h"

#define CHUNK_ROWS 4000 /* deleted in one transaction: some 20 ms */
#define QUOTA_SHARE 10 /* over quota: the oldest tenth of the time goes */

/* ---- pins ---------------------------------------------------------------- */

/* Beyond WRITER_PINS ranges the last one spans the rest. */
static void add_pin(struct store_writer *writer, struct writer_pin pin)
{
	struct writer_pin *last = NULL;

	if (writer->n_pins > 0)
		last = &writer->pins[writer->n_pins - 1];
	bool joins = last && (pin.from_ns <= last->to_ns || writer->n_pins == WRITER_PINS);
	if (!joins)
		writer->pins[writer->n_pins++] = pin;
	else if (pin.to_ns > last->to_ns)
		last->to_ns = pin.to_ns;
}

/* The evidence of open recommendations, and a quarter of an hour on each side of the beginning of
 * an open incident. */
static void load_pins(struct store_writer *writer)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	static const char sql[] =
		"SELECT from_ns, to_ns FROM recommendation "
		"WHERE state IN ('proposed','accepted','applied') AND from_ns<=to_ns "
		"UNION ALL SELECT opened_ns-900000000000, opened_ns+900000000000 FROM incident "
		"WHERE state IN ('open','clearing') AND opened_ns>0 ORDER BY 1";

	writer->n_pins = 0;
	if (sqlite3_prepare_v2(writer->db, sql, -1, &st, NULL) != SQLITE_OK)
		return;
	while (sqlite3_step(st) == SQLITE_ROW)
		add_pin(writer,
			(struct writer_pin){
				sqlite3_column_int64(st, 0), sqlite3_column_int64(st, 1)});
}

/* The first range without a pin that begins at @from or later and ends at @until or earlier:
 * [*ret_from, *ret_until). False: there is none. */
static bool free_range(const struct store_writer *writer, int64_t from, int64_t until,
	int64_t *ret_from, int64_t *ret_until)
{
	for (size_t i = 0; i < writer->n_pins; i++) {
		const struct writer_pin *pin = &writer->pins[i];
		if (from < pin->from_ns) {
			if (until > pin->from_ns)
				until = pin->from_ns;
			break;
		}
		if (from <= pin->to_ns)
			from = pin->to_ns + 1;
	}
	*ret_from = from;
	*ret_until = until;
	return from < until;
}

/* ---- how far ------------------------------------------------------------- */

/* Pages in use over the quota? Deleted rows leave free pages that SQLite fills again: the file
 * stops growing rather than shrink. */
static bool over_quota(struct store_writer *writer)
{
	if (writer->o.quota_bytes == 0)
		return false;
	sqlite3_int64 pages = sqlite_int(writer->db, "PRAGMA page_count", 0, NULL);
	sqlite3_int64 unused = sqlite_int(writer->db, "PRAGMA freelist_count", 0, NULL);
	sqlite3_int64 page_bytes = sqlite_int(writer->db, "PRAGMA page_size", 0, NULL);
	return (uint64_t)(pages - unused) * (uint64_t)page_bytes > writer->o.quota_bytes;
}

/* The oldest instant without a pin. Instants rather than rows: a configuration state that is kept
 * would stay the oldest row for ever. */
static int64_t oldest_free(struct store_writer *writer, int64_t now_ns)
{
	int64_t from = INT64_MIN, until;

	for (size_t i = 0; i <= writer->n_pins; i++) {
		rw_cleanup(str_done) struct str sql = {0};
		str_addf(&sql,
			"SELECT min((SELECT min(t_ns) FROM instant "
			"WHERE device=e.id AND t_ns>=%lld)) "
			"FROM entity e WHERE e.port='' AND e.priority=-1",
			(long long)from);
		const int64_t first = sqlite_int(writer->db, sql.s, now_ns, NULL);
		free_range(writer, first, INT64_MAX, &from, &until);
		if (from == first)
			break;
	}
	if (from < now_ns)
		return from;
	return now_ns;
}

/* What lies before this is deleted; INT64_MIN = nothing. */
static int64_t retain_cutoff(struct store_writer *writer, int64_t now_ns)
{
	int64_t cutoff = INT64_MIN;

	if (writer->o.raw_ns > 0)
		cutoff = now_ns - writer->o.raw_ns;
	if (over_quota(writer)) {
		int64_t first = oldest_free(writer, now_ns);
		int64_t early = first + (now_ns - first) / QUOTA_SHARE;
		if (early > cutoff)
			cutoff = early;
	}
	return cutoff;
}

/* ---- rows of samples ----------------------------------------------------- */

/* The end of one chunk: the time up to which at most ?3 rows lie from ?1 on and before ?2. */
static int edge_statement(struct store_writer *writer, unsigned table, sqlite3_stmt **ret)
{
	rw_cleanup(str_done) struct str sql = {0};

	*ret = writer->retain_edge[table];
	if (*ret)
		return SQLITE_OK;
	str_addf(&sql,
		"SELECT t_ns FROM %s WHERE t_ns>=?1 AND t_ns<?2 ORDER BY t_ns LIMIT 1 OFFSET ?3",
		schema_table[table]);
	int rc = sqlite_prepare(writer->db, sql.s, &writer->retain_edge[table]);
	*ret = writer->retain_edge[table];
	return rc;
}

/*
 * Rows from ?1 on and before ?2. One with configuration states goes only when a later row of its
 * entity, itself before the cutoff ?3, has all of its states: the newest of each was in force at
 * the cutoff and still answers "what was configured then".
 */
static void rows_sql(const struct writer_table *table, struct str *out)
{
	char column[SCHEMA_COLUMN_MAX];

	str_addf(out,
		"DELETE FROM %s AS r WHERE r.t_ns>=?1 AND r.t_ns<?2 AND (r.cfg IS NULL OR EXISTS "
		"(SELECT 1 FROM %s n INDEXED BY %s_cfg"
		" WHERE n.entity=r.entity AND n.t_ns>r.t_ns AND n.t_ns<?3 AND n.cfg IS NOT NULL",
		table->name, table->name, table->name);
	for (unsigned p = 0; p < table->n_prios; p++)
		for (size_t i = 0; i < table->n_metrics; i++) {
			if (!schema_is_cfg(table->metrics[i]))
				continue;
			schema_prio_column(column, table->metrics[i], writer_column_prio(table, p));
			str_addf(out, " AND (r.%s IS NULL OR n.%s IS NOT NULL)", column, column);
		}
	str_add(out, "))");
}

static int rows_statement(struct store_writer *writer, unsigned table, sqlite3_stmt **ret)
{
	rw_cleanup(str_done) struct str sql = {0};

	*ret = writer->retain_rows[table];
	if (*ret)
		return SQLITE_OK;
	rows_sql(&writer->tables[table], &sql);
	int rc = sqlite_prepare(writer->db, sql.s, &writer->retain_rows[table]);
	*ret = writer->retain_rows[table];
	return rc;
}

/* Where the chunk that begins at .retain_from_ns ends; false in @ret_more: it is the last one. */
static int chunk_end(struct store_writer *writer, int64_t *until, bool *ret_more)
{
	sqlite3_stmt *st;
	int rc = edge_statement(writer, writer->retain_table, &st);

	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, writer->retain_from_ns);
	sqlite3_bind_int64(st, 2, *until);
	sqlite3_bind_int(st, 3, CHUNK_ROWS);
	*ret_more = *until < writer->retain_cutoff_ns; /* behind a pin it goes on */
	if (sqlite3_step(st) == SQLITE_ROW) {
		int64_t edge = sqlite3_column_int64(st, 0);
		*until = edge;
		if (edge <= writer->retain_from_ns)
			*until = edge + 1; /* an instant with more rows than a chunk goes whole */
		*ret_more = true;
	}
	sqlite3_reset(st);
	return SQLITE_OK;
}

/* One chunk of .retain_table. */
static int delete_rows(struct store_writer *writer, bool *ret_more)
{
	sqlite3_stmt *st;
	int64_t until;

	*ret_more = false;
	if (!free_range(writer, writer->retain_from_ns, writer->retain_cutoff_ns,
		    &writer->retain_from_ns, &until))
		return SQLITE_OK;
	int rc = chunk_end(writer, &until, ret_more);
	if (rc == SQLITE_OK)
		rc = rows_statement(writer, writer->retain_table, &st);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, writer->retain_from_ns);
	sqlite3_bind_int64(st, 2, until);
	sqlite3_bind_int64(st, 3, writer->retain_cutoff_ns);
	writer->retain_from_ns = until;
	return sqlite_run(st);
}

/* ---- flows, findings, instants ------------------------------------------- */

static const struct {
	const char *sql; /* rows from ?1 on and before ?2, at most ?3 of them */
	int limit; /* 0 = all */
} lists[RETAIN_LISTS] = {
	[RETAIN_FLOWS] = {"DELETE FROM flow WHERE id IN "
			  "(SELECT id FROM flow WHERE to_ns>=?1 AND to_ns<?2 LIMIT ?3)",
		CHUNK_ROWS},
	[RETAIN_FINDINGS] = {"DELETE FROM finding WHERE id IN "
			     "(SELECT id FROM finding WHERE to_ns>=?1 AND to_ns<?2 LIMIT ?3)",
		CHUNK_ROWS},
	[RETAIN_INSTANTS] = {"DELETE FROM instant WHERE device IN "
			     "(SELECT id FROM entity WHERE port='' AND priority=-1) "
			     "AND t_ns>=?1 AND t_ns<?2",
		0},
};

static int delete_list(struct store_writer *writer, unsigned list, bool *more)
{
	int64_t from = INT64_MIN, until;
	int limit = lists[list].limit, rc = SQLITE_OK;
	sqlite3_stmt **st = &writer->retain_list[list];

	if (!*st)
		rc = sqlite_prepare(writer->db, lists[list].sql, st);
	while (rc == SQLITE_OK &&
		free_range(writer, from, writer->retain_cutoff_ns, &from, &until)) {
		sqlite3_bind_int64(*st, 1, from);
		sqlite3_bind_int64(*st, 2, until);
		if (limit > 0)
			sqlite3_bind_int(*st, 3, limit);
		rc = sqlite_run(*st);
		if (rc == SQLITE_OK && limit > 0 && sqlite3_changes(writer->db) >= limit)
			*more = true;
		from = until;
	}
	return rc;
}

/* ---- a pass -------------------------------------------------------------- */

/* Goes on where the last chunk stopped: the tables of samples, then the lists. */
static int retain_chunk(struct store_writer *writer, bool *ret_more)
{
	int rc;

	*ret_more = false;
	while (writer->retain_table < SCHEMA_TABLES) {
		int before = sqlite3_total_changes(writer->db);
		bool more;
		rc = delete_rows(writer, &more);
		if (rc != SQLITE_OK)
			return rc;
		if (!more) {
			writer->retain_table++;
			writer->retain_from_ns = INT64_MIN;
		}
		if (more || sqlite3_total_changes(writer->db) != before) {
			*ret_more = true;
			return SQLITE_OK;
		}
	}
	rc = delete_list(writer, RETAIN_INSTANTS, ret_more);
	if (rc == SQLITE_OK)
		rc = delete_list(writer, RETAIN_FLOWS, ret_more);
	if (rc == SQLITE_OK)
		rc = delete_list(writer, RETAIN_FINDINGS, ret_more);
	return rc;
}

bool writer_retain(struct store_writer *writer, int64_t now_ns)
{
	bool more = false;

	load_pins(writer);
	if (!writer->retaining) { /* a new pass */
		writer->retain_cutoff_ns = retain_cutoff(writer, now_ns);
		if (writer->retain_cutoff_ns == INT64_MIN)
			return false;
		writer->retaining = true;
		writer->retain_from_ns = INT64_MIN;
		writer->retain_table = 0;
	}
	int rc = writer_begin(writer);
	if (rc == SQLITE_OK)
		rc = retain_chunk(writer, &more);
	if (rc == SQLITE_OK)
		rc = writer_commit(writer);
	if (rc != SQLITE_OK) {
		/* commits complain about a full or failing disk; retention tries again later */
		writer_rollback(writer);
		more = false;
	}
	writer->retaining = more;
	return more;
}
