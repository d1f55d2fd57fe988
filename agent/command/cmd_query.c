/*
 * cmd_query - "rocewatch query": history as rows. Without --step one row per stored sample, read in
 * slices and printed as it comes. With --step or --rate through windows and the functions of
 * series.h, so that a restart or a gap never makes a spike.
 */
#include "agent/command/command.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/stats.h"
#include "agent/base/str.h"
#include "agent/command/query_out.h"
#include "config/config.h"
#include "db/model/metric.h"
#include "db/series/history.h"

#define DEFAULT_SPAN_NS (3600 * NS_PER_S)
#define STEPS_MAX 1000000

static const struct command_option options[] = {
	{"device", 0, "GLOB", "only devices whose name matches"},
	{"port", 0, "GLOB", "only ports whose name or alias matches"},
	{"priority", 0, "N", "only this priority, 0 to 7"},
	{"rate", 0, NULL, "counters as rate per second; an interval with a restart is a gap"},
	{"step", 0, "DUR", "one row per step, aligned to multiples of it"},
	{"agg", 0, "max|mean|p99",
		"with --step: how the values of a step (with --rate: the rates) become one"},
	{"list", 0, NULL, "list all metrics"},
	{0},
};

extern const struct command command_query;

/* ---- the question --------------------------------------------------------- */

enum agg { AGG_DEFAULT, AGG_MAX, AGG_MEAN, AGG_P99 };

struct query {
	struct client client;
	struct query_out out;
	struct history_filter filter;
	uint16_t metric;
	bool rate;
	int64_t step_ns; /* 0 = one row per sample */
	enum agg agg;
};

static void set_number(struct query_row *row, double value)
{
	row->kind = VALUE_NONE;
	if (isfinite(value))
		row->kind = VALUE_F64;
	row->f64 = value;
}

/* set_stored - the value as it is stored: a number of the metric's type, or the id of a text. */
static void set_stored(
	const struct query *query, uint16_t metric, uint64_t value, struct query_row *row)
{
	switch (metric_info(metric)->type) {
	case TYPE_U64:
		row->kind = VALUE_U64;
		row->u64 = value;
		break;
	case TYPE_F64: set_number(row, sample_f64(value)); break;
	case TYPE_TEXT:
		row->kind = VALUE_TEXT;
		row->text = entities_text_get(history_entities(query->client.history), value);
		break;
	}
}

static int raw_row(void *arg, const struct sample *sample)
{
	struct query *query = arg;
	const struct entities *entities = history_entities(query->client.history);
	struct query_row row = {.t_ns = sample->t_ns,
		.entity = entity_get(entities, sample->entity),
		.metric = sample->metric,
		.flags = sample->flags};
	if (!row.entity)
		return 0;
	set_stored(query, sample->metric, sample->value, &row);
	return query_out_row(&query->out, &row);
}

/* One series in (from, to]. */
struct query_span {
	const struct series *series;
	int64_t from_ns, to_ns;
	uint32_t begin, end; /* its samples */
	double bound_per_s; /* what a counter can grow by; 0 = unknown */
};

static struct query_span span_of(
	const struct series *series, int64_t from_ns, int64_t to_ns, double bound_per_s)
{
	return (struct query_span){.series = series,
		.from_ns = from_ns,
		.to_ns = to_ns,
		.begin = series_after(series, from_ns),
		.end = series_after(series, to_ns),
		.bound_per_s = bound_per_s};
}

static double cmd_query_aggregate(enum agg agg, double *values, size_t n)
{
	double sum = 0, max = -INFINITY;

	if (agg == AGG_P99)
		return stats_quantile(values, n, 0.99);
	for (size_t i = 0; i < n; i++) {
		sum += values[i];
		if (values[i] > max)
			max = values[i];
	}
	if (n == 0)
		return NAN;
	if (agg == AGG_MAX)
		return max;
	return sum / (double)n;
}

static void set_rate(
	const struct query *query, const struct query_span *span, struct query_row *row)
{
	const struct series *series = span->series;
	double rate;
	/* The mean of rates, each weighed by its time, is the increase over the time they cover. */
	if (query->agg == AGG_DEFAULT || query->agg == AGG_MEAN) {
		if (series_rate(series, span->from_ns, span->to_ns, span->bound_per_s, &rate,
			    NULL) == 0)
			set_number(row, rate);
		return;
	}
	rw_cleanup(freep) double *rates = rw_calloc(span->end - span->begin + 1, sizeof(*rates));
	size_t n = 0;
	for (uint32_t i = span->begin; i < span->end; i++) {
		int64_t from_ns = span->from_ns;
		if (i > 0)
			from_ns = series->t_ns[i - 1];
		if (series_rate(series, from_ns, series->t_ns[i], span->bound_per_s, &rate, NULL) ==
			0)
			rates[n++] = rate;
	}
	set_number(row, cmd_query_aggregate(query->agg, rates, n));
}

/* usual_agg - how the values of a step become one when --agg does not say: a gauge's mean, a
 * watermark's maximum, else AGG_DEFAULT, the last value. */
static enum agg usual_agg(const struct metric_info *info)
{
	if (info->kind == METRIC_GAUGE)
		return AGG_MEAN;
	if (info->kind == METRIC_WATERMARK)
		return AGG_MAX;
	return AGG_DEFAULT;
}

static void cmd_query_set_value(
	const struct query *query, const struct query_span *span, struct query_row *row)
{
	const struct metric_info *info = metric_info(query->metric);
	const uint64_t *values = span->series->value;
	const size_t n = span->end - span->begin;
	enum agg agg = query->agg;
	if (n == 0)
		return;
	if (agg == AGG_DEFAULT)
		agg = usual_agg(info);
	if (agg == AGG_DEFAULT || info->type == TYPE_TEXT) {
		set_stored(query, query->metric, values[span->end - 1], row);
		return;
	}
	rw_cleanup(freep) double *numbers = rw_calloc(n, sizeof(*numbers));
	uint64_t max = 0;
	for (size_t i = 0; i < n; i++) {
		const uint64_t value = values[span->begin + i];
		numbers[i] = sample_number(query->metric, value);
		if (value > max)
			max = value;
	}
	if (agg == AGG_MAX && info->type == TYPE_U64)
		set_stored(query, query->metric, max, row); /* exact; a double is not */
	else
		set_number(row, cmd_query_aggregate(agg, numbers, n));
}

/* speed_of - of the port, bit/s: measured, else configured, else 0. */
static uint64_t speed_of(
	const struct query *query, const struct window *window, const struct entity *entity)
{
	uint64_t bps = 0;
	const uint32_t port =
		entities_find(window->entities, entity->device, entity->port, PRIO_NONE);
	const struct series *speed = window_series(window, port, M_PORT_SPEED_BPS);
	if (series_state(speed, query->client.to_ns, INT64_MAX, &bps) == 0 || !query->client.config)
		return bps;
	const struct fabric_device *device =
		fabric_device(query->client.config->fabric, entity->device);
	if (!device)
		return 0;
	const struct fabric_port *configured = fabric_port(device, entity->port);
	if (!configured)
		return 0;
	return configured->speed_bps;
}

/* bound_of - what a counter of bytes can grow by in a second: the port's line rate, with 2 % for
 * clocks that differ. 0 = no bound. */
static double bound_of(
	const struct query *query, const struct window *window, const struct entity *entity)
{
	if (strcmp(metric_info(query->metric)->unit, "bytes") != 0)
		return 0;
	return 1.02 * (double)speed_of(query, window, entity) / 8;
}

/* cmd_query_step_of - the number of the step that holds @t_ns. Rounded down, also before 1970: a
 * recorded case may begin at 0, and the hour before it is the default range. */
static int64_t cmd_query_step_of(int64_t t_ns, int64_t step_ns)
{
	if (t_ns >= 0)
		return t_ns / step_ns;
	return -((-t_ns + step_ns - 1) / step_ns);
}

static int cmd_query_steps(
	struct query *query, const struct series *series, struct query_row *row, double bound_per_s)
{
	const int64_t step_ns = query->step_ns;
	const int64_t first = cmd_query_step_of(query->client.from_ns, step_ns);
	const int64_t last = cmd_query_step_of(query->client.to_ns - 1, step_ns);
	for (int64_t k = first; k <= last; k++) {
		const struct query_span span =
			span_of(series, k * step_ns, (k + 1) * step_ns, bound_per_s);
		row->t_ns = span.to_ns;
		row->kind = VALUE_NONE;
		row->flags = 0;
		for (uint32_t i = span.begin; i < span.end; i++)
			row->flags |= series->flags[i];
		if (query->rate)
			set_rate(query, &span, row);
		else
			cmd_query_set_value(query, &span, row);
		int rc = query_out_row(&query->out, row);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* sample_rates - --rate without --step: the rate of the interval that ends at each sample. */
static int sample_rates(
	struct query *query, const struct series *series, struct query_row *row, double bound_per_s)
{
	const int64_t *t_ns = series->t_ns;
	const int64_t to_ns = query->client.to_ns;
	for (uint32_t i = series_after(series, query->client.from_ns - 1);
		i < series->n && t_ns[i] <= to_ns; i++) {
		double rate = NAN;
		row->t_ns = t_ns[i];
		row->flags = series->flags[i];
		if (i > 0 &&
			series_rate(series, t_ns[i - 1], t_ns[i], bound_per_s, &rate, NULL) < 0)
			rate = NAN;
		set_number(row, rate);
		int rc = query_out_row(&query->out, row);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int id_order(const void *left, const void *right)
{
	const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	return (a > b) - (a < b);
}

/* with_ports - @ids and their ports, whose speeds bound the counters: sorted, each once. The caller
 * frees. */
static uint32_t *with_ports(
	const struct entities *entities, const uint32_t *ids, size_t n, size_t *ret_n)
{
	uint32_t *wanted = rw_calloc(2 * n + 1, sizeof(*wanted));
	size_t n_wanted = 0;
	for (size_t i = 0; i < n; i++) {
		const struct entity *entity = entity_get(entities, ids[i]);
		const uint32_t port =
			entities_find(entities, entity->device, entity->port, PRIO_NONE);
		wanted[n_wanted++] = ids[i];
		if (port != ENTITY_NONE)
			wanted[n_wanted++] = port;
	}
	qsort(wanted, n_wanted, sizeof(*wanted), id_order);
	*ret_n = 0;
	for (size_t i = 0; i < n_wanted; i++)
		if (*ret_n == 0 || wanted[*ret_n - 1] != wanted[i])
			wanted[(*ret_n)++] = wanted[i];
	return wanted;
}

/* query_range_of - the time that the windows must hold: whole steps, or the sample before the
 * first. */
static void query_range_of(const struct query *query, int64_t *ret_from_ns, int64_t *ret_to_ns)
{
	const int64_t step_ns = query->step_ns;
	*ret_from_ns = query->client.from_ns - 1;
	*ret_to_ns = query->client.to_ns;
	if (!step_ns)
		return;
	*ret_from_ns = cmd_query_step_of(query->client.from_ns, step_ns) * step_ns;
	*ret_to_ns = (cmd_query_step_of(query->client.to_ns - 1, step_ns) + 1) * step_ns;
}

static int run_windows(struct query *query, struct err *e)
{
	const uint16_t metrics[] = {query->metric, M_PORT_SPEED_BPS};
	struct history *history = query->client.history;
	rw_cleanup(freep) uint32_t *ids = NULL;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct window window;
	int64_t from_ns, to_ns;
	size_t n, n_wanted;
	int rc = history_match(history, &query->filter, &ids, &n, e);
	if (rc < 0 || n == 0)
		return rc;
	rw_cleanup(freep) uint32_t *wanted =
		with_ports(history_entities(history), ids, n, &n_wanted);
	const struct window_spec spec = {.metrics = metrics,
		.n_metrics = rw_countof(metrics),
		.entities = wanted,
		.n_entities = n_wanted};
	query_range_of(query, &from_ns, &to_ns);
	rc = history_window(history, a, &spec, from_ns, to_ns, &window, e);
	for (size_t i = 0; rc == 0 && i < n; i++) {
		const struct series *series = window_series(&window, ids[i], query->metric);
		struct query_row row = {
			.entity = entity_get(window.entities, ids[i]), .metric = query->metric};
		if (!series)
			continue;
		const double bound = bound_of(query, &window, row.entity);
		if (query->step_ns)
			rc = cmd_query_steps(query, series, &row, bound);
		else
			rc = sample_rates(query, series, &row, bound);
	}
	return rc;
}

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
	json_t *v = json_array();

	for (unsigned m = 0; m < METRIC_COUNT; m++) {
		const struct metric_info *i = metric_info(m);
		json_array_append_new(v,
			json_pack("{s:s, s:s, s:s, s:s, s:s}", "metric", i->name, "unit", i->unit,
				"kind", metric_kind_name(i->kind), "scope",
				metric_scope_name(i->scope), "description", i->help));
	}
	json_t *doc = json_pack("{s:o}", "metrics", v);
	int r = report_print(stdout, doc, &list_view, args->g->format, !args->g->no_header,
		args->g->color == COLOR_ALWAYS);
	json_decref(doc);
	if (r < 0)
		return EXIT_FAILED;
	return EXIT_OK;
}

static int run_sql(struct query *query, const char *sql, struct err *e)
{
	int r = history_sql_named(
		query->client.history, sql, query_out_sql_names, query_out_sql_row, &query->out, e);

	if (r == 0)
		r = query_out_end(&query->out);
	return r;
}

/* ---- the command --------------------------------------------------------- */

static int unknown_metric(const char *name)
{
	const char *names[METRIC_COUNT];

	for (unsigned m = 0; m < METRIC_COUNT; m++)
		names[m] = metric_info(m)->name;
	const char *near = str_nearest(name, names, METRIC_COUNT);
	if (near)
		return usage_error(
			&command_query, "there is no metric '%.64s'; perhaps '%s'", name, near);
	return usage_error(&command_query,
		"there is no metric '%.64s'; 'rocewatch query --list' names them", name);
}

static int read_agg(const char *text, enum agg *ret)
{
	static const char *const names[] = {
		[AGG_MAX] = "max", [AGG_MEAN] = "mean", [AGG_P99] = "p99"};
	for (unsigned i = AGG_MAX; i < rw_countof(names); i++) {
		if (!str_eq(text, names[i]))
			continue;
		*ret = (enum agg)i;
		return 0;
	}
	return usage_error(
		&command_query, "--agg: unknown '%.64s'; expected max, mean or p99", text);
}

static int read_step(const char *text, int64_t *ret_ns)
{
	struct err e = {0};
	if (unit_duration(text, ret_ns, &e) < 0)
		return usage_error(&command_query, "--step: %s", e.text);
	if (*ret_ns <= 0)
		return usage_error(&command_query, "--step: expected a duration above zero");
	return 0;
}

/* cmd_query_read_options - 0, or the exit code after a message. */
static int cmd_query_read_options(const struct command_args *args, struct query *query)
{
	const char *priority = command_opt(&command_query, args, "priority");
	const char *step = command_opt(&command_query, args, "step");
	const char *agg = command_opt(&command_query, args, "agg");
	int64_t n;
	int rc = 0;
	query->filter =
		(struct history_filter){.device = command_opt(&command_query, args, "device"),
			.port = command_opt(&command_query, args, "port"),
			.priority = HISTORY_ANY_PRIORITY};
	if (priority) {
		if (unit_int(priority, &n, NULL) < 0 || n < 0 || n > 7)
			return usage_error(&command_query,
				"--priority: '%.64s' is not a priority; expected 0 to 7", priority);
		query->filter.priority = (int)n;
	}
	if (step)
		rc = read_step(step, &query->step_ns);
	if (rc == 0 && agg)
		rc = read_agg(agg, &query->agg);
	if (rc == 0 && agg && !step)
		return usage_error(&command_query,
			"--agg says how the values of one step become one value: add --step, e.g. "
			"--step 1m");
	query->rate = command_opt(&command_query, args, "rate") != NULL;
	return rc;
}

static int read_metric(const struct command_args *args, struct query *query)
{
	int m = metric_by_name(args->argv[0]);

	if (m < 0)
		return unknown_metric(args->argv[0]);
	const struct metric_info *info = metric_info((unsigned)m);
	if (query->rate && info->kind != METRIC_COUNTER)
		return usage_error(&command_query, "--rate is for counters; %s is a %s", info->name,
			metric_kind_name(info->kind));
	if (query->agg != AGG_DEFAULT && info->type == TYPE_TEXT)
		return usage_error(&command_query, "--agg is for numbers; %s is text", info->name);
	query->metric = (uint16_t)m;
	query->filter.metrics = &query->metric;
	query->filter.n_metrics = 1;
	return 0;
}

/* cmd_query_clip - steps begin with the first sample of the database: the time before is no gap. */
static int cmd_query_clip(struct query *query, struct err *e)
{
	int64_t first, last;
	int r = history_range(query->client.history, &first, &last, e);

	if (r == 0 && query->client.from_ns < first - 1 && first - 1 < query->client.to_ns)
		query->client.from_ns = first - 1;
	if (r == -ENODATA)
		return 0;
	return r;
}

static int run_metric(struct query *query, struct err *e)
{
	int r = 0;
	if (query->step_ns)
		r = cmd_query_clip(query, e);

	if (r < 0)
		return r;
	query->filter.from_ns = query->client.from_ns;
	query->filter.to_ns = query->client.to_ns;
	if (query->step_ns &&
		(query->client.to_ns - query->client.from_ns) / query->step_ns > STEPS_MAX)
		return err_set(e, -EINVAL,
			"--step is too short: each series would have more than %d rows; use a "
			"longer step or a shorter time range",
			STEPS_MAX);
	query_out_begin(&query->out);
	if (query->rate || query->step_ns)
		r = run_windows(query, e);
	else
		r = history_each_sample(query->client.history, &query->filter, raw_row, query, e);
	if (r == 0)
		r = query_out_end(&query->out);
	return r;
}

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

/* check_arguments - 0, or the exit code after a message. */
static int check_arguments(const struct command_args *args, bool sql)
{
	const char *last;
	if (args->argc == 0)
		return usage_error(
			&command_query, "missing metric; 'rocewatch query --list' lists them");
	last = args->argv[args->argc - 1];
	if (sql && args->argc != 2)
		return usage_error(&command_query, "sql: expected one statement, in quotes");
	if (!sql && args->argc != 1)
		return usage_error(&command_query,
			"unexpected argument '%.64s'; a query takes one metric", last);
	if (args->g->format == FORMAT_HTML || args->g->format == FORMAT_MD)
		return usage_error(&command_query, "--format: expected table, csv, json or jsonl");
	return 0;
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

static int cmd_query_run(struct command_args *args)
{
	struct query query = {.out = {.format = args->g->format, .header = !args->g->no_header}};
	struct err e = {0};
	const bool sql = args->argc > 0 && str_eq(args->argv[0], "sql");
	if (command_opt(&command_query, args, "list")) {
		if (args->argc > 0)
			return usage_error(&command_query, "--list takes no metric");
		return cmd_query_run_list(args);
	}
	int rc = check_arguments(args, sql);
	if (rc == 0)
		rc = cmd_query_read_options(args, &query);
	if (rc == 0 && !sql)
		rc = read_metric(args, &query);
	if (rc != 0)
		return rc;
	rc = client_open_data(&query.client, args->g, DEFAULT_SPAN_NS, &e);
	if (rc < 0) {
		err_print(stderr, &e);
		return query_exit(rc, false);
	}
	command_warn(&query.client, args->g);
	if (sql)
		rc = run_sql(&query, args->argv[1], &e);
	else
		rc = run_metric(&query, &e);
	write_error(rc, &e);
	client_done(&query.client);
	if (rc < 0)
		err_print(stderr, &e);
	return query_exit(rc, sql);
}

const struct command command_query = {
	.name = "query",
	.args = "METRIC | --list | sql \"SELECT ...\"",
	.summary = "history as rows: samples, rates, steps, or SQL on the documented views",
	.help = "The range is the last hour, unless --since, --until or --around says otherwise. "
		"Without --step there is one row per stored sample. With --step there is one row "
		"per series and step; its time is the end of the step. A step without data is a "
		"gap: null in JSON, empty in csv.\n"
		"The value of a step is the mean of a gauge, the maximum of a watermark, the last "
		"value of a counter or a state. With --rate it is the counter's increase per "
		"second of covered time. Restarts and gaps never make a spike.\n\n"
		"sql reads the views samples, rates, ports, links, devices, incidents, findings, "
		"recommendations, config_history, flows and events; it cannot write.",
	.options = options,
	.usage_exit = EXIT_USAGE,
	.run = cmd_query_run,
};
