/* config_matches - what is well written and cannot be meant: limits the wrong way round, patterns
 * that match nothing. */
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "config/config_build.h"
#include "config/config_error.h"
#include "config/option.h"

static double match_ratio(const struct option_table *table, const char *name, const void *options)
{
	const struct option *row = option_find(table, name);
	if (!row || row->type != OPT_RATIO)
		return -1;
	return *(const double *)((const char *)options + row->offset);
}

static const struct yaml_node *match_section(const struct yaml_node *map, const char *key)
{
	const struct yaml_item *item = NULL;
	if (map && map->kind == YAML_MAP)
		item = yaml_get(map, key);
	return item && item->value->kind == YAML_MAP ? item->value : NULL;
}

/* Where warn lies above critical, a warning is never given. */
static void match_limits(struct build *build)
{
	const struct config *c = build->c;
	for (size_t i = 0; i < c->n_tables; i++) {
		const struct option_table *table = c->tables[i];
		const double warn = match_ratio(table, "warn", c->options[i]),
			     critical = match_ratio(table, "critical", c->options[i]);
		const struct yaml_node *section =
			match_section(match_section(build->root, table->section), table->name);
		if (!section || warn < 0 || critical < 0 || warn <= critical)
			continue;
		const char *key = yaml_get(section, "warn") ? "warn" : "critical";
		build_error(build, build_at(section, key),
			"warn (%.4g %%) is above critical (%.4g %%); a warning comes first",
			100 * warn, 100 * critical);
	}
}

static bool match_job(const struct fabric *fabric, const struct fabric_job *job, bool *ret_hosts)
{
	for (size_t d = 0; d < fabric->n_devices; d++)
		for (size_t p = 0; p < fabric->devices[d]->n_ports; p++) {
			const char *host = fabric->devices[d]->ports[p]->host;
			*ret_hosts |= host != NULL;
			if (host && fabric_job_has(job, host))
				return true;
		}
	return false;
}

/* Where links are discovered, or jobs come from a scheduler, hosts are not known yet. */
static void match_jobs(struct build *build)
{
	const struct fabric *fabric = build->c->fabric;
	const struct tree_list *trees = &build->c->tree->jobs;
	for (size_t i = 0; i < trees->n && i < fabric->n_jobs && !fabric->discover; i++) {
		const struct fabric_job *job = &fabric->jobs[i];
		const struct tree_job *tree = trees->v[i];
		bool hosts = false;
		if (job->scheduled || !job->hosts || match_job(fabric, job, &hosts) || !hosts)
			continue;
		build_warn(build, build_at(tree->node, "hosts"),
			"hosts: '%.64s' matches no host of the links: the job is never seen",
			job->hosts);
	}
}

static void match_thresholds(struct build *build)
{
	const struct fabric *fabric = build->c->fabric;
	const struct tree_list *trees = &build->c->tree->thresholds;
	for (size_t i = 0; i < trees->n; i++) {
		const struct tree_threshold *tree = trees->v[i];
		bool found = fabric->n_devices == 0;
		for (size_t d = 0; d < fabric->n_devices && !found; d++)
			found = str_glob(tree->devices, fabric->devices[d]->name);
		if (!found)
			build_warn(build, build_at(tree->node, "devices"),
				"devices: '%.64s' matches no device: these thresholds apply "
				"nowhere",
				tree->devices);
	}
}

void build_matches(struct build *build)
{
	match_limits(build);
	match_jobs(build);
	match_thresholds(build);
}
