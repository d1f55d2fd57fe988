/*
 * flow_pool - an array of records of one size that grows in blocks: a record never moves, the
 * blocks are aligned to cache lines, and memory that no record has used is not touched. Ids are
 * positions; those given back are used again, the last one first. Single-threaded.
 */
#ifndef RW_COLLECTORS_FLOW_POOL_H
#define RW_COLLECTORS_FLOW_POOL_H

#include <stddef.h>
#include <stdint.h>

enum { FLOW_POOL_SHIFT = 10, FLOW_POOL_BLOCK = 1 << FLOW_POOL_SHIFT };

struct flow_pool {
	uint8_t **blocks;
	size_t size; /* of a record */
	uint32_t *given_back;
	uint32_t n_blocks, cap_blocks, n_given_back, cap_given_back;
	uint32_t end; /* ids ever used are below */
};

void flow_pool_init(struct flow_pool *pool, size_t size);
void flow_pool_free(struct flow_pool *pool);

/* flow_pool_take - the id of a record that nobody uses; its bytes are not cleared. */
uint32_t flow_pool_take(struct flow_pool *pool);
void flow_pool_give_back(struct flow_pool *pool, uint32_t id);

static inline uint32_t flow_pool_live(const struct flow_pool *pool)
{
	return pool->end - pool->n_given_back;
}

/* flow_pool_at - @size: that of the pool, as a constant, so that no multiplication is left. */
static inline void *flow_pool_at(const struct flow_pool *pool, size_t size, uint32_t id)
{
	return pool->blocks[id >> FLOW_POOL_SHIFT] + (size_t)(id & (FLOW_POOL_BLOCK - 1)) * size;
}

#endif
