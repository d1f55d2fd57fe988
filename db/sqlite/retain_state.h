/*
 * retain_state - where the retention of a writer stands: the pass under way, its cutoffs, what must
 * stay, and how the quota is kept. For the files retain_*.c, store_retain.c and store_quota.c.
 */
#ifndef RW_DB_RETAIN_STATE_H
#define RW_DB_RETAIN_STATE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "db/store/store_backend.h"

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
extern const struct retain_list retain_lists[RETAIN_LISTS];

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
	sqlite3_stmt *carry, *named; /* retain_carry.c */
	sqlite3_stmt *due; /* hours that are still to be made of raw samples */

	/* the quota took what is older, as far as it may go; INT64_MIN: it took nothing */
	int64_t taken_ns[RETAIN_GROUPS];
	int64_t quota_ns[STORE_TIERS]; /* the newest cutoff that the quota made; 0: none */
	bool stuck; /* the last pass found nothing to take */
	struct store_usage usage; /* counted when it was stuck first */
};

struct store_writer;

/* ---- retain_pins.c ---- */

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

#endif
