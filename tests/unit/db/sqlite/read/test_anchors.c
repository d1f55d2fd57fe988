/* The newest value before a range of each series: it is found however far back it lies, and where
 * each poll brings all series, what is looked at does not grow with the names nor with the polls.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "db/open.h"
#include "db/series/history.h"
#include "db/sqlite/read/blocks.h"
#include "db/sqlite/read/series_db.h"
#include "db/store/store.h"
#include "tests/unit/db/db_world.h"

enum { STEP_S = 10 };
static const uint16_t asked[] = {M_PORT_IN_OCTETS, M_PORT_OUT_OCTETS, M_PFC_RX_FRAMES,
	M_CFG_PFC_ENABLED, M_CFG_ECN_ENABLED, M_PORT_FCS_ERRORS};

struct anchors {
	struct db_world world;
	struct entities *entities;
	struct store *store;
};

static void anchors_init(struct anchors *w)
{
	struct err e = {0};

	*w = (struct anchors){.entities = entities_new()};
	world_init(&w->world);
	const struct store_options o = {.path = w->world.path, .replay = true};
	if (db_store_open(&o, w->entities, &w->store, &e) < 0)
		fail_msg("%s", e.text);
}

static void anchors_done(struct anchors *w)
{
	store_close(w->store);
	entities_free(w->entities);
	world_done(&w->world);
}

static void put(struct anchors *w, double at_s, const char *port, int priority, unsigned metric)
{
	const uint32_t id = entities_intern(w->entities, "leaf1", port, priority);
	const struct sample sample = sample_at(SECONDS(at_s), id, metric, (uint64_t)at_s, 0);

	store_samples(w->store, &sample, 1);
}

/* One transaction each. */
static void poll_all(struct anchors *w, unsigned ports, unsigned polls)
{
	char name[16];

	for (unsigned k = 0; k < polls; k++) {
		for (unsigned p = 0; p < ports; p++) {
			snprintf(name, sizeof(name), "swp%u", p);
			put(w, k * STEP_S, name, PRIO_NONE, M_PORT_IN_OCTETS);
			put(w, k * STEP_S, name, PRIO_NONE, M_PORT_OUT_OCTETS);
			put(w, k * STEP_S, name, 3, M_PFC_RX_FRAMES);
		}
		assert_int_equal(store_flush(w->store, NULL), 0);
	}
}

/* The last poll's window; what was looked at for it. */
static uint64_t read_last(struct anchors *w, unsigned polls, const struct window_spec *spec,
	size_t *ret_n, size_t *ret_with)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct history *history;
	struct window window;
	struct err e = {0};

	if (db_history_open(w->world.path, &history, &e) < 0)
		fail_msg("%s", e.text);
	if (spec->n_entities > 0)
		history_entities(history);
	const int64_t to_ns = SECONDS((polls - 1) * STEP_S);
	assert_int_equal(
		history_window(history, a, spec, to_ns - STEP_S * NS_PER_S / 2, to_ns, &window, &e),
		0);
	*ret_n = window.n_series;
	*ret_with = 0;
	for (size_t i = 0; i < window.n_series; i++)
		*ret_with += window.series[i].n == 2;
	const uint64_t looked = series_db_of(history)->blocks->looked;
	history_close(history);
	return looked;
}

static const struct window_spec all = {.metrics = asked, .n_metrics = rw_countof(asked)};

static uint64_t cost_of(unsigned ports, unsigned polls)
{
	struct anchors w;
	size_t n, with;

	anchors_init(&w);
	poll_all(&w, ports, polls);
	const uint64_t looked = read_last(&w, polls, &all, &n, &with);
	assert_int_equal(n, 3 * ports);
	assert_int_equal(with, 3 * ports);
	anchors_done(&w);
	return looked;
}

static void cost_stands_still(void **state)
{
	const uint64_t few = cost_of(4, 4);

	assert_true(few > 0);
	assert_int_equal(cost_of(64, 4), few);
	assert_int_equal(cost_of(4, 40), few);
}

/* Series that come seldom, and one that came once, at the very beginning. */
static void rare_is_found(void **state)
{
	struct anchors w;
	size_t n, with;

	anchors_init(&w);
	put(&w, 0, "swp3", 3, M_PFC_RX_FRAMES);
	put(&w, 0, "swp3", 3, M_CFG_PFC_ENABLED);
	put(&w, 0, "swp9", 3, M_PFC_RX_FRAMES); /* no poll has it again */
	assert_int_equal(store_flush(w.store, NULL), 0);
	poll_all(&w, 4, 12);
	read_last(&w, 12, &all, &n, &with);
	assert_int_equal(n, 3 * 4 + 2);
	assert_int_equal(with, 3 * 4);
	anchors_done(&w);
}

/* Of some names only, of which most never had the metric. */
static void some_are_found(void **state)
{
	struct anchors w;
	struct history *history;
	uint32_t ids[9];
	size_t n, with, n_ids = 0;

	anchors_init(&w);
	poll_all(&w, 4, 12);
	/* ids of a reader: the same order in each */
	assert_int_equal(db_history_open(w.world.path, &history, NULL), 0);
	const struct entities *names = history_entities(history);
	for (uint32_t id = 1; id <= entities_count(names) && n_ids < rw_countof(ids); id++)
		ids[n_ids++] = id;
	assert_int_equal(n_ids, 9); /* the device, four ports, a priority of each */
	history_close(history);
	const struct window_spec some = {.metrics = asked,
		.n_metrics = rw_countof(asked),
		.entities = ids,
		.n_entities = n_ids};
	const uint64_t few = read_last(&w, 12, &some, &n, &with);
	assert_int_equal(n, 3 * 4);
	assert_int_equal(with, 3 * 4);
	poll_all(&w, 4, 30); /* twelve are there: duplicates stay behind the first ones */
	assert_int_equal(read_last(&w, 30, &some, &n, &with), few);
	assert_int_equal(with, 3 * 4);
	anchors_done(&w);
}

/* Of priorities only one: the others' names are not even loaded, until somebody asks for them. */
static void lanes_are_left_out(void **state)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct anchors w;
	struct history *history;
	struct window window;
	struct window_spec one = all;

	anchors_init(&w);
	for (int priority = 0; priority < 8; priority++)
		put(&w, 5, "swp0", priority, M_PFC_RX_FRAMES);
	poll_all(&w, 4, 3);
	assert_int_equal(db_history_open(w.world.path, &history, NULL), 0);
	one.lanes = WINDOW_LANES | 1 << 3;
	const int64_t from_ns = SECONDS(12), to_ns = SECONDS(20);
	static const uint16_t absent[] = {M_QUEUE_DROPS};
	const struct window_spec bare = {.metrics = absent, .n_metrics = 1, .bare = true};
	assert_int_equal(history_window(history, a, &bare, from_ns, to_ns, &window, NULL), 0);
	assert_int_equal(window.n_series, 0);
	assert_int_equal(entities_count(history_names(history)), 0);
	assert_int_equal(history_window(history, a, &one, from_ns, to_ns, &window, NULL), 0);
	assert_int_equal(window.n_series, 3 * 4);
	assert_int_equal(entities_count(history_names(history)), 9);
	assert_int_equal(history_window(history, a, &all, from_ns, to_ns, &window, NULL), 0);
	assert_int_equal(window.n_series, 3 * 4 + 7);
	struct window end;
	assert_int_equal(history_window(history, a, &all, SECONDS(2), to_ns, &window, NULL), 0);
	const struct window since = window_since(&window, SECONDS(17), a);
	assert_int_equal(history_window(history, a, &all, SECONDS(17), to_ns, &end, NULL), 0);
	assert_int_equal(since.n_series, end.n_series);
	for (size_t i = 0; i < end.n_series; i++) {
		assert_int_equal(since.series[i].entity, end.series[i].entity);
		assert_int_equal(since.series[i].n, end.series[i].n);
		assert_memory_equal(since.series[i].t_ns, end.series[i].t_ns,
			end.series[i].n * sizeof(*end.series[i].t_ns));
		assert_memory_equal(since.series[i].value, end.series[i].value,
			end.series[i].n * sizeof(*end.series[i].value));
	}
	assert_int_equal(history_window(history, a, &one, from_ns, to_ns, &window, NULL), 0);
	assert_int_equal(window.n_series, 3 * 4);
	history_close(history);
	anchors_done(&w);
}

/* One poll of five queues: 3 is asked for, 4 stands still, 5 is @fifth, 6 moved once, long ago, 7
 * is switched on. */
static void poll_queues(struct anchors *w, unsigned k, uint64_t fifth)
{
	const uint64_t frames[] = {[3] = k, [4] = 9, [5] = fifth, [6] = k > 0, [7] = 0};
	for (int priority = 3; priority < 8; priority++) {
		const uint32_t id = entities_intern(w->entities, "leaf1", "swp0", priority);
		const struct sample samples[] = {
			sample_at(SECONDS(k * STEP_S), id, M_PFC_RX_FRAMES, frames[priority], 0),
			sample_at(SECONDS(k * STEP_S), id, M_CFG_PFC_ENABLED, priority == 7, 0)};
		store_samples(w->store, samples, rw_countof(samples));
	}
	assert_int_equal(store_flush(w->store, NULL), 0);
}

/* The priorities of which the window of the last poll has frames, a bit each. */
static unsigned queues_read(struct history *history, unsigned polls)
{
	static const uint16_t metrics[] = {M_PFC_RX_FRAMES, M_CFG_PFC_ENABLED};
	const struct window_spec spec = {.metrics = metrics,
		.n_metrics = rw_countof(metrics),
		.lanes = WINDOW_LANES | 1 << 3,
		.opens = metrics,
		.n_opens = rw_countof(metrics)};
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	const int64_t to_ns = SECONDS((polls - 1) * STEP_S);
	struct window window;
	unsigned queues = 0, settings = 0;
	assert_int_equal(history_window(history, a, &spec, to_ns - STEP_S * NS_PER_S / 2, to_ns,
				 &window, NULL),
		0);
	for (size_t i = 0; i < window.n_series; i++) {
		const struct series *series = &window.series[i];
		const unsigned lane = 1u << entity_get(window.entities, series->entity)->priority;
		assert_int_equal(series->n, 2);
		if (series->metric == M_PFC_RX_FRAMES)
			queues |= lane;
		else
			settings |= lane;
	}
	assert_int_equal(queues, settings);
	return queues;
}

/* Of the other priorities those come, whole, where something happens; names of the rest are not
 * even loaded. */
static void queues_that_move_come_too(void **state)
{
	struct anchors w;
	struct history *history;

	anchors_init(&w);
	for (unsigned k = 0; k < 6; k++)
		poll_queues(&w, k, 9);
	assert_int_equal(db_history_open(w.world.path, &history, NULL), 0);
	assert_int_equal(queues_read(history, 6), 1 << 3 | 1 << 7);
	assert_int_equal(entities_count(history_names(history)), 4);
	poll_queues(&w, 6, 10);
	assert_int_equal(queues_read(history, 7), 1 << 3 | 1 << 5 | 1 << 7);
	poll_queues(&w, 7, 10);
	assert_int_equal(queues_read(history, 8), 1 << 3 | 1 << 7);
	history_close(history);
	anchors_done(&w);
}

/* A count that is too large, as after names that went, costs a look at the names, and hides
 * nothing. */
static void too_large_a_count(void **state)
{
	struct anchors w;
	size_t n, with;

	anchors_init(&w);
	put(&w, 0, "swp3", 3, M_CFG_PFC_ENABLED);
	assert_int_equal(store_flush(w.store, NULL), 0);
	poll_all(&w, 4, 12);
	const uint64_t right = read_last(&w, 12, &all, &n, &with);
	world_exec(&w.world, "UPDATE series_count SET n=n+5");
	const uint64_t wrong = read_last(&w, 12, &all, &n, &with);
	assert_int_equal(n, 3 * 4 + 1);
	assert_int_equal(with, 3 * 4);
	assert_true(wrong > right);
	assert_true(wrong < right + 40);
	anchors_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cost_stands_still),
		cmocka_unit_test(rare_is_found),
		cmocka_unit_test(some_are_found),
		cmocka_unit_test(lanes_are_left_out),
		cmocka_unit_test(queues_that_move_come_too),
		cmocka_unit_test(too_large_a_count),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
