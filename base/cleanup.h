/* cleanup - show the owner where the variable is born, leave by return. */
#pragma once

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define rw_cleanup(fn) __attribute__((cleanup(fn)))
#define rw_countof(a) (sizeof(a) / sizeof((a)[0]))

/* rw_take - hand a cleanup variable over to the caller: the local is emptied. */
#define rw_take(p)                                                                                 \
	({                                                                                         \
		__typeof__(p) rw_take_ = (p);                                                      \
		(p) = NULL;                                                                        \
		rw_take_;                                                                          \
	})

static inline void freep(void *pointer)
{
	free(*(void **)pointer);
}
static inline void closep(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}
static inline void fclosep(FILE **file)
{
	if (*file)
		fclose(*file);
}

/* Allocation failure of small objects is not survivable in a useful way: say so and abort, in one
 * place. */
void *rw_calloc(size_t n, size_t size);
void *rw_realloc(void *memory, size_t size);
char *rw_strdup(const char *text);

/* rw_grow - make room for one more element in a (v, n, cap) array. */
#define rw_grow(v, n, cap)                                                                         \
	do {                                                                                       \
		if ((n) >= (cap)) {                                                                \
			(cap) = (cap) ? (cap)*2 : 8;                                               \
			(v) = rw_realloc((v), (size_t)(cap) * sizeof(*(v)));                       \
		}                                                                                  \
	} while (0)
