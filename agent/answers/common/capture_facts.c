/* capture_facts - numbers of the agent's health. */
#include "agent/answers/common/capture_facts.h"

#include <math.h>

#include "base/cleanup.h"
#include "base/str.h"

double capture_fact(const json_t *health, const char *capture, const char *key)
{
	rw_cleanup(str_done) struct str name = {0};
	str_addf(&name, "capture/%s/%s", capture, key);
	const json_t *value = json_object_get(health, name.s);
	if (!json_is_number(value))
		return NAN;
	return json_number_value(value);
}

uint64_t capture_count(const json_t *health, const char *capture, const char *key)
{
	const double value = capture_fact(health, capture, key);
	if (isfinite(value))
		return (uint64_t)(int64_t)value;
	return COUNT_UNKNOWN;
}
