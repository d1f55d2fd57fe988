/*
 * The table of samples, rocewatch_samples: conditions that it uses itself give what SQLite finds
 * without it ("+column" keeps a condition from it), and rates are the differences of neighbours, in
 * sealed blocks and in the open tail.
 */
#include "db/open.h"
#include "tests/unit/db/db_world.h"

#include "base/cleanup.h"
#include "base/str.h"
#include "db/store/store.h"

#define POLLS 90
#define STEP_S 7
#define ROUNDS 250

static uint64_t dice_state;
static unsigned dice(unsigned n) /* xorshift64* */
{
	dice_state ^= dice_state >> 12;
	dice_state ^= dice_state << 25;
	dice_state ^= dice_state >> 27;
	return (unsigned)((dice_state * UINT64_C(2685821657736338717) >> 33) % n);
}

static const uint16_t table_metrics[] = {M_PORT_IN_OCTETS, M_PFC_RX_FRAMES, M_OPTIC_RX_POWER,
	M_CFG_TRUST, M_QUEUE_WATERMARK, M_CFG_CELL};

static uint32_t table_entity(struct entities *t, unsigned metric, unsigned k)
{
	static const char *const devices[] = {"leaf1", "leaf2", "Spine[1]"};
	static const char *const ports[] = {"swp1", "swp2", "SWP1", "a%b"};
	const char *device = devices[k % 3];

	switch (metric_info(metric)->scope) {
	case SCOPE_DEVICE: return entities_intern(t, device, "", PRIO_NONE);
	case SCOPE_PRIO: return entities_intern(t, device, ports[k / 3 % 4], (int)(k / 12 % 3) - 1);
	default: return entities_intern(t, device, ports[k / 3 % 4], PRIO_NONE);
	}
}

static void table_fill(struct store *store, struct entities *t, unsigned first, unsigned end)
{
	for (unsigned poll = first; poll < end; poll++)
		for (size_t m = 0; m < rw_countof(table_metrics); m++)
			for (unsigned k = 0; k < 36; k++) {
				const unsigned metric = table_metrics[m];
				const enum metric_type type = metric_info(metric)->type;
				struct sample s = sample_at(SECONDS(poll * STEP_S) + k,
					table_entity(t, metric, k), metric, dice(1000) + poll * 100,
					0);
				if (dice(4) == 0)
					continue;
				if (type == TYPE_F64)
					s.value = sample_of_f64((double)dice(1000) / 7 - 50);
				if (type == TYPE_TEXT)
					s.value = entities_text(t, dice(2) ? "dscp" : "pcp");
				if (dice(30) == 0 && metric == M_QUEUE_WATERMARK)
					s.value = UINT64_MAX - dice(10);
				if (dice(9) == 0)
					s.flags = (uint16_t)dice(64);
				s.window_ms = metric == M_QUEUE_WATERMARK ? 60000 : 0;
				store_samples(store, &s, 1);
			}
	assert_int_equal(store_flush(store, NULL), 0);
}

/* One condition; '?' stands for the column's name without and with a plus before it, '#' for an
 * instant. */
static void table_condition(struct str *sql, unsigned which, unsigned pick, const char *plus)
{
	static const char *const texts[] = {"?metric='port.in_octets'", "?metric='no.such'",
		"?metric LIKE 'CFG.%'", "?metric GLOB 'p*'",
		"?metric IN ('cfg.trust','pfc.rx_frames','cfg.trust')", "?device='leaf1'",
		"?device LIKE 'LEAF_'", "?device GLOB 'Sp*'", "?device IN ('leaf2','leaf1')",
		"?device='leaf1' COLLATE NOCASE", "?port='swp1'", "?port IS NULL",
		"?port LIKE 'swp1'", "?port GLOB 'swp*'", "?port='swp1' COLLATE NOCASE",
		"?port IN ('a%b','swp2')", "?port IS NOT NULL", "?priority=1", "?priority IS NULL",
		"?priority IN (0,1)", "?kind='counter'", "?kind<>'state'", "?metric=NULL",
		"?device>'leaf1'", "?t_ns>#", "?t_ns>=#", "?t_ns<#", "?t_ns<=#", "?t_ns>#.5",
		"?t_ns=#", "?t_ns>=# AND ?t_ns<#+90000000000"};
	const long long t_ns = SECONDS((pick % (POLLS + 4)) * STEP_S) + pick % 3;

	for (const char *p = texts[which % rw_countof(texts)]; *p; p++) {
		if (*p == '?')
			str_add(sql, plus);
		else if (*p == '#')
			str_addf(sql, "%lld", t_ns);
		else
			str_addn(sql, p, 1);
	}
}

/* Everything of the rows that can be told apart, as one text. */
static char *table_answer(sqlite3 *db, const char *from, const char *where)
{
	rw_cleanup(str_done) struct str sql = {0};
	sqlite3_stmt *st;

	str_addf(&sql,
		"SELECT count(*)||' '||total(t_ns%%1000003)||' '||total(CAST(value AS "
		"REAL)%%999983)||' '||"
		"count(port)||' '||total(priority)||' '||total(length(flags))||' "
		"'||total(window_s) FROM "
		"%s WHERE %s",
		from, where);
	if (sqlite3_prepare_v2(db, sql.s, -1, &st, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql.s, sqlite3_errmsg(db));
	assert_int_equal(sqlite3_step(st), SQLITE_ROW);
	char *text = strdup((const char *)sqlite3_column_text(st, 0));
	sqlite3_finalize(st);
	return text;
}

static size_t table_conditions(sqlite3 *db)
{
	size_t found = 0;

	for (int round = 0; round < ROUNDS; round++) {
		rw_cleanup(str_done) struct str with = {0}, without = {0};
		const unsigned n = 1 + dice(4);
		for (unsigned i = 0; i < n; i++) {
			const unsigned which = dice(36), pick = dice(1000);
			str_add(&with, str_if(i > 0, " AND "));
			str_add(&without, str_if(i > 0, " AND "));
			table_condition(&with, which, pick, "");
			table_condition(&without, which, pick, "+");
		}
		rw_cleanup(freep) char *pushed = table_answer(db, "samples", with.s);
		rw_cleanup(freep) char *plain = table_answer(db, "samples", without.s);
		if (strcmp(pushed, plain) != 0)
			fail_msg("%s: %s, without: %s", with.s, pushed, plain);
		found += pushed[0] != '0';
	}
	return found;
}

/* Rates by the neighbours that SQL itself finds. */
static void table_rates(sqlite3 *db)
{
	static const char *const wheres[] = {"1", "device='leaf1' AND port='swp1'",
		"metric='pfc.rx_frames' AND priority=1", "t_ns>1700000100000000000",
		("metric='port.in_octets' AND t_ns BETWEEN 1700000150000000000 AND "
		 "1700000400000000000")};

	for (size_t i = 0; i < rw_countof(wheres); i++) {
		rw_cleanup(str_done) struct str sql = {0};
		sqlite3_stmt *st;
		str_addf(&sql,
			"SELECT (SELECT count(*)||' '||round(total(interval_s),3)||' "
			"'||count(rate)||' '||"
			"round(total(rate)/1e9,3) FROM rates WHERE %s), (SELECT count(*)||' "
			"'||round(total(dt),3)||' '||"
			"count(r)||' '||round(total(r)/1e9,3) FROM (SELECT *, CASE WHEN flags LIKE "
			"'%%restart%%' OR flags "
			"LIKE '%%suspect%%' THEN NULL WHEN value>=was THEN (value-was)/dt WHEN "
			"flags LIKE "
			"'%%wrap32%%' AND was<4294967296 AND value+4294967296-was<2147483648 THEN "
			"(value+4294967296-was)/dt END AS r FROM (SELECT *, (t_ns-LAG(t_ns) OVER "
			"w)/1e9 AS dt, "
			"LAG(value) OVER w AS was FROM samples WHERE kind='counter' WINDOW w AS "
			"(PARTITION BY "
			"metric, device, port, priority ORDER BY t_ns)) WHERE dt IS NOT NULL) "
			"WHERE %s)",
			wheres[i], wheres[i]);
		if (sqlite3_prepare_v2(db, sql.s, -1, &st, NULL) != SQLITE_OK)
			fail_msg("%s: %s", sql.s, sqlite3_errmsg(db));
		assert_int_equal(sqlite3_step(st), SQLITE_ROW);
		assert_string_not_equal((const char *)sqlite3_column_text(st, 0), "0 0.0 0 0.0");
		assert_string_equal((const char *)sqlite3_column_text(st, 0),
			(const char *)sqlite3_column_text(st, 1));
		sqlite3_finalize(st);
	}
}

/* All rows of a statement, in their order. */
static void table_rows(sqlite3 *db, const char *sql, struct str *out)
{
	sqlite3_stmt *st;
	int rc;

	if (sqlite3_prepare_v2(db, sql, -1, &st, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	while ((rc = sqlite3_step(st)) == SQLITE_ROW)
		for (int i = 0; i < sqlite3_column_count(st); i++)
			str_addf(out, "%s ", str_or((const char *)sqlite3_column_text(st, i), "-"));
	assert_int_equal(rc, SQLITE_DONE);
	sqlite3_finalize(st);
}

/* Groups of names come in their order, without sorting, and are those that SQLite makes. */
static void table_groups(sqlite3 *db)
{
	static const char *const groups[][2] = {{"device", "+device"},
		{"device, port", "+device, +port"},
		{"device, port, priority", "+device, +port, +priority"}};
	static const char *const wheres[] = {"1", "port='swp1'", "priority IS NULL", "port>'swp'",
		"t_ns>1700000100000000000", "device IN ('leaf2','leaf1') AND t_ns<=1.7000003e18"};
	static const char *const metrics[] = {"pfc.rx_frames", "port.in_octets", "no.such"};

	for (size_t i = 0; i < rw_countof(groups) * rw_countof(wheres) * rw_countof(metrics); i++) {
		const char *const *group = groups[i % rw_countof(groups)];
		const char *where = wheres[i / rw_countof(groups) % rw_countof(wheres)];
		const char *metric = metrics[i / rw_countof(groups) / rw_countof(wheres)];
		rw_cleanup(str_done) struct str got = {0}, wanted = {0}, plan = {0};
		for (int k = 0; k < 2; k++) {
			rw_cleanup(str_done) struct str sql = {0}, explain = {0};
			str_addf(&sql,
				"SELECT %s, count(*), max(rate), total(t_ns%%1000003) FROM rates "
				"WHERE metric='%s' AND %s GROUP BY %s",
				group[0], metric, where, group[k]);
			table_rows(db, sql.s, k == 0 ? &got : &wanted);
			str_addf(&explain, "EXPLAIN QUERY PLAN %s", sql.s);
			if (k == 0)
				table_rows(db, explain.s, &plan);
		}
		assert_string_equal(str_or(got.s, ""), str_or(wanted.s, ""));
		assert_true(got.s || metric == metrics[2]);
		if (!strstr(where, " IN ") && strstr(plan.s, "TEMP B-TREE FOR GROUP BY"))
			fail_msg("%s, %s: %s", group[0], where, plan.s);
	}
}

/* A range of more blocks than are read at once. */
static void groups_of_a_long_range(void **state)
{
	struct db_world w;
	struct entities *t = entities_new();
	struct store *store;
	sqlite3 *db;

	world_init(&w);
	const struct store_options o = {.path = w.path, .replay = true};
	assert_int_equal(db_store_open(&o, t, &store, NULL), 0);
	for (unsigned poll = 0; poll < 700; poll++)
		for (unsigned k = 0; k < 36; k += 5) {
			const struct sample s = sample_at(SECONDS(poll * 3600) + k,
				table_entity(t, M_PFC_RX_FRAMES, k), M_PFC_RX_FRAMES,
				poll * (k + 1), 0);
			store_samples(store, &s, 1);
			if (k == 35 && poll % 7 == 6)
				assert_int_equal(store_flush(store, NULL), 0);
		}
	store_close(store);
	assert_true(world_int(&w,
			    "SELECT max(n) FROM (SELECT count(*) AS n FROM block GROUP BY "
			    "device, metric)") > 520);
	assert_int_equal(sqlite3_open(w.path, &db), SQLITE_OK);
	assert_int_equal(samples_table_register(db), SQLITE_OK);
	for (int k = 0; k < 3; k++) {
		static const char *const wheres[] = {
			"1", "port='swp1'", "t_ns>1700003600000000000"};
		rw_cleanup(str_done) struct str got = {0}, wanted = {0};
		for (int plain = 0; plain < 2; plain++) {
			rw_cleanup(str_done) struct str sql = {0};
			str_addf(&sql,
				"SELECT device, port, count(*), count(rate), max(rate), max(t_ns) "
				"FROM rates WHERE metric='pfc.rx_frames' AND %s GROUP BY "
				"%sdevice, port",
				wheres[k], str_if(plain, "+"));
			table_rows(db, sql.s, plain ? &wanted : &got);
		}
		assert_non_null(got.s);
		assert_string_equal(got.s, wanted.s);
	}
	sqlite3_close(db);
	entities_free(t);
	world_done(&w);
}

static void conditions_and_rates(void **state)
{
	struct db_world w;
	struct entities *t = entities_new();
	struct store *store;
	sqlite3 *db;

	dice_state = 99;
	world_init(&w);
	struct store_options o = {.path = w.path, .replay = true};
	assert_int_equal(db_store_open(&o, t, &store, NULL), 0);
	table_fill(store, t, 0, POLLS * 2 / 3);
	store_close(store); /* sealed */
	assert_int_equal(world_int(&w, "SELECT count(*) FROM tail"), 0);
	assert_true(world_int(&w, "SELECT count(*) FROM block") > 0);
	assert_int_equal(db_store_open(&o, t, &store, NULL), 0);
	table_fill(store, t, POLLS * 2 / 3, POLLS);
	assert_int_equal(sqlite3_open(w.path, &db), SQLITE_OK);
	assert_int_equal(samples_table_register(db), SQLITE_OK);
	assert_true(table_conditions(db) > ROUNDS / 10);
	table_rates(db);
	table_groups(db);
	sqlite3_close(db);
	store_close(store);
	entities_free(t);
	world_done(&w);
}

/* A connection to something else says so. */
static void foreign_file(void **state)
{
	sqlite3 *db;
	sqlite3_stmt *st;

	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	assert_int_equal(samples_table_register(db), SQLITE_OK);
	assert_int_equal(
		sqlite3_prepare_v2(db, "SELECT * FROM " SAMPLES_TABLE, -1, &st, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(st), SQLITE_ERROR);
	if (!strstr(sqlite3_errmsg(db), "this version"))
		fail_msg("%s", sqlite3_errmsg(db));
	sqlite3_finalize(st);
	sqlite3_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(conditions_and_rates),
		cmocka_unit_test(groups_of_a_long_range),
		cmocka_unit_test(foreign_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
