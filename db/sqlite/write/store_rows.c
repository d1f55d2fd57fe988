/*
 * store_rows - records to rows. Most records are one row, whose columns record_columns() lists:
 * they need no more than the words before the columns here. The statements that are written out
 * name their parameters after the same columns.
 */
#include "db/sqlite/schema/flow_row.h"
#include "db/sqlite/schema/sqlite_io.h"
#include "db/sqlite/write/store_write.h"

/* A text equal to the newest stored one is not stored again. */
static const char fabric_sql[] =
	"INSERT OR REPLACE INTO fabric_history(t_ns, yaml) SELECT :t_ns, :yaml "
	"WHERE :yaml IS NOT (SELECT yaml FROM fabric_history ORDER BY t_ns DESC LIMIT 1)";

static const char target_gone_sql[] =
	"DELETE FROM target WHERE device=:device AND protocol=:protocol";

static const char alert_gone_sql[] =
	"DELETE FROM alert WHERE receiver=:receiver AND incident_id=:incident_id";

/*
 * Devices and ports: a dated row, and only when something changed. What is not given (NULL, speed
 * 0) keeps its last value. "f" is the row in force at that time. A row of the same instant is
 * replaced: two facts about one instant are one fact.
 */
static const char device_sql[] =
	"INSERT OR REPLACE INTO device_attr(device, t_ns, role, profile, sysname, descr) "
	"SELECT :device, :t_ns, coalesce(:role, f.role, ''), coalesce(:profile, f.profile, ''), "
	" coalesce(:sysname, f.sysname, ''), coalesce(:descr, f.descr, '') "
	"FROM (SELECT 1) LEFT JOIN (SELECT * FROM device_attr WHERE device=:device AND t_ns<=:t_ns "
	" ORDER BY t_ns DESC LIMIT 1) f ON 1 "
	"WHERE f.device IS NULL OR coalesce(:role, f.role)<>f.role "
	" OR coalesce(:profile, f.profile)<>f.profile "
	" OR coalesce(:sysname, f.sysname)<>f.sysname OR coalesce(:descr, f.descr)<>f.descr";
static const char port_sql[] =
	"INSERT OR REPLACE INTO port_attr"
	"(device, port, t_ns, alias, peer_device, peer_port, speed_bps) "
	"SELECT :device, :port, :t_ns, coalesce(:alias, f.alias, ''), "
	" coalesce(:peer_device, f.peer_device, ''), coalesce(:peer_port, f.peer_port, ''), "
	" coalesce(NULLIF(:speed_bps, 0), f.speed_bps, 0) "
	"FROM (SELECT 1) LEFT JOIN (SELECT * FROM port_attr WHERE device=:device AND port=:port "
	" AND t_ns<=:t_ns ORDER BY t_ns DESC LIMIT 1) f ON 1 "
	"WHERE f.device IS NULL OR coalesce(:alias, f.alias)<>f.alias "
	" OR coalesce(:peer_device, f.peer_device)<>f.peer_device "
	" OR coalesce(:peer_port, f.peer_port)<>f.peer_port "
	" OR (:speed_bps<>0 AND :speed_bps<>f.speed_bps)";

static const struct {
	const char *insert; /* the columns and their values follow */
	const char *unless; /* no row where this finds one; NULL = always one */
	const char *sql; /* or the whole statement */
} statements[RECORD_KINDS] = {
	[RECORD_HEALTH] = {.sql = "INSERT OR REPLACE INTO health(key, value, unit, t_ns) "
				  "VALUES(?1, ?2, ?3, ?4)"},
	[RECORD_FABRIC] = {.sql = fabric_sql},
	[RECORD_TARGET] = {.insert = "INSERT OR REPLACE INTO target"},
	[RECORD_TARGET_GONE] = {.sql = target_gone_sql},
	[RECORD_DEVICE] = {.sql = device_sql},
	[RECORD_PORT] = {.sql = port_sql},
	[RECORD_INCIDENT] = {.insert = "INSERT OR REPLACE INTO incident"},
	[RECORD_RECOMMENDATION] = {.insert = "INSERT OR REPLACE INTO recommendation"},
	[RECORD_SILENCE] = {.insert = "INSERT OR REPLACE INTO silence"},
	[RECORD_ALERT] = {.insert = "INSERT OR REPLACE INTO alert"},
	[RECORD_ALERT_GONE] = {.sql = alert_gone_sql},
	[RECORD_BURST] = {.insert = "INSERT INTO burst"},
	/* A judge that was killed judges its last windows again: an incident says nothing twice. */
	[RECORD_EVENT] = {.insert = "INSERT INTO event",
		.unless = "SELECT 1 FROM event WHERE incident_id=:incident_id AND t_ns=:t_ns AND "
			  "kind=:kind AND text=:text"},
	[RECORD_FINDING] = {.insert = "INSERT INTO finding"},
};

/* ---- statements ---------------------------------------------------------- */

static void statement_sql(enum record_kind kind, struct str *out)
{
	size_t n;
	const struct record_column *columns = record_columns(kind, &n);

	if (kind == RECORD_FLOWS) {
		str_addf(out, "INSERT INTO flow(%s) VALUES(?1", flow_columns);
		for (int i = 2; i <= FLOW_COLUMNS; i++)
			str_addf(out, ",?%d", i);
		str_add(out, ")");
		return;
	}
	if (!statements[kind].insert) {
		str_add(out, statements[kind].sql);
		return;
	}
	str_add(out, statements[kind].insert);
	for (size_t i = 0; i < n; i++)
		str_addf(out, "%s%s", i == 0 ? "(" : ", ", columns[i].name);
	str_add(out, ") SELECT ");
	for (size_t i = 0; i < n; i++)
		str_addf(out, "%s:%s", i == 0 ? "" : ", ", columns[i].name);
	if (statements[kind].unless)
		str_addf(out, " WHERE NOT EXISTS(%s)", statements[kind].unless);
}

/* Which parameter each column of the record is. */
static void find_parameters(struct writer_record *to, enum record_kind kind)
{
	size_t n;
	const struct record_column *columns = record_columns(kind, &n);
	char name[64];

	assert(n <= WRITER_RECORD_COLUMNS);
	for (size_t i = 0; i < n; i++) {
		snprintf(name, sizeof(name), ":%s", columns[i].name);
		int parameter = sqlite3_bind_parameter_index(to->st, name);
		assert(parameter > 0);
		to->parameter[i] = (uint8_t)parameter;
	}
}

static int record_statement(
	struct store_writer *writer, enum record_kind kind, struct writer_record **ret)
{
	struct writer_record *record = &writer->records[kind];

	*ret = record;
	if (record->st)
		return SQLITE_OK;
	rw_cleanup(str_done) struct str sql = {0};
	statement_sql(kind, &sql);
	int rc = sqlite_prepare(writer->db, sql.s, &record->st);
	if (rc == SQLITE_OK)
		find_parameters(record, kind);
	return rc;
}

/* ---- binding ------------------------------------------------------------- */

static void bind_text(sqlite3_stmt *st, int parameter, const char *text)
{
	sqlite3_bind_text(st, parameter, text, -1, SQLITE_STATIC); /* NULL binds NULL */
}

/* What is not known (NAN) is stored as NULL. */
static void bind_real(sqlite3_stmt *st, int parameter, double value)
{
	if (isfinite(value))
		sqlite3_bind_double(st, parameter, value);
	else
		sqlite3_bind_null(st, parameter);
}

static void bind_column(sqlite3_stmt *st, int parameter, const struct record_column *column,
	const struct store_record *record)
{
	const void *at = (const char *)record + column->offset;

	switch (column->type) {
	case COLUMN_TEXT: bind_text(st, parameter, *(const char *const *)at); break;
	case COLUMN_BOOL: sqlite3_bind_int(st, parameter, *(const bool *)at); break;
	case COLUMN_INT: sqlite3_bind_int(st, parameter, *(const int *)at); break;
	case COLUMN_I64:
	case COLUMN_U64: sqlite3_bind_int64(st, parameter, *(const int64_t *)at); break;
	case COLUMN_REAL: bind_real(st, parameter, *(const double *)at); break;
	}
}

static int write_row_record(struct store_writer *writer, const struct store_record *record)
{
	struct writer_record *to;
	size_t n;
	const struct record_column *columns = record_columns(record->kind, &n);
	int rc = record_statement(writer, record->kind, &to);

	if (rc != SQLITE_OK)
		return rc;
	for (size_t i = 0; i < n; i++)
		bind_column(to->st, to->parameter[i], &columns[i], record);
	return sqlite_run(to->st);
}

/* ---- lists --------------------------------------------------------------- */

static int write_flows(struct store_writer *writer, const struct store_record *record)
{
	struct writer_record *to;
	int rc = record_statement(writer, RECORD_FLOWS, &to);

	for (size_t i = 0; rc == SQLITE_OK && i < record->flows.n; i++) {
		const struct flow_sample *flow = &record->flows.v[i];
		rc = writer_name(writer, flow->entity, flow->from_ns);
		if (rc == SQLITE_NOTFOUND) {
			rc = SQLITE_OK;
			continue;
		}
		if (rc != SQLITE_OK)
			break;
		flow_row_bind(to->st, flow, writer->entities[flow->entity].file_id);
		rc = sqlite_run(to->st);
	}
	return rc;
}

/* A snapshot replaces the one before: rows of another instant are deleted. */
static int write_health(struct store_writer *writer, const struct store_record *record)
{
	struct writer_record *to;
	int rc = record_statement(writer, RECORD_HEALTH, &to);

	for (size_t i = 0; rc == SQLITE_OK && i < record->health.n; i++) {
		bind_text(to->st, 1, record->health.v[i].key);
		bind_real(to->st, 2, record->health.v[i].value);
		bind_text(to->st, 3, record->health.v[i].unit);
		sqlite3_bind_int64(to->st, 4, record->health.t_ns);
		rc = sqlite_run(to->st);
	}
	if (rc == SQLITE_OK && !writer->old_health)
		rc = sqlite_prepare(
			writer->db, "DELETE FROM health WHERE t_ns<>?1", &writer->old_health);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(writer->old_health, 1, record->health.t_ns);
	return sqlite_run(writer->old_health);
}

int writer_record(struct store_writer *writer, const struct store_record *record)
{
	switch (record->kind) {
	case RECORD_ENTITIES:
		writer_note_names(writer, record->entities.v, record->entities.n);
		return SQLITE_OK;
	case RECORD_NAMES_GONE:
		return writer_names_gone(writer, record->gone.v, record->gone.n, record->gone.t_ns);
	case RECORD_TEXTS:
		writer_note_texts(writer, record->texts.v, record->texts.n);
		return SQLITE_OK;
	case RECORD_FLOWS: return write_flows(writer, record);
	case RECORD_HEALTH: return write_health(writer, record);
	case RECORD_REWIND: return writer_late(writer, record->rewind.t_ns);
	default: return write_row_record(writer, record);
	}
}
