/* The schema: a file of the oldest version opens, a newer one is refused; columns follow
 * metric.def; the views' plans; x of a row. */
#include <errno.h>

#include "db/open.h"
#include "tests/unit/db/db_world.h"

#include "agent/base/str.h"
#include "db/sqlite/schema.h"
#include "db/series/history.h"
#include "db/store/store.h"

/*
 * Version 1 as it was released, with two metric columns and some rows. Frozen: never change this
 * text. When a version is added, this file must still open, and its samples must still be read.
 */
static const char frozen_1[] =
	"PRAGMA page_size=8192; PRAGMA journal_mode=WAL; PRAGMA application_id=1383023479; PRAGMA "
	"user_version=1;"
	"CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
	"CREATE TABLE entity(id INTEGER PRIMARY KEY, device TEXT NOT NULL, port TEXT NOT NULL, "
	"priority INTEGER NOT NULL, UNIQUE(device, port, priority));"
	"CREATE TABLE text(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);"
	"CREATE TABLE series(entity INTEGER NOT NULL, metric TEXT NOT NULL, first_ns INTEGER NOT "
	"NULL, PRIMARY KEY(entity, metric)) WITHOUT ROWID;"
	"CREATE TABLE sample_port(entity INTEGER NOT NULL, t_ns INTEGER NOT NULL, source INTEGER "
	"NOT NULL, flags INTEGER NOT NULL, cfg INTEGER, x TEXT,"
	" port_in_octets INTEGER, optic_rx_power_dbm REAL, metric_since_removed INTEGER, PRIMARY "
	"KEY(entity, t_ns)) WITHOUT ROWID;"
	"CREATE TABLE sample_priority(entity INTEGER NOT NULL, t_ns INTEGER NOT NULL, source "
	"INTEGER NOT NULL, flags INTEGER NOT NULL, cfg INTEGER, x TEXT,"
	" PRIMARY KEY(entity, t_ns)) WITHOUT ROWID;"
	"CREATE TABLE sample_device(entity INTEGER NOT NULL, t_ns INTEGER NOT NULL, source INTEGER "
	"NOT NULL, flags INTEGER NOT NULL, cfg INTEGER, x TEXT,"
	" PRIMARY KEY(entity, t_ns)) WITHOUT ROWID;"
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
	"TEXT, sysname TEXT, descr TEXT, PRIMARY KEY(device, t_ns)) WITHOUT ROWID;"
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
	" advice TEXT, summary TEXT, json TEXT) WITHOUT ROWID;"
	"INSERT INTO entity VALUES(1,'leaf1','',-1),(2,'leaf1','swp1',-1);"
	"INSERT INTO series "
	"VALUES(2,'port.in_octets',1700000000000000000),(2,'optic.rx_power_dbm',"
	"1700000000000000000);"
	"INSERT INTO sample_port "
	"VALUES(2,1700000000000000000,1,0,NULL,NULL,100,-1.5,7),(2,1700000010000000000,1,0,NULL,'{"
	"\"port_in_octets\":{\"flags\":1}}',250,NULL,7);";

/* Version 1 kept flows as later ones do, without rows of hosts. */
static const char flow_of_1[] =
	"INSERT INTO flow(entity,from_ns,to_ns,total,dir,sampling,packets,octets,cnp) "
	"VALUES(2,1700000000000000000,1700000010000000000,1,1,1,7,700,3);";

static void oldest_opens(void **state)
{
	struct db_world w;
	struct entities *t = entities_new();
	struct store *s;
	struct err e = {0};

	world_init(&w);
	world_exec(&w, frozen_1);
	world_exec(&w, flow_of_1);
	struct store_options o = {.path = w.path, .replay = true};
	if (db_store_open(&o, t, &s, &e) < 0)
		fail_msg("%s", e.text);
	const uint32_t port = entities_intern(t, "leaf1", "swp1", PRIO_NONE);
	struct sample v[] = {sample_at(SECONDS(20), port, M_PORT_OUT_OCTETS, 5, 0),
		sample_at(SECONDS(20), port, M_PORT_IN_OCTETS, 300, 0)};
	store_samples(s, v, 2);
	assert_int_equal(store_flush(s, &e), 0);
	store_close(s);
	entities_free(t);
	assert_int_equal(world_int(&w, "PRAGMA user_version"), SCHEMA_VERSION);
	assert_int_equal(world_int(&w, "SELECT count(*) FROM samples"), 5);
	assert_int_equal(world_int(&w,
				 "SELECT value FROM samples WHERE metric='port.in_octets' AND "
				 "flags='restart'"),
		250);
	assert_int_equal(world_int(&w, "SELECT count(*) FROM rates WHERE rate IS NULL"), 1);
	assert_int_equal(world_int(&w, "SELECT rate=5.0 FROM rates WHERE rate IS NOT NULL"), 1);
	/* what version 6 added: a flow of before is a flow, and no host */
	assert_int_equal(world_int(&w, "SELECT count(*) FROM flows WHERE data_packets IS NULL"), 1);
	assert_int_equal(world_int(&w, "SELECT count(*) FROM flow_hosts"), 0);
	/* what version 2 added */
	assert_int_equal(world_int(&w, "SELECT count(*) FROM health"), 0);
	assert_int_equal(world_int(&w, "SELECT count(device) + count(port) FROM events"), 0);
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
	int64_t first, last;

	world_init(&w);
	struct flow_sample flow = {0};
	world_exec(&w, frozen_1);
	world_exec(&w, flow_of_1);
	if (db_history_open(w.path, &d, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(history_each_flow(d, INT64_MIN, 0, oldest_flow, &flow, &e), 0);
	assert_int_equal(flow.packets, 7);
	assert_int_equal(flow.cnp, 3);
	assert_false(flow.host);
	assert_int_equal(flow.data_packets, 0);
	assert_int_equal(history_range(d, &first, &last, &e), 0);
	assert_int_equal(first, SECONDS(0));
	assert_int_equal(last, SECONDS(10));
	history_close(d);
	world_done(&w);
}

/* Version 2 kept a row per priority; the values of a port's priorities lie together since. Nothing
 * of a value may be lost on the way. */
static const char rows_of_2[] =
	"ALTER TABLE sample_priority ADD COLUMN pfc_rx_frames INTEGER; ALTER TABLE sample_priority "
	"ADD COLUMN queue_watermark_bytes INTEGER;"
	"ALTER TABLE sample_priority ADD COLUMN cfg_ecn_kmin_bytes INTEGER;"
	"INSERT INTO entity "
	"VALUES(3,'leaf1','swp1',0),(4,'leaf1','swp1',7),(5,'leaf1','swp1#q9',-1);"
	"INSERT INTO series "
	"VALUES(3,'pfc.rx_frames',1700000000000000000),(4,'pfc.rx_frames',1700000000000000000),"
	" (4,'queue.watermark_bytes',1700000000000000000),(4,'cfg.ecn_kmin_bytes',"
	"1700000000000000000),(5,'pfc.rx_frames',1700000000000000000);"
	"INSERT INTO sample_priority "
	"VALUES(3,1700000000000000000,1,0,NULL,NULL,10,NULL,NULL),(3,1700000010000000000,1,1,NULL,"
	"NULL,30,NULL,NULL),"
	" (4,1700000000000000000,2,2,1,'{\"queue_watermark_bytes\":{\"flags\":4,\"window_ms\":"
	"60000}}',-1,77,1000),"
	" (4,1700000010000000000,2,2,NULL,NULL,5,NULL,NULL),(5,1700000000000000000,1,0,NULL,NULL,6,"
	"NULL,NULL);";

static void priorities_move(void **state)
{
	struct db_world w;
	struct entities *t = entities_new();
	struct store *s;
	struct err e = {0};

	world_init(&w);
	world_exec(&w, frozen_1);
	world_exec(&w, rows_of_2);
	struct store_options o = {.path = w.path, .replay = true};
	for (int round = 0; round < 2; round++) { /* the second opening finds nothing to do */
		if (db_store_open(&o, t, &s, &e) < 0)
			fail_msg("%s", e.text);
		store_close(s);
	}
	entities_free(t);
	static const struct {
		const char *sql;
		int64_t expected;
	} rows[] = {
		{"SELECT count(*) FROM sqlite_master WHERE name LIKE 'old\\_%' ESCAPE '\\'", 0},
		{"SELECT count(*) FROM sqlite_master WHERE name LIKE 'wide\\_%' ESCAPE '\\'", 0},
		{"SELECT count(*) FROM samples WHERE priority IS NOT NULL", 6},
		{"SELECT value FROM samples WHERE metric='pfc.rx_frames' AND priority=0 AND "
		 "flags='restart' AND source='snmp'",
			30},
		{"SELECT count(*) FROM samples WHERE metric='pfc.rx_frames' AND priority=7 AND "
		 "flags='wrap32' AND source='gnmi'",
			2},
		{"SELECT value>1.8e19 FROM samples WHERE metric='pfc.rx_frames' AND priority=7 "
		 "ORDER BY t_ns LIMIT 1",
			1},
		{"SELECT value FROM samples WHERE metric='queue.watermark_bytes' AND window_s=60 "
		 "AND flags='estimated' AND source='gnmi'",
			77},
		{"SELECT value FROM samples WHERE metric='cfg.ecn_kmin_bytes' AND priority=7 AND "
		 "port='swp1'",
			1000},
		{"SELECT value FROM samples WHERE port='swp1#q9' AND priority IS NULL", 6},
		{"SELECT count(*) FROM rates WHERE metric='pfc.rx_frames' AND priority=0 AND rate "
		 "IS NULL AND flags='restart'",
			1},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		int64_t v = world_int(&w, rows[i].sql);
		if (v != rows[i].expected)
			fail_msg("%s: %lld", rows[i].sql, (long long)v);
	}
	world_done(&w);
}

/* The same file met by a reader before any writer: it is read as it lies there. */
static int count_row(void *arg, const struct sample *s)
{
	struct sample *sum = arg;

	sum->value += s->value;
	sum->window_ms += s->window_ms;
	sum->entity++;
	return 0;
}

static void older_priorities_read(void **state)
{
	struct db_world w;
	struct history *d;
	struct err e = {0};
	struct sample sum = {0};
	static const uint16_t metrics[] = {M_PFC_RX_FRAMES, M_QUEUE_WATERMARK};
	struct history_filter f = {.device = "leaf1",
		.priority = HISTORY_ANY_PRIORITY,
		.metrics = metrics,
		.n_metrics = 2};

	world_init(&w);
	world_exec(&w, frozen_1);
	world_exec(&w, rows_of_2);
	if (db_history_open(w.path, &d, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(history_each_sample(d, &f, count_row, &sum, &e), 0);
	assert_int_equal(sum.entity, 6);
	assert_int_equal(sum.value, 10 + 30 - 1 + 77 + 5 + 6);
	assert_int_equal(sum.window_ms, 60000);
	history_close(d);
	world_done(&w);
}

static void newer_is_refused(void **state)
{
	struct db_world w;
	struct entities *t = entities_new();
	struct store *s;
	struct history *d;
	struct err e = {0};

	world_init(&w);
	world_exec(&w, frozen_1);
	world_exec(&w, "PRAGMA user_version=99");
	struct store_options o = {.path = w.path, .replay = true};
	assert_int_equal(db_store_open(&o, t, &s, &e), -EINVAL);
	if (!strstr(e.text, "newer") || !strstr(e.text, "99"))
		fail_msg("%s", e.text);
	assert_int_equal(db_history_open(w.path, &d, &e), -EINVAL);
	assert_int_equal(world_int(&w, "PRAGMA user_version"), 99); /* untouched */
	entities_free(t);
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
			    8000) > 40000);
	world_done(&w);
}

/* ---- x ------------------------------------------------------------------- */

static void exceptions_of_a_row(void **state)
{
	struct row_value in[] = {{M_PORT_IN_OCTETS, 0, 1, 0, PRIO_NONE},
		{M_PORT_OUT_OCTETS, 5, 1, 0, PRIO_NONE},
		{M_QUEUE_WATERMARK, 0, 2, 60000, PRIO_NONE},
		{M_CFG_TRUST, 63, 5, UINT32_MAX, PRIO_NONE}};
	static const char text[] =
		"{\"port_out_octets\":{\"flags\":5},\"queue_watermark_bytes\":{\"source\":2,"
		"\"window_ms\":60000},"
		"\"cfg_trust\":{\"flags\":63,\"source\":5,\"window_ms\":4294967295}}";
	struct row_value out[] = {{M_PORT_IN_OCTETS, 0, 1, 0, PRIO_NONE},
		{M_PORT_OUT_OCTETS, 0, 1, 0, PRIO_NONE}, {M_QUEUE_WATERMARK, 0, 1, 0, PRIO_NONE},
		{M_CFG_TRUST, 0, 1, 0, PRIO_NONE}};
	row_x_apply(text, out, 4);
	for (int i = 0; i < 4; i++)
		assert_true(in[i].flags == out[i].flags && in[i].source == out[i].source &&
			in[i].window_ms == out[i].window_ms);
	/* every beginning of the text, and every text with one byte changed, is survived */
	for (size_t n = 0; n < strlen(text); n++) {
		char *cut = strndup(text, n);
		row_x_apply(cut, out, 4);
		free(cut);
		for (int c = 1; c < 256; c += 7) {
			char *hurt = strdup(text);
			hurt[n] = (char)c;
			row_x_apply(hurt, out, 4);
			free(hurt);
		}
	}
	row_x_apply(NULL, out, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(oldest_opens),
		cmocka_unit_test(oldest_reads),
		cmocka_unit_test(newer_is_refused),
		cmocka_unit_test(priorities_move),
		cmocka_unit_test(older_priorities_read),
		cmocka_unit_test(conditions_reach_the_key),
		cmocka_unit_test(exceptions_of_a_row),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
