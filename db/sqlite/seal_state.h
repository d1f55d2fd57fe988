/*
 * seal_state - where the sealing of tail rows into blocks stands: what lies in the tail of each
 * device, and the device that is being sealed. For store_tail.c, store_seal.c, store_seal_job.c and
 * store_seal_put.c.
 *
 * A job reads the tail rows of one device, makes its blocks in memory, metric by metric, in as many
 * steps as its time allows, and then puts them into the file and takes the tail rows away, in one
 * transaction. Commits of samples may come between the steps. When the file is not as the job found
 * it, the job is dropped and begins anew later.
 */
#ifndef RW_DB_SEAL_STATE_H
#define RW_DB_SEAL_STATE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/map.h"
#include "agent/base/str.h"
#include "db/block/tail_codec.h"
#include "db/model/metric.h"
#include "db/sqlite/sample_sort.h"

/* What the tail holds of a device: as the index of the table says it. */
struct seal_device {
	int64_t device; /* its entity's number in the file */
	int64_t from_ns, to_ns; /* of the oldest and the newest sample */
	uint64_t rows, n;
	uint64_t series; /* how many the device has; 0 = not known */
	bool damaged; /* a row or block of it cannot be read: left alone until the next start */
};
struct seal_added { /* a tail row of the open transaction */
	int64_t device, from_ns, to_ns;
	uint64_t n, series;
};

struct seal_row { /* a tail row of the job */
	int64_t id, from_ns, to_ns, n;
	char *data;
	struct tail_reader reader;
	uint32_t at; /* the next metric of .reader: metrics are taken in ascending order */
	bool split; /* reaches over the cut: what is later stays in the tail */
};
struct seal_kept { /* samples of a split row that stay, of one metric */
	size_t row; /* of the job */
	int64_t metric;
	size_t first, n; /* in .kept_samples */
	bool is_f64;
};
struct seal_block { /* a block that the job has made */
	int64_t metric, from_ns, to_ns, n, known;
	char *data;
	size_t size;
};
struct seal_gone { /* a block that was merged into one of those */
	int64_t metric, from_ns, to_ns, n;
};

struct seal_job {
	bool running; /* takes its samples from the tail */
	uint64_t token; /* whose job it is; 0 = nobody's any more */
	int64_t device, slice_ns, cut_ns; /* samples up to the cut, inclusive, are sealed */
	struct seal_row *rows;
	size_t n_rows, cap_rows;
	int64_t metric; /* the last one that was made; they come in ascending order */
	struct seal_kept *kept;
	size_t n_kept, cap_kept;
	struct block_sample *kept_samples;
	size_t n_kept_samples, cap_kept_samples;
	struct seal_block *blocks;
	size_t n_blocks, cap_blocks;
	struct seal_gone *gone;
	size_t n_gone, cap_gone;
	int64_t *known; /* by metric: how many series of it the device has */
};

enum {
	SEAL_ROWS, /* the tail rows of a device */
	SEAL_STAT, /* the same, what they are */
	SEAL_DELETE,
	SEAL_SPLIT,
	SEAL_BEFORE, /* the block at or before a time */
	SEAL_WITHIN, /* blocks that begin in a range */
	SEAL_PUT,
	SEAL_GONE,
	SEAL_KNOWN,
	SEAL_STATEMENTS
};

/* The file is not as a job found it. No code of SQLite's. */
#define SEAL_STALE (-1)

struct seal {
	struct map *index; /* device -> position in .devices */
	struct seal_device *devices;
	size_t n_devices, cap_devices;
	size_t turn; /* of .devices, looked at next */
	struct seal_added *added; /* by the open transaction */
	size_t n_added, cap_added;
	int64_t newest_ns; /* of the samples in the tail at the start, and of those that came since
			    */
	int64_t stored_mono_ns; /* the newest commit of samples; 0: none by this process */
	bool loaded; /* .devices says what the file had when it was opened */
	struct seal_job job;
	sqlite3_stmt *st[SEAL_STATEMENTS];
	struct block_sample *fresh, *old; /* of one metric: from the tail, from blocks */
	size_t n_fresh, cap_fresh, n_old, cap_old;
	struct sample_sorter sorter;
	uint64_t n_jobs;
	unsigned stale; /* jobs in a row that met another file than they had read */
};

/* From samples to tail rows. */
struct tail_device { /* a device in the open call of writer_samples() */
	uint32_t entity;
	uint32_t first, n; /* in .order */
};
struct tail_put { /* a row */
	int64_t device, from_ns, to_ns; /* the device's number in the file */
	uint64_t n, series; /* samples; series that the device has, 0 = not known */
	const struct tail_segment *parts;
	size_t n_parts;
};
struct tail_state {
	int64_t number[METRIC_COUNT]; /* of a metric in the file */
	uint16_t by_number[METRIC_COUNT]; /* metrics, ascending by that */
	uint16_t place[METRIC_COUNT]; /* of a metric in .by_number */
	uint64_t turn; /* calls of writer_samples() */
	struct tail_device *devices;
	size_t n_devices, cap_devices;
	uint32_t *slots, *order; /* by sample: its device; samples by device */
	size_t cap_samples;
	struct block_sample *sorted; /* of one device, by metric */
	size_t cap_sorted;
	struct str data, bits;
	sqlite3_stmt *insert;
	struct sample_sorter sorter;
};

#endif
