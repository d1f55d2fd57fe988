/*
 * bench_storm - what it costs when K incidents open in one window: K hosts of a leaf-spine fabric
 * begin to pause at once, every eighth so much that it is a storm, which names two others of its
 * leaf as victims, and a congested queue stands beside each eighth. Findings go to the ledger as
 * the agent hands them on; each change is written as JSON, as for the store. Prints CPU of the
 * window in which they open, of a later one, and of the one in which they end, the longest eight
 * findings in a row, and how many pairs of incidents were compared. Usage: bench_storm [SWITCHES
 * [K]...]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "agent/incident/incident_json.h"
#include "agent/incident/ledger.h"
#include "agent/modules.h"
#include "config/config.h"

enum { HOST_PORTS = 32, UPLINKS = 8, VICTIMS = 2, HOLD = 3, LOSSLESS = 3, PRIORITIES = 8 };
enum { TOGETHER = 8 }; /* findings that are timed together: the clock itself costs */
#define WINDOW_NS (10 * NS_PER_S)

static double cpu_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static unsigned leaves_of(unsigned switches)
{
	return switches - switches / 3;
}

static char *fabric_text(unsigned switches)
{
	const unsigned leaves = leaves_of(switches), spines = switches - leaves;
	struct str s = {0};
	str_add(&s, "fabric: bench\ndevices:\n");
	for (unsigned l = 0; l < leaves; l++)
		str_addf(&s, "  - { name: leaf%u, role: leaf }\n", l);
	for (unsigned k = 0; k < spines; k++)
		str_addf(&s, "  - { name: spine%u, role: spine }\n", k);
	str_add(&s, "links:\n");
	for (unsigned l = 0; l < leaves; l++) {
		for (unsigned p = 0; p < HOST_PORTS; p++)
			str_addf(&s, "  - { a: \"leaf%u:Ethernet%u\", b: \"host:node-%u\" }\n", l,
				p, l * HOST_PORTS + p);
		for (unsigned k = 0; k < UPLINKS; k++)
			str_addf(&s,
				"  - { a: \"leaf%u:Ethernet%u\", b: \"spine%u:Ethernet%u\" }\n", l,
				HOST_PORTS + k, (l / 8 * UPLINKS + k) % spines, l);
	}
	str_add(&s,
		"jobs:\n  - { name: train, gpus: 4096, hosts: \"node-*\" }\n"
		"cost: { usd_per_gpu_hour: 2 }\n");
	return s.s;
}

struct storm {
	struct ledger *ledger;
	unsigned ports; /* that face a host */
	uint64_t bytes; /* of JSON */
	double longest_ms, begun_ms; /* of TOGETHER findings */
	unsigned taken;
};

static void on_change(void *arg, const struct incident *incident, enum incident_state from)
{
	struct storm *s = arg;
	rw_cleanup(freep) char *json = incident_json_text(incident);
	s->bytes += strlen(json);
	(void)from;
}

static void storm_take(struct storm *storm, const struct finding *finding)
{
	if (storm->taken++ % TOGETHER == 0)
		storm->begun_ms = cpu_ms();
	ledger_take(storm->ledger, finding);
	if (storm->taken % TOGETHER > 0)
		return;
	const double took = cpu_ms() - storm->begun_ms;
	if (took > storm->longest_ms)
		storm->longest_ms = took;
}

/* The @at-th of the ports that pause; beyond the last one, another of its priorities. */
static void storm_pause(struct storm *storm, unsigned at, int window, enum finding_verdict verdict)
{
	const unsigned port = at % storm->ports;
	char device[24], name[24], host[24], victims[VICTIMS][48], summary[96];
	struct finding_role roles[VICTIMS];
	const bool hung = at % 8 == 0;
	snprintf(device, sizeof(device), "leaf%u", port / HOST_PORTS);
	snprintf(name, sizeof(name), "Ethernet%u", port % HOST_PORTS);
	snprintf(host, sizeof(host), "node-%u", port);
	for (unsigned k = 0; k < VICTIMS; k++) {
		snprintf(victims[k], sizeof(victims[k]), "%s:Ethernet%u", device,
			(port + 1 + k) % HOST_PORTS);
		roles[k] = (struct finding_role){victims[k], "direct_victim"};
	}
	snprintf(summary, sizeof(summary), "%s pauses %s:%s", host, device, name);
	struct finding f = {.analyzer = "pause_storm",
		.cause = hung ? CAUSE_PFC_STORM : CAUSE_SLOW_RECEIVER,
		.verdict = verdict,
		.severity = hung ? SEV_CRITICAL : SEV_WARNING,
		.from_ns = (window - 1) * WINDOW_NS,
		.to_ns = window * WINDOW_NS,
		.device = device,
		.port = name,
		.host = host,
		.priority = (int)(LOSSLESS + at / storm->ports) % PRIORITIES,
		.hold = HOLD,
		.summary = summary,
		.roles = roles,
		.n_roles = hung ? VICTIMS : 0,
		.confidence_ratio = 0.9,
		.coverage_ratio = 1,
		.loss_ratio = 0.3,
		.explained_ratio = NAN,
		.value = hung ? 0.95 : 0.3,
		.warn = 0.3};
	storm_take(storm, &f);
	if (at % 8 != 1)
		return;
	f.analyzer = "congestion";
	f.cause = CAUSE_INCAST;
	f.n_roles = 0;
	storm_take(storm, &f);
}

/* CPU of a window, ms. */
static double storm_window(
	struct storm *storm, unsigned n, int window, enum finding_verdict verdict)
{
	double rate[60];
	for (int k = 0; k < 60; k++)
		rate[k] = 1e9 * (1 + 0.01 * (k % 7)) * (k < 60 - window ? 1 : 0.5);
	const struct job_rate job = {.job = "train",
		.from_ns = (window - 60) * WINDOW_NS,
		.block_ns = WINDOW_NS,
		.n = 60,
		.rate = rate};
	const double t0 = cpu_ms();
	storm->taken = 0;
	for (unsigned k = 0; k < n; k++)
		storm_pause(storm, k, window, verdict);
	ledger_rates(storm->ledger, &job, 1);
	return cpu_ms() - t0;
}

static void storm_run(const struct config *config, unsigned switches, unsigned n)
{
	struct storm s = {.ports = leaves_of(switches) * HOST_PORTS};
	s.ledger = ledger_new(config->fabric, on_change, &s);
	double opens = 0, ends = 0, later = 0;
	const struct incident **all;
	for (int w = 1; w <= HOLD + 3; w++) {
		const double took = storm_window(&s, n, w, FINDING_OVER);
		if (w == HOLD)
			opens = took;
		later = took;
	}
	for (int w = HOLD + 4; w < 2 * HOLD + 5; w++) {
		const double took = storm_window(&s, n, w, FINDING_UNDER);
		if (took > ends)
			ends = took;
	}
	printf("%8u %7u %9zu %10.1f %10.1f %10.1f %10.2f %12llu %8.1f\n", switches, n,
		ledger_incidents(s.ledger, &all), opens, later, ends, s.longest_ms,
		(unsigned long long)ledger_compared(s.ledger), (double)s.bytes / 1e6);
	fflush(stdout);
	ledger_free(s.ledger);
}

static void storm_fabric(unsigned switches, char *const *counts, int n_counts)
{
	static const unsigned usual[] = {50, 100, 200, 400, 800, 1600, 2000, 10000};
	rw_cleanup(freep) char *yaml = fabric_text(switches);
	rw_cleanup(err_list_done) struct err_list errors = {0};
	size_t n_tables;
	const struct option_table *const *tables = module_tables(&n_tables);
	struct config *config;
	if (config_parse(yaml, strlen(yaml), "bench", CONFIG_CASE, tables, n_tables, &config,
		    &errors) != 0) {
		err_print(stderr, &errors.v[0]);
		exit(1);
	}
	for (int k = 0; k < n_counts; k++)
		storm_run(config, switches, (unsigned)strtoul(counts[k], NULL, 10));
	for (size_t k = 0; n_counts == 0 && k < rw_countof(usual); k++)
		storm_run(config, switches, usual[k]);
	config_free(config);
}

int main(int argc, char **argv)
{
	printf("switches  pauses incidents   ms opens   ms later    ms ends ms longest     "
	       "compared  MB "
	       "json\n");
	if (argc > 1) {
		storm_fabric((unsigned)strtoul(argv[1], NULL, 10), argv + 2, argc - 2);
		return 0;
	}
	storm_fabric(64, NULL, 0);
	storm_fabric(512, NULL, 0);
	return 0;
}
