/*
 * print_yaml_schema - rocewatch.yaml as a JSON schema for editors, from the rows of the schema and
 * of all modules: agent/schema/rocewatch.yaml.schema.json. With the argument "shown":
 * config-show.schema.json, whose keys are those of the file and the derived groups.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "agent/modules.h"
#include "config/schema.h"

#define DIALECT "https://json-schema.org/draft/2020-12/schema"
#define FILE_SCHEMA "rocewatch.yaml.schema.json"

static const struct option_table *const *tables;
static size_t n_tables;

static json_t *section_schema(const struct section *section);

static void bound_put(json_t *o, const char *key, const char *text)
{
	char *end;
	if (!text)
		return;
	const double value = strtod(text, &end);
	if (*end == '\0')
		json_object_set_new(o, key, json_real(value));
}

/* The words of a choice; a word that is a number may be written as one. */
static json_t *choices_schema(const char *const *choices)
{
	json_t *words = json_array();
	for (size_t i = 0; choices[i]; i++) {
		char *end;
		json_array_append_new(words, json_string(choices[i]));
		const long number = strtol(choices[i], &end, 10);
		if (*choices[i] && *end == '\0')
			json_array_append_new(words, json_integer(number));
	}
	return json_pack("{s:o}", "enum", words);
}

static json_t *option_schema(const struct option *option)
{
	json_t *o = NULL;
	switch (option->type) {
	case OPT_BOOL: return json_pack("{s:s}", "type", "boolean");
	case OPT_INT: o = json_pack("{s:s}", "type", "integer"); break;
	case OPT_DOUBLE: o = json_pack("{s:s}", "type", "number"); break;
	case OPT_RATIO: return json_pack("{s:[s, s]}", "type", "string", "number");
	case OPT_ENUM: return choices_schema(option->choices);
	case OPT_STRING: return json_pack("{s:[s, s]}", "type", "string", "number");
	case OPT_DURATION:
	case OPT_SIZE:
	case OPT_BITRATE:
	case OPT_LENGTH: return json_pack("{s:s, s:s}", "type", "string", "pattern", "^[0-9]");
	}
	bound_put(o, "minimum", option->min);
	bound_put(o, "maximum", option->max);
	return o;
}

/* The sentence of the row, with type, range and default in words. */
static void describe(json_t *o, const struct field *field, const char *doc)
{
	rw_cleanup(str_done) struct str text = {0};
	char type[256];
	const struct option *option = &field->option;
	str_addf(&text, "%s (%s", doc, schema_type_text(field, type, sizeof(type)));
	if (option->min && option->max)
		str_addf(&text, ", %s to %s", option->min, option->max);
	else if (option->min)
		str_addf(&text, ", at least %s", option->min);
	if (option->def)
		str_addf(&text, ", default %s", option->def);
	str_add(&text, ")");
	json_object_set_new(o, "description", json_string(text.s));
}

static json_t *modules_schema(const char *section)
{
	json_t *properties = json_object();
	for (size_t i = 0; i < n_tables; i++) {
		const struct option_table *table = tables[i];
		if (!str_eq(table->section, section))
			continue;
		json_t *rows = json_object();
		for (size_t k = 0; k < table->n_rows; k++) {
			const struct field field = {.kind = FIELD_VALUE, .option = table->rows[k]};
			json_t *o = option_schema(&field.option);
			describe(o, &field, field.option.doc);
			json_object_set_new(rows, field.option.name, o);
		}
		json_object_set_new(properties, table->name,
			json_pack("{s:s, s:s, s:o, s:b}", "description", str_or(table->doc, ""),
				"type", "object", "properties", rows, "additionalProperties", 0));
	}
	return json_pack("{s:s, s:o, s:b}", "type", "object", "properties", properties,
		"additionalProperties", 0);
}

static json_t *list_schema(json_t *items)
{
	return json_pack("{s:s, s:o}", "type", "array", "items", items);
}

static json_t *field_schema(const struct field *field)
{
	switch (field->kind) {
	case FIELD_VALUE: return option_schema(&field->option);
	case FIELD_VALUES: return list_schema(option_schema(&field->option));
	case FIELD_INSIDE:
	case FIELD_SECTION: return section_schema(field->section);
	case FIELD_SECTIONS: return list_schema(section_schema(field->section));
	case FIELD_ONE_OR_MORE:
		return json_pack("{s:[o, o]}", "anyOf", section_schema(field->section),
			list_schema(section_schema(field->section)));
	case FIELD_NAMED:
		return json_pack("{s:s, s:o}", "type", "object", "additionalProperties",
			section_schema(field->section));
	case FIELD_LINKS:
		return json_pack("{s:[{s:s}, o]}", "anyOf", "const", "discover",
			list_schema(section_schema(field->section)));
	case FIELD_MODULES: return modules_schema(field->option.name);
	case FIELD_RECEIVERS: break; /* receivers_put() */
	case FIELD_REFUSED: break;
	}
	return NULL;
}

static void field_put(json_t *properties, json_t *required, const struct field *field)
{
	json_t *o = field_schema(field);
	if (!o)
		return;
	const char *doc = field->option.doc;
	if (field->section)
		doc = field->section->doc;
	describe(o, field, str_or(doc, ""));
	json_object_set_new(properties, field->option.name, o);
	if (field->flags & FIELD_REQUIRED)
		json_array_append_new(required, json_string(field->option.name));
}

/* What the modules add to a section. */
static void receivers_put(json_t *properties, json_t *required)
{
	struct field row;
	for (size_t i = 0; i < n_tables; i++)
		if (schema_receiver(tables[i], &row))
			field_put(properties, required, &row);
}

static json_t *section_schema(const struct section *section)
{
	json_t *properties = json_object(), *required = json_array();
	for (size_t i = 0; i < section->n_fields; i++) {
		field_put(properties, required, &section->fields[i]);
		if (section->fields[i].kind == FIELD_RECEIVERS)
			receivers_put(properties, required);
	}
	json_t *o = json_pack("{s:s, s:o, s:b}", "type", "object", "properties", properties,
		"additionalProperties", 0);
	if (json_array_size(required) > 0)
		json_object_set(o, "required", required);
	json_decref(required);
	return o;
}

static json_t *head(const char *id, const char *title, const char *description, json_t *rest)
{
	json_t *doc = json_pack("{s:s, s:s, s:s, s:s}", "$schema", DIALECT, "$id", id, "title",
		title, "description", description);
	json_object_update(doc, rest);
	json_decref(rest);
	return doc;
}

/* Defaults are filled in, so that nothing is required. */
static json_t *shown_schema(void)
{
	json_t *properties = json_object();
	for (size_t i = 0; i < schema_root.n_fields; i++) {
		const struct field *field = &schema_root.fields[i];
		char at[128];
		if (field->kind == FIELD_REFUSED)
			continue;
		snprintf(at, sizeof(at), FILE_SCHEMA "#/properties/%s", field->option.name);
		json_object_set_new(properties, field->option.name,
			json_pack("{s:s, s:s}", "$ref", at, "description",
				"As in rocewatch.yaml, with defaults filled in."));
	}
	json_t *group = json_pack("{s:{s:s, s:s}, s:{s:s, s:s}, s:{s:s, s:{s:s}, s:s}}", "device",
		"type", "string", "description", "Switch.", "group", "type", "string",
		"description", "Group: `uplinks`, `to:DEVICE`, `lag:NAME`.", "members", "type",
		"array", "items", "type", "string", "description", "Ports.");
	json_object_set_new(properties, "derived_groups",
		json_pack("{s:s, s:s, s:{s:s, s:o, s:[s, s, s], s:b}}", "description",
			"ECMP groups that follow from the links.", "type", "array", "items", "type",
			"object", "properties", group, "required", "device", "group", "members",
			"additionalProperties", 0));
	return head("config-show.schema.json", "config-show",
		"The effective configuration: `config show --format json`. Secrets stand in it as "
		"their reference only.",
		json_pack("{s:s, s:o, s:[s, s], s:b}", "type", "object", "properties", properties,
			"required", "fabric", "derived_groups", "additionalProperties", 0));
}

/* ---- a line for each key --------------------------------------------------- */

/* Does it hold keys of its own, somewhere below? */
static bool has_keys(const json_t *value)
{
	const char *key;
	json_t *inner;
	size_t i;
	if (json_object_get(value, "properties"))
		return true;
	json_object_foreach ((json_t *)value, key, inner)
		if (has_keys(inner))
			return true;
	json_array_foreach (value, i, inner)
		if (has_keys(inner))
			return true;
	return false;
}

static void put_value(const json_t *value, int depth);

static void put_member(const char *key, const json_t *value, int depth, bool first)
{
	printf("%s\n%*s", first ? "" : ",", depth, "");
	if (key)
		printf("\"%s\": ", key);
	put_value(value, depth);
}

static void put_value(const json_t *value, int depth)
{
	const char *key;
	json_t *inner;
	size_t i;
	bool first = true;
	/* The map of keys has a line for each, the value of a key one line when it has none. */
	if (!has_keys(value)) {
		json_dumpf(value, stdout, JSON_ENCODE_ANY);
		return;
	}
	putchar(json_is_array(value) ? '[' : '{');
	json_object_foreach ((json_t *)value, key, inner) {
		if (str_eq(key, "properties")) {
			const char *name;
			json_t *row;
			bool head = true;
			printf("%s\n%*s\"properties\": {", first ? "" : ",", depth + 1, "");
			json_object_foreach (inner, name, row) {
				put_member(name, row, depth + 2, head);
				head = false;
			}
			printf("\n%*s}", depth + 1, "");
		} else {
			put_member(key, inner, depth + 1, first);
		}
		first = false;
	}
	json_array_foreach (value, i, inner) {
		put_member(NULL, inner, depth + 1, first);
		first = false;
	}
	printf("\n%*s%c", depth, "", json_is_array(value) ? ']' : '}');
}

int main(int argc, char **argv)
{
	tables = module_tables(&n_tables);
	json_t *doc;
	if (argc > 1 && str_eq(argv[1], "shown"))
		doc = shown_schema();
	else
		doc = head(FILE_SCHEMA, "rocewatch.yaml",
			"The configuration of rocewatch, for editors. `rocewatch config check` "
			"checks more: references, ranges and units.",
			section_schema(&schema_root));
	put_value(doc, 0);
	putchar('\n');
	json_decref(doc);
	return ferror(stdout) != 0;
}
