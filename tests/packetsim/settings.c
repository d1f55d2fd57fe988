/* settings - thresholds of every port; headroom and reserve come out of the switch's buffer. */
#include <math.h>
#include <string.h>

#include "tests/packetsim/phase.h"

#define RESERVED_MOST 0.5 /* of the buffer; what is asked for beyond is not granted */

static double headroom_right(const struct port *port)
{
	const double flight = 2 * (double)port->rate * (double)port->propagation / 8e12;
	return flight + 2 * (PAYLOAD + HEADERS);
}

static void port_defaults(struct port *port, const struct options *options)
{
	const double by =
		options->by_speed > 0 ? (double)port->rate / (options->host_gbps * 1e9) : 1;
	port->alpha = options->alpha;
	port->kmin = (uint64_t)(by * options->kmin);
	port->kmax = (uint64_t)(by * fmax(options->kmax, options->kmin + 1));
	port->pmax = options->pmax;
	port->xon_offset = (uint64_t)options->xon_offset;
	port->headroom_size = (uint64_t)(options->headroom_factor * headroom_right(port));
	if (options->headroom > 0)
		port->headroom_size = (uint64_t)options->headroom;
}

static void knob_put(struct port *port, const struct setting *setting)
{
	if (strcmp(setting->knob, "alpha") == 0)
		port->alpha = setting->value;
	else if (strcmp(setting->knob, "kmin") == 0)
		port->kmin = (uint64_t)setting->value;
	else if (strcmp(setting->knob, "kmax") == 0)
		port->kmax = (uint64_t)setting->value;
	else if (strcmp(setting->knob, "pmax") == 0)
		port->pmax = setting->value;
	else if (strcmp(setting->knob, "headroom") == 0)
		port->headroom_size = (uint64_t)setting->value;
	else if (strcmp(setting->knob, "xon_offset") == 0)
		port->xon_offset = (uint64_t)setting->value;
}

static bool place_holds(const struct net *net, const char *place, unsigned node, uint32_t port)
{
	char name[32];
	const bool leaf = net->nodes[node].leaf;
	const unsigned number = leaf ? node + 1 : node + 1 - net->leaves;
	const size_t length = strcspn(place, "/");
	snprintf(name, sizeof(name), "%s%u", leaf ? "leaf" : "spine", number);
	const bool named = length == strlen(name) && strncmp(place, name, length) == 0;
	if (!named && strncmp(place, "*", length) != 0)
		return false;
	const bool host = leaf && port < net->hosts_per_leaf;
	if (strcmp(place + length, "/hosts") == 0)
		return host;
	if (strcmp(place + length, "/uplinks") == 0)
		return !host;
	snprintf(name, sizeof(name), "/Ethernet%u", port + 1);
	return place[length] == '\0' || strcmp(place + length, name) == 0;
}

/* In the order of ports, until half of the buffer is gone: what a switch does that accepts more
 * than it has. */
static void buffer_share(struct net *net, struct node *node)
{
	uint64_t reserved = node->n_ports * node->reserve;
	const uint64_t most = (uint64_t)(RESERVED_MOST * (double)node->buffer);
	for (uint32_t i = 0; i < node->n_ports; i++) {
		struct port *port = &net->ports[node->first_port + i];
		const uint64_t left = reserved < most ? most - reserved : 0;
		if (port->headroom_size > left)
			port->headroom_size = left;
		reserved += port->headroom_size;
	}
	node->shared_size = node->buffer - reserved;
}

void settings_put(struct net *net, const struct options *options)
{
	for (unsigned i = 0; i < net->n_nodes; i++) {
		struct node *node = &net->nodes[i];
		node->buffer = (uint64_t)options->buffer;
		node->reserve = (uint64_t)options->reserve;
		node->crc = options->crc > 0;
		for (uint32_t k = 0; k < node->n_ports; k++) {
			struct port *port = &net->ports[node->first_port + k];
			port_defaults(port, options);
			for (unsigned s = 0; s < options->n_settings; s++)
				if (place_holds(net, options->settings[s].place, i, k))
					knob_put(port, &options->settings[s]);
			if (port->kmax <= port->kmin)
				port->kmax = port->kmin + 1;
		}
		buffer_share(net, node);
	}
	net->reaction[0] = (struct reaction){.on = options->cc_off == 0,
		.weight = options->weight,
		.ai_bps = options->ai_mbps * 1e6,
		.hai_bps = options->hai_mbps * 1e6,
		.min_bps = options->min_mbps * 1e6,
		.average_every = (int64_t)(options->average_us * PS_US),
		.cut_every = (int64_t)(options->cut_us * PS_US),
		.raise_every = (int64_t)(options->rp_timer_us * PS_US),
		.cnp_every = (int64_t)(options->cnp_us * PS_US),
		.fast_recovery = 1};
	net->reaction[1] = net->reaction[0];
	if (options->second_timer_us > 0)
		net->reaction[1].raise_every = (int64_t)(options->second_timer_us * PS_US);
	if (options->second_ai_mbps > 0)
		net->reaction[1].ai_bps = options->second_ai_mbps * 1e6;
}
