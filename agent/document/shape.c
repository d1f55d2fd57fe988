/* shape - structs to documents and cells, by the table of their members. */
#include "agent/document/shape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "agent/document/column.h"
#include "agent/document/json_value.h"

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

static void shape_make_plain(struct shape_column *column)
{
	column->plain = true;
	column->right = false;
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
		if (ret && shown->plain)
			shape_make_plain(&ret[i]);
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
