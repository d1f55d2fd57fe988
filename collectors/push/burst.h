/*
 * burst - the last seconds of what one switch sent at a millisecond, in bounded memory: a ring of
 * blocks. A group is the fields of one template; a block is up to some hundred records of a group,
 * each field a column (burst_code). The block under way is kept as it came.
 *
 * When the blocks need more than they may, the oldest goes: data that does not compress is kept for
 * fewer seconds, and burst_span() says for how many. What burst_write() writes is read by
 * burst_read(), with nothing else needed:
 *
 *      "RWB1", number of groups, of each: number of fields, of each type, statistic and object
 *      then blocks to the end: group, number of records, bytes, columns: the times in ns and the
 *      fields. Numbers are varints.
 *
 * Loop thread; burst_read() any.
 */
#pragma once

#include "base/base.h"

#include "base/bytes.h"

struct burst;

/* ---- burst_code ------------------------------------------------------------ */

/*
 * burst_code - a column of numbers in few bits: what a counter did from tick to tick. A column is
 *
 *      mode (1 byte), first value (varint), and by mode
 *      0 CONSTANT  nothing: all values are the first
 *      1 LINEAR    zigzag varint of the one difference
 *      2 NOISE     zigzag varint of the mean difference, k (1 byte), Rice codes of what each
 *                  difference is away from it
 *      3 SLOPE     k (1 byte), Rice codes of differences of differences
 *      4 SPARSE    k (1 byte), for each difference that is not 0: how many zeros came before it
 *                  (Rice code of 6 bits), and itself
 *
 * With 0x80 added to the mode the first value is followed by a varint: all differences are
 * multiples of it, and are coded divided by it.
 *
 * The writer takes the shortest. Rice codes: q ones and a zero, then k bits; a q of 24 ones is
 * followed by the number itself in 64 bits (R. F. Rice, JPL 79-22; zigzag and varint as in Protocol
 * Buffers). Differences are taken modulo 2^64, so any column comes back exactly. Pure; any thread.
 */

enum { BURST_COLUMN_MAX = 1024 }; /* values of a column */

struct burst_bits { /* a buffer that grows; free(.v) */
	uint8_t *v;
	size_t n, cap;
	uint64_t held; /* bits that are no whole byte yet, the first one highest of .n_held */
	unsigned n_held;
};

/* burst_put_column - @n from 1 to BURST_COLUMN_MAX. */
void burst_put_column(struct burst_bits *out, const uint64_t *v, size_t n);
/* burst_get_column - false: this is no column of @n values. */
bool burst_get_column(struct bytes *in, uint64_t *ret, size_t n);

/* ---- burst ----------------------------------------------------------------- */

enum {
	BURST_GROUPS = 64, /* of a ring */
	BURST_FIELDS = 16384, /* of a group */
	BURST_NONE = BURST_GROUPS,
};

struct burst_field {
	uint32_t type, stat; /* SAI's numbers */
	uint32_t object; /* index of the object that the switch chose */
};

/* burst_new - @bytes: what the blocks may need, the one under way included. */
struct burst *burst_new(size_t bytes);
void burst_free(struct burst *burst); /* NULL is fine */

/* burst_group - a number for these fields; the same fields get the same one. BURST_NONE: there is
 * no room for another group, nothing of it is kept. */
uint32_t burst_group(struct burst *burst, const struct burst_field *fields, size_t n);

/* burst_row - where the values of one record go: field i to ret[i * *ret_stride]. NULL: its time is
 * not after the last one's, or the group is BURST_NONE. */
uint64_t *burst_row(struct burst *burst, uint32_t group, int64_t t_ns, size_t *ret_stride);

struct burst_span {
	int64_t from_ns, to_ns; /* 0 and 0: nothing is kept */
	uint64_t records, values; /* that are kept */
	size_t bytes; /* of the blocks, the one under way included */
	uint64_t dropped; /* blocks that went before their time, to make room */
	uint64_t disorder; /* records whose time was not after the last one's: not kept */
};
void burst_span(const struct burst *burst, struct burst_span *ret);

/* burst_write - blocks that have a record from @from_ns to @to_ns. *@ret is malloc'd, its length is
 * returned; 0 when there are none. */
size_t burst_write(struct burst *burst, int64_t from_ns, int64_t to_ns, uint8_t **ret);

/* One column of one block. All are lent for the call. */
typedef void burst_read_fn(void *arg, const struct burst_field *field, const int64_t *t_ns,
	const uint64_t *values, size_t n);
/* burst_read - 0, or -EBADMSG where the bytes are no burst from some point on; what came before was
 * handed over. */
int burst_read(const uint8_t *data, size_t n, burst_read_fn *fn, void *arg);
