/*
 * seen_world - one window as it was observed, made by hand: two leaves with four hosts each, two
 * spines, all at 400G, lossless priority 3. As made every host sends and takes 40 Gbit/s, counters
 * are known, and nothing is wrong. A row of a table says in SET() what it changes, so that a limit
 * can be asked just below, at and just above it.
 */
#ifndef RW_TESTS_SEEN_WORLD_H
#define RW_TESTS_SEEN_WORLD_H

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/clock.h"
#include "analyzers/analyzer.h"
#include "analyzers/detect/congestion_signs.h"
#include "analyzers/measure/nic.h"
#include "db/model/entity.h"

enum { LEAVES = 2, SPINES = 2, SWITCHES = 4, AT_LEAF = 4, LEAF_PORTS = 6, HOSTS = 8, PORTS = 16 };
enum { PRIO = 3, CHANGES = 12, SEEN_EDGES = 8, SEEN_ROOTS = 4 };
/* Ports by number: of host k (0 to 7), of leaf l towards spine s and back. */
#define HOST(k) ((k) / AT_LEAF * LEAF_PORTS + (k) % AT_LEAF)
#define UP(l, s) ((l)*LEAF_PORTS + AT_LEAF + (s))
#define DOWN(s, l) (LEAVES * LEAF_PORTS + (s)*LEAVES + (l))

struct seen_world {
	struct arena *a;
	struct fabric fabric;
	struct fabric_device dev[SWITCHES], *devs[SWITCHES];
	struct fabric_port port[PORTS], *of[PORTS];
	struct fabric_group group[LEAVES];
	struct device_seen devices[SWITCHES];
	struct port_seen ports[PORTS];
	struct port_prio prios[PORTS], *all[PORTS];
	struct observed o;
	struct pause_edge edges[SEEN_EDGES];
	struct pause_root roots[SEEN_ROOTS];
	struct pause_graph graph;
	struct nic_seen nic[HOSTS];
	const struct nic_seen *nic_of[PORTS];
	uint32_t first_of_host[PORTS];
	struct nics nics;
	struct entities *entities;
	struct window window;
	struct analyzer_shared shared;
	struct analyzer_in in;
	int64_t past_ns; /* for a past that a test makes */
	/* as congestion_measure() and congestion_lead() would leave it; hosts 0 and 1 are paused */
	struct congestion_options options;
	struct device_load loads[SWITCHES + 1];
	struct paused_host hosts[HOSTS];
	struct congestion c;
};

/* One change of the world: a field, as "ports[0].oper_up", and what is put there. */
struct change {
	size_t at;
	char type; /* 0: none */
	double value;
};
#define SET(field, put)                                                                            \
	{                                                                                          \
		offsetof(struct seen_world, field),                                                \
			_Generic(((struct seen_world *)0)->field, double                           \
				 : 'd', bool                                                       \
				 : 'b', int                                                        \
				 : 'u', unsigned                                                   \
				 : 'u', unsigned long                                              \
				 : 'l', long                                                       \
				 : 'l'),                                                           \
			put                                                                        \
	}
/* A field, a double, of all NICs but the first. */
#define OTHERS(field, put)                                                                         \
	{                                                                                          \
		offsetof(struct seen_world, nic[1].field), 'o', put                                \
	}
/* We pause the neighbour of a port for a share of the time, measured; it pauses us. */
#define PAUSED(k, share) SET(prios[k].tx_pause.lo, share)
#define PAUSES(k, share) SET(prios[k].rx_pause.lo, share)
#define MARKS(k, n) SET(prios[k].marked.value, n) /* of a million packets */

/* The first @n ports to hosts of each leaf face one host. */
#define RAILS(n)                                                                                   \
	{                                                                                          \
		0, 'r', n                                                                          \
	}
/* A field at the two sides of a limit. */
#define LIMIT(field, no, yes) #field, SET(field, no), SET(field, yes)

static inline void seen_change(struct seen_world *w, const struct change *changes, size_t n)
{
	for (size_t i = 0; i < n && changes[i].type; i++) {
		char *at = (char *)w + changes[i].at;
		const double put = changes[i].value;
		switch (changes[i].type) {
		case 'd': memcpy(at, &put, sizeof(put)); break;
		case 'b': *(bool *)(void *)at = put != 0; break;
		case 'o':
			for (size_t k = 0; k < HOSTS - 1; k++, at += sizeof(struct nic_seen))
				memcpy(at, &put, sizeof(put));
			break;
		case 'r':
			for (unsigned k = 0; k < (unsigned)put; k++) {
				w->port[HOST(k)].host = w->port[HOST(0)].host;
				w->port[HOST(AT_LEAF + k)].host = w->port[HOST(AT_LEAF)].host;
			}
			break;
		case 'u': *(unsigned *)(void *)at = (unsigned)put; break;
		default: *(uint64_t *)(void *)at = (uint64_t)put;
		}
	}
}

static inline double seen_value(const struct seen_world *w, const struct change *field)
{
	const char *at = (const char *)w + field->at;
	double is = 0;
	switch (field->type) {
	case 'd': memcpy(&is, at, sizeof(is)); return is;
	case 'b': return *(const bool *)(const void *)at;
	case 'u': return *(const unsigned *)(const void *)at;
	default: return (double)*(const uint64_t *)(const void *)at;
	}
}

static inline struct amount seen_count(double value)
{
	return (struct amount){
		.value = value, .covered_ns = 60 * NS_PER_S, .known = true, .alive = true};
}

static inline void seen_port(struct seen_world *w, unsigned d, unsigned k, unsigned at)
{
	const struct port_rate rate = {.rate_bps = 4e10,
		.octets = 300000000000,
		.covered_ns = 60 * NS_PER_S,
		.declared_bps = 400000000000,
		.read_bps = 400000000000,
		.capacity_bps = 400000000000,
		.utilization_ratio = 0.1,
		.coverage_ratio = 1};
	const struct pause_share calm = {.measured = true, .alive = true};
	w->of[at] = &w->port[at];
	w->port[at] = (struct fabric_port){.name = arena_printf(w->a, "e%u", k + 1),
		.device = &w->dev[d],
		.alias = "",
		.host_nic = "",
		.cable_mm = 5000,
		.index = at};
	w->ports[at] = (struct port_seen){.port = &w->port[at],
		.device = &w->devices[d],
		.entity = at + 1,
		.in_fabric = true,
		.in = rate,
		.out = rate,
		.in_known = true,
		.out_known = true,
		.oper_up = 1};
	w->all[at] = w->ports[at].prios[PRIO] = &w->prios[at];
	w->prios[at] = (struct port_prio){.port = &w->ports[at],
		.priority = PRIO,
		.lossless = true,
		.rx_pause = calm,
		.tx_pause = calm,
		.tx_frames = seen_count(0),
		.rx_frames = seen_count(0),
		.out_packets = seen_count(1e6),
		.marked = seen_count(0)};
	struct port_prio *p = &w->prios[at];
	double *const unknown[] = {&p->pg_peak, &p->headroom_peak, &p->queue_peak, &p->pfc_enabled,
		&p->alpha, &p->headroom, &p->xoff_level, &p->xon_level, &p->xon_offset,
		&p->ecn_enabled, &p->kmin, &p->kmax};
	for (size_t i = 0; i < sizeof(unknown) / sizeof(*unknown); i++)
		*unknown[i] = NAN;
}

static inline void seen_link(struct seen_world *w, unsigned a, unsigned b)
{
	w->port[a].peer = &w->port[b];
	w->port[b].peer = &w->port[a];
}

static inline void seen_nic(struct seen_world *w, unsigned k)
{
	const unsigned at = HOST(k);
	w->port[at].host = arena_printf(w->a, "node-%u", k + 1);
	w->nic_of[at] = &w->nic[k];
	w->nic[k] = (struct nic_seen){.host = w->port[at].host,
		.name = "mlx5_0",
		.port = &w->ports[at],
		.host_port = &w->ports[at],
		.cnp_sent = seen_count(100),
		.cnp_handled = seen_count(100),
		.cnp_ignored = seen_count(0),
		.cnp_received = {.covered_ns = 60 * NS_PER_S},
		.ce_received = {.covered_ns = 60 * NS_PER_S},
		.prios[PRIO] = {.rx_pause_ns = {.covered_ns = NS_PER_S}},
		.pci_stall_rd = NAN,
		.pci_stall_wr = NAN};
}

static inline void seen_congestion(struct seen_world *w)
{
	w->options = (struct congestion_options){.pause = 0.02,
		.marks = 0.05,
		.marks_few = 0.001,
		.singled_out = 5,
		.rtt_ns = 10000};
	for (unsigned k = 0; k < 2; k++)
		w->hosts[k] = (struct paused_host){.host = w->port[HOST(k)].host,
			.prio = &w->prios[HOST(k)],
			.level = 0.02,
			.sum = 0.02,
			.rails = 1,
			.rails_paused = 1,
			.measured = true};
	w->c = (struct congestion){.in = &w->in,
		.o = &w->o,
		.graph = &w->graph,
		.priority = PRIO,
		.floor = 0.001,
		.devices = w->loads,
		.hosts = w->hosts,
		.n_hosts = 1,
		.n_known = HOSTS,
		.n_others = HOSTS - 1,
		.n_singled = 1,
		.measured = true,
		.host_capacity_bps = 4e11,
		.lead = {.n = 1, .times = 100}};
}

static inline void seen_world_init(struct seen_world *w)
{
	static const char *const names[SWITCHES] = {"leaf1", "leaf2", "spine1", "spine2"};
	*w = (struct seen_world){.a = arena_new(), .entities = entities_new()};
	for (unsigned d = 0, at = 0; d < SWITCHES; d++) {
		const unsigned n = d < LEAVES ? LEAF_PORTS : LEAVES;
		w->devs[d] = &w->dev[d];
		w->dev[d] = (struct fabric_device){.name = names[d],
			.role = d < LEAVES ? ROLE_LEAF : ROLE_SPINE,
			.ports = &w->of[at],
			.n_ports = n,
			.index = d};
		w->devices[d] = (struct device_seen){.device = &w->dev[d],
			.ports = &w->ports[at],
			.n_ports = n,
			.n_series = 1,
			.pool_bytes = NAN,
			.pool_peak = NAN};
		for (unsigned k = 0; k < n; k++)
			seen_port(w, d, k, at++);
	}
	for (unsigned l = 0; l < LEAVES; l++) {
		for (unsigned s = 0; s < SPINES; s++)
			seen_link(w, UP(l, s), DOWN(s, l));
		w->group[l] = (struct fabric_group){.id = "uplinks",
			.device = &w->dev[l],
			.members = &w->of[UP(l, 0)],
			.n_members = SPINES};
		w->dev[l].groups = &w->group[l];
		w->dev[l].n_groups = 1;
	}
	for (unsigned k = 0; k < HOSTS; k++)
		seen_nic(w, k);
	for (unsigned at = 0; at < PORTS; at++)
		w->first_of_host[at] = at;
	w->fabric = (struct fabric){.name = "test",
		.devices = w->devs,
		.n_devices = SWITCHES,
		.lossless_mask = 1 << PRIO,
		.lossless_mtu_bytes = 4200,
		.congestion = CC_DCQCN};
	w->window = (struct window){.to_ns = 60 * NS_PER_S, .entities = w->entities};
	w->o = (struct observed){.to_ns = 60 * NS_PER_S,
		.fabric = &w->fabric,
		.window = &w->window,
		.devices = w->devices,
		.n_devices = SWITCHES,
		.ports = w->ports,
		.n_ports = PORTS,
		.n_fabric_ports = PORTS,
		.prios = w->all,
		.n_prios = PORTS};
	w->graph = (struct pause_graph){
		.observed = &w->o, .edges = w->edges, .roots = w->roots, .observable = true};
	w->nics = (struct nics){
		.v = w->nic, .n = HOSTS, .of_port = w->nic_of, .first_of_host = w->first_of_host};
	w->shared = (struct analyzer_shared){
		.arena = w->a, .observed = &w->o, .pause = &w->graph, .nics = &w->nics};
	w->in = (struct analyzer_in){.fabric = &w->fabric,
		.window = &w->window,
		.interval_ns = 10 * NS_PER_S,
		.arena = w->a,
		.shared = &w->shared};
	seen_congestion(w);
}

static inline void seen_world_done(struct seen_world *w)
{
	entities_free(w->entities);
	arena_free(w->a);
}

#endif
