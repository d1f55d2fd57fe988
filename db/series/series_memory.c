/*
 * series_memory - recent samples kept per (entity, metric), for the live pipeline. Loop thread
 * only.
 *
 * There are millions of tracks in a large fabric, so a track is small: one block of points that
 * grows at the end and is cut at the front. .head is the first kept sample, and the points are
 * moved down when a quarter of them is dead.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "db/model/metric.h"
#include "db/series/series.h"
#include "db/series/series_index.h"
#include "db/series/series_window.h"

struct point {
	int64_t t_ns;
	uint64_t value;
	uint32_t window_ms;
	uint16_t flags;
};
struct track {
	struct point *v;
	uint32_t entity;
	uint32_t head, n, cap; /* samples are [head, n) */
	uint16_t metric;
};

struct series_memory {
	const struct entities *entities;
	int64_t keep_ns, longer_ns[METRIC_COUNT]; /* of one metric, where it is kept longer */
	struct series_index *index; /* position in tracks */
	struct track *tracks;
	size_t n, cap;
	uint32_t *by_metric[METRIC_COUNT]; /* positions of the tracks of a metric */
	uint32_t n_by_metric[METRIC_COUNT], cap_by_metric[METRIC_COUNT];
	struct flow_sample *flows; /* in order of arrival */
	size_t flow_head, n_flows, cap_flows;
};

struct series_memory *series_memory_new(const struct entities *entities, int64_t keep_ns)
{
	struct series_memory *m = rw_calloc(1, sizeof(*m));

	m->entities = entities;
	m->keep_ns = keep_ns;
	m->index = series_index_new();
	return m;
}

void series_memory_free(struct series_memory *memory)
{
	if (!memory)
		return;
	for (size_t i = 0; i < memory->n; i++)
		free(memory->tracks[i].v);
	for (size_t i = 0; i < METRIC_COUNT; i++)
		free(memory->by_metric[i]);
	free(memory->tracks);
	free(memory->flows);
	series_index_free(memory->index);
	free(memory);
}

void series_memory_keep(struct series_memory *memory, int64_t keep_ns)
{
	memory->keep_ns = keep_ns;
}

void series_memory_keep_metric(struct series_memory *memory, unsigned metric, int64_t keep_ns)
{
	memory->longer_ns[metric] = keep_ns;
}

static struct track *track_of(struct series_memory *memory, uint32_t entity, uint16_t metric)
{
	bool fresh;
	uint32_t at = series_index_at(memory->index, entity, metric, &fresh);

	if (!fresh)
		return &memory->tracks[at];
	rw_grow(memory->tracks, memory->n, memory->cap);
	struct track *t = &memory->tracks[memory->n++];
	*t = (struct track){.entity = entity, .metric = metric};
	rw_grow(memory->by_metric[metric], memory->n_by_metric[metric],
		memory->cap_by_metric[metric]);
	memory->by_metric[metric][memory->n_by_metric[metric]++] = (uint32_t)(memory->n - 1);
	return t;
}

static void track_room(struct track *track)
{
	if (track->n < track->cap)
		return;
	if (track->head > 0 && track->head >= track->n / 4) {
		track->n -= track->head;
		memmove(track->v, track->v + track->head, track->n * sizeof(*track->v));
		track->head = 0;
		return;
	}
	if (track->cap / 2 > 4)
		track->cap += track->cap / 2;
	else
		track->cap += 4;
	track->v = rw_realloc(track->v, track->cap * sizeof(*track->v));
}

int series_memory_add(struct series_memory *memory, const struct sample *sample)
{
	if (sample->metric >= METRIC_COUNT || sample->entity == ENTITY_NONE)
		return -EINVAL;
	if (sample->flags & SF_LATE)
		return -EALREADY; /* its window is closed: kept by the store, never analysed */
	struct track *t = track_of(memory, sample->entity, sample->metric);
	if (t->n > t->head && sample->t_ns <= t->v[t->n - 1].t_ns)
		return -EALREADY;
	track_room(t);
	t->v[t->n++] = (struct point){.t_ns = sample->t_ns,
		.value = sample->value,
		.window_ms = sample->window_ms,
		.flags = sample->flags};
	return 0;
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
	int64_t old = now_ns - memory->keep_ns;

	for (size_t i = 0; i < memory->n; i++) {
		struct track *t = &memory->tracks[i];
		const int64_t longer = memory->longer_ns[t->metric];
		int64_t edge = old;
		if (longer > memory->keep_ns)
			edge = now_ns - longer;
		/* the last one at or before the edge stays: it is the anchor of a window that
		 * begins there */
		while (t->head + 1 < t->n && t->v[t->head + 1].t_ns <= edge)
			t->head++;
	}
	/* Arrival is nearly the order of time: a flow behind a younger one waits for it, no longer.
	 */
	while (memory->flow_head < memory->n_flows && memory->flows[memory->flow_head].to_ns <= old)
		memory->flow_head++;
}

/* First index in [head, n) with t > @at. */
static uint32_t track_after(const struct track *track, int64_t at)
{
	uint32_t lo = track->head, hi = track->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (track->v[mid].t_ns > at)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/* The window must not change when samples are added later, so the columns are copied. */
static bool track_window(const struct track *track, struct arena *a, int64_t from_ns, int64_t to_ns,
	struct series *ret)
{
	uint32_t begin = track_after(track, from_ns), end = track_after(track, to_ns);

	if (begin > track->head)
		begin--; /* the anchor */
	if (begin >= end)
		return false;
	ret->entity = track->entity;
	ret->metric = track->metric;
	ret->n = end - begin;
	/* one piece for all columns, the widest first */
	int64_t *t_ns = arena_alloc(a,
		ret->n *
			(sizeof(int64_t) + sizeof(uint64_t) + sizeof(uint32_t) + sizeof(uint16_t)));
	uint64_t *value = (uint64_t *)(t_ns + ret->n);
	uint32_t *window_ms = (uint32_t *)(value + ret->n);
	uint16_t *flags = (uint16_t *)(window_ms + ret->n);
	for (uint32_t i = 0; i < ret->n; i++) {
		const struct point *p = &track->v[begin + i];
		t_ns[i] = p->t_ns;
		value[i] = p->value;
		flags[i] = p->flags;
		window_ms[i] = p->window_ms;
	}
	ret->t_ns = t_ns;
	ret->value = value;
	ret->flags = flags;
	ret->window_ms = window_ms;
	return true;
}

/* Millions of tracks, each somewhere else: what comes next is fetched while this one is copied. */
static inline void fetch_ahead(const struct series_memory *memory, unsigned metric, uint32_t index)
{
	enum { TRACKS = 16, POINTS = 8 };
	const uint32_t *at = memory->by_metric[metric], n = memory->n_by_metric[metric];
	if (index + TRACKS < n)
		__builtin_prefetch(&memory->tracks[at[index + TRACKS]]);
	if (index + POINTS < n) {
		const struct track *t = &memory->tracks[at[index + POINTS]];
		/* where the search for the window begins */
		__builtin_prefetch(&t->v[(t->head + t->n) / 2]);
		__builtin_prefetch(&t->v[t->head]);
		__builtin_prefetch((const char *)&t->v[t->n] - 1);
	}
}

int window_from_memory(struct series_memory *memory, struct arena *a,
	const struct window_spec *spec, int64_t from_ns, int64_t to_ns, struct window *ret)
{
	size_t max = 0, n = 0;
	bool want[METRIC_COUNT] = {false};

	for (unsigned i = 0; i < METRIC_COUNT; i++) {
		want[i] = window_wants(spec, i);
		if (want[i])
			max += memory->n_by_metric[i];
	}
	struct series *v = arena_array(a, struct series, max);
	for (unsigned i = 0; i < METRIC_COUNT; i++)
		for (uint32_t k = 0; want[i] && k < memory->n_by_metric[i]; k++) {
			fetch_ahead(memory, i, k);
			if (window_wants_entity(
				    spec, memory->tracks[memory->by_metric[i][k]].entity))
				n += track_window(&memory->tracks[memory->by_metric[i][k]], a,
					from_ns, to_ns, &v[n]);
		}
	for (size_t i = 1; i < n; i++) {
		/* metrics come in order, and entities mostly do: they are numbered as they are
		 * first heard of */
		if (series_order(&v[i - 1], &v[i]) > 0) {
			qsort(v, n, sizeof(*v), series_order);
			break;
		}
	}
	*ret = (struct window){.from_ns = from_ns,
		.to_ns = to_ns,
		.entities = memory->entities,
		.series = v,
		.n_series = n};
	if (!spec->flows)
		return 0;

	size_t n_flows = 0;
	struct flow_sample *f =
		arena_array(a, struct flow_sample, memory->n_flows - memory->flow_head);
	for (size_t i = memory->flow_head; i < memory->n_flows; i++)
		if (memory->flows[i].from_ns >= from_ns && memory->flows[i].to_ns <= to_ns)
			f[n_flows++] = memory->flows[i];
	qsort(f, n_flows, sizeof(*f), flow_order);
	ret->flows = f;
	ret->n_flows = n_flows;
	return 0;
}
