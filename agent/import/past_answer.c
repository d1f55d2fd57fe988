/*
 * past_answer - what Prometheus' HTTP API (prometheus.io/docs/prometheus/latest/querying/api,
 * "Instant queries" with a range selector: a matrix of raw samples) and VictoriaMetrics' export
 * (docs.victoriametrics.com, "How to export data in JSON line format") answer. A server may be
 * anybody's: every type is looked at, and an answer that is half understood is refused whole.
 */
#include "agent/import/past_internal.h"

#include "agent/document/json_value.h"

#define TIME_MOST_MS 9e12 /* the year 2255: nanoseconds have 63 bits */

enum { STATUS, DATA, WARNINGS, PARTIAL, COMPLAINT, ANSWER_MEMBERS };
static const char *const answer_names[] = {[STATUS] = "status",
	[DATA] = "data",
	[WARNINGS] = "warnings",
	[PARTIAL] = "isPartial",
	[COMPLAINT] = "error"};
enum { RESULT_TYPE, RESULT, DATA_MEMBERS };
static const char *const data_names[] = {[RESULT_TYPE] = "resultType", [RESULT] = "result"};
enum { METRIC, VALUES, TIMES, HISTOGRAMS, SERIES_MEMBERS };
static const char *const series_names[] = {[METRIC] = "metric",
	[VALUES] = "values",
	[TIMES] = "timestamps",
	[HISTOGRAMS] = "histograms"};

void past_members(json_t *object, const char *const *names, json_t **ret, size_t n)
{
	const char *key;
	json_t *value;
	memset(ret, 0, n * sizeof(*ret));
	json_object_foreach (object, key, value)
		for (size_t i = 0; i < n; i++)
			if (strcmp(key, names[i]) == 0)
				ret[i] = value;
}

static int answer_wrong(struct err *e, const char *expected)
{
	return err_set(e, -EBADMSG, "the answer is not what was asked for: %s", expected);
}

static int answer_labels(json_t *metric, struct past_series *ret, struct err *e)
{
	const char *key;
	json_t *value;
	ret->n_labels = 0;
	if (!json_is_object(metric))
		return answer_wrong(e, "a series has no labels");
	json_object_foreach (metric, key, value) {
		if (!json_is_string(value))
			return answer_wrong(e, "a label is no text");
		if (ret->n_labels == PAST_LABELS_MAX)
			return answer_wrong(e, "a series has more than 64 labels");
		ret->labels[ret->n_labels++] = (struct push_label){.key = key,
			.n_key = strlen(key),
			.value = json_string_value(value),
			.n_value = json_string_length(value)};
	}
	return 0;
}

/* "123", "1.5e+09", "NaN": as Go writes numbers. */
static bool answer_number(const json_t *value, double *ret)
{
	char *end;
	*ret = NAN;
	if (json_is_null(value))
		return true;
	if (json_is_number(value)) {
		*ret = json_number_value(value);
		return true;
	}
	const char *text = json_string_value(value);
	if (!text || !*text)
		return false;
	if (str_eq(text, "NaN") || str_eq(text, "+Inf") || str_eq(text, "-Inf") ||
		str_eq(text, "Infinity") || str_eq(text, "-Infinity"))
		return true;
	if (text[strspn(text, "0123456789+-.eE")])
		return false;
	*ret = strtod(text, &end);
	return *end == '\0';
}

static int answer_point(const json_t *time, double to_ms, const json_t *value,
	struct past_series *ret, struct err *e)
{
	struct past_point point;
	const double t_ms = json_number_value(time) * to_ms;
	if (!json_is_number(time) || !(t_ms >= 0 && t_ms < TIME_MOST_MS))
		return answer_wrong(e, "a time is no number of seconds since 1970");
	if (!answer_number(value, &point.value))
		return answer_wrong(e, "a value is no number");
	point.t_ns = (int64_t)llround(t_ms) * NS_PER_MS;
	if (ret->n && point.t_ns < ret->points[ret->n - 1].t_ns)
		return answer_wrong(e, "the times of a series go back");
	if (!isfinite(point.value)) {
		ret->no_value++;
		return 0;
	}
	rw_grow(ret->points, ret->n, ret->cap);
	ret->points[ret->n++] = point;
	return 0;
}

static void answer_next(struct past_series *series)
{
	series->n = 0;
	series->no_value = 0;
}

/* ---- Prometheus ------------------------------------------------------------ */

static int matrix_series(json_t *item, struct past_series *series, struct err *e)
{
	size_t i;
	json_t *pair, *got[SERIES_MEMBERS];
	past_members(item, series_names, got, SERIES_MEMBERS);
	answer_next(series);
	int rc = answer_labels(got[METRIC], series, e);
	if (rc == 0 && got[HISTOGRAMS] && !got[VALUES])
		return 0; /* of native histograms: no profile has one */
	if (rc == 0 && !json_is_array(got[VALUES]))
		rc = answer_wrong(e, "a series has no list of values");
	json_array_foreach (got[VALUES], i, pair) {
		if (rc < 0)
			break;
		if (json_array_size(pair) != 2)
			rc = answer_wrong(e, "a sample is no pair of time and value");
		else
			rc = answer_point(
				json_array_get(pair, 0), 1000, json_array_get(pair, 1), series, e);
	}
	return rc;
}

/* A server that lost a part of its data says so, and the rest would look like gaps. */
static int matrix_whole(json_t *const *got, struct err *e)
{
	char text[200];
	const char *said = str_or(json_string_value(json_array_get(got[WARNINGS], 0)), "isPartial");
	if (!json_array_size(got[WARNINGS]) && !json_is_true(got[PARTIAL]))
		return 0;
	text_clean(text, sizeof(text), said, strlen(said));
	return err_set(e, -EREMOTEIO, "the server says that its answer is not whole: %s", text);
}

static int answer_matrix(const char *text, size_t n, past_series_fn *fn, void *arg,
	struct past_series *series, struct err *e)
{
	json_error_t why;
	size_t i;
	json_t *item, *got[ANSWER_MEMBERS], *data[DATA_MEMBERS];
	json_t *root = json_loadb(text, n, JSON_DECODE_INT_AS_REAL, &why);
	int rc = 0;
	if (!root)
		return err_set(e, -EBADMSG, "the answer is no JSON, or was cut: line %d, column %d",
			why.line, why.column);
	past_members(root, answer_names, got, ANSWER_MEMBERS);
	past_members(got[DATA], data_names, data, DATA_MEMBERS);
	if (!str_eq(json_string_value(got[STATUS]), "success"))
		rc = answer_wrong(e, "its status is not \"success\"");
	else if (!str_eq(json_string_value(data[RESULT_TYPE]), "matrix") ||
		!json_is_array(data[RESULT]))
		rc = answer_wrong(e, "its result is no matrix of raw samples");
	else
		rc = matrix_whole(got, e);
	json_array_foreach (data[RESULT], i, item) {
		if (rc == 0)
			rc = matrix_series(item, series, e);
		if (rc == 0)
			rc = fn(arg, series, e);
		if (rc < 0)
			break;
	}
	json_decref(root);
	return rc;
}

/* ---- VictoriaMetrics -------------------------------------------------------- */

static int export_series(json_t *item, struct past_series *series, struct err *e)
{
	json_t *got[SERIES_MEMBERS];
	past_members(item, series_names, got, SERIES_MEMBERS);
	answer_next(series);
	int rc = answer_labels(got[METRIC], series, e);
	if (rc == 0 &&
		(!json_is_array(got[VALUES]) || !json_is_array(got[TIMES]) ||
			json_array_size(got[VALUES]) != json_array_size(got[TIMES])))
		rc = answer_wrong(e, "a series has not as many values as times");
	for (size_t i = 0; rc == 0 && i < json_array_size(got[VALUES]); i++)
		rc = answer_point(json_array_get(got[TIMES], i), 1, json_array_get(got[VALUES], i),
			series, e);
	return rc;
}

/* Each line is a document; one series may come in several. */
static int answer_export(const char *text, size_t n, past_series_fn *fn, void *arg,
	struct past_series *series, struct err *e)
{
	const char *end = text + n;
	unsigned number = 0;
	int rc = 0;
	while (rc == 0 && text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		number++;
		if (!stop)
			return err_set(e, -EBADMSG, "the answer was cut in line %u", number);
		json_t *item =
			json_loadb(text, (size_t)(stop - text), JSON_DECODE_INT_AS_REAL, NULL);
		if (!item)
			return err_set(e, -EBADMSG, "line %u of the answer is no JSON", number);
		rc = export_series(item, series, e);
		if (rc == 0)
			rc = fn(arg, series, e);
		json_decref(item);
		text = stop + 1;
	}
	return rc;
}

int past_answer_read(
	enum past_api api, const char *text, size_t n, past_series_fn *fn, void *arg, struct err *e)
{
	struct past_series *series = rw_calloc(1, sizeof(*series));
	int rc;
	if (api == PAST_VICTORIA)
		rc = answer_export(text, n, fn, arg, series, e);
	else
		rc = answer_matrix(text, n, fn, arg, series, e);
	free(series->points);
	free(series);
	return rc;
}

void past_answer_complaint(const char *text, size_t n, char *buf, size_t size)
{
	json_t *got[ANSWER_MEMBERS], *root = json_loadb(text, n, 0, NULL);
	past_members(root, answer_names, got, ANSWER_MEMBERS);
	const char *said = str_or(json_string_value(got[COMPLAINT]), "");
	text_clean(buf, size, said, strlen(said));
	json_decref(root);
}
