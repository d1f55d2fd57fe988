/* steps_views - `steps` as text, csv and pages: struct steps_answer. */
#ifndef RW_REPORTS_STEPS_VIEWS_H
#define RW_REPORTS_STEPS_VIEWS_H

#include "agent/document/writer.h"

extern const struct view steps_view;

#endif
