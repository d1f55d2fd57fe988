/*
 * tally - what the series of one metric of one device were in a range, or in each step of it, added
 * up from the columns of its blocks and tail rows: no sample is sorted or looked up alone. The
 * rules are those of rollup_track_add(), and so is the answer. As blocks.h: in a transaction, by
 * the file's numbers, SQLite result codes. One thread.
 */
#pragma once

#include "db/series/history.h"
#include "db/sqlite/read/blocks.h"

struct tally;

struct tally_ask {
	unsigned metric;
	int64_t from_ns, to_ns; /* (from, to], within the range of blocks_device() */
	int64_t step_ns; /* 0: the range is one step */
	bool no_quantiles; /* they stay NAN; most of the work */
	/* only these, ascending; NULL = all */
	const int64_t *entities;
	size_t n_entities;
	bool (*known)(void *arg, int64_t entity); /* as in struct gather_want */
	/* What the caller calls an entity, which .entity of its rollups says; ENTITY_NONE: it is
	 * not wanted. SQLite's code. */
	int (*name)(void *arg, int64_t entity, uint32_t *ret);
	/* What a number of table `text` is for the caller; NULL = itself. */
	uint64_t (*text)(void *arg, uint64_t number);
	/* A step of a series that has samples; of one series in order of time. Not 0: no more. */
	rollup_sketch_fn *take;
	void *arg;
};

struct tally *tally_new(struct blocks *blocks);
void tally_free(struct tally *tally); /* NULL is fine */

/* tally_begin - another metric or device; what @ask points to stays until the end. tally_more -
 * reads the next stretch of time and takes the steps that are over by then. *@ret_more false: that
 * was the last one, and all is taken. */
void tally_begin(struct tally *tally, const struct tally_ask *ask);
int tally_more(struct tally *tally, bool *ret_more);
