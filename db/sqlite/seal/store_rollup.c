/*
 * store_rollup - minutes and hours out of sealed blocks.
 *
 * Table rollup_due says which hours of which devices are to be made: a seal's transaction puts in
 * the hours that its blocks touch, and the one after, whose first step may begin in them. An hour
 * is made when it is over and nothing of it is left in the tail, metric by metric, from the blocks
 * alone: made twice it is the same, and a value that came late makes it anew. It leaves the table
 * when all its metrics are made, so a kill at any point costs only time.
 */
#include "base/log.h"
#include "db/model/metric.h"
#include "db/sqlite/schema/sqlite_io.h"
#include "db/sqlite/write/store_write.h"

#define ROLLUP_LATE_NS (60 * NS_PER_S) /* after the seal of the hour's last slice */
#define ROLLUP_LOOK_NS (20 * NS_PER_S) /* between two looks that find nothing */
/* How many blocks are looked at for the value before the hour, where the last one has none. */
#define ROLLUP_BACK 24

enum { B_FROM, B_TO, B_DATA };

static const char *const rollup_sql[ROLLUP_STATEMENTS] = {
	[ROLLUP_NOTE] = "INSERT OR IGNORE INTO rollup_due(hour_ns, device) VALUES(?1, ?2)",
	[ROLLUP_DUE] =
		"SELECT device, hour_ns FROM rollup_due AS r WHERE hour_ns<=?1 AND NOT EXISTS "
		"(SELECT 1 FROM tail WHERE tail.device=r.device AND "
		"tail.from_ns<=r.hour_ns+3600000000000) ORDER BY hour_ns LIMIT 1",
	[ROLLUP_METRIC] = "SELECT min(metric) FROM block WHERE device=?1 AND metric>?2",
	[ROLLUP_BEFORE] =
		"SELECT from_ns, to_ns, data FROM block WHERE device=?1 AND metric=?2 AND "
		"from_ns<=?3 ORDER BY from_ns DESC LIMIT 1",
	[ROLLUP_WITHIN] =
		"SELECT from_ns, to_ns, data FROM block WHERE device=?1 AND metric=?2 AND "
		"from_ns>?3 AND from_ns<=?4 ORDER BY from_ns",
	[ROLLUP_MINUTE_N] =
		"SELECT n FROM block_minute WHERE device=?1 AND metric=?2 AND from_ns=?3",
	[ROLLUP_MINUTE_PUT] =
		"INSERT OR REPLACE INTO block_minute(device, metric, from_ns, to_ns, n, "
		"data) VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
	[ROLLUP_HOUR_GET] =
		"SELECT data FROM block_hour WHERE device=?1 AND metric=?2 AND from_ns=?3",
	[ROLLUP_HOUR_PUT] = "INSERT OR REPLACE INTO block_hour(device, metric, from_ns, to_ns, n, "
			    "data) VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
	[ROLLUP_FORGET] = "DELETE FROM rollup_due WHERE hour_ns=?1 AND device=?2",
};

static int rollup_statement(struct store_writer *writer, unsigned kind, sqlite3_stmt **ret)
{
	sqlite3_stmt **st = &writer->rollup.st[kind];
	int rc = SQLITE_OK;

	if (!*st)
		rc = sqlite_prepare(writer->db, rollup_sql[kind], st);
	*ret = *st;
	return rc;
}

/* The same, bound to the device and metric at hand and to two times. */
static int rollup_bound(struct store_writer *writer, unsigned kind, int64_t from_ns, int64_t to_ns,
	sqlite3_stmt **ret)
{
	const int rc = rollup_statement(writer, kind, ret);

	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(*ret, 1, writer->rollup.device);
	sqlite3_bind_int64(*ret, 2, writer->rollup.metric);
	sqlite3_bind_int64(*ret, 3, from_ns);
	if (sqlite3_bind_parameter_count(*ret) > 3)
		sqlite3_bind_int64(*ret, 4, to_ns);
	return SQLITE_OK;
}

/* ---- what is due ----------------------------------------------------------- */

int writer_rollup_note(struct store_writer *writer, int64_t device, int64_t from_ns, int64_t to_ns)
{
	struct rollup_state *state = &writer->rollup;
	sqlite3_stmt *st;
	int rc = rollup_statement(writer, ROLLUP_NOTE, &st);
	const int64_t last = rollup_step_of(to_ns, ROLLUP_HOUR_NS) + 1;

	for (int64_t hour = rollup_step_of(from_ns, ROLLUP_HOUR_NS);
		rc == SQLITE_OK && hour <= last; hour++) {
		sqlite3_bind_int64(st, 1, hour * ROLLUP_HOUR_NS);
		sqlite3_bind_int64(st, 2, device);
		rc = sqlite_run(st);
		if (state->running && state->device == device &&
			state->hour_ns == hour * ROLLUP_HOUR_NS)
			state->again = true;
	}
	return rc;
}

int writer_rollup_late(struct store_writer *writer, int64_t t_ns)
{
	writer->rollup.again = true;
	return sqlite_execf(writer->db,
		"INSERT OR IGNORE INTO rollup_due(hour_ns, device) SELECT DISTINCT from_ns, device "
		"FROM block_minute WHERE to_ns>=%lld",
		(long long)t_ns);
}

/* The next hour that is over and whole; .running says whether there is one. */
static int rollup_choose(struct store_writer *writer, int64_t now_ns)
{
	struct rollup_state *state = &writer->rollup;
	int64_t until_ns = INT64_MAX;
	sqlite3_stmt *st;
	int rc = rollup_statement(writer, ROLLUP_DUE, &st);

	if (rc != SQLITE_OK)
		return rc;
	if (now_ns < INT64_MAX)
		until_ns = now_ns - ROLLUP_HOUR_NS - ROLLUP_LATE_NS;
	sqlite3_bind_int64(st, 1, until_ns);
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW) {
		state->running = true;
		state->again = false;
		state->device = sqlite3_column_int64(st, 0);
		state->hour_ns = sqlite3_column_int64(st, 1);
		state->metric = INT64_MIN;
	}
	const int reset = sqlite3_reset(st);
	state->found = rc == SQLITE_ROW;
	state->looked_ns = now_ns;
	if (rc == SQLITE_ROW || rc == SQLITE_DONE)
		return reset;
	return rc;
}

/* ---- samples of an hour ---------------------------------------------------- */

static int rollup_take_block(struct rollup_state *state, sqlite3_stmt *st)
{
	struct block_reader block;

	if (block_open(&block, sqlite3_column_blob(st, B_DATA),
		    (size_t)sqlite3_column_bytes(st, B_DATA)) < 0 ||
		block_decode(&block, &state->v, &state->n, &state->cap) < 0)
		return SQLITE_CORRUPT;
	return SQLITE_OK;
}

/* The block that begins at or before @at_ns; *ret_from_ns: when, INT64_MIN: there is none. Its
 * samples are taken when it reaches beyond @beyond_ns. */
static int rollup_before(
	struct store_writer *writer, int64_t at_ns, int64_t beyond_ns, int64_t *ret_from_ns)
{
	sqlite3_stmt *st;
	int rc = rollup_bound(writer, ROLLUP_BEFORE, at_ns, 0, &st);

	*ret_from_ns = INT64_MIN;
	if (rc != SQLITE_OK)
		return rc;
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW) {
		*ret_from_ns = sqlite3_column_int64(st, B_FROM);
		if (sqlite3_column_int64(st, B_TO) > beyond_ns)
			rc = rollup_take_block(&writer->rollup, st);
	}
	const int reset = sqlite3_reset(st);
	if (rc == SQLITE_ROW || rc == SQLITE_DONE || rc == SQLITE_OK)
		return reset;
	return rc;
}

static int rollup_within(struct store_writer *writer)
{
	const int64_t from_ns = writer->rollup.hour_ns;
	sqlite3_stmt *st;
	int rc = rollup_bound(writer, ROLLUP_WITHIN, from_ns, from_ns + ROLLUP_HOUR_NS, &st);

	if (rc != SQLITE_OK)
		return rc;
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		rc = rollup_take_block(&writer->rollup, st);
		if (rc != SQLITE_OK)
			break;
	}
	const int reset = sqlite3_reset(st);
	if (rc == SQLITE_DONE)
		return reset;
	return rc;
}

/* Is there a series with samples in the hour, but none before it? */
static bool rollup_lacks_anchor(const struct rollup_state *state)
{
	for (size_t i = 0; i < state->n; i++)
		if ((i == 0 || state->v[i].entity != state->v[i - 1].entity) &&
			state->v[i].t_ns > state->hour_ns)
			return true;
	return false;
}

/* Samples of the hour and, for counters, of what came before it, sorted; none when the hour has
 * none. */
static int rollup_gather(struct store_writer *writer, bool counter)
{
	struct rollup_state *state = &writer->rollup;
	int64_t from_ns = INT64_MIN;

	state->n = 0;
	int rc = rollup_before(writer, state->hour_ns, state->hour_ns, &from_ns);
	const bool reaches = state->n > 0;
	if (rc == SQLITE_OK)
		rc = rollup_within(writer);
	if (rc != SQLITE_OK || state->n == 0)
		return rc;
	if (!reaches)
		rc = rollup_before(writer, state->hour_ns, INT64_MIN, &from_ns);
	state->n = sample_sort(&state->sorter, state->v, state->n);
	for (unsigned i = 0; counter && i < ROLLUP_BACK; i++) {
		if (rc != SQLITE_OK || from_ns == INT64_MIN || !rollup_lacks_anchor(state))
			break;
		rc = rollup_before(writer, from_ns - 1, INT64_MIN, &from_ns);
		state->n = sample_sort(&state->sorter, state->v, state->n);
	}
	return rc;
}

/* ---- buckets ---------------------------------------------------------------- */

/* The minutes and the hour of each series; returns how many samples of the hour they stand on. */
static int64_t rollup_make_all(struct rollup_state *state, unsigned metric)
{
	const int64_t end_ns = state->hour_ns + ROLLUP_HOUR_NS;
	struct rollup_made *made = &state->made;
	int64_t n = 0;

	rollup_made_clear(made);
	for (size_t begin = 0, end; begin < state->n; begin = end) {
		struct rollup_series series = {
			.entity = state->v[begin].entity, .first = made->minutes.n};
		size_t of_hour = begin;
		for (end = begin; end < state->n; end++) {
			if (state->v[end].entity != state->v[begin].entity)
				break;
			of_hour += state->v[end].t_ns <= end_ns;
			n += state->v[end].t_ns > state->hour_ns && state->v[end].t_ns <= end_ns;
		}
		rollup_make(metric, state->v + begin, of_hour - begin, state->hour_ns,
			ROLLUP_MINUTE_NS, &made->minutes);
		series.n = (uint32_t)(made->minutes.n - series.first);
		if (series.n == 0)
			continue;
		rw_grow(made->series, made->n_series, made->cap_series);
		made->series[made->n_series++] = series;
	}
	rollup_coarser(made->minutes.v, made->minutes.n, ROLLUP_HOUR_NS, &made->hours);
	return n;
}

/* ---- by columns ---------------------------------------------------------------- */

static void rollup_pieces_clear(struct rollup_state *state)
{
	while (state->n_pieces > 0)
		free(state->pieces[--state->n_pieces].data);
}

static int rollup_piece(struct rollup_state *state, sqlite3_stmt *st)
{
	const size_t size = (size_t)sqlite3_column_bytes(st, B_DATA);
	const void *data = sqlite3_column_blob(st, B_DATA);

	if (!data)
		return SQLITE_CORRUPT;
	rw_grow(state->pieces, state->n_pieces, state->cap_pieces);
	struct rollup_piece *piece = &state->pieces[state->n_pieces++];
	piece->data = rw_realloc(NULL, size);
	memcpy(piece->data, data, size);
	if (block_open(&piece->block, piece->data, size) < 0)
		return SQLITE_CORRUPT;
	piece->n = block_instants_max(&piece->block);
	return SQLITE_OK;
}

/* The blocks that begin in the hour, and the one before them. */
static int rollup_pieces(struct store_writer *writer)
{
	static const unsigned kinds[] = {ROLLUP_BEFORE, ROLLUP_WITHIN};
	const int64_t from_ns = writer->rollup.hour_ns;
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < rw_countof(kinds); i++) {
		sqlite3_stmt *st;
		rc = rollup_bound(writer, kinds[i], from_ns, from_ns + ROLLUP_HOUR_NS, &st);
		if (rc != SQLITE_OK)
			break;
		while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
			rc = rollup_piece(&writer->rollup, st);
			if (rc != SQLITE_OK)
				break;
		}
		const int reset = sqlite3_reset(st);
		if (rc == SQLITE_DONE)
			rc = reset;
	}
	return rc;
}

static bool rollup_pieces_fit(const struct rollup_state *state, size_t *ret_n)
{
	*ret_n = 0;
	for (size_t i = 0; i < state->n_pieces; i++) {
		const struct rollup_piece *piece = &state->pieces[i];
		const struct block_reader *first = &state->pieces[0].block;
		if (piece->n == 0 || piece->block.flags != first->flags ||
			!block_same_series(first, &piece->block))
			return false;
		*ret_n += piece->n;
	}
	return *ret_n > 0;
}

/* All values of the pieces, and no instant after the hour; false: the times do not ascend. */
static int rollup_matrix(
	struct rollup_state *state, size_t n, struct block_matrix *ret, bool *ret_ascends)
{
	struct block_reader *first = &state->pieces[0].block;
	const uint32_t n_series = block_series(first);
	const size_t values = n * n_series;
	size_t at = 0;

	if (values + n + n_series > state->cap_columns) {
		state->cap_columns = values + n + n_series;
		free(state->columns);
		state->columns = rw_calloc(state->cap_columns, sizeof(*state->columns));
	}
	int64_t *t_ns = (int64_t *)(void *)(state->columns + values), *entity = t_ns + n;
	for (size_t i = 0; i < state->n_pieces; at += state->pieces[i++].n)
		if (block_read_matrix(&state->pieces[i].block, state->columns + at, n, t_ns + at) <
			0)
			return SQLITE_CORRUPT;
	for (uint32_t i = 0; i < n_series; i++)
		entity[i] = block_entity(first, i);
	*ret = (struct block_matrix){.n_series = n_series,
		.entity = entity,
		.t_ns = t_ns,
		.value = state->columns,
		.stride = n,
		.flags = first->flags,
		.source = first->source,
		.window_ms = first->window_ms};
	*ret_ascends = true;
	for (size_t i = 1; i < n; i++)
		*ret_ascends = *ret_ascends && t_ns[i] > t_ns[i - 1];
	while (ret->n < n && t_ns[ret->n] <= state->hour_ns + ROLLUP_HOUR_NS)
		ret->n++;
	return SQLITE_OK;
}

/* Where all series were asked at the same instants, which is nearly always: *@ret_done. *@ret_n: as
 * rollup_make_all(). */
static int rollup_by_columns(
	struct store_writer *writer, unsigned metric, bool *ret_done, int64_t *ret_n)
{
	struct rollup_state *state = &writer->rollup;
	struct block_matrix matrix;
	size_t n;
	int rc = rollup_pieces(writer);

	*ret_done = false;
	*ret_n = 0;
	if (rc == SQLITE_OK && rollup_pieces_fit(state, &n))
		rc = rollup_matrix(state, n, &matrix, ret_done);
	rollup_pieces_clear(state);
	if (rc != SQLITE_OK || !*ret_done)
		return rc;
	rollup_make_matrix(metric, &matrix, state->hour_ns, &state->made);
	for (uint32_t i = 0; i < matrix.n; i++)
		if (matrix.t_ns[i] > state->hour_ns)
			*ret_n += matrix.n_series;
	return SQLITE_OK;
}

/* ---- into the file ----------------------------------------------------------------- */

static int rollup_put(
	struct store_writer *writer, unsigned kind, int64_t from_ns, int64_t length_ns, int64_t n)
{
	struct rollup_state *state = &writer->rollup;
	sqlite3_stmt *st;
	int rc = rollup_bound(writer, kind, from_ns, from_ns + length_ns, &st);

	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 5, n);
	rc = sqlite3_bind_blob64(st, 6, state->row.s, state->row.n, SQLITE_STATIC);
	if (rc == SQLITE_OK)
		rc = sqlite_run(st);
	sqlite3_bind_null(st, 6);
	return rc;
}

static int bucket_order(const void *left, const void *right)
{
	const struct rollup_bucket *a = left, *b = right;

	if (a->entity != b->entity)
		return a->entity < b->entity ? -1 : 1;
	return (a->rollup.from_ns > b->rollup.from_ns) - (a->rollup.from_ns < b->rollup.from_ns);
}

/* The hours of the day that are there already, but for this one, appended to *v; their sketches are
 * in @a. */
static int rollup_day(struct store_writer *writer, int64_t day_ns, struct arena *a,
	struct rollup_bucket **v, size_t *n, size_t *cap)
{
	struct rollup_reader reader;
	struct rollup_bucket *had;
	uint32_t n_had;
	sqlite3_stmt *st;
	int rc = rollup_bound(writer, ROLLUP_HOUR_GET, day_ns, 0, &st);

	if (rc != SQLITE_OK)
		return rc;
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW) {
		rc = SQLITE_OK;
		if (rollup_open(&reader, sqlite3_column_blob(st, 0),
			    (size_t)sqlite3_column_bytes(st, 0)) < 0)
			rc = SQLITE_CORRUPT;
		for (uint32_t i = 0; rc == SQLITE_OK && i < reader.n_series; i++) {
			if (rollup_read(&reader, i, a, &had, &n_had) < 0)
				rc = SQLITE_CORRUPT;
			for (uint32_t j = 0; rc == SQLITE_OK && j < n_had; j++) {
				if (had[j].rollup.from_ns == writer->rollup.hour_ns)
					continue;
				rw_grow(*v, *n, *cap);
				(*v)[(*n)++] = had[j];
			}
		}
	}
	const int reset = sqlite3_reset(st);
	if (rc == SQLITE_DONE || rc == SQLITE_OK)
		return reset;
	return rc;
}

static int rollup_put_hour(struct store_writer *writer)
{
	struct rollup_state *state = &writer->rollup;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	rw_cleanup(freep) struct rollup_bucket *v = NULL;
	size_t n = 0, cap = 0;
	const int64_t day_ns =
		rollup_step_of(state->hour_ns + ROLLUP_HOUR_NS, ROLLUP_DAY_NS) * ROLLUP_DAY_NS;
	int rc = rollup_day(writer, day_ns, a, &v, &n, &cap);

	if (rc != SQLITE_OK)
		return rc;
	for (size_t i = 0; i < state->made.hours.n; i++) {
		rollup_sketch_pack(&state->made.hours.v[i].sketch); /* copies are encoded */
		rw_grow(v, n, cap);
		v[n++] = state->made.hours.v[i];
	}
	qsort(v, n, sizeof(*v), bucket_order);
	state->row.n = 0;
	const int r = rollup_encode(v, n, ROLLUP_HOUR_NS, state->rates, &state->row);
	if (r < 0)
		return SQLITE_CORRUPT;
	return rollup_put(writer, ROLLUP_HOUR_PUT, day_ns, ROLLUP_DAY_NS, (int64_t)n);
}

/* How many samples the stored minutes of the hour stand on; 0 when there are none. */
static int rollup_stored(struct store_writer *writer, int64_t *ret)
{
	sqlite3_stmt *st;
	int rc = rollup_bound(writer, ROLLUP_MINUTE_N, writer->rollup.hour_ns, 0, &st);

	*ret = 0;
	if (rc != SQLITE_OK)
		return rc;
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		*ret = sqlite3_column_int64(st, 0);
	const int reset = sqlite3_reset(st);
	if (rc == SQLITE_ROW || rc == SQLITE_DONE)
		return reset;
	return rc;
}

/* Minutes that stand on more samples than there are now are better: retention has been here. */
static int rollup_put_all(struct store_writer *writer, int64_t n)
{
	struct rollup_state *state = &writer->rollup;
	int64_t stored;
	int rc = rollup_stored(writer, &stored);

	if (rc != SQLITE_OK || stored > n)
		return rc;
	state->row.n = 0;
	if (rollup_encode_series(state->made.minutes.v, state->made.series, state->made.n_series,
		    ROLLUP_MINUTE_NS, state->rates, &state->row) < 0)
		return SQLITE_CORRUPT;
	rc = rollup_put(writer, ROLLUP_MINUTE_PUT, state->hour_ns, ROLLUP_HOUR_NS, n);
	if (rc == SQLITE_OK)
		rc = rollup_put_hour(writer);
	return rc;
}

/* ---- a job ------------------------------------------------------------------- */

/* In a transaction of its own. */
static int rollup_commit(
	struct store_writer *writer, int (*put)(struct store_writer *writer, int64_t n), int64_t n)
{
	int rc = writer_begin(writer);

	if (rc == SQLITE_OK)
		rc = put(writer, n);
	if (rc == SQLITE_OK)
		rc = writer_commit(writer);
	if (rc != SQLITE_OK)
		writer_rollback(writer);
	return rc;
}

/* Said once per hour and device. */
static void rollup_tell_damaged(struct store_writer *writer, unsigned metric)
{
	struct rollup_state *state = &writer->rollup;
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	const char *device = "?";
	char when[WALL_TEXT_MAX];

	if (state->n_damaged > 0 && state->damaged_device == state->device &&
		state->damaged_ns == state->hour_ns)
		return;
	state->damaged_device = state->device;
	state->damaged_ns = state->hour_ns;
	state->n_damaged++;
	if (sqlite_prepare(writer->db, "SELECT device FROM entity WHERE id=?1", &st) == SQLITE_OK) {
		sqlite3_bind_int64(st, 1, state->device);
		if (sqlite3_step(st) == SQLITE_ROW && sqlite3_column_text(st, 0))
			device = (const char *)sqlite3_column_text(st, 0);
	}
	log_error("store",
		"%s: minutes and hours of %s from %s on are made without %s, and maybe others: a "
		"block of its single values is damaged",
		writer->o.path, device, wall_text(when, (wall_t){state->hour_ns}, 0),
		metric_info(metric)->name);
}

static int rollup_metric(struct store_writer *writer)
{
	struct rollup_state *state = &writer->rollup;
	const int metric = writer_metric_of(writer, state->metric);

	if (metric < 0 || metric_info((unsigned)metric)->type == TYPE_TEXT)
		return SQLITE_OK;
	const bool counter = metric_info((unsigned)metric)->kind == METRIC_COUNTER;
	state->rates = counter;
	bool done;
	int64_t n;
	int rc = rollup_by_columns(writer, (unsigned)metric, &done, &n);
	if (rc == SQLITE_OK && !done) {
		rc = rollup_gather(writer, counter);
		if (rc == SQLITE_OK)
			n = rollup_make_all(state, (unsigned)metric);
	}
	if (rc == SQLITE_CORRUPT) { /* whoever reads the block is told; the others go on */
		rollup_tell_damaged(writer, (unsigned)metric);
		return SQLITE_OK;
	}
	if (rc != SQLITE_OK || state->made.n_series == 0)
		return rc;
	return rollup_commit(writer, rollup_put_all, n);
}

static int rollup_forget(struct store_writer *writer, int64_t n)
{
	struct rollup_state *state = &writer->rollup;
	sqlite3_stmt *st;
	const int rc = rollup_statement(writer, ROLLUP_FORGET, &st);

	(void)n;
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, state->hour_ns);
	sqlite3_bind_int64(st, 2, state->device);
	return sqlite_run(st);
}

/* The next metric of the hour; *ret_more: false when there was none. */
static int rollup_next_metric(struct store_writer *writer, bool *ret_more)
{
	struct rollup_state *state = &writer->rollup;
	sqlite3_stmt *st;
	int rc = rollup_statement(writer, ROLLUP_METRIC, &st);

	*ret_more = false;
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, state->device);
	sqlite3_bind_int64(st, 2, state->metric);
	rc = sqlite3_step(st);
	*ret_more = rc == SQLITE_ROW && sqlite3_column_type(st, 0) != SQLITE_NULL;
	if (*ret_more)
		state->metric = sqlite3_column_int64(st, 0);
	const int reset = sqlite3_reset(st);
	if (rc == SQLITE_ROW || rc == SQLITE_DONE)
		return reset;
	return rc;
}

static int rollup_job_step(struct store_writer *writer)
{
	struct rollup_state *state = &writer->rollup;
	bool more;
	int rc = rollup_next_metric(writer, &more);

	if (rc == SQLITE_OK && more)
		return rollup_metric(writer);
	if (rc == SQLITE_OK && !state->again)
		rc = rollup_commit(writer, rollup_forget, 0);
	state->running = false;
	return rc;
}

int writer_rollup_step(struct store_writer *writer, int64_t now_ns, bool *ret_more)
{
	struct rollup_state *state = &writer->rollup;
	const bool soon = now_ns < INT64_MAX && now_ns - state->looked_ns < ROLLUP_LOOK_NS &&
		now_ns >= state->looked_ns;
	int rc = SQLITE_OK;

	*ret_more = false;
	if (!state->running && !state->found && soon)
		return SQLITE_OK;
	if (!state->running)
		rc = rollup_choose(writer, now_ns);
	if (rc == SQLITE_OK && state->running) {
		*ret_more = true;
		rc = rollup_job_step(writer);
	}
	if (rc != SQLITE_OK)
		state->running = false;
	return rc;
}

void writer_rollup_close(struct store_writer *writer)
{
	struct rollup_state *state = &writer->rollup;

	for (size_t i = 0; i < ROLLUP_STATEMENTS; i++) {
		sqlite3_finalize(state->st[i]);
		state->st[i] = NULL;
	}
	state->running = false;
	state->found = true;
}

void writer_rollup_done(struct store_writer *writer)
{
	struct rollup_state *state = &writer->rollup;

	free(state->v);
	sample_sorter_done(&state->sorter);
	rollup_made_done(&state->made);
	rollup_pieces_clear(state);
	free(state->pieces);
	free(state->columns);
	str_done(&state->row);
}
