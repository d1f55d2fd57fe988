/*
 * spool_read - the rows of a store's spool, for whoever sends them on. Any thread; the writer goes
 * on meanwhile.
 */
#pragma once

#include "base/base.h"

struct spool_part_row { /* one row of the spool: its number, when it was committed, its bytes */
	int64_t id, t_ns;
	const void *data;
	size_t n;
	uint64_t samples; /* in it */
};

/* What is to be read: rows after .after, up to .until (0 = no end), until one of the bounds is
 * passed: .samples, .bytes. At least one row, if there is one. */
struct spool_ask {
	const char *path;
	int64_t after, until;
	uint64_t samples;
	size_t bytes;
};
/* spool_read_rows - *@ret in @a. 0, also when there is none (a file without a spool as well), or a
 * negative errno. */
int spool_read_rows(const struct spool_ask *ask, struct arena *a, struct spool_part_row **ret,
	size_t *ret_n, struct err *e);

/* spool_read_waiting - what is behind @after: rows, samples, and when the oldest of them was
 * committed (0 = none). */
struct spool_waiting {
	uint64_t rows, samples, bytes;
	int64_t oldest_ns, newest;
	uint64_t lost; /* samples that were dropped so far, because too much waited */
};
int spool_read_waiting(const char *path, int64_t after, struct spool_waiting *ret, struct err *e);
