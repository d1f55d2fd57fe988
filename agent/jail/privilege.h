/*
 * privilege - what needs rights is opened first, then the rights are dropped in one place.
 *
 * There are two steps, since capabilities are per thread and the store starts a thread:
 *
 *   1. Before any thread: drop what the start does not need.
 *   2. When store, socket and captures are open: change the user, and keep only what opening again
 *      needs: CAP_NET_RAW for a capture, CAP_SYS_ADMIN for a capture or target in another network
 *      namespace.
 *
 * A change of user takes the capabilities of every thread; only the thread that asks may keep some.
 * Without a user to change to, the other threads would keep theirs: then everything is dropped in
 * step 1. One capability may have to stay: CAP_DAC_OVERRIDE, when we are root and the store, the
 * socket or a secret belongs to another user. The log says so, with the remedy.
 */
#pragma once

#include "base/base.h"

#include "config/config.h"

/* privilege_begin - step 1, and no_new_privs. 0 or negative errno. */
int privilege_begin(const struct config *config, struct err *e);

/*
 * privilege_files - raise the soft limit of open files as far as the hard one allows: every device
 * is a socket, and a login shell's 1024 are few. Warns, with the remedy, when the limit stays below
 * what @config needs. Once, before anything is opened.
 */
void privilege_files(const struct config *config);

/*
 * privilege_drop - become config.user (or, as root, an existing user "rocewatch"), who then owns
 * the store's files and the socket, and keep only what is said above. Logs one line that says who
 * we are now and what is kept. 0 or negative errno: then the agent must not run.
 */
int privilege_drop(const struct config *config, struct err *e);

/* privilege_wants_netns - does @config name another network namespace? */
bool privilege_wants_netns(const struct config *config);

/*
 * privilege_lend - what this thread starts from now on keeps CAP_NET_RAW (@raw) and CAP_SYS_ADMIN
 * (@netns) as ambient capabilities, as far as this thread has them; both false: nothing any more.
 * For a process that opens a capture and then calls privilege_end().
 */
void privilege_lend(bool raw, bool netns);

/*
 * privilege_end - gives up every right of this process, for good: as root it becomes @user (NULL:
 * "rocewatch", where there is such a user), then privilege_none(). For a process that has opened
 * what it needs. Before any thread. 0 or negative errno with @e.
 */
int privilege_end(const char *user, struct err *e);

/* privilege_none - gives up every capability of this process, for good, and no_new_privs: for a
 * process that only reads. Before any thread. 0 or negative errno with @e. */
int privilege_none(struct err *e);
