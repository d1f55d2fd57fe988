/*
 * number_codec - a column of numbers (counters, instants, doubles) as few bytes; pure. Exact for
 * every u64 and every pattern of bits of a double. All arithmetic is modulo 2^64.
 *
 * A column is written in the smallest of these forms:
 *
 *   constant   one value
 *   step       first value and one difference
 *   sparse     first value and the places where it changes
 *   packed     value - smallest, in minis of 32 numbers with one width of bits each
 *   delta      difference to the value before - smallest difference, packed
 *   delta2     difference of differences - the smallest, packed
 *   xor        bits that differ from the value before, packed without zero bits at both ends
 *
 * Packed ones are divided by their common divisor (cells of a buffer, milliseconds). Doubles that
 * are decimal fractions are written as whole numbers with a power of ten.
 *
 * Sources: frame of reference and delta packing as in Lemire and Boytsov, "Decoding billions of
 * integers per second through vectorization" (2015); xor as in Pelkonen and others, "Gorilla"
 * (VLDB 2015); decimal fractions as in Afroozeh and others, "ALP" (SIGMOD 2024).
 */
#pragma once

#include "base/base.h"
#include "base/bytes.h"

/* number_encode - appends the column of @n numbers, n > 0. The count is not written. */
void number_encode(const uint64_t *values, uint32_t n, struct str *out);
/* number_encode_f64 - the same of bits of doubles. @scratch has room for @n numbers. */
void number_encode_f64(const uint64_t *bits, uint32_t n, uint64_t *scratch, struct str *out);

/* number_decode, number_decode_f64 - reads a column of @n numbers, n > 0, into @ret and steps over
 * it. @ret_constant (may be NULL): it was written as one value. 0 or -EBADMSG. */
int number_decode(struct bytes *bytes, uint32_t n, uint64_t *ret, bool *ret_constant);
int number_decode_f64(struct bytes *bytes, uint32_t n, uint64_t *ret, bool *ret_constant);
