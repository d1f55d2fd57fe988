/*
 * cli - from the command line to a command's run(), and help made from the rows. The contract:
 * global options stand before or after the command; help and version on stdout with exit 0; a usage
 * error names what was read and the nearest name that exists.
 */
#include "agent/command/command.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "agent/base/cleanup.h"
#include "agent/base/log.h"
#include "agent/base/str.h"
#include "agent/base/text_clean.h"

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

static const struct {
	struct command_option o;
	int value;
} globals[] = {
	{{"config", 'c', "FILE",
		 "configuration (default: $ROCEWATCH_CONFIG, else " DEFAULT_CONFIG ")"},
		G_CONFIG},
	{{"db", 0, "FILE", "database to read or write instead of the configuration's store"}, G_DB},
	{{"format", 0, "FORMAT", "table, csv, json, jsonl, html or md"}, G_FORMAT},
	{{"since", 0, "TIME",
		 "from this time on: RFC 3339, YYYY-MM-DD HH:MM, or back from now: 15m, 24h, 7d "
		 "(UTC unless an offset is given)"},
		G_SINCE},
	{{"until", 0, "TIME", "up to this time"}, G_UNTIL},
	{{"around", 0, "TIME", "this time, and 15 minutes before and after it"}, G_AROUND},
	{{"span", 0, "DURATION", "with --around: this much before and after it"}, G_SPAN},
	{{"no-header", 0, NULL, "tables and csv without their first line"}, G_NO_HEADER},
	{{"color", 0, "WHEN", "auto, always or never; auto also obeys NO_COLOR"}, G_COLOR},
	{{"verbose", 'v', NULL, "say more on stderr"}, G_VERBOSE},
	{{"quiet", 'q', NULL, "say errors only"}, G_QUIET},
	{{"version", 0, NULL, "print the version"}, G_VERSION},
	{{"help", 'h', NULL, "print this help"}, G_HELP},
};

enum { MAX_OPTIONS = 64, USAGE_EXIT_CHECK = 3 };

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
	for (size_t i = 0; i < rw_countof(globals); i++)
		options_add(options, &globals[i].o, globals[i].value);
}

static int value_of_letter(const struct options *options, int letter)
{
	for (size_t i = 0; i < options->n; i++)
		if (options->rows[i]->letter == letter)
			return options->values[i];
	return letter;
}

/* ---- help ---------------------------------------------------------------- */

enum { HELP_WIDTH = 100 };

/* A newline in a help text counts where a sentence or a paragraph ends; elsewhere it is the
 * source's line that was full. */
static bool is_break(const char *text, const char *newline)
{
	return newline == text || strchr(".:\n", newline[-1]) || newline[1] == '\n' || !newline[1];
}

/* @text broken at spaces, every line but the first indented; the first begins at column @at. */
static void print_wrapped(FILE *out, const char *text, size_t indent, size_t at)
{
	size_t column = at;
	bool begun = false; /* a word stands on this line */

	for (const char *p = text; *p;) {
		size_t n = strcspn(p, " \n");
		if (n > 0 && begun && column + 1 + n > HELP_WIDTH) {
			fprintf(out, "\n%*s", (int)indent, "");
			column = indent;
		} else if (n > 0 && begun) {
			fputc(' ', out);
			column++;
		}
		fwrite(p, 1, n, out);
		column += n;
		begun |= n > 0;
		p += n;
		if (*p == '\n' && is_break(text, p)) {
			if (p[1])
				fprintf(out, "\n%*s", p[1] == '\n' ? 0 : (int)indent, "");
			column = indent;
			begun = false;
		}
		if (*p)
			p++;
	}
	fputc('\n', out);
}

static void print_row(FILE *out, const char *left, const char *doc, size_t width)
{
	int n = fprintf(out, "  %s", left);
	if ((size_t)n + 2 > width) {
		fputc('\n', out);
		n = 0;
	}
	fprintf(out, "%*s", (int)width - n, "");
	print_wrapped(out, doc, width, width);
}

static void print_option(FILE *out, const struct command_option *option)
{
	char left[128];
	if (option->letter)
		snprintf(left, sizeof(left), "-%c, --%s%s%s", option->letter, option->name,
			str_if(option->arg, " "), str_or(option->arg, ""));
	else
		snprintf(left, sizeof(left), "    --%s%s%s", option->name, str_if(option->arg, " "),
			str_or(option->arg, ""));
	print_row(out, left, option->doc, 30);
}

static void print_global_options(FILE *out)
{
	fputs("\nGlobal options, before or after the command:\n", out);
	for (size_t i = 0; i < rw_countof(globals); i++)
		print_option(out, &globals[i].o);
}

static void print_help(FILE *out, const struct command *const *table)
{
	fputs("rocewatch - watches RoCEv2 fabrics: names the link, the host and the flows that "
	      "make training wait.\n\n"
	      "Usage: rocewatch [OPTIONS] COMMAND [ARGUMENTS]\n\nCommands:\n",
		out);
	for (const struct command *const *c = table; *c; c++)
		if (!(*c)->hidden)
			print_row(out, (*c)->name, (*c)->summary, 14);
	print_global_options(out);
	fputs("\n'rocewatch COMMAND --help' explains a command. Exit codes: 0 done, 1 failed, 2 "
	      "bad "
	      "usage or\n"
	      "configuration; checks: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.\n",
		out);
}

static void print_command_help(FILE *out, const struct command *command)
{
	fprintf(out, "rocewatch %s - ", command->name);
	print_wrapped(out, command->summary, 0, strlen(command->name) + 13);
	fprintf(out, "\nUsage: rocewatch %s%s%s [OPTIONS]\n", command->name,
		str_if(command->args && *command->args, " "), str_or(command->args, ""));
	if (command->options && command->options->name)
		fputs("\nOptions:\n", out);
	for (const struct command_option *o = command->options; o && o->name; o++)
		print_option(out, o);
	if (command->topics) {
		rw_cleanup(str_done) struct str topics = {0};
		command->topics(&topics);
		fputc('\n', out);
		print_wrapped(out, topics.s, 0, 0);
	}
	if (command->help && *command->help) {
		fputc('\n', out);
		print_wrapped(out, command->help, 0, 0);
	}
	print_global_options(out);
}

/* ---- reading ------------------------------------------------------------- */

static int usage_code(const struct command *command)
{
	if (command && command->usage_exit)
		return command->usage_exit;
	return EXIT_USAGE;
}

int usage_error(const struct command *command, const char *fmt, ...)
{
	char text[1024];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	text_clean(text, sizeof(text), text, strlen(text)); /* it quotes what was typed or pasted */
	/* A monitoring system shows what is on stdout. */
	if (usage_code(command) == USAGE_EXIT_CHECK) {
		printf("CHECK UNKNOWN - %s\n", text);
		fflush(stdout);
	}
	fprintf(stderr, "rocewatch%s%s: %s", str_if(command, " "), command ? command->name : "",
		text);
	fprintf(stderr, "\nTry 'rocewatch %s%s--help'.\n", command ? command->name : "",
		str_if(command, " "));
	return usage_code(command);
}

const char *command_opt(
	const struct command *command, const struct command_args *args, const char *name)
{
	const char *last = NULL;
	for (size_t i = 0; i < args->n_given; i++)
		if (str_eq(args->given[i].name, name))
			last = args->given[i].value;
	return last;
}

const char **command_opt_all(const struct command_args *args, const char *name)
{
	const char **values = rw_calloc(args->n_given + 1, sizeof(*values));
	size_t n = 0;
	for (size_t i = 0; i < args->n_given; i++)
		if (str_eq(args->given[i].name, name))
			values[n++] = args->given[i].value;
	return values;
}

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

static void resolve_color(struct globals *chosen)
{
	if (chosen->color != COLOR_AUTO)
		return;
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	bool plain = (no_color && *no_color) || str_eq(term, "dumb") || !isatty(STDOUT_FILENO);
	if (plain)
		chosen->color = COLOR_NEVER;
	else
		chosen->color = COLOR_ALWAYS;
}

static int refuse_command(const struct command *const *table, const char *word)
{
	const char *names[MAX_OPTIONS];
	size_t n = 0;

	for (size_t i = 0; table[i] && n < rw_countof(names); i++)
		if (!table[i]->hidden)
			names[n++] = table[i]->name;
	const char *near = str_nearest(word, names, n);
	if (near)
		return usage_error(NULL, "unknown command '%.64s'; did you mean '%s'?", word, near);
	return usage_error(
		NULL, "unknown command '%.64s'; 'rocewatch --help' lists the commands", word);
}

/* What run() was asked to print has to arrive: a full disk must not look like success. */
static int cli_finish(int code)
{
	bool failed = ferror(stdout);
	errno = 0;
	if (fflush(stdout) == 0 && !failed)
		return code;
	/* Of an error that an earlier write met, only the fact is left. */
	fprintf(stderr, "rocewatch: cannot write the output%s%s\n", str_if(errno, ": "),
		errno ? strerror(errno) : "");
	if (code == EXIT_OK)
		return EXIT_FAILED;
	return code;
}

/* Reads options up to the first other word (no command yet) or all of them. Returns -1 to go on,
 * else the exit code. */
static int cli_read_options(struct globals *chosen, const struct command *command,
	const struct command *const *table, int argc, char **argv, struct command_given *given,
	size_t *n_given)
{
	struct options o;
	options_fill(&o, command);
	opterr = 0;
	optind = 0; /* glibc: start afresh, forgetting what an earlier call found */
	for (;;) {
		int v = getopt_long(argc, argv, o.letters + (command != NULL), o.longs, NULL);
		if (v == -1)
			return -1;
		if (v == ':')
			return usage_error(command, "option '%s' needs a value", argv[optind - 1]);
		if (v == '?' && optopt >= 0x100)
			return usage_error(command, "option '%s' takes no value", argv[optind - 1]);
		if (v == '?' && optopt)
			return refuse_option(command, &o, (const char[]){'-', (char)optopt, '\0'});
		if (v == '?')
			return refuse_option(command, &o, argv[optind - 1]);
		if (v < 0x100)
			v = value_of_letter(&o, v);
		if (v == G_HELP) {
			if (command)
				print_command_help(stdout, command);
			else
				print_help(stdout, table);
			return cli_finish(EXIT_OK);
		}
		if (v == G_VERSION) {
			puts("rocewatch " RW_VERSION);
			return cli_finish(EXIT_OK);
		}
		if (v >= COMMAND_OPTION) {
			const struct command_option *row = &command->options[v - COMMAND_OPTION];
			given[(*n_given)++] =
				(struct command_given){row->name, row->arg ? optarg : ""};
			continue;
		}
		if (take_global(chosen, command, v, optarg) < 0)
			return usage_code(command);
	}
}

static enum log_level log_level_of(const struct globals *chosen)
{
	if (chosen->quiet)
		return LOG_ERROR_;
	if (chosen->verbose)
		return LOG_DEBUG_;
	return LOG_INFO_;
}

/* With --check a command is a check: whatever goes wrong then is UNKNOWN (exit 3), usage errors
 * too. */
static bool is_check(const struct command *command, int argc, char **argv)
{
	bool has = false, given = false;
	for (size_t i = 0; command->options && command->options[i].name; i++)
		has = has || str_eq(command->options[i].name, "check");
	for (int i = 1; i < argc && !str_eq(argv[i], "--"); i++)
		given = given || str_eq(argv[i], "--check");
	return has && given;
}

/* A mistake in front of a check's name is a mistake of the check. */
static int early_exit(int code, int argc, char **argv, const struct command *const *table)
{
	bool check = false;
	for (int i = 1; i < argc; i++)
		for (size_t c = 0; table[c]; c++)
			check |= table[c]->usage_exit == USAGE_EXIT_CHECK &&
				str_eq(table[c]->name, argv[i]);
	if (code != EXIT_USAGE || !check)
		return code;
	printf("CHECK UNKNOWN - a wrong option stands before the command\n");
	return cli_finish(USAGE_EXIT_CHECK);
}

int cli_run(int argc, char **argv, const struct command *const *table)
{
	const char *env = getenv("ROCEWATCH_CONFIG");
	struct globals g = {
		.config_path = env && *env ? env : DEFAULT_CONFIG,
		.config_named = env && *env,
	};
	int r = cli_read_options(&g, NULL, table, argc, argv, NULL, NULL);
	if (r >= 0)
		return early_exit(r, argc, argv, table);
	if (optind >= argc) {
		print_help(stderr, table);
		return EXIT_USAGE;
	}
	const struct command *c = NULL;
	const char *word = argv[optind];
	for (size_t i = 0; table[i] && !c; i++)
		if (str_eq(table[i]->name, word))
			c = table[i];
	if (!c && str_eq(word, "help")) {
		print_help(stdout, table);
		return cli_finish(EXIT_OK);
	}
	if (!c)
		return refuse_command(table, word);

	/* From the command on; its own name stands where getopt expects the program's. */
	argc -= optind;
	argv += optind;
	struct command check = *c;
	check.usage_exit = USAGE_EXIT_CHECK;
	if (is_check(c, argc, argv))
		c = &check;
	/* A word gives several options when letters stand in a bunch ("-dz"). */
	size_t n_words = 0;
	for (int i = 1; i < argc; i++)
		n_words += strlen(argv[i]);
	rw_cleanup(freep) struct command_given *given = rw_calloc(n_words + 1, sizeof(*given));
	struct command_args a = {.g = &g, .given = given};
	r = cli_read_options(&g, c, table, argc, argv, given, &a.n_given);
	if (r >= 0)
		return r;
	a.argc = argc - optind;
	a.argv = argv + optind;

	if (g.other_format && !str_eq(g.other_format, c->other_format))
		return usage_error(c,
			"--format: unknown format '%.64s'; expected table, csv, json, jsonl, html "
			"or md%s%s",
			g.other_format, str_if(c->other_format, "; or for one of its words: "),
			str_or(c->other_format, ""));
	resolve_color(&g);
	log_set_level(log_level_of(&g));
	return cli_finish(c->run(&a));
}
