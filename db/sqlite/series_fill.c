/*
 * series_fill - windows from SQLite. Per device and metric, the blocks and tail rows of the range,
 * and of each series the newest sample at or before its start, however far back (blocks_gather.c).
 * Values that came too late are left out.
 */
#include <stdlib.h>
#include <string.h>
#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "db/series/series_window.h"
#include "db/sqlite/blocks.h"
#include "db/sqlite/flow_row.h"
#include "db/sqlite/series_db.h"
#include "db/sqlite/sqlite_io.h"

struct filler {
	struct series_db *db;
	const struct window_spec *spec;
	int64_t from_ns, to_ns;
	struct series_list list;
	/* the wanted entities, where only some are: by device and number in the file */
	struct wanted {
		uint32_t device;
		int64_t file_id;
	} * wanted;
	size_t n_wanted;
	int64_t *file_ids; /* of one device */
};

/* ---- who is wanted ---------------------------------------------------------- */

static int wanted_order(const void *left, const void *right)
{
	const struct wanted *x = left, *y = right;

	if (x->device != y->device)
		return x->device < y->device ? -1 : 1;
	return (x->file_id > y->file_id) - (x->file_id < y->file_id);
}

static void filler_choose(struct filler *filler)
{
	const struct window_spec *spec = filler->spec;

	filler->wanted = rw_calloc(spec->n_entities + 1, sizeof(*filler->wanted));
	filler->file_ids = rw_calloc(spec->n_entities + 1, sizeof(*filler->file_ids));
	for (size_t i = 0; i < spec->n_entities; i++) {
		const uint32_t id = spec->entities[i];
		if (!series_known(filler->db, id, filler->from_ns))
			continue;
		filler->wanted[filler->n_wanted++] =
			(struct wanted){.device = entity_device(filler->db->entities, id),
				.file_id = filler->db->names[id].file_id};
	}
	if (filler->n_wanted > 1)
		qsort(filler->wanted, filler->n_wanted, sizeof(*filler->wanted), wanted_order);
}

static bool filler_knows(void *arg, int64_t file_id)
{
	const struct filler *filler = arg;
	uint64_t id;

	return map_get(filler->db->ids, (uint64_t)file_id, &id) &&
		series_known(filler->db, (uint32_t)id, filler->from_ns);
}

/* ---- samples ------------------------------------------------------------------ */

/* The texts of a file have numbers of their own. */
static const uint64_t *filler_texts(struct filler *filler, const struct gathered *series)
{
	uint64_t *ids = arena_array(filler->list.arena, uint64_t, series->n);

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
	struct series_list *list = &filler->list;
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

static int fill_device(
	struct filler *filler, uint32_t device, const int64_t *entities, size_t n_entities)
{
	struct blocks *blocks = filler->db->blocks;
	struct gathered *series;
	size_t n;
	/* the window does not begin at its first instant but after it */
	int rc = blocks_device(
		blocks, filler->db->names[device].file_id, filler->from_ns + 1, filler->to_ns);

	for (size_t i = 0; rc == SQLITE_OK && i < filler->spec->n_metrics; i++) {
		const struct gather_want want = {.metric = filler->spec->metrics[i],
			.anchors = true,
			.entities = entities,
			.n_entities = n_entities,
			.known = filler_knows,
			.arg = filler};
		rc = blocks_gather(blocks, &want, filler->list.arena, &series, &n);
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

	for (uint32_t id = 1; rc == SQLITE_OK && id <= entities_count(filler->db->entities); id++)
		if (is_device(filler->db, id))
			rc = fill_device(filler, id, NULL, 0);
	return rc;
}

static int fill_some(struct filler *filler)
{
	int rc = SQLITE_OK;

	filler_choose(filler);
	for (size_t i = 0, n; rc == SQLITE_OK && i < filler->n_wanted; i += n) {
		const uint32_t device = filler->wanted[i].device;
		for (n = 0; i + n < filler->n_wanted; n++) {
			if (filler->wanted[i + n].device != device)
				break;
			filler->file_ids[n] = filler->wanted[i + n].file_id;
		}
		if (is_device(filler->db, device))
			rc = fill_device(filler, device, filler->file_ids, n);
	}
	return rc;
}

static int fill_series(struct filler *filler)
{
	int rc = blocks_begin(filler->db->blocks);
	if (rc != SQLITE_OK || filler->from_ns == INT64_MAX)
		return rc;
	if (filler->spec->n_entities > 0)
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
		struct flow_sample *kept = arena_array(filler->list.arena, struct flow_sample, n);
		memcpy(kept, v, n * sizeof(*v));
		window_give_flows(window, kept, n);
	}
	free(v);
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	return rc;
}

/* ---- the window ------------------------------------------------------------------ */

/* By (metric, entity). They come device by device: sorted by metric in one pass, and each metric's
 * stretch is mostly in order then. */
static void filler_sort(struct filler *filler, struct series *to)
{
	const struct series_list *list = &filler->list;
	size_t at[METRIC_COUNT + 1] = {0};

	for (size_t i = 0; i < list->n; i++)
		at[list->v[i].metric + 1]++;
	for (size_t m = 0; m < METRIC_COUNT; m++)
		at[m + 1] += at[m];
	for (size_t i = 0; i < list->n; i++)
		to[at[list->v[i].metric]++] = list->v[i];
	for (size_t m = 0, first = 0; m < METRIC_COUNT; first = at[m++]) {
		bool sorted = true;
		for (size_t i = first + 1; i < at[m]; i++)
			sorted &= to[i - 1].entity < to[i].entity;
		if (!sorted)
			qsort(to + first, at[m] - first, sizeof(*to), series_order);
	}
}

int series_db_window(struct history *history, struct arena *a, const struct window_spec *spec,
	int64_t from_ns, int64_t to_ns, struct window *ret, struct err *e)
{
	struct series_db *db = series_db_of(history);
	struct window window = {.from_ns = from_ns, .to_ns = to_ns, .entities = db->entities};
	struct filler filler = {
		.db = db, .spec = spec, .from_ns = from_ns, .to_ns = to_ns, .list = {.arena = a}};
	int r = 0, rc = series_begin_bare(db);

	if (rc == SQLITE_OK && spec->n_entities > 0)
		rc = series_names_some(db, from_ns, spec->entities, spec->n_entities);
	else if (rc == SQLITE_OK)
		rc = series_names_load(db, from_ns);
	if (rc == SQLITE_OK)
		rc = fill_series(&filler);
	if (rc == SQLITE_OK && spec->flows)
		rc = fill_flows(&filler, &window);
	if (rc == SQLITE_OK)
		rc = db->text_rc;
	if (rc != SQLITE_OK)
		r = sqlite_fail(e, db->db, rc, "read", db->path);
	series_end(db);
	if (r == 0) {
		struct series *kept = arena_array(a, struct series, filler.list.n);
		filler_sort(&filler, kept);
		window.series = kept;
		window.n_series = filler.list.n;
		*ret = window;
	}
	free(filler.list.v);
	free(filler.wanted);
	free(filler.file_ids);
	return r;
}
