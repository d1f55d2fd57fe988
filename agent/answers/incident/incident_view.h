/* incident_view - how incidents are shown to people: the list, the card, the timeline. From their
 * JSON form alone. */
#ifndef RW_AGENT_INCIDENT_VIEW_H
#define RW_AGENT_INCIDENT_VIEW_H

#include "agent/document/writer.h"

/* One incident in a row: the columns of every list of incidents. */
enum { INCIDENT_LIST_COLUMNS = 10 };
extern const struct column incident_list_columns[INCIDENT_LIST_COLUMNS];

extern const struct view incident_list_view; /* rows "incidents" */
extern const struct view incident_timeline_view; /* rows "timeline" */
/* The document is one incident. The card fits the terminal; the full view, and both as md and html,
 * hold all of it. */
extern const struct view incident_card_view, incident_full_view;

/* incident_families - the rows of @incidents that are no part of another one there, in their order,
 * each with "parts": how many of the others are its parts. For people; the caller owns it. */
json_t *incident_families(const json_t *incidents);
/* incident_parts_text - " (+4 parts)" of such a row, "" when it has none. */
void incident_parts_text(const json_t *row, char *out, size_t size);

#endif
