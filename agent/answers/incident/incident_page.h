/*
 * incident_page - all of one incident: what the card says, every reason, step, command and piece of
 * evidence, flows, timeline. As text for `incident show --full`, as markdown or html for a ticket
 * (self-contained: no other file is needed).
 */
#ifndef RW_REPORTS_INCIDENT_PAGE_H
#define RW_REPORTS_INCIDENT_PAGE_H

#include <jansson.h>

struct page;
/* incident_page - the page (agent/document/page.h) of an incident's document. The caller owns it.
 */
struct page *incident_page(const json_t *incident);

/* incident_page_timeline - only the lines of its timeline. The caller owns it. */
struct page *incident_page_timeline(const json_t *incident);

#endif
