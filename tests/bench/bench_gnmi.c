/*
 * bench_gnmi - what an update costs from the socket to the pipeline's door: gRPC, the walker, the
 * profile, samples handed over. The server is a process of its own; the CPU is that of this
 * process, all threads, while updates come at a steady pace.
 *
 *   bench_gnmi [SECONDS [TARGETS...]]      default: 8 s each, 1 64 512 targets. Each counter comes
 *                                           PACE times an interval, as often as one is taken: with
 *                                           few targets the collector is mostly at rest
 *   bench_gnmi latency [SECONDS [TARGETS...]]  at a pace of one sample a second (10 s where
 *                                              there are 256 targets and more): from the
 *                                              server's
 *                                           timestamp to the pipeline's door, where a sample is
 *                                               in memory for the analyzers in the same turn
 *
 * Three shapes: one update per notification, 100 per notification, and a table as one JSON value,
 * as SONiC sends it (10 ports x 20 fields).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/cleanup.h"
#include "base/log.h"
#include "base/loop.h"
#include "base/str.h"
#include "collectors/gnmi/gnmi.h"
#include "tests/fake/gnmi_table.h"

#define PORTS 10
#define FIELDS 20
#define LAG_EACH 10
#define PACE 18 /* of 20 that the collector takes: none of them is too early */
#define SECONDS 8

static const char *const leaves[] = {"in-octets", "out-octets", "in-packets", "out-packets",
	"in-error-packets", "out-error-packets", "in-discarded-packets", "out-discarded-packets",
	"in-fcs-error-packets", "carrier-transitions"};

static const struct shape {
	const char *name, *profile;
	bool one, json;
	unsigned updates; /* per message */
} shapes[] = {
	{"1 update per notification", "srlinux", true, false, 1},
	{"100 updates per notification", "srlinux", false, false, PORTS *rw_countof(leaves)},
	{"SONiC table as JSON", "sonic", false, true, PORTS *FIELDS},
};

struct bench {
	struct loop *loop;
	uint64_t samples, updates; /* since it is warm; updates before that */
	double cpu, wall;
	struct gnmi_target **targets;
	unsigned n_targets;
	double *lag_s; /* latency only: of one sample in LAG_EACH */
	size_t n_lag, cap_lag;
};

static double seconds(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t updates_of(const struct bench *b)
{
	uint64_t updates = 0;
	for (unsigned i = 0; i < b->n_targets; i++)
		updates += gnmi_target_counts(b->targets[i]).updates;
	return updates;
}

static void on_samples(void *arg, const struct sample *v, size_t n)
{
	((struct bench *)arg)->samples += n;
}

static void on_samples_paced(void *arg, const struct sample *v, size_t n)
{
	struct bench *b = arg;
	const int64_t now = wall_now().ns;
	for (size_t i = 0; i < n; i++, b->samples++) {
		if (b->samples % LAG_EACH)
			continue;
		rw_grow(b->lag_s, b->n_lag, b->cap_lag);
		b->lag_s[b->n_lag++] = (double)(now - v[i].t_ns) / 1e9;
	}
}

static void on_target(void *arg, const struct target *t)
{
}
static void on_device(
	void *arg, const char *device, const char *profile, const char *sysname, const char *descr)
{
}
static void on_flows(void *arg, const struct flow_sample *v, size_t n)
{
}
static void on_port(
	void *arg, const char *device, const char *port, const char *alias, uint64_t speed_bps)
{
}
static void on_event(void *arg, int64_t t_ns, const char *kind, const char *device,
	const char *port, const char *text)
{
}
static void on_limit(void *arg)
{
	loop_stop(((struct bench *)arg)->loop);
}

static void on_warm(void *arg)
{
	struct bench *b = arg;
	b->n_lag = 0;
	b->samples = 0;
	b->updates = updates_of(b);
	b->cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);
	b->wall = seconds(CLOCK_MONOTONIC);
}

static int by_size(const void *a, const void *b)
{
	const double x = *(const double *)a, y = *(const double *)b;
	return (x > y) - (x < y);
}

static char *table_text(const struct shape *s)
{
	struct str t = {0};
	for (unsigned p = 0; p < PORTS && !s->json; p++)
		for (size_t i = 0; i < rw_countof(leaves); i++)
			str_addf(&t,
				"-\t/interface[name=ethernet-1/%u]/statistics/%s\tuint\t%llu\n", p,
				leaves[i], (1ull << 56) + 1000 * (i + p));
	if (!s->json)
		return t.s;
	str_add(&t, "COUNTERS_DB\t/COUNTERS/Ethernet*\tjson_ietf\t{");
	for (unsigned p = 0; p < PORTS; p++) {
		str_addf(&t, "%s\"etp%u\":{", p ? "," : "", p);
		for (unsigned i = 0; i < FIELDS; i++) {
			static const char *const more[] = {
				"IN_OCTETS", "OUT_OCTETS", "IN_ERRORS", "OUT_DISCARDS"};
			str_add(&t, i ? "," : "");
			if (i < 16)
				str_addf(&t, "\"SAI_PORT_STAT_PFC_%u_%s_PKTS\":", i / 2,
					i % 2 ? "TX" : "RX");
			else
				str_addf(&t, "\"SAI_PORT_STAT_IF_%s\":", more[i - 16]);
			str_addf(&t, "\"%llu\"", (1ull << 56) + 1000 * i);
		}
		str_add(&t, "}");
	}
	str_add(&t, "}\n");
	return t.s;
}

/* server_start - in a child; its pid, and the port it listens on. */
static pid_t server_start(
	const struct shape *s, int64_t period_ns, uint16_t *ret_port, int *ret_stop)
{
	int told[2], stop[2];
	if (pipe(told) < 0 || pipe(stop) < 0)
		exit(1);
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		rw_cleanup(freep) char *text = table_text(s);
		char byte;
		close(stop[1]);
		struct gnmi_server_options o = {.prebuilt = s->updates,
			.period_ns = (uint64_t)period_ns,
			.one_by_one = s->one,
			.values = gnmi_table_values,
			.values_arg = gnmi_table_parse(text, s->name)};
		struct gnmi_server *server = o.values_arg ? gnmi_server_new(&o) : NULL;
		uint16_t port = server ? gnmi_server_port(server) : 0;
		if (write(told[1], &port, sizeof(port)) != sizeof(port) || !server)
			_exit(1);
		while (read(stop[0], &byte, 1) > 0)
			;
		_exit(0);
	}
	close(stop[0]);
	if (read(told[0], ret_port, sizeof(*ret_port)) != sizeof(*ret_port) || !*ret_port)
		exit(1);
	close(told[0]);
	close(told[1]);
	*ret_stop = stop[1];
	return pid;
}

static double rss_mb(void)
{
	rw_cleanup(fclosep) FILE *f = fopen("/proc/self/statm", "r");
	unsigned long long size, resident = 0;
	return f && fscanf(f, "%llu %llu", &size, &resident) == 2
		? (double)resident * (double)sysconf(_SC_PAGESIZE) / 1e6
		: 0;
}

/* In a child of its own: gRPC is not forked after it began. */
static void run(const struct shape *s, bool latency, unsigned paced_s, unsigned n_targets)
{
	const unsigned interval_s = s->json || n_targets >= 256 ? 10 : 1;
	const int64_t period_ns = latency ? 0 : (int64_t)interval_s * NS_PER_S / PACE;
	uint16_t port;
	int stop, status;
	pid_t server = server_start(s, period_ns, &port, &stop), child;
	fflush(stdout);
	if ((child = fork()) > 0) {
		waitpid(child, &status, 0);
		close(stop);
		waitpid(server, &status, 0);
		return;
	}
	struct str text = {0};
	struct err_list errors = {0};
	struct err e;
	struct config *config;
	struct bench b = {.n_targets = n_targets};
	struct entities *entities = entities_new();
	struct sink sink = {&b, latency ? on_samples_paced : on_samples, on_flows, on_target,
		on_device, on_port, on_event};
	str_add(&text, "credentials: { c: { gnmi: { tls: { off: true } } } }\ndevices:\n");
	for (unsigned i = 0; i < n_targets; i++)
		str_addf(&text,
			" - { name: leaf%u, role: leaf, profile: %s, gnmi: { address: "
			"\"127.0.0.1:%u\", credentials: c, interval: %us, timeout: 60s } }\n",
			i, s->profile, port, interval_s);
	log_set_level(LOG_ERROR_);
	loop_new(&b.loop);
	struct loop_timer *limit = loop_timer_new(b.loop, on_limit, &b);
	struct loop_timer *warm = loop_timer_new(b.loop, on_warm, &b);
	loop_timer_start(limit, (int64_t)(paced_s + 2 * interval_s) * NS_PER_S, 0);
	loop_timer_start(warm, (int64_t)(2 * interval_s) * NS_PER_S, 0);
	if (config_parse(text.s, text.n, "bench", CONFIG_FULL, NULL, 0, &config, &errors) < 0)
		_exit(1);
	struct gnmi_target **t = b.targets = rw_calloc(n_targets, sizeof(struct gnmi_target *));
	for (unsigned i = 0; i < n_targets; i++)
		if (gnmi_target_new(
			    b.loop, entities, &config->devices[i], config, &sink, &t[i], &e) < 0)
			_exit(1);
	loop_run(b.loop);
	double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID) - b.cpu,
	       wall = seconds(CLOCK_MONOTONIC) - b.wall;
	const uint64_t updates = updates_of(&b) - b.updates;
	if (latency && b.n_lag) {
		qsort(b.lag_s, b.n_lag, sizeof(*b.lag_s), by_size);
		printf("%-30s %4u targets  %10llu samples  visible after p50 %.1f ms, p99 %.1f "
		       "ms\n",
			s->name, n_targets, (unsigned long long)b.samples,
			b.lag_s[b.n_lag / 2] * 1e3, b.lag_s[b.n_lag * 99 / 100] * 1e3);
	} else if (b.samples < updates / 2 || updates == 0)
		printf("%-30s %4u targets  INCOMPLETE: %llu samples of %llu updates\n", s->name,
			n_targets, (unsigned long long)b.samples, (unsigned long long)updates);
	else
		printf("%-30s %4u targets  %10llu updates  %9.0f/s  %6.3f us CPU/update  %5.0f "
		       "MB\n",
			s->name, n_targets, (unsigned long long)updates, (double)updates / wall,
			cpu / (double)updates * 1e6, rss_mb());
	fflush(stdout);
	_exit(b.samples == 0);
}

int main(int argc, char **argv)
{
	static const unsigned usual[] = {1, 64, 512};
	const bool latency = argc > 1 && strcmp(argv[1], "latency") == 0;
	argc -= latency;
	argv += latency;
	const unsigned number = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : SECONDS;
	for (size_t i = 0; i < rw_countof(shapes); i++) {
		for (int k = 2; k < argc; k++)
			run(&shapes[i], latency, number, (unsigned)strtoul(argv[k], NULL, 10));
		for (size_t k = 0; argc <= 2 && k < rw_countof(usual); k++)
			run(&shapes[i], latency, number, usual[k]);
	}
	return 0;
}
