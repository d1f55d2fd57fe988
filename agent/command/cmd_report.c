/* report - documents for cron and mail; with --check also an exit code and a line for monitoring.
 */
#include "agent/command/command.h"
#include "agent/document/file_write.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/history/ecmp_read.h"
#include "agent/reports/spine_imbalance.h"
#include "agent/command/check_range.h"
#include "config/config.h"

#define DEFAULT_SPAN_NS (24 * 3600 * NS_PER_S)
/* Data older than this many windows is stale, and at least this old. */
#define STALE_WINDOWS 3
#define STALE_NS (5 * 60 * NS_PER_S)

static const struct command_option options[] = {
	{"check", 0, NULL,
		"exit 0 OK, 1 WARNING, 2 CRITICAL, 3 UNKNOWN, and begin with a line of the "
		"monitoring-plugins form"},
	{"warn", 0, "RANGE",
		"with --check: warn outside of this range of max/mean-1 (default: the analyzer's "
		"warn)"},
	{"crit", 0, "RANGE",
		"with --check: critical outside of this range (default: the analyzer's critical)"},
	{"device", 0, "GLOB", "only groups of these devices"},
	{"group", 0, "ID",
		"only this group: uplinks, to:DEVICE, lag:NAME, a glob of them, or DEVICE/GROUP"},
	{"out", 0, "FILE",
		"write the report to FILE (replaced whole), nothing but the check line to stdout"},
	{NULL, 0, NULL, NULL},
};

extern const struct command command_report;

struct ask {
	bool check;
	const char *device, *group, *out;
	struct threshold warn, crit;
};

/* ---- check --------------------------------------------------------------- */

/* What a group is judged by: how uneven it is over all, or for as long as an incident takes to
 * open, whichever is worse. */
static double judged_value(const struct spine_group *group)
{
	return fmax(isnan(group->imbalance_ratio) ? -1 : group->imbalance_ratio,
		isnan(group->sustained_ratio) ? -1 : group->sustained_ratio);
}

static enum check_state judge_group(const struct spine_group *group, const struct ask *ask)
{
	uint64_t all = group->windows + group->idle + group->unknown;
	if (group->windows) {
		double v = judged_value(group);
		if (threshold_alerts(&ask->crit, v))
			return CHECK_CRITICAL;
		if (threshold_alerts(&ask->warn, v))
			return CHECK_WARNING;
	}
	/* Missing data is not OK: none at all, more than a quarter of the stretch, or silent now.
	 */
	if (!all || group->unknown * 4 > all || (group->unknown_last >= STALE_WINDOWS))
		return CHECK_UNKNOWN;
	return CHECK_OK;
}

/* CRITICAL, WARNING, UNKNOWN, OK: a known fault is not hidden by a silent neighbour. */
static int cmd_report_rank(enum check_state state)
{
	static const int ranks[] = {
		[CHECK_OK] = 0, [CHECK_UNKNOWN] = 1, [CHECK_WARNING] = 2, [CHECK_CRITICAL] = 3};
	return ranks[state];
}

struct check {
	enum check_state state;
	size_t n, n_over, n_unknown;
	uint64_t busy, idle;
	struct spine_group worst; /* by state, then by value */
};

static struct check check_groups(const struct spine_imbalance *imbalance, const struct ask *ask)
{
	struct check c = {.state = CHECK_OK, .n = spine_imbalance_groups(imbalance)};
	for (size_t i = 0; i < c.n; i++) {
		struct spine_group g;
		spine_imbalance_group(imbalance, i, &g);
		enum check_state state = judge_group(&g, ask);
		c.busy += g.windows;
		c.idle += g.idle;
		c.n_over += state == CHECK_WARNING || state == CHECK_CRITICAL;
		c.n_unknown += state == CHECK_UNKNOWN;
		if (i == 0 || cmd_report_rank(state) > cmd_report_rank(c.state) ||
			(state == c.state && judged_value(&g) > judged_value(&c.worst))) {
			c.worst = g;
			c.state = state;
		}
	}
	if (!c.n)
		c.state = CHECK_UNKNOWN;
	return c;
}

static void cmd_report_check_text(FILE *out, const struct check *check)
{
	const struct spine_group *g = &check->worst;
	fprintf(out, "ECMP %s - ", check_state_name(check->state));
	if (!check->n) {
		fprintf(out, "no complete window of data in this stretch of time");
		return;
	}
	if (check->state == CHECK_UNKNOWN) {
		fprintf(out,
			"%zu of %zu groups not known: %s %s has no usable samples in %llu of %llu "
			"windows",
			check->n_unknown, check->n, g->device, g->group,
			(unsigned long long)g->unknown,
			(unsigned long long)(g->windows + g->idle + g->unknown));
		return;
	}
	if (!check->busy) {
		fprintf(out, "idle, 0 busy windows (%zu %s)", check->n,
			check->n == 1 ? "group" : "groups");
		return;
	}
	if (check->n_over)
		fprintf(out, "%zu of %zu groups out of limits, worst ", check->n_over, check->n);
	else
		fprintf(out, "%zu %s, worst ", check->n, check->n == 1 ? "group" : "groups");
	fprintf(out, "%s %s", g->device, g->group);
	if (g->member)
		fprintf(out, " at %s%s%s", g->member, str_if(g->peer && *g->peer, " to "),
			str_or(g->peer, ""));
	fprintf(out, ": max/mean-1 = %.3g", judged_value(g));
	if (isnan(g->expected_p999_ratio))
		fprintf(out, " (chance unknown: no packets)");
	else
		fprintf(out, " (chance p99.9 = %.2f, %.3g flows)", g->expected_p999_ratio,
			g->flows);
	if (g->n_down)
		fprintf(out, ", %zu members down", g->n_down);
	if (check->n_unknown)
		fprintf(out, ", %zu groups without data", check->n_unknown);
}

static void check_line(FILE *out, const struct check *check, const struct ask *ask)
{
	char warn[THRESHOLD_TEXT_MAX], crit[THRESHOLD_TEXT_MAX];
	threshold_text(warn, &ask->warn);
	threshold_text(crit, &ask->crit);
	cmd_report_check_text(out, check);
	fprintf(out, " | ");
	double v = -1;
	if (check->n)
		v = judged_value(&check->worst);
	if (check->busy && v >= 0)
		fprintf(out, "'imbalance'=%.4f;%s;%s;0; ", v, warn, crit);
	else
		fprintf(out, "'imbalance'=U;%s;%s;0; ", warn, crit);
	if (check->busy && !isnan(check->worst.expected_ratio))
		fprintf(out, "'expected'=%.4f;;;0; ", check->worst.expected_ratio);
	fprintf(out,
		"'groups_over'=%zu;;;0;%zu 'groups_unknown'=%zu;;;0;%zu 'busy_windows'=%llu;;;0;\n",
		check->n_over, check->n, check->n_unknown, check->n,
		(unsigned long long)check->busy);
}

/*
 * A live database that no agent writes stays at its last samples: the report may be read, but a
 * check must not call it OK. With --db the database is looked at for its own sake (a replay, a
 * copy), and its newest sample is now.
 */
static bool cmd_report_stale(const struct client *client, const struct globals *globals,
	int64_t window_ns, char *why, size_t size)
{
	if (globals->db || client->agent_alive)
		return false;
	int64_t age_ns = wall_now().ns - client->now_ns;
	int64_t limit_ns = STALE_NS;
	if (STALE_WINDOWS * window_ns > STALE_NS)
		limit_ns = STALE_WINDOWS * window_ns;
	if (age_ns <= limit_ns)
		return false;
	char age[32];
	snprintf(why, size, "no agent writes %s and its newest sample is %s old", client->db_path,
		duration_format(age, sizeof(age), age_ns));
	return true;
}

/* ---- output -------------------------------------------------------------- */

struct page {
	const json_t *doc;
	const struct globals *g;
};

static int print_page(FILE *out, void *arg)
{
	const struct page *p = arg;
	return report_print(
		out, p->doc, &spine_imbalance_view, p->g->format, !p->g->no_header, false);
}

static int cmd_report_fail(const struct ask *ask, int code, const struct err *e)
{
	if (ask->check)
		printf("ECMP UNKNOWN - %s\n", e->text);
	err_print(stderr, e);
	if (ask->check)
		return CHECK_UNKNOWN;
	if (code == -EINVAL)
		return EXIT_USAGE;
	return EXIT_FAILED;
}

static void default_threshold(struct threshold *threshold, double high)
{
	if (!threshold->set)
		*threshold = (struct threshold){.low = 0, .high = high, .set = true};
}

static int report_spine(struct command_args *args, struct ask *ask)
{
	struct err e = {0};
	struct client x;
	int r = client_open(&x, args->g, DEFAULT_SPAN_NS, &e);
	if (r < 0)
		return cmd_report_fail(ask, r, &e);
	struct spine_imbalance *report = NULL;
	struct ecmp_history h;
	r = ecmp_history_collect(&x, ask->device, ask->group, &report, &h, &e);
	if (r < 0) {
		client_done(&x);
		return cmd_report_fail(ask, r, &e);
	}
	json_t *doc = spine_imbalance_json(report, x.config->fabric, h.from_ns, h.to_ns);
	int code = EXIT_OK;
	if (ask->check) {
		char why[256];
		default_threshold(&ask->warn, h.options->warn);
		default_threshold(&ask->crit, h.options->critical);
		struct check c = check_groups(report, ask);
		bool old = cmd_report_stale(&x, args->g, h.options->window_ns, why, sizeof(why));
		if (old)
			c.state = CHECK_UNKNOWN;
		code = (int)c.state;
		if (ask->out || args->g->format == FORMAT_TABLE) {
			if (old)
				printf("ECMP UNKNOWN - %s\n", why);
			else
				check_line(stdout, &c, ask);
		}
	}
	if (ask->out)
		r = file_write(ask->out, print_page, &(struct page){doc, args->g}, &e);
	else
		r = report_print(stdout, doc, &spine_imbalance_view, args->g->format,
			!args->g->no_header, args->g->color == COLOR_ALWAYS);
	if (r < 0) {
		if (ask->out)
			err_print(stderr, &e);
		if (ask->check)
			code = CHECK_UNKNOWN;
		else
			code = EXIT_FAILED;
	}
	json_decref(doc);
	spine_imbalance_free(report);
	client_done(&x);
	return code;
}

static int cmd_report_usage(const struct ask *ask, const char *text)
{
	int code = usage_error(&command_report, "%s", text);
	if (ask->check)
		return CHECK_UNKNOWN;
	return code;
}

static int cmd_report_run(struct command_args *args)
{
	const struct command *c = &command_report;
	struct ask k = {
		.check = command_opt(c, args, "check") != NULL,
		.device = command_opt(c, args, "device"),
		.group = command_opt(c, args, "group"),
		.out = command_opt(c, args, "out"),
	};
	struct err e = {0};
	const char *warn = command_opt(c, args, "warn"), *crit = command_opt(c, args, "crit");
	if (args->argc != 1)
		return cmd_report_usage(&k,
			args->argc ? "expected one report name"
				   : "expected a report name: spine-imbalance");
	if (!str_eq(args->argv[0], "spine-imbalance")) {
		rw_cleanup(str_done) struct str text = {0};
		str_addf(&text, "read '%.64s', expected spine-imbalance", args->argv[0]);
		return cmd_report_usage(&k, text.s);
	}
	if ((warn || crit) && !k.check)
		return cmd_report_usage(&k, "--warn and --crit go with --check");
	if ((warn && threshold_parse(warn, &k.warn, &e) < 0) ||
		(crit && threshold_parse(crit, &k.crit, &e) < 0))
		return cmd_report_usage(&k, e.text);
	return report_spine(args, &k);
}

const struct command command_report = {
	.name = "report",
	.args = "spine-imbalance",
	.summary = "reports for cron: text, json, csv, html, md; --check sets the exit code",
	.help = "spine-imbalance: how even each ECMP group was over the stretch (default: 24 h), "
		"which member is hot and for how long, what chance allows, "
		"what it cost.\n"
		"With --check a group is judged by max/mean-1 of its busy windows together, or by "
		"the highest value it held for `hold` busy windows in a row, "
		"whichever is worse. An idle fabric is OK; missing or stale data is UNKNOWN. RANGE "
		"as in the monitoring-plugins guidelines: 0.2 (or 20%), "
		"0.1:0.2, ~:0.2, @0.1:0.2.",
	.options = options,
	.usage_exit = EXIT_USAGE,
	.run = cmd_report_run,
};
