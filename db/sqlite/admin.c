/* admin - counts, copies and shrinks a database file, for the commands "db stat", "db backup" and
 * "db vacuum". */
#include "db/sqlite/admin.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include "db/block/block_codec.h"
#include "db/series/history.h"
#include "db/sqlite/schema/schema.h"
#include "db/sqlite/schema/sqlite_io.h"
#include "db/sqlite/sqlite.h"
#include "db/sqlite/write/store_write.h"
#include "db/store/retain_watch.h"

/* admin_blocks - counts what the blocks and the tail of a file hold, for "db stat". */

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
		if (tail_metric(&tail, i, NULL, &block) < 0)
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

/* admin_count_blocks - what the tiers and the tail of a file hold, into @stat. SQLite's code;
 * .check says when a row of the tail is damaged. */
static int admin_count_blocks(sqlite3 *db, struct db_stat *stat)
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

static void admin_dbp(sqlite3 **db)
{
	sqlite3_close(*db);
}

static void admin_history_close(struct history **history)
{
	history_close(*history);
}

static uint64_t admin_size_of(const char *path, const char *suffix)
{
	rw_cleanup(str_done) struct str name = {0};
	struct stat st;

	str_addf(&name, "%s%s", path, suffix);
	if (stat(name.s, &st) == 0)
		return (uint64_t)st.st_size;
	return 0;
}

static int open_reader(const char *path, sqlite3 **ret, int *ret_version, struct err *e)
{
	int rc = sqlite_open(path, ret, SQLITE_OPEN_READONLY);

	if (rc != SQLITE_OK)
		return sqlite_fail(e, *ret, rc, "open", path);
	sqlite3_busy_timeout(*ret, 5000);
	int r = schema_check(*ret, path, ret_version, e);
	if (r == 0 && *ret_version == 0)
		return err_set(e, -EINVAL, "%s is empty", path);
	return r;
}

static int quick_check(sqlite3 *db, char *buf, size_t size)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db, "PRAGMA quick_check(1)", -1, &st, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	if (rc == SQLITE_ROW) {
		const char *text = (const char *)sqlite3_column_text(st, 0);
		snprintf(buf, size, "%s", str_or(text, ""));
		return text ? SQLITE_OK : SQLITE_NOMEM;
	}
	if ((rc & 0xff) != SQLITE_CORRUPT && (rc & 0xff) != SQLITE_NOTADB)
		return rc;
	/* damage that stops the check itself is its result */
	snprintf(buf, size, "%s", sqlite3_errmsg(db));
	return SQLITE_OK;
}

/* An error goes to *@rc: what could not be counted is not 0. @rc NULL: of a damaged file, of which
 * some may still be counted. */
static uint64_t count_rows(sqlite3 *db, const char *sql, int *rc)
{
	if (rc && *rc != SQLITE_OK)
		return 0;
	return (uint64_t)sqlite_int(db, sql, 0, rc);
}

/* Which tables fill the file. Table dbstat: https://www.sqlite.org/dbstat.html; a SQLite without it
 * leaves the list empty. */
static int stat_tables(sqlite3 *db, struct db_stat *stat)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	static const char sql[] =
		"SELECT m.tbl_name, sum(d.pgsize) AS bytes FROM dbstat d JOIN sqlite_master m ON "
		"m.name=d.name WHERE d.aggregate=1 GROUP BY 1 ORDER BY bytes DESC, 1 LIMIT ?1";
	int rc = SQLITE_OK;

	if (!sqlite3_compileoption_used("ENABLE_DBSTAT_VTAB"))
		return SQLITE_OK;
	rc = sqlite3_prepare_v2(db, sql, -1, &st, NULL);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int(st, 1, DB_STAT_TABLES);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW && stat->n_tables < DB_STAT_TABLES) {
		struct db_stat_table *table = &stat->tables[stat->n_tables++];
		const char *name = (const char *)sqlite3_column_text(st, 0);
		snprintf(table->name, sizeof(table->name), "%s", str_or(name, ""));
		table->bytes = (uint64_t)sqlite3_column_int64(st, 1);
	}
	if (rc == SQLITE_DONE || rc == SQLITE_ROW)
		return SQLITE_OK;
	return rc;
}

static int stat_contents(sqlite3 *db, struct db_stat *stat)
{
	int rc = quick_check(db, stat->check, sizeof(stat->check));

	if (rc == SQLITE_OK && strcmp(stat->check, "ok") == 0)
		rc = admin_count_blocks(db, stat);
	if (rc == SQLITE_OK && strcmp(stat->check, "ok") == 0)
		rc = stat_tables(db, stat);
	int *told = &rc;
	if (rc == SQLITE_OK && strcmp(stat->check, "ok") != 0)
		told = NULL;
	stat->entities = count_rows(db, "SELECT count(*) FROM entity", told);
	stat->flows = count_rows(db, "SELECT count(*) FROM flow", told);
	stat->findings = count_rows(db, "SELECT count(*) FROM finding", told);
	stat->incidents = count_rows(db, "SELECT count(*) FROM incident", told);
	stat->events = count_rows(db, "SELECT count(*) FROM event", told);
	stat->free_bytes = count_rows(db, "PRAGMA freelist_count", told) *
		count_rows(db, "PRAGMA page_size", told);
	return rc;
}

int db_stat_read(const char *path, struct db_stat *ret, struct err *e)
{
	rw_cleanup(admin_history_close) struct history *history = NULL;
	rw_cleanup(admin_dbp) sqlite3 *db = NULL;
	struct db_stat s = {.growth_bytes_day = NAN};
	int r = sqlite_history_open(path, &history, e);

	if (r == 0)
		r = history_range(history, &s.first_ns, &s.last_ns, e);
	/* damage is what the counting below is to describe */
	if (r < 0 && r != -ENODATA && r != -EBADMSG)
		return r;
	r = open_reader(path, &db, &s.schema_version, e);
	if (r < 0)
		return r;
	int rc = stat_contents(db, &s);
	if (rc != SQLITE_OK)
		return sqlite_fail(e, db, rc, "read", path);
	s.file_bytes = admin_size_of(path, "");
	s.wal_bytes = admin_size_of(path, "-wal");
	s.writer_pid = writer_pid(path);
	*ret = s;
	return 0;
}

#define BACKUP_PAGES 1024 /* 8 MB; between two such steps the writer gets its turn */

/* A lock that lasts longer than this is nobody's commit: the backup ends and says so. */
#define BACKUP_WAIT_MS 30000
#define BACKUP_NAP_MS 20

static int copy_pages(sqlite3 *from, sqlite3 *to)
{
	sqlite3_backup *b = sqlite3_backup_init(to, "main", from, "main");
	int rc, waited_ms = 0;

	if (!b)
		return sqlite3_errcode(to);
	do {
		rc = sqlite3_backup_step(b, BACKUP_PAGES);
		const bool locked = rc == SQLITE_BUSY || rc == SQLITE_LOCKED;
		if (locked && waited_ms >= BACKUP_WAIT_MS)
			break;
		if (locked) {
			sqlite3_sleep(BACKUP_NAP_MS);
			waited_ms += BACKUP_NAP_MS;
		} else {
			waited_ms = 0;
		}
	} while (rc == SQLITE_OK || rc == SQLITE_BUSY || rc == SQLITE_LOCKED);
	int end = sqlite3_backup_finish(b);
	if (rc == SQLITE_DONE)
		return end;
	return rc;
}

static int make_part(const char *part, struct err *e)
{
	int fd = open(part, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0640);

	if (fd < 0) {
		int error = -errno;
		return err_set(e, error, "cannot create %s: %s", part, strerror(-error));
	}
	close(fd);
	return 0;
}

/* One snapshot from beginning to end: without it, each commit of the writer would start the copy
 * anew. */
static int copy_snapshot(sqlite3 *from, const char *part, const char *to, struct err *e)
{
	sqlite3 *copy = NULL;
	int r = 0, rc = sqlite_exec(from, "BEGIN");

	if (rc == SQLITE_OK)
		sqlite_int(from, "SELECT count(*) FROM sqlite_master", 0, &rc);
	if (rc == SQLITE_OK)
		rc = sqlite_open(part, &copy, SQLITE_OPEN_READWRITE);
	if (rc == SQLITE_OK)
		rc = copy_pages(from, copy);
	if (rc != SQLITE_OK && copy)
		r = sqlite_fail(e, copy, rc, "copy to", to);
	else if (rc != SQLITE_OK)
		r = sqlite_fail(e, from, rc, "copy to", to);
	sqlite3_close(copy);
	return r;
}

int db_backup(const char *path, const char *to, struct err *e)
{
	rw_cleanup(admin_dbp) sqlite3 *from = NULL;
	rw_cleanup(str_done) struct str part = {0};
	int version, r = open_reader(path, &from, &version, e);

	if (r < 0)
		return r;
	if (access(to, F_OK) == 0)
		return err_set(
			e, -EEXIST, "%s exists already; name a file that does not exist", to);
	str_addf(&part, "%s.part", to);
	r = make_part(part.s, e);
	if (r < 0)
		return r;
	r = copy_snapshot(from, part.s, to, e);
	if (r == 0 && rename(part.s, to) < 0) {
		int error = -errno;
		r = err_set(e, error, "cannot name the copy %s: %s", to, strerror(-error));
	}
	if (r < 0)
		unlink(part.s);
	return r;
}

int db_vacuum(const char *path, struct err *e)
{
	rw_cleanup(admin_dbp) sqlite3 *db = NULL;
	int version, fd = -1, inode = -1, r;

	if (access(path, F_OK) < 0) {
		int error = -errno;
		return err_set(e, error, "cannot open the database %s: %s", path, strerror(-error));
	}
	r = writer_lock(path, &fd, e);
	if (r < 0)
		return r;
	r = writer_lock_inode(path, &inode, e);
	if (r < 0) {
		writer_unlock(fd);
		return r;
	}
	int rc = sqlite_open(path, &db, SQLITE_OPEN_READWRITE);
	if (rc != SQLITE_OK) {
		r = sqlite_fail(e, db, rc, "open", path);
	} else {
		sqlite3_busy_timeout(db, 5000);
		r = schema_check(db, path, &version, e);
	}
	if (r == 0) {
		rc = sqlite_exec(db,
			"PRAGMA auto_vacuum=INCREMENTAL; VACUUM; PRAGMA wal_checkpoint(TRUNCATE)");
		if (rc != SQLITE_OK)
			r = sqlite_fail(e, db, rc, "vacuum", path);
	}
	sqlite3_close(db);
	db = NULL;
	if (inode >= 0)
		close(inode);
	writer_unlock(fd);
	return r;
}
