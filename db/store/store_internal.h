/*
 * store_internal - what store.c (queue and thread) and store_write.c (SQLite) share. A job is one
 * call of the loop, with its arguments copied; jobs are applied in order, many to a transaction.
 */
#ifndef RW_DB_STORE_INTERNAL_H
#define RW_DB_STORE_INTERNAL_H

#include <sqlite3.h>
#include "db/sqlite/schema.h"
#include "db/store/store.h"

enum job_kind {
	JOB_ENTITIES,
	JOB_TEXTS,
	JOB_SAMPLES,
	JOB_FLOWS,
	JOB_FABRIC,
	JOB_TARGET,
	JOB_TARGET_GONE,
	JOB_DEVICE,
	JOB_PORT,
	JOB_INCIDENT,
	JOB_EVENT,
	JOB_DEVICE_EVENT,
	JOB_FINDING,
	JOB_HEALTH,
	JOB_RECOMMENDATION,
	JOB_KINDS
};

#define JOB_STRINGS 11
struct job_name { /* a new entity or text; the strings live as long as struct entities */
	uint32_t id;
	const char *device, *port;
	int16_t priority;
	struct place place;
};
struct job_health { /* the texts lie behind the array, in the same block */
	const char *key, *unit;
	double value;
};
struct job {
	struct job *next;
	enum job_kind kind;
	size_t n; /* samples, flows, names or values of health */
	union {
		struct sample *samples;
		struct flow_sample *flows;
		struct job_name *names;
		struct job_health *health;
	};
	/* The small ones: strings are owned copies (NULL stays NULL), numbers by position; each
	 * kind's order is in store_write.c. */
	char *s[JOB_STRINGS];
	int64_t i[8];
	double d[3];
};

/* ---- store_write.c: one connection; used by one thread at a time --------- */

struct store_writer;
/* Opens, migrates, prepares, loads entities and texts. @entities is only touched here. */
int writer_open(const struct store_options *options, struct entities *entities,
	struct store_writer **ret, struct err *e);
void writer_close(struct store_writer *writer); /* checkpoints what it can */
int writer_begin(struct store_writer *writer); /* these return a SQLite result code */
int writer_apply(struct store_writer *writer, const struct job *job);
/* The samples of several jobs at once, so that one instant's values land in one row even when they
 * came apart. */
int writer_samples(struct store_writer *writer, const struct sample *samples, size_t n);
int writer_commit(struct store_writer *writer);
void writer_rollback(struct store_writer *writer);
sqlite3 *writer_db(struct store_writer *writer);
void writer_interrupt(struct store_writer *writer); /* any thread */
/* Outside a transaction. writer_checkpoint: keeps the WAL short; returns pages still in it. */
int writer_checkpoint(struct store_writer *writer, bool *ret_held);
/* writer_retain - delete one chunk of what retention says is too old. true = there is more. */
bool writer_retain(struct store_writer *writer, int64_t now_ns);
int writer_wal_pages(const struct store_writer *writer);

/* ---- store_lock.c -------------------------------------------------------- */
int store_lock(const char *path, int *ret_fd, struct err *e);
void store_unlock(int fd);

#endif
