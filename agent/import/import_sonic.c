/* import_sonic - reads one config_db.json, table by table, into the devices and ports of a set. */
#include "agent/import/import_sonic.h"

#include <arpa/inet.h>
#include <jansson.h>

#include "agent/import/import_internal.h"
#include "config/profile/profile.h"
#include "config/profile/profile_tune.h"
#include "config/class_policy.h"

struct sonic_file {
	struct import_set *set;
	struct import_device *device; /* whose file it is */
	const json_t *root; /* an object of tables */
	const char *text, *name;
	struct err_list *errors, *warnings;
	size_t n_before; /* errors of other files */
};

/* A row of a table, and where it stands. */
struct sonic_row {
	struct sonic_file *file;
	const char *table, *key; /* key NULL: the table itself */
	const json_t *json; /* NULL: not there */
};

static struct sonic_row sonic_row(struct sonic_file *file, const char *table, const char *key);

/*
 * import_dump - a dump of a database as the tables of a config_db.json. SONiC's tools write one row
 * as one key: "BUFFER_PG|Ethernet0|3-4" in CONFIG_DB, "BUFFER_PG_TABLE:Ethernet0:3-4" in APPL_DB,
 * and its fields either as the value or below "value" (sonic-db-dump -y, sonic-utilities'
 * tests/mock_tables). A tree is changed only where its keys are written like that.
 *
 * import_dump - splits the keys of a dump into table and row.
 */

/* dump_table - the length of the table's name in the key of a row; 0: it is no such key. A table of
 * APPL_DB ends in _TABLE. */
static size_t dump_table(const char *key)
{
	static const char end[] = "_TABLE";
	const size_t n_end = sizeof(end) - 1;
	const size_t n = strcspn(key, "|:");
	if (n == 0 || !key[n] || !key[n + 1])
		return 0;
	if (key[n] == '|')
		return n;
	if (n > n_end && memcmp(key + n - n_end, end, n_end) == 0)
		return n;
	return 0;
}

json_t *import_dump_fields(json_t *row)
{
	json_t *value = (json_t *)IMPORT_AT(row, "value");
	const char *type = json_string_value(IMPORT_AT(row, "type"));
	if (json_is_object(value) && str_eq(type, "hash"))
		return value;
	return row;
}

json_t *import_dump_tables(json_t *root)
{
	json_t *tables = json_object();
	const char *key;
	json_t *value;
	json_object_foreach (root, key, value) {
		const size_t n = dump_table(key);
		if (n == 0) {
			json_object_set(tables, key, value);
			continue;
		}
		rw_cleanup(freep) char *name = rw_strdup(key);
		name[n] = '\0';
		json_t *table = json_object_get(tables, name);
		if (!json_is_object(table)) {
			table = json_object();
			json_object_set_new(tables, name, table);
		}
		json_object_set(table, key + n + 1, import_dump_fields(value));
	}
	return tables;
}

const json_t *import_at(const json_t *json, const char *const *keys)
{
	for (; json && *keys; keys++)
		json = json_object_get(json, *keys);
	return json;
}

/* import_set - the devices and ports that files are read into. */

struct import_set *import_new(const struct profiles *profiles)
{
	struct import_set *set = rw_calloc(1, sizeof(*set));
	set->arena = arena_new();
	set->profiles = profiles;
	return set;
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

struct import_device *import_device(struct import_set *set, const char *name)
{
	for (size_t i = 0; i < set->n_devices; i++)
		if (strcmp(set->devices[i]->name, name) == 0)
			return set->devices[i];
	struct import_device *device = arena_new_of(set->arena, struct import_device);
	*device = (struct import_device){
		.name = arena_strdup(set->arena, name), .type = "", .address = "", .sku = ""};
	rw_grow(set->devices, set->n_devices, set->cap_devices);
	set->devices[set->n_devices++] = device;
	return device;
}

struct import_port *import_port(
	struct import_set *set, struct import_device *device, const char *name, bool make)
{
	for (size_t i = 0; i < device->n_ports; i++)
		if (strcmp(device->ports[i].name, name) == 0)
			return &device->ports[i];
	if (!make || device->n_ports == IMPORT_PORTS_MAX)
		return NULL;
	rw_grow(device->ports, device->n_ports, device->cap_ports);
	struct import_port *port = &device->ports[device->n_ports++];
	*port = (struct import_port){.name = arena_strdup(set->arena, name), .alias = ""};
	for (size_t i = 0; i < IMPORT_PRIORITIES; i++)
		port->rows[i] = (struct import_row){
			.pmax = NAN, .alpha = NAN, .kmin_share = NAN, .kmax_share = NAN};
	return port;
}

/*
 * import_rows - rows and fields of SONiC's tables, with the place that an error or a warning names.
 * What is malformed is reported where it is read. For the files of import_sonic.c only; one thread.
 *
 * import_rows - reads rows and fields, and says where a mistake stands.
 */

/* longest name of a port that the configuration takes */
#define PORT_NAME_MAX 200
#define BYTES_MAX ((int64_t)1 << 40)

/* ---- errors and warnings ------------------------------------------------- */

/* import_rows_line_of - the number of the line where @at stands. */
static int import_rows_line_of(const char *text, const char *at)
{
	int line = 1;
	for (const char *p = text; p < at; p++)
		line += *p == '\n';
	return line;
}

/* sonic_line - the line where the row stands in the text; 0 unknown.
 * jansson keeps no lines of values. A row stands below its table; in a dump of the database, it has
 * the table's name before its own. */
static int sonic_line(const struct sonic_row *row)
{
	static const char separators[] = "|:";
	char quoted[600];
	const char *text = row->file->text;
	snprintf(quoted, sizeof(quoted), "\"%.256s\"", row->table);
	const char *at = strstr(text, quoted);
	if (at && row->key) {
		snprintf(quoted, sizeof(quoted), "\"%.256s\"", row->key);
		at = strstr(at + strlen(row->table), quoted);
	}
	for (size_t i = 0; !at && i < sizeof(separators) - 1; i++) {
		snprintf(quoted, sizeof(quoted), "\"%.256s%c%.256s", row->table, separators[i],
			str_or(row->key, ""));
		at = strstr(text, quoted);
	}
	if (!at)
		return 0;
	return import_rows_line_of(text, at);
}

__attribute__((format(printf, 3, 0))) static void sonic_report(
	const struct sonic_row *row, struct err_list *to, const char *fmt, va_list ap)
{
	struct err e = {0};
	char text[512];
	vsnprintf(text, sizeof(text), fmt, ap);
	err_at(&e, -EINVAL, row->file->name, sonic_line(row), 0, "%s%s%.120s: %s", row->table,
		str_if(row->key, "|"), str_or(row->key, ""), text);
	err_list_add(to, &e);
}

__attribute__((format(printf, 2, 3))) static void sonic_wrong(
	const struct sonic_row *row, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	sonic_report(row, row->file->errors, fmt, ap);
	va_end(ap);
}

__attribute__((format(printf, 2, 3))) static void sonic_warn(
	const struct sonic_row *row, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	sonic_report(row, row->file->warnings, fmt, ap);
	va_end(ap);
}

/* ---- rows and fields ----------------------------------------------------- */

/* sonic_table - as json_object_foreach() takes it; NULL when it is missing, or no object
 * (reported). */
static json_t *sonic_table(struct sonic_file *file, const char *name)
{
	json_t *table = json_object_get(file->root, name);
	if (!table || json_is_object(table))
		return table;
	sonic_wrong(&(struct sonic_row){file, name, NULL, NULL}, "expected an object of rows");
	return NULL;
}

/* sonic_row - .json is NULL when the row is missing, or no object (reported). */
static struct sonic_row sonic_row(struct sonic_file *file, const char *table, const char *key)
{
	struct sonic_row row = {file, table, key, json_object_get(sonic_table(file, table), key)};
	if (row.json && !json_is_object(row.json)) {
		sonic_wrong(&row, "expected an object of fields");
		row.json = NULL;
	}
	return row;
}

/* sonic_field - its text, also of a whole number; NULL when it is missing. Anything else is
 * reported, and NULL. */
static const char *sonic_field(const struct sonic_row *row, const char *name)
{
	const json_t *value = json_object_get(row->json, name);
	if (!value)
		return NULL;
	if (json_is_string(value))
		return json_string_value(value);
	if (json_is_integer(value))
		return arena_printf(
			row->file->set->arena, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
	sonic_wrong(row, "%s: expected text or a whole number", name);
	return NULL;
}

/* sonic_whole - false when the field is missing, or no whole number from @min to @max (reported).
 */
static bool sonic_whole(
	const struct sonic_row *row, const char *name, int64_t min, int64_t max, int64_t *ret)
{
	const char *text = sonic_field(row, name);
	if (!text)
		return false;
	if (unit_int(text, ret, NULL) == 0 && *ret >= min && *ret <= max)
		return true;
	sonic_wrong(row, "%s: '%.40s' is not a whole number from %" PRId64 " to %" PRId64, name,
		text, min, max);
	return false;
}

/* sonic_bytes - @to stays as it is when the field is missing. */
static void sonic_bytes(const struct sonic_row *row, const char *name, uint64_t *to)
{
	int64_t bytes;
	if (sonic_whole(row, name, 0, BYTES_MAX, &bytes))
		*to = (uint64_t)bytes;
}

/* sonic_reference - the name of a row in another table: "X", or "[TABLE|X]" and "[TABLE:X]" as
 * older releases write it. NULL for NULL. */
static const char *sonic_reference(struct sonic_file *file, const char *text)
{
	if (!text || text[0] != '[')
		return text;
	const size_t n = strlen(text);
	const char *bar = strpbrk(text, "|:");
	if (!bar || text[n - 1] != ']')
		return text;
	return arena_strndup(file->set->arena, bar + 1, n - 1 - (size_t)(bar + 1 - text));
}

/* sonic_port_name - as our configuration takes it: printable, without quotes. Ports of other makers
 * have blanks inside ("fortyGigE 1/50"). */
static bool sonic_port_name(const char *text)
{
	size_t n = 0;
	for (; text[n]; n++) {
		const unsigned char c = (unsigned char)text[n];
		if (c < 0x20 || c == 0x7f || c == '"' || c == '\\')
			return false;
	}
	if (n == 0 || n > PORT_NAME_MAX || text[0] == ' ' || text[n - 1] == ' ')
		return false;
	return text_is_clean(text);
}

/* sonic_port - made when it is new; NULL for no name of a port or too many ports (reported at
 * @row). */
static struct import_port *sonic_port(const struct sonic_row *row, const char *name)
{
	if (!sonic_port_name(name)) {
		sonic_wrong(row, "'%.40s' is no name of a port", name);
		return NULL;
	}
	struct import_port *port = import_port(row->file->set, row->file->device, name, true);
	if (!port)
		sonic_wrong(row, "more than %d ports", IMPORT_PORTS_MAX);
	return port;
}

/*
 * import_thresholds - the lossless priorities of a device and their thresholds. What cannot be used
 * is kept in the rows, and told when all files are read: a later one may still bring it. One
 * thread.
 *
 * import_thresholds - which priorities are lossless, and their thresholds: as configured, and as in
 * force where APPL_DB was given too.
 */

/* sonic_priorities - "3,4" or "3-4" as bits; 0 and an error when it is neither. */
static unsigned sonic_priorities(const struct sonic_row *row, const char *text)
{
	unsigned mask = 0;
	const char *p = text;
	for (;;) {
		int first = *p - '0';
		int last = first;
		bool ok = first >= 0 && first <= 7;
		if (ok && p[1] == '-') {
			p += 2;
			last = *p - '0';
			ok = last >= first && last <= 7;
		}
		if (!ok || (p[1] && p[1] != ',')) {
			sonic_wrong(row,
				"'%.40s' is not a list of priorities; expected 0 to 7, such as 3,4 "
				"or 3-4",
				text);
			return 0;
		}
		for (int i = first; i <= last; i++)
			mask |= 1u << i;
		if (!p[1])
			return mask;
		p += 2;
	}
}

/* ---- what is lossless ---------------------------------------------------- */

/* pfc_read - one row of PORT_QOS_MAP; older releases have several ports in one key. */
static void pfc_read(const struct sonic_row *row)
{
	const char *text = sonic_field(row, "pfc_enable");
	unsigned mask = 0;
	if (text && *text)
		mask = sonic_priorities(row, text);
	if (!mask)
		return;
	row->file->set->lossless |= mask;
	row->file->device->lossless |= mask;
	rw_cleanup(freep) char *ports = rw_strdup(row->key);
	char *rest = ports, *name;
	while ((name = strsep(&rest, ","))) {
		struct import_port *port = sonic_port(row, name);
		for (unsigned i = 0; port && i < IMPORT_PRIORITIES; i++)
			if (mask & 1u << i)
				port->rows[i].lossless = true;
	}
}

static void lossless_read(struct sonic_file *file)
{
	const char *key;
	json_t *json;
	json_object_foreach (sonic_table(file, "PORT_QOS_MAP"), key, json)
		if (strcmp(key, "global") != 0)
			pfc_read(&(struct sonic_row){file, "PORT_QOS_MAP", key, json});
	int64_t mtu;
	const struct sonic_row pattern = sonic_row(file, "LOSSLESS_TRAFFIC_PATTERN", "AZURE");
	if (sonic_whole(&pattern, "mtu", 64, 65535, &mtu))
		file->set->lossless_mtu = (uint64_t)mtu;
}

/* ---- thresholds ---------------------------------------------------------- */

/* wred_field - @own, ECN's own threshold (models from 2026-06-23 on), or @shared with WRED. */
static const char *wred_field(const struct sonic_row *row, const char *own, const char *shared)
{
	return sonic_field(row, own) ? own : shared;
}

/* wred_read - ECN thresholds of a WRED profile: RoCE is green traffic. */
static void wred_read(const struct sonic_row *row, struct import_row *to)
{
	const char *ecn = sonic_field(row, "ecn");
	const char *kmin = wred_field(row, "ecn_green_min_threshold", "green_min_threshold");
	const char *kmax = wred_field(row, "ecn_green_max_threshold", "green_max_threshold");
	int64_t percent = 100; /* the schema's default */
	/* 1. drops instead of marking */
	if (!ecn || strcmp(ecn, "ecn_none") == 0)
		return;
	/* 2. never marks: published configurations turn ECN off like that */
	sonic_whole(row, wred_field(row, "ecn_green_mark_probability", "green_drop_probability"), 0,
		100, &percent);
	if (percent == 0)
		return;
	to->pmax = (double)percent / 100;
	sonic_bytes(row, kmin, &to->kmin);
	sonic_bytes(row, kmax, &to->kmax);
	if (to->kmax && to->kmin > to->kmax)
		sonic_wrong(
			row, "%s %" PRIu64 " is above %s %" PRIu64, kmin, to->kmin, kmax, to->kmax);
}

/* buffer_read - a buffer profile, and its pool in table @pools. */
static void buffer_read(const struct sonic_row *row, const char *pools, struct import_row *to)
{
	const char *pool = sonic_reference(row->file, sonic_field(row, "pool"));
	int64_t exponent;
	sonic_bytes(row, "xoff", &to->headroom);
	sonic_bytes(row, "xon", &to->xon_level);
	sonic_bytes(row, "xon_offset", &to->xon_offset);
	if (sonic_whole(row, "dynamic_th", -8, 8, &exponent))
		to->alpha = exp2((double)exponent);
	to->buffers = IMPORT_BUFFERS_TAKEN;
	if (isnan(to->alpha) && sonic_field(row, "static_th"))
		to->buffers = IMPORT_BUFFERS_FIXED;
	if (!pool)
		return;
	const struct sonic_row pool_row = sonic_row(row->file, pools, pool);
	sonic_bytes(&pool_row, "size", &to->pool);
	sonic_bytes(&pool_row, "xoff", &to->headroom_pool);
}

/* names_port - does "A,B", of @n bytes, hold @port? Older releases have several ports in one key.
 */
static bool names_port(const char *ports, size_t n, const char *port)
{
	const char *end = ports + n;
	for (const char *p = ports; p < end;) {
		size_t one = strcspn(p, ",");
		if (one > (size_t)(end - p))
			one = (size_t)(end - p);
		if (strlen(port) == one && memcmp(p, port, one) == 0)
			return true;
		p += one + 1;
	}
	return false;
}

/* qos_field - of the first row of PORT_QOS_MAP that is for @port and has the field; NULL. */
static const char *qos_field(struct sonic_file *file, const char *port, const char *name)
{
	static const char table[] = "PORT_QOS_MAP";
	const char *key;
	json_t *json;
	json_object_foreach (sonic_table(file, table), key, json)
		if (names_port(key, strlen(key), port) && json_object_get(json, name))
			return sonic_field(&(struct sonic_row){file, table, key, json}, name);
	return NULL;
}

/* import_sonic_mapped - the queue or priority group of @priority by the port's map in @table; the
 * same number when the port has no map. */
static unsigned import_sonic_mapped(struct sonic_file *file, const struct import_port *port,
	const char *map_field, const char *table, unsigned priority)
{
	const char *name = sonic_reference(file, qos_field(file, port->name, map_field));
	char key[4];
	int64_t to;
	if (!name)
		return priority;
	snprintf(key, sizeof(key), "%u", priority);
	const struct sonic_row map = sonic_row(file, table, name);
	if (sonic_whole(&map, key, 0, 63, &to))
		return (unsigned)to;
	return priority;
}

/* key_is_for - is the key "port|numbers", or "host|asic|port|numbers" of a chassis, for @number of
 * @port? APPL_DB writes "port:numbers". */
static bool key_is_for(const char *key, const char *port, unsigned number)
{
	const char *bar = strrchr(key, '|');
	if (!bar)
		bar = strrchr(key, ':');
	if (!bar)
		return false;
	const unsigned first = (unsigned)strtoul(bar + 1, NULL, 10);
	unsigned last = first;
	const char *dash = strchr(bar + 1, '-');
	if (dash)
		last = (unsigned)strtoul(dash + 1, NULL, 10);
	if (number < first || number > last)
		return false;
	const char *ports = key;
	const char *before = memrchr(key, '|', (size_t)(bar - key));
	if (before)
		ports = before + 1;
	return names_port(ports, (size_t)(bar - ports), port);
}

/* import_sonic_bound - what field @name of "TABLE|port|numbers" refers to for this port and number;
 * NULL. */
static const char *import_sonic_bound(struct sonic_file *file, const char *table, const char *name,
	const char *port, unsigned number)
{
	const char *key;
	json_t *json;
	json_object_foreach (sonic_table(file, table), key, json) {
		if (!key_is_for(key, port, number))
			continue;
		const struct sonic_row row = {file, table, key, json};
		return sonic_reference(file, sonic_field(&row, name));
	}
	return NULL;
}

static void ecn_thresholds(struct sonic_file *file, struct import_port *port, unsigned priority)
{
	const unsigned queue = import_sonic_mapped(
		file, port, "pfc_to_queue_map", "MAP_PFC_PRIORITY_TO_QUEUE", priority);
	const char *profile = import_sonic_bound(file, "QUEUE", "wred_profile", port->name, queue);
	if (!profile)
		return;
	const struct sonic_row row = sonic_row(file, "WRED_PROFILE", profile);
	if (row.json)
		wred_read(&row, &port->rows[priority]);
	else
		sonic_warn(&(struct sonic_row){file, "QUEUE", port->name, NULL},
			"priority %u: WRED profile '%.60s' is not in this file: no ECN thresholds "
			"taken",
			priority, profile);
}

static void buffer_thresholds(struct sonic_file *file, struct import_port *port, unsigned priority)
{
	struct import_row *to = &port->rows[priority];
	to->group = import_sonic_mapped(
		file, port, "pfc_to_pg_map", "PFC_PRIORITY_TO_PRIORITY_GROUP_MAP", priority);
	const char *profile =
		import_sonic_bound(file, "BUFFER_PG", "profile", port->name, to->group);
	/* "NULL": the dynamic buffer model makes the profile, and the configuration has none */
	to->buffers = IMPORT_BUFFERS_UNBOUND;
	if (profile && strcmp(profile, "NULL") == 0)
		to->buffers = IMPORT_BUFFERS_NULL;
	else if (profile)
		to->buffers = IMPORT_BUFFERS_TAKEN;
	if (to->buffers != IMPORT_BUFFERS_TAKEN)
		return;
	const struct sonic_row row = sonic_row(file, "BUFFER_PROFILE", profile);
	if (row.json) {
		buffer_read(&row, "BUFFER_POOL", to);
		return;
	}
	to->buffers = IMPORT_BUFFERS_MISSING;
	to->profile = arena_strdup(file->set->arena, profile);
	to->line = sonic_line(&(struct sonic_row){file, "BUFFER_PG", port->name, NULL});
}

/* ---- classes ------------------------------------------------------------- */

/* class_field - of the port's row of PORT_QOS_MAP, else of the row for the whole switch. */
static const char *class_field(
	struct sonic_file *file, const struct import_port *port, const char *name)
{
	const char *own = qos_field(file, port->name, name);
	if (!own)
		own = qos_field(file, "global", name);
	return own ? sonic_reference(file, own) : NULL;
}

/* classes_map - the map @name of @table, whose rows are KEY: VALUE; NULL: it is not there. */
static const uint8_t *classes_map(
	struct sonic_file *file, const char *table, const char *name, unsigned keys)
{
	const struct sonic_row row = sonic_row(file, table, name);
	const char *key;
	json_t *value;
	if (!row.json)
		return NULL;
	uint8_t *map = arena_array(file->set->arena, uint8_t, keys);
	memset(map, CLASS_NO_ROW, keys);
	json_object_foreach ((json_t *)row.json, key, value) {
		int64_t from, to;
		if (unit_int(key, &from, NULL) < 0 || from < 0 || from >= keys)
			sonic_wrong(&row, "'%.40s': expected a number from 0 to %u", key, keys - 1);
		else if (sonic_whole(&row, key, 0, IMPORT_PRIORITIES - 1, &to))
			map[from] = (uint8_t)to;
	}
	return map;
}

/* classes_read - DSCP_TO_TC_MAP and TC_TO_PRIORITY_GROUP_MAP by PORT_QOS_MAP (sonic-yang-models
 * sonic-port-qos-map.yang); a traffic class is the priority. */
static void classes_read(struct sonic_file *file, struct import_port *port)
{
	const char *dscp = class_field(file, port, "dscp_to_tc_map");
	const char *groups = class_field(file, port, "tc_to_pg_map");
	if (dscp) {
		port->trust = "dscp";
		if (sonic_port_name(dscp)) /* printable, without quotes */
			port->class_map = arena_strdup(file->set->arena, dscp);
		port->dscp = classes_map(file, "DSCP_TO_TC_MAP", dscp, CLASS_DSCPS);
	} else if (class_field(file, port, "dot1p_to_tc_map")) {
		port->trust = "pcp";
	}
	if (groups)
		port->groups =
			classes_map(file, "TC_TO_PRIORITY_GROUP_MAP", groups, IMPORT_PRIORITIES);
}

/* import_thresholds_read - of CONFIG_DB: PORT_QOS_MAP, QUEUE, WRED_PROFILE, BUFFER_PG,
 * BUFFER_PROFILE, BUFFER_POOL. */
static void import_thresholds_read(struct sonic_file *file)
{
	struct import_device *device = file->device;
	lossless_read(file);
	for (size_t i = 0; i < device->n_ports && file->errors->n == file->n_before; i++) {
		struct import_port *port = &device->ports[i];
		classes_read(file, port);
		for (unsigned priority = 0; priority < IMPORT_PRIORITIES; priority++) {
			if (!port->rows[priority].lossless)
				continue;
			ecn_thresholds(file, port, priority);
			buffer_thresholds(file, port, priority);
		}
	}
}

/* ---- what is in force ---------------------------------------------------- */

/* force_read - one priority: what APPL_DB has replaces what the configuration said. */
static void force_read(
	struct sonic_file *file, const struct import_port *port, struct import_row *to)
{
	const char *profile =
		import_sonic_bound(file, "BUFFER_PG_TABLE", "profile", port->name, to->group);
	const struct sonic_row row = sonic_row(file, "BUFFER_PROFILE_TABLE", str_or(profile, ""));
	if (!profile || !row.json) {
		if (to->buffers == IMPORT_BUFFERS_NULL)
			to->buffers = IMPORT_BUFFERS_NOT_IN_FORCE;
		return;
	}
	to->headroom = to->xon_level = to->xon_offset = to->pool = to->headroom_pool = 0;
	to->alpha = NAN;
	buffer_read(&row, "BUFFER_POOL_TABLE", to);
}

/* import_force_read - of APPL_DB: BUFFER_PG_TABLE, BUFFER_PROFILE_TABLE, BUFFER_POOL_TABLE. They
 * win. */
static void import_force_read(struct sonic_file *file)
{
	struct import_device *device = file->device;
	for (size_t i = 0; i < device->n_ports; i++)
		for (unsigned priority = 0; priority < IMPORT_PRIORITIES; priority++)
			if (device->ports[i].rows[priority].lossless)
				force_read(
					file, &device->ports[i], &device->ports[i].rows[priority]);
}

/* ---- what could not be used ---------------------------------------------- */

/* around the priorities; NULL: nothing to tell */
static const struct {
	const char *before, *after;
} import_unused[] = {
	[IMPORT_BUFFERS_NULL] = {"the buffer profile of ",
		" is NULL (dynamic buffer model): no headroom, xon, alpha and pool taken; what is "
		"in force is in APPL_DB: give a dump of it behind this file (sonic-db-dump -n "
		"APPL_DB -y)"},
	[IMPORT_BUFFERS_UNBOUND] = {"no buffer profile for ",
		": no headroom, xon, alpha and pool taken"},
	[IMPORT_BUFFERS_NOT_IN_FORCE] = {"no buffer profile for ",
		" is in force (APPL_DB), as on ports that are shut down: no headroom, xon, alpha "
		"and pool taken"},
	[IMPORT_BUFFERS_FIXED] = {"the threshold of ",
		" is a fixed size (static_th): no alpha taken"},
};

__attribute__((format(printf, 5, 6))) static void unused_add(const struct import_device *device,
	int line, struct err_list *to, const char *table, const char *fmt, ...)
{
	struct err e = {0};
	char text[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	err_at(&e, -EINVAL, device->file, line, 0, "%s: %s", table, text);
	err_list_add(to, &e);
}

/* priorities_text - "priorities 3, 4". */
static const char *priorities_text(unsigned mask, char *buf, size_t size)
{
	const bool several = (mask & (mask - 1)) != 0;
	size_t n = (size_t)snprintf(buf, size, "priorit%s", several ? "ies" : "y");
	const char *before = " ";
	for (unsigned i = 0; i < IMPORT_PRIORITIES && n < size; i++) {
		if (!(mask & 1u << i))
			continue;
		n += (size_t)snprintf(buf + n, size - n, "%s%u", before, i);
		before = ", ";
	}
	return buf;
}

/* unused_of_port - the priorities of @port that are in this state, as bits. */
static unsigned unused_of_port(const struct import_port *port, enum import_buffers buffers)
{
	unsigned mask = 0;
	for (unsigned i = 0; i < IMPORT_PRIORITIES; i++)
		if (port->rows[i].lossless && port->rows[i].buffers == buffers)
			mask |= 1u << i;
	return mask;
}

static void unused_buffers(
	const struct import_device *device, enum import_buffers buffers, struct err_list *to)
{
	char priorities[64];
	unsigned mask = 0;
	size_t n = 0;
	for (size_t i = 0; i < device->n_ports; i++) {
		const unsigned of_port = unused_of_port(&device->ports[i], buffers);
		mask |= of_port;
		n += of_port != 0;
	}
	if (n == 0)
		return;
	unused_add(device, 0, to, "BUFFER_PG", "%zu port%s: %s%s%s", n, str_if(n > 1, "s"),
		import_unused[buffers].before,
		priorities_text(mask, priorities, sizeof(priorities)),
		import_unused[buffers].after);
}

/* unused_profiles - profiles that are named, and in no file. */
static void unused_profiles(const struct import_device *device, struct err_list *to)
{
	for (size_t i = 0; i < device->n_ports; i++)
		for (unsigned priority = 0; priority < IMPORT_PRIORITIES; priority++) {
			const struct import_port *port = &device->ports[i];
			const struct import_row *row = &port->rows[priority];
			char at[300];
			if (row->buffers != IMPORT_BUFFERS_MISSING)
				continue;
			snprintf(at, sizeof(at), "BUFFER_PG|%s", port->name);
			unused_add(device, row->line, to, at,
				"priority %u: buffer profile '%.60s' is not in this file: no "
				"headroom and alpha taken",
				priority, row->profile);
		}
}

static void unused_cables(const struct import_device *device, struct err_list *to)
{
	size_t n = 0;
	for (size_t i = 0; i < device->n_ports; i++)
		n += device->ports[i].cable_m && !device->ports[i].peer;
	if (n)
		unused_add(device, 0, to, "CABLE_LENGTH",
			"%zu port%s: the length is not used: the neighbour is not known "
			"(DEVICE_NEIGHBOR)",
			n, str_if(n > 1, "s"));
}

void import_finish(const struct import_set *set, struct err_list *warnings)
{
	for (size_t i = 0; i < set->n_devices; i++) {
		const struct import_device *device = set->devices[i];
		if (!str_eq(device->profile, "sonic"))
			continue;
		if (device->n_ports && !device->lossless)
			unused_add(device, 0, warnings, "PORT_QOS_MAP",
				"no priority is lossless (pfc_enable): no thresholds taken");
		unused_profiles(device, warnings);
		for (size_t k = 0; k < rw_countof(import_unused); k++)
			if (import_unused[k].before)
				unused_buffers(device, (enum import_buffers)k, warnings);
		unused_cables(device, warnings);
	}
}

#define DEVICES_MAX 4096
/* longest name that the configuration takes */
#define DEVICE_NAME_MAX 63

bool import_is_device_name(const char *text)
{
	size_t n = 0;
	for (; text[n]; n++)
		if (!isalnum((unsigned char)text[n]) && !strchr("._-", text[n]))
			return false;
	return n > 0 && n <= DEVICE_NAME_MAX && strcmp(text, "host") != 0;
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

/* sonic_address - the management address: @known, by a neighbour's file, when it is IPv4; else the
 * file's own, IPv4 where there are both. */
static const char *sonic_address(struct sonic_file *file, const char *known)
{
	const char *address = known, *key;
	json_t *value;
	json_object_foreach (sonic_table(file, "MGMT_INTERFACE"), key, value) {
		const char *bar = strchr(key, '|'); /* "eth0|192.0.2.1/24" */
		if (!bar)
			continue;
		const char *one = address_of(file->set->arena, bar + 1);
		if (*one && (!*address || strchr(address, ':')))
			address = one;
	}
	return address;
}

static uint64_t sonic_cell_bytes(const struct sonic_file *file, const char *sku)
{
	if (!file->set->profiles)
		return 0;
	const struct tune_asic *asic = profiles_asic(file->set->profiles, sku);
	if (!asic)
		return 0;
	return (uint64_t)asic->cell_bytes;
}

/* device_read - whose file it is; false when that is not known, or was read before. */
static bool device_read(struct sonic_file *file)
{
	const struct sonic_row row = sonic_row(file, "DEVICE_METADATA", "localhost");
	struct import_set *set = file->set;
	const char *name = sonic_field(&row, "hostname");
	if (!name) {
		sonic_wrong(&row, "hostname is missing; it names the device");
		return false;
	}
	if (!import_is_device_name(name)) {
		sonic_wrong(&row,
			"hostname: '%.80s' is not a name; expected letters, digits and . _ - (at "
			"most %d)",
			name, DEVICE_NAME_MAX);
		return false;
	}
	if (set->n_devices >= DEVICES_MAX) {
		sonic_wrong(&row, "more than %d devices", DEVICES_MAX);
		return false;
	}
	struct import_device *device = import_device(set, name);
	if (device->own) {
		sonic_wrong(&row, "hostname: '%s' was in another file already", name);
		return false;
	}
	file->device = device;
	device->own = true;
	device->profile = "sonic";
	device->host = false;
	device->type = arena_strdup(set->arena, str_or(sonic_field(&row, "type"), ""));
	device->sku = arena_strdup(set->arena, str_or(sonic_field(&row, "hwsku"), ""));
	device->cell_bytes = sonic_cell_bytes(file, device->sku);
	device->address = sonic_address(file, device->address);
	device->file = arena_strdup(set->arena, file->name);
	set->newest = device;
	return true;
}

static void ports_read(struct sonic_file *file)
{
	const char *key;
	json_t *json;
	json_object_foreach (sonic_table(file, "PORT"), key, json) {
		const struct sonic_row row = sonic_row(file, "PORT", key);
		int64_t mbps, mtu;
		if (!row.json)
			continue;
		struct import_port *port = sonic_port(&row, key);
		if (!port)
			continue;
		port->alias =
			arena_strdup(file->set->arena, str_or(sonic_field(&row, "alias"), ""));
		if (sonic_whole(&row, "speed", 1, 10000000, &mbps))
			port->speed_bps = (uint64_t)mbps * 1000000;
		if (sonic_whole(&row, "mtu", 64, 65535, &mtu))
			port->mtu_bytes = (uint64_t)mtu;
	}
}

/* cable_read - "40m"; a fraction of a metre is refused, and more than 200 km. */
static void cable_read(const struct sonic_row *row, const json_t *value)
{
	const char *text = str_or(json_string_value(value), "no text");
	uint64_t mm = 0;
	struct import_port *port = sonic_port(row, row->key);
	if (!port)
		return;
	if (unit_length(text, &mm, NULL) < 0 || mm % 1000 || mm > 200000000)
		sonic_wrong(row, "'%.40s' is not a length; expected metres, such as 40m", text);
	else
		port->cable_m = (unsigned)(mm / 1000);
}

static void cables_read(struct sonic_file *file)
{
	const char *name, *port;
	json_t *lengths, *value;
	json_object_foreach (sonic_table(file, "CABLE_LENGTH"), name, lengths)
		json_object_foreach (lengths, port, value)
			cable_read(&(struct sonic_row){file, "CABLE_LENGTH", port, lengths}, value);
}

/* is_switch - by its type. Without one by its port: SONiC calls a switch's ports EthernetN, a
 * server does not. */
static bool is_switch(const char *type, const char *port)
{
	if (type)
		return strstr(type, "Router") || strstr(type, "Switch");
	return port && strncmp(port, "Ethernet", 8) == 0;
}

/* neighbour_describe - what this file says of a device whose own file was not read yet. */
static void neighbour_describe(struct sonic_file *file, const char *name, const char *port)
{
	struct import_set *set = file->set;
	const struct sonic_row row = sonic_row(file, "DEVICE_NEIGHBOR_METADATA", name);
	const char *type = sonic_field(&row, "type");
	const char *address = sonic_field(&row, "mgmt_addr");
	if (set->n_devices >= DEVICES_MAX)
		return;
	struct import_device *device = import_device(set, name);
	if (device->own)
		return;
	device->host = !is_switch(type, port);
	if (type)
		device->type = arena_strdup(set->arena, type);
	if (address && *address)
		device->address = address_of(set->arena, address);
}

static void neighbours_read(struct sonic_file *file)
{
	static const char table[] = "DEVICE_NEIGHBOR";
	const char *key;
	json_t *json;
	json_object_foreach (sonic_table(file, table), key, json) {
		const struct sonic_row row = {file, table, key, json};
		const char *name = sonic_field(&row, "name");
		const char *peer_port = sonic_field(&row, "port");
		struct import_port *port = sonic_port(&row, key);
		if (!port)
			continue;
		const bool port_ok = !peer_port || !*peer_port || sonic_port_name(peer_port);
		if (!name || !import_is_device_name(name) || !port_ok) {
			sonic_wrong(&row,
				"name: '%.80s' is not a name; expected letters, digits and . _ -",
				str_or(name, ""));
			continue;
		}
		port->peer = arena_strdup(file->set->arena, name);
		port->peer_port = arena_strdup(file->set->arena, str_or(peer_port, ""));
		neighbour_describe(file, name, peer_port);
	}
}

/* ---- the file ------------------------------------------------------------ */

/* sonic_parse - the caller frees; NULL and an error when it is no object. */
static json_t *sonic_parse(const char *text, size_t n, const char *name, struct err_list *errors)
{
	static const char expected[] = "expected a config_db.json: an object of tables";
	struct err e = {0};
	json_error_t at;
	json_t *root = json_loadb(text, n, JSON_REJECT_DUPLICATES, &at);
	if (json_is_object(root))
		return root;
	if (root)
		err_at(&e, -EINVAL, name, 1, 0, "this is another kind of JSON; %s", expected);
	else
		err_at(&e, -EINVAL, name, at.line, at.column, "%s; %s", at.text, expected);
	err_list_add(errors, &e);
	json_decref(root);
	return NULL;
}

/* sonic_has - is one of @tables there? */
static bool sonic_has(const struct sonic_file *file, const char *const *tables)
{
	for (; *tables; tables++)
		if (json_object_get(file->root, *tables))
			return true;
	return false;
}

static void config_read(struct sonic_file *file)
{
	struct import_set *set = file->set;
	if (!device_read(file))
		return;
	rw_grow(set->files, set->n_files, set->cap_files);
	set->files[set->n_files++] = arena_strdup(set->arena, file->name);
	ports_read(file);
	cables_read(file);
	neighbours_read(file);
	import_thresholds_read(file);
}

/* tables_read - by what there is: CONFIG_DB, APPL_DB, or both in one file. */
static void tables_read(struct sonic_file *file)
{
	static const char *const configured[] = {"DEVICE_METADATA", "PORT", "PORT_QOS_MAP",
		"BUFFER_PG", "DEVICE_NEIGHBOR", "CABLE_LENGTH", "MGMT_INTERFACE", NULL};
	static const char *const in_force[] = {"BUFFER_PG_TABLE", NULL};
	const bool has_force = sonic_has(file, in_force);
	const bool has_config = sonic_has(file, configured);
	const char *first = json_object_iter_key(json_object_iter((json_t *)file->root));
	file->device = file->set->newest;
	if (!has_config && !has_force && first) {
		sonic_wrong(&(struct sonic_row){file, first, NULL, NULL},
			"none of the tables that are read is here; expected a config_db.json or a "
			"dump of CONFIG_DB, and behind it, where there is one, a dump of APPL_DB");
		return;
	}
	if (has_config || !has_force)
		config_read(file);
	else if (!file->device)
		sonic_wrong(&(struct sonic_row){file, in_force[0], NULL, NULL},
			"this is APPL_DB, which does not name its device; give it behind the "
			"config_db.json of its switch");
	if (has_force && file->device && file->errors->n == file->n_before)
		import_force_read(file);
}

int import_sonic(struct import_set *set, const char *text, size_t n, const char *file,
	struct err_list *errors, struct err_list *warnings)
{
	json_t *root = sonic_parse(text, n, file, errors);
	if (!root)
		return -EINVAL;
	json_t *tables = import_dump_tables(root);
	struct sonic_file in = {.set = set,
		.root = tables,
		.text = text,
		.name = file,
		.errors = errors,
		.warnings = warnings,
		.n_before = errors->n};
	tables_read(&in);
	json_decref(tables);
	json_decref(root);
	if (errors->n > in.n_before)
		return -EINVAL;
	return 0;
}
