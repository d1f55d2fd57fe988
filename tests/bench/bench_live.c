/*
 * bench_live - memory of the live pipeline, and how long it holds up the loop: a leaf-spine fabric
 * of @switches switches of 64 ports, polled every 10 s as SONiC is over SNMP (13 values of a port,
 * 5 of each of its 8 priorities), for @minutes of simulated time; nothing is stored. @busy of 100
 * counters move, the others stand still. Prints the memory that is in use, the resident memory, CPU
 * per sample, and the longest call of pipeline_advance(). @jobs jobs share the
 * hosts. Usage: bench_live [SWITCHES [MINUTES [BUSY [JOBS]]]]
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "agent/judge/pipeline.h"
#include "agent/modules.h"
#include "db/model/metric.h"

enum { PORTS = 64, HOST_PORTS = 32, PRIORITIES = 8, LOSSLESS = 3, OF_PORT = 13, OF_LANE = 5 };
enum { PER_SWITCH = PORTS * (OF_PORT + PRIORITIES * OF_LANE) };
#define INTERVAL_NS (10 * NS_PER_S)

static const uint16_t port_metrics[OF_PORT] = {M_PORT_OPER_UP, M_PORT_IN_DISCARDS, M_PORT_IN_ERRORS,
	M_PORT_OUT_DISCARDS, M_PORT_OUT_ERRORS, M_PORT_IN_OCTETS, M_PORT_OUT_OCTETS,
	M_PORT_IN_PACKETS, M_PORT_OUT_PACKETS, M_PORT_FCS_ERRORS, M_PORT_SPEED_BPS,
	M_PORT_MTU_BYTES, M_PORT_FLAPS};
static const uint16_t lane_metrics[OF_LANE] = {
	M_PFC_RX_FRAMES, M_PFC_TX_FRAMES, M_QUEUE_OUT_OCTETS, M_QUEUE_OUT_PACKETS, M_QUEUE_DROPS};

static double cpu_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static size_t resident_kb(void)
{
	char line[256];
	size_t kb = 0;
	FILE *f = fopen("/proc/self/status", "r");
	while (f && fgets(line, sizeof(line), f))
		if (strncmp(line, "VmRSS:", 6) == 0)
			kb = strtoul(line + 6, NULL, 10);
	if (f)
		fclose(f);
	return kb;
}

/* A job's hosts, by name, as a scheduler tells them. */
static void jobs_text(struct str *s, unsigned hosts, unsigned jobs)
{
	if (jobs > 0)
		str_add(s, "jobs:\n");
	for (unsigned j = 0; j < jobs; j++) {
		const char *comma = "";
		str_addf(s, "  - { name: job%u, gpus: 8, hosts: \"", j);
		for (unsigned h = j; h < hosts; h += jobs) {
			str_addf(s, "%snode-%u", comma, h + 1);
			comma = ",";
		}
		str_add(s, "\" }\n");
	}
}

static char *fabric_text(unsigned leaves, unsigned spines, unsigned jobs)
{
	struct str s = {0};
	str_add(&s, "fabric: bench\ndefaults: { interval: 10s }\ndevices:\n");
	for (unsigned l = 0; l < leaves; l++)
		str_addf(&s, "  - { name: leaf%u, role: leaf }\n", l + 1);
	for (unsigned k = 0; k < spines; k++)
		str_addf(&s, "  - { name: spine%u, role: spine }\n", k + 1);
	str_add(&s, "links:\n");
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
	str_addf(&s, "lossless: { priorities: [%d] }\n", LOSSLESS);
	jobs_text(&s, leaves * HOST_PORTS, jobs);
	return s.s;
}

static uint64_t value_of(uint16_t metric, unsigned poll, unsigned lane, bool busy)
{
	switch (metric) {
	case M_PORT_SPEED_BPS: return UINT64_C(400000000000);
	case M_PORT_OPER_UP: return 1;
	case M_PORT_MTU_BYTES: return 9216;
	case M_PORT_IN_OCTETS:
	case M_PORT_OUT_OCTETS: return UINT64_C(1000000) + (uint64_t)poll * UINT64_C(125000000000);
	case M_PORT_IN_PACKETS:
	case M_PORT_OUT_PACKETS: return (uint64_t)poll * UINT64_C(30000000) + lane;
	case M_QUEUE_OUT_OCTETS: return busy ? (uint64_t)poll * UINT64_C(15000000000) : 0;
	case M_QUEUE_OUT_PACKETS: return busy ? (uint64_t)poll * UINT64_C(30000000) : 0;
	default: return busy ? poll : 0;
	}
}

static unsigned switch_samples(struct entities *entities, const char *device, unsigned poll,
	unsigned percent, int64_t t_ns, struct sample *ret)
{
	unsigned n = 0;
	for (unsigned p = 0; p < PORTS; p++) {
		char name[16];
		snprintf(name, sizeof(name), "Ethernet%u", p + 1);
		for (int c = PRIO_NONE; c < PRIORITIES; c++) {
			const uint32_t entity = entities_intern(entities, device, name, c);
			const uint16_t *metrics = c == PRIO_NONE ? port_metrics : lane_metrics;
			const unsigned of = c == PRIO_NONE ? OF_PORT : OF_LANE;
			for (unsigned k = 0; k < of; k++) {
				const bool counts = c >= 0 &&
					(metrics[k] == M_QUEUE_OUT_OCTETS ||
						metrics[k] == M_QUEUE_OUT_PACKETS);
				const bool busy =
					(p * 7 + k * 13 + (unsigned)(c + 1) * 29) % 100 < percent &&
					(counts || percent == 100);
				ret[n++] = (struct sample){.t_ns = t_ns,
					.entity = entity,
					.metric = metrics[k],
					.value = value_of(metrics[k], poll, p, busy),
					.flags = poll == 0 && c >= 0 ? SF_RESTART : 0,
					.source = SOURCE_SNMP};
			}
		}
	}
	return n;
}

int main(int argc, char **argv)
{
	const unsigned switches = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 64,
		       minutes = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 32,
		       percent = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 25,
		       jobs = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 0;
	const unsigned spines = switches / 3 ? switches / 3 : 1, leaves = switches - spines;
	rw_cleanup(freep) char *yaml = fabric_text(leaves, spines, jobs);
	rw_cleanup(err_list_done) struct err_list errors = {0};
	size_t n_tables;
	const struct option_table *const *tables = module_tables(&n_tables);
	struct config *config;
	if (config_parse(yaml, strlen(yaml), "bench", CONFIG_CASE, tables, n_tables, &config,
		    &errors) != 0) {
		err_print(stderr, &errors.v[0]);
		return 1;
	}
	struct entities *entities = entities_new();
	struct ledger *ledger = ledger_new(config->fabric, NULL, NULL);
	struct pipeline *pipeline = pipeline_new(config, entities, NULL, ledger);
	const struct sink *sink = pipeline_sink(pipeline);
	struct sample *samples = rw_calloc(PER_SWITCH, sizeof(*samples));
	const size_t before_kb = resident_kb();
	const unsigned polls = minutes * 6;
	double longest = 0, spent = 0, taking = 0;
	for (unsigned poll = 0; poll < polls; poll++) {
		const int64_t t_ns = (int64_t)(100000 + poll) * INTERVAL_NS + NS_PER_S / 3;
		for (unsigned i = 0; i < switches; i++) {
			const char *name = config->fabric->devices[i]->name;
			const unsigned n = switch_samples(entities, name, poll, percent,
				t_ns + (int64_t)i * NS_PER_MS, samples);
			const double t0 = cpu_ms();
			sink->samples(sink->arg, samples, n);
			taking += cpu_ms() - t0;
		}
		for (int s = 1; s <= 10; s++) {
			const double t0 = cpu_ms();
			pipeline_advance(pipeline, t_ns + s * NS_PER_S);
			const double took = cpu_ms() - t0;
			spent += took;
			if (poll > 5 && took > longest)
				longest = took;
		}
	}
	const struct mallinfo2 info = mallinfo2();
	const double values = (double)polls * switches * PER_SWITCH;
	printf("%u switches x %u ports, %u min at 10 s, %u %% of lanes busy\n", switches, PORTS,
		minutes, percent);
	printf("resident %zu MB (%zu before), in use %zu MB, %.1f KB a port\n",
		resident_kb() / 1024, before_kb / 1024, (info.uordblks + info.hblkhd) >> 20,
		(double)(resident_kb() - before_kb) / switches / PORTS);
	printf("%.3f us of CPU a sample taken in; judging: %.1f ms each 10 s, longest call %.1f "
	       "ms\n",
		taking / values * 1e3, spent / polls, longest);
	free(samples);
	pipeline_free(pipeline);
	ledger_free(ledger);
	entities_free(entities);
	config_free(config);
	return 0;
}
