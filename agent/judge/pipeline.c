/* pipeline - connects intake, windows and inventory, and drives them live, in replay and after a
 * restart. Time comes from the loop's tick or from the samples. */
#include "agent/judge/pipeline.h"

#include "agent/judge/intake.h"
#include "agent/judge/inventory.h"
#include "agent/judge/pipeline_state.h"
#include "agent/judge/windows.h"
#include "db/model/golden.h"
#include "db/store/store.h"

#define BATCH_MAX 4096 /* samples handed to the store at once in replay */

/* ---- time moves on ------------------------------------------------------- */

void pipeline_advance(struct pipeline *pipeline, int64_t now_ns)
{
	pipeline->now_ns = now_ns;
	judging_until(pipeline, now_ns - intake_wait_ns(pipeline));
	if (pipeline->store)
		target_table_flush(pipeline->targets, pipeline->store, now_ns);
}

static void pipeline_rewind(struct pipeline *pipeline, int64_t since_ns)
{
	pipeline->rewound_ns = since_ns;
	series_memory_rewind(pipeline->memory, since_ns);
	series_memory_unsay(pipeline->memory, since_ns);
	windows_rewind(pipeline, since_ns);
	if (pipeline->store)
		store_rewind(pipeline->store, since_ns);
	ledger_rewind(pipeline->ledger, since_ns);
}

void pipeline_clock_torn(struct pipeline *pipeline)
{
	series_memory_tear(pipeline->memory);
}

void pipeline_clock_set(struct pipeline *pipeline, int64_t since_ns, int64_t step_ns)
{
	judging_finish(pipeline);
	intake_flush(pipeline);
	pipeline_clock_torn(pipeline);
	if (step_ns < 0)
		pipeline_rewind(pipeline, since_ns);
}

void pipeline_watch_clock(struct pipeline *pipeline, int64_t (*now)(void *arg), void *arg)
{
	pipeline->clock = now;
	pipeline->clock_arg = arg;
}

void pipeline_finish(struct pipeline *pipeline)
{
	judging_finish(pipeline);
	intake_flush(pipeline);
	if (pipeline->begun)
		judging_until(pipeline, pipeline->newest_ns);
	judging_finish(pipeline);
	if (pipeline->store)
		target_table_flush(pipeline->targets, pipeline->store, pipeline->now_ns);
}

void pipeline_finish_by(struct pipeline *pipeline, mono_t until)
{
	pipeline->judging.until_ns = until.ns;
	pipeline_finish(pipeline);
}

void pipeline_expect(struct pipeline *pipeline, const struct expected_change *changes, size_t n)
{
	judging_finish(pipeline); /* it may read the old ones */
	arena_reset(pipeline->expected_arena);
	pipeline->expected = arena_array(pipeline->expected_arena, struct expected_change, n + 1);
	pipeline->n_expected = n;
	for (size_t k = 0; k < n; k++) {
		pipeline->expected[k] = changes[k];
		pipeline->expected[k].device =
			arena_strdup(pipeline->expected_arena, changes[k].device);
	}
}

int pipeline_window(struct pipeline *pipeline, struct arena *a, const struct window_spec *spec,
	int64_t from_ns, int64_t to_ns, struct window *ret)
{
	return window_from_memory(pipeline->memory, a, spec, from_ns, to_ns, ret);
}

/* ---- replay and priming -------------------------------------------------- */

void pipeline_feed(struct pipeline *pipeline, const struct sample *samples, size_t n,
	const struct flow_sample *flows, size_t n_flows)
{
	size_t k = 0, f = 0;
	judging_finish(pipeline);
	pipeline->feeding = true;
	while (k < n || f < n_flows) {
		bool flow_first = f < n_flows && (k == n || flows[f].to_ns <= samples[k].t_ns);
		if (flow_first) {
			pipeline_advance(pipeline, flows[f].to_ns);
			intake_flows(pipeline, &flows[f], 1);
			f++;
			continue;
		}
		pipeline_advance(pipeline, samples[k].t_ns);
		struct sample s = samples[k++];
		if (s.metric == M_AGENT_SIGNAL) /* it is measured again from what it came from */
			continue;
		const bool accepted = intake_accept(pipeline, &s);
		if (accepted && !pipeline->fed)
			intake_keep(pipeline, &s);
		if (pipeline->n_batch >= BATCH_MAX)
			intake_flush(pipeline);
	}
	pipeline->feeding = false;
	intake_flush(pipeline);
}

void pipeline_prime_begin(struct pipeline *pipeline, int64_t from_ns, int64_t known_ns)
{
	pipeline->priming = true;
	pipeline->prime_from_ns = from_ns;
	pipeline->prime_known_ns = known_ns;
	ledger_known(pipeline->ledger, known_ns);
}

void pipeline_prime_end(struct pipeline *pipeline)
{
	pipeline->priming = false;
	memset(&pipeline->counters, 0,
		sizeof(pipeline->counters)); /* they count what this process did */
}

void pipeline_fed(struct pipeline *pipeline)
{
	pipeline->fed = true;
}

/* ---- life ---------------------------------------------------------------- */

static void pipeline_limit_names(struct pipeline *pipeline, const struct config *config)
{
	const struct entity_limits limits = {.per_device = config->limits.names_per_device,
		.total = config->limits.names,
		.ports = config->limits.ports_per_device};
	entities_limit(pipeline->entities, &limits);
	pipeline->forget_ns = config->limits.forget_ns;
}

struct pipeline *pipeline_new(const struct config *config, struct entities *entities,
	struct store *store, struct ledger *ledger)
{
	struct pipeline *p = rw_calloc(1, sizeof(*p));
	p->entities = entities;
	p->store = store;
	p->ledger = ledger;
	p->closed_ns = p->trimmed_ns = INT64_MIN / 2;
	p->turn = arena_new();
	p->expected_arena = arena_new();
	p->shared.arena = arena_new();
	p->peer_index = smap_new();
	p->targets = target_table_new();
	p->sink = (struct sink){.arg = p,
		.samples = intake_samples,
		.flows = intake_flows,
		.target = inventory_target,
		.device = inventory_device,
		.port = inventory_port,
		.event = inventory_event,
		.burst = inventory_burst};
	windows_open(p);
	pipeline_limit_names(p, config);
	windows_configure(p, config);
	p->memory = series_memory_new(entities, windows_keep_ns(p));
	windows_keep_past(p);
	return p;
}

void pipeline_free(struct pipeline *pipeline)
{
	if (!pipeline)
		return;
	judging_close(pipeline);
	series_memory_free(pipeline->memory);
	target_table_free(pipeline->targets);
	arena_free(pipeline->turn);
	arena_free(pipeline->expected_arena);
	arena_free(pipeline->shared.arena);
	smap_free(pipeline->peer_index);
	smap_free(pipeline->stored);
	for (size_t k = 0; k < pipeline->n_peers; k++)
		inventory_peer_free(&pipeline->peers[k]);
	free(pipeline->peers);
	free(pipeline->slots);
	free(pipeline->batch);
	free(pipeline);
}

void pipeline_reload(struct pipeline *pipeline, const struct config *config)
{
	judging_finish(pipeline);
	pipeline_limit_names(pipeline, config);
	windows_configure(pipeline, config);
	series_memory_keep(pipeline->memory, windows_keep_ns(pipeline));
	windows_keep_past(pipeline);
}

void pipeline_in_slices(struct pipeline *pipeline, struct loop *loop)
{
	judging_open(pipeline, loop);
}

const struct sink *pipeline_sink(struct pipeline *pipeline)
{
	return &pipeline->sink;
}

const struct pipeline_counters *pipeline_counters(const struct pipeline *pipeline)
{
	return &pipeline->counters;
}

const struct world_facts *pipeline_class(const struct pipeline *pipeline, int priority)
{
	const struct world_facts *facts = &pipeline->classes.facts[priority];
	return facts->fabric ? facts : NULL;
}

/*
 * name_release - lets go of names that no sample came for in a long time: interfaces of containers,
 * sub-interfaces, queues that come and go. Without this each of them would stay in memory for ever.
 *
 * The order matters: names go from the table first, then all that belongs to them here, then the
 * store is told. Their ids are given to others only when the store has committed everything that it
 * was handed before.
 */

#define RELEASE_EVERY_NS (30 * NS_PER_S)

/* What the configuration names, and what the agent says of itself, stays. */
static bool names_keep(void *arg, const struct entity *entity)
{
	const struct pipeline *p = arg;
	if (str_eq(entity->device, ENTITY_AGENT) || str_eq(entity->device, ENTITY_SIGNALS))
		return true;
	const struct fabric_device *device = fabric_device(p->config->fabric, entity->device);
	if (!device)
		return false;
	return !*entity->port || fabric_port(device, entity->port);
}

/* So long after its last sample nothing needs a name any more: no window and no analyzer's past
 * reaches it, and what is open rests on the database. */
static int64_t names_idle_ns(const struct pipeline *pipeline)
{
	int64_t needed_ns = windows_keep_ns(pipeline);
	if (pipeline->past_ns > needed_ns)
		needed_ns = pipeline->past_ns;
	return pipeline->forget_ns + needed_ns;
}

static void names_release(struct pipeline *pipeline)
{
	const struct entity_release how = {
		.idle_ns = names_idle_ns(pipeline), .keep = names_keep, .arg = pipeline};
	const size_t n = entities_release(pipeline->entities, &how);
	if (n == 0)
		return;
	pipeline->names_released += n;
	pipeline->shared.filled = false; /* its series are of names that are gone */
	series_memory_forget(pipeline->memory, pipeline->entities);
	inventory_forget(pipeline);
	if (!pipeline->store) {
		entities_reclaim(pipeline->entities);
		return;
	}
	intake_flush(pipeline);
	int64_t until_ns = pipeline->now_ns;
	if (pipeline->newest_ns > until_ns)
		until_ns = pipeline->newest_ns;
	store_names_gone(pipeline->store, pipeline->entities, until_ns);
	pipeline->names_ticket = store_handed(pipeline->store);
}

void pipeline_tend_names(struct pipeline *pipeline, int64_t mono_ns)
{
	entities_tick(pipeline->entities, mono_ns);
	if (pipeline->names_ticket && store_committed(pipeline->store, pipeline->names_ticket)) {
		entities_reclaim(pipeline->entities);
		pipeline->names_ticket = 0;
	}
	if (pipeline->names_ticket || mono_ns < pipeline->names_due_ns)
		return;
	if (pipeline->judging.waits)
		return; /* windows under way hold names */
	pipeline->names_due_ns = mono_ns + RELEASE_EVERY_NS;
	names_release(pipeline);
}

uint64_t pipeline_names_released(const struct pipeline *pipeline)
{
	return pipeline->names_released;
}
