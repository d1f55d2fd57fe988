/* snmp_decode - see the header. */
#include "collectors/snmp/snmp_decode.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/map.h"
#include "collectors/target/counter_check.h"
#include "collectors/snmp/snmp_sensor.h"
#include "db/model/metric.h"

#define NAME_MAX_BYTES 96
#define PRIORITIES 8
#define CELL_MAX_BYTES 65536
#define LINE_LEAST_BPS                                                                             \
	100000000 /* agents say 10 Mb/s of what has no line: loopback, bridges, tunnels */

struct port {
	struct snmp_port seen; /* what the outside may look at; name and alias are owned */
	char *name, *alias;
	uint32_t entity;
	uint32_t priority[PRIORITIES]; /* entities, 0 = not yet interned */
	uint64_t discontinuity;
	bool has_discontinuity, discontinued; /* discontinued: in this poll */
	/* new in this poll: its first counters have no predecessor */
	bool fresh;
};

struct draft { /* a port as the names say it, before the new map is made */
	uint32_t ifindex;
	char *name, *descr, *alias;
	uint64_t speed_bps;
};

struct pending { /* one metric of one entity, while a row (or table) is read */
	uint32_t entity;
	int metric;
	const struct port *port;
	uint64_t sum;
	double fsum;
	uint64_t mask; /* contributors */
	unsigned needed; /* how many contributors a difference needs; 0 = any */
	bool wrap32, fallback, estimated;
};

/* The sums of the table that is being read. One for all decoders (loop thread): it is in use only
 * inside of snmp_decode_table(), and a thousand devices need not keep one each. */
static struct {
	struct pending *v;
	size_t n, cap;
	struct map *at; /* (entity, metric) -> position in v, for tables that add rows up */
	unsigned refs; /* decoders */
} sums;

struct snmp_decoder {
	struct entities *entities;
	const struct profile *profile;
	char *device;
	uint64_t cell_bytes;
	bool cell_told; /* by the device, not only by the profile */
	bool cell_assumed; /* from the configuration */
	struct port **ports; /* by ifIndex order of appearance */
	size_t n_ports, cap_ports;
	struct map *by_index;
	struct draft *drafts;
	size_t n_drafts, cap_drafts;
	struct map *made_of; /* (entity, metric) -> contributors last time */
	int64_t t_ns; /* of the poll, 0 = not said */
	/* (entity, metric) -> position in checks, for counters that have a bound */
	struct map *check_at;
	struct counter_check *checks;
	size_t n_checks, cap_checks;
	struct snmp_decode_stats stats;
};

struct snmp_decoder *snmp_decoder_new(
	struct entities *entities, const char *device, const struct profile *profile)
{
	struct snmp_decoder *d = rw_calloc(1, sizeof(*d));
	*d = (struct snmp_decoder){.entities = entities,
		.profile = profile,
		.device = rw_strdup(device),
		.cell_bytes = profile->cell_bytes,
		.by_index = map_new(),
		.made_of = map_new(),
		.check_at = map_new()};
	if (sums.refs++ == 0)
		sums.at = map_new();
	return d;
}

static void port_free(struct port *port)
{
	free(port->name);
	free(port->alias);
	free(port);
}

static void drafts_clear(struct snmp_decoder *decoder)
{
	for (size_t i = 0; i < decoder->n_drafts; i++) {
		free(decoder->drafts[i].name);
		free(decoder->drafts[i].descr);
		free(decoder->drafts[i].alias);
	}
	decoder->n_drafts = 0;
}

void snmp_decoder_free(struct snmp_decoder *decoder)
{
	if (!decoder)
		return;
	for (size_t i = 0; i < decoder->n_ports; i++)
		port_free(decoder->ports[i]);
	drafts_clear(decoder);
	free(decoder->ports);
	free(decoder->drafts);
	map_free(decoder->by_index);
	map_free(decoder->made_of);
	if (--sums.refs == 0) {
		map_free(sums.at);
		free(sums.v);
		sums.at = NULL;
		sums.v = NULL;
		sums.n = sums.cap = 0;
	}
	map_free(decoder->check_at);
	free(decoder->checks);
	free(decoder->device);
	free(decoder);
}

void snmp_decode_cell_told(struct snmp_decoder *decoder, uint64_t cell_bytes)
{
	if (cell_bytes == 0 || cell_bytes > CELL_MAX_BYTES)
		return;
	decoder->cell_bytes = cell_bytes;
	decoder->cell_told = true;
	decoder->cell_assumed = false;
}

void snmp_decode_cell_assumed(struct snmp_decoder *decoder, uint64_t cell_bytes)
{
	if (decoder->cell_bytes != 0 || cell_bytes == 0 || cell_bytes > CELL_MAX_BYTES)
		return;
	decoder->cell_bytes = cell_bytes;
	decoder->cell_assumed = true;
}

void snmp_decode_cell(struct snmp_decoder *decoder, struct sample_list *out)
{
	if (!decoder->cell_told)
		return;
	rw_grow(out->v, out->n, out->cap);
	out->v[out->n++] = (struct sample){.value = decoder->cell_bytes,
		.entity = entities_intern(decoder->entities, decoder->device, NULL, PRIO_NONE),
		.metric = M_CFG_CELL,
		.source = SOURCE_SNMP};
}

/* ---- names --------------------------------------------------------------- */

static struct draft *draft_of(struct snmp_decoder *decoder, uint32_t ifindex)
{
	/* tables come in index order: the one wanted is near the end, or the first of a new pass */
	for (size_t i = decoder->n_drafts; i-- > 0;)
		if (decoder->drafts[i].ifindex == ifindex)
			return &decoder->drafts[i];
		else if (decoder->drafts[i].ifindex < ifindex && i == decoder->n_drafts - 1)
			break;
	rw_grow(decoder->drafts, decoder->n_drafts, decoder->cap_drafts);
	decoder->drafts[decoder->n_drafts] = (struct draft){.ifindex = ifindex};
	return &decoder->drafts[decoder->n_drafts++];
}

static bool value_usable(const struct profile_value *value, uint64_t raw)
{
	for (size_t i = 0; i < value->n_ignore; i++)
		if (value->ignore[i] == raw)
			return false;
	return true;
}

void snmp_decode_names(struct snmp_decoder *decoder, const struct profile_table *table,
	const struct snmp_rows *rows)
{
	if (table->n_parts != 1 || table->parts[0] != PART_PORT)
		return;
	for (size_t row = 0; row < snmp_rows_count(rows); row++) {
		struct snmp_oid index = snmp_rows_index(rows, row);
		if (index.n != 1)
			continue;
		struct draft *draft = NULL;
		for (size_t i = 0; i < table->n_values; i++) {
			const struct profile_value *v = &table->values[i];
			const struct snmp_cell *c = snmp_rows_cell(rows, row, v->column);
			bool text = v->attribute == ATTRIBUTE_PORT_NAME ||
				v->attribute == ATTRIBUTE_PORT_DESCR ||
				v->attribute == ATTRIBUTE_PORT_ALIAS;
			bool speed = v->metric == M_PORT_SPEED_BPS;
			if (!c || !(text || speed))
				continue;
			if (!draft)
				draft = draft_of(decoder, index.v[0]);
			if (speed) {
				if (snmp_type_is_number(c->type) && value_usable(v, c->u) &&
					!(v->fallback && draft->speed_bps))
					draft->speed_bps = c->u * v->mul / v->div;
				continue;
			}
			size_t n;
			const uint8_t *p = snmp_rows_bytes(rows, c, &n);
			char clean[NAME_MAX_BYTES];
			if (!p || !*snmp_text_clean(clean, sizeof(clean), p, n))
				continue;
			char **slot;
			if (v->attribute == ATTRIBUTE_PORT_NAME)
				slot = &draft->name;
			else if (v->attribute == ATTRIBUTE_PORT_DESCR)
				slot = &draft->descr;
			else
				slot = &draft->alias;
			free(*slot);
			*slot = rw_strdup(clean);
		}
	}
}

/* draft_name - native name by the profile's rule, else ifName, ifDescr, the index. @ret_alias: what
 * else it is called. */
static const char *draft_name(const struct snmp_decoder *decoder, const struct draft *draft,
	char buf[NAME_MAX_BYTES], const char **ret_alias)
{
	if (draft->alias)
		*ret_alias = draft->alias;
	else
		*ret_alias = "";
	if (profile_port_name_of(decoder->profile, draft->ifindex, buf, NAME_MAX_BYTES)) {
		if (draft->name && strcmp(draft->name, buf) != 0)
			*ret_alias = draft->name;
		return buf;
	}
	if (draft->name || draft->descr) {
		if (draft->name)
			return draft->name;
		return draft->descr;
	}
	snprintf(buf, NAME_MAX_BYTES, "%u", draft->ifindex);
	return buf;
}

static bool text_set(char **slot, const char *text)
{
	if (*slot && strcmp(*slot, text) == 0)
		return false;
	free(*slot);
	*slot = rw_strdup(text);
	return true;
}

static struct port *port_find(const struct snmp_decoder *decoder, uint32_t ifindex)
{
	uint64_t at;
	if (map_get(decoder->by_index, ifindex, &at))
		return decoder->ports[at];
	return NULL;
}

/* snmp_decode_port_take - the port of this index in the new map: the old one if it still has the
 * name. */
static struct port *snmp_decode_port_take(struct snmp_decoder *decoder, const struct draft *draft,
	const char *name, const char *alias)
{
	uint64_t at;
	struct port *p = NULL;
	if (map_get(decoder->by_index, draft->ifindex, &at))
		p = decoder->ports[at];
	if (p && strcmp(p->name, name) == 0) {
		decoder->ports[at] = NULL; /* kept: not to be freed with the old map */
	} else {
		p = rw_calloc(1, sizeof(*p));
		p->fresh = decoder->n_ports > 0;
		p->seen.ifindex = draft->ifindex;
		p->entity = entities_intern(decoder->entities, decoder->device, name, PRIO_NONE);
		p->seen.changed = true;
	}
	bool changed = text_set(&p->name, name);
	changed = text_set(&p->alias, alias) || changed;
	changed = p->seen.speed_bps != draft->speed_bps || changed;
	p->seen = (struct snmp_port){.ifindex = draft->ifindex,
		.name = p->name,
		.alias = p->alias,
		.speed_bps = draft->speed_bps,
		.changed = p->seen.changed || changed};
	return p;
}

bool snmp_decode_ports(struct snmp_decoder *decoder)
{
	struct port **ports = rw_calloc(decoder->n_drafts ? decoder->n_drafts : 1, sizeof(*ports));
	struct smap *names = smap_new();
	bool changed = decoder->n_drafts != decoder->n_ports;
	for (size_t i = 0; i < decoder->n_drafts; i++) {
		char buf[NAME_MAX_BYTES], unique[NAME_MAX_BYTES + 16];
		const char *alias, *name = draft_name(decoder, &decoder->drafts[i], buf, &alias);
		uint64_t taken;
		/* two ports of one name: the index tells them apart */
		if (smap_get(names, name, strlen(name), &taken)) {
			snprintf(unique, sizeof(unique), "%s@%u", name, decoder->drafts[i].ifindex);
			name = unique;
		}
		smap_put(names, name, strlen(name), 1);
		ports[i] = snmp_decode_port_take(decoder, &decoder->drafts[i], name, alias);
		changed = changed || ports[i]->seen.changed;
	}
	for (size_t i = 0; i < decoder->n_ports; i++)
		if (decoder->ports[i])
			port_free(decoder->ports[i]);
	free(decoder->ports);
	smap_free(names);
	decoder->ports = ports;
	decoder->n_ports = decoder->n_drafts;
	map_clear(decoder->by_index);
	for (size_t i = 0; i < decoder->n_ports; i++)
		map_put(decoder->by_index, decoder->ports[i]->seen.ifindex, i);
	drafts_clear(decoder);
	return changed;
}

size_t snmp_decode_port_count(const struct snmp_decoder *decoder)
{
	return decoder->n_ports;
}

const struct snmp_port *snmp_decode_port(const struct snmp_decoder *decoder, size_t i)
{
	assert(i < decoder->n_ports);
	return &decoder->ports[i]->seen;
}

void snmp_decode_ports_told(struct snmp_decoder *decoder)
{
	for (size_t i = 0; i < decoder->n_ports; i++)
		decoder->ports[i]->seen.changed = false;
}

/* ---- values -------------------------------------------------------------- */

struct place { /* what the index of a row says */
	struct port *port;
	int priority; /* PRIO_NONE = none in the index, or unmapped */
	int64_t queue; /* -1 = none; the unmapped one when priority is PRIO_NONE */
	int64_t pool;
};

/* snmp_decode_index_of - the parts of a row's index, by the table's rule. False when the row is not
 * for us. */
static bool snmp_decode_index_of(struct snmp_decoder *decoder, const struct profile_table *table,
	struct snmp_oid row, uint32_t parts[PROFILE_PARTS_MAX])
{
	if (row.n != (table->decimal_by[0] ? 1 : table->n_parts)) {
		decoder->stats.bad_indexes++;
		return false;
	}
	if (!table->decimal_by[0]) {
		memcpy(parts, row.v, row.n * sizeof(*parts));
		return true;
	}
	if (row.v[0] < table->decimal_base)
		return false; /* another kind of thing in the same table */
	uint32_t left = row.v[0] - table->decimal_base;
	for (size_t i = 0; i < table->n_parts; i++) {
		parts[i] = left / table->decimal_by[i];
		left %= table->decimal_by[i];
	}
	return true;
}

/* snmp_decode_place_of - what the index says. False when the row is not for us. */
static bool snmp_decode_place_of(struct snmp_decoder *decoder, const struct profile_table *table,
	const uint32_t *index, struct place *ret)
{
	*ret = (struct place){.priority = PRIO_NONE, .queue = -1, .pool = -1};
	for (size_t i = 0; i < table->n_parts; i++) {
		uint32_t arc = index[i];
		switch (table->parts[i]) {
		case PART_PORT:
			ret->port = port_find(decoder, arc);
			if (!ret->port) {
				decoder->stats.unknown_ports++;
				return false;
			}
			break;
		case PART_PRIORITY:
			if (arc >= PRIORITIES)
				return false;
			ret->priority = (int)arc;
			break;
		case PART_QUEUE:
		case PART_GROUP:
			if (table->parts[i] == PART_QUEUE && arc < table->first_queue)
				return false; /* "0 = the sum of all" and the like */
			if (table->parts[i] == PART_QUEUE)
				ret->queue = (int64_t)arc - table->first_queue;
			else
				ret->queue = (int64_t)arc;
			ret->priority = profile_priority(decoder->profile, (uint32_t)ret->queue);
			break;
		case PART_POOL: ret->pool = arc; break;
		case PART_OTHER: break;
		}
	}
	return true;
}

static uint32_t place_entity(
	struct snmp_decoder *decoder, const struct place *at, const struct profile_value *value)
{
	char name[NAME_MAX_BYTES + 32];
	int priority;
	if (value->priority != PRIO_NONE)
		priority = value->priority;
	else
		priority = at->priority;
	if (!at->port) {
		if (at->pool < 0)
			return entities_intern(decoder->entities, decoder->device, NULL, PRIO_NONE);
		snprintf(name, sizeof(name), "pool:%lld", (long long)at->pool);
		return entities_intern(decoder->entities, decoder->device, name, PRIO_NONE);
	}
	if (metric_info((unsigned)value->metric)->scope != SCOPE_PRIO)
		return at->port->entity;
	if (priority != PRIO_NONE) {
		uint32_t *slot = &at->port->priority[priority];
		if (!*slot)
			*slot = entities_intern(
				decoder->entities, decoder->device, at->port->name, priority);
		return *slot;
	}
	if (at->queue < 0)
		return at->port->entity;
	/* unmapped, never dropped silently */
	snprintf(name, sizeof(name), "%s#q%lld", at->port->name, (long long)at->queue);
	return entities_intern(decoder->entities, decoder->device, name, PRIO_NONE);
}

static bool value_applies(const struct profile_table *table, const struct profile_value *value,
	const uint32_t *index, const struct snmp_rows *rows, size_t row)
{
	for (size_t i = 0; i < table->n_parts; i++)
		if (value->where[i] != PROFILE_ANY && index[i] != (uint64_t)value->where[i])
			return false;
	if (value->when_column < 0)
		return true;
	const struct snmp_cell *c = snmp_rows_cell(rows, row, (size_t)value->when_column);
	return c && c->u == value->when_equals;
}

static uint64_t pending_key(uint32_t entity, int metric)
{
	return (uint64_t)entity << 16 | (uint16_t)metric;
}

/* pending_of - the sum under way for this metric of this thing; @from: where those of the current
 * row begin. */
static struct pending *pending_of(struct snmp_decoder *decoder, const struct profile_table *table,
	uint32_t entity, int metric, size_t from)
{
	uint64_t at;
	if (table->sums_rows) {
		if (map_get(sums.at, pending_key(entity, metric), &at))
			return &sums.v[at];
		map_put(sums.at, pending_key(entity, metric), sums.n);
	} else {
		for (size_t i = from; i < sums.n; i++)
			if (sums.v[i].entity == entity && sums.v[i].metric == metric)
				return &sums.v[i];
	}
	rw_grow(sums.v, sums.n, sums.cap);
	sums.v[sums.n] = (struct pending){.entity = entity, .metric = metric};
	return &sums.v[sums.n++];
}

static void value_take(struct snmp_decoder *decoder, const struct profile_table *table,
	const struct profile_value *profile_value, const struct snmp_cell *cell,
	const struct place *at, size_t from)
{
	if (!snmp_type_is_number(cell->type)) {
		decoder->stats.wrong_types++;
		return;
	}
	if (!value_usable(profile_value, cell->u) || (profile_value->cells && !decoder->cell_bytes))
		return;
	struct pending *p = pending_of(decoder, table, place_entity(decoder, at, profile_value),
		profile_value->metric, from);
	if (p->mask && profile_value->fallback && !p->fallback)
		return; /* the better column has spoken */
	uint64_t raw;
	if (profile_value->has_equals)
		raw = cell->u == profile_value->equals;
	else
		raw = cell->u;
	uint64_t cells = 1;
	if (profile_value->cells)
		cells = decoder->cell_bytes;
	uint64_t value = raw * cells * profile_value->mul / profile_value->div;
	if (profile_value->subtract)
		p->sum = p->sum - value;
	else
		p->sum = p->sum + value;
	double f = (double)(cell->type == SNMP_INTEGER ? (double)(int64_t)raw : (double)raw) *
		(double)cells * (double)profile_value->mul / (double)profile_value->div;
	if (profile_value->subtract)
		p->fsum += -f;
	else
		p->fsum += f;
	p->mask |= (uint64_t)1 << profile_value->bit;
	p->port = at->port;
	p->fallback = profile_value->fallback;
	p->estimated = p->estimated || (profile_value->cells && decoder->cell_assumed);
	/* a scaled 32-bit counter does not wrap at 2^32 any more: then a decrease is a reset */
	p->wrap32 = p->wrap32 ||
		(profile_value->mul == 1 && profile_value->div == 1 && !profile_value->cells &&
			(profile_value->width == 32 ||
				(profile_value->width == 0 && cell->type == SNMP_COUNTER32)));
	p->needed = profile_value->needed;
}

static void sensor_take(struct snmp_decoder *decoder, const struct profile_table *table,
	const struct profile_value *value, const struct snmp_rows *rows, size_t row,
	const struct place *at, size_t from)
{
	struct snmp_sensor s = {.value = snmp_rows_cell(rows, row, value->column)};
	const struct snmp_cell **const to[] = {[SENSOR_TYPE] = &s.type,
		[SENSOR_SCALE] = &s.scale,
		[SENSOR_PRECISION] = &s.precision,
		[SENSOR_STATUS] = &s.status};
	bool bound, power = strcmp(metric_info((unsigned)value->metric)->unit, "dBm") == 0;
	double f;
	for (size_t i = 0; i < PROFILE_SENSOR_COLUMNS; i++)
		*to[i] = snmp_rows_cell(rows, row, value->sensor_columns[i]);
	int rc;
	if (power)
		rc = snmp_sensor_dbm(&s, &f, &bound);
	else
		rc = snmp_sensor_celsius(&s, &f);
	if (rc == -EPROTOTYPE)
		decoder->stats.wrong_types++;
	if (rc < 0)
		return;
	struct pending *p =
		pending_of(decoder, table, place_entity(decoder, at, value), value->metric, from);
	bool first = p->mask == 0;
	if (!first &&
		((value->fold == FOLD_MIN && f >= p->fsum) ||
			(value->fold == FOLD_MAX && f <= p->fsum)))
		return;
	if (first || value->fold != FOLD_SUM)
		p->fsum = f;
	else
		p->fsum = p->fsum + f;
	p->mask |= (uint64_t)1 << value->bit;
	p->port = at->port;
	p->estimated = power && bound;
}

static void snmp_decode_attribute_take(struct snmp_decoder *decoder,
	const struct profile_value *value, const struct snmp_cell *cell, struct port *port)
{
	if (value->attribute != ATTRIBUTE_DISCONTINUITY || !port ||
		!snmp_type_is_number(cell->type))
		return;
	if (port->has_discontinuity && port->discontinuity != cell->u) {
		port->discontinued = true;
		decoder->stats.discontinuities++;
	}
	port->discontinuity = cell->u;
	port->has_discontinuity = true;
}

void snmp_decode_time(struct snmp_decoder *decoder, int64_t t_ns)
{
	decoder->t_ns = t_ns;
}

/* snmp_decode_bound_of - what a counter can grow by in a second, 0 = who knows. */
static double snmp_decode_bound_of(const struct pending *pending)
{
	switch (pending->metric) {
	case M_PORT_IN_OCTETS:
	case M_PORT_OUT_OCTETS:
	case M_QUEUE_OUT_OCTETS:
		if (pending->port && pending->port->seen.speed_bps >= LINE_LEAST_BPS)
			return (double)pending->port->seen.speed_bps / 8;
		return 0;
	case M_PFC_RX_PAUSE_NS:
	case M_PFC_TX_PAUSE_NS: return NS_PER_S;
	default: return 0;
	}
}

static unsigned snmp_decode_check(
	struct snmp_decoder *decoder, const struct pending *pending, uint64_t value, unsigned flags)
{
	uint64_t at, key = pending_key(pending->entity, pending->metric);
	double bound = 0;
	if (decoder->t_ns)
		bound = snmp_decode_bound_of(pending);
	if (bound <= 0)
		return flags;
	if (!map_get(decoder->check_at, key, &at)) {
		at = decoder->n_checks;
		rw_grow(decoder->checks, decoder->n_checks, decoder->cap_checks);
		decoder->checks[decoder->n_checks++] = (struct counter_check){0};
		map_put(decoder->check_at, key, at);
	}
	flags = counter_check_take(&decoder->checks[at], decoder->t_ns, value, flags, bound);
	decoder->stats.suspects += (flags & SF_SUSPECT) != 0;
	return flags;
}

static void pending_flush(struct snmp_decoder *decoder, bool restart, struct sample_list *out)
{
	for (size_t i = 0; i < sums.n; i++) {
		const struct pending *p = &sums.v[i];
		const struct metric_info *m = metric_info((unsigned)p->metric);
		if (p->needed && (unsigned)__builtin_popcountll(p->mask) < p->needed)
			continue;
		unsigned flags = 0;
		if (p->estimated)
			flags = SF_ESTIMATED;
		if (m->kind == METRIC_COUNTER) {
			uint64_t before;
			bool known = map_get(
				decoder->made_of, pending_key(p->entity, p->metric), &before);
			if (!known || before != p->mask)
				map_put(decoder->made_of, pending_key(p->entity, p->metric),
					p->mask);
			if (restart || (p->port && (p->port->discontinued || p->port->fresh)) ||
				(known && before != p->mask))
				flags |= SF_RESTART;
			if (p->wrap32)
				flags |= SF_WRAP32;
		}
		uint64_t value;
		if (m->type == TYPE_F64)
			value = sample_of_f64(p->fsum);
		else if (p->wrap32)
			value = (uint32_t)p->sum;
		else
			value = p->sum;
		if (m->kind == METRIC_COUNTER)
			flags = snmp_decode_check(decoder, p, value, flags);
		rw_grow(out->v, out->n, out->cap);
		out->v[out->n++] = (struct sample){.value = value,
			.entity = p->entity,
			.metric = (uint16_t)p->metric,
			.flags = (uint16_t)flags,
			.source = SOURCE_SNMP};
	}
}

void snmp_decode_begin(struct snmp_decoder *decoder)
{
	for (size_t i = 0; i < decoder->n_ports; i++)
		decoder->ports[i]->discontinued = decoder->ports[i]->fresh = false;
}

void snmp_decode_table(struct snmp_decoder *decoder, const struct profile_table *table,
	const struct snmp_rows *rows, bool restart, struct sample_list *out)
{
	sums.n = 0;
	map_clear(sums.at);
	for (size_t row = 0; row < snmp_rows_count(rows); row++) {
		struct place at;
		uint32_t index[PROFILE_PARTS_MAX];
		if (!snmp_decode_index_of(decoder, table, snmp_rows_index(rows, row), index) ||
			!snmp_decode_place_of(decoder, table, index, &at))
			continue;
		size_t from = sums.n;
		for (size_t i = 0; i < table->n_values; i++) {
			const struct profile_value *v = &table->values[i];
			const struct snmp_cell *c = snmp_rows_cell(rows, row, v->column);
			if (!c || !value_applies(table, v, index, rows, row))
				continue;
			if (v->attribute != ATTRIBUTE_NONE)
				snmp_decode_attribute_take(decoder, v, c, at.port);
			else if (v->sensor)
				sensor_take(decoder, table, v, rows, row, &at, from);
			else
				value_take(decoder, table, v, c, &at, from);
		}
	}
	pending_flush(decoder, restart, out);
}

size_t snmp_decode_needed(
	const struct profile_table *table, const struct snmp_rows *rows, bool *ret_want)
{
	size_t n = 0;
	memset(ret_want, 0, table->n_columns * sizeof(*ret_want));
	for (size_t i = 0; i < table->n_values; i++) {
		const struct profile_value *v = &table->values[i];
		if (snmp_rows_column_count(rows, v->column) == 0)
			continue;
		bool needed = !v->fallback;
		for (size_t row = 0; row < snmp_rows_count(rows) && !needed; row++) {
			const struct snmp_cell *c = snmp_rows_cell(rows, row, v->column);
			bool better = false;
			for (size_t k = 0; k < table->n_values && !better; k++) {
				const struct profile_value *o = &table->values[k];
				const struct snmp_cell *oc = snmp_rows_cell(rows, row, o->column);
				better = !o->fallback && o->metric == v->metric && oc &&
					value_usable(o, oc->u);
			}
			needed = c && value_usable(v, c->u) && !better;
		}
		if (!needed)
			continue;
		ret_want[v->column] = true;
		if (v->when_column >= 0)
			ret_want[v->when_column] = true;
		for (size_t k = 0; v->sensor && k < PROFILE_SENSOR_COLUMNS; k++)
			ret_want[v->sensor_columns[k]] = true;
	}
	for (size_t i = 0; i < table->n_columns; i++)
		n += ret_want[i];
	return n;
}

const struct snmp_decode_stats *snmp_decode_stats(const struct snmp_decoder *decoder)
{
	return &decoder->stats;
}
