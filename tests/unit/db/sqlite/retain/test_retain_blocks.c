/* Retention of blocks: each tier goes by its own age, whole blocks, from the front; what a pin
 * touches stays, and so does the newest of each configuration state; the quota takes the oldest
 * detail first and says how far each tier still reaches back. A pass by a model of its own. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/str.h"
#include "db/block/block_codec.h"
#include "db/open.h"
#include "db/sqlite/sqlite.h"
#include "db/store/store.h"
#include "db/store/store_backend.h"
#include "tests/unit/db/db_world.h"

#define DAY_S 86400LL
#define DAY_NS (DAY_S * NS_PER_S)
#define NOW_S (1000 * DAY_S)
#define NOW SECONDS(NOW_S)
#define DAYS_AGO(n) SECONDS(NOW_S - (n)*DAY_S)

static const char *const tables[STORE_TIERS] = {"block", "block_minute", "block_hour"};
enum { OCTETS = 100000, TRUST, FOREIGN }; /* the file's numbers of three metrics */

static const struct store_options usual = {.raw_ns = 7 * DAY_NS,
	.minute_ns = 90 * DAY_NS,
	.hour_ns = 730 * DAY_NS,
	.events_ns = 365 * DAY_NS,
	.incidents_ns = 730 * DAY_NS};

struct keeping {
	struct db_world world;
	void *writer;
	sqlite3 *db; /* of the test's own */
};

static void keeping_open(struct keeping *k)
{
	struct err e = {0};
	struct store_options o = usual;

	o.path = k->world.path;
	if (sqlite_backend.open(&o, &k->writer, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(sqlite3_open(k->world.path, &k->db), SQLITE_OK);
	sqlite3_busy_timeout(k->db, 5000);
}

static void keeping_close(struct keeping *k)
{
	sqlite3_close(k->db);
	sqlite_backend.close(k->writer);
}

static void run(struct keeping *k, const char *sql)
{
	if (sqlite3_exec(k->db, sql, NULL, NULL, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(k->db));
}

static void keeping_init(struct keeping *k)
{
	*k = (struct keeping){0};
	world_init(&k->world);
	keeping_open(k);
	run(k,
		"INSERT INTO metric_name(id, name) VALUES(100000, 'test.octets'), "
		"(100001, 'cfg.test_trust'), (100002, 'test.of_a_newer_program')");
}

static void keeping_done(struct keeping *k)
{
	keeping_close(k);
	world_done(&k->world);
}

static int64_t number(struct keeping *k, const char *sql)
{
	sqlite3_stmt *st;

	if (sqlite3_prepare_v2(k->db, sql, -1, &st, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(k->db));
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	const int64_t v = sqlite3_column_int64(st, 0);
	sqlite3_finalize(st);
	return v;
}

static int64_t count(struct keeping *k, enum store_tier tier)
{
	char sql[64];

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s", tables[tier]);
	return number(k, sql);
}

static void put(struct keeping *k, enum store_tier tier, int64_t device, int64_t metric,
	int64_t from_ns, int64_t to_ns, const void *data, size_t size)
{
	char sql[128];
	sqlite3_stmt *st;

	snprintf(sql, sizeof(sql),
		"INSERT INTO %s(device, metric, from_ns, to_ns, n, data) VALUES(?1,?2,?3,?4,1,?5)",
		tables[tier]);
	assert_int_equal(sqlite3_prepare_v2(k->db, sql, -1, &st, NULL), SQLITE_OK);
	sqlite3_bind_int64(st, 1, device);
	sqlite3_bind_int64(st, 2, metric);
	sqlite3_bind_int64(st, 3, from_ns);
	sqlite3_bind_int64(st, 4, to_ns);
	sqlite3_bind_blob(st, 5, data, (int)size, SQLITE_STATIC);
	assert_int_equal(sqlite3_step(st), SQLITE_DONE);
	sqlite3_finalize(st);
}

static void put_states(struct keeping *k, int64_t device, const struct block_sample *v, size_t n,
	int64_t from_ns, int64_t to_ns)
{
	struct str data = {0};

	assert_int_equal(block_encode(v, n, BLOCK_SMALL, false, &data), 0);
	put(k, STORE_RAW, device, TRUST, from_ns, to_ns, data.s, data.n);
	str_done(&data);
}

static void keep(struct keeping *k, const struct store_options *o)
{
	struct store_options with = *o;

	with.path = k->world.path;
	sqlite_backend.keep(k->writer, &with);
}

/* Passes until there is nothing more to do; the number of transactions. */
static int retain_at(struct keeping *k, int64_t now_ns, struct store_usage *ret)
{
	struct store_usage usage;
	struct err e = {0};
	bool more = true;
	int chunks = 0;

	for (; more && chunks < 10000; chunks++)
		if (sqlite_backend.maintain(k->writer, now_ns, &more, &e) < 0)
			fail_msg("%s", e.text);
	assert_true(chunks < 10000);
	if (sqlite_backend.usage(k->writer, &usage, &e) < 0)
		fail_msg("%s", e.text);
	if (ret)
		*ret = usage;
	return chunks;
}

/* ---- ages ---------------------------------------------------------------- */

static const char bytes[4000];

/* A block a day for @days of two devices and three metrics in every tier. */
static void put_days(struct keeping *k, int days, size_t size)
{
	run(k, "BEGIN");
	for (int day = days; day > 0; day--)
		for (int64_t device = 1; device <= 2; device++)
			for (int64_t metric = OCTETS; metric <= FOREIGN; metric += 2)
				for (unsigned tier = 0; tier < STORE_TIERS; tier++)
					put(k, (enum store_tier)tier, device, metric,
						DAYS_AGO(day) + 1, DAYS_AGO(day - 1), bytes, size);
	run(k, "COMMIT");
}

static void each_tier_by_its_age(void **state)
{
	struct keeping k;
	struct store_usage usage;

	keeping_init(&k);
	put_days(&k, 900, 100);
	assert_true(retain_at(&k, NOW, &usage) > 3); /* in pieces */
	/* a block that ends at the very age stays */
	assert_int_equal(count(&k, STORE_RAW), 8 * 4);
	assert_int_equal(count(&k, STORE_MINUTE), 91 * 4);
	assert_int_equal(count(&k, STORE_HOUR), 731 * 4);
	assert_int_equal(usage.oldest_ns[STORE_RAW], DAYS_AGO(7));
	assert_int_equal(usage.oldest_ns[STORE_HOUR], DAYS_AGO(730));
	assert_false(usage.cut[STORE_RAW]);
	/* the same writer, a day later: what is due goes, also of what came meanwhile */
	put(&k, STORE_RAW, 3, OCTETS, DAYS_AGO(20), DAYS_AGO(19), "", 0);
	retain_at(&k, NOW + DAY_NS, NULL);
	assert_int_equal(count(&k, STORE_RAW), 7 * 4);
	assert_int_equal(count(&k, STORE_MINUTE), 90 * 4);
	keeping_done(&k);
}

/* An age of 0 keeps for ever; a reload changes what the next pass does. */
static void ages_follow_a_reload(void **state)
{
	struct keeping k;
	struct store_options o = usual;

	keeping_init(&k);
	put_days(&k, 100, 100);
	o.raw_ns = o.minute_ns = 0;
	keep(&k, &o);
	retain_at(&k, NOW, NULL);
	assert_int_equal(count(&k, STORE_RAW), 100 * 4);
	o.minute_ns = 10 * DAY_NS;
	keep(&k, &o);
	retain_at(&k, NOW, NULL);
	assert_int_equal(count(&k, STORE_RAW), 100 * 4);
	assert_int_equal(count(&k, STORE_MINUTE), 11 * 4);
	assert_int_equal(count(&k, STORE_HOUR), 100 * 4);
	keeping_done(&k);
}

/* Raw samples whose minutes are not made yet wait for that, with the hours before, for a day. */
static void minutes_are_made_first(void **state)
{
	struct keeping k;
	char sql[256];

	keeping_init(&k);
	run(&k,
		"CREATE TABLE IF NOT EXISTS rollup_due(hour_ns INTEGER NOT NULL, device INTEGER "
		"NOT NULL, PRIMARY KEY(hour_ns, device)) WITHOUT ROWID");
	run(&k, "BEGIN");
	for (int hour = 48; hour > 0; hour--)
		for (int64_t device = 1; device <= 2; device++)
			put(&k, STORE_RAW, device, OCTETS, DAYS_AGO(7 + hour / 24.0) + 1,
				DAYS_AGO(7 + (hour - 1) / 24.0), "", 0);
	run(&k, "COMMIT");
	/* of device 1 an hour that was over 5 h before the cutoff, and one that nobody can make */
	snprintf(sql, sizeof(sql),
		"INSERT INTO rollup_due(device, hour_ns) VALUES(1, %lld), (2, %lld)",
		(long long)DAYS_AGO(7 + 5 / 24.0), (long long)DAYS_AGO(7 + 40 / 24.0));
	run(&k, sql);
	retain_at(&k, NOW, NULL);
	assert_int_equal(number(&k, "SELECT count(*) FROM block WHERE device=1"), 8);
	assert_int_equal(number(&k, "SELECT count(*) FROM block WHERE device=2"), 1);
	run(&k, "DELETE FROM rollup_due");
	retain_at(&k, NOW, NULL);
	assert_int_equal(number(&k, "SELECT count(*) FROM block WHERE device=1"), 1);
	keeping_done(&k);
}

/* ---- configuration states ------------------------------------------------ */

static void put_name(struct keeping *k, int64_t id)
{
	char sql[160];

	snprintf(sql, sizeof(sql),
		"INSERT INTO entity(id, device, port, priority) VALUES(%lld, 'leaf1', 'swp%lld', "
		"-1)",
		(long long)id, (long long)id);
	run(k, sql);
}

static uint64_t state_of(struct keeping *k, int64_t entity, int64_t *ret_t_ns)
{
	struct block_sample *v = NULL;
	size_t n = 0, cap = 0;
	sqlite3_stmt *st;
	uint64_t value = 0;

	*ret_t_ns = 0;
	assert_int_equal(sqlite3_prepare_v2(k->db,
				 "SELECT from_ns, to_ns, n, data FROM block WHERE device=1 AND "
				 "metric=100001 ORDER BY from_ns",
				 -1, &st, NULL),
		SQLITE_OK);
	while (sqlite3_step(st) == SQLITE_ROW) {
		struct block_reader reader;
		assert_int_equal(block_open(&reader, sqlite3_column_blob(st, 3),
					 (size_t)sqlite3_column_bytes(st, 3)),
			0);
		n = 0;
		assert_int_equal(block_decode(&reader, &v, &n, &cap), 0);
		for (size_t i = 0; i < n; i++) {
			assert_true(v[i].t_ns >= sqlite3_column_int64(st, 0));
			assert_true(v[i].t_ns <= sqlite3_column_int64(st, 1));
			if (v[i].entity != entity || v[i].t_ns < *ret_t_ns)
				continue;
			*ret_t_ns = v[i].t_ns;
			value = v[i].value;
			assert_int_equal(v[i].flags, SF_DECLARED);
		}
	}
	sqlite3_finalize(st);
	free(v);
	return value;
}

static struct block_sample state_at(int64_t entity, int64_t t_ns, uint64_t value)
{
	return (struct block_sample){
		.entity = entity, .t_ns = t_ns, .value = value, .flags = SF_DECLARED, .source = 1};
}

/* Two ports; one was never asked again after the first day, one is, and one has lost its name. */
static void states_in_force_stay(void **state)
{
	struct keeping k;
	int64_t t_ns;

	keeping_init(&k);
	put_name(&k, 11);
	put_name(&k, 12);
	for (int day = 40; day > 0; day--) {
		struct block_sample v[4];
		size_t n = 0;
		const int64_t at_ns = DAYS_AGO(day);
		if (day == 40) {
			v[n++] = state_at(11, at_ns, UINT64_MAX);
			v[n++] = state_at(11, at_ns + 60 * NS_PER_S, UINT64_MAX - 1);
		}
		v[n++] = state_at(12, at_ns, (uint64_t)day);
		if (day == 40)
			v[n++] = state_at(99, at_ns, 5);
		put_states(&k, 1, v, n, at_ns, at_ns + 60 * NS_PER_S);
	}
	retain_at(&k, NOW, NULL);
	assert_int_equal(count(&k, STORE_RAW), 1 + 7);
	assert_true(state_of(&k, 11, &t_ns) == UINT64_MAX - 1);
	assert_int_equal(t_ns, DAYS_AGO(40) + 60 * NS_PER_S);
	assert_int_equal(state_of(&k, 99, &t_ns), 0);
	assert_int_equal(number(&k, "SELECT n FROM block ORDER BY from_ns LIMIT 1"), 2);
	assert_int_equal(
		number(&k, "SELECT to_ns FROM block ORDER BY from_ns LIMIT 1"), DAYS_AGO(8));
	/* again and again, also when all of them are too old */
	for (int day = 1; day <= 30; day++)
		retain_at(&k, NOW + day * DAY_NS, NULL);
	assert_int_equal(count(&k, STORE_RAW), 1);
	assert_true(state_of(&k, 11, &t_ns) == UINT64_MAX - 1);
	assert_int_equal(state_of(&k, 12, &t_ns), 1);
	/* nothing is written when nothing changes */
	const int64_t version = number(&k, "PRAGMA data_version");
	struct err e = {0};
	bool more;
	assert_int_equal(sqlite_backend.maintain(k.writer, NOW + 31 * DAY_NS, &more, &e), 0);
	assert_int_equal(number(&k, "PRAGMA data_version"), version);
	keeping_done(&k);
}

/* A damaged block of states does not stop retention, and takes no other with it. */
static void damaged_states(void **state)
{
	struct keeping k;
	int64_t t_ns;
	const struct block_sample v = state_at(11, DAYS_AGO(50), 7);

	keeping_init(&k);
	put_name(&k, 11);
	put_states(&k, 1, &v, 1, DAYS_AGO(50), DAYS_AGO(50));
	put(&k, STORE_RAW, 1, TRUST, DAYS_AGO(49), DAYS_AGO(49), "rubbish", 7);
	put(&k, STORE_RAW, 1, OCTETS, DAYS_AGO(49), DAYS_AGO(49), "rubbish", 7);
	retain_at(&k, NOW, NULL);
	assert_int_equal(count(&k, STORE_RAW), 1);
	assert_int_equal(state_of(&k, 11, &t_ns), 7);
	keeping_done(&k);
}

/* ---- pins ---------------------------------------------------------------- */

static void pin(struct keeping *k)
{
	char sql[1024];

	snprintf(sql, sizeof(sql),
		"INSERT INTO incident(id, state, opened_ns, updated_ns, json) VALUES"
		"('open', 'open', %lld, %lld, '{}'), ('over', 'closed', %lld, %lld, '{}');"
		"INSERT INTO recommendation(id, state, from_ns, to_ns, updated_ns, json) VALUES"
		"('open', 'proposed', %lld, %lld, %lld, '{}'), ('over', 'rejected', %lld, %lld, "
		"%lld, '{}');"
		"INSERT INTO burst(t_ns, incident_id, from_ns, to_ns, part, parts, data) VALUES"
		"(1, 'open', %lld, %lld, 0, 1, ''), (1, 'over', %lld, %lld, 0, 1, '')",
		(long long)DAYS_AGO(50.5), (long long)DAYS_AGO(50.5), (long long)DAYS_AGO(45.5),
		(long long)DAYS_AGO(45.5), (long long)DAYS_AGO(40.5), (long long)DAYS_AGO(38.5),
		(long long)NOW, (long long)DAYS_AGO(36.5), (long long)DAYS_AGO(35.5),
		(long long)NOW, (long long)DAYS_AGO(60.5), (long long)DAYS_AGO(60.5),
		(long long)DAYS_AGO(65.5), (long long)DAYS_AGO(65.5));
	run(k, sql);
}

static void pins_hold_against_age_and_quota(void **state)
{
	struct keeping k;
	struct store_usage usage;
	struct store_options o = usual;

	keeping_init(&k);
	put_days(&k, 100, sizeof(bytes));
	pin(&k);
	retain_at(&k, NOW, NULL);
	/* 1 incident, 3 of the sheet, 1 burst; the minutes of 90 days have them anyway */
	assert_int_equal(count(&k, STORE_RAW), (8 + 5) * 4);
	assert_int_equal(count(&k, STORE_MINUTE), 91 * 4);
	o.quota_bytes = 100000;
	keep(&k, &o);
	retain_at(&k, NOW, &usage);
	assert_true(usage.stuck); /* less than the pins take */
	for (unsigned tier = 0; tier < STORE_TIERS; tier++) {
		char sql[256];
		snprintf(sql, sizeof(sql), "SELECT count(*) FROM %s WHERE from_ns<%lld",
			tables[tier], (long long)DAYS_AGO(30));
		assert_int_equal(number(&k, sql), 5 * 4);
	}
	/* what rested on them is closed: they go, without a new start */
	run(&k, "UPDATE incident SET state='closed'; UPDATE recommendation SET state='rejected'");
	keeping_close(&k);
	keeping_open(&k);
	o.quota_bytes = 0;
	keep(&k, &o);
	retain_at(&k, NOW, NULL);
	assert_int_equal(
		number(&k,
			"SELECT count(*) FROM block WHERE from_ns<1700000000000000000+(1000-30)*"
			"86400*1000000000"),
		0);
	keeping_done(&k);
}

/* ---- quota --------------------------------------------------------------- */

static void quota_takes_the_oldest_detail(void **state)
{
	static const uint64_t quotas[] = {5000000, 4000000, 3000000, 1000000};

	for (size_t i = 0; i < sizeof(quotas) / sizeof(quotas[0]); i++) {
		struct keeping k;
		struct store_usage usage;
		struct store_options o = usual;
		keeping_init(&k);
		put_days(&k, 100, sizeof(bytes));
		o.raw_ns = o.minute_ns = o.hour_ns = 200 * DAY_NS;
		o.quota_bytes = quotas[i];
		keep(&k, &o);
		retain_at(&k, NOW, &usage);
		assert_false(usage.stuck);
		assert_true(usage.used_bytes <= o.quota_bytes);
		assert_true(usage.used_bytes > o.quota_bytes * 8 / 10);
		const int64_t raw = count(&k, STORE_RAW) / 4, minute = count(&k, STORE_MINUTE) / 4,
			      hour = count(&k, STORE_HOUR) / 4;
		/* a finer tier is down to what its stage leaves before a coarser one is touched */
		assert_true(raw >= 1 && minute >= 1);
		assert_true(minute == 100 || raw <= 2);
		assert_true(hour == 100 || minute <= 8);
		assert_true(minute >= 7 || hour <= 91);
		assert_true(hour >= 7 || minute <= 2);
		assert_true(usage.cut[STORE_RAW]);
		assert_int_equal(usage.cut[STORE_MINUTE], minute < 100);
		assert_int_equal(usage.oldest_ns[STORE_RAW], DAYS_AGO(raw - 1));
		/* all of it is the newest */
		assert_int_equal(number(&k, "SELECT max(to_ns) FROM block"), NOW);
		keeping_done(&k);
	}
}

/* The file does not grow although a day comes for each that goes. */
static void pages_are_used_again(void **state)
{
	struct keeping k;
	struct store_options o = usual;
	int64_t least = INT64_MAX, most = 0;

	keeping_init(&k);
	o.minute_ns = o.hour_ns = 7 * DAY_NS;
	keep(&k, &o);
	put_days(&k, 7, sizeof(bytes));
	for (int day = 1; day <= 40; day++) {
		run(&k, "BEGIN");
		for (int64_t device = 1; device <= 2; device++)
			for (unsigned tier = 0; tier < STORE_TIERS; tier++)
				put(&k, (enum store_tier)tier, device, OCTETS,
					NOW + (day - 1) * DAY_NS + 1, NOW + day * DAY_NS, bytes,
					sizeof(bytes));
		run(&k, "COMMIT");
		retain_at(&k, NOW + day * DAY_NS, NULL);
		const int64_t pages = number(&k, "PRAGMA page_count");
		if (day > 10 && pages < least)
			least = pages;
		if (day > 10 && pages > most)
			most = pages;
	}
	assert_int_equal(least, most);
	keeping_done(&k);
}

/* ---- against a model ----------------------------------------------------- */

struct model_block {
	enum store_tier tier;
	int64_t device, metric, from_ns, to_ns;
	bool gone;
};

static uint64_t model_seed = 1;
static uint64_t model_random(uint64_t below)
{
	model_seed = model_seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (model_seed >> 33) % below;
}

/* Hours come and go under one writer, pins open and close, late hours arrive; after each pass the
 * file holds what the model says. */
static void as_the_model_says(void **state)
{
	struct keeping k;
	static struct model_block blocks[20000];
	size_t n = 0;
	struct store_options o = usual;
	const int64_t hour_ns = 3600 * NS_PER_S;
	int64_t pin_ns = 0;

	keeping_init(&k);
	o.raw_ns = 10 * hour_ns;
	o.minute_ns = 30 * hour_ns;
	o.hour_ns = 60 * hour_ns;
	keep(&k, &o);
	const int64_t ages[STORE_TIERS] = {o.raw_ns, o.minute_ns, o.hour_ns};
	for (int hour = 0; hour < 150; hour++) {
		const int64_t now_ns = NOW + hour * hour_ns;
		run(&k, "BEGIN");
		for (int64_t device = 1; device <= 4; device++)
			for (int64_t metric = OCTETS; metric <= FOREIGN + 2; metric++) {
				if (metric == TRUST || model_random(4) == 0)
					continue;
				struct model_block b = {.tier = (enum store_tier)model_random(3),
					.device = device,
					.metric = metric,
					.from_ns = now_ns - hour_ns + 1,
					.to_ns = now_ns};
				blocks[n++] = b;
				put(&k, b.tier, device, metric, b.from_ns, b.to_ns, bytes, 10);
			}
		run(&k, "COMMIT");
		if (hour % 40 == 20) {
			char sql[256];
			pin_ns = now_ns - 2 * hour_ns;
			snprintf(sql, sizeof(sql),
				"DELETE FROM incident; INSERT INTO incident(id, state, opened_ns, "
				"updated_ns, json) VALUES('p', 'open', %lld, %lld, '{}')",
				(long long)pin_ns, (long long)pin_ns);
			run(&k, sql);
			/* fronts are looked at anew within the hour; here at once */
			keeping_close(&k);
			keeping_open(&k);
			keep(&k, &o);
		}
		retain_at(&k, now_ns, NULL);
		int64_t expected[STORE_TIERS] = {0};
		for (size_t i = 0; i < n; i++) {
			struct model_block *b = &blocks[i];
			const bool pinned = pin_ns && b->from_ns <= pin_ns + 900 * NS_PER_S &&
				b->to_ns >= pin_ns - 900 * NS_PER_S;
			b->gone |= b->to_ns < now_ns - ages[b->tier] && !pinned;
			expected[b->tier] += !b->gone;
		}
		for (unsigned tier = 0; tier < STORE_TIERS; tier++)
			assert_int_equal(count(&k, (enum store_tier)tier), expected[tier]);
	}
	keeping_done(&k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_tier_by_its_age),
		cmocka_unit_test(ages_follow_a_reload),
		cmocka_unit_test(minutes_are_made_first),
		cmocka_unit_test(states_in_force_stay),
		cmocka_unit_test(damaged_states),
		cmocka_unit_test(pins_hold_against_age_and_quota),
		cmocka_unit_test(quota_takes_the_oldest_detail),
		cmocka_unit_test(pages_are_used_again),
		cmocka_unit_test(as_the_model_says),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
