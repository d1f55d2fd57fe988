/* alloc - the one place that decides what happens when a small allocation fails: say so and abort.
 */
#include "agent/base/cleanup.h"

#include <string.h>

static void *must(void *p, size_t size)
{
	if (p)
		return p;
	fprintf(stderr, "rocewatch: out of memory (wanted %zu bytes)\n", size);
	abort();
}

void *rw_calloc(size_t n, size_t size)
{
	if (n == 0 || size == 0)
		n = size = 1;
	return must(calloc(n, size), size);
}

void *rw_realloc(void *p, size_t size)
{
	if (size == 0)
		size = 1;
	return must(realloc(p, size), size);
}

char *rw_strdup(const char *s)
{
	size_t n = strlen(s) + 1;
	return memcpy(must(malloc(n), n), s, n);
}
