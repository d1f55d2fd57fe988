/*
 * bits - small helpers of the codecs of this room: a buffer that is written through a pointer,
 * numbers of 7 bits a byte (LEB128), zigzag, and arrays of numbers of @width bits each, lowest bit
 * first. Little-endian on disk, whatever the machine.
 */
#pragma once

#include <endian.h>
#include "base/base.h"
#include "base/bytes.h"

enum { UVAR_MAX = 10 }; /* bytes of the longest LEB128 number of 64 bits */

/* bits_room - room for @more bytes at the end of @out; what is written there counts once .n is
 * moved. Lent until the next call that grows @out. */
static inline uint8_t *bits_room(struct str *out, size_t more)
{
	const size_t need = out->n + more + 1;

	if (need > out->cap) {
		size_t cap = out->cap;
		if (cap < 256)
			cap = 256;
		while (cap < need)
			cap *= 2;
		out->s = rw_realloc(out->s, cap);
		out->cap = cap;
	}
	return (uint8_t *)out->s + out->n;
}

static inline void bits_add_u8(struct str *out, unsigned value)
{
	*bits_room(out, 1) = (uint8_t)value;
	out->n++;
}

/* bits_put_uvar - writes @value at @at; returns the first byte after it. */
static inline uint8_t *bits_put_uvar(uint8_t *at, uint64_t value)
{
	while (value >= 0x80) {
		*at++ = (uint8_t)(value | 0x80);
		value >>= 7;
	}
	*at++ = (uint8_t)value;
	return at;
}
static inline void bits_add_uvar(struct str *out, uint64_t value)
{
	uint8_t *at = bits_room(out, UVAR_MAX);
	out->n += (size_t)(bits_put_uvar(at, value) - at);
}
static inline unsigned bits_uvar_size(uint64_t value)
{
	return (unsigned)(63 - __builtin_clzll(value | 1)) / 7 + 1;
}

/* bits_uvar - reads a LEB128 number; one that does not fit 64 bits makes @bytes bad. */
static inline uint64_t bits_uvar(struct bytes *bytes)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		const uint64_t byte = bytes_u8(bytes);
		if (shift == 63 && byte > 1)
			break;
		value |= (byte & 0x7f) << shift;
		if (byte < 0x80)
			return value;
	}
	bytes->bad = true;
	return 0;
}

/* Numbers around zero as small unsigned ones: 0 -1 1 -2 2 ... become 0 1 2 3 4 ... */
static inline uint64_t bits_zigzag(uint64_t value)
{
	return (value << 1) ^ (uint64_t)((int64_t)value >> 63);
}
static inline uint64_t bits_unzigzag(uint64_t value)
{
	return (value >> 1) ^ (0 - (value & 1));
}

/* bits_width - how many bits @value needs; 0 for 0. */
static inline unsigned bits_width(uint64_t value)
{
	if (value == 0)
		return 0;
	return 64 - (unsigned)__builtin_clzll(value);
}

/* bits_bytes - bytes of @n numbers of @width bits. @n below 2^32. */
static inline size_t bits_bytes(size_t n, unsigned width)
{
	return (n * width + 7) / 8;
}

static inline uint64_t bits_load(const uint8_t *at)
{
	uint64_t word;
	memcpy(&word, at, sizeof(word));
	return le64toh(word);
}
static inline void bits_store(uint8_t *at, uint64_t word)
{
	word = htole64(word);
	memcpy(at, &word, sizeof(word));
}

static inline uint64_t bits_mask(unsigned width)
{
	if (width >= 64)
		return UINT64_MAX;
	return (UINT64_C(1) << width) - 1;
}

/* bits_set - number @i of an array of zeroed bytes with BITS_PAD more bytes behind it. */
enum { BITS_PAD = 9 };
static inline void bits_set(uint8_t *array, size_t i, unsigned width, uint64_t value)
{
	const size_t bit = i * width;
	uint8_t *at = array + bit / 8;
	const unsigned shift = bit % 8;

	bits_store(at, bits_load(at) | value << shift);
	if (shift + width > 64)
		at[8] = (uint8_t)(value >> (64 - shift));
}

/* bits_get - the same, read; BITS_PAD bytes behind the array may be read. */
static inline uint64_t bits_get(const uint8_t *array, size_t i, unsigned width)
{
	const size_t bit = i * width;
	const uint8_t *at = array + bit / 8;
	const unsigned shift = bit % 8;
	uint64_t value = bits_load(at) >> shift;

	if (shift + width > 64)
		value |= (uint64_t)at[8] << (64 - shift);
	return value & bits_mask(width);
}

/* bits_add_array - appends an array of @n numbers of @width bits, ended at a byte. */
static inline void bits_add_array(
	const uint64_t *numbers, size_t n, unsigned width, struct str *out)
{
	const size_t size = bits_bytes(n, width);
	uint8_t *at = bits_room(out, size + BITS_PAD);

	memset(at, 0, size + BITS_PAD);
	for (size_t i = 0; i < n && width; i++)
		bits_set(at, i, width, numbers[i]);
	out->n += size;
}

/* bits_load_part - the number of @size bytes at @at, of which @left are there. */
static inline uint64_t bits_load_part(const uint8_t *at, size_t left, unsigned size)
{
	uint8_t copy[8] = {0};

	if (left >= sizeof(copy))
		return bits_load(at) & bits_mask(8 * size);
	memcpy(copy, at, size);
	return bits_load(copy);
}

/* bits_at - number @i of an array of which @size bytes are there and nothing behind them. The
 * caller has checked that @size is at least bits_bytes(i + 1, width). */
static inline uint64_t bits_at(const uint8_t *array, size_t size, size_t i, unsigned width)
{
	const size_t bit = i * width, byte = bit / 8;
	uint8_t copy[BITS_PAD] = {0};
	size_t n = sizeof(copy);

	if (width == 0)
		return 0;
	if (size - byte < n)
		n = size - byte;
	memcpy(copy, array + byte, n);
	uint64_t value = bits_load(copy) >> (bit % 8);
	if (bit % 8 + width > 64)
		value |= (uint64_t)copy[8] << (64 - bit % 8);
	return value & bits_mask(width);
}

/*
 * A sum over sealed bytes: SQLite does not notice a bit that flips in a blob, and a wrong value
 * would be worse than none. Every step is reversible, so a change within 8 bytes always changes the
 * sum before it is folded to 32 bits. Not against malice.
 */
enum { BITS_SUM = 4 };
static inline uint32_t bits_sum(const uint8_t *bytes, size_t n)
{
	uint64_t sum = n;
	uint8_t last[8] = {0};

	for (; n >= 8; n -= 8, bytes += 8)
		sum = ((sum << 23 | sum >> 41) ^ bits_load(bytes)) * UINT64_C(0x9e3779b97f4a7c15);
	if (n > 0)
		memcpy(last, bytes, n);
	sum = ((sum << 23 | sum >> 41) ^ bits_load(last)) * UINT64_C(0x9e3779b97f4a7c15);
	return (uint32_t)(sum ^ sum >> 32);
}

/* bits_add_sum - ends what was written to @out since @begin with its sum. */
static inline void bits_add_sum(struct str *out, size_t begin)
{
	uint8_t *at = bits_room(out, BITS_SUM);
	const uint32_t sum = htole32(bits_sum((const uint8_t *)out->s + begin, out->n - begin));

	memcpy(at, &sum, sizeof(sum));
	out->n += sizeof(sum);
}

/* bits_without_sum - the bytes without the sum at their end; bad where it does not agree. */
static inline struct bytes bits_without_sum(const void *data, size_t size)
{
	struct bytes bytes = bytes_of(data, size);
	uint32_t sum;

	if (size < BITS_SUM) {
		bytes.bad = true;
		return bytes;
	}
	bytes.end -= BITS_SUM;
	memcpy(&sum, bytes.end, sizeof(sum));
	bytes.bad = le32toh(sum) != bits_sum(data, size - BITS_SUM);
	return bytes;
}
