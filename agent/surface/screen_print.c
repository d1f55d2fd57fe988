/* screen_print - the wall as text: as wide as the terminal, else as $COLUMNS says, else 100. */
#include "agent/surface/screen_print.h"

#include <math.h>
#include <stdlib.h>

#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/surface/screen.h"
#include "agent/surface/terminal.h"

enum { PRINT_COLS = 100, PRINT_COLS_MAX = 400 };

static int print_cols(void)
{
	int64_t cols = terminal_cols();
	const char *wanted = getenv("COLUMNS");
	if (cols == 0 && wanted && unit_int(wanted, &cols, NULL) < 0)
		cols = 0;
	if (cols == 0)
		cols = PRINT_COLS;
	if (cols < SCREEN_COLS_MIN)
		cols = SCREEN_COLS_MIN;
	if (cols > PRINT_COLS_MAX)
		cols = PRINT_COLS_MAX;
	return (int)cols;
}

static void print_wall(
	FILE *out, const json_t *doc, const struct view *view, bool color, bool header)
{
	const struct screen_docs docs = {
		.wall = doc, .wall_age_s = 0, .reading_s = NAN, .interval_s = NAN, .printed = true};
	struct screen screen;
	struct canvas canvas;
	screen_init(&screen);
	canvas_init(&canvas, print_cols(), SCREEN_ROWS_ALL, terminal_is_utf8());
	screen_paint(&screen, &docs, &canvas);
	canvas_print(out, &canvas, header ? 0 : 1, color);
	canvas_done(&canvas);
}

static const struct column columns[] = {{"signal"}, {"value"}, {"unit"}, {"state"}, {"where"},
	{"name"}, {"value_low"}, {"quality"}, {"baseline"}, {"why"}};

const struct view watch_view = {
	.title = "rocewatch",
	.rows = "signals",
	.columns = columns,
	.n_columns = rw_countof(columns),
	.text = print_wall,
};
