/* sflow_counters - a counter sample as samples of metrics. Pure. */
#pragma once

#include "collectors/packet/sflow/sflow_decode.h"
#include "db/model/metric.h"

enum { SFLOW_COUNTERS_MAX = 16 };

/*
 * sflow_counters - the samples of @entity that @sample tells; returns how many. Values that the
 * agent does not know (all ones) are left out. The packet counters of sFlow have 32 bits (RFC 2863
 * ifTable): their samples are flagged so that a wrap is no restart.
 */
size_t sflow_counters(const struct sflow_sample *sample, uint32_t entity, int64_t t_ns,
	struct sample ret[SFLOW_COUNTERS_MAX]);
