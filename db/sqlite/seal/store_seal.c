/*
 * store_seal - tail rows become blocks: which device is next, and how its samples are taken from
 * the tail. One device at a time, in steps of bounded length between commits of samples.
 *
 * A device's blocks cover slices of time, aligned to their length: about 120 instants where it is
 * polled at a steady pace, longer where it has few values, an hour at most. A slice is sealed when
 * it has been over for LATE_NS, so that values that come late still find it open; what comes later
 * is merged. So a device that went away is sealed within two hours, whatever becomes of the agent:
 * all of this follows from what the file holds, not from how long the agent has run.
 */

#include "db/sqlite/schema/sqlite_io.h"
#include "db/sqlite/write/store_write.h"

/*
 * store_seal_put - the blocks of a job: made in memory from the samples of one metric, merged with
 * what lies in the file already, and put there in the job's transaction.
 *
 * Blocks of one (device, metric) never overlap: whatever block shares a stretch of time with new
 * samples is read, merged and replaced. What was in a block stays where a new sample has the same
 * entity and instant.
 */

enum { B_FROM, B_TO, B_N, B_DATA };

static const char *const seal_sql[SEAL_STATEMENTS] = {
	[SEAL_ROWS] = "SELECT id, from_ns, to_ns, n, data FROM tail WHERE device=?1 AND "
		      "from_ns<=?2 ORDER BY id",
	[SEAL_STAT] = "SELECT min(from_ns), max(to_ns), count(*), sum(n) FROM tail WHERE device=?1",
	[SEAL_DELETE] = "DELETE FROM tail WHERE id=?1 AND device=?2 AND to_ns=?3 AND n=?4",
	[SEAL_SPLIT] = "UPDATE tail SET from_ns=?5, n=?6, metrics=?7, data=?8 "
		       "WHERE id=?1 AND device=?2 AND to_ns=?3 AND n=?4",
	[SEAL_BEFORE] = "SELECT from_ns, to_ns, n, data FROM block WHERE device=?1 AND metric=?2 "
			"AND from_ns<=?3 ORDER BY from_ns DESC LIMIT 1",
	[SEAL_WITHIN] = "SELECT from_ns, to_ns, n, data FROM block WHERE device=?1 AND metric=?2 "
			"AND from_ns>?3 AND from_ns<=?4 ORDER BY from_ns",
	[SEAL_PUT] = "INSERT INTO block(device, metric, from_ns, to_ns, n, known, data) "
		     "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)",
	[SEAL_GONE] = "DELETE FROM block WHERE device=?1 AND metric=?2 AND from_ns=?3 AND "
		      "to_ns=?4 AND n=?5",
	[SEAL_KNOWN] = "SELECT s.metric, count(*) FROM entity d JOIN entity e ON e.device=d.device "
		       "JOIN series s ON s.entity=e.id WHERE d.id=?1 GROUP BY s.metric",
};

static int seal_statement(struct store_writer *writer, unsigned kind, sqlite3_stmt **ret)
{
	sqlite3_stmt **st = &writer->seal.st[kind];
	int rc = SQLITE_OK;

	if (!*st)
		rc = sqlite_prepare(writer->db, seal_sql[kind], st);
	*ret = *st;
	return rc;
}

/* ---- merging ------------------------------------------------------------- */

/* Samples that become one block: a stretch of .fresh and the blocks that overlap it. */
struct seal_group {
	int64_t metric; /* its number */
	int64_t from_ns, to_ns;
	size_t first, n; /* in .fresh */
	int64_t read_ns; /* blocks that begin up to here were looked at */
};

static void group_widen(struct seal_group *group, int64_t from_ns, int64_t to_ns)
{
	if (from_ns < group->from_ns)
		group->from_ns = from_ns;
	if (to_ns > group->to_ns)
		group->to_ns = to_ns;
}

/* The block at hand in @st, which is to go. */
static int group_merge(struct store_writer *writer, struct seal_group *group, sqlite3_stmt *st)
{
	struct seal *seal = &writer->seal;
	struct seal_job *job = &seal->job;
	struct block_reader block;
	const struct seal_gone gone = {.metric = group->metric,
		.from_ns = sqlite3_column_int64(st, B_FROM),
		.to_ns = sqlite3_column_int64(st, B_TO),
		.n = sqlite3_column_int64(st, B_N)};
	const void *data = sqlite3_column_blob(st, B_DATA);

	if (block_open(&block, data, (size_t)sqlite3_column_bytes(st, B_DATA)) < 0)
		return SQLITE_CORRUPT;
	group_widen(group, gone.from_ns, gone.to_ns);
	rw_grow(job->gone, job->n_gone, job->cap_gone);
	job->gone[job->n_gone++] = gone;
	if (block_decode(&block, &seal->old, &seal->n_old, &seal->cap_old) < 0)
		return SQLITE_CORRUPT;
	return SQLITE_OK;
}

/* The block that begins at or before the group, if it reaches into it. */
static int group_merge_before(struct store_writer *writer, struct seal_group *group)
{
	sqlite3_stmt *st;
	int rc = seal_statement(writer, SEAL_BEFORE, &st);

	if (rc != SQLITE_OK)
		return rc;
	group->read_ns = group->from_ns;
	sqlite3_bind_int64(st, 1, writer->seal.job.device);
	sqlite3_bind_int64(st, 2, group->metric);
	sqlite3_bind_int64(st, 3, group->from_ns);
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW && sqlite3_column_int64(st, B_TO) >= group->from_ns)
		rc = group_merge(writer, group, st);
	const int reset = sqlite3_reset(st);
	if (rc == SQLITE_ROW || rc == SQLITE_DONE)
		return reset;
	return rc;
}

/* Blocks that begin within the group and were not looked at yet. */
static int group_merge_within(struct store_writer *writer, struct seal_group *group)
{
	sqlite3_stmt *st;
	int rc = seal_statement(writer, SEAL_WITHIN, &st);

	while (rc == SQLITE_OK && group->read_ns < group->to_ns) {
		sqlite3_bind_int64(st, 1, writer->seal.job.device);
		sqlite3_bind_int64(st, 2, group->metric);
		sqlite3_bind_int64(st, 3, group->read_ns);
		sqlite3_bind_int64(st, 4, group->to_ns);
		group->read_ns = group->to_ns;
		while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
			rc = group_merge(writer, group, st);
			if (rc != SQLITE_OK)
				break;
		}
		const int reset = sqlite3_reset(st);
		if (rc == SQLITE_DONE)
			rc = reset;
	}
	return rc;
}

/* The next slice of .fresh from @at on: where it ends, and its times. */
static size_t fresh_slice(
	const struct seal *seal, size_t at, int64_t *ret_from_ns, int64_t *ret_to_ns)
{
	const struct block_sample *v = seal->fresh;
	const int64_t slice = sample_slice(v[at].t_ns, seal->job.slice_ns);
	size_t end = at;

	*ret_from_ns = INT64_MAX;
	*ret_to_ns = INT64_MIN;
	for (; end < seal->n_fresh; end++) {
		if (sample_slice(v[end].t_ns, seal->job.slice_ns) != slice)
			break;
		if (v[end].t_ns < *ret_from_ns)
			*ret_from_ns = v[end].t_ns;
		if (v[end].t_ns > *ret_to_ns)
			*ret_to_ns = v[end].t_ns;
	}
	return end;
}

/* Slices and blocks that overlap what the group has, until there are none. */
static int group_grow(struct store_writer *writer, struct seal_group *group)
{
	const struct seal *seal = &writer->seal;
	int rc = group_merge_before(writer, group);

	while (rc == SQLITE_OK) {
		rc = group_merge_within(writer, group);
		const size_t at = group->first + group->n;
		int64_t from_ns, to_ns;
		if (rc != SQLITE_OK || at >= seal->n_fresh)
			return rc;
		const size_t end = fresh_slice(seal, at, &from_ns, &to_ns);
		if (from_ns > group->to_ns)
			return SQLITE_OK;
		group->n = end - group->first;
		group_widen(group, from_ns, to_ns);
	}
	return rc;
}

/* ---- blocks -------------------------------------------------------------- */

/* What a block is made of. */
struct seal_made {
	int64_t metric;
	int64_t from_ns, to_ns;
	struct block_sample *v; /* by entity, then time */
	size_t n;
};

static int made_encode(struct store_writer *writer, const struct seal_made *made);

/* More samples than a block may have: two blocks, cut in time. */
static int made_halves(struct store_writer *writer, const struct seal_made *made)
{
	rw_cleanup(freep) struct block_sample *room = rw_calloc(made->n, sizeof(*room));
	const int64_t middle_ns = made->from_ns + (made->to_ns - made->from_ns) / 2;
	struct seal_made half[2] = {
		{.metric = made->metric, .from_ns = INT64_MAX, .to_ns = INT64_MIN, .v = room},
		{.metric = made->metric, .from_ns = INT64_MAX, .to_ns = INT64_MIN}};
	int rc = SQLITE_OK;

	for (size_t i = 0; i < made->n; i++)
		half[0].n += made->v[i].t_ns <= middle_ns;
	half[1].v = room + half[0].n;
	half[0].n = 0;
	for (size_t i = 0; i < made->n; i++) {
		struct seal_made *to = &half[made->v[i].t_ns > middle_ns];
		to->v[to->n++] = made->v[i];
		if (made->v[i].t_ns < to->from_ns)
			to->from_ns = made->v[i].t_ns;
		if (made->v[i].t_ns > to->to_ns)
			to->to_ns = made->v[i].t_ns;
	}
	if (half[0].n == 0 || half[1].n == 0)
		return SQLITE_TOOBIG;
	for (size_t i = 0; rc == SQLITE_OK && i < 2; i++)
		rc = made_encode(writer, &half[i]);
	return rc;
}

/* Of values as @metric, a number of the file, has them? */
static bool metric_is_f64(const struct store_writer *writer, int64_t metric)
{
	const int known = writer_metric_of(writer, metric);

	return known >= 0 && metric_info((unsigned)known)->type == TYPE_F64;
}

/* A block of the job; @data becomes its own. */
static void made_add(struct store_writer *writer, const struct seal_made *made, struct str data)
{
	struct seal_job *job = &writer->seal.job;
	const int metric = writer_metric_of(writer, made->metric);
	struct seal_block block = {.metric = made->metric,
		.from_ns = made->from_ns,
		.to_ns = made->to_ns,
		.n = (int64_t)made->n,
		.data = data.s,
		.size = data.n};

	if (metric >= 0)
		block.known = job->known[metric];
	rw_grow(job->blocks, job->n_blocks, job->cap_blocks);
	job->blocks[job->n_blocks++] = block;
}

static int made_encode(struct store_writer *writer, const struct seal_made *made)
{
	struct str data = {0};
	const int r = block_encode(
		made->v, made->n, BLOCK_SMALL, metric_is_f64(writer, made->metric), &data);

	if (r < 0) {
		str_done(&data);
		if (r == -E2BIG)
			return made_halves(writer, made);
		return SQLITE_CORRUPT;
	}
	made_add(writer, made, data);
	return SQLITE_OK;
}

/* What was there comes first: of two values of one instant it stays. */
static int group_encode(struct store_writer *writer, const struct seal_group *group)
{
	struct seal *seal = &writer->seal;
	struct seal_made made = {.metric = group->metric,
		.from_ns = group->from_ns,
		.to_ns = group->to_ns,
		.v = seal->fresh + group->first,
		.n = group->n};

	if (seal->n_old > 0) {
		for (size_t i = 0; i < group->n; i++) {
			rw_grow(seal->old, seal->n_old, seal->cap_old);
			seal->old[seal->n_old++] = made.v[i];
		}
		made.v = seal->old;
		made.n = sample_sort(&seal->sorter, seal->old, seal->n_old);
	}
	return made_encode(writer, &made);
}

static int seal_make(struct store_writer *writer, int64_t metric)
{
	struct seal *seal = &writer->seal;
	int rc = SQLITE_OK;

	seal->n_fresh =
		sample_sort_slices(&seal->sorter, seal->fresh, seal->n_fresh, seal->job.slice_ns);
	for (size_t at = 0; rc == SQLITE_OK && at < seal->n_fresh;) {
		struct seal_group group = {.metric = metric, .first = at};
		group.n = fresh_slice(seal, at, &group.from_ns, &group.to_ns) - at;
		seal->n_old = 0;
		rc = group_grow(writer, &group);
		if (rc == SQLITE_OK)
			rc = group_encode(writer, &group);
		at = group.first + group.n;
	}
	seal->n_fresh = 0;
	return rc;
}

/* ---- by columns ------------------------------------------------------------ */

/* Is there a block that shares a stretch of time with @matrix? */
static int matrix_meets(
	struct store_writer *writer, int64_t metric, const struct block_matrix *matrix, bool *ret)
{
	struct seal_job *job = &writer->seal.job;
	struct seal_group group = {
		.metric = metric, .from_ns = matrix->t_ns[0], .to_ns = matrix->t_ns[matrix->n - 1]};
	const size_t n_gone = job->n_gone;

	writer->seal.n_old = 0;
	int rc = group_merge_before(writer, &group);
	if (rc == SQLITE_OK)
		rc = group_merge_within(writer, &group);
	*ret = job->n_gone > n_gone;
	job->n_gone = n_gone;
	return rc;
}

static int matrix_slice(struct store_writer *writer, int64_t metric,
	const struct block_matrix *matrix, uint32_t from, uint32_t to)
{
	struct block_matrix slice = *matrix;
	const struct seal_made made = {.metric = metric,
		.from_ns = matrix->t_ns[from],
		.to_ns = matrix->t_ns[to - 1],
		.n = (size_t)matrix->n_series * (to - from)};
	struct str data = {0};

	slice.t_ns += from;
	slice.value += from;
	slice.n = to - from;
	if (block_encode_matrix(&slice, metric_is_f64(writer, metric), &data) < 0) {
		str_done(&data);
		return SQLITE_TOOBIG;
	}
	made_add(writer, &made, data);
	return SQLITE_OK;
}

/* Blocks of rows that lie side by side, without looking at each sample. *@ret: false when there are
 * blocks to be merged with: nothing was made then. */
static int seal_make_matrix(struct store_writer *writer, int64_t metric, bool *ret)
{
	const int64_t slice_ns = writer->seal.job.slice_ns;
	struct block_matrix matrix;
	bool meets = false;

	*ret = false;
	if (!tail_grid_matrix(&writer->seal.grid, &matrix))
		return SQLITE_CORRUPT;
	int rc = matrix_meets(writer, metric, &matrix, &meets);
	if (rc != SQLITE_OK || meets)
		return rc;
	for (uint32_t from = 0, to; rc == SQLITE_OK && from < matrix.n; from = to) {
		const int64_t slice = sample_slice(matrix.t_ns[from], slice_ns);
		to = from + 1;
		while (to < matrix.n && sample_slice(matrix.t_ns[to], slice_ns) == slice)
			to++;
		rc = matrix_slice(writer, metric, &matrix, from, to);
	}
	*ret = true;
	return rc;
}

static void seal_job_done(struct store_writer *writer)
{
	struct seal_job *job = &writer->seal.job;

	for (size_t i = 0; i < job->n_rows; i++)
		free(job->rows[i].data);
	for (size_t i = 0; i < job->n_blocks; i++)
		free(job->blocks[i].data);
	free(job->rows);
	free(job->blocks);
	free(job->gone);
	free(job->kept);
	free(job->kept_samples);
	free(job->known);
	*job = (struct seal_job){0};
}

/* How many series the device has of each metric. Readers know by it when a block has them all. */
static int seal_job_known(struct store_writer *writer)
{
	struct seal_job *job = &writer->seal.job;
	sqlite3_stmt *st;
	int rc = seal_statement(writer, SEAL_KNOWN, &st);

	if (rc != SQLITE_OK)
		return rc;
	job->known = rw_calloc(METRIC_COUNT, sizeof(*job->known));
	sqlite3_bind_int64(st, 1, job->device);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(st, 0);
		const int metric = name ? metric_by_name(name) : -1;
		if (metric >= 0)
			job->known[metric] = sqlite3_column_int64(st, 1);
	}
	const int reset = sqlite3_reset(st);
	if (rc == SQLITE_DONE)
		return reset;
	return rc;
}

void writer_seal_reset(struct store_writer *writer)
{
	seal_job_done(writer);
	writer->seal.loaded = false;
}

/* ---- into the file ------------------------------------------------------- */

/* SEAL_STALE when there is no such row any more: the job's view of the file is out of date. */
static int seal_run_one(struct store_writer *writer, sqlite3_stmt *st)
{
	const int rc = sqlite_run(st);

	if (rc == SQLITE_OK && sqlite3_changes(writer->db) != 1)
		return SEAL_STALE;
	if ((rc & 0xff) == SQLITE_CONSTRAINT)
		return SEAL_STALE;
	return rc;
}

static int put_gone(struct store_writer *writer, const struct seal_gone *gone)
{
	sqlite3_stmt *st;
	const int rc = seal_statement(writer, SEAL_GONE, &st);

	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, writer->seal.job.device);
	sqlite3_bind_int64(st, 2, gone->metric);
	sqlite3_bind_int64(st, 3, gone->from_ns);
	sqlite3_bind_int64(st, 4, gone->to_ns);
	sqlite3_bind_int64(st, 5, gone->n);
	return seal_run_one(writer, st);
}

static int put_block(struct store_writer *writer, const struct seal_block *block)
{
	sqlite3_stmt *st;
	int rc = seal_statement(writer, SEAL_PUT, &st);

	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, writer->seal.job.device);
	sqlite3_bind_int64(st, 2, block->metric);
	sqlite3_bind_int64(st, 3, block->from_ns);
	sqlite3_bind_int64(st, 4, block->to_ns);
	sqlite3_bind_int64(st, 5, block->n);
	sqlite3_bind_int64(st, 6, block->known);
	rc = sqlite3_bind_blob64(st, 7, block->data, block->size, SQLITE_STATIC);
	if (rc == SQLITE_OK)
		rc = seal_run_one(writer, st);
	sqlite3_bind_null(st, 7);
	return rc;
}

static int put_tail_row(struct store_writer *writer, size_t at)
{
	const struct seal_row *row = &writer->seal.job.rows[at];
	sqlite3_stmt *st;
	int rc = seal_statement(writer, SEAL_DELETE, &st);

	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, row->id);
	sqlite3_bind_int64(st, 2, writer->seal.job.device);
	sqlite3_bind_int64(st, 3, row->to_ns);
	sqlite3_bind_int64(st, 4, row->n);
	return seal_run_one(writer, st);
}

/* The part of a row that lies behind the cut. */
static int put_split_row(struct store_writer *writer, size_t at)
{
	const struct seal_job *job = &writer->seal.job;
	const struct seal_row *row = &job->rows[at];
	rw_cleanup(freep) struct tail_segment *parts = rw_calloc(job->n_kept + 1, sizeof(*parts));
	rw_cleanup(str_done) struct str data = {0}, bits = {0};
	int64_t from_ns = INT64_MAX, n_samples = 0;
	size_t n = 0;
	sqlite3_stmt *st;

	for (size_t i = 0; i < job->n_kept; i++) {
		const struct seal_kept *kept = &job->kept[i];
		if (kept->row != at)
			continue;
		const struct block_sample *v = job->kept_samples + kept->first;
		for (size_t k = 0; k < kept->n; k++)
			if (v[k].t_ns < from_ns)
				from_ns = v[k].t_ns;
		n_samples += (int64_t)kept->n;
		parts[n++] = (struct tail_segment){
			.metric = kept->metric, .samples = v, .n = kept->n, .is_f64 = kept->is_f64};
	}
	int rc = seal_statement(writer, SEAL_SPLIT, &st);
	if (rc != SQLITE_OK)
		return rc;
	if (tail_encode(parts, n, &data) < 0)
		return SQLITE_CORRUPT;
	sqlite3_bind_int64(st, 1, row->id);
	sqlite3_bind_int64(st, 2, job->device);
	sqlite3_bind_int64(st, 3, row->to_ns);
	sqlite3_bind_int64(st, 4, row->n);
	sqlite3_bind_int64(st, 5, from_ns);
	sqlite3_bind_int64(st, 6, n_samples);
	writer_tail_bits(parts, n, &bits);
	sqlite3_bind_blob64(st, 7, bits.s, bits.n, SQLITE_STATIC);
	rc = sqlite3_bind_blob64(st, 8, data.s, data.n, SQLITE_STATIC);
	if (rc == SQLITE_OK)
		rc = seal_run_one(writer, st);
	sqlite3_bind_null(st, 7);
	sqlite3_bind_null(st, 8);
	return rc;
}

/* Minutes and hours of what the blocks hold are to be made. */
static int put_due(struct store_writer *writer)
{
	const struct seal_job *job = &writer->seal.job;
	int64_t from_ns = INT64_MAX, to_ns = INT64_MIN;

	for (size_t i = 0; i < job->n_blocks; i++) {
		if (job->blocks[i].from_ns < from_ns)
			from_ns = job->blocks[i].from_ns;
		if (job->blocks[i].to_ns > to_ns)
			to_ns = job->blocks[i].to_ns;
	}
	if (job->n_blocks == 0)
		return SQLITE_OK;
	return writer_rollup_note(writer, job->device, from_ns, to_ns);
}

/* Parts of a job. seal_make - blocks of .fresh, the samples of one metric (its number). seal_put -
 * inside a transaction: all of them into the file. SEAL_STALE: the file is not as the job found it.
 * store_seal.c */
static int seal_put(struct store_writer *writer)
{
	const struct seal_job *job = &writer->seal.job;
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < job->n_gone; i++)
		rc = put_gone(writer, &job->gone[i]);
	for (size_t i = 0; rc == SQLITE_OK && i < job->n_blocks; i++)
		rc = put_block(writer, &job->blocks[i]);
	for (size_t i = 0; rc == SQLITE_OK && i < job->n_rows; i++) {
		if (job->rows[i].split)
			rc = put_split_row(writer, i);
		else
			rc = put_tail_row(writer, i);
	}
	if (rc == SQLITE_OK)
		rc = put_due(writer);
	return rc;
}

#define MINUTE_NS (60 * NS_PER_S)
#define LATE_NS (30 * NS_PER_S)
#define QUIET_NS (3600 * NS_PER_S)
#define SLICE_INSTANTS 120
#define STALE_MAX 3 /* index and table do not agree */
#define SLICE_SAMPLES 32768 /* shorter blocks would be mostly headings */
#define SLICE_MINUTES 60
/* Samples of one job: bounds its memory. The rest of a longer tail is merged by the next one. */
#define JOB_SAMPLES 2000000

/* ---- what lies in the tail ----------------------------------------------- */

/* What is left of a device after a job. */
static int seal_restat(struct store_writer *writer, int64_t number)
{
	struct seal_device *device = seal_device_of(&writer->seal, number);
	sqlite3_stmt *st;
	int rc = seal_statement(writer, SEAL_STAT, &st);

	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, number);
	rc = sqlite3_step(st);
	device->rows = (uint64_t)sqlite3_column_int64(st, 2);
	device->from_ns = INT64_MAX;
	device->to_ns = INT64_MIN;
	device->n = 0;
	if (rc == SQLITE_ROW && device->rows > 0) {
		device->from_ns = sqlite3_column_int64(st, 0);
		device->to_ns = sqlite3_column_int64(st, 1);
		device->n = (uint64_t)sqlite3_column_int64(st, 3);
	}
	const int reset = sqlite3_reset(st);
	if (rc == SQLITE_ROW)
		return reset;
	return rc;
}

/* ---- when ---------------------------------------------------------------- */

/* The length of a device's slices: a number of minutes that divides an hour. */
static int64_t slice_of(const struct seal_device *device)
{
	const double span_s = (double)(device->to_ns - device->from_ns) / NS_PER_S;
	double instants = (double)device->rows, minutes = SLICE_MINUTES;

	if (device->series > 0)
		instants = (double)device->n / (double)device->series;
	if (span_s > 0 && instants > 1.5) {
		const double few = SLICE_INSTANTS * span_s / (instants - 1) / 60;
		const double small = SLICE_SAMPLES * span_s / (double)device->n / 60;
		minutes = few > small ? few : small;
	}
	int64_t whole = 1;
	while (whole < SLICE_MINUTES && ((double)whole < minutes || SLICE_MINUTES % whole != 0))
		whole++;
	return whole * MINUTE_NS;
}

/* Up to when samples of slices of @slice_ns may be sealed, inclusive. */
static int64_t seal_cut_ns(int64_t now_ns, int64_t slice_ns)
{
	if (now_ns == INT64_MAX)
		return INT64_MAX;
	return sample_slice(now_ns - LATE_NS + 1, slice_ns) * slice_ns;
}

/* The next device of which a slice is over; false: there is none. */
static bool seal_choose(struct seal *seal, int64_t now_ns, struct seal_device *ret)
{
	for (size_t i = 0; i < seal->n_devices; i++) {
		const size_t at = (seal->turn + i) % seal->n_devices;
		const struct seal_device *device = &seal->devices[at];
		if (device->rows == 0 || device->damaged)
			continue;
		if (device->from_ns > seal_cut_ns(now_ns, slice_of(device)))
			continue;
		seal->turn = at + 1;
		*ret = *device;
		return true;
	}
	return false;
}

/* ---- a job --------------------------------------------------------------- */

static int job_read_row(struct seal_job *job, sqlite3_stmt *st)
{
	struct seal_row row = {.id = sqlite3_column_int64(st, 0),
		.from_ns = sqlite3_column_int64(st, 1),
		.to_ns = sqlite3_column_int64(st, 2),
		.n = sqlite3_column_int64(st, 3)};
	const void *data = sqlite3_column_blob(st, 4);
	const size_t size = (size_t)sqlite3_column_bytes(st, 4);

	if (!data)
		return SQLITE_CORRUPT;
	row.split = row.to_ns > job->cut_ns;
	row.data = rw_realloc(NULL, size);
	memcpy(row.data, data, size);
	rw_grow(job->rows, job->n_rows, job->cap_rows);
	job->rows[job->n_rows++] = row;
	if (tail_open(&job->rows[job->n_rows - 1].reader, row.data, size) < 0)
		return SQLITE_CORRUPT;
	return SQLITE_OK;
}

static int job_begin(struct store_writer *writer, const struct seal_device *device, int64_t now_ns)
{
	struct seal_job *job = &writer->seal.job;
	int64_t n = 0;
	sqlite3_stmt *st;
	int rc = seal_statement(writer, SEAL_ROWS, &st);

	if (rc != SQLITE_OK)
		return rc;
	*job = (struct seal_job){.running = true,
		.device = device->device,
		.token = ++writer->seal.n_jobs,
		.slice_ns = slice_of(device),
		.metric = INT64_MIN};
	job->cut_ns = seal_cut_ns(now_ns, job->slice_ns);
	sqlite3_bind_int64(st, 1, job->device);
	sqlite3_bind_int64(st, 2, job->cut_ns);
	while (n < JOB_SAMPLES && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		n += sqlite3_column_int64(st, 3);
		rc = job_read_row(job, st);
		if (rc != SQLITE_OK)
			break;
	}
	const int reset = sqlite3_reset(st);
	if (rc == SQLITE_DONE)
		rc = reset;
	if (rc == SQLITE_OK)
		rc = seal_job_known(writer);
	return rc;
}

/* ---- one metric ---------------------------------------------------------- */

/* Samples of .fresh from @first on that lie behind the cut stay in the tail. */
static void job_keep(struct seal *seal, size_t first)
{
	struct seal_job *job = &seal->job;
	size_t n = first;

	for (size_t i = first; i < seal->n_fresh; i++) {
		if (seal->fresh[i].t_ns <= job->cut_ns) {
			seal->fresh[n++] = seal->fresh[i];
			continue;
		}
		rw_grow(job->kept_samples, job->n_kept_samples, job->cap_kept_samples);
		job->kept_samples[job->n_kept_samples++] = seal->fresh[i];
	}
	seal->n_fresh = n;
}

static int job_take_row(struct store_writer *writer, size_t at, int64_t metric)
{
	struct seal *seal = &writer->seal;
	struct seal_job *job = &seal->job;
	struct seal_row *row = &job->rows[at];
	struct seal_kept kept = {.row = at, .metric = metric, .first = job->n_kept_samples};
	const size_t first = seal->n_fresh;
	struct block_reader block;

	if (tail_metric(&row->reader, row->at++, NULL, &block) < 0 ||
		block_decode(&block, &seal->fresh, &seal->n_fresh, &seal->cap_fresh) < 0)
		return SQLITE_CORRUPT;
	if (!row->split)
		return SQLITE_OK;
	job_keep(seal, first);
	kept.n = job->n_kept_samples - kept.first;
	kept.is_f64 = block_is_f64(&block);
	if (kept.n == 0)
		return SQLITE_OK;
	rw_grow(job->kept, job->n_kept, job->cap_kept);
	job->kept[job->n_kept++] = kept;
	return SQLITE_OK;
}

static bool row_has(const struct seal_row *row, int64_t *ret_metric)
{
	if (row->at >= tail_metrics(&row->reader))
		return false;
	*ret_metric = tail_metric_number(&row->reader, row->at);
	return true;
}

/* Do the rows of @metric lie side by side, all of each before the cut? */
static bool job_grid(struct store_writer *writer, int64_t metric)
{
	struct seal *seal = &writer->seal;
	struct seal_job *job = &seal->job;
	int64_t has;

	tail_grid_clear(&seal->grid);
	for (size_t i = 0; i < job->n_rows; i++) {
		const struct seal_row *row = &job->rows[i];
		if (!row_has(row, &has) || has != metric)
			continue;
		if (row->split || !tail_grid_add(&seal->grid, &row->reader, row->at))
			return false;
	}
	return true;
}

/* The blocks of @metric, which is the next one of the rows that have it. */
static int job_blocks(struct store_writer *writer, int64_t metric)
{
	struct seal_job *job = &writer->seal.job;
	const bool grid = job_grid(writer, metric);
	bool made = false;
	int64_t has;
	int rc = SQLITE_OK;

	if (grid)
		rc = seal_make_matrix(writer, metric, &made);
	for (size_t i = 0; rc == SQLITE_OK && i < job->n_rows; i++) {
		if (!row_has(&job->rows[i], &has) || has != metric)
			continue;
		if (made)
			job->rows[i].at++;
		else
			rc = job_take_row(writer, i, metric);
	}
	if (rc == SQLITE_OK && !made)
		rc = seal_make(writer, metric);
	return rc;
}

/* The blocks of the next metric; *ret_more: false when there was none. */
static int job_metric(struct store_writer *writer, bool *ret_more)
{
	struct seal_job *job = &writer->seal.job;
	int64_t next = INT64_MAX, metric;

	*ret_more = false;
	for (size_t i = 0; i < job->n_rows; i++)
		if (row_has(&job->rows[i], &metric) && metric < next)
			next = metric;
	if (next == INT64_MAX)
		return SQLITE_OK;
	if (next <= job->metric) /* they ascend within each row */
		return SQLITE_CORRUPT;
	job->metric = next;
	*ret_more = true;
	return job_blocks(writer, next);
}

/* What was made goes into the file, in one transaction. */
static int job_finish(struct store_writer *writer)
{
	const int64_t device = writer->seal.job.device;
	int rc = writer_begin(writer);

	if (rc == SQLITE_OK)
		rc = seal_put(writer);
	if (rc == SQLITE_OK)
		rc = writer_commit(writer);
	if (rc != SQLITE_OK)
		writer_rollback(writer);
	writer->seal.stale = rc == SEAL_STALE ? writer->seal.stale + 1 : 0;
	if (rc == SEAL_STALE) /* retention was here, say: begin anew */
		rc = SQLITE_OK;
	if (writer->seal.stale >= STALE_MAX)
		return SQLITE_CORRUPT;
	seal_job_done(writer);
	if (rc == SQLITE_OK)
		rc = seal_restat(writer, device);
	return rc;
}

static int job_step(struct store_writer *writer)
{
	bool more;
	const int rc = job_metric(writer, &more);

	if (rc != SQLITE_OK || more)
		return rc;
	return job_finish(writer);
}

/* A device whose rows cannot be read keeps them, and does not keep others from being sealed. */
static int job_failed(struct store_writer *writer, int rc)
{
	if (rc == SQLITE_CORRUPT && writer->seal.job.running)
		seal_device_of(&writer->seal, writer->seal.job.device)->damaged = true;
	seal_job_done(writer);
	writer->seal.n_fresh = 0;
	return rc;
}

/*
 * Samples come in order of time, whether they are new or a year old (a replay, a clock that is
 * behind): a slice is over when the newest sample lies behind it. Where nothing has come for an
 * hour, the clock says so.
 */
static int64_t seal_now_ns(const struct store_writer *writer, int64_t wall_ns)
{
	const struct seal *seal = &writer->seal;
	const bool quiet = mono_now().ns - seal->stored_mono_ns > QUIET_NS;

	if (wall_ns == INT64_MAX || (quiet && !writer->o.replay))
		return wall_ns;
	if (seal->newest_ns < wall_ns || writer->o.replay)
		return seal->newest_ns;
	return wall_ns;
}

/* ---- for the store ------------------------------------------------------- */

int writer_compact(struct store_writer *writer, int64_t now_ns, int64_t budget_ns, bool *ret_more)
{
	struct seal *seal = &writer->seal;
	const int64_t began_ns = mono_now().ns;
	struct seal_device device;
	int rc = seal_load(writer);

	*ret_more = true;
	now_ns = seal_now_ns(writer, now_ns);
	while (rc == SQLITE_OK && *ret_more) {
		if (seal->job.running)
			rc = job_step(writer);
		else if (seal_choose(seal, now_ns, &device))
			rc = job_begin(writer, &device, now_ns);
		else
			rc = writer_rollup_step(writer, now_ns, ret_more);
		if (mono_now().ns - began_ns >= budget_ns)
			break;
	}
	if (rc != SQLITE_OK)
		return job_failed(writer, rc);
	return writer_checkpoint(writer);
}

uint64_t writer_seal_damaged(const struct store_writer *writer)
{
	uint64_t n = 0;

	for (size_t i = 0; i < writer->seal.n_devices; i++)
		n += writer->seal.devices[i].damaged;
	return n;
}

void writer_seal_close(struct store_writer *writer)
{
	struct seal *seal = &writer->seal;

	writer_seal_reset(writer);
	for (size_t i = 0; i < SEAL_STATEMENTS; i++) {
		sqlite3_finalize(seal->st[i]);
		seal->st[i] = NULL;
	}
}

void writer_seal_done(struct store_writer *writer)
{
	struct seal *seal = &writer->seal;

	map_free(seal->index);
	free(seal->devices);
	free(seal->added);
	free(seal->fresh);
	free(seal->old);
	tail_grid_done(&seal->grid);
	sample_sorter_done(&seal->sorter);
}
