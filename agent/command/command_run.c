/*
 * command_run - what commands have in common: the words that a command offers are looked up and
 * run in one place, and a document is opened, made and printed in one.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/command/command.h"
#include "agent/reports/served.h"

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

static int unknown_word(
	const struct command *command, const char *word, const struct subcommand *rows, size_t n)
{
	rw_cleanup(freep) const char **names = rw_calloc(n + 1, sizeof(*names));
	for (size_t i = 0; i < n; i++)
		names[i] = rows[i].name;
	return usage_unknown(command, "subcommand", word, names, n);
}

/* Prints the error and says which exit code it is. */
static int command_failed(int r, int refused_exit, const struct err *e)
{
	err_print(stderr, e);
	if (r == -EINVAL)
		return refused_exit;
	return EXIT_FAILED;
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
		return command_failed(r, EXIT_USAGE, &e);
	r = command_document(&client, args, path, param, word, &doc, &e);
	client_done(&client);
	if (r == 0)
		r = command_print(args, doc, view, &e);
	json_decref(doc);
	if (r < 0)
		return command_failed(r, EXIT_USAGE, &e);
	return EXIT_OK;
}

int command_words(const struct command *command, struct command_args *args,
	const struct subcommand *rows, size_t n, int64_t span_ns, int refused_exit)
{
	const char *word = "list";
	if (args->argc > 0)
		word = args->argv[0];
	const struct subcommand *row = rows;
	struct client client;
	struct err e = {0};
	while (row < rows + n && !str_eq(word, row->name))
		row++;
	if (row == rows + n)
		return unknown_word(command, word, rows, n);
	bool too_few = args->argc < row->least && row->least > 1;
	if (args->argc > row->most || too_few)
		return usage_error(command, "%s: expected %s", word, row->expected);
	int r = command_open(&client, args->g, span_ns, &e);
	if (r != 0)
		return command_failed(r, EXIT_USAGE, &e);
	r = row->run(&client, args, &e);
	client_done(&client);
	if (r != 0)
		return command_failed(r, refused_exit, &e);
	return EXIT_OK;
}

int command_answer(const struct command *command, struct command_args *args,
	json_t *(*make)(struct client *client, struct err *e), const struct view *view,
	json_t **ret_doc)
{
	struct client client;
	struct err e = {0};

	if (ret_doc)
		*ret_doc = NULL;
	if (args->argc > 0)
		return usage_extra(command, args->argv[0]);
	int r = command_open(&client, args->g, 15 * 60 * NS_PER_S, &e);
	if (r < 0)
		return command_failed(r, EXIT_USAGE, &e);
	json_t *doc = make(&client, &e);
	client_done(&client);
	if (!doc)
		return command_failed(-EIO, EXIT_FAILED, &e);
	r = report_print(stdout, doc, view, args->g->format, !args->g->no_header,
		args->g->color == COLOR_ALWAYS);
	if (ret_doc)
		*ret_doc = doc;
	else
		json_decref(doc);
	if (r < 0)
		return EXIT_FAILED;
	return EXIT_OK;
}
