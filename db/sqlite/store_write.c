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

static int store_write_prepare(struct store_writer *writer, sqlite3_stmt **ret, const char *sql)
{
	return sqlite3_prepare_v3(writer->db, sql, -1, SQLITE_PREPARE_PERSISTENT, ret, NULL);
}

static int prepare_table(
	struct store_writer *writer, struct writer_table *writer_table, unsigned table)
{
	rw_cleanup(str_done) struct str select = {0}, erase = {0};
	char c[SCHEMA_COLUMN_MAX];

	writer_table->name = schema_table[table];
	if (table == TABLE_LANES)
		writer_table->lanes = SCHEMA_LANES;
	else
		writer_table->lanes = 1;
	for (unsigned m = 0; m < METRIC_COUNT; m++) {
		if ((unsigned)metric_info(m)->scope != schema_table_scope(table))
			continue;
		writer->position[m] = (uint16_t)writer_table->n_metrics;
		writer->is_cfg[m] = schema_is_cfg(m);
		writer_table->metrics[writer_table->n_metrics++] = (uint16_t)m;
	}
	str_add(&select, "SELECT source,flags,x");
	for (unsigned i = 0; i < writer_table->n_metrics * writer_table->lanes; i++)
		str_addf(&select, ",%s",
			schema_lane_column(c, writer_table->metrics[i % writer_table->n_metrics],
				writer_table->lanes > 1 ? i / (unsigned)writer_table->n_metrics + 1
							: 0));
	str_addf(&select, " FROM %s WHERE t_ns=?1 AND entity=?2", writer_table->name);
	str_addf(&erase, "DELETE FROM %s WHERE t_ns=?1 AND entity=?2", writer_table->name);
	int rc = store_write_prepare(writer, &writer_table->select, select.s);
	if (rc == SQLITE_OK)
		return store_write_prepare(writer, &writer_table->erase, erase.s);
	return rc;
}

void writer_seen_room(struct store_writer *writer, uint32_t entity)
{
	if (entity > writer->last_entity)
		writer->last_entity = entity;
	if (entity < writer->n_seen)
		return;
	size_t n = 256;
	if (writer->n_seen)
		n = writer->n_seen;
	while (n <= entity)
		n *= 2;
	writer->seen = rw_realloc(writer->seen, n * sizeof(*writer->seen));
	memset(writer->seen + writer->n_seen, 0, (n - writer->n_seen) * sizeof(*writer->seen));
	writer->n_seen = n;
}

void writer_place(struct store_writer *writer, uint32_t entity, struct place place)
{
	writer_seen_room(writer, entity > place.device ? entity : place.device);
	writer->seen[entity].place = place;
}

static int store_write_load_entities(
	struct store_writer *writer, struct entities *entities, const char *path, struct err *e)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(writer->db,
		"SELECT id, device, port, priority FROM entity ORDER BY id", -1, &st, NULL);

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
	if (rc == SQLITE_DONE)
		return 0;
	return sqlite_fail(e, writer->db, rc, "read", path);
}

static int store_write_load_texts(
	struct store_writer *writer, struct entities *entities, const char *path, struct err *e)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(
		writer->db, "SELECT id, text FROM text ORDER BY id", -1, &st, NULL);

	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		uint64_t id = (uint64_t)sqlite3_column_int64(st, 0);
		if (entities_text(entities, (const char *)sqlite3_column_text(st, 1)) != id)
			return err_set(e, -EINVAL,
				"%s: text %llu does not fit the ones already known; start afresh "
				"with another file",
				path, (unsigned long long)id);
		rc = SQLITE_OK;
	}
	if (rc == SQLITE_DONE)
		return 0;
	return sqlite_fail(e, writer->db, rc, "read", path);
}

static int load_seen(struct store_writer *writer, const struct entities *entities, const char *path,
	struct err *e)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	int rc = sqlite3_prepare_v2(writer->db, "SELECT entity, metric FROM series", -1, &st, NULL);

	writer_seen_room(writer, entities_count(entities));
	for (uint32_t id = 1; id <= entities_count(entities); id++)
		writer_place(writer, id, schema_place(entities, id));
	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		uint32_t id = (uint32_t)sqlite3_column_int64(st, 0);
		int m = metric_by_name((const char *)sqlite3_column_text(st, 1));
		if (m >= 0 && id <= entities_count(entities))
			writer->seen[id].bits[m / 64] |= UINT64_C(1) << (m % 64);
		rc = SQLITE_OK;
	}
	if (rc == SQLITE_DONE)
		return 0;
	return sqlite_fail(e, writer->db, rc, "read", path);
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

static int store_write_open_db(struct store_writer *writer, const char *path, struct err *e)
{
	int version, rc, r = make_file(path, e);

	if (r < 0)
		return r;
	rc = sqlite3_open_v2(path, &writer->db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, NULL);
	if (rc != SQLITE_OK)
		return sqlite_fail(e, writer->db, rc, "open", path);
	sqlite3_busy_timeout(writer->db, BUSY_MS);
	/* before anything is changed: a foreign file must stay as it is */
	r = schema_check(writer->db, path, &version, e);
	if (r < 0)
		return r;
	rc = sqlite_exec(writer->db,
		"PRAGMA page_size=8192; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; PRAGMA "
		"journal_size_limit=67108864;"
		"PRAGMA wal_autocheckpoint=0; PRAGMA cache_size=-32768; PRAGMA temp_store=MEMORY; "
		"PRAGMA foreign_keys=OFF");
	if (rc != SQLITE_OK)
		return sqlite_fail(e, writer->db, rc, "prepare", path);
	r = schema_migrate(writer->db, path, e);
	if (r < 0)
		return r;
	sqlite3_wal_hook(writer->db, wal_grew, writer);
	for (unsigned i = 0; rc == SQLITE_OK && i < SCHEMA_TABLES; i++)
		rc = prepare_table(writer, &writer->tables[i], i);
	if (rc == SQLITE_OK)
		rc = store_write_prepare(writer, &writer->series,
			"INSERT OR IGNORE INTO series(entity, metric, first_ns) VALUES(?1, ?2, "
			"?3)");
	if (rc == SQLITE_OK)
		rc = store_write_prepare(writer, &writer->instant,
			"INSERT OR IGNORE INTO instant(device, t_ns) VALUES(?1, ?2)");
	if (rc == SQLITE_OK)
		return 0;
	return sqlite_fail(e, writer->db, rc, "prepare", path);
}

int writer_open(const struct store_options *options, struct entities *entities,
	struct store_writer **ret, struct err *e)
{
	struct store_writer *w = rw_calloc(1, sizeof(*w));

	/* Counting its own allocations under a mutex is a cost that nothing here reads. Too late
	 * once SQLite is in use: no harm then. */
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
	w->o = *options;
	int r = store_write_open_db(w, options->path, e);
	if (r == 0)
		r = store_write_load_entities(w, entities, options->path, e);
	if (r == 0)
		r = store_write_load_texts(w, entities, options->path, e);
	if (r == 0)
		r = load_seen(w, entities, options->path, e);
	if (r == 0) {
		int rc = writer_import(w);
		if (rc != SQLITE_OK)
			r = sqlite_fail(e, w->db, rc, "bring up to date", options->path);
	}
	if (r < 0) {
		writer_close(w);
		return r;
	}
	*ret = w;
	return 0;
}

void writer_close(struct store_writer *writer)
{
	if (!writer)
		return;
	for (size_t i = 0; i < SCHEMA_TABLES; i++) {
		for (size_t k = 0; k < WRITER_INSERTS; k++)
			sqlite3_finalize(writer->tables[i].inserts[k].st);
		sqlite3_finalize(writer->tables[i].select);
		sqlite3_finalize(writer->tables[i].erase);
	}
	sqlite3_finalize(writer->series);
	sqlite3_finalize(writer->instant);
	for (size_t i = 0; i < WRITER_SMALL; i++)
		sqlite3_finalize(writer->small[i]);
	/* the last connection to close copies the WAL into the file and removes it */
	sqlite3_close(writer->db);
	free(writer->seen);
	free(writer->newly);
	free(writer->runs);
	free(writer->next);
	free(writer->slots);
	str_done(&writer->x);
	free(writer);
}

/* ---- transactions -------------------------------------------------------- */

int writer_begin(struct store_writer *writer)
{
	writer->n_newly = 0;
	writer->txn++;
	return sqlite_exec(writer->db, "BEGIN IMMEDIATE");
}

int writer_commit(struct store_writer *writer)
{
	return sqlite_exec(writer->db, "COMMIT");
}

void writer_rollback(struct store_writer *writer)
{
	if (!sqlite3_get_autocommit(writer->db))
		sqlite_exec(writer->db, "ROLLBACK");
	/* what was noted as present in table series no longer is */
	for (size_t i = 0; i < writer->n_newly; i++)
		writer->seen[writer->newly[i].entity].bits[writer->newly[i].metric / 64] &=
			~(UINT64_C(1) << (writer->newly[i].metric % 64));
	writer->n_newly = 0;
}

sqlite3 *writer_db(struct store_writer *writer)
{
	return writer->db;
}

void writer_interrupt(struct store_writer *writer)
{
	sqlite3_interrupt(writer->db);
}

int writer_wal_pages(const struct store_writer *writer)
{
	return writer->wal_pages;
}

#define CHECKPOINT_PAGES 1000 /* 8 MB */
#define HELD_PAGES 16384 /* 128 MB that cannot be copied back: someone reads an old snapshot */

int writer_checkpoint(struct store_writer *writer, bool *ret_held)
{
	int in_log = writer->wal_pages, copied = 0;

	*ret_held = false;
	if (writer->wal_pages < CHECKPOINT_PAGES)
		return writer->wal_pages;
	/* Passive: waits for no one. Once all is copied and no reader is left in it, the next
	 * commit begins the WAL anew. */
	if (sqlite3_wal_checkpoint_v2(
		    writer->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &in_log, &copied) != SQLITE_OK)
		return writer->wal_pages;
	*ret_held = in_log > HELD_PAGES && copied < in_log;
	return in_log;
}

/* ---- samples ------------------------------------------------------------- */

static int run_order(const void *left, const void *right)
{
	const struct run *x = left, *y = right;

	if (x->table != y->table) {
		if (x->table < y->table)
			return -1;
		return 1;
	}
	if (x->t_ns != y->t_ns) {
		if (x->t_ns < y->t_ns)
			return -1;
		return 1;
	}
	return (x->entity > y->entity) - (x->entity < y->entity);
}

static bool same_row(const struct run *left, const struct run *right)
{
	return left->entity == right->entity && left->t_ns == right->t_ns &&
		left->table == right->table;
}

static uint32_t *find_slot(struct store_writer *writer, const struct run *run)
{
	size_t mask = writer->cap_slots - 1,
	       i = hash_u64((uint64_t)run->t_ns ^
			   hash_u64((uint64_t)run->entity << 2 | run->table)) &
		mask;

	while (writer->slots[i] != 0 && !same_row(&writer->runs[writer->slots[i] - 1], run))
		i = (i + 1) & mask;
	return &writer->slots[i];
}

static void make_room(struct store_writer *writer, size_t n)
{
	size_t slots = 1024;

	if (n > writer->cap_next) {
		writer->cap_next = n;
		writer->next = rw_realloc(writer->next, n * sizeof(*writer->next));
	}
	while (slots < n * 2)
		slots *= 2;
	if (slots > writer->cap_slots) {
		writer->cap_slots = slots;
		writer->slots = rw_realloc(writer->slots, slots * sizeof(*writer->slots));
	}
	memset(writer->slots, 0, writer->cap_slots * sizeof(*writer->slots));
}

/* Gathers @samples into rows. Samples of unknown metrics or entities cannot be stored and are left
 * out.
 */
static size_t make_runs(struct store_writer *writer, const struct sample *samples, size_t n)
{
	size_t n_runs = 0;
	bool sorted = true;

	make_room(writer, n);
	for (uint32_t i = 0; i < n; i++) {
		const struct metric_info *info = metric_info(samples[i].metric);
		if (!info || samples[i].entity == ENTITY_NONE ||
			samples[i].entity >= writer->n_seen)
			continue;
		struct run r = {.t_ns = samples[i].t_ns,
			.entity = samples[i].entity,
			.table = (uint32_t)info->scope,
			.first = i,
			.last = i};
		const struct place *place = &writer->seen[r.entity].place;
		if (r.table == SCOPE_PRIO && place->lane > 0) {
			r.entity = place->row;
			r.table = TABLE_LANES;
		}
		writer->next[i] = UINT32_MAX;
		uint32_t *slot = NULL;
		struct run *at = NULL;
		if (n_runs > 0 && same_row(&writer->runs[n_runs - 1], &r))
			at = &writer->runs[n_runs - 1];
		if (!at) {
			slot = find_slot(writer, &r);
			if (*slot != 0)
				at = &writer->runs[*slot - 1];
			else
				at = NULL;
		}
		if (at) {
			writer->next[at->last] = i;
			at->last = i;
			continue;
		}
		rw_grow(writer->runs, n_runs, writer->cap_runs);
		sorted &= n_runs == 0 || run_order(&writer->runs[n_runs - 1], &r) < 0;
		writer->runs[n_runs++] = r;
		*slot = (uint32_t)n_runs;
	}
	if (!sorted)
		qsort(writer->runs, n_runs, sizeof(*writer->runs), run_order);
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

static void row_begin(struct writer_row *row, uint32_t entity, int64_t t_ns)
{
	row->entity = entity;
	row->t_ns = t_ns;
	memset(row->have, 0, sizeof(row->have));
}

static bool store_write_row_empty(const struct writer_row *row)
{
	for (size_t i = 0; i < ROW_WORDS; i++)
		if (row->have[i])
			return false;
	return true;
}

/* false: there already (the first one stands), or no number. */
static bool store_write_row_add(
	struct writer_row *row, unsigned column, const struct row_value *value, uint64_t bits)
{
	uint64_t bit = UINT64_C(1) << (column % 64), *word = &row->have[column / 64];

	if ((*word & bit) ||
		(metric_info(value->metric)->type == TYPE_F64 && isnan(sample_f64(bits))))
		return false;
	*word |= bit;
	row->v[column] = *value;
	row->bits[column] = bits;
	return true;
}

/* Flags and source that most values of the row share (Boyer and Moore's majority vote; any choice
 * is correct, this one is short). */
static struct row_value store_write_majority(const struct writer_row *row)
{
	struct row_value best = {0};
	size_t votes = 0;

	for (struct each it = each_of(row->have); each_next(&it);) {
		if (votes == 0)
			best = row->v[it.at];
		if (row->v[it.at].flags == best.flags && row->v[it.at].source == best.source)
			votes += 1;
		else
			votes += (size_t)-1;
	}
	return best;
}

static int prepare_insert(struct store_writer *writer, const struct writer_table *table,
	const uint64_t *have, sqlite3_stmt **ret)
{
	rw_cleanup(str_done) struct str sql = {0}, params = {0};
	char c[SCHEMA_COLUMN_MAX];
	int parameter = P_FIRST;

	str_addf(&sql, "INSERT OR IGNORE INTO %s(t_ns,entity,source,flags,cfg,x", table->name);
	for (struct each it = each_of(have); each_next(&it);) {
		str_addf(&sql, ",%s",
			schema_lane_column(c, table->metrics[it.at % table->n_metrics],
				table->lanes > 1 ? it.at / (unsigned)table->n_metrics + 1 : 0));
		str_addf(&params, ",?%d", parameter++);
	}
	str_addf(&sql, ") VALUES(?1,?2,?3,?4,?5,?6%s)", params.s);
	return store_write_prepare(writer, ret, sql.s);
}

/* The insert for the columns of @have; the one not used for longest makes room for a new one. */
static int insert_of(struct store_writer *writer, struct writer_table *table, const uint64_t *have,
	sqlite3_stmt **ret)
{
	struct writer_insert *oldest = &table->inserts[0], *in = &table->inserts[table->last];

	for (unsigned i = 0;
		i < WRITER_INSERTS && (!in->st || memcmp(in->have, have, sizeof(in->have)) != 0);
		i++) {
		in = &table->inserts[i];
		if (in->used < oldest->used)
			oldest = in;
	}
	if (!in->st || memcmp(in->have, have, sizeof(in->have)) != 0) {
		in = oldest;
		sqlite_finalizep(&in->st);
		int rc = prepare_insert(writer, table, have, &in->st);
		if (rc != SQLITE_OK)
			return rc;
		memcpy(in->have, have, sizeof(in->have));
	}
	in->used = ++writer->n_inserts;
	table->last = (unsigned)(in - table->inserts);
	*ret = in->st;
	return SQLITE_OK;
}

/* Every parameter is bound each time: nothing is left from the row before. */
static int bind_row(struct store_writer *writer, const struct writer_row *row, sqlite3_stmt *st)
{
	struct row_value shared = store_write_majority(row);
	size_t odd = 0;
	bool cfg = false;
	int rc, parameter = P_FIRST;

	rc = sqlite3_bind_int64(st, P_T, row->t_ns);
	rc |= sqlite3_bind_int64(st, P_ENTITY, row->entity);
	rc |= sqlite3_bind_int64(st, P_SOURCE, shared.source);
	rc |= sqlite3_bind_int64(st, P_FLAGS, shared.flags);
	for (struct each it = each_of(row->have); each_next(&it);) {
		const struct row_value *v = &row->v[it.at];
		if (v->flags != shared.flags || v->source != shared.source || v->window_ms != 0)
			writer->odd[odd++] = *v;
		cfg |= writer->is_cfg[v->metric];
		if (metric_info(v->metric)->type == TYPE_F64)
			rc |= sqlite3_bind_double(st, parameter++, sample_f64(row->bits[it.at]));
		else
			rc |= sqlite3_bind_int64(st, parameter++, (sqlite3_int64)row->bits[it.at]);
	}
	if (cfg)
		rc |= sqlite3_bind_int64(st, P_CFG, 1);
	else
		rc |= sqlite3_bind_null(st, P_CFG);
	if (odd > 0) {
		writer->x.n = 0;
		row_x_write(&writer->x, writer->odd, odd, shared.flags, shared.source);
		rc |= sqlite3_bind_text(st, P_X, writer->x.s, (int)writer->x.n, SQLITE_STATIC);
	} else {
		rc |= sqlite3_bind_null(st, P_X);
	}
	if (rc == SQLITE_OK)
		return SQLITE_OK;
	return SQLITE_NOMEM;
}

static int run_statement(sqlite3_stmt *st)
{
	int rc = sqlite3_step(st);
	int reset = sqlite3_reset(st);

	if (rc == SQLITE_DONE || rc == SQLITE_ROW)
		return reset;
	return rc;
}

static int insert_row(
	struct store_writer *writer, struct writer_table *table, const struct writer_row *row)
{
	sqlite3_stmt *st;
	int rc = insert_of(writer, table, row->have, &st);

	if (rc == SQLITE_OK)
		rc = bind_row(writer, row, st);
	if (rc == SQLITE_OK)
		return run_statement(st);
	return rc;
}

/* The row at hand in .select, with its exceptions. */
static void read_row(
	struct store_writer *writer, const struct writer_table *table, struct writer_row *ret)
{
	size_t n = 0;

	for (unsigned i = 0; i < table->n_metrics * table->lanes; i++) {
		int column = 3 + (int)i;
		if (sqlite3_column_type(table->select, column) == SQLITE_NULL)
			continue;
		struct row_value v = {.metric = table->metrics[i % table->n_metrics],
			.source = (uint16_t)sqlite3_column_int(table->select, 0),
			.flags = (uint16_t)sqlite3_column_int(table->select, 1),
			.lane = (uint8_t)(table->lanes > 1 ? i / table->n_metrics + 1 : 0)};
		bool real = metric_info(v.metric)->type == TYPE_F64;
		if (store_write_row_add(ret, i, &v,
			    real ? sample_of_f64(sqlite3_column_double(table->select, column))
				 : (uint64_t)sqlite3_column_int64(table->select, column)))
			writer->odd[n++] = v;
	}
	row_x_apply((const char *)sqlite3_column_text(table->select, 2), writer->odd, n);
	n = 0;
	for (struct each it = each_of(ret->have); each_next(&it);)
		ret->v[it.at] = writer->odd[n++];
}

/* A row is there: read it, add to it what it lacks, write it whole. */
static int merge_row(
	struct store_writer *writer, struct writer_table *table, const struct writer_row *add)
{
	struct writer_row *r = &writer->merged;
	bool more = false;

	row_begin(r, add->entity, add->t_ns);
	sqlite3_bind_int64(table->select, P_T, r->t_ns);
	sqlite3_bind_int64(table->select, P_ENTITY, r->entity);
	int rc = sqlite3_step(table->select);
	if (rc == SQLITE_ROW)
		read_row(writer, table, r);
	int reset = sqlite3_reset(table->select);
	if (rc != SQLITE_ROW && rc != SQLITE_DONE)
		return rc;
	if (reset != SQLITE_OK)
		return reset;
	for (struct each it = each_of(add->have); each_next(&it);)
		more |= store_write_row_add(r, it.at, &add->v[it.at], add->bits[it.at]);
	if (!more)
		return SQLITE_OK;
	sqlite3_bind_int64(table->erase, P_T, r->t_ns);
	sqlite3_bind_int64(table->erase, P_ENTITY, r->entity);
	rc = run_statement(table->erase);
	if (rc == SQLITE_OK)
		return insert_row(writer, table, r);
	return rc;
}

/* Table series gets a line the first time an entity has a metric. */
static int note_series(struct store_writer *writer, const struct sample *sample)
{
	uint64_t bit = UINT64_C(1) << (sample->metric % 64),
		 *word = &writer->seen[sample->entity].bits[sample->metric / 64];

	if (*word & bit)
		return SQLITE_OK;
	sqlite3_bind_int64(writer->series, 1, sample->entity);
	sqlite3_bind_text(writer->series, 2, metric_info(sample->metric)->name, -1, SQLITE_STATIC);
	sqlite3_bind_int64(writer->series, 3, sample->t_ns);
	int rc = run_statement(writer->series);
	if (rc != SQLITE_OK)
		return rc;
	*word |= bit;
	rw_grow(writer->newly, writer->n_newly, writer->cap_newly);
	writer->newly[writer->n_newly++] =
		(struct newly){.entity = sample->entity, .metric = sample->metric};
	return SQLITE_OK;
}

/* Table instant gets one line per device and poll. */
static int note_instant(struct store_writer *writer, uint32_t entity, int64_t t_ns)
{
	uint32_t device = writer->seen[entity].place.device;
	struct known *k = &writer->seen[device];

	if (k->instant_txn == writer->txn && k->instant_ns == t_ns)
		return SQLITE_OK;
	sqlite3_bind_int64(writer->instant, 1, device);
	sqlite3_bind_int64(writer->instant, 2, t_ns);
	int rc = run_statement(writer->instant);
	k->instant_txn = writer->txn;
	k->instant_ns = t_ns;
	return rc;
}

static int store_write_row(
	struct store_writer *writer, struct writer_table *table, const struct writer_row *row)
{
	int rc = note_instant(writer, row->entity, row->t_ns);

	if (rc == SQLITE_OK)
		rc = insert_row(writer, table, row);
	if (rc == SQLITE_OK && sqlite3_changes(writer->db) == 0)
		rc = merge_row(writer, table, row);
	return rc;
}

int writer_samples(struct store_writer *writer, const struct sample *samples, size_t n)
{
	size_t n_runs = make_runs(writer, samples, n);
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < n_runs; i++) {
		const struct run *run = &writer->runs[i];
		struct writer_table *t = &writer->tables[run->table];
		row_begin(&writer->row, run->entity, run->t_ns);
		for (uint32_t k = run->first; rc == SQLITE_OK && k != UINT32_MAX;
			k = writer->next[k]) {
			const struct sample *s = &samples[k];
			unsigned lane = 0;
			if (t->lanes > 1)
				lane = writer->seen[s->entity].place.lane;
			unsigned column = writer->position[s->metric];
			struct row_value rv = {.metric = s->metric,
				.flags = s->flags,
				.source = s->source,
				.window_ms = s->window_ms,
				.lane = (uint8_t)lane};
			if (lane > 0)
				column += (lane - 1) * (unsigned)t->n_metrics;
			if (store_write_row_add(&writer->row, column, &rv, s->value))
				rc = note_series(writer, s);
		}
		if (rc == SQLITE_OK && !store_write_row_empty(&writer->row))
			rc = store_write_row(writer, t, &writer->row);
	}
	return rc;
}
