/*
 * command_usage - how mistakes on the command line are told: what is wrong, which value, what was
 * expected, and where help is. Of a check they are UNKNOWN, with a line on stdout, because that is
 * what a monitoring system shows.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/base/text_clean.h"
#include "agent/command/command.h"

/* One command line is read at a time. */
static struct {
	const struct command *command;
	const char *sub;
} usage;

void usage_begin(const struct command *command, const char *sub)
{
	usage.command = command;
	usage.sub = sub;
}

int usage_exit_of(const struct command *command)
{
	if (command && usage.command && str_eq(command->name, usage.command->name))
		command = usage.command;
	if (command && command->usage_exit)
		return command->usage_exit;
	return EXIT_USAGE;
}

int usage_error(const struct command *command, const char *fmt, ...)
{
	rw_cleanup(str_done) struct str name = {0};
	char text[1024];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	text_clean(text, sizeof(text), text, strlen(text)); /* it quotes what was typed or pasted */
	str_add(&name, "rocewatch");
	if (command)
		str_addf(&name, " %s", command->name);
	if (command && usage.sub)
		str_addf(&name, " %s", usage.sub);
	if (usage_exit_of(command) == USAGE_EXIT_CHECK) {
		printf("CHECK UNKNOWN - %s\n", text);
		fflush(stdout);
	}
	fprintf(stderr, "%s: %s\nTry '%s --help'.\n", name.s, text, name.s);
	return usage_exit_of(command);
}

int usage_unknown(const struct command *command, const char *kind, const char *word,
	const char *const *names, size_t n)
{
	rw_cleanup(str_done) struct str all = {0};
	for (size_t i = 0; i < n; i++) {
		if (i > 0)
			str_add(&all, i + 1 < n ? ", " : " or ");
		str_add(&all, names[i]);
	}
	const char *near = str_nearest(word, names, n);
	if (near)
		str_addf(&all, "; did you mean '%s'?", near);
	return usage_error(command, "unknown %s '%.64s'; expected %s", kind, word, all.s);
}

int usage_extra(const struct command *command, const char *word)
{
	return usage_error(command, "unexpected argument '%.64s'", word);
}
