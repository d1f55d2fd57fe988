/* screen_heat - the matrix of leaves and spines: how busy the links between them are. Pure. */
#ifndef RW_SURFACE_SCREEN_HEAT_H
#define RW_SURFACE_SCREEN_HEAT_H

#include "agent/surface/screen.h"

void screen_heat_paint(struct screen *screen, const struct screen_docs *docs, struct canvas *canvas,
	int row, int rows);

#endif
