/*
 * hour - an hour of an agent's life as its store sees it, in simulated time and always the same:
 * samples, flows, findings, incidents, events, targets, health, configurations, new names, a reader
 * that keeps a snapshot, a file that is deleted, checkpoints, retention, a stop and a start. The
 * hour keeps its own record of what it handed over and of what the store said was committed, and
 * compares the file with it, row by row.
 */
#ifndef RW_TESTS_HOUR_H
#define RW_TESTS_HOUR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "base/clock.h"

/* Half past: slices of samples are complete, and sealed, in the middle of the hour. */
#define HOUR_T0 INT64_C(1700001000000000000)
#define HOUR_STEPS 30
#define HOUR_STEP_NS (120 * NS_PER_S)

struct hour;

struct hour_options {
	/* Called every 10 s of simulated time; NULL: nobody. */
	void (*tick)(struct hour *hour, void *arg);
	void *arg;
	bool no_rescue; /* nobody deletes the file */
	/* Another process has ended without warning: its file, and when that was. NULL: a new file.
	 */
	const char *path;
	int64_t now_ns;
};

struct hour *hour_new(const struct hour_options *options);
void hour_free(struct hour *hour); /* removes its files */
void hour_keep(struct hour *hour); /* ends it, and leaves them */
const char *hour_path(const struct hour *hour);

/*
 * hour_live - from the start of the agent to its end. Nothing here stops at a failure: a store that
 * does not open is tried again, and what could not be written before a stop is noted as such.
 */
void hour_live(struct hour *hour);
/* hour_settle - after a fault: everything must be written now. False: it was not. */
bool hour_settle(struct hour *hour);
void hour_close(struct hour *hour);

uint64_t hour_committed(struct hour *hour); /* things, counted in the order they were handed over */
uint64_t hour_handed(const struct hour *hour);

struct hour_check {
	uint64_t lost; /* committed, and not there */
	uint64_t twice; /* there more than once */
	uint64_t wrong; /* there, and not what was handed over, or never handed over */
	bool damaged; /* the integrity check found something, or the file cannot be read */
	uint64_t first_missing; /* the first thing that is not there, counted from 1; 0 = none */
	uint64_t last_present;
	char words[256]; /* about the first fault */
};
/* hour_compare - the file against the record. The first @committed things must be there;
 * none may be there that was not handed over. */
void hour_compare(struct hour *hour, uint64_t committed, struct hour_check *ret);
/* hour_compare_file - the same for the file of a run that ended without warning at @now_ns: its
 * record is that of a whole run of the same hour, as far as it got. */
void hour_compare_file(const struct hour *whole, const char *path, int64_t now_ns,
	uint64_t committed, struct hour_check *ret);
/* hour_content - a number that stands for all rows of the file. */
uint64_t hour_content(struct hour *hour);

/* What the hour saw of the store. */
struct hour_seen {
	uint64_t errors; /* of store_stats: commits and checkpoints that failed */
	uint64_t refused; /* store_open() failed */
	uint64_t unnamed; /* ... with a message that does not name the file */
	uint64_t unsaved; /* things that waited when the store was closed */
	uint64_t log_bytes; /* the longest write-ahead log */
	uint64_t misplaced; /* the store said that its file is not in its place, at the end */
};
struct hour_seen hour_seen(const struct hour *hour);

#endif
