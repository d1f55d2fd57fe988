
#include "db/clickhouse/clickhouse.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/curl_io.h"
#include "base/err.h"
#include "base/locked.h"
#include "db/clickhouse/ch_client.h"
#include "db/clickhouse/clickhouse_read.h"

/* The password of USER is in this variable, or in the file that the second one names. One in the
 * URL would be seen by everybody who lists processes, and is refused. */
#define CLICKHOUSE_PASSWORD "ROCEWATCH_CLICKHOUSE_PASSWORD"
#define CLICKHOUSE_PASSWORD_FILE "ROCEWATCH_CLICKHOUSE_PASSWORD_FILE"
#define CLICKHOUSE_CA "ROCEWATCH_CLICKHOUSE_CA" /* authorities to trust, a file */

/* clickhouse_url - where a database is, and who asks. */

#define CH_TIMEOUT_NS (300 * NS_PER_S)
#define PASSWORD_MAX 4096

static const struct {
	const char *scheme, *http;
	int port;
} ch_schemes[] = {
	{"clickhouse://", "http", 8123},
	{"clickhouses://", "https", 8443},
};

static int scheme_find(const char *url)
{
	for (size_t i = 0; i < rw_countof(ch_schemes); i++)
		if (strncmp(url, ch_schemes[i].scheme, strlen(ch_schemes[i].scheme)) == 0)
			return (int)i;
	return -1;
}

bool clickhouse_is_url(const char *path)
{
	return scheme_find(path) >= 0;
}

/* As it stands in the environment, which this user's processes see anyway, or in a file. */
static int password_read(struct ch_history *to, struct err *e)
{
	const char *password = getenv(CLICKHOUSE_PASSWORD),
		   *path = getenv(CLICKHOUSE_PASSWORD_FILE);
	size_t n;
	if (password && *password) {
		to->password = locked_dup(password);
		return 0;
	}
	if (!path || !*path)
		return 0;
	const int r = locked_read_file(path, PASSWORD_MAX, &to->password, &n, e);
	if (r == 0)
		to->password[strcspn(to->password, "\r\n")] = '\0';
	return r;
}

/* A name of a database stands in statements between backquotes. */
static bool database_is_plain(const char *name)
{
	return *name && !strpbrk(name, "`\\'\"/?#&% ");
}

static int url_split(const char *url, int scheme, struct ch_history *to)
{
	rw_cleanup(freep) char *rest = rw_strdup(url + strlen(ch_schemes[scheme].scheme));
	rw_cleanup(str_done) struct str http = {0};
	char *host = rest, *slash = strchr(rest, '/'), *at;
	if (!slash)
		return -EINVAL;
	*slash = '\0';
	at = strrchr(rest, '@');
	if (at) {
		*at = '\0';
		host = at + 1;
		if (!*rest || strchr(rest, ':'))
			return -EINVAL;
		to->username = rw_strdup(rest);
	}
	const char *bracket = strchr(host, ']'); /* of an IPv6 address */
	const char *colon = strchr(str_or(bracket, host), ':');
	str_addf(&http, "%s://%s", ch_schemes[scheme].http, host);
	if (!colon)
		str_addf(&http, ":%d", ch_schemes[scheme].port);
	if (!*host || !database_is_plain(slash + 1))
		return -EINVAL;
	to->database = rw_strdup(slash + 1);
	to->url = rw_take(http.s);
	return 0;
}

/* Fills where and who. */
static int clickhouse_url_read(const char *url, struct ch_history *to, struct err *e)
{
	const int scheme = scheme_find(url);
	const char *ca = getenv(CLICKHOUSE_CA);
	int r = -EINVAL;
	if (scheme >= 0)
		r = url_split(url, scheme, to);
	if (r < 0)
		return err_set(e, -EINVAL,
			"the database is not a URL such as clickhouse://USER@HOST:8123/DATABASE "
			"(TLS: clickhouses://); the password belongs into %s or into a file that "
			"%s "
			"names",
			CLICKHOUSE_PASSWORD, CLICKHOUSE_PASSWORD_FILE);
	r = password_read(to, e);
	if (r < 0)
		return r;
	if (ca && *ca)
		to->ca = rw_strdup(ca);
	to->client = (struct ch_client){.url = to->url,
		.database = to->database,
		.username = to->username,
		.password = to->password,
		.tls = {.ca = to->ca},
		.timeout_ns = CH_TIMEOUT_NS,
		.stop_fd = -1};
	return 0;
}

/* clickhouse_history - the past as a ClickHouse database holds it, of all agents that write there.
 */

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

static int ch_sql(struct history *history, const char *sql, row_fn *head, row_fn *fn, void *arg,
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
