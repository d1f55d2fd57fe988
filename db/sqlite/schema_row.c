/*
 * schema_row - one value of a wide row: its bits, and where its flags, source or window differ from
 * the row's, as JSON in the row's x column. The reader understands what the writer makes and no
 * more: names and decimal numbers, no blanks, no escapes.
 */
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "db/sqlite/schema.h"

uint64_t row_bits(sqlite3_stmt *st, int column, unsigned metric)
{
	if (metric_info(metric)->type == TYPE_F64)
		return sample_of_f64(sqlite3_column_double(st, column));
	return (uint64_t)sqlite3_column_int64(st, column);
}

/* ---- reading ------------------------------------------------------------- */

struct x_scan {
	const char *at;
	bool bad;
};

static bool schema_row_eat(struct x_scan *scan, char letter)
{
	if (*scan->at != letter)
		return false;
	scan->at++;
	return true;
}

/* The text between quotes; not terminated. */
static size_t schema_row_quoted(struct x_scan *scan, const char **ret)
{
	if (!schema_row_eat(scan, '"')) {
		scan->bad = true;
		return 0;
	}
	*ret = scan->at;
	size_t n = strcspn(scan->at, "\"");
	scan->at += n;
	if (!schema_row_eat(scan, '"'))
		scan->bad = true;
	return n;
}

static uint32_t schema_row_number(struct x_scan *scan)
{
	uint64_t v = 0;

	if (*scan->at < '0' || *scan->at > '9')
		scan->bad = true;
	while (*scan->at >= '0' && *scan->at <= '9' && v <= UINT32_MAX)
		v = v * 10 + (uint64_t)(*scan->at++ - '0');
	if (v > UINT32_MAX)
		scan->bad = true;
	return (uint32_t)v;
}

static struct row_value *schema_row_value_of(
	struct row_value *values, size_t n, const char *column, size_t len)
{
	char buf[SCHEMA_COLUMN_MAX];

	for (size_t i = 0; i < n; i++) {
		schema_prio_column(buf, values[i].metric, values[i].prio);
		if (strlen(buf) == len && memcmp(buf, column, len) == 0)
			return &values[i];
	}
	return NULL;
}

static bool key_is(const char *key, size_t n, const char *name)
{
	return strlen(name) == n && memcmp(key, name, n) == 0;
}

/* {"flags":1,"window_ms":60000} after its '{'; @to NULL: of a value that is not asked for. False:
 * the text is damaged. */
static bool apply_exceptions(struct x_scan *scan, struct row_value *to)
{
	if (schema_row_eat(scan, '}'))
		return true;
	do {
		const char *key = NULL;
		size_t len = schema_row_quoted(scan, &key);
		if (scan->bad || !schema_row_eat(scan, ':'))
			return false;
		uint32_t number = schema_row_number(scan);
		if (scan->bad)
			return false;
		if (!to)
			continue;
		if (key_is(key, len, "flags"))
			to->flags = (uint16_t)number;
		else if (key_is(key, len, "source"))
			to->source = (uint16_t)number;
		else if (key_is(key, len, "window_ms"))
			to->window_ms = number;
	} while (schema_row_eat(scan, ','));
	return schema_row_eat(scan, '}');
}

void row_x_apply(const char *json, struct row_value *values, size_t n)
{
	struct x_scan scan = {.at = json};

	if (!json || !schema_row_eat(&scan, '{') || schema_row_eat(&scan, '}'))
		return;
	do {
		const char *name = NULL;
		size_t len = schema_row_quoted(&scan, &name);
		if (scan.bad || !schema_row_eat(&scan, ':') || !schema_row_eat(&scan, '{'))
			return;
		if (!apply_exceptions(&scan, schema_row_value_of(values, n, name, len)))
			return;
	} while (schema_row_eat(&scan, ','));
}
