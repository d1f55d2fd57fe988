/*
 * peek - a quick look at a database, without configuration: has something been written, how new is
 * it, does an agent write it? For whoever looks every second. One thread at a time.
 */
#pragma once

#include "base/base.h"

struct history;
struct client;
struct config;

/* Zeroed but for the path, which is lent. Opened when it is needed, and again after an error. */
struct peek {
	const char *db_path;
	struct history *history;
};

/* peek_change - a number; two that differ: something was written in between. -1 when it cannot be
 * told. */
int64_t peek_change(struct peek *peek);

/* peek_newest - the time of the newest sample. 0, -ENODATA when there are none, or another negative
 * errno with @e. */
int peek_newest(struct peek *peek, int64_t *ret_ns, struct err *e);

/* peek_writer - the process that writes the database; 0 = none, negative: it cannot be told. */
int peek_writer(const struct peek *peek);

void peek_done(struct peek *peek);

/*
 * canary - is the way of the data alive, from the wire to the database? The running agent sends one
 * sample of its own (agent.canary) through it each interval: sink, intake, queue of the store,
 * commit. A reader looks at how old the newest one in the database is: older than two intervals
 * means that nothing new arrives there, whatever the targets' states say.
 *
 * The second sample (agent.moved) counts the octet counters of ports that came with another value
 * than before. When it stands still while targets are up, the switches answer and their counters do
 * not move: a dead cache, or an idle fabric.
 */

/* canary_interval_ns - how often the agent sends one: as often as it polls, at most every second,
 * at least every 10 s. */
int64_t canary_interval_ns(const struct config *config);

struct canary_state {
	bool known; /* false: no agent of this version ever wrote this database */
	int64_t t_ns; /* the newest canary */
	double age_s; /* at the time asked for; NAN unknown */
	double limit_s; /* two intervals, and one second for the commit */
	bool moving; /* .known and not older than .limit_s */
};

/* canary_read - as of @now_ns: the wall clock for a database that an agent should be writing. 0 or
 * negative errno, @e filled. */
int canary_read(
	const struct client *client, int64_t now_ns, struct canary_state *ret, struct err *e);
