/*
 * command_run - what commands have in common: the words that a command offers are looked up and
 * run in one place, and a document is opened, made and printed in one.
 */
#include <limits.h>

#include "agent/answers/common/served.h"
#include "agent/command/command.h"
#include "agent/document/json_value.h"

/* command_rows - what the rows of commands and subcommands say. */

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

/*
 * command_usage - how mistakes on the command line are told: what is wrong, which value, what was
 * expected, and where help is. Of a check they are UNKNOWN, with a line on stdout, because that is
 * what a monitoring system shows.
 */

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

void command_mistakes(const char *path, const struct err_list *errors)
{
	for (size_t i = 0; i < errors->n; i++)
		err_print(stderr, &errors->v[i]);
	if (errors->more)
		fprintf(stderr, "%s: and %zu more mistakes; these are the first %zu\n", path,
			errors->more, errors->n);
}

void command_warnings(const struct globals *globals, const struct err_list *warnings)
{
	for (size_t i = 0; i < warnings->n && !globals->quiet; i++) {
		const struct err *e = &warnings->v[i];
		struct err w = *e;
		err_at(&w, e->code, e->file, e->line, e->col, "warning: %s", e->text);
		err_print(stderr, &w);
	}
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

/* ---- command_run ----------------------------------------------------------- */

/* Prints the error and says which exit code it is. */
static int command_failed(const struct command_args *args, int r, const struct err *e)
{
	if (r == -EINVAL && !*e->file) /* a mistake on the command line, not in a file */
		return usage_error(args->command, "%s", e->text);
	return command_exit(r, e);
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

int command_document(struct client *client, const struct command_args *args, const char *path,
	const char *param, const char *word, json_t **ret, struct err *e)
{
	rw_cleanup(freep) struct served_given *given = rw_calloc(args->n_given + 1, sizeof(*given));
	struct served_ask ask = {.given = given, .n_given = args->n_given};
	for (size_t i = 0; i < args->n_given; i++)
		given[i] = (struct served_given){args->given[i].name, args->given[i].value};
	if (word)
		given[ask.n_given++] = (struct served_given){param, word};
	*ret = NULL;
	return served_find(path)->make(client, &ask, ret, e);
}

int command_open(struct client *client, const struct globals *globals, int64_t default_span_ns,
	struct err *e)
{
	int r = client_open(client, globals, default_span_ns, e);
	if (r == 0)
		command_warn(client, globals);
	return r;
}

void command_warn(const struct client *client, const struct globals *globals)
{
	rw_cleanup(str_done) struct str line = {0};
	client_warning(client, &line);
	if (line.n > 0 && !globals->quiet)
		fprintf(stderr, "%s\n", line.s);
}

int command_exit(int rc, const struct err *e)
{
	err_print(stderr, e);
	if (rc == -EINVAL)
		return EXIT_USAGE;
	return EXIT_FAILED;
}

int command_print(
	const struct command_args *args, const json_t *doc, const struct view *view, struct err *e)
{
	const int r = report_print(stdout, doc, view, args->g->format, !args->g->no_header,
		args->g->color == COLOR_ALWAYS);
	if (r == 0)
		return 0;
	return err_set(e, r, "the result could not be written: %s", strerror(-r));
}

int command_served(const struct command_args *args, const char *path, const char *param,
	const char *word, const struct view *view)
{
	struct client client;
	struct err e = {0};
	json_t *doc = NULL;
	int r = command_open(&client, args->g, served_find(path)->span_ns, &e);
	if (r < 0)
		return command_failed(args, r, &e);
	r = command_document(&client, args, path, param, word, &doc, &e);
	client_done(&client);
	if (r == 0)
		r = command_print(args, doc, view, &e);
	json_decref(doc);
	if (r < 0)
		return command_failed(args, r, &e);
	return EXIT_OK;
}

int command_act(struct command_args *args)
{
	struct client client;
	struct err e = {0};
	int r = command_open(&client, args->g, args->command->span_ns, &e);
	if (r < 0)
		return command_failed(args, r, &e);
	r = args->sub->act(&client, args, &e);
	client_done(&client);
	if (r < 0)
		return command_failed(args, r, &e);
	return EXIT_OK;
}

int command_said(const struct command_args *args, json_t *doc, struct err *e, const char *fmt, ...)
{
	int rc = 0;
	va_list ap;
	va_start(ap, fmt);
	if (args->g->format == FORMAT_JSON)
		rc = json_print(stdout, doc, JSON_INDENT(2)) < 0 || putchar('\n') == EOF;
	else if (!args->g->quiet)
		rc = vprintf(fmt, ap) < 0 || putchar('\n') == EOF;
	va_end(ap);
	json_decref(doc);
	if (rc == 0)
		return 0;
	return err_set(e, -EIO, "the result could not be written");
}

int command_tell(
	struct command_args *args, const struct command_told *told, const struct view *view)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	void *answer = arena_alloc(a, told->size);
	struct client client;
	struct err e = {0};
	int r = command_open(&client, args->g, 15 * 60 * NS_PER_S, &e);
	if (r < 0)
		return command_failed(args, r, &e);
	r = told->read(&client, a, answer, &e);
	client_done(&client);
	if (r < 0)
		return command_failed(args, -EIO, &e);
	json_t *doc = told->json(answer);
	r = answer_print(stdout, doc, answer, view, args->g->format, !args->g->no_header,
		args->g->color == COLOR_ALWAYS);
	json_decref(doc);
	if (r < 0)
		return EXIT_FAILED;
	return told->code ? told->code(answer) : EXIT_OK;
}
