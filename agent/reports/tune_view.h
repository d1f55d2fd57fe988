/*
 * tune_view - review sheets, verifications and what-if answers for people: one walk over the
 * document, three writers (text, markdown, html). From the JSON form alone, so that it prints the
 * same from a file as from a database. The exact numbers stand beside the readable ones: somebody
 * has to approve them.
 */
#ifndef RW_REPORTS_TUNE_VIEW_H
#define RW_REPORTS_TUNE_VIEW_H

#include "agent/document/writer.h"

extern const struct view tune_list_view; /* rows "sheets": one line each; csv of all of them */
extern const struct view tune_verify_view; /* rows "effects" */
extern const struct view tune_whatif_view; /* rows "expected" */

struct tune_page {
	enum report_format format; /* FORMAT_TABLE, FORMAT_MD, FORMAT_HTML */
	int width; /* of the text, columns */
	bool color;
};
/* Each prints a whole document: {sheets: [...]}, one verification, one what-if answer. 0 or -EIO.
 */
int tune_sheets_print(FILE *out, const json_t *doc, const struct tune_page *page);
int tune_verify_print(FILE *out, const json_t *doc, const struct tune_page *page);
int tune_whatif_print(FILE *out, const json_t *doc, const struct tune_page *page);
/* tune_width - of the terminal, within what a sheet is laid out for: 80 to 120 columns; 100 where
 * there is none. */
int tune_width(FILE *out);

#endif
