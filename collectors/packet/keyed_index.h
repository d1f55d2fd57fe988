/*
 * keyed_index - finds the position of a record in an array by a keyed hash of the record's key:
 * open addressing, linear probing, eight bytes a slot. A slot holds 32 bits of the hash beside the
 * position, so a probe that does not fit is seen without a look at the record. The same 32 bits say
 * where the slot's home is: growing and removing need no key. Single-threaded.
 *
 * Removing moves the entries behind up (D. E. Knuth, TAOCP vol. 3, 6.4, algorithm R): no
 * tombstones, so a table that lives for months with coming and going flows stays fast.
 */
#ifndef RW_COLLECTORS_KEYED_INDEX_H
#define RW_COLLECTORS_KEYED_INDEX_H

#include <stdint.h>

#define KEYED_NONE UINT32_MAX

struct keyed_slot {
	uint32_t tag; /* of the hash */
	uint32_t position; /* in the array + 1; 0: free */
};

struct keyed_index {
	struct keyed_slot *slot;
	uint32_t mask, n;
};

void keyed_index_init(struct keyed_index *index);
void keyed_index_free(struct keyed_index *index);

/* keyed_index_put - @position must not be in it under this hash. Grows at four fifths. */
void keyed_index_put(struct keyed_index *index, uint64_t hash, uint32_t position);

/* keyed_index_remove - the entry of @position under this hash, which must be there. */
void keyed_index_remove(struct keyed_index *index, uint64_t hash, uint32_t position);

/* keyed_index_move - the entry now means another record. */
void keyed_index_move(struct keyed_index *index, uint64_t hash, uint32_t from, uint32_t to);

static inline uint32_t keyed_tag(uint64_t hash)
{
	return (uint32_t)(hash >> 32);
}

static inline void keyed_index_prefetch(const struct keyed_index *index, uint64_t hash)
{
	__builtin_prefetch(&index->slot[keyed_tag(hash) & index->mask]);
}

/*
 * keyed_index_next - the next position whose tag is that of @hash; KEYED_NONE: there is no more.
 * @at: begin with keyed_tag(hash); it is moved behind what was found. The caller compares the keys.
 */
static inline uint32_t keyed_index_next(
	const struct keyed_index *index, uint64_t hash, uint32_t *at)
{
	const uint32_t tag = keyed_tag(hash);
	for (uint32_t i = *at & index->mask; index->slot[i].position; i = (i + 1) & index->mask) {
		if (index->slot[i].tag != tag)
			continue;
		*at = i + 1;
		return index->slot[i].position - 1;
	}
	return KEYED_NONE;
}

#endif
