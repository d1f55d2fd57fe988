/* series_scan - all samples in order of time, for replay and query. A slice of time is read device
 * by device (only what is asked for), sorted in memory, and handed out after its transaction has
 * ended. The length of the slices follows the density of the data. */

#include "db/series/series.h"
#include "db/sqlite/read/blocks.h"
#include "db/sqlite/read/series_db.h"
#include "db/sqlite/read/series_ends.h"
#include "db/sqlite/read/tally.h"
#include "db/sqlite/schema/flow_row.h"
#include "db/sqlite/schema/sqlite_io.h"

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
	struct scan_usage *usage; /* samples are added up there, not put into .slice */
};

static int scan_usage_metric(
	struct scan *scan, unsigned metric, const int64_t *entities, size_t n_entities);

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
	if (!history_wants(f, entity->id))
		return false;
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
	for (unsigned m = 0; rc == SQLITE_OK && m < METRIC_COUNT; m++) {
		if (!scan->metrics[m] || !blocks_may_have(blocks, has, m))
			continue;
		if (scan->usage)
			rc = scan_usage_metric(scan, m, entities, n);
		else
			rc = scan_metric(scan, m, entities, n);
	}
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

/* Those that @takes of @n names, @ids or else all of 1 .. n. Returns how many; the caller frees. */
static size_t series_choose(const struct series_db *db, const uint32_t *ids, size_t n,
	bool (*takes)(void *arg, uint32_t id), void *arg, struct chosen **ret)
{
	struct chosen *chosen = rw_calloc(n + 1, sizeof(*chosen));
	size_t n_chosen = 0;

	for (size_t i = 0; i < n; i++) {
		const uint32_t id = ids ? ids[i] : (uint32_t)i + 1;
		if (takes(arg, id))
			chosen[n_chosen++] = (struct chosen){
				entity_device(db->entities, id), db->names[id].file_id};
	}
	if (n_chosen > 1)
		qsort(chosen, n_chosen, sizeof(*chosen), chosen_order);
	*ret = chosen;
	return n_chosen;
}

/* The names of the device of the first of @n, into @ret; returns how many. */
static size_t chosen_device(const struct chosen *chosen, size_t n, int64_t *ret)
{
	size_t k = 0;

	for (; k < n && chosen[k].device == chosen->device; k++)
		ret[k] = chosen[k].file_id;
	return k;
}

/* Does the filter choose names? Else all series of all devices are read. */
static bool scan_chooses(const struct scan *scan)
{
	const struct history_filter *filter = scan->filter;

	return filter &&
		(filter->device || filter->port || filter->ids ||
			filter->priority != HISTORY_ANY_PRIORITY);
}

static bool scan_takes_known(void *arg, uint32_t id)
{
	const struct scan *scan = arg;

	return series_known(scan->db, id, scan->slice.from_ns) && scan_takes(arg, id);
}

static int scan_chosen(struct scan *scan)
{
	const struct series_db *db = scan->db;
	rw_cleanup(freep) struct chosen *chosen = NULL;
	const size_t n = series_choose(
		db, NULL, entities_count(db->entities), scan_takes_known, scan, &chosen);
	rw_cleanup(freep) int64_t *ids = rw_calloc(n + 1, sizeof(*ids));
	int rc = SQLITE_OK;

	for (size_t i = 0, k; rc == SQLITE_OK && i < n; i += k) {
		k = chosen_device(chosen + i, n - i, ids);
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

/* ---- a range, added up ----------------------------------------------------------- */

struct scan_usage { /* of one series_usage() */
	struct tally *tally;
	int64_t from_ns, to_ns, step_ns;
	rollup_sketch_fn *fn;
	void *arg;
};

static bool scan_knows(void *arg, int64_t file_id)
{
	const struct scan *scan = arg;

	return series_known(scan->db, series_numbered(scan->db, file_id), scan->slice.from_ns);
}

static int scan_usage_name(void *arg, int64_t file_id, uint32_t *ret)
{
	struct scan *scan = arg;
	uint32_t id;
	const int rc = series_name_of(scan->db, file_id, &id);

	if (rc == SQLITE_OK && series_known(scan->db, id, scan->slice.from_ns) &&
		scan_takes(scan, id))
		*ret = id;
	return rc;
}

static uint64_t scan_usage_text(void *arg, uint64_t number)
{
	return series_text_of(((struct scan *)arg)->db, (int64_t)number);
}

static int scan_usage_take(
	void *arg, const struct rollup *rollup, const struct rollup_sketch *sketch)
{
	struct scan_usage *to = ((struct scan *)arg)->usage;

	to->fn(to->arg, rollup, sketch);
	return SQLITE_OK;
}

static int scan_usage_metric(
	struct scan *scan, unsigned metric, const int64_t *entities, size_t n_entities)
{
	struct scan_usage *to = scan->usage;
	const struct tally_ask ask = {.metric = metric,
		.from_ns = to->from_ns,
		.to_ns = to->to_ns,
		.step_ns = to->step_ns,
		.no_quantiles = scan->filter->no_quantiles,
		.entities = entities,
		.n_entities = n_entities,
		.known = scan_knows,
		.name = scan_usage_name,
		.text = scan_usage_text,
		.take = scan_usage_take,
		.arg = scan};
	bool more = true;
	int rc = SQLITE_OK;

	tally_begin(to->tally, &ask);
	while (rc == SQLITE_OK && more)
		rc = tally_more(to->tally, &more);
	return rc;
}

int series_usage(struct series_db *db, const struct history_filter *filter, int64_t step_ns,
	rollup_sketch_fn *fn, void *arg, struct err *e)
{
	struct scan_usage to = {.from_ns = filter->from_ns,
		.to_ns = filter->to_ns,
		.step_ns = step_ns,
		.fn = fn,
		.arg = arg};
	rw_cleanup(scan_done) struct scan scan = {0};
	int rc = SQLITE_OK;

	if (to.to_ns <= to.from_ns)
		return 0;
	scan_init(&scan, db, filter);
	scan.usage = &to;
	to.tally = tally_new(db->blocks);
	if (filter->port)
		rc = load_aliases(&scan);
	if (rc == SQLITE_OK)
		rc = read_slice(&scan, to.from_ns + 1, to.to_ns);
	tally_free(to.tally);
	if (rc != SQLITE_OK)
		return sqlite_fail(e, db->db, rc, "read", db->path);
	return 0;
}

/* series_fill - windows from SQLite. Per device and metric, the blocks and tail rows of the range,
 * and of each series the newest sample at or before its start, however far back (blocks.c).
 * Values that came too late are left out. */

struct filler {
	struct series_db *db;
	const struct window_spec *spec;
	int64_t from_ns, to_ns;
	struct arena *arena; /* of the window */
	struct series_list { /* of each metric, device by device */
		struct series *v;
		size_t n, cap;
	} lists[METRIC_COUNT];
	int64_t *file_ids; /* of one device */
	size_t cap_file_ids;
	struct arena *scratch; /* of one metric of one device */
};

/* ---- who is wanted ---------------------------------------------------------- */

/* Of all names only priorities that are asked for. */
static bool filler_wants(void *arg, uint32_t id)
{
	const struct filler *filler = arg;

	if (!series_known(filler->db, id, filler->from_ns))
		return false;
	const int priority = entity_get(filler->db->entities, id)->priority;
	return filler->spec->n_entities > 0 || priority < 0 || filler->spec->lanes >> priority & 1;
}

static bool filler_knows(void *arg, int64_t file_id)
{
	const struct filler *filler = arg;

	return series_known(filler->db, series_numbered(filler->db, file_id), filler->from_ns);
}

/* ---- samples ------------------------------------------------------------------ */

/* The texts of a file have numbers of their own. */
static const uint64_t *filler_texts(struct filler *filler, const struct gathered *series)
{
	uint64_t *ids = arena_array(filler->arena, uint64_t, series->n);

	for (uint32_t i = 0; i < series->n; i++)
		ids[i] = series_text_of(filler->db, (int64_t)series->value[i]);
	return ids;
}

static int filler_take(struct filler *filler, unsigned metric, const struct gathered *series)
{
	uint32_t id;
	int rc = series_name_of(filler->db, series->entity, &id);

	if (rc != SQLITE_OK || !series_known(filler->db, id, filler->from_ns))
		return rc;
	struct series_list *list = &filler->lists[metric];
	rw_grow(list->v, list->n, list->cap);
	struct series *to = &list->v[list->n++];
	*to = (struct series){.entity = id,
		.metric = (uint16_t)metric,
		.n = series->n,
		.t_ns = series->t_ns,
		.value = series->value,
		.flags = series->flags,
		.window_ms = series->window_ms};
	if (metric_info(metric)->type == TYPE_TEXT)
		to->value = filler_texts(filler, series);
	return SQLITE_OK;
}

/* The window does not begin at its first instant but after it. */
static int filler_device(struct filler *filler, uint32_t device)
{
	return blocks_device(filler->db->blocks, filler->db->names[device].file_id,
		filler->from_ns + 1, filler->to_ns);
}

/* The device of filler_device(). */
static int fill_device(struct filler *filler, const int64_t *entities, size_t n_entities)
{
	struct blocks *blocks = filler->db->blocks;
	struct gathered *series;
	size_t n;
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && i < filler->spec->n_metrics; i++) {
		const struct gather_want want = {.metric = filler->spec->metrics[i],
			.anchors = !filler->spec->inside,
			.entities = entities,
			.n_entities = n_entities,
			.known = filler_knows,
			.arg = filler};
		rc = blocks_gather(blocks, &want, filler->arena, &series, &n);
		for (size_t k = 0; rc == SQLITE_OK && k < n; k++)
			rc = filler_take(filler, want.metric, &series[k]);
	}
	return rc;
}

/* A device that is gone may have had ports at the time. */
static bool is_device(const struct series_db *db, uint32_t id)
{
	return id < db->n_names && db->names[id].file_id != 0 &&
		entity_device(db->entities, id) == id;
}

static int fill_all(struct filler *filler)
{
	int rc = SQLITE_OK;

	for (uint32_t id = 1; rc == SQLITE_OK && id <= entities_count(filler->db->entities); id++) {
		if (!is_device(filler->db, id))
			continue;
		rc = filler_device(filler, id);
		if (rc == SQLITE_OK)
			rc = fill_device(filler, NULL, 0);
	}
	return rc;
}

static int file_id_order(const void *left, const void *right)
{
	const int64_t x = *(const int64_t *)left, y = *(const int64_t *)right;

	return (x > y) - (x < y);
}

/* Ascending, each once; returns how many. */
static size_t file_ids_sort(int64_t *ids, size_t n)
{
	size_t kept = 0;

	qsort(ids, n, sizeof(*ids), file_id_order);
	for (size_t i = 0; i < n; i++)
		if (kept == 0 || ids[kept - 1] != ids[i])
			ids[kept++] = ids[i];
	return kept;
}

/* Does this queue have to come although its priority is not asked for? */
static bool gathered_opens(unsigned metric, const struct gathered *series)
{
	if (metric_info(metric)->kind == METRIC_STATE)
		return series->value[series->n - 1] != 0;
	return series_moved(series->value, series->n);
}

/* Adds the queues of which @metric says that they open to the wanted entities of the device, of
 * which there are *@n, ascending. Names are looked up for these alone: mostly nearly all queues
 * stand still. */
static int filler_open_by(struct filler *filler, unsigned metric, size_t *n)
{
	const struct gather_want want = {.metric = metric,
		.anchors = true,
		.moving = metric_info(metric)->kind != METRIC_STATE};
	struct gathered *series;
	size_t n_series;
	const size_t n_before = *n;
	size_t at = 0;
	uint32_t id;

	arena_reset(filler->scratch);
	int rc = blocks_gather(filler->db->blocks, &want, filler->scratch, &series, &n_series);
	for (size_t k = 0; rc == SQLITE_OK && k < n_series; k++) {
		while (at < n_before && filler->file_ids[at] < series[k].entity)
			at++;
		const bool there = at < n_before && filler->file_ids[at] == series[k].entity;
		if (there || !gathered_opens(metric, &series[k]))
			continue;
		rc = series_name_now(filler->db, series[k].entity, &id);
		if (rc != SQLITE_OK || !series_known(filler->db, id, filler->from_ns))
			continue;
		rw_grow(filler->file_ids, *n, filler->cap_file_ids);
		filler->file_ids[(*n)++] = series[k].entity;
	}
	if (*n > n_before)
		*n = file_ids_sort(filler->file_ids, *n);
	return rc;
}

#define LANES_EVERY 0xffu /* all that there are is asked for: nothing is left to open */

/* The device of filler_device(): its wanted entities, @n of them, ascending, and what opens. */
static int fill_opened(struct filler *filler, size_t n)
{
	const bool every = (filler->spec->lanes & LANES_EVERY) == LANES_EVERY;
	int rc = SQLITE_OK;

	for (size_t i = 0; rc == SQLITE_OK && !every && i < filler->spec->n_opens; i++)
		rc = filler_open_by(filler, filler->spec->opens[i], &n);
	if (rc == SQLITE_OK)
		rc = fill_device(filler, filler->file_ids, n);
	return rc;
}

static int fill_some(struct filler *filler)
{
	const struct window_spec *spec = filler->spec;
	rw_cleanup(freep) struct chosen *chosen = NULL;
	size_t n = spec->n_entities;
	int rc = SQLITE_OK;

	if (n == 0)
		n = entities_count(filler->db->entities);
	n = series_choose(filler->db, spec->n_entities > 0 ? spec->entities : NULL, n, filler_wants,
		filler, &chosen);
	filler->cap_file_ids = n + 1;
	filler->file_ids = rw_calloc(filler->cap_file_ids, sizeof(*filler->file_ids));
	for (size_t i = 0, k; rc == SQLITE_OK && i < n; i += k) {
		const uint32_t device = chosen[i].device;
		k = chosen_device(chosen + i, n - i, filler->file_ids);
		if (!is_device(filler->db, device))
			continue;
		rc = filler_device(filler, device);
		if (rc == SQLITE_OK)
			rc = fill_opened(filler, k);
	}
	return rc;
}

static int fill_series(struct filler *filler)
{
	if (filler->from_ns == INT64_MAX)
		return SQLITE_OK;
	if (filler->spec->n_entities > 0 || filler->spec->lanes)
		return fill_some(filler);
	return fill_all(filler);
}

/* ---- flows --------------------------------------------------------------------- */

static int fill_flows(struct filler *filler, struct window *window)
{
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	rw_cleanup(str_done) struct str sql = {0};
	struct flow_sample *v = NULL;
	size_t n = 0, cap = 0;

	flow_row_select(&sql);
	str_add(&sql, " WHERE to_ns>?1 AND to_ns<=?2");
	int rc = sqlite3_prepare_v2(filler->db->db, sql.s, (int)sql.n, &st, NULL);
	sqlite3_bind_int64(st, 1, filler->from_ns);
	sqlite3_bind_int64(st, 2, filler->to_ns);
	while (rc == SQLITE_OK && (rc = sqlite3_step(st)) == SQLITE_ROW) {
		uint32_t entity;
		rc = series_name_of(filler->db, sqlite3_column_int64(st, 0), &entity);
		if (rc != SQLITE_OK || entity == ENTITY_NONE)
			continue;
		rw_grow(v, n, cap);
		flow_row_read(st, entity, &v[n++]);
	}
	if (rc == SQLITE_DONE && n > 0) {
		struct flow_sample *kept = arena_array(filler->arena, struct flow_sample, n);
		memcpy(kept, v, n * sizeof(*v));
		window_give_flows(window, kept, n);
	}
	free(v);
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	return rc;
}

/* ---- the window ------------------------------------------------------------------ */

/* All series by (metric, entity), into the window. A metric's come device by device, which is
 * mostly in order. Each list is freed once it is copied: there are millions of series. */
static void filler_give(struct filler *filler, struct window *window)
{
	size_t n = 0;

	for (size_t m = 0; m < METRIC_COUNT; m++)
		n += filler->lists[m].n;
	struct series *to = arena_array(filler->arena, struct series, n);
	window->series = to;
	window->n_series = n;
	for (size_t m = 0; m < METRIC_COUNT; to += filler->lists[m++].n) {
		struct series_list *list = &filler->lists[m];
		bool sorted = true;
		for (size_t i = 1; i < list->n; i++)
			sorted &= list->v[i - 1].entity < list->v[i].entity;
		if (list->n > 0)
			memcpy(to, list->v, list->n * sizeof(*to));
		if (!sorted)
			qsort(to, list->n, sizeof(*to), series_order);
		free(list->v);
		list->v = NULL;
	}
}

static void filler_done(struct filler *filler)
{
	for (size_t m = 0; m < METRIC_COUNT; m++)
		free(filler->lists[m].v);
	free(filler->file_ids);
}

/* Whose names are read before: without anchors none need be known that has no sample, so queues are
 * looked up as they come. */
static unsigned filler_lanes(const struct filler *filler)
{
	const struct window_spec *spec = filler->spec;

	if (spec->bare && spec->inside)
		return WINDOW_LANES;
	return spec->lanes;
}

/* Does the file have series of any of the metrics, as far as the counts that its writer keeps say?
 */
static int filler_has_any(const struct filler *filler, bool *ret)
{
	const struct blocks *blocks = filler->db->blocks;
	rw_cleanup(sqlite_finalizep) sqlite3_stmt *st = NULL;
	int rc = SQLITE_OK;

	*ret = !filler->spec->bare || !blocks->has_counts;
	if (!*ret)
		rc = sqlite3_prepare_v2(filler->db->db,
			"SELECT 1 FROM series_count WHERE metric=?1 LIMIT 1", -1, &st, NULL);
	for (size_t i = 0; rc == SQLITE_OK && !*ret && i < filler->spec->n_metrics; i++) {
		sqlite3_bind_int64(st, 1, blocks->number[filler->spec->metrics[i]]);
		*ret = sqlite3_step(st) == SQLITE_ROW;
		rc = sqlite3_reset(st);
	}
	return rc;
}

int series_db_window(struct history *history, struct arena *a, const struct window_spec *spec,
	int64_t from_ns, int64_t to_ns, struct window *ret, struct err *e)
{
	struct series_db *db = series_db_of(history);
	struct window window = {.from_ns = from_ns, .to_ns = to_ns, .entities = db->entities};
	rw_cleanup(filler_done) struct filler filler = {
		.db = db, .spec = spec, .from_ns = from_ns, .to_ns = to_ns, .arena = a};
	rw_cleanup(arena_freep) struct arena *scratch = arena_new();
	filler.scratch = scratch;
	int r = 0, rc = series_begin_bare(db);

	if (rc == SQLITE_OK)
		rc = blocks_begin(db->blocks);
	bool any = true;
	if (rc == SQLITE_OK)
		rc = filler_has_any(&filler, &any);
	if (rc == SQLITE_OK && spec->n_entities > 0)
		rc = series_names_some(db, from_ns, spec->entities, spec->n_entities);
	else if (rc == SQLITE_OK && any)
		rc = series_names_lanes(db, from_ns, filler_lanes(&filler));
	if (rc == SQLITE_OK && any)
		rc = fill_series(&filler);
	if (rc == SQLITE_OK && spec->flows)
		rc = fill_flows(&filler, &window);
	if (rc == SQLITE_OK)
		rc = db->text_rc;
	if (rc != SQLITE_OK)
		r = sqlite_fail(e, db->db, rc, "read", db->path);
	series_end(db);
	if (r == 0) {
		filler_give(&filler, &window);
		*ret = window;
	}
	return r;
}

/* ---- which priorities moved ------------------------------------------------------- */

/* Of the device at hand. Names are looked up of queues that moved alone. */
static int moved_of(struct series_db *db, unsigned metric, struct arena *scratch, unsigned *ret)
{
	const struct gather_want want = {.metric = metric, .anchors = true, .moving = true};
	struct gathered *series;
	size_t n;
	uint32_t id;

	arena_reset(scratch);
	int rc = blocks_gather(db->blocks, &want, scratch, &series, &n);
	for (size_t i = 0; rc == SQLITE_OK && i < n; i++) {
		if (!series_moved(series[i].value, series[i].n))
			continue;
		rc = series_name_now(db, series[i].entity, &id);
		const struct entity *entity = entity_get(db->entities, id);
		if (entity)
			*ret |= window_lane_bit(entity->priority);
	}
	return rc;
}

int series_db_moved(struct history *history, const struct window_spec *spec, int64_t from_ns,
	int64_t to_ns, unsigned *ret, struct err *e)
{
	struct series_db *db = series_db_of(history);
	rw_cleanup(arena_freep) struct arena *scratch = arena_new();
	int r = 0, rc = series_begin_bare(db);

	*ret = 0;
	if (rc == SQLITE_OK)
		rc = blocks_begin(db->blocks);
	if (rc == SQLITE_OK)
		rc = series_names_lanes(db, from_ns, spec->lanes);
	for (uint32_t id = 1; rc == SQLITE_OK && id <= entities_count(db->entities); id++) {
		if (!is_device(db, id))
			continue;
		if (*ret == LANES_EVERY)
			break;
		rc = blocks_device(db->blocks, db->names[id].file_id, from_ns + 1, to_ns);
		for (size_t i = 0; rc == SQLITE_OK && i < spec->n_metrics; i++)
			rc = moved_of(db, spec->metrics[i], scratch, ret);
	}
	if (rc != SQLITE_OK)
		r = sqlite_fail(e, db->db, rc, "read", db->path);
	series_end(db);
	return r;
}
