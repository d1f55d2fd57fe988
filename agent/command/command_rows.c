/* command_rows - what the rows of commands and subcommands say. */
#include <limits.h>
#include <string.h>

#include "agent/base/str.h"
#include "agent/command/command.h"

bool command_sub(const struct command *command, size_t i, struct subcommand *ret)
{
	if (command->sub_at)
		return command->sub_at(i, ret);
	if (!command->subs || !command->subs[i].name)
		return false;
	*ret = command->subs[i];
	return true;
}

bool command_sub_named(const struct command *command, const char *name, struct subcommand *ret)
{
	for (size_t i = 0; command_sub(command, i, ret); i++)
		if (str_eq(ret->name, name))
			return true;
	return false;
}

bool command_has_subs(const struct command *command)
{
	struct subcommand row;
	return command_sub(command, 0, &row);
}

void command_self(const struct command *command, struct subcommand *ret)
{
	*ret = (struct subcommand){.args = command->args,
		.summary = command->summary,
		.help = command->help,
		.takes = command->takes,
		.formats = command->formats,
		.other_format = command->other_format,
		.examples = {command->examples[0], command->examples[1]},
		.run = command->run};
}

/* @words, with blanks between them, has @word. */
static bool rows_have_word(const char *words, const char *word)
{
	const size_t n = strlen(word);
	const char *at = str_or(words, "");
	while (*at) {
		const size_t length = strcspn(at, " ");
		if (length == n && strncmp(at, word, n) == 0)
			return true;
		at += length;
		at += strspn(at, " ");
	}
	return false;
}

bool command_takes_option(
	const struct command *command, const struct subcommand *sub, const char *option)
{
	if (!sub->name)
		return true;
	return rows_have_word(sub->options, option) || rows_have_word(command->common, option);
}

bool command_shows_option(const struct command *command, const struct subcommand *sub,
	const struct command_option *option)
{
	if (option->only && !str_eq(option->only, sub->name))
		return false;
	return command_takes_option(command, sub, option->name);
}

void command_words_of(const struct subcommand *sub, int *ret_least, int *ret_most)
{
	const char *at = str_or(sub->args, "");
	*ret_least = 0;
	*ret_most = 0;
	while (*at) {
		const size_t n = strcspn(at, " ");
		const bool many = memmem(at, n, "...", 3) != NULL;
		*ret_least += *at != '[';
		if (many)
			*ret_most = INT_MAX;
		else if (*ret_most < INT_MAX)
			*ret_most += 1;
		at += n;
		at += strspn(at, " ");
	}
}
