/* live_tables - see live_tables.h: faces, rules, instances. */
#include "tests/fabric/live_tables.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "tests/fabric/live_gnmi.h"

#define MIB2 "1.3.6.1.2.1"
#define IFTABLE MIB2 ".2.2.1"
#define IFXTABLE MIB2 ".31.1.1.1"
#define ETHERLIKE MIB2 ".10.7"
#define LLDP "1.0.8802.1.1.2.1"
#define CISCO_PFC "1.3.6.1.4.1.9.9.813.1"
#define CISCO_QOS "1.3.6.1.4.1.9.9.580.1"
#define ARISTA "1.3.6.1.4.1.30065.3"
#define CUMULUS "1.3.6.1.4.1.40310.2"

enum { NXOS = 1, CUMULUS_ = 2, EOS = 4, SONIC = 8, ANY = NXOS | CUMULUS_ | EOS | SONIC };

static const char *const nxos_trees[] = {
	MIB2 ".2", MIB2 ".31", ETHERLIKE, LLDP, CISCO_PFC, CISCO_QOS, NULL};
static const char *const cumulus_trees[] = {MIB2 ".2", MIB2 ".31", LLDP, CUMULUS, NULL};
static const char *const eos_trees[] = {MIB2 ".2", MIB2 ".31", ETHERLIKE, LLDP, ARISTA, NULL};
static const char *const sonic_trees[] = {MIB2 ".2", MIB2 ".31", LLDP, CISCO_PFC, CISCO_QOS, NULL};

/* ifIndex: NX-OS's Ethernet1/1 is 0x1a000000, the next ones 0x200 on; SONiC's is the native number
 * plus 1. */
const struct live_face live_faces[] = {
	{"nxos", NXOS, FACE_NXOS_SNMP, "Cisco NX-OS(tm) n9000, Software (n9000), simulated",
		"1.3.6.1.4.1.9.12.3.1.3", 0x1a000000, 0x200, NULL, 208, nxos_trees},
	{"cumulus", CUMULUS_, FACE_CUMULUS_SNMP, "Cumulus-Linux (simulated)", "1.3.6.1.4.1.40310",
		3, 1, NULL, 0, cumulus_trees},
	{"eos", EOS, FACE_FULL, "Arista Networks EOS version 4 (simulated)", "1.3.6.1.4.1.30065.1",
		1, 1, NULL, 0, eos_trees},
	{"sonic", SONIC, FACE_SONIC_SNMP,
		"SONiC Software Version: SONiC.simulated - HwSku: none - Distribution: Debian 12 - "
		"Kernel: none",
		"1.3.6.1.4.1.8072.3.2.10", 2, 1, "etp%u", 0, sonic_trees},
	{"sonic-gnmi", 0, FACE_SONIC_GNMI, .port_name = "etp%u", .gnmi = &live_gnmi_sonic},
	{"cumulus-gnmi", 0, FACE_CUMULUS_GNMI, .gnmi = &live_gnmi_cumulus},
	{"openconfig-gnmi", 0, FACE_OPENCONFIG_GNMI, .gnmi = &live_gnmi_openconfig},
};
const size_t live_n_faces = rw_countof(live_faces);

const struct live_face *live_face_find(const char *name)
{
	for (size_t i = 0; i < live_n_faces; i++)
		if (str_eq(live_faces[i].name, name) ||
			str_eq(face_names[live_faces[i].recorded], name))
			return &live_faces[i];
	return NULL;
}

const struct live_face *live_face_for(const char *cause)
{
	static const char *const by_marks[] = {
		"dcqcn_off", "ecn_off", "ecn_late", "ecn_early", "oversubscription"};
	for (size_t i = 0; i < rw_countof(by_marks); i++)
		if (str_eq(cause, by_marks[i]))
			return live_face_find("eos");
	return live_face_find("nxos");
}

const char *const live_metrics[V_METRICS] = {
	[V_IN_OCTETS] = "port.in_octets",
	[V_OUT_OCTETS] = "port.out_octets",
	[V_IN_PACKETS] = "port.in_packets",
	[V_OUT_PACKETS] = "port.out_packets",
	[V_IN_ERRORS] = "port.in_errors",
	[V_OUT_ERRORS] = "port.out_errors",
	[V_IN_DISCARDS] = "port.in_discards",
	[V_OUT_DISCARDS] = "port.out_discards",
	[V_FCS] = "port.fcs_errors",
	[V_SYMBOLS] = "port.symbol_errors",
	[V_IN_PAUSE] = "port.in_pause_frames",
	[V_OUT_PAUSE] = "port.out_pause_frames",
	[V_SPEED] = "port.speed_bps",
	[V_MTU] = "port.mtu_bytes",
	[V_UP] = "port.oper_up",
	[V_TX_FRAMES] = "pfc.tx_frames",
	[V_RX_FRAMES] = "pfc.rx_frames",
	[V_TX_PAUSE_NS] = "pfc.tx_pause_ns",
	[V_RX_PAUSE_NS] = "pfc.rx_pause_ns",
	[V_QUEUE_PACKETS] = "queue.out_packets",
	[V_QUEUE_OCTETS] = "queue.out_octets",
	[V_PG_DROPS] = "pg.drops",
	[V_QUEUE_DROPS] = "queue.drops",
	[V_WRED_DROPS] = "queue.wred_drops",
	[V_MARKED] = "queue.ecn_marked",
	[V_SHARED_PEAK] = "pg.shared_watermark_bytes",
	[V_HEADROOM_PEAK] = "pg.headroom_watermark_bytes",
	[V_HEADROOM] = "cfg.pg_headroom_bytes",
	[V_XOFF_LEVEL] = "cfg.pg_xoff_level_bytes",
	[V_XON_LEVEL] = "cfg.pg_xon_level_bytes",
	[V_STORMS] = "pfcwd.storms",
	[V_RESTORES] = "pfcwd.restores",
	[V_STORM_DROPS] = "pfcwd.drops",
	[V_QUEUE_PEAK] = "queue.watermark_bytes",
	[V_DEPTH] = "queue.depth_bytes",
	[V_FEC] = "port.fec_corrected",
	[V_FEC_BAD] = "port.fec_uncorrectable",
	[V_FLAPS] = "port.flaps",
};

const char *const live_settings[S_SETTINGS] = {
	[S_PFC_ENABLED] = "cfg.pfc_enabled",
	[S_ALPHA_EXP] = "cfg.pg_alpha_exp",
	[S_HEADROOM] = "cfg.pg_headroom_bytes",
	[S_XON_OFFSET] = "cfg.pg_xon_offset_bytes",
	[S_ECN_ENABLED] = "cfg.ecn_enabled",
	[S_KMIN] = "cfg.ecn_kmin_bytes",
	[S_KMAX] = "cfg.ecn_kmax_bytes",
	[S_PMAX] = "cfg.ecn_pmax_ratio",
	[S_WEIGHT] = "cfg.ecn_weight",
	[S_CABLE] = "cfg.cable_m",
	[S_WATCHDOG_DETECT] = "cfg.pfcwd_detect_ms",
	[S_WATCHDOG_RESTORE] = "cfg.pfcwd_restore_ms",
	[S_BER] = "port.pre_fec_ber",
	[S_RX_POWER] = "optic.rx_power_dbm",
	[S_TX_POWER] = "optic.tx_power_dbm",
	[S_TEMPERATURE] = "optic.temperature_c",
};

/* ---- rules: one per column ----------------------------------------------- */

/* What follows the column in an OID: the index parts of its table. From OF_PRIORITY to
 * OF_TYPE_QUEUE there is one row per priority. */
enum index {
	OF_SWITCH,
	OF_PORT,
	OF_PRIORITY,
	OF_GROUP,
	OF_GROUP_TYPE,
	OF_QUEUE_TYPE,
	OF_TYPE_QUEUE,
	OF_LLDP_PORT,
	OF_NEIGHBOR
};
struct rule {
	unsigned faces;
	const char *column;
	enum index index;
	enum agentx_type type;
	enum live_value from;
	double multiply; /* 0 is 1 */
	int priority; /* OF_PORT: whose value */
	unsigned direction, kind; /* OF_GROUP...: other parts of the index */
	/* there too, and added when both are metrics; not V_IN_OCTETS, which nothing is added to */
	enum live_value plus;
};
#define I32 AGENTX_INTEGER
#define C32 AGENTX_COUNTER32
#define C64 AGENTX_COUNTER64
#define G32 AGENTX_GAUGE32
#define TXT AGENTX_OCTETS
#define PFC_COLUMNS(q, rx, tx)                                                                     \
	{CUMULUS_, CUMULUS ".2.3.1." rx, OF_PORT, C64, V_RX_FRAMES, 1, q},                         \
	{                                                                                          \
		CUMULUS_, CUMULUS ".2.3.1." tx, OF_PORT, C64, V_TX_FRAMES, 1, q                    \
	}

static const struct rule rules[] = {
	/* IF-MIB */
	{ANY, MIB2 ".2.1", OF_SWITCH, I32, V_PORTS},
	{ANY, MIB2 ".31.1.5", OF_SWITCH, AGENTX_TICKS, V_ZERO},
	{ANY, IFTABLE ".1", OF_PORT, I32, V_INDEX},
	{ANY, IFTABLE ".2", OF_PORT, TXT, V_NAME},
	{ANY, IFTABLE ".3", OF_PORT, I32, V_ETHERNET},
	{ANY, IFTABLE ".4", OF_PORT, I32, V_MTU},
	{ANY, IFTABLE ".5", OF_PORT, G32, V_SPEED},
	{ANY, IFTABLE ".6", OF_PORT, TXT, V_MAC},
	{ANY, IFTABLE ".7", OF_PORT, I32, V_ONE},
	{ANY, IFTABLE ".8", OF_PORT, I32, V_OPER},
	{ANY, IFTABLE ".9", OF_PORT, AGENTX_TICKS, V_ZERO},
	{ANY, IFTABLE ".10", OF_PORT, C32, V_IN_OCTETS},
	{ANY, IFTABLE ".13", OF_PORT, C32, V_IN_DISCARDS},
	{ANY, IFTABLE ".14", OF_PORT, C32, V_IN_ERRORS},
	{ANY, IFTABLE ".16", OF_PORT, C32, V_OUT_OCTETS},
	{ANY, IFTABLE ".19", OF_PORT, C32, V_OUT_DISCARDS},
	{ANY, IFTABLE ".20", OF_PORT, C32, V_OUT_ERRORS},
	{ANY, IFXTABLE ".1", OF_PORT, TXT, V_NAME},
	{ANY, IFXTABLE ".6", OF_PORT, C64, V_IN_OCTETS},
	{ANY, IFXTABLE ".7", OF_PORT, C64, V_IN_PACKETS},
	{ANY, IFXTABLE ".8", OF_PORT, C64, V_ZERO},
	{ANY, IFXTABLE ".9", OF_PORT, C64, V_ZERO},
	{ANY, IFXTABLE ".10", OF_PORT, C64, V_OUT_OCTETS},
	{ANY, IFXTABLE ".11", OF_PORT, C64, V_OUT_PACKETS},
	{ANY, IFXTABLE ".12", OF_PORT, C64, V_ZERO},
	{ANY, IFXTABLE ".13", OF_PORT, C64, V_ZERO},
	{ANY, IFXTABLE ".15", OF_PORT, G32, V_SPEED, 1e-6},
	{ANY, IFXTABLE ".18", OF_PORT, TXT, V_ALIAS},
	{ANY, IFXTABLE ".19", OF_PORT, AGENTX_TICKS, V_ZERO},
	/* EtherLike-MIB */
	{NXOS | EOS, ETHERLIKE ".11.1.2", OF_PORT, C64, V_FCS},
	{NXOS | EOS, ETHERLIKE ".11.1.6", OF_PORT, C64, V_SYMBOLS},
	{NXOS | EOS, ETHERLIKE ".10.1.5", OF_PORT, C64, V_IN_PAUSE},
	{NXOS | EOS, ETHERLIKE ".10.1.6", OF_PORT, C64, V_OUT_PAUSE},
	/* CISCO-PFC-EXT-MIB: Requests are sent, Indications received; wait times in us */
	{NXOS | SONIC, CISCO_PFC ".2.1.2", OF_PRIORITY, C64, V_TX_FRAMES},
	{NXOS | SONIC, CISCO_PFC ".2.1.3", OF_PRIORITY, C64, V_RX_FRAMES},
	{NXOS, CISCO_PFC ".3.1.3", OF_PRIORITY, C64, V_STORMS},
	{NXOS, CISCO_PFC ".3.1.4", OF_PRIORITY, C64, V_RESTORES},
	{NXOS, CISCO_PFC ".3.1.5", OF_PRIORITY, C64, V_STORM_DROPS},
	{NXOS, CISCO_PFC ".4.1.2", OF_PRIORITY, C64, V_RX_PAUSE_NS, 1e-3},
	{NXOS, CISCO_PFC ".4.1.3", OF_PRIORITY, C64, V_TX_PAUSE_NS, 1e-3},
	/* CISCO-SWITCH-QOS-MIB: ingress 1, egress 2; buffer size = pause threshold + headroom;
	   peaks in cells */
	{NXOS, CISCO_QOS ".1.6", OF_SWITCH, G32, V_CELL},
	{NXOS, CISCO_QOS ".4.8.1.3", OF_GROUP, G32, V_XOFF_LEVEL, 1, 0, 1, 0, V_HEADROOM},
	{NXOS, CISCO_QOS ".4.8.1.7", OF_GROUP, G32, V_XON_LEVEL, 1, 0, 1},
	{NXOS, CISCO_QOS ".4.8.1.8", OF_GROUP, G32, V_XOFF_LEVEL, 1, 0, 1},
	{NXOS | SONIC, CISCO_QOS ".5.5.1.4", OF_GROUP_TYPE, C64, V_QUEUE_PACKETS, 1, 0, 2, 1},
	{NXOS | SONIC, CISCO_QOS ".5.5.1.4", OF_GROUP_TYPE, C64, V_QUEUE_OCTETS, 1, 0, 2, 2},
	{NXOS | SONIC, CISCO_QOS ".5.5.1.4", OF_GROUP_TYPE, C64, V_QUEUE_DROPS, 1, 0, 2, 5},
	{NXOS, CISCO_QOS ".5.6.1.6", OF_PRIORITY, G32, V_SHARED_PEAK, -1},
	{NXOS, CISCO_QOS ".5.6.1.7", OF_PRIORITY, G32, V_HEADROOM_PEAK, -1},
	/* ARISTA-QUEUE-MIB (unicast), ARISTA-PFC-MIB, ARISTA-QOS-MIB (counting enabled) */
	{EOS, ARISTA ".6.1.2.1.4", OF_QUEUE_TYPE, C64, V_QUEUE_PACKETS},
	{EOS, ARISTA ".6.1.2.1.5", OF_QUEUE_TYPE, C64, V_QUEUE_OCTETS},
	{EOS, ARISTA ".6.1.2.1.6", OF_QUEUE_TYPE, C64, V_QUEUE_DROPS},
	{EOS, ARISTA ".11.1.1.1.3", OF_PRIORITY, C64, V_TX_FRAMES},
	{EOS, ARISTA ".11.1.1.1.4", OF_PRIORITY, C64, V_RX_FRAMES},
	{EOS, ARISTA ".11.1.2.1.4", OF_TYPE_QUEUE, I32, V_STORMS},
	{EOS, ARISTA ".11.1.2.1.5", OF_TYPE_QUEUE, I32, V_RESTORES},
	{EOS, ARISTA ".13.1.9.1.3", OF_PRIORITY, I32, V_ONE, 1, 0, 0, 0, V_MARKED},
	{EOS, ARISTA ".13.1.9.1.4", OF_PRIORITY, C64, V_MARKED},
	/* CUMULUS-COUNTERS-MIB */
	{CUMULUS_, CUMULUS ".2.3.1.2", OF_PORT, C64, V_IN_PAUSE},
	{CUMULUS_, CUMULUS ".2.3.1.3", OF_PORT, C64, V_OUT_PAUSE},
	PFC_COLUMNS(0, "4", "5"),
	PFC_COLUMNS(1, "6", "7"),
	PFC_COLUMNS(2, "8", "9"),
	PFC_COLUMNS(3, "10", "11"),
	PFC_COLUMNS(4, "12", "13"),
	PFC_COLUMNS(5, "14", "15"),
	PFC_COLUMNS(6, "16", "17"),
	PFC_COLUMNS(7, "18", "19"),
	{CUMULUS_, CUMULUS ".2.6.1.3", OF_PRIORITY, C64, V_QUEUE_PACKETS},
	{CUMULUS_, CUMULUS ".2.6.1.4", OF_PRIORITY, C64, V_QUEUE_OCTETS},
	{CUMULUS_, CUMULUS ".2.6.1.5", OF_PRIORITY, C64, V_QUEUE_DROPS},
	{CUMULUS_, CUMULUS ".2.6.1.6", OF_PRIORITY, C64, V_WRED_DROPS},
	{CUMULUS_, CUMULUS ".2.6.1.7", OF_PRIORITY, C64, V_MARKED},
	/* LLDP-MIB: chassis by MAC (4), ports by interface name (5) or, what a NIC is called,
	   locally (7) */
	{ANY, LLDP ".2.1", OF_SWITCH, AGENTX_TICKS, V_ZERO},
	{ANY, LLDP ".3.1", OF_SWITCH, I32, V_TYPE},
	{ANY, LLDP ".3.2", OF_SWITCH, TXT, V_SYSTEM_MAC},
	{ANY, LLDP ".3.3", OF_SWITCH, TXT, V_SYSTEM},
	{ANY, LLDP ".3.7.1.2", OF_LLDP_PORT, I32, V_LOCAL},
	{ANY, LLDP ".3.7.1.3", OF_LLDP_PORT, TXT, V_NAME},
	{ANY, LLDP ".3.7.1.4", OF_LLDP_PORT, TXT, V_NATIVE_NAME},
	{ANY, LLDP ".4.1.1.4", OF_NEIGHBOR, I32, V_TYPE},
	{ANY, LLDP ".4.1.1.5", OF_NEIGHBOR, TXT, V_PEER_MAC},
	{ANY, LLDP ".4.1.1.6", OF_NEIGHBOR, I32, V_LOCAL},
	{ANY, LLDP ".4.1.1.7", OF_NEIGHBOR, TXT, V_PEER_PORT},
	{ANY, LLDP ".4.1.1.8", OF_NEIGHBOR, TXT, V_PEER_PORT},
	{ANY, LLDP ".4.1.1.9", OF_NEIGHBOR, TXT, V_PEER},
	{ANY, LLDP ".4.1.1.10", OF_NEIGHBOR, TXT, V_PEER_DESCR},
};

struct live_instance {
	struct agentx_oid name;
	const struct rule *rule;
	const struct live_port *port; /* NULL: of the switch */
	int priority;
};

/* ---- values -------------------------------------------------------------- */

static bool setting_take(struct live_port *p, unsigned at, const char *metric, const char *value)
{
	unsigned which = 0;
	while (which < S_SETTINGS && strcmp(live_settings[which], metric) != 0)
		which++;
	if (which == S_SETTINGS)
		return false;
	p->s[which][at] = strtod(value, NULL);
	p->has[which] |= (uint8_t)(1u << at);
	return true;
}

bool live_switch_take(struct live_switch *s, const char *port, int priority, const char *metric,
	const char *value)
{
	unsigned which = 0, number;
	const unsigned at = priority < 0 ? 0 : (unsigned)priority;
	if (strcmp(metric, "cfg.buffer_pool_bytes") == 0) {
		s->pool_bytes = strtoull(value, NULL, 10);
		return true;
	}
	if (priority >= LIVE_PRIORITIES || sscanf(port, "Ethernet%u", &number) != 1 || number < 1 ||
		number > s->n_ports)
		return false;
	while (which < V_METRICS && strcmp(live_metrics[which], metric) != 0)
		which++;
	if (setting_take(&s->ports[number - 1], at, metric, value) && which == V_METRICS)
		return true;
	if (which == V_METRICS)
		return false;
	s->ports[number - 1].v[which][at] = strtoull(value, NULL, 10);
	s->known[which] |= (uint8_t)(1u << at);
	return true;
}

static void text_value(struct agentx_value *v, const void *text, size_t n)
{
	v->text = text;
	v->n_text = n;
}

/* What the system at the other end says it is: a switch like this one, or a server. */
static void peer_descr_value(
	const struct live_switch *s, const struct live_port *p, struct agentx_value *v)
{
	static const char server[] = "Linux 6.1 (simulated)";
	const char *descr = p->to_host ? server : s->face->descr;
	text_value(v, descr, strlen(descr));
}

/* What a row says of itself. The system's own MAC is that of its first port, less one. */
static void own_value(
	const struct live_switch *s, const struct live_instance *in, struct agentx_value *v)
{
	const struct live_port *p = in->port;
	switch (in->rule->from) {
	case V_ONE: v->number = 1; break;
	case V_INDEX: v->number = p->index; break;
	case V_PORTS: v->number = s->n_ports; break;
	case V_CELL: v->number = s->face->cell_bytes; break;
	case V_TYPE: v->number = 4; break; /* macAddress */
	case V_LOCAL: v->number = 5; break; /* interfaceName */
	case V_ETHERNET: v->number = 6; break; /* ethernetCsmacd */
	case V_OPER: v->number = p->v[V_UP][0] ? 1 : 2; break; /* ifOperStatus up, down */
	case V_MAC: text_value(v, p->mac, 6); break;
	case V_SYSTEM_MAC: text_value(v, s->ports[0].mac, 6); break;
	case V_PEER_MAC: text_value(v, p->peer_mac, 6); break;
	case V_NAME: text_value(v, p->name, strlen(p->name)); break;
	case V_NATIVE_NAME: text_value(v, p->native, strlen(p->native)); break;
	case V_ALIAS: text_value(v, p->peer, strlen(p->peer)); break;
	case V_SYSTEM: text_value(v, s->name, strlen(s->name)); break;
	case V_PEER: text_value(v, p->peer, strlen(p->peer)); break;
	case V_PEER_DESCR: peer_descr_value(s, p, v); break;
	case V_PEER_PORT: text_value(v, p->peer_port, strlen(p->peer_port)); break;
	default: v->number = 0; break;
	}
}

static void value_of(
	const struct live_switch *s, const struct live_instance *in, struct agentx_value *v)
{
	const struct rule *r = in->rule;
	*v = (struct agentx_value){.type = r->type};
	if (r->from >= V_METRICS) {
		own_value(s, in, v);
		return;
	}
	uint64_t n = in->port->v[r->from][in->priority] +
		(r->plus ? in->port->v[r->plus][in->priority] : 0);
	if (r->multiply < 0)
		n = (n + s->face->cell_bytes - 1) / s->face->cell_bytes;
	else if (r->multiply > 0 && r->multiply < 1)
		n /= (uint64_t)lround(1 / r->multiply);
	if (r->type == AGENTX_GAUGE32 && n > UINT32_MAX)
		n = UINT32_MAX;
	v->number = n;
}

/* ---- instances ----------------------------------------------------------- */

static void instance_add(struct live_switch *s, size_t *cap, const struct rule *r,
	const struct live_port *port, int priority, const uint32_t *index, size_t n)
{
	rw_grow(s->instances, s->n_instances, *cap);
	struct live_instance *in = &s->instances[s->n_instances++];
	*in = (struct live_instance){.rule = r, .port = port, .priority = priority};
	agentx_oid_read(r->column, &in->name);
	memcpy(in->name.v + in->name.n, index, n * sizeof(*index));
	in->name.n += (uint32_t)n;
}

/* Rows are there for the priorities that the switch has something to say of. */
static bool has(const struct live_switch *s, const struct rule *r, int priority)
{
	const unsigned bit = 1u << priority;
	return (r->from >= V_METRICS || s->known[r->from] & bit) &&
		(!r->plus || s->known[r->plus] & bit);
}

static void instances_of_port(
	struct live_switch *s, size_t *cap, const struct rule *r, const struct live_port *p)
{
	/* csqIfQosGroupStats counts from 1 */
	const uint32_t first_queue = s->face->bit == SONIC ? 1 : 0;
	if (r->index == OF_PORT) {
		if (has(s, r, r->priority))
			instance_add(s, cap, r, p, r->priority, (uint32_t[]){p->index}, 1);
	} else if (r->index == OF_LLDP_PORT)
		instance_add(s, cap, r, p, 0, (uint32_t[]){p->number}, 1);
	else if (r->index == OF_NEIGHBOR)
		instance_add(s, cap, r, p, 0, (uint32_t[]){0, p->number, 1}, 3);
	else
		for (int q = 0; q < LIVE_PRIORITIES; q++) {
			const uint32_t n = (uint32_t)q;
			if (!has(s, r, q))
				continue;
			switch (r->index) {
			case OF_PRIORITY:
				instance_add(s, cap, r, p, q, (uint32_t[]){p->index, n}, 2);
				break;
			case OF_GROUP:
				instance_add(s, cap, r, p, q,
					(uint32_t[]){p->index, r->direction, n}, 3);
				break;
			case OF_GROUP_TYPE:
				instance_add(s, cap, r, p, q,
					(uint32_t[]){
						p->index, r->direction, n + first_queue, r->kind},
					4);
				break;
			case OF_QUEUE_TYPE:
				instance_add(
					s, cap, r, p, q, (uint32_t[]){p->index, n, r->kind}, 3);
				break;
			case OF_TYPE_QUEUE:
				instance_add(
					s, cap, r, p, q, (uint32_t[]){p->index, r->kind, n}, 3);
				break;
			default: break;
			}
		}
}

static int instance_order(const void *a, const void *b)
{
	return agentx_oid_order(
		&((const struct live_instance *)a)->name, &((const struct live_instance *)b)->name);
}

void live_switch_build(struct live_switch *s)
{
	size_t cap = 0;
	live_switch_done(s);
	for (size_t i = 0; i < rw_countof(rules); i++) {
		const struct rule *r = &rules[i];
		if (!(r->faces & s->face->bit))
			continue;
		if (r->index == OF_SWITCH) {
			instance_add(s, &cap, r, NULL, 0, (uint32_t[]){0}, 1);
			continue;
		}
		for (size_t k = 0; k < s->n_ports; k++)
			instances_of_port(s, &cap, r, &s->ports[k]);
	}
	if (s->n_instances) /* a face that answers gNMI has none */
		qsort(s->instances, s->n_instances, sizeof(*s->instances), instance_order);
}

void live_switch_done(struct live_switch *s)
{
	free(s->instances);
	s->instances = NULL;
	s->n_instances = 0;
}

/* The first instance at @name or after it. */
static size_t from(const struct live_switch *s, const struct agentx_oid *name)
{
	size_t low = 0, high = s->n_instances;
	while (low < high) {
		const size_t mid = (low + high) / 2;
		if (agentx_oid_order(&s->instances[mid].name, name) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

bool live_switch_get(
	const struct live_switch *s, const struct agentx_oid *name, struct agentx_value *ret)
{
	const size_t i = from(s, name);
	if (i == s->n_instances || agentx_oid_order(&s->instances[i].name, name) != 0)
		return false;
	value_of(s, &s->instances[i], ret);
	return true;
}

bool live_switch_next(const struct live_switch *s, const struct agentx_oid *name, bool include,
	const struct agentx_oid *end, struct agentx_oid *ret_name, struct agentx_value *ret)
{
	size_t i = from(s, name);
	if (i < s->n_instances && !include && agentx_oid_order(&s->instances[i].name, name) == 0)
		i++;
	if (i == s->n_instances || (end->n && agentx_oid_order(&s->instances[i].name, end) >= 0))
		return false;
	*ret_name = s->instances[i].name;
	value_of(s, &s->instances[i], ret);
	return true;
}
