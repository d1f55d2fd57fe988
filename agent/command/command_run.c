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

static int unknown_word(
	const struct command *command, const char *word, const struct subcommand *rows, size_t n)
{
	rw_cleanup(str_done) struct str all = {0};
	const char **names = rw_calloc(n + 1, sizeof(*names));
	for (size_t k = 0; k < n; k++) {
		names[k] = rows[k].name;
		str_addf(&all, "%s%s", k == 0 ? "" : k + 1 < n ? ", " : " or ", rows[k].name);
	}
	const char *near = str_nearest(word, names, n);
	free(names);
	return usage_error(command, "read '%.64s', expected %s%s%s%s", word, all.s,
		str_if(near, "; perhaps '"), str_or(near, ""), str_if(near, "'"));
}

int command_words(const struct command *command, struct command_args *args,
	const struct subcommand *rows, size_t n, int64_t span_ns, int refused_exit)
{
	const char *word = "list";
	if (args->argc > 0)
		word = args->argv[0];
	const struct subcommand *r = rows;
	struct client x;
	struct err e = {0};
	while (r < rows + n && !str_eq(word, r->name))
		r++;
	if (r == rows + n)
		return unknown_word(command, word, rows, n);
	if (args->argc > r->most || (args->argc < r->least && r->least > 1))
		return usage_error(command, "%s: expected %s", word, r->expected);
	int rc = client_open(&x, args->g, span_ns, &e);
	if (rc != 0) {
		err_print(stderr, &e);
		if (rc == -EINVAL)
			return EXIT_USAGE;
		return EXIT_FAILED;
	}
	rc = r->run(&x, args, &e);
	client_done(&x);
	if (rc != 0)
		err_print(stderr, &e);
	if (rc == 0)
		return EXIT_OK;
	if (rc == -EINVAL)
		return refused_exit;
	return EXIT_FAILED;
}

int command_answer(const struct command *command, struct command_args *args,
	json_t *(*make)(struct client *client, struct err *e), const struct view *view,
	json_t **ret_doc)
{
	struct client x;
	struct err e = {0};

	if (ret_doc)
		*ret_doc = NULL;
	if (args->argc > 0)
		return usage_error(command, "read '%.64s', expected no argument", args->argv[0]);
	int r = client_open(&x, args->g, 15 * 60 * NS_PER_S, &e);
	if (r < 0) {
		err_print(stderr, &e);
		if (r == -EINVAL)
			return EXIT_USAGE;
		return EXIT_FAILED;
	}
	json_t *doc = make(&x, &e);
	client_done(&x);
	if (!doc) {
		err_print(stderr, &e);
		return EXIT_FAILED;
	}
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
