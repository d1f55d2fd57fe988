/* keyed_index - putting, growing and removing. */
#include "collectors/packet/keyed_index.h"

#include "agent/base/cleanup.h"

enum { KEYED_SLOTS_MIN = 64 };

void keyed_index_init(struct keyed_index *index)
{
	index->slot = rw_calloc(KEYED_SLOTS_MIN, sizeof(*index->slot));
	index->mask = KEYED_SLOTS_MIN - 1;
	index->n = 0;
}

void keyed_index_free(struct keyed_index *index)
{
	free(index->slot);
	*index = (struct keyed_index){0};
}

static void keyed_index_place(struct keyed_index *index, uint32_t tag, uint32_t position)
{
	uint32_t i = tag & index->mask;
	while (index->slot[i].position)
		i = (i + 1) & index->mask;
	index->slot[i] = (struct keyed_slot){.tag = tag, .position = position};
}

static void keyed_index_grow(struct keyed_index *index)
{
	struct keyed_slot *old = index->slot;
	const uint32_t n = index->mask + 1;
	index->slot = rw_calloc((size_t)n * 2, sizeof(*index->slot));
	index->mask = n * 2 - 1;
	for (uint32_t i = 0; i < n; i++)
		if (old[i].position)
			keyed_index_place(index, old[i].tag, old[i].position);
	free(old);
}

void keyed_index_put(struct keyed_index *index, uint64_t hash, uint32_t position)
{
	if ((uint64_t)(index->n + 1) * 5 > (uint64_t)(index->mask + 1) * 4)
		keyed_index_grow(index);
	keyed_index_place(index, keyed_tag(hash), position + 1);
	index->n++;
}

static uint32_t keyed_index_slot(const struct keyed_index *index, uint64_t hash, uint32_t position)
{
	uint32_t i = keyed_tag(hash) & index->mask;
	while (index->slot[i].position != position + 1)
		i = (i + 1) & index->mask;
	return i;
}

void keyed_index_remove(struct keyed_index *index, uint64_t hash, uint32_t position)
{
	uint32_t hole = keyed_index_slot(index, hash, position);
	for (uint32_t i = (hole + 1) & index->mask; index->slot[i].position;
		i = (i + 1) & index->mask) {
		const uint32_t home = index->slot[i].tag & index->mask;
		/* An entry may move to the hole only if its home is not between the hole and it. */
		if (((i - home) & index->mask) < ((i - hole) & index->mask))
			continue;
		index->slot[hole] = index->slot[i];
		hole = i;
	}
	index->slot[hole] = (struct keyed_slot){0};
	index->n--;
}

void keyed_index_move(struct keyed_index *index, uint64_t hash, uint32_t from, uint32_t to)
{
	index->slot[keyed_index_slot(index, hash, from)].position = to + 1;
}
