/* shape_read - documents to structs, by the table of their members. */
#include "agent/document/shape.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/cleanup.h"
#include "base/str.h"

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
