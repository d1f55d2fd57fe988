/*
 * report_page - the page of a report begins the same for all: its name, fabric and time range, the
 * verdict, the problems with their runbooks, what came and went since the report before, which data
 * is missing, and the figures beside those of earlier times.
 */
#ifndef RW_REPORTS_REPORT_PAGE_H
#define RW_REPORTS_REPORT_PAGE_H

#include <jansson.h>

struct page;
/* report_page - a new page with the frame of @doc (report_frame.h); the caller goes on and owns it.
 * @title: "PFC pause". */
struct page *report_page(const char *title, const json_t *doc);

#endif
