/*
 * xray_plan - where flows go over several switches, and source ports that spread them. Pure; what
 * is returned is in the arena.
 */
#pragma once

#include "analyzers/xray/xray_learn.h"

enum { XRAY_HOPS_MAX = 4, XRAY_NOWHERE = 0xFFFFFFFF };

struct xray_node { /* a group of a switch */
	const struct xray_learned *learned;
	const uint32_t *next; /* by index of a member: the node behind it, or XRAY_NOWHERE */
};
struct xray_hop {
	uint32_t node, member; /* member: index */
};
struct xray_path {
	size_t n;
	struct xray_hop hop[XRAY_HOPS_MAX];
	/* XRAY_SAYS: it was followed to its end; else why the node .stopped_at says nothing */
	enum xray_says end;
	uint32_t stopped_at;
};
struct xray_path xray_follow(
	const struct xray_node *nodes, uint32_t first, const struct xray_flow *flow);

struct xray_load { /* of a node, by index of a member */
	double *weight;
	size_t flows;
};
/* xray_imbalance - max/mean - 1 over the members; NAN where nothing goes. */
double xray_imbalance(const struct xray_load *load, size_t members);

struct xray_planned {
	struct xray_flow flow; /* .src_port is set by xray_prescribe() */
	uint32_t first; /* node */
	double weight; /* above 0 */
	bool given; /* the source port was given; xray_prescribe(): was found */
};

/* xray_loads - what @flows with a port (.given) put on each of @n_nodes nodes. Flows whose path is
 * not known to its end count as far as it is. */
struct xray_load *xray_loads(const struct xray_node *nodes, size_t n_nodes,
	const struct xray_planned *flows, size_t n, struct arena *a);

/*
 * xray_prescribe - a source port of @low to @high for each flow, so that all members of all nodes
 * carry as much as the others. Each flow takes the port that leads where least goes, the heaviest
 * first; then flows are moved while that evens out. A flow whose path is not known to its end with
 * any port gets none (.given false).
 */
void xray_prescribe(const struct xray_node *nodes, size_t n_nodes, struct xray_planned *flows,
	size_t n, uint16_t low, uint16_t high);
