/*
 * direct - a command writes the database itself, because no agent does (client_writer_pid() is 0):
 * it is the writer for a moment, with the writer's lock.
 */
#ifndef RW_CLIENT_DIRECT_H
#define RW_CLIENT_DIRECT_H

struct client;
struct err;
struct store;

/* direct_write - opens the database, lets @fn write, and commits. 0 or negative errno with @e: what
 * @fn returned, or why the database cannot be written (-EBUSY: somebody else writes it now). */
typedef int direct_fn(const struct client *client, struct store *store, void *arg, struct err *e);
int direct_write(const struct client *client, direct_fn *fn, void *arg, struct err *e);

#endif
