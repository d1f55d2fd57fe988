/* query_sql - writes the rows of a statement; no more of them is kept than a screen shows. */
#include "agent/answers/query/query_sql.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/text_clean.h"
#include "agent/client/client.h"
#include "agent/document/writer.h"
#include "agent/document/json_value.h"
#include "db/series/history.h"

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
