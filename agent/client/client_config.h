/*
 * client_config - the configuration that a command works by. For client.c and replay.
 */
#ifndef RW_CLIENT_CLIENT_CONFIG_H
#define RW_CLIENT_CLIENT_CONFIG_H

#include <stdint.h>

struct client;
struct config;
struct err;
struct globals;
struct history;

/*
 * client_config_read - reads the configuration file into @client->config, and sets .db_path. A file
 * with mistakes leaves .config NULL and puts the first one in .config_error; .db_path is then what
 * can be read of it, else the default. With --db and without -c no file is read. -EINVAL with @e
 * when a file that was named does not exist, or when neither a file nor a database is known.
 */
int client_config_read(struct client *client, const struct globals *globals, struct err *e);

/*
 * client_config_stored - reads the configuration that was in force at @client->to_ns, as the agent
 * or the replay stored it, into .config and .config_since_ns. -EINVAL: there is none, or this
 * version does not accept it; -EAGAIN: the agent has just begun.
 */
int client_config_stored(struct client *client, struct err *e);

/*
 * config_recall - where *@config asks for discovered links or for the jobs of a scheduler, those
 * that the database knew at @at_ns are put in: *@config is replaced then. 0 (also when none are
 * known), or negative errno with @e filled.
 */
int config_recall(struct config **config, struct history *history, int64_t at_ns, struct err *e);

#endif
