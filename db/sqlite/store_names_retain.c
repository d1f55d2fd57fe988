/*
 * store_names_retain - deletes names that are over: those that the agent released, of which
 * retention has left nothing, with everything that belongs to them; and attributes of ports and
 * devices that later ones had replaced before the cutoff. Inside the transactions of retention
 * (store_retain.c), one chunk at a time.
 *
 * The largest id stays, so that SQLite, which gives the largest plus one, never gives one twice.
 */
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "db/sqlite/sqlite_io.h"
#include "db/sqlite/store_write.h"

#define CHUNK_NAMES 500 /* in one transaction */
#define CHUNK_ROWS 4000
#define SWEEP_NS (3600 * NS_PER_S)

/* ---- a name ---------------------------------------------------------------- */

struct old_name {
	int64_t id, made_ns, gone_ns;
};

static bool name_pinned(const struct store_writer *writer, const struct old_name *name)
{
	for (size_t i = 0; i < writer->retain.n_pins; i++)
		if (name->made_ns <= writer->retain.pins[i].to_ns &&
			name->gone_ns >= writer->retain.pins[i].from_ns)
			return true;
	return false;
}

static int delete_for(struct store_writer *writer, const char *sql, int64_t id)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	const int rc = sqlite_prepare(writer->db, sql, &st);

	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, id);
	return sqlite_run(st);
}

/* The newest of each configuration state, which retention of samples keeps; what was known of a
 * port; and the name itself, last. */
static int delete_name(struct store_writer *writer, int64_t id)
{
	static const char *const rest[] = {
		"DELETE FROM series WHERE entity=?1",
		"DELETE FROM block WHERE device=?1",
		"DELETE FROM block_minute WHERE device=?1",
		"DELETE FROM block_hour WHERE device=?1",
		("DELETE FROM port_attr WHERE (device, port) IN "
		 "(SELECT device, port FROM entity WHERE id=?1 AND port<>'' AND priority=-1)"),
		"DELETE FROM entity WHERE id=?1",
	};
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < rw_countof(rest); i++)
		rc = delete_for(writer, rest[i], id);
	return rc;
}

static int list_names(struct store_writer *writer, int64_t cutoff_ns,
	struct old_name ret[CHUNK_NAMES], size_t *ret_n)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	int rc = sqlite_prepare(writer->db,
		"SELECT id, made_ns, gone_ns FROM entity WHERE gone_ns<?1 "
		"AND (gone_ns, id)>(?2, ?3) AND id<(SELECT max(id) FROM entity) "
		"ORDER BY gone_ns, id LIMIT ?4",
		&st);

	*ret_n = 0;
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, cutoff_ns);
	sqlite3_bind_int64(st, 2, writer->retain_gone_ns);
	sqlite3_bind_int64(st, 3, writer->retain_gone_id);
	sqlite3_bind_int(st, 4, CHUNK_NAMES);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW && *ret_n < CHUNK_NAMES)
		ret[(*ret_n)++] = (struct old_name){.id = sqlite3_column_int64(st, 0),
			.made_ns = sqlite3_column_int64(st, 1),
			.gone_ns = sqlite3_column_int64(st, 2)};
	if (rc == SQLITE_DONE || rc == SQLITE_ROW)
		return SQLITE_OK;
	return rc;
}

static int delete_names(struct store_writer *writer, int64_t cutoff_ns, bool *ret_more)
{
	struct old_name names[CHUNK_NAMES];
	size_t n;
	int rc = list_names(writer, cutoff_ns, names, &n);

	*ret_more = n == CHUNK_NAMES;
	for (size_t i = 0; rc == SQLITE_OK && i < n; i++) {
		if (name_pinned(writer, &names[i]))
			continue;
		rc = delete_name(writer, names[i].id);
		writer->names_changed = true;
	}
	if (*ret_more) {
		writer->retain_gone_ns = names[n - 1].gone_ns;
		writer->retain_gone_id = names[n - 1].id;
	} else {
		writer->retain_gone_ns = writer->retain_gone_id = 0;
	}
	return rc;
}

/* ---- attributes and texts ---------------------------------------------------- */

/* Rows of ?1 or before that a later one, itself not after ?1, replaced; and what was said of ports
 * of which no sample ever came. At most ?2 of each. */
static const char *const attribute_sql[] = {
	"DELETE FROM port_attr WHERE (device, port, t_ns) IN "
	"(SELECT a.device, a.port, a.t_ns FROM port_attr a WHERE a.t_ns<?1 AND EXISTS "
	"(SELECT 1 FROM port_attr n WHERE n.device=a.device AND n.port=a.port AND n.t_ns>a.t_ns "
	"AND n.t_ns<=?1) LIMIT ?2)",
	"DELETE FROM device_attr WHERE (device, t_ns) IN "
	"(SELECT a.device, a.t_ns FROM device_attr a WHERE a.t_ns<?1 AND EXISTS "
	"(SELECT 1 FROM device_attr n WHERE n.device=a.device AND n.t_ns>a.t_ns AND n.t_ns<=?1) "
	"LIMIT ?2)",
	"DELETE FROM port_attr WHERE (device, port, t_ns) IN "
	"(SELECT a.device, a.port, a.t_ns FROM port_attr a WHERE a.t_ns<?1 "
	"AND EXISTS (SELECT 1 FROM entity d WHERE d.device=a.device AND d.port='' "
	"AND d.priority=-1) AND NOT EXISTS (SELECT 1 FROM entity p WHERE p.device=a.device "
	"AND p.port=a.port AND p.priority=-1) LIMIT ?2)",
};

static int delete_attributes(struct store_writer *writer, int64_t cutoff_ns, bool *ret_more)
{
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < rw_countof(attribute_sql); i++) {
		rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
		rc = sqlite_prepare(writer->db, attribute_sql[i], &st);
		if (rc != SQLITE_OK)
			break;
		sqlite3_bind_int64(st, 1, cutoff_ns);
		sqlite3_bind_int(st, 2, CHUNK_ROWS);
		rc = sqlite_run(st);
		*ret_more |= rc == SQLITE_OK && sqlite3_changes(writer->db) >= CHUNK_ROWS;
	}
	return rc;
}

int writer_retain_names(struct store_writer *writer, int64_t cutoff_ns, bool *ret_more)
{
	bool more = false;
	int rc = delete_names(writer, cutoff_ns, &more);
	const int64_t now_ns = mono_now().ns;
	const bool due = writer->names_swept_ns == 0 || now_ns - writer->names_swept_ns > SWEEP_NS;

	if (rc == SQLITE_OK && !more && due) {
		rc = delete_attributes(writer, cutoff_ns, &more);
		if (rc == SQLITE_OK && !more)
			writer->names_swept_ns = now_ns;
	}
	*ret_more = more;
	return rc;
}
