/*
 * give_back - a file above its quota gives its free pages back, some at a time: each call of these
 * steps fails once, and the program is killed at each of them.
 *
 * Promised: the file is whole and every row of every table stays as it was; the step that failed is
 * done the next time; in the end the file is not more than a tenth above the quota.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/log.h"
#include "db/model/entity.h"
#include "db/model/metric.h"
#include "db/sqlite/sqlite.h"
#include "db/store/store_backend.h"
#include "tests/faults/fault_vfs.h"

#define T0 INT64_C(1700006400000000000) /* midnight */
#define STEP_NS (60 * NS_PER_S)
#define KEPT_NS (12 * 3600 * NS_PER_S)
#define KILLS_LEAST 30
#define LOG_PAGES 1 /* the log is short: it is brought into the file at once */

enum { PORTS = 64, POLLS = 5000, COMMIT_POLLS = 20 };

static struct give_back {
	char dir[64], path[96];
	struct entities *entities;
	uint32_t port[PORTS];
	void *state;
	int64_t end_ns;
	uint64_t content; /* of the file, before anything is given back */
	int faults;
} world;

static void give_fault(const char *what, int64_t n, const char *why)
{
	if (world.faults++ < 20)
		printf("give_back %s %" PRId64 ": %s\n", what, n, why);
}

/* ---- the file ------------------------------------------------------------- */

/* @replay: nothing is synced, and all is sealed at once. */
static void give_open(bool replay)
{
	const struct store_options o = {
		.path = world.path, .replay = replay, .log_pages = LOG_PAGES};
	struct err e = {0};

	if (sqlite_backend.open(&o, &world.state, &e) < 0) {
		printf("give_back: %s\n", e.text);
		exit(1);
	}
}

static void give_names(void)
{
	static struct record_entity names[PORTS + 1];
	struct err e = {0};
	char port[16];
	size_t n = 0;

	for (int i = 0; i < PORTS; i++) {
		snprintf(port, sizeof(port), "swp%d", i);
		world.port[i] = entities_intern(world.entities, "leaf0", port, PRIO_NONE);
	}
	for (uint32_t id = 1; id <= entities_count(world.entities); id++) {
		const struct entity *entity = entity_get(world.entities, id);
		names[n++] = (struct record_entity){.id = id,
			.parent = entity->parent,
			.owner = entity_device(world.entities, id),
			.priority = entity->priority,
			.device = entity->device,
			.port = entity->port};
	}
	const struct store_record record = {
		.kind = RECORD_ENTITIES, .entities = {.v = names, .n = n}};
	if (sqlite_backend.record(world.state, &record, &e) < 0)
		give_fault("names", 0, e.text);
}

static void give_commit(const struct sample *v, size_t n)
{
	struct err e = {0};
	bool more;

	if (sqlite_backend.begin(world.state, &e) < 0 ||
		sqlite_backend.samples(world.state, v, n, &e) < 0 ||
		sqlite_backend.commit(world.state, &e) < 0 ||
		sqlite_backend.compact(world.state, 0, INT64_MAX, &more, &e) < 0)
		give_fault("commit", 0, e.text);
}

/* Days of busy ports, whose values take their bytes. */
static void give_fill(void)
{
	static struct sample v[PORTS * COMMIT_POLLS];
	static uint64_t octets[PORTS];
	uint64_t chance = 88172645463325252u;
	size_t n = 0;

	for (int poll = 1; poll <= POLLS; poll++) {
		world.end_ns = T0 + poll * STEP_NS;
		for (int i = 0; i < PORTS; i++) {
			chance ^= chance << 13;
			chance ^= chance >> 7;
			chance ^= chance << 17;
			octets[i] += chance >> 24;
			v[n++] = (struct sample){.t_ns = world.end_ns,
				.entity = world.port[i],
				.metric = M_PORT_IN_OCTETS,
				.value = octets[i],
				.source = SOURCE_SNMP};
		}
		if (poll % COMMIT_POLLS == 0) {
			give_commit(v, n);
			n = 0;
		}
	}
}

/* Until there is nothing left to do; the code of the first call that failed. */
static int give_maintain(struct err *e)
{
	bool more = true;
	int r = 0;

	while (more && r == 0) {
		r = sqlite_backend.maintain(world.state, world.end_ns, &more, e);
		if (r == 0)
			r = sqlite_backend.settle(world.state, e);
	}
	return r;
}

static void give_quota(uint64_t quota_bytes)
{
	const struct store_options o = {.path = world.path,
		.raw_ns = KEPT_NS,
		.minute_ns = KEPT_NS,
		.hour_ns = KEPT_NS,
		.quota_bytes = quota_bytes};

	sqlite_backend.keep(world.state, &o);
}

/* ---- what it holds ---------------------------------------------------------- */

static int64_t give_int(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *st = NULL;
	int64_t ret = -1;

	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) == SQLITE_OK &&
		sqlite3_step(st) == SQLITE_ROW)
		ret = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return ret;
}

/* FNV-1a of all rows of a table. */
static uint64_t give_table(sqlite3 *db, const char *sql, uint64_t hash)
{
	sqlite3_stmt *st = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
		return 0;
	while (sqlite3_step(st) == SQLITE_ROW)
		for (int i = 0; i < sqlite3_column_count(st); i++) {
			const unsigned char *bytes = sqlite3_column_blob(st, i);
			const int n = sqlite3_column_bytes(st, i);
			for (int k = 0; k < n; k++)
				hash = (hash ^ bytes[k]) * UINT64_C(1099511628211);
		}
	sqlite3_finalize(st);
	return hash;
}

struct give_file {
	int64_t pages, free_pages, page_bytes;
	uint64_t content;
	bool whole;
};

static struct give_file give_look(bool thorough)
{
	struct give_file ret = {.whole = true};
	uint64_t hash = UINT64_C(14695981039346656037);
	sqlite3_stmt *st = NULL;
	sqlite3 *db;

	if (sqlite3_open_v2(world.path, &db, SQLITE_OPEN_READWRITE, "unix") != SQLITE_OK)
		give_fault("look", 0, sqlite3_errmsg(db));
	ret.pages = give_int(db, "PRAGMA page_count");
	ret.free_pages = give_int(db, "PRAGMA freelist_count");
	ret.page_bytes = give_int(db, "PRAGMA page_size");
	hash = give_table(db, "SELECT * FROM block ORDER BY 1, 2, 3", hash);
	hash = give_table(db, "SELECT * FROM block_minute ORDER BY 1, 2, 3", hash);
	hash = give_table(db, "SELECT * FROM block_hour ORDER BY 1, 2, 3", hash);
	hash = give_table(db, "SELECT * FROM tail ORDER BY 1", hash);
	ret.content = give_table(db, "SELECT * FROM entity ORDER BY 1", hash);
	if (thorough) {
		ret.whole = sqlite3_prepare_v2(db, "PRAGMA integrity_check", -1, &st, NULL) ==
				SQLITE_OK &&
			sqlite3_step(st) == SQLITE_ROW &&
			strcmp((const char *)sqlite3_column_text(st, 0), "ok") == 0;
		sqlite3_finalize(st);
	}
	sqlite3_close(db);
	return ret;
}

/* A quota above which the file is by one page more than the tenth. */
static uint64_t give_one_page(const struct give_file *file)
{
	return (uint64_t)((file->pages - 1) * file->page_bytes + 10) / 11 * 10 + 10;
}

static void give_check(const char *what, int64_t n, const struct give_file *before)
{
	const struct give_file now = give_look(n % 16 == 1);

	if (!now.whole)
		give_fault(what, n, "the file is damaged");
	if (now.content != world.content)
		give_fault(what, n, "a row is not what it was");
	if (now.pages >= before->pages)
		give_fault(what, n, "no page was given back");
}

/* ---- each call fails once ---------------------------------------------------- */

static const struct give_row {
	const char *name;
	struct fault_plan plan;
	int64_t stride; /* where there are many calls */
} give_rows[] = {
	{"xWrite.full", {.ops = FAULT_BIT(FAULT_WRITE), .rc = SQLITE_FULL}, 1},
	{"xWrite.short", {.ops = FAULT_BIT(FAULT_WRITE), .rc = SQLITE_IOERR_WRITE, .torn = true},
		1},
	{"xRead", {.ops = FAULT_BIT(FAULT_READ), .rc = SQLITE_IOERR_READ}, 3},
	{"xSync", {.ops = FAULT_BIT(FAULT_SYNC), .rc = SQLITE_IOERR_FSYNC}, 1},
	{"xTruncate", {.ops = FAULT_BIT(FAULT_TRUNCATE), .rc = SQLITE_IOERR_TRUNCATE}, 1},
	{"xShmLock.busy", {.ops = FAULT_BIT(FAULT_SHM_LOCK), .rc = SQLITE_BUSY}, 2},
	{"malloc", {.ops = FAULT_BIT(FAULT_MALLOC), .rc = SQLITE_NOMEM}, 11},
};

/* Calls that failed. */
static int64_t give_each_call(const struct give_row *row)
{
	int64_t failed = 0, told = 0, n = 1;

	for (bool any = true; any; n += row->stride) {
		const struct give_file before = give_look(false);
		struct fault_plan plan = row->plan;
		struct err e = {0};
		plan.first = n;
		plan.times = 1;
		sqlite_backend.close(world.state);
		give_open(false); /* with no page in memory */
		give_quota(give_one_page(&before));
		fault_vfs_plan(&plan);
		told += give_maintain(&e) < 0;
		any = fault_vfs_failed() > 0;
		failed += any;
		fault_vfs_plan(NULL);
		if (give_maintain(&e) < 0)
			give_fault(row->name, n, e.text);
		give_check(row->name, n, &before);
	}
	printf("%-14s %5" PRId64 " calls failed, %5" PRId64 " told\n", row->name, failed, told);
	return failed;
}

/* ---- kill -9 at each call ------------------------------------------------------ */

static void give_die(void)
{
	kill(getpid(), SIGKILL);
}

/* Was it killed before it was done? */
static bool give_kill(int64_t n, uint64_t quota_bytes)
{
	const struct fault_plan plan = {
		.ops = FAULT_DISK, .first = n, .times = 1, .strike = give_die};
	struct err e = {0};
	int status = 0;
	const pid_t pid = fork();

	if (pid == 0) {
		give_open(false);
		give_quota(quota_bytes);
		fault_vfs_plan(&plan);
		_exit(give_maintain(&e) < 0);
	}
	if (waitpid(pid, &status, 0) != pid || (WIFEXITED(status) && WEXITSTATUS(status) != 0))
		give_fault("kill -9", n, "the program failed");
	return WIFSIGNALED(status);
}

static int64_t give_kills(void)
{
	struct err e = {0};
	int64_t kills = 0;

	for (bool killed = true; killed;) {
		const struct give_file before = give_look(false);
		killed = give_kill(kills + 1, give_one_page(&before));
		kills += killed;
		give_open(false);
		give_quota(give_one_page(&before));
		if (give_maintain(&e) < 0)
			give_fault("kill -9", kills, e.text);
		sqlite_backend.close(world.state);
		give_check("kill -9", kills, &before);
	}
	printf("kill -9        %5" PRId64 " times\n", kills);
	return kills;
}

/* ---- a run ------------------------------------------------------------------- */

static void give_begin(void)
{
	struct err e = {0};

	snprintf(world.dir, sizeof(world.dir), "/tmp/rw-give-XXXXXX");
	if (!mkdtemp(world.dir))
		exit(1);
	snprintf(world.path, sizeof(world.path), "%s/t.db", world.dir);
	world.entities = entities_new();
	give_open(true);
	give_names();
	give_fill();
	give_quota(0);
	if (give_maintain(&e) < 0)
		give_fault("retention", 0, e.text);
	world.content = give_look(false).content;
}

static void give_end(void)
{
	static const char *const files[] = {
		"t.db", "t.db-wal", "t.db-shm", "t.db.lock", "t.db.state"};
	char path[128];

	entities_free(world.entities);
	for (size_t i = 0; i < rw_countof(files); i++) {
		snprintf(path, sizeof(path), "%s/%s", world.dir, files[i]);
		unlink(path);
	}
	rmdir(world.dir);
}

int main(void)
{
	int64_t least = INT64_MAX;

	log_set_level(LOG_ERROR_);
	fault_vfs_register_malloc();
	fault_vfs_register();
	give_begin();
	const struct give_file first = give_look(true);
	for (size_t i = 0; i < rw_countof(give_rows); i++) {
		const int64_t failed = give_each_call(&give_rows[i]);
		if (failed < least)
			least = failed;
	}
	sqlite_backend.close(world.state);
	const int64_t kills = give_kills();
	const struct give_file last = give_look(true);
	give_end();
	printf("%" PRId64 " pages, %" PRId64 " of them free, became %" PRId64 " and %" PRId64
	       "; %d faults\n",
		first.pages, first.free_pages, last.pages, last.free_pages, world.faults);
	return world.faults > 0 || !last.whole || least == 0 || kills < KILLS_LEAST;
}
