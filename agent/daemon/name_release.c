/*
 * name_release - lets go of names that no sample came for in a long time: interfaces of containers,
 * sub-interfaces, queues that come and go. Without this each of them would stay in memory for ever.
 *
 * The order matters: names go from the table first, then all that belongs to them here, then the
 * store is told. Their ids are given to others only when the store has committed everything that it
 * was handed before.
 */
#include "agent/daemon/name_release.h"

#include "agent/base/clock.h"
#include "agent/base/str.h"
#include "agent/daemon/intake.h"
#include "agent/daemon/inventory.h"
#include "agent/daemon/pipeline_state.h"
#include "agent/daemon/windows.h"
#include "db/model/golden.h"
#include "db/store/store.h"

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
