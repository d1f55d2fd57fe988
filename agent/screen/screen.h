/*
 * screen - what `rocewatch watch` shows and how it answers keys. Pure: answers and a size go in,
 * cells come out; the terminal, the database and the clock are in screen_run.
 *
 * The wall is the first page: the headline, the golden signals, the open incidents, the paused
 * ports, the busiest uplinks, the jobs. Keys open pages with details on top of it; Escape goes
 * back. The headline stands on every page. What does not fit is counted ("3 more") and never
 * scrolls the headline away.
 */
#pragma once

#include <jansson.h>
#include "base/base.h"

#include "agent/screen/canvas.h"

struct client;
struct view;
struct watch_answer;

/* The smallest terminal that the screen is made for. */
enum { SCREEN_COLS_MIN = 80, SCREEN_ROWS_MIN = 24 };
/* Rows of a canvas on which nothing is cut, for `watch --once`. */
enum { SCREEN_ROWS_ALL = 4000 };

/* Keys beside the printable characters, which stand for themselves. */
enum screen_key {
	SCREEN_KEY_NONE = 0,
	SCREEN_KEY_ENTER = '\n',
	SCREEN_KEY_ESCAPE = 27,
	SCREEN_KEY_UP = 256,
	SCREEN_KEY_DOWN,
	SCREEN_KEY_LEFT,
	SCREEN_KEY_RIGHT,
	SCREEN_KEY_PAGE_UP,
	SCREEN_KEY_PAGE_DOWN,
	SCREEN_KEY_HOME,
	SCREEN_KEY_END,
	SCREEN_KEY_BACKSPACE,
	SCREEN_KEY_RESIZE,
	SCREEN_KEY_GONE /* the terminal hung up */
};

enum { SCREEN_TEXT_MAX = 160, SCREEN_DEPTH_MAX = 8 };

/* What is being typed in the foot line: a filter, or the note of an acknowledgement. */
enum screen_line { SCREEN_LINE_KEYS, SCREEN_LINE_FILTER, SCREEN_LINE_ACK };

/* One level of the drill-down: a page, whom it is about, and where the reader stands on it. */
struct screen_place {
	const struct screen_page *page;
	char subject[SCREEN_TEXT_MAX]; /* an incident's id, or "leaf1:Ethernet2"; "" none */
	int top, left; /* the first row and column shown */
	int selected; /* row of a list */
	unsigned order; /* index into the orders of the page */
};

struct screen {
	struct screen_place stack[SCREEN_DEPTH_MAX]; /* [0] is the wall */
	size_t depth; /* of the page that is shown, from 0 */
	char filter[SCREEN_TEXT_MAX]; /* "" shows all */
	enum screen_line line;
	char typed[SCREEN_TEXT_MAX]; /* in .line, so far */
	char ack_id[SCREEN_TEXT_MAX]; /* the incident that .typed is the note for */
	bool ack; /* the note is complete: whoever runs the screen sends it and clears this */
	char said[SCREEN_TEXT_MAX]; /* what came of it; in the foot line until the next key */
	bool paused, quit;
	/* What the last painting found, for the next key. */
	int n_rows, n_visible;
	char row_subject[SCREEN_TEXT_MAX]; /* of the selected row */
};

/* What there is to show. Borrowed. */
struct screen_docs {
	const struct watch_answer *wall; /* NULL before the first one */
	const char *wall_error; /* why the newest attempt failed, or NULL */
	const json_t *page; /* the document of the page that is shown, or NULL */
	const void *answer; /* what the page's .read made instead, or NULL */
	const char *page_text; /* its text layout, or NULL */
	const char *page_error;
	double wall_age_s; /* since the wall was read; NAN never */
	double reading_s; /* since an unanswered question was asked; NAN none */
	double interval_s; /* between two frames; NAN: the screen shows the past and stands still */
	bool printed; /* one frame on paper: the next one is not announced */
};

/* A page. One row of the table in screen_pages.c. */
struct screen_page {
	int key; /* that opens it; 0: it is opened from another page */
	const char *name; /* in the foot line: "incidents" */
	const char *help; /* one line of the help page */
	const char *title;
	const char *path; /* the served document; NULL: painted from the wall */
	/* Instead of the document: an answer in memory; it lies in @a. NULL with @e. */
	const void *(*read)(struct client *client, struct arena *a, struct err *e);
	const char *param; /* that gets the subject; NULL none */
	const struct view *view; /* the text layout of that document; NULL: it is painted */
	const char *const *orders; /* names of the orders of its rows, ended by NULL; NULL none */
	const struct screen_page *enter; /* what Enter opens for the selected row */
	bool incident; /* its rows, or what it is about, are incidents: they can be acknowledged */
	void (*paint)(struct screen *screen, const struct screen_docs *docs, struct canvas *canvas,
		int row, int rows);
};

extern const struct screen_page *const screen_pages[]; /* NULL-terminated, [0] is the wall */

void screen_init(struct screen *screen);

/* screen_place_of - the page that is shown and where the reader stands on it. */
static inline struct screen_place *screen_place_of(struct screen *screen)
{
	return &screen->stack[screen->depth];
}

/* screen_press - one key. True when another page is shown afterwards. */
bool screen_press(struct screen *screen, int key);

/* screen_paint - the whole screen. A canvas of SCREEN_ROWS_ALL rows shows everything and has no
 * foot line. */
void screen_paint(struct screen *screen, const struct screen_docs *docs, struct canvas *canvas);
