/* cmd_blame - "rocewatch blame HOST|PORT": the incidents that a host or port causes, and those it
 * is a victim of. */
#include "agent/command/command.h"

#include "agent/answers/incident/blame.h"

static int cmd_blame_run(struct command_args *args)
{
	return command_served(args, "blame", "name", args->argv[0], &blame_view);
}

const struct command command_blame = {
	.name = "blame",
	.args = "HOST|PORT",
	.summary = "findings against a host or port, with their evidence",
	.help = "HOST is its name, or as in links host:NAME[:NIC]; PORT as DEVICE:PORT. All "
		"incidents are searched, or those of --since, --until and --around. The worst "
		"open one is shown in full, or the worst one when none is open; those of which it "
		"is only a victim are listed last.",
	.takes = TAKES_DB | TAKES_RANGE,
	.formats = WRITES_ALL,
	.examples = {{"blame node-010", "shows the incidents that this host causes"},
		{"blame leaf2:Ethernet2 --since 24h",
			"shows those of a switch port in the last day"}},
	.usage_exit = EXIT_USAGE,
	.run = cmd_blame_run,
};
