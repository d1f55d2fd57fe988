/*
 * json_value - single values of a document, in both directions. What is not known is null in the
 * document and NAN, "" or NULL in memory. Pure; any thread.
 */
#ifndef RW_DOCUMENT_JSON_VALUE_H
#define RW_DOCUMENT_JSON_VALUE_H

#include <jansson.h>
#include <stdint.h>

struct str;

/* Out. The caller owns the new value. */
json_t *json_number_or_null(double value); /* null for NAN and infinity */
json_t *json_string_or_null(const char *text); /* null for NULL; bytes that are not UTF-8: '?' */
json_t *json_time(int64_t t_ns); /* RFC 3339, ms or ns; 0 is a time like others */
/* json_time_text - the text of json_time(), into WALL_TEXT_MAX bytes. Returns @buf. */
const char *json_time_text(char *buf, int64_t t_ns);

/* In: a field of @object, "" or NAN when it is missing or null. The text lives with @object. */
const char *doc_word(const json_t *object, const char *key);
double doc_number(const json_t *object, const char *key);

/* str_add_json - a text, number or boolean without quotes; null and trees add nothing. */
void str_add_json(struct str *out, const json_t *value);

#endif
