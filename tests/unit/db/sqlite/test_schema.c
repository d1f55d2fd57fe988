/* The schema: a file of the oldest version opens, is brought up to date step by step, and one of an
 * unknown version is refused; the views' plans. */
#include <errno.h>

#include "db/open.h"
#include "tests/unit/db/db_world.h"

#include "base/cleanup.h"
#include "base/str.h"
#include "db/sqlite/schema/schema.h"
#include "db/sqlite/schema/sqlite_io.h"
#include "db/series/history.h"
#include "db/store/store.h"

/*
 * The tables of version 1, the first that is released. Frozen: once it is, never change this text.
 * When a version is added, a file made from it must still open, and what it holds must still be
 * read.
 */
static const char frozen_1[] =
	"PRAGMA page_size=8192; PRAGMA journal_mode=WAL; PRAGMA application_id=1383023429; PRAGMA "
	"user_version=1;"
	"CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
	"CREATE TABLE entity(id INTEGER PRIMARY KEY, device TEXT NOT NULL, port TEXT NOT NULL, "
	"priority INTEGER NOT NULL, made_ns INTEGER NOT NULL DEFAULT 0, gone_ns INTEGER NOT "
	"NULL DEFAULT 9223372036854775807, UNIQUE(device, port, priority));"
	"CREATE INDEX entity_gone ON entity(gone_ns);"
	"CREATE INDEX entity_device ON entity(id) WHERE port='' AND priority=-1;"
	"CREATE INDEX entity_port ON entity(device, port) WHERE port<>'' AND priority=-1;"
	"CREATE TABLE text(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);"
	"CREATE TABLE metric_name(id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);"
	"CREATE TABLE series(entity INTEGER NOT NULL, metric TEXT NOT NULL, first_ns INTEGER "
	"NOT NULL, PRIMARY KEY(entity, metric)) WITHOUT ROWID;"
	"CREATE TABLE tail(id INTEGER PRIMARY KEY, device INTEGER NOT NULL, from_ns INTEGER "
	"NOT NULL, to_ns INTEGER NOT NULL, n INTEGER NOT NULL, metrics BLOB NOT NULL, data "
	"BLOB NOT NULL);"
	"CREATE INDEX tail_device ON tail(device, to_ns, from_ns, n);"
	"CREATE TABLE block(device INTEGER NOT NULL, metric INTEGER NOT NULL, from_ns INTEGER "
	"NOT NULL, to_ns INTEGER NOT NULL, n INTEGER NOT NULL, known INTEGER NOT NULL DEFAULT "
	"0, data BLOB NOT NULL, PRIMARY KEY(device, metric, from_ns));"
	"CREATE TABLE block_minute(device INTEGER NOT NULL, metric INTEGER NOT NULL, from_ns "
	"INTEGER NOT NULL, to_ns INTEGER NOT NULL, n INTEGER NOT NULL, data BLOB NOT NULL, "
	"PRIMARY KEY(device, metric, from_ns));"
	"CREATE TABLE block_hour(device INTEGER NOT NULL, metric INTEGER NOT NULL, from_ns "
	"INTEGER NOT NULL, to_ns INTEGER NOT NULL, n INTEGER NOT NULL, data BLOB NOT NULL, "
	"PRIMARY KEY(device, metric, from_ns));"
	"CREATE TABLE rollup_due(hour_ns INTEGER NOT NULL, device INTEGER NOT NULL, PRIMARY "
	"KEY(hour_ns, device)) WITHOUT ROWID;"
	"CREATE TABLE flow(id INTEGER PRIMARY KEY, entity INTEGER NOT NULL, from_ns INTEGER "
	"NOT NULL, to_ns INTEGER NOT NULL, total INTEGER NOT NULL, dir INTEGER NOT NULL, "
	"sampling INTEGER NOT NULL, family INTEGER, src TEXT, dst TEXT, src_port INTEGER, "
	"dst_qp INTEGER, packets INTEGER, octets INTEGER, ce INTEGER, ect INTEGER, cnp "
	"INTEGER, nak INTEGER, retransmits INTEGER, psn_gaps INTEGER, burst_bps INTEGER, flows "
	"INTEGER, sum_sq_octets REAL, host INTEGER, data_packets INTEGER, data_ect INTEGER, "
	"copies INTEGER, capture_lost INTEGER, spray_octets INTEGER, ce_got INTEGER, cnp_sent "
	"INTEGER, reactions INTEGER, before_bps REAL, after_bps REAL, sums TEXT, lost_before "
	"INTEGER, lost_beyond INTEGER, lost_read INTEGER, lost_timer INTEGER, lost_ack INTEGER, "
	"lost_rnr INTEGER, missing INTEGER, reacts INTEGER);"
	"CREATE INDEX flow_to ON flow(to_ns);"
	"CREATE TABLE fabric_history(t_ns INTEGER PRIMARY KEY, yaml TEXT NOT NULL);"
	"CREATE TABLE target(device TEXT NOT NULL, protocol TEXT NOT NULL, address TEXT, state "
	"TEXT, reason TEXT, up INTEGER, since_ns INTEGER, last_success_ns INTEGER, updated_ns "
	"INTEGER, poll_p50_s REAL, poll_p95_s REAL, polls INTEGER, timeouts INTEGER, errors "
	"INTEGER, value_count INTEGER, PRIMARY KEY(device, protocol)) WITHOUT ROWID;"
	"CREATE TABLE device_attr(device TEXT NOT NULL, t_ns INTEGER NOT NULL, role TEXT, "
	"profile TEXT, sysname TEXT, descr TEXT, PRIMARY KEY(device, t_ns)) WITHOUT ROWID;"
	"CREATE TABLE port_attr(device TEXT NOT NULL, port TEXT NOT NULL, t_ns INTEGER NOT "
	"NULL, alias TEXT, peer_device TEXT, peer_port TEXT, speed_bps INTEGER, PRIMARY "
	"KEY(device, port, t_ns)) WITHOUT ROWID;"
	"CREATE TABLE health(key TEXT PRIMARY KEY, value REAL, unit TEXT, t_ns INTEGER NOT "
	"NULL) WITHOUT ROWID;"
	"CREATE TABLE incident(id TEXT PRIMARY KEY, cause TEXT, severity TEXT, state TEXT, "
	"device TEXT, port TEXT, priority INTEGER, ecmp_group TEXT, host TEXT, summary TEXT, "
	"opened_ns INTEGER, closed_ns INTEGER, updated_ns INTEGER, usd_per_hour REAL, "
	"usd_total REAL, confidence REAL, acked_by TEXT, json TEXT) WITHOUT ROWID;"
	"CREATE INDEX incident_closed ON incident(updated_ns) WHERE state='closed';"
	"CREATE INDEX incident_open ON incident(opened_ns) WHERE state<>'closed';"
	"CREATE TABLE event(id INTEGER PRIMARY KEY, t_ns INTEGER NOT NULL, kind TEXT, "
	"incident_id TEXT, who TEXT, text TEXT, device TEXT, port TEXT, job TEXT);"
	"CREATE INDEX event_t ON event(t_ns);"
	"CREATE INDEX event_incident ON event(incident_id, t_ns);"
	"CREATE TABLE finding(id INTEGER PRIMARY KEY, from_ns INTEGER NOT NULL, to_ns INTEGER "
	"NOT NULL, analyzer TEXT, cause TEXT, verdict TEXT, severity TEXT, device TEXT, port "
	"TEXT, priority INTEGER, ecmp_group TEXT, host TEXT, summary TEXT, value REAL, warn "
	"REAL, confidence REAL);"
	"CREATE INDEX finding_t ON finding(to_ns);"
	"CREATE TABLE recommendation(id TEXT PRIMARY KEY, t_ns INTEGER, incident_id TEXT, "
	"device TEXT, port TEXT, priority INTEGER, state TEXT, advice TEXT, summary TEXT, json "
	"TEXT, from_ns INTEGER, to_ns INTEGER, updated_ns INTEGER, diagnosis TEXT, who TEXT) "
	"WITHOUT ROWID;"
	"CREATE INDEX recommendation_updated ON recommendation(updated_ns);"
	"CREATE INDEX recommendation_incident ON recommendation(incident_id);"
	"CREATE TABLE silence(id TEXT PRIMARY KEY, device TEXT, port TEXT, host TEXT, job "
	"TEXT, cause TEXT, who TEXT, why TEXT, ended_by TEXT, created_ns INTEGER NOT NULL, "
	"from_ns INTEGER NOT NULL, until_ns INTEGER NOT NULL) WITHOUT ROWID;"
	"CREATE INDEX silence_until ON silence(until_ns);"
	"CREATE TABLE alert(receiver TEXT NOT NULL, incident_id TEXT NOT NULL, state TEXT, "
	"severity TEXT, cause TEXT, pending TEXT, error TEXT, labels TEXT, sent_ns INTEGER, "
	"pending_ns INTEGER, updated_ns INTEGER, attempts INTEGER, sent INTEGER, acked "
	"INTEGER, PRIMARY KEY(receiver, incident_id)) WITHOUT ROWID;"
	"CREATE INDEX alert_incident ON alert(incident_id);"
	"CREATE INDEX alert_updated ON alert(updated_ns);"
	"CREATE TABLE burst(id INTEGER PRIMARY KEY, t_ns INTEGER NOT NULL, incident_id TEXT, "
	"device TEXT, from_ns INTEGER, to_ns INTEGER, part INTEGER, parts INTEGER, objects "
	"TEXT, data TEXT);"
	"CREATE INDEX burst_t ON burst(t_ns);"
	"CREATE INDEX burst_incident ON burst(incident_id);";

/* Its rows: two samples in a block, with a flag; one of a priority, with a window; one in the tail;
 * records. */
static const char rows_of_1[] =
	"INSERT INTO metric_name VALUES(1,'port.in_octets'),(58,'queue.watermark_bytes');"
	"INSERT INTO meta VALUES('names',2);"
	"INSERT INTO entity VALUES(1,'leaf1','swp1',-1,1700000000000000000,9223372036854775807),"
	"(2,'leaf1','',-1,1700000000000000000,9223372036854775807),"
	"(3,'leaf1','swp1',3,1700000010000000000,9223372036854775807);"
	"INSERT INTO series VALUES(1,'port.in_octets',1700000000000000000),"
	"(3,'queue.watermark_bytes',1700000010000000000);"
	"INSERT INTO tail VALUES(1,2,1700000020000000000,1700000020000000000,1,X'02',"
	"X'01010105011e01000101010001000100000000000b0100809087f2ada0e7cb1700022c0163c42526');"
	"INSERT INTO block VALUES(2,1,1700000000000000000,1700000010000000000,2,1,"
	"X'02000102010101000100000000001002018080a8b1e39fe7cb178090dfc04afe0200000100010101000164"
	"ac0209aa57c0'),(2,58,1700000010000000000,1700000010000000000,1,1,"
	"X'02000101010001e0d4030300000000000b010080c8d7d188a0e7cb17004da1c14bc5');"
	"INSERT INTO event(t_ns,kind,text) VALUES(1700000000000000000,'note','before');"
	"INSERT INTO flow(entity,from_ns,to_ns,total,dir,sampling,packets,octets,cnp) "
	"VALUES(1,1700000000000000000,1700000010000000000,1,1,1,7,700,3);";

struct schema_fact {
	const char *sql;
	int64_t expected;
};

static void schema_facts(const struct db_world *w, const struct schema_fact *facts, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const int64_t v = world_int(w, facts[i].sql);
		if (v != facts[i].expected)
			fail_msg("%s: %lld", facts[i].sql, (long long)v);
	}
}

/* What rows_of_1 says, by the views. */
static const struct schema_fact facts_of_1[] = {
	{"SELECT count(*) FROM samples", 4},
	{"SELECT value FROM samples WHERE metric='port.in_octets' AND flags='restart'", 250},
	{"SELECT rate*10 FROM rates WHERE rate IS NOT NULL", 50},
	{"SELECT value FROM samples WHERE window_s=60 AND priority=3 AND port='swp1'", 77},
	{"SELECT count(*) FROM events WHERE text='before'", 1},
	{"SELECT cnp FROM flows", 3},
	{"SELECT count(*) FROM flow_hosts", 0},
};

/* A step that is released makes what it made when it was: a change of it would leave the files that
 * are out there behind. */
static void first_is_frozen(void **state)
{
	struct db_world w;
	sqlite3 *db;
	char sql[160];

	world_init(&w);
	world_exec(&w, frozen_1);
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	const struct schema_steps first = {schema_released.sql, 1};
	assert_int_equal(schema_migrate_to(db, "new", &first, NULL), 0);
	snprintf(sql, sizeof(sql), "ATTACH '%s' AS frozen", w.path);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
#define OF(schema) "SELECT name, sql FROM " schema ".sqlite_master WHERE type<>'view'"
	assert_int_equal(
		sqlite_int(db, "SELECT count(*) FROM frozen.sqlite_master", 0, NULL) > 40, 1);
	assert_int_equal(
		sqlite_int(db,
			"SELECT count(*) FROM (SELECT * FROM (" OF("main") " EXCEPT " OF(
				"frozen") ") UNION ALL SELECT * FROM (" OF("frozen") " EXCEPT " OF("main") "))",
			-1, NULL),
		0);
	sqlite3_close(db);
	world_done(&w);
}

static void oldest_opens(void **state)
{
	struct db_world w;
	struct entities *t = entities_new();
	struct store *s;
	struct err e = {0};

	world_init(&w);
	world_exec(&w, frozen_1);
	world_exec(&w, rows_of_1);
	struct store_options o = {.path = w.path, .replay = true};
	for (int round = 0; round < 2; round++) { /* the second opening finds nothing to do */
		if (db_store_open(&o, t, &s, &e) < 0)
			fail_msg("%s", e.text);
		store_close(s);
	}
	assert_int_equal(world_int(&w, "PRAGMA user_version"), SCHEMA_VERSION);
	schema_facts(&w, facts_of_1, rw_countof(facts_of_1));
	if (db_store_open(&o, t, &s, &e) < 0)
		fail_msg("%s", e.text);
	const uint32_t port = entities_intern(t, "leaf1", "swp1", PRIO_NONE);
	const struct sample more = sample_at(SECONDS(30), port, M_PORT_IN_OCTETS, 400, 0);
	store_samples(s, &more, 1);
	assert_int_equal(store_flush(s, &e), 0);
	store_close(s);
	entities_free(t);
	assert_int_equal(world_int(&w, "SELECT count(*) FROM samples"), 5);
	assert_int_equal(world_int(&w, "SELECT max(rate) FROM rates"), 10);
	/* of version 2: counted at the migration, and not again with a series that was there */
	assert_int_equal(world_int(&w, "SELECT count(*) FROM series_count"), 2);
	assert_int_equal(
		world_int(&w, "SELECT n FROM series_count WHERE device=2 AND metric=58"), 1);
	assert_int_equal(
		world_int(&w, "SELECT n FROM series_count WHERE device=2 AND metric=1"), 1);
	world_done(&w);
}

static int oldest_flow(void *arg, const struct flow_sample *flow)
{
	*(struct flow_sample *)arg = *flow;
	return 0;
}

/* A reader may meet a file that no writer of this version has opened yet. */
static void oldest_reads(void **state)
{
	struct db_world w;
	struct history *d;
	struct err e = {0};
	struct flow_sample flow = {0};
	int64_t first, last;

	world_init(&w);
	world_exec(&w, frozen_1);
	world_exec(&w, rows_of_1);
	if (db_history_open(w.path, &d, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(history_each_flow(d, INT64_MIN, 0, oldest_flow, &flow, &e), 0);
	assert_int_equal(flow.packets, 7);
	assert_int_equal(history_range(d, &first, &last, &e), 0);
	assert_int_equal(first, SECONDS(0));
	assert_int_equal(last, SECONDS(20));
	history_close(d);
	world_done(&w);
}

/* ---- versions that come later -------------------------------------------- */

/* Planted: what a later program might do to a file of version 1. */
static const char planted_2[] = "ALTER TABLE event ADD COLUMN planted TEXT;"
				"UPDATE event SET planted='by 2'";
static const char planted_3[] = "CREATE TABLE planted(id INTEGER PRIMARY KEY);"
				"INSERT INTO planted SELECT id FROM event WHERE planted='by 2'";
static const char planted_3_fails[] = "CREATE TABLE planted(id INTEGER PRIMARY KEY);"
				      "INSERT INTO planted SELECT id FROM no_such_table";

static int schema_try(const struct db_world *w, const struct schema_steps *to, struct err *e)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(w->path, &db), SQLITE_OK);
	const int r = schema_migrate_to(db, w->path, to, e);
	sqlite3_close(db);
	return r;
}

/* Each step once, in a transaction of its own: one that fails leaves the version before it whole,
 * and the next attempt goes on there. */
static void older_is_migrated(void **state)
{
	struct db_world w;
	struct err e = {0};
	const char *sql[] = {schema_released.sql[0], planted_2, planted_3_fails, "SELECT 1"};
	const struct schema_steps planted = {sql, SCHEMA_VERSION + 1};

	world_init(&w);
	world_exec(&w, frozen_1);
	world_exec(&w, rows_of_1);
	assert_true(schema_try(&w, &planted, &e) < 0);
	assert_non_null(strstr(e.text, w.path));
	static const struct schema_fact half[] = {
		{"PRAGMA user_version", 2},
		{"SELECT count(*) FROM event WHERE planted='by 2'", 1},
		{"SELECT count(*) FROM sqlite_master WHERE name='planted'", 0},
	};
	schema_facts(&w, half, rw_countof(half));
	sql[2] = planted_3;
	for (int round = 0; round < 2; round++) {
		if (schema_try(&w, &planted, &e) < 0)
			fail_msg("%s", e.text);
		assert_int_equal(world_int(&w, "PRAGMA user_version"), planted.n);
		assert_int_equal(world_int(&w, "SELECT count(*) FROM planted"), 1);
	}
	schema_facts(&w, facts_of_1, rw_countof(facts_of_1));
	/* the program of now refuses what that one made */
	assert_int_equal(schema_try(&w, &schema_released, &e), -EINVAL);
	assert_int_equal(world_int(&w, "PRAGMA user_version"), planted.n);
	world_done(&w);
}

/* ---- what is refused ------------------------------------------------------- */

/* Nobody can be misled by a file that this program does not know: it is neither read nor changed,
 * and the sentence says what to do. */
static void unknown_is_refused(void **state)
{
	static const struct {
		const char *make, *why, *remedy;
	} rows[] = {
		{"PRAGMA user_version=99", "a newer rocewatch (schema version 99,",
			"use that version"},
		{"PRAGMA user_version=4", "a newer rocewatch", "use that version"},
		{"PRAGMA user_version=0", "schema version 0,", "put a backup in its place"},
		{"PRAGMA user_version=-1", "schema version -1,", "put a backup in its place"},
		/* from before the first release, whatever its version: also 1 */
		{"PRAGMA application_id=1383023479", "version before the first release",
			"rename it, and 'rocewatch agent'"},
		{"PRAGMA application_id=1383023479; PRAGMA user_version=9",
			"version before the first release", "rename it, and 'rocewatch agent'"},
		{"PRAGMA application_id=7", "of another program", "name another file"},
	};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		struct db_world w;
		struct entities *t = entities_new();
		struct store *s;
		struct history *d;
		struct err e = {0}, of_reader = {0};

		world_init(&w);
		world_exec(&w, frozen_1);
		world_exec(&w, rows[i].make);
		const int64_t version = world_int(&w, "PRAGMA user_version");
		const int64_t id = world_int(&w, "PRAGMA application_id");
		struct store_options o = {.path = w.path, .replay = true};
		assert_int_equal(db_store_open(&o, t, &s, &e), -EINVAL);
		if (!strstr(e.text, rows[i].why) || !strstr(e.text, rows[i].remedy) ||
			!strstr(e.text, w.path))
			fail_msg("%s: %s", rows[i].make, e.text);
		assert_int_equal(db_history_open(w.path, &d, &of_reader), -EINVAL);
		assert_string_equal(e.text, of_reader.text);
		assert_int_equal(world_int(&w, "PRAGMA user_version"), version); /* untouched */
		assert_int_equal(world_int(&w, "PRAGMA application_id"), id);
		entities_free(t);
		world_done(&w);
	}
}

/* ---- a file that somebody else changed ------------------------------------ */

static void make_store(const struct db_world *w)
{
	struct entities *entities = entities_new();
	struct store *store;
	struct err e = {0};
	const struct store_options o = {.path = w->path, .replay = true};

	assert_int_equal(db_store_open(&o, entities, &store, &e), 0);
	store_close(store);
	entities_free(entities);
}

/* Every table that a store makes stands in the list of names that must be tables: with a trigger on
 * it the file is refused. */
static void every_table_is_known(void **state)
{
	struct db_world w;
	sqlite3_stmt *st;
	sqlite3 *db;
	unsigned n = 0;

	world_init(&w);
	make_store(&w);
	assert_int_equal(sqlite3_open(w.path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db,
				 "SELECT name FROM sqlite_master WHERE type='table' AND name NOT "
				 "LIKE 'sqlite!_%' ESCAPE '!'",
				 -1, &st, NULL),
		SQLITE_OK);
	while (sqlite3_step(st) == SQLITE_ROW) {
		char make[200];
		struct history *history;
		struct err e = {0};
		const char *name = (const char *)sqlite3_column_text(st, 0);
		snprintf(make, sizeof(make),
			"CREATE TRIGGER probe AFTER DELETE ON %s BEGIN SELECT 1; END", name);
		world_exec(&w, make);
		if (db_history_open(w.path, &history, &e) != -EINVAL ||
			!strstr(e.text, "has a trigger in place of the table"))
			fail_msg("table %s: %s", name, e.text);
		world_exec(&w, "DROP TRIGGER probe");
		n++;
	}
	assert_true(n > 20);
	sqlite3_finalize(st);
	sqlite3_close(db);
	world_done(&w);
}

/* For a reader, and for an agent that would write it. */
static void expect_changed(const struct db_world *w, const char *says)
{
	struct entities *entities = entities_new();
	struct history *history;
	struct store *store;
	struct err e = {0};
	const struct store_options o = {.path = w->path, .replay = true};

	assert_int_equal(db_history_open(w->path, &history, &e), -EINVAL);
	if (!strstr(e.text, says))
		fail_msg("reads '%s', expected '%s'", e.text, says);
	e = (struct err){0};
	assert_int_equal(db_store_open(&o, entities, &store, &e), -EINVAL);
	assert_non_null(strstr(e.text, says));
	entities_free(entities);
}

static void view_in_place_of_a_table(void **state)
{
	struct db_world w;

	world_init(&w);
	make_store(&w);
	world_exec(&w,
		"DROP TABLE incident; CREATE VIEW Incident AS SELECT "
		"hex(randomblob(400000000)) AS json, 'open' AS state");
	expect_changed(&w, "has a view in place of the table 'incident'");
	world_done(&w);
}

static void virtual_table_in_place_of_a_table(void **state)
{
	struct db_world w;

	world_init(&w);
	make_store(&w);
	world_exec(&w, "DROP TABLE event; CREATE VIRTUAL TABLE event USING fts5(text)");
	expect_changed(&w, "has a virtual table in place of the table 'event'");
	world_done(&w);
}

static int takes_nothing(void *arg, int n, char *const *values, char *const *names)
{
	return 0;
}

/* A documented view is the file's own text: what it computes is bounded. */
static void value_without_bound(void **state)
{
	struct db_world w;
	struct history *history;
	struct err e = {0};

	world_init(&w);
	make_store(&w);
	world_exec(&w,
		"DROP VIEW incidents; CREATE VIEW incidents AS SELECT "
		"hex(zeroblob(40000000)) AS json");
	assert_int_equal(db_history_open(w.path, &history, &e), 0);
	assert_int_equal(
		history_sql(history, "SELECT json FROM incidents", takes_nothing, NULL, &e), -EIO);
	assert_non_null(strstr(e.text, "too big"));
	history_close(history);
	world_done(&w);
}

/* ---- what the views cost ------------------------------------------------- */

static void make_data(const struct db_world *w)
{
	struct entities *t = entities_new();
	struct store_options o = {.path = w->path, .replay = true};
	struct store *s;

	assert_int_equal(db_store_open(&o, t, &s, NULL), 0);
	for (int i = 0; i < 2000; i++) {
		struct sample v[9];
		v[8] = sample_at(SECONDS(i), entities_intern(t, "leaf1", "swp1", 3),
			M_PFC_RX_FRAMES, (uint64_t)i, 0);
		for (int k = 0; k < 8; k++) {
			char port[16];
			snprintf(port, sizeof(port), "swp%d", k / 2);
			v[k] = sample_at(SECONDS(i), entities_intern(t, "leaf1", port, PRIO_NONE),
				k % 2 ? M_PORT_IN_OCTETS : M_PORT_OUT_OCTETS, (uint64_t)i * 10, 0);
		}
		store_samples(s, v, 9);
	}
	assert_int_equal(store_flush(s, NULL), 0);
	store_close(s);
	entities_free(t);
}

static int count_steps(void *arg)
{
	++*(int *)arg;
	return 0;
}

/* What a statement costs, whatever the clock says: steps of its own and of those that read blocks
 * for it, and the samples that these decode. */
static int cost(const struct db_world *w, const char *sql, int expect_rows)
{
	sqlite3 *db;
	sqlite3_stmt *st;
	int rows = 0, steps = 0;

	assert_int_equal(sqlite3_open(w->path, &db), SQLITE_OK);
	assert_int_equal(samples_table_register(db), SQLITE_OK);
	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	sqlite3_progress_handler(db, 1, count_steps, &steps);
	while (sqlite3_step(st) == SQLITE_ROW)
		rows++;
	if (rows != expect_rows)
		fail_msg("%s: %d rows", sql, rows);
	sqlite3_finalize(st);
	sqlite3_close(db);
	return steps;
}

static void conditions_reach_the_key(void **state)
{
	struct db_world w;

	world_init(&w);
	make_data(&w);
#define HOUR " AND t_ns BETWEEN 1700000100000000000 AND 1700000109000000000"
	static const struct {
		const char *what, *sql;
		int rows, most;
	} rows[] = {
		{"one metric, a range of time",
			"SELECT time, value FROM samples WHERE metric='port.in_octets'" HOUR, 40,
			2000},
		{"one port of it",
			"SELECT time, value FROM samples WHERE metric='port.in_octets' AND "
			"device='leaf1' AND port='swp1'" HOUR,
			10, 1200},
		{"an aggregate",
			"SELECT max(value) FROM samples WHERE metric='port.in_octets'" HOUR, 1,
			2000},
		{"rates of one port",
			"SELECT rate FROM rates WHERE metric='port.in_octets' AND device='leaf1' "
			"AND port='swp1'" HOUR,
			10, 1400},
		{"one priority",
			"SELECT value FROM samples WHERE metric='pfc.rx_frames' AND device='leaf1' "
			"AND port='swp1' AND priority=3" HOUR,
			10, 1200},
		{"rates of a priority",
			"SELECT rate FROM rates WHERE metric='pfc.rx_frames' AND device='leaf1' "
			"AND port='swp1' AND priority=3" HOUR,
			10, 1400},
		{"all metrics of a short time",
			"SELECT * FROM samples WHERE t_ns BETWEEN 1700000100000000000 AND "
			"1700000101000000000",
			18, 6000},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int steps = cost(&w, rows[i].sql, rows[i].rows);
		if (steps > rows[i].most)
			fail_msg("%s: %d steps: the condition does not reach the tables' key",
				rows[i].what, steps);
	}
	/* the measure is able to tell: without the range of time it is many times as much */
	assert_true(cost(&w, "SELECT time, value FROM samples WHERE metric='port.in_octets'",
			    8000) > 20000);
	world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(first_is_frozen),
		cmocka_unit_test(oldest_opens),
		cmocka_unit_test(oldest_reads),
		cmocka_unit_test(older_is_migrated),
		cmocka_unit_test(unknown_is_refused),
		cmocka_unit_test(every_table_is_known),
		cmocka_unit_test(view_in_place_of_a_table),
		cmocka_unit_test(virtual_table_in_place_of_a_table),
		cmocka_unit_test(value_without_bound),
		cmocka_unit_test(conditions_reach_the_key),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
