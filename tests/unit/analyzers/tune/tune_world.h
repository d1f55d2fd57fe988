/*
 * tune_world - hand-made evidence for the tests of threshold tuning: two leaves with four hosts
 * each, one spine, all at 400G, lossless priority 3. As made, nothing is wrong: settings in order
 * and read back an hour ago, no pause, no marks, no loss. A test changes what it is about.
 */
#ifndef TESTS_TUNE_WORLD_H
#define TESTS_TUNE_WORLD_H

#include <math.h>
#include <string.h>

#include "base/arena.h"
#include "base/clock.h"
#include "base/str.h"
#include "analyzers/tune/tune_gate.h"

enum { HOSTS = 4, DEVICES = 3, LEAF_PORTS = HOSTS + 1 };
#define HOUR (3600 * NS_PER_S)
#define NOW (100 * HOUR)

struct tune_world {
	struct arena *a;
	struct fabric fabric;
	struct fabric_device *order[DEVICES], devices[DEVICES];
	struct fabric_port ports[2 * LEAF_PORTS + 2], *of[DEVICES][LEAF_PORTS];
	struct tune_device seen[DEVICES];
	struct tune_prio prios[DEVICES][LEAF_PORTS];
	struct tune_port tports[DEVICES][LEAF_PORTS];
	struct tune_evidence evidence;
	struct tune_platform platforms[DEVICES];
	struct profile_tune profile;
	struct tune_asic asic;
	struct tune_in in;
};

static inline struct tune_prio tune_good_prio(const struct fabric_port *p)
{
	const struct tune_peak none = {.max = NAN, .p99 = NAN};
	return (struct tune_prio){.port = p,
		.priority = 3,
		.windows = 60,
		.busy = 60,
		.pause_measured = true,
		.episode_ns = NAN,
		.episodes_per_s = NAN,
		.marked = 0,
		.out_packets = 1e6,
		.marks_alive = true,
		.pg_drops = 0,
		.drops = 0,
		.wred_drops = NAN,
		.drops_alive = true,
		.utilization = 0.3,
		.utilization_busy = 0.5,
		.queue = none,
		.pg = none,
		.headroom = none,
		.inputs = NAN,
		.pfc_enabled = 1,
		.alpha = 1.0 / 8,
		.headroom_bytes = 100000,
		.xoff_level = NAN,
		.xon_level = NAN,
		.xon_offset = 8400,
		.ecn_enabled = 1,
		.kmin = 1000000,
		.kmax = 2000000,
		.pmax = 0.1,
		.read_ns = NOW - HOUR,
		.recent = RECENT_WINDOWS};
}

static inline void tune_world_port(struct tune_world *w, unsigned d, unsigned k, unsigned at)
{
	struct fabric_port *p = w->of[d][k] = &w->ports[at];
	*p = (struct fabric_port){.name = arena_printf(w->a, "Ethernet%u", k + 1),
		.device = &w->devices[d],
		.alias = "",
		.host_nic = "",
		.speed_bps = 400000000000ull,
		.cable_mm = 5000,
		.index = at};
	w->prios[d][k] = tune_good_prio(p);
	w->tports[d][k] = (struct tune_port){.port = p,
		.errors = 0,
		.flaps = 0,
		.storms = 0,
		.speed_bps = 4e11,
		.mtu_bytes = 9216,
		.cable_m = NAN,
		.in_octets = 1e9,
		.out_octets = 1e9,
		.utilization_busy = 0.5};
}

static inline void tune_world_init(struct tune_world *w)
{
	static const char *const names[DEVICES] = {"leaf1", "leaf2", "spine1"};
	unsigned at = 0;
	memset(w, 0, sizeof(*w));
	w->a = arena_new();
	for (unsigned d = 0; d < DEVICES; d++) {
		const unsigned n = d < 2 ? LEAF_PORTS : 2;
		w->order[d] = &w->devices[d];
		for (unsigned k = 0; k < n; k++)
			tune_world_port(w, d, k, at++);
		w->devices[d] = (struct fabric_device){.name = names[d],
			.role = d < 2 ? ROLE_LEAF : ROLE_SPINE,
			.ports = w->of[d],
			.n_ports = n,
			.index = d};
		w->seen[d] = (struct tune_device){.device = &w->devices[d],
			.prios = w->prios[d],
			.n_prios = n,
			.ports = w->tports[d],
			.n_ports = n,
			.pool_bytes = 16e6,
			.pool_slices = 1,
			.shp_ratio = 0,
			.cell_bytes = 256,
			.pool = {.max = NAN, .p99 = NAN},
			.since_ns = NOW - 2 * HOUR,
			.coverage_ratio = 1,
			.windows = 120};
	}
	for (unsigned d = 0; d < 2; d++) {
		for (unsigned k = 0; k < HOSTS; k++)
			w->of[d][k]->host = arena_printf(w->a, "node-%03u", d * HOSTS + k + 1);
		w->of[d][HOSTS]->peer = w->of[2][d];
		w->of[2][d]->peer = w->of[d][HOSTS];
		w->of[2][d]->cable_mm = w->of[d][HOSTS]->cable_mm = 40000;
	}
	w->fabric = (struct fabric){.name = "test",
		.devices = w->order,
		.n_devices = DEVICES,
		.lossless_mask = 1 << 3,
		.lossless_mtu_bytes = 4200,
		.congestion = CC_DCQCN,
		.id = 7};
	w->evidence = (struct tune_evidence){.fabric = &w->fabric,
		.from_ns = NOW - 2 * HOUR,
		.to_ns = NOW,
		.window_ns = 60 * NS_PER_S,
		.interval_ns = 10 * NS_PER_S,
		.devices = w->seen,
		.n_devices = DEVICES,
		.coverage_ratio = 1};
	w->in = (struct tune_in){.fabric = &w->fabric,
		.evidence = &w->evidence,
		.platforms = w->platforms,
		.now_ns = NOW,
		.arena = w->a,
		.options = {.min_evidence_ns = HOUR, .min_coverage = 0.95, .rtt_ns = 10000}};
}

static inline void tune_world_done(struct tune_world *w)
{
	arena_free(w->a);
}

/* We pause the neighbour at this port, in all of the newest windows. */
static inline void tune_pause(struct tune_prio *l, double share)
{
	l->tx_pause_lo = l->tx_pause_hi = l->tx_pause_busy = share;
	l->tx_windows = 60;
	l->recent_tx = 0xff;
}

/* leaf1 pauses its hosts and marks nothing, Kmin lies beyond PFC: one queue was seen 3 MB deep. */
static inline void tune_make_late(struct tune_world *w, unsigned d)
{
	for (unsigned k = 0; k < w->devices[d].n_ports; k++) {
		w->prios[d][k].kmin = 8e6;
		w->prios[d][k].kmax = 12e6;
		w->prios[d][k].inputs = 2;
	}
	tune_pause(&w->prios[d][0], 0.05);
	tune_pause(&w->prios[d][1], 0.02);
	w->prios[d][3].queue = (struct tune_peak){.max = 3.1e6, .p99 = 3e6, .windows = 60};
	for (unsigned k = 0; k < w->devices[d].n_ports; k++)
		w->prios[d][k].tx_unmarked = w->prios[d][k].tx_windows;
}

static inline const struct tune_sheet *tune_first(struct tune_world *w, struct tune_list *l)
{
	return tune_review(&w->in, l) == 0 && l->n ? &l->v[0] : NULL;
}

static inline const struct tune_change *tune_change_of(const struct tune_sheet *s, enum tune_knob k)
{
	for (size_t i = 0; i < s->n_changes; i++)
		if (s->changes[i].knob == k)
			return &s->changes[i];
	return NULL;
}

#endif
