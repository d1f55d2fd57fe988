/* ecmp - how even the ECMP groups are, and who shares the hot member. */
#include "agent/command/command.h"

#include <errno.h>
#include <stdio.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/reports/ecmp_views.h"
#include "agent/reports/report.h"
#include "config/config.h"

#define DEFAULT_SPAN_NS (15 * 60 * NS_PER_S)

static const struct command_option options[] = {
	{"device", 0, "GLOB", "only groups of these devices"},
	{"group", 0, "ID",
		"only this group: uplinks, to:DEVICE, lag:NAME, a glob of them, or DEVICE/GROUP"},
	{NULL, 0, NULL, NULL},
};

/* Each look: a word, the document it makes of the report's (NULL: that one as it is), and how it
 * prints. */
static const struct look {
	const char *name;
	json_t *(*make)(const json_t *doc);
	const struct view *view;
} looks[] = {
	{"groups", NULL, &ecmp_groups_view},
	{"heatmap", ecmp_heatmap_json, &ecmp_heatmap_view},
	{"collisions", ecmp_collisions_json, &ecmp_collisions_view},
};

extern const struct command command_ecmp;

static int cmd_ecmp_run(struct command_args *args)
{
	const struct command *c = &command_ecmp;
	const struct look *look = &looks[0];
	const char *device = command_opt(c, args, "device");
	if (args->argc > 0) {
		const char *names[rw_countof(looks)];
		look = NULL;
		for (size_t i = 0; i < rw_countof(looks); i++) {
			names[i] = looks[i].name;
			if (str_eq(looks[i].name, args->argv[0]))
				look = &looks[i];
		}
		if (!look)
			return usage_unknown(
				c, "subcommand", args->argv[0], names, rw_countof(looks));
	}
	if (args->argc == 2 && !device)
		device = args->argv[1]; /* "ecmp collisions leaf1" */
	else if (args->argc > 1)
		return usage_extra(c, args->argv[args->argc - 1]);

	struct err e = {0};
	struct client x;
	int r = client_open(&x, args->g, DEFAULT_SPAN_NS, &e);
	if (r < 0) {
		err_print(stderr, &e);
		if (r == -EINVAL)
			return EXIT_USAGE;
		return EXIT_FAILED;
	}
	const struct report_ask ask = {.device = device, .group = command_opt(c, args, "group")};
	struct report_result result = {0};
	r = report_by_name("spine-imbalance")->collect(&x, &ask, &result, &e);
	int code = EXIT_OK;
	if (r < 0) {
		err_print(stderr, &e);
		if (r == -EINVAL)
			code = EXIT_USAGE;
		else
			code = EXIT_FAILED;
	} else {
		json_t *own;
		if (look->make)
			own = look->make(result.doc);
		else
			own = json_incref(result.doc);
		if (report_print(stdout, own, look->view, args->g->format, !args->g->no_header,
			    args->g->color == COLOR_ALWAYS) < 0)
			code = EXIT_FAILED;
		json_decref(own);
	}
	report_result_done(&result);
	client_done(&x);
	return code;
}

const struct command command_ecmp = {
	.name = "ecmp",
	.args = "[groups|heatmap|collisions] [DEVICE]",
	.summary = "imbalance of ECMP groups compared with hash chance; leaf x spine matrix; flows "
		   "that "
		   "share a member",
	.help = "Imbalance is max/mean - 1 over the members of a group, weighed by capacity, in "
		"busy windows (analyzers.ecmp_imbalance has the "
		"window and the load floor). Chance is the imbalance that a uniform hash gives for "
		"the observed number of effective flows; without captured packets it is unknown. "
		"The default time range is the last 15 minutes.",
	.options = options,
	.usage_exit = EXIT_USAGE,
	.run = cmd_ecmp_run,
};
