/* spawn - posix_spawn with what all callers want alike. */
#include "agent/base/spawn.h"

#include <signal.h>
#include <unistd.h>

#define SPAWN_FLAGS (POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK)

void spawn_begin(struct spawn *spawn)
{
	sigset_t none, all;
	sigemptyset(&none);
	sigfillset(&all);
	posix_spawn_file_actions_init(&spawn->files);
	posix_spawnattr_init(&spawn->attributes);
	posix_spawnattr_setflags(&spawn->attributes, SPAWN_FLAGS);
	posix_spawnattr_setsigdefault(&spawn->attributes, &all);
	posix_spawnattr_setsigmask(&spawn->attributes, &none);
}

void spawn_own_group(struct spawn *spawn)
{
	posix_spawnattr_setflags(&spawn->attributes, SPAWN_FLAGS | POSIX_SPAWN_SETPGROUP);
	posix_spawnattr_setpgroup(&spawn->attributes, 0);
}

int spawn_run(struct spawn *spawn, pid_t *ret_pid, const char *program, char *const *argv,
	char *const *environment)
{
	/* after the caller's own: what it duplicates is still open here */
	posix_spawn_file_actions_addclosefrom_np(&spawn->files, STDERR_FILENO + 1);
	const int rc =
		posix_spawn(ret_pid, program, &spawn->files, &spawn->attributes, argv, environment);
	posix_spawnattr_destroy(&spawn->attributes);
	posix_spawn_file_actions_destroy(&spawn->files);
	return -rc;
}
