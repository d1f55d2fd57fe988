/*
 * writer - a document is a jansson tree in the contract's JSON shape; a view says how its rows
 * print. A report never knows the format: json prints the tree, csv/html/md/table walk the columns,
 * and a report may add its own text layout.
 */
#ifndef RW_DOCUMENT_WRITER_H
#define RW_DOCUMENT_WRITER_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "agent/document/format.h"

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
	COL_QP /* 0x001004: a queue pair, as NIC tools print it */
};
struct column {
	/* in the row object; "a.b" descends; "a[]" joins an array of strings with ',' */
	const char *key;
	const char *header; /* NULL = key */
	enum column_kind kind;
	bool right;
};
struct view {
	const char *title;
	/* key of the array in the document; NULL = the document is the one row */
	const char *rows;
	const struct column *columns;
	size_t n_columns;
	/* NULL = plain table */
	void (*text)(
		FILE *out, const json_t *doc, const struct view *view, bool color, bool header);
	const char *empty; /* what to say when there are no rows */
	/* NULL = a table; else the whole document as markdown or html, self-contained */
	void (*page)(FILE *out, const json_t *doc, enum report_format format);
};
/* report_print - 0 or -EIO (short write: a full pipe or disk). */
int report_print(FILE *out, const json_t *doc, const struct view *view, enum report_format format,
	bool header, bool color);

/*
 * A page of several tables and texts in html or markdown, for reports that are more than one table.
 * The html needs no other file. report_page_text escapes what would be markup.
 */
void report_page_begin(FILE *out, const char *title, enum report_format format);
void report_page_text(FILE *out, const char *text, enum report_format format);
void report_page_table(
	FILE *out, const json_t *doc, const struct view *view, enum report_format format);
void report_page_end(FILE *out, enum report_format format);

#endif
