/* shape_schema - the JSON schema of a shape, https://json-schema.org/draft/2020-12 . */
#include "agent/document/shape.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"

/* Units and times are common types; a number without unit, or a count, is a plain one. */
static const char *schema_common_type(const struct field *field)
{
	static const char *const units[] = {
		[UNIT_RATIO] = "ratio",
		[UNIT_BITS_PER_S] = "bits_per_second",
		[UNIT_BYTES_PER_S] = "bytes_per_second",
		[UNIT_BYTES] = "bytes",
		[UNIT_SECONDS] = "seconds",
		[UNIT_USD] = "usd",
		[UNIT_QP] = NULL,
	};
	if (field->type)
		return field->type;
	if (field->kind == FIELD_TIME || field->kind == FIELD_TIMES || field->kind == FIELD_TIME_NS)
		return "time";
	return units[field->unit];
}

/* NULL: a reference. */
static const char *schema_plain_type(const struct field *field)
{
	switch (field->kind) {
	case FIELD_TEXT:
	case FIELD_LETTERS:
	case FIELD_HEX:
	case FIELD_WORD:
	case FIELD_TEXTS: return "string";
	case FIELD_NUMBER:
	case FIELD_NUMBERS: return "number";
	case FIELD_NS:
	case FIELD_COUNT: return "integer";
	case FIELD_FLAG:
	case FIELD_MAYBE: return "boolean";
	default: return NULL;
	}
}

static bool schema_is_list(const struct field *field)
{
	switch (field->kind) {
	case FIELD_TEXTS:
	case FIELD_NUMBERS:
	case FIELD_TIMES:
	case FIELD_ROWS: return true;
	case FIELD_TREE: return field->list;
	default: return false;
	}
}

static bool schema_may_be_null(const struct field *field)
{
	switch (field->kind) {
	case FIELD_TEXT:
	case FIELD_NUMBER:
	case FIELD_TIME:
	case FIELD_PRIORITY:
	case FIELD_PART_AT:
	case FIELD_TREE: return !field->known && !field->optional;
	case FIELD_MAYBE: return true;
	default: return field->unknown && !field->optional;
	}
}

static json_t *schema_reference(const char *file, const char *type)
{
	return json_pack("{s:o}", "$ref", json_sprintf("%s#/$defs/%s", file, type));
}

/* Of one value; of a list, of one of them. */
static json_t *schema_one(const struct field *field, const char *common)
{
	const char *named = schema_common_type(field);
	if (named)
		return schema_reference(common, named);
	if (field->shape)
		return schema_reference(field->shape->common ? common : "", field->shape->name);
	json_t *one = json_pack("{s:s}", "type", schema_plain_type(field));
	if (field->kind == FIELD_COUNT)
		json_object_set_new(one, "minimum", json_integer(0));
	return one;
}

static json_t *schema_or_null(json_t *type)
{
	const char *plain = json_string_value(json_object_get(type, "type"));
	if (!plain)
		return json_pack("{s:[o, {s:s}]}", "anyOf", type, "type", "null");
	json_object_set_new(type, "type", json_pack("[s, s]", plain, "null"));
	return type;
}

static json_t *schema_type(const struct field *field, const char *common)
{
	json_t *type = schema_one(field, common);
	if (field->kind == FIELD_NUMBERS)
		type = schema_or_null(type);
	if (schema_is_list(field))
		type = json_pack("{s:s, s:o}", "type", "array", "items", type);
	if (schema_may_be_null(field))
		type = schema_or_null(type);
	json_object_set_new(type, "description", json_string(field->about));
	return type;
}

/* The value of @key, made by @empty where there is none. */
static json_t *schema_member(json_t *schema, const char *key, json_t *empty)
{
	json_t *member = json_object_get(schema, key);
	if (member)
		json_decref(empty);
	else
		json_object_set_new(schema, key, empty);
	return json_object_get(schema, key);
}

void shape_schema(json_t *schema, const struct shape *shape, const char *common)
{
	json_t *properties = schema_member(schema, "properties", json_object());
	json_t *required = schema_member(schema, "required", json_array());
	for (size_t i = 0; i < shape->n_fields; i++) {
		const struct field *field = &shape->fields[i];
		if (field->kind == FIELD_HIDDEN || field->taken)
			continue;
		json_object_set_new(properties, field->key, schema_type(field, common));
		if (!field->optional && !field->if_at)
			json_array_append_new(required, json_string(field->key));
	}
}

static void schema_define(json_t *types, const struct shape *shape, const char *common)
{
	json_t *type = json_pack("{s:s, s:s}", "description", shape->about, "type", "object");
	shape_schema(type, shape, common);
	json_object_set_new(type, "additionalProperties", json_false());
	json_object_set_new(types, shape->name, type);
}

void shape_schema_types(json_t *own, json_t *shared, const struct shape *shape, const char *common)
{
	for (size_t i = 0; i < shape->n_fields; i++) {
		const struct shape *inner = shape->fields[i].shape;
		if (!inner || shape->fields[i].type || shape->fields[i].taken)
			continue;
		json_t *types = inner->common ? shared : own;
		if (types && inner->common)
			schema_define(types, inner, "");
		else if (types)
			schema_define(types, inner, common);
		shape_schema_types(own, shared, inner, common);
	}
}
