/*
 * clock_pool - records of one size, by number, in blocks that do not move; given back ones are used
 * again. Bounded. Single-threaded.
 */
#ifndef RW_COLLECTORS_CLOCK_POOL_H
#define RW_COLLECTORS_CLOCK_POOL_H

#include <stddef.h>
#include <stdint.h>

struct clock_pool {
	char **blocks;
	size_t size;
	uint32_t max, n, made; /* in use; ever made */
	uint32_t free; /* newest one given back; 0 = none */
	uint32_t cap_blocks;
};

void clock_pool_init(struct clock_pool *pool, size_t size, uint32_t max);
void clock_pool_end(struct clock_pool *pool);

/* clock_pool_take - the number of a zeroed record, from 1; 0: the pool is full. */
uint32_t clock_pool_take(struct clock_pool *pool);
void clock_pool_give(struct clock_pool *pool, uint32_t number); /* 0 is fine */
void *clock_pool_at(const struct clock_pool *pool, uint32_t number); /* NULL for 0 */

#endif
