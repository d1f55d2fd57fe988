/*
 * page_html - a page as one html file that needs no other: inline styles and tables for mail
 * clients, a stylesheet only for what styles cannot say (dark colours, printing).
 */

#include "agent/document/page_chart.h"
#include "agent/document/page_writers.h"

/* ---- page_svg - the charts of a page as SVG in html: no script, no font, no file of its own. */

/* The drawing is 640 units wide; it is scaled to the width of the page. */
enum { WIDE = 640, HIGH = 170, LEFT = 78, RIGHT = 12, ABOVE = 10, BELOW = 24 };
enum { PLOT_WIDE = WIDE - LEFT - RIGHT, PLOT_HIGH = HIGH - ABOVE - BELOW };

static double svg_x(size_t i, size_t n)
{
	if (n < 2)
		return LEFT;
	return LEFT + PLOT_WIDE * (double)i / (double)(n - 1);
}

static double svg_y(double value, double top)
{
	return ABOVE + PLOT_HIGH * (1 - fmin(fmax(value / top, 0), 1));
}

static void svg_grid(FILE *out, const struct page_block *times, double top)
{
	for (int line = 0; line <= 2; line++) {
		rw_cleanup(str_done) struct str text = {0};
		const double value = top * line / 2, y = svg_y(value, top);
		page_quantity(&text, value, times->unit);
		fprintf(out,
			"<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" "
			"stroke=\"#d6dbe0\"/><text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">",
			LEFT, WIDE - RIGHT, y, y, LEFT - 6, y + 4);
		page_write_escaped(out, text.s);
		fputs("</text>\n", out);
	}
}

/* "03:14" while all is on one day, else "11-21 03:14"; finer where both ends would be the same. */
static void svg_clock(
	FILE *out, const struct page_block *times, const char *time, int x, const char *anchor)
{
	const char *since = times->since, *until = times->until;
	const bool day = strncmp(since, until, 10) == 0;
	rw_cleanup(str_done) struct str text = {0};
	if (strlen(time) < 16)
		return;
	if (!day)
		str_addf(&text, "%.5s ", time + 5);
	str_addf(&text, "%.*sZ", page_clock_chars(times), time + 11);
	fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\">", x, HIGH - 6, anchor);
	page_write_escaped(out, text.s);
	fputs("</text>\n", out);
}

static void svg_line(FILE *out, const struct page_line *line, double top, const char *color)
{
	const size_t n = line->n;
	bool begun = false;
	fprintf(out, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"1.8\" d=\"", color);
	for (size_t i = 0; i < n; i++) {
		const double value = page_value_at(line, i);
		if (!isnan(value))
			fprintf(out, "%c%.1f %.1f", begun ? 'L' : 'M', svg_x(i, n),
				svg_y(value, top));
		begun = !isnan(value);
		/* a value between two gaps is a dot */
		if (begun && isnan(page_value_at(line, i + 1)))
			fputs("h1", out);
	}
	fputs("\"/>\n", out);
}

static void svg_columns(FILE *out, const struct page_line *line, double top, const char *color)
{
	const size_t n = line->n;
	const double step = (double)PLOT_WIDE / (double)(n ? n : 1);
	const double gap = step > 4 ? 1 : 0;
	for (size_t i = 0; i < n; i++) {
		const double value = page_value_at(line, i), x = LEFT + step * (double)i;
		const double y = isnan(value) ? ABOVE : svg_y(value, top);
		if (isnan(value))
			fprintf(out, "<rect class=\"none\" fill=\"#eef0f2\"");
		else
			fprintf(out, "<rect fill=\"%s\"", color);
		fprintf(out, " x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\"/>\n", x, y,
			step - gap, ABOVE + PLOT_HIGH - y);
	}
}

static void svg_limit(FILE *out, const struct page_block *times, double top)
{
	const double limit = times->limit;
	if (isnan(limit))
		return;
	fprintf(out,
		"<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" stroke=\"#c62828\" "
		"stroke-dasharray=\"5 4\"/>\n",
		LEFT, WIDE - RIGHT, svg_y(limit, top), svg_y(limit, top));
}

/* The charts of a page, as SVG. */
static void page_write_svg_times(FILE *out, const struct page_block *times)
{
	const double top = page_chart_round(page_chart_top(times));
	fprintf(out,
		"<svg viewBox=\"0 0 %d %d\" width=\"100%%\" role=\"img\" "
		"style=\"display:block;height:auto\" font-size=\"11\" fill=\"#5b6570\" "
		"font-family=\"sans-serif\">\n",
		WIDE, HIGH);
	svg_grid(out, times, top);
	for (size_t i = 0; i < times->n_lines; i++) {
		if (times->as_columns)
			svg_columns(out, &times->lines[i], top, page_series_color(i));
		else
			svg_line(out, &times->lines[i], top, page_series_color(i));
	}
	svg_limit(out, times, top);
	svg_clock(out, times, times->since, LEFT, "start");
	svg_clock(out, times, times->until, WIDE - RIGHT, "end");
	fputs("</svg>\n", out);
}

static void page_write_svg_bar(
	FILE *out, const struct page_block *bars, const struct page_line *bar)
{
	const double top = page_chart_top(bars), value = bar->value, limit = bars->limit;
	const char *color = str_or(page_color(bar->state), page_series_color(0));
	fputs("<svg viewBox=\"0 0 200 12\" width=\"100%\" height=\"12\" "
	      "preserveAspectRatio=\"none\" style=\"display:block\">"
	      "<rect class=\"none\" width=\"200\" height=\"12\" fill=\"#eef0f2\"/>",
		out);
	if (value > 0)
		fprintf(out, "<rect width=\"%.1f\" height=\"12\" fill=\"%s\"/>",
			fmax(200 * fmin(value / top, 1), 1), color);
	if (!isnan(limit))
		fprintf(out, "<rect x=\"%.1f\" width=\"1.5\" height=\"12\" fill=\"#c62828\"/>",
			fmin(200 * limit / top, 198));
	fputs("</svg>", out);
}

#define FONT "font-family:system-ui,-apple-system,'Segoe UI',Roboto,Helvetica,Arial,sans-serif"
#define MONO "font-family:ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace"
#define ANYWHERE "overflow-wrap:anywhere;word-break:break-word"

static const char html_head[] =
	"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	"<meta name=\"color-scheme\" content=\"light dark\">\n"
	"<meta name=\"supported-color-schemes\" content=\"light dark\">\n<title>";

static const char html_style[] =
	"</title>\n<style>\n"
	":root{color-scheme:light dark}\n"
	"@media screen and (prefers-color-scheme:dark){\n"
	"body,.page{background:#15181c!important;color:#e3e6ea!important}\n"
	".soft,.soft *{color:#9aa5b1!important}\n"
	".line{border-color:#333a42!important}\n"
	".code{background:#1f242a!important;color:#e3e6ea!important}\n"
	".box{background:#1f242a!important;color:#e3e6ea!important}\n"
	".word{filter:brightness(1.5)}\n"
	"a{color:#7db8ff!important}\n"
	"svg text{fill:#9aa5b1}svg .grid{stroke:#333a42}svg .none{fill:#262c33}\n"
	"}\n"
	"@page{margin:14mm}\n"
	"@media print{\n"
	".page{max-width:none!important;padding:0!important}\n"
	"h1,h2,.caption{break-after:avoid}tr,pre,svg,.box{break-inside:avoid}\n"
	"thead{display:table-header-group}\n"
	"*{-webkit-print-color-adjust:exact;print-color-adjust:exact}\n"
	"}\n"
	"</style>\n</head>\n"
	"<body style=\"margin:0;background:#ffffff;color:#1a1d21;" FONT
	";font-size:15px;line-height:1.45\">\n"
	"<div class=\"page\" style=\"max-width:860px;margin:0 auto;padding:16px\">\n";

/* ---- texts ---------------------------------------------------------------- */

static void html_title(FILE *out, const struct page_block *block)
{
	fputs("<h1 style=\"font-size:22px;line-height:1.25;margin:0 0 4px 0;" ANYWHERE "\">", out);
	page_write_escaped(out, block->text);
	fputs("</h1>\n", out);
	if (!*block->below)
		return;
	fputs("<p class=\"soft\" style=\"margin:0 0 12px 0;color:#5b6570\">", out);
	page_write_escaped(out, block->below);
	fputs("</p>\n", out);
}

static void html_verdict(FILE *out, const struct page_block *block)
{
	const char *state = block->state;
	const char *color = str_or(page_color(state), "#5b6570");
	fprintf(out,
		"<table role=\"presentation\" width=\"100%%\" cellspacing=\"0\" cellpadding=\"0\" "
		"style=\"margin:10px 0;border-collapse:collapse\"><tr><td class=\"box\" "
		"style=\"border-left:6px solid %s;background:#f3f5f7;padding:10px 14px;" ANYWHERE
		"\"><b class=\"word\" style=\"color:%s\">",
		color, color);
	page_write_escaped(out, state);
	fputs("</b>&nbsp; ", out);
	page_write_escaped(out, block->text);
	fputs("</td></tr></table>\n", out);
}

static void html_heading(FILE *out, const struct page_block *block)
{
	fputs("<h2 class=\"line\" style=\"font-size:17px;line-height:1.3;margin:26px 0 8px 0;"
	      "padding-top:8px;border-top:2px solid #1a1d21;" ANYWHERE "\">",
		out);
	page_write_escaped(out, block->text);
	fputs("</h2>\n", out);
}

static void html_text(FILE *out, const struct page_block *block)
{
	fputs("<p style=\"margin:8px 0;" ANYWHERE "\">", out);
	page_write_escaped(out, block->text);
	fputs("</p>\n", out);
}

static void html_where(FILE *out, const char *where, bool link)
{
	const bool web = strncmp(where, "http://", 7) == 0 || strncmp(where, "https://", 8) == 0;
	if (!link) {
		page_write_escaped(out, where);
		return;
	}
	if (web) {
		fputs("<a href=\"", out);
		page_write_escaped(out, where);
		fputs("\" style=\"color:#0b5fb0\">", out);
	} else {
		fputs("<code style=\"" MONO ";font-size:13px\">", out);
	}
	page_write_escaped(out, where);
	fputs(web ? "</a>" : "</code>", out);
}

/* One row of a table that html_before() began. */
static void html_fact(FILE *out, const struct page_block *block)
{
	fputs("<tr><td class=\"soft\" width=\"96\" style=\"vertical-align:top;padding:3px 14px 3px "
	      "0;color:#5b6570\">",
		out);
	page_write_escaped(out, block->label);
	fputs("</td><td style=\"vertical-align:top;padding:3px 0;" ANYWHERE "\">", out);
	for (size_t i = 0; i < block->texts.n; i++) {
		fputs(i ? "<div style=\"margin-top:4px\">" : "<div>", out);
		html_where(out, block->texts.v[i], block->link);
		fputs("</div>", out);
	}
	fputs("</td></tr>\n", out);
}

static void html_list(FILE *out, const struct page_block *block)
{
	fputs("<ul style=\"margin:8px 0;padding-left:22px\">\n", out);
	for (size_t i = 0; i < block->texts.n; i++) {
		fputs("<li style=\"margin:3px 0;" ANYWHERE "\">", out);
		page_write_escaped(out, block->texts.v[i]);
		fputs("</li>\n", out);
	}
	fputs("</ul>\n", out);
}

static void html_caption(FILE *out, const char *text)
{
	fputs("<p class=\"caption\" style=\"margin:16px 0 4px 0;font-weight:600\">", out);
	page_write_escaped(out, text);
	fputs("</p>\n", out);
}

static void html_code(FILE *out, const struct page_block *block)
{
	if (*block->label)
		html_caption(out, block->label);
	fputs("<pre class=\"code\" style=\"margin:6px 0 10px 0;padding:10px;background:#f3f5f7;"
	      "font-size:13px;line-height:1.4;white-space:pre-wrap;" ANYWHERE ";" MONO "\">",
		out);
	page_write_escaped(out, block->text);
	fputs("</pre>\n", out);
}

/* ---- tables --------------------------------------------------------------- */

/* A mail is read in 600 pixels, of which 560 are left for a table. */
enum { TABLE_WIDE = 560, CHAR_WIDE = 8, CELL_ROOM = 10, BROKEN_CHARS = 7, SHORT_CHARS = 21 };

struct html_column {
	bool right, state;
	bool whole; /* a cell stands on one line */
	bool broken; /* even words may be broken */
	size_t cell, word; /* longest, in characters */
};

static size_t html_word(const char *text)
{
	size_t longest = 0;
	while (*text) {
		const size_t n = strcspn(text, " ");
		if (n > longest)
			longest = n;
		text += n + (text[n] == ' ');
	}
	return longest;
}

static void html_measure(struct html_column *column, const char *text)
{
	const size_t word = html_word(text), cell = strlen(text);
	if (word > column->word)
		column->word = word;
	if (cell > column->cell)
		column->cell = cell;
}

static size_t html_wide(const struct html_column *columns, size_t n)
{
	size_t wide = 0;
	for (size_t c = 0; c < n; c++) {
		size_t chars = columns[c].word;
		if (columns[c].whole)
			chars = columns[c].cell;
		if (columns[c].broken && chars > BROKEN_CHARS)
			chars = BROKEN_CHARS;
		wide += chars * CHAR_WIDE + CELL_ROOM;
	}
	return wide;
}

static bool html_is_firm(const struct html_column *column)
{
	return column->right || column->state;
}

/* The column to give way: words before numbers and states, then the longer one. */
static struct html_column *html_longest(struct html_column *columns, size_t n, bool whole)
{
	struct html_column *longest = NULL;
	for (size_t c = 0; c < n; c++) {
		struct html_column *column = &columns[c];
		const bool able = whole ? column->whole && column->cell > column->word
					: !column->broken && column->word > BROKEN_CHARS;
		if (!able)
			continue;
		const bool softer = longest && !html_is_firm(column) && html_is_firm(longest);
		const bool alike = longest && html_is_firm(column) == html_is_firm(longest);
		const bool longer = alike &&
			(whole ? column->cell > longest->cell : column->word > longest->word);
		if (!longest || softer || longer)
			longest = column;
	}
	return longest;
}

/* Short cells stand on one line where there is room; words are broken only where there is none. */
static void html_fit(struct html_column *columns, size_t n)
{
	for (size_t k = 0; k < 2 * n && html_wide(columns, n) > TABLE_WIDE; k++) {
		struct html_column *column = html_longest(columns, n, true);
		if (column) {
			column->whole = false;
			continue;
		}
		column = html_longest(columns, n, false);
		if (!column)
			break;
		column->broken = true;
	}
}

static void html_cell(
	FILE *out, const struct html_column *column, const char *tag, const char *text)
{
	const bool head = str_eq(tag, "th");
	const char *color = NULL;
	if (column->state && !head)
		color = page_color(text);
	fprintf(out,
		"<%s class=\"line%s\" style=\"padding:4px 10px 4px 0;border-bottom:1px solid "
		"#d6dbe0;vertical-align:top;text-align:%s%s%s%s\">",
		tag, str_if(head, " soft"), column->right ? "right" : "left",
		str_if(column->whole && !head, ";white-space:nowrap"),
		str_if(column->broken, ";" ANYWHERE),
		str_if(head, ";font-weight:600;color:#5b6570"));
	if (color)
		fprintf(out, "<b class=\"word\" style=\"color:%s\">", color);
	page_write_escaped(out, text);
	if (color)
		fputs("</b>", out);
	fprintf(out, "</%s>", tag);
}

static struct html_column *html_columns(const struct page_block *block)
{
	const size_t n = block->n_columns;
	struct html_column *columns = rw_calloc(n, sizeof(*columns));
	for (size_t c = 0; c < n; c++) {
		columns[c].right = block->columns[c].right;
		columns[c].state = block->columns[c].state;
		/* capitals in bold are wider */
		columns[c].word = html_word(block->columns[c].header) * 5 / 4;
		columns[c].cell = columns[c].word;
	}
	for (size_t r = 0; r < block->n_rows; r++)
		for (size_t c = 0; c < n; c++)
			html_measure(&columns[c], block->rows[r].v[c]);
	for (size_t c = 0; c < n; c++)
		columns[c].whole = columns[c].right || columns[c].cell <= SHORT_CHARS;
	html_fit(columns, n);
	return columns;
}

static void html_table(FILE *out, const struct page_block *block)
{
	struct html_column *layout = html_columns(block);
	if (*block->text)
		html_caption(out, block->text);
	fputs("<table width=\"100%\" cellspacing=\"0\" style=\"border-collapse:collapse;margin:8px "
	      "0;font-size:13px\">\n<thead><tr>",
		out);
	for (size_t c = 0; c < block->n_columns; c++)
		html_cell(out, &layout[c], "th", block->columns[c].header);
	fputs("</tr></thead>\n<tbody>\n", out);
	for (size_t r = 0; r < block->n_rows; r++) {
		fputs("<tr>", out);
		for (size_t c = 0; c < block->n_columns; c++)
			html_cell(out, &layout[c], "td", block->rows[r].v[c]);
		fputs("</tr>\n", out);
	}
	fputs("</tbody></table>\n", out);
	free(layout);
}

/* ---- charts --------------------------------------------------------------- */

static void html_chart_title(FILE *out, const struct page_block *chart)
{
	rw_cleanup(str_done) struct str title = {0};
	page_add_title(&title, chart);
	html_caption(out, title.s);
}

static void html_bars(FILE *out, const struct page_block *chart)
{
	html_chart_title(out, chart);
	fputs("<table role=\"presentation\" width=\"100%\" cellspacing=\"0\" cellpadding=\"0\" "
	      "style=\"border-collapse:collapse;font-size:13.5px\">\n",
		out);
	for (size_t i = 0; i < chart->n_lines; i++) {
		const struct page_line *bar = &chart->lines[i];
		rw_cleanup(str_done) struct str value = {0};
		page_quantity(&value, bar->value, chart->unit);
		fputs("<tr><td style=\"padding:2px 10px 2px 0;width:34%;" ANYWHERE "\">", out);
		page_write_escaped(out, bar->label);
		fputs("</td><td style=\"padding:2px 0;width:46%\">", out);
		page_write_svg_bar(out, chart, bar);
		fputs("</td><td style=\"padding:2px 0 2px 10px;text-align:right;"
		      "font-variant-numeric:tabular-nums\">",
			out);
		page_write_escaped(out, value.s);
		fputs("</td></tr>\n", out);
	}
	fputs("</table>\n", out);
}

static void html_legend(FILE *out, const struct page_block *chart, size_t i, size_t alike)
{
	const struct page_line *one = &chart->lines[i];
	rw_cleanup(str_done) struct str text = {0};
	if (*one->label)
		str_add(&text, one->label);
	if (alike)
		str_addf(&text, " and %zu alike", alike);
	if (text.n)
		str_add(&text, ": ");
	page_add_range(&text, one, chart->unit);
	fprintf(out,
		"<div class=\"soft\" style=\"color:#5b6570;font-size:13px\"><span "
		"style=\"color:%s!important\">&#9632;</span> ",
		page_series_color(i));
	page_write_escaped(out, text.s);
	fputs("</div>\n", out);
}

static bool html_is_alike(const struct page_line *line, const struct page_line *other)
{
	if (line->n != other->n)
		return false;
	for (size_t i = 0; i < line->n; i++) {
		const double a = line->values[i], b = other->values[i];
		if (a != b && !(isnan(a) && isnan(b)))
			return false;
	}
	return true;
}

/* Series with the same values lie on one another: one line names them all. */
static void html_times(FILE *out, const struct page_block *chart)
{
	html_chart_title(out, chart);
	page_write_svg_times(out, chart);
	for (size_t i = 0; i < chart->n_lines; i++) {
		size_t first = chart->n_lines, alike = 0;
		for (size_t k = 0; k < chart->n_lines; k++) {
			if (!html_is_alike(&chart->lines[i], &chart->lines[k]))
				continue;
			if (first > k)
				first = k;
			alike++;
		}
		if (first == i)
			html_legend(out, chart, i, alike - 1);
	}
}

/* From nearly white to red; dark red has white letters. */
static void html_heat_cell(FILE *out, double value, double top, const char *unit, bool words)
{
	rw_cleanup(str_done) struct str text = {0};
	page_quantity(&text, value, unit);
	const double share = isnan(value) ? 0 : fmin(fmax(value / top, 0), 1);
	const int red = (int)lround(255 - 57 * share), green = (int)lround(246 - 206 * share),
		  blue = (int)lround(232 - 192 * share);
	if (isnan(value))
		fputs("<td style=\"border:1px solid #ffffff;background:#d6dbe0;color:#1a1d21;",
			out);
	else
		fprintf(out,
			"<td style=\"border:1px solid #ffffff;background:#%02x%02x%02x;color:%s;",
			(unsigned)red, (unsigned)green, (unsigned)blue,
			share > 0.6 ? "#ffffff" : "#1a1d21");
	fputs("text-align:center;padding:3px 2px\" title=\"", out);
	page_write_escaped(out, text.s);
	fputs("\">", out);
	if (words)
		page_write_escaped(out, text.s);
	fputs("</td>", out);
}

static void html_heat(FILE *out, const struct page_block *chart)
{
	enum { WORDS_MOST = 10 };
	const size_t n = chart->texts.n;
	const double top = page_chart_top(chart);
	html_chart_title(out, chart);
	fputs("<table width=\"100%\" cellspacing=\"0\" style=\"border-collapse:collapse;font-size:"
	      "12px;table-layout:fixed\">\n<tr class=\"soft\"><td width=\"120\"></td>",
		out);
	for (size_t c = 0; c < n; c++) {
		fputs("<td style=\"text-align:center;color:#5b6570;" ANYWHERE "\">", out);
		if (n <= WORDS_MOST || c % 4 == 0)
			page_write_escaped(out, chart->texts.v[c]);
		fputs("</td>", out);
	}
	fputs("</tr>\n", out);
	for (size_t r = 0; r < chart->n_lines; r++) {
		const struct page_line *row = &chart->lines[r];
		fputs("<tr><td style=\"padding-right:8px;" ANYWHERE "\">", out);
		page_write_escaped(out, row->label);
		fputs("</td>", out);
		for (size_t c = 0; c < n; c++)
			html_heat_cell(
				out, page_value_at(row, c), top, chart->unit, n <= WORDS_MOST);
		fputs("</tr>\n", out);
	}
	fputs("</table>\n", out);
}

/* ---- the page ------------------------------------------------------------- */

/* Facts below one another are one table. */
static void html_between(FILE *out, bool was_fact, bool is_fact)
{
	if (was_fact && !is_fact)
		fputs("</table>\n", out);
	if (is_fact && !was_fact)
		fputs("<table role=\"presentation\" width=\"100%\" cellspacing=\"0\" "
		      "cellpadding=\"0\" style=\"border-collapse:collapse;margin:6px 0\">\n",
			out);
}

static void html_gap(FILE *out, const struct page_block *block)
{
}

void page_write_html(FILE *out, const struct page *page)
{
	static void (*const writers[BLOCK_KINDS])(FILE * out, const struct page_block *block) = {
		[BLOCK_TITLE] = html_title,
		[BLOCK_VERDICT] = html_verdict,
		[BLOCK_HEADING] = html_heading,
		[BLOCK_TEXT] = html_text,
		[BLOCK_FACT] = html_fact,
		[BLOCK_LIST] = html_list,
		[BLOCK_CODE] = html_code,
		[BLOCK_GAP] = html_gap,
		[BLOCK_TABLE] = html_table,
		[BLOCK_BARS] = html_bars,
		[BLOCK_TIMES] = html_times,
		[BLOCK_HEAT] = html_heat,
	};
	bool was_fact = false;
	fputs(html_head, out);
	page_write_escaped(out, page->title);
	fputs(html_style, out);
	for (size_t i = 0; i < page->n; i++) {
		const struct page_block *block = page->blocks[i];
		html_between(out, was_fact, block->kind == BLOCK_FACT);
		writers[block->kind](out, block);
		was_fact = block->kind == BLOCK_FACT;
	}
	html_between(out, was_fact, false);
	fputs("</div>\n</body>\n</html>\n", out);
}
