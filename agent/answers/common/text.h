/*
 * text - the parts that the text layouts of documents have in common: fields with a dash where they
 * are missing, states in colour, tables below one another. Names and texts of devices are printed
 * without control characters, so that no switch can write escape sequences to a terminal.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"

#include "agent/document/writer.h"

/* text_or_dash - @text, or "-" when it is NULL or empty. */
static inline const char *text_or_dash(const char *text)
{
	return text && *text ? text : "-";
}
/* text_of - a text field of @object; "-" when it is missing or empty. It lives with @object. */
const char *text_of(const json_t *object, const char *key);
/* text_add_speeds - "runs at 200 Gbit/s, declared 400 Gbit/s": the one wording of a port that runs
 * at another speed than its link is declared with. Both in bit/s. */
void text_add_speeds(struct str *out, double is_bps, double declared_bps);

/* text_put - @text with a blank for each control character. */
void text_put(FILE *out, const char *text);
/* text_put_cut - at most @columns columns of @text, with three dots where it was cut behind a word;
 * then blanks up to @columns. */
void text_put_cut(FILE *out, const char *text, size_t columns);
/* text_put_table - one table of several in a text layout. */
void text_put_table(FILE *out, const json_t *doc, const struct view *view, bool color, bool header);
