/*
 * bench_store - the write side beside other stores, on one stream: the honest mix of mix.h, 94
 * series a port, every port polled each 10 s, a commit (or a request) for each poll of all devices.
 *
 *   bench_store [FILE [POLLS [DEVICES [PORTS]]]]   into a database; CPU s per 1 M samples including
 *                                                  commits and sealing, bytes per sample
 *   bench_store --remote HOST PORT POLLS DEVICES PORTS
 *                                                  the same stream by Prometheus remote write
 *
 * FILE "" or none: a temporary one, removed at the end. bench_store_peers.sh runs both.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "db/model/entity.h"
#include "db/model/metric.h"
#include "db/open.h"
#include "db/store/store.h"
#include "tests/bench/mix.h"
#include "tests/bench/remote_write.h"

enum { POLLS = 720, DEVICES = 4, PORTS = 64 };

struct bench_series {
	const struct mix_kind *kind;
	uint64_t value;
	unsigned device, port;
	int priority;
	uint16_t metric;
	uint32_t entity;
	struct str labels;
};

struct bench_stream {
	struct bench_series *series; /* by device, then port */
	size_t n, per_device;
	unsigned polls, devices, ports;
};

static double cpu_s(void)
{
	struct rusage use;

	getrusage(RUSAGE_SELF, &use);
	return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
		(double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

/* A metric that no kind has yet: of the right type, and of priorities where a port has several. */
static uint16_t metric_free(bool *used, const struct mix_kind *kind)
{
	uint16_t found = METRIC_COUNT;

	for (uint16_t m = 0; m < METRIC_COUNT; m++) {
		const struct metric_info *info = metric_info(m);
		const bool fits =
			(info->type == TYPE_F64) == kind->is_f64 && info->type != TYPE_TEXT;
		if (used[m] || !fits)
			continue;
		found = m;
		if ((info->scope == SCOPE_PRIO) == (kind->per_port > 1))
			break;
	}
	if (found == METRIC_COUNT)
		abort();
	used[found] = true;
	return found;
}

static void stream_add_kind(struct bench_stream *stream, const struct mix_kind *kind,
	const uint16_t *metrics, unsigned device, unsigned port)
{
	for (uint32_t m = 0; m < kind->metrics; m++)
		for (uint32_t s = 0; s < kind->per_port; s++) {
			struct bench_series *to = &stream->series[stream->n++];
			to->kind = kind;
			to->device = device;
			to->port = port;
			to->metric = metrics[m];
			to->priority = PRIO_NONE;
			if (kind->per_port > 1)
				to->priority = (int)s;
		}
}

static void stream_make(struct bench_stream *stream)
{
	const size_t n = (size_t)stream->devices * stream->ports * mix_series_per_port();
	bool used[METRIC_COUNT] = {false};
	uint16_t metrics[METRIC_COUNT];
	size_t n_metrics = 0;

	for (size_t k = 0; k < mix_n_kinds; k++)
		for (uint32_t m = 0; m < mix_kinds[k].metrics; m++)
			metrics[n_metrics++] = metric_free(used, &mix_kinds[k]);
	stream->series = rw_calloc(n, sizeof(*stream->series));
	for (unsigned d = 0; d < stream->devices; d++)
		for (unsigned p = 0; p < stream->ports; p++) {
			size_t at = 0;
			for (size_t k = 0; k < mix_n_kinds; at += mix_kinds[k++].metrics)
				stream_add_kind(stream, &mix_kinds[k], metrics + at, d, p);
		}
	stream->per_device = stream->n / stream->devices;
}

/* All devices answer within 30 ms of a poll. */
static int64_t poll_time(unsigned poll, unsigned device)
{
	return INT64_C(1750000000000000000) + (int64_t)poll * 10 * NS_PER_S +
		device * INT64_C(60000);
}

static void series_next(struct bench_series *series, unsigned poll)
{
	series->value = series->kind->next(series->value, poll);
}

/* ---- into a database ------------------------------------------------------------------ */

static void stream_name(struct bench_stream *stream, struct entities *entities)
{
	char device[16], port[16];

	for (size_t i = 0; i < stream->n; i++) {
		struct bench_series *of = &stream->series[i];
		snprintf(device, sizeof(device), "leaf%u", of->device);
		snprintf(port, sizeof(port), "Ethernet%u", of->port);
		of->entity = entities_intern(entities, device, port, of->priority);
	}
}

static void store_poll(
	struct store *store, struct bench_stream *stream, struct sample *v, unsigned poll)
{
	for (size_t i = 0; i < stream->n; i++) {
		struct bench_series *of = &stream->series[i];
		series_next(of, poll);
		v[i % stream->per_device] = (struct sample){.t_ns = poll_time(poll, of->device),
			.entity = of->entity,
			.metric = of->metric,
			.value = of->value,
			.source = SOURCE_SNMP};
		if ((i + 1) % stream->per_device == 0)
			store_samples(store, v, stream->per_device);
	}
}

/* What the stream itself costs, which is no part of the store. */
static double stream_cost(const struct bench_stream *like)
{
	struct bench_stream stream = {
		.polls = like->polls, .devices = like->devices, .ports = like->ports};
	volatile uint64_t sum = 0;

	stream_make(&stream);
	const double begin = cpu_s();
	for (unsigned poll = 0; poll < stream.polls; poll++)
		for (size_t i = 0; i < stream.n; i++) {
			series_next(&stream.series[i], poll);
			sum += stream.series[i].value;
		}
	free(stream.series);
	return cpu_s() - begin;
}

static int measure_store(struct bench_stream *stream, const char *path)
{
	struct entities *entities = entities_new();
	struct store_options options = {.path = path};
	struct store *store;
	struct err e = {0};
	struct stat st;

	if (db_store_open(&options, entities, &store, &e) < 0) {
		err_print(stderr, &e);
		return 1;
	}
	const double made = stream_cost(stream);
	stream_make(stream);
	stream_name(stream, entities);
	struct sample *v = rw_calloc(stream->per_device, sizeof(*v));
	const double begin = cpu_s();
	for (unsigned poll = 0; poll < stream->polls; poll++) {
		store_poll(store, stream, v, poll);
		/* one commit per poll, as live: polls are seconds apart there */
		if (store_flush(store, &e) < 0) {
			err_print(stderr, &e);
			return 1;
		}
	}
	store_close(store);
	const double cpu = cpu_s() - begin - made, samples = (double)stream->n * stream->polls;
	const double bytes = stat(path, &st) == 0 ? (double)st.st_size : 0;
	printf("rocewatch: %.1f M samples, %.4f CPU s per 1 M, %.3f B/sample in the file\n",
		samples / 1e6, cpu / samples * 1e6, bytes / samples);
	free(v);
	entities_free(entities);
	return 0;
}

/* ---- to others ------------------------------------------------------------------------ */

static void stream_label(struct bench_stream *stream)
{
	char metric[64], device[16], port[32];

	for (size_t i = 0; i < stream->n; i++) {
		struct bench_series *of = &stream->series[i];
		snprintf(metric, sizeof(metric), "metric_%u", of->metric);
		snprintf(device, sizeof(device), "leaf%u", of->device);
		snprintf(port, sizeof(port), "Ethernet%u_%d", of->port, of->priority);
		remote_write_labels(&of->labels, metric, device, port);
	}
}

static double series_number(const struct bench_series *series)
{
	if (series->kind->is_f64)
		return sample_f64(series->value);
	return (double)series->value;
}

/* A request for each device and poll. */
static int send_stream(struct bench_stream *stream, const char *host, const char *port)
{
	const int fd = remote_write_connect(host, port);

	if (fd < 0)
		return 1;
	stream_make(stream);
	stream_label(stream);
	for (unsigned poll = 0; poll < stream->polls; poll++) {
		struct str request = {0};
		for (size_t i = 0; i < stream->n; i++) {
			struct bench_series *of = &stream->series[i];
			series_next(of, poll);
			remote_write_sample(&request, &of->labels, poll_time(poll, of->device),
				series_number(of));
			if ((i + 1) % stream->per_device != 0)
				continue;
			if (remote_write_post(fd, &request) < 0)
				return 1;
			request.n = 0;
		}
		str_done(&request);
	}
	printf("%.0f samples\n", (double)stream->n * stream->polls);
	return 0;
}

static unsigned argument(int argc, char **argv, int at, unsigned otherwise)
{
	if (argc > at)
		return (unsigned)strtoul(argv[at], NULL, 10);
	return otherwise;
}

int main(int argc, char **argv)
{
	const bool remote = argc > 3 && strcmp(argv[1], "--remote") == 0;
	const int first = remote ? 4 : 2;
	struct bench_stream stream = {.polls = argument(argc, argv, first, POLLS),
		.devices = argument(argc, argv, first + 1, DEVICES),
		.ports = argument(argc, argv, first + 2, PORTS)};
	char made[] = "/tmp/rw-bench-XXXXXX";

	if (remote)
		return send_stream(&stream, argv[2], argv[3]);
	if (argc > 1 && *argv[1]) {
		if (access(argv[1], F_OK) == 0) {
			fprintf(stderr, "%s is there already; name a file that is not\n", argv[1]);
			return 2;
		}
		return measure_store(&stream, argv[1]);
	}
	const int fd = mkstemp(made);
	if (fd < 0 || close(fd) < 0 || unlink(made) < 0)
		return 1;
	const int r = measure_store(&stream, made);
	unlink(made);
	return r;
}
