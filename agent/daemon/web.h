/* web - the agent's web server, as the configuration asks for it: section http. Loop thread. */
#pragma once

#include "base/base.h"
#include <sys/types.h>

struct agent;
struct config;
struct health;
struct loop;
struct web_child;

/* web_apply - start, stop, restart or reload the web server's process for the configuration in
 * force; @old is the one before, NULL at the start, after privileges were dropped. */
void web_apply(struct agent *agent, const struct config *old);
/* web_figures - whether it runs, and how often it was started. */
void web_figures(const struct agent *agent, struct health *health);

/*
 * web_child - the web server's process: started, watched and ended by the agent. One at a time.
 *
 *      STOPPED --start--> RUNNING --it ended--> WAITING --the gap is over--> RUNNING
 *         ^----stop---------'                      '---stop--> STOPPED
 *
 * It is the command "rocewatch web" of this same program, so a slow or broken client of it delays
 * no poll. Ended by itself it is started again after 1 s, 2 s, 4 s and so on up to 30 s; a run of a
 * minute begins the gaps anew. It ends with the agent, whatever happens to that: the command asks
 * the kernel for it. Loop thread.
 */

struct web_child_options {
	/* the file to run, NULL = this program; the words after its name, ended by NULL. Copied. */
	const char *program;
	const char *const *argv;
	/* it ended by itself, or could not be started: why, in words. Not for each of many. */
	void (*down)(void *arg, const char *why);
	void *arg;
};

/* web_child_new - STOPPED. Never NULL. */
struct web_child *web_child_new(struct loop *loop, const struct web_child_options *options);
/* web_child_free - stops it first; NULL is fine. */
void web_child_free(struct web_child *child);

/* web_child_start - nothing when it runs or waits already. */
void web_child_start(struct web_child *child);
/* web_child_stop - SIGTERM, and SIGKILL when it is still there after a few seconds: blocks that
 * long at most. */
void web_child_stop(struct web_child *child);
/* web_child_reload - SIGHUP: it reads the configuration again. One that waits for its start is
 * started at once. */
void web_child_reload(struct web_child *child);
/* web_child_tick - about each second: takes note of an end, and starts again when it is time. */
void web_child_tick(struct web_child *child, mono_t now);

pid_t web_child_pid(const struct web_child *child); /* 0 = it does not run */
uint64_t web_child_starts(const struct web_child *child);
