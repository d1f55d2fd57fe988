/* profile_neighbor - the texts of an LLDP neighbour against the words of all profiles. */
#include "agent/base/str.h"
#include "config/neighbor_kind.h"
#include "config/profile/profile.h"

static bool globs_fit(const struct profile_globs *globs, const char *text)
{
	for (size_t i = 0; *text && i < globs->n; i++)
		if (str_glob(globs->v[i], text))
			return true;
	return false;
}

/* A device that this profile is for, by its description. */
static bool profile_descr_fits(const struct profile *profile, const char *descr)
{
	for (size_t i = 0; *descr && i < profile->n_matches; i++)
		if (profile->matches[i].descr && str_glob(profile->matches[i].descr, descr))
			return true;
	return globs_fit(&profile->network_os, descr);
}

void profiles_neighbor_signs(const struct profiles *profiles, const char *descr,
	const char *port_id, const char *port_descr, struct neighbor_signs *ret)
{
	for (size_t i = 0; i < profiles_count(profiles); i++) {
		const struct profile *profile = profiles_at(profiles, i);
		ret->network_os = ret->network_os || profile_descr_fits(profile, descr);
		ret->host_os = ret->host_os || globs_fit(&profile->host_os, descr);
		ret->switch_port = ret->switch_port || globs_fit(&profile->switch_ports, port_id) ||
			globs_fit(&profile->switch_ports, port_descr);
	}
}
