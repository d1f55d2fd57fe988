/* clickhouse_match - which entities a filter lets through. */
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "db/clickhouse/clickhouse_read.h"

static const char alias_sql[] =
	"SELECT device, port, alias FROM port_attr WHERE alias<>'' ORDER BY t_ns";

struct ch_aliases {
	const char *pattern;
	struct smap *matches; /* "device\0port" -> does its newest alias match */
};

static int alias_take(void *arg, int n, char *const *values, char *const *names)
{
	struct ch_aliases *aliases = arg;
	rw_cleanup(str_done) struct str key = {0};
	if (n < 3 || !values[0] || !values[1] || !values[2])
		return 0;
	str_addn(&key, values[0], strlen(values[0]) + 1);
	str_add(&key, values[1]);
	smap_put(aliases->matches, key.s, key.n, str_glob(aliases->pattern, values[2]));
	return 0;
}

static bool alias_matches(const struct ch_aliases *aliases, const struct entity *entity)
{
	rw_cleanup(str_done) struct str key = {0};
	uint64_t is = 0;
	str_addn(&key, entity->device, strlen(entity->device) + 1);
	str_add(&key, entity->port);
	return smap_get(aliases->matches, key.s, key.n, &is) && is;
}

static bool match_entity(const struct history_filter *filter, const struct ch_aliases *aliases,
	const struct entity *entity)
{
	if (filter->priority != HISTORY_ANY_PRIORITY && entity->priority != filter->priority)
		return false;
	if (!str_glob(filter->device, entity->device))
		return false;
	return !filter->port || str_glob(filter->port, entity->port) ||
		alias_matches(aliases, entity);
}

static bool match_series(
	const struct ch_history *db, const struct history_filter *filter, uint32_t id)
{
	for (size_t i = 0; i < filter->n_metrics; i++)
		if (ch_has_series(db, id, filter->metrics[i]))
			return true;
	for (unsigned m = 0; filter->n_metrics == 0 && m < METRIC_COUNT; m++)
		if (ch_has_series(db, id, m))
			return true;
	return false;
}

int ch_match(struct history *history, const struct history_filter *filter, uint32_t **ret,
	size_t *ret_n, struct err *e)
{
	struct ch_history *db = ch_history_of(history);
	struct ch_aliases aliases = {.pattern = filter->port, .matches = smap_new()};
	size_t n = 0;
	int r = ch_refresh(db, e);
	if (r == 0 && filter->port)
		r = ch_views_load(db, alias_sql, e);
	if (r == 0 && filter->port)
		r = record_views_sql(db->views, alias_sql, NULL, alias_take, &aliases, e);
	if (r == 0) {
		uint32_t *v = rw_calloc(entities_count(db->entities) + 1, sizeof(*v));
		for (uint32_t id = 1; id <= entities_count(db->entities); id++) {
			const struct entity *entity = entity_get(db->entities, id);
			if (entity && match_series(db, filter, id) &&
				match_entity(filter, &aliases, entity))
				v[n++] = id;
		}
		*ret = v;
		*ret_n = n;
	}
	smap_free(aliases.matches);
	return r;
}
