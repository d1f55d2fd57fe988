/* clickhouse_history - the past as a ClickHouse database holds it, of all agents that write there.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/bytes.h"
#include "agent/base/cleanup.h"
#include "agent/base/curl_io.h"
#include "agent/base/err.h"
#include "agent/base/locked.h"
#include "db/clickhouse/clickhouse.h"
#include "db/clickhouse/clickhouse_read.h"
#include "db/clickhouse/rowbinary.h"

static const struct entities *ch_entities(struct history *history)
{
	return ch_history_of(history)->entities;
}

static void ch_close(struct history *history)
{
	struct ch_history *db = ch_history_of(history);
	record_views_close(db->views);
	entities_free(db->entities);
	for (size_t i = 0; i < db->n_rewinds; i++)
		free(db->rewinds[i].agent);
	for (size_t i = 0; i < SPOOL_TABLES; i++)
		ch_seen_done(&db->seen[i]);
	ch_seen_done(&db->series_seen);
	smap_free(db->incident_agents);
	free(db->rewinds);
	free(db->series);
	free(db->url);
	free(db->database);
	free(db->username);
	locked_free(db->password);
	free(db->ca);
	free(db);
}

/* ---- statements --------------------------------------------------------------------------- */

/* A number that changes when something was committed anywhere: what a page that follows asks. */
static const char version_sql[] =
	"SELECT sum(s) FROM (SELECT agent, max(seq) AS s FROM samples_port WHERE hour >= (SELECT "
	"max(hour) FROM samples_port) GROUP BY agent UNION ALL SELECT agent, max(seq) AS s FROM "
	"samples_priority WHERE hour >= (SELECT max(hour) FROM samples_priority) GROUP BY agent "
	"UNION ALL SELECT agent, max(seq) AS s FROM incidents GROUP BY agent UNION ALL SELECT "
	"agent, "
	"max(seq) AS s FROM targets GROUP BY agent) FORMAT TabSeparated";

static int version_ask(struct ch_history *db, row_fn *fn, void *arg, struct err *e)
{
	static char name[] = "data_version";
	rw_cleanup(str_done) struct str answer = {0};
	const int r = ch_query(db, version_sql, &answer, e);
	if (r < 0)
		return r;
	if (answer.n > 0)
		answer.s[strcspn(answer.s, "\n")] = '\0';
	char *value = answer.s, *names = name;
	/* fits in 62 bits, as its reader expects */
	rw_cleanup(str_done) struct str number = {0};
	str_addf(&number, "%lld",
		(long long)(strtoull(str_or(value, "0"), NULL, 10) & (UINT64_MAX >> 2)));
	return fn(arg, 1, &number.s, &names);
}

int ch_sql(struct history *history, const char *sql, row_fn *head, row_fn *fn, void *arg,
	struct err *e)
{
	struct ch_history *db = ch_history_of(history);
	if (!head && strstr(sql, "pragma_data_version"))
		return version_ask(db, fn, arg, e);
	if (head && (strcasestr(sql, "samples") || strcasestr(sql, "rates")))
		return err_set(e, -ENOTSUP,
			"samples in ClickHouse are read with ClickHouse's own SQL (tables %s, %s, "
			"%s), "
			"or with 'rocewatch query'",
			ch_table(SCOPE_PORT), ch_table(SCOPE_PRIO), ch_table(SCOPE_DEVICE));
	const int r = ch_views_load(db, sql, e);
	if (r < 0)
		return r;
	return record_views_sql(db->views, sql, head, fn, arg, e);
}

/* ---- opening -------------------------------------------------------------------------------- */

static const struct history_ops clickhouse_history_ops = {
	.close = ch_close,
	.entities = ch_entities,
	.window = ch_window,
	.range = ch_range,
	.next = ch_next,
	.match = ch_match,
	.each_sample = ch_each_sample,
	.each_flow = ch_each_flow,
	.fabric_at = ch_fabric_at,
	.sql = ch_sql,
};

/* Are our tables there? */
static int tables_check(struct ch_history *db, struct err *e)
{
	rw_cleanup(str_done) struct str sql = {0}, answer = {0};
	str_add(&sql,
		"SELECT count() FROM system.tables WHERE name IN ('series', 'samples_port') AND "
		"database=");
	ch_add_text(&sql, db->database);
	str_add(&sql, " FORMAT TabSeparated");
	const int r = ch_ask(&db->client, sql.s, true, CURL_ANSWER_MAX, &answer, e);
	if (r < 0 || (answer.s && atoi(answer.s) == 2))
		return r;
	return err_set(e, -ENOENT,
		"%s has no database %s that an agent has written; agents make it when store.ship "
		"names it",
		db->url, db->database);
}

int clickhouse_history_open(const char *url, struct history **ret, struct err *e)
{
	struct ch_history *db = rw_calloc(1, sizeof(*db));
	db->history.ops = &clickhouse_history_ops;
	db->entities = entities_new();
	db->incident_agents = smap_new();
	curl_io_begin();
	int r = clickhouse_url_read(url, db, e);
	if (r == 0)
		r = tables_check(db, e);
	if (r == 0)
		r = record_views_open(url, &db->views, e);
	if (r < 0)
		ch_close(&db->history);
	else
		*ret = &db->history;
	return r;
}
