/* Damage that SQLite cannot see: a page of the file, or bytes of a block or of a row of the tail,
 * are not what was written. Readers give the right answer or an error that names the file; what is
 * whole is kept, sealed and deleted as before. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "db/open.h"
#include "db/sqlite/schema/schema.h"
#include "db/series/history.h"
#include "db/sqlite/admin.h"
#include "db/sqlite/sqlite.h"
#include "db/store/store.h"
#include "db/store/store_backend.h"
#include "tests/unit/db/db_world.h"

enum { INSTANTS = 300, PORTS = 20, PAGE = 8192, TOTAL = 2 * INSTANTS * PORTS * 2 };

static int64_t sealed_until_ns = INT64_MAX; /* what the store takes for the present */

static int compact_until(
	void *state, int64_t now_ns, int64_t budget_ns, bool *ret_more, struct err *e)
{
	return sqlite_backend.compact(state, sealed_until_ns, budget_ns, ret_more, e);
}

static struct store *damage_store(const struct db_world *w, struct entities *entities)
{
	static struct store_backend backend;
	const struct store_options o = {.path = w->path, .replay = true};
	struct store *store;
	struct err e = {0};

	backend = sqlite_backend;
	backend.compact = compact_until;
	if (store_open(&backend, &o, entities, &store, &e) < 0)
		fail_msg("%s", e.text);
	return store;
}

static uint64_t value_of(int device, int port, int instant, int metric)
{
	return ((uint64_t)(device * 100 + port) << 32) * 7919 + (uint64_t)instant * 1000003 +
		(uint64_t)metric;
}

/* Two devices, five hours; the first ones are blocks, the last one lies in the tail. */
static void damage_init(struct db_world *w)
{
	struct entities *entities = entities_new();

	world_init(w);
	sealed_until_ns = SECONDS(4 * 3600);
	struct store *store = damage_store(w, entities);
	for (int i = 0; i < INSTANTS; i++)
		for (int d = 0; d < 2; d++) {
			struct sample v[PORTS * 2];
			char device[16], port[16];
			snprintf(device, sizeof(device), "leaf%d", d);
			for (int p = 0; p < PORTS; p++) {
				snprintf(port, sizeof(port), "swp%d", p);
				const uint32_t id =
					entities_intern(entities, device, port, PRIO_NONE);
				for (int m = 0; m < 2; m++)
					v[p * 2 + m] = sample_at(SECONDS(i * 60), id,
						m ? M_PORT_OUT_OCTETS : M_PORT_IN_OCTETS,
						value_of(d, p, i, m), 0);
			}
			store_samples(store, v, PORTS * 2);
			if (i % 20 == 19)
				assert_int_equal(store_flush(store, NULL), 0);
		}
	store_close(store);
	entities_free(entities);
	assert_true(world_int(w, "SELECT count(*) FROM block") >= 8);
	assert_true(world_int(w, "SELECT count(*) FROM tail") >= 2);
	world_exec(w, "PRAGMA wal_checkpoint(TRUNCATE)");
}

/* ---- reading ------------------------------------------------------------- */

struct damage_read {
	const struct entities *entities;
	int n, wrong;
};

static int damage_meet(void *arg, const struct sample *sample)
{
	struct damage_read *read = arg;
	const struct entity *e = entity_get(read->entities, sample->entity);
	int d = -1, p = -1;

	sscanf(e->device, "leaf%d", &d);
	sscanf(e->port, "swp%d", &p);
	const int i = (int)((sample->t_ns - T0) / (60 * NS_PER_S));
	read->n++;
	read->wrong += sample->value != value_of(d, p, i, sample->metric == M_PORT_OUT_OCTETS) ||
		sample->t_ns != SECONDS(i * 60);
	return 0;
}

/* 1: all of it is right; 0: an error that names the file. Fails the test at a wrong answer. */
static int damage_walk(const char *path, const char *what, int number)
{
	struct damage_read read = {0};
	struct history *history = NULL;
	struct err e = {0};
	int r = db_history_open(path, &history, &e);

	if (r == 0) {
		read.entities = history_entities(history);
		r = history_each_sample(history, NULL, damage_meet, &read, &e);
	}
	history_close(history);
	if (read.wrong > 0)
		fail_msg("%s %d: %d wrong values", what, number, read.wrong);
	if (r == 0 && read.n != TOTAL)
		fail_msg("%s %d: %d of %d samples, and no error", what, number, read.n, TOTAL);
	if (r < 0 && !strstr(e.text, path))
		fail_msg("%s %d: '%s' does not name the file", what, number, e.text);
	return r == 0;
}

/* The same by a window, of the first and of the last hours. */
static int damage_window(const char *path, int from_s, int to_s)
{
	static const uint16_t metrics[] = {M_PORT_IN_OCTETS, M_PORT_OUT_OCTETS};
	const struct window_spec spec = {.metrics = metrics, .n_metrics = 2};
	struct arena *a = arena_new();
	struct history *history = NULL;
	struct window window = {0};
	struct err e = {0};
	uint64_t n = 0;
	int r = db_history_open(path, &history, &e);

	if (r == 0)
		r = history_window(history, a, &spec, SECONDS(from_s), SECONDS(to_s), &window, &e);
	for (size_t i = 0; r == 0 && i < window.n_series; i++)
		for (uint32_t k = 0; k < window.series[i].n; k++)
			n += window.series[i].t_ns[k] > SECONDS(from_s);
	history_close(history);
	arena_free(a);
	if (r == 0 && n != (uint64_t)((to_s - from_s) / 60 * PORTS * 2 * 2))
		fail_msg("a window of %d samples, and no error", (int)n);
	if (r < 0 && !strstr(e.text, path))
		fail_msg("'%s' does not name the file", e.text);
	return r == 0;
}

/* ---- pages --------------------------------------------------------------- */

static void page_put(const char *path, int64_t page, const char *bytes)
{
	const int fd = open(path, O_RDWR);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, PAGE, page * PAGE), PAGE);
	close(fd);
}

static void page_get(const char *path, int64_t page, char *bytes)
{
	const int fd = open(path, O_RDONLY);

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, bytes, PAGE, page * PAGE), PAGE);
	close(fd);
}

static void any_page(void **state)
{
	struct db_world w;
	char kept[PAGE], rubbish[2][PAGE];
	int right = 0, told = 0;

	damage_init(&w);
	assert_int_equal(damage_walk(w.path, "whole", 0), 1);
	memset(rubbish[0], 0, PAGE); /* never written */
	for (int i = 0; i < PAGE; i++)
		rubbish[1][i] = (char)(i * 31 + i / 256);
	const int64_t pages = world_int(&w, "PRAGMA page_count");
	world_exec(&w, "PRAGMA wal_checkpoint(TRUNCATE)");
	for (int64_t page = 1; page < pages; page++)
		for (int k = 0; k < 2; k++) {
			page_get(w.path, page, kept);
			page_put(w.path, page, rubbish[k]);
			if (damage_walk(w.path, "page", (int)page))
				right++;
			else
				told++;
			page_put(w.path, page, kept);
		}
	assert_true(told > 10 && right > 10);
	assert_int_equal(damage_walk(w.path, "whole again", 0), 1);
	world_done(&w);
}

/* ---- bytes of blocks and rows -------------------------------------------- */

/* The bit @i % 8 of byte @i of the newest row of the tail. Returns how many bytes it has. */
static int flip_tail_bit(const struct db_world *w, int64_t id, int i)
{
	sqlite3 *db;
	sqlite3_blob *blob;
	uint8_t byte;

	assert_int_equal(sqlite3_open(w->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_blob_open(db, "main", "tail", "data", id, 1, &blob), SQLITE_OK);
	const int n = sqlite3_blob_bytes(blob);
	assert_int_equal(sqlite3_blob_read(blob, &byte, 1, i), SQLITE_OK);
	byte ^= (uint8_t)(1 << (i % 8));
	assert_int_equal(sqlite3_blob_write(blob, &byte, 1, i), SQLITE_OK);
	assert_int_equal(sqlite3_blob_close(blob), SQLITE_OK);
	sqlite3_close(db);
	return n;
}

static void flip_tail(const struct db_world *w)
{
	const int64_t id = world_int(w, "SELECT id FROM tail ORDER BY to_ns DESC, id DESC LIMIT 1");
	const int last_s = (int)((world_int(w, "SELECT max(to_ns) FROM tail") - T0) / NS_PER_S);
	int n = 1;

	for (int i = 0; i < n; i += 1 + n / 40) {
		n = flip_tail_bit(w, id, i);
		assert_int_equal(damage_walk(w->path, "byte of the tail", i), 0);
		assert_int_equal(damage_window(w->path, last_s - 600, last_s), 0);
		flip_tail_bit(w, id, i);
	}
}

/* A block cannot be opened as a blob (its table has no numbers of rows): it is replaced. */
static void flip_block(const struct db_world *w)
{
	sqlite3 *db;
	sqlite3_stmt *get, *put;

	assert_int_equal(sqlite3_open(w->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db,
				 "SELECT device, metric, from_ns, data FROM block ORDER BY from_ns",
				 -1, &get, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db,
				 "UPDATE block SET data=?4 WHERE device=?1 AND metric=?2 AND "
				 "from_ns=?3",
				 -1, &put, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_step(get), SQLITE_ROW);
	const int n = sqlite3_column_bytes(get, 3);
	uint8_t *data = malloc((size_t)n);
	memcpy(data, sqlite3_column_blob(get, 3), (size_t)n);
	for (int i = 0; i < 3; i++)
		sqlite3_bind_int64(put, i + 1, sqlite3_column_int64(get, i));
	sqlite3_finalize(get);
	for (int i = 0; i < n; i += 1 + n / 40) {
		data[i] ^= (uint8_t)(1 << (i % 8));
		sqlite3_bind_blob(put, 4, data, n, SQLITE_STATIC);
		assert_int_equal(sqlite3_step(put), SQLITE_DONE);
		sqlite3_reset(put);
		assert_int_equal(damage_walk(w->path, "byte of a block", i), 0);
		assert_int_equal(damage_window(w->path, 0, 600), 0);
		assert_int_equal(damage_window(w->path, 7200, 7800), 1); /* others are whole */
		data[i] ^= (uint8_t)(1 << (i % 8));
	}
	sqlite3_bind_blob(put, 4, data, n - 1, SQLITE_STATIC); /* cut off */
	assert_int_equal(sqlite3_step(put), SQLITE_DONE);
	assert_int_equal(damage_walk(w->path, "a block that is cut off", 0), 0);
	sqlite3_finalize(put);
	sqlite3_close(db);
	free(data);
}

static void any_byte(void **state)
{
	struct db_world w;

	damage_init(&w);
	flip_tail(&w);
	assert_int_equal(damage_walk(w.path, "whole again", 0), 1);
	flip_block(&w);
	world_done(&w);
}

/* ---- the writer goes on -------------------------------------------------- */

static void writer_goes_on(void **state)
{
	struct db_world w;
	struct entities *entities = entities_new();
	void *writer;
	struct err e = {0};
	bool more = true;

	damage_init(&w);
	const int64_t leaf1 =
		world_int(&w, "SELECT id FROM entity WHERE device='leaf1' AND port=''");
	char sql[128];
	snprintf(sql, sizeof(sql), "UPDATE tail SET data=zeroblob(50) WHERE device<>%lld",
		(long long)leaf1);
	world_exec(&w, sql);
	snprintf(
		sql, sizeof(sql), "SELECT count(*) FROM tail WHERE device<>%lld", (long long)leaf1);
	const int64_t rows = world_int(&w, sql);
	assert_true(rows > 0);
	sealed_until_ns = INT64_MAX;
	struct store *store = damage_store(&w, entities);
	struct sample v = sample_at(SECONDS(INSTANTS * 60 + 60),
		entities_intern(entities, "leaf1", "swp1", PRIO_NONE), M_PORT_IN_OCTETS, 5, 0);
	store_samples(store, &v, 1);
	assert_int_equal(store_flush(store, &e), 0);
	store_close(store);
	entities_free(entities);
	/* damaged rows are left alone, all others are sealed */
	assert_int_equal(world_int(&w, sql), rows);
	assert_int_equal(world_int(&w, "SELECT count(*) FROM tail"), rows);
	/* retention deletes what is too old, also a block that cannot be read */
	world_exec(
		&w, "UPDATE block SET data=x'00' WHERE from_ns=(SELECT min(from_ns) FROM block)");
	/* (hours whose rows are damaged wait a day for their minutes: not the subject here) */
	world_exec(&w, "DELETE FROM rollup_due");
	const struct store_options o = {.path = w.path, .raw_ns = 3600 * NS_PER_S};
	assert_int_equal(sqlite_backend.open(&o, &writer, &e), 0);
	for (int i = 0; more && i < 100; i++)
		assert_int_equal(
			sqlite_backend.maintain(writer, SECONDS(INSTANTS * 60), &more, &e), 0);
	assert_false(more);
	assert_true(world_int(&w, "SELECT min(to_ns) FROM block") >= SECONDS(INSTANTS * 60 - 3600));
	/* and is said of those rows, and of hours that are made without a damaged block */
	struct store_usage usage;
	world_exec(&w,
		"INSERT OR IGNORE INTO rollup_due SELECT DISTINCT from_ns-from_ns%3600000000000, "
		"device FROM block");
	world_exec(&w, "UPDATE block SET data=x'00'");
	const int64_t hours = world_int(&w, "SELECT count(DISTINCT device) FROM block");
	for (int i = 0, r = -1; i < 1000 && (r < 0 || more); i++)
		r = sqlite_backend.compact(writer, INT64_MAX, 0, &more, &e);
	assert_int_equal(sqlite_backend.usage(writer, &usage, &e), 0);
	assert_int_equal(usage.damaged_devices, 1);
	assert_true(usage.damaged_hours >= (uint64_t)hours);
	sqlite_backend.close(writer);
	/* the damage is told */
	struct db_stat stat;
	assert_int_equal(db_stat_read(w.path, &stat, &e), 0);
	assert_string_not_equal(stat.check, "ok");
	world_done(&w);
}

/* ---- set aside ------------------------------------------------------------ */

/* A file that nobody can read any more is put out of the way when it is ours, and never when
 * another program's name stands in its header. */
static void only_ours_is_set_aside(void **state)
{
	static const struct {
		int id;
		bool ours;
	} rows[] = {{SCHEMA_APPLICATION_ID, true}, {SCHEMA_APPLICATION_ID + 1, false}};
	for (size_t i = 0; i < rw_countof(rows); i++) {
		char garbage[3000], command[160];
		struct db_world w;
		struct err e = {0};
		void *writer = NULL;
		damage_init(&w);
		snprintf(command, sizeof(command), "PRAGMA application_id=%d", rows[i].id);
		world_exec(&w, command);
		world_exec(&w, "PRAGMA wal_checkpoint(TRUNCATE)");
		memset(garbage, 0x5a, sizeof(garbage));
		const int fd = open(w.path, O_WRONLY);
		assert_true(fd >= 0);
		assert_int_equal(pwrite(fd, garbage, sizeof(garbage), 100), sizeof(garbage));
		close(fd);
		const struct store_options o = {.path = w.path, .set_aside = true};
		const int r = sqlite_backend.open(&o, &writer, &e);
		assert_true(r < 0);
		if ((r == STORE_SET_ASIDE) != rows[i].ours)
			fail_msg("row %zu: %d, %s", i, r, e.text);
		assert_int_equal(access(w.path, F_OK) == 0, !rows[i].ours);
		snprintf(command, sizeof(command), "rm -f '%s'.damaged-*", w.path);
		assert_int_equal(system(command), 0);
		world_done(&w);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_page),
		cmocka_unit_test(any_byte),
		cmocka_unit_test(writer_goes_on),
		cmocka_unit_test(only_ours_is_set_aside),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
