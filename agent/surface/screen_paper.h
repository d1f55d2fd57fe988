/* screen_paper - pages that are text: wrapped at words, scrolled by lines. Pure. */
#ifndef RW_SURFACE_SCREEN_PAPER_H
#define RW_SURFACE_SCREEN_PAPER_H

#include "agent/surface/screen.h"

/* screen_paper_put - @text from the line on where the reader stands. Long lines are continued below
 * the second column of the text, words of state are coloured. */
void screen_paper_put(
	struct screen *screen, struct canvas *canvas, int row, int rows, const char *text);

/* screen_paper_put_at - the first @rows lines of a text, without scrolling. */
void screen_paper_put_at(struct canvas *canvas, int row, int rows, const char *text);

#endif
