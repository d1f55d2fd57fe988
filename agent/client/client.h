/*
 * client - what a reading command works on: the database, the configuration, the time it is, and
 * the time range it was asked for.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"
#include "agent/document/writer.h"
#include "db/store/store_state.h"

struct config;
struct history;
struct store;
struct client;
struct globals;

struct globals { /* may stand before or after the command */
	/* -c, else $ROCEWATCH_CONFIG, else /etc/rocewatch/rocewatch.yaml */
	const char *config_path;
	bool config_named; /* by -c or the environment: then a missing file is an error */
	/* by -c: then it counts even for a database that holds one of its own */
	bool config_given;
	const char *db; /* --db, NULL */
	enum report_format format;
	bool format_given;
	const char *other_format; /* one that only the command knows; NULL */
	const char *since, *until, *around, *span; /* as given */
	bool no_header, quiet;
	enum { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER } color;
	int verbose;
};

/* Who writes the database, as far as it is known. */
enum client_agent {
	AGENT_RUNNING,
	AGENT_STOPPED,
	AGENT_CANNOT_TELL, /* this user may not look at the lock file */
	STORE_REPLAY, /* no agent ever wrote it: a replay made it */
};

/*
 * A reading command's view of the world: the database (read-only) and the configuration in force:
 * from -c if there is one, else the one stored in the database. A file with mistakes does not keep
 * anybody from reading: the stored one is used, and .config_error says what is wrong.
 *
 * Three times, ns of the wall clock:
 *   .now_ns  what ages are counted from: the wall clock; the newest sample of a STORE_REPLAY
 *   .end_ns  where time ranges end, and what "15m" counts back from: now while an agent writes,
 * else the newest sample, so that history is found however long ago it ended .at_ns   what a state
 * is asked for (status, watch, doctor): now, or with --until or --around in the past that time
 */
struct client {
	struct config *config;
	struct history *history;
	char *db_path;
	/* "FILE:LINE:COL: MISTAKE" of the configuration file that is not used because of it; NULL
	 */
	char *config_error;
	struct err config_mistake; /* the same; .code 0 without one */
	int64_t config_since_ns; /* of the stored configuration, where it is used; 0 = not known */

	enum client_agent agent;
	int writer_pid; /* > 0 running, 0 = nobody, negative errno = cannot tell */
	/* An agent writes: known, or with AGENT_CANNOT_TELL inferred from data of the last minute.
	 */
	bool agent_alive;
	/* What the running agent says of its store; .running is false when nothing is known. */
	struct store_state store;
	/* Since then nothing new reaches the database, wall; 0 = it does, as far as is known.
	 * .stuck_why says why. No device may be called silent for that time. */
	int64_t stuck_ns;
	char stuck_why[sizeof(((struct store_state *)0)->reason)];
	bool has_data;
	/* The newest sample, where .has_data. One ahead of the clock counts only where all are. */
	int64_t data_ns;
	int64_t written_ns; /* when an agent last wrote of itself or a target; 0 = never */

	int64_t now_ns, end_ns;
	int64_t from_ns, to_ns; /* from --since/--until/--around, else end - @default_span .. end */
	bool range_given; /* somebody asked for this time range */
	int64_t at_ns;
	bool past; /* .at_ns was asked for, and is over */
};

/* What is further ahead of the clock than two hosts differ was stamped by a wrong clock. */
#define CLIENT_SKEW_NS (15 * 1000000000LL)

/* client_data_end - up to where data counts for a state: .at_ns in the past, else .end_ns. */
static inline int64_t client_data_end(const struct client *client)
{
	if (client->past)
		return client->at_ns;
	return client->end_ns;
}

/*
 * client_open - 0; -EINVAL for usage and configuration (exit 2): a mistake in the file is one only
 * where no database with a configuration can be found; any other negative errno for what
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
void client_warning(const struct client *client, struct str *out);
/* client_writer_pid - the agent that writes the database at the moment; 0 = none; negative errno:
 * the lock may not be read, so it is not known. */
int client_writer_pid(const struct client *client);
/* client_store_holders - adds "pid 123 (sqlite3)" of the processes that hold the database's log or
 * locks, but this one; nothing when none is known. */
void client_store_holders(const struct client *client, struct str *out);
/* client_ask - a request to the agent that writes the database; @request is taken. 0 with its reply
 * (a new reference), or negative errno with @e filled, also when the agent refuses. */
int client_ask(const struct client *client, json_t *request, json_t **ret, struct err *e);
/* client_act - an action on incident @id, such as "ack", by that agent; @note: its text, or NULL.
 */
int client_act(const struct client *client, const char *action, const char *id, const char *note,
	struct err *e);
/* client_own_name - who acts where no agent is asked: the user's name, or "uid N". */
void client_own_name(char *buf, size_t size);

/*
 * client_config - the configuration that a command works by. For client.c and replay.
 */

/*
 * client_config_read - reads the configuration file into @client->config, and sets .db_path. A file
 * with mistakes leaves .config NULL and puts the first one in .config_error; .db_path is then what
 * can be read of it, else the default. With --db and without -c no file is read. -EINVAL with @e
 * when a file that was named does not exist, or when neither a file nor a database is known.
 */
int client_config_read(struct client *client, const struct globals *globals, struct err *e);

/*
 * config_recall - where *@config asks for discovered links or for the jobs of a scheduler, those
 * that the database knew at @at_ns are put in: *@config is replaced then. 0 (also when none are
 * known), or negative errno with @e filled.
 */
int config_recall(struct config **config, struct history *history, int64_t at_ns, struct err *e);

/*
 * direct - a command writes the database itself, because no agent does (client_writer_pid() is 0):
 * it is the writer for a moment, with the writer's lock.
 */

/* direct_write - opens the database, lets @fn write, and commits. 0 or negative errno with @e: what
 * @fn returned, or why the database cannot be written (-EBUSY: somebody else writes it now). */
typedef int direct_fn(const struct client *client, struct store *store, void *arg, struct err *e);
int direct_write(const struct client *client, direct_fn *fn, void *arg, struct err *e);

/* known_names - is there such a device, port or job? A name that matches nothing is a typing
 * error, and an empty answer would look like good news. What is known: the configuration, and every
 * name that the database has samples of.
 *
 * Each takes a glob (NULL matches all) and returns 0, or -EINVAL with @e: what was asked for,
 * and the nearest name. Callers have read something of the history before, so that its names are
 * there. */

int known_device(struct client *client, const char *glob, struct err *e);

/* known_stored_device - the same for a caller that has not read the names of the history yet. */
int known_stored_device(struct client *client, const char *glob, struct err *e);

/* known_port - of a device that matches @device; by name or alias. */
int known_port(struct client *client, const char *device, const char *glob, struct err *e);

int known_job(struct client *client, const char *glob, struct err *e);
