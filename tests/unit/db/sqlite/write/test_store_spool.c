/* The spool in the file: what is committed waits there until it was sent, and no longer; beyond its
 * bound the oldest goes, and how much that was is told. */
#include "base/arena.h"
#include "base/cleanup.h"
#include "db/sqlite/sqlite.h"
#include "db/sqlite/write/store_spool.h"
#include "db/sqlite/write/store_write.h"
#include "tests/unit/db/db_world.h"

enum { COMMITS = 250 };

struct rig {
	struct db_world world;
	void *writer;
	struct store_options o;
};

static const struct record_entity leaf = {.id = 1,
	.owner = 1,
	.parent = ENTITY_NONE,
	.device = "leaf1",
	.port = "",
	.priority = PRIO_NONE};

static int setup(void **state)
{
	struct rig *r = rw_calloc(1, sizeof(*r));
	struct err e = {0};
	world_init(&r->world);
	r->o = (struct store_options){.path = r->world.path, .spool = true};
	if (sqlite_backend.open(&r->o, &r->writer, &e) < 0)
		fail_msg("%s", e.text);
	writer_note_names(r->writer, &leaf, 1);
	for (int i = 0; i < COMMITS; i++) {
		const struct sample v[] = {
			sample_at(SECONDS(i), 1, M_PORT_IN_OCTETS, (uint64_t)i, 0),
			sample_at(SECONDS(i), 1, M_PORT_OUT_OCTETS, (uint64_t)i, 0)};
		assert_int_equal(sqlite_backend.begin(r->writer, &e), 0);
		assert_int_equal(sqlite_backend.samples(r->writer, v, rw_countof(v), &e), 0);
		assert_int_equal(sqlite_backend.commit(r->writer, &e), 0);
	}
	*state = r;
	return 0;
}

static int teardown(void **state)
{
	struct rig *r = *state;
	sqlite_backend.close(r->writer);
	world_done(&r->world);
	free(r);
	return 0;
}

static struct spool_waiting waiting(const struct rig *r, int64_t after)
{
	struct spool_waiting ret;
	struct err e = {0};
	if (spool_read_waiting(r->world.path, after, &ret, &e) < 0)
		fail_msg("%s", e.text);
	return ret;
}

static int64_t first_id(const struct rig *r)
{
	return world_int(&r->world, "SELECT min(id) FROM spool");
}

/* As the store's thread does it, until nothing is left to do. */
static void maintain(struct rig *r)
{
	struct err e = {0};
	bool more = true;
	sqlite_backend.keep(r->writer, &r->o);
	for (int i = 0; i < COMMITS && more; i++)
		if (sqlite_backend.maintain(r->writer, SECONDS(COMMITS), &more, &e) < 0)
			fail_msg("%s", e.text);
	assert_false(more);
}

static void what_was_sent_goes_and_no_more(void **state)
{
	struct rig *r = *state;
	const int64_t first = first_id(r);
	maintain(r); /* nothing was sent */
	assert_int_equal(waiting(r, 0).rows, COMMITS);
	r->o.spool_done = first + 99;
	maintain(r);
	const struct spool_waiting left = waiting(r, 0);
	assert_int_equal(left.rows, COMMITS - 100);
	assert_int_equal(left.samples, 2 * (COMMITS - 100));
	assert_int_equal(left.lost, 0);
	assert_int_equal(first_id(r), first + 100);
}

/* A hundred rows at a time, and none that fits. */
static void beyond_its_bound_the_oldest_goes(void **state)
{
	struct rig *r = *state;
	const struct spool_waiting all = waiting(r, 0);
	const int64_t first = first_id(r);
	r->o.spool_bytes = all.bytes;
	maintain(r);
	assert_int_equal(waiting(r, 0).rows, COMMITS);
	r->o.spool_bytes = all.bytes - 1;
	maintain(r);
	const struct spool_waiting left = waiting(r, 0);
	assert_int_equal(left.rows, COMMITS - 100);
	assert_int_equal(left.lost, 200); /* samples */
	assert_int_equal(first_id(r), first + 100);
	assert_int_equal(left.newest, all.newest);
	r->o.spool_bytes = left.bytes / 2; /* once more, counted on */
	maintain(r);
	assert_int_equal(waiting(r, 0).lost, 400);
}

static size_t read_rows(const struct rig *r, struct spool_ask ask, struct spool_part_row *ret_last)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct spool_part_row *rows;
	struct err e = {0};
	size_t n;
	ask.path = r->world.path;
	if (spool_read_rows(&ask, a, &rows, &n, &e) < 0)
		fail_msg("%s", e.text);
	if (n > 0)
		*ret_last = rows[n - 1];
	return n;
}

/* At most so many samples and bytes, at least one row; a range that was begun is read whole. */
static void it_is_read_in_parts(void **state)
{
	struct rig *r = *state;
	struct spool_part_row last;
	const int64_t first = first_id(r);
	const size_t row = waiting(r, 0).bytes / COMMITS;
	assert_int_equal(
		read_rows(r, (struct spool_ask){.samples = 21, .bytes = 1 << 20}, &last), 10);
	assert_true(last.id == first + 9 && last.samples == 2);
	assert_int_equal(
		read_rows(r, (struct spool_ask){.samples = 1, .bytes = 1 << 20}, &last), 1);
	assert_int_equal(read_rows(r, (struct spool_ask){.samples = 1000, .bytes = 1}, &last), 1);
	assert_in_range(read_rows(r, (struct spool_ask){.samples = 1000, .bytes = 20 * row}, &last),
		10, 30);
	assert_int_equal(
		read_rows(r,
			(struct spool_ask){
				.after = first + 4, .until = first + 54, .samples = 1, .bytes = 1},
			&last),
		50);
	assert_int_equal(last.id, first + 54);
	assert_int_equal(
		read_rows(r, (struct spool_ask){.after = last.id + 1000, .samples = 9}, &last), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(what_was_sent_goes_and_no_more, setup, teardown),
		cmocka_unit_test_setup_teardown(beyond_its_bound_the_oldest_goes, setup, teardown),
		cmocka_unit_test_setup_teardown(it_is_read_in_parts, setup, teardown),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
