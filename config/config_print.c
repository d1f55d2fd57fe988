/* config_print - the configuration back as YAML, by the rows of schema.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agent/base/arena.h"
#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "config/schema.h"

/* ---- YAML ---------------------------------------------------------------- */

/* Is it the same text for every YAML reader without quotes? Stricter than our own needs. */
static bool config_print_plain(const char *text)
{
	static const char *const words[] = {
		"null", "true", "false", "yes", "no", "on", "off", "y", "n"};
	static const char allowed[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._/%-";
	if (!*text || text[strspn(text, allowed)] || strchr("-%.", *text))
		return false;
	for (size_t i = 0; i < rw_countof(words); i++)
		if (strcasecmp(text, words[i]) == 0)
			return false;
	return true;
}

static void add_text(struct str *out, const char *text, bool quote)
{
	if (!quote && config_print_plain(text)) {
		str_add(out, text);
		return;
	}
	str_add(out, "\"");
	for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
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

static void add_option(struct str *out, const struct option *option, const void *base)
{
	rw_cleanup(arena_freep) struct arena *a = arena_new();
	const char *text = option_text(option, a, base);
	/* Numbers and choices are plain by construction, true and false must stay so. */
	if (option->type == OPT_STRING)
		add_text(out, text, false);
	else
		str_add(out, text);
}

static void add_section(struct str *out, const struct config *config, const struct section *section,
	const void *base, int indent, bool after_dash);

static void add_values(struct str *out, const struct tree_values *values)
{
	str_add(out, "[");
	for (size_t i = 0; i < values->n; i++) {
		str_add(out, str_if(i, ", "));
		add_text(out, values->v[i], false);
	}
	str_add(out, "]\n");
}

/* A text option without default that is not set. */
static bool option_is_unset(const struct option *option, const void *base)
{
	const char *place = (const char *)base + option->offset;
	if (option->type != OPT_STRING || option->def)
		return false;
	return !*(const char *const *)(const void *)place;
}

static void add_modules(
	struct str *out, const struct config *config, const char *section, int indent)
{
	bool first = true;
	for (size_t i = 0; i < config->n_tables; i++) {
		const struct option_table *table = config->tables[i];
		if (strcmp(table->section, section) != 0 || table->n_rows == 0)
			continue;
		if (first)
			str_addf(out, "%s:\n", section);
		first = false;
		add_indent(out, indent + 2);
		str_addf(out, "%s:\n", table->name);
		for (size_t k = 0; k < table->n_rows; k++) {
			const struct option *option = &table->rows[k];
			if (option_is_unset(option, config->options[i]))
				continue;
			add_indent(out, indent + 4);
			str_addf(out, "%s: ", option->name);
			add_option(out, option, config->options[i]);
			str_add(out, "\n");
		}
	}
}

/* The name of a FIELD_NAMED entry: the first member after .node. */
static const char *entry_name(const void *entry)
{
	const char *place = (const char *)entry + sizeof(const struct yaml_node *);
	return *(const char *const *)(const void *)place;
}

static void add_list(struct str *out, const struct config *config, const struct field *field,
	const struct tree_list *list, int indent)
{
	str_addf(out, "%s:\n", field->option.name);
	for (size_t i = 0; i < list->n; i++) {
		add_indent(out, indent + 2);
		if (field->kind == FIELD_NAMED) {
			add_text(out, entry_name(list->v[i]), false);
			str_add(out, ":\n");
			add_section(out, config, field->section, list->v[i], indent + 4, false);
		} else {
			str_add(out, "- ");
			add_section(out, config, field->section, list->v[i], indent + 4, true);
		}
	}
}

/* Is there anything to print of this field? */
static bool field_given(const struct config *config, const struct field *field, const void *base)
{
	const void *slot = (const char *)base + field->option.offset;
	switch (field->kind) {
	case FIELD_REFUSED: return false;
	case FIELD_VALUE:
		if (field->flags & FIELD_REQUIRED)
			return true;
		return !schema_unset(&field->option, base);
	case FIELD_VALUES: return ((const struct tree_values *)slot)->n > 0;
	case FIELD_SECTION: return *(void *const *)slot;
	case FIELD_LINKS: return config->tree->discover || ((const struct tree_list *)slot)->n > 0;
	case FIELD_SECTIONS:
	case FIELD_ONE_OR_MORE:
	case FIELD_NAMED: return ((const struct tree_list *)slot)->n > 0;
	case FIELD_MODULES: return true;
	}
	return false;
}

static void add_inner_section(struct str *out, const struct config *config,
	const struct field *field, const void *section, int indent)
{
	rw_cleanup(str_done) struct str inner = {0};
	add_section(&inner, config, field->section, section, indent + 2, false);
	if (inner.n)
		str_addf(out, "%s:\n%s", field->option.name, inner.s);
	else
		str_addf(out, "%s: {}\n", field->option.name);
}

/* A list of sections, or what may stand in its place. */
static void add_sections(struct str *out, const struct config *config, const struct field *field,
	const struct tree_list *list, int indent)
{
	if (field->kind == FIELD_LINKS && config->tree->discover)
		str_addf(out, "%s: discover\n", field->option.name);
	else if (field->kind == FIELD_ONE_OR_MORE && list->n == 1)
		add_inner_section(out, config, field, list->v[0], indent);
	else
		add_list(out, config, field, list, indent);
}

/* One field with its key; false, and nothing, when it is not given. */
static bool add_field(struct str *out, const struct config *config, const struct field *field,
	const void *base, int indent, bool after_dash)
{
	const void *slot = (const char *)base + field->option.offset;
	if (!field_given(config, field, base))
		return false;
	if (field->kind == FIELD_MODULES) {
		add_modules(out, config, field->option.name, indent);
		return true;
	}
	if (!after_dash)
		add_indent(out, indent);
	switch (field->kind) {
	case FIELD_VALUE:
		str_addf(out, "%s: ", field->option.name);
		add_option(out, &field->option, base);
		str_add(out, "\n");
		break;
	case FIELD_VALUES:
		str_addf(out, "%s: ", field->option.name);
		add_values(out, slot);
		break;
	case FIELD_SECTION:
		add_inner_section(out, config, field, *(void *const *)slot, indent);
		break;
	default: add_sections(out, config, field, slot, indent);
	}
	return true;
}

static void add_section(struct str *out, const struct config *config, const struct section *section,
	const void *base, int indent, bool after_dash)
{
	bool first = after_dash;
	for (size_t i = 0; i < section->n_fields; i++)
		if (add_field(out, config, &section->fields[i], base, indent, first))
			first = false;
}

char *config_text(const struct config *config)
{
	struct str out = {0};
	str_add(&out, "");
	add_section(&out, config, &schema_root, config->tree, 0, false);
	return out.s;
}

void config_print(const struct config *config, FILE *out)
{
	rw_cleanup(freep) char *text = config_text(config);
	fputs(text, out);
}
