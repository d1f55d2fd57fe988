/*
 * writer - a document is a jansson tree in the contract's JSON shape; a view says how its rows
 * print. A report never knows the format: json prints the tree, csv/html/md/table walk the columns,
 * and a report may add its own text layout.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"
#include "agent/document/column.h"

struct page;
struct shape_table;

/*
 * format - the formats in which a document can be printed, by the names of --format.
 */

enum report_format { FORMAT_TABLE, FORMAT_CSV, FORMAT_JSON, FORMAT_JSONL, FORMAT_HTML, FORMAT_MD };

/* report_format_parse - 0, or -EINVAL when @text is not such a name. */
int report_format_parse(const char *text, enum report_format *ret);

/* ---- writer -------------------------------------------------------------- */

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
	/* NULL = the table; else the document as a page (agent/document/page.h), which the caller
	 * owns. It is printed as markdown and html, and as text where there is no @text. */
	struct page *(*page)(const json_t *doc);
	/* Instead of the key and the columns: the rows of an answer in memory, and their columns.
	 */
	const struct shape_table *table;
	const void *(*table_rows)(const void *answer, size_t *ret_n);
	/* Instead of @page: of an answer in memory; @doc has the frame around it. */
	struct page *(*answer_page)(const json_t *doc, const void *answer);
	/* Instead of @text: of an answer in memory. */
	void (*answer_text)(
		FILE *out, const void *answer, const struct view *view, bool color, bool header);
};
/* answer_print - @answer is what @view is about, @doc the whole document: what it is a part of and
 * what FORMAT_JSON prints. 0 or -EIO (short write: a full pipe or disk). */
int answer_print(FILE *out, const json_t *doc, const void *answer, const struct view *view,
	enum report_format format, bool header, bool color);
/* report_print - the same without an answer in memory. 0 or -EIO (short write: a full pipe or
 * disk). */
int report_print(FILE *out, const json_t *doc, const struct view *view, enum report_format format,
	bool header, bool color);

/* csv_field - one field of a csv line, for every writer of csv. */

/* csv_field_print - RFC 4180, but lines end with LF instead of CRLF: that is what tools here
 * expect. What a spreadsheet would run as a formula gets a single quote in front
 * (text_is_formula()). */
void csv_field_print(FILE *out, const char *text);
