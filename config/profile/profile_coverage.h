/* profile_coverage - which metric a kind of switch tells over which protocol, and how that is
 * known; read from the tables and streams of its profile. */
#pragma once

#include "base/base.h"

#include "config/profile/profile.h"

enum coverage_protocol { COVERAGE_SNMP, COVERAGE_GNMI, COVERAGE_PUSH, COVERAGE_PROTOCOLS };
/* "snmp"; static */
const char *coverage_protocol_name(enum coverage_protocol protocol);

struct coverage_cell {
	bool told; /* false: no column and no leaf of the profile gives it */
	bool only_fallback; /* told by a column or leaf that stands in for a missing one */
	struct profile_evidence evidence; /* the strongest of all that give it */
	const char *table; /* the table, stream or group it stands in; lent by the profile */
};

/* profile_coverage - of @metric (enum metric) over @protocol. Nothing told leaves *ret empty. */
void profile_coverage(const struct profile *profile, unsigned metric,
	enum coverage_protocol protocol, struct coverage_cell *ret);
/* profile_tells - @metric, over any protocol? */
bool profile_tells(const struct profile *profile, unsigned metric);

/* profile_interval - how far apart two values of @metric may lie, ns, over every protocol of
 * @profile that tells it: @fast_ns or @slow_ns as its table or stream is read, and no less than the
 * device itself takes. 0: nothing tells it. */
int64_t profile_interval(
	const struct profile *profile, unsigned metric, int64_t fast_ns, int64_t slow_ns);

/* Of the table or stream number @i of a profile: as it says, or as the profile says of what it
 * inherited; and of one value of it. */
struct profile_evidence profile_table_evidence(
	const struct profile *profile, size_t i, const struct profile_value *value);
struct profile_gnmi_value;
struct profile_evidence profile_stream_evidence(
	const struct profile *profile, size_t i, const struct profile_gnmi_value *value);
