/* workload - who sends what to whom in a step. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tests/packetsim/phase.h"

enum { OF_INCAST = 1, OF_OTHERS = 2, MOST_PORTS = 4096 };

struct sending {
	struct net *net;
	const struct options *options;
	uint64_t *random;
	uint16_t ports[MOST_PORTS]; /* as given, for each flow of a step */
	size_t n_ports;
};

static size_t ports_read(const char *path, uint16_t ret[MOST_PORTS])
{
	FILE *in = path ? fopen(path, "r") : NULL;
	size_t n = 0;
	while (in && n < MOST_PORTS && fscanf(in, "%" SCNu16, &ret[n]) == 1)
		n++;
	if (in)
		fclose(in);
	return n;
}

static uint64_t workload_draw(uint64_t *random)
{
	*random += UINT64_C(0x9e3779b97f4a7c15);
	return mixed(*random);
}

/* A queue pair keeps its source port from step to step, unless ports are drawn anew. */
static void workload_flow(const struct sending *s, uint32_t src, uint32_t dst, uint64_t size,
	unsigned pair, uint8_t kind)
{
	const int64_t at = s->net->now + (int64_t)(workload_draw(s->random) % PS_US);
	uint64_t key = (uint64_t)src << 40 | (uint64_t)dst << 16 | pair << 4 | kind;
	key ^= mixed((uint64_t)s->options->seed);
	if (s->options->fresh > 0)
		key ^= workload_draw(s->random);
	uint16_t port = (uint16_t)(49152 + mixed(key) % 16384);
	if (s->n_ports > 0)
		port = s->ports[s->net->n_flows % s->n_ports];
	net_flow(s->net, src, dst, size, port, at, kind);
}

static unsigned workload_root(const struct sending *s)
{
	if (s->options->root >= 0)
		return (unsigned)s->options->root % s->net->n_hosts;
	return (unsigned)(mixed((uint64_t)s->options->seed) % s->net->n_hosts);
}

static void workload_incast(const struct sending *s)
{
	const unsigned n = s->net->n_hosts, root = workload_root(s);
	const unsigned leaf = root / s->net->hosts_per_leaf;
	unsigned sent = 0;
	for (unsigned i = 1; i < n && sent < (unsigned)s->options->senders; i++) {
		const unsigned host = (root + i) % n;
		if (host / s->net->hosts_per_leaf == leaf)
			continue;
		workload_flow(s, host, root, (uint64_t)(s->options->incast_kb * 1e3), 0, OF_INCAST);
		sent++;
	}
}

static void workload_peers(const struct sending *s, unsigned without)
{
	const unsigned n = s->net->n_hosts, peers = (unsigned)s->options->peers;
	for (unsigned host = 0; host < n; host++)
		for (unsigned k = 1; k <= peers; k++) {
			const unsigned peer = (host + k * n / (peers + 1)) % n;
			if (peer != without)
				workload_flow(s, host, peer,
					(uint64_t)(s->options->shuffle_kb * 1e3), 0, OF_OTHERS);
		}
}

static void workload_shuffle(const struct sending *s)
{
	workload_peers(s, UINT32_MAX);
}

/* The receiver of the incast takes nothing else: the shuffle's flows are its victims alone. */
static void workload_both(const struct sending *s)
{
	workload_incast(s);
	workload_peers(s, workload_root(s));
}

static void workload_ring(const struct sending *s)
{
	const unsigned n = s->net->n_hosts;
	for (unsigned host = 0; host < n; host++)
		for (unsigned pair = 0; pair < (unsigned)s->options->qps; pair++)
			workload_flow(s, host, (host + s->net->hosts_per_leaf) % n,
				(uint64_t)(s->options->flow_kb * 1e3), pair, OF_OTHERS);
}

static void workload_writes(
	const struct sending *s, const uint32_t stores[2], double kb, uint8_t kind)
{
	for (unsigned host = 0; host < s->net->n_hosts; host++)
		if (host != stores[0] && host != stores[1])
			for (unsigned pair = 0; pair < (unsigned)s->options->qps; pair++)
				workload_flow(s, host, stores[(host + pair) % 2],
					(uint64_t)(kb * 1e3), pair, kind);
}

/* Every host writes to one of two stores, the last hosts of the first and of the last leaf. */
static void workload_storage(const struct sending *s)
{
	const uint32_t stores[2] = {s->net->hosts_per_leaf - 1, s->net->n_hosts - 1};
	workload_writes(s, stores, s->options->flow_kb, OF_OTHERS);
}

bool workload_stores(const struct net *net, unsigned host)
{
	return host + 2 >= net->n_hosts;
}

/* A checkpoint to the last two hosts, beside a ring of neighbours. */
static void workload_checkpoint(const struct sending *s)
{
	const unsigned trainers = s->net->n_hosts - 2;
	const uint32_t stores[2] = {trainers, trainers + 1};
	for (unsigned host = 0; host < (unsigned)s->options->senders && host < trainers; host++)
		for (unsigned pair = 0; pair < (unsigned)s->options->qps; pair++)
			workload_flow(s, host, stores[(host + pair) % 2],
				(uint64_t)(s->options->store_kb * 1e3), pair, OF_INCAST);
	for (unsigned host = 0; host < trainers; host++)
		for (unsigned pair = 0; pair < (unsigned)s->options->qps; pair++)
			workload_flow(s, host, (host + 1) % trainers,
				(uint64_t)(s->options->flow_kb * 1e3), pair, OF_OTHERS);
}

bool workload_add(struct net *net, const struct options *options, uint64_t *random)
{
	static const struct {
		const char *name;
		void (*add)(const struct sending *s);
	} loads[] = {{"incast", workload_incast}, {"shuffle", workload_shuffle},
		{"incast+shuffle", workload_both}, {"ring", workload_ring},
		{"storage", workload_storage}, {"ring+storage", workload_checkpoint}};
	struct sending s = {net, options, random};
	s.n_ports = ports_read(options->ports, s.ports);
	for (size_t i = 0; i < sizeof(loads) / sizeof(loads[0]); i++) {
		if (strcmp(loads[i].name, options->workload) == 0) {
			loads[i].add(&s);
			return true;
		}
	}
	return false;
}
