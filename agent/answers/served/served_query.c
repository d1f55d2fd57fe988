/* served_query - history of one metric as rows, and the list of metrics. */

#include "agent/answers/query/query.h"
#include "agent/answers/common/served.h"

#define QUERY_SPAN_NS (3600 * NS_PER_S)
#define QUERY_ROWS_MAX 100000 /* about 15 MB of JSON */

static int served_query_print(
	struct client *client, const struct served_ask *ask, FILE *file, struct err *e)
{
	const struct query_ask asked = {.metric = served_get(ask, "metric"),
		.device = served_get(ask, "device"),
		.port = served_get(ask, "port"),
		.priority = served_get(ask, "priority"),
		.step = served_get(ask, "step"),
		.agg = served_get(ask, "agg"),
		.by = served_get(ask, "by"),
		.join = served_get(ask, "join"),
		.top = served_get(ask, "top"),
		.rate = served_flag(ask, "rate")};
	struct query_out out = {.format = FORMAT_JSON, .file = file, .rows_max = QUERY_ROWS_MAX};
	return query_run(client, &asked, &out, e);
}

static int served_query_make(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	rw_cleanup(freep) char *text = NULL;
	size_t n = 0;
	FILE *out = open_memstream(&text, &n);
	if (!out)
		return -ENOMEM;
	const int rc = served_query_print(client, ask, out, e);
	fclose(out);
	if (rc < 0)
		return rc;
	/* Counters above 2^63 fit no JSON integer here. */
	*ret = json_loadb(text, n, 0, NULL);
	if (!*ret)
		*ret = json_loadb(text, n, JSON_DECODE_INT_AS_REAL, NULL);
	if (*ret)
		return 0;
	return err_set(e, -EIO, "the rows cannot be read as JSON");
}

static int served_query_list(
	struct client *client, const struct served_ask *ask, json_t **ret, struct err *e)
{
	*ret = query_list_json();
	return 0;
}

static const struct served_param query_params[] = {
	{"metric", "names or globs of metrics, with commas; query/list names them", true},
	{"device", "only devices whose name matches, a glob", false},
	{"port", "only ports whose name or alias matches, a glob", false},
	{"priority", "only this priority, 0 to 7", false},
	{"rate", "flag: counters as rate per second; an interval with a restart is a gap", false},
	{"step", "one row per step, such as 1m, aligned to multiples of it", false},
	{"agg",
		"what a step (without one: the whole range) becomes: mean, min, max, p50, p95, "
		"p99, increase, first, last, count or coverage",
		false},
	{"by", "lines: port, device, priority, host, job, role, rail or fabric", false},
	{"join", "with by: how several become one: sum, mean, min, max or count", false},
	{"top", "only so many lines, those with the greatest values", false},
	{0},
};

static const struct served_document rows[] = {
	{.path = "query",
		.summary =
			"History of one metric as rows: samples, rates or steps; at most 100,000.",
		.params = query_params,
		.span_ns = QUERY_SPAN_NS,
		.make = served_query_make,
		.print = served_query_print},
	{.path = "query/list",
		.summary = "All metrics with their unit and meaning.",
		.span_ns = QUERY_SPAN_NS,
		.make = served_query_list},
};

const struct served_group served_query = {.rows = rows, .n_rows = rw_countof(rows)};
