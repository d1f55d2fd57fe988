/*
 * bench_block - bytes and time per sample of the codec of blocks, over an honest mix: 94 series a
 * port, three quarters idle, the others octets and packets of busy 400G ports, queue depths, marks
 * in bursts, temperatures, ratios. One slice is 120 instants.
 *
 *   bench_block [PORTS [INSTANTS]]                table of figures; 16 ports, 8640 instants (a day)
 *   bench_block write HOST PORT PORTS INSTANTS    sends the same stream by Prometheus remote write
 *
 * bench_block_peer.sh runs both against victoria-metrics.
 */
#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "db/block/bits.h"
#include "db/block/block_codec.h"
#include "db/model/sample.h"

enum { SLICE = 120 };

static uint64_t chance_state = 88172645463325252;

static uint64_t chance(uint64_t n)
{
	chance_state ^= chance_state << 13;
	chance_state ^= chance_state >> 7;
	chance_state ^= chance_state << 17;
	return (chance_state >> 11) % n;
}
static double chance_even(void)
{
	return (double)chance(1 << 30) / (1 << 30);
}

/* Next value of a series from the one before. */
typedef uint64_t kind_fn(uint64_t before, uint32_t i);

static uint64_t kind_idle(uint64_t before, uint32_t i)
{
	if (i > 0)
		return before;
	if (chance(3))
		return 0;
	return chance(1000000000);
}
static uint64_t kind_rare(uint64_t before, uint32_t i)
{
	if (i == 0)
		return chance(100000);
	if (chance(500) == 0)
		return before + 1 + chance(20);
	return before;
}
static uint64_t kind_octets(uint64_t before, uint32_t i)
{
	if (i == 0)
		return chance(1000000000000000);
	double load = 0.35 + 0.1 * chance_even();
	if (chance(6) == 0) /* between two collectives */
		load = 0.9 * chance_even();
	return before + (uint64_t)(load * 400e9 / 8 * 10);
}
static uint64_t kind_packets(uint64_t before, uint32_t i)
{
	if (i == 0)
		return chance(1000000000000);
	return before + (uint64_t)((0.3 + 0.15 * chance_even()) * 400e9 / 8 * 10 / 4170);
}
static uint64_t kind_depth(uint64_t before, uint32_t i)
{
	if (chance(4))
		return 0;
	return 254 * chance(chance(10) ? 60 : 4000);
}
static uint64_t kind_burst(uint64_t before, uint32_t i)
{
	static uint32_t left;
	if (i == 0)
		return chance(1000000000);
	if (left == 0 && chance(40) == 0)
		left = 1 + (uint32_t)chance(8);
	if (left == 0)
		return before;
	left--;
	return before + chance(200000);
}
static uint64_t kind_warm(uint64_t before, uint32_t i)
{
	double celsius = 45 + (double)chance(100) / 10;
	if (i > 0)
		celsius = sample_f64(before) + 0.1 * ((double)chance(5) - 2);
	return sample_of_f64((double)(int64_t)(celsius * 10 + 0.5) / 10);
}
static uint64_t kind_ratio(uint64_t before, uint32_t i)
{
	return sample_of_f64((double)chance(500000000) / 500000000);
}

static const struct kind {
	const char *name;
	kind_fn *next;
	uint32_t per_port, metrics; /* series of a port in one metric; metrics like that */
	bool is_f64;
} kinds[] = {
	{"idle", kind_idle, 8, 4, false},
	{"idle, one a port", kind_idle, 1, 30, false},
	{"errors, rare", kind_rare, 8, 1, false},
	{"octets", kind_octets, 3, 2, false},
	{"packets", kind_packets, 3, 2, false},
	{"queue depth", kind_depth, 2, 2, false},
	{"marks, in bursts", kind_burst, 2, 2, false},
	{"temperature", kind_warm, 1, 2, true},
	{"ratio", kind_ratio, 1, 2, true},
};

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
			(int64_t)chance(30000000);
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

static void measure_metric(const struct kind *kind, uint32_t series, const int64_t *t_ns,
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
	for (size_t k = 0; k < rw_countof(kinds); k++) {
		struct figures f = {0};
		for (uint32_t m = 0; m < kinds[k].metrics; m++)
			measure_metric(&kinds[k], ports * kinds[k].per_port, t_ns, instants, &f);
		figures_print(kinds[k].name, &f);
		const double *from = &f.samples;
		for (size_t i = 0; i < sizeof(f) / sizeof(double); i++)
			(&total.samples)[i] += from[i];
	}
	figures_print("all", &total);
	free(t_ns);
	return 0;
}

/* ---- the peer: remote write, a field at a time (protobuf), snappy literals ------------ */

static void proto_bytes(struct str *out, unsigned field, const char *bytes, size_t n)
{
	bits_add_u8(out, field << 3 | 2);
	bits_add_uvar(out, n);
	str_addn(out, bytes, n);
}

static void proto_label(struct str *series, const char *name, const char *value)
{
	struct str label = {0};
	proto_bytes(&label, 1, name, strlen(name));
	proto_bytes(&label, 2, value, strlen(value));
	proto_bytes(series, 1, label.s, label.n);
	str_done(&label);
}

struct peer_series {
	const struct kind *kind;
	uint64_t value;
	struct str labels;
};

static void peer_sample(struct str *request, struct peer_series *series, int64_t t_ns, uint32_t i)
{
	struct str body = {0}, sample = {0};
	double number;

	series->value = series->kind->next(series->value, i);
	number = (double)series->value;
	if (series->kind->is_f64)
		number = sample_f64(series->value);
	bits_add_u8(&sample, 1 << 3 | 1);
	str_addn(&sample, (const char *)&number, 8);
	bits_add_u8(&sample, 2 << 3);
	bits_add_uvar(&sample, (uint64_t)(t_ns / 1000000));
	str_addn(&body, series->labels.s, series->labels.n);
	proto_bytes(&body, 2, sample.s, sample.n);
	proto_bytes(request, 1, body.s, body.n);
	str_done(&sample);
	str_done(&body);
}

static void snappy_literals(const struct str *in, struct str *out)
{
	bits_add_uvar(out, in->n);
	for (size_t at = 0; at < in->n; at += 60000) {
		const size_t n = in->n - at < 60000 ? in->n - at : 60000;
		bits_add_u8(out, 61 << 2);
		bits_add_u8(out, (unsigned)(n - 1) & 0xff);
		bits_add_u8(out, (unsigned)(n - 1) >> 8);
		str_addn(out, in->s + at, n);
	}
}

static int peer_post(int fd, const struct str *body)
{
	struct str head = {0};
	char answer[4096];
	size_t sent = 0;

	str_addf(&head,
		"POST /api/v1/write HTTP/1.1\r\nHost: localhost\r\nContent-Encoding: snappy\r\n"
		"Content-Type: application/x-protobuf\r\nContent-Length: %zu\r\n\r\n",
		body->n);
	str_addn(&head, body->s, body->n);
	while (sent < head.n) {
		const ssize_t n = write(fd, head.s + sent, head.n - sent);
		if (n <= 0)
			return -1;
		sent += (size_t)n;
	}
	str_done(&head);
	const ssize_t n = read(fd, answer, sizeof(answer) - 1);
	if (n <= 12 || strncmp(answer + 9, "204", 3) != 0) {
		fprintf(stderr, "answer: %.*s\n", (int)n, answer);
		return -1;
	}
	return 0;
}

static int peer_write(const char *host, const char *port, uint32_t ports, uint32_t instants)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(port))};
	const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct peer_series *series = rw_calloc((size_t)ports * 200, sizeof(*series));
	int64_t *t_ns = make_instants(instants);
	size_t n = 0;
	char name[64], of[32];

	inet_pton(AF_INET, host, &to.sin_addr);
	if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) < 0) {
		perror("connect");
		return 1;
	}
	for (size_t k = 0; k < rw_countof(kinds); k++)
		for (uint32_t m = 0; m < kinds[k].metrics; m++)
			for (uint32_t s = 0; s < ports * kinds[k].per_port; s++) {
				series[n].kind = &kinds[k];
				snprintf(name, sizeof(name), "metric_%zu_%u", k, m);
				snprintf(of, sizeof(of), "port%u", s);
				proto_label(&series[n].labels, "__name__", name);
				proto_label(&series[n].labels, "device", "leaf1");
				proto_label(&series[n++].labels, "port", of);
			}
	for (uint32_t i = 0; i < instants; i++) {
		struct str request = {0}, packed = {0};
		for (size_t s = 0; s < n; s++)
			peer_sample(&request, &series[s], t_ns[i], i);
		snappy_literals(&request, &packed);
		if (peer_post(fd, &packed) < 0)
			return 1;
		str_done(&request);
		str_done(&packed);
	}
	printf("%zu series, %.0f samples\n", n, (double)n * instants);
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
	if (argc > 3 && strcmp(argv[1], "write") == 0)
		return peer_write(argv[2], argv[3], argument(argc, argv, 4, 16),
			argument(argc, argv, 5, 8640));
	return measure(argument(argc, argv, 1, 16), argument(argc, argv, 2, 8640));
}
