/*
 * cmd_query - "rocewatch query": history as rows. Without --step one row per stored sample, read in
 * slices and printed as it comes; with --step or --rate through windows and the functions of
 * series.h, so that restarts and gaps are never drawn.
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
	{"rate", 0, NULL, "per second, for counters; an interval with a restart is a gap"},
	{"step", 0, "DUR", "one row per step, aligned to multiples of it"},
	{"agg", 0, "max|mean|p99",
		"with --step: over the values (with --rate: the rates) of a step"},
	{"list", 0, NULL, "the metrics there are"},
	{0},
};

extern const struct command command_query;

/* ---- what was asked ------------------------------------------------------ */

enum agg { AGG_DEFAULT, AGG_MAX, AGG_MEAN, AGG_P99 };

struct query {
	struct client x;
	struct query_out out;
	struct history_filter filter;
	uint16_t metric;
	bool rate;
	int64_t step_ns; /* 0 = one row per sample */
	enum agg agg;
};

static int raw_row(void *arg, const struct sample *sample)
{
	struct query *q = arg;
	const struct metric_info *info = metric_info(sample->metric);
	const struct entities *entities = history_entities(q->x.history);
	struct query_row r = {.t_ns = sample->t_ns,
		.entity = entity_get(entities, sample->entity),
		.metric = sample->metric,
		.flags = sample->flags};

	if (!r.entity)
		return 0;
	switch (info->type) {
	case TYPE_U64:
		r.kind = VALUE_U64;
		r.u64 = sample->value;
		break;
	case TYPE_F64:
		if (isfinite(sample_f64(sample->value)))
			r.kind = VALUE_F64;
		else
			r.kind = VALUE_NONE;
		r.f64 = sample_f64(sample->value);
		break;
	case TYPE_TEXT:
		r.kind = VALUE_TEXT;
		r.text = entities_text_get(entities, sample->value);
		break;
	}
	return query_out_row(&q->out, &r);
}

/* What one entity's metric did in (from, to], by the numbers of series.h. */
struct span {
	const struct series *s;
	int64_t from_ns, to_ns;
	double gate;
};

static void set_number(struct query_row *row, double value)
{
	if (isfinite(value))
		row->kind = VALUE_F64;
	else
		row->kind = VALUE_NONE;
	row->f64 = value;
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

static void set_rate(const struct query *query, const struct span *span, struct query_row *row)
{
	double rate;

	if (query->agg == AGG_DEFAULT || query->agg == AGG_MEAN) {
		/* the mean of rates over true intervals is the increase over the time they cover */
		if (series_rate(span->s, span->from_ns, span->to_ns, span->gate, &rate, NULL) == 0)
			set_number(row, rate);
		return;
	}
	uint32_t begin = series_after(span->s, span->from_ns),
		 end = series_after(span->s, span->to_ns);
	rw_cleanup(freep) double *v = rw_calloc(end - begin + 1, sizeof(*v));
	size_t n = 0;
	for (uint32_t i = begin; i < end; i++) {
		int64_t from;
		if (i > 0)
			from = span->s->t_ns[i - 1];
		else
			from = span->from_ns;
		if (series_rate(span->s, from, span->s->t_ns[i], span->gate, &rate, NULL) == 0)
			v[n++] = rate;
	}
	set_number(row, cmd_query_aggregate(query->agg, v, n));
}

static void cmd_query_set_value(
	const struct query *query, const struct span *span, struct query_row *row)
{
	const struct metric_info *info = metric_info(query->metric);
	uint32_t begin = series_after(span->s, span->from_ns),
		 end = series_after(span->s, span->to_ns);
	enum agg agg = query->agg;

	if (begin == end)
		return;
	if (agg == AGG_DEFAULT) {
		if (info->kind == METRIC_GAUGE)
			agg = AGG_MEAN;
		else if (info->kind == METRIC_WATERMARK)
			agg = AGG_MAX;
		else
			agg = AGG_DEFAULT;
	}
	/* counters and states: as they stood at the end of the step */
	if (agg == AGG_DEFAULT || info->type == TYPE_TEXT) {
		uint64_t v = span->s->value[end - 1];
		if (info->type == TYPE_U64)
			row->kind = VALUE_U64;
		else if (info->type == TYPE_F64)
			row->kind = VALUE_F64;
		else
			row->kind = VALUE_TEXT;
		row->u64 = v;
		row->f64 = sample_f64(v);
		if (row->kind == VALUE_TEXT)
			row->text = entities_text_get(history_entities(query->x.history), v);
		else
			row->text = NULL;
		return;
	}
	rw_cleanup(freep) double *v = rw_calloc(end - begin, sizeof(*v));
	uint64_t max = 0;
	for (uint32_t i = begin; i < end; i++) {
		v[i - begin] = sample_number(query->metric, span->s->value[i]);
		if (span->s->value[i] > max)
			max = span->s->value[i];
	}
	if (agg == AGG_MAX && info->type == TYPE_U64) {
		row->kind = VALUE_U64; /* exact, beyond what a double holds */
		row->u64 = max;
		return;
	}
	set_number(row, cmd_query_aggregate(agg, v, end - begin));
}

/* 1.02 x line rate in bytes/s: no counter of bytes grows faster than its port; 0 = no gate. */
static double gate_of(
	const struct query *query, const struct window *window, const struct entity *entity)
{
	uint64_t bps = 0;

	if (strcmp(metric_info(query->metric)->unit, "bytes") != 0)
		return 0;
	const struct series *speed = window_series(window,
		entities_find(window->entities, entity->device, entity->port, PRIO_NONE),
		M_PORT_SPEED_BPS);
	if (series_state(speed, query->x.to_ns, INT64_MAX, &bps) < 0 && query->x.config) {
		const struct fabric_device *d =
			fabric_device(query->x.config->fabric, entity->device);
		const struct fabric_port *p = NULL;
		if (d)
			p = fabric_port(d, entity->port);
		if (p)
			bps = p->speed_bps;
		else
			bps = 0;
	}
	return 1.02 * (double)bps / 8;
}

/* Rounded down, also before 1970: recorded cases may begin at 0 and the hour before it is asked for
 * by default. */
static int64_t cmd_query_step_of(int64_t t_ns, int64_t step_ns)
{
	if (t_ns >= 0)
		return t_ns / step_ns;
	return -((-t_ns + step_ns - 1) / step_ns);
}

static int cmd_query_steps(
	struct query *query, const struct series *series, struct query_row *row, double gate)
{
	int64_t first = cmd_query_step_of(query->x.from_ns, query->step_ns),
		last = cmd_query_step_of(query->x.to_ns - 1, query->step_ns);

	for (int64_t k = first; k <= last; k++) {
		struct span p = {.s = series,
			.from_ns = k * query->step_ns,
			.to_ns = (k + 1) * query->step_ns,
			.gate = gate};
		row->t_ns = p.to_ns;
		row->kind = VALUE_NONE;
		row->flags = 0;
		for (uint32_t i = series_after(series, p.from_ns);
			i < series->n && series->t_ns[i] <= p.to_ns; i++)
			row->flags |= series->flags[i];
		if (query->rate)
			set_rate(query, &p, row);
		else
			cmd_query_set_value(query, &p, row);
		int rc = query_out_row(&query->out, row);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* --rate without --step: the rate of the interval that ends at each sample. */
static int sample_rates(
	struct query *query, const struct series *series, struct query_row *row, double gate)
{
	for (uint32_t i = series_after(series, query->x.from_ns - 1);
		i < series->n && series->t_ns[i] <= query->x.to_ns; i++) {
		double rate;
		row->t_ns = series->t_ns[i];
		row->flags = series->flags[i];
		row->kind = VALUE_NONE;
		if (i > 0 &&
			series_rate(series, series->t_ns[i - 1], series->t_ns[i], gate, &rate,
				NULL) == 0)
			set_number(row, rate);
		int rc = query_out_row(&query->out, row);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* The speeds of the ports of @ids belong to the window too: they are the gate. Returns a sorted
 * list without doubles; caller frees. */
static int id_order(const void *left, const void *right)
{
	uint32_t x = *(const uint32_t *)left, y = *(const uint32_t *)right;

	return (x > y) - (x < y);
}

static uint32_t *with_ports(
	const struct entities *entities, const uint32_t *ids, size_t n, size_t *ret_n)
{
	uint32_t *v = rw_calloc(2 * n + 1, sizeof(*v));
	size_t k = 0;

	for (size_t i = 0; i < n; i++) {
		const struct entity *e = entity_get(entities, ids[i]);
		uint32_t port = entities_find(entities, e->device, e->port, PRIO_NONE);
		v[k++] = ids[i];
		if (port != ENTITY_NONE)
			v[k++] = port;
	}
	qsort(v, k, sizeof(*v), id_order);
	*ret_n = 0;
	for (size_t i = 0; i < k; i++)
		if (*ret_n == 0 || v[*ret_n - 1] != v[i])
			v[(*ret_n)++] = v[i];
	return v;
}

static int run_windows(struct query *query, struct err *e)
{
	const uint16_t metrics[] = {query->metric, M_PORT_SPEED_BPS};
	int64_t from;
	if (query->step_ns)
		from = cmd_query_step_of(query->x.from_ns, query->step_ns) * query->step_ns;
	else
		from = query->x.from_ns - 1;
	int64_t to;
	if (query->step_ns)
		to = (cmd_query_step_of(query->x.to_ns - 1, query->step_ns) + 1) * query->step_ns;
	else
		to = query->x.to_ns;
	rw_cleanup(freep) uint32_t *ids = NULL;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct window w;
	size_t n, n_spec;
	int r = history_match(query->x.history, &query->filter, &ids, &n, e);

	if (r < 0 || n == 0)
		return r;
	rw_cleanup(freep) uint32_t *wanted =
		with_ports(history_entities(query->x.history), ids, n, &n_spec);
	struct window_spec spec = {.metrics = metrics,
		.n_metrics = rw_countof(metrics),
		.entities = wanted,
		.n_entities = n_spec};
	r = history_window(query->x.history, a, &spec, from, to, &w, e);
	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct series *s = window_series(&w, ids[i], query->metric);
		struct query_row row = {
			.entity = entity_get(w.entities, ids[i]), .metric = query->metric};
		if (!s)
			continue;
		double gate = gate_of(query, &w, row.entity);
		if (query->step_ns)
			r = cmd_query_steps(query, s, &row, gate);
		else
			r = sample_rates(query, s, &row, gate);
	}
	return r;
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
		query->x.history, sql, query_out_sql_names, query_out_sql_row, &query->out, e);

	if (r == 0)
		r = query_out_end(&query->out);
	if (r == -EIO && !*e->text)
		err_set(e, r, "the result could not be written: %s", strerror(errno ? errno : EIO));
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

/* 0, or the exit code after a message. */
static int cmd_query_read_options(const struct command_args *args, struct query *query)
{
	static const char *const aggs[] = {
		[AGG_MAX] = "max", [AGG_MEAN] = "mean", [AGG_P99] = "p99"};
	const char *priority = command_opt(&command_query, args, "priority"),
		   *step = command_opt(&command_query, args, "step");
	const char *agg = command_opt(&command_query, args, "agg");
	struct err e = {0};
	int64_t n;

	query->filter =
		(struct history_filter){.device = command_opt(&command_query, args, "device"),
			.port = command_opt(&command_query, args, "port"),
			.priority = HISTORY_ANY_PRIORITY};
	if (priority) {
		if (unit_int(priority, &n, &e) < 0 || n < 0 || n > 7)
			return usage_error(&command_query,
				"--priority: '%.64s' is not a priority; expected 0 to 7", priority);
		query->filter.priority = (int)n;
	}
	if (step && (unit_duration(step, &query->step_ns, &e) < 0 || query->step_ns <= 0))
		return usage_error(&command_query, "--step: %s",
			query->step_ns <= 0 && !*e.text ? "expected a duration above zero"
							: e.text);
	if (agg) {
		for (unsigned i = AGG_MAX; i < rw_countof(aggs); i++)
			if (str_eq(agg, aggs[i]))
				query->agg = (enum agg)i;
		if (query->agg == AGG_DEFAULT)
			return usage_error(&command_query,
				"--agg: unknown '%.64s'; expected max, mean or p99", agg);
		if (!step)
			return usage_error(&command_query,
				"--agg says how the values of one step are joined: add --step, "
				"e.g. --step 1m");
	}
	query->rate = command_opt(&command_query, args, "rate") != NULL;
	return 0;
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

/* Steps begin with the database at the earliest: what lies before it is no gap. */
static int cmd_query_clip(struct query *query, struct err *e)
{
	int64_t first, last;
	int r = history_range(query->x.history, &first, &last, e);

	if (r == 0 && query->x.from_ns < first - 1 && first - 1 < query->x.to_ns)
		query->x.from_ns = first - 1;
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
	query->filter.from_ns = query->x.from_ns;
	query->filter.to_ns = query->x.to_ns;
	if (query->step_ns && (query->x.to_ns - query->x.from_ns) / query->step_ns > STEPS_MAX)
		return err_set(e, -EINVAL,
			"--step is so short that each series has more than %d rows; a longer step "
			"or a shorter stretch of time is needed",
			STEPS_MAX);
	query_out_begin(&query->out);
	if (query->rate || query->step_ns)
		r = run_windows(query, e);
	else
		r = history_each_sample(query->x.history, &query->filter, raw_row, query, e);
	if (r == 0)
		r = query_out_end(&query->out);
	if (r == -EIO && !*e->text)
		err_set(e, r, "the result could not be written: %s", strerror(errno ? errno : EIO));
	return r;
}

static int cmd_query_run(struct command_args *args)
{
	struct query q = {.out = {.format = args->g->format, .header = !args->g->no_header}};
	struct err e = {0};
	bool sql = args->argc > 0 && str_eq(args->argv[0], "sql");

	if (command_opt(&command_query, args, "list")) {
		if (args->argc > 0)
			return usage_error(&command_query, "--list takes no metric");
		return cmd_query_run_list(args);
	}
	if (args->argc == 0)
		return usage_error(
			&command_query, "missing metric; 'rocewatch query --list' lists them");
	if (args->argc != (sql ? 2 : 1))
		return usage_error(&command_query,
			sql ? "sql: expected one statement, in quotes"
			    : "unexpected argument '%.64s'; a query takes one metric",
			args->argv[args->argc - 1]);
	if (q.out.format == FORMAT_HTML || q.out.format == FORMAT_MD)
		return usage_error(&command_query, "--format: expected table, csv, json or jsonl");
	int rc = cmd_query_read_options(args, &q);
	if (rc == 0 && !sql)
		rc = read_metric(args, &q);
	if (rc != 0)
		return rc;
	int r = client_open_data(&q.x, args->g, DEFAULT_SPAN_NS, &e);
	if (r == 0) {
		if (sql)
			r = run_sql(&q, args->argv[1], &e);
		else
			r = run_metric(&q, &e);
		client_done(&q.x);
		if (r < 0 && sql)
			/* a wrong statement is a failed run, whatever was wrong with it */
			r = -EIO;
	}
	if (r < 0)
		err_print(stderr, &e);
	if (r == 0)
		return EXIT_OK;
	if (r == -EINVAL)
		return EXIT_USAGE;
	return EXIT_FAILED;
}

const struct command command_query = {
	.name = "query",
	.args = "METRIC | --list | sql \"SELECT ...\"",
	.summary = "history as rows: samples, rates, steps, or SQL on the documented views",
	.help = "The last hour, unless --since, --until or --around says otherwise. Without --step "
		"there is one row per stored sample; with it one row per "
		"series and step, its time being the end of the step, and a step without data is a "
		"gap: null in JSON, empty in csv. In a step a gauge is its mean, a "
		"watermark its maximum, a counter or a state its last value; with --rate a counter "
		"is its increase per second of the time that is covered. "
		"Restarts and gaps never make a spike.\n\nsql reads the views samples, rates, "
		"ports, links, devices, incidents, findings, recommendations, "
		"config_history, flows and events; nothing can be written.",
	.options = options,
	.usage_exit = EXIT_USAGE,
	.run = cmd_query_run,
};
