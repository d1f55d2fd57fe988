/* process - programs, a thread that runs by slices, and network namespaces. */
#pragma once

#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct err;
struct slice;

/*
 * netns - the calling thread in another network namespace for as long as it takes to open a socket.
 * Needs CAP_SYS_ADMIN. Sockets stay in the namespace they were opened in.
 */

/*
 * netns_enter - move the calling thread into @name: the name of a namespace below /run/netns, or a
 * path. NULL is our own and needs no right.
 *
 * *@ret_back is what netns_leave() takes, -1 for our own. 0, -ENODEV when there is no such
 * namespace, or another negative errno; @e says which and what is missing.
 */
int netns_enter(const char *name, int *ret_back, struct err *e);

/* netns_leave - back to where netns_enter() came from. Ends the process when that fails: in the
 * wrong namespace every later socket would be wrong without a word. */
void netns_leave(int back);

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

/*
 * path_answers - takes the first look at @path in a child: what it is, a file's first byte, a
 * directory's first name. So a mount whose server does not answer holds the child, and not whoever
 * goes on to use the path; the kernel may not let it be killed, this process ends all the same.
 *
 * 0, also for what is not there or may not be seen: the caller's own look says that. -ETIMEDOUT
 * after 3 s, half a second while an earlier child is still held; @e says so. Any thread.
 */
int path_answers(const char *path, struct err *e);
/* path_ask_nobody - from now on 0 at once: the walls of this process let it make no child. */
void path_ask_nobody(void);

/*
 * slice - long work in short pieces, on a stack of its own. The work runs on a thread, but never at
 * the same time as whoever hands it slices: slice_run() gives it the turn and waits until it gives
 * the turn back, in slice_pause() or at its end. So both may use the same data without locks; what
 * one of them lends the other must outlive the turn.
 */

typedef void slice_fn(void *arg);
/* slice_new - nothing runs yet. NULL when there is no thread to be had. */
struct slice *slice_new(void);
/* slice_free - not while work is under way. NULL is fine. */
void slice_free(struct slice *slice);

/* slice_begin - the next work; none may be under way. Nothing of it runs before slice_run(). */
void slice_begin(struct slice *slice, slice_fn *fn, void *arg);
/* slice_run - goes on with the work for about @budget_ns; true when it has ended. */
bool slice_run(struct slice *slice, int64_t budget_ns);
/* slice_pause - called by the work, often: when its time is over, it waits for the next slice. A
 * slice_pause() from elsewhere does nothing. */
void slice_pause(struct slice *slice);
