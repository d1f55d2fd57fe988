/* The writer by itself, transaction by transaction: what becomes of its connection when one fails,
 * and of a deleted file when the copy of it cannot be made to last. */
#include <errno.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/str.h"
#include "db/sqlite/sqlite.h"
#include "db/sqlite/write/store_write.h"
#include "tests/faults/fault_vfs.h"
#include "tests/unit/db/db_world.h"

/* ---- a disk whose fsync() fails ------------------------------------------- */

static bool file_sync_fails, directory_sync_fails;

/* In the place of the C library's, in this program. */
int fsync(int fd)
{
	struct stat st;
	if (fstat(fd, &st) == 0 && (S_ISDIR(st.st_mode) ? directory_sync_fails : file_sync_fails)) {
		errno = EIO;
		return -1;
	}
	return (int)syscall(SYS_fsync, fd);
}

/* ---- a writer ------------------------------------------------------------- */

struct rig {
	struct db_world world;
	void *writer;
	int second; /* of the newest sample */
};

static const struct record_entity names[] = {
	{.id = 1,
		.owner = 1,
		.parent = ENTITY_NONE,
		.device = "leaf1",
		.port = "",
		.priority = PRIO_NONE},
	{.id = 2,
		.owner = 1,
		.parent = ENTITY_NONE,
		.device = "leaf1",
		.port = "swp1",
		.priority = PRIO_NONE},
};

static int setup(void **state)
{
	struct rig *r = rw_calloc(1, sizeof(*r));
	struct err e = {0};
	world_init(&r->world);
	fault_vfs_plan(NULL);
	file_sync_fails = directory_sync_fails = false;
	const struct store_options o = {.path = r->world.path, .replay = true};
	if (sqlite_backend.open(&o, &r->writer, &e) < 0)
		fail_msg("%s", e.text);
	writer_note_names(r->writer, names, rw_countof(names));
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;
	fault_vfs_plan(NULL);
	file_sync_fails = directory_sync_fails = false;
	sqlite_backend.close(r->writer);
	world_done(&r->world);
	free(r);
	return 0;
}

/* A transaction of one sample, as the store makes it. */
static int transaction(struct rig *r, struct err *e)
{
	r->second++;
	const struct sample s =
		sample_at(SECONDS(r->second), 2, M_PORT_IN_OCTETS, (uint64_t)r->second, 0);
	int rc = sqlite_backend.begin(r->writer, e);
	if (rc == 0)
		rc = sqlite_backend.samples(r->writer, &s, 1, e);
	if (rc == 0)
		rc = sqlite_backend.commit(r->writer, e);
	if (rc < 0)
		sqlite_backend.rollback(r->writer);
	return rc;
}

static void writes(struct rig *r)
{
	struct err e = {0};
	if (transaction(r, &e) < 0)
		fail_msg("%s", e.text);
}

/* Its commit fails with @rc. */
static void fails(struct rig *r, int rc)
{
	const struct fault_plan plan = {
		.ops = FAULT_BIT(FAULT_WRITE), .rc = rc, .first = 1, .times = INT64_MAX};
	struct err e = {0};
	fault_vfs_plan(&plan);
	assert_true(transaction(r, &e) < 0);
	fault_vfs_plan(NULL);
}

static bool is_open(const struct rig *r)
{
	return ((const struct store_writer *)r->writer)->db != NULL;
}

static int64_t rows(const struct rig *r)
{
	return world_int(&r->world, "SELECT count(*) FROM samples");
}

/* ---- the connection -------------------------------------------------------- */

/* One failure is nothing: to open a file costs more than to try again, and what is known of it has
 * to be read anew. Three in a row are the connection's fault; a success between them ends the row.
 */
static void is_given_up_at_the_third_failure(void **state)
{
	struct rig *r = *state;
	writes(r);
	for (int round = 0; round < 2; round++) {
		fails(r, SQLITE_IOERR_WRITE);
		fails(r, SQLITE_IOERR_WRITE);
		assert_true(is_open(r));
		writes(r);
	}
	fails(r, SQLITE_IOERR_WRITE);
	fails(r, SQLITE_IOERR_WRITE);
	fails(r, SQLITE_IOERR_WRITE);
	assert_false(is_open(r));
	writes(r); /* by another one */
	assert_true(is_open(r));
	assert_int_equal(rows(r), 4);
	assert_int_equal(world_int(&r->world, "SELECT count(*) FROM series"), 1);
}

/* A full disk is not the connection's fault, however long it is full. */
static void is_kept_while_the_disk_is_full(void **state)
{
	struct rig *r = *state;
	writes(r);
	for (int i = 0; i < 10; i++)
		fails(r, SQLITE_FULL);
	assert_true(is_open(r));
	writes(r);
	assert_int_equal(rows(r), 2);
}

/* The file is gone: the connection holds what it had, so it is not closed, and its content is put
 * back as soon as that can be written. */
static void is_kept_when_the_file_is_gone(void **state)
{
	struct rig *r = *state;
	struct err e = {0};
	writes(r);
	assert_int_equal(unlink(r->world.path), 0);
	for (int i = 0; i < 3; i++)
		fails(r, SQLITE_IOERR_WRITE);
	assert_true(is_open(r));
	writes(r);
	assert_int_equal(sqlite_backend.rescue(r->writer, &e), 0); /* it was done by then */
	assert_int_equal(rows(r), 2);
}

/* Another file stands there: nothing is written into it, and it stays as it is. */
static void another_file_is_not_written(void **state)
{
	struct rig *r = *state;
	struct err e = {0};
	writes(r);
	for (int i = 0; i < 3; i++)
		fails(r, SQLITE_IOERR_WRITE);
	assert_false(is_open(r));
	rw_cleanup(str_done) struct str aside = {0};
	str_addf(&aside, "%s.rescue", r->world.path);
	assert_int_equal(rename(r->world.path, aside.s), 0);
	assert_true(transaction(r, &e) < 0); /* none is there */
	assert_non_null(strstr(e.text, "put it back"));
	assert_int_equal(access(r->world.path, F_OK), -1);
	FILE *file = fopen(r->world.path, "w");
	assert_non_null(file);
	fclose(file);
	assert_int_equal(transaction(r, &e), -EEXIST);
	assert_non_null(strstr(e.text, "another file stands at"));
	assert_int_equal(rename(aside.s, r->world.path), 0);
	writes(r);
	assert_int_equal(rows(r), 2);
}

/* A copy that was saved once is no reason to touch the file that is there. */
static void a_file_that_is_there_is_not_replaced(void **state)
{
	struct rig *r = *state;
	struct err e = {0};
	rw_cleanup(str_done) struct str copy = {0}, log = {0};
	str_addf(&copy, "%s.rescue", r->world.path);
	str_addf(&log, "%s-wal", r->world.path);
	writes(r); /* into the log beside the file */
	assert_int_equal(access(log.s, F_OK), 0);
	FILE *file = fopen(copy.s, "w");
	assert_non_null(file);
	fclose(file);
	assert_int_equal(writer_find_rescued(r->world.path, &e), 0);
	assert_int_equal(access(log.s, F_OK), 0);
	assert_int_equal(rows(r), 1);
	unlink(copy.s);
}

/* ---- the copy of a deleted file -------------------------------------------- */

/* A copy that a power cut could still take away is no rescue: the deleted file stays open, and it
 * is tried again. */
static void a_copy_that_does_not_last_is_no_rescue(void **state)
{
	struct rig *r = *state;
	bool *const fails[] = {&file_sync_fails, &directory_sync_fails};
	writes(r);
	assert_int_equal(unlink(r->world.path), 0);
	for (size_t i = 0; i < rw_countof(fails); i++) {
		struct err e = {0};
		*fails[i] = true;
		assert_int_equal(sqlite_backend.rescue(r->writer, &e), -EIO);
		assert_non_null(strstr(e.text, r->world.path));
		assert_int_equal(access(r->world.path, F_OK), -1);
		*fails[i] = false;
		writes(r); /* into the deleted one */
	}
	struct err e = {0};
	assert_int_equal(sqlite_backend.rescue(r->writer, &e), 1);
	assert_int_equal(rows(r), 3);
	writes(r);
	assert_int_equal(rows(r), 4);
	assert_int_equal(sqlite_backend.rescue(r->writer, &e), 0);
}

/* ---- names ------------------------------------------------------------------ */

/* A transaction that is taken back while it is open takes its names and series with it: what the
 * file does not have is not believed to be there. */
static void what_was_taken_back_is_written_again(void **state)
{
	struct rig *r = *state;
	struct err e = {0};
	const struct sample s = sample_at(SECONDS(0), 2, M_PORT_IN_OCTETS, 1, 0);
	const struct record_text text = {.id = 1, .text = "dscp"};
	const struct sample trust = sample_at(SECONDS(0), 2, M_CFG_TRUST, 1, 0);
	writer_note_texts(r->writer, &text, 1);
	for (int round = 0; round < 2; round++) {
		assert_int_equal(sqlite_backend.begin(r->writer, &e), 0);
		assert_int_equal(sqlite_backend.samples(r->writer, &s, 1, &e), 0);
		assert_int_equal(sqlite_backend.samples(r->writer, &trust, 1, &e), 0);
		sqlite_backend.rollback(r->writer);
		assert_int_equal(world_int(&r->world, "SELECT count(*) FROM entity"), 0);
	}
	assert_int_equal(sqlite_backend.begin(r->writer, &e), 0);
	assert_int_equal(sqlite_backend.samples(r->writer, &s, 1, &e), 0);
	assert_int_equal(sqlite_backend.samples(r->writer, &trust, 1, &e), 0);
	assert_int_equal(sqlite_backend.commit(r->writer, &e), 0);
	assert_int_equal(rows(r), 2);
	assert_int_equal(
		world_int(&r->world, "SELECT count(*) FROM samples WHERE device='leaf1'"), 2);
	assert_int_equal(world_int(&r->world, "SELECT count(*) FROM entity WHERE port='swp1'"), 1);
	assert_int_equal(world_int(&r->world, "SELECT count(*) FROM series"), 2);
	assert_int_equal(world_int(&r->world, "SELECT count(*) FROM text WHERE text='dscp'"), 1);
	sqlite_backend.rollback(r->writer); /* none is open: it takes nothing back */
	assert_int_equal(rows(r), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(is_given_up_at_the_third_failure, setup, teardown),
		cmocka_unit_test_setup_teardown(is_kept_while_the_disk_is_full, setup, teardown),
		cmocka_unit_test_setup_teardown(is_kept_when_the_file_is_gone, setup, teardown),
		cmocka_unit_test_setup_teardown(another_file_is_not_written, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_copy_that_does_not_last_is_no_rescue, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_file_that_is_there_is_not_replaced, setup, teardown),
		cmocka_unit_test_setup_teardown(
			what_was_taken_back_is_written_again, setup, teardown),
	};
	log_set_level(LOG_ERROR_);
	fault_vfs_register();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
