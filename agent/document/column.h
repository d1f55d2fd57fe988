/*
 * column - one column of a table: where its value stands in a row of a document, and how it is
 * written for people and for programs.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"

enum column_kind {
	COL_TEXT,
	COL_INT,
	COL_RATIO_PCT,
	COL_BPS,
	COL_BYTES,
	COL_DURATION_S,
	COL_TIME,
	COL_USD,
	COL_NUMBER,
	COL_QP, /* 0x001004: a queue pair, as NIC tools print it */
	COL_STATE /* OK, WARNING, CRITICAL, UNKNOWN and words like them: in colour on a page */
};
/* text_columns - that the first @bytes of @text take on a terminal. */
static inline size_t text_columns(const char *text, size_t bytes)
{
	size_t n = 0;
	for (size_t i = 0; i < bytes; i++)
		n += ((unsigned char)text[i] & 0xc0) != 0x80;
	return n;
}

struct column {
	/* in the row object; "a.b" descends; "a[]" joins an array of strings with ',' */
	const char *key;
	const char *header; /* NULL = key */
	enum column_kind kind;
	bool right;
};

const char *column_header(const struct column *column);
/* column_is_right - numbers stand below one another by their last digit. */
bool column_is_right(const struct column *column);
/* column_add_cell - the value of @column in @row. @pretty: with its unit, "-" where it is missing,
 * without control characters; else as a program reads it, empty where it is missing. */
void column_add_cell(struct str *out, const json_t *row, const struct column *column, bool pretty);

/* column_add_value - the same of a single value, or of an array of them, joined by ','. */
void column_add_value(struct str *out, const json_t *value, enum column_kind kind, bool pretty);
