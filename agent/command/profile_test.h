/*
 * profile_test - "profile test": asks one device what its profile promises and reports column by
 * column what came.
 */
#pragma once

#include "agent/command/command.h"

struct config;

/* profile_test - the command `profile test TARGET`; @config may be NULL. Returns the exit code. */
int profile_test(const struct command *command, struct command_args *args,
	const struct config *config, const char *target);
