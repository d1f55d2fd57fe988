/*
 * cli_help - help made from the rows. A page is for one thing: the program, a command, one of its
 * subcommands, or a topic. Every line fits 80 columns.
 */
#include "agent/command/cli_help.h"

#include <getopt.h>

/* A blank at which no line ends. */
#define NO_BREAK '\x01'
#define NO_BREAK_TEXT "\x01"

enum { HELP_WIDTH = 79, OPTION_COLUMN = 28, COMMAND_COLUMN = 18, SUB_COLUMN = 24, SUB_MOST = 30 };

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
		for (size_t i = 0; i < n; i++)
			fputc(p[i] == NO_BREAK ? ' ' : p[i], out);
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
	print_row(out, left, option->doc, OPTION_COLUMN);
}

/* ---- parts of a page ----------------------------------------------------- */

static void help_title(FILE *out, const char *command, const char *sub, const char *summary)
{
	rw_cleanup(str_done) struct str line = {0};
	str_addf(&line, "rocewatch %s%s%s - ", command, str_if(sub, " "), str_or(sub, ""));
	fputs(line.s, out);
	print_wrapped(out, summary, 4, line.n);
}

static void help_paragraphs(FILE *out, const char *text)
{
	if (!text || !*text)
		return;
	fputc('\n', out);
	print_wrapped(out, text, 0, 0);
}

bool global_is_for(const struct global_option *option, const struct command *command,
	const struct subcommand *sub)
{
	for (const struct command_option *o = command->options; o && o->name; o++)
		if (str_eq(o->name, option->o.name))
			return false;
	if (option->needs == GLOBAL_FORMAT)
		return sub->formats != 0 || sub->other_format;
	return option->needs == 0 || (sub->takes & option->needs);
}

const char *global_placeholder(
	const struct global_option *option, const struct subcommand *sub, char *buf, size_t size)
{
	static const char *const names[] = {"table", "csv", "json", "jsonl", "html", "md"};
	size_t n = 0;
	if (!str_eq(option->o.name, "format"))
		return option->o.arg;
	*buf = '\0';
	for (size_t i = 0; i < rw_countof(names); i++)
		if (sub->formats & 1u << i)
			n += (size_t)snprintf(
				buf + n, size - n, "%s%s", str_if(n > 0, "|"), names[i]);
	if (sub->other_format)
		snprintf(buf + n, size - n, "%s%s", str_if(n > 0, "|"), sub->other_format);
	return buf;
}

/* Of the global options only those that not every command takes are worth a word here. */
static void help_globals(FILE *out, const struct command *command, const struct subcommand *sub)
{
	rw_cleanup(str_done) struct str line = {0};
	char buf[64];
	for (size_t i = 0; i < n_global_options; i++) {
		const struct global_option *option = &global_options[i];
		if (!option->needs || !global_is_for(option, command, sub))
			continue;
		const char *value = global_placeholder(option, sub, buf, sizeof(buf));
		str_addf(&line, "%s--%s%s%s", str_if(line.n > 0, ", "), option->o.name,
			str_if(value, NO_BREAK_TEXT), str_or(value, ""));
	}
	fputs("\nGlobal options: ", out);
	if (line.n > 0)
		str_add(&line, ". 'rocewatch" NO_BREAK_TEXT "--help' explains these and others.");
	else
		str_add(&line, "see 'rocewatch --help'.");
	print_wrapped(out, line.s, 2, strlen("Global options: "));
}

static void help_examples(FILE *out, const struct example *examples)
{
	if (!examples[0].line)
		return;
	fputs("\nExamples:\n", out);
	for (size_t i = 0; i < 2 && examples[i].line; i++) {
		fprintf(out, "  rocewatch %s\n      ", examples[i].line);
		print_wrapped(out, examples[i].does, 6, 6);
	}
}

static void help_row(FILE *out, const struct command *command, const struct subcommand *sub)
{
	fprintf(out, "\nUsage: rocewatch %s%s%s%s%s [OPTIONS]\n", command->name,
		str_if(sub->name, " "), str_or(sub->name, ""), str_if(sub->args, " "),
		str_or(sub->args, ""));
	help_paragraphs(out, sub->help);
	bool begun = false;
	for (const struct command_option *o = command->options; o && o->name; o++) {
		if (!command_shows_option(command, sub, o))
			continue;
		if (!begun)
			fputs("\nOptions:\n", out);
		begun = true;
		print_option(out, o);
	}
}

/* ---- pages --------------------------------------------------------------- */

void help_of_sub(FILE *out, const struct command *command, const struct subcommand *sub)
{
	help_title(out, command->name, sub->name, sub->summary);
	help_row(out, command, sub);
	help_globals(out, command, sub);
	help_examples(out, sub->examples);
}

/* "SUBCOMMAND", "REPORT": what stands for a row in a usage line. */
static const char *help_sub_word(const struct command *command, char *buf, size_t size)
{
	const char *kind = str_or(command->sub_kind, "subcommand");
	size_t n = 0;
	for (; kind[n] && n + 1 < size; n++)
		buf[n] = (char)toupper((unsigned char)kind[n]);
	buf[n] = '\0';
	return buf;
}

static void help_list_subs(FILE *out, const struct command *command)
{
	struct subcommand sub;
	char word[24];
	help_sub_word(command, word, sizeof(word));
	if (command->run)
		fputs("\nSubcommands:\n", out);
	else if (command->otherwise)
		fprintf(out, "\nUsage: rocewatch %s [%s] [ARGUMENTS] [OPTIONS]\n\n", command->name,
			word);
	else
		fprintf(out, "\nUsage: rocewatch %s %s [ARGUMENTS] [OPTIONS]\n\n", command->name,
			word);
	for (size_t i = 0; command_sub(command, i, &sub); i++) {
		char left[SUB_MOST + 1];
		snprintf(left, sizeof(left), "%s%s%s", sub.name, str_if(sub.args, " "),
			str_or(sub.args, ""));
		print_row(out, left, sub.summary, SUB_COLUMN);
	}
}

static void help_topics_of(FILE *out, const struct command *command)
{
	rw_cleanup(str_done) struct str topics = {0};
	if (!command->topics)
		return;
	command->topics(&topics);
	help_paragraphs(out, topics.s);
}

void help_of_command(FILE *out, const struct command *command)
{
	struct subcommand self;
	char word[24];
	command_self(command, &self);
	help_title(out, command->name, NULL, command->summary);
	if (command->run)
		help_row(out, command, &self);
	if (command_has_subs(command))
		help_list_subs(out, command);
	if (!command->run)
		help_paragraphs(out, command->help);
	help_topics_of(out, command);
	if (command->run)
		help_globals(out, command, &self);
	help_examples(out, command->examples);
	if (!command_has_subs(command))
		return;
	if (command->otherwise)
		fprintf(out, "\n'rocewatch %s' alone is 'rocewatch %s %s'.", command->name,
			command->name, command->otherwise);
	fprintf(out, "\n'rocewatch %s %s --help' has options and examples of each.\n",
		command->name, help_sub_word(command, word, sizeof(word)));
}

/* What stands on the first page, by who needs it. Others are named in one line below. */
static const struct help_role {
	const char *title, *commands; /* names, with blanks around each */
} help_roles[] = {
	{"Begin", " try lab config profile topology doctor agent "},
	{"Watch", " watch status incident runbook silence report check web "},
	{"Find a cause", " blame pause ecmp steps query pcap replay "},
	{"Tune", " tune calc "},
};

static bool help_role_has(const struct help_role *role, const char *name)
{
	char word[64];
	snprintf(word, sizeof(word), " %s ", name);
	return strstr(role->commands, word) != NULL;
}

static void help_list_role(
	FILE *out, const struct command *const *table, const struct help_role *role)
{
	bool begun = false;
	for (const struct command *const *c = table; *c; c++) {
		if ((*c)->hidden || !help_role_has(role, (*c)->name))
			continue;
		if (!begun)
			fprintf(out, "%s\n", role->title);
		begun = true;
		print_row(out, (*c)->name, (*c)->summary, COMMAND_COLUMN);
	}
}

/* What is rarely needed: names alone. */
static void help_list_others(FILE *out, const struct command *const *table)
{
	static const char head[] = "Others: ";
	rw_cleanup(str_done) struct str line = {0};
	for (const struct command *const *c = table; *c; c++) {
		bool listed = (*c)->hidden;
		for (size_t i = 0; i < rw_countof(help_roles); i++)
			listed = listed || help_role_has(&help_roles[i], (*c)->name);
		if (!listed)
			str_addf(&line, "%s%s", str_if(line.n > 0, ", "), (*c)->name);
	}
	if (line.n == 0)
		return;
	fputs(head, out);
	print_wrapped(out, line.s, strlen(head), strlen(head));
}

void help_of_all(FILE *out, const struct command *const *table)
{
	fputs("rocewatch - watches RoCEv2 fabrics: names the link, the host and the flows\n"
	      "that make training wait.\n\n"
	      "Usage: rocewatch [OPTIONS] COMMAND [ARGUMENTS]\n\nCommands:\n",
		out);
	for (size_t i = 0; i < rw_countof(help_roles); i++)
		help_list_role(out, table, &help_roles[i]);
	help_list_others(out, table);
	fputs("\nGlobal options, before or after the command:\n", out);
	for (size_t i = 0; i < n_global_options; i++)
		print_option(out, &global_options[i].o);
	fputs("\nTopics ('rocewatch help TOPIC'):\n", out);
	for (const struct help_topic *t = help_topics; t->name; t++)
		print_row(out, t->name, t->summary, COMMAND_COLUMN);
	fputs("\n'rocewatch COMMAND --help' explains a command. Exit codes: 0 done, 1 failed,\n"
	      "2 bad usage or configuration; checks: 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN.\n",
		out);
}

bool help_of_topic(FILE *out, const char *name)
{
	for (const struct help_topic *t = help_topics; t->name; t++) {
		if (!str_eq(t->name, name))
			continue;
		fprintf(out, "%s - %s\n\n%s", t->name, t->summary, t->text);
		return true;
	}
	return false;
}

/* cli_topics - what holds for many commands and is explained once: "rocewatch help TOPIC". */

const struct help_topic help_topics[] = {
	{"exit-codes", "what each exit code means",
		"Commands:\n"
		"  0  done\n"
		"  1  failed at run time: no such incident, the database cannot be read, a\n"
		"     device does not answer. Also: doctor has something to do, topology check\n"
		"     found something\n"
		"  2  wrong usage, or a configuration with mistakes\n"
		"\n"
		"Checks, and reports with --check (monitoring plugins):\n"
		"  0  OK\n"
		"  1  WARNING\n"
		"  2  CRITICAL\n"
		"  3  UNKNOWN: stale or missing data, a configuration or database that cannot\n"
		"     be used, wrong usage. Never 0\n"
		"\n"
		"A full disk or a closed pipe makes 1 of a 0.\n"},
	{"time", "how times and time ranges are written",
		"A time is one of:\n"
		"  2026-11-21T03:14:00Z        RFC 3339; with +01:00 for another offset\n"
		"  '2026-11-21 03:14'          with or without seconds, UTC\n"
		"  2026-11-21                  midnight UTC\n"
		"  15m, 24h, 7d                that long ago\n"
		"\n"
		"A time range is one of:\n"
		"  --since TIME                from then to now\n"
		"  --since TIME --until TIME   from one time to another\n"
		"  --until TIME                up to then, as long as is usual for the command\n"
		"  --around TIME               15 minutes before and after\n"
		"  --around TIME --span 2m     2 minutes before and after\n"
		"\n"
		"\"Now\" is the clock while an agent writes the database, else its newest sample.\n"
		"status, doctor and watch show a state: they take --until and --around only.\n"},
	{"ranges", "how --warn and --crit are written",
		"A range says which values are fine (monitoring-plugins guidelines):\n"
		"  0.2 or 20%     alert below 0 and above 0.2\n"
		"  10:            alert below 10\n"
		"  ~:0.2          alert above 0.2 only\n"
		"  0.1:0.2        alert outside of 0.1 to 0.2\n"
		"  @0.1:0.2       alert inside of 0.1 to 0.2\n"
		"\n"
		"'rocewatch check NAME --help' says what is compared, and in which unit.\n"},
	{"units", "how sizes, rates, lengths and durations are written",
		"  sizes        9216B 400KB 1.5MB 2GB, and KiB MiB GiB\n"
		"  rates        100G 400G 1.6T 25Gbit/s\n"
		"  lengths      40m 3km\n"
		"  durations    500ms 10s 15m 24h 7d\n"
		"  shares       5% or 0.05\n"
		"  globs        leaf* matches leaf1 and leaf12; ? is one character\n"
		"\n"
		"In JSON the unit is in the name of the key: _ns _s _bytes _bps _ratio.\n"},
	{"formats", "what --format writes",
		"  table   for people, the default\n"
		"  csv     rows with a header line (--no-header leaves it out)\n"
		"  json    one document; docs/json.md and its schemas describe it\n"
		"  jsonl   one object a line, for streams\n"
		"  html    one page that needs no other file\n"
		"  md      Markdown, for a ticket\n"
		"\n"
		"Not every command writes all of them; its help lists those it writes, and\n"
		"others are refused. Unknown is null in JSON, empty in csv, - in tables: never "
		"0.\n"},
	{"environment", "variables and files",
		"  ROCEWATCH_CONFIG   the configuration, when -c is not given\n"
		"  NO_COLOR           no color, unless --color always\n"
		"  TERM               'dumb': no color\n"
		"\n"
		"  /etc/rocewatch/rocewatch.yaml       the configuration when neither is given\n"
		"  /var/lib/rocewatch/rocewatch.db     the database, if the configuration says "
		"so\n"},
	{0},
};

/* exit_codes - the table. */

const struct exit_code exit_codes[] = {
	{EXIT_ANY, 0, "Done. A list without a row is 0 as well."},
	{EXIT_ANY, 1,
		"Failed at run time: what was asked for does not exist, the database cannot be "
		"read, a device does not answer, the output cannot be written."},
	{EXIT_ANY, 2, "Wrong usage, or a configuration with mistakes."},

	{EXIT_CHECKS, 0, "OK. Idle is OK."},
	{EXIT_CHECKS, 1, "WARNING: beyond --warn, or a problem of this weight."},
	{EXIT_CHECKS, 2, "CRITICAL: beyond --crit, or a problem of this weight."},
	{EXIT_CHECKS, 3,
		"UNKNOWN: data is missing or too old, the configuration or the database cannot be "
		"used, or the usage is wrong. Never 0."},

	{"agent", 0, "Stopped as asked: SIGTERM, SIGINT, or --for is over."},
	{"agent", 1,
		"Could not start or go on: another agent writes the database, a socket is taken."},
	{"web", 0, "Stopped as asked."},
	{"web", 1, "Could not start: the address is taken, a certificate cannot be read."},
	{"doctor", 0, "The collection is in order."},
	{"doctor", 1,
		"Something is to be done; the list says what. Also: it could not be found out."},
	{"alert test", 1, "The receiver did not take the message."},
	{"try", 0, "Told, whatever is wrong in the fabric."},
	{"try", 1, "No switch answers."},
	{"config init", 1, "No switch answers. Where some do, it is 0."},
	{"config check", 0, "The configuration is right; warnings do not count."},
	{"config check", 2, "The configuration has mistakes, or cannot be read."},
	{"db stat", 1, "The file is damaged, or is no database."},
	{"db vacuum", 1, "Another process writes the database; stop the agent first."},
	{"incident burst", 1, "No single values are kept of this incident."},
	{"lint", 0, "Nothing was found that is worse than an info."},
	{"lint", 1, "Findings: the rows say what. Also: it could not be judged."},
	{"lint", 2, "The configuration or a file has mistakes; or wrong usage."},
	{"xray learn", 0, "All groups were learned, and no two tiers are polarised."},
	{"xray learn", 1, "A group was refused, or two tiers are polarised: the rows say which."},
	{"xray learn", 2, "A file has mistakes, or no samples; or wrong usage."},
	{"xray predict", 0, "All paths are known."},
	{"xray predict", 1, "Some paths are not known: the rows say why."},
	{"xray predict", 2, "A file has mistakes, or no samples; or wrong usage."},
	{"xray prescribe", 0, "All flows have a port, and the goal is reached."},
	{"xray prescribe", 1, "A flow has none, or the goal is missed."},
	{"xray prescribe", 2, "A file has mistakes, or no samples; or wrong usage."},
	{"import nccl-tests", 0, "No host is flagged."},
	{"import nccl-tests", 1,
		"A host is flagged: below 90 % (--below) of the median, or damaged data. Also: the "
		"files cannot be read."},
	{"pcap", 1,
		"A file is truncated, damaged or no capture. The others are reported all the "
		"same."},
	{"profile test", 1, "The device does not answer."},
	{"topology check", 0, "The audit found nothing."},
	{"topology check", 1, "The audit found something; the rows say what."},
	{"topology discover", 1, "No device answered. Where some did, it is 0."},
	{NULL, 0, NULL},
};

const struct exit_code *exit_code_of(const char *command, int code)
{
	for (const struct exit_code *row = exit_codes; row->command; row++)
		if (str_eq(row->command, command) && row->code == code)
			return row;
	return NULL;
}

/* cli_options - the global options, those of a command, and getopt_long(). */

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
