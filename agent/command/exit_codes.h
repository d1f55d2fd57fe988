/*
 * exit_codes - what the exit codes of the program mean: those that all commands have, those of
 * checks, and the rows of commands whose codes say more. docs/exit-codes.md is printed from it, and
 * a test holds the examples of all commands to it.
 */
#ifndef RW_COMMAND_EXIT_CODES_H
#define RW_COMMAND_EXIT_CODES_H

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

#endif
