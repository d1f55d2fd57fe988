/*
 * block_codec - the samples of one metric of one device as bytes; pure. A block is a directory of
 * ascending entity numbers, the instants that the series share, and the values of each series, so
 * that one series is read without the others.
 *
 *   BLOCK_FAST   for the open tail: written quickly, one pass over everything
 *   BLOCK_SMALL  for the sealed slice: each series in the smallest of the forms of number_codec.h
 *
 * Exact for every u64 and every pattern of bits of a double. What is read is foreign: all lengths
 * are checked, and memory is bounded by BLOCK_SERIES_MAX and BLOCK_SAMPLES_MAX.
 */
#pragma once

#include "base/base.h"

struct block_sample {
	int64_t entity, t_ns;
	uint64_t value; /* bits: u64, double or text id, as the metric's type says */
	uint32_t window_ms;
	uint16_t flags, source; /* enum sample_flag, enum sample_source */
};

struct block_columns { /* t_ns strictly ascending; not to be written by who reads them */
	uint32_t n;
	bool constant; /* all values are equal; false also where nobody looked */
	int64_t *t_ns;
	uint64_t *value;
	uint16_t *flags, *source;
	uint32_t *window_ms;
};

enum block_form { BLOCK_FAST, BLOCK_SMALL };

/*
 * block_encode - appends a block of @n samples, sorted by (entity, t_ns), each pair once, entities
 * not below 0; n may be 0. @is_f64: the values are bits of doubles (any bits are kept, this only
 * chooses forms). 0, or -E2BIG above the bounds of a block: cut it in time. -EINVAL when the
 * samples are not in order.
 */
int block_encode(const struct block_sample *samples, size_t n, enum block_form form, bool is_f64,
	struct str *out);

/* What a device said of one metric at several instants: the same series each time, all with the
 * same flags, source and window. Value @j of series @i is value[i * stride + j]. */
struct block_matrix {
	uint32_t n_series, n; /* instants */
	const int64_t *entity, *t_ns; /* both strictly ascending, entities not below 0 */
	const uint64_t *value;
	size_t stride;
	uint16_t flags, source;
	uint32_t window_ms;
};

/* block_encode_matrix - appends the bytes that block_encode() makes of the same samples with
 * BLOCK_SMALL. 0 or -E2BIG. */
int block_encode_matrix(const struct block_matrix *matrix, bool is_f64, struct str *out);

/* An open block; its fields are the codec's. It borrows the bytes. One thread. */
struct block_reader {
	const uint8_t *entities, *lists, *places; /* arrays of numbers of so many bits */
	size_t entities_size, lists_size, places_size;
	const uint8_t *times, *payload;
	size_t times_size, payload_size;
	const uint8_t *time_places;
	size_t time_places_size;
	uint64_t entity_base, entity_step;
	uint32_t n_series, n_lists, n_samples;
	uint8_t entity_bits, list_bits, place_bits, time_place_bits;
	bool fast, is_f64;
	uint16_t flags, source; /* of samples without an exception */
	uint32_t window_ms;
	/* BLOCK_FAST: where the last series that was read ended */
	const uint8_t *sizes, *runs;
	size_t runs_size;
	uint32_t at_series, at_sample;
	size_t at_byte;
	/* columns of the series that was read last, which the next one may share */
	const struct arena *shared; /* see block_share(); NULL = nothing is shared */
	bool last_valid;
	uint32_t last_list, last_n;
	int64_t *last_t_ns;
	uint16_t *last_flags, *last_source; /* without an exception; NULL = not made yet */
	uint32_t *last_window_ms;
};

/* block_open - checks the head, the directory and (BLOCK_SMALL) the sum of all @size bytes at
 * @data, which are lent for as long as @ret is used. 0 or -EBADMSG: these bytes are not what was
 * written.
 */
int block_open(struct block_reader *ret, const void *data, size_t size);
/* block_open_like - cheaper where it has the same series as the open block @like; NULL: as above.
 */
int block_open_like(
	struct block_reader *ret, const void *data, size_t size, const struct block_reader *like);

static inline uint32_t block_series(const struct block_reader *reader)
{
	return reader->n_series;
}
static inline uint32_t block_samples(const struct block_reader *reader)
{
	return reader->n_samples;
}
static inline bool block_is_f64(const struct block_reader *reader)
{
	return reader->is_f64;
}

/* block_entity - entity number of series @i; ascending. @i below block_series(). */
int64_t block_entity(const struct block_reader *reader, uint32_t i);
/* block_from - the first series whose entity is not below @entity; block_series() when there is
 * none. */
uint32_t block_from(const struct block_reader *reader, int64_t entity);

/*
 * block_read - the samples of series @i in [@from_ns, @to_ns], in @a; .n may be 0. Cheapest in
 * ascending order of @i. 0 or -EBADMSG.
 *
 * block_share - from now on, series that are read into @a share columns (instants, and the flags,
 * sources and windows without an exception): cheaper by half where many series are read. They are
 * lent until @a is reset or freed; block_share(reader, NULL), or opening the block again, comes
 * before the next block_read() then.
 */
static inline void block_share(struct block_reader *reader, const struct arena *a)
{
	reader->shared = a;
	reader->last_valid = false;
}
int block_read(struct block_reader *reader, uint32_t i, int64_t from_ns, int64_t to_ns,
	struct arena *a, struct block_columns *ret);

/* block_read_matrix - all samples of a block of BLOCK_SMALL whose series have the same instants and
 * no exceptions: value j of series i into @value[i * stride + j], the instants into @t_ns, which
 * have room for block_instants_max() numbers each. block_instants_max() - 0 where it is no such
 * block. block_read_instants, block_read_values - the instants alone, and the values of series @i.
 * 0 or -EBADMSG. */
uint32_t block_instants_max(const struct block_reader *reader);
int block_read_instants(const struct block_reader *reader, int64_t *t_ns);
int block_read_values(const struct block_reader *reader, uint32_t i, uint64_t *value);
int block_read_matrix(struct block_reader *reader, uint64_t *value, size_t stride, int64_t *t_ns);
/* block_same_series - do two blocks of the kind have the same series? */
bool block_same_series(const struct block_reader *left, const struct block_reader *right);

/* block_instants - the instants of series @i alone, in @a; those of the series before where they
 * are the same and shared with it (block_share()). *@ret_marked: some samples have flags of their
 * own, which block_read() tells. 0 or -EBADMSG. */
int block_instants(struct block_reader *reader, uint32_t i, struct arena *a,
	struct block_columns *ret, bool *ret_marked);

/*
 * block_decode - all samples, in the order that block_encode() took; the way back for merging.
 * Appends to the array @v of @n samples with room for @cap (malloc; may begin as NULL, 0, 0). 0 or
 * -EBADMSG, and then @n is as before.
 */
int block_decode(struct block_reader *reader, struct block_sample **v, size_t *n, size_t *cap);

/*
 * tail_codec - one row of the open tail: what one device said in one transaction, a block of
 * BLOCK_FAST per metric; pure. A row needs no other row to be read.
 */

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
/* tail_metric - opens the samples of metric @i; @like as block_open_like() takes it. 0 or -EBADMSG.
 */
int tail_metric(const struct tail_reader *tail, uint32_t i, const struct block_reader *like,
	struct block_reader *ret);

/*
 * tail_grid - rows of one metric side by side, which is how nearly all of them lie: each has one
 * sample of each series, of one instant and without an exception, and the rows have the same series
 * in order of time. One thread; begins as zeroes, keeps its memory until tail_grid_done().
 */
struct tail_grid_row {
	const uint8_t *sizes, *values;
	size_t values_size;
};
struct tail_grid {
	struct block_reader first;
	struct tail_grid_row *rows;
	int64_t *t_ns; /* of each row */
	size_t n, cap_rows, cap_t_ns;
	int64_t *entity;
	uint64_t *value;
	size_t cap_entity, cap_value;
};
void tail_grid_done(struct tail_grid *grid);
void tail_grid_clear(struct tail_grid *grid);
/* tail_grid_add - metric @i of a row, whose bytes are lent until the grid is cleared; false: it is
 * not of the kind, which says nothing about whether it is damaged. */
bool tail_grid_add(struct tail_grid *grid, const struct tail_reader *tail, uint32_t i);
/* tail_grid_take - the same of an open metric of a row, whose bytes are lent as those. */
bool tail_grid_take(struct tail_grid *grid, const struct block_reader *reader);
/* tail_grid_stands - do all rows say the same values? */
bool tail_grid_stands(const struct tail_grid *grid);
/* tail_grid_matrix - all values, lent until the next call; false: a row is damaged. */
bool tail_grid_matrix(struct tail_grid *grid, struct block_matrix *ret);
