/*
 * privilege - open first what needs rights, then give them up in one visible place.
 *
 * Two steps, since capabilities are per thread and the store starts one: before any thread, everything goes that is not needed to
 * get ready; when store, socket and captures are open, the user is changed and only what opening a capture or entering a network
 * namespace again needs is kept: CAP_NET_RAW with a capture, CAP_SYS_ADMIN when a capture or target lives in another namespace.
 */
#ifndef RW_AGENT_PRIVILEGE_H
#define RW_AGENT_PRIVILEGE_H

#include "config/config.h"

struct err;

/* privilege_begin - before threads: no_new_privs, and drop what even getting ready does not need. */
int privilege_begin(const struct config *c, struct err *e);

/*
 * privilege_drop - become config.user (or, as root, an existing user "rocewatch"), who then owns the store's files and the socket, and keep
 * only what is said above. Logs one line that says who we are now and what is kept. 0 or negative errno: then the agent must not run.
 */
int privilege_drop(const struct config *c, struct err *e);

#endif
