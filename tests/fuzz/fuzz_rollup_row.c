/* Rows of minutes and hours: the input is a row, or damage to a good one whose sum agrees again. No
 * crash, nothing read beyond the bytes, buckets in order. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "db/block/bits.h"
#include "db/block/rollup_codec.h"
#include "db/model/metric.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_row(const void *data, size_t size)
{
	struct rollup_reader reader;
	struct arena *a = arena_new();

	if (rollup_open(&reader, data, size) == 0) {
		for (uint32_t i = 0; i < reader.n_series && i < 50; i++) {
			struct rollup_bucket *v;
			uint32_t n;
			arena_reset(a);
			if (rollup_read(&reader, i, a, &v, &n) < 0)
				continue;
			for (uint32_t j = 1; j < n; j++)
				if (v[j].rollup.from_ns < v[j - 1].rollup.to_ns)
					abort();
		}
	}
	arena_free(a);
}

/* A row of 6 series of which some bytes are changed as the input says. */
static void read_damaged(struct bytes *bytes)
{
	struct block_sample v[300];
	struct rollup_list list = {0};
	struct str row = {0};
	const unsigned seed = bytes_u8(bytes);

	for (int64_t s = 0; s < 6; s++) {
		uint64_t value = seed;
		for (size_t i = 0; i < rw_countof(v); i++) {
			value += (uint64_t)s * i % 7 * seed;
			v[i] = (struct block_sample){
				.entity = s, .t_ns = (int64_t)(i + 1) * 7000000000, .value = value};
		}
		rollup_make(M_PORT_IN_OCTETS, v, rw_countof(v), 0, ROLLUP_MINUTE_NS, &list);
	}
	if (rollup_encode(list.v, list.n, ROLLUP_MINUTE_NS, seed & 1, &row) < 0)
		abort();
	rollup_list_done(&list);
	uint8_t *exact = rw_calloc(1, row.n);
	memcpy(exact, row.s, row.n);
	read_row(exact, row.n);
	while (bytes_left(bytes) >= 3) {
		const size_t at = bytes_be16(bytes);
		exact[at % row.n] ^= bytes_u8(bytes);
		const uint32_t sum = htole32(bits_sum(exact, row.n - BITS_SUM));
		memcpy(exact + row.n - BITS_SUM, &sum, sizeof(sum));
		read_row(exact, row.n);
	}
	free(exact);
	str_done(&row);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct bytes bytes = bytes_of(data, size);
	const unsigned kind = bytes_u8(&bytes);

	if (size == 0)
		return 0;
	if (kind & 1)
		read_damaged(&bytes);
	else
		read_row(bytes.p, bytes_left(&bytes));
	return 0;
}
