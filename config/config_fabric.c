/* config_fabric - the fabric graph of a configuration: devices, what the site means to do, and, by
 * config_links.c, its links. */
#include <math.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/map.h"
#include "config/class_policy.h"
#include "config/config_build.h"
#include "config/fabric_build.h"

/* Devices and groups that have no load_balancing of their own follow the policy. */
static void fabric_apply_policy(const struct config_tree *tree, struct fabric *fabric)
{
	for (size_t i = 0; i < tree->devices.n; i++) {
		const struct tree_device *given = tree->devices.v[i];
		if (!given->name || given->lb >= 0)
			continue;
		struct fabric_device *device =
			(struct fabric_device *)fabric_device(fabric, given->name);
		if (!device)
			continue;
		device->lb = fabric->lb;
		device->lb_declared = fabric->lb_declared;
		for (size_t k = 0; k < device->n_groups; k++)
			if (!device->groups[k].given)
				device->groups[k].lb = fabric->lb;
	}
	for (size_t i = 0; i < tree->groups.n; i++) {
		const struct tree_group *given = tree->groups.v[i];
		if (!given->device || !given->group || given->lb >= 0)
			continue;
		const struct fabric_device *device = fabric_device(fabric, given->device);
		if (!device)
			continue;
		struct fabric_group *group =
			(struct fabric_group *)fabric_group(device, given->group);
		if (group && group->given)
			group->lb = device->lb;
	}
}

/* Is the key of `policy:` a statement of somebody, not a default that the agent wrote down? */
static bool policy_declares(const struct tree_policy *policy, const char *key)
{
	for (size_t i = 0; i < policy->assumed.n; i++)
		if (strcmp(policy->assumed.v[i], key) == 0)
			return false;
	return policy->node && yaml_get(policy->node, key);
}

static void policy_assume(struct tree_policy *policy, struct arena *a, const char *key)
{
	struct tree_values *assumed = &policy->assumed;
	if (policy_declares(policy, key))
		return;
	for (size_t i = 0; i < assumed->n; i++)
		if (strcmp(assumed->v[i], key) == 0)
			return;
	const char **v = arena_array(a, const char *, assumed->n + 1);
	const struct yaml_node **at = arena_array(a, const struct yaml_node *, assumed->n + 1);
	for (size_t i = 0; i < assumed->n; i++) {
		v[i] = assumed->v[i];
		at[i] = assumed->at[i];
	}
	v[assumed->n] = key;
	at[assumed->n] = policy->node;
	assumed->v = v;
	assumed->at = at;
	assumed->n++;
}

/* Somebody who sets another value than the default has said so. */
static void policy_withdraw(struct tree_policy *policy, const char *key)
{
	struct tree_values *assumed = &policy->assumed;
	size_t n = 0;
	for (size_t i = 0; i < assumed->n; i++) {
		if (strcmp(assumed->v[i], key) == 0)
			continue;
		assumed->v[n] = assumed->v[i];
		assumed->at[n++] = assumed->at[i];
	}
	assumed->n = n;
}

static bool policy_is_assumed(const struct tree_policy *policy, const char *key)
{
	for (size_t i = 0; i < policy->assumed.n; i++)
		if (strcmp(policy->assumed.v[i], key) == 0)
			return true;
	return false;
}

static void build_policy_words(struct fabric *fabric, struct tree_policy *policy)
{
	fabric->congestion = (enum congestion_policy)policy->congestion;
	fabric->lb = (enum lb_policy)policy->lb;
	if (fabric->congestion != CC_DCQCN)
		policy_withdraw(policy, "congestion");
	if (fabric->lb != LB_STATIC)
		policy_withdraw(policy, "load_balancing");
	fabric->congestion_declared = !policy_is_assumed(policy, "congestion");
	fabric->lb_declared = !policy_is_assumed(policy, "load_balancing");
}

static void build_classes(struct build *build, const struct tree_policy *policy)
{
	struct fabric *fabric = build->c->fabric;
	for (size_t i = 0; i < policy->classes.n; i++) {
		const struct tree_class *tree = policy->classes.v[i];
		if (!yaml_get(tree->node, "priority") || tree->priority < 0 ||
			tree->priority >= FABRIC_CLASSES)
			continue;
		struct fabric_class *class = &fabric->classes[tree->priority];
		if (class->given)
			build_error(build, build_at(tree->node, "priority"),
				"priority %d is already in this list; remove one of them",
				(int)tree->priority);
		*class = (struct fabric_class){.given = true};
		class->congestion_given = tree->congestion >= 0;
		if (class->congestion_given)
			class->congestion = (enum congestion_policy)tree->congestion;
		class->lossless = (enum class_lossless)(tree->lossless + 1);
		class->ecn = (enum class_ecn)(tree->ecn + 1);
		if (!(fabric->lossless_mask >> tree->priority & 1))
			build_warn(build, build_at(tree->node, "priority"),
				"priority %d is not in lossless.priorities, which names the "
				"classes that are watched as RoCE's own",
				(int)tree->priority);
	}
}

static uint8_t lossless_mask_of(const struct tree_lossless *lossless)
{
	uint8_t mask = 0;
	for (size_t i = 0; i < lossless->priorities.n; i++)
		mask |= (uint8_t)(1u << (lossless->priorities.v[i][0] - '0'));
	return mask;
}

void build_scalars(struct config *config)
{
	const struct config_tree *tree = config->tree;
	struct fabric *fabric = config->fabric;
	const bool priced = tree->cost && !isnan(tree->cost->usd_per_gpu_hour);
	fabric->lossless_mask = lossless_mask_of(tree->lossless);
	build_policy_words(fabric, tree->policy);
	fabric->lossless_mtu_bytes = tree->lossless->mtu_bytes;
	fabric->has_cost = tree->jobs.n > 0 || priced;
	fabric->usd_per_gpu_hour = 0;
	if (priced)
		fabric->usd_per_gpu_hour = tree->cost->usd_per_gpu_hour;
	if (tree->defaults)
		config->defaults.interval_ns = tree->defaults->interval_ns;
	if (tree->tuning)
		build_tuning_scalars(config, tree->tuning);
	fabric_apply_policy(tree, fabric);
}

static void fabric_build_devices(struct build *build)
{
	struct config *c = build->c;
	struct fabric *fabric = c->fabric;
	const struct tree_list *trees = &c->tree->devices;
	struct smap *seen = smap_new();
	fabric->devices = arena_array(c->arena, struct fabric_device *, trees->n);
	for (size_t i = 0; i < trees->n; i++) {
		const struct tree_device *tree = trees->v[i];
		if (!tree->name ||
			build_already_given(build, seen, tree->node, "device", tree->name))
			continue;
		struct fabric_device *device = arena_new_of(c->arena, struct fabric_device);
		device->name = tree->name;
		device->role = (enum device_role)tree->role;
		device->rail = tree->rail;
		device->lb = fabric->lb;
		device->lb_declared = fabric->lb_declared;
		if (tree->lb >= 0) {
			device->lb = (enum lb_policy)tree->lb;
			device->lb_declared = true;
		}
		fabric->devices[fabric->n_devices++] = device;
	}
	smap_free(seen);
}

static void fabric_build_jobs(struct build *build)
{
	struct config *c = build->c;
	struct fabric *fabric = c->fabric;
	const struct tree_list *trees = &c->tree->jobs;
	struct smap *seen = smap_new();
	fabric->jobs = arena_array(c->arena, struct fabric_job, trees->n);
	for (size_t i = 0; i < trees->n; i++) {
		const struct tree_job *tree = trees->v[i];
		build_already_given(build, seen, tree->node, "job", tree->name);
		struct fabric_job *job = &fabric->jobs[fabric->n_jobs++];
		*job = (struct fabric_job){.name = tree->name,
			.user = tree->user,
			.gpus = (uint64_t)tree->gpus,
			.hosts = tree->hosts,
			.scheduled = tree->source == JOB_SCHEDULER,
			.step_ns = tree->step_ns};
		fabric_job_split(job, c->arena);
	}
	smap_free(seen);
}

static void fabric_build_thresholds(struct build *build)
{
	struct config *c = build->c;
	struct fabric *fabric = c->fabric;
	const struct tree_list *trees = &c->tree->thresholds;
	fabric->thresholds = arena_array(c->arena, struct fabric_threshold, trees->n);
	for (size_t i = 0; i < trees->n; i++) {
		const struct tree_threshold *tree = trees->v[i];
		fabric->thresholds[fabric->n_thresholds++] =
			(struct fabric_threshold){.devices = tree->devices,
				.ports = tree->ports,
				.priority = (int)tree->priority,
				.kmin_bytes = tree->kmin,
				.kmax_bytes = tree->kmax,
				.headroom_bytes = tree->headroom,
				.xoff_level_bytes = tree->xoff_level,
				.xon_level_bytes = tree->xon_level,
				.xon_offset_bytes = tree->xon_offset,
				.cell_bytes = tree->cell,
				.pool_bytes = tree->pool,
				.pmax = tree->pmax,
				.alpha = tree->alpha,
				.line = tree->node->line};
		if (tree->kmin && tree->kmax && tree->kmin > tree->kmax)
			build_error(build, build_at(tree->node, "kmin"),
				"kmin is larger than kmax; marking starts at kmin and every packet "
				"is marked from kmax");
		if (tree->xon_level && tree->xoff_level && tree->xon_level > tree->xoff_level)
			build_error(build, build_at(tree->node, "xon_level"),
				"xon_level is higher than xoff_level; sending resumes below the "
				"level that stopped it");
	}
}

void build_fabric(struct build *build)
{
	struct config *c = build->c;
	const struct config_tree *tree = c->tree;
	struct fabric *fabric = c->fabric = arena_new_of(c->arena, struct fabric);
	schema_read_or_defaults(build, "policy");
	schema_read_or_defaults(build, "lossless");
	fabric->name = tree->fabric;
	fabric->id = hash_bytes(fabric->name, strlen(fabric->name), 0);
	fabric->discover = tree->discover;
	fabric->lossless_mask = lossless_mask_of(tree->lossless);
	policy_assume(tree->policy, c->arena, "congestion");
	policy_assume(tree->policy, c->arena, "load_balancing");
	build_policy_words(fabric, tree->policy);
	build_classes(build, tree->policy);
	fabric_build_devices(build);
	fabric_sort(fabric); /* links are looked up by device name */
	fabric_build_jobs(build);
	fabric_build_thresholds(build);
	build_links(build);
	fabric_sort(fabric);
	fabric_derive_groups(fabric, c->arena);
	build_scalars(c);
}
