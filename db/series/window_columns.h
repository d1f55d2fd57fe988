/*
 * window_columns - the series of a live window as they lie in memory: by device, each metric at one
 * priority a column with a lane for each port. For whoever goes through all of a window: what is
 * the same for all lanes of a column is there once, and what did not move is known without looking
 * at its samples. Lent with the window; one thread.
 */
#pragma once

#include "db/series/series.h"
#include "db/series/series_column.h"

struct series_memory;

struct window_column {
	const struct column *column;
	const uint32_t *entity; /* by lane; ENTITY_NONE: none */
	/* of lanes in step that did not come at the newest instant of the column, that did: the
	 * part that the window has of them, all but entity and value; .n 0: none */
	struct series part[2];
	uint32_t begin[2];
	uint32_t lanes;
};

struct window_columns {
	const struct window_column *v; /* by device, metric and slot */
	size_t n;
	const uint32_t *first; /* by number of a device: its first column */
	struct series_memory *memory;
	int64_t from_ns, to_ns;
	const uint64_t *zeros;
};

/* window_columns_of_metric - window_of_metric() of a live window. window_columns_heard - has any
 * series a sample after .from_ns? */
const struct series *window_columns_of_metric(
	const struct window_columns *columns, unsigned metric, size_t *ret_n);
bool window_columns_heard(const struct window_columns *columns);
/* window_device_columns - the columns of a device, by its entity. */
size_t window_device_columns(
	const struct window_columns *columns, uint32_t device, const struct window_column **ret);
/* window_home - at which device and in which lane the series of @entity are; false: it has none. */
bool window_home(const struct window_columns *columns, uint32_t entity, uint32_t *ret_device,
	uint32_t *ret_lane);
/* window_device_column - the column of a metric of a port's own series; NULL: there is none. */
const struct window_column *window_device_column(
	const struct window_columns *columns, uint32_t device, unsigned metric);

/* Where the values of a lane that stands still are written down. */
struct lane_values {
	struct arena *a;
	uint64_t *v;
	uint32_t cap;
};
/* window_lane - the series of @lane, as it is in the window; false: it has no sample there. Its
 * values are lent until @values is used again. */
bool window_lane(const struct window_columns *columns, const struct window_column *of,
	uint32_t lane, struct lane_values *values, struct series *ret);

/* window_part - which part of its column a lane in step has. */
static inline const struct series *window_part(const struct window_column *of, uint32_t lane)
{
	return &of->part[column_bit(of->column->came, lane)];
}
/* window_still - is @lane in step, and stood still in the window without a flag? Then its growth is
 * that of window_part() with any value, and its value is of->column->now[lane]. */
static inline bool window_still(const struct window_column *of, uint32_t lane)
{
	const struct column *column = of->column;
	return column_bit(column->in_step, lane) && window_part(of, lane)->n > 0 &&
		window_part(of, lane)->flat && !column_values(column, lane);
}
