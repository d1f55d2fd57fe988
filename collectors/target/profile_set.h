/* profile_set - the profiles of a configuration, loaded once for all of its targets. Loop thread.
 */
#ifndef RW_COLLECTORS_PROFILE_SET_H
#define RW_COLLECTORS_PROFILE_SET_H

#include "config/config.h"
#include "config/profile/profile.h"

struct profile_set {
	const struct config *config;
	struct profiles *profiles;
	size_t refs;
	/* what a protocol makes of these profiles once for all of its targets (gNMI: the patterns);
	 * NULL before its first target. Freed with the set. */
	void *compiled;
	void (*compiled_free)(void *compiled);
};

/* profile_set_get - NULL with the first mistake in @e (may be NULL). */
struct profile_set *profile_set_get(const struct config *config, struct err *e);
void profile_set_put(struct profile_set *set); /* NULL is fine */
/* profile_set_same - would a target of @config find the profiles of @set, used under @before? */
bool profile_set_same(
	const struct profile_set *set, const struct config *before, const struct config *config);

#endif
