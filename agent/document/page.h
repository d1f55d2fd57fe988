/*
 * page - what a person reads, built once and printed as text, markdown or html: a list of blocks.
 * Whoever builds it says what stands there, never how it looks.
 *
 * Texts are cleaned when they are added (text_clean): no control character reaches a terminal, and
 * the writers escape what markdown or html would take for markup. The html needs no other file and
 * runs no script; it is laid out in tables with inline styles, for mail clients that drop
 * stylesheets, and its charts are SVG with the numbers beside them in text, for those that drop
 * SVG.
 *
 *   struct page *page = page_new("Queue pairs");
 *   page_title(page, "Queue pairs", "demo, 2026-11-21");
 *   page_verdict(page, "WARNING", "3 of 16 are slow");
 *   page_fact(page, "slowest", "0x001004");
 *   page_table(page, NULL, columns, rw_countof(columns), json_object_get(doc, "qps"));
 *   page_print(stdout, page, &style);
 *   page_free(page);
 *
 * An empty or missing text, and a table without rows, prints nothing. Any thread.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"
#include "agent/document/column.h"
#include "agent/document/writer.h"

struct page_block;

/* page_new - an empty page; the caller owns it. @title is the name of an html document; no format
 * prints it in the page itself. */
struct page *page_new(const char *title);
void page_free(struct page *page); /* NULL is fine */

/* ---- texts ---------------------------------------------------------------- */

/* page_title - the one large heading, and a line below it in small type, or NULL. */
void page_title(struct page *page, const char *text, const char *below);
/* page_verdict - @state, one of OK, WARNING, CRITICAL, UNKNOWN, in its colour, and why. */
void page_verdict(struct page *page, const char *state, const char *text);
void page_heading(struct page *page, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* page_text - a paragraph. */
void page_text(struct page *page, const char *text);
void page_textf(struct page *page, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* page_fact - a label of at most 12 columns and a text beside it. A fact with the label "", or with
 * the label of the fact above, is a further line of that one. */
void page_fact(struct page *page, const char *label, const char *text);
void page_factf(struct page *page, const char *label, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* page_link - a fact that is a link in html and markdown when @where begins with http:// or
 * https://, and else reads as a command. */
void page_link(struct page *page, const char *label, const char *where);
/* page_item - one of a list with dots; items below one another are one list. */
void page_item(struct page *page, const char *text);
/* page_code - commands, exactly as they are typed; lines are kept. @label may be "". */
void page_code(struct page *page, const char *label, const char *text);
/* page_gap - some room before what follows. */
void page_gap(struct page *page);

/* ---- tables --------------------------------------------------------------- */

/* page_table - one row for each object of the array @rows, cells by column_add_cell(). @caption may
 * be NULL. page_rows - of @n structs, one after the other. */
void page_table(struct page *page, const char *caption, const struct column *columns, size_t n,
	const json_t *rows);
void page_rows(struct page *page, const char *caption, const struct shape_table *table,
	const void *rows, size_t n);

#define PAGE_CELLS 8
struct page_row {
	char *cell[PAGE_CELLS]; /* NULL prints as nothing */
};
/* page_grid - a table of texts that the caller made. Takes @rows and all cells, both from the
 * heap. */
void page_grid(struct page *page, const char *const *headers, size_t n_columns,
	struct page_row *rows, size_t n_rows);

/* ---- charts --------------------------------------------------------------- */
/* A value that is not known is NAN; it is drawn as a gap, never as 0. @unit: one of those
 * in db/model/metric.def, or "USD". Charts are borrowed from the page. */

/* page_quantity - @value with @unit as charts and figures print it; "-" for NAN. */
void page_quantity(struct str *out, double value, const char *unit);

/* page_bars - horizontal bars, one a line. */
struct page_block *page_bars(struct page *page, const char *title, const char *unit);
/* page_bar - @state (see page_verdict) colours it; NULL: plain. */
void page_bar(struct page_block *bars, const char *label, double value, const char *state);

enum page_draw { PAGE_LINES, PAGE_COLUMNS };
/* page_times - values over time, from @since to @until (RFC 3339), each series spread evenly over
 * that range. PAGE_COLUMNS is for one series. */
struct page_block *page_times(struct page *page, const char *title, const char *unit,
	const char *since, const char *until, enum page_draw draw);
/* page_series - copies @values. Of more than 300, the highest of each run is drawn. */
void page_series(struct page_block *times, const char *name, const double *values, size_t n_values);
/* page_series_tree - the same of an array of numbers and nulls, borrowed. */
void page_series_tree(struct page_block *times, const char *name, const json_t *values);

/* page_limit - a dashed line across bars or times. */
void page_limit(struct page_block *chart, double value, const char *name);

/* page_heat - a matrix of colours, from 0 to the highest value. */
struct page_block *page_heat(struct page *page, const char *title, const char *unit);
void page_heat_column(struct page_block *heat, const char *label);
/* page_heat_row - copies @values, one for each column. */
void page_heat_row(
	struct page_block *heat, const char *label, const double *values, size_t n_values);

/* ---- printing ------------------------------------------------------------- */

struct page_style {
	enum report_format format; /* FORMAT_MD, FORMAT_HTML; all others print text */
	size_t width; /* of text, in columns; 0: 100 */
	bool color; /* text: escape sequences of a terminal */
	bool ascii; /* text: no character beyond ASCII in bars and charts */
};

/* page_print - 0, or -EIO when writing failed. */
int page_print(FILE *out, const struct page *page, const struct page_style *style);
