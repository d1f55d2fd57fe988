/* schema_read - a yaml tree into tree_* structs by the rows of schema.c; every mistake with its
 * place and the remedy. */
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "config/schema.h"

/* More is kept than is told, since they are sorted before the first ones are taken; a hostile file
 * has a million. */
enum { MAX_COLLECTED = 1000, MAX_VALUES = 4096 };

__attribute__((format(printf, 4, 0))) static void schema_read_add(struct build *build,
	struct err_list *errors, const struct yaml_node *at, const char *fmt, va_list ap)
{
	struct err e = {0};
	char text[sizeof(e.text)];
	if (errors->n >= MAX_COLLECTED) {
		errors->more++;
		return;
	}
	vsnprintf(text, sizeof(text), fmt, ap);
	err_at(&e, -EINVAL, build->name, at ? at->line : 0, at ? at->col : 0, "%s", text);
	err_list_add(errors, &e);
}

void build_error(struct build *build, const struct yaml_node *at, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	schema_read_add(build, build->errors, at, fmt, ap);
	va_end(ap);
}

void build_warn(struct build *build, const struct yaml_node *at, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	schema_read_add(build, &build->c->warnings, at, fmt, ap);
	va_end(ap);
}

const struct yaml_node *build_at(const struct yaml_node *section, const char *key)
{
	const struct yaml_item *i = yaml_get(section, key);
	if (i)
		return i->value;
	return section;
}

/* An unknown key, with the nearest one that would have been right. */
static void unknown_key(struct build *build, const struct yaml_item *item, const char *what,
	const char *const *names, size_t n)
{
	const struct yaml_node at = {.line = item->line, .col = item->col};
	const char *near = str_nearest(item->key, names, n);
	if (near) {
		build_error(build, &at, "unknown %s '%.64s'; did you mean '%s'?", what, item->key,
			near);
		return;
	}
	rw_cleanup(str_done) struct str all = {0};
	for (size_t k = 0; k < n; k++)
		str_addf(&all, "%s%s", str_if(k != 0, ", "), names[k]);
	build_error(build, &at, "unknown %s '%.64s', expected one of: %.500s", what, item->key,
		str_or(all.s, "(none here)"));
}

static void unknown_field(
	struct build *build, const struct section *section, const struct yaml_item *item)
{
	const char *names[64];
	size_t n = 0;
	assert(section->n_fields <= rw_countof(names));
	for (size_t k = 0; k < section->n_fields; k++)
		if (section->fields[k].kind != FIELD_REFUSED)
			names[n++] = section->fields[k].option.name;
	unknown_key(build, item, "key", names, n);
}

/* The text of a node, or an error that says what is expected instead. */
static const char *schema_read_text_of(struct build *build, const struct yaml_node *node,
	const char *key, const struct field *field)
{
	char what[100], type[128];
	if (node->kind == YAML_TEXT)
		return node->text;
	build_error(build, node, "%s: read %s, expected %s", key,
		yaml_what(node, what, sizeof(what)), schema_type_text(field, type, sizeof(type)));
	return NULL;
}

static void schema_read_value(
	struct build *build, const struct field *field, const struct yaml_node *node, void *base)
{
	const char *text = schema_read_text_of(build, node, field->option.name, field);
	struct err e = {0};
	if (!text)
		return;
	int r = 0;
	if (field->check)
		r = field->check(text, &e);
	if (r == 0)
		r = option_set(&field->option, build->c->arena, base, text, &e);
	if (r < 0)
		build_error(build, node, "%s: %s", field->option.name, e.text);
}

static void read_values(
	struct build *build, const struct field *field, const struct yaml_node *node, void *base)
{
	struct tree_values *v = (void *)((char *)base + field->option.offset);
	char what[100];
	if (node->kind != YAML_LIST) {
		build_error(build, node, "%s: read %s, expected a list such as [A, B]",
			field->option.name, yaml_what(node, what, sizeof(what)));
		return;
	}
	if (node->n > MAX_VALUES) {
		build_error(build, node, "%s: read %zu entries, expected at most %d",
			field->option.name, node->n, MAX_VALUES);
		return;
	}
	v->n = 0;
	v->v = arena_array(build->c->arena, const char *, node->n + 1);
	v->at = arena_array(build->c->arena, const struct yaml_node *, node->n + 1);
	for (size_t i = 0; i < node->n; i++) {
		const struct yaml_node *item = node->items[i].value;
		const char *text = schema_read_text_of(build, item, field->option.name, field);
		struct err e = {0};
		if (!text)
			continue;
		if (field->check && field->check(text, &e) < 0) {
			build_error(build, item, "%s: %s", field->option.name, e.text);
			continue;
		}
		for (size_t k = 0; k < v->n; k++)
			if (strcmp(v->v[k], text) == 0) {
				build_error(build, item,
					"%s: '%.64s' is already in this list (line %d); remove one "
					"of them",
					field->option.name, text, v->at[k]->line);
				text = NULL;
				break;
			}
		if (!text)
			continue;
		v->v[v->n] = text;
		v->at[v->n++] = item;
	}
	if (node->n == 0)
		build_error(build, node, "%s: read an empty list, expected at least one entry",
			field->option.name);
}

static void read_section(
	struct build *build, const struct field *field, const struct yaml_node *node, void *base)
{
	void **slot = (void *)((char *)base + field->option.offset);
	char what[100];
	if (node->kind != YAML_MAP) {
		build_error(build, node, "%s: read %s, expected a section such as { %s: ... }",
			field->option.name, yaml_what(node, what, sizeof(what)),
			field->section->fields[0].option.name);
		return;
	}
	*slot = arena_alloc(build->c->arena, field->section->size);
	schema_read(build, field->section, node, *slot);
}

/* FIELD_SECTIONS, FIELD_LINKS and FIELD_NAMED */
static void read_sections(
	struct build *build, const struct field *field, const struct yaml_node *node, void *base)
{
	struct tree_list *l = (void *)((char *)base + field->option.offset);
	bool named = field->kind == FIELD_NAMED;
	char what[100];

	if (field->kind == FIELD_LINKS && node->kind == YAML_TEXT &&
		strcmp(node->text, "discover") == 0) {
		((struct config_tree *)base)->discover = true;
		return;
	}
	if (node->kind != (named ? YAML_MAP : YAML_LIST)) {
		build_error(build, node, "%s: read %s, expected %s", field->option.name,
			yaml_what(node, what, sizeof(what)),
			named ? "names, each with a section"
				: field->kind == FIELD_LINKS
				? "a list of sections ('- { a: ..., b: ... }') or the word discover"
				: "a list of sections ('- { ... }' lines)");
		return;
	}
	l->v = arena_array(build->c->arena, void *, node->n + 1);
	for (size_t i = 0; i < node->n; i++) {
		const struct yaml_node *item = node->items[i].value;
		if (item->kind != YAML_MAP) {
			build_error(build, item,
				"%s: read %s, expected a section such as { %s: ... }",
				named ? node->items[i].key : field->option.name,
				yaml_what(item, what, sizeof(what)),
				field->section->fields[0].option.name);
			continue;
		}
		char *p = arena_alloc(build->c->arena, field->section->size);
		schema_read(build, field->section, item, p);
		if (named)
			*(const char **)(void *)(p + sizeof(const struct yaml_node *)) =
				node->items[i].key;
		l->v[l->n++] = p;
	}
}

static void read_module(struct build *build, const struct option_table *table,
	const struct yaml_node *node, void *base)
{
	char what[100];
	if (node->kind != YAML_MAP) {
		build_error(build, node, "%s: read %s, expected a section of options", table->name,
			yaml_what(node, what, sizeof(what)));
		return;
	}
	for (size_t i = 0; i < node->n; i++) {
		const struct option *o = option_find(table, node->items[i].key);
		if (!o) {
			const char **names =
				arena_array(build->c->arena, const char *, table->n_rows + 1);
			for (size_t k = 0; k < table->n_rows; k++)
				names[k] = table->rows[k].name;
			char kind[128];
			snprintf(kind, sizeof(kind), "option of %.100s", table->name);
			unknown_key(build, &node->items[i], kind, names, table->n_rows);
			continue;
		}
		const struct field f = {.kind = FIELD_VALUE, .option = *o};
		schema_read_value(build, &f, node->items[i].value, base);
	}
}

/* Sections of module options, here "analyzers". */
static void read_modules(
	struct build *build, const struct field *field, const struct yaml_node *node, void *base)
{
	const char *section = field->option.name;
	struct config *c = build->c;
	char what[100];
	if (node->kind != YAML_MAP) {
		build_error(build, node, "%s: read %s, expected names, each with a section",
			section, yaml_what(node, what, sizeof(what)));
		return;
	}
	for (size_t i = 0; i < node->n; i++) {
		bool found = false;
		const char **names = arena_array(c->arena, const char *, c->n_tables + 1);
		size_t n_names = 0;
		for (size_t k = 0; k < c->n_tables && !found; k++) {
			if (strcmp(c->tables[k]->section, section) != 0)
				continue;
			names[n_names++] = c->tables[k]->name;
			found = strcmp(c->tables[k]->name, node->items[i].key) == 0;
			if (found)
				read_module(
					build, c->tables[k], node->items[i].value, c->options[k]);
		}
		if (!found)
			unknown_key(build, &node->items[i],
				strcmp(section, "analyzers") == 0 ? "analyzer" : "module", names,
				n_names);
	}
}

static void schema_read_refuse(
	struct build *build, const struct field *field, const struct yaml_node *node, void *base)
{
	build_error(build, node, "%s: %s", field->option.name, field->option.doc);
}

static void (*const readers[])(struct build *build, const struct field *field,
	const struct yaml_node *node, void *base) = {
	[FIELD_VALUE] = schema_read_value,
	[FIELD_VALUES] = read_values,
	[FIELD_SECTION] = read_section,
	[FIELD_SECTIONS] = read_sections,
	[FIELD_NAMED] = read_sections,
	[FIELD_LINKS] = read_sections,
	[FIELD_MODULES] = read_modules,
	[FIELD_REFUSED] = schema_read_refuse,
};

/* Before anything is read: the default, or what schema_unset() knows as "not given". */
static void set_default(struct build *build, const struct field *field, void *base)
{
	char *p = (char *)base + field->option.offset;
	if (field->kind == FIELD_VALUES && field->option.def) {
		struct tree_values *v = (void *)p;
		v->v = arena_array(build->c->arena, const char *, 1);
		v->v[0] = field->option.def;
		v->at = arena_array(build->c->arena, const struct yaml_node *, 1);
		v->n = 1;
		return;
	}
	if (field->kind != FIELD_VALUE)
		return;
	if (field->option.def) {
		struct err e;
		int r = option_set(&field->option, build->c->arena, base, field->option.def, &e);
		assert(r == 0);
		(void)r;
	} else if (field->option.type == OPT_ENUM) {
		*(int *)(void *)p = -1;
	} else if (field->option.type == OPT_RATIO || field->option.type == OPT_DOUBLE) {
		*(double *)(void *)p = NAN;
	}
}

void schema_read(struct build *build, const struct section *section, const struct yaml_node *node,
	void *base)
{
	*(const struct yaml_node **)base = node;
	for (size_t i = 0; i < section->n_fields; i++)
		set_default(build, &section->fields[i], base);
	if (!node)
		return;
	for (size_t i = 0; i < node->n; i++) {
		const struct yaml_item *item = &node->items[i];
		const struct field *f = schema_find(section, item->key);
		if (!f)
			unknown_field(build, section, item);
		else if (item->value->kind == YAML_NULL)
			build_error(build, item->value,
				"%s: has no value; give one or remove the key", item->key);
		else
			readers[f->kind](build, f, item->value, base);
	}
	for (size_t i = 0; i < section->n_fields; i++)
		if ((section->fields[i].flags & FIELD_REQUIRED) &&
			!yaml_get(node, section->fields[i].option.name))
			build_error(build, node, "the key '%s' is missing here: %s",
				section->fields[i].option.name, section->fields[i].option.doc);
}
