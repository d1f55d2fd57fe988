/*
 * push_hash - a fast keyed hash of short texts, for tables whose keys strangers choose: without the
 * seed nobody can make two of them equal. Multiplication of 64 bits by 64 bits, both halves folded,
 * as in wyhash (Wang Yi, public domain). Not for anything that is stored.
 */
#ifndef RW_COLLECTORS_PUSH_HASH_H
#define RW_COLLECTORS_PUSH_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

static inline uint64_t push_hash_fold(uint64_t left, uint64_t right)
{
	const unsigned __int128 product = (unsigned __int128)left * right;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t push_hash_number(uint64_t number, uint64_t seed)
{
	return push_hash_fold(number ^ 0xa0761d6478bd642fULL, seed ^ 0xe7037ed1a0b428dbULL);
}

/* @data may be NULL while @n is 0. */
static inline uint64_t push_hash(const void *data, size_t n, uint64_t seed)
{
	const uint8_t *p = data;
	uint64_t hash = push_hash_number(n, seed);
	for (; n >= 8; n -= 8, p += 8) {
		uint64_t word;
		memcpy(&word, p, 8);
		hash = push_hash_number(word, hash);
	}
	if (n == 0)
		return hash;
	uint64_t tail = 0;
	memcpy(&tail, p, n);
	return push_hash_number(tail, hash ^ 0x8ebc6af09c88c6e3ULL);
}

#endif
