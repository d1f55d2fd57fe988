/*
 * schema - migrations of the database, and the numbers of metrics, which follow metric.def at each
 * open. A released step is never changed: tests/unit/db/sqlite/test_schema.c keeps the text of
 * version 1 and opens a file made from it.
 */
#include "db/sqlite/schema.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/err.h"
#include "agent/base/map.h"
#include "agent/base/str.h"
#include "db/model/entity.h"
#include "db/sqlite/sqlite_io.h"

/*
 * The partial index on cfg: the state in force at an instant may have been sampled weeks before;
 * without the index a reader walks back over every poll since. Table series: it says that an entity
 * never had a metric without reading all of its history.
 */
static const char step_1[] =
	"CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
	"CREATE TABLE entity(id INTEGER PRIMARY KEY, device TEXT NOT NULL, port TEXT NOT NULL, "
	"priority INTEGER NOT NULL,"
	" UNIQUE(device, port, priority));"
	"CREATE TABLE text(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);"
	"CREATE TABLE series(entity INTEGER NOT NULL, metric TEXT NOT NULL, first_ns INTEGER NOT "
	"NULL, PRIMARY KEY(entity, metric)) WITHOUT ROWID;"
	"CREATE TABLE sample_port(entity INTEGER NOT NULL, t_ns INTEGER NOT NULL, source INTEGER "
	"NOT NULL, flags INTEGER NOT NULL,"
	" cfg INTEGER, x TEXT, PRIMARY KEY(entity, t_ns)) WITHOUT ROWID;"
	"CREATE TABLE sample_priority(entity INTEGER NOT NULL, t_ns INTEGER NOT NULL, source "
	"INTEGER NOT NULL, flags INTEGER NOT NULL,"
	" cfg INTEGER, x TEXT, PRIMARY KEY(entity, t_ns)) WITHOUT ROWID;"
	"CREATE TABLE sample_device(entity INTEGER NOT NULL, t_ns INTEGER NOT NULL, source INTEGER "
	"NOT NULL, flags INTEGER NOT NULL,"
	" cfg INTEGER, x TEXT, PRIMARY KEY(entity, t_ns)) WITHOUT ROWID;"
	"CREATE INDEX sample_port_cfg ON sample_port(entity, t_ns) WHERE cfg IS NOT NULL;"
	"CREATE INDEX sample_priority_cfg ON sample_priority(entity, t_ns) WHERE cfg IS NOT NULL;"
	"CREATE INDEX sample_device_cfg ON sample_device(entity, t_ns) WHERE cfg IS NOT NULL;"
	"CREATE TABLE fabric_history(t_ns INTEGER PRIMARY KEY, yaml TEXT NOT NULL);"
	"CREATE TABLE target(device TEXT NOT NULL, protocol TEXT NOT NULL, address TEXT, state "
	"TEXT, reason TEXT, up INTEGER, since_ns INTEGER,"
	" last_success_ns INTEGER, updated_ns INTEGER, poll_p50_s REAL, poll_p95_s REAL, polls "
	"INTEGER, timeouts INTEGER, errors INTEGER,"
	" value_count INTEGER, PRIMARY KEY(device, protocol)) WITHOUT ROWID;"
	"CREATE TABLE device_attr(device TEXT NOT NULL, t_ns INTEGER NOT NULL, role TEXT, profile "
	"TEXT, sysname TEXT, descr TEXT,"
	" PRIMARY KEY(device, t_ns)) WITHOUT ROWID;"
	"CREATE TABLE port_attr(device TEXT NOT NULL, port TEXT NOT NULL, t_ns INTEGER NOT NULL, "
	"alias TEXT, peer_device TEXT, peer_port TEXT,"
	" speed_bps INTEGER, PRIMARY KEY(device, port, t_ns)) WITHOUT ROWID;"
	"CREATE TABLE incident(id TEXT PRIMARY KEY, cause TEXT, severity TEXT, state TEXT, device "
	"TEXT, port TEXT, priority INTEGER,"
	" ecmp_group TEXT, host TEXT, summary TEXT, opened_ns INTEGER, closed_ns INTEGER, "
	"updated_ns INTEGER, usd_per_hour REAL, usd_total REAL,"
	" confidence REAL, acked_by TEXT, json TEXT) WITHOUT ROWID;"
	"CREATE TABLE event(id INTEGER PRIMARY KEY, t_ns INTEGER NOT NULL, kind TEXT, incident_id "
	"TEXT, who TEXT, text TEXT);"
	"CREATE INDEX event_t ON event(t_ns);"
	"CREATE INDEX event_incident ON event(incident_id, t_ns);"
	"CREATE TABLE finding(id INTEGER PRIMARY KEY, from_ns INTEGER NOT NULL, to_ns INTEGER NOT "
	"NULL, analyzer TEXT, cause TEXT, verdict TEXT,"
	" severity TEXT, device TEXT, port TEXT, priority INTEGER, ecmp_group TEXT, host TEXT, "
	"summary TEXT, value REAL, warn REAL, confidence REAL);"
	"CREATE INDEX finding_t ON finding(to_ns);"
	"CREATE TABLE flow(id INTEGER PRIMARY KEY, entity INTEGER NOT NULL, from_ns INTEGER NOT "
	"NULL, to_ns INTEGER NOT NULL, total INTEGER NOT NULL,"
	" dir INTEGER NOT NULL, sampling INTEGER NOT NULL, family INTEGER, src TEXT, dst TEXT, "
	"src_port INTEGER, dst_qp INTEGER, packets INTEGER,"
	" octets INTEGER, ce INTEGER, ect INTEGER, cnp INTEGER, nak INTEGER, retransmits INTEGER, "
	"psn_gaps INTEGER, burst_bps INTEGER,"
	" flows INTEGER, sum_sq_octets REAL);"
	"CREATE INDEX flow_to ON flow(to_ns);"
	"CREATE TABLE recommendation(id TEXT PRIMARY KEY, t_ns INTEGER, incident_id TEXT, device "
	"TEXT, port TEXT, priority INTEGER, state TEXT,"
	" advice TEXT, summary TEXT, json TEXT) WITHOUT ROWID;";

/* health: the agent's own measures, the newest snapshot only. Events name their device and port. */
static const char step_2[] = "CREATE TABLE health(key TEXT PRIMARY KEY, value REAL, unit TEXT, "
			     "t_ns INTEGER NOT NULL) WITHOUT ROWID;"
			     "ALTER TABLE event ADD COLUMN device TEXT;"
			     "ALTER TABLE event ADD COLUMN port TEXT;";

/*
 * Rows in order of time: a poll of hundreds of switches fills pages one after the other instead of
 * changing one page per port, and retention deletes one range. The price is a seek per instant when
 * one series is read; table instant says which. The writer moves the rows of the old_ tables, with
 * their exceptions (store_import.c).
 */
static const char step_3[] =
	"DROP VIEW IF EXISTS samples; DROP VIEW IF EXISTS rates; DELETE FROM meta WHERE "
	"key='views';"
	"DROP INDEX sample_port_cfg; DROP INDEX sample_priority_cfg; DROP INDEX sample_device_cfg;"
	"ALTER TABLE sample_port RENAME TO old_sample_port;"
	"ALTER TABLE sample_priority RENAME TO old_sample_priority;"
	"ALTER TABLE sample_device RENAME TO old_sample_device;"
	"CREATE TABLE instant(device INTEGER NOT NULL, t_ns INTEGER NOT NULL, PRIMARY KEY(device, "
	"t_ns)) WITHOUT ROWID;";

/* A recommendation changes state; its evidence is kept as long as it is open. */
static const char step_4[] = "ALTER TABLE recommendation ADD COLUMN from_ns INTEGER;"
			     "ALTER TABLE recommendation ADD COLUMN to_ns INTEGER;"
			     "ALTER TABLE recommendation ADD COLUMN updated_ns INTEGER;"
			     "ALTER TABLE recommendation ADD COLUMN diagnosis TEXT;"
			     "ALTER TABLE recommendation ADD COLUMN who TEXT;";

/* silence: when nobody is to be called. alert: what each receiver knows of each incident. An event
 * may be about a job. */
static const char step_5[] =
	"CREATE TABLE silence(id TEXT PRIMARY KEY, device TEXT, port TEXT, host TEXT, job TEXT, "
	"cause TEXT, who TEXT, why TEXT, ended_by TEXT, created_ns INTEGER NOT NULL, "
	"from_ns INTEGER NOT NULL, until_ns INTEGER NOT NULL) WITHOUT ROWID;"
	"CREATE TABLE alert(receiver TEXT NOT NULL, incident_id TEXT NOT NULL, state TEXT, "
	"severity TEXT, cause TEXT, pending TEXT, error TEXT, labels TEXT, sent_ns INTEGER, "
	"pending_ns INTEGER, updated_ns INTEGER, attempts INTEGER, sent INTEGER, acked INTEGER, "
	"PRIMARY KEY(receiver, incident_id)) WITHOUT ROWID;"
	"ALTER TABLE event ADD COLUMN job TEXT;";

/* What packets say of hosts: rows of their own in table flow. */
static const char step_6[] = "ALTER TABLE flow ADD COLUMN host INTEGER;"
			     "ALTER TABLE flow ADD COLUMN data_packets INTEGER;"
			     "ALTER TABLE flow ADD COLUMN data_ect INTEGER;"
			     "ALTER TABLE flow ADD COLUMN copies INTEGER;"
			     "ALTER TABLE flow ADD COLUMN capture_lost INTEGER;"
			     "ALTER TABLE flow ADD COLUMN spray_octets INTEGER;"
			     "ALTER TABLE flow ADD COLUMN ce_got INTEGER;"
			     "ALTER TABLE flow ADD COLUMN cnp_sent INTEGER;"
			     "ALTER TABLE flow ADD COLUMN reactions INTEGER;"
			     "ALTER TABLE flow ADD COLUMN before_bps REAL;"
			     "ALTER TABLE flow ADD COLUMN after_bps REAL;"
			     "ALTER TABLE flow ADD COLUMN sums TEXT;";

/* Retention finds what is over without reading all rows: closed incidents, and alerts and
 * recommendations by their last change. */
static const char step_7[] =
	"CREATE INDEX incident_closed ON incident(updated_ns) WHERE state='closed';"
	"CREATE INDEX incident_open ON incident(opened_ns) WHERE state<>'closed';"
	"CREATE INDEX recommendation_updated ON recommendation(updated_ns);"
	"CREATE INDEX recommendation_incident ON recommendation(incident_id);"
	"CREATE INDEX alert_incident ON alert(incident_id);"
	"CREATE INDEX alert_updated ON alert(updated_ns);"
	"CREATE INDEX silence_until ON silence(until_ns);"
	"ALTER TABLE entity ADD COLUMN made_ns INTEGER NOT NULL DEFAULT 0;"
	"ALTER TABLE entity ADD COLUMN gone_ns INTEGER NOT NULL DEFAULT " NAME_LIVE_SQL ";"
	"CREATE INDEX entity_gone ON entity(gone_ns);"
	"CREATE INDEX entity_device ON entity(id) WHERE port='' AND priority=-1;"
	"CREATE INDEX entity_port ON entity(device, port) WHERE port<>'' AND priority=-1;";

/* The single values that a switch pushed around an incident, in parts (collectors/push/burst.h,
 * Base64). */
static const char step_8[] =
	"CREATE TABLE burst(id INTEGER PRIMARY KEY, t_ns INTEGER NOT NULL, incident_id TEXT, "
	"device TEXT, from_ns INTEGER, to_ns INTEGER, part INTEGER, parts INTEGER, objects TEXT, "
	"data TEXT);"
	"CREATE INDEX burst_t ON burst(t_ns);"
	"CREATE INDEX burst_incident ON burst(incident_id);";

/*
 * Samples as blocks (schema.h). The index of the tail answers what lies where without its rows. The
 * wide tables were renamed by wide_rename(); the writer moves what they hold (store_import.c).
 *
 * Blocks have a row id and an index on their key: in a table WITHOUT ROWID, SQLite reads a row
 * whole, with its block, for each comparison of a search where it does not fit its page.
 */
static const char step_9[] =
	"DELETE FROM meta WHERE key='views';"
	"CREATE TABLE metric_name(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);"
	"CREATE TABLE tail(id INTEGER PRIMARY KEY, device INTEGER NOT NULL, from_ns INTEGER NOT "
	"NULL, to_ns INTEGER NOT NULL, n INTEGER NOT NULL, metrics BLOB NOT NULL, data BLOB NOT "
	"NULL);"
	"CREATE INDEX tail_device ON tail(device, to_ns, from_ns, n);"
	"CREATE TABLE block(device INTEGER NOT NULL, metric INTEGER NOT NULL, from_ns INTEGER NOT "
	"NULL, to_ns INTEGER NOT NULL, n INTEGER NOT NULL, known INTEGER NOT NULL DEFAULT 0, "
	"data BLOB NOT NULL, PRIMARY KEY(device, metric, from_ns));"
	"CREATE TABLE block_minute(device INTEGER NOT NULL, metric INTEGER NOT NULL, from_ns "
	"INTEGER NOT NULL, to_ns INTEGER NOT NULL, n INTEGER NOT NULL, data BLOB NOT NULL, "
	"PRIMARY KEY(device, metric, from_ns));"
	"CREATE TABLE block_hour(device INTEGER NOT NULL, metric INTEGER NOT NULL, from_ns INTEGER "
	"NOT NULL, to_ns INTEGER NOT NULL, n INTEGER NOT NULL, data BLOB NOT NULL, "
	"PRIMARY KEY(device, metric, from_ns));"
	"CREATE TABLE rollup_due(hour_ns INTEGER NOT NULL, device INTEGER NOT NULL, "
	"PRIMARY KEY(hour_ns, device)) WITHOUT ROWID;";

/* steps[n] makes version n + 1 */
static const char *const steps[] = {
	step_1, step_2, step_3, step_4, step_5, step_6, step_7, step_8, step_9};
_Static_assert(rw_countof(steps) == SCHEMA_VERSION, "one step per version");

int schema_check(sqlite3 *db, const char *path, int *ret_version, struct err *e)
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
	if (app != SCHEMA_APPLICATION_ID)
		return err_set(e, -EINVAL,
			"%s is a database of another program; name another file with --db or "
			"store.path",
			path);
	if (version < 1 || version > SCHEMA_VERSION)
		return err_set(e, -EINVAL,
			"%s was written by a newer rocewatch (schema version %lld, this program "
			"knows up to %d); use that version, or name another file",
			path, (long long)version, SCHEMA_VERSION);
	*ret_version = (int)version;
	return 0;
}

/* Before step 9: the sample tables of versions 3 to 8 get names of their own, where there are any.
 */
static int wide_rename(sqlite3 *db)
{
	static const char *const tables[] = {"port", "priority", "device", "lanes"};
	bool any = false;
	/* renaming looks at the views that name a table */
	int rc = sqlite_exec(db, "DROP VIEW IF EXISTS samples; DROP VIEW IF EXISTS rates");

	for (size_t i = 0; rc == SQLITE_OK && i < rw_countof(tables); i++) {
		rw_cleanup(str_done) struct str name = {0};
		bool has = false;
		str_addf(&name, "sample_%s", tables[i]);
		rc = sqlite_has_column(db, name.s, "entity", &has);
		if (rc == SQLITE_OK && has)
			rc = sqlite_execf(db, "ALTER TABLE sample_%s RENAME TO wide_%s", tables[i],
				tables[i]);
		any |= has;
	}
	if (rc == SQLITE_OK && !any)
		rc = sqlite_exec(db, "DROP TABLE instant");
	return rc;
}

/* One transaction each, so that a crash leaves a whole version behind. */
static int migrate_steps(sqlite3 *db, int version)
{
	for (int v = version; v < SCHEMA_VERSION; v++) {
		int rc = sqlite_exec(db, "BEGIN IMMEDIATE");
		if (rc == SQLITE_OK && v == SCHEMA_WIDE)
			rc = wide_rename(db);
		if (rc == SQLITE_OK)
			rc = sqlite_exec(db, steps[v]);
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

int schema_migrate(sqlite3 *db, const char *path, struct err *e)
{
	int version, r = schema_check(db, path, &version, e);

	if (r < 0)
		return r;
	int rc = migrate_steps(db, version);
	if (rc == SQLITE_OK)
		rc = add_metrics(db);
	if (rc == SQLITE_OK)
		rc = renew_views(db);
	if (rc == SQLITE_OK)
		return 0;
	return sqlite_fail(e, db, rc, "prepare", path);
}
