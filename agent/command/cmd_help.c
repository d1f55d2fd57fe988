/* cmd_help - "rocewatch help": the same pages as --help, and topics. */

#include "agent/command/cli_help.h"
#include "agent/command/command.h"

enum { HELP_NAMES = 96 };

static const struct command *help_find(const struct command_args *args, const char *word)
{
	for (size_t i = 0; args->table[i]; i++)
		if (str_eq(args->table[i]->name, word))
			return args->table[i];
	return NULL;
}

static int help_unknown(const struct command_args *args, const char *word)
{
	const char *names[HELP_NAMES];
	size_t n = 0;
	for (size_t i = 0; args->table[i] && n < rw_countof(names); i++)
		if (!args->table[i]->hidden)
			names[n++] = args->table[i]->name;
	for (size_t i = 0; help_topics[i].name && n < rw_countof(names); i++)
		names[n++] = help_topics[i].name;
	const char *near = str_nearest(word, names, n);
	if (near)
		return usage_error(args->command,
			"unknown command or topic '%.64s'; did you mean '%s'?", word, near);
	return usage_error(args->command,
		"unknown command or topic '%.64s'; 'rocewatch help' lists them", word);
}

static int help_unknown_sub(
	const struct command_args *args, const struct command *command, const char *word)
{
	const char *names[HELP_NAMES];
	struct subcommand row;
	size_t n = 0;
	for (; n < rw_countof(names) && command_sub(command, n, &row); n++)
		names[n] = row.name;
	if (n == 0)
		return usage_error(
			args->command, "%s has no subcommand '%.64s'", command->name, word);
	return usage_unknown(
		args->command, str_or(command->sub_kind, "subcommand"), word, names, n);
}

static int cmd_help_run(struct command_args *args)
{
	struct subcommand sub;
	if (args->argc == 0) {
		help_of_all(stdout, args->table);
		return EXIT_OK;
	}
	const struct command *command = help_find(args, args->argv[0]);
	if (!command && args->argc == 1 && help_of_topic(stdout, args->argv[0]))
		return EXIT_OK;
	if (!command)
		return help_unknown(args, args->argv[0]);
	if (args->argc == 1) {
		help_of_command(stdout, command);
		return EXIT_OK;
	}
	if (!command_sub_named(command, args->argv[1], &sub))
		return help_unknown_sub(args, command, args->argv[1]);
	help_of_sub(stdout, command, &sub);
	return EXIT_OK;
}

const struct command command_help = {
	.name = "help",
	.args = "[COMMAND|TOPIC] [SUBCOMMAND]",
	.summary = "help on a command, on one of its subcommands, or on a topic",
	.help = "'rocewatch help' lists the commands and the topics.",
	.examples = {{"help incident ack", "explains how an incident is acknowledged"},
		{"help exit-codes", "lists the exit codes of commands and checks"}},
	.run = cmd_help_run,
};
