/* profile_set - the profiles of a configuration, loaded once for all of its targets. Loop thread.
 */
#ifndef RW_COLLECTORS_PROFILE_SET_H
#define RW_COLLECTORS_PROFILE_SET_H

#include "config/config.h"
#include "config/profile/profile.h"

#define PROFILE_SLOTS 4 /* protocols that keep something */

struct profile_slot {
	void *data;
	void (*free)(void *data); /* NULL = unused */
};

struct profile_set {
	const struct config *config;
	struct profiles *profiles;
	size_t refs;
	struct profile_slot slots[PROFILE_SLOTS]; /* see profile_set_slot() */
};

/* profile_set_get - NULL with the first mistake in @e (may be NULL). */
struct profile_set *profile_set_get(const struct config *config, struct err *e);
void profile_set_put(struct profile_set *set); /* NULL is fine */
/* profile_set_slot - what a protocol keeps once for all targets of these profiles: compiled
 * patterns, a scratch. The slot is the protocol's by its free function, holds NULL at first, and is
 * freed with the set. */
void **profile_set_slot(struct profile_set *set, void (*free_data)(void *data));

/* profile_set_same - would a target of @config find the profiles of @set, used under @before? */
bool profile_set_same(
	const struct profile_set *set, const struct config *before, const struct config *config);

#endif
