/* page_chart - scales, numbers and rows of characters of charts. */
#include "agent/document/page_chart.h"

#include "agent/document/page.h"

double page_value_at(const struct page_line *line, size_t i)
{
	if (i < line->n)
		return line->values[i];
	return NAN;
}

double page_chart_top(const struct page_block *chart)
{
	double top = chart->limit;
	for (size_t i = 0; i < chart->n_lines; i++) {
		const struct page_line *line = &chart->lines[i];
		top = fmax(top, line->value);
		for (size_t k = 0; k < line->n; k++)
			top = fmax(top, line->values[k]);
	}
	if (top > 0 && isfinite(top))
		return top;
	return 1;
}

double page_chart_round(double top)
{
	static const double steps[] = {1, 2, 2.5, 5};
	const double power = pow(10, floor(log10(top)));
	for (size_t i = 0; i < sizeof(steps) / sizeof(*steps); i++)
		if (top <= steps[i] * power * (1 + 1e-9))
			return steps[i] * power;
	return 10 * power;
}

void page_add_bar(struct str *out, double value, double top, size_t columns, bool ascii)
{
	size_t n = 0;
	if (value > 0)
		n = (size_t)lround(fmin(value / top, 1) * (double)columns);
	if (value > 0 && n == 0)
		n = 1;
	for (size_t i = 0; i < columns; i++) {
		if (i >= n)
			str_add(out, " ");
		else
			str_add(out, ascii ? "#" : "█");
	}
}

static const char *page_level(double value, double top, bool ascii)
{
	static const char *const blocks[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const signs[] = {"_", ".", ":", "-", "=", "+", "*", "#"};
	if (isnan(value))
		return ascii ? "?" : "·";
	long level = lround(fmin(fmax(value / top, 0), 1) * 7);
	if (value > 0 && level == 0)
		level = 1;
	return ascii ? signs[level] : blocks[level];
}

void page_add_spark(
	struct str *out, const struct page_line *line, double top, size_t columns, bool ascii)
{
	const size_t n = line->n;
	if (columns > n)
		columns = n;
	for (size_t i = 0; i < columns; i++) {
		double highest = NAN;
		for (size_t k = i * n / columns; k < (i + 1) * n / columns; k++)
			highest = fmax(highest, page_value_at(line, k));
		str_add(out, page_level(highest, top, ascii));
	}
}

void page_add_range(struct str *out, const struct page_line *line, const char *unit)
{
	const size_t n = line->n;
	double low = NAN, high = NAN, last = NAN;
	size_t missing = 0;
	for (size_t i = 0; i < n; i++) {
		const double value = page_value_at(line, i);
		low = fmin(low, value);
		high = fmax(high, value);
		if (isnan(value))
			missing++;
		else
			last = value;
	}
	if (missing == n) {
		str_add(out, "no data");
		return;
	}
	str_add(out, "lowest ");
	page_quantity(out, low, unit);
	str_add(out, ", highest ");
	page_quantity(out, high, unit);
	str_add(out, ", last ");
	page_quantity(out, last, unit);
	if (missing)
		str_addf(out, "; %zu of %zu values missing", missing, n);
}

/* ", limit 20 %" or nothing. */
static void page_add_limit(struct str *out, const struct page_block *chart)
{
	if (isnan(chart->limit))
		return;
	str_addf(out, ", %s ", chart->limit_name);
	page_quantity(out, chart->limit, chart->unit);
}

void page_add_title(struct str *out, const struct page_block *chart)
{
	str_add(out, chart->text);
	page_add_limit(out, chart);
}

enum { CLOCK_AT = 11 }; /* in a time of RFC 3339 */

int page_clock_chars(const struct page_block *chart)
{
	static const int ends[] = {5, 8, 12, 15, 18};
	for (size_t i = 0; i < rw_countof(ends); i++) {
		const size_t n = CLOCK_AT + (size_t)ends[i];
		if (strlen(chart->since) < n || strlen(chart->until) < n)
			break;
		if (strncmp(chart->since, chart->until, n) != 0)
			return ends[i];
	}
	return ends[0];
}

static void add_clock(struct str *out, const struct page_block *chart, const char *time)
{
	if (strlen(time) < 16)
		str_add(out, time);
	else
		str_addf(out, "%.10s %.*sZ", time, page_clock_chars(chart), time + CLOCK_AT);
}

void page_add_clocks(struct str *out, const struct page_block *chart)
{
	add_clock(out, chart, chart->since);
	str_add(out, " to ");
	add_clock(out, chart, chart->until);
}
