/* chart - series over time, as a document and on a page. */
#include "agent/answers/common/chart.h"

#include "agent/document/page.h"
#include "agent/answers/common/range_read.h"

#define SHAPE struct chart_series
static const struct field chart_series_fields[] = {
	TEXT(name, "Name.", .known = true),
	NUMBERS(values, "One value for each step; null: no data."),
};
SHAPE_OF(chart_series, "ChartSeries", "One series.", .common = true);
#undef SHAPE

#define SHAPE struct chart
static const struct field chart_fields[] = {
	NUMBER(step_s, UNIT_SECONDS, "Time of a step.", .known = true),
	TIMES(times, "Ends of the steps."),
	ROWS(series, chart_series, "The series."),
};
SHAPE_OF(chart, "Chart", "Series over time.", .common = true);
#undef SHAPE

void chart_begin(struct chart *chart, struct arena *a, const struct range_plan *plan)
{
	*chart = (struct chart){.step_s = (double)plan->step_ns / (double)NS_PER_S,
		.times = arena_array(a, wall_t, plan->n_steps),
		.n_times = plan->n_steps};
	for (size_t i = 0; i < plan->n_steps; i++)
		chart->times[i].ns = plan->from_ns + (int64_t)(i + 1) * plan->step_ns;
}

void chart_add(struct chart *chart, struct arena *a, const char *name, const double *values)
{
	const size_t n = chart->n_times;
	arena_grow_pow2(a, chart->series, chart->n_series);
	chart->series[chart->n_series++] = (struct chart_series){.name = arena_strdup(a, name),
		.values = arena_copy(a, values, n * sizeof(*values), n * sizeof(*values)),
		.n_values = n};
}

struct page_block *chart_draw(
	struct page *page, const char *title, const char *unit, const struct chart *chart)
{
	const size_t n = chart->n_times;
	char since[WALL_TEXT_MAX], until[WALL_TEXT_MAX];
	if (n < 2 || chart->n_series == 0)
		return NULL;
	const wall_t first = {chart->times[0].ns - (int64_t)(chart->step_s * (double)NS_PER_S)};
	const wall_t last = chart->times[n - 1];
	wall_format(since, first, 0);
	wall_format(until, last, 3);
	struct page_block *drawn = page_times(page, title, unit, since, until, PAGE_LINES);
	for (size_t i = 0; i < chart->n_series; i++)
		page_series(drawn, chart->series[i].name, chart->series[i].values, n);
	return drawn;
}
