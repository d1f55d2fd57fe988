/*
 * rollup_codec - what the series of one metric of one device were in consecutive steps (minutes of
 * an hour, hours of a day), as bytes; pure. Series share what is equal: those that stand still cost
 * a few bytes for the whole row.
 */
#pragma once

#include "db/block/block_codec.h"
#include "db/series/rollup.h"
#include "base/base.h"

/* One step of one series. .rollup's entity, metric, tier and quantiles are not kept. */
struct rollup_bucket {
	int64_t entity; /* its number in the file */
	struct rollup rollup;
	struct rollup_sketch
		sketch; /* of .rollup.numbers numbers; may be empty where all are equal */
};

/* rollup_encode - appends a row of @n buckets, sorted by (entity, to_ns), of steps of @step_ns,
 * aligned to it. @rates: .min, .max and .sum are those of rates, which are rounded to 24 bits, in
 * @buckets too (6e-8 of the value). 0 or -EINVAL.
 *
 * Minutes of a few numbers are cut short. Exact are increase, last value and all that says when; of
 * gauges .sum within 1/510 of the spread, and .min and .max within 0.2 % where they are no short
 * decimal fractions; of rates .min, .max and .sum within 0.8 %; .first is the value at the border
 * of the minute; of the numbers behind the quantiles the least, the greatest and the mean are
 * known. */
int rollup_encode(
	struct rollup_bucket *buckets, size_t n, int64_t step_ns, bool rates, struct str *out);

/* The steps of one series: @n buckets from @first of an array on. A counter that stands still says
 * so, with its value: many such series then share buckets, whose .first and .last are written by
 * rollup_encode_series(). */
struct rollup_series {
	int64_t entity;
	size_t first;
	uint32_t n;
	bool stands;
	uint64_t value;
};
/* rollup_encode_series - the same of @n series, ascending. */
int rollup_encode_series(struct rollup_bucket *buckets, const struct rollup_series *series,
	size_t n, int64_t step_ns, bool rates, struct str *out);

#define ROLLUP_SHORT_MAX 12 /* numbers of a minute that is cut short; more are worth their bins */

/* An open row; it borrows the bytes. */
struct rollup_reader {
	const uint8_t *entities, *places, *payload;
	size_t entities_size, places_size, payload_size;
	uint64_t entity_base;
	int64_t step_ns;
	uint32_t n_series, n_buckets;
	uint8_t entity_bits, place_bits;
	bool rates, minutes; /* .minutes: of a version that cuts them short */
	bool no_quantiles; /* set by the caller: sketches stay empty */
};

/* rollup_open - checks the sum of all bytes and the directory. 0 or -EBADMSG. */
int rollup_open(struct rollup_reader *ret, const void *data, size_t size);
int64_t rollup_entity(const struct rollup_reader *reader, uint32_t i); /* ascending */

/* rollup_read - the buckets of series @i, ascending, in @a, sketches too (never
 * rollup_sketch_done() them). 0 or -EBADMSG. */
int rollup_read(const struct rollup_reader *reader, uint32_t i, struct arena *a,
	struct rollup_bucket **ret, uint32_t *ret_n);

/*
 * rollup_make - from the samples of a series to its minutes, and from minutes to an hour; pure. The
 * rules are those of db/series/rollup.h.
 */

#define ROLLUP_MINUTE_NS (INT64_C(60) * 1000000000)
#define ROLLUP_HOUR_NS (60 * ROLLUP_MINUTE_NS)
#define ROLLUP_DAY_NS (24 * ROLLUP_HOUR_NS)

struct rollup_list { /* of buckets; they own their sketches */
	struct rollup_bucket *v;
	size_t n, cap;
};
void rollup_list_done(struct rollup_list *list);

/*
 * rollup_make - appends the steps of one series. @v holds @n samples of one entity in order of
 * time; those up to @from_ns are older than the first step: the last usable one is what the first
 * increase counts from. @from_ns is a multiple of @step_ns. Entity, tier and quantiles of .rollup
 * are not set.
 */
void rollup_make(unsigned metric, const struct block_sample *v, size_t n, int64_t from_ns,
	int64_t step_ns, struct rollup_list *ret);

/*
 * rollup_make_matrix - minutes and the hour of all series of @matrix, which has no instant after
 * the hour and may have some up to @from_ns, where it begins. What rollup_make() and
 * rollup_coarser() make of the same samples, in a fraction of the work; the sketches of minutes of
 * a few numbers, which no row keeps, are empty. @ret begins as zeroes and keeps its memory.
 */
struct rollup_made {
	struct rollup_list minutes, hours;
	struct rollup_series *series;
	size_t n_series, cap_series;
	double *numbers; /* room */
	size_t cap_numbers;
	struct block_sample *samples;
	size_t cap_samples;
};
void rollup_make_matrix(unsigned metric, const struct block_matrix *matrix, int64_t from_ns,
	struct rollup_made *ret);
void rollup_made_clear(struct rollup_made *made);
void rollup_made_done(struct rollup_made *made);

/* rollup_coarser - appends to @ret the steps of @step_ns (a multiple of the finer one) that the @n
 * buckets @v make, sorted by (entity, time); each keeps its sketch, @ret has copies. */
void rollup_coarser(
	const struct rollup_bucket *v, size_t n, int64_t step_ns, struct rollup_list *ret);
