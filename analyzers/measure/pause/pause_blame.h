/*
 * pause_blame - where the pause of one priority begins: each edge's load goes towards whoever fills
 * the buffer behind it, and comes to rest at roots.
 */
#pragma once

#include "base/base.h"

#include "analyzers/measure/pause/pause_net.h"

enum pause_origin { ORIGIN_HOST, ORIGIN_QUEUE };
struct pause_root {
	enum pause_origin origin;
	/* HOST: the switch port that faces the host; QUEUE: the egress port where bytes pile up */
	const struct port_seen *port;
	/* HOST: its name, NULL when nothing is declared there; QUEUE: the host at that port, NULL
	 * towards a switch */
	const char *host;
	int priority;
	uint32_t tree; /* as in its edges */
	/* pause-time below it in the tree, in port-windows (1 = one port paused all the time) */
	double pressure;
	/* of all pressure of its tree (ports that hang together by pause), 0..1 */
	double share;
	/* of it together with those that are one cause with it: a host's rails, the uplinks of a
	 * switch, all links down to one */
	double joint_share;
	/* joint share of the strongest other cause of that tree; 0: none */
	double next_share;
	/* accepted: joint share at least 40 %, three times the next; or a HOST that is seen to
	 * pause its port for long */
	bool clear;
	double level_hi; /* HOST: share of the window it pauses its port, upper end */
	double level_lo;
	bool measured;
	/* what waits because of it: its tree, nearest first (in the arena); beyond the PAUSE_TREES
	 * strongest: none drawn */
	const struct pause_edge **direct, **indirect;
	size_t n_direct, n_indirect;
	/* that wait; outsiders are switches that are not configured (struct fabric_port) */
	size_t n_switches, n_outsiders, n_hosts;
};

struct pause_roots { /* in the arena */
	struct pause_root *v;
	size_t n, cap;
};

/* pause_blame - add the roots of the net's priority to @roots, without their trees. Says how much
 * pressure there is, and how much of it leads nowhere, in port-windows. */
void pause_blame(const struct pause_net *net, struct pause_roots *roots, double *ret_pressure,
	double *ret_unresolved);
