/* arena - see arena.h. A chain of blocks; large wishes get a block of their own. */
#include "agent/base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"

enum { BLOCK_LEAST_BYTES = 1024, BLOCK_BYTES = 16 * 1024 }; /* blocks double up to that: there are thousands of arenas that hold little */

struct block {
	struct block *next; /* older block */
	size_t used, size;
	_Alignas(max_align_t) unsigned char data[];
};

struct arena {
	struct block *last; /* NULL: nothing was asked of it yet */
};

static struct block *block_new(size_t size)
{
	if (size > SIZE_MAX - sizeof(struct block)) {
		fprintf(stderr, "rocewatch: out of memory (wanted %zu bytes)\n", size);
		abort();
	}
	struct block *b = rw_calloc(1, sizeof(*b) + size);
	b->size = size;
	return b;
}

struct arena *arena_new(void)
{
	return rw_calloc(1, sizeof(struct arena));
}

void arena_reset(struct arena *a)
{
	struct block *kept = NULL;
	for (struct block *b = a->last, *next; b; b = next) {
		next = b->next;
		struct block *drop = b;
		if (b->size <= BLOCK_BYTES && (!kept || b->size > kept->size)) {
			drop = kept;
			kept = b;
		}
		free(drop);
	}
	a->last = kept;
	if (!kept)
		return;
	memset(kept->data, 0, kept->used);
	kept->used = 0;
	kept->next = NULL;
}

void arena_free(struct arena *a)
{
	for (struct block *b = a ? a->last : NULL, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	free(a);
}

void arena_freep(struct arena **a)
{
	arena_free(*a);
	*a = NULL;
}

void *arena_alloc(struct arena *a, size_t size)
{
	const size_t align = _Alignof(max_align_t);

	if (size > SIZE_MAX - align) {
		fprintf(stderr, "rocewatch: out of memory (wanted %zu bytes)\n", size);
		abort();
	}
	size = size ? (size + align - 1) / align * align : align;
	struct block *b = a->last;
	if (!b || b->size - b->used < size) {
		const size_t usual = !b ? BLOCK_LEAST_BYTES : b->size < BLOCK_BYTES / 2 ? 2 * b->size : BLOCK_BYTES;
		b = block_new(size > usual ? size : usual);
		b->next = a->last;
		a->last = b;
	}
	void *p = b->data + b->used;
	b->used += size;
	return p;
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
	n = strnlen(s, n);
	char *p = arena_alloc(a, n + 1);
	memcpy(p, s, n);
	return p;
}

char *arena_strdup(struct arena *a, const char *s)
{
	return arena_strndup(a, s, strlen(s));
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap, again;
	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	size_t size = n > 0 ? (size_t)n + 1 : 1;
	char *p = arena_alloc(a, size);
	if (n > 0)
		vsnprintf(p, size, fmt, again);
	va_end(again);
	return p;
}
