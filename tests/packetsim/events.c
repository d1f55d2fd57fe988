/* events - the heap. */
#include <stdlib.h>

#include "tests/packetsim/events.h"

static bool event_before(const struct event *left, const struct event *right)
{
	if (left->at != right->at)
		return left->at < right->at;
	return left->order < right->order;
}

void heap_push(struct event_heap *heap, int64_t at, uint32_t kind, uint32_t who, uint32_t what)
{
	if (heap->n == heap->room) {
		heap->room = heap->room ? 2 * heap->room : 4096;
		heap->v = realloc(heap->v, heap->room * sizeof(*heap->v));
		if (!heap->v)
			abort();
	}
	const struct event new = {at, heap->order++, kind, who, what};
	size_t i = heap->n++;
	while (i > 0) {
		const size_t parent = (i - 1) / 4;
		if (!event_before(&new, &heap->v[parent]))
			break;
		heap->v[i] = heap->v[parent];
		i = parent;
	}
	heap->v[i] = new;
}

bool heap_pop(struct event_heap *heap, struct event *out)
{
	if (!heap->n)
		return false;
	*out = heap->v[0];
	const struct event last = heap->v[--heap->n];
	size_t i = 0;
	for (;;) {
		size_t least = 4 * i + 1;
		if (least >= heap->n)
			break;
		const size_t end = least + 4 < heap->n ? least + 4 : heap->n;
		for (size_t k = least + 1; k < end; k++)
			if (event_before(&heap->v[k], &heap->v[least]))
				least = k;
		if (!event_before(&heap->v[least], &last))
			break;
		heap->v[i] = heap->v[least];
		i = least;
	}
	heap->v[i] = last;
	return true;
}

void heap_free(struct event_heap *heap)
{
	free(heap->v);
	*heap = (struct event_heap){0};
}
