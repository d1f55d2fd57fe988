/*
 * series - the read side: runs of samples, and the only place that knows what a wrap, a reset or a
 * gap does to a rate.
 *
 * A window is immutable and columnar: the pipeline fills it (from memory when live, from SQLite for
 * history), analyzers and reports read it. Functions here are pure.
 */
#ifndef RW_DB_SERIES_H
#define RW_DB_SERIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "db/model/entity.h"
#include "db/model/finding.h"
#include "db/model/flow.h"
#include "db/model/sample.h"

struct arena;
struct err;

struct series { /* strictly increasing t_ns */
	uint32_t entity;
	uint16_t metric;
	uint32_t n;
	const int64_t *t_ns;
	const uint64_t *value;
	const uint16_t *flags;
	const uint32_t *window_ms;
};

struct window {
	/* samples in (from, to], and per series the last one at or before from (the anchor) */
	int64_t from_ns, to_ns;
	const struct entities *entities;
	const struct series *series; /* sorted by (metric, entity) */
	size_t n_series;
	/* intervals that lie within the window; sorted by (entity, from, total first, octets desc)
	 */
	const struct flow_sample *flows;
	size_t n_flows;
};

/* NULL = no samples at all */
const struct series *window_series(const struct window *window, uint32_t entity, unsigned metric);

/* window_metric - position of the first series of @metric or of one after it; series of one metric
 * are a run. */
size_t window_metric(const struct window *window, unsigned metric);
/* window_fetch - for who goes through all series in their order and is at @i: samples further on
 * are fetched from memory meanwhile. */
static inline void window_fetch(const struct window *window, size_t i)
{
	if (i + 12 < window->n_series) {
		__builtin_prefetch(window->series[i + 12].t_ns);
		__builtin_prefetch(window->series[i + 12].value);
	}
}

/* series_after - first position whose time is after @t_ns; .n when there is none. */
uint32_t series_after(const struct series *series, int64_t t_ns);

/*
 * series_increase - how much a counter grew between the anchor and the last sample of the window.
 *
 * @max_rate_per_s  plausible maximum (e.g. 1.02 x line rate in bytes/s); 0 = no gate
 *
 * A decrease is a wrap when the run says 32 bits and the implied rate is plausible, else a reset:
 * that interval counts as not covered. A restart flag, or an interval above @max_rate_per_s,
 * likewise. Late samples are not looked at. Without a gate a wrap is believed when it adds less
 * than half of the 32-bit range. A jump after cached repeats is judged over the time since the last
 * move. 0, or -ENODATA when no valid interval exists (@ret is filled then too: the counts say why,
 * .value is 0). Exact in u64; .value is the sum of valid intervals.
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

/* series_quantile - of gauge values in (from, to]; @at in 0..1, linear interpolation between order
 * statistics. -ENODATA. */
int series_quantile(
	const struct series *series, int64_t from_ns, int64_t to_ns, double at, double *ret);

/* series_coverage - covered time over window length, 0..1, where gaps longer than @max_gap_ns do
 * not count. */
double series_coverage(
	const struct series *series, int64_t from_ns, int64_t to_ns, int64_t max_gap_ns);

/* ---- fillers ------------------------------------------------------------- */

struct window_spec {
	const uint16_t *metrics;
	size_t n_metrics;
	bool flows;
	/* only these (sorted by id); n_entities 0 = all. Flows are not filtered. */
	const uint32_t *entities;
	size_t n_entities;
};

/* Memory: what the live pipeline keeps. Bounded by @keep_ns per series (plus the anchor). Loop
 * thread only. */
struct series_memory;
struct series_memory *series_memory_new(const struct entities *entities, int64_t keep_ns);
void series_memory_free(struct series_memory *memory);
void series_memory_keep(struct series_memory *memory, int64_t keep_ns); /* after a reload */
/* A metric that is kept longer than the others; 0 = as long as they are. */
void series_memory_keep_metric(struct series_memory *memory, unsigned metric, int64_t keep_ns);
/* -EALREADY: not newer than the newest of its series */
int series_memory_add(struct series_memory *memory, const struct sample *sample);
void series_memory_add_flow(struct series_memory *memory, const struct flow_sample *flow);
void series_memory_trim(struct series_memory *memory, int64_t now_ns);
int window_from_memory(struct series_memory *memory, struct arena *a,
	const struct window_spec *spec, int64_t from_ns, int64_t to_ns, struct window *ret);

/* SQLite: history, opened read-only. One reader per thread; read transactions are short. */
struct series_db;
int series_db_open(const char *path, struct series_db **ret, struct err *e);
void series_db_close(struct series_db *db);
struct entities *series_db_entities(struct series_db *db); /* lent; refreshed by window_from_db() */
int window_from_db(struct series_db *db, struct arena *a, const struct window_spec *spec,
	int64_t from_ns, int64_t to_ns, struct window *ret, struct err *e);
/* Newest and oldest sample time; -ENODATA when empty. */
int series_db_range(
	struct series_db *db, int64_t *ret_first_ns, int64_t *ret_last_ns, struct err *e);
/*
 * Every sample / flow row in time order (t, entity, metric), for replay and query. @fn returning
 * non-zero stops and is returned.
 * @filter may be NULL; in it NULL globs match all, priority -2 = any, n_metrics 0 = all.
 */
struct series_filter {
	const char *device, *port;
	int priority;
	const uint16_t *metrics;
	size_t n_metrics;
	int64_t from_ns, to_ns; /* [from, to]; to 0 = no end */
};
/* series_db_match - ids of the entities @filter lets through that ever had one of its metrics,
 * ascending; caller frees. Ports match by native name or alias. 0 or negative errno. */
int series_db_match(struct series_db *db, const struct series_filter *filter, uint32_t **ret,
	size_t *ret_n, struct err *e);
typedef int sample_fn(void *arg, const struct sample *sample);
typedef int flow_fn(void *arg, const struct flow_sample *flow);
int series_db_each(struct series_db *db, const struct series_filter *filter, sample_fn *fn,
	void *arg, struct err *e);
int series_db_each_flow(struct series_db *db, int64_t from_ns, int64_t to_ns, flow_fn *fn,
	void *arg, struct err *e);

/* The configuration that was in force at @at (newest not after; the oldest if all are later): YAML
 * text, caller frees. -ENODATA. */
int series_db_fabric(struct series_db *db, int64_t at_ns, char **ret_yaml, struct err *e);

/* Rows of a documented view or of a read-only statement: @fn once per row with column names and
 * values as text (NULL = null). */
typedef int row_fn(void *arg, int n, char *const *values, char *const *names);
int series_db_sql(struct series_db *db, const char *sql, row_fn *fn, void *arg, struct err *e);
/* The same; before the rows, if any, @head is told the columns' names, with NULL for @values. */
int series_db_sql_named(
	struct series_db *db, const char *sql, row_fn *head, row_fn *fn, void *arg, struct err *e);

#endif
