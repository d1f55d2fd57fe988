/* A store that cannot be opened, or cannot write: what it keeps, whose names it writes, what it
 * says to readers, and who may be in its way. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "base/cleanup.h"
#include "tests/deadline.h"
#include "tests/patience.h"
#include "tests/unit/db/db_world.h"

#include "base/str.h"
#include "db/open.h"
#include "db/store/store.h"
#include "db/store/store_state.h"
#include "tests/faults/fault_vfs.h"

#define DEADLINE_NS patience_ns(60 * NS_PER_S)

static struct store *late_open(const char *path, struct entities *entities)
{
	struct store *store;
	struct err e = {0};
	const struct store_options o = {.path = path};
	if (db_store_open(&o, entities, &store, &e) < 0)
		fail_msg("%s", e.text);
	return store;
}

static void give_value(struct store *store, uint32_t entity, int second, uint64_t value)
{
	const struct sample s = sample_at(SECONDS(second), entity, M_PORT_IN_OCTETS, value, 0);
	store_samples(store, &s, 1);
}

static int late_flush(struct store *store, struct err *e)
{
	deadline_begin("store_flush(): that what was given is committed or told as failed");
	const int r = store_flush(store, e);
	deadline_end();
	return r;
}

/* Until the store has written all that it was given. */
static void wait_written(struct store *store)
{
	struct err e = {0};
	const int64_t until_ns = mono_now().ns + DEADLINE_NS;
	while (late_flush(store, &e) < 0) {
		if (mono_now().ns > until_ns)
			fail_msg("%s", e.text);
		poll(NULL, 0, 20);
	}
}

static void wait_stage(const char *path, enum store_stage stage, struct store_state *ret)
{
	const int64_t until_ns = mono_now().ns + DEADLINE_NS;
	while (store_state_read(path, ret) < 0 || ret->stage != stage) {
		if (mono_now().ns > until_ns)
			fail_msg("no stage %d", (int)stage);
		poll(NULL, 0, 20);
	}
}

static int64_t value_of(const struct db_world *w, const char *device, const char *port)
{
	rw_cleanup(str_done) struct str sql = {0};
	str_addf(&sql,
		"SELECT ifnull(max(value), -1) FROM samples WHERE device='%s' AND port='%s' AND "
		"metric='port.in_octets'",
		device, port);
	return world_int(w, sql.s);
}

/* ---- names --------------------------------------------------------------- */

/* The directory is a mount that comes later. The file in it numbers names in another order. */
static void names_of_a_late_file(void **state)
{
	struct db_world w;
	char away[sizeof(w.dir) + 8];
	world_init(&w);
	struct entities *before = entities_new();
	struct store *store = late_open(w.path, before);
	give_value(store, entities_intern(before, "leaf1", "a", PRIO_NONE), 1, 11);
	give_value(store, entities_intern(before, "leaf1", "b", PRIO_NONE), 1, 12);
	const struct sample text = sample_at(SECONDS(1), entities_find(before, "leaf1", "a", -1),
		M_CFG_TRUST, entities_text(before, "dscp"), 0);
	store_samples(store, &text, 1);
	store_close(store);
	entities_free(before);
	snprintf(away, sizeof(away), "%s.away", w.dir);
	assert_int_equal(rename(w.dir, away), 0);

	struct entities *now = entities_new();
	store = late_open(w.path, now);
	assert_true(store_is_waiting(store));
	assert_int_equal(entities_count(now), 0);
	give_value(store, entities_intern(now, "leaf2", "x", PRIO_NONE), 2, 21);
	give_value(store, entities_intern(now, "leaf1", "b", PRIO_NONE), 2, 22);
	const struct sample other = sample_at(SECONDS(2), entities_find(now, "leaf2", "x", -1),
		M_CFG_TRUST, entities_text(now, "l2"), 0);
	store_samples(store, &other, 1);
	store_event(store, SECONDS(2), "note", NULL, NULL, "kept in memory");
	assert_int_equal(rename(away, w.dir), 0);
	wait_written(store);
	assert_false(store_is_waiting(store));
	give_value(store, entities_intern(now, "leaf1", "a", PRIO_NONE), 3, 31);
	wait_written(store);
	assert_int_equal(value_of(&w, "leaf1", "a"), 31);
	assert_int_equal(value_of(&w, "leaf1", "b"), 22);
	assert_int_equal(value_of(&w, "leaf2", "x"), 21);
	assert_int_equal(world_int(&w, "SELECT count(*) FROM entity"), 5);
	assert_int_equal(world_int(&w, "SELECT count(*) FROM event WHERE kind='note'"), 1);
	assert_int_equal(world_int(&w,
				 "SELECT count(*) FROM samples WHERE device='leaf2' AND "
				 "metric='cfg.trust' AND value='l2'"),
		1);
	assert_int_equal(world_int(&w,
				 "SELECT count(*) FROM samples WHERE device='leaf1' AND "
				 "metric='cfg.trust' AND value='dscp'"),
		1);
	store_close(store);
	entities_free(now);
	world_done(&w);
}

/* Every write is refused from the start on; then the disk has room. */
static void full_at_the_start(void **state)
{
	struct db_world w;
	struct store_state said;
	world_init(&w);
	struct entities *entities = entities_new();
	fault_vfs_set(SQLITE_FULL);
	struct store *store = late_open(w.path, entities);
	assert_true(store_is_waiting(store));
	give_value(store, entities_intern(entities, "leaf1", "a", PRIO_NONE), 1, 11);
	wait_stage(w.path, STAGE_WAITING, &said);
	assert_non_null(strstr(said.reason, "disk is full"));
	fault_vfs_set(0);
	wait_written(store);
	assert_int_equal(value_of(&w, "leaf1", "a"), 11);
	store_close(store);
	entities_free(entities);
	world_done(&w);
}

/* ---- what it says -------------------------------------------------------- */

static void readers_are_told(void **state)
{
	struct db_world w;
	struct store_state said;
	world_init(&w);
	struct entities *entities = entities_new();
	struct store *store = late_open(w.path, entities);
	const uint32_t port = entities_intern(entities, "leaf1", "a", PRIO_NONE);
	wait_stage(w.path, STAGE_WRITING, &said);
	assert_true(said.running);
	assert_int_equal(said.pid, getpid());
	const int64_t before_ns = wall_now().ns;
	fault_vfs_set(SQLITE_FULL);
	give_value(store, port, 7, 1);
	wait_stage(w.path, STAGE_WAITING, &said);
	assert_true(said.since_ns >= before_ns && said.since_ns <= wall_now().ns);
	assert_non_null(strstr(said.reason, "the disk is full"));
	assert_int_equal(said.pending, 1);
	assert_int_equal(said.newest_ns, SECONDS(7));
	fault_vfs_set(0);
	wait_stage(w.path, STAGE_WRITING, &said);
	assert_string_equal(said.reason, "");
	store_close(store);
	assert_int_equal(store_state_read(w.path, &said), 0);
	assert_int_equal(said.stage, STAGE_STOPPED);
	assert_false(said.running);
	assert_int_equal(db_store_state(w.path, &said), -ENOENT);
	entities_free(entities);
	world_done(&w);
}

/* The file of the state is written by whoever may write it, and read by people who did not. */
static void state_is_hostile(void **state)
{
	struct db_world w;
	char name[sizeof(w.path) + 8];
	struct store_state said;
	world_init(&w);
	snprintf(name, sizeof(name), "%s.state", w.path);
	static const char *const texts[] = {"", "\n\n\n", "rocewatch-state 1\nend 2\n",
		"rocewatch-state 1\nstage waiting\nreason \x1b[2Jhello\nend 1\n",
		"rocewatch-state 1\nstage nothing\npid -7\nreason x\nend 1\n"};
	for (size_t i = 0; i < rw_countof(texts); i++) {
		FILE *f = fopen(name, "w");
		assert_non_null(f);
		fputs(texts[i], f);
		fclose(f);
		assert_int_equal(store_state_read(w.path, &said), 0);
		assert_false(said.running);
		assert_null(strchr(said.reason, '\x1b'));
		assert_int_equal(said.pid, 0);
	}
	unlink(name);
	assert_int_equal(store_state_read(w.path, &said), -ENOENT);
	assert_int_equal(mkfifo(name, 0600), 0); /* does not block */
	assert_int_equal(store_state_read(w.path, &said), 0);
	assert_false(said.running);
	world_done(&w);
}

/* ---- locks --------------------------------------------------------------- */

/* Somebody who got hold of the lock file for reading: every shared lock there is. */
static void reader_is_not_in_the_way(void **state)
{
	struct db_world w;
	char name[sizeof(w.path) + 8];
	struct err e = {0};
	struct store *second;
	struct flock lock = {.l_type = F_RDLCK, .l_whence = SEEK_SET};
	world_init(&w);
	struct entities *entities = entities_new(), *other = entities_new();
	store_close(late_open(w.path, entities));
	snprintf(name, sizeof(name), "%s.lock", w.path);
	struct stat st;
	assert_int_equal(stat(name, &st), 0);
	assert_int_equal(st.st_mode & 0777, 0600); /* readers do not get that far */
	const int fd = open(name, O_RDONLY);
	assert_int_equal(flock(fd, LOCK_SH), 0);
	struct store *store = late_open(w.path, entities);
	const struct store_options o = {.path = w.path};
	assert_int_equal(db_store_open(&o, other, &second, &e), -EBUSY);
	assert_non_null(strstr(e.text, "being written by another rocewatch"));
	store_close(store);
	assert_int_equal(flock(fd, LOCK_UN), 0);
	assert_int_equal(fcntl(fd, F_OFD_SETLK, &lock), 0);
	store = late_open(w.path, entities);
	assert_int_equal(db_store_open(&o, other, &second, &e), -EBUSY);
	assert_int_equal(db_writer_pid(w.path), getpid());
	store_close(store);
	close(fd);
	assert_int_equal(db_writer_pid(w.path), 0);
	entities_free(entities);
	entities_free(other);
	world_done(&w);
}

/* A hard link has another name and another lock file; it is the same database. */
static void hard_link_is_locked(void **state)
{
	struct db_world w;
	char name[sizeof(w.path) + 8], file[sizeof(w.path) + 16];
	struct err e = {0};
	struct store *second;
	world_init(&w);
	struct entities *entities = entities_new(), *other = entities_new();
	struct store *store = late_open(w.path, entities);
	snprintf(name, sizeof(name), "%s.link", w.path);
	assert_int_equal(link(w.path, name), 0);
	const struct store_options o = {.path = name};
	assert_int_equal(db_store_open(&o, other, &second, &e), -EBUSY);
	assert_non_null(strstr(e.text, "under another of its names"));
	store_close(store);
	store = late_open(name, other); /* alone it may */
	store_close(store);
	static const char *const suffixes[] = {"", "-wal", "-shm", ".lock", ".state"};
	for (size_t i = 0; i < rw_countof(suffixes); i++) {
		snprintf(file, sizeof(file), "%s%s", name, suffixes[i]);
		unlink(file);
	}
	entities_free(entities);
	entities_free(other);
	world_done(&w);
}

/* A refused agent does not write over what the running one says. */
static void refused_is_silent(void **state)
{
	struct db_world w;
	struct store_state said;
	world_init(&w);
	struct entities *entities = entities_new();
	struct store *store = late_open(w.path, entities);
	wait_stage(w.path, STAGE_WRITING, &said);
	const pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		struct store *second;
		struct err e = {0};
		const struct store_options o = {.path = w.path};
		_exit(db_store_open(&o, entities_new(), &second, &e) == -EBUSY ? 0 : 1);
	}
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(db_store_state(w.path, &said), 0);
	assert_int_equal(said.pid, getpid());
	assert_int_equal(said.stage, STAGE_WRITING);
	store_close(store);
	entities_free(entities);
	world_done(&w);
}

/* Another program with the database open. It is begun before the store: a child of a process whose
 * other threads use SQLite may find its mutexes locked for ever. */
struct tool {
	pid_t pid;
	int go, ready;
};

static void tool_init(struct tool *tool, const char *path, const char *sql)
{
	int go[2], ready[2];
	char x;

	assert_int_equal(pipe(go), 0);
	assert_int_equal(pipe(ready), 0);
	tool->pid = fork();
	assert_true(tool->pid >= 0);
	if (tool->pid == 0) {
		sqlite3 *db;
		close(go[1]);
		if (read(go[0], &x, 1) != 1)
			_exit(1);
		sqlite3_open_v2(path, &db, SQLITE_OPEN_READWRITE, NULL);
		sqlite3_exec(db, sql, NULL, NULL, NULL);
		if (write(ready[1], "x", 1) == 1)
			(void)!read(go[0], &x, 1); /* until the test ends, however it does */
		_exit(0);
	}
	close(go[0]);
	close(ready[1]);
	tool->go = go[1];
	tool->ready = ready[0];
}

/* It opens the database and runs its statement. */
static void tool_run(const struct tool *tool)
{
	char x;

	assert_int_equal(write(tool->go, "x", 1), 1);
	assert_int_equal(read(tool->ready, &x, 1), 1);
}

static void tool_kill(const struct tool *tool)
{
	kill(tool->pid, SIGKILL);
	waitpid(tool->pid, NULL, 0);
	close(tool->go);
	close(tool->ready);
}

/* "BEGIN EXCLUSIVE" in a shell: what was given waits, with the name of who is in the way. */
static void locked_by_another_tool(void **state)
{
	struct db_world w;
	struct store_state said;
	char pid_text[32];
	struct tool tool;
	world_init(&w);
	tool_init(&tool, w.path, "BEGIN IMMEDIATE");
	struct entities *entities = entities_new();
	struct store *store = late_open(w.path, entities);
	const uint32_t port = entities_intern(entities, "leaf1", "a", PRIO_NONE);
	give_value(store, port, 1, 11);
	wait_written(store);
	tool_run(&tool);
	give_value(store, port, 2, 12);
	wait_stage(w.path, STAGE_WAITING, &said);
	const int64_t until_ns = mono_now().ns + DEADLINE_NS;
	while (!strstr(said.reason, "locked")) { /* at first it is only a write that takes long */
		if (mono_now().ns > until_ns)
			fail_msg("waited for 'locked', it is '%s'", said.reason);
		poll(NULL, 0, 50);
		assert_int_equal(store_state_read(w.path, &said), 0);
	}
	snprintf(pid_text, sizeof(pid_text), "pid %d (", (int)tool.pid);
	if (access("/proc/locks", R_OK) == 0)
		assert_non_null(strstr(said.reason, pid_text));
	tool_kill(&tool);
	wait_written(store);
	assert_int_equal(value_of(&w, "leaf1", "a"), 12);
	store_close(store);
	entities_free(entities);
	world_done(&w);
}

/* ---- who holds the log --------------------------------------------------- */

static void holder_has_a_name(void **state)
{
	struct db_world w;
	struct tool tool;
	char pid_text[32];
	rw_cleanup(str_done) struct str who = {0};
	world_init(&w);
	tool_init(&tool, w.path, "BEGIN; SELECT count(*) FROM entity");
	struct entities *entities = entities_new();
	struct store *store = late_open(w.path, entities);
	give_value(store, entities_intern(entities, "leaf1", "a", PRIO_NONE), 1, 11);
	wait_written(store);
	tool_run(&tool);
	db_store_holders(w.path, &who);
	snprintf(pid_text, sizeof(pid_text), "pid %d (", (int)tool.pid);
	if (access("/proc/locks", R_OK) == 0 && (!who.s || !strstr(who.s, pid_text)))
		fail_msg("%s is not in: %s", pid_text, str_or(who.s, ""));
	tool_kill(&tool);
	store_close(store);
	entities_free(entities);
	world_done(&w);
}

/* ---- damage -------------------------------------------------------------- */

static size_t damaged_files(const struct db_world *w, bool erase)
{
	size_t n = 0;
	DIR *dir = opendir(w->dir);
	assert_non_null(dir);
	for (const struct dirent *d = readdir(dir); d; d = readdir(dir)) {
		char name[512];
		if (!strstr(d->d_name, ".damaged-"))
			continue;
		n++;
		snprintf(name, sizeof(name), "%s/%s", w->dir, d->d_name);
		if (erase)
			unlink(name);
	}
	closedir(dir);
	return n;
}

/* Page 1 says that it is ours; the tables behind it are rubbish. */
static void damaged_file_is_set_aside(void **state)
{
	struct db_world w;
	struct err e = {0};
	char rubbish[4096];
	world_init(&w);
	struct entities *entities = entities_new();
	struct store *store = late_open(w.path, entities);
	give_value(store, entities_intern(entities, "leaf1", "a", PRIO_NONE), 1, 11);
	store_close(store);
	entities_free(entities);
	const int fd = open(w.path, O_RDWR);
	memset(rubbish, 0x5a, sizeof(rubbish));
	assert_int_equal(pwrite(fd, rubbish, sizeof(rubbish), 100), sizeof(rubbish));
	close(fd);

	/* at first it may have been read wrongly */
	entities = entities_new();
	store = late_open(w.path, entities);
	assert_true(store_is_waiting(store));
	give_value(store, entities_intern(entities, "leaf1", "a", PRIO_NONE), 1, 11);
	for (int again = 0; again < 2; again++)
		assert_int_equal(store_flush(store, &e), -EBADMSG);
	store_close(store);
	assert_int_equal(damaged_files(&w, false), 0);
	entities_free(entities);
	entities = entities_new();
	const struct store_options o = {.path = w.path, .set_aside_ns = 1};
	assert_int_equal(db_store_open(&o, entities, &store, &e), 0);
	assert_int_equal(entities_count(entities), 0);
	give_value(store, entities_intern(entities, "leaf1", "a", PRIO_NONE), 2, 12);
	wait_written(store);
	assert_int_equal(value_of(&w, "leaf1", "a"), 12);
	assert_int_equal(world_int(&w, "SELECT count(*) FROM event WHERE kind='store_damaged'"), 1);
	assert_true(damaged_files(&w, false) >= 1);
	store_close(store);
	entities_free(entities);
	damaged_files(&w, true);
	world_done(&w);
}

/* The same damage in a file of somebody else: it stays, and the start is refused. */
static void foreign_file_is_left_alone(void **state)
{
	struct db_world w;
	struct store *store;
	struct err e = {0};
	sqlite3 *db;
	world_init(&w);
	assert_int_equal(sqlite3_open(w.path, &db), SQLITE_OK);
	sqlite3_exec(db, "CREATE TABLE theirs(x)", NULL, NULL, NULL);
	sqlite3_close(db);
	struct entities *entities = entities_new();
	const struct store_options o = {.path = w.path};
	assert_int_equal(db_store_open(&o, entities, &store, &e), -EINVAL);
	assert_int_equal(damaged_files(&w, false), 0);
	assert_int_equal(world_int(&w, "SELECT count(*) FROM theirs"), 0);
	entities_free(entities);
	world_done(&w);
}

static int works(void **state)
{
	fault_vfs_set(0);
	return 0;
}

int main(void)
{
	fault_vfs_register();
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(names_of_a_late_file, works),
		cmocka_unit_test_setup(full_at_the_start, works),
		cmocka_unit_test_setup(readers_are_told, works),
		cmocka_unit_test_setup(state_is_hostile, works),
		cmocka_unit_test_setup(reader_is_not_in_the_way, works),
		cmocka_unit_test_setup(hard_link_is_locked, works),
		cmocka_unit_test_setup(refused_is_silent, works),
		cmocka_unit_test_setup(locked_by_another_tool, works),
		cmocka_unit_test_setup(holder_has_a_name, works),
		cmocka_unit_test_setup(damaged_file_is_set_aside, works),
		cmocka_unit_test_setup(foreign_file_is_left_alone, works),
	};
	return cmocka_run_group_tests_name("store_late", tests, NULL, NULL);
}
