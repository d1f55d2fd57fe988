/*
 * retain_state - where the retention of a writer stands: the pass under way, its cutoffs, what must
 * stay, and how the quota is kept. For store_retain.c, retain_lists.c and store_quota.c.
 */
#ifndef RW_DB_RETAIN_STATE_H
#define RW_DB_RETAIN_STATE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db/sqlite/schema_column.h"
#include "db/store/store_backend.h"

#define RETAIN_PINS 4096

struct retain_pin { /* a range of time that retention leaves alone */
	int64_t from_ns, to_ns;
};

/* How long a table is kept: as samples, as events, as incidents, or as long as both samples and
 * events. */
enum retain_span { RETAIN_RAW, RETAIN_EVENTS, RETAIN_INCIDENTS, RETAIN_CONFIG, RETAIN_SPANS };

/* What the quota shortens together. */
enum retain_group { RETAIN_SAMPLES, RETAIN_RECORDS, RETAIN_GROUPS };

struct retain_list {
	const char *table, *time; /* rows go in order of this column */
	const char *may; /* SQL: this row "r" may go; NULL: each may. ?3 = the cutoff */
	enum retain_span span;
	bool pinned; /* ranges that something open rests on stay */
	int chunk; /* rows of one transaction */
};
#define RETAIN_LISTS 11
extern const struct retain_list retain_lists[RETAIN_LISTS];

/* The steps of a pass, in their order: samples, lists, instants, names. */
enum {
	RETAIN_STEP_LISTS = 0,
	RETAIN_STEP_INSTANTS = RETAIN_STEP_LISTS + RETAIN_LISTS,
	RETAIN_STEP_NAMES,
	RETAIN_STEP_END
};

struct retain {
	bool running; /* a pass is under way */
	unsigned step;
	int64_t from_ns; /* the step goes on from here */
	int64_t device; /* whose instants are next */
	int64_t cutoff_ns[RETAIN_SPANS]; /* what is older goes; INT64_MIN: nothing */
	struct retain_pin *pins; /* in order, apart from each other */
	size_t n_pins;
	sqlite3_stmt *edge[RETAIN_STEP_INSTANTS], *rows[RETAIN_STEP_INSTANTS];
	sqlite3_stmt *instants;

	/* the quota took what is older, as far as it may go; INT64_MIN: it took nothing */
	int64_t taken_ns[RETAIN_GROUPS];
	bool stuck; /* the last pass found nothing to take */
	struct store_usage usage; /* counted when it was stuck first */
};

#endif
