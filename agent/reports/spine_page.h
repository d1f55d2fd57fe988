/* spine_page - the spine-imbalance report for people, from its document alone: it prints the same
 * from a file as from a database. */
#ifndef RW_REPORTS_SPINE_PAGE_H
#define RW_REPORTS_SPINE_PAGE_H

#include "agent/document/writer.h"

extern const struct view spine_imbalance_view;

#endif
