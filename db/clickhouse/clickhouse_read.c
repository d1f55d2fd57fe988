
#include "db/clickhouse/clickhouse_read.h"

#include "base/bytes.h"

#define CH_ANSWER_MAX ((size_t)1 << 30)

/* clickhouse_names - which entities and series there are, and whose clocks were set back. Each
 * refresh reads only what is new. */

int ch_query(struct ch_history *db, const char *sql, struct str *ret, struct err *e)
{
	return ch_ask(&db->client, sql, false, CH_ANSWER_MAX, ret, e);
}

int ch_damaged(const struct ch_history *db, struct err *e)
{
	return err_set(e, -EBADMSG, "%s gave an answer that does not fit the question", db->url);
}

/* ---- what was seen --------------------------------------------------------------- */

static void ch_seen_note(struct ch_seen_list *seen, const char *agent, uint64_t seq)
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

/* " WHERE ..." for rows that were not seen. */
static void ch_seen_where(struct str *out, const struct ch_seen_list *seen)
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

/* clickhouse_records - flows, and the records behind the views. Records are fetched when a
 * statement names their table, those that are new each time, and told to views in memory in the
 * order in which the agents committed them. */

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

/* clickhouse_match - which entities a filter lets through. */

static const char alias_sql[] =
	"SELECT device, port, alias FROM port_attr WHERE alias<>'' ORDER BY t_ns";

struct ch_aliases {
	const char *pattern;
	struct smap *matches; /* "device\0port" -> does its newest alias match */
};

static int alias_take(void *arg, int n, char *const *values, char *const *names)
{
	struct ch_aliases *aliases = arg;
	rw_cleanup(str_done) struct str key = {0};
	if (n < 3 || !values[0] || !values[1] || !values[2])
		return 0;
	str_addn(&key, values[0], strlen(values[0]) + 1);
	str_add(&key, values[1]);
	smap_put(aliases->matches, key.s, key.n, str_glob(aliases->pattern, values[2]));
	return 0;
}

static bool alias_matches(const struct ch_aliases *aliases, const struct entity *entity)
{
	rw_cleanup(str_done) struct str key = {0};
	uint64_t is = 0;
	str_addn(&key, entity->device, strlen(entity->device) + 1);
	str_add(&key, entity->port);
	return smap_get(aliases->matches, key.s, key.n, &is) && is;
}

static bool match_entity(const struct history_filter *filter, const struct ch_aliases *aliases,
	const struct entity *entity)
{
	if (filter->priority != HISTORY_ANY_PRIORITY && entity->priority != filter->priority)
		return false;
	if (!str_glob(filter->device, entity->device))
		return false;
	return !filter->port || str_glob(filter->port, entity->port) ||
		alias_matches(aliases, entity);
}

static bool match_series(
	const struct ch_history *db, const struct history_filter *filter, uint32_t id)
{
	for (size_t i = 0; i < filter->n_metrics; i++)
		if (ch_has_series(db, id, filter->metrics[i]))
			return true;
	for (unsigned m = 0; filter->n_metrics == 0 && m < METRIC_COUNT; m++)
		if (ch_has_series(db, id, m))
			return true;
	return false;
}

int ch_match(struct history *history, const struct history_filter *filter, uint32_t **ret,
	size_t *ret_n, struct err *e)
{
	struct ch_history *db = ch_history_of(history);
	struct ch_aliases aliases = {.pattern = filter->port, .matches = smap_new()};
	size_t n = 0;
	int r = ch_refresh(db, e);
	if (r == 0 && filter->port)
		r = ch_views_load(db, alias_sql, e);
	if (r == 0 && filter->port)
		r = record_views_sql(db->views, alias_sql, NULL, alias_take, &aliases, e);
	if (r == 0) {
		uint32_t *v = rw_calloc(entities_count(db->entities) + 1, sizeof(*v));
		for (uint32_t id = 1; id <= entities_count(db->entities); id++) {
			const struct entity *entity = entity_get(db->entities, id);
			if (entity && match_series(db, filter, id) &&
				match_entity(filter, &aliases, entity))
				v[n++] = id;
		}
		*ret = v;
		*ret_n = n;
	}
	smap_free(aliases.matches);
	return r;
}
