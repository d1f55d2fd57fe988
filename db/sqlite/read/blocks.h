/*
 * blocks - samples of a file as its blocks and tail rows hold them (db/block), by the file's own
 * numbers. What windows, slices and the virtual table stand on. All functions run inside the
 * caller's transaction and return a SQLite result code; SQLITE_CORRUPT where a block cannot be
 * decoded. One thread.
 *
 * Two rows may have a value for the same (entity, metric, t_ns): the first that was stored holds.
 * That is the block, then the tail row with the smaller number.
 */
#pragma once

#include <sqlite3.h>
#include "base/base.h"

#include "db/block/block_codec.h"
#include "db/model/metric.h"

enum blocks_statement {
	BLOCKS_METRICS,
	BLOCKS_NEXT_METRIC,
	BLOCKS_BEFORE,
	BLOCKS_AFTER,
	BLOCKS_TAIL_IN,
	BLOCKS_TAIL_BEFORE,
	BLOCKS_TAIL_DATA,
	BLOCKS_TAIL_UP,
	BLOCKS_TAIL_DOWN,
	BLOCKS_TAIL_AFTER,
	BLOCKS_UP,
	BLOCKS_DOWN,
	BLOCKS_ANY,
	BLOCKS_DATA,
	BLOCKS_LAST_OF,
	BLOCKS_FIRST_OF,
	BLOCKS_COUNTS,
	BLOCKS_HAVING,
	BLOCKS_STATEMENTS
};

struct tail_row {
	int64_t id, from_ns, to_ns;
	const uint8_t *metrics; /* which metrics it has, one bit each; NULL = not read yet */
	size_t metrics_size;
	struct tail_reader reader;
	bool loaded;
};
struct tail_rows {
	struct tail_row *v;
	size_t n, cap;
};

struct blocks {
	sqlite3 *db;
	sqlite3_stmt *statements[BLOCKS_STATEMENTS];
	int64_t number[METRIC_COUNT]; /* of a metric in this file; 0 = it has none */
	/* the device at hand (blocks_device()): rows of the tail that reach into the range, by id,
	 * and older ones, newest first */
	int64_t device, from_ns, to_ns;
	bool has_device, has_blocks; /* blocks of whatever metric and time */
	struct arena *tail_arena;
	struct tail_rows inside, older;
	bool older_listed;
	/* how many series of each metric it has, as table series_count says; none before a file's
	 * version SCHEMA_COUNTS: .has_counts, the opener's to set */
	int64_t counts[METRIC_COUNT];
	bool has_counts, counts_read;
	/* names, counts and older rows that were looked at for anchors, since it was made: for
	 * tests, which hold what a reading costs */
	uint64_t looked;
	struct gathering *gathering; /* of blocks_gather(), made when first needed */
	void (*gathering_free)(struct gathering *gathering);
};

struct blocks *blocks_new(sqlite3 *db);
void blocks_free(struct blocks *blocks); /* NULL is fine; before the connection is closed */

/* blocks_prepared - a statement that is kept. Reset by its user. */
int blocks_prepared(struct blocks *blocks, enum blocks_statement which, sqlite3_stmt **ret);

/* blocks_begin - reads the file's numbers of metrics; in each transaction, before anything else. */
int blocks_begin(struct blocks *blocks);

/* blocks_device - what follows is about @device (its number) and [@from_ns, @to_ns]. */
int blocks_device(struct blocks *blocks, int64_t device, int64_t from_ns, int64_t to_ns);
/* blocks_metrics - which metrics the device has blocks of, whatever their time; a seek for each. A
 * file knows many more metrics than one device has. blocks_may_have - may the range of
 * blocks_device() have samples of it? */
int blocks_metrics(struct blocks *blocks, int64_t device, bool has[METRIC_COUNT]);
bool blocks_may_have(const struct blocks *blocks, const bool has[METRIC_COUNT], unsigned metric);
/* blocks_range - the same device, a range within that of blocks_device(). */
void blocks_range(struct blocks *blocks, int64_t from_ns, int64_t to_ns);
/* blocks_older - fills .older, without reading the rows. */
int blocks_older(struct blocks *blocks);
/* blocks_tail_segment - the part of @row that has @number. *@ret_has false: it has none. @like: as
 * block_open_like() takes it. */
int blocks_tail_segment(struct blocks *blocks, struct tail_row *row, int64_t number,
	const struct block_reader *like, struct block_reader *ret, bool *ret_has);

struct gather_want {
	unsigned metric;
	bool anchors; /* and the newest sample of each series before .from_ns of blocks_device() */
	bool late; /* with samples that came too late */
	bool moving; /* series with one value from their anchor on may be left out */
	/* only these, ascending; NULL = all */
	const int64_t *entities;
	size_t n_entities;
	/* Is the entity of interest? NULL = all are. Says when the anchors are complete. */
	bool (*known)(void *arg, int64_t entity);
	void *arg;
};
struct gathered { /* a series; strictly ascending t_ns; lent in the arena, columns may be shared */
	int64_t entity;
	uint32_t n;
	const int64_t *t_ns;
	const uint64_t *value;
	const uint16_t *flags, *source;
	const uint32_t *window_ms;
	bool has_anchor;
	struct block_sample anchor;
};

/*
 * blocks_gather - the samples of one metric of the device and range of blocks_device(), by
 * ascending entity; where anchors are wanted, .t_ns[0] of a series that has one is its anchor and
 * counts in .n. Times and values are in @a.
 */
int blocks_gather(struct blocks *blocks, const struct gather_want *want, struct arena *a,
	struct gathered **ret, size_t *ret_n);
