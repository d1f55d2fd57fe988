/*
 * switch_tables - an AgentX subagent that puts a switch's PFC, ECN, queue and buffer tables beside
 * a stock snmpd.
 *
 * A Linux namespace with snmpd looks like a router without queues. This program adds what real
 * switches answer: the tables of CISCO-PFC-EXT-MIB and CISCO-SWITCH-QOS-MIB, of Arista's and of
 * Cumulus', indexed by the ifIndex of the interfaces it finds. Values come from -i IFACE    PFC
 * frames (0x8808, opcode 0x0101) seen on that interface: received ones count as Indications, sent
 * ones as Requests -s FILE     "port <tab> priority <tab> metric <tab> value" lines; read again
 * whenever the file changes (replace it by rename) Ports named by -p NAME=IFINDEX need no
 * interface. -f chooses the tables: cisco, arista, cumulus (default all).
 *
 * Single thread; the library's loop. Test code: exits on the first thing that goes wrong, saying
 * why.
 */
#include <net-snmp/net-snmp-config.h>
#include <net-snmp/net-snmp-includes.h>
#include <net-snmp/agent/net-snmp-agent-includes.h>

#include <arpa/inet.h>
#include <err.h>
#include <getopt.h>
#include <inttypes.h>
#include <linux/if_packet.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/stat.h>

#define PORTS_MAX 512
#define PRIOS 8

/* The value of one metric at one port and priority. Priority 8 holds what is per port. */
enum value {
	V_TX_FRAMES,
	V_RX_FRAMES,
	V_TX_PAUSE_NS,
	V_RX_PAUSE_NS,
	V_STORMS,
	V_RESTORES,
	V_WD_DROPS,
	V_OUT_PACKETS,
	V_OUT_OCTETS,
	V_DROPS,
	V_WRED_DROPS,
	V_ECN_MARKED,
	V_SHARED_WM,
	V_HEADROOM_WM,
	V_HEADROOM,
	V_XOFF_LEVEL,
	V_XON_LEVEL,
	V_PORT_TX_PAUSE,
	V_PORT_RX_PAUSE,
	V_COUNT
};
static const char *const value_names[V_COUNT] = {"pfc.tx_frames", "pfc.rx_frames",
	"pfc.tx_pause_ns", "pfc.rx_pause_ns", "pfcwd.storms", "pfcwd.restores", "pfcwd.drops",
	"queue.out_packets", "queue.out_octets", "queue.drops", "queue.wred_drops",
	"queue.ecn_marked", "pg.shared_watermark_bytes", "pg.headroom_watermark_bytes",
	"cfg.pg_headroom_bytes", "cfg.pg_xoff_level_bytes", "cfg.pg_xon_level_bytes",
	"port.out_pause_frames", "port.in_pause_frames"};

struct port {
	char name[IFNAMSIZ + 16];
	unsigned ifindex;
	uint64_t v[PRIOS][V_COUNT];
};
static struct port ports[PORTS_MAX];
static size_t n_ports;
/* what the source can know: the rest is noSuchInstance, as on a device that lacks it */
static bool have[V_COUNT];

enum { FACE_CISCO = 1, FACE_ARISTA = 2, FACE_CUMULUS = 4 };
static unsigned faces = FACE_CISCO | FACE_ARISTA | FACE_CUMULUS;
static unsigned cell_bytes = 208;

/* Index shapes: the part of an OID after the column. */
enum shape {
	PORT_ONLY,
	PORT_PRIO,
	PORT_DIR_GROUP,
	PORT_DIR_GROUP_TYPE,
	PORT_PRIO_ZERO,
	PORT_ZERO_PRIO
};
struct row_rule {
	unsigned face;
	const char *column; /* OID of the column */
	enum shape shape;
	unsigned fixed, type; /* direction, or the last index part */
	u_char asn;
	/* value, plus .minus when it is not V_COUNT (a buffer size is level + headroom) */
	enum value from, minus;
	uint64_t divide, multiply;
	int priority; /* PORT_ONLY columns of one priority; -1 = sum over all */
};
#define CISCO_PFC "1.3.6.1.4.1.9.9.813.1"
#define CISCO_QOS "1.3.6.1.4.1.9.9.580.1"
#define ARISTA "1.3.6.1.4.1.30065.3"
#define CUMULUS "1.3.6.1.4.1.40310.2"
#define NONE V_COUNT
static const struct row_rule rules[] = {
	{FACE_CISCO, CISCO_PFC ".1.1.1", PORT_ONLY, 0, 0, ASN_COUNTER64, V_TX_FRAMES, NONE, 1, 1,
		-1},
	{FACE_CISCO, CISCO_PFC ".1.1.2", PORT_ONLY, 0, 0, ASN_COUNTER64, V_RX_FRAMES, NONE, 1, 1,
		-1},
	{FACE_CISCO, CISCO_PFC ".2.1.2", PORT_PRIO, 0, 0, ASN_COUNTER64, V_TX_FRAMES, NONE, 1, 1,
		0},
	{FACE_CISCO, CISCO_PFC ".2.1.3", PORT_PRIO, 0, 0, ASN_COUNTER64, V_RX_FRAMES, NONE, 1, 1,
		0},
	{FACE_CISCO, CISCO_PFC ".3.1.3", PORT_PRIO, 0, 0, ASN_COUNTER64, V_STORMS, NONE, 1, 1, 0},
	{FACE_CISCO, CISCO_PFC ".3.1.4", PORT_PRIO, 0, 0, ASN_COUNTER64, V_RESTORES, NONE, 1, 1, 0},
	{FACE_CISCO, CISCO_PFC ".3.1.5", PORT_PRIO, 0, 0, ASN_COUNTER64, V_WD_DROPS, NONE, 1, 1, 0},
	{FACE_CISCO, CISCO_PFC ".4.1.2", PORT_PRIO, 0, 0, ASN_COUNTER64, V_RX_PAUSE_NS, NONE, 1000,
		1, 0},
	{FACE_CISCO, CISCO_PFC ".4.1.3", PORT_PRIO, 0, 0, ASN_COUNTER64, V_TX_PAUSE_NS, NONE, 1000,
		1, 0},
	{FACE_CISCO, CISCO_QOS ".4.8.1.3", PORT_DIR_GROUP, 1, 0, ASN_UNSIGNED, V_XOFF_LEVEL,
		V_HEADROOM, 1, 1, 0},
	{FACE_CISCO, CISCO_QOS ".4.8.1.7", PORT_DIR_GROUP, 1, 0, ASN_UNSIGNED, V_XON_LEVEL, NONE, 1,
		1, 0},
	{FACE_CISCO, CISCO_QOS ".4.8.1.8", PORT_DIR_GROUP, 1, 0, ASN_UNSIGNED, V_XOFF_LEVEL, NONE,
		1, 1, 0},
	{FACE_CISCO, CISCO_QOS ".5.5.1.4", PORT_DIR_GROUP_TYPE, 2, 1, ASN_COUNTER64, V_OUT_PACKETS,
		NONE, 1, 1, 0},
	{FACE_CISCO, CISCO_QOS ".5.5.1.4", PORT_DIR_GROUP_TYPE, 2, 2, ASN_COUNTER64, V_OUT_OCTETS,
		NONE, 1, 1, 0},
	{FACE_CISCO, CISCO_QOS ".5.5.1.4", PORT_DIR_GROUP_TYPE, 2, 5, ASN_COUNTER64, V_DROPS, NONE,
		1, 1, 0},
	{FACE_CISCO, CISCO_QOS ".5.6.1.6", PORT_PRIO, 0, 0, ASN_UNSIGNED, V_SHARED_WM, NONE, 0, 1,
		0},
	{FACE_CISCO, CISCO_QOS ".5.6.1.7", PORT_PRIO, 0, 0, ASN_UNSIGNED, V_HEADROOM_WM, NONE, 0, 1,
		0},
	{FACE_ARISTA, ARISTA ".6.1.2.1.4", PORT_PRIO_ZERO, 0, 0, ASN_COUNTER64, V_OUT_PACKETS, NONE,
		1, 1, 0},
	{FACE_ARISTA, ARISTA ".6.1.2.1.5", PORT_PRIO_ZERO, 0, 0, ASN_COUNTER64, V_OUT_OCTETS, NONE,
		1, 1, 0},
	{FACE_ARISTA, ARISTA ".6.1.2.1.6", PORT_PRIO_ZERO, 0, 0, ASN_COUNTER64, V_DROPS, NONE, 1, 1,
		0},
	{FACE_ARISTA, ARISTA ".11.1.1.1.3", PORT_PRIO, 0, 0, ASN_COUNTER64, V_TX_FRAMES, NONE, 1, 1,
		0},
	{FACE_ARISTA, ARISTA ".11.1.1.1.4", PORT_PRIO, 0, 0, ASN_COUNTER64, V_RX_FRAMES, NONE, 1, 1,
		0},
	{FACE_ARISTA, ARISTA ".11.1.2.1.4", PORT_ZERO_PRIO, 0, 0, ASN_INTEGER, V_STORMS, NONE, 1, 1,
		0},
	{FACE_ARISTA, ARISTA ".11.1.2.1.5", PORT_ZERO_PRIO, 0, 0, ASN_INTEGER, V_RESTORES, NONE, 1,
		1, 0},
	/* enabled(1): see value_of() */
	{FACE_ARISTA, ARISTA ".13.1.9.1.3", PORT_PRIO, 0, 0, ASN_INTEGER, V_ECN_MARKED, NONE, 1, 0,
		0},
	{FACE_ARISTA, ARISTA ".13.1.9.1.4", PORT_PRIO, 0, 0, ASN_COUNTER64, V_ECN_MARKED, NONE, 1,
		1, 0},
	{FACE_CUMULUS, CUMULUS ".2.3.1.2", PORT_ONLY, 0, 0, ASN_COUNTER64, V_PORT_RX_PAUSE, NONE, 1,
		1, 0},
	{FACE_CUMULUS, CUMULUS ".2.3.1.3", PORT_ONLY, 0, 0, ASN_COUNTER64, V_PORT_TX_PAUSE, NONE, 1,
		1, 0},
#define CUMULUS_PFC(p, rx, tx)                                                                     \
	{FACE_CUMULUS, CUMULUS ".2.3.1." rx, PORT_ONLY, 0, 0, ASN_COUNTER64, V_RX_FRAMES, NONE, 1, \
		1, p},                                                                             \
	{                                                                                          \
		FACE_CUMULUS, CUMULUS ".2.3.1." tx, PORT_ONLY, 0, 0, ASN_COUNTER64, V_TX_FRAMES,   \
			NONE, 1, 1, p                                                              \
	}
	CUMULUS_PFC(0, "4", "5"),
	CUMULUS_PFC(1, "6", "7"),
	CUMULUS_PFC(2, "8", "9"),
	CUMULUS_PFC(3, "10", "11"),
	CUMULUS_PFC(4, "12", "13"),
	CUMULUS_PFC(5, "14", "15"),
	CUMULUS_PFC(6, "16", "17"),
	CUMULUS_PFC(7, "18", "19"),
	{FACE_CUMULUS, CUMULUS ".2.6.1.3", PORT_PRIO, 0, 0, ASN_COUNTER64, V_OUT_PACKETS, NONE, 1,
		1, 0},
	{FACE_CUMULUS, CUMULUS ".2.6.1.4", PORT_PRIO, 0, 0, ASN_COUNTER64, V_OUT_OCTETS, NONE, 1, 1,
		0},
	{FACE_CUMULUS, CUMULUS ".2.6.1.5", PORT_PRIO, 0, 0, ASN_COUNTER64, V_DROPS, NONE, 1, 1, 0},
	{FACE_CUMULUS, CUMULUS ".2.6.1.6", PORT_PRIO, 0, 0, ASN_COUNTER64, V_WRED_DROPS, NONE, 1, 1,
		0},
	{FACE_CUMULUS, CUMULUS ".2.6.1.7", PORT_PRIO, 0, 0, ASN_COUNTER64, V_ECN_MARKED, NONE, 1, 1,
		0},
};
#define N_RULES (sizeof(rules) / sizeof(rules[0]))

/* All instances, sorted by OID; made once the ports are known. */
struct instance {
	oid name[MAX_OID_LEN];
	size_t len;
	const struct row_rule *rule;
	const struct port *port; /* NULL: the cell size */
	int priority;
};
static struct instance *instances;
static size_t n_instances;

static int instance_compare(const void *a, const void *b)
{
	const struct instance *x = a, *y = b;
	return snmp_oid_compare(x->name, x->len, y->name, y->len);
}

static void instance_add(const char *column, const oid *index, size_t n_index,
	const struct row_rule *rule, const struct port *port, int priority)
{
	instances = realloc(instances, (n_instances + 1) * sizeof(*instances));
	if (!instances)
		err(1, "instances");
	struct instance *in = &instances[n_instances++];
	*in = (struct instance){
		.len = MAX_OID_LEN, .rule = rule, .port = port, .priority = priority};
	if (!read_objid(column, in->name, &in->len))
		errx(1, "bad OID %s", column);
	memcpy(in->name + in->len, index, n_index * sizeof(oid));
	in->len += n_index;
}

static void instances_build(void)
{
	if (faces & FACE_CISCO)
		instance_add(CISCO_QOS ".1.6", (oid[]){0}, 1, NULL, NULL, 0);
	for (size_t r = 0; r < N_RULES; r++) {
		const struct row_rule *rule = &rules[r];
		if (!(rule->face & faces) || !have[rule->from] ||
			(rule->minus != NONE && !have[rule->minus]))
			continue;
		for (size_t p = 0; p < n_ports; p++) {
			if (rule->shape == PORT_ONLY) {
				instance_add(rule->column, (oid[]){ports[p].ifindex}, 1, rule,
					&ports[p], rule->priority);
				continue;
			}
			for (int prio = 0; prio < PRIOS; prio++) {
				const oid i = ports[p].ifindex, q = (oid)prio;
				switch (rule->shape) {
				case PORT_PRIO:
					instance_add(rule->column, (oid[]){i, q}, 2, rule,
						&ports[p], prio);
					break;
				case PORT_DIR_GROUP:
					instance_add(rule->column, (oid[]){i, rule->fixed, q}, 3,
						rule, &ports[p], prio);
					break;
				case PORT_DIR_GROUP_TYPE:
					instance_add(rule->column,
						(oid[]){i, rule->fixed, q, rule->type}, 4, rule,
						&ports[p], prio);
					break;
				case PORT_PRIO_ZERO:
					instance_add(rule->column, (oid[]){i, q, 0}, 3, rule,
						&ports[p], prio);
					break;
				case PORT_ZERO_PRIO:
					instance_add(rule->column, (oid[]){i, 0, q}, 3, rule,
						&ports[p], prio);
					break;
				case PORT_ONLY: break;
				}
			}
		}
	}
	qsort(instances, n_instances, sizeof(*instances), instance_compare);
}

static uint64_t value_of(const struct instance *in)
{
	const struct row_rule *r = in->rule;
	if (!in->port)
		return cell_bytes;
	if (!r->multiply)
		return 1; /* TruthValue true */
	uint64_t v = 0;
	for (int p = 0; p < PRIOS; p++)
		if (in->priority == p || in->priority < 0)
			v += in->port->v[p][r->from] +
				(r->minus == NONE ? 0 : in->port->v[p][r->minus]);
	return v / (r->divide ? r->divide : cell_bytes);
}

static void answer(netsnmp_request_info *request, const struct instance *in)
{
	const uint64_t v = value_of(in);
	const u_char asn = in->port ? in->rule->asn : ASN_UNSIGNED;
	snmp_set_var_objid(request->requestvb, in->name, in->len);
	if (asn == ASN_COUNTER64) {
		struct counter64 c = {.high = (u_long)(v >> 32), .low = (u_long)(v & 0xffffffff)};
		snmp_set_var_typed_value(request->requestvb, asn, &c, sizeof(c));
	} else {
		u_long n = (u_long)(v > 0xffffffff ? 0xffffffff : v);
		snmp_set_var_typed_value(request->requestvb, asn, &n, sizeof(n));
	}
}

static int handle(netsnmp_mib_handler *handler, netsnmp_handler_registration *reg,
	netsnmp_agent_request_info *info, netsnmp_request_info *requests)
{
	(void)handler;
	for (netsnmp_request_info *q = requests; q; q = q->next) {
		const struct variable_list *vb = q->requestvb;
		/* first instance >= name (GET) or > name (GETNEXT) */
		size_t lo = 0, hi = n_instances;
		while (lo < hi) {
			const size_t mid = (lo + hi) / 2;
			const int c = snmp_oid_compare(
				instances[mid].name, instances[mid].len, vb->name, vb->name_length);
			if (c < 0 || (c == 0 && info->mode == MODE_GETNEXT))
				lo = mid + 1;
			else
				hi = mid;
		}
		const bool inside = lo < n_instances &&
			snmp_oidtree_compare(instances[lo].name, instances[lo].len, reg->rootoid,
				reg->rootoid_len) == 0;
		if (info->mode == MODE_GET) {
			if (inside &&
				snmp_oid_compare(instances[lo].name, instances[lo].len, vb->name,
					vb->name_length) == 0)
				answer(q, &instances[lo]);
			else
				netsnmp_set_request_error(info, q, SNMP_NOSUCHINSTANCE);
		} else if (info->mode == MODE_GETNEXT && inside) {
			answer(q, &instances[lo]);
		}
	}
	return SNMP_ERR_NOERROR;
}

static void register_tree(const char *name, const char *root)
{
	oid o[MAX_OID_LEN];
	size_t n = MAX_OID_LEN;
	if (!read_objid(root, o, &n))
		errx(1, "bad OID %s", root);
	netsnmp_handler_registration *reg =
		netsnmp_create_handler_registration(name, handle, o, n, HANDLER_CAN_RONLY);
	if (!reg || netsnmp_register_handler(reg) != MIB_REGISTERED_OK)
		errx(1, "cannot register %s (%s)", name, root);
}

static struct port *port_find(const char *name)
{
	for (size_t i = 0; i < n_ports; i++)
		if (strcmp(ports[i].name, name) == 0)
			return &ports[i];
	return NULL;
}

static struct port *port_add(const char *name, unsigned ifindex)
{
	if (n_ports == PORTS_MAX)
		errx(1, "more than %d ports", PORTS_MAX);
	struct port *p = &ports[n_ports++];
	snprintf(p->name, sizeof(p->name), "%s", name);
	p->ifindex = ifindex;
	return p;
}

/* Rows for ports that were not named are skipped: one file may serve several switches. */
static void samples_read(const char *path, bool first)
{
	FILE *f = fopen(path, "r");
	if (!f)
		err(1, "%s", path);
	char line[512];
	for (int n = 1; fgets(line, sizeof(line), f); n++) {
		char name[64], prio[8], metric[64];
		uint64_t v;
		if (line[0] == '#' || line[0] == '\n')
			continue;
		if (sscanf(line, "%63s %7s %63s %" SCNu64, name, prio, metric, &v) != 4)
			errx(1, "%s:%d: expected: port priority metric value", path, n);
		const int q = strcmp(prio, "-") == 0 ? 0 : atoi(prio);
		struct port *p = port_find(name);
		int which = 0;
		while (which < V_COUNT && strcmp(value_names[which], metric) != 0)
			which++;
		if (which == V_COUNT || q < 0 || q >= PRIOS)
			errx(1, "%s:%d: no such metric or priority: %s %s", path, n, metric, prio);
		if (!p)
			continue;
		p->v[q][which] = v;
		if (first)
			have[which] = true;
	}
	fclose(f);
}

/* Quanta are 512 bit times: pause time would need the speed, so only frames are counted here. IEEE
 * 802.1Q, annex on PFC. */
static void frames_read(int fd, void *unused)
{
	(void)unused;
	for (;;) {
		unsigned char b[64];
		struct sockaddr_ll from;
		socklen_t n_from = sizeof(from);
		const ssize_t n =
			recvfrom(fd, b, sizeof(b), MSG_DONTWAIT, (struct sockaddr *)&from, &n_from);
		if (n < 0)
			return;
		if (n < 18 || b[12] != 0x88 || b[13] != 0x08 || b[14] != 0x01 || b[15] != 0x01)
			continue;
		for (size_t i = 0; i < n_ports; i++)
			if (ports[i].ifindex == (unsigned)from.sll_ifindex)
				for (int q = 0; q < PRIOS; q++)
					if (b[17] & (1 << q))
						ports[i].v[q][from.sll_pkttype == PACKET_OUTGOING
								? V_TX_FRAMES
								: V_RX_FRAMES]++;
	}
}

static volatile sig_atomic_t stop;
static void on_signal(int s)
{
	(void)s;
	stop = 1;
}
static void on_alarm(unsigned reg, void *arg)
{
	(void)reg;
	(void)arg;
}

int main(int argc, char **argv)
{
	const char *agentx = NULL, *samples = NULL;
	bool frames = false;
	for (int c; (c = getopt(argc, argv, "x:s:i:p:f:c:")) != -1;) {
		char *eq;
		switch (c) {
		case 'x': agentx = optarg; break;
		case 's': samples = optarg; break;
		case 'c': cell_bytes = (unsigned)atoi(optarg); break;
		case 'i':
			if (!if_nametoindex(optarg))
				err(1, "%s", optarg);
			port_add(optarg, if_nametoindex(optarg));
			frames = true;
			break;
		case 'p':
			eq = strchr(optarg, '=');
			if (!eq)
				errx(1, "-p NAME=IFINDEX");
			*eq = '\0';
			port_add(optarg, (unsigned)strtoul(eq + 1, NULL, 10));
			break;
		case 'f':
			faces = (strstr(optarg, "cisco") ? FACE_CISCO : 0) |
				(strstr(optarg, "arista") ? FACE_ARISTA : 0) |
				(strstr(optarg, "cumulus") ? FACE_CUMULUS : 0);
			break;
		default: return 2;
		}
	}
	if (!agentx || !n_ports || !faces || !cell_bytes)
		errx(2,
			"usage: switch_tables -x AGENTX-SOCKET {-i IFACE | -p NAME=IFINDEX}... [-s "
			"SAMPLES] [-f cisco,arista,cumulus] [-c CELL]");
	struct stat seen = {0};
	if (samples) {
		stat(samples, &seen);
		samples_read(samples, true);
	}
	setenv("MIBS", "", 1);
	netsnmp_ds_set_boolean(NETSNMP_DS_LIBRARY_ID, NETSNMP_DS_LIB_DONT_READ_CONFIGS, 1);
	netsnmp_ds_set_boolean(NETSNMP_DS_LIBRARY_ID, NETSNMP_DS_LIB_DONT_PERSIST_STATE, 1);
	snmp_enable_stderrlog();
	netsnmp_ds_set_boolean(NETSNMP_DS_APPLICATION_ID, NETSNMP_DS_AGENT_ROLE, 1);
	netsnmp_ds_set_string(NETSNMP_DS_APPLICATION_ID, NETSNMP_DS_AGENT_X_SOCKET, agentx);
	netsnmp_ds_set_int(NETSNMP_DS_APPLICATION_ID, NETSNMP_DS_AGENT_AGENTX_PING_INTERVAL, 1);
	if (init_agent("switch_tables"))
		errx(1, "cannot start the subagent");
	if (frames) {
		have[V_TX_FRAMES] = have[V_RX_FRAMES] = true;
		/* ETH_P_ALL: only that sees frames that leave */
		const int fd = socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL));
		/* a burst of pauses must not be lost before the loop gets here */
		const int room = 8 << 20;
		if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof(room)))
			err(1, "packet socket");
		register_readfd(fd, frames_read, NULL);
	}
	instances_build();
	init_snmp("switch_tables");
	if (faces & FACE_CISCO) {
		register_tree("ciscoPfcExt", CISCO_PFC);
		register_tree("ciscoSwitchQos", CISCO_QOS);
	}
	if (faces & FACE_ARISTA)
		register_tree("arista", ARISTA);
	if (faces & FACE_CUMULUS)
		register_tree("cumulus", CUMULUS);
	signal(SIGTERM, on_signal);
	signal(SIGINT, on_signal);
	printf("serving %zu instances of %zu ports\n", n_instances, n_ports);
	fflush(stdout);
	/* wakes agent_check_and_process() so that a changed file is seen */
	snmp_alarm_register(1, SA_REPEAT, on_alarm, NULL);
	while (!stop) {
		agent_check_and_process(1);
		struct stat now;
		if (samples && stat(samples, &now) == 0 &&
			(now.st_mtim.tv_nsec != seen.st_mtim.tv_nsec ||
				now.st_ino != seen.st_ino)) {
			seen = now;
			samples_read(samples, false);
		}
	}
	snmp_shutdown("switch_tables");
	return 0;
}
