/* flow_pool - blocks and the ids that were given back. */
#include "collectors/packet/flow_pool.h"

#include <stdlib.h>

#include "agent/base/cleanup.h"

enum { CACHE_LINE = 64 };

void flow_pool_init(struct flow_pool *pool, size_t size)
{
	*pool = (struct flow_pool){.size = size};
}

void flow_pool_free(struct flow_pool *pool)
{
	for (uint32_t i = 0; i < pool->n_blocks; i++)
		free(pool->blocks[i]);
	free(pool->blocks);
	free(pool->given_back);
	*pool = (struct flow_pool){0};
}

uint32_t flow_pool_take(struct flow_pool *pool)
{
	if (pool->n_given_back)
		return pool->given_back[--pool->n_given_back];
	if (pool->end >> FLOW_POOL_SHIFT == pool->n_blocks) {
		uint8_t *block = aligned_alloc(CACHE_LINE, pool->size << FLOW_POOL_SHIFT);
		if (!block)
			abort(); /* as rw_malloc does */
		rw_grow(pool->blocks, pool->n_blocks, pool->cap_blocks);
		pool->blocks[pool->n_blocks++] = block;
	}
	return pool->end++;
}

void flow_pool_give_back(struct flow_pool *pool, uint32_t id)
{
	rw_grow(pool->given_back, pool->n_given_back, pool->cap_given_back);
	pool->given_back[pool->n_given_back++] = id;
}
