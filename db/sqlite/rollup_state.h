/*
 * rollup_state - where the making of minutes and hours stands (store_rollup.c): the device and hour
 * at hand, and room that is used again.
 */
#ifndef RW_DB_ROLLUP_STATE_H
#define RW_DB_ROLLUP_STATE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/str.h"
#include "db/block/rollup_make.h"
#include "db/sqlite/sample_sort.h"

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
	struct rollup_list minutes, hours;
	struct str row;
};

#endif
