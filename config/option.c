/* option - see option.h. One row per type says how it is read, compared, stored and printed. */
#include "config/option.h"

#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/err.h"
#include "agent/base/str.h"

/* A value of any type, between its text and its place in the options struct. */
union value {
	bool b;
	int64_t i;
	uint64_t u;
	double d;
	const char *s;
	int e;
};

static int read_bool(const struct option *o, const char *s, union value *v, struct err *e)
{
	if (!str_eq(s, "true") && !str_eq(s, "false"))
		return err_set(e, -EINVAL, "read '%.64s', expected true or false", s);
	v->b = s[0] == 't';
	return 0;
}
static int read_int(const struct option *o, const char *s, union value *v, struct err *e)
{
	return unit_int(s, &v->i, e);
}
static int read_double(const struct option *o, const char *s, union value *v, struct err *e)
{
	return unit_double(s, &v->d, e);
}
static int read_ratio(const struct option *o, const char *s, union value *v, struct err *e)
{
	int r = unit_ratio(s, &v->d, e);
	/* "warn: 20" where 20% is meant would be a limit that nothing ever reaches; a row that
	 * counts in percent takes no such number. */
	bool percent = !o->max || strchr(o->max, '%');
	if (r == 0 && percent && v->d > 1 && !strpbrk(s, "%/"))
		return err_set(e, -EINVAL,
			"read '%.64s', which is %.6g %%; expected a ratio such as 20%%, 0.2 or 1/8",
			s, v->d * 100);
	return r;
}
static int read_duration(const struct option *o, const char *s, union value *v, struct err *e)
{
	return unit_duration(s, &v->i, e);
}
static int read_size(const struct option *o, const char *s, union value *v, struct err *e)
{
	return unit_size(s, &v->u, e);
}
static int read_bitrate(const struct option *o, const char *s, union value *v, struct err *e)
{
	return unit_bitrate(s, &v->u, e);
}
static int read_length(const struct option *o, const char *s, union value *v, struct err *e)
{
	return unit_length(s, &v->u, e);
}
static int read_string(const struct option *o, const char *s, union value *v, struct err *e)
{
	v->s = s;
	return 0;
}
static int read_enum(const struct option *o, const char *s, union value *v, struct err *e)
{
	rw_cleanup(str_done) struct str all = {0};
	size_t n = 0;
	for (; o->choices[n]; n++) {
		if (strcmp(o->choices[n], s) == 0) {
			v->e = (int)n;
			return 0;
		}
		str_addf(&all, "%s%s",
			n == 0                      ? ""
				: o->choices[n + 1] ? ", "
						    : " or ",
			o->choices[n]);
	}
	const char *near = str_nearest(s, o->choices, n);
	if (near)
		return err_set(e, -EINVAL, "read '%.64s', expected %s; did you mean '%s'?", s,
			all.s, near);
	return err_set(e, -EINVAL, "read '%.64s', expected %s", s, all.s);
}

static int compare_i(union value a, union value b)
{
	return a.i < b.i ? -1 : a.i > b.i;
}
static int compare_u(union value a, union value b)
{
	return a.u < b.u ? -1 : a.u > b.u;
}
static int compare_d(union value a, union value b)
{
	return a.d < b.d ? -1 : a.d > b.d;
}

/* Shortest decimal that reads back as the same double. No exponent: the reader takes none. */
static void shortest_double(char *buf, size_t size, double d)
{
	for (int digits = 0; digits <= 20; digits++) {
		snprintf(buf, size, "%.*f", digits, d);
		if (strtod(buf, NULL) == d)
			return;
	}
}
static void text_bool(const struct option *o, union value v, char *buf, size_t size)
{
	snprintf(buf, size, "%s", v.b ? "true" : "false");
}
static void text_int(const struct option *o, union value v, char *buf, size_t size)
{
	snprintf(buf, size, "%" PRId64, v.i);
}
static void text_double(const struct option *o, union value v, char *buf, size_t size)
{
	shortest_double(buf, size, v.d);
}
static void text_ratio(const struct option *o, union value v, char *buf, size_t size)
{
	/* Percent where it reads back as the same double ("20%"), the plain ratio where it does not
	 * ("0.333..."). */
	for (int digits = 0; digits <= 4; digits++) {
		double back;
		snprintf(buf, size, "%.*f%%", digits, v.d * 100);
		if (unit_ratio(buf, &back, NULL) == 0 && back == v.d)
			return;
	}
	if (v.d <= 1) {
		shortest_double(buf, size, v.d);
		return;
	}
	/* above one the reader wants the percent sign */
	for (int digits = 5; digits <= 17; digits++) {
		double back;
		snprintf(buf, size, "%.*f%%", digits, v.d * 100);
		if (unit_ratio(buf, &back, NULL) == 0 && back == v.d)
			return;
	}
	snprintf(buf, size, "%.9f%%", v.d * 100);
}
static void text_duration(const struct option *o, union value v, char *buf, size_t size)
{
	unit_duration_text(buf, size, v.i);
}
static void text_size(const struct option *o, union value v, char *buf, size_t size)
{
	unit_size_text(buf, size, v.u);
}
static void text_bitrate(const struct option *o, union value v, char *buf, size_t size)
{
	unit_bitrate_text(buf, size, v.u);
}
static void text_length(const struct option *o, union value v, char *buf, size_t size)
{
	unit_length_text(buf, size, v.u);
}
static void text_enum(const struct option *o, union value v, char *buf, size_t size)
{
	snprintf(buf, size, "%s", o->choices[v.e]);
}

static const struct {
	size_t size; /* in the options struct */
	int (*read)(const struct option *o, const char *s, union value *v, struct err *e);
	int (*compare)(union value a, union value b); /* NULL = has no range */
	/* NULL: OPT_STRING */
	void (*text)(const struct option *o, union value v, char *buf, size_t size);
} types[] = {
	[OPT_BOOL] = {sizeof(bool), read_bool, NULL, text_bool},
	[OPT_INT] = {sizeof(int64_t), read_int, compare_i, text_int},
	[OPT_DOUBLE] = {sizeof(double), read_double, compare_d, text_double},
	[OPT_RATIO] = {sizeof(double), read_ratio, compare_d, text_ratio},
	[OPT_DURATION] = {sizeof(int64_t), read_duration, compare_i, text_duration},
	[OPT_SIZE] = {sizeof(uint64_t), read_size, compare_u, text_size},
	[OPT_BITRATE] = {sizeof(uint64_t), read_bitrate, compare_u, text_bitrate},
	[OPT_LENGTH] = {sizeof(uint64_t), read_length, compare_u, text_length},
	[OPT_STRING] = {sizeof(const char *), read_string, NULL, NULL},
	[OPT_ENUM] = {sizeof(int), read_enum, NULL, text_enum},
};

/* A limit of the table itself: a mistake in it is ours. */
static union value limit(const struct option *o, const char *text)
{
	union value v = {0};
	int r = types[o->type].read(o, text, &v, NULL);
	assert(r == 0);
	(void)r;
	return v;
}

static int check_range(const struct option *o, const char *text, union value v, struct err *e)
{
	int (*compare)(union value, union value) = types[o->type].compare;
	if (!compare)
		return 0;
	bool low = o->min && compare(v, limit(o, o->min)) < 0;
	bool high = o->max && compare(v, limit(o, o->max)) > 0;
	if (!low && !high)
		return 0;
	if (o->min && o->max)
		return err_set(e, -ERANGE, "read '%.64s', expected a value from %s to %s", text,
			o->min, o->max);
	if (low)
		return err_set(
			e, -ERANGE, "read '%.64s', expected a value of at least %s", text, o->min);
	return err_set(e, -ERANGE, "read '%.64s', expected a value of at most %s", text, o->max);
}

int option_set(const struct option *o, struct arena *a, void *base, const char *text, struct err *e)
{
	union value v = {0};
	int r = types[o->type].read(o, text, &v, e);
	if (r == 0)
		r = check_range(o, text, v, e);
	if (r < 0)
		return r;
	if (o->type == OPT_STRING)
		v.s = arena_strdup(a, text);
	memcpy((char *)base + o->offset, &v, types[o->type].size);
	return 0;
}

void options_defaults(const struct option_table *t, struct arena *a, void *base)
{
	memset(base, 0, t->size);
	for (size_t i = 0; i < t->n_rows; i++) {
		const struct option *o = &t->rows[i];
		struct err e = {0};
		if (o->offset + types[o->type].size > t->size)
			err_set(&e, -EINVAL, "lies outside its struct");
		else if (o->def)
			option_set(o, a, base, o->def, &e);
		else if (o->type != OPT_STRING)
			err_set(&e, -EINVAL, "has no default");
		if (e.code) {
			fprintf(stderr, "rocewatch: option %s.%s.%s: %s\n", t->section, t->name,
				o->name, e.text);
			abort();
		}
	}
}

const struct option *option_find(const struct option_table *t, const char *name)
{
	for (size_t i = 0; i < t->n_rows; i++)
		if (strcmp(t->rows[i].name, name) == 0)
			return &t->rows[i];
	return NULL;
}

char *option_text(const struct option *o, struct arena *a, const void *base)
{
	union value v = {0};
	char buf[400]; /* the largest double has 309 digits before its point */

	memcpy(&v, (const char *)base + o->offset, types[o->type].size);
	if (o->type == OPT_STRING)
		return arena_strdup(a, v.s ? v.s : "");
	types[o->type].text(o, v, buf, sizeof(buf));
	return arena_strdup(a, buf);
}
