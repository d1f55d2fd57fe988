/* page - adds blocks to a page. */
#include "agent/document/page.h"

#include "agent/document/page_blocks.h"
#include "agent/document/quantity.h"
#include "agent/document/shape.h"
#include "agent/document/page_writers.h"

/* ---- page_markup - what text, html and SVG of a page have in common: escapes and colours. */

void page_write_escaped(FILE *out, const char *text)
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

const char *page_color(const char *state)
{
	static const struct {
		const char *state, *color;
	} colors[] = {
		{"critical", "#c62828"},
		{"down", "#c62828"},
		{"action", "#c62828"},
		{"warning", "#b26a00"},
		{"unknown", "#6b4fa0"},
		{"no data", "#6b4fa0"},
		{"ok", "#2e7d32"},
	};
	for (size_t i = 0; i < rw_countof(colors); i++)
		if (strcasecmp(state, colors[i].state) == 0)
			return colors[i].color;
	return NULL;
}

const char *page_series_color(size_t i)
{
	/* Okabe and Ito (2008): apart also for eyes that see no red or no green */
	static const char *const colors[] = {
		"#3b8fd0", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"};
	return colors[i % rw_countof(colors)];
}

/* ---- blocks --------------------------------------------------------------- */

static const char *page_clean(struct arena *a, const char *text)
{
	rw_cleanup(freep) char *clean = text_clean_copy(str_or(text, ""));
	return arena_strdup(a, clean);
}

/* Each line by itself, so that line ends stay. */
static const char *page_clean_lines(struct arena *a, const char *text)
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
	return arena_strdup(a, all.s);
}

/* A new block of @kind at the end of the page, which owns it. */
static struct page_block *page_add(struct page *page, enum block_kind kind, const char *text)
{
	struct page_block *block = arena_new_of(page->arena, struct page_block);
	*block = (struct page_block){.arena = page->arena,
		.kind = kind,
		.text = page_clean(page->arena, text),
		.label = "",
		.state = "",
		.below = "",
		.unit = "",
		.limit_name = "",
		.since = "",
		.until = "",
		.limit = NAN};
	arena_grow(page->arena, page->blocks, page->n, page->cap);
	page->blocks[page->n++] = block;
	return block;
}

/* The last block if it is of @kind, else NULL. */
static struct page_block *page_last(const struct page *page, enum block_kind kind)
{
	if (page->n == 0 || page->blocks[page->n - 1]->kind != kind)
		return NULL;
	return page->blocks[page->n - 1];
}

static void page_texts_add(struct page_block *block, const char *text)
{
	struct page_texts *texts = &block->texts;
	arena_grow(block->arena, texts->v, texts->n, texts->cap);
	texts->v[texts->n++] = page_clean(block->arena, text);
}

__attribute__((format(printf, 1, 0))) static char *page_format(const char *fmt, va_list args)
{
	char *text = NULL;
	if (vasprintf(&text, fmt, args) < 0)
		return NULL;
	return text;
}

struct page *page_new(const char *title)
{
	struct arena *a = arena_new();
	struct page *page = arena_new_of(a, struct page);
	*page = (struct page){.arena = a, .title = page_clean(a, title)};
	return page;
}

void page_free(struct page *page)
{
	if (page)
		arena_free(page->arena);
}

/* ---- texts ---------------------------------------------------------------- */

void page_title(struct page *page, const char *text, const char *below)
{
	page_add(page, BLOCK_TITLE, text)->below = page_clean(page->arena, below);
}

void page_verdict(struct page *page, const char *state, const char *text)
{
	page_add(page, BLOCK_VERDICT, text)->state = page_clean(page->arena, state);
}

void page_heading(struct page *page, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	rw_cleanup(freep) char *text = page_format(fmt, args);
	va_end(args);
	page_add(page, BLOCK_HEADING, text);
}

void page_text(struct page *page, const char *text)
{
	if (text && *text)
		page_add(page, BLOCK_TEXT, text);
}

void page_textf(struct page *page, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	rw_cleanup(freep) char *text = page_format(fmt, args);
	va_end(args);
	page_text(page, text);
}

static struct page_block *page_add_fact(struct page *page, const char *label, const char *text)
{
	struct page_block *fact = page_last(page, BLOCK_FACT);
	const bool further = fact && (!*label || str_eq(fact->label, label));
	if (!further) {
		fact = page_add(page, BLOCK_FACT, NULL);
		fact->label = page_clean(page->arena, label);
	}
	page_texts_add(fact, text);
	return fact;
}

void page_fact(struct page *page, const char *label, const char *text)
{
	if (text && *text)
		page_add_fact(page, label, text);
}

void page_factf(struct page *page, const char *label, const char *fmt, ...)
{
	va_list args;
	va_start(args, fmt);
	rw_cleanup(freep) char *text = page_format(fmt, args);
	va_end(args);
	page_fact(page, label, text);
}

void page_link(struct page *page, const char *label, const char *where)
{
	if (where && *where)
		page_add_fact(page, label, where)->link = true;
}

void page_item(struct page *page, const char *text)
{
	struct page_block *list = page_last(page, BLOCK_LIST);
	if (!text || !*text)
		return;
	if (!list)
		list = page_add(page, BLOCK_LIST, NULL);
	page_texts_add(list, text);
}

void page_code(struct page *page, const char *label, const char *text)
{
	if (!text || !*text)
		return;
	struct page_block *block = page_add(page, BLOCK_CODE, NULL);
	block->label = page_clean(page->arena, label);
	block->text = page_clean_lines(page->arena, text);
}

void page_gap(struct page *page)
{
	page_add(page, BLOCK_GAP, NULL);
}

/* ---- tables --------------------------------------------------------------- */

/* In capitals: the tables of a page look alike. */
static const char *page_header(struct arena *a, const char *header)
{
	rw_cleanup(str_done) struct str capitals = {0};
	str_add(&capitals, str_or(header, ""));
	for (size_t i = 0; i < capitals.n; i++)
		capitals.s[i] = (char)toupper((unsigned char)capitals.s[i]);
	return page_clean(a, capitals.s);
}

static void page_add_column(struct page_block *table, const char *header, bool right, bool state)
{
	arena_grow(table->arena, table->columns, table->n_columns, table->cap_columns);
	table->columns[table->n_columns++] = (struct page_column){
		.header = page_header(table->arena, header), .right = right, .state = state};
}

/* A row of empty cells, one for each column that was added. */
static const char **page_add_row(struct page_block *table)
{
	arena_grow(table->arena, table->rows, table->n_rows, table->cap_rows);
	const char **cells = arena_array(table->arena, const char *, table->n_columns);
	table->rows[table->n_rows++] = (struct page_cells){cells};
	return cells;
}

void page_table(struct page *page, const char *caption, const struct column *columns, size_t n,
	const json_t *rows)
{
	const json_t *row;
	size_t r;
	if (json_array_size(rows) == 0)
		return;
	struct page_block *table = page_add(page, BLOCK_TABLE, caption);
	for (size_t c = 0; c < n; c++)
		page_add_column(table, column_header(&columns[c]), column_is_right(&columns[c]),
			columns[c].kind == COL_STATE);
	json_array_foreach (rows, r, row) {
		const char **cells = page_add_row(table);
		for (size_t c = 0; c < n; c++) {
			rw_cleanup(str_done) struct str cell = {0};
			column_add_cell(&cell, row, &columns[c], true);
			cells[c] = page_clean(page->arena, cell.s);
		}
	}
}

void page_rows(struct page *page, const char *caption, const struct shape_table *table,
	const void *rows, size_t n)
{
	struct shape_column *columns =
		arena_array(page->arena, struct shape_column, shape_table_columns(table, NULL));
	const size_t n_columns = shape_table_columns(table, columns);
	if (n == 0)
		return;
	struct page_block *block = page_add(page, BLOCK_TABLE, caption);
	for (size_t c = 0; c < n_columns; c++)
		page_add_column(block, columns[c].head, columns[c].right, columns[c].field->state);
	for (size_t r = 0; r < n; r++) {
		const char **cells = page_add_row(block);
		for (size_t c = 0; c < n_columns; c++) {
			rw_cleanup(str_done) struct str cell = {0};
			shape_add_column(
				&cell, shape_row_at(table->shape, rows, r), &columns[c], true);
			cells[c] = page_clean(page->arena, cell.s);
		}
	}
}

void page_grid(struct page *page, const char *const *headers, size_t n_columns,
	struct page_row *rows, size_t n_rows)
{
	struct page_block *table = NULL;
	if (n_rows > 0)
		table = page_add(page, BLOCK_TABLE, NULL);
	for (size_t c = 0; table && c < n_columns; c++)
		page_add_column(table, headers[c], false, false);
	for (size_t r = 0; r < n_rows; r++) {
		const char **cells = page_add_row(table);
		for (size_t c = 0; c < PAGE_CELLS; c++) {
			if (c < n_columns)
				cells[c] = page_clean(page->arena, rows[r].cell[c]);
			free(rows[r].cell[c]);
		}
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

static struct page_block *page_add_chart(
	struct page *page, enum block_kind kind, const char *title, const char *unit)
{
	struct page_block *chart = page_add(page, kind, title);
	chart->unit = page_clean(page->arena, unit);
	return chart;
}

static struct page_line *page_add_line(struct page_block *chart, const char *label)
{
	arena_grow(chart->arena, chart->lines, chart->n_lines, chart->cap_lines);
	struct page_line *line = &chart->lines[chart->n_lines++];
	*line = (struct page_line){
		.label = page_clean(chart->arena, label), .state = "", .value = NAN};
	return line;
}

static double page_known(double value)
{
	if (isfinite(value))
		return value;
	return NAN;
}

/* At most @most values: the highest of each run. */
static void page_line_values(struct page_block *chart, struct page_line *line, const double *values,
	size_t n, size_t most)
{
	const size_t drawn = n > most ? most : n;
	double *kept = arena_array(chart->arena, double, drawn + 1);
	for (size_t i = 0; i < drawn; i++) {
		kept[i] = NAN;
		for (size_t k = i * n / drawn; k < (i + 1) * n / drawn; k++)
			kept[i] = fmax(kept[i], page_known(values[k]));
	}
	line->values = kept;
	line->n = drawn;
}

struct page_block *page_bars(struct page *page, const char *title, const char *unit)
{
	return page_add_chart(page, BLOCK_BARS, title, unit);
}

void page_bar(struct page_block *bars, const char *label, double value, const char *state)
{
	struct page_line *bar = page_add_line(bars, label);
	bar->value = page_known(value);
	bar->state = page_clean(bars->arena, state);
}

struct page_block *page_times(struct page *page, const char *title, const char *unit,
	const char *since, const char *until, enum page_draw draw)
{
	struct page_block *times = page_add_chart(page, BLOCK_TIMES, title, unit);
	times->since = page_clean(page->arena, since);
	times->until = page_clean(page->arena, until);
	times->as_columns = draw == PAGE_COLUMNS;
	return times;
}

void page_series(struct page_block *times, const char *name, const double *values, size_t n_values)
{
	enum { DRAWN_MOST = 300 };
	page_line_values(times, page_add_line(times, name), values, n_values, DRAWN_MOST);
}

void page_series_tree(struct page_block *times, const char *name, const json_t *values)
{
	const size_t n = json_array_size(values);
	rw_cleanup(freep) double *numbers = rw_calloc(n + 1, sizeof(*numbers));
	for (size_t i = 0; i < n; i++) {
		const json_t *value = json_array_get(values, i);
		numbers[i] = json_is_number(value) ? json_number_value(value) : NAN;
	}
	page_series(times, name, numbers, n);
}

void page_limit(struct page_block *chart, double value, const char *name)
{
	chart->limit = page_known(value);
	chart->limit_name = page_clean(chart->arena, name);
}

struct page_block *page_heat(struct page *page, const char *title, const char *unit)
{
	return page_add_chart(page, BLOCK_HEAT, title, unit);
}

void page_heat_column(struct page_block *heat, const char *label)
{
	page_texts_add(heat, label);
}

void page_heat_row(
	struct page_block *heat, const char *label, const double *values, size_t n_values)
{
	page_line_values(heat, page_add_line(heat, label), values, n_values, n_values);
}
