/* page_text - a page as plain text of a given width. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/document/json_value.h"
#include "agent/document/page_chart.h"
#include "agent/document/page_writers.h"

enum { LABEL = 13, WIDTH_USUAL = 100, CELL_LEAST = 12, BAR = 30 };

struct text_page {
	FILE *out;
	size_t width;
	bool color, ascii;
};

static size_t text_page_columns(const char *text, size_t bytes)
{
	size_t n = 0;
	for (size_t k = 0; k < bytes; k++)
		n += ((unsigned char)text[k] & 0xc0) != 0x80;
	return n;
}

static size_t text_page_width(const char *text)
{
	return text_page_columns(text, strlen(text));
}

static void text_page_pad(const struct text_page *to, size_t n)
{
	fprintf(to->out, "%*s", (int)n, "");
}

/* Words from column @at on, further lines from column @indent on. */
static void text_page_wrap(const struct text_page *to, const char *text, size_t at, size_t indent)
{
	bool first = true;
	for (const char *s = text; *s;) {
		const size_t blanks = strspn(s, " ");
		const size_t n = strcspn(s + blanks, " ");
		const size_t wide = text_page_columns(s + blanks, n);
		if (n == 0)
			break;
		if (!first && at + 1 + wide > to->width) {
			fputc('\n', to->out);
			text_page_pad(to, indent);
			at = indent;
		} else if (!first) {
			fputc(' ', to->out);
			at++;
		}
		fwrite(s + blanks, 1, n, to->out);
		at += wide;
		first = false;
		s += blanks + n;
	}
	fputc('\n', to->out);
}

static void text_page_on(const struct text_page *to, const char *code)
{
	if (to->color)
		fprintf(to->out, "\033[%sm", code);
}

static const char *text_page_code(const char *state)
{
	static const struct {
		const char *color, *code;
	} codes[] = {
		{"#c62828", "1;31"}, {"#b26a00", "1;33"}, {"#6b4fa0", "35"}, {"#2e7d32", "32"}};
	const char *color = page_color(state);
	for (size_t i = 0; color && i < rw_countof(codes); i++)
		if (str_eq(codes[i].color, color))
			return codes[i].code;
	return NULL;
}

/* ---- texts ---------------------------------------------------------------- */

static void text_page_bold(const struct text_page *to, const char *text)
{
	text_page_on(to, "1");
	text_page_wrap(to, text, 0, 0);
	text_page_on(to, "0");
}

static void text_page_title(const struct text_page *to, const json_t *block)
{
	text_page_bold(to, doc_word(block, "text"));
	if (*doc_word(block, "below"))
		text_page_wrap(to, doc_word(block, "below"), 0, 0);
}

static void text_page_verdict(const struct text_page *to, const json_t *block)
{
	const char *state = doc_word(block, "state"), *code = text_page_code(state);
	if (code)
		text_page_on(to, code);
	fputs(state, to->out);
	if (code)
		text_page_on(to, "0");
	fputs("  ", to->out);
	const size_t indent = text_page_width(state) + 2;
	text_page_wrap(to, doc_word(block, "text"), indent, indent);
}

static void text_page_fact(const struct text_page *to, const json_t *block)
{
	const json_t *texts = json_object_get(block, "texts"), *text;
	const char *label = doc_word(block, "label");
	size_t i;
	json_array_foreach (texts, i, text) {
		fprintf(to->out, "%-*s", LABEL, i == 0 ? label : "");
		size_t at = LABEL;
		if (i == 0 && strlen(label) > LABEL)
			at = strlen(label);
		text_page_wrap(to, json_string_value(text), at, LABEL);
	}
}

static void text_page_list(const struct text_page *to, const json_t *block)
{
	const json_t *text;
	size_t i;
	json_array_foreach (json_object_get(block, "texts"), i, text) {
		fputs("- ", to->out);
		text_page_wrap(to, json_string_value(text), 2, 2);
	}
}

static void text_page_lines(const struct text_page *to, const char *label, const char *text)
{
	while (*text) {
		const size_t n = strcspn(text, "\n");
		fprintf(to->out, "%-*s%.*s\n", LABEL, label, (int)n, text);
		text += n + (text[n] == '\n');
		label = "";
	}
}

/* ---- tables --------------------------------------------------------------- */

static const char *text_page_cell(const json_t *row, size_t c)
{
	return str_or(json_string_value(json_array_get(row, c)), "");
}

static bool text_page_flag(const json_t *columns, size_t c, const char *key)
{
	return json_is_true(json_object_get(json_array_get(columns, c), key));
}

/* Columns of the longest word of @text. */
static size_t text_page_word(const char *text)
{
	size_t longest = 0;
	while (*text) {
		const size_t n = strcspn(text, " ");
		const size_t wide = text_page_columns(text, n);
		if (wide > longest)
			longest = wide;
		text += n + (text[n] == ' ');
	}
	return longest;
}

/* No word is cut: names are copied from here. */
static size_t text_page_least(const json_t *rows, size_t c)
{
	size_t least = CELL_LEAST, r;
	const json_t *row;
	json_array_foreach (rows, r, row) {
		const size_t word = text_page_word(text_page_cell(row, c));
		if (word > least)
			least = word;
	}
	return least;
}

/* The widest column of words gives up a column until all fit, or until every word stands alone. */
static void text_page_shrink(
	const struct text_page *to, const json_t *block, size_t *widths, size_t n)
{
	const json_t *columns = json_object_get(block, "columns"),
		     *rows = json_object_get(block, "rows");
	size_t *least = rw_calloc(n, sizeof(*least));
	size_t all = 2 * (n - 1);
	for (size_t c = 0; c < n; c++) {
		all += widths[c];
		least[c] = text_page_least(rows, c);
	}
	while (all > to->width) {
		size_t widest = n;
		for (size_t c = 0; c < n; c++)
			if (!text_page_flag(columns, c, "right") && widths[c] > least[c] &&
				(widest == n || widths[c] >= widths[widest]))
				widest = c;
		if (widest == n)
			break;
		widths[widest]--;
		all--;
	}
	free(least);
}

/* Bytes of @text that stand on a line of @width: whole words where there is a blank. */
static size_t text_page_line(const char *text, size_t width)
{
	size_t bytes = 0, columns = 0, blank = 0;
	for (; text[bytes]; bytes++) {
		const bool begins = ((unsigned char)text[bytes] & 0xc0) != 0x80;
		if (begins && columns == width)
			break;
		columns += begins;
		if (text[bytes] == ' ')
			blank = bytes;
	}
	if (!text[bytes] || text[bytes] == ' ' || blank == 0)
		return bytes;
	return blank;
}

/* One line of a row's cells; moves each of @at behind what it printed. Is anything left? */
static bool text_page_row_line(const struct text_page *to, const json_t *columns, const char **at,
	const size_t *widths, size_t n)
{
	bool more = false;
	size_t pending = 0; /* blanks, printed only where something follows */
	for (size_t c = 0; c < n; c++) {
		const size_t bytes = text_page_line(at[c], widths[c]);
		const size_t room = widths[c] - text_page_columns(at[c], bytes);
		const char *code = NULL;
		if (text_page_flag(columns, c, "state") && at[c][bytes] == '\0')
			code = text_page_code(at[c]);
		if (text_page_flag(columns, c, "right"))
			pending += room;
		if (bytes) {
			text_page_pad(to, pending);
			pending = 0;
		}
		if (code)
			text_page_on(to, code);
		fwrite(at[c], 1, bytes, to->out);
		if (code)
			text_page_on(to, "0");
		if (!text_page_flag(columns, c, "right"))
			pending += room;
		pending += 2;
		at[c] += bytes;
		at[c] += strspn(at[c], " ");
		more = more || *at[c];
	}
	fputc('\n', to->out);
	return more;
}

static void text_page_row(const struct text_page *to, const json_t *columns, const json_t *row,
	const size_t *widths, size_t n)
{
	const char **at = rw_calloc(n, sizeof(*at));
	for (size_t c = 0; c < n; c++) {
		at[c] = row ? text_page_cell(row, c)
			    : doc_word(json_array_get(columns, c), "header");
	}
	while (text_page_row_line(to, columns, at, widths, n))
		;
	free(at);
}

static void text_page_table(const struct text_page *to, const json_t *block)
{
	const json_t *columns = json_object_get(block, "columns"),
		     *rows = json_object_get(block, "rows"), *row;
	const size_t n = json_array_size(columns);
	size_t *widths = rw_calloc(n, sizeof(*widths));
	size_t r;
	for (size_t c = 0; c < n; c++)
		widths[c] = text_page_width(doc_word(json_array_get(columns, c), "header"));
	json_array_foreach (rows, r, row)
		for (size_t c = 0; c < n; c++) {
			const size_t width = text_page_width(text_page_cell(row, c));
			if (width > widths[c])
				widths[c] = width;
		}
	text_page_shrink(to, block, widths, n);
	if (*doc_word(block, "caption"))
		text_page_bold(to, doc_word(block, "caption"));
	text_page_on(to, "1");
	text_page_row(to, columns, NULL, widths, n);
	text_page_on(to, "0");
	json_array_foreach (rows, r, row)
		text_page_row(to, columns, row, widths, n);
	free(widths);
}

/* ---- charts --------------------------------------------------------------- */

static size_t text_page_label_width(const json_t *rows, const char *key)
{
	enum { LABEL_MOST = 32 };
	const json_t *row;
	size_t i, width = 0;
	json_array_foreach (rows, i, row) {
		const size_t wide = text_page_width(doc_word(row, key));
		if (wide > width)
			width = wide;
	}
	return width < LABEL_MOST ? width : LABEL_MOST;
}

static void text_page_label(const struct text_page *to, const char *label, size_t width)
{
	const size_t bytes = text_page_line(label, width);
	fwrite(label, 1, bytes, to->out);
	text_page_pad(to, width - text_page_columns(label, bytes) + 2);
}

static void text_page_chart_title(const struct text_page *to, const json_t *chart)
{
	rw_cleanup(str_done) struct str title = {0};
	page_add_title(&title, chart);
	text_page_bold(to, title.s);
}

static void text_page_bars(const struct text_page *to, const json_t *chart)
{
	const json_t *bars = json_object_get(chart, "bars"), *bar;
	const size_t width = text_page_label_width(bars, "label");
	const double top = page_chart_top(chart);
	size_t i;
	text_page_chart_title(to, chart);
	json_array_foreach (bars, i, bar) {
		rw_cleanup(str_done) struct str drawn = {0}, value = {0};
		const char *code = text_page_code(doc_word(bar, "state"));
		page_add_bar(&drawn, doc_number(bar, "value"), top, BAR, to->ascii);
		page_quantity(&value, doc_number(bar, "value"), doc_word(chart, "unit"));
		text_page_label(to, doc_word(bar, "label"), width);
		if (code)
			text_page_on(to, code);
		fputs(drawn.s, to->out);
		if (code)
			text_page_on(to, "0");
		fprintf(to->out, "  %s\n", value.s);
	}
}

static void text_page_times(const struct text_page *to, const json_t *chart)
{
	const json_t *series = json_object_get(chart, "series"), *one;
	const size_t width = text_page_label_width(series, "name");
	const double top = page_chart_top(chart);
	rw_cleanup(str_done) struct str range = {0};
	size_t i, room = to->width - LABEL;
	if (width + 4 < room)
		room -= width + 2;
	text_page_chart_title(to, chart);
	json_array_foreach (series, i, one) {
		rw_cleanup(str_done) struct str spark = {0}, numbers = {0};
		const json_t *values = json_object_get(one, "values");
		page_add_spark(&spark, values, top, room, to->ascii);
		page_add_range(&numbers, values, doc_word(chart, "unit"));
		text_page_label(to, doc_word(one, "name"), width);
		fprintf(to->out, "%s\n", str_or(spark.s, ""));
		text_page_pad(to, width + 2);
		text_page_wrap(to, numbers.s, width + 2, width + 2);
	}
	page_add_clock(&range, doc_word(chart, "since"));
	str_add(&range, " to ");
	page_add_clock(&range, doc_word(chart, "until"));
	text_page_pad(to, width + 2);
	fprintf(to->out, "%s\n", range.s);
}

static void text_page_heat_value(
	const struct text_page *to, double value, double top, const char *unit, size_t width)
{
	static const char *const shades[] = {" ", "░", "▒", "▓", "█"};
	static const char *const signs[] = {" ", ".", ":", "+", "#"};
	rw_cleanup(str_done) struct str text = {0};
	page_quantity(&text, value, unit);
	const char *shade = "?";
	if (!isnan(value)) {
		const long level = lround(fmin(fmax(value / top, 0), 1) * 4);
		shade = to->ascii ? signs[level] : shades[level];
	}
	if (width == 1)
		fputs(shade, to->out);
	else
		fprintf(to->out, "%*s%s %s", (int)(width - text_page_width(text.s) - 2), "", text.s,
			shade);
}

/* Numbers and shades where the width is enough, else only shades. */
static void text_page_heat(const struct text_page *to, const json_t *chart)
{
	enum { CELL = 12 };
	const json_t *rows = json_object_get(chart, "rows"), *row, *column,
		     *columns = json_object_get(chart, "columns");
	const size_t n = json_array_size(columns), label = text_page_label_width(rows, "label");
	const double top = page_chart_top(chart);
	const size_t cell = label + 2 + n * CELL <= to->width ? CELL : 1;
	size_t r, c;
	text_page_chart_title(to, chart);
	if (cell > 1) {
		text_page_pad(to, label + 2);
		json_array_foreach (columns, c, column) {
			const char *text = json_string_value(column);
			const size_t bytes = text_page_line(text, CELL - 3);
			text_page_pad(to, CELL - 2 + 2 * (c > 0) - text_page_columns(text, bytes));
			fprintf(to->out, "%.*s", (int)bytes, text);
		}
		fputc('\n', to->out);
	}
	json_array_foreach (rows, r, row) {
		const json_t *values = json_object_get(row, "values");
		text_page_label(to, doc_word(row, "label"), label);
		for (c = 0; c < n; c++)
			text_page_heat_value(
				to, page_value_at(values, c), top, doc_word(chart, "unit"), cell);
		fputc('\n', to->out);
	}
}

/* ---- the page ------------------------------------------------------------- */

static bool text_page_is_code(const json_t *block, bool labelled)
{
	if (!str_eq(doc_word(block, "kind"), "code"))
		return false;
	return (*doc_word(block, "label") != '\0') == labelled;
}

/* Facts and the commands below them stay together, and a heading with what follows it. */
static bool text_page_gap(const json_t *before, const json_t *block)
{
	const char *was = doc_word(before, "kind"), *is = doc_word(block, "kind");
	if (!before || str_eq(was, "title") || str_eq(was, "heading"))
		return false;
	const bool was_close = str_eq(was, "fact") || text_page_is_code(before, false);
	const bool is_close = str_eq(is, "fact") || text_page_is_code(block, false);
	return !was_close || !is_close;
}

static void text_page_block(const struct text_page *to, const json_t *block)
{
	static const struct {
		const char *kind;
		void (*write)(const struct text_page *to, const json_t *block);
	} writers[] = {
		{"title", text_page_title},
		{"verdict", text_page_verdict},
		{"fact", text_page_fact},
		{"list", text_page_list},
		{"table", text_page_table},
		{"bars", text_page_bars},
		{"times", text_page_times},
		{"heat", text_page_heat},
	};
	const char *kind = doc_word(block, "kind");
	for (size_t i = 0; i < rw_countof(writers); i++)
		if (str_eq(kind, writers[i].kind))
			writers[i].write(to, block);
	if (str_eq(kind, "heading"))
		text_page_bold(to, doc_word(block, "text"));
	else if (str_eq(kind, "text"))
		text_page_wrap(to, doc_word(block, "text"), 0, 0);
	else if (str_eq(kind, "code"))
		text_page_lines(to, doc_word(block, "label"), doc_word(block, "text"));
}

void page_write_text(FILE *out, const json_t *page, const struct page_style *style)
{
	const struct text_page to = {.out = out,
		.width = style->width ? style->width : WIDTH_USUAL,
		.color = style->color,
		.ascii = style->ascii};
	const json_t *block, *before = NULL;
	bool asked = false;
	size_t i;
	json_array_foreach (json_object_get(page, "blocks"), i, block) {
		if (str_eq(doc_word(block, "kind"), "gap")) {
			asked = before != NULL;
			continue;
		}
		if (asked || text_page_gap(before, block))
			fputc('\n', out);
		text_page_block(&to, block);
		before = block;
		asked = false;
	}
}
