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
 *   4. the rows of all tables become samples with one time: the middle of step 3.
 * One request is in flight at a time. Nothing blocks; every wait has a timer; a poll that passes
 * its deadline is dropped.
 */
#include "collectors/snmp/snmp_target.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/loop.h"
#include "agent/base/str.h"
#include "db/model/metric.h"

#define COLUMNS_PER_REQUEST 16
#define VARBINDS_PER_REQUEST 120 /* about 3 kB: two fragments at 1500 bytes */
#define NARROW_COLUMNS                                                                             \
	2 /* so few columns take twice the repetitions: the answer is still a small one */
#define NAMES_AGAIN_NS                                                                             \
	(60 * NS_PER_S) /* at most this often for rows about ports without a name                  \
			 */
#define UPTIME_SLACK_NS (10 * NS_PER_S) /* agents cache and round sysUpTime */
#define TICK_NS (10 * NS_PER_MS) /* TimeTicks */
#define TEXT_MAX 256

static const uint32_t sys_descr[] = {1, 3, 6, 1, 2, 1, 1, 1, 0};
static const uint32_t sys_object_id[] = {1, 3, 6, 1, 2, 1, 1, 2, 0};
static const uint32_t sys_uptime[] = {1, 3, 6, 1, 2, 1, 1, 3, 0};
static const uint32_t sys_name[] = {1, 3, 6, 1, 2, 1, 1, 5, 0};
static const uint32_t if_number[] = {1, 3, 6, 1, 2, 1, 2, 1, 0};
static const uint32_t if_table_last_change[] = {1, 3, 6, 1, 2, 1, 31, 1, 5, 0};
#define OID(a) ((struct snmp_oid){(a), rw_countof(a)})

static int64_t deadline_of(const struct snmp_target *t)
{
	const struct config_snmp *s = t->device->snmp;
	return s->deadline_ns ? s->deadline_ns : s->interval_ns + s->timeout_ns * (s->retries + 1);
}

static const char *table_name(const struct snmp_target *t)
{
	return t->phase == PHASE_LLDP  ? "lldp"
		: t->walk < t->n_walks ? t->walks[t->walk].table->name
				       : "-";
}

void snmp_poll_profile_free(struct snmp_target *t)
{
	for (size_t i = 0; i < t->n_walks; i++) {
		snmp_rows_free(t->walks[i].rows);
		free(t->walks[i].want);
	}
	free(t->walks);
	t->walks = NULL;
	t->n_walks = 0;
	snmp_decoder_free(t->decoder);
	t->decoder = NULL;
}

static void profile_set(struct snmp_target *t, const struct profile *p)
{
	if (t->profile == p)
		return;
	snmp_poll_profile_free(t);
	t->profile = p;
	t->decoder = snmp_decoder_new(t->entities, t->name, p);
	snmp_decode_cell_assumed(t->decoder, snmp_target_cell_bytes(t->device, t->config));
	t->walks = rw_calloc(p->n_tables ? p->n_tables : 1, sizeof(*t->walks));
	t->n_walks = p->n_tables;
	for (size_t i = 0; i < t->n_walks; i++) {
		const struct profile_table *table = p->tables[i];
		struct snmp_oid columns[PROFILE_COLUMNS_MAX];
		for (size_t k = 0; k < table->n_columns; k++)
			columns[k] = (struct snmp_oid){table->columns[k].v, table->columns[k].n};
		t->walks[i] = (struct walk){.table = table,
			.rows = snmp_rows_new(columns, table->n_columns),
			.want = rw_calloc(table->n_columns, sizeof(bool))};
	}
	t->next_slow_ns = 0;
	t->unknown_ports = 0;
}

/* ---- requests ------------------------------------------------------------ */

static void request(struct snmp_target *t, enum snmp_request what, const struct snmp_oid *oids,
	size_t n, int non_repeaters, int repetitions)
{
	int rc = snmp_io_send(t->io, what, oids, n, non_repeaters, repetitions);
	if (rc < 0) {
		t->state.errors++;
		snmp_target_lost(t, "%s: cannot send: %s", snmp_io_peer(t->io), strerror(-rc));
	}
}

void snmp_poll_identify(struct snmp_target *t)
{
	const struct snmp_oid oids[] = {
		OID(sys_uptime), OID(sys_object_id), OID(sys_descr), OID(sys_name)};
	t->phase = PHASE_IDENT;
	request(t, SNMP_GET, oids, rw_countof(oids), 0, 0);
}

static void ask_head(struct snmp_target *t)
{
	struct snmp_oid oids[5] = {OID(sys_uptime), OID(if_number)};
	size_t n = 2;
	/* in v1 one missing object spoils the whole answer */
	if (t->device->snmp->credential->snmp->version != 1) {
		oids[n++] = OID(if_table_last_change);
		if (t->sink.neighbors)
			oids[n++] =
				(struct snmp_oid){snmp_lldp_last_change, snmp_lldp_last_change_n};
		if (t->profile->cell_oid.n)
			oids[n++] =
				(struct snmp_oid){t->profile->cell_oid.v, t->profile->cell_oid.n};
	}
	t->phase = PHASE_HEAD;
	request(t, SNMP_GET, oids, n, 0, 0);
}

static void poll_finish(struct snmp_target *t);

/* rows_ask - @oids[1..n]; sysUpTime rides along. */
static void rows_ask(struct snmp_target *t, struct snmp_oid *oids, size_t n)
{
	unsigned repetitions = VARBINDS_PER_REQUEST / (unsigned)n;
	unsigned most = n <= NARROW_COLUMNS ? t->repetitions * 2 : t->repetitions;
	if (repetitions > most)
		repetitions = most;
	bool v1 = t->device->snmp->credential->snmp->version == 1;
	oids[0] = OID(sys_uptime);
	oids[0].n--; /* GETNEXT of sysUpTime without its instance */
	request(t, v1 ? SNMP_GETNEXT : SNMP_GETBULK, oids, n + 1, 1,
		(int)(repetitions ? repetitions : 1));
}

/* walk_ask - the next wanted table of this phase, or the next phase, or the end. */
static void walk_ask(struct snmp_target *t)
{
	struct snmp_oid oids[1 + COLUMNS_PER_REQUEST];
	if (t->phase == PHASE_LLDP) {
		size_t n = snmp_lldp_next(t->lldp, oids + 1, COLUMNS_PER_REQUEST);
		if (n > 0) {
			rows_ask(t, oids, n);
			return;
		}
		t->phase = PHASE_SLOW;
	}
	for (;;) {
		enum profile_cadence cadence = t->phase == PHASE_SLOW ? CADENCE_SLOW : CADENCE_FAST;
		for (; t->walk < t->n_walks; t->walk++) {
			struct walk *w = &t->walks[t->walk];
			if (w->table->cadence != cadence || w->done || w->n_want == 0)
				continue;
			size_t n = snmp_rows_next(w->rows, oids + 1, COLUMNS_PER_REQUEST);
			if (n == 0) {
				w->done = true;
				continue;
			}
			rows_ask(t, oids, n);
			return;
		}
		if (t->phase == PHASE_FAST) {
			poll_finish(t);
			return;
		}
		t->phase = PHASE_FAST;
		t->walk = 0;
		t->fast_began = wall_now();
	}
}

void snmp_poll_pace(void *arg)
{
	walk_ask(arg);
}

/* walk_paced - as walk_ask, but not faster than the device's max_varbinds_s. */
static void walk_paced(struct snmp_target *t, size_t varbinds)
{
	uint64_t limit = t->device->snmp->max_varbinds_s;
	int64_t now = loop_now(t->loop).ns;
	if (limit) {
		if (t->pace_until_ns < now)
			t->pace_until_ns = now;
		t->pace_until_ns += (int64_t)(varbinds * (uint64_t)NS_PER_S / limit);
	}
	if (limit && t->pace_until_ns > now + NS_PER_MS)
		loop_timer_start(t->pace, t->pace_until_ns - now, 0);
	else
		walk_ask(t);
}

/* ---- poll ---------------------------------------------------------------- */

void snmp_poll_deadline(void *arg)
{
	struct snmp_target *t = arg;
	char took[32];
	t->state.timeouts++;
	if (t->repetitions > 1 && t->phase > PHASE_HEAD)
		t->repetitions /= 2;
	snmp_target_lost(t,
		"%s: answers, but a poll takes longer than its deadline of %s (at table %s): raise "
		"snmp.deadline or interval, or poll less",
		snmp_io_peer(t->io), unit_duration_text(took, sizeof(took), deadline_of(t)),
		table_name(t));
}

void snmp_poll_begin(struct snmp_target *t)
{
	t->poll_began = loop_now(t->loop);
	t->state.interval_ns = snmp_target_interval(t);
	t->restarted = false;
	t->trouble = NULL;
	loop_timer_start(t->deadline, deadline_of(t), 0);
	ask_head(t);
}

/* uptime_take - every answer carries it. A restart is a clock that went back, or that is behind
 * where it should be by now; a TimeTicks counter that wrapped after 497 days is neither. */
static void uptime_take(struct snmp_target *t, uint32_t ticks)
{
	mono_t now = loop_now(t->loop);
	if (t->has_uptime) {
		int64_t elapsed = now.ns - t->uptime_at.ns;
		uint32_t expected = t->uptime + (uint32_t)(elapsed / TICK_NS);
		int64_t slack = UPTIME_SLACK_NS + elapsed / 50;
		int32_t ahead = (int32_t)(ticks - expected);
		bool back = ticks < t->uptime && (int64_t)(t->uptime - ticks) < INT32_MAX;
		if (back || (int64_t)ahead * TICK_NS < -slack)
			t->restarted = true;
	}
	t->has_uptime = true;
	t->uptime = ticks;
	t->uptime_at = now;
}

static void head_take(struct snmp_target *t, const struct snmp_answer *a)
{
	uint64_t interfaces = t->interfaces, changed = t->table_changed,
		 neighbors_changed = t->neighbors_changed;
	for (size_t i = 0; i < a->n; i++) {
		const struct snmp_varbind *v = &a->v[i];
		if (!snmp_type_is_number(v->type))
			continue;
		if (snmp_oid_order(v->oid, OID(sys_uptime)) == 0)
			uptime_take(t, (uint32_t)v->number);
		else if (snmp_oid_order(v->oid, OID(if_number)) == 0)
			interfaces = v->number;
		else if (snmp_oid_order(v->oid, OID(if_table_last_change)) == 0)
			changed = v->number;
		else if (snmp_oid_order(v->oid,
				 (struct snmp_oid){
					 snmp_lldp_last_change, snmp_lldp_last_change_n}) == 0)
			neighbors_changed = v->number;
		else if (t->profile->cell_oid.n)
			snmp_decode_cell_told(t->decoder, v->number);
	}
	int64_t now = loop_now(t->loop).ns;
	uint64_t unknown = snmp_decode_stats(t->decoder)->unknown_ports;
	t->slow = now >= t->next_slow_ns || interfaces != t->interfaces ||
		changed != t->table_changed || t->restarted ||
		(unknown != t->unknown_ports && now >= t->names_read_ns + NAMES_AGAIN_NS);
	t->interfaces = interfaces;
	t->table_changed = changed;
	t->neighbors = t->sink.neighbors && (t->slow || neighbors_changed != t->neighbors_changed);
	t->neighbors_changed = neighbors_changed;
	if (t->neighbors)
		snmp_lldp_begin(t->lldp);
	for (size_t i = 0; i < t->n_walks; i++) {
		struct walk *w = &t->walks[i];
		w->done = w->table->cadence == CADENCE_SLOW && !t->slow;
		if (t->slow) { /* ask for everything again: what was empty may have come */
			memset(w->want, true, w->table->n_columns * sizeof(*w->want));
			w->n_want = w->table->n_columns;
		}
		if (!w->done)
			snmp_rows_begin(w->rows, w->want);
	}
	t->walk = 0;
	t->phase = t->neighbors ? PHASE_LLDP : PHASE_SLOW;
	walk_ask(t);
}

static void ports_tell(struct snmp_target *t)
{
	for (size_t i = 0; i < snmp_decode_port_count(t->decoder); i++) {
		const struct snmp_port *p = snmp_decode_port(t->decoder, i);
		if (p->changed)
			t->sink.port(t->sink.arg, t->name, p->name, p->alias, p->speed_bps);
	}
	snmp_decode_ports_told(t->decoder);
}

/* walk_news - is this reading of a fast table a new one, or the agent's cache once more? */
static bool walk_news(struct snmp_target *t, struct walk *w)
{
	int64_t before = w->refresh.period_ns;
	bool news = snmp_refresh_take(
		&w->refresh, snmp_rows_digest(w->rows), t->poll_began.ns, snmp_target_interval(t));
	char every[32];
	if (before == 0 && w->refresh.period_ns != 0)
		log_info(t->name,
			"snmp: the agent refreshes table %s about every %s only: readings in "
			"between are not used",
			w->table->name,
			duration_format(every, sizeof(every), w->refresh.period_ns));
	return news || t->slow || t->restarted;
}

/* decode - all tables of this poll, which took place at @t_ns, into t->samples. False when no table
 * had a row. */
static bool decode(struct snmp_target *t, int64_t t_ns)
{
	bool rows = false;
	t->samples.n = 0;
	snmp_decode_begin(t->decoder);
	snmp_decode_time(t->decoder, t_ns);
	if (t->slow) {
		for (size_t i = 0; i < t->n_walks; i++)
			if (t->walks[i].table->cadence == CADENCE_SLOW)
				snmp_decode_names(t->decoder, t->walks[i].table, t->walks[i].rows);
		if (snmp_decode_ports(t->decoder))
			ports_tell(t);
		t->names_read_ns = t->poll_began.ns;
		t->next_slow_ns = t->poll_began.ns +
			snmp_target_jittered(t, t->device->snmp->slow_interval_ns);
	}
	for (int cadence = CADENCE_FAST; cadence <= CADENCE_SLOW; cadence++)
		for (size_t i = 0; i < t->n_walks; i++) {
			struct walk *w = &t->walks[i];
			if ((int)w->table->cadence != cadence || w->n_want == 0 ||
				(cadence == CADENCE_SLOW && !t->slow))
				continue;
			rows = rows || snmp_rows_count(w->rows) > 0;
			if (cadence == CADENCE_FAST && !walk_news(t, w))
				continue;
			snmp_decode_table(t->decoder, w->table, w->rows, t->restarted, &t->samples);
			if (t->slow)
				w->n_want = snmp_decode_needed(w->table, w->rows, w->want);
		}
	if (t->slow)
		snmp_decode_cell(t->decoder, &t->samples);
	t->unknown_ports = snmp_decode_stats(t->decoder)->unknown_ports;
	return rows;
}

/* neighbors_tell - after the names: neighbours are told by the names the house uses. */
static void neighbors_tell(struct snmp_target *t)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	size_t n = snmp_decode_port_count(t->decoder);
	struct topology_port *ports = arena_array(a, struct topology_port, n + 1);
	struct topology_device self;
	struct topology_neighbor *heard;
	for (size_t i = 0; i < n; i++) {
		const struct snmp_port *p = snmp_decode_port(t->decoder, i);
		ports[i] = (struct topology_port){.name = p->name,
			.alias = p->alias,
			.ifindex = p->ifindex,
			.speed_bps = p->speed_bps};
	}
	size_t n_heard = snmp_lldp_result(
		t->lldp, a, t->name, t->sysname ? t->sysname : "", ports, n, &self, &heard);
	t->sink.neighbors(t->sink.arg, &self, heard, n_heard);
}

/* samples_tell - one poll, one time. */
static void samples_tell(struct snmp_target *t, int64_t t_ns)
{
	if (t->samples.n == 0)
		return; /* the agent's cache, whole */
	for (size_t i = 0; i < t->samples.n; i++)
		t->samples.v[i].t_ns = t_ns;
	t->state.values += t->samples.n;
	t->sink.samples(t->sink.arg, t->samples.v, t->samples.n);
}

static void poll_finish(struct snmp_target *t)
{
	mono_t now = loop_now(t->loop);
	wall_t wall = wall_now();
	loop_timer_stop(t->deadline);
	t->phase = PHASE_NONE;
	t->failures = 0;
	int64_t t_ns = t->fast_began.ns + (wall.ns - t->fast_began.ns) / 2;
	bool rows = decode(t, t_ns);
	t->state.suspects = snmp_decode_stats(t->decoder)->suspects;
	if (t->restarted && t->sink.event)
		t->sink.event(t->sink.arg, wall.ns, "device_restart", t->name, NULL,
			"sysUpTime went back: the agent or the device restarted");
	if (!rows) {
		t->state.errors++;
		if (t->trouble)
			snmp_target_lost(t,
				"%s: answers, but its tables cannot be read: the last answer had "
				"in it %s. Restart or update the agent",
				snmp_io_peer(t->io), t->trouble);
		else
			snmp_target_lost(t,
				"%s: answers, but the profile '%s' finds nothing there: the "
				"agent's view may hide the tables. Try: rocewatch profile test %s",
				snmp_io_peer(t->io), t->profile->name, t->name);
		return;
	}
	samples_tell(t, t_ns);
	if (t->neighbors)
		neighbors_tell(t);
	t->state.interval_ns = snmp_target_interval(t);
	target_polled(&t->state, (double)(now.ns - t->poll_began.ns) / NS_PER_S, wall);
	target_change(&t->state, TARGET_UP, now, wall, NULL);
	int64_t next = t->poll_began.ns + snmp_target_jittered(t, snmp_target_interval(t)) - now.ns;
	loop_timer_start(t->timer, next > NS_PER_MS ? next : NS_PER_MS, 0);
	snmp_target_told(t);
}

static void ident_take(struct snmp_target *t, const struct snmp_answer *a)
{
	struct snmp_oid object = {0};
	char descr[TEXT_MAX] = "", name[TEXT_MAX] = "";
	for (size_t i = 0; i < a->n; i++) {
		const struct snmp_varbind *v = &a->v[i];
		if (v->type == SNMP_OBJECT_ID && snmp_oid_order(v->oid, OID(sys_object_id)) == 0)
			object = v->object;
		else if (v->type == SNMP_STRING && snmp_oid_order(v->oid, OID(sys_descr)) == 0)
			snmp_text_clean(descr, sizeof(descr), v->bytes, v->n_bytes);
		else if (v->type == SNMP_STRING && snmp_oid_order(v->oid, OID(sys_name)) == 0)
			snmp_text_clean(name, sizeof(name), v->bytes, v->n_bytes);
	}
	const char *wanted = t->device->profile;
	const struct profile *p = wanted && !str_eq(wanted, "auto")
		? profiles_get(t->set->profiles, wanted)
		: profiles_match(t->set->profiles, object.v, object.n, descr);
	assert(p); /* a named one was looked up by snmp_target_new, and generic always matches */
	profile_set(t, p);
	free(t->sysname);
	t->sysname = rw_strdup(name);
	t->sink.device(t->sink.arg, t->name, p->name, name, descr);
	t->next_slow_ns = 0;
	snmp_poll_begin(t);
}

/* ---- answers ------------------------------------------------------------- */

/* RFC 3416 section 3 */
enum { PDU_TOO_BIG = 1, PDU_NO_SUCH_NAME = 2, PDU_GEN_ERR = 5 };

/* refusal - in words; NULL for what SNMPv1 says at the end of every table. */
static const char *refusal(int error_status)
{
	switch (error_status) {
	case PDU_NO_SUCH_NAME: return NULL;
	case PDU_TOO_BIG: return "the error tooBig, even when asked for one row";
	case PDU_GEN_ERR: return "the error genErr: a fault in the agent";
	default: return "an error that SNMP does not have there";
	}
}

/* walk_error - the agent refused a request of a table: smaller, or without the column it names, or
 * without this table. */
static void walk_error(struct snmp_target *t, struct walk *w, const struct snmp_answer *a)
{
	if (a->error_status == PDU_TOO_BIG && t->repetitions > 1) {
		t->repetitions /= 2;
		return;
	}
	t->trouble = refusal(a->error_status);
	/* 1 is sysUpTime */
	if (a->error_index >= 2 && snmp_rows_refuse(w->rows, (size_t)a->error_index - 2))
		return;
	t->state.errors++;
	w->done = true;
}

static void lldp_take(struct snmp_target *t, const struct snmp_answer *a)
{
	if (a->error_status == PDU_TOO_BIG && t->repetitions > 1)
		t->repetitions /= 2;
	else if (a->error_status == PDU_NO_SUCH_NAME && a->error_index >= 2)
		snmp_lldp_refuse(t->lldp, (size_t)a->error_index - 2);
	else if (a->error_status != 0)
		/* of all tables the least needed: the poll goes on without it */
		snmp_lldp_skip(t->lldp);
	else
		snmp_lldp_take(t->lldp, a->v + 1, a->n ? a->n - 1 : 0);
	walk_paced(t, a->n);
}

static void walk_take(struct snmp_target *t, const struct snmp_answer *a)
{
	if (t->phase == PHASE_LLDP) {
		lldp_take(t, a);
		return;
	}
	struct walk *w = &t->walks[t->walk];
	if (a->error_status != 0) {
		walk_error(t, w, a);
		walk_paced(t, a->n);
		return;
	}
	if (a->n > 0 && snmp_type_is_number(a->v[0].type) &&
		snmp_oid_order(a->v[0].oid, OID(sys_uptime)) == 0)
		uptime_take(t, (uint32_t)a->v[0].number);
	if (a->n == 0 || !snmp_rows_take(w->rows, a->v + 1, a->n - 1)) {
		t->state.errors++;
		t->trouble = a->n == 0 ? "nothing"
				       : "objects that were not asked for, or the same ones again";
		w->done = true; /* an answer that brings nothing would be asked for ever */
	}
	walk_paced(t, a->n);
}

void snmp_poll_answer(void *arg, const struct snmp_answer *a)
{
	struct snmp_target *t = arg;
	t->state.varbinds += a->n;
	if (t->phase == PHASE_NONE)
		return; /* the deadline was faster */
	if (a->status == SNMP_IO_TIMEOUT && t->phase > PHASE_HEAD && t->repetitions > 1) {
		/* it answered the head just now: the big answer is what gets lost */
		t->state.timeouts++;
		t->repetitions /= 2;
		log_info(t->name,
			"snmp: no answer to a request of table %s: max-repetitions now %u",
			table_name(t), t->repetitions);
		walk_ask(t);
		return;
	}
	if (a->status != SNMP_IO_OK || (t->phase <= PHASE_HEAD && a->error_status != 0)) {
		snmp_target_lost_by(t, a);
		return;
	}
	switch (t->phase) {
	case PHASE_IDENT: ident_take(t, a); break;
	case PHASE_HEAD: head_take(t, a); break;
	default: walk_take(t, a);
	}
}
