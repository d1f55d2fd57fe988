/* profile_coverage - reads tables and streams for one metric. */
#include "config/profile/profile_coverage.h"

#include "base/cleanup.h"
#include "config/profile/profile_gnmi.h"
#include "config/profile/profile_push.h"

const char *coverage_protocol_name(enum coverage_protocol protocol)
{
	static const char *const names[] = {
		[COVERAGE_SNMP] = "snmp", [COVERAGE_GNMI] = "gnmi", [COVERAGE_PUSH] = "push"};
	if ((size_t)protocol < rw_countof(names))
		return names[protocol];
	return "?";
}

struct profile_evidence profile_table_evidence(
	const struct profile *profile, size_t i, const struct profile_value *value)
{
	if (i < profile->n_tables_inherited)
		return profile_inherited_evidence(&profile->inherited, profile->tables[i]->name);
	return value->evidence;
}

struct profile_evidence profile_stream_evidence(
	const struct profile *profile, size_t i, const struct profile_gnmi_value *value)
{
	const struct profile_gnmi *gnmi = profile->gnmi;
	if (i < gnmi->n_streams_inherited)
		return profile_inherited_evidence(&gnmi->inherited, gnmi->streams[i]->name);
	return value->evidence;
}

/* coverage_take - the strongest evidence counts; that of a better column before a fallback's. */
static void coverage_take(struct coverage_cell *cell, const char *table,
	struct profile_evidence evidence, bool fallback)
{
	if (!cell->told || evidence.kind > cell->evidence.kind) {
		cell->evidence = evidence;
		cell->table = table;
	}
	cell->only_fallback = fallback && (!cell->told || cell->only_fallback);
	cell->told = true;
}

static void coverage_snmp(const struct profile *profile, int metric, struct coverage_cell *ret)
{
	for (size_t i = 0; i < profile->n_tables; i++) {
		const struct profile_table *table = profile->tables[i];
		for (size_t k = 0; k < table->n_values; k++)
			if (table->values[k].metric == metric)
				coverage_take(ret, table->name,
					profile_table_evidence(profile, i, &table->values[k]),
					table->values[k].fallback);
	}
}

static void coverage_gnmi(const struct profile *profile, int metric, struct coverage_cell *ret)
{
	for (size_t i = 0; profile->gnmi && i < profile->gnmi->n_streams; i++) {
		const struct profile_gnmi_stream *stream = profile->gnmi->streams[i];
		for (size_t k = 0; k < stream->n_values; k++)
			if (stream->values[k].metric == metric)
				coverage_take(ret, stream->name,
					profile_stream_evidence(profile, i, &stream->values[k]),
					stream->values[k].fallback);
	}
}

static void coverage_push(const struct profile *profile, int metric, struct coverage_cell *ret)
{
	for (size_t i = 0; i < profile->n_push; i++) {
		const struct profile_push_group *group = profile->push[i];
		for (size_t k = 0; k < group->n_values; k++)
			if (group->values[k].metric == metric)
				coverage_take(ret, group->name, group->evidence, false);
	}
}

void profile_coverage(const struct profile *profile, unsigned metric,
	enum coverage_protocol protocol, struct coverage_cell *ret)
{
	static void (*const readers[])(const struct profile *, int, struct coverage_cell *) = {
		[COVERAGE_SNMP] = coverage_snmp,
		[COVERAGE_GNMI] = coverage_gnmi,
		[COVERAGE_PUSH] = coverage_push};
	*ret = (struct coverage_cell){0};
	if ((size_t)protocol < rw_countof(readers))
		readers[protocol](profile, (int)metric, ret);
}
