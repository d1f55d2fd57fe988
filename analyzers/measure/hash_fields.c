/* hash_fields - reads what a hash reads. */
#include "analyzers/measure/hash_fields.h"

#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "db/model/entity.h"
#include "db/model/metric.h"
#include "db/series/series.h"

const char *hash_fields(const struct window *window, const char *device)
{
	const uint32_t entity = entities_find(window->entities, device, "", PRIO_NONE);
	if (entity == ENTITY_NONE)
		return NULL;
	const struct series *series = window_series(window, entity, M_CFG_HASH_FIELDS);
	if (!series || !series->n)
		return NULL;
	return entities_text_get(window->entities, series->value[series->n - 1]);
}

/* Fields in which RoCE flows between two addresses are alike. */
static bool is_alike(const char *field, size_t n)
{
	static const char *const alike[] = {"src_ip", "dst_ip", "src_mac", "dst_mac", "ip_protocol",
		"protocol", "ethertype", "vlan", "vlan_id", "in_port", "ingress_port", "dst_port",
		"l4_dst_port", "dscp"};
	for (size_t i = 0; i < rw_countof(alike); i++)
		if (strlen(alike[i]) == n && strncmp(alike[i], field, n) == 0)
			return true;
	return false;
}

bool hash_fields_blind(const char *fields)
{
	size_t n_fields = 0;
	if (!fields)
		return false;
	while (*fields) {
		fields += strspn(fields, ", ");
		const size_t n = strcspn(fields, ", ");
		if (n && !is_alike(fields, n))
			return false;
		n_fields += n > 0;
		fields += n;
	}
	return n_fields > 0;
}

bool hash_seed(const struct window *window, const char *device, uint64_t *ret)
{
	const uint32_t entity = entities_find(window->entities, device, "", PRIO_NONE);
	const struct series *series = NULL;
	if (entity != ENTITY_NONE)
		series = window_series(window, entity, M_CFG_HASH_SEED);
	if (!series || !series->n)
		return false;
	*ret = series->value[series->n - 1];
	return true;
}
