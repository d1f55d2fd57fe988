/* replay - reads recorded samples strictly: a case that is half understood would be replayed to
 * wrong findings, so the first line that is not clear refuses the whole file. Reads the file it is
 * given, and touches nothing else. */
#include "collectors/recorded/replay.h"

#include <unistd.h>

#define REPLAY_NAME_MAX 255 /* device, port and text values */

/* ---- replay_order ---------------------------------------------------------- */

/* replay_order - polls (runs of equal time) are sorted one by one, each with the permutation that
 * sorted the poll before it. */

/* A sample and where in its poll it stood. */
struct placed {
	struct sample sample;
	size_t place;
};

struct poll_order {
	size_t *from; /* sorted position -> position in the poll */
	struct placed *placed;
	size_t n; /* of the poll that @from was made for */
	size_t cap;
};

static int order_of(uint64_t left, uint64_t right)
{
	return (left > right) - (left < right);
}

static int sample_compare(const void *left, const void *right)
{
	const struct sample *x = left, *y = right;
	int c = (x->t_ns > y->t_ns) - (x->t_ns < y->t_ns);
	if (c == 0)
		c = order_of(x->entity, y->entity);
	if (c == 0)
		c = order_of(x->metric, y->metric);
	/* the same instant twice: which one stays must not depend on the order of the lines */
	if (c == 0)
		c = order_of(x->value, y->value);
	if (c == 0)
		c = order_of(x->flags, y->flags);
	return c;
}

static bool order_in_time(const struct sample *samples, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (samples[i].t_ns < samples[i - 1].t_ns)
			return false;
	return true;
}

static void poll_room(struct poll_order *order, size_t n)
{
	if (n <= order->cap)
		return;
	order->cap = 2 * n;
	order->from = rw_realloc(order->from, order->cap * sizeof(*order->from));
	order->placed = rw_realloc(order->placed, order->cap * sizeof(*order->placed));
}

/* False: the order of the poll before does not sort this one. */
static bool poll_as_before(struct poll_order *order, struct sample *poll, size_t n)
{
	if (n != order->n)
		return false;
	struct sample *sorted = (struct sample *)order->placed;
	for (size_t i = 0; i < n; i++) {
		sorted[i] = poll[order->from[i]];
		if (i > 0 && sample_compare(&sorted[i - 1], &sorted[i]) > 0)
			return false;
	}
	memcpy(poll, sorted, n * sizeof(*poll));
	return true;
}

static void poll_sort(struct poll_order *order, struct sample *poll, size_t n)
{
	poll_room(order, n);
	if (poll_as_before(order, poll, n))
		return;
	for (size_t i = 0; i < n; i++)
		order->placed[i] = (struct placed){.sample = poll[i], .place = i};
	/* the sample is the first member */
	qsort(order->placed, n, sizeof(*order->placed), sample_compare);
	for (size_t i = 0; i < n; i++) {
		order->from[i] = order->placed[i].place;
		poll[i] = order->placed[i].sample;
	}
	order->n = n;
}

/*
 * replay_order - in place, the same result for any order of the lines. A recording is mostly in the
 * order of time already, and the samples of each poll come in the order of the poll before: then
 * the work is linear.
 */
static void replay_order(struct sample *samples, size_t n)
{
	struct poll_order order = {0};
	if (n < 2)
		return;
	if (!order_in_time(samples, n)) {
		qsort(samples, n, sizeof(*samples), sample_compare);
		return;
	}
	for (size_t begin = 0, end; begin < n; begin = end) {
		for (end = begin + 1; end < n && samples[end].t_ns == samples[begin].t_ns;)
			end++;
		poll_sort(&order, &samples[begin], end - begin);
	}
	free(order.from);
	free(order.placed);
}

/* ---- replay_names ---------------------------------------------------------- */

/*
 * replay_names - what the four names of a line (device, port, priority, metric) stand for. A
 * recording repeats the same lines at every poll, so the names that followed last time are compared
 * first, and a known line costs one memcmp. One thread.
 */

#define NO_ROW SIZE_MAX

struct names_row {
	char *text;
	size_t n;
	size_t follow; /* the row of the line that came after this one last time */
	uint32_t entity;
	uint16_t metric;
};

struct replay_names {
	struct smap *index;
	struct names_row *v;
	size_t n, cap;
	size_t last; /* the row of the previous line */
};

static struct replay_names *replay_names_new(void)
{
	struct replay_names *names = rw_calloc(1, sizeof(*names));
	names->index = smap_new();
	names->last = NO_ROW;
	return names;
}

static void replay_names_free(struct replay_names *names)
{
	if (!names)
		return;
	for (size_t i = 0; i < names->n; i++)
		free(names->v[i].text);
	free(names->v);
	smap_free(names->index);
	free(names);
}

static void names_follow(struct replay_names *names, size_t row)
{
	if (names->last != NO_ROW)
		names->v[names->last].follow = row;
	names->last = row;
}

static bool names_row_is(const struct replay_names *names, size_t row, const char *text, size_t n)
{
	return row != NO_ROW && names->v[row].n == n && memcmp(names->v[row].text, text, n) == 0;
}

/* replay_names_find - @text are the four columns with their tabs. False: they were never added. */
static bool replay_names_find(struct replay_names *names, const char *text, size_t n,
	uint32_t *ret_entity, uint16_t *ret_metric)
{
	size_t row = NO_ROW;
	if (names->last != NO_ROW)
		row = names->v[names->last].follow;
	if (names_row_is(names, row, text, n)) {
		names->last = row;
	} else {
		uint64_t found;
		if (!smap_get(names->index, text, n, &found))
			return false;
		row = (size_t)found;
		names_follow(names, row);
	}
	*ret_entity = names->v[row].entity;
	*ret_metric = names->v[row].metric;
	return true;
}

/* replay_names_add - after a search in vain; @text is copied. */
static void replay_names_add(
	struct replay_names *names, const char *text, size_t n, uint32_t entity, uint16_t metric)
{
	rw_grow(names->v, names->n, names->cap);
	char *copy = rw_calloc(n + 1, 1);
	memcpy(copy, text, n);
	names->v[names->n] = (struct names_row){
		.text = copy, .n = n, .follow = NO_ROW, .entity = entity, .metric = metric};
	smap_put(names->index, text, n, names->n);
	names_follow(names, names->n++);
}

/* ---- replay ---------------------------------------------------------------- */

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
#define LINE_MOST 65536 /* bytes; names are bounded, and so is a value */

struct tsv_field {
	const char *text; /* not terminated */
	size_t n;
	int col; /* 1-based byte column */
};

struct tsv_reader {
	const char *name;
	int line;
	bool seen_data;
	struct entities *entities;
	struct replay_names *names;
	struct sample_list *out;
	struct err *e;
};

/* How much of a foreign text is quoted back. */
#define QUOTE_MAX 60
#define QUOTE(f) quoted_bytes(f), (f)->text

static int quoted_bytes(const struct tsv_field *field)
{
	if (field->n > QUOTE_MAX)
		return QUOTE_MAX;
	return (int)field->n;
}

static bool field_is(const struct tsv_field *field, const char *text)
{
	return field->n == strlen(text) && memcmp(field->text, text, field->n) == 0;
}

static bool field_none(const struct tsv_field *field)
{
	return field->n == 0 || field_is(field, "-");
}

static int replay_refuse(struct tsv_reader *reader, const struct tsv_field *field, const char *what,
	const char *expected)
{
	return err_at(reader->e, -EINVAL, reader->name, reader->line, field->col,
		"invalid %s '%.*s'; expected %s", what, QUOTE(field), expected);
}

/*
 * Decimal seconds to ns without going through a double, which has no room for ns since 1970. Digits
 * past the ninth are refused unless zero: they would be lost silently.
 */
static bool parse_seconds(const struct tsv_field *field, int64_t *ret_ns)
{
	const char *p = field->text, *end = field->text + field->n;
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

static bool parse_u64(const struct tsv_field *field, uint64_t *ret)
{
	uint64_t v = 0;
	if (field->n == 0)
		return false;
	for (size_t k = 0; k < field->n; k++) {
		unsigned digit = (unsigned)(field->text[k] - '0');
		if (digit > 9 || __builtin_mul_overflow(v, 10, &v) ||
			__builtin_add_overflow(v, digit, &v))
			return false;
	}
	*ret = v;
	return true;
}

static bool parse_f64(const struct tsv_field *field, double *ret)
{
	char buf[64], *end;
	if (field->n == 0 || field->n >= sizeof(buf) || !strchr("+-.0123456789", field->text[0]))
		return false;
	memcpy(buf, field->text, field->n);
	buf[field->n] = '\0';
	if (strpbrk(buf, "xXnN")) /* no hex, no nan, no inf */
		return false;
	*ret = strtod(buf, &end);
	return end == buf + field->n && isfinite(*ret);
}

/* A whole number that a tool wrote as 4e11 or 42.0 is still exact below 2^53. */
static bool parse_whole(const struct tsv_field *field, uint64_t *ret)
{
	double d;
	if (parse_u64(field, ret))
		return true;
	if (!parse_f64(field, &d) || d < 0 || d > 9007199254740992.0 || d != floor(d))
		return false;
	*ret = (uint64_t)d;
	return true;
}

static int parse_value(struct tsv_reader *reader, const struct tsv_field *field,
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
		memcpy(text, field->text, field->n);
		text[field->n] = '\0';
		*ret = entities_text(reader->entities, text);
		return 0;
	}
	return replay_refuse(reader, field, "value", "a value");
}

static int parse_name(struct tsv_reader *reader, const struct tsv_field *field, const char *what,
	char ret[REPLAY_NAME_MAX + 1])
{
	if (field->n > REPLAY_NAME_MAX)
		return replay_refuse(reader, field, what, "a name of at most 255 bytes");
	memcpy(ret, field->text, field->n);
	ret[field->n] = '\0';
	if (strlen(ret) != field->n || !text_is_clean(ret))
		return replay_refuse(reader, field, what, "a name without control characters");
	return 0;
}

static int parse_metric(struct tsv_reader *reader, const struct tsv_field *field, unsigned *ret)
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
	if (near)
		snprintf(expected, sizeof(expected), "a canonical metric, perhaps '%s'", near);
	else
		snprintf(expected, sizeof(expected), "a canonical metric such as port.out_octets");
	return replay_refuse(reader, field, "metric", expected);
}

const char *sample_scope_error(unsigned metric, const struct entity *entity)
{
	const struct metric_info *m = metric_info(metric);
	if (!m)
		return "a canonical metric";
	bool has_port = *entity->port, pool = strncmp(entity->port, "pool:", 5) == 0;
	/* "port#qN": a queue that no priority maps to */
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

/* parse_priority - 0 to 7, or PRIO_NONE for "-". */
static int parse_priority(struct tsv_reader *reader, const struct tsv_field *field, int *ret)
{
	*ret = PRIO_NONE;
	if (field_none(field))
		return 0;
	if (field->n != 1 || field->text[0] < '0' || field->text[0] > '7')
		return replay_refuse(reader, field, "priority", "0 to 7, or - for none");
	*ret = field->text[0] - '0';
	return 0;
}

static int parse_flags(struct tsv_reader *reader, const struct tsv_field *field, unsigned *ret)
{
	char text[SAMPLE_FLAGS_TEXT_MAX];
	if (field_none(field))
		return 0;
	if (field->n >= sizeof(text))
		return replay_refuse(reader, field, "flags", "flags such as restart,wrap32, or -");
	memcpy(text, field->text, field->n);
	text[field->n] = '\0';
	if (sample_flags_parse(text, ret) != 0)
		return replay_refuse(reader, field, "flags",
			"some of restart,wrap32,estimated,suspect,late,declared, or -");
	return 0;
}

static int parse_window(struct tsv_reader *reader, const struct tsv_field *field, uint32_t *ret_ms)
{
	int64_t ns;
	if (field_none(field))
		return 0;
	if (!parse_seconds(field, &ns) || ns / NS_PER_MS > UINT32_MAX)
		return replay_refuse(
			reader, field, "window_s", "seconds such as 60, at most 49 days");
	*ret_ms = (uint32_t)(ns / NS_PER_MS);
	return 0;
}

/* check_scope - does the metric belong to what the line names? */
static int check_scope(struct tsv_reader *reader, const struct tsv_field *field, unsigned metric,
	const struct entity *entity)
{
	const char *expected = sample_scope_error(metric, entity);
	int col = field[COL_PORT].col;
	if (!expected)
		return 0;
	if (*entity->port)
		col = field[COL_PRIORITY].col;
	return err_at(reader->e, -EINVAL, reader->name, reader->line, col,
		"invalid port '%.*s' and priority '%.*s' for %s; expected %s",
		QUOTE(&field[COL_PORT]), QUOTE(&field[COL_PRIORITY]), metric_info(metric)->name,
		expected);
}

/* Device, port, priority and metric of a line whose like was not seen yet. */
static int parse_names(struct tsv_reader *reader, const struct tsv_field *field,
	uint32_t *ret_entity, uint16_t *ret_metric)
{
	char device[REPLAY_NAME_MAX + 1], port[REPLAY_NAME_MAX + 1] = "";
	unsigned metric = 0;
	int priority = PRIO_NONE;

	if (field_none(&field[COL_DEVICE]))
		return replay_refuse(reader, &field[COL_DEVICE], "device", "the name of a device");
	int rc = parse_name(reader, &field[COL_DEVICE], "device", device);
	if (rc == 0 && !field_none(&field[COL_PORT]))
		rc = parse_name(reader, &field[COL_PORT], "port", port);
	if (rc == 0)
		rc = parse_metric(reader, &field[COL_METRIC], &metric);
	if (rc == 0)
		rc = parse_priority(reader, &field[COL_PRIORITY], &priority);
	const struct entity about = {.device = device, .port = port, .priority = (int16_t)priority};
	if (rc == 0)
		rc = check_scope(reader, field, metric, &about);
	if (rc != 0)
		return rc;
	*ret_entity = entities_intern(reader->entities, device, port, priority);
	*ret_metric = (uint16_t)metric;
	return 0;
}

static int parse_known_names(
	struct tsv_reader *reader, const struct tsv_field *field, struct sample *ret)
{
	const char *text = field[COL_DEVICE].text;
	const size_t n = (size_t)(field[COL_METRIC].text - text) + field[COL_METRIC].n;
	if (replay_names_find(reader->names, text, n, &ret->entity, &ret->metric))
		return 0;
	const int rc = parse_names(reader, field, &ret->entity, &ret->metric);
	if (rc == 0)
		replay_names_add(reader->names, text, n, ret->entity, ret->metric);
	return rc;
}

/* The eight columns of one line to one sample. */
static int parse_fields(struct tsv_reader *reader, const struct tsv_field *field, size_t n)
{
	struct sample s = {.source = SOURCE_REPLAY};
	unsigned flags = 0;

	if (!parse_seconds(&field[COL_TIME], &s.t_ns))
		return replay_refuse(
			reader, &field[COL_TIME], "time_s", "seconds such as 12 or 1763690400.25");
	int rc = parse_known_names(reader, field, &s);
	if (rc == 0)
		rc = parse_value(reader, &field[COL_VALUE], metric_info(s.metric), &s.value);
	if (rc == 0 && n > COL_FLAGS)
		rc = parse_flags(reader, &field[COL_FLAGS], &flags);
	if (rc == 0 && n > COL_WINDOW)
		rc = parse_window(reader, &field[COL_WINDOW], &s.window_ms);
	if (rc != 0)
		return rc;
	s.flags = (uint16_t)flags;
	rw_grow(reader->out->v, reader->out->n, reader->out->cap);
	reader->out->v[reader->out->n++] = s;
	return 0;
}

static int parse_line(struct tsv_reader *reader, const char *text, size_t n)
{
	struct tsv_field f[COL_COUNT];
	size_t count = 0;
	reader->line++;
	if (n > 0 && text[n - 1] == '\r')
		n--;
	if (n > REPLAY_LINE_MAX)
		return err_at(reader->e, -EINVAL, reader->name, reader->line, 1,
			"the line has %zu bytes; at most %d are allowed", n, REPLAY_LINE_MAX);
	if (n == 0 || text[0] == '#' || strspn(text, " \t") >= n)
		return 0;
	if (memchr(text, '\0', n))
		return err_at(reader->e, -EINVAL, reader->name, reader->line, 1,
			"the line holds a NUL byte; expected text");
	const char *begin = text, *end = text + n;
	for (;;) {
		const char *tab = memchr(begin, '\t', (size_t)(end - begin));
		const char *stop = end;
		if (tab)
			stop = tab;
		if (count == COL_COUNT)
			return err_at(reader->e, -EINVAL, reader->name, reader->line,
				(int)(begin - text) + 1,
				"more than %d columns; expected time_s device "
				"port priority metric value [flags [window_s]] separated by tabs",
				COL_COUNT);
		f[count++] =
			(struct tsv_field){begin, (size_t)(stop - begin), (int)(begin - text) + 1};
		if (!tab)
			break;
		begin = tab + 1;
	}
	if (count < COLUMNS_NEEDED)
		return err_at(reader->e, -EINVAL, reader->name, reader->line, 1,
			"%zu column%s; expected at least %d: time_s device port priority "
			"metric value, separated by tabs",
			count, plural(count), COLUMNS_NEEDED);
	if (!reader->seen_data && field_is(&f[COL_TIME], "time_s"))
		return 0;
	reader->seen_data = true;
	return parse_fields(reader, f, count);
}

static int replay_finish(struct tsv_reader *reader, int rc)
{
	replay_names_free(reader->names);
	if (rc != 0)
		reader->out->n = 0;
	else
		replay_order(reader->out->v, reader->out->n);
	return rc;
}

int replay_parse(const char *text, size_t n, const char *name, struct entities *entities,
	struct sample_list *out, struct err *e)
{
	struct tsv_reader r = {.name = name,
		.entities = entities,
		.names = replay_names_new(),
		.out = out,
		.e = e};
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
			return replay_finish(&r, -ENOMEM);
		if (strlen(line) < length) {
			r.line++;
			rc = err_at(e, -EINVAL, name, r.line, (int)strlen(line) + 1,
				"the line holds a NUL byte; expected text");
		} else {
			rc = parse_line(&r, line, length);
		}
		p = stop + 1;
	}
	return replay_finish(&r, rc);
}

/* A line without its end, NUL-terminated, in @line of LINE_MOST + 2 bytes. Its length, more than
 * LINE_MOST where it is longer, -1 at the end of the file. */
static ssize_t replay_line(FILE *file, char *line)
{
	ssize_t n = 0;
	int c;
	while ((c = getc_unlocked(file)) != EOF && c != '\n' && n <= LINE_MOST)
		line[n++] = (char)c;
	line[n] = '\0';
	if (c == EOF && n == 0)
		return -1;
	return n;
}

int replay_read(const char *path, struct entities *entities, struct sample_list *out, struct err *e)
{
	const int fd = str_open_file(path, e);
	if (fd < 0)
		return fd;
	rw_cleanup(fclosep) FILE *f = fdopen(fd, "r");
	rw_cleanup(freep) char *line = rw_calloc(1, LINE_MOST + 2);
	if (!f) {
		close(fd);
		return err_at(e, -ENOMEM, path, 0, 0, "cannot be read: out of memory");
	}
	struct tsv_reader r = {.name = path,
		.entities = entities,
		.names = replay_names_new(),
		.out = out,
		.e = e};
	int rc = 0;
	for (;;) {
		errno = 0;
		const ssize_t n = replay_line(f, line);
		if (n < 0)
			break;
		if (n > LINE_MOST)
			rc = err_at(e, -EINVAL, path, r.line + 1, 0,
				"the line is longer than %d bytes; expected samples, separated by "
				"tabs",
				LINE_MOST);
		else
			rc = parse_line(&r, line, (size_t)n);
		if (rc != 0)
			return replay_finish(&r, rc);
	}
	if (ferror(f)) {
		const int error = errno ? errno : EIO;
		rc = err_at(e, -error, path, r.line + 1, 0, "cannot be read: %s", strerror(error));
	}
	return replay_finish(&r, rc);
}

/* ---- cadence ------------------------------------------------------------- */

#define GAPS_PER_SERIES 64 /* enough for a median; bounds the work */

struct series_gaps {
	int64_t last_ns;
	int64_t v[GAPS_PER_SERIES];
	size_t n;
};

static int ns_compare(const void *left, const void *right)
{
	int64_t x = *(const int64_t *)left, y = *(const int64_t *)right;
	return (x > y) - (x < y);
}

/* The lower median: an interval that occurred, not the mean of two. Sorts in place. */
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
	struct series_gaps *runs = NULL;
	size_t n_runs = 0, cap = 0;
	for (size_t k = 0; k < n; k++) {
		const struct metric_info *m = metric_info(samples[k].metric);
		uint64_t key = (uint64_t)samples[k].entity << 16 | samples[k].metric, at;
		if (!m || m->kind != METRIC_COUNTER)
			continue;
		if (!map_get(index, key, &at)) {
			rw_grow(runs, n_runs, cap);
			map_put(index, key, n_runs);
			runs[n_runs++] = (struct series_gaps){.last_ns = samples[k].t_ns};
			continue;
		}
		struct series_gaps *g = &runs[at];
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
