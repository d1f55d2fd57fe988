/* cli_options - the global options, those of a command, and getopt_long(). */
#include "agent/command/cli_options.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/command/cli_help.h"

#define DEFAULT_CONFIG "/etc/rocewatch/rocewatch.yaml"

/* Values getopt_long() returns for long options: above any letter. */
enum {
	G_CONFIG = 0x100,
	G_DB,
	G_FORMAT,
	G_SINCE,
	G_UNTIL,
	G_AROUND,
	G_SPAN,
	G_NO_HEADER,
	G_COLOR,
	G_VERBOSE,
	G_QUIET,
	G_VERSION,
	G_HELP,
	COMMAND_OPTION = 0x200
};

const struct global_option global_options[] = {
	{{"config", 'c', "FILE",
		 "configuration (default: $ROCEWATCH_CONFIG, else " DEFAULT_CONFIG ")"},
		G_CONFIG, 0},
	{{"db", 0, "FILE", "this database, not the configuration's"}, G_DB, TAKES_DB},
	{{"since", 0, "TIME", "from this time on: 24h, 2026-11-21 (see 'help time')"}, G_SINCE,
		TAKES_SINCE},
	{{"until", 0, "TIME", "up to this time"}, G_UNTIL, TAKES_UNTIL},
	{{"around", 0, "TIME", "this time, and 15 minutes before and after it"}, G_AROUND,
		TAKES_AROUND},
	{{"span", 0, "DURATION", "with --around: this much before and after it"}, G_SPAN,
		TAKES_AROUND},
	{{"format", 0, "FORMAT", "table, csv, json, jsonl, html or md"}, G_FORMAT, GLOBAL_FORMAT},
	{{"no-header", 0, NULL, "tables and csv without their first line"}, G_NO_HEADER,
		GLOBAL_FORMAT},
	{{"color", 0, "auto|always|never", "auto, the default, also obeys NO_COLOR"}, G_COLOR, 0},
	{{"verbose", 'v', NULL, "say more on stderr"}, G_VERBOSE, 0},
	{{"quiet", 'q', NULL, "say errors only"}, G_QUIET, 0},
	{{"version", 0, NULL, "print the version"}, G_VERSION, 0},
	{{"help", 'h', NULL, "print help on the command and its subcommand"}, G_HELP, 0},
};
const size_t n_global_options = rw_countof(global_options);

enum { MAX_OPTIONS = 64 };

/* What getopt_long() wants, made from the rows; a command's own option hides a global one of the
 * same name or letter. */
struct options {
	struct option longs[MAX_OPTIONS + 1];
	const struct command_option *rows[MAX_OPTIONS];
	int values[MAX_OPTIONS];
	char letters[3 * MAX_OPTIONS + 4];
	size_t n;
};

static void options_add(struct options *options, const struct command_option *row, int value)
{
	char letter[4] = {row->letter, row->arg ? ':' : '\0'};

	for (size_t i = 0; i < options->n; i++)
		if (str_eq(options->rows[i]->name, row->name))
			return;
	if (options->n == MAX_OPTIONS)
		abort();
	options->rows[options->n] = row;
	options->values[options->n] = value;
	options->longs[options->n++] =
		(struct option){row->name, row->arg ? required_argument : no_argument, NULL, value};
	if (row->letter && !strchr(options->letters, row->letter))
		strcat(options->letters, letter);
}

/* The letters begin with "+:": '+' stops at the first word that is no option, where the command
 * stands, and is stepped over once the command is known; ':' makes getopt distinguish a missing
 * value from an unknown option. */
static void options_fill(struct options *options, const struct command *command)
{
	*options = (struct options){.letters = "+:"};
	for (const struct command_option *row = command ? command->options : NULL; row && row->name;
		row++)
		options_add(options, row, COMMAND_OPTION + (int)(row - command->options));
	for (size_t i = 0; i < n_global_options; i++)
		options_add(options, &global_options[i].o, global_options[i].value);
}

static int value_of_letter(const struct options *options, int letter)
{
	for (size_t i = 0; i < options->n; i++)
		if (options->rows[i]->letter == letter)
			return options->values[i];
	return letter;
}

/* ---- mistakes ------------------------------------------------------------ */

/* "--s" where both --set and --since exist. */
static int refuse_ambiguous(
	const struct command *command, const struct options *options, const char *read)
{
	rw_cleanup(str_done) struct str all = {0};
	for (size_t i = 0; i < options->n; i++)
		if (strncmp(options->rows[i]->name, read, strlen(read)) == 0)
			str_addf(&all, "%s--%s", str_if(all.n > 0, ", "), options->rows[i]->name);
	return usage_error(
		command, "option '--%s' is ambiguous; it could be one of %s", read, all.s);
}

static int refuse_option(
	const struct command *command, const struct options *options, const char *word)
{
	const char *names[MAX_OPTIONS];
	char read[64];
	size_t n_begin = 0; /* options that begin like this */

	if (strncmp(word, "--", 2) != 0)
		return usage_error(command, "unknown option '%.64s'", word);
	snprintf(read, sizeof(read), "%.*s", (int)strcspn(word + 2, "="), word + 2);
	for (size_t i = 0; i < options->n; i++) {
		names[i] = options->rows[i]->name;
		n_begin += strncmp(names[i], read, strlen(read)) == 0;
	}
	if (n_begin > 1)
		return refuse_ambiguous(command, options, read);
	const char *near = str_nearest(read, names, options->n);
	if (near)
		return usage_error(
			command, "unknown option '--%s'; did you mean '--%s'?", read, near);
	return usage_error(command, "unknown option '--%s'", read);
}

/* What getopt_long() did not accept. */
static int refuse(const struct command *command, const struct options *options, int v, char **argv)
{
	if (v == ':')
		return usage_error(command, "option '%s' needs a value", argv[optind - 1]);
	if (optopt >= 0x100)
		return usage_error(command, "option '%s' takes no value", argv[optind - 1]);
	if (optopt)
		return refuse_option(command, options, (const char[]){'-', (char)optopt, '\0'});
	return refuse_option(command, options, argv[optind - 1]);
}

/* ---- reading ------------------------------------------------------------- */

/* 0, or -EINVAL after the mistake was printed. */
static int take_global(
	struct globals *chosen, const struct command *command, int value, const char *arg)
{
	static const char *const when[] = {"auto", "always", "never"};

	switch (value) {
	case G_CONFIG:
		chosen->config_path = arg;
		chosen->config_named = chosen->config_given = true;
		break;
	case G_DB: chosen->db = arg; break;
	case G_FORMAT:
		chosen->other_format = NULL;
		if (report_format_parse(arg, &chosen->format) < 0)
			chosen->other_format = arg; /* judged when the command is known */
		chosen->format_given = true;
		break;
	case G_SINCE: chosen->since = arg; break;
	case G_UNTIL: chosen->until = arg; break;
	case G_AROUND: chosen->around = arg; break;
	case G_SPAN: chosen->span = arg; break;
	case G_NO_HEADER: chosen->no_header = true; break;
	case G_COLOR:
		for (size_t i = 0; i < rw_countof(when); i++)
			if (str_eq(arg, when[i])) {
				chosen->color = COLOR_AUTO + (unsigned)i;
				return 0;
			}
		usage_error(command,
			"--color: '%.64s' is not a choice; expected auto, always or never", arg);
		return -EINVAL;
	case G_VERBOSE: chosen->verbose++; break;
	case G_QUIET: chosen->quiet = true; break;
	}
	return 0;
}

int cli_read_options(struct cli_read *read, int argc, char **argv)
{
	const struct command *command = read->command;
	struct options o;
	options_fill(&o, command);
	opterr = 0;
	optind = 0; /* glibc: start afresh, forgetting what an earlier call found */
	for (;;) {
		int v = getopt_long(argc, argv, o.letters + (command != NULL), o.longs, NULL);
		if (v == -1)
			return 0;
		if (v == ':' || v == '?')
			return refuse(command, &o, v, argv);
		if (v < 0x100)
			v = value_of_letter(&o, v);
		read->help = v == G_HELP;
		read->version = v == G_VERSION;
		if (read->help || read->version)
			return 0;
		if (v >= COMMAND_OPTION) {
			const struct command_option *row = &command->options[v - COMMAND_OPTION];
			read->given[read->n_given++] =
				(struct command_given){row->name, row->arg ? optarg : ""};
			continue;
		}
		if (take_global(read->globals, command, v, optarg) < 0)
			return usage_exit_of(command);
	}
}
