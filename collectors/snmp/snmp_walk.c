/* snmp_walk - tables that are read in pieces, tables that stand in for others, and rows that belong
 * to no port. */
#include "collectors/snmp/snmp_target.h"

#include <inttypes.h>
#include <string.h>
#include "agent/base/log.h"
#include "agent/base/loop.h"
#include "agent/base/str.h"

int64_t snmp_walk_deadline_ns(const struct snmp_target *target)
{
	const struct config_snmp *s = target->machine.device->snmp;
	if (s->deadline_ns)
		return s->deadline_ns;
	return s->interval_ns + s->timeout_ns * (s->retries + 1);
}

bool snmp_walk_late(const struct snmp_target *target)
{
	const struct config_snmp *s = target->machine.device->snmp;
	const int64_t spent_ns = loop_now(target->machine.loop).ns - target->poll_began.ns;
	int64_t may_ns = target_interval_ns(&target->machine) / 2;
	/* the first poll reads all it can: there is no earlier value to fall back on */
	const int64_t first_ns = snmp_walk_deadline_ns(target) - s->timeout_ns * (s->retries + 1);
	if (target->machine.state.polls == 0 && first_ns > may_ns)
		may_ns = first_ns;
	return spent_ns > may_ns;
}

bool snmp_walk_replaced(const struct snmp_target *target, const struct walk *walk)
{
	for (size_t i = 0; walk->table->unless && &target->walks[i] < walk; i++)
		if (str_eq(target->walks[i].table->name, walk->table->unless))
			return snmp_rows_had(target->walks[i].rows) > 0;
	return false;
}

void snmp_walk_leave(struct snmp_target *target)
{
	for (size_t i = 0; i < target->n_walks; i++)
		if (target->walks[i].table->cadence != CADENCE_BACKGROUND)
			snmp_rows_leave(target->walks[i].rows);
}

void snmp_walk_end(struct walk *walk)
{
	walk->done = true;
	walk->whole = walk->under_way;
	walk->under_way = false;
}

void snmp_walk_begin_background(struct snmp_target *target, struct walk *walk)
{
	walk->whole = false;
	walk->due = walk->due || target->slow;
	if (target->restarted && walk->under_way)
		walk->due = true; /* what was read is of the time before */
	if (walk->due && (target->restarted || !walk->under_way)) {
		memset(walk->want, true, walk->table->n_columns * sizeof(*walk->want));
		walk->n_want = walk->table->n_columns;
		snmp_rows_begin(walk->rows, walk->want);
		walk->under_way = true;
		walk->due = false;
	}
	walk->done = !walk->under_way;
}

void snmp_walk_drop_background(struct snmp_target *target)
{
	/* while one is read, "unless" may still ask for the rows of another */
	for (size_t i = 0; i < target->n_walks; i++)
		if (target->walks[i].under_way)
			return;
	for (size_t i = 0; i < target->n_walks; i++)
		if (target->walks[i].table->cadence == CADENCE_BACKGROUND)
			snmp_rows_drop(target->walks[i].rows);
}

void snmp_walk_strangers(struct snmp_target *target)
{
	const struct snmp_decode_stats *stats = snmp_decode_stats(target->decoder);
	const uint64_t fresh = stats->strangers - target->strangers_before;
	target->strangers_before = stats->strangers;
	if (fresh == 0 || fresh == target->strangers)
		return;
	target->strangers = fresh;
	log_info(target->machine.name,
		"snmp: %" PRIu64 " rows name no port of this switch and are not used, e.g. '%s'",
		fresh, stats->stranger);
}
