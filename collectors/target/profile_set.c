/* profile_set - loads the profiles of a configuration when its first target asks, and frees them
 * with its last. */
#include "collectors/target/profile_set.h"

#include <assert.h>
#include <stdlib.h>
#include "agent/base/cleanup.h"
#include "agent/base/str.h"

static struct profile_set *newest;

struct profile_set *profile_set_get(const struct config *config, struct err *e)
{
	if (newest && newest->config == config) {
		newest->refs++;
		return newest;
	}
	struct err_list errors = {0};
	struct profiles *profiles;
	int rc = profiles_load(config->profile_dir, &profiles, &errors);
	if (rc < 0 && e && errors.n)
		*e = errors.v[0];
	err_list_done(&errors);
	if (rc < 0)
		return NULL;
	struct profile_set *s = rw_calloc(1, sizeof(*s));
	*s = (struct profile_set){.config = config, .profiles = profiles, .refs = 1};
	newest = s;
	return s;
}

void profile_set_put(struct profile_set *set)
{
	if (!set || --set->refs > 0)
		return;
	if (newest == set)
		newest = NULL;
	for (size_t i = 0; i < PROFILE_SLOTS && set->slots[i].free; i++)
		set->slots[i].free(set->slots[i].data);
	profiles_free(set->profiles);
	free(set);
}

void **profile_set_slot(struct profile_set *set, void (*free_data)(void *data))
{
	size_t i = 0;
	while (i < PROFILE_SLOTS && set->slots[i].free && set->slots[i].free != free_data)
		i++;
	assert(i < PROFILE_SLOTS);
	set->slots[i].free = free_data;
	return &set->slots[i].data;
}

/* texts_same - the same files, word for word? */
static bool texts_same(const struct profiles *left, const struct profiles *right)
{
	if (profiles_count(left) != profiles_count(right))
		return false;
	for (size_t i = 0; i < profiles_count(left); i++)
		if (!str_eq(profiles_at(left, i)->text, profiles_at(right, i)->text))
			return false;
	return true;
}

bool profile_set_same(
	const struct profile_set *set, const struct config *before, const struct config *config)
{
	if (!before->profile_dir && !config->profile_dir)
		return true;
	struct profile_set *now = profile_set_get(config, NULL);
	bool same = now && (now == set || texts_same(set->profiles, now->profiles));
	profile_set_put(now);
	return same;
}
