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

#endif
