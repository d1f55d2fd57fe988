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
static double judged_value(const struct spine_group *g)
{
	return fmax(isnan(g->imbalance_ratio) ? -1 : g->imbalance_ratio,
		isnan(g->sustained_ratio) ? -1 : g->sustained_ratio);
}

static enum check_state judge_group(const struct spine_group *g, const struct ask *k)
{
	uint64_t all = g->windows + g->idle + g->unknown;
	if (g->windows) {
		double v = judged_value(g);
		if (threshold_alerts(&k->crit, v))
			return CHECK_CRITICAL;
		if (threshold_alerts(&k->warn, v))
			return CHECK_WARNING;
	}
	/* Missing data is not OK: none at all, more than a quarter of the stretch, or silent now.
	 */
	if (!all || g->unknown * 4 > all || (g->unknown_last >= STALE_WINDOWS))
		return CHECK_UNKNOWN;
	return CHECK_OK;
}

/* CRITICAL, WARNING, UNKNOWN, OK: a known fault is not hidden by a silent neighbour. */
static int rank(enum check_state s)
{
	static const int ranks[] = {
		[CHECK_OK] = 0, [CHECK_UNKNOWN] = 1, [CHECK_WARNING] = 2, [CHECK_CRITICAL] = 3};
	return ranks[s];
}

struct check {
	enum check_state state;
	size_t n, n_over, n_unknown;
	uint64_t busy, idle;
	struct spine_group worst; /* by state, then by value */
};

static struct check check_groups(const struct spine_imbalance *s, const struct ask *k)
{
	struct check c = {.state = CHECK_OK, .n = spine_imbalance_groups(s)};
	for (size_t i = 0; i < c.n; i++) {
		struct spine_group g;
		spine_imbalance_group(s, i, &g);
		enum check_state state = judge_group(&g, k);
		c.busy += g.windows;
		c.idle += g.idle;
		c.n_over += state == CHECK_WARNING || state == CHECK_CRITICAL;
		c.n_unknown += state == CHECK_UNKNOWN;
		if (i == 0 || rank(state) > rank(c.state) ||
			(state == c.state && judged_value(&g) > judged_value(&c.worst))) {
			c.worst = g;
			c.state = state;
		}
	}
	if (!c.n)
		c.state = CHECK_UNKNOWN;
	return c;
}

static void check_text(FILE *out, const struct check *c)
{
	const struct spine_group *g = &c->worst;
	fprintf(out, "ECMP %s - ", check_state_name(c->state));
	if (!c->n) {
		fprintf(out, "no complete window of data in this stretch of time");
		return;
	}
	if (c->state == CHECK_UNKNOWN) {
		fprintf(out,
			"%zu of %zu groups not known: %s %s has no usable samples in %llu of %llu "
			"windows",
			c->n_unknown, c->n, g->device, g->group, (unsigned long long)g->unknown,
			(unsigned long long)(g->windows + g->idle + g->unknown));
		return;
	}
	if (!c->busy) {
		fprintf(out, "idle, 0 busy windows (%zu %s)", c->n, c->n == 1 ? "group" : "groups");
		return;
	}
	if (c->n_over)
		fprintf(out, "%zu of %zu groups out of limits, worst ", c->n_over, c->n);
	else
		fprintf(out, "%zu %s, worst ", c->n, c->n == 1 ? "group" : "groups");
	fprintf(out, "%s %s", g->device, g->group);
	if (g->member)
		fprintf(out, " at %s%s%s", g->member, g->peer && *g->peer ? " to " : "",
			g->peer ? g->peer : "");
	fprintf(out, ": max/mean-1 = %.3g", judged_value(g));
	if (isnan(g->expected_p999_ratio))
		fprintf(out, " (chance unknown: no packets)");
	else
		fprintf(out, " (chance p99.9 = %.2f, %.3g flows)", g->expected_p999_ratio,
			g->flows);
	if (g->n_down)
		fprintf(out, ", %zu members down", g->n_down);
	if (c->n_unknown)
		fprintf(out, ", %zu groups without data", c->n_unknown);
}

static void check_line(FILE *out, const struct check *c, const struct ask *k)
{
	char warn[THRESHOLD_TEXT_MAX], crit[THRESHOLD_TEXT_MAX];
	threshold_text(warn, &k->warn);
	threshold_text(crit, &k->crit);
	check_text(out, c);
	fprintf(out, " | ");
	double v = c->n ? judged_value(&c->worst) : -1;
	if (c->busy && v >= 0)
		fprintf(out, "'imbalance'=%.4f;%s;%s;0; ", v, warn, crit);
	else
		fprintf(out, "'imbalance'=U;%s;%s;0; ", warn, crit);
	if (c->busy && !isnan(c->worst.expected_ratio))
		fprintf(out, "'expected'=%.4f;;;0; ", c->worst.expected_ratio);
	fprintf(out,
		"'groups_over'=%zu;;;0;%zu 'groups_unknown'=%zu;;;0;%zu 'busy_windows'=%llu;;;0;\n",
		c->n_over, c->n, c->n_unknown, c->n, (unsigned long long)c->busy);
}

/*
 * A live database that no agent writes stays at its last samples: the report may be read, but a
 * check must not call it OK. With --db the database is looked at for its own sake (a replay, a
 * copy), and its newest sample is now.
 */
static bool stale(
	const struct client *x, const struct globals *g, int64_t window_ns, char *why, size_t size)
{
	if (g->db || x->agent_alive)
		return false;
	int64_t age_ns = wall_now().ns - x->now_ns,
		limit_ns =
			STALE_WINDOWS * window_ns > STALE_NS ? STALE_WINDOWS * window_ns : STALE_NS;
	if (age_ns <= limit_ns)
		return false;
	char age[32];
	snprintf(why, size, "no agent writes %s and its newest sample is %s old", x->db_path,
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

static int fail(const struct ask *k, int code, const struct err *e)
{
	if (k->check)
		printf("ECMP UNKNOWN - %s\n", e->text);
	err_print(stderr, e);
	return k->check ? CHECK_UNKNOWN : code == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
}

static void default_threshold(struct threshold *t, double high)
{
	if (!t->set)
		*t = (struct threshold){.low = 0, .high = high, .set = true};
}

static int report_spine(struct command_args *a, struct ask *k)
{
	struct err e = {0};
	struct client x;
	int r = client_open(&x, a->g, DEFAULT_SPAN_NS, &e);
	if (r < 0)
		return fail(k, r, &e);
	struct spine_imbalance *report = NULL;
	struct ecmp_history h;
	r = ecmp_history_collect(&x, k->device, k->group, &report, &h, &e);
	if (r < 0) {
		client_done(&x);
		return fail(k, r, &e);
	}
	json_t *doc = spine_imbalance_json(report, x.config->fabric, h.from_ns, h.to_ns);
	int code = EXIT_OK;
	if (k->check) {
		char why[256];
		default_threshold(&k->warn, h.options->warn);
		default_threshold(&k->crit, h.options->critical);
		struct check c = check_groups(report, k);
		bool old = stale(&x, a->g, h.options->window_ns, why, sizeof(why));
		if (old)
			c.state = CHECK_UNKNOWN;
		code = (int)c.state;
		if (k->out || a->g->format == FORMAT_TABLE) {
			if (old)
				printf("ECMP UNKNOWN - %s\n", why);
			else
				check_line(stdout, &c, k);
		}
	}
	if (k->out)
		r = file_write(k->out, print_page, &(struct page){doc, a->g}, &e);
	else
		r = report_print(stdout, doc, &spine_imbalance_view, a->g->format, !a->g->no_header,
			a->g->color == COLOR_ALWAYS);
	if (r < 0) {
		if (k->out)
			err_print(stderr, &e);
		code = k->check ? CHECK_UNKNOWN : EXIT_FAILED;
	}
	json_decref(doc);
	spine_imbalance_free(report);
	client_done(&x);
	return code;
}

static int usage(const struct ask *k, const char *text)
{
	int code = usage_error(&command_report, "%s", text);
	return k->check ? CHECK_UNKNOWN : code;
}

static int run(struct command_args *a)
{
	const struct command *c = &command_report;
	struct ask k = {
		.check = command_opt(c, a, "check") != NULL,
		.device = command_opt(c, a, "device"),
		.group = command_opt(c, a, "group"),
		.out = command_opt(c, a, "out"),
	};
	struct err e = {0};
	const char *warn = command_opt(c, a, "warn"), *crit = command_opt(c, a, "crit");
	if (a->argc != 1)
		return usage(&k,
			a->argc ? "expected one report name"
				: "expected a report name: spine-imbalance");
	if (!str_eq(a->argv[0], "spine-imbalance")) {
		rw_cleanup(str_done) struct str text = {0};
		str_addf(&text, "read '%.64s', expected spine-imbalance", a->argv[0]);
		return usage(&k, text.s);
	}
	if ((warn || crit) && !k.check)
		return usage(&k, "--warn and --crit go with --check");
	if ((warn && threshold_parse(warn, &k.warn, &e) < 0) ||
		(crit && threshold_parse(crit, &k.crit, &e) < 0))
		return usage(&k, e.text);
	return report_spine(a, &k);
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
	.run = run,
};
