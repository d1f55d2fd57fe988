/* screen_rows - the rows of incidents, paused ports and uplinks: columns and orders, as the wall
 * and the lists show them. */
#pragma once

#include "base/base.h"

#include "agent/document/shape.h"
#include "agent/screen/canvas.h"
#include "agent/screen/screen.h"

/*
 * screen_text - fields of documents as short texts and styles of the screen. Pure. A field that is
 * missing or null is "-".
 */

/* screen_style - of a state, severity or status word. */
enum canvas_style screen_style(const char *state);

/* screen_add_ratio - "7.1 %", "105 %", "0 %"; "-" for NAN. */
void screen_add_ratio(struct str *out, double ratio);
/* screen_add_value - a value of a unit with its quality: "<= 7.1 %", "131 ms", "6.8k/s". */
void screen_add_value(struct str *out, double value, const char *unit, const char *quality);
/* screen_add_age - "2s", "6m10s", "8h02m"; "-" for NAN. */
void screen_add_age(struct str *out, double seconds);
/* screen_add_money - "$1,266"; below ten dollars with cents; "-" for NAN. */
void screen_add_money(struct str *out, double usd);
/* screen_add_time - of RFC 3339: "2026-11-22 03:14:22Z"; "-". NULL: not known. */
void screen_add_time(struct str *out, const char *time);

/* Names by which a row is found, as far as they are known; the rest are NULL or "". */
struct screen_names {
	const char *device, *port, *peer, *host, *job, *cause, *name, *id, *state;
	uint64_t priority; /* COUNT_UNKNOWN */
};
/* screen_add_port - "leaf2:Ethernet2 p3", as far as known. */
void screen_add_port(struct str *out, const struct screen_names *names);

/*
 * screen_matches - true when @filter is empty or one of the row's names (device, port, peer, host,
 * job, cause, name, id, state, device:port) matches it. A filter without * ? [ matches any part of
 * a name. Capitals do not count.
 */
bool screen_matches(const char *filter, const struct screen_names *names);

/* screen_table - a list of rows with a header, one selected row, and a count of what does not fit.
 * Pure. */

struct screen_column {
	const char *header;
	int most; /* columns at most; 0: what the others leave */
	int from_cols; /* shown where the screen has at least this many columns */
	bool right;
	/* the text of a cell; returns its style */
	enum canvas_style (*cell)(const void *row, struct str *out);
};

struct screen_rows {
	const void **rows; /* borrowed from an answer */
	size_t n;
};

/* Structs of one kind; or, of an answer that has no struct here, the objects of a document. */
struct screen_list {
	const void *rows;
	size_t n, size;
	const json_t *document;
	/* by which a row is found; NULL: all are shown */
	void (*names)(const void *row, struct screen_names *ret);
};
#define SCREEN_LIST(v, count, fn)                                                                  \
	(&(struct screen_list){.rows = (v), .n = (count), .size = sizeof(*(v)), .names = (fn)})
#define SCREEN_DOCUMENT(list) (&(struct screen_list){.document = (list)})

/* screen_rows_of - the rows that match the filter, in the order of @compare, which takes the
 * addresses of two pointers (NULL: as they are). screen_rows_done() it. */
void screen_rows_of(struct screen_rows *ret, const struct screen_list *list, const char *filter,
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

extern const struct screen_column screen_incident_columns[], screen_paused_columns[],
	screen_port_columns[];
extern const size_t screen_incident_n_columns, screen_paused_n_columns, screen_port_n_columns;

/* The orders of incidents and of ports; names end with NULL. */
typedef int screen_compare(const void *left, const void *right);
extern const char *const screen_incident_orders[], *const screen_port_orders[];
extern screen_compare *const screen_incident_compares[], *const screen_port_compares[];

/* screen_note_incident - what Enter opens. */
void screen_note_incident(struct screen *screen, const void *incident);
/* By which incidents and paused ports are found. */
void screen_incident_names(const void *row, struct screen_names *ret);
void screen_paused_names(const void *row, struct screen_names *ret);

/* screen_heat - the matrix of leaves and spines: how busy the links between them are. Pure. */

void screen_heat_paint(struct screen *screen, const struct screen_docs *docs, struct canvas *canvas,
	int row, int rows);

/* screen_paper - pages that are text: wrapped at words, scrolled by lines. Pure. */

/* screen_paper_put - @text from the line on where the reader stands. Long lines are continued below
 * the second column of the text, words of state are coloured. */
void screen_paper_put(
	struct screen *screen, struct canvas *canvas, int row, int rows, const char *text);

/* screen_paper_put_at - the first @rows lines of a text, without scrolling. */
void screen_paper_put_at(struct canvas *canvas, int row, int rows, const char *text);
