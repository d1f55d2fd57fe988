/*
 * What switches say of their neighbours, over time, to discovery: names that lie, contradict and
 * change. Input: steps of 6 bytes (which switch, how many neighbours, names by number, time). Links
 * that are believed have two different ends, no port twice, and the configuration takes them.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "agent/sources/discovery.h"
#include "agent/modules.h"
#include "config/config.h"
#include "config/topology.h"
#include "tests/fuzz/printed.h"

enum { DEVICES = 4, PORTS = 6, HEARD = 8 };
static const char *const device_names[DEVICES] = {"leaf1", "leaf2", "spine1", "spine2"};
static const char *const port_names[PORTS] = {"e1", "e2", "e3", "e4", "host", ""};
static const char *const heard_names[] = {"leaf1", "leaf2.example.net", "spine1", "spine2", "nodeA",
	"host:x", "", "leaf1:e1", "a b", "\xc3\xbc", "host", "LEAF1"};
static const char *const heard_ids[] = {
	"e1", "e2", "e3", "e4", "aa:bb:cc:00:00:01", "", "mlx5_0", "x:y", "host:n"};

static const char discovery_yaml[] = "fabric: pod-a\n"
				     "devices:\n"
				     "  - { name: leaf1, role: leaf }\n"
				     "  - { name: leaf2, role: leaf }\n"
				     "  - { name: spine1, role: spine }\n"
				     "  - { name: spine2, role: spine }\n"
				     "links: discover\n";

static bool discovery_waits(void *arg, const char *device)
{
	return strcmp(device, "spine2") == 0;
}

static void discovery_peer(void *arg, const char *device, const char *port, const char *peer_device,
	const char *peer_port)
{
	printed_line(device);
	printed_line(port);
	printed_line(peer_device);
	printed_line(peer_port);
}

static void discovery_dispute(void *arg, const char *device, const char *text, bool over)
{
	printed_line(text);
}

static void discovery_believed(
	const struct discovery *discovery, const struct config *config, bool last)
{
	const struct config_link *links;
	const size_t n = discovery_links(discovery, &links);
	for (size_t i = 0; i < n; i++) {
		printed_line(links[i].a);
		printed_line(links[i].b);
		if (strcmp(links[i].a, links[i].b) == 0)
			printed_fault("a link to itself", links[i].a);
		for (size_t k = 0; k < i; k++)
			if (strcmp(links[i].a, links[k].a) == 0 ||
				strcmp(links[i].a, links[k].b) == 0)
				printed_fault("a port in two links", links[i].a);
	}
	if (!last)
		return;
	struct config *linked = NULL;
	struct err_list errors = {0};
	if (config_with_links(config, links, n, &linked, &errors) == 0)
		config_free(linked);
	err_list_done(&errors);
}

static void discovery_say(struct discovery *discovery, struct bytes *in, mono_t now)
{
	struct topology_port ports[PORTS];
	struct topology_neighbor heard[HEARD];
	const uint8_t who = bytes_u8(in) % DEVICES;
	for (size_t i = 0; i < PORTS; i++)
		ports[i] = (struct topology_port){.name = port_names[i],
			.alias = "",
			.descr = "",
			.mac = "",
			.ifindex = (uint32_t)i + 1};
	const struct topology_device self = {.name = device_names[who],
		.sysname = heard_names[bytes_u8(in) % rw_countof(heard_names)],
		.chassis = "aa:bb:cc:00:00:0f",
		.ports = ports,
		.n_ports = PORTS};
	const size_t n = bytes_u8(in) % (HEARD + 1);
	for (size_t i = 0; i < n; i++) {
		const uint8_t name = bytes_u8(in), id = bytes_u8(in);
		heard[i] = (struct topology_neighbor){.device = device_names[who],
			.port = port_names[(name >> 4) % PORTS],
			.sysname = heard_names[name % 16 % rw_countof(heard_names)],
			.chassis_subtype = 1 + id % 7,
			.port_subtype = 1 + (id >> 3) % 7,
			.chassis = heard_ids[(id + name) % rw_countof(heard_ids)],
			.port_id = heard_ids[id % rw_countof(heard_ids)],
			.port_descr = heard_ids[(id >> 2) % rw_countof(heard_ids)],
			.kind = (enum neighbor_kind)((name ^ id) % 3)};
	}
	discovery_report(discovery, &self, heard, n, now);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct config *config;
	static const struct discovery_events events = {
		.waits = discovery_waits, .peer = discovery_peer, .dispute = discovery_dispute};
	struct err_list errors = {0};
	size_t n;
	const struct option_table *const *tables = module_tables(&n);
	if (!config &&
		config_parse(discovery_yaml, strlen(discovery_yaml), "fuzz", CONFIG_CASE, tables, n,
			&config, &errors) != 0)
		abort();
	struct bytes in = bytes_of(data, size);
	mono_t now = {NS_PER_S};
	struct discovery *discovery = discovery_new(&events, now);
	while (bytes_left(&in) > 0) {
		now.ns += (int64_t)bytes_u8(&in) * 100 * NS_PER_MS;
		discovery_say(discovery, &in, now);
		discovery_settle(discovery, config, now);
		discovery_believed(discovery, config, bytes_left(&in) == 0);
	}
	discovery_free(discovery);
	return 0;
}
