/*
 * screen_wall - the first page, in sections. Each section knows how many rows it wants; where there
 * are fewer, they are given out by the table of claims, and a section counts what it leaves out.
 */
#include "agent/surface/screen_wall.h"

#include <math.h>
#include <string.h>

#include "agent/base/cleanup.h"
#include "agent/base/clock.h"
#include "agent/document/json_value.h"
#include "agent/surface/screen_rows.h"
#include "agent/surface/screen_text.h"

enum {
	WIDE_COLS = 110, /* paused ports and uplinks stand side by side from here on */
	WINDOW_COLS = 30, /* for "WHERE  (00:14:00 - 00:15:00Z)" */
	SIGNALS_MAX = 24,
	DEVICES_MAX = 64, /* lines: devices with the same reason share one */
};

/* A line for devices that are not up for the same reason. */
struct wall_devices {
	const json_t *first;
	size_t n;
};

struct wall {
	const json_t *doc;
	struct canvas *canvas;
	const char *filter;
	struct screen_rows incidents, paused, uplinks, jobs, events;
	const json_t *signals[SIGNALS_MAX];
	size_t n_signals;
	struct wall_devices devices[DEVICES_MAX];
	size_t n_devices;
};

/* What stands where a list is empty: a list that is not there is unknown. */
static const char *wall_none(const struct wall *wall, const char *key, const char *none)
{
	if (!json_is_array(json_object_get(wall->doc, key)))
		return "unknown";
	if (*wall->filter)
		return "none match the filter";
	return none;
}

/* ---- devices that are not up --------------------------------------------- */

/* Behind a semicolon stands what differs from device to device: the time of its last answer. */
static bool wall_same_reason(const json_t *left, const json_t *right)
{
	const char *x = doc_word(left, "reason"), *y = doc_word(right, "reason");
	size_t n = strcspn(x, ";");
	return str_eq(doc_word(left, "status"), doc_word(right, "status")) &&
		n == strcspn(y, ";") && strncmp(x, y, n) == 0;
}

static void wall_add_device(struct wall *wall, const json_t *device)
{
	for (size_t i = 0; i < wall->n_devices; i++) {
		if (!wall_same_reason(wall->devices[i].first, device))
			continue;
		wall->devices[i].n++;
		return;
	}
	if (wall->n_devices < DEVICES_MAX)
		wall->devices[wall->n_devices++] = (struct wall_devices){device, 1};
}

static void wall_find_devices(struct wall *wall)
{
	const json_t *row;
	size_t i;
	json_array_foreach (json_object_get(wall->doc, "devices"), i, row)
		if (!str_eq(doc_word(row, "status"), "up") && screen_matches(wall->filter, row))
			wall_add_device(wall, row);
}

static int wall_devices_rows(const struct wall *wall)
{
	return (int)wall->n_devices;
}

static size_t wall_devices_after(const struct wall *wall, size_t line)
{
	size_t n = 0;
	for (size_t i = line + 1; i < wall->n_devices; i++)
		n += wall->devices[i].n;
	return n;
}

static void wall_put_devices(struct wall *wall, int row, int rows)
{
	struct canvas *canvas = wall->canvas;
	int shown = (int)wall->n_devices;
	if (shown > rows)
		shown = rows;
	for (int i = 0; i < shown; i++) {
		const struct wall_devices *line = &wall->devices[i];
		const char *status = doc_word(line->first, "status");
		rw_cleanup(str_done) struct str text = {0};
		if (line->n > 1)
			str_addf(&text, "%zu devices", line->n);
		else
			str_add(&text, doc_word(line->first, "name"));
		const char *reason = doc_word(line->first, "reason");
		size_t n = line->n > 1 ? strcspn(reason, ";") : strlen(reason);
		if (i == shown - 1 && shown < (int)wall->n_devices)
			str_addf(&text, " (and %zu more not up)",
				wall_devices_after(wall, (size_t)i));
		if (n > 0)
			str_addf(&text, ": %.*s", (int)n, reason);
		canvas_put(canvas, row + i, 1, 9, screen_style(status), status);
		canvas_put(canvas, row + i, 11, canvas->cols - 12, STYLE_PLAIN, text.s);
	}
}

/* ---- the golden signals --------------------------------------------------- */

enum wall_rank { RANK_BAD, RANK_UNKNOWN, RANK_QUIET, RANK_COUNT };

/* Which signals are left out first where there is no room for all. */
static enum wall_rank wall_signal_rank(const json_t *signal)
{
	const char *state = doc_word(signal, "state");
	if (str_eq(state, "ok") || str_eq(state, "idle"))
		return RANK_QUIET;
	if (str_eq(state, "unknown"))
		return RANK_UNKNOWN;
	return RANK_BAD;
}

static void wall_find_signals(struct wall *wall)
{
	const json_t *row;
	size_t i;
	json_array_foreach (json_object_get(wall->doc, "signals"), i, row)
		if (wall->n_signals < SIGNALS_MAX)
			wall->signals[wall->n_signals++] = row;
}

static int wall_signals_rows(const struct wall *wall)
{
	return 1 + (int)wall->n_signals;
}

/* The title, all signals that warn, and a line for the rest. */
static int wall_signals_least(const struct wall *wall)
{
	int n = 2;
	for (size_t i = 0; i < wall->n_signals; i++)
		n += wall_signal_rank(wall->signals[i]) == RANK_BAD;
	if (n > wall_signals_rows(wall))
		n = wall_signals_rows(wall);
	return n;
}

static void wall_add_signal_value(struct str *out, const json_t *signal)
{
	screen_add_value(out, doc_number(signal, "value"), doc_word(signal, "unit"),
		doc_word(signal, "quality"));
}

static void wall_add_signal_base(struct str *out, const json_t *signal)
{
	screen_add_value(out, doc_number(signal, "baseline"), doc_word(signal, "unit"), "");
}

/* Where, and behind it why, if both fit in @width columns. */
static void wall_add_signal_where(struct str *out, const json_t *signal, int width)
{
	const char *where = doc_word(signal, "where"), *why = doc_word(signal, "why");
	bool both = *where && *why && canvas_width(where) + canvas_width(why) + 3 <= width;
	str_add(out, *where ? where : why);
	if (both)
		str_addf(out, " - %s", why);
}

struct wall_signal_layout {
	int name, now, base, state, where; /* columns where they begin */
};

static void wall_widen(int *width, const char *text)
{
	int n = canvas_width(str_or(text, ""));
	if (n > *width)
		*width = n;
}

/* "BASE 1d": how long the baseline looks back, where all that have one agree. */
static void wall_add_base_title(struct str *out, const struct wall *wall)
{
	double span_s = NAN;
	for (size_t i = 0; i < wall->n_signals; i++) {
		double own_s = doc_number(wall->signals[i], "baseline_span_s");
		if (isnan(own_s))
			continue;
		if (!isnan(span_s) && own_s != span_s) {
			str_add(out, "BASELINE");
			return;
		}
		span_s = own_s;
	}
	str_add(out, "BASE");
	if (isnan(span_s))
		return;
	char span[32];
	str_addf(out, " %s", unit_duration_text(span, sizeof(span), llround(span_s) * NS_PER_S));
}

static struct wall_signal_layout wall_lay_out_signals(const struct wall *wall)
{
	int name = canvas_width("GOLDEN SIGNAL"), now = 4, base = 8;
	rw_cleanup(str_done) struct str title = {0};
	wall_add_base_title(&title, wall);
	wall_widen(&base, title.s);
	for (size_t i = 0; i < wall->n_signals; i++) {
		rw_cleanup(str_done) struct str value = {0}, baseline = {0};
		wall_add_signal_value(&value, wall->signals[i]);
		wall_add_signal_base(&baseline, wall->signals[i]);
		wall_widen(&name, doc_word(wall->signals[i], "signal"));
		wall_widen(&now, value.s);
		wall_widen(&base, baseline.s);
	}
	struct wall_signal_layout layout = {.name = 1};
	layout.now = layout.name + name + 2;
	layout.base = layout.now + now + 2;
	layout.state = layout.base + base + 2;
	layout.where = layout.state + 10;
	return layout;
}

static void wall_put_signals_title(
	struct wall *wall, int row, const struct wall_signal_layout *layout)
{
	struct canvas *canvas = wall->canvas;
	const json_t *window = json_object_get(wall->doc, "window");
	rw_cleanup(str_done) struct str base = {0}, where = {0};
	wall_add_base_title(&base, wall);
	str_add(&where, "WHERE");
	bool has_room = canvas->cols - layout->where > WINDOW_COLS;
	if (has_room && strlen(doc_word(window, "to")) > 19)
		str_addf(&where, "  (%.8s - %.8sZ)", doc_word(window, "from") + 11,
			doc_word(window, "to") + 11);
	canvas_put(canvas, row, layout->name, 13, STYLE_BOLD, "GOLDEN SIGNAL");
	canvas_put_right(
		canvas, row, layout->now, layout->base - layout->now - 2, STYLE_BOLD, "NOW");
	canvas_put_right(
		canvas, row, layout->base, layout->state - layout->base - 2, STYLE_BOLD, base.s);
	canvas_put(canvas, row, layout->state, 8, STYLE_BOLD, "STATE");
	canvas_put(canvas, row, layout->where, canvas->cols - layout->where, STYLE_BOLD, where.s);
}

static void wall_put_signal(
	struct wall *wall, int row, const struct wall_signal_layout *layout, const json_t *signal)
{
	struct canvas *canvas = wall->canvas;
	const char *state = doc_word(signal, "state");
	enum canvas_style style = screen_style(state);
	rw_cleanup(str_done) struct str now = {0}, base = {0}, where = {0};
	wall_add_signal_value(&now, signal);
	wall_add_signal_base(&base, signal);
	wall_add_signal_where(&where, signal, canvas->cols - layout->where - 1);
	canvas_put(canvas, row, layout->name, layout->now - layout->name - 2, STYLE_PLAIN,
		doc_word(signal, "signal"));
	canvas_put_right(
		canvas, row, layout->now, layout->base - layout->now - 2, STYLE_BOLD, now.s);
	canvas_put_right(
		canvas, row, layout->base, layout->state - layout->base - 2, STYLE_DIM, base.s);
	canvas_put(canvas, row, layout->state, 8, style, state);
	canvas_put(canvas, row, layout->where, canvas->cols - layout->where - 1,
		wall_signal_rank(signal) == RANK_QUIET ? STYLE_DIM : STYLE_PLAIN, where.s);
}

/* Which signals are shown in @room rows, by rank; they keep the order of the document. */
static int wall_choose_signals(const struct wall *wall, int room, bool show[SIGNALS_MAX])
{
	int n = 0;
	memset(show, 0, SIGNALS_MAX * sizeof(*show));
	for (int rank = RANK_BAD; rank < RANK_COUNT; rank++)
		for (size_t i = 0; i < wall->n_signals; i++)
			if (n < room && (int)wall_signal_rank(wall->signals[i]) == rank) {
				show[i] = true;
				n++;
			}
	return n;
}

/* The names of those that are left out; an unknown one says so. */
static void wall_put_signals_rest(
	struct wall *wall, int row, const bool show[SIGNALS_MAX], int n_rest)
{
	rw_cleanup(str_done) struct str text = {0};
	const char *before = "";
	for (size_t i = 0; i < wall->n_signals; i++) {
		const json_t *signal = wall->signals[i];
		bool quiet = wall_signal_rank(signal) == RANK_QUIET;
		if (show[i])
			continue;
		str_addf(&text, "%s%s %s", before, doc_word(signal, "signal"),
			quiet ? doc_word(signal, "state") : "UNKNOWN");
		before = ", ";
	}
	canvas_putf(wall->canvas, row, 1, wall->canvas->cols - 2, STYLE_DIM, "%d more: %s", n_rest,
		str_or(text.s, ""));
}

static void wall_put_signals(struct wall *wall, int row, int rows)
{
	bool show[SIGNALS_MAX];
	const struct wall_signal_layout layout = wall_lay_out_signals(wall);
	int room = rows - 1;
	if (room < (int)wall->n_signals)
		room--; /* for the line that names the rest */
	int n = wall_choose_signals(wall, room, show);
	int at = row + 1;
	wall_put_signals_title(wall, row, &layout);
	for (size_t i = 0; i < wall->n_signals; i++)
		if (show[i])
			wall_put_signal(wall, at++, &layout, wall->signals[i]);
	if (n < (int)wall->n_signals)
		wall_put_signals_rest(wall, at, show, (int)wall->n_signals - n);
}

/* ---- incidents ------------------------------------------------------------ */

static int wall_incidents_rows(const struct wall *wall)
{
	return 1 + (wall->incidents.n > 0 ? (int)wall->incidents.n : 0);
}

static void wall_put_incidents(struct wall *wall, int row, int rows)
{
	struct canvas *canvas = wall->canvas;
	if (wall->incidents.n == 0) {
		const char *none = wall_none(wall, "incidents", "none open");
		if (json_is_null(json_object_get(wall->doc, "open_incidents")))
			none = "unknown here: in the judge's database";
		int n = canvas_put(canvas, row, 1, 12, STYLE_BOLD, "INCIDENTS");
		canvas_put(canvas, row, n + 3, 40, STYLE_DIM, none);
		return;
	}
	screen_table_put(canvas, row, rows, screen_incident_columns, screen_incident_n_columns,
		&wall->incidents, 0, -1);
	canvas_put(canvas, row, 1, 9, STYLE_BOLD, "INCIDENTS");
}

/* ---- jobs ------------------------------------------------------------------ */

static int wall_jobs_rows(const struct wall *wall)
{
	return (int)wall->jobs.n;
}

static void wall_add_job(struct str *out, const json_t *job)
{
	double change = doc_number(job, "change_ratio"), base_s = doc_number(job, "step_base_s");
	const char *since = doc_word(job, "since");
	str_addf(out, "%s  ", doc_word(job, "state"));
	if (str_eq(doc_word(job, "state"), "stopped") && strlen(since) > 19) {
		str_addf(out, "since %.8sZ", since + 11);
		return;
	}
	str_add(out, "step ");
	screen_add_value(out, doc_number(job, "step_s"), "s", "");
	if (!isnan(base_s)) {
		str_add(out, " (normal ");
		screen_add_value(out, base_s, "s", "");
		str_add(out, ")");
	}
	if (!isnan(change))
		str_addf(out, "  %+.1f %%", change * 100);
	if (!isnan(doc_number(job, "exchange_s"))) {
		str_add(out, "  exchange ");
		screen_add_value(out, doc_number(job, "exchange_s"), "s", "");
	}
	if (strlen(since) > 19)
		str_addf(out, "  since %.8sZ", since + 11);
}

static void wall_put_jobs(struct wall *wall, int row, int rows)
{
	struct canvas *canvas = wall->canvas;
	int shown = (int)wall->jobs.n;
	if (shown > rows)
		shown = rows;
	for (int i = 0; i < shown; i++) {
		const json_t *job = wall->jobs.rows[i];
		rw_cleanup(str_done) struct str text = {0};
		enum canvas_style style = screen_style(doc_word(job, "state"));
		wall_add_job(&text, job);
		if (i == shown - 1 && shown < (int)wall->jobs.n)
			str_addf(&text, "  (and %d more jobs)", (int)wall->jobs.n - shown);
		canvas_put(canvas, row + i, 1, 3, STYLE_BOLD, "JOB");
		int n = canvas_put(canvas, row + i, 5, 20, STYLE_BOLD, doc_word(job, "job"));
		canvas_put(canvas, row + i, 5 + n + 2, canvas->cols - n - 8, style, text.s);
	}
}

/* ---- paused ports and uplinks ---------------------------------------------- */

static bool wall_is_wide(const struct wall *wall)
{
	return wall->canvas->cols >= WIDE_COLS;
}

static int wall_paused_rows(const struct wall *wall)
{
	int n = 1 + (int)wall->paused.n;
	if (wall_is_wide(wall) && n < 1 + (int)wall->uplinks.n)
		n = 1 + (int)wall->uplinks.n;
	return n;
}

static void wall_put_uplink_row(
	struct wall *wall, int row, int col, int width, const json_t *uplink)
{
	double ratio = doc_number(uplink, "utilization_ratio");
	rw_cleanup(str_done) struct str name = {0}, share = {0};
	screen_add_port(&name, uplink);
	if (*doc_word(uplink, "peer"))
		str_addf(&name, " > %s", doc_word(uplink, "peer"));
	screen_add_ratio(&share, ratio);
	canvas_put(wall->canvas, row, col, width - 21, STYLE_PLAIN, name.s);
	canvas_put_right(wall->canvas, row, col + width - 20, 6, STYLE_BOLD, share.s);
	canvas_bar(wall->canvas, row, col + width - 13, 12, STYLE_PLAIN, ratio);
}

static void wall_put_uplinks_beside(struct wall *wall, int row, int rows, int col)
{
	struct canvas *canvas = wall->canvas;
	int width = canvas->cols - col;
	int shown = (int)wall->uplinks.n;
	canvas_put(canvas, row, col, width, STYLE_BOLD, "BUSIEST UPLINKS (% of line)");
	if (shown == 0)
		canvas_put(canvas, row + 1, col, width, STYLE_DIM, "none known");
	if (shown > rows - 1)
		shown = rows - 1;
	for (int i = 0; i < shown; i++)
		wall_put_uplink_row(wall, row + 1 + i, col, width, wall->uplinks.rows[i]);
}

/* Paints over a part of the canvas only: columns below @cols. */
static void wall_put_paused_in(struct wall *wall, int row, int rows, int cols)
{
	struct canvas part = *wall->canvas;
	struct canvas own;
	canvas_init(&own, cols, rows, part.utf8);
	if (wall->paused.n == 0) {
		int n = canvas_put(&own, 0, 1, 20, STYLE_BOLD, "PAUSED PORTS");
		canvas_put(
			&own, 0, n + 3, cols - n - 3, STYLE_DIM, wall_none(wall, "paused", "none"));
	} else {
		screen_table_put(&own, 0, rows, screen_paused_columns, screen_paused_n_columns,
			&wall->paused, 0, -1);
	}
	for (int y = 0; y < rows; y++)
		for (int x = 0; x < cols; x++) {
			const struct canvas_cell *cell = canvas_at(&own, y, x);
			canvas_put(wall->canvas, row + y, x, 1, cell->style, cell->text);
		}
	canvas_done(&own);
}

static void wall_put_paused(struct wall *wall, int row, int rows)
{
	if (!wall_is_wide(wall)) {
		wall_put_paused_in(wall, row, rows, wall->canvas->cols);
		return;
	}
	int half = wall->canvas->cols / 2;
	wall_put_paused_in(wall, row, rows, half);
	wall_put_uplinks_beside(wall, row, rows, half + 2);
}

/* One line where the screen is narrow. */
static int wall_uplinks_rows(const struct wall *wall)
{
	return !wall_is_wide(wall);
}

static void wall_put_uplinks(struct wall *wall, int row, int rows)
{
	struct canvas *canvas = wall->canvas;
	int col = 1 + canvas_put(canvas, row, 1, 20, STYLE_BOLD, "BUSIEST UPLINKS") + 2;
	size_t shown = 0;
	for (; shown < wall->uplinks.n; shown++) {
		const json_t *uplink = wall->uplinks.rows[shown];
		rw_cleanup(str_done) struct str text = {0};
		screen_add_port(&text, uplink);
		str_add(&text, " ");
		screen_add_ratio(&text, doc_number(uplink, "utilization_ratio"));
		int width = canvas_width(text.s);
		if (col + width > canvas->cols - 1)
			break;
		canvas_put(canvas, row, col, width, STYLE_PLAIN, text.s);
		col += width + 3;
	}
	if (wall->uplinks.n == 0)
		canvas_put(canvas, row, col, 20, STYLE_DIM, "none known");
}

/* ---- events ------------------------------------------------------------------ */

static int wall_events_rows(const struct wall *wall)
{
	return wall->events.n > 0 ? 1 + (int)wall->events.n : 0;
}

/* They get what the others leave. */
static int wall_events_least(const struct wall *wall)
{
	return 0;
}

static void wall_put_events(struct wall *wall, int row, int rows)
{
	struct canvas *canvas = wall->canvas;
	canvas_put(canvas, row, 1, 20, STYLE_BOLD, "LAST EVENTS");
	for (int i = 0; i < rows - 1 && i < (int)wall->events.n; i++) {
		const json_t *event = wall->events.rows[i];
		rw_cleanup(str_done) struct str time = {0};
		screen_add_time(&time, event, "t");
		canvas_put(canvas, row + 1 + i, 1, 20, STYLE_DIM, time.s);
		canvas_put(canvas, row + 1 + i, 23, 16, STYLE_PLAIN, doc_word(event, "kind"));
		canvas_put(canvas, row + 1 + i, 41, canvas->cols - 42, STYLE_PLAIN,
			doc_word(event, "text"));
	}
}

/* ---- sections ------------------------------------------------------------------ */

enum wall_section_id {
	WALL_DEVICES,
	WALL_SIGNALS,
	WALL_INCIDENTS,
	WALL_JOBS,
	WALL_PAUSED,
	WALL_UPLINKS,
	WALL_EVENTS,
	WALL_SECTIONS
};

struct wall_section {
	int (*rows)(const struct wall *wall); /* that it wants */
	int (*least)(const struct wall *wall); /* NULL: one row, if it wants any */
	void (*put)(struct wall *wall, int row, int rows);
};

/* From the top to the bottom. */
static const struct wall_section wall_sections[WALL_SECTIONS] = {
	[WALL_DEVICES] = {wall_devices_rows, NULL, wall_put_devices},
	[WALL_SIGNALS] = {wall_signals_rows, wall_signals_least, wall_put_signals},
	[WALL_INCIDENTS] = {wall_incidents_rows, NULL, wall_put_incidents},
	[WALL_JOBS] = {wall_jobs_rows, NULL, wall_put_jobs},
	[WALL_PAUSED] = {wall_paused_rows, NULL, wall_put_paused},
	[WALL_UPLINKS] = {wall_uplinks_rows, NULL, wall_put_uplinks},
	[WALL_EVENTS] = {wall_events_rows, wall_events_least, wall_put_events},
};

/* Who gets rows beyond the least, in this order; 0: all that it wants. */
static const struct {
	enum wall_section_id section;
	int rows;
} wall_claims[] = {
	{WALL_INCIDENTS, 3},
	{WALL_PAUSED, 2},
	{WALL_SIGNALS, 10},
	{WALL_PAUSED, 4},
	{WALL_INCIDENTS, 4},
	{WALL_SIGNALS, 0},
	{WALL_DEVICES, 3},
	{WALL_INCIDENTS, 11},
	{WALL_PAUSED, 9},
	{WALL_JOBS, 4},
	{WALL_EVENTS, 5},
	{WALL_DEVICES, 0},
	{WALL_INCIDENTS, 0},
	{WALL_PAUSED, 0},
	{WALL_JOBS, 0},
	{WALL_EVENTS, 0},
};

static int wall_section_least(const struct wall *wall, const struct wall_section *section)
{
	if (section->least)
		return section->least(wall);
	return section->rows(wall) > 0;
}

/* How many rows each section gets of @rows; returns those that are left. */
static int wall_share_rows(const struct wall *wall, int rows, int given[WALL_SECTIONS])
{
	int left = rows;
	for (size_t i = 0; i < WALL_SECTIONS; i++) {
		given[i] = wall_section_least(wall, &wall_sections[i]);
		if (given[i] > left)
			given[i] = left;
		left -= given[i];
	}
	for (size_t i = 0; i < rw_countof(wall_claims); i++) {
		int *own = &given[wall_claims[i].section];
		int want = wall_sections[wall_claims[i].section].rows(wall);
		if (wall_claims[i].rows > 0 && want > wall_claims[i].rows)
			want = wall_claims[i].rows;
		int more = want - *own;
		if (more > left)
			more = left;
		if (*own > 0 || wall_claims[i].section == WALL_EVENTS)
			*own += more > 0 ? more : 0;
		left = rows;
		for (size_t k = 0; k < WALL_SECTIONS; k++)
			left -= given[k];
	}
	if (given[WALL_EVENTS] == 1) { /* a title without an event */
		given[WALL_EVENTS] = 0;
		left++;
	}
	return left;
}

static void wall_put_sections(struct wall *wall, int row, int rows)
{
	int given[WALL_SECTIONS];
	int left = wall_share_rows(wall, rows, given);
	int at = row;
	for (size_t i = 0; i < WALL_SECTIONS; i++) {
		if (given[i] <= 0)
			continue;
		/* A blank line between sections, as far as there is room; uplinks belong to the
		 * paused ports above them. */
		if (at > row && left > 0) {
			left--;
			at++;
		}
		wall_sections[i].put(wall, at, given[i]);
		at += given[i];
	}
}

void screen_wall_paint(struct screen *screen, const struct screen_docs *docs, struct canvas *canvas,
	int row, int rows)
{
	struct wall wall = {.doc = docs->wall, .canvas = canvas, .filter = screen->filter};
	const unsigned order = screen->stack[0].order;
	if (!docs->wall)
		return;
	screen_rows_of(&wall.incidents, json_object_get(docs->wall, "incidents"), screen->filter,
		screen_incident_compares[order]);
	screen_rows_of(&wall.paused, json_object_get(docs->wall, "paused"), screen->filter, NULL);
	screen_rows_of(&wall.uplinks, json_object_get(docs->wall, "uplinks"), screen->filter, NULL);
	screen_rows_of(&wall.jobs, json_object_get(docs->wall, "jobs"), "", NULL);
	screen_rows_of(&wall.events, json_object_get(docs->wall, "events"), "", NULL);
	wall_find_devices(&wall);
	wall_find_signals(&wall);
	wall_put_sections(&wall, row, rows);
	if (wall.incidents.n > 0)
		snprintf(screen->row_subject, sizeof(screen->row_subject), "%s",
			doc_word(wall.incidents.rows[0], "id"));
	screen_rows_done(&wall.incidents);
	screen_rows_done(&wall.paused);
	screen_rows_done(&wall.uplinks);
	screen_rows_done(&wall.jobs);
	screen_rows_done(&wall.events);
}
