/* message_sizes - a short list of sizes, each with its count. */
#include "collectors/packet/message_sizes.h"

#include <stdbool.h>

/* Nearer by ratio: sizes differ by orders of magnitude. */
static bool size_nearer(uint32_t bytes, uint32_t left, uint32_t right)
{
	return (uint64_t)bytes * bytes <= (uint64_t)left * right;
}

void message_sizes_add(struct message_sizes *sizes, uint32_t bytes, uint32_t count)
{
	size_t at = 0;
	while (at < sizes->n && sizes->bytes[at] < bytes)
		at++;
	if (at < sizes->n && sizes->bytes[at] == bytes) {
		sizes->count[at] += count;
		return;
	}
	if (sizes->n < MESSAGE_SIZES) {
		for (size_t i = sizes->n; i > at; i--) {
			sizes->bytes[i] = sizes->bytes[i - 1];
			sizes->count[i] = sizes->count[i - 1];
		}
		sizes->n++;
		sizes->bytes[at] = bytes;
		sizes->count[at] = count;
		return;
	}
	if (at == sizes->n ||
		(at > 0 && size_nearer(bytes, sizes->bytes[at - 1], sizes->bytes[at])))
		at--;
	sizes->count[at] += count;
	sizes->merged += count;
}

uint32_t message_sizes_median(const struct message_sizes *sizes)
{
	uint64_t all = 0, below = 0;
	for (size_t i = 0; i < sizes->n; i++)
		all += sizes->count[i];
	for (size_t i = 0; i < sizes->n; i++) {
		below += sizes->count[i];
		if (below * 2 >= all)
			return sizes->bytes[i];
	}
	return 0;
}
