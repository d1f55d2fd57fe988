/* cmd_ecmp - "rocewatch ecmp": how even the ECMP groups are, and which flows share the hot member.
 */
#include "agent/command/command.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "agent/answers/served/ecmp_document.h"
#include "config/config.h"

#define DEFAULT_SPAN_NS (15 * 60 * NS_PER_S)

static const struct command_option options[] = {
	{"device", 0, "GLOB", "only groups of these devices"},
	{"group", 0, "ID",
		"only this group: uplinks, to:DEVICE, lag:NAME, a glob of them, or DEVICE/GROUP"},
	{NULL, 0, NULL, NULL},
};

extern const struct command command_ecmp;

static int cmd_ecmp_failed(int rc, const struct err *e)
{
	err_print(stderr, e);
	if (rc == -EINVAL)
		return EXIT_USAGE;
	return EXIT_FAILED;
}

static int cmd_ecmp_show(struct client *client, const struct command_args *args,
	const struct ecmp_form *form, const struct report_ask *ask)
{
	struct err e = {0};
	rw_cleanup(report_result_done) struct report_result result = {0};
	int rc = ecmp_answer(client, form, ask, &result, &e);
	if (rc < 0)
		return cmd_ecmp_failed(rc, &e);
	rc = answer_print(stdout, result.doc, result.answer, form->view, args->g->format,
		!args->g->no_header, args->g->color == COLOR_ALWAYS);
	if (rc < 0)
		return EXIT_FAILED;
	return EXIT_OK;
}

static int cmd_ecmp_run(struct command_args *args)
{
	const struct command *c = &command_ecmp;
	const struct ecmp_form *form = ecmp_form_by_name(args->sub->name);
	const char *device = command_opt(c, args, "device");
	if (args->argc == 2 && device)
		return usage_error(c, "give the device once: as a word or with --device");
	if (args->argc == 2)
		device = args->argv[1]; /* "ecmp collisions leaf1" */
	struct err e = {0};
	struct client client;
	const int rc = command_open(&client, args->g, DEFAULT_SPAN_NS, &e);
	if (rc < 0)
		return cmd_ecmp_failed(rc, &e);
	const struct report_ask ask = {.device = device, .group = command_opt(c, args, "group")};
	const int code = cmd_ecmp_show(&client, args, form, &ask);
	client_done(&client);
	return code;
}

static const struct subcommand subcommands[] = {
	{.name = "groups",
		.args = "[DEVICE]",
		.summary = "imbalance of each ECMP group compared with hash chance",
		.help = "Imbalance is max/mean - 1 over the members of a group, weighed by "
			"capacity, in busy windows (analyzers.ecmp_imbalance has the window and "
			"the load floor). Chance is the imbalance that a uniform hash gives for "
			"the observed number of effective flows; without captured packets it is "
			"unknown.",
		.options = "device group",
		.takes = TAKES_DB | TAKES_RANGE,
		.formats = WRITES_ALL,
		.examples = {{"ecmp groups --since 1h", "lists all groups of the last hour"},
			{"ecmp groups leaf1 --group uplinks", "shows the uplinks of one leaf"}},
		.run = cmd_ecmp_run},
	{.name = "heatmap",
		.args = "[DEVICE]",
		.summary = "load of leaf x spine as a matrix",
		.options = "device group",
		.takes = TAKES_DB | TAKES_RANGE,
		.formats = WRITES_ALL,
		.examples = {{"ecmp heatmap", "shows which uplinks are hot"},
			{"ecmp heatmap --format json", "writes the matrix as a document"}},
		.run = cmd_ecmp_run},
	{.name = "collisions",
		.args = "[DEVICE]",
		.summary = "which flows share the hot member of a group",
		.help = "It needs packets: a capture, or sFlow.",
		.options = "device group",
		.takes = TAKES_DB | TAKES_RANGE,
		.formats = WRITES_ALL,
		.examples = {{"ecmp collisions leaf1", "lists the flows of the leaf's hot uplink"},
			{"ecmp collisions --device 'leaf*' --since 1h",
				"lists those of all leaves in the last hour"}},
		.run = cmd_ecmp_run},
	{0},
};

const struct command command_ecmp = {
	.name = "ecmp",
	.summary = "load over equal paths: groups, matrix, colliding flows",
	.help = "The default time range is the last 15 minutes.",
	.options = options,
	.usage_exit = EXIT_USAGE,
	.subs = subcommands,
	.otherwise = "groups",
};
