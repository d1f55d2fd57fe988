/* ipfix_flow - sums up records, and looks fields up. */
#include "collectors/push/ipfix_flow.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "collectors/push/push_map.h"
#include "config/profile/profile_push.h"
#include "config/push_objects.h"
#include "db/model/entity.h"
#include "db/model/metric.h"

enum series_state { SERIES_UNKNOWN, SERIES_NO_OBJECT, SERIES_MAPPED };

struct flow_series {
	struct ipfix_field field;
	enum series_state state;
	bool peak;
	uint32_t entity;
	const struct push_rule *rule;
};

struct ipfix_flow {
	struct burst *burst;
	void *owner;
	uint32_t group;
	struct flow_series *series;
	uint64_t *values; /* of the interval under way */
	size_t n;
	bool whole; /* all numbers have 8 bytes */
	uint64_t records; /* in the interval */
	int64_t t_ns; /* of the newest record */
};

struct ipfix_flow *ipfix_flow_new(const struct ipfix_template *template, struct burst *burst)
{
	struct ipfix_flow *flow = rw_calloc(1, sizeof(*flow));
	rw_cleanup(freep) struct burst_field *fields =
		rw_calloc(template->n_fields + 1, sizeof(*fields));
	flow->burst = burst;
	flow->group = BURST_NONE;
	flow->n = template->n_fields;
	flow->series = rw_calloc(flow->n + 1, sizeof(*flow->series));
	flow->values = rw_calloc(flow->n + 1, sizeof(*flow->values));
	flow->whole = true;
	for (size_t i = 0; i < flow->n; i++) {
		const struct ipfix_field *field = &template->fields[i];
		flow->series[i].field = *field;
		flow->whole &= field->bytes == 8;
		fields[i] = (struct burst_field){field->type, field->stat, field->object};
		const struct sai_stat *stat = NULL;
		if (field->sai)
			stat = sai_stat_of(field->type, field->stat);
		flow->series[i].peak = stat && stat->kind == SAI_PEAK;
	}
	if (burst)
		flow->group = burst_group(burst, fields, flow->n);
	return flow;
}

void ipfix_flow_free(struct ipfix_flow *flow)
{
	if (!flow)
		return;
	free(flow->series);
	free(flow->values);
	free(flow);
}

void ipfix_flow_belongs(struct ipfix_flow *flow, void *owner)
{
	flow->owner = owner;
}

void *ipfix_flow_owner(const struct ipfix_flow *flow)
{
	return flow->owner;
}

size_t ipfix_flow_fields(const struct ipfix_flow *flow)
{
	return flow->n;
}

/* ---- meanings ---------------------------------------------------------------- */

static void series_means(struct flow_series *series, const struct ipfix_meaning *meaning)
{
	char name[SAI_NAME_MAX];
	struct push_place place;
	const struct ipfix_field *field = &series->field;
	series->state = SERIES_UNKNOWN;
	series->rule = NULL;
	if (!field->sai || !meaning->map)
		return;
	sai_stat_text(name, field->type, field->stat);
	series->rule = push_map_find(meaning->map, name, strlen(name));
	if (!series->rule)
		return;
	series->state = SERIES_NO_OBJECT;
	const char *object = push_objects_name(meaning->objects, field->type, field->object);
	if (!object)
		return;
	const struct push_label label = {
		"object_name", object, strlen("object_name"), strlen(object)};
	if (push_rule_place(series->rule, &label, 1, &place) < 0)
		return;
	const char *port = place.port;
	if (!*port)
		port = NULL;
	series->entity = entities_intern(meaning->entities, meaning->device, port, place.priority);
	if (series->entity != ENTITY_NONE)
		series->state = SERIES_MAPPED;
}

void ipfix_flow_means(struct ipfix_flow *flow, const struct ipfix_meaning *meaning)
{
	for (size_t i = 0; i < flow->n; i++)
		series_means(&flow->series[i], meaning);
}

/* ---- records ----------------------------------------------------------------- */

static inline uint64_t flow_keep(const struct flow_series *series, uint64_t before, uint64_t value)
{
	if (series->peak && before > value)
		return before;
	return value;
}

/* @row: of the ring; NULL: it takes none. */
static void flow_whole(
	struct ipfix_flow *flow, const uint8_t *record, uint64_t *restrict row, size_t stride)
{
	for (size_t i = 0; i < flow->n; i++) {
		uint64_t value;
		memcpy(&value, record + flow->series[i].field.offset, sizeof(value));
		value = __builtin_bswap64(value);
		if (row)
			row[i * stride] = value;
		flow->values[i] = flow_keep(&flow->series[i], flow->values[i], value);
	}
}

static void flow_mixed(
	struct ipfix_flow *flow, const uint8_t *record, uint64_t *restrict row, size_t stride)
{
	for (size_t i = 0; i < flow->n; i++) {
		const struct ipfix_field *field = &flow->series[i].field;
		const uint64_t value = ipfix_number(record + field->offset, field->bytes);
		if (row)
			row[i * stride] = value;
		flow->values[i] = flow_keep(&flow->series[i], flow->values[i], value);
	}
}

static bool flow_off(int64_t t_ns, int64_t now_ns, int64_t off_ns)
{
	return t_ns < now_ns - off_ns || t_ns > now_ns + off_ns;
}

size_t ipfix_flow_add(struct ipfix_flow *flow, const struct ipfix_template *template,
	const uint8_t *data, size_t n, uint32_t export_s, int64_t now_ns, int64_t off_ns)
{
	size_t off = 0;
	for (size_t r = 0; r < n; r++, data += template->record_bytes) {
		uint64_t *row = NULL;
		size_t stride = 0;
		int64_t t_ns = ipfix_time(template, data, export_s);
		if (flow_off(t_ns, now_ns, off_ns)) {
			t_ns = now_ns;
			off++;
		}
		if (flow->group != BURST_NONE)
			row = burst_row(flow->burst, flow->group, t_ns, &stride);
		if (flow->whole)
			flow_whole(flow, data, row, stride);
		else
			flow_mixed(flow, data, row, stride);
		flow->records++;
		flow->t_ns = t_ns;
	}
	return off;
}

/* ---- the end of an interval ---------------------------------------------------- */

/* "port_if_in_ucast_pkts" of SAI_PORT_STAT_IF_IN_UCAST_PKTS: figures have short lower keys. */
static void unknown_key(const struct ipfix_field *field, char ret[IPFIX_UNKNOWN_KEY])
{
	const struct sai_stat *stat = NULL;
	const char *type = NULL;
	if (field->sai) {
		stat = sai_stat_of(field->type, field->stat);
		type = sai_type_name(field->type);
	}
	if (stat && type)
		snprintf(ret, IPFIX_UNKNOWN_KEY, "%s_%s", type, stat->name);
	else if (field->sai)
		snprintf(ret, IPFIX_UNKNOWN_KEY, "type_%u_stat_%u", field->type, field->stat);
	else
		snprintf(ret, IPFIX_UNKNOWN_KEY, "e%u_%u", field->type, field->object);
	for (char *p = ret; *p; p++)
		*p = (char)tolower((unsigned char)*p);
}

static void unknown_add(
	struct ipfix_unknown *unknown, const struct ipfix_field *field, uint64_t values)
{
	char key[IPFIX_UNKNOWN_KEY];
	size_t i = 0;
	unknown->values += values;
	unknown_key(field, key);
	while (i < unknown->n_names && !str_eq(unknown->names[i].key, key))
		i++;
	if (i == IPFIX_UNKNOWN_NAMES) {
		unknown->more += values;
		return;
	}
	if (i == unknown->n_names) {
		unknown->n_names++;
		memcpy(unknown->names[i].key, key, sizeof(key));
	}
	unknown->names[i].values += values;
}

static bool series_sample(const struct ipfix_flow *flow, const struct flow_series *series,
	uint64_t value, int64_t interval_ns, struct sample *ret)
{
	const struct push_number number = {.whole = true, .integer = (int64_t)value};
	unsigned flags = 0;
	*ret = (struct sample){.t_ns = flow->t_ns,
		.entity = series->entity,
		.metric = (uint16_t)series->rule->value->metric,
		.source = SOURCE_PUSH};
	if (value > INT64_MAX || push_rule_value(series->rule, &number, &ret->value, &flags) < 0)
		return false;
	ret->flags = (uint16_t)flags;
	if (series->peak)
		ret->window_ms = (uint32_t)(interval_ns / NS_PER_MS);
	return true;
}

size_t ipfix_flow_end(struct ipfix_flow *flow, int64_t interval_ns, struct ipfix_unknown *unknown,
	struct sample *ret)
{
	size_t n = 0;
	if (flow->records == 0)
		return 0;
	for (size_t i = 0; i < flow->n; i++) {
		const struct flow_series *series = &flow->series[i];
		const uint64_t value = flow->values[i];
		if (series->peak)
			flow->values[i] = 0;
		if (series->state == SERIES_UNKNOWN)
			unknown_add(unknown, &series->field, flow->records);
		else if (series->state == SERIES_NO_OBJECT)
			unknown->objects += flow->records;
		else if (series_sample(flow, series, value, interval_ns, &ret[n]))
			n++;
		else
			unknown->impossible++;
	}
	flow->records = 0;
	return n;
}
