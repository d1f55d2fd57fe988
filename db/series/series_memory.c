/*
 * series_memory - recent samples kept per (entity, metric), for the live pipeline. Loop thread
 * only.
 *
 * A series has a number, which others may use for what they keep of it (the pipeline). Its track is
 * in the place of that number.
 */
#include "db/series/series_memory.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/err.h"
#include "base/map.h"
#include "base/str.h"
#include "db/model/metric.h"
#include "db/series/series.h"
#include "db/series/series_track.h"

/*
 * series_index - (entity, metric) to a dense number, for tables that hold something per series. No
 * hashing of every sample: polls bring the same series in the same order, so each series remembers
 * which one came after it, and that one is tried first. 16 bytes per series and 4 per entity. One
 * thread at a time.
 *
 * series_index - a chain of series per entity; and for each series the one that followed it last
 * time, which is tried first.
 */

#define NONE UINT32_MAX

struct index_item {
	uint32_t entity;
	uint32_t next; /* of the same entity */
	uint32_t follow; /* came after this one last time */
	uint16_t metric;
};

struct series_index {
	struct index_item *v;
	uint32_t n, cap;
	uint32_t *heads; /* by entity */
	uint32_t n_heads;
	uint32_t last; /* found last */
	uint32_t free; /* a chain of items that were dropped */
};

static struct series_index *series_index_new(void)
{
	struct series_index *x = rw_calloc(1, sizeof(*x));

	x->last = x->free = NONE;
	return x;
}

static void series_index_free(struct series_index *index)
{
	if (!index)
		return;
	free(index->v);
	free(index->heads);
	free(index);
}

static uint32_t *head_of(struct series_index *index, uint32_t entity)
{
	if (entity >= index->n_heads) {
		uint32_t n;
		if (entity < UINT32_MAX / 2)
			n = entity + entity / 2 + 64;
		else
			n = entity + 1;
		index->heads = rw_realloc(index->heads, (size_t)n * sizeof(*index->heads));
		memset(index->heads + index->n_heads, 0xff,
			(size_t)(n - index->n_heads) * sizeof(*index->heads));
		index->n_heads = n;
	}
	return &index->heads[entity];
}

static uint32_t series_index_find(
	struct series_index *index, uint32_t entity, uint16_t metric, bool *ret_new)
{
	uint32_t *head = head_of(index, entity);

	for (uint32_t i = *head; i != NONE; i = index->v[i].next)
		if (index->v[i].metric == metric)
			return i;
	uint32_t at = index->free;
	if (at != NONE) {
		index->free = index->v[at].next;
	} else {
		rw_grow(index->v, index->n, index->cap);
		at = index->n++;
	}
	index->v[at] = (struct index_item){
		.entity = entity, .metric = metric, .next = *head, .follow = NONE};
	*head = at;
	*ret_new = true;
	return at;
}

/* series_index_at - the number of a series: the smallest that was never given, or one that
 * series_index_drop() took back; @ret_new: it was given just now. */
static uint32_t series_index_at(
	struct series_index *index, uint32_t entity, uint16_t metric, bool *ret_new)
{
	uint32_t at = NONE;
	if (index->last != NONE)
		at = index->v[index->last].follow;

	*ret_new = false;
	if (at == NONE || index->v[at].entity != entity || index->v[at].metric != metric) {
		at = series_index_find(index, entity, metric, ret_new);
		if (index->last != NONE)
			index->v[index->last].follow = at;
	}
	index->last = at;
	return at;
}

/* series_index_drop - forgets all series of @entity and tells the number of each to @gone.
 * A dropped item belongs to no entity, so that one whose .follow still names it does not take it.
 */
static void series_index_drop(struct series_index *index, uint32_t entity,
	void (*gone)(void *arg, uint32_t number), void *arg)
{
	if (entity >= index->n_heads)
		return;
	uint32_t at = index->heads[entity];
	index->heads[entity] = NONE;
	while (at != NONE) {
		const uint32_t next = index->v[at].next;
		if (index->last == at)
			index->last = NONE;
		index->v[at] = (struct index_item){.next = index->free, .follow = NONE};
		index->free = at;
		gone(arg, at);
		at = next;
	}
}

struct series_memory {
	struct history history; /* first */
	const struct entities *entities;
	int64_t keep_ns, longer_ns[METRIC_COUNT]; /* of one metric, where it is kept longer */
	struct series_index *index; /* position in tracks */
	struct track *tracks; /* .entity ENTITY_NONE: its place is free */
	struct track_clocks *clocks;
	size_t n, cap, n_free;
	uint32_t *by_metric[METRIC_COUNT]; /* positions of the tracks of a metric */
	uint32_t n_by_metric[METRIC_COUNT], cap_by_metric[METRIC_COUNT];
	bool mixed[METRIC_COUNT]; /* that list is not in order of entities */
	void (*pause)(void *arg);
	void *pause_arg;
	struct flow_sample *flows; /* in order of arrival */
	size_t flow_head, n_flows, cap_flows;
};

enum { SAME_COLUMNS = 256 };

static const struct history_ops memory_history_ops;

struct series_memory *series_memory_new(const struct entities *entities, int64_t keep_ns)
{
	struct series_memory *m = rw_calloc(1, sizeof(*m));

	m->history.ops = &memory_history_ops;
	m->entities = entities;
	m->keep_ns = keep_ns;
	m->index = series_index_new();
	m->clocks = track_clocks_new();
	return m;
}

void series_memory_free(struct series_memory *memory)
{
	if (!memory)
		return;
	for (size_t i = 0; i < memory->n; i++)
		track_drop(memory->clocks, &memory->tracks[i]);
	for (size_t i = 0; i < METRIC_COUNT; i++)
		free(memory->by_metric[i]);
	free(memory->tracks);
	free(memory->flows);
	series_index_free(memory->index);
	track_clocks_free(memory->clocks);
	free(memory);
}

void series_memory_keep(struct series_memory *memory, int64_t keep_ns)
{
	memory->keep_ns = keep_ns;
}

void series_memory_pausing(struct series_memory *memory, void (*pause)(void *arg), void *pause_arg)
{
	memory->pause = pause;
	memory->pause_arg = pause_arg;
}

/* Before track @i of a long row of them. */
static inline void memory_pause(const struct series_memory *memory, size_t i)
{
	enum { EACH = 512 };
	if (memory->pause && i % EACH == 0)
		memory->pause(memory->pause_arg);
}

void series_memory_keep_metric(struct series_memory *memory, unsigned metric, int64_t keep_ns)
{
	memory->longer_ns[metric] = keep_ns;
}

/* Millions of tracks: twice the room would often be empty by half. */
static void memory_room(struct series_memory *memory)
{
	if (memory->n < memory->cap)
		return;
	memory->cap += memory->cap / 4 + 64;
	memory->tracks = rw_realloc(memory->tracks, memory->cap * sizeof(*memory->tracks));
}

uint32_t series_memory_number(
	struct series_memory *memory, uint32_t entity, uint16_t metric, bool *ret_new)
{
	const uint32_t at = series_index_at(memory->index, entity, metric, ret_new);
	if (!*ret_new)
		return at;
	if (at == memory->n) {
		memory_room(memory);
		memory->n++;
	} else {
		memory->n_free--;
	}
	memory->tracks[at] =
		(struct track){.entity = entity, .metric = metric, .clock = TRACK_WIDE};
	uint32_t **list = &memory->by_metric[metric], *n = &memory->n_by_metric[metric];
	rw_grow(*list, *n, memory->cap_by_metric[metric]);
	if (*n > 0 && memory->tracks[(*list)[*n - 1]].entity > entity)
		memory->mixed[metric] = true;
	(*list)[(*n)++] = at;
	return at;
}

static void track_gone(void *arg, uint32_t number)
{
	struct series_memory *memory = arg;
	track_drop(memory->clocks, &memory->tracks[number]);
	memory->tracks[number].entity = ENTITY_NONE;
	memory->n_free++;
}

void series_memory_forget(struct series_memory *memory, const struct entities *released)
{
	const struct entity *entity;
	for (size_t i = 0; (entity = entities_gone(released, i)); i++)
		series_index_drop(memory->index, entity->id, track_gone, memory);
	for (unsigned m = 0; m < METRIC_COUNT; m++) {
		uint32_t *list = memory->by_metric[m], kept = 0;
		for (uint32_t k = 0; k < memory->n_by_metric[m]; k++)
			if (memory->tracks[list[k]].entity != ENTITY_NONE)
				list[kept++] = list[k];
		memory->n_by_metric[m] = kept;
	}
}

size_t series_memory_tracks(const struct series_memory *memory)
{
	return memory->n - memory->n_free;
}

static int track_order(const void *left, const void *right, void *arg)
{
	const struct track *tracks = arg;
	const uint32_t x = tracks[*(const uint32_t *)left].entity;
	const uint32_t y = tracks[*(const uint32_t *)right].entity;
	return (x > y) - (x < y);
}

/* After names were released, ids of new ones are lower than those of others. */
static void tracks_sort(struct series_memory *memory, unsigned metric)
{
	if (!memory->mixed[metric])
		return;
	qsort_r(memory->by_metric[metric], memory->n_by_metric[metric], sizeof(uint32_t),
		track_order, memory->tracks);
	memory->mixed[metric] = false;
}

int series_memory_add_at(struct series_memory *memory, uint32_t number, const struct sample *sample)
{
	struct track *t = &memory->tracks[number];
	uint32_t device = ENTITY_NONE;
	if (sample->flags & SF_LATE)
		return -EALREADY; /* its window is closed: kept by the store, never analysed */
	if (t->n == t->head)
		device = entity_device(memory->entities, sample->entity);
	else if (sample->t_ns <= track_newest(memory->clocks, t))
		return -EALREADY;
	track_add(memory->clocks, t, device, sample);
	return 0;
}

int series_memory_add(struct series_memory *memory, const struct sample *sample)
{
	bool fresh;
	if (sample->metric >= METRIC_COUNT || sample->entity == ENTITY_NONE)
		return -EINVAL;
	const uint32_t number =
		series_memory_number(memory, sample->entity, sample->metric, &fresh);
	return series_memory_add_at(memory, number, sample);
}

uint64_t series_memory_value(const struct series_memory *memory, uint32_t number)
{
	return memory->tracks[number].last;
}

void series_memory_add_flow(struct series_memory *memory, const struct flow_sample *flow)
{
	if (memory->flow_head > memory->n_flows / 2) {
		memory->n_flows -= memory->flow_head;
		memmove(memory->flows, memory->flows + memory->flow_head,
			memory->n_flows * sizeof(*memory->flows));
		memory->flow_head = 0;
	}
	rw_grow(memory->flows, memory->n_flows, memory->cap_flows);
	memory->flows[memory->n_flows++] = *flow;
}

void series_memory_trim(struct series_memory *memory, int64_t now_ns)
{
	const int64_t old = now_ns - memory->keep_ns;
	int64_t oldest = old;

	for (size_t i = 0; i < memory->n; i++) {
		memory_pause(memory, i);
		struct track *t = &memory->tracks[i];
		const int64_t longer = memory->longer_ns[t->metric];
		int64_t edge = old;
		uint32_t device = ENTITY_NONE;
		if (longer > memory->keep_ns)
			edge = now_ns - longer;
		if (edge < oldest)
			oldest = edge;
		if (t->clock == TRACK_WIDE)
			device = entity_device(memory->entities, t->entity);
		track_trim(memory->clocks, t, device, edge);
	}
	track_clocks_trim(memory->clocks, oldest);
	/* Arrival is nearly the order of time: a flow behind a younger one waits for it, no longer.
	 */
	while (memory->flow_head < memory->n_flows && memory->flows[memory->flow_head].to_ns <= old)
		memory->flow_head++;
}

void series_memory_rewind(struct series_memory *memory, int64_t t_ns)
{
	for (size_t i = 0; i < memory->n; i++)
		track_rewind(memory->clocks, &memory->tracks[i], t_ns);
	track_clocks_rewind(memory->clocks, t_ns);
	size_t n = memory->flow_head;
	for (size_t i = memory->flow_head; i < memory->n_flows; i++)
		if (memory->flows[i].to_ns <= t_ns)
			memory->flows[n++] = memory->flows[i];
	memory->n_flows = n;
}

/* First position with t > @at. */
static uint32_t run_after(const struct track_run *run, int64_t at)
{
	uint32_t lo = 0, hi = run->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (run->t_ns[mid] > at)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

int64_t series_memory_next(const struct series_memory *memory, int64_t t_ns)
{
	int64_t next_ns = INT64_MAX;
	for (size_t i = 0; i < memory->n; i++) {
		const struct track_run run = track_run_of(memory->clocks, &memory->tracks[i]);
		const uint32_t at = run_after(&run, t_ns);
		if (at < run.n && run.t_ns[at] < next_ns)
			next_ns = run.t_ns[at];
	}
	for (size_t i = memory->flow_head; i < memory->n_flows; i++) {
		const int64_t to_ns = memory->flows[i].to_ns;
		if (to_ns > t_ns && to_ns < next_ns)
			next_ns = to_ns;
	}
	return next_ns;
}

/* ---- windows --------------------------------------------------------------- */

/* A window that is made. Series of equal values have no block of their own: a few such columns are
 * made in the arena of the window, and series of the same value share one. */
struct memory_cut {
	struct series_memory *memory;
	struct arena *a;
	int64_t from_ns, to_ns;
	struct same_column {
		uint64_t *v;
		uint32_t n;
	} same[SAME_COLUMNS];
};

static const uint64_t *cut_same(struct memory_cut *cut, uint64_t value, uint32_t n)
{
	const uint64_t *forever = track_same(value, n);
	struct same_column *column = &cut->same[hash_u64(value) % SAME_COLUMNS];
	if (forever)
		return forever;
	if (column->n >= n && column->v[0] == value)
		return column->v;
	column->v = arena_array(cut->a, uint64_t, n);
	column->n = n;
	for (uint32_t i = 0; i < n; i++)
		column->v[i] = value;
	return column->v;
}

/* The part of a track that the window has, in the memory of the track. */
static bool track_window(struct memory_cut *cut, const struct track *track, struct series *ret)
{
	const struct track_run run = track_run_of(cut->memory->clocks, track);
	uint32_t begin = run_after(&run, cut->from_ns), end = run.n;

	if (begin > 0)
		begin--; /* the anchor */
	if (end > 0 && run.t_ns[end - 1] > cut->to_ns)
		end = run_after(&run, cut->to_ns);
	if (begin >= end)
		return false;
	ret->entity = track->entity;
	ret->metric = track->metric;
	ret->flat = run.flat;
	ret->n = end - begin;
	ret->t_ns = run.t_ns + begin;
	if (run.value)
		ret->value = run.value + begin;
	else
		ret->value = cut_same(cut, run.same, ret->n);
	ret->window_ms = run.window_ms + begin;
	ret->flags = run.flags + begin;
	return true;
}

/* The window must not change when samples are added later, so the columns are copied. */
static void series_copy(struct arena *a, struct series *series)
{
	const size_t n = series->n;
	const size_t point = sizeof(*series->t_ns) + sizeof(*series->value) +
		sizeof(*series->window_ms) + sizeof(*series->flags);
	/* one piece for all columns, the widest first */
	int64_t *t_ns = arena_alloc(a, n * point);
	uint64_t *value = (uint64_t *)(t_ns + n);
	uint32_t *window_ms = (uint32_t *)(value + n);
	uint16_t *flags = (uint16_t *)(window_ms + n);
	memcpy(t_ns, series->t_ns, n * sizeof(*t_ns));
	memcpy(value, series->value, n * sizeof(*value));
	memcpy(window_ms, series->window_ms, n * sizeof(*window_ms));
	memcpy(flags, series->flags, n * sizeof(*flags));
	series->t_ns = t_ns;
	series->value = value;
	series->window_ms = window_ms;
	series->flags = flags;
}

/* Millions of tracks, each somewhere else: what comes next is fetched while this one is copied. */
static inline void fetch_ahead(const struct series_memory *memory, unsigned metric, uint32_t index)
{
	enum { TRACKS = 16, POINTS = 8 };
	const uint32_t *at = memory->by_metric[metric], n = memory->n_by_metric[metric];
	if (index + TRACKS < n)
		__builtin_prefetch(&memory->tracks[at[index + TRACKS]]);
	if (index + POINTS < n) {
		track_fetch(memory->clocks, &memory->tracks[at[index + POINTS]]);
	}
}

/* The series that the spec asks for, sorted. */
static size_t memory_series(struct series_memory *memory, struct arena *a,
	const struct window_spec *spec, int64_t from_ns, int64_t to_ns, struct series **ret)
{
	struct memory_cut cut = {.memory = memory, .a = a, .from_ns = from_ns, .to_ns = to_ns};
	size_t max = 0, n = 0;
	bool want[METRIC_COUNT] = {false};

	for (unsigned m = 0; m < METRIC_COUNT; m++) {
		want[m] = window_wants(spec, m);
		if (!want[m])
			continue;
		tracks_sort(memory, m);
		max += memory->n_by_metric[m];
	}
	struct series *v = arena_array(a, struct series, max);
	for (unsigned m = 0; m < METRIC_COUNT; m++)
		for (uint32_t k = 0; want[m] && k < memory->n_by_metric[m]; k++) {
			const struct track *track = &memory->tracks[memory->by_metric[m][k]];
			memory_pause(memory, k);
			fetch_ahead(memory, m, k);
			if (window_wants_entity(spec, track->entity))
				n += track_window(&cut, track, &v[n]);
		}
	/* Metrics come in order, and entities mostly do: ids are given in the order of their first
	 * samples. */
	for (size_t i = 1; i < n; i++)
		if (series_order(&v[i - 1], &v[i]) > 0) {
			qsort(v, n, sizeof(*v), series_order);
			break;
		}
	*ret = v;
	return n;
}

int window_lent_from_memory(struct series_memory *memory, struct arena *a,
	const struct window_spec *spec, int64_t from_ns, int64_t to_ns, struct window *ret)
{
	struct series *series;
	size_t n_series = memory_series(memory, a, spec, from_ns, to_ns, &series), n_flows = 0;

	*ret = (struct window){.from_ns = from_ns,
		.to_ns = to_ns,
		.entities = memory->entities,
		.series = series,
		.n_series = n_series};
	if (!spec->flows)
		return 0;
	struct flow_sample *flows =
		arena_array(a, struct flow_sample, memory->n_flows - memory->flow_head);
	for (size_t i = memory->flow_head; i < memory->n_flows; i++) {
		const struct flow_sample *flow = &memory->flows[i];
		if (flow->to_ns > from_ns && flow->to_ns <= to_ns)
			flows[n_flows++] = *flow;
	}
	window_give_flows(ret, flows, n_flows);
	return 0;
}

int window_from_memory(struct series_memory *memory, struct arena *a,
	const struct window_spec *spec, int64_t from_ns, int64_t to_ns, struct window *ret)
{
	const int rc = window_lent_from_memory(memory, a, spec, from_ns, to_ns, ret);
	/* the array of series is ours until it is handed out */
	struct series *series = (struct series *)ret->series;
	for (size_t i = 0; rc == 0 && i < ret->n_series; i++)
		series_copy(a, &series[i]);
	return rc;
}

/* ---- as a reader of the past --------------------------------------------- */

static struct series_memory *memory_of(struct history *history)
{
	return (struct series_memory *)history;
}

struct history *series_memory_history(struct series_memory *memory)
{
	return &memory->history;
}

static void memory_close(struct history *history)
{
	/* lent: series_memory_free() ends it */
}

static const struct entities *memory_entities(struct history *history)
{
	return memory_of(history)->entities;
}

static int memory_window(struct history *history, struct arena *a, const struct window_spec *spec,
	int64_t from_ns, int64_t to_ns, struct window *ret, struct err *e)
{
	return window_from_memory(memory_of(history), a, spec, from_ns, to_ns, ret);
}

static int memory_next(struct history *history, int64_t t_ns, int64_t *ret_ns, struct err *e)
{
	*ret_ns = series_memory_next(memory_of(history), t_ns);
	if (*ret_ns == INT64_MAX)
		return -ENODATA;
	return 0;
}

static int memory_range(
	struct history *history, int64_t *ret_first_ns, int64_t *ret_last_ns, struct err *e)
{
	const struct series_memory *memory = memory_of(history);
	int64_t first = INT64_MAX, last = INT64_MIN;

	for (size_t i = 0; i < memory->n; i++) {
		const struct track_run run = track_run_of(memory->clocks, &memory->tracks[i]);
		if (run.n == 0)
			continue;
		if (run.t_ns[0] < first)
			first = run.t_ns[0];
		if (run.t_ns[run.n - 1] > last)
			last = run.t_ns[run.n - 1];
	}
	if (first > last)
		return -ENODATA;
	*ret_first_ns = first;
	*ret_last_ns = last;
	return 0;
}

static bool memory_wants(const struct series_memory *memory, const struct history_filter *filter,
	const struct track *track)
{
	const struct entity *entity = entity_get(memory->entities, track->entity);

	if (!entity || track->n == track->head)
		return false;
	if (!filter)
		return true;
	bool metric = filter->n_metrics == 0;
	for (size_t i = 0; i < filter->n_metrics && !metric; i++)
		metric = filter->metrics[i] == track->metric;
	bool priority =
		filter->priority == HISTORY_ANY_PRIORITY || filter->priority == entity->priority;
	return metric && priority && str_glob(filter->device, entity->device) &&
		str_glob(filter->port, entity->port);
}

static int memory_match(struct history *history, const struct history_filter *filter,
	uint32_t **ret, size_t *ret_n, struct err *e)
{
	const struct series_memory *memory = memory_of(history);
	uint32_t max = entities_count(memory->entities);
	rw_cleanup(freep) bool *matches = rw_calloc((size_t)max + 1, sizeof(*matches));
	uint32_t *ids = rw_calloc((size_t)max + 1, sizeof(*ids));
	size_t n = 0;

	for (size_t i = 0; i < memory->n; i++)
		if (memory_wants(memory, filter, &memory->tracks[i]))
			matches[memory->tracks[i].entity] = true;
	for (uint32_t id = 1; id <= max; id++)
		if (matches[id])
			ids[n++] = id;
	*ret = ids;
	*ret_n = n;
	return 0;
}

static int memory_each_sample(struct history *history, const struct history_filter *filter,
	sample_fn *fn, void *arg, struct err *e)
{
	const struct series_memory *memory = memory_of(history);
	rw_cleanup(freep) struct sample *v = NULL;
	size_t n = 0, cap = 0;
	int r = 0;

	for (size_t i = 0; i < memory->n; i++) {
		const struct track *t = &memory->tracks[i];
		if (!memory_wants(memory, filter, t))
			continue;
		const struct track_run run = track_run_of(memory->clocks, t);
		for (uint32_t k = 0; k < run.n; k++) {
			const int64_t t_ns = run.t_ns[k];
			uint64_t value = run.same;
			if (run.value)
				value = run.value[k];
			if (filter &&
				(t_ns < filter->from_ns ||
					(filter->to_ns != 0 && t_ns > filter->to_ns)))
				continue;
			rw_grow(v, n, cap);
			v[n++] = (struct sample){.t_ns = t_ns,
				.entity = t->entity,
				.metric = t->metric,
				.value = value,
				.flags = run.flags[k],
				.window_ms = run.window_ms[k]};
		}
	}
	if (n > 1)
		qsort(v, n, sizeof(*v), sample_order);
	for (size_t i = 0; i < n && r == 0; i++)
		r = fn(arg, &v[i]);
	return r;
}

static int memory_each_flow(struct history *history, int64_t from_ns, int64_t to_ns, flow_fn *fn,
	void *arg, struct err *e)
{
	const struct series_memory *memory = memory_of(history);
	rw_cleanup(freep) struct flow_sample *v = NULL;
	size_t n = 0, cap = 0;
	int r = 0;

	for (size_t i = memory->flow_head; i < memory->n_flows; i++) {
		const struct flow_sample *flow = &memory->flows[i];
		if (flow->to_ns < from_ns || (to_ns != 0 && flow->to_ns > to_ns))
			continue;
		rw_grow(v, n, cap);
		v[n++] = *flow;
	}
	if (n > 1)
		qsort(v, n, sizeof(*v), flow_end_order);
	for (size_t i = 0; i < n && r == 0; i++)
		r = fn(arg, &v[i]);
	return r;
}

static int memory_fabric_at(struct history *history, int64_t at_ns, char **ret_yaml, struct err *e)
{
	return -ENODATA;
}

static int memory_sql(struct history *history, const char *sql, row_fn *head, row_fn *fn, void *arg,
	struct err *e)
{
	return err_set(e, -ENOTSUP, "memory holds samples only, no records");
}

static const struct history_ops memory_history_ops = {
	.close = memory_close,
	.entities = memory_entities,
	.window = memory_window,
	.range = memory_range,
	.next = memory_next,
	.match = memory_match,
	.each_sample = memory_each_sample,
	.each_flow = memory_each_flow,
	.fabric_at = memory_fabric_at,
	.sql = memory_sql,
};
