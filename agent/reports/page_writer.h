/*
 * page_writer - the writers below tune_view: headings, labelled paragraphs, tables and commands, as
 * plain text of a given width, markdown, or html. Text from devices is made harmless: no control
 * character reaches a terminal, and no tag reaches a page.
 */
#ifndef RW_REPORTS_PAGE_WRITER_H
#define RW_REPORTS_PAGE_WRITER_H

#include <stddef.h>
#include <stdio.h>

#include "agent/reports/tune_view.h"

#define PAGE_CELLS 6
struct page_row {
	char *cell[PAGE_CELLS];
}; /* owned by the caller; NULL ends the row */

void page_begin(FILE *out, const struct tune_page *page, const char *title);
void page_end(FILE *out, const struct tune_page *page);
void page_heading(FILE *out, const struct tune_page *page, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* A label and a paragraph beside it; an empty text prints nothing. */
void page_line(FILE *out, const struct tune_page *page, const char *label, const char *text);
void page_linef(FILE *out, const struct tune_page *page, const char *label, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
/* @n_columns headers; the last column takes what is left of the width and is wrapped. */
void page_table(FILE *out, const struct tune_page *page, const char *const *headers,
	size_t n_columns, const struct page_row *rows, size_t n_rows);
/* Commands, written exactly as they are typed. */
void page_code(FILE *out, const struct tune_page *page, const char *label, const char *text);
void page_gap(FILE *out, const struct tune_page *page);

#endif
