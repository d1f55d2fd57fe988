/* snmp_ports - drafts of ports are collected from the name tables of a poll, and become the map of
 * ports when all of them were read. */
#include "collectors/snmp/snmp_ports.h"

#include "db/model/metric.h"

#define NAME_TWICE UINT64_MAX

struct port_draft { /* a port as the names say it, before the new map is made */
	uint32_t ifindex;
	char *name, *descr, *alias;
	uint64_t speed_bps;
};

struct snmp_ports {
	struct entities *entities;
	const struct profile *profile;
	char *device;
	struct snmp_port_entry **v; /* by ifIndex order of appearance */
	size_t n;
	struct map *by_index;
	struct smap *by_name; /* name, ifName, ifDescr -> position; NAME_TWICE for none of them */
	struct port_draft *drafts;
	size_t n_drafts, cap_drafts;
};

struct snmp_ports *snmp_ports_new(
	struct entities *entities, const char *device, const struct profile *profile)
{
	struct snmp_ports *ports = rw_calloc(1, sizeof(*ports));
	*ports = (struct snmp_ports){.entities = entities,
		.profile = profile,
		.device = rw_strdup(device),
		.by_index = map_new(),
		.by_name = smap_new()};
	return ports;
}

static void port_free(struct snmp_ports *ports, struct snmp_port_entry *port)
{
	entities_drop(ports->entities, port->entity);
	free(port->name);
	free(port->alias);
	free(port->told);
	free(port->descr);
	free(port);
}

static void drafts_clear(struct snmp_ports *ports)
{
	for (size_t i = 0; i < ports->n_drafts; i++) {
		free(ports->drafts[i].name);
		free(ports->drafts[i].descr);
		free(ports->drafts[i].alias);
	}
	ports->n_drafts = 0;
}

void snmp_ports_free(struct snmp_ports *ports)
{
	if (!ports)
		return;
	for (size_t i = 0; i < ports->n; i++)
		port_free(ports, ports->v[i]);
	drafts_clear(ports);
	free(ports->v);
	free(ports->drafts);
	map_free(ports->by_index);
	smap_free(ports->by_name);
	free(ports->device);
	free(ports);
}

/* ---- names --------------------------------------------------------------- */

bool snmp_value_usable(const struct profile_value *value, uint64_t raw)
{
	for (size_t i = 0; i < value->n_ignore; i++)
		if (value->ignore[i] == raw)
			return false;
	return true;
}

static struct port_draft *draft_of(struct snmp_ports *ports, uint32_t ifindex)
{
	/* tables come in index order: the one wanted is near the end, or the first of a new pass */
	for (size_t i = ports->n_drafts; i-- > 0;) {
		if (ports->drafts[i].ifindex == ifindex)
			return &ports->drafts[i];
		if (ports->drafts[i].ifindex < ifindex && i == ports->n_drafts - 1)
			break;
	}
	rw_grow(ports->drafts, ports->n_drafts, ports->cap_drafts);
	ports->drafts[ports->n_drafts] = (struct port_draft){.ifindex = ifindex};
	return &ports->drafts[ports->n_drafts++];
}

/* draft_text - which text of a draft this value is, after value_is_name(). */
static char **draft_text(struct port_draft *draft, const struct profile_value *value)
{
	switch (value->attribute) {
	case ATTRIBUTE_PORT_NAME: return &draft->name;
	case ATTRIBUTE_PORT_DESCR: return &draft->descr;
	default: return &draft->alias;
	}
}

static bool value_is_name(const struct profile_value *value)
{
	return value->attribute == ATTRIBUTE_PORT_NAME ||
		value->attribute == ATTRIBUTE_PORT_DESCR ||
		value->attribute == ATTRIBUTE_PORT_ALIAS;
}

static void draft_take_speed(
	struct port_draft *draft, const struct profile_value *value, const struct snmp_value *cell)
{
	if (!snmp_type_is_number(cell->type) || !snmp_value_usable(value, cell->u))
		return;
	if (value->fallback && draft->speed_bps)
		return;
	draft->speed_bps = cell->u * value->mul / value->div;
}

static void draft_take_text(
	char **text, const struct snmp_rows *rows, const struct snmp_value *cell)
{
	char clean[SNMP_NAME_MAX];
	size_t n;
	const uint8_t *bytes = snmp_rows_bytes(rows, cell, &n);
	if (!bytes || !*snmp_text_clean(clean, sizeof(clean), bytes, n))
		return;
	free(*text);
	*text = rw_strdup(clean);
}

static void draft_take_row(struct snmp_ports *ports, const struct profile_table *table,
	const struct snmp_rows *rows, size_t row, uint32_t ifindex)
{
	for (size_t i = 0; i < table->n_values; i++) {
		const struct profile_value *value = &table->values[i];
		const struct snmp_value *cell = snmp_rows_value(rows, row, value->column);
		const bool speed = value->metric == M_PORT_SPEED_BPS;
		if (!cell || !(speed || value_is_name(value)))
			continue;
		struct port_draft *draft = draft_of(ports, ifindex);
		if (speed)
			draft_take_speed(draft, value, cell);
		else
			draft_take_text(draft_text(draft, value), rows, cell);
	}
}

void snmp_ports_names(
	struct snmp_ports *ports, const struct profile_table *table, const struct snmp_rows *rows)
{
	if (table->n_parts != 1 || table->parts[0] != PART_PORT)
		return;
	for (size_t row = 0; row < snmp_rows_count(rows); row++) {
		struct snmp_oid index = snmp_rows_index(rows, row);
		if (index.n == 1)
			draft_take_row(ports, table, rows, row, index.v[0]);
	}
}

/* ---- the map ------------------------------------------------------------- */

/* The native name that the device tells: ifName, else ifDescr; NULL when neither is one. */
static const char *draft_told(const struct snmp_ports *ports, const struct port_draft *draft)
{
	const char *const told[] = {draft->name, draft->descr};
	for (size_t i = 0; i < rw_countof(told); i++)
		if (told[i] && profile_port_name_told(ports->profile, draft->ifindex, told[i]))
			return told[i];
	return NULL;
}

/* draft_name - the native name that the device tells, else the one by the profile's rule, else
 * ifName, ifDescr, the index. @ret_alias: what else it is called. */
static const char *draft_name(const struct snmp_ports *ports, const struct port_draft *draft,
	char buf[SNMP_NAME_MAX], const char **ret_alias)
{
	const char *native = draft_told(ports, draft);
	*ret_alias = str_or(draft->alias, "");
	if (!native && profile_port_name_of(ports->profile, draft->ifindex, buf, SNMP_NAME_MAX))
		native = buf;
	if (native) {
		if (draft->name && strcmp(draft->name, native) != 0)
			*ret_alias = draft->name;
		return native;
	}
	if (draft->name)
		return draft->name;
	if (draft->descr)
		return draft->descr;
	snprintf(buf, SNMP_NAME_MAX, "%u", draft->ifindex);
	return buf;
}

/* text_set - true when it is another text than before. */
static bool text_set(char **slot, const char *text)
{
	if (*slot && strcmp(*slot, text) == 0)
		return false;
	free(*slot);
	*slot = rw_strdup(text);
	return true;
}

/* port_take - the port of this index in the new map: the old one if it still has the name. */
static struct snmp_port_entry *port_take(struct snmp_ports *ports, const struct port_draft *draft,
	const char *name, const char *alias)
{
	uint64_t at;
	struct snmp_port_entry *port = NULL;
	if (map_get(ports->by_index, draft->ifindex, &at))
		port = ports->v[at];
	if (port && strcmp(port->name, name) == 0) {
		ports->v[at] = NULL; /* kept: not to be freed with the old map */
	} else {
		port = rw_calloc(1, sizeof(*port));
		port->fresh = ports->n > 0;
		port->seen.ifindex = draft->ifindex;
		port->entity = entities_intern(ports->entities, ports->device, name, PRIO_NONE);
		entities_hold(ports->entities, port->entity);
		port->seen.changed = true;
	}
	bool changed = port->seen.changed;
	if (text_set(&port->name, name))
		changed = true;
	if (text_set(&port->alias, alias))
		changed = true;
	text_set(&port->told, str_or(draft->name, ""));
	text_set(&port->descr, str_or(draft->descr, ""));
	if (port->seen.speed_bps != draft->speed_bps)
		changed = true;
	port->seen = (struct snmp_port){.ifindex = draft->ifindex,
		.name = port->name,
		.alias = port->alias,
		.speed_bps = draft->speed_bps,
		.changed = changed};
	return port;
}

/* name_put - a text by which a port is found. A second port of that text makes it useless, unless
 * @weak: then the first one keeps it. */
static void name_put(struct snmp_ports *ports, const char *text, uint64_t at, bool weak)
{
	uint64_t known;
	if (!*text)
		return;
	if (!smap_get(ports->by_name, text, strlen(text), &known))
		smap_put(ports->by_name, text, strlen(text), at);
	else if (known != at && !weak)
		smap_put(ports->by_name, text, strlen(text), NAME_TWICE);
}

static void names_replace(struct snmp_ports *ports)
{
	smap_free(ports->by_name);
	ports->by_name = smap_new();
	for (size_t i = 0; i < ports->n; i++)
		name_put(ports, ports->v[i]->name, i, false);
	for (size_t i = 0; i < ports->n; i++)
		name_put(ports, ports->v[i]->told, i, true);
	for (size_t i = 0; i < ports->n; i++)
		name_put(ports, ports->v[i]->descr, i, true);
}

static void map_replace(struct snmp_ports *ports, struct snmp_port_entry **v, size_t n)
{
	for (size_t i = 0; i < ports->n; i++)
		if (ports->v[i])
			port_free(ports, ports->v[i]);
	free(ports->v);
	ports->v = v;
	ports->n = n;
	map_clear(ports->by_index);
	for (size_t i = 0; i < ports->n; i++)
		map_put(ports->by_index, ports->v[i]->seen.ifindex, i);
	names_replace(ports);
}

/* port_is_known - is it in the map as it is, or was it not long ago? */
static bool port_is_known(
	const struct snmp_ports *ports, const struct port_draft *draft, const char *name)
{
	uint64_t at;
	if (map_get(ports->by_index, draft->ifindex, &at) && ports->v[at] &&
		strcmp(ports->v[at]->name, name) == 0)
		return true;
	return entities_find(ports->entities, ports->device, name, PRIO_NONE) != ENTITY_NONE;
}

/* drafts_room - how many ports may be new, beside those that are known. */
static size_t drafts_room(const struct snmp_ports *ports)
{
	const size_t most = entities_limits(ports->entities)->ports;
	size_t known = 0;
	if (most == 0)
		return SIZE_MAX;
	for (size_t i = 0; i < ports->n_drafts; i++) {
		char buf[SNMP_NAME_MAX];
		const char *alias;
		known += port_is_known(ports, &ports->drafts[i],
			draft_name(ports, &ports->drafts[i], buf, &alias));
	}
	if (known >= most)
		return 0;
	return most - known;
}

/* port_wanted - false for one of too many: a switch that invents names, or shows more ports than it
 * may, keeps those that are known; the rest is not followed, and told. */
static bool port_wanted(
	struct snmp_ports *ports, const struct port_draft *draft, const char *name, size_t *room)
{
	if (port_is_known(ports, draft, name))
		return true;
	if (*room == 0) {
		entities_refuse(ports->entities, ports->device);
		return false;
	}
	--*room;
	return entities_intern(ports->entities, ports->device, name, PRIO_NONE) != ENTITY_NONE;
}

bool snmp_ports_make(struct snmp_ports *ports)
{
	const size_t n = ports->n_drafts;
	struct snmp_port_entry **v = rw_calloc(n + 1, sizeof(*v));
	struct smap *names = smap_new();
	size_t taken_n = 0, room = drafts_room(ports);
	bool changed = false;
	for (size_t i = 0; i < n; i++) {
		const struct port_draft *draft = &ports->drafts[i];
		char buf[SNMP_NAME_MAX], unique[SNMP_NAME_MAX + 16];
		const char *alias, *name = draft_name(ports, draft, buf, &alias);
		uint64_t taken;
		/* two ports of one name: the index makes the second one unique */
		if (smap_get(names, name, strlen(name), &taken)) {
			snprintf(unique, sizeof(unique), "%s@%u", name, draft->ifindex);
			name = unique;
		}
		smap_put(names, name, strlen(name), 1);
		if (!port_wanted(ports, draft, name, &room))
			continue;
		v[taken_n] = port_take(ports, draft, name, alias);
		changed = changed || v[taken_n]->seen.changed;
		taken_n++;
	}
	changed = changed || taken_n != ports->n;
	smap_free(names);
	map_replace(ports, v, taken_n);
	drafts_clear(ports);
	return changed;
}

void snmp_ports_begin(struct snmp_ports *ports)
{
	for (size_t i = 0; i < ports->n; i++) {
		ports->v[i]->discontinued = false;
		ports->v[i]->fresh = false;
	}
}

void snmp_ports_reported(struct snmp_ports *ports)
{
	for (size_t i = 0; i < ports->n; i++)
		ports->v[i]->seen.changed = false;
}

size_t snmp_ports_count(const struct snmp_ports *ports)
{
	return ports->n;
}

const struct snmp_port *snmp_ports_at(const struct snmp_ports *ports, size_t i)
{
	assert(i < ports->n);
	return &ports->v[i]->seen;
}

struct snmp_port_entry *snmp_ports_find(const struct snmp_ports *ports, uint32_t ifindex)
{
	uint64_t at;
	if (map_get(ports->by_index, ifindex, &at))
		return ports->v[at];
	return NULL;
}

struct snmp_port_entry *snmp_ports_named(const struct snmp_ports *ports, const char *text)
{
	uint64_t at;
	if (smap_get(ports->by_name, text, strlen(text), &at) && at != NAME_TWICE)
		return ports->v[at];
	return NULL;
}
