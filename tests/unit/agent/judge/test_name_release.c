/* test_name_release - interfaces that come and go, for hours of the agent's time: what is counted
 * in memory stays as large as what lives at once, and each that went is told to the database. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "agent/incident/ledger.h"
#include "agent/judge/pipeline.h"
#include "agent/judge/pipeline_state.h"
#include "agent/modules.h"
#include "base/clock.h"
#include "base/err.h"
#include "config/config.h"
#include "db/open.h"
#include "db/store/store.h"
#include "tests/unit/db/db_world.h"

#define ROUND_NS (10 * NS_PER_S)
#define ROUNDS 400
#define PER_ROUND 10

static const char yaml[] = "fabric: pod-a\n"
			   "defaults: { interval: 10s, slow_interval: 20s }\n"
			   "devices:\n"
			   "  - { name: leaf1, role: leaf }\n"
			   "  - { name: spine1, role: spine }\n"
			   "links:\n"
			   "  - { a: \"leaf1:e49\", b: \"spine1:e1\" }\n"
			   "limits: { forget: 1m }\n"
			   "analyzers: { steps: { past: 11m } }\n";

struct rig {
	struct db_world world;
	struct config *config;
	struct entities *entities;
	struct store *store;
	struct ledger *ledger;
	struct pipeline *pipeline;
};

static void rig_open(struct rig *r)
{
	struct err e = {0};
	struct err_list errors = {0};
	size_t n;
	const struct option_table *const *tables = module_tables(&n);
	world_init(&r->world);
	r->config = NULL;
	if (config_parse(yaml, strlen(yaml), "test", CONFIG_CASE, tables, n, &r->config, &errors))
		fail_msg("%s", errors.n ? errors.v[0].text : "configuration");
	err_list_done(&errors);
	r->entities = entities_new();
	const struct store_options o = {.path = r->world.path, .replay = true};
	if (db_store_open(&o, r->entities, &r->store, &e) != 0)
		fail_msg("%s", e.text);
	r->ledger = ledger_new(r->config->fabric, NULL, NULL);
	r->pipeline = pipeline_new(r->config, r->entities, r->store, r->ledger);
}

static void rig_close(struct rig *r)
{
	pipeline_free(r->pipeline);
	ledger_free(r->ledger);
	store_close(r->store);
	entities_free(r->entities);
	config_free(r->config);
	world_done(&r->world);
}

static void put(struct rig *r, int64_t t_ns, const char *port, int priority, unsigned metric)
{
	const struct sample s = {.t_ns = t_ns,
		.entity = entities_intern(r->entities, "leaf1", port, priority),
		.metric = (uint16_t)metric,
		.value = (uint64_t)(t_ns / NS_PER_S),
		.source = SOURCE_SNMP};
	const struct sink *sink = pipeline_sink(r->pipeline);
	sink->samples(sink->arg, &s, 1);
}

static void one_round(struct rig *r, int round)
{
	const int64_t t_ns = SECONDS(0) + round * ROUND_NS;
	char port[32];
	put(r, t_ns, "e49", PRIO_NONE, M_PORT_OUT_OCTETS);
	put(r, t_ns, "e50", PRIO_NONE, M_PORT_OUT_OCTETS); /* in no configuration */
	for (int k = 0; k < PER_ROUND; k++) {
		snprintf(port, sizeof(port), "veth%d", round * PER_ROUND + k);
		put(r, t_ns, port, PRIO_NONE, M_PORT_OUT_OCTETS);
		put(r, t_ns, port, 3, M_PFC_RX_FRAMES);
		pipeline_peer(r->pipeline, "leaf1", port, "other", "p", t_ns);
	}
	pipeline_advance(r->pipeline, t_ns + NS_PER_S);
	if (round % 3 == 0) /* the ids wait for the store in between */
		assert_int_equal(store_flush(r->store, NULL), 0);
	pipeline_tend_names(r->pipeline, 1000 * NS_PER_S + round * ROUND_NS);
}

struct peak {
	uint32_t known, ids;
	size_t tracks, peers;
};

static void peak_take(struct peak *peak, const struct rig *r)
{
	const struct pipeline *p = r->pipeline;
	const struct peak now = {.known = entities_known(r->entities),
		.ids = entities_count(r->entities),
		.tracks = series_memory_tracks(p->memory),
		.peers = p->n_peers};
	if (now.known > peak->known)
		peak->known = now.known;
	if (now.ids > peak->ids)
		peak->ids = now.ids;
	if (now.tracks > peak->tracks)
		peak->tracks = now.tracks;
	if (now.peers > peak->peers)
		peak->peers = now.peers;
}

static void churn(void **state)
{
	struct rig r;
	struct peak first = {0}, second = {0};
	rig_open(&r);
	const uint32_t configured = entities_intern(r.entities, "leaf1", "e49", PRIO_NONE);
	const uint32_t seen = entities_intern(r.entities, "leaf1", "e50", PRIO_NONE);
	for (int round = 0; round < ROUNDS; round++) {
		one_round(&r, round);
		peak_take(round < ROUNDS / 2 ? &first : &second, &r);
	}
	const uint64_t released = pipeline_names_released(r.pipeline);
	assert_true(released > ROUNDS / 3 * PER_ROUND * 2);
	assert_true(first.known < ROUNDS * PER_ROUND);
	if (second.known > first.known || second.ids > first.ids + first.ids / 50 ||
		second.tracks > first.tracks || second.peers > first.peers)
		fail_msg("grew from %u %u %zu %zu to %u %u %zu %zu", first.known, first.ids,
			first.tracks, first.peers, second.known, second.ids, second.tracks,
			second.peers);
	assert_int_equal(entities_find(r.entities, "leaf1", "e49", PRIO_NONE), configured);
	assert_int_equal(entities_find(r.entities, "leaf1", "e50", PRIO_NONE), seen);
	assert_int_equal(store_flush(r.store, NULL), 0);
	/* the database has all of them, each under its own name, and knows which are gone */
	assert_int_equal(world_int(&r.world, "SELECT count(*) FROM entity WHERE port LIKE 'veth%'"),
		ROUNDS * PER_ROUND * 2);
	assert_int_equal(world_int(&r.world,
				 "SELECT count(*) FROM entity WHERE gone_ns<9223372036854775807"),
		released);
	assert_int_equal(world_int(&r.world,
				 "SELECT count(*) FROM samples WHERE port LIKE 'veth%' AND "
				 "t_ns<>1700000000000000000+"
				 "10000000000*(CAST(substr(port,5) AS INTEGER)/10)"),
		0);
	rig_close(&r);
}

/* A disk that refuses: nothing is given again while the store may still write under old ids. */
static void ids_wait_for_the_store(void **state)
{
	struct rig r;
	rig_open(&r);
	int round = 0;
	/* configured, and as silent as the one that goes */
	put(&r, SECONDS(0), "e49", PRIO_NONE, M_PORT_OUT_OCTETS);
	while (pipeline_names_released(r.pipeline) == 0 && round < ROUNDS) {
		put(&r, SECONDS(0) + round * ROUND_NS, round < 3 ? "veth1" : "e50", PRIO_NONE,
			M_PORT_OUT_OCTETS);
		pipeline_advance(r.pipeline, SECONDS(0) + round * ROUND_NS + NS_PER_S);
		pipeline_tend_names(r.pipeline, 1000 * NS_PER_S + round * ROUND_NS);
		round++;
	}
	assert_int_equal(pipeline_names_released(r.pipeline), 1);
	assert_int_not_equal(entities_find(r.entities, "leaf1", "e49", PRIO_NONE), 0);
	const uint32_t most = entities_count(r.entities);
	assert_int_equal(entities_intern(r.entities, "leaf1", "new1", PRIO_NONE), most + 1);
	pipeline_tend_names(r.pipeline, 1000 * NS_PER_S + round * ROUND_NS);
	assert_int_equal(entities_intern(r.entities, "leaf1", "new2", PRIO_NONE), most + 2);
	assert_int_equal(store_flush(r.store, NULL), 0);
	pipeline_tend_names(r.pipeline, 1000 * NS_PER_S + round * ROUND_NS);
	assert_true(entities_intern(r.entities, "leaf1", "new3", PRIO_NONE) <= most);
	rig_close(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(churn),
		cmocka_unit_test(ids_wait_for_the_store),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
