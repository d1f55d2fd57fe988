/*
 * bench_store - CPU of the write side: 512 ports x (12 metrics of the port and 5 of each of its 8
 * priorities), polled @polls times, as one batch per device and poll. Prints CPU s per 1 M samples
 * and bytes per sample. Usage: bench_store [FILE [POLLS]]; without FILE a temporary one, removed at
 * the end.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/err.h"
#include "db/model/entity.h"
#include "db/model/metric.h"
#include "db/open.h"
#include "db/store/store.h"

#define DEVICES 8
#define PORTS 64
#define DEFAULT_POLLS 120

static const uint16_t metrics[] = {
	M_PORT_IN_OCTETS,
	M_PORT_OUT_OCTETS,
	M_PORT_IN_PACKETS,
	M_PORT_OUT_PACKETS,
	M_PORT_IN_ERRORS,
	M_PORT_OUT_ERRORS,
	M_PORT_IN_DISCARDS,
	M_PORT_OUT_DISCARDS,
	M_PORT_FCS_ERRORS,
	M_PORT_SPEED_BPS,
	M_PORT_MTU_BYTES,
	M_PORT_OPER_UP,
};
static const uint16_t priority_metrics[] = {
	M_PFC_RX_FRAMES, M_PFC_TX_FRAMES, M_QUEUE_OUT_OCTETS, M_QUEUE_OUT_PACKETS, M_QUEUE_DROPS};
#define PRIORITIES 8
#define PER_PORT (rw_countof(metrics) + PRIORITIES * rw_countof(priority_metrics))

static double cpu_s(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec +
		((double)u.ru_utime.tv_usec + (double)u.ru_stime.tv_usec) / 1e6;
}

/* Three quarters of the counters are idle or nearly idle, as on real switches. */
static uint64_t value(uint16_t metric, unsigned poll, unsigned port)
{
	switch (metric) {
	case M_PORT_SPEED_BPS: return UINT64_C(400000000000);
	case M_PORT_MTU_BYTES: return 9216;
	case M_PORT_OPER_UP: return 1;
	case M_PORT_IN_OCTETS:
	case M_PORT_OUT_OCTETS:
	case M_QUEUE_OUT_OCTETS: return (uint64_t)poll * UINT64_C(123456789012) + port * 977;
	case M_PORT_IN_PACKETS:
	case M_PORT_OUT_PACKETS: return (uint64_t)poll * UINT64_C(30123456) + port * 31;
	default: return poll / 100;
	}
}

static struct sample v[PORTS * PER_PORT];
static uint32_t ids[DEVICES][PORTS][1 + PRIORITIES];

static size_t poll_device(unsigned d, unsigned poll)
{
	struct sample at = {
		.t_ns = INT64_C(1700000000000000000) + (int64_t)poll * 10 * NS_PER_S + d * 1000,
		.source = SOURCE_SNMP};
	size_t n = 0;

	for (unsigned p = 0; p < PORTS; p++) {
		for (unsigned k = 0; k <= PRIORITIES; k++) {
			const uint16_t *list = k ? priority_metrics : metrics;
			size_t count = k ? rw_countof(priority_metrics) : rw_countof(metrics);
			at.entity = ids[d][p][k];
			for (size_t m = 0; m < count; m++) {
				at.metric = list[m];
				/* two of eight priorities carry traffic */
				at.value = k == 0 || k == 4 || k == 1 ? value(list[m], poll, p) : 0;
				v[n++] = at;
			}
		}
	}
	return n;
}

int main(int argc, char **argv)
{
	char made[] = "/tmp/rw-bench-XXXXXX";
	const char *path = argc > 1 ? argv[1] : made;
	unsigned polls = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : DEFAULT_POLLS;
	struct entities *entities = entities_new();
	struct store_options o = {.path = path};
	struct store *s;
	struct err e = {0};
	struct stat st;

	if (argc <= 1) {
		int fd = mkstemp(made);
		if (fd < 0 || close(fd) < 0 || unlink(made) < 0)
			return 1;
	}
	if (access(path, F_OK) == 0) {
		fprintf(stderr, "%s is there already; name a file that is not\n", path);
		return 2;
	}
	if (db_store_open(&o, entities, &s, &e) < 0) {
		err_print(stderr, &e);
		return 1;
	}
	for (unsigned d = 0; d < DEVICES; d++)
		for (unsigned p = 0; p < PORTS; p++) {
			char device[16], port[16];
			snprintf(device, sizeof(device), "leaf%u", d);
			snprintf(port, sizeof(port), "Ethernet%u", p);
			for (int k = 0; k <= PRIORITIES; k++)
				ids[d][p][k] = entities_intern(entities, device, port, k - 1);
		}
	double cpu = cpu_s();
	mono_t wall = mono_now();
	for (unsigned poll = 0; poll < polls; poll++) {
		for (unsigned d = 0; d < DEVICES; d++)
			store_samples(s, v, poll_device(d, poll));
		/* one commit per poll, as live: polls are seconds apart there */
		if (store_flush(s, &e) < 0) {
			err_print(stderr, &e);
			return 1;
		}
	}
	store_close(s);
	cpu = cpu_s() - cpu;
	double samples = (double)polls * DEVICES * PORTS * PER_PORT,
	       seconds = (double)(mono_now().ns - wall.ns) / NS_PER_S;
	int r = stat(path, &st);
	printf("%.1f M samples, %zu a port: %.3f CPU s per 1 M, %.2f M samples/s, %.1f bytes per "
	       "sample\n",
		samples / 1e6, PER_PORT, cpu / samples * 1e6, samples / seconds / 1e6,
		r == 0 ? (double)st.st_size / samples : 0.0);
	entities_free(entities);
	if (argc <= 1)
		unlink(made);
	return 0;
}
