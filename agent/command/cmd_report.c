/*
 * cmd_report - "rocewatch report NAME": one of the reports in agent/reports, for cron and mail;
 * with
 * --check also an exit code and a line for monitoring.
 */

#include "agent/check/check_source.h"
#include "agent/check/check.h"
#include "agent/command/command.h"
#include "agent/document/paper.h"
#include "agent/document/json_value.h"
#include "agent/reports/report.h"
#include "agent/reports/report_compare.h"
#include "agent/answers/common/report_frame.h"
#include "agent/answers/common/report_page.h"

static const struct command_option report_options[] = {
	{"check", 0, NULL,
		"exit 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN, and begin with a line of the "
		"monitoring-plugins form"},
	{"warn", 0, "RANGE",
		"with --check: WARNING outside of this range of what the report judges (default: "
		"the analyzer's)"},
	{"crit", 0, "RANGE", "with --check: CRITICAL outside of this range"},
	{"device", 0, "GLOB", "only these devices"},
	{"group", 0, "ID",
		"only this group: uplinks, to:DEVICE, lag:NAME, a glob of them, or DEVICE/GROUP"},
	{"out", 0, "FILE",
		"write the report to FILE (replaced as a whole; left alone when there is nothing "
		"to "
		"print); only the check line goes to stdout"},
	{"only-problems", 0, NULL,
		"print and write nothing while all is OK: for cron, which mails what is printed"},
	{"only-changes", 0, NULL,
		"print and write nothing while no problem came, went or changed its state since "
		"the time range of the same length before"},
	{"no-compare", 0, NULL,
		"do not collect the report again for the range before, yesterday and last week"},
	{NULL, 0, NULL, NULL},
};

extern const struct command command_report;

struct report_call {
	const struct command *command;
	const struct globals *globals;
	const struct report *report;
	const struct check *check; /* NULL without --check */
	struct check_ranges ranges;
	struct report_ask ask;
	const char *out; /* FILE, or NULL: stdout */
	bool checked; /* --check was given */
	bool only_problems, only_changes, compare;
	struct check own_check; /* of a report without a row in agent/check */
};

/* A check that cannot answer is UNKNOWN; a report that cannot is an ordinary failure. */
static int report_exit(const struct report_call *call, int code)
{
	if (call->checked)
		return CHECK_UNKNOWN;
	return code;
}

static int report_fail(const struct report_call *call, int r, const struct err *e)
{
	if (call->check) {
		struct check_line line = {0};
		check_fail(&line, r, e);
		check_print(stdout, call->check, &line);
		check_line_done(&line);
	}
	err_print(stderr, e);
	return report_exit(call, r == -EINVAL ? EXIT_USAGE : EXIT_FAILED);
}

/* ---- check --------------------------------------------------------------- */

/* A report without a row in agent/check is judged by its own verdict. */
static enum check_state report_check_state(const json_t *doc)
{
	static const enum check_state states[] = {
		[REPORT_OK] = CHECK_OK,
		[REPORT_UNKNOWN] = CHECK_UNKNOWN,
		[REPORT_WARNING] = CHECK_WARNING,
		[REPORT_CRITICAL] = CHECK_CRITICAL,
	};
	return states[report_doc_state(doc)];
}

static void report_judge(const json_t *doc, struct check_line *line)
{
	const json_t *figure;
	size_t i;
	check_say(line, report_check_state(doc), "%s", doc_word(doc, "verdict"));
	json_array_foreach (json_object_get(doc, "figures"), i, figure)
		check_line_value(
			line, doc_word(figure, "key"), doc_number(figure, "value"), 6, NULL, NAN);
}

/* The label of a line is one word: "spine-imbalance" is "SPINE-IMBALANCE". */
static void report_own_check(struct report_call *call, char *label, size_t size)
{
	size_t n = 0;
	for (; call->report->name[n] && n + 1 < size; n++)
		label[n] = (char)toupper((unsigned char)call->report->name[n]);
	label[n] = '\0';
	call->own_check = (struct check){
		.name = call->report->name, .label = label, .report = call->report->name};
	call->check = &call->own_check;
}

/* Missing data is a reason to print: only what is known to be in order is not worth a mail. */
static bool report_is_quiet(const struct report_call *call, const json_t *doc)
{
	if (call->only_problems && report_doc_state(doc) == REPORT_OK)
		return true;
	return call->only_changes && !report_is_changed(doc);
}

/* What may not be judged is UNKNOWN; the report below the line may be read all the same. */
static int report_check(const struct report_call *call, const struct client *client,
	const struct report_result *result)
{
	char why[1536];
	struct check_line line = {0};
	const bool unknown = check_unknown(client, result->window_ns, why, sizeof(why));
	const bool line_wanted = call->out || call->globals->format == FORMAT_TABLE;
	const bool print = line_wanted && !report_is_quiet(call, result->doc);
	if (call->check->judge)
		check_judge(call->check, result, &call->ranges, &line);
	else
		report_judge(result->doc, &line);
	/* its sentence and values; the state is that of the report, but for ranges of one's own */
	if (!call->ranges.warn.set && !call->ranges.crit.set)
		line.state = report_check_state(result->doc);
	enum check_state state = line.state;
	const char *text = line.text.s;
	if (unknown) {
		state = CHECK_UNKNOWN;
		text = why;
	}
	if (print && unknown)
		check_print_unknown(stdout, call->check, why);
	else if (print)
		check_print(stdout, call->check, &line);
	/* The verdict of the check in the document: for whoever reads the json instead of
	 * the line. */
	json_t *verdict = json_object();
	json_object_set_new(verdict, "name", json_string(call->check->name));
	json_object_set_new(verdict, "state", json_string(check_state_name(state)));
	json_object_set_new(verdict, "exit_code", json_integer((int)state));
	json_object_set_new(verdict, "text", json_string_or_null(text));
	json_object_set_new(result->doc, "check", verdict);
	check_line_done(&line);
	return (int)state;
}

/* ---- output -------------------------------------------------------------- */

struct report_page {
	const struct report_call *call;
	const struct report_result *result;
	bool color;
};

static int report_print_page(FILE *out, void *arg)
{
	const struct report_page *page = arg;
	const struct globals *globals = page->call->globals;
	return answer_print(out, page->result->doc, page->result->answer, page->call->report->view,
		globals->format, !globals->no_header, page->color);
}

static int report_write(const struct report_call *call, const struct report_result *result)
{
	struct err e = {0};
	struct report_page page = {.call = call, .result = result};
	if (!call->out) {
		page.color = call->globals->color == COLOR_ALWAYS;
		return report_print_page(stdout, &page);
	}
	int r = file_write(call->out, report_print_page, &page, &e);
	if (r < 0)
		err_print(stderr, &e);
	return r;
}

static int report_run(const struct report_call *call)
{
	struct err e = {0};
	struct client client;
	struct report_result result = {0};
	int r = command_open(&client, call->globals, call->report->span_ns, &e);
	if (r < 0)
		return report_fail(call, r, &e);
	r = call->report->collect(&client, &call->ask, &result, &e);
	if (r == 0 && call->compare)
		r = report_compare(call->report, &client, &call->ask, result.doc, &e);
	if (r < 0) {
		report_result_done(&result);
		client_done(&client);
		return report_fail(call, r, &e);
	}
	int code = EXIT_OK;
	if (call->check)
		code = report_check(call, &client, &result);
	if (!report_is_quiet(call, result.doc) && report_write(call, &result) < 0)
		code = report_exit(call, EXIT_FAILED);
	report_result_done(&result);
	client_done(&client);
	return code;
}

/* ---- the command line ---------------------------------------------------- */

static int report_usage(const struct report_call *call, const char *text)
{
	return usage_error(call->command, "%s", text);
}

/* A range that has an upper end only is the limit of the report, too: what the line calls out of
 * limits, the report below it shows as out of limits. */
static double report_limit(const struct check_range *range)
{
	if (!range->set || range->inside || range->low > 0 || isinf(range->high))
		return 0;
	return range->high;
}

static int cmd_report_run(struct command_args *args)
{
	const struct command *command = &command_report;
	const char *warn = command_opt(command, args, "warn");
	const char *crit = command_opt(command, args, "crit");
	struct err e = {0};
	struct report_call call = {
		.command = command,
		.globals = args->g,
		.checked = command_opt(command, args, "check") != NULL,
		.ask = {.device = command_opt(command, args, "device"),
			.group = command_opt(command, args, "group")},
		.out = command_opt(command, args, "out"),
		.only_problems = command_opt(command, args, "only-problems") != NULL,
		.only_changes = command_opt(command, args, "only-changes") != NULL,
		.compare = command_opt(command, args, "no-compare") == NULL,
	};
	char label[64];
	call.report = report_by_name(args->argv[0]);
	if ((warn || crit) && !call.checked)
		return report_usage(&call, "--warn and --crit need --check");
	if (call.checked) {
		call.check = check_of_report(call.report->name);
		if (!call.check && (warn || crit))
			return report_usage(&call, "this report has no --warn and --crit");
		if (!call.check)
			report_own_check(&call, label, sizeof(label));
	}
	if (call.only_changes && !call.compare)
		return report_usage(&call, "--only-changes needs the comparison");
	if (warn && check_range_parse(warn, &call.ranges.warn, &e) < 0)
		return report_usage(&call, e.text);
	if (crit && check_range_parse(crit, &call.ranges.crit, &e) < 0)
		return report_usage(&call, e.text);
	call.ask.warn = report_limit(&call.ranges.warn);
	call.ask.critical = report_limit(&call.ranges.crit);
	return report_run(&call);
}

static bool cmd_report_sub(size_t i, struct subcommand *ret)
{
	const struct report *report = reports[i];
	if (!report)
		return false;
	*ret = (struct subcommand){.name = report->name,
		.summary = report->summary,
		.help = report->help,
		.options = report->options,
		.takes = TAKES_DB | TAKES_RANGE,
		.formats = WRITES_ALL,
		.examples = {report->examples[0], report->examples[1]},
		.run = cmd_report_run};
	return true;
}

const struct command command_report = {
	.name = "report",
	.summary = "reports for cron and mail; --check sets the exit code",
	.help = "'rocewatch help ranges' explains --warn and --crit.",
	.options = report_options,
	.usage_exit = EXIT_USAGE,
	.sub_at = cmd_report_sub,
	.sub_kind = "report",
	.common = "check warn crit out only-problems only-changes no-compare",
};

/*
 * cmd_check - "rocewatch check NAME": one line of the monitoring-plugins form and its exit code.
 * Whatever goes wrong is UNKNOWN, exit 3, with a line on stdout that says why.
 */

#define CHECK_SPAN_NS (15 * 60 * NS_PER_S)

extern const struct command command_check;

static const struct command_option check_options[] = {
	{"warn", 0, "RANGE", "WARNING outside of this range ('rocewatch help ranges')"},
	{"crit", 0, "RANGE", "CRITICAL outside of this range"},
	{"device", 0, "GLOB", "only these devices"},
	{"port", 0, "GLOB", "only these ports"},
	{"group", 0, "ID",
		"only this group: uplinks, to:DEVICE, lag:NAME, a glob, or DEVICE/GROUP"},
	{"priority", 0, "N", "only this priority, 0 to 7"},
	{"job", 0, "GLOB", "only what concerns the hosts of these jobs"},
	{NULL, 0, NULL, NULL},
};

struct check_call {
	const struct globals *globals;
	const struct check *check;
	struct check_scope scope;
	struct check_ranges ranges;
};

static int check_print_json(const struct check_result *result)
{
	json_t *json = check_result_json(result);
	const int r = json_print(stdout, json, JSON_INDENT(2));
	fputc('\n', stdout);
	json_decref(json);
	return r;
}

/* The line; below it a line for each part of a check that is put together. */
static void check_print_lines(const struct check_result *result)
{
	check_print(stdout, result->check, &result->line);
	for (size_t i = 0; i < result->n_parts; i++)
		check_print_plain(stdout, result->parts[i].check, &result->parts[i].line);
}

static int check_show(const struct check_call *call, const struct check_result *result)
{
	if (call->globals->format == FORMAT_JSON)
		check_print_json(result);
	else
		check_print_lines(result);
	return (int)result->line.state;
}

static int check_open_failed(const struct check_call *call, const struct err *e)
{
	struct check_result result = {.check = call->check};
	check_fail(&result.line, -EIO, e);
	int code = check_show(call, &result);
	check_result_done(&result);
	return code;
}

static int check_call_run(const struct check_call *call)
{
	const struct globals *globals = call->globals;
	struct globals quiet = *globals;
	struct check_source source;
	struct check_result result;
	struct client client;
	struct err e = {0};
	quiet.quiet = true; /* the line says it */
	if (client_open(&client, &quiet, CHECK_SPAN_NS, &e) < 0)
		return check_open_failed(call, &e);
	check_source_init(&source, &client, &call->scope, &call->ranges,
		globals->since || globals->until || globals->around);
	check_run(call->check, &source, &result);
	int code = check_show(call, &result);
	check_result_done(&result);
	check_source_done(&source);
	client_done(&client);
	return code;
}

/* ---- the command line ------------------------------------------------------ */

static int check_read_range(const char *option, const char *text, struct check_range *ret)
{
	struct err e = {0};
	if (!text)
		return 0;
	if (check_range_parse(text, ret, &e) < 0)
		return usage_error(&command_check, "%s: %s", option, e.text);
	return 0;
}

static int check_read_priority(const char *text)
{
	int64_t number;
	if (text && (unit_int(text, &number, NULL) < 0 || number < 0 || number > 7))
		return usage_error(
			&command_check, "--priority: '%.64s' is not a number from 0 to 7", text);
	return 0;
}

static int check_read(struct check_call *call, struct command_args *args)
{
	const struct command *command = &command_check;
	call->check = check_by_name(args->argv[0]);
	int code =
		check_read_range("--warn", command_opt(command, args, "warn"), &call->ranges.warn);
	if (code == 0)
		code = check_read_range(
			"--crit", command_opt(command, args, "crit"), &call->ranges.crit);
	if (code == 0)
		code = check_read_priority(call->scope.priority);
	return code;
}

static int cmd_check_run(struct command_args *args)
{
	const struct command *command = &command_check;
	struct check_call call = {.globals = args->g,
		.scope = {.device = command_opt(command, args, "device"),
			.port = command_opt(command, args, "port"),
			.group = command_opt(command, args, "group"),
			.job = command_opt(command, args, "job"),
			.priority = command_opt(command, args, "priority")}};
	int code = check_read(&call, args);
	if (code != 0)
		return code;
	return check_call_run(&call);
}

static bool cmd_check_sub(size_t i, struct subcommand *ret)
{
	const struct check *check = checks[i];
	if (!check)
		return false;
	*ret = (struct subcommand){.name = check->name,
		.summary = check->summary,
		.help = check->help,
		.options = check->options,
		.takes = TAKES_DB | (check->state ? TAKES_AT : TAKES_RANGE),
		.formats = WRITES_SAID,
		.examples = {check->examples[0], check->examples[1]},
		.run = cmd_check_run};
	return true;
}

const struct command command_check = {
	.name = "check",
	.summary = "for a monitoring system: one line, exit 0 OK to 3 UNKNOWN",
	.help = "Exit 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN. Idle is OK. Missing or stale data, a "
		"broken configuration or database, and a wrong option are UNKNOWN. 'rocewatch help "
		"ranges' explains --warn and --crit.",
	.options = check_options,
	.usage_exit = CHECK_UNKNOWN,
	.sub_at = cmd_check_sub,
	.sub_kind = "check",
};
