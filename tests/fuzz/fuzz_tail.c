/* Rows of the open tail: the input is a row, or damage to a good one. No crash, nothing read beyond
 * the bytes, metrics in order. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "db/block/bits.h"
#include "db/block/block_codec.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_row(const void *data, size_t size)
{
	struct tail_reader tail;

	if (tail_open(&tail, data, size) < 0)
		return;
	for (uint32_t i = 0; i < tail_metrics(&tail); i++) {
		struct block_reader reader;
		struct block_sample *back = NULL;
		size_t n = 0, cap = 0;
		if (tail_find(&tail, tail_metric_number(&tail, i)) != i)
			abort();
		if (tail_metric(&tail, i, NULL, &reader) == 0 && block_samples(&reader) < 100000)
			block_decode(&reader, &back, &n, &cap);
		free(back);
	}
}

/* A row of 5 metrics and 20 series, a few bytes of which are changed as the input says. */
static void read_damaged(struct bytes *bytes)
{
	struct block_sample v[40];
	struct tail_segment segments[5];
	struct str row = {0};

	for (size_t i = 0; i < rw_countof(v); i++)
		v[i] = (struct block_sample){.entity = (int64_t)i / 2,
			.t_ns = 1000 + (int64_t)i % 2 * 7,
			.value = i * i * i * 977};
	for (size_t i = 0; i < rw_countof(segments); i++)
		segments[i] = (struct tail_segment){.metric = (int64_t)(i * i),
			.is_f64 = i & 1,
			.samples = v,
			.n = rw_countof(v) - i};
	if (tail_encode(segments, rw_countof(segments), &row) < 0)
		abort();
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
