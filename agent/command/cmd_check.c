/*
 * cmd_check - "rocewatch check NAME": one line of the monitoring-plugins form and its exit code.
 * Whatever goes wrong is UNKNOWN, exit 3, with a line on stdout that says why.
 */
#include <errno.h>
#include <stdio.h>

#include "agent/document/json_value.h"
#include "base/clock.h"
#include "base/str.h"
#include "agent/check/check_source.h"
#include "agent/command/command.h"

#define CHECK_SPAN_NS (15 * 60 * NS_PER_S)

extern const struct command command_check;

static const struct command_option options[] = {
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
	.options = options,
	.usage_exit = CHECK_UNKNOWN,
	.sub_at = cmd_check_sub,
	.sub_kind = "check",
};
