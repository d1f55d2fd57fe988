/* json_outside - cleans the strings of a document that somebody else may have written. */
#include "agent/document/json_outside.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/str.h"
#include "base/text_clean.h"

static void json_clean_string(json_t *value)
{
	const char *text = json_string_value(value);
	/* A NUL in the middle would hide what follows from everybody who reads. */
	if (strlen(text) == json_string_length(value) && text_is_clean(text))
		return;
	rw_cleanup(freep) char *clean = text_clean_copy(text);
	json_string_set(value, clean);
}

/* A configuration that is typed into a switch has several lines. */
static void json_clean_lines(json_t *value)
{
	rw_cleanup(str_done) struct str lines = {0};
	const char *at = json_string_value(value);
	str_add(&lines, "");
	for (bool first = true; at; first = false) {
		const char *end = strchrnul(at, '\n');
		rw_cleanup(str_done) struct str line = {0};
		str_add(&line, "");
		str_addn(&line, at, (size_t)(end - at));
		rw_cleanup(freep) char *clean = text_clean_copy(line.s);
		/* it would end the block of code in which markdown shows it */
		char *fence = strstr(clean, "```");
		if (fence)
			memset(fence, '\'', 3);
		str_addf(&lines, "%s%s", str_if(!first, "\n"), clean);
		at = NULL;
		if (*end)
			at = end + 1;
	}
	json_string_set(value, lines.s);
}

static void json_clean_configuration(json_t *value)
{
	const char *key;
	json_t *member;
	void *next;
	if (json_is_string(value))
		json_clean_lines(value);
	if (!json_is_object(value))
		return;
	json_object_foreach_safe(value, next, key, member)
	{
		if (text_is_clean(key))
			json_clean_configuration(member);
		else
			json_object_del(value, key);
	}
}

static bool json_is_configuration(const char *key)
{
	return str_eq(key, "render") || str_eq(key, "undo");
}

static void json_clean_object(json_t *object)
{
	const char *key;
	json_t *member;
	void *next;
	json_object_foreach_safe(object, next, key, member)
	{
		if (json_is_configuration(key))
			json_clean_configuration(member);
		else if (text_is_clean(key))
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
