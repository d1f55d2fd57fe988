/*
 * command_run - what commands have in common: the words that a command offers are looked up and
 * run in one place, and a document is opened, made and printed in one.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/command/command.h"
#include "agent/document/json_print.h"
#include "agent/reports/served.h"

/* Prints the error and says which exit code it is. */
static int command_failed(const struct command_args *args, int r, const struct err *e)
{
	if (r == -EINVAL && !*e->file) /* a mistake on the command line, not in a file */
		return usage_error(args->command, "%s", e->text);
	err_print(stderr, e);
	if (r == -EINVAL)
		return EXIT_USAGE;
	return EXIT_FAILED;
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

int command_answer(struct command_args *args, json_t *(*make)(struct client *client, struct err *e),
	const struct view *view, json_t **ret_doc)
{
	struct client client;
	struct err e = {0};

	if (ret_doc)
		*ret_doc = NULL;
	int r = command_open(&client, args->g, 15 * 60 * NS_PER_S, &e);
	if (r < 0)
		return command_failed(args, r, &e);
	json_t *doc = make(&client, &e);
	client_done(&client);
	if (!doc)
		return command_failed(args, -EIO, &e);
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
