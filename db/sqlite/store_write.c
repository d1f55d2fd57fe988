/*
 * store_write - transactions, and samples to rows.
 *
 * The samples of a transaction are gathered by (table, entity, instant) through a hash, whatever
 * the order a collector walked its columns in. The rows are then written in the order of the
 * tables' key: nearly always at the end. A row that is already there (another batch, same instant)
 * gets the values it lacks; a value that is there stays, as it does in memory.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/log.h"
#include "agent/base/map.h"
#include "agent/base/str.h"
#include "db/sqlite/schema.h"
#include "db/sqlite/sqlite_io.h"
#include "db/sqlite/store_holders.h"
#include "db/sqlite/store_write.h"

/* Parameters of an insert; those of select and erase are the first two. */
enum { P_T = 1, P_ENTITY, P_SOURCE, P_FLAGS, P_CFG, P_X, P_FIRST };

/* ---- transactions -------------------------------------------------------- */

static const char *const counted_tables[WRITER_COUNTED] = {
	[COUNTED_EVENT] = "event", [COUNTED_FINDING] = "finding", [COUNTED_FLOW] = "flow"};

static int counts_read(struct store_writer *writer, int64_t ret[WRITER_COUNTED])
{
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < WRITER_COUNTED; i++) {
		if (!writer->count[i]) {
			rw_cleanup(str_done) struct str sql = {0};
			str_addf(&sql, "SELECT max(id) FROM %s", counted_tables[i]);
			rc = sqlite_prepare(writer->db, sql.s, &writer->count[i]);
		}
		if (rc == SQLITE_OK && sqlite3_step(writer->count[i]) == SQLITE_ROW)
			ret[i] = sqlite3_column_int64(writer->count[i], 0);
		if (rc == SQLITE_OK)
			rc = sqlite3_reset(writer->count[i]);
	}
	return rc;
}

int writer_counts(struct store_writer *writer)
{
	return counts_read(writer, writer->newest_id);
}

static int counts_delete_newer(struct store_writer *writer)
{
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < WRITER_COUNTED; i++)
		rc = sqlite_execf(writer->db, "DELETE FROM %s WHERE id>%lld", counted_tables[i],
			(long long)writer->newest_id[i]);
	return rc;
}

int writer_begin(struct store_writer *writer)
{
	writer->n_new_series = 0;
	writer->txn++;
	writer->n_new_ids = writer->n_new_texts = 0;
	writer->names_changed = false;
	const int rc = sqlite_exec(writer->db, "BEGIN IMMEDIATE");
	if (rc != SQLITE_OK || !writer->unsure)
		return rc;
	return counts_delete_newer(writer);
}

/*
 * SQLite may report a failure although the log has the whole transaction (the memory of the log's
 * index could not be mapped, say). This connection does not see it then. Whoever opens the file
 * next does.
 */
int writer_commit(struct store_writer *writer)
{
	int64_t newest[WRITER_COUNTED];
	int rc = writer_names_commit(writer);

	if (rc == SQLITE_OK)
		rc = counts_read(writer, newest);
	if (rc != SQLITE_OK)
		return rc;
	rc = sqlite_exec(writer->db, "COMMIT");
	writer->unsure = rc != SQLITE_OK;
	if (rc == SQLITE_OK)
		memcpy(writer->newest_id, newest, sizeof(newest));
	return rc;
}

void writer_rollback(struct store_writer *writer)
{
	if (!sqlite3_get_autocommit(writer->db))
		sqlite_exec(writer->db, "ROLLBACK");
	/* the lines that were added to table series are gone again */
	for (size_t i = 0; i < writer->n_new_series; i++) {
		const struct new_series *series = &writer->new_series[i];
		writer->entities[series->entity].bits[series->metric / 64] &=
			~(UINT64_C(1) << (series->metric % 64));
	}
	writer->n_new_series = 0;
	writer_names_rollback(writer);
}

#define CHECKPOINT_PAGES 1000 /* 8 MB */
#define HELD_PAGES 16384 /* 128 MB that cannot be copied back: someone reads an old snapshot */
#define PAGES_PER_MB 128

/* Passive: waits for no one. Once all is copied and no reader is left in the log, the next commit
 * begins it anew. */
int writer_checkpoint(struct store_writer *writer)
{
	int in_log = 0, copied = 0, rc = SQLITE_OK;
	int enough = CHECKPOINT_PAGES;
	bool held = false;

	if (writer->o.log_pages > 0)
		enough = writer->o.log_pages;
	if (writer->wal_pages >= enough) {
		rc = sqlite3_wal_checkpoint_v2(
			writer->db, NULL, SQLITE_CHECKPOINT_PASSIVE, &in_log, &copied);
		held = rc == SQLITE_OK && in_log > HELD_PAGES && copied < in_log;
	}
	rw_cleanup(str_done) struct str who = {0};
	if (held)
		store_holders_text(writer->o.path, "-shm", &who);
	if (held)
		complain(&writer->wal_held, mono_now(), LOG_WARN_, "store",
			"%s-wal has grown to %d MB because a reader keeps an old snapshot; end "
			"long-running queries%s%s",
			writer->o.path, in_log / PAGES_PER_MB, str_if(who.n > 0, ": "),
			str_or(who.s, ""));
	else
		complaint_over(&writer->wal_held, mono_now(), "store",
			"the write-ahead log can be shortened again");
	if (rc == SQLITE_BUSY) /* another connection copies; the next commit tries again */
		return SQLITE_OK;
	return rc;
}

/* ---- gathering the samples of a row -------------------------------------- */

/* By table, instant, entity: the order of the tables' key. */
static int row_samples_order(const void *left, const void *right)
{
	const struct row_samples *x = left, *y = right;

	if (x->table != y->table)
		return x->table < y->table ? -1 : 1;
	if (x->t_ns != y->t_ns)
		return x->t_ns < y->t_ns ? -1 : 1;
	return (x->file_id > y->file_id) - (x->file_id < y->file_id);
}

static bool same_row(const struct row_samples *left, const struct row_samples *right)
{
	return left->entity == right->entity && left->t_ns == right->t_ns &&
		left->table == right->table;
}

/* The slot that holds @row, or the free one where it belongs. */
static uint32_t *find_slot(struct store_writer *writer, const struct row_samples *row)
{
	uint64_t key = hash_u64((uint64_t)row->entity << 2 | row->table);
	size_t mask = writer->cap_slots - 1;
	size_t i = hash_u64((uint64_t)row->t_ns ^ key) & mask;

	while (writer->slots[i] != 0 && !same_row(&writer->rows[writer->slots[i] - 1], row))
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

/* The row that @sample belongs to, with itself as its only sample. SQLITE_NOTFOUND: its metric or
 * entity is not known, so that it cannot be stored. */
static int row_of_sample(struct store_writer *writer, const struct sample *sample, uint32_t index,
	struct row_samples *ret)
{
	const struct metric_info *info = metric_info(sample->metric);

	if (!info)
		return SQLITE_NOTFOUND;
	int rc = writer_name(writer, sample->entity, sample->t_ns);
	if (rc != SQLITE_OK)
		return rc;
	*ret = (struct row_samples){.t_ns = sample->t_ns,
		.entity = sample->entity,
		.table = (uint32_t)info->scope,
		.first = index,
		.last = index};
	const struct row_at *at = &writer->entities[sample->entity].at;
	if (info->scope == SCOPE_PRIO && at->prio != PRIO_NONE) {
		ret->entity = at->row;
		ret->table = TABLE_PRIOS;
		rc = writer_name(writer, at->row, sample->t_ns);
	}
	if (rc == SQLITE_OK)
		rc = writer_name(writer, writer->entities[ret->entity].at.device, sample->t_ns);
	if (rc == SQLITE_OK)
		ret->file_id = writer->entities[ret->entity].file_id;
	return rc;
}

static void rows_add(
	struct store_writer *writer, const struct row_samples *row, size_t *n_rows, bool *sorted)
{
	struct row_samples *at = NULL;
	uint32_t *slot = NULL;

	writer->next[row->first] = UINT32_MAX;
	/* mostly the row of the sample before */
	if (*n_rows > 0 && same_row(&writer->rows[*n_rows - 1], row)) {
		at = &writer->rows[*n_rows - 1];
	} else {
		slot = find_slot(writer, row);
		if (*slot != 0)
			at = &writer->rows[*slot - 1];
	}
	if (at) {
		writer->next[at->last] = row->first;
		at->last = row->first;
		return;
	}
	rw_grow(writer->rows, *n_rows, writer->cap_rows);
	if (*n_rows > 0 && row_samples_order(&writer->rows[*n_rows - 1], row) >= 0)
		*sorted = false;
	writer->rows[(*n_rows)++] = *row;
	*slot = (uint32_t)*n_rows;
}

/* Gathers @samples into rows, in the order they are to be written. */
static int gather_rows(
	struct store_writer *writer, const struct sample *samples, size_t n, size_t *ret_rows)
{
	bool sorted = true;

	*ret_rows = 0;
	make_room(writer, n);
	for (uint32_t i = 0; i < n; i++) {
		struct row_samples row;
		const int rc = row_of_sample(writer, &samples[i], i, &row);
		if (rc == SQLITE_OK)
			rows_add(writer, &row, ret_rows, &sorted);
		else if (rc != SQLITE_NOTFOUND)
			return rc;
	}
	if (!sorted)
		qsort(writer->rows, *ret_rows, sizeof(*writer->rows), row_samples_order);
	return SQLITE_OK;
}

/* ---- a row in memory ----------------------------------------------------- */

/* The columns of a set, ascending:
 * for (struct column_walk it = columns_of(have); column_next(&it);) ... it.at */
struct column_walk {
	const uint64_t *have;
	uint64_t rest;
	unsigned word, at;
};

static struct column_walk columns_of(const uint64_t *have)
{
	return (struct column_walk){.have = have, .rest = have[0]};
}

static bool column_next(struct column_walk *it)
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

/* The column of @metric for @prio, as counted within a row. */
static unsigned row_column(const struct store_writer *writer, const struct writer_table *table,
	unsigned metric, int prio)
{
	unsigned column = writer->position[metric];

	if (prio != PRIO_NONE)
		column += (unsigned)prio * (unsigned)table->n_metrics;
	return column;
}

static void row_begin(struct writer_row *row, int64_t entity, int64_t t_ns)
{
	row->entity = entity;
	row->t_ns = t_ns;
	memset(row->have, 0, sizeof(row->have));
}

static bool row_is_empty(const struct writer_row *row)
{
	for (size_t i = 0; i < ROW_WORDS; i++)
		if (row->have[i])
			return false;
	return true;
}

/* False: the row has the column already (the first value stays), or the value is NAN. */
static bool row_add(
	struct writer_row *row, unsigned column, const struct row_value *value, uint64_t bits)
{
	uint64_t bit = UINT64_C(1) << (column % 64), *word = &row->have[column / 64];

	if (*word & bit)
		return false;
	if (metric_info(value->metric)->type == TYPE_F64 && isnan(sample_f64(bits)))
		return false;
	*word |= bit;
	row->v[column] = *value;
	row->bits[column] = bits;
	return true;
}

/* Flags and source that most values of the row share (majority vote of Boyer and Moore, 1981; any
 * choice is correct, this one makes x short). */
static struct row_value row_majority(const struct writer_row *row)
{
	struct row_value best = {0};
	size_t votes = 0;

	for (struct column_walk it = columns_of(row->have); column_next(&it);) {
		const struct row_value *v = &row->v[it.at];
		if (votes == 0)
			best = *v;
		if (v->flags == best.flags && v->source == best.source)
			votes++;
		else
			votes--;
	}
	return best;
}

/* ---- a row in the file --------------------------------------------------- */

static int prepare_insert(struct store_writer *writer, const struct writer_table *table,
	const uint64_t *have, sqlite3_stmt **ret)
{
	rw_cleanup(str_done) struct str sql = {0}, params = {0};
	char name[SCHEMA_COLUMN_MAX];
	int parameter = P_FIRST;

	str_addf(&sql, "INSERT OR IGNORE INTO %s(t_ns,entity,source,flags,cfg,x", table->name);
	for (struct column_walk it = columns_of(have); column_next(&it);) {
		unsigned metric = table->metrics[it.at % table->n_metrics];
		unsigned prio = it.at / (unsigned)table->n_metrics;
		str_addf(&sql, ",%s",
			schema_prio_column(name, metric, writer_column_prio(table, prio)));
		str_addf(&params, ",?%d", parameter++);
	}
	str_addf(&sql, ") VALUES(?1,?2,?3,?4,?5,?6%s)", params.s);
	return sqlite_prepare(writer->db, sql.s, ret);
}

static bool insert_fits(const struct writer_insert *insert, const uint64_t *have)
{
	return insert->st && memcmp(insert->have, have, sizeof(insert->have)) == 0;
}

/* The insert for the columns of @have; the one not used for longest makes room for a new one. */
static int find_insert(struct store_writer *writer, struct writer_table *table,
	const uint64_t *have, sqlite3_stmt **ret)
{
	struct writer_insert *oldest = &table->inserts[0], *in = &table->inserts[table->last];

	for (unsigned i = 0; i < WRITER_INSERTS && !insert_fits(in, have); i++) {
		in = &table->inserts[i];
		if (in->used < oldest->used)
			oldest = in;
	}
	if (!insert_fits(in, have)) {
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

/* The values, each in its parameter. Notes in .odd of the writer which differ from @shared, and
 * returns how many; @ret_cfg: one is a configuration state. */
static size_t bind_values(struct store_writer *writer, const struct writer_row *row,
	const struct row_value *shared, sqlite3_stmt *st, bool *ret_cfg, int *rc)
{
	size_t n_odd = 0;
	int parameter = P_FIRST;

	*ret_cfg = false;
	for (struct column_walk it = columns_of(row->have); column_next(&it);) {
		const struct row_value *v = &row->v[it.at];
		uint64_t bits = row->bits[it.at];
		if (v->flags != shared->flags || v->source != shared->source || v->window_ms != 0)
			writer->odd[n_odd++] = *v;
		*ret_cfg |= writer->is_cfg[v->metric];
		if (metric_info(v->metric)->type == TYPE_F64)
			*rc |= sqlite3_bind_double(st, parameter++, sample_f64(bits));
		else
			*rc |= sqlite3_bind_int64(st, parameter++, (sqlite3_int64)bits);
	}
	return n_odd;
}

/* Every parameter is bound each time: nothing is left from the row before. */
static int bind_row(struct store_writer *writer, const struct writer_row *row, sqlite3_stmt *st)
{
	struct row_value shared = row_majority(row);
	bool cfg;
	int rc = SQLITE_OK;

	rc |= sqlite3_bind_int64(st, P_T, row->t_ns);
	rc |= sqlite3_bind_int64(st, P_ENTITY, row->entity);
	rc |= sqlite3_bind_int64(st, P_SOURCE, shared.source);
	rc |= sqlite3_bind_int64(st, P_FLAGS, shared.flags);
	size_t n_odd = bind_values(writer, row, &shared, st, &cfg, &rc);
	if (cfg)
		rc |= sqlite3_bind_int64(st, P_CFG, 1);
	else
		rc |= sqlite3_bind_null(st, P_CFG);
	if (n_odd > 0) {
		writer->x.n = 0;
		row_x_write(&writer->x, writer->odd, n_odd, shared.flags, shared.source);
		rc |= sqlite3_bind_text(st, P_X, writer->x.s, (int)writer->x.n, SQLITE_STATIC);
	} else {
		rc |= sqlite3_bind_null(st, P_X);
	}
	if (rc == SQLITE_OK)
		return SQLITE_OK;
	return SQLITE_NOMEM;
}

static int insert_row(
	struct store_writer *writer, struct writer_table *table, const struct writer_row *row)
{
	sqlite3_stmt *st;
	int rc = find_insert(writer, table, row->have, &st);

	if (rc == SQLITE_OK)
		rc = bind_row(writer, row, st);
	if (rc == SQLITE_OK)
		return sqlite_run(st);
	return rc;
}

/* ---- a row that is there already ----------------------------------------- */

/* Columns of .select of a table. */
enum { S_SOURCE, S_FLAGS, S_X, S_FIRST };

/* The row at hand in .select, with its exceptions. */
static void read_row(
	struct store_writer *writer, const struct writer_table *table, struct writer_row *ret)
{
	sqlite3_stmt *st = table->select;
	struct row_value shared = {.source = (uint16_t)sqlite3_column_int(st, S_SOURCE),
		.flags = (uint16_t)sqlite3_column_int(st, S_FLAGS)};
	size_t n = 0;

	for (unsigned i = 0; i < table->n_metrics * table->n_prios; i++) {
		int column = S_FIRST + (int)i;
		if (sqlite3_column_type(st, column) == SQLITE_NULL)
			continue;
		struct row_value v = shared;
		v.metric = table->metrics[i % table->n_metrics];
		v.prio = (int8_t)writer_column_prio(table, i / (unsigned)table->n_metrics);
		if (row_add(ret, i, &v, row_bits(st, column, v.metric)))
			writer->odd[n++] = v;
	}
	row_x_apply((const char *)sqlite3_column_text(st, S_X), writer->odd, n);
	n = 0;
	for (struct column_walk it = columns_of(ret->have); column_next(&it);)
		ret->v[it.at] = writer->odd[n++];
}

static int select_row(
	struct store_writer *writer, const struct writer_table *table, struct writer_row *row)
{
	sqlite3_bind_int64(table->select, P_T, row->t_ns);
	sqlite3_bind_int64(table->select, P_ENTITY, row->entity);
	int rc = sqlite3_step(table->select);
	if (rc == SQLITE_ROW)
		read_row(writer, table, row);
	int reset = sqlite3_reset(table->select);
	if (rc == SQLITE_ROW || rc == SQLITE_DONE)
		return reset;
	return rc;
}

/* Reads the row, adds to it what it lacks, and writes it whole. */
static int merge_row(
	struct store_writer *writer, struct writer_table *table, const struct writer_row *add)
{
	struct writer_row *row = &writer->merged;
	bool more = false;

	row_begin(row, add->entity, add->t_ns);
	int rc = select_row(writer, table, row);
	if (rc != SQLITE_OK)
		return rc;
	for (struct column_walk it = columns_of(add->have); column_next(&it);)
		more |= row_add(row, it.at, &add->v[it.at], add->bits[it.at]);
	if (!more)
		return SQLITE_OK;
	sqlite3_bind_int64(table->erase, P_T, row->t_ns);
	sqlite3_bind_int64(table->erase, P_ENTITY, row->entity);
	rc = sqlite_run(table->erase);
	if (rc == SQLITE_OK)
		return insert_row(writer, table, row);
	return rc;
}

/* ---- samples ------------------------------------------------------------- */

/* Table series gets a line the first time an entity has a metric. */
static int note_series(struct store_writer *writer, const struct sample *sample)
{
	uint64_t bit = UINT64_C(1) << (sample->metric % 64);
	uint64_t *word = &writer->entities[sample->entity].bits[sample->metric / 64];

	if (*word & bit)
		return SQLITE_OK;
	sqlite3_bind_int64(writer->series, 1, writer->entities[sample->entity].file_id);
	sqlite3_bind_text(writer->series, 2, metric_info(sample->metric)->name, -1, SQLITE_STATIC);
	sqlite3_bind_int64(writer->series, 3, sample->t_ns);
	int rc = sqlite_run(writer->series);
	if (rc != SQLITE_OK)
		return rc;
	*word |= bit;
	writer->names_changed = true;
	rw_grow(writer->new_series, writer->n_new_series, writer->cap_new_series);
	writer->new_series[writer->n_new_series++] =
		(struct new_series){.entity = sample->entity, .metric = sample->metric};
	return SQLITE_OK;
}

/* Table instant gets one line per device and poll. */
static int note_instant(struct store_writer *writer, uint32_t entity, int64_t t_ns)
{
	uint32_t device = writer->entities[entity].at.device;
	struct writer_entity *known = &writer->entities[device];

	if (known->instant_txn == writer->txn && known->instant_ns == t_ns)
		return SQLITE_OK;
	sqlite3_bind_int64(writer->instant, 1, known->file_id);
	sqlite3_bind_int64(writer->instant, 2, t_ns);
	int rc = sqlite_run(writer->instant);
	known->instant_txn = writer->txn;
	known->instant_ns = t_ns;
	return rc;
}

static int write_row(struct store_writer *writer, struct writer_table *table, uint32_t entity,
	const struct writer_row *row)
{
	int rc = note_instant(writer, entity, row->t_ns);

	if (rc == SQLITE_OK)
		rc = insert_row(writer, table, row);
	if (rc == SQLITE_OK && sqlite3_changes(writer->db) == 0)
		rc = merge_row(writer, table, row);
	return rc;
}

/* The samples of @from into .row of the writer. */
static int fill_row(struct store_writer *writer, const struct writer_table *table,
	const struct row_samples *from, const struct sample *samples)
{
	int rc = SQLITE_OK;

	row_begin(&writer->row, from->file_id, from->t_ns);
	for (uint32_t i = from->first; rc == SQLITE_OK && i != UINT32_MAX; i = writer->next[i]) {
		const struct sample *sample = &samples[i];
		struct row_value value = {.metric = sample->metric,
			.flags = sample->flags,
			.source = sample->source,
			.window_ms = sample->window_ms,
			.prio = PRIO_NONE};
		if (table->n_prios > 1)
			value.prio = writer->entities[sample->entity].at.prio;
		unsigned column = row_column(writer, table, sample->metric, value.prio);
		uint64_t bits = sample->value;
		int64_t text = 0;
		if (metric_info(sample->metric)->type == TYPE_TEXT) {
			rc = writer_text(writer, bits, &text);
			bits = (uint64_t)text;
		}
		if (rc == SQLITE_OK && row_add(&writer->row, column, &value, bits))
			rc = note_series(writer, sample);
	}
	return rc;
}

int writer_samples(struct store_writer *writer, const struct sample *samples, size_t n)
{
	size_t n_rows;
	int rc = gather_rows(writer, samples, n, &n_rows);

	for (size_t i = 0; rc == SQLITE_OK && i < n_rows; i++) {
		struct writer_table *table = &writer->tables[writer->rows[i].table];
		rc = fill_row(writer, table, &writer->rows[i], samples);
		if (rc == SQLITE_OK && !row_is_empty(&writer->row))
			rc = write_row(writer, table, writer->rows[i].entity, &writer->row);
	}
	return rc;
}
