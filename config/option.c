/* option - reads, checks, stores and prints one option. One row per type says how. */
#include "config/option.h"

/* A value of any type, between its text and its place in the options struct. */
union value {
	bool b;
	int64_t i;
	uint64_t u;
	double d;
	const char *s;
	int e;
};

static int read_bool(
	const struct option *option, const char *text, union value *value, struct err *e)
{
	if (!str_eq(text, "true") && !str_eq(text, "false"))
		return err_set(e, -EINVAL, "'%.64s'; expected true or false", text);
	value->b = text[0] == 't';
	return 0;
}
static int read_int(
	const struct option *option, const char *text, union value *value, struct err *e)
{
	return unit_int(text, &value->i, e);
}
static int read_double(
	const struct option *option, const char *text, union value *value, struct err *e)
{
	return unit_double(text, &value->d, e);
}
static int read_ratio(
	const struct option *option, const char *text, union value *value, struct err *e)
{
	int r = unit_ratio(text, &value->d, e);
	/* "warn: 20" where 20% is meant would be a limit that nothing ever reaches; a row that
	 * counts in percent takes no such number. */
	const bool percent = !option->max || strchr(option->max, '%');
	const bool bare = !strpbrk(text, "%/");
	if (r == 0 && percent && bare && value->d > 1)
		return err_set(e, -EINVAL,
			"'%.64s', which is %.6g %%; expected a ratio such as 20%%, 0.2 or 1/8",
			text, value->d * 100);
	return r;
}
static int option_read_duration(
	const struct option *option, const char *text, union value *value, struct err *e)
{
	return unit_duration(text, &value->i, e);
}
static int read_size(
	const struct option *option, const char *text, union value *value, struct err *e)
{
	return unit_size(text, &value->u, e);
}
static int read_bitrate(
	const struct option *option, const char *text, union value *value, struct err *e)
{
	return unit_bitrate(text, &value->u, e);
}
static int read_length(
	const struct option *option, const char *text, union value *value, struct err *e)
{
	return unit_length(text, &value->u, e);
}
static int read_string(
	const struct option *option, const char *text, union value *value, struct err *e)
{
	value->s = text;
	return 0;
}
static int read_enum(
	const struct option *option, const char *text, union value *value, struct err *e)
{
	rw_cleanup(str_done) struct str all = {0};
	size_t n = 0;
	for (; option->choices[n]; n++) {
		if (strcmp(option->choices[n], text) == 0) {
			value->e = (int)n;
			return 0;
		}
		const char *between = ", ";
		if (n == 0)
			between = "";
		else if (!option->choices[n + 1])
			between = " or ";
		str_addf(&all, "%s%s", between, option->choices[n]);
	}
	const char *near = str_nearest(text, option->choices, n);
	if (near)
		return err_set(
			e, -EINVAL, "'%.64s'; expected %s; did you mean '%s'?", text, all.s, near);
	return err_set(e, -EINVAL, "'%.64s'; expected %s", text, all.s);
}

static int compare_i(union value left, union value right)
{
	if (left.i < right.i)
		return -1;
	return left.i > right.i;
}
static int compare_u(union value left, union value right)
{
	if (left.u < right.u)
		return -1;
	return left.u > right.u;
}
static int compare_d(union value left, union value right)
{
	if (left.d < right.d)
		return -1;
	return left.d > right.d;
}

/* Shortest decimal that reads back as the same double. No exponent: the reader takes none. */
static void shortest_double(char *buf, size_t size, double value)
{
	for (int digits = 0; digits <= 20; digits++) {
		snprintf(buf, size, "%.*f", digits, value);
		if (strtod(buf, NULL) == value)
			return;
	}
}
static void text_bool(const struct option *option, union value value, char *buf, size_t size)
{
	snprintf(buf, size, "%s", value.b ? "true" : "false");
}
static void text_int(const struct option *option, union value value, char *buf, size_t size)
{
	snprintf(buf, size, "%" PRId64, value.i);
}
static void text_double(const struct option *option, union value value, char *buf, size_t size)
{
	shortest_double(buf, size, value.d);
}
static void text_ratio(const struct option *option, union value value, char *buf, size_t size)
{
	/* Percent where it reads back as the same double ("20%"), the plain ratio where it does not
	 * ("0.333..."). */
	for (int digits = 0; digits <= 4; digits++) {
		double back;
		snprintf(buf, size, "%.*f%%", digits, value.d * 100);
		if (unit_ratio(buf, &back, NULL) == 0 && back == value.d)
			return;
	}
	if (value.d <= 1) {
		shortest_double(buf, size, value.d);
		return;
	}
	/* above one the reader wants the percent sign */
	for (int digits = 5; digits <= 17; digits++) {
		double back;
		snprintf(buf, size, "%.*f%%", digits, value.d * 100);
		if (unit_ratio(buf, &back, NULL) == 0 && back == value.d)
			return;
	}
	snprintf(buf, size, "%.9f%%", value.d * 100);
}
static void text_duration(const struct option *option, union value value, char *buf, size_t size)
{
	unit_duration_text(buf, size, value.i);
}
static void text_size(const struct option *option, union value value, char *buf, size_t size)
{
	unit_size_text(buf, size, value.u);
}
static void text_bitrate(const struct option *option, union value value, char *buf, size_t size)
{
	unit_bitrate_text(buf, size, value.u);
}
static void text_length(const struct option *option, union value value, char *buf, size_t size)
{
	unit_length_text(buf, size, value.u);
}
static void text_enum(const struct option *option, union value value, char *buf, size_t size)
{
	snprintf(buf, size, "%s", option->choices[value.e]);
}

static const struct {
	size_t size; /* in the options struct */
	int (*read)(
		const struct option *option, const char *text, union value *value, struct err *e);
	int (*compare)(union value left, union value right); /* NULL = has no range */
	/* NULL: OPT_STRING */
	void (*text)(const struct option *option, union value value, char *buf, size_t size);
} types[] = {
	[OPT_BOOL] = {sizeof(bool), read_bool, NULL, text_bool},
	[OPT_INT] = {sizeof(int64_t), read_int, compare_i, text_int},
	[OPT_DOUBLE] = {sizeof(double), read_double, compare_d, text_double},
	[OPT_RATIO] = {sizeof(double), read_ratio, compare_d, text_ratio},
	[OPT_DURATION] = {sizeof(int64_t), option_read_duration, compare_i, text_duration},
	[OPT_SIZE] = {sizeof(uint64_t), read_size, compare_u, text_size},
	[OPT_BITRATE] = {sizeof(uint64_t), read_bitrate, compare_u, text_bitrate},
	[OPT_LENGTH] = {sizeof(uint64_t), read_length, compare_u, text_length},
	[OPT_STRING] = {sizeof(const char *), read_string, NULL, NULL},
	[OPT_ENUM] = {sizeof(int), read_enum, NULL, text_enum},
};

/* A limit of the table itself: a mistake in it is ours. */
static union value option_limit(const struct option *option, const char *text)
{
	union value v = {0};
	int r = types[option->type].read(option, text, &v, NULL);
	assert(r == 0);
	(void)r;
	return v;
}

static int check_range(
	const struct option *option, const char *text, union value value, struct err *e)
{
	int (*compare)(union value, union value) = types[option->type].compare;
	if (!compare)
		return 0;
	bool low = option->min && compare(value, option_limit(option, option->min)) < 0;
	bool high = option->max && compare(value, option_limit(option, option->max)) > 0;
	if (!low && !high)
		return 0;
	if (option->min && option->max)
		return err_set(e, -ERANGE, "'%.64s'; expected a value from %s to %s", text,
			option->min, option->max);
	if (low)
		return err_set(
			e, -ERANGE, "'%.64s'; expected a value of at least %s", text, option->min);
	return err_set(e, -ERANGE, "'%.64s'; expected a value of at most %s", text, option->max);
}

/* "...; expected a duration such as 10s (100ms to 1h)" */
static void option_say_range(const struct option *option, struct err *e)
{
	if (!e || !types[option->type].compare || !option->min || !option->max)
		return;
	const size_t n = strlen(e->text);
	snprintf(e->text + n, sizeof(e->text) - n, " (%s to %s)", option->min, option->max);
}

/* Numbers are narrower in some structs: the range of the row fits. */
static bool option_is_narrow(const struct option *option)
{
	const bool counts = option->type == OPT_INT || option->type == OPT_SIZE;
	return counts && option->size == sizeof(uint32_t);
}

static void option_put(const struct option *option, void *base, union value value)
{
	void *place = (char *)base + option->offset;
	if (option_is_narrow(option))
		*(uint32_t *)place = (uint32_t)value.u;
	else
		memcpy(place, &value, types[option->type].size);
}

static union value option_get(const struct option *option, const void *base)
{
	const void *place = (const char *)base + option->offset;
	union value v = {0};
	if (option_is_narrow(option))
		v.u = *(const uint32_t *)place;
	else
		memcpy(&v, place, types[option->type].size);
	return v;
}

bool option_unset(const struct option *option, const void *base)
{
	const union value v = option_get(option, base);
	if (option->def)
		return false;
	switch (option->type) {
	case OPT_STRING: return v.s == NULL;
	case OPT_ENUM: return v.e == -1;
	case OPT_RATIO:
	case OPT_DOUBLE: return isnan(v.d);
	case OPT_INT:
	case OPT_DURATION: return v.i == 0;
	case OPT_SIZE:
	case OPT_BITRATE:
	case OPT_LENGTH: return v.u == 0;
	case OPT_BOOL: break;
	}
	return false;
}

bool option_same(const struct option *option, const void *left, const void *right)
{
	const union value one = option_get(option, left), other = option_get(option, right);
	if (option->type == OPT_STRING)
		return str_eq(one.s, other.s);
	return memcmp(&one, &other, types[option->type].size) == 0;
}

int option_set(
	const struct option *option, struct arena *a, void *base, const char *text, struct err *e)
{
	union value v = {0};
	int rc = types[option->type].read(option, text, &v, e);
	if (rc < 0) {
		option_say_range(option, e);
		return rc;
	}
	rc = check_range(option, text, v, e);
	if (rc < 0)
		return rc;
	if (option->type == OPT_STRING)
		v.s = arena_strdup(a, text);
	option_put(option, base, v);
	return 0;
}

void options_defaults(const struct option_table *table, struct arena *a, void *base)
{
	memset(base, 0, table->size);
	for (size_t i = 0; i < table->n_rows; i++) {
		const struct option *o = &table->rows[i];
		struct err e = {0};
		if (o->offset + types[o->type].size > table->size)
			err_set(&e, -EINVAL, "lies outside its struct");
		else if (o->def)
			option_set(o, a, base, o->def, &e);
		else if (o->type != OPT_STRING)
			err_set(&e, -EINVAL, "has no default");
		if (e.code) {
			fprintf(stderr, "rocewatch: option %s.%s.%s: %s\n", table->section,
				table->name, o->name, e.text);
			abort();
		}
	}
}

const struct option *option_find(const struct option_table *table, const char *name)
{
	for (size_t i = 0; i < table->n_rows; i++)
		if (strcmp(table->rows[i].name, name) == 0)
			return &table->rows[i];
	return NULL;
}

char *option_text(const struct option *option, struct arena *a, const void *base)
{
	const union value v = option_get(option, base);
	char buf[400]; /* the largest double has 309 digits before its point */

	if (option->type == OPT_STRING)
		return arena_strdup(a, str_or(v.s, ""));
	types[option->type].text(option, v, buf, sizeof(buf));
	return arena_strdup(a, buf);
}
