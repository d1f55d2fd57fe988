
#include "db/series/history.h"

#include "db/model/metric.h"

/* history_merged - reads each part and joins what they say: names are translated, samples are put
 * in order of time slice by slice, so that memory does not grow with the range that is read. */

/* A slice of history_each_sample() grows and shrinks until it holds between these. */
#define SLICE_LEAST 100000
#define SLICE_MOST 1000000
#define SLICE_FIRST_NS (10 * NS_PER_S)
#define SLICE_LONGEST_NS (1000 * 24 * 3600 * NS_PER_S)

struct merged_part {
	struct history *history;
	uint32_t *ours; /* its entity id -> ours; ENTITY_NONE = not looked up yet */
	size_t n_ours;
};
struct history_merged {
	struct history history; /* first */
	struct entities *entities;
	struct merged_part *parts;
	size_t n;
};

static struct history_merged *merged_of(struct history *history)
{
	return (struct history_merged *)history;
}

/* ---- names --------------------------------------------------------------- */

static uint32_t merged_entity(struct history_merged *merged, struct merged_part *part, uint32_t id)
{
	if (id >= part->n_ours) {
		const size_t n = (size_t)id * 2 + 64;
		part->ours = rw_realloc(part->ours, n * sizeof(*part->ours));
		memset(part->ours + part->n_ours, 0, (n - part->n_ours) * sizeof(*part->ours));
		part->n_ours = n;
	}
	if (part->ours[id] == ENTITY_NONE) {
		const struct entity *theirs = entity_get(history_names(part->history), id);
		if (theirs)
			part->ours[id] = entities_intern(
				merged->entities, theirs->device, theirs->port, theirs->priority);
	}
	return part->ours[id];
}

static uint64_t merged_value(const struct history_merged *merged, const struct merged_part *part,
	uint16_t metric, uint64_t value)
{
	const struct metric_info *info = metric_info(metric);
	if (!info || info->type != TYPE_TEXT)
		return value;
	return entities_text(
		merged->entities, entities_text_get(history_names(part->history), value));
}

static int merged_by_id(const void *left, const void *right)
{
	const uint32_t x = *(const uint32_t *)left, y = *(const uint32_t *)right;
	return (x > y) - (x < y);
}

/* Ids in ascending order, each once; returns how many. */
static size_t merged_ids_sort(uint32_t *ids, size_t n)
{
	size_t kept = 0;
	if (n > 1)
		qsort(ids, n, sizeof(*ids), merged_by_id);
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || ids[kept - 1] != ids[i])
			ids[kept++] = ids[i];
	return kept;
}

/* What @spec asks of one part, by its own ids. false: none of the entities is known there. */
static bool merged_spec(const struct history_merged *merged, const struct merged_part *part,
	const struct window_spec *spec, struct arena *a, struct window_spec *ret)
{
	*ret = *spec;
	if (spec->n_entities == 0)
		return true;
	uint32_t *theirs = arena_array(a, uint32_t, spec->n_entities);
	size_t n = 0;
	for (size_t i = 0; i < spec->n_entities; i++) {
		const struct entity *entity = entity_get(merged->entities, spec->entities[i]);
		uint32_t id = ENTITY_NONE;
		if (entity)
			id = entities_find(history_entities(part->history), entity->device,
				entity->port, entity->priority);
		if (id != ENTITY_NONE)
			theirs[n++] = id;
	}
	ret->entities = theirs;
	ret->n_entities = merged_ids_sort(theirs, n);
	return n > 0;
}

/* ---- windows ------------------------------------------------------------- */

static void merged_translate(struct history_merged *merged, struct merged_part *part,
	struct series *series, struct arena *a)
{
	const struct metric_info *info = metric_info(series->metric);
	series->entity = merged_entity(merged, part, series->entity);
	if (!info || info->type != TYPE_TEXT)
		return;
	uint64_t *values = arena_array(a, uint64_t, series->n + 1);
	for (uint32_t i = 0; i < series->n; i++)
		values[i] = merged_value(merged, part, series->metric, series->value[i]);
	series->value = values;
}

/* One series of two parts: by time, an instant of both once. Before the window one anchor is left.
 */
static struct series merged_join(
	const struct series *one, const struct series *other, int64_t from_ns, struct arena *a)
{
	const size_t most = (size_t)one->n + other->n;
	int64_t *times = arena_array(a, int64_t, most + 1);
	uint64_t *values = arena_array(a, uint64_t, most + 1);
	uint16_t *flags = arena_array(a, uint16_t, most + 1);
	uint32_t *windows = arena_array(a, uint32_t, most + 1);
	uint32_t n = 0, x = 0, y = 0;
	while (x < one->n || y < other->n) {
		const bool first = y == other->n || (x < one->n && one->t_ns[x] <= other->t_ns[y]);
		const struct series *from = other;
		uint32_t *at = &y;
		if (first) {
			from = one;
			at = &x;
		}
		const uint32_t i = (*at)++;
		if (n > 0 && times[n - 1] == from->t_ns[i])
			continue;
		if (n == 1 && from->t_ns[i] <= from_ns)
			n = 0;
		times[n] = from->t_ns[i];
		values[n] = from->value[i];
		flags[n] = from->flags[i];
		windows[n++] = from->window_ms[i];
	}
	struct series joined = *one;
	joined.n = n;
	joined.t_ns = times;
	joined.value = values;
	joined.flags = flags;
	joined.window_ms = windows;
	return joined;
}

struct merged_window {
	struct series *series;
	size_t n, cap;
	struct flow_sample *flows;
	size_t n_flows, cap_flows;
};

static void merged_take_flows(struct history_merged *merged, struct merged_part *part,
	const struct flow_sample *flows, size_t n, struct merged_window *all)
{
	for (size_t i = 0; i < n; i++) {
		rw_grow(all->flows, all->n_flows, all->cap_flows);
		all->flows[all->n_flows] = flows[i];
		all->flows[all->n_flows++].entity = merged_entity(merged, part, flows[i].entity);
	}
}

static int merged_window_part(struct history_merged *merged, struct merged_part *part,
	struct arena *a, const struct window_spec *spec, struct window *ret,
	struct merged_window *all, struct err *e)
{
	struct window_spec own;
	struct window window;
	if (!merged_spec(merged, part, spec, a, &own) && !spec->flows)
		return 0;
	const int rc = history_window(part->history, a, &own, ret->from_ns, ret->to_ns, &window, e);
	if (rc != 0)
		return rc;
	/* an empty list of entities would have meant all of them */
	if (own.n_entities == 0 && spec->n_entities > 0)
		window.n_series = 0;
	for (size_t i = 0; i < window.n_series; i++) {
		rw_grow(all->series, all->n, all->cap);
		all->series[all->n] = window.series[i];
		merged_translate(merged, part, &all->series[all->n++], a);
	}
	merged_take_flows(merged, part, window.flows, window.n_flows, all);
	merged_take_flows(merged, part, window.flow_hosts, window.n_flow_hosts, all);
	return 0;
}

static void merged_window_give(const struct merged_window *all, struct arena *a, struct window *ret)
{
	struct series *series = arena_array(a, struct series, all->n + 1);
	struct flow_sample *flows = arena_array(a, struct flow_sample, all->n_flows + 1);
	size_t n = 0;
	if (all->n > 1)
		qsort(all->series, all->n, sizeof(*all->series), series_order);
	for (size_t i = 0; i < all->n; i++) {
		const struct series *next = &all->series[i];
		const bool same = n > 0 && series_order(&series[n - 1], next) == 0;
		if (same)
			series[n - 1] = merged_join(&series[n - 1], next, ret->from_ns, a);
		else
			series[n++] = *next;
	}
	ret->series = series;
	ret->n_series = n;
	if (all->n_flows)
		memcpy(flows, all->flows, all->n_flows * sizeof(*flows));
	window_give_flows(ret, flows, all->n_flows);
}

static int merged_window(struct history *history, struct arena *a, const struct window_spec *spec,
	int64_t from_ns, int64_t to_ns, struct window *ret, struct err *e)
{
	struct history_merged *merged = merged_of(history);
	struct merged_window all = {0};
	int rc = 0;
	*ret = (struct window){.from_ns = from_ns, .to_ns = to_ns, .entities = merged->entities};
	for (size_t i = 0; i < merged->n && rc == 0; i++)
		rc = merged_window_part(merged, &merged->parts[i], a, spec, ret, &all, e);
	if (rc == 0)
		merged_window_give(&all, a, ret);
	free(all.series);
	free(all.flows);
	return rc;
}

/* ---- in order of time ---------------------------------------------------- */

static int merged_range(
	struct history *history, int64_t *ret_first_ns, int64_t *ret_last_ns, struct err *e)
{
	struct history_merged *merged = merged_of(history);
	int64_t first_ns, last_ns, ignored_ns;
	int found = -ENODATA;
	if (!ret_first_ns)
		ret_first_ns = &ignored_ns;
	for (size_t i = 0; i < merged->n; i++) {
		merged->parts[i].history->not_after_ns = history->not_after_ns;
		const int rc = history_range(merged->parts[i].history, &first_ns, &last_ns, e);
		if (rc == -ENODATA)
			continue;
		if (rc != 0)
			return rc;
		if (found != 0 || first_ns < *ret_first_ns)
			*ret_first_ns = first_ns;
		if (found != 0 || last_ns > *ret_last_ns)
			*ret_last_ns = last_ns;
		found = 0;
	}
	if (found != 0)
		return err_set(e, -ENODATA, "none of the %zu databases holds samples", merged->n);
	return 0;
}

static int merged_moved(struct history *history, const struct window_spec *spec, int64_t from_ns,
	int64_t to_ns, unsigned *ret, struct err *e)
{
	struct history_merged *merged = merged_of(history);
	int rc = 0;
	*ret = 0;
	for (size_t i = 0; rc == 0 && i < merged->n; i++) {
		unsigned moved = 0;
		rc = history_moved(merged->parts[i].history, spec, from_ns, to_ns, &moved, e);
		*ret |= moved;
	}
	return rc;
}

static int merged_delivered(struct history *history, const struct window_spec *spec,
	int64_t from_ns, int64_t to_ns, delivered_fn *fn, void *arg, struct err *e)
{
	struct history_merged *merged = merged_of(history);
	int rc = 0;
	for (size_t i = 0; rc == 0 && i < merged->n; i++)
		rc = history_delivered(merged->parts[i].history, spec, from_ns, to_ns, fn, arg, e);
	return rc;
}

static int merged_next(struct history *history, int64_t t_ns, int64_t *ret_ns, struct err *e)
{
	struct history_merged *merged = merged_of(history);
	int found = -ENODATA;
	for (size_t i = 0; i < merged->n; i++) {
		int64_t next_ns;
		const int rc = history_next(merged->parts[i].history, t_ns, &next_ns, e);
		if (rc == -ENODATA)
			continue;
		if (rc != 0)
			return rc;
		if (found != 0 || next_ns < *ret_ns)
			*ret_ns = next_ns;
		found = 0;
	}
	return found;
}

/* For a part, which has other numbers: it may give more than is wanted. */
static struct history_filter merged_filter(const struct history_filter *filter)
{
	struct history_filter part = *filter;
	part.ids = NULL;
	return part;
}

static int merged_match(struct history *history, const struct history_filter *filter,
	uint32_t **ret, size_t *ret_n, struct err *e)
{
	struct history_merged *merged = merged_of(history);
	const struct history_filter part = merged_filter(filter);
	uint32_t *ids = NULL;
	size_t n = 0;
	for (size_t i = 0; i < merged->n; i++) {
		rw_cleanup(freep) uint32_t *theirs = NULL;
		size_t n_theirs = 0;
		const int rc =
			history_match(merged->parts[i].history, &part, &theirs, &n_theirs, e);
		if (rc != 0) {
			free(ids);
			return rc;
		}
		ids = rw_realloc(ids, (n + n_theirs + 1) * sizeof(*ids));
		for (size_t k = 0; k < n_theirs; k++)
			ids[n++] = merged_entity(merged, &merged->parts[i], theirs[k]);
	}
	*ret_n = merged_ids_sort(ids, n);
	*ret = ids;
	return 0;
}

struct merged_gather {
	struct history_merged *merged;
	struct merged_part *part;
	struct sample *samples;
	size_t n, cap;
	struct flow_sample *flows;
	size_t n_flows, cap_flows;
};

static int merged_gather_sample(void *arg, const struct sample *sample)
{
	struct merged_gather *gather = arg;
	struct sample ours = *sample;
	ours.entity = merged_entity(gather->merged, gather->part, sample->entity);
	ours.value = merged_value(gather->merged, gather->part, sample->metric, sample->value);
	rw_grow(gather->samples, gather->n, gather->cap);
	gather->samples[gather->n++] = ours;
	return 0;
}

static int merged_sample_order(const void *left, const void *right)
{
	const struct sample *x = left, *y = right;
	if (x->t_ns != y->t_ns)
		return (x->t_ns > y->t_ns) - (x->t_ns < y->t_ns);
	if (x->entity != y->entity)
		return (x->entity > y->entity) - (x->entity < y->entity);
	if (x->metric != y->metric)
		return (x->metric > y->metric) - (x->metric < y->metric);
	return (x->value > y->value) - (x->value < y->value);
}

static bool merged_same_sample(const struct sample *one, const struct sample *other)
{
	return one->t_ns == other->t_ns && one->entity == other->entity &&
		one->metric == other->metric;
}

static int merged_hand_on(struct merged_gather *gather, sample_fn *fn, void *arg)
{
	if (gather->n > 1)
		qsort(gather->samples, gather->n, sizeof(*gather->samples), merged_sample_order);
	for (size_t i = 0; i < gather->n; i++) {
		if (i > 0 && merged_same_sample(&gather->samples[i - 1], &gather->samples[i]))
			continue;
		const int rc = fn(arg, &gather->samples[i]);
		if (rc != 0)
			return rc;
	}
	return 0;
}

/* The samples of all parts in [.from_ns, .to_ns] of @slice. */
static int merged_slice(
	struct merged_gather *gather, const struct history_filter *slice, struct err *e)
{
	gather->n = 0;
	for (size_t i = 0; i < gather->merged->n; i++) {
		gather->part = &gather->merged->parts[i];
		const int rc = history_each_sample(
			gather->part->history, slice, merged_gather_sample, gather, e);
		if (rc != 0)
			return rc;
	}
	return 0;
}

static int64_t merged_span(int64_t span_ns, size_t n)
{
	if (n > SLICE_MOST && span_ns > 1)
		return span_ns / 2;
	if (n < SLICE_LEAST && span_ns < SLICE_LONGEST_NS)
		return span_ns * 2;
	return span_ns;
}

/* The end of a slice that begins at @from_ns. 0 would mean "no end". */
static int64_t merged_slice_end(int64_t from_ns, int64_t span_ns, int64_t last_ns)
{
	int64_t end_ns;
	if (__builtin_add_overflow(from_ns, span_ns - 1, &end_ns) || end_ns > last_ns)
		end_ns = last_ns;
	if (end_ns == 0 && last_ns > 0)
		end_ns = 1;
	return end_ns;
}

static int merged_walk(struct merged_gather *gather, const struct history_filter *filter,
	sample_fn *fn, void *arg, struct err *e)
{
	struct history *history = &gather->merged->history;
	struct history_filter slice = merged_filter(filter);
	int64_t span_ns = SLICE_FIRST_NS, last_ns = filter->to_ns, before_ns = filter->from_ns;
	if (last_ns == 0)
		last_ns = INT64_MAX;
	if (before_ns > INT64_MIN)
		before_ns--;
	for (;;) {
		int rc = merged_next(history, before_ns, &slice.from_ns, e);
		if (rc == -ENODATA)
			return 0;
		if (rc != 0)
			return rc;
		if (slice.from_ns > last_ns)
			return 0;
		slice.to_ns = merged_slice_end(slice.from_ns, span_ns, last_ns);
		rc = merged_slice(gather, &slice, e);
		if (rc == 0)
			rc = merged_hand_on(gather, fn, arg);
		if (rc != 0 || slice.to_ns >= last_ns)
			return rc;
		before_ns = slice.to_ns;
		span_ns = merged_span(span_ns, gather->n);
	}
}

static int merged_each_sample(struct history *history, const struct history_filter *filter,
	sample_fn *fn, void *arg, struct err *e)
{
	static const struct history_filter all = {
		.priority = HISTORY_ANY_PRIORITY, .from_ns = INT64_MIN};
	struct merged_gather gather = {.merged = merged_of(history)};
	if (!filter)
		filter = &all;
	const int rc = merged_walk(&gather, filter, fn, arg, e);
	free(gather.samples);
	return rc;
}

static int merged_gather_flow(void *arg, const struct flow_sample *flow)
{
	struct merged_gather *gather = arg;
	rw_grow(gather->flows, gather->n_flows, gather->cap_flows);
	gather->flows[gather->n_flows] = *flow;
	gather->flows[gather->n_flows++].entity =
		merged_entity(gather->merged, gather->part, flow->entity);
	return 0;
}

static int merged_each_flow(struct history *history, int64_t from_ns, int64_t to_ns, flow_fn *fn,
	void *arg, struct err *e)
{
	struct merged_gather gather = {.merged = merged_of(history)};
	int rc = 0;
	for (size_t i = 0; i < gather.merged->n && rc == 0; i++) {
		gather.part = &gather.merged->parts[i];
		rc = history_each_flow(
			gather.part->history, from_ns, to_ns, merged_gather_flow, &gather, e);
	}
	if (gather.n_flows > 1)
		qsort(gather.flows, gather.n_flows, sizeof(*gather.flows), flow_end_order);
	for (size_t i = 0; i < gather.n_flows && rc == 0; i++)
		rc = fn(arg, &gather.flows[i]);
	free(gather.flows);
	return rc;
}

/* ---- the rest ------------------------------------------------------------ */

static int merged_fabric_at(struct history *history, int64_t at_ns, char **ret_yaml, struct err *e)
{
	struct history_merged *merged = merged_of(history);
	int rc = -ENODATA;
	for (size_t i = 0; i < merged->n && rc == -ENODATA; i++)
		rc = history_fabric_at(merged->parts[i].history, at_ns, ret_yaml, e);
	return rc;
}

static int merged_sql(struct history *history, const char *sql, row_fn *head, row_fn *fn, void *arg,
	struct err *e)
{
	return history_sql_named(merged_of(history)->parts[0].history, sql, head, fn, arg, e);
}

static const struct entities *merged_entities(struct history *history)
{
	return merged_of(history)->entities;
}

static void merged_close(struct history *history)
{
	struct history_merged *merged = merged_of(history);
	for (size_t i = 0; i < merged->n; i++) {
		history_close(merged->parts[i].history);
		free(merged->parts[i].ours);
	}
	entities_free(merged->entities);
	free(merged->parts);
	free(merged);
}

static const struct history_ops merged_history_ops = {
	.close = merged_close,
	.entities = merged_entities,
	.window = merged_window,
	.range = merged_range,
	.next = merged_next,
	.match = merged_match,
	.each_sample = merged_each_sample,
	.each_flow = merged_each_flow,
	.moved = merged_moved,
	.delivered = merged_delivered,
	.fabric_at = merged_fabric_at,
	.sql = merged_sql,
};

struct history *history_merge(struct history *const *parts, size_t n)
{
	struct history_merged *merged = rw_calloc(1, sizeof(*merged));
	merged->history.ops = &merged_history_ops;
	merged->entities = entities_new();
	merged->parts = rw_calloc(n, sizeof(*merged->parts));
	merged->n = n;
	for (size_t i = 0; i < n; i++)
		merged->parts[i].history = parts[i];
	return &merged->history;
}

/* history_newest - when each device was last heard of, for stores that cannot tell without reading
 * windows. */

#define NEWEST_SPAN_NS (10 * 60 * NS_PER_S) /* two samples of one device lie in it, as a rule */

struct newest { /* of one device */
	int64_t t_ns[2];
};

static void newest_take(struct newest *newest, int64_t t_ns)
{
	if (t_ns > newest->t_ns[0]) {
		newest->t_ns[1] = newest->t_ns[0];
		newest->t_ns[0] = t_ns;
	} else if (t_ns < newest->t_ns[0] && t_ns > newest->t_ns[1]) {
		newest->t_ns[1] = t_ns;
	}
}

int history_newest_windows(
	struct history *history, int64_t at_ns, newest_fn *fn, void *arg, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	uint16_t metrics[METRIC_COUNT];
	const struct window_spec spec = {.metrics = metrics, .n_metrics = METRIC_COUNT};
	struct window window;

	for (unsigned m = 0; m < METRIC_COUNT; m++)
		metrics[m] = (uint16_t)m;
	int r = history_window(history, a, &spec, at_ns - NEWEST_SPAN_NS, at_ns, &window, e);
	if (r < 0)
		return r;
	const uint32_t n = entities_count(window.entities) + 1;
	struct newest *newest = arena_array(a, struct newest, n);
	for (uint32_t id = 0; id < n; id++)
		newest[id] = (struct newest){{INT64_MIN, INT64_MIN}};
	for (size_t i = 0; i < window.n_series; i++) {
		const struct series *series = &window.series[i];
		const uint32_t device = entity_device(window.entities, series->entity);
		for (uint32_t k = 0; k < series->n; k++)
			newest_take(&newest[device], series->t_ns[k]);
	}
	for (uint32_t id = 1; r == 0 && id < n; id++)
		if (newest[id].t_ns[0] != INT64_MIN)
			r = fn(arg, entity_get(window.entities, id)->device, newest[id].t_ns[0],
				newest[id].t_ns[1]);
	return r;
}

int history_moved(struct history *history, const struct window_spec *spec, int64_t from_ns,
	int64_t to_ns, unsigned *ret, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	const struct window_spec every = {.metrics = spec->metrics, .n_metrics = spec->n_metrics};
	struct window window;

	if (history->ops->moved)
		return history->ops->moved(history, spec, from_ns, to_ns, ret, e);
	*ret = 0;
	const int r = history_window(history, a, &every, from_ns, to_ns, &window, e);
	for (size_t i = 0; r == 0 && i < window.n_series; i++) {
		const struct series *series = &window.series[i];
		const struct entity *entity = entity_get(window.entities, series->entity);
		if (series_moved(series->value, series->n))
			*ret |= window_lane_bit(entity->priority);
	}
	return r;
}

int history_delivered(struct history *history, const struct window_spec *spec, int64_t from_ns,
	int64_t to_ns, delivered_fn *fn, void *arg, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct window_spec inside = *spec;
	struct window window;

	if (history->ops->delivered)
		return history->ops->delivered(history, spec, from_ns, to_ns, fn, arg, e);
	inside.inside = true;
	const int r = history_window(history, a, &inside, from_ns, to_ns, &window, e);
	for (size_t i = 0; r == 0 && i < window.n_series; i++) {
		const struct series *series = &window.series[i];
		if (series->n > 0 && series->t_ns[series->n - 1] > from_ns)
			fn(arg, entity_get(window.entities, series->entity)->device, series->metric,
				series->t_ns[series->n - 1]);
	}
	return r;
}

/* history_rollup - steps of any store, made from its samples in order of time. What is kept is one
 * track per series, however long the range is. */

struct rolling {
	rollup_sketch_fn *fn;
	void *arg;
	int64_t step_ns, from_ns, to_ns; /* .step_ns 0: one step, (from, to] */
	/* Of each metric, entity -> place in .tracks, which grow; 0 = none yet. */
	struct rolling_places {
		uint32_t *v, n;
	} places[METRIC_COUNT];
	struct rolling_track {
		struct rollup_track *track;
		uint64_t key; /* entity and metric: the order in which a step is told */
		bool touched;
	} * tracks;
	size_t n, cap;
	struct rolling_touched {
		uint64_t key;
		uint32_t at;
	} * touched; /* the tracks with samples in this step */
	size_t n_touched, cap_touched;
	int64_t step; /* its number; when .n_touched > 0 */
};

static uint32_t *rolling_place(struct rolling_places *places, uint32_t entity)
{
	if (entity >= places->n) {
		const uint32_t n = entity + entity / 2 + 64;
		places->v = rw_realloc(places->v, n * sizeof(*places->v));
		memset(places->v + places->n, 0, (n - places->n) * sizeof(*places->v));
		places->n = n;
	}
	return &places->v[entity];
}

static uint32_t rolling_track(struct rolling *rolling, uint32_t entity, uint16_t metric)
{
	uint32_t *place = rolling_place(&rolling->places[metric], entity);
	if (*place)
		return *place - 1;
	rw_grow(rolling->tracks, rolling->n, rolling->cap);
	rolling->tracks[rolling->n] = (struct rolling_track){
		.track = rollup_track_new(entity, metric), .key = (uint64_t)entity << 16 | metric};
	*place = (uint32_t)++rolling->n;
	return *place - 1;
}

static void rolling_done(struct rolling *rolling)
{
	for (size_t i = 0; i < rolling->n; i++)
		rollup_track_free(rolling->tracks[i].track);
	for (size_t i = 0; i < METRIC_COUNT; i++)
		free(rolling->places[i].v);
	free(rolling->tracks);
	free(rolling->touched);
}

static int rolling_order(const void *left, const void *right)
{
	const struct rolling_touched *x = left, *y = right;
	return (x->key > y->key) - (x->key < y->key);
}

static int rolling_close(struct rolling *rolling)
{
	int64_t from_ns = rolling->from_ns, to_ns = rolling->to_ns;
	int rc = 0;
	if (rolling->step_ns) {
		from_ns = rolling->step * rolling->step_ns;
		to_ns = from_ns + rolling->step_ns;
	}
	if (rolling->n_touched > 1)
		qsort(rolling->touched, rolling->n_touched, sizeof(*rolling->touched),
			rolling_order);
	for (size_t i = 0; i < rolling->n_touched; i++) {
		struct rolling_track *of = &rolling->tracks[rolling->touched[i].at];
		struct rollup rollup;
		struct rollup_sketch sketch = {0};
		of->touched = false;
		if (rollup_track_close_sketch(of->track, from_ns, to_ns, &rollup, &sketch) &&
			rc == 0)
			rc = rolling->fn(rolling->arg, &rollup, &sketch);
		rollup_sketch_done(&sketch);
	}
	rolling->n_touched = 0;
	return rc;
}

static int rolling_sample(void *arg, const struct sample *sample)
{
	struct rolling *rolling = arg;
	int rc = 0;
	int64_t step = 0;
	if (rolling->step_ns)
		step = rollup_step_of(sample->t_ns, rolling->step_ns);
	if (rolling->n_touched > 0 && step != rolling->step)
		rc = rolling_close(rolling);
	rolling->step = step;
	const uint32_t at = rolling_track(rolling, sample->entity, sample->metric);
	struct rolling_track *of = &rolling->tracks[at];
	rollup_track_add(of->track, sample);
	if (of->touched)
		return rc;
	of->touched = true;
	rw_grow(rolling->touched, rolling->n_touched, rolling->cap_touched);
	rolling->touched[rolling->n_touched++] = (struct rolling_touched){of->key, at};
	return rc;
}

bool history_wants(const struct history_filter *filter, uint32_t id)
{
	size_t begin = 0, end = filter->n_ids;

	if (!filter->ids)
		return true;
	while (begin < end) {
		const size_t middle = begin + (end - begin) / 2;
		if (filter->ids[middle] < id)
			begin = middle + 1;
		else
			end = middle;
	}
	return begin < filter->n_ids && filter->ids[begin] == id;
}

int history_each_before(struct history *history, const struct history_filter *filter, int64_t at_ns,
	sample_fn *fn, void *arg, struct err *e)
{
	rw_cleanup(freep) uint32_t *ids = NULL;
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct history_filter known = *filter;
	struct window window;
	size_t n = 0;
	known.from_ns = at_ns;
	int rc = history_match(history, &known, &ids, &n, e);
	if (rc < 0 || n == 0)
		return rc;
	const struct window_spec spec = {.metrics = filter->metrics,
		.n_metrics = filter->n_metrics,
		.entities = ids,
		.n_entities = n};
	rc = history_window(history, a, &spec, at_ns - 1, at_ns, &window, e);
	for (size_t i = 0; rc == 0 && i < window.n_series; i++) {
		const struct series *series = &window.series[i];
		const uint32_t k = series->n - 1;
		const struct sample sample = {.t_ns = series->t_ns[k],
			.value = series->value[k],
			.flags = series->flags[k],
			.entity = series->entity,
			.metric = series->metric};
		if (series->n > 0)
			rc = fn(arg, &sample);
	}
	return rc;
}

static int rolling_anchor(void *arg, const struct sample *sample)
{
	struct rolling *rolling = arg;
	const uint32_t at = rolling_track(rolling, sample->entity, sample->metric);
	rollup_track_anchor(rolling->tracks[at].track, sample);
	return 0;
}

/* Increases begin at the last sample before the range. Only counters need it. */
static int rolling_anchors(struct history *history, const struct history_filter *filter,
	struct rolling *rolling, struct err *e)
{
	uint16_t metrics[METRIC_COUNT];
	struct history_filter counters = *filter;
	counters.metrics = metrics;
	counters.n_metrics = 0;
	for (unsigned m = 0; m < METRIC_COUNT; m++) {
		bool wanted = filter->n_metrics == 0;
		for (size_t i = 0; i < filter->n_metrics && !wanted; i++)
			wanted = filter->metrics[i] == m;
		if (wanted && metric_info(m)->kind == METRIC_COUNTER)
			metrics[counters.n_metrics++] = (uint16_t)m;
	}
	if (counters.n_metrics == 0)
		return 0;
	return history_each_before(
		history, &counters, rolling->from_ns, rolling_anchor, rolling, e);
}

int history_rollup_sketches(struct history *history, const struct history_filter *filter,
	int64_t step_ns, rollup_sketch_fn *fn, void *arg, struct err *e)
{
	struct rolling rolling = {.fn = fn,
		.arg = arg,
		.step_ns = step_ns,
		.from_ns = filter->from_ns,
		.to_ns = filter->to_ns};
	struct history_filter wide = *filter;
	if (step_ns == 0 && filter->to_ns == 0)
		return -EINVAL;
	if (step_ns) {
		rolling.from_ns = rollup_step_of(filter->from_ns + 1, step_ns) * step_ns;
		if (filter->to_ns)
			rolling.to_ns = (rollup_step_of(filter->to_ns, step_ns) + 1) * step_ns;
	}
	wide.from_ns = rolling.from_ns + 1;
	wide.to_ns = rolling.to_ns;
	int rc = rolling_anchors(history, &wide, &rolling, e);
	if (rc == 0)
		rc = history_each_sample(history, &wide, rolling_sample, &rolling, e);
	if (rc == 0)
		rc = rolling_close(&rolling);
	rolling_done(&rolling);
	return rc;
}

struct rolling_plain {
	rollup_fn *fn;
	void *arg;
};

static int rolling_plain_step(
	void *arg, const struct rollup *rollup, const struct rollup_sketch *sketch)
{
	const struct rolling_plain *plain = arg;

	(void)sketch;
	return plain->fn(plain->arg, rollup);
}

int history_rollup_samples(struct history *history, const struct history_filter *filter,
	int64_t step_ns, rollup_fn *fn, void *arg, struct err *e)
{
	struct rolling_plain plain = {.fn = fn, .arg = arg};

	return history_rollup_sketches(history, filter, step_ns, rolling_plain_step, &plain, e);
}
