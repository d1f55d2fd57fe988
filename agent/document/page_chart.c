/* page_chart - scales, numbers and rows of characters of charts. */
#include "agent/document/page_chart.h"

#include <math.h>
#include <string.h>

#include "agent/base/str.h"
#include "agent/document/json_value.h"
#include "agent/document/page.h"

double page_value_at(const json_t *values, size_t i)
{
	const json_t *value = json_array_get(values, i);
	if (!json_is_number(value))
		return NAN;
	return json_number_value(value);
}

static double page_values_top(const json_t *values)
{
	double top = NAN;
	for (size_t i = 0; i < json_array_size(values); i++)
		top = fmax(top, page_value_at(values, i));
	return top;
}

double page_chart_top(const json_t *chart)
{
	double top = doc_number(chart, "limit");
	const json_t *o;
	size_t i;
	json_array_foreach (json_object_get(chart, "bars"), i, o)
		top = fmax(top, doc_number(o, "value"));
	json_array_foreach (json_object_get(chart, "series"), i, o)
		top = fmax(top, page_values_top(json_object_get(o, "values")));
	json_array_foreach (json_object_get(chart, "rows"), i, o)
		top = fmax(top, page_values_top(json_object_get(o, "values")));
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

void page_add_spark(struct str *out, const json_t *values, double top, size_t columns, bool ascii)
{
	const size_t n = json_array_size(values);
	if (columns > n)
		columns = n;
	for (size_t i = 0; i < columns; i++) {
		double highest = NAN;
		for (size_t k = i * n / columns; k < (i + 1) * n / columns; k++)
			highest = fmax(highest, page_value_at(values, k));
		str_add(out, page_level(highest, top, ascii));
	}
}

void page_add_range(struct str *out, const json_t *values, const char *unit)
{
	const size_t n = json_array_size(values);
	double low = NAN, high = NAN, last = NAN;
	size_t missing = 0;
	for (size_t i = 0; i < n; i++) {
		const double value = page_value_at(values, i);
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

void page_add_limit(struct str *out, const json_t *chart)
{
	const double limit = doc_number(chart, "limit");
	if (isnan(limit))
		return;
	str_addf(out, ", %s ", doc_word(chart, "limit_name"));
	page_quantity(out, limit, doc_word(chart, "unit"));
}

void page_add_title(struct str *out, const json_t *chart)
{
	str_add(out, doc_word(chart, "title"));
	page_add_limit(out, chart);
}

void page_add_clock(struct str *out, const char *time)
{
	if (strlen(time) < 16)
		str_add(out, time);
	else
		str_addf(out, "%.10s %.5sZ", time, time + 11);
}
