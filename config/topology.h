/*
 * topology - from the LLDP neighbors that devices report to links.
 *
 * Pure: collectors bring the reports, this file matches them. Usually both ends report a link; the
 * two reports become one link, and where they contradict each other the link has a problem. Memory
 * is the caller's arena.
 */
#pragma once

#include "base/base.h"

#include "config/neighbor_kind.h"

/* LLDP id subtypes, IEEE 802.1AB: a MAC address is 4 for a chassis and 3 for a port. */
enum lldp_chassis {
	LLDP_CHASSIS_COMPONENT = 1,
	LLDP_CHASSIS_IFALIAS,
	LLDP_CHASSIS_PORT,
	LLDP_CHASSIS_MAC,
	LLDP_CHASSIS_ADDRESS,
	LLDP_CHASSIS_IFNAME,
	LLDP_CHASSIS_LOCAL
};
enum lldp_port {
	LLDP_PORT_IFALIAS = 1,
	LLDP_PORT_COMPONENT,
	LLDP_PORT_MAC,
	LLDP_PORT_ADDRESS,
	LLDP_PORT_IFNAME,
	LLDP_PORT_CIRCUIT,
	LLDP_PORT_LOCAL
};

/* lldp_id_text - a chassis or port id as people write it: MAC "aa:bb:cc:dd:ee:ff", IPv4/IPv6 (the
 * first octet is the IANA address family), else the octets as text with what is not printable
 * escaped. @chassis says which subtype numbering. */
#define LLDP_ID_TEXT_MAX 256
char *lldp_id_text(
	char buf[LLDP_ID_TEXT_MAX], bool chassis, int subtype, const uint8_t *id, size_t n);

struct topology_port { /* a port as its own device describes it */
	const char *name, *alias, *descr; /* "" unknown */
	const char *mac; /* "aa:bb:.." or "" */
	uint32_t ifindex;
	uint64_t speed_bps, mtu_bytes; /* 0 unknown */
	bool outside; /* no part of the fabric: management, or left out by the configuration */
};
struct topology_device {
	const char *name; /* configured */
	/* as the device reports it, "" unknown; a domain is ignored when comparing */
	const char *sysname;
	const char *chassis; /* lldp_id_text of its own chassis id, "" unknown */
	struct topology_port *ports;
	size_t n_ports;
};
struct topology_neighbor { /* the LLDP neighbor of a port */
	const char *device, *port; /* ours, configured and native names */
	const char *sysname; /* theirs, "" = not sent */
	int chassis_subtype, port_subtype;
	const char *chassis, *port_id, *port_descr; /* lldp_id_text forms */
	enum neighbor_kind kind; /* what it is where it is no configured device */
};

struct topology_link {
	const char *a_device, *a_port;
	const char *b_device, *b_port; /* b_device NULL: no configured device */
	const char *host, *nic; /* its name and port; nic "" */
	enum neighbor_kind kind; /* what that is: mostly a host */
	/* both ends report it; a neighbour without a configuration cannot */
	bool confirmed;
	bool a_said, b_said; /* which ends report it */
	/* a host that sent no system name: .host is its chassis id */
	bool anonymous;
	/* one of its ports is no part of the fabric, so it is not either */
	bool outside;
	const char *problem; /* NULL, or why it cannot be right, as a sentence */
};

/*
 * topology_links - links between @devices (with their ports) and hosts, from @neighbors in any
 * order. Links are ordered by (a_device, a_port) in natural order; the end that sorts first is a.
 *
 * A neighbor that is no known device becomes a host, a switch or something unknown, by its kind;
 * it is named by its system name, else by its chassis id; a name on the same port wins over an id,
 * since NICs speak LLDP too. The port of a device whose ports are unknown is what the neighbor
 * itself calls it. Returns the number of links.
 */
size_t topology_links(struct arena *a, const struct topology_device *devices, size_t n_devices,
	const struct topology_neighbor *neighbors, size_t n_neighbors, struct topology_link **ret);

/* topology_link_peer - what @link leads to where it is no configured device: "host:NAME",
 * "switch:NAME" or "unknown:NAME". */
const char *topology_link_peer(struct arena *a, const struct topology_link *link);

/* topology_print - the links as the `links:` list of a configuration; those with a problem as
 * comments. */
void topology_print(FILE *out, const struct topology_link *links, size_t n);
