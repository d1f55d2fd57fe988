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
#include <stdlib.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "db/sqlite/sqlite_io.h"
#include "db/sqlite/store_write.h"

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

	if (tail_metric(&row->reader, row->at++, &block) < 0 ||
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

/* The blocks of the next metric; *ret_more: false when there was none. */
static int job_metric(struct store_writer *writer, bool *ret_more)
{
	struct seal_job *job = &writer->seal.job;
	int64_t next = INT64_MAX, metric;
	int rc = SQLITE_OK;

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
	for (size_t i = 0; rc == SQLITE_OK && i < job->n_rows; i++)
		if (row_has(&job->rows[i], &metric) && metric == next)
			rc = job_take_row(writer, i, metric);
	if (rc == SQLITE_OK)
		rc = seal_make(writer, next);
	return rc;
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
	sample_sorter_done(&seal->sorter);
}
