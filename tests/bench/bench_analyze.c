/*
 * bench_analyze - CPU of judging one window: a leaf-spine fabric of @switches switches of 64 ports
 * and 8 priorities, polled every 10 s, healthy but for one slow receiver. Prints what filling the
 * window, observing it and each analyzer take, the best of @runs. Usage: bench_analyze [SWITCHES
 * [RUNS]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "analyzers/analyzer.h"
#include "analyzers/measure/observe.h"
#include "config/config.h"
#include "db/series/series_memory.h"

enum { PORTS = 64, HOST_PORTS = 32, PRIORITIES = 8, LOSSLESS = 3 };
#define INTERVAL_NS (10 * NS_PER_S)
#define POLLS 7 /* the longest window of the defaults (60 s) and its anchor */

/* What a full face counts at a port, and at each priority of it; the rest of the metrics only at
 * the lossless one. */
static const uint16_t port_metrics[] = {M_PORT_IN_OCTETS, M_PORT_OUT_OCTETS, M_PORT_IN_PACKETS,
	M_PORT_OUT_PACKETS, M_PORT_IN_ERRORS, M_PORT_IN_DISCARDS, M_PORT_OUT_DISCARDS,
	M_PORT_FCS_ERRORS, M_PORT_SPEED_BPS, M_PORT_OPER_UP, M_PORT_MTU_BYTES};
static const uint16_t priority_metrics[] = {
	M_PFC_RX_FRAMES, M_PFC_TX_FRAMES, M_QUEUE_OUT_OCTETS, M_QUEUE_OUT_PACKETS, M_QUEUE_DROPS};
static const uint16_t lossless_metrics[] = {M_PFC_RX_PAUSE_NS, M_PFC_TX_PAUSE_NS,
	M_QUEUE_ECN_MARKED, M_PG_DROPS, M_QUEUE_WATERMARK, M_PG_SHARED_WATERMARK,
	M_PG_HEADROOM_WATERMARK, M_CFG_PFC_ENABLED, M_CFG_ECN_KMIN, M_CFG_ECN_KMAX,
	M_CFG_PG_ALPHA_EXP};

static double cpu_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static char *fabric_text(unsigned leaves, unsigned spines)
{
	struct str s = {0};
	str_add(&s, "fabric: bench\ndevices:\n");
	for (unsigned l = 0; l < leaves; l++)
		str_addf(&s, "  - { name: leaf%u, role: leaf }\n", l + 1);
	for (unsigned k = 0; k < spines; k++)
		str_addf(&s, "  - { name: spine%u, role: spine }\n", k + 1);
	str_add(&s, "links:\n");
	/* a pod of 64 leaves has its own 32 spines, one link to each */
	for (unsigned l = 0; l < leaves; l++) {
		for (unsigned p = 0; p < HOST_PORTS; p++)
			str_addf(&s,
				"  - { a: \"leaf%u:Ethernet%u\", b: \"host:node-%u:rail0\", speed: "
				"400G }\n",
				l + 1, p + 1, l * HOST_PORTS + p + 1);
		for (unsigned k = 0; k < HOST_PORTS; k++) {
			const unsigned spine = l / PORTS * HOST_PORTS + k;
			if (spine < spines)
				str_addf(&s,
					"  - { a: \"leaf%u:Ethernet%u\", b: "
					"\"spine%u:Ethernet%u\", speed: 400G }\n",
					l + 1, HOST_PORTS + k + 1, spine + 1, l % PORTS + 1);
		}
	}
	str_addf(&s,
		"lossless: { priorities: [%d] }\njobs:\n  - { name: train, gpus: %u, hosts: "
		"\"node-*\" }\n",
		LOSSLESS, leaves * HOST_PORTS);
	return s.s;
}

static uint64_t value_of(uint16_t metric, unsigned poll, unsigned port)
{
	switch (metric) {
	case M_PORT_SPEED_BPS: return UINT64_C(400000000000);
	case M_PORT_OPER_UP:
	case M_CFG_PFC_ENABLED: return 1;
	case M_PORT_MTU_BYTES: return 9216;
	case M_PORT_IN_OCTETS:
	case M_PORT_OUT_OCTETS: return UINT64_C(1000000) + (uint64_t)poll * UINT64_C(125000000000);
	case M_QUEUE_OUT_OCTETS: return (uint64_t)poll * UINT64_C(15000000000);
	case M_PORT_IN_PACKETS:
	case M_PORT_OUT_PACKETS:
	case M_QUEUE_OUT_PACKETS: return (uint64_t)poll * UINT64_C(30000000) + port;
	case M_QUEUE_ECN_MARKED: return (uint64_t)poll * UINT64_C(3000) + port;
	case M_PFC_TX_PAUSE_NS: return poll * UINT64_C(100000);
	case M_QUEUE_WATERMARK:
	case M_PG_SHARED_WATERMARK: return 300000;
	case M_CFG_ECN_KMIN: return 400000;
	case M_CFG_ECN_KMAX: return 1600000;
	case M_CFG_PG_ALPHA_EXP: return sample_of_f64(-3);
	default: return 7;
	}
}

static void add(
	struct series_memory *m, uint32_t entity, uint16_t metric, unsigned port, unsigned poll)
{
	const struct sample s = {.t_ns = (int64_t)poll * INTERVAL_NS,
		.entity = entity,
		.metric = metric,
		.value = value_of(metric, poll, port),
		.source = SOURCE_REPLAY};
	series_memory_add(m, &s);
}

/* One poll of a device; *@n: its series. */
static void add_device(
	struct series_memory *m, struct entities *e, const char *device, unsigned poll, size_t *n)
{
	for (unsigned p = 0; p < PORTS; p++) {
		char name[16];
		snprintf(name, sizeof(name), "Ethernet%u", p + 1);
		const uint32_t port = entities_intern(e, device, name, PRIO_NONE);
		for (size_t k = 0; k < rw_countof(port_metrics); k++, ++*n)
			add(m, port, port_metrics[k], p, poll);
		for (int c = 0; c < PRIORITIES; c++) {
			const uint32_t lane = entities_intern(e, device, name, c);
			for (size_t k = 0; k < rw_countof(priority_metrics); k++, ++*n)
				add(m, lane, priority_metrics[k], p, poll);
			for (size_t k = 0; c == LOSSLESS && k < rw_countof(lossless_metrics);
				k++, ++*n)
				add(m, lane, lossless_metrics[k], p, poll);
		}
	}
}

static struct window_spec spec_of(uint16_t *metrics)
{
	bool wanted[METRIC_COUNT] = {false};
	for (size_t i = 0; analyzers[i]; i++)
		analyzer_wants(analyzers[i], wanted);
	return analyzer_spec(wanted, metrics);
}

/* a healthy fabric: there never was an incident */
static bool follows(const void *arg, const char *analyzer, const char *device)
{
	return false;
}

static void best(double *v, double ms, unsigned run)
{
	*v = run == 0 || ms < *v ? ms : *v;
}

int main(int argc, char **argv)
{
	const unsigned switches = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 512,
		       runs = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 5;
	const unsigned spines = switches / 3 ? switches / 3 : 1, leaves = switches - spines;
	const struct option_table *tables[64];
	size_t n_tables = 0, n_series = 0;
	for (; analyzers[n_tables] && n_tables < rw_countof(tables); n_tables++)
		tables[n_tables] = &analyzers[n_tables]->options;
	rw_cleanup(freep) char *yaml = fabric_text(leaves, spines);
	rw_cleanup(err_list_done) struct err_list errors = {0};
	struct config *config;
	if (config_parse(yaml, strlen(yaml), "bench", CONFIG_CASE, tables, n_tables, &config,
		    &errors) != 0) {
		err_print(stderr, &errors.v[0]);
		return 1;
	}
	struct entities *entities = entities_new();
	struct series_memory *memory = series_memory_new(entities, INT64_MAX / 4);
	for (unsigned poll = 0; poll < POLLS; poll++) {
		n_series = 0;
		for (size_t i = 0; i < config->fabric->n_devices; i++)
			add_device(memory, entities, config->fabric->devices[i]->name, poll,
				&n_series);
	}

	uint16_t metrics[METRIC_COUNT];
	const struct window_spec spec = spec_of(metrics);
	double fill = 0, seen = 0, each[64] = {0};
	size_t findings = 0, clear = 0;
	/* kept from window to window, as the pipeline does */
	struct arena *arena = arena_new(), *turn = arena_new();
	for (unsigned run = 0; run < runs; run++) {
		arena_reset(arena);
		struct window w, past;
		const int64_t to = 6 * INTERVAL_NS, from = 3 * INTERVAL_NS;
		double t0 = cpu_ms(), t1;
		window_lent_from_memory(memory, arena, &spec, from, to, &w);
		best(&fill, (t1 = cpu_ms()) - t0, run);
		struct analyzer_shared shared = {.arena = arena};
		struct analyzer_in in = {.fabric = config->fabric,
			.window = &w,
			.interval_ns = INTERVAL_NS,
			.arena = turn,
			.shared = &shared,
			.follows = follows};
		observe(&in);
		best(&seen, cpu_ms() - t1, run);
		findings = clear = 0;
		for (size_t i = 0; analyzers[i]; i++) {
			struct finding_list found = {0};
			in.options = config_options(config, "analyzers", analyzers[i]->name);
			in.past = NULL;
			arena_reset(turn);
			if (analyzers[i]->past.n_metrics) {
				window_lent_from_memory(
					memory, turn, &analyzers[i]->past, 0, to, &past);
				in.past = &past;
			}
			t0 = cpu_ms();
			analyzers[i]->run(&in, &found);
			best(&each[i], cpu_ms() - t0, run);
			findings += found.n;
			clear += found.n_clear;
		}
	}
	arena_free(turn);
	arena_free(arena);
	double sum = 0;
	printf("%u switches, %u ports, %zu series, %zu findings, %zu subjects clear; best of %u, "
	       "CPU ms\n",
		switches, switches * PORTS, n_series, findings, clear, runs);
	printf("%-20s %9.2f\n%-20s %9.2f\n", "fill the window", fill, "observe", seen);
	for (size_t i = 0; analyzers[i]; i++) {
		printf("%-20s %9.2f\n", analyzers[i]->name, each[i]);
		sum += each[i];
	}
	printf("%-20s %9.2f\n%-20s %9.2f\n%-20s %9.2f us\n", "detectors", seen + sum, "all",
		fill + seen + sum, "all, per switch", 1e3 * (fill + seen + sum) / switches);
	series_memory_free(memory);
	entities_free(entities);
	config_free(config);
	return 0;
}
