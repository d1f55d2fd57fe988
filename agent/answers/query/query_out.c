/* query_out - writes rows one by one, without a document in memory: a history may have millions. */
#include "agent/answers/query/query_out.h"

#include <jansson.h>
#include "agent/document/json_value.h"
#include "agent/document/quantity.h"
#include "db/model/entity.h"
#include "db/model/metric.h"

#define FLAGS_MAX (SAMPLE_FLAGS_TEXT_MAX + 32)

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
	if (text && *text)
		return text;
	return "-";
}

static void json_text(FILE *file, const char *text)
{
	json_t *j = json_string_or_null(text);

	json_print(file, j, JSON_ENCODE_ANY | JSON_COMPACT);
	json_decref(j);
}

static void json_text_or_null(FILE *file, const char *text)
{
	if (text && *text)
		json_text(file, text);
	else
		fputs("null", file);
}

/* The value as it is, for csv and JSON; NULL: there is none. */
static const char *query_out_exact(const struct query_value *value, struct str *buf)
{
	switch (value->kind) {
	case VALUE_U64: str_addf(buf, "%llu", (unsigned long long)value->u64); return buf->s;
	case VALUE_F64: str_add_exact(buf, value->f64); return buf->s;
	case VALUE_TEXT: return value->text;
	case VALUE_NONE: break;
	}
	return NULL;
}

/* ---- flags and marks ------------------------------------------------------- */

static const struct {
	unsigned mark;
	const char *name;
} mark_names[] = {
	{MARK_GAP, "gap"},
	{MARK_AFTER_GAP, "after_gap"},
	{MARK_PARTIAL, "partial"},
	{MARK_OPEN, "open"},
};

static const char *flags_text(char buf[FLAGS_MAX], const struct query_row *row)
{
	char flags[SAMPLE_FLAGS_TEXT_MAX];
	size_t n = (size_t)snprintf(buf, FLAGS_MAX, "%s", sample_flags_text(flags, row->flags));
	for (size_t i = 0; i < rw_countof(mark_names); i++) {
		if (!(row->marks & mark_names[i].mark))
			continue;
		n += (size_t)snprintf(
			buf + n, FLAGS_MAX - n, "%s%s", str_if(n > 0, ","), mark_names[i].name);
	}
	return buf;
}

/* ---- rounded values of a table --------------------------------------------- */

static const struct {
	const char *unit, *shown;
	double scale;
} shown_units[] = {
	{"ratio", "%", 100},
	{"ns/s", "% of time", 1e-7},
	{"ns", "time", 0},
	{"s", "time", 0},
	{"-", "", 1},
};

const char *query_out_unit(const char *unit)
{
	for (size_t i = 0; i < rw_countof(shown_units); i++)
		if (str_eq(unit, shown_units[i].unit))
			return shown_units[i].shown;
	return unit;
}

static void query_out_rounded(const struct query_value *value, const char *unit, struct str *out)
{
	double number = value->f64, scale = 1;
	/* A whole value as it was stored keeps all its digits: counters are compared. */
	if (value->kind == VALUE_U64)
		number = (double)value->u64;
	for (size_t i = 0; i < rw_countof(shown_units); i++)
		if (str_eq(unit, shown_units[i].unit))
			scale = shown_units[i].scale;
	if (scale == 0)
		str_add_quantity(out, number, unit);
	else if (scale != 1)
		str_addf(out, "%.3g", number * scale);
	else if (value->kind == VALUE_U64)
		str_addf(out, "%llu", (unsigned long long)value->u64);
	else if (fabs(number) < 0.01)
		str_addf(out, "%.3g", number);
	else
		str_add_scaled(out, number, "");
}

/* ---- the four formats -------------------------------------------------------- */

static void json_flags(FILE *file, const struct query_row *row)
{
	char text[FLAGS_MAX];
	const char *sep = "";

	flags_text(text, row);
	fputc('[', file);
	for (char *save = NULL, *name = strtok_r(text, ",", &save); name;
		name = strtok_r(NULL, ",", &save)) {
		fprintf(file, "%s\"%s\"", sep, name);
		sep = ",";
	}
	fputc(']', file);
}

static void json_row(const struct query_out *out, const struct query_row *row)
{
	rw_cleanup(str_done) struct str buf = {0};
	char time[WALL_TEXT_MAX];
	FILE *file = out->file;
	const char *value = query_out_exact(&row->value, &buf);
	fprintf(file, "{\"time\":\"%s\",\"device\":", time_text(time, row->t_ns));
	json_text_or_null(file, row->device);
	fputs(",\"port\":", file);
	json_text_or_null(file, row->port);
	if (row->priority == PRIO_NONE)
		fputs(",\"priority\":null", file);
	else
		fprintf(file, ",\"priority\":%d", row->priority);
	fprintf(file, ",\"metric\":\"%s\",\"value\":", metric_info(row->metric)->name);
	if (row->value.kind == VALUE_TEXT)
		json_text(file, value);
	else
		fputs(str_or(value, "null"), file);
	fputs(",\"flags\":", file);
	json_flags(file, row);
	fputs(",\"unit\":", file);
	json_text(file, row->unit);
	if (out->columns.group) {
		fputs(",\"group\":", file);
		json_text_or_null(file, row->group);
	}
	if (out->columns.join)
		fprintf(file, ",\"series\":%zu,\"series_known\":%zu", row->n_series, row->n_of);
	fputc('}', file);
}

static void csv_row(const struct query_out *out, const struct query_row *row)
{
	rw_cleanup(str_done) struct str buf = {0};
	char time[WALL_TEXT_MAX], flags[FLAGS_MAX], prio[16] = "";
	FILE *file = out->file;
	const char *value = query_out_exact(&row->value, &buf);
	if (row->priority != PRIO_NONE)
		snprintf(prio, sizeof(prio), "%d", row->priority);
	fprintf(file, "%s,", time_text(time, row->t_ns));
	csv_field_print(file, str_or(row->device, ""));
	fputc(',', file);
	csv_field_print(file, str_or(row->port, ""));
	fprintf(file, ",%s,%s,", prio, metric_info(row->metric)->name);
	csv_field_print(file, str_or(value, ""));
	fputc(',', file);
	csv_field_print(file, flags_text(flags, row));
	fprintf(file, ",%s", row->unit);
	if (out->columns.group) {
		fputc(',', file);
		csv_field_print(file, str_or(row->group, ""));
	}
	if (out->columns.join)
		fprintf(file, ",%zu,%zu", row->n_series, row->n_of);
	fputc('\n', file);
}

/* A column that is padded by what is seen. Text from outside must not steer the terminal. */
static void table_text(FILE *file, const char *text, size_t width)
{
	enum { SHOWN_MAX = 256 };
	char clean[SHOWN_MAX];
	text = text_or_dash(text);
	text_clean(clean, sizeof(clean), text, strlen(text));
	size_t n = 0;
	for (const char *c = clean; *c; c++)
		n += ((unsigned char)*c & 0xc0) != 0x80; /* UTF-8: one per character */
	fputs(clean, file);
	for (; n < width; n++)
		fputc(' ', file);
	fputs("  ", file);
}

#define TIME_WIDTH 20 /* 2026-11-22 02:33:14Z */
#define FRACTION_WIDTH 24
#define VALUE_WIDTH 14
#define JOIN_WIDTH 11

static void table_row(const struct query_out *out, const struct query_row *row)
{
	const struct query_columns *c = &out->columns;
	rw_cleanup(str_done) struct str value = {0};
	char time[WALL_TEXT_MAX], flags[FLAGS_MAX], prio[16] = "-", text[48];
	FILE *file = out->file;
	wall_text(time, (wall_t){row->t_ns}, c->fraction ? 3 : 0);
	table_text(file, time, c->fraction ? FRACTION_WIDTH : TIME_WIDTH);
	if (c->group)
		table_text(file, row->group, c->group);
	if (c->device)
		table_text(file, row->device, c->device);
	if (c->port)
		table_text(file, row->port, c->port);
	if (row->priority != PRIO_NONE)
		snprintf(prio, sizeof(prio), "%d", row->priority);
	if (c->priority)
		fprintf(file, "%4s  ", prio);
	if (c->metric)
		table_text(file, metric_info(row->metric)->name, c->metric);
	if (row->value.kind == VALUE_TEXT)
		str_add(&value, row->value.text);
	else if (row->value.kind != VALUE_NONE)
		query_out_rounded(&row->value, row->unit, &value);
	else
		str_add(&value, "-");
	if (!c->unit && row->value.kind != VALUE_NONE && row->value.kind != VALUE_TEXT) {
		const char *unit = query_out_unit(row->unit);
		str_addf(&value, "%s%s", str_if(*unit && !str_eq(unit, "time"), " "),
			str_eq(unit, "time") ? "" : unit);
	}
	rw_cleanup(freep) char *clean = rw_calloc(value.n + 1, 1);
	text_clean(clean, value.n + 1, str_or(value.s, ""), value.n);
	fprintf(file, "%*s", VALUE_WIDTH, clean);
	if (c->join) {
		snprintf(text, sizeof(text), "%zu/%zu", row->n_series, row->n_of);
		fprintf(file, "  %*s", JOIN_WIDTH, text);
	}
	flags_text(flags, row);
	fprintf(file, "%s%s\n", str_if(*flags, "  "), flags);
}

static void table_head(const struct query_out *out)
{
	const struct query_columns *c = &out->columns;
	FILE *file = out->file;
	char name[32];
	if (c->title)
		fprintf(file, "%s\n", c->title);
	table_text(file, "TIME", c->fraction ? FRACTION_WIDTH : TIME_WIDTH);
	if (c->group) {
		size_t i = 0;
		for (; c->group_name[i] && i + 1 < sizeof(name); i++)
			name[i] = (char)(c->group_name[i] - ('a' - 'A'));
		name[i] = '\0';
		table_text(file, name, c->group);
	}
	if (c->device)
		table_text(file, "DEVICE", c->device);
	if (c->port)
		table_text(file, "PORT", c->port);
	if (c->priority)
		fprintf(file, "%4s  ", "PRIO");
	if (c->metric)
		table_text(file, "METRIC", c->metric);
	const char *unit = str_or(c->unit, "VALUE");
	if (c->unit)
		unit = query_out_unit(c->unit);
	fprintf(file, "%*s", VALUE_WIDTH, *unit ? unit : "VALUE");
	if (c->join)
		fprintf(file, "  %*s", JOIN_WIDTH, "SERIES");
	fputs("  FLAGS\n", file);
}

void query_out_begin(struct query_out *out)
{
	FILE *file = out->file;
	if (out->format == FORMAT_JSON)
		fputs("{\"rows\":[", file);
	else if (out->format == FORMAT_CSV && out->header)
		fprintf(file, "time,device,port,priority,metric,value,flags,unit%s%s%s\n",
			str_if(out->columns.group, ","),
			str_if(out->columns.group, out->columns.group_name),
			str_if(out->columns.join, ",series,series_known"));
	else if (out->format == FORMAT_TABLE && out->header)
		table_head(out);
}

int query_out_row(struct query_out *out, const struct query_row *row)
{
	FILE *file = out->file;
	if (out->rows_max && out->rows == out->rows_max)
		return -E2BIG;
	switch (out->format) {
	case FORMAT_JSON:
		fprintf(file, "%s\n", str_if(out->rows, ","));
		json_row(out, row);
		break;
	case FORMAT_JSONL:
		json_row(out, row);
		fputc('\n', file);
		break;
	case FORMAT_CSV: csv_row(out, row); break;
	default: table_row(out, row); break;
	}
	out->rows++;
	if (ferror(file))
		return -EIO;
	return 0;
}

/* ---- the end ------------------------------------------------------------------ */

static const char *const tier_names[] = {
	[ROLLUP_RAW] = "raw", [ROLLUP_MINUTE] = "minute", [ROLLUP_HOUR] = "hour"};

static void json_member(FILE *file, const char *key, const char *text)
{
	fprintf(file, ",\"%s\":", key);
	json_text_or_null(file, text);
}

static void json_foot(FILE *file, const struct query_foot *foot)
{
	char time[WALL_TEXT_MAX];
	const char *sep = "";
	fprintf(file, ",\"from\":\"%s\"", time_text(time, foot->from_ns));
	fprintf(file, ",\"to\":\"%s\"", time_text(time, foot->to_ns));
	if (foot->steps && foot->step_ns)
		fprintf(file, ",\"step_s\":%.9g", (double)foot->step_ns / NS_PER_S);
	else
		fputs(",\"step_s\":null", file);
	json_member(file, "agg", foot->agg);
	json_member(file, "by", foot->by);
	json_member(file, "join", foot->join);
	fputs(",\"tiers\":[", file);
	for (size_t i = 0; i < rw_countof(tier_names); i++) {
		if (!foot->tier[i])
			continue;
		fprintf(file, "%s\"%s\"", sep, tier_names[i]);
		sep = ",";
	}
	fputs("],\"raw_from\":", file);
	if (foot->tier[ROLLUP_MINUTE] || foot->tier[ROLLUP_HOUR])
		json_text(file, time_text(time, foot->coarse_to_ns));
	else
		fputs("null", file);
	json_member(file, "note", foot->note);
}

int query_out_end(struct query_out *out, const struct query_foot *foot)
{
	FILE *file = out->file;
	if (out->format == FORMAT_JSON) {
		fprintf(file, "%s]", str_if(out->rows, "\n"));
		json_foot(file, foot);
		fputs("}\n", file);
	}
	if (out->format == FORMAT_TABLE && out->header && foot->note)
		fprintf(file, "%s\n", foot->note);
	if (fflush(file) != 0 || ferror(file))
		return -EIO;
	return 0;
}
