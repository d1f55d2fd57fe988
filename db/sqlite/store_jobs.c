/*
 * store_jobs - everything but samples: names, flows, attributes, incidents, findings, events; and
 * retention. Each statement is a row of a table, prepared when first needed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "db/sqlite/sqlite_io.h"
#include "db/sqlite/store_write.h"

enum small {
	S_ENTITY,
	S_TEXT,
	S_FLOW,
	S_FABRIC,
	S_TARGET,
	S_TARGET_GONE,
	S_DEVICE,
	S_PORT,
	S_INCIDENT,
	S_EVENT,
	S_DEVICE_EVENT,
	S_FINDING,
	S_HEALTH,
	S_OLD_HEALTH,
	S_RECOMMENDATION,
	S_OLD_FLOWS,
	S_OLD_FINDINGS,
	S_OLD_INSTANTS,
	S_EDGE,
	S_DELETE = S_EDGE + SCHEMA_TABLES,
	S_COUNT = S_DELETE + SCHEMA_TABLES
};
_Static_assert((int)S_COUNT <= WRITER_SMALL, "room for every statement");

/*
 * S_DEVICE, S_PORT: a dated row only when something changed; an attribute not given (NULL, speed 0)
 * keeps its last value. "first" is the row in force at that time. A row of the same instant is
 * replaced: two facts about one instant are one fact.
 */
static const char *const sql[S_EDGE] = {
	[S_ENTITY] =
		"INSERT OR IGNORE INTO entity(id, device, port, priority) VALUES(?1, ?2, ?3, ?4)",
	[S_TEXT] = "INSERT OR IGNORE INTO text(id, text) VALUES(?1, ?2)",
	[S_FLOW] = "INSERT INTO flow(entity, from_ns, to_ns, total, dir, sampling, family, src, "
		   "dst, src_port, dst_qp, packets, octets, ce, ect, cnp,"
		   " nak, retransmits, psn_gaps, burst_bps, flows, sum_sq_octets) "
		   "VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[S_FABRIC] =
		"INSERT OR REPLACE INTO fabric_history(t_ns, yaml) SELECT ?1, ?2"
		" WHERE ?2 IS NOT (SELECT yaml FROM fabric_history ORDER BY t_ns DESC LIMIT 1)",
	[S_TARGET] = "INSERT OR REPLACE INTO target(device, protocol, address, state, reason, up, "
		     "since_ns, last_success_ns, updated_ns, poll_p50_s,"
		     " poll_p95_s, polls, timeouts, errors, value_count) "
		     "VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15)",
	[S_TARGET_GONE] = "DELETE FROM target WHERE device=?1 AND protocol=?2",
	[S_DEVICE] =
		"INSERT OR REPLACE INTO device_attr(device, t_ns, role, profile, sysname, descr)"
		" SELECT ?1, ?2, coalesce(?3, f.role, ''), coalesce(?4, f.profile, ''), "
		"coalesce(?5, f.sysname, ''), coalesce(?6, f.descr, '')"
		" FROM (SELECT 1) LEFT JOIN (SELECT * FROM device_attr WHERE device=?1 AND "
		"t_ns<=?2 ORDER BY t_ns DESC LIMIT 1) f ON 1"
		" WHERE f.device IS NULL OR coalesce(?3, f.role)<>f.role OR coalesce(?4, "
		"f.profile)<>f.profile"
		" OR coalesce(?5, f.sysname)<>f.sysname OR coalesce(?6, f.descr)<>f.descr",
	[S_PORT] = "INSERT OR REPLACE INTO port_attr(device, port, t_ns, alias, peer_device, "
		   "peer_port, speed_bps)"
		   " SELECT ?1, ?2, ?3, coalesce(?4, f.alias, ''), coalesce(?5, f.peer_device, "
		   "''), coalesce(?6, f.peer_port, ''),"
		   " coalesce(NULLIF(?7, 0), f.speed_bps, 0)"
		   " FROM (SELECT 1) LEFT JOIN (SELECT * FROM port_attr WHERE device=?1 AND "
		   "port=?2 AND t_ns<=?3 ORDER BY t_ns DESC LIMIT 1) f ON 1"
		   " WHERE f.device IS NULL OR coalesce(?4, f.alias)<>f.alias OR coalesce(?5, "
		   "f.peer_device)<>f.peer_device"
		   " OR coalesce(?6, f.peer_port)<>f.peer_port OR (?7<>0 AND ?7<>f.speed_bps)",
	[S_INCIDENT] = "INSERT OR REPLACE INTO incident(id, cause, severity, state, device, port, "
		       "ecmp_group, host, summary, json, acked_by, priority,"
		       " opened_ns, closed_ns, updated_ns, usd_per_hour, usd_total, confidence) "
		       "VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15,?16,?17,?18)",
	[S_EVENT] =
		"INSERT INTO event(t_ns, kind, incident_id, who, text) VALUES(?1, ?2, ?3, ?4, ?5)",
	[S_DEVICE_EVENT] =
		"INSERT INTO event(t_ns, kind, text, device, port) VALUES(?1, ?2, ?3, ?4, ?5)",
	[S_HEALTH] = "INSERT OR REPLACE INTO health(key, value, unit, t_ns) VALUES(?1, ?2, ?3, ?4)",
	[S_OLD_HEALTH] = "DELETE FROM health WHERE t_ns<>?1",
	[S_FINDING] = "INSERT INTO finding(analyzer, cause, verdict, severity, device, port, "
		      "ecmp_group, host, summary, from_ns, to_ns, priority,"
		      " value, warn, confidence) "
		      "VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15)",
	[S_RECOMMENDATION] = "INSERT OR REPLACE INTO recommendation(id, incident_id, device, port, "
			     "state, advice, summary, json, diagnosis, who, priority,"
			     " t_ns, from_ns, to_ns, updated_ns) "
			     "VALUES(?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14,?15)",
	[S_OLD_FLOWS] = "DELETE FROM flow WHERE id IN (SELECT id FROM flow WHERE to_ns>=?1 AND "
			"to_ns<?2 LIMIT ?3)",
	[S_OLD_INSTANTS] = "DELETE FROM instant WHERE device IN (SELECT id FROM entity WHERE "
			   "port='' AND priority=-1) AND t_ns>=?1 AND t_ns<?2",
	[S_OLD_FINDINGS] = "DELETE FROM finding WHERE id IN (SELECT id FROM finding WHERE "
			   "to_ns>=?1 AND to_ns<?2 LIMIT ?3)",
};

/* The time up to which at most ?3 rows lie from ?1 on and before ?2: the edge of one chunk. */
static void edge_sql(struct str *out, const struct writer_table *table)
{
	str_addf(out,
		"SELECT t_ns FROM %s WHERE t_ns>=?1 AND t_ns<?2 ORDER BY t_ns LIMIT 1 OFFSET ?3",
		table->name);
}

/*
 * Rows from ?1 on and before ?2. One with configuration states goes only when a later row of its
 * entity, itself before the cutoff ?3, has all of its states: the newest of each was in force at
 * the cutoff and is still the answer to "what was configured then".
 */
static void delete_sql(struct str *out, const struct writer_table *table)
{
	char c[SCHEMA_COLUMN_MAX];

	str_addf(out,
		"DELETE FROM %s AS r WHERE r.t_ns>=?1 AND r.t_ns<?2 AND (r.cfg IS NULL OR EXISTS "
		"(SELECT 1 FROM %s n INDEXED BY %s_cfg"
		" WHERE n.entity=r.entity AND n.t_ns>r.t_ns AND n.t_ns<?3 AND n.cfg IS NOT NULL",
		table->name, table->name, table->name);
	for (size_t i = 0; i < table->n_metrics * table->lanes; i++) {
		if (!schema_is_cfg(table->metrics[i % table->n_metrics]))
			continue;
		schema_lane_column(c, table->metrics[i % table->n_metrics],
			table->lanes > 1 ? (unsigned)(i / table->n_metrics) + 1 : 0);
		str_addf(out, " AND (r.%s IS NULL OR n.%s IS NOT NULL)", c, c);
	}
	str_add(out, "))");
}

static int small_statement(struct store_writer *writer, unsigned which, sqlite3_stmt **ret)
{
	rw_cleanup(str_done) struct str text = {0};
	int rc = SQLITE_OK;

	if (!writer->small[which]) {
		if (which >= S_DELETE)
			delete_sql(&text, &writer->tables[which - S_DELETE]);
		else if (which >= S_EDGE)
			edge_sql(&text, &writer->tables[which - S_EDGE]);
		else
			str_add(&text, sql[which]);
		rc = sqlite3_prepare_v3(writer->db, text.s, -1, SQLITE_PREPARE_PERSISTENT,
			&writer->small[which], NULL);
	}
	*ret = writer->small[which];
	if (*ret)
		sqlite3_clear_bindings(*ret);
	return rc;
}

static int store_jobs_finish(sqlite3_stmt *st)
{
	int rc = sqlite3_step(st);
	int reset = sqlite3_reset(st);

	if (rc == SQLITE_DONE || rc == SQLITE_ROW)
		return reset;
	return rc;
}

static void bind_text(sqlite3_stmt *st, int at, const char *text)
{
	sqlite3_bind_text(st, at, text, -1, SQLITE_STATIC); /* NULL binds NULL */
}

static void bind_real(sqlite3_stmt *st, int at, double value)
{
	if (isfinite(value))
		sqlite3_bind_double(st, at, value);
}

static int apply_names(struct store_writer *writer, const struct job *job)
{
	sqlite3_stmt *st;
	int rc = small_statement(writer, job->kind == JOB_ENTITIES ? S_ENTITY : S_TEXT, &st);

	for (size_t i = 0; rc == SQLITE_OK && i < job->n; i++) {
		const struct job_name *name = &job->names[i];
		sqlite3_bind_int64(st, 1, name->id);
		bind_text(st, 2, name->device);
		if (job->kind == JOB_ENTITIES) {
			bind_text(st, 3, name->port);
			sqlite3_bind_int(st, 4, name->priority);
			writer_place(writer, name->id, name->place);
		}
		rc = store_jobs_finish(st);
	}
	return rc;
}

static void bind_address(sqlite3_stmt *st, int at, uint8_t family, const uint8_t *address)
{
	char buf[INET6_ADDRSTRLEN];

	if (inet_ntop(family == 4 ? AF_INET : AF_INET6, address, buf, sizeof(buf)))
		sqlite3_bind_text(st, at, buf, -1, SQLITE_TRANSIENT);
}

static int apply_flows(struct store_writer *writer, const struct job *job)
{
	sqlite3_stmt *st;
	int rc = small_statement(writer, S_FLOW, &st);

	for (size_t i = 0; rc == SQLITE_OK && i < job->n; i++) {
		const struct flow_sample *f = &job->flows[i];
		const uint64_t counts[] = {f->packets, f->octets, f->ce, f->ect, f->cnp, f->nak,
			f->retransmits, f->psn_gaps, f->burst_bps, f->flows};
		sqlite3_clear_bindings(st);
		sqlite3_bind_int64(st, 1, f->entity);
		sqlite3_bind_int64(st, 2, f->from_ns);
		sqlite3_bind_int64(st, 3, f->to_ns);
		sqlite3_bind_int(st, 4, f->total);
		sqlite3_bind_int(st, 5, f->dir);
		sqlite3_bind_int64(st, 6, f->sampling);
		if (!f->total) {
			sqlite3_bind_int(st, 7, f->key.family);
			bind_address(st, 8, f->key.family, f->key.src);
			bind_address(st, 9, f->key.family, f->key.dst);
			sqlite3_bind_int(st, 10, f->key.src_port);
			sqlite3_bind_int64(st, 11, f->key.dst_qp);
		}
		for (size_t k = 0; k < rw_countof(counts); k++)
			sqlite3_bind_int64(st, 12 + (int)k, (sqlite3_int64)counts[k]);
		bind_real(st, 22, f->sum_sq_octets);
		rc = store_jobs_finish(st);
	}
	return rc;
}

/* A snapshot replaces the one before: what is not in it any more is gone. */
static int apply_health(struct store_writer *writer, const struct job *job)
{
	sqlite3_stmt *st;
	int rc = small_statement(writer, S_HEALTH, &st);

	for (size_t i = 0; rc == SQLITE_OK && i < job->n; i++) {
		sqlite3_clear_bindings(st);
		bind_text(st, 1, job->health[i].key);
		bind_real(st, 2, job->health[i].value);
		bind_text(st, 3, job->health[i].unit);
		sqlite3_bind_int64(st, 4, job->i[0]);
		rc = store_jobs_finish(st);
	}
	if (rc == SQLITE_OK)
		rc = small_statement(writer, S_OLD_HEALTH, &st);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, job->i[0]);
	return store_jobs_finish(st);
}

/* One row per kind of small job: its statement, how many texts, integers and reals, and in which
 * order they are bound. */
static const struct {
	enum small statement;
	const char *order; /* t: next text, i: next integer, d: next real */
} shapes[JOB_KINDS] = {
	[JOB_FABRIC] = {S_FABRIC, "it"},
	[JOB_TARGET] = {S_TARGET, "tttttiiiiddiiii"},
	[JOB_TARGET_GONE] = {S_TARGET_GONE, "tt"},
	[JOB_DEVICE] = {S_DEVICE, "titttt"},
	[JOB_PORT] = {S_PORT, "ttittti"},
	[JOB_INCIDENT] = {S_INCIDENT, "tttttttttttiiiiddd"},
	[JOB_EVENT] = {S_EVENT, "itttt"},
	[JOB_DEVICE_EVENT] = {S_DEVICE_EVENT, "itttt"},
	[JOB_FINDING] = {S_FINDING, "tttttttttiiiddd"},
	[JOB_RECOMMENDATION] = {S_RECOMMENDATION, "ttttttttttiiiii"},
};

int writer_apply(struct store_writer *writer, const struct job *job)
{
	size_t t = 0, i = 0, d = 0;
	sqlite3_stmt *st;

	if (job->kind == JOB_ENTITIES || job->kind == JOB_TEXTS)
		return apply_names(writer, job);
	if (job->kind == JOB_FLOWS)
		return apply_flows(writer, job);
	if (job->kind == JOB_HEALTH)
		return apply_health(writer, job);
	int rc = small_statement(writer, shapes[job->kind].statement, &st);
	if (rc != SQLITE_OK)
		return rc;
	for (int at = 1; shapes[job->kind].order[at - 1]; at++) {
		char c = shapes[job->kind].order[at - 1];
		if (c == 't')
			bind_text(st, at, job->s[t++]);
		else if (c == 'i')
			sqlite3_bind_int64(st, at, job->i[i++]);
		else
			bind_real(st, at, job->d[d++]);
	}
	return store_jobs_finish(st);
}

/* ---- retention ----------------------------------------------------------- */

#define CHUNK_ROWS 4000 /* deleted in one transaction: some 20 ms */
#define QUOTA_SHARE 10 /* over quota: the oldest tenth of the time goes */

/* Pages in use over the quota? Deleted rows leave free pages that SQLite fills again: the file
 * stops growing rather than shrink. */
static bool over_quota(struct store_writer *writer)
{
	if (writer->o.quota_bytes == 0)
		return false;
	sqlite3_int64 used = sqlite_int(writer->db, "PRAGMA page_count", 0, NULL) -
		sqlite_int(writer->db, "PRAGMA freelist_count", 0, NULL);
	return (uint64_t)used * (uint64_t)sqlite_int(writer->db, "PRAGMA page_size", 0, NULL) >
		writer->o.quota_bytes;
}

/*
 * What open recommendations and open incidents rest on is never forgotten (tuning facts, d.2 rule
 * 11): the evidence of a sheet, a quarter of an hour around the beginning of an incident. Beyond
 * WRITER_PINS stretches the last one spans the rest.
 */
static void load_pins(struct store_writer *writer)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	writer->n_pins = 0;
	if (sqlite3_prepare_v2(writer->db,
		    "SELECT from_ns, to_ns FROM recommendation WHERE state IN "
		    "('proposed','accepted','applied') AND from_ns<=to_ns"
		    " UNION ALL SELECT opened_ns-900000000000, opened_ns+900000000000 FROM "
		    "incident WHERE state IN ('open','clearing') AND opened_ns>0 ORDER BY 1",
		    -1, &st, NULL) != SQLITE_OK)
		return;
	while (sqlite3_step(st) == SQLITE_ROW) {
		const struct pin p = {sqlite3_column_int64(st, 0), sqlite3_column_int64(st, 1)};
		struct pin *last = NULL;
		if (writer->n_pins)
			last = &writer->pins[writer->n_pins - 1];
		if (last && (p.from_ns <= last->to_ns || writer->n_pins == WRITER_PINS)) {
			if (p.to_ns > last->to_ns)
				last->to_ns = p.to_ns;
		} else {
			writer->pins[writer->n_pins++] = p;
		}
	}
}

/* The stretch without a pin that begins at @from or after it, and ends at @until at the latest:
 * [*ret_from, *ret_until). False: there is none. */
static bool free_stretch(const struct store_writer *writer, int64_t from, int64_t until,
	int64_t *ret_from, int64_t *ret_until)
{
	for (size_t k = 0; k < writer->n_pins; k++) {
		if (from < writer->pins[k].from_ns) {
			if (!(until < writer->pins[k].from_ns))
				until = writer->pins[k].from_ns;
			break;
		}
		if (from <= writer->pins[k].to_ns)
			from = writer->pins[k].to_ns + 1;
	}
	*ret_from = from;
	*ret_until = until;
	return from < until;
}

/* The oldest instant that may be forgotten: instants rather than rows, since a state that is kept
 * would stand for the oldest time for ever. */
static int64_t oldest_free(struct store_writer *writer, int64_t now_ns)
{
	int64_t from = INT64_MIN, until;
	for (size_t k = 0; k <= writer->n_pins; k++) {
		rw_cleanup(str_done) struct str text = {0};
		str_addf(&text,
			"SELECT min((SELECT min(t_ns) FROM instant WHERE device=e.id AND "
			"t_ns>=%lld)) FROM entity e WHERE e.port='' AND e.priority=-1",
			(long long)from);
		const int64_t first = sqlite_int(writer->db, text.s, now_ns, NULL);
		free_stretch(writer, first, INT64_MAX, &from, &until);
		if (from == first)
			break;
	}
	if (from < now_ns)
		return from;
	return now_ns;
}

static int64_t store_jobs_cutoff(struct store_writer *writer, int64_t now_ns)
{
	int64_t at = INT64_MIN;
	if (writer->o.raw_ns > 0)
		at = now_ns - writer->o.raw_ns;

	if (over_quota(writer)) {
		int64_t first = oldest_free(writer, now_ns);
		int64_t early = first + (now_ns - first) / QUOTA_SHARE;
		if (early > at)
			at = early;
	}
	return at;
}

/* One chunk of a table from .retain_from_ns on; false in @ret_more: that was its last. */
static int delete_rows(struct store_writer *writer, bool *ret_more)
{
	sqlite3_stmt *st;
	int64_t until;

	*ret_more = false;
	if (!free_stretch(writer, writer->retain_from_ns, writer->retain_cutoff_ns,
		    &writer->retain_from_ns, &until))
		return SQLITE_OK;
	int rc = small_statement(writer, S_EDGE + writer->retain_table, &st);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, writer->retain_from_ns);
	sqlite3_bind_int64(st, 2, until);
	sqlite3_bind_int(st, 3, CHUNK_ROWS);
	*ret_more = until < writer->retain_cutoff_ns; /* behind a pin it goes on */
	if (sqlite3_step(st) == SQLITE_ROW) {
		/* an instant with more rows than a chunk goes as a whole */
		int64_t edge = sqlite3_column_int64(st, 0);
		if (edge > writer->retain_from_ns)
			until = edge;
		else
			until = edge + 1;
		*ret_more = true;
	}
	sqlite3_reset(st);
	rc = small_statement(writer, S_DELETE + writer->retain_table, &st);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, writer->retain_from_ns);
	sqlite3_bind_int64(st, 2, until);
	sqlite3_bind_int64(st, 3, writer->retain_cutoff_ns);
	writer->retain_from_ns = until;
	return store_jobs_finish(st);
}

/* @limit rows of each stretch at the most; 0 = all. */
static int delete_old(struct store_writer *writer, unsigned which, int limit, bool *ret_more)
{
	int64_t from = INT64_MIN, until;
	int rc = SQLITE_OK;

	*ret_more = false;
	for (; rc == SQLITE_OK &&
		free_stretch(writer, from, writer->retain_cutoff_ns, &from, &until);
		from = until) {
		sqlite3_stmt *st;
		rc = small_statement(writer, which, &st);
		if (rc != SQLITE_OK)
			return rc;
		sqlite3_bind_int64(st, 1, from);
		sqlite3_bind_int64(st, 2, until);
		if (limit > 0)
			sqlite3_bind_int(st, 3, limit);
		rc = store_jobs_finish(st);
		*ret_more |= rc == SQLITE_OK && limit > 0 && sqlite3_changes(writer->db) >= limit;
	}
	return rc;
}

/* Goes on where the last chunk stopped. */
static int retain_chunk(struct store_writer *writer, bool *ret_more)
{
	bool more = false;
	int rc = SQLITE_OK;

	while (writer->retain_table < SCHEMA_TABLES) {
		int before = sqlite3_total_changes(writer->db);
		rc = delete_rows(writer, &more);
		if (rc != SQLITE_OK)
			return rc;
		if (!more) {
			writer->retain_table++;
			writer->retain_from_ns = INT64_MIN;
		}
		if (more || sqlite3_total_changes(writer->db) != before) {
			*ret_more = true;
			return SQLITE_OK;
		}
	}
	bool instants, flows = false, findings = false;
	rc = delete_old(writer, S_OLD_INSTANTS, 0, &instants);
	if (rc == SQLITE_OK)
		rc = delete_old(writer, S_OLD_FLOWS, CHUNK_ROWS, &flows);
	if (rc == SQLITE_OK)
		rc = delete_old(writer, S_OLD_FINDINGS, CHUNK_ROWS, &findings);
	*ret_more = flows || findings;
	return rc;
}

bool writer_retain(struct store_writer *writer, int64_t now_ns)
{
	bool more = false;

	load_pins(writer);
	if (!writer->retaining) { /* a new pass */
		writer->retain_cutoff_ns = store_jobs_cutoff(writer, now_ns);
		if (writer->retain_cutoff_ns == INT64_MIN)
			return false;
		writer->retaining = true;
		writer->retain_from_ns = INT64_MIN;
		writer->retain_table = 0;
	}
	int rc = writer_begin(writer);
	if (rc == SQLITE_OK)
		rc = retain_chunk(writer, &more);
	if (rc == SQLITE_OK)
		rc = writer_commit(writer);
	if (rc != SQLITE_OK) {
		/* a full or failing disk is told by the commits; retention simply tries again later
		 */
		writer_rollback(writer);
		more = false;
	}
	writer->retaining = more;
	return more;
}
