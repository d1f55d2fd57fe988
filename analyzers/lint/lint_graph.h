/*
 * lint_graph - the switches of a fabric and the links between them, as the proof of freedom from
 * deadlock needs them: tiers, ports by number, leaves as destinations. Pure; memory is the arena's.
 *
 * A LAG is one link: it fails as a whole, or its members share what is left. Links within a tier
 * carry no route between leaves here, and are counted; a switch without a tier is left out.
 */
#pragma once

#include "base/base.h"

#include "config/fabric.h"

struct lint_port { /* of a switch, towards another one */
	uint32_t link;
	uint32_t peer, peer_port; /* switch, and number of the port there */
	const struct fabric_port *at;
};
struct lint_switch {
	const struct fabric_device *device;
	unsigned tier; /* 0: leaf */
	bool hosts; /* packets begin and end here */
	struct lint_port *ports;
	size_t n_ports;
	size_t words; /* of a set of its ports */
	size_t first_word; /* of its set among those of all switches */
	size_t first_port; /* number of its port 0 among those of all switches */
};
struct lint_link {
	uint32_t lower, upper; /* switches */
	uint32_t lower_port, upper_port;
};
struct lint_graph {
	const struct fabric *fabric;
	struct lint_switch *switches;
	size_t n_switches;
	struct lint_link *links;
	size_t n_links;
	uint32_t *leaves; /* switches with hosts: all leaves, and who has a declared one */
	size_t n_leaves;
	size_t taken_leaves; /* no host of them is declared */
	size_t words, ports; /* of all switches together */
	/* what is not judged */
	size_t lateral_links, outside_links;
	const char **left_out; /* names of switches without a tier */
	size_t n_left_out;
	size_t islands; /* parts that no link between switches joins; 1 is a whole fabric */
	bool planes; /* several, and each is a rail of its own: they are meant to be apart */
};

/* lint_graph_new - every leaf is taken to have hosts, whether one is declared or not. */
const struct lint_graph *lint_graph_new(const struct fabric *fabric, struct arena *a);
/* lint_graph_now - without links of which a port is not @up. */
const struct lint_graph *lint_graph_now(const struct fabric *fabric, struct arena *a,
	bool (*up)(const void *arg, const struct fabric_port *port), const void *arg);

/* An element that can fail: below .n_links a link, from there on a switch. */
static inline size_t lint_elements(const struct lint_graph *graph)
{
	return graph->n_links + graph->n_switches;
}
/* lint_element_text - "leaf0:Ethernet4 - spine6:Ethernet0" or "spine6"; in @a. */
const char *lint_element_text(const struct lint_graph *graph, uint32_t element, struct arena *a);

/* ---- sets ---- */

static inline bool lint_has(const uint64_t *set, size_t i)
{
	return set[i / 64] >> (i % 64) & 1;
}
static inline void lint_add(uint64_t *set, size_t i)
{
	set[i / 64] |= (uint64_t)1 << (i % 64);
}
static inline void lint_remove(uint64_t *set, size_t i)
{
	set[i / 64] &= ~((uint64_t)1 << (i % 64));
}
/* lint_next - the first member from @i on, or @n. */
size_t lint_next(const uint64_t *set, size_t n, size_t i);
#define LINT_EACH(i, set, n)                                                                       \
	for (size_t i = lint_next(set, n, 0); i < (n); i = lint_next(set, n, i + 1))
