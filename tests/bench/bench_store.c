/*
 * bench_store - CPU of the write side: 512 ports x 12 metrics, polled @polls times, as one batch per device and poll.
 * Prints CPU s per 1 M samples and bytes per sample. Usage: bench_store [FILE [POLLS]]
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
#include "db/entity.h"
#include "db/metric.h"
#include "db/store.h"

#define DEVICES 8
#define PORTS 64
#define DEFAULT_POLLS 240

static const uint16_t metrics[] = {
	M_PORT_IN_OCTETS, M_PORT_OUT_OCTETS, M_PORT_IN_PACKETS, M_PORT_OUT_PACKETS, M_PORT_IN_ERRORS, M_PORT_OUT_ERRORS,
	M_PORT_IN_DISCARDS, M_PORT_OUT_DISCARDS, M_PORT_FCS_ERRORS, M_PORT_SPEED_BPS, M_PORT_MTU_BYTES, M_PORT_OPER_UP,
};

static double cpu_s(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return (double)u.ru_utime.tv_sec + (double)u.ru_stime.tv_sec + ((double)u.ru_utime.tv_usec + (double)u.ru_stime.tv_usec) / 1e6;
}

/* Three quarters of the counters are idle or nearly idle, as on real switches. */
static uint64_t value(size_t metric, unsigned poll, unsigned port)
{
	switch (metrics[metric]) {
	case M_PORT_SPEED_BPS: return UINT64_C(400000000000);
	case M_PORT_MTU_BYTES: return 9216;
	case M_PORT_OPER_UP: return 1;
	case M_PORT_IN_OCTETS: case M_PORT_OUT_OCTETS: return (uint64_t)poll * UINT64_C(123456789012) + port * 977;
	case M_PORT_IN_PACKETS: case M_PORT_OUT_PACKETS: return (uint64_t)poll * UINT64_C(30123456) + port * 31;
	default: return poll / 100;
	}
}

int main(int argc, char **argv)
{
	const char *path = argc > 1 ? argv[1] : "/tmp/bench_store.db";
	unsigned polls = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : DEFAULT_POLLS;
	struct entities *entities = entities_new();
	struct store_options o = {.path = path};
	struct store *s;
	struct err e = {0};
	struct stat st;
	static struct sample v[PORTS * rw_countof(metrics)];
	uint32_t ids[DEVICES][PORTS];

	if (access(path, F_OK) == 0) {
		fprintf(stderr, "%s is there already; name a file that is not\n", path);
		return 2;
	}
	if (store_open(&o, entities, &s, &e) < 0) {
		err_print(stderr, &e);
		return 1;
	}
	for (unsigned d = 0; d < DEVICES; d++)
		for (unsigned p = 0; p < PORTS; p++) {
			char device[16], port[16];
			snprintf(device, sizeof(device), "leaf%u", d);
			snprintf(port, sizeof(port), "Ethernet%u", p);
			ids[d][p] = entities_intern(entities, device, port, PRIO_NONE);
		}
	double cpu = cpu_s();
	mono_t wall = mono_now();
	for (unsigned poll = 0; poll < polls; poll++) {
		for (unsigned d = 0; d < DEVICES; d++) {
			size_t n = 0;
			for (unsigned p = 0; p < PORTS; p++)
				for (size_t m = 0; m < rw_countof(metrics); m++)
					v[n++] = (struct sample){.t_ns = INT64_C(1700000000000000000) + (int64_t)poll * 10 * NS_PER_S + d * 1000, .value = value(m, poll, p),
						.entity = ids[d][p], .metric = metrics[m], .source = SOURCE_SNMP};
			store_samples(s, v, n);
		}
		/* one commit per poll, as live: polls are seconds apart there */
		if (store_flush(s, &e) < 0) {
			err_print(stderr, &e);
			return 1;
		}
	}
	store_close(s);
	cpu = cpu_s() - cpu;
	double samples = (double)polls * DEVICES * PORTS * rw_countof(metrics), seconds = (double)(mono_now().ns - wall.ns) / NS_PER_S;
	int r = stat(path, &st);
	printf("%.1f M samples: %.3f CPU s per 1 M, %.2f M samples/s, %.1f bytes per sample\n", samples / 1e6, cpu / samples * 1e6, samples / seconds / 1e6,
		r == 0 ? (double)st.st_size / samples : 0.0);
	entities_free(entities);
	return 0;
}
