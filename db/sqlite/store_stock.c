/* store_stock - what lies in the tail of each device, kept as transactions add to it, and the
 * newest sample of all. */
#include <stdlib.h>
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "db/sqlite/sqlite_io.h"
#include "db/sqlite/store_write.h"

struct seal_device *seal_device_of(struct seal *seal, int64_t device)
{
	uint64_t at;

	if (map_get(seal->index, (uint64_t)device, &at))
		return &seal->devices[at];
	rw_grow(seal->devices, seal->n_devices, seal->cap_devices);
	map_put(seal->index, (uint64_t)device, seal->n_devices);
	seal->devices[seal->n_devices] =
		(struct seal_device){.device = device, .from_ns = INT64_MAX, .to_ns = INT64_MIN};
	return &seal->devices[seal->n_devices++];
}

void seal_note(struct store_writer *writer, const struct tail_put *put)
{
	struct seal *seal = &writer->seal;

	rw_grow(seal->added, seal->n_added, seal->cap_added);
	seal->added[seal->n_added++] = (struct seal_added){.device = put->device,
		.from_ns = put->from_ns,
		.to_ns = put->to_ns,
		.n = put->n,
		.series = put->series};
}

void seal_commit(struct store_writer *writer)
{
	struct seal *seal = &writer->seal;

	for (size_t i = 0; seal->loaded && i < seal->n_added; i++) {
		const struct seal_added *added = &seal->added[i];
		struct seal_device *device = seal_device_of(seal, added->device);
		if (added->from_ns < device->from_ns)
			device->from_ns = added->from_ns;
		if (added->to_ns > device->to_ns)
			device->to_ns = added->to_ns;
		device->rows++;
		device->n += added->n;
		device->series = added->series;
	}
	for (size_t i = 0; i < seal->n_added; i++)
		if (seal->added[i].to_ns > seal->newest_ns)
			seal->newest_ns = seal->added[i].to_ns;
	if (seal->n_added > 0)
		seal->stored_mono_ns = mono_now().ns;
	seal->n_added = 0;
}

void seal_rollback(struct store_writer *writer)
{
	writer->seal.n_added = 0;
}

/* From the index of the table alone. */
int seal_load(struct store_writer *writer)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	struct seal *seal = &writer->seal;
	int rc = sqlite_prepare(writer->db,
		"SELECT device, min(from_ns), max(to_ns), count(*), sum(n) FROM tail "
		"INDEXED BY tail_device GROUP BY device",
		&st);

	if (seal->loaded)
		return SQLITE_OK;
	if (!seal->index)
		seal->index = map_new();
	map_clear(seal->index);
	seal->n_devices = 0;
	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		struct seal_device *device = seal_device_of(seal, sqlite3_column_int64(st, 0));
		device->from_ns = sqlite3_column_int64(st, 1);
		device->to_ns = sqlite3_column_int64(st, 2);
		device->rows = (uint64_t)sqlite3_column_int64(st, 3);
		device->n = (uint64_t)sqlite3_column_int64(st, 4);
		if (device->to_ns > seal->newest_ns)
			seal->newest_ns = device->to_ns;
		rc = SQLITE_OK;
	}
	seal->loaded = rc == SQLITE_DONE;
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	return rc;
}

int writer_newest(struct store_writer *writer, int64_t *ret)
{
	/* one seek for each device, and for each of its metrics */
	static const char sql[] =
		"SELECT max(t) FROM (SELECT (SELECT max(to_ns) FROM tail WHERE device=e.id) AS t "
		"FROM entity e WHERE e.port='' AND e.priority=-1 UNION ALL "
		"SELECT (SELECT to_ns FROM block WHERE device=e.id AND metric=m.id "
		"ORDER BY from_ns DESC LIMIT 1) FROM entity e CROSS JOIN metric_name m "
		"WHERE e.port='' AND e.priority=-1)";
	int rc;

	*ret = sqlite_int(writer->db, sql, 0, &rc);
	return rc;
}
