/*
 * Conformance of the fillers: the same random samples given to memory and to a store make the same
 * windows. Random data has all kinds of metrics, flags, gaps, wraps and resets, watermark windows,
 * values that come in pieces, and late and doubled samples.
 */
#include <errno.h>

#include "db/open.h"
#include "db/series/series_memory.h"
#include "tests/unit/db/db_world.h"

#include "base/arena.h"
#include "db/series/history.h"
#include "db/store/store.h"
#include "tests/unit/flow_same.h"

#define SEEDS 12
#define DEVICES 3
#define PORTS 4
#define POLLS 120

static uint64_t rng_state;
static uint64_t rnd(uint64_t n) /* xorshift64* */
{
	rng_state ^= rng_state >> 12;
	rng_state ^= rng_state << 25;
	rng_state ^= rng_state >> 27;
	return (rng_state * UINT64_C(2685821657736338717) >> 11) % n;
}

static const uint16_t metrics[] = {
	M_PORT_IN_OCTETS,
	M_PORT_OUT_OCTETS,
	M_PORT_IN_ERRORS,
	M_PORT_OPER_UP,
	M_OPTIC_RX_POWER,
	M_PFC_RX_FRAMES,
	M_QUEUE_WATERMARK,
	M_QUEUE_DEPTH,
	M_POOL_WATERMARK,
	M_CFG_TRUST,
	M_CFG_ECN_PMAX,
	M_CFG_ECN_KMIN,
	M_CFG_HASH_SEED,
	M_PFC_TX_PAUSE_NS_HI,
};
#define N_METRICS (sizeof(metrics) / sizeof(metrics[0]))

struct rig {
	struct db_world world;
	struct entities *entities;
	struct store *store;
	struct series_memory *memory;
};

static uint64_t value_of(struct rig *r, unsigned m)
{
	static const char *const texts[] = {
		"dscp", "pcp", "a longer text with 'quotes' and \"more\""};

	switch (metric_info(m)->type) {
	case TYPE_TEXT: return entities_text(r->entities, texts[rnd(3)]);
	case TYPE_F64: return sample_of_f64(((double)rnd(1000000) - 500000) / 7.0);
	default:
		/* also beyond 2^63 and around 2^32 */
		return rnd(5) == 0    ? UINT64_MAX - rnd(100)
			: rnd(5) == 0 ? UINT32_MAX - 50 + rnd(100)
				      : rnd(UINT64_C(1) << 40);
	}
}

static uint32_t entity_of(struct rig *r, unsigned m, unsigned device, unsigned port)
{
	char d[16], p[16];

	snprintf(d, sizeof(d), "leaf%u", device);
	snprintf(p, sizeof(p), "swp%u", port);
	switch (metric_info(m)->scope) {
	case SCOPE_DEVICE:
		return entities_intern(r->entities, d, rnd(2) ? "pool:lossless" : "", PRIO_NONE);
	case SCOPE_PRIO:
		return entities_intern(r->entities, d, p, rnd(4) ? (int)rnd(8) : PRIO_NONE);
	default: return entities_intern(r->entities, d, p, PRIO_NONE);
	}
}

/* As the pipeline does: what memory refuses as not newer is not stored either; late ones are stored
 * only. */
static void give(struct rig *r, const struct sample *s)
{
	if ((s->flags & SF_LATE) || series_memory_add(r->memory, s) == 0)
		store_samples(r->store, s, 1);
}

static void give_batch(struct rig *r, struct sample *v, size_t n)
{
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		if ((v[i].flags & SF_LATE) || series_memory_add(r->memory, &v[i]) == 0)
			v[k++] = v[i];
	store_samples(r->store, v, k);
}

static void fill(struct rig *r)
{
	for (unsigned poll = 0; poll < POLLS; poll++) {
		for (unsigned d = 0; d < DEVICES; d++) {
			struct sample v[PORTS * N_METRICS];
			size_t n = 0;
			int64_t t = SECONDS(poll) + (int64_t)rnd(3) * 1000 + d;
			if (rnd(10) == 0)
				continue; /* a lost poll */
			for (unsigned k = 0; k < PORTS * N_METRICS; k++) {
				unsigned m = metrics[k / PORTS];
				if (rnd(4) == 0 ||
					(strncmp(metric_info(m)->name, "cfg.", 4) == 0 &&
						rnd(20) != 0))
					continue;
				struct sample s = sample_at(
					t, entity_of(r, m, d, k % PORTS), m, value_of(r, m), 0);
				if (rnd(10) == 0)
					s.flags = (uint16_t)rnd(64);
				if (metric_info(m)->kind == METRIC_WATERMARK)
					s.window_ms = rnd(3) ? 60000 : (uint32_t)rnd(100000);
				if (s.flags & SF_LATE)
					s.t_ns -= 500; /* an instant that is late stays late */
				s.source = rnd(20) ? SOURCE_SNMP : SOURCE_CONFIG;
				v[n++] = s;
			}
			size_t cut = n ? rnd(n) : 0; /* one instant in two batches */
			give_batch(r, v, cut);
			if (rnd(3) == 0)
				assert_int_equal(store_flush(r->store, NULL), 0);
			give_batch(r, v + cut, n - cut);
			if (n > 0 && rnd(3) == 0)
				give(r, &v[0]); /* once more */
		}
		if (poll % 10 == 5) {
			struct flow_sample f[6] = {{0}};
			for (size_t i = 0; i < 5; i++) {
				f[i] = (struct flow_sample){
					.from_ns = SECONDS(poll) - 10 * NS_PER_S,
					.to_ns = SECONDS(poll),
					.entity = entity_of(r, M_PORT_IN_OCTETS, 0, 0),
					.sampling = 1,
					.dir = FLOW_DIR_OUT,
					.total = i == 3,
					.packets = rnd(1000),
					.octets = rnd(3) * 100,
					.burst_bps = rnd(1000),
					.ce = rnd(5),
					.flows = (uint32_t)rnd(100),
					.data_packets = 1 + rnd(500),
					.data_ect = rnd(5),
					.lost = {rnd(9), rnd(9), rnd(9), rnd(9), rnd(9), rnd(9)},
					.missing = rnd(20),
					.reacts = rnd(3),
					.sum_sq_octets = (double)rnd(1000000)};
				if (i == 3) {
					f[i].copies = rnd(10);
					f[i].capture_lost = rnd(10);
					f[i].spray_octets = rnd(1000);
					continue;
				}
				f[i].key = (struct flow_key){.family = i % 2 ? 4 : 6,
					.src_port = (uint16_t)rnd(65536),
					.dst_qp = (uint32_t)rnd(1 << 24)};
				for (size_t k = 0; k < (i % 2 ? 4u : 16u); k++) {
					f[i].key.src[k] = (uint8_t)rnd(256);
					f[i].key.dst[k] = (uint8_t)rnd(256);
				}
			}
			f[5] = (struct flow_sample){.from_ns = f[0].from_ns,
				.to_ns = f[0].to_ns,
				.entity = f[0].entity,
				.sampling = 1,
				.host = true,
				.key = {.family = 4, .src = {10, 0, 0, (uint8_t)rnd(256)}},
				.ce = rnd(100),
				.reaction = {.cnp = rnd(100),
					.all = {1 + rnd(3), (double)rnd(1000) / 3,
						(double)rnd(1000), (double)rnd(1000) / 7, 1,
						(double)rnd(5)},
					.alone = {.n = rnd(2), .product = (double)rnd(100) / 9},
					.pressed = rnd(9),
					.held = (double)rnd(100) / 11,
					.peak_bps = (double)rnd(1000),
					.spacings = rnd(8)},
				.answer = {.ce = rnd(10),
					.slots = rnd(9),
					.cnp = rnd(8),
					.answered = rnd(4)}};
			for (size_t i = 0; i < 6; i++)
				series_memory_add_flow(r->memory, &f[i]);
			store_flows(r->store, f, 6);
		}
	}
	assert_int_equal(store_flush(r->store, NULL), 0);
}

/* Texts have numbers of their own on each side. */
static bool same_value(const struct window *a, const struct window *b, const struct series *x,
	const struct series *y, uint32_t k)
{
	if (metric_info(x->metric)->type != TYPE_TEXT)
		return x->value[k] == y->value[k];
	return strcmp(entities_text_get(a->entities, x->value[k]),
		       entities_text_get(b->entities, y->value[k])) == 0;
}

static void same_window(const struct window *a, const struct window *b, const char *what)
{
	if (a->n_series != b->n_series)
		fail_msg("%s: memory has %zu series, the database %zu", what, a->n_series,
			b->n_series);
	for (size_t i = 0; i < a->n_series; i++) {
		const struct series *x = &a->series[i], *y = &b->series[i];
		if (x->entity != y->entity || x->metric != y->metric || x->n != y->n)
			fail_msg("%s: series %zu is %s of %u with %u samples in memory, %s of %u "
				 "with %u in the database",
				what, i, metric_info(x->metric)->name, x->entity, x->n,
				metric_info(y->metric)->name, y->entity, y->n);
		for (uint32_t k = 0; k < x->n; k++)
			if (x->t_ns[k] != y->t_ns[k] || !same_value(a, b, x, y, k) ||
				x->flags[k] != y->flags[k] || x->window_ms[k] != y->window_ms[k])
				fail_msg("%s: %s of %u, sample %u: %lld %llu flags %x window %u in "
					 "memory, %lld %llu flags %x window %u in the database",
					what, metric_info(x->metric)->name, x->entity, k,
					(long long)x->t_ns[k], (unsigned long long)x->value[k],
					x->flags[k], x->window_ms[k], (long long)y->t_ns[k],
					(unsigned long long)y->value[k], y->flags[k],
					y->window_ms[k]);
	}
	if (a->n_flows != b->n_flows)
		fail_msg(
			"%s: memory has %zu flows, the database %zu", what, a->n_flows, b->n_flows);
	for (size_t i = 0; i < a->n_flows; i++)
		if (!flow_same(&a->flows[i], &b->flows[i]))
			fail_msg("%s: flow %zu differs", what, i);
	assert_int_equal(a->n_flow_hosts, b->n_flow_hosts);
	for (size_t i = 0; i < a->n_flow_hosts; i++) {
		assert_true(a->flow_hosts[i].host);
		if (!flow_same(&a->flow_hosts[i], &b->flow_hosts[i]))
			fail_msg("%s: host %zu differs", what, i);
	}
}

/* The series of a live window, metric by metric, as one array. */
static void window_gather(struct window *window, struct arena *a)
{
	struct series *all = arena_array(a, struct series, 100000);
	for (unsigned m = 0; m < METRIC_COUNT; m++) {
		size_t n;
		const struct series *series = window_of_metric(window, m, &n);
		assert_true(window->n_series + n <= 100000);
		for (size_t i = 0; i < n; i++)
			all[window->n_series++] = series[i];
	}
	window->series = all;
}

/* Windows of random times, metrics and entities. Returns how many series were compared. */
static size_t compare_windows(struct rig *r, unsigned seed, const char *when)
{
	size_t compared = 0;
	struct history *d;
	struct err e = {0};

	assert_int_equal(db_history_open(r->world.path, &d, &e), 0);
	for (unsigned i = 0; i < 40; i++) {
		struct arena *a = arena_new();
		struct window memory, lent, db;
		uint16_t some[N_METRICS];
		size_t n = 0;
		char what[64];
		for (size_t k = 0; k < N_METRICS; k++)
			if (i % 4 == 0 || rnd(2))
				some[n++] = metrics[k];
		struct window_spec spec = {.metrics = some, .n_metrics = n, .flows = i % 2};
		uint32_t only[] = {2, 3, 5, 9};
		if (i % 5 == 4) {
			spec.entities = only;
			spec.n_entities = 4;
		}
		int64_t from = SECONDS(-5) + (int64_t)rnd(POLLS + 10) * NS_PER_S,
			to = from + (int64_t)rnd(60) * NS_PER_S;
		snprintf(what, sizeof(what), "seed %u, window %u, %s", seed, i, when);
		assert_int_equal(window_from_memory(r->memory, a, &spec, from, to, &memory), 0);
		assert_int_equal(window_lent_from_memory(r->memory, a, &spec, from, to, &lent), 0);
		assert_int_equal(lent.n_series, 0);
		window_gather(&lent, a);
		same_window(&memory, &lent, what);
		if (history_window(d, a, &spec, from, to, &db, &e) < 0)
			fail_msg("%s: %s", what, e.text);
		same_window(&memory, &db, what);
		compared += memory.n_series;
		arena_free(a);
	}
	history_close(d);
	return compared;
}

static void fillers_agree(void **state)
{
	size_t compared = 0;

	for (unsigned seed = 1; seed <= SEEDS; seed++) {
		struct rig r = {.entities = entities_new()};
		struct err e = {0};
		rng_state = seed * UINT64_C(0x9e3779b97f4a7c15);
		world_init(&r.world);
		r.memory = series_memory_new(r.entities, INT64_MAX / 2);
		struct store_options o = {.path = r.world.path, .replay = seed % 2};
		assert_int_equal(db_store_open(&o, r.entities, &r.store, &e), 0);
		fill(&r);
		compared += compare_windows(&r, seed, "as it came");
		store_close(r.store);
		compared += compare_windows(&r, seed, "sealed");
		if (o.replay) /* the comparison was about blocks */
			assert_int_equal(world_int(&r.world, "SELECT count(*) FROM tail"), 0);
		series_memory_free(r.memory);
		entities_free(r.entities);
		world_done(&r.world);
	}
	assert_true(compared > 20000); /* the test looked at something */
}

struct order {
	int64_t t_ns;
	uint64_t n;
	bool ordered;
	uint32_t entity;
	uint16_t metric;
};
static int check_order(void *arg, const struct sample *s)
{
	struct order *o = arg;

	o->ordered &= o->n == 0 || s->t_ns > o->t_ns ||
		(s->t_ns == o->t_ns &&
			(s->entity > o->entity ||
				(s->entity == o->entity && s->metric > o->metric)));
	o->t_ns = s->t_ns;
	o->entity = s->entity;
	o->metric = s->metric;
	o->n++;
	return 0;
}

static int stop_at_once(void *arg, const struct sample *s)
{
	return 42;
}

static void scan_in_order_of_time(void **state)
{
	struct rig r = {.entities = entities_new()};
	struct history *d;
	struct store_stats st;
	struct order o = {.ordered = true};

	rng_state = 7;
	world_init(&r.world);
	r.memory = series_memory_new(r.entities, INT64_MAX / 2);
	struct store_options opt = {.path = r.world.path, .replay = true};
	assert_int_equal(db_store_open(&opt, r.entities, &r.store, NULL), 0);
	fill(&r);
	/* far away in time: slices grow over the hole */
	struct sample far = sample_at(SECONDS(86400.0 * 900), 1, M_PORT_IN_OCTETS, 1, 0);
	store_samples(r.store, &far, 1);
	assert_int_equal(store_flush(r.store, NULL), 0);
	store_stats(r.store, &st);
	assert_int_equal(db_history_open(r.world.path, &d, NULL), 0);
	assert_int_equal(history_each_sample(d, NULL, check_order, &o, NULL), 0);
	assert_true(o.ordered);
	assert_int_equal(o.t_ns, far.t_ns);
	int64_t in_views = world_int(&r.world, "SELECT count(*) FROM samples");
	assert_int_equal(o.n, in_views);
	assert_true(o.n > 1000 && o.n <= st.samples);
	assert_int_equal(history_each_sample(d, NULL, stop_at_once, NULL, NULL), 42);
	/* filters */
	struct order one = {.ordered = true};
	uint16_t metric = M_PFC_RX_FRAMES;
	struct history_filter f = {.device = "leaf1",
		.port = "swp[01]",
		.priority = 3,
		.metrics = &metric,
		.n_metrics = 1,
		.from_ns = SECONDS(10),
		.to_ns = SECONDS(50)};
	assert_int_equal(history_each_sample(d, &f, check_order, &one, NULL), 0);
	assert_int_equal(one.n,
		world_int(&r.world,
			"SELECT count(*) FROM samples WHERE metric='pfc.rx_frames' AND "
			"device='leaf1' AND port IN ('swp0','swp1')"
			" AND priority=3 AND t_ns BETWEEN 1700000010000000000 AND "
			"1700000050000000000"));
	assert_true(one.n > 0);
	history_close(d);
	store_close(r.store);
	series_memory_free(r.memory);
	entities_free(r.entities);
	world_done(&r.world);
}

static void memory_forgets(void **state)
{
	struct entities *t = entities_new();
	struct series_memory *m = series_memory_new(t, 10 * NS_PER_S);
	uint32_t id = entities_intern(t, "leaf1", "swp1", PRIO_NONE);
	uint16_t metric = M_PORT_IN_OCTETS;
	struct window_spec spec = {.metrics = &metric, .n_metrics = 1};
	struct window w;

	for (int i = 0; i < 10000; i++) {
		struct sample s = sample_at(SECONDS(i), id, metric, (uint64_t)i, 0);
		assert_int_equal(series_memory_add(m, &s), 0);
		assert_int_equal(series_memory_add(m, &s), -EALREADY);
		series_memory_trim(m, s.t_ns);
	}
	struct arena *a = arena_new();
	assert_int_equal(window_from_memory(m, a, &spec, SECONDS(0), SECONDS(20000), &w), 0);
	assert_int_equal(w.n_series, 1);
	assert_int_equal(w.series[0].n, 11); /* ten seconds, and the anchor */
	assert_int_equal(w.series[0].value[0], 9989);
	series_memory_trim(m, SECONDS(1000000));
	assert_int_equal(window_from_memory(m, a, &spec, SECONDS(999990), SECONDS(1000000), &w), 0);
	assert_int_equal(w.series[0].n, 1); /* the anchor stays, however old */
	arena_free(a);
	series_memory_free(m);
	entities_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fillers_agree),
		cmocka_unit_test(scan_in_order_of_time),
		cmocka_unit_test(memory_forgets),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
