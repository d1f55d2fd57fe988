/* admin_blocks - counts what the blocks and the tail of a file hold, for "db stat". */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/map.h"
#include "agent/base/str.h"
#include "db/block/tail_codec.h"
#include "db/sqlite/admin_blocks.h"
#include "db/sqlite/sqlite_io.h"
#include "db/store/store_growth.h"

static const char *const tier_tables[STORE_TIERS] = {
	[STORE_RAW] = "block", [STORE_MINUTE] = "block_minute", [STORE_HOUR] = "block_hour"};

/* ---- metrics ------------------------------------------------------------- */

/* The file's numbers of metrics as ours plus 1; others are metrics of a newer program. */
static int stat_metrics(sqlite3 *db, struct map *ret)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	int rc = sqlite_prepare(db, "SELECT id, name FROM metric_name", &st);

	if (rc != SQLITE_OK)
		return rc;
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(st, 1);
		const int metric = metric_by_name(str_or(name, ""));
		if (metric >= 0)
			map_put(ret, (uint64_t)sqlite3_column_int64(st, 0), (uint64_t)metric + 1);
	}
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	return rc;
}

static void stat_metric_add(
	struct db_stat *stat, const struct map *metrics, int64_t number, uint64_t n)
{
	uint64_t metric;

	if (map_get(metrics, (uint64_t)number, &metric))
		stat->by_metric[metric - 1] += n;
}

/* ---- tiers --------------------------------------------------------------- */

static void stat_span_add(struct db_stat_tier *tier, int64_t from_ns, int64_t to_ns)
{
	if (tier->rows == 0 || from_ns < tier->from_ns)
		tier->from_ns = from_ns;
	if (tier->rows == 0 || to_ns > tier->to_ns)
		tier->to_ns = to_ns;
}

static int stat_tier(
	sqlite3 *db, enum store_tier number, const struct map *metrics, struct db_stat *stat)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	rw_cleanup(str_done) struct str sql = {0};
	struct db_stat_tier *tier = &stat->tiers[number];

	str_addf(&sql,
		"SELECT metric, count(*), sum(n), sum(length(data)), min(from_ns), max(to_ns) "
		"FROM %s GROUP BY metric",
		tier_tables[number]);
	int rc = sqlite_prepare(db, sql.s, &st);
	if (rc != SQLITE_OK)
		return rc;
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		const uint64_t n = (uint64_t)sqlite3_column_int64(st, 2);
		stat_span_add(tier, sqlite3_column_int64(st, 4), sqlite3_column_int64(st, 5));
		tier->rows += (uint64_t)sqlite3_column_int64(st, 1);
		tier->samples += n;
		tier->bytes += (uint64_t)sqlite3_column_int64(st, 3);
		if (number == STORE_RAW)
			stat_metric_add(stat, metrics, sqlite3_column_int64(st, 0), n);
	}
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	return rc;
}

/* ---- the tail ------------------------------------------------------------ */

/* False: the row is damaged. */
static bool stat_tail_row(
	const void *data, size_t size, const struct map *metrics, struct db_stat *stat)
{
	struct tail_reader tail;

	if (tail_open(&tail, data, size) < 0)
		return false;
	for (uint32_t i = 0; i < tail_metrics(&tail); i++) {
		struct block_reader block;
		if (tail_metric(&tail, i, &block) < 0)
			return false;
		stat_metric_add(stat, metrics, tail_metric_number(&tail, i), block_samples(&block));
	}
	return true;
}

static int stat_tail(sqlite3 *db, const struct map *metrics, struct db_stat *stat)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	int rc = sqlite_prepare(db, "SELECT n, from_ns, to_ns, data FROM tail", &st);

	if (rc != SQLITE_OK)
		return rc;
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		const void *data = sqlite3_column_blob(st, 3);
		const size_t size = (size_t)sqlite3_column_bytes(st, 3);
		stat_span_add(
			&stat->tail, sqlite3_column_int64(st, 1), sqlite3_column_int64(st, 2));
		stat->tail.rows++;
		stat->tail.samples += (uint64_t)sqlite3_column_int64(st, 0);
		stat->tail.bytes += size;
		if (!stat_tail_row(data, size, metrics, stat))
			snprintf(stat->check, sizeof(stat->check),
				"a row of the tail is damaged: it is not what was written");
	}
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	return rc;
}

/* ---- growth -------------------------------------------------------------- */

static int stat_growth(sqlite3 *db, struct db_stat *stat)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	struct store_growth growth = {0};
	int rc = sqlite_prepare(db, "SELECT value FROM meta WHERE key='store_growth'", &st);

	if (rc != SQLITE_OK)
		return rc;
	rc = sqlite3_step(st);
	if (rc != SQLITE_ROW)
		return rc == SQLITE_DONE ? SQLITE_OK : rc;
	const char *text = (const char *)sqlite3_column_text(st, 0);
	if (!text || !store_growth_parse(&growth, text) || growth.n == 0)
		return SQLITE_OK;
	const struct growth_point *last = &growth.points[growth.n - 1];
	stat->growth_bytes_day = store_growth_rate(&growth, last->t_ns, last->used_bytes);
	return SQLITE_OK;
}

int admin_count_blocks(sqlite3 *db, struct db_stat *stat)
{
	struct map *metrics = map_new();
	int rc = stat_metrics(db, metrics);

	for (unsigned tier = 0; rc == SQLITE_OK && tier < STORE_TIERS; tier++)
		rc = stat_tier(db, (enum store_tier)tier, metrics, stat);
	if (rc == SQLITE_OK)
		rc = stat_tail(db, metrics, stat);
	if (rc == SQLITE_OK)
		rc = stat_growth(db, stat);
	map_free(metrics);
	stat->rows = stat->tiers[STORE_RAW].rows + stat->tail.rows;
	stat->samples = stat->tiers[STORE_RAW].samples + stat->tail.samples;
	return rc;
}
