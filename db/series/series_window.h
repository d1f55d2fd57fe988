/* series_window - what every filler of a window shares, so that all give identical windows. For
 * files of db/ only. */
#ifndef RW_DB_SERIES_WINDOW_H
#define RW_DB_SERIES_WINDOW_H

#include "db/series/series.h"

int series_order(
	const void *left, const void *right); /* struct series by (metric, entity), for qsort */

/* window_wants - is the metric in the spec's list? An empty list wants none. */
static inline bool window_wants(const struct window_spec *spec, unsigned metric)
{
	for (size_t i = 0; i < spec->n_metrics; i++)
		if (spec->metrics[i] == metric)
			return true;
	return false;
}

static inline bool window_wants_entity(const struct window_spec *spec, uint32_t entity)
{
	size_t lo = 0, hi = spec->n_entities;

	if (hi == 0)
		return true;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (spec->entities[mid] == entity)
			return true;
		if (spec->entities[mid] < entity)
			lo = mid + 1;
		else
			hi = mid;
	}
	return false;
}

#endif
