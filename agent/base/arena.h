/*
 * arena - memory that is dropped whole. Configuration and turn lifetimes are arenas; nothing in one
 * is freed alone. Not thread-safe: an arena belongs to one thread. Allocation never returns NULL
 * (see rw_calloc).
 */
#ifndef RW_BASE_ARENA_H
#define RW_BASE_ARENA_H

#include <stddef.h>

struct arena;
struct arena *arena_new(void);
void arena_free(struct arena *a); /* NULL is fine */
void arena_freep(struct arena **arena); /* for rw_cleanup() */
/* keeps its memory for the next turn, but for what two turns did not use */
void arena_reset(struct arena *a);
void *arena_alloc(struct arena *a, size_t size); /* zeroed, aligned for any type */
char *arena_strdup(struct arena *a, const char *text);
char *arena_strndup(struct arena *a, const char *text, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
#define arena_new_of(a, type) ((type *)arena_alloc((a), sizeof(type)))
#define arena_array(a, type, n) ((type *)arena_alloc((a), (size_t)(n) * sizeof(type)))

#endif
