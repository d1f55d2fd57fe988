/*
 * live_gnmi_sonic - SONiC's telemetry server, see live_gnmi.h: tables of its databases as JSON
 * whose values are all strings, and the virtual paths of its counters, keyed by alias. Counter
 * map 2.2; as after 'counterpoll wredqueue enable', without which nobody counts ECN marks.
 */
#include "tests/fabric/live_gnmi.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "tests/fabric/live_tables.h"

/* A table as it is written: entries, and the fields of one. A request may name one entry, or one
 * field of it. */
struct table {
	struct str b;
	const char *entry, *field; /* wanted; NULL: all */
	bool open, any, any_field;
	char value[LIVE_TEXT * 2]; /* of the one field that is asked for */
	bool has_value;
};

static void entry_begin(struct table *t, const char *name)
{
	t->open = !t->entry || str_glob(t->entry, name);
	if (!t->open)
		return;
	str_addf(&t->b, "%s\"%s\":{", t->any ? "," : "", name);
	t->any = true;
	t->any_field = false;
}
static void entry_end(struct table *t)
{
	if (t->open)
		str_add(&t->b, "}");
	t->open = false;
}

static void __attribute__((format(printf, 3, 4)))
field(struct table *t, const char *name, const char *fmt, ...)
{
	char text[LIVE_TEXT * 2];
	va_list ap;
	if (!t->open || (t->field && strcmp(t->field, name) != 0))
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	str_addf(&t->b, "%s\"%s\":\"%s\"", t->any_field ? "," : "", name, text);
	t->any_field = true;
	snprintf(t->value, sizeof(t->value), "%s", text);
	t->has_value = true;
}

static bool has(const struct live_port *p, enum live_setting which, unsigned q)
{
	return p->has[which] >> q & 1;
}

/* ---- CONFIG_DB ----------------------------------------------------------- */

static void port_table(const struct live_switch *s, struct table *t)
{
	for (size_t i = 0; i < s->n_ports; i++) {
		const struct live_port *p = &s->ports[i];
		entry_begin(t, p->native);
		field(t, "alias", "%s", p->name);
		field(t, "speed", "%" PRIu64, p->v[V_SPEED][0] / 1000000);
		field(t, "mtu", "%" PRIu64, p->v[V_MTU][0]);
		field(t, "description", "%s", p->peer);
		field(t, "admin_status", "up");
		entry_end(t);
	}
}

static void port_qos_map(const struct live_switch *s, struct table *t)
{
	for (size_t i = 0; i < s->n_ports; i++) {
		const struct live_port *p = &s->ports[i];
		char list[2 * LIVE_PRIORITIES + 1] = "";
		for (unsigned q = 0; q < LIVE_PRIORITIES; q++)
			if (has(p, S_PFC_ENABLED, q) && p->s[S_PFC_ENABLED][q] > 0)
				snprintf(list + strlen(list), sizeof(list) - strlen(list), "%s%u",
					*list ? "," : "", q);
		entry_begin(t, p->native);
		field(t, "pfc_enable", "%s", list);
		entry_end(t);
	}
}

static void wred_name(char buf[32], int set)
{
	snprintf(buf, 32, set ? "AZURE_LOSSLESS_%d" : "AZURE_LOSSLESS", set + 1);
}

static void buffer_name(char buf[64], const struct live_port *p, int set)
{
	snprintf(buf, 64, "pg_lossless_%" PRIu64 "_%.0fm_%d_profile", p->v[V_SPEED][0] / 1000000,
		p->s[S_CABLE][0], set);
}

/* @write for each set once, at the first place that has it */
static void sets(const struct live_switch *s, struct table *t,
	int (*of)(const struct live_switch *s, size_t port, unsigned q),
	void (*write)(struct table *t, const struct live_port *p, unsigned q, int set))
{
	int told = 0;
	for (size_t i = 0; i < s->n_ports; i++)
		for (unsigned q = 0; q < LIVE_PRIORITIES; q++)
			if (of(s, i, q) == told)
				write(t, &s->ports[i], q, told++);
}

static void wred_write(struct table *t, const struct live_port *p, unsigned q, int set)
{
	char name[32];
	wred_name(name, set);
	entry_begin(t, name);
	field(t, "ecn", "%s", p->s[S_ECN_ENABLED][q] > 0 ? "ecn_all" : "ecn_none");
	field(t, "wred_green_enable", "true");
	field(t, "green_min_threshold", "%.0f", p->s[S_KMIN][q]);
	field(t, "green_max_threshold", "%.0f", p->s[S_KMAX][q]);
	field(t, "green_drop_probability", "%.0f", 100 * p->s[S_PMAX][q]);
	entry_end(t);
}
static void wred_profile(const struct live_switch *s, struct table *t)
{
	sets(s, t, live_wred_of, wred_write);
}

static void buffer_write(struct table *t, const struct live_port *p, unsigned q, int set)
{
	char name[64];
	buffer_name(name, p, set);
	entry_begin(t, name);
	field(t, "pool", "ingress_lossless_pool");
	field(t, "xoff", "%.0f", p->s[S_HEADROOM][q]);
	field(t, "xon_offset", "%.0f", p->s[S_XON_OFFSET][q]);
	field(t, "dynamic_th", "%.0f", p->s[S_ALPHA_EXP][q]); /* a whole number there */
	entry_end(t);
}
static void buffer_profile(const struct live_switch *s, struct table *t)
{
	sets(s, t, live_buffer_of, buffer_write);
}

/* The first place that has this set: it names the profile. */
static const struct live_port *first_with(const struct live_switch *s, int set)
{
	for (size_t i = 0; i < s->n_ports; i++)
		for (unsigned q = 0; q < LIVE_PRIORITIES; q++)
			if (live_buffer_of(s, i, q) == set)
				return &s->ports[i];
	return s->ports;
}

static void queue_table(const struct live_switch *s, struct table *t)
{
	char key[LIVE_TEXT + 8], name[32];
	for (size_t i = 0; i < s->n_ports; i++)
		for (unsigned q = 0; q < LIVE_PRIORITIES; q++) {
			const int set = live_wred_of(s, i, q);
			if (set < 0)
				continue;
			wred_name(name, set);
			snprintf(key, sizeof(key), "%s|%u", s->ports[i].native, q);
			entry_begin(t, key);
			field(t, "wred_profile", "%s", name);
			entry_end(t);
		}
}

static void buffer_pg(const struct live_switch *s, struct table *t)
{
	char key[LIVE_TEXT + 8], name[64];
	for (size_t i = 0; i < s->n_ports; i++)
		for (unsigned q = 0; q < LIVE_PRIORITIES; q++) {
			const int set = live_buffer_of(s, i, q);
			if (set < 0)
				continue;
			buffer_name(name, first_with(s, set), set);
			snprintf(key, sizeof(key), "%s|%u", s->ports[i].native, q);
			entry_begin(t, key);
			field(t, "profile", "%s", name);
			entry_end(t);
		}
}

static void buffer_pool(const struct live_switch *s, struct table *t)
{
	entry_begin(t, "ingress_lossless_pool");
	field(t, "mode", "dynamic");
	field(t, "type", "ingress");
	field(t, "size", "%" PRIu64, s->pool_bytes);
	entry_end(t);
}

static void cable_length(const struct live_switch *s, struct table *t)
{
	entry_begin(t, "AZURE");
	for (size_t i = 0; i < s->n_ports; i++)
		if (has(&s->ports[i], S_CABLE, 0))
			field(t, s->ports[i].native, "%gm", s->ports[i].s[S_CABLE][0]);
	entry_end(t);
}

static void pfc_wd(const struct live_switch *s, struct table *t)
{
	for (size_t i = 0; i < s->n_ports; i++) {
		const struct live_port *p = &s->ports[i];
		if (!has(p, S_WATCHDOG_DETECT, 0))
			continue;
		entry_begin(t, p->native);
		field(t, "action", "drop");
		field(t, "detection_time", "%.0f", p->s[S_WATCHDOG_DETECT][0]);
		field(t, "restoration_time", "%.0f", p->s[S_WATCHDOG_RESTORE][0]);
		entry_end(t);
	}
}

static void device_metadata(const struct live_switch *s, struct table *t)
{
	entry_begin(t, "localhost");
	field(t, "hostname", "%s", s->name);
	field(t, "mac", "%02x:%02x:%02x:%02x:%02x:%02x", s->ports[0].mac[0], s->ports[0].mac[1],
		s->ports[0].mac[2], s->ports[0].mac[3], s->ports[0].mac[4], s->ports[0].mac[5]);
	entry_end(t);
}

/* ---- APPL_DB, STATE_DB --------------------------------------------------- */

static void state_table(const struct live_switch *s, struct table *t)
{
	for (size_t i = 0; i < s->n_ports; i++) {
		entry_begin(t, s->ports[i].native);
		field(t, "oper_status", "%s", s->ports[i].v[V_UP][0] ? "up" : "down");
		field(t, "admin_status", "up");
		entry_end(t);
	}
}

static void lldp_table(const struct live_switch *s, struct table *t)
{
	for (size_t i = 0; i < s->n_ports; i++) {
		const struct live_port *p = &s->ports[i];
		const uint8_t *m = p->peer_mac;
		entry_begin(t, p->native);
		field(t, "lldp_rem_chassis_id_subtype", "4"); /* macAddress */
		field(t, "lldp_rem_chassis_id", "%02x:%02x:%02x:%02x:%02x:%02x", m[0], m[1], m[2],
			m[3], m[4], m[5]);
		field(t, "lldp_rem_port_id_subtype", "5"); /* interfaceName */
		field(t, "lldp_rem_port_id", "%s", p->peer_port);
		field(t, "lldp_rem_port_desc", "%s", p->peer_port);
		field(t, "lldp_rem_sys_name", "%s", p->peer);
		entry_end(t);
	}
}

/* One lane of each transceiver: the simulation knows no more. */
static void optics_table(const struct live_switch *s, struct table *t)
{
	for (size_t i = 0; i < s->n_ports; i++) {
		const struct live_port *p = &s->ports[i];
		if (!has(p, S_RX_POWER, 0))
			continue;
		entry_begin(t, p->native);
		field(t, "temperature", "%.2f", p->s[S_TEMPERATURE][0]);
		field(t, "rx1power", "%.2f", p->s[S_RX_POWER][0]);
		field(t, "tx1power", "%.2f", p->s[S_TX_POWER][0]);
		entry_end(t);
	}
}

/* ---- COUNTERS_DB --------------------------------------------------------- */

static const struct {
	const char *name;
	enum live_value from;
} port_fields[] = {
	{"SAI_PORT_STAT_IF_IN_OCTETS", V_IN_OCTETS},
	{"SAI_PORT_STAT_IF_OUT_OCTETS", V_OUT_OCTETS},
	{"SAI_PORT_STAT_IF_IN_UCAST_PKTS", V_IN_PACKETS},
	{"SAI_PORT_STAT_IF_OUT_UCAST_PKTS", V_OUT_PACKETS},
	{"SAI_PORT_STAT_IF_IN_ERRORS", V_IN_ERRORS},
	{"SAI_PORT_STAT_IF_OUT_ERRORS", V_OUT_ERRORS},
	{"SAI_PORT_STAT_IF_IN_DISCARDS", V_IN_DISCARDS},
	{"SAI_PORT_STAT_IF_OUT_DISCARDS", V_OUT_DISCARDS},
	{"SAI_PORT_STAT_DOT3_STATS_FCS_ERRORS", V_FCS},
	{"SAI_PORT_STAT_DOT3_STATS_SYMBOL_ERRORS", V_SYMBOLS},
	{"SAI_PORT_STAT_IF_IN_FEC_CORRECTABLE_FRAMES", V_FEC},
	{"SAI_PORT_STAT_IF_IN_FEC_NOT_CORRECTABLE_FRAMES", V_FEC_BAD},
	{"SAI_PORT_STAT_PAUSE_RX_PKTS", V_IN_PAUSE},
	{"SAI_PORT_STAT_PAUSE_TX_PKTS", V_OUT_PAUSE},
};
static const struct {
	const char *name;
	enum live_value from;
} queue_fields[] = {
	{"SAI_QUEUE_STAT_BYTES", V_QUEUE_OCTETS},
	{"SAI_QUEUE_STAT_PACKETS", V_QUEUE_PACKETS},
	{"SAI_QUEUE_STAT_DROPPED_PACKETS", V_QUEUE_DROPS},
	{"SAI_QUEUE_STAT_WRED_ECN_MARKED_PACKETS", V_MARKED},
	{"SAI_QUEUE_STAT_WRED_DROPPED_PACKETS", V_WRED_DROPS},
	{"PFC_WD_QUEUE_STATS_DEADLOCK_DETECTED", V_STORMS},
	{"PFC_WD_QUEUE_STATS_DEADLOCK_RESTORED", V_RESTORES},
	{"PFC_WD_QUEUE_STATS_TX_DROPPED_PACKETS", V_STORM_DROPS},
};

static void counters_table(const struct live_switch *s, struct table *t)
{
	char name[64];
	for (size_t i = 0; i < s->n_ports; i++) {
		const struct live_port *p = &s->ports[i];
		entry_begin(t, p->name);
		for (size_t k = 0; k < rw_countof(port_fields); k++)
			if (s->known[port_fields[k].from])
				field(t, port_fields[k].name, "%" PRIu64,
					p->v[port_fields[k].from][0]);
		field(t, "SAI_PORT_STAT_IF_IN_NON_UCAST_PKTS", "0");
		field(t, "SAI_PORT_STAT_IF_OUT_NON_UCAST_PKTS", "0");
		for (unsigned q = 0; q < LIVE_PRIORITIES; q++) {
			const struct {
				const char *name;
				enum live_value from;
				uint64_t divide;
			} rows[] = {{"SAI_PORT_STAT_PFC_%u_RX_PKTS", V_RX_FRAMES, 1},
				{"SAI_PORT_STAT_PFC_%u_TX_PKTS", V_TX_FRAMES, 1},
				{"SAI_PORT_STAT_PFC_%u_RX_PAUSE_DURATION_US", V_RX_PAUSE_NS, 1000}};
			for (size_t k = 0; k < rw_countof(rows); k++) {
				if (!(s->known[rows[k].from] >> q & 1))
					continue;
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
				snprintf(name, sizeof(name), rows[k].name, q);
#pragma GCC diagnostic pop
				field(t, name, "%" PRIu64, p->v[rows[k].from][q] / rows[k].divide);
			}
		}
		entry_end(t);
	}
}

static void queues_table(const struct live_switch *s, struct table *t)
{
	char key[LIVE_TEXT + 16];
	for (size_t i = 0; i < s->n_ports; i++)
		for (unsigned q = 0; q < LIVE_PRIORITIES; q++) {
			const struct live_port *p = &s->ports[i];
			if (!(s->known[V_QUEUE_OCTETS] >> q & 1))
				continue;
			snprintf(key, sizeof(key), "%s:%u", p->name, q);
			entry_begin(t, key);
			for (size_t k = 0; k < rw_countof(queue_fields); k++)
				if (s->known[queue_fields[k].from] >> q & 1)
					field(t, queue_fields[k].name, "%" PRIu64,
						p->v[queue_fields[k].from][q]);
			entry_end(t);
			if (!(s->known[V_QUEUE_PEAK] >> q & 1))
				continue;
			snprintf(key, sizeof(key), "%s:%u:periodic", p->name, q);
			entry_begin(t, key);
			field(t, "SAI_QUEUE_STAT_SHARED_WATERMARK_BYTES", "%" PRIu64,
				p->v[V_QUEUE_PEAK][q]);
			entry_end(t);
		}
}

static void groups_table(const struct live_switch *s, struct table *t)
{
	char key[LIVE_TEXT + 16];
	for (size_t i = 0; i < s->n_ports; i++)
		for (unsigned q = 0; q < LIVE_PRIORITIES; q++) {
			const struct live_port *p = &s->ports[i];
			if (!(s->known[V_SHARED_PEAK] >> q & 1))
				continue;
			snprintf(key, sizeof(key), "%s:%u", p->name, q);
			entry_begin(t, key);
			field(t, "SAI_INGRESS_PRIORITY_GROUP_STAT_SHARED_WATERMARK_BYTES",
				"%" PRIu64, p->v[V_SHARED_PEAK][q]);
			field(t, "SAI_INGRESS_PRIORITY_GROUP_STAT_XOFF_ROOM_WATERMARK_BYTES",
				"%" PRIu64, p->v[V_HEADROOM_PEAK][q]);
			entry_end(t);
		}
}

static void rates_table(const struct live_switch *s, struct table *t)
{
	for (size_t i = 0; i < s->n_ports; i++) {
		if (!has(&s->ports[i], S_BER, 0))
			continue;
		entry_begin(t, s->ports[i].name);
		field(t, "FEC_PRE_BER", "%.2e", s->ports[i].s[S_BER][0]);
		entry_end(t);
	}
}

/* ---- requests ------------------------------------------------------------ */

static const struct {
	const char *target, *path; /* of a virtual path: as it is asked for */
	void (*write)(const struct live_switch *s, struct table *t);
} tables[] = {
	{"CONFIG_DB", "/PORT", port_table},
	{"CONFIG_DB", "/PORT_QOS_MAP", port_qos_map},
	{"CONFIG_DB", "/WRED_PROFILE", wred_profile},
	{"CONFIG_DB", "/QUEUE", queue_table},
	{"CONFIG_DB", "/BUFFER_PROFILE", buffer_profile},
	{"CONFIG_DB", "/BUFFER_PG", buffer_pg},
	{"CONFIG_DB", "/BUFFER_POOL", buffer_pool},
	{"CONFIG_DB", "/CABLE_LENGTH", cable_length},
	{"CONFIG_DB", "/PFC_WD", pfc_wd},
	{"CONFIG_DB", "/DEVICE_METADATA", device_metadata},
	{"APPL_DB", "/PORT_TABLE", state_table},
	{"APPL_DB", "/LLDP_ENTRY_TABLE", lldp_table},
	{"STATE_DB", "/TRANSCEIVER_DOM_SENSOR", optics_table},
	{"COUNTERS_DB", "/COUNTERS/Ethernet*", counters_table},
	{"COUNTERS_DB", "/COUNTERS/Ethernet*/Queues", queues_table},
	{"COUNTERS_DB", "/PERIODIC_WATERMARKS/Ethernet*/PriorityGroups", groups_table},
	{"COUNTERS_DB", "/RATES/Ethernet*", rates_table},
};

/* What follows the table: "" | /ENTRY | /ENTRY/FIELD; of a virtual path "" | /FIELD. False: not of
 * this table. */
static bool read_rest(const char *rest, bool is_virtual, char parts[2][128], struct table *t)
{
	unsigned n = 0;
	while (*rest == '/' && n < 2) {
		const size_t length = strcspn(++rest, "/");
		snprintf(parts[n++], 128, "%.*s", (int)length, rest);
		rest += length;
	}
	if (*rest || (is_virtual && n > 1))
		return false;
	t->entry = !is_virtual && n > 0 ? parts[0] : NULL;
	t->field = is_virtual ? (n > 0 ? parts[0] : NULL) : n > 1 ? parts[1] : NULL;
	return true;
}

static int sonic_values(const struct live_switch *s, const char *target, const char *path,
	gnmi_server_emit_fn *emit, void *ctx)
{
	char parts[2][128];
	size_t best = rw_countof(tables), longest = 0;
	for (size_t i = 0; i < rw_countof(tables); i++) {
		const size_t n = strlen(tables[i].path);
		if (strcmp(tables[i].target, target) == 0 && n > longest &&
			strncmp(tables[i].path, path, n) == 0 &&
			(path[n] == '\0' || path[n] == '/')) {
			best = i;
			longest = n;
		}
	}
	rw_cleanup(str_done) struct str whole = {0};
	struct table t = {0};
	if (best == rw_countof(tables) ||
		!read_rest(path + longest, strchr(tables[best].path, '*') != NULL, parts, &t))
		return -ENOENT;
	tables[best].write(s, &t);
	whole = t.b;
	if (t.entry && !t.any)
		return -ENOENT; /* no such entry */
	if (t.entry && t.field) {
		if (!t.has_value)
			return -ENOENT;
		emit(ctx, &(struct speak_value){path, SPEAK_STRING, t.value});
		return 1;
	}
	rw_cleanup(str_done) struct str text = {0};
	if (t.entry) /* the fields alone */
		str_add(&text, whole.s + strcspn(whole.s, "{"));
	else
		str_addf(&text, "{%s}", whole.n ? whole.s : "");
	emit(ctx, &(struct speak_value){path, SPEAK_JSON_IETF, text.s});
	return 1;
}

static const unsigned encodings[] = {4, 0, 2}; /* JSON_IETF, JSON, PROTO: 2.2.4 */
static const char *const models[] = {"openconfig-interfaces", "sonic-port", "sonic-db"};
const struct live_gnmi_face live_gnmi_sonic = {.port = 8080,
	.sonic = true,
	.models = models,
	.n_models = rw_countof(models),
	.encodings = encodings,
	.n_encodings = rw_countof(encodings),
	.values = sonic_values};
