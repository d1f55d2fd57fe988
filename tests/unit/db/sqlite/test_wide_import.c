/*
 * Wide rows of version 8 become blocks: each value once, with its own flags, source and window,
 * also when the program is ended again and again in the middle, and while new samples are stored.
 */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

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

/* ---- kill -9 ------------------------------------------------------------- */

static uint64_t chance_state = 8;

static uint64_t chance(uint64_t below)
{
	chance_state ^= chance_state << 13;
	chance_state ^= chance_state >> 7;
	chance_state ^= chance_state << 17;
	return (chance_state >> 11) % below;
}

#define BATCH_SAMPLES 3
#define MOST_BATCHES 20 /* of one life */
/* New samples lie a second after an old one, and tell their batch. */
#define NEW_VALUE(batch, k) ((uint64_t)(batch)*10 + (k) + 1)

struct killed {
	struct db_world world;
	struct record_entity names[5];
};

/* One value between those that are still to be moved, and two that are newer. */
static int killed_batch(struct store_writer *writer, uint32_t batch)
{
	const struct sample v[BATCH_SAMPLES] = {
		sample_at(SECONDS(batch * 10 + 1), 2, M_PORT_IN_OCTETS, NEW_VALUE(batch, 0), 0),
		sample_at(SECONDS(5400 + batch * 10 + 1), 2, M_PORT_IN_OCTETS, NEW_VALUE(batch, 1),
			0),
		sample_at(
			SECONDS(5400 + batch * 10 + 1), 5, M_PFC_RX_FRAMES, NEW_VALUE(batch, 2), 0),
	};
	int rc = writer_begin(writer);

	if (rc == SQLITE_OK)
		rc = writer_samples(writer, v, rw_countof(v));
	if (rc == SQLITE_OK)
		rc = writer_commit(writer);
	return rc;
}

/* What the child does until it is killed: it moves old rows, step by step, and stores new ones. */
static void killed_write(const struct killed *k, uint32_t batch, int fd)
{
	struct store_writer *writer = part_open(&k->world);
	const uint32_t pause_at = batch + MOST_BATCHES; /* whoever kills it may be slow */
	bool more = true;

	writer_note_names(writer, k->names, rw_countof(k->names));
	for (; more; batch++) {
		chance_state += batch;
		for (uint64_t i = chance(30); i > 0 && more; i--)
			if (writer_compact(writer, 0, 0, &more) != SQLITE_OK)
				_exit(1);
		if (!more)
			break;
		if (killed_batch(writer, batch) != SQLITE_OK)
			_exit(1);
		if (write(fd, &batch, sizeof(batch)) != sizeof(batch))
			_exit(1);
		while (batch == pause_at)
			pause();
	}
	writer_close(writer);
	_exit(0);
}

/* Kills it after some batches and a little more. *last: the newest batch that was committed.
 * Returns false when it came to its end before. */
static bool killed_once(const struct killed *k, uint32_t *last)
{
	int fds[2], status;

	assert_int_equal(pipe(fds), 0);
	const pid_t pid = fork();
	if (pid == 0) {
		close(fds[0]);
		killed_write(k, *last + 1, fds[1]);
	}
	close(fds[1]);
	for (uint64_t i = 1 + chance(12); i > 0; i--)
		if (read(fds[0], last, sizeof(*last)) != sizeof(*last))
			break;
	usleep((useconds_t)chance(3000));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	while (read(fds[0], last, sizeof(*last)) == sizeof(*last)) {
	}
	close(fds[0]);
	if (WIFEXITED(status))
		assert_int_equal(WEXITSTATUS(status), 0);
	return WIFSIGNALED(status);
}

struct told { /* what a reader is told */
	size_t n, fresh;
	struct sample last;
};

static int told_sample(void *arg, const struct sample *sample)
{
	struct told *told = arg;
	const struct sample *last = &told->last;

	if (told->n > 0)
		assert_true(last->t_ns < sample->t_ns ||
			(last->t_ns == sample->t_ns &&
				(last->entity < sample->entity ||
					(last->entity == sample->entity &&
						last->metric < sample->metric))));
	told->last = *sample;
	told->n++;
	told->fresh += sample->t_ns % (10 * NS_PER_S) != 0;
	return 0;
}

/* Values in rows that are still to be moved. */
static size_t killed_waiting(const struct killed *k)
{
	static const struct {
		const char *table, *count;
	} rows[] = {
		{"wide_port", "count(port_in_octets)+count(optic_rx_power_dbm)"},
		{"wide_lanes",
			"count(pfc_rx_frames_p3)+count(cfg_ecn_kmin_bytes_p3)+"
			"count(pfc_rx_frames_p4)+count(queue_watermark_bytes_p4)"},
		{"wide_priority", "count(pfc_rx_frames)"},
	};
	size_t n = 0;

	for (size_t i = 0; i < rw_countof(rows); i++) {
		char sql[256];
		snprintf(sql, sizeof(sql), "SELECT count(*) FROM sqlite_master WHERE name='%s'",
			rows[i].table);
		if (world_int(&k->world, sql) == 0)
			continue;
		snprintf(sql, sizeof(sql), "SELECT %s FROM %s WHERE entity<>99", rows[i].count,
			rows[i].table);
		n += (size_t)world_int(&k->world, sql);
	}
	return n;
}

/* An old sample waits in its row, or a reader has it; a new one is there at once; each once. *last
 * may turn out to be one more than was heard of. */
static void killed_reader(const struct killed *k, uint32_t *last)
{
	struct history *history;
	struct told told = {0};
	struct err e = {0};

	if (db_history_open(k->world.path, &history, &e) < 0)
		fail_msg("%s", e.text);
	if (history_each_sample(history, NULL, told_sample, &told, &e) < 0)
		fail_msg("%s", e.text);
	history_close(history);
	if (told.fresh == (*last + 1) * (size_t)BATCH_SAMPLES)
		++*last;
	assert_int_equal(told.fresh, *last * (size_t)BATCH_SAMPLES);
	assert_int_equal(told.n - told.fresh + killed_waiting(k), N_SAMPLES);
}

/* Each value of each batch, once. */
static void killed_check(const struct killed *k, uint32_t last)
{
	struct file_samples found = file_samples_read(k->world.path);
	rw_cleanup(freep) uint8_t *seen = rw_calloc(NEW_VALUE(last + 1, 0), 1);
	size_t n = 0;

	for (size_t i = 0; i < found.n; i++) {
		const struct block_sample *s = &found.v[i].s;
		if (s->t_ns % (10 * NS_PER_S) == 0)
			continue;
		assert_in_range(s->value, NEW_VALUE(1, 0), NEW_VALUE(last, BATCH_SAMPLES - 1));
		n += !seen[s->value];
		seen[s->value] = 1;
		assert_int_equal(s->t_ns % (10 * NS_PER_S), NS_PER_S);
	}
	assert_int_equal(n, last * (size_t)BATCH_SAMPLES);
	free(found.v);
}

static void killed_at_any_moment(void **state)
{
	struct killed k = {
		.names = {{.id = 1, .owner = 1, .priority = -1, .device = "leaf1", .port = ""},
			{.id = 2, .owner = 1, .priority = -1, .device = "leaf1", .port = "a"},
			{.id = 3, .owner = 3, .priority = -1, .device = "leaf3", .port = ""},
			{.id = 4, .owner = 3, .priority = -1, .device = "leaf3", .port = "z"},
			{.id = 5,
				.parent = 4,
				.owner = 3,
				.priority = 3,
				.device = "leaf3",
				.port = "z"}}};
	uint32_t last = 0;
	int under_way = 0;

	world_init(&k.world);
	world_exec(&k.world, frozen_8);
	world_exec(&k.world, rest_8);
	while (killed_once(&k, &last)) {
		under_way += world_int(&k.world,
				     "SELECT count(*) FROM sqlite_master WHERE name='instant' OR "
				     "name LIKE 'wide%'") > 0;
		killed_reader(&k, &last);
		assert_in_range(last, 0, N_INSTANTS - 1);
		chance_state += last;
	}
	print_message("killed %d times, %u batches came meanwhile\n", under_way, last);
	assert_true(under_way >= 5);
	assert_true(last >= 20);
	struct store_writer *writer = part_open(&k.world);
	bool more = true;
	while (more)
		assert_int_equal(writer_compact(writer, INT64_MAX, INT64_MAX, &more), SQLITE_OK);
	writer_close(writer);
	killed_check(&k, last);
	check_samples(&k.world, last * (size_t)BATCH_SAMPLES);
	world_done(&k.world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(continues_where_it_stopped),
		cmocka_unit_test(whole_file),
		cmocka_unit_test(rows_that_wait_are_late_too),
		cmocka_unit_test(killed_at_any_moment),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
