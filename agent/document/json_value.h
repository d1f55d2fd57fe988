/*
 * json_value - single values of a document, in both directions. What is not known is null in the
 * document and NAN, "" or NULL in memory. Pure; any thread.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"

/* Out. The caller owns the new value. */
json_t *json_number_or_null(double value); /* null for NAN and infinity */
json_t *json_string_or_null(const char *text); /* null for NULL; bytes that are not UTF-8: '?' */
json_t *json_time(int64_t t_ns); /* RFC 3339, ms or ns; 0 is a time like others */
/* json_time_text - the text of json_time(), into WALL_TEXT_MAX bytes. Returns @buf. */
const char *json_time_text(char *buf, int64_t t_ns);

/*
 * As text, member by member: the bytes that json_dumps(JSON_COMPACT) makes of the same values,
 * without a tree. @key NULL: an element of an array. A comma comes by itself.
 */
void json_add_open(struct str *out, const char *key, char bracket); /* '{' or '[' */
void json_add_close(struct str *out, char bracket);
void json_add_text(struct str *out, const char *key, const char *text); /* NULL is null */
void json_add_number(struct str *out, const char *key, double value); /* null as above */
void json_add_integer(struct str *out, const char *key, int64_t value);
void json_add_flag(struct str *out, const char *key, bool value);
void json_add_time(struct str *out, const char *key, int64_t t_ns);
void json_add_value(struct str *out, const char *key, json_t *value); /* takes the reference */

/* In: a field of @object, "" or NAN when it is missing or null. The text lives with @object. */
const char *doc_word(const json_t *object, const char *key);
double doc_number(const json_t *object, const char *key);

/* str_add_json - a text, number or boolean without quotes; null and trees add nothing. */
void str_add_json(struct str *out, const json_t *value);

/* json_print - a document as JSON text on a stream that may be a terminal. */

/*
 * json_print - as json_dumpf(), with the same @flags. Characters that a terminal would act on, or
 * that hide and reorder text (DEL, C1, bidirectional overrides: text_is_clean()), are written as
 * \uXXXX: the document says the same, and shows it. 0, or -1 where it could not be written.
 */
int json_print(FILE *out, const json_t *value, size_t flags);

/* json_outside - a JSON document that somebody else may have written: a stored record, a request, a
 * reply. */

/* json_clean - all strings in @value become one line that may be printed (base/text_clean.h);
 * members whose name is not such a line are dropped. What stands in a member "render" or "undo" is
 * the configuration of a switch: it keeps its lines, each of which may be printed. In place. NULL
 * is fine. */
void json_clean(json_t *value);

/* json_outside - @n bytes at @text as a document, cleaned; a new reference. NULL, with @why filled
 * (may be NULL), where this is no JSON. @flags are those of json_loadb(). */
json_t *json_outside(const char *text, size_t n, size_t flags, json_error_t *why);
