/*
 * doctor_parts - what every part of the doctor uses: the list of things to do, the numbers that the
 * agent wrote of itself, and numbers of the document.
 */

#include "agent/document/json_value.h"
#include "agent/answers/doctor/doctor_internal.h"

void doctor_todo(struct doctor *doctor, bool critical, const char *subject, const char *remedy,
	const char *fmt, ...)
{
	rw_cleanup(freep) char *what = NULL;
	struct doctor_todos *todos = critical ? &doctor->critical : &doctor->warning;
	va_list ap;
	va_start(ap, fmt);
	int n = vasprintf(&what, fmt, ap);
	va_end(ap);
	if (n < 0)
		what = NULL;
	arena_grow_pow2(doctor->arena, todos->v, todos->n);
	todos->v[todos->n++] = (struct store_alarm){.severity = critical ? "critical" : "warning",
		.subject = arena_strdup(doctor->arena, subject),
		.what = arena_strdup(doctor->arena, str_or(what, "")),
		.remedy = arena_strdup(doctor->arena, remedy)};
}

double doctor_health(const struct doctor *doctor, const char *fmt, ...)
{
	char key[512];
	va_list ap;
	va_start(ap, fmt);
	vsnprintf(key, sizeof(key), fmt, ap);
	va_end(ap);
	const json_t *value = json_object_get(doctor->health, key);
	if (value)
		return json_number_value(value);
	return NAN;
}

const char *doctor_text(struct doctor *doctor, const char *text)
{
	if (!text)
		return NULL;
	return arena_strdup(doctor->arena, text);
}

uint64_t doctor_count(double value)
{
	if (isfinite(value))
		return (uint64_t)(int64_t)value;
	return COUNT_UNKNOWN;
}

json_t *doctor_count_or_null(double value)
{
	if (isfinite(value))
		return json_integer((json_int_t)value);
	return json_null();
}

void doctor_put_number(json_t *object, const char *key, double value)
{
	json_object_set_new(object, key, json_number_or_null(value));
}

void doctor_put_count(json_t *object, const char *key, double value)
{
	json_object_set_new(object, key, doctor_count_or_null(value));
}
