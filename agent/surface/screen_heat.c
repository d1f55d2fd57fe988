/*
 * screen_heat - paints the document "ecmp/heatmap". Cells hold numbers where there is room for
 * them, else one sign each: a block as high as the load, or a digit for tenths of the line rate.
 */
#include "agent/surface/screen_heat.h"

#include <math.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/document/json_value.h"
#include "agent/surface/screen_table.h"
#include "agent/surface/screen_text.h"

enum { HEAT_NAME_MAX = 16, HEAT_CELL_MAX = 9, HEAT_NUMBER_MIN = 5, HEAT_TAIL = 32 };

struct heat {
	struct canvas *canvas;
	const json_t *peers;
	struct screen_rows rows;
	int name, cell; /* columns of the device and of a cell */
	int left, n_shown; /* peers shown */
};

static void heat_lay_out(struct heat *heat, struct screen_place *place)
{
	int n = (int)json_array_size(heat->peers);
	heat->name = 6;
	for (size_t i = 0; i < heat->rows.n; i++) {
		int width = canvas_width(doc_word(heat->rows.rows[i], "device"));
		if (width > heat->name)
			heat->name = width;
	}
	if (heat->name > HEAT_NAME_MAX)
		heat->name = HEAT_NAME_MAX;
	int room = heat->canvas->cols - heat->name - 2 - HEAT_TAIL;
	heat->cell = n > 0 ? room / n : room;
	if (heat->cell > HEAT_CELL_MAX)
		heat->cell = HEAT_CELL_MAX;
	if (heat->cell < HEAT_NUMBER_MIN)
		heat->cell = 1 + (heat->cell > 1);
	heat->n_shown = room / heat->cell;
	if (heat->n_shown > n)
		heat->n_shown = n;
	if (place->left > n - heat->n_shown)
		place->left = n - heat->n_shown;
	if (place->left < 0)
		place->left = 0;
	heat->left = place->left;
}

static void heat_put_cell(struct heat *heat, int row, int col, const json_t *cell)
{
	static const char *const blocks[] = {
		"\u2581", "\u2582", "\u2583", "\u2584", "\u2585", "\u2586", "\u2587", "\u2588"};
	double ratio = doc_number(cell, "utilization_ratio");
	bool hot = json_is_true(json_object_get(cell, "hot"));
	enum canvas_style style = hot ? STYLE_WARNING : STYLE_PLAIN;
	rw_cleanup(str_done) struct str text = {0};
	if (isnan(ratio))
		str_add(&text, "-");
	else if (heat->cell >= HEAT_NUMBER_MIN)
		str_addf(&text, "%.0f%s", fabs(ratio) * 100, hot ? "!" : " ");
	else if (heat->canvas->utf8)
		str_add(&text, blocks[(int)(fmin(fmax(ratio, 0), 0.999) * 8)]);
	else
		str_addf(&text, "%d", (int)(fmin(fmax(ratio, 0), 0.999) * 10));
	if (isnan(ratio))
		style = STYLE_DIM;
	canvas_put_right(heat->canvas, row, col, heat->cell, style, text.s);
}

static void heat_put_row(struct heat *heat, int at, const json_t *row)
{
	struct canvas *canvas = heat->canvas;
	const json_t *cells = json_object_get(row, "cells");
	int col = heat->name + 2;
	rw_cleanup(str_done) struct str imbalance = {0};
	canvas_put(canvas, at, 1, heat->name, STYLE_PLAIN, doc_word(row, "device"));
	for (int i = 0; i < heat->n_shown; i++, col += heat->cell)
		heat_put_cell(heat, at, col, json_array_get(cells, (size_t)(heat->left + i)));
	double ratio = doc_number(row, "link_imbalance_ratio");
	if (isnan(ratio))
		ratio = doc_number(row, "imbalance_ratio");
	screen_add_ratio(&imbalance, ratio);
	const char *verdict = doc_word(row, "verdict");
	bool quiet = str_eq(verdict, "even") || str_eq(verdict, "idle");
	canvas_put_right(canvas, at, col + 1, 8, STYLE_BOLD, imbalance.s);
	canvas_put(canvas, at, col + 11, canvas->cols - col - 12,
		quiet ? STYLE_PLAIN : STYLE_WARNING, verdict);
}

static void heat_put_head(struct heat *heat, int row)
{
	struct canvas *canvas = heat->canvas;
	int col = heat->name + 2;
	canvas_put(canvas, row, 1, heat->name, STYLE_DIM, "LEAF");
	for (int i = 0; i < heat->n_shown; i++, col += heat->cell) {
		const char *peer =
			json_string_value(json_array_get(heat->peers, (size_t)(heat->left + i)));
		if (heat->cell >= HEAT_NUMBER_MIN)
			canvas_put_right(
				canvas, row, col + 1, heat->cell - 1, STYLE_DIM, str_or(peer, "-"));
	}
	canvas_put_right(canvas, row, col + 1, 8, STYLE_DIM, "MAX/MEAN");
	canvas_put(canvas, row, col + 11, canvas->cols - col - 12, STYLE_DIM, "VERDICT");
}

static void heat_add_legend(struct str *out, const struct heat *heat, const json_t *doc)
{
	int n = (int)json_array_size(heat->peers);
	if (heat->n_shown < n)
		str_addf(out, "spines %d to %d of %d (Left, Right); ", heat->left + 1,
			heat->left + heat->n_shown, n);
	if (heat->cell < HEAT_NUMBER_MIN && !heat->canvas->utf8)
		str_add(out, "tenths of line rate in busy windows; limit of max/mean-1 ");
	else
		str_add(out, "% of line rate in busy windows; limit of max/mean-1 ");
	screen_add_ratio(out, doc_number(doc, "warn_ratio"));
}

void screen_heat_paint(struct screen *screen, const struct screen_docs *docs, struct canvas *canvas,
	int row, int rows)
{
	struct screen_place *place = screen_place_of(screen);
	struct heat heat = {.canvas = canvas, .peers = json_object_get(docs->page, "peers")};
	screen_rows_of(&heat.rows, json_object_get(docs->page, "rows"), screen->filter, NULL);
	heat_lay_out(&heat, place);
	rw_cleanup(str_done) struct str legend = {0};
	heat_add_legend(&legend, &heat, docs->page);
	canvas_put(canvas, row, 1, canvas->cols - 2, STYLE_DIM, legend.s);
	heat_put_head(&heat, row + 1);
	int visible = rows - 3;
	if (place->top > (int)heat.rows.n - visible)
		place->top = (int)heat.rows.n - visible;
	if (place->top < 0)
		place->top = 0;
	screen->n_rows = (int)heat.rows.n;
	screen->n_visible = visible;
	int shown = 0;
	for (; shown < visible && place->top + shown < (int)heat.rows.n; shown++)
		heat_put_row(&heat, row + 2 + shown, heat.rows.rows[place->top + shown]);
	int below = (int)heat.rows.n - place->top - shown;
	if (below > 0)
		canvas_putf(
			canvas, row + 2 + shown, 1, canvas->cols - 2, STYLE_DIM, "%d more", below);
	if (heat.rows.n == 0)
		canvas_put(canvas, row + 2, 1, canvas->cols - 2, STYLE_DIM,
			*screen->filter
				? "no group matches the filter"
				: "no ECMP groups with traffic counters in this time range");
	screen_rows_done(&heat.rows);
}
