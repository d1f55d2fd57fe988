/*
 * tail_codec - one row of the open tail: what one device said in one transaction, a block of
 * BLOCK_FAST per metric; pure. A row needs no other row to be read.
 */
#ifndef RW_DB_TAIL_CODEC_H
#define RW_DB_TAIL_CODEC_H

#include "db/block/block_codec.h"

struct tail_segment {
	int64_t metric; /* its number in the file, not below 0 */
	bool is_f64;
	const struct block_sample *samples; /* as block_encode() takes them */
	size_t n;
};

/* tail_encode - appends a row of @n segments, metrics ascending, each once. 0 or as block_encode(),
 * and then @out is as before. */
int tail_encode(const struct tail_segment *segments, size_t n, struct str *out);

/* An open row; it borrows the bytes. */
struct tail_reader {
	uint32_t n_metrics;
	const uint8_t *metrics, *ends, *segments;
	size_t metrics_size, ends_size, segments_size;
	uint8_t metric_bits, end_bits;
};

/* tail_open - 0 or -EBADMSG. tail_metrics - how many metrics the row has. */
int tail_open(struct tail_reader *ret, const void *data, size_t size);
static inline uint32_t tail_metrics(const struct tail_reader *tail)
{
	return tail->n_metrics;
}
/* tail_metric_number - of metric @i; ascending. tail_find - the @i of a metric, or -1. */
int64_t tail_metric_number(const struct tail_reader *tail, uint32_t i);
int64_t tail_find(const struct tail_reader *tail, int64_t metric);
/* tail_metric - opens the samples of metric @i. 0 or -EBADMSG. */
int tail_metric(const struct tail_reader *tail, uint32_t i, struct block_reader *ret);

#endif
