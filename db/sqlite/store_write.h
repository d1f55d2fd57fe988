/*
 * store_write - the writer's connection and state, shared by the files that write: store_open.c
 * (opening, closing), store_write.c (transactions), store_tail.c (samples), store_seal.c (blocks),
 * store_rows.c (records), store_retain.c (retention).
 *
 * One thread at a time. Functions return a SQLite result code, unless they take a struct err.
 */
#ifndef RW_DB_STORE_WRITE_H
#define RW_DB_STORE_WRITE_H

#include <sys/types.h>

#include "agent/base/log.h"
#include "agent/base/str.h"
#include "db/sqlite/schema.h"
#include "db/sqlite/retain_state.h"
#include "db/sqlite/rollup_state.h"
#include "db/sqlite/seal_state.h"
#include "db/sqlite/store_lock.h"
#include "db/store/store_backend.h"

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
	sqlite3_stmt *series;
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

/* store_save.c */
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
 * anything but want of room, memory or a lock, the connection is closed, and the next transaction
 * opens another. A file that has no name any more is not closed: that would be its end. */
void writer_suspect(struct store_writer *writer, int rc);
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
/* store_checkpoint.c */
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
/* writer_retain_names - deletes one chunk of names that were gone before @cutoff_ns, with all that
 * belongs to them, and attributes that were over by then. store_names_retain.c */
int writer_retain_names(struct store_writer *writer, int64_t cutoff_ns, bool *ret_more);

/* store_rows.c */
int writer_record(struct store_writer *writer, const struct store_record *record);

/* writer_retain - deletes one chunk of what retention or quota says is too old, in a transaction of
 * its own, which the caller rolls back after an error. SQLite's code. store_retain.c */
int writer_retain(struct store_writer *writer, int64_t now_ns, bool *ret_more);

/* The statements of row @list of retain_lists, prepared into *@ret when it is NULL: the edge of a
 * chunk, and the deletion of the rows before it. ?1 from, ?2 until, ?3 cutoff, ?4 rows. SQLite's
 * code. retain_lists.c */
int retain_list_edge(struct store_writer *writer, unsigned list, sqlite3_stmt **ret);
int retain_list_rows(struct store_writer *writer, unsigned list, sqlite3_stmt **ret);

/* Above the quota: what goes beyond retention's own ages, and what cannot go. SQLite's codes.
 * store_quota.c */
int writer_over_quota(struct store_writer *writer, bool *ret);
/* writer_quota_cut - moves the cutoffs of the next pass nearer to @now_ns; *ret_found: false when
 * nothing is left that may go, or, with *ret_known false, when a pass by age has to look first. */
int writer_quota_cut(struct store_writer *writer, int64_t now_ns, bool *ret_found, bool *ret_known);
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
int writer_tail_put(struct store_writer *writer, const struct tail_put *put);
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
/* Parts of a job. seal_make - blocks of .fresh, the samples of one metric (its number). seal_put -
 * inside a transaction: all of them into the file. SEAL_STALE: the file is not as the job found it.
 * store_seal_put.c */
int seal_statement(struct store_writer *writer, unsigned kind, sqlite3_stmt **ret);
int seal_job_known(struct store_writer *writer);
void seal_job_done(struct store_writer *writer);
int seal_make(struct store_writer *writer, int64_t metric);
int seal_put(struct store_writer *writer);

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

/* writer_newest - the time of the newest stored sample; 0: there is none. store_stock.c */
int writer_newest(struct store_writer *writer, int64_t *ret);

/* writer_late - inside a transaction: all samples later than @t_ns get SF_LATE. store_late.c */
int writer_late(struct store_writer *writer, int64_t t_ns);

/* writer_tail_bits - which metrics a row has: bit n of the text for metric number n. */
void writer_tail_bits(const struct tail_segment *parts, size_t n, struct str *ret);

#endif
