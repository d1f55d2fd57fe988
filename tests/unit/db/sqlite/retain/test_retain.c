/* Retention of every table that grows: what is over goes after its time, what is open, newest or
 * needed stays; the quota takes from all of them in its order, and says what it cannot take. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/str.h"
#include "db/open.h"
#include "db/sqlite/sqlite.h"
#include "db/sqlite/write/store_write.h"
#include "db/store/store.h"
#include "db/store/store_backend.h"
#include "tests/unit/db/db_world.h"

#define DAY_S 86400
#define NOW_S (1000 * DAY_S)
#define NOW SECONDS(NOW_S)
#define DAYS_AGO(n) SECONDS(NOW_S - (n)*DAY_S)

static void make(const struct db_world *w)
{
	struct entities *t = entities_new();
	struct store_options o = {.path = w->path, .replay = true};
	struct store *s;

	assert_int_equal(db_store_open(&o, t, &s, NULL), 0);
	store_close(s);
	entities_free(t);
}

/* Passes until there is nothing more to do; the number of transactions. */
static int retain(const struct db_world *w, struct store_options o, struct store_usage *ret_usage)
{
	struct err e = {0};
	void *writer;
	bool more = true;
	int chunks = 0;

	o.path = w->path;
	if (sqlite_backend.open(&o, &writer, &e) < 0)
		fail_msg("%s", e.text);
	for (; more && chunks < 10000; chunks++)
		if (sqlite_backend.maintain(writer, NOW, &more, &e) < 0)
			fail_msg("%s", e.text);
	assert_true(chunks < 10000);
	if (ret_usage && sqlite_backend.usage(writer, ret_usage, &e) < 0)
		fail_msg("%s", e.text);
	sqlite_backend.close(writer);
	return chunks;
}

static void put_incident(
	const struct db_world *w, const char *id, const char *state, int64_t updated_ns)
{
	char sql[512];
	snprintf(sql, sizeof(sql),
		"INSERT INTO incident(id, cause, severity, state, opened_ns, closed_ns, "
		"updated_ns, json) VALUES('%s', 'ecn_late', 'warning', '%s', %lld, %lld, %lld, "
		"'{}')",
		id, state, (long long)updated_ns, (long long)updated_ns, (long long)updated_ns);
	world_exec(w, sql);
}

static void put_event(
	const struct db_world *w, const char *kind, const char *incident, int64_t t_ns)
{
	char sql[512];
	snprintf(sql, sizeof(sql),
		"INSERT INTO event(t_ns, kind, incident_id, text) VALUES(%lld, '%s', %s%s%s, 'x')",
		(long long)t_ns, kind, incident ? "'" : "", incident ? incident : "NULL",
		incident ? "'" : "");
	world_exec(w, sql);
}

static void put_sheet(const struct db_world *w, const char *id, const char *state,
	const char *incident, int64_t updated_ns)
{
	char sql[512];
	snprintf(sql, sizeof(sql),
		"INSERT INTO recommendation(id, t_ns, incident_id, device, port, priority, state, "
		"json, updated_ns) VALUES('%s', %lld, '%s', 'leaf1', '', 3, '%s', '{}', %lld)",
		id, (long long)updated_ns, incident, state, (long long)updated_ns);
	world_exec(w, sql);
}

static void put_alert(
	const struct db_world *w, const char *incident, const char *pending, int64_t updated_ns)
{
	char sql[512];
	snprintf(sql, sizeof(sql),
		"INSERT INTO alert(receiver, incident_id, state, pending, updated_ns) "
		"VALUES('noc', '%s', 'resolved', '%s', %lld)",
		incident, pending, (long long)updated_ns);
	world_exec(w, sql);
}

static void assert_ids(const struct db_world *w, const char *table, const char *expected)
{
	char sql[256];
	sqlite3 *db;
	sqlite3_stmt *st;
	snprintf(sql, sizeof(sql),
		"SELECT group_concat(id, ' ') FROM (SELECT id FROM %s ORDER BY id)", table);
	assert_int_equal(sqlite3_open(w->path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &st, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	assert_string_equal(str_or((const char *)sqlite3_column_text(st, 0), ""), expected);
	sqlite3_finalize(st);
	sqlite3_close(db);
}

static const struct store_options usual = {.raw_ns = 7LL * DAY_S * NS_PER_S,
	.events_ns = 365LL * DAY_S * NS_PER_S,
	.incidents_ns = 730LL * DAY_S * NS_PER_S};

/* One chunk after the other, @most of them; false: there was more to do. */
static bool retain_within(void *writer, int most)
{
	bool more = true;
	for (int i = 0; more && i < most; i++)
		if (sqlite_backend.maintain(writer, NOW, &more, NULL) < 0)
			fail_msg("a chunk failed");
	return !more;
}

static void *retain_open(const struct db_world *w)
{
	struct store_options o = usual;
	struct err e = {0};
	void *writer;
	o.path = w->path;
	if (sqlite_backend.open(&o, &writer, &e) < 0)
		fail_msg("%s", e.text);
	return writer;
}

static void put_findings(const struct db_world *w, int n, int64_t to_ns)
{
	char sql[256];
	snprintf(sql, sizeof(sql),
		"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i<%d) "
		"INSERT INTO finding(from_ns, to_ns, analyzer) SELECT 0, %lld, 'x' FROM n",
		n, (long long)to_ns);
	world_exec(w, sql);
}

/* More rows of one instant than a transaction takes go all the same, and so do those behind. */
static void one_instant(void **state)
{
	struct db_world w;
	world_init(&w);
	make(&w);
	put_findings(&w, 20000, DAYS_AGO(30));
	put_findings(&w, 10, DAYS_AGO(20));
	put_findings(&w, 10, DAYS_AGO(1));
	void *writer = retain_open(&w);
	assert_true(retain_within(writer, 50));
	sqlite_backend.close(writer);
	assert_int_equal(world_int(&w, "SELECT count(*) FROM finding"), 10);
	world_done(&w);
}

/* What an open incident rests on stays; what lies before and behind it goes. */
static void around_a_pin(void **state)
{
	struct db_world w;
	world_init(&w);
	make(&w);
	put_incident(&w, "open", "open", DAYS_AGO(40));
	put_findings(&w, 3, DAYS_AGO(50));
	put_findings(&w, 5, DAYS_AGO(40));
	put_findings(&w, 7, DAYS_AGO(40) + 900 * NS_PER_S); /* its last instant */
	put_findings(&w, 11, DAYS_AGO(40) + 901 * NS_PER_S);
	put_findings(&w, 13, DAYS_AGO(30));
	put_findings(&w, 17, DAYS_AGO(1));
	void *writer = retain_open(&w);
	assert_true(retain_within(writer, 50));
	sqlite_backend.close(writer);
	assert_int_equal(world_int(&w, "SELECT count(*) FROM finding"), 5 + 7 + 17);
	world_done(&w);
}

static void put_evidence(
	const struct db_world *w, const char *id, const char *state, int from_days, int to_days)
{
	char sql[256];
	put_sheet(w, id, state, "", DAYS_AGO(to_days));
	snprintf(sql, sizeof(sql),
		"UPDATE recommendation SET from_ns=%lld, to_ns=%lld WHERE id='%s'",
		(long long)DAYS_AGO(from_days), (long long)DAYS_AGO(to_days), id);
	world_exec(w, sql);
}

/* The evidence of sheets that are open or in force, also where one lies within another. */
static void evidence_of_sheets(void **state)
{
	struct db_world w;
	world_init(&w);
	make(&w);
	put_evidence(&w, "a", "accepted", 90, 80);
	put_evidence(&w, "b", "applied", 60, 40);
	put_evidence(&w, "c", "proposed", 58, 55);
	put_evidence(&w, "d", "rejected", 30, 20);
	put_findings(&w, 1, DAYS_AGO(85));
	put_findings(&w, 2, DAYS_AGO(70));
	put_findings(&w, 4, DAYS_AGO(57));
	put_findings(&w, 8, DAYS_AGO(45));
	put_findings(&w, 16, DAYS_AGO(25));
	void *writer = retain_open(&w);
	assert_true(retain_within(writer, 50));
	sqlite_backend.close(writer);
	assert_int_equal(world_int(&w, "SELECT count(*) FROM finding"), 1 + 4 + 8);
	world_done(&w);
}

/* A block that only touches a pin, at either end, stays. */
static void pins_touched(void **state)
{
	struct retain_pin pins[] = {{100, 200}, {300, 300}};
	const struct retain retain = {.pins = pins, .n_pins = 2};
	assert_true(retain_pinned(&retain, 150, 160));
	assert_true(retain_pinned(&retain, 50, 100));
	assert_true(retain_pinned(&retain, 200, 250));
	assert_true(retain_pinned(&retain, 0, 1000));
	assert_true(retain_pinned(&retain, 250, 300));
	assert_false(retain_pinned(&retain, 50, 99));
	assert_false(retain_pinned(&retain, 201, 299));
	assert_false(retain_pinned(&retain, 301, 400));
}

/* Who cannot read what has to stay deletes nothing. */
static void pins_that_cannot_be_read(void **state)
{
	struct db_world w;
	struct err e = {0};
	bool more;
	world_init(&w);
	make(&w);
	put_findings(&w, 9, DAYS_AGO(30));
	void *writer = retain_open(&w);
	world_exec(&w, "PRAGMA legacy_alter_table=1; ALTER TABLE recommendation RENAME TO away");
	for (int i = 0; i < 3; i++)
		assert_true(sqlite_backend.maintain(writer, NOW, &more, &e) < 0);
	world_exec(&w, "PRAGMA legacy_alter_table=1; ALTER TABLE away RENAME TO recommendation");
	assert_int_equal(world_int(&w, "SELECT count(*) FROM finding"), 9);
	assert_true(retain_within(writer, 50));
	sqlite_backend.close(writer);
	assert_int_equal(world_int(&w, "SELECT count(*) FROM finding"), 0);
	world_done(&w);
}

static void incidents(void **state)
{
	struct db_world w;

	world_init(&w);
	make(&w);
	put_incident(&w, "a-old-closed", "closed", DAYS_AGO(800));
	put_incident(&w, "b-old-open", "open", DAYS_AGO(800));
	put_incident(&w, "c-young-closed", "closed", DAYS_AGO(700));
	put_incident(&w, "d-old-sheet-open", "closed", DAYS_AGO(800));
	put_incident(&w, "e-old-sheet-over", "closed", DAYS_AGO(800));
	put_incident(&w, "f-old-alert-waits", "closed", DAYS_AGO(800));
	put_incident(&w, "g-old-alerted", "closed", DAYS_AGO(800));
	put_sheet(&w, "1-accepted", "accepted", "d-old-sheet-open", DAYS_AGO(800));
	put_sheet(&w, "2-rejected", "rejected", "e-old-sheet-over", DAYS_AGO(800));
	put_sheet(&w, "3-verified-in-force", "verified", "", DAYS_AGO(790));
	put_sheet(&w, "4-verified-before", "verified", "", DAYS_AGO(795));
	put_sheet(&w, "5-young", "expired", "", DAYS_AGO(700));
	put_alert(&w, "f-old-alert-waits", "resolved", DAYS_AGO(800));
	put_alert(&w, "g-old-alerted", "", DAYS_AGO(800));
	/* not delivered yet, although its incident is forgotten */
	put_alert(&w, "nobody-knows", "resolved", DAYS_AGO(800));
	put_event(&w, "note", "a-old-closed", DAYS_AGO(800));
	put_event(&w, "note", "b-old-open", DAYS_AGO(800));
	put_event(&w, "note", "c-young-closed", DAYS_AGO(700));
	put_event(&w, "config_refused", NULL, DAYS_AGO(900));
	put_event(&w, "agent_start", NULL, DAYS_AGO(500));
	put_event(&w, "port_down", NULL, DAYS_AGO(400));
	put_event(&w, "port_down", NULL, DAYS_AGO(300));
	retain(&w, usual, NULL);
	assert_ids(&w, "incident", "b-old-open c-young-closed d-old-sheet-open f-old-alert-waits");
	assert_ids(&w, "recommendation", "1-accepted 3-verified-in-force 5-young");
	assert_int_equal(world_int(&w, "SELECT count(*) FROM alert"), 2);
	assert_int_equal(world_int(&w, "SELECT count(*) FROM alert WHERE pending<>''"), 2);
	/* those of kept incidents, the agent's last sign of life, and the young one */
	assert_ids(&w, "event", "2 3 5 7");
	world_done(&w);
}

static void states(void **state)
{
	struct db_world w;
	char sql[512];

	world_init(&w);
	make(&w);
	for (int i = 0; i < 5; i++) {
		static const int days[] = {900, 800, 700, 10, 1};
		const long long t_ns = (long long)DAYS_AGO(days[i]);
		snprintf(sql, sizeof(sql),
			"INSERT INTO fabric_history VALUES(%lld, 'y');"
			"INSERT INTO silence(id, who, created_ns, from_ns, until_ns) VALUES('s%d', "
			"'ann', 0, 0, %lld);"
			"INSERT INTO device_attr VALUES('leaf1', %lld, 'leaf', 'p', 's', 'd');"
			"INSERT INTO target(device, protocol, updated_ns) VALUES('leaf%d', 'snmp', "
			"%lld)",
			t_ns, i, t_ns, t_ns, i, t_ns);
		world_exec(&w, sql);
	}
	for (int days = 50; days <= 100; days += 50) {
		snprintf(sql, sizeof(sql),
			"INSERT INTO port_attr(device, port, t_ns, alias) VALUES('leaf1', 'swp1', "
			"%lld, 'up')",
			(long long)DAYS_AGO(days));
		world_exec(&w, sql);
	}
	retain(&w, usual, NULL);
	/* names and attributes of ports stay as long as hours do, which is for ever here */
	assert_int_equal(world_int(&w, "SELECT count(*) FROM port_attr"), 2);
	/* the configuration in force a year ago, and later ones */
	assert_int_equal(world_int(&w, "SELECT count(*) FROM fabric_history"), 3);
	assert_int_equal(world_int(&w, "SELECT min(t_ns) FROM fabric_history"), DAYS_AGO(700));
	assert_ids(&w, "silence", "s3 s4");
	assert_int_equal(world_int(&w, "SELECT min(t_ns) FROM device_attr"), DAYS_AGO(10));
	assert_int_equal(world_int(&w, "SELECT count(*) FROM device_attr"), 2);
	assert_int_equal(world_int(&w, "SELECT count(*) FROM target"), 1);
	world_done(&w);
}

static int64_t used_bytes(const struct db_world *w)
{
	return (world_int(w, "PRAGMA page_count") - world_int(w, "PRAGMA freelist_count")) *
		world_int(w, "PRAGMA page_size");
}

/* Events alone are more than the quota: samples of the last day stay, since they are not what is
 * too much. */
static void quota_takes_records(void **state)
{
	struct db_world w;
	struct store_usage usage;
	struct store_options o = usual;

	world_init(&w);
	make(&w);
	world_exec(&w,
		"WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i<39999) "
		"INSERT INTO event(t_ns, kind, text) SELECT "
		"1700000000000000000+(1000*86400-i*750)*1000000000, 'port_down', "
		"'a port of a switch went down, and this is a text of about seventy bytes' FROM n");
	world_exec(&w,
		"WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i<999) "
		"INSERT INTO finding(from_ns, to_ns, analyzer) SELECT 0, "
		"1700000000000000000+(1000*86400-i*60)*1000000000, 'x' FROM n");
	assert_true(used_bytes(&w) > 5000000);
	o.quota_bytes = 2000000;
	retain(&w, o, &usage);
	assert_true(world_int(&w, "PRAGMA page_count") * 8192 <= 2200000); /* the file */
	assert_false(usage.stuck);
	assert_true(usage.used_bytes <= 2000000 && usage.used_bytes > 1000000);
	assert_int_equal(world_int(&w, "SELECT count(*) FROM finding"), 1000);
	assert_int_equal(world_int(&w,
				 "SELECT count(*) FROM event WHERE t_ns>1700000000000000000+("
				 "1000*86400-86400*30)*1000000000"),
		86400 * 30 / 750);
	world_done(&w);
}

/* What is open is more than the quota: it stays, and the figures say that it is incidents. */
static void quota_says_what_it_cannot(void **state)
{
	struct db_world w;
	struct store_usage usage;
	struct store_options o = usual;

	world_init(&w);
	make(&w);
	world_exec(&w,
		"WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i+1 FROM n WHERE i<999) "
		"INSERT INTO incident(id, state, opened_ns, updated_ns, json) SELECT 'i'||i, "
		"'open', 1700000000000000000+i*4000000000000, 1700000000000000000+i*4000000000000, "
		"hex(zeroblob(2000)) FROM n");
	o.quota_bytes = 1000000;
	retain(&w, o, &usage);
	assert_int_equal(world_int(&w, "SELECT count(*) FROM incident"), 1000);
	assert_true(usage.stuck);
	assert_true(usage.counted);
	assert_int_equal(usage.quota_bytes, 1000000);
	assert_true(usage.used_bytes > 4000000);
	assert_true(usage.by[STORE_USE_INCIDENTS] > 4000000);
	assert_true(usage.by[STORE_USE_INCIDENTS] <= usage.used_bytes);
	/* they are closed: the next passes take them */
	world_exec(&w, "UPDATE incident SET state='closed'");
	retain(&w, o, &usage);
	assert_false(usage.stuck);
	assert_true(used_bytes(&w) <= 1000000);
	world_done(&w);
}

/* A real store, its thread and the present: the newest sample is 40 days old. */
static void store_a_sample(const struct db_world *w, int64_t t_ns, bool replay)
{
	struct entities *t = entities_new();
	struct store_options o = {
		.path = w->path, .raw_ns = 7LL * DAY_S * NS_PER_S, .replay = replay};
	struct err e = {0};
	struct store *s;

	if (db_store_open(&o, t, &s, &e) < 0)
		fail_msg("%s", e.text);
	struct sample v = sample_at(
		t_ns, entities_intern(t, "leaf1", "swp1", PRIO_NONE), M_PORT_IN_OCTETS, 1, 0);
	store_samples(s, &v, 1);
	assert_int_equal(store_flush(s, &e), 0);
	store_close(s);
	entities_free(t);
}

/* What the first start held back, the second one does too, although it finds a sample of today. */
static void clock_is_kept(void **state)
{
	static const char ahead[] =
		"SELECT value LIKE '1 % 1 %' FROM meta WHERE key='retain_clock'";
	static const char trusted[] = "SELECT CAST(substr(value, 3) AS INTEGER) FROM meta WHERE "
				      "key='retain_clock'";
	struct db_world w;
	const int64_t old_ns = wall_now().ns - 40LL * DAY_S * NS_PER_S;

	world_init(&w);
	store_a_sample(&w, old_ns, true);
	for (int run = 0; run < 3; run++) {
		store_a_sample(&w, wall_now().ns, false);
		assert_int_equal(world_int(&w, ahead), 1);
		assert_true(world_int(&w, trusted) < old_ns + 60 * NS_PER_S);
	}
	world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_instant),
		cmocka_unit_test(around_a_pin),
		cmocka_unit_test(evidence_of_sheets),
		cmocka_unit_test(pins_touched),
		cmocka_unit_test(pins_that_cannot_be_read),
		cmocka_unit_test(incidents),
		cmocka_unit_test(states),
		cmocka_unit_test(clock_is_kept),
		cmocka_unit_test(quota_takes_records),
		cmocka_unit_test(quota_says_what_it_cannot),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
