
#include "db/clickhouse/clickhouse.h"

#include "base/bytes.h"
#include "base/curl_io.h"
#include "base/locked.h"
#include "db/clickhouse/ch_client.h"
#include "db/clickhouse/clickhouse_read.h"
#include "db/series/series.h"
#include "db/series/series_memory.h"

/* ---- clickhouse_scan - samples: windows, in order of time, and when there are any.
 *
 * A window needs, for each series, the newest sample at or before its start. Most are found in
 * the rows of the two minutes before; then those of the hour before; then, for each metric that
 * still lacks some, one statement looks for the newest row of each entity. */

#define HOUR_NS (3600 * NS_PER_S)
#define DEVICES_NAMED 200 /* more are not worth naming in a statement */

/* ---- rows ------------------------------------------------------------------------- */

struct ch_sample { /* a sample, and when it was committed */
	struct sample sample;
	uint64_t seq;
	uint32_t part, agent;
};
struct ch_samples {
	struct ch_sample *v;
	size_t n, cap;
};
struct ch_scan_ask {
	unsigned scope;
	const uint16_t *metrics;
	size_t n_metrics;
	const char *where;
};

/* Those of @scope among @metrics (@n 0: all). */
static size_t ch_metrics_of(unsigned scope, const uint16_t *metrics, size_t n, uint16_t *ret)
{
	size_t kept = 0;
	for (unsigned m = 0; m < METRIC_COUNT; m++) {
		bool wanted = n == 0;
		for (size_t i = 0; i < n; i++)
			wanted |= metrics[i] == m;
		if (wanted && (unsigned)metric_info(m)->scope == scope)
			ret[kept++] = (uint16_t)m;
	}
	return kept;
}

static void scan_take(struct ch_history *db, const struct ch_scan_ask *ask,
	const struct ch_sample_row *row, uint32_t agent, struct ch_samples *ret)
{
	struct sample sample = row->shared;
	sample.entity =
		entities_intern(db->entities, row->name.device, row->name.port, row->name.priority);
	if (sample.entity == ENTITY_NONE)
		return;
	if (ch_is_late(db, &row->head, sample.t_ns))
		sample.flags |= SF_LATE;
	for (size_t i = 0; i < ask->n_metrics; i++) {
		if (!row->have[i])
			continue;
		sample.metric = ask->metrics[i];
		sample.value = row->values[i];
		if (metric_info(sample.metric)->type == TYPE_TEXT)
			sample.value = entities_text(db->entities, row->texts[i]);
		rw_grow(ret->v, ret->n, ret->cap);
		ret->v[ret->n++] = (struct ch_sample){sample, row->head.seq, row->head.part, agent};
	}
}

/* A number for the agent that says which one comes first. */
static uint32_t scan_agent(struct smap *agents, const char *agent)
{
	const size_t n = strlen(agent);
	uint64_t number;
	if (smap_get(agents, agent, n, &number))
		return (uint32_t)number;
	number = smap_count(agents);
	smap_put(agents, agent, n, number);
	return (uint32_t)number;
}

static void add_any_of(struct str *out, const uint16_t *metrics, size_t n)
{
	char column[CH_COLUMN_MAX];
	str_add(out, " AND (");
	for (size_t i = 0; i < n; i++) {
		ch_metric_column(column, metrics[i]);
		str_add(out, str_if(i > 0, " OR "));
		str_add(out, "isNotNull(");
		ch_add_name(out, column);
		str_add(out, ")");
	}
	str_add(out, ")");
}

/* Adds the samples of @metrics of one scope that @where (SQL) lets through. */
static int ch_scan(
	struct ch_history *db, const struct ch_scan_ask *ask, struct ch_samples *ret, struct err *e)
{
	rw_cleanup(str_done) struct str sql = {0}, answer = {0};
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	if (ask->n_metrics == 0)
		return 0;
	ch_select_samples(&sql, ask->scope, ask->metrics, ask->n_metrics);
	str_addf(&sql, " WHERE 1");
	add_any_of(&sql, ask->metrics, ask->n_metrics);
	str_addf(&sql, "%s FORMAT RowBinary", ask->where);
	const int r = ch_query(db, sql.s, &answer, e);
	if (r < 0)
		return r;
	rw_cleanup(freep) struct ch_sample_row *row = rw_calloc(1, sizeof(*row));
	struct bytes in = bytes_of(answer.s, answer.n);
	struct smap *agents = smap_new();
	while (bytes_left(&in) > 0) {
		ch_read_sample_row(&in, a, ask->metrics, ask->n_metrics, row);
		if (bytes_ok(&in))
			scan_take(db, ask, row, scan_agent(agents, row->head.agent), ret);
		arena_reset(a);
	}
	smap_free(agents);
	if (!bytes_ok(&in))
		return ch_damaged(db, e);
	return 0;
}

static int ch_sample_order(const void *left, const void *right)
{
	const struct ch_sample *x = left, *y = right;
	int r = sample_order(&x->sample, &y->sample);
	if (r == 0 && x->agent != y->agent)
		r = x->agent < y->agent ? -1 : 1;
	if (r == 0)
		r = (x->seq > y->seq) - (x->seq < y->seq);
	if (r == 0)
		r = (x->part > y->part) - (x->part < y->part);
	return r;
}

/* Sorted by (time, entity, metric), each of them once. */
static void ch_samples_settle(struct ch_samples *samples)
{
	size_t kept = 0;
	if (samples->n > 1)
		qsort(samples->v, samples->n, sizeof(*samples->v), ch_sample_order);
	for (size_t i = 0; i < samples->n; i++) {
		if (kept > 0 &&
			sample_order(&samples->v[kept - 1].sample, &samples->v[i].sample) == 0)
			continue;
		samples->v[kept++] = samples->v[i];
	}
	samples->n = kept;
}

/* " AND device IN (...)" for the devices of these entities, if they are few. */
static void ch_devices_where(
	struct str *out, const struct ch_history *db, const uint32_t *entities, size_t n)
{
	struct smap *named = smap_new();
	rw_cleanup(str_done) struct str list = {0};
	for (size_t i = 0; i < n && smap_count(named) <= DEVICES_NAMED; i++) {
		const struct entity *entity = entity_get(db->entities, entities[i]);
		uint64_t there;
		if (!entity || smap_get(named, entity->device, strlen(entity->device), &there))
			continue;
		smap_put(named, entity->device, strlen(entity->device), 1);
		str_add(&list, str_if(list.n > 0, ", "));
		ch_add_text(&list, entity->device);
	}
	if (list.n > 0 && smap_count(named) <= DEVICES_NAMED)
		str_addf(out, " AND device IN (%s)", list.s);
	smap_free(named);
}

/* hour is the first column of the key. */
static void add_times(struct str *out, int64_t from_ns, int64_t to_ns)
{
	str_addf(out, " AND t_ns >= %lld AND t_ns <= %lld", (long long)from_ns, (long long)to_ns);
	if (from_ns >= 0)
		str_addf(out, " AND hour >= %lld", (long long)(from_ns / HOUR_NS));
	if (to_ns >= 0 && to_ns / HOUR_NS < UINT32_MAX)
		str_addf(out, " AND hour <= %lld", (long long)(to_ns / HOUR_NS));
}

/* ---- windows ----------------------------------------------------------------------- */

struct ch_filling {
	struct ch_history *db;
	const struct window_spec *spec;
	int64_t from_ns, to_ns;
	struct ch_samples samples; /* of the window, and anchors */
	unsigned scope;
	uint16_t metrics[METRIC_COUNT];
	size_t n_metrics;
	struct ch_series *found; /* by entity: series that have an anchor */
	size_t n_found;
	struct str where; /* devices */
};

static int filling_scan(struct ch_filling *filling, const uint16_t *metrics, size_t n,
	int64_t from_ns, int64_t to_ns, struct ch_samples *ret, struct err *e)
{
	rw_cleanup(str_done) struct str where = {0};
	add_times(&where, from_ns, to_ns);
	str_add(&where, str_or(filling->where.s, ""));
	ch_not_late(&where, filling->db);
	const struct ch_scan_ask ask = {filling->scope, metrics, n, where.s};
	return ch_scan(filling->db, &ask, ret, e);
}

static bool anchor_wanted(const struct ch_filling *filling, uint32_t entity, unsigned metric)
{
	if (!ch_has_series(filling->db, entity, metric))
		return false;
	return !(filling->found[entity].have[metric / 64] >> (metric % 64) & 1);
}

/* Of @rows, which are sorted, the newest one of each series that lacks an anchor. */
static void anchors_take(struct ch_filling *filling, const struct ch_samples *rows)
{
	for (size_t i = rows->n; i-- > 0;) {
		const struct ch_sample *row = &rows->v[i];
		const unsigned metric = row->sample.metric;
		if (row->sample.entity >= filling->n_found ||
			!window_wants_entity(filling->spec, row->sample.entity) ||
			!anchor_wanted(filling, row->sample.entity, metric))
			continue;
		filling->found[row->sample.entity].have[metric / 64] |= UINT64_C(1)
			<< (metric % 64);
		rw_grow(filling->samples.v, filling->samples.n, filling->samples.cap);
		filling->samples.v[filling->samples.n++] = *row;
	}
}

/* The metrics of which some wanted series lacks an anchor, and those entities. */
static size_t anchors_missing(const struct ch_filling *filling, uint16_t *ret_metrics)
{
	size_t n = 0;
	for (size_t i = 0; i < filling->n_metrics; i++) {
		bool missing = false;
		for (uint32_t id = 1; !missing && id < filling->n_found; id++)
			missing = window_wants_entity(filling->spec, id) &&
				anchor_wanted(filling, id, filling->metrics[i]);
		if (missing)
			ret_metrics[n++] = filling->metrics[i];
	}
	return n;
}

static int anchors_near(struct ch_filling *filling, int64_t from_ns, int64_t to_ns, struct err *e)
{
	uint16_t metrics[METRIC_COUNT];
	struct ch_samples rows = {0};
	const size_t n = anchors_missing(filling, metrics);
	if (n == 0)
		return 0;
	const int r = filling_scan(filling, metrics, n, from_ns, to_ns, &rows, e);
	ch_samples_settle(&rows);
	if (r == 0)
		anchors_take(filling, &rows);
	free(rows.v);
	return r;
}

/* The newest row of each entity that has @metric, however long ago. */
static int anchors_far(struct ch_filling *filling, uint16_t metric, int64_t to_ns, struct err *e)
{
	rw_cleanup(str_done) struct str where = {0};
	struct ch_samples rows = {0};
	rw_cleanup(freep) uint32_t *missing = rw_calloc(filling->n_found + 1, sizeof(*missing));
	size_t n_missing = 0;
	for (uint32_t id = 1; id < filling->n_found; id++)
		if (window_wants_entity(filling->spec, id) && anchor_wanted(filling, id, metric))
			missing[n_missing++] = id;
	add_times(&where, INT64_MIN, to_ns);
	ch_devices_where(&where, filling->db, missing, n_missing);
	ch_not_late(&where, filling->db);
	str_add(&where, " ORDER BY t_ns DESC, agent, seq, row LIMIT 1 BY device, port, priority");
	const struct ch_scan_ask ask = {filling->scope, &metric, 1, where.s};
	const int r = ch_scan(filling->db, &ask, &rows, e);
	ch_samples_settle(&rows);
	if (r == 0)
		anchors_take(filling, &rows);
	free(rows.v);
	return r;
}

static const int64_t anchor_steps_ns[] = {120 * NS_PER_S, HOUR_NS};

static int fill_anchors(struct ch_filling *filling, struct err *e)
{
	int64_t to_ns = filling->from_ns;
	uint16_t metrics[METRIC_COUNT];
	int r = 0;
	for (size_t i = 0; r == 0 && i < rw_countof(anchor_steps_ns); i++) {
		const int64_t from_ns = filling->from_ns - anchor_steps_ns[i];
		r = anchors_near(filling, from_ns, to_ns, e);
		to_ns = from_ns - 1;
	}
	size_t n = 0;
	if (r == 0)
		n = anchors_missing(filling, metrics);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = anchors_far(filling, metrics[i], to_ns, e);
	return r;
}

static int fill_scope(struct ch_filling *filling, struct err *e)
{
	const struct window_spec *spec = filling->spec;
	filling->n_metrics = 0;
	if (spec->n_metrics > 0)
		filling->n_metrics = ch_metrics_of(
			filling->scope, spec->metrics, spec->n_metrics, filling->metrics);
	if (filling->n_metrics == 0)
		return 0;
	int r = filling_scan(filling, filling->metrics, filling->n_metrics, filling->from_ns + 1,
		filling->to_ns, &filling->samples, e);
	if (r == 0)
		r = fill_anchors(filling, e);
	return r;
}

/* Through the memory that the live pipeline judges from: so the windows are the same. */
static int fill_window(
	struct ch_filling *filling, struct arena *a, struct window *ret, struct err *e)
{
	struct series_memory *memory = series_memory_new(filling->db->entities, INT64_MAX / 4);
	struct flow_sample *flows = NULL;
	size_t n = 0;
	int r = 0;
	ch_samples_settle(&filling->samples);
	for (size_t i = 0; i < filling->samples.n; i++)
		(void)series_memory_add(memory, &filling->samples.v[i].sample);
	if (filling->spec->flows)
		r = ch_flows(filling->db, filling->from_ns + 1, filling->to_ns, &flows, &n, e);
	for (size_t i = 0; i < n; i++)
		series_memory_add_flow(memory, &flows[i]);
	if (r == 0)
		r = window_from_memory(
			memory, a, filling->spec, filling->from_ns, filling->to_ns, ret);
	free(flows);
	series_memory_free(memory);
	return r;
}

static int ch_window(struct history *history, struct arena *a, const struct window_spec *spec,
	int64_t from_ns, int64_t to_ns, struct window *ret, struct err *e)
{
	struct ch_history *db = ch_history_of(history);
	struct ch_filling filling = {.db = db, .spec = spec, .from_ns = from_ns, .to_ns = to_ns};
	int r = ch_refresh(db, e);
	if (r < 0)
		return r;
	filling.n_found = db->n_series;
	filling.found = rw_calloc(filling.n_found + 1, sizeof(*filling.found));
	if (spec->n_entities > 0)
		ch_devices_where(&filling.where, db, spec->entities, spec->n_entities);
	for (; r == 0 && filling.scope < CH_SAMPLE_TABLES; filling.scope++)
		r = fill_scope(&filling, e);
	if (r == 0)
		r = fill_window(&filling, a, ret, e);
	free(filling.found);
	free(filling.samples.v);
	str_done(&filling.where);
	return r;
}

/* ---- when there is something --------------------------------------------------------- */

/* The least or largest @column of a table under @where; false: there is no such row. */
static int ask_end(struct ch_history *db, const char *table, const char *end, const char *column,
	const char *where, bool *ret_there, int64_t *ret, struct err *e)
{
	rw_cleanup(str_done) struct str sql = {0}, answer = {0};
	str_addf(&sql, "SELECT toInt64(%s(%s)), count() FROM %s WHERE 1%s FORMAT RowBinary", end,
		column, table, where);
	const int r = ch_query(db, sql.s, &answer, e);
	if (r < 0)
		return r;
	struct bytes in = bytes_of(answer.s, answer.n);
	*ret = (int64_t)rowbinary_get_fixed(&in, 8);
	*ret_there = rowbinary_get_fixed(&in, 8) > 0;
	if (!bytes_ok(&in))
		return ch_damaged(db, e);
	return 0;
}

/* One end of a table of samples. The hours say where to look: rows that do not count are few. */
static int sample_end(struct ch_history *db, unsigned scope, const char *end, const char *where,
	bool *ret_there, int64_t *ret, struct err *e)
{
	rw_cleanup(str_done) struct str near = {0};
	int64_t hour;
	int r = ask_end(db, ch_table(scope), end, "hour", "", ret_there, &hour, e);
	if (r < 0 || !*ret_there)
		return r;
	str_addf(&near, " AND hour >= %lld AND hour <= %lld%s", (long long)(hour - 1),
		(long long)(hour + 1), where);
	if (hour == 0)
		near.n = 0;
	r = ask_end(db, ch_table(scope), end, "t_ns", near.n ? near.s : where, ret_there, ret, e);
	if (r == 0 && !*ret_there)
		r = ask_end(db, ch_table(scope), end, "t_ns", where, ret_there, ret, e);
	return r;
}

static int range_read(struct ch_history *db, const char *where, int64_t *ret_first_ns,
	int64_t *ret_last_ns, struct err *e)
{
	bool any = false;
	for (unsigned scope = 0; scope < CH_SAMPLE_TABLES; scope++) {
		int64_t first_ns, last_ns;
		bool there;
		int r = sample_end(db, scope, "min", where, &there, &first_ns, e);
		if (r == 0 && there)
			r = sample_end(db, scope, "max", where, &there, &last_ns, e);
		if (r < 0)
			return r;
		if (!there)
			continue;
		if (!any || first_ns < *ret_first_ns)
			*ret_first_ns = first_ns;
		if (!any || last_ns > *ret_last_ns)
			*ret_last_ns = last_ns;
		any = true;
	}
	if (any)
		return 0;
	return -ENODATA;
}

static int ch_range(
	struct history *history, int64_t *ret_first_ns, int64_t *ret_last_ns, struct err *e)
{
	struct ch_history *db = ch_history_of(history);
	rw_cleanup(str_done) struct str where = {0};
	int64_t ignored_ns;
	const int r = ch_refresh(db, e);
	if (r < 0)
		return r;
	if (!ret_first_ns)
		ret_first_ns = &ignored_ns;
	str_add(&where, " AND device != '" ENTITY_AGENT "'");
	if (history->not_after_ns)
		str_addf(&where, " AND t_ns <= %lld", (long long)history->not_after_ns);
	ch_not_late(&where, db);
	return range_read(db, where.s, ret_first_ns, ret_last_ns, e);
}

static int ch_next(struct history *history, int64_t t_ns, int64_t *ret_ns, struct err *e)
{
	struct ch_history *db = ch_history_of(history);
	rw_cleanup(str_done) struct str where = {0}, near = {0};
	bool any = false;
	if (t_ns == INT64_MAX)
		return -ENODATA;
	add_times(&where, t_ns + 1, INT64_MAX);
	add_times(&near, t_ns + 1, t_ns + HOUR_NS);
	for (unsigned table = 0; table <= CH_SAMPLE_TABLES; table++) {
		const char *name = ch_table(table), *column = "t_ns";
		rw_cleanup(str_done) struct str flows = {0};
		int64_t found;
		bool there = false;
		int r = 0;
		if (table == CH_SAMPLE_TABLES) {
			name = spool_table_name(SPOOL_FLOWS);
			column = "to_ns";
			str_addf(&flows, " AND to_ns > %lld", (long long)t_ns);
			r = ask_end(db, name, "min", column, flows.s, &there, &found, e);
		} else {
			r = ask_end(db, name, "min", column, near.s, &there, &found, e);
			if (r == 0 && !there)
				r = ask_end(db, name, "min", column, where.s, &there, &found, e);
		}
		if (r < 0)
			return r;
		if (there && (!any || found < *ret_ns))
			*ret_ns = found;
		any |= there;
	}
	if (any)
		return 0;
	return -ENODATA;
}

/* ---- all samples in order of time ------------------------------------------------------ */

#define SLICE_FIRST_NS (60 * NS_PER_S)
#define SLICE_FEW 100000
#define SLICE_MANY 1000000
#define SLICE_MAX_NS (24 * HOUR_NS)

struct ch_walk {
	struct ch_history *db;
	const struct history_filter *filter;
	uint32_t *entities; /* sorted; NULL: all */
	size_t n_entities;
	uint16_t metrics[CH_SAMPLE_TABLES][METRIC_COUNT];
	size_t n_metrics[CH_SAMPLE_TABLES];
	struct str where;
};

static int walk_slice(
	struct ch_walk *walk, int64_t from_ns, int64_t to_ns, struct ch_samples *ret, struct err *e)
{
	rw_cleanup(str_done) struct str where = {0};
	int r = 0;
	add_times(&where, from_ns, to_ns);
	str_add(&where, str_or(walk->where.s, ""));
	ret->n = 0;
	for (unsigned scope = 0; r == 0 && scope < CH_SAMPLE_TABLES; scope++) {
		const struct ch_scan_ask ask = {
			scope, walk->metrics[scope], walk->n_metrics[scope], where.s};
		r = ch_scan(walk->db, &ask, ret, e);
	}
	ch_samples_settle(ret);
	return r;
}

static int walk_give(
	const struct ch_walk *walk, const struct ch_samples *samples, sample_fn *fn, void *arg)
{
	const struct window_spec wanted = {
		.entities = walk->entities, .n_entities = walk->n_entities};
	for (size_t i = 0; i < samples->n; i++) {
		if (walk->entities &&
			(walk->n_entities == 0 ||
				!window_wants_entity(&wanted, samples->v[i].sample.entity)))
			continue;
		const int stop = fn(arg, &samples->v[i].sample);
		if (stop != 0)
			return stop;
	}
	return 0;
}

static int walk_all(struct ch_walk *walk, int64_t first_ns, int64_t last_ns, sample_fn *fn,
	void *arg, struct err *e)
{
	int64_t slice_ns = SLICE_FIRST_NS;
	struct ch_samples samples = {0};
	int r = 0;
	while (r == 0 && first_ns <= last_ns) {
		int64_t end_ns = last_ns;
		if (last_ns - first_ns > slice_ns - 1)
			end_ns = first_ns + slice_ns - 1;
		r = walk_slice(walk, first_ns, end_ns, &samples, e);
		if (r == 0)
			r = walk_give(walk, &samples, fn, arg);
		if (end_ns == last_ns)
			break;
		first_ns = end_ns + 1;
		if (samples.n < SLICE_FEW && slice_ns < SLICE_MAX_NS)
			slice_ns *= 2;
		else if (samples.n > SLICE_MANY && slice_ns > 1)
			slice_ns /= 2;
	}
	free(samples.v);
	return r;
}

static int ch_each_sample(struct history *history, const struct history_filter *filter,
	sample_fn *fn, void *arg, struct err *e)
{
	struct ch_history *db = ch_history_of(history);
	struct ch_walk walk = {.db = db, .filter = filter};
	int64_t first_ns, last_ns;
	int r = ch_refresh(db, e);
	if (r == 0)
		r = range_read(db, "", &first_ns, &last_ns, e);
	if (r == -ENODATA)
		return 0;
	if (r == 0 && filter)
		r = ch_match(history, filter, &walk.entities, &walk.n_entities, e);
	if (r < 0)
		return r;
	if (filter && filter->from_ns > first_ns)
		first_ns = filter->from_ns;
	if (filter && filter->to_ns != 0 && filter->to_ns < last_ns)
		last_ns = filter->to_ns;
	if (walk.entities)
		ch_devices_where(&walk.where, db, walk.entities, walk.n_entities);
	for (unsigned scope = 0; scope < CH_SAMPLE_TABLES; scope++) {
		const uint16_t *metrics = NULL;
		size_t n = 0;
		if (filter) {
			metrics = filter->metrics;
			n = filter->n_metrics;
		}
		walk.n_metrics[scope] = ch_metrics_of(scope, metrics, n, walk.metrics[scope]);
	}
	if (!filter || walk.n_entities > 0)
		r = walk_all(&walk, first_ns, last_ns, fn, arg, e);
	free(walk.entities);
	str_done(&walk.where);
	return r;
}

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
