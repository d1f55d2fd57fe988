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
#ifndef RW_COLLECTORS_BURST_CODE_H
#define RW_COLLECTORS_BURST_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "agent/base/bytes.h"

enum { BURST_COLUMN_MAX = 1024 }; /* values of a column */

struct burst_bits { /* a buffer that grows; free(.v) */
	uint8_t *v;
	size_t n, cap;
	uint64_t held; /* bits that are no whole byte yet, the first one highest of .n_held */
	unsigned n_held;
};

void burst_put_varint(struct burst_bits *out, uint64_t value);
/* burst_get_varint - more than 10 bytes are bad. */
uint64_t burst_get_varint(struct bytes *in);

/* burst_put_column - @n from 1 to BURST_COLUMN_MAX. */
void burst_put_column(struct burst_bits *out, const uint64_t *v, size_t n);
/* burst_get_column - false: this is no column of @n values. */
bool burst_get_column(struct bytes *in, uint64_t *ret, size_t n);

#endif
