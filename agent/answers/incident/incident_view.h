/* incident_view - how incidents are shown to people: the list; the card, which is what happens and
 * what to do first in as many lines as the terminal has; the page, which is all of it; the
 * timeline. From their JSON form alone. */
#pragma once

#include "agent/document/writer.h"

struct incident_told;

/* One incident in a row: the columns of every list of incidents. */
enum { INCIDENT_LIST_COLUMNS = 10 };
extern const struct column incident_list_columns[INCIDENT_LIST_COLUMNS];

extern const struct view incident_list_view; /* rows "incidents" */
extern const struct view incident_timeline_view; /* rows "timeline" */
/* The document is one incident. The card fits the terminal; the full view, and both as md and html,
 * hold all of it. */
extern const struct view incident_card_view, incident_full_view;

/* incident_card_print - the card of a document, as wide and high as @out is. Lines that are too
 * long are cut at words, with three dots, but never what to do, and below 12 lines no more. */
void incident_card_print(FILE *out, const struct incident_told *incident, bool color);
/* incident_card_text - the same for tests: @width columns, at least 60; @height lines, 0: nothing
 * is cut. */
void incident_card_text(FILE *out, const json_t *incident, size_t width, size_t height, bool color);

/* incident_page - all of one incident: what the card says, every reason, step, command and piece of
 * evidence, flows, timeline. The caller owns it. */
struct page *incident_page(const json_t *incident);

/* incident_families - brings those of @incidents that are no part of another one there to the
 * front, in their order, each with .parts: how many of the others are its parts. Returns how many.
 */
size_t incident_families(struct incident_told *incidents, size_t n);
/* incident_parts_text - " (+4 parts)" of such a row, "" when it has none. Returns @out. */
enum { INCIDENT_PARTS_MAX = 32 };
const char *incident_parts_text(const struct incident_told *incident, char out[INCIDENT_PARTS_MAX]);
