/*
 * series - the read side: runs of samples, and the only place that knows what a wrap, a reset or a
 * gap does to a rate.
 *
 * A window is immutable and columnar: the pipeline fills it (from memory when live, from a struct
 * history otherwise), analyzers and reports read it. Functions here are pure.
 */
#pragma once

#include "base/base.h"

#include "db/model/entity.h"
#include "db/model/finding.h"
#include "db/model/flow.h"
#include "db/model/metric.h"

struct series { /* strictly increasing t_ns */
	uint32_t entity;
	uint16_t metric;
	bool flat; /* known: no flag is set and all values are equal; false says nothing */
	uint32_t n;
	const int64_t *t_ns;
	const uint64_t *value;
	const uint16_t *flags;
	const uint32_t *window_ms;
};

struct window_columns;

struct window {
	/* samples in (from, to], and per series the last one at or before from (the anchor) */
	int64_t from_ns, to_ns;
	const struct entities *entities;
	/* sorted by (metric, entity); none in a live window: window_of_metric() */
	const struct series *series;
	size_t n_series;
	/* intervals that ended within the window; sorted by (entity, from, total first, octets
	 * desc)
	 */
	const struct flow_sample *flows;
	size_t n_flows;
	/* the rows of hosts, in the same order; they stand apart so that nobody takes a host for a
	 * flow */
	const struct flow_sample *flow_hosts;
	size_t n_flow_hosts;
	/* the series as they lie in memory (window_columns.h); NULL: they come from elsewhere */
	const struct window_columns *columns;
};

/* window_give_flows - the rows of a window, flows and hosts in one array, which is sorted here and
 * lent to the window. */
void window_give_flows(struct window *window, struct flow_sample *flows, size_t n);

/* NULL = no samples at all */
const struct series *window_series(const struct window *window, uint32_t entity, unsigned metric);

/* window_of_metric - the series of @metric, by entity; @ret_n 0: there are none. Those of a live
 * window are made when they are first asked for. */
const struct series *window_of_metric(const struct window *window, unsigned metric, size_t *ret_n);

/* window_since - the end of @window from @from_ns on, as if it had been read by itself; without
 * flows. Its series are in @a, the samples are those of @window, which is not a live one. */
struct window window_since(const struct window *window, int64_t from_ns, struct arena *a);

/* series_moved - are the @n values not all the same? */
static inline bool series_moved(const uint64_t *values, uint32_t n)
{
	for (uint32_t i = 1; i < n; i++)
		if (values[i] != values[0])
			return true;
	return false;
}

/* series_after - first position whose time is after @t_ns; .n when there is none. */
uint32_t series_after(const struct series *series, int64_t t_ns);

/*
 * series_increase - how much a counter grew between the anchor and the last sample of the window.
 *
 * @max_rate_per_s  plausible maximum (e.g. 1.02 x line rate in bytes/s); 0 = no gate
 *
 * .value is the sum over the valid intervals, exact in u64. An interval is not valid, and its time
 * not covered, over a restart flag, over a decrease that is no wrap (a reset), and where it grows
 * faster than @max_rate_per_s since the counter last moved. A decrease is a wrap when both samples
 * say 32 bits and the implied rate is plausible; without a gate, when it adds less than half of the
 * 32-bit range. Late samples are ignored.
 *
 * 0, or -ENODATA when there is no valid interval; @ret is filled then too: the counts say why.
 */
struct increase {
	uint64_t value;
	int64_t covered_ns; /* time the valid intervals span: the divisor for a rate */
	int64_t span_ns; /* anchor to last sample */
	int64_t first_ns, last_ns;
	uint32_t intervals, changes; /* valid intervals; those in which the counter moved */
	uint32_t wraps, resets, suspects;
	enum quality quality;
};
int series_increase(const struct series *series, int64_t from_ns, int64_t to_ns,
	double max_rate_per_s, struct increase *ret);

/* series_rate - increase per second of covered time. */
int series_rate(const struct series *series, int64_t from_ns, int64_t to_ns, double max_rate_per_s,
	double *ret_per_s, struct increase *ret_inc);

/* series_state - value of a STATE (or last gauge) at @at: the newest sample not after it, not older
 * than @max_age_ns. -ENODATA. */
int series_state(const struct series *series, int64_t at_ns, int64_t max_age_ns, uint64_t *ret);

/* series_coverage - covered time over window length, 0..1, where gaps longer than @max_gap_ns do
 * not count. */
double series_coverage(
	const struct series *series, int64_t from_ns, int64_t to_ns, int64_t max_gap_ns);

/* ---- what a window is made of -------------------------------------------- */

struct window_spec {
	const uint16_t *metrics;
	size_t n_metrics;
	bool flows;
	/* only these (sorted by id); n_entities 0 = all. Flows are not filtered. */
	const uint32_t *entities;
	size_t n_entities;
	/* of priorities only these, WINDOW_LANES and a bit each; what belongs to ports and devices
	 * comes in any case. 0 = all. A store may leave the others out, which are most of a fabric;
	 * it need not. */
	unsigned lanes;
	/* with .lanes: also the queues of other priorities of which one of these metrics moved in
	 * the window, or is a state that is not 0, whole */
	const uint16_t *opens;
	size_t n_opens;
	/* what is older than the window is not asked for: a store need not look for anchors */
	bool inside;
	/* names without a sample are not looked at: where a store has none of the metrics, it need
	 * not read any name */
	bool bare;
};
#define WINDOW_LANES 0x100u
/* window_lane_bit - of a priority from 0 to 7; 0 for all else. */
static inline unsigned window_lane_bit(int priority)
{
	return priority >= 0 && priority < 8 ? 1u << priority : 0;
}

/* series_window - what every filler of a window shares, so that all give identical windows. For
 * files of db/ only. */

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
