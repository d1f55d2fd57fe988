/* clock_pool - records in blocks. */
#include "collectors/packet/clock_pool.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"

enum { POOL_BLOCK = 256 };

void clock_pool_init(struct clock_pool *pool, size_t size, uint32_t max)
{
	*pool = (struct clock_pool){.size = size, .max = max};
}

void clock_pool_end(struct clock_pool *pool)
{
	for (uint32_t i = 0; i * POOL_BLOCK < pool->made; i++)
		free(pool->blocks[i]);
	free(pool->blocks);
	*pool = (struct clock_pool){.size = pool->size, .max = pool->max};
}

void *clock_pool_at(const struct clock_pool *pool, uint32_t number)
{
	if (number == 0)
		return NULL;
	const uint32_t at = number - 1;
	return pool->blocks[at / POOL_BLOCK] + (size_t)(at % POOL_BLOCK) * pool->size;
}

static uint32_t clock_pool_make(struct clock_pool *pool)
{
	if (pool->made >= pool->max)
		return 0;
	const uint32_t block = pool->made / POOL_BLOCK;
	if (pool->made % POOL_BLOCK == 0) {
		rw_grow(pool->blocks, block, pool->cap_blocks);
		pool->blocks[block] = rw_calloc(POOL_BLOCK, pool->size);
	}
	return ++pool->made;
}

/* A record that was given back holds the number of the one given back before it. */
uint32_t clock_pool_take(struct clock_pool *pool)
{
	uint32_t number = pool->free;
	if (number) {
		char *record = clock_pool_at(pool, number);
		memcpy(&pool->free, record, sizeof(pool->free));
		memset(record, 0, pool->size);
	} else {
		number = clock_pool_make(pool);
	}
	pool->n += number != 0;
	return number;
}

void clock_pool_give(struct clock_pool *pool, uint32_t number)
{
	if (number == 0)
		return;
	memcpy(clock_pool_at(pool, number), &pool->free, sizeof(pool->free));
	pool->free = number;
	pool->n--;
}
