/* faults - what can be wrong, a row each; where it is follows from the seed. */
#include <string.h>

#include "tests/packetsim/phase.h"

struct fault_place fault_where(const struct net *net, const struct options *options)
{
	uint64_t draw = mixed((uint64_t)options->seed ^ 0x5eed);
	struct fault_place place = {.leaf = (int)(draw % net->leaves)};
	place.spine = (int)((draw >> 16) % net->spines);
	place.host =
		place.leaf * (int)net->hosts_per_leaf + (int)((draw >> 32) % net->hosts_per_leaf);
	/* hosts beside the receiver of an incast are no senders */
	if (place.host / (int)net->hosts_per_leaf == (int)options->root / (int)net->hosts_per_leaf)
		place.host = (place.host + (int)net->hosts_per_leaf) % (int)net->n_hosts;
	place.leaf = place.host / (int)net->hosts_per_leaf;
	/* marking is missed where the incast ends */
	if (strcmp(options->fault, "ecn-off") == 0 && options->root >= 0)
		place.leaf = (int)options->root / (int)net->hosts_per_leaf;
	return place;
}

static void fault_nothing(struct net *net, const struct options *options, struct fault_place place)
{
	(void)net, (void)options, (void)place;
}

static void fault_cc_off(struct net *net, const struct options *options, struct fault_place place)
{
	(void)options;
	net->ports[place.host].ignores_marks = true;
}

struct fault_place fault_beside(const struct net *net, struct fault_place place)
{
	const int per_leaf = (int)net->hosts_per_leaf, first = place.leaf * per_leaf;
	place.host = first + (place.host - first + 1) % per_leaf;
	return place;
}

static void fault_cc_off_beside(
	struct net *net, const struct options *options, struct fault_place place)
{
	fault_cc_off(net, options, fault_beside(net, place));
}

/* Two of one leaf: they share its uplinks, as hosts that react do. */
static void fault_cc_off_pair(
	struct net *net, const struct options *options, struct fault_place place)
{
	fault_cc_off(net, options, place);
	fault_cc_off_beside(net, options, place);
}

static void fault_slow_host(
	struct net *net, const struct options *options, struct fault_place place)
{
	struct port *port = &net->ports[place.host];
	port->drain_rate = options->drain * (double)port->rate;
}

static uint32_t fault_uplink(const struct net *net, struct fault_place place)
{
	return net_uplink(net, (unsigned)place.leaf, (unsigned)place.spine);
}

static void fault_cable(struct net *net, const struct options *options, struct fault_place place)
{
	const uint32_t port = fault_uplink(net, place);
	net->ports[port].loss = options->loss;
	net->ports[net->ports[port].peer].loss = options->loss;
}

static void fault_down(struct net *net, const struct options *options, struct fault_place place)
{
	(void)options;
	const uint32_t port = fault_uplink(net, place);
	net->ports[port].up = false;
	net->ports[net->ports[port].peer].up = false;
}

static void fault_slow_link(
	struct net *net, const struct options *options, struct fault_place place)
{
	(void)options;
	const uint32_t port = fault_uplink(net, place);
	const uint32_t ends[2] = {port, net->ports[port].peer};
	for (unsigned i = 0; i < 2; i++) {
		net->ports[ends[i]].rate /= 4;
		net->ports[ends[i]].ps_per_byte *= 4;
	}
}

static void fault_blind(struct net *net, const struct options *options, struct fault_place place)
{
	(void)options, (void)place;
	for (unsigned leaf = 0; leaf < net->leaves; leaf++)
		net->nodes[leaf].blind_hash = true;
}

static void fault_blind_leaf(
	struct net *net, const struct options *options, struct fault_place place)
{
	(void)options;
	net->nodes[place.leaf].blind_hash = true;
}

static void fault_blind_down(
	struct net *net, const struct options *options, struct fault_place place)
{
	fault_blind(net, options, place);
	fault_down(net, options, place);
}

static void fault_blind_cable(
	struct net *net, const struct options *options, struct fault_place place)
{
	fault_blind(net, options, place);
	fault_cable(net, options, place);
}

static void fault_no_route(struct net *net, const struct options *options, struct fault_place place)
{
	(void)options;
	net->nodes[place.leaf].without_route = (uint32_t)place.spine;
}

static void fault_unmarked(struct net *net, const struct options *options, struct fault_place place)
{
	(void)options;
	const struct node *node = &net->nodes[place.leaf];
	for (uint32_t i = 0; i < node->n_ports; i++)
		net->ports[node->first_port + i].marks = false;
}

static const struct fault faults[] = {
	{"none", "none", NULL, "none", "nothing beyond the thresholds", fault_nothing, NULL},
	{"cc-off", "dcqcn_off", NULL, "host", "a host that does not react to CNPs", fault_cc_off,
		NULL},
	{"cc-off-pair", "dcqcn_off", NULL, "host",
		"two hosts of one leaf that do not react to CNPs", fault_cc_off_pair,
		.also = "cc-off-beside"},
	{"cc-off-beside", "dcqcn_off", NULL, "host", "the second of these hosts alone",
		fault_cc_off_beside, .beside = true},
	{"slow-receiver", "slow_receiver", "pfc_storm", "host", "a host that takes frames slowly",
		fault_slow_host, NULL},
	{"bad-cable", "link_errors", "optic_degrading", "uplink", "frames damaged both ways",
		fault_cable, NULL},
	{"link-down", "path_asymmetry", "link_flap,uplink_overload", "uplink", "an uplink is down",
		fault_down, NULL},
	{"slow-link", "link_slow", NULL, "uplink", "an uplink at a quarter of its speed",
		fault_slow_link, NULL},
	{"blind-hash", "ecmp_imbalance", "ecmp_low_entropy", "uplinks",
		"all leaves' hash ignores the source port", fault_blind, NULL},
	{"blind-leaf", "ecmp_imbalance", "ecmp_low_entropy", "device",
		"one leaf's hash ignores the source port", fault_blind_leaf, NULL},
	{"blind-down", "path_asymmetry", "link_flap,uplink_overload", "uplink",
		"all leaves' hash ignores the source port, and an uplink is down", fault_blind_down,
		"blind-hash"},
	{"blind-cable", "link_errors", "optic_degrading", "uplink",
		"all leaves' hash ignores the source port, and a cable is bad", fault_blind_cable,
		"blind-hash"},
	{"no-route", "missing_route", "ecmp_imbalance", "uplink", "an uplink that no route uses",
		fault_no_route, NULL},
	{"ecn-off", "ecn_off", "ecn_late,config_drift", "device", "one leaf does not mark",
		fault_unmarked, NULL},
};

enum { FAULTS = sizeof(faults) / sizeof(faults[0]) };

const struct fault *fault_find(const char *name)
{
	for (size_t i = 0; i < FAULTS; i++)
		if (strcmp(faults[i].name, name) == 0)
			return &faults[i];
	return NULL;
}

void fault_help(FILE *out)
{
	fprintf(out, "faults:\n");
	for (size_t i = 0; i < FAULTS; i++)
		fprintf(out, "  %-18s %s\n", faults[i].name, faults[i].help);
}
