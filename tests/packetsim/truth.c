/* truth - fabric.yaml, and what is really wrong and what it costs: truth.json. */
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "tests/packetsim/record.h"

void name_node(const struct net *net, unsigned node, char *out, size_t size)
{
	if (net->nodes[node].leaf)
		snprintf(out, size, "leaf%u", node + 1);
	else
		snprintf(out, size, "spine%u", node + 1 - net->leaves);
}

unsigned port_number(const struct net *net, uint32_t port)
{
	return port - net->nodes[net->ports[port].node].first_port + 1;
}

/* Hosts that store beside a ring are outside its job. */
static bool stores_beside(const struct run *run, unsigned host)
{
	return strcmp(run->options->workload, "ring+storage") == 0 &&
		workload_stores(run->in->net, host);
}

static void fabric_link(const struct run *run, const struct net *net, uint32_t port, FILE *out)
{
	const struct port *here = &net->ports[port];
	const double meters = (double)here->propagation / (double)PS_US * METERS_PER_US;
	char device[32], peer[32];
	name_node(net, here->node, device, sizeof(device));
	fprintf(out, "  - { a: \"%s:Ethernet%u\", b: \"", device, port_number(net, port));
	if (here->peer < net->n_hosts) {
		fprintf(out, "host:%s-%03u:nic0", stores_beside(run, here->peer) ? "stor" : "node",
			here->peer + 1);
	} else {
		name_node(net, net->ports[here->peer].node, peer, sizeof(peer));
		fprintf(out, "%s:Ethernet%u", peer, port_number(net, here->peer));
	}
	fprintf(out, "\", cable: %.0fm, speed: %" PRIu64 "G }\n", meters,
		here->rate / UINT64_C(1000000000));
}

void fabric_print(const struct run *run, FILE *out)
{
	const struct net *net = (run->before ? run->before : run->in)->net;
	char name[32];
	fprintf(out, "fabric: packetsim\ndevices:\n");
	for (unsigned i = 0; i < net->n_nodes; i++) {
		name_node(net, i, name, sizeof(name));
		fprintf(out, "  - { name: %s, role: %s }\n", name,
			net->nodes[i].leaf ? "leaf" : "spine");
	}
	fprintf(out, "links:\n");
	for (unsigned i = 0; i < net->leaves; i++)
		for (uint32_t k = 0; k < net->nodes[i].n_ports; k++)
			fabric_link(run, net, net->nodes[i].first_port + k, out);
	fprintf(out,
		"lossless: { priorities: [%d], mtu: %dB }\n"
		"policy: { congestion: dcqcn, load_balancing: static }\n"
		"jobs:\n  - { name: train, gpus: %u, hosts: \"node-*\" }\n"
		"cost: { usd_per_gpu_hour: 30 }\n",
		PRIORITY, PAYLOAD + HEADERS, net->n_hosts);
}

/* Each flow between leaves, and the port it leaves its leaf by: what `rocewatch xray` reads. */
void flows_print(const struct run *run, FILE *out)
{
	const struct net *net = run->in->net;
	const size_t each = net->n_flows / run->in->n_steps;
	fprintf(out, "device,src,dst,src_port,dst_qp,member\n");
	for (size_t i = 0; i < net->n_flows; i++) {
		const struct flow *flow = &net->flows[i];
		const uint32_t port = net_first_link(net, flow), src = FIRST_ADDRESS + flow->src,
			       dst = FIRST_ADDRESS + flow->dst;
		if (port == UINT32_MAX)
			continue;
		fprintf(out, "leaf%u,10.0.%u.%u,10.0.%u.%u,%u,%zu,Ethernet%u\n",
			net->ports[port].node + 1, src >> 8 & 255, src & 255, dst >> 8 & 255,
			dst & 255, flow->source_port, 16 + i % each, port_number(net, port));
	}
}

struct result { /* of a phase */
	double step_us, worst_us, p50, p99, incast_p99, host_pause, link_pause, marks, goodput;
	uint64_t drops;
	bool finished;
};

static double share_of(double part, double whole)
{
	return whole > 0 ? part / whole : 0;
}

static struct result result_of(const struct phase *phase)
{
	const struct net *net = phase->net;
	struct result r = {.drops = phase->drops, .finished = phase->finished};
	double time = 0, host = 0, link = 0, marked = 0, sent = 0, hosts = 0, links = 0;
	for (size_t step = 0; step < phase->n_steps; step++) {
		const double us = (double)phase->duration[step] / (double)PS_US;
		time += us;
		r.worst_us = fmax(r.worst_us, us);
		for (size_t i = 0; i < phase->n_ports; i++) {
			const uint64_t *count = phase->ports[step * phase->n_ports + i].count;
			const bool to_host = net->ports[net->n_hosts + i].peer < net->n_hosts;
			*(to_host ? &host : &link) += (double)count[COUNT_PAUSED_TX_NS] / 1e3;
			*(to_host ? &hosts : &links) += us;
			marked += (double)count[COUNT_MARKED];
			sent += (double)count[COUNT_DATA_PACKETS];
		}
	}
	const bool apart = phase->n_victims > 0;
	const double *flows = apart ? phase->victims : phase->incast;
	const size_t n = apart ? phase->n_victims : phase->n_incast;
	r.step_us = share_of(time, (double)phase->n_steps);
	r.p50 = phase_quantile(flows, n, 0.5);
	r.p99 = phase_quantile(flows, n, 0.99);
	r.incast_p99 = phase_quantile(phase->incast, phase->n_incast, 0.99);
	r.host_pause = share_of(host, hosts);
	r.link_pause = share_of(link, links);
	r.marks = share_of(marked, sent);
	r.goodput = share_of((double)phase->bytes * 8e6, time * net->n_hosts);
	return r;
}

static void number_of_json(FILE *out, const char *key, bool known, double value, const char *end)
{
	if (known)
		fprintf(out, "\"%s\": %.9g%s", key, value, end);
	else
		fprintf(out, "\"%s\": null%s", key, end);
}

static void outcome_print(const struct phase *phase, FILE *out)
{
	const struct result r = result_of(phase);
	fprintf(out, "{");
	number_of_json(out, "step_s", r.finished, r.step_us / 1e6, ", ");
	number_of_json(out, "exchange_s", r.finished, r.step_us / 1e6, ", ");
	number_of_json(out, "exchange_worst_s", r.finished, r.worst_us / 1e6, ", ");
	number_of_json(out, "slice_us", r.finished, r.step_us, ",\n      ");
	number_of_json(out, "victim_p50_us", r.finished, r.p50, ", ");
	number_of_json(out, "victim_p99_us", r.finished, r.p99, ", ");
	number_of_json(out, "incast_p99_us", r.finished, r.incast_p99, ", ");
	number_of_json(out, "goodput_bps_per_host", r.finished, r.goodput, ",\n      ");
	number_of_json(out, "host_pause_ratio", true, r.host_pause, ", ");
	number_of_json(out, "link_pause_ratio", true, r.link_pause, ", ");
	number_of_json(out, "marks_ratio", true, r.marks, ", ");
	number_of_json(out, "lossless_drops", true, (double)r.drops, ", ");
	fprintf(out, "\"events\": %" PRIu64 "}", phase->net->n_events);
}

static void words_print(FILE *out, const char *key, const char *first, const char *more)
{
	fprintf(out, "\"%s\": [\"%s\"", key, first);
	while (more && *more) {
		const int length = (int)strcspn(more, ",");
		fprintf(out, ", \"%.*s\"", length, more);
		more += length + (more[length] == ',');
	}
	fprintf(out, "]");
}

static void text_print(FILE *out, const char *key, bool known, const char *value)
{
	if (known)
		fprintf(out, ", \"%s\": \"%s\"", key, value);
	else
		fprintf(out, ", \"%s\": null", key);
}

static void fault_print(const struct run *run, const struct fault *fault, const char *cause,
	const char *accept, FILE *out)
{
	const struct net *net = run->in->net;
	struct fault_place place = fault_where(net, run->options);
	const char *subject = fault->subject;
	const bool host = strcmp(subject, "host") == 0, uplink = strcmp(subject, "uplink") == 0;
	const bool placed = strcmp(subject, "none") != 0 && strcmp(subject, "uplinks") != 0;
	char device[32], port[32] = "", name[32], peer[32];
	if (fault->beside)
		place = fault_beside(net, place);
	const uint32_t at = host ? net_host_port(net, (unsigned)place.host)
				 : net_uplink(net, (unsigned)place.leaf, (unsigned)place.spine);
	snprintf(device, sizeof(device), "leaf%d", place.leaf + 1);
	snprintf(port, sizeof(port), "Ethernet%u", port_number(net, at));
	snprintf(name, sizeof(name), "node-%03d", place.host + 1);
	fprintf(out, "{\"kind\": \"%s\", \"cause\": \"%s\", ", fault->name, cause);
	words_print(out, "accept", cause, accept);
	text_print(out, "severity", true, "warning");
	text_print(out, "subject", strcmp(subject, "none") != 0, subject);
	text_print(out, "device", placed, device);
	text_print(out, "port", host || uplink, port);
	text_print(out, "host", host, name);
	if (uplink) {
		snprintf(peer, sizeof(peer), "spine%d", place.spine + 1);
		snprintf(port, sizeof(port), "Ethernet%u", port_number(net, net->ports[at].peer));
		fprintf(out, ", \"peer_device\": \"%s\", \"peer_port\": \"%s\"", peer, port);
	}
	fprintf(out, ", \"priority\": null, \"onset_s\": %g, \"end_s\": %g}", run->options->onset_s,
		run->options->length_s);
}

void truth_print(const struct run *run, FILE *out)
{
	const struct options *options = run->options;
	const bool named = options->cause && strcmp(run->fault->cause, "none") == 0;
	const char *cause = named ? options->cause : run->fault->cause;
	const char *accept = options->accept ? options->accept : run->fault->accept;
	const bool faulty = strcmp(cause, "none") != 0;
	fprintf(out,
		"{\n  \"scenario\": \"%s\",\n  \"simulator\": \"packetsim\",\n  \"seed\": %.0f,\n"
		"  \"perturb\": 0,\n  \"face\": \"full\",\n  \"interval_s\": %g,\n  \"length_s\": "
		"%g,\n"
		"  \"workload\": \"%s\",\n  \"policy\": {\"congestion\": \"dcqcn\", "
		"\"load_balancing\": \"static\"},\n  \"cause\": \"%s\",\n  ",
		options->name, options->seed, options->interval_s, options->length_s,
		options->workload, cause);
	words_print(out, "accept", cause, accept);
	fprintf(out, ",\n  \"subject\": \"%s\",\n  \"faults\": [", run->fault->subject);
	if (faulty)
		fault_print(run, run->fault, cause, accept, out);
	if (run->fault->also) {
		const struct fault *also = fault_find(run->fault->also);
		fprintf(out, ", ");
		fault_print(run, also, also->cause, also->accept, out);
	}
	fprintf(out, "],\n");
	number_of_json(out, "onset_s", faulty, options->onset_s, ",\n  ");
	number_of_json(out, "end_s", faulty, options->length_s, ",\n");
	const struct node *leaf = &run->in->net->nodes[0];
	fprintf(out,
		"  \"thresholds\": {\"alpha\": %.9g, \"kmin\": %.9g, \"kmax\": %.9g, \"pmax\": "
		"%.9g, "
		"\"pool\": %" PRIu64 ", \"settings\": %u},\n  \"outcome\": {\n    \"ok\": ",
		options->alpha, options->kmin, options->kmax, options->pmax, leaf->shared_size,
		options->n_settings);
	outcome_print(run->before ? run->before : run->in, out);
	fprintf(out, ",\n    \"fault\": ");
	if (run->before)
		outcome_print(run->in, out);
	else
		fprintf(out, "null");
	fprintf(out, "\n  }\n}\n");
}
