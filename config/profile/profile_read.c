/* profile_read - see the header. Every mistake is reported with its place; unknown keys come with
 * the nearest known one. */
#include "config/profile/profile_reader.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "agent/base/str.h"
#include "db/model/entity.h"

void reader_wrong(struct reader *reader, int line, int col, const char *fmt, ...)
{
	struct err e = {0};
	char text[sizeof(e.text)];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	err_at(&e, -EINVAL, reader->file, line, col, "%s", text);
	err_list_add(reader->errors, &e);
}

void reader_wrong_node(struct reader *reader, const struct yaml_node *node, const char *expected)
{
	char what[128];
	reader_wrong(reader, node->line, node->col, "read %s, expected %s",
		yaml_what(node, what, sizeof(what)), expected);
}

/* keys_check - @node must be a section whose keys are all in @known. */
bool reader_keys(struct reader *reader, const struct yaml_node *node, const char *const *known,
	size_t n_known, const char *what)
{
	if (node->kind != YAML_MAP) {
		reader_wrong_node(reader, node, what);
		return false;
	}
	bool ok = true;
	for (size_t i = 0; i < node->n; i++) {
		bool found = false;
		for (size_t k = 0; k < n_known && !found; k++)
			found = strcmp(known[k], node->items[i].key) == 0;
		if (found)
			continue;
		const char *near = str_nearest(node->items[i].key, known, n_known);
		reader_wrong(reader, node->items[i].line, node->items[i].col,
			near ? "unknown key '%s' in %s, did you mean '%s'?"
			     : "unknown key '%s' in %s%s",
			node->items[i].key, what, str_or(near, ""));
		ok = false;
	}
	return ok;
}

const struct yaml_node *reader_value(const struct yaml_node *map, const char *key)
{
	const struct yaml_item *i = yaml_get(map, key);
	if (i)
		return i->value;
	return NULL;
}

const char *reader_text(
	struct reader *reader, const struct yaml_node *map, const char *key, bool required)
{
	const struct yaml_node *v = reader_value(map, key);
	if (!v) {
		if (required)
			reader_wrong(reader, map->line, map->col, "'%s' is missing here", key);
		return NULL;
	}
	if (v->kind != YAML_TEXT || !*v->text) {
		reader_wrong_node(reader, v, "text");
		return NULL;
	}
	return v->text;
}

bool reader_number_at(
	struct reader *reader, const struct yaml_node *node, uint64_t max, uint64_t *ret)
{
	const char *t = "";
	if (node->kind == YAML_TEXT)
		t = node->text;
	uint64_t u = 0;
	bool ok = *t != '\0' && (t[0] != '0' || t[1] == '\0');
	for (; ok && *t; t++)
		ok = *t >= '0' && *t <= '9' && u <= (max - (uint64_t)(*t - '0')) / 10 &&
			((u = u * 10 + (uint64_t)(*t - '0')), true);
	if (!ok || u > max) {
		char expected[64];
		snprintf(expected, sizeof(expected), "a whole number from 0 to %" PRIu64, max);
		reader_wrong_node(reader, node, expected);
		return false;
	}
	*ret = u;
	return true;
}

bool reader_number(struct reader *reader, const struct yaml_node *map, const char *key,
	uint64_t max, uint64_t *ret)
{
	const struct yaml_node *v = reader_value(map, key);
	return v && reader_number_at(reader, v, max, ret);
}

bool reader_bool(struct reader *reader, const struct yaml_node *map, const char *key)
{
	const struct yaml_node *v = reader_value(map, key);
	if (!v)
		return false;
	if (v->kind != YAML_TEXT ||
		(strcmp(v->text, "true") != 0 && strcmp(v->text, "false") != 0)) {
		reader_wrong_node(reader, v, "true or false");
		return false;
	}
	return v->text[0] == 't';
}

static int64_t profile_read_duration_of(
	struct reader *reader, const struct yaml_node *map, const char *key)
{
	const struct yaml_node *v = reader_value(map, key);
	int64_t ns = 0;
	struct err e = {0};
	if (!v)
		return 0;
	if (v->kind != YAML_TEXT)
		reader_wrong_node(reader, v, "a duration such as 5s");
	else if (unit_duration(v->text, &ns, &e) < 0)
		reader_wrong(reader, v->line, v->col, "%s", e.text);
	return ns;
}

bool reader_oid(struct reader *reader, const struct yaml_node *node, struct profile_oid *ret)
{
	uint32_t arcs[PROFILE_OID_MAX];
	size_t n = 0;
	const char *t = "";
	if (node->kind == YAML_TEXT)
		t = node->text;
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
		reader_wrong_node(
			reader, node, "an object identifier such as 1.3.6.1.2.1.31.1.1.1");
		return false;
	}
	uint32_t *copy = arena_array(reader->a, uint32_t, n);
	memcpy(copy, arcs, n * sizeof(*copy));
	*ret = (struct profile_oid){copy, n};
	return true;
}

enum profile_part reader_part(const char *word)
{
	static const char *const words[] = {"port", "priority", "queue", "group", "pool"};
	for (size_t i = 0; i < rw_countof(words); i++)
		if (strcmp(word, words[i]) == 0)
			return (enum profile_part)i;
	return PART_OTHER;
}

/* ---- the rest ------------------------------------------------------------ */

static void matches_read(struct reader *reader, const struct yaml_node *node)
{
	if (!node)
		return;
	if (node->kind != YAML_LIST) {
		reader_wrong_node(reader, node, "a list such as [{ object_id: 1.3.6.1.4.1.9 }]");
		return;
	}
	reader->p->matches = arena_array(reader->a, struct profile_match, node->n ? node->n : 1);
	for (size_t i = 0; i < node->n; i++) {
		const struct yaml_node *m = node->items[i].value;
		struct profile_match *to = &reader->p->matches[reader->p->n_matches];
		struct profile_oid oid = {0};
		const char *descr;
		if (!KEYS(reader, m, "a match", "object_id", "descr"))
			continue;
		if (m->n == 0)
			reader_wrong(
				reader, m->line, m->col, "expected 'object_id', 'descr' or both");
		if (reader_value(m, "object_id") &&
			reader_oid(reader, reader_value(m, "object_id"), &oid)) {
			to->object_id = arena_array(reader->a, uint32_t, oid.n);
			memcpy(to->object_id, oid.v, oid.n * sizeof(uint32_t));
			to->n_object_id = oid.n;
		}
		if ((descr = reader_text(reader, m, "descr", false)))
			to->descr = arena_strdup(reader->a, descr);
		reader->p->n_matches++;
	}
}

static void quirks_read(struct reader *reader, const struct yaml_node *node)
{
	if (!node)
		return;
	if (node->kind != YAML_LIST) {
		reader_wrong_node(reader, node, "a list of quirks");
		return;
	}
	reader->p->quirks = arena_array(reader->a, struct profile_quirk, node->n ? node->n : 1);
	for (size_t i = 0; i < node->n; i++) {
		const struct yaml_node *q = node->items[i].value;
		if (!KEYS(reader, q, "a quirk", "name", "doc", "evidence"))
			continue;
		const char *name = reader_text(reader, q, "name", true),
			   *doc = reader_text(reader, q, "doc", true);
		const char *evidence = NULL;
		if (reader_value(q, "evidence"))
			evidence = reader_text(reader, q, "evidence", true);
		if (!reader_value(q, "evidence"))
			reader_wrong(reader, q->line, q->col,
				"a quirk without 'evidence': say where this was read or seen "
				"(source file, document, device and release)");
		if (name && doc && evidence)
			reader->p->quirks[reader->p->n_quirks++] = (struct profile_quirk){
				arena_strdup(reader->a, name), arena_strdup(reader->a, doc),
				arena_strdup(reader->a, evidence)};
	}
}

static void tc_map_read(struct reader *reader, const struct yaml_node *node)
{
	for (size_t i = 0; i < PROFILE_TC_MAX; i++)
		reader->p->tc_map[i] = PRIO_NONE;
	if (!node)
		return;
	if (node->kind != YAML_MAP) {
		reader_wrong_node(reader, node, "queue to priority, such as { 0: 0, 5: 3 }");
		return;
	}
	reader->p->has_tc_map = true;
	for (size_t i = 0; i < node->n; i++) {
		uint64_t queue, priority;
		struct yaml_node key = {.kind = YAML_TEXT,
			.line = node->items[i].line,
			.col = node->items[i].col,
			.text = node->items[i].key};
		if (reader_number_at(reader, &key, PROFILE_TC_MAX - 1, &queue) &&
			reader_number_at(reader, node->items[i].value, 7, &priority))
			reader->p->tc_map[queue] = (int8_t)priority;
	}
}

static void port_names_read(struct reader *reader, const struct yaml_node *node)
{
	if (!node)
		return;
	if (node->kind != YAML_LIST) {
		reader_wrong_node(reader, node,
			"a list such as [{ first: 1, last: 999, subtract: 1, name: \"Ethernet{n}\" "
			"}]");
		return;
	}
	reader->p->port_names =
		arena_array(reader->a, struct profile_port_name, node->n ? node->n : 1);
	for (size_t i = 0; i < node->n; i++) {
		const struct yaml_node *m = node->items[i].value;
		uint64_t first = 0, last = 0, subtract = 0;
		if (!KEYS(reader, m, "a port name rule", "first", "last", "subtract", "name"))
			continue;
		const char *name = reader_text(reader, m, "name", true);
		reader_number(reader, m, "subtract", UINT32_MAX, &subtract);
		if (!reader_number(reader, m, "first", UINT32_MAX, &first) ||
			!reader_number(reader, m, "last", UINT32_MAX, &last) || !name)
			reader_wrong(reader, m->line, m->col,
				"expected first, last and name (with {n} for the number)");
		else if (first > last || subtract > first || !strstr(name, "{n}"))
			reader_wrong(reader, m->line, m->col,
				"expected first <= last, subtract <= first, and {n} in the name");
		else
			reader->p->port_names[reader->p->n_port_names++] =
				(struct profile_port_name){(uint32_t)first, (uint32_t)last,
					(uint32_t)subtract, arena_strdup(reader->a, name)};
	}
}

static void without_read(struct reader *reader, const struct yaml_node *node)
{
	if (!node)
		return;
	if (node->kind != YAML_LIST) {
		reader_wrong_node(reader, node, "a list of table names");
		return;
	}
	reader->draft->without = arena_array(reader->a, const char *, node->n ? node->n : 1);
	reader->draft->without_lines = arena_array(reader->a, int, node->n ? node->n : 1);
	for (size_t i = 0; i < node->n; i++) {
		if (node->items[i].value->kind != YAML_TEXT) {
			reader_wrong_node(reader, node->items[i].value, "a table name");
			continue;
		}
		reader->draft->without_lines[reader->draft->n_without] = node->items[i].value->line;
		reader->draft->without[reader->draft->n_without++] =
			arena_strdup(reader->a, node->items[i].value->text);
	}
}

static void snmp_read(struct reader *reader, const struct yaml_node *node)
{
	if (!node ||
		!KEYS(reader, node, "'snmp'", "min_interval", "refresh", "without", "port_names",
			"tables", "traps"))
		return;
	profile_traps_read(reader, reader_value(node, "traps"));
	reader->p->snmp = true;
	reader->p->min_interval_ns = profile_read_duration_of(reader, node, "min_interval");
	reader->p->refresh_ns = profile_read_duration_of(reader, node, "refresh");
	port_names_read(reader, reader_value(node, "port_names"));
	without_read(reader, reader_value(node, "without"));
	const struct yaml_node *tables = reader_value(node, "tables");
	if (!tables)
		return;
	if (tables->kind != YAML_LIST) {
		reader_wrong_node(reader, tables, "a list of tables");
		return;
	}
	reader->p->tables =
		arena_array(reader->a, struct profile_table *, tables->n ? tables->n : 1);
	for (size_t i = 0; i < tables->n; i++) {
		struct profile_table *t = profile_table_read(reader, tables->items[i].value);
		for (size_t k = 0; t && k < reader->p->n_tables; k++)
			if (strcmp(reader->p->tables[k]->name, t->name) == 0)
				reader_wrong(reader, t->line, 0,
					"table '%s' twice; the first is in line %d", t->name,
					reader->p->tables[k]->line);
		if (t)
			reader->p->tables[reader->p->n_tables++] = t;
	}
}

int profile_read(const char *text, size_t n, const char *file, struct arena *a,
	struct profile_draft *ret, struct err_list *errors)
{
	const struct yaml_node *root;
	struct profile *p = arena_new_of(a, struct profile);
	struct reader r = {.a = a,
		.file = arena_strdup(a, file),
		.errors = errors,
		.n_before = errors->n,
		.p = p,
		.draft = ret};
	const char *s;
	*ret = (struct profile_draft){.profile = p};
	p->file = r.file;
	p->text = arena_strndup(a, text, n);
	if (yaml_read(text, n, file, a, &root, errors) < 0)
		return -EINVAL;
	if (!KEYS(&r, root, "a profile", "name", "doc", "match", "extends", "tc_map", "cell_bytes",
		    "cell_oid", "quirks", "snmp", "gnmi", "tuning"))
		return -EINVAL;
	if ((s = reader_text(&r, root, "name", true)))
		p->name = arena_strdup(a, s);
	else
		p->name = "";
	if ((s = reader_text(&r, root, "doc", true)))
		p->doc = arena_strdup(a, s);
	else
		p->doc = "";
	if ((s = reader_text(&r, root, "extends", false))) {
		ret->extends = arena_strdup(a, s);
		ret->extends_line = reader_value(root, "extends")->line;
		ret->extends_col = reader_value(root, "extends")->col;
		p->extends = ret->extends;
	}
	matches_read(&r, reader_value(root, "match"));
	tc_map_read(&r, reader_value(root, "tc_map"));
	reader_number(&r, root, "cell_bytes", 65536, &p->cell_bytes);
	if (reader_value(root, "cell_oid"))
		reader_oid(&r, reader_value(root, "cell_oid"), &p->cell_oid);
	quirks_read(&r, reader_value(root, "quirks"));
	snmp_read(&r, reader_value(root, "snmp"));
	profile_gnmi_read(&r, reader_value(root, "gnmi"));
	profile_tune_read(&r, reader_value(root, "tuning"));
	if (errors->n > r.n_before)
		return -EINVAL;
	return 0;
}
