/*
 * past_answer - what Prometheus' HTTP API (prometheus.io/docs/prometheus/latest/querying/api,
 * "Instant queries" with a range selector: a matrix of raw samples), VictoriaMetrics' export
 * (docs.victoriametrics.com, "How to export data in JSON line format") and InfluxDB's query
 * (docs.influxdata.com/influxdb/v1/guides/query_data, "Query data with the InfluxDB API", with
 * GROUP BY * and epoch=ms) answer. A server may be anybody's: every type is looked at, and an
 * answer that is half understood is refused whole.
 */
#include "agent/import/past_internal.h"

#define TIME_MOST_MS 9e12 /* the year 2255: nanoseconds have 63 bits */

enum { STATUS, DATA, WARNINGS, PARTIAL, COMPLAINT, RESULTS, ANSWER_MEMBERS };
static const char *const answer_names[] = {[STATUS] = "status",
	[DATA] = "data",
	[WARNINGS] = "warnings",
	[PARTIAL] = "isPartial",
	[COMPLAINT] = "error",
	[RESULTS] = "results"};
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
		if (json_string_length(value) == 0)
			continue; /* as if it were not there */
		if (ret->n_labels == PAST_LABELS_MAX)
			return answer_wrong(e, "a series has more than 64 labels");
		ret->labels[ret->n_labels++] = (struct push_label){.key = key,
			.n_key = strlen(key),
			.value = json_string_value(value),
			.n_value = json_string_length(value)};
	}
	return 0;
}

/* ---- numbers ----------------------------------------------------------------- */

/* Nearly all of an answer are lists of numbers, which jansson would make an object each of. They
 * are taken out of the text, their places stand in it as numbers of .lists, and it reads the rest.
 */
struct numbers {
	const char *at, *end;
};
struct skeleton {
	struct str text;
	struct numbers *lists;
	size_t n, cap;
};

static const char *text_behind_space(const char *at, const char *end)
{
	while (at < end && (*at == ' ' || *at == '\n' || *at == '\t' || *at == '\r'))
		at++;
	return at;
}

/* A list begins at @at, behind a key: its end, where it is one of the lists. */
static const char *list_end(const char *at, const char *end)
{
	size_t depth = 0;
	for (; at < end; at++) {
		depth += *at == '[';
		if (*at == ']' && --depth == 0)
			return at + 1;
	}
	return end;
}

static void skeleton_make(struct skeleton *ret, const char *text, size_t n)
{
	const char *end = text + n, *from = text;
	for (const char *at = text; (at = memchr(at, '"', (size_t)(end - at)));) {
		const char *word = at++;
		for (int k = VALUES; k <= TIMES; k++) {
			const size_t n_key = strlen(series_names[k]);
			if ((size_t)(end - at) <= n_key ||
				memcmp(at, series_names[k], n_key) != 0 || at[n_key] != '"')
				continue;
			const char *list = text_behind_space(at + n_key + 1, end);
			if (list == end || *list != ':')
				continue;
			list = text_behind_space(list + 1, end);
			if (list == end || *list != '[')
				continue;
			at = list_end(list, end);
			str_addn(&ret->text, from, (size_t)(word - from));
			str_addf(&ret->text, "\"%s\":%zu", series_names[k], ret->n);
			rw_grow(ret->lists, ret->n, ret->cap);
			ret->lists[ret->n++] = (struct numbers){list, at};
			from = at;
			break;
		}
	}
	str_addn(&ret->text, from, (size_t)(end - from));
}

/* As Go writes numbers; NAN for what says that it is none. 15 digits and a power of ten that a
 * double holds exactly make one rounding; the rest is the library's. */
static bool answer_number(const char *text, size_t n, double *ret)
{
	static const double tens[] = {1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9};
	static const char *const none[] = {"null", "NaN", "+Inf", "-Inf", "Infinity", "-Infinity"};
	char copy[64], *end;
	uint64_t whole = 0;
	size_t i = 0, behind = 0;
	bool point = false;
	for (; i < n && i < 15; i++) {
		if (text[i] == '.' && i > 0 && !point)
			point = true;
		else if (text[i] >= '0' && text[i] <= '9')
			whole = whole * 10 + (uint64_t)(text[i] - '0');
		else
			break;
		behind += point && text[i] != '.';
	}
	*ret = (double)whole / tens[behind % rw_countof(tens)];
	if (i == n && n > 0 && behind < rw_countof(tens))
		return true;
	if (n == 0 || n >= sizeof(copy))
		return false;
	memcpy(copy, text, n);
	copy[n] = '\0';
	*ret = NAN;
	for (size_t k = 0; k < rw_countof(none); k++)
		if (strcmp(copy, none[k]) == 0)
			return true;
	if (copy[strspn(copy, "0123456789+-.eE")])
		return false;
	*ret = strtod(copy, &end);
	return *end == '\0';
}

static bool numbers_take(struct numbers *list, char c)
{
	list->at = text_behind_space(list->at, list->end);
	if (list->at == list->end || *list->at != c)
		return false;
	list->at++;
	return true;
}

/* A number, which may stand in quotes. */
static bool numbers_next(struct numbers *list, double *ret)
{
	const bool quoted = numbers_take(list, '"');
	const char *from = list->at;
	while (list->at<list->end && * list->at> ' ' && *list->at != '"' && *list->at != ',' &&
		*list->at != ']')
		list->at++;
	return answer_number(from, (size_t)(list->at - from), ret) &&
		(!quoted || numbers_take(list, '"'));
}

static int answer_point(
	double time, double to_ms, double value, struct past_series *ret, struct err *e)
{
	const double t_ms = time * to_ms;
	if (!(t_ms >= 0 && t_ms < TIME_MOST_MS))
		return answer_wrong(e, "a time is no number of seconds since 1970");
	const int64_t t_ns = (int64_t)llround(t_ms) * NS_PER_MS;
	if (ret->n && t_ns < ret->points[ret->n - 1].t_ns)
		return answer_wrong(e, "the times of a series go back");
	if (!isfinite(value)) {
		ret->no_value++;
		return 0;
	}
	rw_grow(ret->points, ret->n, ret->cap);
	ret->points[ret->n++] = (struct past_point){t_ns, value};
	return 0;
}

/* A list that was taken out of the text; false: there is none. */
static bool answer_list(const struct skeleton *answer, const json_t *place, struct numbers *ret)
{
	if (!json_is_integer(place) || (size_t)json_integer_value(place) >= answer->n)
		return false;
	*ret = answer->lists[json_integer_value(place)];
	return true;
}

static void answer_next(struct past_series *series)
{
	series->n = 0;
	series->no_value = 0;
}

/* ---- Prometheus ------------------------------------------------------------ */

static int matrix_series(
	const struct skeleton *answer, json_t *item, struct past_series *series, struct err *e)
{
	json_t *got[SERIES_MEMBERS];
	struct numbers list;
	past_members(item, series_names, got, SERIES_MEMBERS);
	answer_next(series);
	int rc = answer_labels(got[METRIC], series, e);
	if (rc < 0 || (got[HISTOGRAMS] && !got[VALUES]))
		return rc; /* of native histograms: no profile has one */
	if (!answer_list(answer, got[VALUES], &list))
		return answer_wrong(e, "a series has no list of values");
	bool more = numbers_take(&list, '[') && !numbers_take(&list, ']');
	while (more && rc == 0) {
		double time, value;
		if (!numbers_take(&list, '[') || !numbers_next(&list, &time) ||
			!numbers_take(&list, ','))
			return answer_wrong(e, "a sample is no pair of time and value");
		if (!numbers_next(&list, &value) || !numbers_take(&list, ']'))
			return answer_wrong(e, "a value is no number");
		rc = answer_point(time, 1000, value, series, e);
		more = numbers_take(&list, ',');
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
	size_t i;
	json_t *item, *got[ANSWER_MEMBERS], *data[DATA_MEMBERS];
	struct skeleton answer = {0};
	skeleton_make(&answer, text, n);
	json_t *root = json_loadb(str_or(answer.text.s, ""), answer.text.n, 0, NULL);
	int rc = 0;
	if (!root)
		rc = err_set(e, -EBADMSG, "the answer is no JSON, or was cut");
	past_members(root, answer_names, got, ANSWER_MEMBERS);
	past_members(got[DATA], data_names, data, DATA_MEMBERS);
	if (rc == 0 && !str_eq(json_string_value(got[STATUS]), "success"))
		rc = answer_wrong(e, "its status is not \"success\"");
	else if (rc == 0 &&
		(!str_eq(json_string_value(data[RESULT_TYPE]), "matrix") ||
			!json_is_array(data[RESULT])))
		rc = answer_wrong(e, "its result is no matrix of raw samples");
	else if (rc == 0)
		rc = matrix_whole(got, e);
	json_array_foreach (data[RESULT], i, item) {
		if (rc == 0)
			rc = matrix_series(&answer, item, series, e);
		if (rc == 0)
			rc = fn(arg, series, e);
		if (rc < 0)
			break;
	}
	json_decref(root);
	str_done(&answer.text);
	free(answer.lists);
	return rc;
}

/* ---- VictoriaMetrics -------------------------------------------------------- */

static int export_series(
	const struct skeleton *answer, json_t *item, struct past_series *series, struct err *e)
{
	json_t *got[SERIES_MEMBERS];
	struct numbers values, times;
	double time, value;
	past_members(item, series_names, got, SERIES_MEMBERS);
	answer_next(series);
	int rc = answer_labels(got[METRIC], series, e);
	if (rc < 0)
		return rc;
	if (!answer_list(answer, got[VALUES], &values) || !answer_list(answer, got[TIMES], &times))
		return answer_wrong(e, "a series has no lists of values and times");
	bool more = numbers_take(&values, '[') && numbers_take(&times, '[') &&
		!(numbers_take(&values, ']') && numbers_take(&times, ']'));
	while (more && rc == 0) {
		if (!numbers_next(&values, &value) || !numbers_next(&times, &time))
			return answer_wrong(e, "a value is no number");
		rc = answer_point(time, 1, value, series, e);
		more = numbers_take(&values, ',');
		if (rc == 0 && more != numbers_take(&times, ','))
			return answer_wrong(e, "a series has not as many values as times");
	}
	return rc;
}

/* Each line is a document; one series may come in several. */
static int answer_export(const char *text, size_t n, past_series_fn *fn, void *arg,
	struct past_series *series, struct err *e)
{
	const char *end = text + n;
	struct skeleton answer = {0};
	unsigned number = 0;
	int rc = 0;
	while (rc == 0 && text < end) {
		const char *stop = memchr(text, '\n', (size_t)(end - text));
		number++;
		if (!stop)
			rc = err_set(e, -EBADMSG, "the answer was cut in line %u", number);
		if (!stop)
			break;
		answer.n = answer.text.n = 0;
		skeleton_make(&answer, text, (size_t)(stop - text));
		json_t *item = json_loadb(str_or(answer.text.s, ""), answer.text.n, 0, NULL);
		if (!item)
			rc = err_set(e, -EBADMSG, "line %u of the answer is no JSON", number);
		if (rc == 0)
			rc = export_series(&answer, item, series, e);
		if (rc == 0)
			rc = fn(arg, series, e);
		json_decref(item);
		text = stop + 1;
	}
	str_done(&answer.text);
	free(answer.lists);
	return rc;
}

/* ---- InfluxDB ------------------------------------------------------------------ */

enum { TABLES, TABLES_PARTIAL, TABLES_ERROR, RESULT_MEMBERS };
static const char *const result_names[] = {
	[TABLES] = "series", [TABLES_PARTIAL] = "partial", [TABLES_ERROR] = "error"};
enum { MEASUREMENT, TAGS, COLUMNS, ROWS_OF_TABLE, TABLE_PARTIAL, TABLE_MEMBERS };
static const char *const table_names[] = {[MEASUREMENT] = "name",
	[TAGS] = "tags",
	[COLUMNS] = "columns",
	[ROWS_OF_TABLE] = "values",
	[TABLE_PARTIAL] = "partial"};

/* A row has a field of its own time only; texts and truths are no numbers. */
static int table_column(json_t *rows, size_t column, struct past_series *series, struct err *e)
{
	size_t i;
	json_t *row;
	int rc = 0;
	answer_next(series);
	json_array_foreach (rows, i, row) {
		json_t *value = json_array_get(row, column);
		if (rc == 0 && !value)
			rc = answer_wrong(e, "a row has not as many values as there are columns");
		if (rc < 0)
			break;
		if (json_is_number(value))
			rc = answer_point(json_real_value(json_array_get(row, 0)), 1,
				json_number_value(value), series, e);
		else
			series->no_value += !json_is_null(value);
	}
	return rc;
}

/* One measurement with one set of tags: each column but the time is a series, named as telegraf
 * names it for Prometheus. */
static int table_series(
	json_t *table, past_series_fn *fn, void *arg, struct past_series *series, struct err *e)
{
	rw_cleanup(str_done) struct str name = {0};
	json_t *got[TABLE_MEMBERS], *column;
	size_t i;
	past_members(table, table_names, got, TABLE_MEMBERS);
	const char *measurement = json_string_value(got[MEASUREMENT]);
	if (!measurement || !json_is_array(got[ROWS_OF_TABLE]) ||
		!str_eq(json_string_value(json_array_get(got[COLUMNS], 0)), "time"))
		return answer_wrong(e, "a series has no name, times and values");
	if (json_is_true(got[TABLE_PARTIAL]))
		return err_set(e, -EFBIG, "the answer has more rows than the server gives at once");
	series->n_labels = 0;
	int rc = got[TAGS] ? answer_labels(got[TAGS], series, e) : 0;
	if (rc == 0 && series->n_labels == PAST_LABELS_MAX)
		rc = answer_wrong(e, "a series has more than 63 tags");
	const size_t n_tags = series->n_labels;
	json_array_foreach (got[COLUMNS], i, column) {
		if (i == 0 || rc < 0)
			continue;
		name.n = 0;
		str_addf(&name, "%s_%s", measurement, str_or(json_string_value(column), ""));
		series->labels[n_tags] = (struct push_label){.key = "__name__",
			.n_key = strlen("__name__"),
			.value = name.s,
			.n_value = name.n};
		series->n_labels = n_tags + 1;
		rc = table_column(got[ROWS_OF_TABLE], i, series, e);
		if (rc == 0 && series->n + series->no_value)
			rc = fn(arg, series, e);
	}
	return rc;
}

static int answer_tables(const char *text, size_t n, past_series_fn *fn, void *arg,
	struct past_series *series, struct err *e)
{
	char said[200];
	size_t i;
	json_t *table, *root = json_loadb(text, n, JSON_DECODE_INT_AS_REAL, NULL);
	json_t *got[ANSWER_MEMBERS], *result[RESULT_MEMBERS];
	int rc = 0;
	past_members(root, answer_names, got, ANSWER_MEMBERS);
	past_members(json_array_get(got[RESULTS], 0), result_names, result, RESULT_MEMBERS);
	const char *why = str_or(json_string_value(result[TABLES_ERROR]), "");
	text_clean(said, sizeof(said), why, strlen(why));
	if (!root)
		rc = err_set(e, -EBADMSG, "the answer is no JSON, or was cut");
	else if (json_array_size(got[RESULTS]) != 1)
		rc = answer_wrong(e, "it has not one result");
	else if (*said)
		rc = err_set(e, -EREMOTEIO, "the server could not answer: %s", said);
	else if (json_is_true(result[TABLES_PARTIAL]))
		rc = err_set(e, -EFBIG, "the answer has more rows than the server gives at once");
	json_array_foreach (result[TABLES], i, table)
		if (rc == 0)
			rc = table_series(table, fn, arg, series, e);
	json_decref(root);
	return rc;
}

int past_answer_read(
	enum past_api api, const char *text, size_t n, past_series_fn *fn, void *arg, struct err *e)
{
	static int (*const readers[PAST_APIS])(const char *text, size_t n, past_series_fn *fn,
		void *arg, struct past_series *series,
		struct err *e) = {[PAST_PROMETHEUS] = answer_matrix,
		[PAST_VICTORIA] = answer_export,
		[PAST_INFLUX] = answer_tables};
	struct past_series *series = rw_calloc(1, sizeof(*series));
	const int rc = readers[api](text, n, fn, arg, series, e);
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
