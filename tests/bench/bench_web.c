/*
 * bench_web - the database of a fabric of 64 switches with 64 ports, which goes on being written:
 * what bench_web.sh lets `rocewatch web` serve.
 *
 *   bench_web FILE SECONDS      prints "ready" when the past is written, then writes for SECONDS
 *
 * Each switch is polled every 10 s, a tenth of them in each second, so that every second has a
 * transaction.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "db/model/metric.h"
#include "db/open.h"
#include "db/store/store.h"

enum { LEAVES = 32, SPINES = 32, PORTS = 64, HOST_PORTS = 32, PRIORITY = 3, POLLS = 12 };
#define INTERVAL_S 10

static const uint16_t port_metrics[] = {M_PORT_IN_OCTETS, M_PORT_OUT_OCTETS, M_PORT_IN_ERRORS,
	M_PORT_IN_DISCARDS, M_PORT_OUT_DISCARDS, M_PORT_SPEED_BPS, M_PORT_OPER_UP};
static const uint16_t lossless_metrics[] = {M_PFC_RX_FRAMES, M_PFC_TX_FRAMES, M_PFC_RX_PAUSE_NS,
	M_PFC_TX_PAUSE_NS, M_QUEUE_ECN_MARKED, M_QUEUE_DROPS};

struct big {
	struct entities *entities;
	struct store *store;
	struct sample batch[PORTS * (rw_countof(port_metrics) + rw_countof(lossless_metrics))];
	size_t n;
};

static char *big_fabric(void)
{
	struct str s = {0};
	str_add(&s, "fabric: big\ndevices:\n");
	for (unsigned l = 0; l < LEAVES; l++)
		str_addf(&s, "  - { name: leaf%u, role: leaf }\n", l + 1);
	for (unsigned k = 0; k < SPINES; k++)
		str_addf(&s, "  - { name: spine%u, role: spine }\n", k + 1);
	str_add(&s, "links:\n");
	for (unsigned l = 0; l < LEAVES; l++)
		for (unsigned p = 0; p < PORTS; p++) {
			str_addf(&s, "  - { a: \"leaf%u:Ethernet%u\", b: \"", l + 1, p + 1);
			if (p < HOST_PORTS)
				str_addf(&s, "host:node-%u:rail0", l * HOST_PORTS + p + 1);
			else
				str_addf(&s, "spine%u:Ethernet%u", p - HOST_PORTS + 1, l + 1);
			str_add(&s, "\", speed: 400G }\n");
		}
	str_addf(&s, "lossless: { priorities: [%d] }\n", PRIORITY);
	return s.s;
}

static uint64_t big_value(uint16_t metric, int64_t t_s, unsigned port)
{
	switch (metric) {
	case M_PORT_SPEED_BPS: return UINT64_C(400000000000);
	case M_PORT_OPER_UP: return 1;
	case M_PORT_IN_OCTETS:
	case M_PORT_OUT_OCTETS: return (uint64_t)t_s * (UINT64_C(12500000000) + port);
	case M_PFC_RX_FRAMES:
	case M_PFC_TX_FRAMES: return (uint64_t)t_s * (10 + port);
	case M_PFC_RX_PAUSE_NS:
	case M_PFC_TX_PAUSE_NS: return (uint64_t)t_s * (100000 + port);
	case M_QUEUE_ECN_MARKED: return (uint64_t)t_s * (300 + port);
	default: return 7;
	}
}

static void big_add(struct big *big, uint32_t entity, uint16_t metric, int64_t t_s, unsigned port)
{
	big->batch[big->n++] = (struct sample){.t_ns = t_s * NS_PER_S,
		.entity = entity,
		.metric = metric,
		.value = big_value(metric, t_s, port),
		.source = SOURCE_REPLAY};
}

static void big_poll(struct big *big, unsigned device, int64_t t_s)
{
	char name[16], port[16];
	if (device < LEAVES)
		snprintf(name, sizeof(name), "leaf%u", device + 1);
	else
		snprintf(name, sizeof(name), "spine%u", device - LEAVES + 1);
	big->n = 0;
	for (unsigned p = 0; p < PORTS; p++) {
		snprintf(port, sizeof(port), "Ethernet%u", p + 1);
		const uint32_t own = entities_intern(big->entities, name, port, PRIO_NONE);
		const uint32_t lane = entities_intern(big->entities, name, port, PRIORITY);
		for (size_t k = 0; k < rw_countof(port_metrics); k++)
			big_add(big, own, port_metrics[k], t_s, p);
		for (size_t k = 0; k < rw_countof(lossless_metrics); k++)
			big_add(big, lane, lossless_metrics[k], t_s, p);
	}
	store_samples(big->store, big->batch, big->n);
}

/* The switches whose turn it is in this second. */
static int big_second(struct big *big, int64_t t_s, struct err *e)
{
	for (unsigned d = 0; d < LEAVES + SPINES; d++)
		if (d % INTERVAL_S == (unsigned)(t_s % INTERVAL_S))
			big_poll(big, d, t_s);
	return store_flush(big->store, e);
}

static int big_write(struct big *big, int seconds, struct err *e)
{
	const int64_t now_s = wall_now().ns / NS_PER_S;
	rw_cleanup(freep) char *fabric = big_fabric();
	int rc = 0;
	store_fabric(big->store, (now_s - POLLS * INTERVAL_S) * NS_PER_S, fabric);
	for (int64_t t = now_s - POLLS * INTERVAL_S; rc == 0 && t < now_s; t++)
		rc = big_second(big, t, e);
	puts("ready");
	fflush(stdout);
	for (int64_t t = now_s; rc == 0 && t < now_s + seconds; t++) {
		const int64_t left_ns = (t + 1) * NS_PER_S - wall_now().ns;
		const struct timespec rest = {
			.tv_sec = left_ns / NS_PER_S, .tv_nsec = left_ns % NS_PER_S};
		if (left_ns > 0)
			nanosleep(&rest, NULL);
		rc = big_second(big, t, e);
	}
	return rc;
}

int main(int argc, char **argv)
{
	static struct big big;
	struct err e = {0};
	if (argc != 3) {
		fprintf(stderr, "usage: bench_web FILE SECONDS\n");
		return 2;
	}
	const struct store_options options = {.path = argv[1], .replay = true, .recorded = true};
	big.entities = entities_new();
	int rc = db_store_open(&options, big.entities, &big.store, &e);
	if (rc == 0) {
		rc = big_write(&big, atoi(argv[2]), &e);
		store_close(big.store);
	}
	entities_free(big.entities);
	if (rc == 0)
		return 0;
	err_print(stderr, &e);
	return 1;
}
