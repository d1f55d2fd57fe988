/*
 * The write side of samples: tail rows, blocks, and what becomes of both when the program ends at
 * any moment. A model in memory says what must be there: each committed sample once, and of two of
 * one instant the first.
 */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "db/sqlite/sqlite.h"
#include "db/sqlite/write/store_write.h"
#include "db/store/store_backend.h"
#include "tests/deadline.h"
#include "tests/unit/db/sqlite/seal/file_samples.h"

/* ---- chance -------------------------------------------------------------- */

static uint64_t chance_state;

/* splitmix64, Steele, Lea, Flood: Fast splittable pseudorandom number generators, 2014 */
static uint64_t chance(uint64_t below)
{
	uint64_t z = chance_state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (z ^ z >> 31) % below;
}

/* ---- sorting ------------------------------------------------------------- */

static int plain_order(const void *left, const void *right)
{
	const struct block_sample *x = left, *y = right;

	if (x->entity != y->entity)
		return x->entity < y->entity ? -1 : 1;
	if (x->t_ns != y->t_ns)
		return x->t_ns < y->t_ns ? -1 : 1;
	return (x->value > y->value) - (x->value < y->value);
}

static void sorts_as_plain(void **state)
{
	struct sample_sorter sorter = {0};
	static struct block_sample v[3000], plain[3000];

	chance_state = 1;
	for (int round = 0; round < 400; round++) {
		const size_t n = chance(round % 10 == 0 ? 3000 : 200);
		const uint64_t entities = UINT64_C(1) << chance(40), times = 1 + chance(300);
		for (size_t i = 0; i < n; i++)
			plain[i] = v[i] = (struct block_sample){.entity = (int64_t)chance(entities),
				.t_ns = (int64_t)chance(times) - 100,
				.value = i};
		qsort(plain, n, sizeof(*plain), plain_order);
		size_t kept = 0;
		for (size_t i = 0; i < n; i++)
			if (kept == 0 || plain[i].entity != plain[kept - 1].entity ||
				plain[i].t_ns != plain[kept - 1].t_ns)
				plain[kept++] = plain[i];
		assert_int_equal(sample_sort(&sorter, v, n), kept);
		for (size_t i = 0; i < kept; i++)
			assert_memory_equal(&v[i], &plain[i], sizeof(v[i]));
		assert_int_equal(sample_sort_slices(&sorter, v, kept, 60), kept);
		for (size_t i = 1; i < kept; i++)
			assert_true(sample_slice(v[i - 1].t_ns, 60) <= sample_slice(v[i].t_ns, 60));
	}
	sample_sorter_done(&sorter);
	/* a slice ends with its last instant: (from, to] */
	assert_int_equal(sample_slice(60, 60), 0);
	assert_int_equal(sample_slice(61, 60), 1);
	assert_int_equal(sample_slice(0, 60), -1);
	assert_int_equal(sample_slice(-59, 60), -1);
	assert_int_equal(sample_slice(-60, 60), -2);
	assert_true(sample_slice(INT64_MIN, 60) < 0);
}

/* ---- the model ----------------------------------------------------------- */

#define DEVICES 3
#define PORTS 5
#define NAMES 4 /* of a port: itself and three priorities */

static const uint16_t port_metrics[] = {
	M_PORT_IN_OCTETS, M_PORT_OUT_OCTETS, M_OPTIC_RX_POWER, M_PORT_MTU_BYTES};
static const uint16_t prio_metrics[] = {M_PFC_RX_FRAMES, M_QUEUE_WATERMARK};

struct bench {
	struct db_world world;
	struct entities *entities;
	uint32_t ids[DEVICES][PORTS][NAMES];
	void *state;
	struct sample *model; /* in the order in which they were committed */
	size_t n, cap;
	int64_t newest_ns;
};

static void bench_open(struct bench *b)
{
	const struct store_options o = {.path = b->world.path, .replay = true};
	struct err e = {0};
	static struct record_entity names[DEVICES * (PORTS * NAMES + 1)];
	size_t n = 0;

	if (sqlite_backend.open(&o, &b->state, &e) < 0)
		fail_msg("%s", e.text);
	for (uint32_t id = 1; id <= entities_count(b->entities); id++) {
		const struct entity *entity = entity_get(b->entities, id);
		names[n++] = (struct record_entity){.id = id,
			.parent = entity->parent,
			.owner = entity_device(b->entities, id),
			.priority = entity->priority,
			.device = entity->device,
			.port = entity->port};
	}
	const struct store_record record = {
		.kind = RECORD_ENTITIES, .entities = {.v = names, .n = n}};
	assert_int_equal(sqlite_backend.record(b->state, &record, &e), 0);
}

static void bench_init(struct bench *b)
{
	*b = (struct bench){.newest_ns = T0};
	world_init(&b->world);
	b->entities = entities_new();
	for (unsigned d = 0; d < DEVICES; d++)
		for (unsigned p = 0; p < PORTS; p++)
			for (int k = 0; k < NAMES; k++) {
				char device[16], port[16];
				snprintf(device, sizeof(device), "leaf%u", d);
				snprintf(port, sizeof(port), "swp%u", p);
				b->ids[d][p][k] = entities_intern(b->entities, device, port, k - 1);
			}
}

static void bench_done(struct bench *b)
{
	entities_free(b->entities);
	free(b->model);
	world_done(&b->world);
}

static uint64_t model_value(const struct sample *s)
{
	if (metric_info(s->metric)->type == TYPE_F64)
		return sample_of_f64((double)(int64_t)chance(100) / 8 - 3);
	if (chance(10) == 0)
		return chance(UINT64_MAX);
	return (uint64_t)s->t_ns / 1000 * (s->entity % 3);
}

static void model_add(struct bench *b, const struct sample *s)
{
	rw_grow(b->model, b->n, b->cap);
	b->model[b->n++] = *s;
}

/* A poll of a device, columns in some order, now and then with values that are late, doubled, alone
 * or odd. Returns how many are in @v. */
static size_t make_batch(struct bench *b, struct sample *v, size_t max)
{
	const unsigned d = (unsigned)chance(DEVICES);
	int64_t t_ns = b->newest_ns;
	size_t n = 0;

	b->newest_ns += (int64_t)chance(20) * NS_PER_S + (int64_t)chance(3);
	if (chance(15) == 0)
		t_ns -= (int64_t)chance(7200) * NS_PER_S; /* late */
	/* now and then a row reaches over many slices, as in a replay */
	const uint64_t spread_s = chance(5) == 0 ? 1 + chance(9000) : 0;
	const bool few = chance(8) == 0, columns = chance(2) == 0;
	for (unsigned i = 0; i < PORTS * NAMES && n + 8 < max; i++) {
		const unsigned port = columns ? i % PORTS : i / NAMES;
		const unsigned name = columns ? i / PORTS : i % NAMES;
		const uint16_t *metrics = name == 0 ? port_metrics : prio_metrics;
		const size_t n_metrics =
			name == 0 ? rw_countof(port_metrics) : rw_countof(prio_metrics);
		for (size_t m = 0; m < n_metrics; m++) {
			if (few && chance(10) != 0)
				continue;
			struct sample s = {.t_ns = t_ns - (int64_t)chance(spread_s + 1) * NS_PER_S,
				.entity = b->ids[d][port][name],
				.metric = metrics[m],
				.source = chance(50) == 0 ? SOURCE_GNMI : SOURCE_SNMP,
				.flags = chance(40) == 0 ? SF_RESTART : 0};
			if (metrics[m] == M_QUEUE_WATERMARK)
				s.window_ms = 60000;
			s.value = model_value(&s);
			v[n++] = s;
			if (chance(30) == 0) { /* the same instant once more, another value */
				s.value++;
				v[n++] = s;
			}
		}
	}
	return n;
}

static int bench_commit(struct bench *b, const struct sample *v, size_t n)
{
	struct err e = {0};
	int r = sqlite_backend.begin(b->state, &e);

	if (r == 0)
		r = sqlite_backend.samples(b->state, v, n, &e);
	if (r == 0)
		r = sqlite_backend.commit(b->state, &e);
	return r;
}

static void bench_compact(struct bench *b, int64_t now_ns, int64_t budget_ns)
{
	struct err e = {0};
	bool more;

	if (sqlite_backend.compact(b->state, now_ns, budget_ns, &more, &e) < 0)
		fail_msg("%s", e.text);
}

/* ---- the file against the model ------------------------------------------ */

/* By the file's numbers: entity of @id, metric. */
static void model_numbers(const struct bench *b, int64_t *entity, int64_t number[METRIC_COUNT])
{
	sqlite3 *db;
	sqlite3_stmt *st;

	assert_int_equal(sqlite3_open(b->world.path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT id, device, port, priority FROM entity", -1,
				 &st, NULL),
		SQLITE_OK);
	while (sqlite3_step(st) == SQLITE_ROW) {
		const uint32_t id = entities_intern(b->entities,
			(const char *)sqlite3_column_text(st, 1),
			(const char *)sqlite3_column_text(st, 2), sqlite3_column_int(st, 3));
		entity[id] = sqlite3_column_int64(st, 0);
	}
	sqlite3_finalize(st);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT id, name FROM metric_name", -1, &st, NULL),
		SQLITE_OK);
	while (sqlite3_step(st) == SQLITE_ROW)
		number[metric_by_name((const char *)sqlite3_column_text(st, 1))] =
			sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	sqlite3_close(db);
}

/* The model's first @n samples as the file would tell them. */
static size_t model_expected(const struct bench *b, size_t n, struct file_sample *ret)
{
	static int64_t entity[4096], number[METRIC_COUNT];
	size_t kept = 0;

	model_numbers(b, entity, number);
	for (size_t i = 0; i < n; i++) {
		const struct sample *s = &b->model[i];
		ret[i] = (struct file_sample){.metric = number[s->metric],
			.rank = i,
			.s = {.entity = entity[s->entity],
				.t_ns = s->t_ns,
				.value = s->value,
				.window_ms = s->window_ms,
				.flags = s->flags,
				.source = s->source}};
	}
	qsort(ret, n, sizeof(*ret), file_sample_order);
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || ret[kept - 1].metric != ret[i].metric ||
			ret[kept - 1].s.entity != ret[i].s.entity ||
			ret[kept - 1].s.t_ns != ret[i].s.t_ns)
			ret[kept++] = ret[i];
	return kept;
}

static bool same_samples(const struct file_sample *left, const struct file_sample *right, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (left[i].metric != right[i].metric ||
			memcmp(&left[i].s, &right[i].s, sizeof(left[i].s)) != 0)
			return false;
	return true;
}

/* Is the file what the model's first @n samples say? */
static bool file_is_model(const struct bench *b, size_t n, struct file_samples *ret)
{
	struct file_sample *expected = calloc(n + 1, sizeof(*expected));
	*ret = file_samples_read(b->world.path);
	const size_t kept = model_expected(b, n, expected);
	const bool same = kept == ret->n && same_samples(expected, ret->v, kept);

	free(ret->v);
	free(expected);
	return same;
}

static void model_late(struct bench *b, int64_t t_ns)
{
	const struct store_record record = {.kind = RECORD_REWIND, .rewind = {.t_ns = t_ns}};
	struct err e = {0};

	assert_int_equal(sqlite_backend.begin(b->state, &e), 0);
	assert_int_equal(sqlite_backend.record(b->state, &record, &e), 0);
	assert_int_equal(sqlite_backend.commit(b->state, &e), 0);
	for (size_t i = 0; i < b->n; i++)
		if (b->model[i].t_ns > t_ns)
			b->model[i].flags |= SF_LATE;
}

/* ---- tests --------------------------------------------------------------- */

/* Whatever comes in which order, however small the steps of sealing, with restarts and a clock that
 * is set back in between. */
static void what_goes_in_comes_out(void **state)
{
	struct sample v[512];
	struct file_samples found;
	struct bench b;

	for (uint64_t seed = 1; seed <= 2; seed++) {
		chance_state = seed;
		bench_init(&b);
		bench_open(&b);
		for (int step = 0; step < 400; step++) {
			const size_t n = make_batch(&b, v, rw_countof(v));
			assert_int_equal(bench_commit(&b, v, n), 0);
			for (size_t i = 0; i < n; i++)
				model_add(&b, &v[i]);
			if (chance(3) == 0)
				bench_compact(&b, 0, 1 + (int64_t)chance(200000));
			if (chance(150) == 0)
				model_late(&b, b.newest_ns - (int64_t)chance(3000) * NS_PER_S);
			if (chance(100) == 0) {
				sqlite_backend.close(b.state);
				bench_open(&b);
			}
			if (step % 100 == 99 && !file_is_model(&b, b.n, &found))
				fail_msg("seed %d, step %d", (int)seed, step);
		}
		assert_true(found.blocks > 0);
		bench_compact(&b, INT64_MAX, INT64_MAX);
		assert_true(file_is_model(&b, b.n, &found));
		assert_int_equal(found.rows, 0);
		assert_int_equal(found.twice, 0);
		sqlite_backend.close(b.state);
		bench_done(&b);
	}
}

/* What a child writes until it is killed: numbers of batches that were committed. */
static void write_until_killed(struct bench *b, uint32_t from, int fd)
{
	struct sample v[512];

	bench_open(b);
	for (uint32_t batch = from;; batch++) {
		chance_state = batch;
		b->newest_ns = T0 + (int64_t)batch * 7 * NS_PER_S;
		const size_t n = make_batch(b, v, rw_countof(v));
		if (bench_commit(b, v, n) < 0)
			_exit(1);
		if (write(fd, &batch, sizeof(batch)) != sizeof(batch))
			_exit(1);
		bool more;
		struct err e;
		sqlite_backend.compact(b->state, 0, (int64_t)chance(3000000), &more, &e);
	}
}

/* Starts a writer, kills it after @batches commits and a little more. Returns the last batch that
 * it said was committed. */
static uint32_t kill_one(struct bench *b, uint32_t from, uint64_t batches)
{
	uint32_t last = from - 1;
	int fds[2];

	assert_int_equal(pipe(fds), 0);
	const pid_t pid = fork();
	if (pid == 0) {
		close(fds[0]);
		write_until_killed(b, from, fds[1]);
	}
	close(fds[1]);
	for (uint64_t i = 0; i < batches; i++)
		assert_int_equal(read(fds[0], &last, sizeof(last)), sizeof(last));
	usleep((useconds_t)chance(4000));
	kill(pid, SIGKILL);
	int status;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	while (read(fds[0], &last, sizeof(last)) == sizeof(last)) {
	}
	close(fds[0]);
	return last;
}

static void model_batch(struct bench *b, uint32_t batch)
{
	struct sample v[512];
	const uint64_t before = chance_state;

	chance_state = batch;
	b->newest_ns = T0 + (int64_t)batch * 7 * NS_PER_S;
	const size_t n = make_batch(b, v, rw_countof(v));
	for (size_t i = 0; i < n; i++)
		model_add(b, &v[i]);
	chance_state = before;
}

/* kill -9 while it writes, seals and begins anew: what was committed is there, once. */
static void killed_at_any_moment(void **state)
{
	struct file_samples found;
	struct bench b;
	uint32_t next = 1;

	bench_init(&b);
	chance_state = 99;
	for (int round = 0; round < 12; round++) {
		const uint32_t last = kill_one(&b, next, 1 + chance(60));
		const uint64_t before = chance_state;
		while (next <= last)
			model_batch(&b, next++);
		if (!file_is_model(&b, b.n, &found)) { /* one more, of which nobody heard */
			model_batch(&b, next++);
			if (!file_is_model(&b, b.n, &found))
				fail_msg("round %d, batch %u", round, last);
		}
		chance_state = before;
	}
	assert_true(found.blocks > 0);
	bench_open(&b);
	bench_compact(&b, INT64_MAX, INT64_MAX);
	sqlite_backend.close(b.state);
	assert_true(file_is_model(&b, b.n, &found));
	assert_int_equal(found.rows + found.twice, 0);
	bench_done(&b);
}

/* Slices follow the pace of a device; what goes on is not sealed, what is over is. */
static void slices_follow_the_pace(void **state)
{
	struct bench b;

	bench_init(&b);
	bench_open(&b);
	for (int i = 0; i < 400; i++) {
		struct sample v[PORTS];
		for (unsigned p = 0; p < PORTS; p++)
			v[p] = sample_at(
				SECONDS(i * 10), b.ids[0][p][0], M_PORT_IN_OCTETS, (uint64_t)i, 0);
		assert_int_equal(bench_commit(&b, v, PORTS), 0);
		bench_compact(&b, 0, INT64_MAX);
	}
	/* few values: blocks of an hour, aligned; the hour under way is in the tail */
	assert_int_equal(world_int(&b.world, "SELECT count(*) FROM block"), 1);
	assert_int_equal(world_int(&b.world, "SELECT to_ns % 3600000000000 FROM block"), 0);
	assert_true(world_int(&b.world, "SELECT count(*) FROM tail") < 362);
	assert_int_equal(world_int(&b.world, "SELECT known FROM block"), PORTS);
	/* another device is far ahead: this one went away, and is sealed nevertheless */
	const struct sample late =
		sample_at(SECONDS(20000), b.ids[1][0][0], M_PORT_IN_OCTETS, 1, 0);
	assert_int_equal(bench_commit(&b, &late, 1), 0);
	bench_compact(&b, 0, INT64_MAX);
	assert_int_equal(world_int(&b.world, "SELECT count(*) FROM tail"), 1);
	sqlite_backend.close(b.state);
	bench_done(&b);
}

/* Instants from @from_s to @to_s, one a second, of all that a device has, in one row of the tail.
 */
static void commit_seconds(struct bench *b, int from_s, int to_s)
{
	enum { PER_INSTANT = PORTS * (4 + 2 * (NAMES - 1)) };
	const size_t most = (size_t)(to_s - from_s) * PER_INSTANT;
	rw_cleanup(freep) struct sample *v = rw_calloc(most, sizeof(*v));
	size_t n = 0;
	for (int t_s = from_s; t_s < to_s; t_s++)
		for (unsigned i = 0; i < PORTS * NAMES; i++) {
			const uint16_t *metrics = i % NAMES ? prio_metrics : port_metrics;
			const size_t n_metrics =
				i % NAMES ? rw_countof(prio_metrics) : rw_countof(port_metrics);
			for (size_t m = 0; m < n_metrics; m++)
				v[n++] = sample_at(SECONDS(t_s), b->ids[0][i / NAMES][i % NAMES],
					metrics[m], (uint64_t)t_s, 0);
		}
	assert_true(n <= most);
	assert_int_equal(bench_commit(b, v, n), 0);
}

/* Thirteen minutes would suit the device, and do not divide an hour: no block crosses one. What
 * lies at the end of a slice belongs to it, and what lies behind the newest end stays in the tail.
 */
static void slices_divide_an_hour(void **state)
{
	struct bench b;

	bench_init(&b);
	bench_open(&b);
	for (int t_s = 2200; t_s < 3700; t_s += 6)
		commit_seconds(&b, t_s, t_s + 6);
	deadline_begin("the sealing of 25 minutes");
	bench_compact(&b, 0, INT64_MAX);
	deadline_end();
	assert_true(world_int(&b.world, "SELECT count(*) FROM block") > 0);
	assert_int_equal(world_int(&b.world,
				 "SELECT count(*) FROM block WHERE "
				 "(from_ns-1)/3600000000000<>(to_ns-1)/3600000000000"),
		0);
	assert_int_equal(world_int(&b.world, "SELECT max(to_ns) % 60000000000 FROM block"), 0);
	assert_int_equal(world_int(&b.world,
				 "SELECT (SELECT min(from_ns) FROM tail)-(SELECT max(to_ns) FROM "
				 "block)"),
		NS_PER_S);
	sqlite_backend.close(b.state);
	bench_done(&b);
}

/* A job whose rows went meanwhile leaves no transaction behind: samples are stored as before. */
static void a_stale_job_is_rolled_back(void **state)
{
	struct bench b;

	bench_init(&b);
	bench_open(&b);
	commit_seconds(&b, 0, 7300);
	bench_compact(&b, 0, 0); /* reads its rows */
	assert_int_equal(world_int(&b.world, "SELECT count(*) FROM block"), 0);
	world_exec(&b.world, "DELETE FROM tail");
	deadline_begin("the end of a job without rows");
	bench_compact(&b, 0, INT64_MAX);
	deadline_end();
	assert_int_equal(world_int(&b.world, "SELECT count(*) FROM block"), 0);
	commit_seconds(&b, 7300, 7310);
	assert_int_equal(world_int(&b.world, "SELECT count(*) FROM tail"), 1);
	sqlite_backend.close(b.state);
	bench_done(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sorts_as_plain),
		cmocka_unit_test(what_goes_in_comes_out),
		cmocka_unit_test(killed_at_any_moment),
		cmocka_unit_test(slices_follow_the_pace),
		cmocka_unit_test(slices_divide_an_hour),
		cmocka_unit_test(a_stale_job_is_rolled_back),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
