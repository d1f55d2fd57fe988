/* screen_pages - the table of pages, and those that are lists, texts or help. To add one, add its
 * row here. */

#include "agent/answers/doctor/doctor.h"
#include "agent/answers/incident/blame.h"
#include "agent/answers/incident/incident_view.h"
#include "agent/answers/pause/rows.h"
#include "agent/answers/steps/steps_document.h"
#include "agent/answers/watch/watch_frame.h"
#include "agent/document/json_value.h"
#include "agent/screen/screen.h"
#include "agent/screen/screen_rows.h"

/*
 * screen_wall - the first page: what is wrong, where, since when, and what it costs.
 *
 * screen_wall - the first page, in sections. Each section knows how many rows it wants; where there
 * are fewer, they are given out by the table of claims, and a section counts what it leaves out.
 */

enum {
	WIDE_COLS = 110, /* paused ports and uplinks stand side by side from here on */
	WINDOW_COLS = 30, /* for "WHERE  (00:14:00 - 00:15:00Z)" */
	SIGNALS_MAX = 24,
	DEVICES_MAX = 64, /* lines: devices with the same reason share one */
};

/* A line for devices that are not up for the same reason. */
struct wall_devices {
	const struct status_device *first;
	size_t n;
};

struct wall {
	const struct watch_answer *frame;
	struct canvas *canvas;
	const char *filter;
	struct screen_rows incidents, paused, uplinks;
	const struct watch_signal *signals;
	size_t n_signals;
	struct wall_devices devices[DEVICES_MAX];
	size_t n_devices;
};

/* What stands where a list is empty. */
static const char *wall_none(const struct wall *wall, const char *none)
{
	if (*wall->filter)
		return "none match the filter";
	return none;
}

/* ---- devices that are not up --------------------------------------------- */

/* Behind a semicolon stands what differs from device to device: the time of its last answer. */
static bool wall_same_reason(const struct status_device *left, const struct status_device *right)
{
	const char *x = str_or(left->reason, ""), *y = str_or(right->reason, "");
	size_t n = strcspn(x, ";");
	return left->up == right->up && n == strcspn(y, ";") && strncmp(x, y, n) == 0;
}

static void wall_add_device(struct wall *wall, const struct status_device *device)
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
	const struct status_answer *status = &wall->frame->status;
	for (size_t i = 0; i < status->n_devices; i++) {
		const struct status_device *device = &status->devices[i];
		const struct screen_names names = {.device = device->device,
			.port = device->port,
			.name = device->name,
			.state = device->state,
			.priority = COUNT_UNKNOWN};
		if (device->up != MAYBE_YES && screen_matches(wall->filter, &names))
			wall_add_device(wall, device);
	}
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
		const char *status = line->first->status;
		rw_cleanup(str_done) struct str text = {0};
		if (line->n > 1)
			str_addf(&text, "%zu devices", line->n);
		else
			str_add(&text, line->first->name);
		const char *reason = str_or(line->first->reason, "");
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
static enum wall_rank wall_signal_rank(const struct watch_signal *signal)
{
	if (signal->state == GOLDEN_OK || signal->state == GOLDEN_IDLE)
		return RANK_QUIET;
	if (signal->state == GOLDEN_UNKNOWN)
		return RANK_UNKNOWN;
	return RANK_BAD;
}

static void wall_find_signals(struct wall *wall)
{
	wall->signals = wall->frame->signals;
	wall->n_signals = wall->frame->n_signals;
	if (wall->n_signals > SIGNALS_MAX)
		wall->n_signals = SIGNALS_MAX;
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
		n += wall_signal_rank(&wall->signals[i]) == RANK_BAD;
	if (n > wall_signals_rows(wall))
		n = wall_signals_rows(wall);
	return n;
}

/* "0 now": what is open shows in the state, and nothing of it in this window. */
static void wall_add_signal_value(struct str *out, const struct watch_signal *signal)
{
	screen_add_value(out, signal->value, signal->unit, signal->quality);
	const bool is_bad_above = isfinite(signal->limit);
	if (is_bad_above && signal->value == 0 && wall_signal_rank(signal) == RANK_BAD)
		str_add(out, " now");
}

static void wall_add_signal_base(struct str *out, const struct watch_signal *signal)
{
	screen_add_value(out, signal->baseline, signal->unit, "");
}

/* Where, and behind it why, if both fit in @width columns. */
static void wall_add_signal_where(struct str *out, const struct watch_signal *signal, int width)
{
	const char *where = str_or(signal->where, ""), *why = str_or(signal->why, "");
	bool both = *where && *why && canvas_width(where) + canvas_width(why) + 3 <= width;
	str_add(out, *where ? where : why);
	if (both)
		str_addf(out, " - %s", why);
}

/* A baseline is kept once a minute: one that ends no longer ago is one of now. */
#define BASE_FRESH_NS (3 * 60 * NS_PER_S)

struct wall_signal_layout {
	int name, now, base, state, where; /* columns where they begin */
};

static void wall_widen(int *width, const char *text)
{
	int n = canvas_width(str_or(text, ""));
	if (n > *width)
		*width = n;
}

/* The baseline of the first signal that has one; false where others have one of another time. */
static bool wall_base_agrees(const struct wall *wall, const struct watch_signal **ret)
{
	*ret = NULL;
	for (size_t i = 0; i < wall->n_signals; i++) {
		const struct watch_signal *signal = &wall->signals[i];
		if (isnan(signal->baseline_span_s))
			continue;
		if (*ret &&
			(signal->baseline_from.ns != (*ret)->baseline_from.ns ||
				signal->baseline_to.ns != (*ret)->baseline_to.ns))
			return false;
		*ret = signal;
	}
	return true;
}

/* "BASE 1d": how long the baselines look back; "BASE to 10:38Z": what came later is an incident,
 * and not usual. "BASELINE" where signals do not agree. */
static void wall_add_base_title(struct str *out, const struct wall *wall)
{
	const struct watch_signal *signal;
	char text[WALL_TEXT_MAX];
	if (!wall_base_agrees(wall, &signal)) {
		str_add(out, "BASELINE");
		return;
	}
	str_add(out, "BASE");
	if (!signal)
		return;
	if (wall->frame->window.to.ns - signal->baseline_to.ns > BASE_FRESH_NS) {
		str_addf(out, " to %.5sZ", wall_format(text, signal->baseline_to, 0) + 11);
		return;
	}
	str_addf(out, " %s",
		unit_duration_text(
			text, sizeof(text), llround(signal->baseline_span_s) * NS_PER_S));
}

static struct wall_signal_layout wall_lay_out_signals(const struct wall *wall)
{
	int name = canvas_width("GOLDEN SIGNAL"), now = 4, base = 8;
	rw_cleanup(str_done) struct str title = {0};
	wall_add_base_title(&title, wall);
	wall_widen(&base, title.s);
	for (size_t i = 0; i < wall->n_signals; i++) {
		rw_cleanup(str_done) struct str value = {0}, baseline = {0};
		wall_add_signal_value(&value, &wall->signals[i]);
		wall_add_signal_base(&baseline, &wall->signals[i]);
		wall_widen(&name, wall->signals[i].signal);
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
	const struct watch_window *window = &wall->frame->window;
	char from[WALL_TEXT_MAX], to[WALL_TEXT_MAX];
	rw_cleanup(str_done) struct str base = {0}, where = {0};
	wall_add_base_title(&base, wall);
	str_add(&where, "WHERE");
	bool has_room = canvas->cols - layout->where > WINDOW_COLS;
	if (has_room)
		str_addf(&where, "  (%.8s - %.8sZ)", wall_format(from, window->from, 0) + 11,
			wall_format(to, window->to, 0) + 11);
	canvas_put(canvas, row, layout->name, 13, STYLE_BOLD, "GOLDEN SIGNAL");
	canvas_put_right(
		canvas, row, layout->now, layout->base - layout->now - 2, STYLE_BOLD, "NOW");
	canvas_put_right(
		canvas, row, layout->base, layout->state - layout->base - 2, STYLE_BOLD, base.s);
	canvas_put(canvas, row, layout->state, 8, STYLE_BOLD, "STATE");
	canvas_put(canvas, row, layout->where, canvas->cols - layout->where, STYLE_BOLD, where.s);
}

static void wall_put_signal(struct wall *wall, int row, const struct wall_signal_layout *layout,
	const struct watch_signal *signal)
{
	struct canvas *canvas = wall->canvas;
	const char *state = golden_state_name(signal->state);
	enum canvas_style style = screen_style(state);
	rw_cleanup(str_done) struct str now = {0}, base = {0}, where = {0};
	wall_add_signal_value(&now, signal);
	wall_add_signal_base(&base, signal);
	wall_add_signal_where(&where, signal, canvas->cols - layout->where - 1);
	canvas_put(canvas, row, layout->name, layout->now - layout->name - 2, STYLE_PLAIN,
		signal->signal);
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
			if (n < room && (int)wall_signal_rank(&wall->signals[i]) == rank) {
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
		const struct watch_signal *signal = &wall->signals[i];
		bool quiet = wall_signal_rank(signal) == RANK_QUIET;
		if (show[i])
			continue;
		str_addf(&text, "%s%s %s", before, signal->signal,
			quiet ? golden_state_name(signal->state) : "UNKNOWN");
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
			wall_put_signal(wall, at++, &layout, &wall->signals[i]);
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
		const char *none = wall_none(wall, "none open");
		if (wall->frame->open_incidents == COUNT_UNKNOWN)
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
	return (int)wall->frame->n_jobs;
}

static void wall_add_job(struct str *out, const struct watch_job *job)
{
	const bool has_since = job->since.ns != TIME_UNKNOWN.ns;
	char since[WALL_TEXT_MAX] = "";
	if (has_since)
		wall_format(since, job->since, 0);
	str_addf(out, "%s  ", watch_job_word(job->state));
	if (job->state == JOB_STOPPED && has_since) {
		str_addf(out, "since %.8sZ", since + 11);
		return;
	}
	str_add(out, "step ");
	screen_add_value(out, job->step_s, "s", "");
	if (!isnan(job->step_base_s)) {
		str_add(out, " (normal ");
		screen_add_value(out, job->step_base_s, "s", "");
		str_add(out, ")");
	}
	if (!isnan(job->change_ratio))
		str_addf(out, "  %+.1f %%", job->change_ratio * 100);
	if (!isnan(job->exchange_s)) {
		str_add(out, "  exchange ");
		screen_add_value(out, job->exchange_s, "s", "");
	}
	if (has_since)
		str_addf(out, "  since %.8sZ", since + 11);
}

static void wall_put_jobs(struct wall *wall, int row, int rows)
{
	struct canvas *canvas = wall->canvas;
	const int n_jobs = (int)wall->frame->n_jobs;
	int shown = n_jobs;
	if (shown > rows)
		shown = rows;
	for (int i = 0; i < shown; i++) {
		const struct watch_job *job = &wall->frame->jobs[i];
		rw_cleanup(str_done) struct str text = {0};
		enum canvas_style style = screen_style(watch_job_word(job->state));
		wall_add_job(&text, job);
		if (i == shown - 1 && shown < n_jobs)
			str_addf(&text, "  (and %d more jobs)", n_jobs - shown);
		canvas_put(canvas, row + i, 1, 3, STYLE_BOLD, "JOB");
		int n = canvas_put(canvas, row + i, 5, 20, STYLE_BOLD, job->job);
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

static void wall_uplink_names(const void *row, struct screen_names *ret)
{
	const struct watch_uplink *uplink = row;
	*ret = (struct screen_names){.device = uplink->device,
		.port = uplink->port,
		.peer = uplink->peer,
		.priority = COUNT_UNKNOWN};
}

static void wall_add_uplink(struct str *out, const struct watch_uplink *uplink)
{
	struct screen_names names;
	wall_uplink_names(uplink, &names);
	screen_add_port(out, &names);
}

static void wall_put_uplink_row(
	struct wall *wall, int row, int col, int width, const struct watch_uplink *uplink)
{
	const double ratio = uplink->utilization_ratio;
	rw_cleanup(str_done) struct str name = {0}, share = {0};
	wall_add_uplink(&name, uplink);
	if (uplink->peer && *uplink->peer)
		str_addf(&name, " > %s", uplink->peer);
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
		canvas_put(&own, 0, n + 3, cols - n - 3, STYLE_DIM, wall_none(wall, "none"));
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
		const struct watch_uplink *uplink = wall->uplinks.rows[shown];
		rw_cleanup(str_done) struct str text = {0};
		wall_add_uplink(&text, uplink);
		str_add(&text, " ");
		screen_add_ratio(&text, uplink->utilization_ratio);
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
	const int n = (int)wall->frame->n_events;
	return n > 0 ? 1 + n : 0;
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
	for (int i = 0; i < rows - 1 && i < (int)wall->frame->n_events; i++) {
		const struct watch_event *event = &wall->frame->events[i];
		rw_cleanup(str_done) struct str time = {0};
		screen_add_time(&time, event->t);
		canvas_put(canvas, row + 1 + i, 1, 20, STYLE_DIM, time.s);
		canvas_put(canvas, row + 1 + i, 23, 16, STYLE_PLAIN, str_or(event->kind, ""));
		canvas_put(canvas, row + 1 + i, 41, canvas->cols - 42, STYLE_PLAIN,
			str_or(event->text, ""));
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

static void screen_wall_paint(struct screen *screen, const struct screen_docs *docs,
	struct canvas *canvas, int row, int rows)
{
	const struct watch_answer *frame = docs->wall;
	struct wall wall = {.frame = frame, .canvas = canvas, .filter = screen->filter};
	const unsigned order = screen->stack[0].order;
	if (!frame)
		return;
	screen_rows_of(&wall.incidents,
		SCREEN_LIST(frame->incidents, frame->n_incidents, screen_incident_names),
		screen->filter, screen_incident_compares[order]);
	screen_rows_of(&wall.paused,
		SCREEN_LIST(frame->paused, frame->n_paused, screen_paused_names), screen->filter,
		NULL);
	screen_rows_of(&wall.uplinks,
		SCREEN_LIST(frame->uplinks, frame->n_uplinks, wall_uplink_names), screen->filter,
		NULL);
	wall_find_devices(&wall);
	wall_find_signals(&wall);
	wall_put_sections(&wall, row, rows);
	if (wall.incidents.n > 0)
		screen_note_incident(screen, wall.incidents.rows[0]);
	screen_rows_done(&wall.incidents);
	screen_rows_done(&wall.paused);
	screen_rows_done(&wall.uplinks);
}

/* ---- lists --------------------------------------------------------------- */

static void page_note_row(struct screen *screen, const struct screen_rows *rows, bool port)
{
	int selected = screen_place_of(screen)->selected;
	if (selected >= (int)rows->n)
		return;
	if (!port) {
		screen_note_incident(screen, rows->rows[selected]);
		return;
	}
	const json_t *row = rows->rows[selected];
	snprintf(screen->row_subject, sizeof(screen->row_subject), "%s:%s", doc_word(row, "device"),
		doc_word(row, "port"));
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
	screen_rows_of(&found,
		SCREEN_LIST(docs->wall->incidents, docs->wall->n_incidents, screen_incident_names),
		screen->filter, screen_incident_compares[order]);
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
	screen_rows_of(&found, SCREEN_DOCUMENT(json_object_get(docs->page, "ports")),
		screen->filter, screen_port_compares[order]);
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
static void page_add_todo(struct str *out, const struct doctor_answer *doctor)
{
	for (size_t i = 0; i < doctor->n_todo; i++) {
		const struct store_alarm *todo = &doctor->todo[i];
		str_addf(out, "%-9s %s: %s\n          -> %s\n", todo->severity,
			str_or(todo->subject, ""), todo->what, str_or(todo->remedy, ""));
	}
	if (doctor->n_todo == 0)
		str_add(out, "nothing: all targets, captures and the store are healthy\n");
}

static void page_add_targets(struct str *out, const struct doctor_answer *doctor)
{
	str_addf(out, "\n%-16s %-8s %-8s %7s %7s  %s\n", "TARGET", "PROTOCOL", "STATUS", "AGE",
		"P95", "NOTES");
	for (size_t i = 0; i < doctor->n_targets; i++) {
		const struct doctor_target *target = &doctor->targets[i];
		rw_cleanup(str_done) struct str age = {0}, p95 = {0};
		const char *notes = str_or(target->notes, "");
		if (!*notes)
			notes = str_or(target->reason, "");
		screen_add_age(&age, target->age_s);
		screen_add_value(&p95, target->poll_p95_s, "s", "");
		str_addf(out, "%-16s %-8s %-8s %7s %7s  %s\n", target->name,
			str_or(target->protocol, ""), target->status, age.s, p95.s, notes);
	}
}

static void page_add_captures(struct str *out, const struct doctor_answer *doctor)
{
	for (size_t i = 0; i < doctor->n_captures; i++) {
		const struct doctor_capture *capture = &doctor->captures[i];
		const uint64_t counts[] = {capture->frames, capture->roce_packets,
			capture->tunneled_packets, capture->copies, capture->kernel_drops};
		if (i == 0)
			str_addf(out, "\n%-16s %8s %8s %10s %8s %8s  %s\n", "CAPTURE", "FRAMES",
				"ROCE", "IN TUNNELS", "COPIES", "DROPPED", "NOTES");
		str_addf(out, "%-16s", capture->name);
		for (size_t k = 0; k < rw_countof(counts); k++) {
			rw_cleanup(str_done) struct str number = {0};
			screen_add_value(&number, count_number(counts[k]), "", "");
			str_addf(out, k == 2 ? " %10s" : " %8s", number.s);
		}
		str_addf(out, "  %s\n", str_or(capture->notes, ""));
	}
}

/* What the page shows has structs; the document is not kept. */
static const void *page_read_doctor(struct client *client, struct arena *a, struct err *e)
{
	struct doctor_answer *doctor = arena_new_of(a, struct doctor_answer);
	if (doctor_read(client, a, doctor, e) < 0)
		return NULL;
	json_decref(doctor->doc);
	doctor->doc = NULL;
	return doctor;
}

static const void *page_read_steps(struct client *client, struct arena *a, struct err *e)
{
	struct steps_answer *steps = arena_new_of(a, struct steps_answer);
	if (steps_read(client, NULL, a, steps, e) < 0)
		return NULL;
	return steps;
}

static void page_paint_doctor(struct screen *screen, const struct screen_docs *docs,
	struct canvas *canvas, int row, int rows)
{
	rw_cleanup(str_done) struct str text = {0};
	str_add(&text, "TO DO\n");
	page_add_todo(&text, docs->answer);
	page_add_targets(&text, docs->answer);
	page_add_captures(&text, docs->answer);
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
	"  a                acknowledge the selected incident, with a note\n"
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
	.incident = true,
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
	.incident = true,
	.paint = screen_wall_paint,
};
static const struct screen_page page_incidents = {
	.key = 'i',
	.name = "incidents",
	.help = "open incidents; Enter shows the card",
	.title = "OPEN INCIDENTS",
	.orders = screen_incident_orders,
	.enter = &page_card,
	.incident = true,
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
	.read = page_read_steps,
	.view = &steps_view,
	.paint = page_paint_text,
};
static const struct screen_page page_doctor = {
	.key = 'd',
	.name = "doctor",
	.help = "health of agent, targets and store, and what to do",
	.title = "DOCTOR",
	.path = "doctor",
	.read = page_read_doctor,
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
