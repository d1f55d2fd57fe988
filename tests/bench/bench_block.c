/*
 * bench_block [PORTS [INSTANTS]] - bytes and time per sample of the codec of blocks, over the
 * honest mix (mix.h): 16 ports, 8640 instants (a day at 10 s) unless told otherwise. One slice is
 * 120 instants.
 */
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "db/block/block_codec.h"
#include "db/model/metric.h"
#include "tests/bench/mix.h"

enum { SLICE = 120 };

static double cpu_ns(void)
{
	struct rusage use;
	getrusage(RUSAGE_SELF, &use);
	return 1e9 * (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
		1e3 * (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec);
}

static int64_t *make_instants(uint32_t n)
{
	int64_t *t_ns = rw_calloc(n, sizeof(*t_ns));
	for (uint32_t i = 0; i < n; i++) /* an answer comes within 30 ms */
		t_ns[i] = INT64_C(1750000000000000000) + i * INT64_C(10000000000) +
			(int64_t)mix_chance(30000000);
	return t_ns;
}

struct figures {
	double samples, fast_bytes, small_bytes, fast_ns, small_ns, read_ns, decode_ns;
};

static void measure_read(struct block_reader *reader, struct figures *ret)
{
	struct arena *a = arena_new();
	struct block_columns columns;
	struct block_sample *back = NULL;
	size_t n = 0, cap = 0;
	double begin = cpu_ns();

	enum { AGAIN = 5 };
	for (unsigned again = 0; again < AGAIN; again++) {
		arena_reset(a);
		block_share(reader, a);
		for (uint32_t i = 0; i < block_series(reader); i++)
			if (block_read(reader, i, 0, INT64_MAX, a, &columns) < 0)
				abort();
	}
	ret->read_ns += (cpu_ns() - begin) / AGAIN;
	begin = cpu_ns();
	block_share(reader, NULL);
	if (block_decode(reader, &back, &n, &cap) < 0)
		abort();
	ret->decode_ns += cpu_ns() - begin;
	free(back);
	arena_free(a);
}

/* One slice of one metric, in both forms; the fast one as rows of the tail, an instant each. */
static void measure_slice(
	const struct block_sample *v, uint32_t series, uint32_t n, bool is_f64, struct figures *ret)
{
	struct block_sample *row = rw_calloc(series, sizeof(*row));
	struct str out = {0};
	struct block_reader reader;
	double begin = cpu_ns();

	if (block_encode(v, (size_t)series * n, BLOCK_SMALL, is_f64, &out) < 0)
		abort();
	ret->small_ns += cpu_ns() - begin;
	ret->small_bytes += (double)out.n;
	if (block_open(&reader, out.s, out.n) < 0)
		abort();
	measure_read(&reader, ret);
	for (uint32_t i = 0; i < n; i += 30) {
		for (uint32_t s = 0; s < series; s++)
			row[s] = v[s * n + i];
		begin = cpu_ns();
		for (unsigned again = 0; again < 30; again++) {
			out.n = 0;
			if (block_encode(row, series, BLOCK_FAST, is_f64, &out) < 0)
				abort();
		}
		ret->fast_ns += (cpu_ns() - begin) * n / 30 / ((n + 29) / 30);
		ret->fast_bytes += (double)out.n * n / ((n + 29) / 30);
	}
	ret->samples += (double)series * n;
	free(row);
	str_done(&out);
}

static void measure_metric(const struct mix_kind *kind, uint32_t series, const int64_t *t_ns,
	uint32_t instants, struct figures *ret)
{
	struct block_sample *v = rw_calloc((size_t)series * SLICE, sizeof(*v));
	uint64_t *values = rw_calloc((size_t)series * instants, sizeof(*values));

	for (uint32_t s = 0; s < series; s++)
		for (uint32_t i = 0; i < instants; i++) {
			uint64_t *at = values + (size_t)s * instants + i;
			*at = kind->next(i > 0 ? at[-1] : 0, i);
		}
	for (uint32_t from = 0; from < instants; from += SLICE) {
		const uint32_t n = instants - from < SLICE ? instants - from : SLICE;
		for (uint32_t s = 0; s < series; s++)
			for (uint32_t i = 0; i < n; i++)
				v[s * n + i] = (struct block_sample){.entity = 10 + s,
					.t_ns = t_ns[from + i],
					.value = values[(size_t)s * instants + from + i],
					.source = SOURCE_SNMP};
		measure_slice(v, series, n, kind->is_f64, ret);
	}
	free(values);
	free(v);
}

static void figures_print(const char *name, const struct figures *f)
{
	printf("%-18s %11.0f %9.3f %9.3f %9.1f %9.1f %9.1f %9.1f\n", name, f->samples,
		f->small_bytes / f->samples, f->fast_bytes / f->samples, f->small_ns / f->samples,
		f->fast_ns / f->samples, f->read_ns / f->samples, f->decode_ns / f->samples);
}

static int measure(uint32_t ports, uint32_t instants)
{
	int64_t *t_ns = make_instants(instants);
	struct figures total = {0};

	printf("%-18s %11s %9s %9s %9s %9s %9s %9s\n", "per sample", "samples", "B sealed",
		"B tail", "ns seal", "ns tail", "ns read", "ns decode");
	for (size_t k = 0; k < mix_n_kinds; k++) {
		struct figures f = {0};
		for (uint32_t m = 0; m < mix_kinds[k].metrics; m++)
			measure_metric(
				&mix_kinds[k], ports * mix_kinds[k].per_port, t_ns, instants, &f);
		figures_print(mix_kinds[k].name, &f);
		const double *from = &f.samples;
		for (size_t i = 0; i < sizeof(f) / sizeof(double); i++)
			(&total.samples)[i] += from[i];
	}
	figures_print("all", &total);
	free(t_ns);
	return 0;
}

static uint32_t argument(int argc, char **argv, int at, uint32_t otherwise)
{
	if (argc > at)
		return (uint32_t)strtoul(argv[at], NULL, 10);
	return otherwise;
}

int main(int argc, char **argv)
{
	return measure(argument(argc, argv, 1, 16), argument(argc, argv, 2, 8640));
}
