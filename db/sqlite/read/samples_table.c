/* samples_table - the cursor of rocewatch_samples. It goes through devices, metrics and stretches
 * of time, each from one block to the next, so that memory is that of a block however long the
 * history is; with PLAN_SORTED, of a week of one metric of a switch. All of it sees one state of
 * the file: a statement is kept open meanwhile. The cursor of rocewatch_rates is the same one; its
 * rows are what each series was in a step (tally.h). */
#include "db/sqlite/read/samples_table.h"

#include <time.h>

#include "db/model/metric.h"
#include "db/sqlite/read/samples_plan.h"
#include "db/sqlite/read/tally.h"
#include "db/sqlite/schema/sqlite_io.h"

struct samples_table {
	sqlite3_vtab base; /* first */
	sqlite3 *db;
	bool steps; /* it is rocewatch_rates */
};

enum samples_statement {
	ST_HOLD,
	ST_DEVICES,
	ST_OWNER,
	ST_PORT,
	ST_NAMES,
	ST_NAME,
	ST_TEXT,
	ST_COUNT
};

struct samples_cursor {
	sqlite3_vtab_cursor base; /* first */
	sqlite3 *db;
	struct blocks *blocks;
	sqlite3_stmt *statements[ST_COUNT];
	int64_t name_at; /* the row of ST_NAME at hand; 0: none */
	struct arena *query, *stretch; /* what lives as long as one of these */
	/* what is asked for */
	bool metrics[METRIC_COUNT], has[METRIC_COUNT], rates, by_name, nothing, has_priority;
	const char *port, *port_like, *port_glob;
	int64_t priority, from_ns, to_ns, entity;
	struct samples_device {
		int64_t id;
		const char *name;
	} * devices;
	size_t n_devices, cap_devices;
	/* where it is */
	size_t device; /* of the next stretch */
	unsigned metric, row_metric;
	int64_t next_ns;
	bool begun; /* the device's tail is listed */
	int64_t *only; /* entities of the device, where only some are wanted */
	size_t n_only, cap_only;
	struct carry *carries, *old_carries;
	size_t n_carries, cap_carries, n_old, cap_old, at_old;
	struct sorted_name { /* with PLAN_SORTED: the entities of the metric, by port and priority
			      */
		int64_t entity;
		bool begins; /* another port than the one before */
	} * sorted;
	size_t n_sorted, cap_sorted, at_sorted;
	struct gathered *series;
	size_t n_series, at_series;
	uint32_t at;
	/* the series at hand */
	const char *device_name;
	struct entity_name { /* of an entity */
		const char *port;
		int priority;
	} row_name;
	bool has_before;
	int64_t before_ns;
	uint64_t before;
	bool eof;
	/* of rocewatch_rates */
	bool steps, reading; /* .reading: of the metric and device at hand */
	int64_t step_ns;
	struct tally *tally;
	struct entity_name *names; /* of the metric and device, by their .entity - 1 */
	size_t n_names, cap_names;
	struct rollup *rows;
	size_t n_rows, cap_rows, at_row;
};

static int samples_statement(
	struct samples_cursor *cursor, enum samples_statement which, sqlite3_stmt **ret);
static int samples_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column);

static inline struct samples_cursor *samples_cursor_of(sqlite3_vtab_cursor *base)
{
	return (struct samples_cursor *)base;
}

#define TIME_MAX_NS INT64_C(4102444800000000000) /* 2100 */

/* samples_column - statements of the cursor of rocewatch_samples, and the columns of its rows. */

static const char *const samples_sql[ST_COUNT] = {
	[ST_HOLD] = "SELECT name FROM sqlite_master",
	[ST_DEVICES] = "SELECT id, device FROM entity INDEXED BY entity_device WHERE port='' AND "
		       "priority=-1",
	[ST_OWNER] = "SELECT d.id, d.device FROM entity e CROSS JOIN entity d ON d.device=e.device "
		     "AND d.port='' "
		     "AND d.priority=-1 WHERE e.id=?1",
	[ST_PORT] = "SELECT id FROM entity WHERE device=?1 AND port=?2 ORDER BY id",
	[ST_NAMES] = "SELECT e.id, e.port FROM entity e WHERE e.device=?1 AND EXISTS(SELECT 1 FROM "
		     "series s WHERE s.entity=e.id AND s.metric=?2) ORDER BY e.port, e.priority",
	[ST_NAME] = "SELECT port, priority, id FROM entity WHERE id>=?1 ORDER BY id",
	[ST_TEXT] = "SELECT text FROM text WHERE id=?1",
};

/* samples_statement - a statement that the cursor keeps. Reset by its user. SQLite's code. */
static int samples_statement(
	struct samples_cursor *cursor, enum samples_statement which, sqlite3_stmt **ret)
{
	int rc = SQLITE_OK;

	if (!cursor->statements[which])
		rc = sqlite_prepare(cursor->db, samples_sql[which], &cursor->statements[which]);
	*ret = cursor->statements[which];
	return rc;
}

/* ---- columns ----------------------------------------------------------------------- */

/* RFC 3339 with milliseconds, cut and not rounded. */
static void result_time(sqlite3_context *context, int64_t t_ns)
{
	char text[48];
	struct tm tm;
	int64_t ms = t_ns / 1000000 % 1000;
	time_t seconds = (time_t)(t_ns / NS_PER_S);

	if (ms < 0) {
		ms += 1000;
		seconds--;
	}
	if (!gmtime_r(&seconds, &tm))
		return;
	const int n = snprintf(text, sizeof(text), "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ",
		tm.tm_year + 1900, tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min, tm.tm_sec,
		(int)ms);
	sqlite3_result_text(context, text, n, SQLITE_TRANSIENT);
}

static int result_text_of(struct samples_cursor *cursor, sqlite3_context *context, uint64_t number)
{
	sqlite3_stmt *st;
	int rc = samples_statement(cursor, ST_TEXT, &st);

	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_int64(st, 1, (sqlite3_int64)number);
	rc = sqlite3_step(st);
	if (rc == SQLITE_ROW)
		sqlite3_result_value(context, sqlite3_column_value(st, 0));
	const int reset = sqlite3_reset(st);
	if (rc == SQLITE_ROW || rc == SQLITE_DONE)
		return SQLITE_OK;
	return reset;
}

/* A u64 from 2^63 on, which is rare, is shown as a real. */
static void result_u64(sqlite3_context *context, uint64_t value)
{
	if (value <= INT64_MAX)
		sqlite3_result_int64(context, (sqlite3_int64)value);
	else
		sqlite3_result_double(context, (double)value);
}

static int result_sample(struct samples_cursor *cursor, sqlite3_context *context, uint64_t value)
{
	switch (metric_info(cursor->row_metric)->type) {
	case TYPE_F64: sqlite3_result_double(context, sample_f64(value)); break;
	case TYPE_TEXT: return result_text_of(cursor, context, value);
	default: result_u64(context, value); break;
	}
	return SQLITE_OK;
}

/* NULL over a restart, for a suspect value, and over a decrease that is no wrap of 32 bits. */
static void result_rate(struct samples_cursor *cursor, sqlite3_context *context, uint64_t value,
	unsigned flags, int64_t t_ns)
{
	double more;

	if (!cursor->has_before || (flags & (SF_RESTART | SF_SUSPECT)))
		return;
	const uint64_t before = cursor->before;
	if (metric_info(cursor->row_metric)->type == TYPE_F64) {
		more = sample_f64(value) - sample_f64(before);
		if (!(more >= 0))
			return;
	} else if (value >= before) {
		more = (double)(value - before);
	} else {
		const uint32_t wrapped = (uint32_t)(value - before);
		if (!(flags & SF_WRAP32) || before > SAMPLE_WRAP32_MAX || wrapped > INT32_MAX)
			return;
		more = wrapped;
	}
	sqlite3_result_double(context, more * 1e9 / (double)(t_ns - cursor->before_ns));
}

static void result_name(sqlite3_context *context, const char *text)
{
	if (text && *text)
		sqlite3_result_text(context, text, -1, SQLITE_STATIC);
}

static void result_fixed(sqlite3_context *context, const char *text)
{
	sqlite3_result_text(context, text, -1, SQLITE_STATIC);
}

static void result_copy(sqlite3_context *context, const char *text)
{
	if (*text)
		sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
}

static void result_priority(sqlite3_context *context, int priority)
{
	if (priority != PRIO_NONE)
		sqlite3_result_int(context, priority);
}

/* What a counter grew by; nothing where no two samples follow each other. */
static void result_growth(sqlite3_context *context, const struct rollup *row, int column)
{
	const double s = (double)row->covered_ns / 1e9;

	if (row->intervals == 0 || row->covered_ns <= 0)
		return;
	switch (column) {
	case RC_INCREASE: result_u64(context, row->increase); break;
	case RC_RATE: sqlite3_result_double(context, (double)row->increase / s); break;
	default: sqlite3_result_double(context, s); break;
	}
}

static void result_number(sqlite3_context *context, const struct rollup *row, int column)
{
	const double numbers[] = {
		row->min, row->max, row->sum / row->numbers, row->p50, row->p95, row->p99};

	if (row->numbers > 0)
		sqlite3_result_double(context, numbers[column - RC_MIN]); /* NULL where NAN */
}

/* xColumn of rocewatch_rates. */
static int steps_column(struct samples_cursor *cursor, sqlite3_context *context, int column)
{
	const struct rollup *row = &cursor->rows[cursor->at_row];
	const struct entity_name *name = &cursor->names[row->entity - 1];
	const struct metric_info *info = metric_info(cursor->row_metric);
	char flags[SAMPLE_FLAGS_TEXT_MAX];

	switch (column) {
	case RC_TIME: result_time(context, row->to_ns); break;
	case RC_T_NS: sqlite3_result_int64(context, row->to_ns); break;
	case RC_DEVICE: result_copy(context, cursor->device_name); break;
	case RC_PORT: result_copy(context, name->port); break;
	case RC_PRIORITY: result_priority(context, name->priority); break;
	case RC_METRIC: result_fixed(context, info->name); break;
	case RC_UNIT: result_fixed(context, info->unit); break;
	case RC_COUNT: sqlite3_result_int64(context, row->count); break;
	case RC_FIRST:
	case RC_LAST:
		if (row->count > 0)
			return result_sample(
				cursor, context, column == RC_FIRST ? row->first : row->last);
		break;
	case RC_FLAGS:
		sqlite3_result_text(
			context, sample_flags_text(flags, row->flags), -1, SQLITE_TRANSIENT);
		break;
	case RC_INCREASE:
	case RC_RATE:
	case RC_INTERVAL_S: result_growth(context, row, column); break;
	case RC_MIN:
	case RC_MAX:
	case RC_MEAN:
	case RC_P50:
	case RC_P95:
	case RC_P99: result_number(context, row, column); break;
	default: break;
	}
	return SQLITE_OK;
}

/* samples_column - xColumn: a column of the row at hand. */
static int samples_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	struct samples_cursor *cursor = samples_cursor_of(base);
	if (cursor->steps)
		return steps_column(cursor, context, column);
	const struct gathered *series = &cursor->series[cursor->at_series];
	const uint32_t at = cursor->at;
	const struct metric_info *info = metric_info(cursor->row_metric);
	char flags[SAMPLE_FLAGS_TEXT_MAX];

	switch (column) {
	case SC_TIME: result_time(context, series->t_ns[at]); break;
	case SC_T_NS: sqlite3_result_int64(context, series->t_ns[at]); break;
	case SC_DEVICE: result_copy(context, cursor->device_name); break;
	case SC_PORT: result_copy(context, cursor->row_name.port); break;
	case SC_PRIORITY: result_priority(context, cursor->row_name.priority); break;
	case SC_METRIC: result_fixed(context, info->name); break;
	case SC_VALUE: return result_sample(cursor, context, series->value[at]);
	case SC_UNIT: result_fixed(context, info->unit); break;
	case SC_KIND: result_fixed(context, metric_kind_name(info->kind)); break;
	case SC_FLAGS:
		sqlite3_result_text(
			context, sample_flags_text(flags, series->flags[at]), -1, SQLITE_TRANSIENT);
		break;
	case SC_SOURCE: result_name(context, sample_source_name(series->source[at])); break;
	case SC_WINDOW_S:
		if (series->window_ms[at])
			sqlite3_result_double(context, series->window_ms[at] / 1000.0);
		break;
	case SC_ENTITY: sqlite3_result_int64(context, series->entity); break;
	case SC_RATE:
		result_rate(
			cursor, context, series->value[at], series->flags[at], series->t_ns[at]);
		break;
	case SC_INTERVAL_S:
		if (cursor->has_before)
			sqlite3_result_double(
				context, (double)(series->t_ns[at] - cursor->before_ns) / 1e9);
		break;
	default: break;
	}
	return SQLITE_OK;
}

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

/* The one condition that SQLite does not look at again (samples_plan.c): no metric has a name of
 * another type, and none has two. */
static void cursor_metric(struct samples_cursor *cursor, sqlite3_value *value, const char **ret)
{
	const char *before = *ret;

	cursor_text(cursor, value, ret);
	if (!*ret || sqlite3_value_type(value) != SQLITE_TEXT || (before && !str_eq(before, *ret)))
		cursor->nothing = true;
}

/* After or before a whole number. */
static void cursor_beside(struct samples_cursor *cursor, char condition, sqlite3_value *value)
{
	const bool after = condition == 'a' + COND_AFTER;
	int64_t t_ns = sqlite3_value_int64(value);

	if (__builtin_add_overflow(t_ns, after ? 1 : -1, &t_ns))
		cursor->nothing = true;
	else if (after && t_ns > cursor->from_ns)
		cursor->from_ns = t_ns;
	else if (!after && t_ns < cursor->to_ns)
		cursor->to_ns = t_ns;
}

static void cursor_range(struct samples_cursor *cursor, char condition, sqlite3_value *value)
{
	int64_t low_ns = INT64_MIN, high_ns = INT64_MAX;

	if (sqlite3_value_type(value) == SQLITE_INTEGER) {
		low_ns = high_ns = sqlite3_value_int64(value);
	} else if (sqlite3_value_type(value) == SQLITE_FLOAT) {
		const double number = sqlite3_value_double(value);
		if (number > -9e18 && number < 9e18) {
			low_ns = (int64_t)number - !cursor->steps;
			high_ns = (int64_t)number + !cursor->steps;
		}
	} else if (sqlite3_value_type(value) == SQLITE_NULL) {
		cursor->nothing = true; /* nothing is after NULL */
	} else {
		cursor->step_ns = -1; /* no argument of rocewatch_rates */
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

/* Seconds; NULL: the range is one step. */
static void cursor_step(struct samples_cursor *cursor, sqlite3_value *value)
{
	const double s = sqlite3_value_double(value);

	if (sqlite3_value_type(value) == SQLITE_NULL)
		return;
	cursor->step_ns = -1; /* no argument */
	if (s >= 0.001 && s <= 1e9)
		cursor->step_ns = (int64_t)(s * 1e3 + 0.5) * (NS_PER_S / 1000);
}

static void cursor_condition(
	struct samples_cursor *cursor, char condition, sqlite3_value *value, struct conditions *ret)
{
	switch (condition - 'a') {
	case COND_METRIC: cursor_metric(cursor, value, &ret->metric); break;
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
	case COND_STEP: cursor_step(cursor, value); break;
	case COND_AFTER:
	case COND_BEFORE: cursor_beside(cursor, condition, value); break;
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

static int device_order(const void *left, const void *right)
{
	const struct samples_device *a = left, *b = right;

	return strcmp(a->name, b->name);
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
	if (cursor->by_name && cursor->n_devices > 1)
		qsort(cursor->devices, cursor->n_devices, sizeof(*cursor->devices), device_order);
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

/* The samples of the stretch up to @end_ns. */
static int cursor_gather(
	struct samples_cursor *cursor, int64_t end_ns, const int64_t *entities, size_t n)
{
	const struct gather_want want = {.metric = cursor->metric,
		.late = true,
		.anchors = cursor->rates && cursor->next_ns == cursor->from_ns,
		.entities = n > 0 ? entities : NULL,
		.n_entities = n};

	blocks_range(cursor->blocks, cursor->next_ns, end_ns);
	arena_reset(cursor->stretch);
	cursor->row_metric = cursor->metric;
	cursor->device_name = cursor->devices[cursor->device].name;
	cursor->at_series = 0;
	return blocks_gather(
		cursor->blocks, &want, cursor->stretch, &cursor->series, &cursor->n_series);
}

static int cursor_read_stretch(struct samples_cursor *cursor)
{
	int64_t end_ns;
	int rc = cursor_stretch_end(cursor, &end_ns);

	if (rc == SQLITE_OK)
		rc = cursor_gather(cursor, end_ns, cursor->only, cursor->n_only);
	if (rc != SQLITE_OK)
		return rc;
	if (cursor->rates)
		cursor_carry_over(cursor);
	if (end_ns >= cursor->to_ns)
		cursor_next_metric(cursor);
	else
		cursor->next_ns = end_ns + 1;
	return rc;
}

/* ---- by device, port and priority --------------------------------------------------- */

#define SORTED_BLOCKS 504 /* so many of a metric of a device are read at once, a week by slices */

static int entity_order(const void *left, const void *right)
{
	const int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;

	return (a > b) - (a < b);
}

static int sorted_load(struct samples_cursor *cursor)
{
	rw_cleanup(str_done) struct str port = {0};
	sqlite3_stmt *st;
	int rc = samples_statement(cursor, ST_NAMES, &st);

	cursor->n_sorted = cursor->at_sorted = 0;
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_bind_text(st, 1, cursor->devices[cursor->device].name, -1, SQLITE_STATIC);
	sqlite3_bind_text(st, 2, metric_info(cursor->metric)->name, -1, SQLITE_STATIC);
	while ((rc = sqlite3_step(st)) == SQLITE_ROW) {
		const int64_t entity = sqlite3_column_int64(st, 0);
		const char *name = str_or((const char *)sqlite3_column_text(st, 1), "");
		if (cursor->n_only > 0 &&
			!bsearch(&entity, cursor->only, cursor->n_only, sizeof(entity),
				entity_order))
			continue;
		rw_grow(cursor->sorted, cursor->n_sorted, cursor->cap_sorted);
		cursor->sorted[cursor->n_sorted++] = (struct sorted_name){
			.entity = entity, .begins = !port.s || !str_eq(port.s, name)};
		str_done(&port);
		str_add(&port, name);
	}
	const int reset = sqlite3_reset(st);
	if (rc == SQLITE_DONE)
		return SQLITE_OK;
	return reset;
}

/* Are there more blocks than are read at once? */
static int sorted_is_long(struct samples_cursor *cursor, bool *ret)
{
	sqlite3_stmt *st;
	int rc = blocks_prepared(cursor->blocks, BLOCKS_AFTER, &st);
	int64_t at_ns = cursor->from_ns;

	*ret = true;
	for (int i = 0; rc == SQLITE_OK && i < SORTED_BLOCKS && *ret; i++) {
		sqlite3_bind_int64(st, 1, cursor->devices[cursor->device].id);
		sqlite3_bind_int64(st, 2, cursor->blocks->number[cursor->metric]);
		sqlite3_bind_int64(st, 3, at_ns);
		*ret = sqlite3_step(st) == SQLITE_ROW;
		if (*ret)
			at_ns = sqlite3_column_int64(st, 0);
		*ret = *ret && at_ns <= cursor->to_ns;
		rc = sqlite3_reset(st);
	}
	return rc;
}

static int gathered_order(const void *left, const void *right)
{
	return entity_order(left, &((const struct gathered *)right)->entity);
}

/* All ports of the device, or the next one where the range is long. */
static int cursor_read_sorted(struct samples_cursor *cursor)
{
	size_t n = 0, end;
	bool is_long = false;
	int rc = SQLITE_OK;

	if (cursor->at_sorted >= cursor->n_sorted)
		rc = sorted_load(cursor);
	if (rc == SQLITE_OK)
		rc = sorted_is_long(cursor, &is_long);
	const size_t begin = cursor->at_sorted;
	for (end = begin; end < cursor->n_sorted; end++)
		if (is_long && end > begin && cursor->sorted[end].begins)
			break;
	rw_cleanup(freep) int64_t *entities = rw_calloc(end - begin + 1, sizeof(*entities));
	for (size_t i = begin; i < end; i++)
		entities[n++] = cursor->sorted[i].entity;
	if (n > 1)
		qsort(entities, n, sizeof(*entities), entity_order);
	cursor->n_series = 0;
	if (rc == SQLITE_OK && n > 0)
		rc = cursor_gather(cursor, cursor->to_ns, is_long ? entities : cursor->only,
			is_long ? n : cursor->n_only);
	if (rc != SQLITE_OK)
		return rc;
	struct gathered *series = arena_array(cursor->stretch, struct gathered, n + 1);
	size_t kept = 0;
	for (size_t i = begin; i < end && cursor->n_series > 0; i++) {
		const struct gathered *found = bsearch(&cursor->sorted[i].entity, cursor->series,
			cursor->n_series, sizeof(*found), gathered_order);
		if (found)
			series[kept++] = *found;
	}
	cursor->series = series;
	cursor->n_series = kept;
	cursor->at_sorted = end;
	if (end >= cursor->n_sorted)
		cursor_next_metric(cursor);
	return rc;
}

/* Reads the next samples. */
static int cursor_read(struct samples_cursor *cursor)
{
	int rc;

	do {
		rc = cursor_position(cursor);
		if (rc == SQLITE_OK && !cursor->eof && cursor->by_name)
			rc = cursor_read_sorted(cursor);
		else if (rc == SQLITE_OK && !cursor->eof)
			rc = cursor_read_stretch(cursor);
	} while (rc == SQLITE_OK && !cursor->eof && cursor->n_series == 0);
	return rc;
}

/* ---- rows --------------------------------------------------------------------------- */

enum { NAME_STEPS = 8 };

/* The row of ST_NAME of @entity: its user leaves it there, since the next name is mostly one of the
 * next rows. *@ret NULL: there is none. */
static int name_row(struct samples_cursor *cursor, int64_t entity, sqlite3_stmt **ret)
{
	sqlite3_stmt *st;
	int rc = samples_statement(cursor, ST_NAME, &st);

	*ret = NULL;
	if (rc != SQLITE_OK)
		return rc;
	rc = SQLITE_ROW;
	for (int i = 0; rc == SQLITE_ROW && cursor->name_at > 0 && i < NAME_STEPS; i++) {
		if (cursor->name_at >= entity)
			break;
		rc = sqlite3_step(st);
		cursor->name_at = sqlite3_column_int64(st, 2);
	}
	if (rc != SQLITE_ROW || cursor->name_at != entity) {
		sqlite3_reset(st);
		sqlite3_bind_int64(st, 1, entity);
		rc = sqlite3_step(st);
		cursor->name_at = sqlite3_column_int64(st, 2);
	}
	if (rc == SQLITE_ROW) {
		if (cursor->name_at == entity)
			*ret = st;
		return SQLITE_OK;
	}
	cursor->name_at = 0;
	return sqlite3_reset(st);
}

/* The name of an entity, until the next stretch. *@ret false: it is not wanted, or has no name any
 * more. */
static int cursor_name(
	struct samples_cursor *cursor, int64_t entity, struct entity_name *name, bool *ret)
{
	sqlite3_stmt *st;
	const int rc = name_row(cursor, entity, &st);

	*ret = false;
	if (rc != SQLITE_OK || !st || !sqlite3_column_text(st, 0))
		return rc;
	const char *port = (const char *)sqlite3_column_text(st, 0);
	name->priority = sqlite3_column_int(st, 1);
	*ret = (!cursor->has_priority || cursor->priority == name->priority) &&
		like_matches(cursor->port_like, cursor->port_glob, port);
	name->port = arena_strdup(cursor->stretch, port);
	return SQLITE_OK;
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
			rc = cursor_name(cursor, series->entity, &cursor->row_name, &wanted);
		if (rc != SQLITE_OK || wanted)
			return rc;
		cursor->at_series++;
	}
}

/* ---- steps ---------------------------------------------------------------------------- */

static int steps_name(void *arg, int64_t entity, uint32_t *ret)
{
	struct samples_cursor *cursor = arg;
	struct entity_name name;
	bool wanted;
	const int rc = cursor_name(cursor, entity, &name, &wanted);

	if (rc != SQLITE_OK || !wanted)
		return rc;
	rw_grow(cursor->names, cursor->n_names, cursor->cap_names);
	cursor->names[cursor->n_names++] = name;
	*ret = (uint32_t)cursor->n_names;
	return SQLITE_OK;
}

static int steps_take(void *arg, const struct rollup *rollup, const struct rollup_sketch *sketch)
{
	struct samples_cursor *cursor = arg;

	rw_grow(cursor->rows, cursor->n_rows, cursor->cap_rows);
	cursor->rows[cursor->n_rows++] = *rollup;
	return SQLITE_OK;
}

/* The metric and device at hand are read from here on. */
static void steps_begin(struct samples_cursor *cursor)
{
	const struct tally_ask ask = {.metric = cursor->metric,
		.from_ns = cursor->from_ns - 1, /* (from, to] */
		.to_ns = cursor->to_ns,
		.step_ns = cursor->step_ns,
		.no_quantiles = !cursor->rates,
		.entities = cursor->n_only > 0 ? cursor->only : NULL,
		.n_entities = cursor->n_only,
		.name = steps_name,
		.take = steps_take,
		.arg = cursor};

	if (!cursor->tally)
		cursor->tally = tally_new(cursor->blocks);
	tally_begin(cursor->tally, &ask);
	arena_reset(cursor->stretch);
	cursor->n_names = 0;
	cursor->row_metric = cursor->metric;
	cursor->device_name = cursor->devices[cursor->device].name;
	cursor->reading = true;
}

/* The next rows. */
static int steps_read(struct samples_cursor *cursor)
{
	int rc = SQLITE_OK;

	cursor->n_rows = cursor->at_row = 0;
	while (rc == SQLITE_OK && cursor->n_rows == 0) {
		if (!cursor->reading) {
			rc = cursor_position(cursor);
			if (rc != SQLITE_OK || cursor->eof)
				return rc;
			steps_begin(cursor);
		}
		rc = tally_more(cursor->tally, &cursor->reading);
		if (!cursor->reading)
			cursor_next_metric(cursor);
	}
	return rc;
}

/* What the arguments come to: whole steps. */
static int steps_range(struct samples_cursor *cursor, const char *conditions)
{
	if (cursor->step_ns < 0 || !strchr(conditions, 'a' + COND_METRIC_GLOB) ||
		!strchr(conditions, 'a' + COND_FROM) || !strchr(conditions, 'a' + COND_TO)) {
		cursor->base.pVtab->zErrMsg = sqlite3_mprintf(
			"%s(metric, from_ns, to_ns [, step_s]): a name or a glob, two times in ns "
			"and a step of 0.001 to 1e9 seconds are expected",
			RATES_TABLE);
		return SQLITE_ERROR;
	}
	if (cursor->from_ns < 0)
		cursor->from_ns = 0;
	if (cursor->to_ns > TIME_MAX_NS)
		cursor->to_ns = TIME_MAX_NS;
	if (cursor->from_ns >= cursor->to_ns) {
		cursor->eof = true;
		return SQLITE_OK;
	}
	if (cursor->step_ns) {
		const int64_t step_ns = cursor->step_ns;
		cursor->from_ns = rollup_step_of(cursor->from_ns + 1, step_ns) * step_ns;
		cursor->to_ns = (rollup_step_of(cursor->to_ns, step_ns) + 1) * step_ns;
	}
	cursor->from_ns++; /* (from, to] */
	return SQLITE_OK;
}

static int samples_next(sqlite3_vtab_cursor *base)
{
	struct samples_cursor *cursor = samples_cursor_of(base);

	if (cursor->steps) {
		if (++cursor->at_row < cursor->n_rows)
			return SQLITE_OK;
		return steps_read(cursor);
	}
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
	const bool steps = arg != NULL;
	const char *columns = "CREATE TABLE samples(" SAMPLES_COLUMNS ")";

	if (steps)
		columns = "CREATE TABLE rates(" STEPS_COLUMNS ")";
	const int rc = sqlite3_declare_vtab(db, columns);
	if (rc != SQLITE_OK)
		return rc;
	sqlite3_vtab_config(db, SQLITE_VTAB_INNOCUOUS); /* it reads what its views may read */
	struct samples_table *table = rw_calloc(1, sizeof(*table));
	table->db = db;
	table->steps = steps;
	*ret = &table->base;
	return SQLITE_OK;
}

static int samples_best_index(sqlite3_vtab *table, sqlite3_index_info *info)
{
	return samples_plan(info, ((struct samples_table *)table)->steps);
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
	cursor->steps = ((struct samples_table *)base)->steps;
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
	tally_free(cursor->tally);
	free(cursor->names);
	free(cursor->rows);
	blocks_free(cursor->blocks);
	arena_free(cursor->query);
	arena_free(cursor->stretch);
	free(cursor->devices);
	free(cursor->only);
	free(cursor->sorted);
	free(cursor->carries);
	free(cursor->old_carries);
	free(cursor);
	return SQLITE_OK;
}

static void cursor_begin(struct samples_cursor *cursor, int plan)
{
	arena_reset(cursor->query);
	sqlite3_reset(cursor->statements[ST_NAME]);
	cursor->name_at = 0;
	cursor->rates = plan & PLAN_RATES;
	cursor->by_name = plan & PLAN_SORTED;
	cursor->n_sorted = cursor->at_sorted = 0;
	cursor->nothing = cursor->has_priority = cursor->begun = cursor->eof = false;
	cursor->port = cursor->port_like = cursor->port_glob = NULL;
	cursor->entity = 0;
	cursor->from_ns = INT64_MIN + 1;
	cursor->to_ns = INT64_MAX;
	cursor->n_devices = cursor->device = cursor->n_series = cursor->at_series = 0;
	cursor->n_carries = cursor->n_old = cursor->at_old = 0;
	cursor->reading = false;
	cursor->step_ns = 0;
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
	if (cursor->steps)
		rc = steps_range(cursor, conditions);
	if (rc != SQLITE_OK || cursor->eof)
		return rc;
	rc = cursor_devices(cursor, &said);
	if (rc == SQLITE_OK && cursor->steps)
		return steps_read(cursor);
	if (rc == SQLITE_OK)
		rc = cursor_settle(cursor);
	return rc;
}

static const sqlite3_module samples_module = {
	.iVersion = 0,
	.xConnect = samples_connect,
	.xBestIndex = samples_best_index,
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
	static bool steps = true;
	sqlite3_stmt *st = NULL;
	int rc = sqlite3_create_module_v2(db, SAMPLES_TABLE, &samples_module, NULL, NULL);

	if (rc == SQLITE_OK)
		rc = sqlite3_create_module_v2(db, RATES_TABLE, &samples_module, &steps, NULL);
	/* Their columns are declared when they are first named, which the authorizer of somebody's
	 * own statement would refuse (series_sql.c). */
	if (rc == SQLITE_OK)
		rc = sqlite3_prepare_v2(
			db, "SELECT 1 FROM " SAMPLES_TABLE ", " RATES_TABLE, -1, &st, NULL);
	sqlite3_finalize(st);
	return rc;
}
