/*
 * cmd_pause - "rocewatch pause [tree|ports]": who pauses whom.
 */
#include "agent/command/command.h"

#include "base/cleanup.h"
#include "base/str.h"
#include "agent/answers/pause/pause_views.h"

static const struct command_option options[] = {
	{"priority", 0, "N", "only this priority"},
	{"incident", 0, "ID", "the window of this incident, and its priority"},
	{"device", 0, "GLOB", "only of these devices"},
	{"port", 0, "GLOB", "only these"},
	{"all", 0, NULL, "also those without pause"},
	{NULL, 0, NULL, NULL},
};

static int cmd_pause_tree(struct command_args *args)
{
	return command_served(args, "pause/tree", NULL, NULL, &pause_tree_view);
}

static int cmd_pause_ports(struct command_args *args)
{
	return command_served(args, "pause/ports", NULL, NULL, &pause_ports_view);
}

static const struct subcommand subcommands[] = {
	{.name = "tree",
		.summary = "where pressure begins, and who waits because of it",
		.help = "It begins at a host that pauses its port, or at a queue that is full.",
		.options = "priority incident",
		.takes = TAKES_DB | TAKES_RANGE,
		.formats = WRITES_ALL,
		.examples = {{"pause tree", "draws the tree of the last minute"},
			{"pause tree --incident 72drcj3l", "draws it for an incident's window"}},
		.run = cmd_pause_tree},
	{.name = "ports",
		.summary = "pause time per port and priority, in both directions",
		.help = "Pause time that the switch measures is shown as it is. Where only PFC "
			"frames are counted, the time is a bound: from 0 to the longest these "
			"frames can last.",
		.options = "priority incident device port all",
		.takes = TAKES_DB | TAKES_RANGE,
		.formats = WRITES_ALL,
		.examples = {{"pause ports --device 'leaf*'", "lists paused ports of the leaves"},
			{"pause ports --priority 3 --all --format csv",
				"writes all ports of priority 3 as csv"}},
		.run = cmd_pause_ports},
	{0},
};

const struct command command_pause = {
	.name = "pause",
	.summary = "who pauses whom: the tree with its origin, time per port",
	.help = "The default time range is the last minute.",
	.options = options,
	.usage_exit = EXIT_USAGE,
	.subs = subcommands,
	.otherwise = "tree",
};
