/* page_text - a page as plain text of a given width. */

#include "agent/document/page_chart.h"
#include "agent/document/page_writers.h"
#include "agent/document/page.h"

/* ---- page_print - a page in the format that was asked for. */

int page_print(FILE *out, const struct page *page, const struct page_style *style)
{
	if (style->format == FORMAT_HTML)
		page_write_html(out, page);
	else if (style->format == FORMAT_MD)
		page_write_md(out, page);
	else
		page_write_text(out, page, style);
	if (fflush(out) == 0 && !ferror(out))
		return 0;
	return -EIO;
}

enum { LABEL = 13, WIDTH_USUAL = 100, CELL_LEAST = 12, BAR = 30 };

struct text_page {
	FILE *out;
	size_t width;
	bool color, ascii;
};

static size_t text_page_width(const char *text)
{
	return text_columns(text, strlen(text));
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
		const size_t wide = text_columns(s + blanks, n);
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

static void text_page_title(const struct text_page *to, const struct page_block *block)
{
	text_page_bold(to, block->text);
	if (*block->below)
		text_page_wrap(to, block->below, 0, 0);
}

static void text_page_verdict(const struct text_page *to, const struct page_block *block)
{
	const char *state = block->state, *code = text_page_code(state);
	if (code)
		text_page_on(to, code);
	fputs(state, to->out);
	if (code)
		text_page_on(to, "0");
	fputs("  ", to->out);
	const size_t indent = text_page_width(state) + 2;
	text_page_wrap(to, block->text, indent, indent);
}

static void text_page_fact(const struct text_page *to, const struct page_block *block)
{
	const char *label = block->label;
	for (size_t i = 0; i < block->texts.n; i++) {
		fprintf(to->out, "%-*s", LABEL, i == 0 ? label : "");
		size_t at = LABEL;
		if (i == 0 && strlen(label) > LABEL)
			at = strlen(label);
		text_page_wrap(to, block->texts.v[i], at, LABEL);
	}
}

static void text_page_list(const struct text_page *to, const struct page_block *block)
{
	for (size_t i = 0; i < block->texts.n; i++) {
		fputs("- ", to->out);
		text_page_wrap(to, block->texts.v[i], 2, 2);
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

/* Columns of the longest word of @text. */
static size_t text_page_word(const char *text)
{
	size_t longest = 0;
	while (*text) {
		const size_t n = strcspn(text, " ");
		const size_t wide = text_columns(text, n);
		if (wide > longest)
			longest = wide;
		text += n + (text[n] == ' ');
	}
	return longest;
}

/* No word is cut: names are copied from here. */
static size_t text_page_least(const struct page_block *block, size_t c)
{
	size_t least = CELL_LEAST;
	for (size_t r = 0; r < block->n_rows; r++) {
		const size_t word = text_page_word(block->rows[r].v[c]);
		if (word > least)
			least = word;
	}
	return least;
}

/* The widest column of words gives up a column until all fit, or until every word stands alone. */
static void text_page_shrink(
	const struct text_page *to, const struct page_block *block, size_t *widths)
{
	const size_t n = block->n_columns;
	size_t *least = rw_calloc(n, sizeof(*least));
	size_t all = 2 * (n - 1);
	for (size_t c = 0; c < n; c++) {
		all += widths[c];
		least[c] = text_page_least(block, c);
	}
	while (all > to->width) {
		size_t widest = n;
		for (size_t c = 0; c < n; c++)
			if (!block->columns[c].right && widths[c] > least[c] &&
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
static bool text_page_row_line(const struct text_page *to, const struct page_block *block,
	const char **at, const size_t *widths)
{
	bool more = false;
	size_t pending = 0; /* blanks, printed only where something follows */
	for (size_t c = 0; c < block->n_columns; c++) {
		const struct page_column *column = &block->columns[c];
		const size_t bytes = text_page_line(at[c], widths[c]);
		const size_t room = widths[c] - text_columns(at[c], bytes);
		const char *code = NULL;
		if (column->state && at[c][bytes] == '\0')
			code = text_page_code(at[c]);
		if (column->right)
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
		if (!column->right)
			pending += room;
		pending += 2;
		at[c] += bytes;
		at[c] += strspn(at[c], " ");
		more = more || *at[c];
	}
	fputc('\n', to->out);
	return more;
}

/* NULL for @cells: the headers. */
static void text_page_row(const struct text_page *to, const struct page_block *block,
	const char *const *cells, const size_t *widths)
{
	const char **at = rw_calloc(block->n_columns, sizeof(*at));
	for (size_t c = 0; c < block->n_columns; c++)
		at[c] = cells ? cells[c] : block->columns[c].header;
	while (text_page_row_line(to, block, at, widths))
		;
	free(at);
}

static void text_page_table(const struct text_page *to, const struct page_block *block)
{
	const size_t n = block->n_columns;
	size_t *widths = rw_calloc(n, sizeof(*widths));
	for (size_t c = 0; c < n; c++)
		widths[c] = text_page_width(block->columns[c].header);
	for (size_t r = 0; r < block->n_rows; r++)
		for (size_t c = 0; c < n; c++) {
			const size_t width = text_page_width(block->rows[r].v[c]);
			if (width > widths[c])
				widths[c] = width;
		}
	text_page_shrink(to, block, widths);
	if (*block->text)
		text_page_bold(to, block->text);
	text_page_on(to, "1");
	text_page_row(to, block, NULL, widths);
	text_page_on(to, "0");
	for (size_t r = 0; r < block->n_rows; r++)
		text_page_row(to, block, block->rows[r].v, widths);
	free(widths);
}

/* ---- charts --------------------------------------------------------------- */

static size_t text_page_label_width(const struct page_block *chart)
{
	enum { LABEL_MOST = 32 };
	size_t width = 0;
	for (size_t i = 0; i < chart->n_lines; i++) {
		const size_t wide = text_page_width(chart->lines[i].label);
		if (wide > width)
			width = wide;
	}
	return width < LABEL_MOST ? width : LABEL_MOST;
}

static void text_page_label(const struct text_page *to, const char *label, size_t width)
{
	const size_t bytes = text_page_line(label, width);
	fwrite(label, 1, bytes, to->out);
	text_page_pad(to, width - text_columns(label, bytes) + 2);
}

static void text_page_chart_title(const struct text_page *to, const struct page_block *chart)
{
	rw_cleanup(str_done) struct str title = {0};
	page_add_title(&title, chart);
	text_page_bold(to, title.s);
}

static void text_page_bars(const struct text_page *to, const struct page_block *chart)
{
	const size_t width = text_page_label_width(chart);
	const double top = page_chart_top(chart);
	text_page_chart_title(to, chart);
	for (size_t i = 0; i < chart->n_lines; i++) {
		const struct page_line *bar = &chart->lines[i];
		rw_cleanup(str_done) struct str drawn = {0}, value = {0};
		const char *code = text_page_code(bar->state);
		page_add_bar(&drawn, bar->value, top, BAR, to->ascii);
		page_quantity(&value, bar->value, chart->unit);
		text_page_label(to, bar->label, width);
		if (code)
			text_page_on(to, code);
		fputs(drawn.s, to->out);
		if (code)
			text_page_on(to, "0");
		fprintf(to->out, "  %s\n", value.s);
	}
}

static void text_page_times(const struct text_page *to, const struct page_block *chart)
{
	const size_t width = text_page_label_width(chart);
	const double top = page_chart_top(chart);
	rw_cleanup(str_done) struct str range = {0};
	size_t room = to->width - LABEL;
	if (width + 4 < room)
		room -= width + 2;
	text_page_chart_title(to, chart);
	for (size_t i = 0; i < chart->n_lines; i++) {
		const struct page_line *one = &chart->lines[i];
		rw_cleanup(str_done) struct str spark = {0}, numbers = {0};
		page_add_spark(&spark, one, top, room, to->ascii);
		page_add_range(&numbers, one, chart->unit);
		text_page_label(to, one->label, width);
		fprintf(to->out, "%s\n", str_or(spark.s, ""));
		text_page_pad(to, width + 2);
		text_page_wrap(to, numbers.s, width + 2, width + 2);
	}
	page_add_clocks(&range, chart);
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
static void text_page_heat(const struct text_page *to, const struct page_block *chart)
{
	enum { CELL = 12 };
	const size_t n = chart->texts.n, label = text_page_label_width(chart);
	const double top = page_chart_top(chart);
	const size_t cell = label + 2 + n * CELL <= to->width ? CELL : 1;
	text_page_chart_title(to, chart);
	if (cell > 1) {
		text_page_pad(to, label + 2);
		for (size_t c = 0; c < n; c++) {
			const char *text = chart->texts.v[c];
			const size_t bytes = text_page_line(text, CELL - 3);
			text_page_pad(to, CELL - 2 + 2 * (c > 0) - text_columns(text, bytes));
			fprintf(to->out, "%.*s", (int)bytes, text);
		}
		fputc('\n', to->out);
	}
	for (size_t r = 0; r < chart->n_lines; r++) {
		const struct page_line *row = &chart->lines[r];
		text_page_label(to, row->label, label);
		for (size_t c = 0; c < n; c++)
			text_page_heat_value(to, page_value_at(row, c), top, chart->unit, cell);
		fputc('\n', to->out);
	}
}

/* ---- the page ------------------------------------------------------------- */

/* Facts and the commands below them stay together. */
static bool text_page_is_close(const struct page_block *block)
{
	return block->kind == BLOCK_FACT || (block->kind == BLOCK_CODE && !*block->label);
}

/* ... and a heading with what follows it. */
static bool text_page_gap(const struct page_block *before, const struct page_block *block)
{
	if (!before || before->kind == BLOCK_TITLE || before->kind == BLOCK_HEADING)
		return false;
	return !text_page_is_close(before) || !text_page_is_close(block);
}

static void text_page_block(const struct text_page *to, const struct page_block *block)
{
	switch (block->kind) {
	case BLOCK_TITLE: text_page_title(to, block); break;
	case BLOCK_VERDICT: text_page_verdict(to, block); break;
	case BLOCK_HEADING: text_page_bold(to, block->text); break;
	case BLOCK_TEXT: text_page_wrap(to, block->text, 0, 0); break;
	case BLOCK_FACT: text_page_fact(to, block); break;
	case BLOCK_LIST: text_page_list(to, block); break;
	case BLOCK_CODE: text_page_lines(to, block->label, block->text); break;
	case BLOCK_TABLE: text_page_table(to, block); break;
	case BLOCK_BARS: text_page_bars(to, block); break;
	case BLOCK_TIMES: text_page_times(to, block); break;
	case BLOCK_HEAT: text_page_heat(to, block); break;
	case BLOCK_GAP:
	case BLOCK_KINDS: break;
	}
}

void page_write_text(FILE *out, const struct page *page, const struct page_style *style)
{
	const struct text_page to = {.out = out,
		.width = style->width ? style->width : WIDTH_USUAL,
		.color = style->color,
		.ascii = style->ascii};
	const struct page_block *before = NULL;
	bool asked = false;
	for (size_t i = 0; i < page->n; i++) {
		const struct page_block *block = page->blocks[i];
		if (block->kind == BLOCK_GAP) {
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
