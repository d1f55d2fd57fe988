/*
 * config_profiles - checks a configuration against the profiles: every profile that a device names
 * exists, and 'tuning.names' speaks of objects that some profile knows. It stands here and not in
 * config/, because profiles are read with the configuration's own reader.
 */
#include "config/profile/config_profiles.h"

#include <errno.h>
#include <string.h>
#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "config/config.h"
#include "config/profile/profile.h"
#include "config/profile/profile_tune.h"
#include "config/schema.h"
#include "config/yaml.h"

static int add_unknown_profile(const struct config *config, const struct yaml_node *at,
	const char *name, const struct profiles *profiles, struct err_list *errors)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	size_t n = profiles_count(profiles);
	const char **names = arena_array(a, const char *, n + 1);
	for (size_t i = 0; i < n; i++)
		names[i] = profiles_at(profiles, i)->name;
	names[n++] = "auto";
	const char *near = str_nearest(name, names, n);
	struct err e = {0};
	if (near)
		err_at(&e, -EINVAL, config->path, at ? at->line : 0, at ? at->col : 0,
			"profile: unknown name '%.64s'; did you mean '%s'?", name, near);
	else
		err_at(&e, -EINVAL, config->path, at ? at->line : 0, at ? at->col : 0,
			"profile: unknown name '%.64s', expected auto or one from 'rocewatch "
			"profile list'",
			name);
	err_list_add(errors, &e);
	return -EINVAL;
}

/* check_object_names - the objects that 'tuning: names' speaks of are known to some profile. */
static int check_object_names(
	const struct config *config, const struct profiles *profiles, struct err_list *errors)
{
	const struct tree_list *l = &config->tree->tuning->names;
	const char *known[64];
	size_t n = 0;
	int ret = 0;
	for (size_t i = 0; i < profiles_count(profiles); i++)
		for (size_t k = 0; profiles_at(profiles, i)->tune &&
			k < profiles_at(profiles, i)->tune->n_names && n < rw_countof(known);
			k++)
			known[n++] = profiles_at(profiles, i)->tune->names[k].name;
	for (size_t i = 0; i < l->n; i++) {
		const struct tree_tuning_name *name = l->v[i];
		bool found = false;
		for (size_t k = 0; k < n; k++)
			found = found || strcmp(known[k], name->object) == 0;
		if (found)
			continue;
		const struct yaml_node *at = build_at(name->node, "object");
		const char *near = str_nearest(name->object, known, n);
		struct err e = {0};
		ret = err_at(&e, -EINVAL, config->path, at->line, at->col,
			near ? "object: no profile knows '%s'; did you mean '%s'?"
			     : "object: no profile knows '%s'%s",
			name->object, str_or(near, "; 'config explain tuning.names' lists them"));
		err_list_add(errors, &e);
	}
	return ret;
}

int config_check_profiles(const struct config *config, struct err_list *errors)
{
	struct profiles *p = NULL;
	int ret = profiles_load(config->profile_dir, &p, errors);
	if (ret < 0)
		return ret;
	const struct tree_list *l = &config->tree->devices;
	const struct yaml_node *defaults = config->tree->defaults->node;
	if (strcmp(config->defaults.profile, "auto") != 0 &&
		!profiles_get(p, config->defaults.profile))
		ret = add_unknown_profile(
			config, build_at(defaults, "profile"), config->defaults.profile, p, errors);
	for (size_t i = 0; i < l->n; i++) {
		const struct tree_device *d = l->v[i];
		/* What came from the defaults was judged there. */
		if (yaml_get(d->node, "profile") && strcmp(d->profile, "auto") != 0 &&
			!profiles_get(p, d->profile))
			ret = add_unknown_profile(
				config, build_at(d->node, "profile"), d->profile, p, errors);
	}
	if (check_object_names(config, p, errors) < 0)
		ret = -EINVAL;
	profiles_free(p);
	return ret;
}
