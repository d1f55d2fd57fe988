/*
 * topology_views - the graph as a document, and its audit. Pure: the fabric says what should be,
 * the facts what the devices answered last.
 */
#ifndef RW_REPORTS_TOPOLOGY_VIEWS_H
#define RW_REPORTS_TOPOLOGY_VIEWS_H

#include <jansson.h>
#include <stdint.h>
#include "agent/document/writer.h"
#include "config/fabric.h"

struct port_facts { /* what is known of a port now */
	int up; /* 1, 0; -1 unknown */
	uint64_t speed_bps; /* 0 unknown */
	uint64_t mtu_bytes; /* 0 unknown */
	uint8_t pfc_known, pfc_on; /* bit n = priority n */
	/* its neighbour by LLDP; "host:NAME" and NIC for hosts; NULL nothing */
	const char *lldp_device, *lldp_port;
};

/* answers are lent until the facts go; both may say that nothing is known */
struct topology_facts {
	void *arg;
	struct port_facts (*port)(void *arg, const char *device, const char *port);
	const char *(*sysname)(void *arg, const char *device); /* NULL unknown */
	/* Every port that has a neighbour, in any order. */
	void (*each_lldp)(void *arg,
		void (*fn)(void *to, const char *device, const char *port,
			const struct port_facts *facts),
		void *to);
};

/*
 * topology_show_json - {fabric, devices: [{name, role, tier, links, groups: [{id, members}]}],
 * links: [{device, port, peer, peer_port, speed_bps, state: up|down|unknown, source:
 * declared|discovered}], outside: as in topology_outside.h}; each link once, from its lower tier.
 * peer is "host:NAME" for hosts, "switch:NAME" or "unknown:NAME" for other neighbours.
 */
json_t *topology_show_json(const struct fabric *fabric, const struct topology_facts *facts);
extern const struct view topology_show_view;

/*
 * topology_check_json - {fabric, findings: [{severity, kind, device, port, peer, text, remedy}],
 * leaves: [{device, host_bps, uplink_bps, oversubscription_ratio, uplinks, uplinks_usual}],
 * checked: {links, speed, mtu, pfc}}, worst first. checked counts the links whose both ends were
 * known: links with an unknown value are not checked.
 */
json_t *topology_check_json(const struct fabric *fabric, const struct topology_facts *facts);
extern const struct view topology_check_view;

#endif
