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
	struct str *out, const struct row_value *v, size_t n, uint16_t flags, uint16_t source)
{
	char column[SCHEMA_COLUMN_MAX];
	bool open = false;

	for (size_t i = 0; i < n; i++) {
		const char *sep = "";

		if (v[i].flags == flags && v[i].source == source && v[i].window_ms == 0)
			continue;
		str_addf(out, "%s\"%s\":{", open ? "," : "{",
			schema_lane_column(column, v[i].metric, v[i].lane));
		open = true;
		if (v[i].flags != flags) {
			str_addf(out, "\"flags\":%u", v[i].flags);
			sep = ",";
		}
		if (v[i].source != source) {
			str_addf(out, "%s\"source\":%u", sep, v[i].source);
			sep = ",";
		}
		if (v[i].window_ms != 0)
			str_addf(out, "%s\"window_ms\":%u", sep, v[i].window_ms);
		str_add(out, "}");
	}
	if (open)
		str_add(out, "}");
}

struct scan {
	const char *p;
	bool bad;
};

static bool eat(struct scan *s, char c)
{
	if (*s->p != c)
		return false;
	s->p++;
	return true;
}

/* The text between quotes; not terminated. */
static size_t quoted(struct scan *s, const char **ret)
{
	if (!eat(s, '"')) {
		s->bad = true;
		return 0;
	}
	*ret = s->p;
	size_t n = strcspn(s->p, "\"");
	s->p += n;
	if (!eat(s, '"'))
		s->bad = true;
	return n;
}

static uint32_t number(struct scan *s)
{
	uint64_t v = 0;

	if (*s->p < '0' || *s->p > '9')
		s->bad = true;
	while (*s->p >= '0' && *s->p <= '9' && v <= UINT32_MAX)
		v = v * 10 + (uint64_t)(*s->p++ - '0');
	if (v > UINT32_MAX)
		s->bad = true;
	return (uint32_t)v;
}

static struct row_value *value_of(struct row_value *v, size_t n, const char *column, size_t len)
{
	char buf[SCHEMA_COLUMN_MAX];

	for (size_t i = 0; i < n; i++) {
		schema_lane_column(buf, v[i].metric, v[i].lane);
		if (strlen(buf) == len && memcmp(buf, column, len) == 0)
			return &v[i];
	}
	return NULL;
}

static bool key_is(const char *key, size_t n, const char *name)
{
	return strlen(name) == n && memcmp(key, name, n) == 0;
}

void row_x_apply(const char *x, struct row_value *v, size_t n)
{
	struct scan s = {.p = x};

	if (!x || !eat(&s, '{') || eat(&s, '}'))
		return;
	do {
		const char *name = NULL, *key = NULL;
		size_t len = quoted(&s, &name);
		if (s.bad || !eat(&s, ':') || !eat(&s, '{'))
			return;
		struct row_value *to = value_of(v, n, name, len);
		if (eat(&s, '}'))
			continue;
		do {
			len = quoted(&s, &key);
			if (s.bad || !eat(&s, ':'))
				return;
			uint32_t k = number(&s);
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
		} while (eat(&s, ','));
		if (!eat(&s, '}'))
			return;
	} while (eat(&s, ','));
}
