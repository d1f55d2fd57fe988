/*
 * clickhouse_records - flows, and the records behind the views. Records are fetched when a
 * statement names their table, those that are new each time, and told to views in memory in the
 * order in which the agents committed them.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/bytes.h"
#include "agent/base/cleanup.h"
#include "agent/base/err.h"
#include "db/clickhouse/clickhouse_read.h"
#include "db/clickhouse/rowbinary.h"

/* ---- flows ------------------------------------------------------------------------- */

/* The row's place among all; the same again: it was sent twice. */
static bool same_head(
	const struct ch_row_head *left, const char *agent, uint64_t seq, uint32_t part)
{
	return left->seq == seq && left->part == part && strcmp(left->agent, agent) == 0;
}

int ch_flows(struct ch_history *db, int64_t from_ns, int64_t to_ns, struct flow_sample **ret,
	size_t *ret_n, struct err *e)
{
	rw_cleanup(str_done) struct str sql = {0}, answer = {0};
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct flow_sample *v = NULL;
	size_t n = 0, cap = 0;
	char agent[256] = "";
	uint64_t seq = 0;
	uint32_t part = UINT32_MAX;
	ch_select_rows(&sql, SPOOL_FLOWS);
	str_addf(&sql,
		" WHERE to_ns >= %lld AND to_ns <= %lld ORDER BY agent, seq, row FORMAT RowBinary",
		(long long)from_ns, (long long)to_ns);
	const int r = ch_query(db, sql.s, &answer, e);
	if (r < 0)
		return r;
	struct bytes in = bytes_of(answer.s, answer.n);
	while (bytes_left(&in) > 0) {
		struct ch_row_head head;
		struct spool_row row;
		struct flow_sample flow;
		const char *device, *port;
		ch_read_row(&in, a, SPOOL_FLOWS, &head, &row);
		if (bytes_ok(&in) && !same_head(&head, agent, seq, part)) {
			snprintf(agent, sizeof(agent), "%s", head.agent);
			seq = head.seq;
			part = head.part;
			spool_flow_of_row(&row, &flow, &device, &port);
			flow.entity = entities_intern(
				db->entities, str_or(device, ""), str_or(port, ""), PRIO_NONE);
			rw_grow(v, n, cap);
			v[n] = flow;
			n += flow.entity != ENTITY_NONE;
		}
		arena_reset(a);
	}
	if (!bytes_ok(&in)) {
		free(v);
		return ch_damaged(db, e);
	}
	if (n > 1)
		qsort(v, n, sizeof(*v), flow_end_order);
	*ret = v;
	*ret_n = n;
	return 0;
}

int ch_each_flow(struct history *history, int64_t from_ns, int64_t to_ns, flow_fn *fn, void *arg,
	struct err *e)
{
	struct ch_history *db = ch_history_of(history);
	rw_cleanup(freep) struct flow_sample *flows = NULL;
	size_t n = 0;
	if (to_ns == 0)
		to_ns = INT64_MAX;
	int r = ch_refresh(db, e);
	if (r == 0)
		r = ch_flows(db, from_ns, to_ns, &flows, &n, e);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = fn(arg, &flows[i]);
	return r;
}

/* ---- configuration ------------------------------------------------------------------- */

static int fabric_ask(struct ch_history *db, const char *where, char **ret, struct err *e)
{
	rw_cleanup(str_done) struct str sql = {0}, answer = {0};
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	str_addf(&sql, "SELECT assumeNotNull(yaml) FROM configurations %s LIMIT 1 FORMAT RowBinary",
		where);
	const int r = ch_query(db, sql.s, &answer, e);
	if (r < 0)
		return r;
	if (answer.n == 0)
		return -ENODATA;
	struct bytes in = bytes_of(answer.s, answer.n);
	const char *yaml = rowbinary_get_text(&in, a);
	if (!bytes_ok(&in))
		return ch_damaged(db, e);
	*ret = rw_strdup(yaml);
	return 0;
}

int ch_fabric_at(struct history *history, int64_t at_ns, char **ret_yaml, struct err *e)
{
	struct ch_history *db = ch_history_of(history);
	rw_cleanup(str_done) struct str where = {0};
	str_addf(
		&where, "WHERE t_ns <= %lld ORDER BY t_ns DESC, agent, seq DESC", (long long)at_ns);
	const int r = fabric_ask(db, where.s, ret_yaml, e);
	if (r != -ENODATA)
		return r;
	return fabric_ask(db, "ORDER BY t_ns, agent, seq", ret_yaml, e);
}

/* ---- views ----------------------------------------------------------------------------- */

/* Which words of a statement ask for which tables. */
static const struct {
	const char *word;
	enum spool_table table;
} view_words[] = {
	{"config_history", SPOOL_CONFIGURATIONS},
	{"fabric_history", SPOOL_CONFIGURATIONS},
	{"target", SPOOL_TARGETS},
	{"devices", SPOOL_TARGETS},
	{"devices", SPOOL_DEVICES},
	{"device_attr", SPOOL_DEVICES},
	{"ports", SPOOL_PORTS},
	{"links", SPOOL_PORTS},
	{"port_attr", SPOOL_PORTS},
	{"incident", SPOOL_INCIDENTS},
	{"recommendation", SPOOL_RECOMMENDATIONS},
	{"silence", SPOOL_SILENCES},
	{"alert", SPOOL_ALERTS},
	{"event", SPOOL_EVENTS},
	{"burst", SPOOL_BURSTS},
	{"finding", SPOOL_FINDINGS},
	{"flow", SPOOL_FLOWS},
	{"health", SPOOL_HEALTH},
};

static size_t column_at(enum spool_table table, const char *name)
{
	size_t n, i = 0;
	const struct record_column *columns = spool_columns(table, &n);
	while (i < n && strcmp(columns[i].name, name) != 0)
		i++;
	return i;
}

/* Two agents may both have an incident of one name: the later one's gets the agent's name before
 * its own. */
static void incident_rename(
	struct ch_history *db, struct arena *a, const char *agent, struct spool_cell *id)
{
	uint64_t owner, number = hash_bytes(agent, strlen(agent), 0);
	if (id->null)
		return;
	if (!smap_get(db->incident_agents, id->text, strlen(id->text), &owner)) {
		smap_put(db->incident_agents, id->text, strlen(id->text), number);
		return;
	}
	if (owner != number)
		id->text = arena_printf(a, "%s.%s", agent, id->text);
}

static void json_rename(
	struct arena *a, struct spool_cell *json, const char *before, const char *after)
{
	if (json->null || before == after)
		return;
	const char *key = arena_printf(a, "\"%s\"", before);
	const char *at = strstr(json->text, key);
	if (at)
		json->text = arena_printf(a, "%.*s\"%s\"%s", (int)(at - json->text), json->text,
			after, at + strlen(key));
}

static void row_rename(
	struct ch_history *db, struct arena *a, const char *agent, struct spool_row *row)
{
	if (row->table == SPOOL_INCIDENTS) {
		struct spool_cell *id = &row->cells[column_at(row->table, "id")];
		const char *before = id->text;
		incident_rename(db, a, agent, id);
		json_rename(a, &row->cells[column_at(row->table, "json")], before, id->text);
	} else if (row->table == SPOOL_EVENTS || row->table == SPOOL_BURSTS) {
		struct spool_cell *id = &row->cells[column_at(row->table, "incident_id")];
		uint64_t owner;
		if (!id->null && smap_get(db->incident_agents, id->text, strlen(id->text), &owner))
			incident_rename(db, a, agent, id);
	}
}

static int views_load_table(struct ch_history *db, enum spool_table table, struct err *e)
{
	rw_cleanup(str_done) struct str sql = {0}, answer = {0};
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct ch_seen_list *seen = &db->seen[table];
	char agent[256] = "";
	uint64_t seq = 0;
	uint32_t part = UINT32_MAX;
	ch_select_rows(&sql, table);
	ch_seen_where(&sql, seen);
	str_add(&sql, " ORDER BY agent, seq, row FORMAT RowBinary");
	int r = ch_query(db, sql.s, &answer, e);
	if (r < 0 || answer.n == 0)
		return r;
	struct bytes in = bytes_of(answer.s, answer.n);
	r = record_views_begin(db->views, e);
	while (r == 0 && bytes_left(&in) > 0) {
		struct ch_row_head head;
		struct spool_row row;
		ch_read_row(&in, a, table, &head, &row);
		if (bytes_ok(&in) && !same_head(&head, agent, seq, part)) {
			snprintf(agent, sizeof(agent), "%s", head.agent);
			seq = head.seq;
			part = head.part;
			ch_seen_note(seen, head.agent, head.seq);
			row_rename(db, a, head.agent, &row);
			r = record_views_row(db->views, &row, e);
		}
		arena_reset(a);
	}
	const int end = record_views_commit(db->views, e);
	if (r == 0 && !bytes_ok(&in))
		return ch_damaged(db, e);
	if (r == 0)
		return end;
	return r;
}

int ch_views_load(struct ch_history *db, const char *sql, struct err *e)
{
	bool loaded[SPOOL_TABLES] = {0};
	int r = 0;
	for (size_t i = 0; r == 0 && i < rw_countof(view_words); i++) {
		const enum spool_table table = view_words[i].table;
		if (loaded[table] || !strcasestr(sql, view_words[i].word))
			continue;
		loaded[table] = true;
		r = views_load_table(db, table, e);
	}
	return r;
}
