/*
 * bench_frame - CPU of one watch frame and of one page of metrics over a large fabric: 32 leaves
 * and 32 spines of 64 ports, 52 values a port, polled every 10 s for two minutes. Usage:
 * bench_frame [FRAMES]. The database is a temporary file, removed at the end.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "agent/client/client.h"
#include "agent/answers/watch/watch_frame.h"
#include "agent/answers/watch/watch_now.h"
#include "agent/exporter/metrics.h"
#include "db/model/entity.h"
#include "db/model/golden.h"
#include "db/model/metric.h"
#include "db/open.h"
#include "db/store/store.h"

enum {
	TIER = 32,
	PORTS = 64,
	POLLS = 13,
	INTERVAL_S = 10,
	PRIORITIES = 8,
	FRAMES = 5,
	DAY_MIN = 1440
};
#define START_S 1700000000LL

static const uint16_t of_port[] = {M_PORT_IN_OCTETS, M_PORT_OUT_OCTETS, M_PORT_IN_PACKETS,
	M_PORT_OUT_PACKETS, M_PORT_IN_ERRORS, M_PORT_OUT_ERRORS, M_PORT_IN_DISCARDS,
	M_PORT_OUT_DISCARDS, M_PORT_FCS_ERRORS, M_PORT_SPEED_BPS, M_PORT_MTU_BYTES, M_PORT_OPER_UP};
static const uint16_t of_priority[] = {
	M_PFC_RX_FRAMES, M_PFC_TX_FRAMES, M_QUEUE_OUT_OCTETS, M_QUEUE_ECN_MARKED, M_QUEUE_DROPS};

static double cpu_s(void)
{
	struct rusage u;
	getrusage(RUSAGE_SELF, &u);
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
		(double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static char *fabric_yaml(void)
{
	struct str y = {0};
	str_add(&y, "fabric: bench\ndefaults: { interval: 10s }\ndevices:\n");
	for (int i = 1; i <= TIER; i++)
		str_addf(&y,
			"  - { name: leaf%d, role: leaf }\n  - { name: spine%d, role: spine }\n", i,
			i);
	str_add(&y, "links:\n");
	for (int leaf = 1; leaf <= TIER; leaf++)
		for (int k = 1; k <= TIER; k++)
			str_addf(&y,
				"  - { a: \"leaf%d:p%d\", b: \"spine%d:p%d\", speed: 400G }\n"
				"  - { a: \"leaf%d:p%d\", b: \"host:n%d-%d\", speed: 400G }\n",
				leaf, k, k, leaf, leaf, TIER + k, leaf, k);
	str_add(&y, "lossless: { priorities: [3] }\n");
	return y.s;
}

static uint64_t value_of(uint16_t metric, int poll, int port)
{
	switch (metric) {
	case M_PORT_SPEED_BPS: return UINT64_C(400000000000);
	case M_PORT_MTU_BYTES: return 9216;
	case M_PORT_OPER_UP: return 1;
	case M_PORT_IN_OCTETS:
	case M_PORT_OUT_OCTETS: return (uint64_t)poll * (20000000000ULL + (uint64_t)port * 1000000);
	case M_PFC_TX_FRAMES:
	case M_PFC_RX_FRAMES: return (uint64_t)poll * (uint64_t)(port % 8);
	default: return (uint64_t)poll * 1000;
	}
}

static void add(struct store *store, struct sample *sample, uint16_t metric, int poll, int port)
{
	sample->metric = metric;
	sample->value = value_of(metric, poll, port);
	store_samples(store, sample, 1);
}

static void fill_device(struct store *store, struct entities *t, const char *device, int poll)
{
	char name[16];
	for (int port = 1; port <= PORTS; port++) {
		struct sample sample = {
			.t_ns = (START_S + poll * INTERVAL_S) * NS_PER_S, .source = SOURCE_REPLAY};
		snprintf(name, sizeof(name), "p%d", port);
		sample.entity = entities_intern(t, device, name, PRIO_NONE);
		for (size_t m = 0; m < rw_countof(of_port); m++)
			add(store, &sample, of_port[m], poll, port);
		for (int priority = 0; priority < PRIORITIES; priority++) {
			sample.entity = entities_intern(t, device, name, priority);
			for (size_t m = 0; m < rw_countof(of_priority); m++)
				add(store, &sample, of_priority[m], poll, port);
		}
	}
}

/* A day of what the agent keeps once a minute. */
static void fill_signals(struct store *store, struct entities *t)
{
	char port[GOLDEN_PORT_MAX];
	for (int minute = DAY_MIN; minute >= 0; minute--)
		for (unsigned i = 0; i < GOLDEN_COUNT + GOLDEN_JOB_COUNT; i++) {
			const char *name;
			if (i < GOLDEN_COUNT)
				name = golden_info(i)->name;
			else
				name = golden_job_port(
					port, "train", (enum golden_job)(i - GOLDEN_COUNT));
			const struct sample sample = {
				.t_ns = (START_S + (POLLS - 1) * INTERVAL_S - minute * 60) *
					NS_PER_S,
				.value = sample_of_f64(1.0 + minute % 7),
				.entity = entities_intern(t, ENTITY_SIGNALS, name, PRIO_NONE),
				.metric = M_AGENT_SIGNAL,
				.source = SOURCE_AGENT};
			store_samples(store, &sample, 1);
		}
}

static int fill(const char *path)
{
	struct entities *t = entities_new();
	struct store *store = NULL;
	struct err e = {0};
	const struct store_options o = {.path = path, .replay = true};
	char device[16];
	if (db_store_open(&o, t, &store, &e) < 0) {
		err_print(stderr, &e);
		return -1;
	}
	rw_cleanup(freep) char *yaml = fabric_yaml();
	store_fabric(store, 0, yaml);
	for (int poll = 0; poll < POLLS; poll++)
		for (int i = 0; i < 2 * TIER; i++) {
			snprintf(device, sizeof(device), "%s%d", i % 2 ? "leaf" : "spine",
				i / 2 + 1);
			fill_device(store, t, device, poll);
		}
	fill_signals(store, t);
	const int rc = store_flush(store, &e);
	store_close(store);
	entities_free(t);
	return rc;
}

/* What a frame of a live database costs beside opening it: its devices are read from the table of
 * targets, not from samples. */
static double measure_now(struct client *client)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct watch_now now;
	struct err e = {0};
	const double begin = cpu_s();
	watch_now_read(client, a, &now, &e);
	return cpu_s() - begin;
}

static int measure(const char *path, int frames)
{
	const struct globals globals = {.config_path = "/nonexistent", .db = path};
	struct err e = {0};
	double open_s = 0, now_s = 0, frame_s = 0, page_s = 0;
	for (int i = 0; i < frames; i++) {
		struct client client;
		double begin = cpu_s();
		if (client_open(&client, &globals, 900 * NS_PER_S, &e) < 0)
			break;
		open_s += cpu_s() - begin;
		now_s += measure_now(&client);
		begin = cpu_s();
		json_t *doc = watch_frame(&client, &e);
		client_done(&client);
		if (!doc)
			break;
		frame_s += cpu_s() - begin;
		json_decref(doc);
		begin = cpu_s();
		FILE *out = fopen("/dev/null", "w");
		const struct metrics_options o = {.all_ports = true};
		if (client_open(&client, &globals, 900 * NS_PER_S, &e) == 0) {
			metrics_print(out, &client, &o, &e);
			client_done(&client);
		}
		fclose(out);
		page_s += cpu_s() - begin;
	}
	if (e.text[0])
		err_print(stderr, &e);
	printf("%d ports, 52 values each, ms of CPU: opening %.0f, windows and signals %.0f, the "
	       "frame of a recording %.0f, a page with all ports of it %.0f\n",
		2 * TIER * PORTS, 1e3 * open_s / frames, 1e3 * now_s / frames,
		1e3 * frame_s / frames, 1e3 * page_s / frames);
	return e.code < 0;
}

int main(int argc, char **argv)
{
	char path[] = "/tmp/bench-frame-XXXXXX";
	int frames = FRAMES;
	if (argc > 1)
		frames = atoi(argv[1]);
	if (!mkdtemp(path) || frames < 1)
		return 1;
	rw_cleanup(str_done) struct str db = {0}, remove = {0};
	str_addf(&db, "%s/f.db", path);
	str_addf(&remove, "rm -rf %s", path);
	int rc = fill(db.s);
	if (rc == 0)
		rc = measure(db.s, frames);
	return system(remove.s) || rc;
}
