/*
 * schema_row - what one value of a wide row has of its own: flags, source and window, as JSON in
 * the row's x column. The reader takes what the writer makes and no more: names and decimal
 * numbers, no blanks, no escapes.
 */
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "db/sqlite/schema.h"

void row_x_write(
	struct str *out, const struct row_value *values, size_t n, uint16_t flags, uint16_t source)
{
	char column[SCHEMA_COLUMN_MAX];
	bool open = false;

	for (size_t i = 0; i < n; i++) {
		const char *sep = "";

		if (values[i].flags == flags && values[i].source == source &&
			values[i].window_ms == 0)
			continue;
		str_addf(out, "%s\"%s\":{", open ? "," : "{",
			schema_prio_column(column, values[i].metric, values[i].prio));
		open = true;
		if (values[i].flags != flags) {
			str_addf(out, "\"flags\":%u", values[i].flags);
			sep = ",";
		}
		if (values[i].source != source) {
			str_addf(out, "%s\"source\":%u", sep, values[i].source);
			sep = ",";
		}
		if (values[i].window_ms != 0)
			str_addf(out, "%s\"window_ms\":%u", sep, values[i].window_ms);
		str_add(out, "}");
	}
	if (open)
		str_add(out, "}");
}

struct scan {
	const char *p;
	bool bad;
};

static bool schema_row_eat(struct scan *scan, char letter)
{
	if (*scan->p != letter)
		return false;
	scan->p++;
	return true;
}

/* The text between quotes; not terminated. */
static size_t schema_row_quoted(struct scan *scan, const char **ret)
{
	if (!schema_row_eat(scan, '"')) {
		scan->bad = true;
		return 0;
	}
	*ret = scan->p;
	size_t n = strcspn(scan->p, "\"");
	scan->p += n;
	if (!schema_row_eat(scan, '"'))
		scan->bad = true;
	return n;
}

static uint32_t schema_row_number(struct scan *scan)
{
	uint64_t v = 0;

	if (*scan->p < '0' || *scan->p > '9')
		scan->bad = true;
	while (*scan->p >= '0' && *scan->p <= '9' && v <= UINT32_MAX)
		v = v * 10 + (uint64_t)(*scan->p++ - '0');
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

void row_x_apply(const char *json, struct row_value *values, size_t n)
{
	struct scan s = {.p = json};

	if (!json || !schema_row_eat(&s, '{') || schema_row_eat(&s, '}'))
		return;
	do {
		const char *name = NULL, *key = NULL;
		size_t len = schema_row_quoted(&s, &name);
		if (s.bad || !schema_row_eat(&s, ':') || !schema_row_eat(&s, '{'))
			return;
		struct row_value *to = schema_row_value_of(values, n, name, len);
		if (schema_row_eat(&s, '}'))
			continue;
		do {
			len = schema_row_quoted(&s, &key);
			if (s.bad || !schema_row_eat(&s, ':'))
				return;
			uint32_t k = schema_row_number(&s);
			if (s.bad)
				return;
			if (!to)
				continue;
			if (key_is(key, len, "flags"))
				to->flags = (uint16_t)k;
			else if (key_is(key, len, "source"))
				to->source = (uint16_t)k;
			else if (key_is(key, len, "window_ms"))
				to->window_ms = k;
		} while (schema_row_eat(&s, ','));
		if (!schema_row_eat(&s, '}'))
			return;
	} while (schema_row_eat(&s, ','));
}
