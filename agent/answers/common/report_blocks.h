/*
 * report_blocks - parts that the pages of several reports have in common. From the document alone;
 * an array that is empty prints nothing, or what is said for it. Pure.
 */
#ifndef RW_REPORTS_REPORT_BLOCKS_H
#define RW_REPORTS_REPORT_BLOCKS_H

#include <jansson.h>

struct link_port;
struct page;
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

#endif
