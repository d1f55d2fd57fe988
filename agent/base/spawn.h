/*
 * spawn - starts a program that inherits nothing by accident: no descriptor but standard input,
 * output and error, no signal that is ignored or blocked.
 *
 *   struct spawn spawn;
 *   spawn_begin(&spawn);
 *   posix_spawn_file_actions_adddup2(&spawn.files, channel, STDIN_FILENO);
 *   int rc = spawn_run(&spawn, &pid, program, argv, environ);
 *
 * Any thread. Every spawn_begin() is followed by one spawn_run().
 */
#ifndef RW_BASE_SPAWN_H
#define RW_BASE_SPAWN_H

#include <spawn.h>
#include <sys/types.h>

struct spawn {
	posix_spawn_file_actions_t files; /* the caller adds to it */
	posix_spawnattr_t attributes;
};

void spawn_begin(struct spawn *spawn);
/* spawn_own_group - the program becomes the leader of a group of its own, so that all it starts can
 * be signalled together. Between begin and run. */
void spawn_own_group(struct spawn *spawn);
/* spawn_run - 0 with *@ret_pid, or negative errno. @argv and @environment end with NULL; lent. */
int spawn_run(struct spawn *spawn, pid_t *ret_pid, const char *program, char *const *argv,
	char *const *environment);

#endif
