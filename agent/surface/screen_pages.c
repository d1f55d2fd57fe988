/*
 * screen_pages - the table of pages, and those that are lists, texts or help. To add one, add its
 * row here.
 */
#include <stdlib.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/document/json_value.h"
#include "agent/reports/blame_view.h"
#include "agent/reports/incident_view.h"
#include "agent/reports/pause_views.h"
#include "agent/reports/steps_views.h"
#include "agent/surface/screen.h"
#include "agent/surface/screen_heat.h"
#include "agent/surface/screen_paper.h"
#include "agent/surface/screen_rows.h"
#include "agent/surface/screen_text.h"
#include "agent/surface/screen_wall.h"

/* ---- lists --------------------------------------------------------------- */

static void page_note_row(struct screen *screen, const struct screen_rows *rows, bool port)
{
	int selected = screen_place_of(screen)->selected;
	if (selected >= (int)rows->n)
		return;
	const json_t *row = rows->rows[selected];
	if (port)
		snprintf(screen->row_subject, sizeof(screen->row_subject), "%s:%s",
			doc_word(row, "device"), doc_word(row, "port"));
	else
		snprintf(screen->row_subject, sizeof(screen->row_subject), "%s",
			doc_word(row, "id"));
}

static void page_put_none(const struct screen *screen, struct canvas *canvas, int row,
	const struct screen_rows *rows, const char *none)
{
	if (rows->n > 0)
		return;
	if (*screen->filter)
		none = "nothing matches the filter";
	canvas_put(canvas, row + 1, 1, canvas->cols - 2, STYLE_DIM, none);
}

static void page_paint_incidents(struct screen *screen, const struct screen_docs *docs,
	struct canvas *canvas, int row, int rows)
{
	struct screen_rows found;
	const unsigned order = screen_place_of(screen)->order;
	screen_rows_of(&found, json_object_get(docs->wall, "incidents"), screen->filter,
		screen_incident_compares[order]);
	screen_list_put(screen, canvas, row, rows, screen_incident_columns,
		screen_incident_n_columns, &found);
	page_put_none(screen, canvas, row, &found, "no open incident");
	page_note_row(screen, &found, false);
	screen_rows_done(&found);
}

static void page_paint_ports(struct screen *screen, const struct screen_docs *docs,
	struct canvas *canvas, int row, int rows)
{
	struct screen_rows found;
	const unsigned order = screen_place_of(screen)->order;
	screen_rows_of(&found, json_object_get(docs->page, "ports"), screen->filter,
		screen_port_compares[order]);
	screen_list_put(
		screen, canvas, row, rows, screen_port_columns, screen_port_n_columns, &found);
	const char *none = "no port was paused in this time range";
	if (json_is_false(json_object_get(docs->page, "observable")))
		none = "no device delivers pause counters: pause is unknown, not zero";
	page_put_none(screen, canvas, row, &found, none);
	page_note_row(screen, &found, true);
	screen_rows_done(&found);
}

/* ---- texts ---------------------------------------------------------------- */

static void page_paint_text(struct screen *screen, const struct screen_docs *docs,
	struct canvas *canvas, int row, int rows)
{
	screen_paper_put(screen, canvas, row, rows, str_or(docs->page_text, ""));
}

/* What to do first, then each target that is not simply up. */
static void page_add_todo(struct str *out, const json_t *doc)
{
	const json_t *row;
	size_t i;
	json_array_foreach (json_object_get(doc, "todo"), i, row)
		str_addf(out, "%-9s %s: %s\n          -> %s\n", doc_word(row, "severity"),
			doc_word(row, "subject"), doc_word(row, "what"), doc_word(row, "do"));
	if (i == 0)
		str_add(out, "nothing: all targets, captures and the store are healthy\n");
}

static void page_add_targets(struct str *out, const json_t *doc)
{
	const json_t *row;
	size_t i;
	str_addf(out, "\n%-16s %-8s %-8s %7s %7s  %s\n", "TARGET", "PROTOCOL", "STATUS", "AGE",
		"P95", "NOTES");
	json_array_foreach (json_object_get(doc, "targets"), i, row) {
		rw_cleanup(str_done) struct str age = {0}, p95 = {0};
		const char *notes = doc_word(row, "notes");
		if (!*notes)
			notes = doc_word(row, "reason");
		screen_add_age(&age, doc_number(row, "age_s"));
		screen_add_value(&p95, doc_number(row, "poll_p95_s"), "s", "");
		str_addf(out, "%-16s %-8s %-8s %7s %7s  %s\n", doc_word(row, "name"),
			doc_word(row, "protocol"), doc_word(row, "status"), age.s, p95.s, notes);
	}
}

static void page_add_captures(struct str *out, const json_t *doc)
{
	static const char *const keys[] = {
		"frames", "roce_packets", "tunneled_packets", "copies", "kernel_drops"};
	const json_t *row;
	size_t i;
	json_array_foreach (json_object_get(doc, "captures"), i, row) {
		if (i == 0)
			str_addf(out, "\n%-16s %8s %8s %10s %8s %8s  %s\n", "CAPTURE", "FRAMES",
				"ROCE", "IN TUNNELS", "COPIES", "DROPPED", "NOTES");
		str_addf(out, "%-16s", doc_word(row, "name"));
		for (size_t k = 0; k < rw_countof(keys); k++) {
			rw_cleanup(str_done) struct str number = {0};
			screen_add_value(&number, doc_number(row, keys[k]), "", "");
			str_addf(out, k == 2 ? " %10s" : " %8s", number.s);
		}
		str_addf(out, "  %s\n", doc_word(row, "notes"));
	}
}

static void page_paint_doctor(struct screen *screen, const struct screen_docs *docs,
	struct canvas *canvas, int row, int rows)
{
	rw_cleanup(str_done) struct str text = {0};
	str_add(&text, "TO DO\n");
	page_add_todo(&text, docs->page);
	page_add_targets(&text, docs->page);
	page_add_captures(&text, docs->page);
	screen_paper_put(screen, canvas, row, rows, text.s);
}

/* The keys that mean the same on every page. */
static const char help_keys[] =
	"  j k, arrows      next and previous row, or scroll\n"
	"  PgUp PgDn        one screen up or down\n"
	"  g G, Home End    first and last row\n"
	"  Enter            open the selected row; on the wall the first incident\n"
	"  Esc, Backspace   one page back; Esc also clears the filter\n"
	"  /                filter by device, port, host, job or cause; * ? [a-c]\n"
	"  o                next order of the rows\n"
	"  space            hold the screen still, and go on\n"
	"  q                quit\n";

static void page_paint_help(struct screen *screen, const struct screen_docs *docs,
	struct canvas *canvas, int row, int rows)
{
	rw_cleanup(str_done) struct str text = {0};
	str_add(&text, "KEYS\n");
	for (size_t i = 0; screen_pages[i]; i++)
		if (screen_pages[i]->key)
			str_addf(&text, "  %c                %s\n", screen_pages[i]->key,
				screen_pages[i]->help);
	str_add(&text, help_keys);
	str_add(&text,
		"\nSTATES\n"
		"  ok         measured, and within its limits\n"
		"  warning    over its first limit, or an incident is open\n"
		"  critical   over its second limit, or a critical incident is open\n"
		"  unknown    no data, or stale data: it may be good or bad\n"
		"  idle       nothing to judge: no traffic\n"
		"\n\"<=\" is an upper bound: the switch counts pause frames, not pause time.\n");
	screen_paper_put(screen, canvas, row, rows, text.s);
}

/* ---- the table -------------------------------------------------------------- */

static const struct screen_page page_card = {
	.name = "incident",
	.path = "incident/show",
	.param = "id",
	.view = &incident_card_view,
	.paint = page_paint_text,
};
static const struct screen_page page_port = {
	.name = "port",
	.path = "blame",
	.param = "name",
	.view = &blame_view,
	.paint = page_paint_text,
};
static const struct screen_page page_wall = {
	.name = "wall",
	.orders = screen_incident_orders,
	.enter = &page_card,
	.paint = screen_wall_paint,
};
static const struct screen_page page_incidents = {
	.key = 'i',
	.name = "incidents",
	.help = "open incidents; Enter shows the card",
	.title = "OPEN INCIDENTS",
	.orders = screen_incident_orders,
	.enter = &page_card,
	.paint = page_paint_incidents,
};
static const struct screen_page page_tree = {
	.key = 't',
	.name = "tree",
	.help = "who pauses whom, and where it begins",
	.path = "pause/tree",
	.view = &pause_tree_view,
	.paint = page_paint_text,
};
static const struct screen_page page_heat = {
	.key = 'e',
	.name = "ecmp",
	.help = "heat map of the links between leaves and spines",
	.title = "ECMP HEAT MAP",
	.path = "ecmp/heatmap",
	.paint = screen_heat_paint,
};
static const struct screen_page page_ports = {
	.key = 'p',
	.name = "ports",
	.help = "paused ports; Enter shows what is known about one",
	.title = "PAUSED PORTS (share of the time)",
	.path = "pause/ports",
	.orders = screen_port_orders,
	.enter = &page_port,
	.paint = page_paint_ports,
};
static const struct screen_page page_steps = {
	.key = 's',
	.name = "steps",
	.help = "jobs: step time, throughput and its changes",
	.title = "JOBS AND STEPS",
	.path = "steps",
	.view = &steps_view,
	.paint = page_paint_text,
};
static const struct screen_page page_doctor = {
	.key = 'd',
	.name = "doctor",
	.help = "health of agent, targets and store, and what to do",
	.title = "DOCTOR",
	.path = "doctor",
	.paint = page_paint_doctor,
};
static const struct screen_page page_help = {
	.key = '?',
	.name = "help",
	.help = "this page",
	.title = "HELP",
	.paint = page_paint_help,
};

const struct screen_page *const screen_pages[] = {&page_wall, &page_incidents, &page_tree,
	&page_heat, &page_ports, &page_steps, &page_doctor, &page_help, &page_card, &page_port,
	NULL};
