/* json_outside - cleans the strings of a document that somebody else may have written. */
#include "agent/document/json_outside.h"

#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/text_clean.h"

static void json_clean_string(json_t *value)
{
	const char *text = json_string_value(value);
	/* A NUL in the middle would hide what follows from everybody who reads. */
	if (strlen(text) == json_string_length(value) && text_is_clean(text))
		return;
	rw_cleanup(freep) char *clean = text_clean_copy(text);
	json_string_set(value, clean);
}

static void json_clean_object(json_t *object)
{
	const char *key;
	json_t *member;
	void *next;
	json_object_foreach_safe(object, next, key, member)
	{
		if (text_is_clean(key))
			json_clean(member);
		else
			json_object_del(object, key);
	}
}

void json_clean(json_t *value)
{
	size_t i;
	json_t *element;
	if (json_is_string(value))
		json_clean_string(value);
	else if (json_is_object(value))
		json_clean_object(value);
	else if (json_is_array(value))
		json_array_foreach (value, i, element)
			json_clean(element);
}

json_t *json_outside(const char *text, size_t n, size_t flags, json_error_t *why)
{
	json_t *value = json_loadb(text, n, flags, why);
	json_clean(value);
	return value;
}
