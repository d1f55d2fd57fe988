/* import_names - which numbers stand in the rows of an older version's tables, and whose they are.
 * The names themselves stay as they are. */
#include "db/sqlite/import_state.h"

#include <stdlib.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "db/model/metric.h"
#include "db/sqlite/sqlite_io.h"

static struct import_row *names_row(struct import_names *names, int64_t entity)
{
	uint64_t at;

	if (map_get(names->by_entity, (uint64_t)entity, &at))
		return &names->rows[at];
	return NULL;
}

/* The device's first name; the number of the device itself comes with it: it sorts first. */
static struct import_device *names_device(
	struct import_names *names, int64_t entity, const char *name, struct str *last)
{
	if (names->n_devices > 0 && str_eq(last->s, name))
		return &names->devices[names->n_devices - 1];
	last->n = 0;
	str_add(last, name);
	rw_grow(names->devices, names->n_devices, names->cap_devices);
	names->devices[names->n_devices] =
		(struct import_device){.device = entity, .first = names->n_rows};
	return &names->devices[names->n_devices++];
}

/* By device, port, priority: a port's priorities follow it. */
static int names_load_rows(sqlite3 *db, struct import_names *names)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	rw_cleanup(str_done) struct str device_name = {0}, port_name = {0};
	size_t port_row = SIZE_MAX;
	int rc = sqlite_prepare(db,
		"SELECT id, device, port, priority FROM entity ORDER BY device, port, priority",
		&st);

	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		const int64_t entity = sqlite3_column_int64(st, 0);
		const char *device = (const char *)sqlite3_column_text(st, 1);
		const char *port = (const char *)sqlite3_column_text(st, 2);
		const int priority = sqlite3_column_int(st, 3);
		rc = SQLITE_OK;
		if (!device || !port)
			continue;
		const struct import_device *of = names_device(names, entity, device, &device_name);
		rw_grow(names->rows, names->n_rows, names->cap_rows);
		names->rows[names->n_rows] =
			(struct import_row){.entity = entity, .device = of->device};
		map_put(names->by_entity, (uint64_t)entity, names->n_rows);
		if (priority == PRIO_NONE) {
			port_row = names->n_rows;
			port_name.n = 0;
			str_add(&port_name, port);
		} else if (priority >= 0 && priority < SCHEMA_PRIOS && port_row != SIZE_MAX &&
			names->rows[port_row].device == of->device && str_eq(port_name.s, port)) {
			names->rows[port_row].lanes[priority] = entity;
		}
		names->n_rows++;
		names->devices[names->n_devices - 1].n++;
	}
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	return rc;
}

/* Which tables an entity may have rows in. */
static int names_load_tables(sqlite3 *db, struct import_names *names)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	int rc = sqlite_prepare(db, "SELECT entity, metric FROM series", &st);

	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct import_row *row = names_row(names, sqlite3_column_int64(st, 0));
		const char *name = (const char *)sqlite3_column_text(st, 1);
		const int metric = name ? metric_by_name(name) : -1;
		rc = SQLITE_OK;
		if (row && metric >= 0)
			row->tables |= (uint8_t)(1u << metric_info((unsigned)metric)->scope);
	}
	for (size_t i = 0; i < names->n_rows; i++)
		for (unsigned p = 0; p < SCHEMA_PRIOS; p++) {
			struct import_row *lane = names_row(names, names->rows[i].lanes[p]);
			if (!lane || !(lane->tables & 1u << SCOPE_PRIO))
				continue;
			lane->tables = 0; /* its values lie in the port's row */
			names->rows[i].tables |= 1u << TABLE_PRIOS;
		}
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	return rc;
}

int import_names_load(sqlite3 *db, struct import_names *ret)
{
	ret->by_entity = map_new();
	const int rc = names_load_rows(db, ret);

	if (rc != SQLITE_OK)
		return rc;
	return names_load_tables(db, ret);
}

void import_names_done(struct import_names *names)
{
	map_free(names->by_entity);
	free(names->rows);
	free(names->devices);
	*names = (struct import_names){0};
}
