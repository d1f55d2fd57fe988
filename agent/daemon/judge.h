/*
 * judge - judges what several agents collect, each from its share of the fabric
 * (docs/scale-out.md). It collects nothing: it reads the samples of all shares from where they are
 * gathered, in order of time, and hands them to the pipeline of the agent.
 *
 *      WAITING --every share has more--> READING --read--> fed to the pipeline --> WAITING
 *
 * It goes as far as the slowest share has data, less what may still arrive (one interval). A share
 * counts by its pulse: what it stored before a pulse was gathered before it. One of which nothing
 * new came for judge.wait, or that is far behind the others, is not waited for: its devices are
 * unknown from there on, and an event says so. While nothing can be read at all, nobody is late.
 *
 * Where it is survives a restart (health judge/judge/until_s): windows judged before are analysed
 * again and not stored again.
 *
 * Reading happens in a thread of its own (loop_work()); all other functions on the loop thread.
 */
#pragma once

#include "base/base.h"

#include "db/model/flow.h"
#include "db/model/metric.h"

struct config;
struct entities;
struct health;
struct ledger;
struct loop;
struct pipeline;
struct store;
struct judge;

struct judge_world { /* all lent */
	const struct config *config; /* with .judge */
	struct entities *entities;
	struct pipeline *pipeline;
	struct ledger *ledger;
	struct store *store;
};
/* judge_new - @path: the judge's own database, whose open incidents and position go on. 0, or
 * negative errno with @e filled: it then begins anew, and *@ret is valid all the same. */
int judge_new(const struct judge_world *world, const char *path, struct judge **ret, struct err *e);
/* judge_free - waits for a read under way. NULL is fine. */
void judge_free(struct judge *judge);
/* judge_reload - another configuration. */
void judge_reload(struct judge *judge, const struct config *config);

/* judge_tick - about once a second: reads on when there is more. Does not block. */
void judge_tick(struct judge *judge, struct loop *loop, mono_t now);
/* judge_step - the same in one go, which blocks: for tests. 1: something was judged; 0: nothing to
 * do; negative errno with @e filled. */
int judge_step(struct judge *judge, mono_t now, struct err *e);

/* judge_until - all windows that ended by then are judged; INT64_MIN: none yet. For tests: they
 * wait for it, where the health of the agent has it in milliseconds. */
int64_t judge_until(const struct judge *judge);
void judge_health(const struct judge *judge, struct health *health);

/*
 * judge_read - what the judge reads in one go: how far each share has data, and the samples and
 * flows up to where the slowest one has. It touches nothing of the loop, so it runs in any thread.
 */

/* One agent of the fabric, as far as its data shows. */
struct judge_share {
	const char *name;
	int64_t newest_ns; /* of its pulse; INT64_MIN: none */
	mono_t moved; /* when it last had something new; 0: before the judge began */
	bool late; /* not waited for */
	int64_t late_since_ns; /* its data stopped there */
};

/* judge_horizon - how far @shares let one judge at @now, and who of them is late from now on.
 * INT64_MIN: not at all. */
int64_t judge_horizon(struct judge_share *shares, size_t n, int64_t wait_ns, mono_t now);
