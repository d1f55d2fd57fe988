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

void series_memory_free(struct series_memory *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->n; i++)
		free(m->tracks[i].v);
	for (size_t i = 0; i < METRIC_COUNT; i++)
		free(m->by_metric[i]);
	free(m->tracks);
	free(m->flows);
	series_index_free(m->index);
	free(m);
}

void series_memory_keep(struct series_memory *m, int64_t keep_ns)
{
	m->keep_ns = keep_ns;
}

void series_memory_keep_metric(struct series_memory *m, unsigned metric, int64_t keep_ns)
{
	m->longer_ns[metric] = keep_ns;
}

static struct track *track_of(struct series_memory *m, uint32_t entity, uint16_t metric)
{
	bool fresh;
	uint32_t at = series_index_at(m->index, entity, metric, &fresh);

	if (!fresh)
		return &m->tracks[at];
	rw_grow(m->tracks, m->n, m->cap);
	struct track *t = &m->tracks[m->n++];
	*t = (struct track){.entity = entity, .metric = metric};
	rw_grow(m->by_metric[metric], m->n_by_metric[metric], m->cap_by_metric[metric]);
	m->by_metric[metric][m->n_by_metric[metric]++] = (uint32_t)(m->n - 1);
	return t;
}

static void track_room(struct track *t)
{
	if (t->n < t->cap)
		return;
	if (t->head > 0 && t->head >= t->n / 4) {
		t->n -= t->head;
		memmove(t->v, t->v + t->head, t->n * sizeof(*t->v));
		t->head = 0;
		return;
	}
	t->cap += t->cap / 2 > 4 ? t->cap / 2 : 4;
	t->v = rw_realloc(t->v, t->cap * sizeof(*t->v));
}

int series_memory_add(struct series_memory *m, const struct sample *s)
{
	if (s->metric >= METRIC_COUNT || s->entity == ENTITY_NONE)
		return -EINVAL;
	if (s->flags & SF_LATE)
		return -EALREADY; /* its window is closed: kept by the store, never analysed */
	struct track *t = track_of(m, s->entity, s->metric);
	if (t->n > t->head && s->t_ns <= t->v[t->n - 1].t_ns)
		return -EALREADY;
	track_room(t);
	t->v[t->n++] = (struct point){
		.t_ns = s->t_ns, .value = s->value, .window_ms = s->window_ms, .flags = s->flags};
	return 0;
}

void series_memory_add_flow(struct series_memory *m, const struct flow_sample *f)
{
	if (m->flow_head > m->n_flows / 2) {
		m->n_flows -= m->flow_head;
		memmove(m->flows, m->flows + m->flow_head, m->n_flows * sizeof(*m->flows));
		m->flow_head = 0;
	}
	rw_grow(m->flows, m->n_flows, m->cap_flows);
	m->flows[m->n_flows++] = *f;
}

void series_memory_trim(struct series_memory *m, int64_t now_ns)
{
	int64_t old = now_ns - m->keep_ns;

	for (size_t i = 0; i < m->n; i++) {
		struct track *t = &m->tracks[i];
		const int64_t longer = m->longer_ns[t->metric],
			      edge = longer > m->keep_ns ? now_ns - longer : old;
		/* the last one at or before the edge stays: it is the anchor of a window that
		 * begins there */
		while (t->head + 1 < t->n && t->v[t->head + 1].t_ns <= edge)
			t->head++;
	}
	/* Arrival is nearly the order of time: a flow behind a younger one waits for it, no longer.
	 */
	while (m->flow_head < m->n_flows && m->flows[m->flow_head].to_ns <= old)
		m->flow_head++;
}

/* First index in [head, n) with t > @at. */
static uint32_t track_after(const struct track *t, int64_t at)
{
	uint32_t lo = t->head, hi = t->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		if (t->v[mid].t_ns > at)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

/* The window must not change when samples are added later, so the columns are copied. */
static bool track_window(
	const struct track *t, struct arena *a, int64_t from_ns, int64_t to_ns, struct series *ret)
{
	uint32_t begin = track_after(t, from_ns), end = track_after(t, to_ns);

	if (begin > t->head)
		begin--; /* the anchor */
	if (begin >= end)
		return false;
	ret->entity = t->entity;
	ret->metric = t->metric;
	ret->n = end - begin;
	/* one piece for all columns, the widest first */
	int64_t *t_ns = arena_alloc(a,
		ret->n *
			(sizeof(int64_t) + sizeof(uint64_t) + sizeof(uint32_t) + sizeof(uint16_t)));
	uint64_t *value = (uint64_t *)(t_ns + ret->n);
	uint32_t *window_ms = (uint32_t *)(value + ret->n);
	uint16_t *flags = (uint16_t *)(window_ms + ret->n);
	for (uint32_t i = 0; i < ret->n; i++) {
		const struct point *p = &t->v[begin + i];
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
static inline void fetch_ahead(const struct series_memory *m, unsigned metric, uint32_t k)
{
	enum { TRACKS = 16, POINTS = 8 };
	const uint32_t *at = m->by_metric[metric], n = m->n_by_metric[metric];
	if (k + TRACKS < n)
		__builtin_prefetch(&m->tracks[at[k + TRACKS]]);
	if (k + POINTS < n) {
		const struct track *t = &m->tracks[at[k + POINTS]];
		/* where the search for the window begins */
		__builtin_prefetch(&t->v[(t->head + t->n) / 2]);
		__builtin_prefetch(&t->v[t->head]);
		__builtin_prefetch((const char *)&t->v[t->n] - 1);
	}
}

int window_from_memory(struct series_memory *m, struct arena *a, const struct window_spec *spec,
	int64_t from_ns, int64_t to_ns, struct window *ret)
{
	size_t max = 0, n = 0;
	bool want[METRIC_COUNT] = {false};

	for (unsigned i = 0; i < METRIC_COUNT; i++) {
		want[i] = window_wants(spec, i);
		max += want[i] ? m->n_by_metric[i] : 0;
	}
	struct series *v = arena_array(a, struct series, max);
	for (unsigned i = 0; i < METRIC_COUNT; i++)
		for (uint32_t k = 0; want[i] && k < m->n_by_metric[i]; k++) {
			fetch_ahead(m, i, k);
			if (window_wants_entity(spec, m->tracks[m->by_metric[i][k]].entity))
				n += track_window(
					&m->tracks[m->by_metric[i][k]], a, from_ns, to_ns, &v[n]);
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
		.entities = m->entities,
		.series = v,
		.n_series = n};
	if (!spec->flows)
		return 0;

	size_t n_flows = 0;
	struct flow_sample *f = arena_array(a, struct flow_sample, m->n_flows - m->flow_head);
	for (size_t i = m->flow_head; i < m->n_flows; i++)
		if (m->flows[i].from_ns >= from_ns && m->flows[i].to_ns <= to_ns)
			f[n_flows++] = m->flows[i];
	qsort(f, n_flows, sizeof(*f), flow_order);
	ret->flows = f;
	ret->n_flows = n_flows;
	return 0;
}
