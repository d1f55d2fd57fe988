/* screen_table - lists: columns as wide as their content, one column that takes the rest. */
#include "agent/surface/screen_table.h"

#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/surface/screen_text.h"

enum { TABLE_COLUMNS_MAX = 16, TABLE_GAP = 2, TABLE_REST_MIN = 8 };

void screen_rows_of(struct screen_rows *ret, const json_t *list, const char *filter,
	int (*compare)(const void *left, const void *right))
{
	const json_t *row;
	size_t i;
	*ret = (struct screen_rows){.rows = rw_calloc(json_array_size(list) + 1, sizeof(json_t *))};
	json_array_foreach (list, i, row)
		if (screen_matches(filter, row))
			ret->rows[ret->n++] = row;
	if (compare)
		qsort(ret->rows, ret->n, sizeof(*ret->rows), compare);
}

void screen_rows_done(struct screen_rows *rows)
{
	free(rows->rows);
	*rows = (struct screen_rows){0};
}

struct table_layout {
	const struct screen_column *columns[TABLE_COLUMNS_MAX];
	int widths[TABLE_COLUMNS_MAX];
	size_t n;
};

static int table_content_width(const struct screen_column *column, const struct screen_rows *rows)
{
	int width = canvas_width(column->header);
	for (size_t i = 0; i < rows->n && width < column->most; i++) {
		rw_cleanup(str_done) struct str text = {0};
		column->cell(rows->rows[i], &text);
		int n = canvas_width(str_or(text.s, ""));
		if (n > width)
			width = n;
	}
	if (width > column->most)
		width = column->most;
	return width;
}

static void table_lay_out(struct table_layout *layout, int cols,
	const struct screen_column *columns, size_t n, const struct screen_rows *rows)
{
	int rest = cols - 1;
	int flexible = -1;
	*layout = (struct table_layout){0};
	for (size_t i = 0; i < n; i++) {
		if (columns[i].from_cols > cols)
			continue;
		size_t k = layout->n++;
		layout->columns[k] = &columns[i];
		if (columns[i].most == 0)
			flexible = (int)k;
		else
			layout->widths[k] = table_content_width(&columns[i], rows);
		rest -= layout->widths[k] + TABLE_GAP;
	}
	if (flexible >= 0 && rest >= TABLE_REST_MIN)
		layout->widths[flexible] = rest;
	else if (flexible >= 0)
		layout->widths[flexible] = TABLE_REST_MIN;
}

static void table_put_row(
	struct canvas *canvas, int at, const struct table_layout *layout, const json_t *row)
{
	int col = 1;
	for (size_t i = 0; i < layout->n; i++) {
		const struct screen_column *column = layout->columns[i];
		rw_cleanup(str_done) struct str text = {0};
		str_add(&text, "");
		enum canvas_style style = STYLE_DIM;
		if (row)
			style = column->cell(row, &text);
		else
			str_add(&text, column->header);
		if (column->right)
			canvas_put_right(canvas, at, col, layout->widths[i], style, text.s);
		else
			canvas_put(canvas, at, col, layout->widths[i], style, text.s);
		col += layout->widths[i] + TABLE_GAP;
	}
}

int screen_table_put(struct canvas *canvas, int row, int height,
	const struct screen_column *columns, size_t n_columns, const struct screen_rows *rows,
	int first, int selected)
{
	struct table_layout layout;
	int n = (int)rows->n - first;
	int room = height - 1;
	if (room < 0)
		return 0;
	table_lay_out(&layout, canvas->cols, columns, n_columns, rows);
	table_put_row(canvas, row, &layout, NULL);
	int shown = n;
	if (n > room)
		shown = room - 1;
	for (int i = 0; i < shown; i++) {
		table_put_row(canvas, row + 1 + i, &layout, rows->rows[first + i]);
		if (first + i == selected)
			canvas_paint(canvas, row + 1 + i, 0, canvas->cols, STYLE_SELECTED);
	}
	if (shown == n)
		return 1 + shown;
	if (room > 0)
		canvas_putf(canvas, row + 1 + shown, 1, canvas->cols - 2, STYLE_DIM, "%d more",
			n - shown);
	return height;
}

void screen_list_put(struct screen *screen, struct canvas *canvas, int row, int height,
	const struct screen_column *columns, size_t n_columns, const struct screen_rows *rows)
{
	struct screen_place *place = &screen->stack[screen->depth];
	int n = (int)rows->n;
	int visible = height - 2; /* the header, and the count of what is left */
	if (visible < 1)
		visible = 1;
	if (place->selected >= n)
		place->selected = n - 1;
	if (place->selected < 0)
		place->selected = 0;
	if (place->top > place->selected)
		place->top = place->selected;
	if (place->selected >= place->top + visible)
		place->top = place->selected - visible + 1;
	if (place->top > n - visible)
		place->top = n - visible;
	if (place->top < 0)
		place->top = 0;
	screen->n_rows = n;
	screen->n_visible = visible;
	screen_table_put(canvas, row, height, columns, n_columns, rows, place->top,
		n > 0 ? place->selected : -1);
}
