/* schema_read - a yaml tree into tree_* structs by the rows of schema.c; every mistake has its
 * place and says what is expected. */
#include <assert.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "config/schema.h"

enum { MAX_VALUES = 4096, MAX_FIELDS = 64 };

static void schema_unknown_key(
	struct build *build, const struct section *section, const struct yaml_item *item)
{
	const char *names[MAX_FIELDS];
	size_t n = 0;
	assert(section->n_fields <= MAX_FIELDS);
	for (size_t k = 0; k < section->n_fields; k++)
		if (section->fields[k].kind != FIELD_REFUSED)
			names[n++] = section->fields[k].option.name;
	build_unknown(build, item, "key", names, n);
}

/* "@key is a list; expected @expected". */
static void schema_unexpected(
	struct build *build, const struct yaml_node *node, const char *key, const char *expected)
{
	char what[100];
	build_error(build, node, "%s is %s; expected %s", key, yaml_what(node, what, sizeof(what)),
		expected);
}

static void schema_expect_section(struct build *build, const struct yaml_node *node,
	const char *key, const struct section *section)
{
	char expected[128];
	snprintf(expected, sizeof(expected), "a section such as { %s: ... }",
		section->fields[0].option.name);
	schema_unexpected(build, node, key, expected);
}

/* The text of a node; NULL, and an error, when it is none. */
static const char *schema_text(
	struct build *build, const struct field *field, const struct yaml_node *node)
{
	if (node->kind == YAML_TEXT)
		return node->text;
	char type[128], expected[160];
	schema_type_text(field, type, sizeof(type));
	const char *article = "";
	if (field->kind == FIELD_VALUES)
		snprintf(type, sizeof(type), "text");
	if (field->kind == FIELD_VALUES || field->option.type != OPT_ENUM)
		article = "a ";
	if (field->kind == FIELD_VALUE && field->option.type == OPT_BOOL)
		article = "";
	snprintf(expected, sizeof(expected), "%s%s", article, type);
	schema_unexpected(build, node, field->option.name, expected);
	return NULL;
}

/* ---- values -------------------------------------------------------------- */

static void schema_read_value(
	struct build *build, const struct field *field, const struct yaml_node *node, void *base)
{
	const char *text = schema_text(build, field, node);
	if (!text)
		return;
	struct err e = {0};
	int rc = 0;
	if (field->check)
		rc = field->check(text, &e);
	if (rc == 0)
		rc = option_set(&field->option, build->c->arena, base, text, &e);
	if (rc < 0)
		build_error(build, node, "%s is %s", field->option.name, e.text);
}

/* One entry of a list; NULL, and an error, when it cannot be one. */
static const char *schema_read_entry(struct build *build, const struct field *field,
	const struct tree_values *values, const struct yaml_node *node)
{
	const char *text = schema_text(build, field, node);
	struct err e = {0};
	if (!text)
		return NULL;
	if (field->check && field->check(text, &e) < 0) {
		build_error(build, node, "%s: an entry is %s", field->option.name, e.text);
		return NULL;
	}
	for (size_t k = 0; k < values->n; k++) {
		if (strcmp(values->v[k], text) != 0)
			continue;
		build_error(build, node,
			"%s: '%.64s' is already in this list (line %d); remove one of them",
			field->option.name, text, values->at[k]->line);
		return NULL;
	}
	return text;
}

static void schema_read_values(
	struct build *build, const struct field *field, const struct yaml_node *node, void *base)
{
	struct tree_values *values = (void *)((char *)base + field->option.offset);
	if (node->kind != YAML_LIST) {
		schema_unexpected(build, node, field->option.name, "a list such as [A, B]");
		return;
	}
	if (node->n > MAX_VALUES) {
		build_error(build, node, "%s has %zu entries; expected at most %d",
			field->option.name, node->n, MAX_VALUES);
		return;
	}
	values->n = 0; /* the default goes */
	values->v = arena_array(build->c->arena, const char *, node->n + 1);
	values->at = arena_array(build->c->arena, const struct yaml_node *, node->n + 1);
	for (size_t i = 0; i < node->n; i++) {
		const struct yaml_node *entry = node->items[i].value;
		const char *text = schema_read_entry(build, field, values, entry);
		if (!text)
			continue;
		values->v[values->n] = text;
		values->at[values->n++] = entry;
	}
	if (node->n == 0)
		build_error(build, node, "%s is an empty list; expected at least one entry",
			field->option.name);
}

/* ---- sections ------------------------------------------------------------ */

static void schema_read_section(
	struct build *build, const struct field *field, const struct yaml_node *node, void *base)
{
	void **slot = (void *)((char *)base + field->option.offset);
	if (node->kind != YAML_MAP) {
		schema_expect_section(build, node, field->option.name, field->section);
		return;
	}
	*slot = arena_alloc(build->c->arena, field->section->size);
	schema_read(build, field->section, node, *slot);
}

/* A list of sections (FIELD_SECTIONS, FIELD_LINKS): "- { a: ..., b: ... }". */
static void schema_read_list(
	struct build *build, const struct field *field, const struct yaml_node *node, void *base)
{
	struct tree_list *list = (void *)((char *)base + field->option.offset);
	if (node->kind != YAML_LIST) {
		const char *expected = "a list of sections ('- { ... }' lines)";
		if (field->kind == FIELD_ONE_OR_MORE)
			expected = "a section, or a list of sections ('- { ... }' lines)";
		if (field->kind == FIELD_LINKS)
			expected = "a list of sections ('- { a: ..., b: ... }') or the word "
				   "discover";
		schema_unexpected(build, node, field->option.name, expected);
		return;
	}
	list->v = arena_array(build->c->arena, void *, node->n + 1);
	for (size_t i = 0; i < node->n; i++) {
		const struct yaml_node *item = node->items[i].value;
		if (item->kind != YAML_MAP) {
			schema_expect_section(build, item, field->option.name, field->section);
			continue;
		}
		void *entry = arena_alloc(build->c->arena, field->section->size);
		schema_read(build, field->section, item, entry);
		list->v[list->n++] = entry;
	}
}

/* One section, or a list of them (FIELD_ONE_OR_MORE). */
static void schema_read_one_or_more(
	struct build *build, const struct field *field, const struct yaml_node *node, void *base)
{
	struct tree_list *list = (void *)((char *)base + field->option.offset);
	if (node->kind != YAML_MAP) {
		schema_read_list(build, field, node, base);
		return;
	}
	void *entry = arena_alloc(build->c->arena, field->section->size);
	schema_read(build, field->section, node, entry);
	list->v = arena_array(build->c->arena, void *, 1);
	list->v[0] = entry;
	list->n = 1;
}

static void schema_read_links(
	struct build *build, const struct field *field, const struct yaml_node *node, void *base)
{
	if (node->kind == YAML_TEXT && strcmp(node->text, "discover") == 0)
		((struct config_tree *)base)->discover = true;
	else
		schema_read_list(build, field, node, base);
}

/* Sections by name (FIELD_NAMED); the name is the first member after .node. */
static void schema_read_named(
	struct build *build, const struct field *field, const struct yaml_node *node, void *base)
{
	struct tree_list *list = (void *)((char *)base + field->option.offset);
	if (node->kind != YAML_MAP) {
		schema_unexpected(build, node, field->option.name, "names, each with a section");
		return;
	}
	list->v = arena_array(build->c->arena, void *, node->n + 1);
	for (size_t i = 0; i < node->n; i++) {
		const struct yaml_item *item = &node->items[i];
		if (item->value->kind != YAML_MAP) {
			schema_expect_section(build, item->value, item->key, field->section);
			continue;
		}
		char *entry = arena_alloc(build->c->arena, field->section->size);
		schema_read(build, field->section, item->value, entry);
		*(const char **)(void *)(entry + sizeof(const struct yaml_node *)) = item->key;
		list->v[list->n++] = entry;
	}
}

/* ---- options of modules -------------------------------------------------- */

static void schema_read_module(struct build *build, const struct option_table *table,
	const struct yaml_node *node, void *base)
{
	if (node->kind != YAML_MAP) {
		schema_unexpected(build, node, table->name, "a section of options");
		return;
	}
	for (size_t i = 0; i < node->n; i++) {
		const struct option *option = option_find(table, node->items[i].key);
		if (option) {
			const struct field field = {.kind = FIELD_VALUE, .option = *option};
			schema_read_value(build, &field, node->items[i].value, base);
			continue;
		}
		const char **names = arena_array(build->c->arena, const char *, table->n_rows + 1);
		for (size_t k = 0; k < table->n_rows; k++)
			names[k] = table->rows[k].name;
		char kind[128];
		snprintf(kind, sizeof(kind), "option of %.100s", table->name);
		build_unknown(build, &node->items[i], kind, names, table->n_rows);
	}
}

/* The options of the module that @item names; an error when there is no such module. */
static void schema_read_named_module(
	struct build *build, const char *section, const struct yaml_item *item)
{
	struct config *c = build->c;
	const char **names = arena_array(c->arena, const char *, c->n_tables + 1);
	size_t n_names = 0;
	for (size_t k = 0; k < c->n_tables; k++) {
		const struct option_table *table = c->tables[k];
		if (strcmp(table->section, section) != 0)
			continue;
		if (strcmp(table->name, item->key) == 0) {
			schema_read_module(build, table, item->value, c->options[k]);
			return;
		}
		names[n_names++] = table->name;
	}
	const char *what = "module";
	if (strcmp(section, "analyzers") == 0)
		what = "analyzer";
	build_unknown(build, item, what, names, n_names);
}

static void schema_read_modules(
	struct build *build, const struct field *field, const struct yaml_node *node, void *base)
{
	if (node->kind != YAML_MAP) {
		schema_unexpected(build, node, field->option.name, "names, each with a section");
		return;
	}
	for (size_t i = 0; i < node->n; i++)
		schema_read_named_module(build, field->option.name, &node->items[i]);
}

static void schema_read_refused(
	struct build *build, const struct field *field, const struct yaml_node *node, void *base)
{
	build_error(build, node, "%s: %s", field->option.name, field->option.doc);
}

/* ---- a section ----------------------------------------------------------- */

static void (*const readers[])(struct build *build, const struct field *field,
	const struct yaml_node *node, void *base) = {
	[FIELD_VALUE] = schema_read_value,
	[FIELD_VALUES] = schema_read_values,
	[FIELD_SECTION] = schema_read_section,
	[FIELD_SECTIONS] = schema_read_list,
	[FIELD_ONE_OR_MORE] = schema_read_one_or_more,
	[FIELD_NAMED] = schema_read_named,
	[FIELD_LINKS] = schema_read_links,
	[FIELD_MODULES] = schema_read_modules,
	[FIELD_REFUSED] = schema_read_refused,
};

/* Before anything is read: the default, or what schema_unset() knows as "not given". */
static void schema_set_default(struct build *build, const struct field *field, void *base)
{
	const struct option *option = &field->option;
	char *place = (char *)base + option->offset;
	if (field->kind == FIELD_VALUES && option->def) {
		struct tree_values *values = (void *)place;
		values->v = arena_array(build->c->arena, const char *, 1);
		values->v[0] = option->def;
		values->at = arena_array(build->c->arena, const struct yaml_node *, 1);
		values->n = 1;
		return;
	}
	if (field->kind != FIELD_VALUE)
		return;
	if (option->def) {
		struct err e;
		const int rc = option_set(option, build->c->arena, base, option->def, &e);
		assert(rc == 0);
		(void)rc;
	} else if (option->type == OPT_ENUM) {
		*(int *)(void *)place = -1;
	} else if (option->type == OPT_RATIO || option->type == OPT_DOUBLE) {
		*(double *)(void *)place = NAN;
	}
}

static void schema_check_required(
	struct build *build, const struct section *section, const struct yaml_node *node)
{
	for (size_t i = 0; i < section->n_fields; i++) {
		const struct field *field = &section->fields[i];
		if (!(field->flags & FIELD_REQUIRED) || yaml_get(node, field->option.name))
			continue;
		build_error(build, node, "the key '%s' is missing here: %s", field->option.name,
			field->option.doc);
	}
}

void schema_read(struct build *build, const struct section *section, const struct yaml_node *node,
	void *base)
{
	*(const struct yaml_node **)base = node;
	for (size_t i = 0; i < section->n_fields; i++)
		schema_set_default(build, &section->fields[i], base);
	if (!node)
		return;
	for (size_t i = 0; i < node->n; i++) {
		const struct yaml_item *item = &node->items[i];
		const struct field *field = schema_find(section, item->key);
		if (!field)
			schema_unknown_key(build, section, item);
		else if (item->value->kind == YAML_NULL)
			build_error(build, item->value,
				"%s has no value; give one or remove the key", item->key);
		else
			readers[field->kind](build, field, item->value, base);
	}
	schema_check_required(build, section, node);
}

void *schema_read_or_defaults(struct build *build, const char *key)
{
	const struct field *field = schema_find(&schema_root, key);
	void **slot = (void *)((char *)build->c->tree + field->option.offset);
	if (!*slot) {
		*slot = arena_alloc(build->c->arena, field->section->size);
		schema_read(build, field->section, NULL, *slot);
	}
	return *slot;
}
