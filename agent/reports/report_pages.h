/*
 * report_pages - the pages of the reports pause, links, daily, handover and tuning, from their
 * documents alone: the same from a file as from a database. Pure. The caller owns the page.
 */
#ifndef RW_REPORTS_REPORT_PAGES_H
#define RW_REPORTS_REPORT_PAGES_H

#include <jansson.h>

json_t *pause_report_page(const json_t *doc);
json_t *links_report_page(const json_t *doc);
json_t *daily_report_page(const json_t *doc);
json_t *handover_report_page(const json_t *doc);
json_t *tuning_report_page(const json_t *doc);

#endif
