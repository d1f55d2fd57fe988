/*
 * arena - memory that is dropped whole. Configuration and turn lifetimes are arenas; nothing in one
 * is freed alone. Not thread-safe: an arena belongs to one thread. Allocation never returns NULL
 * (see rw_calloc).
 */
#pragma once

#include <stddef.h>

struct arena;
struct arena *arena_new(void);
void arena_free(struct arena *a); /* NULL is fine */
void arena_freep(struct arena **arena); /* for rw_cleanup() */
/* arena_reset - forget everything; keeps its memory for the next turn, except what two turns did
 * not use. */
void arena_reset(struct arena *a);
/* arena_give - what lies in @from lies in @to from now on; @from is freed. */
void arena_give(struct arena *from, struct arena *to);
void *arena_alloc(struct arena *a, size_t size); /* zeroed, aligned for any type */
char *arena_strdup(struct arena *a, const char *text); /* NULL stays NULL */
char *arena_strndup(struct arena *a, const char *text, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#define arena_new_of(a, type) ((type *)arena_alloc((a), sizeof(type)))
#define arena_array(a, type, n) ((type *)arena_alloc((a), (size_t)(n) * sizeof(type)))

/*
 * arena_grow - room for one more element in the array @v that holds @n and has room for @cap: both
 * @v and @cap are set. What was there is copied; the old array stays in the arena, and doubling
 * keeps that waste below the size of the list. @v may be NULL when @cap is 0.
 */
#define arena_grow(a, v, n, cap)                                                                   \
	do {                                                                                       \
		if ((n) >= (cap)) {                                                                \
			(cap) = (cap) ? 2 * (cap) : 8;                                             \
			(v) = arena_copy((a), (v), (n) * sizeof(*(v)), (cap) * sizeof(*(v)));      \
		}                                                                                  \
	} while (0)

/* arena_grow_pow2 - the same for a list that keeps no capacity: its room is the next power of two,
 * so it is full when its length is one. */
#define arena_grow_pow2(a, v, n)                                                                   \
	do {                                                                                       \
		if (((n) & ((n)-1)) == 0)                                                          \
			(v) = arena_copy(                                                          \
				(a), (v), (n) * sizeof(*(v)), ((n) ? 2 * (n) : 1) * sizeof(*(v))); \
	} while (0)

/* arena_copy - @size zeroed bytes that begin with the @n bytes at @from (n <= size). */
void *arena_copy(struct arena *a, const void *from, size_t n, size_t size);
