/* manual_command - the page of one command with all its subcommands. */
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/command/cli_help.h"
#include "agent/manual/manual.h"
#include "agent/manual/manual_page.h"

int manual_section(const struct command *command)
{
	if (str_eq(command->name, "agent"))
		return 8;
	return 1;
}

static void synopsis_row(
	struct str *out, const struct command *command, const struct subcommand *sub)
{
	str_add(out, ".B rocewatch ");
	roff_escape(out, command->name);
	if (sub->name) {
		str_add(out, " ");
		roff_escape(out, sub->name);
	}
	str_add(out, "\n");
	if (sub->args) {
		str_add(out, ".I ");
		roff_escape(out, sub->args);
		str_add(out, "\n");
	}
	str_add(out, "[options]\n");
}

static void synopsis(struct str *out, const struct command *command)
{
	struct subcommand sub;
	roff_heading(out, "SYNOPSIS");
	command_self(command, &sub);
	if (command->run)
		synopsis_row(out, command, &sub);
	for (size_t i = 0; command_sub(command, i, &sub); i++) {
		if (i > 0 || command->run)
			str_add(out, ".br\n");
		synopsis_row(out, command, &sub);
	}
}

/* "-i, --interface IFACE" */
static void option_item(struct str *out, const struct command_option *option)
{
	rw_cleanup(str_done) struct str term = {0};
	if (option->letter)
		str_addf(&term, "-%c, ", option->letter);
	str_addf(
		&term, "--%s%s%s", option->name, str_if(option->arg, " "), str_or(option->arg, ""));
	roff_item(out, term.s, option->doc);
}

static void options_of(struct str *out, const struct command *command, const struct subcommand *sub)
{
	rw_cleanup(str_done) struct str globals = {0};
	char buf[64];
	for (const struct command_option *o = command->options; o && o->name; o++)
		if (command_shows_option(command, sub, o))
			option_item(out, o);
	for (size_t i = 0; i < n_global_options; i++) {
		const struct global_option *option = &global_options[i];
		if (!option->needs || !global_is_for(option, command, sub))
			continue;
		const char *value = global_placeholder(option, sub, buf, sizeof(buf));
		str_addf(&globals, "%s--%s%s%s", str_if(globals.n, ", "), option->o.name,
			str_if(value, " "), str_or(value, ""));
	}
	if (globals.n == 0)
		return;
	str_add(&globals, ". See rocewatch(1).");
	roff_item(out, "Global options", globals.s);
}

static void examples_of(struct str *out, const struct example *examples)
{
	for (size_t i = 0; i < 2 && examples[i].line; i++) {
		rw_cleanup(str_done) struct str line = {0};
		str_addf(&line, "rocewatch %s", examples[i].line);
		roff_item(out, line.s, examples[i].does);
	}
}

static void row_section(
	struct str *out, const struct command *command, const struct subcommand *sub)
{
	rw_cleanup(str_done) struct str title = {0};
	str_addf(&title, "%s%s%s", sub->name, str_if(sub->args, " "), str_or(sub->args, ""));
	roff_subheading(out, title.s);
	rw_cleanup(str_done) struct str summary = {0};
	str_addf(&summary, "%s.", sub->summary);
	roff_text(out, summary.s);
	if (sub->help) {
		str_add(out, ".PP\n");
		roff_text(out, sub->help);
	}
	options_of(out, command, sub);
	str_add(out, ".PP\nExamples:\n");
	examples_of(out, sub->examples);
}

static void description(struct str *out, const struct command *command)
{
	rw_cleanup(str_done) struct str topics = {0};
	roff_heading(out, "DESCRIPTION");
	roff_text(out, str_or(command->help, command->summary));
	if (command->topics) {
		command->topics(&topics);
		str_add(out, ".PP\n");
		roff_text(out, topics.s);
	}
	if (command->otherwise)
		str_addf(out, ".PP\n.B rocewatch %s\nalone is\n.BR \"rocewatch %s %s\" .\n",
			command->name, command->name, command->otherwise);
}

static void exit_status(struct str *out, const struct command *command)
{
	roff_heading(out, "EXIT STATUS");
	if (command->usage_exit == USAGE_EXIT_CHECK) {
		roff_text(
			out, "0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN. A wrong option is UNKNOWN.");
		return;
	}
	roff_text(out, "0 done, 1 failed at run time, 2 wrong usage or configuration.");
	for (const struct command_option *o = command->options; o && o->name; o++)
		if (str_eq(o->name, "check"))
			roff_text(out, "With --check: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.");
}

void manual_command(struct str *out, const struct command *command)
{
	static const char *const see[] = {"rocewatch(1)", "rocewatch-agent(8)", "rocewatch.yaml(5)",
		"rocewatch-causes(7)", NULL};
	rw_cleanup(str_done) struct str name = {0};
	struct subcommand sub;
	str_addf(&name, "rocewatch-%s", command->name);
	roff_begin(out, name.s, manual_section(command), command->summary);
	synopsis(out, command);
	description(out, command);
	command_self(command, &sub);
	if (command->run) {
		roff_heading(out, "OPTIONS");
		options_of(out, command, &sub);
		str_add(out,
			".PP\n.BR rocewatch (1)\nlists the options that every command takes.\n");
	}
	if (command_has_subs(command))
		roff_heading(out, "SUBCOMMANDS");
	for (size_t i = 0; command_sub(command, i, &sub); i++)
		row_section(out, command, &sub);
	if (command->examples[0].line) {
		roff_heading(out, "EXAMPLES");
		examples_of(out, command->examples);
	}
	if (manual_section(command) == 8)
		manual_agent_sections(out);
	exit_status(out, command);
	roff_see(out, see);
}
