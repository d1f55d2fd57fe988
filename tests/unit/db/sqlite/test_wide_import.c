/*
 * Wide rows of version 8 become blocks: each value once, with its own flags, source and window,
 * also when the program is ended again and again in the middle, and while new samples are stored.
 */
#include <errno.h>

#include "agent/base/cleanup.h"
#include "db/open.h"
#include "db/series/history.h"
#include "db/sqlite/store_write.h"
#include "db/store/store.h"
#include "tests/unit/db/sqlite/file_samples.h"

/* The tables of version 8 that samples need, as they were released. Frozen. */
static const char frozen_8[] =
	"PRAGMA page_size=8192; PRAGMA journal_mode=WAL; PRAGMA application_id=1383023479; PRAGMA "
	"user_version=8; BEGIN;"
	"CREATE TABLE meta(key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
	"CREATE TABLE entity(id INTEGER PRIMARY KEY, device TEXT NOT NULL, port TEXT NOT NULL, "
	"priority INTEGER NOT NULL, made_ns INTEGER NOT NULL DEFAULT 0, gone_ns INTEGER NOT NULL "
	"DEFAULT 9223372036854775807, UNIQUE(device, port, priority));"
	"CREATE INDEX entity_gone ON entity(gone_ns);"
	"CREATE INDEX entity_device ON entity(id) WHERE port='' AND priority=-1;"
	"CREATE TABLE text(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);"
	"CREATE TABLE series(entity INTEGER NOT NULL, metric TEXT NOT NULL, first_ns INTEGER NOT "
	"NULL, PRIMARY KEY(entity, metric)) WITHOUT ROWID;"
	"CREATE TABLE instant(device INTEGER NOT NULL, t_ns INTEGER NOT NULL, PRIMARY KEY(device, "
	"t_ns)) WITHOUT ROWID;"
	"CREATE TABLE sample_port(entity INTEGER NOT NULL, t_ns INTEGER NOT NULL, source INTEGER "
	"NOT NULL, flags INTEGER NOT NULL, cfg INTEGER, x TEXT, port_in_octets INTEGER, "
	"optic_rx_power_dbm REAL, metric_since_removed INTEGER, PRIMARY KEY(t_ns, entity)) WITHOUT "
	"ROWID;"
	"CREATE INDEX sample_port_cfg ON sample_port(entity, t_ns) WHERE cfg IS NOT NULL;"
	"CREATE TABLE sample_priority(entity INTEGER NOT NULL, t_ns INTEGER NOT NULL, source "
	"INTEGER NOT NULL, flags INTEGER NOT NULL, cfg INTEGER, x TEXT, pfc_rx_frames INTEGER, "
	"PRIMARY KEY(t_ns, entity)) WITHOUT ROWID;"
	"CREATE TABLE sample_device(entity INTEGER NOT NULL, t_ns INTEGER NOT NULL, source INTEGER "
	"NOT NULL, flags INTEGER NOT NULL, cfg INTEGER, x TEXT, PRIMARY KEY(t_ns, entity)) WITHOUT "
	"ROWID;"
	"CREATE TABLE sample_lanes(entity INTEGER NOT NULL, t_ns INTEGER NOT NULL, source INTEGER "
	"NOT NULL, flags INTEGER NOT NULL, cfg INTEGER, x TEXT, pfc_rx_frames_p3 INTEGER, "
	"cfg_ecn_kmin_bytes_p3 INTEGER, pfc_rx_frames_p4 INTEGER, queue_watermark_bytes_p4 "
	"INTEGER, PRIMARY KEY(t_ns, entity)) WITHOUT ROWID;"
	"CREATE INDEX sample_lanes_cfg ON sample_lanes(entity, t_ns) WHERE cfg IS NOT NULL;"
	"CREATE TABLE event(id INTEGER PRIMARY KEY, t_ns INTEGER NOT NULL, kind TEXT, incident_id "
	"TEXT, who TEXT, text TEXT, device TEXT, port TEXT, job TEXT);"
	"CREATE TABLE finding(id INTEGER PRIMARY KEY, from_ns INTEGER NOT NULL, to_ns INTEGER NOT "
	"NULL, analyzer TEXT, cause TEXT, verdict TEXT, severity TEXT, device TEXT, port TEXT, "
	"priority INTEGER, ecmp_group TEXT, host TEXT, summary TEXT, value REAL, warn REAL, "
	"confidence REAL);"
	"CREATE TABLE flow(id INTEGER PRIMARY KEY, entity INTEGER NOT NULL, from_ns INTEGER NOT "
	"NULL, to_ns INTEGER NOT NULL, total INTEGER NOT NULL);"
	"CREATE VIEW samples AS SELECT 1 AS time FROM sample_port;"
	"INSERT INTO entity(id, device, port, priority) VALUES(1,'leaf1','',-1),(2,'leaf1','a',-1),"
	"(3,'leaf1','a',3),(4,'leaf1','a',4),(5,'leaf2','',-1),(6,'leaf2','a',-1),"
	"(7,'leaf1','a#q9',-1);"
	"INSERT INTO series VALUES(2,'port.in_octets',0),(2,'optic.rx_power_dbm',0),"
	"(3,'pfc.rx_frames',0),(3,'cfg.ecn_kmin_bytes',0),(4,'pfc.rx_frames',0),"
	"(4,'queue.watermark_bytes',0),(6,'port.in_octets',0),(7,'pfc.rx_frames',0);"
	/* both are polled every 10 s, for 90 minutes */
	"INSERT INTO instant WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE "
	"i<539) SELECT d, 1700000000000000000+i*10000000000 FROM n, (SELECT 1 AS d UNION SELECT 5);"
	"INSERT INTO sample_port SELECT e, t_ns, 1, 0, NULL, NULL, t_ns/1000+e, "
	"CASE WHEN e=2 THEN -1.5 END, 7 FROM instant, (SELECT 2 AS e UNION SELECT 6) WHERE "
	"device=CASE e WHEN 2 THEN 1 ELSE 5 END;"
	"INSERT INTO sample_lanes SELECT 2, t_ns, 2, 2, NULL, "
	"'{\"queue_watermark_bytes_p4\":{\"flags\":4,\"window_ms\":60000}}', -1, NULL, 5, 77 "
	"FROM instant WHERE device=1;"
	"INSERT INTO sample_priority SELECT 7, t_ns, 1, 0, NULL, NULL, 6 FROM instant WHERE "
	"device=1 AND t_ns%20000000000=0;"
	/* a kept state: its instant was deleted long ago; and a row about nothing */
	"INSERT INTO sample_lanes VALUES(2,1690000000000000000,1,0,1,NULL,NULL,1000,NULL,NULL);"
	"INSERT INTO sample_port VALUES(99,1690000000000000000,1,0,NULL,NULL,1,NULL,NULL);"
	"COMMIT;";

/* The other tables of that version, as far as later steps and records need them. */
static const char rest_8[] =
	"CREATE TABLE fabric_history(t_ns INTEGER PRIMARY KEY, yaml TEXT NOT NULL);"
	"CREATE TABLE health(key TEXT PRIMARY KEY, value REAL, unit TEXT, t_ns INTEGER NOT NULL) "
	"WITHOUT ROWID;";

#define N_INSTANTS 540
/* in_octets of two ports, optic, two pfc, watermark; every other instant the queue; the state */
#define N_SAMPLES (N_INSTANTS * 6 + N_INSTANTS / 2 + 1)

static void check_samples(const struct db_world *w, size_t more)
{
	struct file_samples found = file_samples_read(w->path);
	size_t octets = 0, optics = 0, watermarks = 0, states = 0, largest = 0, queue = 0;

	assert_int_equal(found.n, N_SAMPLES + more);
	assert_int_equal(found.twice, 0);
	for (size_t i = 0; i < found.n; i++) {
		const struct block_sample *s = &found.v[i].s;
		octets += s->value == (uint64_t)(s->t_ns / 1000 + s->entity) && s->flags == 0;
		optics += s->entity == 2 && s->value == sample_of_f64(-1.5) && s->source == 1;
		watermarks += s->entity == 4 && s->value == 77 && s->flags == SF_ESTIMATED &&
			s->window_ms == 60000 && s->source == SOURCE_GNMI;
		largest += s->entity == 3 && s->value == UINT64_MAX && s->flags == SF_WRAP32;
		states += s->entity == 3 && s->value == 1000 &&
			s->t_ns == INT64_C(1690000000000000000);
		queue += s->entity == 7 && s->value == 6;
	}
	assert_int_equal(octets, 2 * N_INSTANTS);
	assert_int_equal(optics, N_INSTANTS);
	assert_int_equal(watermarks, N_INSTANTS);
	assert_int_equal(largest, N_INSTANTS);
	assert_int_equal(states, 1);
	assert_int_equal(queue, N_INSTANTS / 2);
	assert_int_equal(world_int(w,
				 "SELECT count(*) FROM sqlite_master WHERE name LIKE 'wide%' "
				 "OR name LIKE 'sample\\_%' ESCAPE '\\' OR name='instant'"),
		0);
	free(found.v);
}

/* A writer without the import that opening does. */
static struct store_writer *part_open(const struct db_world *w)
{
	struct store_writer *writer = rw_calloc(1, sizeof(*writer));
	struct err e = {0};

	writer->o = (struct store_options){.path = w->path, .replay = true};
	writer->lock_fd = writer->inode_fd = -1;
	if (writer_open_file(writer, w->path, &e) < 0)
		fail_msg("%s", e.text);
	return writer;
}

/* Ended after a few steps, again and again; blocks are sealed and samples come in between. */
static void continues_where_it_stopped(void **state)
{
	struct db_world w;
	bool more = true;
	int opened = 0;

	world_init(&w);
	world_exec(&w, frozen_8);
	world_exec(&w, rest_8);
	for (int steps = 1; more; steps += 37, opened++) {
		struct store_writer *writer = part_open(&w);
		for (int i = 0; i < steps && more; i++)
			assert_int_equal(writer_import_step(writer, &more), SQLITE_OK);
		writer_close(writer);
		assert_true(opened < 200);
	}
	assert_true(opened > 5);
	check_samples(&w, 0);
	world_done(&w);
}

static int import_count(void *arg, const struct sample *sample)
{
	++*(size_t *)arg;
	return 0;
}

/* As an agent and a reader meet it. */
static void whole_file(void **state)
{
	struct db_world w;
	struct entities *t = entities_new();
	struct store *s;
	struct history *history;
	struct err e = {0};
	size_t n = 0;

	world_init(&w);
	world_exec(&w, frozen_8);
	world_exec(&w, rest_8);
	const struct store_options o = {.path = w.path};
	if (db_store_open(&o, t, &s, &e) < 0)
		fail_msg("%s", e.text);
	const struct sample v[] = {
		sample_at(SECONDS(5400), entities_intern(t, "leaf1", "a", PRIO_NONE),
			M_PORT_IN_OCTETS, 5, 0),
		/* a value that the old file has too: that one stays */
		sample_at(SECONDS(10), entities_intern(t, "leaf2", "a", PRIO_NONE),
			M_PORT_IN_OCTETS, 5, 0)};
	store_samples(s, v, 1);
	assert_int_equal(store_flush(s, &e), 0);
	if (db_history_open(w.path, &history, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(history_each_sample(history, NULL, import_count, &n, &e), 0);
	history_close(history);
	assert_true(n >= 1);
	store_close(s);
	const struct store_options replay = {.path = w.path, .replay = true};
	if (db_store_open(&replay, t, &s, &e) < 0)
		fail_msg("%s", e.text);
	store_samples(s, v + 1, 1);
	store_close(s);
	check_samples(&w, 1);
	entities_free(t);
	world_done(&w);
}

/* The clock is set back while old rows are still to be moved: they are late as well. */
static void rows_that_wait_are_late_too(void **state)
{
	struct db_world w;
	bool more = true;

	world_init(&w);
	world_exec(&w, frozen_8);
	world_exec(&w, rest_8);
	struct store_writer *writer = part_open(&w);
	for (int i = 0; i < 400 && more; i++)
		assert_int_equal(writer_import_step(writer, &more), SQLITE_OK);
	assert_true(more);
	assert_int_equal(writer_begin(writer), SQLITE_OK);
	assert_int_equal(writer_late(writer, SECONDS(1000)), SQLITE_OK);
	assert_int_equal(writer_commit(writer), SQLITE_OK);
	writer_close(writer);
	writer = part_open(&w);
	while (more)
		assert_int_equal(writer_import_step(writer, &more), SQLITE_OK);
	writer_close(writer);
	struct file_samples found = file_samples_read(w.path);
	assert_int_equal(found.n, N_SAMPLES);
	for (size_t i = 0; i < found.n; i++)
		assert_int_equal(
			(found.v[i].s.flags & SF_LATE) != 0, found.v[i].s.t_ns > SECONDS(1000));
	free(found.v);
	world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(continues_where_it_stopped),
		cmocka_unit_test(whole_file),
		cmocka_unit_test(rows_that_wait_are_late_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
