/* profile_read - see the header. Every mistake is reported with its place; unknown keys come with the nearest known one. */
#include "config/profile_read.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "config/yaml.h"
#include "db/entity.h"
#include "db/metric.h"

struct reader {
	struct arena *a;
	const char *file;
	struct err_list *errors;
	size_t n_before;
	struct profile *p;
	struct profile_draft *draft;
};

static void wrong(struct reader *r, int line, int col, const char *fmt, ...) __attribute__((format(printf, 4, 5)));
static void wrong(struct reader *r, int line, int col, const char *fmt, ...)
{
	struct err e = {0};
	char text[sizeof(e.text)];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	err_at(&e, -EINVAL, r->file, line, col, "%s", text);
	err_list_add(r->errors, &e);
}

static void wrong_node(struct reader *r, const struct yaml_node *n, const char *expected)
{
	char what[128];
	wrong(r, n->line, n->col, "read %s, expected %s", yaml_what(n, what, sizeof(what)), expected);
}

/* keys_check - @n must be a section whose keys are all in @known. */
static bool keys_check(struct reader *r, const struct yaml_node *n, const char *const *known, size_t n_known, const char *what)
{
	if (n->kind != YAML_MAP) {
		wrong_node(r, n, what);
		return false;
	}
	bool ok = true;
	for (size_t i = 0; i < n->n; i++) {
		bool found = false;
		for (size_t k = 0; k < n_known && !found; k++)
			found = strcmp(known[k], n->items[i].key) == 0;
		if (found)
			continue;
		const char *near = str_nearest(n->items[i].key, known, n_known);
		wrong(r, n->items[i].line, n->items[i].col, near ? "unknown key '%s' in %s, did you mean '%s'?" : "unknown key '%s' in %s%s",
			n->items[i].key, what, near ? near : "");
		ok = false;
	}
	return ok;
}
#define KEYS(r, n, what, ...) keys_check((r), (n), (const char *const[]){__VA_ARGS__}, rw_countof(((const char *const[]){__VA_ARGS__})), (what))

static const struct yaml_node *value_of(const struct yaml_node *map, const char *key)
{
	const struct yaml_item *i = yaml_get(map, key);
	return i ? i->value : NULL;
}

static const char *text_of(struct reader *r, const struct yaml_node *map, const char *key, bool required)
{
	const struct yaml_node *v = value_of(map, key);
	if (!v) {
		if (required)
			wrong(r, map->line, map->col, "'%s' is missing here", key);
		return NULL;
	}
	if (v->kind != YAML_TEXT || !*v->text) {
		wrong_node(r, v, "text");
		return NULL;
	}
	return v->text;
}

static bool number_at(struct reader *r, const struct yaml_node *v, uint64_t max, uint64_t *ret)
{
	const char *t = v->kind == YAML_TEXT ? v->text : "";
	uint64_t u = 0;
	bool ok = *t != '\0' && (t[0] != '0' || t[1] == '\0');
	for (; ok && *t; t++)
		ok = *t >= '0' && *t <= '9' && u <= (max - (uint64_t)(*t - '0')) / 10 && ((u = u * 10 + (uint64_t)(*t - '0')), true);
	if (!ok || u > max) {
		char expected[64];
		snprintf(expected, sizeof(expected), "a whole number from 0 to %" PRIu64, max);
		wrong_node(r, v, expected);
		return false;
	}
	*ret = u;
	return true;
}

static bool number_of(struct reader *r, const struct yaml_node *map, const char *key, uint64_t max, uint64_t *ret)
{
	const struct yaml_node *v = value_of(map, key);
	return v && number_at(r, v, max, ret);
}

static bool bool_of(struct reader *r, const struct yaml_node *map, const char *key)
{
	const struct yaml_node *v = value_of(map, key);
	if (!v)
		return false;
	if (v->kind != YAML_TEXT || (strcmp(v->text, "true") != 0 && strcmp(v->text, "false") != 0)) {
		wrong_node(r, v, "true or false");
		return false;
	}
	return v->text[0] == 't';
}

static int64_t duration_of(struct reader *r, const struct yaml_node *map, const char *key)
{
	const struct yaml_node *v = value_of(map, key);
	int64_t ns = 0;
	struct err e = {0};
	if (!v)
		return 0;
	if (v->kind != YAML_TEXT)
		wrong_node(r, v, "a duration such as 5s");
	else if (unit_duration(v->text, &ns, &e) < 0)
		wrong(r, v->line, v->col, "%s", e.text);
	return ns;
}

static bool oid_at(struct reader *r, const struct yaml_node *v, struct profile_oid *ret)
{
	uint32_t arcs[PROFILE_OID_MAX];
	size_t n = 0;
	const char *t = v->kind == YAML_TEXT ? v->text : "";
	bool ok = *t != '\0';
	while (ok) {
		uint64_t arc = 0;
		ok = *t >= '0' && *t <= '9' && n < PROFILE_OID_MAX;
		for (; ok && *t >= '0' && *t <= '9'; t++)
			ok = (arc = arc * 10 + (uint64_t)(*t - '0')) <= UINT32_MAX;
		if (!ok)
			break;
		arcs[n++] = (uint32_t)arc;
		if (*t == '\0')
			break;
		ok = *t++ == '.';
	}
	if (!ok || n < 2) {
		wrong_node(r, v, "an object identifier such as 1.3.6.1.2.1.31.1.1.1");
		return false;
	}
	uint32_t *copy = arena_array(r->a, uint32_t, n);
	memcpy(copy, arcs, n * sizeof(*copy));
	*ret = (struct profile_oid){copy, n};
	return true;
}

/* --- the columns of a table ------------------------------------------------------------------------------------------------ */

static const char *const attribute_names[] = {
	[ATTRIBUTE_NONE] = "", [ATTRIBUTE_PORT_NAME] = "port_name", [ATTRIBUTE_PORT_DESCR] = "port_descr",
	[ATTRIBUTE_PORT_ALIAS] = "port_alias", [ATTRIBUTE_DISCONTINUITY] = "discontinuity",
};

const char *profile_attribute_name(enum profile_attribute a)
{
	return (size_t)a < rw_countof(attribute_names) ? attribute_names[a] : "";
}

static const struct unit {
	const char *name;
	uint64_t mul;
	bool cells;
} units[] = {
	{"ns", 1, false}, {"us", 1000, false}, {"ms", 1000000, false}, {"ticks", 10000000, false}, {"s", 1000000000, false},
	{"Mbps", 1000000, false}, {"kB", 1000, false}, {"KiB", 1024, false}, {"cells", 1, true},
};

static const char *const part_words[] = {"port", "priority", "queue", "group", "pool"};

/* table_column - position of an OID among the table's columns, added if new. */
static bool table_column(struct reader *r, struct profile_table *t, struct profile_oid oid, const struct yaml_node *at, size_t *ret)
{
	for (size_t i = 0; i < t->n_columns; i++)
		if (t->columns[i].n == oid.n && memcmp(t->columns[i].v, oid.v, oid.n * sizeof(*oid.v)) == 0) {
			*ret = i;
			return true;
		}
	if (t->n_columns == PROFILE_COLUMNS_MAX) {
		wrong(r, at->line, at->col, "more than %d columns in table '%s': split it", PROFILE_COLUMNS_MAX, t->name);
		return false;
	}
	t->columns[t->n_columns] = oid;
	*ret = t->n_columns++;
	return true;
}

/* column_oid - "column: 6" below the table's oid, or "oid: 1.3..." */
static bool column_oid(struct reader *r, struct profile_table *t, struct profile_oid base, const struct yaml_node *n, size_t *ret)
{
	const struct yaml_node *relative = value_of(n, "column"), *absolute = value_of(n, "oid");
	struct profile_oid oid;
	uint64_t arc;
	if (!relative == !absolute) {
		wrong(r, n->line, n->col, "expected either 'column' (below the table's oid) or 'oid'");
		return false;
	}
	if (absolute)
		return oid_at(r, absolute, &oid) && table_column(r, t, oid, n, ret);
	if (!number_at(r, relative, UINT32_MAX, &arc))
		return false;
	if (base.n == 0 || base.n + 1 > PROFILE_OID_MAX) {
		wrong(r, relative->line, relative->col, "'column' needs the 'oid' of the table");
		return false;
	}
	uint32_t *v = arena_array(r->a, uint32_t, base.n + 1);
	memcpy(v, base.v, base.n * sizeof(*v));
	v[base.n] = (uint32_t)arc;
	return table_column(r, t, (struct profile_oid){v, base.n + 1}, n, ret);
}

static void column_where(struct reader *r, const struct profile_table *t, const struct yaml_node *n, struct profile_value *v)
{
	const struct yaml_node *where = value_of(n, "where");
	for (size_t i = 0; i < PROFILE_PARTS_MAX; i++)
		v->where[i] = PROFILE_ANY;
	if (!where)
		return;
	if (where->kind != YAML_MAP) {
		wrong_node(r, where, "parts of the index and their values, such as { direction: 2 }");
		return;
	}
	for (size_t i = 0; i < where->n; i++) {
		size_t part = 0;
		uint64_t u;
		while (part < t->n_parts && strcmp(t->part_names[part], where->items[i].key) != 0)
			part++;
		if (part == t->n_parts)
			wrong(r, where->items[i].line, where->items[i].col, "'%s' is not a part of this table's index", where->items[i].key);
		else if (number_at(r, where->items[i].value, UINT32_MAX, &u))
			v->where[part] = (int64_t)u;
	}
}

static void column_unit(struct reader *r, const struct yaml_node *n, struct profile_value *v)
{
	const struct yaml_node *unit = value_of(n, "unit");
	uint64_t scale;
	v->mul = v->div = 1;
	if (unit) {
		size_t i = 0;
		while (i < rw_countof(units) && !(unit->kind == YAML_TEXT && strcmp(units[i].name, unit->text) == 0))
			i++;
		if (i == rw_countof(units)) {
			wrong_node(r, unit, "one of ns us ms ticks s Mbps kB KiB cells");
			return;
		}
		v->mul = units[i].mul;
		v->cells = units[i].cells;
	}
	if (number_of(r, n, "divide", UINT32_MAX, &scale)) {
		if (scale == 0)
			wrong_node(r, value_of(n, "divide"), "a whole number from 1");
		else
			v->div = scale;
	}
}

static void column_ignore(struct reader *r, const struct yaml_node *n, struct profile_value *v)
{
	const struct yaml_node *list = value_of(n, "ignore");
	if (!list)
		return;
	if (list->kind != YAML_LIST || list->n > PROFILE_IGNORE_MAX) {
		wrong_node(r, list, "a list of at most 4 raw values that mean \"not there\"");
		return;
	}
	for (size_t i = 0; i < list->n; i++)
		if (number_at(r, list->items[i].value, UINT64_MAX, &v->ignore[v->n_ignore]))
			v->n_ignore++;
}

static void column_when(struct reader *r, struct profile_table *t, struct profile_oid base, const struct yaml_node *n, struct profile_value *v)
{
	const struct yaml_node *when = value_of(n, "when");
	size_t column;
	v->when_column = -1;
	if (!when || !KEYS(r, when, "'when'", "column", "oid", "equals") || !column_oid(r, t, base, when, &column))
		return;
	if (!value_of(when, "equals"))
		wrong(r, when->line, when->col, "'equals' is missing here");
	else if (number_of(r, when, "equals", UINT64_MAX, &v->when_equals))
		v->when_column = (int)column;
}

/* column_meaning - metric or attribute. */
static bool column_meaning(struct reader *r, const struct yaml_node *n, struct profile_value *v)
{
	const struct yaml_node *metric = value_of(n, "metric"), *attribute = value_of(n, "attribute");
	v->metric = -1;
	if (!metric == !attribute) {
		wrong(r, n->line, n->col, "expected either 'metric' or 'attribute'");
		return false;
	}
	if (attribute) {
		for (size_t i = 1; i < rw_countof(attribute_names); i++)
			if (attribute->kind == YAML_TEXT && strcmp(attribute->text, attribute_names[i]) == 0)
				v->attribute = (enum profile_attribute)i;
		if (v->attribute == ATTRIBUTE_NONE)
			wrong_node(r, attribute, "one of port_name port_descr port_alias discontinuity");
		return v->attribute != ATTRIBUTE_NONE;
	}
	v->metric = metric->kind == YAML_TEXT ? metric_by_name(metric->text) : -1;
	if (v->metric < 0) {
		const char *names[METRIC_COUNT];
		for (unsigned i = 0; i < METRIC_COUNT; i++)
			names[i] = metric_info(i)->name;
		const char *near = metric->kind == YAML_TEXT ? str_nearest(metric->text, names, METRIC_COUNT) : NULL;
		char expected[128];
		snprintf(expected, sizeof(expected), near ? "a metric: did you mean '%s'?" : "a metric (rocewatch query --list names them)%s", near ? near : "");
		wrong_node(r, metric, expected);
		return false;
	}
	if (metric_info((unsigned)v->metric)->type == TYPE_TEXT) {
		wrong_node(r, metric, "a metric that is a number");
		return false;
	}
	return true;
}

static void column_read(struct reader *r, struct profile_table *t, struct profile_oid base, const struct yaml_node *n)
{
	struct profile_value *v = &t->values[t->n_values];
	const char *doc;
	uint64_t u;
	*v = (struct profile_value){.priority = PRIO_NONE, .doc = ""};
	if (!KEYS(r, n, "a column", "column", "oid", "metric", "attribute", "where", "priority", "unit", "divide", "equals", "ignore", "when", "subtract",
		    "fallback", "width", "doc") || !column_oid(r, t, base, n, &v->column) || !column_meaning(r, n, v))
		return;
	column_where(r, t, n, v);
	column_unit(r, n, v);
	column_ignore(r, n, v);
	column_when(r, t, base, n, v);
	if (number_of(r, n, "priority", 7, &u))
		v->priority = (int)u;
	v->has_equals = number_of(r, n, "equals", UINT64_MAX, &v->equals);
	v->subtract = bool_of(r, n, "subtract");
	v->fallback = bool_of(r, n, "fallback");
	if (number_of(r, n, "width", 64, &u)) {
		if (u != 32 && u != 64)
			wrong_node(r, value_of(n, "width"), "32 or 64");
		v->width = (unsigned)u;
	}
	if ((doc = text_of(r, n, "doc", false)))
		v->doc = arena_strdup(r->a, doc);
	t->n_values++;
}

/* --- a table ------------------------------------------------------------------------------------------------------------------ */

static void table_index(struct reader *r, struct profile_table *t, const struct yaml_node *n)
{
	const struct yaml_node *index = value_of(n, "index");
	if (!index || index->kind != YAML_LIST || index->n == 0 || index->n > PROFILE_PARTS_MAX) {
		wrong_node(r, index ? index : n, "an 'index' such as [port, priority], of at most 8 parts");
		return;
	}
	for (size_t i = 0; i < index->n; i++) {
		const struct yaml_node *part = index->items[i].value;
		if (part->kind != YAML_TEXT || !*part->text) {
			wrong_node(r, part, "port, priority, queue, group, pool, or a word of your own");
			return;
		}
		for (size_t k = 0; k < i; k++)
			if (strcmp(t->part_names[k], part->text) == 0)
				wrong(r, part->line, part->col, "'%s' twice in one index", part->text);
		t->part_names[i] = arena_strdup(r->a, part->text);
		t->parts[i] = PART_OTHER;
		for (size_t k = 0; k < rw_countof(part_words); k++)
			if (strcmp(part->text, part_words[k]) == 0)
				t->parts[i] = (enum profile_part)k;
		t->n_parts = i + 1;
	}
}

static int fallback_order(const void *a, const void *b)
{
	const struct profile_value *x = a, *y = b;
	if (x->fallback != y->fallback)
		return x->fallback ? 1 : -1;
	return (x->bit > y->bit) - (x->bit < y->bit);
}

/* table_finish - what follows from the columns: who comes last, who adds up, which rows are added. */
static void table_finish(struct profile_table *t)
{
	for (size_t i = 0; i < t->n_values; i++)
		t->values[i].bit = i;
	qsort(t->values, t->n_values, sizeof(*t->values), fallback_order);
	for (size_t i = 0; i < t->n_values; i++)
		t->values[i].bit = i;
	for (size_t i = 0; i < t->n_values; i++) {
		unsigned n = 0;
		bool difference = false;
		for (size_t k = 0; k < t->n_values; k++)
			if (t->values[k].metric == t->values[i].metric && t->values[i].metric >= 0 && !t->values[k].fallback) {
				n++;
				difference = difference || t->values[k].subtract;
			}
		t->values[i].needed = difference ? n : 0; /* half a difference would be a wrong value, not a part of one */
	}
	for (size_t i = 0; i < t->n_values && !t->sums_rows; i++)
		for (size_t p = 0; p < t->n_parts; p++)
			/* a part nobody fixed: rows that differ only there are one thing. Two queues may share a priority, too. */
			if (t->values[i].where[p] == PROFILE_ANY && (t->parts[p] == PART_OTHER || t->parts[p] == PART_QUEUE))
				t->sums_rows = true;
	bool differ = false;
	for (size_t i = 1; i < t->n_values; i++)
		for (size_t p = 0; p < t->n_parts; p++)
			if (t->values[i].where[p] != t->values[0].where[p])
				differ = true;
	if (differ) /* one thing is spread over rows: queue drops of type 5 and 7 */
		t->sums_rows = true;
}

static struct profile_table *table_read(struct reader *r, const struct yaml_node *n)
{
	struct profile_table *t = arena_new_of(r->a, struct profile_table);
	struct profile_oid base = {0};
	uint64_t u;
	const char *text;
	if (!KEYS(r, n, "a table", "name", "doc", "cadence", "oid", "index", "first_queue", "columns"))
		return NULL;
	t->line = n->line;
	if (!(text = text_of(r, n, "name", true)))
		return NULL;
	t->name = arena_strdup(r->a, text);
	t->doc = (text = text_of(r, n, "doc", false)) ? arena_strdup(r->a, text) : "";
	if ((text = text_of(r, n, "cadence", true))) {
		if (strcmp(text, "fast") != 0 && strcmp(text, "slow") != 0)
			wrong_node(r, value_of(n, "cadence"), "fast or slow");
		t->cadence = strcmp(text, "slow") == 0 ? CADENCE_SLOW : CADENCE_FAST;
	}
	if (value_of(n, "oid"))
		oid_at(r, value_of(n, "oid"), &base);
	if (number_of(r, n, "first_queue", 64, &u))
		t->first_queue = (unsigned)u;
	table_index(r, t, n);
	const struct yaml_node *columns = value_of(n, "columns");
	if (!columns || columns->kind != YAML_LIST || columns->n == 0 || columns->n > PROFILE_COLUMNS_MAX) {
		wrong_node(r, columns ? columns : n, "'columns': a list of 1 to 64 columns");
		return NULL;
	}
	t->values = arena_array(r->a, struct profile_value, columns->n);
	t->columns = arena_array(r->a, struct profile_oid, PROFILE_COLUMNS_MAX);
	for (size_t i = 0; i < columns->n; i++)
		column_read(r, t, base, columns->items[i].value);
	table_finish(t);
	return t;
}

/* --- the rest ------------------------------------------------------------------------------------------------------------------ */

static void matches_read(struct reader *r, const struct yaml_node *n)
{
	if (!n)
		return;
	if (n->kind != YAML_LIST) {
		wrong_node(r, n, "a list such as [{ object_id: 1.3.6.1.4.1.9 }]");
		return;
	}
	r->p->matches = arena_array(r->a, struct profile_match, n->n ? n->n : 1);
	for (size_t i = 0; i < n->n; i++) {
		const struct yaml_node *m = n->items[i].value;
		struct profile_match *to = &r->p->matches[r->p->n_matches];
		struct profile_oid oid = {0};
		const char *descr;
		if (!KEYS(r, m, "a match", "object_id", "descr"))
			continue;
		if (m->n == 0)
			wrong(r, m->line, m->col, "expected 'object_id', 'descr' or both");
		if (value_of(m, "object_id") && oid_at(r, value_of(m, "object_id"), &oid)) {
			to->object_id = arena_array(r->a, uint32_t, oid.n);
			memcpy(to->object_id, oid.v, oid.n * sizeof(uint32_t));
			to->n_object_id = oid.n;
		}
		if ((descr = text_of(r, m, "descr", false)))
			to->descr = arena_strdup(r->a, descr);
		r->p->n_matches++;
	}
}

static void quirks_read(struct reader *r, const struct yaml_node *n)
{
	if (!n)
		return;
	if (n->kind != YAML_LIST) {
		wrong_node(r, n, "a list of quirks");
		return;
	}
	r->p->quirks = arena_array(r->a, struct profile_quirk, n->n ? n->n : 1);
	for (size_t i = 0; i < n->n; i++) {
		const struct yaml_node *q = n->items[i].value;
		if (!KEYS(r, q, "a quirk", "name", "doc", "evidence"))
			continue;
		const char *name = text_of(r, q, "name", true), *doc = text_of(r, q, "doc", true), *evidence = value_of(q, "evidence") ?
			text_of(r, q, "evidence", true) : NULL;
		if (!value_of(q, "evidence"))
			wrong(r, q->line, q->col, "a quirk without 'evidence': say where this was read or seen (source file, document, device and release)");
		if (name && doc && evidence)
			r->p->quirks[r->p->n_quirks++] = (struct profile_quirk){arena_strdup(r->a, name), arena_strdup(r->a, doc), arena_strdup(r->a, evidence)};
	}
}

static void tc_map_read(struct reader *r, const struct yaml_node *n)
{
	for (size_t i = 0; i < PROFILE_TC_MAX; i++)
		r->p->tc_map[i] = PRIO_NONE;
	if (!n)
		return;
	if (n->kind != YAML_MAP) {
		wrong_node(r, n, "queue to priority, such as { 0: 0, 5: 3 }");
		return;
	}
	r->p->has_tc_map = true;
	for (size_t i = 0; i < n->n; i++) {
		uint64_t queue, priority;
		struct yaml_node key = {.kind = YAML_TEXT, .line = n->items[i].line, .col = n->items[i].col, .text = n->items[i].key};
		if (number_at(r, &key, PROFILE_TC_MAX - 1, &queue) && number_at(r, n->items[i].value, 7, &priority))
			r->p->tc_map[queue] = (int8_t)priority;
	}
}

static void port_names_read(struct reader *r, const struct yaml_node *n)
{
	if (!n)
		return;
	if (n->kind != YAML_LIST) {
		wrong_node(r, n, "a list such as [{ first: 1, last: 999, subtract: 1, name: \"Ethernet{n}\" }]");
		return;
	}
	r->p->port_names = arena_array(r->a, struct profile_port_name, n->n ? n->n : 1);
	for (size_t i = 0; i < n->n; i++) {
		const struct yaml_node *m = n->items[i].value;
		uint64_t first = 0, last = 0, subtract = 0;
		if (!KEYS(r, m, "a port name rule", "first", "last", "subtract", "name"))
			continue;
		const char *name = text_of(r, m, "name", true);
		number_of(r, m, "subtract", UINT32_MAX, &subtract);
		if (!number_of(r, m, "first", UINT32_MAX, &first) || !number_of(r, m, "last", UINT32_MAX, &last) || !name)
			wrong(r, m->line, m->col, "expected first, last and name (with {n} for the number)");
		else if (first > last || subtract > first || !strstr(name, "{n}"))
			wrong(r, m->line, m->col, "expected first <= last, subtract <= first, and {n} in the name");
		else
			r->p->port_names[r->p->n_port_names++] = (struct profile_port_name){(uint32_t)first, (uint32_t)last, (uint32_t)subtract,
				arena_strdup(r->a, name)};
	}
}

static void without_read(struct reader *r, const struct yaml_node *n)
{
	if (!n)
		return;
	if (n->kind != YAML_LIST) {
		wrong_node(r, n, "a list of table names");
		return;
	}
	r->draft->without = arena_array(r->a, const char *, n->n ? n->n : 1);
	r->draft->without_lines = arena_array(r->a, int, n->n ? n->n : 1);
	for (size_t i = 0; i < n->n; i++) {
		if (n->items[i].value->kind != YAML_TEXT) {
			wrong_node(r, n->items[i].value, "a table name");
			continue;
		}
		r->draft->without_lines[r->draft->n_without] = n->items[i].value->line;
		r->draft->without[r->draft->n_without++] = arena_strdup(r->a, n->items[i].value->text);
	}
}

/* --- notifications ----------------------------------------------------------------------------------------------------------- */

static void trap_index_read(struct reader *r, const struct yaml_node *n, struct profile_trap *t)
{
	const struct yaml_node *index = value_of(n, "index");
	if (!index)
		return;
	if (index->kind != YAML_LIST || index->n == 0 || index->n > PROFILE_PARTS_MAX || t->at.n == 0) {
		wrong_node(r, index, "a list of at most 8 parts such as [port, priority], of the instance of 'at'");
		return;
	}
	for (size_t i = 0; i < index->n; i++) {
		const struct yaml_node *part = index->items[i].value;
		t->parts[i] = PART_OTHER;
		for (size_t k = 0; k < rw_countof(part_words); k++)
			if (part->kind == YAML_TEXT && strcmp(part->text, part_words[k]) == 0)
				t->parts[i] = (enum profile_part)k;
		t->about_port = t->about_port || t->parts[i] == PART_PORT;
	}
	t->n_parts = index->n;
}

static void trap_states_read(struct reader *r, const struct yaml_node *n, struct profile_trap *t)
{
	const struct yaml_node *states = value_of(n, "states");
	if (!states)
		return;
	if (states->kind != YAML_MAP || states->n > PROFILE_TRAP_STATES || t->at.n == 0) {
		wrong_node(r, states, "at most 8 values of 'at' and their words, such as { 1: enabled, 2: disabled }");
		return;
	}
	for (size_t i = 0; i < states->n; i++) {
		const struct yaml_item *item = &states->items[i];
		const struct yaml_node key = {.kind = YAML_TEXT, .line = item->line, .col = item->col, .text = item->key};
		if (item->value->kind != YAML_TEXT || !*item->value->text)
			wrong_node(r, item->value, "a word");
		else if (number_at(r, &key, UINT32_MAX, &t->states[t->n_states].value))
			t->states[t->n_states++].word = arena_strdup(r->a, item->value->text);
	}
}

static bool trap_read(struct reader *r, const struct yaml_node *n, struct profile_trap *t)
{
	static const char *const kinds[] = {"pfc_storm", "pfc_restore", "pfc_state"};
	if (!KEYS(r, n, "a trap", "oid", "kind", "doc", "at", "index", "states", "evidence"))
		return false;
	const char *kind = text_of(r, n, "kind", true), *doc = text_of(r, n, "doc", true), *evidence = value_of(n, "evidence") ?
		text_of(r, n, "evidence", true) : NULL;
	if (!value_of(n, "evidence"))
		wrong(r, n->line, n->col, "a trap without 'evidence': say where this was read or seen (MIB and revision, device and release)");
	if (!value_of(n, "oid"))
		wrong(r, n->line, n->col, "'oid' is missing here");
	if (!kind || !doc || !evidence || !value_of(n, "oid") || !oid_at(r, value_of(n, "oid"), &t->oid))
		return false;
	for (size_t i = 0; i < rw_countof(kinds); i++)
		if (strcmp(kind, kinds[i]) == 0)
			t->kind = kinds[i];
	if (!t->kind) {
		wrong_node(r, value_of(n, "kind"), "one of pfc_storm pfc_restore pfc_state");
		return false;
	}
	if (value_of(n, "at") && !oid_at(r, value_of(n, "at"), &t->at))
		return false;
	t->doc = arena_strdup(r->a, doc);
	t->evidence = arena_strdup(r->a, evidence);
	trap_index_read(r, n, t);
	trap_states_read(r, n, t);
	return true;
}

static void traps_read(struct reader *r, const struct yaml_node *n)
{
	if (!n)
		return;
	if (n->kind != YAML_LIST) {
		wrong_node(r, n, "a list of traps");
		return;
	}
	r->p->traps = arena_array(r->a, struct profile_trap, n->n ? n->n : 1);
	for (size_t i = 0; i < n->n; i++) {
		struct profile_trap t = {0};
		if (trap_read(r, n->items[i].value, &t))
			r->p->traps[r->p->n_traps++] = t;
	}
}

static void snmp_read(struct reader *r, const struct yaml_node *n)
{
	if (!n || !KEYS(r, n, "'snmp'", "min_interval", "refresh", "without", "port_names", "tables", "traps"))
		return;
	traps_read(r, value_of(n, "traps"));
	r->p->snmp = true;
	r->p->min_interval_ns = duration_of(r, n, "min_interval");
	r->p->refresh_ns = duration_of(r, n, "refresh");
	port_names_read(r, value_of(n, "port_names"));
	without_read(r, value_of(n, "without"));
	const struct yaml_node *tables = value_of(n, "tables");
	if (!tables)
		return;
	if (tables->kind != YAML_LIST) {
		wrong_node(r, tables, "a list of tables");
		return;
	}
	r->p->tables = arena_array(r->a, struct profile_table *, tables->n ? tables->n : 1);
	for (size_t i = 0; i < tables->n; i++) {
		struct profile_table *t = table_read(r, tables->items[i].value);
		for (size_t k = 0; t && k < r->p->n_tables; k++)
			if (strcmp(r->p->tables[k]->name, t->name) == 0)
				wrong(r, t->line, 0, "table '%s' twice; the first is in line %d", t->name, r->p->tables[k]->line);
		if (t)
			r->p->tables[r->p->n_tables++] = t;
	}
}

int profile_read(const char *text, size_t n, const char *file, struct arena *a, struct profile_draft *ret, struct err_list *errors)
{
	const struct yaml_node *root;
	struct profile *p = arena_new_of(a, struct profile);
	struct reader r = {.a = a, .file = arena_strdup(a, file), .errors = errors, .n_before = errors->n, .p = p, .draft = ret};
	const char *s;
	*ret = (struct profile_draft){.profile = p};
	p->file = r.file;
	p->text = arena_strndup(a, text, n);
	if (yaml_read(text, n, file, a, &root, errors) < 0)
		return -EINVAL;
	if (!KEYS(&r, root, "a profile", "name", "doc", "match", "extends", "tc_map", "cell_bytes", "cell_oid", "quirks", "snmp"))
		return -EINVAL;
	p->name = (s = text_of(&r, root, "name", true)) ? arena_strdup(a, s) : "";
	p->doc = (s = text_of(&r, root, "doc", true)) ? arena_strdup(a, s) : "";
	if ((s = text_of(&r, root, "extends", false))) {
		ret->extends = arena_strdup(a, s);
		ret->extends_line = value_of(root, "extends")->line;
		ret->extends_col = value_of(root, "extends")->col;
		p->extends = ret->extends;
	}
	matches_read(&r, value_of(root, "match"));
	tc_map_read(&r, value_of(root, "tc_map"));
	number_of(&r, root, "cell_bytes", 65536, &p->cell_bytes);
	if (value_of(root, "cell_oid"))
		oid_at(&r, value_of(root, "cell_oid"), &p->cell_oid);
	quirks_read(&r, value_of(root, "quirks"));
	snmp_read(&r, value_of(root, "snmp"));
	return errors->n > r.n_before ? -EINVAL : 0;
}
