/*
 * topology_views - the graph as a document, and its audit. Pure: the fabric says what should be,
 * the facts what the devices answered last.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"
#include "agent/document/shape.h"
#include "agent/document/writer.h"
#include "config/class_policy.h"

struct topo_outside;
struct port_facts { /* what is known of a port now */
	int up; /* 1, 0; -1 unknown */
	uint64_t speed_bps; /* 0 unknown */
	uint64_t mtu_bytes; /* 0 unknown */
	uint8_t pfc_known, pfc_on; /* bit n = priority n */
	/* what makes the class of a packet: priority by DSCP, group by priority (class_map_read) */
	bool dscp_known, groups_known;
	uint8_t dscp[CLASS_DSCPS], groups[FABRIC_CLASSES];
	const char *trust, *class_map; /* NULL unknown */
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

/* What `topology show` answers. */
struct topo_group {
	const char *id;
	const char **members;
	size_t n_members;
};
struct topo_device {
	const char *name, *role;
	uint64_t tier, links;
	struct topo_group *groups;
	size_t n_groups;
};
struct topo_link {
	const char *device, *port, *peer, *peer_port;
	uint64_t speed_bps; /* COUNT_UNKNOWN */
	const char *state, *source; /* "up", "down", "unknown"; "declared", "discovered" */
};
struct topo_outside { /* what is beyond the configuration */
	const char *name, *kind, *role; /* "switch", "unknown"; "spine", "leaf", "unknown" */
	uint64_t links;
	const char **devices; /* that hear it */
	size_t n_devices;
};
struct topo_answer {
	const char *fabric;
	bool discover;
	struct topo_device *devices;
	struct topo_link *links;
	struct topo_outside *outside;
	size_t n_devices, n_links, n_outside;
};
extern const struct shape topo_answer_shape;

/* What `topology check` answers. */
struct topology_finding {
	const char *severity, *kind, *device, *port, *peer, *text, *remedy;
};
struct topology_leaf {
	const char *device;
	uint64_t host_bps, uplink_bps; /* COUNT_UNKNOWN */
	double oversubscription_ratio;
	uint64_t uplinks, uplinks_up, uplinks_usual;
};
struct topology_checked { /* links whose both ends were known */
	uint64_t links, speed, mtu, pfc, classes, switch_links;
};
struct topology_audit {
	const char *fabric;
	struct topology_finding *findings; /* worst first */
	struct topology_leaf *leaves;
	size_t n_findings, n_leaves;
	struct topology_checked checked;
};
extern const struct shape topology_finding_shape, topology_checked_shape, topology_audit_shape;

/* topology_show_json - topo_answer; each link once, from its lower tier. Its peer is "host:NAME"
 * for hosts, "switch:NAME" or "unknown:NAME" for other neighbours. */
json_t *topology_show_json(const struct fabric *fabric, const struct topology_facts *facts);
extern const struct view topology_show_view;

/* topology_check_json - topology_audit. A link with an unknown value is not checked. */
json_t *topology_check_json(const struct fabric *fabric, const struct topology_facts *facts);
extern const struct view topology_check_view;

/* topo_outside - switches, and things that may be one, to which links lead and which are not in
 * the configuration. Pure. */

/* topo_outside - what lies beyond the configuration, by name, in @a. A role is told by who
 * hears it: two leaves or more and nobody else make a spine. */
struct topo_outside *topology_outside(const struct fabric *fabric, struct arena *a, size_t *ret_n);

/* topology_outside_text - what @port leads to, "switch:NAME[:PORT]", in @buf. */
#define TOPOLOGY_OUTSIDE_MAX 640

const char *topology_outside_text(char buf[TOPOLOGY_OUTSIDE_MAX], const struct fabric_port *port);
