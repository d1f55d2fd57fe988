/*
 * privilege - open first what needs rights, then give them up in one visible place.
 *
 * Two steps, since capabilities are per thread and the store starts one: before any thread,
 * everything goes that is not needed to get ready; when store, socket and captures are open, the
 * user is changed and only what opening a capture or entering a network namespace again needs is
 * kept: CAP_NET_RAW with a capture, CAP_SYS_ADMIN when a capture or target lives in another
 * namespace.
 *
 * Changing the user takes the capabilities of every thread (the kernel does, and only the thread
 * that asks may keep some). Where there is no user to change to nothing would, so then all is given
 * up in the first step, before there is a second thread. One thing may have to stay:
 * CAP_DAC_OVERRIDE, when we are root and the store, the socket or a secret belongs to somebody
 * else; that is warned of, with the remedy.
 */
#ifndef RW_AGENT_PRIVILEGE_H
#define RW_AGENT_PRIVILEGE_H

#include "config/config.h"

struct err;

/* privilege_begin - before threads: no_new_privs, and drop what even getting ready does not need.
 */
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

#endif
