/*
 * config_explain - walks the rows of the schema and of all modules: type, range, default and
 * meaning of every key. Text, JSON, the manual page and docs/configuration.md are made of the walk.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/err.h"
#include "agent/base/str.h"
#include "config/config.h"
#include "config/schema.h"

/* ---- the walk ------------------------------------------------------------ */

struct key_walk {
	config_key_fn *visit;
	void *arg;
	struct arena *arena;
	const struct option_table *const *tables;
	size_t n_tables;
};

/* The meaning of a default of zero, which the rows write as "0 = off" within their sentence; NULL
 * when 0 means 0. */
static const char *key_zero_means(struct arena *a, const struct option *option)
{
	const char *def = option->def;
	if (!def || *def != '0' || strpbrk(def, "123456789."))
		return NULL;
	const char *at = strstr(option->doc, "0 = ");
	if (!at)
		at = strstr(option->doc, "0s = ");
	if (!at)
		return NULL;
	at = strchr(at, '=') + 2;
	return arena_strndup(a, at, strcspn(at, ".;:"));
}

static void key_visit_option(
	const struct key_walk *walk, const char *path, const struct field *field)
{
	const struct option *o = &field->option;
	char type[200];
	struct config_key key = {.path = path,
		.type = schema_type_text(field, type, sizeof(type)),
		.min = o->min,
		.max = o->max,
		.required = field->flags & FIELD_REQUIRED,
		.doc = o->doc};
	if (!key.required)
		key.def = o->def;
	if (key.def && field->kind == FIELD_VALUES)
		key.def = arena_printf(walk->arena, "[%s]", o->def);
	if (key.def)
		key.def_means = key_zero_means(walk->arena, o);
	walk->visit(&key, walk->arg);
}

static void key_visit_head(
	const struct key_walk *walk, const char *path, const struct field *field, const char *doc)
{
	char type[200];
	const struct config_key key = {.path = path,
		.type = schema_type_text(field, type, sizeof(type)),
		.doc = doc,
		.section = true};
	walk->visit(&key, walk->arg);
}

static void key_walk_modules(const struct key_walk *walk, const struct field *field)
{
	key_visit_head(walk, field->option.name, field, field->option.doc);
	for (size_t i = 0; i < walk->n_tables; i++) {
		const struct option_table *t = walk->tables[i];
		if (strcmp(t->section, field->option.name) != 0)
			continue;
		const char *path = arena_printf(walk->arena, "%s.%s", t->section, t->name);
		const struct field section = {.kind = FIELD_SECTION};
		key_visit_head(walk, path, &section, str_or(t->doc, ""));
		for (size_t k = 0; k < t->n_rows; k++) {
			const struct field row = {.kind = FIELD_VALUE, .option = t->rows[k]};
			key_visit_option(walk,
				arena_printf(walk->arena, "%s.%s", path, t->rows[k].name), &row);
		}
	}
}

static void key_walk_section(
	const struct key_walk *walk, const struct section *section, const char *prefix)
{
	for (size_t i = 0; i < section->n_fields; i++) {
		const struct field *f = &section->fields[i];
		const char *path = f->option.name;
		const char *inner = "";
		if (*prefix)
			path = arena_printf(walk->arena, "%s.%s", prefix, path);
		switch (f->kind) {
		case FIELD_REFUSED: continue;
		case FIELD_VALUE:
		case FIELD_VALUES: key_visit_option(walk, path, f); continue;
		case FIELD_MODULES: key_walk_modules(walk, f); continue;
		case FIELD_SECTION:
		case FIELD_ONE_OR_MORE: break;
		case FIELD_NAMED: inner = ".<name>"; break;
		case FIELD_SECTIONS:
		case FIELD_LINKS: inner = "[]"; break;
		}
		key_visit_head(walk, path, f, f->section->doc);
		key_walk_section(walk, f->section, arena_printf(walk->arena, "%s%s", path, inner));
	}
}

void config_keys(
	const struct option_table *const *tables, size_t n_tables, config_key_fn *visit, void *arg)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	const struct key_walk walk = {
		.visit = visit, .arg = arg, .arena = a, .tables = tables, .n_tables = n_tables};
	key_walk_section(&walk, &schema_root, "");
}

void config_key_about(const struct config_key *key, struct str *out)
{
	str_add(out, key->type);
	if (key->min && key->max)
		str_addf(out, ", %s to %s", key->min, key->max);
	else if (key->min)
		str_addf(out, ", at least %s", key->min);
	else if (key->max)
		str_addf(out, ", at most %s", key->max);
	if (key->required)
		str_add(out, ", required");
	if (key->def)
		str_addf(out, ", default %s", key->def);
	if (key->def_means)
		str_addf(out, ": %s", key->def_means);
}

/* ---- which keys are asked for -------------------------------------------- */

struct key_select {
	config_key_fn *visit;
	void *arg;
	struct arena *arena;
	const char *asked; /* normalised; NULL = all */
	bool found;
	const char **names; /* of all keys, for the hint */
	size_t n_names, cap_names;
};

/* "devices[].snmp.interval" -> "devices.snmp.interval"; "credentials.<name>.snmp.user" stays, see
 * key_matches(). */
static const char *key_normal(struct arena *a, const char *key)
{
	char *copy = arena_strdup(a, key), *to = copy;
	for (const char *p = key; *p; p++) {
		if (*p == '[') {
			const char *close = strchr(p, ']');
			if (close) {
				p = close;
				continue;
			}
		}
		*to++ = *p;
	}
	*to = '\0';
	return copy;
}

/* @pattern is a key of the schema, where "<name>" stands for any one word; @key may be a section
 * above it. */
static bool key_matches(const char *key, const char *pattern)
{
	while (*key) {
		if (*pattern == '<') {
			pattern = strchr(pattern, '>') + 1;
			key += strcspn(key, ".");
			continue;
		}
		if (*key != *pattern)
			return false;
		key++;
		pattern++;
	}
	return *pattern == '\0' || *pattern == '.' || *pattern == '[';
}

static void key_select_visit(const struct config_key *key, void *arg)
{
	struct key_select *select = arg;
	const char *normal = key_normal(select->arena, key->path);
	rw_grow(select->names, select->n_names, select->cap_names);
	select->names[select->n_names++] = normal;
	if (select->asked && !key_matches(select->asked, normal))
		return;
	select->found = true;
	select->visit(key, select->arg);
}

int config_keys_of(const char *asked, const struct option_table *const *tables, size_t n_tables,
	config_key_fn *visit, void *arg, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct key_select select = {.visit = visit, .arg = arg, .arena = a};
	int r = 0;
	if (asked)
		select.asked = key_normal(a, asked);
	config_keys(tables, n_tables, key_select_visit, &select);
	const char *near = NULL;
	if (!select.found)
		near = str_nearest(select.asked, select.names, select.n_names);
	if (near)
		r = err_set(e, -ENOENT, "unknown key '%.100s'; did you mean '%s'?", asked, near);
	else if (!select.found)
		r = err_set(e, -ENOENT,
			"unknown key '%.100s'; 'rocewatch config explain' without key lists all",
			asked);
	free(select.names);
	return r;
}

/* ---- as text ------------------------------------------------------------- */

static void explain_key(const struct config_key *key, void *arg)
{
	rw_cleanup(str_done) struct str about = {0};
	config_key_about(key, &about);
	fprintf(arg, "%s\n    %s\n    %s\n", key->path, about.s, key->doc);
}

int config_explain(const char *key, const struct option_table *const *tables, size_t n_tables,
	FILE *out, struct err *e)
{
	return config_keys_of(key, tables, n_tables, explain_key, out, e);
}
