/* phase - steps one after the other, and what each of them counted. */
#include <stdlib.h>
#include <string.h>

#include "tests/packetsim/phase.h"

enum { INCAST_FLOW = 1 };

static void *phase_room(size_t n, size_t size)
{
	void *got = calloc(n ? n : 1, size);
	if (!got)
		abort();
	return got;
}

/* Counters of a step are what came on top of those before. */
static void step_store(struct phase *phase, size_t step, struct step_port *before)
{
	struct net *net = phase->net;
	net_settle(net);
	for (size_t i = 0; i < phase->n_ports; i++) {
		struct port *port = &net->ports[net->n_hosts + i];
		struct step_port *out = &phase->ports[step * phase->n_ports + i];
		for (unsigned k = 0; k < COUNTS; k++)
			out->count[k] = port->count[k] - before[i].count[k];
		memcpy(before[i].count, port->count, sizeof(port->count));
		memcpy(out->peak, port->peak, sizeof(port->peak));
		memset(port->peak, 0, sizeof(port->peak));
	}
	for (size_t i = 0; i < phase->n_nodes; i++) {
		phase->shared_peak[step * phase->n_nodes + i] = net->nodes[i].shared_peak;
		net->nodes[i].shared_peak = 0;
	}
}

static void flows_store(struct phase *phase, size_t first)
{
	const struct net *net = phase->net;
	for (size_t i = first; i < net->n_flows; i++) {
		const struct flow *flow = &net->flows[i];
		const double us = (double)(flow->ended - flow->started) / (double)PS_US;
		phase->bytes += flow->size;
		if (flow->kind == INCAST_FLOW)
			phase->incast[phase->n_incast++] = us;
		else
			phase->victims[phase->n_victims++] = us;
	}
}

static int by_size(const void *left, const void *right)
{
	const double one = *(const double *)left, other = *(const double *)right;
	return (one > other) - (one < other);
}

double phase_quantile(const double *sorted, size_t n, double q)
{
	if (!n)
		return 0;
	return sorted[(size_t)(q * (double)(n - 1) + 0.5)];
}

static void flows_room(struct phase *phase, size_t per_step)
{
	phase->victims = phase_room(per_step * phase->n_steps, sizeof(double));
	phase->incast = phase_room(per_step * phase->n_steps, sizeof(double));
}

static struct phase *phase_new(const struct options *options, const struct fault *fault)
{
	const double second = options->second_gbps, third = options->third_prop_us;
	const struct net_shape shape = {.leaves = (unsigned)options->leaves,
		.spines = (unsigned)options->spines,
		.hosts_per_leaf = (unsigned)options->hosts_per_leaf,
		.host_rate = (uint64_t)(options->host_gbps * 1e9),
		.second_rate = (uint64_t)((second > 0 ? second : options->host_gbps) * 1e9),
		.uplink_rate = (uint64_t)(options->uplink_gbps * 1e9),
		.host_propagation = (int64_t)(options->host_prop_us * PS_US),
		.third_propagation = (int64_t)((third > 0 ? third : options->host_prop_us) * PS_US),
		.uplink_propagation = (int64_t)(options->uplink_prop_us * PS_US),
		.seed = (uint64_t)options->seed};
	struct phase *phase = phase_room(1, sizeof(*phase));
	struct net *net = phase->net = net_new(&shape);
	phase->n_steps = (size_t)options->steps;
	phase->n_ports = net->n_ports - net->n_hosts;
	phase->n_nodes = net->n_nodes;
	phase->duration = phase_room(phase->n_steps, sizeof(*phase->duration));
	phase->ports = phase_room(phase->n_steps * phase->n_ports, sizeof(*phase->ports));
	phase->shared_peak = phase_room(phase->n_steps * phase->n_nodes, sizeof(uint64_t));
	settings_put(net, options);
	fault->put(net, options, fault_where(net, options));
	return phase;
}

struct phase *phase_run(const struct options *options, const struct fault *fault)
{
	struct phase *phase = phase_new(options, fault);
	struct net *net = phase->net;
	struct step_port *before = phase_room(phase->n_ports, sizeof(*before));
	uint64_t random = mixed((uint64_t)options->seed ^ 0x10ad);
	const int64_t limit = (int64_t)(options->limit_ms * (double)PS_MS);
	size_t step = 0;
	phase->finished = true;
	for (; step < phase->n_steps && phase->finished; step++) {
		const int64_t start = net->now;
		const size_t first = net->n_flows;
		if (!workload_add(net, options, &random))
			break;
		if (step == 0)
			flows_room(phase, net->n_flows);
		phase->finished = net_run(net, start + limit);
		phase->duration[step] = net->now - start;
		step_store(phase, step, before);
		if (phase->finished)
			flows_store(phase, first);
		net->now += (int64_t)(options->gap_us * (double)PS_US);
	}
	phase->n_steps = step;
	phase->drops = net->drops;
	qsort(phase->victims, phase->n_victims, sizeof(double), by_size);
	qsort(phase->incast, phase->n_incast, sizeof(double), by_size);
	free(before);
	return phase;
}

void phase_free(struct phase *phase)
{
	if (!phase)
		return;
	net_free(phase->net);
	free(phase->duration);
	free(phase->ports);
	free(phase->shared_peak);
	free(phase->victims);
	free(phase->incast);
	free(phase);
}
