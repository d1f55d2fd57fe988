/*
 * netns - the calling thread in another network namespace for as long as it takes to open a socket.
 * Needs CAP_SYS_ADMIN. Sockets stay in the namespace they were opened in.
 */
#ifndef RW_BASE_NETNS_H
#define RW_BASE_NETNS_H

struct err;

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

#endif
