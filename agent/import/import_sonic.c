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
static int line_of(const struct reading *r, const char *table, const char *key)
{
	char quoted[300];
	const char *at;
	snprintf(quoted, sizeof(quoted), "\"%.256s\"", table);
	at = strstr(r->text, quoted);
	if (at && key) {
		snprintf(quoted, sizeof(quoted), "\"%.256s\"", key);
		at = strstr(at + strlen(table), quoted);
	}
	int line = at ? 1 : 0;
	for (const char *p = r->text; at && p < at; p++)
		line += *p == '\n';
	return line;
}

static void tell(const struct reading *r, struct err_list *to, const char *table, const char *key,
	const char *fmt, ...) __attribute__((format(printf, 5, 6)));
static void tell(const struct reading *r, struct err_list *to, const char *table, const char *key,
	const char *fmt, ...)
{
	struct err e = {0};
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	err_at(&e, -EINVAL, r->file, line_of(r, table, key), 0, "%s%s%.120s: %s", table,
		key ? "|" : "", key ? key : "", text);
	err_list_add(to, &e);
}
#define wrong(r, table, key, ...) tell((r), (r)->errors, (table), (key), __VA_ARGS__)
#define warn(r, table, key, ...) tell((r), (r)->warnings, (table), (key), __VA_ARGS__)

/* ---- values -------------------------------------------------------------- */

static const json_t *table_of(struct reading *r, const char *name)
{
	const json_t *t = json_object_get(r->root, name);
	if (t && !json_is_object(t)) {
		wrong(r, name, NULL, "expected an object of rows");
		return NULL;
	}
	return t;
}

static const json_t *row_of(struct reading *r, const char *table, const char *key)
{
	const json_t *row = json_object_get(table_of(r, table), key);
	if (row && !json_is_object(row)) {
		wrong(r, table, key, "expected an object of fields");
		return NULL;
	}
	return row;
}

/* field - its text, or NULL; numbers are taken as such. What is neither is reported. */
static const char *field(
	struct reading *r, const char *table, const char *key, const json_t *row, const char *name)
{
	const json_t *v = json_object_get(row, name);
	if (!v || json_is_string(v))
		return v ? json_string_value(v) : NULL;
	if (json_is_integer(v))
		return arena_printf(r->set->arena, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
	wrong(r, table, key, "%s: expected text or a whole number", name);
	return NULL;
}

static bool whole(struct reading *r, const char *table, const char *key, const json_t *row,
	const char *name, int64_t min, int64_t max, int64_t *ret)
{
	const char *text = field(r, table, key, row, name);
	if (!text)
		return false;
	if (unit_int(text, ret, NULL) < 0 || *ret < min || *ret > max) {
		wrong(r, table, key,
			"%s: read '%.40s', expected a whole number from %" PRId64 " to %" PRId64,
			name, text, min, max);
		return false;
	}
	return true;
}

/* reference - the name of a row in another table: "X", or "[TABLE|X]" as older releases write it.
 */
static const char *reference(struct reading *r, const char *text)
{
	const char *bar = text ? strrchr(text, '|') : NULL;
	size_t n = text ? strlen(text) : 0;
	if (text && text[0] == '[' && bar && n > 2 && text[n - 1] == ']')
		return arena_strndup(r->set->arena, bar + 1, n - 1 - (size_t)(bar + 1 - text));
	return text;
}

/* priorities - "3,4" or "3-4" as bits; 0 and an error when it is neither. */
static unsigned priorities(struct reading *r, const char *table, const char *key, const char *text)
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
			wrong(r, table, key,
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

/* plain - a name as our configuration takes it. */
static bool plain(const char *s, bool device)
{
	size_t n = 0;
	for (; s[n]; n++)
		if ((unsigned char)s[n] <= 0x20 || s[n] == 0x7f || s[n] == '"' || s[n] == '\\' ||
			(device &&
				!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ012345"
					"6789._-",
					s[n])))
			return false;
	return n > 0 && n <= (device ? BARE_MAX : 200) && !(device && strcmp(s, "host") == 0);
}

/* address_of - an IPv4 address out of "192.0.2.1/24", or an IPv6 one in brackets; "" when it is
 * neither. */
static const char *address_of(struct arena *a, const char *text)
{
	const char *bare = arena_strndup(a, text, strcspn(text, "/"));
	struct in6_addr to;
	if (inet_pton(AF_INET, bare, &to) == 1)
		return bare;
	return inet_pton(AF_INET6, bare, &to) == 1 ? arena_printf(a, "[%s]", bare) : "";
}

/* ---- devices and ports --------------------------------------------------- */

struct import_device *import_device(struct import_set *s, const char *name)
{
	for (size_t i = 0; i < s->n_devices; i++)
		if (strcmp(s->devices[i]->name, name) == 0)
			return s->devices[i];
	struct import_device *d = arena_new_of(s->arena, struct import_device);
	*d = (struct import_device){
		.name = arena_strdup(s->arena, name), .type = "", .address = "", .sku = ""};
	rw_grow(s->devices, s->n_devices, s->cap_devices);
	s->devices[s->n_devices++] = d;
	return d;
}

struct import_port *import_port(
	struct import_set *s, struct import_device *d, const char *name, bool make)
{
	for (size_t i = 0; i < d->n_ports; i++)
		if (strcmp(d->ports[i].name, name) == 0)
			return &d->ports[i];
	if (!make || d->n_ports == PORTS_MAX)
		return NULL;
	rw_grow(d->ports, d->n_ports, d->cap_ports);
	struct import_port *p = &d->ports[d->n_ports++];
	*p = (struct import_port){.name = arena_strdup(s->arena, name), .alias = ""};
	for (size_t i = 0; i < IMPORT_PRIORITIES; i++)
		p->rows[i] = (struct import_row){.pmax = NAN, .alpha = NAN};
	return p;
}

static struct import_port *port_at(
	struct reading *r, const char *table, const char *key, const char *name)
{
	struct import_port *p =
		plain(name, false) ? import_port(r->set, r->device, name, true) : NULL;
	if (!p)
		wrong(r, table, key,
			plain(name, false) ? "more than 1024 ports"
					   : "'%.40s' is no name of a port",
			name);
	return p;
}

static bool device_read(struct reading *r)
{
	static const char table[] = "DEVICE_METADATA", key[] = "localhost";
	const json_t *row = row_of(r, table, key), *interfaces = table_of(r, "MGMT_INTERFACE"), *v;
	const char *name = field(r, table, key, row, "hostname"),
		   *type = field(r, table, key, row, "type"),
		   *sku = field(r, table, key, row, "hwsku"), *at;
	if (!name || !plain(name, true)) {
		wrong(r, table, key,
			name ? "hostname: read '%.80s', expected letters, digits and . _ - (at "
			       "most 63)"
			     : "hostname is missing; this is the name the device gets",
			name);
		return false;
	}
	if (r->set->n_devices >= DEVICES_MAX) {
		wrong(r, table, key, "more than %d devices", DEVICES_MAX);
		return false;
	}
	r->device = import_device(r->set, name);
	if (r->device->own) {
		wrong(r, table, key, "hostname: '%s' was in another file already", name);
		return false;
	}
	r->device->own = true;
	r->device->host = false;
	r->device->type = arena_strdup(r->set->arena, type ? type : "");
	r->device->sku = arena_strdup(r->set->arena, sku ? sku : "");
	json_object_foreach ((json_t *)interfaces, at, v) { /* "eth0|192.0.2.1/24" */
		const char *bar = strchr(at, '|'),
			   *address = bar ? address_of(r->set->arena, bar + 1) : "";
		/* IPv4 where there are both */
		if (*address && (!*r->device->address || strchr(r->device->address, ':')))
			r->device->address = address;
	}
	const struct tune_asic *asic =
		r->set->profiles ? profiles_asic(r->set->profiles, r->device->sku) : NULL;
	r->device->cell_bytes = asic ? (uint64_t)asic->cell_bytes : 0;
	return true;
}

static void ports_read(struct reading *r)
{
	const char *key;
	json_t *row;
	int64_t mbps;
	json_object_foreach ((json_t *)table_of(r, "PORT"), key, row) {
		struct import_port *p = json_is_object(row) ? port_at(r, "PORT", key, key) : NULL;
		if (!p) {
			if (!json_is_object(row))
				wrong(r, "PORT", key, "expected an object of fields");
			continue;
		}
		const char *alias = field(r, "PORT", key, row, "alias");
		p->alias = arena_strdup(r->set->arena, alias ? alias : "");
		if (whole(r, "PORT", key, row, "speed", 1, 10000000, &mbps))
			p->speed_bps = (uint64_t)mbps * 1000000;
	}
}

static void cables_read(struct reading *r)
{
	static const char table[] = "CABLE_LENGTH";
	const char *name, *port;
	json_t *row, *v;
	json_object_foreach ((json_t *)table_of(r, table), name, row) {
		json_object_foreach (row, port, v) {
			uint64_t mm = 0;
			struct import_port *p = port_at(r, table, port, port);
			if (!p)
				continue;
			if (!json_is_string(v) ||
				unit_length(json_string_value(v), &mm, NULL) < 0 || mm % 1000 ||
				mm > 200000000)
				wrong(r, table, port,
					"read '%.40s', expected a length in metres such as 40m",
					json_is_string(v) ? json_string_value(v) : "no text");
			else
				p->cable_m = (unsigned)(mm / 1000);
		}
	}
}

static void neighbours_read(struct reading *r)
{
	static const char table[] = "DEVICE_NEIGHBOR", meta[] = "DEVICE_NEIGHBOR_METADATA";
	const char *key;
	json_t *row;
	json_object_foreach ((json_t *)table_of(r, table), key, row) {
		const char *name = field(r, table, key, row, "name"),
			   *port = field(r, table, key, row, "port");
		struct import_port *p = port_at(r, table, key, key);
		if (!p)
			continue;
		if (!name || !plain(name, true) || (port && *port && !plain(port, false))) {
			wrong(r, table, key,
				"name: read '%.80s', expected a name of letters, digits and . _ -",
				name ? name : "nothing");
			continue;
		}
		p->peer = arena_strdup(r->set->arena, name);
		p->peer_port = arena_strdup(r->set->arena, port ? port : "");
		const json_t *about = row_of(r, meta, name);
		const char *type = field(r, meta, name, about, "type"),
			   *address = field(r, meta, name, about, "mgmt_addr");
		/* Without a word of what it is: a switch's ports are called EthernetN in this
		 * system; anything else is a server's. */
		bool is_switch = type ? strstr(type, "Router") || strstr(type, "Switch")
				      : port && strncmp(port, "Ethernet", 8) == 0;
		if (r->set->n_devices >= DEVICES_MAX)
			continue;
		struct import_device *d = import_device(r->set, name);
		if (d->own)
			continue;
		d->host = !is_switch;
		d->type = type ? arena_strdup(r->set->arena, type) : d->type;
		if (address && *address)
			d->address = address_of(r->set->arena, address);
	}
}

/* ---- thresholds ---------------------------------------------------------- */

static void lossless_read(struct reading *r)
{
	static const char table[] = "PORT_QOS_MAP";
	const char *key;
	json_t *row;
	json_object_foreach ((json_t *)table_of(r, table), key, row) {
		const char *text =
			strcmp(key, "global") == 0 ? NULL : field(r, table, key, row, "pfc_enable");
		unsigned mask = text && *text ? priorities(r, table, key, text) : 0;
		if (!mask)
			continue;
		/* older releases: several ports in one key */
		rw_cleanup(freep) char *ports = strdup(key);
		char *rest = ports, *name;
		r->set->lossless |= mask;
		while (ports && (name = strsep(&rest, ","))) {
			struct import_port *p = port_at(r, table, key, name);
			for (unsigned i = 0; p && i < IMPORT_PRIORITIES; i++)
				p->rows[i].lossless = p->rows[i].lossless || mask & 1u << i;
		}
	}
	int64_t mtu;
	const json_t *pattern = row_of(r, "LOSSLESS_TRAFFIC_PATTERN", "AZURE");
	if (whole(r, "LOSSLESS_TRAFFIC_PATTERN", "AZURE", pattern, "mtu", 64, 65535, &mtu))
		r->set->lossless_mtu = (uint64_t)mtu;
}

static void bytes(struct reading *r, const char *table, const char *key, const json_t *row,
	const char *name, uint64_t *to)
{
	int64_t v;
	if (whole(r, table, key, row, name, 0, BYTES_MAX, &v))
		*to = (uint64_t)v;
}

static void wred_read(struct reading *r, const char *name, struct import_row *to)
{
	static const char table[] = "WRED_PROFILE";
	const json_t *row = row_of(r, table, name);
	const char *ecn = field(r, table, name, row, "ecn");
	int64_t percent;
	if (!ecn || strcmp(ecn, "ecn_none") == 0) /* drops instead of marking: no ECN thresholds */
		return;
	percent = 100; /* what the schema has when it is not given */
	whole(r, table, name, row, "green_drop_probability", 0, 100, &percent);
	if (percent == 0) /* never marks; published configurations turn ECN off so */
		return;
	to->pmax = (double)percent / 100;
	bytes(r, table, name, row, "green_min_threshold", &to->kmin); /* RoCE is green */
	bytes(r, table, name, row, "green_max_threshold", &to->kmax);
	if (to->kmax && to->kmin > to->kmax)
		wrong(r, table, name,
			"green_min_threshold %" PRIu64 " is above green_max_threshold %" PRIu64,
			to->kmin, to->kmax);
}

static void buffer_read(struct reading *r, const char *name, struct import_row *to)
{
	static const char table[] = "BUFFER_PROFILE";
	const json_t *row = row_of(r, table, name);
	const char *pool = reference(r, field(r, table, name, row, "pool"));
	int64_t exponent;
	bytes(r, table, name, row, "xoff", &to->headroom);
	bytes(r, table, name, row, "xon", &to->xon_level);
	bytes(r, table, name, row, "xon_offset", &to->xon_offset);
	if (whole(r, table, name, row, "dynamic_th", -8, 8, &exponent))
		to->alpha = exp2((double)exponent);
	if (pool && row_of(r, "BUFFER_POOL", pool))
		bytes(r, "BUFFER_POOL", pool, row_of(r, "BUFFER_POOL", pool), "size", &to->pool);
}

/* names_port - whether "A,B" holds @port: older releases write several ports in one key. */
static bool names_port(const char *ports, size_t n, const char *port)
{
	for (const char *p = ports; p < ports + n;) {
		size_t one = strcspn(p, ",");
		one = one > (size_t)(ports + n - p) ? (size_t)(ports + n - p) : one;
		if (strlen(port) == one && memcmp(p, port, one) == 0)
			return true;
		p += one + 1;
	}
	return false;
}

/* qos_field - of the port's row in PORT_QOS_MAP that has it. */
static const char *qos_field(struct reading *r, const char *port, const char *name)
{
	static const char table[] = "PORT_QOS_MAP";
	const char *key;
	json_t *row;
	json_object_foreach ((json_t *)table_of(r, table), key, row)
		if (names_port(key, strlen(key), port) && json_object_get(row, name))
			return field(r, table, key, row, name);
	return NULL;
}

/* mapped - the queue or group of a priority by the port's map; itself where there is none. */
static unsigned mapped(struct reading *r, const struct import_port *p, const char *map_field,
	const char *table, unsigned priority)
{
	const json_t *map;
	const char *name = reference(r, qos_field(r, p->name, map_field));
	char key[4];
	int64_t to;
	snprintf(key, sizeof(key), "%u", priority);
	map = name ? row_of(r, table, name) : NULL;
	return map && whole(r, table, name, map, key, 0, 63, &to) ? (unsigned)to : priority;
}

/* bound - what "TABLE|port|numbers" refers to for this port and number; NULL. */
static const char *bound(
	struct reading *r, const char *table, const char *name, const char *port, unsigned number)
{
	const char *key;
	json_t *row;
	json_object_foreach ((json_t *)table_of(r, table), key, row) {
		const char *bar = strrchr(key, '|'), *p = bar ? bar + 1 : "";
		unsigned lo = (unsigned)strtoul(p, NULL, 10),
			 hi = strchr(p, '-') ? (unsigned)strtoul(strchr(p, '-') + 1, NULL, 10) : lo;
		if (!bar || number < lo || number > hi)
			continue;
		/* chassis: host|asic|port|numbers */
		const char *ports = memrchr(key, '|', (size_t)(bar - key));
		ports = ports ? ports + 1 : key;
		if (names_port(ports, (size_t)(bar - ports), port))
			return reference(r, field(r, table, key, row, name));
	}
	return NULL;
}

static void port_thresholds(struct reading *r, struct import_port *p)
{
	for (unsigned i = 0; i < IMPORT_PRIORITIES; i++) {
		if (!p->rows[i].lossless)
			continue;
		const char *wred = bound(r, "QUEUE", "wred_profile", p->name,
			mapped(r, p, "pfc_to_queue_map", "MAP_PFC_PRIORITY_TO_QUEUE", i));
		const char *buffer = bound(r, "BUFFER_PG", "profile", p->name,
			mapped(r, p, "pfc_to_pg_map", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", i));
		if (wred && !row_of(r, "WRED_PROFILE", wred))
			warn(r, "QUEUE", p->name,
				"priority %u: WRED profile '%.60s' is not in this file: no ECN "
				"thresholds taken",
				i, wred);
		else if (wred)
			wred_read(r, wred, &p->rows[i]);
		/* "NULL": generated by the dynamic buffer model, and not in the configuration */
		if (buffer && strcmp(buffer, "NULL") != 0 && !row_of(r, "BUFFER_PROFILE", buffer))
			warn(r, "BUFFER_PG", p->name,
				"priority %u: buffer profile '%.60s' is not in this file: no "
				"headroom and alpha taken",
				i, buffer);
		else if (buffer && strcmp(buffer, "NULL") != 0)
			buffer_read(r, buffer, &p->rows[i]);
	}
}

/* ---- the file ------------------------------------------------------------ */

struct import_set *import_new(const struct profiles *p)
{
	struct import_set *s = rw_calloc(1, sizeof(*s));
	s->arena = arena_new();
	s->profiles = p;
	return s;
}

void import_free(struct import_set *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->n_devices; i++)
		free(s->devices[i]->ports);
	free(s->devices);
	free(s->files);
	arena_free(s->arena);
	free(s);
}

int import_sonic(struct import_set *s, const char *text, size_t n, const char *file,
	struct err_list *errors, struct err_list *warnings)
{
	struct reading r = {.set = s,
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
		rw_grow(s->files, s->n_files, s->cap_files);
		s->files[s->n_files++] = arena_strdup(s->arena, file);
		ports_read(&r);
		cables_read(&r);
		neighbours_read(&r);
		lossless_read(&r);
		for (size_t i = 0; i < r.device->n_ports && errors->n == r.n_before; i++)
			port_thresholds(&r, &r.device->ports[i]);
	}
	json_decref(root);
	return errors->n > r.n_before ? -EINVAL : 0;
}
