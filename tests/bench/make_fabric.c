/*
 * make_fabric - the database of a leaf-spine fabric of @switches switches of 64 ports, as its agent
 * would have written it over SNMP (13 values of a port, 5 of each of its 8 priorities, every 10 s),
 * without the hours that the agent would take: for what reading commands cost. A young one, of
 * which nothing is sealed, or one with two sealed hours of a poll every 5 minutes before it.
 * @incidents are open in it: hosts that pause. It is a recorded one: its newest sample is its
 * "now".
 * Usage: make_fabric FILE [SWITCHES [POLLS [INCIDENTS [sealed]]]]
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/incident/incident_json.h"
#include "agent/incident/ledger.h"
#include "agent/modules.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"
#include "config/config.h"
#include "db/model/entity.h"
#include "db/model/metric.h"
#include "db/open.h"
#include "db/store/store.h"

enum { PORTS = 64, HOST_PORTS = 32, PRIORITIES = 8, LOSSLESS = 3, OF_PORT = 13, OF_LANE = 5 };
enum { PER_SWITCH = PORTS * (OF_PORT + PRIORITIES * OF_LANE), HOLD = 3 };
#define STEP_NS (10 * NS_PER_S)
#define END_NS INT64_C(1700000400000000000)
#define SEALED_STEP_NS (300 * NS_PER_S)
#define SEALED_POLLS 30

static const uint16_t port_metrics[OF_PORT] = {M_PORT_OPER_UP, M_PORT_IN_DISCARDS, M_PORT_IN_ERRORS,
	M_PORT_OUT_DISCARDS, M_PORT_OUT_ERRORS, M_PORT_IN_OCTETS, M_PORT_OUT_OCTETS,
	M_PORT_IN_PACKETS, M_PORT_OUT_PACKETS, M_PORT_FCS_ERRORS, M_PORT_SPEED_BPS,
	M_PORT_MTU_BYTES, M_PORT_FLAPS};
static const uint16_t lane_metrics[OF_LANE] = {
	M_PFC_RX_FRAMES, M_PFC_TX_FRAMES, M_QUEUE_OUT_OCTETS, M_QUEUE_OUT_PACKETS, M_QUEUE_DROPS};

static char *fabric_text(unsigned leaves, unsigned spines)
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
				"  - { a: \"leaf%u:Ethernet%u\", b: \"host:node-%u\", speed: 400G "
				"}\n",
				l + 1, p + 1, l * HOST_PORTS + p + 1);
		for (unsigned k = 0; k < HOST_PORTS; k++) {
			const unsigned spine = l / PORTS * HOST_PORTS + k;
			if (spine < spines)
				str_addf(&s,
					"  - { a: \"leaf%u:Ethernet%u\", b: "
					"\"spine%u:Ethernet%u\", "
					"speed: 400G }\n",
					l + 1, HOST_PORTS + k + 1, spine + 1, l % PORTS + 1);
		}
	}
	str_addf(&s,
		"lossless: { priorities: [%d] }\n"
		"jobs:\n  - { name: train, gpus: 4096, hosts: \"node-*\" }\n",
		LOSSLESS);
	return s.s;
}

/* ---- samples ---------------------------------------------------------------- */

static uint64_t value_of(uint16_t metric, unsigned poll, unsigned lane)
{
	switch (metric) {
	case M_PORT_SPEED_BPS: return UINT64_C(400000000000);
	case M_PORT_OPER_UP: return 1;
	case M_PORT_MTU_BYTES: return 9216;
	case M_PORT_IN_OCTETS:
	case M_PORT_OUT_OCTETS: return UINT64_C(1000000) + (uint64_t)poll * UINT64_C(125000000000);
	case M_PORT_IN_PACKETS:
	case M_PORT_OUT_PACKETS: return (uint64_t)poll * UINT64_C(30000000) + lane;
	case M_PFC_RX_FRAMES:
	case M_PFC_TX_FRAMES:
	case M_QUEUE_OUT_OCTETS:
	case M_QUEUE_OUT_PACKETS:
		if (lane % 16 == 0) /* a lane in sixteen is busy */
			return (uint64_t)poll * 997 + lane;
		return 17;
	default: return 0;
	}
}

static size_t switch_samples(struct entities *entities, const char *device, unsigned poll,
	int64_t t_ns, struct sample *ret)
{
	size_t n = 0;
	for (unsigned p = 0; p < PORTS; p++) {
		char name[16];
		snprintf(name, sizeof(name), "Ethernet%u", p + 1);
		for (int c = PRIO_NONE; c < PRIORITIES; c++) {
			const uint32_t entity = entities_intern(entities, device, name, c);
			const uint16_t *metrics = c == PRIO_NONE ? port_metrics : lane_metrics;
			const unsigned of = c == PRIO_NONE ? OF_PORT : OF_LANE;
			for (unsigned k = 0; k < of; k++)
				ret[n++] = (struct sample){.t_ns = t_ns,
					.entity = entity,
					.metric = metrics[k],
					.value = value_of(
						metrics[k], poll, p * 8 + (unsigned)(c + 1)),
					.flags = poll == 0 && c >= 0 ? SF_RESTART : 0,
					.source = SOURCE_SNMP};
		}
	}
	return n;
}

/* ---- incidents -------------------------------------------------------------- */

/* The @at-th host pauses the port that it is on. */
static void pause_take(struct ledger *ledger, unsigned at, unsigned leaves, int64_t to_ns)
{
	const unsigned port = at % (leaves * HOST_PORTS);
	char device[24], name[24], host[24], summary[96];
	snprintf(device, sizeof(device), "leaf%u", port / HOST_PORTS + 1);
	snprintf(name, sizeof(name), "Ethernet%u", port % HOST_PORTS + 1);
	snprintf(host, sizeof(host), "node-%u", port + 1);
	snprintf(summary, sizeof(summary), "%s pauses %s:%s", host, device, name);
	const struct finding f = {.analyzer = "pause_storm",
		.cause = CAUSE_SLOW_RECEIVER,
		.verdict = FINDING_OVER,
		.severity = SEV_WARNING,
		.from_ns = to_ns - STEP_NS,
		.to_ns = to_ns,
		.device = device,
		.port = name,
		.host = host,
		.priority = (int)(LOSSLESS + at / (leaves * HOST_PORTS)) % PRIORITIES,
		.hold = HOLD,
		.summary = summary,
		.confidence_ratio = 0.9,
		.coverage_ratio = 1,
		.loss_ratio = 0.3,
		.explained_ratio = NAN,
		.value = 0.3,
		.warn = 0.3};
	ledger_take(ledger, &f);
}

/* ---- the file --------------------------------------------------------------- */

struct maker {
	const struct config *config;
	struct entities *entities;
	struct store *store;
	struct ledger *ledger;
	unsigned leaves, polls, incidents;
	bool sealed;
};

/* The last polls are 10 s apart, those of the sealed hours before them 5 minutes. */
static int64_t poll_time(const struct maker *maker, unsigned poll)
{
	if (poll < maker->polls)
		return END_NS - (int64_t)poll * STEP_NS;
	return END_NS - (int64_t)maker->polls * STEP_NS -
		(int64_t)(poll - maker->polls) * SEALED_STEP_NS;
}

static int make_polls(struct maker *maker, struct err *e)
{
	const unsigned polls = maker->polls + (maker->sealed ? SEALED_POLLS : 0);
	const struct fabric *fabric = maker->config->fabric;
	rw_cleanup(freep) struct sample *v = rw_calloc(PER_SWITCH, sizeof(*v));
	for (unsigned poll = 0; poll < polls; poll++) {
		const int64_t t_ns = poll_time(maker, polls - 1 - poll);
		for (size_t i = 0; i < fabric->n_devices; i++) {
			const size_t n = switch_samples(maker->entities, fabric->devices[i]->name,
				poll, t_ns + (int64_t)i * NS_PER_MS, v);
			store_samples(maker->store, v, n);
		}
		for (unsigned k = 0; poll + HOLD >= polls && k < maker->incidents; k++)
			pause_take(maker->ledger, k, maker->leaves, t_ns);
		const int rc = store_flush(maker->store, e);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int make_file(const char *path, struct maker *maker, const char *yaml)
{
	const struct store_options options = {
		.path = path, .replay = maker->sealed, .recorded = true, .max_pending = SIZE_MAX};
	struct err e = {0};
	maker->entities = entities_new();
	if (db_store_open(&options, maker->entities, &maker->store, &e) < 0) {
		err_print(stderr, &e);
		return 1;
	}
	maker->ledger = ledger_new(maker->config->fabric, incident_store, maker->store);
	store_fabric(maker->store, poll_time(maker, maker->polls), yaml);
	const int rc = make_polls(maker, &e);
	if (rc < 0)
		err_print(stderr, &e);
	ledger_free(maker->ledger);
	store_close(maker->store);
	entities_free(maker->entities);
	return rc < 0;
}

int main(int argc, char **argv)
{
	const unsigned switches = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 512;
	struct maker maker = {.polls = argc > 3 ? (unsigned)strtoul(argv[3], NULL, 10) : 10,
		.incidents = argc > 4 ? (unsigned)strtoul(argv[4], NULL, 10) : 0,
		.sealed = argc > 5 && strcmp(argv[5], "sealed") == 0};
	const unsigned spines = switches / 3 ? switches / 3 : 1;
	if (argc < 2) {
		fprintf(stderr,
			"usage: make_fabric FILE [SWITCHES [POLLS [INCIDENTS [sealed]]]]\n");
		return 2;
	}
	maker.leaves = switches - spines;
	rw_cleanup(freep) char *yaml = fabric_text(maker.leaves, spines);
	rw_cleanup(err_list_done) struct err_list errors = {0};
	size_t n_tables;
	const struct option_table *const *tables = module_tables(&n_tables);
	struct config *config;
	if (config_parse(yaml, strlen(yaml), "bench", CONFIG_CASE, tables, n_tables, &config,
		    &errors) != 0) {
		err_print(stderr, &errors.v[0]);
		return 1;
	}
	maker.config = config;
	const int rc = make_file(argv[1], &maker, yaml);
	config_free(config);
	return rc;
}
