/*
 * tail_codec - layout of a row: u8 version, LEB128 count of metrics, u8 bits of a metric, u8 bits
 * of an end; arrays of that many bits, each ended at a byte: metrics, ends of their blocks; the
 * blocks; u32 sum of all these bytes.
 */
#include "db/block/tail_codec.h"

#include <errno.h>
#include "db/block/bits.h"

enum { TAIL_VERSION = 1, TAIL_METRICS_MAX = 1 << 20 };

static void tail_array(const uint64_t *numbers, size_t n, unsigned width, struct str *out)
{
	const size_t size = bits_bytes(n, width);
	uint8_t *at = bits_room(out, size + BITS_PAD);

	memset(at, 0, size + BITS_PAD);
	for (size_t i = 0; i < n && width; i++)
		bits_set(at, i, width, numbers[i]);
	out->n += size;
}

int tail_encode(const struct tail_segment *segments, size_t n, struct str *out)
{
	rw_cleanup(str_done) struct str blocks = {0};
	rw_cleanup(freep) uint64_t *numbers = rw_calloc(2 * n + 1, sizeof(*numbers));
	uint64_t *ends = numbers + n;

	for (size_t i = 0; i < n; i++) {
		const struct tail_segment *segment = &segments[i];
		if (segment->metric < 0 || (i > 0 && segment->metric <= segments[i - 1].metric))
			return -EINVAL;
		const int r = block_encode(
			segment->samples, segment->n, BLOCK_FAST, segment->is_f64, &blocks);
		if (r < 0)
			return r;
		numbers[i] = segment->metric;
		ends[i] = blocks.n;
	}
	if (n > TAIL_METRICS_MAX)
		return -E2BIG;
	unsigned metric_bits = 0;
	if (n > 0)
		metric_bits = bits_width(numbers[n - 1]); /* the highest */
	const unsigned end_bits = bits_width(blocks.n);
	const size_t begin = out->n;
	bits_add_u8(out, TAIL_VERSION);
	bits_add_uvar(out, n);
	bits_add_u8(out, metric_bits);
	bits_add_u8(out, end_bits);
	tail_array(numbers, n, metric_bits, out);
	tail_array(ends, n, end_bits, out);
	str_addn(out, blocks.s, blocks.n);
	bits_add_sum(out, begin);
	return 0;
}

int64_t tail_metric_number(const struct tail_reader *tail, uint32_t i)
{
	return (int64_t)bits_at(tail->metrics, tail->metrics_size, i, tail->metric_bits);
}

static uint64_t tail_end(const struct tail_reader *tail, uint32_t i)
{
	return bits_at(tail->ends, tail->ends_size, i, tail->end_bits);
}

static bool tail_ascends(const struct tail_reader *tail)
{
	for (uint32_t i = 0; i < tail->n_metrics; i++) {
		if (tail_end(tail, i) > tail->segments_size)
			return false;
		if (i == 0)
			continue;
		if (tail_metric_number(tail, i) <= tail_metric_number(tail, i - 1))
			return false;
		if (tail_end(tail, i) < tail_end(tail, i - 1))
			return false;
	}
	return true;
}

int tail_open(struct tail_reader *ret, const void *data, size_t size)
{
	struct bytes bytes = bits_without_sum(data, size);
	const unsigned version = bytes_u8(&bytes);
	const uint64_t n = bits_uvar(&bytes);

	*ret = (struct tail_reader){0};
	ret->metric_bits = bytes_u8(&bytes);
	ret->end_bits = bytes_u8(&bytes);
	if (!bytes_ok(&bytes) || version != TAIL_VERSION || n > TAIL_METRICS_MAX ||
		ret->metric_bits > 63 || ret->end_bits > 64)
		return -EBADMSG;
	ret->metrics_size = bits_bytes(n, ret->metric_bits);
	ret->ends_size = bits_bytes(n, ret->end_bits);
	ret->metrics = bytes_take(&bytes, ret->metrics_size);
	ret->ends = bytes_take(&bytes, ret->ends_size);
	ret->segments_size = bytes_left(&bytes);
	ret->segments = bytes_take(&bytes, ret->segments_size);
	if (!bytes_ok(&bytes))
		return -EBADMSG;
	ret->n_metrics = (uint32_t)n;
	if (tail_ascends(ret))
		return 0;
	ret->n_metrics = 0;
	return -EBADMSG;
}

int64_t tail_find(const struct tail_reader *tail, int64_t metric)
{
	uint32_t lo = 0, hi = tail->n_metrics;

	while (lo < hi) {
		const uint32_t mid = lo + (hi - lo) / 2;
		if (tail_metric_number(tail, mid) < metric)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < tail->n_metrics && tail_metric_number(tail, lo) == metric)
		return lo;
	return -1;
}

int tail_metric(const struct tail_reader *tail, uint32_t i, struct block_reader *ret)
{
	uint64_t begin = 0;

	if (i > 0)
		begin = tail_end(tail, i - 1);
	return block_open(ret, tail->segments + begin, (size_t)(tail_end(tail, i) - begin));
}
