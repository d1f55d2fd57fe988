/*
 * ship_clickhouse - batches to a ClickHouse server.
 *
 * Tables and columns that are missing are made, unless a table is Distributed: then somebody laid
 * out a cluster, and has to run the schema's statements there. Until then everything waits.
 */

#include "db/clickhouse/ch_client.h"
#include "db/clickhouse/ch_rows.h"
#include "db/ship/ship_sink.h"

#define SCHEMA_ANSWER (4u << 20)

struct clickhouse_sink {
	bool ready; /* the schema is there */
	struct map *series; /* those that were told, by a hash of name and metric */
};

static struct clickhouse_sink *clickhouse_state(struct ship_sink *sink)
{
	if (!sink->state) {
		struct clickhouse_sink *state = rw_calloc(1, sizeof(*state));
		state->series = map_new();
		sink->state = state;
	}
	return sink->state;
}

static bool is_own_machine(const char *url)
{
	static const char *const hosts[] = {"127.", "localhost:", "localhost/", "[::1]"};
	const char *host = strstr(url, "://");
	for (size_t i = 0; host && i < rw_countof(hosts); i++)
		if (strncmp(host + 3, hosts[i], strlen(hosts[i])) == 0)
			return true;
	return false;
}

static struct ch_client clickhouse_client(const struct ship_sink *sink)
{
	const struct ship_options *o = sink->options;
	return (struct ch_client){
		.url = o->url,
		.database = o->database,
		.username = o->username,
		.password = sink->password,
		.tls = {o->tls_ca, o->tls_cert, o->tls_key, o->tls_skip_verify},
		.packed = !is_own_machine(o->url),
		.timeout_ns = o->timeout_ns,
		.stop_fd = sink->stop_fd,
	};
}

/* ---- schema --------------------------------------------------------------------- */

/* What is there, as lines "table" and "table.column". */
static int schema_read(
	const struct ch_client *client, struct smap *have, struct smap *distributed, struct err *e)
{
	rw_cleanup(str_done) struct str sql = {0}, answer = {0};
	str_add(&sql, "SELECT concat(table, '.', name) FROM system.columns WHERE database=");
	ch_add_text(&sql, client->database);
	str_add(&sql,
		" UNION ALL SELECT concat(if(engine='Distributed', '=', '-'), name) FROM "
		"system.tables WHERE database=");
	ch_add_text(&sql, client->database);
	str_add(&sql, " FORMAT TabSeparated");
	const int r = ch_ask(client, sql.s, true, SCHEMA_ANSWER, &answer, e);
	char *save = NULL, *line = NULL;
	if (r == 0 && answer.n > 0)
		line = strtok_r(answer.s, "\n", &save);
	for (; line; line = strtok_r(NULL, "\n", &save)) {
		if (line[0] == '=')
			smap_put(distributed, line + 1, strlen(line + 1), 1);
		if (line[0] == '=' || line[0] == '-')
			line++;
		smap_put(have, line, strlen(line), 1);
	}
	return r;
}

static bool schema_there(const struct smap *have, const char *table, const char *column)
{
	char key[2 * CH_COLUMN_MAX];
	uint64_t there;
	int n = snprintf(
		key, sizeof(key), "%s%s%s", table, str_if(column, "."), str_or(column, ""));
	return smap_get(have, key, (size_t)n, &there);
}

static int schema_column(const struct ch_client *client, unsigned table,
	const struct ch_column *column, struct err *e)
{
	rw_cleanup(str_done) struct str sql = {0};
	str_addf(&sql, "ALTER TABLE %s ADD COLUMN ", ch_table(table));
	ch_add_name(&sql, column->name);
	str_addf(&sql, " %s", column->type);
	return ch_ask(client, sql.s, false, 0, NULL, e);
}

static int schema_table(const struct ch_client *client, unsigned table, const struct smap *have,
	const struct smap *distributed, struct err *e)
{
	rw_cleanup(str_done) struct str sql = {0};
	struct ch_column columns[CH_COLUMNS_MAX];
	uint64_t is;
	if (!schema_there(have, ch_table(table), NULL)) {
		ch_create(&sql, client->database, table, NULL);
		return ch_ask(client, sql.s, false, 0, NULL, e);
	}
	const unsigned n = ch_columns(table, columns);
	int r = 0;
	for (unsigned i = 0; r == 0 && i < n; i++) {
		if (schema_there(have, ch_table(table), columns[i].name))
			continue;
		if (smap_get(distributed, ch_table(table), strlen(ch_table(table)), &is))
			return err_set(e, -ENOENT,
				"table %s has no column %s: run the statements of 'rocewatch db "
				"clickhouse schema --cluster NAME' on the cluster, and add the "
				"column "
				"to the tables that are there",
				ch_table(table), columns[i].name);
		r = schema_column(client, table, &columns[i], e);
	}
	return r;
}

static int schema_make(const struct ch_client *client, struct err *e)
{
	rw_cleanup(str_done) struct str sql = {0};
	struct smap *have = smap_new(), *distributed = smap_new();
	int r = schema_read(client, have, distributed, e);
	if (r == 0 && smap_count(have) == 0) {
		str_add(&sql, "CREATE DATABASE IF NOT EXISTS ");
		ch_add_name(&sql, client->database);
		r = ch_ask(client, sql.s, true, 0, NULL, e);
	}
	for (unsigned table = 0; r == 0 && table < CH_TABLES; table++)
		r = schema_table(client, table, have, distributed, e);
	smap_free(have);
	smap_free(distributed);
	return r;
}

/* ---- series --------------------------------------------------------------------- */

static uint64_t series_name_hash(const struct spool_name *name)
{
	uint64_t hash = hash_bytes(name->device, strlen(name->device) + 1, 0);
	hash = hash_bytes(name->port, strlen(name->port) + 1, hash);
	return hash_bytes(&name->priority, sizeof(name->priority), hash);
}

static void series_of_samples(struct clickhouse_sink *state, const char *agent, int64_t seq,
	const struct spool_samples *samples, struct str *rows)
{
	rw_cleanup(freep) uint64_t *hashes = rw_calloc(samples->n_names + 1, sizeof(*hashes));
	for (size_t i = 0; i < samples->n_names; i++)
		hashes[i] = series_name_hash(&samples->names[i]);
	for (size_t i = 0; i < samples->n; i++) {
		const struct sample *sample = &samples->v[i];
		const uint64_t key = hash_u64(hashes[sample->entity] + sample->metric);
		uint64_t told;
		if (map_get(state->series, key, &told))
			continue;
		map_put(state->series, key, 1);
		ch_series_row(rows, agent, seq, &samples->names[sample->entity], sample->metric,
			sample->t_ns);
	}
}

static int series_send(struct ship_sink *sink, const struct ch_client *client,
	const struct spool_batch *batch, struct err *e)
{
	struct clickhouse_sink *state = clickhouse_state(sink);
	rw_cleanup(str_done) struct str sql = {0}, rows = {0};
	for (size_t p = 0; p < batch->n; p++)
		for (size_t c = 0; c < batch->parts[p].n; c++)
			if (batch->parts[p].chunks[c].samples)
				series_of_samples(state, sink->options->agent, batch->parts[p].seq,
					batch->parts[p].chunks[c].samples, &rows);
	if (rows.n == 0)
		return 0;
	ch_series_sql(&sql);
	return ch_insert(client, sql.s, &rows, e);
}

/* ---- a batch -------------------------------------------------------------------- */

static int insertions_send(const struct ship_sink *sink, const struct ch_client *client,
	const struct spool_batch *batch, struct err *e)
{
	rw_cleanup(freep) struct ch_insertions *insertions = rw_calloc(1, sizeof(*insertions));
	int r = 0;
	ch_insertions_of(batch, sink->options->agent, insertions);
	for (unsigned i = 0; r == 0 && i < insertions->n; i++)
		r = ch_insert(client, insertions->v[i].sql.s, &insertions->v[i].rows, e);
	ch_insertions_done(insertions);
	return r;
}

static int clickhouse_send(struct ship_sink *sink, const struct spool_batch *batch, struct err *e)
{
	struct clickhouse_sink *state = clickhouse_state(sink);
	const struct ch_client client = clickhouse_client(sink);
	int r = 0;
	if (!state->ready)
		r = schema_make(&client, e);
	state->ready = r == 0;
	if (r == 0)
		r = series_send(sink, &client, batch, e);
	if (r == 0)
		r = insertions_send(sink, &client, batch, e);
	if (r < 0) { /* another server may be there the next time, which knows nothing */
		state->ready = false;
		map_free(state->series);
		state->series = map_new();
	}
	return r;
}

static void clickhouse_done(struct ship_sink *sink)
{
	struct clickhouse_sink *state = sink->state;
	if (state)
		map_free(state->series);
	free(state);
	sink->state = NULL;
}

const struct ship_sink_ops ship_clickhouse = {.send = clickhouse_send, .done = clickhouse_done};
