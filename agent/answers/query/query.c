/* query - reads the history of metrics and writes it as rows. */
#include "agent/answers/query/query.h"

#include "agent/document/json_value.h"
#include "agent/client/client.h"
#include "agent/answers/query/query_rows.h"
#include "config/config.h"
#include "db/series/history.h"

#define MINUTE_NS (60 * NS_PER_S)

/* ---- what is said of all rows --------------------------------------------------- */

/* "store.retention.raw: 7d", as far as it is known. */
static void query_add_kept(const struct client *client, struct str *out)
{
	char text[32];
	if (!client->config)
		return;
	str_addf(out, " (store.retention.raw: %s)",
		unit_duration_text(text, sizeof(text), client->config->store.raw_ns));
}

static void query_note_tiers(const struct query_run *run, struct str *out)
{
	const struct query_foot *foot = run->foot;
	char time[WALL_TEXT_MAX];
	if (!foot->tier[ROLLUP_MINUTE] && !foot->tier[ROLLUP_HOUR])
		return;
	str_addf(out, "Until %s from %s: single values are gone or not needed",
		wall_text(time, (wall_t){foot->coarse_to_ns}, 0),
		foot->tier[ROLLUP_HOUR] ? "hours" : "minutes");
	query_add_kept(run->client, out);
}

static int query_coarse(void *arg, const struct rollup *rollup)
{
	*(bool *)arg = rollup->tier != ROLLUP_RAW;
	return 1;
}

/* An empty answer says why, as far as that is known. */
static void query_note_empty(const struct query_run *run, struct str *out)
{
	const struct query_plan *plan = run->plan;
	const struct history_filter filter = query_plan_filter(plan, run->from_ns, run->to_ns);
	bool coarse = false;
	if (run->out->rows > 0)
		return;
	if (run->lines->n == 0 && plan->by >= BY_HOST && plan->by <= BY_RAIL) {
		str_addf(out, "No series of this metric belongs to a %s", query_by_name(plan->by));
		return;
	}
	if (run->lines->n == 0) {
		str_addf(out, "No samples: %s%s never delivered this metric",
			str_or(plan->device, "the devices"), str_if(plan->port, " (these ports)"));
		return;
	}
	if (!plan->steps)
		history_each_rollup(
			run->client->history, &filter, MINUTE_NS, query_coarse, &coarse, NULL);
	if (coarse) {
		str_add(out, "Single values of this range are gone");
		query_add_kept(run->client, out);
		str_add(out, "; minutes are there: add --step 1m");
		return;
	}
	str_add(out, "No samples in this time range");
}

/* "port.out_octets, bytes/s: mean of each 1m, sum by device" */
static void query_add_title(const struct query_plan *plan, struct str *out)
{
	char unit[QUERY_UNIT_MAX], step[32];
	const unsigned metric = plan->metrics[0];
	if (plan->n_metrics > 1)
		str_addf(out, "%zu metrics", plan->n_metrics);
	else
		str_add(out, metric_info(metric)->name);
	const char *shown = query_out_unit(query_unit(plan, metric, unit));
	if (plan->n_metrics == 1 && *shown)
		str_addf(out, ", %s", shown);
	if (!plan->steps) {
		str_add(out, plan->rate ? ": rate between samples" : ": as stored");
		return;
	}
	const char *agg = query_agg_name(query_agg_of(plan, metric));
	if (plan->n_metrics > 1 && plan->agg == AGG_USUAL)
		agg = "usual value";
	str_addf(out, ": %s of ", agg);
	if (plan->step_ns)
		str_addf(out, "each %s", unit_duration_text(step, sizeof(step), plan->step_ns));
	else
		str_add(out, "the whole range");
	if (plan->by != BY_NONE)
		str_addf(out, ", %s by %s", query_join_name(query_join_of(plan, metric)),
			query_by_name(plan->by));
	if (plan->top)
		str_addf(out, ", the top %zu", plan->top);
}

/* ---- running -------------------------------------------------------------------- */

static int query_check_names(struct client *client, const struct query_plan *plan, struct err *e)
{
	const int rc = known_device(client, plan->device, e);
	if (rc < 0)
		return rc;
	return known_port(client, plan->device, plan->port, e);
}

/* One unit for all rows, or NULL. */
static const char *query_one_unit(const struct query_plan *plan, char buf[QUERY_UNIT_MAX])
{
	const char *unit = query_unit(plan, plan->metrics[0], buf);
	char other[QUERY_UNIT_MAX];
	for (size_t i = 1; i < plan->n_metrics; i++)
		if (!str_eq(unit, query_unit(plan, plan->metrics[i], other)))
			return NULL;
	return unit;
}

/* Before anything is printed: more steps than anybody reads. */
static int query_check_steps(const struct query_run *run, struct err *e)
{
	int64_t first_ns, last_ns, from_ns = run->from_ns, to_ns = run->to_ns;
	const int64_t step_ns = run->plan->step_ns;
	if (step_ns == 0 || history_range(run->client->history, &first_ns, &last_ns, NULL) < 0)
		return 0;
	if (first_ns > from_ns)
		from_ns = first_ns;
	if (last_ns < to_ns)
		to_ns = last_ns;
	if (to_ns <= from_ns || (to_ns - from_ns) / step_ns <= QUERY_STEPS_MAX)
		return 0;
	return err_set(e, -EINVAL,
		"--step is too short: there would be more than %d steps; use a longer step or a "
		"shorter time range",
		QUERY_STEPS_MAX);
}

static int query_answer(struct query_run *run, struct err *e)
{
	rw_cleanup(str_done) struct str title = {0}, note = {0};
	struct query_out *out = run->out;
	char unit[QUERY_UNIT_MAX];
	int rc;
	query_lines_columns(run->lines, run->plan, &out->columns);
	query_add_title(run->plan, &title);
	out->columns.title = title.s;
	out->columns.unit = query_one_unit(run->plan, unit);
	query_out_begin(out);
	if (run->plan->steps)
		rc = query_rows_steps(run, e);
	else
		rc = query_rows_samples(run, e);
	if (rc < 0)
		return rc;
	query_note_tiers(run, &note);
	query_note_empty(run, &note);
	snprintf(out->note, sizeof(out->note), "%s", str_or(note.s, ""));
	if (note.s)
		run->foot->note = out->note;
	return query_out_end(out, run->foot);
}

static int query_run_plan(
	struct client *client, const struct query_plan *plan, struct query_out *out, struct err *e)
{
	rw_cleanup(query_lines_done) struct query_lines lines = {0};
	struct query_foot foot = {.from_ns = client->from_ns,
		.to_ns = client->to_ns,
		.step_ns = plan->step_ns,
		.steps = plan->steps,
		.by = query_by_name(plan->by),
		.agg = "",
		.join = ""};
	struct query_run run = {.client = client,
		.plan = plan,
		.out = out,
		.lines = &lines,
		.from_ns = client->from_ns,
		.to_ns = client->to_ns,
		.foot = &foot};
	if (plan->steps)
		foot.agg = query_agg_name(query_agg_of(plan, plan->metrics[0]));
	if (plan->by != BY_NONE)
		foot.join = query_join_name(query_join_of(plan, plan->metrics[0]));
	int rc = query_lines_make(client, plan, run.from_ns, run.to_ns, &lines, e);
	if (rc == 0)
		rc = query_check_names(client, plan, e);
	if (rc == 0)
		rc = query_check_steps(&run, e);
	if (rc == 0)
		rc = query_answer(&run, e);
	return rc;
}

int query_check(const struct query_ask *ask, struct err *e)
{
	struct query_plan plan;
	return query_plan_read(ask, &plan, e);
}

int query_run(
	struct client *client, const struct query_ask *ask, struct query_out *out, struct err *e)
{
	struct query_plan plan;
	int rc = query_plan_read(ask, &plan, e);
	if (rc == 0)
		rc = query_run_plan(client, &plan, out, e);
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

/* query_sql - writes the rows of a statement; no more of them is kept than a screen shows. */

#define ROWS_AHEAD 200 /* of a table, before its widths are settled */
#define WIDTH_MAX 60 /* a longer value moves what is behind it */

struct sql_out {
	const struct query_sql *how;
	uint64_t rows;
	bool begun; /* JSON: the bracket is open */
	int n; /* columns of the table */
	char **kept; /* n values for each row, the names first; NULL is "-" */
	size_t n_kept, cap_kept;
	size_t *width;
	bool *number; /* all values of the column are numbers: right-aligned */
	bool settled;
};

static void sql_out_done(struct sql_out *out)
{
	for (size_t i = 0; i < out->n_kept; i++)
		free(out->kept[i]);
	free(out->kept);
	free(out->width);
	free(out->number);
}

/* is_number - SQLite gives numbers as text: does this one read as a JSON number? */
static bool is_number(const char *text)
{
	if (*text == '-')
		text++;
	if (*text == '0' && text[1] >= '0' && text[1] <= '9')
		return false;
	size_t n = strspn(text, "0123456789");
	if (n == 0)
		return false;
	text += n;
	if (*text == '.') {
		n = strspn(text + 1, "0123456789");
		if (n == 0)
			return false;
		text += n + 1;
	}
	if (*text == 'e' || *text == 'E') {
		if (text[1] == '+' || text[1] == '-')
			text += 2;
		else
			text += 1;
		n = strspn(text, "0123456789");
		if (n == 0)
			return false;
		text += n;
	}
	return *text == '\0';
}

static void sql_json_text(FILE *file, const char *text)
{
	json_t *j = json_string_or_null(text);
	json_print(file, j, JSON_ENCODE_ANY | JSON_COMPACT);
	json_decref(j);
}

static void sql_json(FILE *file, int n, char *const *values, char *const *names)
{
	fputc('{', file);
	for (int i = 0; i < n; i++) {
		fputs(str_if(i, ","), file);
		sql_json_text(file, names[i]);
		fputc(':', file);
		if (values[i] && is_number(values[i]))
			fputs(values[i], file);
		else
			sql_json_text(file, values[i]);
	}
	fputc('}', file);
}

static void sql_csv(FILE *file, int n, char *const *values)
{
	for (int i = 0; i < n; i++) {
		csv_field_print(file, str_or(values[i], ""));
		fputc(i + 1 == n ? '\n' : ',', file);
	}
}

/* ---- the table ----------------------------------------------------------------- */

static size_t sql_width(const char *text)
{
	size_t n = 0;
	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

/* Prints one value; the last column is not padded unless it is a number. */
static void sql_cell(const struct sql_out *out, int column, const char *text)
{
	FILE *file = out->how->file;
	size_t pad = 0;
	if (sql_width(text) < out->width[column])
		pad = out->width[column] - sql_width(text);
	const bool last = column + 1 == out->n;
	if (out->number[column])
		fprintf(file, "%*s%s", (int)pad, "", text);
	else if (last)
		fputs(text, file);
	else
		fprintf(file, "%s%*s", text, (int)pad, "");
	fputs(last ? "\n" : "  ", file);
}

/* The rows that wait are printed, and the widths stay. */
static void sql_settle(struct sql_out *out)
{
	const size_t rows = out->n ? out->n_kept / (size_t)out->n : 0;
	for (size_t r = 0; r < rows; r++)
		for (int i = 0; i < out->n && (r > 0 || out->how->header); i++)
			sql_cell(out, i, out->kept[r * (size_t)out->n + (size_t)i]);
	out->settled = true;
}

static char *sql_clean(const char *value)
{
	value = str_or(value, "-");
	const size_t n = strlen(value);
	char *clean = rw_calloc(n + 1, 1);
	text_clean(clean, n + 1, value, n);
	return clean;
}

static void sql_keep(struct sql_out *out, int n, char *const *values, bool names)
{
	for (int i = 0; i < n; i++) {
		char *clean = sql_clean(values[i]);
		const size_t width = sql_width(clean);
		if ((!names || out->how->header) && width > out->width[i])
			out->width[i] = width > WIDTH_MAX ? WIDTH_MAX : width;
		if (!names && values[i] && !is_number(values[i]))
			out->number[i] = false;
		rw_grow(out->kept, out->n_kept, out->cap_kept);
		out->kept[out->n_kept++] = clean;
	}
}

static void sql_table(struct sql_out *out, int n, char *const *values)
{
	if (!out->settled && out->rows >= ROWS_AHEAD)
		sql_settle(out);
	if (!out->settled) {
		sql_keep(out, n, values, false);
		return;
	}
	for (int i = 0; i < n; i++) {
		rw_cleanup(freep) char *clean = sql_clean(values[i]);
		sql_cell(out, i, clean);
	}
}

/* ---- callbacks ------------------------------------------------------------------- */

static int sql_names(void *arg, int n, char *const *values, char *const *names)
{
	struct sql_out *out = arg;
	switch (out->how->format) {
	case FORMAT_JSON:
		fputs("{\"rows\":[", out->how->file);
		out->begun = true;
		break;
	case FORMAT_JSONL: break;
	case FORMAT_CSV:
		if (out->how->header)
			sql_csv(out->how->file, n, names);
		break;
	default:
		out->n = n;
		out->width = rw_calloc((size_t)n + 1, sizeof(*out->width));
		out->number = rw_calloc((size_t)n + 1, sizeof(*out->number));
		memset(out->number, 1, (size_t)n * sizeof(*out->number));
		sql_keep(out, n, names, true);
		break;
	}
	return 0;
}

static int sql_row(void *arg, int n, char *const *values, char *const *names)
{
	struct sql_out *out = arg;
	FILE *file = out->how->file;
	switch (out->how->format) {
	case FORMAT_JSON:
		fprintf(file, "%s\n", str_if(out->rows, ","));
		sql_json(file, n, values, names);
		break;
	case FORMAT_JSONL:
		sql_json(file, n, values, names);
		fputc('\n', file);
		break;
	case FORMAT_CSV: sql_csv(file, n, values); break;
	default: sql_table(out, n, values); break;
	}
	out->rows++;
	if (ferror(file))
		return -EIO;
	return 0;
}

int query_sql_run(
	struct client *client, const struct query_sql *how, const char *statement, struct err *e)
{
	rw_cleanup(sql_out_done) struct sql_out out = {.how = how};
	const int rc = history_sql_named(client->history, statement, sql_names, sql_row, &out, e);
	if (out.n > 0 && !out.settled && rc == 0)
		sql_settle(&out);
	if (rc < 0)
		return rc;
	if (out.begun)
		fprintf(how->file, "%s]}\n", str_if(out.rows, "\n"));
	if (fflush(how->file) != 0 || ferror(how->file))
		return -EIO;
	return 0;
}
