/* profile_asic - finds the switching chip of a platform in the tables of all profiles. */
#include "config/profile/profile.h"
#include "config/profile/profile_tune.h"

const struct tune_asic *profiles_asic(const struct profiles *profiles, const char *platform)
{
	for (size_t i = 0; platform && i < profiles_count(profiles); i++) {
		const struct profile *at = profiles_at(profiles, i);
		for (size_t k = 0; k < at->n_asics; k++)
			if (tune_platform_fits(
				    at->asics[k].platforms, at->asics[k].n_platforms, platform))
				return &at->asics[k];
	}
	return NULL;
}
