/* page_svg - the charts of a page as SVG in html: no script, no font, no file of its own. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "agent/document/page_chart.h"
#include "agent/document/page_writers.h"

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

/* "03:14" while all is on one day, else "11-21 03:14". */
static void svg_clock(
	FILE *out, const struct page_block *times, const char *time, int x, const char *anchor)
{
	const char *since = times->since, *until = times->until;
	const bool day = strncmp(since, until, 10) == 0;
	rw_cleanup(str_done) struct str text = {0};
	if (strlen(time) < 16)
		return;
	if (day)
		str_addf(&text, "%.5sZ", time + 11);
	else
		str_addf(&text, "%.5s %.5sZ", time + 5, time + 11);
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

void page_write_svg_times(FILE *out, const struct page_block *times)
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

void page_write_svg_bar(FILE *out, const struct page_block *bars, const struct page_line *bar)
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
