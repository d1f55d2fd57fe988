/*
 * series_column - the kept samples of one metric of one device, at one priority of its ports: a
 * lane for each port; for series_memory only. One thread.
 *
 * One poll brings all lanes of a column at one instant with the same flags, and most of them do not
 * move. Such lanes are in step: the column has their instants and flags once, and a lane has its
 * newest value, two bits, a byte of marks, and a row of values only if it moved. A lane that misses
 * an instant, comes at another one or with other flags is odd: it has a track of its own. It comes
 * back into step when what made it odd is forgotten. Which lanes are odd is nothing that a reader
 * of samples can see.
 */
#pragma once

#include "base/base.h"

#include "db/model/metric.h"
#include "db/series/series_track.h"

struct column {
	uint64_t *now; /* by lane: the newest value; the bits and marks are in the same piece */
	uint64_t *in_step, *came; /* bits; .came: has a sample at the newest instant */
	uint8_t *mark; /* by lane: what the owner keeps of it; COLUMN_NO_LANE: nothing yet */
	int64_t *said; /* by lane: the owner's; NULL: column_newest() of all */
	uint32_t *odd; /* by lane: its track + 1, 0 none; NULL: none is odd */
	int64_t *t_ns; /* instants [head, n), each later than the one before */
	uint16_t *flags; /* of the samples at each */
	uint64_t *values; /* a row of .cap values for each lane that moved */
	uint32_t *row_of, *lane_of; /* by lane: its row + 1; by row: its lane. NULL: none moved */
	uint32_t head, n, cap;
	uint32_t lanes; /* room */
	uint32_t n_in_step, n_came, n_odd, n_rows, cap_rows;
	uint32_t device; /* number at the owner; UINT32_MAX: the place is free */
	uint32_t device_name; /* its entity: odd lanes of a device share clocks */
	uint32_t follow; /* the column that was asked for after this one last time */
	uint16_t metric;
	uint16_t slot; /* priority + 1 */
};
#define COLUMN_NO_LANE UINT8_MAX

/* What all columns share: the tracks of odd lanes. */
struct column_pool;
struct column_pool *column_pool_new(void);
void column_pool_free(struct column_pool *pool); /* NULL is fine; after its columns */

/* column_widen - room for lane @lane. column_done - frees all but the struct. */
void column_widen(struct column *column, uint32_t lane);
void column_done(struct column_pool *pool, struct column *column);

static inline bool column_bit(const uint64_t *bits, uint32_t lane)
{
	return bits[lane / 64] >> lane % 64 & 1;
}

/* column_add - -EALREADY: late, or not newer than the newest of its lane. */
int column_add(struct column_pool *pool, struct column *column, uint32_t lane,
	const struct sample *sample);
/* column_newest - when the newest sample of @lane was; INT64_MIN: none is kept. column_value - its
 * value; 0: none. */
int64_t column_newest(const struct column_pool *pool, const struct column *column, uint32_t lane);
uint64_t column_value(const struct column_pool *pool, const struct column *column, uint32_t lane);
/* column_trim - forgets samples at or before @edge_ns, but keeps the newest of those of each lane:
 * the anchor of a window that begins there. column_rewind - forgets what is newer than @t_ns.
 * column_drop - forgets all of @lane. */
void column_trim(struct column_pool *pool, struct column *column, int64_t edge_ns);
void column_rewind(struct column_pool *pool, struct column *column, int64_t t_ns);
void column_drop(struct column_pool *pool, struct column *column, uint32_t lane);
/* After all columns were trimmed to @edge_ns or later, or rewound to @t_ns. */
void column_pool_trim(struct column_pool *pool, int64_t edge_ns);
void column_pool_rewind(struct column_pool *pool, int64_t t_ns);

/* column_run - all kept samples of @lane; lent until the next change. */
struct track_run column_run(struct column_pool *pool, const struct column *column, uint32_t lane);

/* The part of the instants that a window has: [begin, end), with the one at or before it. */
struct column_cut {
	uint32_t begin, end;
	bool plain; /* no flag is set in it */
};
/* column_cut - of the lanes in step that came at the newest instant, or did not (@came). */
struct column_cut column_cut(
	const struct column *column, bool came, int64_t from_ns, int64_t to_ns);
/* column_values - the row of @lane, which is in step; NULL: all its values are .now. */
static inline const uint64_t *column_values(const struct column *column, uint32_t lane)
{
	if (!column->row_of || column->row_of[lane] == 0)
		return NULL;
	return column->values + (size_t)(column->row_of[lane] - 1) * column->cap;
}
/* column_zeros - as many zeros as the longest column has instants, or more (@ret_n); lent until the
 * next change. */
const uint64_t *column_zeros(const struct column_pool *pool, uint32_t *ret_n);
