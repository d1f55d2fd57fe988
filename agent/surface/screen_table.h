/* screen_table - a list of rows with a header, one selected row, and a count of what does not fit.
 * Pure. */
#ifndef RW_SURFACE_SCREEN_TABLE_H
#define RW_SURFACE_SCREEN_TABLE_H

#include "agent/base/str.h"
#include "agent/surface/screen.h"

struct screen_column {
	const char *header;
	int most; /* columns at most; 0: what the others leave */
	int from_cols; /* shown where the screen has at least this many columns */
	bool right;
	/* the text of a cell; returns its style */
	enum canvas_style (*cell)(const json_t *row, struct str *out);
};

struct screen_rows {
	const json_t **rows; /* borrowed from a document */
	size_t n;
};

/* screen_rows_of - the rows of @list that match the filter, in the order of @compare (NULL: as they
 * are). screen_rows_done() it. */
void screen_rows_of(struct screen_rows *ret, const json_t *list, const char *filter,
	int (*compare)(const void *left, const void *right));
void screen_rows_done(struct screen_rows *rows);

/* screen_table_put - the rows from @first on in @height canvas rows, the header in the first one.
 * @selected is a row or -1. The last canvas row counts what is left. Returns the canvas rows used.
 */
int screen_table_put(struct canvas *canvas, int row, int height,
	const struct screen_column *columns, size_t n_columns, const struct screen_rows *rows,
	int first, int selected);

/* screen_list_put - a page: keeps the selected row visible and notes for the next key what is
 * shown. */
void screen_list_put(struct screen *screen, struct canvas *canvas, int row, int height,
	const struct screen_column *columns, size_t n_columns, const struct screen_rows *rows);

#endif
