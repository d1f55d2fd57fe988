/* blame_view - how the document of blame.h is shown. */
#ifndef RW_REPORTS_BLAME_VIEW_H
#define RW_REPORTS_BLAME_VIEW_H

#include "agent/document/writer.h"

extern const struct view blame_view; /* rows "incidents" */

#endif
