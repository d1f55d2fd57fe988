/* series_ends - the oldest and the newest sample of a file, of each device, and the next one after
 * an instant. */
#include "db/sqlite/series_ends.h"

#include <errno.h>
#include <stdlib.h>
#include "agent/base/cleanup.h"
#include "agent/base/err.h"
#include "db/sqlite/blocks_ends.h"
#include "db/sqlite/sqlite_io.h"

struct ends_devices { /* their numbers in the file */
	int64_t *ids;
	size_t n, cap;
};

/* @all: also what the agent says of itself. Names are not loaded for that. */
static int ends_load_devices(struct series_db *db, bool all, struct ends_devices *ret)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db->db,
		"SELECT id FROM entity INDEXED BY entity_device WHERE port='' AND priority=-1 AND "
		"(?1 OR device<>'" ENTITY_AGENT "')",
		-1, &st, NULL);

	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int(st, 1, all);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		rw_grow(ret->ids, ret->n, ret->cap);
		ret->ids[ret->n++] = sqlite3_column_int64(st, 0);
	}
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	return rc;
}

/* @ret_first_ns NULL: only the newest. */
static int ends_range(struct series_db *db, bool whole, int64_t at_ns, int64_t *ret_first_ns,
	int64_t *ret_last_ns)
{
	struct ends_devices devices = {0};
	int rc = sqlite_exec(db->db, "BEGIN");

	*ret_last_ns = ENDS_NONE;
	if (rc == SQLITE_OK)
		rc = blocks_begin(db->blocks);
	if (rc == SQLITE_OK)
		rc = ends_load_devices(db, whole, &devices);
	if (rc == SQLITE_OK)
		rc = blocks_file_newest(
			db->blocks, devices.ids, devices.n, at_ns, whole, ret_last_ns);
	if (rc == SQLITE_OK && ret_first_ns)
		rc = blocks_file_oldest(
			db->blocks, devices.ids, devices.n, at_ns, whole, ret_first_ns);
	series_end(db);
	free(devices.ids);
	return rc;
}

static int ends_range_of(struct series_db *db, bool whole, int64_t *ret_first_ns,
	int64_t *ret_last_ns, struct err *e)
{
	int64_t at_ns = INT64_MAX;

	if (!whole && db->history.not_after_ns != 0)
		at_ns = db->history.not_after_ns;
	const int rc = ends_range(db, whole, at_ns, ret_first_ns, ret_last_ns);
	if (rc != SQLITE_OK)
		return sqlite_fail(e, db->db, rc, "read", db->path);
	if (*ret_last_ns == ENDS_NONE)
		return -ENODATA;
	return 0;
}

int series_whole_range(
	struct series_db *db, int64_t *ret_first_ns, int64_t *ret_last_ns, struct err *e)
{
	return ends_range_of(db, true, ret_first_ns, ret_last_ns, e);
}

int series_db_range(
	struct history *history, int64_t *ret_first_ns, int64_t *ret_last_ns, struct err *e)
{
	int64_t first_ns, last_ns;
	const int r = ends_range_of(
		series_db_of(history), false, ret_first_ns ? &first_ns : NULL, &last_ns, e);

	if (r < 0)
		return r;
	if (ret_first_ns)
		*ret_first_ns = first_ns;
	*ret_last_ns = last_ns;
	return 0;
}

static int ends_next_flow(struct series_db *db, int64_t t_ns, int64_t *ret)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(
		db->db, "SELECT min(to_ns) FROM flow WHERE to_ns>?1", -1, &st, NULL);

	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, t_ns);
	rc = sqlite3_step(st);
	if (rc != SQLITE_ROW)
		return rc;
	if (sqlite3_column_type(st, 0) != SQLITE_NULL)
		*ret = sqlite3_column_int64(st, 0);
	return SQLITE_OK;
}

static int ends_next(struct series_db *db, int64_t t_ns, int64_t *ret)
{
	struct ends_devices devices = {0};
	int64_t flow_ns = ENDS_NONE;
	int rc = sqlite_exec(db->db, "BEGIN");

	if (rc == SQLITE_OK)
		rc = blocks_begin(db->blocks);
	if (rc == SQLITE_OK)
		rc = ends_load_devices(db, true, &devices);
	if (rc == SQLITE_OK)
		rc = blocks_file_next(db->blocks, devices.ids, devices.n, t_ns, ret);
	if (rc == SQLITE_OK)
		rc = ends_next_flow(db, t_ns, &flow_ns);
	if (flow_ns != ENDS_NONE && (*ret == ENDS_NONE || flow_ns < *ret))
		*ret = flow_ns;
	series_end(db);
	free(devices.ids);
	return rc;
}

int series_db_next(struct history *history, int64_t t_ns, int64_t *ret_ns, struct err *e)
{
	struct series_db *db = series_db_of(history);
	int64_t next_ns = ENDS_NONE;

	const int rc = ends_next(db, t_ns, &next_ns);
	if (rc != SQLITE_OK)
		return sqlite_fail(e, db->db, rc, "read", db->path);
	if (next_ns == ENDS_NONE)
		return -ENODATA;
	*ret_ns = next_ns;
	return 0;
}

/* ---- of each device ---------------------------------------------------------- */

struct ends_names { /* devices, their names and what was found */
	struct {
		int64_t id, newest_ns[2];
		char *name;
	} * v;
	size_t n, cap;
};

static int ends_load_names(struct series_db *db, struct ends_names *ret)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db->db,
		"SELECT id, device FROM entity WHERE port='' AND priority=-1 ORDER BY id", -1, &st,
		NULL);

	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(st, 1);
		rc = SQLITE_OK;
		if (!name)
			continue;
		rw_grow(ret->v, ret->n, ret->cap);
		ret->v[ret->n].id = sqlite3_column_int64(st, 0);
		ret->v[ret->n++].name = rw_strdup(name);
	}
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	return rc;
}

static int ends_read_names(struct series_db *db, int64_t at_ns, struct ends_names *names)
{
	int rc = sqlite_exec(db->db, "BEGIN");

	if (rc == SQLITE_OK)
		rc = ends_load_names(db, names);
	if (rc == SQLITE_OK)
		rc = blocks_begin(db->blocks);
	for (size_t i = 0; rc == SQLITE_OK && i < names->n; i++)
		rc = blocks_newest(db->blocks, names->v[i].id, at_ns, true, names->v[i].newest_ns);
	series_end(db);
	return rc;
}

int series_db_newest(
	struct history *history, int64_t at_ns, newest_fn *fn, void *arg, struct err *e)
{
	struct series_db *db = series_db_of(history);
	struct ends_names names = {0};
	int r = 0;
	const int rc = ends_read_names(db, at_ns, &names);

	if (rc != SQLITE_OK)
		r = sqlite_fail(e, db->db, rc, "read", db->path);
	for (size_t i = 0; r == 0 && i < names.n; i++)
		if (names.v[i].newest_ns[0] != ENDS_NONE)
			r = fn(arg, names.v[i].name, names.v[i].newest_ns[0],
				names.v[i].newest_ns[1]);
	for (size_t i = 0; i < names.n; i++)
		free(names.v[i].name);
	free(names.v);
	return r;
}
