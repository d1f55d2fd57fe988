/*
 * report_pages - the pages of the reports daily, handover and tuning, from their
 * documents alone: the same from a file as from a database. Pure. The caller owns the page.
 */
#pragma once

#include <jansson.h>

struct page;
struct page *daily_report_page(const json_t *doc);
struct page *handover_report_page(const json_t *doc);
