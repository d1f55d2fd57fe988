/* query_out - see the header. Rows are written by hand: a history may have millions. */
#include "agent/command/query_out.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/clock.h"
#include "db/model/metric.h"
#include "db/model/sample.h"

static const char *time_text(char buf[WALL_TEXT_MAX], int64_t t_ns)
{
	return wall_format(buf, (wall_t){t_ns}, t_ns % NS_PER_MS == 0 ? 3 : 9);
}

/* Shortest of 15 to 17 digits that reads back as the same number; JSON has no infinity, nor has
 * csv. */
static const char *number_text(char *buf, size_t size, double v)
{
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(buf, size, "%.*g", digits, v);
		if (strtod(buf, NULL) == v)
			break;
	}
	return buf;
}

static void json_text(FILE *f, const char *s)
{
	json_t *j = json_string_or_null(s);

	json_dumpf(j, f, JSON_ENCODE_ANY | JSON_COMPACT);
	json_decref(j);
}

static void csv_text(FILE *f, const char *s)
{
	if (!s[strcspn(s, ",\"\r\n")]) {
		fputs(s, f);
		return;
	}
	fputc('"', f);
	for (; *s; s++) {
		if (*s == '"')
			fputc('"', f);
		fputc(*s, f);
	}
	fputc('"', f);
}

static const char *value_text(const struct query_row *r, char *buf, size_t size)
{
	switch (r->kind) {
	case VALUE_U64: snprintf(buf, size, "%llu", (unsigned long long)r->u64); return buf;
	case VALUE_F64: return number_text(buf, size, r->f64);
	case VALUE_TEXT: return r->text;
	case VALUE_NONE: break;
	}
	return NULL;
}

static void json_flags(FILE *f, unsigned flags)
{
	char text[SAMPLE_FLAGS_TEXT_MAX];
	const char *sep = "";

	sample_flags_text(text, flags);
	fputc('[', f);
	for (char *save = NULL, *name = strtok_r(text, ",", &save); name;
		name = strtok_r(NULL, ",", &save)) {
		fprintf(f, "%s\"%s\"", sep, name);
		sep = ",";
	}
	fputc(']', f);
}

static void json_row(FILE *f, const struct query_row *r, const char *time, const char *value)
{
	fprintf(f, "{\"time\":\"%s\",\"device\":", time);
	json_text(f, r->entity->device);
	fputs(",\"port\":", f);
	json_text(f, *r->entity->port ? r->entity->port : NULL);
	if (r->entity->priority == PRIO_NONE)
		fputs(",\"priority\":null", f);
	else
		fprintf(f, ",\"priority\":%d", r->entity->priority);
	fprintf(f, ",\"metric\":\"%s\",\"value\":", metric_info(r->metric)->name);
	if (r->kind == VALUE_TEXT)
		json_text(f, value);
	else
		fputs(value ? value : "null", f);
	fputs(",\"flags\":", f);
	json_flags(f, r->flags);
	fputc('}', f);
}

void query_out_begin(struct query_out *o)
{
	if (o->format == FORMAT_JSON)
		fputs("{\"rows\":[", stdout);
	else if (o->format == FORMAT_CSV && o->header)
		puts("time,device,port,priority,metric,value,flags");
	else if (o->format == FORMAT_TABLE && o->header)
		printf("%-24s %-16s %-16s %4s  %-24s %20s  %s\n", "TIME", "DEVICE", "PORT", "PRIO",
			"METRIC", "VALUE", "FLAGS");
}

/* 0, or -EIO: nobody reads any more, or the disk is full. */
int query_out_row(struct query_out *o, const struct query_row *r)
{
	char time[WALL_TEXT_MAX], number[40], flags[SAMPLE_FLAGS_TEXT_MAX], prio[8] = "";
	const char *value = value_text(r, number, sizeof(number));

	time_text(time, r->t_ns);
	if (r->entity->priority != PRIO_NONE)
		snprintf(prio, sizeof(prio), "%d", r->entity->priority);
	switch (o->format) {
	case FORMAT_JSON:
		fputs(o->rows ? ",\n" : "\n", stdout);
		json_row(stdout, r, time, value);
		break;
	case FORMAT_JSONL:
		json_row(stdout, r, time, value);
		putchar('\n');
		break;
	case FORMAT_CSV:
		printf("%s,", time);
		csv_text(stdout, r->entity->device);
		putchar(',');
		csv_text(stdout, r->entity->port);
		printf(",%s,%s,", prio, metric_info(r->metric)->name);
		csv_text(stdout, value ? value : "");
		putchar(',');
		csv_text(stdout, sample_flags_text(flags, r->flags));
		putchar('\n');
		break;
	default:
		printf("%-24s %-16s %-16s %4s  %-24s %20s  %s\n", time, r->entity->device,
			*r->entity->port ? r->entity->port : "-", *prio ? prio : "-",
			metric_info(r->metric)->name, value ? value : "-",
			sample_flags_text(flags, r->flags));
		break;
	}
	o->rows++;
	return ferror(stdout) ? -EIO : 0;
}

int query_out_end(struct query_out *o)
{
	if (o->format == FORMAT_JSON)
		fputs(o->rows ? "\n]}\n" : "]}\n", stdout);
	return fflush(stdout) != 0 || ferror(stdout) ? -EIO : 0;
}

/* ---- rows of SQL --------------------------------------------------------- */

/* Numbers come from SQLite as text; what reads as a JSON number is one. */
static bool is_number(const char *s)
{
	if (*s == '-')
		s++;
	if (*s == '0' && s[1] >= '0' && s[1] <= '9')
		return false;
	size_t n = strspn(s, "0123456789");
	if (n == 0)
		return false;
	s += n;
	if (*s == '.') {
		n = strspn(s + 1, "0123456789");
		if (n == 0)
			return false;
		s += n + 1;
	}
	if (*s == 'e' || *s == 'E') {
		s += s[1] == '+' || s[1] == '-' ? 2 : 1;
		n = strspn(s, "0123456789");
		if (n == 0)
			return false;
		s += n;
	}
	return *s == '\0';
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
			fputs(i ? "," : "", stdout);
			json_text(stdout, names[i]);
			putchar(':');
			if (values[i] && is_number(values[i]))
				fputs(values[i], stdout);
			else
				json_text(stdout, values[i]);
		} else if (o->format == FORMAT_CSV) {
			csv_text(stdout, values[i] ? values[i] : "");
		} else {
			fputs(values[i] ? values[i] : "-", stdout);
		}
		if (!json)
			putchar(i + 1 == n ? '\n' : o->format == FORMAT_CSV ? ',' : '\t');
	}
	if (json)
		fputs(o->format == FORMAT_JSONL ? "}\n" : "}", stdout);
	o->rows++;
	return ferror(stdout) ? -EIO : 0;
}
