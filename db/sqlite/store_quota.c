/*
 * store_quota - keeps the pages in use below the quota. What costs most and is worth least goes
 * first: one stage after the other, each a tenth of its time at once, until enough is free. When
 * all stages are through, it counts what fills the file, so that people can be told.
 *
 * Deleted rows leave free pages that SQLite fills again: the file stops growing rather than shrink.
 */
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "db/sqlite/sqlite_io.h"
#include "db/sqlite/store_write.h"

#define QUOTA_SHARE 10 /* the oldest tenth of the time goes */
#define DAY_NS (24 * 3600 * NS_PER_S)
/* Counting a table reads all its pages: not in a file that takes minutes to read. */
#define COUNTED_BYTES 4294967296ull

static const struct {
	unsigned group; /* enum store_tier or enum retain_group */
	int64_t keep_ns; /* the newest that this stage leaves alone */
} quota_stages[] = {
	{STORE_RAW, DAY_NS},
	{STORE_MINUTE, 7 * DAY_NS},
	{STORE_HOUR, 90 * DAY_NS},
	{RETAIN_RECORDS, 30 * DAY_NS},
	{STORE_RAW, 3600 * NS_PER_S},
	{STORE_MINUTE, DAY_NS},
	{STORE_HOUR, 7 * DAY_NS},
	{RETAIN_RECORDS, DAY_NS},
	{STORE_RAW, 60 * NS_PER_S},
	{STORE_MINUTE, 60 * NS_PER_S},
	{STORE_HOUR, 3600 * NS_PER_S},
};

/* The oldest time of a group from ?1 on, of rows outside of blocks; NULL: there are none. */
static const char *const quota_oldest[RETAIN_GROUPS] = {
	[STORE_RAW] = "SELECT min(t) FROM (SELECT min(to_ns) AS t FROM flow WHERE to_ns>=?1 "
		      "UNION ALL SELECT min(to_ns) FROM finding WHERE to_ns>=?1)",
	[RETAIN_RECORDS] =
		"SELECT min(t) FROM (SELECT min(t_ns) AS t FROM event WHERE t_ns>=?1 "
		"UNION ALL SELECT min(updated_ns) FROM incident WHERE state='closed' AND "
		"updated_ns>=?1 "
		"UNION ALL SELECT min(updated_ns) FROM recommendation WHERE updated_ns>=?1 "
		"UNION ALL SELECT min(updated_ns) FROM alert WHERE updated_ns>=?1 "
		"UNION ALL SELECT min(until_ns) FROM silence WHERE until_ns>=?1 "
		"UNION ALL SELECT min(t_ns) FROM burst WHERE t_ns>=?1 "
		"UNION ALL SELECT min(t_ns) FROM fabric_history WHERE t_ns>=?1)",
};

static int quota_used_bytes(struct store_writer *writer, uint64_t *ret)
{
	static const char *const pragmas[] = {
		"PRAGMA page_count", "PRAGMA freelist_count", "PRAGMA page_size"};
	sqlite3_int64 v[3] = {0};
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < 3; i++)
		v[i] = sqlite_int(writer->db, pragmas[i], 0, &rc);
	*ret = (uint64_t)(v[0] - v[1]) * (uint64_t)v[2];
	return rc;
}

int writer_over_quota(struct store_writer *writer, bool *ret)
{
	uint64_t used_bytes;
	int rc;

	*ret = false;
	if (writer->o.quota_bytes == 0)
		return SQLITE_OK;
	rc = quota_used_bytes(writer, &used_bytes);
	*ret = rc == SQLITE_OK && used_bytes > writer->o.quota_bytes;
	return rc;
}

/* ---- what goes ----------------------------------------------------------- */

/* Of the rows of a group; INT64_MAX: there is none. */
static int quota_oldest_row(
	struct store_writer *writer, unsigned group, int64_t from_ns, int64_t *ret_ns)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;

	*ret_ns = INT64_MAX;
	if (!quota_oldest[group])
		return SQLITE_OK;
	int rc = sqlite3_prepare_v2(writer->db, quota_oldest[group], -1, &st, NULL);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, from_ns);
	if (sqlite3_step(st) == SQLITE_ROW && sqlite3_column_type(st, 0) != SQLITE_NULL)
		*ret_ns = sqlite3_column_int64(st, 0);
	return sqlite3_reset(st);
}

/* The oldest of the group that no pin keeps; *ret_known false: blocks were not looked at yet. */
static int quota_first_ns(
	struct store_writer *writer, unsigned group, int64_t *ret_ns, bool *ret_known)
{
	const struct retain *retain = &writer->retain;
	int64_t block_ns = INT64_MAX;
	int rc = quota_oldest_row(writer, group, retain->taken_ns[group], ret_ns);

	*ret_known = true;
	if (group >= STORE_TIERS)
		return rc;
	for (size_t i = 0; rc == SQLITE_OK && i < retain->n_pins; i++) {
		const struct retain_pin *pin = &retain->pins[i];
		if (*ret_ns >= pin->from_ns && *ret_ns <= pin->to_ns)
			rc = quota_oldest_row(writer, group, pin->to_ns + 1, ret_ns);
	}
	*ret_known = retain_blocks_oldest(retain, (enum store_tier)group, &block_ns);
	if (block_ns < *ret_ns)
		*ret_ns = block_ns;
	return rc;
}

static void quota_move_span(struct retain *retain, enum retain_span span, int64_t cutoff_ns)
{
	if (cutoff_ns > retain->cutoff_ns[span])
		retain->cutoff_ns[span] = cutoff_ns;
}

static void quota_move(struct retain *retain, unsigned group, int64_t cutoff_ns)
{
	retain->taken_ns[group] = cutoff_ns;
	if (group == RETAIN_RECORDS) {
		quota_move_span(retain, RETAIN_EVENTS, cutoff_ns);
		quota_move_span(retain, RETAIN_INCIDENTS, cutoff_ns);
		return;
	}
	quota_move_span(retain, (enum retain_span)group, cutoff_ns);
	retain->quota_ns[group] = cutoff_ns;
}

int writer_quota_cut(struct store_writer *writer, int64_t now_ns, bool *ret_found, bool *ret_known)
{
	int rc = SQLITE_OK;

	*ret_found = false;
	*ret_known = true;
	for (size_t i = 0; rc == SQLITE_OK && i < rw_countof(quota_stages); i++) {
		const unsigned group = quota_stages[i].group;
		const int64_t until_ns = now_ns - quota_stages[i].keep_ns;
		int64_t first_ns;
		rc = quota_first_ns(writer, group, &first_ns, ret_known);
		if (rc != SQLITE_OK || !*ret_known)
			return rc; /* a pass by age looks first */
		if (first_ns >= until_ns)
			continue;
		int64_t cutoff_ns = first_ns + (now_ns - first_ns) / QUOTA_SHARE + 1;
		if (cutoff_ns > until_ns)
			cutoff_ns = until_ns;
		quota_move(&writer->retain, group, cutoff_ns);
		*ret_found = true;
		return SQLITE_OK;
	}
	return rc;
}

/* ---- what does not go ---------------------------------------------------- */

/* What the tables are to people; all others are samples. */
static const struct {
	const char *table;
	enum store_use use;
} quota_uses[] = {
	{"entity", STORE_USE_NAMES},
	{"series", STORE_USE_NAMES},
	{"text", STORE_USE_NAMES},
	{"port_attr", STORE_USE_NAMES},
	{"device_attr", STORE_USE_NAMES},
	{"incident", STORE_USE_INCIDENTS},
	{"recommendation", STORE_USE_INCIDENTS},
	{"alert", STORE_USE_INCIDENTS},
	{"silence", STORE_USE_INCIDENTS},
	{"burst", STORE_USE_INCIDENTS},
	{"event", STORE_USE_EVENTS},
	{"flow", STORE_USE_FLOWS},
	{"finding", STORE_USE_FINDINGS},
	{"fabric_history", STORE_USE_CONFIGURATION},
};

/* The bytes of a table with its indexes. Table dbstat: https://www.sqlite.org/dbstat.html; with a
 * name it reads the pages of that tree only. */
static int quota_table_bytes(struct store_writer *writer, const char *table, uint64_t *ret)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	static const char sql[] =
		"SELECT sum((SELECT sum(pgsize) FROM dbstat WHERE dbstat.name=m.name AND "
		"aggregate=1)) FROM sqlite_master m WHERE m.tbl_name=?1 AND m.rootpage>0";
	int rc = sqlite3_prepare_v2(writer->db, sql, -1, &st, NULL);

	*ret = 0;
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_text(st, 1, table, -1, SQLITE_STATIC);
	if (sqlite3_step(st) == SQLITE_ROW)
		*ret = (uint64_t)sqlite3_column_int64(st, 0);
	return sqlite3_reset(st);
}

static int quota_count(struct store_writer *writer, struct store_usage *usage)
{
	uint64_t known_bytes = 0, bytes;
	int rc = SQLITE_OK;

	memset(usage->by, 0, sizeof(usage->by));
	usage->counted = false;
	if (usage->used_bytes > COUNTED_BYTES || !sqlite3_compileoption_used("ENABLE_DBSTAT_VTAB"))
		return SQLITE_OK;
	for (size_t i = 0; rc == SQLITE_OK && i < rw_countof(quota_uses); i++) {
		rc = quota_table_bytes(writer, quota_uses[i].table, &bytes);
		usage->by[quota_uses[i].use] += bytes;
		known_bytes += bytes;
	}
	if (usage->used_bytes > known_bytes)
		usage->by[STORE_USE_SAMPLES] = usage->used_bytes - known_bytes;
	usage->counted = rc == SQLITE_OK;
	return rc;
}

/* How far each tier reaches back, and whether the quota is why. A tier that its age cuts again is
 * not cut by the quota any more. */
static void quota_reach(const struct store_writer *writer, struct store_usage *usage)
{
	const struct retain *retain = &writer->retain;

	for (unsigned tier = 0; tier < STORE_TIERS; tier++) {
		int64_t oldest_ns;
		const bool known = retain_blocks_oldest(retain, (enum store_tier)tier, &oldest_ns);
		usage->oldest_ns[tier] = 0;
		if (known && oldest_ns != INT64_MAX)
			usage->oldest_ns[tier] = oldest_ns;
		usage->cut[tier] = retain->quota_ns[tier] != 0 &&
			retain->quota_ns[tier] >= retain->cutoff_ns[tier];
	}
}

int writer_usage(struct store_writer *writer, struct store_usage *ret)
{
	struct retain *retain = &writer->retain;
	const bool was_stuck = retain->usage.stuck;
	int rc = quota_used_bytes(writer, &retain->usage.used_bytes);

	retain->usage.quota_bytes = writer->o.quota_bytes;
	retain->usage.stuck = retain->stuck;
	retain->usage.damaged_devices = writer_seal_damaged(writer);
	retain->usage.damaged_hours = writer->rollup.n_damaged;
	quota_reach(writer, &retain->usage);
	if (rc == SQLITE_OK && retain->stuck && !was_stuck)
		rc = quota_count(writer, &retain->usage);
	*ret = retain->usage;
	return rc;
}
