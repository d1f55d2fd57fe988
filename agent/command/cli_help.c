/*
 * cli_help - help made from the rows. A page is for one thing: the program, a command, one of its
 * subcommands, or a topic. Every line fits 80 columns.
 */
#include "agent/command/cli_help.h"

#include <ctype.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/str.h"

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

static void help_options(FILE *out, const struct command *command, const struct subcommand *sub)
{
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

static void help_row(FILE *out, const struct command *command, const struct subcommand *sub)
{
	fprintf(out, "\nUsage: rocewatch %s%s%s%s%s [OPTIONS]\n", command->name,
		str_if(sub->name, " "), str_or(sub->name, ""), str_if(sub->args, " "),
		str_or(sub->args, ""));
	help_paragraphs(out, sub->help);
	help_options(out, command, sub);
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

void help_of_all(FILE *out, const struct command *const *table)
{
	fputs("rocewatch - watches RoCEv2 fabrics: names the link, the host and the flows\n"
	      "that make training wait.\n\n"
	      "Usage: rocewatch [OPTIONS] COMMAND [ARGUMENTS]\n\nCommands:\n",
		out);
	for (const struct command *const *c = table; *c; c++)
		if (!(*c)->hidden)
			print_row(out, (*c)->name, (*c)->summary, COMMAND_COLUMN);
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
