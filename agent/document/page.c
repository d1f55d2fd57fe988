/* page - adds blocks to a page. */
#include "agent/document/page.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/number.h"
#include "agent/base/str.h"
#include "agent/base/text_clean.h"
#include "agent/document/json_value.h"
#include "agent/document/quantity.h"

/* ---- texts ---------------------------------------------------------------- */

static json_t *page_clean(const char *text)
{
	rw_cleanup(freep) char *clean = text_clean_copy(str_or(text, ""));
	return json_string(clean);
}

/* Each line by itself, so that line ends stay. */
static json_t *page_clean_lines(const char *text)
{
	rw_cleanup(str_done) struct str all = {0};
	str_add(&all, "");
	while (*text) {
		const size_t n = strcspn(text, "\n");
		rw_cleanup(freep) char *line = strndup(text, n);
		rw_cleanup(freep) char *clean = text_clean_copy(str_or(line, ""));
		str_addf(&all, "%s\n", clean);
		text += n + (text[n] == '\n');
	}
	return json_string(all.s);
}

/* A new block of @kind at the end of the page, which owns it. */
static json_t *page_add(json_t *page, const char *kind)
{
	json_t *block = json_object();
	json_object_set_new(block, "kind", json_string(kind));
	json_array_append_new(json_object_get(page, "blocks"), block);
	return block;
}

/* The last block if it is of @kind, else NULL. */
static json_t *page_last(const json_t *page, const char *kind)
{
	const json_t *blocks = json_object_get(page, "blocks");
	const size_t n = json_array_size(blocks);
	if (n == 0)
		return NULL;
	json_t *last = json_array_get(blocks, n - 1);
	return str_eq(doc_word(last, "kind"), kind) ? last : NULL;
}

__attribute__((format(printf, 1, 0))) static char *page_format(const char *fmt, va_list args)
{
	char *text = NULL;
	if (vasprintf(&text, fmt, args) < 0)
		return NULL;
	return text;
}

json_t *page_new(const char *title)
{
	json_t *page = json_object();
	json_object_set_new(page, "title", page_clean(title));
	json_object_set_new(page, "blocks", json_array());
	return page;
}

void page_title(json_t *page, const char *text, const char *below)
{
	json_t *block = page_add(page, "title");
	json_object_set_new(block, "text", page_clean(text));
	json_object_set_new(block, "below", page_clean(below));
}

void page_verdict(json_t *page, const char *state, const char *text)
{
	json_t *block = page_add(page, "verdict");
	json_object_set_new(block, "state", page_clean(state));
	json_object_set_new(block, "text", page_clean(text));
}

void page_heading(json_t *page, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	rw_cleanup(freep) char *text = page_format(fmt, args);
	va_end(args);
	json_object_set_new(page_add(page, "heading"), "text", page_clean(text));
}

void page_text(json_t *page, const char *text)
{
	if (text && *text)
		json_object_set_new(page_add(page, "text"), "text", page_clean(text));
}

void page_textf(json_t *page, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	rw_cleanup(freep) char *text = page_format(fmt, args);
	va_end(args);
	page_text(page, text);
}

static json_t *page_add_fact(json_t *page, const char *label, const char *text)
{
	json_t *fact = page_last(page, "fact");
	const bool further = fact && (!*label || str_eq(doc_word(fact, "label"), label));
	if (!further) {
		fact = page_add(page, "fact");
		json_object_set_new(fact, "label", page_clean(label));
		json_object_set_new(fact, "texts", json_array());
	}
	json_array_append_new(json_object_get(fact, "texts"), page_clean(text));
	return fact;
}

void page_fact(json_t *page, const char *label, const char *text)
{
	if (text && *text)
		page_add_fact(page, label, text);
}

void page_factf(json_t *page, const char *label, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	rw_cleanup(freep) char *text = page_format(fmt, args);
	va_end(args);
	page_fact(page, label, text);
}

void page_link(json_t *page, const char *label, const char *where)
{
	if (where && *where)
		json_object_set_new(page_add_fact(page, label, where), "link", json_true());
}

void page_item(json_t *page, const char *text)
{
	json_t *list = page_last(page, "list");
	if (!text || !*text)
		return;
	if (!list) {
		list = page_add(page, "list");
		json_object_set_new(list, "texts", json_array());
	}
	json_array_append_new(json_object_get(list, "texts"), page_clean(text));
}

void page_code(json_t *page, const char *label, const char *text)
{
	if (!text || !*text)
		return;
	json_t *block = page_add(page, "code");
	json_object_set_new(block, "label", page_clean(label));
	json_object_set_new(block, "text", page_clean_lines(text));
}

void page_gap(json_t *page)
{
	page_add(page, "gap");
}

/* ---- tables --------------------------------------------------------------- */

static json_t *page_add_table(json_t *page, const char *caption)
{
	json_t *table = page_add(page, "table");
	json_object_set_new(table, "caption", page_clean(caption));
	json_object_set_new(table, "columns", json_array());
	json_object_set_new(table, "rows", json_array());
	return table;
}

/* In capitals: the tables of a page look alike. */
static json_t *page_header(const char *header)
{
	rw_cleanup(str_done) struct str capitals = {0};
	str_add(&capitals, str_or(header, ""));
	for (size_t i = 0; i < capitals.n; i++)
		capitals.s[i] = (char)toupper((unsigned char)capitals.s[i]);
	return page_clean(str_or(capitals.s, ""));
}

static void page_add_column(json_t *table, const char *header, bool right, bool state)
{
	json_t *column = json_object();
	json_object_set_new(column, "header", page_header(header));
	json_object_set_new(column, "right", json_boolean(right));
	json_object_set_new(column, "state", json_boolean(state));
	json_array_append_new(json_object_get(table, "columns"), column);
}

void page_table(json_t *page, const char *caption, const struct column *columns, size_t n,
	const json_t *rows)
{
	const json_t *row;
	size_t r;
	if (json_array_size(rows) == 0)
		return;
	json_t *table = page_add_table(page, caption);
	for (size_t c = 0; c < n; c++)
		page_add_column(table, column_header(&columns[c]), column_is_right(&columns[c]),
			columns[c].kind == COL_STATE);
	json_array_foreach (rows, r, row) {
		json_t *cells = json_array();
		for (size_t c = 0; c < n; c++) {
			rw_cleanup(str_done) struct str cell = {0};
			column_add_cell(&cell, row, &columns[c], true);
			json_array_append_new(cells, page_clean(cell.s));
		}
		json_array_append_new(json_object_get(table, "rows"), cells);
	}
}

void page_grid(json_t *page, const char *const *headers, size_t n_columns, struct page_row *rows,
	size_t n_rows)
{
	json_t *table = NULL;
	if (n_rows > 0)
		table = page_add_table(page, NULL);
	for (size_t c = 0; table && c < n_columns; c++)
		page_add_column(table, headers[c], false, false);
	for (size_t r = 0; r < n_rows; r++) {
		json_t *cells = json_array();
		for (size_t c = 0; c < PAGE_CELLS; c++) {
			if (c < n_columns)
				json_array_append_new(cells, page_clean(rows[r].cell[c]));
			free(rows[r].cell[c]);
		}
		json_array_append_new(json_object_get(table, "rows"), cells);
	}
	free(rows);
}

/* ---- charts --------------------------------------------------------------- */

void page_quantity(struct str *out, double value, const char *unit)
{
	/* what is left of a difference of equal numbers is no value */
	if (str_eq(unit, "ratio") && fabs(value) < 5e-6)
		value = 0;
	if (isnan(value))
		str_add(out, "-");
	else if (str_eq(unit, "USD"))
		str_add(out, number_usd(value).s);
	else
		str_add_quantity(out, value, unit);
}

static json_t *page_add_chart(json_t *page, const char *kind, const char *title, const char *unit)
{
	json_t *chart = page_add(page, kind);
	json_object_set_new(chart, "title", page_clean(title));
	json_object_set_new(chart, "unit", page_clean(unit));
	return chart;
}

json_t *page_bars(json_t *page, const char *title, const char *unit)
{
	json_t *bars = page_add_chart(page, "bars", title, unit);
	json_object_set_new(bars, "bars", json_array());
	return bars;
}

void page_bar(json_t *bars, const char *label, double value, const char *state)
{
	json_t *bar = json_object();
	json_object_set_new(bar, "label", page_clean(label));
	json_object_set_new(bar, "value", json_number_or_null(value));
	json_object_set_new(bar, "state", page_clean(state));
	json_array_append_new(json_object_get(bars, "bars"), bar);
}

json_t *page_times(json_t *page, const char *title, const char *unit, const char *since,
	const char *until, enum page_draw draw)
{
	json_t *times = page_add_chart(page, "times", title, unit);
	json_object_set_new(times, "since", page_clean(since));
	json_object_set_new(times, "until", page_clean(until));
	json_object_set_new(times, "columns", json_boolean(draw == PAGE_COLUMNS));
	json_object_set_new(times, "series", json_array());
	return times;
}

/* The highest of each run, so that at most @most are left. */
static json_t *page_thin(const json_t *values, size_t most)
{
	const size_t n = json_array_size(values);
	json_t *thin = json_array();
	for (size_t i = 0; i < most; i++) {
		double top = NAN;
		for (size_t k = i * n / most; k < (i + 1) * n / most; k++) {
			const json_t *value = json_array_get(values, k);
			if (json_is_number(value))
				top = fmax(top, json_number_value(value));
		}
		json_array_append_new(thin, json_number_or_null(top));
	}
	return thin;
}

void page_series(json_t *times, const char *name, json_t *values)
{
	enum { DRAWN_MOST = 300 };
	json_t *series = json_object();
	json_object_set_new(series, "name", page_clean(name));
	if (json_array_size(values) > DRAWN_MOST) {
		json_object_set_new(series, "values", page_thin(values, DRAWN_MOST));
		json_decref(values);
	} else {
		json_object_set_new(series, "values", values);
	}
	json_array_append_new(json_object_get(times, "series"), series);
}

void page_limit(json_t *chart, double value, const char *name)
{
	json_object_set_new(chart, "limit", json_number_or_null(value));
	json_object_set_new(chart, "limit_name", page_clean(name));
}

json_t *page_heat(json_t *page, const char *title, const char *unit)
{
	json_t *heat = page_add_chart(page, "heat", title, unit);
	json_object_set_new(heat, "columns", json_array());
	json_object_set_new(heat, "rows", json_array());
	return heat;
}

void page_heat_column(json_t *heat, const char *label)
{
	json_array_append_new(json_object_get(heat, "columns"), page_clean(label));
}

void page_heat_row(json_t *heat, const char *label, json_t *values)
{
	json_t *row = json_object();
	json_object_set_new(row, "label", page_clean(label));
	json_object_set_new(row, "values", values);
	json_array_append_new(json_object_get(heat, "rows"), row);
}
