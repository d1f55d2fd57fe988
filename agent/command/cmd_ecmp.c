/* cmd_ecmp - commands that print one answer: "rocewatch ecmp": how even the ECMP groups are, and
 * which flows share the hot member; "pause [tree|ports]": who pauses whom; "steps": the training
 * rhythm of each job. */

#include "agent/command/command.h"
#include "agent/answers/served/served_ecmp.h"
#include "agent/answers/pause/rows.h"
#include "agent/answers/steps/steps_document.h"

/* ---- pause ------------------------------------------------------------------ */

static const struct command_option pause_options[] = {
	{"priority", 0, "N", "only this priority"},
	{"incident", 0, "ID", "the window of this incident, and its priority"},
	{"device", 0, "GLOB", "only of these devices"},
	{"port", 0, "GLOB", "only these"},
	{"all", 0, NULL, "also those without pause"},
	{"top", 0, "N", "only so many: origins and those paused longest first"},
	{NULL, 0, NULL, NULL},
};

static int cmd_pause_tree(struct command_args *args)
{
	return command_served(args, "pause/tree", NULL, NULL, &pause_tree_view);
}

static int cmd_pause_ports(struct command_args *args)
{
	return command_served(args, "pause/ports", NULL, NULL, &pause_ports_view);
}

static const struct subcommand pause_subs[] = {
	{.name = "tree",
		.summary = "where pressure begins, and who waits because of it",
		.help = "It begins at a host that pauses its port, or at a queue that is full.",
		.options = "priority incident",
		.takes = TAKES_DB | TAKES_RANGE,
		.formats = WRITES_ALL,
		.examples = {{"pause tree", "draws the tree of the last minute"},
			{"pause tree --incident 72drcj3l", "draws it for an incident's window"}},
		.run = cmd_pause_tree},
	{.name = "ports",
		.summary = "pause time per port and priority, in both directions",
		.help = "Pause time that the switch measures is shown as it is. Where only PFC "
			"frames are counted, the time is a bound: from 0 to the longest these "
			"frames can last.",
		.options = "priority incident device port all top",
		.takes = TAKES_DB | TAKES_RANGE,
		.formats = WRITES_ALL,
		.examples = {{"pause ports --device 'leaf*' --top 10",
				     "lists the ten ports of the leaves that are paused longest"},
			{"pause ports --priority 3 --all --format csv",
				"writes all ports of priority 3 as csv"}},
		.run = cmd_pause_ports},
	{0},
};

const struct command command_pause = {
	.name = "pause",
	.summary = "who pauses whom: the tree with its origin, time per port",
	.help = "The default time range is the last minute.",
	.options = pause_options,
	.usage_exit = EXIT_USAGE,
	.subs = pause_subs,
	.otherwise = "tree",
};

/* ---- steps ------------------------------------------------------------------ */

#define STEPS_SPAN_NS (3600 * NS_PER_S)

static const struct command_option steps_options[] = {
	{"job", 0, "GLOB", "only these jobs"},
	{NULL, 0, NULL, NULL},
};

extern const struct command command_steps;

static int cmd_steps_run(struct command_args *args)
{
	struct err e = {0};
	struct client client;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct steps_answer steps;
	int rc = command_open(&client, args->g, STEPS_SPAN_NS, &e);
	if (rc < 0)
		return command_exit(rc, &e);
	rc = steps_read(&client, command_opt(&command_steps, args, "job"), a, &steps, &e);
	client_done(&client);
	if (rc < 0)
		return command_exit(rc, &e);
	json_t *doc = shape_json(&steps_answer_shape, &steps);
	rc = answer_print(stdout, doc, &steps, &steps_view, args->g->format, !args->g->no_header,
		args->g->color == COLOR_ALWAYS);
	json_decref(doc);
	if (rc < 0)
		return EXIT_FAILED;
	return EXIT_OK;
}

const struct command command_steps = {
	.name = "steps",
	.summary = "training rhythm of each job: throughput, changes, step time",
	.help = "Every step of a synchronous job moves the same bytes, so a rate that falls by the "
		"share x means that x of the wall time is lost and steps take "
		"1/(1 - x) times as long. Each level of throughput is shown from change to change; "
		"idle time (checkpoints, starts) is left out. The length of a step is visible only "
		"with two samples in it; with jobs[].step configured, levels are shown as step "
		"times too. The default time range is the last hour.",
	.options = steps_options,
	.takes = TAKES_DB | TAKES_RANGE,
	.formats = WRITES_ALL,
	.examples = {{"steps", "shows the rhythm of all jobs in the last hour"},
		{"steps --job train --since 24h", "shows one job over a day"}},
	.usage_exit = EXIT_USAGE,
	.run = cmd_steps_run,
};

/* ---- ecmp ------------------------------------------------------------------- */

#define ECMP_SPAN_NS (15 * 60 * NS_PER_S)

static const struct command_option ecmp_options[] = {
	{"device", 0, "GLOB", "only groups of these devices"},
	{"group", 0, "ID",
		"only this group: uplinks, to:DEVICE, lag:NAME, a glob of them, or DEVICE/GROUP"},
	{NULL, 0, NULL, NULL},
};

extern const struct command command_ecmp;

static int cmd_ecmp_show(struct client *client, const struct command_args *args,
	const struct ecmp_form *form, const struct report_ask *ask)
{
	struct err e = {0};
	rw_cleanup(report_result_done) struct report_result result = {0};
	int rc = ecmp_answer(client, form, ask, &result, &e);
	if (rc < 0)
		return command_exit(rc, &e);
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
	const int rc = command_open(&client, args->g, ECMP_SPAN_NS, &e);
	if (rc < 0)
		return command_exit(rc, &e);
	const struct report_ask ask = {.device = device, .group = command_opt(c, args, "group")};
	const int code = cmd_ecmp_show(&client, args, form, &ask);
	client_done(&client);
	return code;
}

static const struct subcommand ecmp_subs[] = {
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
	.options = ecmp_options,
	.usage_exit = EXIT_USAGE,
	.subs = ecmp_subs,
	.otherwise = "groups",
};
