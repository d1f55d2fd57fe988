/* incident_view - how incidents are shown to people: the list, the card, the timeline. From their
 * JSON form alone. */
#ifndef RW_AGENT_INCIDENT_VIEW_H
#define RW_AGENT_INCIDENT_VIEW_H

#include "agent/document/writer.h"

extern const struct view incident_list_view; /* rows "incidents" */
extern const struct view incident_timeline_view; /* rows "timeline" */
extern const struct view incident_card_view; /* the document is one incident */

#endif
