/* window - the series of a window by metric and entity, live or from elsewhere. */
#include "db/series/series.h"
#include "db/series/window_columns.h"

/* Position of the first series of @metric, or where it would be. */
static size_t window_position(const struct window *window, unsigned metric)
{
	size_t lo = 0, hi = window->n_series;
	while (lo < hi) {
		const size_t mid = lo + (hi - lo) / 2;
		if (window->series[mid].metric < metric)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

const struct series *window_of_metric(const struct window *window, unsigned metric, size_t *ret_n)
{
	if (window->columns)
		return window_columns_of_metric(window->columns, metric, ret_n);
	const size_t begin = window_position(window, metric);
	*ret_n = window_position(window, metric + 1) - begin;
	if (*ret_n == 0)
		return NULL;
	return window->series + begin;
}

/* The entities of one metric lie about evenly: a guess is nearly always right, or next to it. */
static size_t window_guess(const struct series *series, uint32_t entity, size_t lo, size_t hi)
{
	const uint32_t first = series[lo].entity, last = series[hi - 1].entity;
	if (entity <= first || last <= first)
		return lo;
	if (entity >= last)
		return hi - 1;
	return lo + (size_t)((uint64_t)(entity - first) * (hi - 1 - lo) / (last - first));
}

const struct series *window_series(const struct window *window, uint32_t entity, unsigned metric)
{
	size_t lo = 0, hi;
	const struct series *series = window_of_metric(window, metric, &hi);

	for (bool guess = true; lo < hi; guess = !guess) {
		size_t mid = lo + (hi - lo) / 2;
		if (guess)
			mid = window_guess(series, entity, lo, hi);
		if (series[mid].entity == entity)
			return &series[mid];
		if (series[mid].entity < entity)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NULL;
}

struct window window_since(const struct window *window, int64_t from_ns, struct arena *a)
{
	struct series *series = arena_array(a, struct series, window->n_series + 1);

	for (size_t i = 0; i < window->n_series; i++) {
		const struct series *whole = &window->series[i];
		uint32_t first = series_after(whole, from_ns);
		if (first > 0)
			first--; /* the anchor */
		series[i] = *whole;
		series[i].n -= first;
		series[i].t_ns += first;
		series[i].value += first;
		series[i].flags += first;
		series[i].window_ms += first;
	}
	return (struct window){.from_ns = from_ns,
		.to_ns = window->to_ns,
		.entities = window->entities,
		.series = series,
		.n_series = window->n_series};
}
