/*
 * series_track - the kept samples of one series that is not in step with the others of its column,
 * as small as they can be lent without a copy; for series_column only. One thread.
 *
 * Where each port has instants of its own (gNMI), tracks are many, and alike: the series of one
 * port share their instants, no sample has a window of its own, all have the same flags but
 * perhaps the first, and most counters of an idle queue never move. Such a track is lean: its
 * instants are those of a clock that it shares with the other series of its device, its flags are a
 * pattern that all tracks share, and it has a block of values only if they differ. Anything else
 * makes it wide: a block with a column for each part of a sample. A wide track becomes lean again
 * when the samples that made it wide are gone.
 */
#pragma once

#include "base/base.h"

#include "db/model/metric.h"

struct track {
	unsigned char *block; /* lean: .cap values, NULL when all are .last; wide: all columns */
	uint64_t last; /* the newest value */
	uint32_t entity; /* ENTITY_NONE: its place is free */
	uint32_t clock; /* TRACK_WIDE: none */
	uint32_t end; /* lean: the clock's number of the instant behind the newest sample */
	uint32_t head, n, cap; /* samples are [head, n) of the block */
	uint16_t metric;
	uint16_t same; /* so many of the newest values are equal; stops at the largest number */
	uint8_t flags_first, flags; /* lean: of the first kept sample, of all others */
};
#define TRACK_WIDE UINT32_MAX

/* The samples of a track as columns; lent until the next change. */
struct track_run {
	const int64_t *t_ns;
	const uint64_t *value; /* NULL: all are .same */
	const uint16_t *flags;
	const uint32_t *window_ms;
	uint64_t same;
	uint32_t n;
	bool flat; /* no flag is set, and all values are .same */
};

struct track_clocks;
struct track_clocks *track_clocks_new(void);
void track_clocks_free(struct track_clocks *clocks); /* NULL is fine */

/* track_run_of - all kept samples. track_newest - the time of the newest; INT64_MIN: none is kept.
 */
struct track_run track_run_of(struct track_clocks *clocks, const struct track *track);
int64_t track_newest(const struct track_clocks *clocks, const struct track *track);
/* track_add - one sample newer than the newest. @device: whose series it is; series of one device
 * may share a clock. */
void track_add(struct track_clocks *clocks, struct track *track, uint32_t device,
	const struct sample *sample);
/* track_trim - forgets samples at or before @edge_ns, but keeps the newest of those: the anchor of
 * a window that begins there. */
void track_trim(struct track_clocks *clocks, struct track *track, uint32_t device, int64_t edge_ns);
/* track_rewind - forgets what is newer than @t_ns. */
void track_rewind(struct track_clocks *clocks, struct track *track, int64_t t_ns);
void track_drop(struct track_clocks *clocks, struct track *track); /* all samples */
/* After all tracks were trimmed to @edge_ns or later, or rewound to @t_ns: their clocks too. */
void track_clocks_trim(struct track_clocks *clocks, int64_t edge_ns);
void track_clocks_rewind(struct track_clocks *clocks, int64_t t_ns);
