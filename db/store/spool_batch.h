/*
 * spool_batch - rows of the spool as a sink sends them: read, in their order. Pure.
 */
#ifndef RW_DB_SPOOL_BATCH_H
#define RW_DB_SPOOL_BATCH_H

#include "db/store/spool.h"

struct spool_chunk { /* one of the two */
	const struct spool_samples *samples;
	const struct spool_row *row;
};
struct spool_part {
	int64_t seq; /* number of the spool's row */
	const struct spool_chunk *chunks;
	size_t n;
};
struct spool_batch {
	struct spool_part *parts;
	size_t n, cap;
	uint64_t n_samples, n_rows;
};

/* spool_batch_add - one row of the spool, at @data. All is in @a. 0 or -EBADMSG: damaged; nothing
 * of it was added. */
int spool_batch_add(
	struct spool_batch *batch, struct arena *a, int64_t seq, const void *data, size_t n);

#endif
