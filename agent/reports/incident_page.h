/*
 * incident_page - all of one incident: what the card says, every reason, step, command and piece of
 * evidence, flows, timeline. As text for `incident show --full`, as markdown or html for a ticket
 * (self-contained: no other file is needed).
 */
#ifndef RW_REPORTS_INCIDENT_PAGE_H
#define RW_REPORTS_INCIDENT_PAGE_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "agent/document/format.h"

/* incident_page_print - @format: table, md or html. @width: columns of the text. */
void incident_page_print(
	FILE *out, const json_t *incident, enum report_format format, size_t width, bool color);

/* incident_page_timeline - only the lines of a timeline, as text. */
void incident_page_timeline(FILE *out, const json_t *lines, size_t width);

#endif
