/* screen_print - a frame of the screen as text, on as many lines as it takes. */
#ifndef RW_SURFACE_SCREEN_PRINT_H
#define RW_SURFACE_SCREEN_PRINT_H

#include "agent/document/writer.h"

/* The document "watch" (agent/reports/watch_frame.h): the wall as text, the signals as csv rows. */
extern const struct view watch_view;

#endif
