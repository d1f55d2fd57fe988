/* screen - the pages on top of each other, the keys, and the frame around each page. */
#include "agent/surface/screen.h"

#include <math.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/str.h"
#include "agent/document/json_value.h"
#include "agent/surface/screen_head.h"
#include "agent/surface/screen_paper.h"
#include "agent/surface/screen_text.h"

enum { KEY_DELETE = 127, KEY_BACKSPACE_ASCII = 8, FOOT_WIDE_COLS = 110 };

void screen_init(struct screen *screen)
{
	*screen = (struct screen){0};
	screen->stack[0].page = screen_pages[0];
}

/* ---- from page to page ------------------------------------------------------ */

/* Pages that a key opens stand directly on the wall; details stand on the page they belong to. */
static bool screen_open(struct screen *screen, const struct screen_page *page, const char *subject)
{
	size_t depth = screen->depth + 1;
	if (page->key)
		depth = 1;
	if (depth >= SCREEN_DEPTH_MAX || screen_place_of(screen)->page == page)
		return false;
	screen->depth = depth;
	struct screen_place *place = screen_place_of(screen);
	*place = (struct screen_place){.page = page};
	snprintf(place->subject, sizeof(place->subject), "%s", subject);
	*screen->row_subject = '\0';
	return true;
}

static bool screen_back(struct screen *screen)
{
	if (screen->depth == 0)
		return false;
	screen->depth--;
	return true;
}

static bool screen_enter(struct screen *screen)
{
	const struct screen_page *next = screen_place_of(screen)->page->enter;
	char subject[SCREEN_TEXT_MAX];
	if (!next || !*screen->row_subject)
		return false;
	snprintf(subject, sizeof(subject), "%s", screen->row_subject);
	return screen_open(screen, next, subject);
}

/* ---- keys ---------------------------------------------------------------------- */

static bool screen_is_erase(int key)
{
	return key == SCREEN_KEY_BACKSPACE || key == KEY_DELETE || key == KEY_BACKSPACE_ASCII;
}

/* While a filter is typed: Enter takes it, Escape drops what was typed. */
static void screen_type(struct screen *screen, int key)
{
	size_t n = strlen(screen->typed);
	if (key == SCREEN_KEY_ENTER)
		snprintf(screen->filter, sizeof(screen->filter), "%s", screen->typed);
	if (key == SCREEN_KEY_ENTER || key == SCREEN_KEY_ESCAPE) {
		screen->typing = false;
		screen_place_of(screen)->selected = 0;
	} else if (screen_is_erase(key) && n > 0) {
		screen->typed[n - 1] = '\0';
	} else if (key >= ' ' && key < KEY_DELETE && n + 1 < sizeof(screen->typed)) {
		screen->typed[n] = (char)key;
		screen->typed[n + 1] = '\0';
	}
}

/* Lists move their selected row and pages of text move their first line. */
static void screen_move(struct screen *screen, int by)
{
	struct screen_place *place = screen_place_of(screen);
	int *at = &place->top;
	int last = screen->n_rows - screen->n_visible;
	if (place->page->enter && screen->depth > 0) {
		at = &place->selected;
		last = screen->n_rows - 1;
	}
	*at += by;
	if (*at > last)
		*at = last;
	if (*at < 0)
		*at = 0;
}

static bool screen_scrolls(struct screen *screen, int key)
{
	int page = screen->n_visible > 1 ? screen->n_visible - 1 : 1;
	const struct {
		int key, by;
	} moves[] = {
		{'j', 1},
		{SCREEN_KEY_DOWN, 1},
		{'k', -1},
		{SCREEN_KEY_UP, -1},
		{SCREEN_KEY_PAGE_DOWN, page},
		{SCREEN_KEY_PAGE_UP, -page},
		{'g', -screen->n_rows},
		{SCREEN_KEY_HOME, -screen->n_rows},
		{'G', screen->n_rows},
		{SCREEN_KEY_END, screen->n_rows},
	};
	for (size_t i = 0; i < rw_countof(moves); i++) {
		if (moves[i].key != key)
			continue;
		screen_move(screen, moves[i].by);
		return true;
	}
	if (key == SCREEN_KEY_LEFT)
		screen_place_of(screen)->left--;
	else if (key == SCREEN_KEY_RIGHT)
		screen_place_of(screen)->left++;
	else
		return false;
	return true;
}

static void screen_next_order(struct screen *screen)
{
	struct screen_place *place = screen_place_of(screen);
	const char *const *orders = place->page->orders;
	if (!orders)
		return;
	place->order++;
	if (!orders[place->order])
		place->order = 0;
}

static bool screen_escape(struct screen *screen, int key)
{
	if (screen_back(screen))
		return true;
	if (key == SCREEN_KEY_ESCAPE)
		*screen->filter = '\0';
	return false;
}

bool screen_press(struct screen *screen, int key)
{
	if (screen->typing) {
		screen_type(screen, key);
		return false;
	}
	if (screen_scrolls(screen, key))
		return false;
	if (key == SCREEN_KEY_ESCAPE || screen_is_erase(key))
		return screen_escape(screen, key);
	if (key == SCREEN_KEY_ENTER)
		return screen_enter(screen);
	for (size_t i = 0; screen_pages[i]; i++)
		if (screen_pages[i]->key && screen_pages[i]->key == key)
			return screen_open(screen, screen_pages[i], "");
	switch (key) {
	case 'q': screen->quit = true; break;
	case ' ': screen->paused = !screen->paused; break;
	case 'o': screen_next_order(screen); break;
	case '/':
		screen->typing = true;
		*screen->typed = '\0';
		break;
	default: break;
	}
	return false;
}

/* ---- the foot line ---------------------------------------------------------------- */

/* "[i]ncidents" where the name begins with its key, else "[?] help". */
static void screen_add_key(struct str *out, int key, const char *name)
{
	if (name[0] == key)
		str_addf(out, " [%c]%s", key, name + 1);
	else
		str_addf(out, " [%c]%s", key, name);
}

/* Left out from the end where the line is too short; q, ? and Esc are always there. */
static void screen_put_keys(const struct screen *screen, struct canvas *canvas, int row)
{
	static const char back[] = " [Esc]back";
	const char *always = " [/]filter [?]help [q]uit";
	if (canvas->cols >= FOOT_WIDE_COLS)
		always = " [/]filter [o]rder [space]hold [?]help [q]uit";
	int room = canvas->cols - canvas_width(always);
	int col = 0;
	if (screen->depth > 0)
		col += canvas_put(canvas, row, 0, canvas->cols, STYLE_BAR, back);
	for (size_t i = 0; screen_pages[i]; i++) {
		const struct screen_page *page = screen_pages[i];
		rw_cleanup(str_done) struct str text = {0};
		if (!page->key || page->key == '?')
			continue;
		screen_add_key(&text, page->key, page->name);
		int width = canvas_width(text.s);
		if (col + width > room)
			break;
		col += canvas_put(canvas, row, col, width, STYLE_BAR, text.s);
	}
	canvas_put(canvas, row, col, canvas->cols - col, STYLE_BAR, always);
}

static void screen_put_foot(const struct screen *screen, struct canvas *canvas)
{
	int row = canvas->rows - 1;
	canvas_paint(canvas, row, 0, canvas->cols, STYLE_BAR);
	if (screen->typing)
		canvas_putf(canvas, row, 1, canvas->cols - 2, STYLE_BAR,
			"filter (device, port, host, job, cause; Enter takes it): %s_",
			screen->typed);
	else
		screen_put_keys(screen, canvas, row);
}

/* ---- pages --------------------------------------------------------------------------- */

/* The title of a page with its subject, the order of its rows and the filter. */
static void screen_put_title(const struct screen *screen, struct canvas *canvas, int row)
{
	const struct screen_place *place = &screen->stack[screen->depth];
	rw_cleanup(str_done) struct str text = {0};
	if (place->page->title)
		str_add(&text, place->page->title);
	if (place->page->orders && (place->page->title || place->order > 0))
		str_addf(&text, "%sby %s", str_if(text.n > 0, "   "),
			place->page->orders[place->order]);
	if (*screen->filter)
		str_addf(&text, "%sfilter: %s", str_if(text.n > 0, "   "), screen->filter);
	canvas_put(canvas, row, 1, canvas->cols - 2, STYLE_BOLD, str_or(text.s, ""));
}

static bool screen_has_title(const struct screen *screen)
{
	const struct screen_place *place = &screen->stack[screen->depth];
	return place->page->title || place->order > 0 || *screen->filter;
}

static void screen_paint_page(struct screen *screen, const struct screen_docs *docs,
	struct canvas *canvas, int row, int rows)
{
	const struct screen_page *page = screen_place_of(screen)->page;
	bool ready = page->path ? docs->page != NULL : docs->wall != NULL;
	screen->n_rows = 0;
	screen->n_visible = rows;
	if (page->path && docs->page_error) {
		canvas_put(canvas, row, 1, canvas->cols - 2, STYLE_ALARM, docs->page_error);
		return;
	}
	if (ready || page->key == '?')
		page->paint(screen, docs, canvas, row, rows);
	else if (page->path)
		canvas_put(canvas, row, 1, canvas->cols - 2, STYLE_DIM, "reading...");
}

/* Before the first frame: why there is none, and that it goes on. */
static void screen_paint_none(const struct screen_docs *docs, struct canvas *canvas, int row)
{
	if (!docs->wall_error) {
		canvas_put(
			canvas, row + 1, 1, canvas->cols - 2, STYLE_DIM, "reading the database...");
		return;
	}
	canvas_put(canvas, row + 1, 1, canvas->cols - 2, STYLE_ALARM, "CANNOT READ THE DATABASE");
	screen_paper_put_at(canvas, row + 2, 4, docs->wall_error);
	canvas_put(canvas, row + 7, 1, canvas->cols - 2, STYLE_DIM,
		"Trying again; the screen comes back by itself. 'rocewatch doctor' says more.");
}

static void screen_paint_small(struct canvas *canvas)
{
	canvas_putf(canvas, 0, 0, canvas->cols, STYLE_ALARM, "%dx%d is too small", canvas->cols,
		canvas->rows);
	canvas_putf(canvas, 1, 0, canvas->cols, STYLE_PLAIN, "needs %dx%d: enlarge the window",
		SCREEN_COLS_MIN, SCREEN_ROWS_MIN);
	canvas_put(canvas, 2, 0, canvas->cols, STYLE_PLAIN, "or use 'rocewatch watch --once'");
}

void screen_paint(struct screen *screen, const struct screen_docs *docs, struct canvas *canvas)
{
	bool all = canvas->rows >= SCREEN_ROWS_ALL;
	if (canvas->cols < SCREEN_COLS_MIN || canvas->rows < SCREEN_ROWS_MIN) {
		screen_paint_small(canvas);
		return;
	}
	int row = screen_paint_head(screen, docs, canvas);
	int end = canvas->rows - !all;
	if (screen_has_title(screen))
		screen_put_title(screen, canvas, row++);
	if (!docs->wall && screen->depth == 0)
		screen_paint_none(docs, canvas, row);
	else
		screen_paint_page(screen, docs, canvas, row, end - row);
	if (!all)
		screen_put_foot(screen, canvas);
}
