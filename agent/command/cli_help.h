/* cli_help - help made from the rows of commands. */
#ifndef RW_COMMAND_CLI_HELP_H
#define RW_COMMAND_CLI_HELP_H

#include <stddef.h>
#include <stdio.h>

#include "agent/command/command.h"

/* A global option and the bit of enum command_takes that it needs; 0: every command takes it,
 * GLOBAL_FORMAT: whoever writes a format. */
enum { GLOBAL_FORMAT = 1 << 16 };
struct global_option {
	struct command_option o;
	int value; /* for getopt_long() */
	unsigned needs;
};
extern const struct global_option global_options[];
extern const size_t n_global_options;

/* global_is_for - the row takes this global option, and the command has none of this name itself.
 */
bool global_is_for(const struct global_option *option, const struct command *command,
	const struct subcommand *sub);
/* global_placeholder - the value of this option as the row takes it: "table|json". @buf holds it
 * where it is made; NULL a flag. */
const char *global_placeholder(
	const struct global_option *option, const struct subcommand *sub, char *buf, size_t size);

/* help_of_all - the commands, global options and topics. */
void help_of_all(FILE *out, const struct command *const *table);
/* help_of_command - of the command as a whole: with subcommands it lists them. */
void help_of_command(FILE *out, const struct command *command);
/* help_of_sub - of one row. */
void help_of_sub(FILE *out, const struct command *command, const struct subcommand *sub);

/* A text that is not about one command: "rocewatch help exit-codes". */
struct help_topic {
	const char *name, *summary;
	const char *text; /* lines as they are printed */
};
extern const struct help_topic help_topics[]; /* ends with name NULL */
/* help_of_topic - false when there is none of this name. */
bool help_of_topic(FILE *out, const char *name);

#endif
