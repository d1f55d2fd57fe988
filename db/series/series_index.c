/* series_index - a chain of series per entity; and for each series the one that followed it last
 * time, which is tried first. */
#include "db/series/series_index.h"

#include <stdlib.h>
#include <string.h>
#include "agent/base/cleanup.h"

#define NONE UINT32_MAX

struct index_item {
	uint32_t entity;
	uint32_t next; /* of the same entity */
	uint32_t follow; /* came after this one last time */
	uint16_t metric;
};

struct series_index {
	struct index_item *v;
	uint32_t n, cap;
	uint32_t *heads; /* by entity */
	uint32_t n_heads;
	uint32_t last; /* found last */
	uint32_t free; /* a chain of items that were dropped */
};

struct series_index *series_index_new(void)
{
	struct series_index *x = rw_calloc(1, sizeof(*x));

	x->last = x->free = NONE;
	return x;
}

void series_index_free(struct series_index *index)
{
	if (!index)
		return;
	free(index->v);
	free(index->heads);
	free(index);
}

static uint32_t *head_of(struct series_index *index, uint32_t entity)
{
	if (entity >= index->n_heads) {
		uint32_t n;
		if (entity < UINT32_MAX / 2)
			n = entity + entity / 2 + 64;
		else
			n = entity + 1;
		index->heads = rw_realloc(index->heads, (size_t)n * sizeof(*index->heads));
		memset(index->heads + index->n_heads, 0xff,
			(size_t)(n - index->n_heads) * sizeof(*index->heads));
		index->n_heads = n;
	}
	return &index->heads[entity];
}

static uint32_t series_index_find(
	struct series_index *index, uint32_t entity, uint16_t metric, bool *ret_new)
{
	uint32_t *head = head_of(index, entity);

	for (uint32_t i = *head; i != NONE; i = index->v[i].next)
		if (index->v[i].metric == metric)
			return i;
	uint32_t at = index->free;
	if (at != NONE) {
		index->free = index->v[at].next;
	} else {
		rw_grow(index->v, index->n, index->cap);
		at = index->n++;
	}
	index->v[at] = (struct index_item){
		.entity = entity, .metric = metric, .next = *head, .follow = NONE};
	*head = at;
	*ret_new = true;
	return at;
}

uint32_t series_index_at(
	struct series_index *index, uint32_t entity, uint16_t metric, bool *ret_new)
{
	uint32_t at = NONE;
	if (index->last != NONE)
		at = index->v[index->last].follow;

	*ret_new = false;
	if (at == NONE || index->v[at].entity != entity || index->v[at].metric != metric) {
		at = series_index_find(index, entity, metric, ret_new);
		if (index->last != NONE)
			index->v[index->last].follow = at;
	}
	index->last = at;
	return at;
}

/* A dropped item belongs to no entity, so that one whose .follow still names it does not take it.
 */
void series_index_drop(struct series_index *index, uint32_t entity,
	void (*gone)(void *arg, uint32_t number), void *arg)
{
	if (entity >= index->n_heads)
		return;
	uint32_t at = index->heads[entity];
	index->heads[entity] = NONE;
	while (at != NONE) {
		const uint32_t next = index->v[at].next;
		if (index->last == at)
			index->last = NONE;
		index->v[at] = (struct index_item){.next = index->free, .follow = NONE};
		index->free = at;
		gone(arg, at);
		at = next;
	}
}
