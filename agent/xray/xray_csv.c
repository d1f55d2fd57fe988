/* xray_csv - see xray_set.h: the set, and the rows of csv files. */
#include <arpa/inet.h>

#include "agent/xray/xray_set.h"

/* ---- the set --------------------------------------------------------------- */

struct xray_set *xray_set_new(void)
{
	struct xray_set *set = rw_calloc(1, sizeof(*set));
	set->arena = arena_new();
	set->unit_by_name = smap_new();
	set->member_by_name = smap_new();
	return set;
}

void xray_set_freep(struct xray_set **set)
{
	if (!*set)
		return;
	smap_free((*set)->unit_by_name);
	smap_free((*set)->member_by_name);
	arena_free((*set)->arena);
	free(*set);
}

static struct xray_unit *csv_unit(
	struct xray_set *set, const char *device, const char *group, uint8_t family)
{
	rw_cleanup(str_done) struct str key = {0};
	uint64_t at;
	str_addf(&key, "%u/%s/%s", family, device, group);
	if (smap_get(set->unit_by_name, key.s, key.n, &at))
		return &set->units[at];
	smap_put(set->unit_by_name, key.s, key.n, set->n_units);
	arena_grow(set->arena, set->units, set->n_units, set->cap_units);
	set->units[set->n_units] = (struct xray_unit){.device = arena_strdup(set->arena, device),
		.group = arena_strdup(set->arena, group),
		.family = family};
	return &set->units[set->n_units++];
}

static uint32_t csv_member(struct xray_set *set, struct xray_unit *unit, const char *member)
{
	rw_cleanup(str_done) struct str key = {0};
	uint64_t at;
	str_addf(&key, "%zu/%s", (size_t)(unit - set->units), member);
	if (smap_get(set->member_by_name, key.s, key.n, &at))
		return (uint32_t)at;
	smap_put(set->member_by_name, key.s, key.n, unit->n_names);
	arena_grow(set->arena, unit->names, unit->n_names, unit->cap_names);
	unit->names[unit->n_names] = arena_strdup(set->arena, member);
	return (uint32_t)unit->n_names++;
}

int xray_set_add(struct xray_set *set, const char *device, const char *group, const char *member,
	const struct xray_flow *flow, int64_t t_ns, struct err *e)
{
	if ((set->devices && !str_glob(set->devices, device)) ||
		(set->members && !str_glob(set->members, member))) {
		set->n_left_out++;
		return 0;
	}
	if (++set->n_samples > XRAY_SAMPLES_MAX)
		return err_set(
			e, -E2BIG, "more than %d samples: give a part of them", XRAY_SAMPLES_MAX);
	struct xray_unit *unit = csv_unit(set, device, group, flow->family);
	const uint32_t number = csv_member(set, unit, member);
	arena_grow(set->arena, unit->samples, unit->n, unit->cap);
	unit->samples[unit->n++] = (struct xray_sample){*flow, number, t_ns};
	unit->timed = unit->timed || t_ns;
	return 0;
}

/* ---- fields ------------------------------------------------------------------ */

enum column {
	C_TIME,
	C_DEVICE,
	C_GROUP,
	C_MEMBER,
	C_SRC,
	C_DST,
	C_SRC_PORT,
	C_DST_PORT,
	C_PROTOCOL,
	C_DST_QP,
	C_WEIGHT,
	C_NEXT,
	C_NEXT_GROUP,
	COLUMNS
};
static const char *const column_names[COLUMNS] = {"time", "device", "group", "member", "src", "dst",
	"src_port", "dst_port", "protocol", "dst_qp", "weight", "next", "next_group"};

struct csv_row {
	struct xray_set *set;
	const char *file;
	int line;
	const char *text[COLUMNS]; /* NULL: no such column, or empty */
	struct err *e;
};

static int csv_mistake(const struct csv_row *row, enum column column, const char *expected)
{
	return err_at(row->e, -EINVAL, row->file, row->line, 0, "%s: '%.64s' is not %s",
		column_names[column], str_or(row->text[column], ""), expected);
}

static int csv_address(const struct csv_row *row, enum column column, uint8_t *family, uint8_t *ret)
{
	const char *text = row->text[column];
	const int type = strchr(text, ':') ? AF_INET6 : AF_INET;
	const uint8_t found = type == AF_INET ? 4 : 6;
	if (inet_pton(type, text, ret) != 1)
		return csv_mistake(row, column, "an IP address");
	if (*family && *family != found)
		return err_at(row->e, -EINVAL, row->file, row->line, 0,
			"src and dst are of two families");
	*family = found;
	return 0;
}

/* A whole number to @most; @ret stays as it is where the column is missing or empty. */
static int csv_number(
	const struct csv_row *row, enum column column, unsigned long most, uint32_t *ret)
{
	const char *text = row->text[column];
	char *end;
	if (!text)
		return 0;
	errno = 0;
	const unsigned long value = strtoul(text, &end, 0);
	if (errno || *end || *text < '0' || *text > '9' || value > most) {
		rw_cleanup(str_done) struct str expected = {0};
		str_addf(&expected, "a number from 0 to %lu", most);
		return csv_mistake(row, column, expected.s);
	}
	*ret = (uint32_t)value;
	return 0;
}

static int csv_flow(const struct csv_row *row, struct xray_flow *ret)
{
	uint32_t src_port = 0, dst_port = XRAY_ROCE_PORT, protocol = XRAY_UDP, qp = 0;
	*ret = (struct xray_flow){.family = 0};
	if (csv_address(row, C_SRC, &ret->family, ret->src) < 0 ||
		csv_address(row, C_DST, &ret->family, ret->dst) < 0 ||
		csv_number(row, C_SRC_PORT, UINT16_MAX, &src_port) < 0 ||
		csv_number(row, C_DST_PORT, UINT16_MAX, &dst_port) < 0 ||
		csv_number(row, C_PROTOCOL, UINT8_MAX, &protocol) < 0 ||
		csv_number(row, C_DST_QP, 0xFFFFFF, &qp) < 0)
		return -EINVAL;
	ret->src_port = (uint16_t)src_port;
	ret->dst_port = (uint16_t)dst_port;
	ret->protocol = (uint8_t)protocol;
	ret->dst_qp = qp;
	return 0;
}

/* A time as RFC 3339, or as seconds since 1970. */
static int csv_time(const struct csv_row *row, int64_t *ret_ns)
{
	const char *text = row->text[C_TIME];
	wall_t wall = {0};
	double seconds;
	*ret_ns = 0;
	if (!text)
		return 0;
	if (strchr(text, '-') && wall_parse(text, (wall_t){0}, &wall) == 0) {
		*ret_ns = wall.ns;
		return 0;
	}
	if (unit_double(text, &seconds, NULL) < 0 || !(seconds >= 0 && seconds < 9e9))
		return csv_mistake(row, C_TIME, "a time (RFC 3339, or seconds since 1970)");
	*ret_ns = (int64_t)(seconds * 1e9);
	return 0;
}

/* ---- rows ---------------------------------------------------------------------- */

static int csv_sample_row(const struct csv_row *row)
{
	struct xray_flow flow;
	int64_t t_ns;
	if (csv_flow(row, &flow) < 0 || csv_time(row, &t_ns) < 0)
		return -EINVAL;
	return xray_set_add(row->set, str_or(row->text[C_DEVICE], "switch"),
		str_or(row->text[C_GROUP], ""), row->text[C_MEMBER], &flow, t_ns, row->e);
}

static const char *csv_keep(const struct csv_row *row, enum column column)
{
	if (!row->text[column])
		return NULL;
	return arena_strdup(row->set->arena, row->text[column]);
}

static int csv_flow_row(const struct csv_row *row)
{
	struct xray_set *set = row->set;
	struct xray_wanted wanted = {.device = csv_keep(row, C_DEVICE),
		.group = csv_keep(row, C_GROUP),
		.line = row->line,
		.planned = {.weight = 1, .given = row->text[C_SRC_PORT] != NULL}};
	if (csv_flow(row, &wanted.planned.flow) < 0)
		return -EINVAL;
	if (row->text[C_WEIGHT] &&
		(unit_double(row->text[C_WEIGHT], &wanted.planned.weight, NULL) < 0 ||
			!(wanted.planned.weight > 0 && wanted.planned.weight < 1e18)))
		return csv_mistake(row, C_WEIGHT, "a number above 0");
	if (set->n_flows >= XRAY_SAMPLES_MAX)
		return err_at(row->e, -E2BIG, row->file, row->line, 0, "more than %d flows",
			XRAY_SAMPLES_MAX);
	arena_grow(set->arena, set->flows, set->n_flows, set->cap_flows);
	set->flows[set->n_flows++] = wanted;
	return 0;
}

static int csv_link_row(const struct csv_row *row)
{
	struct xray_set *set = row->set;
	arena_grow(set->arena, set->links, set->n_links, set->cap_links);
	set->links[set->n_links++] = (struct xray_next){csv_keep(row, C_DEVICE),
		csv_keep(row, C_GROUP), csv_keep(row, C_MEMBER), csv_keep(row, C_NEXT),
		csv_keep(row, C_NEXT_GROUP), row->line};
	return 0;
}

/* Which columns a kind of file may have and needs: bits 1 << enum column. */
struct csv_kind {
	unsigned may, needs;
	int (*take)(const struct csv_row *row);
};
#define BIT(column) (1u << (column))
#define FLOW_COLUMNS                                                                               \
	(BIT(C_DEVICE) | BIT(C_GROUP) | BIT(C_SRC) | BIT(C_DST) | BIT(C_SRC_PORT) |                \
		BIT(C_DST_PORT) | BIT(C_PROTOCOL) | BIT(C_DST_QP))
static const struct csv_kind samples_kind = {FLOW_COLUMNS | BIT(C_TIME) | BIT(C_MEMBER),
	BIT(C_SRC) | BIT(C_DST) | BIT(C_SRC_PORT) | BIT(C_MEMBER), csv_sample_row};
static const struct csv_kind flows_kind = {
	FLOW_COLUMNS | BIT(C_WEIGHT), BIT(C_SRC) | BIT(C_DST), csv_flow_row};
static const struct csv_kind links_kind = {
	BIT(C_DEVICE) | BIT(C_GROUP) | BIT(C_MEMBER) | BIT(C_NEXT) | BIT(C_NEXT_GROUP),
	BIT(C_DEVICE) | BIT(C_MEMBER) | BIT(C_NEXT), csv_link_row};

/* ---- lines ------------------------------------------------------------------------ */

enum { FIELDS_MAX = 32, LINE_MAX_BYTES = 2048 };

static const char *csv_trim(char *text)
{
	while (*text == ' ' || *text == '\t')
		text++;
	size_t n = strlen(text);
	while (n && strchr(" \t\r", text[n - 1]))
		text[--n] = '\0';
	return text;
}

/* Cuts @line at its commas. Returns how many fields; more than FIELDS_MAX are not kept. */
static size_t csv_split(char *line, const char *ret[FIELDS_MAX])
{
	size_t n = 0;
	for (char *field = line; field; n++) {
		char *comma = strchr(field, ',');
		if (comma)
			*comma = '\0';
		if (n < FIELDS_MAX)
			ret[n] = csv_trim(field);
		field = comma ? comma + 1 : NULL;
	}
	return n;
}

struct csv_head {
	size_t n;
	enum column column[FIELDS_MAX];
};

static int csv_read_head(const struct csv_row *row, const struct csv_kind *kind,
	const char *const *fields, size_t n, struct csv_head *ret)
{
	rw_cleanup(str_done) struct str known = {0};
	unsigned seen = 0;
	for (size_t c = 0; c < COLUMNS; c++)
		if (kind->may & BIT(c))
			str_addf(&known, "%s%s", str_if(known.n, ", "), column_names[c]);
	if (n > FIELDS_MAX)
		return err_at(row->e, -EINVAL, row->file, row->line, 0, "%zu columns", n);
	for (size_t i = 0; i < n; i++) {
		size_t c = 0;
		while (c < COLUMNS && !(kind->may & BIT(c) && str_eq(column_names[c], fields[i])))
			c++;
		if (c == COLUMNS)
			return err_at(row->e, -EINVAL, row->file, row->line, 0,
				"'%.64s' is no column; expected names of: %s", fields[i], known.s);
		if (seen & BIT(c))
			return err_at(row->e, -EINVAL, row->file, row->line, 0,
				"column '%s' stands there twice", fields[i]);
		seen |= BIT(c);
		ret->column[ret->n++] = (enum column)c;
	}
	for (size_t c = 0; c < COLUMNS; c++)
		if (kind->needs & ~seen & BIT(c))
			return err_at(row->e, -EINVAL, row->file, row->line, 0,
				"no column '%s'; expected names of: %s", column_names[c], known.s);
	return 0;
}

static int csv_read_row(struct csv_row *row, const struct csv_kind *kind,
	const struct csv_head *head, const char *const *fields, size_t n)
{
	memset(row->text, 0, sizeof(row->text));
	if (n != head->n)
		return err_at(row->e, -EINVAL, row->file, row->line, 0,
			"%zu fields, and %zu columns", n, head->n);
	for (size_t i = 0; i < n; i++)
		if (*fields[i])
			row->text[head->column[i]] = fields[i];
	for (size_t c = 0; c < COLUMNS; c++)
		if (kind->needs & BIT(c) && !row->text[c])
			return err_at(
				row->e, -EINVAL, row->file, row->line, 0, "no %s", column_names[c]);
	return kind->take(row);
}

static int csv_read(struct xray_set *set, const struct csv_kind *kind, const char *text, size_t n,
	const char *name, struct err *e)
{
	struct csv_row row = {.set = set, .file = name, .e = e};
	struct csv_head head = {0};
	const char *end = text + n;
	for (const char *at = text, *next; at < end; at = next) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const size_t size = (size_t)((newline ? newline : end) - at);
		char line[LINE_MAX_BYTES];
		const char *fields[FIELDS_MAX];
		next = newline ? newline + 1 : end;
		row.line++;
		if (size >= sizeof(line) || memchr(at, '\0', size))
			return err_at(e, -EINVAL, name, row.line, 0,
				"not a line of csv: %zu bytes, or a zero byte among them", size);
		memcpy(line, at, size);
		line[size] = '\0';
		if (*csv_trim(line) == '\0' || line[0] == '#')
			continue;
		const size_t found = csv_split(line, fields);
		int rc;
		if (head.n == 0)
			rc = csv_read_head(&row, kind, fields, found, &head);
		else
			rc = csv_read_row(&row, kind, &head, fields, found);
		if (rc < 0)
			return rc;
	}
	if (head.n == 0)
		return err_at(e, -EINVAL, name, 0, 0, "empty: no line of column names");
	return 0;
}

int xray_csv_samples(
	struct xray_set *set, const char *text, size_t n, const char *name, struct err *e)
{
	return csv_read(set, &samples_kind, text, n, name, e);
}

int xray_csv_flows(
	struct xray_set *set, const char *text, size_t n, const char *name, struct err *e)
{
	set->flows_file = name;
	return csv_read(set, &flows_kind, text, n, name, e);
}

int xray_csv_links(
	struct xray_set *set, const char *text, size_t n, const char *name, struct err *e)
{
	set->links_file = name;
	return csv_read(set, &links_kind, text, n, name, e);
}
