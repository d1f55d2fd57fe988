/*
 * Steps of any length that the store serves from hours and minutes are the steps made of the single
 * values: also where the newest hours are still to be made, after values that came late, and when
 * the single values have gone.
 */
#include <errno.h>
#include <math.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "db/series/history.h"
#include "db/series/rollup.h"
#include "db/sqlite/sqlite.h"
#include "db/store/store_backend.h"
#include "tests/unit/db/db_world.h"

#define HOUR_NS (3600 * NS_PER_S)
#define BEGIN_NS (INT64_C(1700000400) / 3600 * HOUR_NS)

static uint64_t chance_state = 11;

static uint64_t chance(uint64_t below)
{
	chance_state ^= chance_state << 13;
	chance_state ^= chance_state >> 7;
	chance_state ^= chance_state << 17;
	return (chance_state >> 11) % below;
}

enum { DEVICES = 2, PORTS = 3 };

struct rolls_world {
	struct db_world world;
	struct entities *entities;
	uint32_t port[DEVICES][PORTS], prio[DEVICES][PORTS];
	uint64_t octets[DEVICES][PORTS];
	void *state;
	bool as_they_came; /* nothing is sealed while samples are stored */
};

static void rolls_open(struct rolls_world *w)
{
	const struct store_options o = {.path = w->world.path, .replay = true};
	struct record_entity names[32];
	struct err e = {0};
	size_t n = 0;

	world_init(&w->world);
	w->entities = entities_new();
	for (unsigned d = 0; d < DEVICES; d++)
		for (unsigned p = 0; p < PORTS; p++) {
			char device[16], port[16];
			snprintf(device, sizeof(device), "leaf%u", d);
			snprintf(port, sizeof(port), "swp%u", p);
			w->port[d][p] = entities_intern(w->entities, device, port, PRIO_NONE);
			w->prio[d][p] = entities_intern(w->entities, device, port, 3);
		}
	if (sqlite_backend.open(&o, &w->state, &e) < 0)
		fail_msg("%s", e.text);
	for (uint32_t id = 1; id <= entities_count(w->entities); id++) {
		const struct entity *entity = entity_get(w->entities, id);
		names[n++] = (struct record_entity){.id = id,
			.parent = entity->parent,
			.owner = entity_device(w->entities, id),
			.priority = entity->priority,
			.device = entity->device,
			.port = entity->port};
	}
	const struct store_record record = {
		.kind = RECORD_ENTITIES, .entities = {.v = names, .n = n}};
	assert_int_equal(sqlite_backend.record(w->state, &record, &e), 0);
}

static void rolls_close(struct rolls_world *w)
{
	sqlite_backend.close(w->state);
	entities_free(w->entities);
	world_done(&w->world);
}

static void rolls_commit(struct rolls_world *w, const struct sample *v, size_t n)
{
	struct err e = {0};

	assert_int_equal(sqlite_backend.begin(w->state, &e), 0);
	assert_int_equal(sqlite_backend.samples(w->state, v, n, &e), 0);
	assert_int_equal(sqlite_backend.commit(w->state, &e), 0);
}

static void rolls_compact(struct rolls_world *w, int64_t now_ns)
{
	struct err e = {0};
	bool more = true;

	while (more)
		if (sqlite_backend.compact(w->state, now_ns, 50000000, &more, &e) < 0)
			fail_msg("%s", e.text);
}

/* One poll of a device: a port is away at times, counters restart and go back. */
static size_t rolls_poll(struct rolls_world *w, unsigned d, int64_t t_ns, struct sample *v)
{
	const int64_t hour = (t_ns - BEGIN_NS) / HOUR_NS;
	size_t n = 0;

	for (unsigned p = 0; p < PORTS; p++) {
		uint64_t *octets = &w->octets[d][p];
		unsigned flags = 0;
		if (p == 1 && hour >= 4 && hour < 11)
			continue;
		if (p < 2)
			*octets += chance(1000000);
		if (chance(300) == 0) {
			*octets = chance(1000);
			flags = chance(2) ? SF_RESTART : 0;
			if (d == 1) /* soon it wraps */
				*octets += (UINT64_C(1) << 32) - 500000;
		}
		if (d == 1 && *octets >> 32) {
			*octets -= UINT64_C(1) << 32;
			flags = SF_WRAP32;
		}
		if (chance(200) == 0)
			flags |= SF_SUSPECT;
		v[n++] = sample_at(t_ns, w->port[d][p], M_PORT_IN_OCTETS, *octets, flags);
		v[n++] = sample_at(t_ns, w->prio[d][p], M_PFC_RX_FRAMES, *octets / 7, 0);
		v[n++] = sample_at(
			t_ns, w->prio[d][p], M_QUEUE_DEPTH, chance(4) ? 0 : chance(90000), 0);
		v[n++] = sample_at(t_ns, w->port[d][p], M_OPTIC_RX_POWER,
			sample_of_f64(-3 + (double)chance(100) / 50), 0);
	}
	return n;
}

/* Polls of both devices every 30 s, from hour @from to hour @to. */
static void rolls_fill(struct rolls_world *w, int64_t from, int64_t to)
{
	static struct sample v[4096];
	size_t n = 0;

	for (int64_t t_ns = BEGIN_NS + from * HOUR_NS; t_ns < BEGIN_NS + to * HOUR_NS;
		t_ns += 30 * NS_PER_S) {
		for (unsigned d = 0; d < DEVICES; d++)
			n += rolls_poll(w, d, t_ns + (int64_t)chance(NS_PER_S), v + n);
		if (n > 800) {
			rolls_commit(w, v, n);
			n = 0;
			if (!w->as_they_came)
				rolls_compact(w, 0);
		}
	}
	rolls_commit(w, v, n);
	if (!w->as_they_came)
		rolls_compact(w, 0);
}

/* ---- steps ---------------------------------------------------------------------- */

struct rolls {
	struct rollup *v;
	size_t n, cap, tier[3];
};

static int rolls_take(void *arg, const struct rollup *rollup)
{
	struct rolls *rolls = arg;

	rw_grow(rolls->v, rolls->n, rolls->cap);
	rolls->v[rolls->n++] = *rollup;
	rolls->tier[rollup->tier]++;
	return 0;
}

static struct rolls rolls_read(
	const struct rolls_world *w, const struct history_filter *filter, int64_t step_ns, bool raw)
{
	struct history *history;
	struct rolls rolls = {0};
	struct err e = {0};
	int r;

	if (sqlite_history_open(w->world.path, &history, &e) < 0)
		fail_msg("%s", e.text);
	if (raw)
		r = history_rollup_samples(history, filter, step_ns, rolls_take, &rolls, &e);
	else
		r = history_each_rollup(history, filter, step_ns, rolls_take, &rolls, &e);
	if (r < 0)
		fail_msg("%d %s", r, e.text);
	history_close(history);
	return rolls;
}

static void assert_within(double got, double wanted, double part)
{
	if (isnan(wanted) ? !isnan(got) : !(fabs(got - wanted) <= part * fabs(wanted)))
		fail_msg("%.17g, not %.17g", got, wanted);
}

static void rolls_same(const struct rollup *got, const struct rollup *wanted)
{
	if (got->increase != wanted->increase)
		fail_msg("entity %u metric %u, second %lld for %lld s: tier %u: increase %llu of "
			 "%u, not %llu of %u",
			got->entity, got->metric,
			(long long)(got->from_ns - BEGIN_NS) / (long long)NS_PER_S,
			(long long)(got->to_ns - got->from_ns) / (long long)NS_PER_S, got->tier,
			(unsigned long long)got->increase, got->intervals,
			(unsigned long long)wanted->increase, wanted->intervals);
	assert_int_equal(got->from_ns, wanted->from_ns);
	assert_int_equal(got->to_ns, wanted->to_ns);
	assert_int_equal(got->entity, wanted->entity);
	assert_int_equal(got->metric, wanted->metric);
	assert_int_equal(got->count, wanted->count);
	assert_int_equal(got->numbers, wanted->numbers);
	if (got->tier != ROLLUP_MINUTE) /* theirs is the value at their border */
		assert_int_equal(got->first, wanted->first);
	assert_int_equal(got->last, wanted->last);
	assert_int_equal(got->covered_ns, wanted->covered_ns);
	assert_int_equal(got->intervals, wanted->intervals);
	assert_int_equal(got->resets, wanted->resets);
	assert_int_equal(got->flags, wanted->flags);
	/* hours keep rates with 24 bits, minutes within 0.8 %; of gauges the mean within a 510th of
	 * the spread, and what is no short decimal within 0.2 % */
	const bool counter = metric_info(got->metric)->kind == METRIC_COUNTER;
	const bool minutes = got->tier == ROLLUP_MINUTE;
	double rounded = counter ? 1e-7 : 0;
	if (minutes && (counter || metric_info(got->metric)->type == TYPE_F64))
		rounded = counter ? 0.008 : 0.002;
	assert_within(got->min, wanted->min, rounded);
	assert_within(got->max, wanted->max, rounded);
	if (minutes && !counter)
		assert_true(fabs(got->sum - wanted->sum) <= wanted->numbers *
					((wanted->max - wanted->min) / 510 +
						rounded * fabs(wanted->min)) +
				1e-9);
	else
		assert_within(got->sum, wanted->sum, 1e-9 + 4 * rounded); /* in another order */
	if (minutes)
		return;
	assert_within(got->p50, wanted->p50, 0.02); /* both are within 1 % */
	assert_within(got->p99, wanted->p99, 0.02);
}

static void rolls_equal(struct rolls *got, struct rolls *wanted)
{
	assert_true(wanted->n > 0);
	assert_int_equal(got->n, wanted->n);
	for (size_t i = 0; i < got->n; i++)
		rolls_same(&got->v[i], &wanted->v[i]);
	free(got->v);
	free(wanted->v);
}

static const int64_t steps[] = {60 * NS_PER_S, 300 * NS_PER_S, 5400 * NS_PER_S, HOUR_NS,
	5 * HOUR_NS, 24 * HOUR_NS, 30 * NS_PER_S};

static int rolls_order(const void *left, const void *right)
{
	const struct rollup *a = left, *b = right;

	if (a->to_ns != b->to_ns)
		return a->to_ns < b->to_ns ? -1 : 1;
	if (a->entity != b->entity)
		return a->entity < b->entity ? -1 : 1;
	return (a->metric > b->metric) - (a->metric < b->metric);
}

/* In any order, and of some entities alone: the same steps. */
static void rolls_check_some(
	const struct rolls_world *w, struct history_filter filter, int64_t step_ns)
{
	struct rolls all = rolls_read(w, &filter, step_ns, false);
	struct rolls wanted = {.v = rw_calloc(all.n + 1, sizeof(*wanted.v))};
	uint32_t ids[] = {UINT32_MAX, 0}; /* the first and the last, by the reader's numbers */

	for (size_t i = 0; i < all.n; i++) {
		if (all.v[i].entity < ids[0])
			ids[0] = all.v[i].entity;
		if (all.v[i].entity > ids[1])
			ids[1] = all.v[i].entity;
	}
	for (size_t i = 0; i < all.n; i++)
		if (all.v[i].entity == ids[0] || all.v[i].entity == ids[1])
			wanted.v[wanted.n++] = all.v[i];
	filter.any_order = true;
	filter.ids = ids;
	filter.n_ids = rw_countof(ids);
	struct rolls got = rolls_read(w, &filter, step_ns, false);
	if (got.n > 1)
		qsort(got.v, got.n, sizeof(*got.v), rolls_order);
	rolls_equal(&got, &wanted);
	free(all.v);
}

static void rolls_check(const struct rolls_world *w, int64_t from_ns, int64_t to_ns)
{
	const struct history_filter filters[] = {
		{.priority = HISTORY_ANY_PRIORITY, .from_ns = from_ns, .to_ns = to_ns},
		{.priority = 3,
			.device = "leaf1",
			.port = "swp[01]",
			.from_ns = from_ns,
			.to_ns = to_ns},
	};

	for (size_t f = 0; f < rw_countof(filters); f++)
		for (size_t i = 0; i < rw_countof(steps); i++) {
			struct rolls got = rolls_read(w, &filters[f], steps[i], false);
			struct rolls wanted = rolls_read(w, &filters[f], steps[i], true);
			rolls_equal(&got, &wanted);
			rolls_check_some(w, filters[f], steps[i]);
		}
}

static void test_steps(void **state)
{
	const struct history_filter all = {.priority = HISTORY_ANY_PRIORITY,
		.from_ns = BEGIN_NS,
		.to_ns = BEGIN_NS + 26 * HOUR_NS};
	struct rolls_world w = {0};

	rolls_open(&w);
	rolls_fill(&w, 0, 26);
	/* the last hours are still to be made */
	rolls_check(&w, BEGIN_NS, BEGIN_NS + 26 * HOUR_NS);
	rolls_check(&w, BEGIN_NS + 7 * HOUR_NS, BEGIN_NS + 13 * HOUR_NS + 1800 * NS_PER_S);
	struct rolls hours = rolls_read(&w, &all, HOUR_NS, false);
	assert_true(hours.tier[ROLLUP_HOUR] > 20 * 12);
	free(hours.v);
	struct rolls minutes = rolls_read(&w, &all, 60 * NS_PER_S, false);
	assert_true(minutes.tier[ROLLUP_MINUTE] > 20 * 60 * 12);
	free(minutes.v);
	/* the whole range as one step */
	struct rolls got = rolls_read(&w, &all, 0, false), wanted = rolls_read(&w, &all, 0, true);
	assert_int_equal(got.tier[ROLLUP_HOUR], got.n);
	rolls_equal(&got, &wanted);
	rolls_close(&w);
}

/* A range as one step whose ends no minute has: what a series was in it is what its samples, taken
 * one by one, say. */
static void usage_check(const struct rolls_world *w, struct history_filter filter)
{
	struct rolls wanted = rolls_read(w, &filter, 0, true),
		     got = rolls_read(w, &filter, 0, false);

	assert_int_equal(got.tier[ROLLUP_RAW], wanted.n);
	filter.no_quantiles = true;
	struct rolls lean = rolls_read(w, &filter, 0, false);
	assert_int_equal(lean.n, wanted.n);
	for (size_t i = 0; i < wanted.n; i++) {
		const struct rollup *a = &got.v[i], *b = &wanted.v[i];
		assert_int_equal(a->seen_ns, b->seen_ns);
		assert_int_equal(a->longest_ns, b->longest_ns);
		assert_int_equal(a->suspects, b->suspects);
		assert_true(lean.v[i].sum == b->sum || b->numbers == 0);
		assert_int_equal(lean.v[i].increase, b->increase);
		assert_true(isnan(lean.v[i].p50) && isnan(lean.v[i].p99));
	}
	free(lean.v);
	rolls_equal(&got, &wanted);
}

/* ---- rocewatch_rates ------------------------------------------------------------- */

struct rates_wanted { /* what the samples say, taken one by one: rows of a table for SQL */
	struct history *history;
	sqlite3_stmt *put;
};

static int rates_take(void *arg, const struct rollup *rollup)
{
	const struct rates_wanted *wanted = arg;
	const struct entity *entity = entity_get(history_names(wanted->history), rollup->entity);
	const bool real = metric_info(rollup->metric)->type == TYPE_F64;
	const double s = rollup->intervals ? (double)rollup->covered_ns / 1e9 : NAN;
	const double v[] = {(double)rollup->increase / (rollup->intervals ? 1 : NAN),
		(double)rollup->increase / s, s, rollup->min, rollup->max,
		rollup->sum / rollup->numbers, rollup->p50, rollup->p99,
		real ? sample_f64(rollup->first) : (double)rollup->first,
		real ? sample_f64(rollup->last) : (double)rollup->last};
	char name[200], flags[SAMPLE_FLAGS_TEXT_MAX];

	snprintf(name, sizeof(name), "%s %s%s %d %s %lld %u", entity->device,
		metric_info(rollup->metric)->name, entity->port, entity->priority,
		sample_flags_text(flags, rollup->flags), (long long)rollup->to_ns, rollup->count);
	sqlite3_reset(wanted->put);
	sqlite3_clear_bindings(wanted->put);
	sqlite3_bind_text(wanted->put, 1, name, -1, SQLITE_TRANSIENT);
	for (size_t i = 0; i < rw_countof(v); i++)
		if (i < rw_countof(v) - 2 || rollup->count > 0)
			sqlite3_bind_double(wanted->put, (int)i + 2, v[i]);
	assert_int_equal(sqlite3_step(wanted->put), SQLITE_DONE);
	return 0;
}

static sqlite3 *rates_open(const struct rolls_world *w)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(w->world.path, &db), SQLITE_OK);
	assert_int_equal(samples_table_register(db), SQLITE_OK);
	return db;
}

static void rates_check(const struct rolls_world *w, const char *where,
	const struct history_filter *filter, int64_t step_ns)
{
	struct rates_wanted wanted;
	char sql[700];
	sqlite3 *db = rates_open(w);
	sqlite3_stmt *st;

	snprintf(sql, sizeof(sql),
		"CREATE TEMP TABLE wanted(name, a, b, c, d, e, f, g, h, i, j); CREATE TEMP VIEW "
		"got "
		"AS SELECT concat, increase+0.0, rate, interval_s, min, max, mean, p50, p99, "
		"first+0.0, last+0.0 FROM (SELECT *, device||' '||metric||ifnull(port,'')||' '||"
		"ifnull(priority,-1)||' '||flags||' '||t_ns||' '||count AS concat FROM "
		"rocewatch_rates('*', %lld, %lld, nullif(%lld / 1e9, 0)) WHERE %s)",
		(long long)filter->from_ns, (long long)filter->to_ns, (long long)step_ns, where);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "INSERT INTO wanted VALUES(?,?,?,?,?,?,?,?,?,?,?)",
				 -1, &wanted.put, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite_history_open(w->world.path, &wanted.history, NULL), 0);
	assert_int_equal(
		history_rollup_samples(wanted.history, filter, step_ns, rates_take, &wanted, NULL),
		0);
	history_close(wanted.history);
	sqlite3_finalize(wanted.put);
	assert_int_equal(sqlite3_prepare_v2(db,
				 "SELECT count(*) - (SELECT count(*) FROM got), count(*), (SELECT "
				 "group_concat(name) FROM (SELECT * FROM wanted EXCEPT SELECT * "
				 "FROM got LIMIT "
				 "3)) FROM wanted",
				 -1, &st, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	if (sqlite3_column_int(st, 0) != 0 || sqlite3_column_text(st, 2))
		fail_msg("%s: %d more rows wanted; others: %s", sql, sqlite3_column_int(st, 0),
			sqlite3_column_text(st, 2));
	assert_true(sqlite3_column_int(st, 1) > 0);
	sqlite3_finalize(st);
	sqlite3_close(db);
}

static void rates_refused(const struct rolls_world *w)
{
	static const char *const calls[] = {"", "('*')", "('*', 0)", "('*', 0, 1, 0)",
		"('*', 0, 1, -1)", "('*', 0, 1, 'x')", "('*', 0, 1, 1e99)", "('*', 'x', 1)"};
	sqlite3 *db = rates_open(w);
	char sql[200];

	for (size_t i = 0; i < rw_countof(calls); i++) {
		snprintf(sql, sizeof(sql), "SELECT * FROM rocewatch_rates%s", calls[i]);
		assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_ERROR);
		assert_non_null(strstr(sqlite3_errmsg(db), "rocewatch_rates(metric, from_ns"));
	}
	sqlite3_close(db);
}

static void test_rates(void **state)
{
	static const int64_t lengths[] = {0, 3600, 60, 45, 7, 7200};
	struct rolls_world w = {0};
	struct sample late[24];

	rolls_open(&w);
	rolls_fill(&w, 0, 12);
	w.as_they_came = true;
	rolls_fill(&w, 15, 16); /* after three hours without any, and in the open tail */
	for (size_t i = 0; i < rw_countof(late); i++) /* before and after each begin below */
		late[i] = sample_at(BEGIN_NS + (int64_t)(i / 2 + 1) * HOUR_NS +
				(int64_t)(4 + i % 2 * 5) * NS_PER_S,
			w.port[0][0], M_PORT_IN_OCTETS, chance(1000), SF_LATE);
	rolls_commit(&w, late, rw_countof(late));
	for (int64_t i = 0; i < 18; i++) {
		const int64_t step_ns = lengths[i % 6] * NS_PER_S;
		struct history_filter filter = {.priority = HISTORY_ANY_PRIORITY,
			.from_ns = BEGIN_NS + (i % 12 + 1) * HOUR_NS + 5 * NS_PER_S};
		filter.to_ns = filter.from_ns + 1 + (int64_t)chance((uint64_t)(5 * HOUR_NS));
		if (i < 6)
			filter.to_ns = BEGIN_NS + 20 * HOUR_NS;
		usage_check(&w, filter);
		rates_check(&w, "1", &filter, step_ns);
		filter.device = "leaf1";
		filter.port = "swp[02]";
		filter.priority = 3;
		rates_check(&w, "device='leaf1' AND port GLOB 'swp[02]' AND priority=3", &filter,
			step_ns);
	}
	/* all there is, from 1970 on, twice at the same time: cursors do not disturb each other */
	assert_int_equal(
		world_int(&w.world,
			"SELECT sum(a.count) - (SELECT count(*) FROM samples WHERE metric "
			"= 'pfc.rx_frames') + sum(a.count <> b.count) FROM rocewatch_rates('"
			"pfc.rx_frames', 0, 4e18, 60) a JOIN rocewatch_rates('pfc.rx_frames'"
			", 0, 4e18, 60) b USING (device, port, priority, t_ns)"),
		0);
	/* the time of a row of another table as an argument */
	assert_int_equal(world_int(&w.world,
				 "SELECT count(*) FROM (SELECT max(t_ns) AS t FROM samples) AS a, "
				 "rocewatch_rates('pfc.rx_frames', a.t - 3600000000000, a.t)"),
		DEVICES * PORTS);
	rates_refused(&w);
	rolls_close(&w);
}

/* A poll on the very end of an hour belongs to it, and not to the next one. */
static void test_hour_ends(void **state)
{
	struct rolls_world w = {0};

	rolls_open(&w);
	for (int64_t k = 0; k <= 8 * 60; k++) {
		const int64_t t_ns = BEGIN_NS + k * 60 * NS_PER_S;
		const struct sample v[] = {
			sample_at(t_ns, w.port[1][0], M_PORT_IN_OCTETS, (uint64_t)(k * k), 0),
			sample_at(t_ns, w.prio[1][0], M_QUEUE_DEPTH, (uint64_t)k, 0)};
		rolls_commit(&w, v, 2);
	}
	rolls_compact(&w, INT64_MAX);
	rolls_check(&w, BEGIN_NS, BEGIN_NS + 8 * HOUR_NS);
	rolls_check(&w, BEGIN_NS + 2 * HOUR_NS, BEGIN_NS + 3 * HOUR_NS);
	rolls_close(&w);
}

/* A value that comes late, but with its right time, is in the minutes and hours that it touches. */
static void test_late(void **state)
{
	struct rolls_world w = {0};

	rolls_open(&w);
	rolls_fill(&w, 0, 8);
	rolls_compact(&w, INT64_MAX);
	assert_int_equal(world_int(&w.world, "SELECT count(*) FROM rollup_due"), 0);
	const struct sample late[] = {sample_at(BEGIN_NS + 3 * HOUR_NS - 3 * NS_PER_S, w.port[0][0],
					      M_PORT_IN_OCTETS, 5, 0),
		sample_at(BEGIN_NS + 3 * HOUR_NS - 2 * NS_PER_S, w.port[0][2], M_PORT_IN_OCTETS, 9,
			0),
		sample_at(BEGIN_NS + 5 * HOUR_NS + NS_PER_S, w.prio[1][1], M_QUEUE_DEPTH, 1234567,
			0)};
	rolls_commit(&w, late, rw_countof(late));
	rolls_check(&w, BEGIN_NS, BEGIN_NS + 8 * HOUR_NS);
	rolls_compact(&w, INT64_MAX);
	assert_int_equal(world_int(&w.world, "SELECT count(*) FROM rollup_due"), 0);
	assert_int_equal(world_int(&w.world, "SELECT count(*) FROM tail"), 0);
	rolls_check(&w, BEGIN_NS, BEGIN_NS + 8 * HOUR_NS);
	rolls_close(&w);
}

/* What retention has taken from the single values stays in the minutes and hours, and a late value
 * does not replace a full hour by itself. */
static void test_raw_gone(void **state)
{
	const struct history_filter all = {.priority = HISTORY_ANY_PRIORITY,
		.from_ns = BEGIN_NS,
		.to_ns = BEGIN_NS + 6 * HOUR_NS};
	struct rolls_world w = {0};
	struct rolls wanted[3];

	rolls_open(&w);
	rolls_fill(&w, 0, 8);
	rolls_compact(&w, INT64_MAX);
	for (size_t i = 0; i < rw_countof(wanted); i++)
		wanted[i] = rolls_read(&w, &all, steps[i], true);
	world_exec(&w.world,
		"DELETE FROM block WHERE to_ns<=(SELECT max(to_ns) FROM block)-3600000000000");
	const struct sample late =
		sample_at(BEGIN_NS + 3 * HOUR_NS - NS_PER_S, w.port[0][0], M_PORT_IN_OCTETS, 5, 0);
	rolls_commit(&w, &late, 1);
	rolls_compact(&w, INT64_MAX);
	for (size_t i = 0; i < rw_countof(wanted); i++) {
		struct rolls got = rolls_read(&w, &all, steps[i], false);
		rolls_equal(&got, &wanted[i]);
	}
	rolls_close(&w);
}

/* ---- kill -9 ---------------------------------------------------------------------- */

/* What the child does until it is killed: seals and makes minutes and hours, step by step. */
static void rolls_work(const struct rolls_world *w, int fd)
{
	const struct store_options o = {.path = w->world.path, .replay = true};
	struct err e = {0};
	void *store;
	bool more = true;

	if (sqlite_backend.open(&o, &store, &e) < 0)
		_exit(1);
	while (more)
		if (sqlite_backend.compact(store, INT64_MAX, 0, &more, &e) < 0 ||
			write(fd, "", 1) != 1)
			_exit(1);
	sqlite_backend.close(store);
	_exit(0);
}

/* Returns false when it came to its end before it was killed. */
static bool rolls_killed(const struct rolls_world *w)
{
	int fds[2], status;
	char byte;

	assert_int_equal(pipe(fds), 0);
	const pid_t pid = fork();
	if (pid == 0) {
		close(fds[0]);
		rolls_work(w, fds[1]);
	}
	close(fds[1]);
	for (uint64_t i = 1 + chance(8); i > 0; i--)
		if (read(fds[0], &byte, 1) != 1)
			break;
	usleep((useconds_t)chance(400));
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	close(fds[0]);
	if (WIFEXITED(status))
		assert_int_equal(WEXITSTATUS(status), 0);
	return WIFSIGNALED(status);
}

/* kill -9 at any step: hours that are made in the end are complete, and are those of the single
 * values; none is forgotten. */
static void test_killed(void **state)
{
	const struct history_filter all = {.priority = HISTORY_ANY_PRIORITY,
		.from_ns = BEGIN_NS,
		.to_ns = BEGIN_NS + 6 * HOUR_NS};
	struct rolls_world w = {.as_they_came = true};
	int under_way = 0;

	rolls_open(&w);
	rolls_fill(&w, 0, 6);
	struct rolls single = rolls_read(&w, &all, HOUR_NS, true);
	sqlite_backend.close(w.state);
	while (rolls_killed(&w)) {
		under_way += world_int(&w.world,
			"SELECT EXISTS(SELECT 1 FROM rollup_due) AND EXISTS(SELECT 1 FROM "
			"block_minute)");
		struct rolls wanted = single;
		wanted.v = rw_calloc(single.n, sizeof(*wanted.v));
		memcpy(wanted.v, single.v, single.n * sizeof(*wanted.v));
		struct rolls got = rolls_read(&w, &all, HOUR_NS, false);
		rolls_equal(&got, &wanted);
	}
	print_message("killed %d times in the middle of hours\n", under_way);
	assert_true(under_way >= 1);
	free(single.v);
	assert_int_equal(world_int(&w.world, "SELECT count(*) FROM rollup_due"), 0);
	rolls_check(&w, BEGIN_NS, BEGIN_NS + 6 * HOUR_NS);
	struct rolls hours = rolls_read(&w, &all, HOUR_NS, false);
	assert_int_equal(hours.tier[ROLLUP_HOUR], hours.n);
	free(hours.v);
	struct rolls minutes = rolls_read(&w, &all, 60 * NS_PER_S, false);
	assert_int_equal(minutes.tier[ROLLUP_MINUTE], minutes.n);
	free(minutes.v);
	entities_free(w.entities);
	world_done(&w.world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),
		cmocka_unit_test(test_rates),
		cmocka_unit_test(test_hour_ends),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_raw_gone),
		cmocka_unit_test(test_killed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
