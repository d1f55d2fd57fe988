/* cmd_steps - "rocewatch steps": the training rhythm of each job. */
#include <errno.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "agent/command/command.h"
#include "agent/answers/steps/steps_document.h"
#include "agent/answers/steps/steps_views.h"

#define DEFAULT_SPAN_NS (3600 * NS_PER_S)

static const struct command_option options[] = {
	{"job", 0, "GLOB", "only these jobs"},
	{NULL, 0, NULL, NULL},
};

extern const struct command command_steps;

static int cmd_steps_failed(int rc, const struct err *e)
{
	err_print(stderr, e);
	if (rc == -EINVAL)
		return EXIT_USAGE;
	return EXIT_FAILED;
}

static int cmd_steps_run(struct command_args *args)
{
	struct err e = {0};
	struct client client;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct steps_answer steps;
	int rc = command_open(&client, args->g, DEFAULT_SPAN_NS, &e);
	if (rc < 0)
		return cmd_steps_failed(rc, &e);
	rc = steps_read(&client, command_opt(&command_steps, args, "job"), a, &steps, &e);
	client_done(&client);
	if (rc < 0)
		return cmd_steps_failed(rc, &e);
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
	.options = options,
	.takes = TAKES_DB | TAKES_RANGE,
	.formats = WRITES_ALL,
	.examples = {{"steps", "shows the rhythm of all jobs in the last hour"},
		{"steps --job train --since 24h", "shows one job over a day"}},
	.usage_exit = EXIT_USAGE,
	.run = cmd_steps_run,
};
