/* profile_command - the commands of a profile that a person copies. */
#include <string.h>

#include "config/profile/profile.h"

const char *profile_command_of(const struct profile *profile, const char *topic)
{
	for (size_t i = 0; i < profile->n_commands; i++)
		if (strcmp(profile->commands[i].topic, topic) == 0)
			return profile->commands[i].run;
	return NULL;
}
