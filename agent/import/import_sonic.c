/* import_sonic - reads one config_db.json, table by table, into the devices and ports of a set. */
#include "agent/import/import_dump.h"
#include "agent/import/import_rows.h"
#include "agent/import/import_thresholds.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/text_clean.h"
#include "agent/base/str.h"
#include "config/profile/profile.h"
#include "config/profile/profile_tune.h"

#define DEVICES_MAX 4096
/* longest name that the configuration takes */
#define DEVICE_NAME_MAX 63

/* is_device_name - as our configuration takes it; "host" is a word of its own there. */
static bool is_device_name(const char *text)
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
	if (!is_device_name(name)) {
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
		int64_t mbps;
		if (!row.json)
			continue;
		struct import_port *port = sonic_port(&row, key);
		if (!port)
			continue;
		port->alias =
			arena_strdup(file->set->arena, str_or(sonic_field(&row, "alias"), ""));
		if (sonic_whole(&row, "speed", 1, 10000000, &mbps))
			port->speed_bps = (uint64_t)mbps * 1000000;
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
		if (!name || !is_device_name(name) || !port_ok) {
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
