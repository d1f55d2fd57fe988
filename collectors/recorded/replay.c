/*
 * replay - recorded samples, read strictly: a case that is half understood would be replayed to
 * wrong findings, so the first line that is not clear refuses the whole file. Pure but for the file
 * it reads.
 */
#include "collectors/recorded/replay.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/base/err.h"
#include "agent/base/map.h"
#include "agent/base/str.h"
#include "db/model/metric.h"

enum column {
	COL_TIME,
	COL_DEVICE,
	COL_PORT,
	COL_PRIORITY,
	COL_METRIC,
	COL_VALUE,
	COL_FLAGS,
	COL_WINDOW,
	COL_COUNT
};
#define COLUMNS_NEEDED 6

struct field {
	const char *s;
	size_t n;
	int col; /* 1-based byte column */
};

struct reader {
	const char *name;
	int line;
	bool seen_data;
	struct entities *entities;
	struct sample_list *out;
	struct err *e;
};

/* How much of a foreign text is quoted back. */
#define QUOTE(f) (int)((f)->n > 60 ? 60 : (f)->n), (f)->s

static bool field_is(const struct field *field, const char *text)
{
	return field->n == strlen(text) && memcmp(field->s, text, field->n) == 0;
}
static bool field_none(const struct field *field)
{
	return field->n == 0 || field_is(field, "-");
}

static int replay_refuse(
	struct reader *reader, const struct field *field, const char *what, const char *expected)
{
	return err_at(reader->e, -EINVAL, reader->name, reader->line, field->col,
		"read %s '%.*s', expected %s", what, QUOTE(field), expected);
}

/*
 * Decimal seconds to ns without going through a double, which has no room for ns since 1970. Digits
 * past the ninth are refused unless zero: they would be lost silently.
 */
static bool parse_seconds(const struct field *field, int64_t *ret_ns)
{
	const char *p = field->s, *end = field->s + field->n;
	int64_t s = 0, ns = 0;
	if (p == end || *p < '0' || *p > '9')
		return false;
	for (; p < end && *p >= '0' && *p <= '9'; p++) {
		s = s * 10 + (*p - '0');
		if (s > 9000000000LL) /* the year 2255; int64 ns end in 2262 */
			return false;
	}
	if (p < end && *p == '.') {
		int64_t unit = NS_PER_S / 10;
		if (++p == end)
			return false;
		for (; p < end && *p >= '0' && *p <= '9'; p++, unit /= 10) {
			if (unit == 0 && *p != '0')
				return false;
			ns += unit * (*p - '0');
		}
	}
	if (p != end)
		return false;
	*ret_ns = s * NS_PER_S + ns;
	return true;
}

static bool parse_u64(const struct field *field, uint64_t *ret)
{
	uint64_t v = 0;
	if (field->n == 0)
		return false;
	for (size_t k = 0; k < field->n; k++) {
		unsigned digit = (unsigned)(field->s[k] - '0');
		if (digit > 9 || __builtin_mul_overflow(v, 10, &v) ||
			__builtin_add_overflow(v, digit, &v))
			return false;
	}
	*ret = v;
	return true;
}

static bool parse_f64(const struct field *field, double *ret)
{
	char buf[64], *end;
	if (field->n == 0 || field->n >= sizeof(buf) || !strchr("+-.0123456789", field->s[0]))
		return false;
	memcpy(buf, field->s, field->n);
	buf[field->n] = '\0';
	if (strpbrk(buf, "xXnN")) /* no hex, no nan, no inf */
		return false;
	*ret = strtod(buf, &end);
	return end == buf + field->n && isfinite(*ret);
}

/* A whole number that a tool wrote as 4e11 or 42.0 is still exact below 2^53. */
static bool parse_whole(const struct field *field, uint64_t *ret)
{
	double d;
	if (parse_u64(field, ret))
		return true;
	if (!parse_f64(field, &d) || d < 0 || d > 9007199254740992.0 || d != floor(d))
		return false;
	*ret = (uint64_t)d;
	return true;
}

static int parse_value(struct reader *reader, const struct field *field,
	const struct metric_info *info, uint64_t *ret)
{
	char expected[160], text[REPLAY_NAME_MAX + 1];
	double d;
	switch (info->type) {
	case TYPE_U64:
		if (parse_whole(field, ret))
			return 0;
		snprintf(expected, sizeof(expected), "a whole number (%s, %s)", info->name,
			info->unit);
		return replay_refuse(reader, field, "value", expected);
	case TYPE_F64:
		if (parse_f64(field, &d)) {
			*ret = sample_of_f64(d);
			return 0;
		}
		snprintf(expected, sizeof(expected), "a number (%s, %s)", info->name, info->unit);
		return replay_refuse(reader, field, "value", expected);
	case TYPE_TEXT:
		if (field->n > REPLAY_NAME_MAX)
			return replay_refuse(reader, field, "value", "a text of at most 255 bytes");
		memcpy(text, field->s, field->n);
		text[field->n] = '\0';
		*ret = entities_text(reader->entities, text);
		return 0;
	}
	return replay_refuse(reader, field, "value", "a value");
}

static int parse_name(struct reader *reader, const struct field *field, const char *what,
	char ret[REPLAY_NAME_MAX + 1])
{
	if (field->n > REPLAY_NAME_MAX)
		return replay_refuse(reader, field, what, "a name of at most 255 bytes");
	for (size_t k = 0; k < field->n; k++) {
		if ((unsigned char)field->s[k] < 0x20 || field->s[k] == 0x7f)
			return replay_refuse(
				reader, field, what, "a name without control characters");
	}
	memcpy(ret, field->s, field->n);
	ret[field->n] = '\0';
	return 0;
}

static int parse_metric(struct reader *reader, const struct field *field, unsigned *ret)
{
	char name[64], expected[128];
	snprintf(name, sizeof(name), "%.*s", QUOTE(field));
	int m = metric_by_name(name);
	if (m >= 0 && strlen(name) == field->n) {
		*ret = (unsigned)m;
		return 0;
	}
	const char *names[METRIC_COUNT];
	for (unsigned k = 0; k < METRIC_COUNT; k++)
		names[k] = metric_info(k)->name;
	const char *near = str_nearest(name, names, METRIC_COUNT);
	snprintf(expected, sizeof(expected), "a canonical metric%s%s%s",
		near ? ", perhaps '" : " such as port.out_octets", str_or(near, ""),
		str_if(near, "'"));
	return replay_refuse(reader, field, "metric", expected);
}

const char *sample_scope_error(unsigned metric, const struct entity *entity)
{
	const struct metric_info *m = metric_info(metric);
	if (!m)
		return "a canonical metric";
	bool has_port = *entity->port, pool = strncmp(entity->port, "pool:", 5) == 0;
	/* "port#qN": a queue without a class */
	bool has_priority = entity->priority != PRIO_NONE || strchr(entity->port, '#') != NULL;
	switch (m->scope) {
	case SCOPE_PRIO:
		if (has_port && !pool && has_priority)
			return NULL;
		return "a port and a priority, as this metric is of both";
	case SCOPE_PORT:
		if (has_priority || pool)
			return "a port and no priority, as this metric is of a port";
		if (has_port || m->kind == METRIC_STATE)
			return NULL;
		return "a port, as this metric is of a port";
	case SCOPE_DEVICE:
		if (has_priority)
			return "no priority, as this metric is of a device";
		/* a setting of the device may be given for one port; a measurement may not */
		if (!has_port || pool || m->kind == METRIC_STATE)
			return NULL;
		return "no port, as this metric is of a device";
	}
	return "a canonical metric";
}

/* The eight columns of one line to one sample. */
static int parse_fields(struct reader *reader, const struct field *field, size_t n)
{
	struct sample s = {.source = SOURCE_REPLAY};
	char device[REPLAY_NAME_MAX + 1], port[REPLAY_NAME_MAX + 1] = "",
								 flags_text[SAMPLE_FLAGS_TEXT_MAX];
	unsigned metric = 0, flags = 0;
	int priority = PRIO_NONE, rc;

	if (!parse_seconds(&field[COL_TIME], &s.t_ns))
		return replay_refuse(
			reader, &field[COL_TIME], "time_s", "seconds such as 12 or 1763690400.25");
	if (field_none(&field[COL_DEVICE]))
		return replay_refuse(reader, &field[COL_DEVICE], "device", "the name of a device");
	rc = parse_name(reader, &field[COL_DEVICE], "device", device);
	if (rc == 0 && !field_none(&field[COL_PORT]))
		rc = parse_name(reader, &field[COL_PORT], "port", port);
	if (rc == 0)
		rc = parse_metric(reader, &field[COL_METRIC], &metric);
	if (rc != 0)
		return rc;
	if (!field_none(&field[COL_PRIORITY])) {
		if (field[COL_PRIORITY].n != 1 || field[COL_PRIORITY].s[0] < '0' ||
			field[COL_PRIORITY].s[0] > '7')
			return replay_refuse(
				reader, &field[COL_PRIORITY], "priority", "0 to 7, or - for none");
		priority = field[COL_PRIORITY].s[0] - '0';
	}
	struct entity probe = {.device = device, .port = port, .priority = (int16_t)priority};
	const char *expected = sample_scope_error(metric, &probe);
	if (expected) {
		struct field place = field[*port ? COL_PRIORITY : COL_PORT];
		return err_at(reader->e, -EINVAL, reader->name, reader->line, place.col,
			"read port '%.*s' and priority '%.*s' for %s, expected %s",
			QUOTE(&field[COL_PORT]), QUOTE(&field[COL_PRIORITY]),
			metric_info(metric)->name, expected);
	}
	rc = parse_value(reader, &field[COL_VALUE], metric_info(metric), &s.value);
	if (rc != 0)
		return rc;
	if (n > COL_FLAGS && !field_none(&field[COL_FLAGS])) {
		if (field[COL_FLAGS].n >= sizeof(flags_text))
			return replay_refuse(reader, &field[COL_FLAGS], "flags",
				"flags such as restart,wrap32, or -");
		memcpy(flags_text, field[COL_FLAGS].s, field[COL_FLAGS].n);
		flags_text[field[COL_FLAGS].n] = '\0';
		if (sample_flags_parse(flags_text, &flags) != 0)
			return replay_refuse(reader, &field[COL_FLAGS], "flags",
				"some of restart,wrap32,estimated,suspect,late,declared, or -");
	}
	if (n > COL_WINDOW && !field_none(&field[COL_WINDOW])) {
		int64_t window_ns;
		if (!parse_seconds(&field[COL_WINDOW], &window_ns) ||
			window_ns / NS_PER_MS > UINT32_MAX)
			return replay_refuse(reader, &field[COL_WINDOW], "window_s",
				"seconds such as 60, at most 49 days");
		s.window_ms = (uint32_t)(window_ns / NS_PER_MS);
	}
	s.entity = entities_intern(reader->entities, device, port, priority);
	s.metric = (uint16_t)metric;
	s.flags = (uint16_t)flags;
	rw_grow(reader->out->v, reader->out->n, reader->out->cap);
	reader->out->v[reader->out->n++] = s;
	return 0;
}

static int parse_line(struct reader *reader, const char *text, size_t n)
{
	struct field f[COL_COUNT];
	size_t count = 0;
	reader->line++;
	if (n > 0 && text[n - 1] == '\r')
		n--;
	if (n > REPLAY_LINE_MAX)
		return err_at(reader->e, -EINVAL, reader->name, reader->line, 1,
			"read a line of %zu bytes, expected at most %d", n, REPLAY_LINE_MAX);
	if (n == 0 || text[0] == '#' || strspn(text, " \t") >= n)
		return 0;
	if (memchr(text, '\0', n))
		return err_at(reader->e, -EINVAL, reader->name, reader->line, 1,
			"read a NUL byte, expected text");
	const char *begin = text, *end = text + n;
	for (;;) {
		const char *tab = memchr(begin, '\t', (size_t)(end - begin));
		const char *stop = end;
		if (tab)
			stop = tab;
		if (count == COL_COUNT)
			return err_at(reader->e, -EINVAL, reader->name, reader->line,
				(int)(begin - text) + 1,
				"read more than %d columns, expected time_s device "
				"port priority metric value [flags [window_s]] separated by tabs",
				COL_COUNT);
		f[count++] = (struct field){begin, (size_t)(stop - begin), (int)(begin - text) + 1};
		if (!tab)
			break;
		begin = tab + 1;
	}
	if (count < COLUMNS_NEEDED)
		return err_at(reader->e, -EINVAL, reader->name, reader->line, 1,
			"read %zu column%s, expected at least %d: time_s device port priority "
			"metric value, separated by tabs",
			count, str_if(count != 1, "s"), COLUMNS_NEEDED);
	if (!reader->seen_data && field_is(&f[COL_TIME], "time_s"))
		return 0;
	reader->seen_data = true;
	return parse_fields(reader, f, count);
}

static int sample_compare(const void *left, const void *right)
{
	const struct sample *x = left, *y = right;
	if (x->t_ns != y->t_ns) {
		if (x->t_ns < y->t_ns)
			return -1;
		return 1;
	}
	if (x->entity != y->entity) {
		if (x->entity < y->entity)
			return -1;
		return 1;
	}
	if (x->metric != y->metric) {
		if (x->metric < y->metric)
			return -1;
		return 1;
	}
	/* the same instant twice: which one stays must not depend on the order of the lines */
	if (x->value != y->value) {
		if (x->value < y->value)
			return -1;
		return 1;
	}
	if (x->flags < y->flags)
		return -1;
	return x->flags > y->flags;
}

static int replay_finish(struct sample_list *out, int rc)
{
	if (rc != 0)
		out->n = 0;
	else if (out->n > 1)
		qsort(out->v, out->n, sizeof(*out->v), sample_compare);
	return rc;
}

int replay_parse(const char *text, size_t n, const char *name, struct entities *entities,
	struct sample_list *out, struct err *e)
{
	struct reader r = {.name = name, .entities = entities, .out = out, .e = e};
	const char *p = text, *end = text + n;
	int rc = 0;
	while (rc == 0 && p < end) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		const char *stop = end;
		if (newline)
			stop = newline;
		/* lines are handled NUL-terminated, as getline gives them */
		rw_cleanup(freep) char *line = strndup(p, (size_t)(stop - p));
		size_t length = (size_t)(stop - p);
		if (!line)
			return replay_finish(out, -ENOMEM);
		if (strlen(line) < length) {
			r.line++;
			rc = err_at(e, -EINVAL, name, r.line, (int)strlen(line) + 1,
				"read a NUL byte, expected text");
		} else {
			rc = parse_line(&r, line, length);
		}
		p = stop + 1;
	}
	return replay_finish(out, rc);
}

int replay_read(const char *path, struct entities *entities, struct sample_list *out, struct err *e)
{
	struct reader r = {.name = path, .entities = entities, .out = out, .e = e};
	rw_cleanup(fclosep) FILE *f = fopen(path, "re");
	rw_cleanup(freep) char *line = NULL;
	size_t cap = 0;
	if (!f)
		return err_at(e, -errno, path, 0, 0, "cannot be read: %s", strerror(errno));
	int rc = 0;
	for (;;) {
		errno = 0;
		ssize_t n = getline(&line, &cap, f);
		if (n < 0)
			break;
		if (n > 0 && line[n - 1] == '\n')
			line[--n] = '\0';
		rc = parse_line(&r, line, (size_t)n);
		if (rc != 0)
			return replay_finish(out, rc);
	}
	if (ferror(f))
		rc = err_at(e, errno ? -errno : -EIO, path, r.line + 1, 0, "cannot be read: %s",
			strerror(errno ? errno : EIO));
	return replay_finish(out, rc);
}

/* ---- cadence ------------------------------------------------------------- */

#define GAPS_PER_SERIES 64 /* enough for a median; bounds the work */

struct gaps {
	int64_t last_ns;
	int64_t v[GAPS_PER_SERIES];
	size_t n;
};

static int ns_compare(const void *left, const void *right)
{
	int64_t x = *(const int64_t *)left, y = *(const int64_t *)right;
	return (x > y) - (x < y);
}

/* The lower median: an interval that was really seen. Sorts in place. */
static int64_t replay_median_of(int64_t *values, size_t n)
{
	if (n == 0)
		return 0;
	qsort(values, n, sizeof(*values), ns_compare);
	return values[(n - 1) / 2];
}

int64_t replay_interval(const struct sample *samples, size_t n)
{
	struct map *index = map_new();
	struct gaps *runs = NULL;
	size_t n_runs = 0, cap = 0;
	for (size_t k = 0; k < n; k++) {
		const struct metric_info *m = metric_info(samples[k].metric);
		uint64_t key = (uint64_t)samples[k].entity << 16 | samples[k].metric, at;
		if (!m || m->kind != METRIC_COUNTER)
			continue;
		if (!map_get(index, key, &at)) {
			rw_grow(runs, n_runs, cap);
			map_put(index, key, n_runs);
			runs[n_runs++] = (struct gaps){.last_ns = samples[k].t_ns};
			continue;
		}
		struct gaps *g = &runs[at];
		if (samples[k].t_ns > g->last_ns && g->n < GAPS_PER_SERIES)
			g->v[g->n++] = samples[k].t_ns - g->last_ns;
		g->last_ns = samples[k].t_ns;
	}
	int64_t *medians = rw_calloc(n_runs + 1, sizeof(*medians));
	size_t n_medians = 0;
	for (size_t k = 0; k < n_runs; k++) {
		if (runs[k].n)
			medians[n_medians++] = replay_median_of(runs[k].v, runs[k].n);
	}
	int64_t median = replay_median_of(medians, n_medians);
	free(medians);
	free(runs);
	map_free(index);
	return median;
}
