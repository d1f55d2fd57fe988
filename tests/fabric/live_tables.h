/*
 * live_tables - what a simulated switch knows, by canonical metric, and what it answers by SNMP:
 * the tables its vendor has. Pure: no clock, no I/O. OIDs are those of the profiles
 * (config/profiles), sections 1.1 to 1.7 and 1.11; LLDP-MIB as in IEEE 802.1AB-2005.
 */
#ifndef FABRIC_LIVE_TABLES_H
#define FABRIC_LIVE_TABLES_H

#include "tests/fabric/live_agentx.h"
#include "tests/fabric/record.h"

/* Who a switch claims to be. The rows are in live_tables.c. */
struct live_face {
	const char *name;
	unsigned bit; /* of the rules */
	enum face recorded; /* which values it has, and how fresh they are */
	const char *descr, *object_id;
	unsigned first_index, index_step; /* ifIndex of its ports */
	/* ifName where it is not the native name: a format of the port's number */
	const char *port_name;
	unsigned cell_bytes; /* of its buffers; 0: its tables have no cells */
	const char *const *subtrees;
	const struct live_gnmi_face *gnmi; /* NULL: it answers SNMP */
};
extern const struct live_face live_faces[];
extern const size_t live_n_faces;
/* "nxos" or "nxos-snmp"; NULL: there is no such face */
const struct live_face *live_face_find(const char *name);

/* The face that shows most of what is wrong: pause time, buffer peaks and thresholds, or ECN marks
 * where those decide. No SNMP agent has both. */
const struct live_face *live_face_for(const char *cause);

enum { LIVE_PRIORITIES = 8, LIVE_TEXT = 64 };
enum live_value {
	V_IN_OCTETS,
	V_OUT_OCTETS,
	V_IN_PACKETS,
	V_OUT_PACKETS,
	V_IN_ERRORS,
	V_OUT_ERRORS,
	V_IN_DISCARDS,
	V_OUT_DISCARDS,
	V_FCS,
	V_SYMBOLS,
	V_IN_PAUSE,
	V_OUT_PAUSE,
	V_SPEED,
	V_MTU,
	V_UP,
	V_TX_FRAMES,
	V_RX_FRAMES,
	V_TX_PAUSE_NS,
	V_RX_PAUSE_NS,
	V_QUEUE_PACKETS,
	V_QUEUE_OCTETS,
	V_PG_DROPS,
	V_QUEUE_DROPS,
	V_WRED_DROPS,
	V_MARKED,
	V_SHARED_PEAK,
	V_HEADROOM_PEAK,
	V_HEADROOM,
	V_XOFF_LEVEL,
	V_XON_LEVEL,
	V_STORMS,
	V_RESTORES,
	V_STORM_DROPS,
	V_QUEUE_PEAK,
	V_DEPTH,
	V_FEC,
	V_FEC_BAD,
	V_FLAPS,
	/* not metrics: what the row says of itself */
	V_METRICS,
	V_ZERO = V_METRICS,
	V_ONE,
	V_INDEX,
	V_NUMBER,
	V_PORTS,
	V_CELL,
	V_TYPE,
	V_OPER,
	V_ETHERNET,
	V_LOCAL,
	V_MAC,
	V_NAME,
	V_NATIVE_NAME,
	V_ALIAS,
	V_SYSTEM,
	V_SYSTEM_MAC,
	V_PEER,
	V_PEER_PORT,
	V_PEER_DESCR,
	V_PEER_MAC
};
extern const char *const live_metrics[V_METRICS];

/* What is no whole number, or of the configuration. */
enum live_setting {
	S_PFC_ENABLED,
	S_ALPHA_EXP,
	S_HEADROOM,
	S_XON_OFFSET,
	S_ECN_ENABLED,
	S_KMIN,
	S_KMAX,
	S_PMAX,
	S_WEIGHT,
	S_CABLE,
	S_WATCHDOG_DETECT,
	S_WATCHDOG_RESTORE,
	S_BER,
	S_RX_POWER,
	S_TX_POWER,
	S_TEMPERATURE,
	S_SETTINGS
};
extern const char *const live_settings[S_SETTINGS];

struct live_port {
	char native[LIVE_TEXT], name[LIVE_TEXT], peer[LIVE_TEXT], peer_port[LIVE_TEXT];
	uint8_t mac[6], peer_mac[6]; /* of the systems at both ends */
	bool to_host;
	unsigned number, index;
	uint64_t v[V_METRICS][LIVE_PRIORITIES]; /* of a port: at priority 0 */
	double s[S_SETTINGS][LIVE_PRIORITIES];
	/* mask of priorities, as known below: a setting may be of some ports only */
	uint8_t has[S_SETTINGS];
};
struct live_instance;
struct live_switch {
	const struct live_face *face;
	char name[LIVE_TEXT];
	struct live_port *ports;
	size_t n_ports;
	/* mask of priorities that the face has at all; of a port: 1. The rest is no instance */
	uint8_t known[V_METRICS];
	uint64_t pool_bytes; /* of the shared buffer; 0: the face does not tell */
	int64_t boot_ns; /* wall clock */
	struct live_instance *instances;
	size_t n_instances;
};

/* live_switch_take - a value of the metric: false when this face's tables have no room for it.
 * @priority -1: of the port. */
bool live_switch_take(struct live_switch *s, const char *port, int priority, const char *metric,
	const char *value);

/* live_switch_build - the list of instances, once all that the face has was taken. */
void live_switch_build(struct live_switch *s);
void live_switch_done(struct live_switch *s);

bool live_switch_get(
	const struct live_switch *s, const struct agentx_oid *name, struct agentx_value *ret);
bool live_switch_next(const struct live_switch *s, const struct agentx_oid *name, bool include,
	const struct agentx_oid *end, struct agentx_oid *ret_name, struct agentx_value *ret);

#endif
