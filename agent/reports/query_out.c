/* query_out - writes rows one by one, without a document in memory: a history may have millions. */
#include "agent/reports/query_out.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/base/text_clean.h"
#include "agent/document/csv_field.h"
#include "agent/document/json_print.h"
#include "agent/document/json_value.h"
#include "db/model/metric.h"
#include "db/model/sample.h"

static const char *time_text(char buf[WALL_TEXT_MAX], int64_t t_ns)
{
	unsigned digits = 9;
	if (t_ns % NS_PER_MS == 0)
		digits = 3;
	return wall_format(buf, (wall_t){t_ns}, digits);
}

/* text_or_dash - for a column of a table. */
static const char *text_or_dash(const char *text)
{
	if (*text)
		return text;
	return "-";
}

/* number_text - the shortest of 15 to 17 digits that reads back as the same number. */
static const char *number_text(char *buf, size_t size, double value)
{
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(buf, size, "%.*g", digits, value);
		if (strtod(buf, NULL) == value)
			break;
	}
	return buf;
}

static void json_text(FILE *file, const char *text)
{
	json_t *j = json_string_or_null(text);

	json_print(file, j, JSON_ENCODE_ANY | JSON_COMPACT);
	json_decref(j);
}

static const char *query_out_value_text(const struct query_row *row, char *buf, size_t size)
{
	switch (row->kind) {
	case VALUE_U64: snprintf(buf, size, "%llu", (unsigned long long)row->u64); return buf;
	case VALUE_F64: return number_text(buf, size, row->f64);
	case VALUE_TEXT: return row->text;
	case VALUE_NONE: break;
	}
	return NULL;
}

static void json_flags(FILE *file, unsigned flags)
{
	char text[SAMPLE_FLAGS_TEXT_MAX];
	const char *sep = "";

	sample_flags_text(text, flags);
	fputc('[', file);
	for (char *save = NULL, *name = strtok_r(text, ",", &save); name;
		name = strtok_r(NULL, ",", &save)) {
		fprintf(file, "%s\"%s\"", sep, name);
		sep = ",";
	}
	fputc(']', file);
}

static void json_row(FILE *file, const struct query_row *row, const char *time, const char *value)
{
	fprintf(file, "{\"time\":\"%s\",\"device\":", time);
	json_text(file, row->entity->device);
	fputs(",\"port\":", file);
	if (*row->entity->port)
		json_text(file, row->entity->port);
	else
		fputs("null", file);
	if (row->entity->priority == PRIO_NONE)
		fputs(",\"priority\":null", file);
	else
		fprintf(file, ",\"priority\":%d", row->entity->priority);
	fprintf(file, ",\"metric\":\"%s\",\"value\":", metric_info(row->metric)->name);
	if (row->kind == VALUE_TEXT)
		json_text(file, value);
	else
		fputs(str_or(value, "null"), file);
	fputs(",\"flags\":", file);
	json_flags(file, row->flags);
	fputc('}', file);
}

/* A line of the table: text from outside must not steer the terminal. */
static void table_row(FILE *file, const struct query_row *row, const char *time, const char *value)
{
	enum { SHOWN_MAX = 256 };
	char device[SHOWN_MAX], port[SHOWN_MAX], shown[SHOWN_MAX];
	char flags[SAMPLE_FLAGS_TEXT_MAX], prio[8] = "";
	const struct entity *entity = row->entity;

	value = str_or(value, "-");
	text_clean(device, sizeof(device), entity->device, strlen(entity->device));
	text_clean(port, sizeof(port), entity->port, strlen(entity->port));
	text_clean(shown, sizeof(shown), value, strlen(value));
	if (entity->priority != PRIO_NONE)
		snprintf(prio, sizeof(prio), "%d", entity->priority);
	fprintf(file, "%-24s %-16s %-16s %4s  %-24s %20s  %s\n", time, device, text_or_dash(port),
		text_or_dash(prio), metric_info(row->metric)->name, shown,
		sample_flags_text(flags, row->flags));
}

void query_out_begin(struct query_out *out)
{
	FILE *file = out->file;
	if (out->format == FORMAT_JSON)
		fputs("{\"rows\":[", file);
	else if (out->format == FORMAT_CSV && out->header)
		fputs("time,device,port,priority,metric,value,flags\n", file);
	else if (out->format == FORMAT_TABLE && out->header)
		fprintf(file, "%-24s %-16s %-16s %4s  %-24s %20s  %s\n", "TIME", "DEVICE", "PORT",
			"PRIO", "METRIC", "VALUE", "FLAGS");
}

int query_out_row(struct query_out *out, const struct query_row *row)
{
	FILE *file = out->file;
	char time[WALL_TEXT_MAX], number[40], flags[SAMPLE_FLAGS_TEXT_MAX], prio[8] = "";
	const char *value = query_out_value_text(row, number, sizeof(number));

	if (out->rows_max && out->rows == out->rows_max)
		return -E2BIG;
	time_text(time, row->t_ns);
	if (row->entity->priority != PRIO_NONE)
		snprintf(prio, sizeof(prio), "%d", row->entity->priority);
	switch (out->format) {
	case FORMAT_JSON:
		fprintf(file, "%s\n", str_if(out->rows, ","));
		json_row(file, row, time, value);
		break;
	case FORMAT_JSONL:
		json_row(file, row, time, value);
		fputc('\n', file);
		break;
	case FORMAT_CSV:
		fprintf(file, "%s,", time);
		csv_field_print(file, row->entity->device);
		fputc(',', file);
		csv_field_print(file, row->entity->port);
		fprintf(file, ",%s,%s,", prio, metric_info(row->metric)->name);
		csv_field_print(file, str_or(value, ""));
		fputc(',', file);
		csv_field_print(file, sample_flags_text(flags, row->flags));
		fputc('\n', file);
		break;
	default: table_row(file, row, time, value); break;
	}
	out->rows++;
	if (ferror(file))
		return -EIO;
	return 0;
}

int query_out_end(struct query_out *out)
{
	FILE *file = out->file;
	if (out->format == FORMAT_JSON)
		fprintf(file, "%s]}\n", str_if(out->rows, "\n"));
	if (fflush(file) != 0 || ferror(file))
		return -EIO;
	return 0;
}

/* ---- rows of SQL --------------------------------------------------------- */

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

/* query_out_separator - behind a value of csv or of a table. */
static char query_out_separator(const struct query_out *out, bool last)
{
	if (last)
		return '\n';
	if (out->format == FORMAT_CSV)
		return ',';
	return '\t';
}

/* For the terminal: control characters become blanks. */
static void query_text_print(FILE *file, const char *text)
{
	const size_t n = strlen(text);
	rw_cleanup(freep) char *clean = rw_calloc(n + 1, 1);
	text_clean(clean, n + 1, text, n);
	fputs(clean, file);
}

int query_out_sql_names(void *arg, int n, char *const *values, char *const *names)
{
	struct query_out *o = arg;
	FILE *file = o->file;

	if (o->format == FORMAT_JSON)
		fputs("{\"rows\":[", file);
	if (o->format == FORMAT_JSON || o->format == FORMAT_JSONL || !o->header)
		return 0;
	for (int i = 0; i < n; i++) {
		if (o->format == FORMAT_CSV)
			csv_field_print(file, names[i]);
		else
			query_text_print(file, names[i]);
		fputc(query_out_separator(o, i + 1 == n), file);
	}
	return 0;
}

static void sql_json(FILE *file, int n, char *const *values, char *const *names)
{
	fputc('{', file);
	for (int i = 0; i < n; i++) {
		fputs(str_if(i, ","), file);
		json_text(file, names[i]);
		fputc(':', file);
		if (values[i] && is_number(values[i]))
			fputs(values[i], file);
		else
			json_text(file, values[i]);
	}
	fputc('}', file);
}

int query_out_sql_row(void *arg, int n, char *const *values, char *const *names)
{
	struct query_out *o = arg;
	FILE *file = o->file;
	switch (o->format) {
	case FORMAT_JSON:
		fprintf(file, "%s\n", str_if(o->rows, ","));
		sql_json(file, n, values, names);
		break;
	case FORMAT_JSONL:
		sql_json(file, n, values, names);
		fputc('\n', file);
		break;
	case FORMAT_CSV:
		for (int i = 0; i < n; i++) {
			csv_field_print(file, str_or(values[i], ""));
			fputc(query_out_separator(o, i + 1 == n), file);
		}
		break;
	default:
		for (int i = 0; i < n; i++) {
			query_text_print(file, str_or(values[i], "-"));
			fputc(query_out_separator(o, i + 1 == n), file);
		}
		break;
	}
	o->rows++;
	if (ferror(file))
		return -EIO;
	return 0;
}
