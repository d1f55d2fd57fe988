/* profile_coverage - reads tables and streams for one metric. */
#include "config/profile/profile_coverage.h"

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

bool profile_tells(const struct profile *profile, unsigned metric)
{
	for (int protocol = 0; protocol < COVERAGE_PROTOCOLS; protocol++) {
		struct coverage_cell cell;
		profile_coverage(profile, metric, (enum coverage_protocol)protocol, &cell);
		if (cell.told)
			return true;
	}
	return false;
}

/* ---- how often ----------------------------------------------------------- */

static bool profile_table_tells(const struct profile_table *table, unsigned metric)
{
	for (size_t i = 0; i < table->n_values; i++)
		if (table->values[i].metric == (int)metric)
			return true;
	return false;
}

static bool profile_stream_tells(const struct profile_gnmi_stream *stream, unsigned metric)
{
	for (size_t i = 0; i < stream->n_values; i++)
		if (stream->values[i].metric == (int)metric)
			return true;
	return false;
}

/* Some subscriptions of a stream are answered less often than others; the slowest counts for all
 * its values. */
static int64_t profile_stream_interval(
	const struct profile_gnmi_stream *stream, int64_t fast_ns, int64_t slow_ns)
{
	int64_t ns = fast_ns;
	if (stream->slow)
		ns = slow_ns;
	for (size_t i = 0; i < stream->n_subscriptions; i++)
		if (stream->subscriptions[i].min_interval_ns > ns)
			ns = stream->subscriptions[i].min_interval_ns;
	return ns;
}

int64_t profile_interval(
	const struct profile *profile, unsigned metric, int64_t fast_ns, int64_t slow_ns)
{
	int64_t longest_ns = 0;
	for (size_t i = 0; i < profile->n_tables; i++) {
		const struct profile_table *table = profile->tables[i];
		int64_t ns = fast_ns;
		if (table->cadence != CADENCE_FAST)
			ns = slow_ns;
		if (ns < profile->min_interval_ns)
			ns = profile->min_interval_ns;
		if (profile_table_tells(table, metric) && ns > longest_ns)
			longest_ns = ns;
	}
	for (size_t i = 0; profile->gnmi && i < profile->gnmi->n_streams; i++) {
		const struct profile_gnmi_stream *stream = profile->gnmi->streams[i];
		const int64_t ns = profile_stream_interval(stream, fast_ns, slow_ns);
		if (profile_stream_tells(stream, metric) && ns > longest_ns)
			longest_ns = ns;
	}
	return longest_ns;
}
