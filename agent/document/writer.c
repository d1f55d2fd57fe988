/* report - see report.h. JSON is the document as it is; csv, html, md and table walk the view's
 * columns over its rows. */
#include "agent/document/writer.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"

static const char *const format_names[] = {
	[FORMAT_TABLE] = "table",
	[FORMAT_CSV] = "csv",
	[FORMAT_JSON] = "json",
	[FORMAT_JSONL] = "jsonl",
	[FORMAT_HTML] = "html",
	[FORMAT_MD] = "md",
};

int report_format_parse(const char *s, enum report_format *ret)
{
	for (size_t i = 0; i < rw_countof(format_names); i++)
		if (str_eq(s, format_names[i])) {
			*ret = (enum report_format)i;
			return 0;
		}
	return -EINVAL;
}

const char *doc_word(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));
	return s ? s : "";
}

double doc_number(const json_t *o, const char *key)
{
	const json_t *v = json_object_get(o, key);
	return json_is_number(v) ? json_number_value(v) : NAN;
}

json_t *json_number_or_null(double v)
{
	return isfinite(v) ? json_real(v) : json_null();
}

json_t *json_string_or_null(const char *s)
{
	json_t *j = s ? json_string(s) : json_null();
	/* Bytes that are no UTF-8 come from devices: the text is shown without them rather than
	 * lost. */
	if (j)
		return j;
	rw_cleanup(str_done) struct str b = {0};
	for (; *s; s++)
		str_addn(&b, (unsigned char)*s < 0x80 ? s : "?", 1);
	return json_string(b.s ? b.s : "");
}

json_t *json_time(int64_t t_ns)
{
	char buf[WALL_TEXT_MAX];
	/* Milliseconds, unless the time is finer. */
	return json_string(wall_format(buf, (wall_t){t_ns}, t_ns % NS_PER_MS == 0 ? 3 : 9));
}

/* ---- cells --------------------------------------------------------------- */

/* Shortest of 15, 16 or 17 digits that reads back as the same number. */
static void add_exact(struct str *b, double v)
{
	char text[40];
	for (int digits = 15; digits <= 17; digits++) {
		snprintf(text, sizeof(text), "%.*g", digits, v);
		if (strtod(text, NULL) == v)
			break;
	}
	str_add(b, text);
}

static void add_raw(struct str *b, const json_t *v)
{
	switch (json_typeof(v)) {
	case JSON_STRING: str_addn(b, json_string_value(v), json_string_length(v)); break;
	case JSON_INTEGER: str_addf(b, "%" JSON_INTEGER_FORMAT, json_integer_value(v)); break;
	case JSON_REAL: add_exact(b, json_real_value(v)); break;
	case JSON_TRUE: str_add(b, "true"); break;
	case JSON_FALSE: str_add(b, "false"); break;
	default: break; /* null is an empty field; a tree is not a cell */
	}
}

static void add_scaled(struct str *b, double v, const char *suffix)
{
	static const char prefixes[] = {'\0', 'k', 'M', 'G', 'T', 'P', 'E'};
	size_t i = 0;
	for (; fabs(v) >= 999.5 && i + 1 < sizeof(prefixes); i++)
		v /= 1000;
	/* Three digits, but a whole number is written as one. */
	if (v == rint(v))
		str_addf(b, "%.0f", v);
	else
		str_addf(b, "%.*f", fabs(v) < 9.995 ? 2 : fabs(v) < 99.95 ? 1 : 0, v);
	if (prefixes[i])
		str_addn(b, &prefixes[i], 1);
	str_add(b, suffix);
}

/* Under one only time has prefixes people use. */
static void add_time(struct str *b, double s)
{
	static const char *const words[] = {" s", " ms", " us", " ns"};
	size_t i = 0;
	for (; s != 0 && fabs(s) < 1 && i + 1 < rw_countof(words); i++)
		s *= 1000;
	str_addf(b, "%.*f%s",
		s == rint(s)              ? 0
			: fabs(s) < 9.995 ? 2
			: fabs(s) < 99.95 ? 1
					  : 0,
		s, words[i]);
}

void str_add_quantity(struct str *b, double v, const char *unit)
{
	static const struct {
		const char *unit, *shown;
	} scaled[] = {{"bytes", "B"}, {"bytes/s", "B/s"}, {"bit/s", "bit/s"}};
	const size_t n = strlen(unit);
	if (str_eq(unit, "ratio")) {
		str_addf(b, "%.3g %%", v * 100);
		return;
	}
	if (str_eq(unit, "ns") || str_eq(unit, "s")) {
		add_time(b, str_eq(unit, "ns") ? v / 1e9 : v);
		return;
	}
	for (size_t i = 0; i < rw_countof(scaled); i++)
		if (str_eq(scaled[i].unit, unit)) {
			add_scaled(b, v, scaled[i].shown);
			return;
		}
	if (n > 2 && str_eq(unit + n - 2, "/s") && fabs(v) >= 999.5)
		add_scaled(b, v, " ");
	else if (v == rint(v) && fabs(v) < 1e15)
		str_addf(b, "%.0f ", v);
	else
		str_addf(b, "%.4g ", v);
	if (*unit && !str_eq(unit, "-"))
		str_add(b, unit);
	else
		b->s[--b->n] = '\0';
}

/* For people: with its unit, and no finer than they can use. */
static void add_pretty(struct str *b, const json_t *v, enum column_kind kind)
{
	char text[64];
	wall_t t;

	if (json_is_boolean(v)) {
		str_add(b, json_is_true(v) ? "yes" : "no");
		return;
	}
	if (kind == COL_TIME && json_is_string(v) &&
		wall_parse(json_string_value(v), (wall_t){0}, &t) == 0) {
		wall_format(text, t, 0);
		text[10] = ' ';
		str_add(b, text);
		return;
	}
	if (!json_is_number(v)) {
		add_raw(b, v);
		return;
	}
	double d = json_number_value(v);
	switch (kind) {
	case COL_RATIO_PCT: str_addf(b, "%.1f %%", d * 100); break;
	case COL_BPS: add_scaled(b, d, "bit/s"); break;
	case COL_BYTES: add_scaled(b, d, "B"); break;
	case COL_USD: str_addf(b, "$%.2f", d); break;
	case COL_DURATION_S:
		str_add(b,
			fabs(d) < 9e9 ? duration_format(text, sizeof(text), (int64_t)(d * 1e9))
				      : "> 200y");
		break;
	case COL_QP:
		if (d >= 0 && d <= 0xffffff)
			str_addf(b, "0x%06x", (unsigned)d);
		else
			add_raw(b, v);
		break;
	case COL_INT:
		if (json_is_integer(v))
			add_raw(b, v);
		else
			str_addf(b, "%.0f", d);
		break;
	case COL_NUMBER:
		if (json_is_integer(v))
			add_raw(b, v);
		else
			str_addf(b, "%.6g", d);
		break;
	default: add_raw(b, v); break;
	}
}

/* @key in @row: "a.b" descends, "a[]" is the array a, whose elements are joined with ','. */
static void add_cell(struct str *b, const json_t *row, const struct column *c, bool pretty)
{
	const json_t *v = row;
	const char *key = c->key;
	char part[64];

	while (v && *key) {
		size_t n = strcspn(key, ".[");
		snprintf(part, sizeof(part), "%.*s", (int)n, key);
		v = json_object_get(v, part);
		key += n;
		if (*key == '.')
			key++;
		if (*key == '[')
			break;
	}
	if (*key == '[') {
		for (size_t i = 0; i < json_array_size(v); i++) {
			if (i > 0)
				str_add(b, ",");
			add_raw(b, json_array_get(v, i));
		}
	} else if (v && pretty) {
		add_pretty(b, v, c->kind);
	} else if (v) {
		add_raw(b, v);
	}
	if (!b->s)
		str_add(b, "");
	if (pretty && b->n == 0)
		str_add(b, "-");
}

/* Text of devices (names, aliases, messages) must not end a line or steer a terminal: C0, DEL and
 * C1 become a space. */
static void tame(struct str *b)
{
	for (size_t i = 0; i < b->n; i++) {
		unsigned char c = (unsigned char)b->s[i];
		if (c < 0x20 || c == 0x7f)
			b->s[i] = ' ';
		if (c == 0xc2 && (unsigned char)b->s[i + 1] >= 0x80 &&
			(unsigned char)b->s[i + 1] < 0xa0)
			b->s[i] = b->s[i + 1] = ' ';
	}
}

/* Columns on the screen, taking each code point for one. */
static size_t width_of(const char *s)
{
	size_t n = 0;
	for (; *s; s++)
		n += ((unsigned char)*s & 0xc0) != 0x80;
	return n;
}

static const char *header_of(const struct column *c)
{
	return c->header ? c->header : c->key;
}

static bool is_right(const struct column *c)
{
	return c->right || (c->kind != COL_TEXT && c->kind != COL_TIME);
}

static size_t n_rows(const json_t *doc, const struct view *v)
{
	return v->rows ? json_array_size(json_object_get(doc, v->rows)) : 1;
}

static const json_t *row_at(const json_t *doc, const struct view *v, size_t i)
{
	return v->rows ? json_array_get(json_object_get(doc, v->rows), i) : doc;
}

/* ---- writers ------------------------------------------------------------- */

static void print_table(FILE *out, const json_t *doc, const struct view *v, bool header, bool color)
{
	size_t n = n_rows(doc, v);
	if (n == 0) {
		fprintf(out, "%s\n", v->empty ? v->empty : "nothing");
		return;
	}
	struct str *cells = rw_calloc(n * v->n_columns, sizeof(*cells));
	size_t *widths = rw_calloc(v->n_columns, sizeof(*widths));
	for (size_t c = 0; c < v->n_columns; c++) {
		widths[c] = header ? width_of(header_of(&v->columns[c])) : 0;
		for (size_t r = 0; r < n; r++) {
			struct str *cell = &cells[r * v->n_columns + c];
			add_cell(cell, row_at(doc, v, r), &v->columns[c], true);
			tame(cell);
			size_t w = width_of(cell->s);
			if (w > widths[c])
				widths[c] = w;
		}
	}
	for (size_t r = header ? 0 : 1; r <= n; r++) { /* line 0 is the header */
		if (r == 0 && color)
			fputs("\033[1m", out);
		for (size_t c = 0; c < v->n_columns; c++) {
			const char *s = r == 0 ? header_of(&v->columns[c])
					       : cells[(r - 1) * v->n_columns + c].s;
			int pad = (int)(widths[c] - width_of(s));
			bool last = c + 1 == v->n_columns;
			if (is_right(&v->columns[c]))
				fprintf(out, "%*s%s%s", pad, "", s, last ? "" : "  ");
			else
				fprintf(out, "%s%*s", s, last ? 0 : pad + 2, "");
		}
		fputs(r == 0 && color ? "\033[0m\n" : "\n", out);
	}
	for (size_t i = 0; i < n * v->n_columns; i++)
		str_done(&cells[i]);
	free(cells);
	free(widths);
}

/* RFC 4180: CRLF is its line end, but every tool on this side of the fence reads and expects LF, as
 * do we. */
static void print_csv_field(FILE *out, const char *s)
{
	if (!strpbrk(s, ",\"\r\n")) {
		fputs(s, out);
		return;
	}
	fputc('"', out);
	for (; *s; s++) {
		if (*s == '"')
			fputc('"', out);
		fputc(*s, out);
	}
	fputc('"', out);
}

static void print_csv(FILE *out, const json_t *doc, const struct view *v, bool header)
{
	size_t n = n_rows(doc, v);
	for (size_t c = 0; header && c < v->n_columns; c++) {
		/* Keys, not headings: they carry the unit and do not change with the layout.
		 * "hosts[]" is read as hosts. */
		char key[64];
		snprintf(key, sizeof(key), "%.*s", (int)strcspn(v->columns[c].key, "["),
			v->columns[c].key);
		fputs(c ? "," : "", out);
		print_csv_field(out, key);
	}
	if (header)
		fputc('\n', out);
	for (size_t r = 0; r < n; r++) {
		for (size_t c = 0; c < v->n_columns; c++) {
			rw_cleanup(str_done) struct str cell = {0};
			add_cell(&cell, row_at(doc, v, r), &v->columns[c], false);
			fputs(c ? "," : "", out);
			print_csv_field(out, cell.s);
		}
		fputc('\n', out);
	}
}

static void print_html_text(FILE *out, const char *s)
{
	for (; *s; s++) {
		switch (*s) {
		case '&': fputs("&amp;", out); break;
		case '<': fputs("&lt;", out); break;
		case '>': fputs("&gt;", out); break;
		case '"': fputs("&quot;", out); break;
		case '\'': fputs("&#39;", out); break;
		default: fputc(*s, out); break;
		}
	}
}

/* One file that needs no other: it is mailed, archived and opened where there is no network. */
static void print_html(FILE *out, const json_t *doc, const struct view *v, bool header)
{
	size_t n = n_rows(doc, v);
	const char *title = v->title ? v->title : "rocewatch";

	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>",
		out);
	print_html_text(out, title);
	fputs("</title>\n<style>\n"
	      "body { font: 15px/1.4 system-ui, sans-serif; margin: 2em; color: #1c1c1c; "
	      "background: #fff }\n"
	      "table { border-collapse: collapse }\n"
	      "th, td { padding: .3em .8em; border-bottom: 1px solid #ccc; text-align: left }\n"
	      "th { border-bottom: 2px solid #555 }\n"
	      ".r { text-align: right; font-variant-numeric: tabular-nums }\n"
	      "@media (prefers-color-scheme: dark) { body { color: #e6e6e6; background: #161616 } "
	      "th, td { border-color: #444 } }\n"
	      "</style>\n</head>\n<body>\n<h1>",
		out);
	print_html_text(out, title);
	fputs("</h1>\n", out);
	if (n == 0) {
		fputs("<p>", out);
		print_html_text(out, v->empty ? v->empty : "nothing");
		fputs("</p>\n", out);
	} else {
		fputs("<table>\n", out);
		for (size_t r = header ? 0 : 1; r <= n; r++) {
			fputs("<tr>", out);
			for (size_t c = 0; c < v->n_columns; c++) {
				rw_cleanup(str_done) struct str cell = {0};
				if (r > 0) {
					add_cell(
						&cell, row_at(doc, v, r - 1), &v->columns[c], true);
					tame(&cell);
				}
				fprintf(out, "<%s%s>", r ? "td" : "th",
					is_right(&v->columns[c]) ? " class=\"r\"" : "");
				print_html_text(out, r ? cell.s : header_of(&v->columns[c]));
				fputs(r ? "</td>" : "</th>", out);
			}
			fputs("</tr>\n", out);
		}
		fputs("</table>\n", out);
	}
	fputs("</body>\n</html>\n", out);
}

/* GitHub-flavoured tables: a pipe ends a cell, and the characters of markup would be read as
 * markup. */
static void print_md_text(FILE *out, const char *s)
{
	for (; *s; s++) {
		if (strchr("|\\`*_<>[]", *s))
			fputc('\\', out);
		fputc(*s, out);
	}
}

static void print_md(FILE *out, const json_t *doc, const struct view *v, bool header)
{
	size_t n = n_rows(doc, v);

	if (v->title && header) {
		fputs("## ", out);
		print_md_text(out, v->title);
		fputs("\n\n", out);
	}
	if (n == 0) {
		print_md_text(out, v->empty ? v->empty : "nothing");
		fputc('\n', out);
		return;
	}
	/* a table without this line is not one: --no-header drops the title only */
	for (size_t c = 0; c < v->n_columns; c++) {
		fputs("| ", out);
		print_md_text(out, header_of(&v->columns[c]));
		fputc(' ', out);
	}
	fputs("|\n", out);
	for (size_t c = 0; c < v->n_columns; c++)
		fputs(is_right(&v->columns[c]) ? "|---:" : "|---", out);
	fputs("|\n", out);
	for (size_t r = 0; r < n; r++) {
		for (size_t c = 0; c < v->n_columns; c++) {
			rw_cleanup(str_done) struct str cell = {0};
			add_cell(&cell, row_at(doc, v, r), &v->columns[c], true);
			tame(&cell);
			fputs("| ", out);
			print_md_text(out, cell.s);
			fputc(' ', out);
		}
		fputs("|\n", out);
	}
}

/* 15 digits: 0.2 stays 0.2; counters are integers and keep every digit. */
#define JSON_STYLE JSON_REAL_PRECISION(15)

static void print_jsonl(FILE *out, const json_t *doc, const struct view *v)
{
	for (size_t r = 0; r < n_rows(doc, v); r++) {
		json_dumpf(row_at(doc, v, r), out, JSON_STYLE | JSON_COMPACT);
		fputc('\n', out);
	}
}

int report_print(FILE *out, const json_t *doc, const struct view *v, enum report_format f,
	bool header, bool color)
{
	switch (f) {
	case FORMAT_JSON:
		json_dumpf(doc, out, JSON_STYLE | JSON_INDENT(2));
		fputc('\n', out);
		break;
	case FORMAT_JSONL: print_jsonl(out, doc, v); break;
	case FORMAT_CSV: print_csv(out, doc, v, header); break;
	case FORMAT_HTML: print_html(out, doc, v, header); break;
	case FORMAT_MD: print_md(out, doc, v, header); break;
	case FORMAT_TABLE:
		if (v->text)
			v->text(out, doc, v, color, header);
		else
			print_table(out, doc, v, header, color);
		break;
	}
	return fflush(out) == 0 && !ferror(out) ? 0 : -EIO;
}
