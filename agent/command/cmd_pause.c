/*
 * cmd_pause - "rocewatch pause [tree|ports]": who pauses whom.
 */
#include "agent/command/command.h"

#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/reports/pause_views.h"

extern const struct command command_pause;

static const struct command_option options[] = {
	{"priority", 0, "N", "only this priority"},
	{"incident", 0, "ID", "the window of this incident, and its priority"},
	{"device", 0, "GLOB", "ports: only of these devices"},
	{"port", 0, "GLOB", "ports: only these"},
	{"all", 0, NULL, "ports: also those without pause"},
	{NULL, 0, NULL, NULL},
};

static const struct pause_form {
	const char *name, *path;
	const struct view *view;
} forms[] = {
	{"tree", "pause/tree", &pause_tree_view},
	{"ports", "pause/ports", &pause_ports_view},
};

static int cmd_pause_run(struct command_args *args)
{
	const struct pause_form *form = NULL;
	if (!args->argc)
		form = &forms[0];
	for (size_t i = 0; i < rw_countof(forms) && !form; i++)
		if (str_eq(forms[i].name, args->argv[0]))
			form = &forms[i];
	if (!form)
		return usage_error(&command_pause,
			"unknown subcommand '%.64s'; expected tree or ports", args->argv[0]);
	if (args->argc > 1)
		return usage_extra(&command_pause, args->argv[1]);
	return command_served(args, form->path, NULL, NULL, form->view);
}

const struct command command_pause = {
	.name = "pause",
	.args = "[tree|ports]",
	.summary = "who pauses whom: the wait-for tree with its origin; pause time per port and "
		   "priority",
	.help = "tree: where pressure begins (a host that pauses its port, or a queue that is "
		"full), and who waits because of it. ports: pause time per port and "
		"priority, in both directions. Pause time that the switch measures is shown as it "
		"is. Where only PFC frames are counted, the time is a bound: from 0 to the longest "
		"these frames can last. The default time range is the last minute.",
	.options = options,
	.usage_exit = EXIT_USAGE,
	.run = cmd_pause_run,
};
