/* series_index - see series_index.h: a chain of series per entity, and per series the one that
 * followed it last time. */
#include "db/series/series_index.h"

#include <stdlib.h>
#include <string.h>
#include "agent/base/cleanup.h"

#define NONE UINT32_MAX

struct item {
	uint32_t entity;
	uint32_t next; /* of the same entity */
	uint32_t follow; /* came after this one last time */
	uint16_t metric;
};

struct series_index {
	struct item *v;
	uint32_t n, cap;
	uint32_t *heads; /* by entity */
	uint32_t n_heads;
	uint32_t last; /* found last */
};

struct series_index *series_index_new(void)
{
	struct series_index *x = rw_calloc(1, sizeof(*x));

	x->last = NONE;
	return x;
}

void series_index_free(struct series_index *x)
{
	if (!x)
		return;
	free(x->v);
	free(x->heads);
	free(x);
}

static uint32_t *head_of(struct series_index *x, uint32_t entity)
{
	if (entity >= x->n_heads) {
		uint32_t n = entity < UINT32_MAX / 2 ? entity + entity / 2 + 64 : entity + 1;
		x->heads = rw_realloc(x->heads, (size_t)n * sizeof(*x->heads));
		memset(x->heads + x->n_heads, 0xff, (size_t)(n - x->n_heads) * sizeof(*x->heads));
		x->n_heads = n;
	}
	return &x->heads[entity];
}

static uint32_t find(struct series_index *x, uint32_t entity, uint16_t metric, bool *ret_new)
{
	uint32_t *head = head_of(x, entity);

	for (uint32_t i = *head; i != NONE; i = x->v[i].next)
		if (x->v[i].metric == metric)
			return i;
	rw_grow(x->v, x->n, x->cap);
	x->v[x->n] =
		(struct item){.entity = entity, .metric = metric, .next = *head, .follow = NONE};
	*head = x->n;
	*ret_new = true;
	return x->n++;
}

uint32_t series_index_at(struct series_index *x, uint32_t entity, uint16_t metric, bool *ret_new)
{
	uint32_t at = x->last != NONE ? x->v[x->last].follow : NONE;

	*ret_new = false;
	if (at == NONE || x->v[at].entity != entity || x->v[at].metric != metric) {
		at = find(x, entity, metric, ret_new);
		if (x->last != NONE)
			x->v[x->last].follow = at;
	}
	x->last = at;
	return at;
}
