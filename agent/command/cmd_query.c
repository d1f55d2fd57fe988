/*
 * cmd_query - "rocewatch query": history as rows (agent/reports/query), the list of metrics, and
 * SQL on the documented views.
 */
#include "agent/command/command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/reports/query.h"
#include "db/series/history.h"

#define DEFAULT_SPAN_NS (3600 * NS_PER_S)

static const struct command_option options[] = {
	{"device", 0, "GLOB", "only devices whose name matches"},
	{"port", 0, "GLOB", "only ports whose name or alias matches"},
	{"priority", 0, "N", "only this priority, 0 to 7"},
	{"rate", 0, NULL, "counters as rate per second; an interval with a restart is a gap"},
	{"step", 0, "DUR", "one row per step, aligned to multiples of it"},
	{"agg", 0, "max|mean|p99",
		"with --step: how the values of a step (with --rate: the rates) become one"},
	{"list", 0, NULL, "list all metrics"},
	{0},
};

extern const struct command command_query;

/* ---- query sql, query --list --------------------------------------------- */

static const struct column list_columns[] = {
	{"metric", "METRIC", COL_TEXT, false},
	{"unit", "UNIT", COL_TEXT, false},
	{"kind", "KIND", COL_TEXT, false},
	{"scope", "SCOPE", COL_TEXT, false},
	{"description", "DESCRIPTION", COL_TEXT, false},
};
static const struct view list_view = {.title = "Metrics",
	.rows = "metrics",
	.columns = list_columns,
	.n_columns = rw_countof(list_columns)};

static int cmd_query_run_list(const struct command_args *args)
{
	json_t *doc = query_list_json();
	int r = report_print(stdout, doc, &list_view, args->g->format, !args->g->no_header,
		args->g->color == COLOR_ALWAYS);
	json_decref(doc);
	if (r < 0)
		return EXIT_FAILED;
	return EXIT_OK;
}

static int run_sql(struct client *client, struct query_out *out, const char *sql, struct err *e)
{
	int r = history_sql_named(
		client->history, sql, query_out_sql_names, query_out_sql_row, out, e);

	if (r == 0)
		r = query_out_end(out);
	return r;
}

/* ---- the command --------------------------------------------------------- */

/* write_error - printing failed: @e says why when nothing else did. */
static void write_error(int rc, struct err *e)
{
	int error = errno;
	if (rc != -EIO || *e->text)
		return;
	if (!error)
		error = EIO;
	err_set(e, rc, "the result could not be written: %s", strerror(error));
}

/* check_arguments - 0, or the exit code after a message. */
static int check_arguments(const struct command_args *args, bool sql)
{
	const char *last;
	if (args->argc == 0)
		return usage_error(
			&command_query, "missing metric; 'rocewatch query --list' lists them");
	last = args->argv[args->argc - 1];
	if (sql && args->argc != 2)
		return usage_error(&command_query, "sql: expected one statement, in quotes");
	if (!sql && args->argc != 1)
		return usage_error(&command_query,
			"unexpected argument '%.64s'; a query takes one metric", last);
	if (args->g->format == FORMAT_HTML || args->g->format == FORMAT_MD)
		return usage_error(&command_query, "--format: expected table, csv, json or jsonl");
	return 0;
}

/* query_exit - the exit code. A wrong SQL statement is a failed run, not wrong usage. */
static int query_exit(int rc, bool sql)
{
	if (rc == 0)
		return EXIT_OK;
	if (rc == -EINVAL && !sql)
		return EXIT_USAGE;
	return EXIT_FAILED;
}

static int cmd_query_answer(const struct command_args *args, const struct query_ask *ask, bool sql)
{
	struct query_out out = {
		.format = args->g->format, .header = !args->g->no_header, .file = stdout};
	struct client client;
	struct err e = {0};
	int rc = client_open_data(&client, args->g, DEFAULT_SPAN_NS, &e);
	if (rc < 0) {
		err_print(stderr, &e);
		return query_exit(rc, false);
	}
	command_warn(&client, args->g);
	if (sql)
		rc = run_sql(&client, &out, args->argv[1], &e);
	else
		rc = query_run(&client, ask, &out, &e);
	write_error(rc, &e);
	client_done(&client);
	if (rc < 0)
		err_print(stderr, &e);
	return query_exit(rc, sql);
}

static int cmd_query_run(struct command_args *args)
{
	const struct command *c = &command_query;
	struct err e = {0};
	const bool sql = args->argc > 0 && str_eq(args->argv[0], "sql");
	if (command_opt(c, args, "list")) {
		if (args->argc > 0)
			return usage_error(c, "--list takes no metric");
		return cmd_query_run_list(args);
	}
	const int rc = check_arguments(args, sql);
	if (rc != 0)
		return rc;
	const struct query_ask ask = {.metric = args->argv[0],
		.device = command_opt(c, args, "device"),
		.port = command_opt(c, args, "port"),
		.priority = command_opt(c, args, "priority"),
		.step = command_opt(c, args, "step"),
		.agg = command_opt(c, args, "agg"),
		.rate = command_opt(c, args, "rate") != NULL};
	if (!sql && query_check(&ask, &e) < 0)
		return usage_error(c, "%s", e.text);
	return cmd_query_answer(args, &ask, sql);
}

const struct command command_query = {
	.name = "query",
	.args = "METRIC | --list | sql \"SELECT ...\"",
	.summary = "history as rows: samples, rates, steps, or SQL on the documented views",
	.help = "The range is the last hour, unless --since, --until or --around says otherwise. "
		"Without --step there is one row per stored sample. With --step there is one row "
		"per series and step; its time is the end of the step. A step without data is a "
		"gap: null in JSON, empty in csv.\n"
		"The value of a step is the mean of a gauge, the maximum of a watermark, the last "
		"value of a counter or a state. With --rate it is the counter's increase per "
		"second of covered time. Restarts and gaps never make a spike.\n\n"
		"sql reads the views samples, rates, ports, links, devices, incidents, findings, "
		"recommendations, config_history, flows and events; it cannot write.",
	.options = options,
	.usage_exit = EXIT_USAGE,
	.run = cmd_query_run,
};
