/* query_out - see the header. Rows are written by hand: a history may have millions. */
#include "agent/base/str.h"
#include "agent/command/query_out.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/clock.h"
#include "agent/document/json_value.h"
#include "db/model/metric.h"
#include "db/model/sample.h"

static const char *time_text(char buf[WALL_TEXT_MAX], int64_t t_ns)
{
	return wall_format(buf, (wall_t){t_ns}, t_ns % NS_PER_MS == 0 ? 3 : 9);
}

/* Shortest of 15 to 17 digits that reads back as the same number; JSON has no infinity, nor has
 * csv. */
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

	json_dumpf(j, file, JSON_ENCODE_ANY | JSON_COMPACT);
	json_decref(j);
}

static void csv_text(FILE *file, const char *text)
{
	if (!text[strcspn(text, ",\"\r\n")]) {
		fputs(text, file);
		return;
	}
	fputc('"', file);
	for (; *text; text++) {
		if (*text == '"')
			fputc('"', file);
		fputc(*text, file);
	}
	fputc('"', file);
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
	json_text(file, *row->entity->port ? row->entity->port : NULL);
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

void query_out_begin(struct query_out *out)
{
	if (out->format == FORMAT_JSON)
		fputs("{\"rows\":[", stdout);
	else if (out->format == FORMAT_CSV && out->header)
		puts("time,device,port,priority,metric,value,flags");
	else if (out->format == FORMAT_TABLE && out->header)
		printf("%-24s %-16s %-16s %4s  %-24s %20s  %s\n", "TIME", "DEVICE", "PORT", "PRIO",
			"METRIC", "VALUE", "FLAGS");
}

/* 0, or -EIO: nobody reads any more, or the disk is full. */
int query_out_row(struct query_out *out, const struct query_row *row)
{
	char time[WALL_TEXT_MAX], number[40], flags[SAMPLE_FLAGS_TEXT_MAX], prio[8] = "";
	const char *value = query_out_value_text(row, number, sizeof(number));

	time_text(time, row->t_ns);
	if (row->entity->priority != PRIO_NONE)
		snprintf(prio, sizeof(prio), "%d", row->entity->priority);
	switch (out->format) {
	case FORMAT_JSON:
		fputs(out->rows ? ",\n" : "\n", stdout);
		json_row(stdout, row, time, value);
		break;
	case FORMAT_JSONL:
		json_row(stdout, row, time, value);
		putchar('\n');
		break;
	case FORMAT_CSV:
		printf("%s,", time);
		csv_text(stdout, row->entity->device);
		putchar(',');
		csv_text(stdout, row->entity->port);
		printf(",%s,%s,", prio, metric_info(row->metric)->name);
		csv_text(stdout, str_or(value, ""));
		putchar(',');
		csv_text(stdout, sample_flags_text(flags, row->flags));
		putchar('\n');
		break;
	default:
		printf("%-24s %-16s %-16s %4s  %-24s %20s  %s\n", time, row->entity->device,
			*row->entity->port ? row->entity->port : "-", *prio ? prio : "-",
			metric_info(row->metric)->name, str_or(value, "-"),
			sample_flags_text(flags, row->flags));
		break;
	}
	out->rows++;
	if (ferror(stdout))
		return -EIO;
	return 0;
}

int query_out_end(struct query_out *out)
{
	if (out->format == FORMAT_JSON)
		fputs(out->rows ? "\n]}\n" : "]}\n", stdout);
	if (fflush(stdout) != 0 || ferror(stdout))
		return -EIO;
	return 0;
}

/* ---- rows of SQL --------------------------------------------------------- */

/* Numbers come from SQLite as text; what reads as a JSON number is one. */
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

int query_out_sql_names(void *arg, int n, char *const *values, char *const *names)
{
	struct query_out *o = arg;

	if (o->format == FORMAT_JSON)
		fputs("{\"rows\":[", stdout);
	if (o->format == FORMAT_JSON || o->format == FORMAT_JSONL || !o->header)
		return 0;
	for (int i = 0; i < n; i++) {
		if (o->format == FORMAT_CSV)
			csv_text(stdout, names[i]);
		else
			fputs(names[i], stdout);
		putchar(i + 1 == n ? '\n' : o->format == FORMAT_CSV ? ',' : '\t');
	}
	return 0;
}

int query_out_sql_row(void *arg, int n, char *const *values, char *const *names)
{
	struct query_out *o = arg;
	bool json = o->format == FORMAT_JSON || o->format == FORMAT_JSONL;

	if (json)
		fputs(o->format == FORMAT_JSONL ? "{" : o->rows ? ",\n{" : "\n{", stdout);
	for (int i = 0; i < n; i++) {
		if (json) {
			fputs(str_if(i, ","), stdout);
			json_text(stdout, names[i]);
			putchar(':');
			if (values[i] && is_number(values[i]))
				fputs(values[i], stdout);
			else
				json_text(stdout, values[i]);
		} else if (o->format == FORMAT_CSV) {
			csv_text(stdout, str_or(values[i], ""));
		} else {
			fputs(str_or(values[i], "-"), stdout);
		}
		if (!json)
			putchar(i + 1 == n ? '\n' : o->format == FORMAT_CSV ? ',' : '\t');
	}
	if (json)
		fputs(o->format == FORMAT_JSONL ? "}\n" : "}", stdout);
	o->rows++;
	if (ferror(stdout))
		return -EIO;
	return 0;
}
