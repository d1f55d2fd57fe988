/* test_series_track - windows from memory equal those of a plain list of samples, whatever came:
 * polls in step and out of step, rows in any order, series that stop and return, flags, windows of
 * their own, values that stand still, trimming, rewinding, names that are released. And memory
 * stays small where nothing is odd. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <malloc.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "db/model/entity.h"
#include "db/model/metric.h"
#include "db/series/series_memory.h"

enum { DEVICES = 2, PORTS = 5, METRICS = 5, SERIES = DEVICES * PORTS * METRICS, MOST = 4000 };
#define KEEP_NS (90 * NS_PER_S)
#define LONG_NS (600 * NS_PER_S)

static const uint16_t metrics[METRICS] = {
	M_PORT_IN_OCTETS, M_PORT_OUT_OCTETS, M_PORT_IN_ERRORS, M_PFC_RX_FRAMES, M_PFC_RX_FRAMES};
static const int priorities[METRICS] = {PRIO_NONE, PRIO_NONE, PRIO_NONE, 3, 4};

struct plain { /* all samples of one series, the first kept one at .head */
	struct sample v[MOST];
	size_t head, n;
};
static struct plain plain[SERIES];

struct world {
	struct entities *entities;
	struct series_memory *memory;
	uint64_t seed;
	int64_t now_ns;
};

static unsigned draw(struct world *w, unsigned below)
{
	w->seed = w->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (unsigned)(w->seed >> 33) % below;
}

static void plain_add(struct world *w, unsigned i, const struct sample *sample)
{
	struct plain *p = &plain[i];
	const bool older = p->n > p->head && sample->t_ns <= p->v[p->n - 1].t_ns;
	const int rc = series_memory_add(w->memory, sample);
	assert_int_equal(rc == 0, !older);
	if (older)
		return;
	assert_true(p->n < MOST);
	p->v[p->n++] = *sample;
}

static void plain_trim(struct world *w)
{
	series_memory_trim(w->memory, w->now_ns);
	for (unsigned i = 0; i < SERIES; i++) {
		struct plain *p = &plain[i];
		const int64_t edge = w->now_ns - (i % METRICS == 0 ? LONG_NS : KEEP_NS);
		while (p->head + 1 < p->n && p->v[p->head + 1].t_ns <= edge)
			p->head++;
	}
}

static void plain_rewind(struct world *w, int64_t t_ns)
{
	series_memory_rewind(w->memory, t_ns);
	for (unsigned i = 0; i < SERIES; i++)
		while (plain[i].n > plain[i].head && plain[i].v[plain[i].n - 1].t_ns > t_ns)
			plain[i].n--;
	w->now_ns = t_ns;
}

static void series_equal(const struct plain *p, size_t begin, size_t end, const struct series *s)
{
	bool flat = true;
	assert_non_null(s);
	assert_int_equal(s->n, end - begin);
	for (size_t k = begin; k < end; k++) {
		assert_int_equal(s->t_ns[k - begin], p->v[k].t_ns);
		assert_int_equal(s->value[k - begin], p->v[k].value);
		assert_int_equal(s->flags[k - begin], p->v[k].flags);
		assert_int_equal(s->window_ms[k - begin], p->v[k].window_ms);
		flat = flat && p->v[k].flags == 0 && p->v[k].value == p->v[begin].value;
	}
	if (s->flat)
		assert_true(flat);
}

static void compare(struct world *w, struct arena *a, bool copy)
{
	const int64_t from_ns = w->now_ns - (int64_t)draw(w, 100) * NS_PER_S,
		      to_ns = w->now_ns - (int64_t)draw(w, 20) * NS_PER_S;
	const struct window_spec spec = {.metrics = metrics, .n_metrics = METRICS};
	struct window window;
	arena_reset(a);
	if (copy)
		window_from_memory(w->memory, a, &spec, from_ns, to_ns, &window);
	else
		window_lent_from_memory(w->memory, a, &spec, from_ns, to_ns, &window);
	size_t n = 0;
	for (unsigned i = 0; i < SERIES; i++) {
		const struct plain *p = &plain[i];
		size_t begin = p->head, end = p->head;
		while (begin < p->n && p->v[begin].t_ns <= from_ns)
			begin++;
		if (begin > p->head)
			begin--;
		while (end < p->n && p->v[end].t_ns <= to_ns)
			end++;
		if (begin >= end)
			continue;
		n++;
		series_equal(p, begin, end,
			window_series(&window, p->v[begin].entity, metrics[i % METRICS]));
	}
	size_t of_metrics = 0;
	for (unsigned m = 0; m < METRICS - 1; m++) { /* the last two series are of one metric */
		size_t of_metric;
		const struct series *of = window_of_metric(&window, metrics[m], &of_metric);
		for (size_t i = 1; i < of_metric; i++)
			assert_true(of[i - 1].entity < of[i].entity);
		of_metrics += of_metric;
	}
	assert_int_equal(n, of_metrics);
	for (unsigned i = 0; i < SERIES; i++) {
		const struct plain *p = &plain[i];
		if (p->n == p->head)
			continue;
		const struct sample *last = &p->v[p->n - 1];
		const struct series_place place =
			series_memory_place(w->memory, last->entity, last->metric);
		assert_int_equal(series_memory_value(w->memory, place), last->value);
	}
}

/* When the next sample after a moment is. */
static void compare_next(struct world *w)
{
	const int64_t t_ns = w->now_ns - (int64_t)draw(w, 60) * NS_PER_S;
	int64_t next_ns = INT64_MAX;
	for (unsigned i = 0; i < SERIES; i++)
		for (size_t k = plain[i].head; k < plain[i].n; k++)
			if (plain[i].v[k].t_ns > t_ns && plain[i].v[k].t_ns < next_ns)
				next_ns = plain[i].v[k].t_ns;
	assert_int_equal(series_memory_next(w->memory, t_ns), next_ns);
}

static bool keeps_port(void *arg, const struct entity *entity)
{
	return strcmp(entity->device, "sw0") != 0 || strcmp(entity->port, arg) != 0;
}

/* A port of the first switch is released: nothing is kept of it, and what comes under its name
 * later begins anew. */
static void release_port(struct world *w, unsigned port)
{
	char name[8];
	snprintf(name, sizeof(name), "e%u", port);
	const struct entity_release how = {.keep = keeps_port, .arg = name};
	entities_tick(w->entities, w->now_ns);
	const size_t gone = entities_release(w->entities, &how);
	series_memory_forget(w->memory, w->entities);
	entities_reclaim(w->entities);
	for (unsigned k = 0; gone > 0 && k < METRICS; k++)
		plain[port * METRICS + k].n = plain[port * METRICS + k].head = 0;
}

/* One poll of a device; @odd: something is wrong with it. */
static void poll_device(struct world *w, unsigned device, unsigned odd)
{
	static uint64_t value[SERIES];
	char port[8], name[8];
	snprintf(name, sizeof(name), "sw%u", device);
	const unsigned first = draw(w, PORTS * METRICS), stride = 1 + 2 * draw(w, 2);
	for (unsigned row = 0; row < PORTS * METRICS; row++) {
		/* some polls bring the rows in another order */
		const unsigned k = odd == 0 ? row : (first + stride * row) % (PORTS * METRICS);
		const unsigned i = device * PORTS * METRICS + k;
		snprintf(port, sizeof(port), "e%u", k / METRICS);
		struct sample s = {.t_ns = w->now_ns,
			.entity = entities_intern(w->entities, name, port, priorities[k % METRICS]),
			.metric = metrics[k % METRICS],
			.flags = k % METRICS == 2 ? SF_WRAP32 : 0};
		if (k % METRICS == 0)
			value[i] += draw(w, 3);
		if (odd == 1 && draw(w, 3) == 0)
			continue; /* this series is missing */
		if (odd == 2 && draw(w, 3) == 0)
			s.flags |= SF_RESTART;
		if (odd == 3 && draw(w, 3) == 0)
			s.window_ms = 5;
		if (odd == 4 && draw(w, 3) == 0)
			s.t_ns += draw(w, 3) * NS_PER_MS;
		if (odd == 5 && draw(w, 3) == 0)
			value[i] = draw(w, 2) * UINT64_MAX;
		if (odd == 6 && draw(w, 5) != 0)
			continue; /* most are missing */
		if (odd == 7 && k / METRICS == first % PORTS)
			s.flags |= SF_ESTIMATED; /* perhaps of the row that comes first */
		s.value = value[i];
		plain_add(w, i, &s);
	}
}

static void world_open(struct world *w, uint64_t seed)
{
	memset(plain, 0, sizeof(plain));
	*w = (struct world){.seed = seed, .now_ns = 1000 * NS_PER_S, .entities = entities_new()};
	w->memory = series_memory_new(w->entities, KEEP_NS);
	series_memory_keep_metric(w->memory, metrics[0], LONG_NS);
}

static void world_close(struct world *w)
{
	series_memory_free(w->memory);
	entities_free(w->entities);
}

static void test_random(void **state)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	for (uint64_t seed = 1; seed <= 40; seed++) {
		struct world w;
		world_open(&w, seed);
		for (unsigned step = 0; step < 300; step++) {
			const unsigned odd = draw(&w, 4) == 0 ? draw(&w, 8) : 0;
			const bool silent = draw(&w, 20) == 0;
			w.now_ns += NS_PER_S * (1 + 9 * (draw(&w, 8) != 0));
			for (unsigned d = 0; d < DEVICES && !silent; d++)
				poll_device(&w, d, odd);
			w.now_ns += NS_PER_S;
			if (draw(&w, 60) == 0)
				w.now_ns += 2 * KEEP_NS; /* only anchors stay */
			if (draw(&w, 3) == 0)
				plain_trim(&w);
			if (draw(&w, 40) == 0)
				plain_rewind(&w, w.now_ns - (int64_t)draw(&w, 60) * NS_PER_S);
			if (draw(&w, 30) == 0)
				release_port(&w, draw(&w, PORTS));
			compare(&w, a, step % 2);
			compare_next(&w);
		}
		world_close(&w);
	}
}

/* 2,000 series that stand still cost no block of their own, also after something odd is over. */
static void test_small(void **state)
{
	struct world w;
	world_open(&w, 1);
	char port[16];
	size_t before = 0, after = 0;
	for (unsigned poll = 0; poll < 60; poll++) {
		w.now_ns += 10 * NS_PER_S;
		for (unsigned k = 0; k < 2000; k++) {
			snprintf(port, sizeof(port), "e%u", k);
			const struct sample s = {.t_ns = w.now_ns,
				.entity = entities_intern(w.entities, "sw", port, PRIO_NONE),
				.metric = metrics[1],
				.value = 7,
				.flags = poll == 0 || poll == 30 ? SF_RESTART : 0};
			assert_int_equal(series_memory_add(w.memory, &s), 0);
		}
		series_memory_trim(w.memory, w.now_ns);
		if (poll == 0)
			before = mallinfo2().uordblks;
		after = mallinfo2().uordblks;
	}
	assert_true(after < before + 20000);
	world_close(&w);
}

static struct series_said said_of(struct world *w, uint32_t entity, unsigned metric)
{
	const struct series_place place = series_memory_place(w->memory, entity, metric);
	return series_memory_said(w->memory, place);
}

/* What was said last is known whether the sample was kept or not, and torn at a step of the clock.
 */
static void test_said(void **state)
{
	struct world w;
	world_open(&w, 1);
	uint32_t ports[3];
	for (unsigned p = 0; p < 3; p++) {
		char name[8];
		snprintf(name, sizeof(name), "e%u", p);
		ports[p] = entities_intern(w.entities, "sw", name, PRIO_NONE);
		const struct series_said none = said_of(&w, ports[p], metrics[0]);
		assert_int_equal(none.t_ns, INT64_MIN);
		assert_int_equal(none.source, SOURCE_UNKNOWN);
	}
	for (int64_t poll = 1; poll <= 20; poll++)
		for (unsigned p = 0; p < 3; p++) {
			const struct sample s = {.t_ns = poll * 10 * NS_PER_S + (p == 2),
				.entity = ports[p],
				.metric = metrics[0],
				.value = (uint64_t)poll};
			const struct series_said said = {.t_ns = s.t_ns, .source = SOURCE_SNMP};
			const struct series_place place =
				series_memory_place(w.memory, ports[p], metrics[0]);
			const bool kept = p != 1 || poll % 4 != 0;
			if (kept)
				assert_int_equal(series_memory_add(w.memory, &s), 0);
			series_memory_say(w.memory, place, &said, kept);
			for (unsigned k = 0; k <= p; k++) {
				const struct series_said now = said_of(&w, ports[k], metrics[0]);
				assert_int_equal(now.t_ns, poll * 10 * NS_PER_S + (k == 2));
				assert_int_equal(now.source, SOURCE_SNMP);
				assert_false(now.torn);
			}
			if (poll % 5 == 0)
				series_memory_trim(w.memory, s.t_ns);
		}
	series_memory_tear(w.memory);
	series_memory_rewind(w.memory, 150 * NS_PER_S);
	series_memory_unsay(w.memory, 150 * NS_PER_S);
	for (unsigned p = 0; p < 3; p++) {
		const struct series_said now = said_of(&w, ports[p], metrics[0]);
		assert_int_equal(now.t_ns, 150 * NS_PER_S - 1);
		assert_true(now.torn);
	}
	world_close(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_said),
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_small),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
