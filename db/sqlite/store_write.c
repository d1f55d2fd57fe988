/*
 * store_write - jobs to rows. One connection, one thread at a time; knows the layout (schema.h).
 *
 * Samples of a transaction are gathered by (table, entity, instant) through a hash, whatever the
 * order a collector walked its columns in, and the rows written in the order of the tables' key:
 * nearly always at the end. A row that is already there (another batch, same instant) is completed,
 * never changed: the first value stands, as it does in memory.
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
#include "agent/base/map.h"
#include "agent/base/str.h"
#include "db/sqlite/schema.h"
#include "db/sqlite/sqlite_io.h"
#include "db/sqlite/store_write.h"

#define BUSY_MS 5000

enum { P_T = 1, P_ENTITY, P_SOURCE, P_FLAGS, P_CFG, P_X, P_FIRST };

/* ---- opening ------------------------------------------------------------- */

static int prepare(struct store_writer *w, sqlite3_stmt **ret, const char *sql)
{
	return sqlite3_prepare_v3(w->db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL);
}

static int prepare_table(struct store_writer *w, struct writer_table *t, unsigned table)
{
	rw_cleanup(str_done) struct str select = {0}, erase = {0};
	char c[SCHEMA_COLUMN_MAX];

	t->name = schema_table[table];
	t->lanes = table == TABLE_LANES ? SCHEMA_LANES : 1;
	for (unsigned m = 0; m < METRIC_COUNT; m++) {
		if ((unsigned)metric_info(m)->scope != schema_table_scope(table))
			continue;
		w->position[m] = (uint16_t)t->n_metrics;
		w->is_cfg[m] = schema_is_cfg(m);
		t->metrics[t->n_metrics++] = (uint16_t)m;
	}
	str_add(&select, "SELECT source,flags,x");
	for (unsigned i = 0; i < t->n_metrics * t->lanes; i++)
		str_addf(&select, ",%s",
			schema_lane_column(c, t->metrics[i % t->n_metrics],
				t->lanes > 1 ? i / (unsigned)t->n_metrics + 1 : 0));
	str_addf(&select, " FROM %s WHERE t_ns=?1 AND entity=?2", t->name);
	str_addf(&erase, "DELETE FROM %s WHERE t_ns=?1 AND entity=?2", t->name);
	int rc = prepare(w, &t->select, select.s);
	return rc == SQLITE_OK ? prepare(w, &t->erase, erase.s) : rc;
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

void writer_place(struct store_writer *w, uint32_t entity, struct place place)
{
	writer_seen_room(w, entity > place.device ? entity : place.device);
	w->seen[entity].place = place;
}

static int load_entities(
	struct store_writer *w, struct entities *entities, const char *path, struct err *e)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(
		w->db, "SELECT id, device, port, priority FROM entity ORDER BY id", -1, &st, NULL);

	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		int r = entities_load(entities, (uint32_t)sqlite3_column_int64(st, 0),
			(const char *)sqlite3_column_text(st, 1),
			(const char *)sqlite3_column_text(st, 2), sqlite3_column_int(st, 3));
		if (r < 0)
			return err_set(e, -EINVAL,
				"%s: entity %lld does not fit the ones already known; start afresh "
				"with another file",
				path, (long long)sqlite3_column_int64(st, 0));
		rc = SQLITE_OK;
	}
	return rc == SQLITE_DONE ? 0 : sqlite_fail(e, w->db, rc, "read", path);
}

static int load_texts(
	struct store_writer *w, struct entities *entities, const char *path, struct err *e)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(w->db, "SELECT id, text FROM text ORDER BY id", -1, &st, NULL);

	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		uint64_t id = (uint64_t)sqlite3_column_int64(st, 0);
		if (entities_text(entities, (const char *)sqlite3_column_text(st, 1)) != id)
			return err_set(e, -EINVAL,
				"%s: text %llu does not fit the ones already known; start afresh "
				"with another file",
				path, (unsigned long long)id);
		rc = SQLITE_OK;
	}
	return rc == SQLITE_DONE ? 0 : sqlite_fail(e, w->db, rc, "read", path);
}

static int load_seen(
	struct store_writer *w, const struct entities *entities, const char *path, struct err *e)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(w->db, "SELECT entity, metric FROM series", -1, &st, NULL);

	writer_seen_room(w, entities_count(entities));
	for (uint32_t id = 1; id <= entities_count(entities); id++)
		writer_place(w, id, schema_place(entities, id));
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
		return err_set(e, error,
			"cannot create %s: %s; check that its directory exists and may be written",
			path, strerror(-error));
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
	rc = sqlite_exec(w->db,
		"PRAGMA page_size=8192; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA "
		"journal_size_limit=67108864;"
		"PRAGMA wal_autocheckpoint=0; PRAGMA cache_size=-32768; PRAGMA temp_store=MEMORY; "
		"PRAGMA foreign_keys=OFF");
	if (rc != SQLITE_OK)
		return sqlite_fail(e, w->db, rc, "prepare", path);
	r = schema_migrate(w->db, path, e);
	if (r < 0)
		return r;
	sqlite3_wal_hook(w->db, wal_grew, w);
	for (unsigned i = 0; rc == SQLITE_OK && i < SCHEMA_TABLES; i++)
		rc = prepare_table(w, &w->tables[i], i);
	if (rc == SQLITE_OK)
		rc = prepare(w, &w->series,
			"INSERT OR IGNORE INTO series(entity, metric, first_ns) VALUES(?1, ?2, "
			"?3)");
	if (rc == SQLITE_OK)
		rc = prepare(w, &w->instant,
			"INSERT OR IGNORE INTO instant(device, t_ns) VALUES(?1, ?2)");
	return rc == SQLITE_OK ? 0 : sqlite_fail(e, w->db, rc, "prepare", path);
}

int writer_open(const struct store_options *o, struct entities *entities, struct store_writer **ret,
	struct err *e)
{
	struct store_writer *w = rw_calloc(1, sizeof(*w));

	/* Counting its own allocations under a mutex is a cost that nothing here reads. Too late
	 * once SQLite is in use: no harm then. */
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	w->o = *o;
	int r = open_db(w, o->path, e);
	if (r == 0)
		r = load_entities(w, entities, o->path, e);
	if (r == 0)
		r = load_texts(w, entities, o->path, e);
	if (r == 0)
		r = load_seen(w, entities, o->path, e);
	if (r == 0) {
		int rc = writer_import(w);
		if (rc != SQLITE_OK)
			r = sqlite_fail(e, w->db, rc, "bring up to date", o->path);
	}
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
		for (size_t k = 0; k < WRITER_INSERTS; k++)
			sqlite3_finalize(w->tables[i].inserts[k].st);
		sqlite3_finalize(w->tables[i].select);
		sqlite3_finalize(w->tables[i].erase);
	}
	sqlite3_finalize(w->series);
	sqlite3_finalize(w->instant);
	for (size_t i = 0; i < WRITER_SMALL; i++)
		sqlite3_finalize(w->small[i]);
	/* the last connection to close copies the WAL into the file and removes it */
	sqlite3_close(w->db);
	free(w->seen);
	free(w->newly);
	free(w->runs);
	free(w->next);
	free(w->slots);
	str_done(&w->x);
	free(w);
}

/* ---- transactions -------------------------------------------------------- */

int writer_begin(struct store_writer *w)
{
	w->n_newly = 0;
	w->txn++;
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
		w->seen[w->newly[i].entity].bits[w->newly[i].metric / 64] &=
			~(UINT64_C(1) << (w->newly[i].metric % 64));
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
#define HELD_PAGES 16384 /* 128 MB that cannot be copied back: someone reads an old snapshot */

int writer_checkpoint(struct store_writer *w, bool *ret_held)
{
	int in_log = w->wal_pages, copied = 0;

	*ret_held = false;
	if (w->wal_pages < CHECKPOINT_PAGES)
		return w->wal_pages;
	/* Passive: waits for no one. Once all is copied and no reader is left in it, the next
	 * commit begins the WAL anew. */
	if (sqlite3_wal_checkpoint_v2(w->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &in_log, &copied) !=
		SQLITE_OK)
		return w->wal_pages;
	*ret_held = in_log > HELD_PAGES && copied < in_log;
	return in_log;
}

/* ---- samples ------------------------------------------------------------- */

static int run_order(const void *a, const void *b)
{
	const struct run *x = a, *y = b;

	if (x->table != y->table)
		return x->table < y->table ? -1 : 1;
	if (x->t_ns != y->t_ns)
		return x->t_ns < y->t_ns ? -1 : 1;
	return (x->entity > y->entity) - (x->entity < y->entity);
}

static bool same_row(const struct run *a, const struct run *b)
{
	return a->entity == b->entity && a->t_ns == b->t_ns && a->table == b->table;
}

static uint32_t *find_slot(struct store_writer *w, const struct run *r)
{
	size_t mask = w->cap_slots - 1,
	       i = hash_u64((uint64_t)r->t_ns ^ hash_u64((uint64_t)r->entity << 2 | r->table)) &
		mask;

	while (w->slots[i] != 0 && !same_row(&w->runs[w->slots[i] - 1], r))
		i = (i + 1) & mask;
	return &w->slots[i];
}

static void make_room(struct store_writer *w, size_t n)
{
	size_t slots = 1024;

	if (n > w->cap_next) {
		w->cap_next = n;
		w->next = rw_realloc(w->next, n * sizeof(*w->next));
	}
	while (slots < n * 2)
		slots *= 2;
	if (slots > w->cap_slots) {
		w->cap_slots = slots;
		w->slots = rw_realloc(w->slots, slots * sizeof(*w->slots));
	}
	memset(w->slots, 0, w->cap_slots * sizeof(*w->slots));
}

/* Gathers @v into rows. Samples of unknown metrics or entities cannot be stored and are left out.
 */
static size_t make_runs(struct store_writer *w, const struct sample *v, size_t n)
{
	size_t n_runs = 0;
	bool sorted = true;

	make_room(w, n);
	for (uint32_t i = 0; i < n; i++) {
		const struct metric_info *info = metric_info(v[i].metric);
		if (!info || v[i].entity == ENTITY_NONE || v[i].entity >= w->n_seen)
			continue;
		struct run r = {.t_ns = v[i].t_ns,
			.entity = v[i].entity,
			.table = (uint32_t)info->scope,
			.first = i,
			.last = i};
		const struct place *place = &w->seen[r.entity].place;
		if (r.table == SCOPE_PRIO && place->lane > 0) {
			r.entity = place->row;
			r.table = TABLE_LANES;
		}
		w->next[i] = UINT32_MAX;
		uint32_t *slot = NULL;
		struct run *at = n_runs > 0 && same_row(&w->runs[n_runs - 1], &r)
			? &w->runs[n_runs - 1]
			: NULL;
		if (!at) {
			slot = find_slot(w, &r);
			at = *slot != 0 ? &w->runs[*slot - 1] : NULL;
		}
		if (at) {
			w->next[at->last] = i;
			at->last = i;
			continue;
		}
		rw_grow(w->runs, n_runs, w->cap_runs);
		sorted &= n_runs == 0 || run_order(&w->runs[n_runs - 1], &r) < 0;
		w->runs[n_runs++] = r;
		*slot = (uint32_t)n_runs;
	}
	if (!sorted)
		qsort(w->runs, n_runs, sizeof(*w->runs), run_order);
	return n_runs;
}

/* The columns of a set, ascending: for (struct each it = each_of(have); each_next(&it);) ... it.at
 */
struct each {
	const uint64_t *have;
	uint64_t rest;
	unsigned word, at;
};

static struct each each_of(const uint64_t *have)
{
	return (struct each){.have = have, .rest = have[0]};
}

static bool each_next(struct each *it)
{
	while (it->rest == 0) {
		if (++it->word >= ROW_WORDS)
			return false;
		it->rest = it->have[it->word];
	}
	it->at = it->word * 64 + (unsigned)__builtin_ctzll(it->rest);
	it->rest &= it->rest - 1;
	return true;
}

static void row_begin(struct writer_row *r, uint32_t entity, int64_t t_ns)
{
	r->entity = entity;
	r->t_ns = t_ns;
	memset(r->have, 0, sizeof(r->have));
}

static bool row_empty(const struct writer_row *r)
{
	for (size_t i = 0; i < ROW_WORDS; i++)
		if (r->have[i])
			return false;
	return true;
}

/* false: there already (the first one stands), or no number. */
static bool row_add(struct writer_row *r, unsigned column, const struct row_value *v, uint64_t bits)
{
	uint64_t bit = UINT64_C(1) << (column % 64), *word = &r->have[column / 64];

	if ((*word & bit) || (metric_info(v->metric)->type == TYPE_F64 && isnan(sample_f64(bits))))
		return false;
	*word |= bit;
	r->v[column] = *v;
	r->bits[column] = bits;
	return true;
}

/* Flags and source that most values of the row share (Boyer and Moore's majority vote; any choice
 * is correct, this one is short). */
static struct row_value majority(const struct writer_row *r)
{
	struct row_value best = {0};
	size_t votes = 0;

	for (struct each it = each_of(r->have); each_next(&it);) {
		if (votes == 0)
			best = r->v[it.at];
		votes += r->v[it.at].flags == best.flags && r->v[it.at].source == best.source
			? 1
			: (size_t)-1;
	}
	return best;
}

static int prepare_insert(struct store_writer *w, const struct writer_table *t,
	const uint64_t *have, sqlite3_stmt **ret)
{
	rw_cleanup(str_done) struct str sql = {0}, params = {0};
	char c[SCHEMA_COLUMN_MAX];
	int parameter = P_FIRST;

	str_addf(&sql, "INSERT OR IGNORE INTO %s(t_ns,entity,source,flags,cfg,x", t->name);
	for (struct each it = each_of(have); each_next(&it);) {
		str_addf(&sql, ",%s",
			schema_lane_column(c, t->metrics[it.at % t->n_metrics],
				t->lanes > 1 ? it.at / (unsigned)t->n_metrics + 1 : 0));
		str_addf(&params, ",?%d", parameter++);
	}
	str_addf(&sql, ") VALUES(?1,?2,?3,?4,?5,?6%s)", params.s);
	return prepare(w, ret, sql.s);
}

/* The insert for the columns of @have; the one not used for longest makes room for a new one. */
static int insert_of(
	struct store_writer *w, struct writer_table *t, const uint64_t *have, sqlite3_stmt **ret)
{
	struct writer_insert *oldest = &t->inserts[0], *in = &t->inserts[t->last];

	for (unsigned i = 0;
		i < WRITER_INSERTS && (!in->st || memcmp(in->have, have, sizeof(in->have)) != 0);
		i++) {
		in = &t->inserts[i];
		oldest = in->used < oldest->used ? in : oldest;
	}
	if (!in->st || memcmp(in->have, have, sizeof(in->have)) != 0) {
		in = oldest;
		sqlite_finalizep(&in->st);
		int rc = prepare_insert(w, t, have, &in->st);
		if (rc != SQLITE_OK)
			return rc;
		memcpy(in->have, have, sizeof(in->have));
	}
	in->used = ++w->n_inserts;
	t->last = (unsigned)(in - t->inserts);
	*ret = in->st;
	return SQLITE_OK;
}

/* Every parameter is bound each time: nothing is left from the row before. */
static int bind_row(struct store_writer *w, const struct writer_row *r, sqlite3_stmt *st)
{
	struct row_value shared = majority(r);
	size_t odd = 0;
	bool cfg = false;
	int rc, parameter = P_FIRST;

	rc = sqlite3_bind_int64(st, P_T, r->t_ns);
	rc |= sqlite3_bind_int64(st, P_ENTITY, r->entity);
	rc |= sqlite3_bind_int64(st, P_SOURCE, shared.source);
	rc |= sqlite3_bind_int64(st, P_FLAGS, shared.flags);
	for (struct each it = each_of(r->have); each_next(&it);) {
		const struct row_value *v = &r->v[it.at];
		if (v->flags != shared.flags || v->source != shared.source || v->window_ms != 0)
			w->odd[odd++] = *v;
		cfg |= w->is_cfg[v->metric];
		if (metric_info(v->metric)->type == TYPE_F64)
			rc |= sqlite3_bind_double(st, parameter++, sample_f64(r->bits[it.at]));
		else
			rc |= sqlite3_bind_int64(st, parameter++, (sqlite3_int64)r->bits[it.at]);
	}
	rc |= cfg ? sqlite3_bind_int64(st, P_CFG, 1) : sqlite3_bind_null(st, P_CFG);
	if (odd > 0) {
		w->x.n = 0;
		row_x_write(&w->x, w->odd, odd, shared.flags, shared.source);
		rc |= sqlite3_bind_text(st, P_X, w->x.s, (int)w->x.n, SQLITE_STATIC);
	} else {
		rc |= sqlite3_bind_null(st, P_X);
	}
	return rc == SQLITE_OK ? SQLITE_OK : SQLITE_NOMEM;
}

static int run_statement(sqlite3_stmt *st)
{
	int rc = sqlite3_step(st);
	int reset = sqlite3_reset(st);

	return rc == SQLITE_DONE || rc == SQLITE_ROW ? reset : rc;
}

static int insert_row(struct store_writer *w, struct writer_table *t, const struct writer_row *r)
{
	sqlite3_stmt *st;
	int rc = insert_of(w, t, r->have, &st);

	if (rc == SQLITE_OK)
		rc = bind_row(w, r, st);
	return rc == SQLITE_OK ? run_statement(st) : rc;
}

/* The row at hand in .select, with its exceptions. */
static void read_row(struct store_writer *w, const struct writer_table *t, struct writer_row *ret)
{
	size_t n = 0;

	for (unsigned i = 0; i < t->n_metrics * t->lanes; i++) {
		int column = 3 + (int)i;
		if (sqlite3_column_type(t->select, column) == SQLITE_NULL)
			continue;
		struct row_value v = {.metric = t->metrics[i % t->n_metrics],
			.source = (uint16_t)sqlite3_column_int(t->select, 0),
			.flags = (uint16_t)sqlite3_column_int(t->select, 1),
			.lane = (uint8_t)(t->lanes > 1 ? i / t->n_metrics + 1 : 0)};
		bool real = metric_info(v.metric)->type == TYPE_F64;
		if (row_add(ret, i, &v,
			    real ? sample_of_f64(sqlite3_column_double(t->select, column))
				 : (uint64_t)sqlite3_column_int64(t->select, column)))
			w->odd[n++] = v;
	}
	row_x_apply((const char *)sqlite3_column_text(t->select, 2), w->odd, n);
	n = 0;
	for (struct each it = each_of(ret->have); each_next(&it);)
		ret->v[it.at] = w->odd[n++];
}

/* A row is there: read it, add to it what it lacks, write it whole. */
static int merge_row(struct store_writer *w, struct writer_table *t, const struct writer_row *add)
{
	struct writer_row *r = &w->merged;
	bool more = false;

	row_begin(r, add->entity, add->t_ns);
	sqlite3_bind_int64(t->select, P_T, r->t_ns);
	sqlite3_bind_int64(t->select, P_ENTITY, r->entity);
	int rc = sqlite3_step(t->select);
	if (rc == SQLITE_ROW)
		read_row(w, t, r);
	int reset = sqlite3_reset(t->select);
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		return rc;
	if (reset != SQLITE_OK)
		return reset;
	for (struct each it = each_of(add->have); each_next(&it);)
		more |= row_add(r, it.at, &add->v[it.at], add->bits[it.at]);
	if (!more)
		return SQLITE_OK;
	sqlite3_bind_int64(t->erase, P_T, r->t_ns);
	sqlite3_bind_int64(t->erase, P_ENTITY, r->entity);
	rc = run_statement(t->erase);
	return rc == SQLITE_OK ? insert_row(w, t, r) : rc;
}

/* Table series gets a line the first time an entity has a metric. */
static int note_series(struct store_writer *w, const struct sample *s)
{
	uint64_t bit = UINT64_C(1) << (s->metric % 64),
		 *word = &w->seen[s->entity].bits[s->metric / 64];

	if (*word & bit)
		return SQLITE_OK;
	sqlite3_bind_int64(w->series, 1, s->entity);
	sqlite3_bind_text(w->series, 2, metric_info(s->metric)->name, -1, SQLITE_STATIC);
	sqlite3_bind_int64(w->series, 3, s->t_ns);
	int rc = run_statement(w->series);
	if (rc != SQLITE_OK)
		return rc;
	*word |= bit;
	rw_grow(w->newly, w->n_newly, w->cap_newly);
	w->newly[w->n_newly++] = (struct newly){.entity = s->entity, .metric = s->metric};
	return SQLITE_OK;
}

/* Table instant gets one line per device and poll. */
static int note_instant(struct store_writer *w, uint32_t entity, int64_t t_ns)
{
	uint32_t device = w->seen[entity].place.device;
	struct known *k = &w->seen[device];

	if (k->instant_txn == w->txn && k->instant_ns == t_ns)
		return SQLITE_OK;
	sqlite3_bind_int64(w->instant, 1, device);
	sqlite3_bind_int64(w->instant, 2, t_ns);
	int rc = run_statement(w->instant);
	k->instant_txn = w->txn;
	k->instant_ns = t_ns;
	return rc;
}

static int write_row(struct store_writer *w, struct writer_table *t, const struct writer_row *r)
{
	int rc = note_instant(w, r->entity, r->t_ns);

	if (rc == SQLITE_OK)
		rc = insert_row(w, t, r);
	if (rc == SQLITE_OK && sqlite3_changes(w->db) == 0)
		rc = merge_row(w, t, r);
	return rc;
}

int writer_samples(struct store_writer *w, const struct sample *v, size_t n)
{
	size_t n_runs = make_runs(w, v, n);
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < n_runs; i++) {
		const struct run *run = &w->runs[i];
		struct writer_table *t = &w->tables[run->table];
		row_begin(&w->row, run->entity, run->t_ns);
		for (uint32_t k = run->first; rc == SQLITE_OK && k != UINT32_MAX; k = w->next[k]) {
			const struct sample *s = &v[k];
			unsigned lane = t->lanes > 1 ? w->seen[s->entity].place.lane : 0,
				 column = w->position[s->metric];
			struct row_value rv = {.metric = s->metric,
				.flags = s->flags,
				.source = s->source,
				.window_ms = s->window_ms,
				.lane = (uint8_t)lane};
			if (lane > 0)
				column += (lane - 1) * (unsigned)t->n_metrics;
			if (row_add(&w->row, column, &rv, s->value))
				rc = note_series(w, s);
		}
		if (rc == SQLITE_OK && !row_empty(&w->row))
			rc = write_row(w, t, &w->row);
	}
	return rc;
}
