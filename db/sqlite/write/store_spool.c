/*
 * store_spool - what other systems are to get, in the order of commits.
 *
 * A row is written in the transaction whose samples and records it holds: it is there exactly when
 * they are. Its number grows for ever, also in a file that takes the place of another one, or that
 * is put back from a copy: numbers begin at the clock with each opening, and receivers tell a row
 * that came twice from a new one by its number.
 */
#include "db/sqlite/write/store_spool.h"

#include "db/sqlite/schema/sqlite_io.h"
#include "db/sqlite/write/store_write.h"
#include "db/store/spool.h"

#define SPOOL_ROW_BYTES (8u << 20) /* a longer transaction becomes several rows */
#define SPOOL_KEEP_BYTES (4ull << 30)
#define SPOOL_TRIM_ROWS 500
#define SPOOL_FIRST_SHIFT 20 /* a million rows a second */

/* AUTOINCREMENT: a number is never given twice, whatever was deleted. */
static const char spool_table_sql[] =
	"CREATE TABLE IF NOT EXISTS spool(id INTEGER PRIMARY KEY AUTOINCREMENT, t_ns INTEGER NOT "
	"NULL, samples INTEGER NOT NULL, rows INTEGER NOT NULL, data BLOB NOT NULL)";

/* ---- what was there before ------------------------------------------------------- */

/* Tables whose rows a new receiver gets first: facts that are told once. */
static const struct {
	enum spool_table table;
	const char *from;
} spool_seeds[] = {
	{SPOOL_CONFIGURATIONS, "fabric_history ORDER BY t_ns"},
	{SPOOL_DEVICES, "device_attr ORDER BY t_ns"},
	{SPOOL_PORTS, "port_attr ORDER BY t_ns"},
	{SPOOL_INCIDENTS, "incident ORDER BY opened_ns"},
	{SPOOL_RECOMMENDATIONS, "recommendation ORDER BY t_ns"},
	{SPOOL_SILENCES, "silence ORDER BY created_ns"},
	{SPOOL_EVENTS,
		"event WHERE t_ns>(SELECT max(t_ns) FROM event)-604800000000000 "
		"ORDER BY id"},
};

static void seed_cell(sqlite3_stmt *st, int column, struct spool_cell *cell, enum column_type type)
{
	*cell = (struct spool_cell){.type = type};
	cell->null = sqlite3_column_type(st, column) == SQLITE_NULL;
	if (type == COLUMN_TEXT)
		cell->text = (const char *)sqlite3_column_text(st, column);
	else if (type == COLUMN_REAL)
		cell->real = sqlite3_column_double(st, column);
	else
		cell->number = sqlite3_column_int64(st, column);
	if (type == COLUMN_TEXT && !cell->text)
		cell->null = true;
}

static int seed_table(struct store_writer *writer, enum spool_table table, const char *from)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	rw_cleanup(str_done) struct str sql = {0};
	struct spool_row row = {.table = table};
	size_t n;
	const struct record_column *columns = spool_columns(table, &n);
	str_add(&sql, "SELECT ");
	for (size_t i = 0; i < n; i++)
		str_addf(&sql, "%s%s", str_if(i > 0, ","), columns[i].name);
	str_addf(&sql, " FROM %s", from);
	int rc = sqlite_prepare(writer->db, sql.s, &st);
	while (rc == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW) {
		for (size_t i = 0; i < n; i++)
			seed_cell(st, (int)i, &row.cells[i], columns[i].type);
		spool_add_row(&writer->spool.seed, &row);
	}
	if (rc == SQLITE_OK)
		rc = sqlite3_reset(st);
	return rc;
}

static int spool_write(struct store_writer *writer)
{
	rw_cleanup(str_done) struct str packed = {0};
	int rc = SQLITE_OK;
	if (writer->spool.bytes.n == 0)
		return SQLITE_OK;
	spool_pack(&writer->spool.bytes, &packed);
	sqlite3_stmt *st = writer->spool.insert;
	sqlite3_bind_int64(st, 1, wall_now().ns);
	sqlite3_bind_int64(st, 2, (sqlite3_int64)writer->spool.n_samples);
	sqlite3_bind_int64(st, 3, (sqlite3_int64)writer->spool.n_rows);
	sqlite3_bind_blob64(st, 4, packed.s, packed.n, SQLITE_STATIC);
	rc = sqlite_run(st);
	sqlite3_clear_bindings(st);
	if (rc == SQLITE_OK)
		writer->spool.held += packed.n;
	writer->spool.bytes.n = 0;
	return rc;
}

/* Facts of before come before what is told now. */
static int spool_seed(struct store_writer *writer)
{
	struct str now = writer->spool.bytes;
	int rc = SQLITE_OK;
	for (size_t i = 0; rc == SQLITE_OK && i < rw_countof(spool_seeds); i++)
		rc = seed_table(writer, spool_seeds[i].table, spool_seeds[i].from);
	writer->spool.bytes = writer->spool.seed;
	if (rc == SQLITE_OK)
		rc = spool_write(writer);
	str_done(&writer->spool.bytes);
	writer->spool.bytes = now;
	writer->spool.seed = (struct str){0};
	return rc;
}

/* ---- rows -------------------------------------------------------------------------- */

/* Numbers go on at the clock, whenever the file is opened: it may be a copy that was put back, and
 * receivers know what came after the copy under the numbers that would be next. */
static int spool_sequence(struct store_writer *writer)
{
	const long long now = (long long)(wall_now().ns / NS_PER_S) << SPOOL_FIRST_SHIFT;
	int rc = sqlite_execf(writer->db,
		"INSERT INTO sqlite_sequence(name, seq) SELECT 'spool', 0 WHERE NOT EXISTS "
		"(SELECT 1 FROM sqlite_sequence WHERE name='spool')");
	if (rc == SQLITE_OK)
		rc = sqlite_execf(writer->db,
			"UPDATE sqlite_sequence SET seq=%lld WHERE name='spool' AND seq<%lld", now,
			now);
	return rc;
}

static int spool_make(struct store_writer *writer)
{
	int rc;
	const bool fresh =
		sqlite_int(writer->db, "SELECT count(*) FROM sqlite_master WHERE name='spool'", 0,
			&rc) == 0;
	if (rc == SQLITE_OK)
		rc = sqlite_exec(writer->db, spool_table_sql);
	if (rc == SQLITE_OK)
		rc = spool_sequence(writer);
	if (rc == SQLITE_OK)
		writer->spool.held = writer->spool.held_committed = (uint64_t)sqlite_int(
			writer->db, "SELECT total(length(data)) FROM spool", 0, &rc);
	if (rc == SQLITE_OK)
		rc = sqlite_prepare(writer->db,
			"INSERT INTO spool(t_ns, samples, rows, data) VALUES(?1, ?2, ?3, ?4)",
			&writer->spool.insert);
	writer->spool.ready = rc == SQLITE_OK;
	if (rc == SQLITE_OK && fresh)
		rc = spool_seed(writer);
	return rc;
}

static int spool_flush(struct store_writer *writer)
{
	const int rc = spool_write(writer);
	writer->spool.n_samples = writer->spool.n_rows = 0;
	return rc;
}

static int spool_write_if_long(struct store_writer *writer)
{
	if (writer->spool.bytes.n < SPOOL_ROW_BYTES)
		return SQLITE_OK;
	return spool_flush(writer);
}

/* ---- samples -------------------------------------------------------------------- */

/* Names and texts of one part, each by a number. */
struct spool_gather {
	struct spool_name *names;
	const char **texts;
	struct sample *samples;
	size_t n_names, cap_names, n_texts, cap_texts, n;
	struct map *name_numbers, *text_numbers;
};

static uint64_t part_name(
	struct spool_gather *part, const struct store_writer *writer, uint32_t entity)
{
	uint64_t number;
	if (map_get(part->name_numbers, entity, &number))
		return number;
	const struct writer_entity *known = &writer->entities[entity];
	number = part->n_names;
	rw_grow(part->names, part->n_names, part->cap_names);
	part->names[part->n_names++] = (struct spool_name){
		str_or(known->device, ""), str_or(known->port, ""), known->priority};
	map_put(part->name_numbers, entity, number);
	return number;
}

static uint64_t part_text(
	struct spool_gather *part, const struct store_writer *writer, uint64_t text)
{
	uint64_t number;
	const char *words = "";
	if (map_get(part->text_numbers, text, &number))
		return number;
	if (text < writer->n_texts)
		words = str_or(writer->texts[text].text, "");
	number = part->n_texts;
	rw_grow(part->texts, part->n_texts, part->cap_texts);
	part->texts[part->n_texts++] = words;
	map_put(part->text_numbers, text, number);
	return number;
}

static void part_take(
	struct spool_gather *part, const struct store_writer *writer, const struct sample *sample)
{
	const struct metric_info *info = metric_info(sample->metric);
	if (!info || sample->entity >= writer->n_entities ||
		!writer->entities[sample->entity].device)
		return; /* it is not stored either */
	struct sample *to = &part->samples[part->n++];
	*to = *sample;
	to->entity = (uint32_t)part_name(part, writer, sample->entity);
	if (info->type == TYPE_TEXT)
		to->value = part_text(part, writer, sample->value);
}

int writer_spool_samples(struct store_writer *writer, const struct sample *samples, size_t n)
{
	if (!writer->o.spool || n == 0)
		return SQLITE_OK;
	struct spool_gather part = {.name_numbers = map_new(),
		.text_numbers = map_new(),
		.samples = rw_calloc(n, sizeof(*part.samples))};
	for (size_t i = 0; i < n; i++)
		part_take(&part, writer, &samples[i]);
	const struct spool_samples spool = {.names = part.names,
		.n_names = part.n_names,
		.texts = part.texts,
		.n_texts = part.n_texts,
		.v = part.samples,
		.n = part.n};
	if (part.n > 0)
		spool_add_samples(&writer->spool.bytes, &spool);
	writer->spool.n_samples += part.n;
	free(part.samples);
	free(part.names);
	free(part.texts);
	map_free(part.name_numbers);
	map_free(part.text_numbers);
	return spool_write_if_long(writer);
}

/* ---- records -------------------------------------------------------------------- */

static void spool_take_flows(struct store_writer *writer, const struct store_record *record)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	for (size_t i = 0; i < record->flows.n; i++) {
		const struct flow_sample *flow = &record->flows.v[i];
		struct spool_row row;
		if (flow->entity >= writer->n_entities || !writer->entities[flow->entity].device)
			continue;
		const struct writer_entity *port = &writer->entities[flow->entity];
		spool_row_of_flow(flow, port->device, str_or(port->port, ""), a, &row);
		spool_add_row(&writer->spool.bytes, &row);
		writer->spool.n_rows++;
	}
}

static void spool_take_health(struct store_writer *writer, const struct store_record *record)
{
	for (size_t i = 0; i < record->health.n; i++) {
		struct spool_row row;
		spool_row_of_health(&record->health.v[i], record->health.t_ns, &row);
		spool_add_row(&writer->spool.bytes, &row);
		writer->spool.n_rows++;
	}
}

/* Is it a fact that may be no news, and was none? */
static bool spool_is_old_news(const struct store_writer *writer, const struct store_record *record)
{
	switch (record->kind) {
	case RECORD_FABRIC:
	case RECORD_DEVICE:
	case RECORD_PORT: return sqlite3_changes(writer->db) == 0;
	default: return false;
	}
}

int writer_spool_record(struct store_writer *writer, const struct store_record *record)
{
	struct spool_row row;
	if (!writer->o.spool || spool_is_old_news(writer, record))
		return SQLITE_OK;
	if (record->kind == RECORD_FLOWS) {
		spool_take_flows(writer, record);
	} else if (record->kind == RECORD_HEALTH) {
		spool_take_health(writer, record);
	} else if (spool_row_of_record(record, &row)) {
		spool_add_row(&writer->spool.bytes, &row);
		writer->spool.n_rows++;
	}
	return spool_write_if_long(writer);
}

/* ---- transactions --------------------------------------------------------------- */

int writer_spool_begin(struct store_writer *writer)
{
	if (!writer->o.spool || writer->spool.ready)
		return SQLITE_OK;
	return spool_make(writer);
}

int writer_spool_commit(struct store_writer *writer)
{
	return spool_flush(writer);
}

void writer_spool_committed(struct store_writer *writer)
{
	writer->spool.held_committed = writer->spool.held;
}

/* The table may have been made in the transaction that is gone. */
void writer_spool_rollback(struct store_writer *writer)
{
	writer_spool_close(writer);
}

void writer_spool_close(struct store_writer *writer)
{
	sqlite3_finalize(writer->spool.insert);
	writer->spool.insert = NULL;
	writer->spool.ready = false;
	str_done(&writer->spool.bytes);
	writer->spool.bytes = (struct str){0};
	writer->spool.n_samples = writer->spool.n_rows = 0;
}

/* ---- what goes ------------------------------------------------------------------ */

/* Deletes the oldest rows up to @until; @ret_rows: how many were there. */
static int trim_until(struct store_writer *writer, int64_t until, int *ret_rows)
{
	char sql[256];
	int rc;
	snprintf(sql, sizeof(sql),
		"SELECT total(length(data)) FROM (SELECT data FROM spool WHERE id<=%lld ORDER BY "
		"id "
		"LIMIT %d)",
		(long long)until, SPOOL_TRIM_ROWS);
	const uint64_t bytes = (uint64_t)sqlite_int(writer->db, sql, 0, &rc);
	if (rc == SQLITE_OK)
		rc = sqlite_execf(writer->db,
			"DELETE FROM spool WHERE id IN (SELECT id FROM spool WHERE id<=%lld ORDER "
			"BY "
			"id LIMIT %d)",
			(long long)until, SPOOL_TRIM_ROWS);
	*ret_rows = sqlite3_changes(writer->db);
	if (rc == SQLITE_OK && bytes <= writer->spool.held)
		writer->spool.held = writer->spool.held_committed = writer->spool.held - bytes;
	return rc;
}

/* Beyond the bound: the oldest rows, which no sink has, are lost there. They stay in the history
 * of this file. */
static int trim_oldest(struct store_writer *writer, int *ret_rows)
{
	uint64_t most = writer->o.spool_bytes;
	int rc = SQLITE_OK;
	if (most == 0)
		most = SPOOL_KEEP_BYTES;
	if (writer->spool.held <= most)
		return SQLITE_OK;
	const int64_t until = sqlite_int(writer->db,
		"SELECT max(id) FROM (SELECT id FROM spool ORDER BY id LIMIT 100)", 0, &rc);
	const int64_t lost = sqlite_int(writer->db,
		"SELECT total(samples) FROM (SELECT samples FROM spool ORDER BY id LIMIT 100)", 0,
		&rc);
	if (rc == SQLITE_OK)
		rc = trim_until(writer, until, ret_rows);
	if (rc == SQLITE_OK)
		rc = sqlite_execf(writer->db,
			"INSERT INTO meta VALUES('spool_lost', %lld) ON CONFLICT(key) DO UPDATE "
			"SET "
			"value=value+excluded.value",
			(long long)lost);
	if (rc == SQLITE_OK)
		log_error("ship",
			"no system has taken what waits for it, which is over its bound of %llu "
			"MB: "
			"%lld of the oldest samples will not be sent (this file keeps them)",
			(unsigned long long)(most >> 20), (long long)lost);
	return rc;
}

int writer_spool_trim(struct store_writer *writer, bool *ret_more)
{
	int rows = 0, rc = SQLITE_OK;
	*ret_more = false;
	if (!writer->o.spool)
		return SQLITE_OK;
	rc = sqlite_exec(writer->db, "BEGIN IMMEDIATE");
	if (rc == SQLITE_OK && !writer->spool.ready)
		rc = spool_make(writer);
	if (rc == SQLITE_OK && writer->o.spool_done > 0)
		rc = trim_until(writer, writer->o.spool_done, &rows);
	if (rc == SQLITE_OK && rows == 0)
		rc = trim_oldest(writer, &rows);
	if (rc == SQLITE_OK)
		rc = sqlite_exec(writer->db, "COMMIT");
	*ret_more = rc == SQLITE_OK && rows > 0;
	return rc;
}

/* spool_read - each reading has a connection and a transaction of its own: a file that was replaced
 * meanwhile is noticed, and the write-ahead log is never held for longer than a reading. */

#define SPOOL_BUSY_MS 5000

static void spool_closep(sqlite3 **db)
{
	sqlite3_close(*db);
}

/* *@ret_there: the file has a spool. */
static int spool_open(const char *path, sqlite3 **ret, bool *ret_there, struct err *e)
{
	int rc = sqlite_open(path, ret, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX);
	*ret_there = false;
	if (rc == SQLITE_OK)
		rc = sqlite3_busy_timeout(*ret, SPOOL_BUSY_MS);
	if (rc == SQLITE_OK)
		*ret_there = sqlite_int(*ret,
				     "SELECT count(*) FROM sqlite_master WHERE type='table' AND "
				     "name='spool'",
				     0, &rc) > 0;
	if (rc == SQLITE_OK)
		return 0;
	return sqlite_fail(e, *ret, rc, "read", path);
}

int spool_read_rows(const struct spool_ask *ask, struct arena *a, struct spool_part_row **ret,
	size_t *ret_n, struct err *e)
{
	rw_cleanup(spool_closep) sqlite3 *db = NULL;
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	bool there;
	size_t n = 0, cap = 0, bytes = 0;
	uint64_t samples = 0;
	struct spool_part_row *rows = NULL;
	*ret_n = 0;
	const int r = spool_open(ask->path, &db, &there, e);
	if (r < 0 || !there)
		return r;
	int64_t until = INT64_MAX;
	if (ask->until)
		until = ask->until;
	int rc = sqlite3_prepare_v2(db,
		"SELECT id, t_ns, samples, data FROM spool WHERE id>?1 AND id<=?2 ORDER BY id", -1,
		&st, NULL);
	sqlite3_bind_int64(st, 1, ask->after);
	sqlite3_bind_int64(st, 2, until);
	while (rc == SQLITE_OK && sqlite3_step(st) == SQLITE_ROW) {
		const size_t size = (size_t)sqlite3_column_bytes(st, 3);
		const void *data = sqlite3_column_blob(st, 3);
		const uint64_t more = (uint64_t)sqlite3_column_int64(st, 2);
		/* a range that was begun before is read whole */
		if (n > 0 && !ask->until &&
			(samples + more > ask->samples || bytes + size > ask->bytes))
			break;
		arena_grow(a, rows, n, cap);
		rows[n++] = (struct spool_part_row){.id = sqlite3_column_int64(st, 0),
			.t_ns = sqlite3_column_int64(st, 1),
			.samples = more,
			.data = arena_copy(a, data, size, size + 1),
			.n = size};
		samples += more;
		bytes += size;
	}
	if (rc == SQLITE_OK)
		rc = sqlite3_reset(st);
	if (rc != SQLITE_OK)
		return sqlite_fail(e, db, rc, "read", ask->path);
	*ret = rows;
	*ret_n = n;
	return 0;
}

int spool_read_waiting(const char *path, int64_t after, struct spool_waiting *ret, struct err *e)
{
	rw_cleanup(spool_closep) sqlite3 *db = NULL;
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	bool there;
	*ret = (struct spool_waiting){0};
	const int r = spool_open(path, &db, &there, e);
	if (r < 0 || !there)
		return r;
	int rc = sqlite3_prepare_v2(db,
		"SELECT count(*), total(samples), total(length(data)), (SELECT t_ns FROM spool "
		"WHERE "
		"id>?1 ORDER BY id LIMIT 1), (SELECT max(id) FROM spool), (SELECT value FROM meta "
		"WHERE key='spool_lost') FROM spool WHERE id>?1",
		-1, &st, NULL);
	sqlite3_bind_int64(st, 1, after);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	if (rc != SQLITE_ROW)
		return sqlite_fail(e, db, rc, "read", path);
	ret->rows = (uint64_t)sqlite3_column_int64(st, 0);
	ret->samples = (uint64_t)sqlite3_column_int64(st, 1);
	ret->bytes = (uint64_t)sqlite3_column_int64(st, 2);
	ret->oldest_ns = sqlite3_column_int64(st, 3);
	ret->newest = sqlite3_column_int64(st, 4);
	ret->lost = (uint64_t)sqlite3_column_int64(st, 5);
	return 0;
}
