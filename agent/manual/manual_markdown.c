/* manual_markdown - the printed part of docs/commands.md: the help of every row. */
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/command/cli_help.h"
#include "agent/manual/manual.h"

/* A text with '<' in it would be markup, and '|' a cell. */
static void markdown_text(struct str *out, const char *text)
{
	for (const char *p = text; *p; p++) {
		const bool wraps = *p == '\n' && p[1] != '\n' && (p == text || p[-1] != '\n') &&
			(p == text || !strchr(".:", p[-1]));
		if (wraps)
			str_add(out, " ");
		else if (*p == '\n' && p[1] != '\n' && (p == text || p[-1] != '\n'))
			str_add(out, "\n\n");
		else if (*p == '<')
			str_add(out, "&lt;");
		else if (*p == '*' || *p == '_' || *p == '|')
			str_addf(out, "\\%c", *p);
		else
			str_addn(out, p, 1);
	}
}

static void markdown_options(
	struct str *out, const struct command *command, const struct subcommand *sub)
{
	bool begun = false;
	char buf[64];
	for (const struct command_option *o = command->options; o && o->name; o++) {
		if (!command_shows_option(command, sub, o))
			continue;
		if (!begun)
			str_add(out, "\n");
		begun = true;
		str_add(out, "- `");
		if (o->letter)
			str_addf(out, "-%c, ", o->letter);
		str_addf(out, "--%s%s%s`: ", o->name, str_if(o->arg, " "), str_or(o->arg, ""));
		markdown_text(out, o->doc);
		str_add(out, "\n");
	}
	begun = false;
	for (size_t i = 0; i < n_global_options; i++) {
		const struct global_option *option = &global_options[i];
		if (!option->needs || !global_is_for(option, command, sub))
			continue;
		str_add(out, begun ? ", " : "\nGlobal options: ");
		begun = true;
		const char *value = global_placeholder(option, sub, buf, sizeof(buf));
		str_addf(out, "`--%s%s%s`", option->o.name, str_if(value, " "), str_or(value, ""));
	}
	if (begun)
		str_add(out, ".\n");
}

static void markdown_examples(struct str *out, const struct example *examples)
{
	if (!examples[0].line)
		return;
	str_add(out, "\n```text\n");
	for (size_t i = 0; i < 2 && examples[i].line; i++)
		str_addf(out, "rocewatch %s\n    %s\n", examples[i].line, examples[i].does);
	str_add(out, "```\n");
}

static void markdown_row(
	struct str *out, const struct command *command, const struct subcommand *sub)
{
	str_addf(out, "\n%s `rocewatch %s%s%s%s%s`\n\n", sub->name ? "###" : "##", command->name,
		str_if(sub->name, " "), str_or(sub->name, ""), str_if(sub->args, " "),
		str_or(sub->args, ""));
	markdown_text(out, sub->summary);
	str_add(out, ".\n");
	if (sub->help) {
		str_add(out, "\n");
		markdown_text(out, sub->help);
		str_add(out, "\n");
	}
	markdown_options(out, command, sub);
	markdown_examples(out, sub->examples);
}

static void markdown_command(struct str *out, const struct command *command)
{
	struct subcommand sub;
	command_self(command, &sub);
	if (command->run)
		markdown_row(out, command, &sub);
	else
		str_addf(out, "\n## `rocewatch %s`\n\n", command->name);
	if (!command->run) {
		markdown_text(out, command->summary);
		str_add(out, ".");
		if (command->otherwise)
			str_addf(out, " Without a subcommand it is `%s`.", command->otherwise);
		str_add(out, "\n");
	}
	if (!command->run && command->help) {
		str_add(out, "\n");
		markdown_text(out, command->help);
		str_add(out, "\n");
	}
	for (size_t i = 0; command_sub(command, i, &sub); i++)
		markdown_row(out, command, &sub);
}

void manual_markdown(struct str *out)
{
	for (size_t i = 0; commands[i]; i++)
		if (!commands[i]->hidden)
			markdown_command(out, commands[i]);
}
