/*
 * snmp_poll - the polls of one device.
 *
 * A session begins with one GET (who are you: sysObjectID, sysDescr, sysName) that chooses the
 * profile. A poll is
 *   1. HEAD: GET sysUpTime, ifNumber, ifTableLastChange. Small, so that silence here means
 *       silence and not a lost big answer.
 *   2. neighbours and the slow tables, when they are due or the head says that the interfaces
 *       changed;
 *   3. the fast tables; sysUpTime rides along in each request, so a restart in the middle is
 *       seen;
 *   4. background tables (sensors), as far as the time of this poll allows; the next poll goes on;
 *   5. the rows of all tables become samples with one time: the middle of step 3.
 * One request is in flight at a time. Nothing blocks; every wait has a timer; a poll that passes
 * its deadline is dropped.
 */

#include "base/log.h"
#include "base/loop.h"
#include "collectors/snmp/snmp_decode.h"
#include "collectors/snmp/snmp_rows.h"
#include "collectors/snmp/snmp_target.h"

/* snmp_reason - why a request failed, as a row of collectors/target/reason.def. Silence has many
 * causes; the earlier answers of the session decide between them. */

/* RFC 3416 section 3; noAccess and authorizationError come from the agent's access control. */
enum { PDU_NO_ACCESS = 6, PDU_AUTHORIZATION = 16 };

/* reason_of_report - an SNMPv3 engine says which of its checks failed (usmStats, RFC 3414). */
static void reason_of_report(
	struct reason *ret, enum snmp_report report, const char *peer, const char *user)
{
	switch (report) {
	case REPORT_SECURITY_LEVEL: reason_set(ret, SNMP_V3_LEVEL, peer, user); break;
	case REPORT_TIME_WINDOW: reason_set(ret, SNMP_V3_TIME, peer, user); break;
	case REPORT_USER: reason_set(ret, SNMP_V3_USER, peer, user); break;
	case REPORT_ENGINE: reason_set(ret, SNMP_V3_ENGINE, peer, user); break;
	case REPORT_DIGEST: reason_set(ret, SNMP_V3_AUTH, peer, user); break;
	case REPORT_DECRYPTION: reason_set(ret, SNMP_V3_PRIV, peer, user); break;
	default: reason_set(ret, SNMP_V3_OTHER, peer, user);
	}
}

/* reason_of_error - the agent answers, with an error to a request that every agent can answer. */
static void reason_of_error(struct reason *ret, const struct config_snmp_credential *credential,
	const char *peer, int error_status)
{
	const bool access = error_status == PDU_AUTHORIZATION || error_status == PDU_NO_ACCESS;
	if (access && credential->version == 3)
		reason_set(ret, SNMP_VIEW_USER, peer, credential->user);
	else if (access)
		reason_set(ret, SNMP_VIEW_COMMUNITY, peer);
	else
		reason_set(ret, SNMP_ERROR, peer, error_status);
}

struct silence {
	const struct config_snmp_credential *credential;
	const char *peer, *timeout;
	int tries;
	enum snmp_silence kind; /* what the question after the silence has shown */
};

/* reason_of_silence_v12 - SNMP v1/v2c looks the same for a silent host and a wrong community;
 * snmp_io has asked one question more. */
static void reason_of_silence_v12(struct reason *ret, const struct silence *silence)
{
	if (silence->kind == SILENCE_AGENT)
		reason_set(ret, SNMP_WRONG_COMMUNITY, silence->peer);
	else if (silence->kind == SILENCE_LATE)
		reason_set(ret, SNMP_LATE, silence->peer, silence->tries, silence->timeout);
	else
		reason_set(ret, SNMP_SILENT, silence->peer, silence->tries, silence->timeout);
}

/* reason_of_silence_v3 - the engine was discovered, so somebody is there. */
static void reason_of_silence_v3(struct reason *ret, const struct silence *silence)
{
	const struct config_snmp_credential *c = silence->credential;
	if (c->context && *c->context)
		reason_set(ret, SNMP_V3_CONTEXT, silence->peer, c->user, c->context,
			str_if(c->priv, ", and a wrong priv password or priv protocol,"));
	else if (c->priv)
		reason_set(ret, SNMP_V3_PRIV_SILENT, silence->peer, c->user);
	else
		reason_set(ret, SNMP_V3_LOST, silence->peer, c->user);
}

static void reason_of_silence(struct reason *ret, const struct silence *silence, bool identified)
{
	if (identified && silence->kind == SILENCE_AGENT)
		reason_set(ret, SNMP_V3_UNANSWERED_NOW, silence->peer, silence->credential->user);
	else if (identified)
		reason_set(ret, SNMP_GONE, silence->peer, silence->tries, silence->timeout);
	else if (silence->credential->version == 3)
		reason_of_silence_v3(ret, silence);
	else
		reason_of_silence_v12(ret, silence);
}

/* snmp_reason - why this answer, or the error in it, ends the session. Reads how far the session
 * had come. */
static void snmp_reason(
	const struct snmp_target *target, const struct snmp_answer *answer, struct reason *ret)
{
	const struct config_snmp *s = target->machine.device->snmp;
	const struct config_snmp_credential *c = s->credential->snmp;
	const char *peer = snmp_io_peer(target->io);
	char timeout[32];
	const struct silence silence = {.credential = c,
		.peer = peer,
		.timeout = unit_duration_text(timeout, sizeof(timeout), s->timeout_ns),
		.tries = s->retries + 1,
		.kind = answer->silence};
	switch (answer->status) {
	case SNMP_IO_OK: reason_of_error(ret, c, peer, answer->error_status); break;
	case SNMP_IO_TIMEOUT: reason_of_silence(ret, &silence, target->phase != PHASE_IDENT); break;
	case SNMP_IO_REFUSED: reason_set(ret, SNMP_REFUSED, peer); break;
	case SNMP_IO_UNREACHABLE: reason_set(ret, SNMP_UNREACHABLE, peer, answer->detail); break;
	case SNMP_IO_REPORT:
		reason_of_report(ret, answer->report, peer, str_or(c->user, ""));
		break;
	default: reason_set(ret, SNMP_LIBRARY, peer, answer->detail);
	}
}

/* ---- snmp_poll ----------------------------------------------------------- */

/* snmp_walk - tables that are read in pieces, tables that stand in for others, and rows that belong
 * to no port. */

/* The longest that a poll may take. */
static int64_t snmp_walk_deadline_ns(const struct snmp_target *target)
{
	const struct config_snmp *s = target->machine.device->snmp;
	if (s->deadline_ns)
		return s->deadline_ns;
	return s->interval_ns + s->timeout_ns * (s->retries + 1);
}

/* Is half of this interval over, so that background tables wait for the next poll? They delay no
 * sample of the fast tables for longer; but the first poll reads all it can. */
static bool snmp_walk_late(const struct snmp_target *target)
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

/* Has the better table of "unless", which was read before, rows of its own? */
static bool snmp_walk_replaced(const struct snmp_target *target, const struct walk *walk)
{
	for (size_t i = 0; walk->table->unless && &target->walks[i] < walk; i++)
		if (str_eq(target->walks[i].table->name, walk->table->unless))
			return snmp_rows_had(target->walks[i].rows) > 0;
	return false;
}

/* The poll is over: the rows of its tables are read no more. */
static void snmp_walk_leave(struct snmp_target *target)
{
	for (size_t i = 0; i < target->n_walks; i++)
		if (target->walks[i].table->cadence != CADENCE_BACKGROUND)
			snmp_rows_leave(target->walks[i].rows);
}

/* Nothing more to ask in this poll. */
static void snmp_walk_end(struct walk *walk)
{
	walk->done = true;
	walk->whole = walk->under_way;
	walk->under_way = false;
}

/* Goes on with the reading of the poll before, or begins one that is due. */
static void snmp_walk_begin_background(struct snmp_target *target, struct walk *walk)
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

/* The rows of background tables are given back once all are decoded: a chassis has thousands,
 * and they are not needed until the names are read again. */
static void snmp_walk_drop_background(struct snmp_target *target)
{
	/* while one is read, "unless" may still ask for the rows of another */
	for (size_t i = 0; i < target->n_walks; i++)
		if (target->walks[i].under_way)
			return;
	for (size_t i = 0; i < target->n_walks; i++)
		if (target->walks[i].table->cadence == CADENCE_BACKGROUND)
			snmp_rows_drop(target->walks[i].rows);
}

/* Rows that belong to no port are told when their number changes, not each time. */
static void snmp_walk_strangers(struct snmp_target *target)
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

/* snmp_result - what the tables of one poll become: ports, neighbours, samples. */

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

/* All tables of this poll, which took place at @t_ns, into target->samples. False when no table
 * had a row. */
static bool snmp_result_decode(struct snmp_target *target, int64_t t_ns)
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

/* After the names: neighbours are reported on ports by their own names. */
static void snmp_result_neighbors(struct snmp_target *target)
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

/* one poll, one time */
static void snmp_result_samples(struct snmp_target *target, int64_t t_ns)
{
	if (target->samples->n == 0)
		return; /* the agent's cache, whole */
	for (size_t i = 0; i < target->samples->n; i++)
		target->samples->v[i].t_ns = t_ns;
	target->machine.state.values += target->samples->n;
	target->machine.sink.samples(
		target->machine.sink.arg, target->samples->v, target->samples->n);
}

/* ---- snmp_poll ------------------------------------------------------------- */

#define COLUMNS_PER_REQUEST 16
#define VARBINDS_PER_REQUEST 120 /* about 3 kB: two fragments at 1500 bytes */
/* so few columns take twice the repetitions: the answer is still a small one */
#define NARROW_COLUMNS 2
/* the least time between two readings of the names because of rows about unknown ports */
#define NAMES_AGAIN_NS (60 * NS_PER_S)
#define TICK_NS (10 * NS_PER_MS) /* TimeTicks */
#define TEXT_MAX 256

static const uint32_t sys_descr[] = {1, 3, 6, 1, 2, 1, 1, 1, 0};
static const uint32_t sys_object_id[] = {1, 3, 6, 1, 2, 1, 1, 2, 0};
static const uint32_t sys_uptime[] = {1, 3, 6, 1, 2, 1, 1, 3, 0};
static const uint32_t sys_name[] = {1, 3, 6, 1, 2, 1, 1, 5, 0};
static const uint32_t if_number[] = {1, 3, 6, 1, 2, 1, 2, 1, 0};
static const uint32_t if_table_last_change[] = {1, 3, 6, 1, 2, 1, 31, 1, 5, 0};
#define OID(a) ((struct snmp_oid){(a), rw_countof(a)})

static const char *table_name(const struct snmp_target *target)
{
	if (target->phase == PHASE_LLDP)
		return "lldp";
	if (target->walk < target->n_walks)
		return target->walks[target->walk].table->name;
	return "-";
}

void snmp_poll_profile_free(struct snmp_target *target)
{
	for (size_t i = 0; i < target->n_walks; i++) {
		snmp_rows_free(target->walks[i].rows);
		free(target->walks[i].want);
	}
	free(target->walks);
	target->walks = NULL;
	target->n_walks = 0;
	snmp_decoder_free(target->decoder);
	target->decoder = NULL;
}

static void profile_set(struct snmp_target *target, const struct profile *profile)
{
	if (target->machine.profile == profile)
		return;
	snmp_poll_profile_free(target);
	target->machine.profile = profile;
	void **sums = profile_set_slot(target->machine.set, snmp_sums_free);
	if (!*sums)
		*sums = snmp_sums_new();
	target->samples = &((struct snmp_sums *)*sums)->samples;
	target->decoder =
		snmp_decoder_new(target->machine.entities, target->machine.name, profile, *sums);
	snmp_decode_cell_assumed(
		target->decoder, target_cell_bytes(target->machine.device, target->machine.config));
	target->walks = rw_calloc(profile->n_tables + 1, sizeof(*target->walks));
	target->n_walks = profile->n_tables;
	for (size_t i = 0; i < target->n_walks; i++) {
		const struct profile_table *table = profile->tables[i];
		struct snmp_oid columns[PROFILE_COLUMNS_MAX];
		for (size_t k = 0; k < table->n_columns; k++)
			columns[k] = (struct snmp_oid){table->columns[k].v, table->columns[k].n};
		target->walks[i] = (struct walk){.table = table,
			.rows = snmp_rows_new(columns, table->n_columns),
			.want = rw_calloc(table->n_columns, sizeof(bool))};
	}
	target->next_slow_ns = 0;
	target->unknown_ports = target->strangers = target->strangers_before = 0;
}

/* ---- requests ------------------------------------------------------------ */

static void snmp_poll_request(struct snmp_target *target, enum snmp_request what,
	const struct snmp_oid *oids, size_t n, int non_repeaters, int repetitions)
{
	int rc = snmp_io_send(target->io, what, oids, n, non_repeaters, repetitions);
	if (rc < 0) {
		target->machine.state.errors++;
		target_lost(&target->machine, SNMP_SEND, snmp_io_peer(target->io), strerror(-rc));
	}
}

bool snmp_poll_scalar(size_t i, struct snmp_oid *ret)
{
	const struct snmp_oid all[] = {OID(sys_descr), OID(sys_object_id), OID(sys_uptime),
		OID(sys_name), OID(if_number), OID(if_table_last_change)};
	if (i >= rw_countof(all))
		return false;
	*ret = all[i];
	return true;
}

void snmp_poll_identify(struct snmp_target *target)
{
	const struct snmp_oid oids[] = {
		OID(sys_uptime), OID(sys_object_id), OID(sys_descr), OID(sys_name)};
	target->phase = PHASE_IDENT;
	snmp_poll_request(target, SNMP_GET, oids, rw_countof(oids), 0, 0);
}

/* Agents that answer by a script may serve a scalar without its instance .0: both forms of the size
 * of a buffer cell are asked. */
static size_t cell_oids(const struct profile *profile, struct snmp_oid ret[2])
{
	const struct profile_oid *cell = &profile->cell_oid;
	if (cell->n == 0)
		return 0;
	ret[0] = (struct snmp_oid){cell->v, cell->n};
	if (cell->v[cell->n - 1] != 0)
		return 1;
	ret[1] = (struct snmp_oid){cell->v, cell->n - 1};
	return 2;
}

static void ask_head(struct snmp_target *target)
{
	struct snmp_oid oids[6] = {OID(sys_uptime), OID(if_number)};
	size_t n = 2;
	/* in v1 one missing object spoils the whole answer */
	if (target->machine.device->snmp->credential->snmp->version != 1) {
		oids[n++] = OID(if_table_last_change);
		if (target->machine.sink.neighbors)
			oids[n++] =
				(struct snmp_oid){snmp_lldp_last_change, snmp_lldp_last_change_n};
		n += cell_oids(target->machine.profile, &oids[n]);
	}
	target->phase = PHASE_HEAD;
	snmp_poll_request(target, SNMP_GET, oids, n, 0, 0);
}

/* rows_ask - @oids[1..n]; sysUpTime rides along. */
static void rows_ask(struct snmp_target *target, struct snmp_oid *oids, size_t n)
{
	unsigned repetitions = VARBINDS_PER_REQUEST / (unsigned)n;
	unsigned most = target->machine.state.max_repetitions;
	if (n <= NARROW_COLUMNS)
		most *= 2;
	if (repetitions > most)
		repetitions = most;
	enum snmp_request how = SNMP_GETBULK;
	if (target->machine.device->snmp->credential->snmp->version == 1)
		how = SNMP_GETNEXT;
	if (repetitions == 0)
		repetitions = 1;
	oids[0] = OID(sys_uptime);
	oids[0].n--; /* GETNEXT of sysUpTime without its instance */
	snmp_poll_request(target, how, oids, n + 1, 1, (int)repetitions);
}

/* walk_is_next - is there something of this table to be asked for in this phase? */
static bool walk_is_next(struct snmp_target *target, struct walk *walk)
{
	static const enum profile_cadence cadences[] = {[PHASE_SLOW] = CADENCE_SLOW,
		[PHASE_FAST] = CADENCE_FAST,
		[PHASE_BACK] = CADENCE_BACKGROUND};
	if (walk->table->cadence != cadences[target->phase] || walk->done || walk->n_want == 0)
		return false;
	if (snmp_walk_replaced(target, walk)) {
		walk->done = true;
		walk->under_way = false;
		return false;
	}
	return true;
}

/* phase_next - false behind the last one. What is left of the background tables waits for the next
 * poll when half of this interval is over: they delay no sample of the fast tables for longer. */
static bool phase_next(struct snmp_target *target)
{
	target->walk = 0;
	if (target->phase == PHASE_SLOW) {
		target->phase = PHASE_FAST;
		target->fast_began = mono_now();
		return true;
	}
	if (target->phase != PHASE_FAST)
		return false;
	target->fast_ended = mono_now();
	target->phase = PHASE_BACK;
	return !snmp_walk_late(target);
}

static void poll_finish(struct snmp_target *target)
{
	mono_t now = loop_now(target->machine.loop);
	wall_t wall = wall_now();
	loop_timer_stop(target->machine.deadline);
	target->phase = PHASE_NONE;
	target->machine.failures = 0;
	/* the middle of step 3, by a clock that nobody sets: the wall clock may be set meanwhile */
	int64_t t_ns = wall.ns - (mono_now().ns - target->fast_ended.ns) -
		(target->fast_ended.ns - target->fast_began.ns) / 2;
	bool rows = snmp_result_decode(target, t_ns);
	target->machine.state.suspects = snmp_decode_stats(target->decoder)->suspects;
	if (target->restarted && target->machine.sink.event)
		target->machine.sink.event(target->machine.sink.arg, wall.ns, "device_restart",
			target->machine.name, NULL,
			"sysUpTime went back: the agent or the device restarted");
	if (!rows) {
		target->machine.state.errors++;
		if (target->trouble)
			target_lost(&target->machine, SNMP_TABLES, snmp_io_peer(target->io),
				target->trouble);
		else
			target_lost(&target->machine, SNMP_EMPTY, snmp_io_peer(target->io),
				target->machine.profile->name, target->machine.name);
		return;
	}
	snmp_result_samples(target, t_ns);
	if (target->neighbors)
		snmp_result_neighbors(target);
	target->machine.state.interval_ns = target_interval_ns(&target->machine);
	target_polled(&target->machine.state, (double)(now.ns - target->poll_began.ns) / NS_PER_S,
		now, wall);
	target_change(&target->machine.state, TARGET_UP, now, wall, NULL);
	int64_t next = target->poll_began.ns +
		target_jittered(&target->machine, target_interval_ns(&target->machine)) - now.ns;
	if (next < NS_PER_MS)
		next = NS_PER_MS;
	loop_timer_start(target->machine.timer, next, 0);
	target_report(&target->machine); /* before the rows are released: the listener reads them */
	snmp_walk_leave(target);
}

/* walk_ask - the next wanted table of this phase, or the next phase, or the end. */
static void walk_ask(struct snmp_target *target)
{
	struct snmp_oid oids[1 + COLUMNS_PER_REQUEST];
	if (target->phase == PHASE_LLDP) {
		size_t n = snmp_lldp_next(target->lldp, oids + 1, COLUMNS_PER_REQUEST);
		if (n > 0) {
			rows_ask(target, oids, n);
			return;
		}
		target->phase = PHASE_SLOW;
	}
	if (target->phase == PHASE_BACK && snmp_walk_late(target)) {
		poll_finish(target);
		return;
	}
	for (;;) {
		for (; target->walk < target->n_walks; target->walk++) {
			struct walk *w = &target->walks[target->walk];
			if (!walk_is_next(target, w))
				continue;
			size_t n = snmp_rows_next(w->rows, oids + 1, COLUMNS_PER_REQUEST);
			if (n == 0) {
				snmp_walk_end(w);
				continue;
			}
			rows_ask(target, oids, n);
			return;
		}
		if (!phase_next(target)) {
			poll_finish(target);
			return;
		}
	}
}

void snmp_poll_pace(void *arg)
{
	walk_ask(arg);
}

/* walk_paced - as walk_ask, but not faster than the device's max_varbinds_s. */
static void walk_paced(struct snmp_target *target, size_t varbinds)
{
	uint64_t limit = target->machine.device->snmp->max_varbinds_s;
	int64_t now = loop_now(target->machine.loop).ns;
	if (limit) {
		if (target->pace_until_ns < now)
			target->pace_until_ns = now;
		target->pace_until_ns += (int64_t)(varbinds * (uint64_t)NS_PER_S / limit);
	}
	if (limit && target->pace_until_ns > now + NS_PER_MS)
		loop_timer_start(target->pace, target->pace_until_ns - now, 0);
	else
		walk_ask(target);
}

/* ---- poll ---------------------------------------------------------------- */

void snmp_poll_deadline(void *arg)
{
	struct snmp_target *t = arg;
	char took[32];
	t->machine.state.timeouts++;
	if (t->machine.state.max_repetitions > 1 && t->phase > PHASE_HEAD)
		t->machine.state.max_repetitions /= 2;
	unit_duration_text(took, sizeof(took), snmp_walk_deadline_ns(t));
	if (t->phase == PHASE_HEAD)
		target_lost(&t->machine, SNMP_HEAD_LATE, snmp_io_peer(t->io), took);
	else
		target_lost(&t->machine, SNMP_DEADLINE, snmp_io_peer(t->io), took, table_name(t));
}

void snmp_poll_begin(struct snmp_target *target)
{
	target->poll_began = loop_now(target->machine.loop);
	target->machine.state.interval_ns = target_interval_ns(&target->machine);
	target->restarted = false;
	target->trouble = NULL;
	target_limit(&target->machine, snmp_walk_deadline_ns(target));
	ask_head(target);
}

/* Every answer carries it. */
static void uptime_take(struct snmp_target *target, uint32_t ticks)
{
	if (snmp_uptime_take(&target->uptime, ticks, loop_now(target->machine.loop)))
		target->restarted = true;
	const int64_t stands_ns = snmp_uptime_stands(&target->uptime);
	if (stands_ns > 0 && target->machine.state.uptime_stands_ns == 0)
		log_warn(target->machine.name,
			"sysUpTime stands still: a restart of the device is seen only when its "
			"counters go back");
	target->machine.state.uptime_stands_ns = stands_ns;
}

struct poll_head { /* of the device, in the answer to ask_head() */
	uint64_t interfaces, table_changed, neighbors_changed;
};

static void head_read(
	struct snmp_target *target, const struct snmp_answer *answer, struct poll_head *ret)
{
	const struct snmp_oid lldp_last_change = {snmp_lldp_last_change, snmp_lldp_last_change_n};
	*ret = (struct poll_head){
		target->interfaces, target->table_changed, target->neighbors_changed};
	for (size_t i = 0; i < answer->n; i++) {
		const struct snmp_varbind *v = &answer->v[i];
		if (!snmp_type_is_number(v->type))
			continue;
		if (snmp_oid_order(v->oid, OID(sys_uptime)) == 0)
			uptime_take(target, (uint32_t)v->number);
		else if (snmp_oid_order(v->oid, OID(if_number)) == 0)
			ret->interfaces = v->number;
		else if (snmp_oid_order(v->oid, OID(if_table_last_change)) == 0)
			ret->table_changed = v->number;
		else if (snmp_oid_order(v->oid, lldp_last_change) == 0)
			ret->neighbors_changed = v->number;
		else if (target->machine.profile->cell_oid.n)
			snmp_decode_cell_reported(target->decoder, v->number);
	}
}

/* slow_is_due - shall this poll read the slow tables, too? */
static bool slow_is_due(const struct snmp_target *target, const struct poll_head *head)
{
	const int64_t now = loop_now(target->machine.loop).ns;
	/* 1. it is time, or the device restarted */
	if (now >= target->next_slow_ns || target->restarted)
		return true;
	/* 2. interfaces came, went or changed */
	if (head->interfaces != target->interfaces || head->table_changed != target->table_changed)
		return true;
	/* 3. rows came about ports without a name */
	return snmp_decode_stats(target->decoder)->unknown_ports != target->unknown_ports &&
		now >= target->names_read_ns + NAMES_AGAIN_NS;
}

static void walks_begin(struct snmp_target *target)
{
	for (size_t i = 0; i < target->n_walks; i++) {
		struct walk *w = &target->walks[i];
		w->done = w->table->cadence == CADENCE_SLOW && !target->slow;
		if (w->table->cadence == CADENCE_BACKGROUND) {
			snmp_walk_begin_background(target, w);
			continue;
		}
		if (target->slow) { /* ask for all columns again: empty ones may have values now */
			memset(w->want, true, w->table->n_columns * sizeof(*w->want));
			w->n_want = w->table->n_columns;
		}
		if (!w->done)
			snmp_rows_begin(w->rows, w->want);
	}
	snmp_walk_drop_background(target);
	target->walk = 0;
}

static void head_take(struct snmp_target *target, const struct snmp_answer *answer)
{
	struct poll_head head;
	head_read(target, answer, &head);
	target->slow = slow_is_due(target, &head);
	target->neighbors = target->machine.sink.neighbors &&
		(target->slow || head.neighbors_changed != target->neighbors_changed);
	target->interfaces = head.interfaces;
	target->table_changed = head.table_changed;
	target->neighbors_changed = head.neighbors_changed;
	walks_begin(target);
	target->phase = PHASE_SLOW;
	if (target->neighbors) {
		snmp_lldp_begin(target->lldp);
		target->phase = PHASE_LLDP;
	}
	walk_ask(target);
}

static void ident_take(struct snmp_target *target, const struct snmp_answer *answer)
{
	struct snmp_oid object = {0};
	char descr[TEXT_MAX] = "", name[TEXT_MAX] = "";
	for (size_t i = 0; i < answer->n; i++) {
		const struct snmp_varbind *v = &answer->v[i];
		if (v->type == SNMP_OBJECT_ID && snmp_oid_order(v->oid, OID(sys_object_id)) == 0)
			object = v->object;
		else if (v->type == SNMP_STRING && snmp_oid_order(v->oid, OID(sys_descr)) == 0)
			snmp_text_clean(descr, sizeof(descr), v->bytes, v->n_bytes);
		else if (v->type == SNMP_STRING && snmp_oid_order(v->oid, OID(sys_name)) == 0)
			snmp_text_clean(name, sizeof(name), v->bytes, v->n_bytes);
	}
	const char *wanted = target->machine.device->profile;
	const struct profile *p;
	if (wanted && !str_eq(wanted, "auto"))
		p = profiles_get(target->machine.set->profiles, wanted);
	else
		p = profiles_match(target->machine.set->profiles, object.v, object.n, descr);
	assert(p); /* a named one was looked up by snmp_target_new, and generic always matches */
	profile_set(target, p);
	free(target->sysname);
	target->sysname = rw_strdup(name);
	target->machine.sink.device(
		target->machine.sink.arg, target->machine.name, p->name, name, descr);
	target->next_slow_ns = 0;
	snmp_poll_begin(target);
}

/* ---- answers ------------------------------------------------------------- */

/* RFC 3416 section 3 */
enum { PDU_TOO_BIG = 1, PDU_NO_SUCH_NAME = 2, PDU_GEN_ERR = 5 };

/* snmp_poll_refusal - in words; NULL for what SNMPv1 says at the end of every table. */
static const char *snmp_poll_refusal(int error_status)
{
	switch (error_status) {
	case PDU_NO_SUCH_NAME: return NULL;
	case PDU_TOO_BIG: return "the error tooBig, even when asked for one row";
	case PDU_GEN_ERR: return "the error genErr: a fault in the agent";
	default: return "an error that SNMP does not define there";
	}
}

/* walk_error - the agent refused a request of a table: smaller, or without the column it names, or
 * without this table. */
static void walk_error(
	struct snmp_target *target, struct walk *walk, const struct snmp_answer *answer)
{
	if (answer->error_status == PDU_TOO_BIG && target->machine.state.max_repetitions > 1) {
		target->machine.state.max_repetitions /= 2;
		return;
	}
	target->trouble = snmp_poll_refusal(answer->error_status);
	/* 1 is sysUpTime */
	if (answer->error_index >= 2 &&
		snmp_rows_refuse(walk->rows, (size_t)answer->error_index - 2))
		return;
	target->machine.state.errors++;
	walk->done = true;
}

static void lldp_take(struct snmp_target *target, const struct snmp_answer *answer)
{
	size_t n_values = answer->n; /* without sysUpTime */
	if (n_values > 0)
		n_values--;
	if (answer->error_status == PDU_TOO_BIG && target->machine.state.max_repetitions > 1)
		target->machine.state.max_repetitions /= 2;
	else if (answer->error_status == PDU_NO_SUCH_NAME && answer->error_index >= 2)
		snmp_lldp_refuse(target->lldp, (size_t)answer->error_index - 2);
	else if (answer->error_status != 0)
		/* of all tables the least needed: the poll goes on without it */
		snmp_lldp_skip(target->lldp);
	else
		snmp_lldp_take(target->lldp, answer->v + 1, n_values);
	walk_paced(target, answer->n);
}

static void walk_take(struct snmp_target *target, const struct snmp_answer *answer)
{
	if (target->phase == PHASE_LLDP) {
		lldp_take(target, answer);
		return;
	}
	struct walk *w = &target->walks[target->walk];
	if (answer->error_status != 0) {
		walk_error(target, w, answer);
		walk_paced(target, answer->n);
		return;
	}
	if (answer->n > 0 && snmp_type_is_number(answer->v[0].type) &&
		snmp_oid_order(answer->v[0].oid, OID(sys_uptime)) == 0)
		uptime_take(target, (uint32_t)answer->v[0].number);
	if (answer->n == 0 || !snmp_rows_take(w->rows, answer->v + 1, answer->n - 1)) {
		target->machine.state.errors++;
		if (answer->n == 0)
			target->trouble = "no values";
		else
			target->trouble = "objects that were not asked for, or the same ones again";
		w->done = true; /* asking the same again would not end */
	}
	walk_paced(target, answer->n);
}

/* snmp_poll_failed - the session ends because of this answer, or of its absence. */
static void snmp_poll_failed(struct snmp_target *target, const struct snmp_answer *answer)
{
	struct reason reason;
	if (answer->status == SNMP_IO_TIMEOUT)
		target->machine.state.timeouts++;
	else
		target->machine.state.errors++;
	snmp_reason(target, answer, &reason);
	target_lost_for(&target->machine, &reason);
}

/* walk_give_up - no answer about a background table: the switch is as reachable as before, and its
 * counters are here. The table waits for the next time that it is due. */
static void walk_give_up(struct snmp_target *target)
{
	struct walk *walk = &target->walks[target->walk];
	target->machine.state.timeouts++;
	log_info(target->machine.name,
		"snmp: no answer to a request of table %s: it is left out until the names are read "
		"again",
		walk->table->name);
	walk->done = true;
	walk->under_way = false;
	walk_ask(target);
}

void snmp_poll_answer(void *arg, const struct snmp_answer *answer)
{
	struct snmp_target *t = arg;
	t->machine.state.varbinds += answer->n;
	if (t->phase == PHASE_NONE)
		return; /* the deadline was faster */
	if (answer->status == SNMP_IO_TIMEOUT && t->phase == PHASE_BACK) {
		walk_give_up(t);
		return;
	}
	if (answer->status == SNMP_IO_TIMEOUT && t->phase > PHASE_HEAD &&
		t->machine.state.max_repetitions > 1) {
		/* it answered the head just now: the big answer is what gets lost */
		t->machine.state.timeouts++;
		t->machine.state.max_repetitions /= 2;
		log_info(t->machine.name,
			"snmp: no answer to a request of table %s: max-repetitions now %u",
			table_name(t), t->machine.state.max_repetitions);
		walk_ask(t);
		return;
	}
	if (answer->status != SNMP_IO_OK || (t->phase <= PHASE_HEAD && answer->error_status != 0)) {
		snmp_poll_failed(t, answer);
		return;
	}
	switch (t->phase) {
	case PHASE_IDENT: ident_take(t, answer); break;
	case PHASE_HEAD: head_take(t, answer); break;
	default: walk_take(t, answer);
	}
}
