/* Readers and the write-ahead log: it stays short under readers that come one before the other has
 * gone, under one that takes its rows slowly, and a statement of ours ends after its time. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <cmocka.h>

#include "db/open.h"
#include "db/series/history.h"
#include "db/store/store.h"
#include "tests/unit/db/db_world.h"

#define LOG_PAGES 20
#define BEGINNINGS 3 /* so often the log has to begin anew */
#define PATIENCE_S 60

/* ---- a clock that leaps -------------------------------------------------- */

static atomic_long leap_s, leaps; /* with each look */

mono_t __real_mono_now(void);
mono_t __wrap_mono_now(void);
mono_t __wrap_mono_now(void)
{
	mono_t t = __real_mono_now();

	t.ns += (leaps += leap_s) * NS_PER_S;
	return t;
}

/* ---- a store that commits ------------------------------------------------ */

struct writing {
	struct db_world world;
	struct entities *entities;
	struct store *store;
	int n, beginnings;
	uint8_t salt[8]; /* of the log: another one each time it begins anew */
};

static void writing_init(struct writing *w)
{
	struct err e = {0};

	*w = (struct writing){.entities = entities_new()};
	world_init(&w->world);
	const struct store_options o = {
		.path = w->world.path, .replay = true, .log_pages = LOG_PAGES};
	if (db_store_open(&o, w->entities, &w->store, &e) < 0)
		fail_msg("%s", e.text);
}

static void writing_done(struct writing *w)
{
	store_close(w->store);
	entities_free(w->entities);
	world_done(&w->world);
}

static void writing_commit(struct writing *w)
{
	static char text[20000];
	char path[128];
	uint8_t head[24] = {0};
	struct err e = {0};

	memset(text, 'x', sizeof(text) - 1);
	store_event(w->store, SECONDS(w->n++), "probe", NULL, "tester", text);
	assert_int_equal(store_flush(w->store, &e), 0);
	/* https://www.sqlite.org/fileformat2.html#walformat: two numbers at byte 16 */
	snprintf(path, sizeof(path), "%s-wal", w->world.path);
	FILE *log = fopen(path, "r");
	if (log && fread(head, 1, sizeof(head), log) == sizeof(head)) {
		w->beginnings += memcmp(head + 16, w->salt, sizeof(w->salt)) != 0;
		memcpy(w->salt, head + 16, sizeof(w->salt));
	}
	if (log)
		fclose(log);
}

/* ---- one reader before the other has gone -------------------------------- */

struct chain {
	const char *path;
	atomic_bool stop;
	atomic_int links;
};

static void *chain_run(void *arg)
{
	struct chain *chain = arg;
	sqlite3 *db[2];

	for (int i = 0; i < 2; i++)
		sqlite3_open_v2(chain->path, &db[i], SQLITE_OPEN_READONLY, NULL);
	for (int i = 0; !chain->stop; i = !i) {
		sqlite3_exec(db[i], "BEGIN; SELECT count(*) FROM event", NULL, NULL, NULL);
		usleep(3000);
		sqlite3_exec(db[!i], "COMMIT", NULL, NULL, NULL);
		chain->links++;
	}
	for (int i = 0; i < 2; i++)
		sqlite3_close(db[i]);
	return NULL;
}

static void chain_of_readers(void **state)
{
	struct writing w;
	struct chain chain = {0};
	pthread_t thread;

	writing_init(&w);
	writing_commit(&w);
	chain.path = w.world.path;
	assert_int_equal(pthread_create(&thread, NULL, chain_run, &chain), 0);
	while (chain.links < 3)
		usleep(1000);
	const int64_t until_ns = mono_now().ns + PATIENCE_S * NS_PER_S;
	while (w.beginnings < BEGINNINGS && mono_now().ns < until_ns)
		writing_commit(&w);
	chain.stop = true;
	pthread_join(thread, NULL);
	assert_true(w.beginnings >= BEGINNINGS);
	writing_done(&w);
}

/* ---- one that takes its rows slowly -------------------------------------- */

struct slow {
	struct writing *w;
	int heads, rows;
	long long sum;
};

static int slow_head(void *arg, int n, char *const *values, char *const *names)
{
	struct slow *slow = arg;

	assert_int_equal(n, 4);
	assert_string_equal(names[1], "none_here");
	slow->heads++;
	return 0;
}

static int slow_row(void *arg, int n, char *const *values, char *const *names)
{
	struct slow *slow = arg;

	assert_string_equal(names[0], "t_ns");
	assert_null(values[1]);
	assert_string_equal(values[2], "");
	assert_int_equal(strlen(values[3]), 19999);
	slow->sum += strtoll(values[0], NULL, 10) - T0;
	slow->rows++;
	writing_commit(slow->w);
	return 0;
}

static void slow_taker(void **state)
{
	struct writing w;
	struct slow slow = {.w = &w};
	struct history *history;
	struct err e = {0};

	writing_init(&w);
	for (int i = 0; i < 400; i++) /* 8 MB of text: more than is kept in memory */
		writing_commit(&w);
	if (db_history_open(w.world.path, &history, &e) < 0)
		fail_msg("%s", e.text);
	const int before = w.beginnings;
	const int r = history_sql_named(history,
		"SELECT t_ns, NULL AS none_here, '' AS empty, text FROM event ORDER BY t_ns",
		slow_head, slow_row, &slow, &e);
	if (r != 0)
		fail_msg("%d %s", r, e.text);
	assert_int_equal(slow.heads, 1);
	assert_int_equal(slow.rows, 400); /* one state of the file */
	assert_true(slow.sum == 399LL * 200 * NS_PER_S);
	assert_true(w.beginnings - before >= BEGINNINGS); /* while the rows were taken */
	history_close(history);
	writing_done(&w);
}

static int stops(void *arg, int n, char *const *values, char *const *names)
{
	return 7;
}

static void taker_ends_early(void **state)
{
	struct writing w;
	struct history *history;
	struct err e = {0};

	writing_init(&w);
	writing_commit(&w);
	assert_int_equal(db_history_open(w.world.path, &history, &e), 0);
	assert_int_equal(history_sql_named(history, "SELECT 1", stops, stops, NULL, &e), 7);
	assert_int_equal(history_sql(history, "SELECT 1", stops, NULL, &e), 7);
	history_close(history);
	writing_done(&w);
}

/* ---- one without an end -------------------------------------------------- */

static void statement_without_end(void **state)
{
	static const char endless[] = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM "
				      "n) SELECT count(*) FROM n";
	struct writing w;
	struct history *history;
	struct err e = {0};

	writing_init(&w);
	writing_commit(&w);
	assert_int_equal(db_history_open(w.world.path, &history, &e), 0);
	leap_s = 10;
	assert_int_equal(history_sql_named(history, endless, stops, stops, NULL, &e), -ETIME);
	assert_non_null(strstr(e.text, "300 s"));
	leap_s = 0;
	/* the next one has its own time */
	assert_int_equal(history_sql(history, "SELECT 1", stops, NULL, &e), 7);
	history_close(history);
	writing_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(chain_of_readers),
		cmocka_unit_test(slow_taker),
		cmocka_unit_test(taker_ends_early),
		cmocka_unit_test(statement_without_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
