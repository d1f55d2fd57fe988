/* snmp_result - what the tables of one poll become: ports, neighbours, samples. */
#include "collectors/snmp/snmp_target.h"

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/log.h"
#include "agent/base/loop.h"
#include "agent/base/str.h"

static void ports_report(struct snmp_target *target)
{
	for (size_t i = 0; i < snmp_ports_count(snmp_decode_ports(target->decoder)); i++) {
		const struct snmp_port *p = snmp_ports_at(snmp_decode_ports(target->decoder), i);
		if (p->changed)
			target->machine.sink.port(target->machine.sink.arg, target->machine.name,
				p->name, p->alias, p->speed_bps);
	}
	snmp_ports_reported(snmp_decode_ports(target->decoder));
}

/* walk_is_fresh - is this reading of a fast table a new one, or the agent's cache once more? */
static bool walk_is_fresh(struct snmp_target *target, struct walk *walk)
{
	int64_t before = walk->refresh.period_ns;
	bool fresh = snmp_refresh_take(&walk->refresh, snmp_rows_digest(walk->rows),
		target->poll_began.ns, target_interval_ns(&target->machine));
	char every[32];
	if (before == 0 && walk->refresh.period_ns != 0)
		log_info(target->machine.name,
			"snmp: the agent refreshes table %s about every %s only: readings in "
			"between are not used",
			walk->table->name,
			duration_format(every, sizeof(every), walk->refresh.period_ns));
	return fresh || target->slow || target->restarted;
}

/* names_take - from the slow tables to the new map of ports. */
static void names_take(struct snmp_target *target)
{
	struct snmp_ports *ports = snmp_decode_ports(target->decoder);
	for (size_t i = 0; i < target->n_walks; i++) {
		const struct walk *w = &target->walks[i];
		if (w->table->cadence == CADENCE_SLOW)
			snmp_ports_names(ports, w->table, w->rows);
	}
	if (snmp_ports_make(ports))
		ports_report(target);
	target->names_read_ns = target->poll_began.ns;
	target->next_slow_ns = target->poll_began.ns +
		target_jittered(&target->machine, target->machine.device->snmp->slow_interval_ns);
}

/* walk_decode - the samples of one table of this poll. */
static void walk_decode(struct snmp_target *target, struct walk *walk)
{
	if (walk->table->cadence == CADENCE_FAST && !walk_is_fresh(target, walk))
		return;
	snmp_decode_table(
		target->decoder, walk->table, walk->rows, target->restarted, target->samples);
	if (target->slow && walk->table->cadence != CADENCE_BACKGROUND)
		walk->n_want = snmp_decode_needed(walk->table, walk->rows, walk->want);
}

/* What was odd about the tables of this poll. */
static void walks_count(struct snmp_target *target)
{
	struct target *state = &target->machine.state;
	state->out_of_order = state->cut_columns = 0;
	for (size_t i = 0; i < target->n_walks; i++) {
		const struct snmp_rows_stats *stats = snmp_rows_stats(target->walks[i].rows);
		state->out_of_order += stats->out_of_order;
		state->cut_columns += stats->non_increasing + (stats->overflow > 0);
	}
}

/* Tables of two cadences may hold such values: a poll of the slow ones sees the most. */
static void cells_count(struct snmp_target *target)
{
	struct target *state = &target->machine.state;
	const uint32_t no_cell = snmp_decode_stats(target->decoder)->no_cell;
	if (snmp_decode_cell_known(target->decoder)) {
		state->no_cell = 0;
		return;
	}
	if (no_cell > 0 && state->no_cell == 0)
		log_warn(target->machine.name,
			"%u values a poll are in buffer cells, whose size the device does not "
			"tell: they are not stored; declare it in thresholds (cell)",
			no_cell);
	if (no_cell > state->no_cell)
		state->no_cell = no_cell;
}

bool snmp_result_decode(struct snmp_target *target, int64_t t_ns)
{
	int last = CADENCE_FAST;
	bool rows = false;
	target->samples->n = 0;
	snmp_decode_begin(target->decoder, t_ns);
	if (target->slow) {
		names_take(target);
		last = CADENCE_SLOW;
	}
	for (size_t i = 0; i < target->n_walks; i++)
		if (target->walks[i].whole)
			walk_decode(target, &target->walks[i]);
	snmp_walk_strangers(target);
	for (int cadence = CADENCE_FAST; cadence <= last; cadence++)
		for (size_t i = 0; i < target->n_walks; i++) {
			struct walk *w = &target->walks[i];
			if ((int)w->table->cadence != cadence || w->n_want == 0)
				continue;
			rows = rows || snmp_rows_count(w->rows) > 0;
			walk_decode(target, w);
		}
	if (target->slow)
		snmp_decode_cell(target->decoder, target->samples);
	target->unknown_ports = snmp_decode_stats(target->decoder)->unknown_ports;
	walks_count(target);
	cells_count(target);
	return rows;
}

void snmp_result_neighbors(struct snmp_target *target)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	size_t n = snmp_ports_count(snmp_decode_ports(target->decoder));
	struct topology_port *ports = arena_array(a, struct topology_port, n + 1);
	struct topology_device self;
	struct topology_neighbor *neighbors;
	for (size_t i = 0; i < n; i++) {
		const struct snmp_port *p = snmp_ports_at(snmp_decode_ports(target->decoder), i);
		ports[i] = (struct topology_port){.name = p->name,
			.alias = p->alias,
			.ifindex = p->ifindex,
			.speed_bps = p->speed_bps,
			.outside = profile_is_management(target->machine.profile, p->name)};
	}
	size_t n_neighbors = snmp_lldp_result(target->lldp, a, target->machine.set->profiles,
		target->machine.name, str_or(target->sysname, ""), ports, n, &self, &neighbors);
	target->machine.sink.neighbors(target->machine.sink.arg, &self, neighbors, n_neighbors);
}

void snmp_result_samples(struct snmp_target *target, int64_t t_ns)
{
	if (target->samples->n == 0)
		return; /* the agent's cache, whole */
	for (size_t i = 0; i < target->samples->n; i++)
		target->samples->v[i].t_ns = t_ns;
	target->machine.state.values += target->samples->n;
	target->machine.sink.samples(
		target->machine.sink.arg, target->samples->v, target->samples->n);
}
