/*
 * measure - one exchange of a scenario, simulated in the fine grain, as numbers the coarse grain
 * can repeat: how long it takes against the same without fault, and what every port counts
 * meanwhile.
 */
#ifndef FABRIC_MEASURE_H
#define FABRIC_MEASURE_H

#include "tests/fabric/plan.h"
#include "tests/fabric/scenario.h"
#include "tests/fabric/sim.h"

enum port_sum {
	SUM_IN_OCTETS,
	SUM_OUT_OCTETS,
	SUM_IN_PACKETS,
	SUM_OUT_PACKETS,
	SUM_IN_ERRORS,
	SUM_IN_DISCARDS,
	SUM_OUT_DISCARDS,
	SUM_PFC_RX,
	SUM_PFC_TX,
	SUM_RX_PAUSE_NS,
	SUM_TX_PAUSE_NS,
	SUM_RX_EPISODES,
	SUM_TX_EPISODES,
	SUM_PG_DROPS,
	SUM_QUEUE_OCTETS,
	SUM_QUEUE_PACKETS,
	SUM_MARKED,
	SUM_CONTROL_OCTETS,
	SUM_CONTROL_PACKETS,
	/* of the second class; the same as the first's where a scenario has none */
	SUM2_PFC_RX,
	SUM2_PFC_TX,
	SUM2_RX_PAUSE_NS,
	SUM2_TX_PAUSE_NS,
	SUM2_RX_EPISODES,
	SUM2_TX_EPISODES,
	SUM2_PG_DROPS,
	SUM2_QUEUE_OCTETS,
	SUM2_QUEUE_PACKETS,
	SUM2_MARKED,
	SUM_WATCHDOG_STORMS,
	SUM_WATCHDOG_RESTORES,
	SUM_WATCHDOG_DROPS,
	/* of the host at the port, as its NIC counts: 0 where another switch is there */
	SUM_NIC_CNP_SENT,
	SUM_NIC_CNP_HANDLED,
	SUM_NIC_CNP_IGNORED,
	SUM_NIC_CE,
	SUM_COUNT
};
enum port_peak { PEAK_PG, PEAK_HEADROOM, PEAK_QUEUE, PEAK_COUNT };

enum { DEPTHS = 16 };

struct measured_port {
	double sum[SUM_COUNT];
	double peak[PEAK_COUNT];
	/* egress queue of the lossless class at instants spread over the exchange */
	double depth[DEPTHS];
};
struct measured {
	double duration_ns; /* of the exchange; of the window looked at when it never ends */
	/* somebody never gets his data: sums are those of the window, which goes on */
	bool endless;
	double host_end_ns; /* of the host named by the first fault that names one */
	/* how long the job's own flows took; INFINITY: so many never ended. Not those of storage or
	 * of a fault */
	double flow_p50_ns, flow_p99_ns;
	double flow_bytes; /* of these, arrived */
	/* of all switches, as in the simulation, from its first switch port on */
	struct measured_port *ports;
	double *pool_peak; /* per switch */
	size_t n_ports, n_switches;
};

enum state { STATE_OK, STATE_FAULT, STATE_CHECKPOINT, STATES };

/* plan_new - of the scenario's fabric without its fault; plan_free(). */
struct plan *plan_new(const struct scenario *s);

/* measure_run - one exchange in @state; @variant changes the jitter of starts, nothing else.
 * Release with measured_done(). */
void measure_run(const struct scenario *s, const struct plan *plan, enum state state,
	unsigned variant, struct measured *ret);
void measured_done(struct measured *m);

/* measure_watched - the same, and @see is called for every packet of every port (struct sim,
 * trace). */
void measure_watched(const struct scenario *s, const struct plan *plan, enum state state,
	unsigned variant,
	void (*see)(void *data, const struct sim *m, const struct sim_port *p,
		const struct packet *pkt, bool out),
	void *data, struct measured *ret);

/* scenario_shape - the fabric with its faults or without: names, speeds, settings. Never run;
 * caller frees with sim_free(). */
struct sim *scenario_shape(const struct scenario *s, bool faulty);

struct topo_params scenario_topology(const struct scenario *s, bool faulty);

#endif
