/*
 * print_exit_codes - docs/exit-codes.md from the table of exit codes. It fails when a row names no
 * command, and when an example of a command ends with a code that no row explains: 1 means that
 * something failed, so an example that shows it needs a row of its own.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "agent/command/command.h"
#include "agent/command/cli_help.h"

static void print_group(const char *title, const char *command)
{
	printf("\n## %s\n\n| code | meaning |\n|---|---|\n", title);
	for (const struct exit_code *row = exit_codes; row->command; row++)
		if (str_eq(row->command, command))
			printf("| %d | %s |\n", row->code, row->means);
}

static bool is_own(const struct exit_code *row)
{
	return !str_eq(row->command, EXIT_ANY) && !str_eq(row->command, EXIT_CHECKS);
}

/* "topology check", or "agent". */
static void name_of(
	char *out, size_t size, const struct command *command, const struct subcommand *sub)
{
	snprintf(out, size, "%s%s%s", command->name, str_if(sub->name, " "), str_or(sub->name, ""));
}

struct search {
	const char *name;
	bool found;
};

static void find_name(const char *name, const struct subcommand *row, int usage, void *arg)
{
	struct search *search = arg;
	search->found |= str_eq(name, search->name);
}

static void check_examples(const char *name, const struct subcommand *row, int usage, void *arg)
{
	bool *failed = arg;
	const bool judges = usage == USAGE_EXIT_CHECK;
	for (size_t i = 0; i < 2; i++) {
		const struct example *example = &row->examples[i];
		bool told = example->exit == 0 || exit_code_of(name, example->exit);
		if (judges || (example->line && strstr(example->line, "--check")))
			told |= exit_code_of(EXIT_CHECKS, example->exit) != NULL;
		if (told)
			continue;
		fprintf(stderr, "'%s' ends with %d, which no row of cli_help.c explains\n",
			example->line, example->exit);
		*failed = true;
	}
}

static void each_row(
	void (*fn)(const char *name, const struct subcommand *row, int usage, void *arg), void *arg)
{
	char name[128];
	for (const struct command *const *c = commands; *c; c++) {
		struct subcommand row;
		command_self(*c, &row);
		name_of(name, sizeof(name), *c, &row);
		if ((*c)->run)
			fn(name, &row, (*c)->usage_exit, arg);
		for (size_t i = 0; command_sub(*c, i, &row); i++) {
			name_of(name, sizeof(name), *c, &row);
			fn(name, &row, (*c)->usage_exit, arg);
		}
	}
}

int main(void)
{
	bool failed = false;
	print_group("Every command", EXIT_ANY);
	print_group("Checks, and reports with --check", EXIT_CHECKS);
	printf("\n## Commands whose codes say more\n\n| command | code | meaning "
	       "|\n|---|---|---|\n");
	for (const struct exit_code *row = exit_codes; row->command; row++) {
		struct search search = {.name = row->command};
		if (!is_own(row))
			continue;
		printf("| `%s` | %d | %s |\n", row->command, row->code, row->means);
		each_row(find_name, &search);
		if (search.found)
			continue;
		fprintf(stderr, "'%s' is no command\n", row->command);
		failed = true;
	}
	printf("\n");
	each_row(check_examples, &failed);
	return failed;
}
