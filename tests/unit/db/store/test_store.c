/* The store: what is committed and when, merging, a disk that refuses, two writers, kill -9,
 * retention, foreign and damaged files. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "db/block/block_codec.h"
#include "db/open.h"
#include "tests/deadline.h"
#include "tests/patience.h"
#include "tests/unit/db/db_world.h"

#include "base/arena.h"
#include "base/log.h"
#include "base/str.h"
#include "db/series/history.h"
#include "db/sqlite/admin.h"
#include "db/sqlite/sqlite.h"
#include "db/store/store.h"
#include "db/store/store_backend.h"
#include "tests/faults/fault_vfs.h"

#define DEADLINE_NS patience_ns(60 * NS_PER_S)
#define NOTICE_NS patience_ns(5 * NS_PER_S) /* what is looked for after each commit */

struct rig {
	struct db_world world;
	struct entities *entities;
	struct store *store;
	uint32_t port;
};

static void rig_init(struct rig *r, bool replay)
{
	struct err e = {0};

	world_init(&r->world);
	r->entities = entities_new();
	struct store_options o = {.path = r->world.path, .replay = replay};
	if (db_store_open(&o, r->entities, &r->store, &e) < 0)
		fail_msg("%s", e.text);
	r->port = entities_intern(r->entities, "leaf1", "swp1", PRIO_NONE);
}

static void rig_done(struct rig *r)
{
	store_close(r->store);
	entities_free(r->entities);
	world_done(&r->world);
}

static void give(struct rig *r, int second, unsigned metric, uint64_t value, unsigned flags)
{
	struct sample s = sample_at(SECONDS(second), r->port, metric, value, flags);

	store_samples(r->store, &s, 1);
}

static int flush_of(struct store *store, struct err *e)
{
	deadline_begin("store_flush(): that what was given is committed or told as failed");
	const int r = store_flush(store, e);
	deadline_end();
	return r;
}

static void flush(struct rig *r)
{
	struct err e = {0};

	if (flush_of(r->store, &e) < 0)
		fail_msg("%s", e.text);
}

static struct store_stats stats(struct rig *r)
{
	struct store_stats s;

	store_stats(r->store, &s);
	return s;
}

static void commits_by_itself(void **state)
{
	struct rig r;
	struct stat st;

	rig_init(&r, false);
	assert_int_equal(stat(r.world.path, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0640);
	give(&r, 0, M_PORT_IN_OCTETS, 1, 0);
	mono_t began = mono_now();
	while (stats(&r).samples == 0 && mono_now().ns - began.ns < DEADLINE_NS)
		poll(NULL, 0, 2);
	assert_int_equal(stats(&r).samples, 1);
	assert_int_equal(stats(&r).commits, 1);
	assert_true(stats(&r).last_commit_ns > 0);
	assert_int_equal(world_int(&r.world, "SELECT count(*) FROM samples"), 1);
	rig_done(&r);
}

/* A stream that never pauses is committed all the same. */
static void commits_under_way(void **state)
{
	struct rig r;
	mono_t began = mono_now();
	int i = 0;

	rig_init(&r, false);
	while (stats(&r).commits == 0 && mono_now().ns - began.ns < DEADLINE_NS) {
		give(&r, i++, M_PORT_IN_OCTETS, 1, 0);
		poll(NULL, 0, 5);
	}
	assert_true(stats(&r).commits > 0);
	rig_done(&r);
}

static void close_commits(void **state)
{
	struct rig r;

	rig_init(&r, false);
	give(&r, 0, M_PORT_IN_OCTETS, 1, 0);
	store_close(r.store);
	assert_int_equal(world_int(&r.world, "SELECT count(*) FROM samples"), 1);
	assert_int_equal(db_writer_pid(r.world.path), 0);
	entities_free(r.entities);
	world_done(&r.world);
}

static void values_are_exact(void **state)
{
	struct rig r;
	static const uint64_t values[] = {
		0, 1, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX, (UINT64_C(1) << 53) + 1};
	struct history *d;
	const uint16_t metric = M_PORT_IN_OCTETS;
	struct window_spec spec = {.metrics = &metric, .n_metrics = 1};

	rig_init(&r, true);
	for (int i = 0; i < 6; i++)
		give(&r, i, M_PORT_IN_OCTETS, values[i], 0);
	/* not a value: not stored, and no harm to the others */
	give(&r, 9, M_OPTIC_RX_POWER, sample_of_f64(NAN), 0);
	give(&r, 9, M_PORT_IN_OCTETS, 9, 0);
	flush(&r);
	assert_int_equal(db_history_open(r.world.path, &d, NULL), 0);
	struct arena *a = arena_new();
	struct window w;
	assert_int_equal(history_window(d, a, &spec, SECONDS(-1), SECONDS(8), &w, NULL), 0);
	assert_int_equal(w.series[0].n, 6);
	for (int i = 0; i < 6; i++)
		assert_true(w.series[0].value[i] == values[i]);
	arena_free(a);
	history_close(d);
	assert_int_equal(world_int(&r.world, "SELECT count(*) FROM samples"), 7);
	assert_int_equal(world_int(&r.world,
				 "SELECT value=18446744073709551615.0 FROM samples WHERE "
				 "t_ns=1700000004000000000"),
		1);
	rig_done(&r);
}

static void pieces_merge(void **state)
{
	struct rig r;

	rig_init(&r, true);
	give(&r, 0, M_PORT_IN_OCTETS, 1, 0);
	flush(&r);
	give(&r, 0, M_PORT_OUT_OCTETS, 2, 0);
	flush(&r);
	give(&r, 0, M_PORT_IN_ERRORS, 3, SF_RESTART);
	give(&r, 0, M_PORT_IN_OCTETS, 99, 0); /* the first one stands */
	flush(&r);
	assert_int_equal(world_int(&r.world, "SELECT count(*) FROM samples"), 3);
	assert_int_equal(
		world_int(&r.world, "SELECT value FROM samples WHERE metric='port.in_octets'"), 1);
	assert_int_equal(
		world_int(&r.world,
			"SELECT value FROM samples WHERE metric='port.out_octets' AND flags=''"),
		2);
	assert_int_equal(world_int(&r.world,
				 "SELECT value FROM samples WHERE metric='port.in_errors' AND "
				 "flags='restart'"),
		3);
	rig_done(&r);
}

static void names_survive(void **state)
{
	struct rig r;
	struct err e = {0};

	rig_init(&r, false);
	give(&r, 0, M_CFG_TRUST, entities_text(r.entities, "dscp"), 0);
	struct sample s = sample_at(
		SECONDS(0), entities_intern(r.entities, "leaf1", "swp1", 3), M_PFC_RX_FRAMES, 5, 0);
	store_samples(r.store, &s, 1);
	store_close(r.store);
	struct entities *again = entities_new();
	struct store_options o = {.path = r.world.path};
	assert_int_equal(db_store_open(&o, again, &r.store, &e), 0);
	assert_int_equal(entities_count(again), 0); /* however many the file has */
	entities_free(r.entities);
	r.entities = again;
	/* other ids in memory; in the file, the numbers that it has */
	s.entity = entities_intern(again, "leaf2", "swp7", PRIO_NONE);
	s.metric = M_PORT_IN_OCTETS;
	store_samples(r.store, &s, 1);
	r.port = entities_intern(again, "leaf1", "swp1", PRIO_NONE);
	entities_text(again, "pcp");
	give(&r, 1, M_CFG_TRUST, entities_text(again, "dscp"), 0);
	s.entity = entities_intern(again, "leaf1", "swp1", 3);
	s.metric = M_PFC_RX_FRAMES;
	s.t_ns = SECONDS(1);
	store_samples(r.store, &s, 1);
	flush(&r);
	assert_int_equal(world_int(&r.world, "SELECT count(*) FROM entity"), 5);
	assert_int_equal(world_int(&r.world, "SELECT count(*) FROM text"), 1);
	assert_int_equal(world_int(&r.world, "SELECT count(*) FROM series"), 3);
	assert_int_equal(world_int(&r.world,
				 "SELECT count(*) FROM samples WHERE metric='cfg.trust' AND "
				 "value='dscp' AND port='swp1'"),
		2);
	assert_int_equal(world_int(&r.world,
				 "SELECT count(*) FROM samples WHERE metric='pfc.rx_frames' AND "
				 "priority=3"),
		2);
	assert_int_equal(
		world_int(&r.world,
			"SELECT count(*) FROM samples WHERE device='leaf2' AND port='swp7'"),
		1);
	rig_done(&r);
}

static void attributes_and_documents(void **state)
{
	struct rig r;

	rig_init(&r, false);
	store_fabric(r.store, SECONDS(0), "fabric: a\n");
	store_fabric(r.store, SECONDS(1), "fabric: a\n"); /* equal: not again */
	store_fabric(r.store, SECONDS(2), "fabric: b\n");
	store_device(r.store,
		&(struct store_device){.name = "leaf1", .role = "leaf", .t_ns = SECONDS(0)});
	/* the role is kept */
	store_device(r.store,
		&(struct store_device){.name = "leaf1", .profile = "generic", .t_ns = SECONDS(1)});
	/* nothing new */
	store_device(r.store,
		&(struct store_device){
			.name = "leaf1", .role = "leaf", .profile = "generic", .t_ns = SECONDS(2)});
	store_port(r.store,
		&(struct store_port){.device = "leaf1",
			.port = "swp1",
			.alias = "up 1",
			.speed_bps = 400,
			.t_ns = SECONDS(0)});
	store_port(r.store,
		&(struct store_port){.device = "leaf1",
			.port = "swp1",
			.peer_device = "spine1",
			.peer_port = "swp9",
			.t_ns = SECONDS(1)});
	store_port(r.store,
		&(struct store_port){
			.device = "leaf1", .port = "swp1", .alias = "up 1", .t_ns = SECONDS(2)});
	struct store_incident i = {.id = "ABCDEFGH",
		.cause = "ecmp_imbalance",
		.severity = "warning",
		.state = "open",
		.device = "leaf1",
		.group = "uplinks",
		.summary = "s",
		.json = "{}",
		.priority = PRIO_NONE,
		.opened_ns = SECONDS(3),
		.usd_per_hour = NAN,
		.usd_total = 1.5,
		.confidence = 0.9};
	store_incident(r.store, &i);
	i.state = "closed";
	i.closed_ns = SECONDS(9);
	i.acked_by = "ann";
	store_incident(r.store, &i);
	store_event(r.store, SECONDS(3), "opened", "ABCDEFGH", NULL, "it began");
	store_device_event(r.store, SECONDS(4), "link_down", "leaf1", "swp1", "linkDown");
	store_device_event(r.store, SECONDS(5), "device_restart", "leaf1", NULL, "it restarted");
	store_target(r.store,
		&(struct store_target){.device = "leaf1",
			.protocol = "snmp",
			.state = "up",
			.reason = "",
			.up = true,
			.poll_p50_s = 0.5,
			.poll_p95_s = NAN,
			.values = 7});
	store_target(r.store,
		&(struct store_target){
			.device = "leaf9", .protocol = "snmp", .state = "up", .up = true});
	store_targets_gone(r.store, "leaf9", "snmp");
	flush(&r);
	static const struct {
		const char *sql;
		int64_t expect;
	} rows[] = {
		{"SELECT count(*) FROM config_history", 2},
		{"SELECT count(*) FROM device_attr", 2},
		{"SELECT role='leaf' AND profile='generic' AND up=1 AND value_count=7 AND "
		 "poll_p95_s IS NULL FROM devices WHERE device='leaf1'",
			1},
		{"SELECT count(*) FROM devices", 1},
		{"SELECT count(*) FROM port_attr", 2},
		{"SELECT alias='up 1' AND peer_device='spine1' AND peer_port='swp9' AND "
		 "speed_bps=400 FROM ports",
			1},
		{"SELECT count(*) FROM links WHERE peer_device='spine1'", 1},
		{"SELECT count(*) FROM incidents", 1},
		{"SELECT state='closed' AND acked_by='ann' AND usd_per_hour IS NULL AND "
		 "usd_total=1.5 AND priority IS NULL AND ecmp_group='uplinks' FROM incidents",
			1},
		{"SELECT count(*) FROM events WHERE kind='opened' AND who IS NULL", 1},
		{"SELECT count(*) FROM events WHERE kind='link_down' AND device='leaf1' AND "
		 "port='swp1' AND text='linkDown' AND who IS NULL",
			1},
		{"SELECT count(*) FROM events WHERE kind='device_restart' AND device='leaf1' AND "
		 "port IS NULL",
			1},
		{"SELECT count(*) FROM recommendations", 0},
	};
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++)
		if (world_int(&r.world, rows[k].sql) != rows[k].expect)
			fail_msg("%s", rows[k].sql);
	struct history *d;
	static const struct {
		double at;
		const char *yaml;
	} asked[] = {{-5, "fabric: a\n"}, {0, "fabric: a\n"}, {1.5, "fabric: a\n"},
		{2, "fabric: b\n"}, {99, "fabric: b\n"}};
	assert_int_equal(db_history_open(r.world.path, &d, NULL), 0);
	for (size_t k = 0; k < 5; k++) {
		char *yaml;
		assert_int_equal(history_fabric_at(d, SECONDS(asked[k].at), &yaml, NULL), 0);
		assert_string_equal(yaml, asked[k].yaml);
		free(yaml);
	}
	history_close(d);
	rig_done(&r);
}

/* The newest snapshot, whole; while the disk refuses, snapshots do not pile up. */
static void health_is_a_snapshot(void **state)
{
	struct rig r;
	const struct store_health first[] = {{"process/rss_bytes", "bytes", 1e9},
		{"target/gone/snmp/varbinds", "", 7}},
				  second[] = {{"process/rss_bytes", "bytes", 2e9},
					  {"process/age_s", "s", NAN}};

	rig_init(&r, false);
	store_health(r.store, SECONDS(0), first, 2);
	flush(&r);
	assert_int_equal(
		world_int(&r.world, "SELECT count(*) FROM health WHERE unit<>'' AND value=1e9"), 1);
	fault_vfs_set(SQLITE_FULL);
	for (int i = 1; i <= 100; i++)
		store_health(r.store, SECONDS(i), second, 2);
	fault_vfs_set(SQLITE_OK);
	flush(&r);
	store_health(r.store, SECONDS(101), second, 2);
	flush(&r);
	assert_int_equal(world_int(&r.world, "SELECT count(*) FROM health"), 2);
	assert_int_equal(world_int(&r.world,
				 "SELECT value=2e9 AND t_ns=1700000101000000000 FROM health WHERE "
				 "key='process/rss_bytes'"),
		1);
	assert_int_equal(
		world_int(&r.world, "SELECT value IS NULL FROM health WHERE key='process/age_s'"),
		1);
	store_health(r.store, SECONDS(102), NULL, 0);
	flush(&r);
	assert_int_equal(world_int(&r.world, "SELECT count(*) FROM health"), 0);
	rig_done(&r);
}

static void one_writer(void **state)
{
	struct rig r;
	struct store *second;
	struct err e = {0};
	char pid[32];

	rig_init(&r, false);
	struct entities *other = entities_new();
	struct store_options o = {.path = r.world.path};
	snprintf(pid, sizeof(pid), "pid %d", (int)getpid());
	assert_int_equal(db_store_open(&o, other, &second, &e), -EBUSY);
	if (!strstr(e.text, pid))
		fail_msg("%s", e.text);
	assert_int_equal(db_vacuum(r.world.path, &e), -EBUSY);
	assert_int_equal(db_writer_pid(r.world.path), getpid());
	entities_free(other);
	rig_done(&r);
}

/* ---- the disk refuses ---------------------------------------------------- */

static void full_disk_keeps_batches(void **state)
{
	static const int codes[] = {SQLITE_FULL, SQLITE_IOERR_WRITE};

	for (size_t k = 0; k < 2; k++) {
		struct rig r;
		struct err e = {0};
		rig_init(&r, false);
		give(&r, 0, M_PORT_IN_OCTETS, 1, 0);
		flush(&r);
		fault_vfs_set(codes[k]);
		for (int i = 1; i <= 20; i++)
			give(&r, i, M_PORT_IN_OCTETS, (uint64_t)i, 0);
		assert_int_equal(flush_of(r.store, &e), codes[k] == SQLITE_FULL ? -ENOSPC : -EIO);
		if (!strstr(e.text, r.world.path))
			fail_msg("%s", e.text);
		assert_int_equal(stats(&r).pending, 20);
		assert_true(stats(&r).errors > 0);
		assert_int_equal(stats(&r).dropped, 0);
		fault_vfs_set(SQLITE_OK);
		/* by itself, without being asked */
		mono_t began = mono_now();
		while (stats(&r).pending > 0 && mono_now().ns - began.ns < DEADLINE_NS)
			poll(NULL, 0, 5);
		assert_int_equal(stats(&r).pending, 0);
		assert_int_equal(stats(&r).samples, 21);
		assert_int_equal(world_int(&r.world, "SELECT count(*) FROM samples"), 21);
		assert_int_equal(world_int(&r.world, "SELECT count(*) FROM series"), 1);
		rig_done(&r);
	}
}

/* The N-th write fails, for every N: nothing is lost, nothing is there twice. */
static void every_write_fails_once(void **state)
{
	bool failed = true;
	int64_t n;

	for (n = 1; failed; n++) {
		struct rig r;
		rig_init(&r, true);
		struct sample v[50];
		for (int i = 0; i < 50; i++)
			v[i] = sample_at(SECONDS(i),
				entities_intern(
					r.entities, "leaf1", i % 2 ? "swp1" : "swp2", i % 8),
				M_PFC_RX_FRAMES, (uint64_t)i, 0);
		fault_vfs_after(n, SQLITE_FULL);
		store_samples(r.store, v, 50);
		store_event(r.store, SECONDS(0), "k", NULL, NULL, NULL);
		failed = flush_of(r.store, NULL) < 0;
		fault_vfs_set(SQLITE_OK);
		flush(&r);
		if (world_int(&r.world, "SELECT count(*) FROM samples") != 50 ||
			world_int(&r.world, "SELECT count(*) FROM series") != 8 ||
			world_int(&r.world, "SELECT count(*) FROM entity") != 11 ||
			world_int(&r.world, "SELECT count(*) FROM events") != 1)
			fail_msg("after write %lld failed", (long long)n);
		rig_done(&r);
	}
	assert_true(n > 5);
}

/* A transaction that is rolled back while it is open takes its names, its series and its texts with
 * it, and the next one writes them again: what the file does not have is not believed to be there.
 */
static void rolled_back_names_are_written_again(void **state)
{
	struct rig r;
	struct err e = {0};
	rig_init(&r, true);
	give(&r, 0, M_PORT_IN_OCTETS, 1, 0);
	give(&r, 0, M_CFG_TRUST, entities_text(r.entities, "dscp"), 0);
	store_alert(r.store, &(struct store_alert){.receiver = "noc"}); /* of no incident */
	assert_true(flush_of(r.store, &e) < 0);
	flush(&r); /* that row is left out */
	give(&r, 1, M_PORT_IN_OCTETS, 2, 0);
	flush(&r);
	assert_int_equal(
		world_int(&r.world, "SELECT count(*) FROM samples WHERE device='leaf1'"), 3);
	assert_int_equal(world_int(&r.world, "SELECT count(*) FROM entity WHERE port='swp1'"), 1);
	assert_int_equal(world_int(&r.world, "SELECT count(*) FROM series"), 2);
	assert_int_equal(world_int(&r.world, "SELECT count(*) FROM text WHERE text='dscp'"), 1);
	rig_done(&r);
}

/* The file itself cannot be written while its log can: commits go on, and the growing log is known.
 */
static void checkpoint_fails(void **state)
{
	enum { INSTANTS = 400, PORTS = 40 };
	struct rig r;
	struct sample v[PORTS];
	static char text[16000];

	memset(text, 'x', sizeof(text) - 1);

	rig_init(&r, false);
	fault_vfs_main(SQLITE_IOERR_WRITE);
	for (int i = 0; i < INSTANTS; i++) {
		for (int k = 0; k < PORTS; k++) {
			char port[16];
			snprintf(port, sizeof(port), "swp%d", k);
			v[k] = sample_at(SECONDS(i),
				entities_intern(r.entities, "leaf1", port, PRIO_NONE),
				M_PORT_IN_OCTETS, (uint64_t)i << 32, 0);
		}
		store_samples(r.store, v, PORTS);
		store_event(r.store, SECONDS(i), "fills", NULL, NULL, text);
		flush(&r); /* each commit puts some pages into the log */
	}
	mono_t began = mono_now();
	while (!stats(&r).log_stuck && mono_now().ns - began.ns < DEADLINE_NS)
		poll(NULL, 0, 5);
	assert_true(stats(&r).log_stuck);
	assert_true(stats(&r).log_errors > 0);
	assert_int_equal(stats(&r).errors, 0); /* nothing is lost */
	fault_vfs_main(SQLITE_OK);
	give(&r, INSTANTS, M_PORT_IN_OCTETS, 1, 0);
	flush(&r);
	began = mono_now();
	while (stats(&r).log_stuck && mono_now().ns - began.ns < DEADLINE_NS)
		poll(NULL, 0, 5);
	assert_false(stats(&r).log_stuck);
	assert_int_equal(world_int(&r.world, "SELECT count(*) FROM samples"), INSTANTS * PORTS + 1);
	rig_done(&r);
}

static void give_incident(struct rig *r, const char *id, char *json, size_t n)
{
	const struct store_incident incident = {
		.id = id, .state = "open", .json = json, .priority = PRIO_NONE};

	memset(json, 'j', n);
	json[n] = '\0';
	store_incident(r->store, &incident);
}

/*
 * SQLite reports that the COMMIT failed (it needs one more page of the log's index than it can
 * get), although the log has the whole transaction. Whoever opens the file next finds it there.
 * What the store then writes again, because it was refused, is not there twice.
 */
static void refused_commit_came_through(void **state)
{
	enum { INDEX_FRAMES = 4062, PAGE_BYTES = 8192 }; /* frames of the first page of the index */
	const struct fault_plan plan = {.ops = FAULT_BIT(FAULT_SHM_MAP) | FAULT_BIT(FAULT_SYNC),
		.rc = SQLITE_IOERR_SHMMAP,
		.first = 1,
		.times = INT64_MAX};
	const size_t n = 3800 * PAGE_BYTES; /* fits the cache: written by the COMMIT */
	rw_cleanup(freep) char *json = rw_realloc(NULL, n + 1);
	struct rig r;

	rig_init(&r, true);
	give_incident(&r, "AAAAAAAA", json, (INDEX_FRAMES - 3700) * PAGE_BYTES);
	flush(&r);
	fault_vfs_plan(&plan);
	give_incident(&r, "BBBBBBBB", json, n);
	store_event(r.store, SECONDS(0), "k", NULL, NULL, "once");
	for (int i = 0; i < 3; i++) /* then the connection is closed, and its log stays */
		assert_int_equal(flush_of(r.store, NULL), -EIO);
	fault_vfs_plan(NULL);
	assert_int_equal(world_int(&r.world, "SELECT count(*) FROM event WHERE text='once'"), 1);
	flush(&r);
	assert_int_equal(world_int(&r.world, "SELECT count(*) FROM event WHERE text='once'"), 1);
	assert_int_equal(world_int(&r.world, "SELECT count(*) FROM incident"), 2);
	rig_done(&r);
}

/* Until the writer has noticed, which it does with a commit. */
static void wait_rescued(struct rig *r, uint64_t times)
{
	const int64_t until_ns = mono_now().ns + NOTICE_NS;
	while (stats(r).rescued < times && mono_now().ns < until_ns)
		poll(NULL, 0, 5);
	if (stats(r).rescued != times)
		fail_msg("the deleted file was put back %llu times, not %llu",
			(unsigned long long)stats(r).rescued, (unsigned long long)times);
}

static void wait_misplaced(struct rig *r)
{
	const int64_t until_ns = mono_now().ns + NOTICE_NS;
	while (!stats(r).misplaced && mono_now().ns < until_ns)
		poll(NULL, 0, 5);
	if (!stats(r).misplaced)
		fail_msg("the store never noticed that another file stands in its place");
}

/* Somebody removes the file: all that was committed comes back, and so does what follows. */
static void deleted_file_comes_back(void **state)
{
	struct rig r;
	struct db_world aside;

	rig_init(&r, false);
	for (int round = 1; round <= 2; round++) {
		for (int i = 0; i < 10; i++) {
			give(&r, 100 * round + i, M_PORT_IN_OCTETS, (uint64_t)i, 0);
			flush(&r);
		}
		assert_int_equal(unlink(r.world.path), 0);
		if (round == 2) { /* its log and its lock, too */
			char name[sizeof(aside.path) + 8];
			static const char *const suffixes[] = {"-wal", "-shm", ".lock"};
			for (size_t k = 0; k < 3; k++) {
				snprintf(name, sizeof(name), "%s%s", r.world.path, suffixes[k]);
				unlink(name);
			}
		}
		give(&r, 100 * round + 10, M_PORT_IN_OCTETS, 10, 0);
		flush(&r);
		wait_rescued(&r, (uint64_t)round);
		give(&r, 100 * round + 11, M_PORT_OUT_OCTETS, 11, 0);
		flush(&r);
		assert_int_equal(world_int(&r.world, "SELECT count(*) FROM samples"), 12 * round);
		assert_int_equal(world_int(&r.world,
					 "SELECT count(*) FROM events WHERE kind='store_rescued'"),
			round);
		struct store *second;
		struct err e = {0};
		struct entities *other = entities_new();
		const struct store_options o = {.path = r.world.path};
		assert_int_equal(db_store_open(&o, other, &second, &e), -EBUSY);
		entities_free(other);
	}
	assert_int_equal(stats(&r).errors, 0);
	rig_done(&r);
}

/* Another file in its place is not touched; once it is gone, history is back. */
static void replaced_file_is_left_alone(void **state)
{
	static const char text[] = "not a database";
	struct rig r;
	char read_back[sizeof(text)] = "";

	rig_init(&r, false);
	give(&r, 0, M_PORT_IN_OCTETS, 1, 0);
	flush(&r);
	assert_int_equal(unlink(r.world.path), 0);
	FILE *file = fopen(r.world.path, "w");
	fwrite(text, 1, sizeof(text), file);
	fclose(file);
	give(&r, 1, M_PORT_IN_OCTETS, 2, 0);
	flush(&r);
	wait_misplaced(&r);
	file = fopen(r.world.path, "r");
	assert_int_equal(fread(read_back, 1, sizeof(text), file), sizeof(text));
	fclose(file);
	assert_string_equal(read_back, text);
	assert_int_equal(unlink(r.world.path), 0);
	give(&r, 2, M_PORT_IN_OCTETS, 3, 0);
	flush(&r);
	wait_rescued(&r, 1);
	assert_int_equal(world_int(&r.world, "SELECT count(*) FROM samples"), 3);
	rig_done(&r);
}

/* A symbolic link leads to the same lock. */
static void link_is_locked(void **state)
{
	struct rig r;
	struct store *second;
	struct err e = {0};
	char name[sizeof(r.world.path) + 8];

	rig_init(&r, false);
	snprintf(name, sizeof(name), "%s.link", r.world.path);
	assert_int_equal(symlink(r.world.path, name), 0);
	struct entities *other = entities_new();
	struct store_options o = {.path = name};
	assert_int_equal(db_store_open(&o, other, &second, &e), -EBUSY);
	assert_int_equal(db_writer_pid(name), getpid());
	unlink(name);
	entities_free(other);
	rig_done(&r);
}

/* One sample of port.in_octets, as the writer would have stored it. */
static void put_tail_row(
	const struct db_world *w, int64_t device, const struct block_sample *sample)
{
	const struct tail_segment part = {
		.metric = world_int(w, "SELECT id FROM metric_name WHERE name='port.in_octets'"),
		.samples = sample,
		.n = 1};
	rw_cleanup(str_done) struct str data = {0};
	sqlite3 *db;
	sqlite3_stmt *st;

	assert_int_equal(tail_encode(&part, 1, &data), 0);
	assert_int_equal(sqlite3_open(w->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db,
				 "INSERT INTO tail(device, from_ns, to_ns, n, metrics, data) "
				 "VALUES(?1, ?2, ?2, 1, x'', ?3)",
				 -1, &st, NULL),
		SQLITE_OK);
	sqlite3_bind_int64(st, 1, device);
	sqlite3_bind_int64(st, 2, sample->t_ns);
	sqlite3_bind_blob64(st, 3, data.s, data.n, SQLITE_STATIC);
	assert_int_equal(sqlite3_step(st), SQLITE_DONE);
	sqlite3_finalize(st);
	sqlite3_close(db);
}

/* A file into which a switch has put more names than ids can hold opens, and is written. */
static void name_beyond_all_ids(void **state)
{
	struct rig r;
	struct err e = {0};

	rig_init(&r, false);
	give(&r, 0, M_PORT_IN_OCTETS, 1, 0);
	flush(&r);
	store_close(r.store);
	entities_free(r.entities);
	/* older releases took such a file for damaged; it has samples, too */
	world_exec(&r.world,
		"INSERT INTO entity(id, device, port, priority) VALUES(16777215, 'evil', 'a', -1), "
		"(16777217, 'evil', 'b', -1), (5000000000, 'evil', 'c', -1), "
		"(9000000000000000000, 'evil', '', -1); "
		"INSERT INTO series VALUES(5000000000, 'port.in_octets', 0)");
	put_tail_row(&r.world, INT64_C(9000000000000000000),
		&(struct block_sample){.entity = INT64_C(5000000000),
			.t_ns = SECONDS(0),
			.value = 77,
			.source = SOURCE_SNMP});
	r.entities = entities_new();
	const struct store_options o = {.path = r.world.path};
	if (db_store_open(&o, r.entities, &r.store, &e) < 0)
		fail_msg("%s", e.text);
	r.port = entities_intern(r.entities, "leaf1", "swp1", PRIO_NONE);
	give(&r, 1, M_PORT_IN_OCTETS, 2, 0);
	/* a new name gets a number above all of them, and one more after it */
	r.port = entities_intern(r.entities, "leaf2", "swp1", 3);
	give(&r, 1, M_PFC_RX_FRAMES, 3, 0);
	r.port = entities_intern(r.entities, "evil", "c", PRIO_NONE);
	give(&r, 1, M_PORT_IN_OCTETS, 78, 0);
	flush(&r);
	assert_int_equal(world_int(&r.world, "SELECT count(*) FROM samples"), 5);
	assert_int_equal(world_int(&r.world,
				 "SELECT count(*) FROM samples WHERE device='evil' AND port='c' "
				 "AND value IN (77, 78)"),
		2);
	assert_int_equal(
		world_int(&r.world, "SELECT count(*) FROM entity WHERE id>9000000000000000000"), 3);
	/* and the reader of windows sees all of it */
	struct history *history;
	struct window window;
	struct arena *a = arena_new();
	const uint16_t metrics[] = {M_PORT_IN_OCTETS, M_PFC_RX_FRAMES};
	const struct window_spec spec = {.metrics = metrics, .n_metrics = 2};
	assert_int_equal(db_history_open(r.world.path, &history, &e), 0);
	assert_int_equal(
		history_window(history, a, &spec, SECONDS(-1), SECONDS(9), &window, &e), 0);
	assert_int_equal(window.n_series, 3);
	const struct series *c = window_series(
		&window, entities_find(window.entities, "evil", "c", PRIO_NONE), M_PORT_IN_OCTETS);
	assert_non_null(c);
	assert_int_equal(c->n, 2);
	assert_int_equal(c->value[0], 77);
	history_close(history);
	arena_free(a);
	rig_done(&r);
}

/* ---- names that come and go ------------------------------------------------ */

static void tick(struct entities *entities, int64_t *mono_s, int64_t seconds)
{
	for (int64_t s = 0; s < seconds; s += 10) {
		*mono_s += 10;
		entities_tick(entities, *mono_s * NS_PER_S);
	}
}

static size_t release_names(struct rig *r, int64_t t_s)
{
	const struct entity_release how = {.idle_ns = 3600 * NS_PER_S};
	const size_t n = entities_release(r->entities, &how);
	store_names_gone(r->store, r->entities, SECONDS(t_s));
	flush(r);
	entities_reclaim(r->entities);
	return n;
}

static size_t series_in(struct history *history, int from_s, int to_s)
{
	struct err e = {0};
	struct window window;
	struct arena *a = arena_new();
	const uint16_t metrics[] = {M_PORT_IN_OCTETS};
	const struct window_spec spec = {.metrics = metrics, .n_metrics = 1};
	assert_int_equal(
		history_window(history, a, &spec, SECONDS(from_s), SECONDS(to_s), &window, &e), 0);
	const size_t n = window.n_series;
	arena_free(a);
	return n;
}

/* Short-lived interfaces: what is released leaves memory at once, stays readable in its time, and
 * leaves the file with retention; a name that returns goes on with its number. */
static void names_come_and_go(void **state)
{
	struct rig r;
	struct err e = {0};
	struct history *history;
	int64_t mono_s = 1000;
	char port[32];

	rig_init(&r, false);
	tick(r.entities, &mono_s, 10);
	for (int i = 0; i < 300; i++) {
		snprintf(port, sizeof(port), "veth%d", i);
		r.port = entities_intern(r.entities, "leaf1", port, PRIO_NONE);
		give(&r, 100, M_PORT_IN_OCTETS, (uint64_t)i, 0);
	}
	give(&r, 100, M_CFG_CABLE, sample_of_f64(3), 0);
	flush(&r);
	const int64_t first = world_int(&r.world, "SELECT id FROM entity WHERE port='veth7'");
	const uint32_t most = entities_count(r.entities);
	tick(r.entities, &mono_s, 7200);
	assert_true(release_names(&r, 200) >= 300);
	assert_int_equal(entities_known(r.entities), 0);
	assert_int_equal(world_int(&r.world,
				 "SELECT count(*) FROM entity WHERE gone_ns=1700000200000000000"),
		301);
	/* one comes back; others take the places of those that went */
	r.port = entities_intern(r.entities, "leaf1", "veth7", PRIO_NONE);
	give(&r, 300, M_PORT_IN_OCTETS, 7, 0);
	for (int i = 1000; i < 1200; i++) {
		snprintf(port, sizeof(port), "veth%d", i);
		r.port = entities_intern(r.entities, "leaf1", port, PRIO_NONE);
		give(&r, 300, M_PORT_IN_OCTETS, 7, 0);
	}
	flush(&r);
	assert_true(entities_count(r.entities) <= most);
	assert_int_equal(world_int(&r.world, "SELECT id FROM entity WHERE port='veth7'"), first);
	assert_int_equal(
		world_int(&r.world, "SELECT count(*) FROM samples WHERE port='veth7' AND value=7"),
		2);
	/* a reader has the names of its time, also of a time before the one it read first */
	assert_int_equal(db_history_open(r.world.path, &history, &e), 0);
	assert_int_equal(
		entities_find(history_entities(history), "leaf1", "veth8", PRIO_NONE), ENTITY_NONE);
	assert_int_equal(series_in(history, 250, 350), 201);
	assert_int_equal(series_in(history, 50, 150), 300);
	assert_int_equal(series_in(history, 250, 350), 201);
	history_close(history);
	store_close(r.store);

	void *writer;
	const struct store_options o = {.path = r.world.path,
		.raw_ns = 100 * NS_PER_S,
		.minute_ns = 100 * NS_PER_S,
		.hour_ns = 100 * NS_PER_S};
	assert_int_equal(sqlite_backend.open(&o, &writer, &e), 0);
	bool more = true;
	for (int i = 0; i < 100 && more; i++)
		assert_int_equal(sqlite_backend.maintain(writer, SECONDS(310), &more, &e), 0);
	assert_false(more);
	sqlite_backend.close(writer);
	assert_int_equal(
		world_int(&r.world, "SELECT count(*) FROM entity WHERE port LIKE 'veth%'"), 201);
	assert_int_equal(world_int(&r.world, "SELECT count(*) FROM series"), 201);
	assert_int_equal(world_int(&r.world, "SELECT count(*) FROM entity WHERE port='veth7'"), 1);
	entities_free(r.entities);
	world_done(&r.world);
}

static void oldest_are_dropped(void **state)
{
	struct rig r;
	struct err e = {0};

	world_init(&r.world);
	r.entities = entities_new();
	struct store_options o = {.path = r.world.path, .max_pending = 10};
	assert_int_equal(db_store_open(&o, r.entities, &r.store, &e), 0);
	r.port = entities_intern(r.entities, "leaf1", "swp1", PRIO_NONE);
	fault_vfs_set(SQLITE_FULL);
	store_event(r.store, SECONDS(0), "kept", NULL, NULL, NULL);
	for (int i = 0; i < 25; i++)
		give(&r, i, M_PORT_IN_OCTETS, (uint64_t)i, 0);
	assert_int_equal(flush_of(r.store, &e), -ENOSPC);
	assert_true(stats(&r).pending <= 10);
	fault_vfs_set(SQLITE_OK);
	flush(&r);
	assert_int_equal(stats(&r).dropped, 15);
	assert_int_equal(world_int(&r.world, "SELECT count(*) FROM samples"), 10);
	assert_int_equal(world_int(&r.world, "SELECT min(value) FROM samples"), 15);
	assert_int_equal(world_int(&r.world, "SELECT count(*) FROM events WHERE kind='kept'"), 1);
	rig_done(&r);
}

/* ---- kill -9 ------------------------------------------------------------- */

static void write_until_killed(const char *path, int ready)
{
	struct entities *t = entities_new();
	struct store_options o = {.path = path};
	struct store *s;
	struct err e = {0};

	if (db_store_open(&o, t, &s, &e) < 0) {
		fprintf(stderr, "%s\n", e.text);
		_exit(1);
	}
	for (int64_t i = 0;; i++) {
		struct sample v[64];
		for (int k = 0; k < 64; k++) {
			char port[16];
			snprintf(port, sizeof(port), "swp%d", k);
			v[k] = sample_at(wall_now().ns,
				entities_intern(t, "leaf1", port, PRIO_NONE), M_PORT_IN_OCTETS,
				(uint64_t)i, 0);
		}
		store_samples(s, v, 64);
		if (store_flush(s, NULL) == 0 && write(ready, "x", 1) < 0)
			_exit(1);
	}
}

static void killed_at_any_moment(void **state)
{
	struct db_world w;
	int64_t rows = 0;

	world_init(&w);
	for (int round = 0; round < 8; round++) {
		int fd[2];
		char c;
		assert_int_equal(pipe(fd), 0);
		pid_t pid = fork();
		if (pid == 0)
			write_until_killed(w.path, fd[1]);
		close(fd[1]);
		for (int i = 0; i <= round * 3; i++)
			assert_int_equal(read(fd[0], &c, 1), 1); /* so many batches are committed */
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		close(fd[0]);
		sqlite3 *db;
		sqlite3_stmt *st;
		assert_int_equal(sqlite3_open(w.path, &db), SQLITE_OK);
		assert_int_equal(
			sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &st, NULL), SQLITE_OK);
		assert_int_equal(sqlite3_step(st), SQLITE_ROW);
		assert_string_equal((const char *)sqlite3_column_text(st, 0), "ok");
		sqlite3_finalize(st);
		sqlite3_close(db);
		int64_t now = world_int(&w, "SELECT count(*) FROM samples");
		if (now < rows + 64 * (round * 3 + 1))
			fail_msg("round %d: %lld rows after %lld", round, (long long)now,
				(long long)rows);
		rows = now;
		assert_int_equal(db_writer_pid(w.path), 0); /* the lock went with the process */
	}
	world_done(&w);
}

/* ---- retention, through the writer itself: it takes the time as an argument ---- */

static bool maintained(void *writer, int64_t now_ns)
{
	struct err e = {0};
	bool more;

	if (sqlite_backend.maintain(writer, now_ns, &more, &e) < 0)
		fail_msg("%s", e.text);
	return more;
}

static void retention(void **state)
{
	struct db_world w;
	struct entities *t = entities_new();
	void *writer;
	struct err e = {0};

	world_init(&w);
	struct store_options o = {.path = w.path, .replay = true};
	struct store *s;
	assert_int_equal(db_store_open(&o, t, &s, &e), 0);
	uint32_t port = entities_intern(t, "leaf1", "swp1", PRIO_NONE);
	for (int i = 0; i < 10000; i++) {
		struct sample v[2] = {sample_at(SECONDS(i), port, M_PORT_IN_OCTETS, (uint64_t)i, 0),
			sample_at(SECONDS(i), port, M_CFG_CABLE, sample_of_f64(i), 0)};
		store_samples(s, v, i == 10 || i == 20 || i == 30 || i == 9000 ? 2 : 1);
		struct sample trust =
			sample_at(SECONDS(i), port, M_CFG_TRUST, entities_text(t, "dscp"), 0);
		if (i == 5)
			store_samples(s, &trust, 1);
	}
	struct flow_sample f = {
		.from_ns = SECONDS(0), .to_ns = SECONDS(10), .entity = port, .total = true};
	store_flows(s, &f, 1);
	f.to_ns = SECONDS(9999);
	store_flows(s, &f, 1);
	store_close(s);
	entities_free(t);

	t = entities_new();
	o = (struct store_options){.path = w.path, .raw_ns = 2000 * NS_PER_S};
	assert_int_equal(sqlite_backend.open(&o, &writer, &e), 0);
	int chunks = 0;
	while (maintained(writer, SECONDS(10000)) && chunks < 1000)
		chunks++;
	assert_true(chunks >= 1 && chunks < 20); /* in pieces, and it ends */
	assert_false(maintained(writer, SECONDS(10000)));
	sqlite_backend.close(writer);
	entities_free(t);
	/* 2000 s of samples stay, in whole blocks of an hour at most; of the states before, the
	 * newest of each */
	assert_int_equal(world_int(&w,
				 "SELECT count(*) FROM samples WHERE metric='port.in_octets' AND "
				 "t_ns>=1700008000000000000"),
		2000);
	assert_true(world_int(&w, "SELECT min(t_ns) FROM samples WHERE metric='port.in_octets'") >
		SECONDS(8000 - 3600));
	assert_int_equal(world_int(&w,
				 "SELECT count(*) FROM samples WHERE metric LIKE 'cfg.%' AND "
				 "t_ns<1700008000000000000"),
		2);
	assert_int_equal(world_int(&w,
				 "SELECT value FROM samples WHERE metric='cfg.cable_m' AND "
				 "t_ns<1700008000000000000"),
		30);
	assert_int_equal(
		world_int(&w, "SELECT t_ns FROM samples WHERE metric='cfg.trust'"), SECONDS(5));
	assert_int_equal(world_int(&w, "SELECT count(*) FROM flows"), 1);
	world_done(&w);
}

static int64_t samples_in(const struct db_world *w, int from_s, int to_s)
{
	char sql[128];

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM samples WHERE t_ns BETWEEN %lld AND %lld",
		(long long)SECONDS(from_s), (long long)SECONDS(to_s));
	return world_int(w, sql);
}

/* What an open recommendation rests on stays, whatever age and size say; once it is settled it
 * goes. */
static void pinned(void **state)
{
	struct db_world w;
	struct entities *t = entities_new();
	void *writer;
	struct err e = {0};

	world_init(&w);
	struct store_options o = {.path = w.path, .replay = true};
	struct store *s;
	assert_int_equal(db_store_open(&o, t, &s, &e), 0);
	uint32_t port = entities_intern(t, "leaf1", "swp1", PRIO_NONE);
	for (int i = 0; i < 10000; i++) {
		struct sample v =
			sample_at(SECONDS(20 * i), port, M_PORT_IN_OCTETS, (uint64_t)i, 0);
		store_samples(s, &v, 1);
	}
	struct flow_sample f = {
		.from_ns = SECONDS(190), .to_ns = SECONDS(200), .entity = port, .total = true};
	store_flows(s, &f, 1);
	struct store_recommendation r = {.id = "aaaaaaaa",
		.device = "leaf1",
		.state = "proposed",
		.advice = "change",
		.priority = 3,
		.summary = "s",
		.json = "{}",
		.diagnosis = "ecn_late",
		.who = "ann",
		.t_ns = SECONDS(250),
		.from_ns = SECONDS(100),
		.to_ns = SECONDS(200),
		.updated_ns = SECONDS(250)};
	store_recommendation(s, &r);
	r.id = "bbbbbbbb"; /* overlaps the one before */
	r.state = "applied";
	r.from_ns = SECONDS(150);
	r.to_ns = SECONDS(300);
	store_recommendation(s, &r);
	r.id = "cccccccc";
	r.state = "rejected";
	r.from_ns = SECONDS(1000);
	r.to_ns = SECONDS(2000);
	store_recommendation(s, &r);
	struct store_incident i = {.id = "dddddddd",
		.cause = "ecn_late",
		.severity = "warning",
		.state = "open",
		.json = "{}",
		.priority = PRIO_NONE,
		.opened_ns = SECONDS(100000)};
	store_incident(s, &i);
	store_close(s);
	entities_free(t);

	t = entities_new();
	o = (struct store_options){.path = w.path, .raw_ns = 40000 * NS_PER_S};
	assert_int_equal(sqlite_backend.open(&o, &writer, &e), 0);
	int chunks = 0;
	while (maintained(writer, SECONDS(200000)) && chunks < 1000)
		chunks++;
	assert_true(chunks < 30);
	sqlite_backend.close(writer);
	entities_free(t);
	/* blocks are an hour at most, and stay whole */
	assert_int_equal(samples_in(&w, 100, 300), 11);
	assert_int_equal(samples_in(&w, 300 + 3600, 99100 - 3600), 0);
	assert_int_equal(samples_in(&w, 99100, 100900), 91);
	assert_int_equal(samples_in(&w, 100900 + 3600, 160000 - 3600), 0);
	assert_int_equal(samples_in(&w, 160000, 200000), 2000);
	assert_int_equal(world_int(&w, "SELECT count(*) FROM flows"), 1);
	assert_int_equal(world_int(&w,
				 "SELECT diagnosis='ecn_late' AND who='ann' AND updated_ns=t_ns "
				 "FROM recommendations WHERE id='aaaaaaaa'"),
		1);

	/* a quota that cannot be kept takes the rest, again and again, and never the pinned */
	world_exec(&w, "DELETE FROM incident");
	t = entities_new();
	o = (struct store_options){.path = w.path, .quota_bytes = 4096};
	assert_int_equal(sqlite_backend.open(&o, &writer, &e), 0);
	for (int pass = 0; pass < 400; pass++)
		maintained(writer, SECONDS(200000));
	sqlite_backend.close(writer);
	entities_free(t);
	assert_int_equal(samples_in(&w, 100, 300), 11);
	assert_int_equal(samples_in(&w, 300 + 3600, 200000 - 3700), 0);
	world_done(&w);
}

/* ---- files that are not ours --------------------------------------------- */

static int open_file(const char *path, struct err *e)
{
	struct entities *t = entities_new();
	struct store_options o = {.path = path, .replay = true};
	struct store *s;
	int r = db_store_open(&o, t, &s, e);

	if (r == 0)
		store_close(s);
	entities_free(t);
	return r;
}

static void put_file(const char *path, const void *p, size_t n, off_t at)
{
	int fd = open(path, O_WRONLY | O_CREAT, 0640);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, p, n, at), (ssize_t)n);
	close(fd);
}

static void strange_files(void **state)
{
	struct db_world w;
	struct err e = {0};
	struct history *d;
	static const char text[] = "fabric: not a database at all, but a text that is longer than "
				   "a header of a database, which has a hundred bytes.\n";

	world_init(&w);
	assert_int_equal(db_history_open(w.path, &d, &e), -ENOENT);
	assert_int_equal(db_history_open("/", &d, &e), -EISDIR);
	put_file(w.path, text, sizeof(text) - 1, 0);
	assert_int_equal(open_file(w.path, &e), -EINVAL);
	assert_non_null(strstr(e.text, "not a SQLite database"));
	assert_int_equal(db_history_open(w.path, &d, &e), -EINVAL);
	unlink(w.path);

	world_exec(&w, "CREATE TABLE bookmarks(url)");
	assert_int_equal(open_file(w.path, &e), -EINVAL);
	assert_non_null(strstr(e.text, "another program"));
	assert_int_equal(world_int(&w, "SELECT count(*) FROM sqlite_master"), 1); /* untouched */
	unlink(w.path);

	struct rig r = {.world = w, .entities = entities_new()};
	struct store_options o = {.path = w.path, .replay = true};
	assert_int_equal(db_store_open(&o, r.entities, &r.store, &e), 0);
	r.port = entities_intern(r.entities, "leaf1", "swp1", PRIO_NONE);
	for (int i = 0; i < 5000; i++)
		give(&r, i, M_PORT_IN_OCTETS, (uint64_t)i * 1000000, 0);
	store_close(r.store);
	entities_free(r.entities);
	struct db_stat s;
	assert_int_equal(db_stat_read(w.path, &s, &e), 0);
	assert_string_equal(s.check, "ok");
	assert_int_equal(s.samples, 5000);
	assert_int_equal(s.by_metric[M_PORT_IN_OCTETS], 5000);
	assert_int_equal(s.first_ns, SECONDS(0));
	assert_true(s.n_tables > 10); /* which tables fill it, the largest first */
	assert_true(s.tables[0].bytes > 0 && s.tables[0].bytes < s.file_bytes);
	assert_true(s.tables[0].bytes >= s.tables[1].bytes);
	char noise[8192];
	memset(noise, 0xa5, sizeof(noise));
	for (off_t page = 1; page < 8; page++)
		put_file(w.path, noise, sizeof(noise), page * 8192);
	assert_true(open_file(w.path, &e) < 0);
	if (!strstr(e.text, "damaged") || !strstr(e.text, "backup"))
		fail_msg("%s", e.text);
	world_done(&w);
}

static void backup(void **state)
{
	struct rig r;
	struct db_world copy;
	struct err e = {0};

	rig_init(&r, false);
	for (int i = 0; i < 1000; i++)
		give(&r, i, M_PORT_IN_OCTETS, (uint64_t)i, 0);
	flush(&r);
	world_init(&copy);
	if (db_backup(r.world.path, copy.path, &e) < 0) /* while the writer is there */
		fail_msg("%s", e.text);
	assert_int_equal(world_int(&copy, "SELECT count(*) FROM samples"), 1000);
	assert_int_equal(db_backup(r.world.path, copy.path, &e), -EEXIST);
	world_done(&copy);
	rig_done(&r);
}

/*
 * The clock was set back to second 10: what is stored from after it, and what still waits because
 * the disk refuses, is late; what came before it and what comes now is not. All of it is there.
 * Values of one row keep flags of their own.
 */
static void rewound(void **state)
{
	struct rig r;
	rig_init(&r, false);
	struct sample before[] = {sample_at(SECONDS(5), r.port, M_PORT_IN_OCTETS, 1, 0),
		sample_at(SECONDS(20), r.port, M_PORT_IN_OCTETS, 2, 0),
		sample_at(SECONDS(20), r.port, M_PORT_OUT_OCTETS, 3, SF_SUSPECT)};
	store_samples(r.store, before, rw_countof(before));
	flush(&r);
	fault_vfs_set(SQLITE_FULL);
	struct sample waiting = sample_at(SECONDS(21), r.port, M_PORT_IN_OCTETS, 4, SF_RESTART);
	store_samples(r.store, &waiting, 1);
	store_rewind(r.store, SECONDS(10));
	struct sample now = sample_at(SECONDS(11), r.port, M_PORT_IN_OCTETS, 5, 0);
	store_samples(r.store, &now, 1);
	fault_vfs_set(SQLITE_OK);
	flush(&r);
	static const struct {
		const char *where, *flags;
	} rows[] = {{"value=1", ""}, {"value=2", "late"}, {"value=3", "suspect,late"},
		{"value=4", "restart,late"}, {"value=5", ""}};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		char sql[160];
		snprintf(sql, sizeof(sql),
			"SELECT count(*) FROM samples WHERE %s AND ifnull(flags, '')='%s'",
			rows[i].where, rows[i].flags);
		if (world_int(&r.world, sql) != 1)
			fail_msg("%s: not %s", rows[i].where, rows[i].flags);
	}
	assert_int_equal(world_int(&r.world, "SELECT count(*) FROM samples"), 5);

	/* what is late is not the newest sample */
	struct history *history;
	int64_t first_ns, last_ns;
	assert_int_equal(db_history_open(r.world.path, &history, NULL), 0);
	assert_int_equal(history_range(history, &first_ns, &last_ns, NULL), 0);
	assert_int_equal(first_ns, SECONDS(5));
	assert_int_equal(last_ns, SECONDS(11));
	history_close(history);
	rig_done(&r);
}

/* A test that failed must not leave the disk full for the next. */
static int disk_works(void **state)
{
	fault_vfs_set(SQLITE_OK);
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(commits_by_itself, disk_works),
		cmocka_unit_test_setup(commits_under_way, disk_works),
		cmocka_unit_test_setup(close_commits, disk_works),
		cmocka_unit_test_setup(values_are_exact, disk_works),
		cmocka_unit_test_setup(pieces_merge, disk_works),
		cmocka_unit_test_setup(names_survive, disk_works),
		cmocka_unit_test_setup(attributes_and_documents, disk_works),
		cmocka_unit_test_setup(health_is_a_snapshot, disk_works),
		cmocka_unit_test_setup(rewound, disk_works),
		cmocka_unit_test_setup(one_writer, disk_works),
		cmocka_unit_test_setup(full_disk_keeps_batches, disk_works),
		cmocka_unit_test_setup(every_write_fails_once, disk_works),
		cmocka_unit_test_setup(rolled_back_names_are_written_again, disk_works),
		cmocka_unit_test_setup(oldest_are_dropped, disk_works),
		cmocka_unit_test_setup(killed_at_any_moment, disk_works),
		cmocka_unit_test_setup(checkpoint_fails, disk_works),
		cmocka_unit_test_setup(refused_commit_came_through, disk_works),
		cmocka_unit_test_setup(deleted_file_comes_back, disk_works),
		cmocka_unit_test_setup(replaced_file_is_left_alone, disk_works),
		cmocka_unit_test_setup(link_is_locked, disk_works),
		cmocka_unit_test_setup(name_beyond_all_ids, disk_works),
		cmocka_unit_test_setup(names_come_and_go, disk_works),
		cmocka_unit_test_setup(retention, disk_works),
		cmocka_unit_test_setup(pinned, disk_works),
		cmocka_unit_test_setup(strange_files, disk_works),
		cmocka_unit_test_setup(backup, disk_works),
	};
	fault_vfs_register();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
