/* snmp_sums - finds or begins the sum of one metric of one entity. */
#include "collectors/snmp/snmp_sums.h"

#include <stdlib.h>
#include "agent/base/cleanup.h"
#include "agent/base/map.h"

struct snmp_sums *snmp_sums_new(void)
{
	struct snmp_sums *sums = rw_calloc(1, sizeof(*sums));
	sums->at = map_new();
	return sums;
}

void snmp_sums_free(void *sums)
{
	struct snmp_sums *s = sums;
	if (!s)
		return;
	map_free(s->at);
	free(s->v);
	free(s->samples.v);
	free(s);
}

void snmp_sums_begin(struct snmp_sums *sums)
{
	sums->n = 0;
	map_clear(sums->at);
}

uint64_t snmp_sums_key(uint32_t entity, int metric)
{
	return (uint64_t)entity << 16 | (uint16_t)metric;
}

struct snmp_sum *snmp_sums_get(
	struct snmp_sums *sums, bool join_rows, uint32_t entity, int metric, size_t from)
{
	uint64_t at;
	if (join_rows) {
		if (map_get(sums->at, snmp_sums_key(entity, metric), &at))
			return &sums->v[at];
		map_put(sums->at, snmp_sums_key(entity, metric), sums->n);
	} else {
		for (size_t i = from; i < sums->n; i++)
			if (sums->v[i].entity == entity && sums->v[i].metric == metric)
				return &sums->v[i];
	}
	rw_grow(sums->v, sums->n, sums->cap);
	sums->v[sums->n] = (struct snmp_sum){.entity = entity, .metric = metric};
	return &sums->v[sums->n++];
}
