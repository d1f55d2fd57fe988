/*
 * clickhouse_read - a reader of a ClickHouse database: what clickhouse.c (where it is,
 * samples, operations) and clickhouse_read.c (names, series, clocks that were set back, flows,
 * records, views) share. One thread.
 *
 * Each reading orders rows by (agent, seq, part): what an agent sent twice is taken once, and of
 * two values of one instant the one that was committed first stays, as in a file.
 */
#pragma once

#include "base/base.h"
#include "db/clickhouse/ch_client.h"
#include "db/clickhouse/ch_rows.h"
#include "db/series/history.h"
#include "db/sqlite/record_views.h"

#define CH_WORDS_OF(n) (((n) + 63) / 64)

/* Up to which of an agent's rows a table was read. */
struct ch_seen {
	char *agent;
	uint64_t seq;
};
struct ch_seen_list {
	struct ch_seen *v;
	size_t n, cap;
};

struct ch_rewind { /* of samples that were committed before, those that are newer are late */
	char *agent;
	uint64_t seq;
	uint32_t part;
	int64_t t_ns;
};

struct ch_series { /* of an entity, by its id */
	uint64_t have[CH_WORDS_OF(METRIC_COUNT)];
};

struct ch_history {
	struct history history; /* first */
	struct ch_client client;
	char *url, *database, *username, *password, *ca; /* password: locked */
	struct entities *entities;
	struct ch_series *series; /* by entity */
	size_t n_series;
	struct ch_seen_list series_seen;
	struct ch_rewind *rewinds;
	size_t n_rewinds, cap_rewinds;
	struct record_views *views;
	struct ch_seen_list seen[SPOOL_TABLES]; /* of .views */
	struct smap *incident_agents; /* id -> number of the agent that has it */
};

static inline struct ch_history *ch_history_of(struct history *history)
{
	return (struct ch_history *)history;
}

/* ch_query - the whole answer to @sql. */
int ch_query(struct ch_history *db, const char *sql, struct str *ret, struct err *e);
/* ch_damaged - -EBADMSG: the answer was not what the statement asks for. */
int ch_damaged(const struct ch_history *db, struct err *e);

/* ---- clickhouse_read.c ---- */
void ch_seen_done(struct ch_seen_list *seen);
/* ch_refresh - names, series and rewinds that are new. */
int ch_refresh(struct ch_history *db, struct err *e);
static inline bool ch_has_series(const struct ch_history *db, uint32_t entity, unsigned metric)
{
	return entity < db->n_series && (db->series[entity].have[metric / 64] >> (metric % 64) & 1);
}
bool ch_is_late(const struct ch_history *db, const struct ch_row_head *head, int64_t t_ns);
/* " AND ..." for rows that are not late. */
void ch_not_late(struct str *out, const struct ch_history *db);

int ch_match(struct history *history, const struct history_filter *filter, uint32_t **ret,
	size_t *ret_n, struct err *e);
int ch_each_flow(struct history *history, int64_t from_ns, int64_t to_ns, flow_fn *fn, void *arg,
	struct err *e);
int ch_fabric_at(struct history *history, int64_t at_ns, char **ret_yaml, struct err *e);

/* clickhouse_read.c: flows whose end is in [from, to], each once, by end. @a holds nothing
 * afterwards that is needed. */
int ch_flows(struct ch_history *db, int64_t from_ns, int64_t to_ns, struct flow_sample **ret,
	size_t *ret_n, struct err *e);
/* ch_views_load - the tables that @sql names are up to date in .views. */
int ch_views_load(struct ch_history *db, const char *sql, struct err *e);
