/* screen_wall - the first page: what is wrong, where, since when, and what it costs. */
#ifndef RW_SURFACE_SCREEN_WALL_H
#define RW_SURFACE_SCREEN_WALL_H

#include "agent/surface/screen.h"

void screen_wall_paint(struct screen *screen, const struct screen_docs *docs, struct canvas *canvas,
	int row, int rows);

#endif
