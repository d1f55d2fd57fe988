/*
 * canvas - a rectangle of character cells that a screen is painted on before a terminal or a file
 * gets it. Pure: no terminal, no clock. Text is UTF-8; where the reader's locale is not, each
 * symbol becomes an ASCII sign. Control characters become blanks, so that no device can write
 * escape sequences to a terminal.
 */
#pragma once

#include "base/base.h"

/* What a cell means; a word or its place says the same as its colour. */
enum canvas_style {
	STYLE_PLAIN,
	STYLE_DIM, /* less important: legends, idle */
	STYLE_BOLD, /* titles */
	STYLE_WARNING,
	STYLE_CRITICAL,
	STYLE_UNKNOWN,
	STYLE_ALARM, /* a text that must be seen: stale data, a broken file */
	STYLE_SELECTED,
	STYLE_BAR, /* the head and the foot line */
	STYLE_COUNT
};

#define CANVAS_CELL 5 /* bytes: one UTF-8 character and its NUL */

struct canvas_cell {
	char text[CANVAS_CELL];
	uint8_t style;
};

struct canvas {
	int cols, rows;
	bool utf8;
	struct canvas_cell *cells; /* rows * cols */
};

/* canvas_init - blank cells; canvas_done() them. @cols and @rows are at least 1. */
void canvas_init(struct canvas *canvas, int cols, int rows, bool utf8);
void canvas_done(struct canvas *canvas);

/* canvas_at - the cell, or NULL outside. */
const struct canvas_cell *canvas_at(const struct canvas *canvas, int row, int col);

/*
 * canvas_put - writes @text at (@row, @col) in at most @width columns and returns how many it took.
 * A longer text is cut at a word, with an ellipsis. What lies outside of the canvas is dropped.
 */
int canvas_put(struct canvas *canvas, int row, int col, int width, enum canvas_style style,
	const char *text);
/* canvas_put_right - the same, ended at column @col + @width. */
int canvas_put_right(struct canvas *canvas, int row, int col, int width, enum canvas_style style,
	const char *text);
/* canvas_putf - canvas_put() of a formatted text. */
int canvas_putf(struct canvas *canvas, int row, int col, int width, enum canvas_style style,
	const char *fmt, ...) __attribute__((format(printf, 6, 7)));
/* canvas_paint - gives @width cells a style; their text stays. */
void canvas_paint(struct canvas *canvas, int row, int col, int width, enum canvas_style style);
/* canvas_bar - a horizontal bar of @width columns, filled to @ratio (0 to 1; NAN: empty). */
void canvas_bar(
	struct canvas *canvas, int row, int col, int width, enum canvas_style style, double ratio);

/* canvas_width - the columns that @text takes. */
int canvas_width(const char *text);

/* canvas_print - the rows from @first on as lines without trailing blanks, up to canvas_used();
 * with
 * @color also the escape sequences of the styles. */
void canvas_print(FILE *out, const struct canvas *canvas, int first, bool color);
