/* clickhouse_names - which entities and series there are, and whose clocks were set back. Each
 * refresh reads only what is new. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/bytes.h"
#include "agent/base/cleanup.h"
#include "agent/base/err.h"
#include "db/clickhouse/clickhouse_read.h"
#include "db/clickhouse/rowbinary.h"

int ch_query(struct ch_history *db, const char *sql, struct str *ret, struct err *e)
{
	return ch_ask(&db->client, sql, false, CH_ANSWER_MAX, ret, e);
}

int ch_damaged(const struct ch_history *db, struct err *e)
{
	return err_set(e, -EBADMSG, "%s gave an answer that does not fit the question", db->url);
}

/* ---- what was seen --------------------------------------------------------------- */

void ch_seen_note(struct ch_seen_list *seen, const char *agent, uint64_t seq)
{
	for (size_t i = 0; i < seen->n; i++) {
		if (strcmp(seen->v[i].agent, agent) != 0)
			continue;
		if (seq > seen->v[i].seq)
			seen->v[i].seq = seq;
		return;
	}
	rw_grow(seen->v, seen->n, seen->cap);
	seen->v[seen->n++] = (struct ch_seen){rw_strdup(agent), seq};
}

void ch_seen_done(struct ch_seen_list *seen)
{
	for (size_t i = 0; i < seen->n; i++)
		free(seen->v[i].agent);
	free(seen->v);
}

void ch_seen_where(struct str *out, const struct ch_seen_list *seen)
{
	if (seen->n == 0)
		return;
	str_add(out, " WHERE (agent NOT IN (");
	for (size_t i = 0; i < seen->n; i++) {
		str_add(out, str_if(i > 0, ", "));
		ch_add_text(out, seen->v[i].agent);
	}
	str_add(out, "))");
	for (size_t i = 0; i < seen->n; i++) {
		str_add(out, " OR (agent = ");
		ch_add_text(out, seen->v[i].agent);
		str_addf(out, " AND seq > %llu)", (unsigned long long)seen->v[i].seq);
	}
}

/* ---- series ----------------------------------------------------------------------- */

static void series_note(struct ch_history *db, uint32_t entity, int metric)
{
	if (entity >= db->n_series) {
		const size_t n = entity + entity / 2 + 64;
		db->series = rw_realloc(db->series, n * sizeof(*db->series));
		memset(db->series + db->n_series, 0, (n - db->n_series) * sizeof(*db->series));
		db->n_series = n;
	}
	db->series[entity].have[metric / 64] |= UINT64_C(1) << (metric % 64);
}

static void series_take(struct ch_history *db, struct bytes *in, struct arena *a)
{
	const char *agent = rowbinary_get_text(in, a);
	const uint64_t seq = rowbinary_get_fixed(in, 8);
	const char *device = rowbinary_get_text(in, a);
	const char *port = rowbinary_get_text(in, a);
	const int priority = (int8_t)rowbinary_get_fixed(in, 1);
	const int metric = metric_by_name(rowbinary_get_text(in, a));
	if (!bytes_ok(in))
		return;
	ch_seen_note(&db->series_seen, agent, seq);
	const uint32_t entity = entities_intern(db->entities, device, port, priority);
	if (entity != ENTITY_NONE && metric >= 0)
		series_note(db, entity, metric);
}

/* In the order of names, so that ids do not depend on who wrote first. */
static int series_load(struct ch_history *db, struct err *e)
{
	rw_cleanup(str_done) struct str sql = {0}, answer = {0};
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	str_add(&sql, "SELECT agent, seq, device, port, priority, metric FROM series");
	ch_seen_where(&sql, &db->series_seen);
	str_add(&sql, " ORDER BY device, port, priority, metric FORMAT RowBinary");
	const int r = ch_query(db, sql.s, &answer, e);
	struct bytes in = bytes_of(answer.s, answer.n);
	while (r == 0 && bytes_left(&in) > 0) {
		series_take(db, &in, a);
		arena_reset(a);
	}
	if (r == 0 && !bytes_ok(&in))
		return ch_damaged(db, e);
	return r;
}

/* ---- clocks that were set back ------------------------------------------------------ */

static int rewinds_load(struct ch_history *db, struct err *e)
{
	rw_cleanup(str_done) struct str sql = {0}, answer = {0};
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	for (size_t i = 0; i < db->n_rewinds; i++)
		free(db->rewinds[i].agent);
	db->n_rewinds = 0;
	ch_select_rows(&sql, SPOOL_REWINDS);
	str_add(&sql, " ORDER BY agent, seq, row FORMAT RowBinary");
	const int r = ch_query(db, sql.s, &answer, e);
	struct bytes in = bytes_of(answer.s, answer.n);
	while (r == 0 && bytes_left(&in) > 0) {
		struct ch_row_head head;
		struct spool_row row;
		ch_read_row(&in, a, SPOOL_REWINDS, &head, &row);
		if (!bytes_ok(&in))
			return ch_damaged(db, e);
		rw_grow(db->rewinds, db->n_rewinds, db->cap_rewinds);
		db->rewinds[db->n_rewinds++] = (struct ch_rewind){.agent = rw_strdup(head.agent),
			.seq = head.seq,
			.part = head.part,
			.t_ns = row.cells[0].number};
	}
	return r;
}

int ch_refresh(struct ch_history *db, struct err *e)
{
	const int r = series_load(db, e);
	if (r < 0)
		return r;
	return rewinds_load(db, e);
}

bool ch_is_late(const struct ch_history *db, const struct ch_row_head *head, int64_t t_ns)
{
	for (size_t i = 0; i < db->n_rewinds; i++) {
		const struct ch_rewind *rewind = &db->rewinds[i];
		const bool before = head->seq < rewind->seq ||
			(head->seq == rewind->seq && head->part < rewind->part);
		if (before && t_ns > rewind->t_ns && strcmp(rewind->agent, head->agent) == 0)
			return true;
	}
	return false;
}

void ch_not_late(struct str *out, const struct ch_history *db)
{
	str_addf(out, " AND bitAnd(flags, %d) = 0", SF_LATE);
	for (size_t i = 0; i < db->n_rewinds; i++) {
		const struct ch_rewind *rewind = &db->rewinds[i];
		str_add(out, " AND NOT (agent = ");
		ch_add_text(out, rewind->agent);
		str_addf(out, " AND t_ns > %lld AND (seq < %llu OR (seq = %llu AND row < %u)))",
			(long long)rewind->t_ns, (unsigned long long)rewind->seq,
			(unsigned long long)rewind->seq, rewind->part);
	}
}
