/*
 * agent - the long-running process: start order, one tick a second, reload, stop order.
 *
 *      start: files closed -> store -> history -> captures -> targets -> socket -> rights given up
 *             -> system calls closed -> READY
 *      stop:  targets -> captures -> windows that ended -> socket -> store
 *
 * A target or capture that cannot be opened is shown as down with its reason and tried again; it
 * never stops the agent.
 */
#pragma once

#include "base/base.h"

struct config;

struct agent_options {
	const char *config_path;
	const char *db; /* overrides the configuration's store, NULL */
	int64_t for_ns; /* stop by itself after this long; 0 = never */
	const char *web_program; /* serves http.listen; NULL = this program */
	/* of 'agents:', its own name; NULL: it asks all devices */
	const char *name;
	bool judge; /* it asks none, and judges what the agents collect */
	bool sandbox; /* give up unneeded files and system calls, for good: agent/jail/sandbox.h
		       */
};

/* agent_run - until SIGTERM, SIGINT or the time is over. @config is taken over. 0, or negative
 * errno: it did not start, @e says why. */
int agent_run(const struct agent_options *options, struct config *config, struct err *e);
