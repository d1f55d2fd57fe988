/*
 * bench_clickhouse - rows of samples into a real ClickHouse server: by the agent's own sending,
 * with and without packing, and the same bytes by clickhouse-client. One run, one server, in turn.
 * Usage: bench_clickhouse URL CLIENT_PORT [ports] [rounds]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "db/clickhouse/ch_client.h"
#include "db/clickhouse/ch_rows.h"

static double cpu_s(int who)
{
	struct rusage usage;
	getrusage(who, &usage);
	return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
		(double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

/* All metrics of ports, of @ports ports, at one instant. */
static void bench_batch(size_t ports, int round, struct arena *a, struct spool_batch *ret)
{
	struct spool_name *names = arena_array(a, struct spool_name, ports);
	struct sample *v = arena_array(a, struct sample, ports * METRIC_COUNT);
	struct spool_samples *samples = arena_new_of(a, struct spool_samples);
	struct spool_chunk *chunk = arena_new_of(a, struct spool_chunk);
	size_t n = 0;
	uint64_t seed = 1;
	for (size_t p = 0; p < ports; p++) {
		names[p] = (struct spool_name){arena_printf(a, "leaf%zu", p / 64),
			arena_printf(a, "Ethernet%zu", p % 64), PRIO_NONE};
		for (unsigned m = 0; m < METRIC_COUNT; m++) {
			if (metric_info(m)->scope != SCOPE_PORT ||
				metric_info(m)->type == TYPE_TEXT)
				continue;
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			uint64_t value = (uint64_t)round * (1000 + m % 7 * (seed >> 50));
			if (metric_info(m)->type == TYPE_F64)
				value = sample_of_f64((double)(seed >> 40) * 1e-12);
			v[n++] =
				(struct sample){.t_ns = 1700000000000000000 + round * 10 * NS_PER_S,
					.entity = (uint32_t)p,
					.metric = (uint16_t)m,
					.value = value,
					.source = SOURCE_SNMP};
		}
	}
	*samples = (struct spool_samples){.names = names, .n_names = ports, .v = v, .n = n};
	chunk->samples = samples;
	ret->parts = arena_new_of(a, struct spool_part);
	ret->parts[0] = (struct spool_part){.seq = round + 1, .chunks = chunk, .n = 1};
	ret->n = 1;
	ret->n_samples = n;
}

struct bench_way {
	const char *name;
	uint64_t rows, samples, bytes;
	double wall_s, cpu_s; /* cpu: of the sender, without the server */
};

static void bench_print(const struct bench_way *way)
{
	printf("%-28s %9.0f rows/s %8.2f M samples/s %7.1f MB/s   sender %.3f CPU s per M "
	       "samples\n",
		way->name, (double)way->rows / way->wall_s,
		(double)way->samples / way->wall_s / 1e6, (double)way->bytes / way->wall_s / 1e6,
		way->cpu_s / ((double)way->samples / 1e6));
}

static int bench_client(const char *sql, const struct str *rows, const char *port)
{
	char command[4096 + 8192];
	snprintf(command, sizeof(command),
		"clickhouse-client --host 127.0.0.1 --port %s --database bench --query \"%s\"",
		port, sql);
	for (char *p = command; *p; p++) /* the shell's own quotes */
		if (*p == '`')
			*p = ' ';
	FILE *out = popen(command, "w");
	if (!out || fwrite(rows->s, 1, rows->n, out) != rows->n)
		return -1;
	return pclose(out);
}

static void bench_add(struct bench_way *way, const struct ch_insertion *one, uint64_t samples,
	int64_t begin_ns, double begin_cpu, int who)
{
	way->wall_s += (double)(mono_now().ns - begin_ns) / 1e9;
	way->cpu_s += cpu_s(who) - begin_cpu;
	way->rows += one->n;
	way->samples += samples;
	way->bytes += one->rows.n;
}

int main(int argc, char **argv)
{
	struct bench_way ways[] = {{.name = "encoding alone"}, {.name = "ship, as it is"},
		{.name = "ship, packed (gzip)"}, {.name = "clickhouse-client"}};
	size_t ports = 4096;
	int rounds = 5;
	struct err e = {0};
	if (argc < 3)
		return 2;
	if (argc > 3)
		ports = (size_t)atoi(argv[3]);
	if (argc > 4)
		rounds = atoi(argv[4]);
	curl_io_begin();
	struct ch_client client = {
		.url = argv[1], .database = "bench", .timeout_ns = 300 * NS_PER_S, .stop_fd = -1};
	rw_cleanup(str_done) struct str create = {0};
	ch_create(&create, "bench", SCOPE_PORT, NULL);
	if (ch_ask(&client, "DROP DATABASE IF EXISTS bench", true, 0, NULL, &e) < 0 ||
		ch_ask(&client, "CREATE DATABASE bench", true, 0, NULL, &e) < 0 ||
		ch_ask(&client, create.s, false, 0, NULL, &e) < 0) {
		err_print(stderr, &e);
		return 1;
	}
	for (int round = 0; round < rounds * 3; round++) {
		rw_cleanup(arena_freep) struct arena *a = arena_new();
		rw_cleanup(freep) struct ch_insertions *made = rw_calloc(1, sizeof(*made));
		struct spool_batch batch = {0};
		bench_batch(ports, round, a, &batch);
		int64_t begin_ns = mono_now().ns;
		double begin = cpu_s(RUSAGE_SELF);
		ch_insertions_of(&batch, "agent", made);
		const struct ch_insertion *one = &made->v[0];
		bench_add(&ways[0], one, batch.n_samples, begin_ns, begin, RUSAGE_SELF);
		begin_ns = mono_now().ns;
		begin = cpu_s(RUSAGE_SELF);
		int r;
		const int way = 1 + round % 3;
		if (way == 3) {
			begin = cpu_s(RUSAGE_CHILDREN);
			r = bench_client(one->sql.s, &one->rows, argv[2]);
			bench_add(
				&ways[way], one, batch.n_samples, begin_ns, begin, RUSAGE_CHILDREN);
		} else {
			client.packed = way == 2;
			r = ch_insert(&client, one->sql.s, &one->rows, &e);
			bench_add(&ways[way], one, batch.n_samples, begin_ns, begin, RUSAGE_SELF);
		}
		if (r != 0)
			err_print(stderr, &e);
		ch_insertions_done(made);
	}
	for (size_t i = 0; i < rw_countof(ways); i++)
		bench_print(&ways[i]);
	return 0;
}
