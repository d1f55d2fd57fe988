/* cli_help - help made from the rows of commands. */
#pragma once

#include "base/base.h"

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

/* ---- exit_codes ------------------------------------------------------------ */

/*
 * exit_codes - what the exit codes of the program mean: those that all commands have, those of
 * checks, and the rows of commands whose codes say more. docs/exit-codes.md is printed from it, and
 * a test holds the examples of all commands to it.
 */

struct exit_code {
	/* "topology check"; EXIT_ANY or EXIT_CHECKS */
	const char *command;
	int code;
	const char *means; /* one sentence */
};

#define EXIT_ANY "" /* every command, unless a row of its own says more */
#define EXIT_CHECKS "check" /* all checks, and reports with --check */

extern const struct exit_code exit_codes[]; /* ends with command NULL */

/* exit_code_of - the row of @command and @code itself, or NULL; for docs/exit-codes.md, whose
 * examples are held to it. */
const struct exit_code *exit_code_of(const char *command, int code);

/* ---- cli_options ----------------------------------------------------------- */

/* cli_options - reads the options of a command line by the rows. */

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
