/* json_outside - a JSON document that somebody else may have written: a stored record, a request, a
 * reply. */
#ifndef RW_DOCUMENT_JSON_OUTSIDE_H
#define RW_DOCUMENT_JSON_OUTSIDE_H

#include <jansson.h>
#include <stddef.h>

/* json_clean - all strings in @value become one line that may be printed (base/text_clean.h);
 * members whose name is not such a line are dropped. What stands in a member "render" or "undo" is
 * the configuration of a switch: it keeps its lines, each of which may be printed. In place. NULL
 * is fine. */
void json_clean(json_t *value);

/* json_outside - @n bytes at @text as a document, cleaned; a new reference. NULL, with @why filled
 * (may be NULL), where this is no JSON. @flags are those of json_loadb(). */
json_t *json_outside(const char *text, size_t n, size_t flags, json_error_t *why);

#endif
