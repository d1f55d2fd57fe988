/*
 * report_page - the page of a report begins the same for all: its name, fabric and time range, the
 * verdict, the problems with their runbooks, what came and went since the report before, which data
 * is missing, and the figures beside those of earlier times.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"

struct page;
/* report_page - a new page with the frame of @doc (report_frame.h); the caller goes on and owns it.
 * @title: "PFC pause". */
struct page *report_page(const char *title, const json_t *doc);

/* report_news - what a report's document says of its comparison (report_compare.h): which problems
 * came, went or changed. */

/* report_is_new - is the problem @key new since the previous report? False where there is no
 * comparison. */
bool report_is_new(const json_t *doc, const char *key);

/* report_is_changed - did a problem come, go, or change its state since the previous report? True
 * where there is no comparison. */
bool report_is_changed(const json_t *doc);

/*
 * report_blocks - parts that the pages of several reports have in common. From the document alone;
 * an array that is empty prints nothing, or what is said for it. Pure.
 */

struct link_port;
struct pause_port;
/* report_block_incidents - rows of report_incidents() under @heading; @empty where there is none,
 * NULL: nothing. */
void report_block_incidents(
	struct page *page, const char *heading, const json_t *incidents, const char *empty);

/* report_block_pause, report_block_links - ports of the reports pause and links. */
void report_block_pause(struct page *page, const struct pause_port *ports, size_t n);
void report_block_links(struct page *page, const struct link_port *ports, size_t n);

/* report_block_changes - rows of report_put_changes(); report_block_parts - verdicts of other
 * reports. */
void report_block_changes(struct page *page, const json_t *changes);
void report_block_parts(struct page *page, const json_t *parts);

/* report_block_money - a fact: what incidents cost of what all GPUs cost; report_block_telemetry -
 * a fact, and the devices that were not seen all the time. */
void report_block_money(struct page *page, const json_t *money);
void report_block_telemetry(struct page *page, const json_t *telemetry);
