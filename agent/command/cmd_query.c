/*
 * cmd_query - "rocewatch query": history as rows (agent/answers/query/query), the list of metrics,
 * and SQL on the documented views.
 */
#include "agent/command/command.h"

#include "agent/answers/query/query.h"
#include "db/series/history.h"

#define DEFAULT_SPAN_NS (3600 * NS_PER_S)

static const struct command_option options[] = {
	{"device", 0, "GLOB", "only devices whose name matches"},
	{"port", 0, "GLOB", "only ports whose name or alias matches"},
	{"priority", 0, "N", "only this priority, 0 to 7"},
	{"rate", 0, NULL, "counters as rate per second; an interval with a restart is a gap"},
	{"step", 0, "DUR", "one row per step, aligned to multiples of it"},
	{"agg", 0, "mean|min|max|p50|p95|p99|increase|first|last|count|coverage",
		"what the values of a step become, without --step those of the whole range"},
	{"by", 0, "port|device|priority|host|job|role|rail|fabric", "one line for each of these"},
	{"join", 0, "sum|mean|min|max|count", "with --by: how several series become one"},
	{"top", 0, "N", "only the N lines with the greatest values"},
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
	const struct query_sql how = {
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
		rc = query_sql_run(&client, &how, args->argv[1], &e);
	else
		rc = query_run(&client, ask, &out, &e);
	write_error(rc, &e);
	client_done(&client);
	if (rc < 0)
		err_print(stderr, &e);
	/* Where the format has no place for words, they go to stderr. */
	const bool shown = out.format == FORMAT_JSON || (out.format == FORMAT_TABLE && out.header);
	if (*out.note && !shown && !args->g->quiet)
		fprintf(stderr, "%s\n", out.note);
	return query_exit(rc, sql);
}

static int cmd_query_run(struct command_args *args)
{
	const struct command *c = &command_query;
	struct err e = {0};
	if (command_opt(c, args, "list")) {
		if (args->argc > 0)
			return usage_error(c, "--list takes no metric");
		return cmd_query_run_list(args);
	}
	if (args->argc == 0)
		return usage_error(c, "missing METRIC; 'rocewatch query --list' lists them");
	const struct query_ask ask = {.metric = args->argv[0],
		.device = command_opt(c, args, "device"),
		.port = command_opt(c, args, "port"),
		.priority = command_opt(c, args, "priority"),
		.step = command_opt(c, args, "step"),
		.agg = command_opt(c, args, "agg"),
		.by = command_opt(c, args, "by"),
		.join = command_opt(c, args, "join"),
		.top = command_opt(c, args, "top"),
		.rate = command_opt(c, args, "rate") != NULL};
	if (query_check(&ask, &e) < 0)
		return usage_error(c, "%s", e.text);
	return cmd_query_answer(args, &ask, false);
}

static int cmd_query_run_sql(struct command_args *args)
{
	return cmd_query_answer(args, NULL, true);
}

static const struct subcommand subcommands[] = {
	{.name = "sql",
		.args = "STATEMENT",
		.summary = "read-only SQL on the documented views",
		.help = "The views are described in docs/database.md; docs/sql.md answers the "
			"questions after an incident. The statement says the time range itself.",
		.takes = TAKES_DB,
		.formats = WRITES_DATA,
		.examples = {{"query sql \"SELECT id, cause FROM incidents\"",
				     "lists the incidents"},
			{"query sql \"SELECT count(*) AS n FROM samples\" --format json",
				"counts all samples, as JSON"}},
		.run = cmd_query_run_sql},
	{0},
};

const struct command command_query = {
	.name = "query",
	.args = "[METRIC]",
	.summary = "history as rows: samples, rates, steps, or SQL on views",
	.help = "METRIC is a name or a glob, or several with commas between them: "
		"'port.in_*,pfc.*'. The range is the last hour, unless --since, --until or "
		"--around says otherwise.\n\n"
		"Without --step there is one row per stored sample; with --rate, the change per "
		"second since the sample before. With --step, --agg, --by or --top there is one "
		"row per line and step, its time is the end of the step. A step without data is a "
		"row without a value, marked gap; after_gap marks the first value behind it, "
		"open a step that is not over. "
		"Restarts and gaps never make a spike, and a rate above what the port can carry is "
		"no value but suspect.\n\n"
		"The usual value of a step is the mean of a gauge, the greatest of a watermark, "
		"the "
		"last of a counter or a state. Of counters, mean, min, max and p50 to p99 are "
		"those of the rate; increase is how much was counted; coverage is the part of the "
		"time that was seen. --by adds counters up, and takes the mean of the rest; --join "
		"says otherwise. SERIES is how many of the known series have a value.\n\n"
		"Where single values are gone, minutes or hours answer, and the last line says "
		"so. A table has rounded values with the unit in its header; csv and JSON are "
		"exact. Lines are in natural order, with --top by value.\n\n"
		"'query --list' names the metrics.",
	.options = options,
	.takes = TAKES_DB | TAKES_RANGE,
	.formats = WRITES_DATA,
	.examples = {{"query pfc.rx_pause_ns --rate --top 20 --since 24h",
			     "lists the 20 ports and priorities that were paused most"},
		{"query port.out_octets --step 1m --agg p99 --by device",
			"prints a line a device and minute: the 99th percentile of its rate"}},
	.subs = subcommands,
	.usage_exit = EXIT_USAGE,
	.run = cmd_query_run,
};
