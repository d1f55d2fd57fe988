/* The store above any database: what a transaction holds, and what becomes of it when one of its
 * steps fails. The backend is made up: it notes what it was asked. */
#include <errno.h>
#include <poll.h>
#include <stdatomic.h>

#include "base/cleanup.h"
#include "db/store/store.h"
#include "db/store/store_backend.h"
#include "tests/deadline.h"
#include "tests/unit/db/db_world.h"

enum { SEEN = 100 };

struct made_up {
	int begins, commits, rollbacks; /* asked */
	int fail_begin, fail_samples, fail_commit; /* that many times from now on */
	bool refuse_events; /* they are bad rows */
	bool open; /* a transaction */
	struct sample samples[SEEN]; /* committed */
	size_t n_samples, n_open;
	unsigned events, open_events; /* committed; by the transaction */
	int64_t tried_ns[SEEN]; /* when transactions began, monotonic: below .tried */
	atomic_int tried;
};

static struct made_up backend;
static bool unreadable; /* when the newest sample was */
static char remembered[200];

static int fails(int *times, struct err *e)
{
	if (*times == 0)
		return 0;
	(*times)--;
	return err_set(e, -EIO, "made up: the disk refuses");
}

static int made_open(const struct store_options *options, void **ret, struct err *e)
{
	*ret = &backend;
	return 0;
}

static int made_begin(void *state, struct err *e)
{
	if (backend.begins < SEEN)
		backend.tried_ns[backend.begins] = mono_now().ns;
	backend.begins++;
	atomic_store(&backend.tried, backend.begins);
	const int r = fails(&backend.fail_begin, e);
	if (r == 0) {
		assert_false(backend.open); /* the one before ended, one way or the other */
		backend.open = true;
		backend.n_open = backend.n_samples;
		backend.open_events = 0;
	}
	return r;
}

static int made_samples(void *state, const struct sample *samples, size_t n, struct err *e)
{
	assert_true(backend.open);
	for (size_t i = 0; i < n && backend.n_open < SEEN; i++)
		backend.samples[backend.n_open++] = samples[i];
	return fails(&backend.fail_samples, e);
}

static int made_record(void *state, const struct store_record *record, struct err *e)
{
	assert_true(backend.open);
	if (record->kind != RECORD_EVENT)
		return 0;
	if (backend.refuse_events) {
		err_set(e, -EIO, "made up: the row is bad");
		return STORE_BAD_RECORD;
	}
	backend.open_events++;
	return 0;
}

static int made_commit(void *state, struct err *e)
{
	backend.commits++;
	const int r = fails(&backend.fail_commit, e);
	if (r == 0) {
		backend.n_samples = backend.n_open;
		backend.events += backend.open_events;
		backend.open = false;
	}
	return r;
}

static void made_rollback(void *state)
{
	backend.rollbacks++;
	backend.open = false;
}

static int made_nothing(void *state, struct err *e)
{
	return 0;
}
static uint64_t made_log_bytes(const void *state)
{
	return 0;
}
static int made_newest(void *state, int64_t *ret)
{
	*ret = 0;
	return unreadable ? -EIO : 0;
}
static int made_compact(
	void *state, int64_t now_ns, int64_t budget_ns, bool *ret_more, struct err *e)
{
	*ret_more = false;
	return 0;
}
static int made_recall(void *state, const char *key, char *buf, size_t size)
{
	return -ENOENT;
}
static int made_remember(void *state, const char *key, const char *text)
{
	snprintf(remembered, sizeof(remembered), "%s", text);
	return 0;
}
static void made_close(void *state)
{
}

static const struct store_backend made = {.open = made_open,
	.begin = made_begin,
	.samples = made_samples,
	.record = made_record,
	.commit = made_commit,
	.rollback = made_rollback,
	.settle = made_nothing,
	.rescue = made_nothing,
	.log_bytes = made_log_bytes,
	.newest = made_newest,
	.compact = made_compact,
	.recall = made_recall,
	.remember = made_remember,
	.interrupt = made_close,
	.close = made_close};

struct rig {
	struct db_world world;
	struct entities *entities;
	struct store *store;
	uint32_t port;
};

static void rig_init(struct rig *rig, bool replay)
{
	struct err e = {0};
	world_init(&rig->world);
	backend = (struct made_up){0};
	rig->entities = entities_new();
	const struct store_options o = {.path = rig->world.path, .replay = replay};
	if (store_open(&made, &o, rig->entities, &rig->store, &e) < 0)
		fail_msg("%s", e.text);
	rig->port = entities_intern(rig->entities, "leaf1", "swp1", PRIO_NONE);
}

static void rig_close(struct rig *rig)
{
	deadline_begin("store_close(): the end of the store's threads");
	store_close(rig->store);
	deadline_end();
	entities_free(rig->entities);
	world_done(&rig->world);
}

static void give(struct rig *rig, int second)
{
	const struct sample s =
		sample_at(SECONDS(second), rig->port, M_PORT_IN_OCTETS, (uint64_t)second, 0);
	store_samples(rig->store, &s, 1);
}

static int flush(struct rig *rig)
{
	struct err e = {0};
	deadline_begin("store_flush(): that what was given is committed or told as failed");
	const int r = store_flush(rig->store, &e);
	deadline_end();
	return r;
}

/* Samples 0 .. @n - 1, each once and in order. */
static void holds(size_t n)
{
	assert_int_equal(backend.n_samples, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(backend.samples[i].value, i);
}

static void one_transaction_holds_all(void **state)
{
	struct rig rig;
	struct store_stats stats;
	rig_init(&rig, true);
	store_event(rig.store, SECONDS(0), "first", NULL, NULL, NULL);
	give(&rig, 0);
	store_event(rig.store, SECONDS(1), "second", NULL, NULL, NULL);
	give(&rig, 1);
	store_event(rig.store, SECONDS(1), "third", NULL, NULL, NULL);
	assert_int_equal(flush(&rig), 0);
	holds(2);
	assert_int_equal(backend.events, 3);
	assert_int_equal(backend.begins, 1);
	assert_int_equal(backend.commits, 1);
	assert_int_equal(backend.rollbacks, 0);
	store_stats(rig.store, &stats);
	assert_int_equal(stats.samples, 2);
	assert_int_equal(stats.pending, 0);
	rig_close(&rig);
}

/* One poll of a large fabric is more than a transaction takes: it is one all the same. */
static void more_than_a_transaction_is_one_alone(void **state)
{
	enum { MANY = 262145 };
	struct rig rig;
	rig_init(&rig, false);
	struct sample *many = rw_calloc(MANY, sizeof(*many));
	for (size_t i = 0; i < MANY; i++)
		many[i] = sample_at(SECONDS((int)i), rig.port, M_PORT_IN_OCTETS, i, 0);
	store_samples(rig.store, many, MANY);
	give(&rig, 1);
	assert_int_equal(flush(&rig), 0);
	assert_int_equal(backend.n_samples, SEEN); /* as many as it keeps */
	assert_int_equal(backend.commits, 2);
	free(many);
	rig_close(&rig);
}

/* Whichever step fails: nothing is lost, nothing is there twice, what came later stays later. */
static void a_failed_step_is_tried_again(void **state)
{
	int *const steps[] = {&backend.fail_begin, &backend.fail_samples, &backend.fail_commit};
	for (size_t i = 0; i < rw_countof(steps); i++) {
		struct rig rig;
		struct store_stats stats;
		rig_init(&rig, true);
		*steps[i] = 1;
		give(&rig, 0);
		store_event(rig.store, SECONDS(0), "kind", NULL, NULL, NULL);
		give(&rig, 1);
		const uint64_t number = store_handed(rig.store);
		assert_int_equal(flush(&rig), -EIO);
		assert_false(store_committed(rig.store, number));
		holds(0);
		assert_int_equal(backend.events, 0);
		assert_int_equal(backend.rollbacks, 1);
		store_stats(rig.store, &stats);
		assert_int_equal(stats.samples, 0);
		assert_int_equal(stats.pending, 2);
		assert_int_equal(stats.errors, 1);
		give(&rig, 2);
		assert_int_equal(flush(&rig), 0);
		holds(3);
		assert_true(store_committed(rig.store, number));
		assert_int_equal(backend.events, 1);
		rig_close(&rig);
	}
}

/* One row that no database takes does not keep the others from being stored. */
static void a_bad_row_is_left_out(void **state)
{
	struct rig rig;
	rig_init(&rig, true);
	backend.refuse_events = true;
	give(&rig, 0);
	store_event(rig.store, SECONDS(0), "kind", NULL, NULL, NULL);
	give(&rig, 1);
	assert_int_equal(flush(&rig), -EIO); /* it is told */
	assert_int_equal(backend.rollbacks, 1);
	assert_int_equal(flush(&rig), 0);
	holds(2);
	assert_int_equal(backend.events, 0);
	rig_close(&rig);
}

static void closing_commits(void **state)
{
	for (int replay = 0; replay < 2; replay++) {
		struct rig rig;
		rig_init(&rig, replay);
		give(&rig, 0);
		give(&rig, 1);
		rig_close(&rig);
		holds(2);
	}
}

/* The thread of its own: flush tells of a failure, and what failed is written by the next try. */
static void the_thread_tries_again(void **state)
{
	struct rig rig;
	rig_init(&rig, false);
	backend.fail_commit = 1;
	give(&rig, 0);
	const int first = flush(&rig); /* the failure may have been before it */
	assert_true(first == 0 || first == -EIO);
	assert_int_equal(flush(&rig), 0);
	holds(1);
	assert_int_equal(backend.rollbacks, 1);
	rig_close(&rig);
}

/* A disk that refuses is not asked over and over: a while passes before it is asked again, and it
 * gets longer. */
static void a_refusing_disk_gets_a_rest(void **state)
{
	struct rig rig;
	rig_init(&rig, false);
	backend.fail_commit = 2;
	give(&rig, 0);
	deadline_begin("the third attempt of a store whose disk refuses");
	while (atomic_load(&backend.tried) < 3)
		poll(NULL, 0, 5);
	deadline_end();
	const int64_t first_ns = backend.tried_ns[1] - backend.tried_ns[0],
		      second_ns = backend.tried_ns[2] - backend.tried_ns[1];
	if (first_ns < 200 * NS_PER_MS || second_ns < 400 * NS_PER_MS)
		fail_msg("asked again after %lld and %lld ms", (long long)(first_ns / NS_PER_MS),
			(long long)(second_ns / NS_PER_MS));
	assert_int_equal(flush(&rig), 0);
	holds(1);
	rig_close(&rig);
}

/* What the file holds cannot be read: its data count as very old, so that the clock vouches for
 * nothing and nothing is deleted by it. */
static void an_unreadable_past_vouches_for_nothing(void **state)
{
	struct rig rig;
	unreadable = true;
	rig_init(&rig, false);
	give(&rig, 0);
	assert_int_equal(flush(&rig), 0);
	rig_close(&rig);
	unreadable = false;
	if (strncmp(remembered, "1 1 1 ", 6) != 0) /* trusted: 1 ns after 1970; ahead */
		fail_msg("the clock is remembered as '%s'", remembered);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_transaction_holds_all),
		cmocka_unit_test(more_than_a_transaction_is_one_alone),
		cmocka_unit_test(a_failed_step_is_tried_again),
		cmocka_unit_test(a_bad_row_is_left_out),
		cmocka_unit_test(closing_commits),
		cmocka_unit_test(the_thread_tries_again),
		cmocka_unit_test(a_refusing_disk_gets_a_rest),
		cmocka_unit_test(an_unreadable_past_vouches_for_nothing),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
