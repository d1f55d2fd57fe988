/*
 * Blocks of samples. The first byte of the input chooses: the rest is a block as it stands; or it
 * is samples, which must come out as they went in; or samples, whose block is then damaged. No
 * crash, nothing read beyond the bytes, and what opens and decodes is in order.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "db/block/bits.h"
#include "db/block/block_codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A number of 0 to 7 bytes after a byte that says how many, and whether to go on from @before. */
static uint64_t fuzzed_number(struct bytes *bytes, uint64_t before)
{
	const unsigned kind = bytes_u8(bytes);
	uint64_t value = 0;

	for (unsigned i = 0; i < (kind & 7); i++)
		value = value << 8 | bytes_u8(bytes);
	if (kind & 8)
		value = 0 - value;
	if (kind & 16)
		return value << 8;
	if (kind & 32)
		return before + value;
	return value;
}

static size_t fuzzed_samples(struct bytes *bytes, struct block_sample *v, size_t max)
{
	struct block_sample now = {0};
	size_t n = 0;

	while (n < max && bytes_left(bytes) > 0) {
		const unsigned kind = bytes_u8(bytes);
		now.t_ns += 1 + (kind >> 4) * 1000;
		if ((kind & 3) == 0) {
			now.entity += 1 + bytes_u8(bytes);
			now.t_ns = (int64_t)bytes_u8(bytes) << 40;
		}
		if ((kind & 12) == 4) {
			now.flags = bytes_be16(bytes);
			now.source = bytes_u8(bytes);
			now.window_ms = bytes_be24(bytes);
		}
		now.value = fuzzed_number(bytes, now.value);
		v[n++] = now;
	}
	return n;
}

static void check_decoded(const struct block_sample *v, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		if (v[i].entity < v[i - 1].entity)
			abort();
		if (v[i].entity == v[i - 1].entity && v[i].t_ns <= v[i - 1].t_ns)
			abort();
	}
}

static void read_some(struct block_reader *reader)
{
	struct arena *a = arena_new();
	struct block_columns columns;

	if (block_from(reader, INT64_MAX) > block_series(reader))
		abort();
	for (uint32_t i = 0; i < block_series(reader) && i < 20; i++) {
		const uint32_t at = block_series(reader) - 1 - i;
		arena_reset(a);
		if (block_read(reader, at, 1000, INT64_MAX - 1, a, &columns) < 0)
			continue;
		for (uint32_t j = 0; j < columns.n; j++)
			if (columns.t_ns[j] < 1000)
				abort();
	}
	arena_free(a);
}

/* Opens and decodes; the number of samples, or -1. */
static long decode(const void *data, size_t size, struct block_sample **ret)
{
	struct block_reader reader;
	size_t n = 0, cap = 0;

	if (block_open(&reader, data, size) < 0)
		return -1;
	if (block_samples(&reader) < 100000)
		read_some(&reader);
	if (block_decode(&reader, ret, &n, &cap) < 0)
		return -1;
	check_decoded(*ret, n);
	return (long)n;
}

static void sum_again(uint8_t *bytes, size_t n)
{
	const uint32_t sum = htole32(bits_sum(bytes, n - BITS_SUM));
	memcpy(bytes + n - BITS_SUM, &sum, sizeof(sum));
}

static void round_trip(struct bytes *bytes, unsigned kind, bool damage)
{
	enum { MAX = 3000 };
	struct block_sample *v = rw_calloc(MAX, sizeof(*v)), *back = NULL;
	struct bytes rest = *bytes;
	struct str block = {0};
	const size_t n = fuzzed_samples(bytes, v, MAX);
	enum block_form form = BLOCK_SMALL;

	if (kind & 64)
		form = BLOCK_FAST;
	if (block_encode(v, n, form, kind & 128, &block) < 0)
		abort();
	uint8_t *exact = rw_calloc(1, block.n);
	memcpy(exact, block.s, block.n);
	while (damage && bytes_left(&rest) >= 3) {
		const size_t at = bytes_be16(&rest);
		exact[at % block.n] ^= bytes_u8(&rest);
		bytes_skip(&rest, 200);
	}
	if (form == BLOCK_SMALL) /* the sum agrees again, or nothing behind it would be reached */
		sum_again(exact, block.n);
	const long n_back = decode(exact, block.n, &back);
	if (!damage && (n_back != (long)n || (n && memcmp(v, back, n * sizeof(*v)) != 0)))
		abort();
	free(exact);
	str_done(&block);
	free(back);
	free(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes bytes = bytes_of(data, size);
	const unsigned kind = bytes_u8(&bytes);
	struct block_sample *back = NULL;

	if (size == 0)
		return 0;
	if (kind & 1)
		round_trip(&bytes, kind, kind & 2);
	else
		decode(bytes.p, bytes_left(&bytes), &back);
	free(back);
	return 0;
}
