/*
 * Conformance of struct history: the same samples and flows given to each implementation, and the
 * same questions asked. A new kind of store is a row of makers[].
 */
#include <errno.h>

#include "tests/unit/db/db_world.h"

#include "base/arena.h"
#include "base/cleanup.h"
#include "db/model/flow.h"
#include "db/open.h"
#include "db/series/history.h"
#include "db/series/series_memory.h"
#include "db/store/store.h"

#define POLLS 100
#define INTERVAL_S 10

struct past {
	struct db_world world, other;
	struct entities *entities;
	struct store *store, *second;
	struct series_memory *memory;
	struct history *history;
	uint32_t port, priority, device, silent;
};

/* ---- the implementations ------------------------------------------------- */

static void sqlite_make(struct past *past)
{
	struct store_options options = {.path = past->world.path, .replay = true};
	struct err e = {0};
	if (db_store_open(&options, past->entities, &past->store, &e) < 0)
		fail_msg("%s", e.text);
}

static void sqlite_give(struct past *past, const struct sample *samples, size_t n)
{
	store_samples(past->store, samples, n);
}

static void sqlite_give_flow(struct past *past, const struct flow_sample *flow)
{
	store_flows(past->store, flow, 1);
}

static void sqlite_open(struct past *past)
{
	assert_int_equal(store_flush(past->store, NULL), 0);
	assert_int_equal(db_history_open(past->world.path, &past->history, NULL), 0);
}

/* Two files read as one fabric; the second one is empty. */
static void merged_make(struct past *past)
{
	struct err e = {0};
	sqlite_make(past);
	world_init(&past->other);
	const struct store_options options = {.path = past->other.path, .replay = true};
	if (db_store_open(&options, past->entities, &past->second, &e) < 0)
		fail_msg("%s", e.text);
}

static int merged_meet(void *arg, const struct sample *sample)
{
	return 0;
}

/* It numbers names anew, as it meets them. */
static void merged_names(struct past *past)
{
	const struct {
		const char *device, *port;
		int priority;
		uint32_t *id;
	} names[] = {{"leaf1", "", PRIO_NONE, &past->device},
		{"leaf1", "swp1", PRIO_NONE, &past->port}, {"leaf1", "swp1", 3, &past->priority}};
	assert_int_equal(history_each_sample(past->history, NULL, merged_meet, NULL, NULL), 0);
	for (size_t i = 0; i < rw_countof(names); i++) {
		const uint32_t id = entities_find(history_entities(past->history), names[i].device,
			names[i].port, names[i].priority);
		if (id != ENTITY_NONE)
			*names[i].id = id;
	}
}

static void merged_open(struct past *past)
{
	char both[2 * sizeof(past->world.path)];
	struct err e = {0};
	assert_int_equal(store_flush(past->store, NULL), 0);
	assert_int_equal(store_flush(past->second, NULL), 0);
	snprintf(both, sizeof(both), "%s,%s", past->world.path, past->other.path);
	if (db_history_open(both, &past->history, &e) < 0)
		fail_msg("%s", e.text);
	merged_names(past);
}

static void memory_make(struct past *past)
{
	past->memory = series_memory_new(past->entities, INT64_MAX / 2);
}

static void memory_give(struct past *past, const struct sample *samples, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_int_equal(series_memory_add(past->memory, &samples[i]), 0);
}

static void memory_give_flow(struct past *past, const struct flow_sample *flow)
{
	series_memory_add_flow(past->memory, flow);
}

static void memory_open(struct past *past)
{
	past->history = series_memory_history(past->memory);
}

static const struct maker {
	const char *what;
	void (*make)(struct past *past);
	void (*give)(struct past *past, const struct sample *samples, size_t n);
	void (*give_flow)(struct past *past, const struct flow_sample *flow);
	void (*open)(struct past *past);
} makers[] = {
	{"sqlite", sqlite_make, sqlite_give, sqlite_give_flow, sqlite_open},
	{"merged", merged_make, sqlite_give, sqlite_give_flow, merged_open},
	{"memory", memory_make, memory_give, memory_give_flow, memory_open},
};

/* ---- the past ------------------------------------------------------------ */

static void past_begin(struct past *past, const struct maker *maker)
{
	*past = (struct past){.entities = entities_new()};
	world_init(&past->world);
	maker->make(past);
	past->device = entities_intern(past->entities, "leaf1", "", PRIO_NONE);
	past->port = entities_intern(past->entities, "leaf1", "swp1", PRIO_NONE);
	past->priority = entities_intern(past->entities, "leaf1", "swp1", 3);
	past->silent = entities_intern(past->entities, "leaf2", "swp1", PRIO_NONE);
}

/* @POLLS polls of a port and a priority, a state once, and one flow per ten polls. */
static void past_fill(struct past *past, const struct maker *maker)
{
	for (int i = 0; i < POLLS; i++) {
		int64_t t_ns = SECONDS(i * INTERVAL_S);
		struct sample samples[3];
		size_t n = 0;
		samples[n++] = sample_at(t_ns, past->port, M_PORT_IN_OCTETS, (uint64_t)i * 1000, 0);
		samples[n++] = sample_at(t_ns, past->priority, M_PFC_RX_FRAMES, (uint64_t)i, 0);
		if (i == 5)
			samples[n++] = sample_at(t_ns, past->device, M_CFG_CELL, 208, 0);
		maker->give(past, samples, n);
		if (i % 10 == 9) {
			struct flow_sample flow = {.from_ns = t_ns - INTERVAL_S * NS_PER_S,
				.to_ns = t_ns,
				.entity = past->port,
				.total = true,
				.sampling = 1,
				.octets = (uint64_t)i};
			maker->give_flow(past, &flow);
		}
	}
}

static void past_end(struct past *past)
{
	if (past->history)
		history_close(past->history);
	if (past->store)
		store_close(past->store);
	if (past->second) {
		store_close(past->second);
		world_done(&past->other);
	}
	series_memory_free(past->memory);
	entities_free(past->entities);
	world_done(&past->world);
}

/* ---- questions ----------------------------------------------------------- */

static void ask_empty(struct past *past)
{
	int64_t first_ns = 7, last_ns = 7;
	char *yaml = NULL;

	assert_int_equal(history_range(past->history, &first_ns, &last_ns, NULL), -ENODATA);
	assert_int_equal(history_fabric_at(past->history, T0, &yaml, NULL), -ENODATA);
	assert_null(yaml);
}

static void ask_range(struct past *past)
{
	int64_t first_ns, last_ns;

	assert_int_equal(history_range(past->history, &first_ns, &last_ns, NULL), 0);
	assert_int_equal(first_ns, SECONDS(0));
	assert_int_equal(last_ns, SECONDS((POLLS - 1) * INTERVAL_S));
}

static void ask_names(struct past *past)
{
	const struct entities *entities = history_entities(past->history);
	const struct entity *entity = entity_get(entities, past->priority);

	assert_non_null(entity);
	assert_string_equal(entity->device, "leaf1");
	assert_string_equal(entity->port, "swp1");
	assert_int_equal(entity->priority, 3);
}

static void ask_window(struct past *past)
{
	const uint16_t metrics[] = {M_PORT_IN_OCTETS, M_PFC_RX_FRAMES, M_CFG_CELL};
	struct window_spec spec = {.metrics = metrics, .n_metrics = 3, .flows = true};
	struct arena *a = arena_new();
	struct window w;

	assert_int_equal(
		history_window(past->history, a, &spec, SECONDS(100), SECONDS(200), &w, NULL), 0);
	assert_int_equal(w.n_series, 3);
	/* ten samples and the anchor */
	const struct series *octets = window_series(&w, past->port, M_PORT_IN_OCTETS);
	assert_int_equal(octets->n, 11);
	assert_int_equal(octets->t_ns[0], SECONDS(100));
	assert_int_equal(octets->value[10], 20000);
	assert_int_equal(window_series(&w, past->priority, M_PFC_RX_FRAMES)->n, 11);
	/* a state from before the window is its anchor, however old */
	const struct series *cell = window_series(&w, past->device, M_CFG_CELL);
	assert_int_equal(cell->n, 1);
	assert_int_equal(cell->value[0], 208);
	assert_int_equal(w.n_flows, 1);
	assert_int_equal(w.flows[0].to_ns, SECONDS(190));
	/* only some entities */
	spec.entities = &past->port;
	spec.n_entities = 1;
	assert_int_equal(
		history_window(past->history, a, &spec, SECONDS(100), SECONDS(200), &w, NULL), 0);
	assert_int_equal(w.n_series, 1);
	arena_free(a);
}

struct seen {
	size_t n, stop_at;
	bool in_order;
	struct sample last;
};

static int see_sample(void *arg, const struct sample *sample)
{
	struct seen *seen = arg;

	seen->in_order &= seen->n == 0 || sample_order(&seen->last, sample) < 0;
	seen->last = *sample;
	if (++seen->n == seen->stop_at)
		return 42;
	return 0;
}

static void ask_samples(struct past *past)
{
	const uint16_t metric = M_PFC_RX_FRAMES;
	struct history_filter filter = {.device = "leaf*",
		.port = "swp1",
		.priority = 3,
		.metrics = &metric,
		.n_metrics = 1,
		.from_ns = SECONDS(100),
		.to_ns = SECONDS(190)};
	struct seen all = {.in_order = true}, some = {.in_order = true}, few = {.stop_at = 5};

	assert_int_equal(history_each_sample(past->history, NULL, see_sample, &all, NULL), 0);
	assert_int_equal(all.n, 2 * POLLS + 1);
	assert_true(all.in_order);
	assert_int_equal(history_each_sample(past->history, &filter, see_sample, &some, NULL), 0);
	assert_int_equal(some.n, 10);
	assert_int_equal(some.last.entity, past->priority);
	assert_int_equal(some.last.value, 19);
	assert_int_equal(history_each_sample(past->history, NULL, see_sample, &few, NULL), 42);
	assert_int_equal(few.n, 5);
}

static void ask_matches(struct past *past)
{
	struct history_filter filter = {.device = "leaf1", .priority = HISTORY_ANY_PRIORITY};
	rw_cleanup(freep) uint32_t *ids = NULL;
	size_t n;

	/* the device has a metric of its own; leaf2 never had one */
	assert_int_equal(history_match(past->history, &filter, &ids, &n, NULL), 0);
	assert_int_equal(n, 3);
	assert_int_equal(ids[0], past->device);
	assert_int_equal(ids[1], past->port);
	assert_int_equal(ids[2], past->priority);
	filter.device = "leaf2";
	freep(&ids);
	ids = NULL;
	assert_int_equal(history_match(past->history, &filter, &ids, &n, NULL), 0);
	assert_int_equal(n, 0);
}

struct flows_seen {
	size_t n;
	uint64_t octets;
	int64_t last_ns;
};

static int see_flow(void *arg, const struct flow_sample *flow)
{
	struct flows_seen *seen = arg;

	assert_true(flow->to_ns >= seen->last_ns);
	seen->last_ns = flow->to_ns;
	seen->octets += flow->octets;
	seen->n++;
	return 0;
}

static void ask_flows(struct past *past)
{
	struct flows_seen all = {0}, some = {0};

	assert_int_equal(history_each_flow(past->history, INT64_MIN, 0, see_flow, &all, NULL), 0);
	assert_int_equal(all.n, POLLS / 10);
	assert_int_equal(
		history_each_flow(past->history, SECONDS(190), SECONDS(290), see_flow, &some, NULL),
		0);
	assert_int_equal(some.n, 2); /* both ends belong to the range */
	assert_int_equal(some.octets, 19 + 29);
}

/* A window that holds no more than the value from before it shows no movement. */
static void ask_moved(struct past *past)
{
	const uint16_t metrics[] = {M_PORT_IN_OCTETS, M_PFC_RX_FRAMES};
	const struct window_spec spec = {
		.metrics = metrics, .n_metrics = 2, .lanes = WINDOW_LANES | 1 << 4};
	unsigned moved = 7;

	assert_int_equal(
		history_moved(past->history, &spec, SECONDS(100), SECONDS(200), &moved, NULL), 0);
	assert_int_equal(moved, 1 << 3);
	assert_int_equal(
		history_moved(past->history, &spec, SECONDS(990), SECONDS(2000), &moved, NULL), 0);
	assert_int_equal(moved, 0);
}

static void see_delivered(void *arg, const char *device, unsigned metric, int64_t newest_ns)
{
	int64_t *newest = arg;

	assert_string_equal(device, "leaf1");
	newest[metric] = newest_ns;
}

static void ask_delivered(struct past *past)
{
	const uint16_t metrics[] = {M_PORT_IN_OCTETS, M_PFC_RX_FRAMES, M_CFG_CELL};
	const struct window_spec spec = {.metrics = metrics, .n_metrics = 3};
	int64_t newest[METRIC_COUNT] = {0};

	assert_int_equal(history_delivered(past->history, &spec, SECONDS(100), SECONDS(195),
				 see_delivered, newest, NULL),
		0);
	assert_int_equal(newest[M_PORT_IN_OCTETS], SECONDS(190));
	assert_int_equal(newest[M_PFC_RX_FRAMES], SECONDS(190));
	assert_int_equal(newest[M_CFG_CELL], 0); /* it is older */
}

static void every_history_answers_alike(void **state)
{
	for (size_t i = 0; i < rw_countof(makers); i++) {
		struct past past;
		print_message("%s\n", makers[i].what);
		past_begin(&past, &makers[i]);
		makers[i].open(&past);
		ask_empty(&past);
		history_close(past.history);
		past_fill(&past, &makers[i]);
		makers[i].open(&past);
		ask_range(&past);
		ask_names(&past);
		ask_window(&past);
		ask_moved(&past);
		ask_delivered(&past);
		ask_samples(&past);
		ask_matches(&past);
		ask_flows(&past);
		past_end(&past);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_history_answers_alike),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
