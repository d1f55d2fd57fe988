/* alloc - the one place that decides what happens when a small allocation fails: say so and abort.
 */
#include "agent/base/cleanup.h"

#include <string.h>

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
