/* cli_options - reads the options of a command line by the rows. */
#ifndef RW_COMMAND_CLI_OPTIONS_H
#define RW_COMMAND_CLI_OPTIONS_H

#include "agent/command/command.h"

/* What a pass over the command line found. */
struct cli_read {
	struct globals *globals;
	const struct command *command; /* NULL: only up to the first other word */
	struct command_given *given; /* room for one a letter */
	size_t n_given;
	bool help, version; /* asked for; what follows is not read */
};

/* cli_read_options - 0, or the exit code of the mistake that it printed. getopt's optind is then
 * that of the first other word. */
int cli_read_options(struct cli_read *read, int argc, char **argv);

#endif
