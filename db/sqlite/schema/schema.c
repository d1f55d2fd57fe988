/*
 * schema - migrations of the database, and the numbers of metrics, which follow metric.def at each
 * open. A released step is never changed, what is new is a step of its own:
 * tests/unit/db/sqlite/test_schema.c keeps the text of version 1 and opens a file made from it.
 */
#include "db/sqlite/schema/schema.h"

#include "db/sqlite/schema/sqlite_io.h"

/*
 * Names: .gone_ns says until when the agent knew one. Table series says that an entity never had a
 * metric without reading all of its history. Numbers of metrics are of this file.
 */
#define STEP_1_NAMES                                                                               \
	"CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;"                            \
	"CREATE TABLE entity(id INTEGER PRIMARY KEY, device TEXT NOT NULL, port TEXT NOT NULL, "   \
	"priority INTEGER NOT NULL, made_ns INTEGER NOT NULL DEFAULT 0, gone_ns INTEGER NOT NULL " \
	"DEFAULT " NAME_LIVE_SQL ", UNIQUE(device, port, priority));"                              \
	"CREATE INDEX entity_gone ON entity(gone_ns);"                                             \
	"CREATE INDEX entity_device ON entity(id) WHERE port='' AND priority=-1;"                  \
	"CREATE INDEX entity_port ON entity(device, port) WHERE port<>'' AND priority=-1;"         \
	"CREATE TABLE text(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);"                    \
	"CREATE TABLE metric_name(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);"             \
	"CREATE TABLE series(entity INTEGER NOT NULL, metric TEXT NOT NULL, first_ns INTEGER NOT " \
	"NULL, PRIMARY KEY(entity, metric)) WITHOUT ROWID;"

/*
 * Samples (schema.h). The index of the tail answers what lies where without its rows. Blocks have a
 * row id and an index on their key: in a table WITHOUT ROWID, SQLite reads a row whole, with its
 * block, for each comparison of a search where it does not fit its page.
 */
#define STEP_1_SAMPLES                                                                             \
	"CREATE TABLE tail(id INTEGER PRIMARY KEY, device INTEGER NOT NULL, from_ns INTEGER NOT "  \
	"NULL, to_ns INTEGER NOT NULL, n INTEGER NOT NULL, metrics BLOB NOT NULL, data BLOB NOT "  \
	"NULL);"                                                                                   \
	"CREATE INDEX tail_device ON tail(device, to_ns, from_ns, n);"                             \
	"CREATE TABLE block(device INTEGER NOT NULL, metric INTEGER NOT NULL, from_ns INTEGER "    \
	"NOT "                                                                                     \
	"NULL, to_ns INTEGER NOT NULL, n INTEGER NOT NULL, known INTEGER NOT NULL DEFAULT 0, "     \
	"data BLOB NOT NULL, PRIMARY KEY(device, metric, from_ns));"                               \
	"CREATE TABLE block_minute(device INTEGER NOT NULL, metric INTEGER NOT NULL, from_ns "     \
	"INTEGER NOT NULL, to_ns INTEGER NOT NULL, n INTEGER NOT NULL, data BLOB NOT NULL, "       \
	"PRIMARY KEY(device, metric, from_ns));"                                                   \
	"CREATE TABLE block_hour(device INTEGER NOT NULL, metric INTEGER NOT NULL, from_ns "       \
	"INTEGER NOT NULL, to_ns INTEGER NOT NULL, n INTEGER NOT NULL, data BLOB NOT NULL, "       \
	"PRIMARY KEY(device, metric, from_ns));"                                                   \
	"CREATE TABLE rollup_due(hour_ns INTEGER NOT NULL, device INTEGER NOT NULL, "              \
	"PRIMARY KEY(hour_ns, device)) WITHOUT ROWID;"

/* Packets: flows, and what they say of hosts, in rows of their own with .host set. */
#define STEP_1_FLOWS                                                                               \
	"CREATE TABLE flow(id INTEGER PRIMARY KEY, entity INTEGER NOT NULL, from_ns INTEGER NOT "  \
	"NULL, to_ns INTEGER NOT NULL, total INTEGER NOT NULL, dir INTEGER NOT NULL, sampling "    \
	"INTEGER NOT NULL, family INTEGER, src TEXT, dst TEXT, src_port INTEGER, dst_qp INTEGER, " \
	"packets INTEGER, octets INTEGER, ce INTEGER, ect INTEGER, cnp INTEGER, nak INTEGER, "     \
	"retransmits INTEGER, psn_gaps INTEGER, burst_bps INTEGER, flows INTEGER, sum_sq_octets "  \
	"REAL, host INTEGER, data_packets INTEGER, data_ect INTEGER, copies INTEGER, "             \
	"capture_lost INTEGER, spray_octets INTEGER, ce_got INTEGER, cnp_sent INTEGER, reactions " \
	"INTEGER, before_bps REAL, after_bps REAL, sums TEXT, lost_before INTEGER, lost_beyond "   \
	"INTEGER, lost_read INTEGER, lost_timer INTEGER, lost_ack INTEGER, lost_rnr INTEGER, "     \
	"missing INTEGER, reacts INTEGER);"                                                        \
	"CREATE INDEX flow_to ON flow(to_ns);"

/* What is configured and who is polled. health: the agent's own measures, the newest snapshot. */
#define STEP_1_STATE                                                                               \
	"CREATE TABLE fabric_history(t_ns INTEGER PRIMARY KEY, yaml TEXT NOT NULL);"               \
	"CREATE TABLE target(device TEXT NOT NULL, protocol TEXT NOT NULL, address TEXT, state "   \
	"TEXT, reason TEXT, up INTEGER, since_ns INTEGER, last_success_ns INTEGER, updated_ns "    \
	"INTEGER, poll_p50_s REAL, poll_p95_s REAL, polls INTEGER, timeouts INTEGER, errors "      \
	"INTEGER, value_count INTEGER, PRIMARY KEY(device, protocol)) WITHOUT ROWID;"              \
	"CREATE TABLE device_attr(device TEXT NOT NULL, t_ns INTEGER NOT NULL, role TEXT, "        \
	"profile TEXT, sysname TEXT, descr TEXT, PRIMARY KEY(device, t_ns)) WITHOUT ROWID;"        \
	"CREATE TABLE port_attr(device TEXT NOT NULL, port TEXT NOT NULL, t_ns INTEGER NOT NULL, " \
	"alias TEXT, peer_device TEXT, peer_port TEXT, speed_bps INTEGER, PRIMARY KEY(device, "    \
	"port, t_ns)) WITHOUT ROWID;"                                                              \
	"CREATE TABLE health(key TEXT PRIMARY KEY, value REAL, unit TEXT, t_ns INTEGER NOT NULL) " \
	"WITHOUT ROWID;"

/*
 * What was judged and said. silence: when nobody is to be called. alert: what each receiver knows
 * of each incident. burst: the single values that a switch pushed around an incident, in parts
 * (collectors/push/burst.h, Base64). By the indexes retention finds what is over without reading
 * all rows: closed incidents, and alerts and recommendations by their last change.
 */
#define STEP_1_RECORDS                                                                             \
	"CREATE TABLE incident(id TEXT PRIMARY KEY, cause TEXT, severity TEXT, state TEXT, "       \
	"device "                                                                                  \
	"TEXT, port TEXT, priority INTEGER, ecmp_group TEXT, host TEXT, summary TEXT, opened_ns "  \
	"INTEGER, closed_ns INTEGER, updated_ns INTEGER, usd_per_hour REAL, usd_total REAL, "      \
	"confidence REAL, acked_by TEXT, json TEXT) WITHOUT ROWID;"                                \
	"CREATE INDEX incident_closed ON incident(updated_ns) WHERE state='closed';"               \
	"CREATE INDEX incident_open ON incident(opened_ns) WHERE state<>'closed';"                 \
	"CREATE TABLE event(id INTEGER PRIMARY KEY, t_ns INTEGER NOT NULL, kind TEXT, "            \
	"incident_id "                                                                             \
	"TEXT, who TEXT, text TEXT, device TEXT, port TEXT, job TEXT);"                            \
	"CREATE INDEX event_t ON event(t_ns);"                                                     \
	"CREATE INDEX event_incident ON event(incident_id, t_ns);"                                 \
	"CREATE TABLE finding(id INTEGER PRIMARY KEY, from_ns INTEGER NOT NULL, to_ns INTEGER "    \
	"NOT "                                                                                     \
	"NULL, analyzer TEXT, cause TEXT, verdict TEXT, severity TEXT, device TEXT, port TEXT, "   \
	"priority INTEGER, ecmp_group TEXT, host TEXT, summary TEXT, value REAL, warn REAL, "      \
	"confidence REAL);"                                                                        \
	"CREATE INDEX finding_t ON finding(to_ns);"                                                \
	"CREATE TABLE recommendation(id TEXT PRIMARY KEY, t_ns INTEGER, incident_id TEXT, device " \
	"TEXT, port TEXT, priority INTEGER, state TEXT, advice TEXT, summary TEXT, json TEXT, "    \
	"from_ns INTEGER, to_ns INTEGER, updated_ns INTEGER, diagnosis TEXT, who TEXT) WITHOUT "   \
	"ROWID;"                                                                                   \
	"CREATE INDEX recommendation_updated ON recommendation(updated_ns);"                       \
	"CREATE INDEX recommendation_incident ON recommendation(incident_id);"                     \
	"CREATE TABLE silence(id TEXT PRIMARY KEY, device TEXT, port TEXT, host TEXT, job TEXT, "  \
	"cause TEXT, who TEXT, why TEXT, ended_by TEXT, created_ns INTEGER NOT NULL, from_ns "     \
	"INTEGER NOT NULL, until_ns INTEGER NOT NULL) WITHOUT ROWID;"                              \
	"CREATE INDEX silence_until ON silence(until_ns);"                                         \
	"CREATE TABLE alert(receiver TEXT NOT NULL, incident_id TEXT NOT NULL, state TEXT, "       \
	"severity TEXT, cause TEXT, pending TEXT, error TEXT, labels TEXT, sent_ns INTEGER, "      \
	"pending_ns INTEGER, updated_ns INTEGER, attempts INTEGER, sent INTEGER, acked INTEGER, "  \
	"PRIMARY KEY(receiver, incident_id)) WITHOUT ROWID;"                                       \
	"CREATE INDEX alert_incident ON alert(incident_id);"                                       \
	"CREATE INDEX alert_updated ON alert(updated_ns);"                                         \
	"CREATE TABLE burst(id INTEGER PRIMARY KEY, t_ns INTEGER NOT NULL, incident_id TEXT, "     \
	"device TEXT, from_ns INTEGER, to_ns INTEGER, part INTEGER, parts INTEGER, objects TEXT, " \
	"data TEXT);"                                                                              \
	"CREATE INDEX burst_t ON burst(t_ns);"                                                     \
	"CREATE INDEX burst_incident ON burst(incident_id);"

/*
 * How many series of each metric a device has in table series, for readers: one that looks back for
 * the newest value of each knows by it when it has them all, without a look at each name.
 */
#define STEP_2                                                                                     \
	"CREATE TABLE series_count(device INTEGER NOT NULL, metric INTEGER NOT NULL, "             \
	"n INTEGER NOT NULL, PRIMARY KEY(device, metric)) WITHOUT ROWID;"                          \
	"INSERT INTO series_count SELECT d.id, m.id, count(*) FROM entity d CROSS JOIN "           \
	"entity e ON e.device=d.device CROSS JOIN series s ON s.entity=e.id CROSS JOIN "           \
	"metric_name m ON m.name=s.metric WHERE d.port='' AND d.priority=-1 "                      \
	"GROUP BY d.id, m.id;"

/*
 * Rows of block_minute may cut minutes short (version 5 of db/block/rollup_codec.c): an older
 * program shall refuse the file and not call them damaged. The rows of before are read as they are.
 */
#define STEP_3 "SELECT 1;"

static const char *const steps[] = {
	STEP_1_NAMES STEP_1_SAMPLES STEP_1_FLOWS STEP_1_STATE STEP_1_RECORDS,
	STEP_2,
	STEP_3,
};
_Static_assert(rw_countof(steps) == SCHEMA_VERSION, "one step per version");
const struct schema_steps schema_released = {steps, SCHEMA_VERSION};

/* A version that is not among @known: why, and what to do. */
static int schema_refuse(const char *path, sqlite3_int64 version, int known, struct err *e)
{
	if (version > known)
		return err_set(e, -EINVAL,
			"%s was written by a newer rocewatch (schema version %lld, this program "
			"knows up to %d); use that version, or name another file",
			path, (long long)version, known);
	return err_set(e, -EINVAL,
		"%s says that it has schema version %lld, which no release wrote: it was "
		"changed by something else; put a backup in its place, or name another file",
		path, (long long)version);
}

/* Each table of ours. */
#define SCHEMA_TABLES                                                                              \
	"'alert','block','block_hour','block_minute','burst','device_attr','entity','event',"      \
	"'fabric_history','finding','flow','health','incident','meta','metric_name','port_attr',"  \
	"'recommendation','rollup_due','series','series_count','silence','spool','tail','target'," \
	"'text'"

/* A view or a virtual table in place of a table, or a trigger on one, would run statements of
 * whoever made the file. We make none. */
static int schema_check_kinds(sqlite3 *db, const char *path, struct err *e)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	int rc = sqlite_prepare(db,
		"SELECT lower(tbl_name), CASE type WHEN 'table' THEN 'virtual table' ELSE type END "
		"FROM sqlite_master WHERE lower(tbl_name) IN (" SCHEMA_TABLES ") AND "
		"(type IN ('view', 'trigger') OR type='table' AND rootpage=0) LIMIT 1",
		&st);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	if (rc == SQLITE_DONE)
		return 0;
	if (rc != SQLITE_ROW)
		return sqlite_fail(e, db, rc, "read", path);
	return err_set(e, -EINVAL,
		"%s was changed by another program: it has a %s in place of the table "
		"'%s'; ask who gave you the file, or name another one with --db or store.path",
		path, (const char *)sqlite3_column_text(st, 1),
		(const char *)sqlite3_column_text(st, 0));
}

static int schema_check_known(
	sqlite3 *db, const char *path, int known, int *ret_version, struct err *e)
{
	int rc;
	sqlite3_int64 objects = sqlite_int(db, "SELECT count(*) FROM sqlite_master", 0, &rc);

	if (rc != SQLITE_OK)
		return sqlite_fail(e, db, rc, "read", path);
	sqlite3_int64 app = sqlite_int(db, "PRAGMA application_id", 0, &rc), version = 0;
	if (rc == SQLITE_OK)
		version = sqlite_int(db, "PRAGMA user_version", 0, &rc);
	if (rc != SQLITE_OK)
		return sqlite_fail(e, db, rc, "read", path);
	if (objects == 0 && app == 0 && version == 0) {
		*ret_version = 0;
		return 0;
	}
	if (app == SCHEMA_DEVELOPMENT_ID)
		return err_set(e, -EINVAL,
			"%s was written by a version before the first release, which this "
			"program cannot read; rename it, and 'rocewatch agent' or 'rocewatch "
			"replay --db' makes a new one, or name another file",
			path);
	if (app != SCHEMA_APPLICATION_ID)
		return err_set(e, -EINVAL,
			"%s is a database of another program; name another file with --db or "
			"store.path",
			path);
	if (version < 1 || version > known)
		return schema_refuse(path, version, known, e);
	*ret_version = (int)version;
	return schema_check_kinds(db, path, e);
}

int schema_check(sqlite3 *db, const char *path, int *ret_version, struct err *e)
{
	return schema_check_known(db, path, SCHEMA_VERSION, ret_version, e);
}

/* One transaction each, so that a crash leaves a whole version behind. */
static int migrate_steps(sqlite3 *db, const struct schema_steps *to, int version)
{
	for (int v = version; v < to->n; v++) {
		int rc = sqlite_exec(db, "BEGIN IMMEDIATE");
		if (rc == SQLITE_OK)
			rc = sqlite_exec(db, to->sql[v]);
		if (rc == SQLITE_OK)
			rc = sqlite_execf(db,
				"PRAGMA application_id=%d; PRAGMA user_version=%d; COMMIT",
				SCHEMA_APPLICATION_ID, v + 1);
		if (rc != SQLITE_OK) {
			if (!sqlite3_get_autocommit(db))
				sqlite_exec(db, "ROLLBACK");
			return rc;
		}
	}
	return SQLITE_OK;
}

/* Each metric of this program has a number. */
static int add_metrics(sqlite3 *db)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	int rc = sqlite_prepare(db,
		"INSERT INTO metric_name(name) SELECT ?1 WHERE NOT EXISTS "
		"(SELECT 1 FROM metric_name WHERE name=?1)",
		&st);

	if (rc == SQLITE_OK)
		rc = sqlite_exec(db, "BEGIN IMMEDIATE");
	for (unsigned m = 0; rc == SQLITE_OK && m < METRIC_COUNT; m++) {
		sqlite3_bind_text(st, 1, metric_info(m)->name, -1, SQLITE_STATIC);
		rc = sqlite_run(st);
	}
	if (rc == SQLITE_OK)
		rc = sqlite_exec(db, "COMMIT");
	if (rc != SQLITE_OK && !sqlite3_get_autocommit(db))
		sqlite_exec(db, "ROLLBACK");
	return rc;
}

/* Views follow the program: they are made anew when their text differs from the one that the file
 * was given last. */
static int renew_views(sqlite3 *db)
{
	rw_cleanup(str_done) struct str sql = {0};

	schema_views(&sql);
	sqlite3_int64 hash = (sqlite3_int64)hash_bytes(sql.s, sql.n, 0);
	int rc;
	if (sqlite_int(db, "SELECT value FROM meta WHERE key='views'", 0, &rc) == hash)
		return SQLITE_OK;
	if (rc == SQLITE_OK)
		rc = sqlite_exec(db, "BEGIN IMMEDIATE");
	for (size_t i = 0; rc == SQLITE_OK && schema_view_names[i]; i++)
		rc = sqlite_execf(db, "DROP VIEW IF EXISTS %s", schema_view_names[i]);
	if (rc == SQLITE_OK)
		rc = sqlite_exec(db, sql.s);
	if (rc == SQLITE_OK)
		rc = sqlite_execf(db, "INSERT OR REPLACE INTO meta VALUES('views', %lld); COMMIT",
			(long long)hash);
	if (rc != SQLITE_OK && !sqlite3_get_autocommit(db))
		sqlite_exec(db, "ROLLBACK");
	return rc;
}

int schema_migrate_to(sqlite3 *db, const char *path, const struct schema_steps *to, struct err *e)
{
	int version, r = schema_check_known(db, path, to->n, &version, e);

	if (r < 0)
		return r;
	int rc = migrate_steps(db, to, version);
	if (rc == SQLITE_OK)
		rc = add_metrics(db);
	if (rc == SQLITE_OK)
		rc = renew_views(db);
	if (rc == SQLITE_OK)
		return 0;
	return sqlite_fail(e, db, rc, "prepare", path);
}

int schema_migrate(sqlite3 *db, const char *path, struct err *e)
{
	return schema_migrate_to(db, path, &schema_released, e);
}
