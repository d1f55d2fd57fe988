/* import_thresholds - which priorities are lossless, and their thresholds: as configured, and as in
 * force where APPL_DB was given too. */
#include "agent/import/import_thresholds.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/str.h"

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

/* wred_read - ECN thresholds of a WRED profile: RoCE is green traffic. */
static void wred_read(const struct sonic_row *row, struct import_row *to)
{
	const char *ecn = sonic_field(row, "ecn");
	int64_t percent = 100; /* the schema's default */
	/* 1. drops instead of marking */
	if (!ecn || strcmp(ecn, "ecn_none") == 0)
		return;
	/* 2. never marks: published configurations turn ECN off like that */
	sonic_whole(row, "green_drop_probability", 0, 100, &percent);
	if (percent == 0)
		return;
	to->pmax = (double)percent / 100;
	sonic_bytes(row, "green_min_threshold", &to->kmin);
	sonic_bytes(row, "green_max_threshold", &to->kmax);
	if (to->kmax && to->kmin > to->kmax)
		sonic_wrong(row,
			"green_min_threshold %" PRIu64 " is above green_max_threshold %" PRIu64,
			to->kmin, to->kmax);
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

void import_thresholds_read(struct sonic_file *file)
{
	struct import_device *device = file->device;
	lossless_read(file);
	for (size_t i = 0; i < device->n_ports && file->errors->n == file->n_before; i++) {
		struct import_port *port = &device->ports[i];
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
	to->headroom = to->xon_level = to->xon_offset = to->pool = 0;
	to->alpha = NAN;
	buffer_read(&row, "BUFFER_POOL_TABLE", to);
}

void import_force_read(struct sonic_file *file)
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

static void unused_add(const struct import_device *device, int line, struct err_list *to,
	const char *table, const char *fmt, ...) __attribute__((format(printf, 5, 6)));
static void unused_add(const struct import_device *device, int line, struct err_list *to,
	const char *table, const char *fmt, ...)
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
		if (!device->own)
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
