/* arena - memory: small allocations that never fail, and a chain of zeroed blocks; a large request
 * gets a block of its own. A reset keeps the blocks for the next use. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* alloc - the one place that decides what happens when a small allocation fails: say so and abort.
 */

static void *alloc_must(void *memory, size_t size)
{
	if (memory)
		return memory;
	fprintf(stderr, "rocewatch: out of memory (wanted %zu bytes)\n", size);
	abort();
}

void *rw_calloc(size_t n, size_t size)
{
	if (n == 0 || size == 0)
		n = size = 1;
	return alloc_must(calloc(n, size), size);
}

void *rw_realloc(void *memory, size_t size)
{
	if (size == 0)
		size = 1;
	return alloc_must(realloc(memory, size), size);
}

char *rw_strdup(const char *text)
{
	size_t n = strlen(text) + 1;
	return memcpy(alloc_must(malloc(n), n), text, n);
}

/* arena - a chain of zeroed blocks; a large request gets a block of its own. A reset keeps the
 * blocks for the next turn, which asks for about the same in about the same order, and frees the
 * blocks that two turns did not use. So the kernel makes fresh zero pages for a turn only once. */

/* Nobody may read what a reset gave up. AddressSanitizer checks that, as it does for freed memory.
 */
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifdef SANITIZED
#include <sanitizer/asan_interface.h>
#define FORBID(p, n) ASAN_POISON_MEMORY_REGION(p, n)
#define ALLOW(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
#define FORBID(p, n) ((void)0)
#define ALLOW(p, n) ((void)0)
#endif

enum {
	/* The first block is small: there are thousands of arenas that hold little. */
	BLOCK_LEAST_BYTES = 1024,
	BLOCK_BYTES = 16 * 1024, /* blocks double up to this size */
	BLOCK_MOST = 1024 * 1024, /* then each is an eighth of the arena, up to this size */
	SPARES_TRIED = 16,
};

struct block {
	struct block *next; /* in a chain: the older one; among spares: the next to be used */
	size_t used, size;
	_Alignas(max_align_t) unsigned char data[];
};

struct arena {
	struct block *last; /* NULL: nothing was asked of it yet */
	struct block *spare; /* zeroed; in the order they were used */
	size_t bytes; /* of the chain */
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

static void spares_drop(struct arena *a)
{
	while (a->spare) {
		struct block *b = a->spare;
		a->spare = b->next;
		free(b);
	}
}

void arena_reset(struct arena *a)
{
	spares_drop(a);
	while (a->last) { /* zeroed here, where they may still be in a cache */
		struct block *b = a->last;
		a->last = b->next;
		memset(b->data, 0, b->used);
		b->used = 0;
		FORBID(b->data, b->size);
		b->next = a->spare;
		a->spare = b;
	}
	a->bytes = 0;
}

void arena_free(struct arena *a)
{
	if (!a)
		return;
	spares_drop(a);
	while (a->last) {
		struct block *b = a->last;
		a->last = b->next;
		free(b);
	}
	free(a);
}

void arena_freep(struct arena **arena)
{
	arena_free(*arena);
	*arena = NULL;
}

void arena_give(struct arena *from, struct arena *to)
{
	struct block **last = &to->last, **end = &from->last;

	if (*last) /* the block that @to fills stays the one it fills */
		last = &(*last)->next;
	while (*end)
		end = &(*end)->next;
	*end = *last;
	*last = from->last;
	to->bytes += from->bytes;
	from->last = NULL;
	arena_free(from);
}

/* A spare that holds @size and is not far too large for it; NULL. */
static struct block *spare_take(struct arena *a, size_t size)
{
	struct block **at = &a->spare;
	for (unsigned tried = 0; *at && tried < SPARES_TRIED; tried++, at = &(*at)->next) {
		struct block *b = *at;
		if (b->size < size || (b->size > BLOCK_MOST && b->size / 2 > size))
			continue;
		*at = b->next;
		ALLOW(b->data, b->size);
		return b;
	}
	return NULL;
}

static struct block *block_for(struct arena *a, size_t size)
{
	struct block *b = spare_take(a, size);
	if (b)
		return b;
	size_t usual = BLOCK_LEAST_BYTES;
	if (a->last && a->last->size < BLOCK_BYTES / 2) {
		usual = 2 * a->last->size;
	} else if (a->last) {
		if (a->bytes / 8 < BLOCK_BYTES)
			usual = BLOCK_BYTES;
		else if (a->bytes / 8 > BLOCK_MOST)
			usual = BLOCK_MOST;
		else
			usual = a->bytes / 8;
	}
	return block_new(size > usual ? size : usual);
}

void *arena_alloc(struct arena *a, size_t size)
{
	const size_t align = _Alignof(max_align_t);

	if (size > SIZE_MAX - align) {
		fprintf(stderr, "rocewatch: out of memory (wanted %zu bytes)\n", size);
		abort();
	}
	if (size == 0)
		size = 1;
	size = (size + align - 1) / align * align;
	struct block *b = a->last;
	if (!b || b->size - b->used < size) {
		b = block_for(a, size);
		b->next = a->last;
		a->last = b;
		a->bytes += b->size;
	}
	void *p = b->data + b->used;
	b->used += size;
	return p;
}

void *arena_copy(struct arena *a, const void *from, size_t n, size_t size)
{
	void *p = arena_alloc(a, size);
	if (n)
		memcpy(p, from, n);
	return p;
}

char *arena_strndup(struct arena *a, const char *text, size_t n)
{
	n = strnlen(text, n);
	char *p = arena_alloc(a, n + 1);
	memcpy(p, text, n);
	return p;
}

char *arena_strdup(struct arena *a, const char *text)
{
	if (!text)
		return NULL;
	return arena_strndup(a, text, strlen(text));
}

char *arena_printf(struct arena *a, const char *fmt, ...)
{
	va_list ap, again;
	va_start(ap, fmt);
	va_copy(again, ap);
	int n = vsnprintf(NULL, 0, fmt, ap);
	va_end(ap);
	size_t size = 1;
	if (n > 0)
		size = (size_t)n + 1;
	char *p = arena_alloc(a, size);
	if (n > 0)
		vsnprintf(p, size, fmt, again);
	va_end(again);
	return p;
}
