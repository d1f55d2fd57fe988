/* screen_head - the headline of every page: fabric, wall clock, state and why, age of the data, the
 * agent, and what is wrong with the configuration or with reading. */
#ifndef RW_SURFACE_SCREEN_HEAD_H
#define RW_SURFACE_SCREEN_HEAD_H

#include "agent/surface/screen.h"

/* screen_paint_head - paints from row 0 on and returns how many rows it took. */
int screen_paint_head(
	const struct screen *screen, const struct screen_docs *docs, struct canvas *canvas);

#endif
