/*
 * doctor_parts - what every part of the doctor uses: the list of things to do, the numbers that the
 * agent wrote of itself, and numbers of the document.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/document/json_value.h"
#include "agent/reports/doctor_internal.h"

void doctor_todo(struct doctor *doctor, bool critical, const char *subject, const char *remedy,
	const char *fmt, ...)
{
	rw_cleanup(freep) char *what = NULL;
	va_list ap;
	va_start(ap, fmt);
	int n = vasprintf(&what, fmt, ap);
	va_end(ap);
	if (n < 0)
		what = NULL;
	json_t *todo = json_object();
	json_object_set_new(todo, "severity", json_string(critical ? "critical" : "warning"));
	json_object_set_new(todo, "subject", json_string_or_null(subject));
	json_object_set_new(todo, "what", json_string_or_null(str_or(what, "")));
	json_object_set_new(todo, "do", json_string_or_null(remedy));
	json_array_append_new(critical ? doctor->critical : doctor->warning, todo);
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
