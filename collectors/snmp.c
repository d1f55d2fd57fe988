/*
 * snmp - one device, polled by its profile.
 *
 * A session begins with one GET (who are you: sysObjectID, sysDescr, sysName) that chooses the profile. A poll is
 *   1. HEAD: GET sysUpTime, ifNumber, ifTableLastChange. Small, so that silence here means silence and not a lost big answer.
 *   2. neighbours and the slow tables, when they are due or the head says that the interfaces changed;
 *   3. the fast tables; sysUpTime rides along in each request, so a restart in the middle is seen;
 *   4. the rows of all tables become samples with one time: the middle of step 3.
 * One request is in flight at a time. Nothing blocks; every wait has a timer; a poll that passes its deadline is dropped.
 */
#include "collectors/snmp.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/loop.h"
#include "agent/base/map.h"
#include "agent/base/str.h"
#include "collectors/snmp_decode.h"
#include "collectors/snmp_io.h"
#include "collectors/snmp_lldp.h"
#include "config/profile.h"
#include "db/metric.h"

#define REPETITIONS_FIRST 25
#define COLUMNS_PER_REQUEST 16
#define VARBINDS_PER_REQUEST 120     /* about 3 kB: two fragments at 1500 bytes */
#define BACKOFF_INTERVALS 3          /* a short outage must not become a long one */
#define NAMES_AGAIN_NS (60 * NS_PER_S) /* at most this often for rows about ports without a name */
#define UPTIME_SLACK_NS (10 * NS_PER_S) /* agents cache and round sysUpTime */
#define TICK_NS (10 * NS_PER_MS)     /* TimeTicks */
#define TEXT_MAX 256

static const uint32_t sys_descr[] = {1, 3, 6, 1, 2, 1, 1, 1, 0};
static const uint32_t sys_object_id[] = {1, 3, 6, 1, 2, 1, 1, 2, 0};
static const uint32_t sys_uptime[] = {1, 3, 6, 1, 2, 1, 1, 3, 0};
static const uint32_t sys_name[] = {1, 3, 6, 1, 2, 1, 1, 5, 0};
static const uint32_t if_number[] = {1, 3, 6, 1, 2, 1, 2, 1, 0};
static const uint32_t if_table_last_change[] = {1, 3, 6, 1, 2, 1, 31, 1, 5, 0};
#define OID(a) ((struct snmp_oid){(a), rw_countof(a)})

enum phase { PHASE_NONE, PHASE_IDENT, PHASE_HEAD, PHASE_LLDP, PHASE_SLOW, PHASE_FAST };

struct walk { /* one table of the profile */
	const struct profile_table *table;
	struct snmp_rows *rows;
	bool *want;
	size_t n_want;
	bool done; /* in this poll */
};

struct profile_set { /* shared by the targets of one configuration */
	const struct config *config;
	struct profiles *profiles;
	size_t refs;
};

struct snmp_target {
	struct loop *loop;
	struct entities *entities;
	struct sink sink;
	const struct config_device *device;
	const struct config *config;
	char *name, *address;
	struct target state;

	struct profile_set *set;
	const struct profile *profile; /* NULL before the device said what it is */
	struct snmp_decoder *decoder;
	struct walk *walks;
	size_t n_walks;

	struct snmp_io *io;
	struct loop_timer *timer;    /* next poll or next try */
	struct loop_timer *deadline; /* of the poll under way */
	struct loop_timer *pace;     /* max_varbinds_s */
	uint64_t random;
	unsigned repetitions;
	unsigned failures;           /* in a row */
	int64_t pace_until_ns;

	enum phase phase;
	size_t walk;                 /* index of the one under way */
	bool slow;                   /* this poll reads the slow tables */
	bool restarted;              /* seen in this poll */
	mono_t poll_began;
	wall_t fast_began;
	int64_t next_slow_ns, names_read_ns; /* mono; 0 = at once */
	bool has_uptime;
	uint32_t uptime;             /* ticks, at uptime_at */
	mono_t uptime_at;
	uint64_t interfaces, table_changed, unknown_ports;
	struct sample_list samples;

	struct snmp_lldp *lldp;
	bool neighbors;              /* this poll reads them */
	uint64_t neighbors_changed;  /* lldpStatsRemTablesLastChangeTime */
	char *sysname;
};

void snmp_init(void)
{
	snmp_io_init();
}

/* --- profiles of a configuration ------------------------------------------------------------------------------------------ */

static struct profile_set *newest_set;

static struct profile_set *set_get(const struct config *config, struct err *e)
{
	if (newest_set && newest_set->config == config) {
		newest_set->refs++;
		return newest_set;
	}
	struct err_list errors = {0};
	struct profiles *profiles;
	int rc = profiles_load(config->profile_dir, &profiles, &errors);
	if (rc < 0 && e && errors.n)
		*e = errors.v[0];
	err_list_done(&errors);
	if (rc < 0)
		return NULL;
	struct profile_set *s = rw_calloc(1, sizeof(*s));
	*s = (struct profile_set){.config = config, .profiles = profiles, .refs = 1};
	newest_set = s;
	return s;
}

/* set_same - the same files, word for word? */
static bool set_same(const struct profiles *a, const struct profiles *b)
{
	if (profiles_count(a) != profiles_count(b))
		return false;
	for (size_t i = 0; i < profiles_count(a); i++)
		if (!str_eq(profiles_at(a, i)->text, profiles_at(b, i)->text))
			return false;
	return true;
}

static void set_put(struct profile_set *s)
{
	if (!s || --s->refs > 0)
		return;
	if (newest_set == s)
		newest_set = NULL;
	profiles_free(s->profiles);
	free(s);
}

/* --- small things ----------------------------------------------------------------------------------------------------------- */

/* jittered - @ns +- 10 %, so that a thousand targets do not poll in step. xorshift64: nobody attacks this. */
static int64_t jittered(struct snmp_target *t, int64_t ns)
{
	t->random ^= t->random << 13;
	t->random ^= t->random >> 7;
	t->random ^= t->random << 17;
	return ns - ns / 10 + (int64_t)(t->random % 1024) * (ns / 5) / 1024;
}

static int64_t interval_of(const struct snmp_target *t)
{
	int64_t floor_ns = t->profile ? t->profile->min_interval_ns : 0, ns = t->device->snmp->interval_ns;
	return ns > floor_ns ? ns : floor_ns;
}

static int64_t deadline_of(const struct snmp_target *t)
{
	const struct config_snmp *s = t->device->snmp;
	return s->deadline_ns ? s->deadline_ns : s->interval_ns + s->timeout_ns * (s->retries + 1);
}

static const char *table_name(const struct snmp_target *t)
{
	return t->phase == PHASE_LLDP ? "lldp" : t->walk < t->n_walks ? t->walks[t->walk].table->name : "-";
}

static void told(struct snmp_target *t)
{
	t->sink.target(t->sink.arg, &t->state);
}

static void walks_free(struct snmp_target *t)
{
	for (size_t i = 0; i < t->n_walks; i++) {
		snmp_rows_free(t->walks[i].rows);
		free(t->walks[i].want);
	}
	free(t->walks);
	t->walks = NULL;
	t->n_walks = 0;
}

static void profile_set(struct snmp_target *t, const struct profile *p)
{
	if (t->profile == p)
		return;
	walks_free(t);
	snmp_decoder_free(t->decoder);
	t->profile = p;
	t->decoder = snmp_decoder_new(t->entities, t->name, p);
	t->walks = rw_calloc(p->n_tables ? p->n_tables : 1, sizeof(*t->walks));
	t->n_walks = p->n_tables;
	for (size_t i = 0; i < t->n_walks; i++) {
		const struct profile_table *table = p->tables[i];
		struct snmp_oid columns[PROFILE_COLUMNS_MAX];
		for (size_t k = 0; k < table->n_columns; k++)
			columns[k] = (struct snmp_oid){table->columns[k].v, table->columns[k].n};
		t->walks[i] = (struct walk){.table = table, .rows = snmp_rows_new(columns, table->n_columns),
			.want = rw_calloc(table->n_columns, sizeof(bool))};
	}
	t->next_slow_ns = 0;
	t->unknown_ports = 0;
}

/* --- failure ---------------------------------------------------------------------------------------------------------------- */

static void on_timer(void *arg);

/* lost - this session is over; try again after a pause that grows to three intervals and no further. */
static void lost(struct snmp_target *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void lost(struct snmp_target *t, const char *fmt, ...)
{
	char reason[sizeof(t->state.reason)];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(reason, sizeof(reason), fmt, ap);
	va_end(ap);

	loop_timer_stop(t->deadline);
	loop_timer_stop(t->pace);
	t->phase = PHASE_NONE;
	t->failures++;
	int64_t gap = interval_of(t) * (t->failures < BACKOFF_INTERVALS ? (int64_t)t->failures : BACKOFF_INTERVALS);
	loop_timer_start(t->timer, jittered(t, gap), 0);
	target_change(&t->state, TARGET_BACKOFF, loop_now(t->loop), wall_now(), reason);
	told(t);
}

/* lost_by_report - SNMPv3 engines say what is wrong; the words here say what to look at. */
static void lost_by_report(struct snmp_target *t, enum snmp_report report)
{
	static const char *const words[] = {
		[REPORT_OTHER] = "the SNMPv3 engine refuses requests of user %s without a reason we know",
		[REPORT_SECURITY_LEVEL] = "user %s may not use this security level there: check auth and priv in the credentials and on the agent",
		[REPORT_TIME_WINDOW] = "requests of user %s are outside of the engine's time window: two agents with one engine id, or a clock that jumps",
		[REPORT_USER] = "the agent knows no SNMPv3 user %s: check the name, and that it was created for this engine",
		[REPORT_ENGINE] = "for user %s another engine answers than the one that was discovered: a shared address, or agents with one engine id",
		[REPORT_DIGEST] = "wrong auth password or auth protocol for SNMPv3 user %s",
		[REPORT_DECRYPTION] = "wrong priv password or priv protocol for SNMPv3 user %s",
	};
	char text[sizeof(t->state.reason)];
	const char *user = t->device->snmp->credential->snmp->user, *at = strstr(words[report], "%s");
	snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - words[report]), words[report], user ? user : "", at + 2);
	lost(t, "%s: %s", snmp_io_peer(t->io), text);
}

static void lost_by(struct snmp_target *t, const struct snmp_answer *a)
{
	const struct config_snmp_credential *c = t->device->snmp->credential->snmp;
	const char *peer = snmp_io_peer(t->io);
	int tries = t->device->snmp->retries + 1;
	char timeout[32];
	switch (a->status) {
	case SNMP_IO_TIMEOUT:
		t->state.timeouts++;
		unit_duration_text(timeout, sizeof(timeout), t->device->snmp->timeout_ns);
		if (t->phase != PHASE_IDENT)
			lost(t, "%s: no answer any more, %d tries of %s: the agent, the host or the way to it is gone", peer, tries, timeout);
		else if (c->version != 3)
			lost(t, "%s: no answer, %d tries of %s. SNMP v1/v2c looks the same for a silent host, a wrong community and an access list: check "
				"reachability, the community file, the agent's access list", peer, tries, timeout);
		else if (c->priv)
			lost(t, "%s: the engine was found, but requests of user %s stay unanswered: agents drop a wrong priv password or priv protocol without "
				"a word", peer, c->user);
		else
			lost(t, "%s: the engine was found, but requests of user %s stay unanswered: packets get lost, or an access list is in the way", peer, c->user);
		break;
	case SNMP_IO_REFUSED:
		t->state.errors++;
		lost(t, "%s: connection refused: the host is there, but no SNMP agent listens on this port. Start it, or correct snmp.address", peer);
		break;
	case SNMP_IO_UNREACHABLE:
		t->state.errors++;
		lost(t, "%s: %s: check the route, the firewall and snmp.source", peer, a->detail);
		break;
	case SNMP_IO_REPORT:
		t->state.errors++;
		lost_by_report(t, a->report);
		break;
	default:
		t->state.errors++;
		lost(t, "%s: %s", peer, a->detail);
	}
}

/* --- requests ---------------------------------------------------------------------------------------------------------------- */

static void request(struct snmp_target *t, enum snmp_request what, const struct snmp_oid *oids, size_t n, int non_repeaters, int repetitions)
{
	int rc = snmp_io_send(t->io, what, oids, n, non_repeaters, repetitions);
	if (rc < 0) {
		t->state.errors++;
		lost(t, "%s: cannot send: %s", snmp_io_peer(t->io), strerror(-rc));
	}
}

static void ask_ident(struct snmp_target *t)
{
	const struct snmp_oid oids[] = {OID(sys_uptime), OID(sys_object_id), OID(sys_descr), OID(sys_name)};
	t->phase = PHASE_IDENT;
	request(t, SNMP_GET, oids, rw_countof(oids), 0, 0);
}

static void ask_head(struct snmp_target *t)
{
	struct snmp_oid oids[5] = {OID(sys_uptime), OID(if_number)};
	size_t n = 2;
	if (t->device->snmp->credential->snmp->version != 1) { /* in v1 one missing object spoils the whole answer */
		oids[n++] = OID(if_table_last_change);
		if (t->sink.neighbors)
			oids[n++] = (struct snmp_oid){snmp_lldp_last_change, snmp_lldp_last_change_n};
		if (t->profile->cell_oid.n)
			oids[n++] = (struct snmp_oid){t->profile->cell_oid.v, t->profile->cell_oid.n};
	}
	t->phase = PHASE_HEAD;
	request(t, SNMP_GET, oids, n, 0, 0);
}

static void poll_finish(struct snmp_target *t);

/* rows_ask - @oids[1..n]; sysUpTime rides along. */
static void rows_ask(struct snmp_target *t, struct snmp_oid *oids, size_t n)
{
	unsigned repetitions = VARBINDS_PER_REQUEST / (unsigned)n;
	if (repetitions > t->repetitions)
		repetitions = t->repetitions;
	bool v1 = t->device->snmp->credential->snmp->version == 1;
	oids[0] = OID(sys_uptime);
	oids[0].n--; /* GETNEXT of sysUpTime without its instance */
	request(t, v1 ? SNMP_GETNEXT : SNMP_GETBULK, oids, n + 1, 1, (int)(repetitions ? repetitions : 1));
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

static void on_pace(void *arg)
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

/* --- poll ---------------------------------------------------------------------------------------------------------------------- */

static void on_deadline(void *arg)
{
	struct snmp_target *t = arg;
	char took[32];
	t->state.timeouts++;
	if (t->repetitions > 1 && t->phase > PHASE_HEAD)
		t->repetitions /= 2;
	lost(t, "%s: answers, but a poll takes longer than its deadline of %s (at table %s): raise snmp.deadline or interval, or poll less",
		snmp_io_peer(t->io), unit_duration_text(took, sizeof(took), deadline_of(t)),
		table_name(t));
}

static void poll_begin(struct snmp_target *t)
{
	t->poll_began = loop_now(t->loop);
	t->restarted = false;
	loop_timer_start(t->deadline, deadline_of(t), 0);
	ask_head(t);
}

/* uptime_take - every answer carries it. A restart is a clock that went back, or that is behind where it should be by now; a TimeTicks
 * counter that wrapped after 497 days is neither. */
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
	uint64_t interfaces = t->interfaces, changed = t->table_changed, neighbors_changed = t->neighbors_changed;
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
		else if (snmp_oid_order(v->oid, (struct snmp_oid){snmp_lldp_last_change, snmp_lldp_last_change_n}) == 0)
			neighbors_changed = v->number;
		else if (t->profile->cell_oid.n)
			snmp_decode_cell_told(t->decoder, v->number);
	}
	int64_t now = loop_now(t->loop).ns;
	uint64_t unknown = snmp_decode_stats(t->decoder)->unknown_ports;
	t->slow = now >= t->next_slow_ns || interfaces != t->interfaces || changed != t->table_changed || t->restarted ||
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

/* decode - all tables of this poll into t->samples. */
static void decode(struct snmp_target *t)
{
	t->samples.n = 0;
	snmp_decode_begin(t->decoder);
	if (t->slow) {
		for (size_t i = 0; i < t->n_walks; i++)
			if (t->walks[i].table->cadence == CADENCE_SLOW)
				snmp_decode_names(t->decoder, t->walks[i].table, t->walks[i].rows);
		if (snmp_decode_ports(t->decoder))
			ports_tell(t);
		t->names_read_ns = t->poll_began.ns;
		t->next_slow_ns = t->poll_began.ns + jittered(t, t->device->snmp->slow_interval_ns);
	}
	for (int cadence = CADENCE_FAST; cadence <= CADENCE_SLOW; cadence++)
		for (size_t i = 0; i < t->n_walks; i++) {
			struct walk *w = &t->walks[i];
			if ((int)w->table->cadence != cadence || w->n_want == 0 || (cadence == CADENCE_SLOW && !t->slow))
				continue;
			snmp_decode_table(t->decoder, w->table, w->rows, t->restarted, &t->samples);
			if (t->slow)
				w->n_want = snmp_decode_needed(w->table, w->rows, w->want);
		}
	if (t->slow)
		snmp_decode_cell(t->decoder, &t->samples);
	t->unknown_ports = snmp_decode_stats(t->decoder)->unknown_ports;
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
		ports[i] = (struct topology_port){.name = p->name, .alias = p->alias, .ifindex = p->ifindex, .speed_bps = p->speed_bps};
	}
	size_t n_heard = snmp_lldp_result(t->lldp, a, t->name, t->sysname ? t->sysname : "", ports, n, &self, &heard);
	t->sink.neighbors(t->sink.arg, &self, heard, n_heard);
}

/* samples_tell - one poll, one time. A state both cadences read is told once. */
static void samples_tell(struct snmp_target *t, wall_t now)
{
	int64_t middle = t->fast_began.ns + (now.ns - t->fast_began.ns) / 2;
	for (size_t i = 0; i < t->samples.n; i++)
		t->samples.v[i].t_ns = middle;
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
	decode(t);
	if (t->restarted && t->sink.event)
		t->sink.event(t->sink.arg, wall.ns, "device_restart", t->name, NULL, "sysUpTime went back: the agent or the device restarted");
	if (t->samples.n == 0) {
		t->state.errors++;
		lost(t, "%s: answers, but the profile '%s' finds nothing there: the agent's view may hide the tables. Try: rocewatch profile test %s",
			snmp_io_peer(t->io), t->profile->name, t->name);
		return;
	}
	samples_tell(t, wall);
	if (t->neighbors)
		neighbors_tell(t);
	target_polled(&t->state, (double)(now.ns - t->poll_began.ns) / NS_PER_S, wall);
	target_change(&t->state, TARGET_UP, now, wall, NULL);
	int64_t next = t->poll_began.ns + jittered(t, interval_of(t)) - now.ns;
	loop_timer_start(t->timer, next > NS_PER_MS ? next : NS_PER_MS, 0);
	told(t);
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
	const struct profile *p = wanted && !str_eq(wanted, "auto") ? profiles_get(t->set->profiles, wanted)
		: profiles_match(t->set->profiles, object.v, object.n, descr);
	assert(p); /* a named one was looked up by snmp_target_new, and generic always matches */
	profile_set(t, p);
	free(t->sysname);
	t->sysname = rw_strdup(name);
	t->sink.device(t->sink.arg, t->name, p->name, name, descr);
	t->next_slow_ns = 0;
	poll_begin(t);
}

/* --- answers ---------------------------------------------------------------------------------------------------------------------- */

/* RFC 3416 section 3; noAccess and authorizationError come from the agent's view. */
enum { PDU_TOO_BIG = 1, PDU_NO_SUCH_NAME = 2, PDU_GEN_ERR = 5, PDU_NO_ACCESS = 6, PDU_AUTHORIZATION = 16 };

/* lost_by_error - the agent answers, with an error to a request that every agent can answer. */
static void lost_by_error(struct snmp_target *t, const struct snmp_answer *a)
{
	const struct config_snmp_credential *c = t->device->snmp->credential->snmp;
	t->state.errors++;
	if (a->error_status == PDU_AUTHORIZATION || a->error_status == PDU_NO_ACCESS)
		lost(t, "%s: the agent does not allow %s%s to read: its access control wants another view, context or security level",
			snmp_io_peer(t->io), c->version == 3 ? "user " : "this community", c->version == 3 ? c->user : "");
	else
		lost(t, "%s: the agent answers with error %d to the most common request (sysUpTime)", snmp_io_peer(t->io), a->error_status);
}

/* walk_error - the agent refused a request of a table: smaller, or without the column it names, or without this table. */
static void walk_error(struct snmp_target *t, struct walk *w, const struct snmp_answer *a)
{
	if (a->error_status == PDU_TOO_BIG && t->repetitions > 1) {
		t->repetitions /= 2;
		return;
	}
	if (a->error_index >= 2 && snmp_rows_refuse(w->rows, (size_t)a->error_index - 2)) /* 1 is sysUpTime */
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
		snmp_lldp_skip(t->lldp); /* of all tables the least needed: the poll goes on without it */
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
	if (a->n > 0 && snmp_type_is_number(a->v[0].type) && snmp_oid_order(a->v[0].oid, OID(sys_uptime)) == 0)
		uptime_take(t, (uint32_t)a->v[0].number);
	if (a->n == 0 || !snmp_rows_take(w->rows, a->v + 1, a->n - 1)) {
		t->state.errors++;
		w->done = true; /* an answer that brings nothing would be asked for ever */
	}
	walk_paced(t, a->n);
}

static void on_answer(void *arg, const struct snmp_answer *a)
{
	struct snmp_target *t = arg;
	if (t->phase == PHASE_NONE)
		return; /* the deadline was faster */
	if (a->status == SNMP_IO_TIMEOUT && t->phase > PHASE_HEAD && t->repetitions > 1) {
		/* it answered the head just now: the big answer is what gets lost */
		t->state.timeouts++;
		t->repetitions /= 2;
		log_info(t->name, "snmp: no answer to a request of table %s: max-repetitions now %u", table_name(t), t->repetitions);
		walk_ask(t);
		return;
	}
	if (a->status != SNMP_IO_OK) {
		lost_by(t, a);
		return;
	}
	if (t->phase <= PHASE_HEAD && a->error_status != 0) {
		lost_by_error(t, a);
		return;
	}
	switch (t->phase) {
	case PHASE_IDENT:
		ident_take(t, a);
		break;
	case PHASE_HEAD:
		head_take(t, a);
		break;
	default:
		walk_take(t, a);
	}
}

/* --- session ------------------------------------------------------------------------------------------------------------------------ */

static void on_ready(void *arg, int rc, const char *why)
{
	struct snmp_target *t = arg;
	if (rc < 0) {
		t->state.errors++;
		lost(t, "%s", why);
		return;
	}
	ask_ident(t);
}

static const struct snmp_io_events io_events = {.ready = on_ready, .answer = on_answer};

static void secret_wipe(char **s)
{
	if (*s)
		explicit_bzero(*s, strlen(*s));
	free(*s);
}

static int io_open(struct snmp_target *t, struct err *e)
{
	const struct config_snmp *s = t->device->snmp;
	const struct config_snmp_credential *c = s->credential->snmp;
	rw_cleanup(secret_wipe) char *community = NULL, *auth = NULL, *priv = NULL;
	int rc = 0;
	if (c->version != 3)
		rc = secret_read(&c->community, &community, e);
	if (rc == 0 && c->version == 3 && c->auth)
		rc = secret_read(&c->auth_secret, &auth, e);
	if (rc == 0 && c->version == 3 && c->priv)
		rc = secret_read(&c->priv_secret, &priv, e);
	if (rc < 0)
		return rc;
	struct snmp_io_options o = {.host = s->address, .port = s->port, .source = s->source, .netns = s->netns, .version = c->version,
		.community = community, .user = c->user, .context = c->context, .auth = c->auth, .auth_password = auth, .priv = c->priv,
		.priv_password = priv, .timeout_ns = s->timeout_ns, .retries = s->retries};
	return snmp_io_new(t->loop, &o, &io_events, t, &t->io, e);
}

/* session_start - from IDLE or BACKOFF. The secret is read each time: a new one needs no reload. */
static void session_start(struct snmp_target *t)
{
	struct err e = {0};
	target_change(&t->state, TARGET_STARTING, loop_now(t->loop), wall_now(), NULL);
	told(t);
	int rc = 0;
	if (!t->io || !t->device->snmp->netns) { /* a socket in another namespace cannot be made again later */
		snmp_io_free(t->io);
		t->io = NULL;
		rc = io_open(t, &e);
	}
	if (rc == 0)
		rc = snmp_io_start(t->io, &e);
	if (rc == -EINPROGRESS)
		return;
	if (rc < 0) {
		t->state.errors++;
		lost(t, "%s", e.text);
		return;
	}
	ask_ident(t);
}

static void on_timer(void *arg)
{
	struct snmp_target *t = arg;
	if (t->state.state == TARGET_UP)
		poll_begin(t);
	else
		session_start(t);
}

/* --- new, same, update, free ---------------------------------------------------------------------------------------------------------- */

static bool profile_known(const struct snmp_target *t, struct err *e)
{
	const char *wanted = t->device->profile;
	const struct profile *p = wanted && !str_eq(wanted, "auto") ? profiles_get(t->set->profiles, wanted) : NULL;
	if (!wanted || str_eq(wanted, "auto") || (p && p->snmp))
		return true;
	if (p)
		err_set(e, -ENOENT, "device %s: profile '%s' has no SNMP tables", t->name, wanted);
	else
		err_set(e, -ENOENT, "device %s: no profile '%s'. Those there are: rocewatch profile list", t->name, wanted);
	return false;
}

int snmp_target_new(struct loop *l, struct entities *entities, const struct config_device *device, const struct config *config,
	const struct sink *sink, struct snmp_target **ret, struct err *e)
{
	assert(device->snmp);
	struct snmp_target *t = rw_calloc(1, sizeof(*t));
	char address[300];
	snprintf(address, sizeof(address), strchr(device->snmp->address, ':') ? "[%s]:%u" : "%s:%u", device->snmp->address, device->snmp->port);
	*t = (struct snmp_target){.loop = l, .entities = entities, .sink = *sink, .device = device, .config = config,
		.name = rw_strdup(device->name), .address = rw_strdup(address), .repetitions = REPETITIONS_FIRST};
	t->state.device = t->name;
	t->state.protocol = "snmp";
	t->state.address = t->address;
	t->random = hash_bytes(t->name, strlen(t->name), (uint64_t)wall_now().ns) | 1;
	t->timer = loop_timer_new(l, on_timer, t);
	t->deadline = loop_timer_new(l, on_deadline, t);
	t->pace = loop_timer_new(l, on_pace, t);
	t->lldp = sink->neighbors ? snmp_lldp_new() : NULL;
	int rc = 0;
	t->set = set_get(config, e);
	if (!t->set || !profile_known(t, e))
		rc = -EINVAL;
	if (rc == 0 && device->snmp->netns && (rc = io_open(t, e)) < 0) /* now, while we may */
		snmp_io_free(rw_take(t->io));
	if (rc < 0) {
		snmp_target_free(t);
		return rc;
	}
	int64_t spread = device->snmp->interval_ns < NS_PER_S ? device->snmp->interval_ns : NS_PER_S;
	loop_timer_start(t->timer, (int64_t)(t->random % 1024) * spread / 1024, 0);
	*ret = t;
	return 0;
}

static bool secret_same(const struct config_secret *a, const struct config_secret *b)
{
	return a->from == b->from && str_eq(a->name, b->name);
}

/* profiles_same - would a target of the new configuration find the same profiles? */
static bool profiles_same(const struct snmp_target *t, const struct config *config)
{
	if (!t->config->profile_dir && !config->profile_dir)
		return true;
	struct profile_set *s = set_get(config, NULL);
	bool same = s && (s == t->set || set_same(t->set->profiles, s->profiles));
	set_put(s);
	return same;
}

bool snmp_target_same(const struct snmp_target *t, const struct config_device *device, const struct config *config)
{
	const struct config_snmp *a = t->device->snmp, *b = device->snmp;
	if (!b)
		return false;
	const struct config_snmp_credential *ca = a->credential->snmp, *cb = b->credential->snmp;
	return str_eq(t->device->name, device->name) && str_eq(t->device->profile, device->profile) &&
		profiles_same(t, config) && str_eq(a->address, b->address) && a->port == b->port &&
		a->interval_ns == b->interval_ns && a->slow_interval_ns == b->slow_interval_ns && a->timeout_ns == b->timeout_ns &&
		a->deadline_ns == b->deadline_ns && a->retries == b->retries && a->max_varbinds_s == b->max_varbinds_s &&
		str_eq(a->source, b->source) && str_eq(a->netns, b->netns) && ca->version == cb->version &&
		secret_same(&ca->community, &cb->community) && str_eq(ca->user, cb->user) && str_eq(ca->context, cb->context) &&
		ca->auth == cb->auth && secret_same(&ca->auth_secret, &cb->auth_secret) && ca->priv == cb->priv &&
		secret_same(&ca->priv_secret, &cb->priv_secret);
}

void snmp_target_update(struct snmp_target *t, const struct config_device *device, const struct config *config)
{
	t->device = device;
	t->config = config;
	t->set->config = config; /* equal, as snmp_target_same() found: and the old one's address may be used again */
}

void snmp_target_free(struct snmp_target *t)
{
	if (!t)
		return;
	snmp_io_free(t->io);
	loop_timer_free(t->timer);
	loop_timer_free(t->deadline);
	loop_timer_free(t->pace);
	walks_free(t);
	snmp_decoder_free(t->decoder);
	snmp_lldp_free(t->lldp);
	free(t->sysname);
	set_put(t->set);
	free(t->samples.v);
	free(t->address);
	free(t->name);
	free(t);
}

const struct target *snmp_target_state(const struct snmp_target *t)
{
	return &t->state;
}

const char *snmp_target_profile(const struct snmp_target *t)
{
	return t->profile ? t->profile->name : "";
}

void snmp_target_columns(const struct snmp_target *t, snmp_column_fn *fn, void *arg)
{
	for (size_t i = 0; i < t->n_walks; i++) {
		const struct walk *w = &t->walks[i];
		for (size_t k = 0; k < w->table->n_values; k++) {
			const struct profile_value *v = &w->table->values[k];
			char oid[SNMP_OID_MAX * 11];
			const struct profile_oid *c = &w->table->columns[v->column];
			bool text = v->attribute != ATTRIBUTE_NONE && v->attribute != ATTRIBUTE_DISCONTINUITY;
			struct snmp_column_view view = {.table = w->table->name, .oid = snmp_oid_text(oid, sizeof(oid), (struct snmp_oid){c->v, c->n}),
				.what = v->metric >= 0 ? metric_info((unsigned)v->metric)->name : profile_attribute_name(v->attribute), .doc = v->doc,
				.slow = w->table->cadence == CADENCE_SLOW, .fallback = v->fallback, .type = ""};
			for (size_t row = 0; row < snmp_rows_count(w->rows); row++) {
				const struct snmp_cell *cell = snmp_rows_cell(w->rows, row, v->column);
				if (!cell)
					continue;
				if (view.rows++ == 0)
					view.type = snmp_type_name(cell->type);
				view.wrong_type += text ? cell->type != SNMP_STRING : !snmp_type_is_number(cell->type);
				view.zero += snmp_type_is_number(cell->type) && cell->u == 0;
			}
			fn(arg, &view);
		}
	}
}

unsigned snmp_target_max_repetitions(const struct snmp_target *t)
{
	return t->repetitions;
}
