/*
 * report - a document is a jansson tree in the contract's JSON shape; a view says how its rows
 * print. A report never knows the format: json prints the tree, csv/html/md/table walk the columns,
 * and a report may add its own text layout.
 */
#ifndef RW_REPORTS_REPORT_H
#define RW_REPORTS_REPORT_H

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

enum report_format { FORMAT_TABLE, FORMAT_CSV, FORMAT_JSON, FORMAT_JSONL, FORMAT_HTML, FORMAT_MD };
int report_format_parse(const char *text, enum report_format *ret); /* 0 or -EINVAL */

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
};
/*
 * str_add_quantity - a number as people say it, with its unit: "32.4 %" of a ratio, "9.7 s" of ns,
 * "1.99MB", "400Gbit/s", "52.4k frames/s". Whole counts keep their digits.
 */
struct str;
void str_add_quantity(struct str *out, double value, const char *unit);
/* report_print - 0 or -EIO (short write: a full pipe or disk). */
int report_print(FILE *out, const json_t *doc, const struct view *view, enum report_format format,
	bool header, bool color);

/* The other way: a field of a document, "" or NAN where it is missing or null. */
const char *doc_word(const json_t *object, const char *key);
double doc_number(const json_t *object, const char *key);

/* JSON helpers: null for NAN and for NULL; RFC 3339 with fraction for times (0 is a time: recorded
 * cases begin there). */
json_t *json_number_or_null(double value);
json_t *json_string_or_null(const char *text);
json_t *json_time(int64_t t_ns);

#endif
