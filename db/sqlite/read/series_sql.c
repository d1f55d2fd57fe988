/* series_sql - stored configurations, and statements people write. An authorizer lets a statement
 * read and nothing else, on a connection that could not write anyway. */

#include "db/series/history.h"
#include "db/sqlite/read/series_db.h"
#include "db/sqlite/schema/sqlite_io.h"

struct sql_spool {
	int n_columns; /* of each row; the caller's */
	struct str memory;
	FILE *file; /* NULL: all is in .memory */
	uint64_t rows;
};

static void sql_spool_done(struct sql_spool *spool);

/*
 * sql_spool - the rows of a statement, kept until its snapshot has ended: whoever takes them may be
 * slow for hours (a pager), and a snapshot that is held keeps the write-ahead log from being
 * shortened. A few megabytes stay in memory, more go to a temporary file without a name.
 *
 * A value is its length (NULL_LENGTH: NULL) and its bytes with a NUL.
 */

#define MEMORY_BYTES 4194304
#define NULL_LENGTH UINT32_MAX

static int spool_move(struct sql_spool *spool)
{
	if (spool->memory.n == 0)
		return 0;
	if (!spool->file)
		spool->file = tmpfile();
	if (!spool->file)
		return -errno;
	if (fwrite(spool->memory.s, 1, spool->memory.n, spool->file) != spool->memory.n)
		return -EIO;
	spool->memory.n = 0;
	return 0;
}

/* sql_spool_put - keeps a row; NULL values stay NULL. 0, or negative errno when there is no room.
 */
static int sql_spool_put(struct sql_spool *spool, char *const *values)
{
	for (int i = 0; i < spool->n_columns; i++) {
		uint32_t length = NULL_LENGTH;
		if (values[i])
			length = (uint32_t)strlen(values[i]);
		str_addn(&spool->memory, (const char *)&length, sizeof(length));
		if (values[i])
			str_addn(&spool->memory, values[i], (size_t)length + 1);
	}
	spool->rows++;
	if (spool->memory.n < MEMORY_BYTES)
		return 0;
	return spool_move(spool);
}

/* ---- back ---------------------------------------------------------------- */

struct spool_reader {
	struct sql_spool *spool;
	size_t at; /* in memory */
};

static bool spool_take(struct spool_reader *reader, void *to, size_t n)
{
	struct sql_spool *spool = reader->spool;

	if (spool->file)
		return fread(to, 1, n, spool->file) == n;
	if (n > spool->memory.n - reader->at)
		return false;
	memcpy(to, spool->memory.s + reader->at, n);
	reader->at += n;
	return true;
}

/* One row into @row, whose texts begin at @places. */
static int spool_take_row(struct spool_reader *reader, struct str *row, size_t *places)
{
	row->n = 0;
	for (int i = 0; i < reader->spool->n_columns; i++) {
		uint32_t length;
		places[i] = SIZE_MAX;
		if (!spool_take(reader, &length, sizeof(length)))
			return -EIO;
		if (length == NULL_LENGTH)
			continue;
		places[i] = row->n;
		rw_cleanup(freep) char *text = rw_calloc(1, (size_t)length + 1);
		if (!spool_take(reader, text, (size_t)length + 1))
			return -EIO;
		str_addn(row, text, (size_t)length + 1);
	}
	return 0;
}

static int spool_hand_over(struct spool_reader *reader, char *const *names, row_fn *fn, void *arg)
{
	const int n = reader->spool->n_columns;
	rw_cleanup(str_done) struct str row = {0};
	rw_cleanup(freep) size_t *places = rw_calloc((size_t)n, sizeof(*places));
	rw_cleanup(freep) char **values = rw_calloc((size_t)n, sizeof(*values));
	int r = 0;

	for (uint64_t k = 0; r == 0 && k < reader->spool->rows; k++) {
		r = spool_take_row(reader, &row, places);
		for (int i = 0; i < n; i++) {
			values[i] = NULL;
			if (places[i] != SIZE_MAX)
				values[i] = row.s + places[i];
		}
		if (r == 0)
			r = fn(arg, n, values, names);
	}
	return r;
}

/* sql_spool_each - hands over all rows in their order. What @fn returned when it was not 0, or
 * negative errno. The spool is empty afterwards. */
static int sql_spool_each(struct sql_spool *spool, char *const *names, row_fn *fn, void *arg)
{
	struct spool_reader reader = {.spool = spool};
	int r = 0;

	if (spool->file) {
		r = spool_move(spool);
		if (r == 0 && (fflush(spool->file) != 0 || fseek(spool->file, 0, SEEK_SET) != 0))
			r = -EIO;
	}
	if (r == 0)
		r = spool_hand_over(&reader, names, fn, arg);
	sql_spool_done(spool);
	return r;
}

static void sql_spool_done(struct sql_spool *spool)
{
	if (spool->file)
		fclose(spool->file);
	spool->file = NULL;
	str_done(&spool->memory);
	spool->memory = (struct str){0};
	spool->rows = 0;
}

int series_db_fabric_at(struct history *history, int64_t at_ns, char **ret_yaml, struct err *e)
{
	struct series_db *db = series_db_of(history);
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(db->db,
		"SELECT yaml FROM fabric_history ORDER BY t_ns<=?1 DESC, CASE WHEN t_ns<=?1 THEN "
		"-t_ns ELSE t_ns END LIMIT 1",
		-1, &st, NULL);

	sqlite3_bind_int64(st, 1, at_ns);
	if (rc == SQLITE_OK)
		rc = sqlite3_step(st);
	if (rc == SQLITE_DONE)
		return -ENODATA;
	if (rc != SQLITE_ROW)
		return sqlite_fail(e, db->db, rc, "read", db->path);
	const char *yaml = (const char *)sqlite3_column_text(st, 0);
	if (!yaml) /* the column is never NULL */
		return sqlite_fail(e, db->db, sqlite3_errcode(db->db), "read", db->path);
	*ret_yaml = rw_strdup(yaml);
	return 0;
}

static int reading_only(void *arg, int action, const char *first, const char *second,
	const char *third, const char *trigger)
{
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE: return SQLITE_OK;
	case SQLITE_FUNCTION: /* b: its name */
		if (second && sqlite3_stricmp(second, "load_extension") == 0)
			return SQLITE_DENY;
		return SQLITE_OK;
	default: return SQLITE_DENY;
	}
}

static bool series_sql_blank(const char *text)
{
	return text[strspn(text, " \t\r\n;")] == '\0';
}

static int prepare_user(struct series_db *db, const char *sql, sqlite3_stmt **ret, struct err *e)
{
	const char *tail = NULL;

	sqlite3_set_authorizer(db->db, reading_only, NULL);
	int rc = sqlite3_prepare_v2(db->db, sql, -1, ret, &tail);
	sqlite3_set_authorizer(db->db, NULL, NULL);
	if (rc == SQLITE_AUTH)
		return err_set(
			e, -EPERM, "only reading is allowed here: SELECT on the documented views");
	if (rc != SQLITE_OK && rc != SQLITE_ERROR) /* not the statement's fault */
		return sqlite_fail(e, db->db, rc, "read", db->path);
	if (rc != SQLITE_OK)
		return err_set(e, -EINVAL, "SQL: %s", sqlite3_errmsg(db->db));
	if (!*ret)
		return err_set(e, -EINVAL, "SQL: the statement is empty; expected SELECT ...");
	if (tail && !series_sql_blank(tail))
		return err_set(e, -EINVAL,
			"SQL: one statement at a time; read a second one at '%.40s'", tail);
	if (!sqlite3_stmt_readonly(*ret) || sqlite3_column_count(*ret) == 0)
		return err_set(
			e, -EPERM, "only reading is allowed here: SELECT on the documented views");
	return 0;
}

/* SQLite writes a double with 15 digits, and that is another number where it needs more: above
 * 10^15, and most quotients. A text of ours that reads back as @value; NULL: @text does. The caller
 * frees. */
static char *series_sql_exact(double value, const char *text)
{
	struct str exact = {0};

	if (!text || strtod(text, NULL) == value)
		return NULL;
	str_add_exact(&exact, value);
	return exact.s;
}

/* A text of ours in place of SQLite's @text: of a number, or, with @clean, of what is not fit to be
 * printed. NULL: SQLite's is as it should be. The caller frees. */
static char *series_sql_own(int type, double value, const char *text, bool clean)
{
	if (type == SQLITE_FLOAT)
		return series_sql_exact(value, text);
	if (clean && text && !text_is_clean(text))
		return text_clean_copy(text);
	return NULL;
}

/* One row's texts: SQLite's until the next step, or ours (@own) where its were not right. A BLOB is
 * shown as its bytes up to the first NUL. False: a text could not be made for want of memory; it
 * would look like NULL. */
static bool series_sql_take(sqlite3_stmt *st, int n, char **values, char **own, bool clean)
{
	for (int i = 0; i < n; i++) {
		const int type = sqlite3_column_type(st, i);
		const bool null = type == SQLITE_NULL;
		double value = 0;
		if (type == SQLITE_FLOAT) /* before the text is asked for, which may convert it */
			value = sqlite3_column_double(st, i);
		values[i] = (char *)(uintptr_t)sqlite3_column_text(st, i);
		if (!values[i] && !null && sqlite3_errcode(sqlite3_db_handle(st)) == SQLITE_NOMEM)
			return false;
		free(own[i]);
		own[i] = series_sql_own(type, value, values[i], clean);
		if (own[i])
			values[i] = own[i];
	}
	return true;
}

/* A statement under way, and where its rows go. */
struct sql_run {
	struct series_db *db;
	sqlite3_stmt *st;
	int n;
	char **values, **names;
	char **own; /* texts in place of SQLite's, until the next row */
	bool clean; /* no text that may not be printed */
	struct sql_spool *spool; /* NULL: each row goes to .fn at once */
	row_fn *fn;
	void *arg;
};

/* *ret: what a row's taker said, or negative errno. SQLite's code. */
static int sql_run_rows(struct sql_run *run, int rc, int *ret, struct err *e)
{
	for (; rc == SQLITE_ROW && *ret == 0; rc = sqlite3_step(run->st)) {
		if (!series_sql_take(run->st, run->n, run->values, run->own, run->clean))
			return SQLITE_NOMEM;
		if (!run->spool) {
			*ret = run->fn(run->arg, run->n, run->values, run->names);
			continue;
		}
		*ret = sql_spool_put(run->spool, run->values);
		if (*ret < 0)
			return err_set(e, *ret,
				"no room in the directory of temporary files for so many rows: "
				"%s; ask for fewer, or free some space",
				strerror(-*ret));
	}
	return rc;
}

static int sql_run_end(struct sql_run *run, int rc, struct err *e)
{
	struct series_db *db = run->db;

	if (rc == SQLITE_DONE)
		return 0;
	if (rc == SQLITE_INTERRUPT)
		return err_set(e, -ETIME,
			"SQL: ended after %d s: as long as a statement reads, the agent's "
			"write-ahead log cannot be shortened; name a metric and a shorter range "
			"of t_ns, or ask a copy made by 'rocewatch db backup'",
			SERIES_SNAPSHOT_S);
	if (rc == SQLITE_ERROR) /* what it computes is not possible: an integer overflow ... */
		return err_set(e, -EIO, "SQL: %s", sqlite3_errmsg(db->db));
	return sqlite_fail(e, db->db, rc, "read", db->path);
}

/* @head: somebody's own statement; who takes its rows may be slow, so they are kept until the
 * snapshot has ended. */
static int sql_run(struct sql_run *run, row_fn *head, struct err *e)
{
	struct sql_spool spool = {.n_columns = run->n};
	int r = 0;

	if (head)
		run->spool = &spool;
	series_snapshot_begin(run->db);
	/* The first step may compile the statement anew; names are SQLite's until then. */
	int rc = sqlite3_step(run->st);
	for (int i = 0; i < run->n; i++)
		run->names[i] = (char *)(uintptr_t)sqlite3_column_name(run->st, i);
	const bool began = rc == SQLITE_ROW || rc == SQLITE_DONE;
	rc = sql_run_rows(run, rc, &r, e);
	series_snapshot_end(run->db);
	if (r == 0)
		r = sql_run_end(run, rc, e);
	if (!head)
		return r;
	sqlite3_reset(run->st); /* ends the snapshot */
	int shown = 0;
	if (began)
		shown = head(run->arg, run->n, NULL, run->names);
	if (began && shown == 0)
		shown = sql_spool_each(&spool, run->names, run->fn, run->arg);
	sql_spool_done(&spool);
	if (r != 0)
		return r;
	return shown;
}

/* What is in the file is not trusted to be text of one line: with @head, somebody's own statement
 * is answered, and who prints it cleans; without, a part of the program reads (history_sql()). */
int series_db_sql(struct history *history, const char *sql, row_fn *head, row_fn *fn, void *arg,
	struct err *e)
{
	struct series_db *db = series_db_of(history);
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	int r = prepare_user(db, sql, &st, e);

	if (r < 0)
		return r;
	int n = sqlite3_column_count(st);
	rw_cleanup(freep) char **values = rw_calloc((size_t)n, sizeof(*values));
	rw_cleanup(freep) char **names = rw_calloc((size_t)n, sizeof(*names));
	rw_cleanup(freep) char **own = rw_calloc((size_t)n, sizeof(*own));
	struct sql_run run = {.db = db,
		.st = st,
		.n = n,
		.values = values,
		.names = names,
		.own = own,
		.clean = !head,
		.fn = fn,
		.arg = arg};
	r = sql_run(&run, head, e);
	for (int i = 0; i < n; i++)
		free(own[i]);
	return r;
}
