/*
 * series_scan - all samples in order of time, for replay and query. A slice of time is read device
 * by device (only what is asked for), sorted in memory, and handed out after its transaction has
 * ended. The length of the slices follows the density of the data.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/err.h"
#include "agent/base/str.h"
#include "db/sqlite/blocks.h"
#include "db/sqlite/flow_row.h"
#include "db/sqlite/series_db.h"
#include "db/sqlite/series_ends.h"
#include "db/sqlite/sqlite_io.h"

#define SLICE_FIRST_NS (60 * NS_PER_S)
#define SLICE_FEW 50000 /* fewer samples than this: the next slice is twice as long */
#define SLICE_MANY 400000 /* more: half as long */
#define SLICE_MAX_NS (INT64_MAX / 4)

enum scan_match { MATCH_UNKNOWN, MATCH_YES, MATCH_NO };

struct scan {
	struct series_db *db;
	const struct history_filter *filter;
	bool metrics[METRIC_COUNT]; /* wanted */
	/* "device\0port" -> does its newest alias match; NULL when no port pattern was given */
	struct smap *aliases;
	uint8_t *matches; /* enum scan_match, by entity */
	uint32_t n_matches;
	struct series_slice slice;
	struct arena *scratch;
};

static size_t alias_key(char *buf, size_t size, const char *device, const char *port)
{
	int n = snprintf(buf, size, "%s%c%s", device, '\0', port);

	if (n < 0)
		return 0;
	if ((size_t)n < size)
		return (size_t)n;
	return size - 1;
}

/* A port matches by its native name or by its alias. Aliases are few; they are read only when there
 * is a pattern. */
static int load_aliases(struct scan *scan)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	char key[512];
	int rc = sqlite3_prepare_v2(scan->db->db,
		"SELECT device, port, alias FROM port_attr WHERE alias<>'' ORDER BY t_ns", -1, &st,
		NULL);

	scan->aliases = smap_new();
	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		size_t n = alias_key(key, sizeof(key), (const char *)sqlite3_column_text(st, 0),
			(const char *)sqlite3_column_text(st, 1));
		uint64_t matches =
			str_glob(scan->filter->port, (const char *)sqlite3_column_text(st, 2));
		smap_put(scan->aliases, key, n, matches);
		rc = SQLITE_OK;
	}
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	return rc;
}

static bool entity_matches(const struct scan *scan, const struct entity *entity)
{
	const struct history_filter *f = scan->filter;
	char key[512];
	uint64_t alias = 0;

	if (!f)
		return true;
	if (f->priority != HISTORY_ANY_PRIORITY && entity->priority != f->priority)
		return false;
	if (!str_glob(f->device, entity->device))
		return false;
	if (!f->port || str_glob(f->port, entity->port))
		return true;
	smap_get(scan->aliases, key, alias_key(key, sizeof(key), entity->device, entity->port),
		&alias);
	return alias != 0;
}

static bool scan_takes(void *arg, uint32_t id)
{
	struct scan *scan = arg;

	if (id >= scan->n_matches) {
		const uint32_t n = id + id / 2 + 64;
		scan->matches = rw_realloc(scan->matches, n);
		memset(scan->matches + scan->n_matches, MATCH_UNKNOWN, n - scan->n_matches);
		scan->n_matches = n;
	}
	if (scan->matches[id] == MATCH_UNKNOWN) {
		const struct entity *entity = entity_get(scan->db->entities, id);
		scan->matches[id] = MATCH_NO;
		if (entity && entity_matches(scan, entity))
			scan->matches[id] = MATCH_YES;
	}
	return scan->matches[id] == MATCH_YES;
}

/* ---- a slice ------------------------------------------------------------------- */

/* Of a text metric: the texts of a file have numbers of their own. */
static uint64_t scan_value(struct series_db *db, unsigned metric, uint64_t value)
{
	if (metric_info(metric)->type == TYPE_TEXT)
		return series_text_of(db, (int64_t)value);
	return value;
}

static void scan_add(struct scan *scan, unsigned metric, uint32_t id, const struct gathered *series)
{
	struct series_slice *slice = &scan->slice;

	for (uint32_t i = 0; i < series->n; i++) {
		rw_grow(slice->v, slice->n, slice->cap);
		slice->v[slice->n++] = (struct sample){.t_ns = series->t_ns[i],
			.entity = id,
			.metric = (uint16_t)metric,
			.value = scan_value(scan->db, metric, series->value[i]),
			.flags = series->flags[i],
			.source = series->source[i],
			.window_ms = series->window_ms[i]};
	}
}

/* One metric of the device at hand. */
static int scan_metric(
	struct scan *scan, unsigned metric, const int64_t *entities, size_t n_entities)
{
	const struct gather_want want = {
		.metric = metric, .late = true, .entities = entities, .n_entities = n_entities};
	struct gathered *series;
	size_t n;

	arena_reset(scan->scratch);
	int rc = blocks_gather(scan->db->blocks, &want, scan->scratch, &series, &n);
	for (size_t i = 0; rc == SQLITE_OK && i < n; i++) {
		uint32_t id;
		rc = series_name_of(scan->db, series[i].entity, &id);
		if (rc == SQLITE_OK && series_known(scan->db, id, scan->slice.from_ns) &&
			scan_takes(scan, id))
			scan_add(scan, metric, id, &series[i]);
	}
	return rc;
}

static int scan_device(struct scan *scan, uint32_t device, const int64_t *entities, size_t n)
{
	struct blocks *blocks = scan->db->blocks;
	const int64_t file_id = scan->db->names[device].file_id;
	bool has[METRIC_COUNT];
	int rc = blocks_device(blocks, file_id, scan->slice.from_ns, scan->slice.to_ns);

	if (rc == SQLITE_OK)
		rc = blocks_metrics(blocks, file_id, has);
	for (unsigned m = 0; rc == SQLITE_OK && m < METRIC_COUNT; m++)
		if (scan->metrics[m] && blocks_may_have(blocks, has, m))
			rc = scan_metric(scan, m, entities, n);
	return rc;
}

/* The names that are wanted, device by device. */
struct chosen {
	uint32_t device;
	int64_t file_id;
};

static int chosen_order(const void *left, const void *right)
{
	const struct chosen *x = left, *y = right;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return (x->file_id > y->file_id) - (x->file_id < y->file_id);
}

/* Does the filter choose names? Else all series of all devices are read. */
static bool scan_chooses(const struct scan *scan)
{
	const struct history_filter *filter = scan->filter;

	return filter &&
		(filter->device || filter->port || filter->priority != HISTORY_ANY_PRIORITY);
}

static int scan_chosen(struct scan *scan)
{
	const struct series_db *db = scan->db;
	const uint32_t most = entities_count(db->entities);
	rw_cleanup(freep) struct chosen *chosen = rw_calloc((size_t)most + 1, sizeof(*chosen));
	rw_cleanup(freep) int64_t *ids = rw_calloc((size_t)most + 1, sizeof(*ids));
	size_t n = 0;
	int rc = SQLITE_OK;

	for (uint32_t id = 1; id <= most; id++)
		if (series_known(db, id, scan->slice.from_ns) && scan_takes(scan, id))
			chosen[n++] = (struct chosen){
				entity_device(db->entities, id), db->names[id].file_id};
	if (n > 1)
		qsort(chosen, n, sizeof(*chosen), chosen_order);
	for (size_t i = 0, k; rc == SQLITE_OK && i < n; i += k) {
		for (k = 0; i + k < n && chosen[i + k].device == chosen[i].device; k++)
			ids[k] = chosen[i + k].file_id;
		if (db->names[chosen[i].device].file_id)
			rc = scan_device(scan, chosen[i].device, ids, k);
	}
	return rc;
}

static int scan_blocks(struct scan *scan)
{
	const struct series_db *db = scan->db;
	int rc = blocks_begin(db->blocks);

	if (rc == SQLITE_OK && scan_chooses(scan))
		return scan_chosen(scan);
	for (uint32_t id = 1; rc == SQLITE_OK && id <= entities_count(db->entities); id++)
		if (id < db->n_names && db->names[id].file_id &&
			entity_device(db->entities, id) == id)
			rc = scan_device(scan, id, NULL, 0);
	return rc;
}

/* One slice [from, to] into scan->slice. */
static int read_slice(struct scan *scan, int64_t from_ns, int64_t to_ns)
{
	struct series_slice *slice = &scan->slice;
	const char *device = NULL;
	int rc = series_begin_bare(scan->db);

	if (scan->filter)
		device = scan->filter->device;
	if (rc == SQLITE_OK)
		rc = series_names_filter(scan->db, from_ns, device, NULL);
	slice->from_ns = from_ns;
	slice->to_ns = to_ns;
	slice->n = 0;
	if (rc == SQLITE_OK)
		rc = scan_blocks(scan);
	if (rc == SQLITE_OK)
		rc = scan->db->text_rc;
	series_end(scan->db);
	if (slice->n > 1)
		qsort(slice->v, slice->n, sizeof(*slice->v), sample_order);
	return rc;
}

/* ---- what is wanted ------------------------------------------------------------ */

static void scan_init(struct scan *scan, struct series_db *db, const struct history_filter *filter)
{
	*scan = (struct scan){.db = db, .filter = filter};
	for (unsigned m = 0; m < METRIC_COUNT; m++)
		scan->metrics[m] = !filter || filter->n_metrics == 0;
	for (size_t i = 0; filter && i < filter->n_metrics; i++)
		scan->metrics[filter->metrics[i]] = true;
	scan->slice.metrics = scan->metrics;
	scan->slice.takes = scan_takes;
	scan->slice.arg = scan;
	scan->scratch = arena_new();
}

static void scan_done(struct scan *scan)
{
	smap_free(scan->aliases);
	free(scan->matches);
	free(scan->slice.v);
	arena_free(scan->scratch);
}

/* Did the entity ever have one of the metrics? @part: table series is asked for it alone. */
static int scan_has_any(const struct scan *scan, uint32_t id, bool part, bool *ret)
{
	*ret = false;
	if (part)
		return series_entity_has(scan->db, id, scan->metrics, ret);
	for (unsigned m = 0; !*ret && m < METRIC_COUNT; m++)
		*ret = scan->metrics[m] && series_present(scan->db, id, m);
	return SQLITE_OK;
}

struct matched {
	uint32_t *v;
	size_t n, cap;
};

/* In a transaction: the names that the filter lets through. */
static int scan_match(struct scan *scan, int64_t from_ns, struct matched *ret)
{
	struct series_db *db = scan->db;
	bool part;
	int rc = series_names_filter(db, from_ns, scan->filter->device, &part);

	if (rc == SQLITE_OK && !part)
		rc = series_present_load(db, from_ns);
	if (rc == SQLITE_OK && scan->filter->port)
		rc = load_aliases(scan);
	for (uint32_t id = 1; rc == SQLITE_OK && id <= entities_count(db->entities); id++) {
		bool has = false;
		if (series_known(db, id, from_ns) && scan_takes(scan, id))
			rc = scan_has_any(scan, id, part, &has);
		if (!has)
			continue;
		rw_grow(ret->v, ret->n, ret->cap);
		ret->v[ret->n++] = id;
	}
	return rc;
}

int series_db_match(struct history *history, const struct history_filter *filter, uint32_t **ret,
	size_t *ret_n, struct err *e)
{
	struct series_db *db = series_db_of(history);
	struct scan scan;
	struct matched matched = {0};
	const int64_t from_ns = filter->from_ns ? filter->from_ns : INT64_MIN;
	int r = 0, rc = series_begin_bare(db);

	scan_init(&scan, db, filter);
	if (rc == SQLITE_OK)
		rc = scan_match(&scan, from_ns, &matched);
	if (rc != SQLITE_OK)
		r = sqlite_fail(e, db->db, rc, "read", db->path);
	series_end(db);
	scan_done(&scan);
	if (r < 0) {
		free(matched.v);
		return r;
	}
	*ret = matched.v;
	*ret_n = matched.n;
	return 0;
}

/* ---- slice by slice -------------------------------------------------------------- */

/* The length of the next slice, by how many samples the last one had. */
static int64_t next_slice(int64_t slice_ns, size_t n)
{
	if (n < SLICE_FEW && slice_ns < SLICE_MAX_NS)
		return slice_ns * 2;
	if (n > SLICE_MANY && slice_ns > 1)
		return slice_ns / 2;
	return slice_ns;
}

/* Slice by slice over [@first_ns, @last_ns]; @ret_stop: what @fn returned. */
static int scan_slices(struct scan *scan, int64_t first_ns, int64_t last_ns, sample_fn *fn,
	void *arg, int *ret_stop)
{
	int64_t slice_ns = SLICE_FIRST_NS;

	*ret_stop = 0;
	while (first_ns <= last_ns) {
		int64_t end_ns = last_ns;
		if (last_ns - first_ns > slice_ns - 1)
			end_ns = first_ns + slice_ns - 1;
		int rc = read_slice(scan, first_ns, end_ns);
		if (rc != SQLITE_OK)
			return rc;
		for (size_t i = 0; i < scan->slice.n; i++) {
			*ret_stop = fn(arg, &scan->slice.v[i]);
			if (*ret_stop != 0)
				return SQLITE_OK;
		}
		if (end_ns == last_ns)
			break;
		first_ns = end_ns + 1;
		slice_ns = next_slice(slice_ns, scan->slice.n);
	}
	return SQLITE_OK;
}

int series_db_each_sample(struct history *history, const struct history_filter *filter,
	sample_fn *fn, void *arg, struct err *e)
{
	struct series_db *db = series_db_of(history);
	struct scan scan;
	int64_t first_ns, last_ns;
	int rc = SQLITE_OK, r = series_whole_range(db, &first_ns, &last_ns, e);

	if (r == -ENODATA)
		return 0;
	if (r < 0)
		return r;
	if (filter && filter->from_ns > first_ns)
		first_ns = filter->from_ns;
	if (filter && filter->to_ns != 0 && filter->to_ns < last_ns)
		last_ns = filter->to_ns;
	scan_init(&scan, db, filter);
	if (filter && filter->port)
		rc = load_aliases(&scan);
	if (rc == SQLITE_OK)
		rc = scan_slices(&scan, first_ns, last_ns, fn, arg, &r);
	if (rc != SQLITE_OK)
		r = sqlite_fail(e, db->db, rc, "read", db->path);
	scan_done(&scan);
	return r;
}

int series_db_each_flow(struct history *history, int64_t from_ns, int64_t to_ns, flow_fn *fn,
	void *arg, struct err *e)
{
	struct series_db *db = series_db_of(history);
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	rw_cleanup(str_done) struct str sql = {0};
	struct flow_sample flow;
	int r = 0, rc = SQLITE_OK;

	if (to_ns == 0)
		to_ns = INT64_MAX;
	flow_row_select(&sql);
	str_add(&sql,
		" WHERE to_ns>=?1 AND to_ns<=?2 ORDER BY to_ns, entity, from_ns, total DESC, "
		"octets DESC, id");
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(db->db, sql.s, (int)sql.n, &st, NULL);
	sqlite3_bind_int64(st, 1, from_ns);
	sqlite3_bind_int64(st, 2, to_ns);
	while (rc == SQLITE_OK && r == 0 && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		uint32_t entity;
		rc = series_name_of(db, sqlite3_column_int64(st, 0), &entity);
		if (rc != SQLITE_OK || entity == ENTITY_NONE)
			continue;
		flow_row_read(st, entity, &flow);
		r = fn(arg, &flow);
	}
	if (rc == SQLITE_OK || rc == SQLITE_DONE)
		return r;
	return sqlite_fail(e, db->db, rc, "read", db->path);
}
