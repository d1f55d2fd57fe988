/*
 * manual_complete - completion of bash and zsh. What can be completed is printed as functions from
 * the rows; complete.sh, complete.bash and complete.zsh are the same for every table, and are put
 * behind them by the build.
 */
#include <string.h>

#include "base/cleanup.h"
#include "agent/command/cli_help.h"
#include "agent/manual/manual.h"

/* Every row that a person may name: what a function below prints for it. */
typedef void row_fn(struct str *out, const struct command *command, const struct subcommand *sub);

static void each_row(struct str *out, row_fn *print)
{
	for (size_t i = 0; commands[i]; i++) {
		struct subcommand sub;
		if (commands[i]->hidden)
			continue;
		command_self(commands[i], &sub);
		print(out, commands[i], &sub);
		for (size_t k = 0; command_sub(commands[i], k, &sub); k++)
			print(out, commands[i], &sub);
	}
}

static void row_label(struct str *out, const struct command *command, const struct subcommand *sub)
{
	str_addf(out, "\t%s%s%s) ", command->name, str_if(sub->name, "/"), str_or(sub->name, ""));
}

/* ---- names --------------------------------------------------------------- */

static void complete_commands(struct str *out)
{
	str_add(out, "_rocewatch_commands() {\n\tprintf '%s\\n'");
	for (size_t i = 0; commands[i]; i++)
		if (!commands[i]->hidden)
			str_addf(out, " %s", commands[i]->name);
	str_add(out, "\n}\n\n_rocewatch_rows() {\n\tcase \"$1\" in\n");
	for (size_t i = 0; commands[i]; i++) {
		struct subcommand sub;
		if (commands[i]->hidden || !command_has_subs(commands[i]))
			continue;
		str_addf(out, "\t%s) printf '%%s\\n'", commands[i]->name);
		for (size_t k = 0; command_sub(commands[i], k, &sub); k++)
			str_addf(out, " %s", sub.name);
		str_add(out, " ;;\n");
	}
	str_add(out, "\tesac\n}\n\n");
}

/* "name:what it does", for zsh. */
static void complete_described(struct str *out, const char *name, const char *summary)
{
	str_addf(out, "\t\techo '%s:", name);
	for (const char *p = summary; *p; p++)
		if (*p == '\'')
			str_add(out, "'\\''");
		else
			str_addn(out, p, 1);
	str_add(out, "'\n");
}

static void complete_descriptions(struct str *out)
{
	str_add(out, "_rocewatch_described() {\n\tcase \"$*\" in\n\tcommands)\n");
	for (size_t i = 0; commands[i]; i++)
		if (!commands[i]->hidden)
			complete_described(out, commands[i]->name, commands[i]->summary);
	str_add(out, "\t\t;;\n");
	for (size_t i = 0; commands[i]; i++) {
		struct subcommand sub;
		if (commands[i]->hidden || !command_has_subs(commands[i]))
			continue;
		str_addf(out, "\t'rows %s')\n", commands[i]->name);
		for (size_t k = 0; command_sub(commands[i], k, &sub); k++)
			complete_described(out, sub.name, sub.summary);
		str_add(out, "\t\t;;\n");
	}
	str_add(out, "\tesac\n}\n\n");
}

/* ---- options ------------------------------------------------------------- */

static void row_options(
	struct str *out, const struct command *command, const struct subcommand *sub)
{
	row_label(out, command, sub);
	str_add(out, "printf '%s\\n'");
	for (const struct command_option *o = command->options; o && o->name; o++)
		if (command_shows_option(command, sub, o))
			str_addf(out, " --%s", o->name);
	for (size_t i = 0; i < n_global_options; i++)
		if (global_is_for(&global_options[i], command, sub))
			str_addf(out, " --%s", global_options[i].o.name);
	str_add(out, " ;;\n");
}

static void complete_options(struct str *out)
{
	str_add(out, "_rocewatch_options() {\n\tcase \"$1\" in\n");
	each_row(out, row_options);
	str_add(out, "\t*) printf '%s\\n'");
	for (size_t i = 0; i < n_global_options; i++)
		str_addf(out, " --%s", global_options[i].o.name);
	str_add(out, " ;;\n\tesac\n}\n\n");
}

static void add_valued(struct str *out, const struct command_option *option)
{
	if (!option->arg)
		return;
	str_addf(out, " | --%s", option->name);
	if (option->letter)
		str_addf(out, " | -%c", option->letter);
}

static void complete_takes_value(struct str *out)
{
	str_add(out, "_rocewatch_takes_value() {\n\tcase \"$1\" in\n\t-");
	for (size_t i = 0; i < n_global_options; i++)
		add_valued(out, &global_options[i].o);
	for (size_t i = 0; commands[i]; i++)
		for (const struct command_option *o = commands[i]->options; o && o->name; o++)
			add_valued(out, o);
	str_add(out, ") return 0 ;;\n\tesac\n\treturn 1\n}\n\n");
}

/* ---- what a value or an argument is -------------------------------------- */

/* A list that is the same for all; NULL: nothing is known. */
static const char *complete_kind(const char *command, const char *word)
{
	static const struct {
		const char *command, *word, *kind; /* command NULL: of any */
	} kinds[] = {
		{"incident", "ID", "incidents"},
		{"pause", "ID", "incidents"},
		{"tune", "ID", "sheets"},
		{"silence", "ID", "silences"},
		{"incident", "INTO", "incidents"},
		{"lab", "SCENARIO", "scenarios"},
		{"profile", "NAME", "profiles"},
		{"profile", "TARGET", "devices"},
		{"alert", "RECEIVER", "receivers"},
		{"query", "METRIC", "metrics"},
		{"db", "GLOB,...", "metrics"},
		{"ecmp", "DEVICE", "devices"},
		{"tune", "DEVICE", "devices"},
		{"help", "COMMAND|TOPIC", "commands"},
		{NULL, "FILE", "files"},
		{NULL, "FILE|DIR", "files"},
		{NULL, "SOURCE", "files"},
		{NULL, "OUT.db", "files"},
		{NULL, "DIR", "directories"},
	};
	for (size_t i = 0; i < rw_countof(kinds); i++) {
		const bool of = !kinds[i].command || str_eq(kinds[i].command, command);
		if (of && str_eq(kinds[i].word, word))
			return kinds[i].kind;
	}
	return NULL;
}

/* The choices in a placeholder such as "job|load|none"; capitals stand for something else. */
static bool add_choices(struct str *out, const char *word)
{
	if (!*word || strpbrk(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZ.[") != NULL)
		return false;
	str_add(out, "words ");
	for (const char *p = word; *p; p++)
		str_addn(out, *p == '|' ? " " : p, 1);
	return true;
}

static void add_what(struct str *out, const char *command, const char *word)
{
	const char *kind = complete_kind(command, word);
	if (kind)
		str_add(out, kind);
	else
		add_choices(out, word);
}

static void add_value_case(struct str *out, const struct command *command,
	const struct subcommand *sub, const char *option, const char *word)
{
	rw_cleanup(str_done) struct str what = {0};
	add_what(&what, command->name, word);
	if (what.n == 0 && str_eq(option, "device"))
		str_add(&what, "devices");
	if (what.n == 0)
		return;
	str_addf(out, "\t%s%s%s:--%s) echo '%s' ;;\n", command->name, str_if(sub->name, "/"),
		str_or(sub->name, ""), option, what.s);
}

static void row_values(struct str *out, const struct command *command, const struct subcommand *sub)
{
	char buf[64];
	for (const struct command_option *o = command->options; o && o->name; o++)
		if (o->arg && command_shows_option(command, sub, o))
			add_value_case(out, command, sub, o->name, o->arg);
	for (size_t i = 0; i < n_global_options; i++) {
		const struct global_option *option = &global_options[i];
		if (str_eq(option->o.name, "format") && global_is_for(option, command, sub))
			add_value_case(out, command, sub, "format",
				global_placeholder(option, sub, buf, sizeof(buf)));
	}
}

static void complete_values(struct str *out)
{
	str_add(out, "_rocewatch_value() {\n\tcase \"$1:$2\" in\n");
	each_row(out, row_values);
	str_add(out,
		"\t*:-c | *:--config | *:--db) echo files ;;\n"
		"\t*:--color) echo 'words auto always never' ;;\n"
		"\t*:--format) echo 'words table csv json jsonl html md' ;;\n"
		"\tesac\n}\n\n");
}

static void row_arguments(
	struct str *out, const struct command *command, const struct subcommand *sub)
{
	const char *at = str_or(sub->args, "");
	for (int n = 0; *at; n++) {
		rw_cleanup(str_done) struct str word = {0};
		rw_cleanup(str_done) struct str what = {0};
		const size_t length = strcspn(at, " ");
		const bool many = memmem(at, length, "...", 3) != NULL;
		for (size_t i = 0; i < length; i++)
			if (!strchr("[].", at[i]))
				str_addn(&word, at + i, 1);
		add_what(&what, command->name, str_or(word.s, ""));
		if (what.n > 0) {
			str_addf(out, "\t%s%s%s:", command->name, str_if(sub->name, "/"),
				str_or(sub->name, ""));
			if (many)
				str_add(out, "*");
			else
				str_addf(out, "%d", n);
			str_addf(out, ") echo '%s' ;;\n", what.s);
		}
		at += length;
		at += strspn(at, " ");
	}
}

static void complete_arguments(struct str *out)
{
	str_add(out, "_rocewatch_argument() {\n\tcase \"$1:$2\" in\n");
	each_row(out, row_arguments);
	str_add(out, "\tesac\n}\n\n");
}

static void complete_tables(struct str *out)
{
	complete_commands(out);
	complete_options(out);
	complete_takes_value(out);
	complete_values(out);
	complete_arguments(out);
}

void manual_bash(struct str *out)
{
	str_add(out,
		"# Completion of rocewatch for bash, made from the tables of the program.\n\n");
	complete_tables(out);
}

void manual_zsh(struct str *out)
{
	str_add(out,
		"#compdef rocewatch\n# Made from the tables of the program when it is built.\n\n");
	complete_tables(out);
	complete_descriptions(out);
}
