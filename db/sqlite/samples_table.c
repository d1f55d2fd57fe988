/*
 * samples_table - the cursor of rocewatch_samples. It goes through devices, metrics and stretches
 * of time, each from one block to the next, so that memory is that of a block however long the
 * history is. All of it sees one state of the file: a statement is kept open meanwhile.
 */
#include "db/sqlite/samples_table.h"

#include <stdlib.h>
#include <string.h>
#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "db/model/metric.h"
#include "db/sqlite/samples_cursor.h"
#include "db/sqlite/samples_plan.h"
#include "db/sqlite/sqlite_io.h"

/* ---- conditions -------------------------------------------------------------- */

static bool like_matches(const char *like, const char *glob, const char *text)
{
	if (like && sqlite3_strlike(like, text, 0) != 0)
		return false;
	return !glob || sqlite3_strglob(glob, text) == 0;
}

/* What the arguments say, before they are put to use. */
struct conditions {
	const char *metric, *metric_like, *metric_glob, *device, *device_like, *device_glob, *kind;
};

/* A condition whose value is of another type than the column is left to SQLite: it looks at each
 * row anyway. */
static void cursor_text(struct samples_cursor *cursor, sqlite3_value *value, const char **ret)
{
	if (sqlite3_value_type(value) == SQLITE_TEXT)
		*ret = arena_strdup(cursor->query, (const char *)sqlite3_value_text(value));
	else if (sqlite3_value_type(value) == SQLITE_NULL)
		cursor->nothing = true; /* nothing is equal to NULL */
}

static void cursor_range(struct samples_cursor *cursor, char condition, sqlite3_value *value)
{
	int64_t low_ns = INT64_MIN, high_ns = INT64_MAX;

	if (sqlite3_value_type(value) == SQLITE_INTEGER) {
		low_ns = high_ns = sqlite3_value_int64(value);
	} else if (sqlite3_value_type(value) == SQLITE_FLOAT) {
		const double number = sqlite3_value_double(value);
		if (number > -9e18 && number < 9e18) {
			low_ns = (int64_t)number - 1;
			high_ns = (int64_t)number + 1;
		}
	}
	if (condition != 'a' + COND_TO && low_ns > cursor->from_ns)
		cursor->from_ns = low_ns;
	if (condition != 'a' + COND_FROM && high_ns < cursor->to_ns)
		cursor->to_ns = high_ns;
}

static void cursor_priority(struct samples_cursor *cursor, sqlite3_value *value)
{
	if (sqlite3_value_type(value) != SQLITE_INTEGER)
		return;
	cursor->has_priority = true;
	cursor->priority = sqlite3_value_int64(value);
}

static void cursor_condition(
	struct samples_cursor *cursor, char condition, sqlite3_value *value, struct conditions *ret)
{
	switch (condition - 'a') {
	case COND_METRIC: cursor_text(cursor, value, &ret->metric); break;
	case COND_METRIC_LIKE: cursor_text(cursor, value, &ret->metric_like); break;
	case COND_METRIC_GLOB: cursor_text(cursor, value, &ret->metric_glob); break;
	case COND_DEVICE: cursor_text(cursor, value, &ret->device); break;
	case COND_DEVICE_LIKE: cursor_text(cursor, value, &ret->device_like); break;
	case COND_DEVICE_GLOB: cursor_text(cursor, value, &ret->device_glob); break;
	case COND_KIND: cursor_text(cursor, value, &ret->kind); break;
	case COND_PORT: cursor_text(cursor, value, &cursor->port); break;
	case COND_PORT_NULL: cursor->port = ""; break;
	case COND_PORT_LIKE: cursor_text(cursor, value, &cursor->port_like); break;
	case COND_PORT_GLOB: cursor_text(cursor, value, &cursor->port_glob); break;
	case COND_PRIORITY: cursor_priority(cursor, value); break;
	case COND_PRIORITY_NULL:
		cursor->has_priority = true;
		cursor->priority = -1;
		break;
	case COND_ENTITY:
		if (sqlite3_value_type(value) == SQLITE_INTEGER)
			cursor->entity = sqlite3_value_int64(value);
		break;
	default: cursor_range(cursor, condition, value); break;
	}
}

static void cursor_metrics(struct samples_cursor *cursor, const struct conditions *conditions)
{
	for (unsigned m = 0; m < METRIC_COUNT; m++) {
		const struct metric_info *info = metric_info(m);
		cursor->metrics[m] = cursor->blocks->number[m] != 0 &&
			(!conditions->metric || str_eq(conditions->metric, info->name)) &&
			(!conditions->kind ||
				str_eq(conditions->kind, metric_kind_name(info->kind))) &&
			like_matches(conditions->metric_like, conditions->metric_glob, info->name);
	}
}

static int cursor_devices(struct samples_cursor *cursor, const struct conditions *conditions)
{
	sqlite3_stmt *st;
	enum samples_statement which = ST_DEVICES;

	if (cursor->entity != 0)
		which = ST_OWNER;
	int rc = samples_statement(cursor, which, &st);
	if (rc != SQLITE_OK)
		return rc;
	if (cursor->entity != 0)
		sqlite3_bind_int64(st, 1, cursor->entity);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(st, 1);
		if (!name || (conditions->device && !str_eq(conditions->device, name)) ||
			!like_matches(conditions->device_like, conditions->device_glob, name))
			continue;
		rw_grow(cursor->devices, cursor->n_devices, cursor->cap_devices);
		cursor->devices[cursor->n_devices].id = sqlite3_column_int64(st, 0);
		cursor->devices[cursor->n_devices++].name = arena_strdup(cursor->query, name);
	}
	const int reset = sqlite3_reset(st);
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	return reset;
}

/* ---- stretches of time ----------------------------------------------------------- */

/* The entities of the device at hand that are wanted, where a port or a name was given. */
static int cursor_choose(struct samples_cursor *cursor)
{
	sqlite3_stmt *st;
	int rc = SQLITE_DONE;

	cursor->n_only = 0;
	if (cursor->entity != 0) {
		rw_grow(cursor->only, cursor->n_only, cursor->cap_only);
		cursor->only[cursor->n_only++] = cursor->entity;
		return SQLITE_OK;
	}
	if (!cursor->port)
		return SQLITE_OK;
	rc = samples_statement(cursor, ST_PORT, &st);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_text(st, 1, cursor->devices[cursor->device].name, -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 2, cursor->port, -1, SQLITE_STATIC);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		rw_grow(cursor->only, cursor->n_only, cursor->cap_only);
		cursor->only[cursor->n_only++] = sqlite3_column_int64(st, 0);
	}
	const int reset = sqlite3_reset(st);
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	return reset;
}

/* The end of the stretch that begins at .next_ns: just before the next block. */
static int cursor_stretch_end(struct samples_cursor *cursor, int64_t *ret)
{
	sqlite3_stmt *st;
	int rc = blocks_prepared(cursor->blocks, BLOCKS_AFTER, &st);

	*ret = cursor->to_ns;
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, cursor->devices[cursor->device].id);
	sqlite3_bind_int64(st, 2, cursor->blocks->number[cursor->metric]);
	sqlite3_bind_int64(st, 3, cursor->next_ns);
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW && sqlite3_column_int64(st, 0) <= cursor->to_ns)
		*ret = sqlite3_column_int64(st, 0) - 1;
	const int reset = sqlite3_reset(st);
	if (rc == SQLITE_ROW || rc == SQLITE_DONE)
		return SQLITE_OK;
	return reset;
}

static void cursor_carry(struct samples_cursor *cursor, const struct carry *carry)
{
	rw_grow(cursor->carries, cursor->n_carries, cursor->cap_carries);
	cursor->carries[cursor->n_carries++] = *carry;
}

/* The last sample of each series before the stretch is what its rates begin with. Both lists are
 * ascending. */
static void cursor_carry_over(struct samples_cursor *cursor)
{
	struct carry *swap = cursor->old_carries;
	const size_t cap = cursor->cap_old;
	size_t at = 0;

	cursor->old_carries = cursor->carries;
	cursor->cap_old = cursor->cap_carries;
	cursor->n_old = cursor->n_carries;
	cursor->carries = swap;
	cursor->cap_carries = cap;
	cursor->n_carries = 0;
	cursor->at_old = 0;
	for (size_t i = 0; i < cursor->n_series; i++) {
		const struct gathered *series = &cursor->series[i];
		while (at < cursor->n_old && cursor->old_carries[at].entity < series->entity)
			cursor_carry(cursor, &cursor->old_carries[at++]);
		if (at < cursor->n_old && cursor->old_carries[at].entity == series->entity)
			at++;
		const struct carry last = {.entity = series->entity,
			.t_ns = series->t_ns[series->n - 1],
			.value = series->value[series->n - 1]};
		cursor_carry(cursor, &last);
	}
	while (at < cursor->n_old)
		cursor_carry(cursor, &cursor->old_carries[at++]);
}

static void cursor_next_metric(struct samples_cursor *cursor)
{
	cursor->next_ns = cursor->from_ns;
	cursor->n_carries = 0;
	while (++cursor->metric < METRIC_COUNT)
		if (cursor->metrics[cursor->metric] &&
			blocks_may_have(cursor->blocks, cursor->has, cursor->metric))
			return;
}

static int cursor_enter(struct samples_cursor *cursor)
{
	const int64_t device = cursor->devices[cursor->device].id;
	int rc = cursor_choose(cursor);

	if (rc == SQLITE_OK)
		rc = blocks_device(cursor->blocks, device, cursor->from_ns, cursor->to_ns);
	if (rc == SQLITE_OK)
		rc = blocks_metrics(cursor->blocks, device, cursor->has);
	cursor->begun = true;
	cursor->metric = UINT32_MAX;
	cursor_next_metric(cursor);
	return rc;
}

/* Goes on to a device and metric that are wanted. */
static int cursor_position(struct samples_cursor *cursor)
{
	int rc = SQLITE_OK;

	while (rc == SQLITE_OK && cursor->device < cursor->n_devices) {
		if (!cursor->begun) {
			rc = cursor_enter(cursor);
			if (rc != SQLITE_OK)
				return rc;
		}
		const bool none = (cursor->port || cursor->entity != 0) && cursor->n_only == 0;
		if (cursor->metric < METRIC_COUNT && !none)
			return rc;
		cursor->begun = false;
		cursor->device++;
	}
	cursor->eof = cursor->device >= cursor->n_devices;
	return rc;
}

/* Reads the next stretch that has samples. */
static int cursor_read(struct samples_cursor *cursor)
{
	int rc = SQLITE_OK;

	for (;;) {
		int64_t end_ns;
		rc = cursor_position(cursor);
		if (rc != SQLITE_OK || cursor->eof)
			return rc;
		rc = cursor_stretch_end(cursor, &end_ns);
		if (rc != SQLITE_OK)
			return rc;
		blocks_range(cursor->blocks, cursor->next_ns, end_ns);
		const struct gather_want want = {.metric = cursor->metric,
			.late = true,
			.anchors = cursor->rates && cursor->next_ns == cursor->from_ns,
			.entities = cursor->n_only > 0 ? cursor->only : NULL,
			.n_entities = cursor->n_only};
		arena_reset(cursor->stretch);
		rc = blocks_gather(
			cursor->blocks, &want, cursor->stretch, &cursor->series, &cursor->n_series);
		if (rc != SQLITE_OK)
			return rc;
		cursor->row_metric = cursor->metric;
		cursor->device_name = cursor->devices[cursor->device].name;
		if (cursor->rates)
			cursor_carry_over(cursor);
		if (end_ns >= cursor->to_ns)
			cursor_next_metric(cursor);
		else
			cursor->next_ns = end_ns + 1;
		cursor->at_series = 0;
		if (cursor->n_series > 0)
			return SQLITE_OK;
	}
}

/* ---- rows --------------------------------------------------------------------------- */

/* The name of the series at hand. *@ret false: it is not wanted, or has no name any more. */
static int cursor_name(struct samples_cursor *cursor, bool *ret)
{
	sqlite3_stmt *st;
	int rc = samples_statement(cursor, ST_NAME, &st);

	*ret = false;
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, cursor->series[cursor->at_series].entity);
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW && sqlite3_column_text(st, 0)) {
		const char *port = (const char *)sqlite3_column_text(st, 0);
		cursor->row_priority = sqlite3_column_int(st, 1);
		*ret = (!cursor->has_priority || cursor->priority == cursor->row_priority) &&
			like_matches(cursor->port_like, cursor->port_glob, port);
		cursor->row_port = arena_strdup(cursor->stretch, port);
	}
	const int reset = sqlite3_reset(st);
	if (rc == SQLITE_ROW || rc == SQLITE_DONE)
		return SQLITE_OK;
	return reset;
}

static void cursor_before(struct samples_cursor *cursor)
{
	const int64_t entity = cursor->series[cursor->at_series].entity;

	cursor->has_before = false;
	while (cursor->at_old < cursor->n_old &&
		cursor->old_carries[cursor->at_old].entity < entity)
		cursor->at_old++;
	if (cursor->at_old == cursor->n_old || cursor->old_carries[cursor->at_old].entity != entity)
		return;
	cursor->has_before = true;
	cursor->before_ns = cursor->old_carries[cursor->at_old].t_ns;
	cursor->before = cursor->old_carries[cursor->at_old].value;
}

static void cursor_remember(struct samples_cursor *cursor)
{
	const struct gathered *series = &cursor->series[cursor->at_series];

	cursor->has_before = true;
	cursor->before_ns = series->t_ns[cursor->at];
	cursor->before = series->value[cursor->at];
}

/* From .at_series on, the first series that is wanted and has a row. */
static int cursor_settle(struct samples_cursor *cursor)
{
	for (;;) {
		if (cursor->at_series >= cursor->n_series) {
			int rc = cursor_read(cursor);
			if (rc != SQLITE_OK || cursor->eof)
				return rc;
		}
		const struct gathered *series = &cursor->series[cursor->at_series];
		bool wanted = false;
		int rc = SQLITE_OK;
		cursor->at = 0;
		cursor_before(cursor);
		if (series->has_anchor) {
			cursor_remember(cursor);
			cursor->at = 1;
		}
		if (cursor->at < series->n)
			rc = cursor_name(cursor, &wanted);
		if (rc != SQLITE_OK || wanted)
			return rc;
		cursor->at_series++;
	}
}

static int samples_next(sqlite3_vtab_cursor *base)
{
	struct samples_cursor *cursor = samples_cursor_of(base);

	if (cursor->rates)
		cursor_remember(cursor);
	if (++cursor->at < cursor->series[cursor->at_series].n)
		return SQLITE_OK;
	cursor->at_series++;
	return cursor_settle(cursor);
}

static int samples_eof(sqlite3_vtab_cursor *base)
{
	return samples_cursor_of(base)->eof;
}

static int samples_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *ret)
{
	*ret = 0;
	return SQLITE_OK;
}

/* ---- life ------------------------------------------------------------------------------ */

static int samples_connect(
	sqlite3 *db, void *arg, int argc, const char *const *argv, sqlite3_vtab **ret, char **error)
{
	int rc = sqlite3_declare_vtab(db, "CREATE TABLE samples(" SAMPLES_COLUMNS ")");

	if (rc != SQLITE_OK)
		return rc;
	sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS); /* it reads what its views may read */
	struct samples_table *table = rw_calloc(1, sizeof(*table));
	table->db = db;
	*ret = &table->base;
	return SQLITE_OK;
}

static int samples_disconnect(sqlite3_vtab *base)
{
	free(base);
	return SQLITE_OK;
}

static int samples_open(sqlite3_vtab *base, sqlite3_vtab_cursor **ret)
{
	struct samples_cursor *cursor = rw_calloc(1, sizeof(*cursor));

	cursor->db = ((struct samples_table *)base)->db;
	cursor->blocks = blocks_new(cursor->db);
	cursor->query = arena_new();
	cursor->stretch = arena_new();
	*ret = &cursor->base;
	return SQLITE_OK;
}

static int samples_close(sqlite3_vtab_cursor *base)
{
	struct samples_cursor *cursor = samples_cursor_of(base);

	for (size_t i = 0; i < ST_COUNT; i++)
		sqlite3_finalize(cursor->statements[i]);
	blocks_free(cursor->blocks);
	arena_free(cursor->query);
	arena_free(cursor->stretch);
	free(cursor->devices);
	free(cursor->only);
	free(cursor->carries);
	free(cursor->old_carries);
	free(cursor);
	return SQLITE_OK;
}

static void cursor_begin(struct samples_cursor *cursor, int plan)
{
	arena_reset(cursor->query);
	cursor->rates = plan & PLAN_RATES;
	cursor->nothing = cursor->has_priority = cursor->begun = cursor->eof = false;
	cursor->port = cursor->port_like = cursor->port_glob = NULL;
	cursor->entity = 0;
	cursor->from_ns = INT64_MIN + 1;
	cursor->to_ns = INT64_MAX;
	cursor->n_devices = cursor->device = cursor->n_series = cursor->at_series = 0;
	cursor->n_carries = cursor->n_old = cursor->at_old = 0;
}

static int samples_not_ours(struct samples_cursor *cursor, int rc)
{
	cursor->base.pVtab->zErrMsg =
		sqlite3_mprintf("%s: these are no samples that this version can read: %s",
			SAMPLES_TABLE, sqlite3_errmsg(cursor->db));
	return rc;
}

static int samples_filter(
	sqlite3_vtab_cursor *base, int plan, const char *conditions, int argc, sqlite3_value **argv)
{
	struct samples_cursor *cursor = samples_cursor_of(base);
	struct conditions said = {0};
	sqlite3_stmt *hold;

	cursor_begin(cursor, plan);
	int rc = samples_statement(cursor, ST_HOLD, &hold);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_reset(hold);
	rc = sqlite3_step(hold);
	if (rc == SQLITE_DONE)
		return samples_not_ours(cursor, SQLITE_ERROR); /* no tables at all */
	if (rc != SQLITE_ROW)
		return rc;
	for (int i = 0; i < argc; i++)
		cursor_condition(cursor, conditions[i], argv[i], &said);
	rc = blocks_begin(cursor->blocks);
	if (rc != SQLITE_OK)
		return samples_not_ours(cursor, rc);
	cursor_metrics(cursor, &said);
	cursor->eof = cursor->nothing || cursor->from_ns > cursor->to_ns;
	if (cursor->eof)
		return SQLITE_OK;
	rc = cursor_devices(cursor, &said);
	if (rc == SQLITE_OK)
		rc = cursor_settle(cursor);
	return rc;
}

static const sqlite3_module samples_module = {
	.iVersion = 0,
	.xConnect = samples_connect,
	.xBestIndex = samples_plan,
	.xDisconnect = samples_disconnect,
	.xOpen = samples_open,
	.xClose = samples_close,
	.xFilter = samples_filter,
	.xNext = samples_next,
	.xEof = samples_eof,
	.xColumn = samples_column,
	.xRowid = samples_rowid,
};

int samples_table_register(sqlite3 *db)
{
	return sqlite3_create_module_v2(db, SAMPLES_TABLE, &samples_module, NULL, NULL);
}
