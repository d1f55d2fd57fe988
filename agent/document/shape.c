/* shape - structs to documents and cells, by the table of their members. */
#include "agent/document/shape.h"

#include "agent/document/column.h"
#include "agent/document/json_value.h"

/* ---- shape_read - documents to structs, by the table of their members. */

static const char *read_text(const struct field *field, const json_t *value, struct arena *a)
{
	const char *text = json_string_value(value);
	if (text)
		return arena_strdup(a, text);
	if (field->known)
		return "";
	return NULL;
}

static double read_number(const json_t *value)
{
	if (json_is_number(value))
		return json_number_value(value);
	return NAN;
}

static uint64_t read_count(const struct field *field, const json_t *value)
{
	if (json_is_integer(value) && json_integer_value(value) >= 0)
		return (uint64_t)json_integer_value(value);
	return field->unknown ? COUNT_UNKNOWN : 0;
}

static enum maybe read_maybe(const json_t *value)
{
	if (json_is_boolean(value))
		return maybe_of(json_is_true(value));
	return MAYBE_UNKNOWN;
}

static wall_t read_time(const json_t *value)
{
	wall_t time;
	const char *text = json_string_value(value);
	if (text && wall_parse(text, (wall_t){0}, &time) == 0)
		return time;
	return TIME_UNKNOWN;
}

static int64_t read_time_ns(const json_t *value)
{
	const wall_t time = read_time(value);
	if (time.ns == TIME_UNKNOWN.ns)
		return 0;
	return time.ns;
}

static unsigned read_word(const struct field *field, const json_t *value)
{
	const char *word = json_string_value(value);
	for (unsigned i = 0; word && i < field->n_words; i++)
		if (str_eq(field->words[i], word))
			return i;
	return field->n_words;
}

#define PRIORITY_MOST 7 /* IEEE 802.1Q; others index arrays with it */

static int read_priority(const json_t *value)
{
	const json_int_t number = json_integer_value(value);
	if (json_is_integer(value) && number >= 0 && number <= PRIORITY_MOST)
		return (int)number;
	return -1;
}

static uint64_t read_hex(const json_t *value)
{
	const char *text = json_string_value(value);
	if (text)
		return strtoull(text, NULL, 16);
	return 0;
}

static void read_letters(const struct field *field, const json_t *value, char *ret)
{
	memset(ret, 0, field->size);
	snprintf(ret, field->size, "%s", str_or(json_string_value(value), ""));
}

static size_t read_one(const struct field *field, const json_t *one, struct arena *a, void *ret)
{
	const size_t is = json_is_string(one);
	switch (field->kind) {
	case FIELD_TEXTS:
		if (is)
			*(const char **)ret = arena_strdup(a, json_string_value(one));
		return is;
	case FIELD_TIMES: *(wall_t *)ret = read_time(one); return 1;
	case FIELD_NUMBERS: *(double *)ret = read_number(one); return 1;
	default: shape_read(field->shape, one, a, ret); return 1;
	}
}

static void read_list(const struct field *field, const json_t *list, struct arena *a, char *ret)
{
	const json_t *one;
	const size_t size = field->kind == FIELD_ROWS ? field->shape->size : sizeof(double);
	const bool none = !json_is_array(list) && (field->unknown || field->optional);
	char *values = NULL;
	size_t n = 0, i;
	if (!none)
		values = arena_alloc(a, (json_array_size(list) + 1) * size);
	json_array_foreach (list, i, one)
		n += read_one(field, one, a, values + n * size);
	*(void **)(void *)(ret + field->at) = values;
	*(size_t *)(void *)(ret + field->count_at) = n;
}

static void read_member(const struct field *field, const json_t *value, struct arena *a, char *ret)
{
	void *at = ret + field->at;
	switch (field->kind) {
	case FIELD_TEXT: *(const char **)at = read_text(field, value, a); break;
	case FIELD_NUMBER: *(double *)at = read_number(value); break;
	case FIELD_COUNT: *(uint64_t *)at = read_count(field, value); break;
	case FIELD_FLAG: *(bool *)at = json_is_true(value); break;
	case FIELD_MAYBE: *(enum maybe *)at = read_maybe(value); break;
	case FIELD_TIME: *(wall_t *)at = read_time(value); break;
	case FIELD_TIME_NS: *(int64_t *)at = read_time_ns(value); break;
	case FIELD_NS: *(int64_t *)at = json_integer_value(value); break;
	case FIELD_PRIORITY: *(int *)at = read_priority(value); break;
	case FIELD_LETTERS: read_letters(field, value, at); break;
	case FIELD_HEX: *(uint64_t *)at = read_hex(value); break;
	case FIELD_WORD: *(unsigned *)at = read_word(field, value); break;
	case FIELD_TEXTS:
	case FIELD_NUMBERS:
	case FIELD_TIMES:
	case FIELD_ROWS: read_list(field, value, a, ret); break;
	case FIELD_PART: shape_read(field->shape, value, a, at); break;
	case FIELD_PART_AT: *(void **)at = shape_read_new(field->shape, value, a); break;
	case FIELD_TREE: *(const json_t **)at = json_is_null(value) ? NULL : value; break;
	case FIELD_HIDDEN: break;
	}
}

void shape_read(const struct shape *shape, const json_t *object, struct arena *a, void *ret)
{
	for (size_t i = 0; i < shape->n_fields; i++) {
		const struct field *field = &shape->fields[i];
		const json_t *value = json_object_get(object, field->key);
		if (field->derived)
			continue;
		if (field->if_at && value)
			*(bool *)((char *)ret + field->if_at) = true;
		read_member(field, value, a, ret);
	}
}

void *shape_read_new(const struct shape *shape, const json_t *object, struct arena *a)
{
	if (!json_is_object(object))
		return NULL;
	void *ret = arena_alloc(a, shape->size);
	shape_read(shape, object, a, ret);
	return ret;
}

/* ---- shape_schema - the JSON schema of a shape, https://json-schema.org/draft/2020-12 . */

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

/* ---- values ------------------------------------------------------------------- */

static size_t shape_count(const struct field *field, const char *answer)
{
	return *(const size_t *)(const void *)(answer + field->count_at);
}

static json_t *shape_time(wall_t time)
{
	if (time.ns == TIME_UNKNOWN.ns)
		return json_null();
	return json_time(time.ns);
}

static json_t *shape_counted(uint64_t n)
{
	if (n == COUNT_UNKNOWN)
		return json_null();
	return json_integer((json_int_t)n);
}

static json_t *shape_maybe(enum maybe is)
{
	if (is == MAYBE_UNKNOWN)
		return json_null();
	return json_boolean(is == MAYBE_YES);
}

/* A value outside of the enum is our own mistake; it reads as not known. */
static json_t *shape_word(const struct field *field, const void *value)
{
	const unsigned i = *(const unsigned *)value;
	if (i >= field->n_words)
		return json_null();
	return json_string_or_null(field->words[i]);
}

/* An array of single values. */
static json_t *shape_list(const struct field *field, const char *answer)
{
	const size_t n = shape_count(field, answer);
	const void *v = *(const void *const *)(const void *)(answer + field->at);
	if (!v && field->unknown)
		return json_null();
	json_t *list = json_array();
	for (size_t i = 0; i < n; i++) {
		json_t *value;
		if (field->kind == FIELD_TEXTS)
			value = json_string_or_null(((const char *const *)v)[i]);
		else if (field->kind == FIELD_TIMES)
			value = shape_time(((const wall_t *)v)[i]);
		else
			value = json_number_or_null(((const double *)v)[i]);
		json_array_append_new(list, value);
	}
	return list;
}

static json_t *shape_part(const struct field *field, const void *part)
{
	if (!part)
		return json_null();
	return shape_json(field->shape, part);
}

static json_t *shape_time_ns(const struct field *field, int64_t t_ns)
{
	if (field->optional && t_ns == 0)
		return json_null();
	return json_time(t_ns);
}

static json_t *shape_ns(const struct field *field, int64_t t_ns)
{
	if (field->optional && t_ns == 0)
		return json_null();
	return json_integer(t_ns);
}

static json_t *shape_priority(int priority)
{
	if (priority < 0)
		return json_null();
	return json_integer(priority);
}

/* Rows that may be left out are, where nobody made a list. */
static json_t *shape_rows(const struct field *field, const char *answer)
{
	const void *rows = *(const void *const *)(const void *)(answer + field->at);
	if (field->optional && !rows)
		return json_null();
	return shape_rows_json(field->shape, rows, shape_count(field, answer));
}

static json_t *shape_tree(const json_t *tree)
{
	if (!tree)
		return json_null();
	return json_incref((json_t *)tree);
}

static json_t *shape_value(const struct field *field, const char *answer)
{
	const void *at = answer + field->at;
	switch (field->kind) {
	case FIELD_TEXT: return json_string_or_null(*(const char *const *)at);
	case FIELD_NUMBER: return json_number_or_null(*(const double *)at);
	case FIELD_COUNT: return shape_counted(*(const uint64_t *)at);
	case FIELD_FLAG: return json_boolean(*(const bool *)at);
	case FIELD_MAYBE: return shape_maybe(*(const enum maybe *)at);
	case FIELD_TIME: return shape_time(*(const wall_t *)at);
	case FIELD_WORD: return shape_word(field, at);
	case FIELD_TEXTS:
	case FIELD_NUMBERS:
	case FIELD_TIMES: return shape_list(field, answer);
	case FIELD_PART: return shape_part(field, at);
	case FIELD_PART_AT: return shape_part(field, *(const void *const *)at);
	case FIELD_ROWS: return shape_rows(field, answer);
	case FIELD_TIME_NS: return shape_time_ns(field, *(const int64_t *)at);
	case FIELD_NS: return shape_ns(field, *(const int64_t *)at);
	case FIELD_PRIORITY: return shape_priority(*(const int *)at);
	case FIELD_LETTERS: return json_string_or_null(at);
	case FIELD_HEX: return json_sprintf("%016llx", (unsigned long long)*(const uint64_t *)at);
	case FIELD_TREE: return shape_tree(*(const json_t *const *)at);
	case FIELD_HIDDEN: break;
	}
	return NULL;
}

/* ---- documents ------------------------------------------------------------------ */

static bool shape_is_there(const struct field *field, const char *answer)
{
	return !field->if_at || *(const bool *)(answer + field->if_at);
}

void shape_put(json_t *object, const struct shape *shape, const void *answer)
{
	for (size_t i = 0; i < shape->n_fields; i++) {
		const struct field *field = &shape->fields[i];
		if (field->taken || !shape_is_there(field, answer))
			continue;
		json_t *value = shape_value(field, answer);
		if (field->optional && json_is_null(value))
			continue;
		if (value)
			json_object_set_new(object, field->key, value);
	}
}

json_t *shape_json(const struct shape *shape, const void *answer)
{
	json_t *object = json_object();
	shape_put(object, shape, answer);
	return object;
}

json_t *shape_rows_json(const struct shape *shape, const void *rows, size_t n)
{
	json_t *list = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, shape_json(shape, shape_row_at(shape, rows, i)));
	return list;
}

/* What most members are is written without a tree; false: it is something else. */
static bool shape_add_plain(struct str *out, const struct field *field, const void *at)
{
	switch (field->kind) {
	case FIELD_TEXT: json_add_text(out, field->key, *(const char *const *)at); break;
	case FIELD_NUMBER: json_add_number(out, field->key, *(const double *)at); break;
	case FIELD_FLAG: json_add_flag(out, field->key, *(const bool *)at); break;
	case FIELD_TIME_NS: json_add_time(out, field->key, *(const int64_t *)at); break;
	case FIELD_NS: json_add_integer(out, field->key, *(const int64_t *)at); break;
	case FIELD_WORD:
		if (*(const unsigned *)at >= field->n_words)
			return false;
		json_add_text(out, field->key, field->words[*(const unsigned *)at]);
		break;
	default: return false;
	}
	return true;
}

static void shape_add_member(struct str *out, const struct field *field, const char *answer)
{
	if (!field->optional && shape_add_plain(out, field, answer + field->at))
		return;
	json_t *value = shape_value(field, answer);
	if (value && !(field->optional && json_is_null(value)))
		json_add_value(out, field->key, value);
}

void shape_add(struct str *out, const struct shape *shape, const void *answer)
{
	for (size_t i = 0; i < shape->n_fields; i++) {
		const struct field *field = &shape->fields[i];
		if (!field->taken && shape_is_there(field, answer))
			shape_add_member(out, field, answer);
	}
}

void shape_add_rows(
	struct str *out, const char *key, const struct shape *shape, const void *rows, size_t n)
{
	json_add_open(out, key, '[');
	for (size_t i = 0; i < n; i++) {
		json_add_open(out, NULL, '{');
		shape_add(out, shape, shape_row_at(shape, rows, i));
		json_add_close(out, '}');
	}
	json_add_close(out, ']');
}

/* ---- cells ------------------------------------------------------------------------ */

static enum column_kind shape_number_kind(enum field_unit unit)
{
	switch (unit) {
	case UNIT_NONE: break;
	case UNIT_COUNT: return COL_INT;
	case UNIT_RATIO: return COL_RATIO_PCT;
	case UNIT_BITS_PER_S: return COL_BPS;
	case UNIT_BYTES_PER_S:
	case UNIT_BYTES: return COL_BYTES;
	case UNIT_SECONDS: return COL_DURATION_S;
	case UNIT_USD: return COL_USD;
	case UNIT_QP: return COL_QP;
	}
	return COL_NUMBER;
}

static enum column_kind shape_column_kind(const struct field *field)
{
	if (field->state)
		return COL_STATE;
	switch (field->kind) {
	case FIELD_NUMBER: return shape_number_kind(field->unit);
	case FIELD_COUNT:
		return field->unit == UNIT_NONE ? COL_INT : shape_number_kind(field->unit);
	case FIELD_TIME:
	case FIELD_TIME_NS: return COL_TIME;
	case FIELD_PRIORITY: return COL_INT;
	case FIELD_TEXT: return str_eq(field->type, "time") ? COL_TIME : COL_TEXT;
	default: return COL_TEXT;
	}
}

void shape_add_cell(struct str *out, const void *row, const struct field *field, bool pretty)
{
	json_t *value = shape_value(field, row);
	column_add_value(out, value, shape_column_kind(field), pretty);
	json_decref(value);
}

void shape_add_column(
	struct str *out, const void *row, const struct shape_column *column, bool pretty)
{
	if (!column->plain) {
		shape_add_cell(out, row, column->field, pretty);
		return;
	}
	json_t *value = shape_value(column->field, row);
	column_add_value(out, value, COL_TEXT, pretty);
	json_decref(value);
}

static struct shape_column shape_column_of(const struct field *field, const char *head)
{
	const enum column_kind kind = shape_column_kind(field);
	const bool text = kind == COL_TEXT || kind == COL_TIME || kind == COL_STATE;
	return (struct shape_column){
		field, str_or(head, field->key), field->right || !text, .plain = false};
}

static const struct field *shape_field_at(const struct shape *shape, uint16_t at)
{
	for (size_t i = 0; i < shape->n_fields; i++)
		if (shape->fields[i].at == at)
			return &shape->fields[i];
	abort(); /* COLUMN() names a member of which the table has no row: shape_check() says so */
}

size_t shape_table_columns(const struct shape_table *table, struct shape_column *ret)
{
	const struct shape *shape = table->shape;
	size_t n = 0;
	for (size_t i = 0; table->shown && i < table->n; i++) {
		const struct shown *shown = &table->shown[i];
		if (ret)
			ret[i] = shape_column_of(shape_field_at(shape, shown->at), shown->head);
		if (ret && shown->plain) {
			ret[i].plain = true;
			ret[i].right = false;
		}
	}
	if (table->shown)
		return table->n;
	for (size_t i = 0; i < shape->n_fields; i++) {
		const struct field *field = &shape->fields[i];
		if (!field->head)
			continue;
		if (ret)
			ret[n] = shape_column_of(field, field->head);
		n++;
	}
	return n;
}

/* ---- mistakes --------------------------------------------------------------------- */

static void shape_check_keys(const struct shape *shape, struct str *out)
{
	for (size_t i = 0; i < shape->n_fields; i++)
		for (size_t k = 0; k < i; k++)
			if (str_eq(shape->fields[i].key, shape->fields[k].key))
				str_addf(out, "%s: two fields are named %s\n", shape->name,
					shape->fields[i].key);
}

static void shape_mark(bool *told, size_t at, size_t n)
{
	for (size_t i = 0; i < n; i++)
		told[at + i] = true;
}

/* Padding is shorter than eight bytes. */
static void shape_check_members(const struct shape *shape, struct str *out)
{
	rw_cleanup(freep) bool *told = rw_calloc(shape->size + 1, sizeof(*told));
	size_t gap = 0;
	for (size_t i = 0; i < shape->n_fields; i++) {
		const struct field *field = &shape->fields[i];
		shape_mark(told, field->at, field->size);
		if (field->count_at)
			shape_mark(told, field->count_at, sizeof(size_t));
	}
	for (size_t i = 0; i < shape->size; i++) {
		gap = told[i] ? 0 : gap + 1;
		if (gap == 8)
			str_addf(out, "%s: no field tells or hides the member at byte %zu\n",
				shape->name, i - 7);
	}
}

bool shape_check(const struct shape *shape, struct str *out)
{
	const size_t before = out->n;
	shape_check_keys(shape, out);
	shape_check_members(shape, out);
	return out->n == before;
}
