/*
 * rollup - what one series was over a stretch of time: count, least, greatest, mean, quantiles, the
 * increase of a counter, and how much of the time was seen. Pure; one thread.
 *
 * A stretch is (from, to], as in windows: a poll at 10:00:00 closes the minute before 10:00. For
 * counters min, max, sum and the quantiles are those of the rate between two samples, per second.
 * Late and suspect samples do not count, as in series_increase().
 */
#pragma once

#include "base/base.h"

struct rollup_sketch;
struct sample;
struct rollup_track;

/* Where the numbers came from: single values, or minutes or hours that were made of them before
 * the single values went. */
enum rollup_tier { ROLLUP_RAW, ROLLUP_MINUTE, ROLLUP_HOUR };

struct rollup {
	int64_t from_ns, to_ns; /* (from, to] */
	uint32_t entity;
	uint16_t metric;
	uint16_t flags; /* of all its samples together */
	enum rollup_tier tier;
	uint32_t count; /* samples that count */
	uint32_t numbers; /* values, or rates between samples, behind min, max, sum */
	double min, max, sum; /* NAN when .numbers is 0 */
	/* exact for few numbers, else within 1 %; of minutes of few numbers that stand for single
	 * values, by the least, the greatest and the mean (rollup_codec.h); NAN when not known */
	double p50, p95, p99;
	uint64_t first, last; /* as stored; when .count > 0 */
	int64_t first_ns, last_ns;
	/* Counters: the increase and the time that it spans, which is the divisor of a rate and may
	 * begin before the stretch. .intervals 0: there is none. */
	uint64_t increase;
	int64_t covered_ns;
	uint32_t intervals, resets, suspects;
	/* The part in which samples followed each other closely, at most the whole stretch. */
	int64_t seen_ns;
	int64_t longest_ns; /* the longest time without a sample before one of these */
};
struct rollup_track *rollup_track_new(uint32_t entity, uint16_t metric);
void rollup_track_free(struct rollup_track *track);
void rollup_track_anchor(struct rollup_track *track, const struct sample *sample);
void rollup_track_add(struct rollup_track *track, const struct sample *sample);

/* rollup_track_add_columns - the same for each of @columns, ascending in time: a tenth of the work
 * where no sample has a flag and no counter steps back. */
struct rollup_columns {
	uint32_t n;
	const int64_t *t_ns;
	const uint64_t *value;
	const uint16_t *flags;
	struct rollup_clock *clock; /* NULL, or of all series that are lent the same instants */
};
void rollup_track_add_columns(struct rollup_track *track, const struct rollup_columns *columns);

/* What lent instants come to, reckoned once for all series that have them. Begins as zeroes.
 * rollup_clock_forget - before their memory has something else. rollup_clock_done - frees. */
struct rollup_clock {
	const int64_t *t_ns;
	const uint16_t *flags;
	uint32_t n, cap;
	unsigned any_flags;
	double *seconds; /* since the instant before, from the second one on */
	/* where the time before was .before_ns and the usual one .spacing_ns: */
	bool times, any_before;
	int64_t before_ns, spacing_ns, next_spacing_ns, longest_ns, seen_ns;
};
void rollup_clock_forget(struct rollup_clock *clock);
void rollup_clock_done(struct rollup_clock *clock);
/* rollup_track_no_quantiles - they are not asked for, and are most of the work: they stay NAN. */
void rollup_track_no_quantiles(struct rollup_track *track);

bool rollup_track_close(
	struct rollup_track *track, int64_t from_ns, int64_t to_ns, struct rollup *ret);

/* rollup_track_close_sketch - the same; the numbers behind the quantiles move to @ret_sketch, which
 * is empty before (free with rollup_sketch_done()). */
bool rollup_track_close_sketch(struct rollup_track *track, int64_t from_ns, int64_t to_ns,
	struct rollup *ret, struct rollup_sketch *ret_sketch);

/* rollup_merge - adds what the same series was in another stretch, earlier or later, that does not
 * overlap: @into then reaches over both. Quantiles are not set: the caller merges sketches and
 * calls rollup_quantiles() once. Increases include the step between the two, because the later one
 * counted it. */
void rollup_merge(struct rollup *into, const struct rollup *next);
void rollup_quantiles(struct rollup *rollup, struct rollup_sketch *sketch);

/* rollup_spacing - does an interval of @ns count as seen, or is it a gap? @spacing_ns is what the
 * intervals before it were like (0 = none yet), and follows them. */
bool rollup_spacing(int64_t *spacing_ns, int64_t ns);

/* rollup_step_of - the number of the step (k*step, (k+1)*step] that holds @t_ns, also before 1970.
 */
int64_t rollup_step_of(int64_t t_ns, int64_t step_ns);

/*
 * rollup_sketch - quantiles of many numbers in little memory. Few numbers are kept as they are and
 * answered exactly; more go into bins, 64 to each power of two, so that every answer is within
 * 0.8 % of a number at that rank. Sketches merge without loss.
 *
 * Source: Masson, Rim, Lee, "DDSketch: A Fast and Fully-Mergeable Quantile Sketch with
 * Relative-Error Guarantees", PVLDB 12(12), 2019; the bins are its linearly interpolated mapping.
 */

struct rollup_bin {
	int32_t key; /* ordered as the numbers are: negative ones below, 0 is zero */
	uint64_t n;
};
struct rollup_sketch {
	double *values; /* as long as they are few */
	size_t n_values, cap_values;
	struct rollup_bin *bins; /* sorted by key */
	size_t n_bins, cap_bins;
	uint64_t n;
};

/* NAN is left out. */
void rollup_sketch_add(struct rollup_sketch *sketch, double value);
/* rollup_sketch_bins - fills @sketch, which is empty, with the bins of @n numbers, none NAN,
 * between
 * @min and @max. */
void rollup_sketch_bins(
	struct rollup_sketch *sketch, const double *numbers, size_t n, double min, double max);
/* rollup_sketch_key - the bin of a number. rollup_sketch_pack - from now on as bins.
 * rollup_sketch_add_bin - @n numbers of a bin that another sketch had. rollup_sketch_merge - adds
 * all of @from. */
int32_t rollup_sketch_key(double value);
void rollup_sketch_pack(struct rollup_sketch *sketch);
void rollup_sketch_add_bin(struct rollup_sketch *sketch, int32_t key, uint64_t n);
void rollup_sketch_merge(struct rollup_sketch *sketch, const struct rollup_sketch *from);
/* rollup_sketch_quantile - at 0..1; NAN when it is empty. Sorts what is kept. */
double rollup_sketch_quantile(struct rollup_sketch *sketch, double at);
void rollup_sketch_done(struct rollup_sketch *sketch);
