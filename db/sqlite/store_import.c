/*
 * store_import - the step of a migration that SQL cannot do. Rows of the layout of version 2 (a row
 * per entity and instant, in old_sample_*) go through the writer into the present layout, where the
 * priorities of a port share a row and exceptions are merged. In pieces, each in a transaction of
 * its own: after an interruption the next start goes on, and a piece written twice changes nothing.
 */
#include <stdlib.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/log.h"
#include "agent/base/map.h"
#include "agent/base/str.h"
#include "db/sqlite/sqlite_io.h"
#include "db/sqlite/store_write.h"

#define PIECE_ROWS 2000

static const char *const old_table[] = {
	[SCOPE_PORT] = "old_sample_port",
	[SCOPE_PRIO] = "old_sample_priority",
	[SCOPE_DEVICE] = "old_sample_device",
};

struct piece {
	struct store_writer *writer;
	const struct map *ids; /* number in the file -> id for the writer */
	unsigned scope;
	uint16_t metrics[METRIC_COUNT]; /* columns the old table has */
	size_t n_metrics;
	sqlite3_stmt *read, *erase;
	struct sample *samples;
	size_t n, cap;
};

enum { O_ENTITY, O_T, O_SOURCE, O_FLAGS, O_X, O_FIRST };

static int prepare_piece(struct piece *piece)
{
	rw_cleanup(str_done) struct str sql = {0};
	char column[SCHEMA_COLUMN_MAX];
	const char *table = old_table[piece->scope];
	int rc = SQLITE_OK;

	str_add(&sql, "SELECT entity,t_ns,source,flags,x");
	for (unsigned m = 0; m < METRIC_COUNT; m++) {
		bool has = false;
		if ((unsigned)metric_info(m)->scope == piece->scope)
			rc = sqlite_has_column(
				piece->writer->db, table, schema_column(column, m), &has);
		if (rc != SQLITE_OK)
			return rc;
		if (!has)
			continue;
		piece->metrics[piece->n_metrics++] = (uint16_t)m;
		str_addf(&sql, ",%s", column);
	}
	str_addf(&sql, " FROM %s ORDER BY entity, t_ns LIMIT ?1", table);
	rc = sqlite3_prepare_v2(piece->writer->db, sql.s, (int)sql.n, &piece->read, NULL);
	sql.n = 0;
	str_addf(&sql, "DELETE FROM %s WHERE (entity, t_ns) <= (?1, ?2)", table);
	if (rc == SQLITE_OK)
		return sqlite3_prepare_v2(
			piece->writer->db, sql.s, (int)sql.n, &piece->erase, NULL);
	return rc;
}

static void store_import_take_row(struct piece *piece)
{
	struct row_value v[METRIC_COUNT];
	uint64_t bits[METRIC_COUNT];
	size_t n = 0;

	for (size_t i = 0; i < piece->n_metrics; i++) {
		int column = O_FIRST + (int)i;
		if (sqlite3_column_type(piece->read, column) == SQLITE_NULL)
			continue;
		v[n] = (struct row_value){.metric = piece->metrics[i],
			.source = (uint16_t)sqlite3_column_int(piece->read, O_SOURCE),
			.flags = (uint16_t)sqlite3_column_int(piece->read, O_FLAGS),
			.prio = PRIO_NONE};
		bits[n++] = row_bits(piece->read, column, piece->metrics[i]);
	}
	row_x_apply((const char *)sqlite3_column_text(piece->read, O_X), v, n);
	uint64_t entity;
	if (!map_get(piece->ids, (uint64_t)sqlite3_column_int64(piece->read, O_ENTITY), &entity))
		return; /* a row about nothing */
	for (size_t i = 0; i < n; i++) {
		rw_grow(piece->samples, piece->n, piece->cap);
		piece->samples[piece->n++] =
			(struct sample){.t_ns = sqlite3_column_int64(piece->read, O_T),
				.entity = (uint32_t)entity,
				.metric = v[i].metric,
				.value = bits[i],
				.flags = v[i].flags,
				.source = v[i].source,
				.window_ms = v[i].window_ms};
	}
}

static int move_piece(struct piece *piece, size_t *ret_rows)
{
	sqlite3_int64 entity = 0, t_ns = 0;
	int rc;

	*ret_rows = 0;
	piece->n = 0;
	sqlite3_bind_int(piece->read, 1, PIECE_ROWS);
	while ((rc = sqlite3_step(piece->read)) == SQLITE_ROW) {
		entity = sqlite3_column_int64(piece->read, O_ENTITY);
		t_ns = sqlite3_column_int64(piece->read, O_T);
		store_import_take_row(piece);
		*ret_rows += 1;
	}
	sqlite3_reset(piece->read); /* a text that could not be read ends the steps with an error */
	if (rc != SQLITE_DONE)
		return rc;
	if (*ret_rows == 0)
		return SQLITE_OK;
	rc = writer_begin(piece->writer);
	if (rc == SQLITE_OK)
		rc = writer_samples(piece->writer, piece->samples, piece->n);
	if (rc == SQLITE_OK) {
		sqlite3_bind_int64(piece->erase, 1, entity);
		sqlite3_bind_int64(piece->erase, 2, t_ns);
		rc = sqlite_run(piece->erase);
	}
	if (rc == SQLITE_OK)
		rc = writer_commit(piece->writer);
	if (rc != SQLITE_OK)
		writer_rollback(piece->writer);
	return rc;
}

static int move_table(struct store_writer *writer, const struct map *ids, unsigned scope)
{
	struct piece p = {.writer = writer, .ids = ids, .scope = scope};
	uint64_t moved = 0;
	size_t rows = 1;
	int rc = prepare_piece(&p);

	while (rc == SQLITE_OK && rows > 0) {
		rc = move_piece(&p, &rows);
		moved += rows;
		if (rc == SQLITE_OK)
			writer_checkpoint(writer);
	}
	sqlite3_finalize(p.read);
	sqlite3_finalize(p.erase);
	free(p.samples);
	if (rc == SQLITE_OK)
		rc = sqlite_execf(writer->db, "DROP TABLE %s", old_table[scope]);
	if (rc == SQLITE_OK && moved > 0)
		log_info("store", "brought %llu rows of an older version up to date",
			(unsigned long long)moved);
	return rc;
}

/* The texts of an old row keep their numbers: both sides know them by those. */
static int import_texts(struct store_writer *writer, struct entities *names)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	int rc = sqlite_prepare(writer->db, "SELECT id, text FROM text", &st);

	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		const int64_t id = sqlite3_column_int64(st, 0);
		const char *text = (const char *)sqlite3_column_text(st, 1);
		rc = SQLITE_OK;
		if (id <= 0 || id > ENTITY_ID_MAX || !text)
			continue;
		text = entities_text_get(names, entities_text(names, text));
		writer_note_texts(
			writer, &(struct record_text){.id = (uint64_t)id, .text = text}, 1);
	}
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	return rc;
}

/* Names as the agent would have given them, so that the writer takes the rows as it takes new ones.
 */
static int import_names(struct store_writer *writer, struct entities *names, struct map *ids)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	int rc = sqlite_prepare(writer->db,
		"SELECT id, device, port, priority FROM entity ORDER BY priority<>-1, port<>'', id",
		&st);

	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		const char *device = (const char *)sqlite3_column_text(st, 1);
		const char *port = (const char *)sqlite3_column_text(st, 2);
		uint32_t id = ENTITY_NONE;
		if (device && port)
			id = entities_intern(names, device, port, sqlite3_column_int(st, 3));
		if (id != ENTITY_NONE)
			map_put(ids, (uint64_t)sqlite3_column_int64(st, 0), id);
		rc = SQLITE_OK;
	}
	for (uint32_t id = 1; id <= entities_count(names); id++) {
		const struct entity *e = entity_get(names, id);
		writer_note_names(writer,
			&(struct record_entity){.id = id,
				.parent = e->parent,
				.owner = entity_device(names, id),
				.priority = e->priority,
				.device = e->device,
				.port = e->port},
			1);
	}
	if (rc == SQLITE_DONE)
		return import_texts(writer, names);
	return rc;
}

/* Which of the old tables are still there. */
static int import_needed(
	const struct store_writer *writer, bool ret[rw_countof(old_table)], bool *ret_any)
{
	int rc = SQLITE_OK;

	*ret_any = false;
	for (unsigned scope = 0; rc == SQLITE_OK && scope < rw_countof(old_table); scope++) {
		rc = sqlite_has_column(writer->db, old_table[scope], "entity", &ret[scope]);
		*ret_any |= rc == SQLITE_OK && ret[scope];
	}
	return rc;
}

int writer_import(struct store_writer *writer)
{
	bool has[rw_countof(old_table)], any;
	int rc = import_needed(writer, has, &any);
	if (rc != SQLITE_OK || !any)
		return rc;
	struct entities *names = entities_new();
	struct map *ids = map_new();
	writer->names_aged = true; /* what is brought up to date is no sign of life */
	rc = import_names(writer, names, ids);
	for (unsigned scope = 0; rc == SQLITE_OK && scope < rw_countof(old_table); scope++)
		if (has[scope])
			rc = move_table(writer, ids, scope);
	/* the agent's own ids begin anew */
	writer->names_aged = false;
	if (writer->n_entities)
		memset(writer->entities, 0, writer->n_entities * sizeof(*writer->entities));
	if (writer->n_texts)
		memset(writer->texts, 0, writer->n_texts * sizeof(*writer->texts));
	map_free(ids);
	entities_free(names);
	return rc;
}
