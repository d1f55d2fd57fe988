/*
 * mix - an honest mix of counters for benchmarks: three quarters idle, the others octets and
 * packets of busy 400G ports, queue depths, marks in bursts, temperatures, ratios. The same seed
 * gives the same stream to every program that is measured.
 */
#ifndef RW_BENCH_MIX_H
#define RW_BENCH_MIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Next value of a series (bits of a double where the kind says so) from the one before; @i is the
 * number of the poll, 0 = the first. */
typedef uint64_t mix_fn(uint64_t before, uint32_t i);

struct mix_kind {
	const char *name;
	mix_fn *next;
	/* series of a port in one metric, at most 8; metrics of that kind */
	uint32_t per_port, metrics;
	bool is_f64;
};
extern const struct mix_kind mix_kinds[];
extern const size_t mix_n_kinds;

/* mix_series_per_port - series of a port in all kinds: 94. */
uint32_t mix_series_per_port(void);

/* mix_chance - a number below @n from the stream's own source of chance. */
uint64_t mix_chance(uint64_t n);

#endif
