/* query - reads the history of one metric and writes it as rows. */
#include "agent/reports/query.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/stats.h"
#include "agent/base/str.h"
#include "agent/client/client.h"
#include "config/config.h"
#include "db/model/metric.h"
#include "db/series/history.h"

#define STEPS_MAX 1000000

enum agg { AGG_DEFAULT, AGG_MAX, AGG_MEAN, AGG_P99 };

struct query {
	struct client *client;
	struct query_out *out;
	int64_t from_ns, to_ns; /* the client's range, clipped */
	struct history_filter filter;
	uint16_t metric;
	bool rate;
	int64_t step_ns; /* 0 = one row per sample */
	enum agg agg;
};

static void query_set_number(struct query_row *row, double value)
{
	row->kind = VALUE_NONE;
	if (isfinite(value))
		row->kind = VALUE_F64;
	row->f64 = value;
}

/* query_set_stored - the value as it is stored: a number of the metric's type, or the id of a text.
 */
static void query_set_stored(
	const struct query *query, uint16_t metric, uint64_t value, struct query_row *row)
{
	switch (metric_info(metric)->type) {
	case TYPE_U64:
		row->kind = VALUE_U64;
		row->u64 = value;
		break;
	case TYPE_F64: query_set_number(row, sample_f64(value)); break;
	case TYPE_TEXT:
		row->kind = VALUE_TEXT;
		row->text = entities_text_get(history_entities(query->client->history), value);
		break;
	}
}

static int query_raw_row(void *arg, const struct sample *sample)
{
	struct query *query = arg;
	const struct entities *entities = history_entities(query->client->history);
	struct query_row row = {.t_ns = sample->t_ns,
		.entity = entity_get(entities, sample->entity),
		.metric = sample->metric,
		.flags = sample->flags};
	if (!row.entity)
		return 0;
	query_set_stored(query, sample->metric, sample->value, &row);
	return query_out_row(query->out, &row);
}

/* One series in (from, to]. */
struct query_span {
	const struct series *series;
	int64_t from_ns, to_ns;
	uint32_t begin, end; /* its samples */
	double bound_per_s; /* what a counter can grow by; 0 = unknown */
};

static struct query_span query_span_of(
	const struct series *series, int64_t from_ns, int64_t to_ns, double bound_per_s)
{
	return (struct query_span){.series = series,
		.from_ns = from_ns,
		.to_ns = to_ns,
		.begin = series_after(series, from_ns),
		.end = series_after(series, to_ns),
		.bound_per_s = bound_per_s};
}

static double query_aggregate(enum agg agg, double *values, size_t n)
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

static void query_set_rate(
	const struct query *query, const struct query_span *span, struct query_row *row)
{
	const struct series *series = span->series;
	double rate;
	/* The mean of rates, each weighed by its time, is the increase over the time they cover. */
	if (query->agg == AGG_DEFAULT || query->agg == AGG_MEAN) {
		if (series_rate(series, span->from_ns, span->to_ns, span->bound_per_s, &rate,
			    NULL) == 0)
			query_set_number(row, rate);
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
	query_set_number(row, query_aggregate(query->agg, rates, n));
}

/* query_usual_agg - how the values of a step become one when --agg does not say: a gauge's mean, a
 * watermark's maximum, else AGG_DEFAULT, the last value. */
static enum agg query_usual_agg(const struct metric_info *info)
{
	if (info->kind == METRIC_GAUGE)
		return AGG_MEAN;
	if (info->kind == METRIC_WATERMARK)
		return AGG_MAX;
	return AGG_DEFAULT;
}

static void query_set_value(
	const struct query *query, const struct query_span *span, struct query_row *row)
{
	const struct metric_info *info = metric_info(query->metric);
	const uint64_t *values = span->series->value;
	const size_t n = span->end - span->begin;
	enum agg agg = query->agg;
	if (n == 0)
		return;
	if (agg == AGG_DEFAULT)
		agg = query_usual_agg(info);
	if (agg == AGG_DEFAULT || info->type == TYPE_TEXT) {
		query_set_stored(query, query->metric, values[span->end - 1], row);
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
		query_set_stored(query, query->metric, max, row); /* exact; a double is not */
	else
		query_set_number(row, query_aggregate(agg, numbers, n));
}

/* query_speed_of - of the port, bit/s: measured, else configured, else 0. */
static uint64_t query_speed_of(
	const struct query *query, const struct window *window, const struct entity *entity)
{
	uint64_t bps = 0;
	const uint32_t port =
		entities_find(window->entities, entity->device, entity->port, PRIO_NONE);
	const struct series *speed = window_series(window, port, M_PORT_SPEED_BPS);
	if (series_state(speed, query->to_ns, INT64_MAX, &bps) == 0 || !query->client->config)
		return bps;
	const struct fabric_device *device =
		fabric_device(query->client->config->fabric, entity->device);
	if (!device)
		return 0;
	const struct fabric_port *configured = fabric_port(device, entity->port);
	if (!configured)
		return 0;
	return configured->speed_bps;
}

/* query_bound_of - what a counter of bytes can grow by in a second: the port's line rate, with 2 %
 * for clocks that differ. 0 = no bound. */
static double query_bound_of(
	const struct query *query, const struct window *window, const struct entity *entity)
{
	if (strcmp(metric_info(query->metric)->unit, "bytes") != 0)
		return 0;
	return 1.02 * (double)query_speed_of(query, window, entity) / 8;
}

/* query_step_of - the number of the step that holds @t_ns. Rounded down, also before 1970: a
 * recorded case may begin at 0, and the hour before it is the default range. */
static int64_t query_step_of(int64_t t_ns, int64_t step_ns)
{
	if (t_ns >= 0)
		return t_ns / step_ns;
	return -((-t_ns + step_ns - 1) / step_ns);
}

static int query_steps(
	struct query *query, const struct series *series, struct query_row *row, double bound_per_s)
{
	const int64_t step_ns = query->step_ns;
	const int64_t first = query_step_of(query->from_ns, step_ns);
	const int64_t last = query_step_of(query->to_ns - 1, step_ns);
	for (int64_t k = first; k <= last; k++) {
		const struct query_span span =
			query_span_of(series, k * step_ns, (k + 1) * step_ns, bound_per_s);
		row->t_ns = span.to_ns;
		row->kind = VALUE_NONE;
		row->flags = 0;
		for (uint32_t i = span.begin; i < span.end; i++)
			row->flags |= series->flags[i];
		if (query->rate)
			query_set_rate(query, &span, row);
		else
			query_set_value(query, &span, row);
		int rc = query_out_row(query->out, row);
		if (rc < 0)
			return rc;
	}
	return 0;
}

/* query_sample_rates - --rate without --step: the rate of the interval that ends at each sample. */
static int query_sample_rates(
	struct query *query, const struct series *series, struct query_row *row, double bound_per_s)
{
	const int64_t *t_ns = series->t_ns;
	const int64_t to_ns = query->to_ns;
	for (uint32_t i = series_after(series, query->from_ns - 1);
		i < series->n && t_ns[i] <= to_ns; i++) {
		double rate = NAN;
		row->t_ns = t_ns[i];
		row->flags = series->flags[i];
		if (i > 0 &&
			series_rate(series, t_ns[i - 1], t_ns[i], bound_per_s, &rate, NULL) < 0)
			rate = NAN;
		query_set_number(row, rate);
		int rc = query_out_row(query->out, row);
		if (rc < 0)
			return rc;
	}
	return 0;
}

static int query_id_order(const void *left, const void *right)
{
	const uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
	return (a > b) - (a < b);
}

/* query_with_ports - @ids and their ports, whose speeds bound the counters: sorted, each once. The
 * caller frees. */
static uint32_t *query_with_ports(
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
	qsort(wanted, n_wanted, sizeof(*wanted), query_id_order);
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
	*ret_from_ns = query->from_ns - 1;
	*ret_to_ns = query->to_ns;
	if (!step_ns)
		return;
	*ret_from_ns = query_step_of(query->from_ns, step_ns) * step_ns;
	*ret_to_ns = (query_step_of(query->to_ns - 1, step_ns) + 1) * step_ns;
}

static int query_run_windows(struct query *query, struct err *e)
{
	const uint16_t metrics[] = {query->metric, M_PORT_SPEED_BPS};
	struct history *history = query->client->history;
	rw_cleanup(freep) uint32_t *ids = NULL;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct window window;
	int64_t from_ns, to_ns;
	size_t n, n_wanted;
	int rc = history_match(history, &query->filter, &ids, &n, e);
	if (rc < 0 || n == 0)
		return rc;
	rw_cleanup(freep) uint32_t *wanted =
		query_with_ports(history_entities(history), ids, n, &n_wanted);
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
		const double bound = query_bound_of(query, &window, row.entity);
		if (query->step_ns)
			rc = query_steps(query, series, &row, bound);
		else
			rc = query_sample_rates(query, series, &row, bound);
	}
	return rc;
}

/* ---- what is asked for --------------------------------------------------- */

static int query_unknown_metric(const char *name, struct err *e)
{
	const char *names[METRIC_COUNT];

	for (unsigned m = 0; m < METRIC_COUNT; m++)
		names[m] = metric_info(m)->name;
	const char *near = str_nearest(name, names, METRIC_COUNT);
	if (near)
		return err_set(e, -EINVAL, "there is no metric '%.64s'; perhaps '%s'", name, near);
	return err_set(e, -EINVAL,
		"there is no metric '%.64s'; 'rocewatch query --list' names them", name);
}

static int query_read_agg(const char *text, enum agg *ret, struct err *e)
{
	static const char *const names[] = {
		[AGG_MAX] = "max", [AGG_MEAN] = "mean", [AGG_P99] = "p99"};
	for (unsigned i = AGG_MAX; i < rw_countof(names); i++) {
		if (!str_eq(text, names[i]))
			continue;
		*ret = (enum agg)i;
		return 0;
	}
	return err_set(e, -EINVAL, "--agg: unknown '%.64s'; expected max, mean or p99", text);
}

static int query_read_step(const char *text, int64_t *ret_ns, struct err *e)
{
	struct err why = {0};
	if (unit_duration(text, ret_ns, &why) < 0)
		return err_set(e, -EINVAL, "--step: %s", why.text);
	if (*ret_ns <= 0)
		return err_set(e, -EINVAL, "--step: expected a duration above zero");
	return 0;
}

static int query_read_options(const struct query_ask *ask, struct query *query, struct err *e)
{
	int64_t n;
	int rc = 0;
	query->filter = (struct history_filter){
		.device = ask->device, .port = ask->port, .priority = HISTORY_ANY_PRIORITY};
	query->rate = ask->rate;
	if (ask->priority) {
		if (unit_int(ask->priority, &n, NULL) < 0 || n < 0 || n > 7)
			return err_set(e, -EINVAL,
				"--priority: '%.64s' is not a priority; expected 0 to 7",
				ask->priority);
		query->filter.priority = (int)n;
	}
	if (ask->step)
		rc = query_read_step(ask->step, &query->step_ns, e);
	if (rc == 0 && ask->agg)
		rc = query_read_agg(ask->agg, &query->agg, e);
	if (rc == 0 && ask->agg && !ask->step)
		return err_set(e, -EINVAL,
			"--agg says how the values of one step become one value: add --step, e.g. "
			"--step 1m");
	return rc;
}

static int query_read_metric(const struct query_ask *ask, struct query *query, struct err *e)
{
	int m = metric_by_name(ask->metric);

	if (m < 0)
		return query_unknown_metric(ask->metric, e);
	const struct metric_info *info = metric_info((unsigned)m);
	if (query->rate && info->kind != METRIC_COUNTER)
		return err_set(e, -EINVAL, "--rate is for counters; %s is a %s", info->name,
			metric_kind_name(info->kind));
	if (query->agg != AGG_DEFAULT && info->type == TYPE_TEXT)
		return err_set(e, -EINVAL, "--agg is for numbers; %s is text", info->name);
	query->metric = (uint16_t)m;
	query->filter.metrics = &query->metric;
	query->filter.n_metrics = 1;
	return 0;
}

/* Where @query stays: its filter points into it. */
static int query_read(const struct query_ask *ask, struct query *query, struct err *e)
{
	const int rc = query_read_options(ask, query, e);
	if (rc < 0)
		return rc;
	return query_read_metric(ask, query, e);
}

/* ---- running ------------------------------------------------------------- */

/* query_clip - steps begin with the first sample of the database: the time before is no gap. */
static int query_clip(struct query *query, struct err *e)
{
	int64_t first, last;
	int r = history_range(query->client->history, &first, &last, e);

	if (r == 0 && query->from_ns < first - 1 && first - 1 < query->to_ns)
		query->from_ns = first - 1;
	if (r == -ENODATA)
		return 0;
	return r;
}

static int query_metric_rows(struct query *query, struct err *e)
{
	int r = 0;
	if (query->step_ns)
		r = query_clip(query, e);

	if (r < 0)
		return r;
	query->filter.from_ns = query->from_ns;
	query->filter.to_ns = query->to_ns;
	if (query->step_ns && (query->to_ns - query->from_ns) / query->step_ns > STEPS_MAX)
		return err_set(e, -EINVAL,
			"--step is too short: each series would have more than %d rows; use a "
			"longer step or a shorter time range",
			STEPS_MAX);
	query_out_begin(query->out);
	if (query->rate || query->step_ns)
		r = query_run_windows(query, e);
	else
		r = history_each_sample(
			query->client->history, &query->filter, query_raw_row, query, e);
	if (r == 0)
		r = query_out_end(query->out);
	return r;
}

int query_check(const struct query_ask *ask, struct err *e)
{
	struct query query = {0};
	return query_read(ask, &query, e);
}

int query_run(
	struct client *client, const struct query_ask *ask, struct query_out *out, struct err *e)
{
	struct query query = {
		.client = client, .out = out, .from_ns = client->from_ns, .to_ns = client->to_ns};
	int rc = query_read(ask, &query, e);
	if (rc == 0)
		rc = query_metric_rows(&query, e);
	if (rc == -E2BIG)
		return err_set(e, -EINVAL,
			"more than %llu rows; give a step (a longer one), a shorter time range, or "
			"fewer devices and ports",
			(unsigned long long)out->rows_max);
	return rc;
}

json_t *query_list_json(void)
{
	json_t *v = json_array();

	for (unsigned m = 0; m < METRIC_COUNT; m++) {
		const struct metric_info *i = metric_info(m);
		json_array_append_new(v,
			json_pack("{s:s, s:s, s:s, s:s, s:s}", "metric", i->name, "unit", i->unit,
				"kind", metric_kind_name(i->kind), "scope",
				metric_scope_name(i->scope), "description", i->help));
	}
	return json_pack("{s:o}", "metrics", v);
}
