/* config_print - the configuration back as YAML, and the manual of its keys: both walk the rows of
 * schema.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "config/schema.h"

/* ---- YAML ---------------------------------------------------------------- */

/* Texts that YAML readers (ours, and the stricter and the laxer ones) take as they stand. */
static bool plain(const char *s)
{
	static const char *const words[] = {
		"null", "true", "false", "yes", "no", "on", "off", "y", "n"};
	if (!*s ||
		strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/%-") !=
			strlen(s) ||
		*s == '-' || *s == '%' || *s == '.')
		return false;
	for (size_t i = 0; i < rw_countof(words); i++)
		if (strcasecmp(s, words[i]) == 0)
			return false;
	return true;
}

static void add_text(struct str *out, const char *s, bool quote)
{
	if (!quote && plain(s)) {
		str_add(out, s);
		return;
	}
	str_add(out, "\"");
	for (const unsigned char *p = (const unsigned char *)s; *p; p++) {
		if (*p == '"' || *p == '\\')
			str_addf(out, "\\%c", *p);
		else if (*p < 0x20 || *p == 0x7f)
			str_addf(out, "\\x%02x", *p);
		else
			str_addn(out, (const char *)p, 1);
	}
	str_add(out, "\"");
}

static void add_indent(struct str *out, int indent)
{
	str_addf(out, "%*s", indent, "");
}

static void add_option(struct str *out, const struct option *o, const void *base)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	const char *text = option_text(o, a, base);
	/* Numbers and choices are plain by construction, true and false must stay so. */
	if (o->type == OPT_STRING)
		add_text(out, text, false);
	else
		str_add(out, text);
}

static void add_section(struct str *out, const struct config *c, const struct section *s,
	const void *base, int indent, bool after_dash);

static void add_values(struct str *out, const struct tree_values *v)
{
	str_add(out, "[");
	for (size_t i = 0; i < v->n; i++) {
		str_add(out, i ? ", " : "");
		add_text(out, v->v[i], false);
	}
	str_add(out, "]\n");
}

static void add_modules(struct str *out, const struct config *c, const char *section, int indent)
{
	bool first = true;
	for (size_t i = 0; i < c->n_tables; i++) {
		const struct option_table *t = c->tables[i];
		if (strcmp(t->section, section) != 0 || t->n_rows == 0)
			continue;
		if (first)
			str_addf(out, "%s:\n", section);
		first = false;
		add_indent(out, indent + 2);
		str_addf(out, "%s:\n", t->name);
		for (size_t k = 0; k < t->n_rows; k++) {
			const struct option *o = &t->rows[k];
			if (o->type == OPT_STRING && !o->def &&
				!*(const char *const *)(const void *)((const char *)c->options[i] +
					o->offset))
				continue;
			add_indent(out, indent + 4);
			str_addf(out, "%s: ", o->name);
			add_option(out, o, c->options[i]);
			str_add(out, "\n");
		}
	}
}

static void add_list(struct str *out, const struct config *c, const struct field *f,
	const struct tree_list *l, int indent)
{
	str_addf(out, "%s:\n", f->option.name);
	for (size_t i = 0; i < l->n; i++) {
		add_indent(out, indent + 2);
		if (f->kind == FIELD_NAMED) {
			add_text(out,
				*(const char *const *)(const void *)((const char *)l->v[i] +
					sizeof(const struct yaml_node *)),
				false);
			str_add(out, ":\n");
			add_section(out, c, f->section, l->v[i], indent + 4, false);
		} else {
			str_add(out, "- ");
			add_section(out, c, f->section, l->v[i], indent + 4, true);
		}
	}
}

/* One field with its key; nothing when it is not given. */
static bool add_field(struct str *out, const struct config *c, const struct field *f,
	const void *base, int indent, bool after_dash)
{
	const char *slot = (const char *)base + f->option.offset;
	const struct tree_list *list = (const void *)slot;
	const void *section = NULL;

	switch (f->kind) {
	case FIELD_REFUSED: return false;
	case FIELD_VALUE:
		if (!(f->flags & FIELD_REQUIRED) && schema_unset(&f->option, base))
			return false;
		break;
	case FIELD_VALUES:
		if (((const struct tree_values *)(const void *)slot)->n == 0)
			return false;
		break;
	case FIELD_SECTION:
		section = *(void *const *)(const void *)slot;
		if (!section)
			return false;
		break;
	case FIELD_SECTIONS:
	case FIELD_NAMED:
	case FIELD_LINKS:
		if (list->n == 0 && !(f->kind == FIELD_LINKS && c->tree->discover))
			return false;
		break;
	case FIELD_MODULES: add_modules(out, c, f->option.name, indent); return true;
	}
	if (!after_dash)
		add_indent(out, indent);
	switch (f->kind) {
	case FIELD_VALUE:
		str_addf(out, "%s: ", f->option.name);
		add_option(out, &f->option, base);
		str_add(out, "\n");
		break;
	case FIELD_VALUES:
		str_addf(out, "%s: ", f->option.name);
		add_values(out, (const void *)slot);
		break;
	case FIELD_SECTION: {
		rw_cleanup(str_done) struct str inner = {0};
		add_section(&inner, c, f->section, section, indent + 2, false);
		str_addf(out, "%s:%s%s", f->option.name, inner.n ? "\n" : " {}\n",
			inner.n ? inner.s : "");
		break;
	}
	default:
		if (f->kind == FIELD_LINKS && c->tree->discover)
			str_addf(out, "%s: discover\n", f->option.name);
		else
			add_list(out, c, f, list, indent);
	}
	return true;
}

static void add_section(struct str *out, const struct config *c, const struct section *s,
	const void *base, int indent, bool after_dash)
{
	bool first = after_dash;
	for (size_t i = 0; i < s->n_fields; i++)
		if (add_field(out, c, &s->fields[i], base, indent, first))
			first = false;
}

char *config_text(const struct config *c)
{
	struct str out = {0};
	str_add(&out, "");
	add_section(&out, c, &schema_root, c->tree, 0, false);
	return out.s;
}

void config_print(const struct config *c, FILE *out)
{
	rw_cleanup(freep) char *text = config_text(c);
	fputs(text, out);
}

/* ---- explain ------------------------------------------------------------- */

struct explain {
	FILE *out;
	const char *key; /* normalised; NULL = all */
	struct arena *arena;
	const struct option_table *const *tables;
	size_t n_tables;
	bool found;
	const char **names; /* of all keys, for the hint */
	size_t n_names, cap_names;
};

/* "devices[].snmp.interval" -> "devices.snmp.interval"; "credentials.<name>.snmp.user" stays, see
 * matches(). */
static const char *normal(struct arena *a, const char *key)
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
static bool matches(const char *key, const char *pattern)
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

static bool wanted(struct explain *x, const char *path)
{
	rw_grow(x->names, x->n_names, x->cap_names);
	x->names[x->n_names++] = normal(x->arena, path);
	if (x->key && !matches(x->key, normal(x->arena, path)))
		return false;
	x->found = true;
	return true;
}

static void explain_option(struct explain *x, const char *path, const struct field *f)
{
	const struct option *o = &f->option;
	char type[200];
	if (!wanted(x, path))
		return;
	fprintf(x->out, "%s\n    %s", path, schema_type_text(f, type, sizeof(type)));
	if (o->min && o->max)
		fprintf(x->out, ", %s to %s", o->min, o->max);
	else if (o->min)
		fprintf(x->out, ", at least %s", o->min);
	else if (o->max)
		fprintf(x->out, ", at most %s", o->max);
	if (f->flags & FIELD_REQUIRED)
		fprintf(x->out, ", required");
	else if (o->def)
		fprintf(x->out, ", default %s", o->def);
	fprintf(x->out, "\n    %s\n", o->doc);
}

static void explain_head(
	struct explain *x, const char *path, const struct field *f, const char *doc)
{
	char type[200];
	if (wanted(x, path))
		fprintf(x->out, "%s\n    %s\n    %s\n", path,
			schema_type_text(f, type, sizeof(type)), doc);
}

static void explain_modules(struct explain *x, const struct field *f)
{
	explain_head(x, f->option.name, f, f->option.doc);
	for (size_t i = 0; i < x->n_tables; i++) {
		const struct option_table *t = x->tables[i];
		if (strcmp(t->section, f->option.name) != 0)
			continue;
		const char *path = arena_printf(x->arena, "%s.%s", t->section, t->name);
		const struct field section = {.kind = FIELD_SECTION};
		explain_head(x, path, &section, t->doc ? t->doc : "");
		for (size_t k = 0; k < t->n_rows; k++) {
			const struct field row = {.kind = FIELD_VALUE, .option = t->rows[k]};
			explain_option(
				x, arena_printf(x->arena, "%s.%s", path, t->rows[k].name), &row);
		}
	}
}

static void explain_section(struct explain *x, const struct section *s, const char *prefix)
{
	for (size_t i = 0; i < s->n_fields; i++) {
		const struct field *f = &s->fields[i];
		const char *path = *prefix ? arena_printf(x->arena, "%s.%s", prefix, f->option.name)
					   : f->option.name;
		switch (f->kind) {
		case FIELD_REFUSED: break;
		case FIELD_VALUE:
		case FIELD_VALUES: explain_option(x, path, f); break;
		case FIELD_MODULES: explain_modules(x, f); break;
		case FIELD_SECTION:
			explain_head(x, path, f, f->section->doc);
			explain_section(x, f->section, path);
			break;
		case FIELD_NAMED:
			explain_head(x, path, f, f->section->doc);
			explain_section(x, f->section, arena_printf(x->arena, "%s.<name>", path));
			break;
		case FIELD_SECTIONS:
		case FIELD_LINKS:
			explain_head(x, path, f, f->section->doc);
			explain_section(x, f->section, arena_printf(x->arena, "%s[]", path));
			break;
		}
	}
}

int config_explain(const char *key, const struct option_table *const *tables, size_t n_tables,
	FILE *out, struct err *e)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	struct explain x = {.out = out, .arena = a, .tables = tables, .n_tables = n_tables};
	x.key = key ? normal(a, key) : NULL;
	explain_section(&x, &schema_root, "");
	int r = 0;
	if (!x.found) {
		const char *near = str_nearest(x.key, x.names, x.n_names);
		if (near)
			r = err_set(
				e, -ENOENT, "unknown key '%.100s'; did you mean '%s'?", key, near);
		else
			r = err_set(e, -ENOENT,
				"unknown key '%.100s'; 'rocewatch config explain' without key "
				"lists all",
				key);
	}
	free(x.names);
	return r;
}
