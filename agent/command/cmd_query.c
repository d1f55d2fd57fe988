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
#include "agent/base/str.h"
#include "agent/command/query_out.h"
#include "config/config.h"
#include "db/model/metric.h"
#include "db/series/series.h"

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
	struct series_filter filter;
	uint16_t metric;
	bool rate;
	int64_t step_ns; /* 0 = one row per sample */
	enum agg agg;
};

static int raw_row(void *arg, const struct sample *s)
{
	struct query *q = arg;
	const struct metric_info *info = metric_info(s->metric);
	struct entities *entities = series_db_entities(q->x.db);
	struct query_row r = {.t_ns = s->t_ns,
		.entity = entity_get(entities, s->entity),
		.metric = s->metric,
		.flags = s->flags};

	if (!r.entity)
		return 0;
	switch (info->type) {
	case TYPE_U64:
		r.kind = VALUE_U64;
		r.u64 = s->value;
		break;
	case TYPE_F64:
		r.kind = isfinite(sample_f64(s->value)) ? VALUE_F64 : VALUE_NONE;
		r.f64 = sample_f64(s->value);
		break;
	case TYPE_TEXT:
		r.kind = VALUE_TEXT;
		r.text = entities_text_get(entities, s->value);
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

static void set_number(struct query_row *r, double v)
{
	r->kind = isfinite(v) ? VALUE_F64 : VALUE_NONE;
	r->f64 = v;
}

static double aggregate(enum agg agg, double *v, size_t n)
{
	double sum = 0, max = -INFINITY;

	if (agg == AGG_P99)
		return quantile_of(v, n, 0.99);
	for (size_t i = 0; i < n; i++) {
		sum += v[i];
		max = v[i] > max ? v[i] : max;
	}
	return n == 0 ? NAN : agg == AGG_MAX ? max : sum / (double)n;
}

static void set_rate(const struct query *q, const struct span *p, struct query_row *r)
{
	double rate;

	if (q->agg == AGG_DEFAULT || q->agg == AGG_MEAN) {
		/* the mean of rates over true intervals is the increase over the time they cover */
		if (series_rate(p->s, p->from_ns, p->to_ns, p->gate, &rate, NULL) == 0)
			set_number(r, rate);
		return;
	}
	uint32_t begin = series_after(p->s, p->from_ns), end = series_after(p->s, p->to_ns);
	rw_cleanup(freep) double *v = rw_calloc(end - begin + 1, sizeof(*v));
	size_t n = 0;
	for (uint32_t i = begin; i < end; i++) {
		int64_t from = i > 0 ? p->s->t_ns[i - 1] : p->from_ns;
		if (series_rate(p->s, from, p->s->t_ns[i], p->gate, &rate, NULL) == 0)
			v[n++] = rate;
	}
	set_number(r, aggregate(q->agg, v, n));
}

static void set_value(const struct query *q, const struct span *p, struct query_row *r)
{
	const struct metric_info *info = metric_info(q->metric);
	uint32_t begin = series_after(p->s, p->from_ns), end = series_after(p->s, p->to_ns);
	enum agg agg = q->agg;

	if (begin == end)
		return;
	if (agg == AGG_DEFAULT)
		agg = info->kind == METRIC_GAUGE         ? AGG_MEAN
			: info->kind == METRIC_WATERMARK ? AGG_MAX
							 : AGG_DEFAULT;
	/* counters and states: as they stood at the end of the step */
	if (agg == AGG_DEFAULT || info->type == TYPE_TEXT) {
		uint64_t v = p->s->value[end - 1];
		r->kind = info->type == TYPE_U64 ? VALUE_U64
			: info->type == TYPE_F64 ? VALUE_F64
						 : VALUE_TEXT;
		r->u64 = v;
		r->f64 = sample_f64(v);
		r->text = r->kind == VALUE_TEXT ? entities_text_get(series_db_entities(q->x.db), v)
						: NULL;
		return;
	}
	rw_cleanup(freep) double *v = rw_calloc(end - begin, sizeof(*v));
	uint64_t max = 0;
	for (uint32_t i = begin; i < end; i++) {
		v[i - begin] = sample_number(q->metric, p->s->value[i]);
		max = p->s->value[i] > max ? p->s->value[i] : max;
	}
	if (agg == AGG_MAX && info->type == TYPE_U64) {
		r->kind = VALUE_U64; /* exact, beyond what a double holds */
		r->u64 = max;
		return;
	}
	set_number(r, aggregate(agg, v, end - begin));
}

/* 1.02 x line rate in bytes/s: no counter of bytes grows faster than its port; 0 = no gate. */
static double gate_of(const struct query *q, const struct window *w, const struct entity *e)
{
	uint64_t bps = 0;

	if (strcmp(metric_info(q->metric)->unit, "bytes") != 0)
		return 0;
	const struct series *speed = window_series(
		w, entities_find(w->entities, e->device, e->port, PRIO_NONE), M_PORT_SPEED_BPS);
	if (series_state(speed, q->x.to_ns, INT64_MAX, &bps) < 0 && q->x.config) {
		const struct fabric_device *d = fabric_device(q->x.config->fabric, e->device);
		const struct fabric_port *p = d ? fabric_port(d, e->port) : NULL;
		bps = p ? p->speed_bps : 0;
	}
	return 1.02 * (double)bps / 8;
}

/* Rounded down, also before 1970: recorded cases may begin at 0 and the hour before it is asked for
 * by default. */
static int64_t step_of(int64_t t_ns, int64_t step_ns)
{
	return t_ns >= 0 ? t_ns / step_ns : -((-t_ns + step_ns - 1) / step_ns);
}

static int steps(struct query *q, const struct series *s, struct query_row *r, double gate)
{
	int64_t first = step_of(q->x.from_ns, q->step_ns),
		last = step_of(q->x.to_ns - 1, q->step_ns);

	for (int64_t k = first; k <= last; k++) {
		struct span p = {.s = s,
			.from_ns = k * q->step_ns,
			.to_ns = (k + 1) * q->step_ns,
			.gate = gate};
		r->t_ns = p.to_ns;
		r->kind = VALUE_NONE;
		r->flags = 0;
		for (uint32_t i = series_after(s, p.from_ns); i < s->n && s->t_ns[i] <= p.to_ns;
			i++)
			r->flags |= s->flags[i];
		if (q->rate)
			set_rate(q, &p, r);
		else
			set_value(q, &p, r);
		int rc = query_out_row(&q->out, r);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* --rate without --step: the rate of the interval that ends at each sample. */
static int sample_rates(struct query *q, const struct series *s, struct query_row *r, double gate)
{
	for (uint32_t i = series_after(s, q->x.from_ns - 1); i < s->n && s->t_ns[i] <= q->x.to_ns;
		i++) {
		double rate;
		r->t_ns = s->t_ns[i];
		r->flags = s->flags[i];
		r->kind = VALUE_NONE;
		if (i > 0 && series_rate(s, s->t_ns[i - 1], s->t_ns[i], gate, &rate, NULL) == 0)
			set_number(r, rate);
		int rc = query_out_row(&q->out, r);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* The speeds of the ports of @ids belong to the window too: they are the gate. Returns a sorted
 * list without doubles; caller frees. */
static int id_order(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

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

static int run_windows(struct query *q, struct err *e)
{
	const uint16_t metrics[] = {q->metric, M_PORT_SPEED_BPS};
	int64_t from =
		q->step_ns ? step_of(q->x.from_ns, q->step_ns) * q->step_ns : q->x.from_ns - 1;
	int64_t to =
		q->step_ns ? (step_of(q->x.to_ns - 1, q->step_ns) + 1) * q->step_ns : q->x.to_ns;
	rw_cleanup(freep) uint32_t *ids = NULL;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct window w;
	size_t n, n_spec;
	int r = series_db_match(q->x.db, &q->filter, &ids, &n, e);

	if (r < 0 || n == 0)
		return r;
	rw_cleanup(freep) uint32_t *wanted =
		with_ports(series_db_entities(q->x.db), ids, n, &n_spec);
	struct window_spec spec = {.metrics = metrics,
		.n_metrics = rw_countof(metrics),
		.entities = wanted,
		.n_entities = n_spec};
	r = window_from_db(q->x.db, a, &spec, from, to, &w, e);
	for (size_t i = 0; r == 0 && i < n; i++) {
		const struct series *s = window_series(&w, ids[i], q->metric);
		struct query_row row = {
			.entity = entity_get(w.entities, ids[i]), .metric = q->metric};
		if (!s)
			continue;
		double gate = gate_of(q, &w, row.entity);
		r = q->step_ns ? steps(q, s, &row, gate) : sample_rates(q, s, &row, gate);
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

static int run_list(const struct command_args *a)
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
	int r = report_print(stdout, doc, &list_view, a->g->format, !a->g->no_header,
		a->g->color == COLOR_ALWAYS);
	json_decref(doc);
	return r < 0 ? EXIT_FAILED : EXIT_OK;
}

static int run_sql(struct query *q, const char *sql, struct err *e)
{
	int r = series_db_sql_named(
		q->x.db, sql, query_out_sql_names, query_out_sql_row, &q->out, e);

	if (r == 0)
		r = query_out_end(&q->out);
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
static int read_options(const struct command_args *a, struct query *q)
{
	static const char *const aggs[] = {
		[AGG_MAX] = "max", [AGG_MEAN] = "mean", [AGG_P99] = "p99"};
	const char *priority = command_opt(&command_query, a, "priority"),
		   *step = command_opt(&command_query, a, "step");
	const char *agg = command_opt(&command_query, a, "agg");
	struct err e = {0};
	int64_t n;

	q->filter = (struct series_filter){.device = command_opt(&command_query, a, "device"),
		.port = command_opt(&command_query, a, "port"),
		.priority = -2};
	if (priority) {
		if (unit_int(priority, &n, &e) < 0 || n < 0 || n > 7)
			return usage_error(&command_query,
				"--priority: read '%.64s', expected 0 to 7", priority);
		q->filter.priority = (int)n;
	}
	if (step && (unit_duration(step, &q->step_ns, &e) < 0 || q->step_ns <= 0))
		return usage_error(&command_query, "--step: %s",
			q->step_ns <= 0 && !*e.text ? "expected a duration above zero" : e.text);
	if (agg) {
		for (unsigned i = AGG_MAX; i < rw_countof(aggs); i++)
			if (str_eq(agg, aggs[i]))
				q->agg = (enum agg)i;
		if (q->agg == AGG_DEFAULT)
			return usage_error(&command_query,
				"--agg: read '%.64s', expected max, mean or p99", agg);
		if (!step)
			return usage_error(&command_query,
				"--agg says how the values of one step are joined: add --step, "
				"e.g. --step 1m");
	}
	q->rate = command_opt(&command_query, a, "rate") != NULL;
	return 0;
}

static int read_metric(const struct command_args *a, struct query *q)
{
	int m = metric_by_name(a->argv[0]);

	if (m < 0)
		return unknown_metric(a->argv[0]);
	const struct metric_info *info = metric_info((unsigned)m);
	if (q->rate && info->kind != METRIC_COUNTER)
		return usage_error(&command_query, "--rate is for counters; %s is a %s", info->name,
			metric_kind_name(info->kind));
	if (q->agg != AGG_DEFAULT && info->type == TYPE_TEXT)
		return usage_error(&command_query, "--agg is for numbers; %s is text", info->name);
	q->metric = (uint16_t)m;
	q->filter.metrics = &q->metric;
	q->filter.n_metrics = 1;
	return 0;
}

/* Steps begin with the database at the earliest: what lies before it is no gap. */
static int clip(struct query *q, struct err *e)
{
	int64_t first, last;
	int r = series_db_range(q->x.db, &first, &last, e);

	if (r == 0 && q->x.from_ns < first - 1 && first - 1 < q->x.to_ns)
		q->x.from_ns = first - 1;
	return r == -ENODATA ? 0 : r;
}

static int run_metric(struct query *q, struct err *e)
{
	int r = q->step_ns ? clip(q, e) : 0;

	if (r < 0)
		return r;
	q->filter.from_ns = q->x.from_ns;
	q->filter.to_ns = q->x.to_ns;
	if (q->step_ns && (q->x.to_ns - q->x.from_ns) / q->step_ns > STEPS_MAX)
		return err_set(e, -EINVAL,
			"--step is so short that each series has more than %d rows; a longer step "
			"or a shorter stretch of time is needed",
			STEPS_MAX);
	query_out_begin(&q->out);
	r = q->rate || q->step_ns ? run_windows(q, e)
				  : series_db_each(q->x.db, &q->filter, raw_row, q, e);
	if (r == 0)
		r = query_out_end(&q->out);
	if (r == -EIO && !*e->text)
		err_set(e, r, "the result could not be written: %s", strerror(errno ? errno : EIO));
	return r;
}

static int run(struct command_args *a)
{
	struct query q = {.out = {.format = a->g->format, .header = !a->g->no_header}};
	struct err e = {0};
	bool sql = a->argc > 0 && str_eq(a->argv[0], "sql");

	if (command_opt(&command_query, a, "list"))
		return a->argc > 0 ? usage_error(&command_query, "--list takes no metric")
				   : run_list(a);
	if (a->argc == 0)
		return usage_error(
			&command_query, "expected a metric; 'rocewatch query --list' names them");
	if (a->argc != (sql ? 2 : 1))
		return usage_error(&command_query,
			sql ? "sql: expected one statement, in quotes"
			    : "read '%.64s', expected one metric",
			a->argv[a->argc - 1]);
	if (q.out.format == FORMAT_HTML || q.out.format == FORMAT_MD)
		return usage_error(&command_query, "--format: expected table, csv, json or jsonl");
	int rc = read_options(a, &q);
	if (rc == 0 && !sql)
		rc = read_metric(a, &q);
	if (rc != 0)
		return rc;
	int r = client_open_data(&q.x, a->g, DEFAULT_SPAN_NS, &e);
	if (r == 0) {
		r = sql ? run_sql(&q, a->argv[1], &e) : run_metric(&q, &e);
		client_done(&q.x);
		if (r < 0 && sql)
			/* a wrong statement is a failed run, whatever was wrong with it */
			r = -EIO;
	}
	if (r < 0)
		err_print(stderr, &e);
	return r == 0 ? EXIT_OK : r == -EINVAL ? EXIT_USAGE : EXIT_FAILED;
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
	.run = run,
};
