/*
 * store_write - the writer's connection and state, shared by the files that write: store_open.c
 * (opening, closing), store_write.c (transactions), store_tail.c (samples), store_seal.c (blocks),
 * store_rows.c (records), store_retain.c (retention).
 *
 * One thread at a time. Functions return a SQLite result code, unless they take a struct err.
 */
#pragma once

#include <sqlite3.h>
#include "base/base.h"
#include <sys/types.h>
#include "base/log.h"
#include "db/block/block_codec.h"
#include "db/block/rollup_codec.h"
#include "db/model/metric.h"
#include "db/sqlite/schema/schema.h"
#include "db/sqlite/schema/store_lock.h"
#include "db/store/store_backend.h"

struct store_writer;

/*
 * retain_state - where the retention of a writer stands: the pass under way, its cutoffs, what must
 * stay, and how the quota is kept. For the files of db/sqlite/retain.
 */

#define RETAIN_PINS 4096

struct retain_pin { /* a range of time that retention leaves alone */
	int64_t from_ns, to_ns;
};

/* How long a table is kept: as one of the tiers of samples, as events, as incidents, or as long as
 * raw samples, events and so on that refer to it. The first ones are enum store_tier. */
enum retain_span {
	RETAIN_RAW = STORE_RAW,
	RETAIN_MINUTES = STORE_MINUTE,
	RETAIN_HOURS = STORE_HOUR,
	RETAIN_EVENTS,
	RETAIN_INCIDENTS,
	RETAIN_CONFIG, /* raw samples and events refer to it */
	RETAIN_NAMES, /* every tier of samples refers to it */
	RETAIN_SPANS
};

/* What the quota shortens together. The first ones are enum store_tier. */
enum retain_group { RETAIN_RECORDS = STORE_TIERS, RETAIN_GROUPS };

struct retain_list {
	const char *table, *time; /* rows go in order of this column */
	const char *may; /* SQL: this row "r" may go; NULL: each may. ?3 = the cutoff */
	enum retain_span span;
	bool pinned; /* ranges that something open rests on stay */
	int chunk; /* rows of one transaction */
};
#define RETAIN_LISTS 11

/* The steps of a pass, in their order: tiers of samples, lists, names. */
enum {
	RETAIN_STEP_LISTS = STORE_TIERS,
	RETAIN_STEP_NAMES = RETAIN_STEP_LISTS + RETAIN_LISTS,
	RETAIN_STEP_END
};

/* The blocks of one device in one tier: none that may go ends before. */
struct retain_front {
	int64_t device;
	int64_t due_ns; /* of all of them */
	/* Without configuration states: the newest of each stays however old, and says nothing of
	 * how far samples reach back. */
	int64_t oldest_ns;
};

/* What is known of the blocks of one tier. All blocks of a device end at about the same time, so a
 * pass looks only at devices whose oldest block is due: then one seek for each block that goes. */
struct retain_tier {
	sqlite3_stmt *device, *metric, *blocks, *erase;
	struct retain_front *fronts; /* by device, ascending */
	size_t n_fronts, cap_fronts;
	bool known; /* .fronts has all devices, as of */
	int64_t known_at_ns; /* monotonic */
};

/* Where the step of a tier goes on. */
struct retain_place {
	int64_t device, metric, from_ns;
	bool in_device;
	int64_t cutoff_ns; /* of .device */
	int64_t due_ns, oldest_ns; /* of .device so far */
	size_t front; /* the next one to look at */
};

struct retain {
	bool running; /* a pass is under way */
	bool shrinking; /* pages are being given back */
	unsigned step;
	int64_t from_ns; /* the step goes on from here */
	int64_t cutoff_ns[RETAIN_SPANS]; /* what is older goes; INT64_MIN: nothing */
	struct retain_pin *pins; /* in order, apart from each other */
	size_t n_pins;
	sqlite3_stmt *edge[RETAIN_LISTS], *rows[RETAIN_LISTS];

	struct retain_tier tiers[STORE_TIERS];
	struct retain_place place;
	int64_t *states; /* the file's numbers of configuration states (cfg.*), ascending */
	size_t n_states, cap_states;
	sqlite3_stmt *carry, *named;
	sqlite3_stmt *due; /* hours that are still to be made of raw samples */

	/* the quota took what is older, as far as it may go; INT64_MIN: it took nothing */
	int64_t taken_ns[RETAIN_GROUPS];
	int64_t quota_ns[STORE_TIERS]; /* the newest cutoff that the quota made; 0: none */
	bool stuck; /* the last pass found nothing to take */
	struct store_usage usage; /* counted when it was stuck first */
};

/* ---- retain_blocks.c ---- */

/* retain_pins_load - what must stay, however old. SQLite's code: without an answer nothing may be
 * deleted. */
int retain_pins_load(struct store_writer *writer);
/* retain_pinned - does [@from_ns, @to_ns] touch a range that must stay? */
bool retain_pinned(const struct retain *retain, int64_t from_ns, int64_t to_ns);
/* retain_free_range - the first range without a pin that begins at @from_ns or later and ends at
 * @until_ns or earlier: [*ret_from_ns, *ret_until_ns). False: there is none. */
bool retain_free_range(const struct retain *retain, int64_t from_ns, int64_t until_ns,
	int64_t *ret_from_ns, int64_t *ret_until_ns);

/* ---- retain_blocks.c: all in the transaction of a chunk; SQLite's codes ---- */

/* retain_blocks_begin - of a pass. */
int retain_blocks_begin(struct store_writer *writer);
/* retain_blocks - deletes one chunk of the blocks of @tier that ended before its cutoff. *ret_more:
 * the tier is not through. */
int retain_blocks(struct store_writer *writer, enum store_tier tier, bool *ret_more);
/* retain_blocks_oldest - when the oldest block of @tier ends that may go; INT64_MAX: there is none.
 * False: not known before a first pass. */
bool retain_blocks_oldest(const struct retain *retain, enum store_tier tier, int64_t *ret_ns);
/* retain_blocks_forget - after a rollback: nothing is known of the blocks. */
void retain_blocks_forget(struct retain *retain);
/* retain_blocks_close - ends the statements, forgets what is known of the file. */
void retain_blocks_close(struct retain *retain);
void retain_blocks_free(struct retain *retain);

/*
 * sample_sort - samples of one metric into the order of a block: by entity, then time, each pair
 * once. Of equal pairs the one that came first stays. Pure.
 */

struct sample_sorter { /* room that is used again; all zero before the first call */
	struct block_sample *room;
	uint32_t *counts;
	size_t cap;
};
void sample_sorter_done(struct sample_sorter *sorter);

/* sample_sort - sorts @v and returns how many are left. Linear where the input is sorted or where
 * entity numbers lie within 2^22 of each other, as those of one device do. */
size_t sample_sort(struct sample_sorter *sorter, struct block_sample *v, size_t n);

/* sample_sort_slices - the same, but by slice of @slice_ns first: slice k is (k * slice_ns,
 * (k + 1) * slice_ns]. */
size_t sample_sort_slices(
	struct sample_sorter *sorter, struct block_sample *v, size_t n, int64_t slice_ns);

/* sample_slice - the number of the slice that @t_ns lies in. */
static inline int64_t sample_slice(int64_t t_ns, int64_t slice_ns)
{
	int64_t k = t_ns / slice_ns;

	if (t_ns % slice_ns <= 0)
		k--;
	return k;
}

/*
 * rollup_state - where the making of minutes and hours stands (store_rollup.c): the device and hour
 * at hand, and room that is used again.
 */

enum {
	ROLLUP_NOTE,
	ROLLUP_DUE,
	ROLLUP_METRIC,
	ROLLUP_BEFORE,
	ROLLUP_WITHIN,
	ROLLUP_MINUTE_N,
	ROLLUP_MINUTE_PUT,
	ROLLUP_HOUR_GET,
	ROLLUP_HOUR_PUT,
	ROLLUP_FORGET,
	ROLLUP_STATEMENTS
};

struct rollup_state {
	sqlite3_stmt *st[ROLLUP_STATEMENTS];
	bool running; /* .device and the hour from .hour_ns on are at hand */
	bool again; /* they were sealed again meanwhile */
	int64_t device, hour_ns;
	int64_t metric; /* the last one that was made; they come in ascending order */
	bool rates; /* of that metric: a counter, whose numbers are rates */
	bool found; /* the last look at the table found an hour to be made */
	int64_t looked_ns; /* when that was */
	/* the newest hour and device of which a block was damaged, and how many there were */
	int64_t damaged_device, damaged_ns;
	uint64_t n_damaged;
	struct block_sample *v;
	size_t n, cap;
	struct sample_sorter sorter;
	struct rollup_piece { /* a block of the hour */
		void *data;
		struct block_reader block;
		uint32_t n; /* instants, as block_instants_max() */
	} * pieces;
	size_t n_pieces, cap_pieces;
	uint64_t *columns; /* of all pieces, then instants and entities */
	size_t cap_columns;
	struct rollup_made made;
	struct str row;
};

/*
 * seal_state - where the sealing of tail rows into blocks stands: what lies in the tail of each
 * device, and the device that is being sealed. For store_tail.c and
 * store_seal.c.
 *
 * A job reads the tail rows of one device, makes its blocks in memory, metric by metric, in as many
 * steps as its time allows, and then puts them into the file and takes the tail rows away, in one
 * transaction. Commits of samples may come between the steps. When the file is not as the job found
 * it, the job is dropped and begins anew later.
 */

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
	struct tail_grid grid; /* the same where the rows lie side by side */
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

/* How long it waits for a lock that another tool holds: then the samples wait in memory, and people
 * are told. */
#define WRITER_BUSY_MS 1000
#define WRITER_METRIC_WORDS ((METRIC_COUNT + 63) / 64)
#define WRITER_RECORD_COLUMNS 24 /* more than any record has */

/* What the writer knows of an entity. Its number in the file is found by its names when it is first
 * needed (store_names.c). */
struct writer_entity {
	uint64_t bits[WRITER_METRIC_WORDS]; /* which metrics table series has */
	const char *device, *port; /* live until entities_reclaim(); NULL: no such entity */
	int64_t file_id; /* 0 = not looked up yet */
	int priority;
	/* ids: what its samples count for; the port of a priority, else its own */
	uint32_t port_id, device_id;
	/* of a device: its place in the call of writer_samples() number .tail_turn, and how many
	 * series it has as far as this run knows */
	uint64_t tail_turn;
	uint32_t tail_at, n_series;
};
struct writer_text {
	const char *text;
	int64_t file_id; /* 0 = not looked up yet */
};
enum {
	NAME_FIND,
	NAME_ADD,
	NAME_BACK,
	NAME_GONE,
	NAME_SERIES,
	NAME_TEXT_FIND,
	NAME_TEXT_ADD,
	NAME_TEXT_USED,
	NAME_STATEMENTS
};
struct new_series {
	uint32_t entity;
	uint16_t metric;
};
struct writer_record { /* the statement of one kind of record, prepared when first needed */
	sqlite3_stmt *st;
	uint8_t parameter[WRITER_RECORD_COLUMNS]; /* of each of record_columns() */
};

/* Tables whose rows have no key but a number: written twice, they would be there twice. */
enum { COUNTED_EVENT, COUNTED_FINDING, COUNTED_FLOW, COUNTED_TAIL, WRITER_COUNTED };

struct store_writer {
	struct store_options o;
	sqlite3 *db;
	int lock_fd, inode_fd; /* see store_lock.h; -1 = not held */
	dev_t file_device; /* which file .db has open */
	ino_t file_inode;
	int failed; /* transactions in a row */
	int locked, copy_locked; /* the same and checkpoints, of which a lock was in the way */
	int last_rc; /* of the newest operation that failed */
	/* the newest row of each counted table, as of the newest commit */
	int64_t newest_id[WRITER_COUNTED];
	bool unsure; /* a COMMIT failed: it may have reached the disk all the same */

	struct writer_entity *entities; /* by id */
	size_t n_entities;
	struct writer_text *texts; /* by id */
	size_t n_texts;
	/* looked up in the open transaction: of entities, and of texts */
	uint32_t *new_ids, *new_texts;
	size_t n_new_ids, cap_new_ids, n_new_texts, cap_new_texts;
	bool names_changed; /* in the open transaction */
	bool names_aged, names_aged_now; /* those of the last run are marked as gone; just now */
	int64_t names_swept_ns; /* attributes of the past were deleted then */
	int64_t retain_gone_ns, retain_gone_id; /* retention of names goes on behind this one */
	sqlite3_stmt *names[NAME_STATEMENTS];
	struct new_series *new_series; /* in the open transaction */
	size_t n_new_series, cap_new_series;
	sqlite3_stmt *series, *series_count;
	struct tail_state tail;
	struct seal seal;
	struct rollup_state rollup;

	struct writer_record records[RECORD_KINDS];
	sqlite3_stmt *old_health;
	sqlite3_stmt *count[WRITER_COUNTED];

	/* what other systems get, of the open transaction; store_spool.c */
	struct {
		struct str bytes, seed;
		size_t n_samples, n_rows; /* in .bytes */
		sqlite3_stmt *insert;
		bool ready; /* its table is there, and .held is known */
		uint64_t held, held_committed; /* bytes in the table */
	} spool;

	int wal_pages;
	/* monotonic: the log is not made to begin anew before; and the pause after a failure */
	int64_t restart_after_ns, restart_rest_ns;
	struct complaint wal_held; /* a reader keeps the write-ahead log from being emptied */

	struct retain retain;
};

/* writer_open - locks, opens, migrates and prepares. 0 or negative errno. store_open.c */
int writer_open(const struct store_options *options, struct store_writer **ret, struct err *e);
void writer_close(struct store_writer *writer); /* NULL is fine */

/* writer_open_file - the part of writer_open() without the lock. */
int writer_open_file(struct store_writer *writer, const char *path, struct err *e);
/* writer_close_file - ends all statements and closes the file; the rest of @writer stays. */
void writer_close_file(struct store_writer *writer);

/* store_file.c */
/* writer_place - is the file that is written, or was when it was open, the one at its path? 0,
 * -EEXIST: another one is there, -ENOENT: none is; other negative errno. */
int writer_place(const struct store_writer *writer);
/* writer_save - the whole content of the open file as @copy, which is not there before it is whole.
 * 0 or negative errno. */
int writer_save(struct store_writer *writer, const char *copy, struct err *e);
/* writer_rescue_last - before the file is closed for good: if it was deleted or replaced, what it
 * held is saved beside it. The next start finds that, if there is no other file. */
void writer_rescue_last(struct store_writer *writer);
/* writer_find_rescued - when @path is not there, and a whole copy of it is because an agent ended
 * in the middle of a rescue, the copy takes its place. Before the file is opened, with the lock. 0
 * or negative errno. */
int writer_find_rescued(const char *path, struct err *e);
/* writer_remove_log - the log of a deleted file at @path must not be read into a new one. */
void writer_remove_log(const char *path);
int writer_sync_directory(const char *path); /* of the file @path */

/*
 * writer_rescue - outside a transaction: is the file that is written still the one at its path?
 *
 * When somebody has deleted it, its content is still there as long as it is open: it is written to
 * a new file at the same path, and writing goes on there. 0: nothing to do; 1: rescued.
 * -EEXIST: another file stands at the path: it is left alone, and writing goes on in the file that
 * has no name any more. Other negative errno: the rescue failed and is tried after the next commit;
 * until it succeeds the deleted file stays open. store_rescue.c
 */
int writer_rescue(struct store_writer *writer, struct err *e);

/* writer_set_aside - a closed file that cannot be read because it is damaged (@e says how) is
 * renamed, when it is surely ours, an agent writes it and the store allows it: STORE_SET_ASIDE with
 * @e saying so. -EBADMSG when not;
 * @e then stays, or says why. store_damaged.c */
int writer_set_aside(struct store_writer *writer, struct err *e);

/* writer_suspect - after a transaction that ended with @rc: when several in a row failed by
 * anything but want of room or memory, the connection is closed, and the next transaction opens
 * another. A file that has no name any more is not closed: that would be its end. */
void writer_suspect(struct store_writer *writer, int rc);
/* writer_suspect_lock - a lock was in the way so many @times in a row. After some, when no other
 * process holds one, it is this connection's own: its release failed, and SQLite from 3.42 on finds
 * it in the way until the connection is closed. */
void writer_suspect_lock(struct store_writer *writer, int *times);
/* writer_reopen - a closed file is opened again, and the log says so. 0, also when it was open;
 * -EEXIST: another file stands in its place; other negative errno. */
int writer_reopen(struct store_writer *writer, struct err *e);

/* store_write.c */
/* writer_counts - reads .newest_id. */
int writer_counts(struct store_writer *writer);
/* After a COMMIT that failed, the next transaction deletes what it may have left of the counted
 * tables: the caller writes all of it again. */
int writer_begin(struct store_writer *writer);
int writer_commit(struct store_writer *writer);
void writer_rollback(struct store_writer *writer);
/* writer_samples - the samples of a whole transaction, as tail rows. store_tail.c */
int writer_samples(struct store_writer *writer, const struct sample *samples, size_t n);
/* store_file.c */
/* writer_checkpoint - outside a transaction: copies a long write-ahead log into the file. SQLite's
 * code: an error means that the file could not be written or synced, and that the log grows. */
int writer_checkpoint(struct store_writer *writer);

/*
 * Names: ids in memory are given anew in each run and to new names when old ones are released; ids
 * in the file stay with a name as long as anything refers to it, and are never given twice. All of
 * these inside a transaction. store_names.c
 */
/* writer_note_names - these ids mean these names from now on. */
void writer_note_names(struct store_writer *writer, const struct record_entity *names, size_t n);
void writer_note_texts(struct store_writer *writer, const struct record_text *texts, size_t n);
/* writer_name - .file_id of the entity is known afterwards: looked up, or added as one that has had
 * samples since @t_ns. SQLITE_NOTFOUND: there is no such entity. */
int writer_name_find(struct store_writer *writer, uint32_t id, int64_t t_ns);
static inline int writer_name(struct store_writer *writer, uint32_t id, int64_t t_ns)
{
	if (id < writer->n_entities && writer->entities[id].file_id)
		return SQLITE_OK;
	return writer_name_find(writer, id, t_ns);
}
/* writer_text - the number of a text in the file; 0 for an id that means no text. */
int writer_text(struct store_writer *writer, uint64_t id, int64_t *ret);
/* writer_names_gone - the agent has released these at @t_ns. */
int writer_names_gone(struct store_writer *writer, const uint32_t *ids, size_t n, int64_t t_ns);
/* writer_names_commit - before the commit; writer_names_rollback - after a rollback;
 * writer_names_unresolve - when another file was opened: all are looked up again. */
int writer_names_commit(struct store_writer *writer);
void writer_names_rollback(struct store_writer *writer);
void writer_names_unresolve(struct store_writer *writer);

/* store_rows.c */
int writer_record(struct store_writer *writer, const struct store_record *record);

/* writer_retain - deletes one chunk of what retention or quota says is too old, in a transaction of
 * its own, which the caller rolls back after an error. SQLite's code. store_retain.c */
int writer_retain(struct store_writer *writer, int64_t now_ns, bool *ret_more);

/* writer_usage - how much is used; counts the tables when the quota cannot be kept, once. */
int writer_usage(struct store_writer *writer, struct store_usage *ret);

/*
 * The spool of db/store/spool.h: a table whose rows are what was committed, in order. Nothing
 * happens unless the options ask for it. In a transaction: begin makes the table, with what a new
 * receiver has to know of before; samples and record note what comes, commit writes that. Outside
 * of one: trim deletes what all sinks have, and the oldest rows beyond the bound, and says so in
 * the log. SQLite's codes. store_spool.c
 */
int writer_spool_begin(struct store_writer *writer);
int writer_spool_samples(struct store_writer *writer, const struct sample *samples, size_t n);
int writer_spool_record(struct store_writer *writer, const struct store_record *record);
int writer_spool_commit(struct store_writer *writer);
void writer_spool_committed(struct store_writer *writer);
void writer_spool_rollback(struct store_writer *writer);
int writer_spool_trim(struct store_writer *writer, bool *ret_more);
void writer_spool_close(struct store_writer *writer);

/* store_tail.c */
/* writer_metric_numbers - which numbers the metrics have in the file. writer_metric_of - the metric
 * of a number; -1: this program does not know it. */
int writer_metric_numbers(struct store_writer *writer);
int writer_metric_of(const struct store_writer *writer, int64_t number);
void writer_tail_done(struct store_writer *writer);

/*
 * writer_compact - outside of a transaction: makes blocks of what lies in the tail, and minutes
 * and hours of blocks, for about @budget_ns; *ret_more: there is more to do. @now_ns: the wall
 * clock; INT64_MAX: everything is sealed, whatever its time (a replay's end). In a replay any other
 * time stands for that of the newest sample. After an error the rows are as before. SQLite's code.
 * store_seal.c
 */
int writer_compact(struct store_writer *writer, int64_t now_ns, int64_t budget_ns, bool *ret_more);
/* writer_seal_reset - tail or blocks were changed by somebody else than writer_compact() and
 * writer_samples(): what is known of them is read anew. */
void writer_seal_reset(struct store_writer *writer);
/* writer_seal_damaged - how many devices have rows that cannot be sealed because they are damaged
 */
uint64_t writer_seal_damaged(const struct store_writer *writer);
void writer_seal_close(struct store_writer *writer); /* before the file is closed */
void writer_seal_done(struct store_writer *writer);
/* What a transaction adds to the tail: noted, and known after its commit. */
void seal_note(struct store_writer *writer, const struct tail_put *put);
void seal_commit(struct store_writer *writer);
void seal_rollback(struct store_writer *writer);
/* seal_load - reads what the tail has, unless that is known. seal_device_of - a device of it. */
int seal_load(struct store_writer *writer);
struct seal_device *seal_device_of(struct seal *seal, int64_t device);

/*
 * Minutes and hours (store_rollup.c). writer_rollup_note - inside a seal's transaction: blocks of
 * @device (its number) now hold other samples from @from_ns to @to_ns. writer_rollup_late - inside
 * a transaction: samples later than @t_ns were marked as late. writer_rollup_step - outside of one:
 * one metric of one hour that is over at @now_ns; *ret_more: false when there is none.
 */
int writer_rollup_note(struct store_writer *writer, int64_t device, int64_t from_ns, int64_t to_ns);
int writer_rollup_late(struct store_writer *writer, int64_t t_ns);
int writer_rollup_step(struct store_writer *writer, int64_t now_ns, bool *ret_more);
void writer_rollup_close(struct store_writer *writer); /* before the file is closed */
void writer_rollup_done(struct store_writer *writer);

/* writer_newest - the time of the newest stored sample; 0: there is none. store_names.c */
int writer_newest(struct store_writer *writer, int64_t *ret);

/* writer_late - inside a transaction: all samples later than @t_ns get SF_LATE. store_tail.c */
int writer_late(struct store_writer *writer, int64_t t_ns);

/* writer_tail_bits - which metrics a row has: bit n of the text for metric number n. */
void writer_tail_bits(const struct tail_segment *parts, size_t n, struct str *ret);
