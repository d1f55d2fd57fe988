/* cmd_runbook - "rocewatch runbook CAUSE|INCIDENT": what the cause is, how to confirm it by hand,
 * fix it and escalate it. The pages are part of the program: no file and no database is needed. */
#include "agent/command/command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/answers/incident/incident_read.h"
#include "agent/client/client.h"
#include "agent/document/json_value.h"
#include "agent/web/runbook.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "db/model/cause.h"

/* An incident is found whenever it was; a range must be named all the same. */
#define RUNBOOK_SPAN_NS (24 * 3600 * NS_PER_S)

extern const struct command command_runbook;

/* The runbook of the cause of incident @id. 0; -ENOENT and others with @e. */
static int runbook_of_incident(
	const struct globals *globals, const char *id, const struct web_file **ret, struct err *e)
{
	struct client client;
	json_t *incident = NULL;
	int rc = command_open(&client, globals, RUNBOOK_SPAN_NS, e);
	if (rc < 0)
		return rc;
	rc = incident_find(&client, id, &incident, e);
	client_done(&client);
	if (rc < 0)
		return rc;
	*ret = runbook_find(doc_word(incident, "cause"));
	if (!*ret)
		rc = err_set(e, -ENOENT, "there is no runbook for the cause '%.60s'",
			doc_word(incident, "cause"));
	json_decref(incident);
	return rc;
}

static const char *runbook_nearest(const char *word)
{
	const char *names[CAUSE_COUNT];
	size_t n = 0;
	for (int i = CAUSE_NONE + 1; i < CAUSE_COUNT; i++)
		names[n++] = cause_name((enum cause)i);
	return str_nearest(word, names, n);
}

static int runbook_unknown(const char *word)
{
	const char *near = runbook_nearest(word);
	if (near)
		return usage_error(
			&command_runbook, "unknown cause '%.60s'; did you mean '%s'?", word, near);
	return usage_error(&command_runbook,
		"unknown cause or incident '%.60s'; 'rocewatch runbook' lists the causes", word);
}

/* The page as a person reads it: without the comments that mark its printed parts, and without the
 * empty lines beside them. */
static void runbook_text_add(struct str *out, const struct web_file *runbook)
{
	static const char mark[] = "<!-- ";
	bool empty = false;
	const char *line = (const char *)runbook->begin;
	const char *end = (const char *)runbook->end;
	while (line < end) {
		const char *next = memchr(line, '\n', (size_t)(end - line));
		next = next ? next + 1 : end;
		const size_t n = (size_t)(next - line);
		const bool is_mark = n >= strlen(mark) && memcmp(line, mark, strlen(mark)) == 0;
		if (!is_mark && !(empty && n == 1))
			str_addn(out, line, n);
		if (!is_mark)
			empty = n == 1;
		line = next;
	}
}

static int runbook_print(const struct web_file *runbook, enum report_format format)
{
	rw_cleanup(str_done) struct str text = {0};
	if (format == FORMAT_HTML)
		runbook_html_add(&text, runbook, true);
	else if (format == FORMAT_TABLE)
		runbook_text_add(&text, runbook);
	else
		str_addn(&text, runbook->begin, (size_t)(runbook->end - runbook->begin));
	if (fwrite(text.s, 1, text.n, stdout) != text.n)
		return EXIT_FAILED;
	return EXIT_OK;
}

static int cmd_runbook_run(struct command_args *args)
{
	const enum report_format format = args->g->format;
	const char *word = "";
	struct err e = {0};
	if (args->argc == 1)
		word = args->argv[0];
	const struct web_file *runbook = runbook_find(word);
	if (!runbook && !incident_id_is_plain(word))
		return runbook_unknown(word);
	if (runbook)
		return runbook_print(runbook, format);
	const int rc = runbook_of_incident(args->g, word, &runbook, &e);
	if (rc == 0)
		return runbook_print(runbook, format);
	if (runbook_nearest(word)) /* a mistyped cause rather than an incident */
		return runbook_unknown(word);
	err_print(stderr, &e);
	return rc == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
}

const struct command command_runbook = {
	.name = "runbook",
	.args = "[CAUSE|INCIDENT]",
	.summary = "what to do: confirm a cause by hand, fix it, escalate it",
	.help = "Prints the runbook of a cause, or of the cause of an incident, as markdown; with "
		"--format html as a page. Without a word it prints the index by symptom. The web "
		"page serves the same below /runbooks/, and alerts link to it: alerts.web_url, or "
		"alerts.runbook_url for a site's own pages.",
	.takes = TAKES_DB,
	.formats = 1 << FORMAT_TABLE | 1 << FORMAT_MD | 1 << FORMAT_HTML,
	.examples = {{"runbook pfc_storm", "prints what to do about a PFC storm"},
		{"runbook 72drcj3l", "prints what to do about an incident"}},
	.usage_exit = EXIT_USAGE,
	.run = cmd_runbook_run,
};
