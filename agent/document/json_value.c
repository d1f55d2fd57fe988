/* json_value - single values into a document and out of it. */
#include "agent/document/json_value.h"

#include <math.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/str.h"
#include "base/text_clean.h"
#include "agent/document/quantity.h"

const char *doc_word(const json_t *object, const char *key)
{
	const char *s = json_string_value(json_object_get(object, key));
	if (s)
		return s;
	return "";
}

double doc_number(const json_t *object, const char *key)
{
	const json_t *v = json_object_get(object, key);
	if (json_is_number(v))
		return json_number_value(v);
	return NAN;
}

json_t *json_number_or_null(double value)
{
	if (isfinite(value))
		return json_real(value);
	return json_null();
}

json_t *json_string_or_null(const char *text)
{
	json_t *j;
	if (text)
		j = json_string(text);
	else
		j = json_null();
	/* Bytes that are no UTF-8 come from devices: the text is shown without them rather than
	 * lost. */
	if (j)
		return j;
	rw_cleanup(freep) char *clean = text_clean_copy(text);
	return json_string(clean);
}

const char *json_time_text(char *buf, int64_t t_ns)
{
	/* Milliseconds, unless the time is finer. */
	return wall_format(buf, (wall_t){t_ns}, t_ns % NS_PER_MS == 0 ? 3 : 9);
}

json_t *json_time(int64_t t_ns)
{
	char buf[WALL_TEXT_MAX];
	return json_string(json_time_text(buf, t_ns));
}

void str_add_json(struct str *out, const json_t *value)
{
	switch (json_typeof(value)) {
	case JSON_STRING: str_addn(out, json_string_value(value), json_string_length(value)); break;
	case JSON_INTEGER: str_addf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value)); break;
	case JSON_REAL: str_add_exact(out, json_real_value(value)); break;
	case JSON_TRUE: str_add(out, "true"); break;
	case JSON_FALSE: str_add(out, "false"); break;
	default: break; /* null is an empty field; a tree is not a cell */
	}
}
