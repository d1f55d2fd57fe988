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

__attribute__((format(printf, 4, 0))) static void add(struct build *b, struct err_list *l,
	const struct yaml_node *at, const char *fmt, va_list ap)
{
	struct err e = {0};
	char text[sizeof(e.text)];
	if (l->n >= MAX_COLLECTED) {
		l->more++;
		return;
	}
	vsnprintf(text, sizeof(text), fmt, ap);
	err_at(&e, -EINVAL, b->name, at ? at->line : 0, at ? at->col : 0, "%s", text);
	err_list_add(l, &e);
}

void build_error(struct build *b, const struct yaml_node *at, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	add(b, b->errors, at, fmt, ap);
	va_end(ap);
}

void build_warn(struct build *b, const struct yaml_node *at, const char *fmt, ...)
{
	va_list ap;
	va_start(ap, fmt);
	add(b, &b->c->warnings, at, fmt, ap);
	va_end(ap);
}

const struct yaml_node *build_at(const struct yaml_node *section, const char *key)
{
	const struct yaml_item *i = yaml_get(section, key);
	return i ? i->value : section;
}

/* An unknown key, with the nearest one that would have been right. */
static void unknown_key(struct build *b, const struct yaml_item *i, const char *what,
	const char *const *names, size_t n)
{
	const struct yaml_node at = {.line = i->line, .col = i->col};
	const char *near = str_nearest(i->key, names, n);
	if (near) {
		build_error(b, &at, "unknown %s '%.64s'; did you mean '%s'?", what, i->key, near);
		return;
	}
	rw_cleanup(str_done) struct str all = {0};
	for (size_t k = 0; k < n; k++)
		str_addf(&all, "%s%s", k == 0 ? "" : ", ", names[k]);
	build_error(b, &at, "unknown %s '%.64s', expected one of: %.500s", what, i->key,
		all.s ? all.s : "(none here)");
}

static void unknown_field(struct build *b, const struct section *s, const struct yaml_item *i)
{
	const char *names[64];
	size_t n = 0;
	assert(s->n_fields <= rw_countof(names));
	for (size_t k = 0; k < s->n_fields; k++)
		if (s->fields[k].kind != FIELD_REFUSED)
			names[n++] = s->fields[k].option.name;
	unknown_key(b, i, "key", names, n);
}

/* The text of a node, or an error that says what is expected instead. */
static const char *text_of(
	struct build *b, const struct yaml_node *n, const char *key, const struct field *f)
{
	char what[100], type[128];
	if (n->kind == YAML_TEXT)
		return n->text;
	build_error(b, n, "%s: read %s, expected %s", key, yaml_what(n, what, sizeof(what)),
		schema_type_text(f, type, sizeof(type)));
	return NULL;
}

static void read_value(
	struct build *b, const struct field *f, const struct yaml_node *n, void *base)
{
	const char *text = text_of(b, n, f->option.name, f);
	struct err e = {0};
	if (!text)
		return;
	int r = f->check ? f->check(text, &e) : 0;
	if (r == 0)
		r = option_set(&f->option, b->c->arena, base, text, &e);
	if (r < 0)
		build_error(b, n, "%s: %s", f->option.name, e.text);
}

static void read_values(
	struct build *b, const struct field *f, const struct yaml_node *n, void *base)
{
	struct tree_values *v = (void *)((char *)base + f->option.offset);
	char what[100];
	if (n->kind != YAML_LIST) {
		build_error(b, n, "%s: read %s, expected a list such as [A, B]", f->option.name,
			yaml_what(n, what, sizeof(what)));
		return;
	}
	if (n->n > MAX_VALUES) {
		build_error(b, n, "%s: read %zu entries, expected at most %d", f->option.name, n->n,
			MAX_VALUES);
		return;
	}
	v->n = 0;
	v->v = arena_array(b->c->arena, const char *, n->n + 1);
	v->at = arena_array(b->c->arena, const struct yaml_node *, n->n + 1);
	for (size_t i = 0; i < n->n; i++) {
		const struct yaml_node *item = n->items[i].value;
		const char *text = text_of(b, item, f->option.name, f);
		struct err e = {0};
		if (!text)
			continue;
		if (f->check && f->check(text, &e) < 0) {
			build_error(b, item, "%s: %s", f->option.name, e.text);
			continue;
		}
		for (size_t k = 0; k < v->n; k++)
			if (strcmp(v->v[k], text) == 0) {
				build_error(b, item,
					"%s: '%.64s' is already in this list (line %d); remove one "
					"of them",
					f->option.name, text, v->at[k]->line);
				text = NULL;
				break;
			}
		if (!text)
			continue;
		v->v[v->n] = text;
		v->at[v->n++] = item;
	}
	if (n->n == 0)
		build_error(b, n, "%s: read an empty list, expected at least one entry",
			f->option.name);
}

static void read_section(
	struct build *b, const struct field *f, const struct yaml_node *n, void *base)
{
	void **slot = (void *)((char *)base + f->option.offset);
	char what[100];
	if (n->kind != YAML_MAP) {
		build_error(b, n, "%s: read %s, expected a section such as { %s: ... }",
			f->option.name, yaml_what(n, what, sizeof(what)),
			f->section->fields[0].option.name);
		return;
	}
	*slot = arena_alloc(b->c->arena, f->section->size);
	schema_read(b, f->section, n, *slot);
}

/* FIELD_SECTIONS, FIELD_LINKS and FIELD_NAMED */
static void read_sections(
	struct build *b, const struct field *f, const struct yaml_node *n, void *base)
{
	struct tree_list *l = (void *)((char *)base + f->option.offset);
	bool named = f->kind == FIELD_NAMED;
	char what[100];

	if (f->kind == FIELD_LINKS && n->kind == YAML_TEXT && strcmp(n->text, "discover") == 0) {
		((struct config_tree *)base)->discover = true;
		return;
	}
	if (n->kind != (named ? YAML_MAP : YAML_LIST)) {
		build_error(b, n, "%s: read %s, expected %s", f->option.name,
			yaml_what(n, what, sizeof(what)),
			named ? "names, each with a section"
				: f->kind == FIELD_LINKS
				? "a list of sections ('- { a: ..., b: ... }') or the word discover"
				: "a list of sections ('- { ... }' lines)");
		return;
	}
	l->v = arena_array(b->c->arena, void *, n->n + 1);
	for (size_t i = 0; i < n->n; i++) {
		const struct yaml_node *item = n->items[i].value;
		if (item->kind != YAML_MAP) {
			build_error(b, item, "%s: read %s, expected a section such as { %s: ... }",
				named ? n->items[i].key : f->option.name,
				yaml_what(item, what, sizeof(what)),
				f->section->fields[0].option.name);
			continue;
		}
		char *p = arena_alloc(b->c->arena, f->section->size);
		schema_read(b, f->section, item, p);
		if (named)
			*(const char **)(void *)(p + sizeof(const struct yaml_node *)) =
				n->items[i].key;
		l->v[l->n++] = p;
	}
}

static void read_module(
	struct build *b, const struct option_table *t, const struct yaml_node *n, void *base)
{
	char what[100];
	if (n->kind != YAML_MAP) {
		build_error(b, n, "%s: read %s, expected a section of options", t->name,
			yaml_what(n, what, sizeof(what)));
		return;
	}
	for (size_t i = 0; i < n->n; i++) {
		const struct option *o = option_find(t, n->items[i].key);
		if (!o) {
			const char **names = arena_array(b->c->arena, const char *, t->n_rows + 1);
			for (size_t k = 0; k < t->n_rows; k++)
				names[k] = t->rows[k].name;
			char kind[128];
			snprintf(kind, sizeof(kind), "option of %.100s", t->name);
			unknown_key(b, &n->items[i], kind, names, t->n_rows);
			continue;
		}
		const struct field f = {.kind = FIELD_VALUE, .option = *o};
		read_value(b, &f, n->items[i].value, base);
	}
}

/* Sections of module options, here "analyzers". */
static void read_modules(
	struct build *b, const struct field *f, const struct yaml_node *n, void *base)
{
	const char *section = f->option.name;
	struct config *c = b->c;
	char what[100];
	if (n->kind != YAML_MAP) {
		build_error(b, n, "%s: read %s, expected names, each with a section", section,
			yaml_what(n, what, sizeof(what)));
		return;
	}
	for (size_t i = 0; i < n->n; i++) {
		bool found = false;
		const char **names = arena_array(c->arena, const char *, c->n_tables + 1);
		size_t n_names = 0;
		for (size_t k = 0; k < c->n_tables && !found; k++) {
			if (strcmp(c->tables[k]->section, section) != 0)
				continue;
			names[n_names++] = c->tables[k]->name;
			found = strcmp(c->tables[k]->name, n->items[i].key) == 0;
			if (found)
				read_module(b, c->tables[k], n->items[i].value, c->options[k]);
		}
		if (!found)
			unknown_key(b, &n->items[i],
				strcmp(section, "analyzers") == 0 ? "analyzer" : "module", names,
				n_names);
	}
}

static void refuse(struct build *b, const struct field *f, const struct yaml_node *n, void *base)
{
	build_error(b, n, "%s: %s", f->option.name, f->option.doc);
}

static void (*const readers[])(
	struct build *b, const struct field *f, const struct yaml_node *n, void *base) = {
	[FIELD_VALUE] = read_value,
	[FIELD_VALUES] = read_values,
	[FIELD_SECTION] = read_section,
	[FIELD_SECTIONS] = read_sections,
	[FIELD_NAMED] = read_sections,
	[FIELD_LINKS] = read_sections,
	[FIELD_MODULES] = read_modules,
	[FIELD_REFUSED] = refuse,
};

/* Before anything is read: the default, or what schema_unset() knows as "not given". */
static void set_default(struct build *b, const struct field *f, void *base)
{
	char *p = (char *)base + f->option.offset;
	if (f->kind == FIELD_VALUES && f->option.def) {
		struct tree_values *v = (void *)p;
		v->v = arena_array(b->c->arena, const char *, 1);
		v->v[0] = f->option.def;
		v->at = arena_array(b->c->arena, const struct yaml_node *, 1);
		v->n = 1;
		return;
	}
	if (f->kind != FIELD_VALUE)
		return;
	if (f->option.def) {
		struct err e;
		int r = option_set(&f->option, b->c->arena, base, f->option.def, &e);
		assert(r == 0);
		(void)r;
	} else if (f->option.type == OPT_ENUM) {
		*(int *)(void *)p = -1;
	} else if (f->option.type == OPT_RATIO || f->option.type == OPT_DOUBLE) {
		*(double *)(void *)p = NAN;
	}
}

void schema_read(struct build *b, const struct section *s, const struct yaml_node *node, void *base)
{
	*(const struct yaml_node **)base = node;
	for (size_t i = 0; i < s->n_fields; i++)
		set_default(b, &s->fields[i], base);
	if (!node)
		return;
	for (size_t i = 0; i < node->n; i++) {
		const struct yaml_item *item = &node->items[i];
		const struct field *f = schema_find(s, item->key);
		if (!f)
			unknown_field(b, s, item);
		else if (item->value->kind == YAML_NULL)
			build_error(b, item->value, "%s: has no value; give one or remove the key",
				item->key);
		else
			readers[f->kind](b, f, item->value, base);
	}
	for (size_t i = 0; i < s->n_fields; i++)
		if ((s->fields[i].flags & FIELD_REQUIRED) &&
			!yaml_get(node, s->fields[i].option.name))
			build_error(b, node, "the key '%s' is missing here: %s",
				s->fields[i].option.name, s->fields[i].option.doc);
}
