/*
 * config_profiles - checks a configuration against the profiles: every profile that a device names
 * exists, and 'tuning.names' speaks of objects that some profile knows. It stands here and not in
 * config/, because profiles are read with the configuration's own reader.
 */
#include "config/profile/config_profiles.h"

#include "config/config.h"
#include "config/profile/profile.h"
#include "config/profile/profile_tune.h"
#include "config/schema.h"
#include "config/yaml.h"

/* A mistake at @at, which is NULL where the file does not say so itself. */
static int add_mistake(struct err_list *errors, const struct config *config,
	const struct yaml_node *at, const char *text)
{
	struct err e = {0};
	int line = 0, col = 0;
	if (at) {
		line = at->line;
		col = at->col;
	}
	err_at(&e, -EINVAL, config->path, line, col, "%s", text);
	err_list_add(errors, &e);
	return -EINVAL;
}

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
	if (near)
		return add_mistake(errors, config, at,
			arena_printf(a, "profile: unknown name '%.64s'; did you mean '%s'?", name,
				near));
	return add_mistake(errors, config, at,
		arena_printf(a,
			"profile: unknown name '%.64s', expected auto or one from 'rocewatch "
			"profile list'",
			name));
}

/* The objects that some profile has names for. Returns how many. */
static size_t known_objects(const struct profiles *profiles, const char **ret, size_t max)
{
	size_t n = 0;
	for (size_t i = 0; i < profiles_count(profiles); i++) {
		const struct profile_tune *tune = profiles_at(profiles, i)->tune;
		for (size_t k = 0; tune && k < tune->n_names && n < max; k++)
			ret[n++] = tune->names[k].name;
	}
	return n;
}

static bool is_one_of(const char *text, const char *const *texts, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(texts[i], text) == 0)
			return true;
	return false;
}

/* The objects that 'tuning: names' speaks of are known to some profile. */
static int check_object_names(
	const struct config *config, const struct profiles *profiles, struct err_list *errors)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	const struct config_tuning *tuning = config->tree->tuning;
	const char *known[64];
	const size_t n = known_objects(profiles, known, rw_countof(known));
	int ret = 0;
	for (size_t i = 0; i < tuning->n_names; i++) {
		const struct config_tuning_name *name = &tuning->names[i];
		if (is_one_of(name->object, known, n))
			continue;
		const char *near = str_nearest(name->object, known, n);
		const char *hint = "; 'config explain tuning.names' lists them";
		if (near)
			hint = arena_printf(a, "; did you mean '%s'?", near);
		ret = add_mistake(errors, config, build_at(name->node, "object"),
			arena_printf(a, "object: no profile knows '%s'%s", name->object, hint));
	}
	return ret;
}

int config_check_profiles(const struct config *config, struct err_list *errors)
{
	struct profiles *p = NULL;
	int ret = profiles_load(config->profile_dir, &p, errors);
	if (ret < 0)
		return ret;
	const struct yaml_node *defaults = config->tree->defaults->node;
	if (strcmp(config->defaults.profile, "auto") != 0 &&
		!profiles_get(p, config->defaults.profile))
		ret = add_unknown_profile(
			config, build_at(defaults, "profile"), config->defaults.profile, p, errors);
	for (size_t i = 0; i < config->tree->n_devices; i++) {
		const struct config_device *d = &config->tree->devices[i];
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
