/* cmd_metrics - "rocewatch metrics": the page that /metrics serves, for a file that another
 * exporter reads (node_exporter's textfile collector), and for looking at it. */
#include "agent/command/command.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/str.h"
#include "agent/exporter/metrics.h"

#define SPAN_NS (15 * 60 * NS_PER_S)
enum { TOP_MAX = 10000 };

extern const struct command command_metrics;

static const struct command_option options[] = {
	{"openmetrics", 0, NULL, "OpenMetrics 1.0 in place of the Prometheus text format 0.0.4"},
	{"top", 0, "N", "subjects per family (default 20)"},
	{"all-ports", 0, NULL, "counters of every port, not only of ports that stand out"},
	{NULL, 0, NULL, NULL},
};

static int cmd_metrics_run(struct command_args *args)
{
	const struct command *c = &command_metrics;
	const char *top = command_opt(c, args, "top");
	struct metrics_options o = {.openmetrics = command_opt(c, args, "openmetrics") != NULL,
		.all_ports = command_opt(c, args, "all-ports") != NULL};
	struct err e = {0};
	struct client client;
	int64_t number;
	if (top) {
		const int rc = unit_int(top, &number, &e);
		if (rc < 0 || number < 1 || number > TOP_MAX)
			return usage_error(
				c, "--top: '%.64s' is not a number from 1 to %d", top, TOP_MAX);
		o.top = (size_t)number;
	}
	int r = command_open(&client, args->g, SPAN_NS, &e);
	if (r == 0) {
		r = metrics_print(stdout, &client, &o, &e);
		client_done(&client);
	}
	if (r == 0)
		return EXIT_OK;
	if (e.text[0])
		err_print(stderr, &e);
	if (r == -EINVAL)
		return EXIT_USAGE;
	return EXIT_FAILED;
}

const struct command command_metrics = {
	.name = "metrics",
	.summary = "the page of /metrics as text, for Prometheus and others",
	.help = "Prints the metrics that the web server serves at /metrics. To have node_exporter "
		"serve them, write them to a file of its textfile directory once a minute: "
		"rocewatch metrics > F.tmp && mv F.tmp F.prom. docs/metrics-exported.md lists all "
		"families.",
	.options = options,
	.takes = TAKES_DB,
	.examples = {{"metrics > rocewatch.prom", "writes the page for node_exporter"},
		{"metrics --openmetrics --top 5 --all-ports",
			"prints OpenMetrics with five subjects a family and all ports"}},
	.usage_exit = EXIT_USAGE,
	.run = cmd_metrics_run,
};
