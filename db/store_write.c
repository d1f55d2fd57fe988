/*
 * store_write - jobs to rows. One connection, one thread at a time; knows the layout (schema.h).
 *
 * Samples of a transaction are cut into runs of one (table, entity, instant), the runs sorted, and equal ones joined: one upsert per
 * row, whatever the order a collector walked its columns in. A row that is already there (another batch, same instant) is
 * completed, never changed: the first value stands, as it does in memory.
 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/err.h"
#include "agent/base/str.h"
#include "db/schema.h"
#include "db/sqlite_io.h"
#include "db/store_write.h"

#define BUSY_MS 5000

enum { P_ENTITY = 1, P_T, P_SOURCE, P_FLAGS, P_CFG, P_X, P_FIRST }; /* parameters, and columns of .select from P_SOURCE on */

/* --- opening ---------------------------------------------------------------------------------------------------------- */

static int prepare(struct store_writer *w, sqlite3_stmt **ret, const char *sql)
{
	return sqlite3_prepare_v3(w->db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL);
}

static int prepare_table(struct store_writer *w, struct writer_table *t, unsigned scope)
{
	rw_cleanup(str_done) struct str insert = {0}, update = {0}, params = {0}, select = {0}, replace = {0};
	char c[SCHEMA_COLUMN_MAX];

	t->name = schema_table[scope];
	str_addf(&insert, "INSERT INTO %s(entity,t_ns,source,flags,cfg,x", t->name);
	str_add(&params, "(?1,?2,?3,?4,?5,?6");
	str_add(&select, "SELECT source,flags,cfg,x");
	for (unsigned m = 0; m < METRIC_COUNT; m++) {
		if ((unsigned)metric_info(m)->scope != scope)
			continue;
		w->position[m] = (int)t->n_metrics;
		w->is_cfg[m] = schema_is_cfg(m);
		t->metrics[t->n_metrics++] = (uint16_t)m;
		schema_column(c, m);
		str_addf(&insert, ",%s", c);
		str_addf(&params, ",?%d", P_FIRST + w->position[m]);
		str_addf(&select, ",%s", c);
		str_addf(&update, ",%s=coalesce(%s,excluded.%s)", c, c, c);
	}
	str_addf(&insert, ") VALUES%s)", params.s);
	str_addf(&replace, "INSERT OR REPLACE %s", insert.s + strlen("INSERT "));
	str_addf(&insert, " ON CONFLICT DO UPDATE SET cfg=coalesce(cfg,excluded.cfg)%s"
		" WHERE source=excluded.source AND flags=excluded.flags AND x IS NULL AND excluded.x IS NULL", update.s ? update.s : "");
	str_addf(&select, " FROM %s WHERE entity=?1 AND t_ns=?2", t->name);
	int rc = prepare(w, &t->insert, insert.s);
	if (rc == SQLITE_OK)
		rc = prepare(w, &t->select, select.s);
	if (rc == SQLITE_OK)
		rc = prepare(w, &t->replace, replace.s);
	return rc;
}

void writer_seen_room(struct store_writer *w, uint32_t entity)
{
	if (entity > w->last_entity)
		w->last_entity = entity;
	if (entity < w->n_seen)
		return;
	size_t n = w->n_seen ? w->n_seen : 256;
	while (n <= entity)
		n *= 2;
	w->seen = rw_realloc(w->seen, n * sizeof(*w->seen));
	memset(w->seen + w->n_seen, 0, (n - w->n_seen) * sizeof(*w->seen));
	w->n_seen = n;
}

static int load_entities(struct store_writer *w, struct entities *entities, const char *path, struct err *e)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(w->db, "SELECT id, device, port, priority FROM entity ORDER BY id", -1, &st, NULL);

	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		int r = entities_load(entities, (uint32_t)sqlite3_column_int64(st, 0), (const char *)sqlite3_column_text(st, 1),
			(const char *)sqlite3_column_text(st, 2), sqlite3_column_int(st, 3));
		if (r < 0)
			return err_set(e, -EINVAL, "%s: entity %lld does not fit the ones already known; start afresh with another file", path,
				(long long)sqlite3_column_int64(st, 0));
		rc = SQLITE_OK;
	}
	return rc == SQLITE_DONE ? 0 : sqlite_fail(e, w->db, rc, "read", path);
}

static int load_texts(struct store_writer *w, struct entities *entities, const char *path, struct err *e)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(w->db, "SELECT id, text FROM text ORDER BY id", -1, &st, NULL);

	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		uint64_t id = (uint64_t)sqlite3_column_int64(st, 0);
		if (entities_text(entities, (const char *)sqlite3_column_text(st, 1)) != id)
			return err_set(e, -EINVAL, "%s: text %llu does not fit the ones already known; start afresh with another file", path,
				(unsigned long long)id);
		rc = SQLITE_OK;
	}
	return rc == SQLITE_DONE ? 0 : sqlite_fail(e, w->db, rc, "read", path);
}

static int load_seen(struct store_writer *w, const struct entities *entities, const char *path, struct err *e)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(w->db, "SELECT entity, metric FROM series", -1, &st, NULL);

	writer_seen_room(w, entities_count(entities));
	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		uint32_t id = (uint32_t)sqlite3_column_int64(st, 0);
		int m = metric_by_name((const char *)sqlite3_column_text(st, 1));
		if (m >= 0 && id <= entities_count(entities))
			w->seen[id].bits[m / 64] |= UINT64_C(1) << (m % 64);
		rc = SQLITE_OK;
	}
	return rc == SQLITE_DONE ? 0 : sqlite_fail(e, w->db, rc, "read", path);
}

static int wal_grew(void *arg, sqlite3 *db, const char *name, int pages)
{
	struct store_writer *w = arg;

	w->wal_pages = pages;
	return SQLITE_OK;
}

/* SQLite would make the file with the umask's mode; its -wal and -shm take the mode of the file. */
static int make_file(const char *path, struct err *e)
{
	int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0640);

	if (fd < 0 && errno == EEXIST)
		return 0;
	if (fd < 0) {
		int error = -errno;
		return err_set(e, error, "cannot create %s: %s; check that its directory exists and may be written", path, strerror(-error));
	}
	if (fchmod(fd, 0640) < 0) {
		/* a file system without modes: nothing to protect there */
	}
	close(fd);
	return 0;
}

static int open_db(struct store_writer *w, const char *path, struct err *e)
{
	int version, rc, r = make_file(path, e);

	if (r < 0)
		return r;
	rc = sqlite3_open_v2(path, &w->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	if (rc != SQLITE_OK)
		return sqlite_fail(e, w->db, rc, "open", path);
	sqlite3_busy_timeout(w->db, BUSY_MS);
	/* before anything is changed: a foreign file must stay as it is */
	r = schema_check(w->db, path, &version, e);
	if (r < 0)
		return r;
	rc = sqlite_exec(w->db, "PRAGMA page_size=8192; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA journal_size_limit=67108864;"
		"PRAGMA wal_autocheckpoint=0; PRAGMA cache_size=-32768; PRAGMA temp_store=MEMORY; PRAGMA foreign_keys=OFF");
	if (rc != SQLITE_OK)
		return sqlite_fail(e, w->db, rc, "prepare", path);
	r = schema_migrate(w->db, path, e);
	if (r < 0)
		return r;
	sqlite3_wal_hook(w->db, wal_grew, w);
	for (unsigned i = 0; rc == SQLITE_OK && i < SCHEMA_TABLES; i++)
		rc = prepare_table(w, &w->tables[i], i);
	if (rc == SQLITE_OK)
		rc = prepare(w, &w->series, "INSERT OR IGNORE INTO series(entity, metric, first_ns) VALUES(?1, ?2, ?3)");
	return rc == SQLITE_OK ? 0 : sqlite_fail(e, w->db, rc, "prepare", path);
}

int writer_open(const struct store_options *o, struct entities *entities, struct store_writer **ret, struct err *e)
{
	struct store_writer *w = rw_calloc(1, sizeof(*w));

	w->o = *o;
	int r = open_db(w, o->path, e);
	if (r == 0)
		r = load_entities(w, entities, o->path, e);
	if (r == 0)
		r = load_texts(w, entities, o->path, e);
	if (r == 0)
		r = load_seen(w, entities, o->path, e);
	if (r < 0) {
		writer_close(w);
		return r;
	}
	*ret = w;
	return 0;
}

void writer_close(struct store_writer *w)
{
	if (!w)
		return;
	for (size_t i = 0; i < SCHEMA_TABLES; i++) {
		sqlite3_finalize(w->tables[i].insert);
		sqlite3_finalize(w->tables[i].select);
		sqlite3_finalize(w->tables[i].replace);
	}
	sqlite3_finalize(w->series);
	for (size_t i = 0; i < WRITER_SMALL; i++)
		sqlite3_finalize(w->small[i]);
	/* the last connection to close copies the WAL into the file and removes it */
	sqlite3_close(w->db);
	free(w->seen);
	free(w->newly);
	free(w->runs);
	str_done(&w->x);
	free(w);
}

/* --- transactions ------------------------------------------------------------------------------------------------------- */

int writer_begin(struct store_writer *w)
{
	w->n_newly = 0;
	return sqlite_exec(w->db, "BEGIN IMMEDIATE");
}

int writer_commit(struct store_writer *w)
{
	return sqlite_exec(w->db, "COMMIT");
}

void writer_rollback(struct store_writer *w)
{
	if (!sqlite3_get_autocommit(w->db))
		sqlite_exec(w->db, "ROLLBACK");
	/* what was noted as present in table series no longer is */
	for (size_t i = 0; i < w->n_newly; i++)
		w->seen[w->newly[i].entity].bits[w->newly[i].metric / 64] &= ~(UINT64_C(1) << (w->newly[i].metric % 64));
	w->n_newly = 0;
}

sqlite3 *writer_db(struct store_writer *w)
{
	return w->db;
}

void writer_interrupt(struct store_writer *w)
{
	sqlite3_interrupt(w->db);
}

int writer_wal_pages(const struct store_writer *w)
{
	return w->wal_pages;
}

#define CHECKPOINT_PAGES 1000 /* 8 MB */
#define HELD_PAGES 16384      /* 128 MB that cannot be copied back: someone reads an old snapshot */

int writer_checkpoint(struct store_writer *w, bool *ret_held)
{
	int in_log = w->wal_pages, copied = 0;

	*ret_held = false;
	if (w->wal_pages < CHECKPOINT_PAGES)
		return w->wal_pages;
	/* Passive: waits for no one. Once all is copied and no reader is left in it, the next commit begins the WAL anew. */
	if (sqlite3_wal_checkpoint_v2(w->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &in_log, &copied) != SQLITE_OK)
		return w->wal_pages;
	*ret_held = in_log > HELD_PAGES && copied < in_log;
	return in_log;
}

/* --- samples ------------------------------------------------------------------------------------------------------------ */

static int run_order(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	if (x->table != y->table)
		return x->table < y->table ? -1 : 1;
	if (x->entity != y->entity)
		return x->entity < y->entity ? -1 : 1;
	if (x->t_ns != y->t_ns)
		return x->t_ns < y->t_ns ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

static bool same_row(const struct run *a, const struct run *b)
{
	return a->table == b->table && a->entity == b->entity && a->t_ns == b->t_ns;
}

/* Cuts @v into runs. Samples of unknown metrics and values that are no number cannot be stored and are left out. */
static size_t make_runs(struct store_writer *w, const struct sample *v, size_t n)
{
	size_t n_runs = 0;
	bool sorted = true;

	for (size_t i = 0; i < n; i++) {
		const struct metric_info *info = metric_info(v[i].metric);
		if (!info || v[i].entity == ENTITY_NONE || v[i].entity >= w->n_seen)
			continue;
		struct run r = {.t_ns = v[i].t_ns, .entity = v[i].entity, .table = (uint32_t)info->scope, .start = i, .end = i + 1};
		if (n_runs > 0 && same_row(&w->runs[n_runs - 1], &r) && w->runs[n_runs - 1].end == i) {
			w->runs[n_runs - 1].end = i + 1;
			continue;
		}
		if (n_runs >= w->cap_runs) {
			w->cap_runs = w->cap_runs ? w->cap_runs * 2 : 1024;
			w->runs = rw_realloc(w->runs, w->cap_runs * sizeof(*w->runs));
		}
		sorted &= n_runs == 0 || run_order(&w->runs[n_runs - 1], &r) < 0;
		w->runs[n_runs++] = r;
	}
	if (!sorted)
		qsort(w->runs, n_runs, sizeof(*w->runs), run_order);
	return n_runs;
}

/* Flags and source that most values of the row share (Boyer and Moore's majority vote; any choice is correct, this one is short). */
static struct row_value majority(const struct writer_row *r)
{
	struct row_value best = r->v[0];
	size_t votes = 0;

	for (size_t i = 0; i < r->n; i++) {
		if (votes == 0)
			best = r->v[i];
		votes += r->v[i].flags == best.flags && r->v[i].source == best.source ? 1 : (size_t)-1;
	}
	return best;
}

static void row_add(struct writer_row *r, const struct row_value *v, uint64_t bits)
{
	uint64_t bit = UINT64_C(1) << (v->metric % 64);

	if (r->have[v->metric / 64] & bit)
		return; /* the first one stands */
	if (metric_info(v->metric)->type == TYPE_F64 && isnan(sample_f64(bits)))
		return;
	r->have[v->metric / 64] |= bit;
	r->v[r->n] = *v;
	r->bits[r->n++] = bits;
}

static int bind_row(struct store_writer *w, const struct writer_row *r, sqlite3_stmt *st)
{
	struct row_value shared = majority(r);
	bool exceptions = false, cfg = false;
	int rc;

	sqlite3_clear_bindings(st);
	rc = sqlite3_bind_int64(st, P_ENTITY, r->entity);
	rc |= sqlite3_bind_int64(st, P_T, r->t_ns);
	rc |= sqlite3_bind_int64(st, P_SOURCE, shared.source);
	rc |= sqlite3_bind_int64(st, P_FLAGS, shared.flags);
	for (size_t i = 0; i < r->n; i++) {
		unsigned m = r->v[i].metric;
		int at = P_FIRST + w->position[m];
		exceptions |= r->v[i].flags != shared.flags || r->v[i].source != shared.source || r->v[i].window_ms != 0;
		cfg |= w->is_cfg[m];
		if (metric_info(m)->type == TYPE_F64)
			rc |= sqlite3_bind_double(st, at, sample_f64(r->bits[i]));
		else
			rc |= sqlite3_bind_int64(st, at, (sqlite3_int64)r->bits[i]);
	}
	if (cfg)
		rc |= sqlite3_bind_int64(st, P_CFG, 1);
	if (exceptions) {
		w->x.n = 0;
		row_x_write(&w->x, r->v, r->n, shared.flags, shared.source);
		rc |= sqlite3_bind_text(st, P_X, w->x.s, (int)w->x.n, SQLITE_STATIC);
	}
	return rc == SQLITE_OK ? SQLITE_OK : SQLITE_NOMEM;
}

static int run_statement(sqlite3_stmt *st)
{
	int rc = sqlite3_step(st);
	int reset = sqlite3_reset(st);

	return rc == SQLITE_DONE || rc == SQLITE_ROW ? reset : rc;
}

/* A row is there whose flags, source or exceptions differ: read it, add to it what it lacks, write it whole. */
static int merge_row(struct store_writer *w, struct writer_table *t, const struct writer_row *add)
{
	struct writer_row r = {.entity = add->entity, .t_ns = add->t_ns};

	sqlite3_bind_int64(t->select, P_ENTITY, r.entity);
	sqlite3_bind_int64(t->select, P_T, r.t_ns);
	int rc = sqlite3_step(t->select);
	if (rc == SQLITE_ROW) {
		for (size_t i = 0; i < t->n_metrics; i++) {
			int column = 4 + (int)i;
			if (sqlite3_column_type(t->select, column) == SQLITE_NULL)
				continue;
			struct row_value v = {.metric = t->metrics[i], .source = (uint16_t)sqlite3_column_int(t->select, 0),
				.flags = (uint16_t)sqlite3_column_int(t->select, 1)};
			bool real = metric_info(v.metric)->type == TYPE_F64;
			row_add(&r, &v, real ? sample_of_f64(sqlite3_column_double(t->select, column))
				: (uint64_t)sqlite3_column_int64(t->select, column));
		}
		row_x_apply((const char *)sqlite3_column_text(t->select, 3), r.v, r.n);
	}
	int reset = sqlite3_reset(t->select);
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		return rc;
	if (reset != SQLITE_OK)
		return reset;
	for (size_t i = 0; i < add->n; i++)
		row_add(&r, &add->v[i], add->bits[i]);
	rc = bind_row(w, &r, t->replace);
	return rc == SQLITE_OK ? run_statement(t->replace) : rc;
}

/* Table series gets a line the first time an entity has a metric. */
static int note_series(struct store_writer *w, const struct writer_row *r)
{
	for (size_t i = 0; i < r->n; i++) {
		unsigned m = r->v[i].metric;
		uint64_t bit = UINT64_C(1) << (m % 64), *word = &w->seen[r->entity].bits[m / 64];
		if (*word & bit)
			continue;
		sqlite3_bind_int64(w->series, 1, r->entity);
		sqlite3_bind_text(w->series, 2, metric_info(m)->name, -1, SQLITE_STATIC);
		sqlite3_bind_int64(w->series, 3, r->t_ns);
		int rc = run_statement(w->series);
		if (rc != SQLITE_OK)
			return rc;
		*word |= bit;
		rw_grow(w->newly, w->n_newly, w->cap_newly);
		w->newly[w->n_newly++] = (struct newly){.entity = r->entity, .metric = (uint16_t)m};
	}
	return SQLITE_OK;
}

static int write_row(struct store_writer *w, struct writer_table *t, const struct writer_row *r)
{
	int rc = note_series(w, r);

	if (rc == SQLITE_OK)
		rc = bind_row(w, r, t->insert);
	if (rc == SQLITE_OK)
		rc = run_statement(t->insert);
	if (rc == SQLITE_OK && sqlite3_changes(w->db) == 0)
		rc = merge_row(w, t, r);
	return rc;
}

int writer_samples(struct store_writer *w, struct sample *v, size_t n)
{
	size_t n_runs = make_runs(w, v, n);

	for (size_t i = 0; i < n_runs;) {
		struct writer_row r = {.entity = w->runs[i].entity, .t_ns = w->runs[i].t_ns};
		size_t first = i;
		for (; i < n_runs && same_row(&w->runs[first], &w->runs[i]); i++) {
			for (size_t k = w->runs[i].start; k < w->runs[i].end; k++) {
				struct row_value rv = {.metric = v[k].metric, .flags = v[k].flags, .source = v[k].source, .window_ms = v[k].window_ms};
				row_add(&r, &rv, v[k].value);
			}
		}
		if (r.n == 0)
			continue;
		int rc = write_row(w, &w->tables[w->runs[first].table], &r);
		if (rc != SQLITE_OK)
			return rc;
	}
	return SQLITE_OK;
}
