/*
 * client - what a reading command works on: the database, the configuration, the time it is, and
 * the time range it was asked for.
 */
#ifndef RW_AGENT_CLIENT_H
#define RW_AGENT_CLIENT_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "agent/base/err.h"
#include "agent/document/format.h"

struct config;
struct entities;
struct history;
struct store;

struct globals { /* may stand before or after the command */
	/* -c, else $ROCEWATCH_CONFIG, else /etc/rocewatch/rocewatch.yaml */
	const char *config_path;
	bool config_named; /* by -c or the environment: then a missing file is an error */
	/* by -c: then it counts even for a database that holds one of its own */
	bool config_given;
	const char *db; /* --db, NULL */
	enum report_format format;
	bool format_given;
	const char *since, *until, *around, *span; /* as given */
	bool no_header, quiet;
	enum { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER } color;
	int verbose;
};

/*
 * A reading command's view of the world: the database (read-only) and the configuration in force:
 * from -c if there is one, else the one stored in the database. "now" is the wall clock when an
 * agent writes the database, else its newest sample.
 */
struct client {
	struct config *config;
	struct history *history;
	const char *db_path;
	/* from --since/--until/--around, else now - @default_span .. now */
	int64_t now_ns, from_ns, to_ns;
	bool range_given; /* somebody asked for this time range */
	bool agent_alive;
};
/*
 * config_recall - where *@config asks for discovered links, the links that the database knew at
 * @at_ns are put in: *@config is replaced then. 0 (also when none are known), or negative errno
 * with
 * @e filled.
 */
int config_recall(struct config **config, struct history *history, int64_t at_ns, struct err *e);
/*
 * client_open - 0; -EINVAL for usage and configuration (exit 2); any other negative errno for what
 * failed (exit 1). Waits some seconds for a database that an agent is creating; -EAGAIN when it is
 * still not ready.
 *
 * client_open_data - for commands that need the data, and the configuration only to explain it:
 * where the database holds none, or one that is no longer valid, a warning goes to stderr (not with
 * -q) and .config stays NULL.
 */
int client_open(struct client *client, const struct globals *globals, int64_t default_span_ns,
	struct err *e);
int client_open_data(struct client *client, const struct globals *globals, int64_t default_span_ns,
	struct err *e);
void client_done(struct client *client);
/* client_writer_pid - the agent that writes the database at the moment; 0 = none. */
int client_writer_pid(const struct client *client);
/* client_store_open - the database for writing, by a command, where no agent writes it; its
 * entities go into @entities. store_close() it. */
int client_store_open(
	const struct client *client, struct entities *entities, struct store **ret, struct err *e);
/* client_ask - a request to the agent that writes the database; @request is taken. 0 with its reply
 * (a new reference), or negative errno with @e filled, also when the agent refuses. */
int client_ask(const struct client *client, json_t *request, json_t **ret, struct err *e);
/* client_own_name - who acts where no agent is asked: the user's name, or "uid N". */
void client_own_name(char *buf, size_t size);

#endif
