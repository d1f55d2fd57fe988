/* writer - JSON is the document as it is; csv, html, md and table walk the columns of the view over
 * its rows. */
#include "agent/document/writer.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/base/text_clean.h"
#include "agent/document/csv_field.h"
#include "agent/document/json_print.h"
#include "agent/document/json_value.h"
#include "agent/document/quantity.h"

/* ---- cells --------------------------------------------------------------- */

/* For people: with its unit, and no finer than they can use. */
static void add_pretty(struct str *out, const json_t *value, enum column_kind kind)
{
	char text[64];
	wall_t t;

	if (json_is_boolean(value)) {
		str_add(out, json_is_true(value) ? "yes" : "no");
		return;
	}
	if (kind == COL_TIME && json_is_string(value) &&
		wall_parse(json_string_value(value), (wall_t){0}, &t) == 0) {
		wall_format(text, t, 0);
		text[10] = ' ';
		str_add(out, text);
		return;
	}
	if (!json_is_number(value)) {
		str_add_json(out, value);
		return;
	}
	double d = json_number_value(value);
	switch (kind) {
	case COL_RATIO_PCT: str_addf(out, "%.1f %%", d * 100); break;
	case COL_BPS: str_add_scaled(out, d, "bit/s"); break;
	case COL_BYTES: str_add_scaled(out, d, "B"); break;
	case COL_USD: str_addf(out, "$%.2f", d); break;
	case COL_DURATION_S:
		str_add(out,
			fabs(d) < 9e9 ? duration_format(text, sizeof(text), (int64_t)(d * 1e9))
				      : "> 200y");
		break;
	case COL_QP:
		if (d >= 0 && d <= 0xffffff)
			str_addf(out, "0x%06x", (unsigned)d);
		else
			str_add_json(out, value);
		break;
	case COL_INT:
		if (json_is_integer(value))
			str_add_json(out, value);
		else
			str_addf(out, "%.0f", d);
		break;
	case COL_NUMBER:
		if (json_is_integer(value))
			str_add_json(out, value);
		else
			str_addf(out, "%.6g", d);
		break;
	default: str_add_json(out, value); break;
	}
}

/* @key in @row: "a.b" descends, "a[]" is the array a, whose elements are joined with ','. */
static void add_cell(struct str *out, const json_t *row, const struct column *column, bool pretty)
{
	const json_t *v = row;
	const char *key = column->key;
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
				str_add(out, ",");
			str_add_json(out, json_array_get(v, i));
		}
	} else if (v && pretty) {
		add_pretty(out, v, column->kind);
	} else if (v) {
		str_add_json(out, v);
	}
	if (!out->s)
		str_add(out, "");
	if (pretty && out->n == 0)
		str_add(out, "-");
}

/* Text of devices (names, aliases, messages) must not end a line or steer a terminal. */
static void writer_tame(struct str *out)
{
	out->n = text_clean(out->s, out->n + 1, out->s, out->n);
}

/* Columns on the screen, taking each code point for one. */
static size_t width_of(const char *text)
{
	size_t n = 0;
	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
}

static const char *header_of(const struct column *column)
{
	if (column->header)
		return column->header;
	return column->key;
}

static bool is_right(const struct column *column)
{
	return column->right || (column->kind != COL_TEXT && column->kind != COL_TIME);
}

static size_t n_rows(const json_t *doc, const struct view *view)
{
	if (view->rows)
		return json_array_size(json_object_get(doc, view->rows));
	return 1;
}

static const json_t *writer_row_at(const json_t *doc, const struct view *view, size_t i)
{
	if (view->rows)
		return json_array_get(json_object_get(doc, view->rows), i);
	return doc;
}

/* ---- writers ------------------------------------------------------------- */

static void print_table(
	FILE *out, const json_t *doc, const struct view *view, bool header, bool color)
{
	size_t n = n_rows(doc, view);
	if (n == 0) {
		fprintf(out, "%s\n", str_or(view->empty, "nothing"));
		return;
	}
	struct str *cells = rw_calloc(n * view->n_columns, sizeof(*cells));
	size_t *widths = rw_calloc(view->n_columns, sizeof(*widths));
	for (size_t c = 0; c < view->n_columns; c++) {
		if (header)
			widths[c] = width_of(header_of(&view->columns[c]));
		else
			widths[c] = 0;
		for (size_t r = 0; r < n; r++) {
			struct str *cell = &cells[r * view->n_columns + c];
			add_cell(cell, writer_row_at(doc, view, r), &view->columns[c], true);
			writer_tame(cell);
			size_t w = width_of(cell->s);
			if (w > widths[c])
				widths[c] = w;
		}
	}
	for (size_t r = header ? 0 : 1; r <= n; r++) { /* line 0 is the header */
		if (r == 0 && color)
			fputs("\033[1m", out);
		for (size_t c = 0; c < view->n_columns; c++) {
			const char *s;
			if (r == 0)
				s = header_of(&view->columns[c]);
			else
				s = cells[(r - 1) * view->n_columns + c].s;
			int pad = (int)(widths[c] - width_of(s));
			bool last = c + 1 == view->n_columns;
			if (is_right(&view->columns[c]))
				fprintf(out, "%*s%s%s", pad, "", s, str_if(!last, "  "));
			else
				fprintf(out, "%s%*s", s, last ? 0 : pad + 2, "");
		}
		fputs(r == 0 && color ? "\033[0m\n" : "\n", out);
	}
	for (size_t i = 0; i < n * view->n_columns; i++)
		str_done(&cells[i]);
	free(cells);
	free(widths);
}

static void print_csv(FILE *out, const json_t *doc, const struct view *view, bool header)
{
	size_t n = n_rows(doc, view);
	for (size_t c = 0; header && c < view->n_columns; c++) {
		/* Keys, not headings: they carry the unit and do not change with the layout.
		 * "hosts[]" is read as hosts. */
		char key[64];
		snprintf(key, sizeof(key), "%.*s", (int)strcspn(view->columns[c].key, "["),
			view->columns[c].key);
		fputs(str_if(c, ","), out);
		csv_field_print(out, key);
	}
	if (header)
		fputc('\n', out);
	for (size_t r = 0; r < n; r++) {
		for (size_t c = 0; c < view->n_columns; c++) {
			rw_cleanup(str_done) struct str cell = {0};
			add_cell(&cell, writer_row_at(doc, view, r), &view->columns[c], false);
			fputs(str_if(c, ","), out);
			csv_field_print(out, cell.s);
		}
		fputc('\n', out);
	}
}

static void print_html_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		switch (*text) {
		case '&': fputs("&amp;", out); break;
		case '<': fputs("&lt;", out); break;
		case '>': fputs("&gt;", out); break;
		case '"': fputs("&quot;", out); break;
		case '\'': fputs("&#39;", out); break;
		default: fputc(*text, out); break;
		}
	}
}

/* One file that needs no other: it is mailed, archived and opened where there is no network. */
static void print_html_begin(FILE *out, const char *title)
{
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
}

static void print_html_table(FILE *out, const json_t *doc, const struct view *view, bool header)
{
	const size_t n = n_rows(doc, view);
	fputs("<table>\n", out);
	for (size_t r = header ? 0 : 1; r <= n; r++) {
		fputs("<tr>", out);
		for (size_t c = 0; c < view->n_columns; c++) {
			rw_cleanup(str_done) struct str cell = {0};
			if (r > 0) {
				add_cell(&cell, writer_row_at(doc, view, r - 1), &view->columns[c],
					true);
				writer_tame(&cell);
			}
			fprintf(out, "<%s%s>", r ? "td" : "th",
				str_if(is_right(&view->columns[c]), " class=\"r\""));
			print_html_text(out, r ? cell.s : header_of(&view->columns[c]));
			fputs(r ? "</td>" : "</th>", out);
		}
		fputs("</tr>\n", out);
	}
	fputs("</table>\n", out);
}

static void print_html(FILE *out, const json_t *doc, const struct view *view, bool header)
{
	print_html_begin(out, str_or(view->title, "rocewatch"));
	if (n_rows(doc, view) == 0) {
		fputs("<p>", out);
		print_html_text(out, str_or(view->empty, "nothing"));
		fputs("</p>\n", out);
	} else {
		print_html_table(out, doc, view, header);
	}
	fputs("</body>\n</html>\n", out);
}

/* GitHub-flavoured tables: a pipe ends a cell, and the characters of markup would be read as
 * markup. */
static void print_md_text(FILE *out, const char *text)
{
	for (; *text; text++) {
		if (strchr("|\\`*_<>[]", *text))
			fputc('\\', out);
		fputc(*text, out);
	}
}

static void print_md_table(FILE *out, const json_t *doc, const struct view *view)
{
	const size_t n = n_rows(doc, view);
	/* a table without this line is not one: --no-header drops the title only */
	for (size_t c = 0; c < view->n_columns; c++) {
		fputs("| ", out);
		print_md_text(out, header_of(&view->columns[c]));
		fputc(' ', out);
	}
	fputs("|\n", out);
	for (size_t c = 0; c < view->n_columns; c++)
		fputs(is_right(&view->columns[c]) ? "|---:" : "|---", out);
	fputs("|\n", out);
	for (size_t r = 0; r < n; r++) {
		for (size_t c = 0; c < view->n_columns; c++) {
			rw_cleanup(str_done) struct str cell = {0};
			add_cell(&cell, writer_row_at(doc, view, r), &view->columns[c], true);
			writer_tame(&cell);
			fputs("| ", out);
			print_md_text(out, cell.s);
			fputc(' ', out);
		}
		fputs("|\n", out);
	}
}

static void print_md(FILE *out, const json_t *doc, const struct view *view, bool header)
{
	if (view->title && header) {
		fputs("## ", out);
		print_md_text(out, view->title);
		fputs("\n\n", out);
	}
	if (n_rows(doc, view)) {
		print_md_table(out, doc, view);
		return;
	}
	print_md_text(out, str_or(view->empty, "nothing"));
	fputc('\n', out);
}

void report_page_begin(FILE *out, const char *title, enum report_format format)
{
	if (format == FORMAT_HTML)
		print_html_begin(out, title);
}

void report_page_text(FILE *out, const char *text, enum report_format format)
{
	rw_cleanup(str_done) struct str tame = {0};
	str_add(&tame, text);
	writer_tame(&tame);
	if (format == FORMAT_HTML)
		print_html_text(out, tame.s);
	else
		print_md_text(out, tame.s);
}

void report_page_table(
	FILE *out, const json_t *doc, const struct view *view, enum report_format format)
{
	if (format == FORMAT_HTML)
		print_html_table(out, doc, view, true);
	else
		print_md_table(out, doc, view);
}

void report_page_end(FILE *out, enum report_format format)
{
	if (format == FORMAT_HTML)
		fputs("</body>\n</html>\n", out);
}

/* 15 digits: 0.2 stays 0.2; counters are integers and keep every digit. */
#define JSON_STYLE JSON_REAL_PRECISION(15)

static void print_jsonl(FILE *out, const json_t *doc, const struct view *view)
{
	for (size_t r = 0; r < n_rows(doc, view); r++) {
		json_print(out, writer_row_at(doc, view, r), JSON_STYLE | JSON_COMPACT);
		fputc('\n', out);
	}
}

int report_print(FILE *out, const json_t *doc, const struct view *view, enum report_format format,
	bool header, bool color)
{
	const bool page = view->page && (format == FORMAT_HTML || format == FORMAT_MD);
	if (page) {
		view->page(out, doc, format);
		return fflush(out) == 0 && !ferror(out) ? 0 : -EIO;
	}
	switch (format) {
	case FORMAT_JSON:
		json_print(out, doc, JSON_STYLE | JSON_INDENT(2));
		fputc('\n', out);
		break;
	case FORMAT_JSONL: print_jsonl(out, doc, view); break;
	case FORMAT_CSV: print_csv(out, doc, view, header); break;
	case FORMAT_HTML: print_html(out, doc, view, header); break;
	case FORMAT_MD: print_md(out, doc, view, header); break;
	case FORMAT_TABLE:
		if (view->text)
			view->text(out, doc, view, color, header);
		else
			print_table(out, doc, view, header, color);
		break;
	}
	if (fflush(out) == 0 && !ferror(out))
		return 0;
	return -EIO;
}
