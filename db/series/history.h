/*
 * history - what a reader of the past offers: windows, samples in order of time, flows, the stored
 * configuration, and records by SQL. One table of operations; each kind of store fills it in a file
 * of its own (series_memory.c, db/sqlite/sqlite.c). db/open.h chooses the right one for a
 * path.
 *
 * One thread at a time. All functions return 0 or a negative errno, with @e filled (@e may be
 * NULL), unless they say otherwise.
 */
#pragma once

#include "db/series/rollup.h"
#include "db/series/series.h"

struct history;

/* Which samples history_each_sample() and history_match() take. Globs as in str_glob(). */
struct history_filter {
	const char *device, *port; /* NULL = all; a port also matches by its alias */
	int priority; /* HISTORY_ANY_PRIORITY, PRIO_NONE = values of the port itself, or 0..7 */
	const uint16_t *metrics;
	size_t n_metrics; /* 0 = all */
	int64_t from_ns, to_ns; /* [from, to]; to 0 = no end */
	bool no_quantiles; /* history_each_rollup() may leave them NAN: they cost most of the time
			    */
	/* history_each_rollup() may take steps as they lie in the store: none waits in memory for
	 * those of other series */
	bool any_order;
	/* NULL = all; else no others are needed than these entities, ascending: a store may still
	 * give more */
	const uint32_t *ids;
	size_t n_ids;
};
#define HISTORY_ANY_PRIORITY (-2)

/* A callback that returns non-zero stops the walk; the walk returns that number. */
typedef int sample_fn(void *arg, const struct sample *sample);
typedef int rollup_fn(void *arg, const struct rollup *rollup);
typedef int flow_fn(void *arg, const struct flow_sample *flow);
/* A device and the newest two instants of its samples; @before_ns INT64_MIN: it has only one. */
typedef int newest_fn(void *arg, const char *device, int64_t newest_ns, int64_t before_ns);
/* The newest sample of a metric that a device has. */
typedef void delivered_fn(void *arg, const char *device, unsigned metric, int64_t newest_ns);
/* One row: names of its columns and its values as text (NULL = SQL's null); lent for the call. */
typedef int row_fn(void *arg, int n, char *const *values, char *const *names);
struct history_ops {
	void (*close)(struct history *history);
	const struct entities *(*entities)(struct history *history);
	const struct entities *(*names)(struct history *history); /* NULL: .entities */
	int (*window)(struct history *history, struct arena *a, const struct window_spec *spec,
		int64_t from_ns, int64_t to_ns, struct window *ret, struct err *e);
	int (*range)(struct history *history, int64_t *ret_first_ns, int64_t *ret_last_ns,
		struct err *e);
	int (*next)(struct history *history, int64_t t_ns, int64_t *ret_ns, struct err *e);
	int (*match)(struct history *history, const struct history_filter *filter, uint32_t **ret,
		size_t *ret_n, struct err *e);
	int (*each_sample)(struct history *history, const struct history_filter *filter,
		sample_fn *fn, void *arg, struct err *e);
	/* NULL: from each_sample */
	int (*each_rollup)(struct history *history, const struct history_filter *filter,
		int64_t step_ns, rollup_fn *fn, void *arg, struct err *e);
	int (*each_flow)(struct history *history, int64_t from_ns, int64_t to_ns, flow_fn *fn,
		void *arg, struct err *e);
	/* NULL: history_newest_windows() */
	int (*newest)(
		struct history *history, int64_t at_ns, newest_fn *fn, void *arg, struct err *e);
	/* NULL: from a window */
	int (*moved)(struct history *history, const struct window_spec *spec, int64_t from_ns,
		int64_t to_ns, unsigned *ret, struct err *e);
	int (*delivered)(struct history *history, const struct window_spec *spec, int64_t from_ns,
		int64_t to_ns, delivered_fn *fn, void *arg, struct err *e);
	int (*fabric_at)(struct history *history, int64_t at_ns, char **ret_yaml, struct err *e);
	int (*sql)(struct history *history, const char *sql, row_fn *head, row_fn *fn, void *arg,
		struct err *e);
};
/* The first member of each implementation's own struct. */
struct history {
	const struct history_ops *ops;
	/* history_range() leaves out what is later: it was stamped by a wrong clock; 0 = nothing */
	int64_t not_after_ns;
};

static inline void history_close(struct history *history) /* NULL is fine */
{
	if (history)
		history->ops->close(history);
}

/* history_wants - is the entity needed, going by .ids? */
bool history_wants(const struct history_filter *filter, uint32_t id);

/* history_entities - the names behind entity ids and texts. Lent; each read adds what is new. Where
 * they cannot be read, the next operation fails. */
static inline const struct entities *history_entities(struct history *history)
{
	return history->ops->entities(history);
}

/* history_names - the same names, of the ids and texts that this history has handed out. It reads
 * nothing, while history_entities() reads all names that are alive, which takes long where they are
 * many. */
static inline const struct entities *history_names(struct history *history)
{
	if (!history->ops->names)
		return history->ops->entities(history);
	return history->ops->names(history);
}

/* history_window - the samples that @spec asks for, in @a. The same data give the same window,
 * whatever the store. */
static inline int history_window(struct history *history, struct arena *a,
	const struct window_spec *spec, int64_t from_ns, int64_t to_ns, struct window *ret,
	struct err *e)
{
	return history->ops->window(history, a, spec, from_ns, to_ns, ret, e);
}

/* history_range - times of the oldest and the newest sample of what is watched. Late samples, whose
 * time may be wrong, and the agent's own pulse do not count, nor what is later than .not_after_ns.
 * @ret_first_ns NULL: only the newest, which is half the work. -ENODATA when there are none. */
static inline int history_range(
	struct history *history, int64_t *ret_first_ns, int64_t *ret_last_ns, struct err *e)
{
	return history->ops->range(history, ret_first_ns, ret_last_ns, e);
}

/* history_next - when the first sample or flow interval after @t_ns is, of whatever kind; @t_ns + 1
 * where the store cannot tell without reading much. -ENODATA when there is none. */
static inline int history_next(
	struct history *history, int64_t t_ns, int64_t *ret_ns, struct err *e)
{
	return history->ops->next(history, t_ns, ret_ns, e);
}

/* history_match - ids of the entities that @filter lets through and that ever had one of its
 * metrics, ascending. Of the filter's times, .from_ns leaves out names that were gone by then.
 * Caller frees. */
static inline int history_match(struct history *history, const struct history_filter *filter,
	uint32_t **ret, size_t *ret_n, struct err *e)
{
	return history->ops->match(history, filter, ret, ret_n, e);
}

/* history_each_sample - every sample by (time, entity, metric), late ones included where the store
 * keeps them. @filter NULL = all. */
static inline int history_each_sample(struct history *history, const struct history_filter *filter,
	sample_fn *fn, void *arg, struct err *e)
{
	return history->ops->each_sample(history, filter, fn, arg, e);
}

/*
 * history_each_rollup - what each series was in each step of @step_ns (ns), aligned to multiples of
 * it; @step_ns 0: in the whole range, which then needs both ends. By (end of the step, entity,
 * metric); a step without a sample has no row. The range is (from, to], widened to whole steps. The
 * store takes minutes or hours that it made before where they divide the step, and single values
 * elsewhere; .tier says which.
 *
 * history_rollup_samples - the same from single values only, whatever the store keeps beside them.
 */
/* Also hands over what the quantiles were made of, lent for the call, so that steps may be merged.
 */
typedef int rollup_sketch_fn(
	void *arg, const struct rollup *rollup, const struct rollup_sketch *sketch);
int history_rollup_sketches(struct history *history, const struct history_filter *filter,
	int64_t step_ns, rollup_sketch_fn *fn, void *arg, struct err *e);
int history_rollup_samples(struct history *history, const struct history_filter *filter,
	int64_t step_ns, rollup_fn *fn, void *arg, struct err *e);
/* history_each_before - the newest sample at or before @at_ns of each series that @filter lets
 * through, whatever its times; by (metric, entity). */
int history_each_before(struct history *history, const struct history_filter *filter, int64_t at_ns,
	sample_fn *fn, void *arg, struct err *e);
static inline int history_each_rollup(struct history *history, const struct history_filter *filter,
	int64_t step_ns, rollup_fn *fn, void *arg, struct err *e)
{
	if (!history->ops->each_rollup)
		return history_rollup_samples(history, filter, step_ns, fn, arg, e);
	return history->ops->each_rollup(history, filter, step_ns, fn, arg, e);
}

/* history_each_flow - flow intervals that end in [@from_ns, @to_ns], by end; @to_ns 0 = no end. */
static inline int history_each_flow(struct history *history, int64_t from_ns, int64_t to_ns,
	flow_fn *fn, void *arg, struct err *e)
{
	return history->ops->each_flow(history, from_ns, to_ns, fn, arg, e);
}

/* history_newest - of each device that has samples at or before @at_ns, the newest two instants,
 * late ones included. history_newest_windows - the same from windows, for every kind of store. */
int history_newest_windows(
	struct history *history, int64_t at_ns, newest_fn *fn, void *arg, struct err *e);
static inline int history_newest(
	struct history *history, int64_t at_ns, newest_fn *fn, void *arg, struct err *e)
{
	if (!history->ops->newest)
		return history_newest_windows(history, at_ns, fn, arg, e);
	return history->ops->newest(history, at_ns, fn, arg, e);
}

/* history_moved - priorities, a bit each, of which a queue's value of one of @spec's metrics moved
 * in the window (from, to]. @spec->lanes: the queues whose windows are read next. */
int history_moved(struct history *history, const struct window_spec *spec, int64_t from_ns,
	int64_t to_ns, unsigned *ret, struct err *e);

/* history_delivered - of each device and each of @spec's metrics the newest instant in (from, to]
 * of all its series; nothing where there is none. Late samples do not count. */
int history_delivered(struct history *history, const struct window_spec *spec, int64_t from_ns,
	int64_t to_ns, delivered_fn *fn, void *arg, struct err *e);

/* history_fabric_at - the configuration in force at @at_ns: the newest that is not after it; the
 * oldest when all are later. YAML text, caller frees. -ENODATA when none is stored. */
static inline int history_fabric_at(
	struct history *history, int64_t at_ns, char **ret_yaml, struct err *e)
{
	return history->ops->fabric_at(history, at_ns, ret_yaml, e);
}

/*
 * history_sql - the rows of one read-only statement on the documented views (docs/database.md).
 * Incidents, findings, recommendations and events are read this way. history_sql_named also calls
 * @head once before the rows, with the names of the columns and NULL for the values. -EPERM for a
 * statement that does more than read, -ENOTSUP where the store has no views.
 *
 * A database may come from anywhere. history_sql() hands over each text as one line that may be
 * printed (base/text_clean.h); history_sql_named() hands it over as it is stored, and who
 * prints it cleans it. Strings inside a stored JSON document: agent/document/json_value.h.
 */
static inline int history_sql_named(struct history *history, const char *sql, row_fn *head,
	row_fn *fn, void *arg, struct err *e)
{
	return history->ops->sql(history, sql, head, fn, arg, e);
}
static inline int history_sql(
	struct history *history, const char *sql, row_fn *fn, void *arg, struct err *e)
{
	return history->ops->sql(history, sql, NULL, fn, arg, e);
}

/*
 * history_merged - several stores read as one fabric: the files of agents that each poll a share of
 * it (docs/scale-out.md). Samples and flows come from all of them. Records (incidents, findings,
 * events) and the configuration come from the first one that has them: a judge's file goes first.
 *
 * One thread at a time, as every struct history.
 */

/* history_merge - @parts, at least one, belong to the result from now on: history_close() of it
 * closes them. Where two parts hold a sample of one series and instant, it is read once. */
struct history *history_merge(struct history *const *parts, size_t n);
