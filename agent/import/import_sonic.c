/* import_sonic - reads config_db.json (see the header). */
#include "agent/import/import_internal.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "config/profile/profile.h"
#include "config/profile/profile_tune.h"

#define DEVICES_MAX 4096
#define PORTS_MAX 1024
#define BYTES_MAX ((int64_t)1 << 40)
#define BARE_MAX 63 /* names of devices, as the configuration takes them */

struct reading {
	struct import_set *set;
	struct import_device *device;
	const json_t *root;
	const char *text, *file;
	struct err_list *errors, *warnings;
	size_t n_before;
};

/* ---- places -------------------------------------------------------------- */

/* line_of - where "table" and behind it "key" stand in the text; 0 unknown. jansson keeps no places
 * of values. */
static int line_of(const struct reading *reading, const char *table, const char *key)
{
	char quoted[300];
	const char *at;
	snprintf(quoted, sizeof(quoted), "\"%.256s\"", table);
	at = strstr(reading->text, quoted);
	if (at && key) {
		snprintf(quoted, sizeof(quoted), "\"%.256s\"", key);
		at = strstr(at + strlen(table), quoted);
	}
	int line = 0;
	if (at)
		line = 1;
	for (const char *p = reading->text; at && p < at; p++)
		line += *p == '\n';
	return line;
}

static void import_sonic_tell(const struct reading *reading, struct err_list *to, const char *table,
	const char *key, const char *fmt, ...) __attribute__((format(printf, 5, 6)));
static void import_sonic_tell(const struct reading *reading, struct err_list *to, const char *table,
	const char *key, const char *fmt, ...)
{
	struct err e = {0};
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	err_at(&e, -EINVAL, reading->file, line_of(reading, table, key), 0, "%s%s%.120s: %s", table,
		str_if(key, "|"), str_or(key, ""), text);
	err_list_add(to, &e);
}
#define wrong(r, table, key, ...) import_sonic_tell((r), (r)->errors, (table), (key), __VA_ARGS__)
#define warn(r, table, key, ...) import_sonic_tell((r), (r)->warnings, (table), (key), __VA_ARGS__)

/* ---- values -------------------------------------------------------------- */

static const json_t *table_of(struct reading *reading, const char *name)
{
	const json_t *t = json_object_get(reading->root, name);
	if (t && !json_is_object(t)) {
		wrong(reading, name, NULL, "expected an object of rows");
		return NULL;
	}
	return t;
}

static const json_t *import_sonic_row_of(
	struct reading *reading, const char *table, const char *key)
{
	const json_t *row = json_object_get(table_of(reading, table), key);
	if (row && !json_is_object(row)) {
		wrong(reading, table, key, "expected an object of fields");
		return NULL;
	}
	return row;
}

/* import_sonic_field - its text, or NULL; numbers are taken as such. What is neither is reported.
 */
static const char *import_sonic_field(struct reading *reading, const char *table, const char *key,
	const json_t *row, const char *name)
{
	const json_t *v = json_object_get(row, name);
	if (!v || json_is_string(v)) {
		if (v)
			return json_string_value(v);
		return NULL;
	}
	if (json_is_integer(v))
		return arena_printf(
			reading->set->arena, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
	wrong(reading, table, key, "%s: expected text or a whole number", name);
	return NULL;
}

static bool import_sonic_whole(struct reading *reading, const char *table, const char *key,
	const json_t *row, const char *name, int64_t min, int64_t max, int64_t *ret)
{
	const char *text = import_sonic_field(reading, table, key, row, name);
	if (!text)
		return false;
	if (unit_int(text, ret, NULL) < 0 || *ret < min || *ret > max) {
		wrong(reading, table, key,
			"%s: read '%.40s', expected a whole number from %" PRId64 " to %" PRId64,
			name, text, min, max);
		return false;
	}
	return true;
}

/* import_sonic_reference - the name of a row in another table: "X", or "[TABLE|X]" as older
 * releases write it.
 */
static const char *import_sonic_reference(struct reading *reading, const char *text)
{
	const char *bar = NULL;
	if (text)
		bar = strrchr(text, '|');
	size_t n = 0;
	if (text)
		n = strlen(text);
	if (text && text[0] == '[' && bar && n > 2 && text[n - 1] == ']')
		return arena_strndup(
			reading->set->arena, bar + 1, n - 1 - (size_t)(bar + 1 - text));
	return text;
}

/* import_sonic_priorities - "3,4" or "3-4" as bits; 0 and an error when it is neither. */
static unsigned import_sonic_priorities(
	struct reading *reading, const char *table, const char *key, const char *text)
{
	unsigned mask = 0;
	const char *p = text;
	for (;;) {
		int lo = *p - '0', hi = lo;
		bool ok = lo >= 0 && lo <= 7;
		if (ok && p[1] == '-') {
			p += 2;
			hi = *p - '0';
			ok = hi >= lo && hi <= 7;
		}
		if (!ok || (p[1] && p[1] != ',')) {
			wrong(reading, table, key,
				"read '%.40s', expected priorities 0 to 7 such as 3,4 or 3-4",
				text);
			return 0;
		}
		for (int i = lo; i <= hi; i++)
			mask |= 1u << i;
		if (!p[1])
			return mask;
		p += 2;
	}
}

/* import_sonic_plain - a name as our configuration takes it. */
static bool import_sonic_plain(const char *text, bool device)
{
	size_t n = 0;
	for (; text[n]; n++)
		if ((unsigned char)text[n] <= 0x20 || text[n] == 0x7f || text[n] == '"' ||
			text[n] == '\\' ||
			(device &&
				!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ012345"
					"6789._-",
					text[n])))
			return false;
	return n > 0 && n <= (device ? BARE_MAX : 200) && !(device && strcmp(text, "host") == 0);
}

/* address_of - an IPv4 address out of "192.0.2.1/24", or an IPv6 one in brackets; "" when it is
 * neither. */
static const char *address_of(struct arena *a, const char *text)
{
	const char *bare = arena_strndup(a, text, strcspn(text, "/"));
	struct in6_addr to;
	if (inet_pton(AF_INET, bare, &to) == 1)
		return bare;
	if (inet_pton(AF_INET6, bare, &to) == 1)
		return arena_printf(a, "[%s]", bare);
	return "";
}

/* ---- devices and ports --------------------------------------------------- */

struct import_device *import_device(struct import_set *set, const char *name)
{
	for (size_t i = 0; i < set->n_devices; i++)
		if (strcmp(set->devices[i]->name, name) == 0)
			return set->devices[i];
	struct import_device *d = arena_new_of(set->arena, struct import_device);
	*d = (struct import_device){
		.name = arena_strdup(set->arena, name), .type = "", .address = "", .sku = ""};
	rw_grow(set->devices, set->n_devices, set->cap_devices);
	set->devices[set->n_devices++] = d;
	return d;
}

struct import_port *import_port(
	struct import_set *set, struct import_device *device, const char *name, bool make)
{
	for (size_t i = 0; i < device->n_ports; i++)
		if (strcmp(device->ports[i].name, name) == 0)
			return &device->ports[i];
	if (!make || device->n_ports == PORTS_MAX)
		return NULL;
	rw_grow(device->ports, device->n_ports, device->cap_ports);
	struct import_port *p = &device->ports[device->n_ports++];
	*p = (struct import_port){.name = arena_strdup(set->arena, name), .alias = ""};
	for (size_t i = 0; i < IMPORT_PRIORITIES; i++)
		p->rows[i] = (struct import_row){.pmax = NAN, .alpha = NAN};
	return p;
}

static struct import_port *import_sonic_port_at(
	struct reading *reading, const char *table, const char *key, const char *name)
{
	struct import_port *p = NULL;
	if (import_sonic_plain(name, false))
		p = import_port(reading->set, reading->device, name, true);
	if (!p)
		wrong(reading, table, key,
			import_sonic_plain(name, false) ? "more than 1024 ports"
							: "'%.40s' is no name of a port",
			name);
	return p;
}

static bool device_read(struct reading *reading)
{
	static const char table[] = "DEVICE_METADATA", key[] = "localhost";
	const json_t *row = import_sonic_row_of(reading, table, key),
		     *interfaces = table_of(reading, "MGMT_INTERFACE"), *v;
	const char *name = import_sonic_field(reading, table, key, row, "hostname"),
		   *type = import_sonic_field(reading, table, key, row, "type"),
		   *sku = import_sonic_field(reading, table, key, row, "hwsku"), *at;
	if (!name || !import_sonic_plain(name, true)) {
		wrong(reading, table, key,
			name ? "hostname: read '%.80s', expected letters, digits and . _ - (at "
			       "most 63)"
			     : "hostname is missing; this is the name the device gets",
			name);
		return false;
	}
	if (reading->set->n_devices >= DEVICES_MAX) {
		wrong(reading, table, key, "more than %d devices", DEVICES_MAX);
		return false;
	}
	reading->device = import_device(reading->set, name);
	if (reading->device->own) {
		wrong(reading, table, key, "hostname: '%s' was in another file already", name);
		return false;
	}
	reading->device->own = true;
	reading->device->host = false;
	reading->device->type = arena_strdup(reading->set->arena, str_or(type, ""));
	reading->device->sku = arena_strdup(reading->set->arena, str_or(sku, ""));
	json_object_foreach ((json_t *)interfaces, at, v) { /* "eth0|192.0.2.1/24" */
		const char *bar = strchr(at, '|');
		const char *address = "";
		if (bar)
			address = address_of(reading->set->arena, bar + 1);
		/* IPv4 where there are both */
		if (*address &&
			(!*reading->device->address || strchr(reading->device->address, ':')))
			reading->device->address = address;
	}
	const struct tune_asic *asic = NULL;
	if (reading->set->profiles)
		asic = profiles_asic(reading->set->profiles, reading->device->sku);
	if (asic)
		reading->device->cell_bytes = (uint64_t)asic->cell_bytes;
	else
		reading->device->cell_bytes = 0;
	return true;
}

static void ports_read(struct reading *reading)
{
	const char *key;
	json_t *row;
	int64_t mbps;
	json_object_foreach ((json_t *)table_of(reading, "PORT"), key, row) {
		struct import_port *p = NULL;
		if (json_is_object(row))
			p = import_sonic_port_at(reading, "PORT", key, key);
		if (!p) {
			if (!json_is_object(row))
				wrong(reading, "PORT", key, "expected an object of fields");
			continue;
		}
		const char *alias = import_sonic_field(reading, "PORT", key, row, "alias");
		p->alias = arena_strdup(reading->set->arena, str_or(alias, ""));
		if (import_sonic_whole(reading, "PORT", key, row, "speed", 1, 10000000, &mbps))
			p->speed_bps = (uint64_t)mbps * 1000000;
	}
}

static void cables_read(struct reading *reading)
{
	static const char table[] = "CABLE_LENGTH";
	const char *name, *port;
	json_t *row, *v;
	json_object_foreach ((json_t *)table_of(reading, table), name, row) {
		json_object_foreach (row, port, v) {
			uint64_t mm = 0;
			struct import_port *p = import_sonic_port_at(reading, table, port, port);
			if (!p)
				continue;
			if (!json_is_string(v) ||
				unit_length(json_string_value(v), &mm, NULL) < 0 || mm % 1000 ||
				mm > 200000000)
				wrong(reading, table, port,
					"read '%.40s', expected a length in metres such as 40m",
					json_is_string(v) ? json_string_value(v) : "no text");
			else
				p->cable_m = (unsigned)(mm / 1000);
		}
	}
}

static void neighbours_read(struct reading *reading)
{
	static const char table[] = "DEVICE_NEIGHBOR", meta[] = "DEVICE_NEIGHBOR_METADATA";
	const char *key;
	json_t *row;
	json_object_foreach ((json_t *)table_of(reading, table), key, row) {
		const char *name = import_sonic_field(reading, table, key, row, "name"),
			   *port = import_sonic_field(reading, table, key, row, "port");
		struct import_port *p = import_sonic_port_at(reading, table, key, key);
		if (!p)
			continue;
		if (!name || !import_sonic_plain(name, true) ||
			(port && *port && !import_sonic_plain(port, false))) {
			wrong(reading, table, key,
				"name: read '%.80s', expected a name of letters, digits and . _ -",
				name ? name : "nothing");
			continue;
		}
		p->peer = arena_strdup(reading->set->arena, name);
		p->peer_port = arena_strdup(reading->set->arena, str_or(port, ""));
		const json_t *about = import_sonic_row_of(reading, meta, name);
		const char *type = import_sonic_field(reading, meta, name, about, "type"),
			   *address = import_sonic_field(reading, meta, name, about, "mgmt_addr");
		/* Without a word of what it is: a switch's ports are called EthernetN in this
		 * system; anything else is a server's. */
		bool is_switch;
		if (type)
			is_switch = strstr(type, "Router") || strstr(type, "Switch");
		else
			is_switch = port && strncmp(port, "Ethernet", 8) == 0;
		if (reading->set->n_devices >= DEVICES_MAX)
			continue;
		struct import_device *d = import_device(reading->set, name);
		if (d->own)
			continue;
		d->host = !is_switch;
		if (type)
			d->type = arena_strdup(reading->set->arena, type);
		if (address && *address)
			d->address = address_of(reading->set->arena, address);
	}
}

/* ---- thresholds ---------------------------------------------------------- */

static void lossless_read(struct reading *reading)
{
	static const char table[] = "PORT_QOS_MAP";
	const char *key;
	json_t *row;
	json_object_foreach ((json_t *)table_of(reading, table), key, row) {
		const char *text = NULL;
		if (strcmp(key, "global") != 0)
			text = import_sonic_field(reading, table, key, row, "pfc_enable");
		unsigned mask = 0;
		if (text && *text)
			mask = import_sonic_priorities(reading, table, key, text);
		if (!mask)
			continue;
		/* older releases: several ports in one key */
		rw_cleanup(freep) char *ports = strdup(key);
		char *rest = ports, *name;
		reading->set->lossless |= mask;
		while (ports && (name = strsep(&rest, ","))) {
			struct import_port *p = import_sonic_port_at(reading, table, key, name);
			for (unsigned i = 0; p && i < IMPORT_PRIORITIES; i++)
				p->rows[i].lossless = p->rows[i].lossless || mask & 1u << i;
		}
	}
	int64_t mtu;
	const json_t *pattern = import_sonic_row_of(reading, "LOSSLESS_TRAFFIC_PATTERN", "AZURE");
	if (import_sonic_whole(
		    reading, "LOSSLESS_TRAFFIC_PATTERN", "AZURE", pattern, "mtu", 64, 65535, &mtu))
		reading->set->lossless_mtu = (uint64_t)mtu;
}

static void import_sonic_bytes(struct reading *reading, const char *table, const char *key,
	const json_t *row, const char *name, uint64_t *to)
{
	int64_t v;
	if (import_sonic_whole(reading, table, key, row, name, 0, BYTES_MAX, &v))
		*to = (uint64_t)v;
}

static void wred_read(struct reading *reading, const char *name, struct import_row *to)
{
	static const char table[] = "WRED_PROFILE";
	const json_t *row = import_sonic_row_of(reading, table, name);
	const char *ecn = import_sonic_field(reading, table, name, row, "ecn");
	int64_t percent;
	if (!ecn || strcmp(ecn, "ecn_none") == 0) /* drops instead of marking: no ECN thresholds */
		return;
	percent = 100; /* what the schema has when it is not given */
	import_sonic_whole(reading, table, name, row, "green_drop_probability", 0, 100, &percent);
	if (percent == 0) /* never marks; published configurations turn ECN off so */
		return;
	to->pmax = (double)percent / 100;
	import_sonic_bytes(
		reading, table, name, row, "green_min_threshold", &to->kmin); /* RoCE is green */
	import_sonic_bytes(reading, table, name, row, "green_max_threshold", &to->kmax);
	if (to->kmax && to->kmin > to->kmax)
		wrong(reading, table, name,
			"green_min_threshold %" PRIu64 " is above green_max_threshold %" PRIu64,
			to->kmin, to->kmax);
}

static void buffer_read(struct reading *reading, const char *name, struct import_row *to)
{
	static const char table[] = "BUFFER_PROFILE";
	const json_t *row = import_sonic_row_of(reading, table, name);
	const char *pool = import_sonic_reference(
		reading, import_sonic_field(reading, table, name, row, "pool"));
	int64_t exponent;
	import_sonic_bytes(reading, table, name, row, "xoff", &to->headroom);
	import_sonic_bytes(reading, table, name, row, "xon", &to->xon_level);
	import_sonic_bytes(reading, table, name, row, "xon_offset", &to->xon_offset);
	if (import_sonic_whole(reading, table, name, row, "dynamic_th", -8, 8, &exponent))
		to->alpha = exp2((double)exponent);
	if (pool && import_sonic_row_of(reading, "BUFFER_POOL", pool))
		import_sonic_bytes(reading, "BUFFER_POOL", pool,
			import_sonic_row_of(reading, "BUFFER_POOL", pool), "size", &to->pool);
}

/* import_sonic_names_port - whether "A,B" holds @port: older releases write several ports in one
 * key. */
static bool import_sonic_names_port(const char *ports, size_t n, const char *port)
{
	for (const char *p = ports; p < ports + n;) {
		size_t one = strcspn(p, ",");
		if (one > (size_t)(ports + n - p))
			one = (size_t)(ports + n - p);
		if (strlen(port) == one && memcmp(p, port, one) == 0)
			return true;
		p += one + 1;
	}
	return false;
}

/* qos_field - of the port's row in PORT_QOS_MAP that has it. */
static const char *qos_field(struct reading *reading, const char *port, const char *name)
{
	static const char table[] = "PORT_QOS_MAP";
	const char *key;
	json_t *row;
	json_object_foreach ((json_t *)table_of(reading, table), key, row)
		if (import_sonic_names_port(key, strlen(key), port) && json_object_get(row, name))
			return import_sonic_field(reading, table, key, row, name);
	return NULL;
}

/* import_sonic_mapped - the queue or group of a priority by the port's map; itself where there is
 * none. */
static unsigned import_sonic_mapped(struct reading *reading, const struct import_port *port,
	const char *map_field, const char *table, unsigned priority)
{
	const json_t *map;
	const char *name =
		import_sonic_reference(reading, qos_field(reading, port->name, map_field));
	char key[4];
	int64_t to;
	snprintf(key, sizeof(key), "%u", priority);
	if (name)
		map = import_sonic_row_of(reading, table, name);
	else
		map = NULL;
	if (map && import_sonic_whole(reading, table, name, map, key, 0, 63, &to))
		return (unsigned)to;
	return priority;
}

/* import_sonic_bound - what "TABLE|port|numbers" refers to for this port and number; NULL. */
static const char *import_sonic_bound(struct reading *reading, const char *table, const char *name,
	const char *port, unsigned number)
{
	const char *key;
	json_t *row;
	json_object_foreach ((json_t *)table_of(reading, table), key, row) {
		const char *bar = strrchr(key, '|');
		const char *p = "";
		if (bar)
			p = bar + 1;
		unsigned lo = (unsigned)strtoul(p, NULL, 10);
		unsigned hi = lo;
		if (strchr(p, '-'))
			hi = (unsigned)strtoul(strchr(p, '-') + 1, NULL, 10);
		if (!bar || number < lo || number > hi)
			continue;
		/* chassis: host|asic|port|numbers */
		const char *ports = memrchr(key, '|', (size_t)(bar - key));
		if (ports)
			ports = ports + 1;
		else
			ports = key;
		if (import_sonic_names_port(ports, (size_t)(bar - ports), port))
			return import_sonic_reference(
				reading, import_sonic_field(reading, table, key, row, name));
	}
	return NULL;
}

static void port_thresholds(struct reading *reading, struct import_port *port)
{
	for (unsigned i = 0; i < IMPORT_PRIORITIES; i++) {
		if (!port->rows[i].lossless)
			continue;
		const char *wred = import_sonic_bound(reading, "QUEUE", "wred_profile", port->name,
			import_sonic_mapped(
				reading, port, "pfc_to_queue_map", "MAP_PFC_PRIORITY_TO_QUEUE", i));
		const char *buffer = import_sonic_bound(reading, "BUFFER_PG", "profile", port->name,
			import_sonic_mapped(reading, port, "pfc_to_pg_map",
				"PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", i));
		if (wred && !import_sonic_row_of(reading, "WRED_PROFILE", wred))
			warn(reading, "QUEUE", port->name,
				"priority %u: WRED profile '%.60s' is not in this file: no ECN "
				"thresholds taken",
				i, wred);
		else if (wred)
			wred_read(reading, wred, &port->rows[i]);
		/* "NULL": generated by the dynamic buffer model, and not in the configuration */
		if (buffer && strcmp(buffer, "NULL") != 0 &&
			!import_sonic_row_of(reading, "BUFFER_PROFILE", buffer))
			warn(reading, "BUFFER_PG", port->name,
				"priority %u: buffer profile '%.60s' is not in this file: no "
				"headroom and alpha taken",
				i, buffer);
		else if (buffer && strcmp(buffer, "NULL") != 0)
			buffer_read(reading, buffer, &port->rows[i]);
	}
}

/* ---- the file ------------------------------------------------------------ */

struct import_set *import_new(const struct profiles *profiles)
{
	struct import_set *s = rw_calloc(1, sizeof(*s));
	s->arena = arena_new();
	s->profiles = profiles;
	return s;
}

void import_free(struct import_set *set)
{
	if (!set)
		return;
	for (size_t i = 0; i < set->n_devices; i++)
		free(set->devices[i]->ports);
	free(set->devices);
	free(set->files);
	arena_free(set->arena);
	free(set);
}

int import_sonic(struct import_set *set, const char *text, size_t n, const char *file,
	struct err_list *errors, struct err_list *warnings)
{
	struct reading r = {.set = set,
		.text = text,
		.file = file,
		.errors = errors,
		.warnings = warnings,
		.n_before = errors->n};
	json_error_t e;
	json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &e);
	if (!root || !json_is_object(root)) {
		struct err at = {0};
		err_at(&at, -EINVAL, file, root ? 1 : e.line, root ? 0 : e.column,
			"%s, expected a config_db.json: an object of tables",
			root ? "read another kind of JSON" : e.text);
		err_list_add(errors, &at);
		json_decref(root);
		return -EINVAL;
	}
	r.root = root;
	if (device_read(&r)) {
		rw_grow(set->files, set->n_files, set->cap_files);
		set->files[set->n_files++] = arena_strdup(set->arena, file);
		ports_read(&r);
		cables_read(&r);
		neighbours_read(&r);
		lossless_read(&r);
		for (size_t i = 0; i < r.device->n_ports && errors->n == r.n_before; i++)
			port_thresholds(&r, &r.device->ports[i]);
	}
	json_decref(root);
	if (errors->n > r.n_before)
		return -EINVAL;
	return 0;
}
