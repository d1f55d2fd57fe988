/*
 * chart - series over time in an answer: one value for each step of a time range. Lists lie in the
 * arena of the answer.
 */
#pragma once

#include "agent/document/shape.h"
#include "base/base.h"

struct page;
struct page_block;
struct range_plan;

struct chart_series {
	const char *name;
	double *values; /* one for each step; NAN: no data */
	size_t n_values;
};

struct chart {
	double step_s;
	wall_t *times; /* ends of the steps */
	size_t n_times;
	struct chart_series *series;
	size_t n_series;
};
extern const struct shape chart_shape;

/* chart_begin - the steps of @plan, without series. */
void chart_begin(struct chart *chart, struct arena *a, const struct range_plan *plan);
/* chart_add - copies @values, one for each step. */
void chart_add(struct chart *chart, struct arena *a, const char *name, const double *values);
/* chart_draw - the chart as lines; NULL where there is nothing to draw. */
struct page_block *chart_draw(
	struct page *page, const char *title, const char *unit, const struct chart *chart);
