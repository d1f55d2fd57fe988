/* samples_column - statements of the cursor of rocewatch_samples, and the columns of its rows. */
#include "db/sqlite/samples_cursor.h"

#include <stdio.h>
#include <time.h>
#include "agent/base/clock.h"
#include "db/model/metric.h"
#include "db/model/sample.h"
#include "db/sqlite/samples_plan.h"
#include "db/sqlite/sqlite_io.h"

static const char *const samples_sql[ST_COUNT] = {
	[ST_HOLD] = "SELECT name FROM sqlite_master",
	[ST_DEVICES] = "SELECT id, device FROM entity INDEXED BY entity_device WHERE port='' AND "
		       "priority=-1",
	[ST_OWNER] = "SELECT d.id, d.device FROM entity e CROSS JOIN entity d ON d.device=e.device "
		     "AND d.port='' "
		     "AND d.priority=-1 WHERE e.id=?1",
	[ST_PORT] = "SELECT id FROM entity WHERE device=?1 AND port=?2 ORDER BY id",
	[ST_NAME] = "SELECT port, priority FROM entity WHERE id=?1",
	[ST_TEXT] = "SELECT text FROM text WHERE id=?1",
};

int samples_statement(
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
static int result_sample(struct samples_cursor *cursor, sqlite3_context *context, uint64_t value)
{
	switch (metric_info(cursor->row_metric)->type) {
	case TYPE_F64: sqlite3_result_double(context, sample_f64(value)); break;
	case TYPE_TEXT: return result_text_of(cursor, context, value);
	default:
		if (value <= INT64_MAX)
			sqlite3_result_int64(context, (sqlite3_int64)value);
		else
			sqlite3_result_double(context, (double)value);
	}
	return SQLITE_OK;
}

/* NULL over a restart, for a suspect value, and over a decrease that is no wrap of 32 bits. */
static void result_rate(struct samples_cursor *cursor, sqlite3_context *context, uint64_t value,
	unsigned flags, int64_t t_ns)
{
	const uint64_t wrap = UINT64_C(1) << 32;
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
		if (!(flags & SF_WRAP32) || before >= wrap || value + wrap - before >= wrap / 2)
			return;
		more = (double)(value + wrap - before);
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

int samples_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int column)
{
	struct samples_cursor *cursor = samples_cursor_of(base);
	const struct gathered *series = &cursor->series[cursor->at_series];
	const uint32_t at = cursor->at;
	const struct metric_info *info = metric_info(cursor->row_metric);
	char flags[SAMPLE_FLAGS_TEXT_MAX];

	switch (column) {
	case SC_TIME: result_time(context, series->t_ns[at]); break;
	case SC_T_NS: sqlite3_result_int64(context, series->t_ns[at]); break;
	case SC_DEVICE:
		sqlite3_result_text(context, cursor->device_name, -1, SQLITE_TRANSIENT);
		break;
	case SC_PORT:
		if (*cursor->row_port)
			sqlite3_result_text(context, cursor->row_port, -1, SQLITE_TRANSIENT);
		break;
	case SC_PRIORITY:
		if (cursor->row_priority != -1)
			sqlite3_result_int(context, cursor->row_priority);
		break;
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
