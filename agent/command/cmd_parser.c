/* cmd_parser - "rocewatch parser": reads packets for the agent that started it. */
#include "agent/command/command.h"

#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "agent/jail/parser_child.h"

static int cmd_parser_run(struct command_args *args)
{
	int type = 0;
	socklen_t n = sizeof(type);
	if (getsockopt(STDIN_FILENO, SOL_SOCKET, SO_TYPE, &type, &n) < 0 ||
		type != SOCK_SEQPACKET) {
		fprintf(stderr,
			"this command is for the agent, which starts it for each capture\n");
		return EXIT_USAGE;
	}
	return parser_child_run(STDIN_FILENO);
}

const struct command command_parser = {
	.name = "parser",
	.summary = "reads the packets of one capture for the agent that starts it",
	.hidden = true,
	.usage_exit = EXIT_USAGE,
	.run = cmd_parser_run,
};
