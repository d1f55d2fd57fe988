/* writer - JSON is the document as it is; csv and table walk the columns of the view over its rows;
 * html and md are pages. */
#include "agent/document/writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/document/csv_field.h"
#include "agent/document/json_print.h"
#include "agent/document/json_value.h"
#include "agent/document/page.h"
#include "agent/document/paper.h"

/* Columns on the screen, taking each code point for one. */
static size_t width_of(const char *text)
{
	size_t n = 0;
	for (; *text; text++)
		n += ((unsigned char)*text & 0xc0) != 0x80;
	return n;
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
			widths[c] = width_of(column_header(&view->columns[c]));
		else
			widths[c] = 0;
		for (size_t r = 0; r < n; r++) {
			struct str *cell = &cells[r * view->n_columns + c];
			column_add_cell(cell, writer_row_at(doc, view, r), &view->columns[c], true);
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
				s = column_header(&view->columns[c]);
			else
				s = cells[(r - 1) * view->n_columns + c].s;
			int pad = (int)(widths[c] - width_of(s));
			bool last = c + 1 == view->n_columns;
			if (column_is_right(&view->columns[c]))
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
			column_add_cell(
				&cell, writer_row_at(doc, view, r), &view->columns[c], false);
			fputs(str_if(c, ","), out);
			csv_field_print(out, cell.s);
		}
		fputc('\n', out);
	}
}

/* A view without a page of its own: its title and its table. */
static json_t *writer_page(const json_t *doc, const struct view *view, bool header)
{
	if (view->page)
		return view->page(doc);
	json_t *page = page_new(str_or(view->title, "rocewatch"));
	if (view->title && header)
		page_title(page, view->title, NULL);
	if (view->rows) {
		page_table(page, NULL, view->columns, view->n_columns,
			json_object_get(doc, view->rows));
	} else {
		json_t *rows = json_pack("[O]", doc);
		page_table(page, NULL, view->columns, view->n_columns, rows);
		json_decref(rows);
	}
	if (n_rows(doc, view) == 0)
		page_text(page, str_or(view->empty, "nothing"));
	return page;
}

static int writer_print_page(FILE *out, const json_t *doc, const struct view *view,
	enum report_format format, bool header, bool color)
{
	const struct page_style style = {.format = format,
		.width = paper_width(out, 100, 160),
		.color = color,
		.ascii = !paper_is_utf8()};
	json_t *page = writer_page(doc, view, header);
	const int rc = page_print(out, page, &style);
	json_decref(page);
	return rc;
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
	const bool paged = format == FORMAT_HTML || format == FORMAT_MD;
	if (paged || (format == FORMAT_TABLE && view->page && !view->text))
		return writer_print_page(out, doc, view, format, header, color);
	switch (format) {
	case FORMAT_JSON:
		json_print(out, doc, JSON_STYLE | JSON_INDENT(2));
		fputc('\n', out);
		break;
	case FORMAT_JSONL: print_jsonl(out, doc, view); break;
	case FORMAT_CSV: print_csv(out, doc, view, header); break;
	case FORMAT_HTML:
	case FORMAT_MD: break;
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
